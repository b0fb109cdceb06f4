"""What `doctor` looks at: the installation, then the store, for reading and for writing."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Any

from context_packs.store.text.analyzer import query_terms

from ...errors import ContextPacksError, StoreDamaged, row_for
from ...packing.layout import Shown, layout
from ...packing.profile import list_profiles, load_profile
from ...packing.tokens import DEFAULT, token_counter
from ...service import ContextPacks

COUNTED = "Exact counts: 東京の会議は9時から。\n <|endoftext|> naïve café 👩‍👩‍👧 0123456789"
"""A text whose tokens are known: every script, a marker that is plain text here, a joined emoji, digits."""
TOKENS = 35
"""Its tokens in o200k_base."""
_SAMPLES = 3  # of the newest records, each looked up by its own words
_WORDS = 400  # characters of one record that it is looked up by

Finding = dict[str, Any]


def examine(
    open_packs: Callable[[], ContextPacks], full: Callable[[str, int], None] | None = None
) -> tuple[list[Finding], int]:
    """Findings `{"check", "ok", "detail"}` in a fixed order, and the exit code: 0, or the highest of what failed.

    With `full`, which is told the progress, every byte of the store is looked at too.

    A check that fails is a finding, never an exception. A store that is not there yet is none, and is not made; with
    `full` there is then nothing to look at, which is a failure.
    No detail shows a path of the host.
    """
    look = _Look()
    look.at("python", platform.python_version)
    look.at("duckdb", lambda: version("duckdb"))
    look.at("tokenizer", _tokenizer)
    look.at("profiles", _profiles)
    look.at("templates", _templates)
    try:
        packs = open_packs()
        there = packs.store.exists()
    except ContextPacksError as error:
        look.failed("store", error)
        return look.findings, look.worst
    with packs:
        if not there and full is None:
            look.at("store", lambda: "there is none yet: the first thing you remember creates it")
            return look.findings, look.worst
        if look.at("store", lambda: _store(packs)):
            look.at("schema", lambda: f"version {packs.stats()['schema']}")
            look.at("write", lambda: _write(packs))
            look.at("index", lambda: _index(packs))
            look.at("analysis", lambda: _analysis(packs))
            look.at("erasures", lambda: _erasures(packs))
            if packs.store.embedder is not None:
                look.at("meaning", lambda: _meaning(packs))
        if full and there:
            look.all(lambda: packs.store.check(full))
    return look.findings, look.worst


class _Look:
    """Findings as they come in."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.worst = 0

    def at(self, check: str, examined: Callable[[], str]) -> bool:
        """Make one check; its text is the detail, its exception the failure."""
        try:
            detail = examined()
        except Exception as error:  # whatever is broken here is what the caller wants to read
            self.failed(check, error)
            return False
        self.findings.append({"check": check, "ok": True, "detail": detail})
        return True

    def all(self, examined: Callable[[], Iterable[tuple[str, bool, str]]]) -> None:
        """Take over findings that come one by one, and what breaks them off."""
        try:
            for check, ok, detail in examined():
                self.findings.append({"check": check, "ok": ok, "detail": detail})
                if not ok:
                    self.worst = max(self.worst, row_for(StoreDamaged).exit_code)
        except Exception as error:  # as above
            self.failed("full", error)

    def failed(self, check: str, error: Exception) -> None:
        """Note a failure. The text of a foreign error may name paths of the host, so only its kind is told."""
        detail = str(error) if isinstance(error, ContextPacksError) else f"unexpected {type(error).__name__}"
        self.findings.append({"check": check, "ok": False, "detail": detail})
        self.worst = max(self.worst, row_for(error).exit_code)


def _tokenizer() -> str:
    counted = token_counter(DEFAULT).count(COUNTED)
    if counted != TOKENS:
        raise ContextPacksError(f"{DEFAULT} counts {counted} tokens where there are {TOKENS}: install toktok-rs again")
    return f"{DEFAULT} is exact"


def _profiles() -> str:
    return ", ".join(load_profile(name).name for name in list_profiles())


def _templates() -> str:
    shown = Shown("mem:1", "note", "a/b", "Title", datetime(2026, 3, 1, tzinfo=UTC), " line")
    names = sorted({load_profile(name).template for name in list_profiles()})
    for name in names:
        if "[1]" not in layout(name).text([shown], None):
            raise ContextPacksError(f"template {name} renders no section: install context-packs again")
    return ", ".join(names)


def _store(packs: ContextPacks) -> str:
    facts = packs.stats()
    return f"{facts['records']} records, {facts['passages']} passages, {facts['bytes']} bytes"


def _write(packs: ContextPacks) -> str:
    packs.store.probe()
    return "the store accepts writes"


def _erasures(packs: ContextPacks) -> str:
    """Whether bytes of erased text are left in the file: it is no fault, and there is something to do."""
    count = packs.stats()["erasures_waiting"]
    return f"{count} wait for `context-packs compact`: their bytes are still in the file" if count else "none waits"


def _meaning(packs: ContextPacks) -> str:
    """Whether the model answers, and how much has vectors."""
    model = packs.store.embedder
    assert model is not None
    model.embed_query("soup")
    facts = packs.stats()
    if facts["pending"]:
        return f"{facts['embedder']}: {facts['pending']} passages wait for `context-packs embed`, or for a server"
    return f"{facts['embedder']}: every passage has a vector"


def _analysis(packs: ContextPacks) -> str:
    """Whether an older version analysed the texts: it is no fault, and there is something to do."""
    if packs.stats()["reindex_due"]:
        return "made by an older version: `context-packs reindex` brings in what this one knows of more languages"
    return "that of this version"


def _index(packs: ContextPacks) -> str:
    """Whether what is stored is found: the newest records answer to their own words."""
    looked_up = 0
    for row in packs.search_memory("*", _SAMPLES):
        words = row.content[:_WORDS]
        if query_terms(words):
            made = row.record.created_at
            found = packs.recall(words, 1, since=made, until=made + timedelta(microseconds=1))
            if found.plan["terms"] and not found.plan["matched"]:  # "ok, thanks" asks for nothing
                raise StoreDamaged(f"{row.ref} is not found by its own words: restore the store from an export")
            looked_up += 1
    return f"{looked_up} of the newest records found by their own words"
