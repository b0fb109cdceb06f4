"""The MCP door as a process and over HTTP: starting, what stands on stdout, several at once, cancelling."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import mcp_types as types
import pytest
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.message import SessionMessage

from context_packs.packer.doors.mcp_hello import HANDSHAKES, hello, readable, sdk_problem
from context_packs.packer.doors.mcp_server import build_server
from context_packs.packer.service import ContextPacks

COMMAND = str(Path(sys.executable).with_name("context-packs"))
CLIENT = {"name": "test", "version": "1"}


class Wire:
    """A server process spoken to line by line, as a client of any make does."""

    def __init__(self, *command: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            command or (COMMAND, "mcp"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
        )
        self.lines: list[bytes] = []

    def send(self, message: dict[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        line = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """The next line of stdout, which has to be a message of the protocol."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.lines.append(line)
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def ask(self, one: int | str, method: str, **params: Any) -> dict[str, Any]:
        self.send({"id": one, "method": method, "params": params})
        answer = self.answer()
        assert answer["id"] == one
        return answer

    def begin(self, wanted: str = "2025-06-18") -> dict[str, Any]:
        """The handshake; gives the result of `initialize`."""
        answer = self.ask("hello", "initialize", protocolVersion=wanted, capabilities={}, clientInfo=CLIENT)
        self.send({"method": "notifications/initialized"})
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, one: int, tool: str, **arguments: Any) -> str:
        """The text of a tool's answer."""
        text: str = self.ask(one, "tools/call", name=tool, arguments=arguments)["result"]["content"][0]["text"]
        return text

    def end(self) -> tuple[int, bytes]:
        """Close stdin; exit code and stderr. Nothing may be left on stdout."""
        out, err = self.process.communicate(timeout=60)
        assert out == b""
        return self.process.returncode, err


@pytest.fixture
def wires() -> Iterator[Callable[..., Wire]]:
    """Starts server processes and leaves none behind."""
    started: list[Wire] = []

    def start(*command: str, env: dict[str, str] | None = None) -> Wire:
        started.append(Wire(*command, env=env))
        return started[-1]

    yield start
    for wire in started:
        wire.process.kill()
        wire.process.communicate()


# ---- starting: K2, D5


def test_k2_the_handshake_is_answered_within_a_second(store: Path, wires: Callable[..., Wire]) -> None:
    """K2: the best of three cold starts, measured from the start of the process."""
    taken = []
    for _ in range(3):
        started = time.perf_counter()
        wire = wires()
        wire.begin()
        taken.append(time.perf_counter() - started)
        assert wire.end() == (0, b"")
    assert min(taken) < 1.0
    assert not store.exists()


def test_k2_nothing_heavy_is_loaded_before_the_first_answer() -> None:
    """K2: no SDK, no database, no model and no validation library stands between a client and its first answer."""
    script = (
        "import sys\nfrom context_packs.packer.doors import cli, mcp_hello, mcp_stdio\nmcp_hello.require_sdk()\n"
        "print([name for name in ('mcp', 'mcp_types', 'anyio', 'pydantic', '_duckdb', 'numpy') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout == b"[]\n"


@pytest.mark.parametrize("wanted", [*HANDSHAKES, "2099-01-01"])
def test_the_first_answer_is_the_one_of_the_sdk(wanted: str) -> None:
    """What is said before the SDK is there agrees with what it would say, for every revision of the protocol."""
    server = build_server(lambda: pytest.fail("the memory is not needed"))
    params = {"protocolVersion": wanted, "capabilities": {"roots": {}}, "clientInfo": CLIENT}
    said, told = hello(json.dumps({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": params})) or ("", "")

    async def run() -> dict[str, Any]:
        to_server, incoming = anyio.create_memory_object_stream[Any](1)
        outgoing, from_server = anyio.create_memory_object_stream[Any](1)
        async with anyio.create_task_group() as group, to_server, incoming, outgoing, from_server:
            group.start_soon(server.run, incoming, outgoing, server.create_initialization_options())
            await to_server.send(SessionMessage(types.jsonrpc_message_adapter.validate_json(told)))
            answer = (await from_server.receive()).message.model_dump(by_alias=True, exclude_unset=True)
            await to_server.aclose()
        assert isinstance(answer, dict)
        return answer

    assert anyio.run(run) == json.loads(said)


@pytest.mark.parametrize(
    "line",
    [
        "", "\n", "{", "[]", "null", '{"jsonrpc":"2.0","id":1,"method":"ping"}',
        '{"jsonrpc":"2.0","id":true,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"b"}}}',
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5,"capabilities":{},"clientInfo":{"name":"a","version":"b"}}}',
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"x","clientInfo":{"name":"a","version":"b"}}}',
        '{"jsonrpc":"2.0","method":"initialize","params":{}}', "[" * 100_000,
    ],
)  # fmt: skip
def test_anything_else_is_left_to_the_sdk(line: str) -> None:
    """Only a well-formed `initialize` is answered early."""
    assert hello(line) is None


def test_a_client_that_says_nothing_or_nonsense_is_survived(store: Path, wires: Callable[..., Wire]) -> None:
    """stdin closed at once ends the server well; lines that are no message are passed over."""
    assert wires().end() == (0, b"")
    wire = wires()
    wire.begin()
    for line in (b"nonsense", b"\xff\xfe", b"[1]", b'{"jsonrpc":"2.0","id":1}'):
        wire.send(line)
    assert wire.ask(2, "ping")["result"] == {}
    assert wire.end()[0] == 0


# ---- stdout: K1


def test_k1_nothing_but_the_protocol_is_on_stdout(tmp_path: Path, wires: Callable[..., Wire]) -> None:
    """K1: print, file descriptor 1, a child process, warnings and logs all go to stderr."""
    script = tmp_path / "noisy.py"
    script.write_text(
        "import logging, os, subprocess, sys, warnings\n"
        "from context_packs.packer.doors.mcp_stdio import serve_stdio\n"
        "from context_packs.packer.service import ContextPacks\n"
        "def opened():\n"
        "    print('printed'); os.write(1, b'written\\n'); sys.__stdout__.write('old\\n'); sys.__stdout__.flush()\n"
        "    subprocess.run([sys.executable, '-c', 'print(\"child\")'], check=True)\n"
        "    warnings.warn('warned'); logging.getLogger('x').error('logged')\n"
        "    return ContextPacks.open(':memory:')\n"
        "serve_stdio(opened)\n",
        encoding="utf-8",
    )
    wire = wires(sys.executable, "-X", "dev", str(script))
    wire.begin()
    assert json.loads(wire.call(1, "remember", content="backups run nightly"))["id"] == "mem:1"
    code, err = wire.end()
    assert code == 0
    assert all(word in err for word in (b"printed", b"written", b"old", b"child", b"warned", b"logged"))


# ---- the SDK: K4


def test_k4_an_sdk_outside_the_tested_range_is_told_in_one_line(tmp_path: Path) -> None:
    """K4: exit code 2 and one line that names the extra, not a closed connection."""
    info = tmp_path / "mcp-1.9.4.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mcp\nVersion: 1.9.4\n", encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ran = subprocess.run([COMMAND, "mcp"], env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr.decode() == (
        "error: mcp: the MCP SDK 1.9.4 is not of the tested range >=2,<3; "
        "install the extra: pip install 'context-packs[mcp]'\n"
    )
    missing = "mcp: the MCP SDK is not installed; install the extra: pip install 'context-packs[mcp]'"
    assert (sdk_problem(None), sdk_problem("2.3.0"), sdk_problem("2.0.0b1")) == (missing, None, None)
    assert "3.0.0 is not of the tested range" in (sdk_problem("3.0.0") or "")


def test_an_unknown_profile_and_closed_streams_are_refused(store: Path) -> None:
    """Exit code 2, one line, the field named."""
    ran = subprocess.run(
        [COMMAND, "mcp", "--profile", "nope"], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr.startswith(b"error: profile: 'nope' is not known; known are ") and ran.stderr.count(b"\n") == 1
    ran = subprocess.run(["sh", "-c", f'"{COMMAND}" mcp <&- >&-'], capture_output=True, check=False)
    assert (ran.returncode, ran.stderr.count(b"\n")) == (2, 1)


# ---- C5


def test_c5_lone_surrogates_on_the_wire_are_repaired_and_told(store: Path, wires: Callable[..., Wire]) -> None:
    """C5: a line that UTF-8 can not say is answered all the same; a write says that it was repaired; pairs stay."""
    wire = wires()
    wire.begin()
    content = '"caf\\ud800 backups \\ud83d\\ude00 \\\\ud800"'
    params = f'{{"name": "remember", "arguments": {{"content": {content}}}}}'
    wire.send(f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {params}}}'.encode())
    written = json.loads(wire.answer()["result"]["content"][0]["text"])
    assert written["notes"] == ["lone surrogates were replaced by U+FFFD"]
    (row,) = json.loads(wire.call(2, "recall", query="caf\ud800 backups"))["messages"]
    assert row["content"] == "caf\ufffd backups 😀 \\ud800"
    wire.send(
        b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"recall","arguments":{"query":"x","limit":NaN}}}'
    )
    assert wire.answer()["result"]["content"][0]["text"] == "limit: NaN is not a whole number"
    assert wire.end()[0] == 0


def test_a_line_without_lone_surrogates_is_not_touched() -> None:
    """Also where it is no JSON, or nested too deep to be read."""
    for line in ('{"a": "\\ud83d\\ude00"}', '{"a": "\\\\ud800"}', "\\ud800", '"\\ud800' + "[" * 9, "plain"):
        assert readable(line) == line
    assert readable('["\\udc00"]') == '["\\ufffd"]'


# ---- at once: J1, ping, cancel


def test_j1_two_servers_and_a_command_share_one_store(store: Path, wires: Callable[..., Wire]) -> None:
    """J1: each sees at once what another wrote."""
    first, second = wires(), wires()
    first.begin(), second.begin()
    assert json.loads(first.call(1, "remember", content="Backups run nightly."))["id"] == "mem:1"
    assert json.loads(second.call(1, "remember", content="Restores take an hour."))["id"] == "mem:2"
    subprocess.run([COMMAND, "remember", "Audits are yearly."], check=True, capture_output=True)
    for wire in (first, second):
        refs = [row["ref"] for row in json.loads(wire.call(2, "search_memory", query="*"))["messages"]]
        assert sorted(refs) == ["mem:1", "mem:2", "mem:3"]
    assert first.end()[0] == second.end()[0] == 0


def test_a_waiting_call_keeps_back_no_ping_and_can_be_cancelled(store: Path, wires: Callable[..., Wire]) -> None:
    """While a call waits for a store that another process holds, the server answers and lets go of it on demand."""
    holder = ContextPacks.open(store, mode="exclusive")
    holder.remember("backups run nightly")
    wire = wires()
    wire.begin()
    wire.send({"id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "backups"}}})
    assert wire.ask(2, "ping")["result"] == {}
    assert len(wire.ask(3, "tools/list")["result"]["tools"]) == 7
    wire.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
    assert wire.ask(4, "ping")["result"] == {}
    holder.close()
    assert [row["ref"] for row in json.loads(wire.call(5, "recall", query="backups"))["messages"]] == ["mem:1"]
    assert wire.end()[0] == 0
    assert [json.loads(line)["id"] for line in wire.lines] == ["hello", 2, 3, 4, 5]


# ---- the same over every transport


NOW = datetime(2026, 3, 20, 9, tzinfo=UTC)
RECORDS = [
    {"content": f"Backup note {n}: the office keeps copy {n} for {n}0 days. " * 12, "path": f"ops/{n}", "type": "fact",
     "timestamp": "2026-03-01"} for n in range(1, 8)
]  # fmt: skip


def over_http(packs: ContextPacks, profile: str, talk: Callable[[Client], Any]) -> Any:
    """Talk to a server of this process over streamable HTTP on a free port of the loopback interface."""

    async def run() -> Any:
        app = build_server(lambda: packs, profile).streamable_http_app()
        listening = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [listening])
            async with Client(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", mode="legacy") as client:
                answer = await talk(client)
            server.should_exit = True
        return answer

    return anyio.run(run)


def over_stdio(store: Path, profile: str, talk: Callable[[Client], Any]) -> Any:
    """Talk to a server process over its standard streams."""

    async def run() -> Any:
        env = {"CONTEXT_PACKS_STORE": str(store), "CONTEXT_PACKS_AGENT": "planner"}
        parameters = StdioServerParameters(command=COMMAND, args=["mcp", "--profile", profile], env=env)
        with open(os.devnull, "w", encoding="utf-8") as errors:
            async with Client(stdio_client(parameters, errlog=errors), mode="legacy") as client:
                return await talk(client)

    return anyio.run(run)


@pytest.mark.parametrize("profile", ["public", "internal"])
def test_library_stdio_and_http_say_the_same(store: Path, profile: str) -> None:
    """One set of questions to each door: the same facts, only the encoding differs; structures keep to their schema."""
    with ContextPacks.open(store, "planner", clock=lambda: NOW) as packs:
        packs.remember_many(RECORDS)
        asked = [
            ("recall_context", {"query": "backup copy", "max_items": 5, "max_tokens": 400}),
            ("recall", {"query": "backup copy 3", "limit": 4}),
            ("recall_with_context", {"query": "backup copy", "external_context": [RECORDS[0]["content"]]}),
            ("get_contents", {"refs": ["mem:2", "mem:99"]}),
            ("search_memory", {"query": "copy 5"}),
            ("remember", {"content": RECORDS[2]["content"], "path": "ops/3"}),
            ("forget", {"ref": "mem:99"}),
        ]

        async def talk(client: Client) -> list[dict[str, Any]]:
            schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
            answers = []
            for tool, arguments in asked:
                result = await client.call_tool(tool, arguments)
                if profile == "internal" and not result.is_error:
                    jsonschema.validate(result.structured_content, schemas[tool])
                else:
                    assert result.structured_content is None
                answers.append(result.model_dump(mode="json", by_alias=True, exclude={"result_type"}))
            return answers

        by_http = over_http(packs, profile, talk)
        pack = packs.recall_context("backup copy", max_items=5, max_tokens=400, profile=profile)
        rows = packs.recall("backup copy 3", 4)
    by_stdio = over_stdio(store, profile, talk)
    assert by_stdio == by_http
    assert by_stdio[0]["content"][0]["text"] == pack.text
    recalled = json.loads(by_stdio[1]["content"][0]["text"])["messages"]
    assert [row["ref"] for row in recalled] == [row.ref for row in rows]
    assert by_stdio[6]["isError"]


def test_a_client_of_the_stateless_protocol_is_served_too(store: Path, wires: Callable[..., Wire]) -> None:
    """The SDK's client in its own default mode, which asks without a handshake."""

    async def run() -> str:
        parameters = StdioServerParameters(command=COMMAND, args=["mcp"], env={"CONTEXT_PACKS_STORE": str(store)})
        with open(os.devnull, "w", encoding="utf-8") as errors:
            async with Client(stdio_client(parameters, errlog=errors)) as client:
                await client.call_tool("remember", {"content": "Backups run nightly."})
                (content,) = (await client.call_tool("recall_context", {"query": "backups"})).content
        assert isinstance(content, types.TextContent)
        return content.text

    assert anyio.run(run).startswith("### XMemo Context\nItems: 1\nReference: mem:1 ")
