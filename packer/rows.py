"""Recalled rows: whole records, best first, and what is said beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from context_packs.store.errors import InvalidField
from context_packs.store.records import Record
from context_packs.store.validation import miscounted
from context_packs.store.values import Candidates

from .packing.request import MAX_KNOWN, MAX_KNOWN_CHARS

MAX_LIMIT = 200  # rows of one recall or search
MAX_REFS = 20  # refs of one get_contents


@dataclass(frozen=True, slots=True)
class Row:
    """One recalled record, complete. `score` is comparable within one answer only; `confidence` (0 to 1) is the share
    of the query, weighted by how rare its words are, that the record contains; `hits` are the ordinals of the passages
    that match, best first."""

    ref: str
    record: Record
    score: float
    confidence: float
    hits: tuple[int, ...]

    @property
    def content(self) -> str:
        """The record's whole text."""
        return self.record.content


@dataclass(frozen=True, slots=True)
class Rows:
    """Recalled rows, best first. `excluded` counts rows left out because the caller has them, `more` those that match
    too and are over the limit (at least: the candidate stage ranks a bounded number). `context` is the conversation
    that was given with the query, whole."""

    rows: tuple[Row, ...]
    excluded: int
    plan: Mapping[str, Any]
    more: int = 0
    context: tuple[Mapping[str, Any], ...] = ()

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Row:
        return self.rows[index]


@dataclass(frozen=True, slots=True)
class Contents:
    """Whole records in the order asked for, and the refs that name nothing the caller may see."""

    records: tuple[Record, ...]
    missing: tuple[str, ...]


def limited(limit: object) -> int:
    if wrong := miscounted(limit, 0, MAX_LIMIT):
        raise InvalidField(f"limit: {wrong}", field="limit")
    return cast(int, limit)


def entries_of(external_context: object) -> tuple[dict[str, Any], ...]:
    if isinstance(external_context, str | bytes | Mapping) or not isinstance(external_context, Iterable):
        raise InvalidField("external_context: give a list of texts or objects", field="external_context")
    entries: list[dict[str, Any]] = []
    size = 0
    for entry in external_context:
        given = {"content": entry} if isinstance(entry, str) else entry
        if not isinstance(given, Mapping) or not isinstance(given.get("content"), str):
            message = f"external_context: entry {len(entries) + 1} is neither text nor an object with text as content"
            raise InvalidField(message, field="external_context")
        entries.append(dict(given))
        size += len(given["content"])
        if len(entries) > MAX_KNOWN or size > MAX_KNOWN_CHARS:
            message = f"external_context: is above {MAX_KNOWN} entries or {MAX_KNOWN_CHARS} characters: give its end"
            raise InvalidField(message, field="external_context")
    return tuple(entries)


def rows_of(found: Candidates, limit: int, least: float = 0.0) -> Rows:
    """The first `limit` candidates that are no duplicates and contain at least the share `least` of the query."""
    hits: dict[str, list[int]] = {}
    for hit in found.hits:
        hits.setdefault(hit.id, []).append(hit.ordinal)
    ranked = [item for item in found.items if item.duplicate_of is None and item.coverage >= least]
    rows = tuple(
        Row(item.id, found.records[item.id], item.score, item.coverage, tuple(hits.get(item.id, ())))
        for item in ranked
        if item.id in found.records
    )[:limit]
    beyond = found.plan["matched"] - len(ranked) if found.plan["mode"] == "newest" else 0
    return Rows(rows, int(found.plan.get("excluded", 0)), found.plan, len(ranked) - len(rows) + beyond)
