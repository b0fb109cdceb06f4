"""Exact gets of threads, workers and triggers on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from .console import WHOLE, Command, Globals, say, say_bytes, say_json, shown

if TYPE_CHECKING:
    from context_packs.store.chain.chain import Payload


@click.command(cls=Command)
@click.argument("thread_id", metavar="ID")
@click.option("--events", is_flag=True, help="its events in order, instead of what it is about")
@click.option("--cursor", help="go on where this stands; implies --events")
@click.option("--limit", type=WHOLE, default=50, show_default=True, help="events at most, 1 to 200")
@click.pass_obj
def thread(state: Globals, /, thread_id: str, events: bool, cursor: str | None, limit: int) -> None:
    """Print thread ID: its line, status, workers and how many events it has."""
    from ..forms.chain import events_document, thread_document

    with state.open() as packs:
        if events or cursor is not None:
            document = events_document(packs.threads.events(thread_id, cursor, limit))
        else:
            document = thread_document(packs.threads.get(thread_id))
    if state.json:
        say_json(document)
    elif "events" not in document:
        say(f"{document['thread_id']} {document['status']}")
        say(shown(document["summary"]))
        _facts(document, "event_count", "last_event_at", "owner_workers", "natural_key", "links")
    else:
        for event in document["events"]:
            say(f"{event['trigger_id']} {event['occurred_at']} {event['source']}")
            say(shown(event["summary"]))
        further = document["next_cursor"]
        state.note(f"more: --cursor {further}" if further else f"the end; later: --cursor {document['resume_cursor']}")


@click.command(cls=Command)
@click.argument("worker_id", metavar="ID")
@click.pass_obj
def worker(state: Globals, /, worker_id: str) -> None:
    """Print worker ID: its task, its report and what that cites."""
    from ..forms.chain import worker_document

    with state.open() as packs:
        document = worker_document(packs.threads.get_worker(worker_id))
    if state.json:
        say_json(document)
        return
    say(f"{document['worker_id']} {document['status']}")
    say(shown(document["task"]))
    if document["report"]:
        say(shown(document["report"]))
    _facts(document, "threads", "cites", "links")


@click.command(cls=Command)
@click.argument("trigger_id", metavar="ID")
@click.option("--payload", "whole", is_flag=True, help="the bytes as received, and nothing else")
@click.pass_obj
def trigger(state: Globals, /, trigger_id: str, whole: bool) -> None:
    """Print trigger ID: what happened, what stands beside it, and its payload where that is small."""
    from ..forms.chain import trigger_document

    with state.open() as packs:
        if whole:
            _print_payload(state, packs.threads.payload(trigger_id))
            return
        document = trigger_document(packs.threads.get_trigger(trigger_id))
    if state.json:
        say_json(document)
        return
    say(f"{document['trigger_id']} {document['occurred_at']} {document['source']}")
    say(shown(document["summary"]))
    _facts(document, "thread_id", "neighbours", "links")
    if "payload" in document:
        body = document["payload"]
        say("payload:")
        say(shown(body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, indent=1)))
    for name in document["spilled"]:
        state.note(f"{name}: `trigger {trigger_id} --payload` prints all of it")


def _facts(document: dict[str, Any], *names: str) -> None:
    """One line for each field that says something."""
    for name in names:
        value = document[name]
        if value not in (None, "", []):
            text = ", ".join(value) if isinstance(value, list) else str(value)
            say(f"{name}: {shown(text).strip()}")


def _print_payload(state: Globals, payload: Payload) -> None:
    if state.json:
        document = {"media_type": payload.media_type, "size": payload.size}
        try:
            say_json({**document, "text": payload.body.decode("utf-8")})
        except UnicodeDecodeError:
            from base64 import b64encode

            say_json({**document, "base64": b64encode(payload.body).decode()})
        return
    say_bytes(payload.body)
