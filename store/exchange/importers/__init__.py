"""Importers: files of other programs → records in the JSON Lines form. They read; they never touch the store.

`external_id` of every record depends only on the names and ids in the source, never on the clock, the machine or the
order of files: an import that is run again adds nothing, and what has grown becomes a new version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ...errors import InvalidField
from .base import Importer, ImportOptions, ImportReport, unreadable
from .chat import read_chat
from .claude_code import read_claude_code
from .jsonl import read_jsonl
from .markdown import read_markdown

__all__ = ["FORMATS", "ImportOptions", "ImportReport", "Importer", "read"]

FORMATS: Mapping[str, Importer] = MappingProxyType(
    {"jsonl": read_jsonl, "markdown": read_markdown, "chat": read_chat, "claude-code": read_claude_code}
)
_DEFAULTS = ("scope", "bucket", "agent_id", "team_id")


def read(
    format: str, source: Path, *, options: ImportOptions | None = None, report: ImportReport | None = None
) -> Iterator[dict[str, Any]]:
    """The records of a file or folder, lazily; `report` is filled while they are taken.

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
        raise InvalidField(f"{source.name!r}: is no regular file or folder; write it to a file first", field="file")
    options = options or ImportOptions()
    return _given_out(importer(source, options, report := report or ImportReport()), options, report)


def _given_out(
    records: Iterator[dict[str, Any]], options: ImportOptions, report: ImportReport
) -> Iterator[dict[str, Any]]:
    defaults = {name: value for name in _DEFAULTS if (value := getattr(options, name)) is not None}
    for record in records:
        if defaults and "id" not in record:
            record = {**defaults, **record}
        report.read += 1
        yield record
