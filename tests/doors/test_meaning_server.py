"""A server and its model, which is found, absent, broken or replaced while the server runs."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import numpy as np
import pytest

from context_packs.packer import ContextPacks
from context_packs.store.search import embedders
from context_packs.store.search.embedders import EMBEDDERS, Vectors
from context_packs.store.search.meaning import background

Servers = Callable[..., Any]
MEANINGS = ("voyage trip", "automobile car", "mended fix", "soup supper", "salary wages")


class Concepts:
    """A model in small: words of one meaning share a direction, and all other words share a weak one."""

    name = "concepts"
    dimensions = len(MEANINGS) + 1

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        words = text.lower().replace(".", " ").replace("?", " ").split()
        counts = [sum(word in known.split() for word in words) for known in MEANINGS]
        vector = np.array([*counts, 0.3], np.float32)
        return np.asarray(vector / np.linalg.norm(vector), np.float32)


class Breaking(Concepts):
    """The same, and it fails while it is `broken`."""

    broken = False

    def embed_query(self, text: str) -> Vectors:
        if self.broken:
            raise RuntimeError("cannot read /secret/model.bin")
        return super().embed_query(text)


class Later(Concepts):
    """Another model by another name."""

    name = "later"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that makes vectors looks often, and tries again soon."""
    monkeypatch.setattr(background, "_LOOK", 0.01)
    monkeypatch.setattr(background, "_REST", 0.01)


def told(client: httpx.Client) -> None:
    for text in ("The automobile was mended.", "A voyage took us through three ports.", "There was soup on Monday."):
        assert client.post("/v1/remember", json={"content": text}).status_code in (200, 201)


def ready(packs: ContextPacks) -> None:
    """Wait until the thread has made every vector."""
    ever = threading.Event()
    for _ in range(1_000):
        if not packs.stats()["pending"]:
            return
        ever.wait(0.01)
    raise AssertionError("vectors were not made")


def asked(client: httpx.Client, query: str) -> tuple[str, list[str]]:
    """The state of a pack, and the ids of what it shows."""
    answer = client.post("/v1/recall/context", json={"query": query, "profile": "internal"})
    assert answer.status_code == 200
    pack = answer.json()
    return pack["budget"]["state"], [item["id"] for item in pack["items"]]


def test_a_model_that_is_found_answers_what_no_word_answers(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` takes it, and vectors are made while the server works."""
    monkeypatch.setattr(embedders, "MODELS", {"concepts": "json"})
    monkeypatch.setitem(EMBEDDERS, "concepts", Concepts)
    served = servers(embedder="auto")
    told(served.client)
    ready(served.packs)
    assert asked(served.client, "our trip") == ("complete", ["mem:2"])


def test_without_a_model_words_answer_and_nothing_is_amiss(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` where none is installed."""
    monkeypatch.setattr(embedders, "MODELS", {"absent": "no_such_module_at_all"})
    served = servers(embedder="auto")
    told(served.client)
    assert asked(served.client, "our trip") == ("no_match", [])
    assert asked(served.client, "our voyage") == ("complete", ["mem:2"])


def test_a_model_that_breaks_leaves_the_words_until_it_works_again(servers: Servers) -> None:
    """The answer says so, and shows nothing of what the model raised; writes go on."""
    model = Breaking()
    served = servers(embedder=model)
    told(served.client)
    ready(served.packs)
    model.broken = True
    assert asked(served.client, "our voyage") == ("degraded", ["mem:2"])
    assert asked(served.client, "our trip") == ("degraded", [])
    told_of = served.client.post("/v1/recall/context", json={"query": "our voyage", "profile": "internal"}).text
    assert "secret" not in told_of
    assert served.client.post("/v1/remember", json={"content": "Wages rise."}).status_code in (200, 201)
    model.broken = False
    ready(served.packs)
    assert asked(served.client, "our trip") == ("complete", ["mem:2"])
    assert asked(served.client, "the salary") == ("complete", ["mem:4"])


def test_a_model_that_is_replaced_leaves_no_gap(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one before answers until the new one has seen everything."""
    monkeypatch.setitem(EMBEDDERS, "concepts", Concepts)
    served = servers(embedder=Concepts())
    told(served.client)
    ready(served.packs)
    begun, go_on = threading.Event(), threading.Event()

    class Slow(Later):
        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            begun.set()
            assert go_on.wait(10)
            return super().embed_passages(texts)

    served.packs.store.embedder = Slow()
    assert served.client.post("/v1/remember", json={"content": "Wages rise."}).status_code in (200, 201)
    try:
        assert begun.wait(10)
        assert asked(served.client, "our trip") == ("complete", ["mem:2"])
    finally:
        go_on.set()
    ready(served.packs)
    assert asked(served.client, "our trip") == ("complete", ["mem:2"])
    assert asked(served.client, "the salary") == ("complete", ["mem:4"])
