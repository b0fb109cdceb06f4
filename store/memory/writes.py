"""Writes of records inside one transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ..errors import Conflict, NotFound
from ..file.duck import Session, query
from ..records import LEFT_OUT, Written, id_of, key_of
from ..times import utc
from ..values import Viewer
from . import postings, reads, succession
from .numbers import Numbers
from .prepare import DEFAULT_PATH, REPAIRED, Prepared, RecordIn, source_name
from .repetitions import MARKS, Place, Repeated, Stored, caller_hash, look_up, semantic_hash

DEFAULT_BUCKET = "default"
DEFAULT_SCOPE = "private"
DEFAULT_STATUS = "active"
EXPIRED = "has expired already: is not shown"
FORGOTTEN = "was forgotten earlier and stays so: give another id or key to store it again"


def place_of(record: RecordIn, viewer: Viewer) -> Place:
    """Where a record goes: agent, team, scope, bucket, path."""
    return (
        record.agent_id or viewer.agent_id,
        record.team_id,
        record.scope or DEFAULT_SCOPE,
        record.bucket or DEFAULT_BUCKET,
        record.path or DEFAULT_PATH,
    )


def remember(session: Session, batch: Sequence[Prepared], viewer: Viewer, now: datetime) -> list[Written]:
    """Write what is new of a batch, in order. Repetitions answer with the id that is there.

    A known `external_id` with other text makes a new version of its record; what stood about the same `semantic_key` is
    superseded. Raises Conflict for an idempotency key
    that came with other content and NotFound for a `supersedes` that the agent does not have.
    """
    moment = utc(now)
    assert moment is not None
    places = [place_of(item.record, viewer) for item in batch]
    known = look_up(session, batch, places, viewer, moment)
    numbers = Numbers(session)
    fresh: dict[int, str] = {}  # keys of this batch and their agents
    rows: list[dict[str, Any]] = []
    slots: list[tuple[int, Prepared]] = []
    closed: list[int] = []  # vids whose version ended
    links: list[succession.Link] = []
    ends: list[int] = []  # keys whose end is another now
    replays: list[tuple[int, str, str]] = []  # (vid, agent, idempotency key)
    abouts: list[tuple[int, str, int | None]] = []  # (key, semantic key, its hash)
    results: list[Written] = []
    for item, place in zip(batch, places, strict=True):
        record = item.record
        agent, replay = place[0], record.idempotency_key
        notes: tuple[str, ...] = (REPAIRED,) if item.repaired else ()
        same = known.repeated(item, place)
        if same is not None:
            if same.forgotten:
                notes += (LEFT_OUT,)
            else:
                ignored = known.not_applied(item, place, same)
                if ignored:
                    keyed = replay is not None or record.external_id is not None
                    way = "revise it" if keyed else "forget it first to store it again"
                    notes += (f"is stored already; not applied: {', '.join(ignored)}; {way}",)
                old, told = _replaced_again(session, fresh, links, record.supersedes, agent, viewer, same.key)
                notes += told
                olds = [] if old is None else [old]
                if known.current(item, same):
                    olds += known.about(place, record.semantic_key)
                    if record.semantic_key is not None:
                        known.tell(same.key, record.semantic_key)
                        abouts.append((same.key, record.semantic_key, semantic_hash(place, record.semantic_key)))
                for old in olds:
                    if old != same.key:
                        links.append(succession.Link(old, same.key, moment))
                        known.supersede(old)
                if replay is not None:
                    known.add_replay(agent, replay, same)
                    replays.append((same.vid, agent, replay))
            results.append(Written(id_of(same.key), False, notes, same.version))
            continue
        vid = numbers.passage(len(item.slots))
        grown = known.grown(item, place)
        if grown is None:
            key, version = key_of(item.kind, numbers.record(item.kind)), 1
            fresh[key] = agent
        else:
            key, version = grown.key, grown.version + 1
            closed.append(grown.vid)
        created = utc(record.timestamp) or (grown.created_at if grown else None) or moment
        since = min(created, moment) if grown is None else moment
        later = created if created > moment and grown is None else None
        if later is not None:
            notes += (succession.FUTURE,)
        if record.expires_at is not None and record.expires_at <= now:
            notes += (EXPIRED,)
        old = _superseded_key(session, fresh, record.supersedes, agent, viewer)
        if record.supersedes is not None and (old is None or (old == key and grown is None)):
            raise NotFound(f"supersedes: there is no record {record.supersedes}", field="supersedes")
        marks = grown.marks if grown else None
        # A new version replaces the old one anyway.
        olds = [one for one in dict.fromkeys([old, *known.about(place, record.semantic_key)]) if one not in (None, key)]
        old = olds[0] if olds else None
        if olds:
            marks = None  # what replaces another stands again itself
            links = [link for link in links if link.old != key]
        for one in olds:
            assert one is not None
            links.append(succession.Link(one, key, later or since, later))
            if later is None and (record.expires_at is None or record.expires_at > now):
                known.supersede(one)
        row = row_of(item, place, vid=vid, key=key, version=version)
        row["created_at"] = created
        row["updated_at"] = since  # what is dated in the future ranks by the time of writing
        row["valid_from"] = since
        row["supersedes"] = old if old is not None or grown is None else grown.supersedes
        row |= zip(MARKS, marks or (None,) * len(MARKS), strict=True)
        if grown is not None:
            ends.append(key)
        rows.append(row)
        slots.append((vid, item))
        known.add(
            Stored(
                key=key,
                vid=vid,
                version=version,
                place=place,
                content_hash=item.content_hash,
                external_id=record.external_id,
                created_at=created,
                replaced=marks is not None and grown is not None and grown.replaced,
                supersedes=row["supersedes"],
                marks=marks,
                semantic_key=record.semantic_key,
                said=row,
            )
        )
        known.add_replay(agent, replay, Repeated(key, vid, version, item.content_hash, False))
        results.append(Written(id_of(key), grown is None, notes, version, grown is not None))
    numbers.keep()
    # The new rows stand before others are closed: a version may replace one of the same batch.
    insert(session, rows)
    postings.append(session, slots)
    if closed:
        session.run(
            "UPDATE records SET valid_to = $now WHERE vid IN (SELECT unnest($vids::BIGINT[]))",
            {"now": moment, "vids": closed},
        )
    succession.link(session, links, moment)
    if ends:
        succession.ended(session, ends)
    for key, semantic, hashed in abouts:
        session.run(
            "UPDATE records SET semantic_key = $semantic, semantic_hash = $hash "
            "WHERE key = $key AND valid_to IS NULL AND semantic_key IS NULL",
            {"key": key, "semantic": semantic, "hash": hashed},
        )
    for vid, agent, replay in replays:
        session.run(
            "UPDATE records SET idempotency_key = $replay, idempotency_hash = $hash "
            "WHERE vid = $vid AND idempotency_key IS NULL",
            {"vid": vid, "replay": replay, "hash": caller_hash(agent, replay)},
        )
    return results


def _replaced_again(
    session: Session,
    fresh: Mapping[int, str],
    links: Sequence[succession.Link],
    ref: str | None,
    agent: str,
    viewer: Viewer,
    same: int,
) -> tuple[int | None, tuple[str, ...]]:
    """What a repetition replaces, and what is told of that. Raises NotFound for an id that the agent never had: one
    that was forgotten since is no error, as a request may come once more. Raises Conflict for one that replaced the
    repeated record itself: of two that replace each other none would stand."""
    old = _superseded_key(session, fresh, ref, agent, viewer)
    if ref is None or old == same:
        return None, ()
    key = reads.own_key(session, ref, agent) if old is None else old
    found = session.row(
        "SELECT superseded_by, bucket FROM records WHERE key = $key AND agent_id = $agent AND valid_to IS NULL",
        {"key": key, "agent": agent},
    )
    if old is None:
        if found is None or not viewer.sees(found[1]):
            raise NotFound(f"supersedes: there is no record {ref}", field="supersedes")
        return None, (f"is stored already; {ref} was forgotten and is not replaced",)
    if old in succession.replaced_by(session, links, same):
        raise Conflict(
            f"supersedes: {ref} replaced {id_of(same)}, which this repeats: change the text, or leave the field out",
            field="supersedes",
        )
    if found is not None and found[0] is not None:
        return old, () if found[0] == same else (f"is stored already; {ref} was replaced by another record before",)
    return old, (f"is stored already; it replaces {ref} now",)


def _superseded_key(
    session: Session, fresh: Mapping[int, str], ref: str | None, agent: str, viewer: Viewer
) -> int | None:
    """The key of a record of this agent that is to be replaced, of this batch or stored; None where there is none that
    the viewer may know of."""
    key = reads.own_key(session, ref, agent)
    if key is None:
        return None
    if key in fresh:
        return key if fresh[key] == agent else None
    found = session.row(
        "SELECT bucket FROM records WHERE key = $key AND deleted_at IS NULL AND agent_id = $agent "
        "ORDER BY version DESC LIMIT 1",
        {"key": key, "agent": agent},
    )
    return key if found is not None and viewer.sees(found[0]) else None


def row_of(item: Prepared, place: Place, *, vid: int, key: int, version: int) -> dict[str, Any]:
    record = item.record
    agent, team, scope, bucket, path = place
    return {
        "vid": vid,
        "key": key,
        "version": version,
        "agent_id": agent,
        "team_id": team,
        "scope": scope,
        "bucket": bucket,
        "path": path,
        "type": record.type or item.kind,
        "status": record.status or DEFAULT_STATUS,
        "title": record.title,
        "content": record.content,
        "source": json.dumps(record.source),
        "source_name": source_name(record.source),
        "metadata": json.dumps(record.metadata),
        "external_id": record.external_id,
        "idempotency_key": record.idempotency_key,
        "external_hash": caller_hash(agent, record.external_id, item.kind),
        "idempotency_hash": caller_hash(agent, record.idempotency_key),
        "semantic_key": record.semantic_key,
        "semantic_hash": semantic_hash(place, record.semantic_key),
        "content_hash": item.content_hash,
        "pinned": record.pinned,
        "valid_to": None,
        "expires_at": utc(record.expires_at),
        **dict.fromkeys(MARKS),
        "deleted_at": None,
        "forgotten": None,
        "forgotten_hash": None,
        "passages": len(item.bounds),
        "terms": item.terms,
        "bounds": item.bounds,
        "kinds": item.kinds,
        "speakers": item.speakers,
        "print_low": item.fingerprint[0],
        "print_high": item.fingerprint[1],
        "name": None,
        "name_hash": None,
        "thread": None,
    }


def insert(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Append rows of `records`; all have the same columns."""
    if rows:
        session.run(query("insert_records"), {name: [row[name] for row in rows] for name in rows[0]})
