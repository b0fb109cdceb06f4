"""Reading files of other programs: which files, their text in the encoding they are in, and lines as a stream."""

from __future__ import annotations

import gzip
import json
import os
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import InvalidField
from ...memory.prepare import repair
from .. import encodings
from .base import ImportOptions, ImportReport

DAMAGED = "line with bytes that are no UTF-8: shown as U+FFFD"
_MOST_JUDGED = 2**28  # bytes of a file whose encoding is looked for
_MOST_UNPACKED = 2**31  # of a member of an archive
_FAILURES = (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError)


# ---- which files


def files(
    source: Path, suffixes: tuple[str, ...], report: ImportReport, options: ImportOptions
) -> list[tuple[Path, str]]:
    """A file, or all files of a folder with one of the suffixes, as (path, name relative to the folder), by name.

    Names use `/` and are NFC, so that they are the same on every machine. Hidden files and folders, `node_modules` and
    symbolic links below the folder are left out; links are counted. Raises InvalidField where nothing can be read.
    """
    try:
        found = _found(source, suffixes, report)
    except OSError as error:
        raise unreadable(source, error) from error
    return found if options.only is None else [pair for pair in found if pair[0] in options.only]


def _found(source: Path, suffixes: tuple[str, ...], report: ImportReport) -> list[tuple[Path, str]]:
    if not source.is_dir():
        if not source.exists():
            raise InvalidField(f"{shown(source)}: there is no such file or folder; check the path", field="file")
        return [(source, portable(source.name))]
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
            found.append((path, portable(path.relative_to(source).as_posix())))
    return sorted(found, key=lambda pair: pair[1])


def portable(name: str) -> str:
    """A name as it is on every machine."""
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
    return InvalidField(f"{shown(path)}: cannot be read ({why}); {way}", field="file")


def untold(path: Path) -> InvalidField:
    """The encoding of a file can not be told for sure."""
    return InvalidField(
        f"{shown(path)}: is not UTF-8, and for sure neither UTF-16, Shift_JIS nor EUC-JP; save it as UTF-8",
        field="file",
    )


# ---- what stands in them


def contents(path: Path, most: int = _MOST_UNPACKED) -> bytes:
    """All bytes of a file; a name that ends in `.gz` is unpacked. Raises InvalidField."""
    try:
        with gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb") as stream:
            raw = stream.read(most + 1)
    except _FAILURES as error:
        raise unreadable(path, error) from error
    if len(raw) > most:
        raise InvalidField(f"{shown(path)}: is larger than {most} bytes; divide it", field="file")
    return raw


def text_of(path: Path, raw: bytes, report: ImportReport) -> str:
    """A whole file as text. Raises InvalidField where its encoding can not be told for sure."""
    encoding = encodings.of_bytes(raw)
    if encoding is None:
        raise untold(path)
    return decoded(path, raw, encoding, report)


def decoded(path: Path, raw: bytes, encoding: encodings.Encoding, report: ImportReport) -> str:
    """Bytes in an encoding that was told; a mark at the start is dropped, and what is damaged reads as U+FFFD."""
    if encoding != "utf-8":
        report.note(f"read as {encodings.NAMES[encoding]}")
        try:
            return raw.decode(encoding).removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            raise unreadable(path, EOFError()) from error
    text = raw.decode("utf-8", "replace").removeprefix("\ufeff")
    if "\ufffd" in text and "\ufffd".encode() not in raw:
        report.note("file with bytes that are no UTF-8: shown as U+FFFD")
    return text


def lines(path: Path, report: ImportReport, *, damaged: bool = False) -> Iterator[tuple[int, bytes, bool]]:
    """Lines of a file as UTF-8, read as a stream: number from 1, bytes without outer blanks, whether a line end closed
    it.

    Only LF ends a line. A mark at the start is dropped; a name that ends in `.gz` is unpacked. UTF-16, Shift_JIS and
    EUC-JP are read where they are told for sure; else a line that is not UTF-8 raises InvalidField, but is given as it
    is with `damaged`, for files whose writer always takes UTF-8.
    """
    sure: encodings.Encoding | None = None
    try:
        with gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb") as stream:
            start = stream.read(4096)
            if marked := encodings.of_mark(start):
                text = decoded(path, start + stream.read(_MOST_JUDGED), marked, report)
                for number, line in enumerate(text.encode("utf-8", "replace").splitlines(keepends=True), start=1):
                    yield number, line.strip(), line.endswith(b"\n")
                return
            stream.seek(0)
            for number, raw in enumerate(stream, start=1):
                line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
                if sure is None and not damaged and _is_broken(line):
                    sure = encodings.of_bytes(contents(path, _MOST_JUDGED))
                    if sure is None:
                        raise untold(path)
                    report.note(DAMAGED if sure == "utf-8" else f"read as {encodings.NAMES[sure]}")
                if sure not in (None, "utf-8"):
                    line = line.decode(sure, "replace").encode()
                yield number, line.strip(), raw.endswith(b"\n")
    except _FAILURES as error:
        raise unreadable(path, error) from error


def _is_broken(line: bytes) -> bool:
    """Whether a line is no UTF-8; one that only ends within a character is cut off."""
    if line.isascii():
        return False
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason != "unexpected end of data" or line.endswith(b"\n")
    return False


def parse_json(raw: bytes | str) -> Any:
    """The value of a JSON text; bytes that are not UTF-8 read as U+FFFD. Raises ValueError for everything else."""
    try:
        return json.loads(raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw)
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error


def tolerant_lines(path: Path, report: ImportReport, *, damaged: bool = False) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file that others write: blank lines pass, what is no object is skipped and counted."""
    for _, raw, whole in lines(path, report, damaged=damaged):
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


def documents(path: Path, report: ImportReport, names: tuple[str, ...] = (".json",)) -> Iterator[tuple[str, Any]]:
    """The JSON documents of a file, or of an archive (.zip) whose members end in one of the names, as (name, value).

    Raises InvalidField for a damaged archive or document.
    """
    if not zipfile.is_zipfile(path):
        raw = contents(path)
        if raw.strip():
            yield path.name, _document(path, raw, report)
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for member in sorted(archive.infolist(), key=lambda one: one.filename):
                if member.is_dir() or not member.filename.endswith(names) or "__MACOSX" in member.filename:
                    continue
                if member.file_size > _MOST_UNPACKED:
                    raise InvalidField(f"{shown(path)}: holds a file that is too large; unpack it", field="file")
                yield member.filename.rsplit("/", 1)[-1], _document(path, archive.read(member), report)
    except _FAILURES as error:
        raise unreadable(path, error) from error


def _document(path: Path, raw: bytes, report: ImportReport) -> Any:
    try:
        return parse_json(text_of(path, raw, report))
    except ValueError as error:
        if isinstance(error, InvalidField):
            raise
        raise not_json(path) from error


def not_json(path: Path) -> InvalidField:
    """A file is neither a JSON document nor JSON Lines."""
    return InvalidField(f"{shown(path)}: is not JSON; give one JSON document or one object a line", field="file")
