"""What a trigger brought → bytes to keep, a line that says what it is, and text that can be searched. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

from ..errors import InvalidField
from ..memory.prepare import plain, repair
from ..text.cuts import clip

MAX_PAYLOAD_BYTES = 32 * 2**20
MAX_SUMMARY_CHARS = 500
SUMMARY_CHARS = 200
"""Characters of a summary that was made here."""
READABLE_CHARS = 48_000
"""Characters of a payload that are searched: the first two thirds and, of a longer one, the end."""

TEXT, JSON, BYTES = "text/plain; charset=utf-8", "application/json", "application/octet-stream"
FORM = "application/x-www-form-urlencoded"
_MEDIA_TYPE = re.compile(r"[!#$&^\w.+-]{1,127}/[!#$&^\w.+-]{1,127}(?:\s*;[\x20-\x7e]{0,200})?", re.ASCII)
_HEADLINES = ("summary", "title", "subject", "message", "text", "body", "error", "description", "name")
_KINDS = ("event", "action", "type", "kind")
_STATES = ("conclusion", "status", "state", "result")
_FAULT = re.compile(r"(?i)\b(?:error|fatal|fail(?:ed|ure)?|exception|panic|traceback)\b|エラー|失敗|例外")
_SUBJECT = re.compile(r"(?im)^subject:[ \t]*(\S.*)$")
_ADDRESS = re.compile(r"(?:.*_)?url|node_id|gravatar_id")
_DEEPEST = 40
_FIELDS = 1000  # of a form


def payload_of(value: Any, media_type: str | None) -> tuple[str, bytes]:
    """Media type and bytes of a payload: bytes as they are, text in UTF-8 (lone surrogates replaced), anything else
    as JSON. Raises InvalidField for what JSON cannot say, for more than 32 MiB and for an odd media type."""
    if media_type is not None and (not isinstance(media_type, str) or not _MEDIA_TYPE.fullmatch(media_type)):
        raise InvalidField(f"media_type: {ascii(media_type)[:60]} is not like application/json", field="media_type")
    if isinstance(value, bytes | bytearray | memoryview):
        kind, body = BYTES, bytes(value)
    elif isinstance(value, str):
        kind, body = TEXT, repair(value).encode()
    else:
        try:
            kind, body = JSON, json.dumps(plain(value), ensure_ascii=False, separators=(",", ":")).encode()
        except ValueError as error:
            raise InvalidField(f"payload: {error}", field="payload") from error
    if len(body) > MAX_PAYLOAD_BYTES:
        raise InvalidField(
            f"payload: {len(body)} bytes are more than {MAX_PAYLOAD_BYTES}; keep it elsewhere and give where",
            field="payload",
        )
    return media_type or kind, body


def is_json(media_type: str) -> bool:
    """Whether a media type is JSON (RFC 6839 suffix included)."""
    essence = media_type.partition(";")[0].strip().lower()
    return essence == JSON or essence.endswith("+json")


def text_of(media_type: str, body: bytes) -> str | None:
    """The text of a payload that is text in UTF-8, None for any other."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        if not media_type.lower().startswith("text/"):
            return None
        text = body.decode("utf-8", "replace")
    return None if "\0" in text and not media_type.lower().startswith("text/") else text


def value_of(media_type: str, body: bytes) -> Any:
    """The value that a JSON payload says, the fields of a form (JSON in them as its value), else the text; None where
    it is neither."""
    text = text_of(media_type, body)
    if text is None:
        return None
    if is_json(media_type):
        return _said(text)
    if media_type.partition(";")[0].strip().lower() == FORM:
        try:
            return {name: _said(value) for name, value in parse_qsl(text, max_num_fields=_FIELDS)} or text
        except ValueError:  # more fields than anybody fills in
            return text
    return text


def _said(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def readable(value: Any) -> str:
    """The text by which a payload is found: of an object a line for each entry, addresses left out."""
    text = value if isinstance(value, str) else "\n".join(_entries(value, "", 0))
    if len(text) <= READABLE_CHARS:
        return text
    first = READABLE_CHARS * 2 // 3
    head, tail = text[:first], text[len(text) - (READABLE_CHARS - first) :]
    return f"{head[: head.rfind(chr(10)) + 1 or len(head)]}\n{tail[tail.find(chr(10)) + 1 :]}"


def _entries(value: Any, path: str, depth: int) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, one in value.items() if depth < _DEEPEST else ():
            if name == "html_url" or not _ADDRESS.fullmatch(name):
                yield from _entries(one, f"{path}.{name}" if path else name, depth + 1)
    elif isinstance(value, list | tuple):
        for one in value if depth < _DEEPEST else ():
            yield from _entries(one, path, depth + 1)
    elif value is not None and value != "" and not isinstance(value, bool):
        yield f"{path}: {value}" if path else str(value)


def one_line(text: str) -> str:
    """White space of any kind as single blanks."""
    return " ".join(text.split())


def summary_of(value: Any, source: str, media_type: str, size: int) -> str:
    """One line for a payload that came without one: what happened, to what; for a text its subject or first fault."""
    line = _headline(value) if isinstance(value, Mapping) else ""
    if not line and value is not None:
        line = _first_line(value if isinstance(value, str) else readable(value))
    return _short(line) or f"{source}: {size} bytes of {media_type.partition(';')[0].strip()}"


def _first_line(text: str) -> str:
    head = text[:READABLE_CHARS]
    subject = _SUBJECT.search(head[:4000])
    if subject:
        return subject[1]
    lines = [line for line in head.splitlines() if line.strip()]
    return next((line for line in lines if _FAULT.search(line)), lines[0] if lines else "")


def _headline(value: Mapping[str, Any]) -> str:
    happened = [word for names in (_KINDS, _STATES) if (word := _word(value, names))]
    level: list[Mapping[str, Any]] = [value]
    for _ in range(3):
        for one in level:
            for name in _HEADLINES:
                text = one.get(name)
                if isinstance(text, str) and text.strip():
                    return ": ".join((*([" ".join(happened)] if happened else []), _first_line(text)))
        level = [inner for one in level for inner in one.values() if isinstance(inner, Mapping)]
    return " ".join(happened)


def _word(value: Mapping[str, Any], names: tuple[str, ...]) -> str:
    words = (value.get(name) for name in names)
    return next((word for word in words if isinstance(word, str) and word.strip() and len(word) <= 60), "")


def _short(text: str) -> str:
    """One line of at most `SUMMARY_CHARS`, cut between words where there are any, else between grapheme clusters."""
    line = one_line(text[: SUMMARY_CHARS * 4])
    if len(line) <= SUMMARY_CHARS:
        return line
    cut = clip(line, SUMMARY_CHARS - 2)[: SUMMARY_CHARS - 2]
    if not line[len(cut)].isspace() and cut.rfind(" ") > SUMMARY_CHARS // 2:
        cut = cut[: cut.rfind(" ")]
    return f"{cut.rstrip()} …"
