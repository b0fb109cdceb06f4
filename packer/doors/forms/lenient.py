"""Arguments that mean what they should and are written in another form. Pure.

Models and clients write null for what they leave out, 600.0 for 600, and a list or a number as a text. What is meant is
not in doubt, so it is taken; what is meant is checked as strictly as ever.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_EXACT = 2**53  # whole numbers up to here have one double


def kind_of(value: object) -> str:
    """What JSON schema calls a value."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "null" if value is None else "object"


def kinds_of(schema: Mapping[str, Any]) -> frozenset[str]:
    """The types that a JSON schema lets through; none where it does not say."""
    if "anyOf" in schema:
        inner = [kinds_of(one) for one in schema["anyOf"]]
        return frozenset().union(*inner) if all(inner) else frozenset()
    kinds = schema.get("type", ())
    return frozenset((kinds,) if isinstance(kinds, str) else kinds)


def fitted(given: Mapping[str, Any], properties: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Arguments by name with each in the form of its schema, as far as that changes no meaning.

    `{"max_tokens": 600.0, "scope": null, "refs": "[\\"mem:1\\"]"}` is `{"max_tokens": 600, "refs": ["mem:1"]}`.
    """
    result = {}
    for name, value in given.items():
        kinds = kinds_of(properties.get(name, {}))
        if value is not None or "null" in kinds or not kinds:
            result[name] = _fitted(value, kinds)
    return result


def _fitted(value: Any, kinds: frozenset[str]) -> Any:
    kind = kind_of(value)
    if not kinds or kind in kinds:
        return value
    if kind == "number" and "integer" in kinds and value == value // 1 and abs(value) <= _EXACT:
        return int(value)
    if kind == "string" and "string" not in kinds:
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            return value
        read = _fitted(read, kinds) if not isinstance(read, str) else value
        return (
            read if kind_of(read) in kinds - {"null"} or (kind_of(read) == "integer" and "number" in kinds) else value
        )
    return value
