"""Near-duplicates among ranked records, by the sets of their content terms. Pure.

Folding hides a record behind another, so it must not hide a fact: a number, a name or a negation that only one of two
records has keeps them apart, and so does one word in place of another ("enabled", "disabled") in a short text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from .analyzer import signature

_OVERLAP = 0.6  # Jaccard index (shared / all terms) where one record says nothing that the other does not
_REPLACED = 0.9  # the same where each has words of its own: long texts that differ in a word or two
# Of 128 bits, two records with a Jaccard index of 0.6 differ in 29 ± 5, unrelated ones in 64 ± 6.
_NEAR_BITS = 46
LONG_CHARS = 1000  # rewordings are of short texts
_MIX = np.uint64(0x9E3779B97F4A7C15)


def signature_of(title: str, content: str) -> bytes:
    """What a record says as a set of keys. A long text is only a duplicate of the same text: one key."""
    if len(content) > LONG_CHARS:
        return _digest(title, content)
    return signature(f"{title} {content}")


def fingerprint_of(title: str, content: str, keys: Iterable[int]) -> tuple[int, int]:
    """Fingerprint of a record whose terms are `keys`: near for records whose signatures are alike."""
    if len(content) > LONG_CHARS:
        return fingerprint(np.frombuffer(_digest(title, content), dtype="<i8"))
    return fingerprint(np.fromiter(keys, dtype=np.int64))


def _digest(title: str, content: str) -> bytes:
    return blake2b(f"{title}\n{content.strip()}".encode(), digest_size=8).digest()


def fingerprint(terms: NDArray[np.int64]) -> tuple[int, int]:
    """128 bits of a set of keys, near for sets that share most of them (SimHash; Charikar, Similarity Estimation
    Techniques from Rounding Algorithms, 2002), as two signed 64-bit numbers; (0, 0) for the empty set."""
    keys = terms.view(np.uint64)
    if not len(keys):
        return 0, 0
    spread = (keys ^ (keys >> np.uint64(29))) * _MIX
    bits = np.unpackbits(np.stack((keys ^ (keys >> np.uint64(31)), spread), axis=1).view(np.uint8), axis=1)
    weights = 1024 + (keys >> np.uint64(40)).astype(np.int64) % 255  # of 1 to 1¼: settles what would be a tie
    low, high = np.packbits(weights @ bits * 2 > weights.sum()).view("<i8").tolist()
    return low, high


def fold(prints: NDArray[np.int64], signatures: Callable[[Sequence[int]], Mapping[int, bytes]]) -> list[int | None]:
    """For each record in rank order the index of an earlier one that stands for it, or None.

    `prints` int64[n, 2] are fingerprints; `signatures` gives, for the few records that may be alike, their sets of
    keys (little-endian int64, distinct); an odd key guards a fact (number, name, negation).
    """
    answer: list[int | None] = [None] * len(prints)
    bits = np.ascontiguousarray(prints).view(np.uint64)  # of a signed number NumPy counts the bits of its magnitude
    differing = np.bitwise_count(bits[:, None, :] ^ bits[None, :, :]).sum(axis=2)
    pairs = np.argwhere(np.tril(differing <= _NEAR_BITS, -1))
    if not len(pairs):
        return answer
    keys = {index: np.frombuffer(raw, dtype="<i8") for index, raw in signatures(np.unique(pairs).tolist()).items()}
    for later, earlier in pairs.tolist():
        if answer[later] is None and answer[earlier] is None and _same(keys[later], keys[earlier]):
            answer[later] = earlier
    return answer


def _same(a: NDArray[np.int64], b: NDArray[np.int64]) -> bool:
    apart = np.setxor1d(a & ~1, b & ~1, assume_unique=True)
    shared = (len(a) + len(b) - len(apart)) // 2
    if not shared:
        return False
    overlap = shared / (shared + len(apart))
    replaced = len(a) > shared and len(b) > shared
    guarded = np.concatenate((a[(a & 1) == 1], b[(b & 1) == 1])) & ~1
    return overlap >= (_REPLACED if replaced else _OVERLAP) and not np.isin(apart, guarded).any()
