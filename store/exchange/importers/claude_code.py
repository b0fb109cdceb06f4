"""`claude-code`: session transcripts of Claude Code. One session is one episode.

A transcript is one JSON object a line: `type` (user, assistant, summary and others), `message.content` (text or a list
of blocks), `sessionId`, `uuid`, `timestamp`, `cwd`, `gitBranch`, `version`, `isSidechain`, `agentId`, `isMeta`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...memory.prepare import repair
from .base import ImportOptions, ImportReport, clean
from .detect import tell_nothing
from .reading import files, tolerant_lines
from .sessions import Session, call, records, relative, result, say

_PATH_INPUTS = ("file_path", "notebook_path")
_FILE_TOOLS = frozenset(("Edit", "MultiEdit", "NotebookEdit", "NotebookRead", "Read", "Write"))
_TITLES = {"custom-title": ("customTitle", "title"), "ai-title": ("aiTitle", "title")}
"""Lines that hold a title of the session, what the user gave first, and the fields in which it may stand."""
_TYPE_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
_SIGNS = ("sessionId", "leafUuid", "messageId", "message")


def read_claude_code(source: Path, options: ImportOptions, report: ImportReport) -> Iterator[dict[str, Any]]:
    """One episode per session of a transcript, or of all `*.jsonl` below a folder, read line by line.

    Content: `User: …`, `Assistant: …` and `Summary: …` turns, `Tool <name>: <input>` on one line of at most 300
    characters of input, `Result: …` cut to head and tail within 1,000 characters. Thinking, meta lines, injected blocks
    and answers of our own tools are left out and counted; so are unknown lines, a half-written last one, and side
    chains of no named agent. A subagent has an episode of its own.

    Title: what the user named it, else the latest summary, else what the host named it, else the first prompt that says
    something. A session is named by `sessionId`, else by its file; lines that another file of the same folder holds
    under its own name are left to that file. Only the base name of the working folder is kept, and paths below it are
    made relative. A session above 2,000,000 characters goes on in `…/part-2`, cut between turns.
    """
    sessions: dict[str, Session] = {}
    for path, name in files(source, (".jsonl",), report, options):
        own = path.name.removesuffix(".jsonl")
        with report.reading(source, name):
            _read_file(path, name, sessions, options, report)
        for key in [key for key, session in sessions.items() if own in (session.id, f"agent-{session.agent}")]:
            yield from records(sessions.pop(key), options, report)
    for session in sessions.values():  # named otherwise than their file: they may go on in another one
        yield from records(session, options, report)


def _read_file(
    path: Path, file: str, sessions: dict[str, Session], options: ImportOptions, report: ImportReport
) -> None:
    """Take in the lines of one transcript."""
    own = path.name.removesuffix(".jsonl")
    touched: list[str] = []
    summaries: list[tuple[str, str]] = []
    known = False
    for line in tolerant_lines(path, report, damaged=True):
        known = known or any(sign in line for sign in _SIGNS)
        if _left_out(line, own, report):
            continue
        if line.get("type") == "summary":
            if isinstance(text := line.get("summary"), str) and text.strip():
                summaries.append((str(line.get("leafUuid")), clean(text, options, report).strip()))
            continue
        name, agent = line.get("sessionId"), _agent(line, own)
        name = repair(name) if isinstance(name, str) and name else (touched[-1] if touched else own)
        if not agent and name != own and name not in touched and _has_file(path, name):
            report.skip("line of a session that has its own file")
            continue
        key = f"{name}:agent-{agent}" if agent else name
        session = sessions.setdefault(key, Session(name, agent=agent))
        if not agent and (not touched or touched[-1] != name):
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
    if not known:
        tell_nothing(path, file, "claude-code", report)


def _agent(line: Mapping[str, Any], own: str) -> str:
    """The name of the subagent that wrote a line, from the line or from its file; empty for the session itself."""
    if line.get("isSidechain") is not True:
        return ""
    named = line.get("agentId")
    if isinstance(named, str) and named:
        return repair(named)
    return own.removeprefix("agent-") if own.startswith("agent-") else ""


def _left_out(line: Mapping[str, Any], own: str, report: ImportReport) -> bool:
    kind = line.get("type")
    if line.get("isSidechain") is True and not _agent(line, own):
        report.skip("side chain")
    elif line.get("isMeta") is True:
        report.skip("meta line")
    elif isinstance(kind, str) and (kind in ("user", "assistant", "summary") or kind in _TITLES):
        return False
    else:
        report.skip(f"line of type {kind}" if isinstance(kind, str) and _TYPE_NAME.fullmatch(kind) else "unknown line")
    return True


def _name(session: Session, line: Mapping[str, Any], options: ImportOptions, report: ImportReport) -> None:
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


def _take(session: Session, line: Mapping[str, Any], options: ImportOptions, report: ImportReport) -> None:
    uuid = line.get("uuid")
    if isinstance(uuid, str):
        if uuid in session.seen:
            report.skip("repeated line")
            return
        session.seen.add(uuid)
    for name in ("cwd", "gitBranch", "version"):
        session.fact(name, line.get(name))
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    speaker = "User" if line.get("type") == "user" else "Assistant"
    if line.get("isCompactSummary") is True:
        speaker = "Summary"
    before = len(session.blocks)
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            say(session, speaker, block, options, report)
        elif isinstance(block, dict):
            _block(session, speaker, block, options, report)
        else:
            report.skip("message without content")
    if len(session.blocks) > before:
        session.at(line.get("timestamp"), report)


def _block(
    session: Session, speaker: str, block: Mapping[str, Any], options: ImportOptions, report: ImportReport
) -> None:
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        say(session, speaker, block["text"], options, report)
    elif kind in ("tool_use", "server_tool_use"):
        _call(session, block, options, report)
    elif kind == "tool_result":
        result(
            session,
            block.get("content"),
            block.get("tool_use_id"),
            options,
            report,
            failed=block.get("is_error") is True,
        )
    elif kind in ("thinking", "redacted_thinking"):
        report.skip("thinking")
    elif kind in ("image", "document"):
        session.blocks.append(f"{speaker}: [{kind}]")
    else:
        report.skip(
            f"block of type {kind}" if isinstance(kind, str) and _TYPE_NAME.fullmatch(kind) else "unknown block"
        )


def _call(session: Session, block: Mapping[str, Any], options: ImportOptions, report: ImportReport) -> None:
    name, given = str(block.get("name") or "unknown"), block.get("input")
    if name in _FILE_TOOLS and isinstance(given, dict):
        for key in _PATH_INPUTS:
            if isinstance(given.get(key), str):
                session.files.add(relative(repair(given[key]), session.facts.get("cwd", "")))
    call(session, name, given, block.get("id"), options, report)
