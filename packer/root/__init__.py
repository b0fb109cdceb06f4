"""The root of the import name: `from context_packs import ContextPacks, __version__`.

All public names of the library stand here too. Each loads with its first use; importing the root alone loads nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from context_packs.packer import *  # noqa: F403

    __version__: str


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("context-packs")
    packer = import_module("context_packs.packer")
    if name == "__all__":
        return [*packer.__all__, "__version__"]
    if name in packer.__all__:
        return getattr(packer, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __getattr__("__all__")  # type: ignore[no-any-return]
