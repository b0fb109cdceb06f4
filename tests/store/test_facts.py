"""`source` and `metadata` together are at most 32 KiB when they are written, on every way in; what is stored stays."""

import json
from typing import Any

import pytest

from context_packs.packer import ContextPacks, work
from context_packs.store.errors import InvalidField

MOST = 32_768


def facts(size: int, letter: str = "x") -> dict[str, str]:
    """An object of exactly so many bytes as JSON."""
    room = size - len('{"note":""}')
    return {"note": letter * (room // len(letter.encode()))}


def refused(act: Any, field: str) -> str:
    with pytest.raises(InvalidField) as caught:
        act()
    assert caught.value.field == field
    return str(caught.value)


def test_the_limit_holds_to_the_byte(kit: Any) -> None:
    """32 KiB go in and one byte more does not; the message names the field, the size and the way out."""
    packs = kit.packs()
    assert packs.remember("a", metadata=facts(MOST)).created
    assert packs.remember("b", source=facts(MOST)).created
    assert packs.remember("c", source=facts(MOST // 2), metadata=facts(MOST // 2)).created
    assert refused(lambda: packs.remember("d", metadata=facts(MOST + 1)), "metadata") == (
        "metadata: source and metadata are 32769 bytes as JSON, above 32768: shorten it, or put the text into content"
    )
    refused(lambda: packs.remember("e", source=facts(MOST + 1)), "source")
    refused(lambda: packs.remember("f", source=facts(MOST // 2), metadata=facts(MOST // 2 + 1)), "metadata")
    assert packs.stats()["records"] == 3


def test_bytes_are_counted_not_characters(kit: Any) -> None:
    """Japanese takes three bytes a character, however JSON writes it down."""
    packs = kit.packs()
    assert packs.remember("a", metadata={"note": "記" * 10_900}).created
    refused(lambda: packs.remember("b", metadata={"note": "記" * 11_000}), "metadata")


def test_provenance_and_numbers_count_where_they_are_kept(kit: Any) -> None:
    """What is folded into source and metadata counts there."""
    packs = kit.packs()
    refused(lambda: packs.remember("a", provenance=facts(MOST + 1)), "provenance")
    refused(lambda: packs.remember("b", source=facts(MOST - 20), provenance={"host": "x" * 30}), "source")


def test_a_revision_is_measured_as_it_would_stand(kit: Any) -> None:
    """Small pieces do not add up to more than the limit; a revision of something else is not held back."""
    packs = kit.packs()
    ref = packs.remember("a", metadata=facts(MOST - 100)).id
    refused(lambda: packs.revise(ref, metadata={"more": "x" * 100}), "metadata")
    refused(lambda: packs.revise(ref, source=facts(200)), "metadata")
    assert packs.revise(ref, title="New").updated
    assert packs.revise(ref, metadata={"small": 1}, merge=False).updated


def test_the_chain_has_the_same_limit(kit: Any) -> None:
    """The source of a trigger is one; task and report of a worker have limits of their own and are kept whole."""
    packs = kit.packs()
    packs.threads.create("T", thread_id="thr_t")
    refused(lambda: packs.threads.add_trigger("thr_t", facts(MOST + 1), payload="x"), "source")
    packs.threads.create_worker("t" * 40_000, ["thr_t"], worker_id="wkr_w")
    packs.threads.report("wkr_w", "r" * 1_000_000)
    assert len(packs.threads.get_worker("wkr_w").report) == 1_000_000
    refused(lambda: packs.threads.report("wkr_w", "r" * 1_000_001), "report")
    refused(lambda: packs.threads.report("wkr_w", "r", [f"mem:{n}" for n in range(1, 1002)]), "cites")
    refused(lambda: packs.threads.create("s" * 501), "summary")
    refused(lambda: packs.threads.link("thr_t", "wkr_w", "r" * 65), "rel")


def test_work_under_way_names_its_own_fields(kit: Any) -> None:
    """What these calls keep in metadata is refused under the name that the caller knows."""
    packs = kit.packs()
    long = "x" * 30_000
    assert work.save_state(packs, "a", long).created
    refused(lambda: work.save_state(packs, "a", "short", parts={"next_action": long}), "next_action")
    refused(lambda: work.save_state(packs, "a", long, parts={"next_action": "go"}), "content")
    refused(lambda: work.record_event(packs, "a", session_id="s" * 513), "session_id")
    refused(lambda: work.record_event(packs, "a", place={"metadata": facts(MOST)}), "metadata")
    refused(lambda: work.add_reminder(packs, "a", session_id="s" * 513), "session_id")
    ref = work.add_reminder(packs, "a").id
    refused(lambda: work.complete_reminder(packs, ref, "n" * 4_001), "note")
    refused(lambda: work.mark_used(packs, ref, metadata=facts(MOST)), "metadata")
    refused(lambda: work.take_snapshot(packs, label="l" * 513), "label")


def test_a_snapshot_holds_what_it_brings_back(kit: Any) -> None:
    """It may take more than other metadata, up to a mebibyte; above that it says what to ask for less of."""
    packs = kit.packs()
    work.save_state(packs, "active_task", "s" * 100_000)
    snapshot = packs.get(work.take_snapshot(packs).id)
    assert len(work.held_of(snapshot)["active_state"]["content"]) == 100_000
    work.save_state(packs, "active_task", "s" * 1_100_000)
    assert refused(lambda: work.take_snapshot(packs), "limits").startswith("limits: the snapshot is 1100")
    refused(lambda: packs.remember("a", type="restart_snapshot", metadata=facts(2**20 + 1)), "metadata")


def test_a_source_is_told_by_a_short_name(kit: Any) -> None:
    """However long the name in it is: an event is one line."""
    packs = kit.packs()
    packs.threads.create("T", thread_id="thr_t")
    packs.threads.add_trigger("thr_t", {"name": "n" * 20_000}, payload="x", trigger_id="trg_t")
    assert packs.threads.get_trigger("trg_t").source == "n" * 512


def test_a_conversation_has_a_limit(kit: Any) -> None:
    """It is refused under the name that the caller gave it."""
    packs = kit.packs()
    refused(lambda: packs.recall_with_context("a", ["x"] * 10_001), "external_context")
    refused(lambda: packs.recall_with_context("a", ["x" * 2_000_001] * 2), "external_context")


def older(kit: Any, size: int, **fields: Any) -> ContextPacks:
    """A store of a version without the limit: a record whose source is so large."""
    packs: ContextPacks = kit.packs()
    packs.remember("The harbour opens at six.", metadata={"a": 1}, **fields)
    with packs.store.duck.writing() as session:
        session.run("UPDATE records SET source = $source", {"source": json.dumps({"name": "old", **facts(size)})})
    return packs


def test_what_an_older_store_holds_is_exported_imported_and_revised(kit: Any) -> None:
    """Lines with ids keep what is there, so that a copy is the same store; new records have the limit."""
    packs = older(kit, 100_000)
    lines = list(packs.export_lines())
    copy = kit.packs(path=kit.folder / "copy.duckdb")
    copy.import_lines(lines)
    assert list(copy.export_lines()) == lines
    assert copy.revise("mem:1", title="New").updated
    assert len(copy.get("mem:1").source["note"]) > 99_000
    refused(lambda: copy.revise("mem:1", metadata={"b": 2}), "source")
    new = {name: value for name, value in lines[0].items() if name in ("content", "source")}
    refused(lambda: copy.import_lines([{**new, "content": "another"}]), "source")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("query", "x" * 1_000_001),
        ("path", "x" * 4_097),
        ("memory_type", "x" * 4_097),
        ("source", "x" * 4_097),
        ("exclude_contents", ["x"] * 10_001),
        ("exclude_contents", ["x" * 2_000_001] * 2),
        ("exclude_ids", ["mem:1"] * 10_001),
        ("hypothetical_answer", "x" * 1_000_001),
    ],
)
def test_a_request_has_limits_too(kit: Any, field: str, value: Any) -> None:
    """Each is refused by name, before the store is asked."""
    packs = kit.packs()
    refused(lambda: packs.recall_context(**{"query": "a", field: value}), field)
