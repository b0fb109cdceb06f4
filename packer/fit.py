"""The longest prefix of the ladder that fits. Pure; costs are exact tokens of what the layout renders.

Every piece of a rendered text ends with a line break (the last one with nothing) and the next one starts with `[`, a
letter or a blank; so the pieces' counts add up to the count of the whole, and one step only re-counts the lines it
touches. The whole is counted once more when it is rendered; that number is the one reported.

For each length k of prefix, `need` is the smallest `max_tokens` under which it fits, so a budget takes the greatest k
with `need <= max_tokens`. As `need` does not depend on the budget, a larger budget never takes less. Characters are
costed with the widest budget line, for the same reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from context_packs.store.records import Record

from .ladder import Step
from .render import Layout, Limits, Shown
from .request import MAX_TOKENS
from .section import SKIPPED, Section
from .tokens import TokenCounter

SLACK = 64
"""Tokens by which a longer prefix may cost less than a shorter one: a closed gap, a budget line that falls away."""


@dataclass(frozen=True, slots=True)
class Selection:
    """How far the ladder is climbed: the steps taken, and what each record not shown would need.

    `used` is the planned number of tokens. `needs` has every record of the ladder that is not shown: the smallest
    `max_tokens` that shows it, or None where 12,000 tokens or the limit of characters are in the way; `by_chars` has
    those which only the characters keep out.
    """

    steps: tuple[Step, ...]
    used: int
    needs: dict[str, int | None]
    by_chars: frozenset[str]


@dataclass(slots=True)
class Cost:
    """Parts (tokens before a factor) and characters of a piece of text."""

    parts: int = 0
    chars: int = 0


class _Item:
    """A record while the ladder is walked: its section and what it costs in the middle and at the end of a text."""

    def __init__(self, section: Section, reference: str, header: str, parts: Callable[[str], int]) -> None:
        self.section = section
        self._parts = parts
        self._block: dict[int, tuple[int, int]] = {}
        self._skips: dict[int, bool] = {}
        self._skip = (parts(SKIPPED), len(SKIPPED))
        line = f"{reference}\n" if reference else ""
        self.reference = Cost(parts(line) if line else 0, len(line))
        self.header = header
        self._sum = Cost(parts(f"{header}\n"), len(header) + 1)
        self.middle = Cost()
        self.end = Cost()
        self._last = ""

    def show(self, ordinal: int) -> None:
        section, parts = self.section, self._parts
        block = section.show(ordinal)
        lines = section.block_lines(block)
        cost = (parts(f"{lines}\n"), len(lines) + 1) if lines else (0, 0)
        old = self._block.get(block, (0, 0))
        self._block[block] = cost
        self._sum.parts += cost[0] - old[0]
        self._sum.chars += cost[1] - old[1]
        following = section.next_block(block)
        for touched in (block, following):
            if touched is not None:
                self._mark(touched)
        if following is None:
            self._last = lines or self.header
            last_nl = cost[0] if lines else parts(f"{self.header}\n")
            self._ends = (parts(f"{self._last}\n\n") - last_nl, parts(self._last) - last_nl)
        self.middle = Cost(self._sum.parts + self._ends[0], self._sum.chars + 1)
        self.end = Cost(self._sum.parts + self._ends[1], self._sum.chars - 1)

    def _mark(self, block: int) -> None:
        skips = self.section.skips(block)
        change = int(skips) - int(self._skips.get(block, False))
        self._skips[block] = skips
        self._sum.parts += change * self._skip[0]
        self._sum.chars += change * self._skip[1]


class Frame:
    """What stands around the sections, and what it costs. A number costs by its width: a token holds 1 to 3 digits."""

    def __init__(self, layout: Layout, counter: TokenCounter) -> None:
        self._layout, self._counter = layout, counter
        self._counted: dict[int, Cost] = {}
        self._limited: dict[tuple[int, ...], Cost] = {}
        self._fixed = self._lines(layout.heading(), layout.opening())

    def around(self, items: int) -> Cost:
        """Everything but the budget line and the items' own lines."""
        if items not in self._counted:
            counted = self._lines(self._layout.counted(items))
            self._counted[items] = Cost(self._fixed.parts + counted.parts, self._fixed.chars + counted.chars)
        return self._counted[items]

    def limited(self, limits: Limits) -> Cost:
        """The budget line."""
        key = (
            len(str(limits.used)),
            len(str(limits.maximum)),
            len(str(limits.items)),
            len(str(limits.shortened)),
            len(str(limits.dropped)),
        )
        if key not in self._limited:
            self._limited[key] = self._lines(self._layout.limited(limits))
        return self._limited[key]

    def _lines(self, *pieces: str) -> Cost:
        lines = [f"{piece}\n" for piece in pieces if piece]
        return Cost(sum(map(self._counter.parts, lines)), sum(map(len, lines)))

    def used(self, parts: int, limits: Limits) -> int:
        """Tokens of a text with `parts` outside its budget line, which gives that number itself (least fixed point)."""
        used = 1
        while True:
            line = self.limited(Limits(used, limits.maximum, limits.items, limits.shortened, limits.dropped))
            total = self._counter.total(parts + line.parts)
            if total <= used:
                return total
            used = total

    def need(self, parts: int, limits: Limits) -> tuple[int, int]:
        """Smallest `max_tokens` under which such a text fits, and the characters of its widest budget line."""
        widest = Limits(0, MAX_TOKENS, limits.items, limits.shortened, limits.dropped)
        used = self.used(parts, widest)
        chars = self.limited(Limits(used, MAX_TOKENS, limits.items, limits.shortened, limits.dropped)).chars
        if not self._counter.exact:
            return used, chars
        maximum = 1
        while True:
            used = self.used(parts, Limits(0, maximum, limits.items, limits.shortened, limits.dropped))
            if used <= maximum:
                return maximum, chars
            maximum = used


def fit(
    steps: Iterable[Step],
    records: Mapping[str, Record],
    openable: int,
    candidates: int,
    layout: Layout,
    counter: TokenCounter,
    max_tokens: int,
    max_chars: int | None,
) -> Selection:
    """Climb `steps` as far as both ceilings allow.

    `openable` is the number of records that the ladder opens, `candidates` that of all records that bear on the query
    (duplicates left out); the rest counts as dropped. The walk ends where no longer prefix can fit or matter.
    """
    frame = Frame(layout, counter)
    items: dict[str, _Item] = {}
    taken: list[Step] = []
    first: dict[str, int] = {}
    needs: list[int] = []
    fits_chars: list[bool] = []
    body, whole, best, used = Cost(), 0, 0, 0
    last: _Item | None = None
    floor: int | None = None  # least need of a prefix that shows every record
    for step in steps:
        item = items.get(step.id)
        if item is None:
            record = records[step.id]
            if last is not None:
                _add(body, last.middle, 1)
                _add(body, last.end, -1)
            shown = shown_of(record)
            item = last = items[step.id] = _Item(
                Section(record), layout.reference(shown), layout.header(shown, len(items) + 1), counter.parts
            )
            first[step.id] = len(taken)
            _add(body, item.reference, 1)
            before, was_whole = Cost(), False
        else:
            before, was_whole = item.end if item is last else item.middle, item.section.whole
        item.show(step.ordinal)
        taken.append(step)
        _add(body, before, -1)
        _add(body, item.end if item is last else item.middle, 1)
        whole += int(item.section.whole) - int(was_whole)
        around = frame.around(len(items))
        parts, chars = body.parts + around.parts, body.chars + around.chars
        shortened, dropped = len(items) - whole, candidates - len(items)
        limits = Limits(0, max_tokens, len(items), shortened, dropped)
        if shortened or dropped:
            need, more = frame.need(parts, limits)
            chars += more
        else:
            need = counter.total(parts)
        needs.append(need)
        fits_chars.append(max_chars is None or chars <= max_chars)
        if need <= max_tokens and fits_chars[-1]:
            best = len(taken)
            used = frame.used(parts, limits) if shortened or dropped else need
        if need > MAX_TOKENS + 2 * SLACK:
            break
        if len(items) == openable:
            floor = need if floor is None else min(floor, need)
            if need > max(max_tokens, floor) + 2 * SLACK:
                break
            if max_chars is not None and chars > max_chars + 4 * SLACK and need > floor + 2 * SLACK:
                break
    return _select(taken, first, needs, fits_chars, best, used)


def _select(
    taken: list[Step], first: dict[str, int], needs: list[int], fits_chars: list[bool], best: int, used: int
) -> Selection:
    """The selection, with each record's least need over the prefixes that show it."""
    least_any, least = MAX_TOKENS + 1, MAX_TOKENS + 1
    starts = {place: ref for ref, place in first.items()}
    wanted: dict[str, int | None] = {}
    by_chars: set[str] = set()
    for place in range(len(taken) - 1, best - 1, -1):
        least_any = min(least_any, needs[place])
        if fits_chars[place]:
            least = min(least, needs[place])
        if place in starts:
            wanted[starts[place]] = least if least <= MAX_TOKENS else None
            if least > MAX_TOKENS and least_any <= MAX_TOKENS:
                by_chars.add(starts[place])
    return Selection(tuple(taken[:best]), used, wanted, frozenset(by_chars))


def shorter(selection: Selection, counted: int) -> Selection:
    """One step less, for an encoding whose tokens reach over line ends, when the whole was counted above a ceiling."""
    *steps, last = selection.steps
    needs = dict(selection.needs)
    if all(step.id != last.id for step in steps):
        needs[last.id] = counted if counted <= MAX_TOKENS else None
    return Selection(tuple(steps), selection.used, needs, selection.by_chars)


def shown_of(record: Record, lines: str = "") -> Shown:
    """What the layout sees of a record."""
    return Shown(record.id, record.type, record.path, record.title, record.created_at, lines)


def _add(total: Cost, cost: Cost, sign: int) -> None:
    total.parts += sign * cost.parts
    total.chars += sign * cost.chars
