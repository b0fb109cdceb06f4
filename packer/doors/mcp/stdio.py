"""MCP over stdio: nothing but the protocol on stdout, whatever any library prints."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, BinaryIO, cast

from ...errors import InvalidField
from .hello import NO_UTF8, hello, parse_error, readable, refusal
from .listed import is_constant, listed

if TYPE_CHECKING:
    from ...packing.profile import Profile
    from ...service import ContextPacks


def serve_stdio(open_packs: Callable[[], ContextPacks], profile: str = "public") -> None:
    """Serve on stdin and stdout until the client closes stdin.

    `initialize` and what is always the same (lists, `ping`) is answered before the SDK is loaded, and the memory is
    opened with the first call that needs it. Raises InvalidField for closed standard streams and an unknown profile.
    """
    incoming, outgoing = claim()
    first = incoming.readline()
    greeting = hello(first)
    if greeting is not None:
        outgoing.write(f"{greeting[0]}\n")
        outgoing.flush()
        outgoing.answered = json.loads(greeting[0])["id"]

    from ...packing.profile import load_profile

    loaded = load_profile(profile)
    lines = [first] if greeting is None else [f"{greeting[1]}\n", *_answered(incoming, outgoing, loaded)]
    if not lines[-1]:
        return
    incoming.first = lines

    import anyio
    from mcp.server.stdio import stdio_server

    from .server import build_server

    packs = OpenedOnce(open_packs)
    server = build_server(packs, profile)

    async def run() -> None:
        files: list[Any] = [anyio.wrap_file(cast(IO[str], end)) for end in (incoming, outgoing)]
        async with stdio_server(*files) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    try:
        anyio.run(run)
    except* BrokenPipeError:
        pass  # the client has left without closing stdin first
    finally:
        packs.close()


def _answered(incoming: Incoming, outgoing: Outgoing, profile: Profile) -> list[str]:
    """Answer what is always the same until something else comes: the lines that the SDK shall have, the last one empty
    where the client has left. Once a client has the tools, the SDK is loaded beside it."""
    from .tools import tools

    known = tuple(tools(profile))
    lines: list[str] = []
    loading = threading.Thread(target=_load_sdk)
    while line := incoming.readline():
        message = json.loads(line)
        if message.get("method") == "notifications/initialized":
            lines.append(line)
            continue
        if not is_constant(message):
            break
        result = listed(message["method"], known)
        outgoing.answer(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))
        if message["method"] == "tools/list" and not loading.ident:
            loading.start()
    if loading.ident:
        loading.join()  # two threads that import the same modules may wait for each other
    return [*lines, line]


def _load_sdk() -> None:
    try:
        from . import server  # noqa: F401
    except ImportError:
        pass  # told by the import that needs it


class OpenedOnce:
    """Opens with the first call and gives the same memory from then on; a failed opening is tried again."""

    def __init__(self, open_packs: Callable[[], ContextPacks]) -> None:
        self._open = open_packs
        self._lock = threading.Lock()
        self._packs: ContextPacks | None = None

    def __call__(self) -> ContextPacks:
        with self._lock:
            if self._packs is None:
                self._packs = self._open()
                self._packs.store.embed_in_background()
            return self._packs

    def close(self) -> None:
        """Let go of what was opened."""
        with self._lock:
            if self._packs is not None:
                self._packs.close()
                self._packs = None


def claim() -> tuple[Incoming, Outgoing]:
    """Take stdin and stdout for the protocol.

    From then on file descriptor 0 is empty and 1 is stderr, also for child processes, and `print` writes to stderr.
    """
    try:
        wire_in, wire_out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    except OSError as error:
        raise InvalidField("stdin: MCP over stdio needs open standard streams", field="stdin") from error
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(nothing, 1)
    os.close(nothing)
    sys.stdout = sys.stderr
    outgoing = Outgoing(wire_out)
    return Incoming(wire_in, outgoing.answer), outgoing


class Incoming(io.TextIOBase):
    """Lines of the client as the SDK can read them; `first` come before the rest.

    What is no message is answered here, by `answer`, and the next line is read: the SDK would drop it without a word.
    """

    def __init__(self, wire: BinaryIO, answer: Callable[[str], None]) -> None:
        self._wire = wire
        self._answer = answer
        self.first: list[str] = []

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        if self.first:
            return self.first.pop(0)
        while raw := self._wire.readline():
            if raw.isspace():
                continue
            try:
                line = readable(raw.decode("utf-8"))
            except UnicodeDecodeError:
                self._answer(parse_error(NO_UTF8))
                continue
            refused = refusal(line)
            if refused is None:
                return line
            self._answer(refused)
        return ""


class Outgoing(io.TextIOBase):
    """Lines to the client. Where `answered` is set, the SDK's own answer to that request is kept back, once."""

    def __init__(self, wire: BinaryIO) -> None:
        self._wire = wire
        self.answered: int | str | None = None

    def write(self, text: str, /) -> int:
        if self.answered is not None and json.loads(text).get("id") == self.answered:
            self.answered = None
        else:
            self._wire.write(text.encode("utf-8", "replace"))
        return len(text)

    def answer(self, line: str) -> None:
        """One whole line besides those of the SDK; a client that has left is found out by the next answer."""
        try:
            self._wire.write(f"{line}\n".encode())
            self._wire.flush()
        except BrokenPipeError:
            pass

    def flush(self) -> None:
        self._wire.flush()
