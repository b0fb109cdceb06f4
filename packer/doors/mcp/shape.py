"""What the parameters of each method of MCP look like, and one line on the first that does not. Standard library only.

The SDK tells every such mistake as "Invalid request parameters"; here the line names the field and the way out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FORMS: dict[str, tuple[type, str]] = {"text": (str, "text"), "object": (dict, "an object")}
_PAGE = {"cursor": ("text", False, "leave it out")}
_SHAPES: dict[str, dict[str, tuple[str, bool, str]]] = {
    "tools/call": {
        "name": ("text", True, "give the name of a tool as tools/list names it"),
        "arguments": ("object", False, "give the arguments by name"),
    },
    "prompts/get": {
        "name": ("text", True, "give the name of a prompt as prompts/list names it"),
        "arguments": ("object", False, "give the arguments by name"),
    },
    "resources/read": {"uri": ("text", True, "give an address as resources/templates/list shows it")},
    "initialize": {
        "protocolVersion": ("text", True, 'give a revision of the protocol, such as "2025-06-18"'),
        "capabilities": ("object", True, "give an object, which may be empty"),
        "clientInfo": ("object", True, "give an object with name and version"),
    },
    "tools/list": _PAGE,
    "prompts/list": _PAGE,
    "resources/list": _PAGE,
    "resources/templates/list": _PAGE,
}
"""By method and parameter: its form, whether it has to be there, and the way out."""
_CLIENT = {
    "name": ("text", True, "give the name of the client"),
    "version": ("text", True, "give the version of the client"),
}
_META = {"_meta": ("object", False, "give an object or leave it out")}


def misshapen(method: str, params: Mapping[str, Any]) -> str | None:
    """One line on the first parameter of a request that is missing or has another form; None where all is well."""
    line = _fault({**_SHAPES.get(method, {}), **_META}, params)
    if line is None and method == "initialize":
        line = _fault(_CLIENT, params["clientInfo"], "clientInfo.")
    if line is None and method == "prompts/get":
        for name, value in (params.get("arguments") or {}).items():
            if not isinstance(value, str):
                shown = name if name.isidentifier() and name.isascii() and len(name) <= 40 else ascii(name)[:40]
                return f"arguments.{shown}: is not text; an argument of a prompt is text"
    return line


def _fault(shape: Mapping[str, tuple[str, bool, str]], given: Mapping[str, Any], within: str = "") -> str | None:
    for name, (form, required, way_out) in shape.items():
        value = given.get(name)
        kind, word = _FORMS[form]
        if value is None and required:
            return f"{within}{name}: is missing; {way_out}"
        if value is not None and not isinstance(value, kind):
            return f"{within}{name}: is not {word}; {way_out}"
    return None
