"""Records of the bucket `temporary`: without the right to see them they do not exist, for writes either."""

from typing import Any

import pytest

from context_packs.store.errors import Conflict, Gone, NotFound
from context_packs.store.values import Viewer

LASTING = Viewer("planner", (), False)


def test_a_repetition_does_not_tell_of_a_record_out_of_sight(kit: Any) -> None:
    """The same text in the same place, or the same external id, is a new record for who may not see the old one."""
    store = kit.store()
    old = kit.write(store, "The gate code changed.", bucket="temporary", external_id="gate")
    plain = kit.write(store, "The gate is green.", bucket="temporary")
    assert (old.id, plain.id) == ("mem:1", "mem:2")
    again = store.remember_many(
        [
            {"content": "The gate is green.", "bucket": "temporary"},
            {"content": "The gate code changed.", "external_id": "gate"},
            {"content": "The gate code changed twice.", "external_id": "gate"},
        ],
        LASTING,
    )
    assert [(one.id, one.created, one.version) for one in again] == [
        ("mem:3", True, 1),
        ("mem:4", True, 1),
        ("mem:4", False, 2),  # a new version of what it may see
    ]
    assert store.get("mem:1", kit.me).content == "The gate code changed."
    assert kit.write(store, "The gate is green.", bucket="temporary").id == "mem:2"


def test_a_deleted_record_out_of_sight_blocks_nothing(kit: Any) -> None:
    """What was forgotten is told to nobody who could not see it."""
    store = kit.store()
    one = kit.write(store, "The gate code changed.", bucket="temporary", external_id="gate").id
    store.forget([one], "hard_delete", kit.me)
    (written,) = store.remember_many([{"content": "New.", "external_id": "gate"}], LASTING)
    assert (written.id, written.created, written.notes) == ("mem:2", True, ())


def test_an_idempotency_key_still_answers_whoever_used_it(kit: Any) -> None:
    """A request that comes once more writes nothing twice, also where its record cannot be read back."""
    store = kit.store()
    line = {"content": "Half done.", "bucket": "temporary", "idempotency_key": "k1"}
    first, second = store.remember_many([line], LASTING)[0], store.remember_many([line], LASTING)[0]
    assert (first.id, first.created, second.id, second.created) == ("mem:1", True, "mem:1", False)
    with pytest.raises(Conflict) as error:
        store.remember_many([{**line, "content": "Something else."}], LASTING)
    assert error.value.field == "idempotency_key"
    assert store.remember_many([line], Viewer("other"))[0].id == "mem:2"


@pytest.mark.parametrize("state", ["live", "soft_delete", "hard_delete", "expired"])
def test_nothing_can_be_done_to_a_record_out_of_sight(kit: Any, state: str) -> None:
    """Get, forget and supersede answer as for an id that never was, whatever became of the record."""
    store = kit.store()
    expires = {"expires_at": kit.clock.now.replace(hour=13)} if state == "expired" else {}
    one = kit.write(store, "The gate code changed.", bucket="temporary", **expires).id
    if state.endswith("_delete"):
        store.forget([one], state, kit.me)
    kit.clock.on(hours=2)
    told = set()
    for ref in (one, "mem:77"):
        for act in (
            lambda ref=ref: store.get(ref, LASTING),
            lambda ref=ref: store.forget([ref], "soft_delete", LASTING),
            lambda ref=ref: store.forget([ref], "hard_delete", LASTING),
        ):
            with pytest.raises(NotFound) as error:
                act()
            assert type(error.value) is NotFound
            told.add(str(error.value).replace(ref, "ID"))
        assert store.fetch([ref], LASTING) == {}
        with pytest.raises(NotFound) as error:
            store.remember_many([{"content": "Newer.", "supersedes": ref}], LASTING)
        told.add(str(error.value).replace(ref, "ID"))
    assert told == {"id: there is no record ID", "supersedes: there is no record ID"}
    if state == "soft_delete":
        with pytest.raises(Gone):
            store.get(one, kit.me)


def test_a_record_that_moved_follows_its_newest_version(kit: Any) -> None:
    """A version that stands in another bucket decides; the old one shows where the past is asked for."""
    store = kit.store()
    early = kit.clock.now
    kit.write(store, "The draft of the plan.", bucket="temporary", external_id="plan")
    kit.clock.on(days=1)
    kit.write(store, "The plan as it was agreed.", external_id="plan")
    packs = kit.packs().seen_by(LASTING)
    assert packs.get("mem:1").content == "The plan as it was agreed."
    assert [row.content for row in packs.recall("plan")] == ["The plan as it was agreed."]
    assert len(packs.recall("draft of the plan", as_of=early.isoformat())) == 0
    assert [line["content"] for line in packs.export_lines()] == ["The plan as it was agreed."]


def test_no_record_names_another_that_is_out_of_sight(kit: Any) -> None:
    """What replaced a record, or what it replaced, is named only to whom it may be: not a temporary one without the
    right, not another agent's own one to a member of the team."""
    store = kit.store()
    member, both = Viewer("scout", ("red",)), Viewer("planner", ("red",))
    kit.write(store, "The office is in Berlin.", team_id="red")
    kit.write(store, "The office is in Porto.", supersedes="mem:1")
    kit.write(store, "The gate is green.")
    kit.write(store, "The gate is blue.", supersedes="mem:3", bucket="temporary")
    kit.write(store, "The gate is red.", supersedes="mem:4", team_id="red")
    kit.write(store, "The gate is black.", supersedes="mem:5", team_id="red")

    def links(viewer: Viewer) -> list[tuple[str, str | None, str | None]]:
        found = store.fetch([f"mem:{n}" for n in range(1, 7)], viewer)
        return [(one.id, one.supersedes, one.superseded_by) for one in found.values()]

    assert links(kit.me) == links(both) == [
        ("mem:1", None, "mem:2"), ("mem:2", "mem:1", None), ("mem:3", None, "mem:4"), ("mem:4", "mem:3", "mem:5"),
        ("mem:5", "mem:4", "mem:6"), ("mem:6", "mem:5", None),
    ]  # fmt: skip
    assert links(LASTING) == [
        ("mem:1", None, "mem:2"), ("mem:2", "mem:1", None), ("mem:3", None, None), ("mem:5", None, "mem:6"),
        ("mem:6", "mem:5", None),
    ]  # fmt: skip
    assert links(member) == [("mem:1", None, None), ("mem:5", None, "mem:6"), ("mem:6", "mem:5", None)]


def test_one_store_serves_several_viewers(kit: Any) -> None:
    """`seen_by` looks with other eyes at the same store, and closing it closes nothing of the others."""
    packs = kit.packs()
    packs.remember("The planner's note.")
    other = packs.seen_by(Viewer("scout"))
    other.remember("The scout's note.")
    assert [row.content for row in other.search_memory("*")] == ["The scout's note."]
    other.close()
    assert [row.content for row in packs.search_memory("*")] == ["The planner's note."]
    assert other.viewer == Viewer("scout") and packs.viewer == Viewer("planner")
