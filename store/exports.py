"""Export and its way back: one JSON-ready line per version of a record, tombstones included."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, StrictInt, ValidationError, field_validator, model_validator

from . import postings, writes
from .base import Viewer
from .duck import Session, query
from .errors import Conflict, InvalidField
from .records import KIND, Written, id_of, key_of, parse_id
from .rows import RecordIn, invalid, prepare
from .times import parse_time, utc

_HIGHEST = 10**15 - 1  # number of an id that comes from outside: ids have up to 16 digits
_ERASED = ("hard_delete", "redact")
_TIMES = ("created_at", "updated_at", "valid_from", "valid_to", "expires_at", "superseded_at", "deleted_at")


class LineIn(RecordIn):
    """A line of an export: a record with its id, version, links and tombstone."""

    content: Annotated[str, Field(strict=True)]
    id: str
    version: Annotated[StrictInt, Field(ge=1)] = 1
    updated_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    superseded_by: str | None = None
    superseded_at: datetime | None = None
    deleted_at: datetime | None = None
    forgotten: Literal["soft_delete", "hard_delete", "redact"] | None = None

    @field_validator("content")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        return value  # an erased record has no text, see below

    @model_validator(mode="after")
    def _tombstone(self) -> Self:
        if self.forgotten == "hard_delete" and self.content:
            raise InvalidField("content: is there although the record was erased: leave it empty", field="content")
        if self.forgotten != "hard_delete" and not self.content.strip():
            raise InvalidField("content: is blank: give the text to remember", field="content")
        return self

    @field_validator("id", "superseded_by")
    @classmethod
    def _identity(cls, value: str | None) -> str | None:
        parsed = None if value is None else parse_id(value)
        if value is not None and parsed is None:
            raise ValueError(f"{value[:40]!r} is not an id like mem:1 or ep:1")
        if parsed is not None and parsed[1] > _HIGHEST:
            raise ValueError(f"{value} is above {_HIGHEST}: it would leave no numbers for new records")
        return value

    @field_validator("updated_at", "valid_from", "valid_to", "superseded_at", "deleted_at", mode="before")
    @classmethod
    def _moment(cls, value: object, info: Any) -> datetime | None:
        return None if value is None else parse_time(value, info.field_name)


def lines(session: Session, viewer: Viewer | None) -> Iterator[dict[str, Any]]:
    """Lines by record and version; of one agent those it sees, or all. Fields that say nothing are left out."""
    names = (
        "key", "version", "content", "title", "path", "type", "bucket", "scope", "agent_id", "team_id", "status",
        "source", "metadata", "external_id", "idempotency_key", "pinned", "created_at", "updated_at", "valid_from",
        "valid_to", "expires_at", "supersedes", "superseded_by", "superseded_at", "deleted_at", "forgotten",
        "semantic_key",
    )  # fmt: skip
    params = {"agent": viewer.agent_id if viewer else None, "temporary": viewer is None or viewer.temporary}
    for chunk in session.stream(query("export"), params):
        for row in chunk:
            line = dict(zip(names, row, strict=True))
            identity = id_of(line.pop("key"))
            line = {"id": identity, "kind": KIND[identity.partition(":")[0]], **line}
            for name in _TIMES:
                if line[name] is not None:
                    line[name] = line[name].replace(tzinfo=UTC).isoformat()
            for name in ("supersedes", "superseded_by"):
                line[name] = None if line[name] is None else id_of(line[name])
            line["timestamp"] = line.pop("created_at")
            line["source"], line["metadata"] = json.loads(line["source"]), json.loads(line["metadata"])
            yield {k: v for k, v in line.items() if k in ("id", "content", "version") or v not in (None, "", {}, False)}


def check_line(line: Mapping[str, Any]) -> LineIn:
    """The line, checked; raises InvalidField."""
    if "id" not in line:
        line = {**line, "id": None}
    try:
        return LineIn.model_validate(line)
    except ValidationError as error:
        raise invalid(error) from error


def take_in(session: Session, batch: Sequence[LineIn], viewer: Viewer, now: datetime) -> list[Written]:
    """Write lines with the ids they carry. A line that is there already adds nothing; lines without an agent are the
    viewer's, lines without a time are of now.

    Raises Conflict where an id stands for something else here.
    """
    keys = [_key(line) for line in batch]
    there = {
        (key, version): _There(*rest)
        for key, version, *rest in session.rows(
            "SELECT key, version, agent_id, path, content, forgotten FROM records "
            "WHERE key IN (SELECT unnest($keys::BIGINT[]))",
            {"keys": keys},
        )
    }
    taken = {key for key, _ in there}
    numbers = writes.Numbers(session)
    rows: list[dict[str, Any]] = []
    slots = []
    results = []
    for key, line in zip(keys, batch, strict=True):
        place = writes.place_of(line, viewer)
        here = there.get((key, line.version))
        before = here or there.get((key, line.version - 1))
        if before is not None and before.agent_id == place[0] and before.forgotten is not None and not line.forgotten:
            results.append(Written(line.id, False, (writes.FORGOTTEN,), line.version))
            continue
        if before is None:
            if key in taken:
                raise _conflict(line)
        elif (before.agent_id, before.forgotten) != (place[0], line.forgotten):
            raise _conflict(line)
        if here is not None:
            if (here.path, here.content) != (place[4], line.content):
                raise _conflict(line)
            results.append(Written(line.id, False, (), line.version))
            continue
        there[key, line.version] = _There(place[0], place[4], line.content, line.forgotten)
        taken.add(key)
        numbers.at_least(line.kind, key)
        item = prepare(line)
        vid = numbers.passage(len(item.slots))
        row = writes.row_of(item, place, vid=vid, key=key, version=line.version)
        created = utc(line.timestamp) or utc(now)
        deleted = utc(line.deleted_at)
        row["created_at"] = created
        row["updated_at"] = utc(line.updated_at) or created
        row["valid_from"] = utc(line.valid_from) or created
        row["valid_to"] = utc(line.valid_to)
        row["supersedes"] = _ref(line.supersedes)
        row["superseded_by"] = _ref(line.superseded_by)
        row["superseded_at"] = utc(line.superseded_at)
        row["deleted_at"] = deleted or (utc(now) if line.forgotten in ("soft_delete", "hard_delete") else None)
        row["forgotten"] = line.forgotten
        if line.forgotten in _ERASED:
            row["content_hash"], row["print_low"], row["print_high"], row["terms"] = None, 0, 0, 0
        else:
            slots.append((vid, item))
        rows.append(row)
        results.append(Written(line.id, True, (), line.version))
    numbers.keep()
    writes.insert(session, rows)
    postings.append(session, slots)
    if any(row["version"] > 1 for row in rows):
        session.run(query("close_versions"), {"keys": sorted({row["key"] for row in rows})})
    return results


class _There(NamedTuple):
    """What is stored of a version."""

    agent_id: str
    path: str
    content: str
    forgotten: str | None


def _conflict(line: LineIn) -> Conflict:
    return Conflict(f"id: {line.id} stands for something else here: import into an empty store", field="id")


def _key(line: LineIn) -> int:
    kind, n = parse_id(line.id) or ("memory", 0)
    if kind != line.kind:
        raise InvalidField(f"kind: {line.id} is not of kind {line.kind}", field="kind")
    return key_of(kind, n)


def _ref(one: str | None) -> int | None:
    parsed = parse_id(one) if one else None
    return key_of(*parsed) if parsed else None
