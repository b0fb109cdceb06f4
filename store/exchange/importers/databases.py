"""`cpersona`, `mem0`: memories of other programs, from their SQLite databases or what they give out as JSON."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...errors import InvalidField
from ...memory.prepare import plain
from ...times import parse_time
from .base import ImportOptions, ImportReport, clean, joined, label, one_line, segment, stamp
from .detect import is_mem0, opened, tables_of, tell_nothing
from .reading import contents, documents, files, parse_json, shown, text_of

_DATABASES = (".db", ".sqlite", ".sqlite3")
_SQLITE = b"SQLite format 3\0"
_QUERIES = {
    "memories": "SELECT * FROM memories ORDER BY id",
    "profiles": "SELECT * FROM profiles ORDER BY id",
    "episodes": "SELECT * FROM episodes ORDER BY id",
    "history": "SELECT * FROM history ORDER BY created_at, updated_at, id",
}
_MOST_FACTS = 16_000  # characters of what another program kept beside a text


def read_cpersona(source: Path, options: ImportOptions, report: ImportReport) -> Iterator[dict[str, Any]]:
    """A memory for each row of `memories` and `profiles`, an episode for each of `episodes`, of a database of CPersona
    or of all below a folder. All are records of who imports; `source.agent` says whose they were. What is locked there
    is pinned here."""
    for path, name in files(source, _DATABASES, report, options):
        with report.reading(source, name):
            if not _is_database(path) or "memories" not in _tables(path):
                tell_nothing(path, name, "cpersona", report)
                continue
            for table in ("memories", "profiles", "episodes"):
                for row in _rows(path, table):
                    yield from _cpersona(table, row, options, report)


def read_mem0(source: Path, options: ImportOptions, report: ImportReport) -> Iterator[dict[str, Any]]:
    """A memory for each that mem0 gives out as JSON (`results` of `get_all`, a list, JSON Lines, an archive), or that
    stands in its history (`history.db`): the last text of each that was not deleted."""
    for path, name in files(source, (".json", ".jsonl", ".zip", *_DATABASES), report, options):
        with report.reading(source, name):
            given = 0
            for entry in _mem0_entries(path, report):
                given += 1
                text = clean(str(entry.get("memory") or ""), options, report).strip()
                if not text:
                    report.skip("memory without text")
                elif str(entry.get("event", "")).upper() == "DELETE":
                    report.skip("memory that was deleted")
                else:
                    yield _mem0(entry, text, options)
            if not given:
                tell_nothing(path, name, "mem0", report)


# ---- databases


def _is_database(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(len(_SQLITE)) == _SQLITE


def _damaged(path: Path) -> InvalidField:
    return InvalidField(f"{shown(path)}: is a damaged SQLite database; repair it or leave it out", field="file")


def _tables(path: Path) -> list[str]:
    try:
        return tables_of(path)
    except sqlite3.Error as error:
        raise _damaged(path) from error


def _rows(path: Path, table: str) -> Iterator[dict[str, Any]]:
    """The rows of a table by their order, with the columns that this version of it has."""
    if table not in _tables(path):
        return
    try:
        with opened(path) as database:
            database.text_factory = lambda raw: raw.decode("utf-8", "replace")
            found = database.execute(_QUERIES[table])
            names = [column[0] for column in found.description]
            for row in found:
                yield dict(zip(names, row, strict=True))
    except sqlite3.Error as error:
        raise _damaged(path) from error


def _object(text: object) -> dict[str, Any]:
    """A JSON object that another program keeps as text, where it is not too large."""
    if not isinstance(text, str) or len(text) > _MOST_FACTS:
        return {}
    try:
        value = json.loads(text)
        fit = plain(value)
    except (ValueError, RecursionError):
        return {}
    return fit if isinstance(fit, dict) else {}


def _timed(record: dict[str, Any], *values: object) -> dict[str, Any]:
    """The record with the first time that is understood; SQLite writes UTC without saying so."""
    for value in values:
        if value in (None, ""):
            continue
        try:
            record["timestamp"] = stamp(parse_time(value, "timestamp"))
            break
        except InvalidField:
            continue
    return record


# ---- CPersona


def _cpersona(
    table: str, row: Mapping[str, Any], options: ImportOptions, report: ImportReport
) -> Iterator[dict[str, Any]]:
    text = row.get("summary") if table == "episodes" else row.get("content")
    content = clean(text, options, report).strip() if isinstance(text, str) else ""
    if not content:
        report.skip("row without text")
        return
    agent, project = str(row.get("agent_id") or ""), str(row.get("project_id") or "")
    kind = {"memories": "memory", "profiles": "profile", "episodes": "episode"}[table]
    source: dict[str, Any] = {"host": "cpersona", "agent": agent}
    metadata: dict[str, Any] = {}
    for name, value in (("project", project), ("channel", row.get("channel")), ("user", row.get("user_id"))):
        if value:
            source[name] = one_line(str(value), 200)
    for name in ("msg_id", "keywords"):
        if row.get(name):
            metadata[name] = clean(str(row[name])[:2_000], options, report)
    for name in ("source", "metadata"):
        if found := _object(row.get(name)):
            metadata[name] = found
    if row.get("end_time"):
        metadata["ended_at"] = _timed({}, row["end_time"]).get("timestamp", "")
    # Numbers of rows begin at 1 in each database: the time tells two of them apart.
    own = row.get("user_id") or "" if table == "profiles" else f"{row.get('id')}/{row.get('created_at') or ''}"
    record: dict[str, Any] = {
        "content": content,
        "kind": "episode" if table == "episodes" else "memory",
        "type": kind,
        "path": joined(options.path_prefix, "cpersona", *(segment(part) for part in (agent, project) if part), kind),
        "external_id": label(f"cpersona/{agent}/{kind}/{own}"),
        "source": source,
        "metadata": metadata,
    }
    if row.get("locked"):
        record["pinned"] = True
    yield _timed(record, row.get("timestamp"), row.get("start_time"), row.get("updated_at"), row.get("created_at"))


# ---- mem0


def _mem0_entries(path: Path, report: ImportReport) -> Iterator[Mapping[str, Any]]:
    if _is_database(path):
        last: dict[str, dict[str, Any]] = {}
        for row in _rows(path, "history") if "history" in _tables(path) else ():
            last[str(row.get("memory_id"))] = row
        for identity, row in last.items():
            gone = row.get("is_deleted") or str(row.get("event")).upper() == "DELETE"
            text = row.get("old_memory") if gone else row.get("new_memory")
            yield {"id": identity, "memory": text, "event": "DELETE" if gone else "", "created_at": row["created_at"],
                   "updated_at": row.get("updated_at"), "actor_id": row.get("actor_id")}  # fmt: skip
        return
    if path.name.lower().endswith(".jsonl"):
        for line in text_of(path, contents(path), report).split("\n"):
            if not line.strip():
                continue
            try:
                value = parse_json(line)
            except ValueError:
                report.skip("line that is not JSON")
                continue
            yield from _of_value(value)
        return
    for _, value in documents(path, report, (".json",)):
        yield from _of_value(value)


def _of_value(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        found = next((value[name] for name in ("results", "memories") if isinstance(value.get(name), list)), [value])
    else:
        found = value if isinstance(value, list) else []
    for entry in found:
        if not isinstance(entry, Mapping):
            continue
        if "memory" not in entry and isinstance(entry.get("content"), str) and "id" in entry:
            entry = {**entry, "memory": entry["content"]}
        if is_mem0(entry):
            yield entry


def _mem0(entry: Mapping[str, Any], text: str, options: ImportOptions) -> dict[str, Any]:
    source: dict[str, Any] = {"host": "mem0"}
    for name in ("user_id", "agent_id", "run_id", "app_id", "actor_id"):
        if isinstance(entry.get(name), str) and entry[name]:
            source[name] = one_line(entry[name], 200)
    metadata = _object(json.dumps(entry["metadata"])) if isinstance(entry.get("metadata"), Mapping) else {}
    categories = entry.get("categories")
    if isinstance(categories, list):
        tags = [one_line(label(one), 100) for one in categories[:50] if isinstance(one, str) and one.strip()]
        metadata = {**metadata, "tags": tags} if tags else metadata
    whose = source.get("user_id") or source.get("agent_id") or ""
    record = {
        "content": text,
        "kind": "memory",
        "type": "memory",
        "path": joined(options.path_prefix, "mem0", segment(whose) if whose else ""),
        "external_id": label(f"mem0:{entry['id']}"),
        "source": source,
        "metadata": metadata,
    }
    return _timed(record, entry.get("created_at"), entry.get("updated_at"))
