"""The MCP door: the tools, one prompt and one kind of resource on a server of the official SDK.

The server knows no transport: `mcp_stdio` serves it over stdio, `Server.streamable_http_app` of the SDK over HTTP.
Protocol: Model Context Protocol, revisions 2024-11-05 to 2026-07-28 as far as the SDK speaks them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from ...errors import ContextPacksError, InvalidField, row_for
from ...packing.profile import Profile, load_profile
from ...packing.tokens import well_formed
from ...service import ContextPacks
from ..forms.bounded import compact
from .answers import Answer
from .hello import INSTRUCTIONS, NAME, REPAIRED, VERSION
from .listed import PROMPT, RECORD, listed
from .tools import Tool, tools, unlisted

T = TypeVar("T")
PacksFactory = Callable[[], ContextPacks]
Allow = Callable[[str, str], None]
Touch = Callable[[Sequence[str]], None]

THREADS = 8  # calls of one server that run at once; further ones wait their turn
_NOTE = "lone surrogates were replaced by U+FFFD"

_log = logging.getLogger(__name__)


def build_server(
    packs_factory: PacksFactory,
    profile: str = "public",
    *,
    allow: Allow = lambda what, scope: None,
    touch: Touch = lambda ids: None,
) -> Server[Any]:
    """A server whose tools work on what `packs_factory` gives. Raises InvalidField for an unknown profile.

    Args:
        packs_factory: gives the memory. It is called in a worker thread with each call that needs the memory and in the
            context of its request, so that it may open the memory with the first call, keep it, or choose it by who is
            asking. Whoever gives it closes what it opened.
        profile: one that answers with text gives texts alone, one that answers with the pack structures too.
        allow: is told before each call what is asked for, such as the name of a tool, and the scope that it needs,
            memory:read or memory:write. It raises Forbidden where the caller lacks it.
        touch: is told after each call the ids that it read or wrote.
    """
    return _Door(packs_factory, load_profile(profile), allow, touch).server()


class _Door:
    """The handlers of one server."""

    def __init__(self, packs: PacksFactory, profile: Profile, allow: Allow, touch: Touch) -> None:
        self._packs = packs
        self._allow = allow
        self._touch = touch
        self._tools = {tool.name: tool for tool in tools(profile)}
        self._unlisted = {tool.name: tool for tool in unlisted(profile)}
        self._threads: anyio.CapacityLimiter | None = None

    def server(self) -> Server[Any]:
        return Server(
            NAME,
            version=VERSION,
            instructions=INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_resource_templates,
            on_read_resource=self.read_resource,
        )

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """Run what may wait for a file beside the event loop, which goes on answering.

        A cancelled request is let go of at once; a write that has begun is finished all the same.
        """
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(THREADS)
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._threads)

    # -- tools -----------------------------------------------------------------------------------------------------

    async def list_tools(self, ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate(listed("tools/list", tuple(self._tools.values())))

    async def call_tool(self, ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._tools.get(params.name) or self._unlisted.get(params.name)
        if tool is None:
            known = ", ".join(self._tools)
            raise MCPError(types.INVALID_PARAMS, f"name: {ascii(params.name)[:60]} is unknown; known: {known}")
        try:
            answer = await self._in_thread(partial(self._call, tool, params.arguments or {}))
        except Exception as error:
            return _failed(error)
        if not tool.read_only and (ctx.meta or {}).get(REPAIRED):
            answer = _noted(answer, tool.structured)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=well_formed(answer.text))],
            structured_content=answer.document,
        )

    def _call(self, tool: Tool, given: dict[str, Any]) -> Answer:
        self._allow(tool.name, "memory:read" if tool.read_only else "memory:write")
        answer = tool.call(self._packs, given)
        self._touch(answer.ids)
        return answer

    # -- the prompt ------------------------------------------------------------------------------------------------

    async def list_prompts(self, ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        return types.ListPromptsResult.model_validate(listed("prompts/list"))

    async def get_prompt(self, ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != PROMPT:
            raise MCPError(
                types.INVALID_PARAMS, f"name: {ascii(params.name)[:60]} is not a prompt; the only prompt is {PROMPT}"
            )
        given = dict(params.arguments or {})
        task = given.pop("task", "")
        if given:
            raise MCPError(
                types.INVALID_PARAMS,
                f"{ascii(min(given)).strip(chr(39))[:60]}: unknown argument; the only argument is task",
            )
        pack = await self._read(PROMPT, lambda: self._packs().recall_context(task, profile="session_start"))
        self._touch([item.id for item in pack.items])
        content = types.TextContent(type="text", text=pack.text)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    # -- resources -------------------------------------------------------------------------------------------------

    async def list_resources(self, ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """None: records are reached by the template, with the ids that the tools show."""
        return types.ListResourcesResult.model_validate(listed("resources/list"))

    async def list_resource_templates(
        self, ctx: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult.model_validate(listed("resources/templates/list"))

    async def read_resource(self, ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        one = uri.removeprefix(RECORD)
        if one == uri:
            raise MCPError(types.INVALID_PARAMS, f"uri: give {RECORD} and an id such as mem:1")
        record = await self._read("record", lambda: self._packs().get(one.replace("%3A", ":").replace("%3a", ":")))
        self._touch([record.id])
        contents = types.TextResourceContents(uri=params.uri, mime_type="text/plain", text=record.content)
        return types.ReadResourceResult(contents=[contents])

    async def _read(self, what: str, work: Callable[[], T]) -> T:
        """Run in a thread; an error is an error of the protocol, told in the same line as by a tool."""

        def allowed() -> T:
            self._allow(what, "memory:read")
            return work()

        try:
            return await self._in_thread(allowed)
        except ContextPacksError as error:
            code = types.INVALID_PARAMS if isinstance(error, InvalidField) or error.field else types.INTERNAL_ERROR
            raise MCPError(code, _line(error), data={"code": row_for(error).mcp}) from error


def _failed(error: Exception) -> types.CallToolResult:
    """An error as the model reads it: one line, which names the field; its class is in `_meta`.

    A fault of our own is told by its kind; where it came from is for the log, on stderr.
    """
    if isinstance(error, ContextPacksError):
        line, field = _line(error), error.field
    else:
        _log.error("a tool failed", exc_info=error)
        line, field = f"unexpected {type(error).__name__}: this is a bug in context-packs", None
    told = {"code": row_for(error).mcp, **({"field": well_formed(field)} if field else {})}
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=line)], is_error=True, _meta={f"{NAME}/error": told}
    )


def _line(error: ContextPacksError) -> str:
    return well_formed(" ".join(str(error).split()))


def _noted(answer: Answer, structured: bool) -> Answer:
    """The answer to a write whose request was repaired on the way in, with a note on that."""
    document = json.loads(answer.text)
    document["notes"] = [*document.get("notes", []), _NOTE]
    return Answer(compact(document), document if structured else None)
