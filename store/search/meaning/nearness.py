"""How near what may be seen is to a question in meaning."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class Fusion:
    """Weights of the vector arm."""

    weight: float = 1.0  # of the standard score of vectors beside that of words
    margin: float = 1.0  # by how much a passage must stand above the best of as many unrelated ones to be an answer
    passage: float = 1.0  # standard deviations above all passages that make one of a chosen record a step of its own


DEFAULT_FUSION = Fusion()


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


def look(session: Session, question: Question, where: Where, depth: int, fusion: Fusion = DEFAULT_FUSION) -> Near:
    """How near the question is to every passage that may be seen and is asked for; at most `depth` records."""
    vid, pas, span, similarity = _similarities(session, question, where)
    background = similarity[vid == 0]
    floor = expected_best(len(similarity)) + fusion.margin
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
    begin = np.repeat(np.cumsum(span) - span, span)
    passages = np.repeat(pas, span) + np.arange(len(begin)) - begin
    return Near(passages, np.repeat(above, span), np.repeat(among, span), vid[first][high], floor)


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
