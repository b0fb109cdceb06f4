"""The one request for a pack: its fields, their ranges and their defaults."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self, Unpack

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo, model_validator

from context_packs.store.errors import InvalidField
from context_packs.store.records import is_id
from context_packs.store.times import parse_time, parse_zone
from context_packs.store.validation import shown, told
from context_packs.store.values import Filters, TimeAxis

from ..fields import RequestFields
from .tokens import well_formed

MAX_ITEMS = 50
MAX_TOKENS = 12_000
MAX_HOPS = 3
MAX_QUERY_CHARS = 1_000_000
MAX_FILTER_CHARS = 4_096
MAX_KNOWN = 10_000  # ids or texts that the caller has
MAX_KNOWN_CHARS = 4_000_000  # of all these texts


def _text(value: Any) -> Any:
    return well_formed(value) if isinstance(value, str) else value


def _filter(value: Any) -> Any:
    """`%`, an empty text and None mean all."""
    value = _text(value)
    return None if isinstance(value, str) and value.strip() in {"", "%"} else value


def _type_filter(value: Any) -> Any:
    value = _filter(value)
    return None if value == "auto" else value


def _many(value: Any) -> Any:
    """None is nothing; a lone text is refused rather than read as its letters."""
    if value is None:
        return ()
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return value
    return tuple(_text(entry) for entry in value)


def _time(field: str) -> BeforeValidator:
    def read(value: Any, info: ValidationInfo) -> datetime | None:
        value = _filter(value)
        zone = info.data.get("owner_timezone")
        return None if value is None else parse_time(value, field, parse_zone(zone, "owner_timezone") if zone else UTC)

    return BeforeValidator(read)


def _zone(value: Any) -> Any:
    value = _filter(value)
    if value is not None:
        parse_zone(value, "owner_timezone")
    return value


def _share(value: Any) -> Any:
    """A number from 0 to 1; an integer is one too."""
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


_ORDER_BY: dict[str | None, TimeAxis | None] = {
    None: None,
    "created_at": "created_at",
    "updated_at": "updated_at",
    "split_filter_created_order_updated": "updated_at",
}

Text = Annotated[str, BeforeValidator(_text), Field(max_length=MAX_QUERY_CHARS)]
Label = Annotated[str, Field(max_length=MAX_FILTER_CHARS)]
Exact = Annotated[Label | None, BeforeValidator(_filter)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_many), Field(max_length=MAX_KNOWN)]


class PackRequest(BaseModel):
    """What a caller asks for. Everything but the limits is optional; an unknown field is refused.

    `query`: empty or blank means *restore*. `max_items` 1 to 50, `max_tokens` 1 to 12,000, `max_chars` from 1, all
    whole numbers and nothing else. Filters are exact, `path` is a prefix of whole path segments; None, `%` and an empty
    text mean all, and so does `auto` for `memory_type`. `since` and `until` (half-open) and `as_of` take what
    `context_packs.store.times.parse_time` takes. `history` brings superseded records too. `exclude_ids` and
    `exclude_contents` are what the caller already has. `hops` (0 to 3): what links lead to from what was found, in so
    many steps, stands behind it.

    `fill` says where a pack ends: `relevant` where relevance does, `budget` with whole records or the ceiling; where
    nothing is said the profile decides, else `relevant`.

    `threshold` (0 to 1, 0 is off) is the least share of the query that a record must contain. `time_order` puts the
    best records in order of time, `asc` or `desc`. `temporal_axis_mode` says which time the interval and that order go
    by: `created_at` (when it happened or was said), `updated_at`, or the one for the interval and the other for the
    order. `owner_timezone` (an IANA name) is the zone of times given without an offset. `query_mode` `topic` looks for
    what bears on the query; `activity_log` gives whatever lies between `since` and `until`, both needed, in order of
    time. `prefer_working` puts working state that bears on the query in front. `hypothetical_answer`, a text as the
    answer might read, is what search by meaning looks for in the query's place (Gao et al., Precise Zero-Shot Dense
    Retrieval, 2022); without an embedder it changes nothing. `reference_time` is the caller's now: what "yesterday" or
    先週 in a query is counted from, in `owner_timezone`. Without it the time of the request is.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    query: Text = ""
    max_items: Annotated[int, Field(ge=1, le=MAX_ITEMS)] = 8
    max_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS)] = 1500
    max_chars: Annotated[int, Field(ge=1)] | None = None
    profile: str = "internal"
    scope: Exact = None
    bucket: Exact = None
    team_id: Exact = None
    path: Exact = None
    memory_type: Annotated[Label | None, BeforeValidator(_type_filter)] = None
    status: Exact = None
    source: Exact = None
    owner_timezone: Annotated[str | None, BeforeValidator(_zone)] = None
    since: Annotated[datetime | None, _time("since")] = None
    until: Annotated[datetime | None, _time("until")] = None
    as_of: Annotated[datetime | None, _time("as_of")] = None
    reference_time: Annotated[datetime | None, _time("reference_time")] = None
    threshold: Annotated[float, BeforeValidator(_share), Field(ge=0, le=1)] = 0.0
    time_order: Literal["asc", "desc"] | None = None
    temporal_axis_mode: Literal["created_at", "updated_at", "split_filter_created_order_updated"] | None = None
    query_mode: Literal["topic", "activity_log"] = "topic"
    prefer_working: bool = False
    hypothetical_answer: Text = ""
    history: bool = False
    exclude_ids: Texts = ()
    exclude_contents: Texts = ()
    hops: Annotated[int, Field(ge=0, le=MAX_HOPS)] = 0
    fill: Literal["relevant", "budget"] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for ref in self.exclude_ids:
            if not is_id(ref):
                raise InvalidField(f"exclude_ids: {shown(ref)} is not an id like mem:1", field="exclude_ids")
        size = sum(map(len, self.exclude_contents))
        if size > MAX_KNOWN_CHARS:
            message = f"exclude_contents: {size} characters are above {MAX_KNOWN_CHARS}: give their beginnings"
            raise InvalidField(message, field="exclude_contents")
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise InvalidField("since: must be before until", field="since")
        if self.query_mode == "activity_log" and (self.since is None or self.until is None):
            raise InvalidField("query_mode: activity_log needs since and until", field="query_mode")
        return self

    @property
    def restore(self) -> bool:
        """Whether no query was given: pinned, open and recent records are asked for."""
        return not self.query.strip()

    def filters(self) -> Filters:
        """The filters as the store takes them."""
        return Filters(
            scope=self.scope,
            bucket=self.bucket,
            team_id=self.team_id,
            path=self.path,
            memory_type=self.memory_type,
            status=self.status,
            source=self.source,
            since=self.since,
            until=self.until,
            as_of=self.as_of,
            exclude_ids=self.exclude_ids,
            history=self.history,
            threshold=self.threshold,
            time_by="updated_at" if self.temporal_axis_mode == "updated_at" else None,
            time_order=self.time_order,
            order_by=_ORDER_BY[self.temporal_axis_mode],
            prefer_working=self.prefer_working,
            hypothetical=self.hypothetical_answer.strip(),
            reference=self.reference_time,
            zone=self.owner_timezone or "",
        )


def parse_request(**fields: Unpack[RequestFields]) -> PackRequest:
    """A request from outside values; raises `InvalidField` naming the first field at fault, in one line."""
    try:
        return PackRequest.model_validate(fields)
    except ValidationError as error:
        field, line = told(error.errors(include_url=False)[0], "request", PackRequest.model_fields)
        raise InvalidField(line, field=field) from error
