"""`chatgpt`, `claude-export`: what these services give a user who asks for his data, unpacked or as the archive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import InvalidField
from ...memory.prepare import repair
from ...times import parse_time
from .base import (
    MAX_TURN_CHARS,
    ImportOptions,
    ImportReport,
    clean,
    joined,
    label,
    one_line,
    parts,
    segment,
    shortened,
    stamp,
    turn_marks,
)
from .detect import tell_nothing
from .reading import documents, files

PART_CHARS = 200_000
FILE_CHARS = 2_000  # of the text of a file that was attached
_TITLE_CHARS = 80
_SUFFIXES = (".json", ".zip")
_THOUGHTS = ("thoughts", "reasoning_recap")


@dataclass(slots=True)
class _Talk:
    """One conversation of one branch: turns, the ids of their messages, when it began and when it ended."""

    host: str
    id: str
    title: str
    began: object = None
    turns: list[str] = field(default_factory=list)
    ids: list[Any] = field(default_factory=list)
    times: list[object] = field(default_factory=list)

    def add(self, speaker: str, text: str, identity: object, report: ImportReport) -> None:
        """A turn, if it says anything."""
        if not text.strip():
            report.skip("turn without text")
            return
        if len(text) > MAX_TURN_CHARS:
            report.note("very long turn shortened")
            text = shortened(text, MAX_TURN_CHARS)
        self.turns.append(f"{speaker}: {text.strip()}")
        self.ids.append(repair(str(identity))[:13])


def read_chatgpt(source: Path, options: ImportOptions, report: ImportReport) -> Iterator[dict[str, Any]]:
    """One episode per conversation of `conversations.json`, of an archive that holds it, or of a folder.

    A conversation is a tree; the branch that was shown last is taken, turns of other branches are counted. Turns of
    tools stand as `Tool <name>: …` and `Result: …`, pictures and files by name. What the service adds is left out.
    """
    for path, name in files(source, _SUFFIXES, report, options):
        with report.reading(source, name):
            known = 0
            for member, value in documents(path, report):
                chats = value if isinstance(value, list) else [value]
                for chat in chats:
                    if isinstance(chat, Mapping) and isinstance(chat.get("mapping"), Mapping):
                        known += 1
                        yield from _records(_chatgpt(chat, options, report), options, report)
                    else:
                        report.skip(f"entry of {label(member)}")
            if not known:
                tell_nothing(path, name, "chatgpt", report)


def read_claude_export(source: Path, options: ImportOptions, report: ImportReport) -> Iterator[dict[str, Any]]:
    """One episode per conversation of `conversations.json`, a memory for each document, instruction and memory of a
    project; of an archive that holds them, or of a folder.

    Of several branches the one with the last message is taken, turns of the others are counted. The text of files that
    were attached is shortened to 2,000 characters.
    """
    for path, name in files(source, _SUFFIXES, report, options):
        with report.reading(source, name):
            known = 0
            for member, value in documents(path, report):
                for entry in value if isinstance(value, list) else [value]:
                    if not isinstance(entry, Mapping):
                        report.skip(f"entry of {label(member)}")
                    elif isinstance(entry.get("chat_messages"), list):
                        known += 1
                        yield from _records(_claude(entry, options, report), options, report)
                    elif found := list(_notes(entry, options, report)):
                        known += 1
                        yield from found
                    else:
                        report.skip(f"entry of {label(member)}")
            if not known:
                tell_nothing(path, name, "claude-export", report)


# ---- ChatGPT


def _chatgpt(chat: Mapping[str, Any], options: ImportOptions, report: ImportReport) -> _Talk:
    nodes = {key: node for key, node in chat["mapping"].items() if isinstance(node, Mapping)}
    branch = _branch(nodes, chat.get("current_node"))
    on_it = set(branch)
    others = sum(1 for key, node in nodes.items() if key not in on_it and _has_text(node.get("message")))
    if others:
        report.skip("turn of another branch", others)
    identity = chat.get("conversation_id") or chat.get("id") or (branch[0] if branch else "")
    title = one_line(clean(str(chat.get("title") or ""), options, report), _TITLE_CHARS)
    talk = _Talk("chatgpt", repair(str(identity)), title, chat.get("create_time"))
    for key in branch:
        message = nodes[key].get("message")
        if isinstance(message, Mapping):
            _message(talk, key, message, options, report)
    return talk


def _branch(nodes: Mapping[str, Mapping[str, Any]], current: object) -> list[str]:
    """Keys from the root to the node that was shown last; without it, to the newest leaf."""
    if current not in nodes:
        leaves = [key for key, node in nodes.items() if not node.get("children")]
        current = max(leaves, key=lambda key: (_seconds(nodes[key].get("message")), key), default=None)
    branch: list[str] = []
    known: set[object] = set()
    while isinstance(current, str) and current in nodes and current not in known:
        known.add(current)
        branch.append(current)
        current = nodes[current].get("parent")
    return branch[::-1]


def _seconds(message: object) -> float:
    at = message.get("create_time") if isinstance(message, Mapping) else None
    return float(at) if isinstance(at, int | float) else 0.0


def _has_text(message: object) -> bool:
    content = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(content, Mapping) or not isinstance(message, Mapping):
        return False
    author = message.get("author")
    role = author.get("role") if isinstance(author, Mapping) else None
    return role in ("user", "assistant") and bool(_plain(content).strip())


def _plain(content: Mapping[str, Any]) -> str:
    """The text of a message: its parts, its `text` or its `result`; other parts by their kind."""
    shown: list[str] = []
    for part in content.get("parts") or ():
        if isinstance(part, str):
            shown.append(part)
        elif isinstance(part, Mapping):
            if isinstance(part.get("text"), str):
                shown.append(part["text"])
            else:
                kind = str(part.get("content_type") or "file").removesuffix("_asset_pointer")
                shown.append(f"[{one_line(label(kind), 40)}]")
    for name in ("text", "result"):
        if isinstance(content.get(name), str):
            shown.append(content[name])
    return "\n".join(text for text in shown if text.strip())


def _message(talk: _Talk, key: str, message: Mapping[str, Any], options: ImportOptions, report: ImportReport) -> None:
    author, content = message.get("author"), message.get("content")
    role = author.get("role") if isinstance(author, Mapping) else None
    metadata = message.get("metadata") if isinstance(message.get("metadata"), Mapping) else {}
    assert isinstance(metadata, Mapping)
    if not isinstance(content, Mapping):
        report.skip("turn without text")
        return
    kind = content.get("content_type")
    if kind in _THOUGHTS:
        report.skip("thinking")
        return
    if role not in ("user", "assistant", "tool") or metadata.get("is_visually_hidden_from_conversation") is True:
        report.skip("turn of the service")
        return
    if kind in ("user_editable_context", "model_editable_context"):
        report.skip("turn of the service")
        return
    text = clean(_plain(content), options, report)
    for file in metadata.get("attachments") or ():
        if isinstance(file, Mapping) and file.get("name"):
            text += f" [file: {one_line(clean(str(file['name']), options, report), 200)}]"
    recipient = message.get("recipient")
    if role == "tool":
        talk.add("Result", shortened(text, FILE_CHARS), key, report)
    elif role == "assistant" and isinstance(recipient, str) and recipient not in ("all", ""):
        talk.add(f"Tool {one_line(label(recipient), 100)}", shortened(text, FILE_CHARS), key, report)
    else:
        talk.add("User" if role == "user" else "Assistant", text, key, report)
    talk.times.append(message.get("create_time"))


# ---- Claude


def _claude(chat: Mapping[str, Any], options: ImportOptions, report: ImportReport) -> _Talk:
    messages = [one for one in chat["chat_messages"] if isinstance(one, Mapping)]
    by_id = {one["uuid"]: one for one in messages if isinstance(one.get("uuid"), str)}
    if any(one.get("parent_message_uuid") in by_id for one in messages):
        last = max(messages, key=lambda one: (str(one.get("created_at") or ""), str(one.get("uuid"))))
        branch: list[Mapping[str, Any]] = []
        known: set[int] = set()
        at: Mapping[str, Any] | None = last
        while at is not None and id(at) not in known:
            known.add(id(at))
            branch.append(at)
            at = by_id.get(str(at.get("parent_message_uuid")))
        if len(branch) < len(messages):
            report.skip("turn of another branch", len(messages) - len(branch))
        messages = branch[::-1]
    title = one_line(clean(str(chat.get("name") or ""), options, report), _TITLE_CHARS)
    talk = _Talk("claude-export", repair(str(chat.get("uuid") or "")), title, chat.get("created_at"))
    for message in messages:
        text = clean(_said(message, report), options, report)
        text += _files(message, options, report)
        talk.add("User" if message.get("sender") == "human" else "Assistant", text, message.get("uuid"), report)
        talk.times.append(message.get("created_at"))
    return talk


def _said(message: Mapping[str, Any], report: ImportReport) -> str:
    """The text of a message: its blocks, without thinking and tools; else its `text`."""
    shown: list[str] = []
    blocks = message.get("content")
    for block in blocks if isinstance(blocks, list) else ():
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "text" and isinstance(block.get("text"), str):
            shown.append(block["text"])
        elif kind == "thinking":
            report.skip("thinking")
        elif kind == "tool_use":
            shown.append(f"[tool {one_line(label(str(block.get('name'))), 100)}]")
        elif kind == "tool_result":
            report.skip("result of a tool")
    text = "\n".join(one for one in shown if one.strip())
    return text or str(message.get("text") or "")


def _files(message: Mapping[str, Any], options: ImportOptions, report: ImportReport) -> str:
    """Files of a message by name, with the text that was taken from them."""
    shown = ""
    for name in ("attachments", "files", "files_v2"):
        for file in message.get(name) or ():
            if not isinstance(file, Mapping):
                continue
            named = clean(str(file.get("file_name") or "file"), options, report)
            line = f"[file: {one_line(named, 200)}]"
            if line in shown:
                continue
            text = file.get("extracted_content")
            taken = shortened(clean(text, options, report).strip(), FILE_CHARS) if isinstance(text, str) else ""
            shown += f"\n{line}" + (f"\n{taken}" if taken else "")
    return shown


def _notes(entry: Mapping[str, Any], options: ImportOptions, report: ImportReport) -> Iterator[dict[str, Any]]:
    """Documents and instructions of a project, and what Claude remembers."""
    project = one_line(label(str(entry.get("name") or "")), 100)
    identity = label(str(entry.get("uuid") or "memory"))
    found = [("instructions", "instructions", entry.get("prompt_template"), entry.get("created_at"))]
    for doc in entry.get("docs") or ():
        if isinstance(doc, Mapping):
            found.append((str(doc.get("uuid")), str(doc.get("filename")), doc.get("content"), doc.get("created_at")))
    found.append(("memory", "memory", entry.get("conversations_memory"), None))
    memories = entry.get("project_memories")
    for name, text in memories.items() if isinstance(memories, Mapping) else ():
        found.append((f"memory-{name}", f"memory of {name}", text, None))
    for one, name, text, at in found:
        if not isinstance(text, str) or not text.strip():
            continue
        record: dict[str, Any] = {
            "content": clean(text, options, report).strip(),
            "kind": "memory",
            "type": "note",
            "title": one_line(clean(name, options, report), _TITLE_CHARS),
            "path": joined(options.path_prefix, "claude-export", segment(project) if project else "", segment(name)),
            "external_id": label(f"claude-export:{identity}:{one}"),
            "source": {"host": "claude-export", **({"project": project} if project else {})},
        }
        if (moment := _moment(at)) is not None:
            record["timestamp"] = moment
        yield record


# ---- records


def _moment(value: object) -> str | None:
    try:
        return stamp(parse_time(value, "timestamp"))
    except InvalidField:
        return None


def _records(talk: _Talk, options: ImportOptions, report: ImportReport) -> Iterator[dict[str, Any]]:
    if not talk.turns:
        report.skip("conversation without text")
        return
    times = sorted(found for at in talk.times if (found := _moment(at)))
    began = _moment(talk.began) or (times[0] if times else None)
    if began is None:
        report.note("time that is missing or not understood")
    folder = joined(options.path_prefix, talk.host, segment(talk.title or talk.id[:8]))
    for number, (first, last) in enumerate(parts(talk.turns, PART_CHARS), start=1):
        part = "" if number == 1 else f"part-{number}"
        source = {"host": talk.host, "conversation": label(talk.id)}
        record: dict[str, Any] = {
            "content": "\n".join(talk.turns[first:last]),
            "kind": "episode",
            "type": "chat",
            "title": talk.title,
            "path": joined(folder, part),
            "external_id": label(f"{talk.host}:{talk.id}{':' if part else ''}{part}"),
            "source": source,
            "metadata": turn_marks(talk.turns[first:last], talk.ids[first:last]),
        }
        if times:
            record["metadata"]["ended_at"] = times[-1]
        if began is not None:
            record["timestamp"] = began
        yield record
