"""A store of a million records: does everything still work, how long does it take, and what does it cost?

    python tests/bench/million.py [--records 1000000] [--singles 100000] [--json FILE]

Made-up records of 30 words (`synthetic.py`) are imported, then each operation runs in a process of its own: seconds as
a user waits for them, seconds of the call alone where there is one, and the peak of resident memory. Then so many
single writes go into a second store, whose size after `compact` may be at most 1.3 times that of a store with the same
records of one import. Exit status 1 where an operation fails, a count is wrong or bloat is left. Progress on stderr.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reports import finish, note, table
from synthetic import Writer
from verdict import COMMAND, NOT_BUILT, commands

from context_packs.packer import ContextPacks

WORDS = 30  # of one record: a memory of a sentence or two
BLOAT = 1.3  # size of a store of single writes after `compact`, as a multiple of one made by one import
SEED = 3

# Runs one call of the library and tells its seconds; the peak of memory is measured from outside.
CALL = """
import json, sys, time
from context_packs.packer import ContextPacks

store, call, argument = sys.argv[1:]
begin = time.perf_counter()
with ContextPacks.open(store, "bench", embedder="none", wait=60.0) as packs:
    opened = time.perf_counter() - begin
    begin = time.perf_counter()
    if call == "open":
        said = packs.store.count()
    elif call == "remember":
        said = packs.remember(argument, path="million").id
    elif call == "recall":
        said = len(packs.recall_context(argument, max_items=8, max_tokens=1500).items)
    elif call == "restore":
        said = len(packs.recall_context("", max_tokens=1500).items)
    elif call == "search":
        said = len(packs.search_memory(argument))
    elif call == "get":
        said = packs.get(argument).id
    else:
        packs.forget(argument, call)
        said = argument
    print(json.dumps({"seconds": time.perf_counter() - begin + (opened if call == "open" else 0.0), "said": said}))
"""
SINGLES = """
import json, sys
from context_packs.packer import ContextPacks

with ContextPacks.open(sys.argv[1], "bench", mode="exclusive", embedder="none") as packs:
    with open(sys.argv[2], encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            record = json.loads(line)
            packs.remember(record.pop("content"), **record)
            if number % 5000 == 0:
                print(number, file=sys.stderr, flush=True)
"""


def records(count: int) -> Iterator[dict[str, Any]]:
    """Short records with natural frequencies of words."""
    for record in Writer(SEED).records(count):
        yield {**record, "content": " ".join(record["content"].split()[:WORDS])}


def write(path: Path, count: int) -> None:
    """The records as a file of JSON Lines."""
    with path.open("w", encoding="utf-8") as out:
        for number, record in enumerate(records(count), start=1):
            out.write(json.dumps(record) + "\n")
            if number % 100_000 == 0:
                note(f"{number} records made up")


def size_of(store: Path) -> float:
    """MB (10^6 bytes) of a store and its log."""
    files = [path for path in (store, store.with_name(store.name + ".wal")) if path.exists()]
    return sum(path.stat().st_size for path in files) / 1e6


def timed(words: list[str], *, quiet: bool = True) -> dict[str, Any]:
    """Run a process: seconds of the clock, peak of its memory in MB, exit code and what it said."""
    begin = time.perf_counter()
    error = subprocess.PIPE if quiet else None
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=error, text=True) as process:
        peak = 0.0
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            peak = max(peak, _peak(status))
            try:
                process.wait(0.02)
            except subprocess.TimeoutExpired:
                continue
        out = process.stdout.read() if process.stdout else ""
        complaint = process.stderr.read() if process.stderr else ""
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "peak": peak, "code": process.returncode, "out": out, "error": complaint[-300:]}


def _peak(status: Path) -> float:
    try:
        lines = status.read_text("utf-8").splitlines()
    except OSError:
        return 0.0
    held = next((line.split()[1] for line in lines if line.startswith("VmHWM:")), "0")
    return int(held) * 1024 / 1e6


class Report:
    """The rows of the table, and what went wrong."""

    def __init__(self) -> None:
        self.rows: list[list[object]] = []
        self.numbers: dict[str, Any] = {}
        self.wrong: list[str] = []

    def add(self, name: str, run: dict[str, Any], store: Path, said: object = None) -> None:
        """A row of an operation that has run."""
        inside = None
        if run["code"]:
            self.wrong.append(f"{name} ended with {run['code']}: {run['error'].strip()}")
        elif said is not None:
            answer = json.loads(run["out"])
            inside = answer["seconds"]
            if said != "any" and answer["said"] != said:
                self.wrong.append(f"{name} said {answer['said']!r}, not {said!r}")
        shown = "–" if inside is None else f"{inside:.3f}"
        self.rows.append([name, f"{run['seconds']:.1f}", shown, f"{run['peak']:.0f}", f"{size_of(store):.1f}"])
        self.numbers[name] = {"seconds": run["seconds"], "inside": inside, "peak_mb": run["peak"], "mb": size_of(store)}
        note(f"{name}: {run['seconds']:.1f} s, {run['peak']:.0f} MB")

    def absent(self, name: str) -> None:
        """A row of a command that this version does not have."""
        self.rows.append([name, NOT_BUILT, "–", "–", "–"])


def large(folder: Path, count: int, report: Report) -> None:
    """Import so many records and try each operation on them."""
    store, source = folder / "large.duckdb", folder / "large.jsonl"
    write(source, count)
    base = [COMMAND, "--store", str(store), "--agent", "bench", "--quiet"]
    report.add("import", timed([*base, "import", "jsonl", str(source)]), store)
    source.unlink()
    query = Writer(SEED).queries(1, min(count, 1000))[0]
    steps = [
        ("open", "", count),
        ("remember", "The millionth memory says that a heron stands at the weir.", f"mem:{count + 1}"),
        ("recall", query, "any"),
        ("recall", "heron at the weir", 1),
        ("search", "heron weir", 1),
        ("restore", "", "any"),
        ("get", f"mem:{count // 2}", f"mem:{count // 2}"),
        ("soft_delete", f"mem:{count // 3}", f"mem:{count // 3}"),
        ("hard_delete", f"mem:{count // 4}", f"mem:{count // 4}"),
        ("redact", f"mem:{count // 5}", f"mem:{count // 5}"),
    ]
    for number, (call, argument, said) in enumerate(steps):
        name = {"soft_delete": "forget, soft", "hard_delete": "forget, hard", "redact": "forget, redact"}.get(
            call, call
        )
        run = timed([sys.executable, "-c", CALL, str(store), call, argument])
        report.add(f"{name}, again" if number and steps[number - 1][0] == call else name, run, store, said)
    out = folder / "export.jsonl"
    report.add("export", timed([*base, "export", str(out)]), store)
    if out.exists():
        with out.open("rb") as held:
            lines = sum(1 for _ in held)
        if lines != count + 1:
            report.wrong.append(f"the export has {lines} lines, not {count + 1}")
        report.numbers["export"]["file_mb"] = out.stat().st_size / 1e6
        out.unlink()
    there = commands()
    for name, words in (("backup", [str(folder / "backup.duckdb")]), ("compact", []), ("reindex", [])):
        if name in there:
            report.add(name, timed([*base, name, *words]), store)
        else:
            report.absent(name)
    full = timed([*base, "doctor", "--full"])
    if full["code"] == 2:
        report.absent("doctor --full")
    else:
        report.add("doctor --full", full, store)


def singles(folder: Path, count: int, report: Report) -> None:
    """So many single writes; their store after `compact` beside that of one import."""
    source, store, once = folder / "singles.jsonl", folder / "singles.duckdb", folder / "once.duckdb"
    write(source, count)
    report.add(
        f"{count} single writes", timed([sys.executable, "-c", SINGLES, str(store), str(source)], quiet=False), store
    )
    base = [COMMAND, "--agent", "bench", "--quiet", "--store"]
    report.add("the same in one import", timed([*base, str(once), "import", "jsonl", str(source)]), once)
    with ContextPacks.open(store, "bench", embedder="none") as packs:
        if packs.store.count() != count:
            report.wrong.append(f"{packs.store.count()} of {count} single writes are there")
    if "compact" not in commands():
        report.absent("compact after single writes")
        return
    report.add("compact after single writes", timed([*base, str(store), "compact"]), store)
    report.add("compact after one import", timed([*base, str(once), "compact"]), once)
    if size_of(store) > BLOAT * size_of(once):
        report.wrong.append(f"{size_of(store):.1f} MB after compact, {size_of(once):.1f} MB of one import")


def main() -> int:
    """Run, print the table, and tell by the exit status whether everything worked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--singles", type=int, default=100_000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        if given.records:
            large(Path(folder), given.records, report)
        if given.singles:
            singles(Path(folder), given.singles, report)
    print(table(["operation", "seconds", "of it the call", "peak MB", "store MB"], report.rows))
    for message in report.wrong:
        print(message)
    said = f"{given.records} records of {WORDS} words, {given.singles} single writes; a process for each operation"
    finish({"operations": report.numbers, "wrong": report.wrong}, ["duckdb"], said, given.json)
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
