"""A record that was replaced stands again once what replaced it has ended, in every read."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from context_packs.packer import ContextPacks
from context_packs.store.duckstore import DuckStore
from context_packs.store.values import Filters

MODES = ["soft_delete", "hard_delete", "redact"]


def standing(kit: Any, store: DuckStore, text: str = "office", **filters: Any) -> list[str]:
    """What a search, a restore and a listing show; all three must agree on records that say something."""
    found = sorted(kit.find(store, text, **filters))
    listed = store.newest(Filters(**filters), kit.me, 50)
    assert sorted(listed.records) == sorted(item.id for item in store.restore(Filters(**filters), kit.me, 50, 50).items)
    assert sorted(listed.records) == found
    return found


def chain(kit: Any, store: DuckStore, cities: int, **fields: Any) -> None:
    """Records mem:1, mem:2, … a day apart, each of which replaces the one before."""
    for n in range(cities):
        kit.clock.on(days=1)
        link = {"supersedes": f"mem:{n}"} if n else {}
        kit.write(store, f"The office is in city number{n}.", **link, **fields)


@pytest.mark.parametrize("mode", MODES)
def test_what_a_forgotten_record_replaced_stands_again(kit: Any, mode: str) -> None:
    """In search, restore, list and get, now and in history, and in a copy; the same text is a repetition again."""
    store = kit.store()
    chain(kit, store, 2)
    then = kit.clock.now
    assert standing(kit, store) == ["mem:2"]
    assert store.get("mem:1", kit.me).superseded_by == "mem:2"
    kit.clock.on(days=1)
    store.forget(["mem:2"], mode, kit.me)
    copy = kit.store(kit.folder / "copy.duckdb")
    copy.import_lines([json.loads(json.dumps(line)) for line in store.export()], kit.me)
    assert list(copy.export()) == list(store.export())
    for one in (store, copy):
        assert standing(kit, one) == ["mem:1"]
        assert kit.find(one, "number0", as_of=then) == ["mem:1"]
        assert one.get("mem:1", kit.me).superseded_by is None
        again = kit.write(one, "The office is in city number0.")
        assert (again.id, again.created) == ("mem:1", False)
    assert kit.write(store, "The office is elsewhere.", supersedes="mem:1").id == "mem:3"
    assert standing(kit, store) == ["mem:3"]


@pytest.mark.parametrize(
    ("forgotten", "stands"),
    [([3], "mem:2"), ([2], "mem:3"), ([3, 2], "mem:1"), ([2, 3], "mem:1"), ([1, 2], "mem:3"), ([1, 3], "mem:2")],
    ids=str,
)
@pytest.mark.parametrize("mode", MODES)
def test_of_a_chain_the_last_that_is_left_stands(kit: Any, mode: str, forgotten: list[int], stands: str) -> None:
    """Whichever records of a chain are forgotten, in whatever order: one stands, the last of the others."""
    store = kit.store(":memory:")
    chain(kit, store, 3)
    for n in forgotten:
        store.forget([f"mem:{n}"], mode, kit.me)
    assert standing(kit, store) == [stands]


def test_what_an_expired_record_replaced_stands_again(kit: Any) -> None:
    """From the moment at which the successor ends, several links back too; a file that is kept open notices it."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.")
    kit.write(store, "The office is in Porto.", supersedes="mem:1", expires_at=kit.clock.now + timedelta(days=3))
    kit.write(store, "The office is in Osaka.", supersedes="mem:2", expires_at=kit.clock.now + timedelta(days=1))
    for _ in range(6):
        assert standing(kit, store) == ["mem:3"]
    during = kit.clock.now
    kit.clock.on(days=2)
    for _ in range(6):
        assert standing(kit, store) == ["mem:2"]
    kit.clock.on(days=2)
    assert standing(kit, store) == ["mem:1"]
    assert kit.find(store, "office", as_of=during) == ["mem:3"]
    assert store.get("mem:1", kit.me).superseded_by is None


def test_an_expiry_that_is_moved_moves_what_stands(kit: Any) -> None:
    """A successor that gets another expiry gives way then, one that loses it never."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.")
    kit.write(store, "The office is in Porto.", supersedes="mem:1")
    store.revise("mem:2", {"expires_at": kit.clock.now + timedelta(days=1)}, kit.me)
    kit.clock.on(hours=23)
    assert standing(kit, store) == ["mem:2"]
    store.revise("mem:2", {"expires_at": kit.clock.now + timedelta(days=9)}, kit.me)
    kit.clock.on(days=2)
    assert standing(kit, store) == ["mem:2"]
    kit.clock.on(days=8)
    assert standing(kit, store) == ["mem:1"]


def test_a_second_successor_keeps_a_record_out(kit: Any) -> None:
    """Of two that replaced one record the other is enough."""
    store = kit.store(":memory:")
    kit.write(store, "The office is in Berlin.")
    kit.write(store, "The office is in Porto.", supersedes="mem:1")
    kit.write(store, "The office is in Osaka.", supersedes="mem:1")
    store.forget(["mem:2"], "hard_delete", kit.me)
    assert standing(kit, store) == ["mem:3"]
    store.forget(["mem:3"], "soft_delete", kit.me)
    assert standing(kit, store) == ["mem:1"]


@pytest.mark.parametrize("mode", MODES)
def test_by_its_semantic_key_the_former_record_stands_again(kit: Any, mode: str) -> None:
    """What was said last about a key and is not forgotten is what is found under it, and replaced next."""
    packs: ContextPacks = kit.packs()
    for city in ("Berlin", "Porto", "Osaka"):
        packs.remember(f"The office is in {city}.", semantic_key="office")
    packs.forget("mem:3", mode)
    assert [row.ref for row in packs.newest(semantic_key="office")] == ["mem:2"]
    packs.remember("The office is in Oslo.", semantic_key="office")
    assert [row.ref for row in packs.newest(semantic_key="office")] == ["mem:4"]
    assert packs.get("mem:2").superseded_by == "mem:4"
    assert packs.get("mem:1").superseded_by == "mem:2"


def test_a_long_line_of_states_that_expire(kit: Any) -> None:
    """Hundreds of states, each valid for an hour: none comes back but the note that has no end."""
    store = kit.store(":memory:")
    kit.write(store, "The office is in Berlin.", semantic_key="office")
    for n in range(120):
        kit.clock.on(minutes=10)
        end = kit.clock.now + timedelta(hours=1)
        kit.write(store, f"The office moves, van number{n}.", semantic_key="office", expires_at=end)
    assert standing(kit, store) == ["mem:121"]
    kit.clock.on(hours=2)
    assert standing(kit, store) == ["mem:1"]


@pytest.mark.parametrize("year", [2027, 2030, 9999])
def test_what_is_dated_in_the_future_is_kept_and_said(kit: Any, year: int) -> None:
    """It is ranked by the time of writing, and replaces another record only from its date on."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.")
    kit.clock.on(days=1)
    written = kit.write(store, "The office is in Porto.", timestamp=f"{year}-01-01T00:00:00Z", supersedes="mem:1")
    assert written.notes == ("is dated in the future; ranked by the time of writing; replaces from its date on",)
    kit.clock.on(days=1)
    kit.write(store, "The office has a garden.")
    assert standing(kit, store) == ["mem:1", "mem:2", "mem:3"]
    order = ["mem:3", "mem:2", "mem:1"]
    assert list(store.newest(Filters(), kit.me, 9).records) == order
    assert [item.id for item in store.restore(Filters(), kit.me, 9, 9).items] == order
    in_time = Filters(time_order="desc", order_by="created_at")
    assert list(store.newest(in_time, kit.me, 9).records) == order
    assert list(store.candidates("office", in_time, kit.me, 9, 9).records) == order
    assert store.get("mem:1", kit.me).superseded_by is None
    assert store.get("mem:2", kit.me).created_at.year == year
    kit.clock.now = datetime(year, 1, 2, tzinfo=kit.clock.now.tzinfo)
    assert standing(kit, store) == ["mem:2", "mem:3"]
    assert store.get("mem:1", kit.me).superseded_by == "mem:2"
    copy = kit.store(kit.folder / "copy.duckdb")
    copy.import_lines(list(store.export()), kit.me)
    assert list(copy.export()) == list(store.export())


def test_a_store_of_an_earlier_schema_gets_its_records_back(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was hidden behind forgotten and expired successors stands again after the migration."""
    store = kit.store()
    chain(kit, store, 3)
    store.forget(["mem:3"], "hard_delete", kit.me)
    store.forget(["mem:2"], "redact", kit.me)
    kit.write(store, "The garden is closed.")
    kit.write(store, "The garden is open.", supersedes="mem:4", expires_at=kit.clock.now + timedelta(days=1))
    kit.write(store, "The gate is shut.")
    kit.write(store, "The gate is open.", supersedes="mem:6")
    lines = list(store.export())
    kit.age(store, 5, monkeypatch)
    kit.clock.on(days=2)
    old = kit.store()
    assert list(old.export()) == lines
    assert [kit.find(old, text) for text in ("office", "garden", "gate")] == [["mem:1"], ["mem:4"], ["mem:7"]]


def test_an_export_of_an_earlier_version_brings_them_back_too(kit: Any) -> None:
    """Lines without the newer fields say enough, in whatever batches they come."""
    store = kit.store()
    chain(kit, store, 3)
    store.forget(["mem:3"], "soft_delete", kit.me)
    lines = [
        {name: value for name, value in line.items() if name not in ("superseded_until", "superseded_from")}
        for line in store.export()
    ]
    for batches in ([lines], [[line] for line in lines], [[line] for line in reversed(lines)]):
        copy = kit.store(":memory:")
        for batch in batches:
            copy.import_lines(batch, kit.me)
        assert standing(kit, copy) == ["mem:2"]
