"""Which stored record a new one repeats: by idempotency key, by the caller's own id, by what it says in its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from .base import Viewer
from .duck import Session, query
from .errors import Conflict
from .records import NAMED
from .rows import Prepared, hash64

Place = tuple[str, ...]  # agent, team, scope, bucket, path
COMPLETED = "completed"  # status of what is done: the same text is a new record


@dataclass(slots=True)
class Stored:
    """A record as it is now, as far as repetition needs it. `superseded` says by which key, and since when."""

    key: int
    vid: int
    version: int
    place: Place
    content_hash: int | None
    external_id: str | None
    created_at: datetime
    live: bool = True
    forgotten: bool = False
    supersedes: int | None = None
    superseded: tuple[int, datetime] | None = None
    semantic_key: str | None = None


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
        self._by_content: dict[tuple[int | None, Place], Stored] = {}
        self._by_external: dict[tuple[str, str], Stored] = {}
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
        if one.live:
            self._by_content.setdefault((one.content_hash, one.place), one)
        if one.semantic_key is not None and one.superseded is None:
            self._about.setdefault((*one.place[:4], one.semantic_key), []).append(one)
        if one.external_id is not None:
            self._by_external[one.place[0], one.external_id] = one

    def add_replay(self, agent: str, replay: str | None, repeated: Repeated) -> None:
        """An idempotency key was used."""
        if replay is not None:
            self._by_replay.setdefault((agent, replay), repeated)

    def supersede(self, key: int, by: int, at: datetime) -> None:
        """A record was replaced: the same text is a new record from now on."""
        one = self._by_key.get(key)
        if one is not None and one.superseded is None:
            one.superseded, one.live = (by, at), False
            self._drop(one)

    def _drop(self, one: Stored) -> None:
        place = (one.content_hash, one.place)
        if self._by_content.get(place) is one:
            del self._by_content[place]
        if one.semantic_key is not None:
            about = self._about.get((*one.place[:4], one.semantic_key), [])
            about[:] = [other for other in about if other is not one]

    def current(self, item: Prepared, same: Repeated) -> bool:
        """Whether what a record repeats stands now: a request that comes once more changes nothing that came since."""
        one = self._by_key.get(same.key)
        if one is None or one.superseded is not None or one.forgotten or one.vid != same.vid:
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
                        "idempotency_key: was used with other content: take a new key or send the same content",
                        field="idempotency_key",
                    )
                return replay
        if record.external_id is not None:
            one = self._by_external.get((place[0], record.external_id))
            if one is not None and not one.forgotten and one.content_hash != item.content_hash:
                return None
        else:
            one = self._by_content.get((item.content_hash, place)) if record.dedupe else None
        return Repeated(one.key, one.vid, one.version, one.content_hash, one.forgotten) if one else None

    def grown(self, item: Prepared, place: Place) -> Stored | None:
        """The record of which this one is a new version: it has the same external id."""
        external = item.record.external_id
        return self._by_external.get((place[0], external)) if external is not None else None


def caller_hash(agent: str, text: str | None, kind: str = "memory") -> int | None:
    """Where the external ids and idempotency keys of an agent are looked up. Memories and episodes share theirs, those
    of threads and triggers are each kind's own."""
    if text is None:
        return None
    return hash64(agent, kind, text) if kind in NAMED else hash64(agent, text)


def semantic_hash(place: Place, semantic_key: str | None) -> int | None:
    """Where what a record is about is looked up: agent, team, scope, bucket and key."""
    return None if semantic_key is None else hash64(*place[:4], semantic_key)


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
    rows = session.rows(
        query("existing"),
        {
            "contents": [item.content_hash for item in batch],
            "externals": list(externals),
            "semantics": list(abouts),
            "now": now,
        },
    )
    used = session.rows(query("replays"), {"replays": list(replays)}) if replays else []
    stored = []
    for row in rows:
        (key, vid, version, agent, team, scope, bucket, path, content, external, created, expires, supersedes,
         superseded_by, superseded_at, deleted, forgotten, status, semantic, external_hash,
         about_hash) = row  # fmt: skip
        if not viewer.sees(bucket):
            continue
        stored.append(
            Stored(
                key=key,
                vid=vid,
                version=version,
                place=(agent, team, scope, bucket, path),
                content_hash=content,
                external_id=external or externals.get(external_hash),  # of what was erased only the hash is left
                created_at=created,
                live=deleted is None
                and superseded_at is None
                and (expires is None or expires > now)
                and status != COMPLETED,
                forgotten=deleted is not None or forgotten is not None,
                supersedes=supersedes,
                superseded=None if superseded_at is None else (superseded_by, superseded_at),
                semantic_key=semantic or abouts.get(about_hash),
            )
        )
    return Repetitions(
        stored,
        [
            (agent, replay or replays[hashed] or "", Repeated(key, vid, version, content, forgotten is not None))
            for key, vid, version, agent, hashed, replay, content, forgotten in used
        ],
    )
