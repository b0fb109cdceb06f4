"""Scores of words and of meaning put together. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ranking.scoring import Ranked, Scores
from .nearness import DEFAULT_FUSION, Fusion, Near
from .stored import Ints, standard


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


def fuse(
    ranked: Ranked, keep: NDArray[np.bool_], vids: Ints, sizes: Ints, near: Near, fusion: Fusion = DEFAULT_FUSION
) -> tuple[Ranked, NDArray[np.bool_]]:
    """The second round with both arms: the sum of their standard scores over all passages of the records at hand.

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

    _, here, there = np.intersect1d(vids[owner] + 1 + ordinal, near.pas, assume_unique=True, return_indices=True)
    answers = here[near.above[there] >= near.floor]
    smooth = np.zeros(len(owner))  # a passage without a vector counts as the mean
    smooth[here] = standard(near.among[there])
    value = standard(lexical) + fusion.weight * smooth
    value -= value.min(initial=0.0)

    keep = keep.copy()
    keep[owner[answers]] = True
    steps = lexical > 0
    steps[here[near.among[there] >= fusion.passage]] = True
    steps[answers] = True
    shown = np.flatnonzero(steps)
    score = np.zeros(len(vids))
    np.maximum.at(score, owner[shown], value[shown])
    order = shown[np.lexsort((ordinal[shown], owner[shown], -value[shown]))]
    fused = replace(
        ranked, score=score, owner=owner[order], ordinal=ordinal[order], value=value[order], alone=alone[order]
    )
    return fused, keep
