"""What the routers of the REST door share: who is calling, errors as problem documents, strict requests, exact answers.

A router is `APIRouter(route_class=DoorRoute)`. Its routes are plain functions (they run in worker threads), take the
caller as a parameter and give `answer(document)` or `exact(request, document)`:

    @router.get("/v1/memories/{id}", response_model=MemoryOut)
    def read(request: Request, id: str, caller: Reads) -> Response: ...

A route that takes no caller is open to everybody. Errors are raised as in the library; nothing here decides on content.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin

from anyio.to_thread import run_sync
from fastapi import Depends, Header, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, model_validator
from starlette.exceptions import HTTPException
from starlette.responses import Response

from context_packs.store.access import tokens as access
from context_packs.store.records import NAMED, is_id, parse_name
from context_packs.store.text import strictjson
from context_packs.store.values import Viewer

from ...errors import Forbidden, InvalidField, NotFound, Unauthorized
from ...service import ContextPacks
from ..forms.bounded import compact
from .problems import Problem as Problem
from .problems import problem as problem
from .problems import problem_of as problem_of
from .problems import shown_name

T = TypeVar("T")

READ, WRITE, ADMIN, TEMPORARY = access.SCOPES
SCOPES = frozenset(access.SCOPES)
CALLER, NAMES_LOOPBACK = "context_packs.caller", "context_packs.names_loopback"  # keys of the scope of a request
CALLED = "context_packs.called"  # another one: what was called through a route, and with what status
AGENT_HEADER, INSTANCE_HEADER = "X-Memory-OS-Agent-ID", "X-Memory-OS-Agent-Instance-ID"

MAX_DEPTH = 64  # levels of a JSON body; deeper ones make a parser of somebody fail sooner or later
MAX_KEY = 255  # characters of an idempotency key
_IN_THREAD = 256 * 1024  # bytes of a body above which it is parsed beside the event loop
_LONE = re.compile("[\ud800-\udfff]")


# ---- who is calling


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
            raise Unauthorized("credential: it is unknown, expired or revoked")
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


# ---- strict requests


class Body(BaseModel):
    """Base of request bodies: unknown fields are refused by name, a number is a number and a text a text."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, value: Any) -> Any:
        names = [part.alias or name for name, part in cls.model_fields.items()]
        for name in value if isinstance(value, dict) else ():
            if name not in names:
                known = f"known are {', '.join(names)}" if names else "leave it out"
                raise InvalidField(f"{shown_name(name)}: unknown field; {known}", field=name[:64])
        return value


class DoorRoute(APIRoute):
    """A route that asks who is calling first, takes no query parameter it does not know, and no body but JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        scope = needed_scope(self)
        names = dict(_query_names(self.dependant))
        takes_json = self.body_field is not None
        what = self.path.partition("/{id}")[0].rpartition("/")[2].removesuffix("s") if "/{id}" in self.path else ""

        async def handle(request: Request) -> Response:
            if scope is not None:
                gate: Gate = request.app.state.gate
                await gate.admit(request, scope)
            if what:
                _check_id(what, request.path_params["id"])
            if request.scope["query_string"]:
                _check_query(request, names)
            if takes_json:
                request = _JsonRequest(request.scope, request.receive)
                await request.settle()
            return await handler(request)

        return handle


def _check_id(what: str, ref: str) -> None:
    """Raises NotFound for an id that has a form which no id of its kind has: it names nothing, so it is unknown."""
    named = what in NAMED
    if not (parse_name(ref) == what if named else is_id(ref)):
        field = f"{what}_id" if named else "id"
        raise NotFound(f"{field}: there is no {what} {shown_name(ref)}", field=field)


def _query_names(dependant: Dependant) -> Iterable[tuple[str, bool]]:
    """All query parameters of a route, those of its dependencies and of a model included, and which may be repeated."""
    for one in dependant.query_params:
        kind = one.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from ((part.alias or name, _is_list(part.annotation)) for name, part in kind.model_fields.items())
        else:
            yield one.alias, _is_list(kind)
    for inner in dependant.dependencies:
        yield from _query_names(inner)


def _is_list(kind: Any) -> bool:
    return get_origin(kind) in (list, tuple, set) or any(map(_is_list, get_args(kind)))


def _check_query(request: Request, names: Mapping[str, bool]) -> None:
    """Refuses what nobody would read: a parameter that the route does not know, and the same one twice."""
    seen: set[str] = set()
    for name, _ in request.query_params.multi_items():
        if name not in names:
            known = f"known are {', '.join(sorted(names))}" if names else "this route takes none"
            raise InvalidField(f"{shown_name(name)}: unknown query parameter; {known}", field=name[:64])
        if name in seen and not names[name]:
            raise InvalidField(f"{name}: is given twice", field=name)
        seen.add(name)


class _JsonRequest(Request):
    """A request whose body is JSON, parsed once: what no JSON of others can hold is refused or repaired."""

    async def settle(self) -> None:
        """Read and parse the body where there is one. Raises HTTPException 400 (malformed) and 415 (no JSON).

        What comes from a web page says that it is JSON also without a body: a page of another port of this machine
        could send it unasked otherwise (a "simple" request of the Fetch standard).
        """
        raw = await self.body()
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        no_json = kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json"))
        if no_json and (raw or "origin" in self.headers):
            raise HTTPException(415, "body: send it as Content-Type: application/json")
        if not raw:
            return
        self._json, repaired = await run_sync(parse_json, raw) if len(raw) > _IN_THREAD else parse_json(raw)
        caller: Caller | None = self.scope.get(CALLER)
        if repaired and caller is not None:
            self.scope[CALLER] = replace(caller, repaired=True)

    async def json(self) -> Any:
        return self._json


def parse_json(raw: bytes) -> tuple[Any, bool]:
    """A JSON body, and whether lone surrogates in it were replaced by U+FFFD (RFC 8259, section 8.2).

    Raises HTTPException 400 for what is no JSON: not UTF-8, NaN, numbers beyond a double, deeper than 64 levels.
    Raises InvalidField for a key that stands twice in one object.
    """
    try:
        text = raw.decode("utf-8")
        value = strictjson.loads(text, parse_constant=_no_number, parse_float=_finite)
        if (
            raw.count(b"[") + raw.count(b"{") > MAX_DEPTH
            and isinstance(value, dict | list)
            and _deeper(value, MAX_DEPTH)
        ):
            raise RecursionError
    except UnicodeDecodeError as error:
        raise HTTPException(400, "body: is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise HTTPException(400, f"body: is not JSON: {error.msg} at character {error.pos}") from error
    except strictjson.RepeatedKey as error:
        raise InvalidField(f"{shown_name(error.key)}: {error}; give it once", field=error.key[:64]) from error
    except RecursionError as error:
        raise HTTPException(400, f"body: is nested deeper than {MAX_DEPTH} levels; flatten it") from error
    except ValueError as error:
        raise HTTPException(400, "body: holds a number that JSON or a double can not hold") from error
    if b"\\ud" in raw or b"\\uD" in raw:
        whole = json.dumps(value, ensure_ascii=False)
        if _LONE.search(whole):
            return json.loads(_LONE.sub("\ufffd", whole)), True
    return value, False


def _no_number(name: str) -> Any:
    raise ValueError(name)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _deeper(value: Any, most: int) -> bool:
    level = [value]  # lists and objects that stand equally deep
    for _ in range(most):
        parts = (part for one in level for part in (one.values() if isinstance(one, dict) else one))
        level = [part for part in parts if isinstance(part, dict | list)]
    return bool(level)


async def idempotency_key(
    idempotency_key: Annotated[str | None, Header(description="the same key never writes twice")] = None,
    x_idempotency_key: Annotated[str | None, Header(description="the same")] = None,
) -> str | None:
    """The key of `Idempotency-Key` or `X-Idempotency-Key`; quotes around it (a structured field) are no part of it."""
    given = {_unquoted(header_text(one)) for one in (idempotency_key, x_idempotency_key) if one is not None}
    return one_key(*given)


IdempotencyKey = Annotated[str | None, Depends(idempotency_key)]


def one_key(*keys: str | None) -> str | None:
    """The one idempotency key among those of headers and body; raises InvalidField for two that differ, a blank one
    and one above 255 characters."""
    given = {key for key in keys if key is not None}
    for key in given:
        if not key.strip() or len(key) > MAX_KEY:
            raise InvalidField(
                f"idempotency_key: is blank or above {MAX_KEY} characters; shorten it", field="idempotency_key"
            )
    if len(given) > 1:
        raise InvalidField("idempotency_key: the headers and the body name different keys", field="idempotency_key")
    return next(iter(given), None)


def _unquoted(key: str) -> str:
    return key[1:-1] if len(key) > 1 and key[0] == key[-1] == '"' else key


# ---- answers

ABSENT: dict[int | str, dict[str, Any]] = {
    404: {"model": Problem, "description": "An id in the body names nothing that the caller may see"},
    410: {"model": Problem, "description": "What an id in the body named was deleted; told to its owner only"},
}
"""Answers of a route whose body names records."""
REPLAYED: dict[int | str, dict[str, Any]] = {
    410: {"model": Problem, "description": "What this idempotency key wrote was deleted"},
}
"""Answers of a route that tells what stands under its idempotency key."""


def answer(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A document as JSON, as it is: not validated again."""
    return Response(compact(document).encode(), status, headers, "application/json")


def exact(request: Request, document: Any) -> Response:
    """The answer to an exact get, with a strong ETag over its bytes; 304 without a body where the client has it
    (RFC 9110, sections 8.8.3 and 13.1.2)."""
    return tagged(request, compact(document).encode(), "application/json")


def tagged(request: Request, body: bytes, media_type: str) -> Response:
    """As `exact`, for bytes of any type."""
    tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if matches(request.headers.get("if-none-match"), tag):
        return Response(None, 304, headers)
    return Response(body, 200, headers, media_type)


def matches(header: str | None, tag: str) -> bool:
    """Whether an `If-None-Match` header names the tag, by weak comparison."""
    if header is None:
        return False
    return header.strip() == "*" or tag in {one.strip().removeprefix("W/") for one in header.split(",")}
