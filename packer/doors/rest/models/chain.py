"""Requests and answers of the chain of recall, as `/openapi.json` describes them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ..requests import Body

ThreadId = Annotated[str, Field(pattern=r"^thr_[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}$", examples=["thr_pr_412"])]
TriggerId = Annotated[str, Field(pattern=r"^trg_[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}$", examples=["trg_8f21"])]
WorkerId = Annotated[str, Field(pattern=r"^wkr_[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}$", examples=["wkr_77a0"])]
AnyId = Annotated[str, Field(description="of a thread, worker, trigger, memory or episode", examples=["mem:1"])]

# ---- requests


class ThreadPost(Body):
    """A thread; the same `natural_key` answers with the thread that has it."""

    thread_id: ThreadId | None = None
    summary: str = ""
    natural_key: str | None = None
    status: str = "open"
    path: str = ""
    scope: str = ""
    bucket: str = ""
    team_id: str = ""


class ThreadPatch(Body):
    """What a thread says from now on; what is not given stays."""

    summary: str | None = None
    status: str | None = None


class TriggerPost(Body):
    """A received event; the same `external_id` answers with the trigger that has it."""

    thread_id: ThreadId
    source: Annotated[
        str | dict[str, Any], Field(description="where it came from, by name or as an object with `name`")
    ]
    trigger_id: TriggerId | None = None
    summary: Annotated[str, Field(description="one line; made of the payload where none is given")] = ""
    payload: Annotated[Any, Field(description="any JSON or text; null for none")] = None
    media_type: Annotated[str | None, Field(description="of a text payload")] = None
    occurred_at: Annotated[str | int | float | None, Field(description="RFC 3339, or seconds since 1970")] = None
    external_id: str | None = None


class WorkerPost(Body):
    """An isolated session that works on a task."""

    task: str
    threads: list[ThreadId] = Field(default_factory=list)
    worker_id: WorkerId | None = None


class ReportPost(Body):
    """What a worker found, and the ids that it rests on."""

    report: str
    cites: list[AnyId] = Field(default_factory=list)


class LinkPost(Body):
    """A link from one record to another."""

    from_id: Annotated[AnyId, Field(alias="from")]
    to_id: Annotated[AnyId, Field(alias="to")]
    rel: Annotated[str, Field(description="one line of at most 64 characters", examples=["caused_by"])]


# ---- answers


class _Placed(BaseModel):
    created_at: str
    updated_at: str
    version: int
    path: str
    scope: str
    bucket: str
    team_id: str
    links: list[str]


class _Noted(BaseModel):
    notes: Annotated[list[str] | None, Field(description="of a write: what was not applied")] = None


class ThreadOut(_Placed, _Noted):
    """A thread; `links` are ids that links lead to or come from."""

    thread_id: ThreadId
    summary: str
    status: str
    natural_key: str | None
    owner_workers: list[WorkerId]
    event_count: int
    last_event_at: str | None


class ThreadLine(BaseModel):
    """A thread by its one line."""

    thread_id: ThreadId
    summary: str
    status: str
    natural_key: str | None
    event_count: int
    last_event_at: str | None
    updated_at: str


class ThreadsOut(BaseModel):
    """A page of threads, newest first; `next_cursor` null is the end."""

    threads: list[ThreadLine]
    next_cursor: str | None


class WorkerOut(_Placed):
    """A worker; `report` is blank until there is one."""

    worker_id: WorkerId
    threads: list[ThreadId]
    task: str
    status: str
    report: str
    cites: list[AnyId]


class TriggerOut(_Noted):
    """A trigger, inline. `payload` is there for a small one, `spilled` says how to get a larger one and how large."""

    trigger_id: TriggerId
    source: str
    thread_id: ThreadId
    summary: str
    occurred_at: str
    received_at: str
    external_id: str | None
    neighbours: Annotated[list[str], Field(description="`<id>: <summary>` of what stands before and after it")]
    links: Annotated[list[str], Field(description="`<id>: <summary>` of what links lead to")]
    spilled: Annotated[dict[str, str], Field(description="name → `GET <route> (<size>, truncated)`")]
    payload: Annotated[Any, Field(description="the JSON value, or the text")] = None


class EventsOut(BaseModel):
    """A page of a thread in the order of arrival. `next_cursor` null is the end; `resume_cursor` stands behind the last
    event given: what has arrived since is read from it later."""

    events: list[TriggerOut]
    next_cursor: str | None
    resume_cursor: str


class LinkOut(BaseModel):
    """A link."""

    model_config = ConfigDict(serialize_by_alias=True)

    from_id: Annotated[str, Field(alias="from")]
    to_id: Annotated[str, Field(alias="to")]
    rel: str
