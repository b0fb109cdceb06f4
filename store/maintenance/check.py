"""The full check of a store: its blocks, every value, and whether records, index, vectors and chain agree.

It works on a copy of its own, so that others wait only while bytes are copied, and so that what it finds hurts nobody.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from ..errors import StoreDamaged, StoreError
from ..file.attached import quoted
from ..file.disk import copy_private, not_written
from ..file.duck import Duck, Session, query
from ..file.other_files import aside, identifier
from ..memory import postings
from ..memory.prepare import Prepared
from ..records import id_of
from . import blocks
from .compact import tables_of
from .reindex import ERASED, VERSIONS, Version, batches

FOLDER = ".check"  # behind the name of the store
_MOST = 20  # findings of one kind that are told one by one
Progress = Callable[[str, int], None]
Finding = tuple[str, bool, str]
"""What was looked at, whether it is right, and the details in one line."""


def check(duck: Duck, progress: Progress | None = None) -> Iterator[Finding]:
    """Look at everything. `progress` is told what is looked at and how much of it was, after each part."""
    if duck.in_memory:
        with duck.reading() as session:
            yield from _agreement(session, progress or _silent)
        return
    with _copied(duck) as (copy, faults):
        yield from faults
        yield from check_file(copy, progress or _silent)


def _silent(what: str, count: int) -> None:
    pass


@contextmanager
def _copied(duck: Duck) -> Iterator[tuple[str, list[Finding]]]:
    """A copy of the store, and what went wrong on the way: a damaged store may not let itself be attached."""
    folder = f"{duck.path}{FOLDER}"
    copy = os.path.join(folder, "store.duckdb")
    faults: list[Finding] = []
    shutil.rmtree(folder, ignore_errors=True)  # of a check that was killed
    try:
        os.mkdir(folder, 0o700)
        try:
            with duck.alone() as path:
                copy_private(path, copy)
        except StoreDamaged as error:
            faults.append(("open", False, str(error)))
            shutil.rmtree(copy, ignore_errors=True)
            copy_private(duck.path, copy)
        yield copy, faults
    except OSError as error:
        raise not_written(error, "a full check") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_file(path: str, progress: Progress) -> Iterator[Finding]:
    """The same for a file that nobody has open."""
    found = blocks.examine(path, lambda count: progress("blocks", count))
    yield from _block_findings(path, found)
    if found.layout is None:
        return
    sound = True
    for table, column, fault in _unreadable(path, progress):
        sound = False
        yield f"{table}.{column}" if column else table, False, fault
    if not sound:
        yield "agreement", False, "not compared: what cannot be read cannot be compared"
        return
    yield "tables", True, "every column of every table can be read"
    with aside(path) as session:
        session.run(f"ATTACH {quoted(path)} AS source (TYPE duckdb, READ_ONLY)")
        session.run("USE source")
        yield from _agreement(session, progress)


def _block_findings(path: str, found: blocks.Blocks) -> Iterator[Finding]:
    if found.layout is None:
        yield "blocks", False, "neither database header can be read: salvage may find one that can be mended"
        return
    for place in found.layout.damaged:
        yield "blocks", False, f"the {blocks.HEADERS[place]} is damaged"
    users = users_of(path) if found.damaged or found.missing else {}
    for told, numbers in (("is damaged", found.damaged), ("is missing", found.missing)):
        for number in numbers:
            yield "blocks", False, f"block {number} {told} ({', '.join(users.get(number, ['catalogue or index']))})"
    for number in found.unused:
        yield "blocks", True, f"block {number} is damaged but unused: no harm"
    if found.free is None:
        yield "blocks", False, "the list of free blocks cannot be read"
    if found.sound:
        yield "blocks", True, f"{found.checked} blocks have the checksums they were written with"


def users_of(path: str) -> dict[int, list[str]]:
    """Which columns have data in a block, by its number; empty where the catalogue cannot be read.

    DuckDB 1.5 cannot tell it of a table with a damaged block, so a damaged block that no other table has is of these.
    """
    users: dict[int, set[str]] = {}
    silent: set[str] = set()
    try:
        with aside(path) as session:
            session.run(f"ATTACH {quoted(path)} AS source (TYPE duckdb, READ_ONLY)")
            tables = tables_of(session, "source")
    except StoreError:
        return {}
    for table in tables:
        try:
            _add_users(path, table, users)
        except StoreError:
            silent.add(f"{table}.*")
    if silent:
        for number in blocks.examine(path).damaged:
            users.setdefault(number, silent)
    return {number: sorted(names) for number, names in users.items()}


def _add_users(path: str, table: str, users: dict[int, set[str]]) -> None:
    with aside(path) as session:
        session.run(f"ATTACH {quoted(path)} AS source (TYPE duckdb, READ_ONLY)")
        for column, block, others in session.rows(
            "SELECT DISTINCT column_name, block_id, additional_block_ids FROM pragma_storage_info($table) "
            "WHERE block_id >= 0 OR len(additional_block_ids) > 0",
            {"table": f"source.{table}"},
        ):
            for number in (block, *(others or ())):
                users.setdefault(number, set()).add(f"{table}.{column}")


def _unreadable(path: str, progress: Progress) -> Iterator[tuple[str, str, str]]:
    """Table, column and fault of all that cannot be read. A fatal error ends an instance, so each has its own."""
    try:
        with aside(path) as session:
            session.run(f"ATTACH {quoted(path)} AS source (TYPE duckdb, READ_ONLY)")
            columns = session.rows(
                "SELECT table_name, column_name FROM duckdb_columns() WHERE database_name = 'source' "
                "ORDER BY table_oid, column_index"
            )
    except StoreError as error:
        yield "open", "", str(error)
        return
    todo = list(columns)
    while todo:
        table, column = "", ""
        try:
            with aside(path) as session:
                session.run(f"ATTACH {quoted(path)} AS source (TYPE duckdb, READ_ONLY)")
                while todo:
                    table, column = todo.pop(0)
                    session.value(f"SELECT bit_xor(hash({identifier(column)})) FROM source.{identifier(table)}")
                    progress("columns", 1)
        except StoreError:
            yield table, column, "cannot be read whole: a block of it is damaged"


# ---- whether what can be read agrees


def _agreement(session: Session, progress: Progress) -> Iterator[Finding]:
    """Records against their checksums and their postings, and all that refers to another."""
    right = True
    sums = _Sums(session)
    texts: list[str] = []
    index: list[str] = []
    compared = 0
    for first, last in batches(session):
        versions = [Version(*row) for row in session.rows(VERSIONS, {"first": first, "last": last})]
        prepared = [(version, version.prepared()) for version in versions if version.forgotten not in ERASED]
        texts += [_name(version) for version, item in prepared if item.content_hash != version.content_hash]
        index += [_name(version) for version, good in sums.compared(session, versions, prepared) if not good]
        compared += len(versions)
        progress("records", len(versions))
    for what, names in (("another text than was stored", texts), ("postings that do not fit the text", index)):
        for name in names[:_MOST]:
            yield "records", False, f"{name} has {what}"
        if len(names) > _MOST:
            yield "records", False, f"{len(names) - _MOST} more have {what}"
        right = right and not names
    for what, count in session.rows(query("unlike")):
        right = False
        yield what.split(":")[0], False, f"{what.partition(': ')[2]}: {count}"
    if right:
        yield "agreement", True, f"all {compared} versions of records agree with checksum, index, vectors and links"


def _name(version: Version) -> str:
    return f"{id_of(version.key, version.name)} version {version.version}"


class _Sums:
    """What the index has of each version: the number of its postings, and one number mixed from them."""

    def __init__(self, session: Session) -> None:
        found = session.arrays(query("postings_sums"))
        self._vids, self._counts, self._mixed = found["vid"], found["postings"], found["mixed"]

    def compared(
        self, session: Session, versions: Sequence[Version], prepared: Sequence[tuple[Version, Prepared]]
    ) -> Iterator[tuple[Version, bool]]:
        """Each version, and whether its postings are those that its text gives; none where it was erased."""
        session.run(
            "CREATE OR REPLACE TEMP TABLE postings (term BIGINT, vid BIGINT, pas BIGINT, tf USMALLINT, len USMALLINT)"
        )
        postings.append(session, [(version.vid, item) for version, item in prepared])
        due = {vid: (count, mixed) for vid, count, mixed in session.rows(query("postings_sums"))}
        session.run("DROP TABLE temp.postings")
        places = np.searchsorted(self._vids, [version.vid for version in versions])
        for version, place in zip(versions, places.tolist(), strict=True):
            there: tuple[int, int | None] = (0, None)
            if place < len(self._vids) and self._vids[place] == version.vid:
                there = (int(self._counts[place]), int(self._mixed[place]))
            yield version, due.get(version.vid, (0, None)) == there
