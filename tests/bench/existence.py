"""Can the time of an answer tell whether somebody else's record exists? Median times of foreign and of unknown ids.

    python tests/bench/existence.py [--records 10000] [--rounds 60]

One agent keeps memories, episodes, threads, workers and triggers; another asks for them, alternating with ids that
never were, through the library (shared and exclusive) and over HTTP. A row is a kind of request: both medians, the
median ratio of pairs, and whether the answers were the same but for the id. Ends with 1 where a ratio is above 1.2 or
an answer differs.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from context_packs.packer import ContextPacks
from context_packs.store.errors import StoreError

MOST = 1.2
WARM = 5  # rounds that are not counted
Ask = Callable[[str], Any]


def fill(packs: ContextPacks, count: int) -> dict[str, list[str]]:
    """A store of one agent; ids by kind."""
    kinds: dict[str, list[str]] = {"memory": [], "episode": [], "thread": [], "worker": [], "trigger": []}
    chain = max(20, count // 50)
    for kind, share in (("memory", count - 4 * chain), ("episode", chain)):
        batch = [{"content": f"Note {n} about the harbour of {kind} {n * 7}", "kind": kind} for n in range(share)]
        kinds[kind] = [written.id for written in packs.remember_many(batch)]
    for n in range(chain):
        thread = packs.threads.create(f"Topic {n}", thread_id=f"thr_case_{n}").id
        kinds["thread"].append(thread)
        trigger = packs.threads.add_trigger(thread, "ci", payload={"n": n}, trigger_id=f"trg_event_{n}").id
        kinds["trigger"].append(trigger)
        kinds["worker"].append(packs.threads.create_worker(f"Look at {n}", [thread], worker_id=f"wkr_task_{n}").id)
    return kinds


def unknown(ids: Sequence[str], rng: random.Random) -> list[str]:
    """As many ids of the same form that never were."""
    if ":" in ids[0]:
        prefix, most = ids[0].split(":")[0], max(int(one.split(":")[1]) for one in ids)
        return [f"{prefix}:{most + 1 + rng.randrange(5 * most)}" for _ in ids]
    stem = ids[0].rsplit("_", 1)[0]
    return [f"{stem}_{len(ids) + n}" for n in range(len(ids))]


def library(packs: ContextPacks) -> dict[str, tuple[str, Ask]]:
    """Requests of the library, each with the kind of id that it takes."""
    return {
        "get memory": ("memory", packs.get),
        "get episode": ("episode", packs.get),
        "get_contents": ("memory", lambda one: packs.get_contents([one]).missing),
        "get_contents, named": ("trigger", lambda one: packs.get_contents([one]).missing),
        "forget": ("memory", packs.forget),
        "forget, named": ("thread", packs.forget),
        "revise": ("memory", lambda one: packs.revise(one, title="x")),
        "supersedes": ("memory", lambda one: packs.remember("Mine now", supersedes=one)),
        "get by name": ("thread", packs.get),
        "thread": ("thread", packs.threads.get),
        "events": ("thread", packs.threads.events),
        "update_thread": ("thread", lambda one: packs.threads.update(one, status="closed")),
        "trigger into thread": ("thread", lambda one: packs.threads.add_trigger(one, "ci", payload="x")),
        "worker of thread": ("thread", lambda one: packs.threads.create_worker("x", [one])),
        "worker": ("worker", packs.threads.get_worker),
        "report": ("worker", lambda one: packs.threads.report(one, "x")),
        "trigger": ("trigger", packs.threads.get_trigger),
        "payload": ("trigger", packs.payload),
        "link": ("trigger", lambda one: packs.threads.link(one, one, "x")),
        "link from memory": ("memory", lambda one: packs.threads.link(one, one, "x")),
    }


def http(client: Any, headers: dict[str, str]) -> dict[str, tuple[str, Ask]]:
    """The same over HTTP."""

    def ask(method: str, route: str, body: Any = None) -> Ask:
        def send(one: str) -> Any:
            answer = client.request(method, route.format(one), headers=headers, json=body)
            return answer.status_code, answer.text

        return send

    return {
        "GET memory": ("memory", ask("GET", "/v1/memories/{}")),
        "GET explain": ("memory", ask("GET", "/v1/memories/{}/explain")),
        "PATCH memory": ("memory", ask("PATCH", "/v1/memories/{}", {"title": "x"})),
        "POST forget": ("memory", ask("POST", "/v1/memories/{}/forget", {})),
        "POST usage": ("memory", ask("POST", "/v1/memories/{}/usage", {})),
        "GET thread": ("thread", ask("GET", "/threads/{}")),
        "GET events": ("thread", ask("GET", "/threads/{}/events")),
        "PATCH thread": ("thread", ask("PATCH", "/threads/{}", {"status": "closed"})),
        "GET worker": ("worker", ask("GET", "/workers/{}")),
        "POST report": ("worker", ask("POST", "/workers/{}/report", {"report": "x"})),
        "GET trigger": ("trigger", ask("GET", "/triggers/{}")),
        "GET payload": ("trigger", ask("GET", "/triggers/{}/payload")),
    }


def told(ask: Ask, one: str) -> str:
    """What a request answers, the id taken out."""
    try:
        answer = ask(one)
    except StoreError as error:
        answer = (type(error).__name__, str(error), error.field)
    return json.dumps(answer, default=str).replace(one, "ID")


def measure(name: str, ask: Ask, foreign: Sequence[str], never: Sequence[str], rounds: int) -> bool:
    """One row of the table; whether it is as it should be."""
    times: tuple[list[float], list[float]] = ([], [])
    answers: set[str] = set()
    for n in range(rounds + WARM):
        for side in (0, 1) if n % 2 else (1, 0):
            one = (foreign, never)[side][n % len(foreign)]
            begun = time.perf_counter()
            answer = told(ask, one)
            taken = time.perf_counter() - begun
            answers.add(answer)
            if n >= WARM:
                times[side].append(taken)
    there, not_there = (statistics.median(row) * 1000 for row in times)
    # Of each pair, one right after the other: what else the machine does meanwhile weighs on both.
    ratio = statistics.median(foreign / unknown for foreign, unknown in zip(*times, strict=True))
    ratio = max(ratio, 1 / ratio)
    good = ratio <= MOST and len(answers) == 1
    same = "same" if len(answers) == 1 else f"DIFFERENT {sorted(answers)}"
    print(f"| {name} | {there:.2f} | {not_there:.2f} | {ratio:.2f} | {same} |", flush=True)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    given = parser.parse_args()
    rng = random.Random(1)
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "memory.duckdb"))
        with ContextPacks.open(path, "owner", mode="exclusive") as packs:
            kinds = fill(packs, given.records)
        for ids in kinds.values():
            rng.shuffle(ids)
        never = {kind: unknown(ids, rng) for kind, ids in kinds.items()}

        def table(title: str, rows: dict[str, tuple[str, Ask]]) -> int:
            print(f"\n| {title} | foreign, ms | unknown, ms | ratio | answers |\n|---|---:|---:|---:|---|")
            gc.collect()
            return sum(
                not measure(name, ask, kinds[kind], never[kind], given.rounds)
                for name, (kind, ask) in rows.items()
                if given.only in name
            )

        for mode in ("shared", "exclusive"):
            with ContextPacks.open(path, "stranger", mode=mode) as packs:  # type: ignore[arg-type]
                bad += table(f"library, {mode}", library(packs))
        with ContextPacks.open(path, "owner", mode="exclusive") as packs:
            bad += over_http(packs, table)
    print(f"\n{bad} rows above {MOST} or different" if bad else "\nall within", MOST)
    return int(bad > 0)


def over_http(packs: ContextPacks, table: Callable[[str, dict[str, tuple[str, Ask]]], int]) -> int:
    """The table of the REST door."""
    from starlette.testclient import TestClient

    from context_packs.packer.doors.rest.app import create_app

    secret = packs.tokens.create("stranger", ["memory:read", "memory:write"]).secret
    with TestClient(create_app(packs), base_url="http://127.0.0.1") as client:
        return table("REST, exclusive", http(client, {"X-API-Key": secret}))


if __name__ == "__main__":
    sys.exit(main())
