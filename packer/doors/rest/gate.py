"""Who is calling: the credentials of a request, and the memory as that caller may see it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Annotated, TypeVar, cast

from anyio.to_thread import run_sync
from fastapi import Depends, Request
from fastapi.routing import APIRoute

from context_packs.store.access import tokens as access
from context_packs.store.values import Viewer

from ...errors import Forbidden, InvalidField, Unauthorized
from ...service import ContextPacks

T = TypeVar("T")

READ, WRITE, ADMIN, TEMPORARY = access.SCOPES
SCOPES = frozenset(access.SCOPES)
CALLER, NAMES_LOOPBACK = "context_packs.caller", "context_packs.names_loopback"  # keys of the scope of a request
CALLED = "context_packs.called"  # another one: what was called through a route, and with what status
AGENT_HEADER, INSTANCE_HEADER = "X-Memory-OS-Agent-ID", "X-Memory-OS-Agent-Instance-ID"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is calling, and the memory as that caller may see it.

    `token` is the id of the credential, empty in open mode. `agent` and `instance` are what the client says of itself
    in its headers, empty where it says nothing: provenance, never a right. `touched` collects the ids that a route
    read or wrote, for the audit trail. `repaired`: lone surrogates of the request came in as U+FFFD.
    """

    packs: ContextPacks
    scopes: frozenset[str]
    profile: str
    token: str = ""
    open: bool = False
    agent: str = ""
    instance: str = ""
    repaired: bool = False
    touched: list[str] = field(default_factory=list)

    def need(self, scope: str) -> None:
        """Raises Forbidden naming the scope where the caller lacks it."""
        if scope not in self.scopes:
            raise Forbidden(f"scope: this credential lacks {scope}", field="scope")

    def touch(self, *ids: str) -> None:
        """Tell the audit trail which ids this request read or wrote."""
        self.touched.extend(ids)


class Gate:
    """Turns the credentials of a request into a Caller.

    Without a credential a caller is let in only where `local` is true, as long as no token was ever made, and
    then sees the memory of `packs`, or that of the agent its header names, with every scope and `profile`.
    """

    def __init__(self, packs: ContextPacks, profile: str, *, local: bool = True) -> None:
        self.packs = packs
        self.profile = profile
        self.local = local

    async def admit(self, request: Request, scope: str | None = None) -> Caller:
        """The caller, who has the scope; also kept with the request. Raises Unauthorized, Forbidden, and InvalidField
        for a malformed agent header.

        A request that names no loopback host came through a proxy, and is never let in open.
        """
        secret = credential(request.headers)
        caller = await self._stranger(request) if secret is None else await self._holder(secret)
        agent, instance = _provenance(request, AGENT_HEADER), _provenance(request, INSTANCE_HEADER)
        caller = replace(caller, agent=agent, instance=instance, touched=[])
        request.scope[CALLER] = caller
        if scope is not None:
            caller.need(scope)
        return caller

    async def _holder(self, secret: str) -> Caller:
        grant = await self._ask(partial(self.packs.tokens.authenticate, secret))
        if grant is None:
            raise Unauthorized("credential: is unknown, expired or revoked")
        packs = self.packs.seen_by(grant.viewer)
        return Caller(packs, grant.scopes, grant.profile or self.profile, grant.token_id)

    async def _stranger(self, request: Request) -> Caller:
        if not (self.local and request.scope.get(NAMES_LOOPBACK)) or await self._ask(self.packs.tokens.has_any):
            raise Unauthorized("credential: give a token as X-API-Key or Authorization: Bearer")
        agent = _provenance(request, AGENT_HEADER)
        packs = self.packs
        if agent and agent != packs.viewer.agent_id:
            packs = packs.seen_by(Viewer(agent))
        return Caller(packs, SCOPES, self.profile, open=True)

    async def _ask(self, question: Callable[[], T]) -> T:
        """The store's answer, in a thread where it has to be read."""
        return question() if self.packs.tokens.fresh else await run_sync(question)


def credential(headers: Mapping[str, str]) -> str | None:
    """The secret of `X-API-Key` or `Authorization: Bearer` (RFC 6750); None where there is neither."""
    key = headers.get("x-api-key")
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and bearer.strip():
        if key is not None and key.strip() != bearer.strip():
            raise Unauthorized("credential: X-API-Key and Authorization differ; give one")
        return bearer.strip()
    if kind and key is None:
        raise Unauthorized("credential: Authorization takes a Bearer token")
    return key.strip() if key is not None and key.strip() else None


def _provenance(request: Request, name: str) -> str:
    """One line that the client says of itself; raises InvalidField for anything that is no plain name."""
    value = header_text(request.headers.get(name, ""))
    if value and (not value.isprintable() or "|" in value or len(value) > 200):
        raise InvalidField(
            f"{name}: is not one line of at most 200 characters without |; shorten it or leave it out", field=name
        )
    return value


def header_text(value: str) -> str:
    """The value of a header as UTF-8, stripped; Starlette decodes headers as Latin-1."""
    return value.encode("latin-1", "replace").decode("utf-8", "replace").strip()


Dependency = Callable[[Request], Awaitable[Caller]]
_needed: dict[Dependency, str] = {}


@cache
def needs(scope: str) -> Dependency:
    """A dependency that gives the caller where it has the scope: 401 without a credential, 403 without the scope.

    Who is calling is settled before the request is read (DoorRoute), so that nobody learns what a valid one is.
    """

    async def caller(request: Request) -> Caller:
        return cast(Caller, request.scope[CALLER])

    _needed[caller] = scope
    return caller


Reads = Annotated[Caller, Depends(needs(READ))]
Writes = Annotated[Caller, Depends(needs(WRITE))]
Administers = Annotated[Caller, Depends(needs(ADMIN))]


def needed_scope(route: APIRoute) -> str | None:
    """The scope that a route needs; None for a route that is open to everybody."""
    return next((_needed[one.call] for one in route.dependant.dependencies if one.call in _needed), None)
