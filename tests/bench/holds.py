"""How long an import holds the file at once, and how fast it is meanwhile.

    python tests/bench/holds.py [--size 100000] [--mode shared]

Every write transaction of the import is timed, from before the file is attached until after it is let go of, the steps
of the merge of postings too.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from synthetic import Writer

from context_packs.packer.service import ContextPacks
from context_packs.store.file.duck import Duck


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="How long an import holds the file at once.")
    parser.add_argument("--size", type=int, default=100_000, help="records (default: %(default)s)")
    parser.add_argument("--mode", default="shared", choices=("shared", "leased", "exclusive"))
    options = parser.parse_args()
    holds: list[float] = []
    writing = Duck.writing

    @contextmanager
    def timed(duck: Duck, **how: Any) -> Iterator[Any]:
        begin = time.perf_counter()
        with writing(duck, **how) as session:
            yield session
        holds.append(time.perf_counter() - begin)

    Duck.writing = timed  # type: ignore[method-assign, assignment]
    os.environ["CONTEXT_PACKS_EMBEDDER"] = "none"
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.duckdb"
        with ContextPacks.open(store, "bench", mode=options.mode) as packs:
            begin = time.perf_counter()
            for _ in packs.import_batches(Writer(1, japanese=False).records(options.size)):
                pass
            batches, importing = len(holds), time.perf_counter() - begin
            packs.store.merge()
            spent = time.perf_counter() - begin
    ranked = sorted(holds)
    print(
        f"{options.size} records, {options.size / spent:.0f} a second, {spent - importing:.1f} s of it the last merge"
    )
    print(f"{batches} holds of batches and {len(holds) - batches} of the last merge, in milliseconds:")
    print(f"median {median(ranked) * 1000:.0f}, p99 {ranked[int(len(ranked) * 0.99)] * 1000:.0f}, ", end="")
    print(f"longest {ranked[-1] * 1000:.0f}")


if __name__ == "__main__":
    main()
