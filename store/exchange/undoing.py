"""What one import brought, and taking it back.

Each record that an import writes names it in `source.import`. Undone, what it made is forgotten and what it changed is
as before, each as a further version. The caller's own ids are given free, so that the same source can come again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..errors import NotFound
from ..file.duck import Session, query
from ..memory import erasure
from ..memory.revise import revise
from ..records import id_of
from ..values import Viewer

_BACK = ("content", "title", "path", "type", "bucket", "scope", "team_id", "status", "pinned")
_FACTS = ("source", "metadata")


@dataclass(frozen=True, slots=True)
class Import:
    """An import that can be undone: records that it made or changed and that stand."""

    id: str
    host: str
    records: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Undone:
    """What taking an import back does: ids that are forgotten, put back, and left as they were changed since."""

    id: str
    forgotten: tuple[str, ...]
    restored: tuple[str, ...]
    left: tuple[str, ...]


def imports(session: Session, viewer: Viewer) -> list[Import]:
    """The imports of an agent of which something stands, newest first."""
    rows = session.rows(query("imports"), {"agent": viewer.agent_id, "temporary": viewer.temporary})
    return [Import(*row) for row in rows]


def undo(session: Session, one: str, mode: str, viewer: Viewer, now: datetime, *, dry: bool, on_disk: bool) -> Undone:
    """Take an import back, or only say what that does. Raises NotFound for one of which nothing stands."""
    rows = session.rows(query("imported"), {"agent": viewer.agent_id, "import": one, "temporary": viewer.temporary})
    made = [key for key, standing, first, _ in rows if standing and first]
    changed = [(key, before) for key, standing, first, before in rows if standing and not first]
    if not made and not changed:
        raise NotFound(f"import: there is no import {ascii(one)[1:-1][:60]} left to undo", field="import")
    left = [key for key, standing, _, _ in rows if not standing]
    if not dry:
        take_back(session, made, mode, viewer, now, on_disk=on_disk)
        for key, before in changed:
            _put_back(session, key, before, viewer, now)
    return Undone(one, *(tuple(id_of(key) for key in keys) for keys in (made, [key for key, _ in changed], left)))


def take_back(
    session: Session, keys: Sequence[int], mode: str, viewer: Viewer, now: datetime, *, on_disk: bool
) -> None:
    """Forget records and give their ids of the caller free."""
    if keys:
        erasure.forget(session, [id_of(key) for key in keys], mode, viewer, now, labels=False, on_disk=on_disk)
        session.run(
            "UPDATE records SET external_id = NULL, external_hash = NULL WHERE key IN (SELECT unnest($keys::BIGINT[]))",
            {"keys": list(keys)},
        )


def _put_back(session: Session, key: int, vid: int, viewer: Viewer, now: datetime) -> None:
    row = session.row(query("version_before"), {"vid": vid})
    assert row is not None
    before = {name: value for name, value in zip((*_BACK, *_FACTS), row, strict=True) if value is not None}
    for name in _FACTS:
        before[name] = json.loads(before[name])
    revise(session, id_of(key), before, viewer, now, merge=False)


def vanished(
    session: Session, host: str, folder: str, seen: Collection[str], kept: Iterable[str], viewer: Viewer
) -> list[int]:
    """Keys of what came from a folder and is not in it any more; files of `kept` could not be read."""
    unread = set(kept)
    rows = session.rows(query("from_folder"), {"agent": viewer.agent_id, "host": host, "folder": folder})
    return [key for key, external, file in rows if external not in seen and file not in unread]
