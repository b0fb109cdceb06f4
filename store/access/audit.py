"""The audit trail: who read or wrote which id, and when. Ids and outcomes only, never a text of a query or a memory.

A door switches it on (`Audit.start`). Entries wait in a buffer of this process and a thread writes them at least every
half second, or as soon as 200 wait, so that no request pays for it. What a kill loses is that half second of entries;
a regular end loses none. Tokens made and revoked are written at once, with what they tell of.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..errors import Conflict, InvalidField, StoreError
from ..file.duck import Duck, Session, query
from ..times import parse_time, utc
from ..validation import miscounted

if TYPE_CHECKING:
    from collections.abc import Iterable

OBJECTS = 20  # rows of one request at most; the count of all its objects stands in each
MOST_LIMIT = 1000  # rows of one page
KEPT_DAYS = 90
_BATCH = 5000  # entries of one transaction
_ID = re.compile(r"(?:mem|ep):[1-9][0-9]{0,15}|(?:trg|thr|wkr|tok)_[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", re.ASCII)
_CURSOR = re.compile(r"([0-9]{1,17})-([0-9]{1,18})-([0-9a-f]{12})", re.ASCII)
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_log = logging.getLogger("context_packs.audit")


@dataclass(frozen=True, slots=True)
class Entry:
    """One object of one request. `object_id` is empty where a request has none and "?" where what was sent is no id;
    `objects` is how many the request had, `outcome` its HTTP status, `token_id` empty without a token. `number` is
    unique in the store, 0 before it is kept."""

    at: datetime
    token_id: str
    agent_id: str
    action: str
    object_id: str = ""
    objects: int = 0
    outcome: int = 200
    number: int = 0


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Entries newest first, and the cursor of the next page, None at the end."""

    entries: tuple[Entry, ...]
    next_cursor: str | None


def entries_of(
    at: datetime, token_id: str, agent_id: str, action: str, objects: Sequence[str], outcome: int
) -> list[Entry]:
    """The rows of one request, at most 20, one without an object where it has none. Storable whatever came in: an
    object that is no id may be anything, a text too, and is kept as "?" only."""
    who = agent_id.encode("utf-8", "replace").decode()[:512]
    named = [one if _ID.fullmatch(one) else "?" for one in objects[:OBJECTS]] or [""]
    return [Entry(at, token_id, who, action, one, len(objects), outcome) for one in named]


def append(session: Session, entries: Sequence[Entry]) -> None:
    """Keep entries; their numbers are handed out here, so they follow the order of the transactions."""
    if not entries:
        return
    first = int(session.value("SELECT next_value FROM counters WHERE name = 'audit'"))
    session.run(
        "UPDATE counters SET next_value = $next WHERE name = 'audit'",
        {"next": first + len(entries)},
    )
    columns: dict[str, list[Any]] = {
        "number": list(range(first, first + len(entries))),
        "moment": [utc(entry.at) for entry in entries],
    }
    for name in ("token_id", "agent_id", "action", "object_id", "objects", "outcome"):
        columns[name] = [getattr(entry, name) for entry in entries]
    session.run(query("insert_audit"), columns)


def read(
    session: Session,
    *,
    limit: int = 100,
    cursor: str | None = None,
    since: object = None,
    until: object = None,
    **equal: str | None,
) -> AuditPage:
    """A page of the trail, newest first: of an `agent_id`, `token_id`, `action`, `object_id`, half-open in time.

    `limit` is 1 to 1000. A cursor stands behind the (time, number) of an entry: whatever is written while somebody
    pages, no entry comes twice. Raises InvalidField, and Conflict for the cursor of another query.
    """
    if wrong := miscounted(limit, 1, MOST_LIMIT):
        raise InvalidField(f"limit: {wrong}", field="limit")
    params: dict[str, Any] = {name: value for name, value in equal.items() if value is not None}
    for name, value in params.items():
        if name not in ("agent_id", "token_id", "action", "object_id"):
            raise InvalidField(f"{name}: is not a filter of the audit trail", field=name)
        if not isinstance(value, str):
            raise InvalidField(f"{name}: {type(value).__name__} is not text", field=name)
        params[name] = value.encode("utf-8", "replace").decode()
    for name, time in (("since", since), ("until", until)):
        if time is not None:
            params[name] = utc(parse_time(time, name))
    flags = set(params)
    asked = sha256(repr(sorted(params.items())).encode()).hexdigest()[:12]
    if cursor not in (None, ""):
        flags.add("behind")
        params["moment"], params["number"] = _behind(cursor, asked)
    rows = session.rows(query("audit", frozenset(flags)), {**params, "limit": limit + 1})
    found = tuple(
        Entry(moment.replace(tzinfo=UTC), token, agent, action, one, objects, outcome, number)
        for number, moment, token, agent, action, one, objects, outcome in rows[:limit]
    )
    if len(rows) <= limit:
        return AuditPage(found, None)
    return AuditPage(found, f"{(found[-1].at - _EPOCH) // _MICROSECOND}-{found[-1].number}-{asked}")


def _behind(cursor: object, asked: str) -> tuple[datetime, int]:
    """Time and number of a cursor: `<microseconds since 1970>-<number>-<what was asked for>`."""
    match = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
    if match is None:
        raise InvalidField(
            "cursor: is not a cursor of this audit trail: give next_cursor exactly as returned", field="cursor"
        )
    if match[3] != asked:
        raise Conflict("cursor: belongs to another query: send the same filters with it", field="cursor")
    return (_EPOCH + int(match[1]) * _MICROSECOND).replace(tzinfo=None), int(match[2])


class Audit:
    """The trail of one store: reads it, and once started takes entries and writes them behind the requests.

    At most `most` entries wait: while the store can
    not be written for long, further ones are counted and an entry `audit.lost` says how many. A failed write is logged
    and tried again; nothing of it reaches a request. Safe from several threads.
    """

    def __init__(
        self,
        duck: Duck,
        clock: Callable[[], datetime],
        *,
        most: int = 20_000,
        every: float = 0.5,
        batch: int = 4000,
    ) -> None:
        self._duck = duck
        self._clock = clock
        self._kept = timedelta(days=KEPT_DAYS)
        self._most = most
        self._every = every
        self._batch = batch
        self._waiting: deque[Entry] = deque()
        self._lost = 0
        self._changed = threading.Condition()  # guards all but the writing itself
        self._writing = threading.Lock()  # one flush at a time
        self._thread: threading.Thread | None = None
        self._ending = False
        self._failing = False
        self._cleared: datetime | None = None

    @property
    def started(self) -> bool:
        """Whether entries are taken."""
        return self._thread is not None

    @property
    def waiting(self) -> int:
        """How many entries are not written yet."""
        return len(self._waiting)

    def start(self, *, days: float = KEPT_DAYS) -> None:
        """Take entries from now on, and start the thread that writes them and removes those older than `days` once an
        hour. Starting twice is harmless."""
        with self._changed:
            self._kept = timedelta(days=days)
            if self._thread is None and not self._ending:
                self._thread = threading.Thread(target=self._run, name="context-packs-audit", daemon=True)
                self._thread.start()

    def note(
        self, action: str, *, agent_id: str, token_id: str = "", objects: Iterable[str] = (), outcome: int = 200
    ) -> None:
        """One request: what it did (a word of the door), for whom, to which ids, and its HTTP status. Waits for
        nothing and raises nothing; does nothing before `start` and after `close`."""
        if self._thread is None:
            return
        rows = entries_of(self._clock(), token_id, agent_id, action, list(objects), outcome)
        with self._changed:
            if self._ending:
                return
            room = max(0, self._most - len(self._waiting))
            self._waiting.extend(rows[:room])
            self._lost += len(rows[room:])
            if len(self._waiting) >= self._batch:
                self._changed.notify_all()

    def read(self, **asked: Any) -> AuditPage:
        """A page of the trail, what waits in this process included; see the function `read` for what may be asked."""
        self.flush()
        with self._duck.reading() as session:
            return read(session, **asked)

    def flush(self) -> bool:
        """Write what waits; False where it could not be written and waits on."""
        with self._writing:
            while True:
                with self._changed:
                    taken, lost = list(islice(self._waiting, _BATCH)), self._lost
                if not taken and not lost:
                    return True
                if not self._kept_now(taken, lost):
                    return False
                with self._changed:
                    for _ in taken:
                        self._waiting.popleft()
                    self._lost -= lost

    def _kept_now(self, taken: Sequence[Entry], lost: int) -> bool:
        now = self._clock()
        gap = [Entry(now, "", "", "audit.lost", objects=lost, outcome=503)] if lost else []
        oldest = now - self._kept
        clearing = self._cleared is None or oldest - self._cleared >= timedelta(hours=1)
        try:
            with self._duck.writing(records=False) as session:
                append(session, [*taken, *gap])
                if clearing:
                    session.run("DELETE FROM audit WHERE moment < $oldest", {"oldest": utc(oldest)})
        except StoreError as error:
            if not self._failing:
                _log.warning("audit entries wait for the store: %s", error)
            self._failing = True
            return False
        if clearing:
            self._cleared = oldest
        if self._failing:
            _log.warning("audit entries are written again")
        self._failing = False
        return True

    def _run(self) -> None:
        while True:
            with self._changed:
                # While the store cannot be written a full buffer is no reason to try at once.
                self._changed.wait_for(
                    lambda: self._ending or (not self._failing and len(self._waiting) >= self._batch), self._every
                )
                if self._ending:
                    return  # close() writes the rest
            self._flush_anyway()

    def _flush_anyway(self) -> None:
        try:
            self.flush()
        except Exception:  # a fault of ours must not end the trail: it is told and tried again
            self._failing = True
            _log.exception("audit entries could not be written")

    def close(self) -> None:
        """Write what waits and end the thread; what cannot be written now is lost, and logged. Closing twice is
        harmless."""
        with self._changed:
            self._ending = True
            self._changed.notify_all()
            thread, self._thread = self._thread, None
        if thread is None:
            return
        thread.join()
        self._flush_anyway()
        if self._waiting:
            _log.error("%d audit entries were lost: the store could not be written at the end", len(self._waiting))
