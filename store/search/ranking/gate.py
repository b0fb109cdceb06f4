"""Whether anything bears on a query, and which of its parts: the best part decides. Pure.

A part is met where one passage, its neighbours and the header of its record hold enough of it together. How much is
enough depends on how many words that is: one word of three is chance, three of eight are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log10

import numpy as np
from numpy.typing import NDArray

from ...query.parts import Asked, Part
from .scoring import BACKGROUND, Evidence, Floats, Ints, idf

_POOL = 256  # passages of each part that are looked at with what stands around them
# Least share of a part, by how many words of matter are found together: below 1.5 of them, below 2.5, and more
# (decision 42). With words of equal weight: one of three is 33 %, below the 45 % that one word needs, and is chance;
# two of three are 67 %, above 35 %; three of eight are 37 %, above 20 %.
_FEW, _SOME, _MANY = 0.45, 0.35, 0.2
# In Japanese the pairs across two words and of endings weigh too, and a passage that answers seldom has them: of a
# part with this many words of matter less is needed.
_WIDE_SIZE, _FEW_WIDE = 3.0, 0.33
# A large store has most words somewhere, so less is told by having some: from this many passages on more is asked for,
# so much for each tenfold, and so much at most.
_LARGE = 5_000
_RISE = 0.13
_HIGHEST_RISE = 0.12
_UNKNOWN = 0.7  # weight of a word that nothing has, of what its rarity would give it
_UNKNOWN_EDGE = 0.35  # the same of a pair of characters across the edge of a word: the word may stand elsewhere
_NAMED = 0.5  # the least where a name is asked about that nobody knows
_LOOSE = 0.1  # the least for scripts whose words are rarely the same twice
_LEAST_SIZE = 1.5  # words of a part that is one of several: "do not apologise" is no question
_ANSWERED = 0.6  # or of its own words, where it asks: a short question beside a long one
_EQUAL = 2  # equally near passages of one question of several
_BESIDE = 0.5  # what a further part must hold, beside the best, to be searched for too


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which parts of a query are met: `open` none or some, `words` bool[words] those that are searched for, `text` what
    they say; `questions` the words of each part that asks, where there are several."""

    open: bool
    words: NDArray[np.bool_]
    text: str
    questions: tuple[Ints, ...] = ()


def judge(found: Evidence, asked: Asked) -> Verdict:
    """The parts of a query that what is seen bears on; all its words where there are none, for the plan to count."""
    everything = np.ones(found.words, dtype=bool)
    word = found.slot < found.words
    order = _Order(found.slot[word], found.vid[word], found.pas[word])
    df = np.bincount(order.slot[order.pas > order.vid], minlength=found.words)
    share = idf(df.astype(np.float64), found.totals[1] + BACKGROUND) * found.content
    sizes = np.array(asked.sizes[: found.words])
    there = np.bincount(order.slot, minlength=found.words) > 0
    edge = (found.content < 1) & (sizes < found.content)  # a pair is less than a word
    share = np.where(there, share, np.where(edge, _UNKNOWN_EDGE, _UNKNOWN) * share)
    speaks = bool((found.slot >= found.words).any())
    several = len(asked.parts) > 1
    rise = min(_RISE * max(0.0, log10(max(found.totals[1], 1) / _LARGE)), _HIGHEST_RISE)
    strength = np.zeros(len(asked.parts))
    answered = np.zeros(len(asked.parts), dtype=bool)
    for number, part in enumerate(asked.parts):
        slots = np.array([word for word in part.words if word < found.words], dtype=np.int64)
        if several and not part.question and sizes[slots].sum() < _LEAST_SIZE:
            continue
        strength[number] = _strength(order, part, slots, share, sizes, _least(part, there, speaks, asked, rise))
        answered[number] = part.question and strength[number] >= _ANSWERED * share[slots].sum() > 0
    if not strength.any():
        return Verdict(False, everything, "\n".join(part.text for part in asked.parts))
    # What is to be done with the answer does not say what is asked.
    if any(part.question and held > 0 for part, held in zip(asked.parts, strength, strict=True)):
        strength[[part.instruction for part in asked.parts]] = 0.0
    words = np.zeros(found.words, dtype=bool)
    met = np.flatnonzero((strength > 0) & (answered | (strength >= _BESIDE * strength.max()))).tolist()
    for number in met:
        words[[word for word in asked.parts[number].words if word < found.words]] = True
    asking = [np.array([w for w in asked.parts[n].words if w < found.words]) for n in met if asked.parts[n].question]
    text = "\n".join(asked.parts[number].text for number in met)
    return Verdict(True, words, text, tuple(asking) if len(asking) > 1 else ())


def nearest(found: Evidence, questions: Sequence[Ints], share: Floats) -> frozenset[tuple[int, int]]:
    """Of each question the passages that hold most of it, as version of the record and ordinal; `share` float64[words]
    is what each word counts."""
    best: set[tuple[int, int]] = set()
    for slots in questions:
        mine = np.flatnonzero(np.isin(found.slot, slots) & (found.pas > found.vid))
        if not len(mine):
            continue
        pas, at = np.unique(found.pas[mine], return_inverse=True)
        held = np.bincount(at, weights=share[found.slot[mine]])
        top = mine[np.isin(found.pas[mine], pas[held >= held.max() - 1e-9][-_EQUAL:])]
        best |= {(int(vid), int(one - vid - 1)) for vid, one in zip(found.vid[top], found.pas[top], strict=True)}
    return frozenset(best)


def narrowed(found: Evidence, words: NDArray[np.bool_]) -> Evidence:
    """The evidence with these words alone; the others weigh nothing any more."""
    if words.all():
        return found
    kept = np.append(words, True)[np.minimum(found.slot, found.words)]
    columns = {name: getattr(found, name)[kept] for name in ("slot", "vid", "pas", "tf", "len", "terms")}
    return replace(found, **columns, content=found.content * words)


def _least(part: Part, there: NDArray[np.bool_], speaks: bool, asked: Asked, rise: float) -> tuple[float, float, float]:
    if part.loose:
        return _LOOSE, _LOOSE, _LOOSE
    if speaks and any(asked.sizes[word] >= 1 for word in part.words):
        return 0.0, 0.0, 0.0
    if not speaks and any(not there[name] for name in part.names):
        return max(_NAMED, _FEW + rise), _NAMED, _NAMED
    if part.wide and sum(asked.sizes[word] for word in part.words) >= _WIDE_SIZE:
        return _FEW_WIDE + rise, _FEW_WIDE + rise, _MANY + rise
    return _FEW + rise, _SOME + rise, _MANY + rise


@dataclass(frozen=True, slots=True)
class _Order:
    """Postings of words, sorted by passage; the header of a record stands as its passage 0."""

    slot: Ints
    vid: Ints
    pas: Ints


def _strength(
    order: _Order, part: Part, slots: Ints, share: Floats, sizes: Floats, least: tuple[float, float, float]
) -> float:
    """How much of a part the passage that holds most of it has, in weight of rare words; 0 where that is too little."""
    column = np.full(len(share), -1)
    column[slots] = np.arange(len(slots))
    mine = np.flatnonzero(column[order.slot] >= 0)
    if not len(mine):
        return 0.0
    pas, vid = order.pas[mine], order.vid[mine]
    starts = np.flatnonzero(np.concatenate(([True], pas[1:] != pas[:-1])))
    alone = np.add.reduceat(share[order.slot[mine]], starts)
    pool = np.arange(len(starts))
    if len(pool) > _POOL:
        pool = np.argpartition(-alone, _POOL)[:_POOL]
    centre, record = pas[starts][pool], vid[starts][pool]
    window = np.zeros((len(pool), len(slots)), dtype=bool)
    for place in (centre, np.maximum(centre - 1, record), centre + 1, record):
        _mark(window, place, record, pas, vid, column[order.slot[mine]])
    held = window @ share[slots]
    count = window @ sizes[slots]
    # Without inflections one word of a short part may be all of its matter.
    need = np.where(count < 1.5, least[0], np.where(count < 2.5, least[1], least[2])) * share[slots].sum()
    met = held >= need - 1e-9
    return float(held[met].max()) if met.any() else 0.0


def _mark(window: NDArray[np.bool_], place: Ints, record: Ints, pas: Ints, vid: Ints, column: Ints) -> None:
    """Mark in each row of `window` the words that stand in its passage `place`, if that is one of its record."""
    first, last = np.searchsorted(pas, place, side="left"), np.searchsorted(pas, place, side="right")
    count = last - first
    rows = np.repeat(np.arange(len(place)), count)
    at = np.repeat(first - (np.cumsum(count) - count), count) + np.arange(len(rows))
    same = vid[at] == record[rows]
    window[rows[same], column[at[same]]] = True


def of_kind(found: Evidence, vids: Ints, keep: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Those of `keep` whose title, path or type has a word of the query, where there are any: a record of a kind rather
    than one that speaks of it."""
    named = np.isin(vids, found.vid[(found.slot < found.words) & (found.pas == found.vid)])
    return keep & named if (keep & named).any() else keep
