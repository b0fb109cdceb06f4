"""A copy of a damaged store, brought into a state in which it can be opened.

What the checksum of a block settles is put right. Where it leaves open which bit was wrong, each is tried, and what is
read is judged: all columns are there, each text has the checksum that was stored with it, what refers to something
finds it. Only what all states agree on that pass is believed; the places where they differ are named.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from ..errors import StoreDamaged, StoreError
from ..file.attached import quoted
from ..file.duck import Row, Session, query
from ..file.other_files import aside, identifier, identifiers, rows_if_readable
from ..memory.prepare import RecordIn, content_hash
from ..records import kind_of
from . import blocks
from .check import users_of
from .reindex import ERASED

_SECONDS = 300.0  # for the trials of one block
_MOST = 300  # states that are judged
_MADE_ANEW = frozenset(("postings", "merged", "vectors"))  # from the rest
_TEXTS = (
    "SELECT key, content, title, content_hash FROM source.records WHERE forgotten IS NULL OR forgotten <> ALL($erased)"
)
State = tuple[tuple[str, tuple[str, ...], Row], ...]
"""Of each table its name, its columns, the number of its rows and a sum of each column."""


@dataclass(slots=True)
class Opened:
    """What was done to a copy, and what is still wrong with it."""

    damaged: frozenset[int] = frozenset()
    strict: bool = False  # more was tried than what is certain: a text without a checksum is not believed
    mended: int = 0  # blocks put right
    lost: list[str] = field(default_factory=list)
    doubtful: list[str] = field(default_factory=list)
    places: dict[tuple[str, str], set[int]] = field(
        default_factory=dict
    )  # rows by table and column: not to be believed


def openable(copy: str) -> Opened:
    """Put right in a copy what can be. Raises StoreDamaged where it cannot be opened whatever is done."""
    done = Opened()
    found = blocks.examine(copy)
    done.mended = len(blocks.mend(copy, found.damaged))
    found = blocks.examine(copy)
    users = users_of(copy)
    likely = blocks.mend(copy, found.damaged, likely=True)
    for number in likely:
        done.doubtful.append(f"block {number} was put right as if one bit was wrong ({_used(users, number)})")
    left = [number for number in found.damaged if number not in likely]
    if len(left) == 1 and not found.missing and _matters(copy, left[0]) and _chosen(copy, left[0], done):
        done.doubtful.append(f"block {left[0]} was put right by trial ({_used(users, left[0])})")
        likely, left = [*likely, left[0]], []
    done.mended += len(likely)
    done.strict = bool(likely)
    done.damaged = frozenset((*left, *found.missing))
    users = users_of(copy) if done.damaged else {}
    done.lost += [f"block {number} is damaged ({_used(users, number)})" for number in sorted(done.damaged)]
    if not _opens(copy):
        _other_state(copy, done)
    return done


def _other_state(copy: str, done: Opened) -> None:
    if os.path.exists(f"{copy}.wal"):
        os.rename(f"{copy}.wal", f"{copy}.log")
        if _opens(copy):
            done.lost.append("the log beside the file: it is damaged or belongs to another state of the file")
            return
    done.strict = True
    blocks.step_back(copy)
    if not _opens(copy):
        raise StoreDamaged("the catalogue of the file is damaged: nothing can be read; use a backup or an export")
    done.lost.append("what was written last: the catalogue is damaged, the one before it was read")


def _used(users: dict[int, list[str]], number: int) -> str:
    return ", ".join(users.get(number, ["catalogue or index"]))


def _matters(copy: str, number: int) -> bool:
    """Whether a damaged block has more in it than texts, which are judged one by one, and what is made anew."""
    columns = users_of(copy).get(number)
    if columns is None:
        return True
    return any(name.split(".")[0] not in _MADE_ANEW and name != "records.content" for name in columns)


def _opens(copy: str) -> bool:
    try:
        with aside(copy) as session:
            session.run(f"ATTACH {quoted(copy)} AS source (TYPE duckdb, READ_ONLY)")
            return bool(session.value("SELECT count(*) FROM duckdb_tables() WHERE database_name = 'source'"))
    except StoreError:
        return False


# ---- trials


def _chosen(copy: str, number: int, done: Opened) -> bool:
    """Leave in a copy the likeliest of what may have been in a block, and note the places that are not settled; False
    where nothing fits or there is too much of it, with the block as it was."""
    with open(copy, "rb") as file:
        layout = blocks.read_layout(file)
        before = blocks.block_of(file, layout, number) if layout else b""
    if layout is None or len(before) < layout.block_size:
        return False
    trials = _Trials(copy, layout.place(number))
    try:
        good = trials.judged(blocks.candidates(before))
        if good:
            done.places = trials.differences(good)
        trials.put(good[0][0] if good else before)
        return bool(good)
    finally:
        trials.close()


def fits(key: int, content: str, title: str, stored: int | None) -> bool:
    """Whether a text has the checksum that was stored with it."""
    return stored == content_hash(RecordIn.model_construct(content=content, title=title, kind=kind_of(key)))


class _Trials:
    """Reads of a copy with one block or another in a place. An instance that met a fatal error is of no more use."""

    def __init__(self, path: str, place: int) -> None:
        self._path = path
        self._place = place
        self._open = ExitStack()
        self._session: Session | None = None
        self._end = time.monotonic() + _SECONDS

    def close(self) -> None:
        self._session = None
        self._open.close()

    def put(self, block: bytes) -> None:
        with open(self._path, "r+b") as file:
            file.seek(self._place)
            file.write(block)

    def judged(self, tried: list[bytes]) -> list[tuple[bytes, State]]:
        """Each state that passes, with a block that gives it, the commonest first; none where time is short."""
        first: dict[State, bytes] = {}
        counts: dict[State, int] = {}
        for block in tried:
            if time.monotonic() > self._end:
                return []
            state = self._with(block, _state)
            if state is not None:
                first.setdefault(state, block)
                counts[state] = counts.get(state, 0) + 1
        order = sorted(first, key=lambda state: -counts[state])
        if len(order) > _MOST:
            return []
        return [(first[state], state) for state in order if self._with(first[state], _agrees)]

    def differences(self, good: list[tuple[bytes, State]]) -> dict[tuple[str, str], set[int]]:
        """The places at which other states read otherwise than the first."""
        places: dict[tuple[str, str], set[int]] = {}
        for block, state in good[1:]:
            for (table, columns, one), (_, _, other) in zip(good[0][1], state, strict=True):
                for name, left, right in zip(columns, one[1:], other[1:], strict=True):
                    if left != right:
                        known, found = (self._with(which, _column(table, name)) for which in (good[0][0], block))
                        changed = {
                            place for place in known.keys() | found.keys() if known.get(place) != found.get(place)
                        }
                        places.setdefault((table, name), set()).update(changed)
        return places

    def _with(self, block: bytes, look: Callable[[Session], Any]) -> Any:
        """What is found with a block in its place; None where the file cannot be read then."""
        self.put(block)
        if self._session is None:
            self._session = self._open.enter_context(aside(self._path))
        attach = f"ATTACH {quoted(self._path)} AS source (TYPE duckdb, READ_ONLY)"
        found, left = None, "SELECT 1"
        if rows_if_readable(self._session, attach) is not None:
            found, left = look(self._session), "DETACH source"
        if rows_if_readable(self._session, left) is None:  # the instance has ended
            self.close()
        return found


def _state(session: Session) -> State | None:
    tables = rows_if_readable(
        session,
        "SELECT table_name, list(column_name ORDER BY column_index) FROM duckdb_columns() "
        "WHERE database_name = 'source' AND table_name <> ALL($others) GROUP BY ALL ORDER BY ALL",
        {"others": sorted(_MADE_ANEW)},
    )
    state = []
    for table, columns in tables or ():
        found = rows_if_readable(
            session, f"SELECT count(*), bit_xor(hash(rowid, COLUMNS(*))) FROM source.{identifier(table)}"
        )
        if found is None:
            return None
        state.append((table, tuple(columns), found[0]))
    return tuple(state) if any(table == "records" for table, _, _ in state) else None


def _agrees(session: Session) -> bool:
    texts = rows_if_readable(session, _TEXTS, {"erased": list(ERASED)})
    if texts is None or not all(fits(*row) for row in texts):
        return False
    rows_if_readable(session, "USE source")
    found = rows_if_readable(session, query("unlike"))
    rows_if_readable(session, "USE memory")
    return found == []


def _column(table: str, name: str) -> Callable[[Session], dict[int, str]]:
    def look(session: Session) -> dict[int, str]:
        found = rows_if_readable(session, f"SELECT {identifiers(['rowid', name])} FROM source.{identifier(table)}")
        return {place: repr(value) for place, value in found or ()}

    return look
