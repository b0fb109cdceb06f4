"""Work under way over REST, as XMemo clients call it: state, timeline, reminders."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from context_packs.store.access.tokens import READ
from context_packs.store.records import Record

from .... import work
from ....rows import MAX_LIMIT
from ...forms.documents import moment
from ..answers import REPLAYED, answer
from ..gate import Caller, Reads, Writes
from ..models.fields import Exact, Key, Moment, Placed, Share, Ttl, assert_team, place_of, profile_of
from ..models.memory import Status
from ..requests import Body, DoorRoute, IdempotencyKey, one_key
from ..xmemo import Document, expiry, memory_document, shown, written_answer

router = APIRouter(route_class=DoorRoute)


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
        place=place_of(caller, body),
    )
    expires = expiry(caller.packs.get(written.id))
    return written_answer(written, caller, "state_id", state_key=body.state_key, expires_at=expires)


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
        place=place_of(caller, body),
    )
    kept = caller.packs.get(written.id)
    facts = {"event_type": body.event_type, "content": kept.content, "occurred_at": moment(kept.created_at)}
    return written_answer(written, caller, "event_id", **facts)


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
        place=place_of(caller, body),
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
