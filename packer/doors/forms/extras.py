"""How to install an extra that is missing. Standard library only: it is told before anything else is loaded."""

from __future__ import annotations

import json
import shlex
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit


def install_extra(extra: str) -> str:
    """The way out where a library of an extra is missing: a command that works where this was installed from."""
    try:
        recorded = distribution("context-packs").read_text("direct_url.json")
    except PackageNotFoundError:
        recorded = None
    return way_to_install(extra, recorded)


def way_to_install(extra: str, recorded: str | None) -> str:
    """The same for what the installer recorded of its source (PEP 610), or None.

    No index is named: the product may have come from a folder or a wheel that no index has. Where that folder or wheel
    is still there, the command can be copied as it stands.
    """
    try:
        found = json.loads(recorded or "{}")
        url = urlsplit(found["url"])
        source = Path(unquote(url.path))
        there = url.scheme == "file" and source.exists()
        editable = "-e " if found.get("dir_info", {}).get("editable") is True else ""
    except (ValueError, LookupError, TypeError, AttributeError):
        there = False
    if not there:
        return (
            f"install the extra '{extra}' from the folder or wheel that context-packs came from: "
            f"pip install '<folder or wheel>[{extra}]'"
        )
    return f"install the extra: pip install {editable}{shlex.quote(f'{source}[{extra}]')}"
