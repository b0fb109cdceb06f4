"""Chain of Recall: threads, triggers and workers, written, read exactly by id and walked event by event.

All of them are records: search, restore, visibility, versions, forgetting, export and import are those of any record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from ..concurrency.group_commit import Gathering
from ..errors import InvalidField
from ..file.duck import Duck, Session
from ..memory import reads
from ..records import Kind, Written, is_id
from ..validation import miscounted
from ..values import Viewer
from . import batch as chain_writes
from . import gets as chain_reads
from . import index as chain_index
from . import triggers as chain_triggers
from .checks import Arrival, ReportIn, ThreadChanges, ThreadIn, TriggerIn, WorkerIn, arrival, checked
from .gets import Events, Link, Neighbour, Payload, Thread, Trigger, Worker
from .index import Threads

__all__ = ["Chain", "Events", "Link", "Neighbour", "Payload", "Thread", "Trigger", "Worker"]

T = TypeVar("T", Thread, Worker, Trigger)

MAX_REL_CHARS = 64


class Chain:
    """Threads, triggers and workers of a store. Safe from several threads; triggers that arrive at the same time are
    kept in one transaction. Everything takes a viewer, who sees and changes what is visible to it."""

    def __init__(self, duck: Duck, clock: Callable[[], datetime]) -> None:
        self._duck = duck
        self._clock = clock
        self._arrivals: Gathering[Arrival, Written] = Gathering(self._add)

    # -- writes ----------------------------------------------------------------------------------------------------

    def create_thread(self, fields: Mapping[str, Any], viewer: Viewer) -> Written:
        """See ContextPacks.threads.create."""
        given = checked(ThreadIn, fields)
        with self._duck.writing() as session:
            return chain_writes.create_thread(session, given, viewer, self._clock())

    def update_thread(self, one: str, fields: Mapping[str, Any], viewer: Viewer) -> Written:
        """See ContextPacks.threads.update."""
        chain_reads.assert_kind(one, "thread")
        changes = checked(ThreadChanges, fields)
        with self._duck.writing() as session:
            return chain_writes.update_thread(session, one, changes, viewer, self._clock())

    def add_trigger(self, fields: Mapping[str, Any], viewer: Viewer) -> Written:
        """See ContextPacks.threads.add_trigger."""
        return self._arrivals.put(arrival(checked(TriggerIn, fields), viewer))

    def _add(self, arrivals: Sequence[Arrival]) -> Sequence[Written | Exception]:
        with self._duck.writing() as session:
            return chain_triggers.add_triggers(session, arrivals, self._clock())

    def create_worker(self, fields: Mapping[str, Any], viewer: Viewer) -> Written:
        """See ContextPacks.threads.create_worker."""
        given = checked(WorkerIn, fields)
        with self._duck.writing() as session:
            return chain_writes.create_worker(session, given, viewer, self._clock())

    def report(self, one: str, fields: Mapping[str, Any], viewer: Viewer) -> Written:
        """See ContextPacks.threads.report."""
        chain_reads.assert_kind(one, "worker")
        given = checked(ReportIn, fields)
        with self._duck.writing() as session:
            return chain_writes.report(session, one, given, viewer, self._clock())

    def link(self, start: str, end: str, rel: str, viewer: Viewer) -> Link:
        """See ContextPacks.threads.link."""
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
        """See ContextPacks.threads.list."""
        with self._duck.reading() as session:
            return chain_index.threads(session, viewer, self._clock(), status, cursor, limit)

    def thread(self, one: str, viewer: Viewer) -> Thread:
        """See ContextPacks.threads.get."""
        return self._read("thread", chain_reads.thread, one, viewer)

    def worker(self, one: str, viewer: Viewer) -> Worker:
        """See ContextPacks.threads.get_worker."""
        return self._read("worker", chain_reads.worker, one, viewer)

    def trigger(self, one: str, viewer: Viewer) -> Trigger:
        """See ContextPacks.threads.get_trigger."""
        return self._read("trigger", chain_reads.trigger, one, viewer)

    def _read(self, what: Kind, read: Callable[[Session, str, Viewer, reads.Where], T], one: str, viewer: Viewer) -> T:
        """What a read says, remembered as long as nothing is written to a file that is kept open."""
        chain_reads.assert_kind(one, what)
        with self._duck.reading() as session:
            sight = reads.sight(viewer, self._clock())
            name = (what, sight.name, one)
            found: T | None = session.recalled(name)
            if found is None:
                found = read(session, one, viewer, sight)
                session.keep(name, found, 2_000 + 2 * len(repr(found)))
            return found

    def payload(self, one: str, viewer: Viewer, start: int = 0, end: int | None = None) -> Payload:
        """See ContextPacks.threads.payload."""
        for name, value in (("start", start), ("end", end)):
            if value is not None and (wrong := miscounted(value, 0, 2**62 - 1)):
                raise InvalidField(f"{name}: {wrong}", field=name)
        with self._duck.reading() as session:
            return chain_reads.payload(session, one, viewer, reads.sight(viewer, self._clock()), start, end)

    def events(self, one: str, viewer: Viewer, cursor: str | None = None, limit: int = 50) -> Events:
        """See ContextPacks.threads.events."""
        most = chain_reads.MAX_EVENTS
        if wrong := miscounted(limit, 1, most):
            raise InvalidField(f"limit: {wrong}", field="limit")
        with self._duck.reading() as session:
            return chain_reads.events(session, one, viewer, reads.sight(viewer, self._clock()), cursor, limit)
