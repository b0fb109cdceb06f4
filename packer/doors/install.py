"""Puts our hooks into a host's configuration and takes them out again; everything else in the file stays as it is.

The text of the file is edited where the hooks of one event stand, never written anew, so that key order, indentation
and line ends of everything else are kept. Nothing is written before the caller has seen the difference.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ..errors import InvalidField
from .hooks import EVENTS, project_of

FILES: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "claude-code": (".claude", "settings.json", "CLAUDE_CONFIG_DIR"),
        "codex": (".codex", "hooks.json", "CODEX_HOME"),
    }
)
"""Where each host keeps hooks: folder below the home or the project, file, variable that names another folder."""

TIMEOUTS: Mapping[str, int] = MappingProxyType(
    {"session-start": 10, "user-prompt-submit": 5, "pre-compact": 10, "session-end": 10}
)
"""Seconds after which the host gives up; an answer takes well under one."""

_BLANK = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"\n([ \t]+)\S")
_DECODE = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Change:
    """A configuration file as it is and as it would be. `before` is None where there is no file."""

    path: Path
    shown: str
    before: bytes | None
    after: bytes

    @property
    def needed(self) -> bool:
        """Whether anything would be different."""
        return self.after != (self.before or b"")

    def diff(self) -> str:
        """The difference as a unified diff; empty where there is none."""
        before, after = ((text or b"").decode("utf-8").splitlines() for text in (self.before, self.after))
        name = "/dev/null" if self.before is None else self.shown
        return "\n".join(difflib.unified_diff(before, after, name, self.shown, lineterm=""))


# ---- what to change


def plan(
    host: str,
    *,
    home: Path,
    folder: str,
    environment: Mapping[str, str],
    project: bool = False,
    remove: bool = False,
    options: Mapping[str, str] = MappingProxyType({}),
) -> Change:
    """What installing (or removing) the hooks of a host would change; reads the file, writes nothing.

    `folder` is the working folder (absolute), whose project is meant by `project`; `options` are options that the
    hooks' commands get, such as `--store`. Raises InvalidField for a file that is not the JSON that it should be.
    """
    place, file, variable = FILES[host]
    if project:
        path, shown = Path(project_of(folder), place, file), f"{place}/{file}"
    elif environment.get(variable):
        path, shown = Path(environment[variable], file), f"${variable}/{file}"
    else:
        path, shown = home / place / file, f"~/{place}/{file}"
    try:
        before = path.read_bytes() if path.exists() else None
        text = (before or b"").decode("utf-8")
    except OSError as error:
        raise InvalidField(f"file: can not read {shown}: {error.strerror}", field="file") from error
    except UnicodeDecodeError as error:
        raise InvalidField(f"file: {shown} is not UTF-8: repair it first; it stays as it is", field="file") from error
    wanted: dict[str, dict[str, Any] | None] = {}
    for event, name in EVENTS[host].items():
        wanted[name] = None
        if not remove:
            command = _command(host, event, options, everywhere=project)
            wanted[name] = {"type": "command", "command": command, "timeout": TIMEOUTS[event]}
    if remove and before is None:
        return Change(path, shown, None, b"")
    return Change(path, shown, before, edited(text, host, wanted, shown).encode())


def _command(host: str, event: str, options: Mapping[str, str], *, everywhere: bool) -> str:
    """The command of one hook. A user's settings name this installation by its path, so that no search path matters; a
    project's settings are shared, so they name the command only."""
    words = ["context-packs"]
    if not everywhere:
        script = Path(sys.executable).with_name("context-packs.exe" if os.name == "nt" else "context-packs")
        found = str(script) if script.is_file() else None
        words = [found] if found else [sys.executable, "-P", "-m", "context_packs.packer.doors.cli"]
    words += ["hook", host, event]
    for name, value in options.items():
        words += [name, value]
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def edited(text: str, host: str, wanted: Mapping[str, dict[str, Any] | None], shown: str) -> str:
    """The text of a configuration with the hooks wanted per event of the host; None takes ours out.

    Raises InvalidField where the text is not JSON or its `hooks` are not lists of groups by event.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix(mark)
    if not text.strip():
        text = "{}\n"
    hooks = _hooks(text, shown)
    ours = re.compile(rf"context[-_]packs.*\shook\s+{re.escape(host)}\s", re.DOTALL)
    changed = {}
    for event, handler in wanted.items():
        groups = (hooks or {}).get(event, [])
        if not isinstance(groups, list):
            raise InvalidField(f"file: hooks.{event} in {shown} is not a list: repair it first", field="file")
        after = _with(groups, handler, ours)
        if after != groups:
            changed[event] = after
    if hooks is None:
        return mark + (_put(text, (), "hooks", changed) if changed else text)
    for event, groups in changed.items():
        text = _put(text, ("hooks",), event, groups or None)
    if changed and hooks and not _hooks(text, shown):
        text = _put(text, (), "hooks", None)
    return mark + text


def _hooks(text: str, shown: str) -> dict[str, Any] | None:
    try:
        settings = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        message = f"file: {shown} is not JSON ({where}): repair it first; it stays as it is"
        raise InvalidField(message, field="file") from error
    except (ValueError, RecursionError) as error:
        raise InvalidField(f"file: {shown} is not JSON: repair it first; it stays as it is", field="file") from error
    if not isinstance(settings, dict) or not isinstance(settings.get("hooks", {}), dict):
        raise InvalidField(f"file: {shown} holds no object with an object `hooks`: repair it first", field="file")
    return settings.get("hooks")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _with(groups: list[Any], handler: dict[str, Any] | None, ours: re.Pattern[str]) -> list[Any]:
    """The groups of an event with our handler once: where it stood, with what the user changed of it, else behind."""
    result: list[Any] = []
    placed = handler is None
    for group in groups:
        if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
            result.append(group)
            continue
        kept = []
        for one in group["hooks"]:
            command = one.get("command") if isinstance(one, dict) else None
            if not isinstance(command, str) or not ours.search(f"{command} "):
                kept.append(one)
            elif handler is not None and not placed:
                kept.append({**one, "command": handler["command"]})
                placed = True
        if kept or not group["hooks"]:
            result.append({**group, "hooks": kept})
    return result if placed else [*result, {"hooks": [handler]}]


# ---- editing JSON as text


class _Member(NamedTuple):
    key: str
    start: int  # of the key
    value: int  # of the value
    end: int


def _members(text: str, at: int) -> tuple[list[_Member], int]:
    """Members of the object that begins at `at` in a valid JSON text, and where its closing brace stands."""
    found = []
    at = _past(text, at + 1)
    while text[at] != "}":
        key, end = _DECODE(text, at)
        value = _past(text, _past(text, end) + 1)
        _, end = _DECODE(text, value)
        found.append(_Member(key, at, value, end))
        at = _past(text, end)
        if text[at] == ",":
            at = _past(text, at + 1)
    return found, at


def _past(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    assert blank is not None
    return blank.end()


def _put(text: str, path: tuple[str, ...], key: str, value: Any) -> str:
    """The text with one member of the object at `path` set, added behind the others, or (None) taken out."""
    at = _past(text, 0)
    for name in path:  # of equal names the last one counts, as it does for a reader
        at = next(member.value for member in reversed(_members(text, at)[0]) if member.key == name)
    members, close = _members(text, at)
    there = next((i for i in reversed(range(len(members))) if members[i].key == key), None)
    if value is None:
        if there is None:
            return text
        if there + 1 < len(members):
            return text[: members[there].start] + text[members[there + 1].start :]
        start = members[there - 1].end if there else at + 1
        return text[:start] + text[members[there].end if there else close :]
    unit = found[1] if (found := _INDENT.search(text)) else "  "
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    on_lines = "\n" in text[at:close] or text[at + 1 : close].strip() == ""
    margin = end_of_line + unit * (len(path) + 1)
    said = _said(value, unit if on_lines else None).replace("\n", margin)
    if there is not None:
        return text[: members[there].value] + said + text[members[there].end :]
    member = f"{json.dumps(key)}: {said}"
    if not members:
        return f"{text[: at + 1]}{margin}{member}{end_of_line}{unit * len(path)}{text[close:]}"
    end = members[-1].end
    return f"{text[:end]},{margin if on_lines else ' '}{member}{text[end:]}"


def _said(value: Any, indent: str | None) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate in what others wrote: only its escape can be kept
        return json.dumps(value, indent=indent)
    return text


# ---- writing


def write(change: Change) -> None:
    """Write the file whole or not at all, through a link where it is one, with the mode that it had.

    Raises InvalidField where it was changed since it was read, or can not be written.
    """
    path = Path(os.path.realpath(change.path))
    draft = ""
    try:
        if (path.read_bytes() if path.exists() else None) != change.before:
            raise InvalidField(f"file: {change.shown} has changed meanwhile: run the command again", field="file")
        path.parent.mkdir(parents=True, exist_ok=True)
        number, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with open(number, "wb") as stream:
            stream.write(change.after)
            stream.flush()
            os.fsync(stream.fileno())
        if change.before is not None:
            shutil.copymode(path, draft)
        os.replace(draft, path)
    except OSError as error:
        if draft:
            Path(draft).unlink(missing_ok=True)
        raise InvalidField(f"file: can not write {change.shown}: {error.strerror}", field="file") from error
