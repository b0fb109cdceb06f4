"""Shapes of the answers: complete values of the library → JSON-ready documents, cut to what a door shows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

from context_packs.store.memory.erasure import Forgotten
from context_packs.store.memory.prepare import MAX_FACTS_BYTES, facts_size
from context_packs.store.records import Record
from context_packs.store.text.clean import visible

from ...excerpt import excerpt, preview
from ...packing.pack import Pack, structured
from ...packing.profile import load_profile
from ...rows import Row, Rows
from ...settings import Settings
from .limits import FACTS_BYTES, FULL_CONTENT_CHARS, PACK_FACTS_BYTES


def moment(time: datetime) -> str:
    """RFC 3339 in UTC, ending in Z."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


class Room:
    """Bytes that `source` and `metadata` may take in one answer, 32 KiB each of a row: older stores may hold more."""

    def __init__(self, left: int = FACTS_BYTES) -> None:
        self._left = left

    def within(self, document: dict[str, Any]) -> dict[str, Any]:
        """The document, without those for which there is no room: they are empty then, and named in `left_out`."""
        for name in ("source", "metadata"):
            size = facts_size(document.get(name) or {})
            if size > min(self._left, MAX_FACTS_BYTES):
                document[name] = {}
                document["left_out"] = [*document.get("left_out", ()), name]
            else:
                self._left -= size
        return document


def pack_document(pack: Pack, profile_name: str) -> dict[str, Any]:
    """A pack as the profile shows it.

    A profile that answers with the pack gives `version`, `retrieval_plan`, `budget`, `items`, `decisions` and
    `context_text`. One that answers with text gives `text`, the same `budget` (numbers, encoding and state, no stored
    data) and of each item only what the text shows too.
    """
    profile = load_profile(profile_name)
    document = structured(pack, profile)
    room = Room(PACK_FACTS_BYTES)
    document["items"] = [room.within(item) for item in document["items"]]
    if profile.answer == "pack":
        return document
    return {"text": pack.text, "budget": document["budget"], "items": document["items"]}


def recall_document(
    rows: Rows,
    query: str,
    settings: Settings,
    *,
    full_content: bool = False,
    order: Literal["best_first", "best_last"] = "best_first",
) -> dict[str, Any]:
    """Recalled rows: `{"messages": […]}`, `excluded` where rows were left out because the caller has them, `more` where
    further rows match than were asked for, and `empty_filter`, the filter that alone matches nothing, where that is why
    there are no rows.

    `content` is a preview of at most `settings.preview_chars` characters (0: whole); a row that was cut, and only such
    a row, has `content_truncated`, `content_len` and, unless `settings.excerpt_chars` is 0, `excerpt` and
    `excerpt_basis`. With `full_content` rows come whole while they fit into 200,000 characters, counted from the best
    row down; where one did not, the document has `full_content_budget_chars`.

    Args:
        rows: as recall gives them.
        query: what was asked.
        settings: characters of previews and excerpts.
        full_content: whole rows instead of previews.
        order: only sorts what is shown.
    """
    room = Room()
    left = FULL_CONTENT_CHARS if full_content else 0
    messages: list[dict[str, Any]] = []
    over = False
    for row in rows:
        size = len(row.content)
        if full_content and size <= left:
            left -= size
            messages.append(room.within(row_document(row.record, row.confidence)))
        else:
            over = over or full_content
            messages.append(room.within(shortened(row, query, settings)))
    if order == "best_last":
        messages.reverse()
    document: dict[str, Any] = {"messages": messages}
    if over:
        document["full_content_budget_chars"] = FULL_CONTENT_CHARS
    if rows.excluded:
        document["excluded"] = rows.excluded
    if rows.more:
        document["more"] = rows.more
    if not messages and "empty_filter" in rows.plan:
        document["empty_filter"] = rows.plan["empty_filter"]
    return document


def shortened(row: Row, query: str, settings: Settings) -> dict[str, Any]:
    """A row as preview and, where it was cut, the passages that match; a short one whole."""
    document = row_document(row.record, row.confidence)
    text, cut = preview(row.content, settings.preview_chars)
    document["content"] = visible(text)
    if cut:
        document |= {"content_truncated": True, "content_len": len(row.content)}
        if settings.excerpt_chars:
            found = excerpt(row.record, query, row.hits, settings.excerpt_chars)
            document |= {"excerpt": visible(found.text), "excerpt_basis": found.basis}
    return document


def row_document(record: Record, confidence: float | None = None) -> dict[str, Any]:
    """One stored record as a row of an answer, whole, but for what hides or turns text and a `source` above 32 KiB (see
    `Room`). `ref` is its id here, `id` the caller's own where one was given; `confidence` is rounded to four digits."""
    document: dict[str, Any] = {
        "ref": record.id,
        "content": visible(record.content),
        "source": dict(record.source),
        "timestamp": moment(record.created_at),
        "path": visible(record.path),
        "type": visible(record.type),
    }
    if record.external_id is not None:
        document["id"] = record.external_id
    if confidence is not None:
        document["confidence"] = round(confidence, 4)
    return Room().within(document)


def forgotten_document(done: Forgotten) -> dict[str, Any]:
    """What was forgotten, and how; of an erasure also when its bytes are gone (`erased`: `now`, or `after compact`) and
    what may repeat the text (`derived`, `derived_count`)."""
    document: dict[str, Any] = {"id": done.id, "status": done.mode}
    if done.erased is not None:
        document["erased"] = done.erased
        document["derived_count"] = done.derived_count
        document["derived"] = [{"id": one.id, "why": one.why} for one in done.derived]
    return document


def record_document(record: Record) -> dict[str, Any]:
    """A whole record with all its fields. Times are RFC 3339 in UTC; `passages` divide `content` without a gap."""
    document: dict[str, Any] = {}
    for name in Record.__slots__:
        value = getattr(record, name)
        document[name] = moment(value) if isinstance(value, datetime) else value
    document["passages"] = [
        {"start": span.start, "end": span.end, "kind": span.kind, **({"speaker": span.speaker} if span.speaker else {})}
        for span in record.passages
    ]
    return document
