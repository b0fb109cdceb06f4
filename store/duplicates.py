"""Near-duplicates among ranked records, by the sets of their content terms. Pure.

Folding hides a record behind another, so it must not hide a fact: a number, a name or a negation that only one of two
records has keeps them apart, and so does one word in place of another ("enabled", "disabled") in a short text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_OVERLAP = 0.6  # Jaccard index (shared / all terms) where one record says nothing that the other does not
_REPLACED = 0.9  # the same where each has words of its own: long texts that differ in a word or two


def fold(signatures: Sequence[bytes]) -> list[int | None]:
    """For each record in rank order the index of an earlier one that stands for it, or None.

    A signature is a little-endian int64 array of distinct keys; an odd key guards a fact (number, name, negation).
    """
    keys = [np.frombuffer(raw, dtype="<i8") for raw in signatures]
    answer: list[int | None] = [None] * len(keys)
    if not keys:
        return answer
    _, column, counts = np.unique(np.concatenate(keys), return_inverse=True, return_counts=True)
    ends = np.cumsum([len(one) for one in keys])
    by_key: dict[int, list[int]] = defaultdict(list)
    for index, one in enumerate(keys):
        # Two sets with a Jaccard index of at least t share one of the first (1 - t)·n + 1 terms of each, rarest first
        # (prefix filtering; Chaudhuri, Ganti and Kaushik, A Primitive Operator for Similarity Joins, 2006).
        spread = counts[column[ends[index] - len(one) : ends[index]]]
        rarest = np.lexsort((one, spread))[: int((1 - _OVERLAP) * len(one)) + 1]
        prefix = one[rarest[spread[rarest] > 1]].tolist()
        near = sorted({other for key in prefix for other in by_key.get(key, ())})
        answer[index] = next((other for other in near if _same(one, keys[other])), None)
        if answer[index] is None:
            for key in prefix:
                by_key[key].append(index)
    return answer


def _same(a: NDArray[np.int64], b: NDArray[np.int64]) -> bool:
    apart = np.setxor1d(a, b, assume_unique=True)
    shared = (len(a) + len(b) - len(apart)) // 2
    overlap = shared / (shared + len(apart))
    replaced = len(a) > shared and len(b) > shared
    return overlap >= (_REPLACED if replaced else _OVERLAP) and not (apart & 1).any()
