"""Numbers of records and passages: handed out in order, never twice."""

from __future__ import annotations

from .duck import Session
from .records import number_of

FAR = 10**9
"""A number so far beyond the next one that it comes from elsewhere: it moves nothing, or a single id near the end would
leave no numbers for what comes later."""

_ISLAND = "island"  # counters `island:<kind>:<first number>`: numbers up to the one before `next_value` are taken


class Numbers:
    """Record and passage numbers of one transaction, taken once and given out in order.

    An id that is imported from far beyond the next number becomes an island: it is kept exactly, the count goes on
    where it was, and numbers given later pass over it.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._first: dict[str, int] = dict(session.rows("SELECT name, next_value FROM counters"))
        self._next = dict(self._first)

    def record(self, kind: str) -> int:
        """The next number of a kind of record."""
        n = self._next[kind]
        for first, end in self._islands(kind):
            if first <= n < end:
                n = end
        self._next[kind] = n + 1
        return n

    def passage(self, slots: int) -> int:
        """The first of so many numbers of passages."""
        self._next["passage"] += slots
        return self._next["passage"] - slots

    def free(self, kind: str, wanted: int | None) -> int:
        """A number for what came with one and is known by a name: that one where nothing has been given from there on
        and it is not far away, else the next."""
        if wanted is not None and self._next[kind] <= wanted < self._next[kind] + FAR:
            self._next[kind] = wanted
        return self.record(kind)

    def at_least(self, kind: str, key: int) -> None:
        """A record came with its id: that number is never given out again."""
        n = number_of(key)
        if n < self._next[kind]:
            return
        if n < self._next[kind] + FAR:
            self._next[kind] = n + 1
            return
        for first, end in self._islands(kind):
            if first <= n < end + FAR:  # grows, gaps included, so that a long run of ids is one row
                self._next[f"{_ISLAND}:{kind}:{first}"] = max(end, n + 1)
                return
        self._next[f"{_ISLAND}:{kind}:{n}"] = n + 1

    def _islands(self, kind: str) -> list[tuple[int, int]]:
        """First number and end of each island of a kind, in order."""
        start = f"{_ISLAND}:{kind}:"
        return sorted((int(name[len(start) :]), end) for name, end in self._next.items() if name.startswith(start))

    def keep(self) -> None:
        """Write down what was given out."""
        moved = {name: value for name, value in self._next.items() if value != self._first.get(name)}
        old = {name: value for name, value in moved.items() if name in self._first}
        if old:
            self._session.run(
                "UPDATE counters SET next_value = n.next_value FROM "
                "(SELECT unnest($names::VARCHAR[]) AS name, unnest($values::BIGINT[]) AS next_value) n "
                "WHERE counters.name = n.name",
                {"names": list(old), "values": list(old.values())},
            )
        new = {name: value for name, value in moved.items() if name not in self._first}
        if new:
            self._session.run(
                "INSERT INTO counters SELECT unnest($names::VARCHAR[]), unnest($values::BIGINT[])",
                {"names": list(new), "values": list(new.values())},
            )
        self._first = dict(self._next)
