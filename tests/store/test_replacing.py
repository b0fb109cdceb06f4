"""Records that grow and records that replace others: one id, one text now, and every text in its time."""

from datetime import UTC, datetime
from typing import Any

import pytest

from context_packs.store.errors import NotFound
from context_packs.store.values import Viewer


def test_an_import_again_adds_nothing(kit: Any) -> None:
    """Records with an external id are one record however often they come, whatever path they come with."""
    store = kit.store()
    records = [{"content": f"turn {n}", "external_id": f"chat:{n}", "timestamp": "2026-01-01"} for n in range(5)]
    first = store.remember_many(records, kit.me)
    lines = list(store.export())
    kit.clock.on(days=1)
    again = store.remember_many([{**record, "path": "moved"} for record in records], kit.me)
    assert [one.id for one in again] == [one.id for one in first]
    assert not any(one.created for one in again)
    assert list(store.export()) == lines


def test_grown_content_is_a_new_version_and_the_old_one_stays_in_history(kit: Any) -> None:
    """The same external id with other text: one id, version 2, and as_of still shows version 1."""
    store = kit.store()
    kit.write(store, "Deploy by hand.", external_id="deploy")
    before = kit.clock.now
    kit.clock.on(days=1)
    grown = kit.write(store, "Deploy by pipeline.", external_id="deploy")
    assert (grown.id, grown.created, grown.version) == ("mem:1", False, 2)
    assert kit.find(store, "hand") == []
    assert kit.find(store, "pipeline") == ["mem:1"]
    assert kit.find(store, "hand", as_of=before) == ["mem:1"]
    assert kit.find(store, "pipeline", as_of=before) == []
    record = store.get("mem:1", kit.me)
    assert (record.content, record.version) == ("Deploy by pipeline.", 2)
    assert (record.created_at, record.updated_at) == (before, kit.clock.now)


def test_a_record_replaces_another_and_both_say_so(kit: Any) -> None:
    """A chain of replacements leaves the last one; each link is on both sides; as_of shows each in its time."""
    store = kit.store()
    moments = []
    for n, city in enumerate(("Berlin", "Porto", "Osaka")):
        moments.append(kit.clock.on(days=1))
        kit.write(store, f"The office is in {city}.", **({"supersedes": f"mem:{n}"} if n else {}))
    assert kit.find(store, "office") == ["mem:3"]
    assert [kit.find(store, "office", as_of=moment) for moment in moments] == [["mem:1"], ["mem:2"], ["mem:3"]]
    assert sorted(kit.find(store, "office", history=True)) == ["mem:1", "mem:2", "mem:3"]
    links = [(store.get(f"mem:{n}", kit.me).supersedes, store.get(f"mem:{n}", kit.me).superseded_by) for n in (1, 2, 3)]
    assert links == [(None, "mem:2"), ("mem:1", "mem:3"), ("mem:2", None)]


def test_replaced_facts_follow_the_times_of_the_facts(kit: Any) -> None:
    """Facts written down later but dated earlier replace each other at their own dates."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.", timestamp="2026-01-01")
    kit.write(store, "The office is in Porto.", timestamp="2026-02-01", supersedes="mem:1")
    assert kit.find(store, "office", as_of=datetime(2026, 1, 15, tzinfo=UTC)) == ["mem:1"]
    assert kit.find(store, "office", as_of=datetime(2026, 2, 15, tzinfo=UTC)) == ["mem:2"]
    assert kit.find(store, "office") == ["mem:2"]


def test_a_batch_may_replace_its_own_records(kit: Any) -> None:
    """Within one batch a record can replace an earlier one, and the replaced text is new when it comes again."""
    store = kit.store()
    written = store.remember_many(
        [
            {"content": "The office is in Berlin."},
            {"content": "The office is in Porto.", "supersedes": "mem:1"},
            {"content": "The office is in Berlin.", "supersedes": "mem:2"},
        ],
        kit.me,
    )
    assert [one.id for one in written] == ["mem:1", "mem:2", "mem:3"]
    assert kit.find(store, "office") == ["mem:3"]


def test_a_repetition_still_replaces(kit: Any) -> None:
    """Content that is stored already, given as the successor of another record, takes its place."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.")
    kit.write(store, "The office is in Porto.")
    again = kit.write(store, "The office is in Porto.", supersedes="mem:1")
    assert (again.id, again.created) == ("mem:2", False)
    assert kit.find(store, "office") == ["mem:2"]
    assert store.get("mem:2", kit.me).supersedes == "mem:1"


def test_a_record_never_replaces_itself(kit: Any) -> None:
    """A repetition or a new version that names its own id as replaced stays visible."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.", external_id="office")
    kit.write(store, "The office is in Berlin.", external_id="office", supersedes="mem:1")
    kit.write(store, "The office is in Porto.", external_id="office", supersedes="mem:1")
    assert kit.find(store, "office") == ["mem:1"]
    assert store.get("mem:1", kit.me).superseded_by is None


def test_a_replaced_record_that_grows_stays_replaced(kit: Any) -> None:
    """A late new version of a replaced record does not bring it back, unless it replaces its successor."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.", external_id="office")
    kit.write(store, "The office is in Porto.", supersedes="mem:1")
    kit.write(store, "The office is in Berlin, Mitte.", external_id="office")
    assert kit.find(store, "office") == ["mem:2"]
    kit.write(store, "The office is in Berlin again.", external_id="office", supersedes="mem:2")
    assert kit.find(store, "office") == ["mem:1"]


def test_the_first_to_replace_a_record_did_it(kit: Any) -> None:
    """A second successor changes no history: the record was replaced when it first was."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.")
    kit.clock.on(days=1)
    kit.write(store, "The office is in Porto.", supersedes="mem:1")
    between = kit.clock.on(days=1)
    kit.clock.on(days=1)
    kit.write(store, "The office is in Osaka.", supersedes="mem:1")
    assert store.get("mem:1", kit.me).superseded_by == "mem:2"
    assert kit.find(store, "office", as_of=between) == ["mem:2"]


@pytest.mark.parametrize("target", ["mem:99", "mem:2", "mem:3"], ids=["unknown", "foreign", "deleted"])
def test_what_can_not_be_replaced_is_not_found(kit: Any, target: str) -> None:
    """Unknown, foreign and deleted records cannot be replaced, and nothing of the batch is kept."""
    store = kit.store()
    kit.write(store, "mine")
    store.remember_many([{"content": "theirs"}], Viewer("other"))
    kit.write(store, "gone")
    store.forget(["mem:3"], "soft_delete", kit.me)
    with pytest.raises(NotFound, match=rf"^supersedes: there is no record {target}$") as error:
        store.remember_many([{"content": "new"}, {"content": "newer", "supersedes": target}], kit.me)
    assert error.value.field == "supersedes"
    assert store.stats(kit.me)["records"] == 1


def test_a_record_can_not_replace_itself(kit: Any) -> None:
    """The id that it is about to get stands for nothing yet, alone and in a batch; nothing is written."""
    store = kit.store()
    for batch, ref in (
        ([{"content": "x", "supersedes": "mem:1"}], "mem:1"),
        ([{"content": "x"}, {"content": "y", "supersedes": "mem:2"}], "mem:2"),
        ([{"content": "x", "supersedes": "mem:2"}, {"content": "y"}], "mem:2"),
        ([{"content": "x", "supersedes": "ep:1", "kind": "episode"}], "ep:1"),
    ):
        with pytest.raises(NotFound, match=f"^supersedes: there is no record {ref}$"):
            store.remember_many(batch, kit.me)
        assert list(store.export()) == []
    assert kit.write(store, "x").id == "mem:1"
