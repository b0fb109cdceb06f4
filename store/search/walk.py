"""From record to record along their links, as far as the viewer sees: the hops of a recall, and the ids to walk on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..file.duck import Session
from ..memory.reads import Where
from ..records import NAMED, id_of, kind_of

MOST_REACHED = 50
"""Records that one walk reaches at most."""
MOST_LINKS = 8
"""Links of one sort that are followed from a record, and shown of it."""


_HAS_LINKS = "has links"


@dataclass(frozen=True, slots=True)
class Reached:
    """A record that a link leads to from the record `via`."""

    key: int
    vid: int
    name: str | None
    own: bool
    via: int
    print_low: int
    print_high: int


def follow(session: Session, keys: Sequence[int], known: Sequence[int], where: Where, hops: int) -> list[Reached]:
    """Records within so many hops of `keys`, nearest first and in the order of what leads there; none of `known`."""
    seen = {*keys, *known}
    reached: list[Reached] = []
    edge = list(keys)
    for _ in range(hops):
        fresh: list[Reached] = []
        for turn, key, *rest in where.rows(session, "neighbours", keys=edge, most=MOST_LINKS) if edge else ():
            if key not in seen and len(reached) + len(fresh) < MOST_REACHED:
                seen.add(key)
                vid, name, own, low, high = rest
                fresh.append(Reached(key, vid, name, own, edge[turn], low, high))
        reached += fresh
        edge = [one.key for one in fresh]
    return reached


def links_of(session: Session, records: Mapping[str, int], where: Where) -> dict[str, tuple[str, ...]]:
    """Ids one link away of each record (id → key) that has any."""
    keys = list(records.values())
    if not keys or not (any(kind_of(key) in NAMED for key in keys) or _has_links(session)):
        return {}
    names = list(records)
    found: dict[str, dict[str, None]] = {}
    for turn, key, _, name, *_ in where.rows(session, "neighbours", keys=keys, most=MOST_LINKS):
        found.setdefault(names[turn], {})[id_of(key, name)] = None
    return {name: tuple(ids) for name, ids in found.items()}


def _has_links(session: Session) -> bool:
    """Whether the store has any link: most have none, and then nothing more is asked."""
    found: bool | None = session.recalled(_HAS_LINKS)
    if found is None:
        found = session.row("SELECT 1 FROM links LIMIT 1") is not None
        session.keep(_HAS_LINKS, found, 100)
    return found
