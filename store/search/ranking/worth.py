"""From ranked passages to the hits of a pack: what their text adds to their worth, and where relevance ends. Pure but
for what a process remembers of a record."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ...file.duck import Session
from ...records import Record
from ...text.analyzer import query_terms
from ...values import Hit
from .scoring import SIGNALS, Bools, Floats, Ints, Ranked, Scoring
from .signals import NOTHING_NEW, Asked, Signs, asked_for, novelty, signs_of, skeleton, told_question

_ECHO: Final = 0.6  # share of the query that a passage holds which may be its echo
_CLOSE: Final = 0.4  # share from which on a passage with little else is close to the query
_MUCH_NEW: Final = 0.5  # novelty up to which it has little else
_ASKED_AGAIN: Final = 0.4  # novelty up to which a passage that asks is one
_SAYS_NO_MORE: Final = -2.0  # added to the worth of such a passage: it stands behind what says more
_ANSWERED: Final = 0.6  # share of the query in one passage, from which on prose needs no neighbours to be understood
_WHOLLY: Final = 0.9  # share of the query in one passage of prose, from which on relevance ends sooner
_HALF: Final = 0.5  # share of the query that is needed beside such a passage
_BEST: Final = 0.9  # or of the best worth: what a newer record says in its place
_SURE: Final = 0.1  # by so much
_HALF_AS_MUCH: Final = 0.55  # of what the best record has of the query, where one passage answers it
_REACH: Final = 2  # passages on each side that a passage speaks for
_LIKE: Final = 2  # passages of a record that differ in numbers alone


@dataclass(slots=True)
class _Pool:
    """The passages at hand, one entry each: `record` is the index of the record, `turn` a number over all of them."""

    record: Ints
    ordinal: Ints
    alone: Floats
    value: Floats
    bears: Floats
    echo: Bools
    close: Bools
    unbroken: Bools
    chat: Bools
    turn: Ints
    size: Ints  # passages of its turn
    held: Floats  # share of the query that its record has in one place


def hits_of(
    session: Session,
    text: str,
    words: Sequence[str],
    ranked: Ranked,
    ids: Sequence[str],
    records: Mapping[str, Record],
    scoring: Scoring,
    answers: Container[tuple[int, int]] = (),
) -> tuple[Hit, ...]:
    """The passages of `records` that bear on a query, best first; `ids` are those of the records of `ranked`.

    `answers` are relevant whatever their worth: index of the record and ordinal of what is nearest to a single question
    of several.
    """
    chosen = np.array([ref in records for ref in ids], dtype=bool)[ranked.owner]
    if not chosen.any():
        return ()
    asked = asked_for(text)
    signs = {n: _signs(session, records[ids[n]], asked) for n in dict.fromkeys(ranked.owner[chosen].tolist())}
    pool = _pooled(ranked, chosen)
    _weighed(pool, asked, frozenset(words).union(query_terms(text)), {n: records[ids[n]] for n in signs}, signs)
    relevant = _relevant(pool, scoring)
    relevant |= np.array([one in answers for one in zip(pool.record.tolist(), pool.ordinal.tolist(), strict=True)])
    order = _together(pool, scoring)
    order = _in_turn(pool.record[order], order, len(ids), scoring)
    _fold_like(pool, order, relevant, {n: records[ids[n]] for n in signs})
    return tuple(
        Hit(ids[pool.record[n]], int(pool.ordinal[n]), float(pool.value[n]), bool(relevant[n])) for n in order.tolist()
    )


def _pooled(ranked: Ranked, chosen: Bools) -> _Pool:
    count = int(chosen.sum())
    value = ranked.value[chosen]
    return _Pool(
        record=ranked.owner[chosen],
        ordinal=ranked.ordinal[chosen],
        alone=ranked.alone[chosen],
        value=value.copy(),
        bears=value.copy(),
        echo=np.zeros(count, dtype=bool),
        close=np.zeros(count, dtype=bool),
        unbroken=np.zeros(count, dtype=bool),
        chat=np.zeros(count, dtype=bool),
        turn=np.zeros(count, dtype=np.int64),
        size=np.ones(count, dtype=np.int64),
        held=ranked.coverage[ranked.owner[chosen]],
    )


def _weighed(
    pool: _Pool, asked: Asked, words: frozenset[str], records: Mapping[int, Record], signs: Mapping[int, Signs]
) -> None:
    """Add what the text of the passages tells."""
    before = 0
    for index, sign in signs.items():
        mine = np.flatnonzero(pool.record == index)
        at = pool.ordinal[mine]
        for name, column in _columns(sign, asked).items():
            added = SIGNALS[name].weight * column[at]
            pool.value[mine] += added
            if SIGNALS[name].bears:
                pool.bears[mine] += added
        sizes = np.bincount(sign.turn)
        pool.turn[mine] = before + sign.turn[at]
        pool.size[mine] = sizes[sign.turn[at]]
        pool.unbroken[mine] = sign.unbroken[at] > 0
        pool.chat[mine] = sign.chat[at] > 0
        before += len(sizes)
        _echoes(pool, words, records[index], sign, mine, 0.0 if asked.assistant else SIGNALS["user"].weight)


def _echoes(pool: _Pool, words: frozenset[str], record: Record, sign: Signs, mine: Ints, by_user: float) -> None:
    """Take away what counts because a passage only repeats the query: of it, with what it has `by_user`, and half of
    it of what stands beside it.

    A person who answers in the turns that follow is believed: what was asked then is asked now.
    """
    lost = np.zeros(len(sign.turn))
    for n in mine[pool.alone[mine] >= _CLOSE].tolist():
        ordinal = int(pool.ordinal[n])
        span = record.passages[ordinal]
        said = record.content[span.start : span.end]
        if span.speaker:
            said = said.replace(span.speaker, "", 1)
        asks = bool(sign.asks[ordinal])
        new = novelty(told_question(said) or said, words)
        pool.close[n] = new <= _MUCH_NEW or pool.alone[n] >= _ANSWERED
        # What says nothing of its own is no news, however little of the query it repeats.
        if new > NOTHING_NEW and (pool.alone[n] < _ECHO or new > (_ASKED_AGAIN if asks else NOTHING_NEW)):
            continue
        if not asks:
            pool.value[n] += _SAYS_NO_MORE
            continue
        pool.echo[n] = True
        lost[ordinal] += SIGNALS["echo"].weight - by_user * sign.user[ordinal]
        after = list(range(ordinal + 1, min(ordinal + 1 + _REACH, len(record.passages))))
        if any(record.passages[k].speaker not in ("", span.speaker) and not sign.assistant[k] for k in after):
            lost[after] += SIGNALS["reply"].weight
        else:
            lost -= 0.5 * SIGNALS["record"].weight
            lost[max(ordinal - _REACH, 0) : ordinal] -= 0.5 * SIGNALS["around"].weight
            lost[after] -= 0.5 * SIGNALS["around"].weight
            lost[after[:1]] -= SIGNALS["previous"].weight
    pool.value[mine] += lost[pool.ordinal[mine]]
    pool.bears[mine] += lost[pool.ordinal[mine]]


def _columns(sign: Signs, asked: Asked) -> dict[str, Floats]:
    columns = {"question": sign.asks, "first_person": sign.first_person, "length": sign.length}
    if asked.date:
        columns["when"] = sign.date
    if asked.number:
        columns["count"] = sign.number
    if asked.name:
        columns["name"] = sign.name
    columns |= {"assistant": sign.assistant} if asked.assistant else {"user": sign.user}
    return columns


def _signs(session: Session, record: Record, asked: Asked) -> Signs:
    """The signs of a record that a question asks for, remembered by a process that keeps the file."""
    name = ("signs", record.id, record.agent_id, record.version, asked.date, asked.number, asked.name)
    signs: Signs | None = session.recalled(name)
    if signs is None:
        signs = signs_of(record, asked)
        session.keep(name, signs, 300 + 88 * len(record.passages))
    return signs


def _relevant(pool: _Pool, scoring: Scoring) -> Bools:
    """Which passages are relevant: their worth, of the signals that bear on the query, is at least a share of the best.

    Where one passage answers the query, relevance ends sooner; prose beside it that has no word of the query is not
    needed to read it, and what nothing cuts (it takes much room) is not needed at all. What is itself close to the
    query is relevant beside any other: of two facts that differ in one word both are told.
    """
    plain = ~pool.echo & ~pool.unbroken
    proof = plain if plain.any() else ~pool.echo if not pool.echo.all() else pool.echo
    answered = float(pool.alone[~pool.unbroken].max(initial=0.0))
    wholly = float(pool.alone[~pool.unbroken & ~pool.chat & ~pool.echo].max(initial=0.0)) >= _WHOLLY
    # A share of the best, as a sum of signals has no fixed scale: where the best has 8.0, relevance ends at 3.2
    # (decision 41).
    share = scoring.relevant + (_SURE if wholly else 0.0)
    relevant = (pool.bears >= share * float(pool.bears[proof].max())) | pool.close
    near_best = pool.bears >= _BEST * float(pool.bears.max())
    if wholly:
        # What another record says of half the query is not needed beside the whole answer.
        whole = np.isin(pool.record, pool.record[(pool.alone >= _WHOLLY) & ~pool.echo])
        relevant &= whole | (pool.alone >= _HALF) | near_best
    if answered >= _ANSWERED:
        relevant &= (pool.alone > 0) | pool.chat
        relevant &= ~pool.unbroken
        # The larger the store, the more of it shares a word or two with a question that one record answers.
        enough = _HALF_AS_MUCH * float(pool.held[~pool.unbroken].max(initial=0.0))
        relevant &= pool.chat | (pool.held >= enough) | near_best
    return relevant if relevant.any() else pool.bears >= float(pool.bears.max())


def _fold_like(pool: _Pool, order: Ints, relevant: Bools, records: Mapping[int, Record]) -> None:
    """What a record says again is not relevant: the same text, and from the third on what differs in numbers alone."""
    seen: set[tuple[int, str]] = set()
    like: Counter[tuple[int, str]] = Counter()
    for n in order.tolist():
        if not relevant[n]:
            continue
        index = int(pool.record[n])
        span = records[index].passages[pool.ordinal[n]]
        text = " ".join(records[index].content[span.start : span.end].split())
        if (index, text) in seen or like[index, skeleton(text)] >= _LIKE:
            relevant[n] = False
            continue
        seen.add((index, text))
        like[index, skeleton(text)] += 1


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
    """No record blocks those behind it: after so many passages of one, the others have theirs first (decision 8).

    Say the best 60 passages are of one log and the next is a note: 48 of the log come first, then the note, then 12.
    """
    turn = np.empty(len(order), dtype=np.int64)
    by_record = np.argsort(record, kind="stable")
    sizes = np.bincount(record, minlength=count)
    turn[by_record] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return order[np.argsort(turn // scoring.turn, kind="stable")]
