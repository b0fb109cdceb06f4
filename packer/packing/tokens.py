"""Counting tokens in a named encoding. The only file that imports a tokenizer; nothing here uses the network."""

from __future__ import annotations

import base64
import hashlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from context_packs.store.errors import InvalidField

DEFAULT = "o200k_base"
COMPILED_IN = ("o200k_base", "cl100k_base")
ESTIMATED = {"claude": 1.35}
"""Models whose tokenizer is not public: a safety factor on o200k_base (users report an under-count of 10 to 33 %)."""

# Older vocabularies: file that holds the ranks (as its publisher names it) and the SHA-256 that tiktoken checks.
_R50K = ("r50k_base.tiktoken", "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930")
_P50K = ("p50k_base.tiktoken", "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069")
FROM_FILE = {"gpt2": _R50K, "r50k_base": _R50K, "p50k_base": _P50K, "p50k_edit": _P50K}
_PUBLISHED_AT = "https://openaipublic.blob.core.windows.net/encodings/"  # part of the cache's file name, never fetched


class TokenCounter(Protocol):
    """Tokens of a text in one named encoding.

    `parts` counts pieces that may be added up, `total` turns such a sum into tokens: `count(t) == total(parts(t))`.
    For an exact encoding `total` changes nothing. In the compiled-in encodings a piece that ends with a line break
    and one that starts with a blank, `[` or a letter add up exactly, because no token reaches over that place.
    """

    @property
    def name(self) -> str: ...

    @property
    def exact(self) -> bool: ...

    def count(self, text: str) -> int: ...

    def parts(self, text: str) -> int: ...

    def total(self, parts: int) -> int: ...


@dataclass(frozen=True, slots=True)
class Counter:
    """A `TokenCounter` over a function of well-formed text; `per_mille` is 1,000 for an exact encoding."""

    name: str
    encode_count: Callable[[str], int]
    per_mille: int = 1000

    @property
    def exact(self) -> bool:
        """Whether the numbers are those of the named encoding, not an estimate."""
        return self.per_mille == 1000

    def count(self, text: str) -> int:
        """Tokens of `text`; a lone surrogate counts as U+FFFD, `<|endoftext|>` and its like as plain text."""
        return self.total(self.parts(text))

    def parts(self, text: str) -> int:
        """Tokens of `text` before the factor."""
        try:
            return self.encode_count(text)
        except UnicodeEncodeError:
            return self.encode_count(well_formed(text))

    def total(self, parts: int) -> int:
        """Tokens for a sum of `parts`, rounded up."""
        return -(-parts * self.per_mille // 1000)


def well_formed(text: str) -> str:
    """`text` with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


@lru_cache(maxsize=16)
def token_counter(name: str = DEFAULT, vocabularies: Path | None = None, *, quick_start: bool = False) -> TokenCounter:
    """The counter of an encoding, kept for the process; raises `InvalidField` (field `encoding`).

    `o200k_base` and `cl100k_base` are compiled in and loaded with the first count; `quick_start` takes the tokenizer
    that is ready soonest instead of the one that counts fastest. The older `gpt2`, `r50k_base`, `p50k_base` and
    `p50k_edit` are read from `vocabularies`, a folder with tiktoken's cached or downloaded files (default: tiktoken's
    own cache in the temporary folder). `claude` is an estimate; see `estimated`.
    """
    if name in ESTIMATED:
        return estimated(DEFAULT, ESTIMATED[name], quick_start=quick_start)
    if name in COMPILED_IN:
        return Counter(name, lambda text: _compiled(name, quick_start)(text))  # noqa: PLW0108 - loads with the first count
    if name in FROM_FILE:
        return Counter(name, _from_file(name, vocabularies))
    known = ", ".join([*COMPILED_IN, *FROM_FILE, *ESTIMATED])
    raise InvalidField(f"encoding: {ascii(name)[:60]} is not known; known: {known}", field="encoding")


@lru_cache(maxsize=2 * len(COMPILED_IN))
def _compiled(name: str, quick_start: bool) -> Callable[[str], int]:
    """Counting function of a compiled-in encoding; both tokenizers give tiktoken's numbers.

    toktok counts a made-up sentence in 3 µs but needs 0.35 s to be ready, half of a short command; rs-bpe is ready in
    0.08 s and counts it in 16 µs. Where rs-bpe has no wheel for the Python, toktok serves both.
    """
    if quick_start:
        try:
            from rs_bpe.bpe import openai
        except ImportError:
            return _compiled(name, False)
        quick: Callable[[str], int] = getattr(openai, name)().count
        return quick
    import toktok

    fast: Callable[[str], int] = toktok._encoding(name).count
    return fast


def estimated(name: str, factor: float, *, quick_start: bool = False) -> TokenCounter:
    """A stated estimate for a model whose tokenizer is not public: `factor` (1 to 4) times an exact count, rounded up.

    Its name says both, for example `o200k_base*1.35`, and it is never called exact.
    """
    if not 1.0 < factor <= 4.0:
        raise InvalidField(f"factor: {factor} is not above 1 and at most 4", field="factor")
    base = token_counter(name, quick_start=quick_start)
    return Counter(f"{base.name}*{factor:g}", base.count, round(factor * 1000))


def _from_file(name: str, folder: Path | None) -> Callable[[str], int]:
    """Counting function of an older encoding from a file on this machine."""
    import tiktoken
    from tiktoken_ext.openai_public import r50k_pat_str

    file, digest = FROM_FILE[name]
    folder = folder if folder is not None else Path(tempfile.gettempdir()) / "data-gym-cache"
    cached = hashlib.sha1(f"{_PUBLISHED_AT}{file}".encode(), usedforsecurity=False).hexdigest()
    for path in (folder / file, folder / cached):
        if path.is_file():
            break
    else:
        message = f"encoding: {name} needs the file {file} in the vocabulary folder; o200k_base needs none"
        raise InvalidField(message, field="encoding")
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != digest:
        raise InvalidField(f"encoding: the file of {name} is damaged; fetch {file} again", field="encoding")
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in data.splitlines() if line)}
    encoding = tiktoken.Encoding(name, pat_str=r50k_pat_str, mergeable_ranks=ranks, special_tokens={})
    return lambda text: _count_guarded(encoding.encode_ordinary, text)


def _count_guarded(encode: Callable[[str], list[int]], text: str) -> int:
    """Tokens of `text`; where the tokenizer gives up on it (a Rust panic on huge runs of blanks), those of its halves.

    A panic is a `BaseException` of a class that Python code cannot import, so it is known by its name.
    """
    try:
        return len(encode(text))
    except BaseException as error:
        if type(error).__name__ != "PanicException" or len(text) < 2:
            raise
    half = len(text) // 2
    return _count_guarded(encode, text[:half]) + _count_guarded(encode, text[half:])
