"""Arguments of a tool against its JSON schema: strict in what is meant, and with one line that names the field at
fault; `lenient` says in which forms it may be written. Pure.

Knows the keywords that the tools use: type, enum, minimum, maximum, minLength, minItems, maxItems, items, properties,
required, and no property that is not named.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from context_packs.store.validation import blank, unfit

from ...errors import InvalidField
from .lenient import fitted, kind_of

_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


def checked(schema: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, each in the form of its schema; raises InvalidField naming the first one at fault.

    Null is absent, 8.0 and "8" are 8; true, 8.5, "eight" and NaN are no whole numbers.
    """
    properties: Mapping[str, Any] = schema["properties"]
    for name in given:
        if name not in properties:
            known = ", ".join(properties)
            shown = name if name.isidentifier() and name.isascii() and len(name) <= 40 else shown_value(name)
            raise InvalidField(f"{shown}: unknown field; known fields: {known}", field=name)
    arguments = fitted(given, properties)
    for name in schema.get("required", ()):
        if name not in arguments:
            raise InvalidField(f"{name}: is missing", field=name)
    for name, value in arguments.items():
        _check(name, name, properties[name], value)
    return arguments


def _check(field: str, where: str, schema: Mapping[str, Any], value: object) -> None:
    def refuse(why: str) -> InvalidField:
        return InvalidField(f"{where}: {why}", field=field)

    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if kinds and kind_of(value) not in kinds:
        raise refuse(f"{shown_value(value)} is not {' or '.join(_WORDS[kind] for kind in kinds)}")
    if "enum" in schema and value not in schema["enum"]:
        raise refuse(f"{shown_value(value)} is not one of {', '.join(schema['enum'])}")
    if isinstance(value, int):
        if value < schema.get("minimum", value):
            raise refuse(f"{shown_value(value)} is below {schema['minimum']}")
        if value > schema.get("maximum", value):
            raise refuse(f"{shown_value(value)} is above {schema['maximum']}")
    if isinstance(value, str) and schema.get("minLength") and not value.strip():
        raise refuse(blank(field))
    if isinstance(value, list):
        if wrong := unfit(len(value), schema.get("minItems", 0), schema.get("maxItems", math.inf)):
            raise refuse(wrong)
        for number, entry in enumerate(value, start=1):
            _check(field, f"{where}: entry {number}", schema.get("items", {}), entry)


def shown_value(value: object) -> str:
    """A value in the notation of JSON, as it may stand in one line."""
    text = ascii(value) if isinstance(value, str) else json.dumps(value, default=ascii)
    return text if len(text) <= 40 else f"{text[:37]}..."
