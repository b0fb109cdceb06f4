"""What a session starts with: `python tests/bench/restore.py [--sessions 40] [--projects 6] [--json FILE]`.

Makes up projects in English and Japanese: sessions full of tool output, chores that all end alike, and, in the latest
ones, a decision, an open end and a last result. Another project writes beside each. Prints, for every budget, the share
of these that a restore shows, and counts what it must not show: another project, tool output before talk.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from context_packs.packer import ContextPacks

NOW = datetime(2026, 5, 20, 9, 0, tzinfo=UTC)
LATEST = 3  # sessions that are asked about
BUDGETS = (800, 1500)

# What is made, what was found, settled, left open: fitted together at random, so that no two projects are alike.
THINGS = {
    "en": "invoice mailer|tile server|login form|parcel tracker|speech index|payroll export|map cache",
    "ja": "請求書の送信|地図の配信|ログイン画面|荷物の追跡|音声の索引|給与の出力|座席の割り当て|種の台帳",
}
WORDS: dict[str, dict[str, list[str]]] = {
    "en": {
        "ask": [
            "The {thing} breaks on long names, look into it.",
            "Why is the {thing} slow on Mondays?",
                "Please add a retry to the {thing}."],
        "start": ["I'll look at the code first.", "Let me read the tests.", "Checking the files now."],
        "result": [
            "The {thing} now takes {n} ms instead of nine seconds; the index was missing.",
            "Fixed: the {thing} cut names at byte {n}, it counts characters now.",
            "All {n} cases of the {thing} pass; the fault was a stale lock.",
        ],
        "decide": [
            "We decided to keep the {thing} on version {n} until autumn.",
            "Agreed: the {thing} writes to queue {n} and nowhere else.",
            "We went with plan {n} for the {thing}, without a cache.",
        ],
        "open": [
            "Still open: the certificate of the {thing} for host {n}.",
            "TODO: tell the office about rule {n} of the {thing}.",
            "The {thing} still fails for tenant {n}, I could not reproduce it.",
        ],
        "thanks": ["thanks", "great, thank you", "ok, commit it"],
        "welcome": ["You're welcome.", "Done.", "Committed."],
        "chore": ["Bump the dependencies, ticket {n}."],
        "chored": ["Bumped for ticket {n}, all checks are green, pushed."],
    },
    "ja": {
        "ask": ["{thing}が長い名前で壊れるので調べて。", "{thing}が月曜に遅いのはなぜ？",
            "{thing}に再試行を足してください。"],
        "start": ["まずコードを見ます。", "テストを読みます。", "ファイルを確認します。"],
        "result": [
            "{thing}は九秒から{n}ミリ秒になりました。索引が抜けていました。",
            "直しました。{thing}は{n}バイト目で名前を切っていたので、文字で数えるようにしました。",
            "{thing}の{n}件はすべて通りました。古いロックが原因でした。",
        ],
        "decide": [
            "{thing}は秋まで版{n}のままにすると決めました。",
            "合意：{thing}は待ち行列{n}だけに書きます。",
            "{thing}は案{n}を採用し、控えは置きません。",
        ],
        "open": [
            "未解決：{thing}のホスト{n}の証明書。",
            "残件：{thing}の規則{n}を事務に伝えること。",
            "{thing}は利用者{n}でまだ失敗します。再現できていません。",
        ],
        "thanks": ["ありがとう", "助かりました", "はい、コミットして"],
        "welcome": ["どういたしまして。", "完了しました。", "コミットしました。"],
        "chore": ["依存を上げて、票{n}。"],
        "chored": ["票{n}のぶんを上げ、検査はすべて緑、送信しました。"],
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Project:
    """Records in order of time, what a restore must show and what it must not."""

    records: list[dict[str, Any]]
    wanted: list[str]
    foreign: str


def tools(thing: str, count: int) -> list[str]:
    """Calls and their output, which name the thing on every line."""
    lines = []
    for n in range(count):
        lines.append(f'Tool Bash: {{"command": "make check-{n}"}}')
        lines.append(f"Result: {thing} part {n} checked, {thing} queue {n} idle, 0 errors")
    return lines


def project(language: str, seed: int, sessions: int) -> Project:
    """A project of so many sessions, every third of them a chore, and as many of another project."""
    rng = random.Random(f"{language}{seed}")
    words = WORDS[language]
    records: list[dict[str, Any]] = []
    wanted: list[str] = []
    foreign = rng.choice(THINGS[language].split("|"))
    things = [thing for thing in THINGS[language].split("|") if thing != foreign]
    for number in range(sessions):
        chore = number % 3 == 1
        thing, at = rng.choice(things), NOW - timedelta(hours=7 * (sessions - number))

        def say(kind: str, thing: str = thing) -> str:
            return rng.choice(words[kind]).format(thing=thing, n=rng.randrange(11, 999))

        ask, result, decide, still = say("ask"), say("result"), say("decide"), say("open")
        lines = [f"User: {ask}", f"Assistant: {say('start')}", *tools(thing, rng.randrange(12, 40))]
        if chore:
            ask = say("chore")
            lines = [f"User: {ask}", f"Assistant: {say('start')}", *tools(thing, 6), f"Assistant: {say('chored')}"]
        else:
            shape = number % 4
            if shape == 0:  # all of it in the last reply
                lines += [f"Assistant: {result} {decide} {still}"]
            elif shape == 1:  # the decision in the middle, the open end in the last reply
                lines += [f"Assistant: {decide}", "User: go on", *tools(thing, 9), f"Assistant: {result}\n{still}"]
            elif shape == 2:  # the user settles it and leaves something open
                lines += [
                    f"Assistant: {result}",
                    f"User: {decide} {still}",
                    *tools(thing, 3),
                    f"Assistant: {say('welcome')}",
                ]
            else:
                lines += [f"Assistant: {decide}", *tools(thing, 5), f"Assistant: {result}", f"Assistant: {still}"]
            if shape != 2 and rng.random() < 0.7:
                lines += [f"User: {say('thanks')}", f"Assistant: {say('welcome')}"]
        records.append(session(lines, at, "project:/srv/own", f"own/{number}", ask))
        other = [
            f"User: {say('ask', foreign)}",
            *tools(foreign, 9),
            f"Assistant: {say('decide', foreign)} {say('open', foreign)}",
        ]
        records.append(session(other, at + timedelta(hours=3), "project:/srv/other", f"other/{number}", foreign))
        if not chore:
            wanted.append("\x1f".join((result, decide, still)))
    latest = [text for three in wanted[-LATEST:] for text in three.split("\x1f")]
    return Project(records, latest, foreign)


def session(lines: list[str], at: datetime, scope: str, path: str, title: str) -> dict[str, Any]:
    return {
        "content": "\n".join(lines), "kind": "episode", "type": "session", "title": title[:60],
        "timestamp": at.isoformat(), "scope": scope, "path": f"sessions/{path}",
    }  # fmt: skip


def flat(text: str) -> str:
    return " ".join(text.split())


def measure(made: Project, profile: str, max_tokens: int) -> dict[str, Any]:
    """What a restore of the project shows of what it must, and what it shows that it must not."""
    with ContextPacks.open(":memory:", agent_id="restore", clock=lambda: NOW, embedder="none") as packs:
        for record in made.records:
            packs.remember_many([record])
        pack = packs.recall_context("", profile=profile, max_items=20, max_tokens=max_tokens, scope="project:/srv/own")
        lines = [line.strip() for line in pack.text.splitlines()]
        tool = [n for n, line in enumerate(lines) if line.startswith(("Tool ", "Result:"))]
        talk = [n for n, line in enumerate(lines) if line.startswith(("User:", "Assistant:"))]
        text = flat(pack.text)
        return {
            "missing": [one for one in made.wanted if flat(one) not in text],
            "foreign": made.foreign in text,
            "tool_first": bool(tool and talk and tool[0] < talk[-1]),
            "tokens": pack.budget.used_tokens,
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=40, help="of each project")
    parser.add_argument("--projects", type=int, default=6, help="in each language")
    parser.add_argument("--show", action="store_true", help="print what is missing")
    parser.add_argument("--json", type=Path, help="write the numbers here as well")
    given = parser.parse_args()
    table = []
    for language in WORDS:
        made = [project(language, seed, given.sessions) for seed in range(given.projects)]
        for profile in ("public", "session_start"):
            for budget in BUDGETS:
                told = [measure(one, profile, budget) for one in made]
                asked = sum(len(one.wanted) for one in made)
                missing = [text for one in told for text in one["missing"]]
                row = {
                    "language": language, "profile": profile, "max_tokens": budget, "asked": asked,
                    "shown": asked - len(missing), "foreign": sum(one["foreign"] for one in told),
                    "tool_first": sum(one["tool_first"] for one in told),
                    "tokens": round(sum(one["tokens"] for one in told) / len(told)),
                }  # fmt: skip
                table.append(row)
                print("  ".join(f"{name} {value}" for name, value in row.items()))
                for text in missing if given.show else ():
                    print(f"   missing: {text}")
    if given.json:
        given.json.write_text(json.dumps(table, ensure_ascii=False, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
