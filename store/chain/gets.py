"""Reads of threads, triggers and workers inside one snapshot: exact, by id."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ..errors import Conflict, InvalidField, NotFound
from ..file.duck import Row, Session, query
from ..memory import reads
from ..memory.prepare import source_name
from ..records import PREFIX, Kind, Record, id_of, kind_of, name_hash, parse_name
from ..values import Viewer
from .batch import OWNS
from .cursor import make_cursor, read_cursor

INLINE_BYTES = 2_000
"""Bytes of a payload that come with its trigger; a larger one is read for itself."""
MAX_EVENTS = 200
"""Events of one page."""


@dataclass(frozen=True, slots=True)
class Thread:
    """The events of one topic. `owner_workers` and `links` are ids; times are aware UTC."""

    id: str
    summary: str
    status: str
    natural_key: str | None
    owner_workers: tuple[str, ...]
    event_count: int
    last_event_at: datetime | None
    created_at: datetime
    updated_at: datetime
    version: int
    path: str
    scope: str
    bucket: str
    team_id: str
    agent_id: str
    links: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Worker:
    """An isolated session that did one task; `cites` are the ids that its report rests on."""

    id: str
    threads: tuple[str, ...]
    task: str
    status: str
    report: str
    cites: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    version: int
    path: str
    scope: str
    bucket: str
    team_id: str
    agent_id: str
    links: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Payload:
    """What a trigger brought: `body` holds the bytes from `start` on, all of `size` unless a range was asked for."""

    media_type: str
    size: int
    start: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A record beside a trigger, by its one line."""

    id: str
    summary: str


@dataclass(frozen=True, slots=True)
class Trigger:
    """One received event. `media_type` is "" and `size` 0 where it brought no payload; `payload` holds the bytes of one
    of at most 2,000. `before` and `after` stand beside it in its thread, `linked` are what links lead to."""

    id: str
    thread_id: str
    source: str
    origin: Mapping[str, Any]
    summary: str
    occurred_at: datetime
    received_at: datetime
    external_id: str | None
    before: Neighbour | None
    after: Neighbour | None
    linked: tuple[Neighbour, ...]
    media_type: str
    size: int
    payload: bytes | None
    team_id: str
    agent_id: str


@dataclass(frozen=True, slots=True)
class Events:
    """A page of a thread. `next_cursor` is None only at the end; `resume_cursor` is always there and stands behind the
    last event given."""

    events: tuple[Trigger, ...]
    next_cursor: str | None
    resume_cursor: str


@dataclass(frozen=True, slots=True)
class Link:
    """One link, and whether it was made just now."""

    start: str
    end: str
    rel: str
    created: bool


def thread(session: Session, one: str, viewer: Viewer, sight: reads.Where) -> Thread:
    """A thread by its id. Raises InvalidField (malformed), NotFound, Gone (deleted, to its owner)."""
    key, record = _whole(session, one, "thread", viewer, sight)
    count, last = sight.rows(session, "thread_events", thread=key)[0]
    around = _linked(session, [key], sight).get(key, [])
    owners = tuple(other.id for rel, to_here, kind, other in around if (rel, to_here, kind) == (OWNS, True, "worker"))
    return Thread(
        id=one,
        summary=record.content.partition("\n")[0],
        status=record.status,
        natural_key=record.external_id,
        owner_workers=owners,
        event_count=count,
        last_event_at=reads.aware(last),
        links=_others(around, owners),
        **_common(record),
    )


def worker(session: Session, one: str, viewer: Viewer, sight: reads.Where) -> Worker:
    """A worker by its id. Raises as `thread`."""
    key, record = _whole(session, one, "worker", viewer, sight)
    threads, cites = (tuple(record.metadata.get(name, ())) for name in ("threads", "cites"))
    return Worker(
        id=one,
        threads=threads,
        task=record.metadata.get("task", ""),
        status=record.status,
        report=record.metadata.get("report", ""),
        cites=cites,
        links=_others(_linked(session, [key], sight).get(key, []), (*threads, *cites)),
        **_common(record),
    )


def trigger(session: Session, one: str, viewer: Viewer, sight: reads.Where) -> Trigger:
    """A trigger by its id, with what stands beside it. Raises as `thread`."""
    row = _find(session, "trigger", one, "trigger", viewer, sight)
    around = sight.rows(session, "around", thread=row[1], key=row[0])[0] if row[1] is not None else ()
    beside = sight.rows(session, "brief", keys=[key for key in around if key is not None]) if any(around) else []
    sides = {key: Neighbour(id_of(key, name), line) for key, name, line in beside}
    before, after = (None if key is None else sides.get(key) for key in around) if around else (None, None)
    return _made(session, [row], [(before, after)], sight)[0]


def payload(session: Session, one: str, viewer: Viewer, sight: reads.Where, start: int, end: int | None) -> Payload:
    """The bytes as received, or those from `start` to `end` (half-open, cut to what is there).

    Raises as `thread`, InvalidField for a range that begins behind its end or that of the payload, NotFound for a
    trigger that brought nothing, or whose payload was erased.
    """
    key = _find(session, "find", one, "trigger", viewer, sight)[0]
    last = 2**62 if end is None else end
    row = session.row(query("payload"), {"key": key, "first": start + 1, "last": last})
    if row is None:
        raise NotFound(f"trigger_id: {one} has no payload", field="trigger_id")
    media_type, size, body = row
    if start > size or start > last:
        raise InvalidField(f"start: {start} is after the end of the range", field="start")
    return Payload(media_type, size, start, body or b"")


def events(session: Session, one: str, viewer: Viewer, sight: reads.Where, cursor: str | None, limit: int) -> Events:
    """A page of a thread from a cursor on. Raises as `thread`; InvalidField for a cursor that is none or was altered,
    Conflict for that of another thread."""
    thread, _, created, agent = _find(session, "find", one, "thread", viewer, sight)
    seal = f"{agent}\n{one}\n{created.isoformat()}"
    after = "" if cursor in (None, "") else read_cursor(cursor, one, key=seal)
    stands = _position(session, thread, after)
    keys = [key for (key,) in sight.rows(session, "events", thread=thread, after=stands, limit=limit + 1)]
    page, beyond = keys[:limit], keys[limit:]
    first = sight.rows(session, "around", thread=thread, key=page[0])[0][0] if page and after else None
    wanted = keys if first is None else [first, *keys]
    rows = {row[0]: row for row in sight.rows(session, "triggers", keys=wanted)} if wanted else {}
    lines = [Neighbour(rows[key][2], rows[key][4]) for key in wanted]
    sides: list[tuple[Neighbour | None, Neighbour | None]] = []
    for place in range(len(wanted) - len(keys), len(wanted) - len(beyond)):
        sides.append((lines[place - 1] if place else None, lines[place + 1] if place + 1 < len(lines) else None))
    triggers = _made(session, [rows[key] for key in page], sides, sight)
    resume = make_cursor(one, triggers[-1].id if triggers else after, key=seal)
    return Events(triggers, resume if beyond else None, resume)


def assert_kind(one: object, kind: Kind) -> None:
    """Raise InvalidField for what is no name, NotFound for a name of another kind."""
    field = f"{kind}_id"
    found = parse_name(one)
    if found is None:
        raise InvalidField(f"{field}: {ascii(one)[:40]} is not an id like {PREFIX[kind]}_8f21", field=field)
    if found != kind:
        raise NotFound(f"{field}: there is no {kind} {one}", field=field)


def _find(session: Session, sql: str, one: str, kind: Kind, viewer: Viewer, sight: reads.Where) -> Row:
    """The row of a named record of a kind, its key first and its owner last; raises InvalidField, NotFound, Gone."""
    assert_kind(one, kind)
    rows = sight.rows(session, sql, hash=name_hash(one), named=one)
    passed = reads.another_meant(session, {row[0]: (one, row[-1]) for row in rows}, viewer)
    rows = [row for row in rows if row[0] not in passed]
    if not rows:
        raise reads.absent(session, one, viewer, f"{kind}_id")
    return min([row for row in rows if row[-1] == viewer.agent_id] or rows)


def _whole(session: Session, one: str, kind: Kind, viewer: Viewer, sight: reads.Where) -> tuple[int, Record]:
    """Key and record; raises as `_find`."""
    assert_kind(one, kind)
    found = reads.by_names(session, [one], viewer, sight)
    for passed in reads.another_meant(session, {key: (one, got.agent_id) for key, got in found.items()}, viewer):
        del found[passed]
    if not found:
        raise reads.absent(session, one, viewer, f"{kind}_id")
    key = min(found, key=lambda key: (found[key].agent_id != viewer.agent_id, key))
    return key, found[key]


def _common(record: Record) -> dict[str, Any]:
    names = ("created_at", "updated_at", "version", "path", "scope", "bucket", "team_id", "agent_id")
    return {name: getattr(record, name) for name in names}


def _position(session: Session, thread: int, after: str) -> int:
    """The key of the event behind which a page begins; it may have been deleted since."""
    if not after:
        return 0
    row = session.row(query("position"), {"thread": thread, **reads.named(after)})
    if row is None:
        raise Conflict("cursor: its event is not in this store: start again without a cursor", field="cursor")
    return int(row[0])


def _made(
    session: Session,
    rows: Sequence[Row],
    sides: Sequence[tuple[Neighbour | None, Neighbour | None]],
    sight: reads.Where,
) -> tuple[Trigger, ...]:
    """Triggers from rows of trigger.sql and what stands before and after each."""
    keys = [row[0] for row in rows]
    if not keys:
        return ()
    flags, params = ({"one"}, {"key": keys[0]}) if len(keys) == 1 else ({"many"}, {"keys": keys})
    found = session.rows(query("bodies", frozenset(flags)), {**params, "most": INLINE_BYTES})
    bodies = {key: rest for key, *rest in found}
    threads = reads.names_of(session, {row[1] for row in rows})
    linked = _linked(session, keys, sight)
    made = []
    for (key, thread, name, source, line, created, updated, external, team, agent), (before, after) in zip(
        rows, sides, strict=True
    ):
        media_type, size, body = bodies.get(key, ("", 0, None))
        origin = json.loads(source)
        made.append(
            Trigger(
                id=name,
                thread_id=threads.get(thread, ""),
                source=source_name(origin),
                origin=origin,
                summary=line,
                occurred_at=created.replace(tzinfo=UTC),
                received_at=updated.replace(tzinfo=UTC),
                external_id=external,
                before=before,
                after=after,
                linked=tuple(dict.fromkeys(other for *_, other in linked.get(key, ()))),
                media_type=media_type,
                size=size,
                payload=body,
                team_id=team,
                agent_id=agent,
            )
        )
    return tuple(made)


_Around = list[tuple[str, bool, Kind, Neighbour]]  # relation, whether the link comes from there, kind, what is there


def _linked(session: Session, keys: Sequence[int], sight: reads.Where) -> dict[int, _Around]:
    """What the viewer sees at the other ends of links from and to these keys, in the order of the links."""
    rows = session.rows(query("links_at"), {"keys": list(keys)})
    if not rows:
        return {}
    here = set(keys)
    others = {end for row in rows for end in row[:2]}
    seen = {
        key: Neighbour(id_of(key, name), line) for key, name, line in sight.rows(session, "brief", keys=list(others))
    }
    found: dict[int, _Around] = {}
    for start, end, rel in rows:
        for one, other, to_here in ((start, end, False), (end, start, True)):
            if one in here and other in seen:
                found.setdefault(one, []).append((rel, to_here, kind_of(other), seen[other]))
    return found


def _others(around: _Around, known: Sequence[str]) -> tuple[str, ...]:
    """Ids at the other ends of links, those left out that are known by their part."""
    return tuple(one for one in dict.fromkeys(other.id for *_, other in around) if one not in set(known))
