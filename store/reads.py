"""Reads inside one snapshot: whole records by id."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from .base import Filters, Viewer
from .duck import Row, Session, query
from .records import KIND, Record, Span, id_of, key_of, parse_id
from .writes import utc


def sight(viewer: Viewer, now: datetime, filters: Filters | None = None) -> dict[str, Any]:
    """Parameters of visible.sql: who looks, at which moment of validity."""
    as_of = utc(filters.as_of) if filters else None
    return {
        "agent": viewer.agent_id,
        "teams": list(viewer.teams),
        "at": as_of or utc(now),
        "as_of": as_of,
        "history": filters.history if filters else True,
    }


def choice(filters: Filters) -> dict[str, Any]:
    """Parameters of chosen.sql: the caller's filters."""
    path = filters.path.removesuffix("%").rstrip("/") if filters.path else None
    excluded = (parse_id(one) for one in filters.exclude_ids)
    return {
        "scope": filters.scope,
        "bucket": filters.bucket,
        "team_id": filters.team_id,
        "path": path or None,
        "memory_type": filters.memory_type,
        "status": filters.status,
        "source": filters.source,
        "since": utc(filters.since),
        "until": utc(filters.until),
        "exclude": [key_of(*one) for one in excluded if one],
    }


def empty_filter(session: Session, filters: Filters, viewer: Viewer, now: datetime) -> dict[str, Any]:
    """For an empty result: the first filter that alone matches nothing, as `{"empty_filter": name}`; else {}."""
    sight_ = sight(viewer, now, filters)
    for name in ("scope", "bucket", "team_id", "path", "memory_type", "status", "source", "since", "until"):
        value = getattr(filters, name)
        if value is not None:
            alone = choice(replace(Filters(), **{name: value}))
            row = session.row(query("totals"), {**sight_, **alone})
            if row is not None and row[0] == 0:
                return {"empty_filter": name}
    return {}


def stats(session: Session, viewer: Viewer, now: datetime) -> dict[str, Any]:
    """Counts by kind, type and scope of what the viewer sees, and sizes of the index."""
    rows = session.rows(query("stats"), sight(viewer, now))
    grouped: dict[str, dict[str, int]] = {"kinds": {}, "types": {}, "scopes": {}, "buckets": {}, "teams": {}}
    for what, value, count in rows:
        grouped[what][value] = count
    totals = session.row(query("totals"), {**sight(viewer, now), **choice(Filters())}) or (0, 0, 0)
    return {
        "records": totals[0],
        "passages": totals[1],
        "terms": totals[2],
        **grouped,
        "postings": session.value("SELECT count(*) FROM postings"),
        "schema": int(session.value("SELECT value FROM meta WHERE name = 'schema_version'")),
    }


def fetch(
    session: Session, keys: Sequence[int], viewer: Viewer, now: datetime, filters: Filters | None = None
) -> dict[str, Record]:
    """Visible records of these keys by id; what is not visible is absent."""
    if not keys:
        return {}
    rows = session.rows(query("fetch"), {**sight(viewer, now, filters), "keys": list(keys)})
    records = (record_of(row) for row in rows)
    return {record.id: record for record in records}


def aware(moment: datetime | None) -> datetime | None:
    """A time of the store as aware UTC."""
    return None if moment is None else moment.replace(tzinfo=UTC)


def record_of(row: Row) -> Record:
    """One row of fetch.sql as a Record."""
    (key, _, version, content, title, path, type_, bucket, scope, agent, team, status, created, updated, source, metadata,
     external, pinned, expires, supersedes, superseded_by, deleted, bounds, kinds, speakers) = row  # fmt: skip
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
