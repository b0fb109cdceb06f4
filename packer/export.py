"""An export as a file of JSON Lines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from context_packs.store.errors import InvalidField


def write_file(path: str | Path, lines: Iterable[Mapping[str, Any]]) -> int:
    """Write lines to a file that only its owner may read; returns their number.

    A file appears whole or not at all; a link is followed, and what is no regular file (a pipe, a device) is written
    into. Raises InvalidField where it cannot be written.
    """
    target = Path(os.path.realpath(path))
    draft = target.with_name(target.name + ".part")
    try:
        if target.exists() and not target.is_file():
            return _write(target, lines)
        count = _write(draft, lines)
        draft.replace(target)
    except OSError as error:
        raise InvalidField(
            f"file: cannot write {target.name}: {error.strerror}; name another file", field="file"
        ) from error
    finally:
        if os.path.exists(draft):  # not in a folder that may not even be looked into
            draft.unlink()
    return count


def _write(file: Path, lines: Iterable[Mapping[str, Any]]) -> int:
    count = 0
    with open(file, "w", encoding="utf-8", newline="\n", opener=_private) as out:
        for line in lines:
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
            count += 1
    return count


def _private(path: str, flags: int) -> int:
    """Open a file that, if it is new, its owner alone may read."""
    return os.open(path, flags, 0o600)
