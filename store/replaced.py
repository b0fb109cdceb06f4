"""Of short records that say the same of one thing with another value, the newer stands first. Pure.

"The phone is carried by Ruben" and, in May, "The phone is carried by Sanne": nobody linked the two, and nothing but
their time tells which holds. Texts of unlike wording are not compared: a later remark is no replacement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .duplicates import signature_of
from .scoring import Evidence, Ints, Ranked
from .signals import asks, told_question

_AMONG = 24  # best records that are compared
_PASSAGES = 4  # of a record that states one thing
_CHARS = 400
_SHARED = 0.5  # of the words of the shorter text
_LEAST_WORDS = 3  # of the shorter text: a word alone is in many others
_TALKS = re.compile(r"[?？]|^\w[\w .]{0,40}[:：] ?\S.*\n\w[\w .]{0,40}[:：]")  # a question, or a talk of several turns
_MEANT = 0.6  # weight of a word of the query that the newer text must have too


def newer_first(
    ranked: Ranked,
    found: Evidence,
    kept: Ints,
    sizes: Ints,
    at: Ints,
    vids: Ints,
    texts: Callable[[Sequence[int]], Mapping[int, str]],
) -> tuple[Ranked, list[list[int]]]:
    """`ranked` with the scores of such records exchanged, so that the newest has the best of them; and the groups, each
    the newest first, as indices of its records.

    `kept` are indices of its records, `sizes` int64[n] their numbers of passages, `at` int64[n] their times, `vids`
    their versions, whose contents `texts` gives.
    """
    best = kept[np.argsort(-ranked.score[kept], kind="stable")][:_AMONG]
    near = best[sizes[best] <= _PASSAGES]
    if len(near) < 2:
        return ranked, []
    contents = texts([int(vid) for vid in vids[near]])
    keys = [_keys(contents.get(int(vid), "")) for vid in vids[near]]
    meant = np.flatnonzero(found.content >= _MEANT)
    holds = [set(found.slot[found.vid == vid].tolist()).intersection(meant.tolist()) for vid in vids[near]]
    score, delta = ranked.score.copy(), np.zeros(len(ranked.score))
    groups: list[list[int]] = []
    for group in _alike(keys):
        members = near[[one for one in group if holds[one] >= holds[group[0]]]]
        newest = members[np.argsort(-at[members], kind="stable")]
        groups.append(newest.tolist())
        delta[newest] = np.sort(ranked.score[members])[::-1] - score[newest]
    if not delta.any():
        return ranked, groups
    value = ranked.value + delta[ranked.owner]
    order = np.argsort(-value, kind="stable")
    exchanged = replace(
        ranked,
        score=score + delta,
        owner=ranked.owner[order],
        ordinal=ranked.ordinal[order],
        value=value[order],
        alone=ranked.alone[order],
    )
    return exchanged, groups


def _keys(text: str) -> NDArray[np.int64]:
    """The words of a short text that states something, without the bits that tell kinds of words; none of any other."""
    if not 0 < len(text) <= _CHARS or _TALKS.search(text) or asks(text) or told_question(text) is not None:
        return np.zeros(0, "<i8")
    keys = np.frombuffer(signature_of("", text), dtype="<i8") & ~3
    return keys if len(keys) >= _LEAST_WORDS else keys[:0]


def _alike(keys: Sequence[NDArray[np.int64]]) -> list[list[int]]:
    """Groups of two and more whose first member, the best ranked, shares most words with each other."""
    groups: list[list[int]] = []
    free = set(range(len(keys)))
    for first in range(len(keys)):
        if first not in free or not len(keys[first]):
            continue
        group = [first]
        for other in sorted(free - {first}):
            least = min(len(keys[first]), len(keys[other]))
            if least and len(np.intersect1d(keys[first], keys[other])) >= _SHARED * least:
                group.append(other)
        free -= set(group)
        if len(group) > 1:
            groups.append(group)
    return groups
