"""A store file attached to the DuckDB instance of this process: what is known of it, and the statements it takes."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from typing import Any

try:
    import _duckdb as duckdb  # what `duckdb` re-exports: its layer of Python takes 70 ms to load, for nothing used here
except ImportError:
    import duckdb  # type: ignore[no-redef]

from .cache import Kept
from .foreign import HEADERS

MEMORY = ":memory:"


class Turns:
    """What the objects of a process share for a file: who may write it, one thread at a time, and what is remembered of
    it while it is kept open."""

    def __init__(self) -> None:
        self.kept = Kept()
        self.writing = threading.RLock()


@dataclass(slots=True, eq=False)
class File:
    """A file attached to an instance.

    `users` work with it now, `pins` of them hold it for good; `leaving` is since when new users wait because another
    process wants it (0: they do not). `stale`: another file stands at its path, or none, so that it takes no more
    users; `overwritten`: somebody else wrote into it; `gone`: it is detached. `cursors` are ready for the next
    operation. `head` is how the file begins, as this process left it, and `size` how long it was then, read through
    `descriptor`: opening and closing another one would end DuckDB's own lock.
    """

    instance: duckdb.DuckDBPyConnection
    path: str = MEMORY
    number: int = 0  # 0 is the database in memory
    identity: tuple[int, int] | None = None
    mode: int = 0o600
    read_only: bool = False
    locked: bool = True
    since: float = 0.0
    idle: float = 0.0
    leaving: float = 0.0
    users: int = 0
    pins: int = 0
    kept: bool = False
    stale: bool = False
    gone: bool = False
    overwritten: bool = False
    head: bytes = b""
    size: int = 0
    descriptor: int = -1
    cursors: list[duckdb.DuckDBPyConnection] = field(default_factory=list)


def connect(*, keep_log: bool = False, **config: str) -> duckdb.DuckDBPyConnection:
    """A DuckDB instance in memory that never loads an extension, from disk or the network, and keeps its settings. With
    `keep_log` nothing is folded into a file but by CHECKPOINT."""
    safe: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        **config,
    }
    instance = duckdb.connect(MEMORY, config=safe)
    if keep_log:
        instance.execute("PRAGMA disable_checkpoint_on_shutdown")
    instance.execute("SET lock_configuration = true")
    return instance


def note_state(file: File) -> None:
    """Note how an attached file stands now that this process has written to it."""
    file.head, file.size = _head_of(file), os.fstat(file.descriptor).st_size


def is_overwritten(file: File) -> bool:
    """Whether somebody else wrote into a file while it is attached: copied a backup over it, or cut it off."""
    if file.overwritten or file.descriptor < 0:
        return file.overwritten
    return _head_of(file) != file.head or os.fstat(file.descriptor).st_size < file.size


def _head_of(file: File) -> bytes:
    """The three headers of an attached file, which change with each checkpoint."""
    if not hasattr(os, "pread"):
        return b""  # Windows: nothing is compared there
    return os.pread(file.descriptor, HEADERS, 0)


def stamp(path: str) -> tuple[int, ...]:
    """What tells one state of a file from another, its log included; never equal where it cannot be told."""
    try:
        states = [os.stat(one) for one in (path, path + ".wal") if os.path.exists(one)]
    except OSError:
        return (time.monotonic_ns(),)
    return tuple(number for state in states for number in (state.st_ino, state.st_size, state.st_mtime_ns))


def quoted(text: str) -> str:
    """A text as an SQL literal, for ATTACH, which takes no bound parameters."""
    return "'" + text.replace("'", "''") + "'"


def database(number: int) -> str:
    """The name of an attached file; 0 is the database in memory."""
    return f"store_{number:d}" if number else "memory"


def attach_statement(path: str, number: int, read_only: bool) -> str:
    """Of a file that is there. Its type is named: DuckDB would fetch an extension for any other that it knows."""
    if read_only:
        return f"ATTACH {quoted(path)} AS {database(number)} (TYPE duckdb, READ_ONLY)"
    return f"ATTACH {quoted(path)} AS {database(number)} (TYPE duckdb, READ_WRITE)"


def is_writable(path: str) -> bool:
    return os.access(path, os.W_OK) and os.access(os.path.dirname(path) or ".", os.W_OK)


def cursor_on(file: File) -> duckdb.DuckDBPyConnection:
    """A connection of its own on an attached file: one that is ready, or a new one."""
    if file.cursors:
        return file.cursors.pop()
    cursor = file.instance.cursor()
    cursor.execute(f"USE {database(file.number)}")
    return cursor
