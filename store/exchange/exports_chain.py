"""What an export says of threads, workers and triggers besides their records: numbers, payloads and links."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ..chain.batch import Batch, by_name
from ..file.duck import Session, query
from ..memory import reads
from ..memory.numbers import Numbers
from ..records import NAMED, Written, id_of, key_of, kind_of, number_of, parse_id, parse_name
from ..times import utc
from ..values import Viewer
from .lines import LineIn, LinkIn
from .older import ITSELF, NOWHERE

_ROOM = 16 * 2**20  # bytes of payloads that are held at once
_CHUNK = 500  # triggers that are read at once


# ---- out


def owners_of(session: Session) -> dict[int, tuple[str, str]]:
    """Name and agent of every record that has a name, by key."""
    return {key: (name, agent) for key, name, agent in session.rows(query("export_names"))}


def chain_fields(line: dict[str, Any], key: int, thread: int | None, named: Mapping[int, tuple[str, str]]) -> None:
    """Put the number and the thread of a named record into its line."""
    if kind_of(key) in NAMED:
        line["number"] = number_of(key)
    if thread is not None and thread in named:
        line["thread_id"], agent = named[thread]
        if agent != line["agent_id"]:
            line["thread_agent_id"] = agent


def trigger_chunks(session: Session, keys: Sequence[int]) -> Iterator[tuple[list[int], dict[int, dict[str, str]]]]:
    """Keys of triggers in chunks, each with the payloads of its triggers as they stand in lines; of bounded size."""
    for start in range(0, len(keys), _CHUNK):
        chunk: list[int] = []
        held = 0
        found = session.rows(
            query("bodies", frozenset({"many"})), {"keys": list(keys[start : start + _CHUNK]), "most": -1}
        )
        sizes = {key: size for key, _, size, _ in found}
        for key in keys[start : start + _CHUNK]:
            if chunk and held + sizes.get(key, 0) > _ROOM:
                yield chunk, _payloads(session, chunk)
                chunk, held = [], 0
            chunk.append(key)
            held += sizes.get(key, 0)
        yield chunk, _payloads(session, chunk)


def _payloads(session: Session, keys: Sequence[int]) -> dict[int, dict[str, str]]:
    rows = session.rows(query("bodies", frozenset({"many"})), {"keys": list(keys), "most": 2**62})
    return {key: {"media_type": media_type, **_said(body)} for key, media_type, _, body in rows}


def _said(body: bytes) -> dict[str, str]:
    try:
        return {"text": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": b64encode(body).decode()}


def link_lines(
    session: Session, viewer: Viewer | None, named: Mapping[int, tuple[str, str]]
) -> Iterator[dict[str, Any]]:
    """A line for each link that an agent made, or for all."""
    agent = viewer.agent_id if viewer else None
    for start, end, rel, place, maker, created in session.rows(query("export_links"), {"agent": agent}):
        line: dict[str, Any] = {"kind": "link", "rel": rel, "place": place, "agent_id": maker}
        for side, key in (("from", start), ("to", end)):
            name, owner = named.get(key, (None, maker))
            line[side] = id_of(key, name)
            if owner != maker:
                line[f"{side}_agent_id"] = owner
        yield {**line, "created_at": created.replace(tzinfo=UTC).isoformat()}


# ---- in


class Keys:
    """Keys of lines that come with names: of what is here, else with their number where that is free, else a new one.

    Numbers only rise, so that the events of a thread keep their order.
    """

    def __init__(self, session: Session, batch: Sequence[LineIn], numbers: Numbers, agents: Sequence[str]) -> None:
        self._numbers = numbers
        refs = {one for line in batch for one in (line.id, line.thread_id, line.supersedes) if one and parse_name(one)}
        self._known: dict[tuple[str, str], int] = {}
        self._first: dict[str, int] = {}
        for key, name, agent, *_ in by_name(session, sorted(refs)):
            self._note(agent, name, key)
        self._of = {
            index: self._assigned(line, agent)
            for index, (line, agent) in enumerate(zip(batch, agents, strict=True))
            if line.kind in NAMED
        }

    def _note(self, agent: str, name: str, key: int) -> None:
        self._known[agent, name] = key
        self._first.setdefault(name, key)

    def _assigned(self, line: LineIn, agent: str) -> int:
        key = self._known.get((agent, line.id))
        if key is None:
            n = self._numbers.free(line.kind, line.number)
            key = key_of(line.kind, n)
            self._note(agent, line.id, key)
        return key

    def of(self, index: int) -> int:
        """The key of a line that has a name."""
        return self._of[index]

    def ref(self, one: str | None, agent: str) -> int | None:
        """The key that another line means by an id: the agent's own record, else whoever has it."""
        parsed = parse_id(one) if one else None
        if parsed:
            return key_of(*parsed)
        return self._known.get((agent, one), self._first.get(one)) if one else None


def take_links(session: Session, batch: Sequence[LinkIn], viewer: Viewer, now: datetime) -> list[Written]:
    """Write links that are not there yet; one of which an end is not in this store, or that ends where it begins, is
    left out with a note."""
    wanted = sorted({one for line in batch for one in (line.start, line.end) if parse_name(one)})
    known: dict[tuple[str, str], int] = {}
    first: dict[str, int] = {}
    for key, name, agent, *_ in by_name(session, wanted):
        known[agent, name] = key
        first.setdefault(name, key)

    def end(one: str, owner: str) -> int | None:
        return known.get((owner, one), first.get(one)) if parse_name(one) else reads.own_key(session, one, owner)

    made = Batch(session, now)
    results = []
    for line in batch:
        agent = line.agent_id or viewer.agent_id
        start = end(line.start, line.from_agent_id or agent)
        other = end(line.end, line.to_agent_id or agent)
        if start is None or other is None or start == other:
            results.append(Written(line.start, False, (NOWHERE if None in (start, other) else ITSELF,)))
            continue
        there = session.row(
            "SELECT 1 FROM links WHERE from_key = $start AND to_key = $end AND rel = $rel LIMIT 1",
            {"start": start, "end": other, "rel": line.rel},
        )
        if there is None:
            made.links(start, [other], line.rel, agent, line.place, utc(line.created_at))
        results.append(Written(line.start, there is None))
    made.write()
    return results
