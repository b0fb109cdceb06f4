"""One process at a time has a store: an advisory lock on a file beside it, in the order in which processes asked.

DuckDB's own lock does not cover the whole of attach to detach, so processes that open, write and close one file could
lose a write (decision 34). This lock is taken before the file is attached and given back after it is detached, by
readers too.

Two files do it. `<store>.lock` is held by whoever has the store. `<store>.queue` is held by whoever is next: only that
process waits for the lock, so one that gives the lock back and wants it again stands behind it. A holder sees that
somebody waits by finding the queue taken. Both are locks of the operating system on an open file (flock): they end
with the process, however it ends, and no other descriptor of the same file can drop them. The files are empty and stay.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading

from ..errors import StoreReadOnly, StoreUnavailable

if sys.platform == "win32":
    import msvcrt
    import time

    def _take(descriptor: int, *, block: bool) -> bool:
        while True:
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
                return True
            except OSError:
                if not block:
                    return False
            time.sleep(0.005)  # there is no lock to wait on without a limit of its own

    def _free(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _take(descriptor: int, *, block: bool) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if block else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True

    def _free(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


_NOT_A_FILE = "the lock beside the store is a link or no regular file: remove it and try again"
_NO_FOLDER = "the store cannot be written: make the file and its folder writable"
# Followed, a planted link would lead elsewhere; opened without the second, a planted pipe would wait for ever.
_FLAGS = os.O_RDWR | os.O_CREAT
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"):
    _FLAGS |= getattr(os, _flag, 0)


class StoreLock:
    """The lock of one store in this process. One thread at a time acquires and releases it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._held: int | None = None
        self._waiter: _Waiter | None = None  # of an attempt that ended too early; it still stands in the queue

    def acquire(self, wait: float) -> bool:
        """Take the lock, at most `wait` seconds from now; whether it was got.

        Raises StoreReadOnly where the lock file cannot be made, StoreUnavailable where something else stands there.
        """
        assert self._held is None
        waiter = self._waiter
        if waiter is None or not waiter.rejoin():
            waiter = _Waiter(self._path)
            if waiter.try_now() or wait <= 0:
                self._held = waiter.taken()
                return self._held is not None
            waiter.start()
        try:
            waiter.done.wait(max(0.0, wait))
        finally:
            self._held = waiter.taken()
            self._waiter = None if self._held is not None else waiter
        return self._held is not None

    def release(self) -> None:
        """Give the lock back; whoever is next has it at once."""
        if self._held is not None:
            held, self._held = self._held, None
            _free(held)  # not by closing alone: a child process may have a copy of the descriptor
            os.close(held)

    def wanted(self) -> bool:
        """Whether another process waits for the lock now."""
        try:
            queue = _open(f"{self._path}.queue")
        except StoreUnavailable:
            return False  # nobody can stand in a queue that cannot be opened
        try:
            if not _take(queue, block=False):
                return True
            _free(queue)
            return False
        finally:
            os.close(queue)

    def forget(self) -> None:
        """In a child process: the locks are the parent's, and its threads are not here."""
        for descriptor in (self._held, *(self._waiter.descriptors() if self._waiter else ())):
            if descriptor is not None:
                os.close(descriptor)
        self._held = self._waiter = None


class _Waiter:
    """One place in the queue. A thread stands there: a lock that blocks has no limit of time of its own."""

    def __init__(self, path: str) -> None:
        self.done = threading.Event()
        self._path = path
        self._queue: int | None = _open(f"{path}.queue")
        self._lock: int | None = None
        self._next = False  # holds the queue
        self._started = False
        self._left = False  # nobody waits for this one any more
        self._error: Exception | None = None
        self._mutex = threading.Lock()

    def try_now(self) -> bool:
        """Take the lock if it is free and nobody stands in the queue."""
        assert self._queue is not None
        self._next = _take(self._queue, block=False)
        try:
            return self._next and self._take_lock(block=False)
        except BaseException:
            self._close_queue()
            raise

    def start(self) -> None:
        """Stand in the queue."""
        self._started = True
        threading.Thread(target=self._stand, name="context-packs-lock", daemon=True).start()

    def _stand(self) -> None:
        error: Exception | None = None
        try:
            if not self._next:
                assert self._queue is not None
                self._next = _take(self._queue, block=True)
            self._take_lock(block=True)
        except Exception as raised:  # told to whoever waits
            error = raised
        with self._mutex:
            self._error = error
            if self._left:
                self._drop()
            else:
                self._close_queue()
            self.done.set()

    def _take_lock(self, *, block: bool) -> bool:
        """Take the lock file. One that was removed meanwhile, and made anew by others, is taken anew."""
        name = f"{self._path}.lock"
        while True:
            lock = _open(name)
            taken = False
            try:
                taken = _take(lock, block=block)
                if not taken:
                    return False
                if _same(lock, name):
                    self._lock, lock = lock, -1
                    return True
            finally:
                if lock >= 0:
                    os.close(lock)

    def rejoin(self) -> bool:
        """Wait for this place again; False where its turn has passed."""
        with self._mutex:
            self._left = False
            return not self.done.is_set()

    def taken(self) -> int | None:
        """The descriptor that holds the lock, which is the caller's from now on. None: the lock is not wanted any more,
        and if it comes all the same it is given on at once."""
        with self._mutex:
            if self._error is not None:
                raise self._error
            lock, self._lock = self._lock, None
            if lock is not None or not self._standing():
                self._close_queue()
            else:
                self._left = True
            return lock

    def _standing(self) -> bool:
        return self._started and not self.done.is_set()

    def _drop(self) -> None:
        self._close_queue()
        if self._lock is not None:
            _free(self._lock)
            os.close(self._lock)
            self._lock = None

    def _close_queue(self) -> None:
        if self._queue is not None:
            if self._next:
                _free(self._queue)
            os.close(self._queue)
            self._queue = None

    def descriptors(self) -> tuple[int | None, int | None]:
        """What this place holds open."""
        return self._queue, self._lock


def _open(name: str) -> int:
    """Open or make a lock file, never through a link; who may use the store may use its lock."""
    try:
        descriptor = os.open(name, _FLAGS, 0o600)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise StoreUnavailable(_NOT_A_FILE) from error
        if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
            raise StoreReadOnly(_NO_FOLDER) from error
        raise StoreUnavailable("the lock of the store cannot be made: see that its folder can be used") from error
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise StoreUnavailable(_NOT_A_FILE)
    return descriptor


def _same(descriptor: int, name: str) -> bool:
    try:
        there = os.stat(name, follow_symlinks=False)
    except FileNotFoundError:
        return False
    here = os.fstat(descriptor)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)
