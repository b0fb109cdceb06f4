"""Many writers append events of one moment to one thread of a server while readers follow it in small pages.

    python tests/bench/chain.py [--events 5000] [--writers 20] [--readers 3] [--page 7] [--kill] [--json FILE]

With `--kill` the server is ended by SIGKILL once half of the events are acknowledged and started anew on its store;
writers send again what was not acknowledged, readers go on from the cursor they had. At the end every reader must have
met every event once, in the order in which a last reader finds them; the exit status is 1 where one did not.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from reports import finish, table

MOMENT = "2026-03-01T09:30:00Z"
THREAD = "thr_load"
PAUSE = 0.02  # seconds of a reader between two pages of which the first was empty
PATIENCE = 60.0  # seconds in which a server has to come back

Document = dict[str, Any]


class Server:
    """The server's process, which may be killed and started anew under another address."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._turn = threading.Condition()
        self._url = ""
        self.generation = 0

    def start(self) -> None:
        """Start it and wait until it can be reached."""
        words = [str(Path(sys.executable).with_name("context-packs")), "--store", str(self._store), "--quiet"]
        self._process = subprocess.Popen([*words, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        url = self._process.stdout.readline().strip()
        assert url, "the server did not start"
        with self._turn:
            self._url = url
            self.generation += 1
            self._turn.notify_all()

    def kill(self) -> None:
        """End it as a power cut would."""
        self._process.kill()
        self._ended()

    def stop(self) -> None:
        """Ask it to end; it finishes what is running."""
        self._process.terminate()
        self._ended()

    def _ended(self) -> None:
        self._process.wait(PATIENCE)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def address(self, after: int) -> tuple[int, str]:
        """Number and host of the server that was started after the one of number `after`; waits for it."""
        with self._turn:
            if not self._turn.wait_for(lambda: self.generation > after, PATIENCE):
                raise TimeoutError("the server did not come back")
            return self.generation, urlsplit(self._url).netloc


class Client:
    """One connection, made anew where the server was; a request that got no answer is sent again."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._generation = 0
        self._connection: HTTPConnection | None = None
        self.retries = 0

    def call(self, method: str, path: str, body: Document | None = None) -> Document:
        """The document of an answer below 300."""
        data = None if body is None else json.dumps(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        while True:
            if self._connection is None:
                self._generation, host = self._server.address(self._generation)
                self._connection = HTTPConnection(host, timeout=PATIENCE)
            try:
                self._connection.request(method, path, data, headers)
                answer = self._connection.getresponse()
                text = answer.read()
            except (OSError, HTTPException):
                self._connection.close()
                self._connection = None
                self.retries += 1
                continue
            if answer.status >= 300:
                raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]!r}")
            document: Document = json.loads(text)
            return document

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()


class Run:
    """One run: what was acknowledged, and what each reader met, by external id."""

    def __init__(self, server: Server, events: int, writers: int, readers: int, page: int) -> None:
        self.server, self.page = server, page
        self.acknowledged = 0
        self.wanted = [
            [f"{writer}-{n}" for n in range(events // writers + (writer < events % writers))]
            for writer in range(writers)
        ]
        self.met: list[list[str]] = [[] for _ in range(readers)]
        self.pages = self.retries = 0
        self.faults: list[BaseException] = []
        self._lock = threading.Lock()
        self._half = threading.Event()
        self._written = threading.Event()
        self._half_at = events // 2

    def go(self, kill: bool) -> tuple[float, float]:
        """Write and read it all; seconds until everything was written, and until everything was read."""
        writers = [threading.Thread(target=self._guarded, args=(self._write, names)) for names in self.wanted]
        readers = [threading.Thread(target=self._guarded, args=(self._follow, met)) for met in self.met]
        begin = time.perf_counter()
        for one in (*readers, *writers):
            one.start()
        if kill:
            self._half.wait()
            self.server.kill()
            self.server.start()
        for one in writers:
            one.join()
        written = time.perf_counter() - begin
        self._written.set()
        for one in readers:
            one.join()
        if self.faults:
            raise self.faults[0]
        return written, time.perf_counter() - begin

    def _guarded(self, work: Any, what: list[str]) -> None:
        client = Client(self.server)
        try:
            work(client, what)
        except BaseException as error:
            self.faults.append(error)
            self._half.set()
        finally:
            client.close()
            with self._lock:
                self.retries += client.retries

    def _write(self, client: Client, names: Sequence[str]) -> None:
        for name in names:
            event = {"thread_id": THREAD, "source": "load", "summary": f"event {name}", "payload": {"event": name}}
            client.call("POST", "/triggers", {**event, "external_id": name, "occurred_at": MOMENT})
            with self._lock:
                self.acknowledged += 1
                if self.acknowledged >= self._half_at:
                    self._half.set()

    def _follow(self, client: Client, met: list[str]) -> None:
        cursor = ""
        while True:
            last = self._written.is_set()
            names, cursor, more = _page(client, cursor, self.page)
            met += names
            with self._lock:
                self.pages += 1
            if not names and not more:
                if last or self.faults:
                    return
                self._written.wait(PAUSE)


def _page(client: Client, cursor: str, limit: int) -> tuple[list[str], str, bool]:
    query = f"?limit={limit}" + (f"&cursor={quote(cursor)}" if cursor else "")
    document = client.call("GET", f"/threads/{THREAD}/events{query}")
    names = [event["external_id"] for event in document["events"]]
    return names, document["resume_cursor"], document["next_cursor"] is not None


def run(store: Path, events: int, writers: int, readers: int, page: int, kill: bool) -> Document:
    """One run on a new store, judged; see the head of this module."""
    server = Server(store)
    server.start()
    try:
        client = Client(server)
        client.call("POST", "/threads", {"thread_id": THREAD, "summary": "Load"})
        work = Run(server, events, writers, readers, page)
        written, read = work.go(kill)
        client.close()
        client = Client(server)
        order: list[str] = []
        cursor, more = "", True
        while more:
            names, cursor, more = _page(client, cursor, 200)
            order += names
        count = client.call("GET", f"/threads/{THREAD}")["event_count"]
        client.close()
    finally:
        server.stop()
    wanted = {name for names in work.wanted for name in names}
    place = {name: n for n, name in enumerate(order)}
    return {
        "events": events,
        "stored": count,
        "writers": writers,
        "readers": readers,
        "page": page,
        "servers": server.generation,
        "sent_again": work.retries,
        "lost": sum(len(wanted - set(met)) for met in (order, *work.met)),
        "repeated": sum(sum(Counter(met).values()) - len(set(met)) for met in (order, *work.met)),
        "unknown": sum(len(set(met) - wanted) for met in (order, *work.met)),
        "out_of_order": sum(met != order for met in work.met)
        + sum(any(place.get(a, 0) >= place.get(b, 0) for a, b in pairwise(names)) for names in work.wanted),
        "events_per_second": round(events / written, 1),
        "pages_per_second": round(work.pages / read, 1),
        "seconds": round(read, 1),
    }


def main() -> int:
    """Run, print a table, and tell by the exit status whether every promise was kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("events", 5000), ("writers", 20), ("readers", 3), ("page", 7)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = run(Path(folder) / "memory.duckdb", given.events, given.writers, given.readers, given.page, given.kill)
    names = (
        "stored",
        "lost",
        "repeated",
        "unknown",
        "out_of_order",
        "sent_again",
        "events_per_second",
        "pages_per_second",
    )
    print(table([name.replace("_", " ") for name in names], [[found[name] for name in names]]))
    what = f"{given.events} events of {given.writers} writers, {given.readers} readers with pages of {given.page}"
    finish(found, ("context-packs", "duckdb"), what, given.json)
    kept = found["stored"] == given.events and not any(
        found[name] for name in ("lost", "repeated", "unknown", "out_of_order")
    )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
