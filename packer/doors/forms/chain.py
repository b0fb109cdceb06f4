"""Shapes of the chain of recall on every door: threads, triggers, workers, links → JSON-ready documents.

A small payload comes with its trigger; a larger one is spilled: the trigger says how to get it and how large it is.
"""

from __future__ import annotations

import json
from typing import Any

from context_packs.store.chain.chain import Events, Link, Neighbour, Thread, Trigger, Worker
from context_packs.store.chain.index import Threads

from .documents import moment

Document = dict[str, Any]


def thread_document(thread: Thread) -> Document:
    """A thread by its one line, with what is known of its events."""
    return {
        "thread_id": thread.id,
        "summary": thread.summary,
        "status": thread.status,
        "natural_key": thread.natural_key,
        "owner_workers": list(thread.owner_workers),
        "event_count": thread.event_count,
        "last_event_at": None if thread.last_event_at is None else moment(thread.last_event_at),
        **_common(thread),
    }


def threads_document(threads: Threads) -> Document:
    """A page of the index of threads; `next_cursor` is null at the end."""
    lines = [
        {
            "thread_id": one.id,
            "summary": one.summary,
            "status": one.status,
            "natural_key": one.natural_key,
            "event_count": one.event_count,
            "last_event_at": None if one.last_event_at is None else moment(one.last_event_at),
            "updated_at": moment(one.updated_at),
        }
        for one in threads.threads
    ]
    return {"threads": lines, "next_cursor": threads.next_cursor}


def worker_document(worker: Worker) -> Document:
    """A worker with its task and, once it has one, its report and what that cites."""
    return {
        "worker_id": worker.id,
        "threads": list(worker.threads),
        "task": worker.task,
        "status": worker.status,
        "report": worker.report,
        "cites": list(worker.cites),
        **_common(worker),
    }


def trigger_document(trigger: Trigger) -> Document:
    """The inline form of a trigger: one line, what stands beside it, and its payload or where to get that.

    `payload` is there for a payload of at most 2,000 bytes that is JSON (as its value) or text; any other is in
    `spilled`, by name: `GET <route> (<size>, truncated)`. A trigger that brought nothing has neither.
    """
    beside = [one for one in (trigger.before, trigger.after) if one is not None]
    document: Document = {
        "trigger_id": trigger.id,
        "source": trigger.source,
        "thread_id": trigger.thread_id,
        "summary": trigger.summary,
        "occurred_at": moment(trigger.occurred_at),
        "received_at": moment(trigger.received_at),
        "external_id": trigger.external_id,
        "neighbours": [_line(one) for one in beside],
        "links": [_line(one) for one in trigger.linked],
        "spilled": {},
    }
    if trigger.media_type:
        shown = None if trigger.payload is None else inline(trigger.media_type, trigger.payload)
        if shown is None:
            document["spilled"] = {"payload": f"GET /triggers/{trigger.id}/payload ({trigger.size} bytes, truncated)"}
        else:
            document["payload"] = shown[0]
    return document


_TEXTS = ("summary", "task", "report")
_OTHERS = ("neighbours", "links", "owner_workers", "threads", "cites")


def receipt(document: Document, *given: str) -> Document:
    """What a writer without the scope to read is told of a thread, worker or trigger: its id, times, place and counts,
    and the fields `given` that it has just written; no other text and nothing of what stands beside it."""
    blank: Document = dict.fromkeys(_TEXTS, "") | {name: [] for name in _OTHERS} | {"spilled": {}}
    kept = {name: value for name, value in document.items() if name != "payload" or name in given}
    return {name: value if name in given else blank.get(name, value) for name, value in kept.items()}


def inline(media_type: str, body: bytes) -> tuple[Any] | None:
    """The value of a JSON payload or the text of another, in a tuple; None for bytes that are neither."""
    try:
        words = body.decode("utf-8")
    except UnicodeDecodeError:
        return None
    essence = media_type.partition(";")[0].strip().lower()
    if essence == "application/json" or essence.endswith("+json"):
        try:
            value = json.loads(words)
            json.dumps(value, allow_nan=False)
        except (ValueError, RecursionError):
            return (words,)  # it says that it is JSON and is none: what it is can be read all the same
        return (value,)
    return None if "\0" in words else (words,)


def events_document(events: Events) -> Document:
    """A page of a thread; `next_cursor` is null at the end, `resume_cursor` is always there."""
    return {
        "events": [trigger_document(one) for one in events.events],
        "next_cursor": events.next_cursor,
        "resume_cursor": events.resume_cursor,
    }


def link_document(link: Link) -> Document:
    """One link."""
    return {"from": link.start, "to": link.end, "rel": link.rel}


def _line(one: Neighbour) -> str:
    return f"{one.id}: {one.summary}"


def _common(one: Thread | Worker) -> Document:
    return {
        "created_at": moment(one.created_at),
        "updated_at": moment(one.updated_at),
        "version": one.version,
        "path": one.path,
        "scope": one.scope,
        "bucket": one.bucket,
        "team_id": one.team_id,
        "links": list(one.links),
    }
