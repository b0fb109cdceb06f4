"""Snapshots of work under way: made, found, and restored by the next session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Unpack

from context_packs.store.errors import InvalidField, NotFound
from context_packs.store.memory.prepare import MAX_FACTS_BYTES, MAX_SNAPSHOT_BYTES, SNAPSHOT, facts_size
from context_packs.store.records import Record, Written

from ..fields import Where
from .tasks import (
    BUCKET,
    LATEST,
    OPEN,
    PARTS,
    Place,
    at_most,
    events,
    expiry,
    fields_in,
    in_place,
    line_of,
    record_event,
    reminders,
    save_state,
    session_facts,
    state_of,
    told,
)

if TYPE_CHECKING:
    from ..service import ContextPacks

_SNAPSHOT_BYTES = MAX_SNAPSHOT_BYTES - MAX_FACTS_BYTES  # the rest is for metadata of the caller


@dataclass(frozen=True, slots=True)
class Restored:
    """A snapshot that was restored: its record, what was written anew, and when."""

    snapshot: Record
    state: Written | None
    event: Written | None
    at: datetime


def take_snapshot(
    packs: ContextPacks,
    state_key: str = "active_task",
    *,
    label: str = "",
    session_id: str = "",
    limits: Mapping[str, int] | None = None,
    ttl_seconds: int | None = None,
    idempotency_key: str | None = None,
    place: Place | None = None,
) -> Written:
    """Keep state, latest events, open reminders and latest decisions of a bucket and scope as one record.

    It replaces the snapshot of the same key in recalls and restores; each stays readable by its id. Raises
    InvalidField, Conflict.

    Args:
        packs: whose work it is
        state_key: under which key its state stands
        label: a name for people
        session_id: the session that takes it
        limits: the most `events`, `reminders` and `decisions`, each 0 to 100; 20 unless given
        ttl_seconds: seconds until it expires; 0 and None: never
        idempotency_key: a request that comes again under the same key writes nothing
        place: where it stands, and whose work is kept
    """
    place = dict(place or {})
    where = Where(bucket=place.get("bucket") or BUCKET, scope=place.get("scope"), team_id=place.get("team_id"))
    most = {"events": 20, "reminders": 20, "decisions": 20, **(limits or {})}
    state = state_of(packs, state_key, **where)
    parts = {
        "events": events(packs, most["events"], **where),
        "reminders": reminders(packs, OPEN, most["reminders"], **where),
        "decisions": [row.record for row in packs.newest(most["decisions"], memory_type="decision", **where)],
    }
    held: dict[str, Any] = {"active_state": None if state is None else brief(state)}
    held |= {name: [brief(one) for one in found] for name, found in parts.items()}
    lines = [f"Restart snapshot of {line_of('state_key', state_key)}{f': {label}' if label else ''}"]
    lines += [state.content] if state is not None else []
    for name, heading in (("reminders", "Open"), ("decisions", "Decided"), ("events", "Happened")):
        lines += [f"{heading}: {' '.join(one.content.split())[:200]}" for one in parts[name][:5]]
    facts: dict[str, Any] = {"state_key": state_key, "snapshot": held}
    facts |= {"label": at_most("label", label)} if label else {}
    facts |= session_facts(session_id)
    size = facts_size(facts)
    if size > _SNAPSHOT_BYTES:
        message = f"limits: the snapshot is {size} bytes as JSON, above {_SNAPSHOT_BYTES}: ask for fewer entries"
        raise InvalidField(message, field="limits")
    return packs.remember(
        "\n".join(lines),
        **fields_in(place, "restart", facts),
        type=SNAPSHOT,
        semantic_key=f"{SNAPSHOT}:{state_key}",
        expires_at=expiry(packs, ttl_seconds),
        idempotency_key=idempotency_key,
        dedupe=False,
    )


def find_snapshot(
    packs: ContextPacks,
    ref: str | None = None,
    *,
    state_key: str | None = None,
    session_id: str | None = None,
    **filters: Unpack[Where],
) -> Record | None:
    """The snapshot of that id, or the latest that matches; None where nothing does.

    Raises InvalidField, NotFound and Gone for an id.

    Args:
        packs: where it is looked for
        ref: the id of a snapshot
        state_key: only those of this key
        session_id: only those that this session took
        filters: the part of the memory that is looked at
    """
    if ref is not None:
        record = packs.get(ref)
        if record.type != SNAPSHOT or not in_place(record, filters.get("bucket"), filters.get("scope")):
            raise NotFound(f"snapshot_id: there is no snapshot {ref}", field="snapshot_id")
        return record
    wanted = {"state_key": state_key, "session_id": session_id}
    rows = packs.newest(LATEST, memory_type=SNAPSHOT, history=True, **filters)
    for row in rows:
        if all(value is None or row.record.metadata.get(name) == value for name, value in wanted.items()):
            return row.record
    return None


def restore_snapshot(
    packs: ContextPacks,
    snapshot: Record,
    *,
    state: bool = True,
    event: bool = True,
    session_id: str = "",
    ttl_seconds: int | None = None,
    idempotency_key: str | None = None,
) -> Restored:
    """Go on from a snapshot: its state stands again, and that it was restored is an event.

    Without `state` and `event` nothing is written, and nothing twice under one key. Raises InvalidField, Conflict.

    Args:
        packs: where it is written
        snapshot: what is gone on from
        state: whether its state is written anew
        event: whether an event is written
        session_id: the session that restores it
        ttl_seconds: seconds until the state expires; 0 and None: never
        idempotency_key: a request that comes again under the same key writes nothing
    """
    replays = {part: f"{idempotency_key}/{part}" if idempotency_key else None for part in ("state", "event")}
    was = held_of(snapshot).get("active_state")
    place = {"bucket": snapshot.bucket, "scope": snapshot.scope, "team_id": snapshot.team_id}
    saved = noted = None
    text, parts = _state_in(was)
    if state and (text.strip() or parts):
        key = str(snapshot.metadata.get("state_key", "active_task"))
        saved = save_state(
            packs, key, text, parts=parts, ttl_seconds=ttl_seconds, idempotency_key=replays["state"], place=place
        )
    if event:
        noted = record_event(
            packs,
            f"Restored from {snapshot.id}",
            "restart_restore",
            session_id=session_id,
            idempotency_key=replays["event"],
            place=place,
        )
    return Restored(snapshot, saved, noted, packs.now())


def held_of(snapshot: Record) -> dict[str, Any]:
    """What a snapshot keeps; empty for a record of that type that was not made as one."""
    held = snapshot.metadata.get("snapshot")
    return dict(held) if isinstance(held, Mapping) else {}


def _state_in(was: object) -> tuple[str, dict[str, str]]:
    """Text and parts of a state that a snapshot keeps, as `save_state` takes them; nothing of what is no text."""
    if not isinstance(was, Mapping):
        return "", {}
    given = was.get("metadata")
    facts = given if isinstance(given, Mapping) else {}
    parts = {name: facts[name] for name in PARTS if isinstance(facts.get(name), str) and facts[name].strip()}
    text = facts.get("content", "") if parts else was.get("content")
    return (text if isinstance(text, str) else ""), parts


def brief(record: Record) -> dict[str, Any]:
    """What a snapshot keeps of a record, JSON-ready."""
    return {
        "id": record.id,
        "memory_id": record.id,
        "content": record.content,
        "memory_type": record.type,
        "path": record.path,
        "bucket": record.bucket,
        "scope": record.scope,
        "status": record.status,
        "created_at": told(record.created_at),
        "updated_at": told(record.updated_at),
        "expires_at": None if record.expires_at is None else told(record.expires_at),
        "metadata": dict(record.metadata),
    }
