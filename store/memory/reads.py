"""Reads inside one snapshot: whole records by id."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from sys import getsizeof
from typing import Any

import numpy as np

from ..errors import Gone, NotFound, StoreError
from ..file.duck import Row, Session, query
from ..records import NAMED, Record, Span, erased_name, id_of, key_of, kind_of, name_hash, parse_id, parse_name
from ..times import utc
from ..values import Filters, Viewer


@dataclass(frozen=True, slots=True)
class Where:
    """A condition of visible.sql or chosen.sql: which of its lines stand, and their parameters."""

    flags: frozenset[str]
    params: Mapping[str, Any]

    @property
    def name(self) -> Hashable:
        """What a process may remember something under; None where that is not worth it, as moments seldom repeat."""
        if "as_of" in self.flags or "exclude" in self.flags:
            return None
        return self.flags, tuple((name, str(value)) for name, value in self.params.items() if name != "at")

    def also(self, flag: str) -> Where:
        """The same with one more line of the SQL file."""
        return Where(self.flags | {flag}, self.params)

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
    path = filters.path.removesuffix("%").removesuffix("*").rstrip("/") if filters.path else None
    axis = "_updated" if filters.time_by == "updated_at" else ""
    wanted = {
        "scope": filters.scope,
        "bucket": filters.bucket,
        "team_id": filters.team_id,
        "path": path or None,
        "memory_type": filters.memory_type,
        "status": filters.status,
        "source": filters.source,
        f"since{axis}": utc(filters.since),
        f"until{axis}": utc(filters.until),
        "ids": [key_of(*one) for one in map(parse_id, filters.ids) if one] if filters.ids else None,
        "semantic_key": filters.semantic_key,
        "exclude": [key_of(*one) for one in map(parse_id, filters.exclude_ids) if one] or None,
        "exclude_names": [one for one in filters.exclude_ids if parse_name(one)] or None,
    }
    asked = {name: value for name, value in wanted.items() if value is not None}
    usual = {"usual"} if filters.memory_type is None else set()
    return Where(seen.flags.union(asked, usual), {**seen.params, **asked})


def settled(session: Session, where: Where) -> Where:
    """The same condition in the form that joins fast, where nothing that was replaced stands now or will again."""
    if "current" not in where.flags or session.row(query("turning"), {"at": where.params["at"]}):
        return where
    return Where(where.flags - {"current"} | {"settled"}, where.params)


def totals(session: Session, where: Where) -> tuple[int, int, int]:
    """Records, passages and terms of what a condition lets through."""
    records, passages, terms, _ = where.rows(session, "totals")[0]
    return records, passages, terms


def empty_filter(session: Session, filters: Filters, viewer: Viewer, now: datetime) -> dict[str, Any]:
    """For an empty result: the first filter that alone matches nothing, as `{"empty_filter": name}`; where only all
    together match nothing, their names; {} where the filters let something through."""
    given = []
    for name in ("scope", "bucket", "team_id", "path", "memory_type", "status", "source", "since", "until"):
        value = getattr(filters, name)
        if value is not None:
            given.append(name)
            alone = Filters(as_of=filters.as_of, history=filters.history, time_by=filters.time_by)
            if totals(session, choice(viewer, now, replace(alone, **{name: value})))[0] == 0:
                return {"empty_filter": name}
    if len(given) > 1 and totals(session, choice(viewer, now, filters))[0] == 0:
        return {"empty_filter": " with ".join(given)}
    return {}


def stats(session: Session, viewer: Viewer, now: datetime) -> dict[str, Any]:
    """Counts by kind, type and scope of what the viewer sees, and sizes of the index."""
    every = choice(viewer, now, Filters())
    seen = replace(every, flags=every.flags - {"usual"})  # notes of usage count too
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


def by_keys(
    session: Session, keys: Sequence[int], viewer: Viewer, now: datetime, filters: Filters | None = None
) -> dict[int, Record]:
    """Visible records by key; what is not visible is absent."""
    if not keys:
        return {}
    where = sight(viewer, now, filters)
    name = where.name
    found: dict[int, Record] = {}
    for key in keys if session.kept and name else ():
        record: Record | None = session.recalled((name, key))
        if record is not None and (record.expires_at is None or record.expires_at > now):
            found[key] = record
    missing = [key for key in keys if key not in found]
    if missing:
        if len(missing) == 1:  # half the time of a join
            rows = Where(where.flags | {"one"}, where.params).rows(session, "fetch", key=missing[0])
        else:
            rows = Where(where.flags | {"by_key"}, where.params).rows(session, "fetch", keys=missing)
        turning = {row[0] for row in rows if row[-1]}
        for key, record in _records(session, rows, viewer).items():
            found[key] = record
            if key in turning:
                continue
            session.keep((name, key), record, 900 + getsizeof(record.content) + 170 * len(record.passages))
    return found


def by_ids(session: Session, ids: Sequence[str], viewer: Viewer, now: datetime) -> dict[str, Record]:
    """Visible records by id; malformed ids and what is not visible are absent.

    Where two agents have given the same name, the viewer's own record is meant, else the one that was there first; see
    `another_meant` for what that was.
    """
    numbered = [key_of(*one) for one in map(parse_id, ids) if one]
    found = by_keys(session, numbered, viewer, now)
    names = [one for one in ids if parse_name(one)]
    if names:
        named = by_names(session, names, viewer, sight(viewer, now))
        others = {key: (one.id, one.agent_id) for key, one in named.items()}
        found |= {key: named[key] for key in named.keys() - another_meant(session, others, viewer)}
    chosen: dict[str, Record] = {}
    for key in sorted(found):
        record = found[key]
        if record.id not in chosen or (record.agent_id == viewer.agent_id != chosen[record.id].agent_id):
            chosen[record.id] = record
    return chosen


def by_names(session: Session, names: Sequence[str], viewer: Viewer, where: Where) -> dict[int, Record]:
    """Visible records by key, of names: more than one of a name where several agents gave it."""
    hashes = [name_hash(name) for name in names]
    if len(names) == 1:
        rows = where.also("of_name").rows(session, "fetch", hash=hashes[0], named=names[0])
    else:
        rows = where.also("by_name").rows(session, "fetch", hashes=hashes, names=list(names))
    return _records(session, rows, viewer)


def another_meant(session: Session, found: Mapping[int, tuple[str, str]], viewer: Viewer) -> set[int]:
    """Of records found by name (key → name, owner), those whose name has meant another one to the viewer: a deleted one
    of its own, or of its teams that was there first. A name never comes to mean something else by that."""
    others = {key: name for key, (name, owner) in found.items() if owner != viewer.agent_id}
    if not others:
        return set()
    gone = gone_names(session, sorted(set(others.values())), viewer)
    return {
        key
        for key, name in others.items()
        if any(name == was and (owner == viewer.agent_id or old < key) for old, was, owner in gone)
    }


def gone_names(session: Session, names: Sequence[str], viewer: Viewer) -> list[tuple[int, str, str]]:
    """Key, name and owner of deleted records of these names that the viewer had or could see in its teams."""
    asked = as_stored(names)
    hashes = [name_hash(name) for name in names]
    params = {"hashes": hashes, "names": list(asked), "agent": viewer.agent_id, "teams": list(viewer.teams)}
    return [(key, asked[name], owner) for key, name, owner in session.rows(query("deleted_names"), params)]


def as_stored(names: Iterable[str]) -> dict[str, str]:
    """What may stand in the store for names: each itself, and what is left of it once erased; with the name."""
    return {stored: name for name in names for stored in (erased_name(name), name)}


def named(name: str) -> dict[str, Any]:
    """The parameters of a look-up of one name."""
    return {"hash": name_hash(name), "name": name, "erased": erased_name(name)}


def name_was_seen(session: Session, name: str, viewer: Viewer, now: datetime) -> bool:
    """Whether a name means something to a viewer, or did before that was deleted: it is not given again then."""
    return bool(by_names(session, [name], viewer, sight(viewer, now)) or gone_names(session, [name], viewer))


def own_key(session: Session, one: str | None, agent: str) -> int | None:
    """The key of an id among the records of one agent, deleted ones too; of a numbered id whoever has it. None for what
    is no id or stands for nothing."""
    parsed = parse_id(one)
    if parsed is not None:
        return key_of(*parsed)
    if one is None or parse_name(one) is None:
        return None
    row = session.row(query("own_name"), {**named(one), "agent": agent})
    return int(row[0]) if row else None


def absent(session: Session, one: str, viewer: Viewer, field: str = "id") -> StoreError:
    """Why an id cannot be read: only its owner learns that there was something, and of a temporary record only if it
    may see such."""
    key = own_key(session, one, viewer.agent_id)
    row = None if key is None else session.row(query("owner"), {"key": key, "agent": viewer.agent_id})
    if row is None or not viewer.sees(row[2]):
        return NotFound(f"{field}: there is no record {one}", field=field)
    if row[0] is not None:
        return Gone(f"{field}: record {one} was deleted", field=field)
    return NotFound(f"{field}: there is no record {one}: it has expired", field=field)


def names_of(session: Session, keys: Iterable[int | None]) -> dict[int, str]:
    """Names of the records that have one, whoever sees them."""
    named = sorted({key for key in keys if key is not None and kind_of(key) in NAMED})
    if len(named) == 1:
        return dict(session.rows("SELECT key, name FROM records WHERE key = $key LIMIT 1", {"key": named[0]}))
    return dict(session.rows(query("names"), {"keys": named})) if named else {}


def _records(session: Session, rows: Sequence[Row], viewer: Viewer) -> dict[int, Record]:
    rows = _without_hidden_links(session, rows, viewer)
    names = names_of(session, (key for row in rows for key in row[19:21]))
    return {row[0]: record_of(row, names) for row in rows}


def _without_hidden_links(session: Session, rows: Sequence[Row], viewer: Viewer) -> list[Row]:
    """The rows of fetch.sql without `supersedes` and `superseded_by` that the viewer must not hear of: what replaced a
    record of a team may be its owner's alone, or temporary. All is told to an agent of its own records."""

    def told(row: Row) -> bool:
        return viewer.temporary and row[9] == viewer.agent_id

    keys = sorted({key for row in rows if not told(row) for key in row[19:21] if key is not None})
    if not keys:
        return list(rows)
    params = {"keys": keys, "agent": viewer.agent_id, "teams": list(viewer.teams), "temporary": viewer.temporary}
    known = {key for (key,) in session.rows(query("nameable"), params)}
    return [
        row if told(row) else (*row[:19], *(key if key in known else None for key in row[19:21]), *row[21:])
        for row in rows
    ]


def aware(moment: datetime | None) -> datetime | None:
    """A time of the store as aware UTC."""
    return None if moment is None else moment.replace(tzinfo=UTC)


def record_of(row: Row, names: Mapping[int, str]) -> Record:
    """One row of fetch.sql as a Record; `names` are those of the records that it replaces or is replaced by."""
    (key, _, version, content, title, path, type_, bucket, scope, agent, team, status, created, updated, source,
     metadata, external, pinned, expires, supersedes, superseded_by, deleted, bounds, kinds,
     speakers, name, _) = row  # fmt: skip
    edges = [0, *bounds]
    sorts = json.loads(kinds)
    voices = json.loads(speakers) if speakers else [""] * len(bounds)
    return Record(
        id=id_of(key, name),
        kind=kind_of(key),
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
            for ordinal, ((start, end), kind, voice) in enumerate(zip(pairwise(edges), sorts, voices, strict=True))
        ),
        source=json.loads(source),
        metadata=json.loads(metadata),
        external_id=external,
        pinned=pinned,
        expires_at=aware(expires),
        supersedes=id_of(supersedes, names.get(supersedes)) if supersedes is not None else None,
        superseded_by=id_of(superseded_by, names.get(superseded_by)) if superseded_by is not None else None,
        deleted_at=aware(deleted),
    )
