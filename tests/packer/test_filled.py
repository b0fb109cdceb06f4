"""What comes into a pack that is to be filled: where something bears on the query, also what has little of it."""

from collections.abc import Iterator

import pytest

from context_packs.packer.packing.pack import Pack
from context_packs.packer.service import ContextPacks

ASKED = (
    "Which colour, hinge, varnish, handle, gasket, threshold, lintel, mullion, architrave, escutcheon, bolt, latch, "
    "chain, spyhole, knocker, letterbox, number and bell has the oak door?"
)
WHOLE = (
    "The oak door: colour green, hinge brass, varnish matt, handle steel, gasket rubber, threshold stone, lintel "
    "granite, mullion ash, architrave plain, escutcheon round, bolt long, latch short, chain thin, spyhole wide, "
    "knocker iron, letterbox low, number nine and bell loud."
)
LITTLE = "We rang the bell for the ferry at noon."


@pytest.fixture
def packs() -> Iterator[ContextPacks]:
    with ContextPacks.open(":memory:", "me") as packs:
        for text in (LITTLE, WHOLE, "A note about the garden."):
            packs.remember(text)
        yield packs


def ids(pack: Pack) -> list[str]:
    return [item.id for item in pack.items]


def test_what_has_little_of_the_query_comes_where_a_pack_is_filled(packs: ContextPacks) -> None:
    """It stands behind what has much; what has no word of it does not come."""
    assert ids(packs.recall_context(ASKED, fill="budget")) == ["mem:2", "mem:1"]
    assert [(one.id, one.relevant) for one in packs.recall_context(ASKED, fill="budget").made.found.items] == [
        ("mem:2", True),
        ("mem:1", False),
    ]


def test_a_pack_that_ends_with_relevance_does_not_know_of_it(packs: ContextPacks) -> None:
    """Neither do rows: what is below the floor is no candidate there."""
    pack = packs.recall_context(ASKED, fill="relevant")
    assert (ids(pack), pack.decisions) == (["mem:2"], [])
    assert [row.ref for row in packs.recall(ASKED)] == ["mem:2"]
    assert [row.ref for row in packs.search_memory(ASKED)] == ["mem:2"]


def test_silence_and_the_threshold_hold_where_a_pack_is_filled(packs: ContextPacks) -> None:
    """Where nothing bears on the query there is nothing to fill with, and a threshold is above the floor."""
    assert ids(packs.recall_context("Which planet has the longest bell curve of its year?", fill="budget")) == []
    assert ids(packs.recall_context(ASKED, fill="budget", threshold=0.1)) == ["mem:2"]
