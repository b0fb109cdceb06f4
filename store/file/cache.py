"""What a process remembers of a file that it keeps open, until the file changes.

Nothing here decides who sees what: an entry is named by everything that it depends on, conditions of visibility
included, and what comes into an answer is read from the file all the same or was read from it under the same condition.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

LIMIT = 64 << 20  # bytes of all entries
SETTLED = 3  # reads of an unchanged file before it is worth keeping anything that takes long to read


class Kept:
    """Values by name for one version of a file; those used longest ago go first. Safe from several threads."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.version = 0
        self._limit = limit
        self._lock = threading.Lock()
        self._reads = 0
        self._size = 0
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def changed(self) -> None:
        """The file is another now: forget all, and take nothing from reads that began before."""
        with self._lock:
            self.version += 1
            self._reads = self._size = 0
            self._entries.clear()

    def begun(self) -> int:
        """A read begins; the version it may ask for."""
        with self._lock:
            self._reads += 1
            return self.version

    @property
    def settled(self) -> bool:
        """Whether the file has been read a few times without a change."""
        return self._reads > SETTLED

    def get(self, name: Hashable, version: int) -> Any:
        """The value of a name, None where there is none of this version."""
        with self._lock:
            entry = self._entries.get(name) if version == self.version else None
            if entry is None:
                return None
            self._entries.move_to_end(name)
            return entry[0]

    def put(self, name: Hashable, value: Any, size: int, version: int) -> None:
        """Keep a value of about `size` bytes that was read under `version`, unless the file has changed since."""
        with self._lock:
            if version != self.version or size > self._limit // 2:
                return
            replaced = self._entries.pop(name, None)
            self._size += size - (replaced[1] if replaced else 0)
            self._entries[name] = value, size
            while self._size > self._limit:
                _, (_, freed) = self._entries.popitem(last=False)
                self._size -= freed
