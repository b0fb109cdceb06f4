"""`codex`: sessions of Codex, which it keeps as `rollout-*.jsonl`. One session is one episode.

A line is `{"timestamp", "type", "payload"}`: `session_meta` (id, cwd, cli_version, git), `response_item` (what the
model was given and gave), `event_msg` (the same for the screen), `turn_context`, `compacted`. Older files hold the
items bare, or as one document `{"session", "items"}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...memory.prepare import repair
from .base import ImportOptions, ImportReport
from .detect import tell_nothing
from .reading import contents, files, parse_json, text_of, tolerant_lines
from .sessions import Session, call, records, relative, result, say

_TYPE_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
_OF_HOST = re.compile(
    r"\s*(?:<(environment_context|user_instructions|permissions instructions|turn_aborted|skills_instructions"
    r"|collaboration_mode|apps_instructions|subagent_notification|user_shell_command)\b|# AGENTS\.md instructions)"
)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_NAMED = re.compile(r"rollout-.*?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl?$")


def read_codex(source: Path, options: ImportOptions, report: ImportReport) -> Iterator[dict[str, Any]]:
    """One episode per session of a file, or of all `rollout-*.jsonl` (also `.json`) below a folder, line by line.

    Content is as that of `claude-code`: turns, tool calls on one line, results cut to head and tail. Instructions and
    notices of the host, reasoning and answers of our own tools are left out and counted, and so is what stands there a
    second time for the screen. A session is named by its `session_meta`, else by its file.
    """
    found = files(source, (".jsonl", ".json"), report, options)
    rollouts = [pair for pair in found if pair[0].name.startswith("rollout-")]
    if source.is_dir() and rollouts and len(rollouts) < len(found):
        report.skip("file that is not a session", len(found) - len(rollouts))
    sessions: dict[str, Session] = {}
    for path, name in rollouts or found:
        with report.reading(source, name):
            named = _NAMED.search(path.name)
            session = Session(named[1] if named else path.name.partition(".")[0], host="codex")
            known = False
            for line in _lines(path, report):
                known = _take(session, line, options, report) or known
            if not known:
                tell_nothing(path, name, "codex", report)
                continue
            if session.id in sessions:
                report.skip("session that another file holds too")
            sessions.setdefault(session.id, session)
        if session.id in sessions:
            yield from records(sessions[session.id], options, report) if sessions[session.id] is session else ()


def _lines(path: Path, report: ImportReport) -> Iterator[Mapping[str, Any]]:
    """The lines of a file; those of an old one, a single document, are its items behind its session."""
    if not path.name.endswith(".json"):
        yield from tolerant_lines(path, report, damaged=True)
        return
    try:
        value = parse_json(text_of(path, contents(path), report))
    except ValueError:
        yield from tolerant_lines(path, report, damaged=True)
        return
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        if isinstance(value.get("session"), dict):
            yield {"type": "session_meta", "payload": value["session"]}
        yield from (one for one in value["items"] if isinstance(one, dict))
    elif isinstance(value, dict):
        yield value


def _take(session: Session, line: Mapping[str, Any], options: ImportOptions, report: ImportReport) -> bool:
    """Take in one line; whether it is one of Codex."""
    kind, payload = line.get("type"), line.get("payload")
    if kind == "session_meta" and isinstance(payload, Mapping):
        _named(session, payload)
    elif kind == "turn_context" and isinstance(payload, Mapping):
        session.fact("cwd", payload.get("cwd"))
    elif kind == "compacted" and isinstance(payload, Mapping):
        if isinstance(payload.get("message"), str):
            say(session, "Summary", payload["message"], options, report)
    elif kind == "response_item" and isinstance(payload, Mapping):
        before = len(session.blocks)
        _item(session, payload, options, report)
        if len(session.blocks) > before:
            session.at(line.get("timestamp"), report)
    elif kind == "event_msg":
        report.skip("line for the screen")
    elif kind is None and "id" in line and ("instructions" in line or "git" in line):
        _named(session, line)
    elif kind in ("message", "reasoning") or (isinstance(kind, str) and ("call_id" in line or kind.endswith("_call"))):
        _item(session, line, options, report)
    else:
        named = isinstance(kind, str) and _TYPE_NAME.fullmatch(kind)
        report.skip(f"line of type {kind}" if named else "unknown line")
        return "record_type" in line
    return True


def _named(session: Session, meta: Mapping[str, Any]) -> None:
    """What the first `session_meta` says; those behind it are of the sessions that this one was forked from."""
    if "named" in session.seen:
        return
    session.seen.add("named")
    if isinstance(meta.get("id"), str) and meta["id"]:
        session.id = repair(meta["id"])
    session.fact("cwd", meta.get("cwd"))
    session.fact("version", meta.get("cli_version"))
    git = meta.get("git")
    session.fact("gitBranch", git.get("branch") if isinstance(git, Mapping) else None)


def _item(session: Session, item: Mapping[str, Any], options: ImportOptions, report: ImportReport) -> None:
    kind = str(item.get("type"))
    if kind == "message":
        _message(session, item, options, report)
    elif kind == "reasoning":
        report.skip("thinking")
    elif kind.endswith("_output"):
        output = item.get("output")
        content, failed = _output(output)
        result(session, content, item.get("call_id"), options, report, failed=failed)
    elif kind.endswith("_call"):
        _call(session, item, options, report)
    else:
        report.skip(f"item of type {kind}" if _TYPE_NAME.fullmatch(kind) else "unknown item")


def _message(session: Session, item: Mapping[str, Any], options: ImportOptions, report: ImportReport) -> None:
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant"):
        report.skip("message of the host")
        return
    for block in content if isinstance(content, list) else [content]:
        text = block.get("text") if isinstance(block, Mapping) else block
        if not isinstance(text, str):
            if isinstance(block, Mapping) and "image" in str(block.get("type")):
                session.blocks.append(f"{'User' if role == 'user' else 'Assistant'}: [image]")
            else:
                report.skip("message without content")
        elif role == "user" and _OF_HOST.match(text):
            report.skip("message of the host")
        else:
            say(session, "User" if role == "user" else "Assistant", text, options, report)


def _call(session: Session, item: Mapping[str, Any], options: ImportOptions, report: ImportReport) -> None:
    name = str(item.get("name") or str(item.get("type")).removesuffix("_call"))
    space = item.get("namespace")
    if isinstance(space, str) and space:
        name = f"{space.rstrip('_')}__{name}"
    given: Any = next((item[field] for field in ("arguments", "input", "action") if item.get(field) is not None), {})
    if isinstance(given, str):
        for path in _PATCHED.findall(given[:1_000_000].replace("\\n", "\n")):
            session.files.add(relative(repair(path.strip()), session.facts.get("cwd", "")))
    call(session, name, given, item.get("call_id"), options, report)


def _output(output: object) -> tuple[object, bool]:
    """What a tool answered, and whether it failed: text, `{"content", "success"}`, or JSON with an exit code."""
    if isinstance(output, Mapping):
        return output.get("content") or output.get("output") or "", output.get("success") is False
    if isinstance(output, str) and output.startswith('{"') and '"metadata"' in output[-4_000:]:
        try:
            value = parse_json(output)
        except ValueError:
            return output, False
        if isinstance(value, dict) and isinstance(value.get("output"), str):
            metadata = value.get("metadata")
            code = metadata.get("exit_code") if isinstance(metadata, dict) else None
            return value["output"], code not in (None, 0)
    return output, False
