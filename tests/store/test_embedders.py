"""Embedders: the registry, and the one that needs no model."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.store.errors import InvalidField
from context_packs.store.search import embedders
from context_packs.store.search.embedders import EMBEDDERS, MODELS, Embedder, HashEmbedder, Vectors, embedder


class Model:
    """The least a model can be: one direction for everything."""

    name = "model-1"
    dimensions = 2

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.tile(np.array([1, 0], np.float32), (len(texts), 1))

    def embed_query(self, text: str) -> Vectors:
        return np.array([1, 0], np.float32)


def absent() -> Embedder:
    raise ModuleNotFoundError("No module named 'model'", name="model")


def test_none_is_no_embedder_and_auto_is_none_where_no_model_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """`none` gives none; `auto` passes over models whose module is missing, and never takes the test embedder."""
    monkeypatch.setattr(embedders, "MODELS", {"absent": "no_such_module_at_all"})
    monkeypatch.setitem(EMBEDDERS, "absent", absent)
    assert embedder("none") is None
    assert embedder("auto") is None


def test_auto_takes_the_first_model_that_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of MODELS decides among those whose module can be imported."""
    monkeypatch.setattr(embedders, "MODELS", {"absent": "no_such_module_at_all", "here": "json", "later": "re"})
    monkeypatch.setitem(EMBEDDERS, "here", Model)
    found = embedder("auto")
    assert found is not None and found.name == "model-1"


def test_a_name_gives_its_embedder() -> None:
    """`test` is the hash embedder."""
    found = embedder("test")
    assert found is not None
    assert (found.name, found.dimensions) == ("test", 64)


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    """The error names the field and what could stand there."""
    with pytest.raises(InvalidField) as caught:
        embedder("tset")
    assert caught.value.field == "embedder"
    assert str(caught.value) == "embedder: 'tset' is not one of " + ", ".join(["auto", "none", *EMBEDDERS])


def test_a_name_whose_package_is_missing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for by name, a model that is not installed is an error and not silence."""
    monkeypatch.setitem(EMBEDDERS, "absent", absent)
    with pytest.raises(InvalidField, match=r"^embedder: absent is not installed; install context-packs with") as caught:
        embedder("absent")
    assert isinstance(caught.value.__cause__, ImportError)


def test_every_model_has_a_factory() -> None:
    """What `auto` may choose is in the registry."""
    assert set(MODELS) <= set(EMBEDDERS)


@given(st.lists(st.text(), max_size=5))
def test_hashed_vectors_have_length_one_or_nothing_to_say(texts: list[str]) -> None:
    """float32[n, 64], each row of length 1 or all zeros, and the same as the vector of the text as a query."""
    model = HashEmbedder()
    found = model.embed_passages(texts)
    assert found.shape == (len(texts), 64) and found.dtype == np.float32
    lengths = np.linalg.norm(found, axis=1)
    assert ((np.abs(lengths - 1) < 1e-5) | (lengths == 0)).all()
    for text, row in zip(texts, found, strict=True):
        assert np.array_equal(model.embed_query(text), row)


@pytest.mark.parametrize(
    ("near", "far"),
    [
        (("The servers were restarted", "restarting a server"), "pancakes with maple syrup"),
        (("authentication tokens", "reauthenticated"), "a walk along the river"),
        (("会議は九時に始まる", "九時の会議"), "赤い自転車を買った"),
    ],
)
def test_texts_that_share_stems_or_parts_of_words_are_near(near: tuple[str, str], far: str) -> None:
    """Inflected, prefixed and Japanese forms of one thing are nearer than something else."""
    one, other, apart = HashEmbedder().embed_passages([*near, far])
    assert one @ other > 0.2 > one @ apart


def test_hashing_never_changes() -> None:
    """Vectors stored by one version serve the next: the numbers are fixed."""
    vector = HashEmbedder().embed_query("duck")
    values = {int(place): round(float(vector[place]), 4) for place in np.flatnonzero(vector)}
    assert values == {1: -0.3482, 2: -0.8704, 47: 0.3482}
    assert HashEmbedder().embed_query("of the").tolist() == [0.0] * 64


@pytest.mark.parametrize(
    "text", ["a" * 500_000, "語" * 500_000, "\x00", "\ud800", "👩‍👩‍👧" * 1000, "e" + "\u0301" * 5000]
)
def test_hostile_texts_are_hashed(text: str) -> None:
    """Long runs, NUL, lone surrogates, families and piles of marks give finite numbers."""
    assert np.isfinite(HashEmbedder().embed_query(text)).all()
