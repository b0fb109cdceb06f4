"""Preview and excerpt of one record, for answers that do not carry whole texts. Pure.

A preview is a pure prefix. An excerpt is made of the passages that match a query best, each with what governs it: the
rest of a sentence that was cut into several passages, a neighbour that qualifies it, the header of its table, the
words that introduce its list and its heading.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import regex

from context_packs.store.records import Record, Span
from context_packs.store.text.analyzer import index_keys, query_terms, term_key
from context_packs.store.text.passages import divide

from .packing.governing import governors, ink_of, neighbour, qualifiers, sentence_of, words_of

JOINER = " … "
MAX_HITS = 40  # different passages that are looked at for one excerpt
MAX_SEARCHED = 20_000  # characters of one passage that are searched for the words of the query
_CHUNK = 128

Basis = Literal["blocks", "lexical", "start"]

_CLUSTER = regex.compile(r"\X")
_BREAK = re.compile("\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CLOSERS = r"[)\]}\"'”’»」』）】〉》*_~`]*"
# Borders inside a text: group 1 ends where what stands before the border ends, the match where the next begins.
_SENTENCE = re.compile(rf"([.!?…]{_CLOSERS}(?=\s)|[。！？｡؟।]{_CLOSERS}|(?=[\n\r\u2028\u2029]))\s*")
_WORD = re.compile(r"()\s+")
_INK = re.compile(r"\S")
_PIECE = re.compile(r"\S{1,32}")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Parts of a record: `text` is the parts in text order joined by `" … "`, `spans` their character ranges of the
    content, half-open. `basis` says how the content was divided: `blocks` as stored, `lexical` now, `start` not."""

    text: str
    basis: Basis
    spans: tuple[tuple[int, int], ...]


def preview(text: str, chars: int = 500) -> tuple[str, bool]:
    """The first characters of a text, at most `chars` (0: all), and whether anything was cut.

    A pure prefix without a mark, so that it can be given back as text that the caller has; it ends between grapheme
    clusters (UAX #29) and is empty where the first one is longer than `chars`. Reads no more than it gives.
    """
    if chars <= 0 or len(text) <= chars:
        return text, False
    cut = 0
    for end in _cluster_ends(text, 0, chars + 1):
        if end > chars:
            break
        cut = end
    return text[:cut], True


def excerpt(record: Record, query: str, hits: Sequence[int], chars: int = 800) -> Excerpt:
    """What of a record bears on a query.

    The best hit that holds a word of the query is
    always there, cut around these words only where it alone is too long; further ones follow while they fit together
    with what governs them. A passage without any of the words takes no room, unless none has them: then the best hit
    is shown. Without hits, and where the beginning is the best hit, it is the start of the record.

    Args:
        record: the whole record.
        query: what was asked.
        hits: ordinals of passages, best first, as recall gives them.
        chars: characters at most, joiners included.
    """
    content = record.content
    spans, basis = _divided(record)
    wanted = frozenset(map(term_key, query_terms(query)))
    ranked = _closest_first(content, spans, _distinct(content, spans, hits), wanted)
    matching = (
        hit for hit in ranked if not wanted.isdisjoint(index_keys(words_of(content, spans[hit])[:MAX_SEARCHED]))
    )
    best = next(matching, None)
    if best is None and ranked and neighbour(content, spans, ranked[0], -1) is not None:
        best = ranked[0]
    if best is None or chars < 1:
        return _start(content, chars)
    if neighbour(content, spans, best, -1) is None and neighbour(content, spans, best, 1) is None:
        basis = "start"
    text = _Text(content, spans, chars)
    if not text.add([best]):
        part = _window(content, *ink_of(content, spans[best]), wanted, chars)
        return Excerpt(content[slice(*part)], basis, (part,) if part[0] < part[1] else ())
    text.add_each(sentence_of(content, spans, best))
    text.add_each(qualifiers(content, spans, best))
    text.add_each(governors(content, spans, best))
    for hit in matching:
        if text.room <= len(JOINER):
            break
        if text.add([hit, *sentence_of(content, spans, hit), *qualifiers(content, spans, hit)]):
            text.add_each(governors(content, spans, hit))
    parts = text.parts()
    return Excerpt(JOINER.join(content[a:b] for a, b in parts), basis, tuple(parts))


def _distinct(content: str, spans: Sequence[Span], hits: Sequence[int]) -> list[int]:
    """The first hits that are passages with ink, each text once."""
    found: dict[str, int] = {}
    for hit in islice(hits, 10 * MAX_HITS):
        if 0 <= hit < len(spans) and (words := words_of(content, spans[hit])):
            found.setdefault(words, hit)
            if len(found) == MAX_HITS:
                break
    return list(found.values())


def _closest_first(content: str, spans: Sequence[Span], hits: list[int], wanted: frozenset[int]) -> list[int]:
    """The hits; in the places of those with several lines (code) first the one with most words of the query, those of
    its best line counted twice: rank knows passages only, where words of unrelated lines count like words of one."""
    scores: dict[int, int] = {}
    for hit in hits:
        lines = _BREAK.split(words_of(content, spans[hit])[:MAX_SEARCHED])
        if len(lines) > 1 and spans[hit].kind != "row":
            found = [wanted.intersection(index_keys(line)) for line in lines]
            scores[hit] = max(map(len, found)) + len(frozenset().union(*found))
    ordered = iter(sorted(scores, key=lambda hit: -scores[hit]))
    return [next(ordered) if hit in scores else hit for hit in hits]


def _divided(record: Record) -> tuple[Sequence[Span], Basis]:
    if record.passages:
        return record.passages, "blocks"
    passages = divide(record.content)
    return [Span(n, one.start, one.end, one.kind, one.speaker) for n, one in enumerate(passages)], "lexical"


def _start(content: str, chars: int) -> Excerpt:
    """The beginning of a record up to a border in the second half of what there is room for."""
    first, last = ink_of(content, Span(0, 0, len(content)))
    end = last if last - first <= chars else _last_border(content, first, max(chars, 0))
    end = max(first, end)
    return Excerpt(content[first:end], "start", ((first, end),) if first < end else ())


class _Text:
    """Passages chosen so far, within a ceiling of characters. Those with only blanks between them are one part."""

    def __init__(self, content: str, spans: Sequence[Span], chars: int) -> None:
        self._content, self._spans, self._chars = content, spans, chars
        self._chosen: list[int] = []

    def add(self, ordinals: Sequence[int]) -> bool:
        """Take all of these passages, or none where they do not fit."""
        trial = sorted({*self._chosen, *ordinals})
        if self._size(trial) > self._chars:
            return False
        self._chosen = trial
        return True

    def add_each(self, ordinals: Sequence[int]) -> None:
        """Take those of these passages that fit."""
        for ordinal in ordinals:
            self.add([ordinal])

    @property
    def room(self) -> int:
        """Characters that are left."""
        return self._chars - self._size(self._chosen)

    def parts(self) -> list[tuple[int, int]]:
        """Character ranges of what was chosen, in text order."""
        return self._parts(self._chosen)

    def _size(self, chosen: list[int]) -> int:
        parts = self._parts(chosen)
        return sum(b - a for a, b in parts) + len(JOINER) * (len(parts) - 1)

    def _parts(self, chosen: list[int]) -> list[tuple[int, int]]:
        parts: list[tuple[int, int]] = []
        for ordinal in chosen:
            first, last = ink_of(self._content, self._spans[ordinal])
            if parts and _INK.search(self._content, parts[-1][1], first) is None:
                parts[-1] = (parts[-1][0], last)
            else:
                parts.append((first, last))
        return parts


# ---- cutting inside a passage


def _window(content: str, first: int, last: int, wanted: frozenset[int], chars: int) -> tuple[int, int]:
    """The range of at most `chars` characters within `first` to `last` that holds most words of the query."""
    low, high = _densest(content, first, min(last, first + MAX_SEARCHED), wanted, chars)
    start = max(first, low - (chars - (high - low)) // 2)
    start = max(first, min(start, last - chars))
    if start > first:
        start = _first_border(content, first, start, max(start, low))
    end = last if last - start <= chars else _last_border(content, start, chars, high)
    return start, max(start, end)


def _densest(content: str, first: int, last: int, wanted: frozenset[int], chars: int) -> tuple[int, int]:
    """The shortest range within `chars` with the most different words of the query, the earliest of equals."""
    found: list[tuple[int, int, frozenset[int]]] = []
    inside: Counter[int] = Counter()
    best, most, left = (first, first), 0, 0
    for piece in _PIECE.finditer(content, first, last):
        terms = wanted.intersection(index_keys(piece[0]))
        if not terms:
            continue
        found.append((piece.start(), piece.end(), terms))
        inside.update(terms)
        while found[left][0] < piece.end() - chars:
            inside.subtract(found[left][2])
            left += 1
            if left == len(found):
                break
        count = len(+inside)
        if count > most:
            best, most = (found[left][0], piece.end()), count
    return best


def _first_border(content: str, origin: int, low: int, high: int) -> int:
    """The first place from `low` to `high` where a sentence begins, else a word, else a grapheme cluster."""
    edges = list(_cluster_ends(content, origin, min(len(content), high + 1)))
    for pattern in (_SENTENCE, _WORD):
        for match in pattern.finditer(content, low, high):
            if _is_edge(edges, match.end()):
                return match.end()
    index = bisect_left(edges, low)
    return edges[index] if index < len(edges) and edges[index] <= high else _floor(edges, high, origin)


def _last_border(content: str, start: int, chars: int, least: int = 0) -> int:
    """The last place within `chars` of `start` where a sentence ends, else a word, in the second half and not before
    `least`; else where a grapheme cluster ends. `start` must be the border of one."""
    limit = start + chars
    edges = list(_cluster_ends(content, start, min(len(content), limit + 1)))
    for pattern in (_SENTENCE, _WORD):
        found = pattern.finditer(content, max(start + chars // 2, least), min(len(content), limit + 1))
        for place in reversed([match.end(1) for match in found]):
            if place <= limit and _is_edge(edges, place):
                return place
    return _floor(edges, limit, start)


def _is_edge(edges: list[int], place: int) -> bool:
    index = bisect_left(edges, place)
    return index < len(edges) and edges[index] == place


def _floor(edges: list[int], place: int, origin: int) -> int:
    """The last edge up to `place`, or `origin`."""
    index = bisect_right(edges, place)
    return edges[index - 1] if index else origin


def _cluster_ends(text: str, start: int, stop: int) -> Iterator[int]:
    """Ends of the grapheme clusters of `text[start:stop]`; the last one may go on behind `stop`.

    Linear: the pattern looks back over a whole run of flags for each flag, so it is given short windows, each from the
    end of a cluster; one that fills its window is tried again in a larger one.
    """
    size = _CHUNK
    while start < stop:
        window = text[start : min(stop, start + size)]
        if window.isascii() and "\r" not in window:  # then every character is a cluster
            ends = list(range(1, len(window) + 1))
        else:
            ends = [match.end() for match in _CLUSTER.finditer(window)]
        if start + len(window) < stop:
            ends.pop()
        if not ends:
            size *= 4
            continue
        yield from (start + end for end in ends)
        start += ends[-1]
        size = _CHUNK
