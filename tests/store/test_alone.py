"""The file alone: as bytes, with its log folded in, while nobody has it open."""

import os
import shutil
import subprocess
import sys
import threading
from typing import Any

import pytest

from context_packs.store.errors import InvalidField, StoreLocked, StoreUnavailable

OTHER = """
import sys
from context_packs.store.values import Viewer
from context_packs.store.duckstore import DuckStore
from context_packs.store.errors import StoreLocked
try:
    DuckStore(sys.argv[1], wait=0.1).remember_many([{"content": "of another process"}], Viewer("planner"))
    print("written")
except StoreLocked:
    print("locked")
"""


def other(path: Any) -> str:
    """What another process gets that writes to the store now."""
    run = subprocess.run([sys.executable, "-c", OTHER, str(path)], capture_output=True, text=True, check=True)
    return run.stdout.strip()


@pytest.mark.parametrize("mode", ["shared", "leased", "exclusive"])
def test_a_file_that_is_held_alone_is_whole(kit: Any, mode: Any) -> None:
    """A copy of the bytes is a store with all that was written; others wait meanwhile, and whoever had it goes on."""
    store = kit.store(mode=mode)
    kit.write(store, "first")
    with store.duck.alone() as path:
        assert path == str(kit.path)
        assert not os.path.exists(path + ".wal")
        shutil.copy(path, kit.folder / "copy.duckdb")
        assert other(kit.path) == "locked"
    assert kit.write(store, "second").id == "mem:2"
    assert [line["content"] for line in store.export()] == ["first", "second"]
    assert other(kit.path) == ("locked" if mode == "exclusive" else "written")
    assert [line["content"] for line in kit.store(kit.folder / "copy.duckdb").export()] == ["first"]


@pytest.mark.parametrize("mode", ["shared", "leased", "exclusive"])
def test_a_file_may_be_replaced_while_it_is_held_alone(kit: Any, mode: Any) -> None:
    """What is put in its place, under the lock, is what everybody finds afterwards."""
    store = kit.store(mode=mode)
    kit.write(store, "first")
    with store.duck.alone() as path:
        shutil.copy(path, path + ".draft")
    kit.write(store, "lost with the replacement")
    with store.duck.alone() as path:
        os.replace(path + ".draft", path)
    assert [line["content"] for line in store.export()] == ["first"]
    assert kit.write(store, "second").id == "mem:2"


def test_work_of_other_threads_waits_and_goes_on(kit: Any) -> None:
    """Threads of the same process that read and write meanwhile get their turn, none fails."""
    store = kit.store(mode="leased")
    errors: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for n in range(10):
                store.remember_many([{"content": f"{name} {n}"}], kit.me)
                store.stats(kit.me)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    kit.write(store, "first")
    for thread in threads:
        thread.start()
    for _ in range(5):
        with store.duck.alone() as path:
            assert not os.path.exists(path + ".wal")
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert store.stats(kit.me)["records"] == 21


def test_who_can_not_have_the_file_alone_is_told(kit: Any) -> None:
    """In memory there is no file, a missing one is not made, and a long read of one's own ends the wait."""
    message = r"^store: a store in memory has no file; export it instead$"
    with pytest.raises(InvalidField, match=message), kit.store(":memory:").duck.alone():
        raise AssertionError("entered")
    missing = kit.store(kit.folder / "missing.duckdb", mode="shared")
    with pytest.raises(StoreUnavailable, match=r"^there is no store here yet"), missing.duck.alone():
        raise AssertionError("entered")
    store = kit.store(mode="leased", wait=0.3)
    kit.write(store, "first")
    kit.write(store, "second")
    walk = store.export()
    next(walk)
    with pytest.raises(StoreLocked), store.duck.alone():
        raise AssertionError("entered")
    assert next(walk)["content"] == "second"
    walk.close()
    with store.duck.alone():
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_neither_the_file_nor_its_lock(kit: Any) -> None:
    """A child of a process that holds the store is another process: it is shut out until the parent lets go, and its
    end changes nothing for the parent."""
    script = """
import os, sys, warnings
from context_packs.store.values import Viewer
from context_packs.store.duckstore import DuckStore
from context_packs.store.errors import StoreLocked
me = Viewer("planner")
store = DuckStore(sys.argv[1], mode="exclusive", wait=0.2)
store.remember_many([{"content": "of the parent"}], me)
warnings.simplefilter("ignore")
child = os.fork()
if child == 0:
    try:
        DuckStore(sys.argv[1], wait=0.2).remember_many([{"content": "of the child"}], me)
        os._exit(1)
    except StoreLocked:
        os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
store.remember_many([{"content": "after"}], me)
store.close()
child = os.fork()
if child == 0:
    DuckStore(sys.argv[1], wait=5).remember_many([{"content": "of the child"}], me)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert [line["content"] for line in DuckStore(sys.argv[1]).export()] == ["of the parent", "after", "of the child"]
"""
    run = subprocess.run([sys.executable, "-c", script, str(kit.path)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


def test_a_long_read_of_a_large_store_keeps_nobody_waiting(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An export that is read slowly is of one moment, others write meanwhile, and its copy is gone afterwards."""
    monkeypatch.setattr("context_packs.store.maintenance.snapshot._LARGE", 1)
    store = kit.store(mode="shared")
    for name in ("first", "second"):
        kit.write(store, name)
    lines = store.export()
    assert next(lines)["content"] == "first"
    assert other(kit.path) == "written"
    assert [line["content"] for line in lines] == ["second"]
    assert [line["content"] for line in store.export()] == ["first", "second", "of another process"]
    ends = {"", ".lock", ".queue"}
    assert {file.name for file in kit.folder.iterdir()} == {f"{kit.path.name}{end}" for end in ends}


def test_who_writes_much_gives_way_to_who_waits(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches grow while nobody wants the file and become small as soon as somebody does."""
    wanted: list[bool] = [False, False, True, True, False]
    store = kit.store()
    monkeypatch.setattr(store.duck, "is_wanted", lambda: wanted.pop(0) if wanted else False)
    sizes = [len(batch) for batch in store.remember_batches(({"content": f"line {n}"} for n in range(2000)), kit.me)]
    assert sizes == [250, 500, 1000, 64, 64, 122]


@pytest.mark.parametrize("exchanged", [False, True])
def test_a_read_of_another_thread_waits_until_the_file_is_back(kit: Any, exchanged: bool) -> None:
    """The bytes may be exchanged meanwhile; the thread never looks at a descriptor that is closed."""
    store = kit.store(mode="exclusive")
    kit.write(store, "first")
    answers: list[Any] = []
    reader = threading.Thread(target=lambda: answers.append(set(store.fetch(["mem:1"], kit.me))))
    with store.duck.alone() as path:
        if exchanged:
            shutil.copyfile(path, path + ".copy")
            os.replace(path + ".copy", path)
        reader.start()
        reader.join(0.2)
        assert reader.is_alive() and not answers
    reader.join(10)
    assert answers == [{"mem:1"}]
