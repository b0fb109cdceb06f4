"""A model behind an HTTP endpoint in OpenAI's form (`POST …/v1/embeddings`), as Ollama, vLLM and llama.cpp have it.

Named by its address with the model behind a #: http://127.0.0.1:11434/v1#nomic-embed-text. Texts of the memory go
there, so an address that is not of this machine has to be allowed by name. No redirect is followed and no proxy used.
"""

from __future__ import annotations

import ipaddress
import json
import threading
from collections.abc import Collection, Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import SplitResult, urlsplit

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidField, StoreUnavailable

_BATCH = 32  # texts of one request
_MOST_CHARS = 4_000  # of one text: what stands behind is left out, as most models read no further
_QUERY_WAIT = 5.0  # seconds that a query waits
_PASSAGE_WAIT = 60.0  # and a batch of passages, whose model may have to be loaded first
_MOST_BYTES = 32 * 1024 * 1024  # of one answer
_EXAMPLE = "as in http://127.0.0.1:11434/v1#nomic-embed-text"


class Endpoint:
    """A model that somebody serves. `hosts` are those besides this machine to which texts may go; `key` is the bearer
    token it wants, if any. Raises InvalidField for an address that cannot be used."""

    def __init__(self, address: str, hosts: Collection[str] = (), key: str = "") -> None:
        parts, host = _parsed(address)
        if not _is_loopback(host) and host not in {name.strip().lower() for name in hosts}:
            raise InvalidField(
                f"embedder: {host[:80]} is not this machine and would receive texts of the memory; "
                "name it in CONTEXT_PACKS_EMBEDDER_HOSTS to allow that",
                field="embedder",
            )
        self._address, self._hosts, self._key = address, hosts, key
        self.model = parts.fragment
        self.name = f"http:{self.model}"
        self._secure = parts.scheme == "https"
        self._host, self._port = host, parts.port
        self._path = parts.path.rstrip("/").removesuffix("/embeddings") + "/embeddings"
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._dimensions = 0
        self._learning = threading.Lock()

    def sibling(self, name: str) -> Endpoint | None:
        """Another model of the same endpoint by the name under which its vectors are stored."""
        if not name.startswith("http:"):
            return None
        return Endpoint(f"{self._address.partition('#')[0]}#{name.removeprefix('http:')}", self._hosts, self._key)

    @property
    def dimensions(self) -> int:
        """Length of a vector; asked of the endpoint the first time."""
        with self._learning:
            if not self._dimensions:
                self._dimensions = self._asked(["dimensions"], _PASSAGE_WAIT).shape[1]
            return self._dimensions

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32[n, d] as the endpoint gives them."""
        parts = [self._asked(texts[at : at + _BATCH], _PASSAGE_WAIT) for at in range(0, len(texts), _BATCH)]
        return np.concatenate(parts) if parts else np.zeros((0, self.dimensions), np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """float32[d] as the endpoint gives it."""
        vector: NDArray[np.float32] = self._asked([text], _QUERY_WAIT)[0]
        return vector

    def _asked(self, texts: Sequence[str], wait: float) -> NDArray[np.float32]:
        """Ask for vectors. Raises StoreUnavailable in one line that names neither text nor address."""
        cleaned = [text[:_MOST_CHARS].encode("utf-8", "replace").decode("utf-8").replace("\x00", " ") for text in texts]
        body = json.dumps({"model": self.model, "input": cleaned, "encoding_format": "float"})
        kind = HTTPSConnection if self._secure else HTTPConnection
        connection = kind(self._host, self._port, timeout=wait)
        try:
            connection.request("POST", self._path, body.encode("utf-8"), self._headers)
            answer = connection.getresponse()
            status, content = answer.status, answer.read(_MOST_BYTES + 1)
        except TimeoutError as error:
            raise self._failed(f"did not answer within {wait:g} s") from error
        except (OSError, HTTPException) as error:
            raise self._failed("cannot be reached: start it, or set CONTEXT_PACKS_EMBEDDER to none") from error
        finally:
            connection.close()
        if status != 200:
            raise self._failed(f"answered with status {status}: look at its log")
        return self._vectors(content, len(texts))

    def _vectors(self, content: bytes, count: int) -> NDArray[np.float32]:
        try:
            rows: list[dict[str, Any]] = json.loads(content)["data"] if len(content) <= _MOST_BYTES else []
            rows = sorted(rows, key=lambda row: row["index"])
            if [row["index"] for row in rows] != list(range(count)):
                raise ValueError("not one vector for each text")
            found = np.array([row["embedding"] for row in rows], dtype=np.float32)
            if found.ndim != 2 or not found.size:
                raise ValueError("vectors of different lengths")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._failed("answered in another form than OpenAI's /v1/embeddings") from error
        return found

    def _failed(self, what: str) -> StoreUnavailable:
        return StoreUnavailable(f"embedder: the endpoint of {ascii(self.model)[1:-1][:40]} {what}", field="embedder")


def _parsed(address: str) -> tuple[SplitResult, str]:
    """The parts of an address, and its host in lower case."""
    try:
        parts = urlsplit(address)
        host, _ = (parts.hostname or "").lower(), parts.port
    except ValueError as error:
        raise InvalidField(f"embedder: is not an address; give one {_EXAMPLE}", field="embedder") from error
    if parts.scheme not in ("http", "https") or not host or parts.query:
        raise InvalidField(f"embedder: is not an address; give one {_EXAMPLE}", field="embedder")
    if parts.username is not None:
        raise InvalidField(
            "embedder: holds a name or password; give it in CONTEXT_PACKS_EMBEDDER_KEY", field="embedder"
        )
    if not parts.fragment.strip() or not parts.fragment.isprintable():
        raise InvalidField(f"embedder: names no model; put it behind a #, {_EXAMPLE}", field="embedder")
    return parts, host


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
