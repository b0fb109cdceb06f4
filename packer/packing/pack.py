"""The structured pack: complete, exact about itself, and the same bytes for the same request over the same store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, PrivateAttr

from context_packs.store.errors import InvalidField
from context_packs.store.records import Record
from context_packs.store.values import Candidates

from .profile import Profile
from .request import PackRequest
from .tokens import TokenCounter

State = Literal["complete", "limited", "no_match", "degraded"]
Reason = Literal["budget", "max_items", "max_chars", "duplicate", "relevance"]


class Budget(BaseModel):
    """What was allowed and what was used. Tokens are those of `encoding`, of the whole rendered text; characters are
    Unicode code points of the same text. `dropped` counts what a ceiling kept out."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    max_items: int
    max_tokens: int
    max_chars: int | None
    used_items: int
    used_tokens: int
    used_chars: int
    encoding: str
    shortened: int
    dropped: int
    duplicates: int
    state: State


class PackedItem(BaseModel):
    """One record in the pack. `tokens` are those of its section and reference line here, `total_tokens` those of its
    whole content; `spans` are the shown character ranges of that content, half-open, adjacent ones joined; `content` is
    the text of those ranges, only where the profile asks for it; `reason` says why a restored record is here, or from
    which record a link led to it; `links` are ids to walk further, one link away."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    id: str
    type: str
    path: str
    bucket: str
    scope: str
    team_id: str
    title: str
    status: str
    score: float
    reason: str
    created_at: datetime
    updated_at: datetime
    tokens: int
    total_tokens: int
    shortened: bool
    spans: list[tuple[int, int]]
    source: dict[str, Any]
    links: list[str]
    content: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """Why a candidate is not in the pack. `needs_tokens` is the smallest `max_tokens` that would have shown it, None
    where no allowed one would or tokens are not the reason; `duplicate_of` is the id that stands for it. The reason
    `relevance` is that of a record which bears too little on the query beside the best."""

    id: str
    reason: Reason
    needs_tokens: int | None = None
    duplicate_of: str | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """What a pack was made from, so that another profile can be applied to the same records."""

    request: PackRequest
    profile: Profile
    found: Candidates
    records: Mapping[str, Record]
    counter: TokenCounter


class Pack(BaseModel):
    """A pack, complete: every candidate is in `items` or in `decisions`. `text` is what the profile renders,
    `context_text` its body alone: the i-th section, ended by a blank line, belongs to the i-th item."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    version: str = "1"
    retrieval_plan: dict[str, Any]
    budget: Budget
    items: list[PackedItem]
    decisions: list[Decision]
    context_text: str
    text: str
    _made: Made | None = PrivateAttr(default=None)

    @property
    def made(self) -> Made:
        """What it was made from; raises `InvalidField` for a pack that was read back from JSON and holds it no more."""
        if self._made is None:
            raise InvalidField("pack: read back from JSON, so it renders only as it is; ask again", field="pack")
        return self._made

    def record(self, ref: str) -> Record:
        """The whole record of an item of this pack; raises as `made`, and KeyError for an id that is not shown."""
        return self.made.records[ref]

    def confidences(self) -> dict[str, float]:
        """For every candidate the share of the query (0 to 1) that it contains; raises as `made`."""
        return {item.id: item.coverage for item in self.made.found.items}


def structured(pack: Pack, profile: Profile) -> dict[str, Any]:
    """The pack as a JSON-ready object with the item fields that the profile shows; its text stands once."""
    document = pack.model_dump(mode="json", exclude={"text", "items"})
    document["items"] = [item.model_dump(mode="json", include=set(profile.fields)) for item in pack.items]
    order = ("version", "retrieval_plan", "budget", "items", "decisions", "context_text")
    return {name: document[name] for name in order}
