"""Runs the server: listens, serves until it is told to stop, finishes what is running, and lets go of the store."""

from __future__ import annotations

import errno
import gc
import logging
import signal
import socket
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from ...errors import InvalidField
from ...packing.profile import load_profile
from ...service import ContextPacks
from ..forms.extras import install_extra

if TYPE_CHECKING:
    import uvicorn

GRACE = 20  # seconds that requests may still take after the server was told to stop
KEEP_ALIVE = 30  # seconds for which a connection without a request stays open
NEEDED = ("fastapi", "uvicorn")
GARBAGE = 50_000  # new objects after which the youngest are looked through
WILDCARDS = frozenset(("0.0.0.0", "::"))

_log = logging.getLogger("context_packs.server")


def require_server() -> None:
    """Raise InvalidField, in one line with the way out, where a library of the server is missing."""
    for name in NEEDED:
        try:
            version(name)
        except PackageNotFoundError as error:
            message = f"serve: {name} is not installed; {install_extra('serve')}"
            raise InvalidField(message, field="serve") from error


def serve_http(
    open_packs: Callable[[], ContextPacks],
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    hosts: Sequence[str] = (),
    profile: str | None = None,
    github_secret: str | None = None,
    log_requests: bool = True,
    started: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve until SIGTERM or SIGINT, then return: requests that are running were answered, the audit trail is written
    and the store let go of.

    Raises InvalidField for a host, port, name or profile that cannot be, for a port in use, and for a host that others
    can reach while the store has no live credential.

    Args:
        open_packs: opens the memory.
        host: the address to listen at.
        port: 0 takes any that is free.
        hosts: names that the server answers to besides those of the loopback interface.
        profile: for callers whose token names none.
        github_secret: what webhooks of GitHub are signed with.
        log_requests: a line for each request on stderr.
        started: is told the address once it can be reached.
    """
    if profile is not None:
        load_profile(profile)
    listening = listen(host, port)  # at once: what comes now waits in the queue of the socket
    try:
        _serve(open_packs, listening, host, hosts, profile, github_secret, log_requests, started)
    finally:
        listening.close()


def _serve(
    open_packs: Callable[[], ContextPacks],
    listening: socket.socket,
    host: str,
    hosts: Sequence[str],
    profile: str | None,
    github_secret: str | None,
    log_requests: bool,
    started: Callable[[str], None],
) -> None:
    import uvicorn

    from .app import create_app
    from .connections import Limits, descriptors, guarded
    from .edge import authority, is_loopback
    from .metrics import log_to

    for name in hosts:
        if authority(name) is None:
            message = f"allow_host: {ascii(name)[:60]} is not a name as in the header Host"
            raise InvalidField(message, field="allow_host")
    local = is_loopback(host)
    with open_packs() as packs:
        open_to_all = not packs.tokens.has_live()  # read first: a store that cannot be used ends the start
        if not local and open_to_all:
            raise InvalidField(
                f"host: {ascii(host)[1:-1][:60]} can be reached from other machines: make a credential first "
                "(context-packs token create), or listen on 127.0.0.1",
                field="host",
            )
        own = () if local or host in WILDCARDS else (f"[{host}]" if ":" in host else host,)
        app = create_app(packs, profile=profile, hosts=(*hosts, *own), local=local, github_secret=github_secret)
        most, queued = descriptors()
        config = uvicorn.Config(
            app,
            http=guarded(Limits(connections=most)),
            backlog=queued,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            lifespan="on",
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=GRACE,
        )
        handler = log_to(requests=log_requests)
        try:
            _run(uvicorn.Server(config), listening, lambda: started(_url(host, listening)))
        finally:
            logging.getLogger().removeHandler(handler)


def _run(server: uvicorn.Server, listening: socket.socket, started: Callable[[], None]) -> None:
    """Run until a signal. uvicorn raises the signal anew once it has shut down, which would end the process by it: so
    it finds handlers of ours, to which it is told already."""

    def stop(number: int, frame: object) -> None:
        server.should_exit = True

    kept = {one: signal.signal(one, stop) for one in (signal.SIGINT, signal.SIGTERM)}
    thresholds = gc.get_threshold()
    try:
        # What is loaded stays: looking through it for garbage again and again would stop every request for 50 ms.
        gc.collect()
        gc.freeze()
        gc.set_threshold(GARBAGE, 10, 10)
        started()  # the socket listens: who comes now waits until the first request is taken
        _log.info("started")
        server.run(sockets=[listening])
        _log.info("stopped")
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
        for one, handler in kept.items():
            signal.signal(one, handler)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises InvalidField naming host or port."""
    if not 0 <= port <= 65_535:
        raise InvalidField(f"port: {port} is not from 0 to 65535", field="port")
    if not host or not host.isprintable() or host != host.strip():
        raise InvalidField(f"host: {ascii(host)[:60]} is not an address of this machine", field="host")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise InvalidField(f"host: {ascii(host)[:60]} is not an address of this machine", field="host") from error
    listening = socket.socket(family, kind, protocol)
    try:
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # Windows, where the other option lets two servers take one port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise InvalidField(_why(error, host, port), field="port") from error
    listening.setblocking(False)
    return listening


def _why(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port: {port} is in use: end its server or choose another with --port"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"port: {port} is not allowed for this user: choose one from 1024"
    return f"port: cannot listen on {ascii(host)[1:-1][:60]}, port {port}: {error.strerror}"


def _url(host: str, listening: socket.socket) -> str:
    port: int = listening.getsockname()[1]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
