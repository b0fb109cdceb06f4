"""Bit flips, truncations and a full disk: what is found, what is salvaged, whether anything wrong is given back.

python tests/bench/damage.py --flips 200 --cuts 20 --seed 1 [--json FILE]
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from reports import finish, percent, progress, table

from context_packs.store import blocks
from context_packs.store.base import Viewer
from context_packs.store.check import check_file
from context_packs.store.duckstore import DuckStore
from context_packs.store.errors import StoreError
from context_packs.store.salvage import Salvaged, salvage

ME = Viewer("planner")
SIZES = (40, 1_000, 6_000)
WRITER = """
import sys
from context_packs.store.base import Viewer
from context_packs.store.duckstore import DuckStore
from context_packs.store.errors import StoreError
store = DuckStore(sys.argv[1], mode=sys.argv[2])
for n in range(100_000):
    try:
        print(store.remember_many([{"content": f"line {n} " + "word " * 400}], Viewer("planner"))[0].id, flush=True)
    except StoreError as error:
        print(type(error).__name__, file=sys.stderr)
        break
"""


def made(path: Path, count: int, seed: int) -> dict[Any, str]:
    """A store of records of about 60 words; the text of each."""
    words = [f"word{n}" for n in range(3000)]
    pick = random.Random(seed)
    store = DuckStore(path, mode="exclusive")
    store.remember_many(({"content": f"Note {n}: " + " ".join(pick.choices(words, k=60))} for n in range(count)), ME)
    for n in range(5):
        store.remember_many([{"content": f"A later note {n}"}], ME)
    store.forget(["mem:1"], "hard_delete", ME)
    texts = {(line["id"], line["version"]): line["content"] for line in store.export()}
    store.close()
    return texts


def reads(path: Path, texts: dict[Any, str]) -> Counter[str]:
    """Every record read by its id through the store: right, an error, or wrong."""
    outcome: Counter[str] = Counter()
    store = DuckStore(path, mode="shared", wait=1.0)
    for name, _ in list(texts)[:: max(1, len(texts) // 20)]:
        try:
            found = store.get(name, ME).content
        except StoreError:
            outcome["error"] += 1
        else:
            outcome["right" if found == texts[name, 1] else "wrong"] += 1
    store.close()
    return outcome


def looked_at(path: Path, texts: dict[Any, str], change: bytes, block: int | None) -> dict[str, Any]:
    """What full check, salvage and reads make of a changed file."""
    path.write_bytes(change)
    layout = blocks.examine(path)
    findings = [detail for _, ok, detail in check_file(str(path), lambda *_: None) if not ok]
    report = Salvaged()
    try:
        given = {(line["id"], line["version"]): line["content"] for line in salvage(str(path), report)}
        opened = True
    except StoreError:
        given, opened = {}, False
    used = block is None or block < 0 or layout.free is None or block not in layout.free
    named = any(f"block {block} " in detail or "header" in detail for detail in findings)
    return {
        "used": used,
        "named": bool(findings) if block is None else named,
        "opened": opened,
        "given": len(given),
        "records": len(texts),
        "wrong": sum(texts.get(key) != text for key, text in given.items()),
        **{f"read {name}": count for name, count in reads(path, texts).items()},
    }


def flips(folder: Path, count: int, seed: int) -> list[dict[str, Any]]:
    """One random bit of a file each."""
    rows = []
    pick = random.Random(seed)
    stores = []
    for size in SIZES:
        path = folder / f"{size}.duckdb"
        texts = made(path, size, seed)
        stores.append((path.read_bytes(), texts))
    for number in progress("flips", range(count)):
        content, texts = stores[number % len(stores)]
        place = pick.randrange(len(content))
        changed = bytearray(content)
        changed[place] ^= 1 << pick.randrange(8)
        block = (place - 12_288) // 262_144 if place >= 12_288 else -1
        path = folder / f"flip{number}.duckdb"
        rows.append({"size": len(texts), **looked_at(path, texts, bytes(changed), block)})
        path.unlink()
    return rows


def cuts(folder: Path, count: int, seed: int) -> list[dict[str, Any]]:
    """Files cut off at a random place."""
    pick = random.Random(seed)
    path = folder / "whole.duckdb"
    texts = made(path, SIZES[1], seed)
    content = path.read_bytes()
    rows = []
    for number in progress("cuts", range(count)):
        changed = content[: pick.randrange(1, len(content))]
        path = folder / f"cut{number}.duckdb"
        rows.append({"size": len(texts), **looked_at(path, texts, changed, None)})
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
    answered = run.stdout.split()
    there = {line["id"] for line in DuckStore(path).export()}
    return {"mode": mode, "room": room, "answered": len(answered), "lost": len(set(answered) - there),
            "error": run.stderr.strip().splitlines()[-1:] or ["none"]}  # fmt: skip


def summed(name: str, rows: list[dict[str, Any]]) -> list[object]:
    """One line of the table."""
    used = [row for row in rows if row["used"]]
    return [
        name,
        len(rows),
        len(used),
        sum(row["named"] for row in used),
        sum(row["opened"] for row in rows),
        percent(sum(row["given"] for row in rows), sum(row["records"] for row in rows)),
        sum(row["wrong"] for row in rows),
        sum(row.get("read right", 0) for row in rows),
        sum(row.get("read error", 0) for row in rows),
        sum(row.get("read wrong", 0) for row in rows),
    ]


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
        full = [full_disk(folder, mode, room) for mode in ("shared", "exclusive") for room in (3_000_000, 9_000_000)]
    lines = [summed(f"{size} records", [row for row in flipped if row["size"] == size])
             for size in sorted({row["size"] for row in flipped})]  # fmt: skip
    lines.append(summed("cut off", cut))
    head = ("damage", "files", "in use", "named", "salvaged", "records %", "wrong", "reads right", "error", "wrong")
    print(table(head, lines))
    disks = [(row["mode"], row["room"], row["answered"], row["lost"], row["error"][0]) for row in full]
    print(table(("full disk", "room", "answered", "lost", "error"), disks))
    failed = sum(row["wrong"] + row.get("read wrong", 0) for row in (*flipped, *cut)) + sum(row["lost"] for row in full)
    failed += sum(row["used"] and not row["named"] for row in flipped)
    finish({"flips": flipped, "cuts": cut, "full": full}, ("context-packs", "duckdb"),
           f"{given.flips} flips, {given.cuts} cuts, {len(full)} full disks", given.json)  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
