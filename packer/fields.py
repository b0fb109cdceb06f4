"""Keywords of the public methods as types, so that a type checker finds a misspelt one.

Only names and types stand here. Ranges and defaults are those of the models that check the values: `PackRequest` for
what is asked, `RecordIn` for what is stored. A test holds that the names are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Literal, Required, TypedDict

Moment = date | str | float
"""A time: a datetime, a date (its midnight), text in RFC 3339, or seconds since 1970. What has no offset is in UTC; in
a request, in `owner_timezone`."""


class Where(TypedDict, total=False):
    """The part of the memory that is looked at."""

    scope: str | None
    bucket: str | None
    team_id: str | None


class FilterFields(Where, total=False):
    """What narrows a read. See PackRequest."""

    path: str | None
    memory_type: str | None
    status: str | None
    source: str | None
    owner_timezone: str | None
    since: Moment | None
    until: Moment | None
    as_of: Moment | None
    reference_time: Moment | None
    threshold: float
    time_order: Literal["asc", "desc"] | None
    temporal_axis_mode: Literal["created_at", "updated_at", "split_filter_created_order_updated"] | None
    query_mode: Literal["topic", "activity_log"]
    prefer_working: bool
    hypothetical_answer: str
    history: bool
    exclude_ids: Sequence[str]
    hops: int


class RequestFields(FilterFields, total=False):
    """The fields of a PackRequest."""

    query: str
    max_items: int
    max_tokens: int
    max_chars: int | None
    profile: str
    exclude_contents: Sequence[str]
    fill: Literal["relevant", "budget"] | None


class _Labels(TypedDict, total=False):
    """What a record says of itself besides its text. `memory_type` is another name for `type`."""

    title: str
    path: str
    type: str
    memory_type: str
    bucket: str
    scope: str
    team_id: str
    status: str
    source: Mapping[str, Any] | str
    metadata: Mapping[str, Any]
    provenance: Mapping[str, Any] | None
    importance: float | None
    confidence: float | None
    expires_at: Moment | None
    pinned: bool


class ChangedFields(_Labels, total=False):
    """The fields of a record that a new version may change."""

    content: str


class RecordFields(_Labels, total=False):
    """The fields of a new record besides its text."""

    kind: Literal["memory", "episode"]
    agent_id: str
    timestamp: Moment | None
    external_id: str | None
    idempotency_key: str | None
    semantic_key: str | None
    supersedes: str | None
    dedupe: bool


class NewRecord(RecordFields, total=False):
    """A new record in the JSON Lines form."""

    content: Required[str]
