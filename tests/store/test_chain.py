"""Chain of Recall: the four promises, each with its own test, and what threads, workers and triggers say."""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_packs.packer import ContextPacks
from context_packs.store.chain.checks import TriggerIn, arrival, checked
from context_packs.store.errors import Conflict, Gone, InvalidField, NotFound


def chain(kit: Any, *teams: str, **fields: Any) -> ContextPacks:
    """A memory with a thread of three events and a worker that cites the second of them."""
    packs: ContextPacks = kit.packs("planner", *teams)
    packs.threads.create("PR 412: retry the deploy", thread_id="thr_pr_412", natural_key="acme/shop#412", **fields)
    packs.threads.add_trigger("thr_pr_412", "github", payload={"action": "opened", "pull_request": {"title": "Retry"}})
    packs.threads.add_trigger(
        "thr_pr_412", "ci", summary="Deploy failed", payload="step 1 ok\nTypeError: zebra is missing\n"
    )
    packs.threads.add_trigger("thr_pr_412", "chat", payload="Who looks at this?", external_id="m-3")
    packs.threads.create_worker("Find out why the deploy failed", ["thr_pr_412"])
    packs.threads.report("wkr_0001", "The key zebra was never set.", ["trg_0002"])
    return packs


def walked(packs: ContextPacks, thread: str, limit: int, cursor: str | None = None) -> list[str]:
    """Ids of all events of a thread, page by page."""
    ids: list[str] = []
    while True:
        page = packs.threads.events(thread, cursor, limit)
        ids += [one.id for one in page.events]
        if page.next_cursor is None:
            return ids
        cursor = page.next_cursor


def test_the_chain_answers_to_its_older_names_too(kit: Any) -> None:
    packs: ContextPacks = kit.packs("planner")
    packs.create_thread("Nightly build", thread_id="thr_night")
    packs.add_trigger("thr_night", "ci", payload="red", trigger_id="trg_red")
    packs.create_worker("Mend the build", ["thr_night"], worker_id="wkr_mend")
    packs.report("wkr_mend", "Mended.", ["trg_red"])
    packs.update_thread("thr_night", status="done")
    packs.link("wkr_mend", "thr_night", "relates_to")
    assert packs.get_thread("thr_night").owner_workers == ("wkr_mend",)
    assert packs.get_worker("wkr_mend").cites == ("trg_red",)
    assert packs.get_trigger("trg_red").source == "ci"
    assert packs.payload("trg_red").body == b"red"
    assert [event.id for event in packs.thread_events("thr_night").events] == ["trg_red"]


# ---- 1. an id never changes and is never used again


@pytest.mark.parametrize("mode", ["soft_delete", "hard_delete"])
def test_an_id_is_never_used_again(kit: Any, mode: str) -> None:
    """After deletion, re-open, export and import the id is gone for its owner and nothing new gets it, asked for or
    not."""
    packs = chain(kit)
    for one in ("thr_pr_412", "trg_0003", "wkr_0001"):
        packs.forget(one, mode)
    packs.export(kit.folder / "all.jsonl", everybody=True)
    kit.close()
    copy = kit.packs(path=kit.folder / "copy.duckdb")
    copy.import_lines(json.loads(line) for line in (kit.folder / "all.jsonl").read_text("utf-8").splitlines())
    for store in (kit.packs(), copy):
        for one, read in (("thr_pr_412", store.threads.get), ("trg_0003", store.threads.get_trigger)):
            with pytest.raises(Gone):
                read(one)
            with pytest.raises(Gone):
                store.get(one)
        with pytest.raises(Gone):
            store.threads.get_worker("wkr_0001")
        with pytest.raises(Conflict, match="thread_id: thr_pr_412 was deleted, and ids are never reused"):
            store.threads.create("again", thread_id="thr_pr_412")
        assert store.threads.create("PR 412 again", natural_key="acme/shop#412").id == "thr_0002"
        with pytest.raises(Conflict, match="trigger_id: trg_0003 was deleted"):
            store.threads.add_trigger("thr_0002", "ci", trigger_id="trg_0003", summary="x")
        with pytest.raises(Conflict, match="worker_id: wkr_0001 was deleted"):
            store.threads.create_worker("x", worker_id="wkr_0001")
        assert store.threads.add_trigger("thr_0002", "ci", summary="new").id == "trg_0004"
        assert store.threads.create_worker("x").id == "wkr_0002"
        with pytest.raises(Gone, match="external_id"):
            store.threads.add_trigger("thr_0002", "chat", payload="Who looks at this?", external_id="m-3")


def test_made_ids_pass_over_names_that_are_taken(kit: Any) -> None:
    """A caller may take the name that a number would have been; the made one is the next, for every agent."""
    packs = kit.packs()
    packs.threads.create("one", thread_id="thr_0002")
    packs.threads.add_trigger("thr_0002", "ci", trigger_id="trg_0003", summary="x")
    assert packs.threads.create("two").id == "thr_0003"
    assert kit.packs("other").threads.create("three").id == "thr_0004"
    assert [packs.threads.add_trigger("thr_0002", "ci", summary=f"e{n}").id for n in range(2)] == [
        "trg_0002",
        "trg_0004",
    ]


def test_ids_survive_a_migration(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of schema 2 takes threads after the migration, and its ids stand for what they stood for."""
    store = kit.store()
    kit.write(store, "an old fact")
    kit.age(store, 2, monkeypatch)
    packs = chain(kit)
    assert packs.get("mem:1").content == "an old fact"
    assert packs.threads.get_trigger("trg_0002").summary == "Deploy failed"


# ---- 2. a get is exact


def test_a_get_is_exact(kit: Any) -> None:
    """One record with all that is known of it: no search, no nearest match, no other case, no shortened id."""
    packs = chain(kit)
    thread, worker, trigger = (
        packs.threads.get("thr_pr_412"),
        packs.threads.get_worker("wkr_0001"),
        packs.threads.get_trigger("trg_0002"),
    )
    assert (thread.summary, thread.status, thread.natural_key) == ("PR 412: retry the deploy", "open", "acme/shop#412")
    assert (thread.owner_workers, thread.event_count, thread.last_event_at) == (("wkr_0001",), 3, kit.clock.now)
    assert (worker.task, worker.status, worker.threads) == ("Find out why the deploy failed", "done", ("thr_pr_412",))
    assert (worker.report, worker.cites) == ("The key zebra was never set.", ("trg_0002",))
    assert (trigger.source, trigger.thread_id, trigger.summary) == ("ci", "thr_pr_412", "Deploy failed")
    assert trigger.payload == b"step 1 ok\nTypeError: zebra is missing\n"
    assert trigger.before is not None and trigger.after is not None
    assert (trigger.before.id, trigger.before.summary) == ("trg_0001", "opened: Retry")
    assert (trigger.after.id, trigger.after.summary) == ("trg_0003", "Who looks at this?")
    assert [(one.id, one.summary) for one in trigger.linked] == [("wkr_0001", "Find out why the deploy failed")]
    assert packs.get("trg_0002").id == "trg_0002" and packs.get("trg_0002").kind == "trigger"
    assert packs.get_contents(["wkr_0001", "trg_9", "thr_pr_412"]).missing == ("trg_9",)
    for near in ("thr_pr_41", "thr_pr_4122", "thr_PR_412", "thr_pr-412"):
        with pytest.raises(NotFound):
            packs.threads.get(near)


# ---- 3. an unknown id is an error


def test_an_unknown_id_is_an_error(kit: Any) -> None:
    """Every read and write that names an id refuses one that names nothing, and says which field it was."""
    packs = chain(kit)
    cases: list[tuple[str, Any]] = [
        ("thread_id", lambda: packs.threads.get("thr_x")),
        ("thread_id", lambda: packs.threads.get("trg_0001")),
        ("thread_id", lambda: packs.threads.events("thr_x")),
        ("thread_id", lambda: packs.threads.update("thr_x", status="done")),
        ("thread_id", lambda: packs.threads.update("trg_0001", status="done")),
        ("worker_id", lambda: packs.threads.report("thr_pr_412", "x")),
        ("thread_id", lambda: packs.threads.add_trigger("thr_x", "ci", summary="x")),
        ("worker_id", lambda: packs.threads.get_worker("wkr_x")),
        ("worker_id", lambda: packs.threads.report("wkr_x", "x")),
        ("threads", lambda: packs.threads.create_worker("x", ["thr_pr_412", "thr_x"])),
        ("cites", lambda: packs.threads.report("wkr_0001", "x", ["trg_0001", "trg_x"])),
        ("trigger_id", lambda: packs.threads.get_trigger("trg_x")),
        ("trigger_id", lambda: packs.threads.payload("trg_x")),
        ("from", lambda: packs.threads.link("trg_x", "trg_0001", "because")),
        ("to", lambda: packs.threads.link("trg_0001", "mem:9", "because")),
        ("id", lambda: packs.get("wkr_x")),
    ]
    for field, call in cases:
        with pytest.raises(NotFound) as error:
            call()
        assert (error.value.field, type(error.value)) == (field, NotFound)
    assert packs.threads.get("thr_pr_412").event_count == 3
    assert packs.threads.get_worker("wkr_0001").report == "The key zebra was never set."


@pytest.mark.parametrize("one", ["", "thr_", "thr_ä", "thr_-a", " thr_a", "thr_a\n", "thr_" + "a" * 65, "412", None, 5])
def test_a_malformed_id_is_named(kit: Any, one: Any) -> None:
    """What is no id is told apart from an id that names nothing."""
    packs = kit.packs()
    for call in (packs.threads.get, packs.threads.events, packs.get):
        with pytest.raises(InvalidField):
            call(one)
    with pytest.raises(InvalidField):
        packs.threads.add_trigger(one, "ci", summary="x")


# ---- 4. cursors lose and repeat nothing


def test_cursors_lose_and_repeat_nothing(kit: Any) -> None:
    """20 writers add 600 events, all of one moment, while three followers read pages of 7: each sees every event once,
    in the one order."""
    packs = kit.packs()
    packs.threads.create("load", thread_id="thr_load")
    errors: list[BaseException] = []
    seen: list[list[str]] = [[], [], []]
    written: list[list[str]] = [[] for _ in range(20)]

    def write(k: int) -> None:
        for n in range(30):
            made = packs.threads.add_trigger(
                "thr_load", "ci", summary=f"event {k}/{n}", occurred_at="2026-01-01T00:00:00Z"
            )
            written[k].append(made.id)

    def follow(k: int) -> None:
        cursor = None
        while len(seen[k]) < 600:
            page = packs.threads.events("thr_load", cursor, 7)
            seen[k] += [one.id for one in page.events]
            assert (page.next_cursor is None) or page.next_cursor == page.resume_cursor
            cursor = page.resume_cursor

    def run(work: Any, k: int) -> None:
        try:
            work(k)
        except BaseException as error:
            errors.append(error)

    works = [(write, k) for k in range(20)] + [(follow, k) for k in range(3)]
    threads = [threading.Thread(target=run, args=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    assert errors == []
    order = walked(packs, "thr_load", 200)
    assert seen == [order, order, order]
    assert sorted(order) == sorted(one for part in written for one in part)
    assert len(set(order)) == 600
    for part in written:
        assert [one for one in order if one in set(part)] == part
    assert packs.threads.get("thr_load").event_count == 600


WRITER = """
import sys, threading
from context_packs.packer import ContextPacks

packs = ContextPacks.open(sys.argv[1], "planner", mode="exclusive", embedder="none")
packs.threads.create("load", thread_id="thr_load")
lock = threading.Lock()

def write(k):
    n = 0
    while True:
        said = f"event {sys.argv[2]}/{k}/{n}"
        one = packs.threads.add_trigger("thr_load", "ci", summary=said, payload=f"body {k} {n}").id
        with lock:
            print(one, flush=True)
        n += 1

for k in range(4):
    threading.Thread(target=write, args=(k,)).start()
"""


def test_a_cursor_outlives_a_killed_writer(kit: Any) -> None:
    """Killed -9 among its writes, again and again: what was answered is there once, and the same cursor goes on from
    where it stood."""
    cursor = None
    followed: list[str] = []
    acknowledged: list[str] = []
    for run in range(3):
        command = [sys.executable, "-c", WRITER, str(kit.path), str(run)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None and writer.stderr is not None
            lines = [writer.stdout.readline().strip() for _ in range(15)]
            os.kill(writer.pid, signal.SIGKILL)
            lines += writer.stdout.read().split("\n")[:-1]
            assert writer.wait(timeout=60) == -signal.SIGKILL
            assert "Error" not in writer.stderr.read()
        acknowledged += [line for line in lines if line]
        packs = kit.packs()
        page = packs.threads.events("thr_load", cursor, 4)
        followed += [one.id for one in page.events]
        cursor = page.resume_cursor
        kit.close()
    packs = kit.packs()
    everything = walked(packs, "thr_load", 50)
    assert followed + walked(packs, "thr_load", 3, cursor) == everything
    assert len(everything) == len(set(everything))
    assert set(acknowledged) <= set(everything)
    for one in acknowledged:
        assert packs.threads.payload(one).body.startswith(b"body ")


def test_deleted_events_break_no_cursor() -> None:
    """Events that are deleted between two pages, the one under the cursor too, are skipped and no other is."""
    names = (f"thr_{n}" for n in itertools.count())
    with ContextPacks.open(":memory:", "planner", embedder="none") as packs:

        @settings(max_examples=30, deadline=None)
        @given(gone=st.sets(st.integers(0, 11)), limit=st.integers(1, 5), stop=st.integers(0, 3))
        def holds(gone: set[int], limit: int, stop: int) -> None:
            thread = packs.threads.create("t", thread_id=next(names)).id
            ids = [packs.threads.add_trigger(thread, "ci", summary=f"event {n}").id for n in range(12)]
            seen: list[str] = []
            cursor: str | None = None
            for _ in range(stop):
                page = packs.threads.events(thread, cursor, limit)
                seen += [one.id for one in page.events]
                cursor = page.resume_cursor
            for n in gone:
                packs.forget(ids[n], "hard_delete" if n % 2 else "soft_delete")
            rest = walked(packs, thread, limit, cursor)
            assert seen + rest == [one for n, one in enumerate(ids) if n < len(seen) or n not in gone]

        holds()


def test_a_cursor_belongs_to_its_thread(kit: Any) -> None:
    """Another thread's cursor is a conflict; what is none, or was altered, is told so; all are safe in a URL."""
    packs = chain(kit)
    packs.threads.create("other", thread_id="thr_other")
    empty = packs.threads.events("thr_other")
    assert (empty.events, empty.next_cursor) == ((), None)
    cursor = packs.threads.events("thr_pr_412", limit=1).next_cursor
    assert cursor is not None and cursor.replace("-", "").replace("_", "").isalnum()
    with pytest.raises(Conflict, match="cursor: belongs to another thread"):
        packs.threads.events("thr_other", cursor)
    for bad in (
        "x",
        cursor[:-1],
        cursor + "A",
        cursor[:5] + "A" + cursor[6:],
        "ä" * 30,
        5,
        "A" * 500,
        cursor.lower(),
    ):
        with pytest.raises(InvalidField) as error:
            packs.threads.events("thr_pr_412", bad)  # type: ignore[arg-type]
        assert error.value.field == "cursor"
    for limit in (0, 201, True, "5", None):
        with pytest.raises(InvalidField, match="limit"):
            packs.threads.events("thr_pr_412", limit=limit)  # type: ignore[arg-type]
    packs.threads.add_trigger("thr_other", "ci", summary="first")
    assert [one.id for one in packs.threads.events("thr_other", empty.resume_cursor).events] == ["trg_0004"]


def test_a_cursor_holds_in_a_copy(kit: Any) -> None:
    """In a store made from an export a cursor goes on where it stood, and numbers go on behind the last."""
    packs = chain(kit)
    cursor = packs.threads.events("thr_pr_412", limit=2).next_cursor
    copy = kit.packs(path=kit.folder / "copy.duckdb")
    copy.remember("something that was there")
    copy.import_lines(packs.export_lines())
    assert [one.id for one in copy.threads.events("thr_pr_412", cursor).events] == ["trg_0003"]
    assert copy.threads.add_trigger("thr_pr_412", "ci", summary="later").id == "trg_0004"
    assert [one.id for one in copy.threads.events("thr_pr_412", cursor).events] == ["trg_0003", "trg_0004"]


# ---- what is written


def test_the_same_key_answers_with_what_is_there(kit: Any) -> None:
    """Natural keys, external ids, given ids and reports that come once more make nothing; other content conflicts."""
    packs = chain(kit)
    again = packs.threads.create("another line", natural_key="acme/shop#412")
    assert (again.id, again.created) == ("thr_pr_412", False)
    assert again.notes == ("is stored already; not applied: summary; update it, or forget it first",)
    sent = packs.threads.add_trigger("thr_pr_412", "chat", payload="Who looks at this?", external_id="m-3")
    assert (sent.id, sent.created) == ("trg_0003", False)
    packs.threads.create("another thread", thread_id="thr_b")
    for what, thread, other in (
        ("payload", "thr_pr_412", {"payload": "changed meanwhile"}),
        ("payload", "thr_pr_412", {"payload": b"Who looks at this?"}),
        ("payload", "thr_pr_412", {"summary": "Who looks at this?"}),
        ("thread", "thr_b", {"payload": "Who looks at this?"}),
        ("summary", "thr_pr_412", {"payload": "Who looks at this?", "summary": "another line"}),
        ("payload and another thread", "thr_b", {"payload": "no"}),
    ):
        with pytest.raises(
            Conflict, match=rf"^external_id: already names trg_0003, which has another {what}: choose"
        ) as no:
            packs.threads.add_trigger(thread, "chat", external_id="m-3", **other)
        assert no.value.field == "external_id"
    given = {"trigger_id": "trg_mine", "payload": {"a": 1}}
    assert packs.threads.add_trigger("thr_pr_412", "ci", **given).created
    assert not packs.threads.add_trigger("thr_pr_412", "ci", **given).created
    assert packs.threads.create_worker("t", ["thr_pr_412"], worker_id="wkr_w").created
    assert not packs.threads.create_worker("t", ["thr_pr_412"], worker_id="wkr_w").created
    with pytest.raises(Conflict):
        packs.threads.create_worker("other", ["thr_pr_412"], worker_id="wkr_w")
    with pytest.raises(Conflict):
        packs.threads.create("other", thread_id="thr_pr_412")
    assert packs.threads.report("wkr_0001", "The key zebra was never set.", ["trg_0002"]).updated is False
    assert packs.threads.get("thr_pr_412").event_count == 4
    assert packs.threads.link("trg_0001", "trg_0002", "caused").created
    assert not packs.threads.link("trg_0001", "trg_0002", "caused").created


def test_one_key_in_many_threads_at_once_makes_one_trigger(kit: Any) -> None:
    """A delivery that arrives ten times at the same moment is one trigger, and one answer says that it was made."""
    packs = kit.packs()
    packs.threads.create("t", thread_id="thr_t")
    answers: list[Any] = []
    gate = threading.Barrier(10)

    def send() -> None:
        gate.wait()
        answers.append(packs.threads.add_trigger("thr_t", "ci", summary="delivery", external_id="d-1"))

    threads = [threading.Thread(target=send) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert {one.id for one in answers} == {"trg_0001"}
    assert sorted(one.created for one in answers) == [False] * 9 + [True]
    assert packs.threads.get("thr_t").event_count == 1


def test_an_error_of_one_keeps_back_no_other(kit: Any) -> None:
    """Among triggers that arrive together the bad ones are told why, the others are kept."""
    packs = kit.packs()
    packs.threads.create("t", thread_id="thr_t")
    outcomes: dict[int, str] = {}
    gate = threading.Barrier(8)

    def send(k: int) -> None:
        gate.wait()
        try:
            outcomes[k] = packs.threads.add_trigger("thr_t" if k % 2 else "thr_none", "ci", summary=f"e{k}").id
        except NotFound as error:
            outcomes[k] = str(error)

    threads = [threading.Thread(target=send, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert {outcomes[k] for k in (0, 2, 4, 6)} == {"thread_id: there is no record thr_none"}
    assert sorted(outcomes[k] for k in (1, 3, 5, 7)) == ["trg_0001", "trg_0002", "trg_0003", "trg_0004"]


NOON = "2026-03-01T12:00:00Z"
EVENT = {"source": "ci", "summary": "one line", "payload": {"a": 1}, "occurred_at": NOON}
OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("occurred_at", {"occurred_at": "2026-03-01T12:00:00.000001Z"}),
    ("source", {"source": "chat"}),
    ("source", {"source": {"name": "ci", "run": 7}}),
    ("summary", {"summary": "another line"}),
    ("payload", {"payload": {"a": 2}}),
    ("payload", {"payload": None}),
    ("thread", {"thread_id": "thr_b"}),
    ("occurred_at and another source", {"occurred_at": 7, "source": "chat"}),
]


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("known", ["external_id", "trigger_id"])
def test_a_trigger_that_comes_again_with_anything_else_is_a_conflict(kit: Any, known: str, together: bool) -> None:
    """Each field that differs is named, whichever id is known and whether the first one came before or in the same
    batch; what is left out is no difference, nor the same time written otherwise."""
    packs = kit.packs()
    for name in ("thr_a", "thr_b"):
        packs.threads.create("t", thread_id=name)
    names = {"external_id": "e-1", "trigger_id": "trg_1"}
    event = {"thread_id": "thr_a", **EVENT, **names}
    others = [(what, {**event, **other}) for what, other in OTHERS]
    others.append(
        ("external_id", {**event, "external_id": "e-2"})
        if known == "trigger_id"
        else ("trigger_id", {**event, "trigger_id": "trg_2"})
    )
    same = {name: value for name, value in event.items() if name not in ("summary", "occurred_at")}
    said = {**event, "occurred_at": "2026-03-01T13:00:00+01:00"}
    sent = [event, *(other for _, other in others), same, said]
    given = [arrival(checked(TriggerIn, one), packs.viewer) for one in sent]
    chain = packs.store.chain  # type: ignore[attr-defined]
    first, *told, left, zoned = chain._add(given) if together else [chain._add([one])[0] for one in given]
    assert first.created and [(one.id, one.created) for one in (left, zoned)] == [("trg_1", False)] * 2
    for (what, fields), error in zip(others, told, strict=True):
        field = "trigger_id" if fields["external_id"] == "e-2" else "external_id"
        assert (type(error), error.field) == (Conflict, field)
        assert str(error) == (
            f"{field}: already names trg_1, which has another {what}: choose another id, or send the same"
        )


def test_a_trigger_or_thread_that_was_erased_says_so_when_it_comes_again(kit: Any) -> None:
    """Its text stays away, and the answer has a note."""
    packs = kit.packs()
    packs.threads.create("t", thread_id="thr_a", natural_key="k")
    packs.threads.add_trigger("thr_a", "ci", summary="secret", external_id="e")
    packs.forget("trg_0001", "redact")
    again = packs.threads.add_trigger("thr_a", "ci", summary="secret", external_id="e")
    assert (again.id, again.created, len(again.notes)) == ("trg_0001", False, 1)
    assert "left out" in again.notes[0]


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"status": "open"}, "status"),
        ({"path": "elsewhere", "scope": "local", "bucket": "b", "team_id": "red"}, "bucket, path, scope, team_id"),
        ({"thread_id": "thr_b"}, "thread_id"),
        ({"summary": "another", "status": "waiting"}, "status, summary"),
        ({"summary": "t", "status": "done"}, ""),
        ({}, ""),
    ],
)
def test_a_thread_that_is_there_names_what_was_not_applied(kit: Any, fields: dict[str, str], names: str) -> None:
    """Fields that are given and differ are named; those that are not given stay unsaid."""
    packs = kit.packs("planner", "red")
    packs.threads.create("t", thread_id="thr_a", natural_key="k", status="done")
    told = packs.threads.create(**{"summary": "t", "natural_key": "k", **fields})
    note = f"is stored already; not applied: {names}; update it, or forget it first"
    assert (told.id, told.created, told.notes) == ("thr_a", False, (note,) if names else ())


def test_an_update_is_a_version(kit: Any) -> None:
    """A thread takes another line and status under its id; the old line is found no more, its history stays."""
    packs = chain(kit)
    first = kit.clock.now
    kit.clock.on(hours=1)
    assert packs.threads.update("thr_pr_412", summary="PR 412: merged at last", status="done").version == 2
    assert packs.threads.update("thr_pr_412", status="done").updated is False
    thread = packs.threads.get("thr_pr_412")
    assert (thread.summary, thread.status, thread.version) == ("PR 412: merged at last", "done", 2)
    assert (thread.natural_key, thread.created_at, thread.event_count) == ("acme/shop#412", first, 3)
    assert "thr_pr_412" in [row.ref for row in packs.recall("merged", memory_type="thread")]
    assert packs.recall("retry", memory_type="thread").rows == ()
    old = packs.recall("retry", memory_type="thread", as_of=first + timedelta(minutes=1))
    assert [row.ref for row in old] == ["thr_pr_412"]


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("source", {"source": ""}),
        ("source", {"source": "a|b"}),
        ("summary", {}),
        ("summary", {"summary": "x" * 501}),
        ("payload", {"payload": {"x": float("nan")}}),
        ("payload", {"payload": {1, 2}}),
        ("media_type", {"payload": b"x", "media_type": "text"}),
        ("occurred_at", {"summary": "x", "occurred_at": "yesterday"}),
        ("trigger_id", {"summary": "x", "trigger_id": "thr_a"}),
        ("external_id", {"summary": "x", "external_id": ""}),
    ],
    ids=str,
)
def test_a_bad_field_is_named(kit: Any, field: str, fields: dict[str, Any]) -> None:
    """A value that cannot be kept is refused by name, and nothing is written."""
    packs = kit.packs()
    packs.threads.create("t", thread_id="thr_t")
    with pytest.raises(InvalidField) as error:
        packs.threads.add_trigger("thr_t", **{"source": "ci", **fields})
    assert error.value.field == field
    assert packs.threads.get("thr_t").event_count == 0


def test_payloads_come_back_to_the_byte(kit: Any, tmp_path: Path) -> None:
    """Bytes, text of every script and JSON are kept as they came; ranges are half-open and cut to what is there."""
    packs = kit.packs()
    packs.threads.create("t", thread_id="thr_t")
    binary = bytes(range(256)) * 40
    cases: list[tuple[Any, bytes, str]] = [
        (binary, binary, "application/octet-stream"),
        ("東京👨‍👩‍👧\x00\r\n", "東京👨‍👩‍👧\x00\r\n".encode(), "text/plain; charset=utf-8"),
        ("", b"", "text/plain; charset=utf-8"),
        ("lone \ud800", "lone \ufffd".encode(), "text/plain; charset=utf-8"),
        ([1, None, {"k": "窯"}], '[1,null,{"k":"窯"}]'.encode(), "application/json"),
        (False, b"false", "application/json"),
    ]
    for value, body, media_type in cases:
        one = packs.threads.add_trigger("thr_t", "ci", payload=value).id
        got = packs.threads.payload(one)
        assert (got.body, got.media_type, got.size, got.start) == (body, media_type, len(body), 0)
    assert packs.threads.payload("trg_0001", 5, 9).body == binary[5:9]
    assert packs.threads.payload("trg_0001", 10_200).body == binary[10_200:]
    assert packs.threads.payload("trg_0001", 10_239, 99_999).body == binary[10_239:]
    assert packs.threads.payload("trg_0001", 10_240).body == b""
    for start, end in ((10_241, None), (5, 4), (-1, None), (True, None), (0, "9")):
        with pytest.raises(InvalidField):
            packs.threads.payload("trg_0001", start, end)  # type: ignore[arg-type]
    assert (
        packs.threads.get_trigger("trg_0001").payload is None and packs.threads.get_trigger("trg_0001").size == 10_240
    )
    packs.threads.add_trigger("thr_t", "ci", summary="nothing with it")
    with pytest.raises(NotFound, match="trigger_id: trg_0007 has no payload"):
        packs.threads.payload("trg_0007")


@pytest.mark.parametrize("mode", ["hard_delete", "redact"])
def test_an_erased_trigger_has_no_payload(kit: Any, mode: str) -> None:
    """What is erased is erased whole: no text in the index, none in the payloads, none in an export."""
    packs = chain(kit)
    packs.forget("trg_0002", mode)
    with pytest.raises(NotFound):
        packs.threads.payload("trg_0002")
    packs.forget("wkr_0001", mode)
    assert packs.search_memory("zebra").rows == ()
    assert "zebra" not in json.dumps(list(packs.export_lines()))
    assert packs.threads.get("thr_pr_412").event_count == (3 if mode == "redact" else 2)


# ---- who sees what


def test_others_see_nothing_of_it(kit: Any) -> None:
    """To another agent every id of a thread is as unknown as one that never was, and free for its own use."""
    chain(kit)
    other = kit.packs("other")
    for read, one in (
        (other.threads.get, "thr_pr_412"),
        (other.threads.get_trigger, "trg_0001"),
        (other.threads.get_worker, "wkr_0001"),
    ):
        with pytest.raises(NotFound) as mine:
            read(one)
        with pytest.raises(NotFound) as never:
            read(one[:-1] + "9")
        assert str(mine.value).replace(one, "ID") == str(never.value).replace(one[:-1] + "9", "ID")
        assert type(mine.value) is NotFound
    for call in (
        lambda: other.threads.add_trigger("thr_pr_412", "ci", summary="x"),
        lambda: other.threads.create_worker("x", ["thr_pr_412"]),
        lambda: other.threads.update("thr_pr_412", status="done"),
        lambda: other.threads.report("wkr_0001", "x"),
        lambda: other.threads.link("thr_pr_412", "trg_0001", "x"),
        lambda: other.forget("thr_pr_412"),
        lambda: other.threads.payload("trg_0002"),
        lambda: other.threads.events("thr_pr_412"),
    ):
        with pytest.raises(NotFound):
            call()
    assert other.threads.create("mine", thread_id="thr_pr_412", natural_key="acme/shop#412").created
    assert other.threads.add_trigger(
        "thr_pr_412", "ci", trigger_id="trg_0001", summary="mine", external_id="m-3"
    ).created
    assert other.threads.get("thr_pr_412").summary == "mine"
    assert kit.packs().threads.get("thr_pr_412").summary == "PR 412: retry the deploy"
    assert kit.packs().threads.get("thr_pr_412").event_count == 3


def test_a_team_reads_and_adds(kit: Any) -> None:
    """Members of the thread's team read it, add events that all of them see, and change nothing that is not theirs."""
    chain(kit, team_id="red")
    mate = kit.packs("mate", "red")
    assert mate.threads.get("thr_pr_412").event_count == 3
    assert mate.threads.get_worker("wkr_0001").team_id == "red"
    one = mate.threads.add_trigger("thr_pr_412", "chat", summary="I look at it").id
    worker = mate.threads.create_worker("Look at it", ["thr_pr_412"]).id
    owner = kit.packs("planner", "red")
    assert walked(owner, "thr_pr_412", 2) == ["trg_0001", "trg_0002", "trg_0003", one]
    assert owner.threads.get("thr_pr_412").owner_workers == ("wkr_0001", worker)
    with pytest.raises(NotFound):
        mate.threads.update("thr_pr_412", status="done")
    with pytest.raises(NotFound):
        mate.threads.report("wkr_0001", "mine")
    with pytest.raises(Conflict):
        mate.threads.add_trigger("thr_pr_412", "ci", trigger_id="trg_0001", summary="x")
    assert kit.packs("planner").threads.get("thr_pr_412").event_count == 3
    with pytest.raises(NotFound):
        kit.packs("stranger", "blue").threads.get_trigger("trg_0001")


def test_a_name_that_two_gave_means_ones_own(kit: Any) -> None:
    """Where an agent sees two records of one name, the id is its own everywhere: in gets, searches and packs."""
    mate = kit.packs("mate", "red")
    mate.threads.create("zebra notes of the mate", thread_id="thr_x")
    kit.packs("planner").threads.create("zebra plan of the team", thread_id="thr_x", team_id="red")
    assert mate.threads.get("thr_x").summary == "zebra notes of the mate"
    assert [(row.ref, row.content) for row in mate.recall("zebra")] == [("thr_x", "zebra notes of the mate")]
    assert [item.id for item in mate.recall_context("").items] == ["thr_x"]
    assert kit.packs("third", "red").threads.get("thr_x").summary == "zebra plan of the team"


@pytest.mark.parametrize("mode", ["soft_delete", "hard_delete"])
def test_a_name_never_comes_to_mean_something_else(kit: Any, mode: str) -> None:
    """What an agent had, or saw in its teams, under a name is what the name means to it, also when that is deleted:
    another record of that name is not read by it, and nobody who could see it gives it again."""
    planner, mate = kit.packs("planner", "red"), kit.packs("mate", "red")
    both, blue = kit.packs("third", "red", "blue"), kit.packs("fourth", "blue")
    mate.threads.create("of the mate alone", thread_id="thr_x")
    planner.threads.create("of red", thread_id="thr_x", team_id="red")
    planner.threads.add_trigger("thr_x", "ci", trigger_id="trg_x", summary="of red")
    blue.threads.create("of blue", thread_id="thr_x", team_id="blue")
    assert (mate.threads.get("thr_x").summary, both.threads.get("thr_x").summary) == ("of the mate alone", "of red")
    mate.forget("thr_x", mode)
    for read in (mate.threads.get, mate.get, mate.threads.events):
        with pytest.raises(Gone):
            read("thr_x")
    planner.forget("trg_x", mode)
    planner.forget("thr_x", mode)
    for read in (both.threads.get, both.get, both.threads.events):
        with pytest.raises(NotFound):
            read("thr_x")
    assert [row.content for row in both.recall("of blue red")] == [] == list(both.threads.list().threads)
    assert (
        [one.id for one in blue.threads.list().threads] == ["thr_x"] == [row.ref for row in blue.recall("of blue red")]
    )
    with pytest.raises(NotFound):
        both.threads.add_trigger("thr_x", "ci", summary="into which?")
    with pytest.raises(Conflict):
        both.threads.create("once more", thread_id="thr_x")
    other = both.threads.create("another").id
    with pytest.raises(Conflict):
        both.threads.add_trigger(other, "ci", trigger_id="trg_x", summary="once more")
    assert blue.threads.get("thr_x").summary == "of blue"
    assert kit.packs("stranger").threads.create("mine", thread_id="thr_x").created
