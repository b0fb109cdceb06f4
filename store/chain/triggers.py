"""Triggers that arrive together, written in one transaction: what each of them repeats, and where it goes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..errors import Conflict, Gone, StoreError
from ..file.duck import Session
from ..memory import reads
from ..records import LEFT_OUT, Written
from ..times import utc
from ..values import Viewer
from .batch import Batch, Known, Spot, by_name, external, spots, taken
from .checks import Arrival, placed


@dataclass(slots=True)
class _New:
    """A trigger to be written, and its name once it has one."""

    arrival: Arrival
    spot: Spot
    name: str


def add_triggers(session: Session, arrivals: Sequence[Arrival], now: datetime) -> list[Written | StoreError]:
    """Write triggers in the order in which they came; for each what was written, or why it was not."""
    stored = _Stored(session, arrivals, now)
    fresh: list[_New] = []
    outcomes: list[Written | StoreError | _New] = []
    for arrival in arrivals:
        try:
            outcome = stored.repeated(arrival) or _repeated(fresh, arrival)
            if outcome is None:
                outcome = _New(arrival, stored.spot(arrival), arrival.given.trigger_id or "")
                fresh.append(outcome)
        except StoreError as error:
            outcomes.append(error)
        else:
            outcomes.append(outcome)
    if fresh:
        batch = Batch(session, now)
        numbered = batch.names("trigger", len(fresh), [new.name for new in fresh])
        for new, (n, name) in zip(fresh, numbered, strict=True):
            new.name = new.name or name
            item = placed(new.arrival.item, new.spot.path)
            key = batch.add("trigger", n, new.name, item, new.arrival.viewer.agent_id, new.spot, new.spot.key)
            if new.arrival.body is not None:
                batch.payload(key, new.arrival.media_type, new.arrival.body)
        batch.write()
    made = {id(new): index for index, new in reversed(list(enumerate(outcomes))) if isinstance(new, _New)}
    return [
        Written(one.name, made[id(one)] == index) if isinstance(one, _New) else one
        for index, one in enumerate(outcomes)
    ]


def _repeated(fresh: Sequence[_New], arrival: Arrival) -> _New | None:
    """What an arrival repeats of the same batch."""
    for new in fresh:
        if new.arrival.viewer.agent_id != arrival.viewer.agent_id:
            continue
        given, other = new.arrival.given, arrival.given
        differs = _differing(_said_by(new), arrival, given.thread_id == other.thread_id)
        if other.external_id is not None and given.external_id == other.external_id:
            _assert_same("external_id", differs, new.name or "a trigger that came with it")
            return new
        if other.trigger_id is not None and given.trigger_id == other.trigger_id:
            _assert_same("trigger_id", differs, new.name)
            return new
    return None


@dataclass(frozen=True, slots=True)
class _Said:
    """What a trigger says that another one may repeat; `payload` is its media type and bytes."""

    name: str
    external_id: str | None
    summary: str
    moment: datetime | None
    source: Mapping[str, Any]
    payload: tuple[str, bytes | None]


def _said_by(new: _New) -> _Said:
    record = new.arrival.item.record
    line = record.content.partition("\n")[0]
    payload = new.arrival.media_type, new.arrival.body
    return _Said(new.name, record.external_id, line, utc(record.timestamp), record.source, payload)


def _differing(there: _Said, arrival: Arrival, same_thread: bool) -> list[str]:
    """What an arrival says otherwise than the trigger that it repeats; what it leaves out is no difference, except for
    the payload."""
    given, record = arrival.given, arrival.item.record
    differs = {
        "payload": there.payload != (arrival.media_type, arrival.body),
        "thread": not same_thread,
        "summary": bool(given.summary) and given.summary != there.summary,
        "occurred_at": record.timestamp is not None and utc(record.timestamp) != there.moment,
        "source": record.source != there.source,
        "trigger_id": given.trigger_id is not None and given.trigger_id != there.name,
        "external_id": given.external_id is not None and given.external_id != there.external_id,
    }
    return [what for what, different in differs.items() if different]


def _assert_same(field: str, found: Sequence[str], name: str) -> None:
    """Raise Conflict where a known id came with something else: it would be lost without a word."""
    if found:
        raise Conflict(
            f"{field}: already names {name}, which has another {' and another '.join(found)}: choose another id, "
            "or send the same",
            field=field,
        )


class _Stored:
    """What is stored of a batch of triggers: their threads, and triggers with their ids."""

    def __init__(self, session: Session, arrivals: Sequence[Arrival], now: datetime) -> None:
        self._session, self._now = session, now
        self._spots: dict[tuple[Viewer, str], Spot | StoreError] = {}
        self._external: dict[tuple[str, str], Known] = {}
        for viewer in dict.fromkeys(arrival.viewer for arrival in arrivals):
            given = [arrival.given for arrival in arrivals if arrival.viewer == viewer]
            names = list(dict.fromkeys(one.thread_id for one in given))
            for name, spot in zip(names, spots(session, names, viewer, now, "thread_id"), strict=True):
                self._spots[viewer, name] = spot
            texts = [one.external_id for one in given if one.external_id is not None]
            for text, known in external(session, "trigger", viewer.agent_id, texts).items():
                self._external[viewer.agent_id, text] = known
        wanted = [arrival.given.trigger_id for arrival in arrivals if arrival.given.trigger_id is not None]
        self._named = [Known(*row) for row in by_name(session, wanted)]

    def spot(self, arrival: Arrival) -> Spot:
        """The thread that a trigger goes to; raises NotFound, Gone."""
        spot = self._spots[arrival.viewer, arrival.given.thread_id]
        if isinstance(spot, StoreError):
            raise spot
        return spot

    def repeated(self, arrival: Arrival) -> Written | None:
        """The trigger that is there already; raises Gone for one that was deleted, Conflict for another one."""
        agent, given = arrival.viewer.agent_id, arrival.given
        if given.external_id is not None:
            known = self._external.get((agent, given.external_id))
            if known is not None:
                if known.deleted:
                    raise Gone(f"external_id: its trigger {known.name} was deleted", field="external_id")
                if self._erased(known.key):
                    return Written(known.name, False, (LEFT_OUT,))
                self._assert_repeats("external_id", known, arrival)
                return Written(known.name, False)
        named = [known for known in self._named if known.name == given.trigger_id]
        if not named:
            return None
        spot = self.spot(arrival)
        own = next((known for known in named if known.agent_id == agent), None)
        if own is not None and not own.deleted and not self._erased(own.key):
            self._assert_repeats("trigger_id", own, arrival)
            return Written(own.name, False)
        if own is not None and own.deleted:
            raise Conflict(
                f"trigger_id: {own.name} was deleted, and ids are never reused: choose another", field="trigger_id"
            )
        beside = any(known.thread == spot.key for known in named)
        if own is not None or beside or reads.name_was_seen(self._session, named[0].name, arrival.viewer, self._now):
            raise taken(named[0].name, "trigger_id")
        return None

    def _erased(self, key: int) -> bool:
        return (
            self._session.row("SELECT 1 FROM records WHERE key = $key AND forgotten = 'redact'", {"key": key})
            is not None
        )

    def _assert_repeats(self, field: str, known: Known, arrival: Arrival) -> None:
        """Raise Conflict where a trigger under a known id is another one. A thread that is gone is not compared."""
        row = self._session.row(
            "SELECT r.content, r.created_at, r.source, p.media_type, p.body "
            "FROM records r LEFT JOIN payloads p USING (key) WHERE r.key = $key AND r.valid_to IS NULL",
            {"key": known.key},
        )
        assert row is not None
        content, moment, source, media_type, body = row
        line = content.partition("\n")[0]
        there = _Said(known.name, known.external_id, line, moment, json.loads(source), (media_type or "", body))
        spot = self._spots[arrival.viewer, arrival.given.thread_id]
        same_thread = isinstance(spot, StoreError) or known.thread == spot.key
        _assert_same(field, _differing(there, arrival, same_thread), known.name)
