"""Chain of recall over HTTP: threads, triggers, workers and links, written once and read exactly by id.

Ids walk: a thread names its workers, a worker's report the triggers it rests on, a trigger where its payload is.
A write answers with the object; without the scope to read only with what says that it is kept.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from pydantic import BaseModel
from starlette.responses import Response

from context_packs.store.records import Written

from ...forms.chain import (
    Document,
    events_document,
    link_document,
    receipt,
    thread_document,
    threads_document,
    trigger_document,
    worker_document,
)
from ..answers import ABSENT, answer, asked_range, exact, tagged, whole_after_all
from ..gate import READ, Caller, Reads, Writes
from ..models.chain import (
    EventsOut,
    LinkOut,
    LinkPost,
    ReportPost,
    ThreadOut,
    ThreadPatch,
    ThreadPost,
    ThreadsOut,
    TriggerOut,
    TriggerPost,
    WorkerOut,
    WorkerPost,
)
from ..models.fields import assert_place
from ..problems import Problem, problem
from ..requests import Body, DoorRoute

router = APIRouter(route_class=DoorRoute)

Answers = dict[int | str, dict[str, Any]]

_EXACT: Answers = {304: {"description": "The client has it: If-None-Match names its ETag"}}
_CURSOR: Answers = {409: {"model": Problem, "description": "The cursor belongs to another query"}}
_RANGES: Answers = {
    200: {"description": "The bytes as received", "content": {"*/*": {}}},
    206: {"description": "The range of bytes asked for", "content": {"*/*": {}}},
    416: {"model": Problem, "description": "There are no bytes in that range"},
}
# What was received from anywhere is never run by a browser as a page of this server.
_INERT = {"Content-Security-Policy": "sandbox; default-src 'none'", "Content-Disposition": "attachment"}

Cursor = Annotated[str | None, Query(max_length=1000, description="where to go on, as a page before said it")]
Limit = Annotated[int, Query(ge=1, le=200, description="the most entries of the page")]


def _made(model: type[BaseModel], what: str) -> Answers:
    old, new = {"model": model, "description": f"The {what} that is there"}, {"description": f"The new {what}"}
    return {200: old, 201: new, **ABSENT}


def _written(caller: Caller, written: Written, document: Document, route: str, *given: str) -> Response:
    """201 with what is new, 200 with what is there; `given` are the fields that come from this request."""
    new = written.created or written.updated
    told = _told(caller, document, *(given if new else ()))
    if written.notes:
        told = {**told, "notes": list(written.notes)}
    return answer(told, 201, {"Location": f"/{route}/{written.id}"}) if new else answer(told)


def _told(caller: Caller, document: Document, *given: str) -> Document:
    return document if READ in caller.scopes else receipt(document, *given)


def _fields(body: Body) -> dict[str, Any]:
    """What a request names, without what it leaves to the library."""
    return body.model_dump(exclude_unset=True)


# ---- threads


@router.post("/threads", status_code=201, response_model=ThreadOut, responses=_made(ThreadOut, "thread"))
def create_thread(body: ThreadPost, caller: Writes) -> Response:
    """Begin a thread. The same natural key answers with the thread that has it."""
    assert_place(caller, _fields(body))
    written = caller.packs.threads.create(**_fields(body))
    caller.touch(written.id)
    document = thread_document(caller.packs.threads.get(written.id))
    return _written(caller, written, document, "threads", "summary")


@router.get("/threads", response_model=ThreadsOut, responses=_CURSOR)
def list_threads(caller: Reads, status: str | None = None, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """The index to start from: threads by one line each, newest first; `status` is exact, `%` means all."""
    page = caller.packs.threads.list(None if status in ("", "%") else status, cursor, limit)
    caller.touch(*(one.id for one in page.threads))
    return answer(threads_document(page))


@router.get("/threads/{id}", response_model=ThreadOut, responses=_EXACT)
def read_thread(request: Request, id: str, caller: Reads) -> Response:
    """A thread with its workers, and how many events it has."""
    caller.touch(id)
    return exact(request, thread_document(caller.packs.threads.get(id)))


@router.patch("/threads/{id}", response_model=ThreadOut)
def update_thread(id: str, body: ThreadPatch, caller: Writes) -> Response:
    """Another summary or status; what is not given stays."""
    caller.touch(id)
    caller.packs.threads.update(id, **_fields(body))
    return answer(_told(caller, thread_document(caller.packs.threads.get(id))))


@router.get("/threads/{id}/events", response_model=EventsOut, responses=_CURSOR)
def read_events(id: str, caller: Reads, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """The events of a thread in the order in which they arrived, every one once. `next_cursor` null is the only end;
    `resume_cursor` gives, later, what has arrived since."""
    page = caller.packs.threads.events(id, cursor, limit)
    caller.touch(id, *(one.id for one in page.events))
    return answer(events_document(page))


# ---- triggers


@router.post("/triggers", status_code=201, response_model=TriggerOut, responses=_made(TriggerOut, "trigger"))
def add_trigger(body: TriggerPost, caller: Writes) -> Response:
    """Keep an event. The same external id answers with the trigger that has it."""
    written = caller.packs.threads.add_trigger(**_fields(body))
    caller.touch(written.id)
    document = trigger_document(caller.packs.threads.get_trigger(written.id))
    return _written(caller, written, document, "triggers", "summary", "payload", "spilled")


@router.get("/triggers/{id}", response_model=TriggerOut, responses=_EXACT)
def read_trigger(request: Request, id: str, caller: Reads) -> Response:
    """A trigger, inline: its line, what stands beside it, and its payload or where to get that."""
    caller.touch(id)
    return exact(request, trigger_document(caller.packs.threads.get_trigger(id)))


@router.get("/triggers/{id}/payload", response_class=Response, responses={**_RANGES, **_EXACT})
def read_payload(
    request: Request,
    id: str,
    caller: Reads,
    range: Annotated[str | None, Header(description="one range of bytes (RFC 9110, section 14)")] = None,
    if_range: Annotated[str | None, Header(description="the ETag that the range is of")] = None,
) -> Response:
    """The bytes as received, or one range of them."""
    caller.touch(id)
    payload = caller.packs.threads.payload(id)
    told = tagged(request, payload.body, payload.media_type)
    told.headers.update({"Accept-Ranges": "bytes", **_INERT})
    asked = None if told.status_code == 304 or whole_after_all(if_range, told.headers["ETag"]) else range
    part = asked_range(asked, payload.size)
    if part is None:
        return told
    start, stop = part
    if start == stop:
        span = {"Content-Range": f"bytes */{payload.size}"}
        return problem(416, f"Range: there are {payload.size} bytes", "range_not_satisfiable", "Range", span)
    kept = ("etag", "cache-control", "accept-ranges", "content-security-policy", "content-disposition")
    headers = {name: told.headers[name] for name in kept}
    headers["Content-Range"] = f"bytes {start}-{stop - 1}/{payload.size}"
    return Response(payload.body[start:stop], 206, headers, payload.media_type)


# ---- workers


@router.post("/workers", status_code=201, response_model=WorkerOut, responses=_made(WorkerOut, "worker"))
def create_worker(body: WorkerPost, caller: Writes) -> Response:
    """Begin the work of an isolated session on a task."""
    written = caller.packs.threads.create_worker(**_fields(body))
    caller.touch(written.id)
    document = worker_document(caller.packs.threads.get_worker(written.id))
    return _written(caller, written, document, "workers", "task", "threads")


@router.get("/workers/{id}", response_model=WorkerOut, responses=_EXACT)
def read_worker(request: Request, id: str, caller: Reads) -> Response:
    """A worker with its task, its report and what that cites."""
    caller.touch(id)
    return exact(request, worker_document(caller.packs.threads.get_worker(id)))


@router.post(
    "/workers/{id}/report", status_code=201, response_model=WorkerOut, responses=_made(WorkerOut, "worker's report")
)
def report(id: str, body: ReportPost, caller: Writes) -> Response:
    """What a worker found, with the ids that it rests on. The same report again answers 200 and changes nothing."""
    caller.touch(id, *body.cites)
    written = caller.packs.threads.report(id, body.report, body.cites)
    return _written(caller, written, worker_document(caller.packs.threads.get_worker(id)), "workers", "report", "cites")


# ---- links


@router.post("/links", status_code=201, response_model=LinkOut, responses=_made(LinkOut, "link"))
def link(body: LinkPost, caller: Writes) -> Response:
    """Link two records that the caller sees."""
    caller.touch(body.from_id, body.to_id)
    made = caller.packs.threads.link(body.from_id, body.to_id, body.rel)
    return answer(link_document(made), 201 if made.created else 200)
