"""Which stored record a new one repeats: by idempotency key, by the caller's own id, by what it says in its place."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..errors import Conflict
from ..file.duck import Row, Session, query
from ..records import NAMED
from ..times import utc
from ..values import Viewer
from .prepare import Prepared, RecordIn, hash64, text_hash

Place = tuple[str, ...]  # agent, team, scope, bucket, path
MARKED = ("import", "folder")  # entries of `source` that importers add
COMPLETED = "completed"  # status of what is done: the same text is a new record


MARKS = ("superseded_by", "superseded_at", "superseded_from", "superseded_until")
"""Columns that say who replaced a record, and from when to when."""


@dataclass(slots=True)
class Stored:
    """A record as it is now, as far as repetition needs it. `said` are its columns by name, `marks` those of `MARKS`
    where it was ever replaced; `replaced` says that it is so now."""

    key: int
    vid: int
    version: int
    place: Place
    content_hash: int | None
    external_id: str | None
    created_at: datetime
    said: Mapping[str, Any]
    replaced: bool = False
    ended: bool = False  # deleted, expired or completed: the same text is a new record
    forgotten: bool = False
    texts: frozenset[int | None] = frozenset()  # hashes of what a forgotten one said, None for what is not known
    supersedes: int | None = None
    marks: tuple[Any, ...] | None = None
    semantic_key: str | None = None

    def said_before(self, content: str) -> bool:
        """Whether it said this in any version; of what was erased without a trace it is taken for granted."""
        return None in self.texts or text_hash(content) in self.texts


@dataclass(frozen=True, slots=True)
class Repeated:
    """The version that a new record repeats."""

    key: int
    vid: int
    version: int
    content_hash: int | None
    forgotten: bool


class Repetitions:
    """What is stored, and what a batch has added so far."""

    def __init__(self, stored: Iterable[Stored], replays: Iterable[tuple[str, str, Repeated]]) -> None:
        self._by_content: dict[tuple[int | None, Place], list[Stored]] = {}
        self._by_external: dict[tuple[str, str], Stored] = {}
        self._forgotten: dict[tuple[str, str], list[Stored]] = {}  # by external id
        self._by_key: dict[int, Stored] = {}
        self._by_replay: dict[tuple[str, str], Repeated] = {}
        self._about: dict[tuple[str, ...], list[Stored]] = {}
        for one in stored:
            self.add(one)
        for agent, replay, repeated in replays:
            self._by_replay.setdefault((agent, replay), repeated)

    def add(self, one: Stored) -> None:
        """A record, or the version of it that stands now."""
        before = self._by_key.get(one.key)
        if before is not None:
            self._drop(before)
        self._by_key[one.key] = one
        if not (one.replaced or one.ended):
            self._by_content.setdefault((one.content_hash, one.place), []).append(one)
        if one.semantic_key is not None and not one.replaced and not one.forgotten:
            self._about.setdefault((*one.place[:4], one.semantic_key), []).append(one)
        if one.external_id is not None:
            mine = (one.place[0], one.external_id)
            if one.forgotten:
                self._forgotten.setdefault(mine, []).append(one)
            else:
                self._by_external[mine] = one

    def add_replay(self, agent: str, replay: str | None, repeated: Repeated) -> None:
        """An idempotency key was used."""
        if replay is not None:
            self._by_replay.setdefault((agent, replay), repeated)

    def supersede(self, key: int) -> None:
        """A record was replaced: the same text is a new record from now on."""
        one = self._by_key.get(key)
        if one is not None and not one.replaced:
            one.replaced = True
            self._drop(one)

    def _drop(self, one: Stored) -> None:
        alike = self._by_content.get((one.content_hash, one.place), [])
        alike[:] = [other for other in alike if other is not one]
        if one.semantic_key is not None:
            about = self._about.get((*one.place[:4], one.semantic_key), [])
            about[:] = [other for other in about if other is not one]

    def current(self, item: Prepared, same: Repeated) -> bool:
        """Whether what a record repeats stands now: a request that comes once more changes nothing that came since."""
        one = self._by_key.get(same.key)
        if one is None or one.replaced or one.forgotten or one.vid != same.vid:
            return False
        replay = item.record.idempotency_key
        return replay is None or (one.place[0], replay) not in self._by_replay

    def tell(self, key: int, semantic_key: str) -> None:
        """A record that was about nothing is about this now."""
        one = self._by_key[key]
        if one.semantic_key is None:
            one.semantic_key = semantic_key
            self._about.setdefault((*one.place[:4], semantic_key), []).append(one)

    def about(self, place: Place, semantic_key: str | None) -> list[int]:
        """Keys of what stands about the same thing in this agent, team, scope and bucket, newest first."""
        if semantic_key is None:
            return []
        return sorted((one.key for one in self._about.get((*place[:4], semantic_key), ())), reverse=True)

    def repeated(self, item: Prepared, place: Place) -> Repeated | None:
        """What the record repeats, or None. Raises Conflict for an idempotency key that came with other content."""
        record = item.record
        if record.idempotency_key is not None:
            replay = self._by_replay.get((place[0], record.idempotency_key))
            if replay is not None:
                if replay.content_hash not in (item.content_hash, None):
                    raise Conflict(
                        "idempotency_key: was used with other content: use a new key or send the same content",
                        field="idempotency_key",
                    )
                return replay
        one = self._same(item, place)
        return Repeated(one.key, one.vid, one.version, one.content_hash, one.forgotten) if one else None

    def _same(self, item: Prepared, place: Place) -> Stored | None:
        record = item.record
        if record.external_id is not None:
            mine = (place[0], record.external_id)
            one = self._by_external.get(mine)
            if one is not None:
                return one if one.content_hash == item.content_hash else None
            # A source that was forgotten stays so until it says something else.
            return next((old for old in self._forgotten.get(mine, ()) if old.said_before(record.content)), None)
        alike = self._by_content.get((item.content_hash, place), []) if record.dedupe else []
        if item.kind == "episode":  # what happened at another time or elsewhere is another event
            alike = [one for one in alike if not _differing(record, one.said, ("timestamp", "source", "type"))]
        return alike[0] if alike else None

    def not_applied(self, item: Prepared, place: Place, same: Repeated) -> list[str]:
        """Fields of a repetition that say something else than what is stored, which stays."""
        one = self._by_key.get(same.key)
        if one is None or one.vid != same.vid:  # a request that comes once more, of an earlier version
            return []
        record = item.record
        names = _differing(record, one.said, _COMPARED)
        names += [
            name
            for name, given, stored in zip(_PLACE, place[1:], one.place[1:], strict=True)
            if name in record.model_fields_set and given != stored
        ]
        if record.semantic_key is not None and one.semantic_key not in (None, record.semantic_key):
            names.append("semantic_key")
        return sorted(names)

    def grown(self, item: Prepared, place: Place) -> Stored | None:
        """The record of which this one is a new version: it has the same external id."""
        external = item.record.external_id
        return self._by_external.get((place[0], external)) if external is not None else None


_COMPARED = ("expires_at", "metadata", "pinned", "source", "status", "timestamp", "type")
_PLACE = ("team_id", "scope", "bucket", "path")


def _differing(record: RecordIn, said: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Which of these fields are given and differ from what is stored."""
    found = []
    for name in names:
        given = getattr(record, name)
        if name not in record.model_fields_set or given is None or given == "":
            continue
        stored = said["created_at" if name == "timestamp" else name]
        if name in ("source", "metadata"):
            stored = json.loads(stored)
        if name == "source":  # what tells of the import that brought a record is nothing that it says
            given, stored = ({key: said for key, said in one.items() if key not in MARKED} for one in (given, stored))
        if (utc(given) if isinstance(given, datetime) else given) != stored:
            found.append(name)
    return found


def caller_hash(agent: str, text: str | None, kind: str = "memory") -> int | None:
    """Where the external ids and idempotency keys of an agent are looked up. Memories and episodes share theirs, those
    of threads and triggers are each kind's own."""
    if text is None:
        return None
    return hash64(agent, kind, text) if kind in NAMED else hash64(agent, text)


def semantic_hash(place: Place, semantic_key: str | None) -> int | None:
    """Where what a record is about is looked up: agent, team, scope, bucket and key."""
    return None if semantic_key is None else hash64(*place[:4], semantic_key)


def _forgotten_texts(session: Session, rows: Iterable[Row]) -> dict[int, frozenset[int | None]]:
    """By key the hashes of what the forgotten ones among rows of existing.sql said."""
    known: dict[int, set[int | None]] = {row[0]: set() for row in rows if row[_FORGOTTEN] is not None}
    if known:
        for key, content, hashed in session.rows(query("forgotten_texts"), {"keys": list(known)}):
            known[key].add(hashed if content is None else text_hash(content))
    return {key: frozenset(hashes) for key, hashes in known.items()}


_COLUMNS = (
    "key", "vid", "version", "agent_id", "team_id", "scope", "bucket", "path", "content_hash", "external_id",
    "created_at", "expires_at", "supersedes", "superseded_by", "superseded_at", "deleted_at", "forgotten", "status",
    "semantic_key", "external_hash", "semantic_hash", "superseded_from", "superseded_until", "replaced",
    "type", "source", "metadata", "pinned",
)  # fmt: skip
"""Columns of existing.sql."""
_FORGOTTEN = _COLUMNS.index("forgotten")


def look_up(
    session: Session, batch: Sequence[Prepared], places: Sequence[Place], viewer: Viewer, now: datetime
) -> Repetitions:
    """What the store has of a batch that would go to these places, as far as the viewer may know: a record that is
    out of its sight is repeated by nothing. An idempotency key is known to whoever used it, so it still answers."""
    pairs = [(place[0], item.record) for item, place in zip(batch, places, strict=True)]
    externals = {caller_hash(agent, record.external_id): record.external_id for agent, record in pairs}
    replays = {caller_hash(agent, record.idempotency_key): record.idempotency_key for agent, record in pairs}
    abouts = {
        semantic_hash(place, record.semantic_key): record.semantic_key
        for (_, record), place in zip(pairs, places, strict=True)
    }
    for asked in (externals, replays, abouts):
        asked.pop(None, None)
    lists = {"externals": list(externals), "semantics": list(abouts)}
    asked_for = {name: values for name, values in lists.items() if values}
    rows = session.rows(
        query("existing", frozenset(asked_for)),
        {"contents": [item.content_hash for item in batch], "at": now, **asked_for},
    )
    used = session.rows(query("replays"), {"replays": list(replays)}) if replays else []
    texts = _forgotten_texts(session, rows)
    stored = []
    for row in rows:
        said = dict(zip(_COLUMNS, row, strict=True))
        if not viewer.sees(said["bucket"]):
            continue
        expires = said["expires_at"]
        stored.append(
            Stored(
                key=said["key"],
                vid=said["vid"],
                version=said["version"],
                place=tuple(said[name] for name in ("agent_id", *_PLACE)),
                content_hash=said["content_hash"],
                external_id=said["external_id"]
                or externals.get(said["external_hash"]),  # erased: only the hash is left
                created_at=said["created_at"],
                said=said,
                replaced=bool(said["replaced"]),
                ended=said["deleted_at"] is not None
                or (expires is not None and expires <= now)
                or said["status"] == COMPLETED,
                forgotten=said["deleted_at"] is not None or said["forgotten"] is not None,
                texts=texts.get(said["key"], frozenset({None})),
                supersedes=said["supersedes"],
                marks=None if said["superseded_at"] is None else tuple(said[name] for name in MARKS),
                semantic_key=said["semantic_key"] or abouts.get(said["semantic_hash"]),
            )
        )
    return Repetitions(
        stored,
        [
            (agent, replay or replays[hashed] or "", Repeated(key, vid, version, content, forgotten is not None))
            for key, vid, version, agent, hashed, replay, content, forgotten in used
        ],
    )
