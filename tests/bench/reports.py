"""What every benchmark prints: tables, the machine, versions, progress; and the same as JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

_CPU = Path("/proc/cpuinfo")
_STATUS = Path("/proc/self/status")
_STEPS = 4  # progress lines of one loop
NONE = "–"  # where there is no number


def machine() -> dict[str, Any]:
    """CPU count, model where it can be read, load of the last minute (runnable processes), system and Python."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    model = ""
    if _CPU.exists():
        lines = _CPU.read_text("utf-8", "replace").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return {
        "cpus": cores,
        "model": model or platform.processor() or platform.machine(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def versions(*distributions: str) -> dict[str, str]:
    """Version of each installed distribution, by name."""
    return {name: version(name) for name in distributions}


def memory() -> dict[str, float]:
    """Resident memory of this process in MB (10^6 bytes): `rss` now, `peak` at most; empty where Linux does not say."""
    if not _STATUS.exists():
        return {}
    fields = dict(line.split(":", 1) for line in _STATUS.read_text("utf-8").splitlines() if ":" in line)
    return {
        name: int(fields[field].split()[0]) * 1024 / 1e6
        for name, field in (("rss", "VmRSS"), ("peak", "VmHWM"))
        if field in fields
    }


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table, padded so that it reads as plain text too; columns of numbers stand right."""
    cells = [list(map(str, row)) for row in (head, *rows)]
    columns = list(zip(*cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [all(cell[:1].isdigit() or cell == NONE for cell in column[1:]) for column in columns]
    lines = [
        "| "
        + " | ".join(f"{cell:{'>' if r else '<'}{w}}" for cell, w, r in zip(row, widths, right, strict=True))
        + " |"
        for row in cells
    ]
    rule = "|" + "|".join("-" * (w + 1) + (":" if r else "-") for w, r in zip(widths, right, strict=True)) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def percent(part: float, whole: float) -> str:
    """`part` of `whole` as a percentage with one decimal; a dash of nothing."""
    return f"{100 * part / whole:.1f}" if whole else NONE


def note(text: str) -> None:
    """One line of progress on stderr."""
    print(text, file=sys.stderr, flush=True)


def progress(label: str, items: Sequence[T]) -> Iterator[T]:
    """The items, with a few lines of progress on stderr."""
    every = max(1, -(-len(items) // _STEPS))
    for count, item in enumerate(items, start=1):
        yield item
        if count % every == 0 or count == len(items):
            note(f"{label}: {count}/{len(items)}")


def finish(document: dict[str, Any], distributions: Sequence[str], denominators: str, target: Path | None) -> None:
    """Print the line with machine, versions and denominators; write the document as JSON where a file was named."""
    document = {"machine": machine(), "versions": versions(*distributions), "denominators": denominators, **document}
    here = document["machine"]
    print(
        f"Machine: {here['cpus']} CPUs ({here['model']}), load {here['load']}, {here['system']}, "
        f"Python {here['python']}. "
        f"Versions: {', '.join(f'{name} {number}' for name, number in document['versions'].items())}. "
        f"Denominators: {denominators}."
    )
    if target is not None:
        target.write_text(json.dumps(document, ensure_ascii=False, indent=2, sort_keys=True) + "\n", encoding="utf-8")
