"""JSON in which a key stands once: RFC 8259, section 4, leaves open which of two values counts, so neither does."""

from __future__ import annotations

import json
from typing import Any

_SHOWN = 60  # characters of a key in a message


class RepeatedKey(ValueError):
    """An object names one key twice; `key` is that key."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"the key {ascii(key)[:_SHOWN]} appears twice in one object")


def loads(text: str, **options: Any) -> Any:
    """As `json.loads`; raises RepeatedKey, a ValueError, where an object at any level names a key twice."""
    return json.loads(text, object_pairs_hook=_object, **options)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise RepeatedKey(key)
            seen.add(key)
    return value
