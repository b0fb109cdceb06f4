"""Choices that are to be made: what is at stake, the options, and in the end what was chosen.

A decision is a record of its type: open until it is resolved, and from then on it says what was decided, so that search
and the start of a session tell it like any other decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Unpack

from context_packs.store.errors import InvalidField, NotFound
from context_packs.store.records import Record, Written
from context_packs.store.times import parse_time
from context_packs.store.validation import unfit

from ..fields import Where
from .tasks import LATEST, Place, at_most, due_of, fields_in, in_place, told

if TYPE_CHECKING:
    from ..service import ContextPacks

DECISION = "decision"
DecisionStatus = Literal["open", "resolved"]
OPEN_DECISION: DecisionStatus = "open"
RESOLVED: DecisionStatus = "resolved"
MAX_OPTIONS = 20
MAX_CONTEXT_CHARS = 20_000
MAX_RESOLUTION_CHARS = 12_000


def open_decision(
    packs: ContextPacks,
    context: str,
    options: Sequence[str] = (),
    *,
    due_at: str | datetime | None = None,
    idempotency_key: str | None = None,
    place: Place | None = None,
) -> Written:
    """Keep a choice that is to be made. Raises InvalidField, Conflict.

    Args:
        packs: the memory.
        context: what is to be decided, and why it matters.
        options: what can be chosen, at most 20.
        due_at: until when.
        idempotency_key: the same key never writes twice.
        place: where it goes.
    """
    if not context.strip():
        raise InvalidField("context: is blank: say what is to be decided", field="context")
    named = [option.strip() for option in options if option.strip()]
    if wrong := unfit(len(named), 0, MAX_OPTIONS):
        raise InvalidField(f"options: {wrong}", field="options")
    facts: dict[str, object] = {"context": at_most("context", context.strip(), MAX_CONTEXT_CHARS), "options": named}
    if due_at is not None:
        facts["due_at"] = told(parse_time(due_at, "due_at"))
    return packs.remember(
        _text(context.strip(), named),
        **fields_in(place, "decisions", facts),
        type=DECISION,
        status=OPEN_DECISION,
        idempotency_key=idempotency_key,
    )


def decisions(
    packs: ContextPacks,
    status: DecisionStatus | None = "open",
    limit: int = 20,
    *,
    due_before: str | datetime | None = None,
    **filters: Unpack[Where],
) -> list[Record]:
    """Decisions, the first due in front, then the newest; of the newest 200.

    Args:
        packs: the memory.
        status: of which status; None is any.
        limit: how many at most.
        due_before: only those due before that.
        filters: where they stand.
    """
    before = None if due_before is None else parse_time(due_before, "due_before")
    rows = packs.newest(LATEST, memory_type=DECISION, status=status, **filters)
    found = [(due_of(row.record), row.record) for row in rows]
    kept = [(due, one) for due, one in found if before is None or (due is not None and due < before)]
    kept.sort(key=lambda pair: (pair[0] is None, pair[0].timestamp() if pair[0] else -pair[1].created_at.timestamp()))
    return [one for _, one in kept][:limit]


def resolve_decision(
    packs: ContextPacks, ref: str, resolution: str, *, bucket: str | None = None, scope: str | None = None
) -> Record:
    """Say what was decided, as the next version of a decision of one's own; the same again changes nothing.

    Raises InvalidField, NotFound (also for a record of another kind), Gone.

    Args:
        packs: the memory.
        ref: the id of the decision.
        resolution: the choice, and why.
        bucket, scope: where it has to stand.
    """
    record = packs.get(ref)
    if record.type != DECISION or not in_place(record, bucket, scope):
        raise NotFound(f"id: there is no decision {ref}", field="id")
    if not resolution.strip():
        raise InvalidField("resolution: is blank: say what was decided", field="resolution")
    chosen = at_most("resolution", resolution.strip(), MAX_RESOLUTION_CHARS)
    if record.status != RESOLVED or record.metadata.get("resolution") != chosen:
        context, options = parts_of(record)
        facts = {"resolution": chosen, "resolved_at": told(packs.now())}
        packs.revise(ref, content=_text(context, options, chosen), status=RESOLVED, metadata=facts)
        record = packs.get(ref)
    return record


def parts_of(record: Record) -> tuple[str, list[str]]:
    """What is at stake and the options; of a decision that was remembered as a text, that text."""
    context, options = record.metadata.get("context"), record.metadata.get("options")
    listed = [one for one in options if isinstance(one, str)] if isinstance(options, list) else []
    return (context if isinstance(context, str) else record.content), listed


def _text(context: str, options: Sequence[str], resolution: str = "") -> str:
    """The text that search and packs see: what was decided stands first, as a reader wants it first."""
    lines = [f"Decided: {resolution}"] if resolution else []
    lines.append(context)
    if options:
        lines.append(f"Options: {'; '.join(options)}")
    return "\n".join(lines)
