"""The longest prefix that fits: compared with rendering and counting every prefix, for every budget."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_packs.packer.packing.fit import Frame, Prefix, Selection, fit, shorter, shown_of
from context_packs.packer.packing.ladder import Step, ladder, openable
from context_packs.packer.packing.layout import Limits, layout
from context_packs.packer.packing.section import Outline, Section, outline_of
from context_packs.packer.packing.tokens import token_counter
from context_packs.store.values import Candidates


def outlines_of(found: Candidates, max_items: int = 50) -> dict[str, Outline]:
    return {ref: outline_of(found.records[ref]) for ref in openable(found, max_items)}


def climb(found: Candidates, outlines: Mapping[str, Outline]) -> list[Step]:
    return list(ladder(found.hits, {ref: outline.ordinals for ref, outline in outlines.items()}))


def rendered(
    steps: list[Step], outlines: Mapping[str, Outline], template: str, candidates: int, used: int, maximum: int
) -> str:
    """The text of a prefix, from the template alone."""
    sections: dict[str, Section] = {}
    for step in steps:
        sections.setdefault(step.id, Section(outlines[step.id])).show(step.ordinal)
    shortened = sum(not section.whole for section in sections.values())
    dropped = candidates - len(sections)
    limits = Limits(used, maximum, len(sections), shortened, dropped) if shortened or dropped else None
    return layout(template).text([shown_of(s.record, s.lines()) for s in sections.values()], limits)


def exact(
    steps: list[Step], outlines: Mapping[str, Outline], template: str, candidates: int, maximum: int, count: Any
) -> int:
    """Tokens of the text of a prefix, once the number in its budget line is right."""
    used = 1
    while (n := count(rendered(steps, outlines, template, candidates, used, maximum))) != used:
        used = n
    return used


@settings(max_examples=25)
@given(
    data=st.data(),
    template=st.sampled_from(["public", "sections", "bare"]),
    encoding=st.sampled_from(["o200k_base", "cl100k_base"]),
)
def test_the_greatest_prefix_that_fits_is_taken_and_its_cost_is_exact(
    kit: Any, data: st.DataObject, template: str, encoding: str
) -> None:
    """For each budget the selection is the one found by rendering and counting every prefix as a whole.

    A prefix that fits below 1,000 only because that number has a digit less is left to budgets that keep it.
    """
    found = data.draw(kit.founds(3))
    outlines, counter = outlines_of(found), token_counter(encoding)
    steps = climb(found, outlines)
    candidates = len(outlines) + data.draw(st.integers(0, 1))
    budgets = [*data.draw(st.lists(st.integers(1, 700), min_size=1, max_size=4)), 999, 1000, 1001, 12_000]
    for budget in budgets:
        costs, later = (
            [exact(steps[: k + 1], outlines, template, candidates, limit, counter.count) for k in range(len(steps))]
            for limit in (budget, max(budget, 1000))
        )
        fits = [cost <= budget and more <= max(budget, 1000) for cost, more in zip(costs, later, strict=True)]
        expected = max((k for k, good in enumerate(fits, start=1) if good), default=0)
        selection = fit(iter(steps), outlines, candidates, layout(template), counter, budget)
        assert list(selection.steps) == steps[:expected]
        assert selection.used == (costs[expected - 1] if expected else 0)


@given(
    used=st.integers(1, 12_000), maximum=st.integers(1, 12_000), items=st.integers(0, 50), dropped=st.integers(0, 5000)
)
def test_the_count_in_the_budget_line_always_settles(
    kit: Any, used: int, maximum: int, items: int, dropped: int
) -> None:
    """The line costs one token more for each further three digits, so a number that counts itself exists."""
    line = layout("public").limited(Limits(used, maximum, items, 0, dropped))
    groups = sum((len(str(n)) + 2) // 3 for n in (used, maximum, items, 0, dropped))
    assert kit.oracle(f"{line}\n") == 15 + groups


def test_the_complete_pack_can_be_cheaper_than_the_one_before_it(kit: Any) -> None:
    """With the last step the budget line falls away: a budget that is too small for n-1 steps takes all n."""
    found = kit.found(
        [kit.record(1, "A first sentence that is here. Then a second sentence comes along. Well done with the third.")]
    )
    outlines, counter = outlines_of(found), token_counter()
    steps = climb(found, outlines)
    assert len(steps) == 3
    costs = [exact(steps[:k], outlines, "public", 1, 70, counter.count) for k in (1, 2, 3)]
    assert costs == [67, 74, 59]
    taken = [len(fit(steps, outlines, 1, layout("public"), counter, budget).steps) for budget in (58, 59, 65)]
    assert taken == [0, 3, 3]


def test_what_is_not_shown_needs_the_cheapest_prefix_that_shows_it(kit: Any) -> None:
    """The need of each further record is that of the first prefixes that show it, its own digits included."""
    found = kit.found([kit.record(n, f"Note {n} is short.") for n in range(1, 4)])
    outlines = outlines_of(found)
    selection = fit(climb(found, outlines), outlines, 3, layout("public"), token_counter(), 70)
    assert [step.id for step in selection.steps] == ["mem:1"]
    assert selection.needs == {"mem:2": 98, "mem:3": 111}
    assert selection.by_chars == frozenset()


def test_the_ceiling_of_characters_is_named_where_it_is_the_reason(kit: Any) -> None:
    """A record that no number of tokens would bring in under the characters allowed has no need of tokens."""
    found = kit.found([kit.record(n, f"Note {n} is short.") for n in range(1, 4)])
    outlines = outlines_of(found)
    selection = fit(climb(found, outlines), outlines, 3, layout("public"), token_counter(), 1500, 260)
    assert [step.id for step in selection.steps] == ["mem:1"]
    assert selection.needs == {"mem:2": None, "mem:3": None}
    assert selection.by_chars == {"mem:2", "mem:3"}


def test_a_budget_beyond_reach_has_no_need(kit: Any) -> None:
    """A record that would take more than 12,000 tokens says None, not a number that no request may carry."""
    long = kit.record(1, " ".join(f"word{n}" for n in range(9_000)))
    found = kit.found([long, kit.record(2, "Note.")], [("mem:1", k) for k in range(len(long.passages))])
    outlines = outlines_of(found)
    selection = fit(climb(found, outlines), outlines, 2, layout("public"), token_counter(), 200)
    assert selection.needs == {"mem:2": None}


def test_a_step_back_names_what_the_step_would_have_needed() -> None:
    """Where a foreign encoding counts the whole above the sum, the last step is given up and its count is kept."""
    selection = Selection((Step("mem:1", 0), Step("mem:2", 0)), 99, {"mem:3": 140}, frozenset(), {})
    back = shorter(selection, 101)
    assert back.steps == (Step("mem:1", 0),)
    assert back.needs == {"mem:3": 140, "mem:2": 101}


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
@settings(max_examples=150)
@given(data=st.data())
def test_rendered_lines_add_up(kit: Any, encoding: str, data: st.DataObject) -> None:
    """No token reaches over a line break of the rendered form: the lines' counts sum up to the count of the whole."""
    counter = token_counter(encoding)
    record = kit.record(1, data.draw(kit.texts()))
    section = Section(outline_of(record))
    for ordinal in outline_of(record).ordinals:
        section.show(ordinal)
    text = f"[1] head\n{section.lines()}\n\n[2] head" if section.lines() else "[1] head\n\n[2] head"
    lines = text.replace("\n\n", "\r\n").split("\n")
    lines = [line.replace("\r", "\n") + ("\n" if n < len(lines) - 1 else "") for n, line in enumerate(lines)]
    assert "".join(lines) == text
    assert sum(map(counter.count, lines)) == counter.count(text)


def test_no_larger_budget_takes_away_at_the_edge_of_a_digit() -> None:
    """A text of 999 tokens under 999 has 1,001 under 1,000, by its own numbers: it is kept for 1,001 and more."""
    frame = Frame(layout("public"), token_counter())
    edge = Prefix(parts=979, chars=0, items=1, shortened=1, dropped=0)
    assert [frame.used(edge, maximum) for maximum in (998, 999, 1000, 1001)] == [999, 999, 1001, 1001]
    needs = [frame.need(Prefix(parts, 0, 1, 1, 0)) for parts in (1, 977, 978, 979, 980)]
    assert needs == [21, 997, 998, 1001, 1002]
