"""Memories over REST, as XMemo clients call them, and the rows of recall."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response

from context_packs.store.access.tokens import READ

from ....errors import Gone, InvalidField, NotFound
from ....packing.request import MAX_ITEMS
from ....rows import MAX_REFS
from ....service import ContextPacks
from ....work import in_place, mark_used
from ...forms.bounded import contents_within, rows_within
from ...forms.documents import forgotten_document
from ...forms.limits import LEAST_TOKENS
from ..answers import ABSENT, answer, exact
from ..gate import Caller, Reads, Writes
from ..models.fields import (
    Filtered,
    Key,
    Metadata,
    RecallContextIn,
    SearchIn,
    Share,
    assert_place,
    assert_team,
    filters_of,
    placed,
    profile_of,
)
from ..models.memory import (
    ContentsOut,
    ContextOut,
    ExplainOut,
    ForgottenOut,
    MemoryOut,
    ResultsOut,
    RowsOut,
    UsageOut,
    WrittenOut,
)
from ..requests import Body, DoorRoute, IdempotencyKey, one_key
from ..xmemo import context_document, explanation, memory_document, results_document, written_document

MOST_TOKENS = 1_000_000  # of an answer with rows: no host stands behind this door that would refuse more

router = APIRouter(route_class=DoorRoute)


# ---- packs


@router.post("/v1/recall/context", response_model=ContextOut)
def recall_context(body: RecallContextIn, caller: Reads) -> Response:
    """What is stored that bears on a query, packed into a ceiling of tokens; a blank query restores a session."""
    profile = profile_of(caller, body.profile)
    fields = filters_of(caller, body)
    if body.limit is not None:
        fields["max_items"] = min(body.limit, fields.get("max_items") or profile.defaults.max_items or 8, MAX_ITEMS)
    pack = caller.packs.recall_context(body.query, profile=profile.name, **fields)
    return answer(context_document(pack, caller, profile, fields))


# ---- rows


class RowsIn(Filtered):
    """A request for rows; `max_tokens` is a ceiling of the serialized answer."""

    query: str
    limit: Annotated[int, Field(ge=0, le=MAX_ITEMS)] = 10
    full_content: bool = False
    max_tokens: Annotated[int, Field(ge=LEAST_TOKENS, le=MOST_TOKENS)] = MOST_TOKENS


class ContextRowsIn(RowsIn):
    """The same, beside a conversation that the caller has."""

    external_context: list[str | dict[str, Any]]


class RefsIn(Body):
    """Ids of records, such as mem:1."""

    refs: Annotated[list[str], Field(min_length=1, max_length=MAX_REFS)]
    max_tokens: Annotated[int, Field(ge=LEAST_TOKENS, le=MOST_TOKENS)] = MOST_TOKENS


@router.post("/v1/recall", response_model=RowsOut)
def recall(body: RowsIn, caller: Reads) -> Response:
    """Stored records that bear on a query, best first: previews, excerpts where they were cut, and refs."""
    return _rows(body, caller)


@router.post("/v1/recall_with_context", response_model=RowsOut)
def recall_with_context(body: ContextRowsIn, caller: Reads) -> Response:
    """As recall, for a caller who has a conversation: what it says is left out and comes back behind the rows."""
    return _rows(body, caller, body.external_context)


def _rows(body: RowsIn, caller: Caller, context: list[str | dict[str, Any]] | None = None) -> Response:
    packs, profile = caller.packs, profile_of(caller)
    fields = filters_of(caller, body, "full_content", "max_tokens", "external_context")
    rows = (
        packs.recall(body.query, body.limit, **fields)
        if context is None
        else packs.recall_with_context(body.query, context, body.limit, **fields)
    )
    caller.touch(*(row.ref for row in rows))
    document = rows_within(
        rows,
        body.query,
        packs.settings,
        count=packs.count_tokens,
        max_tokens=body.max_tokens,
        full_content=body.full_content,
        order=profile.order,
    )
    return answer(document)


@router.post("/v1/get_contents", response_model=ContentsOut)
def get_contents(body: RefsIn, caller: Reads) -> Response:
    """Whole records by ref, in the order asked for."""
    contents = caller.packs.get_contents(body.refs)
    caller.touch(*(record.id for record in contents.records))
    return answer(contents_within(contents, count=caller.packs.count_tokens, max_tokens=body.max_tokens))


# ---- search


def _search(params: SearchIn, caller: Caller) -> Response:
    rows = caller.packs.search_memory(params.query, params.limit, **filters_of(caller, params))
    return answer(results_document(rows, caller, profile_of(caller), explain=params.explain))


@router.get("/v1/memories/search", response_model=ResultsOut)
def search(params: Annotated[SearchIn, Query()], caller: Reads) -> Response:
    """Only records that contain the words of the query; `*` lists the newest, an id finds that record."""
    return _search(params, caller)


@router.get("/v1/recall", response_model=ResultsOut)
def search_again(params: Annotated[SearchIn, Query()], caller: Reads) -> Response:
    """The same as a search, under the name that some clients call."""
    return _search(params, caller)


# ---- writes


class RememberIn(Body):
    """A record to keep; null is the same as nothing, and a `memory_type` of `auto` too."""

    content: Annotated[str, Field(min_length=1)]
    path: str | None = None
    bucket: str | None = None
    scope: str | None = None
    team_id: str | None = None
    memory_type: str | None = None
    title: str | None = None
    status: str | None = None
    importance: Share | None = None
    confidence: Share | None = None
    dedupe: Annotated[bool | None, Field(description="false: the same text in the same place once more")] = None
    semantic_key: Annotated[str | None, Field(description="replaces what was said about the same")] = None
    expires_at: Annotated[str | None, Field(description="RFC 3339")] = None
    timestamp: Annotated[str | None, Field(description="RFC 3339: when it happened or was said")] = None
    source: str | dict[str, Any] | None = None
    provenance: Metadata = None
    metadata: Metadata = None
    pinned: bool | None = None
    supersedes: Annotated[str | None, Field(description="the id that this replaces")] = None
    external_id: Annotated[str | None, Field(description="the caller's own id")] = None
    idempotency_key: Key = None


@router.post("/v1/remember", response_model=WrittenOut, responses={201: {"model": WrittenOut}, 404: ABSENT[404]})
def remember(body: RememberIn, caller: Writes, header_key: IdempotencyKey) -> Response:
    """Keep one record: 201 where it is new, 200 with the id that is there where it says what is stored already."""
    given = body.model_dump(exclude_none=True)
    key = one_key(header_key, given.pop("idempotency_key", None))
    kind = given.pop("memory_type", "")
    fields = {name: value for name, value in given.items() if name not in ("content", "provenance")}
    written = caller.packs.remember(
        body.content,
        **{**fields, **placed(caller, given)},
        type="" if kind == "auto" else kind,
        idempotency_key=key,
    )
    return answer(written_document(written, caller), 201 if written.created else 200)


class PatchIn(Body):
    """What changes; null changes nothing, but for `expires_at`, which it takes away."""

    content: str | None = None
    title: str | None = None
    path: str | None = None
    bucket: str | None = None
    scope: str | None = None
    team_id: str | None = None
    memory_type: str | None = None
    status: str | None = None
    importance: Share | None = None
    confidence: Share | None = None
    source: str | dict[str, Any] | None = None
    provenance: Metadata = None
    metadata: Metadata = None
    pinned: bool | None = None
    expires_at: Annotated[str | None, Field(description="RFC 3339, or null: for good")] = None
    merge_metadata: Annotated[bool | None, Field(description="false: metadata and source take the place")] = None
    merge_provenance: Annotated[bool | None, Field(description="the same as merge_metadata")] = None
    detect_conflicts: Annotated[bool | None, Field(description="accepted; has no effect")] = None
    idempotency_key: Key = None


_FLAGS = frozenset(("merge_metadata", "merge_provenance", "detect_conflicts", "idempotency_key"))


@router.get("/v1/memories/{id}", response_model=MemoryOut)
def read(request: Request, id: str, caller: Reads, bucket: str | None = None, scope: str | None = None) -> Response:
    """One record, whole, exactly by its id."""
    record = _found(caller.packs, id, bucket, scope)
    return exact(request, memory_document(record, caller, profile_of(caller)))


@router.get("/v1/memories/{id}/explain", response_model=ExplainOut)
def explain(
    request: Request,
    id: str,
    caller: Reads,
    bucket: str | None = None,
    scope: str | None = None,
    team_id: str | None = None,
    include_embedding: Annotated[bool, Query(description="vectors are never returned")] = False,
) -> Response:
    """One record, whole, and why it is there."""
    assert_team(caller, team_id)
    record = _found(caller.packs, id, bucket, scope)
    profile = profile_of(caller)
    document = memory_document(record, caller, profile)
    if profile.answer == "pack":
        document["why"] = explanation(record)
    return exact(request, document)


def _found(packs: ContextPacks, id: str, bucket: str | None, scope: str | None) -> Any:
    record = packs.get(id)
    if not in_place(record, bucket, scope):
        raise NotFound(f"id: there is no record {id} in that bucket and scope", field="id")
    return record


@router.patch("/v1/memories/{id}", response_model=MemoryOut)
def patch(id: str, body: PatchIn, caller: Writes, header_key: IdempotencyKey) -> Response:
    """Write the next version of a record of one's own; its id stays. Needs the scope to read too."""
    caller.need(READ)
    given = body.model_dump(exclude_none=True)
    key = one_key(header_key, given.get("idempotency_key"))
    assert_place(caller, given)
    changes = {name: value for name, value in given.items() if name not in _FLAGS}
    if "expires_at" in body.model_fields_set and body.expires_at is None:
        changes["expires_at"] = None
    if changes.get("memory_type") == "auto":
        del changes["memory_type"]
    merge = body.merge_metadata is not False and body.merge_provenance is not False
    caller.packs.revise(id, merge=merge, idempotency_key=key, **changes)
    return answer(memory_document(caller.packs.get(id), caller, profile_of(caller)))


class ForgetIn(Body):
    """How to forget. The reason is not kept."""

    mode: Literal["soft_delete", "hard_delete", "redact"] = "soft_delete"
    labels: Annotated[
        bool, Field(description="erase path, type, scope and external id too; with hard_delete also a name")
    ] = False
    reason: str | None = None
    replacement_content: str | None = None
    bucket: str | None = None
    scope: str | None = None
    idempotency_key: Key = None


@router.post("/v1/memories/{id}/forget", response_model=ForgottenOut)
def forget(id: str, caller: Writes, header_key: IdempotencyKey, body: ForgetIn | None = None) -> Response:
    """Forget a record of one's own: hide it, erase its text, or erase the text and keep the record.

    Erased bytes stay in unused parts of the file until `compact` has run; `derived` names what may repeat the text.
    """
    body = body or ForgetIn()
    key = one_key(header_key, body.idempotency_key)
    if body.replacement_content is not None:
        raise InvalidField(
            "replacement_content: a forgotten record takes no text; remember it with supersedes",
            field="replacement_content",
        )
    packs = caller.packs
    if not (body.bucket in (None, "", "%") and body.scope in (None, "", "%")):
        _found(packs, id, body.bucket, body.scope)
    told = {"id": id, "status": body.mode}
    try:
        told = forgotten_document(packs.forget(id, body.mode, labels=body.labels))
    except Gone:
        if key is None:  # with a key it may be the same request once more: what it asked for is so
            raise
    return answer({**told, "memory_id": id})


class UsageIn(Body):
    """How a memory was used."""

    action: Annotated[str, Field(min_length=1, max_length=200)] = "used"
    context: str | None = None
    usage_tracking_id: str | None = None
    metadata: Metadata = None
    idempotency_key: Key = None


@router.post("/v1/memories/{id}/usage", response_model=UsageOut, responses={201: {"model": UsageOut}})
def usage(id: str, caller: Writes, header_key: IdempotencyKey, body: UsageIn | None = None) -> Response:
    """Note that a memory was used; notes are found only by their type, `usage`."""
    body = body or UsageIn()
    facts = dict(body.metadata or {})
    if body.usage_tracking_id is not None:
        facts["usage_tracking_id"] = body.usage_tracking_id
    key = one_key(header_key, body.idempotency_key)
    note = mark_used(caller.packs, id, body.action, body.context or "", metadata=facts, idempotency_key=key)
    caller.touch(id)
    document = {"id": id, "memory_id": id, "usage_id": note.id, "status": "recorded" if note.created else "existing"}
    return answer(document, 201 if note.created else 200)
