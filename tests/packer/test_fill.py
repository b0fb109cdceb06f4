"""Where a pack ends, and what comes with a passage."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.packer.packing.governing import along
from context_packs.packer.packing.ladder import Step, ladder
from context_packs.packer.packing.profile import load_profile
from context_packs.store.records import Span
from context_packs.store.text.passages import divide
from context_packs.store.values import Candidates, Hit


def with_relevance(found: Candidates, marks: list[bool]) -> Candidates:
    """The candidates with every hit marked in turn; a record is relevant that has such a hit."""
    hits = tuple(replace(hit, relevant=marks[n % len(marks)]) for n, hit in enumerate(found.hits))
    some = {hit.id for hit in hits if hit.relevant}
    items = tuple(replace(item, relevant=item.id in some or item.duplicate_of is not None) for item in found.items)
    return replace(found, hits=hits, items=items)


def shown(pack: Any) -> dict[str, set[int]]:
    """The characters of each record that a pack shows."""
    return {item.id: {at for start, end in item.spans for at in range(start, end)} for item in pack.items}


@given(data=st.data(), fill=st.sampled_from(["relevant", "budget"]), profile=st.sampled_from(["public", "internal"]))
def test_a_larger_budget_takes_nothing_away(kit: Any, data: st.DataObject, fill: str, profile: str) -> None:
    """Whatever is relevant and wherever a pack ends: exact, within its ceiling, and a part of the larger one."""
    found = with_relevance(data.draw(kit.founds(4)), data.draw(st.lists(st.booleans(), min_size=1, max_size=7)))
    small, large = sorted(data.draw(st.tuples(st.integers(1, 600), st.integers(1, 600))))
    before, after = (kit.pack(found, profile=profile, fill=fill, max_tokens=most) for most in (small, large))
    for pack, most in ((before, small), (after, large)):
        assert pack.budget.used_tokens == kit.oracle(pack.text) <= most
        assert {item.id for item in pack.items} | {one.id for one in pack.decisions} == {one.id for one in found.items}
    assert [item.id for item in after.items][: len(before.items)] == [item.id for item in before.items]
    assert all(part <= shown(after)[ref] for ref, part in shown(before).items())


@pytest.mark.parametrize("profile", ["public", "session_start"])
def test_a_pack_ends_where_relevance_ends(kit: Any, profile: str) -> None:
    """What is not relevant comes in only where the pack is to be filled, and is told of as such, not as dropped."""
    text = " ".join(f"Sentence number {n} speaks of something else than the others do here." for n in range(40))
    records = [kit.record(1, text), kit.record(2, "Another note about the garden.")]
    hits = (Hit("mem:1", 3, 2.0), Hit("mem:1", 9, 1.0, relevant=False), Hit("mem:2", 0, 0.5, relevant=False))
    found = kit.found(records, [("mem:1", 3)])
    items = (found.items[0], replace(found.items[1], relevant=False))
    found = replace(found, hits=hits, items=items)
    pack = kit.pack(found, profile=profile, max_tokens=2000)
    assert [(item.id, item.spans) for item in pack.items] == [
        ("mem:1", [(records[0].passages[3].start, records[0].passages[3].end)])
    ]
    assert [(one.id, one.reason) for one in pack.decisions] == [("mem:2", "relevance")]
    assert (pack.budget.dropped, pack.budget.state) == (0, "limited")
    full = kit.pack(found, profile=profile, max_tokens=2000, fill="budget")
    assert [item.id for item in full.items] == ["mem:1", "mem:2"]
    assert [item.shortened for item in full.items] == [False, False]


def test_a_short_record_is_shown_whole(kit: Any) -> None:
    """Where one of its few sentences is relevant the others are needed to read it."""
    record = kit.record(1, "The kiwi is in the cellar. It came by ship. Nobody asked for it.")
    found = replace(kit.found([record]), hits=(Hit("mem:1", 0, 1.0),))
    (item,) = kit.pack(found, profile="public").items
    assert not item.shortened


def test_profiles_say_whether_packs_are_filled() -> None:
    """The texts that a model reads end with relevance; programs that lay out the text get what they have room for."""
    fills = {name: load_profile(name).defaults.fill for name in ("public", "session_start", "internal", "kernel")}
    assert fills == {"public": "relevant", "session_start": "relevant", "internal": "budget", "kernel": "budget"}


@pytest.mark.parametrize(
    ("text", "hit", "expected"),
    [
        (
            "Refunds are retried three times. However, card refunds are never touched by it. The sky above us is blue.",
            0,
            ["However, card refunds are never touched by it."],
        ),
        (
            "返金は三回まで自動で再試行する。ただし海外の返金は一度も再試行しない。空は朝から晩まで青かった。",
            0,
            ["ただし海外の返金は一度も再試行しない。"],
        ),
        (
            "Taro: Where is the kiwi stored?\nMika: In the blue cellar.\nTaro: Thanks.\n",
            0,
            ["Mika: In the blue cellar."],
        ),
        ("Taro: The kiwi is stored.\nMika: In the blue cellar.\n", 0, []),
        (
            "User: Where is the kiwi stored?\nAssistant: Fruit keeps for a long time where it is stored in the cold. "
            "Some of it is sold in the hall on the left. Some is sweet where it was ripe in time. What came by ship is "
            "not. Ask for it at the gate of the yard.\n",
            0,
            [],
        ),
        (
            "User: Where is the kiwi stored?\nAssistant: In the blue cellar. It is cold there.\nUser: Thanks.\n",
            0,
            ["Assistant: In the blue cellar. It is cold there."],
        ),
        ("# Storage\n\nThe kiwi is in the cellar. It came by ship.\n", 2, ["# Storage"]),
        ("The keys are:\n\n- north door: Ada\n- south door: Ben\n", 3, ["The keys are:"]),
    ],
)
def test_what_governs_a_passage_comes_with_it(text: str, hit: int, expected: list[str]) -> None:
    """Its condition, the reply to it, its heading, what introduces its list."""
    spans = [Span(k, one.start, one.end, one.kind, one.speaker) for k, one in enumerate(divide(text))]
    inked = [n for n, span in enumerate(spans) if text[span.start : span.end].strip()]
    hit = min(inked, key=lambda n: abs(n - hit))
    assert [text[spans[n].start : spans[n].end].strip() for n in along(text, spans, hit)] == expected


def test_what_stands_in_an_earlier_turn_governs_nothing() -> None:
    """A heading or the beginning of a list that somebody else said, or the same person in another turn."""
    text = (
        "Assistant: Here is a plan.\n\n# Plan\n\nWe dig first.\n\nUser: The soil is wet.\n\n"
        "Assistant: Then we wait.\n\nUser: The keys are:\n\nAssistant: Listed below.\n\n- north door: Ada\n"
    )
    spans = [Span(k, one.start, one.end, one.kind, one.speaker) for k, one in enumerate(divide(text))]

    def governing(said: str) -> list[str]:
        hit = next(n for n, span in enumerate(spans) if said in text[span.start : span.end])
        return [text[spans[n].start : spans[n].end].strip() for n in along(text, spans, hit)]

    assert governing("We dig first") == ["# Plan"]
    assert governing("The soil is wet") == []
    assert governing("Then we wait") == []
    assert governing("north door") == []


def test_a_step_shows_what_comes_along_once() -> None:
    """It is one step, and what it brought takes none of its own later; what cannot be cut never comes along."""
    hits = [Hit("a", 0, 2.0), Hit("a", 2, 1.0)]
    steps = list(ladder(hits, {"a": [0, 1, 2, 3]}, {Step("a", 3)}, lambda _, n: {0: (2, 3)}.get(n, ()), {"a"}))
    assert steps == [Step("a", 0, (2,)), Step("a", 1), Step("a", 3)]
