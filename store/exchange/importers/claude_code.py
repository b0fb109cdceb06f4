"""`claude-code`: session transcripts of Claude Code. One session is one episode.

A transcript is one JSON object a line: `type` (user, assistant, summary and others), `message.content` (text or a list
of blocks), `sessionId`, `uuid`, `timestamp`, `cwd`, `gitBranch`, `version`, `isSidechain`, `isMeta`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ...errors import InvalidField
from ...memory.prepare import repair
from ...query.speech import is_idle
from ...text.injected import strip_injected
from ...times import parse_time
from .base import (
    MAX_TURN_CHARS,
    ImportOptions,
    ImportReport,
    clean,
    cut_between,
    files,
    head,
    joined,
    label,
    one_line,
    parts,
    segment,
    shortened,
    stamp,
    tolerant_lines,
)

PART_CHARS = 2_000_000  # a session stays one record below this; the store takes records of twice the size
TITLE_CHARS = 80
INPUT_CHARS = 300
RESULT_CHARS = 1_000
MAX_FILES = 50
_MARGIN = 16_384  # read around a cut, so that a secret across it is still seen whole

_OWN_TOOLS = frozenset(("recall_context", "recall", "recall_with_context", "get_contents", "search_memory"))
_OWN_SERVERS = re.compile(r"context[-_]?packs|xmemo", re.IGNORECASE)
_PATH_INPUTS = ("file_path", "notebook_path")
_FILE_TOOLS = frozenset(("Edit", "MultiEdit", "NotebookEdit", "NotebookRead", "Read", "Write"))
_TITLES = {"custom-title": ("customTitle", "title"), "ai-title": ("aiTitle", "title")}
"""Lines that hold a title of the session, what the user gave first, and the fields in which it may stand."""
_TYPE_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


@dataclass(slots=True)
class _Session:
    """One session, as far as it has been read."""

    id: str
    blocks: list[str] = field(default_factory=list)
    prompt: str = ""
    greeting: str = ""  # a first prompt that says nothing: it names the session only where no other does
    named: dict[str, str] = field(default_factory=dict)  # titles that the transcript holds, by the kind of their line
    command: str = ""
    summaries: list[tuple[str, str]] = field(default_factory=list)  # (uuid of its last line, text)
    started: datetime | None = None
    ended: datetime | None = None
    turns: int = 0
    tools: Counter[str] = field(default_factory=Counter)
    files: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    own_calls: set[str] = field(default_factory=set)
    facts: dict[str, str] = field(default_factory=dict)  # the first cwd, gitBranch and version


def read_claude_code(source: Path, options: ImportOptions, report: ImportReport) -> Iterator[dict[str, Any]]:
    """One episode per session of a transcript, or of all `*.jsonl` below a folder, read line by line.

    Content: `User: …`, `Assistant: …` and `Summary: …` turns, `Tool <name>: <input>` on one line of at most 300
    characters of input, `Result: …` cut to head and tail within 1,000 characters. Thinking, side chains, meta lines,
    injected blocks and answers of our own tools are left out and counted; so are unknown lines and a half-written last
    one. Title: what the user named it, else the latest summary, else what the host named it, else the first prompt that
    says something. A session is named by `sessionId`, else by its file; lines
    that another file of the same folder holds under its own name are left to that file. Only the base name of the
    working folder is kept, and paths below it are made relative. A session above 2,000,000 characters goes on in
    `…/part-2`, cut between turns.
    """
    sessions: dict[str, _Session] = {}
    for path, _ in files(source, (".jsonl",), report):
        own = path.name.removesuffix(".jsonl")
        touched: list[str] = []
        summaries: list[tuple[str, str]] = []
        for line in tolerant_lines(path, report):
            if _left_out(line, report):
                continue
            if line.get("type") == "summary":
                if isinstance(text := line.get("summary"), str) and text.strip():
                    summaries.append((str(line.get("leafUuid")), clean(text, options, report).strip()))
                continue
            name = line.get("sessionId")
            name = repair(name) if isinstance(name, str) and name else (touched[-1] if touched else own)
            if name != own and name not in touched and _has_file(path, name):
                report.skip("line of a session that has its own file")
                continue
            session = sessions.setdefault(name, _Session(name))
            if not touched or touched[-1] != name:
                touched.append(name)
            if line.get("type") in _TITLES:
                _name(session, line, options, report)
            else:
                _take(session, line, options, report)
        if touched:
            # A summary line names no session: it belongs to the one whose file this is.
            sessions[own if own in touched else touched[-1]].summaries += summaries
        elif summaries:
            report.skip("summary without its session", len(summaries))
        if own in sessions:
            yield from _records(sessions.pop(own), options, report)
    for session in sessions.values():  # named otherwise than their file: they may go on in another one
        yield from _records(session, options, report)


def _left_out(line: Mapping[str, Any], report: ImportReport) -> bool:
    kind = line.get("type")
    if line.get("isSidechain") is True:
        report.skip("side chain")
    elif line.get("isMeta") is True:
        report.skip("meta line")
    elif isinstance(kind, str) and (kind in ("user", "assistant", "summary") or kind in _TITLES):
        return False
    else:
        report.skip(f"line of type {kind}" if isinstance(kind, str) and _TYPE_NAME.fullmatch(kind) else "unknown line")
    return True


def _name(session: _Session, line: Mapping[str, Any], options: ImportOptions, report: ImportReport) -> None:
    """Keep a title that the transcript holds; the last one of each kind counts."""
    kind = str(line["type"])
    given = next((line[name] for name in _TITLES[kind] if isinstance(line.get(name), str)), "")
    if title := clean(given, options, report).strip():
        session.named[kind] = title


def _has_file(path: Path, session: str) -> bool:
    """Whether a transcript named after the session stands beside this one."""
    if not _TYPE_NAME.fullmatch(session):  # ids are UUIDs; anything else must not become a path
        return False
    return path.with_name(f"{session}.jsonl").is_file()


def _take(session: _Session, line: Mapping[str, Any], options: ImportOptions, report: ImportReport) -> None:
    uuid = line.get("uuid")
    if isinstance(uuid, str):
        if uuid in session.seen:
            report.skip("repeated line")
            return
        session.seen.add(uuid)
    for name in ("cwd", "gitBranch", "version"):
        value = line.get(name)
        if isinstance(value, str) and value:
            session.facts.setdefault(name, value)  # the first one: a session that grows keeps its place
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    speaker = "User" if line.get("type") == "user" else "Assistant"
    if line.get("isCompactSummary") is True:
        speaker = "Summary"
    before = len(session.blocks)
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            _say(session, speaker, block, options, report)
        elif isinstance(block, dict):
            _block(session, speaker, block, options, report)
        else:
            report.skip("message without content")
    if len(session.blocks) > before:
        _at(session, line.get("timestamp"), report)


def _at(session: _Session, value: object, report: ImportReport) -> None:
    try:
        moment = parse_time(value, "timestamp")
    except InvalidField:
        report.note("time that is missing or not understood")
        return
    session.started = session.started or moment
    session.ended = moment if session.ended is None else max(session.ended, moment)


def _block(
    session: _Session, speaker: str, block: Mapping[str, Any], options: ImportOptions, report: ImportReport
) -> None:
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        _say(session, speaker, block["text"], options, report)
    elif kind in ("tool_use", "server_tool_use"):
        _call(session, block, options, report)
    elif kind == "tool_result":
        _result(session, block, options, report)
    elif kind in ("thinking", "redacted_thinking"):
        report.skip("thinking")
    elif kind in ("image", "document"):
        session.blocks.append(f"{speaker}: [{kind}]")
    else:
        report.skip(
            f"block of type {kind}" if isinstance(kind, str) and _TYPE_NAME.fullmatch(kind) else "unknown block"
        )


def _say(session: _Session, speaker: str, text: str, options: ImportOptions, report: ImportReport) -> None:
    text = _told(text, options, report)
    if not text:
        return
    if len(text) > MAX_TURN_CHARS:
        report.note("very long turn shortened")
        text = shortened(text, MAX_TURN_CHARS)
    session.blocks.append(f"{speaker}: {text}")
    if speaker == "Summary":
        return
    session.turns += 1
    if speaker == "User":
        if text.startswith("/"):
            session.command = session.command or text
        else:
            idle = is_idle(text)
            session.greeting = session.greeting or (text if idle else "")
            session.prompt = session.prompt or ("" if idle else text)


def _told(text: str, options: ImportOptions, report: ImportReport) -> str:
    """Text without injected blocks and secrets."""
    text, removed = strip_injected(text.replace("\r\n", "\n"))
    if removed:
        report.skip("injected block", removed)
    return clean(text, options, report).strip()


def _call(session: _Session, block: Mapping[str, Any], options: ImportOptions, report: ImportReport) -> None:
    name = one_line(clean(str(block.get("name") or "unknown"), options, report), 100)
    session.tools[name] += 1
    if _is_own(name) and isinstance(block.get("id"), str):
        session.own_calls.add(block["id"])
    given = block.get("input")
    if name in _FILE_TOOLS and isinstance(given, dict):
        for key in _PATH_INPUTS:
            if isinstance(given.get(key), str):
                session.files.add(_relative(repair(given[key]), session.facts.get("cwd", "")))
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, separators=(",", ":"))
    text = clean(text[: INPUT_CHARS + _MARGIN], options, report)
    session.blocks.append(f"Tool {name}: {one_line(text, INPUT_CHARS)}")


def _is_own(name: str) -> bool:
    """Whether a tool reads from this product: what it answers is stored already."""
    parts_ = name.split("__")
    return parts_[0] == "mcp" and (parts_[-1] in _OWN_TOOLS or bool(_OWN_SERVERS.search(name)))


def _result(session: _Session, block: Mapping[str, Any], options: ImportOptions, report: ImportReport) -> None:
    if block.get("tool_use_id") in session.own_calls:
        report.skip("answer of our own tools")
        return
    content = block.get("content")
    shown: list[str] = []
    for one in content if isinstance(content, list) else [content]:
        if isinstance(one, str):
            shown.append(one)
        elif isinstance(one, dict) and isinstance(one.get("text"), str):
            shown.append(one["text"])
        elif isinstance(one, dict):
            shown.append(f"[{one_line(str(one.get('type')), 40)}]")
    text, removed = strip_injected("\n".join(shown).replace("\r\n", "\n"))
    if removed:
        report.skip("injected block", removed)
    text = text.strip()
    if len(text) > 2 * (RESULT_CHARS + _MARGIN):
        # Only what stands near the two ends can be seen, so only that is searched for secrets.
        first = clean(text[: RESULT_CHARS + _MARGIN], options, report)
        last = clean(text[-(RESULT_CHARS + _MARGIN) :], options, report)
        text = cut_between(first, last, len(text), RESULT_CHARS)
    else:
        text = shortened(clean(text, options, report), RESULT_CHARS)
    if text:
        session.blocks.append(f"{'Error' if block.get('is_error') is True else 'Result'}: {text}")


def _relative(path: str, cwd: str) -> str:
    path, cwd = path.replace("\\", "/"), cwd.replace("\\", "/").rstrip("/")
    return path.removeprefix(f"{cwd}/") if cwd else path


def _title(session: _Session) -> str:
    """What the user named it, the latest summary of its own lines, else of its file, what the host named it, the first
    prompt that says something, a command, any prompt."""
    own = [text for leaf, text in session.summaries if leaf in session.seen]
    others = [text for _, text in session.summaries]
    given = [session.named.get("custom-title"), *own[-1:], *others[-1:], session.named.get("ai-title")]
    said = (session.prompt, session.command, session.greeting)
    return one_line(next((title for title in (*given, *said) if title), ""), TITLE_CHARS)


def _records(session: _Session, options: ImportOptions, report: ImportReport) -> Iterator[dict[str, Any]]:
    if not session.blocks:
        report.skip("session without text")
        return
    title = _title(session)
    summaries = dict.fromkeys(text for _, text in session.summaries)
    session.blocks += [f"Summary: {shortened(text, MAX_TURN_CHARS)}" for text in summaries]
    project = re.split(r"[/\\]", session.facts.get("cwd", "").rstrip("/\\"))[-1]
    source = {"host": "claude-code", "session_id": session.id}
    for name, value in (
        ("project", project),
        ("git_branch", session.facts.get("gitBranch")),
        ("version", session.facts.get("version")),
    ):
        if value:
            source[name] = head(repair(value), 200)
    metadata: dict[str, Any] = {"turns": session.turns, "tools": dict(sorted(session.tools.items()))}
    metadata["files"] = sorted(session.files)[:MAX_FILES]
    if session.ended is not None:
        metadata["ended_at"] = stamp(session.ended)
    folder = joined(options.path_prefix, "sessions", segment(project) if project else "", segment(session.id[:8]))
    for number, (first, last) in enumerate(parts(session.blocks, PART_CHARS), start=1):
        part = "" if number == 1 else f"part-{number}"
        record: dict[str, Any] = {
            "content": "\n".join(session.blocks[first:last]),
            "kind": "episode",
            "type": "session",
            "title": title,
            "path": joined(folder, part),
            "external_id": label(f"claude-code:{session.id}{':' if part else ''}{part}"),
            "source": source,
            "metadata": metadata,
        }
        if session.started is not None:
            record["timestamp"] = stamp(session.started)
        yield record
