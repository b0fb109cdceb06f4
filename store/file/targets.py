"""Where a file may be written: never in the place of a store, nor of what stands beside one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from ..errors import InvalidField
from .disk import draft_of, sync_file, sync_folder

BESIDE = (".wal", ".wal.checkpoint", ".wal.recovery", ".lock", ".queue", ".tmp", ".compact", ".told")
"""How the names of files end that stand beside a store and belong to it."""


def is_database(path: str) -> bool:
    """Whether a file is a store, by the lock beside it or by how it begins.

    A store that has its lock is not opened: closing it here would end DuckDB's own lock on it.
    """
    if not os.path.isfile(path):
        return False
    if os.path.exists(f"{path}.lock"):
        return True
    with open(path, "rb") as file:
        return file.read(12)[8:] == b"DUCK"


def refuse_beside(target: str, field: str) -> None:
    """Raises InvalidField for the name of a file that belongs to a store: its log, its lock and the like."""
    for ending in BESIDE:
        owner = target.removesuffix(ending)
        if owner != target and is_database(owner):
            name, store = os.path.basename(target), os.path.basename(owner)
            raise InvalidField(f"{field}: {name} belongs to the store {store}: name another file", field=field)


def refuse_store(target: str, field: str) -> None:
    """Raises InvalidField where a file would take the place of a store or of what stands beside one."""
    refuse_beside(target, field)
    if is_database(target):
        raise InvalidField(f"{field}: {os.path.basename(target)} is a store: name another file", field=field)


def cannot_write(target: str, field: str, error: OSError) -> InvalidField:
    """Why a file cannot be written, in one line."""
    return InvalidField(
        f"{field}: cannot write {os.path.basename(target)}: {error.strerror}; name another file", field=field
    )


@contextmanager
def text_file(path: str, field: str, *, replace: bool) -> Iterator[TextIO]:
    """A text file to write, which only its owner may read, and which appears whole or not at all.

    A link is followed, and what is no regular file (a pipe, a device) is written into. Raises InvalidField where it
    cannot be written, where it would take the place of a store, and, without `replace`, of any file.
    """
    target = os.path.realpath(path)
    try:
        if os.path.exists(target) and not os.path.isfile(target):
            with open(target, "w", encoding="utf-8", newline="\n") as out:
                yield out
            return
        refuse_store(target, field)
        if os.path.exists(target) and not replace:
            raise FileExistsError
        with draft_of(target) as (draft, descriptor):
            with open(descriptor, "w", encoding="utf-8", newline="\n", closefd=False) as out:
                yield out
            sync_file(draft)
            put: Callable[[str, str], None] = os.replace if replace else os.link
            put(draft, target)  # unlike a rename a link never takes the place of a file that came meanwhile
        sync_folder(target)
    except FileExistsError as error:
        name = os.path.basename(target)
        raise InvalidField(
            f"{field}: {name} exists already: name another file, or remove it first", field=field
        ) from error
    except OSError as error:
        raise cannot_write(target, field, error) from error
