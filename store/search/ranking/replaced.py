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

from ...text.duplicates import signature_of
from .scoring import Evidence, Ints, Ranked
from .signals import NOTHING_NEW, asks, novelty, told_question

_AMONG = 24  # best records that are compared
_PASSAGES = 4  # of a record that states one thing
_CHARS = 400
_SHARED = 0.5  # of the words of the shorter text: decision 43
_LEAST_WORDS = 3  # of the shorter text: a word alone is in many others
_TALKS = re.compile(r"[?？]|^\w[\w .]{0,40}[:：] ?\S.*\n\w[\w .]{0,40}[:：]")  # a question, or a talk of several turns
# A text that tells of a change says itself that something else held before.
_CHANGE = re.compile(
    r"\b(?:now|nowadays|no longer|not any ?more|instead|anymore|henceforth|since|as of|from (?:this|now)|starting|"
    r"chang(?:ed?|es)|switch(?:ed|es)?|moved?|replaced|renamed|raised|risen|rose|lower(?:ed)?|reduced|cut|increased?|"
    r"decreased?|dropped|extended|shortened|grown|grew|fell|fallen|shifted|postponed|brought forward|went (?:up|down)|"
    r"t(?:ook|aken|akes) over|succeed(?:s|ed)|became|become|cancelled|ended|updated|revised)\b"
    r"|[変換替代][えわ]|変更|改め|改定|改訂|改正|移[しりっ転行]|切り?替|乗り換|交[替代]|引き?継|取って代|にな(?:った|りました|る|ります)|"
    r"[早遅]ま|[早遅]め|延[びばほ]|繰り[上下]|[上下]が[っり]|[上下]げ[たてま]|値[上下]げ|増え|減[っらり]|今[は後月年週]|今では|以降|廃止|終了|新しく|統合|更新",
    re.IGNORECASE,
)  # fmt: skip
_TOPIC = re.compile(
    r"^[^。、,.!?]{2,24}?(?=[はがをも])|^\W*(?:\w+\W+){1,6}?(?=(?:is|are|was|were|has|have|had|will|goes|runs)\b)"
)
_MEANT = 0.6  # weight of a word of the query that the newer text must have too


def newer_first(
    ranked: Ranked,
    found: Evidence,
    kept: Ints,
    sizes: Ints,
    at: Ints,
    vids: Ints,
    texts: Callable[[Sequence[int]], Mapping[int, str]],
    asked: frozenset[str] = frozenset(),
) -> tuple[Ranked, list[list[int]]]:
    """`ranked` with the scores of such records exchanged, so that the newest has the best of them; and the groups, each
    the newest first, as indices of its records.

    `kept` are indices of its records, `sizes` int64[n] their numbers of passages, `at` int64[n] their times, `vids`
    their versions, whose contents `texts` gives; `asked` the terms of the query, which alone state nothing.
    """
    best = kept[np.argsort(-ranked.score[kept], kind="stable")][:_AMONG]
    near = best[sizes[best] <= _PASSAGES]
    if len(near) < 2:
        return ranked, []
    contents = texts([int(vid) for vid in vids[near]])
    keys = [_keys(contents.get(int(vid), ""), asked) for vid in vids[near]]
    meant = np.flatnonzero(found.content >= _MEANT)
    holds = [set(found.slot[found.vid == vid].tolist()).intersection(meant.tolist()) for vid in vids[near]]
    score, delta = ranked.score.copy(), np.zeros(len(ranked.score))
    groups: list[list[int]] = []
    told = [contents.get(int(vid), "") for vid in vids[near]]
    topics = [match[0].casefold() if (match := _TOPIC.search(text)) else "" for text in told]
    changes = [bool(topic) and _CHANGE.search(text) is not None for topic, text in zip(topics, told, strict=True)]
    for group in _alike(keys, topics, changes):
        first = group[0]
        # The newer one need not say it in the words of the question where it says what of the matter has changed.
        members = near[[n for n in group if holds[n] >= holds[first] or (topics[n] == topics[first] and changes[n])]]
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


def _keys(text: str, asked: frozenset[str]) -> NDArray[np.int64]:
    """The words of a short text that states something, without the bits that tell kinds of words; none of any other."""
    if not 0 < len(text) <= _CHARS or _TALKS.search(text) or asks(text) or told_question(text) is not None:
        return np.zeros(0, "<i8")
    if novelty(text, asked) <= NOTHING_NEW:
        return np.zeros(0, "<i8")
    keys = np.frombuffer(signature_of("", text), dtype="<i8") & ~3
    return keys if len(keys) >= _LEAST_WORDS else keys[:0]


def _alike(keys: Sequence[NDArray[np.int64]], topics: Sequence[str], changes: Sequence[bool]) -> list[list[int]]:
    """Groups of two and more whose first member, the best ranked, shares most words with each other, or what they
    speak of where one of the two tells of a change."""
    groups: list[list[int]] = []
    free = set(range(len(keys)))
    for first in range(len(keys)):
        if first not in free or not len(keys[first]):
            continue
        group = [first]
        for other in sorted(free - {first}):
            least = min(len(keys[first]), len(keys[other]))
            same = topics[first] != "" and topics[first] == topics[other] and (changes[first] or changes[other])
            if least and (same or len(np.intersect1d(keys[first], keys[other])) >= _SHARED * least):
                group.append(other)
        free -= set(group)
        if len(group) > 1:
            groups.append(group)
    return groups
