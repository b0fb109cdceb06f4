"""Scores of words and of meaning put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ranking.scoring import SIGNALS, Ranked, Scores
from .nearness import Chosen, Near, Question, look_again, of_versions
from .stored import Floats, Ints

Again = Callable[[Ints, Floats], tuple[Ints, Floats]]
"""The second round: passages with weights → passages (ascending) with their standard scores."""


@dataclass(frozen=True, slots=True)
class Fusion:
    """How the vector arm takes part in the sum of signals."""

    low: float = -1.0  # the least standard score that counts: to be far away tells no more
    passage: float = 1.0  # standard score that makes a passage of a chosen record a step of its own
    lean: float = 0.75  # how much more meaning weighs where no word is shared, in shares of its weight
    shared: float = 0.5  # share of the question from which on words need no help
    chance: float = 0.25  # what words weigh that are too few to tell anything, beside those that bear on the question
    best: int = 6  # passages that the second round starts from; 0 leaves it out


DEFAULT_FUSION = Fusion()


def widen(first: Scores, top: Ints, near: Near) -> tuple[Scores, Ints]:
    """The first round with the records that vectors found beside those that words found, the latter first in `top`."""
    new = near.vids[~np.isin(near.vids, first.vids)]
    vids = np.sort(np.concatenate((first.vids, new)))
    place = np.searchsorted(vids, first.vids)

    def spread(values: NDArray[Any], rest: float | bool) -> NDArray[Any]:
        wide = np.full(len(vids), rest, dtype=values.dtype)
        wide[place] = values
        return wide

    wider = replace(
        first,
        vids=vids,
        row=place[first.row],
        whole=spread(first.whole, 0.0),
        rough=spread(first.rough, 0.0),
        found=spread(first.found, True),
    )
    both = dict.fromkeys([*place[top].tolist(), *np.searchsorted(vids, near.vids).tolist()])
    return wider, np.array(list(both), dtype=np.int64)


def put_together(
    question: Question, near: Near, ranked: Ranked, keep: NDArray[np.bool_], vids: Ints, sizes: Ints, *, told: bool
) -> tuple[Ranked, NDArray[np.bool_]]:
    """Both rounds of meaning over the records at hand; the first alone where words tell nothing."""

    def again(best: Ints, worth: Floats) -> tuple[Ints, Floats]:
        return look_again(question, near, vids, best, worth)

    if not told:
        ranked = replace(ranked, value=ranked.value * DEFAULT_FUSION.chance)
    return fuse(ranked, keep, vids, sizes, of_versions(question, near, vids), near.floor, again if told else None)


def fuse(
    ranked: Ranked,
    keep: NDArray[np.bool_],
    vids: Ints,
    sizes: Ints,
    near: Chosen,
    floor: float,
    again: Again | None = None,
    fusion: Fusion = DEFAULT_FUSION,
) -> tuple[Ranked, NDArray[np.bool_]]:
    """Meaning as one more signal of the sum, over all passages of the records at hand.

    `vids` and `sizes` (passages) are those of the records of `ranked`. A record that words did not keep is kept where
    a passage of it stands above the floor.
    """
    starts = np.cumsum(sizes) - sizes
    owner = np.repeat(np.arange(len(vids)), sizes)
    ordinal = np.arange(len(owner)) - starts[owner]
    lexical = np.zeros(len(owner))
    alone = np.zeros(len(owner))
    lexical[starts[ranked.owner] + ranked.ordinal] = ranked.value
    alone[starts[ranked.owner] + ranked.ordinal] = ranked.alone
    pas = vids[owner] + 1 + ordinal
    sorted_pas = np.argsort(pas)

    def placed(of: Ints, values: Floats) -> Floats:
        """Values of passages, put where these passages stand; one without a vector counts as the mean."""
        spread = np.zeros(len(owner))
        _, here, there = np.intersect1d(pas[sorted_pas], of, assume_unique=True, return_indices=True)
        spread[sorted_pas[here]] = values[there]
        return spread

    among = placed(near.pas, near.among)
    answers = placed(near.pas, near.above) >= floor
    held = float(ranked.coverage.max(initial=0.0))
    weight = SIGNALS["meaning"].weight * (1 + fusion.lean * max(0.0, 1 - held / fusion.shared))
    value = lexical + weight * np.maximum(among, fusion.low)
    if again is not None and fusion.best:
        best = np.argsort(-value, kind="stable")[: fusion.best]
        worth = value[best] - value[best].min() * 0.5
        among = placed(*again(pas[best], worth))
        value = lexical + weight * np.maximum(among, fusion.low)

    keep = keep.copy()
    keep[owner[answers]] = True
    shown = np.flatnonzero((lexical > 0) | (among >= fusion.passage) | answers)
    value -= min(float(value[shown].min(initial=0.0)), 0.0)
    score = np.zeros(len(vids))
    np.maximum.at(score, owner[shown], value[shown])
    order = shown[np.lexsort((ordinal[shown], owner[shown], -value[shown]))]
    fused = replace(
        ranked, score=score, owner=owner[order], ordinal=ordinal[order], value=value[order], alone=alone[order]
    )
    return fused, keep
