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
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ...errors import InvalidField
from .answer import EVENTS
from .project import project_of

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

_BARE = re.compile(r"[\w@%+:,./-]+")  # a word that no shell reads as more than itself
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

    Raises InvalidField for a file that is not the JSON that it should be.

    Args:
        host: whose settings.
        home: the user's folder.
        folder: the working folder, absolute.
        environment: where a host may name another folder for its settings.
        project: the settings of the project of `folder`, not the user's.
        remove: take the hooks out.
        options: what the hooks' commands get, such as `--store`.
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
        raise InvalidField(f"file: cannot read {shown}: {error.strerror}", field="file") from error
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
    return command_line(words, windows=os.name == "nt")


def command_line(words: Sequence[str], *, windows: bool) -> str:
    """Words as one command. On Windows a host runs hooks in Git Bash or in cmd, so it has to mean the same to both:
    forward slashes, since a shell eats the others, and double quotes, which are the only ones that both know."""
    if not windows:
        return shlex.join(words)
    forward = [word.replace("\\", "/") for word in words]
    return " ".join(word if _BARE.fullmatch(word) else f'"{word}"' for word in forward)


def edited(text: str, host: str, wanted: Mapping[str, dict[str, Any] | None], shown: str) -> str:
    """The text of a configuration with the hooks that are wanted.

    Raises InvalidField where the text is not JSON or its `hooks` are not lists of groups by event.

    Args:
        text: the configuration as it stands.
        host: whose it is.
        wanted: the hook for each event of the host; None takes ours out.
        shown: the name of the file in an error.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix(mark)
    if not text.strip():
        text = "{}\n"
    hooks = _hooks(text, shown)
    ours = re.compile(rf"context[-_]packs.*\shook\s+{re.escape(host)}\s", re.DOTALL)
    for event in wanted:
        if not isinstance((hooks or {}).get(event, []), list):
            raise InvalidField(f"file: hooks.{event} in {shown} is not a list: repair it first", field="file")
    if hooks is None:
        new = {event: [{"hooks": [handler]}] for event, handler in wanted.items() if handler is not None}
        return mark + (_put(text, (), "hooks", new) if new else text)
    for event, handler in wanted.items():
        edits = _edits(hooks.get(event), handler, ours)
        for path, value in reversed(edits):
            where = ("hooks", event, *path)
            text = _put(text, where[:-1], where[-1], value)
        hooks = _hooks(text, shown) or {}
        if edits and not hooks[event]:
            text = _put(text, ("hooks",), event, None)
            if len(hooks) == 1:
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


def _edits(
    groups: list[Any] | None, handler: dict[str, Any] | None, ours: re.Pattern[str]
) -> list[tuple[tuple[str | int, ...], Any]]:
    """What to set in the groups of an event (None: there is no list yet), or to take out (None), by path, in the order
    of the text: our handler stands once, where it stood, with what the user changed of it, else in a group behind."""
    found: list[tuple[tuple[str | int, ...], Any]] = []
    placed = handler is None
    for at, group in enumerate(groups or []):
        if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
            continue
        gone: list[int] = []
        for number, one in enumerate(group["hooks"]):
            command = one.get("command") if isinstance(one, dict) else None
            if not isinstance(command, str) or not ours.search(f"{command} "):
                continue
            if handler is None or placed:
                gone.append(number)
                continue
            placed = True
            if command != handler["command"]:
                found.append(((at, "hooks", number, "command"), handler["command"]))
        if gone and len(gone) == len(group["hooks"]):
            found.append(((at,), None))
        else:
            found += [((at, "hooks", number), None) for number in gone]
    if not placed:
        found.append(((), [{"hooks": [handler]}]) if groups is None else ((len(groups),), {"hooks": [handler]}))
    return found


# ---- editing JSON as text


class _Member(NamedTuple):
    key: str | int
    start: int  # of the key, in a list of the value
    value: int  # of the value
    end: int


def _members(text: str, at: int) -> tuple[list[_Member], int]:
    """Members of the object or list that begins at `at` in a valid JSON text, and where it is closed."""
    found: list[_Member] = []
    named = text[at] == "{"
    at = _past(text, at + 1)
    while text[at] not in "}]":
        key, start = len(found), at
        if named:
            key, end = _DECODE(text, at)
            at = _past(text, _past(text, end) + 1)
        _, end = _DECODE(text, at)
        found.append(_Member(key, start, at, end))
        at = _past(text, end)
        if text[at] == ",":
            at = _past(text, at + 1)
    return found, at


def _past(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    assert blank is not None
    return blank.end()


def _put(text: str, path: tuple[str | int, ...], key: str | int, value: Any) -> str:
    """The text with one member of the object or list at `path` set, added behind the others, or (None) taken out."""
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
    member = said if isinstance(key, int) else f"{json.dumps(key)}: {said}"
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

    Raises InvalidField where it was changed since it was read, or cannot be written.
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
        raise InvalidField(f"file: cannot write {change.shown}: {error.strerror}", field="file") from error
