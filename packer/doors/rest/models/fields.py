"""Fields that several requests of the memory routes share, and how they become those of the library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from context_packs.store.values import TEMPORARY as TEMPORARY_BUCKET

from ....errors import Forbidden, InvalidField
from ....packing.profile import Profile, load_profile
from ....packing.request import MAX_HOPS, MAX_ITEMS, MAX_TOKENS
from ....rows import MAX_LIMIT
from ....work import MAX_TTL
from ..gate import TEMPORARY, Caller
from ..requests import Body

Exact = Annotated[str | None, Field(description="exact; `%` or nothing means all")]
Moment = Annotated[str | None, Field(description="RFC 3339; without an offset a time of owner_timezone, else UTC")]
Share = Annotated[float, Field(ge=0, le=1)]
Order = Literal["asc", "desc"]
Axis = Literal["created_at", "updated_at", "split_filter_created_order_updated"]
Mode = Literal["topic", "activity_log"]
Fill = Literal["relevant", "budget"]
Key = Annotated[str | None, Field(description="the same key never writes twice; also taken as a header")]
Metadata = Annotated[dict[str, Any] | None, Field(description="any JSON object")]
Limit = Annotated[int, Field(ge=0, le=MAX_LIMIT)]

Ttl = Annotated[int, Field(ge=0, le=MAX_TTL, description="seconds until it expires; 0 or null: for good")]


class Placed(Body):
    """Where a record goes; null is the same as nothing."""

    path: str | None = None
    bucket: str | None = None
    scope: str | None = None
    team_id: str | None = None
    source: str | dict[str, Any] | None = None
    provenance: Metadata = None
    metadata: Metadata = None
    idempotency_key: Key = None


class Filtered(Body):
    """Filters and order of a read; null is the same as nothing."""

    scope: Exact = None
    bucket: Exact = None
    team_id: Exact = None
    path: Annotated[str | None, Field(description="a prefix of whole path segments; `%` means all")] = None
    memory_type: Annotated[str | None, Field(description="exact; `auto` and `%` mean all")] = None
    status: Exact = None
    source: Exact = None
    since: Moment = None
    until: Moment = None
    as_of: Moment = None
    reference_time: Moment = None
    owner_timezone: Annotated[str | None, Field(description="IANA name of the zone of times without an offset")] = None
    threshold: Annotated[Share | None, Field(description="least score of an item; 0 is off")] = None
    time_order: Order | None = None
    temporal_axis_mode: Axis | None = None
    query_mode: Mode | None = None
    prefer_working: bool | None = None
    hypothetical_answer: Annotated[str | None, Field(description="for embedders; no effect without one")] = None
    history: Annotated[bool | None, Field(description="superseded records too")] = None
    exclude_ids: list[str] | None = None
    exclude_contents: list[str] | None = None
    hops: Annotated[int, Field(ge=0, le=MAX_HOPS)] | None = None
    include_knowledge: Annotated[bool | None, Field(description="accepted; has no effect: all is one memory")] = None
    explain: Annotated[bool | None, Field(description="taken; the plan is part of every answer with packs")] = None


class RecallContextIn(Filtered):
    """A request for a pack. A blank query restores a session; `limit` is a second ceiling of items."""

    query: str = ""
    max_items: Annotated[int, Field(ge=1, le=MAX_ITEMS)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS)] | None = None
    max_chars: Annotated[int, Field(ge=1)] | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] | None = None
    fill: Annotated[Fill | None, Field(description="end where relevance does, or fill the budget")] = None
    profile: str | None = None


class SearchIn(BaseModel):
    """Parameters of a search, as text of a URL."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)

    query: Annotated[str, Field(description="words; `*` lists the newest; an id finds that record")]
    limit: Limit = 10
    scope: Exact = None
    bucket: Exact = None
    team_id: Exact = None
    path: Annotated[str | None, Field(description="a prefix of whole path segments, `%` or `*` at its end")] = None
    memory_type: Annotated[str | None, Field(description="exact; `auto` and `%` mean all")] = None
    status: Exact = None
    source: Exact = None
    since: Moment = None
    until: Moment = None
    as_of: Moment = None
    reference_time: Moment = None
    owner_timezone: str | None = None
    threshold: Share | None = None
    time_order: Order | None = None
    temporal_axis_mode: Axis | None = None
    query_mode: Mode | None = None
    prefer_working: bool = False
    history: bool = False
    include_knowledge: bool = False
    explain: bool = False


_NOT_OF_THE_LIBRARY = frozenset(("include_knowledge", "explain", "limit", "profile", "query"))


def filters_of(caller: Caller, given: BaseModel, *more: str) -> dict[str, Any]:
    """The filters of a request that were given, for the library, without the fields named in `more`.

    Raises Forbidden for a team that the caller does not belong to.
    """
    left_out = _NOT_OF_THE_LIBRARY.union(more)
    fields = given.model_dump(exclude_none=True, exclude_unset=True, exclude=set(left_out))
    assert_team(caller, fields.get("team_id"))
    return fields


def assert_team(caller: Caller, team_id: object) -> None:
    """Raises Forbidden for a team that the caller does not belong to; nothing and `%` are no team."""
    if team_id not in (None, "", "%") and team_id not in caller.packs.viewer.teams:
        raise Forbidden("team_id: this credential does not belong to that team", field="team_id")


def assert_place(caller: Caller, given: Mapping[str, Any]) -> None:
    """What holds for where a record goes, before anything of it is written.

    Raises InvalidField for `%`, which filters take for all and which is no place, and Forbidden for somebody else's
    team and, without the scope to read it again, for the bucket of temporary memories.
    """
    named = {name: str(given.get(name) or "").strip() for name in ("team_id", "bucket", "scope", "path")}
    for name, value in named.items():  # white space around it is no part of it when it is kept either
        if value == "%":
            raise InvalidField(f"{name}: % means all; name one place to write to", field=name)
    assert_team(caller, given.get("team_id"))
    if named["bucket"] == TEMPORARY_BUCKET:
        caller.need(TEMPORARY)


def profile_of(caller: Caller, name: str | None = None) -> Profile:
    """The profile of an answer: the caller's own, or the one asked for where it shows no more than that.

    Raises InvalidField (not known) and Forbidden (shows more).
    """
    own = load_profile(caller.profile)
    if name is None or name == caller.profile:
        return own
    wanted = load_profile(name)
    more = set(wanted.fields) - set(own.fields) or (wanted.answer == "pack" and own.answer == "text")
    if more and not caller.open:
        raise Forbidden("profile: this credential is for another profile, which shows less", field="profile")
    return wanted


def placed(caller: Caller, given: Mapping[str, Any]) -> dict[str, Any]:
    """Where a record goes and what is known of its origin, from the fields of a write; null is nothing.

    What the client says of itself in its headers stands in the source. Raises as `assert_place`.
    """
    assert_place(caller, given)
    names = ("path", "bucket", "scope", "team_id", "source", "metadata", "importance", "confidence")
    place = {name: given[name] for name in names if given.get(name) is not None}
    client = {"client_agent": caller.agent, "client_instance": caller.instance}
    known = {name: text for name, text in client.items() if text} | (given.get("provenance") or {})
    return place | ({"provenance": known} if known else {})


def place_of(caller: Caller, body: Placed) -> dict[str, Any]:
    """The place of a record, as the library takes it; a team only where the caller is in it."""
    return placed(caller, body.model_dump(exclude_none=True))
