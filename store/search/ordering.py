"""The order in which found records come where the caller asks for another than the best first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..file.duck import Session, query
from ..values import Candidates, Filters, Hit
from .ranking.scoring import Floats, Ints

AS_MUCH = 0.9  # of the coverage of another record: it says as much of the query
NEAR = 0.6  # of the best coverage: what may be the newest on a query has this much of it
_AS_GOOD = 0.75  # of the best worth: what tells of other things as well as of this is not newer on it


def working_first(session: Session, vids: Ints, order: Ints, coverage: Floats, least: float) -> tuple[Ints, int]:
    """`order` (indices into `vids` and `coverage`) with the working state that covers at least `least` of the query in
    front, else as it was; and how many stand in front."""
    rows = session.rows(query("working"), {"vids": [int(vid) for vid in vids[order]]})
    working = np.isin(vids[order], np.array([vid for (vid,) in rows], dtype=np.int64)) & (coverage[order] >= least)
    return np.concatenate((order[working], order[~working])), int(working.sum())


def ranked(
    kept: Ints,
    details: Mapping[str, NDArray[Any]],
    holds: Ints,
    score: Floats,
    coverage: Floats,
    *,
    newest: bool = False,
) -> Ints:
    """The records in `kept` in the order in which they stand, best first; `details` has `key` and `at`.

    What is archived stands behind all that holds, and what is dated in the future behind what says as much. Of equally
    good ones the newer comes first, by the time at which it happened or, for what is dated in the future, at which it
    was written. With `newest` what has most of the query
    comes by time alone, the newest first.
    """
    if not len(kept):
        return kept
    at, key = details["at"][kept], details["key"][kept]
    behind = late(kept, holds, coverage)
    if newest:
        near = coverage[kept] >= NEAR * coverage[kept].max()
        return kept[np.lexsort((-key, -at, ~near, behind))]
    return kept[np.lexsort((-key, -holds[kept], -score[kept], behind))]


def late(kept: Ints, holds: Ints, coverage: Floats) -> Ints:
    """For each of the records in `kept` where it stands at the earliest: 0, or 1 behind all of those because it does
    not hold yet and what holds says as much of the query, or 2 behind all because it holds no more."""
    archived, yet = holds[kept] < 0, holds[kept] == 0
    best = coverage[kept][~archived & ~yet].max(initial=-1.0)
    return np.where(archived, 2, yet & (AS_MUCH * coverage[kept] <= best)).astype(np.int64)


def holding(details: Mapping[str, NDArray[Any]], now: datetime) -> Ints:
    """The time of each record as it counts among those that say otherwise of one thing: what is dated in the future
    does not hold yet, and what is archived no more."""
    dated = details["created_at"].astype("datetime64[us]").astype(np.int64)
    at: Ints = np.where(dated > now.timestamp() * 1_000_000, 0, details["at"])
    return np.where(details["archived"], -1, at)


def settled(hits: Sequence[Hit], names: Sequence[str], behind: Mapping[str, int]) -> tuple[Hit, ...]:
    """The hits with equally good ones in the order of their records, and those of records that stand `behind` last."""
    turn = {name: number for number, name in enumerate(names)}
    found: list[Hit] = []
    for _, equal in groupby(hits, key=lambda hit: hit.score):
        found += sorted(equal, key=lambda hit: turn.get(hit.id, len(turn)))
    return tuple(sorted(found, key=lambda hit: behind.get(hit.id, 0)))


def listed(hits: Sequence[Hit], coverage: Mapping[str, float], by_time: bool, of_kind: bool) -> tuple[Hit, ...]:
    """The hits of a question that asks for a list: of the records with most of it the best passage is relevant, and
    what is so beside it. Unless they are `of_kind`, they must bear on the question nearly as well as the best.

    With `by_time` these best passages stand in front, in the order of `coverage`; the rest stays as it was.
    """
    least = NEAR * max(coverage.values(), default=0.0)
    near = {name for name, held in coverage.items() if held >= least}
    if not of_kind:
        least = _AS_GOOD * max((hit.score for hit in hits), default=0.0)
        near &= {hit.id for hit in hits if hit.score >= least}
    front: dict[str, Hit] = {}
    rest: list[Hit] = []
    for hit in hits:
        if hit.id in near and hit.id not in front:
            front[hit.id] = replace(hit, relevant=True)
            if by_time:
                continue
            hit = front[hit.id]
        rest.append(replace(hit, relevant=hit.relevant and hit.id in near))
    return (*(front[name] for name in coverage if by_time and name in front), *rest)


def exchanged(hits: Sequence[Hit], groups: Sequence[Sequence[str]]) -> tuple[Hit, ...]:
    """The hits with the first ones of the records of each group changing places, so that they stand in its order."""
    found = list(hits)
    for names in groups:
        first: dict[str, int] = {}
        for place, hit in enumerate(found):
            if hit.id in names:
                first.setdefault(hit.id, place)
        moved = [found[first[name]] for name in names if name in first]
        for place, hit in zip(sorted(first.values()), moved, strict=True):
            found[place] = replace(hit, score=found[place].score, relevant=hit.relevant or found[place].relevant)
    return tuple(found)


def in_turn(hits: Sequence[Hit], names: Sequence[str]) -> tuple[Hit, ...]:
    """The hits by rounds: of every record, in the order of the names, its best passage, then its second."""
    turn = {name: number for number, name in enumerate(names)}
    seen: Counter[str] = Counter()
    rounds: list[tuple[int, int, Hit]] = []
    for hit in hits:
        rounds.append((seen[hit.id], turn.get(hit.id, len(turn)), hit))
        seen[hit.id] += 1
    rounds.sort(key=lambda one: one[:2])
    return tuple(hit for *_, hit in rounds)


def opened_first(hits: Sequence[Hit], names: Sequence[str]) -> tuple[Hit, ...]:
    """The hits with the best one of each of these records in front, in the order of the names."""
    best: dict[str, int] = {}
    for index, hit in enumerate(hits):
        if hit.id in names:
            best.setdefault(hit.id, index)
    front = [best[name] for name in names if name in best]
    return tuple(hits[index] for index in [*front, *(index for index in range(len(hits)) if index not in set(front))])


def in_time(found: Candidates, filters: Filters) -> Candidates:
    """What was found with its whole records, which the best ones are, in order of time; the rest stays behind them.

    Of every record its best passage comes first, then of every record its second: no long one keeps the others back.
    """
    if filters.time_order is None:
        return found
    backwards = filters.time_order == "desc"
    axis = "updated_at" if filters.order_by == "updated_at" else "created_at"

    def place(name: str) -> Any:
        record = found.records[name]
        # What is dated in the future counts by the time of writing.
        return (min(record.updated_at, getattr(record, axis)), *_number(name))

    names = sorted(found.records, key=place, reverse=backwards)
    turn = {name: number for number, name in enumerate(names)}
    chosen = sorted((item for item in found.items if item.id in turn), key=lambda item: turn[item.id])
    items = [*chosen, *(item for item in found.items if item.id not in turn)]
    return replace(
        found,
        items=tuple(replace(item, rank=rank) for rank, item in enumerate(items, start=1)),
        hits=in_turn(found.hits, names),
        records={name: found.records[name] for name in names},
        plan={**found.plan, "time_order": filters.time_order},
    )


def _number(name: str) -> tuple[int, str]:
    """Ids by their number, so that equal times keep the order of writing."""
    digits = name.rpartition(":")[2]
    return (int(digits), name) if digits.isascii() and digits.isdigit() else (0, name)


def flag_of(filters: Filters, time_order: str, order_by: str) -> str:
    """The line of newest.sql and log.sql that stands: by which time, and which way."""
    axis = filters.order_by or order_by
    return f"{axis.removesuffix('_at')}_{filters.time_order or time_order}"
