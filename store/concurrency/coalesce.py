"""Calls that come at the same time, answered together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class _Call(Generic[K, V]):
    """One caller who waits: what it asks, and the answer or the error once there is one."""

    __slots__ = ("answer", "asked", "error")

    def __init__(self, asked: K) -> None:
        self.asked = asked
        self.answer: list[V] = []  # of one, once it is there
        self.error: Exception | None = None


class Together(Generic[K, V]):
    """Asks `answer` once for all who came while it was answering those before. Safe from several threads.

    A query for eight keys takes hardly longer than one for a single key, so that eight clients are served in the time
    of two. Nobody waits for others to come: who comes alone is answered alone.
    """

    def __init__(self, answer: Callable[[Sequence[K]], Mapping[K, V]]) -> None:
        self._answer = answer
        self._waiting: list[_Call[K, V]] = []
        self._list = threading.Lock()
        self._turn = threading.Lock()

    def ask(self, key: K) -> V:
        """The answer for a key; raises what `answer` raises. `answer` gives one for each key."""
        call: _Call[K, V] = _Call(key)
        with self._list:
            self._waiting.append(call)
        with self._turn:
            if not call.answer and call.error is None:  # nobody before has answered it: this one answers all that wait
                with self._list:
                    calls, self._waiting = self._waiting, []
                self._settle(calls if call in calls else [*calls, call])  # whoever took it was broken off
        if call.error is not None:
            raise call.error
        return call.answer[0]

    def _settle(self, calls: Sequence[_Call[K, V]]) -> None:
        try:
            answers = self._answer(list(dict.fromkeys(call.asked for call in calls)))
        except Exception as error:
            for call in calls:
                call.error = error
            return
        for call in calls:
            call.answer = [answers[call.asked]]
