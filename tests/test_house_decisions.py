"""Decisions have numbers, and the code that rests on one names it."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
CITED = re.compile(r"\b[Dd]ecisions? (\d+(?:(?:, | and )\d+)*)")


def test_decisions_are_numbered_in_their_order() -> None:
    """`**12. 2026-11-30 Title.** …`: a new one stands at the end and takes the next number."""
    lines = (ROOT / ".dev/NOTES.md").read_text("utf-8").split("\n\n")[2:]
    wrong = [
        f"paragraph {number} begins {line[:40]!r}: begin it with **{number}. <date> <title>.**"
        for number, line in enumerate(lines, start=1)
        if not re.match(rf"\*\*{number}\. \d{{4}}-\d\d-\d\d \S", line)
    ]
    assert wrong == []


def test_decisions_that_code_names_are_there() -> None:
    """Ranking, fitting, locking and erasure say on what they rest."""
    last = (ROOT / ".dev/NOTES.md").read_text("utf-8").count("\n\n") - 1
    cited = {
        (path.relative_to(ROOT).as_posix(), int(number))
        for folder in ("packer", "store")
        for path in (ROOT / folder).rglob("*.py")
        for numbers in CITED.findall(path.read_text("utf-8"))
        for number in re.findall(r"\d+", numbers)
    }
    assert [place for place in sorted(cited) if not 1 <= place[1] <= last] == []
    assert {"store/search/ranking/scoring.py", "packer/packing/fit.py", "store/file/lock.py"} <= {at for at, _ in cited}
    assert {"store/memory/erasure.py", "store/memory/succession.py"} <= {at for at, _ in cited}
