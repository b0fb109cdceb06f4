"""Settings from the environment, the only place of the library that reads it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from context_packs.store.errors import InvalidField
from context_packs.store.search.embedders import Embedder, embedder

from .packing.tokens import DEFAULT as DEFAULT_ENCODING
from .secrecy import SECRETS

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
