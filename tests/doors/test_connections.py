"""Limits of connections: slow and silent clients, large heads, and more connections than there is room for."""

import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn

from context_packs.packer.doors.rest.connections import Limits, descriptors, guarded

HALF = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
Serve = Callable[[Limits], Any]


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the size of the body; `/stream` in pieces that take longer than any limit of these tests."""
    if scope["type"] == "lifespan":
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": f"{message['type']}.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    size = 0
    while (message := await receive()).get("more_body"):
        size += len(message["body"])
    if message["type"] == "http.disconnect":
        return
    size += len(message["body"])
    await send({"type": "http.response.start", "status": 200, "headers": []})
    if scope["path"] == "/stream":
        import asyncio

        for _ in range(4):
            await asyncio.sleep(0.2)
            await send({"type": "http.response.body", "body": b"piece ", "more_body": True})
    await send({"type": "http.response.body", "body": str(size).encode()})


@contextmanager
def running(limits: Limits) -> Iterator[int]:
    """A server with these limits on a free port."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listening:
        config = uvicorn.Config(application, http=guarded(limits), log_config=None, access_log=False, ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def begun(port: int, raw: bytes) -> socket.socket:
    """A connection that has sent this much."""
    one = socket.create_connection(("127.0.0.1", port), timeout=20)
    one.sendall(raw)
    return one


def rest(one: socket.socket) -> bytes:
    """All that the server says until it closes."""
    pieces = []
    try:
        while piece := one.recv(65_536):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    one.close()
    return b"".join(pieces)


def asked(port: int, path: str = "/", body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    """Status and body of one whole request."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        client.request("POST" if body is not None else "GET", path, body, headers)
        answer = client.getresponse()
        return answer.status, answer.read()
    finally:
        client.close()


def test_a_head_that_does_not_end_is_given_up() -> None:
    """Half a head, one that drips, and none at all: 408 and closed; a request that was answered does not help."""
    with running(Limits(head=0.3)) as port:
        told = rest(begun(port, HALF))
        assert told.startswith(b"HTTP/1.1 408 Request Timeout\r\n") and b"application/problem+json" in told
        assert b'"detail":"request: the head did not arrive within 0.3 seconds"' in told
        assert rest(begun(port, b"")).startswith(b"HTTP/1.1 408 ")
        again = begun(port, b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HT")
        assert again.recv(15) == b"HTTP/1.1 200 OK"
        again.sendall(b"TP/1.1\r\n")
        assert b"HTTP/1.1 408 " in rest(again)
        assert asked(port) == (200, b"0")


def test_a_body_that_stalls_or_drips_is_given_up() -> None:
    """By the time between two pieces, and by the time for all of it."""
    post = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nab"
    with running(Limits(stall=0.3)) as port:
        assert rest(begun(port, post)).startswith(b"HTTP/1.1 408 ")
    with running(Limits(body=0.5, stall=5)) as port:
        dripping = begun(port, post)
        start = time.monotonic()
        told = b""
        dripping.settimeout(0.05)
        while not told and time.monotonic() - start < 10:
            try:
                dripping.sendall(b"c")
                told = dripping.recv(20)
            except TimeoutError:
                continue
        assert told.startswith(b"HTTP/1.1 408 ")
        dripping.close()
        assert asked(port, body=b"x" * 2_000_000) == (200, b"2000000")


def test_a_head_has_a_limit_of_bytes() -> None:
    """431 for one long header, many short ones and a long address, also before the head ends; a large body is none."""
    with running(Limits(head_bytes=65_536)) as port:
        heads = [
            b"GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + b"x" * 70_000,
            b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X-Many: 0123456789\r\n" * 4_000,
            b"GET /" + b"y" * 70_000,
            b"GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + b"x" * 65_536 + b"\r\n\r\n",
        ]
        for head in heads:
            told = rest(begun(port, head))
            assert told.startswith(b"HTTP/1.1 431 ") or told == b""  # the system may drop what was not read
        assert asked(port, body=b"x" * 300_000, **{"X-Long": "x" * 60_000}) == (200, b"300000")


def test_an_answer_that_takes_long_is_not_cut() -> None:
    """The limits are for what is awaited from the client, not for streams to it, nor for a second request after it."""
    with running(Limits(head=0.2, body=0.2, stall=0.2)) as port:
        assert asked(port, "/stream") == (200, b"piece piece piece piece 0")


def test_silent_connections_make_room_for_others() -> None:
    """At the limit the one that has been silent longest is closed, and whoever asks is answered."""
    with running(Limits(connections=20)) as port:
        silent = [begun(port, HALF) for _ in range(60)]
        assert [asked(port) for _ in range(5)] == [(200, b"0")] * 5
        assert rest(silent[0]) == b""
        silent[-1].sendall(b"now\r\nConnection: close\r\n\r\n")
        assert rest(silent[-1]).startswith(b"HTTP/1.1 200 ")
        for one in silent[1:-1]:
            one.close()


def test_where_all_are_being_answered_one_more_is_told_to_come_again() -> None:
    """503, and nobody who is being answered is cut."""
    with running(Limits(connections=2)) as port:
        streams = [begun(port, b"GET /stream HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n") for _ in range(2)]
        for one in streams:
            assert one.recv(15) == b"HTTP/1.1 200 OK"
        assert rest(begun(port, HALF)).startswith(b"HTTP/1.1 503 ")
        assert all(rest(one).count(b"piece") == 4 for one in streams)


def test_descriptors_are_never_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is open and what waits stays below the limit of the process, with some to spare for the store."""
    import resource

    for soft, told in ((256, (128, 64)), (1_024, (640, 320)), (1_000_000, (2_000, 1_024))):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert descriptors() == told
