"""Profiles: who sees what, in which form and within which defaults. Data in `profiles/*.toml`."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from context_packs.store.errors import InvalidField

from .request import MAX_ITEMS, MAX_TOKENS, PackRequest

PACKAGE = "context_packs.profiles"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")

ITEM_FIELDS = (
    "id", "type", "path", "bucket", "scope", "team_id", "title", "status", "score", "reason", "created_at",
    "updated_at", "tokens", "total_tokens", "shortened", "spans", "source", "links", "content",
)  # fmt: skip
"""What a profile may show of an item, in the order in which it is shown."""


class Defaults(BaseModel):
    """Limits for a caller who gives none; a missing one is the request's own default."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    max_items: Annotated[int, Field(ge=1, le=MAX_ITEMS)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS)] | None = None
    max_chars: Annotated[int, Field(ge=1)] | None = None
    fill: Literal["relevant", "budget"] | None = None


class Profile(BaseModel):
    """One way of answering.

    `template` names the layout that renders the text; `answer` says whether a door gives that text alone or the whole
    pack; `fields` are the item fields a door shows; `item_content` gives every item its own shown text besides
    `context_text`; `for_host` makes tags of hosts in stored text harmless; `order` is how lists of recalled rows are
    sorted (packs are always best first).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str
    description: Annotated[str, Field(min_length=1)]
    template: str
    answer: Literal["text", "pack"]
    fields: Annotated[tuple[str, ...], Field(strict=False)]
    item_content: bool = False
    for_host: bool = False
    order: Literal["best_first", "best_last"] = "best_first"
    defaults: Defaults = Defaults()

    @field_validator("fields")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        unknown = sorted(set(value) - set(ITEM_FIELDS))
        if unknown:
            raise ValueError(f"unknown item fields: {', '.join(unknown)}")
        return value


def list_profiles() -> list[str]:
    """Names of all profiles, sorted."""
    return list(_names())


@cache
def _names() -> tuple[str, ...]:
    names = (entry.name for entry in files(PACKAGE).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def load_profile(name: str) -> Profile:
    """The profile of that name; raises `InvalidField` (field `profile`) naming the known ones."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name not in _names():
        known = ", ".join(list_profiles())
        raise InvalidField(f"profile: {ascii(name)[:60]} is not known; known: {known}", field="profile")
    return _read(name)


@cache
def _read(name: str) -> Profile:
    return parse_profile(name, files(PACKAGE).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def parse_profile(name: str, text: str) -> Profile:
    """The profile that a TOML text says; raises `InvalidField` naming the first thing at fault in it."""
    try:
        values: dict[str, Any] = tomllib.loads(text)
        return Profile.model_validate({"name": name, **values})
    except tomllib.TOMLDecodeError as error:
        raise InvalidField(f"profile: {name} is not TOML: {error}", field="profile") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidField(f"profile: {name}: {where}: {first['msg']}", field="profile") from error


def with_defaults(request: PackRequest, profile: Profile) -> PackRequest:
    """`request` with the profile's limits where the caller gave none; applying it twice changes nothing."""
    given = request.model_fields_set
    limits = profile.defaults.model_dump(exclude_none=True)
    missing = {name: limit for name, limit in limits.items() if name not in given}
    return request.model_copy(update=missing) if missing else request
