"""What governs a passage: without it the passage says less, or something else. Pure.

The rest of a sentence that was cut into several passages, a neighbour that qualifies it, the reply to a question, the
header of its table, the words that introduce its list and its heading.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import regex

from context_packs.store.records import Span
from context_packs.store.search.ranking.signals import asks, begins_turn
from context_packs.store.text.cuts import is_wide

SHORT_CHARS = 480
"""Characters of a record that is completed once all hits are shown; half of it where a character says more."""
FARTHEST = 400  # passages that are looked back for a heading or the top of a list, so that each step stays cheap
MOST_PIECES = 40  # of one sentence
LONGEST_ANSWER = 4  # passages; a longer reply is a speech, whose first words seldom answer
_CONTINUES = regex.compile(r"[\p{M}\u200c\u200d]")
_BREAK = re.compile("\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CLOSERS = r"[)\]}\"'”’»」』）】〉》*_~`]*"
_ENDED = re.compile(rf"[.!?:。！？｡．：…؟।]{_CLOSERS}\Z")
_BLANKS = re.compile(r"\s+")
_OPENING = r"[\s\-*+•・>#※（(「『【\[\"'“‘]*(?:[^\W\d_][\w .-]{0,39}[:：]\s*)?"
_QUALIFIER = re.compile(
    rf"{_OPENING}(?:"
    r"(?i:however|but|yet|except|excepting|unless|although|though|nevertheless|nonetheless|otherwise|instead|only|caveats?"
    r"|that said|note that|not|never|no longer|with the exception|on the other hand|in contrast|aber|jedoch|allerdings"
    r"|außer|ausser|mais|cependant|toutefois|sauf|pero|sin embargo|salvo)\b"
    r"|(?i:still,|exceptions?(?:[:：]| (?:is|are|to)\b))"
    r"|ただし|但し|ただ、|しかし|だが|ですが|でも、|なお|尚、|けれど|とはいえ|もっとも、|一方|逆に|ところが|除く|除き|例外|以外"
    r"|但|然而|不过|除非|除了|하지만|그러나|다만|단,)"
)
_EXCEPTED = re.compile("(?:を|は)除(?:く|き|いて)|を例外と|に限り|に限る")
_EXCEPTED_CHARS = 80
_DIVIDED = ("sentence", "turn", "item", "log")  # kinds whose passages can be pieces of one sentence


def sentence_of(content: str, spans: Sequence[Span], hit: int) -> list[int]:
    """The other pieces of the sentence that a passage is a piece of, nearest first."""
    low = high = hit
    while low > 0 and hit - low < MOST_PIECES and _goes_on(content, spans[low - 1], spans[low]):
        low -= 1
    while high + 1 < len(spans) and high - hit < MOST_PIECES and _goes_on(content, spans[high], spans[high + 1]):
        high += 1
    others = [ordinal for ordinal in range(low, high + 1) if ordinal != hit]
    return sorted(others, key=lambda ordinal: (abs(ordinal - hit), ordinal))


def _goes_on(content: str, one: Span, following: Span) -> bool:
    """Whether a sentence reaches from one passage into the next: the division cuts only long ones."""
    if (one.kind, one.speaker) != (following.kind, following.speaker) or one.kind not in _DIVIDED:
        return False
    first, last = ink_of(content, one)
    if last - first < 40 or _ENDED.search(content, max(first, last - 16), last):
        return False
    breaks = len(_BREAK.findall(content, last, ink_of(content, following)[0]))
    return breaks == 0 or (breaks == 1 and last - first > 80 and one.kind in ("sentence", "turn"))


def qualifiers(content: str, spans: Sequence[Span], hit: int) -> list[int]:
    """Following passages that qualify one, at most two, and the one before where the passage itself is a qualifier."""
    found: list[int] = []
    after = hit
    while len(found) < 2 and (following := neighbour(content, spans, after, 1)) is not None:
        if _goes_on(content, spans[after], spans[following]):
            after = following
            continue
        if not _qualifies(content, spans[following]):
            break
        found.append(following)
        after = following
    before = neighbour(content, spans, hit, -1)
    if before is not None and _qualifies(content, spans[hit]):
        found.append(before)
    return found


def _qualifies(content: str, span: Span) -> bool:
    if span.kind in ("code", "log", "heading"):
        return False
    first, last = ink_of(content, span)
    if _QUALIFIER.match(content, first, last):
        return True
    return last - first <= _EXCEPTED_CHARS and _EXCEPTED.search(content, first, last) is not None


def governors(content: str, spans: Sequence[Span], hit: int) -> list[int]:
    """What stands above a passage and holds for it: the header of its table, what introduces its list, its heading."""
    kind = spans[hit].kind
    found: list[int] = []
    top = hit
    lowest = _begins(content, spans, hit)
    if kind in ("row", "item"):
        while top > lowest and spans[top - 1].kind in (kind, "blank"):
            top -= 1
        named = _BREAK.search(words_of(content, spans[top]))  # the names of the columns and the rule below them
        if kind == "row" and top != hit and named:
            found.append(top)
        before = neighbour(content, spans, top, -1)
        if before is not None and before >= lowest and words_of(content, spans[before]).endswith((":", "：")):
            found.append(before)
    heading = next((n for n in range(top - 1, lowest - 1, -1) if spans[n].kind == "heading"), None)
    return found if heading is None or heading in found else [*found, heading]


def _begins(content: str, spans: Sequence[Span], hit: int) -> int:
    """The first passage that can govern one: of its turn, as what was said before is not about it, and not too far."""
    speaker, first = spans[hit].speaker, hit
    while first > max(hit - FARTHEST, 0) and not (speaker and begins_turn(content, spans[first])):
        if spans[first - 1].speaker != speaker:
            break
        first -= 1
    return first


def neighbour(content: str, spans: Sequence[Span], ordinal: int, step: int) -> int | None:
    """The next passage with ink in one direction; None at the end.

    Args:
        content: the text of the record.
        spans: its passages.
        ordinal: of the passage to start from.
        step: 1 is forward, -1 back.
    """
    ordinal += step
    while 0 <= ordinal < len(spans):
        if has_ink(content, spans[ordinal]):
            return ordinal
        ordinal += step
    return None


def has_ink(content: str, span: Span) -> bool:
    first, last = ink_of(content, span)
    return first < last


def words_of(content: str, span: Span) -> str:
    return content[slice(*ink_of(content, span))]


def ink_of(content: str, span: Span) -> tuple[int, int]:
    """The range of a passage without the blanks around it."""
    blanks = _BLANKS.match(content, span.start, span.end)
    first = blanks.end() if blanks else span.start
    if span.start < first < span.end and _CONTINUES.match(content, first):
        first -= 1  # a mark stands on the blank before it
    return first, max(first, span.start + len(content[span.start : span.end].rstrip()))


def is_short(content: str, most: int) -> bool:
    """Whether a text has at most so many characters, half of them where they are CJK and the like."""
    return len(content) <= most // 2 or (len(content) <= most and not is_wide(content))


def along(content: str, spans: Sequence[Span], hit: int) -> list[int]:
    """Ordinals of the passages that must be shown together with one: what stands above it and holds for it, what
    qualifies it, and the reply to it."""
    return (
        [*governors(content, spans, hit), *qualifiers(content, spans, hit), *reply(content, spans, hit)]
        if spans
        else []
    )


def reply(content: str, spans: Sequence[Span], hit: int) -> list[int]:
    """The first passage of what somebody else answers to a question, where the answer is short."""
    speaker = spans[hit].speaker
    if not speaker or not asks(words_of(content, spans[hit])):
        return []
    following = neighbour(content, spans, hit, 1)
    if following is None or spans[following].speaker in ("", speaker) or not begins_turn(content, spans[following]):
        return []
    return [following] if _is_short_turn(content, spans, following) else []


def _is_short_turn(content: str, spans: Sequence[Span], first: int) -> bool:
    passages = 0
    for n in range(first, len(spans)):
        if n > first and (spans[n].speaker != spans[first].speaker or begins_turn(content, spans[n])):
            break
        passages += has_ink(content, spans[n])
        if passages > LONGEST_ANSWER:
            return False
    return True
