"""What is embedded: turns and short groups of passages, each with the end of what stands before it. Pure.

One vector for a turn tells more than one for each of its sentences ("Yes, on Friday." means nothing alone), and there
are 58 % fewer of them. On LoCoMo the end of the turn before is worth another point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ...records import Span
from ..ranking.signals import begins_turn

TURN_CHARS: Final = 400  # of a turn that one vector stands for; a longer one has several
GROUP_CHARS: Final = 240  # of passages outside of turns
TURN_BEFORE: Final = 160  # of the end of the turn before
GROUP_BEFORE: Final = 80  # of the end of what stands before a group
_TITLE_CHARS: Final = 120
_MOST_PASSAGES: Final = 1_000  # of one unit: as many blank lines as one likes may stand in a text


class Text(NamedTuple):
    """What is needed of a version: `spans` are its passages."""

    title: str
    content: str
    spans: Sequence[Span]


def units_of(text: Text) -> list[int]:
    """How many consecutive passages each unit has; they cover the text."""
    sizes: list[int] = []
    length = 0
    speaker = None
    for span in text.spans:
        most = TURN_CHARS if span.speaker else GROUP_CHARS
        begins = span.speaker != speaker or (bool(span.speaker) and begins_turn(text.content, span))
        if not sizes or begins or length + span.end - span.start > most or sizes[-1] >= _MOST_PASSAGES:
            sizes.append(0)
            length = 0
        sizes[-1] += 1
        length += span.end - span.start
        speaker = span.speaker
    return sizes


def wording(text: Text, first: int, last: int) -> str:
    """What is embedded of passages `first` to `last` (half-open); "" where they are blank.

    The title stands above what is no talk: that of a session is the same for each of its turns.
    """
    content, spans = text.content, text.spans
    start, end = spans[first].start, spans[last - 1].end
    said = " ".join(content[start:end].split())
    if not said:
        return ""
    most = TURN_BEFORE if spans[first].speaker else GROUP_BEFORE
    before = " ".join(content[max(0, start - most) : start].split())
    title = "" if spans[first].speaker else " ".join(text.title.split())[:_TITLE_CHARS]
    return "\n".join(part for part in (title, before, said) if part)
