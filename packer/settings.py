"""What a memory is opened with: settings from the environment, which only this module reads, and arguments."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from context_packs.store.errors import InvalidField

from .packing.tokens import DEFAULT as DEFAULT_ENCODING
from .secrecy import SECRETS

if TYPE_CHECKING:
    from context_packs.store.search.embedders import Embedder

DEFAULT_AGENT = "default"


@dataclass(frozen=True, slots=True)
class Settings:
    """Store path, agent, encoding, model, and how much a door shows of one row (characters)."""

    store: str
    agent_id: str
    encoding: str
    preview_chars: int
    excerpt_chars: int
    embedder: str
    secrets: str = "keep"
    embedder_hosts: tuple[str, ...] = ()
    embedder_key: str = field(default="", repr=False)

    @classmethod
    def from_environment(cls) -> Settings:
        """Settings of `CONTEXT_PACKS_*`; raises InvalidField for a number that is none."""
        return cls(
            store=os.environ.get("CONTEXT_PACKS_STORE") or str(_default_store()),
            agent_id=os.environ.get("CONTEXT_PACKS_AGENT") or DEFAULT_AGENT,
            encoding=os.environ.get("CONTEXT_PACKS_ENCODING") or DEFAULT_ENCODING,
            preview_chars=_number("CONTEXT_PACKS_PREVIEW_CHARS", 500),
            excerpt_chars=_number("CONTEXT_PACKS_EXCERPT_CHARS", 800),
            embedder=os.environ.get("CONTEXT_PACKS_EMBEDDER") or "auto",
            secrets=_one_of("CONTEXT_PACKS_SECRETS", SECRETS),
            embedder_hosts=tuple(os.environ.get("CONTEXT_PACKS_EMBEDDER_HOSTS", "").replace(",", " ").split()),
            embedder_key=os.environ.get("CONTEXT_PACKS_EMBEDDER_KEY", ""),
        )

    def model(self, name: str | None = None) -> Embedder | None:
        """The model of a name, or of the settings. Raises InvalidField."""
        from context_packs.store.search.embedders import embedder  # numpy, which help and first answers do not wait for

        return embedder(name or self.embedder, hosts=self.embedder_hosts, key=self.embedder_key)


def _default_store() -> Path:
    from platformdirs import user_data_path  # only where no path is given

    return user_data_path("context-packs") / "memory.duckdb"


def _one_of(name: str, known: Sequence[str]) -> str:
    value = os.environ.get(name) or known[0]
    if value not in known:
        raise InvalidField(f"{name}: {value[:40]!r} is not one of {', '.join(known)}", field=name)
    return value


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit():
        raise InvalidField(f"{name}: {text[:40]!r} is not a whole number from 0", field=name)
    return int(text)


def check_opening(path: object, agent_id: object, mode: object, teams: object, wait: object) -> None:
    """Check what `ContextPacks.open` is given. Raises InvalidField naming what is wrong.

    Args:
        path, agent_id, mode, teams, wait: as they are named there.
    """
    if not (path is None or (isinstance(path, str | os.PathLike) and "\0" not in os.fspath(path))):
        raise InvalidField("path: give a file path or :memory:", field="path")
    if mode not in ("shared", "leased", "exclusive"):
        raise InvalidField(f"mode: {str(mode)[:40]!r} is not shared, leased or exclusive", field="mode")
    if not isinstance(wait, int | float) or isinstance(wait, bool) or not 0 <= wait < 86_400:
        raise InvalidField("wait: give seconds from 0, less than a day", field="wait")
    if isinstance(teams, str | bytes) or not isinstance(teams, Sequence):
        raise InvalidField("teams: give a list of team ids", field="teams")
    named = [team for team in teams if team != ""]  # no team at all gives sight of nothing
    for argument, names in (("agent_id", [agent_id] if agent_id is not None else []), ("teams", named)):
        for name in names:
            if not isinstance(name, str) or not name.strip() or not name.isprintable() or "|" in name:
                raise InvalidField(f"{argument}: {ascii(name)[:40]} is not one line of text without |", field=argument)
