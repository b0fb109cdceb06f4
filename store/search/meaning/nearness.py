"""How near what may be seen is to a question in meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from ...errors import StoreError
from ...file.duck import Session, query
from ...memory.reads import Where
from ..embedders import Embedder, Vectors
from .stored import Floats, Ints, expected_best, integers, layout, standard, unit

_FETCH = 200  # rows taken over at a time
_BLOCK = 512  # vectors turned into floats at a time: they stay in the cache of the processor
_SPREAD = 0.01  # differences of a cosine below it tell nothing
MARGIN = 1.0  # by how much a passage must stand above the best of as many unrelated ones to be an answer
_AGAIN = 0.6  # weight of what was found first, beside the question, in the second round


@dataclass(frozen=True, slots=True)
class Question:
    """A query as a model sees it: `vector` float32[d] of length 1, or the `fault` why there is none, in one line."""

    model: str
    vector: Vectors | None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Near:
    """How near the passages that may be seen are to a question.

    `pas` int64[n] ascending; float64[n] each: `above` the background and `among` all vectors, in standard deviations;
    `vids` the versions with a passage above `floor`, best first.
    """

    pas: Ints
    above: Floats
    among: Floats
    vids: Ints
    floor: float


def ask(embedder: Embedder, text: str, dimensions: int) -> Question:
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
        return Question(name, unit(found[None], 1, dimensions)[0])
    except StoreError as error:
        return Question(name, None, f"vectors: {str(error).removeprefix('embedder: ')}")
    except Exception as error:  # a model may raise anything; its words may name paths, so only its kind is told
        return Question(name, None, f"vectors: {name[:40]} failed with {type(error).__name__}")


def look(session: Session, question: Question, where: Where, depth: int) -> Near:
    """How near the question is to every passage that may be seen and is asked for; at most `depth` records."""
    vid, pas, span, similarity = _similarities(session, question, where)
    background = similarity[vid == 0]
    floor = expected_best(len(similarity)) + MARGIN
    order = np.argsort(pas, kind="stable")
    order = order[vid[order] > 0]
    vid, pas, span, similarity = vid[order], pas[order], span[order], similarity[order]
    if not len(pas):
        return Near(pas, similarity, similarity, vid, floor)
    above = (similarity - background.mean()) / max(float(background.std()), _SPREAD)
    among = standard(similarity)
    first = np.flatnonzero(np.diff(vid, prepend=-1))
    best = np.maximum.reduceat(above, first)
    high = np.flatnonzero(best >= floor)
    high = high[np.lexsort((vid[first][high], -best[high]))][:depth]
    # Each passage has the vector of its unit.
    return Near(_passages(pas, span), np.repeat(above, span), np.repeat(among, span), vid[first][high], floor)


def _passages(pas: Ints, span: Ints) -> Ints:
    """The numbers of all passages of units that begin at `pas`."""
    begin = np.repeat(np.cumsum(span) - span, span)
    numbers: Ints = np.repeat(pas, span) + np.arange(len(begin)) - begin
    return numbers


def look_again(session: Session, question: Question, vids: Ints, best: Ints, worth: Floats) -> tuple[Ints, Floats]:
    """The second round: what is near to the question and to what was found first, in versions `vids`.

    A question of several steps does not name what its second step needs; the first answers do. `best` are passages,
    `worth` their weights; the answer are passages in ascending order with their standard scores. Vectors are centred
    first, as all of a model point in much the same direction.
    """
    assert question.vector is not None
    kind = layout(len(question.vector))
    rows = session.rows(query("vectors_of"), {"model": question.model, "vids": vids.tolist()})
    rows.sort(key=lambda row: int(row[1]))
    stored = np.frombuffer(b"".join(row[3] for row in rows), kind)
    span = np.array([n for row in rows for n in row[2] or [1] * (len(row[3]) // kind.itemsize)], dtype=np.int64)
    pas = np.array(
        [n for row in rows for n in accumulate((row[2] or [1] * (len(row[3]) // kind.itemsize))[:-1], initial=row[1])],
        dtype=np.int64,
    )
    told = ~np.isnan(stored["scale"])
    stored, span, pas = stored[told], span[told], pas[told]
    if not len(pas):
        return pas, np.zeros(0)
    units = stored["units"].astype(np.float32) * stored["scale"][:, None]
    centre = units.mean(axis=0)
    units -= centre
    found = np.searchsorted(pas, best, side="right") - 1
    inside = (found >= 0) & (best < pas[found] + span[found])
    target = question.vector - centre
    if inside.any():
        mean = (units[found[inside]] * worth[inside, None]).sum(axis=0) / max(float(worth[inside].sum()), 1e-9)
        target = target + _AGAIN * mean
    similarity = (units @ target).astype(np.float64)
    return _passages(pas, span), np.repeat(standard(similarity), span)


def arm(
    session: Session, question: Question, where: Where, depth: int, plan: dict[str, Any], passages: int
) -> Near | None:
    """`look`, told in the plan: `vectors` (embedder, passages compared of how many, floor), or `degraded` with its
    reason."""
    if question.vector is None:
        plan |= {"degraded": ["vectors"], "degraded_reason": question.fault}
        return None
    near = look(session, question, where, depth)
    plan["arms"] = [*plan["arms"], "vectors"]
    plan["vectors"] = {
        "embedder": question.model,
        "passages": len(near.pas),
        "of": passages,
        "floor": round(near.floor, 3),
    }
    return near


def _similarities(session: Session, question: Question, where: Where) -> tuple[Ints, Ints, Ints, Floats]:
    """Version, first passage, passages and cosine of every stored vector, in no order; `vid` 0 is the background."""
    assert question.vector is not None
    dimensions = len(question.vector)
    asked, factor = integers(question.vector)
    kind = layout(dimensions)
    floats = np.empty((_BLOCK, dimensions), np.float32)
    vids: list[int] = []
    firsts: list[int] = []
    spans: list[int] = []
    parts: list[Vectors] = []
    params = {**where.params, "model": question.model}
    for rows in session.stream(query("near", where.flags), params, _FETCH):
        stored = np.frombuffer(b"".join(row[3] for row in rows), kind)
        for vid, pas, sizes, raw in rows:
            sizes = sizes or [1] * (len(raw) // kind.itemsize)
            vids += [vid] * len(sizes)
            firsts += accumulate(sizes[:-1], initial=pas)
            spans += sizes
        for start in range(0, len(stored), _BLOCK):
            block = stored[start : start + _BLOCK]
            units = floats[: len(block)]
            units[:] = block["units"]
            parts.append((units @ asked) * block["scale"])
    if not parts:
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, nothing, np.zeros(0)
    similarity = np.concatenate(parts).astype(np.float64) / factor
    told = ~np.isnan(similarity)
    return np.array(vids)[told], np.array(firsts)[told], np.array(spans)[told], similarity[told]


def second(session: Session, question: Question | None, vids: Ints) -> Callable[[Ints, Floats], tuple[Ints, Floats]]:
    """`look_again` in some versions, for passages with weights that are still to be found."""
    assert question is not None
    return lambda best, worth: look_again(session, question, vids, best, worth)
