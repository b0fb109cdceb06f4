"""Vectors made beside a server's work, in a thread of its own."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from typing import Final

from ...errors import StoreError

_LOOK = 1.0  # seconds between two looks whether something was written
_REST = 60.0  # seconds after a failure
_NICENESS: Final = 10  # of the thread, where threads have one of their own (Linux)

_log = logging.getLogger("context_packs.vectors")


class Background:
    """Makes what is missing whenever something was written, by anybody, until it is closed.

    Args:
        embed: makes vectors batch by batch; small ones, as a stop waits for the running one.
        stamp: another value whenever the store has changed.
    """

    def __init__(self, embed: Callable[[], Iterator[int]], stamp: Callable[[], object]) -> None:
        self._embed = embed
        self._stamp = stamp
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="vectors", daemon=True)
        self._thread.start()

    def close(self, wait: float = 10.0) -> None:
        """Stop after the running batch, for which it waits so many seconds at most."""
        self._stopped.set()
        self._thread.join(wait)

    def _run(self) -> None:
        if hasattr(os, "setpriority"):
            try:  # of this thread alone, on Linux: who asks goes first
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
            except OSError:
                _log.debug("vectors are made at the usual priority")
        done: object = None
        while not self._stopped.is_set():
            rest = _LOOK
            stamp = self._stamp()
            if stamp != done:
                try:
                    for _ in self._embed():
                        if self._stopped.is_set():
                            return
                    done = stamp
                except StoreError as error:
                    _log.warning("%s", error)
                    rest = _REST
                except Exception as error:
                    _log.warning("vectors: unexpected %s", type(error).__name__)
                    rest = _REST
            self._stopped.wait(rest)
