"""Files beside a store: copied, kept on disk for good, taken away."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

from .errors import StoreFull, StoreReadOnly, StoreUnavailable

READ_ONLY = "the store can not be written: make the file and its folder writable"


def sync_file(path: str) -> None:
    """Wait until the bytes of a file are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: str) -> None:
    """Wait until the name of a file is on disk; where folders can not be opened (Windows) there is nothing to do."""
    with suppress(PermissionError):
        sync_file(str(Path(path).parent))


def remove(path: str) -> None:
    """Take a file away where it is."""
    with suppress(FileNotFoundError):
        os.unlink(path)


def not_written(error: OSError, what: str) -> StoreUnavailable:
    """Why work that writes beside a store failed, with the way out: rights and room are different things."""
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreReadOnly(f"{what} writes beside the store: make the file readable and its folder writable")
    return StoreFull(f"{what} needs as much free room beside the store as the store has: free some space")


def copy_private(source: str, target: str) -> None:
    """Copy bytes into a new file that nobody else can read. Raises FileExistsError where something stands there."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(source, "rb") as read, os.fdopen(descriptor, "wb") as write:
        shutil.copyfileobj(read, write, 2**20)


def assert_no_log(path: str) -> None:
    """Raises StoreUnavailable where a log beside a store holds writes that are not in the file yet."""
    if any(os.path.exists(f"{path}.wal{end}") for end in ("", ".checkpoint", ".recovery")):
        raise StoreUnavailable("the log of the store could not be written into its file: free some space and try again")
