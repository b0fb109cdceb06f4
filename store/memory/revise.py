"""A new version of a stored record: the fields that change, everything else as it stands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ..errors import Conflict, Gone, InvalidField, NotFound
from ..file.duck import Session, query
from ..records import KIND, Written, key_of, parse_id
from ..times import utc
from ..values import Viewer
from . import postings
from .numbers import Numbers
from .prepare import RecordIn, Unbounded, broken, check, prepare
from .repetitions import caller_hash
from .succession import ended
from .writes import FORGOTTEN, insert, place_of, row_of

CHANGEABLE = (
    "content", "title", "path", "type", "bucket", "scope", "team_id", "status", "source", "metadata", "pinned",
    "expires_at", "importance", "confidence", "provenance",
)  # fmt: skip
"""Fields of the JSON Lines form that a new version may change."""

_COLUMNS = (
    "vid", "version", "agent_id", "team_id", "scope", "bucket", "path", "type", "status", "title", "content", "source",
    "metadata", "external_id", "semantic_key", "pinned", "created_at", "expires_at", "supersedes", "superseded_by",
    "superseded_at", "superseded_from", "superseded_until", "deleted_at", "forgotten",
)  # fmt: skip
_TAKEN_OVER = ("title", "content", "path", "type", "bucket", "scope", "team_id", "status", "pinned", "semantic_key")


def revise(
    session: Session,
    one: str,
    changes: Mapping[str, Any],
    viewer: Viewer,
    now: datetime,
    *,
    merge: bool = True,
    replay: str | None = None,
) -> Written:
    """Write the next version of a record that the viewer owns; its id and time of origin stay.

    `changes` are fields of `CHANGEABLE`; with `merge` the given entries of `metadata` and `source` are put over the
    stored ones (None takes one out), else they take their place. Where nothing changes nothing is written. `replay` is
    an idempotency key: a request that comes once more answers with the version that it made.

    Raises InvalidField, NotFound (unknown, foreign or expired), Gone, Conflict (redacted; the key with other content).
    """
    for name in changes:
        if name not in CHANGEABLE:
            raise InvalidField(f"{name[:40]}: cannot be changed; these can: {', '.join(CHANGEABLE)}", field=name)
    parsed = parse_id(one)
    if parsed is None:
        raise InvalidField(f"id: {ascii(one)[:40]} is not an id like mem:1 or ep:1", field="id")
    moment = utc(now)
    assert moment is not None
    row = session.row(query("current"), {"key": key_of(*parsed), "agent": viewer.agent_id})
    stands = dict(zip(_COLUMNS, row, strict=True)) if row else {}
    _assert_changeable(stands, one, viewer, moment)
    record = _changed(stands, parsed[0], changes, merge, replay)
    item = prepare(record, repaired=broken(changes))
    place = place_of(record, viewer)
    if replay is not None:
        for key, _, version, agent, _, text, content_hash, _ in session.rows(
            query("replays"), {"replays": [caller_hash(viewer.agent_id, replay)]}
        ):
            if agent == viewer.agent_id and text in (None, replay):  # None: it was erased, its hash is left
                if key != key_of(*parsed) or content_hash not in (None, item.content_hash):
                    raise Conflict(
                        "idempotency_key: was used with other content: use a new key or send the same content",
                        field="idempotency_key",
                    )
                return Written(one, False, (), version)
    if _same(record, stands):
        return Written(one, False, (), stands["version"])
    numbers = Numbers(session)
    vid = numbers.passage(len(item.slots))
    numbers.keep()
    version = stands["version"] + 1
    made = row_of(item, place, vid=vid, key=key_of(*parsed), version=version)
    made |= {
        "created_at": stands["created_at"],
        "updated_at": moment,
        "valid_from": moment,
        "supersedes": stands["supersedes"],
        "superseded_by": stands["superseded_by"],
        "superseded_at": stands["superseded_at"],
        "superseded_from": stands["superseded_from"],
        "superseded_until": stands["superseded_until"],
    }
    insert(session, [made])
    postings.append(session, [(vid, item)])
    session.run("UPDATE records SET valid_to = $now WHERE vid = $vid", {"now": moment, "vid": stands["vid"]})
    if made["expires_at"] != stands["expires_at"]:
        ended(session, [made["key"]])
    return Written(one, False, (), version, True)


def _assert_changeable(stands: Mapping[str, Any], one: str, viewer: Viewer, moment: datetime) -> None:
    if not stands or stands["agent_id"] != viewer.agent_id or not viewer.sees(stands["bucket"]):
        raise NotFound(f"id: there is no record {one}", field="id")
    if stands["deleted_at"] is not None:
        raise Gone(f"id: record {one} was deleted", field="id")
    if stands["expires_at"] is not None and stands["expires_at"] <= moment:
        raise NotFound(f"id: there is no record {one}: it has expired", field="id")
    if stands["forgotten"] is not None:
        raise Conflict(f"id: {one} {FORGOTTEN}", field="id")


def _changed(
    stands: Mapping[str, Any], kind: str, changes: Mapping[str, Any], merge: bool, replay: str | None
) -> RecordIn:
    """The record as it shall stand, checked."""
    given = check({"content": "-", **changes})  # so that every fault is one of what the caller gave
    wanted: dict[str, Any] = {name: stands[name] for name in _TAKEN_OVER}
    wanted["expires_at"] = stands["expires_at"]
    for name in ("source", "metadata"):
        wanted[name] = json.loads(stands[name])
        if name in given.model_fields_set:
            new = getattr(given, name)
            wanted[name] = {**wanted[name], **new} if merge else new
            wanted[name] = {entry: value for entry, value in wanted[name].items() if value is not None}
    for name in given.model_fields_set & set(changes) - {"source", "metadata"}:
        wanted[name] = getattr(given, name)
    if wanted["type"] in KIND.values():
        wanted["type"] = ""  # what stands there by default
    # An older store may hold more than is taken today: what is not named stays.
    model = RecordIn if {"source", "metadata"} & given.model_fields_set else Unbounded
    kept = {"kind": kind, "external_id": stands["external_id"], "idempotency_key": replay, "dedupe": False}
    return check({**wanted, **kept}, model)


def _same(record: RecordIn, stands: Mapping[str, Any]) -> bool:
    """Whether a record says what stands already."""
    for name in _TAKEN_OVER:
        if name != "type" and getattr(record, name) != stands[name]:
            return False
    expires = stands["expires_at"].replace(tzinfo=UTC) if stands["expires_at"] else None
    return (
        (record.type or record.kind) == stands["type"]
        and record.expires_at == expires
        and record.source == json.loads(stands["source"])
        and record.metadata == json.loads(stands["metadata"])
    )
