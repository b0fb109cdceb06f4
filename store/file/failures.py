"""Errors of DuckDB as errors of the store.

A message of DuckDB may name paths and stored text, so it is only chained; none of ours points to it.
"""

from __future__ import annotations

import re

try:
    import _duckdb as duckdb
except ImportError:
    import duckdb  # type: ignore[no-redef]

from ..errors import StoreDamaged, StoreFull, StoreNewer, StoreReadOnly, StoreUnavailable

_HELD = re.compile("could not set lock|conflicting lock|unique file handle conflict|used by another process")
_FULL = re.compile("no space left|disk full|quota exceeded|file too large")
_READ_ONLY = re.compile("permission denied|read-only|read only")
_DAMAGED = re.compile(
    "not a valid duckdb|corrupt|checksum|could not read enough bytes|serialization error|failed to deserialize"
    "|invalid unicode"
)


def held_elsewhere(error: duckdb.Error, path: str) -> bool:
    """Whether a program has the file that does not take our lock."""
    return _HELD.search(_words(error, path)) is not None


def is_full(error: duckdb.Error, path: str) -> bool:
    """Whether there is no room on the disk."""
    return _FULL.search(_words(error, path)) is not None


def mapped(error: duckdb.Error, path: str) -> Exception:
    """The foreign error as one of ours. Faults of our own SQL stay what they are."""
    text = _words(error, path)
    if "storage version" in text or "version number" in text:
        return StoreNewer("the store was written by a newer DuckDB: upgrade the duckdb package")
    if isinstance(error, duckdb.ProgrammingError) and not _DAMAGED.search(text):
        return error
    if _FULL.search(text):
        return StoreFull("no space left for the store: free some and try again; nothing was lost")
    if _READ_ONLY.search(text):
        return StoreReadOnly("the store cannot be written: make the file and its folder writable")
    if isinstance(error, duckdb.OutOfMemoryException):
        return StoreUnavailable("the operation needed more memory than the store may use: narrow it with filters")
    if "replaying wal" in text or "wal does not match" in text:
        return StoreDamaged(
            "the log beside the store (.wal) is damaged or belongs to another state of it: move it away, or put the "
            "file back that it belongs to"
        )
    if _DAMAGED.search(text) or isinstance(error, duckdb.FatalException):
        return StoreDamaged(
            "the store cannot be read: it is damaged; `doctor --full` says where, `salvage` recovers what is sound"
        )
    return StoreUnavailable(f"the store failed ({type(error).__name__}): `doctor --full` looks for the cause")


def _words(error: duckdb.Error, path: str) -> str:
    """What an error says, in lower case, without the path and what else it quotes: paths hold any words."""
    return re.sub('"[^"]*"', "", str(error).replace(path, "")).lower()
