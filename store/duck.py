"""The DuckDB file: how it is opened, held, shared, migrated and written. The only module that imports duckdb.

One process that has a DuckDB file open for writing shuts out every other, even a reader. So a file is held in one of
two ways: `shared` opens it for one operation, works and closes it, waiting a bounded time for whoever has it now;
`exclusive` keeps it open for the life of the object, as a server does. `:memory:` is always exclusive.
"""

from __future__ import annotations

import os
import random
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import duckdb
import numpy as np

from .errors import (
    StoreDamaged,
    StoreFull,
    StoreLocked,
    StoreNewer,
    StoreReadOnly,
    StoreUnavailable,
)

Mode = Literal["shared", "exclusive"]
Row = tuple[Any, ...]
Params = Mapping[str, Any] | None

# Readable by DuckDB 1.5 and 2.x alike: 2.x would otherwise write a form that 1.5 refuses.
_CONFIG = {"storage_compatibility_version": "v1.5.0", "memory_limit": "200MB"}
_MEMORY = ":memory:"


@cache
def query(name: str, flags: frozenset[str] = frozenset()) -> str:
    """Text of `store/sql/<name>.sql`.

    A line `-- include: <name>` stands for the text of that file; a line that ends in `-- if <flag>` stands only where
    the flag is given: a condition that is not asked for costs nothing to plan.
    """
    lines = []
    for line in (files("context_packs.store.sql") / f"{name}.sql").read_text("utf-8").splitlines():
        if line.startswith("-- include: "):
            lines.append(query(line.removeprefix("-- include: "), flags))
        elif not line.startswith("--"):
            text, _, flag = line.partition(" -- if ")
            if not flag or flag in flags:
                lines.append(text)
    return "\n".join(lines)


@cache
def migrations() -> tuple[str, ...]:
    """Names of the migration files in order; the schema version is their count."""
    return tuple(sorted(p.name[:-4] for p in files("context_packs.store.sql").iterdir() if p.name[:4].isdigit()))


class Session:
    """One open transaction or read on the file. Statements take bound parameters only."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def run(self, sql: str, params: Params = None) -> None:
        """Execute a statement for its effect."""
        self._connection.execute(sql, _bound(params))

    def rows(self, sql: str, params: Params = None) -> list[Row]:
        """All rows of a query."""
        return self._connection.execute(sql, _bound(params)).fetchall()

    def row(self, sql: str, params: Params = None) -> Row | None:
        """The first row of a query, or None."""
        return self._connection.execute(sql, _bound(params)).fetchone()

    def value(self, sql: str, params: Params = None) -> Any:
        """The first column of the first row; None where there is no row."""
        row = self.row(sql, params)
        return row[0] if row else None

    def arrays(self, sql: str, params: Params = None) -> dict[str, np.ndarray[Any, Any]]:
        """Columns of a query as numpy arrays, by name."""
        return self._connection.execute(sql, _bound(params)).fetchnumpy()

    def stream(self, sql: str, params: Params = None, size: int = 1000) -> Iterator[list[Row]]:
        """Rows of a query in chunks of at most `size`."""
        self._connection.execute(sql, _bound(params))
        while chunk := self._connection.fetchmany(size):
            yield chunk

    def append(self, sql: str, columns: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Run `sql`, in which `batch` names a table of these columns (equal lengths)."""
        self._connection.register("batch", dict(columns))
        try:
            self._connection.execute(sql)
        finally:
            self._connection.unregister("batch")


def _bound(params: Params) -> dict[str, Any] | None:
    return dict(params) if params else None


class Duck:
    """A DuckDB file and the way it is held. Safe from several threads.

    `wait` is the longest time in seconds that an operation waits for another process to let go of the file.
    """

    def __init__(self, path: str | Path, *, mode: Mode = "shared", wait: float = 15.0) -> None:
        self.path = str(path)
        self.in_memory = self.path == _MEMORY
        self.mode: Mode = "exclusive" if self.in_memory else mode
        self.wait = wait
        self.read_only = False
        self._guard = threading.RLock()  # the open connection and its users
        self._writing = threading.RLock()  # one writer at a time within the process
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._users = 0
        self._checked = False
        self._closed = False
        if self.mode == "exclusive":
            self._acquire()  # held until close()

    # -- holding the file ------------------------------------------------------------------------------------------

    def _acquire(self) -> duckdb.DuckDBPyConnection:
        with self._guard:
            if self._closed:
                raise StoreUnavailable("the store is closed: open it again")
            if self._connection is None:
                connection = self._connect()
                try:
                    self._prepare(connection)
                except BaseException:
                    connection.close()
                    raise
                self._connection = connection
            self._users += 1
            return self._connection

    def _release(self) -> None:
        with self._guard:
            self._users -= 1
            if self._users == 0 and self._connection is not None:
                self._connection.close()
                self._connection = None

    def _connect(self) -> duckdb.DuckDBPyConnection:
        if self.in_memory:
            return duckdb.connect(_MEMORY)
        try:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreReadOnly("the folder of the store can not be made: name another path") from error
        deadline = time.monotonic() + self.wait
        pause = random.Random()  # spreads the retries of several processes; no result depends on it
        while True:
            try:
                self.read_only = os.path.exists(self.path) and not os.access(self.path, os.W_OK)
                return duckdb.connect(self.path, read_only=self.read_only, config=dict(_CONFIG))
            except duckdb.Error as error:
                if "lock" not in str(error).lower():
                    raise _mapped(error) from error
                if time.monotonic() >= deadline:
                    raise StoreLocked(
                        "the store is held by another process: end it, or let both use the shared mode"
                    ) from error
            time.sleep(pause.uniform(0.002, 0.012))

    def _prepare(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Bring the file to this schema version; refuse files that are not ours or newer."""
        if self._checked and not self.in_memory:
            return
        found = self._version(connection)
        known = len(migrations())
        if found > known:
            raise StoreNewer(f"the store has schema {found}, this version knows {known}: upgrade context-packs")
        if found < known:
            if self.read_only:
                raise StoreReadOnly("the store needs a migration but can not be written: make the file writable once")
            for number, name in enumerate(migrations()[found:], start=found + 1):
                connection.execute("BEGIN")
                connection.execute(query(name))
                connection.execute("DELETE FROM meta WHERE name = 'schema_version'")
                connection.execute("INSERT INTO meta VALUES ('schema_version', $n)", {"n": str(number)})
                connection.execute("COMMIT")
        self._checked = True

    def _version(self, connection: duckdb.DuckDBPyConnection) -> int:
        tables = {
            name
            for (name,) in connection.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'"
            ).fetchall()
        }
        if not tables:
            return 0
        if "meta" not in tables:
            raise StoreDamaged("the file is a DuckDB database but not a context-packs store: name another path")
        row = connection.execute("SELECT value FROM meta WHERE name = 'schema_version'").fetchone()
        if row is None:
            raise StoreDamaged("the store has no schema version: restore it from an export")
        return int(row[0])

    def close(self) -> None:
        """Let go of the file; waits for nothing. Closing twice is harmless."""
        with self._guard:
            if self._closed:
                return
            if self.mode == "exclusive":
                self._release()
            self._closed = True

    # -- work ------------------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A consistent read: one snapshot for all statements inside."""
        with self._session() as cursor:
            cursor.execute("BEGIN")
            try:
                yield Session(cursor)
            finally:
                cursor.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A short write transaction: all of it is kept, or nothing."""
        with self._writing, self._session() as cursor:
            if self.read_only:
                raise StoreReadOnly("the store can not be written: make the file and its folder writable")
            cursor.execute("BEGIN")
            try:
                yield Session(cursor)
                cursor.execute("COMMIT")
            except BaseException:
                _roll_back(cursor)
                raise

    @contextmanager
    def _session(self) -> Iterator[duckdb.DuckDBPyConnection]:
        connection = self._acquire()
        try:
            cursor = connection.cursor()
            try:
                yield cursor
            except duckdb.Error as error:
                raise _mapped(error) from error
            finally:
                cursor.close()
        finally:
            self._release()

    def size(self) -> int:
        """Bytes on disk of the file and its log; 0 in memory."""
        if self.in_memory:
            return 0
        return sum(os.path.getsize(p) for p in (self.path, self.path + ".wal") if os.path.exists(p))


def _roll_back(cursor: duckdb.DuckDBPyConnection) -> None:
    try:
        cursor.execute("ROLLBACK")
    except duckdb.TransactionException as error:
        if "no transaction" not in str(error):  # a failed commit has ended it already
            raise


def _mapped(error: duckdb.Error) -> Exception:
    """The foreign error as one of ours; its own text may name paths, so it is only chained. Our own bugs stay as is."""
    if isinstance(error, duckdb.ProgrammingError):
        return error
    text = str(error).lower()
    if "no space left" in text or "disk full" in text or "quota exceeded" in text:
        return StoreFull("no space left for the store: free some and try again; nothing was lost")
    if "permission denied" in text or "read-only" in text or "read only" in text:
        return StoreReadOnly("the store can not be written: make the file and its folder writable")
    if isinstance(error, duckdb.OutOfMemoryException):
        return StoreUnavailable("the operation needed more memory than the store may use: narrow it with filters")
    if (
        "not a valid duckdb" in text
        or "corrupt" in text
        or "checksum" in text
        or isinstance(error, duckdb.FatalException)
    ):
        return StoreDamaged("the store can not be read: it is damaged or not a DuckDB file; restore it from an export")
    if "version" in text and "storage" in text:
        return StoreNewer("the store was written by a newer DuckDB: upgrade the duckdb package")
    return StoreUnavailable("the store failed: see the chained error")
