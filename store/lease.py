"""How processes ask each other for a file that one of them keeps while it works.

DuckDB lets one process at a time have a file. A server that opened it for each operation would lose a tenth of its time
and its cache; one that held it for good would shut out every command and hook. So a server keeps the file while it is
busy, and whoever finds it taken asks for it: with a file of no content beside the store. The server looks for that
between two operations, lets go, and waits for its turn like everybody else.
"""

from __future__ import annotations

import os
import time

IDLE = 0.05  # seconds without work after which the file is let go of unasked
LEAST = 0.05  # seconds that it is kept although somebody asks: two busy servers would do nothing else than hand it over
GAP = 0.02  # seconds in which the one who let go does not take it back; those who wait try again every 2 to 12 ms
PATIENCE = 0.5  # seconds for which new work waits until running work is done and the file can be let go of
_FRESH = 1.0  # seconds for which a question stands: the one who asked repeats it while it waits


def ask(path: str) -> None:
    """Ask whoever has the file to let go of it soon."""
    try:
        with open(_note(path), "w"):
            pass
    except OSError:
        return  # who may not write beside the store waits until its holder is idle


def asked(path: str) -> bool:
    """Whether another process wants the file now."""
    try:
        return abs(time.time() - os.stat(_note(path)).st_mtime) < _FRESH
    except OSError:  # nobody asks, or nobody could
        return False


def answered(path: str) -> None:
    """The one who asked has the file, or has given up. Others who wait ask again."""
    try:
        os.unlink(_note(path))
    except OSError:
        return  # another one who asked was faster, or the folder can not be written


def _note(path: str) -> str:
    return f"{path}.ask"
