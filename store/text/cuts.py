"""Where to cut text that is too long for one passage: the weakest harm first, never inside a grapheme cluster.

All functions take the whole text and offsets, and look at a window of it only, so that repeated cuts stay linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import regex

__all__ = ["MAX_CHARS", "MAX_CHARS_WIDE", "border", "clip", "fits", "is_wide", "pieces"]

MAX_CHARS: Final = 320
"""The most characters in the content of a passage."""
MAX_CHARS_WIDE: Final = 160
"""The same for text that is mostly CJK, Thai and the like, where a character says more."""

_WIDE: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\uff00-\uffef\U00020000-\U0003ffff]+"
)
_CLUSTER: Final = regex.compile(r"\X")
# Two characters with a cluster border between them whatever stands before and after (UAX #29, rules GB3 to GB13).
_SURE_BORDER: Final = regex.compile(
    r"[^\r\p{M}\p{Cf}\p{Regional_Indicator}\p{EMod}\p{GCB=Prepend}\p{GCB=Extend}\p{GCB=L}]"
    r"[^\n\p{M}\p{Cf}\p{EMod}\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=V}\p{GCB=T}]"
)

_CUTS: Final = (
    re.compile("(?:\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])+\\s*"),
    re.compile(r"[;:,](?:\s+|$)|[、，；：،؛—]\s*"),
    re.compile(r"\s+"),
)


def is_wide(text: str) -> bool:
    """Tell whether most characters are of a wide script: CJK, Hangul, Thai, Lao, Khmer, Burmese."""
    return not text.isascii() and 2 * len(_WIDE.sub("", text)) < len(text)


def _limit(text: str, start: int, end: int) -> int:
    return MAX_CHARS_WIDE if is_wide(text[start : min(end, start + MAX_CHARS)]) else MAX_CHARS


def fits(text: str, start: int, end: int) -> bool:
    """Tell whether the content of ``text[start:end]`` is within the limit of its script."""
    return end - start <= MAX_CHARS_WIDE or len(text[start:end].rstrip()) <= _limit(text, start, end)


def border(text: str, at: int) -> bool:
    """Tell whether a grapheme cluster ends before ``at``, where a mark, blank or line end stands before it."""
    return _first_cluster(text[at - 1 : at + 1]) == 1


def _first_cluster(text: str) -> int:
    match = _CLUSTER.match(text)
    return 0 if match is None else int(match.end())


def _cluster_end(text: str, start: int, stop: int) -> int:
    """Return the end of the grapheme cluster at ``start``; looks at a window only, as one may be of any length."""
    size = 24
    while True:
        window = text[start : min(stop, start + size)]
        end = start + _first_cluster(window)
        if end < start + len(window) or end == stop:
            return end
        size *= 4


def _cluster_cut(text: str, start: int, stop: int, limit: int) -> int:
    """Return a cluster border in ``(start, start + limit]``, or else the end of the first cluster."""
    for at in range(start + limit, start + limit - 16, -1):
        if _SURE_BORDER.match(text, at - 1, stop):
            return at
    cut = _cluster_end(text, start, stop)
    while cut < stop and (end := _cluster_end(text, cut, stop)) <= start + limit:
        cut = end
    return cut


def _cut(text: str, start: int, stop: int, limit: int) -> int:
    """Return where to end the first piece of ``text[start:stop]``, whose content is longer than ``limit``."""
    half = limit // 2
    highest = start + limit
    balanced = min(highest, max(start + half, stop - half))
    for pattern in _CUTS:
        best = 0
        for match in pattern.finditer(text, start + half, highest):
            end = match.end()
            if end < stop and border(text, end) and (end <= balanced or not best):
                best = end
        if best:
            return best
    return _cluster_cut(text, start, stop, limit)


def pieces(text: str, start: int, stop: int) -> Iterator[tuple[int, int, bool]]:
    """Yield (start, end, blank) for ``text[start:stop]``: content up to the limit, long stretches of blanks apart."""
    content = start + len(text[start:stop].rstrip())
    while start < content:
        limit = _limit(text, start, content)
        if content - start <= limit:
            break
        end = _cut(text, start, content, limit)
        yield start, end, False
        start = end
    if start < content:
        end = stop if stop - content <= MAX_CHARS else _blank_cut(text, content, stop)
        yield start, end, False
        start = end
    while start < stop:
        end = stop if stop - start <= MAX_CHARS else _blank_cut(text, start, stop)
        yield start, end, True
        start = end


def _blank_cut(text: str, start: int, stop: int) -> int:
    end = start + MAX_CHARS
    return end - 1 if text[end - 1 : end + 1] == "\r\n" else end


def clip(words: str, size: int) -> str:
    """Return at most the first ``size`` characters, or the whole first grapheme cluster if that is longer."""
    return words if len(words) <= size else words[: _cluster_cut(words, 0, len(words), size)].rstrip()
