"""A process that dies, and a file that grows: no acknowledged record is lost, nothing stays locked or unbounded."""

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

WRITER = """
import sys
from context_packs.store.values import Viewer
from context_packs.store.duckstore import DuckStore

store, me = DuckStore(sys.argv[1], mode=sys.argv[2]), Viewer("planner")
n = 0
while True:
    n += 1
    text = f"line {n}r{sys.argv[3]}: " + "word " * 50
    one = store.remember_many([{"content": text}], me)[0].id
    print(one, flush=True)
    if n % 7 == 0:
        store.merge()
    if n % 10 == 0:
        store.forget([one], "hard_delete", me)
"""


def killed_after(answers: int, *args: object) -> list[str]:
    """Start the writer, kill it -9 in the middle of its next write; the ids it had answered with."""
    command = [sys.executable, "-c", WRITER, *map(str, args)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None and writer.stderr is not None
        seen = [writer.stdout.readline().strip() for _ in range(answers)]
        os.kill(writer.pid, signal.SIGKILL)
        seen += writer.stdout.read().split()
        assert writer.wait(timeout=60) == -signal.SIGKILL
        assert writer.stderr.read() == ""
    return seen


@pytest.mark.parametrize("mode", ["shared", "exclusive"])
def test_a_killed_writer_loses_nothing_it_answered(kit: Any, mode: str) -> None:
    """Killed while it writes, at several moments: each time the file opens at once, whole, with all it answered."""
    acknowledged: list[str] = []
    for run, answers in enumerate((1, 5, 14, 23)):
        acknowledged += killed_after(answers, kit.path, mode, run)
        store = kit.store(mode="shared", wait=0.0)
        lines = {line["id"]: line for line in store.export()}
        assert set(acknowledged) <= set(lines)
        # At most the one write that was under way may be there without an answer.
        assert len(lines) <= len(acknowledged) + run + 1
        assert sorted(lines, key=lambda one: int(one[4:])) == [f"mem:{n}" for n in range(1, len(lines) + 1)]
        alive = {one for one, line in lines.items() if "word" in line["content"]}
        assert set(kit.find(store, "word line", take=100)) == alive
        kit.write(store, f"after run {run}")
        acknowledged.append(f"mem:{len(lines) + 1}")
        kit.close()


def test_a_dead_owner_locks_nobody_out(kit: Any) -> None:
    """A process that held the file exclusively and was killed leaves no lock behind."""
    killed_after(1, kit.path, "exclusive", 0)
    store = kit.store(mode="exclusive", wait=0.0)
    assert store.get("mem:1", kit.me).content.startswith("line 1r0: ")


def test_many_small_writes_keep_the_file_bounded(kit: Any) -> None:
    """Many writes of one record each take no more than a few times the room of one write of all of them."""
    texts = [f"Note {n}: " + " ".join(f"word{(n * 7 + k) % 500}" for k in range(40)) for n in range(120)]
    one_by_one = kit.store(mode="shared")
    for text in texts:
        kit.write(one_by_one, text)
    at_once = kit.store(kit.folder / "at_once.duckdb", mode="shared")
    at_once.remember_many([{"content": text} for text in texts], kit.me)
    content = sum(map(len, texts))
    assert len(list(one_by_one.export())) == len(texts)
    assert one_by_one.duck.size() < 4 * at_once.duck.size() + 4 * content
    assert not os.path.exists(f"{kit.path}.wal")


def test_the_log_of_a_held_file_is_bounded(kit: Any) -> None:
    """Writing the same record again, and rewriting one, lets neither file nor log grow without end."""
    store = kit.store(mode="exclusive")
    kit.write(store, "the same line")
    for _ in range(100):
        kit.write(store, "the same line")
        store.probe()
    assert store.duck.size() < 3_000_000
    assert store.stats(kit.me)["records"] == 1
