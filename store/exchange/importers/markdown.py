"""`markdown`: notes as files. One file is one record, a big file one record per top-level section."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...errors import InvalidField
from ...memory.prepare import MAX_CONTENT_CHARS, repair
from ...times import parse_time
from .base import ImportOptions, ImportReport, clean, joined, label, one_line, segment, stamp
from .reading import contents, files, text_of, tolerant_lines

BIG_CHARS = 100_000
_TITLE_CHARS = 200
_MEMORIES = ("memory", "agent-memory")
_USED = ("title", "type", "pinned")  # entries of front matter that stand elsewhere in the record
_SUFFIXES = (".md", ".markdown", ".txt")
_FRONT = re.compile(r"---[ \t]*\n((?:(?!(?:---|\.\.\.)[ \t]*(?:\n|\Z))[^\n]*\n){0,200})(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_ENTRY = re.compile(r"([^\W\d_][\w -]{0,39}?)[ \t]*:(?:[ \t]+(.*))?")
_INSIDE = re.compile(r"[ \t]+\S.*|[ \t]*-(?:[ \t]+.*)?|[ \t]*#.*|[ \t]*")  # a line that goes on or says nothing
_ITEM = re.compile(r"[ \t]*-[ \t]+(.+)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_WORDS = re.compile(r" {0,3}(?![-*+>|] ?)[^\w\n]{0,20}\w")  # a line that a row of marks below makes a heading
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*")


def read_markdown(source: Path, options: ImportOptions, report: ImportReport) -> Iterator[dict[str, Any]]:
    """Records of a file, or of all `*.md`, `*.markdown` and `*.txt` below a folder (see `files` for what is left out).

    Path: prefix and relative name. Title: front matter, else first heading, else the name without its ending. Time:
    `date` of the front matter, else the file's own. Of the front matter (`key: value` lines between `---`) `title`,
    `tags`, `type`, `date` and `pinned` are read. All of it but title, type and pin stands at the start of the content,
    so that it is found.

    A file of more than 100,000 characters is divided at its highest heading level that occurs twice; each section has
    the path and external id of the file with its own heading behind, so editing one section leaves the others alone.
    A section above what the store takes as one record is divided further at line ends.
    """
    for path, name in files(source, _SUFFIXES, report, options):
        with report.reading(source, name):
            yield from _of_file(path, name, options, report)


def _of_file(path: Path, name: str, options: ImportOptions, report: ImportReport) -> Iterator[dict[str, Any]]:
    front, found, body = _front_matter(clean(text_of(path, contents(path), report), options, report))
    text = f"{found}\n\n{body.lstrip()}" if found and body.strip() else found or body
    if not text.strip():
        report.skip("file without text")
        return
    headings = [] if name.lower().endswith(".txt") else _headings(text)
    title = front.get("title") or front.get("name") or (headings[0][2] if headings else Path(name).stem)
    base: dict[str, Any] = {"kind": "memory", "type": label(front.get("type", "")) or "note"}
    base["source"] = {"host": "markdown", "file": name}
    base["timestamp"] = stamp(_time(front, path, report))
    if tags := _tags(front.get("tags", "")):
        base["metadata"] = {"tags": tags}
    if front.get("pinned", "").lower() in ("true", "yes", "on", "1"):
        base["pinned"] = True
    for place, heading, content in _sections(text, headings):
        whole = f"{title} — {heading}" if heading and heading != title else title
        yield {
            "content": content.strip("\n"),
            "title": one_line(whole, _TITLE_CHARS),
            "path": joined(options.path_prefix, *(segment(part) for part in name.split("/")), place),
            "external_id": label(f"markdown:{name}{'#' if place else ''}{place}"),
            **base,
        }


def read_claude_memory(source: Path, options: ImportOptions, report: ImportReport) -> Iterator[dict[str, Any]]:
    """Memories that Claude Code keeps as notes: `memory/*.md` of a project, `CLAUDE.md`, or a folder with any of them.

    Each is a record of `markdown` under `memory/<project>/…`; its project is the folder above `memory`, and its scope
    that of the sessions that stand there.
    """
    for path, name in files(source, (".md",), report, options):
        parts = path.resolve().parts
        at = max((at for at, part in enumerate(parts[:-1]) if part in _MEMORIES), default=len(parts) - 1)
        if source.is_dir() and path.name != "CLAUDE.md" and at == len(parts) - 1:
            report.skip("note that is not a memory")
            continue
        project, rest = label(parts[at - 1]), "/".join(parts[at + 1 :]) or path.name
        with report.reading(source, name):
            for record in _of_file(path, name, options, report):
                inside = record["path"].removeprefix(joined(options.path_prefix, name)).strip("/")
                record["path"] = joined(options.path_prefix, "memory", segment(project), rest, inside)
                record["external_id"] = label(f"claude-memory:{project}/{rest}{'#' if inside else ''}{inside}")
                record["source"] = {"host": "claude-memory", "file": name, "project": project}
                cwd = _working_folder(Path(*parts[:at]))
                if cwd and options.scope is None and options.scope_of is not None:
                    record["scope"] = options.scope_of(cwd)
                yield record


def _working_folder(folder: Path) -> str:
    """The working folder of the sessions whose transcripts stand in a folder; empty where there are none."""
    for transcript in sorted(folder.glob("*.jsonl"))[:5]:
        for number, line in enumerate(tolerant_lines(transcript, ImportReport(), damaged=True)):
            if isinstance(line.get("cwd"), str) and line["cwd"]:
                return repair(line["cwd"])
            if number > 50:
                break
    return ""


def _front_matter(text: str) -> tuple[dict[str, str], str, str]:
    """Entries of the block at the start, keys in lower case; the lines of it that are to be found, which are all but
    title, type and pin; and the text behind it. A list reads as a comma list.

    A block between two rules is front matter if each line of it is an entry or belongs to one; else it is text.
    """
    found = _FRONT.match(text)
    if found is None:
        return {}, "", text
    entries: dict[str, str] = {}
    kept: list[str] = []
    last = ""
    for line in found[1].splitlines():
        entry, item = _ENTRY.fullmatch(line), _ITEM.fullmatch(line)
        if entry:
            last = entry[1].lower()
            entries[last] = _unquoted(entry[2] or "")
        elif not last or not _INSIDE.fullmatch(line):
            return {}, "", text
        elif item:
            entries[last] = f"{entries[last]}, {_unquoted(item[1])}".removeprefix(", ")
        if last not in _USED and line.strip():
            kept.append(line.rstrip())
    return entries, "\n".join(kept), text[found.end() :]


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


def _tags(value: str) -> list[str]:
    """`[a, b]`, `a, b` or `#a #b` → names in order, each once."""
    names = value.strip("[]").split(",") if "," in value or "#" not in value else value.split()
    return list(dict.fromkeys(tag for name in names if (tag := _unquoted(name).lstrip("#"))))


def _time(front: dict[str, str], path: Path, report: ImportReport) -> datetime:
    if front.get("date"):
        try:
            return parse_time(front["date"], "date")
        except InvalidField:
            report.note("front matter date that is not understood")
    return datetime.fromtimestamp(int(path.stat().st_mtime), UTC)


def _headings(text: str) -> list[tuple[int, int, str]]:
    """Offset, level and words of every heading outside fenced code."""
    found: list[tuple[int, int, str]] = []
    fence = previous = ""
    at = previous_at = 0
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark[1]
        elif heading := _HEADING.fullmatch(line):
            words = re.sub(r"(?:^|[ \t]+)#+[ \t]*$", "", heading[2][:1000])
            if words:
                found.append((at, len(heading[1]), words.strip()))
        elif (under := _UNDERLINE.fullmatch(line)) and _WORDS.match(previous) and not _HEADING.fullmatch(previous):
            found.append((previous_at, 1 if under[1][0] == "=" else 2, previous.strip()))
        previous, previous_at = ("" if fence or mark else line), at
        at += len(line) + 1
    return found


def _sections(text: str, headings: list[tuple[int, int, str]]) -> Iterator[tuple[str, str, str]]:
    """(place below the file, heading, content) of each record; place and heading are empty for a whole file."""
    levels = [level for _, level, _ in headings]
    top = next((level for level in range(1, 7) if levels.count(level) > 1), 0)
    if len(text) <= BIG_CHARS or not top:
        yield from _pieces("", "", text)
        return
    starts = [(at, words) for at, level, words in headings if level == top]
    yield from _pieces("", "", text[: starts[0][0]])
    seen: dict[str, int] = {}
    for (at, words), (end, _) in zip(starts, [*starts[1:], (len(text), "")], strict=True):
        slug = re.sub(r"[\W_]+", "-", words.lower())[:60].strip("-") or "section"
        seen[slug] = seen.get(slug, 0) + 1
        yield from _pieces(slug if seen[slug] == 1 else f"{slug}-{seen[slug]}", words, text[at:end])


def _pieces(place: str, heading: str, text: str) -> Iterator[tuple[str, str, str]]:
    """A section, in parts at line ends where it is longer than a record may be; nothing for a blank one."""
    start, number = 0, 1
    while start < len(text):
        end = min(len(text), start + MAX_CONTENT_CHARS)
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end
        if text[start:end].strip():
            name = place if number == 1 else f"{place}/part-{number}".strip("/")
            yield name, heading, text[start:end]
            number += 1
        start = end
