"""One body of questions over the library, MCP over stdio and MCP over HTTP: the same facts, only encodings differ."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import jsonschema
import mcp_types as types
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from context_packs.packer.errors import ContextPacksError, row_for
from context_packs.packer.service import ContextPacks

COMMAND = str(Path(sys.executable).with_name("context-packs"))
AGENT = "planner"
LONG = "港の事務所はバックアップを九十日間保管する。The office keeps its copies for ninety days. " * 30
RECORDS = [
    {"content": "Backups run nightly at two.", "path": "ops/backup", "type": "fact", "timestamp": "2026-03-01"},
    {"content": "We restore from backups once a year, in May.", "path": "ops/restore", "type": "decision",
     "timestamp": "2026-03-02T10:00:00Z", "external_id": "chat-7", "source": {"name": "chat", "line": 3}},
    {"content": f"{LONG}However, backups of the harbour are kept for ever. {LONG}", "path": "ops/harbour",
     "timestamp": "2026-03-03"},
    {"content": "茶は緑茶がよい👩‍👩‍👧‍👦。", "path": "home", "timestamp": "2026-03-04"},
    {"content": "Somebody else's backups are none of ours.", "agent_id": "somebody-else"},
]  # fmt: skip


class Facts(Protocol):
    """What can be asked of the memory, through any door. Each gives plain values; `told` of an error its class and
    the field at fault."""

    cuts: bool  # whether rows are cut here: only doors do that
    profile: str

    def context(self, query: str, **limits: int) -> str: ...

    def rows(self, tool: str, **arguments: Any) -> dict[str, Any]: ...

    def write(self, tool: str, **arguments: Any) -> dict[str, Any]: ...

    def told(self, tool: str, **arguments: Any) -> tuple[str, str | None]: ...


class Library:
    """The object itself."""

    cuts = False

    def __init__(self, packs: ContextPacks, profile: str) -> None:
        self._packs, self.profile = packs, profile

    def context(self, query: str, **limits: int) -> str:
        return self._packs.recall_context(query, profile=self.profile, **limits).text

    def rows(self, tool: str, **arguments: Any) -> dict[str, Any]:
        found = getattr(self._packs, tool)(**arguments)
        if tool == "get_contents":
            shown = [(record, None) for record in found.records]
            facts = {"missing": list(found.missing)}
        else:
            shown = [(row.record, round(row.confidence, 4)) for row in found]
            facts = {"excluded": found.excluded, "more": found.more, "empty_filter": found.plan.get("empty_filter")}
            if shown:
                facts["empty_filter"] = None
        messages = []
        for record, confidence in shown:
            row = {"ref": record.id, "content": record.content, "source": dict(record.source), "path": record.path}
            row |= {"timestamp": f"{record.created_at:%Y-%m-%dT%H:%M:%SZ}", "type": record.type}
            row |= {"id": record.external_id, "confidence": confidence}
            messages.append({name: value for name, value in row.items() if value is not None})
        if tool == "recall_with_context":
            messages += [dict(entry) for entry in found.context]
        return {"messages": messages, **{name: value for name, value in facts.items() if value or name == "missing"}}

    def write(self, tool: str, **arguments: Any) -> dict[str, Any]:
        done = getattr(self._packs, tool)(**arguments)
        if tool == "forget":
            told = {"id": done.id, "status": done.mode, "erased": done.erased}
            return {**told, "derived_count": done.derived_count, "derived": list(done.derived)}
        status = "created" if done.created else "updated" if done.updated else "existing"
        return {"id": done.id, "status": status, "version": done.version}

    def told(self, tool: str, **arguments: Any) -> tuple[str, str | None]:
        with pytest.raises(ContextPacksError) as raised:
            getattr(self._packs, tool)(**arguments)
        field = raised.value.field
        return row_for(raised.value).mcp, "ref" if field == "id" else field  # a tool says how its argument is called


class Tools:
    """The tools of a server, called by the SDK's client; structures are held against the declared schemas."""

    cuts = True

    def __init__(self, client: Client, portal: BlockingPortal, profile: str) -> None:
        self._client, self._portal, self.profile = client, portal, profile
        self._structured = profile == "internal"
        listed = portal.call(client.list_tools).tools
        self._schemas = {tool.name: tool.output_schema for tool in listed}
        assert all((schema is not None) == self._structured for schema in self._schemas.values())

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[types.CallToolResult, str]:
        result = self._portal.call(partial(self._client.call_tool, tool, dict(arguments)))
        (content,) = result.content
        assert isinstance(content, types.TextContent)
        return result, content.text

    def _answer(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, Any]:
        """Text and structure of a call that went well."""
        result, text = self._call(tool, arguments)
        assert not result.is_error, text
        if self._structured:
            jsonschema.validate(result.structured_content, self._schemas[tool])
        else:
            assert result.structured_content is None
        return text, result.structured_content

    def context(self, query: str, **limits: int) -> str:
        text, structure = self._answer("recall_context", {"query": query, **limits})
        assert structure is None or structure["context_text"] in text
        return text

    def rows(self, tool: str, **arguments: Any) -> dict[str, Any]:
        text, structure = self._answer(tool, arguments)
        document: dict[str, Any] = json.loads(text)
        assert structure in (None, document)
        return document

    write = rows

    def told(self, tool: str, **arguments: Any) -> tuple[str, str | None]:
        result, text = self._call(tool, arguments)
        assert result.is_error and "\n" not in text and result.structured_content is None
        error = (result.meta or {})["context-packs/error"]
        return error["code"], error.get("field")


@contextmanager
def served(store: Path, profile: str) -> Iterator[str]:
    """A server on a free port of the loopback interface; its address."""
    command = [COMMAND, "serve", "--port", "0", "--profile", profile, "--agent", AGENT, "--store", str(store)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.fixture(
    params=[f"{door} {profile}" for door in ("library", "stdio", "http") for profile in ("public", "internal")]
)
def facts(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Facts]:
    """The same memory behind each door."""
    store = tmp_path / "memory.duckdb"
    with ContextPacks.open(store, AGENT, embedder="none") as packs:
        packs.remember_many(RECORDS)
    door, _, profile = request.param.partition(" ")
    with ExitStack() as stack:
        if door == "library":
            yield Library(stack.enter_context(ContextPacks.open(store, AGENT, embedder="none")), profile)
            return
        portal = stack.enter_context(start_blocking_portal())
        if door == "stdio":
            arguments = ["mcp", "--profile", profile, "--agent", AGENT, "--store", str(store)]
            errors = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
            target: Any = stdio_client(StdioServerParameters(command=COMMAND, args=arguments), errlog=errors)
        else:
            target = f"{stack.enter_context(served(store, profile))}/mcp"
        client = stack.enter_context(portal.wrap_async_context_manager(Client(target, mode="legacy")))
        yield Tools(client, portal, profile)


PACKS = {
    "public": (
        "### XMemo Context\n"
        "Items: 2\n"
        "Reference: mem:2 | Type: decision | Location: ops/restore\n"
        "Reference: mem:1 | Type: fact | Location: ops/backup\n"
        "Context:\n"
        "[1] 2026-03-02\n We restore from backups once a year, in May.\n\n"
        "[2] 2026-03-01\n Backups run nightly at two."
    ),
    "internal": (
        "[1] mem:2 decision ops/restore 2026-03-02\n We restore from backups once a year, in May.\n\n"
        "[2] mem:1 fact ops/backup 2026-03-01\n Backups run nightly at two."
    ),
}
NOTHING = "No matching XMemo memory was found."


def test_every_door_tells_the_same_facts(facts: Facts) -> None:
    """Packs to the byte, rows, whole records, writes, searches and errors by class and field."""
    # packs
    pack = facts.context("When do backups run, when do we restore?", max_items=2, max_tokens=200)
    assert pack == PACKS[facts.profile]
    bare = isinstance(facts, Library) and facts.profile == "internal"  # whoever holds the pack reads its state
    assert facts.context("zzqqy weather on Mars") == ("" if bare else NOTHING)
    # rows
    restored = {
        "ref": "mem:2", "content": "We restore from backups once a year, in May.", "path": "ops/restore",
        "source": {"name": "chat", "line": 3}, "timestamp": "2026-03-02T10:00:00Z", "type": "decision", "id": "chat-7",
    }  # fmt: skip
    found = facts.rows("recall", query="restore backups in May", limit=1)
    assert found == {"messages": [{**restored, "confidence": 1.0}], "more": 2}
    harbour = facts.rows("recall", query="harbour backups for ever", limit=1)["messages"][0]
    whole = str(RECORDS[2]["content"])
    assert harbour["ref"] == "mem:3" and whole.startswith(harbour["content"])
    assert (len(harbour["content"]) == len(whole)) == (not facts.cuts)
    if facts.cuts:
        assert (harbour["content_truncated"], harbour["content_len"]) == (True, len(whole))
        assert "However, backups of the harbour are kept for ever." in harbour["excerpt"]
    beside = facts.rows(
        "recall_with_context", query="restore backups", external_context=["Backups run nightly at two."]
    )
    assert beside["excluded"] == 1
    assert [row.get("ref") for row in beside["messages"]] == ["mem:2", "mem:3", None]
    assert beside["messages"][-1] == {"content": "Backups run nightly at two."}
    assert facts.rows("search_memory", query="緑茶")["messages"][0]["content"] == "茶は緑茶がよい👩‍👩‍👧‍👦。"
    assert [row["ref"] for row in facts.rows("search_memory", query="*")["messages"]] == [
        "mem:4", "mem:3", "mem:2", "mem:1",
    ]  # fmt: skip
    assert facts.rows("search_memory", query="backups", path="sea") == {"messages": [], "empty_filter": "path"}
    assert facts.rows("search_memory", query="zzqqy") == {"messages": []}
    # whole records, whoever asks
    contents = facts.rows("get_contents", refs=["mem:3", "mem:5", "mem:2", "mem:99", "ep:1", "x"])
    assert contents["messages"][1] == restored
    assert (contents["messages"][0]["content"], contents["missing"]) == (whole, ["mem:5", "mem:99", "ep:1", "x"])
    # writes
    added = {"content": "Audits are yearly.", "path": "ops", "idempotency_key": "k"}
    assert facts.write("remember", **added) == {"id": "mem:6", "status": "created", "version": 1}
    assert facts.write("remember", **added) == {"id": "mem:6", "status": "existing", "version": 1}
    assert [row["ref"] for row in facts.rows("search_memory", query="audits")["messages"]] == ["mem:6"]
    erased = {"erased": "after compact", "derived_count": 0, "derived": []}
    assert facts.write("forget", ref="mem:6", mode="hard_delete") == {"id": "mem:6", "status": "hard_delete", **erased}
    assert facts.rows("search_memory", query="audits") == {"messages": []}


def test_every_door_refuses_the_same(facts: Facts) -> None:
    """An error has one class and one field, whichever door it comes through, and changes nothing."""
    facts.write("remember", content="Audits are yearly.", path="ops", idempotency_key="k")
    facts.write("forget", ref="mem:1", mode="soft_delete")
    for tool, arguments, told in (
        ("recall_context", {"query": "x", "max_tokens": 0}, ("invalid_field", "max_tokens")),
        ("recall_context", {"query": "x", "max_tokens": 12_001}, ("invalid_field", "max_tokens")),
        ("recall_context", {"query": "x", "max_items": "eight"}, ("invalid_field", "max_items")),
        ("recall", {"query": "x", "limit": -1}, ("invalid_field", "limit")),
        ("recall", {"query": "x", "since": "soon"}, ("invalid_field", "since")),
        ("recall", {"query": "x", "exclude_ids": ["mem:01"]}, ("invalid_field", "exclude_ids")),
        ("recall_with_context", {"query": "x", "external_context": [7]}, ("invalid_field", "external_context")),
        ("search_memory", {"query": "  "}, ("invalid_field", "query")),
        ("get_contents", {"refs": []}, ("invalid_field", "refs")),
        ("get_contents", {"refs": [f"mem:{n}" for n in range(21)]}, ("invalid_field", "refs")),
        ("remember", {"content": " "}, ("invalid_field", "content")),
        ("remember", {"content": "x", "path": "a|b"}, ("invalid_field", "path")),
        ("remember", {"content": "x", "expires_at": "soon"}, ("invalid_field", "expires_at")),
        ("remember", {"content": "x", "idempotency_key": "k"}, ("conflict", "idempotency_key")),
        ("remember", {"content": "x", "supersedes": "mem:99"}, ("not_found", "supersedes")),
        ("forget", {"ref": "mem:2", "mode": "shred"}, ("invalid_field", "mode")),
        ("forget", {"ref": "2", "mode": "redact"}, ("invalid_field", "ref")),
        ("forget", {"ref": "mem:5", "mode": "redact"}, ("not_found", "ref")),
        ("forget", {"ref": "mem:99", "mode": "redact"}, ("not_found", "ref")),
        ("forget", {"ref": "mem:1", "mode": "redact"}, ("gone", "ref")),
    ):
        assert (tool, arguments, facts.told(tool, **arguments)) == (tool, arguments, told)
    assert [row["ref"] for row in facts.rows("search_memory", query="*")["messages"]] == [
        "mem:6", "mem:4", "mem:3", "mem:2",
    ]  # fmt: skip
