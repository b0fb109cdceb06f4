"""Several threads, objects and processes on one file lose nothing and see whole batches."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_packs.store.values import Filters, Viewer

WRITER = """
import sys
from context_packs.store.values import Viewer
from context_packs.store.duckstore import DuckStore

store, name, me = DuckStore(sys.argv[1], wait=100), sys.argv[2], Viewer("planner")
print("ready", flush=True)
sys.stdin.readline()
for n in range(int(sys.argv[3])):
    print(store.remember_many([{"content": f"writer {name} line {n}"}], me)[0].id, flush=True)
"""


def start(script: str, *args: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", script, *map(str, args)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def at_once(works: list[Callable[[], None]]) -> list[BaseException]:
    """Run all in threads that start together; what they raised."""
    errors: list[BaseException] = []
    gate = threading.Barrier(len(works))

    def run(work: Callable[[], None]) -> None:
        try:
            gate.wait()
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    return errors


def test_four_processes_lose_nothing(kit: Any) -> None:
    """Four processes × 40 writes at the same time, from the first on: every answered id is there with its own text."""
    writers = [start(WRITER, kit.path, name, 40) for name in "abcd"]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    answered: dict[str, str] = {}
    for name, writer in zip("abcd", writers, strict=True):
        out, err = writer.communicate(timeout=120)
        assert (writer.returncode, err) == (0, "")
        for n, one in enumerate(out.split()):
            assert one not in answered
            answered[one] = f"writer {name} line {n}"
    assert len(answered) == 160
    store = kit.store(mode="shared")
    found = {line["id"]: line["content"] for line in store.export()}
    assert found == answered
    assert set(found) == {f"mem:{n}" for n in range(1, 161)}


MAKER = """
import sys
from context_packs.store.values import Viewer
from context_packs.store.duckstore import DuckStore

print("ready", flush=True)
for line in sys.stdin:
    DuckStore(line.strip()).remember_many([{"content": sys.argv[1]}], Viewer("planner"))
    print("done", flush=True)
"""


def test_two_processes_may_make_the_file_at_once(kit: Any) -> None:
    """Whoever comes first makes the file, the other finds it whole: again and again, and nothing else is left."""
    makers = [start(MAKER, name) for name in ("one", "other")]
    for maker in makers:
        assert maker.stdout is not None and maker.stdout.readline() == "ready\n"
    for n in range(15):
        path = kit.folder / f"{n}.duckdb"
        for maker in makers:
            assert maker.stdin is not None
            maker.stdin.write(f"{path}\n")
            maker.stdin.flush()
        for maker in makers:
            assert maker.stdout is not None and maker.stdout.readline() == "done\n", maker.communicate()[1]
        store = kit.store(path)
        assert sorted(line["content"] for line in store.export()) == ["one", "other"]
        store.close()
    for maker in makers:
        assert maker.communicate(timeout=60) == ("", "")
    assert sorted(
        file.name for file in kit.folder.glob("*.duckdb*") if file.suffix not in (".lock", ".queue")
    ) == sorted(f"{n}.duckdb" for n in range(15))


@pytest.mark.parametrize("mode", ["shared", "exclusive"])
def test_eight_threads_read_and_write_one_object(kit: Any, mode: Any) -> None:
    """Writers, searchers, getters and forgetters on one object: no error, no lost record, no foreign one."""
    packs = kit.packs() if mode == "exclusive" else shared_packs(kit)
    packs.remember("zero line of the beginning")
    written: list[list[str]] = [[] for _ in range(4)]

    def write(k: int) -> None:
        for n in range(10):
            written[k].append(packs.remember(f"thread {k} line {n} of the text").id)
            if n % 5 == 4:
                packs.forget(written[k].pop(), "hard_delete")

    def read(k: int) -> None:
        for n in range(10):
            pack = packs.recall_context(f"line {n}", max_items=5)
            assert pack.budget.used_tokens <= 1500
            assert {row.record.agent_id for row in packs.recall("text", 50)} <= {"planner"}
            assert packs.get("mem:1").content == "zero line of the beginning"

    works = [lambda k=k: write(k) for k in range(4)] + [lambda k=k: read(k) for k in range(4)]
    assert at_once(works) == []
    ids = [one for part in written for one in part]
    assert len(ids) == len(set(ids)) == 32
    assert packs.stats()["records"] == 33
    assert {line["id"] for line in packs.export_lines() if "deleted_at" not in line} == {"mem:1", *ids}


def shared_packs(kit: Any) -> Any:
    from context_packs.packer import ContextPacks

    packs = ContextPacks.open(kit.path, "planner", mode="shared", embedder="none", clock=kit.clock)
    kit.opened.append(packs)
    return packs


def test_two_objects_of_one_process_take_turns(kit: Any) -> None:
    """Objects on one file, in either mode and made at the same moment, write at once and lose nothing."""
    stores: list[Any] = []

    def work(k: int) -> None:
        store = kit.store(mode="exclusive" if k % 2 else "shared")
        stores.append(store)
        for n in range(8):
            store.remember_many([{"content": f"object {k} line {n}"}], Viewer(f"agent{k}"))

    assert at_once([lambda k=k: work(k) for k in range(4)]) == []
    assert [len(list(stores[0].export(Viewer(f"agent{k}")))) for k in range(4)] == [8, 8, 8, 8]


def test_a_reader_sees_whole_batches(kit: Any) -> None:
    """A read begun before a write ends with what it began with; the next one sees all of the batch."""
    store = kit.store()
    store.remember_many([{"content": f"early {n}"} for n in range(3)], kit.me)
    lines = store.export()
    first = next(lines)
    store.remember_many([{"content": f"late {n}"} for n in range(3)], kit.me)
    assert [first["content"], *(line["content"] for line in lines)] == ["early 0", "early 1", "early 2"]
    assert len(list(store.export())) == 6


def test_a_merge_disturbs_no_reader(kit: Any) -> None:
    """Sorting the index while others search changes no answer."""
    store = kit.store()
    store.remember_many([{"content": f"zebra number {n} of the herd"} for n in range(50)], kit.me)
    expected = store.candidates("zebra herd", Filters(), kit.me, 100, 50)

    def merge() -> None:
        for n in range(5):
            store.remember_many([{"content": f"unrelated entry {n}"}], Viewer("other"))
            store.merge()

    def read() -> None:
        for _ in range(10):
            assert store.candidates("zebra herd", Filters(), kit.me, 100, 50) == expected

    assert at_once([merge, read, read]) == []


def test_an_abandoned_export_lets_go_of_the_file(kit: Any, tmp_path: Path) -> None:
    """Who stops reading an export half-way holds nobody up, in this process or another."""
    store = kit.store(mode="shared")
    store.remember_many([{"content": f"line {n}"} for n in range(10)], kit.me)
    lines = store.export()
    next(lines)
    lines.close()
    writer = start(WRITER, kit.path, "other", 1)
    out, err = writer.communicate("go\n", timeout=60)
    assert (out, err) == ("ready\nmem:11\n", "")
    assert store.stats(kit.me)["records"] == 11


LEASED = """
import sys, threading
from context_packs.store.values import Filters, Viewer
from context_packs.store.duckstore import DuckStore

store, me = DuckStore(sys.argv[1], mode="leased", wait=30), Viewer("planner")
store.fetch(["mem:1"], me)
print("ready", flush=True)
stopped = threading.Event()

def read():
    while not stopped.is_set():
        assert store.fetch(["mem:1"], me)

threads = [threading.Thread(target=read) for _ in range(3)]
for thread in threads:
    thread.start()
for n in range(int(sys.argv[2])):
    store.remember_many([{"content": f"leased {sys.argv[3]} {n}"}], me)
print("written", flush=True)
sys.stdin.readline()
stopped.set()
for thread in threads:
    thread.join()
store.close()
"""


def test_a_busy_leased_store_lets_others_in(kit: Any) -> None:
    """Two processes that keep the file while they work, without a pause, and one that opens it for each write: all
    write what they have, and whoever asks waits only for its turn."""
    store = kit.store(mode="shared")
    store.remember_many([{"content": "first"}], Viewer("planner"))
    leased = [start(LEASED, kit.path, 20, name) for name in "xy"]
    for process in leased:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    longest = 0.0
    for n in range(20):
        begun = time.monotonic()
        store.remember_many([{"content": f"shared {n}"}], Viewer("planner"))
        longest = max(longest, time.monotonic() - begun)
    assert longest < 5  # its turn comes within a tenth of a second on an idle machine; never would be the default wait
    for process in leased:
        assert process.stdout is not None and process.stdout.readline() == "written\n"
    for process in leased:
        assert process.communicate("end\n", timeout=60) == ("", "")
        assert process.returncode == 0
    contents = sorted(line["content"] for line in store.export())
    names = [f"leased {name} {n}" for name in "xy" for n in range(20)]
    assert contents == sorted(["first", *names, *(f"shared {n}" for n in range(20))])


def test_an_idle_leased_store_is_let_go_of(kit: Any) -> None:
    """Kept for the next operation, but not from others: one that waits a second has it, and so after close()."""
    script = """
import sys
from context_packs.store.values import Viewer
from context_packs.store.duckstore import DuckStore
store = DuckStore(sys.argv[1], wait=float(sys.argv[2]))
print(store.remember_many([{"content": sys.argv[3]}], Viewer("planner"))[0].id)
"""
    store = kit.store(mode="leased")
    store.remember_many([{"content": "first"}], Viewer("planner"))
    assert start(script, kit.path, 10, "second").communicate(timeout=60) == ("mem:2\n", "")
    assert set(store.fetch(["mem:1", "mem:2"], Viewer("planner"))) == {"mem:1", "mem:2"}
    store.close()
    assert start(script, kit.path, 0, "third").communicate(timeout=60) == ("mem:3\n", "")


def test_a_long_read_of_a_leased_store_does_not_lock_out_its_own_writes(kit: Any) -> None:
    """While one thread walks an export and another process asks for the file, the walker may still write."""
    store = kit.store(mode="leased")
    store.remember_many([{"content": f"record {n}"} for n in range(3)], Viewer("planner"))
    walk = store.export()
    next(walk)
    asking = start(WRITER, kit.path, "other", 1)
    assert asking.stdout is not None and asking.stdin is not None and asking.stdout.readline() == "ready\n"
    asking.stdin.write("go\n")
    asking.stdin.flush()
    for n in range(3):
        store.remember_many([{"content": f"beside the walk {n}"}], Viewer("planner"))
    assert len(list(walk)) == 2
    assert asking.communicate(timeout=60)[1] == ""
    assert len(list(store.export())) == 7
