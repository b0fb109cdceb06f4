"""What all importers share: options, the report, small repairs of foreign text, and names made of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from typing import Any, Protocol

import regex

from ...errors import InvalidField
from ...memory.prepare import MAX_FACTS_BYTES, MAX_LABEL_CHARS, facts_size, repair
from ...text.secrets.masking import mask

MAX_TURN_CHARS = 1_000_000  # of one turn, far below what the store takes as one record
MASKED = "secrets masked"
_MOST_REASONS = 100
_FORBIDDEN = re.compile(r"[|\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_INLINE = re.compile(r"data:([\w.+-]{1,60}/[\w.+-]{1,60})(?:;[\w=.-]{1,60}){0,3};base64,([A-Za-z0-9+/=_-]{200,})")
_CLUSTER = regex.compile(r"\X")


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How records are made.

    `mask_secrets`: None is the format's own default, which is on for foreign formats and off for `jsonl`, whose
    records are the caller's own and must come back as they are. `path_prefix` stands before every path that an
    importer makes. `scope`, `bucket`, `agent_id` and `team_id` fill records that carry none (never lines of an
    export, which are restored as they are). `scope_of` gives the scope of a session by its working folder, where no
    `scope` is given. `project` keeps sessions of one folder alone (with all below it, or the name of one), `since` what
    was said later, `only` these files of a folder.
    """

    mask_secrets: bool | None = None
    path_prefix: str = ""
    scope: str | None = None
    bucket: str | None = None
    agent_id: str | None = None
    team_id: str | None = None
    project: str | None = None
    scope_of: Callable[[str], str] | None = None
    since: datetime | None = None
    only: frozenset[Path] | None = None


@dataclass(slots=True)
class ImportReport:
    """What became of one import, filled while it runs: records given out, what was skipped, what was changed, by
    reason; in `failed` each file that gave nothing, with the line that says why; in `seen` the ids of the caller's own
    that came. `id` names the import."""

    read: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    id: str = field(default_factory=lambda: f"imp_{token_hex(6)}")

    def skip(self, reason: str, count: int = 1) -> None:
        """Count something left out, by its reason."""
        _count(self.skipped, reason, count)

    def note(self, text: str, count: int = 1) -> None:
        """Count something that was changed or guessed on the way in."""
        _count(self.notes, text, count)

    @contextmanager
    def reading(self, source: Path, name: str) -> Iterator[None]:
        """Read one file of a source: in a folder, one that can not be taken is named in `failed` and the next is read;
        a file that is all that was asked for raises its error."""
        try:
            yield
        except InvalidField as error:
            if not source.is_dir():
                raise
            self.fail(name, str(error))

    def fail(self, name: str, why: str) -> None:
        """Name a file that gave nothing, and why."""
        if len(self.failed) < _MOST_REASONS or name in self.failed:
            self.failed[name] = why
        else:
            _count(self.skipped, "more files that could not be read", 1)


def _count(counts: dict[str, int], name: str, count: int) -> None:
    if name not in counts and len(counts) >= _MOST_REASONS:
        name = "other"  # reasons name foreign types: a hostile file must not grow the report without end
    counts[name] = counts.get(name, 0) + count


class Importer(Protocol):
    """One foreign format: a file or folder → records in the JSON Lines form, in a fixed order."""

    def __call__(self, source: Path, options: ImportOptions, report: ImportReport) -> Iterator[dict[str, Any]]: ...


# ---- text


def clean(text: str, options: ImportOptions, report: ImportReport) -> str:
    """Text of a foreign file: lone surrogates repaired, LF line ends, pictures in it by kind and size, secrets masked
    unless the options say no."""
    text = repair(text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "base64," in text:
        text = _INLINE.sub(lambda found: f"[{found[1]}, {len(found[2]) * 3 // 4096} KB]", text)
    if options.mask_secrets is False:
        return text
    text, count = mask(text)
    if count:
        report.note(MASKED, count)
    return text


def label(text: str) -> str:
    """Text as a path, type or external id: one line without `|`; too long ones end in a digest of the whole."""
    text = _FORBIDDEN.sub("-", repair(text)).strip()
    if len(text) > MAX_LABEL_CHARS:
        digest = blake2b(text.encode(), digest_size=8).hexdigest()
        text = f"{text[: MAX_LABEL_CHARS - 17].rstrip()}~{digest}"
    return text


def segment(text: str) -> str:
    """Text as one part of a path: no `/` and none of the names that mean another folder."""
    part = label(text).replace("/", "-").replace("\\", "-").strip()
    return "-" if part in ("", ".", "..") else part


def joined(*parts: str) -> str:
    """Parts as one path of the store."""
    return label("/".join(part.strip("/") for part in parts if part.strip("/")))


def stamp(moment: datetime) -> str:
    """RFC 3339 in UTC, ending in Z."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def head(text: str, limit: int) -> str:
    """The longest start of at most `limit` characters that ends between grapheme clusters, if it can between words."""
    if len(text) <= limit:
        return text
    window = text[: limit + 1]
    end = limit
    if not window.isascii():
        end = max(0, window.rfind(" ", 0, max(0, limit - 64)))  # a blank behind plain text begins a cluster
        end = end if window[end - 1 : end].isascii() else 0
    for cluster in () if window.isascii() else _CLUSTER.finditer(window, end):
        if cluster.end() > limit:  # also one that ends with the window: it may go on behind it
            break
        end = cluster.end()
    blank = max(text.rfind(" ", 0, end), text.rfind("\n", 0, end))
    return text[: blank if blank >= end * 3 // 4 else end].rstrip()


def tail(text: str, limit: int) -> str:
    """The longest end of at most `limit` characters that begins between grapheme clusters, if it can between words."""
    if len(text) <= limit:
        return text
    start = len(text) - limit
    if not text[start - 1 :].isascii():
        clusters = _CLUSTER.finditer(text, max(0, start - limit))
        start = next((one.start() for one in clusters if one.start() >= start), len(text))
    blank = min((at for at in (text.find(" ", start), text.find("\n", start)) if at >= 0), default=len(text))
    return text[blank if blank - start <= limit // 4 else start :].lstrip()


def cut_between(first: str, last: str, size: int, limit: int) -> str:
    """Head of `first` and tail of `last` within `limit` characters; between them, how much of `size` is gone."""
    room = max(0, (limit - 40) // 2)
    before, behind = head(first, room), tail(last, room)
    return f"{before}\n[… {size - len(before) - len(behind)} characters cut …]\n{behind}"


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters: the text, or its head and tail with a marked cut between them."""
    return text if len(text) <= limit else cut_between(text, text, len(text), limit)


def one_line(text: str, limit: int) -> str:
    """At most `limit` characters on one line, with an ellipsis where something was cut."""
    flat = " ".join(text[: 20 * limit].split())
    return flat if len(flat) <= limit else f"{head(flat, limit - 1)}…"


def parts(turns: list[str], limit: int) -> Iterator[tuple[int, int]]:
    """Ranges of turns that hold at most `limit` characters when joined by line ends; a longer turn stands alone."""
    first = size = 0
    for i, turn in enumerate(turns):
        if i > first and size + len(turn) + 1 > limit:
            yield first, i
            first, size = i, 0
        size += len(turn) + 1
    if first < len(turns):
        yield first, len(turns)


def turn_marks(turns: list[str], ids: list[Any]) -> dict[str, Any]:
    """`turns`: `[id, start, end]` of each turn, the characters that it takes up; nothing where that would be too
    much beside a text."""
    marks, at = [], 0
    for turn, name in zip(turns, ids, strict=True):
        marks.append([name, at, at + len(turn)])
        at += len(turn) + 1
    return {"turns": marks} if facts_size({"turns": marks}) <= MAX_FACTS_BYTES * 3 // 4 else {}
