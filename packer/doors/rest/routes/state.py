"""Work under way over REST, as XMemo clients call it: state, timeline, reminders, restart snapshots."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from context_packs.store.access.tokens import READ
from context_packs.store.records import Record, Written

from .... import work
from ....rows import MAX_LIMIT
from ...forms.documents import moment
from ..base import ABSENT, REPLAYED, Body, Caller, DoorRoute, IdempotencyKey, Reads, Writes, answer, one_key
from ..models.fields import Exact, Key, Metadata, Moment, Share, assert_team, placed, profile_of
from ..models.memory import Status
from ..xmemo import Document, memory_document, shown, written_document

router = APIRouter(route_class=DoorRoute)

Ttl = Annotated[int, Field(ge=0, le=work.MAX_TTL, description="seconds until it expires; 0 or null: for good")]
Part = Annotated[int, Field(ge=0, le=100)]


class Placed(Body):
    """Where a record goes; null is the same as nothing."""

    path: str | None = None
    bucket: str | None = None
    scope: str | None = None
    team_id: str | None = None
    source: str | dict[str, Any] | None = None
    provenance: Metadata = None
    metadata: Metadata = None
    idempotency_key: Key = None


def _place(caller: Caller, body: Placed) -> Document:
    return placed(caller, body.model_dump(exclude_none=True))


def _told(written: Written, caller: Caller, name: str, **more: Any) -> Response:
    """The answer to a write, its id under the name that clients look for too."""
    document = written_document(written, caller, **{name: written.id}, **more)
    return answer(document, 201 if written.created else 200)


def _expiry(record: Record) -> str | None:
    return None if record.expires_at is None else moment(record.expires_at)


# ---- state


class StateIn(Placed):
    """The state of work; one of content, current_task, next_action and blocked_reason is needed."""

    state_key: str = "active_task"
    content: str | None = None
    current_task: str | None = None
    next_action: str | None = None
    blocked_reason: str | None = None
    ttl_seconds: Ttl | None = None


class StateOut(BaseModel):
    """What stands under the key now, and until when."""

    id: str
    memory_id: str
    state_id: str
    state_key: str
    status: Status
    version: int
    expires_at: str | None
    notes: list[str] | None = None


@router.post("/v1/update_state", response_model=StateOut, responses={201: {"model": StateOut}, **REPLAYED})
def update_state(body: StateIn, caller: Writes, header_key: IdempotencyKey) -> Response:
    """Keep the state of work under its key, in place of what stood there in the same bucket and scope."""
    written = work.save_state(
        caller.packs,
        body.state_key,
        body.content or "",
        parts={name: getattr(body, name) for name in work.PARTS if getattr(body, name)},
        ttl_seconds=body.ttl_seconds,
        idempotency_key=one_key(header_key, body.idempotency_key),
        place=_place(caller, body),
    )
    expires = _expiry(caller.packs.get(written.id))
    return _told(written, caller, "state_id", state_key=body.state_key, expires_at=expires)


# ---- timeline


class EventIn(Placed):
    """Something that happened."""

    content: Annotated[str, Field(min_length=1)]
    event_type: str = "event"
    session_id: str | None = None
    occurred_at: Moment = None
    importance: Share | None = None
    confidence: Share | None = None


class EventWrittenOut(BaseModel):
    """The event as it was kept."""

    id: str
    memory_id: str
    event_id: str
    event_type: str
    content: str
    occurred_at: str
    status: Status
    version: int
    notes: list[str] | None = None


@router.post(
    "/v1/timeline/events",
    response_model=EventWrittenOut,
    responses={201: {"model": EventWrittenOut}, **REPLAYED},
)
def record_event(body: EventIn, caller: Writes, header_key: IdempotencyKey) -> Response:
    """Append an event to the timeline; the same text again is another event, unless it comes with its key."""
    written = work.record_event(
        caller.packs,
        body.content,
        body.event_type,
        occurred_at=body.occurred_at,
        session_id=body.session_id or "",
        idempotency_key=one_key(header_key, body.idempotency_key),
        place=_place(caller, body),
    )
    kept = caller.packs.get(written.id)
    facts = {"event_type": body.event_type, "content": kept.content, "occurred_at": moment(kept.created_at)}
    return _told(written, caller, "event_id", **facts)


class TimelineIn(BaseModel):
    """Which events; `event_type` and `session_id` are looked for among the latest 200."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    limit: Annotated[int, Field(ge=0, le=MAX_LIMIT)] = 20
    bucket: Exact = None
    scope: Exact = None
    team_id: Exact = None
    status: Exact = None
    session_id: str | None = None
    event_type: str | None = None
    since: Moment = None
    until: Moment = None


class EventOut(BaseModel):
    """One event, as the profile shows it."""

    id: str
    memory_id: str
    content: str
    event_id: str | None = None
    event_type: str | None = None
    occurred_at: str | None = None
    session_id: str | None = None
    path: str | None = None
    bucket: str | None = None
    scope: str | None = None
    importance: Any = None
    confidence: Any = None


class TimelineOut(BaseModel):
    """Events, latest first."""

    events: list[EventOut]


@router.get("/v1/timeline", response_model=TimelineOut)
def timeline(params: Annotated[TimelineIn, Query()], caller: Reads) -> Response:
    """What happened, latest first."""
    assert_team(caller, params.team_id)
    given = params.model_dump(exclude_none=True)
    limit = given.pop("limit")
    profile = profile_of(caller)
    found = work.events(caller.packs, limit, **given)
    caller.touch(*(one.id for one in found))
    events = []
    for one in found:
        document = memory_document(one, caller, profile)
        facts = {
            "event_id": one.id,
            "event_type": str(one.metadata.get("event_type", "event")),
            "occurred_at": moment(one.created_at),
            "session_id": one.metadata.get("session_id"),
        }
        wanted = {name: value for name, value in document.items() if name in EventOut.model_fields}
        events.append({**wanted, **shown(facts, profile)})
    return answer({"events": events})


# ---- reminders


class ReminderIn(Placed):
    """Something to come back to."""

    content: Annotated[str, Field(min_length=1)]
    due_at: Moment = None
    session_id: str | None = None


class ReminderOut(BaseModel):
    """A reminder, as the profile shows it; `item_status` is its status once more."""

    id: str
    memory_id: str
    todo_id: str
    content: str
    status: str
    item_status: str
    due_at: str | None
    completed_at: str | None = None
    note: str | None = None
    path: str | None = None
    bucket: str | None = None
    scope: str | None = None
    version: int | None = None
    created_at: str | None = None
    updated_at: str | None = None


class RemindersOut(BaseModel):
    """Reminders, the first due in front; `reminders` is the same list under the name that some clients read."""

    items: list[ReminderOut]
    reminders: list[ReminderOut]
    count: int


class RemindersIn(BaseModel):
    """Which reminders."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    item_status: Annotated[Literal["open", "completed", "all", "%"], Field(description="all and `%` mean any")] = "open"
    limit: Annotated[int, Field(ge=0, le=MAX_LIMIT)] = 20
    bucket: Exact = None
    scope: Exact = None
    team_id: Exact = None
    due_before: Moment = None


class CompleteIn(Body):
    """What to note with a completed reminder."""

    note: str | None = None
    bucket: str | None = None
    scope: str | None = None
    idempotency_key: Key = None


def _reminder(record: Record, caller: Caller) -> Document:
    profile = profile_of(caller)
    document = memory_document(record, caller, profile)
    due = work.due_of(record)
    facts: Document = {
        "todo_id": record.id,
        "status": record.status,
        "item_status": record.status,
        "due_at": None if due is None else moment(due),
    }
    facts |= shown({name: record.metadata.get(name) for name in ("completed_at", "note")}, profile)
    return {name: value for name, value in document.items() if name in ReminderOut.model_fields} | facts


@router.get("/v1/reminders", response_model=RemindersOut)
def list_reminders(params: Annotated[RemindersIn, Query()], caller: Reads) -> Response:
    """What is open, or completed, the first due in front."""
    assert_team(caller, params.team_id)
    status = None if params.item_status in ("all", "%") else params.item_status
    found = work.reminders(
        caller.packs,
        work.OPEN if status == work.OPEN else work.COMPLETED if status else None,
        params.limit,
        due_before=params.due_before,
        bucket=params.bucket,
        scope=params.scope,
        team_id=params.team_id,
    )
    caller.touch(*(one.id for one in found))
    items = [_reminder(one, caller) for one in found]
    return answer({"items": items, "reminders": items, "count": len(items)})


@router.post("/v1/reminders", response_model=ReminderOut, responses={201: {"model": ReminderOut}, **REPLAYED})
def add_reminder(body: ReminderIn, caller: Writes, header_key: IdempotencyKey) -> Response:
    """Keep something to come back to; what is open already in its place is not doubled and takes the new time."""
    written = work.add_reminder(
        caller.packs,
        body.content,
        due_at=body.due_at,
        session_id=body.session_id or "",
        idempotency_key=one_key(header_key, body.idempotency_key),
        place=_place(caller, body),
    )
    caller.touch(written.id)
    return answer(_reminder(caller.packs.get(written.id), caller), 201 if written.created else 200)


@router.post("/v1/reminders/{id}/complete", response_model=ReminderOut)
def complete_reminder(id: str, caller: Writes, header_key: IdempotencyKey, body: CompleteIn | None = None) -> Response:
    """Complete a reminder of one's own; one that is completed stays as it is. Needs the scope to read too."""
    caller.need(READ)
    body = body or CompleteIn()
    one_key(header_key, body.idempotency_key)  # completing twice is completing once, with a key and without
    done = work.complete_reminder(caller.packs, id, body.note or "", bucket=body.bucket, scope=body.scope)
    return answer(_reminder(done, caller))


# ---- restart


class SnapshotIn(Placed):
    """What to keep for the next session, and how much of each."""

    state_key: str = "active_task"
    label: str | None = None
    session_id: str | None = None
    timeline_limit: Part | None = None
    reminder_limit: Part | None = None
    decision_limit: Part | None = None
    ttl_seconds: Ttl | None = None


class SnapshotOut(BaseModel):
    """The snapshot that was kept."""

    id: str
    memory_id: str
    snapshot_id: str
    status: Status
    version: int
    state_key: str
    label: str | None
    created_at: str
    expires_at: str | None
    snapshot: dict[str, Any]
    notes: list[str] | None = None


@router.post("/v1/restart/snapshot", response_model=SnapshotOut, responses={201: {"model": SnapshotOut}, **REPLAYED})
def snapshot(body: SnapshotIn, caller: Writes, header_key: IdempotencyKey) -> Response:
    """Keep state, latest events, open reminders and latest decisions of a bucket and scope as one record."""
    caller.need(READ)
    limits = {"events": body.timeline_limit, "reminders": body.reminder_limit, "decisions": body.decision_limit}
    written = work.take_snapshot(
        caller.packs,
        body.state_key,
        label=body.label or "",
        session_id=body.session_id or "",
        limits={name: limit for name, limit in limits.items() if limit is not None},
        ttl_seconds=body.ttl_seconds,
        idempotency_key=one_key(header_key, body.idempotency_key),
        place=_place(caller, body),
    )
    kept = caller.packs.get(written.id)
    return _told(
        written,
        caller,
        "snapshot_id",
        state_key=body.state_key,
        label=kept.metadata.get("label"),
        created_at=moment(kept.created_at),
        expires_at=_expiry(kept),
        snapshot=work.held_of(kept),
    )


class RestoreIn(Body):
    """Which snapshot, by its id or the latest that matches, and what to do with it."""

    snapshot_id: str | None = None
    source_session_id: str | None = None
    target_session_id: str | None = None
    state_key: str | None = None
    restore_state: bool | None = None
    record_restore_event: bool | None = None
    ttl_seconds: Ttl | None = None
    source: str | None = None
    bucket: str | None = None
    scope: str | None = None
    team_id: str | None = None
    idempotency_key: Key = None


class StateUpdateOut(BaseModel):
    """The state that stands again."""

    id: str
    memory_id: str
    state_key: str
    status: Status
    version: int
    expires_at: str | None


class RestoreEventOut(BaseModel):
    """The event that tells of the restore."""

    id: str
    memory_id: str
    event_type: str


class RestoredOut(BaseModel):
    """What was restored; `status` not_found and `restored` false where no snapshot matches."""

    id: str | None
    memory_id: str | None
    snapshot_id: str | None
    status: Literal["restored", "not_found"]
    restored: bool
    restored_at: str | None = None
    state_key: str | None = None
    snapshot: dict[str, Any] | None = None
    state_update: StateUpdateOut | None = None
    restore_event: RestoreEventOut | None = None


_NOTHING: Document = {"id": None, "memory_id": None, "snapshot_id": None, "status": "not_found", "restored": False}


@router.post("/v1/restart/restore", response_model=RestoredOut, responses=ABSENT)
def restore(caller: Writes, header_key: IdempotencyKey, body: RestoreIn | None = None) -> Response:
    """Go on from a snapshot: its state stands again and the restore is an event, unless that is not wanted."""
    caller.need(READ)
    body = body or RestoreIn()
    key = one_key(header_key, body.idempotency_key)
    assert_team(caller, body.team_id)
    packs = caller.packs
    found = work.find_snapshot(
        packs,
        body.snapshot_id,
        state_key=body.state_key,
        session_id=body.source_session_id,
        bucket=body.bucket,
        scope=body.scope,
        team_id=body.team_id,
    )
    if found is None:
        return answer(_NOTHING)
    done = work.restore_snapshot(
        packs,
        found,
        state=body.restore_state is not False,
        event=body.record_restore_event is not False,
        session_id=body.target_session_id or "",
        ttl_seconds=body.ttl_seconds,
        idempotency_key=key,
    )
    caller.touch(found.id, *(one.id for one in (done.state, done.event) if one is not None))
    state_key = str(found.metadata.get("state_key", ""))
    document: Document = {
        "id": found.id,
        "memory_id": found.id,
        "snapshot_id": found.id,
        "status": "restored",
        "restored": True,
        "restored_at": moment(done.at),
        "state_key": state_key,
        "snapshot": work.held_of(found),
        "state_update": None,
        "restore_event": None,
    }
    if done.state is not None:
        told = written_document(done.state, caller, state_key=state_key, expires_at=_expiry(packs.get(done.state.id)))
        document["state_update"] = {name: told[name] for name in StateUpdateOut.model_fields}
    if done.event is not None:
        event = {"id": done.event.id, "memory_id": done.event.id, "event_type": "restart_restore"}
        document["restore_event"] = event
    return answer(document)
