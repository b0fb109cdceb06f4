"""What the packer asks of a store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from .records import Record, Written
from .search.embedders import Embedder
from .values import Candidates, Filters, Viewer

if TYPE_CHECKING:
    from .access.audit import Audit
    from .access.tokens import Tokens
    from .chain.chain import Chain
    from .exchange.undoing import Import, Undone
    from .maintenance.backup import Saved
    from .maintenance.check import Finding
    from .maintenance.compact import Compacted
    from .memory.erasure import Forgotten


class Store(Protocol):
    """Records in, candidates and records out. Every read takes the viewer and sees only what is visible to it."""

    clock: Callable[[], datetime]
    embedder: Embedder | None

    @property
    def tokens(self) -> Tokens: ...

    @property
    def audit(self) -> Audit: ...

    @property
    def chain(self) -> Chain: ...

    def remember_batches(self, records: Iterable[Mapping[str, Any]], viewer: Viewer) -> Iterator[list[Written]]: ...

    def import_batches(self, lines: Iterable[Mapping[str, Any]], viewer: Viewer) -> Iterator[list[Written]]: ...

    def candidates(
        self,
        text: str,
        filters: Filters,
        viewer: Viewer,
        depth: int,
        take: int,
        known: Sequence[str] = (),
        hops: int = 0,
    ) -> Candidates: ...

    def restore(
        self, filters: Filters, viewer: Viewer, depth: int, take: int, known: Sequence[str] = (), hops: int = 0
    ) -> Candidates: ...

    def newest(self, filters: Filters, viewer: Viewer, limit: int) -> Candidates: ...

    def log(self, filters: Filters, viewer: Viewer, depth: int, take: int, known: Sequence[str] = ()) -> Candidates: ...

    def fetch(self, ids: Sequence[str], viewer: Viewer) -> dict[str, Record]: ...

    def get(self, one: str, viewer: Viewer) -> Record: ...

    def forget(self, ids: Sequence[str], mode: str, viewer: Viewer, *, labels: bool = ...) -> list[Forgotten]: ...

    def revise(
        self, one: str, changes: Mapping[str, Any], viewer: Viewer, *, merge: bool = ..., replay: str | None = ...
    ) -> Written: ...

    def embed_pending(self, batch: int = ..., workers: int = ..., seconds: float | None = ...) -> Iterator[int]: ...

    def embed_in_background(self) -> None: ...

    def export(self, viewer: Viewer | None = None) -> Iterator[dict[str, Any]]: ...

    def stats(self, viewer: Viewer) -> dict[str, Any]: ...

    def exists(self) -> bool:
        """Whether there is a store: the first write makes one."""

    def count(self) -> int: ...

    def place(self) -> tuple[int, int] | None: ...

    def probe(self) -> None: ...

    def backup(self, target: str, *, force: bool = False, progress: Callable[[int], None] | None = None) -> Saved: ...

    def reindex(self, progress: Callable[[str, int], None] | None = None) -> Compacted: ...

    def check(self, progress: Callable[[str, int], None] | None = None) -> Iterator[Finding]: ...

    def compact(self, progress: Callable[[str, int], None] | None = None) -> Compacted: ...

    def merge(self) -> None: ...

    def imports(self, viewer: Viewer) -> list[Import]: ...

    def undo_import(self, one: str, viewer: Viewer, *, mode: str = ..., dry: bool = ...) -> Undone: ...

    def prune(
        self, host: str, folder: str, seen: Collection[str], kept: Collection[str], viewer: Viewer
    ) -> list[str]: ...

    def close(self) -> None: ...
