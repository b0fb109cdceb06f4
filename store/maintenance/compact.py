"""A store written anew: what was deleted is in no byte of the new file, what is scattered is in order again.

Overwriting in place is no promise DuckDB makes (decision 23). The new file is made beside the old one, from the schema
of this version, and takes its place in one step. A process that is killed leaves the old file or the new one, whole,
and at most a draft that the next compaction removes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import StoreDamaged, StoreReadOnly, StoreUnavailable
from ..file.attached import is_writable, quoted
from ..file.disk import READ_ONLY, assert_no_log, not_written, sync_file, sync_folder
from ..file.duck import Duck, Session, migrations, query
from ..file.other_files import aside, identifier
from ..memory import erasure, postings

_FOLDER = ".compact"  # behind the name of the store
_ROWS = 200_000  # rows of a table that are copied in one transaction: bounds memory and log
Progress = Callable[[str, int], None]
"""Told the table and the number of rows after each part."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """Bytes on disk before and after."""

    before: int
    after: int

    @property
    def reclaimed(self) -> int:
        """Bytes that the file system has back; below 0 where the new file is the larger one."""
        return self.before - self.after


def compact(duck: Duck, progress: Progress | None = None) -> Compacted:
    """Write the store into a new file that takes the place of the old one. In memory there is nothing to do.

    Nobody else has the store meanwhile. Raises what a write raises; then the old file stands as it was.
    """
    return replaced(duck, lambda session: _copy_all(session, progress))


def replaced(duck: Duck, write: Callable[[Session], None]) -> Compacted:
    """Put a new file in the place of the store, by a function that copies what is to stay.

    It finds three databases attached: `source` is the store, read-only, `target` the new file, which has today's
    schema and no rows, and `work` takes what it needs on the way.
    """
    if duck.in_memory:
        return Compacted(0, 0)
    with duck.reading():
        pass  # a store of an older version has today's schema from here on
    with duck.alone() as path:
        if not is_writable(path):  # a new file could take its place all the same
            raise StoreReadOnly(READ_ONLY)
        assert_no_log(path)
        before = os.path.getsize(path)
        remove_draft(path)
        folder = f"{path}{_FOLDER}"
        draft = os.path.join(folder, "target.duckdb")
        try:
            os.mkdir(folder, 0o700)  # what is made in it, also what does not fit into memory, is for nobody else
            _fill(path, draft, os.path.join(folder, "work.duckdb"), write)
            os.chmod(draft, os.stat(path).st_mode & 0o777)
            sync_file(draft)
            os.replace(draft, path)
            sync_folder(path)
        except OSError as error:
            raise not_written(error, "a new file of the store") from error
        finally:
            remove_draft(path)
        return Compacted(before, os.path.getsize(path))


def remove_draft(path: str) -> None:
    """Take away what a compaction that was killed has left beside a store."""
    shutil.rmtree(f"{path}{_FOLDER}", ignore_errors=True)  # follows no link


def _fill(path: str, draft: str, work: str, write: Callable[[Session], None]) -> None:
    with aside(draft) as session:
        session.run(f"ATTACH {quoted(path)} AS source (TYPE duckdb, READ_ONLY)")
        session.run(f"ATTACH {quoted(draft)} AS target (TYPE duckdb, STORAGE_VERSION 'v1.5.0')")
        session.run(f"ATTACH {quoted(work)} AS work (TYPE duckdb)")
        session.run("USE target")
        for name in migrations():
            session.run(query(name))
        tables = tables_of(session, "target")
        if set(tables) != set(tables_of(session, "source")):
            raise StoreDamaged(
                "the store has other tables than this version makes: export it and import it into a new store"
            )
        for table in tables:
            session.run(f"DELETE FROM target.{identifier(table)}")  # what the schema begins with
        write(session)
        # What was erased is in no byte of the new file: no erasure waits for it any more.
        session.run("DELETE FROM target.meta WHERE name = $name", {"name": erasure.WAITING})
        session.run("CHECKPOINT target")
        session.run("USE memory")
        session.run("DETACH target")


def tables_of(session: Session, database: str) -> list[str]:
    """Names of the tables of an attached database, oldest first."""
    rows = session.rows(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = $name ORDER BY table_oid", {"name": database}
    )
    return [name for (name,) in rows]


def _copy_all(session: Session, progress: Progress | None) -> None:
    for table in tables_of(session, "source"):
        if table == "postings":
            sort_postings(session, "source", int(session.value("SELECT count(*) FROM source.postings")), progress)
        elif table != "merged":
            copy_table(session, table, progress)


def copy_table(session: Session, table: str, progress: Progress | None) -> None:
    """Copy the rows of a table, in order, part by part so that memory stays bounded, and count them."""
    total, end = session.row(f"SELECT count(*), coalesce(max(rowid) + 1, 0) FROM source.{identifier(table)}") or (0, 0)
    for first in range(0, end, _ROWS):
        session.run(
            f"INSERT INTO target.{identifier(table)} BY NAME "
            f"FROM source.{identifier(table)} WHERE rowid BETWEEN $first AND $last",
            {"first": first, "last": first + _ROWS - 1},
        )
        if progress:
            progress(table, min(_ROWS, end - first))
    _assert_whole(session, table, total)


def sort_postings(session: Session, database: str, total: int, progress: Progress | None) -> None:
    """Put the `total` postings of a database into the new file, in order of their terms, as a merge does."""
    for low, high in postings.ranges(total):
        session.run(
            f"INSERT INTO target.postings FROM {identifier(database)}.postings "
            "WHERE term BETWEEN $low AND $high ORDER BY term, pas",
            {"low": low, "high": high},
        )
        if progress:
            progress("postings", min(postings.MERGE_ROWS, total))
    _assert_whole(session, "postings", total)
    session.run("DELETE FROM target.meta WHERE name IN ('sorted_postings', 'merging')")
    session.run("INSERT INTO target.meta VALUES ('sorted_postings', $n)", {"n": str(total)})


def _assert_whole(session: Session, table: str, total: int) -> None:
    copied = session.value(f"SELECT count(*) FROM target.{identifier(table)}")
    if copied != total:
        raise StoreUnavailable(f"{copied} of {total} rows of {table} were copied: nothing was changed, try again")
