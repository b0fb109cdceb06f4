"""The plain values that pass between a store and those who ask it: who asks, what for, and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from .records import Record

TimeAxis = Literal["created_at", "updated_at"]
USAGE = "usage"
"""The type of notes that a memory was used: found only where they are asked for by type."""

TEMPORARY = "temporary"
"""The bucket whose records need a right of their own to be seen."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who is asking: an agent and the teams it belongs to.

    Without `temporary` the records of the bucket `temporary` do not exist for it, its own neither: no read shows them,
    nothing of them can be forgotten or replaced, and a write that says the same is a new record, not a repetition.
    Only an idempotency key still answers with what the agent itself once wrote with it.
    """

    agent_id: str
    teams: tuple[str, ...] = ()
    temporary: bool = True

    def sees(self, bucket: str) -> bool:
        """Whether records of a bucket exist for this viewer at all: the line of visible.sql, for single rows."""
        return self.temporary or bucket != TEMPORARY


@dataclass(frozen=True, slots=True)
class Filters:
    """Exact filters of a read; None means all. `path` is a prefix of whole path segments, `since`/`until` half-open.

    `time_by` is the time that the interval is about, `order_by` the one that `time_order` sorts by. With a
    `time_order` the best records come in order of time. `threshold` (0 to 1) is the least coverage of a record,
    `prefer_working` puts working state that bears on the query in front, and `hypothetical`, a text as the answer might
    read, is asked for by meaning in the query's place.
    """

    scope: str | None = None
    bucket: str | None = None
    team_id: str | None = None
    path: str | None = None
    memory_type: str | None = None
    status: str | None = None
    source: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    exclude_ids: tuple[str, ...] = ()
    history: bool = False  # also superseded records
    ids: tuple[str, ...] = ()  # only these
    semantic_key: str | None = None
    threshold: float = 0.0
    time_by: TimeAxis | None = None  # created_at where None
    time_order: Literal["asc", "desc"] | None = None
    order_by: TimeAxis | None = None  # what suits the kind of read where None
    prefer_working: bool = False
    hypothetical: str = ""
    filled: bool = False  # where something bears on a query, what is below the relevance floor comes too
    reference: datetime | None = None  # the caller's now, for words of time in a query; the clock's where None
    zone: str = ""  # IANA name of the zone in which they are counted, UTC where empty


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage that bears on the query: record id, 0-based passage ordinal, score (higher is better), and whether it
    is relevant: what is not comes only into packs that are to be filled."""

    id: str
    ordinal: int
    score: float
    relevant: bool = True


@dataclass(frozen=True, slots=True)
class Candidate:
    """One record that bears on the query; `rank` counts from 1; a near-duplicate names the id that stands for it.

    `coverage` (0 to 1) is the share of the query, weighted by how rare its words are, that the record contains.
    """

    id: str
    rank: int
    score: float
    duplicate_of: str | None = None
    reason: str = ""  # why it is here: pinned, open, decision, recent (restore only), or "link from <id>"
    coverage: float = 1.0
    relevant: bool = True  # what is not comes only into packs that are to be filled


@dataclass(frozen=True, slots=True)
class Candidates:
    """The outcome of the candidate stage: records by rank, their passages best first, and how they were found.

    `hits` holds passages of records that are no duplicates only, in the one deterministic order of the ladder's
    first part. `records` are the whole records of the first candidates that are no duplicates, as many as were asked
    for. `plan` is JSON-ready: mode, arms, terms, matched, depth, floor, filters, empty_filter, vectors,
    degraded (the arms that could not run), degraded_reason, and with hops `hops` and `reached`.
    `links` has for those of `records` that have any the ids one link away.
    """

    items: tuple[Candidate, ...] = ()
    hits: tuple[Hit, ...] = ()
    records: Mapping[str, Record] = field(default_factory=dict)
    plan: Mapping[str, Any] = field(default_factory=dict)
    links: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
