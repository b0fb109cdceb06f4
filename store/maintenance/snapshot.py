"""Long reads of a store that others use: of a copy, so that nobody waits for longer than the bytes are copied."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ..errors import StoreReadOnly
from ..file.attached import quoted
from ..file.disk import assert_no_log, copy_private, remove
from ..file.duck import Duck, Session
from ..file.other_files import aside

_LARGE = 8 << 20  # bytes of a file that take longer to read than to copy
_numbers = itertools.count()


@contextmanager
def snapshot(duck: Duck) -> Iterator[Session]:
    """A consistent read that may take long. Where no copy can be made, for want of room or rights, others wait."""
    shared = duck.mode != "exclusive" and duck.size() >= _LARGE
    copy = _copied(duck) if shared else None
    if copy is None:
        with duck.reading() as session:
            yield session
        return
    try:
        with aside(copy) as session:
            session.run(f"ATTACH {quoted(copy)} AS copy (TYPE duckdb, READ_ONLY)")
            session.run("USE copy")
            with suppress(PermissionError):  # open it needs no name, and a kill leaves nothing; Windows wants one
                remove(copy)
            yield session
    finally:
        remove(copy)


def _copied(duck: Duck) -> str | None:
    copy = f"{duck.path}.{os.getpid()}-{next(_numbers)}.copy"
    try:
        with duck.alone() as path:
            assert_no_log(path)
            copy_private(path, copy)
    except (OSError, StoreReadOnly):
        remove(copy)
        return None
    return copy
