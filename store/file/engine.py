"""The one DuckDB instance of a process, and the store files attached to it.

Starting an instance costs 15 ms, attaching a file to a running one under 1 ms. All objects of a process share an
attached file, which DuckDB would not attach twice. A file is attached only while this process has the store's lock.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

try:
    import _duckdb as duckdb  # what `duckdb` re-exports: its layer of Python takes 70 ms to load, for nothing used here
except ImportError:
    import duckdb  # type: ignore[no-redef]

from ..errors import StoreError, StoreLocked, StoreMissing, StoreReadOnly, StoreUnavailable
from .attached import (
    File,
    Turns,
    attach_statement,
    connect,
    cursor_on,
    database,
    is_overwritten,
    is_writable,
    note_state,
    stamp,
)
from .failures import held_elsewhere, is_full, mapped
from .foreign import MISSING, MOVED, OVERWRITTEN, identity, refuse_foreign
from .lock import StoreLock
from .schema import bring_up_to_date, is_newest, look_at, make_file, refuse_unknown

IDLE = 0.05  # seconds without work after which a kept file is let go of unasked
LEAST = 0.05  # seconds that a file is kept although somebody waits: handing it over for each query is slow for all
LOG = 16 << 20  # bytes of a log after which it is folded in although the file is kept
SHORT = 12 << 10  # bytes of a log, some four to six short writes, that the next process may find
PATIENCE = 0.5  # seconds for which new work waits until running work is done and the file can be let go of
_MEMORY_LIMIT = "160MB"  # of DuckDB's own memory in a process, however large its files are
_HELD = "the store is held by another process: end it, or let both use the shared mode"
_log = logging.getLogger(__name__)


class Engine:
    """Attaches and detaches files, each under the lock of its store. Safe from several threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._instance: duckdb.DuckDBPyConnection | None = None
        self._files: dict[str, File] = {}
        self._busy: set[str] = set()  # paths that a thread opens, or uses alone
        self._numbers = 0
        self._locks: dict[str, StoreLock] = {}
        self._turns: dict[str, Turns] = {}
        self._stamps: dict[str, Any] = {}  # what files looked like when they were let go of
        self._known: dict[str, tuple[int, int] | None] = {}  # files found to be ours, at this schema
        self._keeper: threading.Thread | None = None
        self._orphans: list[Any] = []

    def turns(self, path: str) -> Turns:
        """The locks of this process for a file, shared by all objects that use it."""
        with self._changed:
            return self._turns.setdefault(path, Turns())

    # -- users -----------------------------------------------------------------------------------------------------

    def attach(self, path: str, wait: float, *, make: bool, pin: bool = False) -> File:
        """One user more of the file, which is attached where it was not, and made where `make` says so.

        Waits up to `wait` seconds while another process has the file. Raises StoreLocked after that.
        """
        deadline = time.monotonic() + wait
        with self._changed:
            while True:
                file = self._files.get(path)
                if file is not None and file.stale and file.users == file.pins:
                    self._let_go(file)
                    continue
                if path not in self._busy:
                    if file is None:
                        self._busy.add(path)
                        break
                    if not self._withheld(file):
                        file.users += 1
                        file.pins += pin
                        return file
                self._wait(deadline)
        opened = None
        try:
            opened = self._open(path, deadline, make)
            opened.users, opened.pins = 1, int(pin)
            return opened
        finally:
            with self._changed:
                self._busy.discard(path)
                if opened is not None:
                    self._files[path] = opened
                self._changed.notify_all()

    def detach(self, file: File, *, keep: bool = False, pin: bool = False) -> None:
        """One user less; the last one lets go of the file, or keeps it while no other process waits."""
        with self._changed:
            if file.gone:
                return
            file.users -= 1
            file.pins -= pin
            if not file.leaving and self._wanted(file):
                file.leaving = time.monotonic()
            if file.users and not (file.stale and file.users == file.pins):
                self._changed.notify_all()
                return
            if keep and not file.leaving and not file.stale:
                file.idle, file.kept = time.monotonic(), True
                if self._keeper is None:
                    self._keeper = threading.Thread(target=self._keep, name="context-packs-keep", daemon=True)
                    self._keeper.start()
                self._changed.notify_all()
                return
            self._let_go(file)

    def release(self, path: str) -> None:
        """Let go of a kept file that nobody uses."""
        with self._changed:
            file = self._files.get(path)
            if file and not file.users and path not in self._busy:
                self._let_go(file)

    def place(self, path: str) -> tuple[int, int] | None:
        """Device and inode of the file at a path; None where there is none, or it was cut off. Waits for nobody."""
        file = self._files.get(path)
        if file is not None and os.path.exists(path) and os.path.getsize(path) < file.size:
            return None
        return identity(path)

    def refuse_moved(self, path: str) -> None:
        """Raises StoreUnavailable where another file than the attached one stands at the path, or none.

        The attached one takes no more users then; all that was written stands in it once the last has let go.
        """
        with self._changed:  # where files are detached too: a descriptor that is closed may be another file's by now
            file = self._files.get(path)
            if file is None or path in self._busy:  # whoever uses it alone may exchange the file
                return
            moved = identity(path) != file.identity
            if not moved and not is_overwritten(file):
                return
        if not moved:
            # A writer of this process may just be folding the log in, which changes the head as well: wait for it.
            with self.turns(path).writing, self._changed:
                if file.gone or not is_overwritten(file):
                    return
                file.overwritten = True
        with self._changed:
            file.stale = True
            if file.users == file.pins and not file.gone:
                self._let_go(file)
        raise StoreUnavailable(MOVED if moved else OVERWRITTEN)

    def after_commit(self, file: File) -> None:
        """Give the log, which DuckDB makes readable for all, the rights of the store, and fold a long one in."""
        try:
            log = os.stat(file.path + ".wal")
        except FileNotFoundError:
            return
        if log.st_mode & 0o777 != file.mode:
            os.chmod(file.path + ".wal", file.mode)
        if log.st_size > LOG:
            self._fold(file)

    def _next_may_fold(self, file: File) -> bool:
        """Whether a log is short and somebody waits: reading a few writes is faster than folding them in one by one."""
        try:
            return file.locked and os.path.getsize(file.path + ".wal") < SHORT and self._lock_of(file.path).wanted()
        except OSError:
            return False

    def _fold(self, file: File) -> None:
        """Write the log of a file into it, unless somebody else wrote there. For the one writer, or the last user."""
        if file.read_only or not os.path.exists(file.path + ".wal") or is_overwritten(file):
            return
        try:
            cursor = cursor_on(file)
            cursor.execute(f"CHECKPOINT {database(file.number)}")
            file.cursors.append(cursor)
        except duckdb.TransactionException:
            return  # a long read of an old state: the next one that writes tries again
        except duckdb.Error as error:
            # On a full disk all that was committed stands in the log, and the next to attach the file reads it there.
            if not is_full(error, file.path):
                raise mapped(error, file.path) from error
        finally:
            note_state(file)

    @contextmanager
    def alone(self, path: str, wait: float) -> Iterator[None]:
        """The file as bytes: nobody has it open, in this process or another, and its log is folded in.

        Whoever held it in this process has it again afterwards. Raises StoreLocked where it is not to be had in time.
        """
        deadline = time.monotonic() + wait
        with self._changed:
            while True:
                file = self._files.get(path)
                if path not in self._busy and (file is None or file.users == file.pins):
                    break
                if file is not None:
                    file.leaving = time.monotonic()
                self._wait(deadline)
            if file is not None and not file.pins:
                self._let_go(file)
                file = None
            self._busy.add(path)
        try:
            if file is None:
                # Attached once: refused if it is not ours, brought up to date, its log folded in.
                opened = self._open(path, deadline, False)
                with self._changed:
                    self._detach(opened)
            else:
                with self._changed:
                    self._detach(file)
                self._known.pop(path, None)
            try:
                yield
            finally:
                self._resume(path, file)
        finally:
            with self._changed:
                self._busy.discard(path)
                self._changed.notify_all()

    def _resume(self, path: str, file: File | None) -> None:
        """After `alone`: give the lock back, or attach the file again for those who hold it for good."""
        with self._changed:
            self.turns(path).kept.changed()
            if file is None:
                self._lock_of(path).release()
                return
            try:
                self._attach(file)
            except BaseException:
                file.stale = file.gone = True
                self._files.pop(path, None)
                self._lock_of(path).release()
                raise
            file.leaving, file.since = 0.0, time.monotonic()

    def _wait(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise StoreLocked(_HELD)
        self._changed.wait(min(left, IDLE))

    def _withheld(self, file: File) -> bool:
        """Whether new users have to wait: the file is about to be let go of."""
        now = time.monotonic()
        if file.leaving and now - file.leaving >= PATIENCE:  # a user stays long; it may even wait for this one
            file.leaving, file.since = 0.0, now
        return file.stale or file.leaving > 0

    def _wanted(self, file: File) -> bool:
        if file.pins or not file.locked or time.monotonic() - file.since < LEAST:
            return False
        return self._lock_of(file.path).wanted()

    def is_wanted(self, path: str) -> bool:
        """Whether another process waits for a file that this one has."""
        with self._changed:
            return self._lock_of(path).wanted()

    def _keep(self) -> None:
        """Let go of kept files that nobody uses any more, or that another process waits for; ends with the last one."""
        while True:
            time.sleep(IDLE / 4)
            with self._changed:
                now = time.monotonic()
                kept = [file for file in self._files.values() if file.kept]
                for file in kept:
                    if (
                        not file.users
                        and file.path not in self._busy
                        and (now - file.idle >= IDLE or self._wanted(file))
                    ):
                        try:
                            self._let_go(file)
                        except StoreError as error:  # what stands in the log is read from there by the next
                            _log.error("letting go of the store failed: %s", error)
                if not kept:
                    self._keeper = None
                    return

    # -- files -----------------------------------------------------------------------------------------------------

    def _lock_of(self, path: str) -> StoreLock:
        return self._locks.setdefault(path, StoreLock(path))

    def _open(self, path: str, deadline: float, make: bool) -> File:
        """The file, attached, under the lock of its store; made if it is not there and `make` says so."""
        if identity(path) is None and not make:
            raise StoreMissing(MISSING)
        if identity(path) is not None:
            refuse_foreign(path)  # before a lock is made beside it
        with self._changed:
            if self._instance is None:  # before the lock is taken: it takes 15 ms that nobody else shall wait for
                # What does not fit spills beside the store, as DuckDB does by itself for a file it opens.
                # A log is folded in where `_fold` does it, so that nothing else changes the head of a file.
                self._instance = connect(
                    keep_log=True,
                    memory_limit=_MEMORY_LIMIT,
                    temp_directory=path + ".tmp",
                    checkpoint_threshold="1TB",
                )
            instance = self._instance
        locked = self._take_lock(path, deadline)
        try:
            pause = random.Random()  # spreads the retries of several processes; no result depends on it
            while True:
                with self._changed:
                    try:
                        if identity(path) is None:
                            if not make:
                                raise StoreMissing(MISSING)
                            self._numbers += 1
                            make_file(instance, path, self._numbers)
                        file = File(instance, path, locked=locked)
                        self._attach(file)
                        return file
                    except duckdb.Error as error:
                        # Somebody has the file who does not know our lock: another program, or an older version.
                        if not held_elsewhere(error, path):
                            raise mapped(error, path) from error
                        held = error
                if time.monotonic() >= deadline:
                    raise StoreLocked(_HELD) from held
                time.sleep(pause.uniform(0.002, 0.012))
        except BaseException:
            if locked:
                self._lock_of(path).release()
            raise

    def _take_lock(self, path: str, deadline: float) -> bool:
        """Take the lock of the store; False where it cannot be made, beside a file that can only be read."""
        with self._changed:
            lock = self._lock_of(path)
        try:
            if not lock.acquire(max(0.0, deadline - time.monotonic())):
                raise StoreLocked(_HELD)
        except StoreReadOnly:
            if identity(path) is None or is_writable(path):
                raise
            return False
        return True

    def _attach(self, file: File) -> None:
        """Attach a file of ours to the instance, at its newest schema. Raises duckdb.Error and our own."""
        refuse_foreign(file.path)
        file.read_only = not is_writable(file.path)
        file.overwritten = False
        file.descriptor = os.open(file.path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            self._attach_open(file)
        except BaseException:
            os.close(file.descriptor)
            file.descriptor = -1
            raise
        note_state(file)

    def _attach_open(self, file: File) -> None:
        before = identity(file.path)
        file.mode = os.stat(file.path).st_mode & 0o777
        known = self._known.get(file.path) == before
        if not known and not file.read_only and os.path.exists(file.path + ".wal"):
            self._numbers += 1
            look_at(file, self._numbers)  # folding the log of somebody else's file in would change that file
        self._numbers += 1
        file.number = self._numbers
        file.instance.execute(attach_statement(file.path, file.number, file.read_only))
        try:
            written = stamp(file.path) != self._stamps.get(file.path)  # by somebody since it was let go of
            if written:
                self.turns(file.path).kept.changed()
            if written or not known:
                cursor = cursor_on(file)
                if not known or not is_newest(cursor):
                    bring_up_to_date(cursor, refuse_unknown(cursor), file.read_only)
                file.cursors.append(cursor)
            if identity(file.path) != before:
                raise StoreUnavailable(MOVED)
        except BaseException:
            file.instance.execute(f"DETACH {database(file.number)}")
            raise
        file.identity = self._known[file.path] = before
        file.since = time.monotonic()

    def _let_go(self, file: File) -> None:
        """Detach a file and give its lock back. Under the condition."""
        file.gone = True
        self._files.pop(file.path, None)
        try:
            self._detach(file, hurry=True)
        finally:
            if file.locked:
                self._lock_of(file.path).release()
            self._changed.notify_all()

    def _detach(self, file: File, *, hurry: bool = False) -> None:
        try:
            if not (hurry and self._next_may_fold(file)):
                self._fold(file)
        finally:
            while file.cursors:
                file.cursors.pop().close()
            try:
                file.instance.execute(f"DETACH {database(file.number)}")
            except duckdb.Error as error:
                raise mapped(error, file.path) from error
            finally:
                os.close(file.descriptor)
                file.descriptor = -1
        self._stamps[file.path] = stamp(file.path)

    def after_fork(self) -> None:
        """In a child process: locks, threads and the instance are the parent's; start with none."""
        for lock in self._locks.values():
            lock.forget()
        for file in self._files.values():
            file.stale = file.gone = True
        # Never taken down: the threads that it would wait for are not in this process.
        orphans = [*self._orphans, self._instance, list(self._files.values())]
        self.__init__()  # type: ignore[misc]
        self._orphans = orphans


engine = Engine()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=engine.after_fork)
