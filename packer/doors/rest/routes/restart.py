"""Restart snapshots over REST, as XMemo clients call them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from context_packs.store.access.tokens import READ

from .... import work
from ...forms.documents import moment
from ..answers import ABSENT, REPLAYED, answer
from ..gate import Writes
from ..models.fields import Key, Placed, Ttl, assert_team, place_of
from ..models.memory import Status
from ..requests import Body, DoorRoute, IdempotencyKey, one_key
from ..xmemo import Document, expiry, written_answer, written_document

router = APIRouter(route_class=DoorRoute)

Part = Annotated[int, Field(ge=0, le=100)]


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
        place=place_of(caller, body),
    )
    kept = caller.packs.get(written.id)
    return written_answer(
        written,
        caller,
        "snapshot_id",
        state_key=body.state_key,
        label=kept.metadata.get("label"),
        created_at=moment(kept.created_at),
        expires_at=expiry(kept),
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
        told = written_document(done.state, caller, state_key=state_key, expires_at=expiry(packs.get(done.state.id)))
        document["state_update"] = {name: told[name] for name in StateUpdateOut.model_fields}
    if done.event is not None:
        event = {"id": done.event.id, "memory_id": done.event.id, "event_type": "restart_restore"}
        document["restore_event"] = event
    return answer(document)
