"""What every command that harms a store asks afterwards: is it sound, and is each acknowledged write in it once?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from context_packs.packer import ContextPacks
from context_packs.store.duckstore import DuckStore
from context_packs.store.values import Viewer

COMMAND = str(Path(sys.executable).with_name("context-packs"))
NOT_BUILT = "not built yet"
DRAFTS = (".new", ".tmp", ".part", ".draft")  # files that only a write under way may leave

# Each counts rows that must not be there.
RULES: Mapping[str, str] = {
    "versions with the same number": "SELECT count(*) - count(DISTINCT vid) FROM records",
    "two versions of a record with the same count": "SELECT count(*) - count(DISTINCT (key, version)) FROM records",
    "records with two current versions": (
        "SELECT count(*) FROM (SELECT key FROM records WHERE valid_to IS NULL GROUP BY key HAVING count(*) > 1)"
    ),
    "records without a current version": (
        "SELECT count(*) FROM (SELECT key FROM records GROUP BY key HAVING count(*) FILTER (valid_to IS NULL) = 0)"
    ),
    "numbers that would be given again": (
        "SELECT count(*) FROM records r JOIN counters c ON c.name = "
        "['memory', 'episode', 'thread', 'worker', 'trigger'][r.key % 16 + 1] WHERE r.key // 16 >= c.next_value"
    ),
    "passage numbers that would be given again": (
        "SELECT count(*) FROM records WHERE vid + passages >= (SELECT next_value FROM counters WHERE name = 'passage')"
    ),
    "versions that the index does not hold whole": (
        "SELECT count(*) FROM records r LEFT JOIN (SELECT vid, sum(tf) AS held FROM postings WHERE pas > vid "
        "GROUP BY vid) p ON p.vid = r.vid WHERE r.terms <> coalesce(p.held, 0)"
    ),
    "index rows of no version": "SELECT count(*) FROM postings WHERE vid NOT IN (SELECT vid FROM records)",
    "index rows that stand twice": "SELECT count(*) - count(DISTINCT (term, pas)) FROM postings",
    "index rows said to be sorted that are not": (
        "SELECT count(*) FROM (SELECT term, lag(term) OVER (ORDER BY rowid) AS before, "
        "row_number() OVER (ORDER BY rowid) AS place FROM postings) "
        "WHERE before > term AND place <= coalesce((SELECT value::BIGINT FROM meta WHERE name = 'sorted_postings'), 0)"
    ),
    "more index rows said to be sorted than there are": (
        "SELECT count(*) FROM meta WHERE name = 'sorted_postings' AND value::BIGINT > (SELECT count(*) FROM postings)"
    ),
    "vectors of no version": ("SELECT count(*) FROM vectors WHERE vid <> 0 AND vid NOT IN (SELECT vid FROM records)"),
    "passages with two vectors": "SELECT count(*) - count(DISTINCT (model, pas)) FROM vectors WHERE vid <> 0",
    "payloads of no trigger": "SELECT count(*) FROM payloads WHERE key NOT IN (SELECT key FROM records)",
    "payloads that stand twice": "SELECT count(*) - count(DISTINCT key) FROM payloads",
    "payloads of another size": "SELECT count(*) FROM payloads WHERE size <> octet_length(body)",
    "triggers of no thread": (
        "SELECT count(*) FROM records WHERE key % 16 = 4 AND thread NOT IN (SELECT key FROM records)"
    ),
    "links that lead nowhere": (
        "SELECT count(*) FROM links WHERE from_key NOT IN (SELECT key FROM records) "
        "OR to_key NOT IN (SELECT key FROM records)"
    ),
    "successors that are not there": (
        "SELECT count(*) FROM records WHERE superseded_by IS NOT NULL "
        "AND superseded_by NOT IN (SELECT key FROM records)"
    ),
}


def unsound(store: Path) -> list[str]:
    """What is wrong inside a store, in words; empty for a sound one. Also takes one write, which is not kept."""
    if not store.exists():
        return []
    held = DuckStore(store, wait=1.0)
    try:
        with held.duck.reading() as session:
            counts = {rule: int(session.value(sql) or 0) for rule, sql in RULES.items()}
        held.probe()
    finally:
        held.close()
    return [f"{count} {rule}" for rule, count in counts.items() if count] + list(drafts(store))


def drafts(store: Path) -> Iterable[str]:
    """Files beside a store that a write under way left behind."""
    for path in sorted(store.parent.iterdir()):
        empty = path.is_dir() and not any(path.iterdir())  # where DuckDB would spill to
        if path.name.startswith(store.name) and path.name.endswith(DRAFTS) and not empty:
            yield f"{path.name} was left behind"


def lines(store: Path, agent: str = "bench") -> list[dict[str, Any]]:
    """Everybody's records as an export gives them, links and tombstones too; none where there is no store."""
    if not store.exists():
        return []
    with ContextPacks.open(store, agent, embedder="none", wait=30.0) as packs:
        return [dict(line) for line in packs.export_lines(everybody=True)]


def missing(told: Mapping[str, str], held: Iterable[Mapping[str, Any]]) -> list[str]:
    """Acknowledged writes, text → id, that an export does not hold exactly once and under that id."""
    ids: dict[str, list[str]] = {}
    for line in held:
        if line.get("content"):
            ids.setdefault(line["content"], []).append(line["id"])
    wrong = []
    for text, ref in told.items():
        found = ids.get(text, [])
        if found != [ref]:
            wrong.append(f"{text[:40]!r} was answered with {ref} and is {' and '.join(found) or 'nowhere'}")
    return wrong


def twice(refs: Iterable[str]) -> list[str]:
    """Ids that were given to more than one write."""
    return [f"{ref} was given {count} times" for ref, count in Counter(refs).items() if count > 1]


def found(store: Path, words: str, agent: str, limit: int = 200) -> set[str]:
    """Ids of what a search for words finds, duplicates included."""
    if not store.exists():
        return set()
    from context_packs.store.values import Filters

    store_ = DuckStore(store, wait=30.0)
    try:
        return {item.id for item in store_.candidates(words, Filters(), Viewer(agent), limit, limit).items}
    finally:
        store_.close()


def commands() -> frozenset[str]:
    """Names of the commands that this version has."""
    shown = subprocess.run([COMMAND, "--help"], capture_output=True, text=True, check=True).stdout
    listed = shown.partition("Commands:")[2].splitlines()
    return frozenset(line.split()[0] for line in listed if line.strip() and not line.startswith("     "))


def call(*words: object, given: str = "", timeout: float = 300.0) -> subprocess.CompletedProcess[str]:
    """Run a command of `context-packs`; the caller looks at its exit code."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CONTEXT_PACKS_")}
    return subprocess.run(
        [COMMAND, *map(str, words)],
        input=given,
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment,
        check=False,
    )


def doctor(store: Path) -> list[str] | None:
    """What `doctor --full` finds wrong; None where this version has no such check."""
    run = call("--json", "--store", store, "doctor", "--full")
    if run.returncode == 2 and "--full" in run.stderr:
        return None
    if run.returncode == 0:
        return []
    try:
        checks = json.loads(run.stdout)["checks"]
    except (ValueError, KeyError):
        return [f"doctor --full ended with {run.returncode}: {run.stderr.strip()[:200]}"]
    return [f"doctor --full: {check['check']}: {check['detail']}" for check in checks if not check["ok"]]
