"""Chain of Recall: threads, triggers and workers, read exactly by id and walked event by event.

All of them are records: search, restore, visibility, versions, forgetting, export and import are those of any record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from . import chain_index, chain_writes, reads, walk
from .base import Viewer
from .chain_index import Threads
from .chain_input import (
    Arrival,
    ReportIn,
    ThreadChanges,
    ThreadIn,
    TriggerIn,
    WorkerIn,
    arrival,
    checked,
)
from .cursor import make_cursor, read_cursor
from .duck import Duck, Row, Session, query
from .errors import Conflict, InvalidField, NotFound
from .gathering import Gathering
from .records import PREFIX, Kind, Record, Written, id_of, is_id, name_hash, parse_name
from .rows import source_name

INLINE_BYTES = 2_000
"""Bytes of a payload that come with its trigger; a larger one is read for itself."""
MAX_EVENTS = 200
"""Events of one page."""
MAX_REL_CHARS = 64


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


class Chain:
    """Threads, triggers and workers of a store. Safe from several threads; triggers that arrive at the same time are
    kept in one transaction. Everything takes a viewer, who sees and changes what is visible to it."""

    def __init__(self, duck: Duck, clock: Callable[[], datetime]) -> None:
        self._duck = duck
        self._clock = clock
        self._arrivals: Gathering[Arrival, Written] = Gathering(self._add)

    # -- writes ----------------------------------------------------------------------------------------------------

    def create_thread(self, fields: Mapping[str, Any], viewer: Viewer) -> Written:
        """See ContextPacks.create_thread."""
        given = checked(ThreadIn, fields)
        with self._duck.writing() as session:
            return chain_writes.create_thread(session, given, viewer, self._clock())

    def update_thread(self, one: str, fields: Mapping[str, Any], viewer: Viewer) -> Written:
        """See ContextPacks.update_thread."""
        changes = checked(ThreadChanges, fields)
        with self._duck.writing() as session:
            return chain_writes.update_thread(session, one, changes, viewer, self._clock())

    def add_trigger(self, fields: Mapping[str, Any], viewer: Viewer) -> Written:
        """See ContextPacks.add_trigger."""
        return self._arrivals.put(arrival(checked(TriggerIn, fields), viewer))

    def _add(self, arrivals: Sequence[Arrival]) -> Sequence[Written | Exception]:
        with self._duck.writing() as session:
            return chain_writes.add_triggers(session, arrivals, self._clock())

    def create_worker(self, fields: Mapping[str, Any], viewer: Viewer) -> Written:
        """See ContextPacks.create_worker."""
        given = checked(WorkerIn, fields)
        with self._duck.writing() as session:
            return chain_writes.create_worker(session, given, viewer, self._clock())

    def report(self, one: str, fields: Mapping[str, Any], viewer: Viewer) -> Written:
        """See ContextPacks.report."""
        given = checked(ReportIn, fields)
        with self._duck.writing() as session:
            return chain_writes.report(session, one, given, viewer, self._clock())

    def link(self, start: str, end: str, rel: str, viewer: Viewer) -> Link:
        """See ContextPacks.link."""
        for ref, field in ((start, "from"), (end, "to")):
            if not is_id(ref):
                raise InvalidField(f"{field}: {ascii(ref)[:40]} is not an id like trg_8f21 or mem:1", field=field)
        if (
            not isinstance(rel, str)
            or not 1 <= len(rel.strip()) <= MAX_REL_CHARS
            or not rel.isprintable()
            or "|" in rel
        ):
            raise InvalidField(f"rel: give one line of 1 to {MAX_REL_CHARS} characters without |", field="rel")
        with self._duck.writing() as session:
            return Link(start, end, rel, chain_writes.link(session, start, end, rel, viewer, self._clock()))

    # -- reads -----------------------------------------------------------------------------------------------------

    def threads(self, viewer: Viewer, status: str | None = None, cursor: str | None = None, limit: int = 50) -> Threads:
        """See ContextPacks.threads."""
        with self._duck.reading() as session:
            return chain_index.threads(session, viewer, self._clock(), status, cursor, limit)

    def thread(self, one: str, viewer: Viewer) -> Thread:
        """A thread by its id. Raises InvalidField (malformed), NotFound, Gone (deleted, to its owner)."""
        now = self._clock()
        with self._duck.reading() as session:
            sight = reads.sight(viewer, now)
            key, record = _get(session, one, "thread", viewer, sight)
            count, last = sight.rows(session, "thread_events", thread=key)[0]
            workers = sight.rows(session, "owners", key=key, rel=chain_writes.OWNS)
            return Thread(
                id=one,
                summary=record.content.partition("\n")[0],
                status=record.status,
                natural_key=record.external_id,
                owner_workers=tuple(name for (name,) in workers),
                event_count=count,
                last_event_at=reads.aware(last),
                links=walk.links_of(session, {one: key}, sight).get(one, ()),
                **_common(record),
            )

    def worker(self, one: str, viewer: Viewer) -> Worker:
        """A worker by its id. Raises as `thread`."""
        now = self._clock()
        with self._duck.reading() as session:
            sight = reads.sight(viewer, now)
            key, record = _get(session, one, "worker", viewer, sight)
            said = record.metadata
            return Worker(
                id=one,
                threads=tuple(said.get("threads", ())),
                task=said.get("task", ""),
                status=record.status,
                report=said.get("report", ""),
                cites=tuple(said.get("cites", ())),
                links=walk.links_of(session, {one: key}, sight).get(one, ()),
                **_common(record),
            )

    def trigger(self, one: str, viewer: Viewer) -> Trigger:
        """A trigger by its id, with what stands beside it. Raises as `thread`."""
        now = self._clock()
        with self._duck.reading() as session:
            sight = reads.sight(viewer, now)
            key, thread = _find(session, one, "trigger", viewer, sight)[:2]
            around = sight.rows(session, "around", thread=thread, key=key)[0] if thread is not None else ()
            return _triggers(session, [key], [one for one in around if one is not None], sight)[0]

    def payload(self, one: str, viewer: Viewer, start: int = 0, end: int | None = None) -> Payload:
        """The bytes as received, or those from `start` to `end` (half-open, cut to what is there).

        Raises InvalidField (malformed id, a range that begins behind the end), NotFound (also for a trigger that
        brought nothing, or whose payload was erased), Gone.
        """
        for name, value in (("start", start), ("end", end)):
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**62):
                raise InvalidField(f"{name}: {ascii(value)[:40]} is not a whole number from 0", field=name)
        with self._duck.reading() as session:
            key = _find(session, one, "trigger", viewer, reads.sight(viewer, self._clock()))[0]
            row = session.row(query("payload"), {"key": key, "first": start + 1, "last": 2**62 if end is None else end})
            if row is None:
                raise NotFound(f"trigger_id: {one} has no payload", field="trigger_id")
            media_type, size, body = row
            if start > size or (end is not None and end < start):
                raise InvalidField(f"start: {start} is behind the end of the range", field="start")
            return Payload(media_type, size, start, body or b"")

    def events(self, one: str, viewer: Viewer, cursor: str | None = None, limit: int = 50) -> Events:
        """The triggers of a thread in the order in which they were kept, from a cursor on, at most `limit` (1 to 200).

        Raises as `thread`; InvalidField for a cursor that is none or was altered, Conflict for that of another thread.
        """
        if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MAX_EVENTS:
            raise InvalidField(f"limit: {str(limit)[:40]} is not a whole number from 1 to {MAX_EVENTS}", field="limit")
        with self._duck.reading() as session:
            sight = reads.sight(viewer, self._clock())
            thread, _, agent, created = _find(session, one, "thread", viewer, sight)
            seal = f"{agent}\n{one}\n{created.isoformat()}"
            after = "" if cursor is None else read_cursor(cursor, one, key=seal)
            rows = sight.rows(
                session, "events", thread=thread, after=_position(session, thread, after), limit=limit + 1
            )
            keys = [key for (key,) in rows]
            page, beyond = keys[:limit], keys[limit:]
            before = sight.rows(session, "around", thread=thread, key=page[0])[0][:1] if page and after else ()
            triggers = _triggers(session, page, [*(one for one in before if one is not None), *beyond], sight)
            resume = make_cursor(one, triggers[-1].id if triggers else after, key=seal)
            return Events(triggers, resume if beyond else None, resume)


def _find(session: Session, one: object, kind: Kind, viewer: Viewer, sight: reads.Where) -> Row:
    """Key, thread, owner and time of making of a record of a kind by its name; raises InvalidField, NotFound, Gone."""
    field = f"{kind}_id"
    if parse_name(one) is None:
        raise InvalidField(f"{field}: {ascii(one)[:40]} is not an id like {PREFIX[kind]}_8f21", field=field)
    name = str(one)
    rows = sight.rows(session, "find", hash=name_hash(name), named=name) if parse_name(name) == kind else []
    if not rows:
        raise reads.absent(session, name, viewer, field)
    return rows[0]


def _get(session: Session, one: str, kind: Kind, viewer: Viewer, sight: reads.Where) -> tuple[int, Record]:
    """Key and record."""
    key = _find(session, one, kind, viewer, sight)[0]
    return key, reads.by_keys(session, [key], viewer, sight.params["at"])[key]


def _common(record: Record) -> dict[str, Any]:
    names = ("created_at", "updated_at", "version", "path", "scope", "bucket", "team_id", "agent_id")
    return {name: getattr(record, name) for name in names}


def _position(session: Session, thread: int, after: str) -> int:
    """The key of the event behind which a page begins; it may have been deleted since."""
    if not after:
        return 0
    row = session.row(query("position"), {"thread": thread, "hash": name_hash(after), "name": after})
    if row is None:
        raise Conflict("cursor: its event is not in this store: begin without a cursor", field="cursor")
    return int(row[0])


def _triggers(session: Session, keys: Sequence[int], beside: Sequence[int], sight: reads.Where) -> tuple[Trigger, ...]:
    """Whole triggers of ascending keys; `beside` are the keys that stand before and after them in their thread."""
    if not keys:
        return ()
    rows = {row[0]: row for row in sight.rows(session, "triggers", keys=[*keys, *beside])}
    bodies = {key: rest for key, *rest in session.rows(query("bodies"), {"keys": list(keys), "most": INLINE_BYTES})}
    threads = reads.names_of(session, {row[1] for row in rows.values()})
    linked = _linked(session, keys, sight)
    order = sorted(rows)
    made = []
    for key in keys:
        _, thread, name, source, line, created, updated, external, team, agent = rows[key]
        place = order.index(key)
        sides = (order[place - 1] if place else None, order[place + 1] if place + 1 < len(order) else None)
        before, after = (
            None if side is None or rows[side][1] != thread else Neighbour(rows[side][2], rows[side][4])
            for side in sides
        )
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
                linked=tuple(linked.get(key, ())),
                media_type=media_type,
                size=size,
                payload=body,
                team_id=team,
                agent_id=agent,
            )
        )
    return tuple(made)


def _linked(session: Session, keys: Sequence[int], sight: reads.Where) -> dict[int, list[Neighbour]]:
    """What links lead to from these keys, by one line each."""
    if session.row(query("any_link"), {"keys": list(keys)}) is None:
        return {}
    found: dict[int, list[Neighbour]] = {}
    for turn, key, _, name, *_, line, sort in sight.rows(session, "neighbours", keys=list(keys), most=walk.MOST_LINKS):
        if sort != walk.TO_THREAD:
            found.setdefault(keys[turn], []).append(Neighbour(id_of(key, name), line))
    return found
