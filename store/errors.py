"""What can go wrong in the store, as one small tree.

Every message is one line, names the field or thing at fault and the way out, and never shows a path of the host or
stored text of somebody else.
"""

from __future__ import annotations


class StoreError(Exception):
    """Base of all store errors; `field` names the input at fault where there is one."""

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class InvalidField(StoreError):
    """A value is out of range or malformed; `field` is always set."""


class NotFound(StoreError):
    """No record with this id that the caller may see."""


class Gone(NotFound):
    """The record was deleted; raised only for its owner."""


class Conflict(StoreError):
    """An idempotency key came again with other content, or an import contradicts what is stored; `ref` is the id of the
    line at fault."""

    ref: str | None = None


class StoreUnavailable(StoreError):
    """The store cannot be used now; the message says what to do. Base of the leaves below."""


class StoreMissing(StoreUnavailable):
    """There is no file at the path; a read makes none."""


class StoreLocked(StoreUnavailable):
    """Another process held the file for longer than the bounded wait."""


class StoreReadOnly(StoreUnavailable):
    """The file or its folder cannot be written."""


class StoreDamaged(StoreUnavailable):
    """The file is not a context-packs store or cannot be read."""


class StoreNewer(StoreUnavailable):
    """The file was written by a newer schema than this version knows."""


class StoreFull(StoreUnavailable):
    """No space left for a write; nothing of it was kept."""
