"""Answers within a ceiling of tokens, for hosts that refuse or spill what is longer.

What an answer costs is counted on the serialized result as it goes out, escapes included. What does not fit is not cut
but named in `deferred`, with the way to get it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from context_packs.store.records import Record
from context_packs.store.search.already_known import PREFIX_FLOOR, normal
from context_packs.store.text.clean import visible

from ...excerpt import excerpt, preview
from ...packing.tokens import well_formed
from ...rows import Contents, Row, Rows
from ...settings import Settings
from .documents import row_document, shortened
from .limits import EXCERPT_TOKENS, FULL_CONTENT_CHARS, PREVIEW_TOKENS

Count = Callable[[str], int]
Document = dict[str, Any]

_LATER = "rows in deferred did not fit: get_contents with these refs, or a larger max_tokens"
_LARGE = (
    "records in deferred did not fit: ask for fewer refs or a larger max_tokens; "
    "one that never fits is whole as resource context-packs://record/{ref}"
)


def compact(document: Any) -> str:
    """A document as JSON in as few characters as there are, never with a lone surrogate."""
    return well_formed(json.dumps(document, ensure_ascii=False, separators=(",", ":")))


def result_of(text: str, document: Document | None = None) -> Document:
    """The result of a tool as it is serialized: a text, and beside it the document where the client gets one."""
    result: Document = {"content": [{"type": "text", "text": text}]}
    if document is not None:
        result["structuredContent"] = document
    return {**result, "isError": False}


def cost_of(document: Document, count: Count) -> int:
    """Tokens of the result that carries a document as its text."""
    return count(compact(result_of(compact(document))))


def _part(document: Any, count: Count) -> int:
    """Tokens that a part adds to such a result; a sum of parts is near the whole, never taken for it."""
    return count(compact(compact(document))) + 1


@dataclass(slots=True)
class _Room:
    """Tokens that are left."""

    count: Count
    left: int

    def take(self, part: Any) -> bool:
        """Whether a part fits; if so it is paid for."""
        need = _part(part, self.count)
        if need > self.left:
            return False
        self.left -= need
        return True


def rows_within(
    rows: Rows,
    query: str,
    settings: Settings,
    *,
    count: Count,
    max_tokens: int,
    full_content: bool = False,
    order: Literal["best_first", "best_last"] = "best_first",
) -> Document:
    """Recalled rows as one document of at most `max_tokens`, the result around it included.

    Rows are taken from the best down: whole ones with `full_content` while they fit into 200,000 characters and into
    the tokens, else previews with excerpts. A row for which there is no room keeps back none behind it. Beside
    `messages`: `excluded`, `empty_filter`, `full_content_budget_chars` and `full_content_budget_tokens` (where that
    ceiling turned a whole row into a preview), `deferred` and `how`, `more` (further rows that match). A conversation
    given with the query stands behind the rows in its own order, trimmed and without refs; `context_omitted` counts
    the entries that found no room.

    Args:
        rows: as recall gives them.
        query: what was asked; excerpts hold what bears on it.
        settings: characters of previews and excerpts.
        count: exact tokens of a text.
        max_tokens: of the whole document.
        full_content: whole rows instead of previews.
        order: only sorts what is shown.
    """
    facts: Document = {}
    if rows.excluded:
        facts["excluded"] = rows.excluded
    if not len(rows) and "empty_filter" in rows.plan:
        facts["empty_filter"] = rows.plan["empty_filter"]
    if rows.more:
        facts["more"] = rows.more
    refs = [row.ref for row in rows]
    reserve = _part({"deferred": refs, "how": _LATER, "context_omitted": 9_999_999}, count) + 40
    room = _Room(count, max_tokens - cost_of({"messages": [], **facts}, count) - reserve)
    shown: dict[str, Document] = {}
    chars = FULL_CONTENT_CHARS if full_content else 0
    for row in rows:
        if full_content:
            size, whole = len(row.content), row_document(row.record, row.confidence)
            if size <= chars and room.take(whole):
                chars -= size
                shown[row.ref] = whole
                continue
            facts |= (
                {"full_content_budget_chars": FULL_CONTENT_CHARS}
                if size > chars
                else {"full_content_budget_tokens": max_tokens}
            )
        part = brief(row, query, settings, count)
        if room.take(part):
            shown[row.ref] = part
    echoed: list[Document] = []
    for entry in rows.context:
        trimmed = echo(entry, settings, count)
        if room.take(trimmed):
            echoed.append(trimmed)
    return _settled(
        shown, refs, echoed, len(rows.context), facts, order, lambda made: cost_of(made, count) <= max_tokens
    )


def _settled(
    shown: dict[str, Document],
    refs: Sequence[str],
    echoed: list[Document],
    entries: int,
    facts: Document,
    order: str,
    fits: Callable[[Document], bool],
) -> Document:
    """The document, less its last entries as long as the exact count is over the ceiling."""
    while True:
        messages = [shown[ref] for ref in refs if ref in shown]
        if order == "best_last":
            messages.reverse()
        document: Document = {"messages": [*messages, *echoed], **facts}
        deferred = [ref for ref in refs if ref not in shown]
        if deferred:
            document |= {"deferred": deferred, "how": _LATER}
        if len(echoed) < entries:
            document["context_omitted"] = entries - len(echoed)
        if fits(document) or not (echoed or shown):
            return document
        if echoed:
            echoed.pop()
        else:
            del shown[next(ref for ref in reversed(refs) if ref in shown)]


def brief(row: Row, query: str, settings: Settings, count: Count) -> Document:
    """A row as preview and excerpt, which take no more tokens in any script than in English.

    Characters of other scripts cost up to three times the tokens of Latin letters, so for text beyond ASCII there is a
    ceiling of tokens besides that of characters. A row that whole costs less than its two parts stays whole.

    Args:
        row: one row of a recall.
        query: what was asked.
        settings: characters of preview and excerpt.
        count: exact tokens of a text.
    """
    content = row.content
    if content.isascii() or not settings.preview_chars:
        return shortened(row, query, settings)
    if len(content) <= settings.preview_chars and count(content) <= PREVIEW_TOKENS + EXCERPT_TOKENS:
        return row_document(row.record, row.confidence)
    document = row_document(row.record, row.confidence)
    text = _known_again(content, settings.preview_chars, count)
    if text == content:
        return document
    document |= {"content": visible(text), "content_truncated": True, "content_len": len(content)}
    if settings.excerpt_chars:

        def cut(chars: int) -> str:
            return visible(excerpt(row.record, query, row.hits, chars).text)

        document["excerpt"] = _narrowed(cut, settings.excerpt_chars, EXCERPT_TOKENS, count)
        document["excerpt_basis"] = excerpt(row.record, query, row.hits, max(len(document["excerpt"]), 1)).basis
    return document


def _known_again(content: str, chars: int, count: Count) -> str:
    """The preview within the ceiling of tokens, but not so short that, given back as text that the caller has, it would
    not be known again: decomposed text shrinks when it is compared (NFKC)."""
    text = _narrowed(lambda most: preview(content, most)[0], chars, PREVIEW_TOKENS, count)
    most = len(text)
    while len(normal(text)) < PREFIX_FLOOR and most < chars:
        most = min(chars, most + most // 2 + 8)
        text = preview(content, most)[0]
    return text


def _narrowed(cut: Callable[[int], str], chars: int, tokens: int, count: Count) -> str:
    """`cut(n)` for the first of a falling row of n, from `chars` on, that costs no more than `tokens`."""
    while True:
        text = cut(chars)
        used = count(text)
        if used <= tokens or chars <= 1:
            return text
        chars = max(1, min(chars - 1, len(text) * tokens // used))


def echo(entry: Mapping[str, Any], settings: Settings, count: Count) -> Document:
    """One entry of the caller's own conversation, trimmed as a row is; without a ref, since nothing is stored."""
    document: Document = {name: entry[name] for name in ("id", "role", "source", "timestamp") if name in entry}
    content: str = well_formed(entry["content"])
    document["content"] = content
    if settings.preview_chars:
        text = preview(content, settings.preview_chars)[0]
        if not text.isascii():
            text = _narrowed(lambda chars: preview(content, chars)[0], settings.preview_chars, PREVIEW_TOKENS, count)
        document["content"] = text
    if document["content"] != content:
        document |= {"content_truncated": True, "content_len": len(content)}
    return document


def contents_within(contents: Contents, *, count: Count, max_tokens: int) -> Document:
    """Whole records in request order within `max_tokens`: `messages`, `missing`, and `deferred` for those that do not
    fit, each whole or not at all."""
    records: tuple[Record, ...] = contents.records
    refs = [record.id for record in records]
    facts: Document = {"missing": [ref if len(ref) <= 40 else f"{ref[:37]}..." for ref in contents.missing]}
    reserve = _part({"deferred": refs, "how": _LARGE}, count) + 40
    room = _Room(count, max_tokens - cost_of({"messages": [], **facts}, count) - reserve)
    shown: dict[str, Document] = {}
    for record in records:
        document = {**row_document(record), "content": record.content}  # an exact get gives what is stored
        if len(document["content"]) <= FULL_CONTENT_CHARS and room.take(document):
            shown[record.id] = document
    while True:
        made: Document = {"messages": [shown[ref] for ref in refs if ref in shown], **facts}
        deferred = [ref for ref in refs if ref not in shown]
        if deferred:
            made |= {"deferred": deferred, "how": _LARGE}
        if not shown or cost_of(made, count) <= max_tokens:
            return made
        del shown[next(ref for ref in reversed(refs) if ref in shown)]
