"""So many at once, the others in the order in which they came."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class InTurn:
    """A number of places for work that needs a processor. Whoever finds none free waits for one in turn.

    A semaphore of the standard library lets a thread that comes back at once pass those that wait (decision 22).
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: deque[threading.Lock] = deque()
        self._lock = threading.Lock()

    @contextmanager
    def place(self) -> Iterator[None]:
        """Hold a place. Not to be asked for by one who holds one."""
        gate = None
        with self._lock:
            if self._free:
                self._free -= 1
            else:
                gate = threading.Lock()
                gate.acquire()
                self._waiting.append(gate)
        if gate is not None:
            try:
                gate.acquire()
            except BaseException:  # broken off while waiting, by a signal: nobody is to wait for this one
                self._leave(gate)
                raise
        try:
            yield
        finally:
            self._leave()

    def _leave(self, gate: threading.Lock | None = None) -> None:
        """Give a place on; whoever still waits at `gate` has none and only leaves the queue."""
        with self._lock:
            if gate is not None and gate in self._waiting:
                self._waiting.remove(gate)
            elif self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1
