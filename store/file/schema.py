"""The SQL of the store: its statements by name, its schema, brought up to date, and a new file of it."""

from __future__ import annotations

import os
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import StoreDamaged, StoreNewer, StoreReadOnly
from .attached import File, attach_statement, cursor_on, database, quoted
from .disk import remove

if TYPE_CHECKING:
    import duckdb

NOT_OURS = "the file is a DuckDB database but not a context-packs store: name another path"
_NO_VERSION = "the store has no schema version: it is damaged; restore a backup or run `salvage`"
_FIRST = frozenset({"meta", "counters", "records", "postings"})  # tables of every schema


class Cursor(Protocol):
    """What is needed of a DuckDB connection here."""

    def execute(self, query: str, parameters: object = None) -> Any: ...


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


def refuse_unknown(cursor: Cursor) -> int:
    """The schema version of the current database; raises for one that is not ours or newer."""
    found = _version(cursor)
    known = len(migrations())
    if found > known:
        raise StoreNewer(f"the store has schema {found}, this version knows {known}: upgrade context-packs")
    return found


def is_newest(cursor: Cursor) -> bool:
    """Whether a store that was ours and newest before still is: its writer may have been upgraded since."""
    row = cursor.execute("SELECT value FROM meta WHERE name = 'schema_version'").fetchone()
    return row is not None and row[0] == str(len(migrations()))


def bring_up_to_date(cursor: Cursor, found: int, read_only: bool) -> None:
    """Bring the current database from schema `found` to the newest, in one transaction."""
    known = len(migrations())
    if found == known:
        return
    if read_only:
        raise StoreReadOnly("the store needs a migration but cannot be written: make the file writable once")
    cursor.execute("BEGIN")
    try:
        for name in migrations()[found:]:
            cursor.execute(query(name))
        cursor.execute("DELETE FROM meta WHERE name = 'schema_version'")
        cursor.execute("INSERT INTO meta VALUES ('schema_version', $n)", {"n": str(known)})
        cursor.execute("COMMIT")
    except BaseException:
        roll_back(cursor)
        raise


def make_file(instance: duckdb.DuckDBPyConnection, path: str, number: int) -> None:
    """Make a store that appears whole, for its owner only: nobody, nor a kill, must ever meet half of one."""
    draft = f"{path}.new"
    for left in (draft, f"{draft}.wal"):
        remove(left)
    # DuckDB 2 would write a form that 1.5 refuses.
    instance.execute(f"ATTACH {quoted(draft)} AS {database(number)} (TYPE duckdb, STORAGE_VERSION 'v1.5.0')")
    bring_up_to_date(cursor_on(File(instance, draft, number)), 0, False)
    instance.execute(f"CHECKPOINT {database(number)}")
    instance.execute(f"DETACH {database(number)}")
    os.chmod(draft, 0o600)
    os.rename(draft, path)


def look_at(file: File, number: int) -> None:
    """Refuse a file that is not ours without writing to it."""
    file.instance.execute(attach_statement(file.path, number, True))
    try:
        refuse_unknown(cursor_on(File(file.instance, file.path, number)))
    finally:
        file.instance.execute(f"DETACH {database(number)}")


def _version(cursor: Cursor) -> int:
    tables = {
        name
        for (name,) in cursor.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() UNION ALL "
            "SELECT view_name FROM duckdb_views() WHERE database_name = current_database() AND NOT internal"
        ).fetchall()
    }
    if not tables >= _FIRST:
        raise StoreDamaged(NOT_OURS)
    if cursor.execute("SELECT name FROM pragma_table_info('meta')").fetchall() != [("name",), ("value",)]:
        raise StoreDamaged(NOT_OURS)
    row = cursor.execute("SELECT value::VARCHAR FROM meta WHERE name::VARCHAR = 'schema_version'").fetchone()
    if row is None:
        raise StoreDamaged(_NO_VERSION)
    if not str(row[0]).isdecimal():
        raise StoreDamaged(NOT_OURS)
    return int(row[0])


def roll_back(cursor: Cursor) -> None:
    """Take back what the transaction of a cursor did; harmless where it has ended."""
    try:
        cursor.execute("ROLLBACK")
    except Exception as error:
        if "no transaction" not in str(error):  # a failed commit has ended it already
            raise
