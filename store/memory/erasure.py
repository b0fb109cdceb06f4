"""Forgetting: a record is hidden, or its text is erased.

`soft_delete` hides a record and keeps its text for the owner's export. `hard_delete` and `redact` erase the text in
every version, with title, source, metadata, speakers, keys, payload, index, vectors and the links that the record made.
What stays is a tombstone: id, kind, times, agent and team, mode, what it replaced and what replaced it, and hashes of
the caller's own keys, so that an import does not bring back what was forgotten. Path, type, status, scope, bucket,
external id and name stay too, unless `labels` says that they go; with `redact` the name stays, since the record is
read by it.

Decision 23: the rows are erased at once. Their bytes stay in unused parts of the file, and in its log, until the file
is written anew (`compact`); `meta` counts the erasures that wait for that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from ..errors import Gone, InvalidField, NotFound, StoreError
from ..file.duck import Session, query
from ..records import erased_name, id_of, is_id
from ..text import analyzer
from ..times import utc
from ..values import Viewer
from . import postings, reads, succession
from .prepare import DEFAULT_PATH, text_hash
from .writes import DEFAULT_BUCKET, DEFAULT_SCOPE, DEFAULT_STATUS

MODES = ("soft_delete", "hard_delete", "redact")
ERASING = ("hard_delete", "redact")
REDACTED = "[redacted]"
WAITING = "erasures_waiting"
"""The row of `meta` that counts erasures whose bytes are still in the file; `compact` takes it out."""
MOST_DERIVED = 200  # that an answer lists; it counts all
_BARE = {"path": DEFAULT_PATH, "scope": DEFAULT_SCOPE, "bucket": DEFAULT_BUCKET, "status": DEFAULT_STATUS}


@dataclass(frozen=True, slots=True)
class Derived:
    """A record that may repeat what an erased one said. `why` is `links to it`, `replaces it`, `was replaced by it`,
    `same text`, `belongs to it` (an event of an erased thread), `holds it` (the thread of an erased event) or
    `names it` (its id stands there)."""

    id: str
    why: str


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What became of a record. `erased` is None where its text is kept, `now` where no byte of it is left, `after
    compact` where the rows are erased and the file still has to be written anew. `derived` lists the first 200 of
    `derived_count` records that may repeat the text (decision 24); they stay until they are forgotten themselves."""

    id: str
    mode: str
    erased: Literal["now", "after compact"] | None = None
    derived: tuple[Derived, ...] = ()
    derived_count: int = 0


def check(ids: Sequence[str], mode: str, labels: bool) -> None:
    """Raise InvalidField for what no store has to be asked for."""
    if mode not in MODES:
        raise InvalidField(f"mode: {mode!r} is not one of {', '.join(MODES)}", field="mode")
    if not isinstance(labels, bool):
        raise InvalidField(f"labels: {ascii(labels)[:40]} is not true or false", field="labels")
    if labels and mode not in ERASING:
        raise InvalidField(f"labels: {mode} keeps them; use hard_delete or redact", field="labels")
    for one in ids:
        if not is_id(one):
            raise InvalidField(f"id: {str(one)[:40]!r} is not an id like mem:1 or ep:1", field="id")


def forget(
    session: Session, ids: Sequence[str], mode: str, viewer: Viewer, now: datetime, *, labels: bool, on_disk: bool
) -> list[Forgotten]:
    """Forget records that the viewer owns, all or none.

    `labels` erases what names and places them too. `on_disk` says whether there is a file that keeps old bytes. Raises
    NotFound for an id that is not one of the viewer's own records, Gone for one of which nothing is left to erase.
    """
    keys = [_own_key(session, one, mode, viewer, labels) for one in ids]
    if mode == "soft_delete":
        _delete(session, keys, mode, now)
        succession.ended(session, keys)
        return [Forgotten(one, mode) for one in ids]
    told = [_derived(session, key, one, viewer) for one, key in zip(ids, keys, strict=True)]
    _erase(session, keys, mode)
    if labels:
        for key in keys:
            _erase_labels(session, key, unnamed=mode == "hard_delete")
    if mode == "hard_delete":
        _delete(session, keys, mode, now)
    succession.ended(session, keys)
    if on_disk:
        count = waiting(session) + len(keys)
        session.run("DELETE FROM meta WHERE name = $name", {"name": WAITING})
        session.run("INSERT INTO meta VALUES ($name, $count)", {"name": WAITING, "count": str(count)})
    analyzer.clear()  # its caches hold words
    erased: Literal["now", "after compact"] = "after compact" if on_disk else "now"
    return [
        Forgotten(one, mode, erased, tuple(found[:MOST_DERIVED]), len(found))
        for one, found in zip(ids, told, strict=True)
    ]


def waiting(session: Session) -> int:
    """How many erasures wait for `compact`."""
    row = session.row("SELECT value FROM meta WHERE name = $name", {"name": WAITING})
    return int(row[0]) if row else 0


def _own_key(session: Session, one: str, mode: str, viewer: Viewer, labels: bool) -> int:
    key = reads.own_key(session, one, viewer.agent_id)
    row = None if key is None else session.row(query("owner"), {"key": key, "agent": viewer.agent_id})
    if key is None or row is None or not viewer.sees(row[2]):
        raise NotFound(f"id: there is no record {one}", field="id")
    deleted, forgotten, _ = row
    # What is deleted can only be erased further: the text of a soft deletion, the labels of a hard one.
    further = mode == "hard_delete" and (forgotten != "hard_delete" or (labels and _labelled(session, key)))
    if deleted is not None and not further:
        raise gone(one)
    return key


def gone(one: str) -> StoreError:
    """The record was deleted."""
    return Gone(f"id: record {one} was deleted", field="id")


def _labelled(session: Session, key: int) -> bool:
    """Whether anything is left that names or places a deleted record."""
    name, left = session.rows(query("labelled"), {"key": key, **_BARE})[0]
    return bool(left) or (name is not None and erased_name(name) != name)


def _erase(session: Session, keys: Sequence[int], mode: str) -> None:
    """Take the text of records out of every table."""
    wanted = {"keys": list(keys)}
    _keep_hashes(session, wanted)
    postings.remove(session, keys)
    session.run(
        "DELETE FROM vectors WHERE vid IN (SELECT vid FROM records WHERE key IN (SELECT unnest($keys::BIGINT[])))",
        wanted,
    )
    session.run("DELETE FROM payloads WHERE key IN (SELECT unnest($keys::BIGINT[]))", wanted)
    session.run("DELETE FROM links WHERE from_key IN (SELECT unnest($keys::BIGINT[]))", wanted)
    session.run(query("erase"), {**wanted, "text": REDACTED if mode == "redact" else "", "mode": mode})


def _keep_hashes(session: Session, wanted: dict[str, Any]) -> None:
    """Keep a hash of each text that came from a source of the caller's own: it tells whether that says something else
    when it comes again."""
    rows = session.rows(
        "SELECT vid, content FROM records WHERE key IN (SELECT unnest($keys::BIGINT[])) "
        "AND external_hash IS NOT NULL AND (forgotten IS NULL OR forgotten = 'soft_delete')",
        wanted,
    )
    if rows:
        session.run(
            "UPDATE records SET forgotten_hash = n.hash FROM (SELECT unnest($vids::BIGINT[]) AS vid, "
            "unnest($hashes::BIGINT[]) AS hash) n WHERE records.vid = n.vid",
            {"vids": [vid for vid, _ in rows], "hashes": [text_hash(content) for _, content in rows]},
        )


def _erase_labels(session: Session, key: int, *, unnamed: bool) -> None:
    """Take out what names and places a record; a name only with `unnamed`, since what can be read keeps its id."""
    name = session.value("SELECT name FROM records WHERE key = $key LIMIT 1", {"key": key})
    bare = erased_name(name) if name is not None else None
    session.run(query("erase_labels"), {"key": key, "unnamed": unnamed, "bare": bare, **_BARE})


def _delete(session: Session, keys: Sequence[int], mode: str, now: datetime) -> None:
    session.run(
        "UPDATE records SET deleted_at = coalesce(deleted_at, $now), forgotten = $mode "
        "WHERE key IN (SELECT unnest($keys::BIGINT[]))",
        {"now": utc(now), "mode": mode, "keys": list(keys)},
    )


def _derived(session: Session, key: int, one: str, viewer: Viewer) -> list[Derived]:
    """What may repeat a record, as far as the viewer may hear of it."""
    params: dict[str, Any] = {
        "key": key,
        "ref": one,
        # Not as a part of a longer id: mem:1 does not stand in mem:12.
        "pattern": rf"(^|[^A-Za-z0-9_.:-]){re.escape(one)}($|[^A-Za-z0-9_])",
        "agent": viewer.agent_id,
        "teams": list(viewer.teams),
        "temporary": viewer.temporary,
    }
    return [Derived(id_of(other, name), why) for other, name, why in session.rows(query("derived"), params)]
