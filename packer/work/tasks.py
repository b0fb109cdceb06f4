"""Work under way: its state, what happened, and what is to be done. `snapshots` keeps it all for the next session.

All of it are records with types of their own, so that recall, restore, versions, forgetting and export know them too.
State is what it says until it is replaced under its key or expires; a reminder is open until it is completed.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, Unpack

from context_packs.store.errors import InvalidField, NotFound
from context_packs.store.memory.prepare import (
    MAX_LABEL_CHARS,
    facts_size,
)
from context_packs.store.records import Record, Written
from context_packs.store.times import parse_time
from context_packs.store.validation import miscounted

from ..fields import Where

if TYPE_CHECKING:
    from ..service import ContextPacks

STATE, EVENT, REMINDER, USAGE = "state", "timeline_event", "reminder", "usage"
"""Types of the records."""

BUCKET = "work"
"""Where they stand unless another bucket is named."""

ReminderStatus = Literal["open", "completed"]
OPEN: ReminderStatus = "open"
COMPLETED: ReminderStatus = "completed"
MAX_STATE_BYTES = 24 * 2**10  # of the parts of a state, which are kept one by one
MAX_NOTE_CHARS = 4_000
MAX_TTL = 366 * 86_400  # seconds
LATEST = 200  # records looked through where what is asked for stands in their metadata
PARTS = ("current_task", "next_action", "blocked_reason")
_HEADINGS = dict(zip(PARTS, ("Current task", "Next action", "Blocked"), strict=True))

Place = Mapping[str, Any]
"""Where a record goes: any of `path`, `bucket`, `scope`, `team_id`, `source`, `metadata`, `provenance`, and
`importance`, `confidence`."""


# ---- state


def save_state(
    packs: ContextPacks,
    state_key: str,
    content: str = "",
    *,
    parts: Mapping[str, str] | None = None,
    ttl_seconds: int | None = None,
    idempotency_key: str | None = None,
    place: Place | None = None,
) -> Written:
    """Keep the state of work under a key, in place of what stood there in the same bucket and scope.

    `content` and the `parts` (current_task, next_action, blocked_reason) make the text; one of them is needed.
    `ttl_seconds` (0 or None: for good) is when it expires. Raises InvalidField, Conflict.
    """
    given = {name: text for name, text in (parts or {}).items() if text.strip()}
    lines = [content.strip(), *(f"{_HEADINGS[name]}: {given[name].strip()}" for name in PARTS if name in given)]
    text = "\n".join(line for line in lines if line)
    if not text:
        raise InvalidField(f"content: is blank: give it or one of {', '.join(PARTS)}", field="content")
    facts = {"state_key": line_of("state_key", state_key), **given}
    if content.strip() and given:
        facts["content"] = content
    size = facts_size(facts)
    if given and size > MAX_STATE_BYTES:
        longest = max({**given, "content": content}.items(), key=lambda part: len(part[1]))[0]
        message = f"{longest}: the parts of a state are {size} bytes as JSON, above {MAX_STATE_BYTES}: shorten it"
        raise InvalidField(message, field=longest)
    return packs.remember(
        text,
        **fields_in(place, "state", facts),
        type=STATE,
        semantic_key=f"{STATE}:{state_key}",
        expires_at=expiry(packs, ttl_seconds),
        idempotency_key=idempotency_key,
        dedupe=False,
    )


def state_of(packs: ContextPacks, state_key: str, **filters: Unpack[Where]) -> Record | None:
    """The state of the agent's own that stands under a key, or None."""
    found = packs.newest(50, memory_type=STATE, semantic_key=f"{STATE}:{line_of('state_key', state_key)}", **filters)
    return next((row.record for row in found if row.record.agent_id == packs.viewer.agent_id), None)


# ---- what happened


def record_event(
    packs: ContextPacks,
    content: str,
    event_type: str = "event",
    *,
    occurred_at: str | datetime | None = None,
    session_id: str = "",
    idempotency_key: str | None = None,
    place: Place | None = None,
) -> Written:
    """Append an event; the same text again is another event. Raises InvalidField, Conflict."""
    facts = {"event_type": line_of("event_type", event_type)} | session_facts(session_id)
    return packs.remember(
        content,
        **fields_in(place, "timeline", facts),
        type=EVENT,
        timestamp=None if occurred_at is None else parse_time(occurred_at, "occurred_at"),
        idempotency_key=idempotency_key,
        dedupe=False,
    )


def events(
    packs: ContextPacks,
    limit: int = 20,
    *,
    event_type: str | None = None,
    session_id: str | None = None,
    **filters: Unpack[Where],
) -> list[Record]:
    """Events by the time when they happened, latest first; of one type or session among the latest 200."""
    wanted = {"event_type": event_type, "session_id": session_id}
    wanted = {name: value for name, value in wanted.items() if value is not None}
    rows = packs.newest(
        LATEST if wanted else limit, memory_type=EVENT, time_order="desc", temporal_axis_mode="created_at", **filters
    )
    found = (row.record for row in rows)
    return [one for one in found if all(one.metadata.get(name) == value for name, value in wanted.items())][:limit]


# ---- what is to be done


def add_reminder(
    packs: ContextPacks,
    content: str,
    *,
    due_at: str | datetime | None = None,
    session_id: str = "",
    idempotency_key: str | None = None,
    place: Place | None = None,
) -> Written:
    """Something to come back to. One that is open already in its place is not doubled, and takes the new time.

    Raises InvalidField, Conflict.
    """
    facts = {"due_at": told(parse_time(due_at, "due_at"))} if due_at is not None else {}
    facts |= session_facts(session_id)
    written = packs.remember(
        content,
        **fields_in(place, "reminders", facts),
        type=REMINDER,
        status=OPEN,
        idempotency_key=idempotency_key,
    )
    if not written.created and facts and packs.get(written.id).type == REMINDER:
        packs.revise(written.id, metadata=facts)
    return written


def reminders(
    packs: ContextPacks,
    status: ReminderStatus | None = OPEN,
    limit: int = 20,
    *,
    due_before: str | datetime | None = None,
    **filters: Unpack[Where],
) -> list[Record]:
    """Reminders of a status (None: all), the first due in front, those without a time last; of the newest 200."""
    before = None if due_before is None else parse_time(due_before, "due_before")
    rows = packs.newest(LATEST, memory_type=REMINDER, status=status, **filters)
    found = [(due_of(row.record), row.record) for row in rows]
    kept = [(due, one) for due, one in found if before is None or (due is not None and due < before)]
    kept.sort(key=lambda pair: (pair[0] is None, pair[0] or pair[1].created_at, pair[1].created_at, pair[1].id))
    return [one for _, one in kept][:limit]


def due_of(reminder: Record) -> datetime | None:
    """When a reminder is due; None also where what stands there is no time, as anybody may have written it."""
    due = reminder.metadata.get("due_at")
    try:
        return parse_time(due, "due_at") if isinstance(due, str) else None
    except InvalidField:
        return None


def complete_reminder(
    packs: ContextPacks, ref: str, note: str = "", *, bucket: str | None = None, scope: str | None = None
) -> Record:
    """Complete a reminder of one's own; one that is completed stays as it is. Gives it as it stands then.

    Raises InvalidField, NotFound (also where it stands in another bucket or scope), Gone.
    """
    reminder = packs.get(ref)
    if reminder.type != REMINDER or not in_place(reminder, bucket, scope):
        raise NotFound(f"id: there is no reminder {ref}", field="id")
    at_most("note", note, MAX_NOTE_CHARS)
    if reminder.status != COMPLETED:
        facts = {"completed_at": told(packs.now())} | ({"note": note} if note else {})
        packs.revise(ref, status=COMPLETED, metadata=facts)
        reminder = packs.get(ref)
    return reminder


def in_place(record: Record, bucket: str | None, scope: str | None) -> bool:
    """Whether a record stands in a bucket and scope; None, an empty text and `%` mean any."""
    return bucket in (None, "", "%", record.bucket) and scope in (None, "", "%", record.scope)


# ---- usage


def mark_used(
    packs: ContextPacks,
    ref: str,
    action: str = "used",
    context: str = "",
    *,
    metadata: Mapping[str, Any] | None = None,
    idempotency_key: str | None = None,
) -> Written:
    """Note that a memory was used. Notes are found only where their type, `usage`, is asked for.

    Raises InvalidField, NotFound, Gone, Conflict.
    """
    record = packs.get(ref)
    said = f"{line_of('action', action)} {ref}"
    return packs.remember(
        f"{said}: {context.strip()}" if context.strip() else said,
        type=USAGE,
        path=USAGE,
        bucket=record.bucket,
        scope=record.scope,
        metadata={**(metadata or {}), "memory_id": ref, "action": action},
        idempotency_key=idempotency_key,
        dedupe=False,
    )


# ---- parts


def fields_in(place: Place | None, path: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a record in its place, with what is known of it in its metadata."""
    fields = {name: value for name, value in (place or {}).items() if value is not None}
    metadata = fields.pop("metadata", {})
    if not isinstance(metadata, Mapping):
        raise InvalidField("metadata: give an object", field="metadata")
    return {"path": path, "bucket": BUCKET, **fields, "metadata": {**metadata, **facts}}


def line_of(field: str, value: str) -> str:
    """A name of one line without `|`, at most 200 characters."""
    if not value.strip() or len(value) > 200 or not value.isprintable() or "|" in value:
        raise InvalidField(
            f"{field}: {ascii(value)[:40]} is not one line of 1 to 200 characters without |", field=field
        )
    return value


def session_facts(session_id: str) -> dict[str, str]:
    """The id of a session as it stands in metadata."""
    return {"session_id": at_most("session_id", session_id)} if session_id else {}


def at_most(field: str, text: str, most: int = MAX_LABEL_CHARS) -> str:
    """A text of at most `most` characters."""
    if len(text) > most:
        raise InvalidField(f"{field}: is longer than {most} characters: shorten it", field=field)
    return text


def expiry(packs: ContextPacks, ttl_seconds: int | None) -> datetime | None:
    if wrong := miscounted(ttl_seconds or 0, 0, MAX_TTL):
        raise InvalidField(f"ttl_seconds: {wrong}", field="ttl_seconds")
    return packs.now() + timedelta(seconds=ttl_seconds) if ttl_seconds else None


def told(moment: datetime) -> str:
    """RFC 3339 in UTC, ending in Z."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
