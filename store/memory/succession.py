"""Who stands in whose place: a record that was replaced stands again once all that replaced it have ended.

A successor ends when it expires; one that is forgotten, in whatever way, counts as if it had never replaced anything.
The end is worked out where something is written, so that a read only compares (decision 27).
Where it was replaced in its turn, its own successors keep what stood before it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..file.duck import Session, query
from ..records import id_of

FUTURE = "is dated in the future; ranked by the time of writing; replaces from its date on"
_VISITS = 50  # of one record: a circle of replacements, which an import may bring, comes to rest


@dataclass(frozen=True, slots=True)
class Link:
    """A record `new` replaces `old`, at `since`; `start` is the same for one that is dated in the future, else None."""

    old: int
    new: int
    since: datetime
    start: datetime | None = None


def link(session: Session, links: Sequence[Link], now: datetime) -> None:
    """Note on both sides who replaced whom."""
    for one in links:
        session.run(
            query("replace"), {"new": one.new, "old": one.old, "since": one.since, "start": one.start, "now": now}
        )
        session.run(
            "UPDATE records SET supersedes = $old WHERE key = $new AND valid_to IS NULL AND supersedes IS NULL",
            {"new": one.new, "old": one.old},
        )
    if links and _may_end(session, [one.old for one in links], [one.new for one in links]):
        settle(session, {key for one in links for key in (one.old, one.new)})


def _may_end(session: Session, olds: list[int], news: list[int]) -> bool:
    """Whether any of them has an end, so that something may stand again: mostly not, and nothing is to be done."""
    return bool(
        session.value(
            "SELECT 1 FROM records WHERE valid_to IS NULL AND ((key IN (SELECT unnest($olds::BIGINT[])) "
            "AND (expires_at IS NOT NULL OR forgotten IS NOT NULL OR superseded_until IS NOT NULL)) "
            "OR (key IN (SELECT unnest($news::BIGINT[])) "
            "AND (expires_at IS NOT NULL OR forgotten IS NOT NULL OR superseded_at IS NOT NULL))) LIMIT 1",
            {"olds": olds, "news": news},
        )
    )


def ended(session: Session, keys: Sequence[int]) -> None:
    """Records were forgotten, or expire at another time: what they replaced may stand again."""
    replaced = session.value(
        "SELECT 1 FROM records WHERE valid_to IS NULL AND (superseded_by IN (SELECT unnest($keys::BIGINT[])) "
        "OR (supersedes IS NOT NULL AND key IN (SELECT unnest($keys::BIGINT[])))) LIMIT 1",
        {"keys": list(keys)},
    )
    if replaced:
        settle(session, keys)


def settle_imported(session: Session, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows came in from an export, maybe an older one that says less: work out what they leave open."""
    ends = [
        row["key"]
        for row in rows
        if row["supersedes"] is not None and (row["forgotten"] is not None or row["expires_at"] is not None)
    ]
    replaced = {row["key"]: row["superseded_by"] for row in rows if row["superseded_by"] is not None}
    if replaced and _may_end(session, list(replaced.values()), []):
        ends += replaced
    if ends:
        settle(session, ends)


def break_circles(session: Session, rows: Iterable[Mapping[str, Any]]) -> dict[int, str]:
    """Undo what makes records replace each other in a circle, as far as rows that were just written are part of it.

    None of them would stand. An older version let that happen; so the newest of them stands again, and the others stay
    replaced by it. Gives for each record of a circle a note that names the one that stands.
    """
    notes: dict[int, str] = {}
    nodes: set[int] = set()
    for row in rows:
        refs = {row["supersedes"], row["superseded_by"]} - {None}
        if refs and row["valid_to"] is None:
            nodes |= {row["key"], *refs}
    while circle := _circle(session, nodes):
        newest, name = session.rows(
            "SELECT key, name FROM records WHERE valid_to IS NULL AND key IN (SELECT unnest($keys::BIGINT[])) "
            "ORDER BY created_at DESC, key DESC LIMIT 1",
            {"keys": circle},
        )[0]
        session.run(
            "UPDATE records SET superseded_by = NULL, superseded_at = NULL, superseded_from = NULL, "
            "superseded_until = NULL WHERE key = $newest AND valid_to IS NULL "
            "AND superseded_by IN (SELECT unnest($keys::BIGINT[]))",
            {"newest": newest, "keys": circle},
        )
        session.run(
            "UPDATE records SET supersedes = NULL WHERE supersedes = $newest AND valid_to IS NULL "
            "AND key IN (SELECT unnest($keys::BIGINT[]))",
            {"newest": newest, "keys": circle},
        )
        settle(session, circle)
        note = f"records that replaced each other in a circle: {id_of(newest, name)}, the newest, stands"
        notes |= dict.fromkeys(circle, note)
    return notes


def _circle(session: Session, nodes: set[int]) -> list[int]:
    """The keys of one circle in which stored records replace each other, if some of the nodes are in one; else none."""
    if not nodes:
        return []
    near = session.rows(query("successors", frozenset({"near"})), {"nodes": list(nodes)})
    # In an export the older comes first, so that all paths end here: nothing else is read.
    if not _trimmed(near, nodes):
        return []
    there = {key for (key,) in session.rows("SELECT key FROM records WHERE valid_to IS NULL")}
    edges = [(old, new) for old, new in session.rows(query("successors")) if old in there and new in there]
    up = _trimmed(edges, {key for edge in edges for key in edge})
    core = _trimmed([(new, old) for old, new in edges if old in up and new in up], up)
    if not core & nodes:
        return []
    after = {old: new for old, new in sorted(edges, reverse=True) if old in core and new in core}
    way: list[int] = []
    key = min(core & nodes)
    while key not in way:
        way.append(key)
        key = after[key]
    return way[way.index(key) :]


def _trimmed(edges: Iterable[Sequence[int]], nodes: set[int]) -> set[int]:
    """The nodes from which a path never comes to an end among them; what lies outside of them has none."""
    after: dict[int, int] = dict.fromkeys(nodes, 0)
    before: dict[int, list[int]] = {}
    for start, end in edges:
        after[start] += 1
        before.setdefault(end, []).append(start)
    ended = [node for node, count in after.items() if not count]
    left = set(nodes)
    while ended:
        node = ended.pop()
        left.discard(node)
        for start in before.get(node, ()):
            after[start] -= 1
            if not after[start]:
                ended.append(start)
    return left


def replaced_by(session: Session, links: Iterable[Link], key: int) -> set[int]:
    """Who replaced a record, and who replaced that, and so on; `links` are not stored yet."""
    fresh = {one.old: one.new for one in links}
    found: set[int] = set()
    while True:
        by = fresh.get(key) or session.value(
            "SELECT max(superseded_by) FROM records WHERE key = $key AND valid_to IS NULL", {"key": key}
        )
        if by is None or by in found:
            return found
        found.add(by)
        key = by


@dataclass(slots=True)
class _Place:
    """A record in the line of succession."""

    by: int | None
    supersedes: int | None
    at: datetime | None
    until: datetime | None
    expires: datetime | None
    forgotten: bool


def settle(session: Session, keys: Iterable[int]) -> None:
    """Work out anew until when these records are replaced, and those that they replaced, and so on."""
    places = {key: _Place(*rest) for key, *rest in session.rows(query("succession"))}
    after: dict[int, list[int]] = {}  # key → who replaced it
    for key, place in places.items():
        if place.by is not None:
            after.setdefault(key, []).append(place.by)
        if place.supersedes is not None and place.by != place.supersedes:
            after.setdefault(place.supersedes, []).append(key)
    before: dict[int, list[int]] = {}
    for key, others in after.items():
        for other in others:
            before.setdefault(other, []).append(key)
    todo = [one for key in keys for one in (key, *before.get(key, ()))]
    visits: dict[int, int] = {}
    changed: dict[int, datetime | None] = {}
    while todo:
        key = todo.pop()
        if key not in places:
            continue
        place, others = places[key], after.get(key, [])
        if place.at is None or visits.get(key, 0) >= _VISITS:
            continue
        if any(other not in places for other in others):  # an import brings them later
            continue
        visits[key] = visits.get(key, 0) + 1
        until = _until(place.at, [places[other] for other in others])
        if until != place.until:
            place.until = changed[key] = until
            todo.extend(before.get(key, ()))
    if changed:
        session.run(
            "UPDATE records SET superseded_until = n.until FROM (SELECT unnest($keys::BIGINT[]) AS key, "
            "unnest($untils::TIMESTAMP[]) AS until) n WHERE records.key = n.key AND records.superseded_at IS NOT NULL",
            {"keys": list(changed), "untils": list(changed.values())},
        )


def _until(at: datetime, others: Sequence[_Place]) -> datetime | None:
    """When the last of the successors ends, or `at` where none ever stood; None for never."""
    last = at
    for other in others:
        ends = at if other.forgotten else other.expires
        if ends is None:
            return None
        last = max(last, ends)
        if other.at is not None:
            if other.until is None:
                return None
            if other.until > other.at:
                last = max(last, other.until)
    return last
