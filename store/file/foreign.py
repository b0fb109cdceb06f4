"""What stands at the path of a store, told by looking, before DuckDB is let near it. Pure but for reading.

DuckDB takes many kinds of files for databases and fetches extensions for them, so only its own form is handed to it.
"""

from __future__ import annotations

import os
import re
import stat

from ..errors import InvalidField, StoreDamaged, StoreReadOnly, StoreUnavailable

MISSING = "there is no store here yet: remember something first, or name the path of the store you mean"
MOVED = "the store was moved, removed or replaced while it was in use: put it back and try again"
OVERWRITTEN = "the store was overwritten while it was in use: nothing more goes into it; restore a backup"
ANOTHER = "name another path"
HEADERS = 3 * 4096  # of a DuckDB file: what it is, and twice where things stand
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # of two letters or more: one is a drive
_KINDS = (
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"\x1f\x8b", "a gzip file"),
    (b"PK\x03\x04", "a zip archive"),
)


def refuse_address(path: str) -> None:
    """Raises InvalidField for `postgresql://…` and the like: as the name of a file it would make a folder."""
    if _ADDRESS.match(path):
        kind = path.split(":", 1)[0]
        raise InvalidField(f"store: a {kind} address is not a file; name the path of a file", field="store")


def refuse_odd(path: str, field: str) -> None:
    """Raises InvalidField for a real path whose log would stand elsewhere: DuckDB writes the log of `a?b` to `a.wal?b`,
    and takes a backslash for a slash."""
    for mark in ("?",) if os.name == "nt" else ("?", "\\"):
        if mark in path:
            raise InvalidField(
                f"{field}: the path has a {mark} in it: rename that file or folder, or name another path", field=field
            )


def identity(path: str) -> tuple[int, int] | None:
    """Device and inode of a file, None where there is none."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise StoreReadOnly("the store cannot be reached: make its folder readable") from error
    except OSError as error:
        raise StoreUnavailable("the store cannot be reached: name another path") from error
    return found.st_dev, found.st_ino


def refuse_foreign(path: str) -> None:
    """Raises what is wrong with a file that DuckDB did not write. The file must not be open in this process: closing it
    here would end DuckDB's own lock on it."""
    found = os.stat(path)
    mode = found.st_mode
    if stat.S_ISDIR(mode):
        raise StoreUnavailable("the path of the store is a folder: name a file in it")
    if not stat.S_ISREG(mode):
        raise StoreUnavailable("the path of the store is not a regular file: name another path")
    if found.st_nlink > 1:  # each name would have a lock and a log of its own
        raise StoreUnavailable("the store has a second name (a hard link): remove that name, or make a copy instead")
    try:
        with open(path, "rb") as file:
            head = file.read(HEADERS)
    except PermissionError as error:
        raise StoreReadOnly("the store cannot be read: make the file readable") from error
    if not head:
        raise StoreDamaged("the file is empty, not a store: remove it or name another path")
    kind = kind_of_file(head)
    if kind:
        raise StoreDamaged(f"the file is {kind}, not a store: {ANOTHER}")
    if head[8:12] == b"DUCK":
        if len(head) < HEADERS:
            raise StoreDamaged("the store cannot be read: the file was cut off; restore it from a backup or an export")
        return
    raise StoreDamaged(
        f"the file is not a DuckDB file, so it is not a store: {ANOTHER}; a damaged store may yield to `salvage`"
    )


def kind_of_file(head: bytes) -> str:
    """What a file is that begins so, where that is certain and it is no store; else nothing."""
    for magic, kind in _KINDS:
        if head.startswith(magic):
            return kind
    return "text" if head and head[8:12] != b"DUCK" and _is_text(head) else ""


def _is_text(head: bytes) -> bool:
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:  # not only a character cut at the end
            return False
        text = head[: error.start].decode("utf-8")
    return "\x00" not in text
