"""Lines of older versions: what a store could hold once and a newer rule refuses is made to fit, and told. Pure.

Whatever a store holds, its export is imported. So a line of an export is not refused for a rule that came after it was
stored: it loses nothing but what says nothing, and what does not fit stands whole in its metadata.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from ..memory.prepare import DEEPEST, FORBIDDEN, HIGHEST_BITS, MAX_LABEL_CHARS, hash64
from ..text.clean import blank

LABELS = (
    "path", "type", "bucket", "scope", "status", "agent_id", "team_id", "thread_agent_id", "external_id",
    "idempotency_key", "semantic_key",
)  # fmt: skip
_STANDING = ("superseded_by", "superseded_at", "superseded_from", "superseded_until")
_CUT = MAX_LABEL_CHARS - 17
NOWHERE = "links to a record that is not in this store: left out"
ITSELF = "links to itself: left out"


def mended(line: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A line as it can be stored, and a note on each thing that was changed for that."""
    fitted = dict(line)
    notes: list[str] = []
    too_long: dict[str, Any] = {}
    for name in ("title", *LABELS):
        value = fitted.get(name)
        if isinstance(value, str):
            fitted[name] = _fitting(name, value, too_long, notes)
    for name in ("source", "metadata"):
        if isinstance(fitted.get(name), Mapping):
            fitted[name] = _flat(name, fitted[name], notes)
    if too_long:
        metadata = fitted.get("metadata", {})
        if isinstance(metadata, Mapping):
            fitted["metadata"] = {**metadata, "before_import": too_long}
    if fitted.get("supersedes") is not None and fitted["supersedes"] == fitted.get("id"):
        del fitted["supersedes"]
        notes.append("supersedes: named the record itself: left out")
    if fitted.get("superseded_by") is not None and fitted["superseded_by"] == fitted.get("id"):
        for name in _STANDING:
            fitted.pop(name, None)
        notes.append("superseded_by: named the record itself: left out, it stands")
    if fitted.get("thread_id") is not None and fitted.get("kind") != "trigger":
        del fitted["thread_id"]
        notes.append("thread_id: only a trigger stands in a thread: left out")
    if fitted.get("forgotten") == "hard_delete" and fitted.get("content"):
        fitted["content"] = ""
        notes.append("content: was there although the record was erased: left out")
    return fitted, tuple(notes)


def mended_link(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line that is a link as it can be stored."""
    return {
        name: _fitting(name, value, {}, []) if name in ("rel", *LABELS) and isinstance(value, str) else value
        for name, value in line.items()
    }


def _fitting(name: str, value: str, too_long: dict[str, Any], notes: list[str]) -> str:
    """A title or label within the limits; one that is cut ends in a digest of the whole, so that two stay two."""
    fitted = value
    if name != "title":
        fitted = FORBIDDEN.sub("\ufffd", fitted.strip())
        if fitted and blank(fitted):
            fitted = "\ufffd" * min(len(fitted), _CUT)
        if fitted != value.strip():
            notes.append(f"{name}: held characters that a label cannot have: each is U+FFFD now")
    if len(fitted) > MAX_LABEL_CHARS:
        too_long[name] = value
        fitted = f"{fitted[:_CUT]}~{hash64(value) & (2**64 - 1):016x}"
        notes.append(f"{name}: was longer than {MAX_LABEL_CHARS} characters: cut, all of it is in the metadata")
    return fitted


def _flat(name: str, value: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """An object of which what is nested too deep, and what is not a JSON number, stands as text."""
    changed: list[str] = []

    def flat(inner: Any, depth: int) -> Any:
        if isinstance(inner, float) and not math.isfinite(inner):
            changed.append("numbers that JSON has not")
            return str(inner)
        if isinstance(inner, int) and inner.bit_length() > HIGHEST_BITS:
            changed.append("numbers that are too large")
            return hex(inner)
        if not isinstance(inner, Mapping | list | tuple):
            return inner
        if depth >= DEEPEST:
            changed.append(f"lists and objects more than {DEEPEST} deep")
            return json.dumps(inner, ensure_ascii=False)
        if isinstance(inner, Mapping):
            return {key: flat(one, depth + 1) for key, one in inner.items()}
        return [flat(one, depth + 1) for one in inner]

    fitted: dict[str, Any] = flat(value, 0)
    notes.extend(f"{name}: held {what}: they are text now" for what in dict.fromkeys(changed))
    return fitted
