"""What a session was told by hooks, so that nothing is told it twice, and which records are the session itself.

A small file beside the store, bounded and without any text: ids by the digest of a session. Whoever cannot read or
write it is told everything again, which does no harm.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from hashlib import blake2b

SESSIONS = 32  # that are remembered, the latest
IDS = 400  # of each, the latest
_ENDING = ".told"
_MOST_BYTES = 2**20


class Told:
    """The file beside a store, for one session. Nothing here raises."""

    def __init__(self, store: str, session: object) -> None:
        self._path = os.path.realpath(store) + _ENDING
        known = isinstance(session, str) and session
        self._session = blake2b(str(session).encode("utf-8", "replace"), digest_size=8).hexdigest() if known else ""

    def ids(self, part: str) -> tuple[str, ...]:
        """Ids of a part: `given`, what the session was told, or `own`, what it became."""
        return tuple(self._read().get(self._session, {}).get(part, ()))

    def note(self, part: str, ids: Iterable[str], *, anew: bool = False) -> None:
        """Add ids to a part; `anew` forgets what stood there."""
        ids = list(ids)
        if not self._session or not (ids or anew):
            return
        sessions = self._read()
        entry = sessions.pop(self._session, {})
        kept = [] if anew else [one for one in entry.get(part, ()) if one not in ids]
        sessions[self._session] = {**entry, part: [*kept, *ids][-IDS:]}
        latest = dict(list(sessions.items())[-SESSIONS:])
        draft = f"{self._path}.{os.getpid()}.part"
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "w", encoding="ascii") as file:
                json.dump(latest, file, separators=(",", ":"))
            os.replace(draft, self._path)
        except OSError:  # told again next time
            return

    def _read(self) -> dict[str, dict[str, list[str]]]:
        try:
            if os.path.getsize(self._path) > _MOST_BYTES:
                return {}
            with open(self._path, encoding="ascii") as file:
                found = json.load(file)
        except (OSError, ValueError):  # none yet, or not one of ours: told again
            return {}
        if not isinstance(found, dict):
            return {}
        return {
            session: {
                part: [one for one in ids if isinstance(one, str)]
                for part, ids in parts.items()
                if isinstance(ids, list)
            }
            for session, parts in found.items()
            if isinstance(parts, dict)
        }
