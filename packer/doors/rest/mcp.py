"""MCP over streamable HTTP inside the server: the tools of `mcp_server`, behind the gate of the other routes.

Every call stands alone (the SDK's stateless mode): it brings its credential, and there is no session that could be
taken over, grow in number or be lost with a restart. Protocol: Model Context Protocol, "Streamable HTTP".
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from ...packing.profile import list_profiles
from ...service import ContextPacks
from ..mcp.hello import NO_UTF8, parse_error, readable, refusal
from ..mcp.server import build_server
from .gate import CALLED, CALLER, Caller, Gate
from .problems import problem

_request: ContextVar[Scope] = ContextVar("request")


class McpDoor:
    """An ASGI application for one path. `running()` encloses its life, once."""

    path = "/mcp"

    def __init__(self, gate: Gate, max_body: int) -> None:
        self._gate = gate
        self._managers = {
            name: StreamableHTTPSessionManager(
                build_server(_packs, name, allow=_allow, touch=_touch),
                json_response=True,
                stateless=True,
                max_request_body_size=max_body,
            )
            for name in list_profiles()
        }

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the servers of all profiles."""
        async with AsyncExitStack() as stack:
            for manager in self._managers.values():
                await stack.enter_async_context(manager.run())
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One call. Without sessions there is no stream to open and none to delete: only POST is taken, as the
        protocol allows."""
        scope["route"] = self
        if scope["method"] != "POST":
            detail = "this route does not support that method"
            await problem(405, detail, "method_not_allowed", headers={"Allow": "POST"})(scope, receive, send)
            return
        request = Request(scope, receive)
        caller = await self._gate.admit(request)
        try:
            line = readable((await request.body()).decode("utf-8"))
            refused = refusal(line)
        except UnicodeDecodeError:
            refused = parse_error(NO_UTF8)
        if refused is not None:
            status = 200 if '"result"' in refused[:60] else 400
            await Response(refused, status, media_type="application/json")(scope, receive, send)
            return
        body = line.encode()
        sent = False

        async def replay() -> Message:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        scope["headers"] = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
        token = _request.set(scope)
        try:
            await self._managers[caller.profile].handle_request(scope, replay, send)
        finally:
            _request.reset(token)


def _caller() -> Caller:
    caller: Caller = _request.get()[CALLER]
    return caller


def _packs() -> ContextPacks:
    return _caller().packs


def _allow(what: str, scope: str) -> None:
    """Notes what is called, for the audit trail, and whether it may be."""
    caller = _caller()
    _request.get()[CALLED] = f"mcp {what}", 200 if scope in caller.scopes else 403
    caller.need(scope)


def _touch(ids: Sequence[str]) -> None:
    _caller().touch(*ids)
