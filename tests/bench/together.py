"""Processes of every kind on one store: what fails, who waits for how long, and what is there in the end.

    python tests/bench/together.py [--seconds 300] [--backup | --move] [--json FILE]

A stdio MCP server with a client of the official SDK, an HTTP server with a client, commands, hooks of a coding agent,
an importer, a writer and a reader of the library, and an export or `doctor` now and then. Exit status 1 where one call
fails, anything acknowledged is not there exactly once in the end, a call waits for more than 5 s, or fewer than 99 % of
the hooks bring memory. Imports, exports and `doctor` are long by nature: theirs is no wait.

`--backup` makes backups meanwhile: each passes `doctor --full` and gives the packs of what stood before, byte for byte;
the last one those of a plain copy. `--move` takes the file away from under the server: no call that begins afterwards
is answered with 2xx, and each write that was is in the file.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import kinds
from reports import finish, note, percent, table
from verdict import NOT_BUILT, call, commands, doctor, lines, missing, twice, unsound

from context_packs.packer import ContextPacks

LONGEST = 5.0  # seconds that a call may take
ANSWERED = 99.0  # percent of the hooks that bring memory
QUERIES = (
    "smoke test of the shop",
    "which topic has note 12",
    "payments retry",
    "deploy friday",
    "コミットの前に何をする",
)
BASE = "base"  # the agent whose records nobody touches meanwhile
SPARED = ("importer", "export", "doctor")  # long by nature


def begin(store: Path) -> None:
    """A few records of everybody, so that hooks and searches have something to find; and some of the base."""
    subjects = ("deploy on Friday", "payments retry three times", "the smoke test of the shop", "backups at night")
    with ContextPacks.open(store, kinds.AGENT, embedder="none") as packs:
        packs.remember_many(
            {
                "content": f"Decision {n}: {subjects[n % 4]}, as agreed in round {n}.",
                "type": "decision",
                "pinned": n < 5,
            }
            for n in range(200)
        )
        packs.remember("コミットの前に必ずテストを実行する。", path="rules")
        of_base = packs.seen_by(type(packs.viewer)(BASE))
        of_base.remember_many(
            {"content": f"Base note {n}: {subjects[n % 4]} and topic {n % 17}.", "path": f"base/{n % 5}"}
            for n in range(300)
        )


def packs_of(store: Path, agent: str) -> list[str]:
    """The text of a pack for each query."""
    with ContextPacks.open(store, agent, embedder="none", wait=60.0) as packs:
        return [packs.recall_context(query, max_tokens=900).text for query in (*QUERIES, "")]


def rows(work: Sequence[kinds.Kind]) -> list[list[object]]:
    """A row for each kind of process: calls, errors, waits."""
    made = []
    for kind in work:
        waits = sorted(kind.waits) or [0.0]
        times = [waits[len(waits) // 2], waits[len(waits) * 99 // 100], waits[-1]]
        made.append([kind.name, len(kind.waits), len(kind.errors), *(f"{seconds:.3f}" for seconds in times)])
    return made


def judged(store: Path, work: Sequence[kinds.Kind]) -> dict[str, list[str]]:
    """What is wrong, by what was promised."""
    held = lines(store, kinds.AGENT)
    told = {text: ref for kind in work for text, ref in kind.told.items()}
    copies = Counter(line["content"] for line in held if line.get("content"))
    texts = [text for kind in work for text in kind.imported]
    hooks = [kind for kind in work if isinstance(kind, kinds.Hooks)]
    asked, answered = sum(len(one.waits) for one in hooks), sum(one.answered for one in hooks)
    slow = [(kind.name, max(kind.waits)) for kind in work if kind.waits and kind.name not in SPARED]
    return {
        "errors": [f"{kind.name}: {error}" for kind in work for error in kind.errors],
        "idle": [f"{kind.name} came to no call" for kind in work if not kind.waits],
        "lost": missing(told, held)
        + [f"{text[:50]!r} was imported and is there {copies[text]} times" for text in texts if copies[text] != 1],
        "doubled": twice(ref for kind in work for ref in kind.told.values()),
        "waits": [f"{name} waited {seconds:.1f} s" for name, seconds in slow if seconds > LONGEST],
        "hooks": [f"{answered} of {asked} hooks brought memory"] if 100 * answered < ANSWERED * asked else [],
        "unsound": unsound(store) + (doctor(store) or []),
    }


def everybody(store: Path, seconds: float, backups: bool) -> tuple[list[list[object]], dict[str, Any]]:
    """Let all of them work for a while, then judge."""
    begin(store)
    base = packs_of(store, BASE)
    work = kinds.crew(store, seconds)
    more: list[str] = []
    made = 0
    for kind in work:
        kind.start()
    end = time.monotonic() + seconds
    while backups and time.monotonic() < end - seconds / 10:
        time.sleep(seconds / 8)
        target = store.with_name(f"backup-{made}.duckdb")
        more += _backup(store, target, base)
        made += 1
    for kind in work:
        kind.join()
    found = judged(store, work)
    if backups:
        target, copy = store.with_name("backup-last.duckdb"), store.with_name("copy.duckdb")
        more += _backup(store, target, base)
        shutil.copy(store, copy)
        if packs_of(target, kinds.AGENT) != packs_of(copy, kinds.AGENT):
            more.append("the last backup gives other packs than a plain copy")
        found["backups"] = more
    hooks = next(kind for kind in work if isinstance(kind, kinds.Hooks))
    told = sum(len(kind.told) + len(kind.imported) for kind in work)
    facts = {"told": told, "hooks_answered": percent(hooks.answered, len(hooks.waits)), "backups": made + backups}
    return rows(work), {**facts, "wrong": found}


def _backup(store: Path, target: Path, base: list[str]) -> list[str]:
    run = call("--store", store, "backup", target)
    if run.returncode:
        return [f"{target.name} ended with {run.returncode}: {run.stderr.strip()[:200]}"]
    wrong = [f"{target.name}: {message}" for message in doctor(target) or []]
    return wrong + ([] if packs_of(target, BASE) == base else [f"{target.name} gives other packs"])


def moved(store: Path, seconds: float) -> tuple[list[list[object]], dict[str, Any]]:
    """Take the file away while a server takes writes; what is answered afterwards, and what the file holds."""
    begin(store)
    away = store.with_name("away.duckdb")
    server = kinds.Server(store)
    told: dict[str, str] = {}
    wrong: list[str] = []
    codes: Counter[int] = Counter()
    gone = 0.0
    try:
        client = HTTPConnection(server.address, timeout=60)
        start = time.monotonic()
        number = 0
        while time.monotonic() < start + seconds:
            if not gone and time.monotonic() > start + seconds / 2:
                store.rename(away)
                log = store.with_name(store.name + ".wal")
                if log.exists():
                    log.rename(away.with_name(away.name + ".wal"))
                gone = time.monotonic()
            number += 1
            text = f"Note {number} before or after the move."
            status, body = kinds.post(client, "/v1/remember", {"content": text, "path": "moved"})
            if gone:
                codes[status] += 1
                if 200 <= status < 300:
                    wrong.append(f"{text!r} was answered with {status} after the move")
            elif 200 <= status < 300:
                told[text] = json.loads(body)["id"]
            else:
                wrong.append(f"{status} before the move: {body[:100]!r}")
        client.request("GET", "/health")
        health = client.getresponse()
        health.read()
        if 200 <= health.status < 300:
            wrong.append(f"/health answers {health.status} after the move")
        client.close()
    finally:
        server.stop()
    lost = missing(told, lines(away, kinds.AGENT))
    facts = {"told": len(told), "after": {str(code): count for code, count in codes.items()}}
    shown = ", ".join(f"{code}: {count}" for code, count in sorted(codes.items()))
    row = ["writes before", len(told), len(lost), shown]
    return [row], {**facts, "wrong": {"answers": wrong, "lost": lost, "unsound": unsound(away)}}


def main() -> int:
    """Run, print the table, and tell by the exit status whether every target was met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--backup", action="store_true", help="make backups meanwhile")
    parser.add_argument("--move", action="store_true", help="take the file away from under a server")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.backup and "backup" not in commands():
        print(table(["mode", "state"], [["backup", NOT_BUILT]]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "memory.duckdb"
        if given.move:
            head = ["what", "acknowledged", "lost", "answers after the move"]
            body, facts = moved(store, min(given.seconds, 20.0))
        else:
            head = ["kind", "calls", "errors", "median s", "p99 s", "longest s"]
            body, facts = everybody(store, given.seconds, given.backup)
    print(table(head, body))
    wrong: Mapping[str, list[str]] = facts["wrong"]
    if not given.move:
        print(f"Acknowledged: {facts['told']}; hooks with memory: {facts['hooks_answered']} %.")
    print("Wrong: " + ", ".join(f"{kind} {len(messages)}" for kind, messages in wrong.items()) + ".")
    for messages in wrong.values():
        for message in messages[:8]:
            note(message)
            print(message)
    finish(facts, ["duckdb", "mcp"], "calls; seconds from the start of a call to its answer", given.json)
    return 1 if any(wrong.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
