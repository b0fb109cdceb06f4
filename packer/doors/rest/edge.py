"""What every HTTP request passes before a route sees it: whose name it calls, where it comes from, how large it is.

Pure ASGI, one object around the whole application; it also tells what happened to whoever keeps metrics and logs.
"""

from __future__ import annotations

import ipaddress
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .gate import CALLED, CALLER, NAMES_LOOPBACK, Caller
from .problems import problem, problem_of

MAX_BODY = 8 * 1024 * 1024  # bytes of a request
LOOPBACK = frozenset(("127.0.0.1", "localhost", "[::1]"))
NOWHERE = "(none)"  # the route of a request that meets none

# host or [IPv6], and a port; RFC 9110, section 7.2
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~-]+)(?::([0-9]{1,5}))?")
_ALIAS = re.compile(r"(?:/api)?/v1(/(?:threads|triggers|workers|links|hooks)(?:/.*)?)|/api(/v1/.*)", re.DOTALL)
_FETCHED = {b"host", b"origin", b"content-length"}


@dataclass(frozen=True, slots=True)
class Done:
    """One finished request: its method, the template of its route, status, seconds, who asked, and for what ids.
    `action` and `outcome` are what the audit trail says: the route, or what was called through it, and the status, or
    that of the call."""

    method: str
    route: str
    status: int
    seconds: float
    caller: Caller | None
    ids: tuple[str, ...]
    action: str
    outcome: int
    error: BaseException | None = None


class Edge:
    """Refuses what names another host, comes from a foreign web page or is too large; passes on the rest.

    `hosts` are names besides those of the loopback interface, with a port or for any port; they are compared whole.
    No CORS header is ever sent. `larger` names paths whose bodies may have more bytes than `max_body`. `begun` and
    `done` are called for each request.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Iterable[str] = (),
        max_body: int = MAX_BODY,
        larger: Mapping[str, int] | None = None,
        begun: Callable[[], None] = lambda: None,
        done: Callable[[Done], None] = lambda _: None,
    ) -> None:
        self.app = app
        self.hosts = LOOPBACK | {host.lower() for host in hosts}
        self.max_body = max_body
        self.larger = dict(larger or {})
        self.begun = begun
        self.done = done

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        self.begun()
        started = time.perf_counter()
        status = 500
        answered = False
        fault: BaseException | None = None

        async def sending(message: Message) -> None:
            nonlocal status, answered
            if message["type"] == "http.response.start":
                status, answered = message["status"], True
                _hardened(message)
            await send(message)

        try:
            refused = self._refused(scope)
            if refused is not None:
                await refused(scope, receive, sending)
            else:
                _unalias(scope)
                await self.app(scope, self._counted(receive, self._limit(scope)), sending)
        except Exception as error:
            fault = error
            if answered:
                raise
            await problem_of(error)(scope, receive, sending)
        finally:
            route = getattr(scope.get("route"), "path", NOWHERE)
            caller = scope.get(CALLER)
            ids = tuple((caller and caller.touched) or map(str, scope.get("path_params", {}).values()))
            action, outcome = scope.get(CALLED) or (f"{scope['method']} {route}", status)
            seconds = time.perf_counter() - started
            self.done(Done(scope["method"], route, status, seconds, caller, ids, action, outcome, fault))

    def _refused(self, scope: Scope) -> Any:
        """The answer to a request that may not pass, or None. Marks whether it names a loopback host."""
        given: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            if name in _FETCHED:
                given.setdefault(name, []).append(value.decode("latin-1"))
        hosts = given.get(b"host", [])
        host = authority(hosts[0]) if len(hosts) == 1 else None
        if host is None or not self._allowed(host):
            return problem(
                421, "Host: this server does not answer to that name; --allow-host adds one", "wrong_host", "Host"
            )
        scope[NAMES_LOOPBACK] = host[0] in LOOPBACK
        for origin in given.get(b"origin", []):
            scheme, _, rest = origin.partition("://")
            page = authority(rest) if scheme in ("http", "https") else None
            if page is None or not (page[0] in LOOPBACK or page == host):
                return problem(403, "Origin: no calls from pages of other hosts", "forbidden", "Origin")
        limit = self._limit(scope)
        for length in given.get(b"content-length", []):
            if length.isdigit() and int(length) > limit:
                return problem(
                    413, f"body: is larger than {limit} bytes; send less", "too_large", "body", {"Connection": "close"}
                )
        return None

    def _allowed(self, host: tuple[str, str]) -> bool:
        return host[0] in self.hosts or (bool(host[1]) and f"{host[0]}:{host[1]}" in self.hosts)

    def _limit(self, scope: Scope) -> int:
        """Bytes that a body may have here."""
        return max(self.max_body, self.larger.get(scope["path"].removeprefix("/api").removeprefix("/v1"), 0))

    def _counted(self, receive: Receive, limit: int) -> Receive:
        """The body, which ends in an error once it is too large, whatever length was told."""
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            if message["type"] == "http.request":
                size += len(message.get("body", b""))
                if size > limit:
                    raise HTTPException(413, f"body: is larger than {limit} bytes; send less", {"Connection": "close"})
            return message

        return counted


def authority(text: str) -> tuple[str, str] | None:
    """Host in lower case and port ("" where none) of a Host header; None for anything else."""
    match = _AUTHORITY.fullmatch(text)
    return (match[1].lower(), match[2] or "") if match else None


def is_loopback(host: str) -> bool:
    """Whether an address to bind can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _unalias(scope: Scope) -> None:
    """`/api/v1/…` is `/v1/…`, and the chain of recall, which stands at the root, answers under both."""
    path: str = scope["path"]
    if path.startswith(("/v1/", "/api/")):
        match = _ALIAS.fullmatch(path)
        if match:
            scope["path"] = match[1] or match[2]
            scope["raw_path"] = scope["path"].encode()


def _hardened(message: Message) -> None:
    """Headers of every answer: nothing is guessed from its bytes, and nothing kept by a cache unless it says so."""
    headers = [*message.get("headers", ())]
    if not any(name == b"cache-control" for name, _ in headers):
        headers.append((b"cache-control", b"no-store"))
    headers.append((b"x-content-type-options", b"nosniff"))
    message["headers"] = headers
