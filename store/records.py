"""Records and their ids.

An id is `mem:<n>` or `ep:<n>`, `n` counting from 1 per kind. It never changes and is never used again, also after
deletion, re-open, export and import. Inside the store a record is known by its integer `key`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Kind = Literal["memory", "episode"]

PREFIX: dict[str, str] = {"memory": "mem", "episode": "ep"}
KIND: dict[str, Kind] = {"mem": "memory", "ep": "episode"}
_KINDS: tuple[Kind, ...] = ("memory", "episode")
_SLOTS = 16  # room for kinds to come (threads, workers, triggers) without renumbering
_ID = re.compile(r"(mem|ep):([1-9][0-9]{0,15})")


def format_id(kind: str, n: int) -> str:
    """`("memory", 7)` → `"mem:7"`."""
    return f"{PREFIX[kind]}:{n}"


def parse_id(text: object) -> tuple[Kind, int] | None:
    """Kind and number of an id, or None for anything that is not exactly one (strict: no blanks, signs, zeros)."""
    if not isinstance(text, str):
        return None
    match = _ID.fullmatch(text)
    return (KIND[match[1]], int(match[2])) if match else None


def key_of(kind: str, n: int) -> int:
    """The integer that stands for an id in the store."""
    return n * _SLOTS + _KINDS.index(kind)


def number_of(key: int) -> int:
    """The number within its kind of a key."""
    return key // _SLOTS


def id_of(key: int) -> str:
    """Inverse of `key_of` over `parse_id`: the public id of a key."""
    return format_id(_KINDS[key % _SLOTS], key // _SLOTS)


@dataclass(frozen=True, slots=True)
class Span:
    """One passage of a record: characters `start` to `end` (half-open) of its content; `ordinal` counts from 0."""

    ordinal: int
    start: int
    end: int
    kind: str = "sentence"
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """One version of a record, complete. Times are aware UTC. `passages` partition `content` exactly."""

    id: str
    kind: Kind
    version: int
    content: str
    title: str
    path: str
    type: str
    bucket: str
    scope: str
    agent_id: str
    team_id: str
    status: str
    created_at: datetime  # when it happened or was said; the record's own time
    updated_at: datetime
    passages: tuple[Span, ...] = ()
    source: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    external_id: str | None = None
    pinned: bool = False
    expires_at: datetime | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    deleted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did: the record's id, whether a row was made, and notes on anything repaired on the way in."""

    id: str
    created: bool
    notes: tuple[str, ...] = ()
    version: int = 1
    updated: bool = False  # whether a new version of a record was made
