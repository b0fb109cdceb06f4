"""Bit flips, truncations and a full disk: what is found, what is salvaged, whether anything wrong is given back.

python tests/bench/damage.py --flips 200 --cuts 20 --seed 1 [--json FILE]
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports import finish, progress, table

from context_packs.store.duckstore import DuckStore
from context_packs.store.errors import StoreError
from context_packs.store.maintenance import blocks
from context_packs.store.maintenance.check import check_file
from context_packs.store.maintenance.salvage import Salvaged, salvage
from context_packs.store.records import id_of
from context_packs.store.values import Viewer

Lines = dict[tuple[str, int], dict[str, Any]]
ME = Viewer("planner")
SIZES = (40, 600, 2_000)
WRITER = """
import sys
from context_packs.store.values import Viewer
from context_packs.store.duckstore import DuckStore
from context_packs.store.errors import StoreError
store = DuckStore(sys.argv[1], mode=sys.argv[2])
for n in range(2_000):
    try:
        print(store.remember_many([{"content": f"line {n} " + "word " * 3000}], Viewer("planner"))[0].id, flush=True)
    except StoreError as error:
        print(type(error).__name__, file=sys.stderr)
        break
"""


@dataclass(frozen=True, slots=True)
class Made:
    """A store: its bytes, the lines of its export, and by block the lines of which something stands in it."""

    content: bytes
    lines: Lines
    inside: dict[int, set[Any]]


def keyed(lines: Iterable[dict[str, Any]]) -> Lines:
    """Lines by id and version."""
    return {(line["id"], line["version"]): line for line in lines if "id" in line}


def made(path: Path, count: int, seed: int) -> Made:
    """A store of records of about 60 words."""
    words = [f"word{n}" for n in range(3000)]
    pick = random.Random(seed)
    store = DuckStore(path, mode="exclusive")
    store.remember_many(({"content": f"Note {n}: " + " ".join(pick.choices(words, k=60))} for n in range(count)), ME)
    for n in range(5):
        store.remember_many([{"content": f"A later note {n}"}], ME)
    store.forget(["mem:1"], "hard_delete", ME)
    lines = keyed(store.export())
    store.close()
    inside: dict[int, set[Any]] = {}
    store = DuckStore(path, mode="exclusive")
    with store.duck.reading() as session:
        names = {place: (id_of(key, name), version) for place, key, name, version in session.rows(
            "SELECT rowid, key, name, version FROM records")}  # fmt: skip
        for first, many, block, others in session.rows(
            "SELECT start, count, block_id, additional_block_ids FROM pragma_storage_info('records')"
        ):
            for number in (block, *(others or ())):
                inside.setdefault(number, set()).update(
                    names[place] for place in range(first, first + many) if place in names
                )
    store.close()
    return Made(path.read_bytes(), lines, inside)


def reads(path: Path, lines: Lines) -> Counter[str]:
    """Records read by their ids through the store: right, an error, or wrong."""
    outcome: Counter[str] = Counter()
    store = DuckStore(path, mode="leased", wait=1.0)
    for name, version in list(lines)[:: max(1, len(lines) // 10)]:
        try:
            found = store.get(name, ME).content
        except StoreError:
            outcome["error"] += 1
        else:
            outcome["right" if found == lines[name, version]["content"] else "wrong"] += 1
    store.close()
    return outcome


def looked_at(path: Path, made: Made, change: bytes, block: int | None) -> dict[str, Any]:
    """What full check, salvage and reads make of a changed file."""
    path.write_bytes(change)
    layout = blocks.examine(path)
    findings = [detail for _, ok, detail in check_file(str(path), lambda *_: None) if not ok]
    report = Salvaged()
    start = time.monotonic()
    try:
        given = keyed(salvage(str(path), report))
        opened = True
    except StoreError:
        given, opened = {}, False
    taken = time.monotonic() - start
    used = block is None or block < 0 or layout.free is None or block not in layout.free
    named = any(f"block {block} " in detail or "header" in detail for detail in findings)
    sound = made.lines.keys() - (made.inside.get(block, set()) if block >= 0 else set()) if block is not None else set()
    told = " ".join(report.lost)
    return {
        "block": block,
        "used": used,
        "named": bool(findings) if block is None else named,
        "opened": opened,
        "given": len(given),
        "records": len(made.lines),
        "sound": len(sound),
        "sound given": len(sound & given.keys()),
        "wrong": sum(made.lines.get(key, {}).get("content") != line["content"] for key, line in given.items()),
        "other fields": sum(
            line != made.lines.get(key) and f"{key[0]} version {key[1]}: given without" not in told
            for key, line in given.items()
        ),
        "doubtful": report.doubtful,
        "seconds": round(taken, 2),
        **{f"read {name}": count for name, count in reads(path, made.lines).items()},
    }


def flips(folder: Path, count: int, seed: int) -> list[dict[str, Any]]:
    """One random bit of a file each."""
    rows = []
    pick = random.Random(seed)
    stores = [made(folder / f"{size}.duckdb", size, seed) for size in SIZES]
    for number in progress("flips", range(count)):
        store = stores[number % len(stores)]
        place = pick.randrange(len(store.content))
        changed = bytearray(store.content)
        bit = pick.randrange(8)
        changed[place] ^= 1 << bit
        block = (place - 12_288) // 262_144 if place >= 12_288 else -1
        path = folder / f"flip{number}.duckdb"
        found = looked_at(path, store, bytes(changed), block)
        rows.append({"size": len(store.lines), "place": place, "bit": bit, **found})
        path.unlink()
    return rows


def cuts(folder: Path, count: int, seed: int) -> list[dict[str, Any]]:
    """Files cut off at a random place."""
    pick = random.Random(seed)
    store = made(folder / "whole.duckdb", SIZES[1], seed)
    rows = []
    for number in progress("cuts", range(count)):
        changed = store.content[: pick.randrange(1, len(store.content))]
        path = folder / f"cut{number}.duckdb"
        rows.append({"size": len(store.lines), **looked_at(path, store, changed, None)})
        path.unlink()
    return rows


def full_disk(folder: Path, mode: str, room: int) -> dict[str, Any]:
    """A writer whose files may have `room` bytes, until it fails; what of its answers is there afterwards."""
    path = folder / f"full-{mode}-{room}.duckdb"
    DuckStore(path, mode="exclusive").close()
    run = subprocess.run(
        [sys.executable, "-c", WRITER, str(path), mode],
        capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
    )  # fmt: skip
    answered = re.findall(r"^mem:\d+$", run.stdout, re.MULTILINE)  # DuckDB shows its progress between
    there = {line["id"] for line in DuckStore(path).export()}
    return {"mode": mode, "room": room, "answered": len(answered), "lost": len(set(answered) - there),
            "error": run.stderr.strip().splitlines()[-1:] or ["none"]}  # fmt: skip


def summed(name: str, rows: list[dict[str, Any]]) -> list[object]:
    """One line of the table."""
    used = [row for row in rows if row["used"]]

    def total(field: str) -> int:
        return sum(row.get(field, 0) for row in rows)

    return [
        name, len(rows), len(used), sum(row["named"] for row in used), sum(row["opened"] for row in rows),
        f"{total('given')}/{total('records')}", f"{total('sound given')}/{total('sound')}", total("wrong"),
        total("other fields"), f"{total('read right')}/{total('read error')}/{total('read wrong')}",
    ]  # fmt: skip


def main() -> int:
    """Run all and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flips", type=int, default=200)
    parser.add_argument("--cuts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        flipped = flips(folder, given.flips, given.seed)
        cut = cuts(folder, given.cuts, given.seed)
        full = [full_disk(folder, mode, room) for mode in ("shared", "exclusive") for room in (1_500_000, 2_500_000)]
    lines = [summed(f"{size} records", [row for row in flipped if row["size"] == size])
             for size in sorted({row["size"] for row in flipped})]  # fmt: skip
    lines.append(summed("cut off", cut))
    head = ("damage", "files", "in use", "named", "salvaged", "records given", "of sound blocks", "wrong texts",
            "wrong fields", "reads right/error/wrong")  # fmt: skip
    print(table(head, lines))
    disks = [(row["mode"], row["room"], row["answered"], row["lost"], row["error"][0]) for row in full]
    print(table(("full disk", "room", "answered", "lost", "error"), disks))
    failed = sum(row["lost"] for row in full)
    failed += sum(row["wrong"] + row["other fields"] + row.get("read wrong", 0) for row in (*flipped, *cut))
    failed += sum(row["used"] and not row["named"] for row in flipped)
    for row in flipped:
        if row["sound given"] < row["sound"] or row["wrong"] or row["other fields"]:
            print("missed:", {name: value for name, value in row.items() if name != "doubtful"})
    finish({"flips": flipped, "cuts": cut, "full": full}, ("context-packs", "duckdb"),
           f"{given.flips} flips, {given.cuts} cuts, {len(full)} full disks", given.json)  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
