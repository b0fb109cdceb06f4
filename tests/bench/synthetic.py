"""Made-up records with natural word frequencies, and queries drawn from them. The same seed gives the same bytes.

Words are ranked; the word of rank r comes with a frequency in proportion to 1 / (r + 2.7) (Zipf's law as Mandelbrot
corrected it). The commonest are real function words, as in any text; the others are made of syllables, or in Japanese
of two characters or of katakana.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORDS = 90  # of one record
SENTENCES = 5
VOCABULARY = 60_000
PATHS = 50  # places over which the records are spread

_FUNCTION = (
    "the of and to in a is that for it as was with be by on not he this are or his from at which but have an had they "
    "you were their one all we can her has there been if more when will would who so no"
).split()
_ONSETS = "b br c ch d dr f fl g gr h j k l m n p pl pr qu r s sh st t th tr v w z".split()
_VOWELS = "a e i o u ai ea ou".split()
_CODAS = ["", "", "", "l", "m", "n", "r", "s", "t", "nd", "rk"]
_PARTICLES = "は が を に の で と も から まで".split()
_ENDINGS = "した。 します。 された。 となった。 である。".split()
_KATAKANA = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン"
_KANJI = (0x4E00, 3000)  # first code point and how many follow


class Writer:
    """Writes records and queries: in which script, with how many different words, and from which seed."""

    def __init__(self, seed: int, *, japanese: bool = False, vocabulary: int = VOCABULARY) -> None:
        rng = np.random.default_rng([seed, 0])
        self.seed = seed
        self.japanese = japanese
        self.words = (_japanese_words if japanese else _words)(rng, vocabulary)
        weights = 1.0 / (np.arange(len(self.words)) + 1 + 2.7)
        self._edges = np.cumsum(weights / weights.sum())

    def records(self, count: int) -> Iterator[dict[str, Any]]:
        """`count` records in the JSON Lines form; a larger count begins with the same records."""
        for number in range(count):
            yield {
                "content": self._text(number),
                "path": f"bench/topic-{number % PATHS}",
                "external_id": f"bench:{number}",
                "timestamp": f"2026-01-{number % 28 + 1:02}T{number % 24:02}:00:00Z",
            }

    def queries(self, count: int, records: int) -> list[str]:
        """`count` queries of 3 to 8 words of one of the first `records` records each, common words among them."""
        rng = np.random.default_rng([self.seed, 2])
        made = []
        for _ in range(count):
            picks = rng.permutation(np.unique(self._picks(int(rng.integers(records))))).tolist()
            rare = [one for one in picks if self.japanese or one >= len(_FUNCTION)][:2]
            chosen = [*rare, *(one for one in picks if one not in rare)][: int(rng.integers(3, 9))]
            words = [self.words[one] for one in chosen]
            made.append("の".join(words) if self.japanese else " ".join(words))
        return made

    def _picks(self, number: int) -> NDArray[np.int64]:
        rng = np.random.default_rng([self.seed, 1, number])
        size = WORDS // 2 if self.japanese else WORDS
        return np.minimum(np.searchsorted(self._edges, rng.random(size)), len(self.words) - 1)

    def _text(self, number: int) -> str:
        words = [self.words[one] for one in self._picks(number)]
        size = len(words) // SENTENCES
        sentences = [words[start : start + size] for start in range(0, len(words), size)]
        if not self.japanese:
            return " ".join(f"{' '.join(sentence).capitalize()}." for sentence in sentences)
        return "".join(
            "".join(word + _PARTICLES[(number + n) % len(_PARTICLES)] for n, word in enumerate(sentence[:-1]))
            + sentence[-1]
            + _ENDINGS[(number + len(sentence[0])) % len(_ENDINGS)]
            for sentence in sentences
        )


def _words(rng: np.random.Generator, count: int) -> list[str]:
    words = dict.fromkeys(_FUNCTION)
    options = (_ONSETS, _VOWELS, _CODAS) * 3
    while len(words) < count:
        for length, *drawn in rng.integers(1 << 16, size=(count, 1 + len(options))).tolist():
            ends = 3 * (1 + length % 3)
            parts = (own[place % len(own)] for own, place in zip(options[:ends], drawn, strict=False))
            words["".join(parts)] = None
    return list(words)[:count]


def _japanese_words(rng: np.random.Generator, count: int) -> list[str]:
    words: dict[str, None] = {}
    first, span = _KANJI
    while len(words) < count:
        for kind, *drawn in rng.random((count, 6)).tolist():
            if kind < 0.25:
                marks = [_KATAKANA[int(one * len(_KATAKANA))] for one in drawn]
                words["".join(marks[: 3 + int(kind * 12)])] = None
            else:
                # Characters are far from equally common: the square draws the low ones more often.
                words["".join(chr(first + int(span * one * one)) for one in drawn[:2])] = None
    return list(words)[:count]
