"""What all importers share: options, the report, reading lines and files, and small repairs of foreign text."""

from __future__ import annotations

import gzip
import json
import os
import re
import unicodedata
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

import regex

from ...errors import InvalidField
from ...memory.prepare import MAX_LABEL_CHARS, repair
from ...text.secrets.masking import mask

MAX_TURN_CHARS = 1_000_000  # of one turn, far below what the store takes as one record
MASKED = "secrets masked"
_MAX_REASONS = 100
_BOMS = (b"\xff\xfe", b"\xfe\xff")
_FORBIDDEN = re.compile(r"[|\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_CLUSTER = regex.compile(r"\X")


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How records are made.

    `mask_secrets`: None is the format's own default, which is on for foreign formats and off for `jsonl`, whose
    records are the caller's own and must come back as they are. `path_prefix` stands before every path that an
    importer makes. `scope`, `bucket`, `agent_id` and `team_id` fill records that carry none (never lines of an
    export, which are restored as they are).
    """

    mask_secrets: bool | None = None
    path_prefix: str = ""
    scope: str | None = None
    bucket: str | None = None
    agent_id: str | None = None
    team_id: str | None = None


@dataclass(slots=True)
class ImportReport:
    """Counts of one import, filled while it runs: records given out, what was skipped, what was changed, by reason."""

    read: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)

    def skip(self, reason: str, count: int = 1) -> None:
        """Count something left out, by its reason."""
        _count(self.skipped, reason, count)

    def note(self, text: str, count: int = 1) -> None:
        """Count something that was changed or guessed on the way in."""
        _count(self.notes, text, count)


def _count(counts: dict[str, int], name: str, count: int) -> None:
    if name not in counts and len(counts) >= _MAX_REASONS:
        name = "other"  # reasons name foreign types: a hostile file must not grow the report without end
    counts[name] = counts.get(name, 0) + count


class Importer(Protocol):
    """One foreign format: a file or folder → records in the JSON Lines form, in a fixed order."""

    def __call__(self, source: Path, options: ImportOptions, report: ImportReport) -> Iterator[dict[str, Any]]: ...


# ---- files


def files(source: Path, suffixes: tuple[str, ...], report: ImportReport) -> list[tuple[Path, str]]:
    """A file, or all files of a folder with one of the suffixes, as (path, name relative to the folder), by name.

    Names use `/` and are NFC, so that they are the same on every machine. Hidden files and folders, `node_modules` and
    symbolic links below the folder are left out; links are counted. Raises InvalidField where nothing can be read.
    """
    try:
        return _found(source, suffixes, report)
    except OSError as error:
        raise unreadable(source, error) from error


def _found(source: Path, suffixes: tuple[str, ...], report: ImportReport) -> list[tuple[Path, str]]:
    if not source.is_dir():
        if not source.exists():
            raise InvalidField(f"{shown(source)}: there is no such file or folder; check the path", field="file")
        return [(source, _portable(source.name))]
    found = []
    for folder, folders, names in os.walk(source, onerror=_raise_unreadable):
        folders[:] = [name for name in folders if name != "node_modules" and not name.startswith(".")]
        for name in names:
            path = Path(folder, name)
            if name.startswith(".") or not name.lower().endswith(suffixes):
                continue
            if path.is_symlink():
                report.skip("symbolic link")
                continue
            if not path.is_file():
                report.skip("not a regular file")
                continue
            found.append((path, _portable(path.relative_to(source).as_posix())))
    return sorted(found, key=lambda pair: pair[1])


def _portable(name: str) -> str:
    return unicodedata.normalize("NFC", repair(name))


def _raise_unreadable(error: OSError) -> None:
    raise unreadable(Path(error.filename or "folder"), error) from error


def shown(path: Path) -> str:
    """The base name of a file, fit for a message: never a path of the host."""
    return repair(path.name) or "the folder"


def unreadable(path: Path, error: Exception) -> InvalidField:
    """A failure to read as an error that names the file and the way out."""
    why = (
        error.strerror
        if isinstance(error, OSError) and error.strerror
        else "the compressed data ends early or is damaged"
    )
    way = "make it and its folder readable" if isinstance(error, PermissionError) else "repair it or leave it out"
    return InvalidField(f"{shown(path)}: can not be read ({why}); {way}", field="file")


def lines(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """Lines of a file, read as a stream: number from 1, bytes without outer blanks, whether a line end closed it.

    Only LF ends a line. A UTF-8 mark at the start is dropped; a name that ends in `.gz` is unpacked.
    """
    try:
        with gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb") as stream:
            for number, raw in enumerate(stream, start=1):
                if number == 1:
                    if raw.startswith(_BOMS):
                        raise InvalidField(f"{shown(path)}: is UTF-16 text; save it as UTF-8", field="file")
                    raw = raw.removeprefix(b"\xef\xbb\xbf")
                yield number, raw.strip(), raw.endswith(b"\n")
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from error


def parse_json(raw: bytes) -> Any:
    """The value of a JSON text; bytes that are not UTF-8 read as U+FFFD. Raises ValueError for everything else."""
    try:
        return json.loads(raw.decode("utf-8", "replace"))
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error


def tolerant_lines(path: Path, report: ImportReport) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file that others write: blank lines pass, what is no object is skipped and counted."""
    for _, raw, whole in lines(path):
        if not raw:
            continue
        try:
            value = parse_json(raw)
        except ValueError:
            report.skip("line that is not JSON" if whole else "half-written last line")
            continue
        if isinstance(value, dict):
            yield value
        else:
            report.skip("line that is not an object")


# ---- text


def clean(text: str, options: ImportOptions, report: ImportReport) -> str:
    """Text of a foreign file: lone surrogates repaired, LF line ends, secrets masked unless the options say no."""
    text = repair(text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
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
