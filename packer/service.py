"""ContextPacks: the one object that doors and hosts use, and where the parts come together.

One query, one direction: request → profile → candidates of the store → ladder → fit → pack. Doors only parse what goes
in and encode what comes out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from context_packs.store.duckstore import DuckStore
from context_packs.store.errors import InvalidField
from context_packs.store.file.duck import Mode
from context_packs.store.protocol import Store
from context_packs.store.records import Record, Written, is_id, parse_id
from context_packs.store.search.embedders import Embedder
from context_packs.store.validation import shown, unfit
from context_packs.store.values import Candidates, Viewer

from .export import write_file
from .fields import ChangedFields, FilterFields, NewRecord, RecordFields, RequestFields
from .packing.build import build
from .packing.build import render as render_pack
from .packing.pack import Pack
from .packing.profile import load_profile, with_defaults
from .packing.request import PackRequest, parse_request
from .packing.tokens import TokenCounter, token_counter
from .rows import MAX_REFS, Contents, Rows, entries_of, limited, rows_of
from .secrecy import MASKED, guarded
from .settings import Settings, check_opening
from .threads import ThreadNames, Threads

if TYPE_CHECKING:
    from context_packs.store.access.audit import Audit
    from context_packs.store.access.tokens import Tokens
    from context_packs.store.exchange.importers import ImportOptions, ImportReport
    from context_packs.store.memory.erasure import Forgotten

DEPTH = 200  # records that the candidate stage ranks; what is relevant beyond them is counted in the plan
SPARE = 8  # records read beyond `max_items`: their text may put them before others
STRICT = 0.5  # share of the query that a row of a strict search contains


class ContextPacks(ThreadNames):
    """Memory of one agent in one store. Safe from several threads; use it as a context manager or `close` it.

    `threads` are its events, `tokens` and `audit` who comes in through a door and what they did, `store` the file: its
    backup, its check, and what makes it small again.
    """

    def __init__(
        self, store: Store, viewer: Viewer, counter: TokenCounter, settings: Settings, *, shared: bool = False
    ) -> None:
        self.store = store
        self._counter = counter
        self._shared = shared  # the store belongs to another object, which closes it
        self.viewer = viewer
        self.settings = settings
        super().__init__(Threads(store, viewer, settings.secrets))

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        agent_id: str | None = None,
        *,
        mode: Mode = "shared",
        teams: Sequence[str] = (),
        encoding: str | None = None,
        embedder: str | Embedder | None = None,
        wait: float = 15.0,
        quick_start: bool = False,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> Self:
        """Open a store, made where there is none. `":memory:"` lives as long as the object.

        What is not given comes from the environment. Raises StoreUnavailable (and its leaves), InvalidField.

        Args:
            path: the file, or `":memory:"`.
            agent_id: whose memory it is.
            mode: "shared" opens the file for each operation, so that several processes can use it; "leased" keeps it
                while there is work and lets others in who ask, for servers; "exclusive" holds it alone.
            teams: whose records the agent sees too.
            encoding: of the tokens of all budgets.
            embedder: what adds search by meaning: "auto" (the first model that is installed), "none", a name of
                `store.search.embedders`, or an object of your own.
            wait: seconds, at most, for another process.
            quick_start: for processes that end after one answer.
            clock: the present, aware.
        """
        check_opening(path, agent_id, mode, teams, wait)
        settings = Settings.from_environment()
        counter = token_counter(encoding or settings.encoding, quick_start=quick_start)
        if embedder is None or isinstance(embedder, str):
            embedder = settings.model(embedder)
        where = path if path is not None else settings.store
        store = DuckStore(where, mode=mode, wait=wait, clock=clock, embedder=embedder, known_profile=load_profile)
        return cls(store, Viewer(agent_id or settings.agent_id, tuple(teams)), counter, settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the store; for an object of `seen_by` the one it came from does."""
        if not self._shared:
            self.store.close()

    def seen_by(self, viewer: Viewer) -> ContextPacks:
        """The same store for another viewer, as a server needs it for each caller. Costs next to nothing."""
        return ContextPacks(self.store, viewer, self._counter, self.settings, shared=True)

    # -- packs -----------------------------------------------------------------------------------------------------

    def recall_context(self, query: PackRequest | str = "", /, **fields: Unpack[RequestFields]) -> Pack:
        """A pack for a query, or for the start of a session where the query is blank.

        Takes one PackRequest, or its fields as keywords. Raises InvalidField naming the field at fault.
        """
        request = query if isinstance(query, PackRequest) else parse_request(**(RequestFields(query=query) | fields))
        if isinstance(query, PackRequest) and fields:
            raise InvalidField(f"{min(fields)}: give a PackRequest or fields, not both", field=min(fields))
        profile = load_profile(request.profile)
        request = with_defaults(request, profile)
        spare = SPARE if request.time_order is None else 0  # the best are chosen, then ordered
        found = self._found(request, request.max_items + spare, filled=request.fill == "budget")
        return build(request, profile, found, found.records, self._counter)

    def render(self, pack: Pack, profile: str = "public") -> str:
        """The text of another profile for a pack that this object made, under the same limits."""
        return render_pack(pack, load_profile(profile))

    def _found(self, request: PackRequest, take: int, filled: bool = False) -> Candidates:
        filters, known, hops = replace(request.filters(), filled=filled), request.exclude_contents, request.hops
        if request.query_mode == "activity_log":
            return self.store.log(filters, self.viewer, DEPTH, take, known)
        if request.restore:
            return self.store.restore(filters, self.viewer, DEPTH, take, known, hops)
        return self.store.candidates(request.query, filters, self.viewer, DEPTH, take, known, hops)

    # -- rows ------------------------------------------------------------------------------------------------------

    def recall(
        self, query: str, limit: int = 10, *, exclude_contents: Sequence[str] = (), **filters: Unpack[FilterFields]
    ) -> Rows:
        """Complete rows that bear on a query, best first; with a blank query what a restore would bring.

        Args:
            query: what is asked.
            limit: rows at most, 0 to 200.
            exclude_contents: texts that the caller has.
            filters: see PackRequest.
        """
        request = parse_request(query=query, exclude_contents=exclude_contents, **filters)
        found = self._found(request, limited(limit))
        return rows_of(found, limit)

    def recall_with_context(
        self,
        query: str,
        external_context: Sequence[str | Mapping[str, Any]],
        limit: int = 10,
        *,
        exclude_contents: Sequence[str] = (),
        **filters: Unpack[FilterFields],
    ) -> Rows:
        """As `recall`, for a caller who has a conversation: what it says already is left out of the rows.

        Args:
            query: what is asked.
            external_context: the conversation; each entry is a text, or an object with the text as `content`. All come
                back in `context`, whole and in order.
            limit: rows at most, 0 to 200.
            exclude_contents: texts that the caller has besides.
            filters: see PackRequest.
        """
        context = entries_of(external_context)
        known = (*exclude_contents, *(entry["content"] for entry in context))
        return replace(self.recall(query, limit, exclude_contents=known, **filters), context=context)

    def search_memory(self, query: str, limit: int = 10, **filters: Unpack[FilterFields]) -> Rows:
        """Strict: rows that contain at least half of the query by weight, and nothing else. `"*"` lists the newest, and
        an id such as mem:7 finds that record."""
        if not isinstance(query, str) or not query.strip():
            raise InvalidField("query: is blank: give words to search for, or * to list", field="query")
        request = parse_request(query=query, **filters)
        if query.strip() == "*":
            return rows_of(self.store.newest(request.filters(), self.viewer, limited(limit)), limit)
        if parse_id(query.strip()):
            named = replace(request.filters(), ids=(query.strip(),))
            found = self.store.newest(named, self.viewer, limited(limit))
            if found.items:
                return rows_of(found, limit)
        found = self._found(request, limited(limit))
        return rows_of(found, limit, least=0.0 if request.query_mode == "activity_log" else STRICT)

    def newest(self, limit: int = 10, *, semantic_key: str | None = None, **filters: Unpack[FilterFields]) -> Rows:
        """The newest records that the filters let through, or the oldest with `time_order="asc"`; `semantic_key` is one
        filter more."""
        wanted = replace(parse_request(**filters).filters(), semantic_key=semantic_key)
        return rows_of(self.store.newest(wanted, self.viewer, limited(limit)), limit)

    def get(self, ref: str) -> Record:
        """One record by its id, exactly. Raises InvalidField (malformed id), NotFound, Gone (deleted, to its owner)."""
        return self.store.get(ref, self.viewer)

    def get_contents(self, refs: Sequence[str]) -> Contents:
        """Whole records in request order, at most 20; a ref that names nothing visible goes to `missing`."""
        listed = isinstance(refs, list | tuple)
        if wrong := unfit(len(refs), 1, MAX_REFS) if listed else f"{shown(refs)} is not a list":
            raise InvalidField(f"refs: {wrong}", field="refs")
        wanted = list(dict.fromkeys(ref if isinstance(ref, str) else repr(ref)[:64] for ref in refs))
        found = self.store.fetch([ref for ref in wanted if is_id(ref)], self.viewer)
        return Contents(
            tuple(found[ref] for ref in wanted if ref in found), tuple(ref for ref in wanted if ref not in found)
        )

    # -- writes ----------------------------------------------------------------------------------------------------

    def remember(self, content: str, **fields: Unpack[RecordFields]) -> Written:
        """Store one record; the fields are those of the JSON Lines form, and `memory_type` for `type`.

        The same content in the same place answers with the id that is there. Raises InvalidField, Conflict, NotFound.
        """
        return self.remember_many([NewRecord(content=content, **fields)])[0]

    def remember_many(self, records: Iterable[NewRecord]) -> list[Written]:
        """Store records, a transaction per batch; results in order."""
        return [written for batch in self.remember_batches(records) for written in batch]

    def remember_batches(self, records: Iterable[NewRecord]) -> Iterator[list[Written]]:
        """The same, yielding the results of each batch once it is kept."""
        return self._written(self.store.remember_batches, records, "records")

    def import_lines(self, lines: Iterable[Mapping[str, Any]]) -> list[Written]:
        """Store lines of an export (dicts) with the ids, versions, links and tombstones they carry; results in order.

        Lines that are there already add nothing, lines without an id are records. Raises InvalidField, Conflict,
        NotFound.
        """
        return [written for batch in self.import_batches(lines) for written in batch]

    def import_batches(self, lines: Iterable[Mapping[str, Any]]) -> Iterator[list[Written]]:
        """The same, yielding the results of each batch once it is kept."""
        return self._written(self.store.import_batches, lines, "lines")

    def _written(
        self,
        write: Callable[[Iterable[Mapping[str, Any]], Viewer], Iterator[list[Written]]],
        records: Iterable[Mapping[str, Any]],
        field: str,
    ) -> Iterator[list[Written]]:
        if isinstance(records, str | bytes | Mapping) or not isinstance(records, Iterable):
            raise InvalidField(f"{field}: give an iterable of objects in the JSON Lines form", field=field)
        if self.settings.secrets == "keep":
            return write(map(_renamed, records), self.viewer)
        return self._guarded(write, records)

    def _guarded(
        self,
        write: Callable[[Iterable[Mapping[str, Any]], Viewer], Iterator[list[Written]]],
        records: Iterable[Mapping[str, Any]],
    ) -> Iterator[list[Written]]:
        masked: deque[bool] = deque()

        def looked_through() -> Iterator[Mapping[str, Any]]:
            for record in records:
                given = _renamed(record)
                kept = guarded(given, self.settings.secrets)
                masked.append(kept is not given)
                yield kept

        for batch in write(looked_through(), self.viewer):
            yield [replace(one, notes=(*one.notes, MASKED)) if masked.popleft() else one for one in batch]

    def import_file(
        self,
        format: str,
        source: str | Path,
        *,
        options: ImportOptions | None = None,
        report: ImportReport | None = None,
    ) -> Iterator[list[Written]]:
        """Import a file or folder; yields the results of each batch, then sorts the index.

        Args:
            format: one of `store.exchange.importers.FORMATS`.
            source: the file or folder.
            options: what is made of the records on the way.
            report: counts what was left out and why, the notes of the results too.
        """
        from context_packs.store.exchange.importers import ImportReport, read

        report = report or ImportReport()
        for batch in self.import_batches(read(format, Path(source), options=options, report=report, marks=True)):
            for note in (note for one in batch for note in one.notes):
                report.note(note)
            yield batch
        self.store.merge()

    def forget(self, ref: str, mode: str = "soft_delete", *, labels: bool = False) -> Forgotten:
        """Forget one record: `soft_delete`, `hard_delete` (text erased) or `redact` (text erased, record stays).

        `labels` erases path, type, status, scope, bucket and external id too, and with `hard_delete` the name of a
        thread, worker or trigger. What was erased is in no answer and no export from now on; its bytes stay in unused
        parts of the file until `compact` has run. `derived` names records that may repeat the text. Raises
        InvalidField, NotFound, Gone.
        """
        return self.store.forget([ref], mode, self.viewer, labels=labels)[0]

    def revise(
        self, ref: str, *, merge: bool = True, idempotency_key: str | None = None, **changes: Unpack[ChangedFields]
    ) -> Written:
        """Write the next version of a record of one's own: fields of the JSON Lines form that change, the others stay.

        Nothing is written where nothing changes. Raises InvalidField, NotFound, Gone, Conflict.

        Args:
            ref: the id of the record.
            merge: put new entries of `metadata` and `source` over the stored ones; false puts new ones in their place.
            idempotency_key: the same key again answers with the version that it made.
            changes: the fields that change.
        """
        changed = guarded(_renamed(changes), self.settings.secrets)
        return self.store.revise(ref, changed, self.viewer, merge=merge, replay=idempotency_key)

    def embed_pending(self, seconds: float | None = None) -> int:
        """Vectors for all passages that lack one, everybody's; the number made, 0 without an embedder.

        It ends after so many `seconds`, if they are given, and keeps what is done. Raises StoreUnavailable where the
        model fails, and what a write raises.
        """
        return sum(self.store.embed_pending(seconds=seconds))

    def embed_batches(self) -> Iterator[int]:
        """The same, yielding the number of each batch once it is kept."""
        return self.store.embed_pending()

    # -- the store -------------------------------------------------------------------------------------------------

    @property
    def encoding(self) -> str:
        """The encoding in which all budgets are counted."""
        return self._counter.name

    def now(self) -> datetime:
        """The present by the clock of the store, aware."""
        return self.store.clock()

    def count_tokens(self, text: str) -> int:
        """Tokens of a text in `encoding`, exact (an encoding name with a factor says that it is an estimate)."""
        if not isinstance(text, str):
            raise InvalidField(f"text: {type(text).__name__} is not text", field="text")
        return self._counter.count(text)

    def export(self, path: str | Path, *, everybody: bool = False) -> int:
        """Write all of the agent's records (or everybody's) as JSON Lines; returns the number of lines.

        A file appears whole or not at all. Raises InvalidField where it cannot be written.
        """
        return write_file(path, self.export_lines(everybody=everybody))

    def export_lines(self, *, everybody: bool = False) -> Iterator[dict[str, Any]]:
        """The lines of an export, one per version of a record."""
        return self.store.export(None if everybody else self.viewer)

    def stats(self) -> dict[str, Any]:
        """Counts of what the agent can see, and of the file."""
        return {**self.store.stats(self.viewer), "agent_id": self.viewer.agent_id, "encoding": self.encoding}

    # -- who comes in, and what they did -----------------------------------------------------------------------------

    @property
    def tokens(self) -> Tokens:
        """Credentials for the doors of a server."""
        return self.store.tokens

    @property
    def audit(self) -> Audit:
        """The audit trail; a door starts it and notes its requests, `close` writes what waits."""
        return self.store.audit


def _renamed(record: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(record, Mapping):
        raise InvalidField(f"record: {str(record)[:40]!r} is not an object with fields", field="record")
    if "memory_type" not in record:
        return record
    return {("type" if name == "memory_type" else name): value for name, value in record.items()}
