"""Sessions of coding agents: what was said, called and answered, as one episode each."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
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
    head,
    joined,
    label,
    one_line,
    parts,
    segment,
    shortened,
    stamp,
)

PART_CHARS = 2_000_000  # a session stays one record below this; the store takes records of twice the size
TITLE_CHARS = 80
INPUT_CHARS = 300
RESULT_CHARS = 1_000
MAX_FILES = 50
_MARGIN = 16_384  # read around a cut, so that a secret across it is still seen whole

_OWN_TOOLS = frozenset(("recall_context", "recall", "recall_with_context", "get_contents", "search_memory"))
_OWN_SERVERS = re.compile(r"context[-_]?packs|xmemo", re.IGNORECASE)


@dataclass(slots=True)
class Session:
    """One session, as far as it has been read. `facts` are the first `cwd`, branch and version that it names, `own`
    the calls of our own tools, `seen` the ids of its lines."""

    id: str
    host: str = "claude-code"
    agent: str = ""  # of a subagent, whose session has the id of the one that called it
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
    facts: dict[str, str] = field(default_factory=dict)

    def at(self, value: object, report: ImportReport) -> None:
        """Something was said at a time."""
        try:
            moment = parse_time(value, "timestamp")
        except InvalidField:
            report.note("time that is missing or not understood")
            return
        self.started = self.started or moment
        self.ended = moment if self.ended is None else max(self.ended, moment)

    def fact(self, name: str, value: object) -> None:
        """Keep the first of a name: a session that grows keeps its place."""
        if isinstance(value, str) and value:
            self.facts.setdefault(name, value)


def say(session: Session, speaker: str, text: str, options: ImportOptions, report: ImportReport) -> None:
    """A turn: what somebody said, without injected blocks and secrets."""
    text, removed = strip_injected(text.replace("\r\n", "\n"))
    if removed:
        report.skip("injected block", removed)
    text = clean(text, options, report).strip()
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


def call(
    session: Session, name: str, given: object, identity: object, options: ImportOptions, report: ImportReport
) -> None:
    """A call of a tool with its input on one line."""
    name = one_line(clean(name or "unknown", options, report), 100)
    session.tools[name] += 1
    if _is_own(name) and isinstance(identity, str):
        session.own_calls.add(identity)
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, separators=(",", ":"))
    text = clean(text[: INPUT_CHARS + _MARGIN], options, report)
    session.blocks.append(f"Tool {name}: {one_line(text, INPUT_CHARS)}")


def _is_own(name: str) -> bool:
    """Whether a tool reads from this product: what it answers is stored already."""
    parts_ = name.split("__")
    return parts_[0] == "mcp" and (parts_[-1] in _OWN_TOOLS or bool(_OWN_SERVERS.search(name)))


def result(
    session: Session,
    content: object,
    identity: object,
    options: ImportOptions,
    report: ImportReport,
    *,
    failed: bool = False,
) -> None:
    """What a tool answered, cut to its head and tail; nothing of our own tools."""
    if identity in session.own_calls:
        report.skip("answer of our own tools")
        return
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
        session.blocks.append(f"{'Error' if failed else 'Result'}: {text}")


def relative(path: str, cwd: str) -> str:
    """A path below the working folder without it."""
    path, cwd = path.replace("\\", "/"), cwd.replace("\\", "/").rstrip("/")
    return path.removeprefix(f"{cwd}/") if cwd else path


def _title(session: Session) -> str:
    """What the user named it, the latest summary of its own lines, else of its file, what the host named it, the first
    prompt that says something, a command, any prompt."""
    own = [text for leaf, text in session.summaries if leaf in session.seen]
    others = [text for _, text in session.summaries]
    given = [session.named.get("custom-title"), *own[-1:], *others[-1:], session.named.get("ai-title")]
    said = (session.prompt, session.command, session.greeting)
    return one_line(next((title for title in (*given, *said) if title), ""), TITLE_CHARS)


def in_project(cwd: str, project: str) -> bool:
    """Whether a working folder belongs to a project: a folder with all below it, or the name of one."""
    folder, wanted = cwd.replace("\\", "/").rstrip("/"), project.replace("\\", "/").rstrip("/")
    if "/" not in wanted:
        return wanted in folder.split("/")
    return folder == wanted or folder.startswith(f"{wanted}/")


def records(session: Session, options: ImportOptions, report: ImportReport) -> Iterator[dict[str, Any]]:
    """The episode of a session, or its parts where it is very long."""
    cwd = session.facts.get("cwd", "")
    if options.project and not in_project(cwd, options.project):
        report.skip("session of another project")
        return
    if not session.blocks:
        report.skip("session without text")
        return
    title = _title(session)
    summaries = dict.fromkeys(text for _, text in session.summaries)
    session.blocks += [f"Summary: {shortened(text, MAX_TURN_CHARS)}" for text in summaries]
    project = re.split(r"[/\\]", cwd.rstrip("/\\"))[-1]
    source = {"host": session.host, "session_id": session.id}
    for name, value in (
        ("agent", session.agent),
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
    agent = f"agent-{session.agent}" if session.agent else ""
    identity = ":".join(part for part in (session.host, session.id, agent) if part)
    place = (segment(project) if project else "", segment(session.id[:8]), segment(agent) if agent else "")
    folder = joined(options.path_prefix, "sessions", *place)
    for number, (first, last) in enumerate(parts(session.blocks, PART_CHARS), start=1):
        part = "" if number == 1 else f"part-{number}"
        record: dict[str, Any] = {
            "content": "\n".join(session.blocks[first:last]),
            "kind": "episode",
            "type": "subagent" if agent else "session",
            "title": title,
            "path": joined(folder, part),
            "external_id": label(f"{identity}{':' if part else ''}{part}"),
            "source": source,
            "metadata": metadata,
        }
        if cwd and options.scope is None and options.scope_of is not None:
            record["scope"] = options.scope_of(cwd)
        if session.started is not None:
            record["timestamp"] = stamp(session.started)
        yield record
