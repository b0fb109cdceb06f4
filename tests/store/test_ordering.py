"""Records in another order than the best first, and the least that they must contain."""

from typing import Any

import pytest

from context_packs.packer import ContextPacks


@pytest.fixture
def packs(kit: Any) -> ContextPacks:
    """Three notes on one subject, written in another order than they happened, and one that is longer."""
    packs: ContextPacks = kit.packs()
    notes = (
        (3, "deploy the shop after the summer sale of garden chairs"),
        (1, "deploy the shop at night while Anna watches the dashboards"),
        (2, "deploy needs a signed release note from two reviewers"),
    )
    for day, text in notes:
        packs.remember(text, path=f"p/{day}", timestamp=f"2026-02-0{day}T00:00:00Z")
    packs.remember("\n".join(f"deploy step {n}" for n in range(30)), path="log", timestamp="2026-02-04T00:00:00Z")
    return packs


@pytest.mark.parametrize(
    ("time_order", "ids"),
    [("asc", ["mem:2", "mem:3", "mem:1", "mem:4"]), ("desc", ["mem:4", "mem:1", "mem:3", "mem:2"])],
)
def test_what_is_found_comes_in_order_of_time(packs: ContextPacks, time_order: str, ids: list[str]) -> None:
    """Pack, rows and log in order of when it happened, not of when it was written."""
    assert [item.id for item in packs.recall_context("deploy", time_order=time_order).items] == ids
    assert [row.ref for row in packs.recall("deploy", time_order=time_order)] == ids
    bounds = {"since": "2026-02-01", "until": "2026-03-01"}
    log = packs.recall_context("anything", query_mode="activity_log", time_order=time_order, **bounds)
    assert [item.id for item in log.items] == ids
    listed = packs.newest(10, time_order=time_order, temporal_axis_mode="created_at")
    assert [row.ref for row in listed] == ids


def test_the_best_are_chosen_then_ordered(packs: ContextPacks) -> None:
    """With fewer places than records the best stay, and only those are put in order of time."""
    best = {item.id for item in packs.recall_context("deploy the shop at night", max_items=2, fill="budget").items}
    ordered = [
        item.id
        for item in packs.recall_context("deploy the shop at night", max_items=2, time_order="asc", fill="budget").items
    ]
    assert best == {"mem:1", "mem:2"}
    assert ordered == ["mem:2", "mem:1"]


@pytest.mark.parametrize("fields", [{"time_order": "desc"}, {"time_order": "asc"}, {"prefer_working": True}])
def test_a_larger_budget_still_removes_nothing(packs: ContextPacks, fields: dict[str, Any]) -> None:
    """In every order the pack for fewer tokens is the beginning of the pack for more, and no long record blocks."""
    packs.remember("Blocked: the shop waits for a deploy of payments", memory_type="state", path="state")
    before: list[str] = []
    shown: dict[str, int] = {}
    for tokens in (40, 60, 80, 120, 200, 400):
        pack = packs.recall_context("deploy the shop", max_tokens=tokens, fill="budget", **fields)
        assert pack.budget.used_tokens <= tokens
        ids = [item.id for item in pack.items]
        assert ids[: len(before)] == before
        sizes = {item.id: sum(end - start for start, end in item.spans) for item in pack.items}
        assert all(sizes[one] >= size for one, size in shown.items())
        before, shown = ids, sizes
    assert len(before) == 5


def test_the_time_of_writing_is_another_axis(kit: Any, packs: ContextPacks) -> None:
    """updated_at: what was changed last comes first in time, and the interval is about the change."""
    kit.clock.on(days=1)
    packs.revise("mem:3", title="Changed")
    latest = packs.recall_context("deploy", time_order="desc", temporal_axis_mode="updated_at").items[0]
    assert latest.id == "mem:3"
    changed = packs.recall_context("deploy", since=kit.clock.now, temporal_axis_mode="updated_at")
    assert [item.id for item in changed.items] == ["mem:3"]
    assert packs.recall_context("deploy", since=kit.clock.now).items == []
    split = {"temporal_axis_mode": "split_filter_created_order_updated", "time_order": "desc"}
    both = packs.recall_context("deploy", until="2026-02-03", **split)
    assert [item.id for item in both.items] == ["mem:3", "mem:2"]


def test_equal_times_keep_the_order_of_writing(kit: Any) -> None:
    """Twelve records of one moment come by their numbers, not by how these are spelled."""
    packs = kit.packs()
    words = "apple bread chair dance eagle frost grape house igloo juice knife lemon".split()
    for n, word in enumerate(words):
        packs.remember(f"deploy with {word} and {words[n - 3]}", path=f"p{n}")
    ids = [item.id for item in packs.recall_context("deploy", max_items=12, time_order="asc").items]
    assert ids == [f"mem:{n}" for n in range(1, 13)]


def test_working_state_is_preferred_only_where_it_bears_on_the_query(packs: ContextPacks) -> None:
    """State about something else is not pulled in front, nor found at all."""
    packs.remember("Paint the fence.", memory_type="working", path="state")
    items = packs.recall_context("deploy the shop at night", prefer_working=True).items
    assert "mem:5" not in [item.id for item in items]
    packs.remember("Deploy: waiting for the night.", memory_type="working", path="state")
    items = packs.recall_context("deploy the shop at night", prefer_working=True).items
    assert items[0].id == "mem:6"


def test_a_threshold_is_a_share_of_the_query(packs: ContextPacks) -> None:
    """1 leaves what contains the whole query, 0 all that bears on it; restores are not touched."""
    every = packs.recall("deploy the shop at night", threshold=0)
    whole = packs.recall("deploy the shop at night", threshold=1)
    assert {row.ref for row in every} == {"mem:1", "mem:2", "mem:3", "mem:4"}
    assert [row.ref for row in whole] == ["mem:2"]
    assert len(packs.recall("", threshold=1)) == 4


def test_an_id_as_query_finds_that_record(packs: ContextPacks) -> None:
    """A strict search for an id gives that record within the filters; a deleted one is not found."""
    assert [row.ref for row in packs.search_memory("mem:2")] == ["mem:2"]
    assert [row.ref for row in packs.search_memory("mem:2", path="log")] == []
    packs.forget("mem:2")
    assert [row.ref for row in packs.search_memory("mem:2")] == []


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("What kind of pottery did Nora recently fire in the kiln?", "mem:1"),
        ("Which pottery is Nora currently firing in the kiln?", "mem:1"),
    ],
)
def test_what_is_newest_is_among_what_bears_on_the_query(kit: Any, query: str, first: str) -> None:
    """A later talk that shares a few words does not come before the one that answers, nor between its sentences."""
    packs = kit.packs()
    packs.remember(
        "Nora: I fired my first pottery in the kiln, three stoneware bowls. The glaze of the bowls turned out green.\n"
        "Omar: Lovely! What comes next?\nNora: A tall vase.",
        timestamp="2026-01-10T00:00:00Z",
    )
    for day in range(11, 19):
        packs.remember(
            f"Omar: The pottery shop near the kiln had {day} cups.\nNora: I was at the dentist on that day.\n"
            "Omar: Did it hurt?\nNora: Only a little.",
            timestamp=f"2026-01-{day}T00:00:00Z",
        )
    pack = packs.recall_context(query, max_tokens=400, profile="public", fill="budget")
    assert pack.items[0].id == first
    assert "The glaze of the bowls turned out green." in pack.text
