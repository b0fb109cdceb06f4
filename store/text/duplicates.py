"""Near-duplicates among ranked records, by the sets of their content terms. Pure.

Folding hides a record behind another, so it must not hide a fact: a record is folded when its words are all in another
one, behind the fuller of the two, or when hardly one in twenty differs; a number, a name, a negation or a restriction
("only", "after", "stopped") that one of them lacks keeps both, and so does another order of names and numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from .analyzer import signature

_OVERLAP = 0.6  # Jaccard index (shared / all terms) where one record says all that the other does
_REPLACED = 0.9  # the same where each has words of its own: twenty words and more, or bigrams at the joints of clauses
# Decision 4: bits decide who may be alike, exact sets who is. Of 128 bits, two records with a Jaccard index of 0.6
# differ in 29 ± 5, unrelated ones in 64 ± 6.
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
    """For each record in rank order the index of another that stands for it, or None.

    Of two that are alike the one that says more stands; of two that say the same, the better ranked. `prints`
    int64[n, 2] are fingerprints; `signatures` gives, for the few records that may be alike, their sets of keys
    (little-endian int64, distinct, in the order of the text); the lower bits of a key say what it is: see
    `analyzer.signature_keys`.
    """
    answer: list[int | None] = [None] * len(prints)
    bits = prints.view(np.uint64)
    differing = np.bitwise_count(bits[:, None, :] ^ bits[None, :, :]).sum(axis=2)
    pairs = np.argwhere(np.tril(differing <= _NEAR_BITS, -1))
    if not len(pairs):
        return answer
    alike = sorted(set(pairs.ravel().tolist()))  # np.unique would import numpy.ma, 18 ms of a short command
    keys = {index: np.frombuffer(raw, dtype="<i8") for index, raw in signatures(alike).items()}
    for later, earlier in pairs.tolist():
        if answer[later] is None and answer[earlier] is None:
            fuller = _fuller(keys[later], keys[earlier])
            if fuller <= 0:
                answer[later] = earlier
            elif fuller == 1:
                answer[earlier] = later
                answer = [later if other == earlier else other for other in answer]
    return answer


def _fuller(a: NDArray[np.int64], b: NDArray[np.int64]) -> int:
    """Which of two texts says all that the other does: 1 the first, -1 the second, 0 both; 2 where they differ."""
    a_words, b_words = a & ~3, b & ~3
    apart = np.setxor1d(a_words, b_words, assume_unique=True)
    shared = (len(a) + len(b) - len(apart)) // 2
    more, less = len(a) > shared, len(b) > shared
    if not shared or shared < (_REPLACED if more and less else _OVERLAP) * (shared + len(apart)):
        return 2
    if more and less and _own_cjk(a, apart) and _own_cjk(b, apart):
        return 2  # 田中 for 山田: nothing tells a name from another word
    guarded = np.concatenate((a_words[(a & 1) == 1], b_words[(b & 1) == 1]))
    if np.isin(apart, guarded).any():
        return 2
    if not np.array_equal(a_words[np.isin(a_words, guarded)], b_words[np.isin(b_words, guarded)]):
        return 2  # the same names and numbers in another order: who reports to whom
    return int(more) - int(less)


def _own_cjk(keys: NDArray[np.int64], apart: NDArray[np.int64]) -> bool:
    """Whether a text has CJK words that the other lacks."""
    return bool(np.isin(keys[(keys & 2) > 0] & ~3, apart).any())
