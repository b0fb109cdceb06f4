"""Writes of threads, triggers, workers and links inside one transaction. They are records: rows, postings, versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..errors import Conflict, InvalidField, StoreError
from ..file.duck import Session, query
from ..memory import postings, reads, writes
from ..memory.numbers import Numbers
from ..memory.prepare import Prepared, prepare
from ..memory.repetitions import caller_hash
from ..records import LEFT_OUT, PREFIX, Kind, Record, Written, key_of, made_name, name_hash, parse_name
from ..times import utc
from ..values import Viewer
from .checks import ReportIn, ThreadChanges, ThreadIn, WorkerIn, record_of, thread_text, worker_text

OWNS, CITES = "thread", "cites"
"""The relations of a worker to its threads and to what its report rests on."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A thread as far as what is put into it needs it."""

    key: int
    team_id: str
    scope: str
    bucket: str
    path: str


@dataclass(frozen=True, slots=True)
class Known:
    """A record of an agent that a new one may repeat."""

    key: int
    name: str
    agent_id: str
    external_id: str | None
    thread: int | None
    deleted: bool


class Batch:
    """Rows to be written together. Numbers are handed out inside the transaction, so their order is that of commits."""

    def __init__(self, session: Session, now: datetime) -> None:
        moment = utc(now)
        assert moment is not None
        self.session, self.moment = session, moment
        self.numbers = Numbers(session)
        self._rows: list[dict[str, Any]] = []
        self._slots: list[tuple[int, Prepared]] = []
        self._payloads: list[tuple[int, str, bytes]] = []
        self._links: list[tuple[int, int, str, int, str, datetime]] = []

    def names(self, kind: Kind, count: int, taken: Iterable[str] = ()) -> list[tuple[int, str]]:
        """Numbers and names for records that came without one; names that anybody has are passed over."""
        found: list[tuple[int, str]] = []
        used = set(taken)
        while len(found) < count:
            tried = [(n, made_name(kind, n)) for n in (self.numbers.record(kind) for _ in range(count - len(found)))]
            used |= {row[1] for row in by_name(self.session, [name for _, name in tried])}
            found += [(n, name) for n, name in tried if name not in used]
        return found

    def add(self, kind: Kind, n: int, name: str, item: Prepared, agent: str, spot: Spot, thread: int | None) -> int:
        """A new record; gives its key."""
        key = key_of(kind, n)
        created = utc(item.record.timestamp) or self.moment
        row = self._row(key, 1, name, item, (agent, spot.team_id, spot.scope, spot.bucket, spot.path), thread)
        row.update(created_at=created, updated_at=self.moment, valid_from=min(created, self.moment), supersedes=None)
        return key

    def grow(self, record: Record, key: int, item: Prepared, thread: int | None) -> None:
        """The next version of a record."""
        place = (record.agent_id, record.team_id, record.scope, record.bucket, record.path)
        row = self._row(key, record.version + 1, record.id, item, place, thread)
        row.update(created_at=utc(record.created_at), updated_at=self.moment, valid_from=self.moment)
        stands = self.session.row(
            "SELECT vid, pinned, expires_at, supersedes, superseded_by, superseded_at, superseded_from, "
            "superseded_until FROM records WHERE key = $key AND valid_to IS NULL",
            {"key": key},
        )
        assert stands is not None
        row.update(
            zip(
                (
                    "pinned",
                    "expires_at",
                    "supersedes",
                    "superseded_by",
                    "superseded_at",
                    "superseded_from",
                    "superseded_until",
                ),
                stands[1:],
                strict=True,
            )
        )
        self.session.run("UPDATE records SET valid_to = $now WHERE vid = $vid", {"now": self.moment, "vid": stands[0]})

    def _row(
        self, key: int, version: int, name: str, item: Prepared, place: tuple[str, ...], thread: int | None
    ) -> dict[str, Any]:
        vid = self.numbers.passage(len(item.slots))
        row = writes.row_of(item, place, vid=vid, key=key, version=version)
        row.update(name=name, name_hash=name_hash(name), thread=thread)
        self._rows.append(row)
        self._slots.append((vid, item))
        return row

    def payload(self, key: int, media_type: str, body: bytes) -> None:
        """What a trigger brought."""
        self._payloads.append((key, media_type, body))

    def links(
        self, one: int, others: Sequence[int], rel: str, agent: str, first: int = 0, made: datetime | None = None
    ) -> None:
        """Links from one record to others, in this order."""
        for place, other in enumerate(others, start=first):
            self._links.append((one, other, rel, place, agent, made or self.moment))

    def write(self) -> None:
        """Write all of it."""
        self.numbers.keep()
        writes.insert(self.session, self._rows)
        postings.append(self.session, self._slots)
        insert_payloads(self.session, self._payloads)
        if self._links:
            ends, others, rels, places, agents, times = map(list, zip(*self._links, strict=True))
            self.session.run(
                query("insert_links"),
                {"ends": ends, "others": others, "rels": rels, "places": places, "agents": agents, "times": times},
            )
        postings.merge_step(self.session)


def insert_payloads(session: Session, payloads: Sequence[tuple[int, str, bytes]]) -> None:
    """Keep what triggers (key, media type, bytes) brought."""
    if payloads:
        keys, media_types, bodies = map(list, zip(*payloads, strict=True))
        session.run(
            query("insert_payloads"),
            {"keys": keys, "media_types": media_types, "sizes": [len(body) for body in bodies], "bodies": bodies},
        )


def by_name(session: Session, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Rows (key, name, agent, external id, thread, deleted) of records with these names, whoever has them; a name that
    was erased is told as it was asked for."""
    if not names:
        return []
    asked = reads.as_stored(names)
    hashes = list({name_hash(name) for name in names})
    rows = session.rows(query("taken_names"), {"hashes": hashes, "names": list(asked)})
    return [(key, asked[name], *rest) for key, name, *rest in rows]


def _named(session: Session, name: str | None, viewer: Viewer, now: datetime, field: str) -> Known | None:
    """The agent's own record of a given name, deleted or not; raises Conflict where the viewer sees another's,
    or could before that was deleted."""
    if name is None:
        return None
    own = [Known(*row) for row in by_name(session, [name]) if row[2] == viewer.agent_id]
    if own:
        if own[0].deleted:
            raise Conflict(f"{field}: {name} was deleted, and ids are never reused: choose another", field=field)
        return own[0]
    if reads.name_was_seen(session, name, viewer, now):
        raise taken(name, field)
    return None


def taken(name: str, field: str) -> Conflict:
    """The id is somebody's already."""
    return Conflict(f"{field}: {name} already names something else: choose another or leave it out", field=field)


def external(session: Session, kind: Kind, agent: str, texts: Sequence[str]) -> dict[str, Known]:
    """Records of an agent by the caller's own ids; of several the one that is not deleted."""
    if not texts:
        return {}
    asked = {caller_hash(agent, text, kind): text for text in texts}
    rows = session.rows(query("taken_externals"), {"hashes": list(asked), "agent": agent, "kind": key_of(kind, 0)})
    # Of what was erased only the hash is left.
    found = [Known(key, name, owner, text or asked[hashed], *rest) for hashed, key, name, owner, text, *rest in rows]
    return {known.external_id or "": known for known in sorted(found, key=lambda known: not known.deleted)}


def spots(session: Session, names: Sequence[str], viewer: Viewer, now: datetime, field: str) -> list[Spot | StoreError]:
    """Threads by name as the viewer sees them; for one that it does not see, the error that says so."""
    if not names:
        return []
    rows = reads.sight(viewer, now).rows(
        session, "spots", hashes=[name_hash(name) for name in names], names=list(names)
    )
    passed = reads.another_meant(session, {key: (name, owner) for name, owner, key, *_ in rows}, viewer)
    seen = {name: Spot(*rest) for name, _, *rest in rows if rest[0] not in passed}
    return [seen[name] if name in seen else reads.absent(session, name, viewer, field) for name in names]


def _keys(session: Session, records: dict[str, Record]) -> dict[str, int]:
    """Keys of records by id."""
    owners = {(row[1], row[2]): row[0] for row in by_name(session, [one for one in records if parse_name(one)])}
    return {
        one: owners[one, record.agent_id] if parse_name(one) else reads.own_key(session, one, record.agent_id) or 0
        for one, record in records.items()
    }


def seen_key(session: Session, one: str, viewer: Viewer, now: datetime, field: str) -> int:
    """The key of an id that the viewer sees; raises NotFound, Gone."""
    seen = reads.by_ids(session, [one], viewer, now)
    if one not in seen:
        raise reads.absent(session, one, viewer, field)
    return _keys(session, seen)[one]


def own(session: Session, one: str, kind: Kind, viewer: Viewer, now: datetime) -> tuple[int, Record]:
    """Key and record of the agent's own; somebody else's is as unknown as one that never was, or of another kind.

    Raises InvalidField (no id of this form), NotFound, Gone.
    """
    field, given = f"{kind}_id", parse_name(one)
    if given is None:
        raise InvalidField(f"{field}: {ascii(one)[:40]} is not an id like {PREFIX[kind]}_8f21", field=field)
    record = reads.by_ids(session, [one], viewer, now).get(one) if given == kind else None
    if record is None or record.agent_id != viewer.agent_id:
        raise reads.absent(session, one, viewer, field)
    return _keys(session, {one: record})[one], record


# ---- threads


def create_thread(session: Session, given: ThreadIn, viewer: Viewer, now: datetime) -> Written:
    """A new thread, or the one that has this natural key, or this id and summary."""
    summary = given.summary or (given.natural_key or "")
    if not summary:
        raise InvalidField("summary: is blank: say in one line what the thread is about", field="summary")
    agent = viewer.agent_id
    if given.natural_key is not None:
        there = external(session, "thread", agent, [given.natural_key]).get(given.natural_key)
        if there is not None and not there.deleted:
            return Written(there.name, False, _not_applied(session, there, given))
    named = _named(session, given.thread_id, viewer, now, "thread_id")
    text = thread_text(summary, given.natural_key)
    if named is not None:
        stored = reads.by_ids(session, [named.name], viewer, now).get(named.name)
        if named.external_id != given.natural_key or stored is None or stored.content != text:
            raise taken(named.name, "thread_id")
        return Written(named.name, False, _not_applied(session, named, given))
    batch = Batch(session, now)
    if given.thread_id is None:
        ((n, name),) = batch.names("thread", 1)
    else:
        n, name = batch.numbers.record("thread"), given.thread_id
    spot = _spot(given.team_id, given.scope, given.bucket, given.path or f"threads/{name}")
    record = record_of("thread", text, path=spot.path, status=given.status or "open")
    item = prepare(record.model_copy(update={"external_id": given.natural_key}))
    batch.add("thread", n, name, item, agent, spot, None)
    batch.write()
    return Written(name, True)


def _not_applied(session: Session, there: Known, given: ThreadIn) -> tuple[str, ...]:
    """A note on the fields that a thread is asked for with and that it has otherwise: they stay as they are."""
    row = session.row(
        "SELECT split_part(content, chr(10), 1), status, path, scope, bucket, team_id, forgotten FROM records "
        "WHERE key = $key AND valid_to IS NULL",
        {"key": there.key},
    )
    assert row is not None
    *stored, forgotten = row
    if forgotten is not None:
        return (LEFT_OUT,)
    said = dict(zip(("summary", "status", "path", "scope", "bucket", "team_id"), stored, strict=True))
    said["thread_id"] = there.name
    names = sorted(name for name in said if getattr(given, name) and getattr(given, name) != said[name])
    return (f"is stored already; not applied: {', '.join(names)}; update it, or forget it first",) if names else ()


def _spot(team: str = "", scope: str = "", bucket: str = "", path: str = "") -> Spot:
    return Spot(0, team, scope or writes.DEFAULT_SCOPE, bucket or writes.DEFAULT_BUCKET, path)


def update_thread(session: Session, one: str, changes: ThreadChanges, viewer: Viewer, now: datetime) -> Written:
    """The next version of a thread of the agent's own; nothing is written where nothing changes."""
    key, stored = own(session, one, "thread", viewer, now)
    summary = changes.summary or stored.content.partition("\n")[0]
    status = changes.status or stored.status
    text = thread_text(summary, stored.external_id)
    if (text, status) == (stored.content, stored.status):
        return Written(one, False, (), stored.version)
    record = record_of("thread", text, path=stored.path, status=status)
    batch = Batch(session, now)
    batch.grow(stored, key, prepare(record.model_copy(update={"external_id": stored.external_id})), None)
    batch.write()
    return Written(one, False, (), stored.version + 1, True)


# ---- workers


def create_worker(session: Session, given: WorkerIn, viewer: Viewer, now: datetime) -> Written:
    """A new worker, or the one that has this id, task and threads; raises NotFound for a thread that is not there."""
    threads: list[Spot] = []
    for spot in spots(session, given.threads, viewer, now, "threads"):
        if isinstance(spot, StoreError):
            raise spot
        threads.append(spot)
    named = _named(session, given.worker_id, viewer, now, "worker_id")
    if named is not None:
        stored = reads.by_ids(session, [named.name], viewer, now).get(named.name)
        said = (stored.metadata.get("task"), stored.metadata.get("threads")) if stored else None
        if said != (given.task, list(given.threads)):
            raise taken(named.name, "worker_id")
        return Written(named.name, False)
    batch = Batch(session, now)
    if given.worker_id is None:
        ((n, name),) = batch.names("worker", 1)
    else:
        n, name = batch.numbers.record("worker"), given.worker_id
    spot = threads[0] if threads else _spot(path=f"workers/{name}")
    record = record_of(
        "worker",
        worker_text(given.task, given.threads),
        path=spot.path,
        status="running",
        metadata={"task": given.task, "threads": list(given.threads)},
    )
    key = batch.add("worker", n, name, prepare(record), viewer.agent_id, spot, None)
    batch.links(key, [thread.key for thread in threads], OWNS, viewer.agent_id)
    batch.write()
    return Written(name, True)


def report(session: Session, one: str, given: ReportIn, viewer: Viewer, now: datetime) -> Written:
    """The next version of a worker of the agent's own, with its report; the same report again changes nothing."""
    key, stored = own(session, one, "worker", viewer, now)
    said = dict(stored.metadata)
    if "task" not in said:
        raise Conflict(f"worker_id: {one} {writes.FORGOTTEN}", field="worker_id")
    seen = reads.by_ids(session, given.cites, viewer, now)
    for cited in given.cites:
        if cited not in seen:
            raise reads.absent(session, cited, viewer, "cites")
    if (said.get("report"), said.get("cites")) == (given.report, list(given.cites)):
        return Written(one, False, (), stored.version)
    keys = _keys(session, seen)
    said |= {"report": given.report, "cites": list(given.cites)}
    record = record_of(
        "worker",
        worker_text(said["task"], tuple(said["threads"]), given.report, given.cites),
        path=stored.path,
        status="done",
        metadata=said,
    )
    batch = Batch(session, now)
    batch.grow(stored, key, prepare(record), None)
    session.run("DELETE FROM links WHERE from_key = $key AND rel = $rel", {"key": key, "rel": CITES})
    batch.links(key, [keys[cited] for cited in given.cites], CITES, viewer.agent_id, first=len(said["threads"]))
    batch.write()
    return Written(one, False, (), stored.version + 1, True)


# ---- links


def link(session: Session, one: str, other: str, rel: str, viewer: Viewer, now: datetime) -> bool:
    """A link between two records that the viewer sees; whether it is new. Raises NotFound, Gone, InvalidField."""
    start, end = (seen_key(session, ref, viewer, now, field) for ref, field in ((one, "from"), (other, "to")))
    if start == end:
        raise InvalidField("to: is the record that the link comes from", field="to")
    there = session.rows("SELECT to_key, rel FROM links WHERE from_key = $key", {"key": start})
    if (end, rel) in there:
        return False
    batch = Batch(session, now)
    batch.links(start, [end], rel, viewer.agent_id, first=1000 + len(there))
    batch.write()
    return True
