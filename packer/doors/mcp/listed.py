"""What the MCP door lists, as the protocol writes it: always the same, so it is answered before the SDK is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tools import Tool

RECORD = "context-packs://record/"
PROMPT = "restore_context"
METHODS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "ping")
"""Requests that nothing but the profile decides."""
_PROMPT = {
    "arguments": [{"description": "what the session is about", "name": "task", "required": False}],
    "description": "What a session should know: pinned records, open work, decisions; or what bears on a task.",
    "name": PROMPT,
}
_TEMPLATE = {
    "description": "The whole text of one record, by an id such as mem:1.",
    "mimeType": "text/plain",
    "name": "record",
    "uriTemplate": RECORD + "{id}",
}


def is_constant(message: Mapping[str, Any]) -> bool:
    """Whether a well-formed message is a request for one of them, without a parameter that says anything."""
    return "id" in message and message.get("method") in METHODS and not (message.get("params") or {}).keys() - {"_meta"}


def listed(method: str, tools: Sequence[Tool] = ()) -> dict[str, Any]:
    """The result of one of `METHODS`."""
    match method:
        case "tools/list":
            return {"tools": [tool.definition() for tool in tools]}
        case "prompts/list":
            return {"prompts": [_PROMPT]}
        case "resources/list":  # none: records are reached by the template, with the ids that the tools show
            return {"resources": []}
        case "resources/templates/list":
            return {"resourceTemplates": [_TEMPLATE]}
    return {}
