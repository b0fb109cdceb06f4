"""Sessions that are imported again: what was stored of one is never shortened.

A host may rewind a transcript, fork it into a new file that repeats its first turns, or delete it. So a session that
comes again is put together with what is stored: turns that are new are added in their place, and none is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from ..memory.prepare import MAX_CONTENT_CHARS
from ..text.injected import strip_injected
from ..text.secrets.masking import mask

_SPEAKER = re.compile(r"^(?:[^\s:][^\n:]{0,119}): ", re.MULTILINE)
_SPEAKERS = ("User", "Assistant", "Summary", "Result", "Error", "System", "Tool")
_MOST_COMPARED = 20_000  # turns between the common beginning and end that are put in order; beyond, new ones go last


def is_session(record: Mapping[str, Any]) -> bool:
    """Whether a record is a session of another program, as importers make them: its own id begins with its host."""
    source, external = record.get("source"), record.get("external_id")
    host = source.get("host") if isinstance(source, Mapping) else None
    return (
        record.get("kind") == "episode"
        and isinstance(host, str)
        and isinstance(external, str)
        and external.startswith(f"{host}:")
    )


def merged(record: Mapping[str, Any], content: str, title: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The record with what is stored of it (`content`, `title`, `metadata`): every turn of both, in order.

    Where nothing new came the stored text and title are given back, so that nothing is written.
    """
    given = dict(record)
    new_facts = given.get("metadata") or {}
    mine, theirs = _turns(content, metadata), _turns(str(given["content"]), new_facts)
    if mine == theirs:
        return given
    kept = _union(mine, theirs)
    if kept == mine or sum(len(turn) + 1 for turn in kept) > MAX_CONTENT_CHARS:
        return {**given, "content": content, "title": title, "metadata": dict(metadata)}
    facts = _facts(metadata, new_facts)
    if kept != theirs and (_marks(metadata) or _marks(new_facts)):
        facts["turns"] = _numbered(kept, mine, theirs, metadata, new_facts)
    return {**given, "content": "\n".join(kept), "metadata": facts}


# ---- turns


def _marks(facts: Mapping[str, Any]) -> list[Any]:
    """`[id, start, end]` of each turn, where the metadata has them."""
    turns = facts.get("turns")
    fit = isinstance(turns, list) and all(isinstance(turn, list) and len(turn) == 3 for turn in turns)
    return turns if fit and isinstance(turns, list) else []


def _turns(content: str, facts: Mapping[str, Any]) -> list[str]:
    """A text as its turns, joined by line ends: as its metadata marks them, else where a speaker begins a line."""
    if marks := _marks(facts):
        turns = [content[start:end] for _, start, end in marks if isinstance(start, int) and isinstance(end, int)]
        if "\n".join(turns) == content:
            return turns
    starts = [found.start() for found in _SPEAKER.finditer(content) if found[0].startswith(_SPEAKERS)]
    if not starts or starts[0] > 0:
        starts.insert(0, 0)
    return [content[start:end].removesuffix("\n") for start, end in zip(starts, [*starts[1:], None], strict=True)]


def _union(mine: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """Every turn of both in one order; where they differ in one place, what is stored stands first."""
    most = min(len(mine), len(theirs))
    first = next((at for at in range(most) if mine[at] != theirs[at]), most)
    rest = most - first
    last = next((at for at in range(rest) if mine[-1 - at] != theirs[-1 - at]), rest)
    ours, new = mine[first : len(mine) - last], theirs[first : len(theirs) - last]
    kept = list(mine[:first])
    if not ours or not new:
        kept += [*ours, *new]
    elif max(len(ours), len(new)) > _MOST_COMPARED:
        known = set(ours)
        kept += [*ours, *(turn for turn in new if turn not in known)]
    else:
        for same, a, b, c, d in SequenceMatcher(None, ours, new, autojunk=False).get_opcodes():
            kept += ours[a:b] if same == "equal" else _both(ours[a:b], new[c:d])
    return [*kept, *mine[len(mine) - last :]]


def _both(ours: Sequence[str], new: Sequence[str]) -> list[str]:
    """Turns that stand in one place. One that was stored with secrets or notices of a host, and comes without them,
    is the same turn."""
    kept: list[str] = []
    added: list[str] = []
    for mine, turn in zip_longest(ours, new):
        if mine is not None and turn is not None and _plain(mine) == _plain(turn):
            kept.append(turn)
        else:
            kept += [mine] if mine is not None else []
            added += [turn] if turn is not None else []
    return [*kept, *added]


def _plain(turn: str) -> str:
    return mask(strip_injected(turn)[0].strip())[0]


# ---- what is told about them


def _numbered(
    kept: Sequence[str], mine: Sequence[str], theirs: Sequence[str], old: Mapping[str, Any], new: Mapping[str, Any]
) -> list[list[Any]]:
    """`[id, start, end]` of each turn, under the id that it came with."""
    ids: dict[str, list[Any]] = {}
    for turns, facts in ((theirs, new), (mine, old)):
        marks = _marks(facts)
        if len(marks) == len(turns):
            for turn, mark in reversed(list(zip(turns, marks, strict=True))):
                if mark[0] not in ids.setdefault(turn, []):
                    ids[turn].append(mark[0])
    numbered, at = [], 0
    for number, turn in enumerate(kept, start=1):
        known = ids.get(turn)
        numbered.append([known.pop() if known else number, at, at + len(turn)])
        at += len(turn) + 1
    return numbered


def _facts(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What is told of a session: counts and times do not fall, lists hold what either names."""
    facts = {**old, **new}
    for name in old.keys() & new.keys():
        was, now = old[name], new[name]
        if isinstance(was, bool) or isinstance(now, bool) or (name == "turns" and isinstance(now, list)):
            continue
        if isinstance(was, dict) and isinstance(now, dict):
            facts[name] = _facts(was, now)
        elif isinstance(was, list) and isinstance(now, list):
            facts[name] = [*was, *(entry for entry in now if entry not in was)][: max(len(was), len(now), 50)]
        elif isinstance(was, int | float) and isinstance(now, int | float):
            facts[name] = max(was, now)
        elif name == "ended_at":
            facts[name] = max(str(was), str(now))
    return facts
