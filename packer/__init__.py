"""The library: request → pack → text.

Public names are those of `__all__`. They load with their first use, so that importing the package, or asking a command
for its help, loads no database.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import (
        Conflict,
        ContextPacksError,
        Forbidden,
        Gone,
        InvalidField,
        NotFound,
        StoreDamaged,
        StoreFull,
        StoreLocked,
        StoreMissing,
        StoreNewer,
        StoreReadOnly,
        StoreUnavailable,
        Unauthorized,
    )
    from .packing.pack import Budget, Decision, Pack, PackedItem
    from .packing.profile import Profile, list_profiles, load_profile
    from .packing.request import PackRequest
    from .rows import Contents, Row, Rows
    from .service import ContextPacks

_HOME = {
    "errors": (
        "Conflict", "ContextPacksError", "Forbidden", "Gone", "InvalidField", "NotFound", "StoreDamaged", "StoreFull",
        "StoreLocked", "StoreMissing", "StoreNewer", "StoreReadOnly", "StoreUnavailable", "Unauthorized",
    ),
    "packing.pack": ("Budget", "Decision", "Pack", "PackedItem"),
    "packing.profile": ("Profile", "list_profiles", "load_profile"),
    "packing.request": ("PackRequest",),
    "rows": ("Contents", "Row", "Rows"),
    "service": ("ContextPacks",),
}  # fmt: skip
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Budget",
    "Conflict",
    "Contents",
    "ContextPacks",
    "ContextPacksError",
    "Decision",
    "Forbidden",
    "Gone",
    "InvalidField",
    "NotFound",
    "Pack",
    "PackRequest",
    "PackedItem",
    "Profile",
    "Row",
    "Rows",
    "StoreDamaged",
    "StoreFull",
    "StoreLocked",
    "StoreMissing",
    "StoreNewer",
    "StoreReadOnly",
    "StoreUnavailable",
    "Unauthorized",
    "list_profiles",
    "load_profile",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULE[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
