"""How near what may be seen is to a question in meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import StoreError
from ...file.duck import Session, query
from ...memory.reads import Where
from ..embedders import Embedder, Vectors
from .held import EXACT, NEAREST, Held, Matrix, joined, matrix_of
from .stored import Floats, Ints, expected_best, standard, unit

_FETCH = 500  # rows taken over at a time
_CENTRE = 1_024  # vectors whose mean is that of all
_UNRELATED = 0.55  # deviation of a centred cosine between a question and unrelated passages, in that of the background
_WORK = 1.3  # how much nearer must be what is to answer work to be done ("write a limerick"), which asks nothing
_TINY = 1e-6  # a length that is none
_LEAST, _MOST = 0.05, 0.1  # such deviations of models of use: a few texts in the background tell it roughly
_AGAIN = 0.6  # weight of what was found first, beside the question, in the second round


@dataclass(frozen=True, slots=True)
class Question:
    """A query as a model sees it: `vector` float32[d] of length 1, or the `fault` why there is none, in one line; and
    what the process has `held` of the model's vectors."""

    model: str
    vector: Vectors | None
    fault: str = ""
    held: Held | None = None


@dataclass(frozen=True, slots=True)
class Near:
    """How near what may be seen is to a question: `matrix` with the `rows` of it that may be seen.

    `vids` are the versions with a passage above `floor`, best first. A cosine is that of vectors less their `centre`:
    all of a model point in much the same direction, texts of one language or one trade more so, and what they have in
    common tells no answer. It counts in `unrelated` deviations, and by how far it stands among what may be seen
    (`others`, mean and deviation).
    """

    matrix: Matrix
    rows: Ints
    vids: Ints
    floor: float
    centre: Vectors
    unrelated: float
    others: tuple[float, float]

    @property
    def passages(self) -> int:
        """How many passages were compared."""
        return int(self.matrix.span[self.rows].sum())


@dataclass(frozen=True, slots=True)
class Chosen:
    """The passages of some versions, ascending: `pas` int64[n], and float64[n] each how far they stand `above` what is
    unrelated and `among` all others."""

    pas: Ints
    above: Floats
    among: Floats


def ask(embedder: Embedder, text: str, dimensions: int, held: Held | None = None) -> Question:
    """A query as vector; a model that fails is told in `fault`, as the words alone can still answer.

    `dimensions` is that of the stored vectors.
    """
    name = embedder.name
    try:
        own = embedder.dimensions
        if dimensions != own:
            fault = f"vectors: {name[:40]} has {own} dimensions, those stored under its name {dimensions}"
            return Question(name, None, fault)
        found = np.asarray(embedder.embed_query(text), dtype=np.float32)
        return Question(name, unit(found[None], 1, dimensions)[0], held=held)
    except StoreError as error:
        return Question(name, None, f"vectors: {str(error).removeprefix('embedder: ')}")
    except Exception as error:  # a model may raise anything; its words may name paths, so only its kind is told
        return Question(name, None, f"vectors: {name[:40]} failed with {type(error).__name__}")


def look(session: Session, question: Question, where: Where, depth: int, *, work: bool = False) -> Near:
    """How near the question is to what may be seen and is asked for; at most `depth` records stand out. `work` says
    that it is none but something to be done.

    A process that keeps its file remembers all vectors; any other reads those that may be seen.
    """
    assert question.vector is not None
    held = question.held if session.kept is not None else None
    if held is None:
        stream = session.stream(query("near", where.flags), {**where.params, "model": question.model}, _FETCH)
        parts = [matrix_of(rows, len(question.vector)) for rows in stream]
        matrix = joined(parts or [matrix_of([], len(question.vector))])
        seen = matrix.vid > 0
    else:
        matrix = held.matrix(session, question.model, len(question.vector))
        vids = np.sort(where.arrays(session, "visible_vids")["vid"])
        seen = in_sorted(matrix.vid, vids)
    rows = np.flatnonzero(seen)
    background = np.flatnonzero(matrix.vid == 0)
    floor = expected_best(len(rows) + len(background)) * (_WORK if work else 1.0)
    if not len(rows):
        return Near(matrix, rows, rows, floor, np.zeros_like(question.vector), 1.0, (0.0, 1.0))
    common = matrix.mean(background)
    centre = ((matrix.mean(rows[:: -(-len(rows) // _CENTRE)]) + common) / 2).astype(np.float32)
    unrelated = min(max(_UNRELATED * _among_each_other(matrix, background, common), _LEAST), _MOST)
    near = rows if len(rows) <= EXACT else matrix.nearest(question.vector, rows, NEAREST)
    cosines = centred(matrix, question.vector, centre, near)
    step = -(-len(rows) // EXACT)  # of many the mean and deviation are those of every so manieth
    others = cosines if near is rows else centred(matrix, question.vector, centre, rows[::step])
    vid = matrix.vid[near]
    first = np.flatnonzero(np.diff(vid, prepend=-1))
    best = np.maximum.reduceat(cosines / unrelated, first)
    high = np.flatnonzero(best >= floor)
    high = high[np.lexsort((vid[first][high], -best[high]))][:depth]
    return Near(matrix, rows, vid[first][high], floor, centre, unrelated, _spread(others))


def centred(matrix: Matrix, vector: Vectors, centre: Vectors, rows: Ints) -> Floats:
    """Cosines between a vector and some rows, all less `centre`: float64, 0 for what is the centre itself."""
    aim = vector - centre
    length = float(np.linalg.norm(aim.astype(np.float64)))
    middle = matrix.dots(centre, rows)
    # Of vectors x of length 1: |x − c|² = 1 − 2 x·c + c·c
    whole = float(np.dot(centre.astype(np.float64), centre.astype(np.float64)))
    lengths = np.sqrt(np.maximum(1 - 2 * middle + whole, 0)) * length
    found = matrix.dots(vector, rows) - middle - float(np.dot(centre.astype(np.float64), aim.astype(np.float64)))
    return np.where(lengths > _TINY, found / np.maximum(lengths, _TINY), 0.0)


def _among_each_other(matrix: Matrix, background: Ints, common: Vectors) -> float:
    """Deviation of the centred cosines of the background texts, two and two."""
    texts = matrix.floats(background).astype(np.float64) - common
    lengths = np.linalg.norm(texts, axis=1, keepdims=True)
    texts = np.where(lengths > _TINY, texts / np.maximum(lengths, _TINY), 0.0)
    pairs = (texts @ texts.T)[np.triu_indices(len(texts), 1)]
    return float(pairs.std()) if len(pairs) else 0.0


def _spread(values: Floats) -> tuple[float, float]:
    """Mean and deviation; where all are equal nothing stands out."""
    deviation = float(values.std())
    return float(values.mean()), deviation if deviation > 1e-9 else np.inf


def in_sorted(values: Ints, known: Ints) -> NDArray[np.bool_]:
    """Which values are among those known, which ascend."""
    if not len(known):
        return np.zeros(len(values), dtype=bool)
    at = np.minimum(np.searchsorted(known, values), len(known) - 1)
    found: NDArray[np.bool_] = known[at] == values
    return found


def of_versions(question: Question, near: Near, vids: Ints) -> Chosen:
    """The first round for all passages of some versions."""
    assert question.vector is not None
    rows = np.flatnonzero(in_sorted(near.matrix.vid, np.sort(vids)))
    cosines = centred(near.matrix, question.vector, near.centre, rows)
    pas, span = near.matrix.pas[rows], near.matrix.span[rows]
    mean, spread = near.others
    above, among = cosines / near.unrelated, (cosines - mean) / spread
    return Chosen(_passages(pas, span), np.repeat(above, span), np.repeat(among, span))


def _passages(pas: Ints, span: Ints) -> Ints:
    """The numbers of all passages of units that begin at `pas`."""
    begin = np.repeat(np.cumsum(span) - span, span)
    numbers: Ints = np.repeat(pas, span) + np.arange(len(begin)) - begin
    return numbers


def look_again(question: Question, near: Near, vids: Ints, best: Ints, worth: Floats) -> tuple[Ints, Floats]:
    """The second round: what is near to the question and to what was found first, in versions `vids`.

    A question of several steps does not name what its second step needs; the first answers do. `best` are passages,
    `worth` their weights; the answer are passages in ascending order with their standard scores. Vectors are centred
    first, as all of a model point in much the same direction.
    """
    assert question.vector is not None
    matrix = near.matrix
    rows = np.flatnonzero(in_sorted(matrix.vid, np.sort(vids)))
    pas, span = matrix.pas[rows], matrix.span[rows]
    if not len(pas):
        return pas, np.zeros(0)
    units = matrix.units[rows].astype(np.float32) * matrix.scale[rows, None]
    centre = units.mean(axis=0)
    units -= centre
    found = np.searchsorted(pas, best, side="right") - 1
    inside = (found >= 0) & (best < pas[found] + span[found])
    target = question.vector - centre
    if inside.any():
        mean = (units[found[inside]] * worth[inside, None]).sum(axis=0) / max(float(worth[inside].sum()), 1e-9)
        target = target + _AGAIN * mean
    return _passages(pas, span), np.repeat(standard((units @ target).astype(np.float64)), span)


def arm(
    session: Session,
    question: Question,
    where: Where,
    depth: int,
    plan: dict[str, Any],
    passages: int,
    work: bool = False,
) -> Near | None:
    """`look`, told in the plan: `vectors` (embedder, passages compared of how many, floor), or `degraded` with its
    reason."""
    if question.vector is None:
        plan |= {"degraded": ["vectors"], "degraded_reason": question.fault}
        return None
    near = look(session, question, where, depth, work=work)
    plan["arms"] = [*plan["arms"], "vectors"]
    told = {"embedder": question.model, "passages": near.passages, "of": passages}
    plan["vectors"] = {**told, "floor": round(near.floor, 3)}
    return near
