"""Hooks of coding agents: the host's JSON on stdin → memory for the session on stdout.

A hook never fails its session: whatever goes wrong, the answer is empty, the exit code 0, and one line on stderr says
why. Nothing is remembered between two calls, so the same store and the same input give the same bytes.

Whose memory shows: what was saved with the scope of this project (`project:<absolute path>` of the Git root above the
working folder, else of the folder itself; a Git worktree is a project of its own), then what was saved without a scope,
which is the user's general memory. Every other scope, so every other project, stays out.

Sources: Claude Code hooks reference; the openai/codex sources (`codex-rs/hooks`), which take the same two answers.
"""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from context_packs.store.text import strictjson

from ...errors import ContextPacksError, InvalidField
from ...packing.tokens import DEFAULT, token_counter
from ..forms.limits import HOOK_CEILINGS, PROMPT_LIMITS, within

if TYPE_CHECKING:
    from ...fields import NewRecord
    from ...packing.pack import Pack
    from ...service import ContextPacks

EVENTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "claude-code": MappingProxyType(
            {
                "session-start": "SessionStart",
                "user-prompt-submit": "UserPromptSubmit",
                "pre-compact": "PreCompact",
                "session-end": "SessionEnd",
            }
        ),
        "codex": MappingProxyType({"session-start": "SessionStart", "user-prompt-submit": "UserPromptSubmit"}),
    }
)
"""Hosts, the events that are answered for each, and the host's own names of them."""

GENERAL = "private"  # the scope of a record that was saved without one
WAIT = 2.0  # seconds that an answer waits for its turn with the store; an import waits as long as any write
PROFILE = "session_start"
TAIL_BYTES = 65_536  # of a transcript that are searched for the running task
QUERY_CHARS = 4_000  # of a prompt that are searched with: its two ends, pasted text stands between them
TASK_CHARS = 1_000  # of the latest prompts, or of the summary
TASK_PROMPTS = 3
_LABEL_CHARS = 512  # of a scope
_PATH_CHARS = 32_767  # the longest path of any platform
_RATIO_TRIES = 4
_UNFIT = re.compile("[|\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_COMMAND = (sys.executable, "-P", "-m", "context_packs.packer.doors.cli")  # -P: nothing from the working folder


def run_hook(
    host: str,
    event: str,
    read: Callable[[], str],
    store: str | None = None,
    agent: str | None = None,
    *,
    foreground: bool = False,
) -> tuple[str, str]:
    """What a hook answers: (text for stdout or "", one line for stderr or ""). Raises nothing.

    Args:
        host, event: as EVENTS has them.
        read: gives the host's JSON.
        store, agent: those of the command line.
        foreground: import a transcript before returning, not in a process of its own, which ends by itself.
    """
    try:
        name = EVENTS.get(host, {}).get(event)
        if name is None:
            known = "; ".join(f"{one} {', '.join(events)}" for one, events in EVENTS.items())
            raise InvalidField(f"event: {host[:40]} {event[:40]} is not known: use {known}", field="event")
        given = _given(read())
        scope = scope_of(project_of(_text(given, "cwd")))
        store = store if store and store.strip() else None
        if event in ("pre-compact", "session-end"):
            _keep(host, event, given, scope, store, agent, foreground)
            return "", ""
        return _answer(host, name, given, scope, store, agent), ""
    except ContextPacksError as error:
        return "", " ".join(str(error).split())
    except Exception as error:  # a fault of ours must not stop somebody's work
        return "", f"unexpected {type(error).__name__}: this is a bug in context-packs"


def _given(text: str) -> dict[str, Any]:
    try:
        value = strictjson.loads(text.removeprefix("\ufeff"))
    except strictjson.RepeatedKey as error:
        raise InvalidField(f"input: {error}; give it once", field=error.key) from error
    except (ValueError, RecursionError) as error:
        raise InvalidField("input: is not JSON", field="input") from error
    if not isinstance(value, dict):
        raise InvalidField("input: is not a JSON object", field="input")
    return value


def _text(given: Mapping[str, Any], field: str) -> str:
    value = given.get(field)
    if not isinstance(value, str) or not value:
        raise InvalidField(f"{field}: is missing or not text", field=field)
    return value


# ---- the project


def project_of(cwd: str) -> str:
    """The folder that names the project: the nearest one upward that holds `.git`, else `cwd` itself.

    The folder may be gone. Raises InvalidField for a path that is not absolute.
    """
    if not os.path.isabs(cwd) or len(cwd) > _PATH_CHARS:
        raise InvalidField("cwd: is not an absolute path", field="cwd")
    path = folder = os.path.normpath(cwd)
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return path
        folder = parent
    return folder


def scope_of(project: str) -> str:
    """`project:<path>`; a path that cannot stand in a scope (`|`, control characters, above 512 characters) ends in a
    digest of the whole, so that no two projects share one."""
    text = f"project:{project}"
    plain = _UNFIT.sub("-", text).strip()
    if plain == text and len(text) <= _LABEL_CHARS:
        return text
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{plain[: _LABEL_CHARS - 17].rstrip()}~{digest}"


# ---- answers


@contextmanager
def _in_haste() -> Iterator[None]:
    """What makes a process that answers once faster.

    The vocabulary loads in a thread beside the imports, which take longer: its loading keeps no interpreter lock, and
    55 ms are saved where there is a second core. Looking for garbage, of which there is none yet, takes 25 ms.
    """
    vocabulary = threading.Thread(target=token_counter(DEFAULT, quick_start=True).count, args=("",))
    vocabulary.start()
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
        vocabulary.join()


def _answer(host: str, name: str, given: Mapping[str, Any], scope: str, store: str | None, agent: str | None) -> str:
    prompt = ""
    if name == "UserPromptSubmit":
        prompt = _searched(_text(given, "prompt"))
        if not prompt or prompt.startswith("/"):  # a command of the host
            return ""
    with _in_haste():
        return _recalled(host, name, prompt, given, scope, store, agent)


def _recalled(
    host: str, name: str, prompt: str, given: Mapping[str, Any], scope: str, store: str | None, agent: str | None
) -> str:
    from context_packs.store.file.foreign import identity, refuse_address

    from ...packing.profile import load_profile
    from ...service import ContextPacks
    from ...settings import Settings

    store = store or Settings.from_environment().store
    refuse_address(store)
    if identity(os.path.realpath(store)) is None:
        return ""  # nothing was ever remembered: make no file either
    limits = within(host, load_profile(PROFILE).defaults.model_dump(exclude_none=True))
    queries = [""]
    if prompt:
        limits = {**limits, **PROMPT_LIMITS}
        queries = [prompt]
    elif given.get("source") == "compact" and isinstance(given.get("transcript_path"), str):
        queries = [*running_task(given["transcript_path"]), ""]
    # By words only: a model would take longer to load than a prompt may wait.
    with ContextPacks.open(store, agent, wait=WAIT, embedder="none", quick_start=True) as packs:
        for query in queries:
            output = _fitting(packs, host, name, query, scope, limits)
            if output:
                return output
    return ""


def _searched(prompt: str) -> str:
    prompt = prompt.strip()
    if len(prompt) <= QUERY_CHARS:
        return prompt
    return f"{prompt[: QUERY_CHARS // 2]}\n{prompt[-QUERY_CHARS // 2 :]}"


def _fitting(packs: ContextPacks, host: str, name: str, query: str, scope: str, limits: Mapping[str, int]) -> str:
    """The answer in the host's form, never above its ceilings, which are those of the whole output.

    How much longer JSON makes a text is known only behind it: a text that is too long is taken again with fewer
    characters, at last with so few that even four bytes for each of them fit.
    """
    most = limits["max_chars"]
    for _ in range(_RATIO_TRIES):
        text = _memory(packs, query, scope, {**limits, "max_chars": most})
        if not text:
            return ""
        output = encoded(name, text)
        over = overrun(host, output, packs.count_tokens)
        if over <= 1:
            return output
        most = max(1, min(int(len(text) / over) - 100, most - 1))
    least = (min(HOOK_CEILINGS[host].values()) - len(encoded(name, "")) - 1) // 4
    text = _memory(packs, query, scope, {**limits, "max_chars": least})
    return encoded(name, text) if text else ""


def _memory(packs: ContextPacks, query: str, scope: str, limits: Mapping[str, int]) -> str:
    """A pack of the project's memory and one of the general memory, one blank line between them. The line that says
    that they are data stands once, before both.

    The project takes up to two thirds and the general memory the rest; where that is nothing, the project takes all.
    Where there is room for no record at all, the pack that says so is not taken for one that knows nothing.
    """

    def pack(where: str, tokens: int, chars: int) -> Pack:
        return packs.recall_context(
            query, profile=PROFILE, scope=where, max_items=limits["max_items"], max_tokens=tokens, max_chars=chars
        )

    tokens, chars = limits["max_tokens"], limits["max_chars"]
    own = pack(scope, max(1, tokens * 2 // 3), max(1, chars * 2 // 3))
    used = own.budget if own.items else None
    rest_tokens, rest_chars = (tokens - used.used_tokens - 2, chars - used.used_chars - 2) if used else (tokens, chars)
    general = pack(GENERAL, rest_tokens, rest_chars) if min(rest_tokens, rest_chars) > 0 else None
    if own.budget.state == "limited" and not (general and general.items):
        own = pack(scope, tokens, chars)
    packs_made = [one for one in (own, general) if one is not None]
    shown = [one for one in packs_made if one.items] or [one for one in packs_made if one.budget.state == "limited"][:1]
    return "\n\n".join([shown[0].text, *(one.text.partition("\n")[2] for one in shown[1:])] if shown else ())


def encoded(name: str, context: str) -> str:
    """The JSON by which both hosts take context: one line, without its line end."""
    answer = {"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}}
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def overrun(host: str, output: str, count: Callable[[str], int]) -> float:
    """The share of the host's tightest ceiling that an output and its line end take: up to 1 it fits."""
    ceilings = HOOK_CEILINGS[host]
    line = f"{output}\n"
    sizes = {"utf16": len(line.encode("utf-16-le")) // 2, "utf8": len(line.encode())}
    if "tokens" in ceilings:
        sizes["tokens"] = count(line)
    return max(sizes[unit] / ceiling for unit, ceiling in ceilings.items())


# ---- the running task


def running_task(transcript: str) -> list[str]:
    """What a session is about, as queries to try in turn: its latest prompts, then its latest summary.

    Read from the last 64 KB of a transcript (Claude Code's or a Codex rollout); empty where it cannot be read.
    """
    from context_packs.store.text.injected import strip_injected

    prompts: list[str] = []
    summary = ""
    for line in reversed(_tail(transcript)):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):  # a line of which only the end was read, or half-written
            continue
        said, is_summary = _said(value) if isinstance(value, dict) else ("", False)
        text = strip_injected(said)[0].strip()
        if not text or text.startswith("/"):
            continue
        if is_summary:
            summary = summary or text
        elif len(prompts) < TASK_PROMPTS and text not in prompts:
            prompts.append(text)
    return [text[:TASK_CHARS] for text in ("\n".join(prompts), summary) if text]


def _tail(path: str) -> Sequence[bytes]:
    path = os.path.expanduser(path)
    try:
        if not os.path.isfile(path):
            return ()
        with open(path, "rb") as stream:
            stream.seek(max(0, os.path.getsize(path) - TAIL_BYTES))
            return stream.read(TAIL_BYTES).split(b"\n")
    except (OSError, ValueError):  # gone, not ours to read, or no path at all: the session starts without it
        return ()


def _said(line: Mapping[str, Any]) -> tuple[str, bool]:
    """What the user typed in a line of a transcript, or a summary of the session (then True)."""
    kind, inner = line.get("type"), line.get("payload")
    if kind == "summary":
        return _joined(line.get("summary")), True
    if kind == "user" and line.get("isMeta") is not True and line.get("isSidechain") is not True:
        message = line.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        return _joined(content), line.get("isCompactSummary") is True
    if kind == "event_msg" and isinstance(inner, dict) and inner.get("type") == "user_message":
        return _joined(inner.get("message")), False
    if kind == "compacted" and isinstance(inner, dict):
        return _joined(inner.get("message")), True
    return "", False


def _joined(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


# ---- keeping what was said


def _keep(
    host: str, event: str, given: Mapping[str, Any], scope: str, store: str | None, agent: str | None, foreground: bool
) -> None:
    """Import the transcript, secrets masked. Again after more was said, its record gets a new version.

    At the end of a session all hooks together have 1.5 seconds: so a process of its own imports a long transcript.
    """
    transcript = os.path.expanduser(_text(given, "transcript_path"))
    try:
        os.stat(transcript)
    except PermissionError as error:
        raise InvalidField("transcript_path: cannot be read: make it readable", field="transcript_path") from error
    except (OSError, ValueError):
        pass  # there is none: told below
    if not os.path.isfile(transcript):
        raise InvalidField("transcript_path: there is no such file", field="transcript_path")
    if not foreground:
        _detach(host, event, {"cwd": given["cwd"], "transcript_path": transcript}, store, agent)
        return
    from pathlib import Path

    from context_packs.store.exchange.importers import ImportOptions, read

    from ...service import ContextPacks

    records = read(host, Path(transcript), options=ImportOptions(mask_secrets=True, scope=scope))
    with ContextPacks.open(store, agent, embedder="none") as packs:
        for _ in packs.remember_batches(cast("Iterator[NewRecord]", records)):
            pass  # the records are what is wanted, not their ids
    with ContextPacks.open(store, agent) as packs:
        packs.embed_pending(seconds=60)  # nobody waits for this process


def _detach(host: str, event: str, given: Mapping[str, Any], store: str | None, agent: str | None) -> None:
    """Start the same hook in the foreground of a process that outlives this one."""
    command = [*_COMMAND, "hook", host, event, "--foreground"]
    for option, value in (("--store", store), ("--agent", agent)):
        if value is not None:
            command += [option, value]
    flags = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        creationflags=flags,
    )
    assert process.stdin is not None
    with process.stdin as stdin:
        stdin.write(json.dumps(given).encode())
