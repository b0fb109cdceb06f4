"""Which form a file has, from its first bytes and the shape of what stands there, never from its name alone."""

from __future__ import annotations

import json
import re
import sqlite3
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from ...errors import InvalidField
from .. import encodings
from .base import ImportReport
from .reading import contents, documents, lines, parse_json, shown

_LOOKED_AT = 20  # lines of a file, entries of a list
_MOST_READ = 2**28
_TEXTS = (".md", ".markdown", ".txt")
SUFFIXES = (*_TEXTS, ".json", ".jsonl", ".json.gz", ".jsonl.gz", ".zip", ".db", ".sqlite", ".sqlite3")
EMPTY = "an empty file"
_SQLITE = b"SQLite format 3\0"
_KINDS = (
    (b"\x89PNG", "a picture"), (b"\xff\xd8\xff", "a picture"), (b"GIF8", "a picture"), (b"%PDF", "a PDF"),
    (b"7z\xbc\xaf", "a 7z archive"), (b"Rar!", "a RAR archive"), (b"\x28\xb5\x2f\xfd", "a zstd archive"),
)  # fmt: skip
_HTML = re.compile(rb"\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_XML = re.compile(rb"\s*<\?xml\b")


def form_of(path: Path) -> tuple[str | None, str]:
    """The format that reads a file, or None, and what the file looks like in words."""
    try:
        with path.open("rb") as stream:
            start = stream.read(4096)
    except OSError:
        return None, "a file that cannot be read"
    if not start.strip():
        return None, EMPTY
    if start.startswith(_SQLITE):
        return _of_database(path)
    for mark, words in _KINDS:
        if start.startswith(mark):
            return None, words
    if zipfile.is_zipfile(path):
        return _of_archive(path)
    if _HTML.match(start.removeprefix(b"\xef\xbb\xbf")):
        return None, "HTML"
    if _XML.match(start):
        return None, "XML"
    if path.name.lower().endswith(_TEXTS):
        memory = path.parent.name in ("memory", "agent-memory") or path.name in ("MEMORY.md", "CLAUDE.md")
        return ("claude-memory", "a memory of Claude Code") if memory else ("markdown", "a note")
    return _of_values(path)


def _of_values(path: Path) -> tuple[str | None, str]:
    report = ImportReport()
    found: list[Any] = []
    try:
        for _, raw, _ in lines(path, report):
            if raw:
                found.append(parse_json(raw))
            if len(found) >= _LOOKED_AT:
                break
    except InvalidField:
        return None, "a damaged file, or text in an encoding that is not told for sure"
    except ValueError:
        # One document over several lines, or JSON Lines with a damaged line among the first.
        document = _document(path)
        if document is None:
            return (of_lines(found) if found else None), "text that is not JSON"
        found = [document]
    if len(found) == 1:
        return of_document(found[0], path.name)
    form = of_lines(found)
    return form, f"JSON Lines of {form}" if form else "JSON Lines of an unknown form"


def _document(path: Path) -> Any:
    try:
        raw = contents(path, _MOST_READ)
        encoding = encodings.of_bytes(raw)
        return None if encoding is None else json.loads(raw.decode(encoding, "replace").removeprefix("\ufeff"))
    except (InvalidField, ValueError, RecursionError):
        return None


# ---- shapes of JSON


def of_document(value: Any, name: str) -> tuple[str | None, str]:
    """The format of one JSON document."""
    entries = value if isinstance(value, list) else None
    if isinstance(value, Mapping):
        for field in ("results", "memories"):
            if isinstance(value.get(field), list):
                entries = value[field]
    first = next((entry for entry in entries or () if isinstance(entry, Mapping)), None)
    one = first if first is not None else value
    if not isinstance(one, Mapping):
        return None, "JSON of an unknown form"
    if isinstance(one.get("mapping"), Mapping):
        return "chatgpt", "an export of ChatGPT"
    if isinstance(one.get("chat_messages"), list) or "conversations_memory" in one:
        return "claude-export", "an export of Claude"
    if entries is not None and "uuid" in one and ("docs" in one or "prompt_template" in one):
        return "claude-export", "an export of Claude"
    if is_mem0(one):
        return "mem0", "memories of mem0"
    if (
        isinstance(value, Mapping)
        and isinstance(value.get("session"), Mapping)
        and isinstance(value.get("items"), list)
    ):
        return "codex", "a session of Codex"
    form = of_lines([one] if entries is None else list(entries[:_LOOKED_AT]))
    return form, f"JSON of {form}" if form else "JSON of an unknown form"


def is_mem0(entry: Mapping[str, Any]) -> bool:
    """Whether an object is a memory as mem0 gives it."""
    return (
        isinstance(entry.get("memory"), str)
        and "id" in entry
        and bool(
            entry.keys() & {"hash", "user_id", "agent_id", "run_id", "app_id", "created_at", "categories", "score"}
        )
    )


def of_lines(values: list[Any]) -> str | None:
    """The format of JSON Lines, from the first that tells it."""
    for value in values:
        if isinstance(value, Mapping) and (form := _of_line(value)):
            return form
    return None


def _of_line(line: Mapping[str, Any]) -> str | None:
    payload = line.get("payload")
    if isinstance(payload, Mapping) and isinstance(line.get("type"), str):
        return "codex"
    if "record_type" in line or (line.get("type") == "message" and isinstance(line.get("content"), list)):
        return "codex"
    if {"id", "timestamp", "instructions"} <= line.keys() and "content" not in line:
        return "codex"
    if isinstance(line.get("sessionId"), str) or "leafUuid" in line:
        return "claude-code"
    if is_mem0(line):
        return "mem0"
    if isinstance(line.get("content"), str) and not line.keys() & {"role", "speaker", "author", "from", "sender"}:
        return "jsonl"
    if line.get("kind") == "link":
        return "jsonl"
    return "chat" if _is_chat(line) else None


def _is_chat(value: Mapping[str, Any], depth: int = 0) -> bool:
    if any(isinstance(value.get(name), str) for name in ("speaker", "role", "author", "from")):
        return any(name in value for name in ("text", "content", "message", "utterance"))
    if depth > 3:
        return False
    nested = [inner for name, inner in value.items() if isinstance(inner, list | dict) and name != "metadata"]
    for inner in nested:
        entries = inner[:3] if isinstance(inner, list) else [inner]
        if any(isinstance(entry, Mapping) and _is_chat(entry, depth + 1) for entry in entries):
            return True
    return False


# ---- archives and databases


def _of_archive(path: Path) -> tuple[str | None, str]:
    report = ImportReport()
    try:
        for name, value in documents(path, report):
            form, words = of_document(value, name)
            if form in ("chatgpt", "claude-export", "mem0"):
                return form, words
    except InvalidField:
        return None, "a damaged archive"
    return None, "an archive of an unknown form"


def _of_database(path: Path) -> tuple[str | None, str]:
    try:
        tables = {name: columns_of(path, name) for name in tables_of(path)}
    except sqlite3.Error:
        return None, "a damaged SQLite database"
    if {"agent_id", "content", "timestamp"} <= tables.get("memories", set()):
        return "cpersona", "a database of CPersona"
    if {"memory_id", "new_memory", "event"} <= tables.get("history", set()):
        return "mem0", "the history of mem0"
    return None, "an SQLite database of an unknown form"


def opened(path: Path) -> closing[sqlite3.Connection]:
    """A database of another program, never written to; its log is read where it stands beside it."""
    name = str(path.resolve()).replace("?", "%3f").replace("#", "%23")
    return closing(sqlite3.connect(f"file:{name}?mode=ro", uri=True))


def tables_of(path: Path) -> list[str]:
    """Names of the tables of a database."""
    with opened(path) as database:
        return [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def columns_of(path: Path, table: str) -> set[str]:
    """Names of the columns of a table."""
    with opened(path) as database:
        return {row[0] for row in database.execute("SELECT name FROM pragma_table_info(?)", (table,))}


# ---- what to say of a file that gave nothing


def tell_nothing(path: Path, name: str, format: str, report: ImportReport) -> None:
    """Name a file of which a format made nothing, unless it is empty."""
    form, words = form_of(path)
    if words == EMPTY:
        return
    if form == format:
        report.fail(name, f"{shown(path)}: gave nothing; it has the form of {format}, but no text that is to be kept")
        return
    way = f'import it with "{form}"' if form else f"{format} does not read that"
    report.fail(name, f"{shown(path)}: gave nothing; it looks like {words}: {way}")


def grouped(paths: Iterator[Path]) -> dict[str | None, list[tuple[Path, str]]]:
    """Files by the format that reads them, None for those that none reads; with what they look like."""
    groups: dict[str | None, list[tuple[Path, str]]] = {}
    for path in paths:
        form, words = form_of(path)
        groups.setdefault(form, []).append((path, words))
    return groups
