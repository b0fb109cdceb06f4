"""Ids, and the one object on one file: what is written is found, what was handed out never comes again."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.store.errors import Conflict, Gone, InvalidField, NotFound, StoreUnavailable
from context_packs.store.records import format_id, id_of, key_of, number_of, parse_id
from context_packs.store.values import Viewer

MALFORMED = (
    "", " ", "mem", "mem:", "mem:0", "mem:01", "mem:-1", "mem:+1", "mem: 1", "mem:1 ", " mem:1", "mem:1\n", "MEM:1",
    "mem:1.0", "mem:1e3", "mem:１", "mem:٣", "mem:1;ep:1", "1", "ep:x", "ep:0", "note:1", "mem:12345678901234567",
    "\ud800", "mem:\x001", None, 1, 1.0, True, b"mem:1", ["mem:1"],
)  # fmt: skip


def test_ids_count_from_one_for_each_kind(kit: Any) -> None:
    """The first memory is mem:1, the first episode ep:1, and each kind counts on by itself."""
    store = kit.store()
    written = store.remember_many(
        [
            {"content": "a fact"},
            {"content": "a session", "kind": "episode"},
            {"content": "another fact"},
            {"content": "another session", "kind": "episode"},
        ],
        kit.me,
    )
    assert [one.id for one in written] == ["mem:1", "ep:1", "mem:2", "ep:2"]
    assert [store.get(one.id, kit.me).kind for one in written] == ["memory", "episode", "memory", "episode"]


@pytest.mark.parametrize("mode", ["soft_delete", "hard_delete"])
def test_a_deleted_id_never_comes_again(kit: Any, mode: str) -> None:
    """After deletion and re-opening the next record takes the next number, not the free one."""
    store = kit.store()
    kit.write(store, "first")
    assert kit.write(store, "second").id == "mem:2"
    store.forget(["mem:2"], mode, kit.me)
    kit.close()
    store = kit.store()
    assert kit.write(store, "third").id == "mem:3"
    with pytest.raises(Gone):
        store.get("mem:2", kit.me)


def test_a_failed_write_leaves_nothing_and_gives_no_id_twice(kit: Any) -> None:
    """A batch that fails is not kept; ids that were answered stay with their records."""
    store = kit.store()
    kit.write(store, "kept", idempotency_key="k")
    with pytest.raises(Conflict):
        store.remember_many([{"content": "new"}, {"content": "other", "idempotency_key": "k"}], kit.me)
    assert store.stats(kit.me)["records"] == 1
    assert kit.write(store, "next").id == "mem:2"
    assert [line["content"] for line in store.export()] == ["kept", "next"]


def test_ids_go_on_behind_a_gap_of_an_import(kit: Any) -> None:
    """After an import of mem:7 alone the next memory is mem:8; episodes are not touched."""
    store = kit.store()
    store.import_lines([{"id": "mem:7", "content": "from elsewhere"}], kit.me)
    assert kit.write(store, "here").id == "mem:8"
    assert kit.write(store, "a session", kind="episode").id == "ep:1"


def test_an_import_can_not_use_the_numbers_up(kit: Any) -> None:
    """An id from far away is kept exactly and moves no number; what has more than 16 digits is no id."""
    store = kit.store()
    kit.write(store, "first")
    with pytest.raises(InvalidField, match=r"^id: 'mem:10000000000000000' is not an id like mem:1") as error:
        store.import_lines([{"id": "mem:10000000000000000", "content": "x"}], kit.me)
    assert error.value.field == "id"
    store.import_lines([{"id": "mem:9999999999999999", "content": "x"}], kit.me)
    assert kit.write(store, "after").id == "mem:2"
    assert store.get("mem:9999999999999999", kit.me).content == "x"


@pytest.mark.parametrize("text", MALFORMED, ids=ascii)
def test_ids_are_parsed_strictly(kit: Any, text: Any) -> None:
    """Anything that is not exactly an id is malformed: never the nearest one, never a crash."""
    assert parse_id(text) is None
    store = kit.store(":memory:")
    kit.write(store, "the only record")
    with pytest.raises(InvalidField) as error:
        store.get(text, kit.me)
    assert error.value.field == "id"
    with pytest.raises(InvalidField):
        store.forget([text], "soft_delete", kit.me)
    assert store.fetch([text], kit.me) == {}
    assert store.stats(kit.me)["records"] == 1


@given(st.sampled_from(["memory", "episode"]), st.integers(1, 10**16 - 1))
def test_ids_and_keys_stand_for_each_other(kind: str, n: int) -> None:
    """Id → kind and number → key → id is the identity over the whole range, and keys fit into 64 bits."""
    one = format_id(kind, n)
    assert parse_id(one) == (kind, n)
    assert id_of(key_of(kind, n)) == one
    assert number_of(key_of(kind, n)) == n
    assert key_of(kind, n) < 2**63


def test_an_id_survives_every_change(kit: Any) -> None:
    """A record that grows, is replaced, expires or moves keeps its id and stays readable under it."""
    store = kit.store()
    kit.write(store, "Office: Berlin", external_id="office", path="facts")
    kit.clock.on(hours=1)
    assert kit.write(store, "Office: Berlin, second floor", external_id="office", path="facts/moved").id == "mem:1"
    kit.write(store, "Office: Porto", supersedes="mem:1")
    assert store.get("mem:1", kit.me).content == "Office: Berlin, second floor"
    assert store.get("mem:1", kit.me).superseded_by == "mem:2"


def test_a_missing_and_a_foreign_id_answer_alike(kit: Any) -> None:
    """What is not there and what is somebody else's differ in nothing but the id asked for."""
    store = kit.store()
    kit.write(store, "mine")
    other = Viewer("somebody else")
    answers = []
    for one, viewer in (("mem:1", other), ("mem:2", kit.me)):
        for act in (lambda: store.get(one, viewer), lambda: store.forget([one], "hard_delete", viewer)):  # noqa: B023
            with pytest.raises(NotFound) as error:
                act()
            assert type(error.value) is NotFound
            answers.append(str(error.value).replace(one, "ID"))
    assert set(answers) == {"id: there is no record ID"}
    assert store.get("mem:1", kit.me).content == "mine"


@pytest.mark.parametrize("mode", ["shared", "exclusive"])
def test_a_written_record_is_found_by_the_next_query(kit: Any, mode: Any) -> None:
    """Every write is found at once, each id once, in both ways of holding the file."""
    store = kit.store(mode=mode)
    for n in range(8):
        one = kit.write(store, f"The courier number {n} brought parcel zq{n}x.")
        assert kit.find(store, f"zq{n}x") == [one.id]
        found = kit.find(store, "courier")
        assert sorted(found) == sorted(set(found))
        assert one.id in found


def test_a_closed_store_says_so(kit: Any) -> None:
    """Closing twice is harmless; working after it is refused with the way out."""
    for mode in ("shared", "exclusive"):
        store = kit.store(mode=mode)
        store.close()
        store.close()
        with pytest.raises(StoreUnavailable, match=r"^the store is closed: open it again$"):
            store.stats(kit.me)


def test_the_write_path_can_be_probed(kit: Any) -> None:
    """A probe writes for real and takes it back."""
    store = kit.store()
    kit.write(store, "a record")
    before = list(store.export())
    for _ in range(3):
        store.probe()
    assert list(store.export()) == before
    assert kit.write(store, "another record").id == "mem:2"


def test_stats_count_what_the_viewer_sees(kit: Any) -> None:
    """Records by kind, type, scope, bucket and team, of the viewer alone."""
    store = kit.store()
    kit.write(store, "A decision was made.", type="decision", bucket="work")
    kit.write(store, "A session took place.", kind="episode", team_id="red")
    store.remember_many([{"content": "somebody else's"}], Viewer("other"))
    stats = store.stats(kit.me)
    assert stats["records"] == 2
    assert stats["kinds"] == {"memory": 1, "episode": 1}
    assert stats["types"] == {"decision": 1, "episode": 1}
    assert stats["buckets"] == {"default": 1, "work": 1}
    assert stats["teams"] == {"red": 1}
    assert stats["bytes"] > 0
