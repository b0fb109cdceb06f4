"""From ranked passages to the hits of a pack: what their text adds to their worth, and where relevance ends."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from .base import Hit
from .duck import Session
from .records import Record
from .scoring import SIGNALS, Bools, Floats, Ints, Ranked, Scoring
from .signals import Asked, Signs, asked_for, novelty, signs_of

_ECHO: Final = 0.6  # share of the query that a passage holds which may be its echo
_ASKED_AGAIN: Final = 0.4  # novelty up to which a passage that asks is one
_NOTHING_NEW: Final = 0.05  # the same for one that tells


@dataclass(frozen=True, slots=True)
class _Pool:
    """The passages at hand, one entry each: `record` is the index of the record, `turn` a number over all of them."""

    record: Ints
    ordinal: Ints
    value: Floats
    bears: Floats
    echo: Bools
    turn: Ints
    size: Ints  # passages of its turn


def hits_of(
    session: Session,
    text: str,
    words: Sequence[str],
    ranked: Ranked,
    ids: Sequence[str],
    records: Mapping[str, Record],
    scoring: Scoring,
) -> tuple[Hit, ...]:
    """The passages of `records` that bear on a query, best first; `ids` are those of the records of `ranked`.

    Where relevance ends they say so: a passage is relevant whose worth, of the signals that bear on the query, is at
    least the share `scoring.relevant` of the best.
    """
    chosen = np.array([ref in records for ref in ids], dtype=bool)[ranked.owner]
    if not chosen.any():
        return ()
    pool = _pooled(session, text, frozenset(words), ranked, chosen, ids, records)
    proof = pool.bears[~pool.echo] if not pool.echo.all() else pool.bears
    relevant = pool.bears >= scoring.relevant * float(proof.max())
    order = _together(pool, scoring)
    order = _in_turn(pool.record[order], order, len(ids), scoring)
    return tuple(
        Hit(ids[pool.record[n]], int(pool.ordinal[n]), float(pool.value[n]), bool(relevant[n])) for n in order.tolist()
    )


def _pooled(
    session: Session,
    text: str,
    words: frozenset[str],
    ranked: Ranked,
    chosen: Bools,
    ids: Sequence[str],
    records: Mapping[str, Record],
) -> _Pool:
    owner, ordinal, alone = ranked.owner[chosen], ranked.ordinal[chosen], ranked.alone[chosen]
    value = ranked.value[chosen]
    bears = value.copy()
    echo = np.zeros(len(owner), dtype=bool)
    turn = np.zeros(len(owner), dtype=np.int64)
    size = np.zeros(len(owner), dtype=np.int64)
    asked = asked_for(text)
    newer = _place_in_time(records)
    before = 0
    for index in dict.fromkeys(owner.tolist()):
        record = records[ids[index]]
        signs = _signs(session, record)
        mine = np.flatnonzero(owner == index)
        at = ordinal[mine]
        for n in mine[alone[mine] >= _ECHO].tolist():
            span = record.passages[ordinal[n]]
            new = novelty(record.content[span.start : span.end], words)
            echo[n] = new <= (_ASKED_AGAIN if signs.asks[ordinal[n]] else _NOTHING_NEW)
        for name, column in _columns(signs, asked).items():
            added = SIGNALS[name].weight * column[at]
            value[mine] += added
            if SIGNALS[name].bears:
                bears[mine] += added
        value[mine] += SIGNALS["newer"].weight * newer[record.id]
        sizes = np.bincount(signs.turn)
        turn[mine] = before + signs.turn[at]
        size[mine] = sizes[signs.turn[at]]
        before += len(sizes)
    value[echo] += SIGNALS["echo"].weight
    bears[echo] += SIGNALS["echo"].weight
    return _Pool(owner, ordinal, value, bears, echo, turn, size)


def _columns(signs: Signs, asked: Asked) -> dict[str, Floats]:
    columns = {"question": signs.asks, "first_person": signs.first_person, "length": signs.length}
    if asked.date:
        columns["when"] = signs.date
    if asked.number:
        columns["count"] = signs.number
    if asked.name:
        columns["name"] = signs.name
    columns |= {"assistant": signs.assistant} if asked.assistant else {"user": signs.user}
    return columns


def _signs(session: Session, record: Record) -> Signs:
    """The signs of a record, remembered by a process that keeps the file."""
    name = ("signs", record.id, record.agent_id, record.version)
    signs: Signs | None = session.recalled(name)
    if signs is None:
        signs = signs_of(record)
        session.keep(name, signs, 300 + 72 * len(record.passages))
    return signs


def _place_in_time(records: Mapping[str, Record]) -> dict[str, float]:
    """Where each record stands in time, 0 the oldest to 1 the newest. One dated in the future counts as of its writing."""
    times = {ref: min(record.created_at, record.updated_at) for ref, record in records.items()}
    distinct = sorted(set(times.values()))
    place = {moment: n / max(len(distinct) - 1, 1) for n, moment in enumerate(distinct)}
    return {ref: place[moment] for ref, moment in times.items()}


def _together(pool: _Pool, scoring: Scoring) -> Ints:
    """Indices, best first; once a passage of a turn is out, the others of it come sooner where the turn is short."""
    members: dict[int, list[int]] = {}
    for n in np.flatnonzero((pool.size > 1) & (pool.size <= scoring.turn_passages)).tolist():
        members.setdefault(int(pool.turn[n]), []).append(n)
    worth = (-pool.value).tolist()
    keys = list(zip(worth, pool.record.tolist(), pool.ordinal.tolist(), range(len(worth)), strict=True))
    heap = sorted(keys)
    out = bytearray(len(worth))
    order: list[int] = []
    while heap:
        n = heapq.heappop(heap)[3]
        if out[n]:
            continue
        out[n] = 1
        order.append(n)
        for other in members.pop(int(pool.turn[n]), ()):
            if not out[other]:
                heapq.heappush(heap, (worth[other] - scoring.together, *keys[other][1:]))
    return np.array(order, dtype=np.int64)


def _in_turn(record: Ints, order: Ints, count: int, scoring: Scoring) -> Ints:
    """No record blocks those behind it: after so many passages of one, the others have theirs first."""
    turn = np.empty(len(order), dtype=np.int64)
    by_record = np.argsort(record, kind="stable")
    sizes = np.bincount(record, minlength=count)
    turn[by_record] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return order[np.argsort(turn // scoring.turn, kind="stable")]
