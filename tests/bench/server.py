"""A server under load: packs and exact reads per second over loopback, their times, and the memory that it takes.

    python tests/bench/server.py [--records 100000] [--clients 8] [--seconds 10] [--requests 0] [--json FILE]

`context-packs serve` runs in a process of its own over made-up records (90 words, natural word frequencies); the
clients are connections that are kept open, each with one request under way, in this process. A pack asks one of 4,000
questions and a read names any id, so that hardly anything comes twice; "again" rows draw from 200 of either. The last
row asks only who is calling, which reads no memory: what the server costs without the store. `--requests N` goes on
until N packs and reads are answered and shows how the memory grows.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from reports import finish, note, table
from synthetic import Writer

AGENT = "bench"
QUESTIONS = 4000
AGAIN = 200
COMMAND = str(Path(sys.executable).with_name("context-packs"))


def filled(store: str, size: int) -> None:
    """A store of `size` records, its index sorted."""
    from context_packs.packer.service import ContextPacks

    lines = Path(f"{store}.jsonl")
    with lines.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(record)}\n" for record in Writer(1).records(size))
    done = 0
    with ContextPacks.open(store, AGENT, mode="exclusive") as packs:
        for batch in packs.import_file("jsonl", lines):
            done += len(batch)
            if done % 20_000 == 0:
                note(f"import: {done}/{size}")
    lines.unlink()


@contextmanager
def serving(store: str) -> Iterator[tuple[int, str, subprocess.Popen[str]]]:
    """A running server: its port, a token for it, its process; ended by its id."""
    run = [COMMAND, "--store", store, "--agent", AGENT]
    made = subprocess.run(
        [*run, "token", "create", "--scopes", "memory:read,memory:write", "--profile", "internal"],
        capture_output=True,
        text=True,
        check=True,
    )
    command = [*run, "--quiet", "--json", "serve", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = int(json.loads(server.stdout.readline())["url"].rsplit(":", 1)[1])
        yield port, made.stdout.strip(), server
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)


def resident(process: subprocess.Popen[str]) -> float:
    """Resident memory of a process in MB (10^6 bytes)."""
    fields = Path(f"/proc/{process.pid}/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in fields if line.startswith("VmRSS")) * 1024 / 1e6


async def client(port: int, request: Callable[[], bytes], more: Callable[[], bool], spent: list[float]) -> None:
    """One connection: a request, its answer, and so on while there are more; milliseconds of each."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while more():
        begin = time.perf_counter()
        writer.write(request())
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        body = await reader.readexactly(length)
        spent.append((time.perf_counter() - begin) * 1000)
        if not head.startswith(b"HTTP/1.1 200 "):
            raise SystemExit(f"{head.splitlines()[0].decode()}: {body[:200].decode('utf-8', 'replace')}")
    writer.close()


async def loaded(port: int, clients: int, request: Callable[[], bytes], more: Callable[[], bool]) -> dict[str, float]:
    """All clients at once: answers per second and times."""
    spent: list[float] = []
    begin = time.perf_counter()
    await asyncio.gather(*(client(port, request, more, spent) for _ in range(clients)))
    passed = time.perf_counter() - begin
    ranked = sorted(spent)
    at = {name: ranked[max(0, -(-len(ranked) * part // 1000) - 1)] for name, part in (("p50", 500), ("p99", 990))}
    return {"answers": len(spent), "per s": len(spent) / passed, "p50 ms": at["p50"], "p99 ms": at["p99"]}


def requests(token: str, size: int) -> dict[str, Callable[[], bytes]]:
    """The requests of each kind, another one at each call."""
    chance = random.Random(3)
    texts = Writer(1).queries(QUESTIONS, size)
    common = f"Host: localhost\r\nX-API-Key: {token}\r\n"

    def pack(among: int = QUESTIONS) -> bytes:
        body = json.dumps({"query": texts[chance.randrange(among)], "max_items": 8, "max_tokens": 1500}).encode()
        head = f"POST /v1/recall/context HTTP/1.1\r\n{common}Content-Type: application/json\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def read(among: int = size) -> bytes:
        return f"GET /v1/memories/mem:{chance.randint(1, among)} HTTP/1.1\r\n{common}\r\n".encode()

    def who() -> bytes:
        return f"GET /v1/auth/token/validate HTTP/1.1\r\n{common}\r\n".encode()

    return {
        "recall/context": pack,
        "recall/context again": partial(pack, AGAIN),
        "memories/{id}": read,
        "memories/{id} again": partial(read, AGAIN),
        "auth/token/validate": who,
    }


def within(seconds: float) -> Callable[[], bool]:
    """True until so many seconds have passed."""
    end = time.perf_counter() + seconds
    return lambda: time.perf_counter() < end


def times(count: int) -> Callable[[], bool]:
    """True so many times."""
    left = iter(range(count))
    return lambda: next(left, None) is not None


def growth(port: int, clients: int, kinds: dict[str, Callable[[], bytes]], count: int, of: Any) -> list[dict[str, Any]]:
    """Memory of the server after every tenth of `count` requests, nine reads to a pack."""
    chance = random.Random(5)

    def mixed() -> bytes:
        return kinds["recall/context" if chance.random() < 0.1 else "memories/{id}"]()

    rows = []
    for tenth in range(1, 11):
        asyncio.run(loaded(port, clients, mixed, times(count // 10)))
        rows.append({"requests": tenth * (count // 10), "resident MB": resident(of)})
        note(f"growth: {rows[-1]['requests']}/{count}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--store", help="a store that this command has filled before, or the name for it")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    os.environ["CONTEXT_PACKS_EMBEDDER"] = "none"  # words only, whatever is installed
    with tempfile.TemporaryDirectory() as folder:
        store = given.store or str(Path(folder) / "memory.duckdb")
        if not os.path.exists(store):
            filled(store, given.records)
        with serving(store) as (port, token, server):
            kinds = requests(token, given.records)
            asyncio.run(loaded(port, given.clients, kinds["recall/context"], times(50)))
            rows = {}
            for name, request in kinds.items():
                rows[name] = asyncio.run(loaded(port, given.clients, request, within(given.seconds)))
                rows[name]["resident MB"] = resident(server)
                note(f"{name}: {rows[name]['per s']:.0f} per s")
            grown = growth(port, given.clients, kinds, given.requests, server) if given.requests else []
    columns = ("answers", "per s", "p50 ms", "p99 ms", "resident MB")
    print(table(("route", *columns), [(name, *(f"{row[c]:.1f}" for c in columns)) for name, row in rows.items()]))
    if grown:
        print(table(("requests", "resident MB"), [(row["requests"], f"{row['resident MB']:.0f}") for row in grown]))
    finish(
        {"routes": rows, "growth": grown},
        ("context-packs", "duckdb", "fastapi", "uvicorn"),
        f"{given.records} records, {given.clients} clients, {QUESTIONS} questions, {given.seconds} s a route",
        given.json,
    )


if __name__ == "__main__":
    main()
