"""Limits of the connections of the server: time and size of a request, and how many may be open.

uvicorn has no time limit for a request that arrives slowly, and takes a head of any size into memory. A subclass of its
protocol is the least there is to own: other servers with such limits bring a runtime of their own, or another parser.
An answer that is being made or sent is never cut.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..forms.bounded import compact
from .problems import PROBLEM_JSON

SPARE = 64  # descriptors for the store, its files and the loop
MOST_OPEN = 2_000
MOST_QUEUED = 1_024


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds for a head, for a body, and between two pieces of it; bytes of a head; connections open at once."""

    head: float = 10.0
    body: float = 30.0
    stall: float = 10.0
    head_bytes: int = 65_536
    connections: int = MOST_OPEN


def descriptors() -> tuple[int, int]:
    """How many connections may be open, and how many may wait to be taken: together below the limit of this process,
    so that one more is always closed by choice and not refused by the system."""
    try:
        import resource
    except ImportError:  # Windows knows no such limit
        return MOST_OPEN, MOST_QUEUED
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MOST_OPEN, MOST_QUEUED
    free = max(16, soft - SPARE)
    queued = min(MOST_QUEUED, max(8, free // 3))
    return min(MOST_OPEN, free - queued), queued


class Doorkeeper:
    """The connections of one server by what is awaited from them, and the clock that ends what takes too long."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.asking: dict[Guarded, None] = {}  # no whole request yet, the longest first
        self.resting: dict[Guarded, None] = {}  # answered, and open for another request, the longest first
        self.open: set[Guarded] = set()
        self._clock: asyncio.TimerHandle | None = None

    def protocol(self, *args: Any, **kwargs: Any) -> Guarded:
        """A connection, as uvicorn asks for one."""
        return Guarded(self, *args, **kwargs)

    def enter(self, one: Guarded) -> bool:
        """Take a new connection in; where there is no room, for the one that has been silent longest. False where all
        the others are being answered."""
        if len(self.open) >= self.limits.connections:
            silent = next(iter(self.asking), None) or next(iter(self.resting), None)
            if silent is None:
                return False
            self.leave(silent)
            silent.transport.abort()
        self.open.add(one)
        self.asking[one] = None
        if self._clock is None:
            self._wind(one.loop)
        return True

    def leave(self, one: Guarded) -> None:
        self.open.discard(one)
        self.asking.pop(one, None)
        self.resting.pop(one, None)

    def _wind(self, loop: asyncio.AbstractEventLoop) -> None:
        period = min(1.0, self.limits.head / 4, self.limits.body / 4, self.limits.stall / 4)
        self._clock = loop.call_later(period, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for one in [*self.asking]:
            one.check(now)
        self._clock = None
        if self.open:
            self._wind(loop)


class Guarded(HttpToolsProtocol):
    """A connection within the limits."""

    def __init__(self, keeper: Doorkeeper, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._keeper = keeper
        self._since = self._heard = self.loop.time()  # when the head or body that is awaited began, and the last piece
        self._in_head = True
        self._fed = 0  # bytes of the head so far
        self._refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if not self._keeper.enter(self):
            self._refuse(503, "the server is busy; try again later", "store_unavailable")

    def connection_lost(self, exc: Exception | None) -> None:
        self._keeper.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._heard = self.loop.time()
        if self in self._keeper.resting:
            del self._keeper.resting[self]
            self._await(head=True)
        self._fed += len(data)
        super().data_received(data)
        if self._in_head and self._fed > self._keeper.limits.head_bytes:
            self._too_large()

    def check(self, now: float) -> None:
        """End the connection where its request takes too long; time in which nobody listened to it does not count."""
        limits = self._keeper.limits
        if self.flow.read_paused:
            self._since = self._heard = now
        elif self._in_head and now - self._since > limits.head:
            self._refuse(408, f"the head did not arrive within {limits.head:g} seconds", "timeout")
        elif not self._in_head and (now - self._since > limits.body or now - self._heard > limits.stall):
            why = f"the body did not arrive within {limits.body:g} seconds, or {limits.stall:g} between two pieces"
            self._refuse(408, why, "timeout")

    # -- what the parser tells

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self._keeper.limits.head_bytes:
            self._too_large()
        if not self._refused:
            self._await(head=False)
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._refused:
            self._keeper.asking.pop(self, None)
            self._fed = 0
            self._in_head = False
            super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and not self.pipeline and self not in self._keeper.asking:
            self._keeper.resting[self] = None

    # -- ends

    def _await(self, *, head: bool) -> None:
        self._in_head = head
        self._fed = 0
        self._since = self.loop.time()
        self._keeper.asking.pop(self, None)
        self._keeper.asking[self] = None

    def _too_large(self) -> None:
        self._refuse(
            431, f"the head is above {self._keeper.limits.head_bytes} bytes; send fewer or shorter headers", "too_large"
        )

    def _refuse(self, status: int, why: str, code: str) -> None:
        """Say why, unless an answer is on its way already, and close."""
        if self._refused:
            return
        self._refused = True
        self._keeper.leave(self)
        cycle = self.cycle
        if cycle is None or (cycle.response_complete if self._in_head else not cycle.response_started):
            title = HTTPStatus(status).phrase
            document = {"type": "about:blank", "title": title, "status": status}
            body = compact({**document, "detail": f"request: {why}", "code": code}).encode()
            head = f"HTTP/1.1 {status} {title}\r\nContent-Type: {PROBLEM_JSON}\r\nContent-Length: {len(body)}\r\n"
            self.transport.write(f"{head}Connection: close\r\n\r\n".encode() + body)
        self.transport.close()


def guarded(limits: Limits) -> Any:
    """What uvicorn takes as `http`: connections of one server within the limits."""
    return Doorkeeper(limits).protocol
