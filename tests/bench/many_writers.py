"""Processes that write to one store at the same moment: is each acknowledged record there, once, under its own id?

    python tests/bench/many_writers.py [--writes 20000] [--processes 6] [--round 600] [--with-readers] [--mode shared]
        [--json FILE]

A round makes a new store; every process waits for the others, then stores records one by one and tells the id of each.
At the end of a round the ids must differ, each text must stand under the id that was told, and the store must be sound.
One process alone does the same work before the first round and after the last: together they should write as fast.
With `--with-readers` a reader, an export and `doctor` run again and again meanwhile. Exit status 1 where anything is
lost, doubled or fails, or where the processes together write less per second than one alone.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reports import finish, note, table
from verdict import COMMAND, doctor, lines, missing, twice, unsound

# The work of a process: it says that it is ready, waits for a line, then writes and tells each id and its own pace.
WRITE = """
import sys, time
from context_packs.packer import ContextPacks

store, name, count, mode = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
with ContextPacks.open(store, "writers", mode=mode, wait=60.0, embedder="none") as packs:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        text = f"Process {name} keeps note {number} about topic {number % 17}."
        begin = time.perf_counter()
        ref = packs.remember(text, path=f"writers/{name}").id
        print(f"{ref} {time.perf_counter() - begin:.6f} {text}", flush=True)
"""
READ = """
import sys
from context_packs.packer import ContextPacks

answers = 0
with ContextPacks.open(sys.argv[1], "writers", wait=60.0, embedder="none") as packs:
    print("ready", flush=True)
    while True:
        packs.recall_context("note about topic 3", max_tokens=400)
        packs.recall("process note", limit=5)
        answers += 2
        print(answers, flush=True)
"""


class Meanwhile:
    """A reader, an export and `doctor`, run again and again until told to stop."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._over = threading.Event()
        self.runs = {"reader": 0, "export": 0, "doctor": 0}
        self.faults: list[str] = []
        self._reader = subprocess.Popen(
            [sys.executable, "-c", READ, str(store)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        out = str(store.with_suffix(".out"))
        self._threads = [
            threading.Thread(target=self._again, args=("export", [COMMAND, "--store", str(store), "export", out])),
            threading.Thread(target=self._again, args=("doctor", [COMMAND, "--store", str(store), "doctor"])),
        ]
        for thread in self._threads:
            thread.start()

    def _again(self, name: str, words: Sequence[str]) -> None:
        while not self._over.is_set():
            run = subprocess.run(words, capture_output=True, text=True, check=False)
            if run.returncode:
                self.faults.append(f"{name} ended with {run.returncode}: {run.stderr.strip()[-200:]}")
            self.runs[name] += 1

    def stop(self) -> None:
        """Let all three end, and count what they did."""
        self._over.set()
        for thread in self._threads:
            thread.join()
        died = self._reader.poll() is not None
        self._reader.kill()
        out, error = self._reader.communicate()
        if died:
            self.faults.append(f"the reader ended: {error.strip()[-200:]}")
        told = out.split()
        self.runs["reader"] = int(told[-1]) if told and told[-1].isdigit() else 0


def write(store: Path, processes: int, each: int, mode: str, *, readers: bool = False) -> dict[str, Any]:
    """One round on a new store: what was told, seconds, waits, and everything that is wrong afterwards."""
    crew = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE, str(store), str(n), str(each), mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(processes)
    ]
    answers: list[str] = []
    faults: list[str] = []
    for one in crew:
        assert one.stdin is not None and one.stdout is not None
        if one.stdout.readline() != "ready\n":
            faults.append("a writer did not start")
    aside = Meanwhile(store) if readers else None
    begin = time.perf_counter()
    for one in crew:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    results: list[tuple[str, str]] = [("", "")] * processes
    collecting = [threading.Thread(target=_collect, args=(one, n, results)) for n, one in enumerate(crew)]
    for thread in collecting:
        thread.start()
    for thread in collecting:
        thread.join()
    seconds = time.perf_counter() - begin
    if aside is not None:
        aside.stop()
        faults += aside.faults
    for one, (out, error) in zip(crew, results, strict=True):
        answers += out.splitlines()
        if one.returncode:
            faults.append(f"a writer ended with {one.returncode}: {error.strip()[-300:]}")
    split = [answer.split(" ", 2) for answer in answers if answer.count(" ") > 1]
    faults += [f"a writer said {answer!r}" for answer in answers if answer.count(" ") < 2]
    told = {text: ref for ref, _, text in split}
    return {
        "told": len(split),
        "seconds": seconds,
        "waits": [float(wait) for _, wait, _ in split],
        "lost": missing(told, lines(store, "writers")),
        "doubled": twice(ref for ref, _, _ in split),
        "faults": faults + unsound(store) + (doctor(store) or []),
        "aside": aside.runs if aside is not None else {},
    }


def _collect(process: subprocess.Popen[str], place: int, results: list[tuple[str, str]]) -> None:
    results[place] = process.communicate()


def main() -> int:
    """Run the rounds, print a table, and tell by the exit status whether all was kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writes", type=int, default=20_000)
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--round", type=int, default=600, help="writes of one round")
    parser.add_argument("--mode", choices=("shared", "leased"), default="shared")
    parser.add_argument("--with-readers", action="store_true")
    parser.add_argument("--any-pace", action="store_true", help="do not compare with one process alone")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    each = max(1, given.round // given.processes)
    total: dict[str, Any] = {"told": 0, "seconds": 0.0, "rounds": 0}
    waits: list[float] = []
    wrong: dict[str, list[str]] = {"lost": [], "doubled": [], "faults": []}
    aside = {"reader": 0, "export": 0, "doctor": 0}
    alone: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def by_itself() -> None:
            found = write(folder / f"alone-{len(alone)}.duckdb", 1, max(20, min(300, each)), given.mode)
            alone.append(found["told"] / found["seconds"])
            wrong["faults"] += found["faults"] + found["lost"]

        if not given.any_pace:
            by_itself()
        while total["told"] < given.writes and not wrong["faults"]:
            found = write(
                folder / f"round-{total['rounds']}.duckdb",
                given.processes,
                each,
                given.mode,
                readers=given.with_readers,
            )
            for key in ("told", "seconds"):
                total[key] += found[key]
            total["rounds"] += 1
            waits += found["waits"]
            for key in wrong:
                wrong[key] += found[key]
            for key, count in found["aside"].items():
                aside[key] += count
            note(f"{total['told']} of {given.writes} written, {len(wrong['lost'])} lost")
            for path in folder.glob(f"round-{total['rounds'] - 1}*"):
                path.unlink()
        if not given.any_pace:
            by_itself()
    waits.sort()
    pace, single = total["told"] / (total["seconds"] or 1), sum(alone) / max(1, len(alone))
    counts = {kind: len(found) for kind, found in wrong.items()}
    head = ["rounds", "acknowledged", "lost", "ids given twice", "faults", "writes/s", "one alone/s", "p50 ms"]
    row = [total["rounds"], total["told"], *counts.values(), f"{pace:.1f}", f"{single:.1f}"]
    print(table([*head, "p99 ms", "longest s"], [[*row, *_quantiles(waits)]]))
    if given.with_readers:
        print(f"Meanwhile: {', '.join(f'{name} {count}' for name, count in aside.items())}.")
    for message in [message for found in wrong.values() for message in found][:20]:
        print(message)
    slow = pace < single and not given.with_readers and not given.any_pace
    if slow:
        print(f"{given.processes} processes wrote {pace:.1f} records a second, one alone {single:.1f}")
    document = {"told": total["told"], **counts, "writes_per_second": round(pace, 1), "alone": round(single, 1)}
    said = "acknowledged writes; writes/s of a round from the first start to the last answer"
    finish({**document, "aside": aside}, ["duckdb"], said, given.json)
    return 1 if slow or any(counts.values()) or total["told"] < given.writes else 0


def _quantiles(waits: Sequence[float]) -> tuple[str, str, str]:
    if not waits:
        return "–", "–", "–"
    return (
        f"{1000 * waits[len(waits) // 2]:.1f}",
        f"{1000 * waits[len(waits) * 99 // 100]:.1f}",
        f"{waits[-1]:.2f}",
    )


if __name__ == "__main__":
    sys.exit(main())
