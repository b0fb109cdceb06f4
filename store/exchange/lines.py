"""A line of an export: what it may hold, checked."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    ValidationError,
    field_validator,
    model_validator,
)

from ..chain.texts import MAX_PAYLOAD_BYTES
from ..errors import InvalidField
from ..memory.prepare import Key, Label, RecordIn, invalid
from ..records import NAMED, PREFIX, is_id, key_of, parse_id, parse_name
from ..times import parse_time
from .older import mended, mended_link

_HIGHEST = 10**16 - 1  # ids have up to 16 digits
_MOMENTS = (
    "updated_at", "valid_from", "valid_to", "superseded_at", "superseded_from", "superseded_until", "deleted_at",
)  # fmt: skip
TIMES = ("created_at", "expires_at", *_MOMENTS)


class PayloadIn(BaseModel):
    """What a trigger brought: `text` for UTF-8, else `base64`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    media_type: Annotated[str, Field(strict=True, min_length=1, max_length=512)]
    text: Annotated[str, Field(strict=True, max_length=MAX_PAYLOAD_BYTES)] | None = None
    base64: Annotated[str, Field(strict=True, max_length=MAX_PAYLOAD_BYTES * 3 // 2)] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.text is None) == (self.base64 is None):
            raise ValueError("give text or base64")
        if self.base64 is not None:
            b64decode(self.base64, validate=True)
        elif self.text is not None:
            self.text.encode()
        return self

    @property
    def body(self) -> bytes:
        """The bytes."""
        return b64decode(self.base64) if self.base64 is not None else (self.text or "").encode()


Hash = Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)]


class LineIn(RecordIn):
    """A line of an export: a record with its id, version, links and tombstone.

    `hashes` are all that is left of the caller's keys of an erased one. `far` says whether the number came from far
    beyond the count; it stands only where that cannot be told from the line before.
    """

    bounded: ClassVar[bool] = False

    content: Annotated[str, Field(strict=True)]
    id: str
    version: Annotated[StrictInt, Field(ge=1)] = 1
    updated_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    superseded_by: str | None = None
    superseded_at: datetime | None = None
    superseded_from: datetime | None = None
    superseded_until: datetime | None = None
    deleted_at: datetime | None = None
    forgotten: Literal["soft_delete", "hard_delete", "redact"] | None = None
    forgotten_hash: Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)] | None = None
    number: Annotated[StrictInt, Field(ge=1, le=_HIGHEST)] | None = None
    thread_id: str | None = None
    thread_agent_id: Label = ""
    payload: PayloadIn | None = None
    far: StrictBool | None = None
    hashes: dict[Literal["external_id", "idempotency_key", "semantic_key"], Hash] = Field(default_factory=dict)

    @field_validator("content")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        return value  # an erased record has no text, see below

    @model_validator(mode="after")
    def _tombstone(self) -> Self:
        if self.forgotten == "hard_delete" and self.content:
            raise InvalidField("content: is there although the record was erased: leave it empty", field="content")
        if self.forgotten != "hard_delete" and not self.content.strip():
            raise InvalidField("content: is blank: give the text to remember", field="content")
        return self

    @field_validator("id", "superseded_by")
    @classmethod
    def _identity(cls, value: str | None) -> str | None:
        if value is not None and not is_id(value):
            raise ValueError(f"{value[:40]!r} is not an id like mem:1 or ep:1 with at most 16 digits")
        return value

    @field_validator(*_MOMENTS, mode="before")
    @classmethod
    def _moment(cls, value: object, info: Any) -> datetime | None:
        return None if value is None else parse_time(value, info.field_name)


class LinkIn(BaseModel):
    """A line that is a link; the agents of its ends where they are not the one who made it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["link"]
    start: Annotated[str, Field(alias="from")]
    end: Annotated[str, Field(alias="to")]
    rel: Key
    place: Annotated[StrictInt, Field(ge=0, lt=2**31)] = 0
    agent_id: Label = ""
    from_agent_id: Label = ""
    to_agent_id: Label = ""
    created_at: datetime | None = None

    @field_validator("start", "end")
    @classmethod
    def _identity(cls, value: str) -> str:
        if not is_id(value):
            raise ValueError(f"{value[:40]!r} is not an id like trg_8f21 or mem:1")
        return value

    @field_validator("created_at", mode="before")
    @classmethod
    def _moment(cls, value: object) -> datetime | None:
        return None if value is None else parse_time(value, "created_at")


def check_line(line: Mapping[str, Any]) -> tuple[LineIn, tuple[str, ...]]:
    """The line, checked, and notes on what of it was made to fit; raises InvalidField."""
    fitted, notes = mended(line)
    try:
        checked = LineIn.model_validate({"id": None, **fitted})
    except ValidationError as error:
        raise invalid(error, LineIn) from error
    if checked.kind in NAMED and parse_name(checked.id) != checked.kind:
        raise _wrong_kind(checked)
    if checked.kind not in NAMED:
        number_key(checked)
    if checked.thread_id is not None and parse_name(checked.thread_id) != "thread":
        raise InvalidField(
            f"thread_id: {checked.thread_id[:40]!r} is not an id like {PREFIX['thread']}_8f21: leave the field out",
            field="thread_id",
        )
    return checked, notes


def check_link(line: Mapping[str, Any]) -> LinkIn:
    """The line, checked; raises InvalidField."""
    try:
        checked = LinkIn.model_validate(mended_link(line))
    except ValidationError as error:
        raise invalid(error, LinkIn) from error
    return checked


def _wrong_kind(line: LineIn) -> InvalidField:
    kind = parse_name(line.id) or (parse_id(line.id) or (line.kind,))[0]
    return InvalidField(
        f"kind: {line.id} is not of kind {line.kind}: give the kind {kind}, or another id", field="kind"
    )


def number_key(line: LineIn) -> int:
    """The key of a line whose id is a number; raises InvalidField where it is of another kind."""
    kind, n = parse_id(line.id) or ("", 0)
    if kind != line.kind:
        raise _wrong_kind(line)
    return key_of(kind, n)
