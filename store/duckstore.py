"""DuckStore: records in one DuckDB file, found and read by what a viewer may see."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .concurrency.coalesce import Together
from .concurrency.slots import InTurn
from .errors import InvalidField, StoreError, StoreMissing
from .file.duck import Duck, Mode
from .memory import reads
from .memory.reads import absent
from .query.parts import read_query
from .records import Record, Written, id_of, is_id
from .search.candidates import MAX_QUERY_CHARS, log, newest, restore, search
from .search.embedders import Embedder
from .search.ranking.scoring import DEFAULT_SCORING, Scoring
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
    from .search.meaning import nearness
    from .search.meaning.answering import Answering
    from .search.meaning.background import Background
    from .search.meaning.held import Held


class DuckStore:
    """Records in one DuckDB file. Safe from several threads; every read takes a viewer and sees what it may see.

    `mode` is "shared" (open, work, close for each operation) or "exclusive" (held until close); `wait` the longest
    wait in seconds for another process; `clock` gives the present as aware UTC. Without an `embedder` only words count.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        mode: Mode = "shared",
        wait: float = 15.0,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        scoring: Scoring = DEFAULT_SCORING,
        embedder: Embedder | None = None,
        known_profile: Callable[[str], object] = str,
    ) -> None:
        self.duck = Duck(path, mode=mode, wait=wait)
        self.clock = clock
        self.scoring = scoring
        self.embedder = embedder
        self.known_profile = known_profile  # raises InvalidField for a profile that a token cannot have
        self._answering: Answering | None = None  # the model for queries, once it is settled
        self._background: Background | None = None
        self._held: Held | None = None  # vectors that this process remembers
        self._making = threading.Lock()
        self._gets = Together(self._get)
        self._searches = InTurn(os.cpu_count() or 1)  # more at once would only fight for the interpreter
        self._tokens: Tokens | None = None
        self._audit: Audit | None = None
        self._chain: Chain | None = None

    def close(self) -> None:
        """Let go of the file, once what waits for the audit trail is written and no vectors are made any more."""
        if self._background is not None:
            self._background.close()
        if self._audit is not None:
            self._audit.close()
        self.duck.close()

    @property
    def tokens(self) -> Tokens:
        """Who may come in through a door."""
        with self._making:
            if self._tokens is None:
                from .access.tokens import Tokens  # for doors only: a short read does without

                self._tokens = Tokens(self.duck, self.clock, known_profile=self.known_profile)
            return self._tokens

    @property
    def audit(self) -> Audit:
        """Who did what; it takes entries once a door has started it."""
        with self._making:
            if self._audit is None:
                from .access.audit import Audit

                self._audit = Audit(self.duck, self.clock)
            return self._audit

    @property
    def chain(self) -> Chain:
        """Threads, triggers and workers."""
        with self._making:
            if self._chain is None:
                from .chain.chain import Chain

                self._chain = Chain(self.duck, self.clock)
            return self._chain

    # -- writes ----------------------------------------------------------------------------------------------------

    def remember_batches(self, records: Iterable[Mapping[str, Any]], viewer: Viewer) -> Iterator[list[Written]]:
        """Write records batch by batch, a transaction each; yields the results of a batch once it is kept.

        Raises InvalidField, Conflict or NotFound for the first record that cannot be written: batches before it
        stay, its own batch is not written.
        """
        from .exchange.importing import remember_batches  # with what it brings a tenth of the time of a short read

        return remember_batches(self.duck, self.clock, records, viewer)

    def import_batches(self, lines: Iterable[Mapping[str, Any]], viewer: Viewer) -> Iterator[list[Written]]:
        """Write lines of an export, with the ids, versions, links and tombstones that they carry, and records between
        them, as `remember_batches` does. Lines without an id are records."""
        from .exchange.importing import import_batches

        return import_batches(self.duck, self.clock, lines, viewer)

    def import_lines(self, lines: Iterable[Mapping[str, Any]], viewer: Viewer) -> list[Written]:
        """Write lines of an export; results in order. See `import_batches`."""
        return [written for batch in self.import_batches(lines, viewer) for written in batch]

    def remember_many(self, records: Iterable[Mapping[str, Any]], viewer: Viewer) -> list[Written]:
        """Write records; results in order. See `remember_batches`."""
        return [written for batch in self.remember_batches(records, viewer) for written in batch]

    def imports(self, viewer: Viewer) -> list[Import]:
        """Imports of the agent of which something stands, newest first."""
        from .exchange import undoing

        with self.duck.reading() as session:
            return undoing.imports(session, viewer)

    def undo_import(self, one: str, viewer: Viewer, *, mode: str = "soft_delete", dry: bool = False) -> Undone:
        """Forget what an import made, and put back what it changed; `dry` only says what that would be. The same source
        can be imported again. Raises NotFound."""
        from .exchange import undoing
        from .memory import erasure

        erasure.check((), mode, False)
        with self.duck.reading() if dry else self.duck.writing(make=False) as session:
            return undoing.undo(session, one, mode, viewer, self.clock(), dry=dry, on_disk=not self.duck.in_memory)

    def prune(self, host: str, folder: str, seen: Collection[str], kept: Collection[str], viewer: Viewer) -> list[str]:
        """Forget what came from a folder and is not in it any more: its own ids are not among `seen`, its file not
        among `kept`; the ids of what was forgotten."""
        from .exchange import undoing

        with self.duck.writing(make=False) as session:
            keys = undoing.vanished(session, host, folder, seen, kept, viewer)
            undoing.take_back(session, keys, "soft_delete", viewer, self.clock(), on_disk=not self.duck.in_memory)
        return [id_of(key) for key in keys]

    def merge(self) -> None:
        """Sort the postings if any stand unsorted, in short transactions: worth it after a large import."""
        from .memory import postings

        # A merge that was begun before the last records came leaves them to a second one.
        for _ in range(2):
            more = True
            while more:  # between two steps others have their turn
                try:
                    with self.duck.writing(records=False, make=False) as session:
                        more = postings.merge_step(session, all_of_it=True)
                except StoreMissing:  # nothing was ever written
                    return

    def forget(self, ids: Sequence[str], mode: str, viewer: Viewer, *, labels: bool = False) -> list[Forgotten]:
        """Forget records that the viewer owns, all or none: `soft_delete` keeps the text for the owner's export,
        `hard_delete` erases it (also after a soft one) and `redact` erases it but leaves the record readable. See
        `store/memory/erasure.py` for what stays and what `labels` does.

        Raises InvalidField for a malformed id or mode, NotFound for an id that is not one of the viewer's own records,
        Gone for one already deleted.
        """
        from .memory import erasure

        erasure.check(ids, mode, labels)
        with self.duck.writing(make=False) as session:
            return erasure.forget(
                session, ids, mode, viewer, self.clock(), labels=labels, on_disk=not self.duck.in_memory
            )

    def revise(
        self, one: str, changes: Mapping[str, Any], viewer: Viewer, *, merge: bool = True, replay: str | None = None
    ) -> Written:
        """Write the next version of a record that the viewer owns. See revise.revise for what it takes and raises."""
        from .memory import postings
        from .memory.revise import revise

        with self.duck.writing(make=False) as session:
            written = revise(session, one, changes, viewer, self.clock(), merge=merge, replay=replay)
            postings.merge_step(session)
        return written

    def embed_pending(self, batch: int = 64, workers: int = 1, seconds: float | None = None) -> Iterator[int]:
        """Vectors for all live passages that lack one, everybody's; yields how many were made after each batch of at
        most `batch` texts, which is kept, until all are made or the `seconds` are over. Nothing to do without an
        embedder. See making.embed_pending for the rest."""
        if self.embedder is not None:
            from .search.meaning import making

            end = math.inf if seconds is None else time.monotonic() + seconds
            for count in making.embed_pending(self.duck, self.embedder, self.clock, batch, workers):
                yield count
                if time.monotonic() >= end:
                    return

    def embed_in_background(self) -> None:
        """Make vectors in a thread of its own from now on, whenever something was written, until the store is closed.
        Nothing to do without an embedder."""
        with self._making:
            if self.embedder is not None and self._background is None:
                from .search.meaning.background import Background

                self._background = Background(self._embed_if_there, self.duck.stamp)

    def _embed_if_there(self) -> Iterator[int]:
        if self.exists():
            yield from self.embed_pending(batch=4)

    # -- reads -----------------------------------------------------------------------------------------------------

    def candidates(
        self,
        text: str,
        filters: Filters,
        viewer: Viewer,
        depth: int,
        take: int,
        known: Sequence[str] = (),
        hops: int = 0,
    ) -> Candidates:
        """What bears on a query, at most `depth` records, the first `take` of them whole. See candidates.search."""
        question = self._question(text, filters.hypothetical)
        with self._searches.place(), self.duck.reading() as session:
            return search(
                session,
                text,
                filters,
                viewer,
                self.clock(),
                depth=depth,
                take=take,
                known=known,
                hops=hops,
                scoring=self.scoring,
                question=question,
            )

    def _question(self, text: str, hypothetical: str) -> nearness.Question | None:
        """What is asked for as a vector, made while the file is not held; None where there is nothing to compare it
        with. Of a query what it asks: neither a pasted log nor the instructions around it."""
        if self.embedder is None:
            return None
        from .search.meaning import answering, held, nearness

        asked = read_query(text[:MAX_QUERY_CHARS], self.clock())
        if asked.idle:
            return None
        found = self._answering
        if found is None or found.model is not self.embedder:
            with self.duck.reading() as session:
                found = answering.answering(session, self.embedder)
            self._answering = found if found.settled else None
        if not found.dimensions:
            return None
        with self._making:
            self._held = self._held or held.Held()
        wanted = hypothetical or "\n".join(part.text for part in asked.parts) or asked.text
        return nearness.ask(found.model, wanted, found.dimensions, self._held)

    def restore(
        self, filters: Filters, viewer: Viewer, depth: int, take: int, known: Sequence[str] = (), hops: int = 0
    ) -> Candidates:
        """What a session should start with when there is no query. See candidates.restore."""
        with self._searches.place(), self.duck.reading() as session:
            return restore(session, filters, viewer, self.clock(), depth=depth, take=take, known=known, hops=hops)

    def newest(self, filters: Filters, viewer: Viewer, limit: int) -> Candidates:
        """The newest records, whole; nothing is folded."""
        with self.duck.reading() as session:
            return newest(session, filters, viewer, self.clock(), limit=limit)

    def log(self, filters: Filters, viewer: Viewer, depth: int, take: int, known: Sequence[str] = ()) -> Candidates:
        """What there is in order of time. See candidates.log."""
        with self._searches.place(), self.duck.reading() as session:
            return log(session, filters, viewer, self.clock(), depth=depth, take=take, known=known)

    def fetch(self, ids: Sequence[str], viewer: Viewer) -> dict[str, Record]:
        """Visible records by id; malformed, unknown, deleted and foreign ids are absent."""
        with self.duck.reading() as session:
            return reads.by_ids(session, ids, viewer, self.clock())

    def get(self, one: str, viewer: Viewer) -> Record:
        """One record by its id, exactly. Raises InvalidField (malformed), NotFound, Gone (deleted, to its owner)."""
        _assert_id(one)
        found = self._gets.ask((viewer, one))
        if isinstance(found, StoreError):
            raise found
        return found

    def _get(self, asked: Sequence[tuple[Viewer, str]]) -> dict[tuple[Viewer, str], Record | StoreError]:
        """Each record, or why there is none."""
        answers: dict[tuple[Viewer, str], Record | StoreError] = {}
        with self.duck.reading() as session:
            for viewer in dict.fromkeys(viewer for viewer, _ in asked):
                ids = [one for who, one in asked if who == viewer]
                found = reads.by_ids(session, ids, viewer, self.clock())
                for one in ids:
                    answers[viewer, one] = found.get(one) or absent(session, one, viewer)
        return answers

    def export(self, viewer: Viewer | None = None) -> Iterator[dict[str, Any]]:
        """All versions of all records as JSON-ready lines, tombstones too; of one viewer, or of everybody."""
        from .exchange import exports
        from .maintenance.snapshot import snapshot

        with snapshot(self.duck) as session:
            yield from exports.lines(session, viewer)

    def stats(self, viewer: Viewer) -> dict[str, Any]:
        """Counts of what the viewer can see, and of the file; `pending` are passages without a vector, everybody's;
        `erasures_waiting` counts erasures whose bytes are in the file until it is compacted; `reindex_due` says that an
        older version analysed the texts, so that words of some languages are found only after `reindex`."""
        from .memory import erasure
        from .search.meaning import making
        from .text import analyzer

        with self.duck.reading() as session:
            facts = {**reads.stats(session, viewer, self.clock()), "bytes": self.duck.size()}
            name = self.embedder.name if self.embedder else None
            return facts | {
                "erasures_waiting": erasure.waiting(session),
                "reindex_due": session.value("SELECT value FROM meta WHERE name = 'analyzer'") != analyzer.VERSION,
                "embedder": name,
                "pending": making.pending(session, name, self.clock()) if name is not None else 0,
            }

    def exists(self) -> bool:
        """Whether there is a file, or the store is in memory."""
        return self.duck.exists()

    def count(self) -> int:
        """How many records the store holds, everybody's; what is deleted or was replaced by a version not counted."""
        with self.duck.reading() as session:
            return int(session.value("SELECT count(*) FROM records WHERE deleted_at IS NULL AND valid_to IS NULL"))

    def backup(self, target: str, *, force: bool = False, progress: Callable[[int], None] | None = None) -> Saved:
        """Copy the store into a file, also while others use it. See backup.backup."""
        from .maintenance.backup import backup

        return backup(self.duck, target, force=force, progress=progress)

    def compact(self, progress: Callable[[str, int], None] | None = None) -> Compacted:
        """Write the store anew, without what was deleted. See compact.compact."""
        from .maintenance.compact import compact

        return compact(self.duck, progress)

    def reindex(self, progress: Callable[[str, int], None] | None = None) -> Compacted:
        """Make the index anew from the records. See reindex.reindex."""
        from .maintenance.reindex import reindex

        return reindex(self.duck, progress)

    def check(self, progress: Callable[[str, int], None] | None = None) -> Iterator[Finding]:
        """Look at every block, value and reference. See check.check."""
        from .maintenance.check import check

        yield from check(self.duck, progress)

    def place(self) -> tuple[int, int] | None:
        """Device and inode of the file that stands at the path of the store now; None where there is none."""
        return self.duck.place()

    def probe(self) -> None:
        """Try the path of a write and of a search for real and take it back. See probe.probe."""
        from .maintenance.probe import probe

        probe(self.duck, self.clock())


def _assert_id(one: object) -> None:
    if not is_id(one):
        raise InvalidField(f"id: {str(one)[:40]!r} is not an id like mem:1 or ep:1", field="id")
