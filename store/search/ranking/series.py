"""Records of a series: each says what the others say, but for a number, a date or a name. Pure.

Twenty reports "ticket 4112: all checks green" tell a reader no more than the last one and that there were twenty.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

import regex

ENDS: Final = 400  # characters at each end of a record by which it is compared
_ALIKE: Final = 0.75  # shared words of two such texts, of all of theirs
_LEAST_WORDS: Final = 5  # of a text that is compared by its words
_SEEN: Final = 40  # series that a record is compared with
# Tokens that differ from one report to the next: numbers, and identifiers with a digit in them.
_COUNTER: Final = regex.compile(
    r"[\w.#:/-]*\d[\w.#:/-]*(?<![.,:/-])|[〇一二三四五六七八九十百千]+(?=[日月年時分回件番号])"
)
_WORD: Final = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}ー]{2}|[\p{L}#]+")


def series(texts: Sequence[str]) -> list[int | None]:
    """For each text, newest first, the index of the first one of its series, or None for that one itself."""
    answer: list[int | None] = []
    exact: dict[str, int] = {}
    firsts: list[tuple[int, frozenset[str]]] = []
    for index, text in enumerate(texts):
        plain = shape(text)
        first = exact.get(plain)
        words = frozenset[str]()
        if first is None:
            words = _words(plain)
            first = next((one for one, others in firsts[-_SEEN:] if _alike(words, others)), None)
        if first is None:
            exact[plain] = index
            firsts.append((index, words))
        answer.append(first)
    return answer


def shape(text: str) -> str:
    """A text without what counts on from one of a series to the next."""
    return " ".join(_COUNTER.sub("#", unicodedata.normalize("NFKC", text).casefold()).split())


def _words(plain: str) -> frozenset[str]:
    """The words of a text, of Japanese its pairs of characters."""
    found = set(_WORD.findall(plain))
    for run in regex.findall(r"[\p{Han}\p{Hiragana}\p{Katakana}ー]{2,}", plain):
        found |= {run[at : at + 2] for at in range(len(run) - 1)}
    return frozenset(found)


def _alike(words: frozenset[str], others: frozenset[str]) -> bool:
    if min(len(words), len(others)) < _LEAST_WORDS:
        return False
    shared = len(words & others)
    return shared >= _ALIKE * (len(words) + len(others) - shared)
