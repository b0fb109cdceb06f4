"""How meaning joins the sum of signals."""

from typing import Any

import numpy as np
import pytest

from context_packs.store.search.meaning.fusing import fuse
from context_packs.store.search.meaning.nearness import Chosen
from context_packs.store.search.ranking.scoring import SIGNALS, Ranked

FLOOR = 3.0
WEIGHT = SIGNALS["meaning"].weight
VIDS = np.array([10, 20], np.int64)  # two records of one passage each, 11 and 21
SIZES = np.array([1, 1], np.int64)


def fused(said: float, meant: float, *, coverage: float, above: float = 0.0, **options: Any) -> tuple[list[int], bool]:
    """The first record has the words (`said`), the second the meaning (`meant`): their order, and whether the second is
    kept although it has no word of the question."""
    ranked = Ranked(
        score=np.array([said, 0.0]),
        coverage=np.array([coverage, 0.0]),
        owner=np.array([0], np.int64),
        ordinal=np.array([0], np.int64),
        value=np.array([said]),
        alone=np.array([coverage]),
        named=np.zeros(2, bool),
    )
    near = Chosen(np.array([21], np.int64), np.array([above]), np.array([meant]))
    found, keep = fuse(ranked, np.array([True, False]), VIDS, SIZES, near, FLOOR, **options)
    return np.argsort(-found.score, kind="stable").tolist(), bool(keep[1])


def test_meaning_weighs_more_where_the_question_shares_no_word() -> None:
    """A question in another script than the text has none of its words: there meaning decides, elsewhere words do."""
    said = WEIGHT * 2.0 * 1.2
    assert fused(said, 2.0, coverage=1.0)[0] == [0, 1]
    assert fused(said, 2.0, coverage=0.0)[0] == [1, 0]


@pytest.mark.parametrize("coverage", [0.0, 0.25, 0.5, 1.0])
def test_to_be_far_away_in_meaning_tells_little(coverage: float) -> None:
    """What lies far from the question loses no more than what lies somewhat below the mean."""
    assert fused(1.0, -9.0, coverage=coverage) == fused(1.0, -1.0, coverage=coverage)


def test_meaning_alone_keeps_a_record_above_the_floor_only() -> None:
    """What neither word nor meaning supports is nothing."""
    assert fused(0.0, 2.0, coverage=0.0, above=FLOOR - 0.01)[1] is False
    assert fused(0.0, 2.0, coverage=0.0, above=FLOOR)[1] is True


def test_the_second_round_takes_the_place_of_the_first() -> None:
    """It is asked with the best passages, the best of them with the greatest weight."""
    asked: list[tuple[list[int], list[float]]] = []

    def again(best: Any, worth: Any) -> Any:
        asked.append((best.tolist(), worth.tolist()))
        return np.array([11, 21], np.int64), np.array([3.0, -1.0])

    assert fused(0.5, 3.0, coverage=0.0)[0] == [1, 0]
    assert fused(0.5, 3.0, coverage=0.0, again=again)[0] == [0, 1]
    assert len(asked) == 1 and asked[0][0] == [21, 11] and asked[0][1][0] > asked[0][1][1]
