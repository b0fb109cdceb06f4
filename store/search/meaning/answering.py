"""Which model answers: the one that is set, or until it has seen as much the one that was there before."""

from __future__ import annotations

from typing import NamedTuple

from ...errors import StoreError
from ...file.duck import Session, query
from ..embedders import EMBEDDERS, Embedder
from .stored import dimensions_of


class Answering(NamedTuple):
    """A model with the size of its stored vectors, 0 where there are none; `settled` where it is the one that is set
    and no other has seen more."""

    model: Embedder
    dimensions: int
    settled: bool


def answering(session: Session, own: Embedder) -> Answering:
    """The model for a query. Another one answers where it has vectors for more passages and can be had here."""
    covered: dict[str, int] = dict(session.rows(query("vectors_covered")))
    mine = covered.pop(own.name, 0)
    for name, count in sorted(covered.items(), key=lambda one: -one[1]):
        if count > mine and (other := _had(own, name)) is not None:
            return Answering(other, dimensions_of(session, name), False)
    return Answering(own, dimensions_of(session, own.name), mine > 0 and mine >= max(covered.values(), default=0))


def _had(own: Embedder, name: str) -> Embedder | None:
    """Another model by its name: one of the registry, or of the same endpoint."""
    sibling = getattr(own, "sibling", None)
    try:
        if name in EMBEDDERS:
            return EMBEDDERS[name]()
        found: Embedder | None = sibling(name) if sibling is not None else None
    except (ImportError, StoreError):  # it is not installed any more
        return None
    return found
