"""Records and their ids.

The id of a memory or an episode is `mem:<n>` or `ep:<n>`, `n` counting from 1 per kind; that of a thread, a worker or
a trigger is a name, given by the caller (`thr_pr_412`) or made from its number (`trg_8f21`). An id never changes and is
never used again, also after deletion, re-open, export and import. Inside the store a record is known by its integer
`key`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any, Literal, cast

Kind = Literal["memory", "episode", "thread", "worker", "trigger"]

PREFIX: dict[str, str] = {"memory": "mem", "episode": "ep", "thread": "thr", "worker": "wkr", "trigger": "trg"}
KIND: dict[str, Kind] = {"mem": "memory", "ep": "episode", "thr": "thread", "wkr": "worker", "trg": "trigger"}
KINDS: tuple[Kind, ...] = ("memory", "episode", "thread", "worker", "trigger")
NAMED: tuple[Kind, ...] = KINDS[2:]
"""Kinds whose ids are names."""

_SLOTS = 16  # room for kinds to come without renumbering
_ID = re.compile(r"(mem|ep):([1-9][0-9]{0,15})")
_NAME = re.compile(r"(trg|thr|wkr)_[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_ERASED = re.compile(r"(trg|thr|wkr)_erased\.([0-9a-f]{16})")


class Placed(dict[str, Any]):
    """A line of a file; `where` says which."""

    where = ""


def format_id(kind: str, n: int) -> str:
    """`("memory", 7)` → `"mem:7"`."""
    return f"{PREFIX[kind]}:{n}"


def parse_id(text: object) -> tuple[Kind, int] | None:
    """Kind and number of a numbered id (`mem:1`), or None for anything that is not exactly one (strict: no blanks,
    signs, zeros)."""
    if not isinstance(text, str):
        return None
    match = _ID.fullmatch(text)
    return (KIND[match[1]], int(match[2])) if match else None


def parse_name(text: object) -> Kind | None:
    """The kind of an id that is a name (`thr_pr_412`), or None for anything that is not exactly one."""
    match = _NAME.fullmatch(text) if isinstance(text, str) else None
    return KIND[match[1]] if match else None


def is_id(text: object) -> bool:
    """Whether a text is an id of either form."""
    return parse_id(text) is not None or parse_name(text) is not None


def key_of(kind: str, n: int) -> int:
    """The integer that stands for an id in the store."""
    return n * _SLOTS + KINDS.index(cast(Kind, kind))


def number_of(key: int) -> int:
    """The number within its kind of a key."""
    return key // _SLOTS


def kind_of(key: int) -> Kind:
    """The kind of the record behind a key."""
    return KINDS[key % _SLOTS]


def id_of(key: int, name: str | None = None) -> str:
    """The public id of a key: the record's name where it has one, else made from the number."""
    return format_id(KINDS[key % _SLOTS], key // _SLOTS) if name is None else name


def name_hash(name: str) -> int:
    """The signed 64-bit number by which a name is looked up; of an erased name what it was of the name itself."""
    erased = _ERASED.fullmatch(name)
    digest = bytes.fromhex(erased[2]) if erased else blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def erased_name(name: str) -> str:
    """What stands for a name once it was erased: its kind and hash, by which it is known again and never told."""
    digest = name_hash(name).to_bytes(8, "little", signed=True)
    return f"{name[:3]}_erased.{digest.hex()}"


def made_name(kind: Kind, n: int) -> str:
    """The name of a record that came without one: `("trigger", 36641)` → `"trg_8f21"`."""
    return f"{PREFIX[kind]}_{n:04x}"


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


LEFT_OUT = "forgotten earlier, left out: give another id or key to store it again"
"""The note on what came again after it was forgotten, and was not stored."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did: the record's id, whether a row was made, and notes on anything repaired on the way in."""

    id: str
    created: bool
    notes: tuple[str, ...] = ()
    version: int = 1
    updated: bool = False  # whether a new version of a record was made
