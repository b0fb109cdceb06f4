"""The DuckDB file: how it is opened, held, shared, migrated and written. The only module that imports duckdb.

One process that has a DuckDB file open for writing shuts out every other, even a reader. So a file is held in one of
three ways: `shared` opens it for one operation, works and closes it, waiting a bounded time for whoever has it now;
`leased` keeps it while there is work and nobody else asks for it, as a server does (see `lease`); `exclusive` keeps it
open for the life of the object. `:memory:` is always exclusive.
"""

from __future__ import annotations

import logging
import os
import random
import re
import threading
import time
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np

try:
    import _duckdb as duckdb  # what `duckdb` re-exports: its layer of Python takes 70 ms to load, for nothing used here
except ImportError:
    import duckdb  # type: ignore[no-redef]

from . import lease
from .errors import (
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreNewer,
    StoreReadOnly,
    StoreUnavailable,
)
from .kept import Kept

Mode = Literal["shared", "leased", "exclusive"]
Row = tuple[Any, ...]
Params = Mapping[str, Any] | None

_MEMORY_LIMIT = "160MB"  # of DuckDB's own memory in a process, however large its files are
_MEMORY = ":memory:"
_CURSORS = 8  # ready ones of a file that is kept open: making one costs half a millisecond
_log = logging.getLogger(__name__)
_HELD = re.compile("could not set lock|conflicting lock|unique file handle conflict|used by another process")
_NOT_OURS = "the file is a DuckDB database but not a context-packs store: name another path"


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


class Turns:
    """What the objects of a process share for a file: who may write it and who may bring it to the schema, one thread
    at a time, and what is remembered of it while it is kept open."""

    def __init__(self) -> None:
        self.kept = Kept()
        self.writing = threading.RLock()
        self.preparing = threading.Lock()  # taken last, inside of writing


@dataclass(slots=True)
class _File:
    """A file attached to an instance, and since when: it is attached, nobody uses it, new users wait because another
    process asked for it (0: they do not). `pins` are the users that hold it for good, `kept` says that it is leased;
    `cursors` are ready for the next operation."""

    instance: duckdb.DuckDBPyConnection
    number: int = 0  # 0 is the database in memory
    read_only: bool = False
    since: float = 0.0
    idle: float = 0.0
    leaving: float = 0.0
    users: int = 0
    pins: int = 0
    kept: bool = False
    cursors: list[duckdb.DuckDBPyConnection] = field(default_factory=list)


class _Engine:
    """The one DuckDB instance of the process, in memory; files are attached to it for as long as somebody uses them.

    Starting an instance costs 15 ms, attaching a file to a running one under 1 ms. All objects of a process share an
    attached file, which DuckDB would not attach twice.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._instance: duckdb.DuckDBPyConnection | None = None
        self._files: dict[str, _File] = {}
        self._numbers = 0
        self._turns: dict[str, Turns] = {}
        self._stamps: dict[str, Any] = {}  # what files looked like when they were let go of
        self._closed_until: dict[str, float] = {}  # files that others asked for
        self._keeper: threading.Thread | None = None

    def turns(self, path: str) -> Turns:
        """The locks of this process for a file, shared by all objects that use it."""
        with self._lock:
            return self._turns.setdefault(path, Turns())

    def attach(self, path: str, wait: float, *, pin: bool = False) -> _File:
        """One user more of the file, which is attached where it was not.

        Waits up to `wait` seconds while another process holds the file.
        """
        deadline = time.monotonic() + wait
        pause = random.Random()  # spreads the retries of several processes; no result depends on it
        asking = False
        try:
            while True:
                with self._lock:
                    held = None
                    if not self._withheld(path):
                        try:
                            file = self._attached(path)
                            file.users += 1
                            file.pins += pin
                            return file
                        except duckdb.Error as error:
                            if not _HELD.search(_words(error, path)):
                                raise _mapped(error, path) from error
                            held = error
                if held is not None:
                    asking = True
                    lease.ask(path)
                if time.monotonic() >= deadline:
                    raise StoreLocked(
                        "the store is held by another process: end it, or let both use the shared mode"
                    ) from held
                time.sleep(pause.uniform(0.002, 0.012))
        finally:
            if asking:
                lease.answered(path)

    def _withheld(self, path: str) -> bool:
        """Whether another process has its turn with the file now."""
        now = time.monotonic()
        file = self._files.get(path)
        if file is None:
            return now < self._closed_until.get(path, 0.0)
        if file.leaving and now - file.leaving >= lease.PATIENCE:  # a user stays long; it may even wait for this one
            file.leaving, file.since = 0.0, now
        return file.leaving > 0

    def _attached(self, path: str) -> _File:
        if self._instance is None:
            # What does not fit spills beside the store, as DuckDB does by itself for a file it opens.
            config: dict[str, str | bool | int | float | list[str]] = {
                "memory_limit": _MEMORY_LIMIT,
                "temp_directory": path + ".tmp",
            }
            self._instance = duckdb.connect(_MEMORY, config=config)
        file = self._files.get(path)
        if file is None:
            self._numbers += 1
            if not os.path.exists(path):
                self._make(self._instance, path, self._numbers)
            file = _File(self._instance, self._numbers, not os.access(path, os.W_OK), time.monotonic())
            self._instance.execute(_attach_statement(path, file.number, file.read_only, False))
            self._files[path] = file
            if _stamp(path) != self._stamps.get(path):  # somebody wrote it since it was let go of
                self.turns(path).kept.changed()
        return file

    def _make(self, instance: duckdb.DuckDBPyConnection, path: str, number: int) -> None:
        """Make a file that appears whole: another process, or a kill, must never meet half of one."""
        draft = f"{path}.{os.getpid()}-{number}.new"
        try:
            instance.execute(_attach_statement(draft, number, False, True))
            instance.execute(f"DETACH {database(number)}")
            try:
                os.link(draft, path)
            except FileExistsError:
                return  # another process was faster
            except OSError:  # a file system without hard links
                if not os.path.exists(path):
                    os.rename(draft, path)
        finally:
            for left in (draft, f"{draft}.wal"):
                with suppress(FileNotFoundError):
                    os.unlink(left)

    def detach(self, path: str, *, keep: bool = False, pin: bool = False) -> None:
        """One user less; the last one lets go of the file, or keeps it for whoever comes next and nobody else asks."""
        with self._lock:
            file = self._files[path]
            file.users -= 1
            file.pins -= pin
            if keep and not file.leaving and self._wanted(path, file):
                file.leaving = time.monotonic()
            if file.users:
                return
            if keep and not file.leaving:
                file.idle, file.kept = time.monotonic(), True
                if self._keeper is None:
                    self._keeper = threading.Thread(target=self._keep, name="context-packs-lease", daemon=True)
                    self._keeper.start()
                return
            self._let_go(path, file)

    def release(self, path: str) -> None:
        """Let go of a kept file that nobody uses."""
        with self._lock:
            file = self._files.get(path)
            if file and not file.users:
                self._let_go(path, file)

    def _wanted(self, path: str, file: _File) -> bool:
        return not file.pins and time.monotonic() - file.since >= lease.LEAST and lease.asked(path)

    def _keep(self) -> None:
        """Let go of kept files that nobody uses any more, or that another process asks for; ends with the last one."""
        while True:
            time.sleep(lease.IDLE / 4)
            with self._lock:
                now = time.monotonic()
                kept = {path: file for path, file in self._files.items() if file.kept}
                for path, file in kept.items():
                    if not file.users:
                        file.leaving = now if self._wanted(path, file) else 0.0
                        if file.leaving or now - file.idle >= lease.IDLE:
                            try:
                                self._let_go(path, file)
                            except StoreError as error:  # what stands in the log is read from there by the next
                                _log.error("letting go of the store failed: %s", error)
                if not kept:
                    self._keeper = None
                    return

    def _let_go(self, path: str, file: _File) -> None:
        del self._files[path]
        if file.leaving:
            self._closed_until[path] = time.monotonic() + lease.GAP
        while file.cursors:
            file.cursors.pop().close()
        try:
            file.instance.execute(f"DETACH {database(file.number)}")
        except duckdb.Error as error:
            # A full disk: what was written stands in the log, and the next to attach the file reads it from there.
            if "checkpoint during detach failed" not in _words(error, path):
                raise _mapped(error, path) from error
        self._stamps[path] = _stamp(path)


def _stamp(path: str) -> tuple[int, ...]:
    """What tells one state of a file from another, its log included; never equal where it can not be told."""
    try:
        states = [os.stat(one) for one in (path, path + ".wal") if os.path.exists(one)]
    except OSError:
        return (time.monotonic_ns(),)
    return tuple(number for state in states for number in (state.st_ino, state.st_size, state.st_mtime_ns))


_engine = _Engine()


def quoted(text: str) -> str:
    """A text as an SQL literal, for ATTACH, which takes no bound parameters."""
    return "'" + text.replace("'", "''") + "'"


def database(number: int) -> str:
    """The name of an attached file; 0 is the database in memory."""
    return f"store_{number:d}" if number else "memory"


def _attach_statement(path: str, number: int, read_only: bool, new: bool) -> str:
    """The storage version of a new file is readable by DuckDB 1.5 and 2.x alike: 2.x would otherwise write a form that
    1.5 refuses. A file that is there keeps its own.
    """
    if new:
        return f"ATTACH {quoted(path)} AS {database(number)} (STORAGE_VERSION 'v1.5.0')"
    if read_only:
        return f"ATTACH {quoted(path)} AS {database(number)} (READ_ONLY)"
    return f"ATTACH {quoted(path)} AS {database(number)} (READ_WRITE)"


class Duck:
    """A DuckDB file and the way it is held. Safe from several threads.

    `wait` is the longest time in seconds that an operation waits for another process to let go of the file.
    """

    def __init__(self, path: str | Path, *, mode: Mode = "shared", wait: float = 15.0) -> None:
        self.in_memory = str(path) == _MEMORY
        self.path = _MEMORY if self.in_memory else os.path.realpath(path)
        self.mode: Mode = "exclusive" if self.in_memory else mode
        self.wait = wait
        self._turns = Turns() if self.in_memory else _engine.turns(self.path)
        self._checked = False
        self._closed = False
        self._own = _File(duckdb.connect(_MEMORY, config={"temp_directory": ""})) if self.in_memory else None
        if self.mode == "exclusive":
            with self._session():  # makes and migrates the file
                pass
            if not self.in_memory:
                _engine.attach(self.path, wait, pin=True)  # held until close()

    # -- holding the file ------------------------------------------------------------------------------------------

    @contextmanager
    def _session(self) -> Iterator[tuple[duckdb.DuckDBPyConnection, bool]]:
        """A connection of its own on the attached file, and whether the file is read-only."""
        if self._closed:
            raise StoreUnavailable("the store is closed: open it again")
        if self._own is not None:
            with self._cursor(self._own) as cursor:
                yield cursor, False
            return
        self._make_folder()
        if not os.path.exists(self.path):
            self._checked = False  # a file that was taken away is made anew
        file = _engine.attach(self.path, self.wait)
        try:
            with self._cursor(file) as cursor:
                yield cursor, file.read_only
        finally:
            _engine.detach(self.path, keep=self.mode == "leased")

    @contextmanager
    def _cursor(self, file: _File) -> Iterator[duckdb.DuckDBPyConnection]:
        try:
            cursor = file.cursors.pop()
        except IndexError:
            cursor = file.instance.cursor()
            cursor.execute(f"USE {database(file.number)}")
        try:
            with self._turns.preparing:
                if not self._checked:
                    _prepare(cursor, file.read_only)
                    self._checked = True
            yield cursor
        except duckdb.Error as error:
            cursor.close()
            raise _mapped(error, self.path) from error
        except BaseException:
            cursor.close()
            raise
        if self.mode == "shared" or len(file.cursors) >= _CURSORS:
            cursor.close()
        else:
            file.cursors.append(cursor)

    def _make_folder(self) -> None:
        folder = Path(self.path).parent
        if not folder.is_dir():
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreReadOnly("the folder of the store can not be made: name another path") from error

    def close(self) -> None:
        """Let go of the file; waits for nothing. Closing twice is harmless."""
        if self._closed:
            return
        self._closed = True
        if self._own is not None:
            self._own.instance.close()
        elif self.mode == "exclusive":
            _engine.detach(self.path, pin=True)
        elif self.mode == "leased":
            _engine.release(self.path)

    # -- work ------------------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A consistent read: one snapshot for all statements inside."""
        with self._session() as (cursor, _):
            session = Session(cursor, None if self.mode == "shared" else self._turns.kept)
            cursor.execute("BEGIN")
            try:
                yield session
            finally:
                _roll_back(cursor)

    @contextmanager
    def writing(self, *, records: bool = True) -> Iterator[Session]:
        """A short write transaction: all of it is kept, or nothing. Without `records` it changes nothing that a read of
        records sees, and what is remembered of them stays."""
        with self._turns.writing, self._session() as (cursor, read_only):
            if read_only:
                raise StoreReadOnly("the store can not be written: make the file and its folder writable")
            cursor.execute("BEGIN")
            try:
                yield Session(cursor)
                if records:
                    self._turns.kept.changed()  # before and behind: what is read meanwhile may be of either state
                cursor.execute("COMMIT")
            except BaseException:
                _roll_back(cursor)
                raise
            finally:
                if records:
                    self._turns.kept.changed()

    def size(self) -> int:
        """Bytes on disk of the file and its log; 0 in memory."""
        if self.in_memory:
            return 0
        return sum(os.path.getsize(p) for p in (self.path, self.path + ".wal") if os.path.exists(p))


def _prepare(cursor: duckdb.DuckDBPyConnection, read_only: bool) -> None:
    """Bring the file to this schema version; refuse files that are not ours or newer."""
    found = _version(cursor)
    known = len(migrations())
    if found > known:
        raise StoreNewer(f"the store has schema {found}, this version knows {known}: upgrade context-packs")
    if found == known:
        return
    if read_only:
        raise StoreReadOnly("the store needs a migration but can not be written: make the file writable once")
    cursor.execute("BEGIN")
    try:
        for name in migrations()[found:]:
            cursor.execute(query(name))
        cursor.execute("DELETE FROM meta WHERE name = 'schema_version'")
        cursor.execute("INSERT INTO meta VALUES ('schema_version', $n)", {"n": str(known)})
        cursor.execute("COMMIT")
    except BaseException:
        _roll_back(cursor)
        raise


def _version(cursor: duckdb.DuckDBPyConnection) -> int:
    tables = {
        name
        for (name,) in cursor.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() UNION ALL "
            "SELECT view_name FROM duckdb_views() WHERE database_name = current_database() AND NOT internal"
        ).fetchall()
    }
    if not tables:
        return 0
    if "meta" not in tables:
        raise StoreDamaged(_NOT_OURS)
    try:
        row = cursor.execute("SELECT value FROM meta WHERE name = 'schema_version'").fetchone()
        if row is None:
            raise StoreDamaged("the store has no schema version: restore it from an export")
        return int(row[0])
    except (duckdb.ProgrammingError, duckdb.DataError, TypeError, ValueError) as error:
        raise StoreDamaged(_NOT_OURS) from error


def _roll_back(cursor: duckdb.DuckDBPyConnection) -> None:
    try:
        cursor.execute("ROLLBACK")
    except duckdb.TransactionException as error:
        if "no transaction" not in str(error):  # a failed commit has ended it already
            raise


def _words(error: duckdb.Error, path: str) -> str:
    """What an error says, in lower case, without the path and what else it quotes: paths hold any words."""
    return re.sub('"[^"]*"', "", str(error).replace(path, "")).lower()


def _mapped(error: duckdb.Error, path: str) -> Exception:
    """The foreign error as one of ours; its own text may name paths, so it is only chained. Our own bugs stay as is."""
    text = _words(error, path)
    if "storage version" in text or "version number" in text:
        return StoreNewer("the store was written by a newer DuckDB: upgrade the duckdb package")
    if isinstance(error, duckdb.ProgrammingError):
        return error
    if "no space left" in text or "disk full" in text or "quota exceeded" in text or "file too large" in text:
        return StoreFull("no space left for the store: free some and try again; nothing was lost")
    if "permission denied" in text or "read-only" in text or "read only" in text:
        return StoreReadOnly("the store can not be written: make the file and its folder writable")
    if isinstance(error, duckdb.OutOfMemoryException):
        return StoreUnavailable("the operation needed more memory than the store may use: narrow it with filters")
    if (
        "not a valid duckdb" in text
        or "corrupt" in text
        or "checksum" in text
        or "could not read enough bytes" in text
        or isinstance(error, duckdb.FatalException)
    ):
        return StoreDamaged("the store can not be read: it is damaged or not a DuckDB file; restore it from an export")
    if "is a directory" in text:
        return StoreUnavailable("the path of the store is a folder: name a file in it")
    return StoreUnavailable("the store failed: see the chained error")
