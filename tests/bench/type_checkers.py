"""What mypy and pyright say of two programs of users: one that is right, one with a mistake on each marked line.

`python tests/bench/type_checkers.py` needs both commands on the path (`pip install mypy pyright`; pyright loads itself
from the registry of npm with its first start). An editable install says nothing to a type checker: install a wheel, or
name the folder `.dev` of a checkout with `--tree`. Ends with 1 where a checker misses a mistake or sees one too many.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent.parent / "fixtures" / "programs"


def main() -> int:
    """A line for each checker."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, help="folder that holds context_packs where no wheel is installed")
    given = parser.parse_args()
    lines = (PROGRAMS / "wrong.py").read_text("utf-8").splitlines()
    marked = {("wrong", number) for number, line in enumerate(lines, 1) if line.endswith("# refused")}
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        mypy = ["mypy", "--strict", "--config-file=", f"--cache-dir={folder}", f"--python-executable={sys.executable}"]
        commands = {"mypy --strict": mypy, "pyright": ["pyright", f"--pythonpath={sys.executable}"]}
        paths = {"MYPYPATH": str(given.tree), "PYTHONPATH": str(given.tree)} if given.tree else {}
        for name, command in commands.items():
            run = subprocess.run(
                [*command, str(PROGRAMS)],
                cwd=folder,
                env=os.environ | paths,
                capture_output=True,
                text=True,
                check=False,
            )
            found = re.findall(r"(right|wrong)\.py:(\d+):.*error", run.stdout)
            seen = {(program, int(number)) for program, number in found}
            print(f"{name}: {len(seen & marked)} of {len(marked)} mistakes found, {len(seen - marked)} too many")
            bad += seen != marked
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
