"""One mistake has one sentence at all doors: exception, stderr, tool error and problem, each in its own envelope."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.shared.exceptions import MCPError

from context_packs.packer import ContextPacks
from context_packs.packer.doors.mcp.server import build_server
from context_packs.packer.errors import ContextPacksError, row_for

from .conftest import Ran, running

AGENT = "planner"


@dataclass(frozen=True)
class Doors:
    """One memory of planner: mem:1 (key k), mem:2 of another agent, mem:3 deleted, thr_a; the library, a client of the
    SDK and a server on the loopback interface open the same file."""

    packs: ContextPacks
    served: Any
    client: Any
    portal: BlockingPortal
    store: Path

    def library(self, method: str, *arguments: Any, **named: Any) -> ContextPacksError:
        called: Any = self.packs
        for name in method.split("."):
            called = getattr(called, name)
        with pytest.raises(ContextPacksError) as told:
            called(*arguments, **named)
        return told.value

    def tool(self, name: str, arguments: dict[str, Any]) -> str:
        """The text of a tool error, or of an error of the protocol."""
        try:
            result = self.portal.call(self.client.call_tool, name, arguments)
        except MCPError as error:
            return str(error)
        assert result.is_error
        (content,) = result.content
        return str(content.text)

    def route(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
        """The status and the detail of a problem."""
        answer = self.served.client.request(method, path, headers=headers, **({} if body is None else {"json": body}))
        assert answer.headers["content-type"] == "application/problem+json"
        return answer.status_code, answer.json()["detail"]


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    store = tmp_path_factory.mktemp("mistakes") / "memory.duckdb"
    with ExitStack() as stack:
        packs = stack.enter_context(ContextPacks.open(store, AGENT, embedder="none"))
        packs.remember("The harbour opens at six.", idempotency_key="k")
        with ContextPacks.open(store, "other", embedder="none") as other:
            assert other.remember("The harbour closes at ten.").id == "mem:2"
        assert packs.forget(packs.remember("The harbour is closed on Mondays.").id).id == "mem:3"
        packs.threads.create("Harbour", thread_id="thr_a")
        served = stack.enter_context(running(store, mode="shared", profile="public"))
        portal = stack.enter_context(start_blocking_portal())
        server = build_server(lambda: packs, "internal")
        client = stack.enter_context(portal.wrap_async_context_manager(Client(server, mode="legacy")))
        yield Doors(packs, served, client, portal, store)


@dataclass(frozen=True)
class Mistake:
    """The same mistake at each door that has a way to make it, and the sentence."""

    line: str
    library: tuple[Any, ...] = ()
    named: dict[str, Any] = field(default_factory=dict)
    argv: tuple[str, ...] = ()
    tool: tuple[str, dict[str, Any]] | None = None
    route: tuple[Any, ...] = ()
    called: str = ""  # what the tool calls the argument at fault, where it has another name


def context(line: str, **fields: Any) -> Mistake:
    """A mistake in what a pack is asked for with."""
    options = [word for name, value in fields.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    tool = ("recall_context", {"query": "x", **fields}) if set(fields) <= {"max_tokens", "max_items"} else None
    body = {"query": "x", **fields}
    return Mistake(
        line, ("recall_context", "x"), fields, ("context", "x", *options), tool, ("POST", "/v1/recall/context", body)
    )


def remembered(line: str, content: str = "x", option: str = "", **fields: Any) -> Mistake:
    """A mistake in what is remembered; `option` is what the command calls the one field."""
    argv = ("remember", content, *((option, str(*fields.values())) if option else ()))
    return Mistake(
        line,
        ("remember", content),
        fields,
        argv if option or not fields else (),
        ("remember", {"content": content, **fields})
        if "timestamp" not in fields and "importance" not in fields
        else None,
        ("POST", "/v1/remember", {"content": content, **fields}),
    )


def ids(line: str, ref: str) -> Mistake:
    """An id that says nothing to the caller."""
    tool = ("forget", {"ref": ref})
    return Mistake(line, ("forget", ref), {}, ("forget", ref), tool, ("POST", f"/v1/memories/{ref}/forget", {}), "ref")


NO_TIME = "is not a time; give RFC 3339 such as 2026-03-01T09:30:00Z, a date, or seconds since 1970"
MISTAKES = {
    "wrong type": context("max_items: '8x' is not a whole number", max_items="8x"),
    "above the range": context("max_tokens: 12001 is above 12000", max_tokens=12_001),
    "below the range": context("max_items: 0 is below 1", max_items=0),
    "not a time": context(f"since: '2026-13-01' {NO_TIME}", since="2026-13-01"),
    "no interval": context("since: must be before until", since="2026-02-01", until="2026-01-01"),
    "unknown profile": context(
        "profile: 'nope' is not known; known: internal, kernel, public, session_start", profile="nope"
    ),
    "no rows": Mistake(
        "limit: -1 is below 0", ("search_memory", "x", -1), {}, ("search", "x", "--limit", "-1"),
        ("search_memory", {"query": "x", "limit": -1}), ("GET", "/v1/memories/search?query=x&limit=-1"),
    ),
    "blank query": Mistake(
        "query: is blank: give words to search for, or * to list", ("search_memory", " "), {}, ("search", " "),
        ("search_memory", {"query": " "}),
    ),
    "blank content": remembered("content: is blank: give the text to remember", " "),
    "too long": remembered("path: is longer than 512 characters: shorten it", option="--path", path="x" * 513),
    "no number from 0 to 1": remembered("importance: 1.5 is above 1", importance=1.5),
    "no timestamp": remembered(f"timestamp: 'yesterday' {NO_TIME}", timestamp="yesterday"),
    "unknown predecessor": remembered(
        "supersedes: there is no record mem:99", option="--supersedes", supersedes="mem:99"
    ),
    "conflict": Mistake(
        "idempotency_key: was used with other content: use a new key or send the same content",
        ("remember", "y"), {"idempotency_key": "k"}, ("remember", "y", "--key", "k"),
        ("remember", {"content": "y", "idempotency_key": "k"}),
        ("POST", "/v1/remember", {"content": "y", "idempotency_key": "k"}),
    ),
    "unknown id": ids("id: there is no record mem:99", "mem:99"),
    "foreign id": ids("id: there is no record mem:2", "mem:2"),
    "deleted": Mistake(
        "id: record mem:3 was deleted", ("get", "mem:3"), {}, ("get", "mem:3"), None, ("GET", "/v1/memories/mem:3")
    ),
    "no mode": Mistake(
        "mode: 'nope' is not one of soft_delete, hard_delete, redact",
        ("forget", "mem:1", "nope"), {}, ("forget", "mem:1", "--mode", "nope"),
        ("forget", {"ref": "mem:1", "mode": "nope"}),
    ),
    "no ids": Mistake(
        "refs: is empty: give at least one", ("get_contents", []), {}, (),
        ("get_contents", {"refs": []}), ("POST", "/v1/get_contents", {"refs": []}),
    ),
    "too many ids": Mistake(
        "refs: has more than 20 entries: give fewer", ("get_contents", ["mem:1"] * 21), {}, (),
        ("get_contents", {"refs": ["mem:1"] * 21}), ("POST", "/v1/get_contents", {"refs": ["mem:1"] * 21}),
    ),
    "no cursor": Mistake(
        "cursor: is not a cursor: give next_cursor or resume_cursor exactly as returned",
        ("threads.events", "thr_a", "nonsense"), {}, ("thread", "thr_a", "--cursor", "nonsense"),
        ("get_chain", {"id": "thr_a", "cursor": "nonsense"}), ("GET", "/threads/thr_a/events?cursor=nonsense"),
    ),
    "unknown thread": Mistake(
        "thread_id: there is no record thr_b", ("threads.get", "thr_b"), {}, ("thread", "thr_b"), None,
        ("GET", "/threads/thr_b"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_one_mistake_has_one_sentence(doors: Doors, run: Callable[..., Ran], name: str) -> None:
    """As the text of the exception, behind `error: `, as the text of the tool error and as the detail of the problem;
    exit code and status are those of the class."""
    mistake = MISTAKES[name]
    method, *arguments = mistake.library
    error = doors.library(method, *arguments, **mistake.named)
    assert str(error) == mistake.line
    row = row_for(error)
    if mistake.argv:
        ran = run("--store", str(doors.store), "--agent", AGENT, *mistake.argv)
        assert (ran.code, ran.out, ran.err) == (row.exit_code, "", f"error: {mistake.line}\n")
    if mistake.tool is not None:
        line = f"{mistake.called}{mistake.line[mistake.line.index(':') :]}" if mistake.called else mistake.line
        assert doors.tool(*mistake.tool) == line
    if mistake.route:
        assert doors.route(*mistake.route) == (row.status, mistake.line)


def test_a_name_that_is_not_there_is_told_with_those_that_are(doors: Doors, run: Callable[..., Ran]) -> None:
    """Fields, tools and commands in one form; options by the nearest ones, or where they are listed."""
    assert str(doors.library("recall_context", "x", foo=1)).startswith("foo: unknown field; known fields: query, ")
    assert doors.tool("recall_context", {"query": "x", "foo": 1}).startswith(
        "foo: unknown field; known fields: query, "
    )
    status, detail = doors.route("POST", "/v1/recall/context", {"query": "x", "foo": 1})
    assert (status, detail.startswith("foo: unknown field; known fields: ")) == (422, True)
    assert doors.tool("fetch", {}).startswith("name: 'fetch' is unknown; known: recall_context, ")
    ran = run("fetch")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: command: 'fetch' is unknown; known: ")
    assert run("context", "x", "--max-item", "3").err.startswith("error: --max-item: unknown option; did you mean ")
    assert run("stats", "--zzz").err == "error: --zzz: unknown option; see context-packs stats --help\n"
    assert doors.route("GET", "/v1/fetch") == (404, "there is no such route")


def test_what_is_missing_is_told_by_its_name(doors: Doors, run: Callable[..., Ran]) -> None:
    """A command, a tool and a route that need something."""
    assert run("get").err == "error: refs: is missing\n"
    assert doors.tool("get_contents", {}) == "refs: is missing"
    assert doors.route("POST", "/v1/get_contents", {}) == (422, "refs: is missing")


def test_a_scope_that_a_credential_lacks_is_told_alike(servers: Callable[..., Any]) -> None:
    """Through a route and through a tool of the same server."""
    served = servers(mode="shared")
    key = served.token("reader", "memory:read")
    refused = served.client.post("/v1/remember", json={"content": "x"}, headers=key)
    assert (refused.status_code, refused.json()["detail"]) == (403, "scope: this credential lacks memory:write")
    called = {"name": "remember", "arguments": {"content": "x"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called}
    accepts = {"Accept": "application/json, text/event-stream"}
    result = served.client.post("/mcp", json=message, headers={**key, **accepts}).json()["result"]
    assert (result["isError"], result["content"][0]["text"]) == (True, "scope: this credential lacks memory:write")
