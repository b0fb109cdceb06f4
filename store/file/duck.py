"""The DuckDB file of a store: how it is held and shared, and how it is read and written.

One process at a time has the file (see lock.py), so it is held in one of three ways: `shared` opens it for one
operation, works and closes it, waiting a bounded time for its turn; `leased` keeps it while there is work and nobody
else waits for it, as a server does; `exclusive` keeps it open for the life of the object. `:memory:` is exclusive.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

try:
    import _duckdb as duckdb  # what `duckdb` re-exports: its layer of Python takes 70 ms to load, for nothing used here
except ImportError:
    import duckdb  # type: ignore[no-redef]

from ..errors import InvalidField, StoreMissing, StoreReadOnly, StoreUnavailable
from .attached import MEMORY, File, Turns, connect, cursor_on
from .cache import Kept
from .engine import engine
from .failures import mapped
from .foreign import MISSING, MOVED, identity, refuse_address, refuse_odd
from .schema import bring_up_to_date, roll_back
from .schema import migrations as migrations
from .schema import query as query

Mode = Literal["shared", "leased", "exclusive"]
Row = tuple[Any, ...]
Params = Mapping[str, Any] | None

_CURSORS = 8  # ready ones of a file that is kept open: making one costs half a millisecond


class Session:
    """One open transaction or read on the file. Statements take bound parameters only.

    `kept` is what the process remembers of a file that it keeps open, None for others and in a write.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, kept: Kept | None = None) -> None:
        self._connection = connection
        self.kept = kept
        self._version = kept.begun() if kept else 0

    def recalled(self, name: Hashable) -> Any:
        """What an earlier read of the same state of the file kept under this name; None where there is nothing."""
        return self.kept.get(name, self._version) if self.kept else None

    def keep(self, name: Hashable, value: Any, size: int) -> None:
        """Keep a value of about `size` bytes for later reads; nothing where the file is not kept open."""
        if self.kept:
            self.kept.put(name, value, size, self._version)

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

    `wait` is the longest time in seconds that an operation waits for another process to let go of the file. The file is
    made by the first write, or at once in the exclusive mode; a read of a file that is not there raises
    StoreMissing and makes nothing. Raises InvalidField for a path that is an address.
    """

    def __init__(self, path: str | Path, *, mode: Mode = "shared", wait: float = 15.0) -> None:
        refuse_address(str(path))
        self.in_memory = str(path) == MEMORY
        self.path = MEMORY if self.in_memory else os.path.realpath(path)
        refuse_odd(self.path, "store")
        self.mode: Mode = "exclusive" if self.in_memory else mode
        self.wait = wait
        self._turns = Turns() if self.in_memory else engine.turns(self.path)
        self._seen = False  # the file was there: one that is gone is not made anew
        self._closed = False
        self._own: File | None = None
        self._pinned: File | None = None
        if self.in_memory:
            self._own = File(connect(temp_directory=""))
            bring_up_to_date(self._own.instance, 0, False)
        elif self.mode == "exclusive":
            self._pin()

    # -- holding the file ------------------------------------------------------------------------------------------

    def _pin(self) -> None:
        """Hold the file until close()."""
        self._pinned = self._attached(make=True, pin=True)

    def _attached(self, *, make: bool, pin: bool = False) -> File:
        engine.refuse_moved(self.path)
        if identity(self.path) is None:
            if self._seen:
                raise StoreUnavailable(MOVED)
            if not make:
                raise StoreMissing(MISSING)
            _make_folder(Path(self.path).parent)
        file = engine.attach(self.path, self.wait, make=make and not self._seen, pin=pin)
        self._seen = True
        return file

    @contextmanager
    def _session(self, *, make: bool) -> Iterator[tuple[duckdb.DuckDBPyConnection, File]]:
        """A connection of its own on the attached file."""
        if self._closed:
            raise StoreUnavailable("the store is closed: open it again")
        if self._own is not None:
            with self._cursor(self._own) as cursor:
                yield cursor, self._own
            return
        if self.mode == "exclusive" and (self._pinned is None or self._pinned.gone):
            self._pin()  # it was moved away, and something stands there again
        file = self._attached(make=make)
        try:
            with self._cursor(file) as cursor:
                yield cursor, file
        finally:
            engine.detach(file, keep=self.mode == "leased")

    @contextmanager
    def _cursor(self, file: File) -> Iterator[duckdb.DuckDBPyConnection]:
        cursor = cursor_on(file)
        try:
            yield cursor
        except duckdb.Error as error:
            cursor.close()
            raise mapped(error, self.path) from error
        except BaseException:
            cursor.close()
            raise
        if self.mode == "shared" or len(file.cursors) >= _CURSORS:
            cursor.close()
        else:
            file.cursors.append(cursor)

    @contextmanager
    def alone(self) -> Iterator[str]:
        """The path of the file, which nobody has open while the block runs, in this process or another: for work on its
        bytes. Its log is folded in. Whoever held the file in this process has it again afterwards.

        Raises InvalidField for a store in memory, StoreLocked where the file is not to be had within `wait`.
        """
        if self._closed:
            raise StoreUnavailable("the store is closed: open it again")
        if self.in_memory:
            raise InvalidField("store: a store in memory has no file; export it instead", field="store")
        with engine.alone(self.path, self.wait):
            self._seen = True
            yield self.path

    def is_wanted(self) -> bool:
        """Whether another process waits for the file now."""
        return not self.in_memory and engine.is_wanted(self.path)

    def close(self) -> None:
        """Let go of the file; waits for nothing. Closing twice is harmless."""
        if self._closed:
            return
        self._closed = True
        if self._own is not None:
            self._own.instance.close()
        elif self._pinned is not None:
            engine.detach(self._pinned, pin=True)
        elif self.mode == "leased":
            engine.release(self.path)

    # -- work ------------------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A consistent read: one snapshot for all statements inside."""
        with self._session(make=False) as (cursor, _):
            session = Session(cursor, None if self.mode == "shared" else self._turns.kept)
            cursor.execute("BEGIN")
            try:
                yield session
            finally:
                roll_back(cursor)

    @contextmanager
    def writing(self, *, records: bool = True, make: bool = True) -> Iterator[Session]:
        """A short write transaction: all of it is kept, or nothing.

        Args:
            records: False where it changes nothing that a read of records sees: what is remembered of them stays.
            make: False where there is nothing to do in a store that is not there: StoreMissing instead of a new one.
        """
        with self._turns.writing, self._session(make=make) as (cursor, file):
            if file.read_only:
                raise StoreReadOnly("the store cannot be written: make the file and its folder writable")
            cursor.execute("BEGIN")
            try:
                yield Session(cursor)
                if records:
                    self._turns.kept.changed()  # before and behind: what is read meanwhile may be of either state
                cursor.execute("COMMIT")
            except BaseException:
                roll_back(cursor)
                raise
            finally:
                if records:
                    self._turns.kept.changed()
            if not self.in_memory:
                engine.after_commit(file)
                engine.refuse_moved(self.path)  # answered only if what was written is where the next one looks

    def place(self) -> tuple[int, int] | None:
        """Device and inode of the file that stands at the path now; None where there is none, or it was cut off."""
        return None if self.in_memory else engine.place(self.path)

    def stamp(self) -> object:
        """Another value after each write of records, by this process or, of a file, by another."""
        files = () if self.in_memory else (self.path, self.path + ".wal")
        return self._turns.kept.version, [_touched(file) for file in files]

    def exists(self) -> bool:
        """Whether there is a file, or the store is in memory."""
        return self.in_memory or identity(self.path) is not None

    def size(self) -> int:
        """Bytes on disk of the file and its log; 0 in memory."""
        if self.in_memory:
            return 0
        return sum(os.path.getsize(p) for p in (self.path, self.path + ".wal") if os.path.exists(p))


def _touched(file: str) -> tuple[int, int] | None:
    try:
        facts = os.stat(file)
    except OSError:  # there is none
        return None
    return facts.st_mtime_ns, facts.st_size


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing, for their owner only."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    try:
        for folder in reversed(missing):
            folder.mkdir(0o700, exist_ok=True)
    except OSError as error:
        raise StoreReadOnly("the folder of the store cannot be made: name another path") from error
