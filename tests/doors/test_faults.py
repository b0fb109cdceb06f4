"""Faults that products of this field really had, each shown at every door where it could occur.

The number in a name is that of the row: C cutting text, D limits of hosts, E honest reports, K MCP, M prompt caches. A
row that concerns one door alone stands in the tests of that door.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client

from context_packs.packer import ContextPacks, ContextPacksError
from context_packs.packer.doors.mcp.server import build_server

Run = Callable[..., Any]
Shown = dict[str, str]
COMMAND = str(Path(sys.executable).with_name("context-packs"))
NOW = datetime(2026, 3, 20, 9, tzinfo=UTC)
SENTENCE = "The office keeps " + " ".join(f"word{n}" for n in range(69)) + " or backups."
PROSE = "Nobody reads paragraph {n} of the log. "
NOTHING = "No matching XMemo memory was found."


class Doors:
    """One memory in a file, behind the library, the command line, MCP and the hooks of a coding agent."""

    def __init__(self, run: Run, store: Path) -> None:
        self.run, self.store = run, store
        self.packs = ContextPacks.open(store, embedder="none", clock=lambda: NOW)

    def call(self, tool: str, profile: str = "public", **arguments: Any) -> types.CallToolResult:
        """A call of a tool over MCP."""

        async def ask() -> types.CallToolResult:
            async with Client(build_server(lambda: self.packs, profile), mode="legacy") as client:
                return await client.call_tool(tool, arguments)

        return anyio.run(ask)

    def text(self, tool: str, **arguments: Any) -> str:
        """The text of such a call."""
        (content,) = self.call(tool, **arguments).content
        assert isinstance(content, types.TextContent)
        return content.text

    def hook(self, event: str, **fields: Any) -> str:
        """The context that a hook of Claude Code gives; nothing where it is silent."""
        ran = self.run(
            "hook", "claude-code", event, stdin=json.dumps({"cwd": str(self.store.parent), **fields}).encode()
        )
        assert (ran.code, ran.err) == (0, "")
        context: str = ran.json["hookSpecificOutput"]["additionalContext"] if ran.out else ""
        return context

    def packed(self, query: str, **limits: int) -> Shown:
        """The pack for a query at each door. The hook has limits of its own."""
        options = [word for name, value in limits.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        shown = {
            "library": self.packs.recall_context(query, profile="public", **limits).text,
            "command": self.run("context", query, *options).out.removesuffix("\n"),
            "hook": self.hook("user-prompt-submit", prompt=query),
        }
        if "max_chars" not in limits:
            shown["mcp"] = self.text("recall_context", query=query, **limits)
        return shown

    def rows(self, query: str) -> dict[str, list[dict[str, Any]]]:
        """The rows for a query at the doors that cut them."""
        return {
            "command": self.run("recall", query, "--json").json["messages"],
            "mcp": json.loads(self.text("recall", query=query))["messages"],
        }


@pytest.fixture
def doors(run: Run, store: Path) -> Iterator[Doors]:
    """An empty memory behind all doors."""
    made = Doors(run, store)
    with made.packs:
        yield made


def content_of(text: str) -> list[str]:
    """The stored text that a pack shows, in the pieces between its marks."""
    lines = [line[1:] for line in text.split("\n") if line.startswith(" ")]
    return [piece.strip() for piece in re.split("…|\n", "\n".join(lines)) if piece.strip()]


# ---- C: cutting text


CLUSTERS = {
    "family": "👩‍👩‍👧‍👦", "flag": "🇯🇵", "tone": "👍🏽", "accents": "e\u0301\u0323", "voiced": "か\u3099",
    "jamo": "\u1100\u1161\u11a8", "astral": "𠮷", "thai": "กำ",
}  # fmt: skip


@pytest.mark.parametrize("name", CLUSTERS)
def test_c1_no_cut_goes_through_a_character(doors: Doors, name: str) -> None:
    """C1: whatever ceiling cuts a text of clusters without a blank, and wherever, all that is shown is whole ones."""
    cluster = CLUSTERS[name]
    for lead in range(len(cluster)):
        doors.packs.remember(f"backups {'x' * lead}{cluster * 900}", path=f"p/{lead}")
    texts: list[str] = []
    for limit, value in (("max_tokens", 400), ("max_tokens", 1_200), *(("max_chars", 700 + n) for n in range(4))):
        for shown in doors.packed("backups", **{limit: value}).values():
            texts += content_of(shown)
    for rows in doors.rows("backups").values():
        assert len(rows) == len(cluster)
        texts += [row[part] for row in rows for part in ("content", "excerpt") if part in row]
    assert len(texts) > 8 and any(cluster * 3 in text for text in texts)
    for text in texts:
        assert re.sub(r"^(backups )?x*|[… ]+", "", text).replace(cluster, "") == ""
        text.encode()


def test_c4_a_cut_is_marked_between_words_and_leads_to_the_whole(doors: Doors) -> None:
    """C4: a sentence of 500 characters in a long record is shown whole where there is room; where it is cut, that is
    between words, marked, and the id brings all of it."""
    before, behind = ("".join(PROSE.format(n=n) for n in numbers) for numbers in (range(30), range(30, 90)))
    whole = f"{before}{SENTENCE} {behind}".strip()
    ref = doors.packs.remember(whole, path="log").id
    for tokens in (160, 300, 700):
        for text in doors.packed("harbour office backups", max_tokens=tokens).values():
            assert re.search(r"^Budget: .* 1 shortened", text, re.MULTILINE) and re.search(
                rf"^(?:Reference: |\[1\] ){ref} ", text, re.M
            )
            for piece in content_of(text):
                start = whole.index(piece)
                assert re.fullmatch(r"\s|", whole[start - 1 : start]) is not None
                assert re.fullmatch(r"\s|", whole[start + len(piece) :][:1]) is not None
    assert SENTENCE in doors.packed("harbour office backups", max_tokens=400)["library"]
    for (row,) in doors.rows("harbour office backups").values():
        assert whole.startswith(row["content"]) and (row["content_truncated"], row["content_len"]) == (True, len(whole))
        assert SENTENCE in row["excerpt"]
    assert doors.run("recall", "harbour office backups").err.endswith(f"`get {ref}` prints all\n")
    assert doors.run("get", ref).out == f"{whole}\n"
    assert json.loads(doors.text("get_contents", refs=[ref]))["messages"][0]["content"] == whole
    assert doors.packs.recall("harbour office backups")[0].content == whole


def test_c5_half_characters_crash_nothing(doors: Doors) -> None:
    """C5: a lone surrogate in content, path, title, type, key, source, query or id is repaired or refused by name, at
    the library, the command line and the hooks (MCP: in its own tests); what is stored reads back everywhere."""
    odd = "caf\ud800 backups"
    kept = doors.packs.remember(odd, path=odd, title=odd, memory_type=odd, external_id=odd, source={odd: odd})
    assert kept.notes and doors.packs.get(kept.id).content == "caf\ufffd backups"
    typed = doors.run("remember", f"second {odd}", "--path", odd, "--title", odd, "--type", odd, "--key", odd)
    assert (typed.code, typed.out) == (0, "mem:2\n") and "U+FFFD" in typed.err
    for query in (odd, "\udfff", "\ud800\udc00\ud800"):
        for text in doors.packed(query).values():
            assert "\ufffd" in text or text in ("", NOTHING)
            text.encode()
        doors.packs.recall(query), doors.packs.search_memory(query)
        doors.packs.recall_with_context(query, [query], exclude_contents=[query])
        assert doors.run("search", query).code == doors.run("recall", query, "--exclude-content", query).code == 0
    assert doors.packs.get_contents(["mem:\ud800"]).missing == ("mem:\ud800",)
    for ref in ("\ud800", "mem:\ud800"):
        assert doors.run("get", ref).code == doors.run("forget", ref).code == 2
        for read in (doors.packs.get, doors.packs.forget):
            with pytest.raises(ContextPacksError, match=r"^id: "):
                read(ref)
    assert "café" not in doors.hook("session-start") and "caf\ufffd backups" in doors.hook("session-start")
    assert len(doors.run("export", "-").out.splitlines()) >= 2


# ---- D: limits of hosts


def test_d7_a_start_without_a_question_restores(doors: Doors) -> None:
    """D7: with a blank query each door brings what a session should know: pinned, open work, decisions, the newest."""
    doors.packs.remember_many(
        [
            {"content": "Answer in Japanese.", "pinned": True, "path": "rules", "timestamp": "2025-01-01"},
            {"content": "We chose DuckDB.", "type": "decision", "path": "db", "timestamp": "2026-01-02"},
            {
                "content": "Write the guide.",
                "type": "task",
                "status": "open",
                "path": "tasks",
                "timestamp": "2026-01-01",
            },
            {"content": "The guide has five parts.", "path": "guide", "timestamp": "2026-02-01"},
            *({"content": f"Line {n} of the log.", "path": "log", "timestamp": "2026-01-03"} for n in range(9)),
        ]
    )
    expected = ["mem:1", "mem:3", "mem:2", "mem:4"]
    blank = doors.packs.recall_context("", profile="session_start").text

    async def prompt() -> str:
        async with Client(build_server(lambda: doors.packs), mode="legacy") as client:
            (message,) = (await client.get_prompt("restore_context")).messages
        assert isinstance(message.content, types.TextContent)
        return message.content.text

    texts = {
        "library": blank,
        "command": doors.run("restore").out,
        "blank query": doors.run("context", " ").out,
        "mcp prompt": anyio.run(prompt),
        "hook": doors.hook("session-start", source="startup"),
    }
    for door, text in texts.items():
        assert (door, re.findall(r"^(?:Reference:|\[[0-9]+\]) ((?:mem|ep|thr|wkr|trg)\S+)", text, re.M)[:4]) == (
            door,
            expected,
        )
    structure = doors.call("recall_context", "internal").structured_content
    assert structure is not None and [item["id"] for item in structure["items"]][:4] == expected


# ---- E: honest reports


def test_e1_all_left_out_is_not_nothing_there(doors: Doors) -> None:
    """E1: nothing stored, all known already, all forgotten, and a filter that matches nothing are told apart."""
    told: dict[str, Any] = {}
    texts = [f"Backup {n} of the harbour office runs nightly." for n in range(3)]

    def ask(state: str, *, known: bool = False, path: str | None = None) -> None:
        fields: dict[str, Any] = {"exclude_contents": texts if known else [], **({"path": path} if path else {})}
        options = [word for text in texts if known for word in ("--exclude-content", text)]
        options += ["--path", path] if path else []
        pack, rows = doors.packs.recall_context("backup", **fields), doors.packs.recall("backup", **fields)
        document = json.loads(doors.text("recall", query="backup", **fields))
        structure = doors.call("recall_context", "internal", query="backup", **fields).structured_content
        assert structure is not None and document["messages"] == structure["items"] == pack.items == list(rows) == []
        typed = doors.run("context", "backup", *options)
        assert typed.out == f"{NOTHING}\n"
        plans = pack.retrieval_plan, structure["retrieval_plan"]
        told[state] = (
            pack.retrieval_plan["matched"],
            {rows.excluded, document.get("excluded", 0), *(plan.get("excluded", 0) for plan in plans)},
            {document.get("empty_filter"), *(plan.get("empty_filter") for plan in plans)},
            typed.err,
            doors.run("recall", "backup", *options).err,
        )

    doors.packs.remember("of something else")  # reading a store that is not there is an error
    ask("nothing stored")
    doors.packs.remember_many({"content": text} for text in texts)
    ask("all known", known=True)
    ask("no such path", path="sea")
    for n in range(2, 5):
        doors.packs.forget(f"mem:{n}")
    ask("all forgotten")
    left_out = "3 left out because you have them\n"
    nothing = (0, {0}, {None}, "", "nothing found\n")
    assert told == {
        "nothing stored": nothing,
        "all known": (3, {3}, {None}, left_out, f"nothing found\n{left_out}"),
        "no such path": (
            0,
            {0},
            {"path"},
            "path: matches nothing that is stored\n",
            "nothing found: path matches no record\n",
        ),
        "all forgotten": nothing,
    }


def test_e3_too_small_a_budget_is_not_irrelevance(doors: Doors) -> None:
    """E3: a record that no ceiling of the caller can show is named with what it needs, and that much shows it; at the
    hook, whose ceiling is fixed, it is not silence either."""
    doors.packs.remember("backups " + "𓀀" * 900)  # many tokens, and no place to divide it
    small = doors.packs.recall_context("backups", max_tokens=300)
    (decision,) = small.decisions
    need = decision.needs_tokens
    assert (small.budget.state, decision.id, decision.reason) == ("limited", "mem:1", "budget")
    assert need is not None and 600 < need <= 12_000
    told = [
        re.search(r"^Budget: .* 1 dropped; first item needs ([0-9]+) tokens$", text, re.MULTILINE)
        for text in doors.packed("backups", max_tokens=300).values()
    ]
    assert all(told)
    for needed in [max(int(match[1]) for match in told if match)]:  # the frame of the hook is shorter
        enough = doors.packed("backups", max_tokens=needed)
        assert all("Reference: mem:1" in enough[door] for door in ("library", "command", "mcp"))
    assert doors.packs.recall_context("backups", max_tokens=need - 1).items == []
    assert len(doors.packs.recall_context("backups", max_tokens=need).items) == 1
    assert set(doors.packed("zzqqy weather on Mars").values()) == {NOTHING, ""}


def test_e6_what_is_missing_is_said_at_every_door(doors: Doors) -> None:
    """E6: an answer that is not all of it says so in the form in which it is read, and how many are missing."""
    doors.packs.remember_many(
        {"content": f"Backup {n} is kept in building {n}. " * 40, "path": f"p/{n}"} for n in range(9)
    )
    for text in doors.packed("backup building", max_tokens=400).values():
        used, most, items, shortened, dropped = map(
            int,
            re.findall(r"^Budget: (\d+)/(\d+) tokens, (\d+) items, (\d+) shortened, (\d+) dropped", text, re.MULTILINE)[
                0
            ],
        )
        assert used <= most and items + dropped == 9 and shortened
    rows = doors.packs.recall("backup building", 4)
    document = json.loads(doors.text("recall", query="backup building", limit=4))
    typed = doors.run("recall", "backup building", "--limit", "4")
    assert (rows.more, document["more"], typed.out.count("mem:")) == (5, 5, 4)
    assert typed.err.splitlines()[-1] == "5 more: ask with a larger --limit" and typed.err.count("prints all") == 4
    assert doors.run("recall", "backup building", "--limit", "4", "--json").json["more"] == 5
    assert "more" not in doors.run("recall", "backup building", "--json").json
    assert all(row["content_truncated"] and row["content_len"] > 1_000 for row in document["messages"])


def test_e7_a_store_that_takes_no_writes_is_not_well(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    """E7: reads go on, every door says of a write that it failed and why, the check of health fails, no path shows."""
    doors.packs.remember("Backups run nightly.")
    folder = str(doors.store.parent)
    transcript = doors.store.with_name("5e5510.jsonl")
    transcript.write_text(
        json.dumps({"type": "user", "uuid": "1", "sessionId": "5e5510", "message": {"content": "Hi"}})
    )
    monkeypatch.setattr(os, "access", lambda *_: False)  # as for a user who may only read; root may always write
    assert all("Backups run nightly." in text for text in doors.packed("backups").values())
    with pytest.raises(ContextPacksError, match=r"^the store cannot be written: ") as raised:
        doors.packs.remember("x")
    assert type(raised.value).__name__ == "StoreReadOnly"
    with pytest.raises(ContextPacksError, match=r"^the store cannot be written: "):
        doors.packs.store.probe()
    typed = doors.run("remember", "x", "--json")
    assert (typed.code, typed.error["code"], typed.out) == (6, "store_read_only", "")
    examined = doors.run("doctor")
    assert examined.code == 6 and "BAD write: the store cannot be written" in examined.out
    called = doors.call("remember", content="x")
    assert called.is_error and (called.meta or {})["context-packs/error"] == {"code": "store_read_only"}
    stdin = json.dumps({"cwd": folder, "transcript_path": str(transcript)}).encode()
    ended = doors.run("hook", "claude-code", "session-end", "--foreground", stdin=stdin)
    assert (ended.code, ended.out, ended.err.count("\n")) == (0, "", 1)
    assert "the store cannot be written" in ended.err
    for text in (typed.err, examined.out, str(called), ended.err, str(raised.value)):
        assert folder not in text


# ---- K: MCP (the rest in the tests of its process)


def test_k1_results_stand_alone_on_stdout(doors: Doors) -> None:
    """K1: with every warning on and development mode, a command's or hook's stdout is its one document."""
    doors.packs.remember("Backups run nightly.")
    stdin = json.dumps({"cwd": str(doors.store.parent), "prompt": "When do backups run?"})
    for words in (
        ("context", "backups", "--json"), ("recall", "backups", "--json"), ("doctor", "--json"),
        ("hook", "claude-code", "session-start"), ("hook", "codex", "user-prompt-submit"),
    ):  # fmt: skip
        command = [sys.executable, "-X", "dev", "-W", "always", "-m", "context_packs.packer.doors.cli", *words]
        ran = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, encoding="utf-8")
        assert (ran.returncode, ran.stdout.count("\n")) == (0, 1), ran.stderr
        json.loads(ran.stdout)


# ---- M: prompt caches


def test_m1_the_same_question_later_is_the_same_text(run: Run, store: Path) -> None:
    """M1: a minute or a day later, with other questions between, every door gives the same bytes: no clock, no count of
    uses, no score stands in them."""
    with ContextPacks.open(store, embedder="none", clock=lambda: NOW) as packs:
        packs.remember_many(
            {"content": f"Backup {n} of building {n % 7} runs nightly.", "path": f"p/{n % 5}"} for n in range(60)
        )
    answers: list[dict[str, str]] = []
    for later in (timedelta(), timedelta(minutes=1), timedelta(days=1)):
        doors = Doors(run, store)
        doors.packs.close()
        with ContextPacks.open(store, embedder="none", clock=partial(NOW.__add__, later)) as doors.packs:
            shown = doors.packed("backup building 3")
            shown |= {"restore": doors.packs.recall_context("", profile="session_start").text}
            shown |= {"start": doors.hook("session-start", source="startup"), "typed": run("restore").out}
            shown |= {tool: doors.text(tool, query="backup building 3") for tool in ("recall", "search_memory")}
            answers.append(shown)
            doors.packs.recall_context("building 5"), doors.packs.recall("building 6"), run("context", "building 2")
    assert answers[0] == answers[1] == answers[2]
    assert all(len(text) > 100 for text in answers[0].values())
