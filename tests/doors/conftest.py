"""Runs the command line: in this process for most tests, as the installed command where the process itself matters;
and serves memories over HTTP on the loopback interface."""

import io
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from context_packs.packer import ContextPacks
from context_packs.packer.doors.cli.commands import main
from context_packs.packer.doors.rest.app import create_app

COMMAND = str(Path(sys.executable).with_name("context-packs"))


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        (line,) = self.out.splitlines()
        return json.loads(line)

    @property
    def error(self) -> dict[str, Any]:
        """The error on stderr, which is its last line."""
        error: dict[str, Any] = json.loads(self.err.splitlines()[-1])["error"]
        return error


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the store of this test is, or will be."""
    path = tmp_path / "memory.duckdb"
    monkeypatch.setenv("CONTEXT_PACKS_STORE", str(path))
    return path


@pytest.fixture
def run(store: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run a command line in this process: `run("context", "why", stdin=b"")`."""

    def call(*argv: str, stdin: bytes = b"") -> Ran:
        out, err = io.BytesIO(), io.BytesIO()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "ascii"))
        streams = io.TextIOWrapper(out, "ascii"), io.TextIOWrapper(err, "ascii")
        with redirect_stdout(streams[0]), redirect_stderr(streams[1]), pytest.raises(SystemExit) as left:
            main(argv)
        for stream in streams:
            stream.flush()
        assert isinstance(left.value.code, int)
        return Ran(left.value.code, out.getvalue().decode("utf-8"), err.getvalue().decode("utf-8"))

    return call


@pytest.fixture
def process(store: Path) -> Callable[..., Ran]:
    """Run the installed command: `process("context", "why", stdin=b"", env={})`."""

    def call(*argv: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> Ran:
        done = subprocess.run(
            [COMMAND, *map(os.fsencode, argv)],
            input=stdin,
            env={**os.environ, **(env or {})},
            capture_output=True,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    return call


@dataclass
class Served:
    """A memory behind HTTP: the library's object on it, a clock that stands still, and clients."""

    packs: ContextPacks
    url: str
    now: datetime
    stack: ExitStack = field(default_factory=ExitStack)

    def client(self, token: str | None = None, agent: str | None = None, instance: str | None = None) -> httpx.Client:
        """A client with the headers that XMemo clients send."""
        given = {"X-API-Key": token, "X-Memory-OS-Agent-ID": agent, "X-Memory-OS-Agent-Instance-ID": instance}
        headers = {name: value for name, value in given.items() if value is not None}
        return self.stack.enter_context(httpx.Client(base_url=self.url, headers=headers, trust_env=False, timeout=30))

    def on(self, **delta: float) -> None:
        """Move the clock on."""
        self.now += timedelta(**delta)


@contextmanager
def serving(profile: str) -> Iterator[Served]:
    """A server of this process on a free port, over a memory of its own."""
    served = Served(None, "", datetime(2026, 3, 1, 12, 0, tzinfo=UTC))  # type: ignore[arg-type]
    with (
        ContextPacks.open(":memory:", "planner", embedder="none", clock=lambda: served.now) as packs,
        socket.create_server(("127.0.0.1", 0)) as listening,
        served.stack,
    ):
        served.packs, served.url = packs, f"http://127.0.0.1:{listening.getsockname()[1]}"
        app = create_app(packs, profile=profile)
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none", lifespan="on"))
        # The socket listens already: a request that comes before the server is ready waits in its queue.
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield served
        finally:
            served.stack.close()
            server.should_exit = True
            thread.join()


@pytest.fixture
def served() -> Iterator[Served]:
    """A server that answers with packs."""
    with serving("internal") as one:
        yield one


@pytest.fixture
def served_publicly() -> Iterator[Served]:
    """A server that answers with the public text form."""
    with serving("public") as one:
        yield one


@dataclass(frozen=True)
class Running:
    """A real server on a free port of the loopback interface, and a client of it without a credential."""

    packs: ContextPacks
    app: Any
    client: httpx.Client

    @property
    def url(self) -> str:
        return str(self.client.base_url).rstrip("/")

    def token(self, agent: str, *scopes: str, **fields: Any) -> dict[str, str]:
        """The header of a new credential."""
        return {"X-API-Key": self.packs.tokens.create(agent, list(scopes), **fields).secret}


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Starts servers in threads of this process: `servers(mode="shared", profile="internal")`; ends them all."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(running(tmp_path / "served.duckdb", **options))


@contextmanager
def running(path: Path, *, mode: Any = "leased", embedder: Any = "none", **options: Any) -> Iterator[Running]:
    with ContextPacks.open(path, "planner", mode=mode, embedder=embedder) as packs:
        app = create_app(packs, **options)
        listening = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_config=None, access_log=False, ws="none", timeout_graceful_shutdown=10)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            url = f"http://127.0.0.1:{listening.getsockname()[1]}"
            with httpx.Client(base_url=url, timeout=30, trust_env=False) as client:
                client.get("/health")
                yield Running(packs, app, client)
        finally:
            server.should_exit = True
            thread.join()
            listening.close()
