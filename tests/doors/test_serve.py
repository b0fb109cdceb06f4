"""The command `serve` as a process: what it refuses to start with, and how it stops."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from context_packs.packer import ContextPacks
from context_packs.packer.doors.forms.extras import install_extra
from context_packs.packer.doors.rest.serve import listen
from context_packs.packer.errors import InvalidField

COMMAND = str(Path(sys.executable).with_name("context-packs"))


@dataclass(frozen=True)
class Process:
    """A server process and where it listens."""

    running: subprocess.Popen[str]
    port: int

    def client(self, **headers: str) -> httpx.Client:
        return httpx.Client(base_url=f"http://127.0.0.1:{self.port}", headers=headers, trust_env=False, timeout=30)

    def stop(self, how: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Exit code and what stood on stdout behind the address, and on stderr."""
        self.running.send_signal(how)
        out, err = self.running.communicate(timeout=60)
        return self.running.returncode, out, err


@pytest.fixture
def serve(store: Path) -> Iterator[Callable[..., Process]]:
    """Starts server processes on free ports and leaves none behind."""
    started: list[subprocess.Popen[str]] = []

    def start(*options: str) -> Process:
        command = [COMMAND, "serve", "--port", "0", *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8")
        started.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r":(\d+)\D*$", line)
        assert found, (line, process.communicate())
        return Process(process, int(found[1]))

    yield start
    for process in started:
        process.kill()
        process.communicate()


def token(store: Path, *scopes: str) -> str:
    with ContextPacks.open(store, "planner") as packs:
        return packs.tokens.create("planner", scopes).secret


def test_it_says_where_it_listens_and_stops_when_told(serve: Callable[..., Process], store: Path) -> None:
    """The address on stdout, JSON lines on stderr, exit code 0 on SIGTERM and on SIGINT."""
    for how in (signal.SIGTERM, signal.SIGINT):
        server = serve()
        with server.client() as client:
            assert client.get("/health").json()["status"] == "ok"
        code, out, err = server.stop(how)
        assert (code, out) == (0, "")
        lines = [json.loads(line) for line in err.splitlines()]
        assert [line["event"] for line in lines] == ["started", "request", "stopped"]
    with_json = serve("--json", "--quiet")
    with with_json.client() as client:
        client.get("/health")
    assert [json.loads(line)["event"] for line in with_json.stop()[2].splitlines()] == ["started", "stopped"]


def test_stopping_loses_nothing(serve: Callable[..., Process], store: Path) -> None:
    """A request that is under way is answered, its audit entry is kept, and the file is free."""
    secret = token(store, "memory:write")
    server = serve()
    body = json.dumps({"content": "backups run nightly"}).encode()
    head = (
        f"POST /v1/remember HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: {secret}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as wire, server.client() as client:
        wire.sendall(head.encode() + body[:10])
        client.get("/health")  # by now the server has read what was sent before
        server.running.send_signal(signal.SIGTERM)
        client.close()
        assert server.running.stderr is not None
        wire.sendall(body[10:])
        answer = b""
        while part := wire.recv(65_536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 201 Created\r\n")
    assert server.running.wait(timeout=60) == 0
    with ContextPacks.open(store, "planner", mode="exclusive", wait=0.0) as packs:
        assert packs.get("mem:1").content == "backups run nightly"
        (entry,) = packs.audit.read(action="POST /v1/remember").entries
        assert (entry.object_id, entry.outcome) == ("mem:1", 201)


def test_l12_a_wide_bind_needs_a_token_first(
    serve: Callable[..., Process], process: Callable[..., Any], store: Path
) -> None:
    """L12: refused without one in one line; with one every caller needs it, also one of this machine."""
    for host in ("0.0.0.0", "::"):
        ran = process("serve", "--host", host, "--port", "0")
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
        assert ran.err.startswith(f"error: host: {host} can be reached from other machines: make a credential first")
    secret = token(store, "memory:read")
    server = serve("--host", "0.0.0.0", "--allow-host", "memory.example")
    with server.client() as client:
        assert client.get("/v1/auth/token/validate").status_code == 401
        assert client.get("/v1/auth/token/validate", headers={"X-API-Key": secret}).status_code == 200
        named = {"X-API-Key": secret, "Host": "memory.example"}
        assert client.get("/v1/auth/token/validate", headers=named).status_code == 200
        assert client.get("/health", headers={"Host": "other.example"}).status_code == 421


def test_a_port_in_use_and_other_faults_are_told_at_once(process: Callable[..., Any], store: Path) -> None:
    """Exit code 2 and one line that names the option; no store is made for a server that cannot start."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = process("serve", "--port", port)
    assert (ran.code, ran.err) == (2, f"error: port: {port} is in use: end its server or choose another with --port\n")
    for options, field in (
        (("--port", "65536"), "port"), (("--port", "-1"), "port"), (("--port", "x"), "port"),
        (("--host", "no such host"), "host"), (("--host", ""), "host"), (("--profile", "nothing"), "profile"),
        (("--port", "0", "--allow-host", "http://x"), "allow_host"), (("--mode", "other"), "mode"),
    ):  # fmt: skip
        ran = process("serve", "--json", *options)
        assert (ran.code, ran.out, ran.error["field"]) == (2, "", field)
    assert not store.exists()


def test_others_use_the_store_of_a_running_server(
    serve: Callable[..., Process], process: Callable[..., Any], store: Path
) -> None:
    """Commands read and write beside it; each sees at once what the other wrote."""
    server = serve()
    with server.client() as client:
        client.post("/v1/remember", json={"content": "Backups run nightly."}).raise_for_status()
        assert process("get", "mem:1").out == "Backups run nightly.\n"
        assert process("remember", "Restores take an hour.").out == "mem:2\n"
        assert client.get("/v1/memories/mem:2").json()["content"] == "Restores take an hour."


def test_a_revoked_token_is_out_within_a_second(
    serve: Callable[..., Process], process: Callable[..., Any], store: Path
) -> None:
    """Revoked by another process, while the server runs."""
    secret = token(store, "memory:read")
    token(store, "memory:read")
    server = serve("--quiet")  # nobody reads its log here, and a full pipe would stop it
    with ContextPacks.open(store, "planner") as packs, server.client(**{"X-API-Key": secret}) as client:
        assert client.get("/v1/auth/token/validate").status_code == 200
        packs.tokens.revoke(packs.tokens.list()[0].id)
        served = 0
        while client.get("/v1/auth/token/validate").status_code == 200:
            served += 1
            assert served < 5000
        assert client.get("/v1/auth/token/validate").status_code == 401


def test_listening_is_on_one_address_only() -> None:
    """L12: what listens on a loopback address is not reachable by another of this machine's addresses."""
    with listen("127.0.0.1", 0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"
    for host in ("127.0.0.1\0", "\ud800", "a" * 300):
        with pytest.raises(InvalidField, match=r"^host: "):
            listen(host, 0)


def test_a_missing_library_is_told_in_one_line(tmp_path: Path) -> None:
    """K4: the extra is named, not a traceback."""
    script = (
        "import importlib.metadata as m\nreal = m.version\n"
        "def version(name):\n    if name == 'fastapi': raise m.PackageNotFoundError(name)\n    return real(name)\n"
        "m.version = version\nfrom context_packs.packer.doors.cli.commands import main\nmain(['serve'])\n"
    )
    env = {**os.environ, "CONTEXT_PACKS_STORE": str(tmp_path / "x.duckdb")}
    # Elsewhere than in a tree whose build left metadata beside it: that is no installation.
    ran = subprocess.run(
        [sys.executable, "-c", script], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (
        2, "", f"error: serve: fastapi is not installed; {install_extra('serve')}\n",
    )  # fmt: skip
