"""Numbers of records and passages: handed out in order, never twice."""

from __future__ import annotations

from ..file.duck import Session
from ..records import number_of

FAR = 10**9
"""A number so far beyond the next one that it comes from elsewhere: it moves nothing, or a single id near the end would
leave no numbers for what comes later."""

_ISLAND = "island"  # counters `island:<kind>:<first number>`: numbers up to the one before `next_value` are taken


class Numbers:
    """Record and passage numbers of one transaction, taken once and given out in order.

    An id that is imported from far beyond the next number becomes an island: it is kept exactly, the count goes on
    where it was, and numbers given later pass over it. Numbers less than `FAR` apart are one island, gaps included, so
    islands depend only on their numbers, not on the order in which these came.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._first: dict[str, int] = dict(session.rows("SELECT name, next_value FROM counters"))
        self._next = dict(self._first)

    def record(self, kind: str) -> int:
        """The next number of a kind of record."""
        n = self._free(kind)
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

    def at_least(self, kind: str, key: int, far: bool | None = None) -> None:
        """A record came with its id: that number is never given out again. `far` says whether it was an island where
        it comes from; None leaves that to the distance."""
        n = number_of(key)
        islands = self._islands(kind)
        if far is None:
            far = n >= self._free(kind) + FAR or any(first <= n < end for first, end in islands)
        if not far:
            self._next[kind] = max(self._next[kind], n + 1)
            return
        near = [island for island in islands if island[0] - FAR < n < island[1] + FAR]
        for first, _ in near:
            del self._next[f"{_ISLAND}:{kind}:{first}"]
        first = min([n, *(first for first, _ in near)])
        self._next[f"{_ISLAND}:{kind}:{first}"] = max([n + 1, *(end for _, end in near)])

    def is_far(self, kind: str, n: int, before: int) -> bool | None:
        """What an export says of a number that follows `before`: whether it is an island, None where its distance
        says the same."""
        if any(first <= n < end for first, end in self._islands(kind)):
            return True
        return False if before + FAR < n < self._next[kind] else None

    def _free(self, kind: str) -> int:
        """The next number of a kind that lies on no island."""
        n = self._next[kind]
        for first, end in self._islands(kind):
            if first <= n < end:
                n = end
        return n

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
                # A join with the new values takes 4.5 ms where this takes 1.4.
                "UPDATE counters SET next_value = ($values::BIGINT[])[list_position($names::VARCHAR[], name)] "
                "WHERE list_contains($names::VARCHAR[], name)",
                {"names": list(old), "values": list(old.values())},
            )
        new = {name: value for name, value in moved.items() if name not in self._first}
        if new:
            self._session.run(
                "INSERT INTO counters SELECT unnest($names::VARCHAR[]), unnest($values::BIGINT[])",
                {"names": list(new), "values": list(new.values())},
            )
        joined = [name for name in self._first if name not in self._next]
        if joined:
            self._session.run(
                "DELETE FROM counters WHERE name IN (SELECT unnest($names::VARCHAR[]))", {"names": joined}
            )
        self._first = dict(self._next)
