"""Routes by which XMemo's published clients find the server and look at its trail, under the names that they call."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import Response

from context_packs.store.access.audit import MOST_LIMIT, Entry

from ...forms.documents import moment
from ...mcp.hello import NAME, VERSION
from ..answers import answer
from ..gate import Administers
from ..problems import Problem
from ..requests import DoorRoute
from .admin import HealthOut, health

router = APIRouter(route_class=DoorRoute)


@router.get("/ready", response_model=HealthOut, responses={503: {"model": Problem}})
async def ready(request: Request) -> Response:
    """The same as `/health`."""
    return await health(request)


# ---- where things are


class UrlsOut(BaseModel):
    """Addresses, as the caller reached the server."""

    api_base: str
    mcp: str
    openapi: str


class SecurityOut(BaseModel):
    """What this document never does."""

    no_remote_code_execution: Literal[True]
    token_in_discovery: Literal[False]


class AuthOut(BaseModel):
    """How a caller says who it is."""

    headers: list[str]
    token_in_discovery: Literal[False]


class DiscoveryOut(BaseModel):
    """Where a client finds what; the same for everybody, and nothing of anybody's memory."""

    schema_version: str
    service: Literal["memory-os"]
    name: str
    version: str
    protocol: str
    urls: UrlsOut
    mcp_url: str
    auth: AuthOut
    security: SecurityOut
    clients: dict[str, Any]


@router.get("/.well-known/agent-discovery.json", response_model=DiscoveryOut)
@router.get("/.well-known/memory-os.json", response_model=DiscoveryOut)
async def discovery(request: Request) -> Response:
    """Where a client finds what."""
    base = str(request.base_url).rstrip("/")
    headers = ["X-API-Key", "Authorization: Bearer"]
    return answer(
        {
            "schema_version": "1.0",
            "service": "memory-os",
            "name": NAME,
            "version": VERSION,
            "protocol": "memory-os",
            "urls": {"api_base": base, "mcp": f"{base}/mcp", "openapi": f"{base}/openapi.json"},
            "mcp_url": f"{base}/mcp",
            "auth": {"headers": headers, "token_in_discovery": False},
            "security": {"no_remote_code_execution": True, "token_in_discovery": False},
            "clients": {},
        }
    )


# ---- the audit trail


class EventOut(BaseModel):
    """One id of one request, under the names that clients of XMemo read."""

    id: str
    action: str
    target_id: str
    created_at: str
    agent_id: str
    outcome: int


class EventsOut(BaseModel):
    """A page of the trail, newest first."""

    events: list[EventOut]


class ConsolidationOut(BaseModel):
    """What was merged or summarised without being asked: nothing, ever. `actions` counts what was done in the time."""

    summary: dict[str, int]
    actions: dict[str, int]
    events: list[EventOut]


Limit = Annotated[int, Query(ge=1, le=MOST_LIMIT)]


@router.get("/v1/audit/events", response_model=EventsOut)
def audit_events(
    caller: Administers,
    action: str | None = None,
    target_id: str | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: Limit = 100,
) -> Response:
    """Who read or wrote which id, newest first; `/v1/audit` gives the same with a cursor."""
    page = caller.packs.audit.read(limit=limit, action=action, object_id=target_id, since=since, until=until)
    return answer({"events": [_event(entry) for entry in page.entries]})


@router.get("/v1/audit/consolidation", response_model=ConsolidationOut)
def audit_consolidation(
    caller: Administers,
    action_type: Annotated[str | None, Query(description="accepted; has no effect: nothing is merged")] = None,
    since: str | None = None,
    until: str | None = None,
    limit: Limit = 100,
) -> Response:
    """What the server merged by itself: nothing. Memories change only where somebody asks for it."""
    page = caller.packs.audit.read(limit=limit, since=since, until=until)
    actions = Counter(entry.action for entry in page.entries)
    return answer({"summary": {"consolidated": 0}, "actions": dict(sorted(actions.items())), "events": []})


def _event(entry: Entry) -> dict[str, Any]:
    return {
        "id": f"aud_{entry.number}",
        "action": entry.action,
        "target_id": entry.object_id,
        "created_at": moment(entry.at),
        "agent_id": entry.agent_id,
        "outcome": entry.outcome,
    }
