"""The kinds of processes that share a store in `together.py`, each driven by a thread that times every call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from verdict import COMMAND, call

AGENT = "together"
IMPORTED = 3_000  # records of one imported file

# Library processes: "ready", then a JSON line for each call: seconds, and for a write its id and text.
WRITER = """
import json, sys, time
from context_packs.packer import ContextPacks

store, agent, pause = sys.argv[1], sys.argv[2], float(sys.argv[3])
with ContextPacks.open(store, agent, embedder="none") as packs:
    number = 0
    while True:
        number += 1
        text, begin = f"The library keeps note {number} about topic {number % 17}.", time.perf_counter()
        ref = packs.remember(text, path="library").id
        print(json.dumps([time.perf_counter() - begin, ref, text]), flush=True)
        time.sleep(pause)
"""
READER = """
import json, sys, time
from context_packs.packer import ContextPacks

store, agent, pause = sys.argv[1], sys.argv[2], float(sys.argv[3])
with ContextPacks.open(store, agent, embedder="none") as packs:
    number = 0
    while True:
        number += 1
        begin = time.perf_counter()
        pack = packs.recall_context(f"note about topic {number % 17}", max_tokens=500)
        assert number < 5 or pack.items
        print(json.dumps([time.perf_counter() - begin, "", ""]), flush=True)
        time.sleep(pause)
"""


class Server:
    """`context-packs serve` on a store, reached under `address`."""

    def __init__(self, store: Path) -> None:
        words = [COMMAND, "--store", str(store), "--agent", AGENT, "--quiet", "serve", "--port", "0"]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=_environment())
        assert self._process.stdout is not None
        url = self._process.stdout.readline().strip()
        if not url:
            raise RuntimeError("the server did not start")
        self.address = urlsplit(url).netloc

    def stop(self) -> None:
        """Ask it to end, and wait."""
        self._process.terminate()
        self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("CONTEXT_PACKS_")}


def post(client: HTTPConnection, path: str, body: Any) -> tuple[int, bytes]:
    """Status and body of the answer to a JSON document."""
    client.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    answer = client.getresponse()
    return answer.status, answer.read()


class Kind:
    """One kind of process: what it was told, how long each call took, and what failed."""

    name = ""
    pause = 0.1  # seconds between two calls: agents think

    def __init__(self, store: Path, seconds: float) -> None:
        self.store = store
        self.seconds = seconds
        self.end = 0.0
        self.waits: list[float] = []
        self.errors: list[str] = []
        self.told: dict[str, str] = {}
        self.imported: list[str] = []
        self._thread = threading.Thread(target=self._guarded)

    def start(self) -> None:
        """Begin to work, until the time is over."""
        self.end = time.monotonic() + self.seconds
        self._thread.start()

    def join(self) -> None:
        """Wait until it has stopped."""
        self._thread.join()

    def _guarded(self) -> None:
        try:
            self.run()
        except Exception as error:  # a finding about the product, not the end of the run
            self.errors.append(f"{type(error).__name__}: {error}"[:300])

    def run(self) -> None:
        """Call `once` again and again."""
        number = 0
        while time.monotonic() < self.end:
            number += 1
            begin = time.perf_counter()
            try:
                self.once(number)
            except Exception as error:
                self.errors.append(f"call {number}: {type(error).__name__}: {error}"[:300])
            self.waits.append(time.perf_counter() - begin)
            time.sleep(self.pause)

    def once(self, number: int) -> None:
        """One call."""
        raise NotImplementedError

    def command(self, *words: object, given: str = "") -> str:
        """Standard output of a command that must succeed."""
        run = call("--store", self.store, "--agent", AGENT, *words, given=given)
        if run.returncode:
            raise RuntimeError(f"{words[0]} ended with {run.returncode}: {run.stderr.strip()[-200:]}")
        return run.stdout


class Commands(Kind):
    """A person at a terminal."""

    name = "commands"
    pause = 0.5

    def once(self, number: int) -> None:
        """Remember, read back, or ask."""
        if number % 3 == 1:
            text = f"The terminal keeps note {number} about topic {number % 17}."
            self.told[text] = self.command("remember", text, "--path", "terminal").strip()
        elif number % 3 == 2:
            text, ref = next(reversed(self.told.items()))
            if text not in self.command("get", ref):
                raise RuntimeError(f"{ref} has another text")
        else:
            self.command("context", f"note about topic {number % 17}", "--max-tokens", 500)


class Hooks(Kind):
    """A coding agent's hooks: the start of a session, then prompts."""

    name = "hooks"
    pause = 0.7

    def __init__(self, store: Path, seconds: float) -> None:
        super().__init__(store, seconds)
        self.answered = 0

    def once(self, number: int) -> None:
        """One event; answered where it brings memory."""
        event = "session-start" if number % 3 == 1 else "user-prompt-submit"
        given = {"session_id": f"s{number // 3}", "cwd": str(self.store.parent), "hook_event_name": event}
        given |= {"source": "startup"} if event == "session-start" else {"prompt": "When is the deploy on Friday?"}
        run = call("--store", self.store, "--agent", AGENT, "hook", "claude-code", event, given=json.dumps(given))
        if run.returncode:
            raise RuntimeError(f"hook ended with {run.returncode}: {run.stderr.strip()[-200:]}")
        self.answered += "additionalContext" in run.stdout


class Importer(Kind):
    """An import of some thousand records, and the next one when it is done."""

    name = "importer"
    pause = 2.0

    def once(self, number: int) -> None:
        """One file."""
        texts = [f"Imported line {n} of file {number} about topic {n % 17}." for n in range(IMPORTED)]
        file = self.store.with_name(f"import-{number}.jsonl")
        with file.open("w", encoding="utf-8") as out:
            for n, text in enumerate(texts):
                record = {"content": text, "external_id": f"file{number}:{n}", "path": "imported"}
                out.write(json.dumps(record) + "\n")
        self.command("import", "jsonl", file)
        self.imported += texts


class Looker(Kind):
    """An export, or `doctor`, now and then."""

    pause = 6.0

    def __init__(self, store: Path, seconds: float, name: str) -> None:
        super().__init__(store, seconds)
        self.name = name

    def once(self, number: int) -> None:
        """One of them."""
        self.command(self.name, *([self.store.with_name("export.jsonl")] if self.name == "export" else []))


class Library(Kind):
    """A process of the library in shared mode; it times its own calls."""

    def __init__(self, store: Path, seconds: float, name: str, code: str, pause: float) -> None:
        super().__init__(store, seconds)
        self.name, self._code, self.pause = name, code, pause

    def run(self) -> None:
        """Read what the process tells until the time is over."""
        words = [sys.executable, "-c", self._code, str(self.store), AGENT, str(self.pause)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stderr is not None
            killer = threading.Timer(max(0.0, self.end - time.monotonic()), process.kill)
            killer.start()
            for line in process.stdout:
                if line.endswith("\n"):
                    seconds, ref, text = json.loads(line)
                    self.waits.append(seconds)
                    if ref:
                        self.told[text] = ref
            ended = killer.is_alive()
            killer.cancel()
            if ended:
                self.errors.append(f"ended: {process.stderr.read().strip()[-300:]}")


class Web(Kind):
    """A server and one client on a connection that stays open."""

    name = "server"
    pause = 0.1

    def start(self) -> None:
        """Start the server, which may take its time, then the calls."""
        self._server = Server(self.store)
        self._client = HTTPConnection(self._server.address, timeout=60)
        super().start()

    def run(self) -> None:
        """Call the server, then stop it."""
        try:
            super().run()
        finally:
            self._client.close()
            self._server.stop()

    def once(self, number: int) -> None:
        """Remember, or ask for a pack."""
        if number % 2:
            text = f"The server keeps note {number} about topic {number % 17}."
            status, body = post(self._client, "/v1/remember", {"content": text, "path": "server"})
            if status not in (200, 201):
                raise RuntimeError(f"remember: {status} {body[:200]!r}")
            self.told[text] = json.loads(body)["id"]
        else:
            query = {"query": f"note about topic {number % 17}", "max_tokens": 500}
            status, body = post(self._client, "/v1/recall/context", query)
            if status != 200:
                raise RuntimeError(f"recall: {status} {body[:200]!r}")


class Mcp(Kind):
    """A stdio MCP server and the client of the official SDK."""

    name = "mcp"
    pause = 0.2

    def run(self) -> None:
        """One session for the whole time."""
        anyio.run(self._session)

    async def _session(self) -> None:
        words = ["--store", str(self.store), "--agent", AGENT, "mcp", "--profile", "internal"]
        server = StdioServerParameters(command=COMMAND, args=words)
        async with Client(stdio_client(server)) as client:
            number = 0
            while time.monotonic() < self.end:
                number += 1
                begin = time.perf_counter()
                text = f"The agent keeps note {number} about topic {number % 17}."
                tool, arguments = ("remember", {"content": text, "path": "mcp"})
                if number % 2 == 0:
                    tool, arguments = "recall_context", {"query": f"note about topic {number % 17}"}
                result = await client.call_tool(tool, arguments)
                self.waits.append(time.perf_counter() - begin)
                said = str(result.structured_content or result.content)
                if result.is_error:
                    self.errors.append(f"call {number}: {said[:200]}")
                elif number % 2:
                    self.told[text] = _id_in(result)
                await anyio.sleep(self.pause)


def _id_in(result: Any) -> str:
    document = result.structured_content
    if not isinstance(document, dict):
        document = json.loads(result.content[0].text)
    return str(document["id"])


def crew(store: Path, seconds: float) -> Sequence[Kind]:
    """One of each kind."""
    plain: tuple[Callable[[Path, float], Kind], ...] = (Mcp, Web, Commands, Hooks, Importer)
    return [
        *(kind(store, seconds) for kind in plain),
        Library(store, seconds, "library writer", WRITER, 0.1),
        Library(store, seconds, "library reader", READER, 0.2),
        Looker(store, seconds, "export"),
        Looker(store, seconds, "doctor"),
    ]
