"""Processes made to be killed: each works on a store without end and tells on stdout what was acknowledged.

    python tests/bench/victims.py OPERATION STORE MODE RUN

Every line is a JSON object, printed once the call that it is about has returned; the first is {"ready": true}. `RUN`
makes the texts of one process differ from those of every other.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from context_packs.packer import ContextPacks
from context_packs.store.duckstore import DuckStore
from context_packs.store.search.embedders import HashEmbedder
from context_packs.store.values import Viewer

AGENT = "victim"
IMPORTED = 2_400  # records of one import: more than two batches
MODES = ("soft_delete", "hard_delete", "redact")


def tell(**said: Any) -> None:
    """One acknowledgement."""
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def sentence(run: str, number: int) -> str:
    """A text that no other has, with words that many share."""
    return f"Run {run} line {number}: {marker(run, number)} stays with the common words of every line."


def marker(run: str, number: int) -> str:
    """A word that stands in one text only."""
    return "zq" + hashlib.sha256(f"{run}/{number}".encode()).hexdigest()[:14]


def payload(run: str, number: int) -> str:
    """What a trigger brought: a little more than fits into a line."""
    return f"{marker(run, number)} " * 40


def remember(packs: ContextPacks, run: str) -> None:
    """Store records one by one; every fourth replaces the one before it."""
    last = ""
    for number in range(1_000_000):
        text = sentence(run, number)
        fields = {"supersedes": last} if last and number % 4 == 3 else {}
        last = packs.remember(text, path=f"runs/{number % 5}", **fields).id
        tell(ref=last, text=text)


def imported(run: str) -> Iterator[Mapping[str, Any]]:
    """The records of one import."""
    for number in range(IMPORTED):
        yield {"content": sentence(run, number), "external_id": f"{run}:{number}", "path": f"runs/{run}"}


def import_(packs: ContextPacks, run: str) -> None:
    """Import a file, batch by batch."""
    file = Path(sys.argv[2]).with_name(f"import-{run}.jsonl")
    file.write_text("".join(json.dumps(record) + "\n" for record in imported(run)), "utf-8")
    for batch in packs.import_file("jsonl", file):
        tell(batch=len(batch), first=batch[0].id)
    tell(done=True)


def forget(packs: ContextPacks, run: str) -> None:
    """Store a dozen records, then forget them one by one in all ways."""
    for block in range(100_000):
        numbers = range(12 * block, 12 * block + 12)
        written = packs.remember_many({"content": sentence(run, n), "title": marker(run, n)} for n in numbers)
        tell(stored=[[one.id, n] for one, n in zip(written, numbers, strict=True)])
        for one, n in zip(written, numbers, strict=True):
            mode = MODES[n % 3]
            tell(forgetting=one.id, number=n, mode=mode)
            packs.forget(one.id, mode)
            tell(forgotten=one.id, number=n, mode=mode)


def chain(packs: ContextPacks, run: str) -> None:
    """Triggers with payloads in one thread, with reports that cite them and links between them."""
    thread = packs.threads.create(f"thread of run {run}", thread_id=f"thr_{run}").id
    tell(thread=thread)
    for number in range(1_000_000):
        trigger = packs.threads.add_trigger(
            thread,
            "kills",
            summary=f"event {number} of {run}",
            payload=payload(run, number),
            external_id=f"{run}:{number}",
        ).id
        tell(trigger=trigger, number=number)
        if number % 3 == 2:
            worker = packs.threads.create_worker(f"task {number} of run {run}", [thread]).id
            packs.threads.report(worker, f"Report {number} of run {run}", cites=[trigger])
            tell(worker=worker, cites=trigger, number=number)
        if number % 5 == 4:
            packs.threads.link(trigger, thread, f"closes-{number}")
            tell(link=trigger, rel=f"closes-{number}")


def merge(packs: ContextPacks, run: str) -> None:
    """Sort the index again after every few records."""
    number = 0
    while True:
        for _ in range(4):
            number += 1
            tell(ref=packs.remember(sentence(run, number)).id, text=sentence(run, number))
        packs.store.merge()
        tell(merged=number)


def embed(packs: ContextPacks, run: str) -> None:
    """Store a few records, then make the vectors that they lack, few at a time."""
    number = 0
    while True:
        for _ in range(6):
            number += 1
            tell(ref=packs.remember(sentence(run, number)).id, text=sentence(run, number))
        for made in packs.store.embed_pending(batch=3):
            tell(vectors=made)


def migrate(store: str, mode: str, run: str) -> None:
    """Open a store of an older schema and write one record."""
    tell(ready=True)
    with ContextPacks.open(store, AGENT, mode=mode, wait=30.0, embedder="none") as packs:  # type: ignore[arg-type]
        tell(schema=packs.stats()["schema"])
        tell(ref=packs.remember(sentence(run, 0)).id, text=sentence(run, 0))


WORK: Mapping[str, Callable[[ContextPacks, str], None]] = {
    "remember": remember,
    "import": import_,
    "forget": forget,
    "chain": chain,
    "merge": merge,
    "embed": embed,
}


def pending(store: Path) -> int:
    """Make every vector that is missing; how many passages have none afterwards."""
    held = DuckStore(store, wait=30.0, embedder=HashEmbedder())
    try:
        for _ in held.embed_pending():
            pass
        return int(held.stats(Viewer(AGENT))["pending"])
    finally:
        held.close()


def main() -> None:
    """Work until killed."""
    operation, store, mode, run = sys.argv[1:]
    if operation == "migration":
        migrate(store, mode, run)
        return
    model = "test" if operation == "embed" else "none"
    with ContextPacks.open(store, AGENT, mode=mode, wait=30.0, embedder=model) as packs:  # type: ignore[arg-type]
        tell(ready=True)
        WORK[operation](packs, run)


if __name__ == "__main__":
    main()
