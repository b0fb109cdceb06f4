"""The index an agent starts from: its threads by one line each, newest first, in pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from ..errors import InvalidField
from ..file.duck import Session
from ..memory import reads
from ..validation import miscounted
from ..values import Viewer
from .cursor import make_cursor, read_cursor

MAX_THREADS = 200
"""Threads of one page."""
_BEYOND = 2**62  # above any key


@dataclass(frozen=True, slots=True)
class ThreadLine:
    """A thread by its one line. Times are aware UTC; `last_event_at` is None for a thread without events."""

    id: str
    summary: str
    status: str
    natural_key: str | None
    event_count: int
    last_event_at: datetime | None
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Threads:
    """A page of threads. `next_cursor` is None only at the end."""

    threads: tuple[ThreadLine, ...]
    next_cursor: str | None


def threads(
    session: Session, viewer: Viewer, now: datetime, status: str | None, cursor: str | None, limit: int
) -> Threads:
    """A page of the threads that the viewer sees, of one status or of all; see ContextPacks.threads.

    A cursor stands in front of a thread by when that was made, so threads that come in meanwhile shift nothing. Raises
    InvalidField for a limit out of range and what is no cursor, Conflict for the cursor of another listing.
    """
    if wrong := miscounted(limit, 1, MAX_THREADS):
        raise InvalidField(f"limit: {wrong}", field="limit")
    if status is not None and not isinstance(status, str):
        raise InvalidField("status: give one status, or None for all", field="status")
    asked = f"thr_.{sha256((status or '').encode('utf-8', 'replace')).hexdigest()[:16]}"
    seal = f"threads\n{viewer.agent_id}"
    before = _BEYOND if cursor in (None, "") else int(read_cursor(cursor, asked, key=seal))
    sight = reads.sight(viewer, now)
    if status:
        sight = reads.Where(sight.flags | {"status"}, {**sight.params, "status": status})
    rows = sight.rows(session, "threads", before=before, limit=limit + 1)
    page = rows[:limit]
    passed = reads.another_meant(session, {row[0]: (row[1], row[-1]) for row in page}, viewer)
    counts = _counts(session, viewer, now, [row[0] for row in page])
    lines = []
    for key, name, summary, stands, natural_key, updated, _ in page:
        if key in passed:
            continue
        count, last = counts.get(key, (0, None))
        lines.append(
            ThreadLine(name, summary, stands, natural_key, count, reads.aware(last), reads.aware(updated) or now)
        )
    return Threads(tuple(lines), make_cursor(asked, str(page[-1][0]), key=seal) if len(rows) > limit else None)


def _counts(session: Session, viewer: Viewer, now: datetime, keys: list[int]) -> dict[int, tuple[int, datetime | None]]:
    if not keys:
        return {}
    rows = reads.sight(viewer, now).rows(session, "event_counts", keys=keys)
    return {thread: (count, last) for thread, count, last in rows}
