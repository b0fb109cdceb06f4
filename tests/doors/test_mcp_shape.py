"""Messages of MCP that are no good requests: answered with their id, with the field and the way out."""

import json
from typing import Any

import pytest

from context_packs.packer.doors.mcp.hello import refusal

INFO = {"name": "x", "version": "1"}
HELLO: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": INFO}


def asked(method_: str, params_: Any = None, **fields: Any) -> dict[str, Any]:
    """What is answered to a message, which has the id 7."""
    message = {"jsonrpc": "2.0", "id": 7, "method": method_, "params": params_ or {}, **fields}
    line = refusal(json.dumps({name: value for name, value in message.items() if value is not ...}))
    return {} if line is None else json.loads(line)


WRONG = [{"jsonrpc": "1.0"}, {"jsonrpc": ...}, {"jsonrpc": 2.0}, {"method": ...}, {"method": 5}, {"method": None},
         {"params": [1]}, {"params": "x"}, {"id": "a", "method": ...}]  # fmt: skip


@pytest.mark.parametrize("fields", WRONG)
def test_a_message_with_an_id_is_answered_with_it(fields: dict[str, Any]) -> None:
    """Somebody waits for an answer to that id."""
    told = asked("ping", **fields)
    assert told["id"] == fields.get("id", 7)
    line = told["error"]["message"]
    assert line.split(":")[0] in fields and "; " in line


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e400"])
def test_what_is_no_number_of_json_is_refused(number: str) -> None:
    """In a call the model reads it; elsewhere it is an error of the protocol, with the id."""
    line = f"{number} is not a JSON number; give a finite number or null"
    call = '{"jsonrpc": "2.0", "id": 7, "method": "%s", "params": {"name": "recall", "arguments": {"x": [%s]}}}'
    told = json.loads(refusal(call % ("tools/call", number)) or "")
    assert (told["id"], told["result"]["isError"], told["result"]["content"][0]["text"]) == (7, True, f"x: {line}")
    told = json.loads(refusal(call % ("ping", number)) or "")
    assert (told["id"], told["error"]["code"], told["error"]["message"]) == (7, -32600, f"x: {line}")
    assert refusal(call % ("tools/call", "1.5e3")) is None


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("tools/call", {}, "name"),
        ("tools/call", {"name": 5}, "name"),
        ("tools/call", {"name": "recall", "arguments": [1]}, "arguments"),
        ("prompts/get", {}, "name"),
        ("prompts/get", {"name": 5}, "name"),
        ("prompts/get", {"name": "restore_context", "arguments": {"task": 5}}, "arguments.task"),
        ("resources/read", {"uri": None}, "uri"),
        ("tools/list", {"cursor": 5}, "cursor"),
        ("initialize", {}, "protocolVersion"),
        ("initialize", {**HELLO, "capabilities": 1}, "capabilities"),
        ("initialize", {**HELLO, "clientInfo": {}}, "clientInfo.name"),
        ("initialize", {**HELLO, "clientInfo": {"name": "x"}}, "clientInfo.version"),
        ("ping", {"_meta": 5}, "_meta"),
    ],
)
def test_parameters_at_fault_are_named(method: str, params: dict[str, Any], field: str) -> None:
    """`<field>: <what is wrong>; <the way out>`, never "Invalid request parameters"."""
    error = asked(method, params)["error"]
    assert (error["code"], error["data"]) == (-32602, {"field": field})
    assert error["message"].startswith(f"{field}: is ") and "; " in error["message"]


def test_good_messages_pass() -> None:
    """Requests, notifications, and answers to the server's own requests."""
    assert asked("initialize", HELLO) == {}
    assert asked("tools/call", {"name": "recall", "arguments": None}) == {}
    assert asked("prompts/get", {"name": "restore_context", "arguments": {"task": "x"}}) == {}
    assert asked("ping") == {}
    assert asked("notifications/cancelled", {"requestId": 5}, id=...) == {}
    assert refusal('{"jsonrpc": "2.0", "id": 7, "result": {}}') is None
