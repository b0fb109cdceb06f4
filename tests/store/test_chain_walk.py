"""Recalls that find threads, workers and triggers and follow their links."""

from typing import Any

import pytest

from context_packs.packer import ContextPacks
from context_packs.store.errors import InvalidField


def incident(kit: Any) -> ContextPacks:
    """A thread whose line says little, a worker whose report cites the event with the cause, and unrelated memories."""
    packs: ContextPacks = kit.packs()
    packs.threads.create("Checkout incident of March", thread_id="thr_checkout")
    packs.threads.add_trigger("thr_checkout", "pager", trigger_id="trg_page", summary="Alarm at nine")
    log = "".join(f"step {n} finished\n" for n in range(400)) + "ConnectionReset by upstream quokka\n"
    packs.threads.add_trigger("thr_checkout", "ci", trigger_id="trg_log", summary="Job log attached", payload=log)
    packs.threads.create_worker("Analyse the alarm", ["thr_checkout"], worker_id="wkr_sre")
    packs.threads.report("wkr_sre", "An upstream reset its connections.", ["trg_log"])
    packs.remember("The bakery opens at seven.", path="town")
    return packs


def test_causes_inside_payloads_are_found(kit: Any) -> None:
    """A word deep in a payload finds its trigger, and the pack shows the line that holds it."""
    packs = incident(kit)
    pack = packs.recall_context("who reset the connection, quokka?", max_tokens=200)
    assert pack.items[0].id == "trg_log"
    assert "ConnectionReset by upstream quokka" in pack.text


def test_links_are_followed_for_a_stated_number_of_hops(kit: Any) -> None:
    """Thread, then worker and its events, then what those rest on: nearest first, each with the id that led there."""
    packs = incident(kit)
    found = [
        [(i.id, i.reason) for i in packs.recall_context("checkout march", hops=n, max_tokens=9000).items]
        for n in range(4)
    ]
    near = [
        ("wkr_sre", "link from thr_checkout"),
        ("trg_log", "link from thr_checkout"),
        ("trg_page", "link from thr_checkout"),
    ]
    ids = {one for one, _ in found[0]}
    assert "thr_checkout" in ids and "mem:1" not in ids
    assert [one for one in found[1] if one[1]] == [one for one in near if one[0] not in ids]
    assert found[2] == found[1] == found[3]
    plan = packs.recall_context("checkout march", hops=1).retrieval_plan
    assert (plan["hops"], plan["reached"]) == (1, 4 - len(ids))
    assert "hops" not in packs.recall_context("checkout march").retrieval_plan


def test_a_walk_uses_only_what_each_answer_says(kit: Any) -> None:
    """Three exact fetches from an item of a pack: its links name the worker, whose report cites the trigger."""
    packs = incident(kit)
    item = next(item for item in packs.recall_context("checkout march").items if item.type == "thread")
    worker = packs.threads.get_worker(next(one for one in item.links if one.startswith("wkr_")))
    assert worker.report == "An upstream reset its connections."
    trigger = packs.threads.get_trigger(worker.cites[0])
    assert packs.threads.payload(trigger.id).body.endswith(b"ConnectionReset by upstream quokka\n")


def test_items_name_the_ids_to_walk_further(kit: Any) -> None:
    """A thread names its workers and newest events, a worker its threads and what it cites, a trigger its thread; a
    memory what it was linked with, and otherwise nothing."""
    packs = incident(kit)
    packs.threads.link("mem:1", "trg_page", "recalls")
    pack = packs.recall_context("checkout alarm job log analyse bakery", max_items=50, max_tokens=9000)
    links = {item.id: item.links for item in pack.items}
    assert links["thr_checkout"] == ["wkr_sre", "trg_log", "trg_page"]
    assert links["wkr_sre"] == ["thr_checkout", "trg_log"]
    assert links["trg_log"] == ["thr_checkout", "wkr_sre"]
    assert links["trg_page"] == ["thr_checkout", "mem:1"]
    assert links["mem:1"] == ["trg_page"]


def test_hops_stay_inside_budget_filters_and_sight(kit: Any) -> None:
    """What links lead to obeys the ceilings, the filters, the lists of what the caller has, and visibility."""
    packs = incident(kit)
    small = packs.recall_context("checkout march", hops=3, max_items=2, max_tokens=300)
    assert small.budget.used_tokens <= 300 and len(small.items) <= 2
    assert {item.id for item in small.items} | {decision.id for decision in small.decisions} == {
        "thr_checkout", "wkr_sre", "trg_log", "trg_page",
    }  # fmt: skip
    for fields in ({"memory_type": "thread"}, {"exclude_ids": ["wkr_sre", "trg_log", "trg_page"]}):
        assert [item.id for item in packs.recall_context("checkout march", hops=3, **fields).items] == ["thr_checkout"]
    had = packs.recall_context("checkout march", hops=3, exclude_contents=["Alarm at nine"])
    assert "trg_page" not in {item.id for item in had.items}
    packs.forget("trg_log")
    assert "trg_log" not in {item.id for item in packs.recall_context("checkout march", hops=3).items}
    assert kit.packs("other").recall_context("checkout march", hops=3).items == []


def test_hops_show_a_team_what_it_may_see(kit: Any) -> None:
    """From a team's thread a member reaches the team's worker, never the private notes that its owner linked."""
    packs = kit.packs("planner", "red")
    packs.threads.create("Budget round", thread_id="thr_b", team_id="red")
    packs.threads.create_worker("Collect numbers", ["thr_b"], worker_id="wkr_b")
    packs.remember("My own salary wish.", path="private")
    packs.threads.link("thr_b", "mem:1", "note")
    mine = packs.recall_context("budget round", hops=2)
    assert [item.id for item in mine.items] == ["thr_b", "mem:1", "wkr_b"]
    theirs = kit.packs("mate", "red").recall_context("budget round", hops=2)
    assert [(item.id, item.links) for item in theirs.items] == [("thr_b", ["wkr_b"]), ("wkr_b", ["thr_b"])]
    assert kit.packs("mate", "red").threads.get("thr_b").links == ()


def test_the_order_of_a_walk_is_fixed(kit: Any) -> None:
    """The same request gives the same bytes, and a walk of fifty neighbours ends."""
    packs = kit.packs()
    packs.threads.create("hub of the wheel", thread_id="thr_round", path="yard")
    for n in range(60):
        packs.threads.add_trigger("thr_round", "ci", summary=f"spoke number {n} of {n * 7}")
    first, second = (packs.recall_context("hub wheel", hops=3, max_items=50, max_tokens=12000) for _ in range(2))
    assert first.model_dump_json() == second.model_dump_json()
    assert [item.id for item in first.items][:3] == ["thr_round", "trg_003c", "trg_003b"]
    assert first.retrieval_plan["reached"] == 8


def test_a_restore_shows_threads_not_their_events(kit: Any) -> None:
    """Open threads and running workers come as open work; events come by their thread, or where asked for by type."""
    packs = incident(kit)
    packs.threads.create_worker("Write the report", ["thr_checkout"], worker_id="wkr_running")
    packs.threads.create("An old matter", thread_id="thr_old", status="closed")
    reasons = {item.id: item.reason for item in packs.recall_context("").items}
    assert reasons == {
        "thr_checkout": "open", "wkr_running": "open", "wkr_sre": "recent", "thr_old": "recent", "mem:1": "recent",
    }  # fmt: skip
    assert {item.id for item in packs.recall_context("", memory_type="trigger").items} == {"trg_page", "trg_log"}
    assert packs.recall_context("", hops=1, max_items=50).items[-1].reason.startswith("link from ")


@pytest.mark.parametrize("hops", [-1, 4, True, "1", 1.0, None])
def test_hops_have_a_range(kit: Any, hops: object) -> None:
    """0 to 3, a whole number and nothing else."""
    with pytest.raises(InvalidField, match=r"^hops: "):
        kit.packs().recall_context("x", hops=hops)
