"""Threads, triggers and workers as a caller gives them → checked. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from ..errors import InvalidField
from ..memory.prepare import Key, Label, Prepared, RecordIn, header_of, invalid, prepare, repair, source_name
from ..records import PREFIX, Kind, is_id, parse_name
from ..text.clean import blank
from ..times import parse_time
from ..values import Viewer
from .texts import MAX_SUMMARY_CHARS, one_line, payload_of, readable, summary_of, value_of

MAX_TEXT_CHARS = 1_000_000
MAX_CITES = 1000
MAX_THREADS = 100
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def _text(value: object) -> object:
    return repair(value) if isinstance(value, str) else value


def _line(value: object) -> object:
    return one_line(_CONTROL.sub(" ", repair(value))) if isinstance(value, str) else value


def _filled(value: str) -> str:
    if blank(value):
        raise ValueError("is blank: give it a text")
    return value


def _name(kind: Kind) -> AfterValidator:
    def check(value: str) -> str:
        if parse_name(value) != kind:
            raise ValueError(f"{ascii(value)[:40]} is not an id like {PREFIX[kind]}_8f21")
        return value

    return AfterValidator(check)


Line = Annotated[str, BeforeValidator(_line), Field(strict=True, max_length=MAX_SUMMARY_CHARS)]
Text = Annotated[str, BeforeValidator(_text), Field(strict=True, max_length=MAX_TEXT_CHARS), AfterValidator(_filled)]
ThreadName = Annotated[str, Field(strict=True), _name("thread")]
TriggerName = Annotated[str, Field(strict=True), _name("trigger")]
WorkerName = Annotated[str, Field(strict=True), _name("worker")]


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ThreadIn(_Given):
    """A new thread. Without a summary its natural key stands for it; without a status it is open."""

    thread_id: ThreadName | None = None
    summary: Line = ""
    natural_key: Key | None = None
    status: Label = ""
    path: Label = ""
    scope: Label = ""
    bucket: Label = ""
    team_id: Label = ""


class ThreadChanges(_Given):
    """What a thread shall say from now on; None leaves it."""

    summary: Annotated[Line, AfterValidator(_filled)] | None = None
    status: Annotated[Label, AfterValidator(_filled)] | None = None


class TriggerIn(_Given):
    """A received event. `payload` is any JSON, text or bytes, None for none. `mask`: no secrets in what is searched."""

    trigger_id: TriggerName | None = None
    thread_id: ThreadName
    source: Key | dict[str, Any]
    summary: Line = ""
    payload: Any = None
    media_type: str | None = None
    occurred_at: datetime | None = None
    external_id: Key | None = None
    mask: bool = False

    @field_validator("occurred_at", mode="before")
    @classmethod
    def _time(cls, value: object) -> datetime | None:
        return None if value is None else parse_time(value, "occurred_at")


class WorkerIn(_Given):
    """A session that works on a task."""

    worker_id: WorkerName | None = None
    threads: Annotated[tuple[ThreadName, ...], Field(max_length=MAX_THREADS)] = ()
    task: Text

    @field_validator("threads", mode="before")
    @classmethod
    def _list(cls, value: object) -> object:
        return _listed(value)


class ReportIn(_Given):
    """What a worker found, and the ids of what it rests on."""

    report: Text
    cites: Annotated[tuple[str, ...], Field(max_length=MAX_CITES)] = ()

    @field_validator("cites", mode="before")
    @classmethod
    def _list(cls, value: object) -> object:
        value = _listed(value)
        for one in value:
            if not is_id(one):
                raise ValueError(f"{ascii(one)[:40]} is not an id like trg_8f21")
        return value


def _listed(value: object) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError("give a list of ids")
    return tuple(dict.fromkeys(one if isinstance(one, str) else ascii(one) for one in value))


M = TypeVar("M", bound=_Given)


def checked(model: type[M], fields: Mapping[str, Any]) -> M:
    """The fields as `model`; raises InvalidField naming the first one at fault."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise invalid(error, model) from error


@dataclass(frozen=True, slots=True)
class Arrival:
    """A trigger ready to be written: all but its place is known. `body` is None where it brought no payload."""

    given: TriggerIn
    item: Prepared
    media_type: str
    body: bytes | None
    viewer: Viewer


def arrival(given: TriggerIn, viewer: Viewer) -> Arrival:
    """Payload to bytes, a summary where none was given, and the text to search; raises InvalidField."""
    media_type, body, value = "", None, None
    if given.payload is not None:
        media_type, body = payload_of(given.payload, given.media_type)
        value = value_of(media_type, body)
    elif not given.summary:
        raise InvalidField("summary: is missing, and so is a payload to make one of", field="summary")
    name = given.source if isinstance(given.source, str) else source_name(given.source) or "trigger"
    summary = given.summary or summary_of(value, name, media_type, len(body or b""))
    text = "" if value is None else readable(value).strip("\n")
    if given.mask:
        from ..text.secrets.masking import mask  # its patterns take longer to make than a short command has

        summary, text = mask(summary)[0], mask(text)[0]
    if one_line(text.partition("\n")[0]) == summary:
        content = text if text.startswith(summary) else f"{summary}\n{text.partition(chr(10))[2]}".rstrip("\n")
    else:
        content = f"{summary}\n{text}" if text.strip() else summary
    record = record_of("trigger", content, source=given.source, timestamp=given.occurred_at)
    record = record.model_copy(update={"external_id": given.external_id})
    return Arrival(given, prepare(record), media_type, body, viewer)


def record_of(kind: Kind, content: str, **fields: Any) -> RecordIn:
    """A record of a kind that only the chain makes; raises InvalidField."""
    try:
        return RecordIn.model_validate({"kind": kind, "content": content, **fields})
    except ValidationError as error:
        raise invalid(error, RecordIn) from error


def placed(item: Prepared, path: str) -> Prepared:
    """A prepared record at a path: only its header says something else."""
    record = item.record.model_copy(update={"path": path})
    return replace(item, record=record, slots=[header_of(record), *item.slots[1:]])


def thread_text(summary: str, natural_key: str | None) -> str:
    """What a thread says: its line, and the natural key where that says more."""
    return summary if natural_key is None or natural_key in summary else f"{summary}\n{natural_key}"


def worker_text(task: str, threads: tuple[str, ...], report: str = "", cites: tuple[str, ...] = ()) -> str:
    """What a worker says: task, report and the ids to walk further."""
    parts = [task, report]
    if threads:
        parts.append(f"Threads: {', '.join(threads)}")
    if cites:
        parts.append(f"Cites: {', '.join(cites)}")
    return "\n\n".join(part for part in parts if part)
