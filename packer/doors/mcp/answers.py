"""What a call of a tool takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Arguments = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool says: always a text; `document` is the same as a structure where there is one. `ids` are those that
    the call read or wrote."""

    text: str
    document: dict[str, Any] | None = None
    ids: tuple[str, ...] = ()
