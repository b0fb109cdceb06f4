"""One record as a section of a pack: which of its passages are shown, as lines that no stored text can leave.

Every content line starts with one blank, so nothing at column 0 is ever stored text. Line breaks of any kind become LF,
blank lines and blanks at the end of a line are folded away, other control characters than tab are U+FFFD, and what
hides or turns text is left out; everything else stands verbatim. Where text of the record is missing stands "…": before
a run of passages that does not follow on what is shown before it, on the same line where it stands on the same line in
the record, and behind the last one. A run that begins inside a turn of a chat says who speaks.

Lines are grouped in *blocks*: all passages that share a line of the record. A block is costed as a whole, and blocks
add up, because no token reaches over a line break and the blank behind it. So that a step stays cheap in a record that
is one endless line, a line of more than 2,000 characters goes on in a new block, and there on a new line.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from dataclasses import dataclass

from context_packs.store.records import Record, Span
from context_packs.store.search.ranking.signals import begins_turn, goes_on, unbroken
from context_packs.store.text.clean import visible

from .tokens import well_formed

BLOCK_CHARS = 2_000
INDENT = " "
SKIPPED = " …"
_BREAKS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_BREAK = re.compile(f"[{_BREAKS}]")
_ODD = re.compile(r"[\r\u2028\u2029\ud800-\udfff]")
_INK = re.compile(r"\S")
_TO_BREAK = {ord(mark): "\n" for mark in _BREAKS}


@dataclass(frozen=True, slots=True)
class Unit:
    """A passage with ink and the blank passages behind it.

    `start` to `end` is its range of the record, units partition the content; `ink` to `rest` is what is rendered,
    from the indentation where it begins a line, without blanks at the end. `block` counts from 0. `speaker` is who
    speaks where the passage goes on with a turn, else "".
    """

    start: int
    end: int
    ink: int
    rest: int
    block: int
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Outline:
    """A record divided for showing: `units[n]` belongs to the passage `ordinals[n]`; at least one."""

    record: Record
    ordinals: tuple[int, ...]
    units: tuple[Unit, ...]

    def unwieldy(self) -> list[int]:
        """Ordinals of passages that nothing cuts well."""
        content = self.record.content
        found: list[int] = []
        solid = False
        for ordinal, unit in zip(self.ordinals, self.units, strict=True):
            text = content[unit.ink : unit.rest]
            solid = unbroken(text) or (solid and goes_on(content, unit.ink, unit.rest))
            found += [ordinal] if solid else []
        return found


def outline_of(record: Record) -> Outline:
    """The outline of a record, linear in its length; one stored without passages, or all blank, is one unit."""
    content = record.content
    spans = record.passages or (Span(0, 0, len(content)),)
    inked = [n for n, span in enumerate(spans) if visible(content[span.start : span.end]).strip()] or [0]
    units: list[Unit] = []
    block = block_start = before = 0
    for n, ordinal in enumerate(inked):
        span = spans[ordinal]
        start = units[-1].end if units else 0
        end = spans[inked[n + 1]].start if n + 1 < len(inked) else len(content)
        found = _INK.search(content, span.start, span.end)
        ink = found.start() if found else span.end
        rest = max(span.start + len(content[span.start : span.end].rstrip()), ink)
        lead = _BREAK.split(content[before:ink])
        new_line = not units or len(lead) > 1
        if units and (new_line or rest - block_start > BLOCK_CHARS):
            block += 1
            block_start = ink
        if new_line:
            ink -= len(lead[-1])
        speaker = span.speaker if units and span.speaker and not begins_turn(content, span) else ""
        units.append(Unit(start, end, ink, rest, block, speaker))
        before = rest
    return Outline(record, tuple(inked), tuple(units))


def lines_of(text: str) -> str:
    """Stored text as content lines, each behind one blank and without blanks at its end, joined by LF."""
    if _ODD.search(text):
        text = well_formed(text.replace("\r\n", "\n")).translate(_TO_BREAK)
    text = visible(text)
    if "\n" not in text:
        text = text.rstrip()
        return f"{INDENT}{text}" if text else ""
    return "\n".join(f"{INDENT}{line}" for line in (raw.rstrip() for raw in text.split("\n")) if line)


class Section:
    """The shown part of one record; it grows by `show` and never shrinks."""

    def __init__(self, outline: Outline) -> None:
        self.record = outline.record
        self.units = outline.units
        self._ordinals = outline.ordinals
        self.shown: list[int] = []  # sorted positions in `units`
        self._is_shown = bytearray(len(self.units))
        self.blocks: dict[int, list[int]] = {}  # block -> its shown positions, sorted
        self.order: list[int] = []  # shown blocks, sorted

    @property
    def whole(self) -> bool:
        """Whether every passage with ink is shown."""
        return len(self.shown) == len(self.units)

    def show(self, ordinal: int) -> int:
        """Show one more passage, given by an ordinal of the outline; gives its block."""
        place = bisect_left(self._ordinals, ordinal)
        unit = self.units[place]
        insort(self.shown, place)
        self._is_shown[place] = 1
        if unit.block not in self.blocks:
            self.blocks[unit.block] = []
            insort(self.order, unit.block)
        insort(self.blocks[unit.block], place)
        return unit.block

    def beside(self, block: int) -> list[int]:
        """The shown blocks before and after this one, whose marks it may change."""
        place = bisect_left(self.order, block)
        return self.order[max(place - 1, 0) : place] + self.order[place + 1 : place + 2]

    def marks(self, block: int) -> tuple[bool, bool]:
        """Whether text is missing before the first passage of this shown block, and behind the last one of all."""
        first, last = self.blocks[block][0], self.blocks[block][-1]
        before = first > 0 and not self._is_shown[first - 1]
        return before, last == self.shown[-1] and last + 1 < len(self.units)

    def block_lines(self, block: int) -> str:
        """The lines of one shown block, with its marks."""
        places, units, content = self.blocks[block], self.units, self.record.content
        before, behind = self.marks(block)
        pieces: list[str] = []
        start = places[0]
        for n, place in enumerate(places):
            if n + 1 == len(places) or places[n + 1] != place + 1:
                text = content[units[start].ink : units[place].rest]
                if units[start].speaker and (pieces or before):
                    text = f"{units[start].speaker}: {text.lstrip()}"
                pieces.append(lines_of(text))
                if n + 1 < len(places):
                    start = places[n + 1]
        lines = SKIPPED.join(pieces)
        return f"{SKIPPED if before else ''}{lines}{SKIPPED if behind else ''}" if lines else ""

    def lines(self) -> str:
        """All content lines, joined by LF; "" where the record holds nothing but blanks."""
        return "\n".join(lines for block in self.order if (lines := self.block_lines(block)))

    def spans(self) -> list[tuple[int, int]]:
        """The shown character ranges of the record, half-open, in order, adjacent ones joined."""
        joined: list[tuple[int, int]] = []
        for place in self.shown:
            unit = self.units[place]
            if joined and joined[-1][1] == unit.start:
                joined[-1] = (joined[-1][0], unit.end)
            else:
                joined.append((unit.start, unit.end))
        return joined
