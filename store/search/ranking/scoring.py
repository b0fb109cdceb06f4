"""Scores of passages and records from the postings of a query. Pure.

First round: BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009) of passages and
of whole records. Second round: a passage is worth the weighted sum of its signals (SIGNALS); those that need its text
are added in worth.py. A floor keeps unrelated text out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Passages that a store is taken to have besides its own when coverage weighs words (decision 7). Say it has one record,
# and a question two words, one of them there: ln(1 + 1000.5/1.5) = 6.5 of 6.5 + 7.6, so 46 % is covered. Without these
# it would be 0.29 of 0.29 + 1.39, which is 17 %: the record would not be found by a word that it has.
BACKGROUND = 1000


@dataclass(frozen=True, slots=True)
class Scoring:
    """Weights of the score of a passage. Measured by tests/bench/evidence.py; reasons: decisions 7, 8 and 40."""

    k1: float = 1.2
    b: float = 0.75
    record_b: float = 0.4
    record: float = 1.0  # share of the BM25 score of the whole record, where the records to look at are chosen
    header: float = 1.0  # weight of a term in title, path or type, in occurrences
    turn: int = 48  # passages of one record before those of others that are worth less
    gate: float = 0.2  # coverage that the best record needs for an answer at all
    floor: float = 0.05  # coverage that every further record needs
    together: float = 0.2  # added to the rest of a turn once a passage of it is shown
    turn_passages: int = 8  # in turns of at most so many
    relevant: float = 0.4  # share of the best worth at which relevance ends


DEFAULT_SCORING = Scoring()


@dataclass(frozen=True, slots=True)
class Signal:
    """What one sign adds to the worth of a passage: `weight` times its value, which is 0 to 1 unless said.

    `bears`: it says that the passage bears on the query. The others only tell good answers from others.
    """

    weight: float
    reason: str
    bears: bool = True


# Weights are round numbers on the flat top of what was measured (tests/bench/evidence.py): none needs to be exact.
# BM25 is taken as a share of the best at hand, so that all signals have one scale in stores of any size (decision 40).
# Say the best passage has BM25 8, in the best record, with half of the query around it, and the one behind it has 4:
# 2.5 + 2.5 + 0.5 · 2.5 + 0.5 · 0.5 = 6.5. That one has as much around it, and the best before it: 0.5 · 2.5 + 2.5 +
# 0.5 · 2.5 + 1.0 = 6.0, so it comes next. The best passage of a record half as good, with BM25 4 and a fifth of the
# query around it, has 0.5 · 2.5 + 0.5 · 2.5 + 0.2 · 2.5 = 3.0.
SIGNALS: Final[Mapping[str, Signal]] = MappingProxyType(
    {
        "own": Signal(2.5, "BM25 of the passage"),
        "previous": Signal(1.0, "BM25 of the passage before: an answer follows its question"),
        "following": Signal(0.5, "BM25 of the passage after"),
        "record": Signal(2.5, "BM25 of the whole record: it is about this"),
        "around": Signal(2.5, "share of the query, without names of speakers, within two passages and in the header"),
        "speaker": Signal(2.0, "said by somebody whom the query names"),
        "date": Signal(2.5, "the record is of a month or year that the query names"),
        "when": Signal(1.5, "has a date where the query asks when"),
        "count": Signal(1.0, "has a number where it asks how many"),
        "name": Signal(1.0, "has a name where it asks who, which or where"),
        "user": Signal(2.5, "said by the user of a chat with an assistant: what is asked for later is theirs"),
        "assistant": Signal(1.0, "said by the assistant, where the query asks for that"),
        "reply": Signal(1.5, "what people say next when the same was asked before"),
        "question": Signal(-0.2, "asks and does not tell", bears=False),
        "first_person": Signal(0.4, "tells of who speaks", bears=False),
        "length": Signal(0.2, "says more; value: natural logarithm of its characters", bears=False),
        "meaning": Signal(0.6, "near in meaning; value: standard score among what may be seen, with a model only"),
        "echo": Signal(-4.0, "only repeats the question: proves nothing"),
    }
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The postings of a query's terms in what may be seen, one entry each (arrays of equal length), by passage.

    `slot` is the index of the term, words first, speakers' names from `words` on; `vid` and `pas` say where, `tf` how
    often, `len` is the length of the passage and `terms` that of the record, in terms. `content` float64[words] says
    how much of its own each word means (0 to 2); `totals` counts the records, passages and terms of what was asked for.
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
    (index of the record), `ordinal` (0-based), `value` (their worth) and `alone` (share of the query that the passage
    itself holds) float64[m]. `named` bool[n]: the query names the time of the record, or somebody who speaks in it."""

    score: Floats
    coverage: Floats
    owner: Ints
    ordinal: Ints
    value: Floats
    alone: Floats
    named: Bools


def bm25(idf: Floats, tf: Floats, length: Floats, average: float, k1: float, b: float) -> Floats:
    """BM25 term weights: idf · tf·(k1+1) / (tf + k1·(1 − b + b·length/average))."""
    weights: Floats = idf * tf
    weights *= k1 + 1
    weights /= tf + k1 * (1 - b + b * length / max(average, 1e-9))
    return weights


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
    sums = np.bincount(cells, weights=count[word], minlength=n * words)
    table: Floats = sums.astype(np.float64, copy=False).reshape(n, words)
    length = found.terms[runs]
    rare = idf(np.count_nonzero(table, axis=0).astype(np.float64), records)
    whole = bm25(rare, table, length[:, None], terms / max(records, 1), scoring.k1, scoring.record_b).sum(axis=1)

    # The passages of a record stand together: the best of each run is the best of its record.
    ahead = np.searchsorted(passage, vids)
    behind = np.append(ahead[1:], len(passage))
    best = np.zeros(n)
    with_text = np.flatnonzero(behind > ahead)
    if len(with_text):
        best[with_text] = np.maximum.reduceat(value, ahead[with_text])
    return Scores(vids, row, whole, best + scoring.record * whole, best > 0, passage, value, share)


def rank(
    found: Evidence, first: Scores, top: Ints, sizes: Ints, scoring: Scoring, names: Bools, dated: Floats
) -> Ranked:
    """Second round: every passage of the chosen records, by what the postings tell.

    `top` are indices into `first.vids`, `sizes` the numbers of passages of those records, `dated` float64 says which of
    them are of a time that the query names; `names` bool[words] marks the words that name speakers.
    """
    starts = np.cumsum(sizes) - sizes
    total = int(sizes.sum())
    owner = np.repeat(np.arange(len(top)), sizes)
    ordinal = np.arange(total) - starts[owner]
    place = np.full(len(first.vids), -1)
    place[top] = np.arange(len(top))

    record = np.searchsorted(first.vids, first.pas, side="right") - 1
    near = place[record] >= 0
    record = record[near]
    own = np.zeros(total)
    own[starts[place[record]] + first.pas[near] - first.vids[record] - 1] = first.value[near]
    own /= max(float(own.max(initial=0.0)), 1e-9)
    whole = first.whole[top] / max(float(first.whole[top].max(initial=0.0)), 1e-9)

    near = place[first.row] >= 0
    slot, here = found.slot[near], place[first.row[near]]
    step = found.pas[near] - found.vid[near] - 1  # −1 is the header
    at = starts[here] + step
    text = (slot < found.words) & (step >= 0)
    alone = np.zeros((total, found.words), dtype=bool)
    alone[at[text], slot[text]] = True
    said = (slot >= found.words) & (step >= 0)
    spoken = np.zeros(total)
    spoken[at[said]] = 1.0
    head = (slot < found.words) & (step < 0)
    header = np.zeros((len(top), found.words), dtype=bool)
    header[here[head], slot[head]] = True

    beside = _widened(alone, owner)
    asked = np.where(names, 0.0, first.share) if not names.all() else first.share
    columns = {
        "own": own,
        "previous": _shifted(own, owner, 1),
        "following": _shifted(own, owner, -1),
        "record": whole[owner],
        "around": (_widened(beside, owner) | header[owner]) @ (asked / max(float(asked.sum()), 1e-9)),
        "speaker": spoken,
        "date": dated[owner],
    }
    steps = own + columns["around"] + columns["previous"] + columns["following"] > 0
    steps[starts[~first.found[top]]] = True  # a record found by its title, path or type alone shows its beginning
    value: Floats = sum((SIGNALS[name].weight * column for name, column in columns.items()), np.zeros(total))

    all_share = max(float(first.share.sum()), 1e-9)
    coverage = _coverage((beside | header[owner]) @ first.share / all_share, owner, len(top))

    shown = np.flatnonzero(steps)
    best = np.zeros(len(top))
    np.maximum.at(best, owner[shown], value[shown])
    order = shown[np.lexsort((ordinal[shown], owner[shown], -value[shown]))]
    share = (alone[order] @ first.share) / all_share
    named = dated > 0
    named[here[said]] = True
    return Ranked(best, coverage, owner[order], ordinal[order], value[order], share, named)


def _coverage(held: Floats, owner: Ints, records: int) -> Floats:
    """How much of the query one passage, its neighbours and the header of its record hold together, the most of each
    record. Not the whole record: a long text has a little of everything."""
    most = np.zeros(records)
    np.maximum.at(most, owner, held)
    return most


def _shifted(values: Floats, owner: Ints, by: int) -> Floats:
    """The values of the passage before (1) or after (-1), 0 where there is none in the record."""
    moved = np.zeros(len(values))
    same = owner[1:] == owner[:-1]
    if by > 0:
        moved[1:][same] = values[:-1][same]
    else:
        moved[:-1][same] = values[1:][same]
    return moved


def _widened(words: Bools, owner: Ints) -> Bools:
    """For each passage its words and those of the passage before and after in the same record."""
    wide = words.copy()
    same = owner[1:] == owner[:-1]
    wide[1:][same] |= words[:-1][same]
    wide[:-1][same] |= words[1:][same]
    return wide


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


def relevant(ranked: Ranked, scoring: Scoring) -> Bools:
    """Which records stand above the relevance floor, of a query that something bears on (see gate.py): at least the
    best one. What the query names by its time or its speaker need not have its words, as an answer often has not."""
    return ranked.named | (ranked.coverage >= min(scoring.floor, float(ranked.coverage.max(initial=0.0))))
