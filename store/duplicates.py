"""Near-duplicates among ranked records, by the sets of their content terms. Pure.

Folding hides a record behind another, so it must not hide a fact: a number, a name or a negation that only one of two
records has keeps them apart, and so does one word in place of another ("enabled", "disabled") in a short text.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

_OVERLAP = 0.6  # share of common terms where one record says nothing that the other does not
_REPLACED = 0.9  # the same where each has words of its own: long texts that differ in a word or two


def fold(signatures: Sequence[bytes]) -> list[int | None]:
    """For each record in rank order the index of an earlier one that stands for it, or None.

    A signature is a little-endian int64 array of distinct keys; an odd key guards a fact (number, name, negation).
    """
    by_key: dict[int, list[int]] = defaultdict(list)
    sets: dict[int, set[int]] = {}
    answer: list[int | None] = []
    for index, raw in enumerate(signatures):
        keys = set(np.frombuffer(raw, dtype="<i8").tolist())
        shared = Counter(other for key in keys for other in by_key.get(key, ()))
        found = next((o for o in sorted(shared) if _same(keys, sets[o], shared[o])), None)
        answer.append(found)
        if found is None and keys:
            sets[index] = keys
            for key in keys:
                by_key[key].append(index)
    return answer


def _same(a: set[int], b: set[int], common: int) -> bool:
    overlap = common / (len(a) + len(b) - common)
    if overlap < _OVERLAP:
        return False
    if len(a) > common and len(b) > common and overlap < _REPLACED:
        return False
    return not any(key & 1 for key in a ^ b)
