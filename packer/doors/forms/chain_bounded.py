"""Threads, workers, triggers, events and payloads as answers within a ceiling of tokens.

What does not fit is shortened by name (`shortened`), or goes on behind `next_cursor`; nothing is lost.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from typing import Any

from context_packs.store.records import parse_name

from ...errors import InvalidField
from ...excerpt import preview
from ...service import ContextPacks
from .bounded import Count, Document, cost_of
from .chain import events_document, thread_document, trigger_document, worker_document

PAGE = 50  # events of one answer at most
_BYTES = re.compile(r"0|[1-9][0-9]{0,17}")


def chain_within(packs: ContextPacks, one: str, part: str | None, cursor: str | None, max_tokens: int) -> Document:
    """A thread, worker or trigger as one document of at most `max_tokens`, the result around it included.

    Args:
        packs: the memory.
        one: the id.
        part: "events" of a thread or "payload" of a trigger; None for what the id names.
        cursor: where to go on in that part.
        max_tokens: of the whole document.
    """
    kind = parse_name(one)
    if kind is None:
        raise InvalidField(f"id: {ascii(one)[:40]} is not an id like thr_8f21, wkr_8f21 or trg_8f21", field="id")
    wanted = {"thread": "events", "trigger": "payload"}.get(kind, "none")
    part = part or (wanted if cursor is not None else None)
    if part is not None and part != wanted:
        raise InvalidField(f"part: a {kind} has no {part}", field="part")
    if part == "events":
        return _events(packs, one, cursor, max_tokens)
    if part == "payload":
        return _payload(packs, one, cursor, max_tokens)
    document = (
        thread_document(packs.threads.get(one))
        if kind == "thread"
        else worker_document(packs.threads.get_worker(one))
        if kind == "worker"
        else trigger_document(packs.threads.get_trigger(one))
    )
    return _shortened(document, packs.count_tokens, max_tokens)


def _events(packs: ContextPacks, one: str, cursor: str | None, most: int) -> Document:
    """As many events as fit, at least one; the cursors stand behind the last of them."""
    limit = PAGE
    while True:
        page = packs.threads.events(one, cursor, limit)
        document = events_document(page)
        cost = cost_of(document, packs.count_tokens)
        if cost <= most or not page.events:
            return document
        if len(page.events) == 1:
            rest = {**document, "events": []}
            room = most - cost_of(rest, packs.count_tokens)
            return {**document, "events": [_shortened(document["events"][0], packs.count_tokens, room)]}
        limit = max(1, min(len(page.events) * most * 9 // (cost * 10), len(page.events) - 1))


def _payload(packs: ContextPacks, one: str, cursor: str | None, most: int) -> Document:
    """As much of a payload as fits: text in UTF-8, else base64."""
    if cursor and not _BYTES.fullmatch(cursor):
        raise InvalidField("cursor: is not a cursor of a payload: give next_cursor exactly as returned", field="cursor")
    start, length = int(cursor or 0), 6 * most
    while True:
        payload = packs.threads.payload(one, start, start + length)
        body = payload.body
        if start + len(body) < payload.size:
            body = _whole_characters(body)
        try:
            said = {"text": body.decode("utf-8")}
        except UnicodeDecodeError:
            said = {"base64": b64encode(body).decode()}
        end = start + len(body)
        document: Document = {"trigger_id": one, "media_type": payload.media_type, "size": payload.size, **said}
        document["next_cursor"] = None if end >= payload.size else str(end)
        cost = cost_of(document, packs.count_tokens)
        if cost <= most or length <= 64:
            return document
        length = max(64, min(length * most * 9 // (cost * 10), length - 1))


def _whole_characters(body: bytes) -> bytes:
    """Bytes up to the last place where a character of UTF-8 ends; all of them where they are none (RFC 3629)."""
    for back in range(1, min(4, len(body)) + 1):
        lead = body[-back]
        if lead < 0x80 or lead >= 0xC0:
            whole = back == (1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4)
            return body if whole else body[:-back]
    return body


def _shortened(document: Document, count: Count, most: int) -> Document:
    """The document within a ceiling: its largest texts and lists are cut, and named in `shortened`."""
    made = dict(document)
    cut: list[str] = []
    while cost_of(made, count) > most:
        sizes = {
            name: len(json.dumps(value, ensure_ascii=False)) for name, value in made.items() if name != "shortened"
        }
        name = max(sizes, key=lambda name: sizes[name])
        value: Any = made[name]
        if sizes[name] <= 16:
            break
        if not isinstance(value, str | list):
            del made[name]
        elif isinstance(value, str):
            made[name] = preview(value, len(value) // 2)[0]
        else:
            made[name] = value[: len(value) // 2]
        if name not in cut:
            cut.append(name)
        made["shortened"] = cut
    return made
