"""A model for the benchmarks, with a file that remembers its vectors: a second run embeds nothing again."""

from __future__ import annotations

import argparse
import sqlite3
import threading
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from context_packs.store.search.embedders import Embedder, Vectors, embedder


class Remembered:
    """An embedder whose vectors are read from a file (SQLite) where it made them before."""

    def __init__(self, model: Embedder, path: Path) -> None:
        self._model = model
        self.name, self.dimensions = model.name, model.dimensions
        self._lock = threading.Lock()
        self._file = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._file.execute("PRAGMA busy_timeout = 60000")
        self._file.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB)")

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """float32[n, d]."""
        return np.stack([self._vector("passage", text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """float32[d]."""
        return self._vector("query", text)

    def _vector(self, kind: str, text: str) -> Vectors:
        key = blake2b(f"{self.name}\0{kind}\0{text}".encode("utf-8", "replace"), digest_size=16).digest()
        with self._lock:
            row = self._file.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        if row is None:
            found = self._model.embed_query(text) if kind == "query" else self._model.embed_passages([text])[0]
            with self._lock:
                self._file.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", (key, found.tobytes()))
            return found
        return np.frombuffer(row[0], np.float32)


def add_options(parser: argparse.ArgumentParser) -> None:
    """`--embedder` and `--vectors`."""
    parser.add_argument("--embedder", default="none", help="the model that takes part (default: %(default)s)")
    parser.add_argument("--vectors", type=Path, metavar="FILE", help="remember its vectors here")


def chosen(options: argparse.Namespace) -> Embedder | None:
    """The model that the options name."""
    model = embedder(options.embedder)
    return Remembered(model, options.vectors) if model is not None and options.vectors else model
