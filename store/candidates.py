"""The candidate stage: from a query to ranked passages and records.

The SQL of hits.sql applies visibility and filters and gives every posting of the query's terms; here they become BM25
scores (Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009) of passages and of whole
records, each passage is scored with its neighbours, its speaker and its record, and a floor keeps unrelated text out.
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

if TYPE_CHECKING:
    from . import vectors

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Passages that a store is taken to have besides its own when coverage weighs words: with one record in it, a word that
# is there must not be common and one that is not must not be priceless.
_BACKGROUND = 1000
MAX_QUERY_CHARS = 20_000
MAX_QUERY_TERMS = 256  # of a query; what stands behind them is not searched
_HEADER_ONLY = 1e-6  # a record found by its title, path or type alone shows its beginning
_LEAD_CHARS = 300  # of each record that a restore shows before it shows more of any
_TAIL_PASSAGES = 8  # of an episode's end, and of what follows the beginning


@dataclass(frozen=True, slots=True)
class Scoring:
    """Weights of the score of a passage. Measured by tests/bench/evidence.py; reasons stand in .dev/NOTES.md."""

    k1: float = 1.2
    b: float = 0.75
    record_b: float = 0.4
    previous: float = 0.4  # share of the score of the passage before
    following: float = 0.3  # share of the score of the passage after
    record: float = 1.0  # share of the BM25 score of the whole record
    header: float = 1.0  # weight of a term in title, path or type, in occurrences
    speaker: float = 1.0  # standard deviations for a passage said by somebody whom the query names
    turn: int = 48  # passages of one record before those of others that are worth less
    gate: float = 0.2  # coverage that the best record needs for an answer at all
    floor: float = 0.05  # coverage that every further record needs


@dataclass(frozen=True, slots=True)
class Evidence:
    """The postings of a query's terms in what may be seen, one entry each (arrays of equal length), by passage.

    `slot` is the index of the term, words first, speakers' names from `words` on; `vid` and `pas` say where, `tf` how
    often, `len` is the length of the passage and `terms` that of the record, in terms. `content` float64[words] says
    how much of its own each word means (0 to 1); `totals` counts the records, passages and terms of what was asked for.
    """

    slot: Ints
    vid: Ints
    pas: Ints
    tf: Floats
    len: Floats
    terms: Floats
    words: int
    content: Floats
    totals: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Scores:
    """First round: BM25 of every passage and record that has a word of the query.

    `vids` int64[n] ascending, `row` the record of each posting (index into `vids`); `whole`, `rough` float64[n];
    `pas` int64[m] ascending with `value` float64[m]; `share` float64[words] is what each word counts in coverage.
    """

    vids: Ints
    row: Ints
    whole: Floats
    rough: Floats
    found: NDArray[np.bool_]
    pas: Ints
    value: Floats
    share: Floats


@dataclass(frozen=True, slots=True)
class Ranked:
    """Second round, records in the order given: `score` and `coverage` float64[n]; passages best first: `owner`
    (index of the record), `ordinal` (0-based) and `value` float64[m]."""

    score: Floats
    coverage: Floats
    owner: Ints
    ordinal: Ints
    value: Floats


def bm25(idf: Floats, tf: Floats, length: Floats, average: float, k1: float, b: float) -> Floats:
    """BM25 term weights: idf · tf·(k1+1) / (tf + k1·(1 − b + b·length/average))."""
    return idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / max(average, 1e-9)))


def idf(df: Floats, n: int) -> Floats:
    """Inverse document frequency that is never negative: ln(1 + (n − df + ½)/(df + ½))."""
    return np.log1p((np.maximum(n - df, 0) + 0.5) / (df + 0.5))


def score(found: Evidence, scoring: Scoring) -> Scores:
    """First round: all passages and records by their own words."""
    records, passages, terms = found.totals
    words = found.words
    word = found.slot < words
    in_text = found.pas > found.vid
    body = word & in_text
    slot, pas = found.slot[body], found.pas[body]

    df = np.bincount(slot, minlength=words).astype(np.float64)
    weight = idf(df, passages)
    share = idf(df, passages + _BACKGROUND) * found.content
    impact = bm25(weight[slot], found.tf[body], found.len[body], terms / max(passages, 1), scoring.k1, scoring.b)
    runs = _runs(pas)
    passage = pas[runs]
    value: Floats = np.add.reduceat(impact, runs) if len(runs) else impact

    # Records: every word once, with all its occurrences, those in title, path and type at their own weight.
    runs = _runs(found.vid)
    vids = found.vid[runs]
    n = len(vids)
    row = np.repeat(np.arange(n), np.diff(runs, append=len(found.vid)))
    count = np.where(in_text, found.tf, found.tf * scoring.header)
    cells = row[word] * words + found.slot[word]
    table: Floats = np.bincount(cells, weights=count[word], minlength=n * words).reshape(n, words).astype(np.float64)
    length = found.terms[runs]
    rare = idf((table > 0).sum(axis=0).astype(np.float64), records)
    whole = bm25(rare, table, length[:, None], terms / max(records, 1), scoring.k1, scoring.record_b).sum(axis=1)

    # The passages of a record stand together: the best of each run is the best of its record.
    ahead = np.searchsorted(passage, vids)
    behind = np.append(ahead[1:], len(passage))
    best = np.zeros(n)
    with_text = np.flatnonzero(behind > ahead)
    if len(with_text):
        best[with_text] = np.maximum.reduceat(value, ahead[with_text])
    return Scores(vids, row, whole, best + scoring.record * whole, best > 0, passage, value, share)


def rank(found: Evidence, first: Scores, top: Ints, sizes: Ints, scoring: Scoring) -> Ranked:
    """Second round: every passage of the chosen records, with its neighbours, speaker and record.

    `top` are indices into `first.vids`, `sizes` the numbers of passages of those records.
    """
    starts = np.cumsum(sizes) - sizes
    total = int(sizes.sum())
    owner = np.repeat(np.arange(len(top)), sizes)
    ordinal = np.arange(total) - starts[owner]
    place = np.full(len(first.vids), -1)
    place[top] = np.arange(len(top))
    has_previous, has_following = np.flatnonzero(ordinal > 0), np.flatnonzero(ordinal < sizes[owner] - 1)

    record = np.searchsorted(first.vids, first.pas, side="right") - 1
    near = place[record] >= 0
    record = record[near]
    own = np.zeros(total)
    own[starts[place[record]] + first.pas[near] - first.vids[record] - 1] = first.value[near]
    value = own.copy()
    value[has_previous] += scoring.previous * own[has_previous - 1]
    value[has_following] += scoring.following * own[has_following + 1]
    value[starts[~first.found[top]]] += _HEADER_ONLY

    near = place[first.row] >= 0
    slot, here = found.slot[near], place[first.row[near]]
    step = found.pas[near] - found.vid[near] - 1  # −1 is the header
    at = starts[here] + step

    said = (slot >= found.words) & (step >= 0)
    if said.any():
        spoken = np.zeros(total, dtype=bool)
        spoken[at[said]] = True
        value[spoken & (value > 0)] += scoring.speaker * float(value[value > 0].std()) if (value > 0).any() else 0.0
    value = np.where(value > 0, value + scoring.record * first.whole[top][owner], 0.0)

    # Coverage: how much of the query one passage, its neighbours and the header hold together. Not of the whole
    # record: a long text has a little of everything.
    text = (slot < found.words) & (step >= 0)
    alone = np.zeros((total, found.words), dtype=bool)
    alone[at[text], slot[text]] = True
    window = alone.copy()
    window[has_previous] |= alone[has_previous - 1]
    window[has_following] |= alone[has_following + 1]
    head = (slot < found.words) & (step < 0)
    header = np.zeros((len(top), found.words), dtype=bool)
    header[here[head], slot[head]] = True
    coverage = np.zeros(len(top))
    np.maximum.at(coverage, owner, (window | header[owner]) @ first.share)
    coverage /= max(float(first.share.sum()), 1e-9)

    best = np.zeros(len(top))
    np.maximum.at(best, owner, value)
    shown = np.flatnonzero(value > 0)
    order = shown[np.lexsort((ordinal[shown], owner[shown], -value[shown]))]
    # No record blocks those behind it: after so many passages of one, the others have theirs first.
    turn = np.empty(len(order), dtype=np.int64)
    by_owner = np.argsort(owner[order], kind="stable")
    count = np.bincount(owner[order], minlength=len(top))
    turn[by_owner] = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    order = order[np.argsort(turn // scoring.turn, kind="stable")]
    return Ranked(best, coverage, owner[order], ordinal[order], value[order])


def _runs(ascending: Ints) -> Ints:
    """Where each run of equal values begins."""
    if not len(ascending):
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(np.concatenate(([True], ascending[1:] != ascending[:-1])))


def best_of(score: Floats, depth: int) -> Ints:
    """Indices of the `depth` highest scores, ties by index."""
    if len(score) > 4 * depth:
        edge = np.partition(score, len(score) - depth)[len(score) - depth]
        pool = np.flatnonzero(score >= edge)
    else:
        pool = np.arange(len(score))
    return pool[np.lexsort((pool, -score[pool]))][:depth]


DEFAULT_SCORING = Scoring()


def relevant(coverage: Floats, scoring: Scoring) -> NDArray[np.bool_]:
    """Which records stand above the relevance floor: none where even the best has too little of the query."""
    if not len(coverage) or coverage.max() < scoring.gate:
        return np.zeros(len(coverage), dtype=bool)
    return coverage >= scoring.floor


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
