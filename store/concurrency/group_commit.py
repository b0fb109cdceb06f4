"""Many small writes of several threads in one transaction: who comes while another writes goes with the next."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

In = TypeVar("In")
Out = TypeVar("Out")


class _Entry(Generic[In, Out]):
    """One thing to write, and what came of it."""

    __slots__ = ("answer", "error", "item")

    def __init__(self, item: In) -> None:
        self.item = item
        self.answer: Out | None = None
        self.error: BaseException | None = None

    @property
    def done(self) -> bool:
        return self.answer is not None or self.error is not None


class Gathering(Generic[In, Out]):
    """Writes items in groups. `write` keeps a group of at most `most` items in one transaction and gives, in the same
    order, an answer or an error for each; what it raises is the error of them all. Safe from several threads.

    Where several came together lately, as many are waited for again, no longer than the last write took (and at most
    `pause` seconds): those who have just been answered are about to come back, and a transaction costs as much for one
    as for twenty.
    """

    def __init__(
        self, write: Callable[[Sequence[In]], Sequence[Out | Exception]], most: int = 200, pause: float = 0.1
    ) -> None:
        self._write = write
        self._most = most
        self._pause = pause
        self._changed = threading.Condition()  # of all below
        self._waiting: list[_Entry[In, Out]] = []
        self._writing = False
        self._together = 1  # items that came together lately
        self._took = 0.0  # seconds of the last write

    def put(self, item: In) -> Out:
        """Write one item, alone or with others that wait; gives its answer once it is kept, or raises its error."""
        entry: _Entry[In, Out] = _Entry(item)
        with self._changed:
            self._waiting.append(entry)
            self._changed.notify_all()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: entry.done or not self._writing)
                if entry.done:
                    break
                self._writing = True
            self._write_group()
        if entry.error is not None:
            raise entry.error
        assert entry.answer is not None
        return entry.answer

    def _write_group(self) -> None:
        """Write what waits; only one thread at a time is here."""
        group: list[_Entry[In, Out]] = []
        try:
            with self._changed:
                if self._together > 1:
                    pause = min(self._took, self._pause)
                    self._changed.wait_for(lambda: len(self._waiting) >= self._together, pause)
                group, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            began = time.monotonic()
            outcomes = self._write([entry.item for entry in group])
            self._took = time.monotonic() - began
            for entry, outcome in zip(group, outcomes, strict=True):
                if isinstance(outcome, Exception):
                    entry.error = outcome
                else:
                    entry.answer = outcome
        except BaseException as error:
            for entry in group:
                entry.error = error
            if not isinstance(error, Exception):
                raise  # whoever ends this thread means it, not its write
        finally:
            with self._changed:
                self._together = max(len(group), self._together * 3 // 4)
                self._writing = False
                self._changed.notify_all()
