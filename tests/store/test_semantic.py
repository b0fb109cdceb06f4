"""What a record is about: a semantic key replaces what the same agent said about it before in the same place."""

from pathlib import Path
from typing import Any

import pytest

from context_packs.store.errors import Conflict, InvalidField
from context_packs.store.values import Viewer


def test_a_later_record_about_the_same_thing_stands_alone(kit: Any) -> None:
    """Of two records with one semantic key only the later is found; the former is read by its id and knows its heir."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.", semantic_key="office")
    kit.clock.on(days=1)
    kit.write(store, "The office is in Porto.", semantic_key="office", path="moved")
    assert kit.find(store, "office") == ["mem:2"]
    assert sorted(kit.find(store, "office", history=True)) == ["mem:1", "mem:2"]
    assert store.get("mem:1", kit.me).superseded_by == "mem:2"
    assert store.get("mem:2", kit.me).supersedes == "mem:1"


@pytest.mark.parametrize(
    "place", [{"bucket": "other"}, {"scope": "other"}, {"team_id": "red"}, {"agent_id": "reviewer"}]
)
def test_a_key_counts_within_its_place_only(kit: Any, place: dict[str, str]) -> None:
    """The same key in another bucket, scope or team, or of another agent, replaces nothing."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.", semantic_key="office")
    kit.write(store, "The office is in Porto.", semantic_key="office", **place)
    assert store.get("mem:1", kit.me).superseded_by is None


def test_within_one_batch_the_last_one_stands(kit: Any) -> None:
    """Three records of one batch with one key: the third stands, each of the others names its heir."""
    store = kit.store()
    lines = [{"content": f"The office is in {city}.", "semantic_key": "office"} for city in ("Berlin", "Porto", "Rome")]
    store.import_lines(lines, kit.me)
    assert kit.find(store, "office") == ["mem:3"]
    assert [store.get(one, kit.me).superseded_by for one in ("mem:1", "mem:2")] == ["mem:2", "mem:3"]


def test_the_same_text_about_the_same_thing_is_stored_once(kit: Any) -> None:
    """The same text with its key again adds nothing; back after another text it is a record of its own."""
    store = kit.store()
    written = [
        kit.write(store, f"The office is in {city}.", semantic_key="office") for city in ("Berlin", "Berlin", "Porto")
    ]
    back = kit.write(store, "The office is in Berlin.", semantic_key="office")
    assert [(one.id, one.created) for one in written] == [("mem:1", True), ("mem:1", False), ("mem:2", True)]
    assert (back.id, back.created) == ("mem:3", True)
    assert kit.find(store, "office") == ["mem:3"]


def test_a_text_that_is_there_takes_the_key_and_replaces_what_stood(kit: Any) -> None:
    """A key that comes with a text stored without one: that record replaces the former of the key, and has it now."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.", semantic_key="office")
    kit.write(store, "The office is in Porto.")
    same = kit.write(store, "The office is in Porto.", semantic_key="office")
    assert (same.id, same.created) == ("mem:2", False)
    assert kit.find(store, "office") == ["mem:2"]
    kit.write(store, "The office is in Rome.", semantic_key="office")
    assert kit.find(store, "office") == ["mem:3"]


def test_a_request_that_comes_late_once_more_replaces_nothing(kit: Any) -> None:
    """A write repeated under its idempotency key answers with what it made and leaves what came since."""
    store = kit.store()
    first = {"semantic_key": "office", "idempotency_key": "a"}
    kit.write(store, "The office is in Berlin.", **first)
    kit.write(store, "The office is in Porto.", semantic_key="office", idempotency_key="b")
    again = kit.write(store, "The office is in Berlin.", **first)
    assert (again.id, again.created) == ("mem:1", False)
    assert kit.find(store, "office") == ["mem:2"]
    with pytest.raises(Conflict, match=r"^idempotency_key: "):
        kit.write(store, "The office is in Rome.", **first)


def test_keys_come_through_an_export(kit: Any, tmp_path: Path) -> None:
    """Export and import into an empty store: the key still replaces there."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.", semantic_key="office")
    other = kit.store(tmp_path / "other.duckdb")
    other.import_lines(store.export(), kit.me)
    kit.write(other, "The office is in Porto.", semantic_key="office")
    assert kit.find(other, "office") == ["mem:2"]
    assert [line.get("semantic_key") for line in other.export()] == ["office", "office"]


def test_without_dedupe_the_same_text_is_stored_again(kit: Any) -> None:
    """dedupe false: the same text in the same place is another record; its idempotency key still counts."""
    store = kit.store()
    same = {"dedupe": False, "idempotency_key": "one"}
    ids = [
        kit.write(store, "Tests passed.", **fields).id for fields in ({"dedupe": False}, {"dedupe": False}, same, same)
    ]
    assert ids == ["mem:1", "mem:2", "mem:3", "mem:3"]


def test_what_is_completed_may_come_again(kit: Any) -> None:
    """A text whose record is completed is new work, not a repetition."""
    store = kit.store()
    assert kit.write(store, "Water the plants.", status="completed").id == "mem:1"
    assert kit.write(store, "Water the plants.", status="open").id == "mem:2"
    assert kit.write(store, "Water the plants.", status="open").id == "mem:2"


def test_importance_confidence_and_provenance_are_kept(kit: Any) -> None:
    """Importance and confidence stand in the metadata, provenance in the source, whose own fields win."""
    store = kit.store()
    kit.write(
        store,
        "The office is in Berlin.",
        importance=0.75,
        confidence=1,
        metadata={"by": "hand"},
        provenance={"run": "r1", "name": "run"},
        source="editor",
    )
    record = store.get("mem:1", kit.me)
    assert record.metadata == {"by": "hand", "importance": 0.75, "confidence": 1}
    assert record.source == {"run": "r1", "name": "editor"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("importance", 1.5),
        ("importance", True),
        ("confidence", "high"),
        ("confidence", float("nan")),
        ("provenance", "me"),
    ],
)
def test_what_is_out_of_range_is_named(kit: Any, field: str, value: object) -> None:
    """A number outside 0 to 1, or a provenance that is no object, is refused by name."""
    with pytest.raises(InvalidField, match=f"^{field}: ") as caught:
        kit.write(kit.store(), "The office is in Berlin.", **{field: value})
    assert caught.value.field == field


def test_somebody_elses_key_is_not_touched(kit: Any) -> None:
    """An agent of the same team with the same key replaces nothing of mine."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.", semantic_key="office", team_id="red")
    other = Viewer("reviewer", ("red",))
    store.remember_many([{"content": "The office is in Porto.", "semantic_key": "office", "team_id": "red"}], other)
    assert store.get("mem:1", kit.me).superseded_by is None
