"""Importers: files of other programs → records in the JSON Lines form. They read; they never touch the store.

`external_id` of every record depends only on the names and ids in the source, never on the clock, the machine or the
order of files: an import that is run again adds nothing, and what has grown becomes a new version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ...errors import InvalidField
from ...times import parse_time
from ..marks import FILE_FORMATS, folder_mark, marked
from .accounts import read_chatgpt, read_claude_export
from .base import Importer, ImportOptions, ImportReport
from .chat import read_chat
from .claude_code import read_claude_code
from .codex import read_codex
from .databases import read_cpersona, read_mem0
from .detect import EMPTY, SUFFIXES, form_of, grouped, tell_nothing
from .jsonl import read_jsonl
from .markdown import read_claude_memory, read_markdown
from .reading import files, portable, shown, unreadable

__all__ = ["FORMATS", "ImportOptions", "ImportReport", "Importer", "read"]


def read_auto(source: Path, options: ImportOptions, report: ImportReport) -> Iterator[dict[str, Any]]:
    """Each file by the format that it is in, as its own importer reads it; a file of none is named with what it looks
    like."""
    found = files(source, SUFFIXES if source.is_dir() else ("",), report, options)
    names = dict(found)
    groups = grouped(path for path, _ in found)
    for path, words in groups.pop(None, []):
        if words != EMPTY:
            report.fail(names[path], f"{shown(path)}: gave nothing; it looks like {words}: no format reads that")
    for form in FORMATS:
        if paths := groups.get(form):
            report.note(f"read as {form}", len(paths))
            yield from FORMATS[form](source, replace(options, only=frozenset(path for path, _ in paths)), report)


FORMATS: Mapping[str, Importer] = MappingProxyType(
    {
        "jsonl": read_jsonl,
        "markdown": read_markdown,
        "chat": read_chat,
        "claude-code": read_claude_code,
        "claude-memory": read_claude_memory,
        "codex": read_codex,
        "chatgpt": read_chatgpt,
        "claude-export": read_claude_export,
        "cpersona": read_cpersona,
        "mem0": read_mem0,
        "auto": read_auto,
    }
)
_DEFAULTS = ("scope", "bucket", "agent_id", "team_id")


def read(
    format: str,
    source: Path,
    *,
    options: ImportOptions | None = None,
    report: ImportReport | None = None,
    marks: bool = False,
) -> Iterator[dict[str, Any]]:
    """The records of a file or folder, lazily; `report` is filled while they are taken.

    With `marks` each names the import, and the folder that it is a file of, in its `source`.

    Raises InvalidField at once for an unknown format (`field="format"`) or a source that does not exist (`"file"`),
    and while reading for a line that can not be taken; every record before that line has been given out by then.
    """
    importer = FORMATS.get(format)
    if importer is None:
        known = ", ".join(FORMATS)
        raise InvalidField(f"format: {format[:40]!r} is not known: use one of {known}", field="format")
    try:
        there, fit = source.exists(), source.is_file() or source.is_dir()
    except OSError as error:  # its folder may not be looked into
        raise unreadable(source, error) from error
    if not there:
        raise InvalidField(f"{source.name!r}: there is no such file or folder; check the path", field="file")
    if not fit:
        raise InvalidField(f"{source.name!r}: is not a regular file or folder; write it to a file first", field="file")
    options, report = options or ImportOptions(), report or ImportReport()
    found = _given_out(importer(source, options, report), format, source, options, report)
    if not marks:
        return found
    told = {"import": report.id}
    if format in FILE_FORMATS and source.is_dir():
        told["folder"] = folder_mark(source)
    return (marked(record, told) for record in found)


def _given_out(
    records: Iterator[dict[str, Any]], format: str, source: Path, options: ImportOptions, report: ImportReport
) -> Iterator[dict[str, Any]]:
    defaults = {name: value for name in _DEFAULTS if (value := getattr(options, name)) is not None}
    given, failed = 0, len(report.failed)
    for record in records:
        given += 1
        if isinstance(own := record.get("external_id"), str):
            report.seen.add(own)
        if options.since is not None and _is_older(record, options.since):
            report.skip("older than asked for")
            continue
        if defaults and "id" not in record:
            record = {**defaults, **record}
        report.read += 1
        yield record
    if not given and not options.project and len(report.failed) == failed and (first := _first_file(source, options)):
        tell_nothing(first, portable(first.name), format, report)


def _is_older(record: Mapping[str, Any], since: datetime) -> bool:
    """Whether all of a record is older than a moment; what has no time is not."""
    metadata = record.get("metadata")
    ended = metadata.get("ended_at") if isinstance(metadata, Mapping) else None
    said = ended or record.get("timestamp")
    return said is not None and parse_time(said, "timestamp") < since


def _first_file(source: Path, options: ImportOptions) -> Path | None:
    """A file of a source that has something in it."""
    found = files(source, ("",), ImportReport(), options)
    return next((path for path, _ in found if path.stat().st_size and form_of(path)[1] != EMPTY), None)
