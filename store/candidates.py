"""The candidate stage: from a query to ranked passages and records.

The SQL of hits.sql applies visibility and filters and gives every posting of the query's terms; here they become BM25
scores (Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009) of passages and of whole
records, each passage is scored with its neighbours, its speaker and its record, and a floor keeps unrelated text out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import reads
from .analyzer import query_speaker_terms, query_terms, term_key
from .base import Candidate, Candidates, Filters, Hit, Viewer
from .duck import Session, query
from .duplicates import fold
from .known import Known
from .records import Record, id_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LEAD_CHARS = 300  # of each record that a restore shows before it shows more of any
_TAIL_PASSAGES = 8  # of an episode's end, and of what follows the beginning


@dataclass(frozen=True, slots=True)
class Scoring:
    """Weights of the score of a passage. Measured by tests/bench/evidence.py; see the README for the table."""

    k1: float = 1.2
    b: float = 0.75
    record_b: float = 0.4
    previous: float = 0.4  # share of the score of the passage before
    following: float = 0.3  # share of the score of the passage after
    record: float = 0.75  # share of the BM25 score of the whole record
    header: float = 1.0  # weight of a term in title, path or type, in occurrences
    speaker: float = 0.5  # standard deviations for a passage said by somebody whom the query names
    gate: float = 0.25  # coverage that the best record needs for an answer at all
    floor: float = 0.1  # coverage that every further record needs


@dataclass(frozen=True, slots=True)
class Ranked:
    """Records best first: `keys`, `vids`, `scores`, `coverage` float64[n]; passages best first: `owner` (index into
    the records), `ordinal` (0-based), `value` float64[m]."""

    keys: Ints
    vids: Ints
    scores: Floats
    coverage: Floats
    owner: Ints
    ordinal: Ints
    value: Floats
    matched: int


def bm25(idf: Floats, tf: Floats, length: Floats, average: float, k1: float, b: float) -> Floats:
    """BM25 term weights: idf · tf·(k1+1) / (tf + k1·(1 − b + b·length/average))."""
    return idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / max(average, 1e-9)))


def idf(df: Floats, n: int) -> Floats:
    """Inverse document frequency that is never negative: ln(1 + (n − df + ½)/(df + ½))."""
    return np.log1p((np.maximum(n - df, 0) + 0.5) / (df + 0.5))


def rank(
    hits: dict[str, NDArray[Any]],
    terms: int,
    totals: tuple[int, int, int],
    depth: int,
    scoring: Scoring,
) -> Ranked:
    """Score what hits.sql gave. `terms` counts the words of the query; slots above it are speakers' names.

    `totals` are the records, passages and terms of what was asked for. At most `depth` records come back.
    """
    slot, vid, pas = hits["slot"], hits["vid"], hits["pas"]
    tf = hits["tf"].astype(np.float64)
    records, passages, words = totals
    body = (slot < terms) & (pas > vid)
    word = slot < terms

    vids, first, row = np.unique(vid, return_index=True, return_inverse=True)
    sizes = hits["passages"][first].astype(np.int64)
    n = len(vids)

    # Passages
    b_slot, b_pas = slot[body], pas[body]
    df = np.bincount(b_slot, minlength=terms)[:terms].astype(np.float64)
    weight = idf(df, passages)
    impact = bm25(weight[b_slot], tf[body], hits["len"][body].astype(np.float64), words / max(passages, 1), scoring.k1, scoring.b)

    # Records: every term once, with all its occurrences and its place in the header
    count = np.where(pas > vid, tf, tf * scoring.header)
    cells = row[word] * terms + slot[word]
    table = np.bincount(cells, weights=count[word], minlength=n * terms).reshape(n, terms)
    present = table > 0
    rdf = present.sum(axis=0).astype(np.float64)
    rweight = idf(rdf, records)
    whole = bm25(
        rweight, table, hits["terms"][first].astype(np.float64)[:, None], words / max(records, 1), scoring.k1, scoring.record_b
    ).sum(axis=1)

    # Which records come into the second round: by their best passage and themselves
    u_pas, u_inverse = np.unique(b_pas, return_inverse=True)
    u_score = np.bincount(u_inverse, weights=impact, minlength=len(u_pas))
    u_row = np.searchsorted(vids, u_pas, side="right") - 1
    best = np.zeros(n)
    np.maximum.at(best, u_row, u_score)
    rough = best + scoring.record * whole
    top = _top(rough, hits["key"][first], depth)

    # Second round: all passages of those records, with their neighbours
    chosen_sizes = sizes[top]
    ends = np.cumsum(chosen_sizes)
    starts = ends - chosen_sizes
    score = np.zeros(int(ends[-1]) if len(ends) else 0)
    place = np.full(n, -1)
    place[top] = np.arange(len(top))
    inside = place[u_row] >= 0
    at = starts[place[u_row[inside]]] + (u_pas[inside] - vids[u_row[inside]] - 1)
    score[at] = u_score[inside]
    owner = np.repeat(np.arange(len(top)), chosen_sizes)
    ordinal = np.arange(len(score)) - starts[owner]
    own = score.copy()
    has_previous = np.flatnonzero(ordinal > 0)
    has_following = np.flatnonzero(ordinal < chosen_sizes[owner] - 1)
    score[has_previous] += scoring.previous * own[has_previous - 1]
    score[has_following] += scoring.following * own[has_following + 1]

    # Coverage: how much of the query one passage, its neighbours and the header hold together. Not of the whole
    # record: a long text has a little of everything.
    near = place[row] >= 0
    window = np.zeros((len(score), terms), dtype=bool)
    here = near & body
    window[starts[place[row[here]]] + (pas[here] - vid[here] - 1), slot[here]] = True
    alone = window.copy()
    window[has_previous] |= alone[has_previous - 1]
    window[has_following] |= alone[has_following + 1]
    header = np.zeros((len(top), terms), dtype=bool)
    here = near & word & (pas == vid)
    header[place[row[here]], slot[here]] = True
    coverage = np.zeros(len(top))
    np.maximum.at(coverage, owner, (window | header[owner]) @ weight)
    coverage /= max(float(weight.sum()), 1e-9)

    # A record found by its header alone shows its beginning.
    score[starts[best[top] == 0]] += 1e-6
    spoken = (slot >= terms) & near
    if spoken.any():
        said = np.unique(starts[place[row[spoken]]] + (pas[spoken] - vid[spoken] - 1))
        spread = float(score[score > 0].std()) if (score > 0).any() else 0.0
        lit = np.zeros(len(score), dtype=bool)
        lit[said] = True
        score[lit & (score > 0)] += scoring.speaker * spread
    value = np.where(score > 0, score + scoring.record * whole[top][owner], 0.0)

    shown = np.flatnonzero(value > 0)
    order = shown[np.lexsort((ordinal[shown], owner[shown], -value[shown]))]
    scores = np.zeros(len(top))
    np.maximum.at(scores, owner, value)
    by_score = np.lexsort((hits["key"][first][top], -scores))
    position = np.empty(len(top), dtype=np.int64)
    position[by_score] = np.arange(len(top))
    return Ranked(
        keys=hits["key"][first][top][by_score],
        vids=vids[top][by_score],
        scores=scores[by_score],
        coverage=coverage[by_score],
        owner=position[owner[order]],
        ordinal=ordinal[order],
        value=value[order],
        matched=n,
    )


def _top(score: Floats, key: Ints, depth: int) -> Ints:
    """Indices of the `depth` highest scores, ties by key."""
    if len(score) > 4 * depth:
        edge = np.partition(score, len(score) - depth)[len(score) - depth]
        pool = np.flatnonzero(score >= edge)
    else:
        pool = np.arange(len(score))
    return pool[np.lexsort((key[pool], -score[pool]))][:depth]


DEFAULT_SCORING = Scoring()


def relevant(ranked: Ranked, scoring: Scoring) -> NDArray[np.bool_]:
    """Which records stand above the relevance floor: none where even the best has too little of the query."""
    if not len(ranked.coverage) or ranked.coverage.max() < scoring.gate:
        return np.zeros(len(ranked.coverage), dtype=bool)
    return ranked.coverage >= scoring.floor


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
) -> Candidates:
    """Records that bear on `text`, at most `depth`, best first, near-duplicates folded; the first `take` come whole.

    `known` are texts that the caller has: records that say the same are left out and counted in the plan.
    """
    words = query_terms(text)
    where = {**reads.sight(viewer, now, filters), **reads.choice(filters)}
    plan: dict[str, Any] = {"mode": "query", "arms": ["bm25"], "terms": list(words), "depth": depth, "gate": scoring.gate, "floor": scoring.floor}
    totals = session.row(query("totals"), where) or (0, 0, 0)
    keys = [term_key(term) for term in (*words, *query_speaker_terms(text))]
    hits = session.arrays(query("hits"), {**where, "terms": keys})
    if not (hits["slot"] < len(words)).any():
        return Candidates(plan={**plan, "matched": 0, **reads.empty_filter(session, filters, viewer, now)})
    ranked = rank(hits, len(words), totals, depth, scoring)
    keep = relevant(ranked, scoring)
    plan["matched"] = ranked.matched
    rows = [
        _Row(int(key), int(vid), float(score), "", float(coverage))
        for key, vid, score, coverage in zip(
            ranked.keys[keep], ranked.vids[keep], ranked.scores[keep], ranked.coverage[keep], strict=True
        )
    ]
    found = _assemble(session, rows, filters, viewer, now, take=take, known=known, plan=plan)
    whole = np.array([id_of(int(key)) in found.records for key in ranked.keys], dtype=bool)
    steps = whole[ranked.owner]
    hits_of = tuple(
        Hit(id_of(int(ranked.keys[owner])), int(ordinal), float(value))
        for owner, ordinal, value in zip(ranked.owner[steps], ranked.ordinal[steps], ranked.value[steps], strict=True)
    )
    return replace(found, hits=hits_of)


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
    where = {**reads.sight(viewer, now, filters), **reads.choice(filters)}
    found = session.rows(query("restore"), {**where, "depth": depth})
    plan: dict[str, Any] = {"mode": "restore", "arms": ["recency"], "terms": [], "depth": depth, "matched": len(found)}
    if not found:
        return Candidates(plan={**plan, **reads.empty_filter(session, filters, viewer, now)})
    rows = [_Row(key, vid, 1.0 / place, reason) for place, (vid, key, reason) in enumerate(found, start=1)]
    kept = _assemble(session, rows, filters, viewer, now, take=take, known=known, plan=plan)
    rounds = [hit for record in kept.records.values() for hit in _beginning(record)]
    rounds.sort(key=lambda hit: -hit.score)  # stable: rounds first, records in order within a round
    return replace(kept, hits=tuple(rounds))


@dataclass(frozen=True, slots=True)
class _Row:
    """A ranked record on its way to a candidate."""

    key: int
    vid: int
    score: float
    reason: str = ""
    coverage: float = 1.0


def _assemble(
    session: Session,
    rows: list[_Row],
    filters: Filters,
    viewer: Viewer,
    now: datetime,
    *,
    take: int,
    known: Sequence[str],
    plan: dict[str, Any],
) -> Candidates:
    """Fold near-duplicates, leave out what the caller has, and bring the first records whole."""
    signatures: dict[int, bytes] = dict(session.rows(query("signatures"), {"vids": [row.vid for row in rows]}))
    stands_for = fold([signatures[row.vid] for row in rows])
    chosen = [index for index, other in enumerate(stands_for) if other is None]
    dropped: set[int] = set()
    if known:
        texts: dict[int, str] = dict(session.rows(query("contents"), {"vids": [rows[index].vid for index in chosen]}))
        has = Known(known)
        dropped = {index for index in chosen if has.says(texts[rows[index].vid])}
        chosen = [index for index in chosen if index not in dropped]
        dropped |= {index for index, other in enumerate(stands_for) if other in dropped}
    wanted = [rows[index].key for index in chosen[:take]]
    fetched = reads.fetch(session, wanted, viewer, now, filters)
    records = {one: fetched[one] for one in map(id_of, wanted) if one in fetched}
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
    return Candidates(items, (), records, plan)


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
