"""Files beside a store: copied, kept on disk for good, taken away."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import StoreFull, StoreReadOnly, StoreUnavailable

if sys.platform != "win32":
    import fcntl

READ_ONLY = "the store cannot be written: make the file and its folder writable"


def sync_file(path: str) -> None:
    """Wait until the bytes of a file are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: str) -> None:
    """Wait until the name of a file is on disk; where folders cannot be opened (Windows) there is nothing to do."""
    with suppress(PermissionError):
        sync_file(str(Path(path).parent))


def remove(path: str) -> None:
    """Take a file away where it is."""
    with suppress(FileNotFoundError):
        os.unlink(path)


@contextmanager
def draft_of(target: str) -> Iterator[tuple[str, int]]:
    """A new private file beside `target`, by name and descriptor, that is gone at the end. What a process that was
    killed has left there is taken away first."""
    _remove_left(target)
    draft = f"{target}.{os.getpid()}.part"
    descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if sys.platform != "win32":
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # it ends with the process
        yield draft, descriptor
    finally:
        os.close(descriptor)
        remove(draft)


def _remove_left(target: str) -> None:
    """Take away drafts of a file that nobody holds. On Windows, which has no such lock, they stay."""
    if sys.platform == "win32":
        return
    folder, name = os.path.split(target)
    left = re.compile(rf"{re.escape(name)}\.\d+\.part")
    for draft in (os.path.join(folder, found) for found in _names(folder) if left.fullmatch(found)):
        with suppress(OSError):  # it is held, or stays where it does no harm
            descriptor = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(draft)
            finally:
                os.close(descriptor)


def _names(folder: str) -> list[str]:
    """What is in a folder; nothing of one that cannot be listed, as making a draft there says why."""
    try:
        return os.listdir(folder or ".")
    except OSError:
        return []


def not_written(error: OSError, what: str) -> StoreUnavailable:
    """Why work that writes beside a store failed, with the way out: rights and room are different things."""
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreReadOnly(f"{what} writes beside the store: make the file readable and its folder writable")
    return StoreFull(f"{what} needs as much free disk space as the store takes: free some space")


def copy_private(source: str, target: str) -> None:
    """Copy bytes into a new file that nobody else can read. Raises FileExistsError where something stands there."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        copy_into(source, descriptor)
    finally:
        os.close(descriptor)


def copy_into(source: str, descriptor: int) -> None:
    """Copy the bytes of a file into an open one."""
    with open(source, "rb") as read, os.fdopen(descriptor, "wb", closefd=False) as write:
        shutil.copyfileobj(read, write, 2**20)


def assert_no_log(path: str) -> None:
    """Raises StoreUnavailable where a log beside a store holds writes that are not in the file yet."""
    if any(os.path.exists(f"{path}.wal{end}") for end in ("", ".checkpoint", ".recovery")):
        raise StoreUnavailable("the log of the store could not be written into its file: free some space and try again")
