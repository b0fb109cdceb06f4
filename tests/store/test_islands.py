"""Ids that come from far away: kept exactly, never given out again, and no hindrance for what comes later."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_packs.store.duckstore import DuckStore
from context_packs.store.file.duck import query
from context_packs.store.maintenance.salvage import Salvaged, salvage
from context_packs.store.memory.numbers import FAR, Numbers
from context_packs.store.values import Viewer

FAR_AWAY = [999_999_999_999_999, 10**15, 10**16 - 1, 10**9 + 3]


def copied(store: DuckStore, copy: DuckStore, me: Viewer) -> None:
    """Export → JSON → import, and the same lines again."""
    lines = [json.loads(json.dumps(line)) for line in store.export()]
    copy.import_lines(lines, me)
    assert [json.loads(json.dumps(line)) for line in copy.export()] == lines


@pytest.mark.parametrize("n", FAR_AWAY)
@pytest.mark.parametrize(("kind", "prefix"), [("memory", "mem"), ("episode", "ep")])
def test_an_id_from_far_away_moves_nothing(kit: Any, kind: str, prefix: str, n: int) -> None:
    """The next id of its kind is the one that it would have been, and what is exported then is imported elsewhere."""
    store = kit.store(":memory:")
    kit.write(store, "here", kind=kind)
    store.import_lines([{"id": f"{prefix}:{n}", "kind": kind, "content": "from far away"}], kit.me)
    assert kit.write(store, "later", kind=kind).id == f"{prefix}:2"
    assert store.get(f"{prefix}:{n}", kit.me).content == "from far away"
    copy = kit.store(kit.folder / "copy.duckdb")
    copied(store, copy, kit.me)
    assert kit.write(copy, "later still", kind=kind).id == f"{prefix}:3"


def test_a_long_run_of_far_ids_is_one_island(kit: Any) -> None:
    """Thousands of ids of a store that counted far cost one row, gaps included."""
    store = kit.store(":memory:")
    store.import_lines([{"id": f"mem:{10**15 + 3 * n}", "content": f"line {n}"} for n in range(1500)], kit.me)
    with store.duck.reading() as session:
        islands = session.rows("SELECT name, next_value FROM counters WHERE name LIKE 'island:%'")
    assert islands == [(f"island:memory:{10**15}", 10**15 + 4498)]
    assert kit.write(store, "new").id == "mem:1"


def test_numbers_pass_over_an_island(kit: Any) -> None:
    """A count that reaches an island goes on behind it."""
    store = kit.store(":memory:")
    store.import_lines(
        [{"id": f"mem:{FAR + 10}", "content": "far"}, {"id": f"mem:{FAR + 11}", "content": "next"}], kit.me
    )
    store.import_lines([{"id": f"mem:{FAR + 9}", "content": "near the end"}], kit.me)
    store.import_lines([{"id": f"mem:{FAR // 2}", "content": "half way"}], kit.me)
    store.import_lines([{"id": f"mem:{FAR + 8}", "content": "nearer"}], kit.me)
    written = [kit.write(store, f"new {n}").id for n in range(3)]
    assert written == [f"mem:{FAR + 12}", f"mem:{FAR + 13}", f"mem:{FAR + 14}"]


def test_a_store_that_counts_beyond_fifteen_digits_is_exported_and_imported(kit: Any) -> None:
    """Stores whose numbers were pushed up by an earlier version come back with their ids."""
    store = kit.store()
    with store.duck.writing() as session:
        numbers = Numbers(session)
        for kind in ("memory", "episode", "thread", "worker", "trigger"):
            numbers.at_least(kind, 1)
        session.run("UPDATE counters SET next_value = 1000000000000000 WHERE name <> 'passage'")
    assert kit.write(store, "one").id == "mem:1000000000000000"
    assert kit.write(store, "two", kind="episode").id == "ep:1000000000000000"
    copied(store, kit.store(kit.folder / "copy.duckdb"), kit.me)


def test_events_of_a_store_that_counts_far_keep_their_order(kit: Any) -> None:
    """Threads and triggers are known by names: their numbers begin anew in a copy, and new events come last."""
    packs = kit.packs()
    packs.threads.create(thread_id="thr_a", summary="a thread")
    with packs.store.duck.writing() as session:
        session.run("UPDATE counters SET next_value = 1000000000000000 WHERE name = 'trigger'")
    for n in range(3):
        packs.threads.add_trigger(thread_id="thr_a", source="chat", payload=f"event {n}", trigger_id=f"trg_e{n}")
    copy = kit.packs(path=kit.folder / "copy.duckdb")
    copy.import_lines(packs.export_lines())
    copy.threads.add_trigger(thread_id="thr_a", source="chat", payload="event 3", trigger_id="trg_e3")
    assert [one.id for one in copy.threads.events("thr_a").events] == ["trg_e0", "trg_e1", "trg_e2", "trg_e3"]


@pytest.mark.parametrize(
    ("history", "around"),
    [
        ([3, [10**9 + 4], 1], "export"),
        ([3, [10**9 + 4], 2, [10**9 + 2], 1], "salvage"),
        ([1, [10**9 + 20, 10**9 + 10], 30], "export"),
        ([1, [10**15 + 5], [10**15 + 3], [10**15], 4], "export"),
        ([2, [3 * 10**9], [10**9], 2, [2 * 10**9 - 1], 1], "export"),
        ([[10**9, 2 * 10**9 - 1], [10**9 - 1], 5, [3 * 10**9], 2], "export"),
    ],
)
def test_a_copy_goes_on_with_the_same_ids(kit: Any, history: list[Any], around: str) -> None:
    """Whatever the order in which far ids came and others were given out, the copy counts as the store does; both are
    sound."""
    store, copy = kit.store(":memory:" if around == "export" else None), kit.store(":memory:")
    for step in history:
        if isinstance(step, int):
            store.remember_many([{"content": f"{step} {n} {kit.clock.on(hours=1)}"} for n in range(step)], kit.me)
        else:
            store.import_lines([{"id": f"mem:{n}", "content": f"from far away {n}"} for n in step], kit.me)
    lines = list(store.export()) if around == "export" else list(salvage(str(kit.path), Salvaged()))
    copy.import_lines([json.loads(json.dumps(line)) for line in lines], kit.me)
    assert list(copy.export()) == list(store.export())
    later = [{"content": f"later {n}"} for n in range(40)]
    given_out = [one.id for one in store.remember_many(later, kit.me)]
    assert [one.id for one in copy.remember_many(later, kit.me)] == given_out
    with store.duck.reading() as session:
        assert session.rows(query("unlike")) == []


def test_a_count_pushed_up_by_an_earlier_version_goes_on_in_a_copy(kit: Any) -> None:
    """Numbers that were counted are no island, however far they lie from the ones before."""
    store, copy = kit.store(), kit.store(kit.folder / "copy.duckdb")
    kit.write(store, "one")
    with store.duck.writing() as session:
        session.run("UPDATE counters SET next_value = 1000000000000000 WHERE name = 'memory'")
    kit.write(store, "two")
    copied(store, copy, kit.me)
    assert kit.write(copy, "three").id == kit.write(store, "three").id == "mem:1000000000000001"


@settings(max_examples=15)
@given(st.lists(st.integers(1, 10**16 - 1), min_size=1, max_size=8, unique=True), st.integers(0, 3))
def test_any_ids_come_back_and_are_never_given_again(numbers: list[int], more: int) -> None:
    """Whatever ids a store holds, its export imports, and new ids differ from all of them."""
    store, copy, me = DuckStore(":memory:"), DuckStore(":memory:"), Viewer("planner")
    store.import_lines([{"id": f"mem:{n}", "content": f"record {n}"} for n in numbers], me)
    written = [one.id for one in store.remember_many([{"content": f"new {n}"} for n in range(more)], me)]
    assert len({*written, *(f"mem:{n}" for n in numbers)}) == len(numbers) + more
    copied(store, copy, me)
    store.close()
    copy.close()
