"""Hooks of coding agents: the host's JSON on stdin → memory for the session on stdout.

A hook never fails its session: whatever goes wrong, the answer is empty, the exit code 0, and one line on stderr says
why. A session that begins is told everything, in the same bytes from the same store; while it goes on, or is resumed,
it is told nothing twice and never itself (`told`).

Whose memory shows: what was saved with the scope of this project (`project`), then what was saved without a scope,
which is the user's general memory. Every other scope, so every other project, stays out.

Sources: Claude Code hooks reference; the openai/codex sources (`codex-rs/hooks`), which take the same two answers.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from context_packs.store.text import strictjson

from ...errors import ContextPacksError, InvalidField
from ...packing.tokens import DEFAULT, token_counter
from ..forms.limits import HOOK_CEILINGS, PROMPT_LIMITS, within
from .project import old_project_of, project_of, scope_of
from .task import running_task
from .told import Told

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
QUERY_CHARS = 4_000  # of a prompt that are searched with: its two ends, pasted text stands between them
_RATIO_TRIES = 4
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
        cwd = _text(given, "cwd")
        scope = scope_of(project_of(cwd))
        store = store if store and store.strip() else None
        if event in ("pre-compact", "session-end"):
            _keep(host, event, given, scope, store, agent, foreground)
            return "", ""
        old = scope_of(old_project_of(cwd))
        return _answer(host, name, given, [scope, *([old] if old != scope else [])], store, agent), ""
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


def _answer(
    host: str, name: str, given: Mapping[str, Any], scopes: Sequence[str], store: str | None, agent: str | None
) -> str:
    prompt = ""
    if name == "UserPromptSubmit":
        prompt = _searched(_text(given, "prompt"))
        if not prompt or prompt.startswith("/"):  # a command of the host
            return ""
    with _in_haste():
        return _recalled(host, name, prompt, given, scopes, store, agent)


def _recalled(
    host: str,
    name: str,
    prompt: str,
    given: Mapping[str, Any],
    scopes: Sequence[str],
    store: str | None,
    agent: str | None,
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
    told = Told(store, given.get("session_id"))
    begins = name == "SessionStart" and given.get("source") != "resume"  # with nothing of the session before it
    known = () if given.get("source") == "compact" else told.ids("own")
    if not begins:
        known += told.ids("given")
    # By words only: a model would take longer to load than a prompt may wait.
    with ContextPacks.open(store, agent, wait=WAIT, embedder="none", quick_start=True) as packs:
        for query in queries:
            output, ids = _fitting(packs, host, name, query, scopes, known, limits)
            if output:
                told.note("given", ids, anew=begins)
                return output
    return ""


def _searched(prompt: str) -> str:
    prompt = prompt.strip()
    if len(prompt) <= QUERY_CHARS:
        return prompt
    return f"{prompt[: QUERY_CHARS // 2]}\n{prompt[-QUERY_CHARS // 2 :]}"


def _fitting(
    packs: ContextPacks,
    host: str,
    name: str,
    query: str,
    scopes: Sequence[str],
    known: Sequence[str],
    limits: Mapping[str, int],
) -> tuple[str, list[str]]:
    """The answer in the host's form, never above its ceilings, which are those of the whole output; and what it tells.

    How much longer JSON makes a text is known only behind it: a text that is too long is taken again with fewer
    characters, at last with so few that even four bytes for each of them fit.
    """
    most = limits["max_chars"]
    for _ in range(_RATIO_TRIES):
        text, ids = _memory(packs, query, scopes, known, {**limits, "max_chars": most})
        if not text:
            return "", []
        output = encoded(name, text)
        over = overrun(host, output, packs.count_tokens)
        if over <= 1:
            return output, ids
        most = max(1, min(int(len(text) / over) - 100, most - 1))
    least = (min(HOOK_CEILINGS[host].values()) - len(encoded(name, "")) - 1) // 4
    text, ids = _memory(packs, query, scopes, known, {**limits, "max_chars": least})
    return (encoded(name, text) if text else ""), ids


def _memory(
    packs: ContextPacks, query: str, scopes: Sequence[str], known: Sequence[str], limits: Mapping[str, int]
) -> tuple[str, list[str]]:
    """A pack of the project's memory and one of the general memory, one blank line between them. The line that says
    that they are data stands once, before both. With the ids that stand in them; `known` ones do not.

    Of the project's scopes the first that has anything counts. The project takes up to two thirds and the general
    memory the rest; where that is nothing, the project takes all. Where there is room for no record at all, the pack
    that says so is not taken for one that knows nothing.
    """

    def pack(where: str, tokens: int, chars: int) -> Pack:
        return packs.recall_context(
            query,
            profile=PROFILE,
            scope=where,
            exclude_ids=known,
            max_items=limits["max_items"],
            max_tokens=tokens,
            max_chars=chars,
        )

    tokens, chars = limits["max_tokens"], limits["max_chars"]
    for scope in scopes:
        own = pack(scope, max(1, tokens * 2 // 3), max(1, chars * 2 // 3))
        if own.items or own.budget.state == "limited":
            break
    used = own.budget if own.items else None
    rest_tokens, rest_chars = (tokens - used.used_tokens - 2, chars - used.used_chars - 2) if used else (tokens, chars)
    general = pack(GENERAL, rest_tokens, rest_chars) if min(rest_tokens, rest_chars) > 0 else None
    if own.budget.state == "limited" and not (general and general.items):
        own = pack(scope, tokens, chars)
    packs_made = [one for one in (own, general) if one is not None]
    shown = [one for one in packs_made if one.items] or [one for one in packs_made if one.budget.state == "limited"][:1]
    texts = [shown[0].text, *(one.text.partition("\n")[2] for one in shown[1:])] if shown else []
    return "\n\n".join(texts), [item.id for one in shown for item in one.items]


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
        told = {name: given[name] for name in ("cwd", "session_id") if name in given}
        _detach(host, event, {**told, "transcript_path": transcript}, store, agent)
        return
    from pathlib import Path

    from context_packs.store.exchange.importers import ImportOptions, read

    from ...service import ContextPacks

    records = read(host, Path(transcript), options=ImportOptions(mask_secrets=True, scope=scope))
    with ContextPacks.open(store, agent, embedder="none") as packs:
        kept = [one.id for batch in packs.remember_batches(cast("Iterator[NewRecord]", records)) for one in batch]
        Told(store or packs.settings.store, given.get("session_id")).note("own", kept)
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
