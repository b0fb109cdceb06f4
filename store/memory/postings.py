"""The index: one row per term and passage, sorted by term in the main, appended behind, merged when that grows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..file.duck import Session
from .prepare import Prepared

# A tail of unsorted postings is scanned whole by every query; past this share (and size) the table is sorted again,
# so that the work of merging stays a constant factor of the work of writing (decisions 9 and 29).
TAIL_ROWS = 1_000_000
TAIL_SHARE = 0.25
MERGE_ROWS = 200_000  # rows sorted in one transaction: bounds memory, and how long others wait for the file


def append(session: Session, slots: Sequence[tuple[int, Prepared]]) -> None:
    """Append the postings of new versions, sorted within the batch."""
    terms: list[int] = []
    counts: list[int] = []
    sizes: list[int] = []
    vids: list[int] = []
    passages: list[int] = []
    lengths: list[int] = []
    for vid, item in slots:
        for offset, (slot, length) in enumerate(item.slots):
            if slot:
                terms.extend(slot)
                counts.extend(slot.values())
                sizes.append(len(slot))
                vids.append(vid)
                passages.append(vid + offset)
                lengths.append(min(length, 65_535))
    if not terms:
        return
    repeat = np.array(sizes)
    session.append(
        "INSERT INTO postings SELECT term, vid, pas, tf, len FROM batch ORDER BY term, pas",
        {
            "term": np.array(terms, dtype=np.int64),
            "vid": np.repeat(np.array(vids, dtype=np.int64), repeat),
            "pas": np.repeat(np.array(passages, dtype=np.int64), repeat),
            "tf": np.minimum(np.array(counts, dtype=np.int64), 65_535).astype(np.uint16),
            "len": np.repeat(np.array(lengths, dtype=np.uint16), repeat),
        },
    )


def tail_is_long(session: Session) -> bool:
    """Whether enough postings stand unsorted for a merge to pay."""
    total = int(session.value("SELECT count(*) FROM postings"))
    tail = total - _sorted_rows(session)
    return tail > max(TAIL_ROWS, TAIL_SHARE * total)


def has_tail(session: Session) -> bool:
    """Whether any postings stand unsorted."""
    return int(session.value("SELECT count(*) FROM postings")) > _sorted_rows(session)


def _sorted_rows(session: Session) -> int:
    return int(session.value("SELECT value FROM meta WHERE name = 'sorted_postings'") or 0)


def ranges(total: int) -> list[tuple[int, int]]:
    """The space of the terms in parts, both ends inclusive, each with about `MERGE_ROWS` of `total` rows."""
    return _parts(max(1, -(-total // MERGE_ROWS)))


def _parts(count: int) -> list[tuple[int, int]]:
    edges = [-(2**63) + (2**64 // count) * i for i in range(count)] + [2**63]
    return [(low, high - 1) for low, high in pairwise(edges)]


def merge_step(session: Session, *, all_of_it: bool = False) -> bool:
    """Sort one more range of the term space; whether anything is left to sort.

    A merge is many short transactions, so that nobody waits long for the file: it is begun when the tail is long, or
    with `all_of_it` when there is one. The sorted copy grows in a table of its own and takes the place of the postings
    with the last range; until then nothing reads it. What is written meanwhile has higher numbers and is appended to
    it; what is erased is taken out of both. A merge that was broken off goes on with the next step of anybody.
    """
    state = session.value("SELECT value FROM meta WHERE name = 'merging'")
    if state is None:
        if not (has_tail(session) if all_of_it else tail_is_long(session)):
            return False
        total = int(session.value("SELECT count(*) FROM postings"))
        bound, done = int(session.value("SELECT next_value FROM counters WHERE name = 'passage'")), 0
        parts = ranges(total)
        session.run("DELETE FROM merged")
    else:
        bound, count, done = map(int, state.split())
        parts = _parts(count)
    low, high = parts[done]
    session.run(
        "INSERT INTO merged FROM postings WHERE term BETWEEN $low AND $high AND vid < $bound ORDER BY term, pas",
        {"low": low, "high": high, "bound": bound},
    )
    session.run("DELETE FROM meta WHERE name = 'merging'")
    if done + 1 < len(parts):
        session.run("INSERT INTO meta VALUES ('merging', $state)", {"state": f"{bound} {len(parts)} {done + 1}"})
        return True
    in_order = int(session.value("SELECT count(*) FROM merged"))
    session.run("INSERT INTO merged FROM postings WHERE vid >= $bound", {"bound": bound})
    session.run("DROP TABLE postings")
    session.run("ALTER TABLE merged RENAME TO postings")
    session.run("CREATE TABLE merged AS FROM postings LIMIT 0")
    session.run("DELETE FROM meta WHERE name = 'sorted_postings'")
    session.run("INSERT INTO meta VALUES ('sorted_postings', $n)", {"n": str(in_order)})
    return False


def merge_is_due(session: Session) -> bool:
    """Whether a step of a merge would do something."""
    return session.value("SELECT 1 FROM meta WHERE name = 'merging'") is not None or tail_is_long(session)


def remove(session: Session, keys: Sequence[int]) -> None:
    """Take the postings of all versions of records out."""
    session.run(
        "DELETE FROM postings WHERE vid IN (SELECT vid FROM records WHERE key IN (SELECT unnest($keys::BIGINT[])))",
        {"keys": list(keys)},
    )
    if session.value("SELECT 1 FROM meta WHERE name = 'merging'") is not None:
        session.run(
            "DELETE FROM merged WHERE vid IN (SELECT vid FROM records WHERE key IN (SELECT unnest($keys::BIGINT[])))",
            {"keys": list(keys)},
        )
    left = session.value("SELECT count(*) FROM postings")
    session.run("UPDATE meta SET value = least(value::BIGINT, $n)::VARCHAR WHERE name = 'sorted_postings'", {"n": left})
