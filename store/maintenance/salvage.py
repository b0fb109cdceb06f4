"""What can still be read of a damaged store, as the lines of an export.

The damaged file is never written to: everything happens on a copy in a folder that nobody else can read. Blocks in
which one byte is wrong are put right by their checksums. What is still damaged is left out as narrowly as possible: the
rows of a table are read in runs, and a run that cannot be read is halved until the rows are found that cannot. Where
only columns that can be done without are lost, the record is given without them. A text counts only if it has the
checksum that was stored with it.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InvalidField, StoreDamaged
from ..exchange.exports import lines
from ..file.attached import quoted
from ..file.disk import copy_private, not_written
from ..file.duck import Row, Session, migrations, query
from ..file.foreign import HEADERS, kind_of_file, refuse_address
from ..file.other_files import aside, identifier, identifiers, rows_if_readable
from ..file.schema import NOT_OURS
from ..memory import writes
from ..records import NAMED, id_of, kind_of
from . import blocks
from .mending import Opened, fits, openable
from .reindex import ERASED

_VECTOR = 2048  # rows that DuckDB unpacks at once
_RUN = 1024  # rows read at once
_LEAST = 256  # rows of a run that ends the instance and are not looked through any further
_MOST = 50  # losses that are told one by one
# Without these a record says nothing, or would be seen by others than it was for.
_NEEDED = frozenset(
    ("vid", "key", "version", "agent_id", "team_id", "scope", "bucket", "content", "forgotten", "deleted_at", "name")
)
_INSTEAD: Mapping[str, Any] = {
    "path": "notes", "type": "", "status": "active", "title": "", "source": "{}", "source_name": "", "metadata": "{}",
    "pinned": False, "passages": 0, "terms": 0, "bounds": [], "kinds": "[]", "speakers": "", "print_low": 0,
    "print_high": 0,
}  # fmt: skip
# An import makes these from the others.
_MADE_ANEW = frozenset(
    ("source_name", "external_hash", "idempotency_hash", "content_hash", "passages", "terms", "bounds", "kinds",
     "speakers", "print_low", "print_high", "name_hash", "semantic_hash", "forgotten_hash")
)  # fmt: skip
_LINK = {
    "from_key": "ends", "to_key": "others", "rel": "rels", "place": "places", "agent_id": "agents",
    "created_at": "times",
}  # fmt: skip
Progress = Callable[[str, int], None]
Range = tuple[int, int]


@dataclass(slots=True)
class Salvaged:
    """What was given and what was not: `lost` holds a line for each thing that could not be read."""

    records: int = 0  # versions of records
    links: int = 0
    payloads: int = 0
    mended: int = 0  # blocks that were put right by their checksum
    lost: list[str] = field(default_factory=list)
    doubtful: list[str] = field(default_factory=list)  # blocks that were put right in the likeliest way

    def lose(self, what: str) -> None:
        """Note a loss."""
        self.lost.append(what)


def salvage(path: str, report: Salvaged, progress: Progress | None = None) -> Iterator[dict[str, Any]]:
    """The lines of an export of all that can be read of a store file; `report` fills on the way.

    Raises InvalidField where there is no such file, StoreDamaged where it is no store or nothing of it can be read,
    StoreFull where there is no room for the copy.
    """
    _assert_readable(path)
    folder = ""
    try:
        folder = tempfile.mkdtemp(prefix="context-packs-", dir=Path(os.path.realpath(path)).parent)
        copy = os.path.join(folder, "copy.duckdb")
        copy_private(path, copy)
        if os.path.exists(f"{path}.wal"):
            copy_private(f"{path}.wal", f"{copy}.wal")
        opened = openable(copy)
        report.mended, report.lost, report.doubtful = opened.mended, opened.lost, opened.doubtful
        with aside(copy) as session:
            target = os.path.join(folder, "target.duckdb")
            session.run(f"ATTACH {quoted(target)} AS target (TYPE duckdb)")
            session.run("USE target")
            for name in migrations():
                session.run(query(name))
            with _Reader(copy) as reader:
                if not opened.lost and not {"key", "content"} <= set(reader.columns("records")):
                    raise StoreDamaged(NOT_OURS)
                blanks = reader.blankable(opened.damaged) if opened.damaged else {}
            blocks.blank(copy, blanks)
            with _Reader(copy) as reader:
                source = _Source(reader, opened, frozenset(blanks))
                _rescue(source, session, opened.strict or bool(blanks), report, progress or _silent)
            yield from lines(session, None)
    except OSError as error:
        raise not_written(error, "salvage") from error
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


def _assert_readable(path: str) -> None:
    """Raises InvalidField where there is no such file, or none that this user may read, and StoreDamaged for what is
    certainly no store, damaged or not."""
    refuse_address(path)
    name = os.path.basename(path)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise InvalidField(f"file: {name} is not a file: name the damaged store", field="file")
        with open(path, "rb") as file:
            kind = kind_of_file(file.read(HEADERS))
    except PermissionError as error:
        raise InvalidField(f"file: {name} cannot be read: make it and its folder readable", field="file") from error
    except OSError as error:
        raise InvalidField(f"file: there is no file {name}: name the damaged store", field="file") from error
    if kind:
        raise StoreDamaged(f"the file is {kind}, not a store: name the damaged store")


def _silent(what: str, count: int) -> None:
    pass


# ---- reads


class _Reader:
    """Reads of the copy. A fatal error ends a DuckDB instance, so the next read after one has a new one."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._open = ExitStack()
        self._session: Session | None = None

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def rows(self, sql: str, params: Mapping[str, Any] | None = None) -> list[Row] | None:
        """All rows, or None where they cannot be read."""
        found, alive = None, False
        try:
            if self._session is None:
                session = self._open.enter_context(aside(self._path))
                session.run(f"ATTACH {quoted(self._path)} AS source (TYPE duckdb, READ_ONLY)")
                self._session = session
            found = rows_if_readable(self._session, sql, params)
            alive = found is not None or rows_if_readable(self._session, "SELECT 1") is not None
        finally:
            if not alive:  # a fatal error ended the instance
                self._session = None
                self._open.close()
        return found

    def columns(self, table: str) -> list[str]:
        """Names of the columns of a table; none where there is no such table."""
        found = self.rows(
            "SELECT column_name FROM duckdb_columns() WHERE database_name = 'source' AND table_name = $table "
            "ORDER BY column_index",
            {"table": table},
        )
        return [name for (name,) in found or ()]

    def blankable(self, damaged: Collection[int]) -> dict[int, list[Range]]:
        """Damaged blocks that others with empty texts can stand in for, so that the rows beside them can be read: each
        with the offsets of its runs of texts and how many each has.

        They hold texts as they are; those that overflow only of records, each of which has a checksum.
        """
        runs: dict[int, list[Range]] = {number: [] for number in damaged}
        unfit: set[int] = set()
        used: set[int] = set()
        for table in self.tables():
            for kind, compression, count, block, offset, others in (
                self.rows(
                    "SELECT segment_type, compression, count, block_id, block_offset, additional_block_ids "
                    "FROM pragma_storage_info($table)",
                    {"table": f"source.{table}"},
                )
                or ()
            ):
                plain = compression == "Uncompressed" and kind in ("VARCHAR", "BLOB")
                if block in runs:
                    runs[block].append((offset, count))
                here = {block, *(others or ())}
                used |= here
                unfit |= here if not plain else here - {block} if table != "records" else set()
        return {number: runs[number] for number in damaged if number in used - unfit}

    def tables(self) -> list[str]:
        """Names of the tables; none where they cannot be told."""
        found = self.rows("SELECT table_name FROM duckdb_tables() WHERE database_name = 'source' ORDER BY table_oid")
        return [name for (name,) in found or ()]

    def lost_places(
        self, table: str, damaged: frozenset[int], blanked: frozenset[int]
    ) -> tuple[dict[str, list[Range]], dict[str, list[Range]]]:
        """For each column the rows that are no use to read, and those that read as blanks, first and last of each run.

        DuckDB unpacks a vector of rows at a time, so that a damaged block costs the rest of its vectors too.
        """
        found = self.rows(
            "SELECT column_name, row_group_id, start, count, block_id FROM pragma_storage_info($table)",
            {"table": f"source.{table}"},
        )
        begins: dict[int, int] = {}
        for _, group, start, _, _ in found or ():
            begins[group] = min(start, begins.get(group, start))
        lost: dict[str, list[Range]] = {}
        blanks: dict[str, list[Range]] = {}
        for column, group, start, count, block in found or ():
            if block in blanked:
                blanks.setdefault(column, []).append((start, start + count - 1))
            elif block in damaged:
                begin = begins[group]
                first = begin + (start - begin) // _VECTOR * _VECTOR
                last = begin + (start + count - 1 - begin) // _VECTOR * _VECTOR + _VECTOR - 1
                lost.setdefault(column, []).append((first, last))
        return lost, blanks

    def end_of(self, table: str) -> int:
        """The place behind the last row of a table."""
        found = self.rows(f"SELECT coalesce(max(rowid) + 1, 0) FROM source.{identifier(table)}")
        if found is None:  # deleted rows are not known: as many places as segments say
            found = self.rows(
                "SELECT coalesce(max(start + count), 0) FROM pragma_storage_info($table)", {"table": f"source.{table}"}
            )
        return int(found[0][0]) if found else 0

    def table(
        self, table: str, damaged: frozenset[int], blanked: frozenset[int]
    ) -> Iterator[dict[int, dict[str, Any]]]:
        """Runs of rows by their place, each with the columns that can be read; none of a row that has none."""
        columns = self.columns(table)
        lost, blanks = self.lost_places(table, damaged, blanked)
        end = self.end_of(table)
        for first in range(0, end, _RUN):
            last = min(first + _RUN, end) - 1
            there = [name for name in columns if not _inside(lost.get(name, ()), first, last)]
            whole = self._read(table, there, first, last)
            if whole is None:
                whole = {}
                for name in there:
                    for place, values in self._column(table, name, lost.get(name, ()), first, last):
                        whole.setdefault(place, {}).update(values)
            for name, ranges in blanks.items():
                for place in (place for place in whole if _inside(ranges, place, place)):
                    whole[place].pop(name, None)
            yield whole

    def _column(
        self, table: str, name: str, lost: Sequence[Range], first: int, last: int
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        if _inside(lost, first, last):
            return
        found = self._read(table, [name], first, last)
        if found is not None:
            yield from found.items()
        elif last - first >= _LEAST or (last > first and self._session is not None):
            middle = (first + last) // 2
            yield from self._column(table, name, lost, first, middle)
            yield from self._column(table, name, lost, middle + 1, last)

    def _read(self, table: str, columns: Sequence[str], first: int, last: int) -> dict[int, dict[str, Any]] | None:
        found = self.rows(
            f"SELECT {identifiers(['rowid', *columns])} FROM source.{identifier(table)} "
            "WHERE rowid BETWEEN $first AND $last",
            {"first": first, "last": last},
        )
        return None if found is None else {place: dict(zip(columns, row, strict=True)) for place, *row in found}


def _inside(ranges: Sequence[Range], first: int, last: int) -> bool:
    return any(start <= first and last <= end for start, end in ranges)


# ---- what is taken over


@dataclass(frozen=True, slots=True)
class _Source:
    """The copy, and what is wrong with it."""

    reader: _Reader
    opened: Opened
    blanked: frozenset[int]

    def table(self, name: str) -> Iterator[dict[int, dict[str, Any]]]:
        """Runs of rows by their place, each with the columns that can be read and are settled."""
        for run in self.reader.table(name, self.opened.damaged, self.blanked):
            for (table, column), places in self.opened.places.items():
                if table == name:
                    for place in places & run.keys():
                        run[place].pop(column, None)
            yield run


def _rescue(source: _Source, target: Session, strict: bool, report: Salvaged, progress: Progress) -> None:
    """Put all that can be read into a store of today's schema."""
    keys: set[int] = set()
    columns = [
        name
        for (name,) in target.rows(
            "SELECT column_name FROM duckdb_columns() WHERE database_name = 'target' AND table_name = 'records'"
        )
    ]
    had = frozenset(source.reader.columns("records"))  # a store of an older version has fewer
    for run in source.table("records"):
        kept = [
            row for row in (_record(values, columns, had, strict, report) for values in run.values()) if row is not None
        ]
        report.records += len(kept)
        keys.update(row["key"] for row in kept)
        writes.insert(target, kept)
        progress("records", len(run))
    for run in source.table("counters"):
        found = [row for row in run.values() if row.get("name") and row.get("next_value")]
        target.run(
            "INSERT INTO counters SELECT unnest($names::VARCHAR[]), unnest($values::BIGINT[])",
            {"names": [row["name"] for row in found], "values": [row["next_value"] for row in found]},
        )
    for run in source.table("payloads"):
        for values in run.values():
            body = values.get("body")
            if body is None or values.get("key") not in keys or values.get("size") != len(body):
                report.lose(f"the payload of {_named(values)}")
                continue
            target.run(
                query("insert_payloads"),
                {
                    "keys": [values["key"]],
                    "media_types": [values.get("media_type") or "application/octet-stream"],
                    "sizes": [len(body)],
                    "bodies": [body],
                },
            )
            report.payloads += 1
        progress("payloads", len(run))
    for run in source.table("links"):
        whole = [values for values in run.values() if _LINK.keys() <= values.keys() and _ends(values) <= keys]
        if len(whole) < len(run):
            report.lose(f"{len(run) - len(whole)} links: they, or records at their ends, cannot be read")
        if whole:
            target.run(query("insert_links"), {param: [row[name] for row in whole] for name, param in _LINK.items()})
        report.links += len(whole)
        progress("links", len(run))


def _ends(link: Mapping[str, Any]) -> set[int]:
    return {link["from_key"], link["to_key"]}


def _record(
    values: dict[str, Any], columns: Sequence[str], had: frozenset[str], strict: bool, report: Salvaged
) -> dict[str, Any] | None:
    """A row of records with all `columns`, or None where too little is left of what it `had`."""
    needed = _NEEDED & (had | {"vid", "key"})
    if values.get("key") is not None and kind_of(values["key"]) not in NAMED:
        needed -= {"name"}
    if not needed <= values.keys():
        report.lose(f"{_named(values)}: {', '.join(sorted(needed - values.keys()))} cannot be read")
        return None
    erased = values["forgotten"] in ERASED
    if values["deleted_at"] is None and values["forgotten"] in ("soft_delete", "hard_delete"):
        report.lose(f"{_named(values)}: contradicts itself")
        return None
    judge = values.get("content_hash")
    text = values["content"], values.get("title", "")
    if not erased and (judge is not None or strict) and not fits(values["key"], *text, judge):
        report.lose(f"{_named(values)}: its text is not the one that was stored")
        return None
    missing = [name for name in columns if name in had - values.keys() - _MADE_ANEW - {"name"}]
    if missing:
        report.lose(f"{_named(values)}: given without {', '.join(missing)}")
    return {name: values.get(name, _INSTEAD.get(name)) for name in columns}


def _named(values: Mapping[str, Any]) -> str:
    """How a row is called in the report: by its id where that can be read."""
    key = values.get("key")
    if key is None:
        return "a row without an id"
    version = f" version {values['version']}" if values.get("version") else ""
    return f"{id_of(key, values.get('name'))}{version}"
