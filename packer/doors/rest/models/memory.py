"""What the memory routes answer, as models for the description of the interface; answers are not validated again."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

Status = Literal["created", "updated", "existing"]
LeftOut = Annotated[
    list[Literal["source", "metadata"]] | None,
    Field(description="fields that are empty here since the answer has no room; GET /v1/memories/{id} has them"),
]


class WrittenOut(BaseModel):
    """What a write did. `memory_id` is `id` once more; `notes` say what was repaired or not applied."""

    id: str
    memory_id: str
    status: Status
    version: int
    notes: list[str] | None = None


class MemoryOut(BaseModel):
    """A record with its whole text; a profile that shows less leaves fields out."""

    id: str
    memory_id: str
    content: str
    title: str | None = None
    path: str | None = None
    type: str | None = None
    memory_type: str | None = None
    bucket: str | None = None
    scope: str | None = None
    team_id: str | None = None
    status: str | None = None
    version: int | None = None
    created_at: str | None = None
    updated_at: str | None = None
    expires_at: str | None = None
    pinned: bool | None = None
    importance: Any = None
    confidence: Any = None
    source: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    left_out: LeftOut = None
    external_id: str | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    agent_boundary: Literal["own", "team"] | None = None


class ExplainOut(MemoryOut):
    """A record, whole, and how it comes back."""

    why: dict[str, Any] | None = None


class BoundaryOut(BaseModel):
    """For whom an answer was made; the last two are what the client said of itself."""

    agent_id: str
    teams: list[str]
    requested_agent_id: str | None
    agent_instance_id: str | None


class BudgetOut(BaseModel):
    """Ceilings and what was used, in tokens of `encoding` and in characters."""

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
    state: Literal["complete", "limited", "no_match", "degraded"]


class ContextItemOut(BaseModel):
    """One item of a pack, as the profile shows it; the i-th section of `context_text` is its text."""

    id: str
    memory_id: str
    memory_type: str
    path: str
    type: str
    bucket: str | None = None
    scope: str | None = None
    team_id: str | None = None
    title: str | None = None
    status: str | None = None
    score: float | None = Field(None, ge=0, le=1)
    reason: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    tokens: int | None = None
    total_tokens: int | None = None
    shortened: bool | None = None
    spans: list[list[int]] | None = None
    source: dict[str, Any] | None = None
    left_out: LeftOut = None
    links: list[str] | None = None
    content: str | None = None
    snippet: str | None = None
    agent_boundary: Literal["own", "team"] | None = None


class DecisionOut(BaseModel):
    """Why a candidate is not in the pack, and with how many tokens it would be."""

    id: str
    reason: Literal["budget", "max_items", "max_chars", "duplicate"]
    needs_tokens: int | None
    duplicate_of: str | None


class ContextOut(BaseModel):
    """A pack. Profiles that answer with text have `text` in place of plan and decisions."""

    items: list[ContextItemOut]
    context_text: str
    budget: BudgetOut
    coverage: dict[str, Any]
    agent_boundary: BoundaryOut
    version: str | None = None
    retrieval_plan: dict[str, Any] | None = None
    decisions: list[DecisionOut] | None = None
    text: str | None = None


class ResultOut(MemoryOut):
    """A row of a search; `score` is the share of the query that it contains."""

    score: float | None = Field(None, ge=0, le=1)
    content_truncated: bool | None = None
    content_len: int | None = None
    explanation: dict[str, Any] | None = None


class ResultsOut(BaseModel):
    """Rows of a search, best first."""

    results: list[ResultOut]
    count: int
    agent_boundary: BoundaryOut
    coverage: dict[str, Any] | None = None
    retrieval_plan: dict[str, Any] | None = None


class RowOut(BaseModel):
    """A recalled row; an entry of the caller's own conversation has no `ref`."""

    content: str
    ref: str | None = None
    id: Any = None
    role: Any = None
    source: Any = None
    left_out: LeftOut = None
    timestamp: Any = None
    path: str | None = None
    type: str | None = None
    confidence: float | None = None
    content_truncated: bool | None = None
    content_len: int | None = None
    excerpt: str | None = None
    excerpt_basis: Literal["blocks", "lexical", "start"] | None = None


class RowsOut(BaseModel):
    """Recalled rows; what found no room is in `deferred`, `more` counts further matches."""

    messages: list[RowOut]
    excluded: int | None = None
    empty_filter: str | None = None
    more: int | None = None
    deferred: list[str] | None = None
    how: str | None = None
    context_omitted: int | None = None
    full_content_budget_chars: int | None = None
    full_content_budget_tokens: int | None = None


class ContentsOut(BaseModel):
    """Whole records in the order asked for; `missing` name nothing that the caller may see."""

    messages: list[RowOut]
    missing: list[str]
    deferred: list[str] | None = None
    how: str | None = None


class DerivedOut(BaseModel):
    """A record that may repeat what an erased one said."""

    id: str
    why: str


class ForgottenOut(BaseModel):
    """What was forgotten, and how. Of an erasure also whether bytes of it are left in unused parts of the file, and the
    first 200 of `derived_count` records that may repeat its text."""

    id: str
    memory_id: str
    status: Literal["soft_delete", "hard_delete", "redact"]
    erased: Literal["now", "after compact"] | None = None
    derived_count: int | None = None
    derived: list[DerivedOut] | None = None


class UsageOut(BaseModel):
    """A note that a memory was used: `id` is the memory, `usage_id` the note."""

    id: str
    memory_id: str
    usage_id: str
    status: Literal["recorded", "existing"]
