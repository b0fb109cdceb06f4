"""What is erased is in no table, no export and no byte of the file, is known when it comes again, and names what may
repeat it."""

import json
from typing import Any

import pytest

from context_packs.packer import ContextPacks
from context_packs.store.errors import Conflict, Gone, InvalidField
from context_packs.store.search.embedders import HashEmbedder
from context_packs.store.values import Viewer

ERASING = ("hard_delete", "redact")
WORDS = ("swordfish", "pikeperch", "sturgeon", "barracuda", "haddock", "flounder", "ナマズ", "lamprey", "halibut")
TABLES = "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()"


def every_kind(packs: ContextPacks) -> list[str]:
    """Records of all kinds that hold WORDS in texts, old texts, titles, sources, metadata, speakers, keys, payloads."""
    memory = packs.remember(
        "The vault opens with swordfish.",
        title="About pikeperch",
        source={"name": "sturgeon"},
        metadata={"tags": ["barracuda"]},
        external_id="note-1",
        idempotency_key="haddock once",
        semantic_key="vault flounder",
    ).id
    packs.revise(memory, content="The vault opens with swordfish and ナマズ.", title="Again pikeperch")
    episode = packs.remember("lamprey: swordfish again?\nMika: ナマズ, never halibut.", kind="episode").id
    thread = packs.threads.create("halibut escaped", thread_id="thr_escape").id
    packs.threads.update(thread, summary="swordfish escaped")
    trigger = packs.threads.add_trigger(
        thread, "lamprey", payload={"log": "halibut, ナマズ"}, trigger_id="trg_escape"
    ).id
    worker = packs.threads.create_worker("Find the haddock", [thread], worker_id="wkr_escape").id
    packs.threads.report(worker, "It was the flounder.", cites=[trigger])
    return [memory, episode, worker, trigger, thread]


def held(packs: ContextPacks) -> str:
    """All values of all tables as one text."""
    with packs.store.duck.reading() as session:
        rows = [session.rows(f'FROM "{table}"') for (table,) in session.rows(TABLES)]
    return repr(rows) + repr(rows).encode().decode("unicode_escape", "replace")


def words_in(text: str) -> list[str]:
    return [word for word in WORDS if word in text]


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("mode", ERASING)
def test_no_table_and_no_export_holds_what_was_erased(kit: Any, mode: str, labels: bool) -> None:
    """Of every kind of record, in all its versions, with all that came with it; the records beside it are whole."""
    packs = kit.packs()
    packs.remember("A bystander stays, with plaice.")
    for ref in every_kind(packs):
        done = packs.forget(ref, mode, labels=labels)
        assert (done.id, done.mode, done.erased) == (ref, mode, "after compact")
    assert words_in(held(packs)) == []
    assert words_in(json.dumps(list(packs.export_lines(everybody=True)), ensure_ascii=False)) == []
    assert packs.recall("plaice")[0].content == "A bystander stays, with plaice."
    assert packs.stats()["erasures_waiting"] == 5


def test_vectors_of_what_was_erased_are_erased(kit: Any) -> None:
    """A vector says what a text was about; those of the others stay."""
    store = kit.store()
    store.embedder = HashEmbedder()
    kit.write(store, "The vault opens with swordfish.")
    kit.write(store, "A bystander stays.")
    list(store.embed_pending())
    store.forget(["mem:1"], "redact", kit.me)
    with store.duck.reading() as session:
        assert session.rows("SELECT DISTINCT key FROM vectors JOIN records USING (vid)") == [(32,)]


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("mode", ERASING)
def test_what_was_erased_is_known_when_it_comes_again(kit: Any, mode: str, copied: bool, labels: bool) -> None:
    """By the caller's own id and by the idempotency key, whose text is gone, in this store and in a copy of it."""
    packs = kit.packs()
    every_kind(packs)
    packs.forget("mem:1", mode, labels=labels)
    if copied:
        lines = list(packs.export_lines())
        packs = kit.packs(path=kit.folder / "copy.duckdb")
        packs.import_lines(lines)
    for fields in ({"external_id": "note-1"}, {"idempotency_key": "haddock once"}):
        again = packs.remember("The vault opens with swordfish.", **fields)
        assert (again.id, again.created, again.updated) == ("mem:1", False, False)
        assert "forgotten earlier, left out" in again.notes[0]
    assert "swordfish" not in repr([line for line in packs.export_lines() if line.get("id") == "mem:1"])


def test_an_erased_record_keeps_a_tombstone(kit: Any) -> None:
    """Id, kind, times, agent and mode are what an export says of it; without labels also where it was."""
    packs = kit.packs()
    packs.remember("The vault opens with swordfish.", path="bank/vault", type="fact", external_id="note-1")
    packs.forget("mem:1", "hard_delete")
    (line,) = packs.export_lines()
    assert isinstance(line.pop("forgotten_hash"), int)  # it tells whether the source says something else now
    noon = "2026-03-01T12:00:00+00:00"
    tombstone = {
        "id": "mem:1", "kind": "memory", "version": 1, "content": "", "agent_id": "planner", "timestamp": noon,
        "updated_at": noon, "valid_from": noon, "deleted_at": noon, "forgotten": "hard_delete",
    }  # fmt: skip
    bare = {"path": "notes", "scope": "private", "bucket": "default", "status": "active", "type": "memory"}
    assert line == {**tombstone, **bare, "path": "bank/vault", "type": "fact", "external_id": "note-1"}
    packs.forget("mem:1", "hard_delete", labels=True)
    (line,) = packs.export_lines()
    assert isinstance(line.pop("hashes")["external_id"], int)
    assert line == {**tombstone, **bare}
    with pytest.raises(Gone):
        packs.forget("mem:1", "hard_delete", labels=True)


def test_the_name_of_a_deleted_thread_can_be_erased_and_is_never_given_again(kit: Any) -> None:
    """The name is in no table; who asks for it hears that it is gone, and nobody gets it again, in a copy neither."""
    packs = kit.packs()
    packs.threads.create("Divorce", thread_id="thr_divorce_of_ann", natural_key="court/divorce")
    packs.threads.add_trigger("thr_divorce_of_ann", "mail", payload="x", trigger_id="trg_divorce_1")
    before = list(packs.export_lines())
    packs.forget("thr_divorce_of_ann", "hard_delete", labels=True)
    packs.forget("trg_divorce_1", "hard_delete", labels=True)
    assert "divorce" not in held(packs).lower()
    lines = list(packs.export_lines())
    copy = kit.packs(path=kit.folder / "copy.duckdb")
    copy.import_lines(lines)
    assert list(copy.export_lines()) == lines
    assert [line["id"] for line in lines] == ["thr_erased.4d8d76aa5d262429", "trg_erased.05e0a8775f611ef7"]
    for there in (packs, copy):
        with pytest.raises(Gone):
            there.threads.get("thr_divorce_of_ann")
        with pytest.raises(Gone):
            there.get("trg_divorce_1")
        with pytest.raises(Conflict):
            there.threads.create("Another", thread_id="thr_divorce_of_ann")
        again = there.import_lines(before)
        assert [one.notes[0][:21] for one in again] == ["forgotten earlier, le"] * 2
        assert "divorce" not in repr(list(there.export_lines())).lower()


def test_an_erased_external_id_of_a_trigger_keeps_its_delivery_out(kit: Any) -> None:
    """A webhook that is delivered again does not bring back what was erased."""
    packs = kit.packs()
    packs.threads.create("CI", thread_id="thr_ci")
    packs.threads.add_trigger("thr_ci", "ci", payload="secret", trigger_id="trg_a", external_id="delivery-1")
    packs.forget("trg_a", "hard_delete", labels=True)
    with pytest.raises(Gone, match="external_id: its trigger trg_erased"):
        packs.threads.add_trigger("thr_ci", "ci", payload="secret", external_id="delivery-1")


def test_a_cursor_behind_an_event_with_an_erased_name_goes_on(kit: Any) -> None:
    """A page begins where the last one ended, whatever became of the event there."""
    packs = kit.packs()
    packs.threads.create("CI", thread_id="thr_ci")
    for name in ("trg_a", "trg_b"):
        packs.threads.add_trigger("thr_ci", "ci", payload=name, trigger_id=name)
    cursor = packs.threads.events("thr_ci", limit=1).resume_cursor
    packs.forget("trg_a", "hard_delete", labels=True)
    assert [event.id for event in packs.threads.events("thr_ci", cursor).events] == ["trg_b"]


def test_what_can_still_be_read_keeps_its_name(kit: Any) -> None:
    """A redacted thread is read by its id, so its name stays; its place and natural key go."""
    packs = kit.packs()
    packs.threads.create("Divorce", thread_id="thr_case", natural_key="court/7", path="court")
    packs.forget("thr_case", "redact", labels=True)
    thread = packs.threads.get("thr_case")
    assert (thread.summary, thread.natural_key, thread.path) == ("[redacted]", None, "notes")


def test_records_that_may_repeat_it_are_named(kit: Any) -> None:
    """Reports that cite it, events of a thread, successors, the same text elsewhere, texts that name its id."""
    packs = kit.packs()
    old = packs.remember("The vault opens with pike.").id
    ref = packs.remember("The vault opens with swordfish.", supersedes=old).id
    packs.remember("The vault opens with swordfish.", path="copy")
    packs.remember("See mem:2.")
    packs.remember("Not about mem:21 or xmem:2, but mem:20")
    packs.remember("A note", metadata={"memory_id": "mem:2"})
    packs.threads.create("T", thread_id="thr_t")
    packs.threads.add_trigger("thr_t", "ci", payload="x", trigger_id="trg_t")
    packs.threads.create_worker("Task", ["thr_t"], worker_id="wkr_w")
    packs.threads.report("wkr_w", "It is so.", cites=[ref, "trg_t"])
    packs.remember("Newer", supersedes=ref)
    packs.remember("soft mem:2")
    packs.forget("mem:8", "soft_delete")
    done = packs.forget(ref, "hard_delete")
    assert [(one.id, one.why) for one in done.derived] == [
        ("wkr_w", "links to it"),
        ("mem:7", "replaces it"),
        ("mem:1", "was replaced by it"),
        ("mem:3", "same text"),
        ("mem:4", "names it"),
        ("mem:6", "names it"),
        ("mem:8", "names it"),
    ]
    assert done.derived_count == 7
    assert [(one.id, one.why) for one in packs.forget("trg_t", "redact").derived] == [
        ("wkr_w", "links to it"),
        ("thr_t", "holds it"),
    ]
    done = packs.forget("thr_t", "hard_delete")
    assert [(one.id, one.why) for one in done.derived] == [("wkr_w", "links to it")]
    assert packs.forget("mem:4").derived_count == 0


def test_records_of_others_are_not_named(kit: Any) -> None:
    """What the agent may not see it does not hear of either; what a team shares is named."""
    packs = kit.packs("planner", "red")
    packs.remember("For the team", team_id="red")
    for agent in ("mate", "stranger"):
        other = kit.packs(agent, "red")
        other.remember(f"{agent} read mem:1", team_id="red" if agent == "mate" else "")
    assert [one.id for one in packs.forget("mem:1", "redact").derived] == ["mem:2"]


def test_labels_are_erased_only_with_the_text(kit: Any) -> None:
    """A soft deletion keeps all, so it cannot take labels away; another value than true or false is refused."""
    store = kit.store()
    kit.write(store, "x")
    with pytest.raises(InvalidField, match="labels: soft_delete keeps them; use hard_delete or redact"):
        store.forget(["mem:1"], "soft_delete", kit.me, labels=True)
    with pytest.raises(InvalidField, match="labels: 'yes' is not true or false"):
        store.forget(["mem:1"], "redact", kit.me, labels="yes")


def test_nothing_waits_where_there_is_no_file(kit: Any) -> None:
    """A store in memory leaves no bytes anywhere."""
    store = kit.store(":memory:")
    kit.write(store, "x")
    (done,) = store.forget(["mem:1"], "hard_delete", kit.me)
    assert (done.erased, store.stats(kit.me)["erasures_waiting"]) == ("now", 0)


def test_the_erasure_of_a_temporary_record_keeps_its_bucket(kit: Any) -> None:
    """Who may not see temporary records does not hear of one that was erased."""
    store = kit.store()
    kit.write(store, "x", bucket="temporary")
    store.forget(["mem:1"], "hard_delete", kit.me, labels=True)
    assert list(store.export(Viewer("planner", temporary=False))) == []
