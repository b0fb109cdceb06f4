"""Many small writes of several threads in one transaction: who comes while another writes goes with the next."""

from __future__ import annotations

import threading
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


class Gathering(Generic[In, Out]):
    """Writes items in groups. `write` keeps a group of at most `most` items in one transaction and gives, in the same
    order, an answer or an error for each; what it raises is the error of them all. Safe from several threads."""

    def __init__(self, write: Callable[[Sequence[In]], Sequence[Out | Exception]], most: int = 200) -> None:
        self._write = write
        self._most = most
        self._waiting: list[_Entry[In, Out]] = []
        self._queue = threading.Lock()  # of `_waiting`
        self._turn = threading.Lock()  # of who writes

    def put(self, item: In) -> Out:
        """Write one item, alone or with others that wait; gives its answer once it is kept, or raises its error."""
        entry: _Entry[In, Out] = _Entry(item)
        with self._queue:
            self._waiting.append(entry)
        with self._turn:
            while entry.answer is None and entry.error is None:
                self._write_group()
        if entry.error is not None:
            raise entry.error
        assert entry.answer is not None
        return entry.answer

    def _write_group(self) -> None:
        with self._queue:
            group, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
        try:
            outcomes = self._write([entry.item for entry in group])
        except BaseException as error:
            for entry in group:
                entry.error = error
            return
        for entry, outcome in zip(group, outcomes, strict=True):
            if isinstance(outcome, Exception):
                entry.error = outcome
            else:
                entry.answer = outcome
