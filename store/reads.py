"""Reads inside one snapshot: whole records by id."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np

from .base import Filters, Viewer
from .duck import Row, Session, query
from .records import KIND, Record, Span, id_of, key_of, parse_id
from .times import utc


@dataclass(frozen=True, slots=True)
class Where:
    """A condition of visible.sql or chosen.sql: which of its lines stand, and their parameters."""

    flags: frozenset[str]
    params: Mapping[str, Any]

    def rows(self, session: Session, name: str, **more: Any) -> list[Row]:
        """Rows of `store/sql/<name>.sql` under this condition."""
        return session.rows(query(name, self.flags), {**self.params, **more})

    def arrays(self, session: Session, name: str, **more: Any) -> dict[str, np.ndarray[Any, Any]]:
        """The same as columns."""
        return session.arrays(query(name, self.flags), {**self.params, **more})


def sight(viewer: Viewer, now: datetime, filters: Filters | None = None) -> Where:
    """The condition of visible.sql: who looks, at which moment of validity. An id stays readable when replaced."""
    as_of = utc(filters.as_of) if filters else None
    params: dict[str, Any] = {"agent": viewer.agent_id, "at": as_of or utc(now)}
    flags = {"teams" if viewer.teams else "alone"}
    if viewer.teams:
        params["teams"] = list(viewer.teams)
    if not viewer.temporary:
        flags.add("lasting")
    flags.add("now" if as_of is None else "as_of")
    if filters is not None and not filters.history:
        flags.add("current" if as_of is None else "current_then")
    return Where(frozenset(flags), params)


def choice(viewer: Viewer, now: datetime, filters: Filters) -> Where:
    """The condition of chosen.sql: what is visible and matches the caller's filters."""
    seen = sight(viewer, now, filters)
    path = filters.path.removesuffix("%").rstrip("/") if filters.path else None
    wanted = {
        "scope": filters.scope,
        "bucket": filters.bucket,
        "team_id": filters.team_id,
        "path": path or None,
        "memory_type": filters.memory_type,
        "status": filters.status,
        "source": filters.source,
        "since": utc(filters.since),
        "until": utc(filters.until),
        "exclude": [key_of(*one) for one in map(parse_id, filters.exclude_ids) if one] or None,
    }
    asked = {name: value for name, value in wanted.items() if value is not None}
    return Where(seen.flags.union(asked), {**seen.params, **asked})


def totals(session: Session, where: Where) -> tuple[int, int, int]:
    """Records, passages and terms of what a condition lets through."""
    records, passages, terms = where.rows(session, "totals")[0]
    return records, passages, terms


def empty_filter(session: Session, filters: Filters, viewer: Viewer, now: datetime) -> dict[str, Any]:
    """For an empty result: the first filter that alone matches nothing, as `{"empty_filter": name}`; where only all
    together match nothing, their names; {} where the filters let something through."""
    given = []
    for name in ("scope", "bucket", "team_id", "path", "memory_type", "status", "source", "since", "until"):
        value = getattr(filters, name)
        if value is not None:
            given.append(name)
            alone = Filters(as_of=filters.as_of, history=filters.history)
            if totals(session, choice(viewer, now, replace(alone, **{name: value})))[0] == 0:
                return {"empty_filter": name}
    if len(given) > 1 and totals(session, choice(viewer, now, filters))[0] == 0:
        return {"empty_filter": " with ".join(given)}
    return {}


def stats(session: Session, viewer: Viewer, now: datetime) -> dict[str, Any]:
    """Counts by kind, type and scope of what the viewer sees, and sizes of the index."""
    seen = choice(viewer, now, Filters())
    grouped: dict[str, dict[str, int]] = {"kinds": {}, "types": {}, "scopes": {}, "buckets": {}, "teams": {}}
    for what, value, count in seen.rows(session, "stats"):
        grouped[what][value] = count
    records, passages, terms = totals(session, seen)
    return {
        "records": records,
        "passages": passages,
        "terms": terms,
        **grouped,
        "schema": int(session.value("SELECT value FROM meta WHERE name = 'schema_version'")),
    }


def fetch(
    session: Session, keys: Sequence[int], viewer: Viewer, now: datetime, filters: Filters | None = None
) -> dict[str, Record]:
    """Visible records of these keys by id; what is not visible is absent."""
    if not keys:
        return {}
    records = (record_of(row) for row in sight(viewer, now, filters).rows(session, "fetch", keys=list(keys)))
    return {record.id: record for record in records}


def aware(moment: datetime | None) -> datetime | None:
    """A time of the store as aware UTC."""
    return None if moment is None else moment.replace(tzinfo=UTC)


def record_of(row: Row) -> Record:
    """One row of fetch.sql as a Record."""
    (key, _, version, content, title, path, type_, bucket, scope, agent, team, status, created, updated, source,
     metadata, external, pinned, expires, supersedes, superseded_by, deleted, bounds, kinds,
     speakers) = row  # fmt: skip
    identity = id_of(key)
    edges = [0, *bounds]
    names = json.loads(kinds)
    voices = json.loads(speakers) if speakers else [""] * len(bounds)
    return Record(
        id=identity,
        kind=KIND[identity.partition(":")[0]],
        version=version,
        content=content,
        title=title,
        path=path,
        type=type_,
        bucket=bucket,
        scope=scope,
        agent_id=agent,
        team_id=team,
        status=status,
        created_at=created.replace(tzinfo=UTC),
        updated_at=updated.replace(tzinfo=UTC),
        passages=tuple(
            Span(ordinal, start, end, kind, voice)
            for ordinal, ((start, end), kind, voice) in enumerate(zip(pairwise(edges), names, voices, strict=True))
        ),
        source=json.loads(source),
        metadata=json.loads(metadata),
        external_id=external,
        pinned=pinned,
        expires_at=aware(expires),
        supersedes=id_of(supersedes) if supersedes is not None else None,
        superseded_by=id_of(superseded_by) if superseded_by is not None else None,
        deleted_at=aware(deleted),
    )
