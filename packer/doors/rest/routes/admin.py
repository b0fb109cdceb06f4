"""Routes about the server itself: whether it works, who is calling, what happened."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

import anyio
from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import Response

from context_packs.store.access.audit import MOST_LIMIT

from ....errors import ContextPacksError, StoreLocked
from ....service import ContextPacks
from ...forms.documents import moment
from ...mcp.hello import VERSION
from ..answers import answer
from ..gate import Administers, Reads
from ..problems import Problem, problem_of
from ..requests import DoorRoute

PROBED = 1.0  # seconds for which a probe of the write path counts
PATIENCE = 5.0  # seconds after which a store that does not answer is not healthy

router = APIRouter(route_class=DoorRoute)


# ---- health


class HealthOut(BaseModel):
    """The server can read and write its store."""

    status: Literal["ok"]
    version: str
    store: Literal["ok"]


class Health:
    """Tries the write path for real, at most once a second, whoever asks and however often; at once where another file,
    or none, stands at the path since."""

    def __init__(self, packs: ContextPacks) -> None:
        self._packs = packs
        self._lock = anyio.Lock()
        self._thread = anyio.CapacityLimiter(1)  # its own: it works also where every other thread waits
        self._until = float("-inf")
        self._error: ContextPacksError | None = None
        self._place: tuple[int, int] | None = None

    async def error(self) -> ContextPacksError | None:
        """Why a write would fail now, or None."""
        async with self._lock:
            place = self._packs.store.place()
            if time.monotonic() >= self._until or place != self._place:
                self._place = place
                self._error = await self._tried()
                self._until = time.monotonic() + PROBED
            return self._error

    def forget(self) -> None:
        """Try again with the next question."""
        self._until = float("-inf")

    async def _tried(self) -> ContextPacksError | None:
        error: ContextPacksError | None = StoreLocked(f"the store did not answer within {PATIENCE:g} seconds")
        with anyio.move_on_after(PATIENCE):
            error = await run_sync(self._probe, abandon_on_cancel=True, limiter=self._thread)
        return error

    def _probe(self) -> ContextPacksError | None:
        try:
            self._packs.store.probe()
        except ContextPacksError as error:
            return error
        return None


@router.get("/health", response_model=HealthOut, responses={503: {"model": Problem}})
async def health(request: Request) -> Response:
    """Whether the store can be written, tried for real at most once a second; 503 says why not."""
    state: Health = request.app.state.health
    error = await state.error()
    return answer({"status": "ok", "version": VERSION, "store": "ok"}) if error is None else problem_of(error)


# ---- metrics


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
def metrics(request: Request, caller: Administers) -> Response:
    """Counts and times of requests in the text form of Prometheus."""
    text = request.app.state.metrics.text(VERSION, caller.packs.store.count())
    return Response(text, media_type="text/plain; version=0.0.4")


# ---- who is calling


class TokenOut(BaseModel):
    """Whom a credential speaks for. `status` and `setup_state` are what XMemo clients look at."""

    status: Literal["valid"]
    setup_state: Literal["setup_completed"]
    valid: Literal[True]
    agent_id: str
    teams: list[str]
    scopes: list[str]
    profile: str
    token_id: str | None


@router.get("/v1/auth/token/validate", response_model=TokenOut)
async def validate(caller: Reads) -> Response:
    """Whether the credential is good, and for what. `token_id` is null where the server asks for none."""
    viewer = caller.packs.viewer
    document: dict[str, Any] = {
        "status": "valid",
        "setup_state": "setup_completed",
        "valid": True,
        "agent_id": viewer.agent_id,
        "teams": list(viewer.teams),
        "scopes": sorted(caller.scopes),
        "profile": caller.profile,
        "token_id": caller.token or None,
    }
    return answer(document)


# ---- the audit trail


class EntryOut(BaseModel):
    """One id of one request; `objects` is how many the request had, `outcome` its status."""

    at: str
    token_id: str
    agent_id: str
    action: str
    object_id: str
    objects: int
    outcome: int


class AuditOut(BaseModel):
    """A page of the trail, newest first; `next_cursor` null is the end."""

    entries: list[EntryOut]
    next_cursor: str | None


@router.get("/v1/audit", response_model=AuditOut, responses={409: {"model": Problem}})
def audit(
    caller: Administers,
    agent_id: str | None = None,
    token_id: str | None = None,
    action: str | None = None,
    object_id: str | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: Annotated[int, Query(ge=1, le=MOST_LIMIT)] = 100,
    cursor: str | None = None,
) -> Response:
    """Who read or wrote which id, and when: newest first, never a text. `since` and `until` are RFC 3339, half-open."""
    page = caller.packs.audit.read(
        limit=limit,
        cursor=cursor,
        agent_id=agent_id,
        token_id=token_id,
        action=action,
        object_id=object_id,
        since=since,
        until=until,
    )
    entries = [
        {
            "at": moment(entry.at),
            "token_id": entry.token_id,
            "agent_id": entry.agent_id,
            "action": entry.action,
            "object_id": entry.object_id,
            "objects": entry.objects,
            "outcome": entry.outcome,
        }
        for entry in page.entries
    ]
    return answer({"entries": entries, "next_cursor": page.next_cursor})
