"""`chat`: conversations as speaker and text turns, the way long-conversation data sets and chat logs have them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...errors import InvalidField
from ...memory.prepare import repair
from ...times import parse_time
from .base import (
    MAX_TURN_CHARS,
    ImportOptions,
    ImportReport,
    clean,
    joined,
    label,
    one_line,
    parts,
    segment,
    shortened,
    stamp,
)
from .detect import tell_nothing
from .reading import files, lines, not_json, parse_json, tolerant_lines

PART_CHARS = 200_000
_SPEAKER_CHARS = 80
_TITLE_CHARS = 80
_CONVERSATION = ("conv_id", "conversation_id", "chat_id", "thread_id", "sample_id")
_SESSION = ("session", "session_id", "batch")
_SPEAKER = ("speaker", "role", "author", "name", "from")
_TEXT = ("text", "content", "message", "utterance")
_CAPTION = ("image_caption", "blip_caption")
_TURN = ("dia_id", "message_id", "id", "turn", "turn_id")
_TIME = ("iso", "timestamp", "date_time", "created_at", "date", "time_anchor", "last_time_anchor")
_NESTED = ("messages", "turns", "sessions", "conversation", "conversations", "chat", "dialogue", "data")
_ROLES = {"user": "User", "human": "User", "assistant": "Assistant", "system": "System", "tool": "Tool"}
_NUMBERED = re.compile(r"session_([0-9]{1,6})")

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
_CLOCK = re.compile(r"\b([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?(?:\s{0,2}([ap])\.?m\b)?", re.IGNORECASE)
_DATES = (
    re.compile(r"\b(?P<year>[0-9]{4})[-/.](?P<month>[0-9]{1,2})[-/.](?P<day>[0-9]{1,2})\b"),
    re.compile(
        r"\b(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?[\s-]{1,3}(?P<name>[A-Za-z]{3,9})\.?[\s,-]{1,3}(?P<year>[0-9]{4})\b"
    ),
    re.compile(
        r"\b(?P<name>[A-Za-z]{3,9})\.?[\s-]{1,3}(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?[\s,-]{1,3}(?P<year>[0-9]{4})\b"
    ),
)


@dataclass(slots=True)
class _Talk:
    """One session of a conversation, as far as it has been read."""

    conversation: str
    session: str
    turns: list[str] = field(default_factory=list)
    ids: list[Any] = field(default_factory=list)
    time: datetime | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class _Around:
    """What the containers around a turn say about it."""

    conversation: object = None
    session: object = None
    time: object = None
    title: object = None


def read_chat(source: Path, options: ImportOptions, report: ImportReport) -> Iterator[dict[str, Any]]:
    """One episode per conversation and session of a file, or of all `*.jsonl` and `*.json` (also `.gz`) below a folder.

    JSON Lines of turns or of whole conversations, or one JSON document of nested lists of them. Fields are read under
    the names at the top of this file. A file is one conversation and one session where nothing else is said.

    Content: a line `Speaker: text` per turn, an image as ` [image: caption]` behind it. `metadata.turns`: for each turn
    `[id, start, end]`, the characters of the content it takes up. Time: the first one the session states. A session
    above 200,000 characters goes on in `…/part-2` and so forth, cut between turns. What is no turn is skipped and
    counted; a damaged JSON document raises InvalidField.
    """
    for path, name in files(source, (".jsonl", ".json", ".jsonl.gz", ".json.gz"), report, options):
        talks: dict[tuple[str, str], _Talk] = {}
        stem = re.sub(r"(?:\.jsonl?)?(?:\.gz)?$", "", name, flags=re.IGNORECASE)
        with report.reading(source, name):
            for value in _values(path, report):
                _walk(value, _Around(conversation=stem), talks, options, report)
            if not talks:
                tell_nothing(path, name, "chat", report)
        for talk in talks.values():
            yield from _records(talk, options)


def _values(path: Path, report: ImportReport) -> Iterator[Any]:
    """The JSON values of a file: one document, or one value a line."""
    first = next((raw for _, raw, _ in lines(path, ImportReport()) if raw), b"")
    try:
        by_line = isinstance(parse_json(first), dict)
    except ValueError:
        # Either a document over several lines or a damaged first line, which a brace at both ends gives away.
        by_line = first.startswith(b"{") and first.endswith(b"}")
    if by_line or not first:
        yield from tolerant_lines(path, report)
        return
    try:
        yield parse_json(b"\n".join(raw for _, raw, _ in lines(path, report)))
    except InvalidField:
        raise
    except ValueError as error:
        raise not_json(path) from error


def _walk(
    value: Any, around: _Around, talks: dict[tuple[str, str], _Talk], options: ImportOptions, report: ImportReport
) -> None:
    """Take in every turn of a value, in order. Containers are nested a few levels at most."""
    stack: list[tuple[Any, _Around, int]] = [(value, around, 0)]
    while stack:
        value, around, depth = stack.pop()
        if isinstance(value, list):
            stack.extend((one, around, depth) for one in reversed(value))
        elif not isinstance(value, dict):
            report.skip("value that is not a turn")
        elif depth < 8 and (inner := _inner(value, around)):
            stack.extend((one, given, depth + 1) for one, given in reversed(inner))
        else:
            _turn(value, around, talks, options, report)


def _first(value: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((found for name in names if (found := value.get(name)) is not None and found != ""), None)


def _inner(value: Mapping[str, Any], around: _Around) -> list[tuple[Any, _Around]]:
    """The turns or sessions inside a container with what it says about them; empty for a turn."""
    if any(isinstance(value.get(name), str) for name in (*_TEXT, "speaker", "role")):
        return []
    nested = next((name for name in _NESTED if isinstance(value.get(name), list | dict)), None)
    numbered = [name for name, one in value.items() if _NUMBERED.fullmatch(name) and isinstance(one, list)]
    if nested is None and not numbered:
        return []
    conversation, session = _first(value, _CONVERSATION), _first(value, _SESSION)
    if conversation is None and session is None:
        conversation = _first(value, ("id", "uuid"))
    given = _Around(
        around.conversation if conversation is None else conversation,
        around.session if session is None else session,
        _first(value, _TIME) or around.time,
        value.get("title") or around.title,
    )
    if nested is None:
        return [
            (value[name], _Around(given.conversation, int(name[8:]), value.get(f"{name}_date_time"), given.title))
            for name in sorted(numbered, key=lambda name: int(name[8:]))
        ]
    inside = value[nested]
    if nested == "sessions" and isinstance(inside, list):
        return [(one, _Around(given.conversation, i, given.time, given.title)) for i, one in enumerate(inside, start=1)]
    return [(inside, given)]


def _turn(
    value: Mapping[str, Any],
    around: _Around,
    talks: dict[tuple[str, str], _Talk],
    options: ImportOptions,
    report: ImportReport,
) -> None:
    said = _first(value, _TEXT)
    if isinstance(said, dict):  # {"message": {"role": …, "content": …}}
        value = {**value, **said}
        said = _first(said, _TEXT)
    text = clean(_plain(said), options, report).strip()
    caption = _first(value, _CAPTION)
    if isinstance(caption, str) and caption.strip():
        text = f"{text} [image: {one_line(clean(caption, options, report), 1_000)}]".strip()
    if not text:
        report.skip("turn without text")
        return
    if len(text) > MAX_TURN_CHARS:
        report.note("very long turn shortened")
        text = shortened(text, MAX_TURN_CHARS)
    conversation, session = _first(value, _CONVERSATION), _first(value, _SESSION)
    key = (
        _name(around.conversation if conversation is None else conversation),
        _name(around.session if session is None else session) or "1",
    )
    talk = talks.setdefault(key, _Talk(*key))
    if isinstance(around.title, str) and not talk.title:
        talk.title = one_line(clean(around.title, options, report), _TITLE_CHARS)
    if talk.time is None:
        talk.time = _time(value, around, report)
    speaker = _speaker(_first(value, _SPEAKER))
    talk.turns.append(f"{speaker}: {text}" if speaker else text)
    identity = _first(value, _TURN)
    if isinstance(identity, str):
        identity = repair(identity)
    talk.ids.append(identity if isinstance(identity, int | str) else len(talk.ids) + 1)


def _plain(said: Any) -> str:
    """Text, or the text blocks of a list of content blocks."""
    if isinstance(said, str):
        return said
    if not isinstance(said, list):
        return ""
    blocks = (one.get("text") if isinstance(one, dict) else one for one in said)
    return "\n".join(block for block in blocks if isinstance(block, str))


def _name(value: object) -> str:
    return label(str(value)) if isinstance(value, int | str) else ""


def _speaker(value: object) -> str:
    if isinstance(value, dict):
        value = _first(value, ("name", "role"))
    if not isinstance(value, str):
        return ""
    name = one_line(label(value), _SPEAKER_CHARS).rstrip(":").strip()
    return _ROLES.get(name.lower(), name)


def _time(value: Mapping[str, Any], around: _Around, report: ImportReport) -> datetime | None:
    """The first time that a turn, or else what is around it, states in a form that is understood."""
    stated = [one for one in (*(value.get(name) for name in _TIME), around.time) if one not in (None, "")]
    for one in stated:
        moment = parse_moment(one)
        if moment is not None:
            return moment
    if stated:
        report.note("time that is not understood")
    return None


def parse_moment(value: object) -> datetime | None:
    """A time in the forms of `parse_time`, or as people write it in English; UTC where no zone is given; else None.

    `11:01 am on 17 December, 2022`, `March-15-2024`, `2023/05/20 (Sat) 02:21`, `May 3rd, 2021`.
    """
    try:
        return parse_time(value, "timestamp")
    except InvalidField:
        if not isinstance(value, str) or len(value) > 100:
            return None
    for pattern in _DATES:
        found = pattern.search(value)
        if found is None:
            continue
        named = found.groupdict()
        month = _MONTHS.get((named.get("name") or "")[:3].lower()) or int(named.get("month") or 0)
        hour, minute, second = _clock(value)
        try:
            return datetime(int(named["year"]), month, int(named["day"]), hour, minute, second, tzinfo=UTC)
        except ValueError:
            return None
    return None


def _clock(text: str) -> tuple[int, int, int]:
    found = _CLOCK.search(text)
    if found is None:
        return 0, 0, 0
    hour = int(found[1])
    if found[4]:
        hour = hour % 12 + (12 if found[4].lower() == "p" else 0)
    return hour, int(found[2]), int(found[3] or 0)


def _records(talk: _Talk, options: ImportOptions) -> Iterator[dict[str, Any]]:
    session = f"session_{talk.session}" if talk.session.isdecimal() else talk.session
    folder = [segment(part) for part in talk.conversation.split("/")]
    identity = f"chat:{talk.conversation.replace(':', '%3A')}:{talk.session}"
    for number, (first, last) in enumerate(parts(talk.turns, PART_CHARS), start=1):
        part = "" if number == 1 else f"part-{number}"
        turns, at = [], 0
        for turn, name in zip(talk.turns[first:last], talk.ids[first:last], strict=True):
            turns.append([name, at, at + len(turn)])
            at += len(turn) + 1
        record: dict[str, Any] = {
            "content": "\n".join(talk.turns[first:last]),
            "kind": "episode",
            "type": "chat",
            "path": joined(options.path_prefix, *folder, segment(session), part),
            "external_id": label(f"{identity}:{part}" if part else identity),
            "source": {"host": "chat", "conversation": talk.conversation, "session": talk.session},
            "metadata": {"turns": turns},
        }
        if talk.title:
            record["title"] = talk.title
        if talk.time is not None:
            record["timestamp"] = stamp(talk.time)
        yield record
