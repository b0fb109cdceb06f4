"""Which project a session belongs to, and the scope of what is remembered for it.

The name is the folder of the Git repository, so that all its worktrees are one project; else the working folder. Links
are followed, composed characters are one (NFC), and a drive letter is a capital: the same folder has one name.
"""

from __future__ import annotations

import os
import re
import unicodedata
from hashlib import blake2b

from ...errors import InvalidField

_LABEL_CHARS = 512  # of a scope
_PATH_CHARS = 32_767  # the longest path of any platform
_UNFIT = re.compile("[|\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_MOST_OF_A_POINTER = 4_096  # characters of a `.git` file that are read


def project_of(cwd: str) -> str:
    """The folder that names the project of a working folder, which may be gone.

    The nearest one upward that holds `.git`, or, where that leads to a worktree, the folder of the repository itself
    (gitrepository-layout(5): `gitdir`, `commondir`). Raises InvalidField for a path that is not absolute.
    """
    if not os.path.isabs(cwd) or len(cwd) > _PATH_CHARS:
        raise InvalidField("cwd: is not an absolute path", field="cwd")
    path = folder = _one_name(cwd)
    while not os.path.exists(mark := os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return path
        folder = parent
    common = _common_folder(mark)
    return folder if common is None else _one_name(common)


def old_project_of(cwd: str) -> str:
    """The name that versions before gave the same folder, whose records still stand under it."""
    path = folder = os.path.normpath(cwd)
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return path
        folder = parent
    return folder


def scope_of(project: str) -> str:
    """`project:<path>`; a path that cannot stand in a scope (`|`, control characters, above 512 characters) ends in a
    digest of the whole, so that no two projects share one."""
    text = f"project:{project}"
    plain = _UNFIT.sub("-", text).strip()
    if plain == text and len(text) <= _LABEL_CHARS:
        return text
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{plain[: _LABEL_CHARS - 17].rstrip()}~{digest}"


def _one_name(path: str) -> str:
    path = os.path.normpath(path)
    try:
        path = os.path.realpath(path)
    except (OSError, ValueError):  # no path that this system could have: it is only a name
        pass
    drive, rest = os.path.splitdrive(path)
    return unicodedata.normalize("NFC", drive.upper() + rest)


def _common_folder(mark: str) -> str | None:
    """The folder of the repository to which a worktree belongs; None for a repository of its own and for a submodule,
    which has no `commondir`."""
    try:
        if not os.path.isfile(mark):
            return None
        with open(mark, encoding="utf-8") as file:
            pointer = file.read(_MOST_OF_A_POINTER).partition("gitdir:")[2].strip()
        place = os.path.join(os.path.dirname(mark), pointer)
        with open(os.path.join(place, "commondir"), encoding="utf-8") as file:
            common = os.path.normpath(os.path.join(place, file.read(_MOST_OF_A_POINTER).strip()))
    except (OSError, ValueError):  # moved, not ours to read, or no pointer: a project of its own
        return None
    return os.path.dirname(common) if os.path.basename(common) == ".git" else common
