"""What the file holds on the terms of a query: their postings in what may be seen, and the size of that.

A process that opens the file for one read lets DuckDB join postings and records. One that keeps the file remembers both
apart, the postings of a term and which versions a condition lets through, and joins them itself: at 100,000 records
that takes a tenth of the time. Both ways give the same arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..file.duck import Session, query
from ..memory import reads
from .ranking.scoring import Evidence, Floats, Ints

Columns = dict[str, NDArray[Any]]
Details = Callable[[Ints], Columns]

_COLUMNS = ("slot", "vid", "pas", "tf", "len", "terms")


@dataclass(frozen=True, slots=True)
class Seen:
    """The versions that a condition lets through: `columns` by ascending vid, counts, and when the first of them
    expires or what was replaced stands again.

    `places` int32[highest vid + 2] has the row of each vid, and the number of rows for all others.
    """

    columns: Columns
    places: NDArray[np.int32]
    totals: tuple[int, int, int]
    expires: datetime | None


def gather(session: Session, terms: Sequence[int], content: Floats, where: reads.Where) -> tuple[Evidence, Details]:
    """The postings of `terms`, the first `len(content)` of them words, and what is known of their versions."""
    seen = _seen(session, where)
    hits: Columns
    if seen is None:
        where = reads.settled(session, where)
        hits = where.arrays(session, "hits", terms=list(terms))
        totals = reads.totals(session, where)
    else:
        hits, totals = _joined(_postings(session, terms), seen), seen.totals
    # No two have the same passage and term, so their order, and with it every sum, is the same each time.
    order = np.argsort(hits["pas"] * len(terms) + hits["slot"], kind="stable")
    hits = {name: hits[name][order] for name in _COLUMNS}
    found = Evidence(
        slot=hits["slot"],
        vid=hits["vid"],
        pas=hits["pas"],
        tf=hits["tf"].astype(np.float64),
        len=hits["len"].astype(np.float64),
        terms=hits["terms"].astype(np.float64),
        words=len(content),
        content=content,
        totals=totals,
    )
    return found, lambda vids: _details(session, vids, where, seen)


def _details(session: Session, vids: Ints, where: reads.Where, seen: Seen | None) -> Columns:
    """Columns of details.sql, one entry for each version in the order given."""
    if seen is not None:
        rows = np.searchsorted(seen.columns["vid"], vids)
        columns = {name: column[rows] for name, column in seen.columns.items()}
        names = reads.names_of(session, columns["key"].tolist())
        return {**columns, "name": np.array([names.get(key) for key in columns["key"].tolist()], dtype=object)}
    columns = session.arrays(query("details"), {"vids": vids.tolist(), "agent": where.params["agent"]})
    by_vid = np.argsort(columns["vid"])
    rows = by_vid[np.searchsorted(columns["vid"], vids, sorter=by_vid)]
    return {name: column[rows] for name, column in columns.items()}


def _seen(session: Session, where: reads.Where) -> Seen | None:
    """What the process remembers of a condition, read now where that is worth it; None where it is not."""
    name = where.name
    if session.kept is None or name is None:
        return None
    seen: Seen | None = session.recalled(name)
    if seen is None and session.kept.settled:
        *totals, expires = where.rows(session, "totals")[0]
        turns = session.value(query("turns"), {"at": where.params["at"]})
        expires = min((moment for moment in (expires, turns) if moment is not None), default=None)
        columns = where.arrays(session, "seen")
        order = np.argsort(columns["vid"], kind="stable")
        columns = {column: values[order] for column, values in columns.items()}
        seen = Seen(columns, _places(columns["vid"]), (totals[0], totals[1], totals[2]), expires)
        session.keep(name, seen, seen.places.nbytes + sum(values.nbytes for values in columns.values()))
    if seen is None or (seen.expires is not None and seen.expires <= where.params["at"]):
        return None
    return seen


def _places(vids: Ints) -> NDArray[np.int32]:
    highest = int(vids[-1]) if len(vids) else -1
    places = np.full(highest + 2, len(vids), dtype=np.int32)
    places[vids] = np.arange(len(vids), dtype=np.int32)
    return places


def _postings(session: Session, terms: Sequence[int]) -> list[Columns]:
    """For each term its postings by passage, everybody's."""
    known = {term: session.recalled(term) for term in terms}
    wanted = [term for term, postings in known.items() if postings is None]
    if wanted:
        rows = session.arrays(query("postings"), {"terms": wanted})
        of = rows.pop("term")
        for term in wanted:
            mine = np.flatnonzero(of == term)
            mine = mine[np.argsort(rows["pas"][mine], kind="stable")]
            known[term] = {name: _narrow(column[mine]) for name, column in rows.items()}
            session.keep(term, known[term], 200 + sum(column.nbytes for column in known[term].values()))
    return [known[term] for term in terms]


def _narrow(column: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in half the room where they fit."""
    fits = column.dtype != np.int64 or not len(column) or int(column[-1]) < 2**31  # ascending
    return column.astype(np.int32) if fits and column.dtype == np.int64 else column


def _joined(postings: Sequence[Columns], seen: Seen) -> Columns:
    """The postings in what is seen: what hits.sql gives."""
    vids = seen.columns["vid"]
    if not len(vids) or not postings:
        return {name: np.zeros(0, dtype=np.int64) for name in _COLUMNS}
    slot = np.repeat(np.arange(len(postings)), [len(one["pas"]) for one in postings])
    hits = {name: np.concatenate([one[name] for one in postings]) for name in ("vid", "pas", "tf", "len")}
    hits |= {name: hits[name].astype(np.int64) for name in ("vid", "pas")}
    row = seen.places[np.minimum(hits["vid"], len(seen.places) - 1)]
    there = row < len(vids)
    if not there.all():
        row, slot = row[there], slot[there]
        hits = {name: column[there] for name, column in hits.items()}
    return {"slot": slot, "terms": seen.columns["terms"][row], **hits}
