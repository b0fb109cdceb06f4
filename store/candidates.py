"""The candidate stage: from a query to ranked passages and records.

The SQL of hits.sql applies visibility and filters and gives every posting of the query's terms, scoring.py makes scores
of them; here records are chosen, near-duplicates folded and the first ones read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import reads
from .analyzer import content_weight, query_speaker_terms, query_terms, term_key
from .base import Candidate, Candidates, Filters, Hit, Viewer
from .duck import Session, query
from .duplicates import fold, signature_of
from .known import Known
from .records import Record, id_of
from .scoring import DEFAULT_SCORING, Evidence, Ints, Scoring, best_of, rank, relevant, score

if TYPE_CHECKING:
    from . import vectors

MAX_QUERY_CHARS = 20_000
MAX_QUERY_TERMS = 256  # of a query; what stands behind them is not searched
_LEAD_CHARS = 300  # of each record that a restore shows before it shows more of any
_TAIL_PASSAGES = 8  # of an episode's end, and of what follows the beginning


def search(
    session: Session,
    text: str,
    filters: Filters,
    viewer: Viewer,
    now: datetime,
    *,
    depth: int,
    take: int,
    known: Sequence[str] = (),
    scoring: Scoring = DEFAULT_SCORING,
    question: vectors.Question | None = None,
) -> Candidates:
    """Records that bear on `text`, at most `depth`, best first, near-duplicates folded; the first `take` come whole.

    `known` are texts that the caller has: records that say the same are left out and counted in the plan. With a
    `question` vectors are looked through too.
    """
    words = query_terms(text[:MAX_QUERY_CHARS])[:MAX_QUERY_TERMS]
    where = reads.choice(viewer, now, filters)
    plan: dict[str, Any] = {
        "mode": "query",
        "arms": ["bm25"],
        "terms": list(words),
        "depth": depth,
        "gate": scoring.gate,
        "floor": scoring.floor,
    }
    found = _evidence(session, text, words, where)
    near = None
    if question:
        from . import vectors  # only with an embedder: a short command does without

        near = vectors.arm(session, question, where, depth, plan)
    if not (found.slot < len(words)).any() and (near is None or not len(near.vids)):
        return Candidates(plan={**plan, "matched": 0, **reads.empty_filter(session, filters, viewer, now)})
    first = score(found, scoring)
    top = best_of(first.rough, depth)
    if near:
        first, top = vectors.widen(first, top, near)
    vids = first.vids[top]
    details = _details(session, vids)
    sizes = details["passages"].astype(np.int64)
    ranked = rank(found, first, top, sizes, scoring)
    keep = relevant(ranked.coverage, scoring)
    if near:
        ranked, keep = vectors.fuse(ranked, keep, vids, sizes, near)
    order = np.flatnonzero(keep)
    order = order[np.lexsort((details["key"][order], -ranked.score[order]))][:depth]
    rows = [
        _Row(int(details["key"][i]), int(vids[i]), float(ranked.score[i]), float(ranked.coverage[i])) for i in order
    ]
    prints = np.stack((details["print_low"][order], details["print_high"][order]), axis=1)
    plan["matched"] = len(first.vids)
    kept = _assemble(session, rows, prints, filters, viewer, now, take=take, known=known, plan=plan)
    names = [id_of(int(key)) for key in details["key"]]
    steps = np.array([name in kept.records for name in names], dtype=bool)[ranked.owner]
    hits = tuple(
        Hit(names[owner], int(ordinal), float(value))
        for owner, ordinal, value in zip(ranked.owner[steps], ranked.ordinal[steps], ranked.value[steps], strict=True)
    )
    return replace(kept, hits=hits)


def _evidence(session: Session, text: str, words: tuple[str, ...], where: reads.Where) -> Evidence:
    keys = [term_key(term) for term in (*words, *query_speaker_terms(text[:MAX_QUERY_CHARS])[:MAX_QUERY_TERMS])]
    hits = where.arrays(session, "hits", terms=keys)
    order = np.argsort(hits["pas"], kind="stable")  # postings come as few ascending runs, which this sort makes use of
    hits = {name: column[order] for name, column in hits.items()}
    return Evidence(
        slot=hits["slot"],
        vid=hits["vid"],
        pas=hits["pas"],
        tf=hits["tf"].astype(np.float64),
        len=hits["len"].astype(np.float64),
        terms=hits["terms"].astype(np.float64),
        words=len(words),
        content=np.array([content_weight(word) for word in words]),
        totals=reads.totals(session, where),
    )


def _details(session: Session, vids: Ints) -> dict[str, NDArray[Any]]:
    """Columns of details.sql, one entry for each version in the order given."""
    columns = session.arrays(query("details"), {"vids": vids.tolist()})
    place = np.searchsorted(columns["vid"], vids, sorter=(by_vid := np.argsort(columns["vid"])))
    return {name: column[by_vid[place]] for name, column in columns.items()}


def restore(
    session: Session,
    filters: Filters,
    viewer: Viewer,
    now: datetime,
    *,
    depth: int,
    take: int,
    known: Sequence[str] = (),
) -> Candidates:
    """What a session should start with: pinned, open work, recent decisions and records, round the paths.

    Passages in the order in which they are worth showing: of every record its beginning, of an episode its end too.
    """
    where = reads.choice(viewer, now, filters)
    found = where.rows(session, "restore", depth=depth)
    plan: dict[str, Any] = {"mode": "restore", "arms": ["recency"], "terms": [], "depth": depth}
    plan["matched"] = reads.totals(session, where)[0]
    if not found:
        return Candidates(plan={**plan, **reads.empty_filter(session, filters, viewer, now)})
    rows = [_Row(key, vid, 1.0 / place, 1.0, reason) for place, (vid, key, reason, *_) in enumerate(found, start=1)]
    prints = np.array([row[3:] for row in found], dtype=np.int64)
    kept = _assemble(session, rows, prints, filters, viewer, now, take=take, known=known, plan=plan)
    rounds = [hit for record in kept.records.values() for hit in _beginning(record)]
    rounds.sort(key=lambda hit: -hit.score)  # stable: rounds first, records in order within a round
    return replace(kept, hits=tuple(rounds))


def newest(session: Session, filters: Filters, viewer: Viewer, now: datetime, *, limit: int) -> Candidates:
    """The newest records, at most `limit`, all of them whole."""
    where = reads.choice(viewer, now, filters)
    keys = [key for (key,) in where.rows(session, "newest", limit=limit)]
    plan: dict[str, Any] = {
        "mode": "newest",
        "arms": ["recency"],
        "terms": [],
        "matched": reads.totals(session, where)[0],
    }
    if not keys:
        plan |= reads.empty_filter(session, filters, viewer, now)
    found = reads.fetch(session, keys, viewer, now, filters)
    names = [name for name in map(id_of, keys) if name in found]
    items = tuple(Candidate(name, rank, 1.0 / rank) for rank, name in enumerate(names, start=1))
    return Candidates(items, (), {name: found[name] for name in names}, {**plan, "candidates": len(items)})


@dataclass(frozen=True, slots=True)
class _Row:
    """A ranked record on its way to a candidate."""

    key: int
    vid: int
    score: float
    coverage: float
    reason: str = ""


def _assemble(
    session: Session,
    rows: list[_Row],
    prints: Ints,
    filters: Filters,
    viewer: Viewer,
    now: datetime,
    *,
    take: int,
    known: Sequence[str],
    plan: dict[str, Any],
) -> Candidates:
    """Fold near-duplicates, leave out what the caller has, and bring the first records whole."""

    records: dict[str, Record] = {}

    def read(indices: Iterable[int]) -> None:
        keys = [rows[index].key for index in indices if id_of(rows[index].key) not in records]
        records.update(reads.fetch(session, keys, viewer, now, filters))

    def signatures(indices: Sequence[int]) -> dict[int, bytes]:
        read([*range(min(take, len(rows))), *indices])
        texts = {index: records[id_of(rows[index].key)] for index in indices}
        return {index: signature_of(record.title, record.content) for index, record in texts.items()}

    # Only what may come in is compared: the rest is out by max_items whatever it repeats.
    reach = min(len(rows), take + 8)
    stands_for = fold(prints[:reach], signatures) + [None] * (len(rows) - reach)
    chosen = [index for index, other in enumerate(stands_for) if other is None]
    dropped: set[int] = set()
    if known:
        texts: dict[int, str] = dict(session.rows(query("contents"), {"vids": [rows[index].vid for index in chosen]}))
        has = Known(known)
        dropped = {index for index in chosen if has.says(texts[rows[index].vid])}
        chosen = [index for index in chosen if index not in dropped]
        dropped |= {index for index, other in enumerate(stands_for) if other in dropped}
    read(chosen[:take])
    wanted = (id_of(rows[index].key) for index in chosen[:take])
    order = [index for index in range(len(rows)) if index not in dropped]
    items = tuple(
        Candidate(
            id_of(rows[index].key),
            rank,
            rows[index].score,
            None if (other := stands_for[index]) is None else id_of(rows[other].key),
            rows[index].reason,
            rows[index].coverage,
        )
        for rank, index in enumerate(order, start=1)
    )
    plan |= {"candidates": len(items), "excluded": len(dropped)}
    return Candidates(items, (), {one: records[one] for one in wanted if one in records}, plan)


def _beginning(record: Record) -> list[Hit]:
    """What a restore shows of a record, by round: its first lines, of an episode then its last, then what follows."""
    count = len(record.passages)
    lead = next((span.ordinal + 1 for span in record.passages if span.end >= _LEAD_CHARS), count)
    first = list(range(lead))
    rest = range(lead, count)
    last = list(reversed(rest))[:_TAIL_PASSAGES] if record.kind == "episode" else []
    later = [ordinal for ordinal in rest if ordinal not in set(last)]
    rounds = [*((o, 3.0) for o in first), *((o, 2.0) for o in last), *((o, 1.0) for o in later[:_TAIL_PASSAGES])]
    return [Hit(record.id, ordinal, value) for ordinal, value in rounds]
