"""The vectors of a model in the memory of a process that keeps its file: a query over 100,000 records then takes some
milliseconds instead of reading them all from the file.

Signs of the numbers choose who is looked at exactly (Charikar, Similarity Estimation Techniques from Rounding
Algorithms, 2002): one bit a number, compared by how many differ.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...file.duck import Row, Session, query
from ..embedders import Vectors
from .stored import Floats, Ints, integers, layout

EXACT = 8_192  # vectors that are all looked at exactly
NEAREST = 2_048  # of more than that, those with the most signs in common are
_BLOCK = 512  # vectors turned into floats at a time: they stay in the cache of the processor
_FETCH = 500  # rows taken over at a time


@dataclass(frozen=True, slots=True)
class Matrix:
    """Vectors in order of their passages, one entry each: version `vid` (0 is the background), first passage `pas`,
    how many passages (`span`), `scale` and `units` int8[n, d]; `signs` are the bits of what is positive."""

    vid: Ints
    pas: Ints
    span: Ints
    scale: Vectors
    units: NDArray[np.int8]
    signs: NDArray[np.uint64]

    def dots(self, vector: Vectors, rows: Ints | None = None) -> Floats:
        """Cosines of some rows, or of all: float64, the same bits in any order of the work."""
        asked, factor = integers(vector)
        count = len(self.scale) if rows is None else len(rows)
        found = np.empty(count, np.float64)
        floats = np.empty((min(_BLOCK, count), self.units.shape[1]), np.float32)
        for start in range(0, count, _BLOCK):
            some = slice(start, start + _BLOCK) if rows is None else rows[start : start + _BLOCK]
            block = floats[: len(self.scale[some])]
            block[:] = self.units[some]
            found[start : start + _BLOCK] = (block @ asked) * self.scale[some] / factor
        return found

    def floats(self, rows: Ints) -> Vectors:
        """The vectors of some rows: float32[n, d]."""
        found: Vectors = self.units[rows].astype(np.float32) * self.scale[rows, None]
        return found

    def mean(self, rows: Ints) -> Vectors:
        """The mean vector of some rows: float32[d], zeros of none."""
        if not len(rows):
            return np.zeros(self.units.shape[1], np.float32)
        middle: Vectors = self.floats(rows).mean(axis=0, dtype=np.float64).astype(np.float32)
        return middle

    def nearest(self, vector: Vectors, rows: Ints, count: int) -> Ints:
        """Those of `rows` (ascending) whose signs differ least from those of a vector, at most `count`."""
        asked = signs_of(vector[None])[0]
        differ = np.zeros(len(rows), np.uint16)
        for word in range(len(asked)):
            differ += np.bitwise_count(self.signs[rows, word] ^ asked[word])
        return np.sort(rows[np.argpartition(differ, count)[:count]]) if len(rows) > count else rows


def signs_of(vectors: NDArray[np.floating] | NDArray[np.int8]) -> NDArray[np.uint64]:
    """One bit for each number, set where it is positive: uint64[n, ⌈d/64⌉]."""
    bits = np.packbits(vectors > 0, axis=1)
    spare = -bits.shape[1] % 8
    return np.ascontiguousarray(np.pad(bits, ((0, 0), (0, spare)))).view(np.uint64)


def matrix_of(rows: Sequence[Row], dimensions: int) -> Matrix:
    """Rows (vid, pas, spans, vectors) as one matrix; blank passages have no vector."""
    kind = layout(dimensions)
    stored = np.frombuffer(b"".join(row[3] for row in rows), kind)
    counts = [len(row[3]) // kind.itemsize for row in rows]
    sizes = [row[2] or [1] * count for row, count in zip(rows, counts, strict=True)]
    vid = np.repeat(np.array([row[0] for row in rows], np.int64), counts)
    firsts = (accumulate(size[:-1], initial=row[1]) for row, size in zip(rows, sizes, strict=True))
    pas = np.array([first for several in firsts for first in several], np.int64)
    span = np.array([n for size in sizes for n in size], np.int64)
    order = np.lexsort((pas, vid))
    order = order[~np.isnan(stored["scale"][order])]
    units = np.ascontiguousarray(stored["units"][order])
    return Matrix(vid[order], pas[order], span[order], stored["scale"][order], units, signs_of(units))


class Held:
    """The matrix of one model, read anew or further when its rows have changed. Safe from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state: tuple[Any, ...] | None = None  # model, rows, the last of them, a sum over all
        self._matrix: Matrix | None = None

    def matrix(self, session: Session, model: str, dimensions: int) -> Matrix:
        """All vectors of a model, everybody's: who asks chooses the rows that may be seen."""
        with self._lock:
            state = (model, *session.rows(query("vectors_state"), {"model": model})[0])
            if self._matrix is None or state != self._state:
                self._matrix = self._brought_up(session, model, dimensions, state)
                self._state = state
            return self._matrix

    def _brought_up(self, session: Session, model: str, dimensions: int, state: tuple[Any, ...]) -> Matrix:
        if self._matrix is not None and self._state is not None and self._state[0] == model:
            _, count, last, _ = self._state
            fresh = session.value(query("vectors_fresh"), {"model": model, "after": last})
            if count + fresh == state[1]:
                return joined([self._matrix, self._read(session, model, dimensions, last)])
        return self._read(session, model, dimensions, -1)

    def _read(self, session: Session, model: str, dimensions: int, after: int) -> Matrix:
        params = {"model": model, "after": after}
        parts = [matrix_of(rows, dimensions) for rows in session.stream(query("vectors_all"), params, _FETCH)]
        return joined(parts or [matrix_of([], dimensions)])


def joined(parts: Sequence[Matrix]) -> Matrix:
    """Several as one, in order."""
    if len(parts) == 1:
        return parts[0]
    columns = {one.name: np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(Matrix)}
    order = np.lexsort((columns["pas"], columns["vid"]))
    if (np.diff(order) == 1).all():
        return Matrix(**columns)
    return Matrix(**{name: column[order] for name, column in columns.items()})
