"""Export and its way back: the same store, ids included, and nothing twice."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_packs.store.duckstore import DuckStore
from context_packs.store.errors import Conflict, Gone, InvalidField
from context_packs.store.records import LEFT_OUT
from context_packs.store.values import Filters, Viewer


def full(kit: Any) -> DuckStore:
    """A store with every kind of record, link, version and tombstone, of two agents."""
    store: DuckStore = kit.store()
    kit.write(store, "A plain fact.")
    kit.write(
        store,
        "A decision, with everything.\nSecond line. 東京。\x00 👨‍👩‍👧‍👦",
        title="All of it",
        path="memory-os/decisions",
        type="decision",
        bucket="work",
        scope="team",
        team_id="red",
        status="open",
        source={"name": "chat", "turn": 3},
        metadata={"tags": ["a", {"b": None}], "n": 1.5},
        timestamp="2025-12-24T18:00:00.123456+01:00",
        external_id="ext-1",
        idempotency_key="key-1",
        expires_at=kit.clock.now + timedelta(days=30),
        pinned=True,
    )
    kit.write(store, "user: hello\nassistant: hi", kind="episode", external_id="session")
    kit.clock.on(hours=1)
    kit.write(store, "user: hello\nassistant: hi\nuser: more", kind="episode", external_id="session")
    kit.write(store, "The office is in Berlin.")
    kit.clock.on(hours=1)
    kit.write(store, "The office is in Porto.", supersedes="mem:3")
    kit.write(store, "Long gone.", expires_at="2026-02-01")
    for text in ("softly", "firmly", "blackened"):
        kit.write(store, f"This was {text} forgotten.", external_id=text)
    kit.clock.on(hours=1)
    for one, mode in (("mem:6", "soft_delete"), ("mem:7", "hard_delete"), ("mem:8", "redact")):
        store.forget([one], mode, kit.me)
    store.remember_many([{"content": "Somebody else's fact.", "supersedes": None}], Viewer("other"))
    kit.write(store, "The last one, deleted.")
    store.forget(["mem:10"], "hard_delete", kit.me)
    return store


def dump(store: DuckStore) -> list[str]:
    """Everything in the tables but where it stands, in order."""
    with store.duck.reading() as session:
        rows = session.rows("SELECT * EXCLUDE (vid) FROM records ORDER BY key, version")
        terms = session.rows(
            "SELECT r.key, r.version, p.pas - p.vid, p.term, p.tf, p.len "
            "FROM postings p JOIN records r USING (vid) ORDER BY ALL"
        )
        counters = session.rows("SELECT * FROM counters WHERE name <> 'passage' ORDER BY name")
    return [*map(repr, rows), *map(repr, terms), *map(repr, counters)]


def test_an_export_comes_back_as_the_same_store(kit: Any) -> None:
    """Through JSON into an empty store: ids, versions, times, links, tombstones, index and counters are equal."""
    store = full(kit)
    lines = [json.loads(json.dumps(line, ensure_ascii=False)) for line in store.export()]
    kit.clock.on(days=5)
    copy = kit.store(kit.folder / "copy.duckdb")
    written = copy.import_lines(lines, kit.me)
    assert [one.id for one in written] == [line["id"] for line in lines]
    assert all(one.created for one in written)
    assert list(copy.export()) == list(store.export())
    assert dump(copy) == dump(store)


def test_both_stores_answer_alike(kit: Any) -> None:
    """Searches, history, restores and single records agree; deleted ids are gone in both; the next id is the same."""
    store = full(kit)
    copy = kit.store(kit.folder / "copy.duckdb")
    copy.import_lines(store.export(), kit.me)
    for filters in (Filters(), Filters(history=True), Filters(as_of=kit.clock.now - timedelta(hours=2))):
        for text in ("office", "decision everything", "hello", "forgotten"):
            assert copy.candidates(text, filters, kit.me, 100, 50) == store.candidates(text, filters, kit.me, 100, 50)
        assert copy.restore(filters, kit.me, 100, 50) == store.restore(filters, kit.me, 100, 50)
    for one in ("mem:6", "mem:7", "mem:10"):
        with pytest.raises(Gone):
            copy.get(one, kit.me)
    assert kit.write(copy, "new").id == kit.write(store, "new").id == "mem:11"
    assert kit.write(copy, "new", kind="episode").id == kit.write(store, "new", kind="episode").id == "ep:2"


def test_the_callers_ids_still_work_after_an_import(kit: Any) -> None:
    """External ids, idempotency keys and content are recognised in the copy, tombstones included."""
    store = full(kit)
    copy = kit.store(kit.folder / "copy.duckdb")
    copy.import_lines(store.export(), kit.me)
    for fields in (
        {"content": "A plain fact."},
        {"content": "user: hello\nassistant: hi\nuser: more", "kind": "episode", "external_id": "session"},
        {"content": "This was firmly forgotten.", "external_id": "firmly"},
    ):
        assert copy.remember_many([fields], kit.me)[0].created is False
    with pytest.raises(Conflict):
        kit.write(copy, "other content", idempotency_key="key-1")


def test_an_import_again_adds_nothing(kit: Any) -> None:
    """The same export twice, and an export into its own store, change no byte of what is stored."""
    store = full(kit)
    lines = list(store.export())
    before = dump(store)
    written = store.import_lines(lines, kit.me)
    assert not any(one.created for one in written)
    assert dump(store) == before


def test_an_export_of_one_agent_holds_its_own_records_only(kit: Any) -> None:
    """Of one agent all that is its own and nothing of others; of everybody everything."""
    store = full(kit)
    assert {line["agent_id"] for line in store.export(kit.me)} == {"planner"}
    assert [line["content"] for line in store.export(Viewer("other"))] == ["Somebody else's fact."]
    assert len(list(store.export())) == len(list(store.export(kit.me))) + 1


def test_an_export_keeps_versions_in_order(kit: Any) -> None:
    """A line per version, oldest first, each with the time in which it stood."""
    store = full(kit)
    first, second = (line for line in store.export() if line["id"] == "ep:1")
    assert (first["version"], second["version"]) == (1, 2)
    assert first["valid_to"] == second["valid_from"]
    assert "valid_to" not in second


def test_another_record_under_the_same_id_is_a_conflict(kit: Any) -> None:
    """An id that stands for something else here is refused and nothing of the batch is kept."""
    store = kit.store()
    kit.write(store, "mine")
    before = dump(store)
    for clash in (
        {"content": "other"},
        {"content": "mine", "agent_id": "other"},
        {"content": "mine", "path": "elsewhere"},
        {"content": "mine", "version": 3},
        {"content": "", "forgotten": "hard_delete", "deleted_at": "2026-01-01"},
    ):
        with pytest.raises(Conflict, match=r"^id: mem:1 already names something else here: import into an empty"):
            store.import_lines([{"id": "mem:5", "content": "new"}, {"id": "mem:1", **clash}], kit.me)
    assert dump(store) == before


def test_a_later_export_brings_the_new_versions(kit: Any) -> None:
    """A copy made earlier takes what has grown since: one id, and only its newest version stands."""
    store = kit.store()
    kit.write(store, "one", external_id="x")
    copy = kit.store(kit.folder / "copy.duckdb")
    copy.import_lines(store.export(), kit.me)
    kit.clock.on(hours=1)
    kit.write(store, "one two", external_id="x")
    assert [one.created for one in copy.import_lines(store.export(), kit.me)] == [False, True]
    assert copy.get("mem:1", kit.me).content == "one two"
    assert list(copy.export()) == list(store.export())


def test_an_old_export_does_not_bring_back_what_was_forgotten_here(kit: Any) -> None:
    """Lines of records that were deleted or erased since are answered with a note and add nothing."""
    for mode in ("soft_delete", "hard_delete", "redact"):
        store = kit.store(":memory:")
        kit.write(store, "the secret")
        lines = list(store.export())
        store.forget(["mem:1"], mode, kit.me)
        before = dump(store)
        assert [(one.created, one.notes) for one in store.import_lines(lines, kit.me)] == [(False, (LEFT_OUT,))]
        assert dump(store) == before


def test_a_line_with_little_in_it_is_completed(kit: Any) -> None:
    """Only id and content: agent, place and time are those of the one who imports."""
    store = kit.store()
    store.import_lines([{"id": "mem:4", "content": "bare"}], kit.me)
    record = store.get("mem:4", kit.me)
    assert (record.agent_id, record.path, record.bucket, record.scope) == ("planner", "notes", "default", "private")
    assert (record.created_at, record.type, record.status) == (kit.clock.now, "memory", "active")
    assert kit.find(store, "bare") == ["mem:4"]


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("id", {"id": 5, "content": "x"}),
        ("id", {"id": "mem:x", "content": "x"}),
        ("kind", {"id": "ep:1", "content": "x"}),
        ("version", {"id": "mem:1", "content": "x", "version": 0}),
        ("version", {"id": "mem:1", "content": "x", "version": "1"}),
        ("deleted_at", {"id": "mem:1", "content": "x", "deleted_at": "never"}),
        ("forgotten", {"id": "mem:1", "content": "x", "forgotten": "burnt"}),
        ("content", {"id": "mem:1", "content": "  "}),
        ("superseded_by", {"id": "mem:1", "content": "x", "superseded_by": "2"}),
        ("colour", {"id": "mem:1", "content": "x", "colour": "red"}),
    ],
    ids=str,
)
def test_a_bad_line_is_named(kit: Any, field: str, line: dict[str, Any]) -> None:
    """Lines are checked like records: the field at fault is named and nothing is written."""
    store = kit.store(":memory:")
    with pytest.raises(InvalidField) as error:
        store.import_lines([line], kit.me)
    assert error.value.field == field
    assert list(store.export()) == []


def test_an_export_file_appears_whole_or_not_at_all(kit: Any) -> None:
    """The library writes JSON Lines that the importer reads; a folder that is not there is an error of the field."""
    packs = kit.packs()
    packs.remember("one\u2028line, two\nlines")
    target: Path = kit.folder / "all.jsonl"
    assert packs.export(target) == 1
    assert len(target.read_text(encoding="utf-8").splitlines(keepends=False)) >= 1
    other = kit.packs(path=kit.folder / "other.duckdb")
    assert [one.id for batch in other.import_file("jsonl", target) for one in batch] == ["mem:1"]
    assert other.get("mem:1").content == "one\u2028line, two\nlines"
    with pytest.raises(InvalidField, match=r"^file: cannot write x\.jsonl: ") as error:
        packs.export(kit.folder / "missing" / "x.jsonl")
    assert str(kit.folder) not in str(error.value)


@settings(max_examples=20)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"content": st.text(min_size=1).filter(str.strip)},
            optional={
                "title": st.text(max_size=20),
                "kind": st.sampled_from(["memory", "episode"]),
                "metadata": st.dictionaries(st.text(max_size=4), st.none() | st.booleans() | st.integers() | st.text()),
                "pinned": st.booleans(),
                "external_id": st.sampled_from(["a", "b"]),
            },
        ),
        min_size=1,
        max_size=6,
    )
)
def test_any_records_survive_the_round_trip(records: list[dict[str, Any]]) -> None:
    """Whatever was written, export → JSON → import → export gives the same lines."""
    store, copy, me = DuckStore(":memory:"), DuckStore(":memory:"), Viewer("planner")
    store.remember_many(records, me)
    lines = [json.loads(json.dumps(line)) for line in store.export()]
    copy.import_lines(lines, me)
    assert list(copy.export()) == list(store.export())
    store.close()
    copy.close()
