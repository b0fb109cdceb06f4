"""The candidate stage: from a query to ranked passages and records.

The SQL of hits.sql applies visibility and filters and gives every posting of the query's terms, scoring.py makes scores
of them; here records are chosen, near-duplicates folded and the first ones read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..file.duck import Session, query
from ..memory import reads
from ..query.parts import Asked, read_query
from ..records import Record, id_of
from ..text.analyzer import query_terms, speaker_name, term_key
from ..text.duplicates import fold, signature_of
from ..times import parse_zone
from ..values import Candidate, Candidates, Filters, Hit, Viewer
from . import ordering, walk
from .already_known import said_again
from .evidence import Details, gather
from .payload import matters, telling
from .ranking.gate import judge, narrowed, nearest, of_kind
from .ranking.replaced import newer_first
from .ranking.scoring import DEFAULT_SCORING, Bools, Evidence, Scoring, best_of, rank, relevant, score
from .ranking.series import ENDS, series
from .ranking.signals import dated
from .ranking.worth import hits_of
from .transcript import shown_first, talk_first

if TYPE_CHECKING:
    from .meaning import nearness

MAX_QUERY_CHARS = 20_000
MAX_QUERY_TERMS = 256  # of a query; what stands behind them is not searched
_LEAD_CHARS = 300  # of each record that a restore shows before it shows more of any
_FIRST = 3.0  # the score of what a restore shows in its first round
_LATEST = 3  # sessions of a restore that tell at once what was settled and what is open, before the older ones
_LINK = "link"  # what the reason of a record begins with to which links lead
_COMPARED = 16  # records, at least, of which near-duplicates are folded
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
    hops: int = 0,
    scoring: Scoring = DEFAULT_SCORING,
    question: nearness.Question | None = None,
) -> Candidates:
    """Records that bear on `text`, at most `depth`, best first, near-duplicates folded; the first `take` come whole.

    `known` are texts that the caller has: records that say the same are left out and counted in the plan. With a
    `question` vectors are looked through too. What is within so many `hops` of the first `take` stands behind them all.
    """
    asked = read_query(
        text[:MAX_QUERY_CHARS],
        filters.reference or now,
        parse_zone(filters.zone, "owner_timezone") if filters.zone else UTC,
    )
    given: dict[str, Any] = {"depth": depth, "take": take, "known": known}
    if asked.hard_interval and filters.since is None and filters.until is None:
        within = replace(filters, since=asked.when.since, until=asked.when.until)
        found = (
            log(session, replace(within, time_order=filters.time_order or "desc"), viewer, now, **given)
            if asked.idle
            else _matching(session, asked, within, viewer, now, **given, hops=hops, scoring=scoring, question=question)
        )
        if not found.items and asked.happened:
            found = log(session, replace(within, time_order=filters.time_order or "desc"), viewer, now, **given)
        if found.items or asked.idle:
            spans = [moment.isoformat() for moment in (asked.when.since, asked.when.until) if moment]
            return replace(found, plan={**found.plan, "interval": spans})
        # Nothing of that time bears on it: then the time is one more thing that is asked about.
        asked = read_query(text[:MAX_QUERY_CHARS], now, timed=False)
    return _matching(session, asked, filters, viewer, now, **given, hops=hops, scoring=scoring, question=question)


def _matching(
    session: Session,
    asked: Asked,
    filters: Filters,
    viewer: Viewer,
    now: datetime,
    *,
    depth: int,
    take: int,
    known: Sequence[str],
    hops: int,
    scoring: Scoring,
    question: nearness.Question | None,
) -> Candidates:
    """Records that bear on the words and the meaning of a query."""
    words = asked.words[:MAX_QUERY_TERMS]
    where = reads.choice(viewer, now, filters)
    plan: dict[str, Any] = {"mode": "query", "arms": ["bm25"], "terms": list(words), "depth": depth}
    plan |= {"gate": scoring.gate, "floor": scoring.floor}
    if asked.idle:
        return Candidates(plan={**plan, "matched": 0, **reads.empty_filter(session, filters, viewer, now)})
    found, details_of = _evidence(session, asked, words, where)
    verdict = judge(found, asked)
    found = narrowed(found, verdict.words)
    near = None
    if question:
        from .meaning import fusing, nearness  # only with an embedder: a short command does without

        near = nearness.arm(session, question, where, depth, plan, found.totals[1], asked.work and not verdict.open)
    if not (found.slot < len(words)).any() and (near is None or not len(near.vids)):
        return Candidates(plan={**plan, "matched": 0, **reads.empty_filter(session, filters, viewer, now)})
    first = score(found, scoring)
    top = best_of(first.rough, depth)
    if near:
        first, top = fusing.widen(first, top, near)
    vids = first.vids[top]
    details = details_of(vids)
    sizes = details["passages"].astype(np.int64)
    names = named(words, asked.speakers[:MAX_QUERY_TERMS], found)
    ranked = rank(found, first, top, sizes, scoring, names, dated(verdict.text, details["created_at"]))
    keep = relevant(ranked, scoring) & verdict.open
    if asked.decision:
        keep = of_kind(found, vids, keep)
    if near and question:
        ranked, keep = fusing.put_together(question, near, ranked, keep, vids, sizes, told=verdict.open)
    if filters.threshold:
        keep = keep & (ranked.coverage >= filters.threshold)
        plan["threshold"] = filters.threshold
    above = keep  # the rest, where it comes too, is worth what its passages are
    if filters.filled and verdict.open and not asked.decision:
        keep = above | (ranked.coverage >= filters.threshold)
    holds = ordering.holding(details, now)
    ranked, alike = newer_first(
        ranked,
        found,
        np.flatnonzero(keep),
        sizes,
        holds,
        vids,
        lambda few: dict(session.rows(query("contents"), {"vids": list(few)})),
        frozenset(words).union(query_terms(verdict.text)),
    )
    order = ordering.ranked(
        np.flatnonzero(keep), details, holds, ranked.score, ranked.coverage, newest=asked.when.newest
    )
    order = order[:depth]
    in_front = 0
    if filters.prefer_working and len(order):
        order, in_front = ordering.working_first(session, vids, order, ranked.coverage, scoring.gate)
    ordered = {name: column[order].tolist() for name, column in details.items()}
    rows = [
        _Row(*cells)
        for cells in zip(
            ordered["key"],
            vids[order].tolist(),
            ordered["name"],
            ordered["own"],
            zip(ordered["print_low"], ordered["print_high"], strict=True),
            ranked.score[order].tolist(),
            ranked.coverage[order].tolist(),
            [""] * len(order),
            ordering.late(order, holds, ranked.coverage).tolist(),
            strict=True,
        )
    ]
    plan["matched"] = len(first.vids)
    kept = _assemble(session, rows, filters, viewer, now, take=take, known=known, hops=hops, plan=plan)
    ids = [id_of(*one) for one in zip(details["key"].tolist(), details["name"].tolist(), strict=True)]
    index = {int(vid): number for number, vid in enumerate(vids)}
    answers = {(index[vid], n) for vid, n in nearest(found, verdict.questions, first.share) if vid in index}
    hits = hits_of(session, verdict.text, words, ranked, ids, kept.records, scoring, answers)
    hits = telling(talk_first(hits, kept.records), kept.records)
    hits = ordering.settled(hits, [row.id for row in rows], {row.id: row.late for row in rows})
    hits = ordering.exchanged(hits, [[ids[index] for index in group] for group in alike])
    if asked.when.newest or asked.decision:
        hits = ordering.listed(hits, {row.id: row.coverage for row in rows}, asked.when.newest, asked.decision)
    kept, hits = _marked(kept, hits, scoring, hops, {ids[index] for index in np.flatnonzero(keep & ~above)})
    if in_front:
        hits = ordering.opened_first(hits, [row.id for row in rows[:in_front]])
    return ordering.in_time(replace(kept, hits=hits + _leads(kept)), filters)


def _evidence(session: Session, asked: Asked, words: Sequence[str], where: reads.Where) -> tuple[Evidence, Details]:
    """The postings of a query: its words, the names of speakers, and other words for the same."""
    said_by = asked.speakers[:MAX_QUERY_TERMS]
    terms = [*words, *said_by, *(term for term, _ in asked.aliases)]
    content = np.array(asked.weights[: len(words)])
    found, details_of = gather(session, [term_key(term) for term in terms], content, where)
    if asked.aliases:
        same = np.array([*range(len(words) + len(said_by)), *(word for _, word in asked.aliases)])
        found = replace(found, slot=same[found.slot])
    return found, details_of


def _marked(
    kept: Candidates, hits: tuple[Hit, ...], scoring: Scoring, hops: int, below: set[str]
) -> tuple[Candidates, tuple[Hit, ...]]:
    """The candidates with what is not relevant marked: those `below` the floor, a record that was read by its passages,
    any other by its score.

    With `hops` what a relevant record is linked to is relevant too, and begins with its
    beginning.
    """
    hits = tuple(replace(hit, relevant=hit.relevant and hit.id not in below) for hit in hits) if below else hits
    some = {hit.id for hit in hits if hit.relevant}
    beside = below | {hit.id for hit in hits} - some
    least = scoring.relevant * max((item.score for item in kept.items), default=0.0)
    beside |= {item.id for item in kept.items if item.id not in some and item.score < least and not item.reason}
    if hops:
        linked = [ref for item in kept.items if item.id in some for ref in kept.links.get(item.id, ())]
        near = [ref for ref in dict.fromkeys(linked) if ref in beside and ref in kept.records]
        beside -= set(near)
        begun = tuple(hit for ref in near for hit in _beginning(kept.records[ref]) if hit.score == _FIRST)
        hits += tuple(replace(hit, score=0.0) for hit in begun)
    items = tuple(
        Candidate(item.id, item.rank, item.score, item.duplicate_of, item.reason, item.coverage, item.id not in beside)
        for item in kept.items
    )
    return replace(kept, items=items), hits


def named(words: Sequence[str], said_by: Sequence[str], found: Evidence) -> Bools:
    """Which words of a query are names of speakers: bool[words]."""
    spoken = np.unique(found.slot[found.slot >= len(words)]) - len(words)
    names = {term for slot in spoken.tolist() for term in query_terms(speaker_name(said_by[slot]))}
    return np.array([word in names for word in words], dtype=bool)


def restore(
    session: Session,
    filters: Filters,
    viewer: Viewer,
    now: datetime,
    *,
    depth: int,
    take: int,
    known: Sequence[str] = (),
    hops: int = 0,
) -> Candidates:
    """What a session should start with: pinned, open work, recent decisions and records, round the paths. Triggers come
    by their threads, or where they are asked for by type.

    Passages in the order in which they are worth showing: of every record its beginning, of an episode its end too.
    """
    where = reads.choice(viewer, now, filters)
    flags = set[str]() if filters.memory_type is not None else {"quiet"}
    flags |= set[str]() if filters.status is not None else {"standing"}
    quiet = replace(where, flags=where.flags | flags)
    found = quiet.rows(session, "restore", depth=depth)
    plan: dict[str, Any] = {"mode": "restore", "arms": ["recency"], "terms": [], "depth": depth}
    plan["matched"] = reads.totals(session, where)[0]
    if not found:
        return Candidates(plan={**plan, **reads.empty_filter(session, filters, viewer, now)})
    rows = [
        _Row(key, vid, name, own, (low, high), 1.0 / place, 1.0, reason)
        for place, (vid, key, reason, low, high, name, own) in enumerate(found, start=1)
    ]
    repeats = _repeats(session, rows)
    kept = _assemble(session, rows, filters, viewer, now, take=take, known=known, hops=hops, plan=plan, repeats=repeats)
    own = {item.id for item in kept.items if not _is_reached(item)}
    lately = [item.id for item in kept.items if item.reason == "recent" and item.id in own][:_LATEST]
    rounds = [hit for one in kept.records.values() if one.id in own for hit in _beginning(one, one.id in lately)]
    rounds.sort(key=lambda hit: -hit.score)  # stable: rounds first, records in order within a round
    return ordering.in_time(replace(kept, hits=tuple(rounds) + _leads(kept)), filters)


def log(
    session: Session,
    filters: Filters,
    viewer: Viewer,
    now: datetime,
    *,
    depth: int,
    take: int,
    known: Sequence[str] = (),
) -> Candidates:
    """What there is in order of time, oldest first unless `time_order` is desc, whatever it says: of every record its
    beginning, then what follows."""
    where = reads.choice(viewer, now, filters)
    by_time = replace(where, flags=where.flags | {ordering.flag_of(filters, "asc", "created_at")})
    plan: dict[str, Any] = {"mode": "log", "arms": ["recency"], "terms": [], "depth": depth}
    plan["matched"] = reads.totals(session, where)[0]
    rows = [
        _Row(key, vid, name, own, (low, high), 1.0 / place, 1.0)
        for place, (vid, key, low, high, name, own) in enumerate(by_time.rows(session, "log", depth=depth), start=1)
    ]
    if not rows:
        return Candidates(plan={**plan, **reads.empty_filter(session, filters, viewer, now)})
    kept = _assemble(session, rows, filters, viewer, now, take=take, known=known, hops=0, plan=plan)
    rounds = [hit for record in kept.records.values() for hit in _beginning(record)]
    rounds.sort(key=lambda hit: -hit.score)
    return replace(kept, hits=tuple(rounds))


def newest(session: Session, filters: Filters, viewer: Viewer, now: datetime, *, limit: int) -> Candidates:
    """The newest records, or the oldest where `time_order` is asc, at most `limit`, all of them whole."""
    where = reads.choice(viewer, now, filters)
    by_time = replace(where, flags=where.flags | {ordering.flag_of(filters, "desc", "updated_at")})
    rows = _unshadowed(
        session,
        [_Row(key, 0, name, own, (0, 0), 0.0, 1.0) for key, name, own in by_time.rows(session, "newest", limit=limit)],
        viewer,
    )
    plan: dict[str, Any] = {
        "mode": "newest",
        "arms": ["recency"],
        "terms": [],
        "matched": reads.totals(session, where)[0],
    }
    if not rows:
        plan |= reads.empty_filter(session, filters, viewer, now)
    found = reads.by_keys(session, [row.key for row in rows], viewer, now, filters)
    items = tuple(Candidate(row.id, rank, 1.0 / rank) for rank, row in enumerate(rows, start=1))
    return Candidates(items, (), {row.id: found[row.key] for row in rows}, {**plan, "candidates": len(items)})


@dataclass(slots=True)
class _Row:
    """A ranked record on its way to a candidate."""

    key: int
    vid: int
    name: str | None
    own: bool
    prints: tuple[int, int]
    score: float
    coverage: float
    reason: str = ""
    late: int = 0
    id: str = field(init=False)

    def __post_init__(self) -> None:
        self.id = id_of(self.key, self.name)

    def candidate(self, rank: int, duplicate_of: str | None) -> Candidate:
        return Candidate(self.id, rank, self.score, duplicate_of, self.reason, self.coverage)


def _unshadowed(session: Session, rows: list[_Row], viewer: Viewer) -> list[_Row]:
    """Where two agents gave the same name, the row that the id stands for: see reads.by_ids."""
    of_others = {row.key: (row.name, "") for row in rows if row.name is not None and not row.own}
    if of_others and (passed := reads.another_meant(session, of_others, viewer)):
        rows = [row for row in rows if row.key not in passed]
    if len({row.id for row in rows}) == len(rows):
        return rows
    best: dict[str, _Row] = {}
    for row in sorted(rows, key=lambda row: (not row.own, row.key)):
        best.setdefault(row.id, row)
    return [row for row in rows if best[row.id] is row]


def _reached(session: Session, rows: list[_Row], where: reads.Where, hops: int, take: int) -> list[_Row]:
    """What links lead to from the first rows, as rows behind them."""
    starts = [row.key for row in rows[:take]]
    ids = {row.key: row.id for row in rows}
    more = []
    for one in walk.follow(session, starts, list(ids), where, hops):
        reason = f"{_LINK} from {ids[one.via]}"
        row = _Row(one.key, one.vid, one.name, one.own, (one.print_low, one.print_high), 0.0, 0.0, reason)
        ids[row.key] = row.id
        more.append(row)
    return more


def _is_reached(item: Candidate) -> bool:
    return item.reason.startswith(_LINK)


def _leads(kept: Candidates) -> tuple[Hit, ...]:
    """The beginnings of what links lead to: the last of the hits."""
    reached = [item.id for item in kept.items if _is_reached(item) and item.id in kept.records]
    return tuple(
        Hit(one, hit.ordinal, 0.0) for one in reached for hit in _beginning(kept.records[one]) if hit.score == _FIRST
    )


def _assemble(
    session: Session,
    rows: list[_Row],
    filters: Filters,
    viewer: Viewer,
    now: datetime,
    *,
    take: int,
    known: Sequence[str],
    hops: int,
    plan: dict[str, Any],
    repeats: Mapping[str, str] = MappingProxyType({}),
) -> Candidates:
    """Follow links, fold near-duplicates, leave out what the caller has, and bring the first records whole."""
    rows = _unshadowed(session, rows, viewer)
    if hops:
        more = _reached(session, rows, reads.choice(viewer, now, filters), hops, take)
        plan |= {"hops": hops, "reached": len(more)}
        rows = _unshadowed(session, rows + more, viewer)

    records: dict[str, Record] = {}

    def read(indices: Iterable[int]) -> None:
        keys = [rows[index].key for index in indices if rows[index].id not in records]
        found = reads.by_keys(session, keys, viewer, now, filters)
        records.update((record.id, record) for record in found.values())

    def signatures(indices: Sequence[int]) -> dict[int, bytes]:
        read([*range(min(take, len(rows))), *indices])
        texts = {index: records.get(rows[index].id) for index in indices}
        # One that is gone since it was ranked says nothing.
        return {i: signature_of(text.title, text.content) if text else b"" for i, text in texts.items()}

    # Only what may come in is compared: the rest is out by max_items whatever it repeats.
    reach = min(len(rows), max(take, _COMPARED))
    prints = np.array([row.prints for row in rows[:reach]], dtype=np.int64).reshape(reach, 2)
    stands_for = fold(prints, signatures) + [None] * (len(rows) - reach)
    if repeats:
        place = {row.id: index for index, row in enumerate(rows)}
        for ref, first in repeats.items():
            if ref in place and first in place and stands_for[place[ref]] is None:
                stands_for[place[ref]] = _end(stands_for, place[first])
    chosen = [index for index, other in enumerate(stands_for) if other is None]
    dropped: set[int] = set()
    if known:
        texts: dict[int, str] = dict(session.rows(query("contents"), {"vids": [row.vid for row in rows]}))
        dropped = said_again([texts[row.vid] for row in rows], stands_for, known)
    chosen = [index for index in chosen if index not in dropped]
    read(chosen[:take])
    wanted = {rows[index].id: rows[index].key for index in chosen[:take] if rows[index].id in records}
    order = [index for index in range(len(rows)) if index not in dropped]
    items = tuple(
        rows[index].candidate(rank, None if (other := stands_for[index]) is None else rows[other].id)
        for rank, index in enumerate(order, start=1)
    )
    plan |= {"candidates": len(items), "excluded": len(dropped)}
    links = walk.links_of(session, wanted, reads.sight(viewer, now, filters))
    return Candidates(items, (), {one: records[one] for one in wanted}, plan, links)


def _end(stands_for: Sequence[int | None], index: int) -> int:
    """What stands for a record in the end."""
    while (other := stands_for[index]) is not None:
        index = other
    return index


def _repeats(session: Session, rows: Sequence[_Row]) -> dict[str, str]:
    """Of recent records that differ in a number or a name alone, for each the newest one, which stands for it."""
    recent = [row for row in rows if row.reason == "recent"]
    ends = {
        vid: texts for vid, *texts in session.rows(query("ends"), {"vids": [row.vid for row in recent], "chars": ENDS})
    }
    firsts = series(["\n".join(ends.get(row.vid, ())) for row in recent])
    return {row.id: recent[first].id for row, first in zip(recent, firsts, strict=True) if first is not None}


def _beginning(record: Record, latest: bool = False) -> list[Hit]:
    """What a restore shows of a record, by round: its first lines, of an episode then its last, then what follows. Of
    the `latest` sessions the second round comes with the first."""
    if (talk := shown_first(record)) is not None:
        return [Hit(record.id, n, _FIRST - max(place - latest, 0)) for place, few in enumerate(talk) for n in few]
    if (parts := matters(record)) is not None:
        return [Hit(record.id, n, _FIRST) for n in parts]
    count = len(record.passages)
    lead = next((span.ordinal + 1 for span in record.passages if span.end >= _LEAD_CHARS), count)
    first = list(range(lead))
    rest = range(lead, count)
    last = list(reversed(rest))[:_TAIL_PASSAGES] if record.kind == "episode" else []
    later = [ordinal for ordinal in rest if ordinal not in set(last)]
    rounds = [*((o, _FIRST) for o in first), *((o, 2.0) for o in last), *((o, 1.0) for o in later[:_TAIL_PASSAGES])]
    return [Hit(record.id, ordinal, value) for ordinal, value in rounds]
