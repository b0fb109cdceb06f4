"""What a record says of the import that brought it."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import Any

from ..memory.prepare import MAX_FACTS_BYTES, facts_size

FILE_FORMATS = ("markdown", "claude-memory")  # a record or some records of a file: a file that is gone has none


def folder_mark(source: Path) -> str:
    """Tells one folder from others of the same name, without naming where it is."""
    digest = blake2b(str(source.resolve()).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{source.resolve().name}~{digest}"


def marked(record: dict[str, Any], marks: dict[str, str]) -> dict[str, Any]:
    """A record that names its import in `source`; a line of an export stays as it is."""
    if "id" in record or record.get("kind") == "link":
        return record
    source: Any = record.get("source") or {}
    metadata: Any = record.get("metadata") or {}
    if isinstance(source, str):
        source = {"name": source}
    if not isinstance(source, dict) or not isinstance(metadata, dict):
        return record  # refused where it is checked
    whole = {**source, **marks}
    if facts_size(whole, metadata) > MAX_FACTS_BYTES:
        return record
    record["source"] = whole  # in place: it may know its line
    return record
