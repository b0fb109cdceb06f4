"""The tools of the MCP door as data: names, descriptions, schemas, and which call answers.

Nothing here knows the protocol; `server` carries the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ...errors import ContextPacksError, Forbidden
from ...packing.profile import Profile, with_defaults
from ...packing.request import MAX_HOPS, MAX_ITEMS, MAX_TOKENS, PackRequest
from ...rows import MAX_REFS
from ..forms.arguments import checked
from ..forms.limits import LEAST_TOKENS, MOST_TOKENS, ROWS_TOKENS
from .answers import Answer, Arguments

if TYPE_CHECKING:
    from ...service import ContextPacks

Schema = dict[str, Any]


MAX_ROWS = 50  # rows of one answer; `more` says how many are left
FORGET_MODES = ("soft_delete", "hard_delete", "redact")


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `run` gets checked arguments; `output` is the schema of the structure, which comes beside the text
    where the profile is `structured`."""

    name: str
    description: str
    arguments: Schema
    output: Schema
    run: Callable[[ContextPacks, Arguments], Answer]
    read_only: bool = True
    destructive: bool = False
    structured: bool = False

    def definition(self) -> dict[str, Any]:
        """What `tools/list` says of the tool, as JSON."""
        shown = {
            "annotations": {
                "destructiveHint": self.destructive,
                "idempotentHint": True,
                "openWorldHint": False,
                "readOnlyHint": self.read_only,
            },
            "description": self.description,
            "inputSchema": _of_one_type(self.arguments),
            "name": self.name,
        }
        return {**shown, "outputSchema": self.output} if self.structured else shown

    def call(self, packs: Callable[[], ContextPacks], given: Mapping[str, Any]) -> Answer:
        """Check the arguments, then open the memory and answer. Raises ContextPacksError."""
        arguments = checked(self.arguments, given)
        memory = packs()
        agent = arguments.pop("agent_id", memory.viewer.agent_id)
        if agent != memory.viewer.agent_id:
            raise Forbidden("agent_id: this connection speaks for another agent; leave it out", field="agent_id")
        try:
            answer = self.run(memory, arguments)
        except ContextPacksError as error:
            raise self._named(error) from error
        ids = answer.ids or _ids(answer.document or {})
        if not self.structured or answer.document is None:
            return Answer(answer.text, ids=ids)
        fitted: Answer = _calls().fitting(memory, answer.text, answer.document)
        return replace(fitted, ids=ids)

    def _named(self, error: ContextPacksError) -> ContextPacksError:
        """The error with its field as this tool calls it: the library has names of its own for some."""
        field = error.field or ""
        if field in self.arguments["properties"] or _CALLED.get(field) not in self.arguments["properties"]:
            return error
        called = _CALLED[field]
        return type(error)(f"{called}{str(error).removeprefix(field)}", field=called)


_CALLED = {
    "id": "ref",
    "type": "memory_type",
    "thread_id": "id",
    "worker_id": "id",
    "trigger_id": "id",
    "start": "cursor",
}
"""Names that the library has for what is an argument of a tool under another one."""


def _calls() -> ModuleType:
    """What the tools do; with the library behind it, which lists of tools do not wait for."""
    from . import calls

    return calls


def _of_one_type(schema: Any) -> Any:
    """A schema in which each type is one, the first of several: some clients refuse a server for a list of types. What
    is taken is more than what is promised."""
    if isinstance(schema, list):
        return [_of_one_type(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    single = {name: _of_one_type(value) for name, value in schema.items()}
    if isinstance(single.get("type"), list):
        single["type"] = single["type"][0]
    return single


def _ids(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The ids that a document of rows, or of one write, names."""
    named = [document.get("id"), *(row.get("ref") for row in document.get("messages", ()))]
    return tuple(one for one in named if isinstance(one, str))


def tools(profile: Profile) -> tuple[Tool, ...]:
    """The tools of a profile: eight, of which only `recall_context` takes other arguments."""
    structured = profile.answer == "pack"
    return tuple(replace(tool, structured=structured) for tool in _tools(profile))


def unlisted(profile: Profile) -> tuple[Tool, ...]:
    """Tools that clients call without looking whether they are there; a model has no use for them."""
    return (
        Tool(
            "get_mcp_identity",
            "Whom the connection speaks for.",
            _object({}),
            _structure("agent_id"),
            lambda packs, given: _calls().identity(packs),
            structured=profile.answer == "pack",
        ),
    )


def _tools(profile: Profile) -> tuple[Tool, ...]:
    return (
        _recall_context(profile),
        _recall(profile),
        _recall_with_context(profile),
        _get_contents(),
        _search_memory(profile),
        _get_chain(),
        _remember(),
        _forget(),
    )


def _recall(profile: Profile) -> Tool:
    return Tool(
        "recall",
        _told(
            f"""
            Stored records that bear on `query`, best first, as rows: ref, content (at most 500 characters; of a
            longer record `excerpt` has what matches), source, timestamp, confidence. Use it to look at single
            memories and their refs. Not to start a task: recall_context costs less; for only certain matches
            search_memory. full_content brings whole rows, up to 200,000 characters. Keeps to max_tokens
            ({ROWS_TOKENS}, with full_content and at most {MOST_TOKENS}); refs in `deferred` found no
            room: get_contents. `more` counts further rows: call again with what you have as exclude_ids."""
        ),
        _object({**_QUERY, **_ROWS, "exclude_contents": _TEXTS, "full_content": _FLAG, **_FILTERS, **_AGENT}, "query"),
        _MESSAGES,
        lambda packs, given: _calls().recall(packs, profile, given),
    )


def _recall_with_context(profile: Profile) -> Tool:
    return Tool(
        "recall_with_context",
        _told(
            f"""
            As recall, when you hold a conversation: give its messages as external_context. Stored rows that say the
            same are left out; the conversation comes back behind the rows, trimmed, without refs. Not for a
            question on its own: recall. Keeps to max_tokens ({ROWS_TOKENS}; at most {MOST_TOKENS})."""
        ),
        _object(
            {
                **_QUERY,
                "external_context": {
                    "type": "array",
                    "items": {"type": ["string", "object"]},
                    "description": "texts, or objects with content and maybe role, source, timestamp, id",
                },
                **_ROWS,
                "exclude_contents": _TEXTS,
                "full_content": _FLAG,
                **_FILTERS,
                **_AGENT,
            },
            "query",
            "external_context",
        ),
        _MESSAGES,
        lambda packs, given: _calls().recall(packs, profile, given),
    )


def _get_contents() -> Tool:
    return Tool(
        "get_contents",
        _told(
            f"""
            Whole records by ref (mem:1, ep:2), in the order asked for, 1 to {MAX_REFS} refs. Use it for refs that
            were shown shortened. It does not search. Refs that name nothing you may see are in `missing`. Keeps to
            max_tokens (at most and unless given {MOST_TOKENS}); records that do not fit are in `deferred`, never
            cut."""
        ),
        _object(
            {
                "refs": {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": MAX_REFS},
                "max_tokens": _MOST,
                **_AGENT,
            },
            "refs",
        ),
        _CONTENTS,
        lambda packs, given: _calls().get_contents(packs, given),
    )


def _search_memory(profile: Profile) -> Tool:
    return Tool(
        "search_memory",
        _told(
            f"""
            Only records that contain the words of `query`, as rows like those of recall; empty means that there
            are none. Use it to check whether something is stored, before you remember or forget it; query * lists
            the newest. Not for what bears on a question: recall. Keeps to max_tokens ({ROWS_TOKENS}; at most
            {MOST_TOKENS})."""
        ),
        _object({"query": {"type": "string", "minLength": 1}, **_ROWS, **_FILTERS}, "query"),
        _MESSAGES,
        lambda packs, given: _calls().search(packs, profile, given),
    )


def _get_chain() -> Tool:
    return Tool(
        "get_chain",
        _told(
            f"""
            A thread (thr_), worker (wkr_) or trigger (trg_) by exact id, to walk from a line to its cause: thread,
            reports of its workers, triggers they cite. part events: the triggers of a thread in order; payload:
            what a trigger received. next_cursor goes on, resume_cursor later. Not a search. Keeps to max_tokens
            ({ROWS_TOKENS}; at most {MOST_TOKENS})."""
        ),
        _object(
            {
                "id": _TEXT,
                "part": {"type": "string", "enum": ["events", "payload"]},
                "cursor": _TEXT,
                "max_tokens": _MOST,
            },
            "id",
        ),
        {"type": "object"},
        lambda packs, given: _calls().get_chain(packs, given),
    )


def _remember() -> Tool:
    return Tool(
        "remember",
        _told(
            """
            Keep one fact, decision or event for later sessions, so that it can be understood alone: names, reasons,
            dates; one subject a record. Not for secrets, nor for what the project's files say already. The same
            content at the same path gives the id that is there (status existing). supersedes: a ref that this
            replaces."""
        ),
        _object(
            {
                "content": {"type": "string", "minLength": 1},
                "path": {"type": "string", "description": "where it belongs: project/decisions"},
                "memory_type": {"type": "string", "description": "decision, task, fact, ..."},
                "title": _TEXT,
                "scope": _TEXT,
                "idempotency_key": {"type": "string", "description": "the same key never writes twice"},
                "supersedes": _TEXT,
                "expires_at": {"type": "string", "description": "RFC 3339"},
                "pinned": _FLAG,
            },
            "content",
        ),
        _structure("id", "status"),
        lambda packs, given: _calls().remember(packs, given),
        read_only=False,
    )


def _forget() -> Tool:
    return Tool(
        "forget",
        _told(
            """
            Forget one record of your own by its ref, only when asked to or when it is wrong; to replace one,
            remember with supersedes. soft_delete hides it, hard_delete erases its text (labels: its path and keys
            too), redact erases the text and leaves the record. `derived` may repeat it."""
        ),
        _object(
            {
                "ref": _TEXT,
                "mode": {"type": "string", "enum": list(FORGET_MODES), "default": "soft_delete"},
                "labels": _FLAG,
            },
            "ref",
        ),
        _structure("id", "status"),
        lambda packs, given: _calls().forget(packs, given),
        read_only=False,
        destructive=True,
    )


def _told(text: str) -> str:
    """A description without the line breaks of this file."""
    return " ".join(text.split())


# ---- schemas


def _object(properties: Schema, *required: str) -> Schema:
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def _whole(least: int, most: int, default: int | None = None) -> Schema:
    schema: Schema = {"type": "integer", "minimum": least, "maximum": most}
    return schema if default is None else {**schema, "default": default}


def _structure(*names: str) -> Schema:
    """What an answer always has; it may have more."""
    return {"type": "object", "required": list(names)}


_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
_FLAG: Schema = {"type": "boolean"}
_QUERY: Schema = {"query": _TEXT}
_MOST = _whole(LEAST_TOKENS, MOST_TOKENS)
_ROWS: Schema = {"limit": _whole(0, MAX_ROWS, 10), "max_tokens": _MOST}
_FILTERS: Schema = dict.fromkeys(("path", "memory_type", "scope", "since", "until"), _TEXT) | {"exclude_ids": _TEXTS}
_AGENT: Schema = {"agent_id": _TEXT}
_MESSAGES: Schema = _structure("messages")
_CONTENTS: Schema = _structure("messages", "missing")
_PACK: Schema = {
    **_structure("version", "retrieval_plan", "budget", "items", "decisions", "context_text"),
    "properties": {
        "budget": _structure("used_items", "used_tokens", "encoding", "state"),
        "items": {"type": "array"},
    },
}


# ---- recall_context


def _recall_context(profile: Profile) -> Tool:
    limits = with_defaults(PackRequest(), profile)
    public = profile.answer == "text"
    properties: Schema = {
        "query": {"type": "string", "minLength": 1} if public else _TEXT,
        "max_items": _whole(1, MAX_ITEMS, limits.max_items),
        "max_tokens": _whole(1, MAX_TOKENS, limits.max_tokens),
    }
    told = "as text: `Reference:` lines with ids, then numbered sections." if public else "as sections and numbers."
    if not public:
        names = ("scope", "bucket", "team_id", "path", "memory_type", "status", "source", "since", "until", "as_of")
        properties |= {
            "max_chars": {"type": "integer", "minimum": 1},
            **dict.fromkeys(names, _TEXT),
            "history": _FLAG,
            "hops": _whole(0, MAX_HOPS),
            "fill": {"enum": ["relevant", "budget"]},
            "exclude_contents": _TEXTS,
            "exclude_ids": _TEXTS,
        }
        told += " A blank query restores: pinned, open work, recent decisions."
    return Tool(
        "recall_context",
        _told(
            f"""What is stored that bears on `query`, packed into a ceiling of tokens, {told} Use it first when you
            start a session or task, or when earlier decisions, preferences or events may matter. Not for one known
            record (get_contents), nor to check whether something is stored (search_memory). At most max_tokens
            ({limits.max_tokens} unless given) and max_items. The answer says what was shortened
            or dropped: ask with more tokens, or get_contents."""
        ),
        _object(properties, *(["query"] if public else [])),
        _PACK,
        lambda packs, given: _calls().pack(packs, profile, given),
    )
