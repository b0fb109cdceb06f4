"""The one request for a pack: its fields, their ranges and their defaults."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from context_packs.store.base import Filters
from context_packs.store.errors import InvalidField
from context_packs.store.records import parse_id
from context_packs.store.times import parse_time

from .tokens import well_formed

MAX_ITEMS = 50
MAX_TOKENS = 12_000


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
    def read(value: Any) -> datetime | None:
        value = _filter(value)
        return None if value is None else parse_time(value, field)

    return BeforeValidator(read)


Text = Annotated[str, BeforeValidator(_text)]
Exact = Annotated[str | None, BeforeValidator(_filter)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_many)]


class PackRequest(BaseModel):
    """What a caller asks for. Everything but the limits is optional; an unknown field is refused.

    `query`: empty or blank means *restore*. `max_items` 1 to 50, `max_tokens` 1 to 12,000, `max_chars` from 1, all
    whole numbers and nothing else. Filters are exact, `path` is a prefix of whole path segments; None, `%` and an empty
    text mean all, and so does `auto` for `memory_type`. `since` and `until` (half-open) and `as_of` take what
    `context_packs.store.times.parse_time` takes. `history` brings superseded records too. `exclude_ids` and
    `exclude_contents` are what the caller already has.
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
    memory_type: Annotated[str | None, BeforeValidator(_type_filter)] = None
    status: Exact = None
    source: Exact = None
    since: Annotated[datetime | None, _time("since")] = None
    until: Annotated[datetime | None, _time("until")] = None
    as_of: Annotated[datetime | None, _time("as_of")] = None
    history: bool = False
    exclude_ids: Texts = ()
    exclude_contents: Texts = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for ref in self.exclude_ids:
            if parse_id(ref) is None:
                raise InvalidField(f"exclude_ids: {_shown(ref)} is no id such as mem:1", field="exclude_ids")
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise InvalidField("since: must be before until", field="since")
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
        )


def parse_request(**fields: Any) -> PackRequest:
    """A request from outside values; raises `InvalidField` naming the first field at fault, in one line."""
    try:
        return PackRequest(**fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = str(first["loc"][0]) if first["loc"] else "request"
        raise InvalidField(f"{_shown_name(field)}: {_reason(first)}", field=field) from error


def _reason(error: Any) -> str:
    """One line on what is wrong with one value."""
    value, limits = _shown(error["input"]), error.get("ctx", {})
    match error["type"]:
        case "less_than_equal":
            return f"{value} is above {limits['le']}"
        case "greater_than_equal":
            return f"{value} is below {limits['ge']}"
        case "int_type":
            return f"{value} is not a whole number"
        case "string_type":
            return f"{value} is not text"
        case "bool_type":
            return f"{value} is not true or false"
        case "tuple_type":
            return f"{value} is not a list"
        case "extra_forbidden":
            return "unknown field"
    return str(error["msg"])


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _shown_name(name: str) -> str:
    return name if name.isidentifier() and name.isascii() and len(name) <= 40 else _shown(name)
