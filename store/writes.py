"""Writes inside one transaction: remember a batch, forget."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from . import postings
from .base import Viewer
from .duck import Session, query
from .errors import Conflict, InvalidField, NotFound
from .records import Written, id_of, key_of, number_of, parse_id
from .rows import REPAIRED, Prepared, hash64, source_name

DEFAULT_PATH = "notes"
DEFAULT_BUCKET = "default"
DEFAULT_SCOPE = "private"
DEFAULT_STATUS = "active"
REDACTED = "[redacted]"


def utc(moment: datetime | None) -> datetime | None:
    """As the store keeps it: UTC without a zone."""
    return None if moment is None else moment.astimezone(UTC).replace(tzinfo=None)


@dataclass(slots=True)
class _Known:
    """What is already stored under a key, as far as repetition needs it."""

    key: int
    vid: int
    version: int
    place: tuple[str, ...]
    content_hash: int | None
    external_id: str | None
    idempotency_key: str | None
    deleted: bool
    live: bool
    created_at: datetime | None


class _Repetitions:
    """Finds the stored or just written record that a new one repeats."""

    def __init__(self, known: Iterable[_Known]) -> None:
        self.by_content: dict[tuple[int | None, tuple[str, ...]], _Known] = {}
        self.by_external: dict[tuple[str, str], _Known] = {}
        self.by_replay: dict[tuple[str, str], _Known] = {}
        for one in known:
            self.add(one)

    def add(self, one: _Known) -> None:
        if one.live:
            self.by_content.setdefault((one.content_hash, one.place), one)
        if one.external_id is not None:
            self.by_external[one.place[0], one.external_id] = one
        if one.idempotency_key is not None:
            self.by_replay[one.place[0], one.idempotency_key] = one

    def drop_content(self, one: _Known) -> None:
        self.by_content.pop((one.content_hash, one.place), None)


def _external_hash(agent: str, text: str | None) -> int | None:
    return None if text is None else hash64(agent, text)


def _place(item: Prepared, viewer: Viewer) -> tuple[str, ...]:
    record = item.record
    return (
        record.agent_id or viewer.agent_id,
        record.team_id,
        record.scope or DEFAULT_SCOPE,
        record.bucket or DEFAULT_BUCKET,
        record.path or DEFAULT_PATH,
    )


def _lookup(session: Session, batch: Sequence[Prepared], viewer: Viewer, now: datetime) -> _Repetitions:
    agents = [item.record.agent_id or viewer.agent_id for item in batch]
    rows = session.rows(
        query("existing"),
        {
            "contents": [item.content_hash for item in batch],
            "externals": [
                _external_hash(a, i.record.external_id)
                for a, i in zip(agents, batch, strict=True)
                if i.record.external_id
            ],
            "replays": [
                _external_hash(a, i.record.idempotency_key)
                for a, i in zip(agents, batch, strict=True)
                if i.record.idempotency_key
            ],
            "now": now,
        },
    )
    return _Repetitions(
        _Known(
            key=row[0],
            vid=row[1],
            version=row[2],
            place=(row[3], row[4], row[5], row[6], row[7]),
            content_hash=row[8],
            external_id=row[9],
            idempotency_key=row[10],
            deleted=row[11] is not None,
            live=row[11] is None and row[12] is None and (row[13] is None or row[13] > now),
            created_at=row[14],
        )
        for row in rows
    )


def remember(session: Session, batch: Sequence[Prepared], viewer: Viewer, now: datetime) -> list[Written]:
    """Write what is new of a batch, in order. Repetitions answer with the id that is there.

    A known `external_id` with other text makes a new version of its record. Raises Conflict for an idempotency key
    that came with other content and NotFound for a `supersedes` that the viewer can not see.
    """
    moment = utc(now)
    assert moment is not None
    known = _lookup(session, batch, viewer, moment)
    numbers = Numbers(session)
    rows: list[dict[str, Any]] = []
    slots: list[tuple[int, Prepared]] = []
    closed: list[int] = []  # vids whose version ended
    superseded: list[tuple[int, int]] = []  # (old key, new key)
    results: list[Written] = []
    for item in batch:
        record = item.record
        place = _place(item, viewer)
        notes: tuple[str, ...] = (REPAIRED,) if item.repaired else ()
        same = _repetition(known, item, place)
        if same is not None and (same.deleted or same.content_hash == item.content_hash):
            if same.deleted:
                notes += ("was forgotten earlier and stays so: give another external_id to store it anew",)
            results.append(Written(id_of(same.key), False, notes, same.version))
            continue
        vid = numbers.passage(len(item.slots))
        if same is None:
            key, version = key_of(item.kind, numbers.record(item.kind)), 1
        else:
            key, version = same.key, same.version + 1
            closed.append(same.vid)
            known.drop_content(same)
        if record.supersedes is not None:
            superseded.append((_superseded_key(session, record.supersedes, viewer), key))
        created = utc(record.timestamp) or (same.created_at if same else None) or moment
        row = row_of(item, place, vid=vid, key=key, version=version)
        row["created_at"] = created
        row["updated_at"] = created if same is None else moment
        row["valid_from"] = created if same is None else moment
        row["supersedes"] = superseded[-1][0] if record.supersedes is not None else None
        rows.append(row)
        slots.append((vid, item))
        external, replay = record.external_id, record.idempotency_key
        known.add(_Known(key, vid, version, place, item.content_hash, external, replay, False, True, created))
        results.append(Written(id_of(key), same is None, notes, version))
    numbers.keep()
    # The new rows stand before others are closed: a version may replace one of the same batch.
    insert(session, rows)
    postings.append(session, slots)
    if closed:
        session.run(
            "UPDATE records SET valid_to = $now WHERE vid IN (SELECT unnest($vids::BIGINT[]))",
            {"now": moment, "vids": closed},
        )
    for old, new in superseded:
        session.run(
            "UPDATE records SET superseded_by = $new, superseded_at = $now WHERE key = $old AND valid_to IS NULL",
            {"new": new, "old": old, "now": moment},
        )
    return results


def _repetition(known: _Repetitions, item: Prepared, place: tuple[str, ...]) -> _Known | None:
    record = item.record
    if record.idempotency_key is not None:
        replayed = known.by_replay.get((place[0], record.idempotency_key))
        if replayed is not None:
            if replayed.content_hash != item.content_hash and not replayed.deleted:
                raise Conflict(
                    "idempotency_key: was used with other content: take a new key or send the same content",
                    field="idempotency_key",
                )
            return replayed
    if record.external_id is not None:
        return known.by_external.get((place[0], record.external_id))
    return known.by_content.get((item.content_hash, place))


class Numbers:
    """Record and passage numbers of one batch, taken once and given out in order."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._next: dict[str, int] = {}
        self._first: dict[str, int] = {}
        for name in ("memory", "episode", "passage"):
            value = session.value("SELECT next_value FROM counters WHERE name = $name", {"name": name})
            self._next[name] = self._first[name] = int(value)

    def record(self, kind: str) -> int:
        self._next[kind] += 1
        return self._next[kind] - 1

    def passage(self, slots: int) -> int:
        self._next["passage"] += slots
        return self._next["passage"] - slots

    def at_least(self, kind: str, key: int) -> None:
        """A record came with its id: the next one of its kind stands behind it."""
        self._next[kind] = max(self._next[kind], number_of(key) + 1)

    def keep(self) -> None:
        """Write down what was given out."""
        for name, value in self._next.items():
            if value != self._first[name]:
                self._session.run("UPDATE counters SET next_value = $v WHERE name = $name", {"v": value, "name": name})


def _superseded_key(session: Session, ref: str, viewer: Viewer) -> int:
    parsed = parse_id(ref)
    if parsed is None:
        raise InvalidField(f"supersedes: {ref[:40]!r} is not an id like mem:1 or ep:1", field="supersedes")
    key = key_of(*parsed)
    found = session.row(
        "SELECT 1 FROM records WHERE key = $key AND deleted_at IS NULL AND agent_id = $agent",
        {"key": key, "agent": viewer.agent_id},
    )
    if found is None:
        raise NotFound(f"supersedes: there is no record {ref}", field="supersedes")
    return key


def row_of(item: Prepared, place: tuple[str, ...], *, vid: int, key: int, version: int) -> dict[str, Any]:
    record = item.record
    agent, team, scope, bucket, path = place
    source = record.source if isinstance(record.source, dict) else {"name": record.source}
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
        "source": json.dumps(source),
        "source_name": source_name(source),
        "metadata": json.dumps(record.metadata),
        "external_id": record.external_id,
        "idempotency_key": record.idempotency_key,
        "external_hash": _external_hash(agent, record.external_id),
        "idempotency_hash": _external_hash(agent, record.idempotency_key),
        "content_hash": item.content_hash,
        "pinned": record.pinned,
        "valid_to": None,
        "expires_at": utc(record.expires_at),
        "superseded_by": None,
        "superseded_at": None,
        "deleted_at": None,
        "forgotten": None,
        "passages": len(item.bounds),
        "terms": item.terms,
        "bounds": item.bounds,
        "kinds": item.kinds,
        "speakers": item.speakers,
        "print_low": item.fingerprint[0],
        "print_high": item.fingerprint[1],
    }


def insert(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Append rows of `records`; all have the same columns."""
    if rows:
        session.run(query("insert_records"), {name: [row[name] for row in rows] for name in rows[0]})


def forget(session: Session, keys: Sequence[int], mode: str, now: datetime) -> None:
    """Make tombstones of records; `hard_delete` and `redact` erase the text of all their versions too."""
    moment = utc(now)
    if mode != "soft_delete":
        postings.remove(session, keys)
        session.run(query("erase"), {"keys": list(keys), "text": REDACTED if mode == "redact" else "", "mode": mode})
    if mode != "redact":
        session.run(
            "UPDATE records SET deleted_at = $now, forgotten = $mode WHERE key IN (SELECT unnest($keys::BIGINT[])) "
            "AND deleted_at IS NULL",
            {"now": moment, "mode": mode, "keys": list(keys)},
        )
