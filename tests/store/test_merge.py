"""The index is sorted in short steps: whatever happens between them, nothing is lost, doubled or left behind."""

from typing import Any

import pytest

from context_packs.store.duckstore import DuckStore
from context_packs.store.memory import postings


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings, "MERGE_ROWS", 7)


def rows_of(store: DuckStore) -> list[Any]:
    """All postings by record, whatever table and order they stand in."""
    with store.duck.reading() as session:
        return session.rows(
            "SELECT r.key, r.version, p.pas - p.vid, p.term, p.tf, p.len FROM postings p JOIN records r USING (vid) "
            "ORDER BY ALL"
        )


def step(store: DuckStore) -> bool:
    """One step of a merge of all there is."""
    with store.duck.writing() as session:
        return postings.merge_step(session, all_of_it=True)


def state(store: DuckStore) -> dict[str, str]:
    """What the file says of its index."""
    with store.duck.reading() as session:
        return dict(session.rows("SELECT name, value FROM meta WHERE name IN ('merging', 'sorted_postings')"))


def test_a_merge_that_is_broken_off_goes_on_and_loses_nothing(kit: Any) -> None:
    """Between any two steps the file is closed, written, and records of it are erased; searches always answer."""
    store, other = kit.store(), kit.store(":memory:")
    for one in (store, other):
        one.remember_many([{"content": f"zebra number{n} of the herd number{n + 1}"} for n in range(30)], kit.me)
    steps = 0
    while step(store):
        steps += 1
        store.close()
        store = kit.store()
        for one in (store, other):
            if steps < 6:
                kit.write(one, f"A late zebra, number{100 + steps}.")
            if steps in (2, 4):
                one.forget([f"mem:{steps}"], "hard_delete", kit.me)
                one.forget([f"mem:{30 + steps}"], "redact", kit.me)
        assert kit.find(store, f"late number{100 + min(steps, 5)}")
        assert len(kit.find(store, "zebra")) == len(kit.find(other, "zebra"))
    assert steps >= 4
    assert rows_of(store) == rows_of(other)
    assert "merging" not in state(store)
    with store.duck.reading() as session:
        front = session.rows("SELECT term, pas FROM postings LIMIT $n", {"n": int(state(store)["sorted_postings"])})
        assert front == sorted(front)
        assert session.rows("FROM merged") == []
    store.merge()
    assert rows_of(store) == rows_of(other)
    assert int(state(store)["sorted_postings"]) == len(rows_of(store))


def test_each_write_takes_a_step_of_a_merge_that_is_due(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long tail is sorted along the way, by writes of every kind, and no write sorts all of it at once."""
    store = kit.store()
    monkeypatch.setattr(postings, "TAIL_ROWS", 100)
    store.remember_many([{"content": f"zebra number{n} of the herd"} for n in range(60)], kit.me)
    assert "merging" in state(store)
    seen = []
    for n in range(40):
        store.revise("mem:1", {"metadata": {"n": n}}, kit.me)
        seen.append(state(store).get("merging"))
        if seen[-1] is None:
            break
    assert seen[-1] is None
    assert len(seen) >= 3
    assert len(kit.find(store, "zebra", take=100)) >= 1


def test_an_import_sorts_the_index_at_its_end(kit: Any) -> None:
    """Also where another merge had been begun by somebody else."""
    store = kit.store()
    store.remember_many([{"content": f"zebra number{n}"} for n in range(30)], kit.me)
    assert step(store)
    store.remember_many([{"content": f"lion number{n}"} for n in range(30)], kit.me)
    store.merge()
    assert int(state(store)["sorted_postings"]) == len(rows_of(store))
