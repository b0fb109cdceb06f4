"""What a running session is about, read from the end of its transcript."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

TAIL_BYTES = 65_536  # of a transcript that are searched for the running task
TASK_CHARS = 1_000  # of the latest prompts, or of the summary
TASK_PROMPTS = 3


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
