"""A new version of a record: its id stays, what is not named stays, the text before stays in its time."""

from typing import Any

import pytest

from context_packs.store.errors import Conflict, Gone, InvalidField, NotFound
from context_packs.store.values import Viewer


def test_a_change_is_version_two_of_the_same_record(kit: Any) -> None:
    """New content under the same id: found by its new words only, the old ones in their time."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.", path="facts", metadata={"a": 1}, pinned=True)
    before = kit.clock.now
    kit.clock.on(days=1)
    written = store.revise("mem:1", {"content": "The office is in Porto.", "title": "Office"}, kit.me)
    assert (written.id, written.version, written.created, written.updated) == ("mem:1", 2, False, True)
    record = store.get("mem:1", kit.me)
    assert (record.content, record.title, record.version) == ("The office is in Porto.", "Office", 2)
    assert (record.path, record.pinned, record.metadata) == ("facts", True, {"a": 1})
    assert (record.created_at, record.updated_at) == (before, kit.clock.now)
    assert kit.find(store, "Berlin") == []
    assert kit.find(store, "Porto") == ["mem:1"]
    assert kit.find(store, "Berlin", as_of=before) == ["mem:1"]
    assert [line["version"] for line in store.export()] == [1, 2]


def test_every_field_can_be_changed(kit: Any) -> None:
    """Path, type, bucket, scope, team, status, source, pinned, expiry and importance, each as it was given."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.", expires_at="2027-01-01")
    changes = {
        "path": "a/b",
        "type": "fact",
        "bucket": "work",
        "scope": "team",
        "team_id": "red",
        "status": "open",
        "source": {"name": "editor"},
        "pinned": True,
        "expires_at": None,
        "importance": 0.5,
    }
    store.revise("mem:1", changes, kit.me)
    record = store.get("mem:1", kit.me)
    assert (record.path, record.type, record.bucket, record.scope) == ("a/b", "fact", "work", "team")
    assert (record.team_id, record.status, record.source) == ("red", "open", {"name": "editor"})
    assert (record.pinned, record.expires_at, record.metadata) == (True, None, {"importance": 0.5})


def test_metadata_is_merged_unless_it_shall_take_the_place(kit: Any) -> None:
    """Given entries stand over the stored ones and None takes one out; without merge only the given ones are left."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.", metadata={"a": 1, "b": 2})
    store.revise("mem:1", {"metadata": {"b": None, "c": 3}}, kit.me)
    assert store.get("mem:1", kit.me).metadata == {"a": 1, "c": 3}
    store.revise("mem:1", {"metadata": {"d": 4}}, kit.me, merge=False)
    assert store.get("mem:1", kit.me).metadata == {"d": 4}


def test_nothing_changed_is_no_version(kit: Any) -> None:
    """What stands there already is not written again."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.", type="fact", metadata={"a": 1})
    same = {"content": "The office is in Berlin.", "type": "fact", "metadata": {"a": 1}, "status": "active"}
    assert store.revise("mem:1", same, kit.me).updated is False
    assert store.revise("mem:1", {}, kit.me).version == 1


def test_a_change_that_comes_again_is_made_once(kit: Any) -> None:
    """The same idempotency key answers with the version it made, also after later ones; with other content it is a
    conflict."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.")
    porto = {"content": "The office is in Porto."}
    assert store.revise("mem:1", porto, kit.me, replay="k").version == 2
    store.revise("mem:1", {"content": "The office is in Rome."}, kit.me)
    assert store.revise("mem:1", porto, kit.me, replay="k").version == 2
    assert store.get("mem:1", kit.me).content == "The office is in Rome."
    with pytest.raises(Conflict, match=r"^idempotency_key: "):
        store.revise("mem:1", {"content": "The office is in Lyon."}, kit.me, replay="k")


def test_a_replaced_record_stays_replaced(kit: Any) -> None:
    """A new version of a superseded record is superseded too."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.")
    kit.write(store, "The office is in Porto.", supersedes="mem:1")
    store.revise("mem:1", {"title": "Then"}, kit.me)
    assert store.get("mem:1", kit.me).superseded_by == "mem:2"
    assert kit.find(store, "office") == ["mem:2"]


def test_only_the_owner_changes_a_record(kit: Any) -> None:
    """For everybody else, a team that reads it too, the record is not there."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.", team_id="red")
    for other in (Viewer("reviewer"), Viewer("reviewer", ("red",))):
        with pytest.raises(NotFound, match=r"^id: there is no record mem:1$"):
            store.revise("mem:1", {"content": "Mine now."}, other)
    with pytest.raises(NotFound, match=r"^id: there is no record mem:9$"):
        store.revise("mem:9", {"content": "Mine now."}, kit.me)
    assert store.get("mem:1", kit.me).content == "The office is in Berlin."


def test_temporary_records_need_their_right(kit: Any) -> None:
    """Without the right to temporary records the owner does not change one."""
    store = kit.store()
    kit.write(store, "For today.", bucket="temporary")
    with pytest.raises(NotFound):
        store.revise("mem:1", {"content": "For good."}, Viewer("planner", temporary=False))


def test_what_is_gone_stays_gone(kit: Any) -> None:
    """A deleted record is gone, a redacted one stays redacted, an expired one is not found."""
    store = kit.store()
    for mode in ("soft_delete", "redact"):
        kit.write(store, f"forgotten by {mode}")
    kit.write(store, "for an hour", expires_at=kit.clock.now.timestamp() + 3600)
    store.forget(["mem:1"], "soft_delete", kit.me)
    store.forget(["mem:2"], "redact", kit.me)
    kit.clock.on(hours=2)
    for one, error in (("mem:1", Gone), ("mem:2", Conflict), ("mem:3", NotFound)):
        with pytest.raises(error):
            store.revise(one, {"content": "back again"}, kit.me)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"content": " "}, "content"),
        ({"id": "mem:7"}, "id"),
        ({"agent_id": "reviewer"}, "agent_id"),
        ({"path": "a|b"}, "path"),
        ({"expires_at": "soon"}, "expires_at"),
        ({"confidence": 2}, "confidence"),
    ],
)
def test_a_fault_is_named(kit: Any, changes: dict[str, object], field: str) -> None:
    """What cannot be changed or is malformed is refused by its name, and nothing is written."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.")
    with pytest.raises(InvalidField, match=f"^{field}: ") as caught:
        store.revise("mem:1", changes, kit.me)
    assert caught.value.field == field
    assert store.get("mem:1", kit.me).version == 1


def test_lone_surrogates_are_repaired(kit: Any) -> None:
    """A text that has no UTF-8 form is repaired, as on every way in."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.")
    store.revise("mem:1", {"content": "office \ud800 東京", "title": "\udfff"}, kit.me)
    assert store.get("mem:1", kit.me).content == "office \ufffd 東京"
