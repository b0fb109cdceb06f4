"""Speed, memory and growth over stores of made-up records (90 words, natural word frequencies), beside bm25s.

    python tests/bench/speed.py [--sizes 1000,10000,100000] [--japanese] [--json FILE]

Each group of numbers comes from a fresh process. Times are medians (and 95th percentiles) of single calls as a caller
sees them, on whatever else the machine does; memory is resident memory of the whole process.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from reports import NONE, finish, memory, note, table
from synthetic import Writer

AGENT = "bench"
SHAPES = ((8, 1500), (50, 12000))  # max_items, max_tokens
MODES = ("exclusive", "shared")
WARM = 5  # calls before the clock counts
TOP = 8

Numbers = dict[str, float]
Call = Callable[[], object]


def timed(calls: Sequence[Call], warm: int = 0) -> list[float]:
    """Milliseconds of each call, after the first `warm` calls were made once for nothing."""
    for call in calls[:warm]:
        call()
    spent = []
    for call in calls:
        begin = time.perf_counter()
        call()
        spent.append((time.perf_counter() - begin) * 1000)
    return spent


def spread(name: str, spent: Sequence[float]) -> Numbers:
    """Median and 95th percentile (nearest rank) of times."""
    ranked = sorted(spent)
    return {f"{name} median ms": median(ranked), f"{name} p95 ms": ranked[max(0, -(-len(ranked) * 95 // 100) - 1)]}


# ---- each runs in a process of its own


def importing(store: str, lines: str, size: int) -> Numbers:
    """Import a JSON Lines file with all its batches and the final merge."""
    from context_packs.packer.service import ContextPacks

    with ContextPacks.open(store, AGENT, mode="exclusive") as packs:
        begin = time.perf_counter()
        written = sum(len(batch) for batch in packs.import_file("jsonl", lines))
        spent = time.perf_counter() - begin
    if written != size:
        raise SystemExit(f"{written} of {size} records were imported")
    return {
        "import records/s": size / spent,
        "import peak MB": memory().get("peak", 0.0),
        "file MB": os.path.getsize(store) / 1e6,
    }


def recalling(store: str, queries: list[str]) -> Numbers:
    """recall_context in both modes and shapes; in exclusive mode also its two halves apart."""
    from context_packs.packer.packing.build import build
    from context_packs.packer.packing.profile import load_profile
    from context_packs.packer.packing.request import parse_request
    from context_packs.packer.packing.tokens import token_counter
    from context_packs.packer.service import DEPTH, ContextPacks
    from context_packs.store.duckstore import DuckStore
    from context_packs.store.values import Viewer

    numbers: Numbers = {}
    for mode in MODES:
        with ContextPacks.open(store, AGENT, mode=mode) as packs:
            for items, tokens in SHAPES:
                asked = partial(packs.recall_context, max_items=items, max_tokens=tokens, profile="public")
                calls: list[Call] = [partial(asked, query) for query in queries]
                numbers |= spread(f"recall {items}/{tokens} {mode}", timed(calls, WARM))
    held = DuckStore(store, mode="exclusive")
    profile, counter = load_profile("public"), token_counter("o200k_base")
    for items, tokens in SHAPES:
        requests = [parse_request(query=one, max_items=items, max_tokens=tokens, profile="public") for one in queries]
        finds = [partial(held.candidates, one.query, one.filters(), Viewer(AGENT), DEPTH, items) for one in requests]
        found = [find() for find in finds]
        builds = [
            partial(build, one, profile, got, got.records, counter) for one, got in zip(requests, found, strict=True)
        ]
        halves: dict[str, list[Call]] = {"candidates": list(finds), "build+render": list(builds)}
        for half, calls in halves.items():
            numbers |= spread(f"{half} {items}/{tokens}", timed(calls, WARM))
    held.close()
    return numbers


def holding(store: str, queries: list[str]) -> Numbers:
    """Memory of a process that opens the store and asks all queries."""
    from context_packs.packer.service import ContextPacks

    with ContextPacks.open(store, AGENT, mode="exclusive") as packs:
        for query in queries:
            packs.recall_context(query, max_items=TOP, max_tokens=1500, profile="public")
        return {f"{len(queries)} queries, {name} MB": value for name, value in memory().items()}


def remembering(store: str, texts: list[str]) -> Numbers:
    """Remember one record, then ask for it with the very next call, in both modes. Raises where it is not found."""
    from context_packs.packer.service import ContextPacks

    numbers: Numbers = {}
    for mode in MODES:
        writes, reads = [], []
        with ContextPacks.open(store, AGENT, mode=mode) as packs:
            for number, text in enumerate(texts):
                word = f"zq{mode}{number}"
                begin = time.perf_counter()
                ref = packs.remember(f"{text} {word}", path="bench/new").id
                between = time.perf_counter()
                pack = packs.recall_context(word, max_items=TOP, max_tokens=1500, profile="public")
                reads.append((time.perf_counter() - between) * 1000)
                writes.append((between - begin) * 1000)
                if [item.id for item in pack.items] != [ref]:
                    raise SystemExit(f"{ref} was not found by the query that followed its writing")
        numbers |= spread(f"remember {mode}", writes) | spread(f"found by next query {mode}", reads)
    return numbers


def peer_indexing(folder: str, lines: str) -> Numbers:
    """bm25s: tokenize (stop words and stems as here) and index, then save."""
    import bm25s
    import Stemmer

    with open(lines, encoding="utf-8") as stream:
        texts = [json.loads(line)["content"] for line in stream]
    begin = time.perf_counter()
    tokens = bm25s.tokenize(texts, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)
    index = bm25s.BM25()
    index.index(tokens, show_progress=False)
    spent = time.perf_counter() - begin
    index.save(folder)
    return {
        "bm25s index records/s": len(texts) / spent,
        "bm25s index peak MB": memory().get("peak", 0.0),
        "bm25s file MB": sum(one.stat().st_size for one in Path(folder).iterdir()) / 1e6,
    }


def peer_asking(folder: str, queries: list[str]) -> Numbers:
    """bm25s: load the index (no texts), best eight of each query."""
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    begin = time.perf_counter()
    index = bm25s.BM25.load(folder)
    loaded = (time.perf_counter() - begin) * 1000

    def ask(query: str) -> None:
        tokens = bm25s.tokenize([query], stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False)
        index.retrieve(tokens, k=TOP, show_progress=False)

    numbers = spread(f"bm25s top {TOP}", timed([partial(ask, query) for query in queries], WARM))
    held = {f"bm25s {len(queries)} queries, {name} MB": value for name, value in memory().items()}
    return numbers | held | {"bm25s load ms": loaded}


# ---- the command line from cold


def starting(store: str, queries: Sequence[str]) -> Numbers:
    """`context-packs context QUERY` as a process of its own, beside an interpreter that does nothing."""
    beside = Path(sys.executable).with_name("context-packs")
    script = str(beside) if beside.exists() else shutil.which("context-packs")
    if script is None:
        raise SystemExit("context-packs is not installed here: pip install -e .")

    def run(*command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command[1:])}: {done.stderr}")

    command = (script, "--store", store, "--agent", AGENT, "context")
    asked = [partial(run, *command, query) for query in queries]
    idle = [partial(run, sys.executable, "-c", "pass")] * len(queries)
    return spread("cold start", timed(asked, 1)) | spread("python -c pass", timed(idle))


# ---- the command


def fresh(function: Callable[..., Numbers], *arguments: object) -> Numbers:
    """The numbers of a function that runs in a new process."""
    note(f"  {function.__name__}")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def measure(size: int, folder: Path, writer: Writer, options: argparse.Namespace) -> Numbers:
    """All numbers of one size."""
    note(f"{size} records")
    lines, store, peer = folder / "records.jsonl", str(folder / "store.duckdb"), str(folder / "bm25s")
    with lines.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in writer.records(size))
    queries = writer.queries(options.queries, size)
    numbers = fresh(importing, store, str(lines), size)
    numbers |= fresh(recalling, store, queries)
    numbers |= fresh(holding, store, queries)
    if options.starts:
        note("  starting")
        numbers |= starting(store, queries[: options.starts])
    texts = [record["content"] for record in writer.records(size + options.writes)][size:]
    numbers |= fresh(remembering, store, texts)
    if not options.japanese:
        numbers |= fresh(peer_indexing, peer, str(lines)) | fresh(peer_asking, peer, queries)
    return numbers


def shown(value: float | None) -> str:
    """Three figures are enough of a measured number."""
    if value is None:
        return NONE
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Speed, memory and growth over made-up records.")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep the stores here (default: a temporary folder)"
    )
    parser.add_argument("--sizes", default="1000,10000,100000", help="numbers of records (default: %(default)s)")
    parser.add_argument("--queries", type=int, default=200, metavar="N", help="queries (default: %(default)s)")
    parser.add_argument(
        "--writes", type=int, default=20, metavar="N", help="single records to remember (default: %(default)s)"
    )
    parser.add_argument("--starts", type=int, default=7, metavar="N", help="cold starts (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the made-up text (default: %(default)s)")
    parser.add_argument(
        "--japanese", action="store_true", help="Japanese text; without the peer, which splits at blanks"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here as well")
    options = parser.parse_args(arguments)
    sizes = [int(size) for size in options.sizes.split(",")]
    for name in [name for name in os.environ if name.startswith("CONTEXT_PACKS_")]:
        del os.environ[name]
    os.environ["CONTEXT_PACKS_EMBEDDER"] = "none"
    writer = Writer(options.seed, japanese=options.japanese)
    by_size: dict[int, Numbers] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for size in sizes:
            folder = (options.keep or Path(temporary)) / str(size)
            folder.mkdir(parents=True)
            by_size[size] = measure(size, folder, writer, options)
    names = list(dict.fromkeys(name for numbers in by_size.values() for name in numbers))
    growth = len(sizes) > 1
    head = [
        "measure",
        *(f"{size} records" for size in sizes),
        *([f"growth {sizes[-2]} → {sizes[-1]}"] if growth else []),
    ]
    rows = []
    for name in names:
        values = [by_size[size].get(name) for size in sizes]
        grown = [f"{values[-1] / values[-2]:.1f}x"] if growth and values[-1] and values[-2] else [NONE] * growth
        rows.append([name, *map(shown, values), *grown])
    print(table(head, rows), end="\n\n")
    denominators = (
        f"{options.queries} queries, {options.writes} writes, {options.starts} cold starts a size; "
        f"records of 90 words, {'Japanese' if options.japanese else 'Latin'} script, seed {options.seed}"
    )
    document = {"sizes": {str(size): numbers for size, numbers in by_size.items()}}
    finish(document, ("context-packs", "duckdb", "bm25s"), denominators, options.json)


if __name__ == "__main__":
    main()
