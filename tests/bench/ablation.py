"""What each signal of the score adds: the evidence of the same questions with one signal left out in turn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from reports import note, table
from verdicts import VERDICTS, Wanted, judged, normal

from context_packs.packer.service import ContextPacks
from context_packs.store.search.ranking import scoring, worth

LEFT_OUT = tuple(name for name in scoring.SIGNALS if name != "meaning")  # which takes a model


@dataclass(frozen=True, slots=True)
class Case:
    """One question, the memory that it is asked of, and its evidence."""

    packs: ContextPacks
    text: str
    wanted: Sequence[Wanted]


@contextmanager
def without(name: str) -> Iterator[None]:
    """Passages are worth nothing for this signal."""
    held = scoring.SIGNALS
    lacking = MappingProxyType({**held, name: replace(held[name], weight=0.0)})
    for module in (scoring, worth):
        setattr(module, "SIGNALS", lacking)  # noqa: B010 (it is final for everybody else)
    try:
        yield
    finally:
        for module in (scoring, worth):
            setattr(module, "SIGNALS", held)  # noqa: B010


def met(cases: Sequence[Case], budgets: Sequence[int], max_items: int) -> NDArray[np.bool_]:
    """bool[questions, budgets, verdicts], with `fill = "budget"`."""
    found = np.zeros((len(cases), len(budgets), len(VERDICTS)), dtype=bool)
    for row, case in enumerate(cases):
        for column, budget in enumerate(budgets):
            pack = case.packs.recall_context(
                case.text, max_items=max_items, max_tokens=budget, profile="public", fill="budget"
            )
            found[row, column] = judged(normal(pack.text), case.wanted)
    return found


def added(having: NDArray[np.bool_], lacking: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Points that a signal adds over the same questions, and the interval at 95 % (Agresti and Min, 2005)."""
    won, lost = int((having & ~lacking).sum()), int((lacking & ~having).sum())
    count = len(having) + 2
    middle, spread = (won - lost) / count, won + lost + 1
    half = 1.96 * math.sqrt(max(spread - (won - lost) ** 2 / count, 0.0)) / count
    return 100 * (won - lost) / max(len(having), 1), 100 * (middle - half), 100 * (middle + half)


def ablate(name: str, cases: Sequence[Case], budgets: Sequence[int], max_items: int) -> dict[str, Any]:
    """What each signal adds, printed and as a document: signal → verdict@budget → points, low, high."""
    having = met(cases, budgets, max_items)
    document: dict[str, Any] = {}
    rows = []
    for signal in LEFT_OUT:
        with without(signal):
            lacking = met(cases, budgets, max_items)
        own = document[signal] = {}
        for number, verdict in enumerate(VERDICTS):
            cells = [added(having[:, at, number], lacking[:, at, number]) for at in range(len(budgets))]
            own |= {f"{verdict}@{budget}": cell for budget, cell in zip(budgets, cells, strict=True)}
            rows.append([signal, verdict, *(f"{mid:+.1f} ({low:+.1f} to {high:+.1f})" for mid, low, high in cells)])
        note(f"{name}: without {signal}")
    head = ["signal", f"points it adds, {len(cases)} questions", *map(str, budgets)]
    print(f"\n{table(head, rows)}", flush=True)
    return document
