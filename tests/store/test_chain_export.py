"""Threads, workers, triggers and links through an export: equal, ids included."""

import json
from pathlib import Path
from typing import Any

import pytest

from context_packs.packer import ContextPacks
from context_packs.store.errors import Conflict, InvalidField


def full(kit: Any) -> ContextPacks:
    """Two agents of one team with threads, events of every sort of payload, versions, links and tombstones."""
    packs: ContextPacks = kit.packs("planner", "red")
    packs.remember("The shop is in Porto.", path="shop")
    packs.threads.create("PR 412", thread_id="thr_pr_412", natural_key="acme/shop#412", team_id="red")
    packs.threads.create("Mail from Kyoto", path="mail/kyoto", status="waiting")
    for payload in ({"a": [1, {"b": "窯"}]}, "text\r\nof 東京\x00", bytes(range(256)), None):
        packs.threads.add_trigger("thr_pr_412", {"name": "ci", "run": 7}, summary="an event", payload=payload)
    packs.threads.add_trigger(
        "thr_0002", "mail", payload="Subject: Hello", external_id="mail-1", occurred_at="2026-01-02"
    )
    packs.threads.create_worker("Look at it", ["thr_pr_412", "thr_0002"], worker_id="wkr_a")
    kit.clock.on(hours=1)
    packs.threads.report("wkr_a", "It was the config.", ["trg_0002", "mem:1"])
    packs.threads.update("thr_pr_412", status="done")
    packs.threads.link("trg_0001", "mem:1", "explains")
    mate = kit.packs("mate", "red")
    mate.threads.create("PR 412 of the mate", thread_id="thr_0002")
    mate.threads.add_trigger("thr_pr_412", "chat", summary="from the mate")
    mate.threads.link("trg_0006", "trg_0001", "answers")
    packs.remember("The thread is over.", supersedes="thr_0002")
    for one, mode in (("trg_0003", "soft_delete"), ("trg_0004", "hard_delete"), ("trg_0005", "redact")):
        packs.forget(one, mode)
    return packs


def dump(packs: ContextPacks) -> list[str]:
    """Everything in the tables but where it stands."""
    with packs.store.duck.reading() as session:  # type: ignore[attr-defined]
        tables = [
            session.rows("SELECT * EXCLUDE (vid) FROM records ORDER BY key, version"),
            session.rows("SELECT * FROM payloads ORDER BY key"),
            session.rows("SELECT * FROM links ORDER BY ALL"),
            session.rows("SELECT * FROM counters WHERE name <> 'passage' ORDER BY name"),
            session.rows(
                "SELECT r.key, r.version, p.pas - p.vid, p.term, p.tf, p.len "
                "FROM postings p JOIN records r USING (vid) ORDER BY ALL"
            ),
        ]
    return [repr(row) for table in tables for row in table]


def test_an_export_comes_back_as_the_same_store(kit: Any) -> None:
    """Through a file into an empty store: records, numbers, names, payloads, links and counters are equal, and an
    import again adds nothing."""
    packs = full(kit)
    target: Path = kit.folder / "all.jsonl"
    count = packs.export(target, everybody=True)
    lines = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == count
    assert {line["kind"] for line in lines} == {"thread", "worker", "trigger", "memory", "link"}
    copy = kit.packs("planner", "red", path=kit.folder / "copy.duckdb")
    written = [one for batch in copy.import_file("jsonl", target) for one in batch]
    assert all(one.created for one in written) and len(written) == count
    assert dump(copy) == dump(packs)
    assert list(copy.export_lines(everybody=True)) == lines
    again = [one for batch in copy.import_file("jsonl", target) for one in batch]
    assert not any(one.created for one in again)
    assert dump(copy) == dump(packs)


def test_both_stores_answer_alike(kit: Any) -> None:
    """Gets, pages, payloads, searches and walks agree, for the owner and for the mate."""
    packs = full(kit)
    lines = list(packs.export_lines(everybody=True))
    kit.packs("planner", path=kit.folder / "copy.duckdb").import_lines(lines)
    for agent in ("planner", "mate"):
        here, there = kit.packs(agent, "red"), kit.packs(agent, "red", path=kit.folder / "copy.duckdb")
        assert here.threads.get("thr_pr_412") == there.threads.get("thr_pr_412")
        assert here.threads.get_worker("wkr_a") == there.threads.get_worker("wkr_a")
        assert here.threads.events("thr_pr_412") == there.threads.events("thr_pr_412")
        assert here.threads.payload("trg_0002") == there.threads.payload("trg_0002")
        assert here.recall_context("config", hops=3).text == there.recall_context("config", hops=3).text
        assert here.recall_context("").text == there.recall_context("").text


def test_an_agents_own_export_comes_back_without_what_is_not_its_own(kit: Any) -> None:
    """An event in somebody else's thread keeps its id and payload; that its thread is missing is told."""
    full(kit)
    mate = kit.packs("mate", "red")
    lines = list(mate.export_lines())
    assert [line["id"] for line in lines if line["kind"] != "link"] == ["thr_0002", "trg_0006"]
    copy = kit.packs("mate", path=kit.folder / "copy.duckdb")
    written = copy.import_lines(lines[:2])
    assert written[1].notes == ("its thread thr_pr_412 is not in this store",)
    assert copy.threads.get_trigger("trg_0006").thread_id == ""
    (link,) = copy.import_lines(lines[2:])
    assert (link.created, link.notes) == (False, ("links to a record that is not in this store: left out",))


def test_names_join_what_is_there_already(kit: Any) -> None:
    """Into a store that has threads of its own: ids stay, events keep their order, numbers that are taken are new."""
    packs = kit.packs()
    packs.threads.create("one", thread_id="thr_a")
    names = [packs.threads.add_trigger("thr_a", "ci", summary=f"event {n}").id for n in range(3)]
    lines = list(packs.export_lines())
    other = kit.packs("other", path=kit.folder / "other.duckdb")
    other.threads.create("theirs", thread_id="thr_b")
    theirs = [other.threads.add_trigger("thr_b", "ci", summary=f"their event {n}").id for n in range(5)]
    mine = kit.packs(path=kit.folder / "other.duckdb")
    assert [one.id for one in mine.import_lines(lines)] == ["thr_a", *names]
    assert [one.id for one in mine.threads.events("thr_a").events] == names
    assert [one.id for one in other.threads.events("thr_b").events] == theirs
    assert mine.threads.add_trigger("thr_a", "ci", summary="later").id == "trg_0009"
    with pytest.raises(Conflict, match="id: thr_a already names something else here"):
        mine.import_lines([{**lines[0], "content": "another"}])


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("kind", {"id": "thr_a", "kind": "trigger", "content": "x"}),
        ("kind", {"id": "thr_a", "content": "x"}),
        ("kind", {"content": "x", "kind": "thread"}),
        ("number", {"id": "thr_a", "kind": "thread", "content": "x", "number": 0}),
        ("payload", {"id": "trg_a", "kind": "trigger", "content": "x", "payload": {"media_type": "a/b"}}),
        (
            "payload",
            {"id": "trg_a", "kind": "trigger", "content": "x", "payload": {"media_type": "a/b", "base64": "*"}},
        ),
        ("from", {"kind": "link", "from": "x", "to": "mem:1", "rel": "r"}),
        ("rel", {"kind": "link", "from": "mem:1", "to": "mem:2"}),
        ("colour", {"kind": "link", "from": "mem:1", "to": "mem:2", "rel": "r", "colour": 1}),
    ],
    ids=str,
)
def test_a_bad_line_is_named(kit: Any, field: str, line: dict[str, Any]) -> None:
    """The field at fault is named and nothing is written, from the library and from a file."""
    packs = kit.packs()
    with pytest.raises(InvalidField) as error:
        packs.import_lines([line])
    assert error.value.field == field
    target = kit.folder / "bad.jsonl"
    target.write_text(json.dumps(line), encoding="utf-8")
    with pytest.raises(InvalidField) as error:
        list(packs.import_file("jsonl", target))
    assert error.value.field == field
    assert list(packs.export_lines()) == []
