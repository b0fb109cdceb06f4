"""Cases of real use: small memories of made-up teams and households, requests to them, and what a good pack shows.

A folder `realuse/` with `cases.jsonl.gz` is given on the command line, never shipped. Lines with `records` are memories
(`world`, `now`, `records`, `chains`); all others are cases: `world`, `kind`, `lang`, `request` (fields of
`recall_context`) and `checks`, which must all hold of the public text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from datasets import read

from context_packs.packer import ContextPacks, Pack

AGENT = "realuse"
_SECTION = re.compile(r"^\[\d+\]", re.MULTILINE)

Lines = list[dict[str, Any]]


def cases_of(folder: Path) -> tuple[dict[str, dict[str, Any]], Lines]:
    """The memories by name, and the cases that need no meaning model."""
    lines = read(folder / "realuse" / "cases.jsonl.gz")
    worlds = {line["world"]: line for line in lines if "records" in line}
    return worlds, [line for line in lines if "records" not in line and line.get("needs") != "vectors"]


class World:
    """One memory in a store, written in the order of its own times by a clock that stands where it says."""

    def __init__(self, spec: Mapping[str, Any], store: str) -> None:
        self._now = self._time = datetime.fromisoformat(spec["now"])
        self._packs = ContextPacks.open(store, AGENT, mode="exclusive", clock=lambda: self._time, embedder="none")
        told = [(datetime.fromisoformat(one.get("written") or one["timestamp"]), one) for one in spec["records"]]
        for moment, record in sorted(told, key=lambda pair: pair[0]):
            self._time = min(moment, self._now)
            self._packs.remember_many([{name: value for name, value in record.items() if name != "written"}])
        for chain in spec.get("chains", []):
            self._chain(chain)
        self._time = self._now

    def _chain(self, chain: Mapping[str, Any]) -> None:
        self._time = datetime.fromisoformat(chain["at"])
        thread = self._packs.threads.create(chain["thread"], thread_id=chain["id"]).id
        cited = []
        for trigger in chain["triggers"]:
            self._time += timedelta(minutes=5)
            given = {name: trigger[name] for name in ("summary", "payload")}
            cited.append(self._packs.threads.add_trigger(thread, trigger["source"], **given).id)
        if chain.get("task"):
            worker = self._packs.threads.create_worker(chain["task"], [thread]).id
            self._packs.threads.report(worker, chain["report"], cites=cited[:1])

    def ask(self, case: Mapping[str, Any]) -> Pack:
        """The pack of a case, at the moment at which it asks."""
        self._time = datetime.fromisoformat(case["now"]) if "now" in case else self._now
        request = dict(case["request"])
        return self._packs.recall_context(request.pop("query"), profile="public", **request)

    def say(self, query: str) -> Pack:
        """The pack of a query that is no case, within 600 tokens."""
        self._time = self._now
        return self._packs.recall_context(query, profile="public", max_items=6, max_tokens=600)

    def close(self) -> None:
        """Close the store."""
        self._packs.close()


def failures(checks: Mapping[str, Any], pack: Pack) -> list[str]:
    """The checks that do not hold, each as one line."""
    shown = pack.text.partition("\nContext:\n")[2]
    plain = _plain(shown)
    bad = [f"not shown: {one!r}" for one in checks.get("must", ()) if _place(plain, one) < 0]
    bad += [f"shown: {one!r}" for one in checks.get("must_not", ()) if _place(plain, one) >= 0]
    starts = [match.start() for match in _SECTION.finditer(shown)]
    first = shown[starts[0] : (*starts, len(shown))[1]] if starts else ""
    if "first_item" in checks and _place(_plain(first), checks["first_item"]) < 0:
        bad.append(f"not in the first item: {checks['first_item']!r}")
    for early, late in checks.get("before", ()):
        if (behind := _place(plain, late)) >= 0 and not 0 <= _place(plain, early) <= behind:
            bad.append(f"too early: {late!r}")
    for claim, governs in checks.get("together", ()):
        if _place(plain, claim) >= 0 and _place(plain, governs) < 0:
            bad.append(f"without {governs!r}: {claim!r}")
    for phrase, most in checks.get("max_count", {}).items():
        if plain.count(_plain(phrase)) > most:
            bad.append(f"more than {most} times: {phrase!r}")
    if pack.budget.used_tokens > checks.get("max_used_tokens", pack.budget.used_tokens):
        bad.append(f"{pack.budget.used_tokens} tokens of at most {checks['max_used_tokens']}")
    items = pack.budget.used_items
    if checks.get("state") in ("match", "no_match") and (checks["state"] == "match") != (items > 0):
        bad.append(f"{items} items")
    return bad


def _plain(text: str) -> str:
    return " ".join(text.split())


def _place(text: str, wanted: str | Sequence[str]) -> int:
    """Where the first of the alternatives stands, -1 if none does."""
    places = [text.find(_plain(one)) for one in ([wanted] if isinstance(wanted, str) else wanted)]
    return min((place for place in places if place >= 0), default=-1)
