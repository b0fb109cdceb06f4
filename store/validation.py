"""What is wrong with a value, in one line, from an error of pydantic: the same words at every door. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Any

_ID_OF = re.compile(r"\^?\(?(?:\?:)?(trg|thr|wkr)_")
_PLAIN = {
    "int_type": "is not a whole number",
    "int_parsing": "is not a whole number",
    "int_from_float": "is not a whole number",
    "float_type": "is not a number",
    "float_parsing": "is not a number",
    "finite_number": "is not a number",
    "string_type": "is not text",
    "bool_type": "is not true or false",
    "bool_parsing": "is not true or false",
    "list_type": "is not a list",
    "tuple_type": "is not a list",
    "dict_type": "is not an object",
    "model_type": "is not an object",
    "model_attributes_type": "is not an object",
}

_TEXTS = {"content": "give the text to remember", "query": "give words to search for, or * to list"}


def shown(value: object) -> str:
    """A value as it may stand in one line."""
    text = ascii(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def told(
    error: Mapping[str, Any],
    nameless: str,
    known: Iterable[str] = (),
    show: Callable[[object], str] = shown,
) -> tuple[str, str]:
    """The field at fault and the line on it, which names the entry where the field is a list.

    Args:
        error: One of the errors of a `ValidationError`, its place counted from the field.
        nameless: What a fault of the whole is told of.
        known: Names of the fields that there are.
        show: A value as it may stand in one line.
    """
    where = error["loc"]
    field = str(where[0]) if where else nameless
    entry = f"entry {where[1] + 1}: " if len(where) > 1 and isinstance(where[1], int) else ""
    name = field if field.isidentifier() and field.isascii() and len(field) <= 40 else shown(field)
    why = reason(error, known, show)
    return field, why if why.startswith(f"{name}:") else f"{name}: {entry}{why}"


def reason(error: Mapping[str, Any], known: Iterable[str] = (), show: Callable[[object], str] = shown) -> str:
    """One line on what is wrong with one value; `known` are the names of the fields that may stand beside it."""
    kind, limits = error["type"], error.get("ctx", {})
    if kind in ("value_error", "missing"):
        return "is missing" if kind == "missing" else str(error["msg"]).removeprefix("Value error, ")
    if isinstance(error["input"], str) and kind in ("too_long", "too_short"):
        kind = f"string_{kind}"  # a text that was checked before its length is
    value = show(error["input"])
    if isinstance(error["input"], str) and kind.startswith(("less_than", "greater_than")):
        value = shown(error["input"].strip())[1:-1]  # a number that stood in an address
    if kind in _PLAIN:
        return f"{value} {_PLAIN[kind]}"
    match kind:
        case "less_than_equal":
            return f"{value} is above {_number(limits['le'])}"
        case "greater_than_equal":
            return f"{value} is below {_number(limits['ge'])}"
        case "less_than":
            return f"{value} is not below {_number(limits['lt'])}"
        case "greater_than":
            return f"{value} is not above {_number(limits['gt'])}"
        case "literal_error":
            return f"{value} is not {limits['expected']}"
        case "string_too_long":
            return f"is longer than {limits['max_length']} characters: shorten it"
        case "string_too_short":
            return blank(str(error["loc"][0]) if error["loc"] else "")
        case "too_long":
            return f"has more than {limits['max_length']} entries: give fewer"
        case "too_short":
            return too_few(limits["min_length"])
        case "string_pattern_mismatch":
            found = _ID_OF.match(limits["pattern"])
            return f"{value} is not an id like {found[1]}_8f21" if found else f"{value} is not in the expected form"
        case "extra_forbidden":
            names = ", ".join(known)
            return f"unknown field; known fields: {names}" if names else "unknown field; leave it out"
    return str(error["msg"])


def miscounted(value: object, least: float, most: float = inf, *, whole: bool = True) -> str | None:
    """What is wrong with a number: its kind, or the bound that it passes; None where it is right."""
    kinds = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or value != value:
        return f"{shown(value)} is not a {'whole ' if whole else ''}number"
    if value < least:
        return f"{shown(value)} is below {_number(least)}"
    return f"{shown(value)} is above {_number(most)}" if value > most else None


def unfit(size: int, least: float, most: float) -> str | None:
    """What is wrong with the number of entries of a list, and what to do; None where it is right."""
    if size < least:
        return too_few(least)
    return f"has more than {_number(most)} entries: give fewer" if size > most else None


def too_few(least: float) -> str:
    """What is wrong with a list that has too few entries, and what to do."""
    return "is empty: give at least one" if least == 1 else f"has fewer than {_number(least)} entries: give more"


def blank(field: str) -> str:
    """What is wrong with a text in which nothing stands, and what to do."""
    return f"is blank: {_TEXTS.get(field, 'give it a text')}"


def _number(limit: float) -> str:
    return f"{limit:g}" if isinstance(limit, float) else str(limit)
