"""Text to passages: the short character ranges that are scored, shown and counted.

A first scan gives every line a shape (list item, log line, table row, heading, code fence, chat turn, prose) and so
divides the text into blocks; prose is then divided at sentence ends. Whatever is still too long is cut where it harms
least, never inside a grapheme cluster (UAX #29). The result is an exact partition, and the work is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import regex

from context_packs.store.turns import Turns, find_turns

__all__ = ["MAX_CHARS", "MAX_CHARS_WIDE", "Passage", "divide"]

MAX_CHARS: Final = 320
MAX_CHARS_WIDE: Final = 160
_MAX_CONTEXT: Final = 120
_SHORT: Final = 20
_SHORT_WIDE: Final = 8


@dataclass(frozen=True, slots=True)
class Passage:
    """A character range of a text, half-open, with what governs it.

    ``kind`` is one of sentence, item, log, turn, row, code, heading, blank. ``speaker`` is who says it in a chat, else
    "". ``context`` holds the words that govern the passage and stand outside it: headings above it, the header of its
    table, and its speaker from the second passage of a turn on; at most 120 characters each.
    """

    start: int
    end: int
    kind: str
    speaker: str
    context: str


_BREAK: Final = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_WIDE: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\uff00-\uffef\U00020000-\U0003ffff]+"
)
_CLUSTER: Final = regex.compile(r"\X")
_PLAIN_PAIR: Final = re.compile("[ -~\u3041-\u3096\u30a1-\u30fa\u3400-\u9fff]{2}")

# Shapes of a line -------------------------------------------------------------------------------------------------

_FENCE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})")
_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t\u3000]+(?=\S)")
_UNDERLINE: Final = re.compile(r" {0,3}={3,}\s*$")
_RULE: Final = re.compile(r"\s*([-*_=])(?:[ \t]*\1){2,}\s*$")
_ROW: Final = re.compile(r"\s*\|[^|]*\|")
_TABLE_LINE: Final = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*$|\s*\|\s*:?-+:?\s*\|\s*$")
_ITEM: Final = re.compile(
    r"[ \t\u3000]*(?:[-*+–‣⁃][ \t]+|[•・●○◦▪▫■□◆◇※★☆▶►✓✔✗✘][ \t\u3000]*|[①-⑳⑴-⒇⒈-⒛❶-❿][ \t\u3000]*"
    r"|[0-9０-９]{1,3}[.)．）、](?:[ \t\u3000]+|(?=[^\W\d_a-zA-Z]))|[(（](?:[0-9０-９]{1,3}|[a-zA-Z])[)）][ \t\u3000]*"
    r"|[a-zA-Z]\)[ \t]+)(?=\S)"
)
_LOG: Final = re.compile(
    r"[ \t]*(?:"
    r"[\[(<]?\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[T _]\d{1,2}:\d{2}|[\])>]|[ \t]*(?:[:|,–—]|-[ \t]|[ \t]\[|[ \t]+[A-Z]{4,8}\b))"
    r"|\d{1,2}:\d{2}:\d{2}\b|[\[(]\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?(?:[ ]?[AaPp][Mm])?[\])]"
    r"|[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2}\b"
    r"|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)(?:\]|:|[ \t]+[\[\w(-]|[ \t]*\|))"
)
_INDENTED: Final = re.compile(r"(?: {2,}|\t|\u3000)")
_FIELD: Final = re.compile(r"\s*[^\W_][\w .\-/]{0,39}(?::[ \t]|：|[ \t]?=[ \t]?)\s*\S")
# A line can only have one of the shapes above, or be a turn, when it starts like this.
_SHAPED: Final = re.compile(
    r"\s*(?:[^\w\s\"'“‘(「『]|[0-9０-９①-⒛⓪-⓿❶-❿]|[a-zA-Z]\)|[A-Z]{4,8}\b|[A-Z][a-z]{2} [ \d]\d )|.{1,80}?[:：>]", re.S
)

# Sentences --------------------------------------------------------------------------------------------------------

_END: Final = re.compile(r"[.!?。！？｡．…‥؟۔।॥]+[)\]}\"'”’»」』）】〉》］｝*_~`]*\s*")
_STRONG: Final = frozenset("。！？｡؟۔।॥")
_OPENERS: Final = "([{\"'“‘«「『（【〈《*_`~¿¡"
_ABBREVIATIONS: Final = frozenset(
    """mr mrs ms dr prof rev gen sen rep gov capt sgt lt col st mt ft no nos vol vols fig figs eq eqs sec ch chap pp p
    ed eds vs v cf al approx est dept univ assn bros jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu
    fri sat sun ca resp incl excl ex viz misc max min avg tel ref refs op art""".split()
)
_SOFT: Final = frozenset("etc inc ltd jr sr co corp a.m p.m".split())
_STARTERS: Final = re.compile(r"(?:The|This|That|These|Those|It|He|She|We|They|I|You|In|On|At|If|But|And|So|My|Our)\b")


def _ends(text: str, start: int, match: re.Match[str], stop: int) -> bool:
    """Tell whether a match of ``_END`` ends the sentence that began at ``start``."""
    after = match.end()
    found = match[0]
    marks = found.rstrip()
    following = text[after]
    if following >= "\u0300" and not _border(text, after):
        return False
    spaced = len(marks) < len(found)
    bare = marks.rstrip(")]}\"'”’»」』）】〉》］｝*_~`")
    last = bare[-1]
    if last in _STRONG:
        return spaced or len(bare) == len(marks) or not "\u3041" <= following <= "\u309f"
    if not spaced:
        if last in "!?":
            return following >= "\u2e80"
        return last == "．" and following >= "\u2e80" and not "０" <= following <= "９"
    k = after
    while k < stop and text[k] in _OPENERS:
        k += 1
    if k < stop and text[k].islower():
        return False
    if last != "." or len(bare) > 1:
        return True
    word = text[max(start, match.start() - 16) : match.start()].rsplit(None, 1)
    if not word:
        return True
    name = word[-1].lstrip(_OPENERS)
    lower = name.lower()
    if lower in _SOFT:
        return True
    if lower in _ABBREVIATIONS:
        return lower == "no" and not text[after].isdigit()
    if "." in name and all(len(piece) <= 2 and piece.isalpha() for piece in name.split(".")):
        return lower not in ("e.g", "i.e") and _STARTERS.match(text, k) is not None
    if len(name) == 1 and name.isupper() and name != "I":
        return _STARTERS.match(text, k) is not None
    return not (name.isdecimal() and len(name) <= 3 and not text[start : match.start() - len(name)].strip())


def _sentence_ends(text: str, start: int, stop: int) -> list[int]:
    """Return the ends of the sentences in ``text[start:stop]``; the last one is ``stop``."""
    ends: list[int] = []
    begin = start
    for match in _END.finditer(text, start, stop):
        if match.end() < stop and _ends(text, begin, match, stop):
            begin = match.end()
            ends.append(begin)
    ends.append(stop)
    return ends


def _line_ends(text: str, starts: list[int], stop: int) -> list[int]:
    """Return the ends of the lines of a paragraph that is rather a list without marks; empty for wrapped prose."""
    if len(starts) < 2:
        return []
    ends = [*starts[1:], stop]
    lines = [text[a:b] for a, b in zip(starts, ends, strict=True)]
    if 3 * sum(_FIELD.match(line) is not None for line in lines) >= 2 * len(lines):
        return ends
    for line in lines:
        bare = line.strip()
        if len(bare) > 80 or bare[:1].islower() or bare[-1:] in ",、，;；" or _END.search(bare):
            return []
    return ends


def _joined(text: str, start: int, ends: list[int], body: int) -> list[int]:
    """Return ``ends`` without those that would leave a very short sentence alone; ``body`` is where the words begin."""
    if len(ends) == 1:
        return ends
    kept: list[int] = []
    begin, words = start, body
    for k, end in enumerate(ends):
        if _short(text, words, end):
            if k + 1 < len(ends) and _fits(text, begin, ends[k + 1]):
                continue
            if kept and _fits(text, kept[-2] if len(kept) > 1 else start, end):
                kept[-1] = begin = words = end
                continue
        kept.append(end)
        begin = words = end
    return kept


def _short(text: str, start: int, end: int) -> bool:
    if end - start > 64:
        return False
    words = text[start:end].strip()
    return len(words) < _SHORT and (len(words) < _SHORT_WIDE or words.isascii() or not _is_wide(words))


def _is_wide(text: str) -> bool:
    return not text.isascii() and 2 * len(_WIDE.sub("", text)) < len(text)


def _limit(text: str, start: int, end: int) -> int:
    return MAX_CHARS_WIDE if _is_wide(text[start : min(end, start + MAX_CHARS)]) else MAX_CHARS


def _fits(text: str, start: int, end: int) -> bool:
    return end - start <= MAX_CHARS_WIDE or len(text[start:end].rstrip()) <= _limit(text, start, end)


# Cutting what is too long -----------------------------------------------------------------------------------------

_CUTS: Final = (
    re.compile("(?:\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])+\\s*"),
    re.compile(r"[;:,](?:\s+|$)|[、，；：،؛—]\s*"),
    re.compile(r"\s+"),
)


def _border(text: str, at: int) -> bool:
    """Tell whether a grapheme cluster ends before ``at``, where a mark, blank or line end stands before it."""
    return _CLUSTER.match(text[at - 1 : at + 1]).end() == 1


def _cluster_end(text: str, start: int, stop: int) -> int:
    """Return the end of the grapheme cluster at ``start``; looks at a window only, as one may be of any length."""
    size = 24
    while True:
        window = text[start : min(stop, start + size)]
        end = start + _CLUSTER.match(window).end()
        if end < start + len(window) or end == stop:
            return end
        size *= 4


def _cluster_cut(text: str, start: int, stop: int, limit: int) -> int:
    """Return the last cluster border in ``(start, start + limit]``, or the end of the first cluster if it is longer."""
    if _PLAIN_PAIR.match(text, start + limit - 1, stop):
        return start + limit
    cut = _cluster_end(text, start, stop)
    while cut < stop and (end := _cluster_end(text, cut, stop)) <= start + limit:
        cut = end
    return cut


def _cut(text: str, start: int, stop: int, limit: int) -> int:
    """Return where to end the first piece of ``text[start:stop]``, whose content is longer than ``limit``."""
    half = limit // 2
    highest = start + limit
    balanced = min(highest, max(start + half, stop - half))
    for pattern in _CUTS:
        best = 0
        for match in pattern.finditer(text, start + half, highest):
            end = match.end()
            if end < stop and _border(text, end) and (end <= balanced or not best):
                best = end
        if best:
            return best
    return _cluster_cut(text, start, stop, limit)


def _pieces(text: str, start: int, stop: int) -> Iterator[tuple[int, int, bool]]:
    """Yield (start, end, blank) for ``text[start:stop]``: content up to the limit, long stretches of blanks apart."""
    content = start + len(text[start:stop].rstrip())
    while start < content:
        limit = _limit(text, start, content)
        if content - start <= limit:
            break
        end = _cut(text, start, content, limit)
        yield start, end, False
        start = end
    if start < content:
        end = stop if stop - content <= MAX_CHARS else _blank_cut(text, content, stop)
        yield start, end, False
        start = end
    while start < stop:
        end = stop if stop - start <= MAX_CHARS else _blank_cut(text, start, stop)
        yield start, end, True
        start = end


def _blank_cut(text: str, start: int, stop: int) -> int:
    end = start + MAX_CHARS
    return end - 1 if text[end - 1 : end + 1] == "\r\n" else end


def _clip(words: str) -> str:
    return words if len(words) <= _MAX_CONTEXT else words[: _cluster_cut(words, 0, len(words), _MAX_CONTEXT)].rstrip()


# Putting together -------------------------------------------------------------------------------------------------


class _Division:
    """The passages of one text while it is being divided, with the headings and the speaker in force."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.passages: list[Passage] = []
        self.headings: list[tuple[int, str]] = []
        self.speaker = ""
        self.table = ""

    def context(self, named: bool) -> str:
        words = [words for _, words in self.headings]
        if self.table:
            words.append(self.table)
        if self.speaker and not named:
            words.append(self.speaker)
        return " > ".join(words)

    def add(self, start: int, end: int, kind: str, named: bool = False) -> None:
        """Add ``text[start:end]``, cut where it is too long; ``named``: the speaker's label is inside."""
        if end - start <= MAX_CHARS_WIDE:
            self.passages.append(Passage(start, end, kind, self.speaker, self.context(named)))
            return
        for a, b, blank in _pieces(self.text, start, end):
            self.passages.append(
                Passage(a, b, "blank" if blank else kind, self.speaker, self.context(named and a == start))
            )

    def prose(self, start: int, stop: int, lines: list[int], body: int | None = None) -> None:
        """Add a paragraph, sentence by sentence; ``body`` is the end of a speaker's label that begins it."""
        named = body is not None
        ends = _line_ends(self.text, lines, stop) or _sentence_ends(self.text, start, stop)
        for end in _joined(self.text, start, ends, start if body is None else body):
            self.add(start, end, "turn" if self.speaker else "sentence", named)
            start, named = end, False

    def item(self, start: int, stop: int, kind: str) -> None:
        """Add a list item or log line: whole where it fits, else by sentences."""
        if _fits(self.text, start, stop):
            self.add(start, stop, kind)
            return
        for end in _joined(self.text, start, _sentence_ends(self.text, start, stop), start):
            self.add(start, end, kind)
            start = end

    def code(self, start: int, stop: int, lines: list[int]) -> None:
        """Add a fenced block in groups of lines up to the limit, ended at a blank line where one is far enough in."""
        text = self.text
        ends = [*lines[1:], stop]
        blank = 0
        for k, end in enumerate(ends):
            if end - start > MAX_CHARS and lines[k] > start:
                cut = blank if blank - start >= MAX_CHARS // 3 else lines[k]
                self.add(start, cut, "code")
                start = cut
                if end - start > MAX_CHARS and lines[k] > start:
                    self.add(start, lines[k], "code")
                    start = lines[k]
            if text[lines[k] : end].isspace():
                blank = end
        if start < stop:
            self.add(start, stop, "code")

    def heading(self, start: int, stop: int, level: int, words: str) -> None:
        while self.headings and self.headings[-1][0] >= level:
            self.headings.pop()
        self.add(start, stop, "heading")
        if words:
            self.headings.append((level, _clip(words)))


def _cells(line: str) -> str:
    return _clip(" ".join(cell.strip() for cell in line.strip().strip("|").split("|") if cell.strip()))


def divide(text: str) -> list[Passage]:
    """Divide a text into passages: an exact partition, ``[]`` for the empty text.

    A passage is one sentence, list item, log line, table row, heading, sentence of a turn, or a group of code lines,
    with the blanks and line ends after it; very short sentences are joined with a neighbour. The content of a passage
    (without the blanks after it) has at most ``MAX_CHARS`` characters, ``MAX_CHARS_WIDE`` where most are CJK, Thai and
    the like, unless it is one single grapheme cluster.
    """
    if not text:
        return []
    division = _Division(text)
    if text.isspace():
        division.add(0, len(text), "blank")
        return [Passage(p.start, p.end, "blank", "", "") for p in division.passages]
    if not _BREAK.search(text) and not _SHAPED.match(text):
        division.prose(0, len(text), [0])
    else:
        _divide_lines(division, text)
    return division.passages


def _divide_lines(division: _Division, text: str) -> None:
    lines = text.splitlines(keepends=True)
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    turns = find_turns(lines)
    count = len(lines)
    k = 0
    begin = 0  # where the next block starts: leading blank lines belong to the first one
    while k < count:
        line = lines[k]
        if line.isspace():
            k += 1
            continue
        first = k
        start, begin = begin if first and not division.passages else offsets[k], 0
        division.table = ""
        if k in turns:
            body, division.speaker = turns[k]
            k = _paragraph(lines, k, turns, line[body:])
            stop = _after_blanks(lines, k)
            division.prose(start, offsets[stop], offsets[first:k], offsets[first] + body)
        elif _SHAPED.match(line) is None and not (k + 1 < count and _opens_table(lines, k)):
            k, stop = _plain(division, text, lines, offsets, start, k, turns)
        elif fence := _FENCE.match(line):
            k += 1
            while k < count and not (
                lines[k].lstrip().startswith(fence[1]) and not lines[k].strip().strip(fence[1][0])
            ):
                k += 1
            k = min(k + 1, count)
            stop = _after_blanks(lines, k)
            division.code(start, offsets[stop], [start, *offsets[first + 1 : k]])
        elif heading := _HEADING.match(line):
            k += 1
            stop = _after_blanks(lines, k)
            words = line[heading.end() :].strip().rstrip("#").strip().strip("*_").strip()
            division.heading(start, offsets[stop], len(heading[1]), words)
        elif _RULE.match(line) and division.passages:
            k += 1
            stop = _after_blanks(lines, k)
            last = division.passages[-1]
            if (
                last.end - last.start <= MAX_CHARS_WIDE // 2
                and offsets[stop] - offsets[first] <= 80
                and last.kind != "code"
            ):
                division.passages[-1] = Passage(last.start, offsets[stop], last.kind, last.speaker, last.context)
            else:
                division.add(start, offsets[stop], "sentence")
        elif _ROW.match(line) or (k + 1 < count and _opens_table(lines, k)):
            k = stop = _table(division, lines, offsets, start, k)
        elif (item := _ITEM.match(line)) or _LOG.match(line):
            k += 1
            while k < count and _INDENTED.match(lines[k]) and not lines[k].isspace() and not _starts_block(lines[k]):
                k += 1
            stop = _after_blanks(lines, k)
            division.item(start, offsets[stop], "item" if item else "log")
        else:
            k, stop = _plain(division, text, lines, offsets, start, k, turns)
        k = stop


def _plain(
    division: _Division, text: str, lines: list[str], offsets: list[int], start: int, k: int, turns: Turns
) -> tuple[int, int]:
    """Add the paragraph, or the underlined heading, that starts at line ``k``; return the line after it, twice."""
    first = k
    k = _paragraph(lines, k, turns)
    if k < len(lines) and k == first + 1 and _UNDERLINE.match(lines[k]):
        stop = _after_blanks(lines, k + 1)
        division.heading(start, offsets[stop], 1, lines[first].strip())
        return k + 1, stop
    stop = _after_blanks(lines, k)
    division.prose(start, offsets[stop], [start, *offsets[first + 1 : k]])
    return k, stop


def _table(division: _Division, lines: list[str], offsets: list[int], start: int, k: int) -> int:
    """Add the table that starts at line ``k``, its header words as context of its rows; return the line after it."""
    count = len(lines)
    header = k + 1 < count and _TABLE_LINE.match(lines[k + 1]) is not None
    size = 2 if header else 1
    while k < count and "|" in lines[k] and (_ROW.match(lines[k]) or header):
        stop = _after_blanks(lines, min(k + size, count))
        division.add(start, offsets[stop], "row")
        if size == 2:
            division.table = _cells(lines[k])
        end = k + size
        k, size, start = stop, 1, offsets[stop]
        if end < stop:
            break
    return k


def _opens_table(lines: list[str], k: int) -> bool:
    return "|" in lines[k] and _TABLE_LINE.match(lines[k + 1]) is not None


def _after_blanks(lines: list[str], k: int) -> int:
    while k < len(lines) and lines[k].isspace():
        k += 1
    return k


def _starts_block(line: str) -> bool:
    return _SHAPED.match(line) is not None and any(
        shape.match(line) for shape in (_ITEM, _LOG, _HEADING, _FENCE, _ROW, _RULE, _UNDERLINE)
    )


def _paragraph(lines: list[str], k: int, turns: Turns, body: str = "x") -> int:
    """Return the line after the paragraph at line ``k``; a label with an empty body reaches on to the next prose."""
    empty = not body.strip()
    quoted = lines[k].lstrip().startswith(">")
    k += 1
    while k < len(lines):
        line = lines[k]
        if line.isspace():
            if not empty:
                break
            k += 1
            continue
        if (
            k in turns
            or _starts_block(line)
            or line.lstrip().startswith(">") != quoted
            or (k + 1 < len(lines) and _opens_table(lines, k))
        ):
            break
        empty = False
        k += 1
    return k
