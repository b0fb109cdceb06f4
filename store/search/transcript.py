"""What is talk and what is machinery in the transcript of a session: prompts, replies, and tools in between. Pure.

A session reads `User: …`, `Assistant: …`, `Tool Bash: …`, `Result: …`. Tool output has most of the words and little of
the sense, so talk comes before it; and what answers a prompt is the last reply before the next one, however many
calls stand in between.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..query.speech import is_idle
from ..records import Record
from ..values import Hit

__all__ = ["Session", "session_of", "shown_first", "talk_first"]

_LINE: Final = re.compile(
    r"^(?:(?P<user>User|Human|ユーザー?)|(?P<reply>Assistant|AI|アシスタント)|(?P<summary>Summary|要約)"
    r"|(?P<tool>Tool(?:[ ]\S{1,100})?|Result|Error|ツール|結果))\s?[:：]",
    re.MULTILINE,
)
_TOOL_SHARE: Final = 0.25  # of its score that tool output keeps
_REPLY_SHARE: Final = 0.8  # of the score of a prompt that its answer has at least
_REPLY_PASSAGES: Final = 6  # of an answer that a prompt brings
_PROMPT_PASSAGES: Final = 3
_LATE_PROMPTS: Final = 2
_TALK_PASSAGES: Final = 12
_SHORT_REPLY: Final = 200  # characters of a last reply to which the one before belongs
_DONE: Final = re.compile(
    r"(?:[A-Za-z']+[ .,!]*){1,3}|[\u3041-\u30fe\u4e00-\u9fff]{1,10}(?:しました|です|ます|ました|した|済み)[。.！!]*"
)
# Words by which somebody says what was settled, or what is still to be done.
_OUTCOME: Final = re.compile(
    r"\b(?:decid(?:e|ed|ing)|decision|agreed|settled|chose|chosen|going with|went with|todo|to do|"
    r"open (?:point|question|issue|end)s?|still (?:open|missing|fails?|to do)|remain(?:s|ing)|not yet|left to do|"
    r"next step|follow[- ]up|blocked|waiting for)\b"
    r"|決め|決定|採用|合意|残って|残り|残件|未対応|未完|未解決|次は|次に|これから|課題|保留|宿題|待ち",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Session:
    """A transcript by its passages: `tool` which of them are calls and output, `turn` the number of the turn of each,
    `prompts` the turns of the user, each with the turn that answers it (or None)."""

    tool: tuple[bool, ...]
    turn: tuple[int, ...]
    prompts: dict[int, int | None]
    turns: int
    summary: int | None


def session_of(record: Record) -> Session | None:
    """The parts of a transcript; None for a record that is none: it needs prompts or replies, and tools between."""
    content = record.content
    if record.kind != "episode" or not (marks := list(_LINE.finditer(content))):
        return None
    kinds = [match.lastgroup or "" for match in marks]
    if "tool" not in kinds or not {"user", "reply"} & set(kinds):
        return None
    starts = [match.start() for match in marks]
    tool, turn, at = [], [], -1
    for passage in record.passages:
        # A passage belongs to the turn that has begun before its first word.
        while at + 1 < len(starts) and starts[at + 1] < passage.end and starts[at + 1] <= passage.start + 2:
            at += 1
        tool.append(at >= 0 and kinds[at] == "tool")
        turn.append(at)
    prompts: dict[int, int | None] = {}
    open_: list[int] = []
    reply: int | None = None
    for number, kind in enumerate([*kinds, "user"]):
        if kind == "user":
            if reply is not None:
                prompts.update((one, reply) for one in open_)
                open_, reply = [], None
            open_.append(number)
            prompts.setdefault(number, None)
        elif kind == "reply":
            reply = number
    prompts.pop(len(kinds), None)
    summary = next((number for number in reversed(range(len(kinds))) if kinds[number] == "summary"), None)
    return Session(tuple(tool), tuple(turn), prompts, len(kinds), summary)


def shown_first(record: Record) -> list[list[int]] | None:
    """The passages of a transcript that tell what became of it, in rounds: the first prompt and the summary or else
    the last reply; then what was decided and what is open, the last reply and the latest prompts; then other talk. Tool
    output is in none. None for a record that is no transcript."""
    session = session_of(record)
    if session is None:
        return None
    of_turn: dict[int, list[int]] = {}
    for ordinal, turn in enumerate(session.turn):
        if not session.tool[ordinal]:
            of_turn.setdefault(turn, []).append(ordinal)
    prompts = sorted(session.prompts)
    replies = [reply for _, reply in sorted(session.prompts.items()) if reply is not None]
    spoken = [n for n in of_turn if n >= 0 and n not in session.prompts and n != session.summary]
    worded = [n for n in spoken if not _is_closing(" ".join(_text(record, one) for one in of_turn[n]))]
    replies = worded or replies
    last = of_turn.get(replies[-1], []) if replies else []
    if len(replies) > 1 and len("".join(_text(record, n) for n in last)) < _SHORT_REPLY:
        last = [*of_turn[replies[-2]], *last]  # "fixed, it was the lock" and then "still open: the other host"
    first = of_turn.get(prompts[0], [])[:_PROMPT_PASSAGES] if prompts else []
    summary = of_turn.get(session.summary, []) if session.summary is not None else []
    telling = [n for turn in of_turn.values() for n in turn if _OUTCOME.search(_text(record, n))]
    asked = [n for n in prompts if not _is_closing(" ".join(_text(record, one) for one in of_turn.get(n, [])))]
    late = [n for prompt in reversed(asked[-_LATE_PROMPTS:]) for n in of_turn.get(prompt, [])[:_PROMPT_PASSAGES]]
    talk = [n for turn in reversed(list(of_turn.values())) for n in turn]
    rounds = [
        [*first, *(summary or last)[-_REPLY_PASSAGES:]],
        [*last[-_REPLY_PASSAGES:], *reversed(telling[-_REPLY_PASSAGES:]), *late],
        talk[:_TALK_PASSAGES],
    ]
    seen: set[int] = set()
    fresh: list[list[int]] = []
    for passages in rounds:
        fresh.append([n for n in dict.fromkeys(passages) if n not in seen])
        seen.update(passages)
    return fresh


def _is_closing(text: str) -> bool:
    """Whether a turn only thanks, agrees or says that it is done: "You're welcome.", "Committed."."""
    said = _LINE.sub("", text.strip(), count=1).strip()
    return is_idle(said) or (_OUTCOME.search(said) is None and _DONE.fullmatch(said) is not None)


def _text(record: Record, ordinal: int) -> str:
    span = record.passages[ordinal]
    return record.content[span.start : span.end]


def talk_first(hits: Sequence[Hit], records: Mapping[str, Record]) -> tuple[Hit, ...]:
    """The hits with tool output of sessions worth a quarter, and with the answer of each prompt behind it."""
    sessions = {ref: session for ref, record in records.items() if (session := session_of(record)) is not None}
    if not sessions:
        return tuple(hits)
    found: dict[tuple[str, int], Hit] = {}

    def add(hit: Hit) -> None:
        other = found.get((hit.id, hit.ordinal))
        if other is not None:
            hit = replace(hit, score=max(hit.score, other.score), relevant=hit.relevant or other.relevant)
        found[hit.id, hit.ordinal] = hit

    talks = {hit.id for hit in hits if hit.id in sessions and hit.relevant and not sessions[hit.id].tool[hit.ordinal]}
    for hit in hits:
        session = sessions.get(hit.id)
        if session is None:
            add(hit)
            continue
        if session.tool[hit.ordinal]:
            add(replace(hit, score=_TOOL_SHARE * hit.score, relevant=hit.relevant and hit.id not in talks))
            continue
        add(hit)
        answer = session.prompts.get(session.turn[hit.ordinal])
        if answer is not None:
            for n in [n for n, turn in enumerate(session.turn) if turn == answer][:_REPLY_PASSAGES]:
                add(replace(hit, ordinal=n, score=_REPLY_SHARE * hit.score))
    return tuple(sorted(found.values(), key=lambda hit: -hit.score))  # stable: ties keep the order of the ranking
