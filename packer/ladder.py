"""Ranked passages → one fixed sequence of small steps, the same for every budget. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from context_packs.store.base import Candidates, Hit


@dataclass(frozen=True, slots=True)
class Step:
    """Show one passage (0-based `ordinal`) of one record; the first step of a record also brings its frame."""

    id: str
    ordinal: int


def openable(found: Candidates, max_items: int, among: Container[str] | None = None) -> list[str]:
    """Ids of the records that the ladder may open: no duplicates, in order of first hit, at most `max_items`.

    A candidate without a hit of its own stands after those with one, by rank. `among` leaves out every other id.
    """
    own = {item.id for item in found.items if item.duplicate_of is None}
    ranked = sorted(found.items, key=lambda item: (item.rank, item.id))
    order = dict.fromkeys(hit.id for hit in found.hits if hit.id in own)
    order.update(dict.fromkeys(item.id for item in ranked if item.id in own))
    return [ref for ref in order if among is None or ref in among][:max_items]


def ladder(
    hits: Sequence[Hit], ordinals: Mapping[str, Sequence[int]], unwieldy: Container[Step] = frozenset()
) -> Iterator[Step]:
    """All steps, each passage with ink once: the hits, best first, then neighbours of what is shown, to whole records.

    `ordinals` has the records that may be opened, in opening order, with the ascending ordinals of their passages that
    hold more than blanks (at least one each). After the hits come rounds; in a round each record, in opening order,
    shows the passage before and the one after each shown run. Hits of other records are passed over; a hit on a blank
    passage stands for the one before it. `unwieldy` steps, whose passage is large and can not be cut, come last, so
    that they block nothing. Linear in the number of passages, and nothing is worked out before its time.
    """
    later: list[Step] = []
    for step in _climb(hits, ordinals):
        if step in unwieldy:
            later.append(step)
        else:
            yield step
    yield from later


def _climb(hits: Sequence[Hit], ordinals: Mapping[str, Sequence[int]]) -> Iterator[Step]:
    shown: dict[str, set[int]] = {ref: set() for ref in ordinals}
    for hit in hits:
        if hit.id in shown:
            place = _place(ordinals[hit.id], hit.ordinal)
            if place not in shown[hit.id]:
                shown[hit.id].add(place)
                yield Step(hit.id, ordinals[hit.id][place])
    for ref in ordinals:
        if not shown[ref]:
            shown[ref].add(0)
            yield Step(ref, ordinals[ref][0])
    gaps = {ref: _gaps(sorted(shown[ref]), len(ordinals[ref])) for ref in ordinals}
    while gaps:
        for ref in list(gaps):
            for gap in gaps[ref]:
                for place in gap.narrow():
                    yield Step(ref, ordinals[ref][place])
            gaps[ref] = [gap for gap in gaps[ref] if gap.start < gap.end]
            if not gaps[ref]:
                del gaps[ref]


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
