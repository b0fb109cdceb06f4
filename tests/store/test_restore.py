"""What a session starts with when it asks for nothing."""

from datetime import timedelta
from typing import Any

from context_packs.store.duckstore import DuckStore
from context_packs.store.values import Filters


def restored(kit: Any, store: DuckStore, depth: int = 100, take: int = 50, **filters: Any) -> list[tuple[str, str]]:
    found = store.restore(Filters(**filters), kit.me, depth, take)
    return [(item.id, item.reason) for item in found.items]


def test_an_empty_store_restores_nothing(kit: Any) -> None:
    """Nothing to start with is a possible answer, and blames no filter."""
    found = kit.store().restore(Filters(), kit.me, 100, 50)
    assert (found.items, found.hits) == ((), ())
    assert found.plan["mode"] == "restore"
    assert "empty_filter" not in found.plan


def test_pinned_comes_first_then_open_work_decisions_and_recent_in_turn(kit: Any) -> None:
    """All that is pinned, then one of each group after the other, newest first within a group."""
    store = kit.store()
    fields: list[tuple[str, dict[str, Any]]] = [
        ("Old remark about apples.", {}),
        ("Old decision about bread.", {"type": "decision"}),
        ("Old task about cheese.", {"status": "open"}),
        ("Old pin about dates.", {"pinned": True}),
        ("New remark about eggs.", {}),
        ("New decision about figs.", {"type": "decision"}),
        ("New task about grapes.", {"status": "in_progress"}),
        ("New pin about honey.", {"pinned": True, "type": "decision"}),
    ]
    for content, more in fields:
        kit.clock.on(hours=1)
        kit.write(store, content, **more)
    assert restored(kit, store) == [
        ("mem:8", "pinned"),
        ("mem:4", "pinned"),
        ("mem:7", "open"),
        ("mem:6", "decision"),
        ("mem:5", "recent"),
        ("mem:3", "open"),
        ("mem:2", "decision"),
        ("mem:1", "recent"),
    ]


def test_every_word_for_unfinished_work_is_open(kit: Any) -> None:
    """open, in_progress, blocked, waiting and todo are open work; active and done are not."""
    store = kit.store()
    for status in ("open", "in_progress", "blocked", "waiting", "todo", "active", "done"):
        kit.write(store, f"Status word: {status}", status=status)
    reasons = dict(restored(kit, store))
    assert [reasons[f"mem:{n}"] for n in range(1, 8)] == ["open"] * 5 + ["recent"] * 2


def test_a_busy_path_does_not_take_all_places(kit: Any) -> None:
    """Each group goes round its paths: one record of each, the newest, before a second one of any."""
    store = kit.store()
    for n in range(6):
        kit.clock.on(hours=1)
        kit.write(store, f"Busy line number {n}.", path="busy")
    kit.write(store, "The quiet one.", path="quiet", timestamp=kit.clock.now - timedelta(days=30))
    kit.write(store, "A silent one.", path="silent", timestamp=kit.clock.now - timedelta(days=60))
    assert [one for one, _ in restored(kit, store)][:4] == ["mem:6", "mem:7", "mem:8", "mem:5"]


def test_a_restore_is_the_same_each_time(kit: Any) -> None:
    """Equal times are ordered by id, newest first; twice and after re-opening the answer is the same, whole."""
    store = kit.store()
    store.remember_many([{"content": f"Line {n} of many.", "path": f"p{n % 3}"} for n in range(30)], kit.me)
    first = store.restore(Filters(), kit.me, 100, 8)
    assert [item.id for item in first.items][:6] == ["mem:30", "mem:29", "mem:28", "mem:27", "mem:26", "mem:25"]
    assert store.restore(Filters(), kit.me, 100, 8) == first
    kit.close()
    assert kit.store(mode="shared").restore(Filters(), kit.me, 100, 8) == first


def test_depth_and_take_limit_a_restore(kit: Any) -> None:
    """`depth` records are ranked, `take` come whole, and only passages of those are offered."""
    store = kit.store()
    store.remember_many([{"content": f"{chr(97 + n) * 6} stands in line."} for n in range(20)], kit.me)
    found = store.restore(Filters(), kit.me, 10, 3)
    assert len(found.items) == 10
    assert list(found.records) == ["mem:20", "mem:19", "mem:18"]
    assert {hit.id for hit in found.hits} == set(found.records)


def test_a_long_record_shows_its_beginning_first(kit: Any) -> None:
    """Every record offers its beginning before any offers more; an episode then its end, which is its state."""
    store = kit.store()
    kit.write(store, " ".join(f"Sentence number {n} of the long note." for n in range(60)), path="a")
    turns = "\n".join(f"user: question number {n}, with some more words in it" for n in range(60))
    kit.write(store, turns, kind="episode", path="b")
    kit.write(store, "Short.", path="c")
    found = store.restore(Filters(), kit.me, 100, 50)
    order = [(hit.id, hit.ordinal) for hit in found.hits]
    first_of_each = [order.index((one, 0)) for one in ("mem:1", "ep:1", "mem:2")]
    last = len(found.records["ep:1"].passages) - 1
    assert max(first_of_each) < order.index(("ep:1", last))
    assert ("mem:1", len(found.records["mem:1"].passages) - 1) not in order
    assert len(order) == len(set(order)) < 60


def test_filters_hold_in_a_restore(kit: Any) -> None:
    """A restore of one project brings nothing of another, however fresh."""
    store = kit.store()
    kit.write(store, "Project A is about apples.", scope="a", path="x")
    kit.clock.on(hours=1)
    kit.write(store, "Project B is about bread.", scope="b", path="x", pinned=True)
    assert restored(kit, store, scope="a") == [("mem:1", "recent")]
    assert restored(kit, store, exclude_ids=("mem:2",)) == [("mem:1", "recent")]
    assert restored(kit, store, since=kit.clock.now) == [("mem:2", "pinned")]
