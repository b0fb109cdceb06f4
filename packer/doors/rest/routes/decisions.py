"""Decisions over REST, as XMemo clients call them."""

from __future__ import annotations

from typing import Annotated, Literal

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
from ..models.fields import Exact, Key, Moment, Placed, assert_team, place_of, profile_of
from ..requests import Body, DoorRoute, IdempotencyKey, one_key
from ..xmemo import Document, memory_document, shown

router = APIRouter(route_class=DoorRoute)


class DecisionIn(Placed):
    """A choice that is to be made."""

    context: Annotated[str, Field(min_length=1, description="what is to be decided, and why it matters")]
    options: list[str] = Field(default_factory=list, max_length=work.MAX_OPTIONS, description="what can be chosen")
    due_at: Moment = None


class ResolveIn(Body):
    """What was decided."""

    resolution: Annotated[str, Field(min_length=1, description="the choice, and why")]
    bucket: str | None = None
    scope: str | None = None
    idempotency_key: Key = None


class DecisionOut(BaseModel):
    """A decision, as the profile shows it; `item_status` is its status once more."""

    id: str
    memory_id: str
    decision_id: str
    context: str
    options: list[str]
    content: str
    status: str
    item_status: str
    due_at: str | None
    resolution: str | None = None
    resolved_at: str | None = None
    path: str | None = None
    bucket: str | None = None
    scope: str | None = None
    version: int | None = None
    created_at: str | None = None
    updated_at: str | None = None


class DecisionsOut(BaseModel):
    """Decisions, the first due in front; `items` is the same list under the name that some clients read."""

    decisions: list[DecisionOut]
    items: list[DecisionOut]
    count: int


class DecisionsIn(BaseModel):
    """Which decisions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    item_status: Annotated[Literal["open", "resolved", "all", "%"], Field(description="all and `%` mean any")] = "open"
    limit: Annotated[int, Field(ge=0, le=MAX_LIMIT)] = 20
    bucket: Exact = None
    scope: Exact = None
    team_id: Exact = None
    due_before: Moment = None


def _decision(record: Record, caller: Caller) -> Document:
    profile = profile_of(caller)
    document = memory_document(record, caller, profile)
    context, options = work.parts_of(record)
    due = work.due_of(record)
    facts: Document = {
        "decision_id": record.id,
        "context": context,
        "options": options,
        "status": record.status,
        "item_status": record.status,
        "due_at": None if due is None else moment(due),
        "resolution": record.metadata.get("resolution"),
    }
    facts |= shown({"resolved_at": record.metadata.get("resolved_at")}, profile)
    return {name: value for name, value in document.items() if name in DecisionOut.model_fields} | facts


@router.get("/v1/decisions", response_model=DecisionsOut)
def list_decisions(params: Annotated[DecisionsIn, Query()], caller: Reads) -> Response:
    """What is to be decided, or was, the first due in front."""
    assert_team(caller, params.team_id)
    given = params.model_dump(exclude={"item_status", "limit"})
    statuses = {"open": work.OPEN_DECISION, "resolved": work.RESOLVED}
    found = work.decisions(caller.packs, statuses.get(params.item_status), params.limit, **given)
    caller.touch(*(one.id for one in found))
    items = [_decision(one, caller) for one in found]
    return answer({"decisions": items, "items": items, "count": len(items)})


@router.post("/v1/decisions", response_model=DecisionOut, responses={201: {"model": DecisionOut}, **REPLAYED})
def open_decision(body: DecisionIn, caller: Writes, header_key: IdempotencyKey) -> Response:
    """Keep a choice that is to be made."""
    written = work.open_decision(
        caller.packs,
        body.context,
        body.options,
        due_at=body.due_at,
        idempotency_key=one_key(header_key, body.idempotency_key),
        place=place_of(caller, body),
    )
    caller.touch(written.id)
    return answer(_decision(caller.packs.get(written.id), caller), 201 if written.created else 200)


@router.post("/v1/decisions/{id}/resolve", response_model=DecisionOut)
def resolve_decision(id: str, body: ResolveIn, caller: Writes, header_key: IdempotencyKey) -> Response:
    """Say what was decided, once; the same again changes nothing. Needs the scope to read too."""
    caller.need(READ)
    one_key(header_key, body.idempotency_key)
    done = work.resolve_decision(caller.packs, id, body.resolution, bucket=body.bucket, scope=body.scope)
    return answer(_decision(done, caller))
