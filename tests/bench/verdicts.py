"""When the evidence of a question counts as shown: three verdicts of which each asks for more than the one before.

A question counts when all its evidence turns do. A turn counts under

- *any*: one of its telling sentences stands in the text (of at least four words where the turn has one);
- *key*: the telling sentence with most weight of the answer's words stands (ties: of the question's, then the first);
- *whole*: all of its telling sentences stand.

*any* alone can be gamed by showing the shortest sentence of many turns. White space is normalised.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from datasets import Conversation, Question, Said
from retainkit.types import Turn

from context_packs.store.text.analyzer import index_terms

VERDICTS = ("any", "key", "whole")
WORDS = 4  # of a sentence that may stand for its turn


def normal(text: str) -> str:
    """White space as single blanks."""
    return " ".join(text.split())


def telling(turn: Said) -> list[str]:
    """The sentences of a turn that tell something."""
    sentences = [normal(one) for one in Turn(turn.id, turn.session, turn.speaker, turn.text).sentences()]
    return [one for one in sentences if len(one.split()) >= WORDS] or sentences


@dataclass(frozen=True, slots=True)
class Wanted:
    """One evidence turn: its telling sentences, and which of them is the key."""

    sentences: tuple[str, ...]
    key: int


class Judge:
    """The verdicts over one conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self._turns = {turn.id: turn for turn in conversation.turns}
        held = Counter(term for turn in conversation.turns for term in set(index_terms(turn.text)))
        count = len(conversation.turns)
        self._idf = {term: math.log1p((count - n + 0.5) / (n + 0.5)) for term, n in held.items()}

    def wanted(self, question: Question) -> list[Wanted]:
        """The evidence of a question."""
        return [self._wanted(self._turns[ref], question) for ref in question.evidence]

    def _wanted(self, turn: Said, question: Question) -> Wanted:
        sentences = telling(turn)
        answer, asked = set(index_terms(question.answer)), set(index_terms(question.text))
        best = max(
            range(len(sentences)),
            key=lambda n: (self._weight(sentences[n], answer), self._weight(sentences[n], asked), -n),
            default=0,
        )
        return Wanted(tuple(sentences), best)

    def _weight(self, sentence: str, words: set[str]) -> float:
        return round(sum(self._idf.get(term, 0.0) for term in sorted(set(index_terms(sentence)) & words)), 9)


def judged(text: str, wanted: Sequence[Wanted]) -> tuple[bool, bool, bool]:
    """The three verdicts on a text (white space normalised)."""
    some = key = whole = True
    for one in wanted:
        stands = [sentence in text for sentence in one.sentences]
        some = some and any(stands)
        key = key and stands[one.key]
        whole = whole and all(stands)
    return some, key, whole


def interval(found: int, count: int) -> tuple[float, float]:
    """Wilson score interval of a share at 95 % (Wilson, 1927), in per cent."""
    if not count:
        return 0.0, 100.0
    z, share = 1.96, found / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return 100 * (middle - half), 100 * (middle + half)
