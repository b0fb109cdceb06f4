"""Text to passages: the short character ranges that are scored, shown and counted.

A first scan gives every line a shape (list item, log line, table row, heading, code fence, chat turn, prose) and so
divides the text into blocks; prose is then divided at sentence ends. Whatever is still too long is cut where it harms
least, never inside a grapheme cluster (UAX #29). The result is an exact partition, and the work is linear in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .cuts import MAX_CHARS, MAX_CHARS_WIDE, clip, fits, pieces
from .sentences import END, joined, sentence_ends
from .turns import Turns, find_turns

__all__ = ["MAX_CHARS", "MAX_CHARS_WIDE", "Passage", "divide"]

_MAX_CONTEXT: Final = 120


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


_BREAK: Final = re.compile(
    "[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"
)  # Shapes of a line -------------------------------------------------------------------------------------------------

_FENCE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})")
_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t\u3000]+(?=\S)")
_UNDERLINE: Final = re.compile(r" {0,3}={3,}\s*$")
_RULE: Final = re.compile(r"\s*(?:(?:-[ \t]*+){3,}+|(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+|(?:=[ \t]*+){3,}+)\s*$")
_ROW: Final = re.compile(r"\s*\|[^|]*\|")
_TABLE_LINE: Final = re.compile(r"\s*+\|?\s*+:?-++:?\s*+(?:(?:\|\s*+:?-++:?\s*+)++\|?|(?<=[-:\s])\|)\s*+$")
_ITEM: Final = re.compile(
    r"[ \t\u3000]*(?:[-*+–‣⁃][ \t]+|[•・●○◦▪▫■□◆◇※★☆▶►✓✔✗✘][ \t\u3000]*|[①-⑳⑴-⒇⒈-⒛❶-❿][ \t\u3000]*"
    r"|[0-9０-９]{1,3}[.)．）、](?:[ \t\u3000]+|(?=[^\W\d_a-zA-Z]))|[(（](?:[0-9０-９]{1,3}|[a-zA-Z])[)）][ \t\u3000]*"
    r"|[a-zA-Z]\)[ \t]+)(?=\S)"
)
_LOG: Final = re.compile(
    r"[ \t]*(?:"
    r"[\[(<]?\d{4}[-/.]\d{1,2}[-/.]\d{1,2}"
    r"(?:[T _]\d{1,2}:\d{2}|[\])>]|[ \t]*[:|,–—]|[ \t]*-[ \t]|[ \t]+\[|[ \t]+[A-Z]{4,8}\b)"
    r"|\d{1,2}:\d{2}:\d{2}\b|\d{1,2}:\d{2}(?:[ ]?[AaPp][Mm])?[ \t]+\S"
    r"|[\[(]\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?(?:[ ]?[AaPp][Mm])?[\])]"
    r"|[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2}\b"
    r"|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)(?:\]|:|[ \t]+[\[\w(-]|[ \t]*\|))"
)
_BLOCK: Final = re.compile(
    "|".join(shape.pattern for shape in (_ITEM, _LOG, _HEADING, _FENCE, _ROW, _RULE, _UNDERLINE))
)
_INDENTED: Final = re.compile(r"(?: {2,}|\t|\u3000)")
_FIELD: Final = re.compile(r"\s*[^\W_][\w .\-/]{0,39}(?::[ \t]|：|[ \t]?=[ \t]?)\s*\S")
# A line can only have one of the shapes above, or be a turn, when it starts like this.
_SHAPED: Final = re.compile(
    r"\s*(?:[^\w\s\"'“‘(「『]|[(0-9０-９①-⒛⓪-⓿❶-❿]|[a-zA-Z]\)|[A-Z]{4,8}\b|[A-Z][a-z]{2} [ \d]\d )|.{1,80}?[:：>]", re.S
)


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
        if len(bare) > 80 or bare[:1].islower() or bare[-1:] in ",、，;；" or END.search(bare):
            return []
    return ends


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
        for a, b, blank in pieces(self.text, start, end):
            self.passages.append(
                Passage(a, b, "blank" if blank else kind, self.speaker, self.context(named and a == start))
            )

    def prose(self, start: int, stop: int, lines: list[int], body: int | None = None) -> None:
        """Add a paragraph, sentence by sentence; ``body`` is the end of a speaker's label that begins it."""
        named = body is not None
        ends = _line_ends(self.text, lines, stop) or sentence_ends(self.text, start, stop)
        for end in joined(self.text, start, ends, start if body is None else body):
            self.add(start, end, "turn" if self.speaker else "sentence", named)
            start, named = end, False

    def item(self, start: int, stop: int, kind: str) -> None:
        """Add a list item or log line: whole where it fits, else by sentences."""
        if fits(self.text, start, stop):
            self.add(start, stop, kind)
            return
        for end in joined(self.text, start, sentence_ends(self.text, start, stop), start):
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
            self.headings.append((level, clip(words, _MAX_CONTEXT)))


def _cells(line: str) -> str:
    return clip(" ".join(cell.strip() for cell in line.split("|") if cell.strip()), _MAX_CONTEXT)


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
    while k < count:
        line = lines[k]
        if line.isspace():
            k += 1
            continue
        first = k
        start = offsets[k] if division.passages else 0  # leading blank lines belong to the first block
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
    return _SHAPED.match(line) is not None and _BLOCK.match(line) is not None


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
            or line[0] == "\u3000"  # East Asian paragraphs start with an ideographic space
            or _starts_block(line)
            or line.lstrip().startswith(">") != quoted
            or (k + 1 < len(lines) and _opens_table(lines, k))
        ):
            break
        empty = False
        k += 1
    return k
