"""The one order in which passages are shown."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.packer.packing.ladder import Step, ladder, openable
from context_packs.store.values import Candidate, Candidates, Hit


def steps(hits: Sequence[tuple[str, int]], ordinals: Mapping[str, Sequence[int]]) -> list[tuple[str, int]]:
    scored = [Hit(ref, ordinal, 1.0) for ref, ordinal in hits]
    return [(step.id, step.ordinal) for step in ladder(scored, ordinals)]


def test_hits_come_first_then_the_neighbours_in_rounds() -> None:
    """After the hits, each round shows the passage before and the one after each shown run, record by record."""
    assert steps([("a", 4), ("b", 0), ("a", 1)], {"a": range(7), "b": range(3)}) == [
        ("a", 4), ("b", 0), ("a", 1),
        ("a", 0), ("a", 2), ("a", 3), ("a", 5), ("b", 1),
        ("a", 6), ("b", 2),
    ]  # fmt: skip


def test_a_record_without_a_hit_begins_at_its_beginning_after_all_hits() -> None:
    """A candidate that no passage speaks for opens with its first passage, before any neighbour is shown."""
    assert steps([("b", 1)], {"a": [0, 1], "b": [0, 1]}) == [("b", 1), ("a", 0), ("a", 1), ("b", 0)]


def test_blank_passages_take_no_step() -> None:
    """Passages that are not listed are never shown by themselves; a hit on one stands for the passage before it."""
    assert steps([("a", 3), ("a", 2)], {"a": [0, 2, 5]}) == [("a", 2), ("a", 0), ("a", 5)]
    assert steps([("a", 0)], {"a": [1, 2]}) == [("a", 1), ("a", 2)]


def test_hits_of_records_that_are_not_opened_are_passed_over() -> None:
    """A record beyond `max_items` takes no step."""
    assert steps([("c", 0), ("a", 0)], {"a": [0]}) == [("a", 0)]


def test_unwieldy_passages_come_last() -> None:
    """A passage too large to be cut waits until everything else is shown, even where it was the best hit."""
    hits = [Hit("a", 1, 2.0), Hit("b", 0, 1.0)]
    taken = list(ladder(hits, {"a": [0, 1], "b": [0, 1]}, {Step("a", 1)}))
    assert taken == [Step("b", 0), Step("a", 0), Step("b", 1), Step("a", 1)]


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=5),
    hits=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 40)), max_size=40),
)
def test_every_passage_is_shown_exactly_once(sizes: list[int], hits: list[tuple[int, int]]) -> None:
    """The ladder ends with whole records and repeats nothing, whatever the hits."""
    ordinals = {f"mem:{n}": range(size) for n, size in enumerate(sizes)}
    taken = steps([(f"mem:{n}", ordinal) for n, ordinal in hits], ordinals)
    assert sorted(taken) == sorted((ref, k) for ref, size in ordinals.items() for k in size)


@given(size=st.integers(1, 60), hits=st.lists(st.integers(0, 59), min_size=1, max_size=10))
def test_after_the_hits_only_neighbours_of_what_is_shown_follow(size: int, hits: list[int]) -> None:
    """Each later passage touches one that is shown already."""
    hits = [hit % size for hit in hits]
    taken = [ordinal for _, ordinal in steps([("a", hit) for hit in hits], {"a": range(size)})]
    first = list(dict.fromkeys(hits))
    assert taken[: len(first)] == first
    for n, ordinal in enumerate(taken[len(first) :], start=len(first)):
        assert {ordinal - 1, ordinal + 1} & set(taken[:n])


def test_nothing_is_worked_out_before_it_is_asked_for() -> None:
    """The first steps over records of a million passages come at once: the ladder is lazy."""
    walk = ladder([Hit("a", 500_000, 1.0)], {"a": range(1_000_000)})
    assert [next(walk).ordinal for _ in range(4)] == [500_000, 499_999, 500_001, 499_998]


FOUND = Candidates(
    items=(
        Candidate("mem:1", 1, 0.9),
        Candidate("mem:2", 2, 0.8),
        Candidate("mem:3", 3, 0.7, duplicate_of="mem:1"),
        Candidate("mem:4", 4, 0.6),
        Candidate("mem:5", 5, 0.5),
    ),
    hits=(Hit("mem:4", 0, 3.0), Hit("mem:1", 2, 2.0), Hit("mem:4", 1, 1.0), Hit("mem:2", 0, 0.5)),
)


@pytest.mark.parametrize(
    ("max_items", "ids"),
    [
        (50, ["mem:4", "mem:1", "mem:2", "mem:5"]),
        (2, ["mem:4", "mem:1"]),
        (1, ["mem:4"]),
    ],
)
def test_records_open_in_the_order_of_their_first_hit(max_items: int, ids: list[str]) -> None:
    """Duplicates are never opened; a record without a hit stands after those with one; at most `max_items`."""
    assert openable(FOUND, max_items) == ids


def test_only_records_that_are_there_can_be_opened() -> None:
    """`among` leaves the others out without costing a place."""
    assert openable(FOUND, 2, {"mem:1", "mem:5"}) == ["mem:1", "mem:5"]
