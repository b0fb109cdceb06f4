"""Routes about the server itself: whether it works, and who is calling."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import Response

from .rest_base import DoorRoute, Reads, answer

router = APIRouter(route_class=DoorRoute)


class TokenValidated(BaseModel):
    """Who a credential speaks for."""

    valid: bool
    agent_id: str
    teams: list[str]
    scopes: list[str]
    profile: str
    token_id: str | None


@router.get("/v1/auth/token/validate", response_model=TokenValidated)
def validate(caller: Reads) -> Response:
    """Whether the credential is good, and for what."""
    viewer = caller.packs.viewer
    document: dict[str, Any] = {
        "valid": True,
        "agent_id": viewer.agent_id,
        "teams": list(viewer.teams),
        "scopes": sorted(caller.scopes),
        "profile": caller.profile,
        "token_id": caller.token or None,
    }
    return answer(document)
