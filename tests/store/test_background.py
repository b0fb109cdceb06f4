"""Vectors that a server makes beside its work."""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from context_packs.store.search.embedders import HashEmbedder, Vectors
from context_packs.store.search.meaning import background
from context_packs.store.search.meaning.background import Background

PATIENCE = 60.0  # seconds that a busy machine may need


class Watched(HashEmbedder):
    """The embedder without a model; tells when it has worked, and fails when it is told to."""

    def __init__(self) -> None:
        self.worked = threading.Event()
        self.broken = False

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.worked.set()
        if self.broken:
            raise RuntimeError("cannot read /secret/model.bin")
        return super().embed_passages(texts)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks every hundredth of a second, and rests no longer after a failure."""
    monkeypatch.setattr(background, "_LOOK", 0.01)
    monkeypatch.setattr(background, "_REST", 0.01)


def until(holds: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    ever = threading.Event()
    for _ in range(int(PATIENCE / 0.01)):
        if holds():
            return
        ever.wait(0.01)
    raise AssertionError("it did not happen")


def pending(kit: Any, store: Any) -> int:
    return int(store.stats(kit.me)["pending"])


def test_what_is_written_has_vectors_soon(kit: Any, quick: None) -> None:
    """Nobody calls embed_pending: what stands there and what comes in is embedded, and found by words meanwhile."""
    store = kit.store()
    store.embedder = Watched()
    kit.write(store, "Soup was served.")
    store.embed_in_background()
    until(lambda: pending(kit, store) == 0)
    kit.write(store, "The train to Porto leaves at nine.")
    assert kit.find(store, "train to Porto") == ["mem:2"]
    until(lambda: pending(kit, store) == 0)


def test_it_sees_what_others_write(kit: Any, quick: None) -> None:
    """A record of another object on the same file is embedded too."""
    server, writer = kit.store(mode="shared"), kit.store(mode="shared")
    kit.write(writer, "Soup was served.")
    server.embedder = Watched()
    server.embed_in_background()
    until(lambda: pending(kit, server) == 0)
    kit.write(writer, "The train to Porto leaves at nine.")
    until(lambda: pending(kit, server) == 0)


def test_it_makes_no_store(kit: Any, quick: None) -> None:
    """Where nothing was ever remembered it makes no file, and begins with the first record."""
    store = kit.store(mode="shared")
    store.embedder = Watched()
    store.embed_in_background()
    assert not store.exists()
    kit.write(store, "Soup was served.")
    until(lambda: pending(kit, store) == 0)


def test_it_ends_with_the_store(kit: Any, quick: None) -> None:
    """No thread is left behind, whatever it was doing."""
    store = kit.store()
    store.embedder = Watched()
    for n in range(40):
        kit.write(store, f"Soup {n} was served.")
    store.embed_in_background()
    store.embed_in_background()
    assert [thread.name for thread in threading.enumerate()].count("vectors") == 1
    assert store.embedder.worked.wait(PATIENCE)
    store.close()
    assert "vectors" not in [thread.name for thread in threading.enumerate()]


def test_a_failure_is_told_and_tried_again(kit: Any, quick: None, caplog: pytest.LogCaptureFixture) -> None:
    """A model that breaks and is mended while a server runs: one line each time, without the model's own text."""
    store = kit.store()
    store.embedder = model = Watched()
    model.broken = True
    kit.write(store, "Soup was served.")
    with caplog.at_level(logging.WARNING, "context_packs.vectors"):
        store.embed_in_background()
        until(lambda: len(caplog.messages) > 1)
        model.broken = False
        until(lambda: pending(kit, store) == 0)
    assert set(caplog.messages) == {"embedder: test failed with RuntimeError: what is done stays, try again"}


def test_a_fault_of_ours_ends_nothing(quick: None, caplog: pytest.LogCaptureFixture) -> None:
    """What nobody expected is a line by its kind, and the next look comes."""
    calls: list[int] = []
    done = threading.Event()

    def embed() -> Iterator[int]:
        calls.append(1)
        if len(calls) == 1:
            raise KeyError("/secret")
        done.set()
        yield 0

    with caplog.at_level(logging.WARNING, "context_packs.vectors"):
        thread = Background(embed, lambda: 1)
        assert done.wait(PATIENCE)
        thread.close()
    assert caplog.messages == ["vectors: unexpected KeyError"]


def test_without_an_embedder_there_is_no_thread(kit: Any) -> None:
    """Search by words needs none."""
    kit.store().embed_in_background()
    assert "vectors" not in [thread.name for thread in threading.enumerate()]
