"""Records about other things, to put a small memory among: sentences of public text put together anew, and made-up
words. The same seed gives the same bytes.

Public text shares its words with what is asked, which made-up words do not; both come half in English and half in
Japanese where the folder holds both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from datasets import read
from synthetic import Writer

KINDS = ("text", "made")
_SOURCES = (
    (("locomo", "turns", "text"), ("beam100k", "turns", "text"), ("memorybank", "turns", "response")),
    (("jsquad", "passages", "text"), ("jaquad", "passages", "text")),
)
_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_KANA = re.compile(r"[\u3041-\u30ff]")
_LATIN = re.compile(r"^[\x20-\x7e\u2010-\u2026]+$")
_LENGTHS = (12, 400)  # characters of a sentence
_SENTENCES = 6  # at most, of a record
_PATHS = 50
_FIRST = datetime(2023, 6, 1, tzinfo=UTC)  # before all that the memories speak of
_DAYS = 850


def fillers(kind: str, count: int, seed: int, folder: Path) -> Iterator[dict[str, Any]]:
    """`count` records in the JSON Lines form."""
    rng = np.random.default_rng([seed, count])
    own = _made(count, seed) if kind == "made" else _text(count, rng, folder)
    for number, content in enumerate(own):
        yield {
            "content": content,
            "path": f"elsewhere/{number % _PATHS}",
            "type": ("note", "fact")[number % 2],
            "timestamp": (_FIRST + timedelta(seconds=int(rng.integers(_DAYS * 86_400)))).isoformat(),
        }


def _made(count: int, seed: int) -> Iterator[str]:
    english, japanese = (Writer(seed, japanese=japanese).records(count) for japanese in (False, True))
    for number in range(count):
        yield str(next(japanese if number % 2 else english)["content"])


def _text(count: int, rng: np.random.Generator, folder: Path) -> Iterator[str]:
    """One to six sentences of different sources in each record."""
    pools = [pool for sources in _SOURCES if len(pool := _sentences(folder, sources)) > _SENTENCES]
    for number in range(count):
        pool = pools[number % len(pools)]
        picks = rng.integers(len(pool), size=1 + int(rng.integers(_SENTENCES)))
        yield " ".join(pool[pick] for pick in dict.fromkeys(picks.tolist()))


def _sentences(folder: Path, sources: tuple[tuple[str, str, str], ...]) -> list[str]:
    found: dict[str, None] = {}
    for name, file, field in sources:
        path = folder / name / f"{file}.jsonl.gz"
        for line in read(path) if path.exists() else ():
            for sentence in map(str.strip, _END.split(line[field])):
                one_script = _KANA.search(sentence) if sources is _SOURCES[1] else _LATIN.match(sentence)
                if one_script and _LENGTHS[0] <= len(sentence) <= _LENGTHS[1]:
                    found[sentence] = None
    return list(found)
