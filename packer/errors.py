"""One error tree for the whole product, and the one table that doors translate it with.

The tree starts in the store (`context_packs.store.errors`); the packer adds what only a door can meet. Sources of the
numbers: HTTP status codes RFC 9110, problem details RFC 9457; exit codes are this product's own.
"""

from __future__ import annotations

from dataclasses import dataclass

from context_packs.store.errors import (
    Conflict,
    Gone,
    InvalidField,
    NotFound,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreMissing,
    StoreNewer,
    StoreReadOnly,
    StoreUnavailable,
)

__all__ = [
    "ERROR_TABLE",
    "Conflict",
    "ContextPacksError",
    "ErrorRow",
    "Forbidden",
    "Gone",
    "InvalidField",
    "NotFound",
    "StoreDamaged",
    "StoreError",
    "StoreFull",
    "StoreLocked",
    "StoreMissing",
    "StoreNewer",
    "StoreReadOnly",
    "StoreUnavailable",
    "Unauthorized",
    "row_for",
]

ContextPacksError = StoreError
"""Base of everything this product raises on purpose."""


class Unauthorized(StoreError):
    """No credential, or one that is not known."""


class Forbidden(StoreError):
    """The credential is known but lacks the scope that the message names."""


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """How one class of error looks on each door: HTTP status, code of an MCP tool error, exit code of the process."""

    status: int
    mcp: str
    exit_code: int


ERROR_TABLE: dict[type[Exception], ErrorRow] = {
    Unauthorized: ErrorRow(401, "unauthorized", 3),
    Forbidden: ErrorRow(403, "forbidden", 3),
    NotFound: ErrorRow(404, "not_found", 4),
    Gone: ErrorRow(410, "gone", 4),
    InvalidField: ErrorRow(422, "invalid_field", 2),
    Conflict: ErrorRow(409, "conflict", 5),
    StoreUnavailable: ErrorRow(503, "store_unavailable", 6),
    StoreLocked: ErrorRow(503, "store_locked", 6),
    StoreMissing: ErrorRow(503, "store_missing", 6),
    StoreReadOnly: ErrorRow(503, "store_read_only", 6),
    StoreDamaged: ErrorRow(503, "store_damaged", 6),
    StoreNewer: ErrorRow(503, "store_newer", 6),
    StoreFull: ErrorRow(503, "store_full", 6),
}

UNEXPECTED = ErrorRow(500, "internal_error", 1)


def row_for(error: BaseException | type[BaseException]) -> ErrorRow:
    """The row of an error or its nearest base; anything outside the tree is an internal error (500, exit 1)."""
    kind = error if isinstance(error, type) else type(error)
    for base in kind.__mro__:
        if base in ERROR_TABLE:
            return ERROR_TABLE[base]
    return UNEXPECTED
