"""Compaction: the same store, smaller, and no byte of what was deleted."""

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from context_packs.store.maintenance import blocks

SECRET = "Zyxquartz the unforgettable harbour pass phrase"


def everything(store: Any) -> dict[str, list[Any]]:
    """All rows of all tables but the counters of the index."""
    with store.duck.reading() as session:
        tables = ("records", "links", "payloads", "tokens", "audit", "counters", "vectors")
        return {table: sorted(map(repr, session.rows("FROM query_table($t)", {"t": table}))) for table in tables}


def filled(kit: Any, mode: str = "shared") -> Any:
    store = kit.store(mode=mode)
    for n in range(6):
        store.remember_many([{"content": f"Note {n} {k}: the crane of harbour {k}."} for k in range(30)], kit.me)
    store.chain.create_thread({"thread_id": "thr_a", "summary": "Crane repair"}, kit.me)
    store.chain.add_trigger(
        {"trigger_id": "trg_a", "thread_id": "thr_a", "source": "ci", "payload": {"log": "crane " * 50}}, kit.me
    )
    return store


@pytest.mark.parametrize("mode", ["shared", "leased", "exclusive"])
def test_compaction_changes_no_row(kit: Any, mode: str) -> None:
    """Every row of every table is there afterwards, searches answer the same, and numbers go on."""
    store = filled(kit, mode)
    before, lines, found = everything(store), list(store.export()), kit.find(store, "crane harbour 7")
    done = store.compact()
    assert done.after <= done.before
    assert (done.after, done.reclaimed) == (os.path.getsize(kit.path), done.before - done.after)
    assert everything(store) == before
    assert list(store.export()) == lines
    assert kit.find(store, "crane harbour 7") == found
    assert kit.write(store, "after").id == "mem:181"
    store.close()
    assert blocks.examine(kit.path).sound


@pytest.mark.parametrize("mode", ["shared", "leased", "exclusive"])
@pytest.mark.parametrize("forget", ["hard_delete", "redact"])
def test_no_byte_of_an_erased_text_is_left(kit: Any, mode: str, forget: str) -> None:
    """After the erasure and a compaction neither file nor log nor anything beside them has the text."""
    store = filled(kit, mode)
    secret = kit.write(store, f"{SECRET} and more of it: {SECRET}.", title="Zyxquartz title")
    for n in range(5):
        kit.write(store, f"later note {n}")
    store.forget([secret.id], forget, kit.me)
    store.compact()
    for path in kit.folder.rglob("*"):
        if path.is_file():
            assert b"yxquartz" not in path.read_bytes(), path.name
    assert kit.find(store, "Zyxquartz") == []


def test_what_a_killed_compaction_left_is_taken_away(kit: Any) -> None:
    """A draft folder beside the store is gone after the next compaction, whatever is in it."""
    store = filled(kit)
    folder = kit.folder / "memory.duckdb.compact"
    folder.mkdir()
    (folder / "store.duckdb").write_bytes(b"half of a store")
    store.compact()
    assert not folder.exists()


WRITER = """
import sys
from context_packs.store.values import Viewer
from context_packs.store.duckstore import DuckStore

store, me = DuckStore(sys.argv[1], mode="leased"), Viewer("planner")
while True:
    print(store.remember_many([{"content": "a line of the writer", "dedupe": False}], me)[0].id, flush=True)
"""
COMPACTOR = """
import sys
from context_packs.store.duckstore import DuckStore

store = DuckStore(sys.argv[1])
def stop(table, rows):
    if table == sys.argv[2]:
        print("here", flush=True)
        sys.stdin.read()
store.compact(stop)
"""


@pytest.mark.parametrize("table", ["meta", "records", "postings"])
def test_a_kill_in_the_middle_leaves_the_old_store(kit: Any, table: str) -> None:
    """Killed -9 while it copies a table: the store opens at once and holds everything."""
    store = filled(kit)
    lines = list(store.export())
    store.close()
    command = [sys.executable, "-c", COMPACTOR, str(kit.path), table]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as compactor:
        assert compactor.stdout is not None
        assert compactor.stdout.readline() == "here\n"
        os.kill(compactor.pid, signal.SIGKILL)
        compactor.wait(timeout=60)
    again = kit.store(mode="shared", wait=0.0)
    assert list(again.export()) == lines
    assert again.compact().after > 0
    assert list(again.export()) == lines


def test_a_server_of_another_process_takes_the_new_file(kit: Any) -> None:
    """A process that leases the store writes before and after a compaction by another: nothing is lost."""
    store = filled(kit)
    command = [sys.executable, "-c", WRITER, str(kit.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        try:
            answered = [writer.stdout.readline().strip() for _ in range(5)]
            store.compact()
            answered += [writer.stdout.readline().strip() for _ in range(25)]
        finally:
            writer.kill()
    assert set(answered) <= {line["id"] for line in store.export()}


def test_a_store_in_memory_has_nothing_to_compact(kit: Any) -> None:
    """No error: nothing of it is on disk."""
    store = kit.store(":memory:")
    kit.write(store, "a note")
    assert store.compact().reclaimed == 0
    assert len(list(store.export())) == 1
