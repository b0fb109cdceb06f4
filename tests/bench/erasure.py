"""Is a byte of erased text left on disk? Stores of several sizes, held in every way, looked through file by file.

    python tests/bench/erasure.py [--sizes 100,5000,50000]

A store holds made-up records; among them a memory in two versions, an episode, a trigger with payload and the report of
a worker that carry words found nowhere else. They are erased (hard_delete with labels, redact), the store is compacted,
and every file of its folder is searched for these words in UTF-8, UTF-16 and as DuckDB reads them. A row says how long
one erasure and the compaction took, in how many files words stood before and after, whether the store still tells any,
and how many records are left. Ends with 1 where any is left.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import get_args

from context_packs.packer import ContextPacks
from context_packs.store.file.duck import Mode

WORDS = ("quokkavault", "zebrafinch pepper", "闇夜の合言葉", "marzipan-otter-77", "thr_quokka_case", "invoice/quokka")
VOCABULARY = [
    f"{a}{b}" for a in ("har", "bor", "lin", "mos", "tev", "kal") for b in ("bour", "ten", "dra", "sil", "pon")
]


def sentence(rng: random.Random) -> str:
    """Eight words and a number."""
    return f"{' '.join(rng.choices(VOCABULARY, k=8))} {rng.randrange(10**6)}.".capitalize()


def fill(packs: ContextPacks, count: int) -> None:
    """Bystanders: memories, and a payload for every twentieth."""
    rng = random.Random(count)
    packs.remember_many({"content": " ".join(sentence(rng) for _ in range(4))} for _ in range(count))
    packs.threads.create("Bystanders", thread_id="thr_by")
    for n in range(min(50, count // 20)):
        packs.threads.add_trigger("thr_by", "ci", payload={"log": sentence(rng), "n": n})


def secrets(packs: ContextPacks) -> list[str]:
    """Records with the words, in everything that a record can have."""
    first, second, third, fourth = WORDS[:4]
    memory = packs.remember(
        f"The door opens with {first}.", title=second, external_id=WORDS[5], idempotency_key=f"{first} key"
    ).id
    packs.revise(memory, content=f"The door opens with {third}.", metadata={"tags": [fourth]}, source={"name": first})
    episode = packs.remember(f"{first}: {third}\nMika: {fourth}", kind="episode", path=WORDS[5]).id
    thread = packs.threads.create(f"{second} case", thread_id="thr_quokka_case", natural_key=WORDS[5]).id
    trigger = packs.threads.add_trigger(thread, "ci", payload={"log": f"{first} {third} " * 500}).id
    worker = packs.threads.create_worker(f"Find {fourth}").id
    packs.threads.report(worker, f"It was {second}, says {third}.", [trigger])
    return [memory, episode, trigger, worker, thread]


def left(folder: Path, words: tuple[str, ...]) -> set[str]:
    """Files that hold one of the words."""
    forms = [word.encode(code) for word in words for code in ("utf-8", "utf-16-le")]
    return {
        file.name for file in folder.rglob("*") if file.is_file() and any(one in file.read_bytes() for one in forms)
    }


def exported(packs: ContextPacks, words: tuple[str, ...]) -> bool:
    """Whether a word is in what the whole store says: compressed text is read here."""
    return any(word in str(line) for line in packs.export_lines(everybody=True) for word in words)


def row(filled: Path, size: int, mode: Mode, how: str) -> bool:
    """One line of the table; whether nothing is left."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(filled, folder / "memory.duckdb")
        with ContextPacks.open(folder / "memory.duckdb", "agent", mode=mode, embedder="none") as packs:
            refs = secrets(packs)
            # What can be read keeps its id, so a redacted thread keeps its name.
            words = WORDS if how == "hard_delete" else tuple(word for word in WORDS if not word.startswith("thr_"))
            begun = time.perf_counter()
            for ref in refs:
                packs.forget(ref, how, labels=True)
            erased = (time.perf_counter() - begun) / len(refs)
            before = left(folder, words)
            begun = time.perf_counter()
            packs.store.compact()
            compacted = time.perf_counter() - begun
            after = left(folder, words)
            told = exported(packs, words) or packs.stats()["erasures_waiting"] != 0
            count = packs.stats()["records"]
        after |= left(folder, words)
        megabytes = (folder / "memory.duckdb").stat().st_size / 2**20
    print(
        f"| {size:,} | {mode} | {how} | {erased * 1000:.0f} | {compacted:.2f} | {megabytes:.1f} | {len(before)} | "
        f"{len(after)} | {'yes' if told else 'no'} | {count:,} |",
        flush=True,
    )
    return not after and not told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="100,5000,50000")
    given = parser.parse_args()
    print("| records | held | erased by | ms each | compact, s | file, MB | files before | after | told | left |")
    print("|---:|---|---|---:|---:|---:|---:|---:|---|---:|")
    good = []
    for size in map(int, given.sizes.split(",")):
        with tempfile.TemporaryDirectory() as name:
            filled = Path(name, "filled.duckdb")
            with ContextPacks.open(filled, "agent", mode="exclusive", embedder="none") as packs:
                fill(packs, size)
            for mode in get_args(Mode):
                good += [row(filled, size, mode, how) for how in ("hard_delete", "redact")]
    print("\nnothing is left" if all(good) else f"\n{good.count(False)} rows have words left")
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
