"""Small memories inside large stores: whether the same is shown as from the memory alone.

    python tests/bench/worlds.py --data FOLDER [--sizes 10000,100000] [--filler text,made] [--every N] [--json FILE]

FOLDER holds `realuse/` (see uses.py) and the sets of which fillers.py makes other records of the same agent. Every
memory is written into a store of its own and behind so many other records; then its cases are asked, and prompts
without content, to which nothing may be shown. Cases that need a meaning model are left out. Numbers do not depend on
load.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fillers import KINDS, fillers
from reports import NONE, finish, note, percent, table
from uses import AGENT, World, cases_of, failures

from context_packs.packer import ContextPacks

ALONE = "alone"
SEED = 1
IDLE = (
    "ok", "okay, great", "thanks!", "yes please", "go ahead", "lgtm, go ahead", "sounds good to me", "continue",
    "perfect, thank you", "sure, do it", "keep going", "no, that's all", "got it", "hmm", "nice work!", "commit it",
    "please proceed", "run it again", "good morning", "see you tomorrow",
    "はい", "はい、お願いします", "了解です", "ありがとう！", "ありがとうございます、助かりました", "続けて",
    "いいですね", "続きをお願いします", "それで大丈夫です", "オーケー", "進めてください",
    "わかりました", "なるほど", "お疲れさまです", "うん、それで",
    "コミットして", "もう一度お願い", "おはようございます", "いえ、特にありません", "完璧です",
)  # fmt: skip

Rows = list[dict[str, Any]]


def filled(folder: Path, kind: str, size: int, data: Path) -> Path:
    """A store of so many other records, made where it is not there."""
    store = folder / f"{kind}-{size}.duckdb"
    if not store.exists():
        note(f"writing {size} other records ({kind})")
        with ContextPacks.open(str(store), AGENT, mode="exclusive", embedder="none") as packs:
            for _ in packs.remember_batches(fillers(kind, size, SEED, data)):
                pass
    return store


def asked(spec: dict[str, Any], cases: Rows, store: str) -> tuple[Rows, list[str]]:
    """What came of the cases of one memory, and the prompts without content that got something."""
    world = World(spec, store)
    try:
        results = []
        for case in cases:
            pack = world.ask(case)
            bad = failures(case["checks"], pack)
            results.append(
                {name: case[name] for name in ("id", "kind", "lang")}
                | {"failed": bad, "tokens": pack.budget.used_tokens}
            )
        return results, [prompt for prompt in IDLE if world.say(prompt).items]
    finally:
        world.close()


def measured(name: str, base: Path | None, worlds: dict[str, dict[str, Any]], cases: Rows) -> dict[str, Any]:
    """The results of all memories, each in a copy of the store `base`."""
    results: Rows = []
    woken: dict[str, list[str]] = {}
    mine = list(dict.fromkeys(case["world"] for case in cases))
    with tempfile.TemporaryDirectory(dir=base.parent if base else None) as folder:
        for number, world in enumerate(mine):
            store = ":memory:"
            if base is not None:
                store = str(shutil.copy(base, Path(folder) / "store.duckdb"))
            own, idle = asked(worlds[world], [case for case in cases if case["world"] == world], store)
            results += own
            if idle:
                woken[world] = idle
            for left in Path(folder).iterdir():
                left.unlink()
            note(f"{name}: {world} ({number + 1}/{len(mine)})")
    return {"results": results, "woken": woken}


def shown(document: dict[str, dict[str, Any]]) -> None:
    """Passes by kind, in each store."""
    rows = []
    kinds = list(dict.fromkeys(one["kind"] for one in document[ALONE]["results"]))
    for kind in (*kinds, "all"):
        counts = []
        for held in document.values():
            own = [one for one in held["results"] if kind in (one["kind"], "all")]
            counts.append(f"{sum(not one['failed'] for one in own)}/{len(own)}")
        rows.append([kind, *counts])
    rows.append(["all, %", *(_rate(held["results"]) for held in document.values())])
    rows.append(["prompts without content that got something", *(_woken(held) for held in document.values())])
    print(table(["kind", *document], rows), end="\n\n")


def _rate(results: Rows) -> str:
    return percent(sum(not one["failed"] for one in results), len(results))


def _woken(held: dict[str, Any]) -> str:
    return str(len({prompt for prompts in held["woken"].values() for prompt in prompts})) if held["results"] else NONE


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Small memories inside large stores.")
    parser.add_argument("--data", type=Path, required=True, help="folder with realuse/ and the sets of other text")
    parser.add_argument("--sizes", default="10000", help="numbers of other records (default: %(default)s)")
    parser.add_argument("--filler", default=",".join(KINDS), help="of which kinds (default: %(default)s)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every N-th memory only")
    parser.add_argument("--kind", help="only cases of this kind")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the stores of other records here")
    parser.add_argument("--fail", action="store_true", help="tell what fails in a large store and not alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here as well")
    options = parser.parse_args(arguments)
    os.environ["CONTEXT_PACKS_EMBEDDER"] = "none"
    worlds, cases = cases_of(options.data)
    names = set(list(worlds)[:: options.every])
    cases = [case for case in cases if case["world"] in names and options.kind in (None, case["kind"])]
    document = {ALONE: measured(ALONE, None, worlds, cases)}
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for size in map(int, options.sizes.split(",")):
            for kind in options.filler.split(","):
                name = f"{size} {kind}"
                document[name] = measured(name, filled(folder, kind, size, options.data), worlds, cases)
    if options.fail:
        alone = {one["id"] for one in document[ALONE]["results"] if one["failed"]}
        for name, held in document.items():
            for one in held["results"]:
                if one["failed"] and (name == ALONE or one["id"] not in alone):
                    print(f"{name}: {one['id']}: {'; '.join(one['failed'])}")
            for world, prompts in held["woken"].items():
                print(f"{name}: {world}: {prompts}")
    shown(document)
    by_world: dict[str, int] = defaultdict(int)
    for case in cases:
        by_world[case["world"]] += 1
    denominators = f"{len(cases)} cases of {len(by_world)} memories; {len(IDLE)} prompts without content to each"
    finish({"stores": document}, ("context-packs", "duckdb"), denominators, options.json)


if __name__ == "__main__":
    main()
