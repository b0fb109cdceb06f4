"""SIGKILL at random points of whatever writes: no acknowledged write is lost, doubled or half there afterwards.

    python tests/bench/kills.py [--kills 500] [--seed 1] [--only remember,import,…] [--json FILE]

Operations of the library run in each mode (shared, leased, exclusive), commands as processes of their own. Each process
tells what was acknowledged; it is killed at a moment drawn from the seed, then the store is opened, which may wait
for nobody, and examined: the rules of `verdict.py`, what was acknowledged, and what the operation promises besides.
Prints a table with the states that were found; exit status 1 where a promise was broken.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kill_checks as checks
from reports import finish, note, table
from verdict import COMMAND, NOT_BUILT, commands, drafts, unsound

VICTIMS = Path(__file__).with_name("victims.py")
LIBRARY = ("remember", "import", "forget", "chain", "merge", "embed", "migration")
COMMANDS = ("backup", "compact", "reindex", "export")
MODES = ("shared", "leased", "exclusive")
NEW_AFTER = 12  # kills after which an operation gets a new store: a large one makes everything slow
SLACK = 0.25  # seconds of a process after its last expected answer, in which it is killed
START = 60.0  # seconds that a process has to come up


class Place:
    """A store that one operation works on in one mode, over several kills."""

    def __init__(self, folder: Path, operation: str, mode: str) -> None:
        self.folder, self.operation, self.mode = folder, operation, mode
        self.kills = 0
        self.number = 0
        self.state: dict[str, Any] = {}
        self.store = folder

    def next(self) -> Path:
        """The store of the next kill, a new one now and then."""
        if self.kills % NEW_AFTER == 0 or self.operation == "migration":
            self.number += 1
            self.store = self.folder / f"{self.operation}-{self.mode}-{self.number}" / "memory.duckdb"
            self.store.parent.mkdir()
            self.state = {}
            checks.fill(self.store, self.operation)
        self.kills += 1
        return self.store


def killed(words: list[str], answers: int, delay: float) -> tuple[list[dict[str, Any]], str]:
    """Run a process, kill it `delay` seconds after so many lines of its own; all lines it told, and its complaints."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        out: list[str] = []
        enough = threading.Event()

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                out.append(line)
                if len(out) >= answers:
                    enough.set()
            enough.set()

        reader = threading.Thread(target=read)
        reader.start()
        if answers:
            enough.wait(START)
        time.sleep(delay)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        reader.join()
        error = process.stderr.read()
        process.wait()
        if process.returncode not in (0, -signal.SIGKILL):
            return [], f"ended with {process.returncode}: {error.strip()[-300:]}"
    told = (
        [json.loads(line) for line in out if line.endswith("\n")] if answers else []
    )  # what a command says is its own
    return told, ""


def strike(place: Place, rng: random.Random, seed: int) -> tuple[str, list[str]]:
    """One kill: the state that was found, and what is wrong."""
    store, operation, mode = place.next(), place.operation, place.mode
    run = f"{seed}k{place.kills}{operation[:2]}{mode[:2]}"
    before = checks.before(store, operation)
    if operation in COMMANDS:
        target = store.with_name(f"{run}.out")
        words = [COMMAND, *checks.words_of(operation, store, target)]
        seconds = checks.seconds_of(operation, store)
        told, complaint = killed(words, 0, rng.uniform(0.4 * seconds, seconds))
    else:
        target = store
        words = [sys.executable, str(VICTIMS), operation, str(store), mode, run]
        most = {"import": 4, "migration": 3, "forget": 30}.get(operation, 16)
        delay = rng.uniform(0.0, SLACK) if rng.random() < 0.5 else rng.uniform(0.0, SLACK / 10)
        told, complaint = killed(words, rng.randrange(1, most), delay)
    if complaint:
        return "failed", [complaint]
    try:
        wrong = unsound(store)  # waits a second at most: whoever died holds nothing
        state, more = checks.AFTER[operation](store, place.state, told, run, before)
        wrong += more + (list(drafts(store)) if operation in COMMANDS else [])
    except Exception as error:  # whatever a damaged store does is a finding, not the end of the run
        return "failed", [f"{type(error).__name__}: {error}"]
    return state, [f"{message} (run {run})" for message in wrong]


def main() -> int:
    """Kill, print what was found, and tell by the exit status whether a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="operations, with commas between")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    there = commands()
    wanted = given.only.split(",") if given.only else [*LIBRARY, *COMMANDS]
    absent = [name for name in COMMANDS if name in wanted and name not in there]
    rng = random.Random(given.seed)
    found: dict[str, Counter[str]] = {name: Counter() for name in wanted}
    wrong: dict[str, list[str]] = {name: [] for name in wanted}
    with tempfile.TemporaryDirectory() as name:
        places = [
            Place(Path(name), operation, mode)
            for operation in wanted
            if operation not in absent
            for mode in (MODES if operation in LIBRARY else ("command",))
        ]
        for kill in range(given.kills if places else 0):
            place = places[kill % len(places)]
            state, messages = strike(place, rng, given.seed)
            found[place.operation][state] += 1
            wrong[place.operation] += [f"{place.operation}, {place.mode}: {message}" for message in messages]
            for message in messages:
                note(f"{place.operation}, {place.mode}: {message}")
            if (kill + 1) % 20 == 0:
                note(f"{kill + 1} of {given.kills} kills, {sum(map(len, wrong.values()))} violations")
    rows = [_row(operation, found[operation], wrong[operation], operation in absent) for operation in wanted]
    print(table(["operation", "kills", "violations", "states found"], rows))
    for message in [message for messages in wrong.values() for message in messages][:30]:
        print(message)
    broken = sum(map(len, wrong.values()))
    document = {"seed": given.seed, "states": {name: dict(states) for name, states in found.items()}, "wrong": wrong}
    finish(document, ["duckdb"], f"kills; seed {given.seed}", given.json)
    return 1 if broken else 0


def _row(operation: str, states: Mapping[str, int], wrong: list[str], absent: bool) -> list[object]:
    if absent:
        return [operation, "–", "–", NOT_BUILT]
    shown = ", ".join(f"{state} {count}" for state, count in sorted(states.items())) or "–"
    return [operation, sum(states.values()), len(wrong), shown]


if __name__ == "__main__":
    sys.exit(main())
