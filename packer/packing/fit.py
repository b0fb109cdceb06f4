"""The longest prefix of the ladder that fits. Pure; costs are exact tokens of what the layout renders.

Every piece of a rendered text ends with a line break (the last one with nothing) and the next one starts with `[`, a
letter or a blank; so the pieces' counts add up to the count of the whole, and one step only re-counts the lines it
touches. The whole is counted once more when it is rendered; that number is the one reported.

For each length k of prefix there is one smallest `max_tokens` from which on it fits, its *need*; a budget takes the
greatest k whose need it covers (decision 6). Say one step needs 300 tokens, two need 520, and three 510, as a gap
closes: 400 tokens show one step, 509 one, and 510 all three. As needs do not depend on the budget, a larger budget
never takes less. Characters are costed with the widest budget line, for the same reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from context_packs.store.records import Record

from .ladder import Step
from .layout import Layout, Limits, Shown
from .request import MAX_TOKENS
from .section import Outline, Section
from .tokens import TokenCounter

SLACK = 128
"""Tokens by which a longer prefix may cost less than a shorter one: closed gaps, a budget line that falls away."""

BLANK_LINE = "\n\n"
NOTHING = ""


@dataclass(slots=True)
class Cost:
    """Parts (tokens before a factor) and characters of a piece of text."""

    parts: int = 0
    chars: int = 0

    def add(self, other: Cost, sign: int = 1) -> None:
        self.parts += sign * other.parts
        self.chars += sign * other.chars


@dataclass(frozen=True, slots=True)
class Prefix:
    """What a prefix of the ladder costs without its budget line, and the numbers that this line would give."""

    parts: int
    chars: int
    items: int
    shortened: int
    dropped: int


@dataclass(frozen=True, slots=True)
class Selection:
    """How far the ladder is climbed: the steps taken, and what each record not shown would need.

    `used` is the planned number of tokens. `needs` has every record that the ladder opens and the steps do not show:
    the smallest `max_tokens` that shows it, or None where 12,000 tokens or the limit of characters are in the way;
    `by_chars` has those which only the characters keep out. `items` are the records walked over, in opening order.
    """

    steps: tuple[Step, ...]
    used: int
    needs: dict[str, int | None]
    by_chars: frozenset[str]
    items: dict[str, Item]


class Item:
    """A record on the ladder: its lines of the frame, its section as far as it is shown, and what that costs."""

    def __init__(self, outline: Outline, layout: Layout, k: int, parts: Callable[[str], int]) -> None:
        shown = shown_of(outline.record)
        self.reference = layout.reference(shown)
        self.header = layout.header(shown, k)
        self.section = Section(outline)
        self._parts = parts
        self._blocks: dict[int, tuple[tuple[bool, bool], Cost]] = {}
        self._sum = self._line(self.header)
        self._last, self._last_parts = self.header, self._sum.parts
        self._ends: dict[str, Cost] = {}
        self.own = self._line(self.reference) if self.reference else Cost()

    def show(self, ordinal: int) -> None:
        """Show one more passage and cost what that changes."""
        block = self.section.show(ordinal)
        self._count(block)
        for other in self.section.beside(block):
            if self._blocks[other][0] != self.section.marks(other):
                self._count(other)
        self._ends.clear()

    def _count(self, block: int) -> None:
        """Cost a block anew."""
        lines = self.section.block_lines(block)
        cost = self._line(lines) if lines else Cost()
        if block in self._blocks:
            self._sum.add(self._blocks[block][1], -1)
        self._blocks[block] = self.section.marks(block), cost
        self._sum.add(cost)
        if lines and block == self.section.order[-1]:
            self._last, self._last_parts = lines, cost.parts

    def cost(self, end: str) -> Cost:
        """What the section costs where it is followed by `end`: a blank line, or nothing at the end of the text."""
        if end not in self._ends:
            change = self._parts(f"{self._last}{end}") - self._last_parts
            self._ends[end] = Cost(self._sum.parts + change, self._sum.chars + len(end) - 1)
        return self._ends[end]

    def _line(self, text: str) -> Cost:
        return Cost(self._parts(f"{text}\n"), len(text) + 1)


class Frame:
    """What stands around the sections, and what it costs. A number costs by its width: a token holds 1 to 3 digits."""

    def __init__(self, layout: Layout, counter: TokenCounter) -> None:
        self._layout, self._counter = layout, counter
        self._limited: dict[tuple[int, ...], Cost] = {}
        self._fixed = self._lines(layout.heading(), layout.opening())

    def around(self, items: int) -> Cost:
        """Everything but the budget line and the items' own lines."""
        cost = self._lines(self._layout.counted(items))
        cost.add(self._fixed)
        return cost

    def used(self, prefix: Prefix, max_tokens: int) -> int:
        """Tokens of the text, whose budget line gives that number itself: the least fixed point, reached from below."""
        if not (prefix.shortened or prefix.dropped):
            return self._counter.total(prefix.parts)
        used = 1
        while (total := self._counter.total(prefix.parts + self._line(prefix, used, max_tokens).parts)) > used:
            used = total
        return total

    def need(self, prefix: Prefix) -> int:
        """Smallest `max_tokens` from which on the text always fits.

        The budget line names `max_tokens`, so it costs by the digits of that number: a text of 999 tokens under 999 can
        have 1,001 under 1,000. Such a text needs 1,001, or a larger budget would take something away.
        """
        for digits in range(len(str(MAX_TOKENS)), 0, -1):
            used = self.used(prefix, 10**digits - 1)
            if used > 10 ** (digits - 1):
                return used
        return 1

    def chars(self, prefix: Prefix) -> int:
        """Characters of the text under the greatest `max_tokens`."""
        if not (prefix.shortened or prefix.dropped):
            return prefix.chars
        return prefix.chars + self._line(prefix, self.used(prefix, MAX_TOKENS), MAX_TOKENS).chars

    def _line(self, prefix: Prefix, used: int, maximum: int) -> Cost:
        limits = Limits(used, maximum, prefix.items, prefix.shortened, prefix.dropped)
        key = tuple(len(str(n)) for n in (used, maximum, prefix.items, prefix.shortened, prefix.dropped))
        if key not in self._limited:
            self._limited[key] = self._lines(self._layout.limited(limits))
        return self._limited[key]

    def _lines(self, *pieces: str) -> Cost:
        lines = [f"{piece}\n" for piece in pieces if piece]
        return Cost(sum(map(self._counter.parts, lines)), sum(map(len, lines)))


def fit(
    steps: Iterable[Step],
    outlines: Mapping[str, Outline],
    candidates: int,
    layout: Layout,
    counter: TokenCounter,
    max_tokens: int,
    max_chars: int | None = None,
) -> Selection:
    """Climb `steps` as far as both ceilings allow.

    Args:
        steps: the ladder, in order.
        outlines: the records that the ladder opens.
        candidates: the number of all records that bear on the query, duplicates left out. What is not shown of them
            counts as dropped.
        layout: how it is rendered.
        counter: of the tokens.
        max_tokens: of the rendered whole.
        max_chars: of the rendered whole.
    """
    frame = Frame(layout, counter)
    taken, prefixes, first, items = _walk(steps, outlines, candidates, layout, counter, frame, max_tokens)
    allowed = [max_chars is None or frame.chars(prefix) <= max_chars for prefix in prefixes]
    best = len(taken)
    while best and not (
        allowed[best - 1]
        and counter.total(prefixes[best - 1].parts) <= max_tokens
        and frame.need(prefixes[best - 1]) <= max_tokens
    ):
        best -= 1
    needs: dict[str, int | None] = dict.fromkeys(ref for ref in outlines if ref not in first)
    by_chars: set[str] = set()
    least, least_any, end = MAX_TOKENS + 1, MAX_TOKENS + 1, len(taken)
    for ref, start in reversed(first.items()):
        if start < best:
            break
        for place in range(start, end):
            if counter.total(prefixes[place].parts) < least:
                need = frame.need(prefixes[place])
                least_any = min(least_any, need)
                if allowed[place]:
                    least = min(least, need)
        end = start
        needs[ref] = least if least <= MAX_TOKENS else None
        if least_any <= MAX_TOKENS < least:
            by_chars.add(ref)
    used = frame.used(prefixes[best - 1], max_tokens) if best else 0
    return Selection(tuple(taken[:best]), used, needs, frozenset(by_chars), items)


def _walk(
    steps: Iterable[Step],
    outlines: Mapping[str, Outline],
    candidates: int,
    layout: Layout,
    counter: TokenCounter,
    frame: Frame,
    max_tokens: int,
) -> tuple[list[Step], list[Prefix], dict[str, int], dict[str, Item]]:
    """The steps up to where no longer prefix can fit or change a need, with what each prefix costs.

    That is above the greatest budget, or above this one once every record has been opened, by more than the slack.
    """
    taken: list[Step] = []
    prefixes: list[Prefix] = []
    first: dict[str, int] = {}
    items: dict[str, Item] = {}
    body, around, whole = Cost(), Cost(), 0
    last: Item | None = None
    floor = max_tokens
    for step in steps:
        item = items.get(step.id)
        if item is None:
            if last is not None:
                body.add(last.cost(NOTHING), -1)
                body.add(last.cost(BLANK_LINE))
            item = last = items[step.id] = Item(outlines[step.id], layout, len(items) + 1, counter.parts)
            first[step.id] = len(taken)
            around = frame.around(len(items))
            body.add(item.own)
        else:
            body.add(item.cost(NOTHING if item is last else BLANK_LINE), -1)
        for ordinal in step.ordinals:
            item.show(ordinal)
        body.add(item.cost(NOTHING if item is last else BLANK_LINE))
        whole += item.section.whole
        taken.append(step)
        parts = body.parts + around.parts
        shown = len(items)
        prefixes.append(Prefix(parts, body.chars + around.chars, shown, shown - whole, candidates - shown))
        total = counter.total(parts)
        if shown == len(outlines) and first[step.id] == len(taken) - 1:
            floor = max(floor, total)
        if total > (floor if shown == len(outlines) else MAX_TOKENS) + SLACK:
            break
    return taken, prefixes, first, items


def shorter(selection: Selection, counted: int) -> Selection:
    """One step less, for an encoding whose tokens reach over line ends, when the whole was counted above a ceiling."""
    *steps, last = selection.steps
    needs = dict(selection.needs)
    if all(step.id != last.id for step in steps):
        needs[last.id] = counted if counted <= MAX_TOKENS else None
    return replace(selection, steps=tuple(steps), needs=needs)


def shown_of(record: Record, lines: str = "") -> Shown:
    """What the layout sees of a record."""
    return Shown(record.id, record.type, record.path, record.title, record.created_at, lines)
