"""Export and its way back: one JSON-ready line per version of a record, tombstones included."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ..chain.batch import insert_payloads
from ..errors import Conflict
from ..file.duck import Row, Session, query
from ..memory import postings, writes
from ..memory.numbers import Numbers
from ..memory.prepare import Prepared, prepare
from ..memory.repetitions import MARKS, Place
from ..memory.succession import FUTURE, break_circles, settle_imported
from ..records import LEFT_OUT, NAMED, Written, id_of, kind_of, name_hash, number_of
from ..times import utc
from ..values import Viewer
from .exports_chain import Keys, chain_fields, link_lines, owners_of, trigger_chunks
from .lines import TIMES, LineIn, number_key

_ERASED = ("hard_delete", "redact")
_HASHED = {"external_id": "external_hash", "idempotency_key": "idempotency_hash", "semantic_key": "semantic_hash"}


def lines(session: Session, viewer: Viewer | None) -> Iterator[dict[str, Any]]:
    """Lines by record and version, then links; of one agent those it sees, or all. Fields that say nothing are left
    out."""
    names = (
        "key", "version", "content", "title", "path", "type", "bucket", "scope", "agent_id", "team_id", "status",
        "source", "metadata", "external_id", "idempotency_key", "pinned", "created_at", "updated_at", "valid_from",
        "valid_to", "expires_at", "supersedes", "superseded_by", "superseded_at", "deleted_at", "forgotten",
        "semantic_key", *_HASHED.values(), "superseded_from", "superseded_until", "forgotten_hash",
    )  # fmt: skip
    params = {"agent": viewer.agent_id if viewer else None, "temporary": viewer is None or viewer.temporary}
    named = owners_of(session)
    numbers = Numbers(session)
    last: dict[str, int] = {}

    def said(row: Row) -> dict[str, Any]:
        *values, thread = row
        line = dict(zip(names, values, strict=True))
        key = line.pop("key")
        kind, n = kind_of(key), number_of(key)
        line = {"id": _id(key, named), "kind": kind, **line}
        far = None if kind in NAMED else numbers.is_far(kind, n, last.get(kind, 0))
        if far is not None:
            line["far"] = far
        else:
            last[kind] = n
        for name in TIMES:
            if line[name] is not None:
                line[name] = line[name].replace(tzinfo=UTC).isoformat()
        for name in ("supersedes", "superseded_by"):
            line[name] = None if line[name] is None else _id(line[name], named)
        hashes = {name: line.pop(hashed) for name, hashed in _HASHED.items()}
        line["hashes"] = {
            name: number
            for name, number in hashes.items()
            if line["forgotten"] in _ERASED and number is not None and line[name] is None
        }
        line["timestamp"] = line.pop("created_at")
        line["source"], line["metadata"] = json.loads(line["source"]), json.loads(line["metadata"])
        chain_fields(line, key, thread, named)
        always = ("id", "content", "version", "far")
        return {k: v for k, v in line.items() if k in always or v not in (None, "", {}, False)}

    yield from map(said, _rows(session, "chain", params))
    triggers = [key for (key,) in session.rows(query("export_triggers"), params)]
    for keys, payloads in trigger_chunks(session, triggers):
        for row in session.rows(query("export", frozenset({"triggers"})), {**params, "keys": keys}):
            line = said(row)
            if row[0] in payloads:
                line["payload"] = payloads[row[0]]
            yield line
    yield from map(said, _rows(session, "memories", params))
    yield from link_lines(session, viewer, named)


def _rows(session: Session, part: str, params: Mapping[str, Any]) -> Iterator[Row]:
    for chunk in session.stream(query("export", frozenset({part})), params):
        yield from chunk


def _id(key: int, named: Mapping[int, tuple[str, str]]) -> str:
    return id_of(key, named[key][0] if key in named else None)


def take_in(session: Session, batch: Sequence[LineIn], viewer: Viewer, now: datetime) -> list[Written]:
    """Write lines with the ids they carry. A line that is there already adds nothing; lines without an agent are the
    viewer's, lines without a time are of now.

    Raises Conflict where an id stands for something else here.
    """
    moment = utc(now)
    assert moment is not None
    places = [writes.place_of(line, viewer) for line in batch]
    numbers = Numbers(session)
    named = Keys(session, batch, numbers, [place[0] for place in places])
    keys = [named.of(index) if line.kind in NAMED else number_key(line) for index, line in enumerate(batch)]
    there = _there(session, keys)
    taken = {key for key, _ in there}
    payloads: list[tuple[int, str, bytes]] = []
    rows: list[dict[str, Any]] = []
    slots = []
    results = []
    for key, line, place in zip(keys, batch, places, strict=True):
        answer = _stands_already(there, taken, key, line, place)
        if answer is not None:
            results.append(answer)
            continue
        there[key, line.version] = _There(place[0], place[4], line.content, line.forgotten)
        taken.add(key)
        numbers.at_least(line.kind, key, line.far)
        item = prepare(line)
        vid = numbers.passage(len(item.slots))
        row = _row(line, item, place, vid, key, named, moment)
        if line.forgotten in _ERASED:
            row["content_hash"], row["print_low"], row["print_high"], row["terms"] = None, 0, 0, 0
            row |= {_HASHED[name]: number for name, number in line.hashes.items()}
        else:
            slots.append((vid, item))
        notes: tuple[str, ...] = (FUTURE,) if row["created_at"] > moment and line.valid_to is None else ()
        if line.kind in NAMED:
            row["name"], row["name_hash"] = line.id, name_hash(line.id)
            row["thread"] = named.ref(line.thread_id, line.thread_agent_id or place[0])
            if line.thread_id is not None and row["thread"] is None:
                notes += (f"its thread {line.thread_id} is not in this store",)
            if line.payload is not None and line.forgotten not in _ERASED and line.version == 1:
                payloads.append((key, line.payload.media_type, line.payload.body))
        rows.append(row)
        results.append(Written(line.id, True, notes, line.version))
    numbers.keep()
    writes.insert(session, rows)
    postings.append(session, slots)
    insert_payloads(session, payloads)
    if any(row["version"] > 1 for row in rows):
        session.run(query("close_versions"), {"keys": sorted({row["key"] for row in rows})})
    settle_imported(session, rows)
    broken = break_circles(session, rows)
    return [
        replace(one, notes=(*one.notes, broken[key])) if one.created and key in broken else one
        for key, one in zip(keys, results, strict=True)
    ]


def _there(session: Session, keys: Sequence[int]) -> dict[tuple[int, int], _There]:
    """What is stored of the versions of some records, by key and version."""
    rows = session.rows(
        "SELECT key, version, agent_id, path, content, forgotten FROM records "
        "WHERE key IN (SELECT unnest($keys::BIGINT[]))",
        {"keys": list(keys)},
    )
    return {(key, version): _There(*rest) for key, version, *rest in rows}


def _stands_already(
    there: Mapping[tuple[int, int], _There], taken: Container[int], key: int, line: LineIn, place: Place
) -> Written | None:
    """The answer for a line that adds nothing, None for one to be written. Raises Conflict where its id stands for
    something else."""
    here = there.get((key, line.version))
    before = here or there.get((key, line.version - 1))
    if before is not None and before.agent_id == place[0] and before.forgotten is not None and not line.forgotten:
        return Written(line.id, False, (LEFT_OUT,), line.version)
    if before is None:
        if key in taken:
            raise _conflict(line)
    elif (before.agent_id, before.forgotten) != (place[0], line.forgotten):
        raise _conflict(line)
    if here is None:
        return None
    if (here.path, here.content) != (place[4], line.content):
        raise _conflict(line)
    return Written(line.id, False, (), line.version)


def _row(
    line: LineIn, item: Prepared, place: Place, vid: int, key: int, named: Keys, moment: datetime
) -> dict[str, Any]:
    """The row of a line, with its times and with what it replaces."""
    row = writes.row_of(item, place, vid=vid, key=key, version=line.version)
    created = utc(line.timestamp) or moment
    written = min(created, moment)  # what is dated in the future was written before its date
    row["created_at"] = created
    row["valid_from"] = utc(line.valid_from) or written
    row["updated_at"] = utc(line.updated_at) or written
    if line.kind not in NAMED and row["updated_at"] == created > row["valid_from"]:
        row["updated_at"] = row["valid_from"]
    row["supersedes"] = named.ref(line.supersedes, place[0])
    row["superseded_by"] = named.ref(line.superseded_by, place[0])
    row |= {name: utc(getattr(line, name)) for name in ("valid_to", *MARKS[1:])}
    row["deleted_at"] = utc(line.deleted_at) or (moment if line.forgotten in ("soft_delete", "hard_delete") else None)
    row["forgotten"], row["forgotten_hash"] = line.forgotten, line.forgotten_hash
    return row


class _There(NamedTuple):
    """What is stored of a version."""

    agent_id: str
    path: str
    content: str
    forgotten: str | None


def _conflict(line: LineIn) -> Conflict:
    conflict = Conflict(
        f"id: {line.id} already names something else here: import into an empty store, or leave the line out",
        field="id",
    )
    conflict.ref = line.id
    return conflict
