"""Draw `docs/pack.svg`: one question under three budgets, and what became of each record that bears on it.

    python docs/picture.py

The records and the question are those of `context-packs demo`. A bar is a record, as long as its text; the filled part
is what the pack shows. A test compares the file with what this prints.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from html import escape
from pathlib import Path

from context_packs.packer import ContextPacks, Decision, Pack, PackedItem, demo

PICTURE = Path(__file__).resolve().parent / "pack.svg"
BUDGETS = (150, 280, 600)

WIDTH, LEFT, COLUMN, TOP, ROW = 900, 232, 222, 96, 50
LONGEST = 178  # the longest bar, in pixels
BAR = 12
INK, SOFT, SHOWN, HIDDEN, PAPER = "#1f2933", "#616e7c", "#2f7d5b", "#d5dbe1", "#ffffff"
FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK JP', sans-serif"


def packs() -> tuple[list[Pack], dict[str, tuple[str, int]]]:
    """A pack for each budget, and of every record its opening words and its length in characters."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "demo.duckdb"
        with ContextPacks.open(store, agent_id="demo", encoding="o200k_base", clock=lambda: demo.NOW) as memory:
            memory.remember_many(demo.MEMORIES)
            made = [
                memory.recall_context(demo.QUERY, max_items=5, max_tokens=tokens, profile="public")
                for tokens in BUDGETS
            ]
            ids = [item.id for item in made[-1].items] + [decision.id for decision in made[-1].decisions]
            records = [memory.get(ref) for ref in ids]
    return made, {record.id: (record.title or record.content, len(record.content)) for record in records}


def text(x: float, y: float, words: str, *, size: int = 12, color: str = INK, bold: bool = False) -> str:
    """One line of text; `y` is its base line."""
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{color}"{weight}>{escape(words)}</text>'


def bar(x: float, y: float, width: float, color: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:.1f}" height="{BAR}" rx="2" fill="{color}"/>'


def told(item: PackedItem | None, decision: Decision | None) -> str:
    """What became of a record, in a few words."""
    if item is not None:
        return f"{'in part' if item.shortened else 'whole'}, {item.tokens} tokens"
    if decision is None:
        return ""
    if decision.reason == "duplicate":
        return f"says the same as {decision.duplicate_of}"
    if decision.reason == "relevance":
        return "left out: not relevant enough"
    need = f", needs {decision.needs_tokens}" if decision.needs_tokens else ""
    return f"left out: {decision.reason}{need}"


def cell(pack: Pack, ref: str, length: int, longest: int, x: float, y: float) -> Iterable[str]:
    """One record under one budget: its bar, and below it the decision."""
    item = next((item for item in pack.items if item.id == ref), None)
    decision = next((decision for decision in pack.decisions if decision.id == ref), None)
    scale = LONGEST / longest
    yield bar(x, y, length * scale, HIDDEN)
    for start, end in item.spans if item else ():
        yield bar(x + start * scale, y, (end - start) * scale, SHOWN)
    yield text(x, y + BAR + 15, told(item, decision), color=INK if item else SOFT)


def drawn() -> str:
    """The whole picture."""
    made, records = packs()
    longest = max(length for _, length in records.values())
    height = TOP + ROW * len(records) + 42
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        f' role="img" font-family="{FONT}">',
        "<title>One question under three budgets: which records are shown, in part, or left out</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>',
        text(20, 34, f"“{demo.QUERY}”", size=16, bold=True),
        text(20, 76, "records, best first", color=SOFT),
    ]
    for number, pack in enumerate(made):
        x = LEFT + number * COLUMN
        lines.append(text(x, 60, f"max_tokens {pack.budget.max_tokens}", bold=True))
        lines.append(text(x, 76, f"{pack.budget.used_tokens} used, {pack.budget.dropped} did not fit", color=SOFT))
    for number, (ref, (opening, length)) in enumerate(records.items()):
        y = TOP + number * ROW
        lines.append(text(20, y + 10, ref, bold=True))
        lines.append(text(20, y + 27, opening if len(opening) <= 30 else f"{opening[:28].rstrip()}…", color=SOFT))
        for column, pack in enumerate(made):
            lines.extend(cell(pack, ref, length, longest, LEFT + column * COLUMN, y))
    foot = height - 20
    lines.append(bar(20, foot - 10, 24, SHOWN) + text(50, foot, "shown"))
    lines.append(bar(110, foot - 10, 24, HIDDEN) + text(140, foot, "left out"))
    lines.append(text(LEFT, foot, "A larger budget adds to what a smaller one shows. It never takes anything away."))
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8", newline="\n")
    print(PICTURE.name, file=sys.stderr)
