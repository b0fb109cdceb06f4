"""Recall rows beside CPersona 2.6: whether what is shown of a long record holds the passage that answers.

    python tests/bench/cpersona.py (--python PATH | --install) [--seeds 1,2,3] [--json FILE]

PATH is the interpreter of an environment of its own with `cpersona` in it; --install makes one for this run. Both
servers run over stdio and are asked by the same MCP client. Both hold the same 200 made-up records (planted.py), each
too long for a row, and are asked one question a record with `limit` 10. CPersona runs as it does without a network:
without an embedding server, with its full-text and keyword search; ours runs without an embedder too.

Found: the record is among the rows. In the row: where it is, preview or excerpt hold the whole passage. Tokens are
o200k_base over the rows as compact JSON, the same for both. Refs: those of the rows that get_contents gives whole and
as stored. At the same tokens: rows from the best down while they fit; `reconstruct` is what CPersona recommends for
answers, with fewer characters until it fits, and `recall_context` with that ceiling stands beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import mean
from typing import Any
from venv import EnvBuilder

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from planted import FORMS, LANGUAGES, Planted, records
from reports import NONE, finish, note, percent, progress, table, versions

from context_packs.packer.packing.tokens import token_counter

LIMIT = 10
CEILINGS = (500, 1000, 2000)
BATCH = 20  # refs of one get_contents, in both
AGENT = "bench"
OURS, PEER = "context-packs", "CPersona"
PEER_PACKAGE = "cpersona>=2.6,<2.7"
ENCODING = "o200k_base"

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Shown:
    """One row or item of an answer: whose it is, the texts it shows, and its tokens."""

    ref: str
    texts: tuple[str, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one answer was worth. `needed`: tokens from the best row down to the end of the one that answers."""

    found: bool
    needed: int | None
    tokens: int

    def within(self, ceiling: int | None) -> bool:
        """Whether the rows that fit into so many tokens (None: all) hold the answer."""
        return self.needed is not None and (ceiling is None or self.needed <= ceiling)


# ---- pure: what an answer is worth


def plain(text: str) -> str:
    """The text with every run of white space as one blank."""
    return " ".join(text.split())


def outcome(rows: Sequence[Shown], ref: str, passage: str) -> Outcome:
    """Score rows, best first, for the record `ref` and the passage that must stand in one of its texts whole."""
    wanted = plain(passage)
    ends = list(accumulate(row.tokens for row in rows))
    of_record = [(row, end) for row, end in zip(rows, ends, strict=True) if row.ref == ref]
    needed = next((end for row, end in of_record if any(wanted in plain(text) for text in row.texts)), None)
    return Outcome(bool(of_record), needed, ends[-1] if ends else 0)


def shown(rows: Iterable[dict[str, Any]], count: Count) -> list[Shown]:
    """Rows of either server as they are scored. A row without a ref is of no record."""
    return [
        Shown(
            str(row.get("ref", "")),
            (row["content"], *([row["excerpt"]] if "excerpt" in row else ()), *map(_quoted, row.get("excerpts", ()))),
            count(json.dumps(row, ensure_ascii=False, separators=(",", ":"))),
        )
        for row in rows
    ]


def _quoted(excerpt: Any) -> str:
    return str(excerpt.get("content", "")) if isinstance(excerpt, dict) else str(excerpt)


# ---- the servers


@dataclass(frozen=True, slots=True)
class Server:
    """How one memory is started and spoken to."""

    name: str
    command: StdioServerParameters
    store: tuple[str, str]  # tool, and the field of its answer with the number or ref
    contents: str  # the list in the answer of get_contents
    best_last: bool


def ours(folder: Path) -> Server:
    """This project's server, from the environment that runs the command."""
    script = Path(sys.executable).with_name("context-packs")
    if not script.exists():
        raise SystemExit("context-packs is not installed here: pip install -e .[mcp]")
    settings = {
        "CONTEXT_PACKS_STORE": str(folder / "ours.duckdb"),
        "CONTEXT_PACKS_AGENT": AGENT,
        "CONTEXT_PACKS_EMBEDDER": "none",
    }
    command = StdioServerParameters(command=str(script), args=["mcp", "--profile", "internal"], env=settings)
    return Server(OURS, command, ("remember", "id"), "messages", best_last=False)


def peer(folder: Path, python: str) -> Server:
    """CPersona without a network: no embedding server, no look for updates; without the advisory that says so."""
    settings = {
        "CPERSONA_DB_PATH": str(folder / "peer.db"),
        "CPERSONA_UPDATE_CHECK": "false",
        "CPERSONA_DEGRADED_ADVISORY": "false",
        "EMBEDDING_MODE": "none",
        "HOME": str(folder),
    }
    command = StdioServerParameters(command=python, args=["-m", "cpersona"], env=settings, cwd=str(folder))
    return Server(PEER, command, ("store", "id"), "items", best_last=True)


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The answer of a tool as a document: its structure, else its text. Raises RuntimeError where the tool failed."""
    result = await client.call_tool(tool, arguments)
    text = "".join(getattr(part, "text", "") for part in result.content)
    if result.is_error:
        raise RuntimeError(f"{tool}: {text}")
    document: dict[str, Any] = result.structured_content or json.loads(text)
    if "error" in document or document.get("ok") is False:
        raise RuntimeError(f"{tool}: {text}")
    return document


async def stored(client: Client, server: Server, held: Sequence[Planted]) -> list[str]:
    """Store the records in turn; their refs."""
    tool, field = server.store
    given = {} if server.name == OURS else {"agent_id": AGENT}
    refs = []
    for one in progress(f"{server.name} stores", held):
        number = (await call(client, tool, content=one.content, **given))[field]
        refs.append(number if isinstance(number, str) else f"mem:{number}")
    return refs


async def resolved(client: Client, server: Server, refs: Iterable[str], whole: dict[str, str]) -> dict[str, bool]:
    """For each ref whether get_contents gives its record whole; deferred ones are asked for again."""
    waiting, got = sorted(set(refs)), dict[str, bool]()
    while waiting:
        batch, waiting = waiting[:BATCH], waiting[BATCH:]
        answer = await call(client, "get_contents", agent_id=AGENT, refs=batch)
        given = {row["ref"]: row["content"] for row in answer[server.contents]}
        later = [ref for ref in answer.get("deferred", ()) if given]
        for ref in batch:
            if ref not in later:
                got[ref] = given.get(ref, "").strip() == whole.get(ref, "").strip() != ""
        waiting = later + waiting
    return got


async def asked(server: Server, held: Sequence[Planted], count: Count) -> dict[str, Any]:
    """Everything measured of one server, one entry per record."""
    with open(os.devnull, "w", encoding="utf-8") as errors:
        async with Client(stdio_client(server.command, errlog=errors), mode="legacy") as client:
            refs = await stored(client, server, held)
            language = {ref: one.language for ref, one in zip(refs, held, strict=True)}
            whole = {ref: one.content for ref, one in zip(refs, held, strict=True)}
            recalls, packs, costs = [], [], dict[str, list[int]]()
            per_answer: list[list[str]] = []
            for ref, one in progress(f"{server.name} is asked", list(zip(refs, held, strict=True))):
                answer = await call(client, "recall", agent_id=AGENT, query=one.question, limit=LIMIT)
                messages = answer["messages"][::-1] if server.best_last else answer["messages"]
                rows = shown(messages, count)
                recalls.append(outcome(rows, ref, one.passage))
                per_answer.append([row.ref for row in rows])
                for row, message in zip(rows, messages, strict=True):
                    if message.get("content_truncated"):
                        costs.setdefault(language[row.ref], []).append(row.tokens)
                packs.append(await packed(client, server, ref, one, count))
            got = await resolved(client, server, (ref for found in per_answer for ref in found), whole)
    return {
        "recall": recalls,
        "pack": packs,
        "costs": costs,
        "refs": [(sum(got[ref] for ref in found), len(found)) for found in per_answer],
    }


async def packed(client: Client, server: Server, ref: str, one: Planted, count: Count) -> list[bool]:
    """Whether the answer meant for reading holds the passage, within each ceiling."""
    wanted, held = plain(one.passage), []
    for ceiling in CEILINGS:
        if server.name == OURS:
            answer = await call(client, "recall_context", query=one.question, max_tokens=ceiling)
            held.append(wanted in plain(answer["context_text"]))
        else:
            items = await reconstructed(client, ref, one, ceiling, count)
            held.append(outcome(items, ref, one.passage).within(ceiling))
    return held


async def reconstructed(client: Client, ref: str, one: Planted, ceiling: int, count: Count) -> list[Shown]:
    """Items of the peer's `reconstruct` for a ceiling of tokens. It takes one of characters: what the tokens are in a
    text like the record, then less until the items fit or grow no smaller. An item quotes several records: all count.
    """
    chars, least = ceiling * len(one.content) // count(one.content), 0
    while True:
        answer = await call(client, "reconstruct", agent_id=AGENT, query=one.question, mode="lite", budget=chars)
        items = shown(({**item, "ref": ref} for item in answer["items"]), count)
        used = sum(item.tokens for item in items)
        if used <= ceiling or used == least or chars < 100:
            return items
        chars, least = chars * ceiling // used * 9 // 10, used


# ---- tables


def by_form(held: Sequence[Planted], measured: dict[str, dict[str, Any]]) -> list[list[object]]:
    """Rows of the first table: language, form, server, what was found and what it cost."""
    rows: list[list[object]] = []
    for language in LANGUAGES:
        for form in (*FORMS, "all"):
            places = [n for n, one in enumerate(held) if one.language == language and form in (one.form, "all")]
            for name, numbers in measured.items():
                outcomes = [numbers["recall"][n] for n in places]
                refs = [numbers["refs"][n] for n in places]
                found = sum(one.found for one in outcomes)
                shares = [
                    percent(found, len(outcomes)),
                    percent(sum(one.within(None) for one in outcomes), found),
                    f"{mean(one.tokens for one in outcomes):.0f}" if outcomes else NONE,
                    percent(sum(good for good, _ in refs), sum(all_of for _, all_of in refs)),
                ]
                rows.append([language, form, name, *shares])
    return rows


def at_tokens(held: Sequence[Planted], measured: dict[str, dict[str, Any]]) -> list[list[object]]:
    """Rows of the second table: answered questions, in per cent, within each ceiling and without one."""
    rows: list[list[object]] = []
    for language in LANGUAGES:
        places = [n for n, one in enumerate(held) if one.language == language]
        for name, numbers in measured.items():
            outcomes = [numbers["recall"][n] for n in places]
            shares = [percent(sum(one.within(c) for one in outcomes), len(places)) for c in (*CEILINGS, None)]
            rows.append([language, f"{name} recall", *shares])
        for name, numbers in measured.items():
            tool = "recall_context" if name == OURS else "reconstruct"
            packs = [numbers["pack"][n] for n in places]
            shares = [percent(sum(column), len(places)) for column in zip(*packs, strict=True)]
            rows.append([language, f"{name} {tool}", *shares, NONE])
    return rows


def row_costs(measured: dict[str, dict[str, Any]]) -> list[list[object]]:
    """Rows of the third table: mean tokens of a row that was cut, in each language, and Japanese / English."""
    rows: list[list[object]] = []
    for name, numbers in measured.items():
        english, japanese = (mean(numbers["costs"].get(language) or [0]) for language in LANGUAGES)
        ratio = f"{japanese / english:.2f}" if english and japanese else NONE
        rows.append([name, f"{english:.0f}", f"{japanese:.0f}", ratio])
    return rows


# ---- the command


def installed(folder: Path) -> str:
    """Make an environment with the peer in it; its interpreter."""
    EnvBuilder(with_pip=True).create(folder)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", PEER_PACKAGE], check=True)
    return str(python)


def peer_version(python: str) -> str:
    """Version of the peer in an environment. Raises SystemExit where it has none."""
    probe = "from importlib.metadata import version; print(version('cpersona'))"
    run = subprocess.run([python, "-c", probe], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise SystemExit(f"{python} has no cpersona: pip install '{PEER_PACKAGE}' there, or use --install")
    return run.stdout.strip()


def measure(seed: int, pairs: int, python: str) -> tuple[list[Planted], dict[str, dict[str, Any]]]:
    """The records of one seed, and what each server made of them."""
    held = records(seed, pairs)
    count = token_counter(ENCODING).count
    with tempfile.TemporaryDirectory() as folder:
        servers = (ours(Path(folder)), peer(Path(folder), python))
        return held, {server.name: anyio.run(asked, server, held, count) for server in servers}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Rows of recall beside CPersona 2.6, in English and Japanese.")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--python", metavar="PATH", help="interpreter of an environment with cpersona")
    where.add_argument("--install", action="store_true", help=f"install {PEER_PACKAGE} into a temporary environment")
    parser.add_argument("--seeds", default="1,2,3", help="of the made-up records (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=100, metavar="N", help="records per language (default: 100)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here as well")
    options = parser.parse_args(arguments)
    seeds = [int(seed) for seed in options.seeds.split(",")]
    document: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        python = installed(Path(folder)) if options.install else options.python
        number = peer_version(python)
        heads = {
            "rows": ["language", "form", "server", "found, %", "in the row, %", "tokens", "refs, %"],
            "at the same tokens": [
                "language",
                "answered, %",
                *(f"{ceiling} tokens" for ceiling in CEILINGS),
                "all rows",
            ],
            "row cost": ["server", "English tokens", "Japanese tokens", "ratio"],
        }
        for seed in seeds:
            note(f"seed {seed}")
            held, measured = measure(seed, options.pairs, python)
            made = {
                "rows": by_form(held, measured),
                "at the same tokens": at_tokens(held, measured),
                "row cost": row_costs(measured),
            }
            print(f"Seed {seed}\n")
            for name, rows in made.items():
                print(table(heads[name], rows), end="\n\n")
            missed = {
                name: [
                    {"number": one.number, "language": one.language, "form": one.form, "found": got.found}
                    for one, got in zip(held, numbers["recall"], strict=True)
                    if not got.within(None)
                ]
                for name, numbers in measured.items()
            }
            document[str(seed)] = {name: [heads[name], *rows] for name, rows in made.items()} | {"missed": missed}
    denominators = (
        f"{options.pairs} English and {options.pairs} Japanese records a seed, as many of each form; one question a "
        f"record; limit {LIMIT}; {PEER} without embeddings (full text and keywords), ours without an embedder; "
        "in the row: of those found"
    )
    whole = {"seeds": document, "versions": versions("context-packs", "duckdb", "mcp") | {"cpersona": number}}
    finish(whole, (), denominators, options.json)


if __name__ == "__main__":
    main()
