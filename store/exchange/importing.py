"""Many records at once, a short transaction a batch: between two batches the file is let go of."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ..errors import Conflict, StoreError
from ..file.duck import Duck, Session, query
from ..memory import postings, writes
from ..memory.prepare import LINE_FIELDS, Prepared, broken, check, prepare
from ..memory.repetitions import caller_hash
from ..records import Placed, Written
from ..times import parse_time
from ..values import Viewer
from .exports import take_in
from .exports_chain import take_links
from .lines import check_line, check_link
from .merging import is_session, merged

MOST = 1000  # records of one transaction while nobody waits for the file
LEAST = 64  # and while somebody does: each holds the file for some hundredths of a second
_HELD = 2**24  # characters of payloads in it


class Pace:
    """How many records go into one transaction: many are fast, but others wait for the file as long as each takes."""

    def __init__(self, duck: Duck) -> None:
        self.records = min(MOST, 250)
        self._duck = duck

    def look(self) -> None:
        """See whether somebody waits; at the end of a transaction."""
        self.records = LEAST if self._duck.is_wanted() else min(MOST, 2 * self.records)


def remember_batches(
    duck: Duck, clock: Callable[[], datetime], records: Iterable[Mapping[str, Any]], viewer: Viewer
) -> Iterator[list[Written]]:
    """Write records batch by batch; see DuckStore.remember_batches."""
    pace = Pace(duck)
    for batch in _batches(records, lambda record: "new", pace):
        yield _remember(duck, clock, batch, viewer, pace)


def import_batches(
    duck: Duck, clock: Callable[[], datetime], lines: Iterable[Mapping[str, Any]], viewer: Viewer
) -> Iterator[list[Written]]:
    """Write lines of an export batch by batch; see DuckStore.import_batches."""
    pace = Pace(duck)
    for batch in _batches(lines, _sort, pace):
        sort = _sort(batch[0])
        if sort == "new":
            yield _remember(duck, clock, batch, viewer, pace)
        elif sort == "link":
            links = [check_link(line) for line in batch]
            with duck.writing() as session:
                written = take_links(session, links, viewer, clock())
                pace.look()
            yield written
        else:
            checked = [check_line(line) for line in batch]
            with _placed(batch), duck.writing() as session:
                taken = take_in(session, [line for line, _ in checked], viewer, clock())
                due = postings.merge_is_due(session)
                pace.look()
            _sort_more(duck, due)
            yield [
                replace(one, notes=(*notes, *one.notes)) if one.created else one
                for one, (_, notes) in zip(taken, checked, strict=True)
            ]


@contextmanager
def _placed(batch: list[Mapping[str, Any]]) -> Iterator[None]:
    """Say of a line that contradicts the store in which file and line it stands."""
    try:
        yield
    except Conflict as error:
        where = next((line.where for line in batch if isinstance(line, Placed) and line.get("id") == error.ref), "")
        if not where:
            raise
        raise Conflict(f"{where}: {error}", field=error.field) from error


def _remember(
    duck: Duck, clock: Callable[[], datetime], batch: list[Mapping[str, Any]], viewer: Viewer, pace: Pace
) -> list[Written]:
    # What takes time, dividing and analyzing, is done before the file is held.
    sessions = {_hash(record, viewer): record for record in batch if is_session(record)}
    stands: dict[int, tuple[Any, ...]] = {}
    if sessions and duck.exists():
        with duck.reading() as session:
            stands = _stands(session, sessions, viewer)
    prepared = _prepared(batch, stands, viewer)
    with duck.writing() as session:
        if sessions and (now := _stands(session, sessions, viewer)) != stands:  # another process was faster
            prepared = _prepared(batch, now, viewer)
        written = writes.remember(session, prepared, viewer, clock())
        due = postings.merge_is_due(session)
        pace.look()
    _sort_more(duck, due)
    return written


def _hash(record: Mapping[str, Any], viewer: Viewer) -> int:
    found = caller_hash(str(record.get("agent_id") or viewer.agent_id), str(record["external_id"]))
    assert found is not None
    return found


def _stands(session: Session, hashes: Iterable[int], viewer: Viewer) -> dict[int, tuple[Any, ...]]:
    """What is stored of sessions, by the hash of their ids."""
    rows = session.rows(query("sessions"), {"hashes": list(hashes)})
    return {row[0]: row for row in rows if viewer.sees(row[2])}


def _prepared(batch: list[Mapping[str, Any]], stands: Mapping[int, tuple[Any, ...]], viewer: Viewer) -> list[Prepared]:
    prepared = []
    for record in batch:
        repaired = broken(record)
        row = stands.get(_hash(record, viewer)) if stands and is_session(record) else None
        if row is not None:
            _, _, _, content, title, metadata, created = row
            record = merged(record, content, title, json.loads(metadata))
            if record.get("timestamp") is not None:  # a fork may lack the beginning
                record["timestamp"] = min(parse_time(record["timestamp"], "timestamp"), created.replace(tzinfo=UTC))
        prepared.append(prepare(check(record), repaired=repaired))
    return prepared


def _sort_more(duck: Duck, due: bool) -> None:
    """A step of the merge, in a transaction of its own: in between others have their turn."""
    if due:
        with duck.writing(records=False) as session:
            postings.merge_step(session)


def _batches(
    records: Iterable[Mapping[str, Any]], sort: Callable[[Mapping[str, Any]], str], pace: Pace
) -> Iterator[list[Mapping[str, Any]]]:
    """Batches of one sort each.

    Where reading fails, what was read before still comes out first: nothing read is lost.
    """
    batch: list[Mapping[str, Any]] = []
    held = 0
    stream = iter(records)
    try:
        for record in stream:
            if batch and (len(batch) >= pace.records or held > _HELD or sort(record) != sort(batch[0])):
                yield batch
                batch, held = [], 0
            batch.append(record)
            payload = record.get("payload")
            if isinstance(payload, Mapping):
                held += sum(len(said) for said in payload.values() if isinstance(said, str))
    except StoreError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def _sort(line: Mapping[str, Any]) -> str:
    return "link" if line.get("kind") == "link" else "line" if LINE_FIELDS & line.keys() else "new"
