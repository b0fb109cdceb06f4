"""Data folders that the benchmarks read: gzipped JSON Lines, given on the command line, never shipped.

- LoCoMo (Maharana et al., ACL 2024): `locomo/turns.jsonl.gz`, `locomo/questions.jsonl.gz`.
- BEAM (Tavakoli et al., 2025), chats of 100,000 tokens: `beam100k/turns.jsonl.gz`, `beam100k/questions.jsonl.gz`.
- MemoryBank questions: `memorybank/questions.jsonl.gz`.
- JSQuAD, JaQuAD, XQuAD: `<name>/passages.jsonl.gz`, `<name>/questions.jsonl.gz`.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ADVERSARIAL = 5  # LoCoMo category without a true answer in the dialogue
CAPTION = " [image: {}]"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its category, and the ids of the turns that hold its evidence (all of them are needed)."""

    id: str
    text: str
    category: str
    evidence: tuple[str, ...]
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """One turn: `text` as it was said, `shown` with the caption of its image, which the importer stores too."""

    id: str
    session: int
    speaker: str
    text: str
    shown: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation: its lines as they stand in the file, its turns, and the questions that have evidence in it."""

    id: str
    lines: tuple[dict[str, Any], ...]
    turns: tuple[Said, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Chats:
    """A set of conversations; `unanswerable` are questions whose answer their conversation does not hold, as
    (conversation id, text); `unusable` counts questions left out because they name no turn of their conversation."""

    name: str
    conversations: tuple[Conversation, ...]
    unanswerable: tuple[tuple[str, str], ...]
    unusable: int

    @property
    def count(self) -> int:
        """Number of questions."""
        return sum(len(one.questions) for one in self.conversations)


@dataclass(frozen=True, slots=True)
class Passages:
    """A question set over passages: passages as dicts with `pid`, `title`, `text`; questions as (text, pid)."""

    name: str
    passages: tuple[dict[str, Any], ...]
    questions: tuple[tuple[str, str], ...]


def read(path: Path) -> list[dict[str, Any]]:
    """All objects of a gzipped JSON Lines file."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def locomo(folder: Path, sample: int) -> Chats:
    """LoCoMo without the adversarial category; corrected evidence where the audit gives any; every `sample`-th."""
    asked: list[tuple[str, Question]] = []
    for line in read(folder / "questions.jsonl.gz"):
        if line["category"] == ADVERSARIAL:
            continue
        evidence = (line.get("audit") or {}).get("correct_evidence") or line["evidence"]
        question = Question(
            line["qid"], line["question"], line["category_name"], tuple(evidence), str(line.get("answer") or "")
        )
        asked.append((line["conv_id"], question))
    return _chats("locomo", read(folder / "turns.jsonl.gz"), asked, (), sample)


def beam(folder: Path, sample: int) -> Chats:
    """BEAM, abilities as categories; the abstention questions stand apart, as they have no evidence."""
    asked: list[tuple[str, Question]] = []
    unanswerable = []
    for line in read(folder / "questions.jsonl.gz"):
        if line["ability"] == "abstention":
            unanswerable.append((line["conv_id"], line["question"]))
        else:
            evidence = tuple(map(str, line["evidence"]))
            question = Question(line["qid"], line["question"], line["ability"], evidence, str(line.get("answer") or ""))
            asked.append((line["conv_id"], question))
    return _chats("beam100k", read(folder / "turns.jsonl.gz"), asked, unanswerable, sample)


def _chats(
    name: str,
    lines: Sequence[dict[str, Any]],
    asked: Sequence[tuple[str, Question]],
    unanswerable: Sequence[tuple[str, str]],
    sample: int,
) -> Chats:
    by_conversation: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        by_conversation[line["conv_id"]].append(line)
    turns = {conversation: tuple(map(_said, own)) for conversation, own in by_conversation.items()}
    ids = {conversation: {turn.id for turn in own} for conversation, own in turns.items()}
    usable = []
    for conversation, question in asked:
        known = tuple(one for one in question.evidence if one in ids[conversation])
        if known:
            usable.append((conversation, replace(question, evidence=known)))
    taken: dict[str, list[Question]] = defaultdict(list)
    for conversation, question in usable[::sample]:
        taken[conversation].append(question)
    conversations = tuple(
        Conversation(one, tuple(own), turns[one], tuple(taken[one])) for one, own in by_conversation.items()
    )
    return Chats(name, conversations, tuple(unanswerable[::sample]), len(asked) - len(usable))


def _said(line: dict[str, Any]) -> Said:
    caption = line.get("image_caption")
    return Said(
        id=str(line["dia_id"] if "dia_id" in line else line["id"]),
        session=line["session"] if "session" in line else line["batch"],
        speaker=line.get("speaker") or line["role"],
        text=line["text"],
        shown=line["text"] + (CAPTION.format(caption) if caption else ""),
    )


def passages(folder: Path, sample: int) -> list[Passages]:
    """The question sets of a folder, one per language where questions name theirs; every `sample`-th question."""
    questions: dict[str, list[tuple[str, str]]] = defaultdict(list)
    languages: dict[str, str] = {}
    for line in read(folder / "questions.jsonl.gz"):
        name = f"{folder.name}-{line['lang']}" if "lang" in line else folder.name
        questions[name].append((line["question"], line["pid"]))
        languages[line["pid"]] = name
    held: dict[str, list[dict[str, Any]]] = defaultdict(list)
    prefixes = {pid.rpartition("-p")[0]: name for pid, name in languages.items()}
    for line in read(folder / "passages.jsonl.gz"):
        held[prefixes[line["pid"].rpartition("-p")[0]]].append(line)
    return [Passages(name, tuple(held[name]), tuple(own[::sample])) for name, own in questions.items()]
