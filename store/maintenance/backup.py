"""A copy of a store that others go on using, verified before it has its name."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import InvalidField, StoreDamaged, StoreFull
from ..file.attached import quoted
from ..file.disk import assert_no_log, copy_into, draft_of, sync_file, sync_folder
from ..file.duck import Duck
from ..file.foreign import refuse_odd
from ..file.other_files import aside
from ..file.targets import cannot_write, refuse_beside
from . import blocks


@dataclass(frozen=True, slots=True)
class Saved:
    """What a backup holds."""

    bytes: int
    records: int  # versions of records, forgotten ones too


def backup(duck: Duck, target: str, *, force: bool = False, progress: Callable[[int], None] | None = None) -> Saved:
    """Copy the store to `target`, also while other processes use it: they wait as long as the bytes are copied.

    The copy is read through and opened before it gets its name, so that what stands there is a whole store. `progress`
    is told the number of blocks read after each few. Raises InvalidField for a target that cannot be taken,
    StoreDamaged where the store itself is damaged, and what opening it raises.
    """
    if duck.in_memory:
        raise InvalidField("file: a store in memory has no file to copy: export it", field="file")
    target = os.path.realpath(target)
    refuse_odd(target, "file")
    _assert_free(duck.path, target, force)
    try:
        with draft_of(target) as (draft, descriptor):
            with duck.alone() as path:
                assert_no_log(path)
                copy_into(path, descriptor)
            sync_file(draft)
            saved = _verified(draft, progress)
            if force:
                os.replace(draft, target)
            else:
                os.link(draft, target)  # unlike a rename it never takes the place of a file that came meanwhile
        sync_folder(target)
    except FileExistsError as error:
        raise _taken(target) from error
    except OSError as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError | PermissionError):
            raise cannot_write(target, "file", error) from error
        raise StoreFull("the copy cannot be written: free some space there, or name another file") from error
    return saved


def _assert_free(path: str, target: str, force: bool) -> None:
    if os.path.exists(target):
        if os.path.exists(path) and os.path.samefile(path, target):
            raise InvalidField("file: is the store itself: name another file", field="file")
        if not os.path.isfile(target):
            raise InvalidField(f"file: {os.path.basename(target)} is not a regular file: name another", field="file")
        if not force:
            raise _taken(target)
    refuse_beside(target, "file")
    if os.path.exists(f"{target}.wal"):
        raise InvalidField(
            f"file: the log of another store, {os.path.basename(target)}.wal, stands there: name another file",
            field="file",
        )


def _taken(target: str) -> InvalidField:
    return InvalidField(
        f"file: {os.path.basename(target)} exists already: name another, or overwrite it with --force", field="file"
    )


def _verified(draft: str, progress: Callable[[int], None] | None) -> Saved:
    """Read every block of a copy and open it. Raises StoreDamaged."""
    found = blocks.examine(draft, progress)
    if not found.sound:
        raise StoreDamaged("the store is damaged and was not copied: run doctor --full, then salvage")
    with aside(draft) as session:
        session.run(f"ATTACH {quoted(draft)} AS copy (TYPE duckdb, READ_ONLY)")
        records = int(session.value("SELECT count(*) FROM copy.records"))
        session.run("DETACH copy")
    return Saved(os.path.getsize(draft), records)
