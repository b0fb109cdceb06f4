"""Lines of an export as a file of JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from context_packs.store.file.targets import text_file


def write_file(
    path: str | Path, lines: Iterable[Mapping[str, Any]], field: str = "file", *, replace: bool = True
) -> int:
    """Write lines to a file that only its owner may read; returns their number.

    A file appears whole or not at all; a link is followed, and what is no regular file (a pipe, a device) is written
    into. Raises InvalidField where it cannot be written, or would take the place of a store.

    Args:
        path: the file.
        lines: what to write, one object a line.
        field: what the file is called in errors.
        replace: whether it may take the place of a file that is there.
    """
    count = 0
    with text_file(str(path), field, replace=replace) as out:
        for line in lines:
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
            count += 1
    return count
