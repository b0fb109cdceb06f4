"""MCP over HTTP inside the server: the same gate as the other routes, every call on its own."""

import json
from collections.abc import Callable
from typing import Any

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def ask(client: Any, method: str, headers: dict[str, str] | None = None, **params: Any) -> Any:
    """One message of the protocol, as a client without the SDK sends it."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return client.post("/mcp", json=body, headers={**HEADERS, **(headers or {})})


def call(client: Any, tool: str, headers: dict[str, str] | None = None, **arguments: Any) -> Any:
    """The result of a tool."""
    return ask(client, "tools/call", headers, name=tool, arguments=arguments).json()["result"]


def test_a_client_of_the_sdk_remembers_and_recalls(servers: Callable[..., Any]) -> None:
    """With and without a handshake, with the credential in a header."""
    served = servers()
    key = served.token("reader", "memory:read", "memory:write")

    async def talk(mode: Any) -> str:
        async with (
            httpx2.AsyncClient(headers=key, trust_env=False) as http,
            Client(streamable_http_client(f"{served.url}/mcp", http_client=http), mode=mode) as client,
        ):
            await client.call_tool("remember", {"content": "Backups run nightly."})
            result = await client.call_tool("recall_context", {"query": "backups"})
        return str(result.content[0].text)  # type: ignore[union-attr]

    for mode in ("legacy", "auto"):
        assert anyio.run(talk, mode).startswith("### XMemo Context\nItems: 1\nReference: mem:1 ")
    assert served.packs.store.count() == 1


def test_without_a_credential_nothing_is_told(servers: Callable[..., Any]) -> None:
    """401 as a problem with what to send, for every method of the protocol; bad credentials too."""
    served = servers()
    served.token("reader", "memory:read")
    for headers in ({}, {"X-API-Key": "cpk_0"}):
        for method in ("initialize", "tools/list", "tools/call", "nothing"):
            refused = ask(served.client, method, headers)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"].startswith("Bearer ")
            assert refused.json()["code"] == "unauthorized"


def test_a_tool_that_needs_more_names_the_scope(servers: Callable[..., Any]) -> None:
    """A tool error that the model can read; nothing is written. Reading needs its scope too, by each way."""
    served = servers()
    one = served.packs.remember("backups run nightly").id
    reader, writer = served.token("planner", "memory:read"), served.token("planner", "memory:write")
    assert not call(served.client, "recall", reader, query="backups")["isError"]
    for tool, arguments in (("remember", {"content": "x"}), ("forget", {"ref": one})):
        refused = call(served.client, tool, reader, **arguments)
        assert refused["isError"]
        assert refused["content"][0]["text"] == "scope: this credential lacks memory:write"
        assert refused["_meta"]["context-packs/error"] == {"code": "forbidden", "field": "scope"}
    for tool, arguments in (("recall", {"query": "backups"}), ("recall_context", {"query": "backups"}),
                            ("get_contents", {"refs": [one]}), ("search_memory", {"query": "backups"})):  # fmt: skip
        refused = call(served.client, tool, writer, **arguments)
        assert refused["content"][0]["text"] == "scope: this credential lacks memory:read"
    for method, params in (("resources/read", {"uri": f"context-packs://record/{one}"}),
                           ("prompts/get", {"name": "restore_context"})):  # fmt: skip
        refused = ask(served.client, method, writer, **params).json()["error"]
        assert refused["message"] == "scope: this credential lacks memory:read"
    assert served.packs.store.count() == 1


def test_each_call_sees_the_memory_of_its_credential(servers: Callable[..., Any]) -> None:
    """Two tenants of one server, one after the other and at once; the profile is that of the token."""
    served = servers()
    keys = {name: served.token(name, "memory:read", "memory:write", profile=profile)
            for name, profile in (("anna", "public"), ("boris", "internal"))}  # fmt: skip
    ids = {}
    for name, key in keys.items():
        written = call(served.client, "remember", key, content=f"The key of {name} hangs at the door.")
        ids[name] = json.loads(written["content"][0]["text"])["id"]
    for name, key in keys.items():
        shown = call(served.client, "recall_context", key, query="key door")
        assert f"The key of {name} " in json.dumps(shown)
        assert sum(f"The key of {other} " in json.dumps(shown) for other in keys) == 1
        assert ("structuredContent" in shown) == (name == "boris")
        other = next(one for one in keys if one != name)
        missing = call(served.client, "get_contents", key, refs=[ids[other]])
        assert json.loads(missing["content"][0]["text"]) == {"messages": [], "missing": [ids[other]]}

    async def at_once() -> list[str]:
        seen = []

        async def one(client: httpx2.AsyncClient, name: str) -> None:
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                    "params": {"name": "recall", "arguments": {"query": "key door"}}}  # fmt: skip
            answer = await client.post(f"{served.url}/mcp", json=body, headers={**HEADERS, **keys[name]})
            rows = json.loads(answer.json()["result"]["content"][0]["text"])["messages"]
            seen.append(f"{name}: {', '.join(row['ref'] for row in rows)}")

        async with httpx2.AsyncClient(trust_env=False, timeout=30) as client, anyio.create_task_group() as group:
            for name in [*keys] * 8:
                group.start_soon(one, client, name)
        return seen

    assert sorted(set(anyio.run(at_once))) == [f"{name}: {one}" for name, one in sorted(ids.items())]


def test_there_are_no_sessions_to_open_or_to_lose(servers: Callable[..., Any]) -> None:
    """Only POST is taken; a session id that a client brings from elsewhere changes nothing."""
    client = servers().client
    for method in ("GET", "DELETE", "PUT", "OPTIONS"):
        refused = client.request(method, "/mcp", headers=HEADERS)
        assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
    answer = ask(client, "tools/list", {"Mcp-Session-Id": "of-a-server-that-was-restarted"})
    assert [tool["name"] for tool in answer.json()["result"]["tools"]][:2] == ["recall_context", "recall"]
    assert "mcp-session-id" not in answer.headers


def test_hosts_and_origins_are_checked_by_one_rule(servers: Callable[..., Any]) -> None:
    """L10, L11: the same refusals as on the other routes, and the same names allowed."""
    served = servers(hosts=["memory.example"])
    key = served.token("reader", "memory:read")
    for headers, status in (({"Host": "localhost.evil.example"}, 421), ({"Origin": "http://evil.example"}, 403),
                            ({"Host": "memory.example"}, 200), ({"Origin": "http://localhost:3000"}, 200)):  # fmt: skip
        assert ask(served.client, "tools/list", {**key, **headers}).status_code == status


def test_broken_and_large_messages(servers: Callable[..., Any]) -> None:
    """C5: lone surrogates come in as U+FFFD and a write says so; no JSON and too much of it are refused."""
    served = servers(max_body=100_000)
    params = b'{"name": "remember", "arguments": {"content": "caf\\ud800"}}'
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": %b}' % params
    written = served.client.post("/mcp", content=body, headers=HEADERS).json()["result"]
    assert json.loads(written["content"][0]["text"])["notes"] == ["lone surrogates were replaced by U+FFFD"]
    assert served.packs.get("mem:1").content == "caf\ufffd"
    for broken in (b"", b"{", b"\xff", b"[" * 50_000):
        assert served.client.post("/mcp", content=broken, headers=HEADERS).status_code == 400
    assert served.client.post("/mcp", content=b" " * 100_001, headers=HEADERS).status_code == 413


def test_calls_are_audited_with_the_ids_that_they_touched(servers: Callable[..., Any]) -> None:
    """Reads as text, rows and structures alike, and writes."""
    served = servers()
    key = served.token("planner", "memory:read", "memory:write")
    call(served.client, "remember", key, content="Backups run nightly.")
    for tool, arguments in (("recall_context", {"query": "backups"}), ("recall", {"query": "backups"}),
                            ("get_contents", {"refs": ["mem:1"]}), ("forget", {"ref": "mem:1"})):  # fmt: skip
        call(served.client, tool, key, **arguments)
    call(served.client, "forget", served.token("planner", "memory:read"), ref="mem:1")
    page = served.packs.audit.read(action="mcp forget")
    assert [(entry.object_id, entry.outcome) for entry in page.entries] == [("", 403), ("mem:1", 200)]
    page = served.packs.audit.read(object_id="mem:1")
    assert [entry.action for entry in page.entries] == [
        "mcp forget", "mcp get_contents", "mcp recall", "mcp recall_context", "mcp remember",
    ]  # fmt: skip


def test_each_door_has_its_own_answer_where_nobody_names_a_profile(servers: Callable[..., Any]) -> None:
    """A credential without a profile: REST gives the structured pack, MCP the public text. One that is named holds for
    both."""
    for profile, pack_over_rest, pack_over_mcp in (
        (None, True, False),
        ("internal", True, True),
        ("public", False, False),
    ):
        served = servers()
        key = served.token("reader", "memory:read", "memory:write", profile=profile)
        call(served.client, "remember", key, content="Backups run nightly.")
        over_rest = served.client.post("/v1/recall/context", json={"query": "backups"}, headers=key).json()
        over_mcp = call(served.client, "recall_context", key, query="backups")
        assert ("retrieval_plan" in over_rest, "structuredContent" in over_mcp) == (pack_over_rest, pack_over_mcp)


def test_an_argument_that_is_given_twice_is_a_tool_error(servers: Callable[..., Any]) -> None:
    """As over stdio; a batch and bytes that are no UTF-8 get an error of JSON-RPC."""
    served = servers()
    params = '{"name": "remember", "arguments": {"content": "a", "content": "b"}}'
    body = f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {params}}}'
    told = served.client.post("/mcp", content=body, headers=HEADERS)
    assert (told.status_code, told.json()["result"]["isError"]) == (200, True)
    assert "'content' appears twice" in told.json()["result"]["content"][0]["text"]
    for raw, code in ((b"[" + body.encode() + b"]", -32600), (b"\xff", -32700), (b"{", -32700)):
        told = served.client.post("/mcp", content=raw, headers=HEADERS)
        assert (told.status_code, told.json()["error"]["code"], told.json()["id"]) == (400, code, None)
    assert served.packs.store.count() == 0
