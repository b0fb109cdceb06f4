"""Ranked passages → one fixed sequence of small steps, the same for every budget. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from context_packs.store.values import Candidates, Hit


@dataclass(frozen=True, slots=True)
class Step:
    """Show one passage (0-based `ordinal`) of one record, and `along` with it what governs it; the first step of a
    record also brings its frame."""

    id: str
    ordinal: int
    along: tuple[int, ...] = ()

    @property
    def ordinals(self) -> tuple[int, ...]:
        """All passages that the step shows."""
        return (self.ordinal, *self.along)


Along = Callable[[str, int], Sequence[int]]
"""Record and ordinal → ordinals of the passages that must come with it."""


def _alone(_ref: str, _ordinal: int) -> Sequence[int]:
    return ()


def openable(
    found: Candidates, max_items: int, among: Container[str] | None = None, relevant: bool = False
) -> list[str]:
    """Ids of the records that the ladder may open: no duplicates, in order of first hit.

    A candidate without a hit of its own stands after those with one, by rank.

    Args:
        found: the candidates.
        max_items: ids at most.
        among: leaves out every other id.
        relevant: leaves out what is not relevant.
    """
    own = {item.id for item in found.items if item.duplicate_of is None and (item.relevant or not relevant)}
    ranked = sorted(found.items, key=lambda item: (item.rank, item.id))
    order = dict.fromkeys(hit.id for hit in found.hits if hit.id in own and (hit.relevant or not relevant))
    order.update(dict.fromkeys(item.id for item in ranked if item.id in own))
    return [ref for ref in order if among is None or ref in among][:max_items]


def ladder(
    hits: Sequence[Hit],
    ordinals: Mapping[str, Sequence[int]],
    unwieldy: Container[Step] = frozenset(),
    along: Along = _alone,
    completed: Container[str] | None = None,
) -> Iterator[Step]:
    """All steps, each passage with ink at most once: the hits, best first, then neighbours of what is shown, to whole
    records.

    After the hits come rounds. In a round each record of `completed`, in opening order, shows the passage before and
    the one after each shown run. Hits of other records are passed over; a hit on a blank passage stands for the one
    before it. Linear in the number of passages, and nothing is worked out before its time.

    Args:
        hits: passages that match, best first.
        ordinals: the records that may be opened, in opening order, with the ascending ordinals of their passages that
            hold more than blanks (at least one each).
        unwieldy: steps whose passage is large and cannot be cut. They come last, so that they block nothing.
        along: what governs a passage and is shown in the same step.
        completed: the records that are shown to their end; all of them where None.
    """
    climb = _Climb(ordinals, unwieldy, along)
    yield from climb.best(hits)
    yield from climb.rounds(completed)
    yield from climb.later


class _Climb:
    """What is shown so far of each record, as positions in its ordinals, and the steps that wait for the end."""

    def __init__(self, ordinals: Mapping[str, Sequence[int]], unwieldy: Container[Step], along: Along) -> None:
        self._ordinals, self._unwieldy, self._along = ordinals, unwieldy, along
        self._shown: dict[str, set[int]] = {ref: set() for ref in ordinals}
        self.later: list[Step] = []

    def best(self, hits: Sequence[Hit]) -> Iterator[Step]:
        """The hits in their order, then the beginning of each record that has none."""
        for hit in hits:
            if hit.id in self._shown:
                yield from self._show(hit.id, _place(self._ordinals[hit.id], hit.ordinal))
        for ref in self._ordinals:
            if not self._shown[ref]:
                yield from self._show(ref, 0)

    def rounds(self, completed: Container[str] | None) -> Iterator[Step]:
        """What lies between and around what is shown, nearest first."""
        gaps = {
            ref: _gaps(sorted(self._shown[ref]), len(self._ordinals[ref]))
            for ref in self._ordinals
            if completed is None or ref in completed
        }
        while gaps:
            for ref in list(gaps):
                for gap in gaps[ref]:
                    for place in gap.narrow():
                        yield from self._show(ref, place, ())
                gaps[ref] = [gap for gap in gaps[ref] if gap.start < gap.end]
                if not gaps[ref]:
                    del gaps[ref]

    def _show(self, ref: str, place: int, along: Sequence[int] | None = None) -> Iterator[Step]:
        shown, ordinals = self._shown[ref], self._ordinals[ref]
        if place in shown:
            return
        shown.add(place)
        step = Step(ref, ordinals[place])
        if step in self._unwieldy:
            self.later.append(step)
            return
        more = []
        for ordinal in self._along(ref, step.ordinal) if along is None else along:
            other = _place(ordinals, ordinal)
            if ordinals[other] == ordinal and other not in shown and Step(ref, ordinal) not in self._unwieldy:
                shown.add(other)
                more.append(ordinal)
        yield Step(ref, step.ordinal, tuple(more)) if more else step


def _place(ordinals: Sequence[int], ordinal: int) -> int:
    """Position in `ordinals` of a passage, or of the one before it where it has none."""
    place = bisect_left(ordinals, ordinal)
    if place < len(ordinals) and ordinals[place] == ordinal:
        return place
    return max(place - 1, 0)


@dataclass(slots=True)
class _Gap:
    """Passages `start` to `end` (half-open) not shown yet, and whether shown text lies before and after them."""

    start: int
    end: int
    after_shown: bool
    before_shown: bool

    def narrow(self) -> Iterator[int]:
        if self.after_shown and self.start < self.end:
            yield self.start
            self.start += 1
        if self.before_shown and self.start < self.end:
            self.end -= 1
            yield self.end


def _gaps(shown: list[int], n: int) -> list[_Gap]:
    """The gaps between sorted `shown` positions among `n`, first to last."""
    edges = [-1, *shown, n]
    return [_Gap(left + 1, right, left >= 0, right < n) for left, right in pairwise(edges) if right - left > 1]
