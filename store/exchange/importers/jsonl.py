"""`jsonl`: the record form of this product, one JSON object a line, as exports have it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import InvalidField
from ...memory.prepare import LINE_FIELDS, RecordIn, check
from ...records import Placed
from ...text.strictjson import loads
from ..lines import LineIn, check_line, check_link
from .base import ImportOptions, ImportReport, clean
from .reading import files, lines, shown


def read_jsonl(source: Path, options: ImportOptions, report: ImportReport) -> Iterator[dict[str, Any]]:
    """Records of a file, or of all `*.jsonl` and `*.jsonl.gz` below a folder, as they are written there.

    A mark at the start, blank lines, CRLF and null values are tolerated. Everything else is strict, by the store's own
    rules, and a key stands once in an object: the first line that is no record raises InvalidField with file, line,
    field and the way out. A line with fields of an export (`id`, `version`, `superseded_by`, `deleted_at` …) is given
    on with them. Secrets are masked only where the options say so explicitly.
    """
    for path, name in files(source, (".jsonl", ".jsonl.gz"), report, options):
        with report.reading(source, name):
            for number, raw, _ in lines(path, report):
                if raw:
                    where = f"{shown(path)}, line {number}"
                    record = Placed(_record(raw, where, options, report))
                    record.where = where
                    yield record


def _record(raw: bytes, where: str, options: ImportOptions, report: ImportReport) -> dict[str, Any]:
    try:
        line = loads(raw.decode("utf-8"), parse_constant=_refuse)
    except UnicodeDecodeError as error:
        raise InvalidField(f"{where}: is not UTF-8; save the file as UTF-8", field="line") from error
    except (ValueError, RecursionError) as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        if isinstance(error, RecursionError):
            why = "lists and objects are nested too deeply"
        raise InvalidField(f"{where}: is not JSON ({why}); write one object a line", field="line") from error
    if not isinstance(line, dict):
        raise InvalidField(f'{where}: is not an object; write {{"content": "…"}}', field="line")
    record = {name: value for name, value in line.items() if value is not None}
    if record.get("kind") == "link":
        return _link(record, where)
    for name in record:
        if name not in LineIn.model_fields:
            known = ", ".join(RecordIn.model_fields)
            raise InvalidField(f"{where}: {name[:60]!r} is not a field of a record; known fields: {known}", field=name)
    try:
        if LINE_FIELDS & record.keys():
            check_line(record)
        else:
            check(record)
    except InvalidField as error:
        raise InvalidField(f"{where}: {error}", field=error.field) from error
    if options.mask_secrets:
        for name in ("content", "title"):
            if name in record:
                record[name] = clean(record[name], options, report)
    return record


def _link(line: dict[str, Any], where: str) -> dict[str, Any]:
    try:
        check_link(line)
    except InvalidField as error:
        raise InvalidField(f"{where}: {error}", field=error.field) from error
    return line


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
