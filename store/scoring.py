"""Scores of passages and records from the postings of a query. Pure.

BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009) of passages and of whole
records; each passage is scored with its neighbours, its speaker and its record, and a floor keeps unrelated text out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Passages that a store is taken to have besides its own when coverage weighs words: with one record in it, a word that
# is there must not be common and one that is not must not be priceless.
BACKGROUND = 1000
_HEADER_ONLY = 1e-6  # a record found by its title, path or type alone shows its beginning


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


DEFAULT_SCORING = Scoring()


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
    share = idf(df, passages + BACKGROUND) * found.content
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
    """Indices of the `depth` highest scores, ties by index, the later first: it is the newer."""
    if len(score) > 4 * depth:
        edge = np.partition(score, len(score) - depth)[len(score) - depth]
        pool = np.flatnonzero(score >= edge)
    else:
        pool = np.arange(len(score))
    return pool[np.lexsort((-pool, -score[pool]))][:depth]


def relevant(coverage: Floats, scoring: Scoring) -> NDArray[np.bool_]:
    """Which records stand above the relevance floor, of a query that something bears on (see gate.py): at
    least the best one."""
    return coverage >= min(scoring.floor, float(coverage.max(initial=0.0)))
