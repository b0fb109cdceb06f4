"""The REST door: one FastAPI application over one memory. Routes stand in the `rest_*` modules of their subject."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from anyio.to_thread import current_default_thread_limiter
from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from ...errors import ContextPacksError
from ...packing.profile import load_profile
from ...service import ContextPacks
from ..github.delivery import MAX_BODY_BYTES
from ..mcp.hello import NAME, VERSION
from .edge import MAX_BODY, Done, Edge
from .gate import AGENT_HEADER, INSTANCE_HEADER, Gate, needed_scope
from .mcp import McpDoor
from .metrics import Metrics, log_request
from .problems import PROBLEM_JSON, Problem, problem_of
from .routes import admin as rest_admin
from .routes import chain as rest_chain
from .routes import clients as rest_clients
from .routes import decisions as rest_decisions
from .routes import github as rest_github
from .routes import memory as rest_memory
from .routes import restart as rest_restart
from .routes import state as rest_state
from .routes.admin import Health

_NOT_AUDITED = frozenset(("/metrics",))  # told often, and of no id
REST_PROFILE, MCP_PROFILE = "internal", "public"  # where neither a token nor whoever runs the server names one
THREADS = 24  # requests that work at once; further ones wait their turn, and the event loop stays free


def routers() -> tuple[APIRouter, ...]:
    """The routers of all subjects; a new one is a line here."""
    return (
        rest_admin.router,
        rest_memory.router,
        rest_state.router,
        rest_decisions.router,
        rest_clients.router,
        rest_restart.router,
        rest_chain.router,
        rest_github.router,
    )


def create_app(
    packs: ContextPacks,
    *,
    profile: str | None = None,
    hosts: Iterable[str] = (),
    local: bool = True,
    max_body: int = MAX_BODY,
    github_secret: str | None = None,
) -> FastAPI:
    """The application over a memory. Raises InvalidField for an unknown profile.

    Args:
        packs: the memory; whoever gives it closes it.
        profile: for callers whose token names none; unless given, REST answers with packs and MCP with text.
        hosts: names that the server answers to besides those of the loopback interface.
        local: only this machine can reach it. Callers without a credential are then served as long as no token was
            ever made.
        max_body: bytes of a request, but for webhooks.
        github_secret: what webhooks of GitHub are signed with, instead of bringing a credential.
    """
    load_profile(profile or REST_PROFILE)
    gate, metrics = Gate(packs, profile or REST_PROFILE, local=local), Metrics()
    door = McpDoor(Gate(packs, profile or MCP_PROFILE, local=local), max_body)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = THREADS
        packs.audit.start()
        packs.store.embed_in_background()
        async with door.running():
            yield

    def done(one: Done) -> None:
        metrics.done(one)
        log_request(one)
        if one.caller is not None and one.route not in _NOT_AUDITED:
            packs.audit.note(
                one.action,
                agent_id=one.caller.packs.viewer.agent_id,
                token_id=one.caller.token,
                objects=one.ids,
                outcome=one.outcome,
            )

    app = FastAPI(
        title=NAME,
        version=VERSION,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.github_secret = github_secret
    app.state.gate, app.state.metrics, app.state.health = gate, metrics, Health(packs)
    for router in routers():
        app.router.routes.extend(router.routes)
    app.router.routes.append(Route(door.path, door))
    larger = {"/hooks/github": MAX_BODY_BYTES}
    app.add_middleware(Edge, hosts=tuple(hosts), max_body=max_body, larger=larger, begun=metrics.begun, done=done)
    for kind in (ContextPacksError, RequestValidationError):
        app.add_exception_handler(kind, _problem)
    app.add_exception_handler(HTTPException, _refused)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


_DESCRIPTION = (
    "Memory for agents. `/api/v1` is an alias of `/v1`; the routes of threads, triggers, workers and links answer "
    "under `/v1` too. Errors are problem documents (RFC 9457)."
)


async def _problem(request: Request, error: Exception) -> Response:
    return problem_of(error)


async def _refused(request: Request, error: Exception) -> Response:
    """An error of HTTP itself; a 405 names every method that the path takes (RFC 9110, section 15.5.6)."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        routes = request.app.router.routes
        path = next((one.path for one in routes if one.matches(request.scope)[0] is not Match.NONE), None)
        methods = {method for one in routes if one.path == path for method in one.methods or ()}
        error = HTTPException(405, error.detail, {"Allow": ", ".join(sorted(methods))})
    return problem_of(error)


# ---- what /openapi.json says


_ALWAYS = {
    400: "The body is not JSON",
    403: "The credential lacks the scope that `detail` names, or the call comes from a page of another host",
    413: "The body is too large",
    415: "The body is not sent as JSON",
    421: "The server does not answer to the name in Host",
    422: "A field is malformed or out of range; `field` names it",
    503: "The store cannot be used now; `detail` says what to do",
}
_WITH_CREDENTIAL = {401: "No credential, or one that is unknown, expired or revoked"}
_WITH_ID = {404: "There is no such thing that the caller may see", 410: "It was deleted; told to its owner only"}
_WRITING = {409: "It contradicts what is stored, such as an idempotency key with other content"}


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The document of all routes, made once; each names every status it can answer with, errors by reference."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=NAME, version=VERSION, description=_DESCRIPTION, routes=app.routes, openapi_version="3.1.0"
        )
        parts = document.setdefault("components", {})
        for unused in ("HTTPValidationError", "ValidationError"):
            parts.get("schemas", {}).pop(unused, None)
        parts.setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
        parts["securitySchemes"] = {
            "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            "Bearer": {"type": "http", "scheme": "bearer"},
        }
        told = {**_ALWAYS, **_WITH_CREDENTIAL, **_WITH_ID, **_WRITING}
        parts["responses"] = {f"E{status}": _response(text) for status, text in told.items()}
        parts["parameters"] = {
            name: {"name": name, "in": "header", "required": False, "schema": {"type": "string", "maxLength": 200}}
            for name in (AGENT_HEADER, INSTANCE_HEADER)
        }
        for route in app.routes:
            if isinstance(route, APIRoute) and route.include_in_schema:
                for method in sorted(route.methods or ()):
                    _complete(document["paths"][route.path_format][method.lower()], route, method)
        app.openapi_schema = document
    return app.openapi_schema


def _response(text: str) -> dict[str, Any]:
    content = {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {"description": text, "content": content}


def _complete(operation: dict[str, Any], route: APIRoute, method: str) -> None:
    """Add to an operation what holds for every one of its kind."""
    told = dict(_ALWAYS)
    if "requestBody" not in operation:
        for status in (400, 415):
            del told[status]
    if needed_scope(route) is not None:
        told |= _WITH_CREDENTIAL
        operation["security"] = [{"ApiKey": []}, {"Bearer": []}]
        parameters = operation.setdefault("parameters", [])
        parameters += [{"$ref": f"#/components/parameters/{name}"} for name in (AGENT_HEADER, INSTANCE_HEADER)]
    if route.param_convertors:
        told |= _WITH_ID
    if method not in ("GET", "HEAD"):
        told |= _WRITING
    answers = operation["responses"]
    if "HTTPValidationError" in str(answers.get("422")):
        del answers["422"]
    for status, said in answers.items():
        if int(status) >= 400 and "application/json" in said.get("content", {}):
            said["content"][PROBLEM_JSON] = said["content"].pop("application/json")
    for status in told:
        answers.setdefault(str(status), {"$ref": f"#/components/responses/E{status}"})
