"""The index made anew from the records, as this version analyses them, in a new file that takes the place of the old.

Division, postings and fingerprints of every version are made again. Vectors stay where the passages are the same; those
of a version that is divided otherwise now are left out, and are pending again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..file.duck import Duck, Session, query
from ..memory import postings
from ..memory.prepare import Prepared, RecordIn, prepare
from ..records import kind_of
from ..text.analyzer import VERSION
from .compact import Compacted, Progress, copy_table, replaced, sort_postings, tables_of

ERASED = ("hard_delete", "redact")  # their text is gone, and the index has nothing of them
_ROWS = 1000  # versions analysed at once
_HELD = 2**23  # characters of them
VERSIONS = (
    "SELECT rowid, vid, key, version, name, content, title, path, type, forgotten, content_hash, bounds FROM records "
    "WHERE rowid BETWEEN $first AND $last ORDER BY rowid"
)
"""Rows of `Version`, of one batch."""


class Version(NamedTuple):
    """What the analyser needs of a version, and what it made of it."""

    place: int
    vid: int
    key: int
    version: int
    name: str | None
    content: str
    title: str
    path: str
    type: str
    forgotten: str | None
    content_hash: int | None
    bounds: list[int]

    def prepared(self) -> Prepared:
        """The version, divided and analysed by this version of the product."""
        return prepare(
            RecordIn.model_construct(
                content=self.content, title=self.title, path=self.path, type=self.type, kind=kind_of(self.key)
            )
        )


def reindex(duck: Duck, progress: Progress | None = None) -> Compacted:
    """Make the index anew. A store in memory was made by this version: there is nothing to do.

    Nobody else has the store meanwhile. Raises what a write raises; then the old file stands as it was.
    """
    return replaced(duck, lambda session: _rewrite(session, progress))


def _rewrite(session: Session, progress: Progress | None) -> None:
    session.run("CREATE TABLE work.postings AS FROM target.postings LIMIT 0")
    for table in tables_of(session, "source"):
        if table == "records":
            _analyse(session, progress)
        elif table == "vectors":
            # A version that was divided otherwise has the number of its former self no more.
            session.run(
                "INSERT INTO target.vectors SELECT v.* FROM source.vectors v "
                "WHERE v.vid NOT IN (SELECT vid FROM work.stale) ORDER BY v.rowid"
            )
        elif table not in ("postings", "merged"):
            copy_table(session, table, progress)
    sort_postings(session, "work", int(session.value("SELECT count(*) FROM work.postings")), progress)
    session.run("DELETE FROM target.meta WHERE name = 'analyzer'")
    session.run("INSERT INTO target.meta VALUES ('analyzer', $version)", {"version": VERSION})


def _analyse(session: Session, progress: Progress | None) -> None:
    """Copy the records with a new division, and collect their postings."""
    session.run("CREATE TABLE work.stale (vid BIGINT)")
    rooms = _rooms(session)
    fresh = int(session.value("SELECT next_value FROM source.counters WHERE name = 'passage'"))
    session.run("USE source")
    found = list(batches(session))
    for first, last in found:
        session.run("USE source")
        versions = [Version(*row) for row in session.rows(VERSIONS, {"first": first, "last": last})]
        changed: list[tuple[int, Version, Prepared]] = []
        stale: list[int] = []
        for version in versions:
            if version.forgotten in ERASED:
                continue
            item = version.prepared()
            vid = version.vid
            if item.bounds != version.bounds:
                stale.append(vid)
                if len(item.slots) > rooms[vid]:  # more passages than have numbers there
                    vid, fresh = fresh, fresh + len(item.slots)
            changed.append((vid, version, item))
        _write(session, first, last, changed, stale)
        if progress:
            progress("records", len(versions))
    session.run("UPDATE target.counters SET next_value = $n WHERE name = 'passage'", {"n": fresh})


def _rooms(session: Session) -> dict[int, int]:
    """How many passages of each version can have numbers of their own, the header counted."""
    vids = session.arrays("SELECT vid FROM source.records ORDER BY vid")["vid"]
    return dict(zip(vids.tolist(), np.diff(vids, append=vids[-1:] + 1).tolist(), strict=True))


def batches(session: Session) -> Iterator[tuple[int, int]]:
    """First and last place of runs of records that are small enough to be held."""
    found = session.arrays("SELECT rowid AS place, length(content) AS size FROM records ORDER BY rowid")
    places, sizes = found["place"].tolist(), found["size"].tolist()
    start, held = 0, 0
    for index, size in enumerate(sizes):
        if index > start and (index - start == _ROWS or held + size > _HELD):
            yield places[start], places[index - 1]
            start, held = index, 0
        held += size
    if places:
        yield places[start], places[-1]


def _write(
    session: Session, first: int, last: int, changed: list[tuple[int, Version, Prepared]], stale: list[int]
) -> None:
    session.run(
        query("reindex"),
        {
            "first": first,
            "last": last,
            "place": [version.place for _, version, _ in changed],
            "vid": [vid for vid, _, _ in changed],
            "passages": [len(item.bounds) for _, _, item in changed],
            "terms": [item.terms for _, _, item in changed],
            "bounds": [item.bounds for _, _, item in changed],
            "kinds": [item.kinds for _, _, item in changed],
            "speakers": [item.speakers for _, _, item in changed],
            "print_low": [item.fingerprint[0] for _, _, item in changed],
            "print_high": [item.fingerprint[1] for _, _, item in changed],
        },
    )
    session.run("INSERT INTO work.stale SELECT unnest($vids::BIGINT[])", {"vids": stale})
    session.run("USE work")
    postings.append(session, [(vid, item) for vid, _, item in changed])
