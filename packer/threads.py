"""Threads, triggers and workers: an event log that is walked by exact ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_packs.store.protocol import Store
from context_packs.store.records import Written
from context_packs.store.values import Viewer

from .fields import Moment
from .secrecy import guarded

if TYPE_CHECKING:
    from context_packs.store.chain.chain import Events, Link, Payload, Thread, Trigger, Worker
    from context_packs.store.chain.index import Threads as Page


class Threads:
    """Threads, triggers and workers of one viewer, as `ContextPacks.threads`. Every read is of one id and exact.

    Ids match `(trg|thr|wkr)_[A-Za-z0-9][A-Za-z0-9_.-]{0,63}`, given or made; they never change and are never used
    again. All of these raise InvalidField for a value out of range, NotFound for an id that names nothing the agent
    may see, Gone for one that it deleted itself. What is written says so: `Written` has the `id`, and whether it was
    `created` or `updated`.
    """

    def __init__(self, store: Store, viewer: Viewer, secrets: str) -> None:
        self._store = store
        self._viewer = viewer
        self._secrets = secrets  # what becomes of them, one of secrecy.SECRETS

    def _without_secrets(self, fields: dict[str, Any]) -> Mapping[str, Any]:
        return guarded(fields, self._secrets)

    def create(
        self,
        summary: str = "",
        *,
        thread_id: str | None = None,
        natural_key: str | None = None,
        status: str = "",
        path: str = "",
        scope: str = "",
        bucket: str = "",
        team_id: str = "",
    ) -> Written:
        """Begin a thread, the events of one topic.

        Its triggers and workers stand in its scope, bucket, team and path. Raises Conflict for a `thread_id` that is
        taken.

        Args:
            summary: one line.
            thread_id: an id of your own.
            natural_key: such as owner/repo#412. The same key answers with the thread that has it; `notes` name other
                fields that differ, which stay.
            status: open where none is given.
            path, scope, bucket, team_id: where it stands.
        """
        fields: dict[str, Any] = {
            "natural_key": natural_key,
            "status": status,
            "path": path,
            "scope": scope,
            "bucket": bucket,
        }
        fields |= {"summary": summary, "thread_id": thread_id, "team_id": team_id}
        return self._store.chain.create_thread(self._without_secrets(fields), self._viewer)

    def update(self, thread_id: str, *, summary: str | None = None, status: str | None = None) -> Written:
        """Another summary or status of a thread of the agent's own, as its next version."""
        return self._store.chain.update_thread(
            thread_id, self._without_secrets({"summary": summary, "status": status}), self._viewer
        )

    def add_trigger(
        self,
        thread_id: str,
        source: str | dict[str, Any],
        *,
        trigger_id: str | None = None,
        summary: str = "",
        payload: Any = None,
        media_type: str | None = None,
        occurred_at: Moment | None = None,
        external_id: str | None = None,
    ) -> Written:
        """Keep one received event.

        Where secrets are not to be kept, what is searched and shown of it is masked: only the payload itself has them.
        Raises NotFound (field `thread_id`) for an unknown thread, Conflict where a trigger of the same id says anything
        else (payload, thread, summary, time, source, ids) or a `trigger_id` is taken, and Gone for the `external_id` of
        a trigger that was deleted.

        Args:
            thread_id: the thread it belongs to.
            source: where it comes from, as a name or an object.
            trigger_id: an id of your own; the same again answers with the trigger that has it.
            summary: one line; without one it is made of the payload.
            payload: bytes, text or any JSON (None for none), at most 32 MiB, kept as it came.
            media_type: of the payload.
            occurred_at: when it happened.
            external_id: the id of the sender; the same again answers with the trigger that has it.
        """
        fields: dict[str, Any] = {"trigger_id": trigger_id, "thread_id": thread_id, "source": source}
        fields |= {"summary": summary, "payload": payload, "media_type": media_type, "occurred_at": occurred_at}
        fields |= {"external_id": external_id, "mask": self._secrets != "keep"}
        return self._store.chain.add_trigger(self._without_secrets(fields), self._viewer)

    def create_worker(self, task: str, threads: Sequence[str] = (), *, worker_id: str | None = None) -> Written:
        """An isolated session that works on a task. It stands where the first of its threads does.

        Raises NotFound (field `threads`), Conflict for a `worker_id` that is taken.
        """
        fields = {"worker_id": worker_id, "threads": threads, "task": task}
        return self._store.chain.create_worker(self._without_secrets(fields), self._viewer)

    def report(self, worker_id: str, report: str, cites: Sequence[str] = ()) -> Written:
        """What a worker of the agent's own found, as its next version, with the ids that it rests on; it is done then.

        Raises NotFound (field `worker_id` or `cites`).
        """
        return self._store.chain.report(
            worker_id, self._without_secrets({"report": report, "cites": cites}), self._viewer
        )

    def link(self, from_id: str, to_id: str, rel: str) -> Link:
        """A link between any two records that the agent sees; the same again answers with `created` False."""
        return self._store.chain.link(from_id, to_id, rel, self._viewer)

    def list(self, status: str | None = None, cursor: str | None = None, limit: int = 50) -> Page:
        """The index to start from: threads of a status, or all, by one line each, newest first, at most `limit`
        (1 to 200) from a cursor on. Threads that are made meanwhile shift nothing.

        Raises InvalidField for what is no cursor, Conflict for the cursor of another status or agent.
        """
        return self._store.chain.threads(self._viewer, status, cursor, limit)

    def get(self, thread_id: str) -> Thread:
        """A thread with its owner workers, how many events it has and when the last one came."""
        return self._store.chain.thread(thread_id, self._viewer)

    def get_worker(self, worker_id: str) -> Worker:
        """A worker with its report."""
        return self._store.chain.worker(worker_id, self._viewer)

    def get_trigger(self, trigger_id: str) -> Trigger:
        """A trigger with what stands beside it; `payload` only where it has at most 2,000 bytes."""
        return self._store.chain.trigger(trigger_id, self._viewer)

    def payload(self, trigger_id: str, start: int = 0, end: int | None = None) -> Payload:
        """The bytes as received, whole or from `start` to `end` (half-open). Raises NotFound where there are none."""
        return self._store.chain.payload(trigger_id, self._viewer, start, end)

    def events(self, thread_id: str, cursor: str | None = None, limit: int = 50) -> Events:
        """The triggers of a thread in the order in which they arrived, at most `limit` (1 to 200) from a cursor on.

        Cursors lose and repeat nothing, also while events arrive, after a restart, and in a store made from an export.
        Raises InvalidField for what is no cursor, Conflict for the cursor of another thread.
        """
        return self._store.chain.events(thread_id, self._viewer, cursor, limit)


class ThreadNames:
    """The chain on `ContextPacks` itself, under the names that scripts called before there was `threads`."""

    def __init__(self, threads: Threads) -> None:
        self.threads = threads
        self.create_thread = threads.create
        self.update_thread = threads.update
        self.add_trigger = threads.add_trigger
        self.create_worker = threads.create_worker
        self.report = threads.report
        self.link = threads.link
        self.get_thread = threads.get
        self.get_worker = threads.get_worker
        self.get_trigger = threads.get_trigger
        self.payload = threads.payload
        self.thread_events = threads.events
