"""ContextPacks: the one object that doors and hosts use, and where the parts come together.

One query, one direction: request → profile → candidates of the store → ladder → fit → pack. Doors only parse what goes
in and encode what comes out.
"""

from __future__ import annotations

import json
import os
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
from context_packs.store.values import Candidates, Viewer

from .chain import Chained
from .fields import ChangedFields, FilterFields, Moment, NewRecord, RecordFields, RequestFields
from .packing.build import build
from .packing.build import render as render_pack
from .packing.pack import Pack
from .packing.profile import load_profile, with_defaults
from .packing.request import PackRequest, parse_request
from .packing.tokens import TokenCounter, token_counter
from .rows import MAX_REFS, Contents, Rows, entries_of, limited, rows_of
from .secrecy import MASKED, guarded
from .settings import Settings

if TYPE_CHECKING:
    from context_packs.store.access.audit import Audit
    from context_packs.store.access.tokens import Grant, Issued, Token
    from context_packs.store.exchange.importers import ImportOptions, ImportReport
    from context_packs.store.maintenance.backup import Saved
    from context_packs.store.maintenance.compact import Compacted
    from context_packs.store.memory.erasure import Forgotten

DEPTH = 200  # records that the candidate stage ranks; what is relevant beyond them is counted in the plan
SPARE = 8  # records read beyond `max_items`: their text may put them before others
STRICT = 0.5  # share of the query that a row of a strict search contains


class ContextPacks(Chained):
    """Memory of one agent in one store. Safe from several threads; use it as a context manager or `close` it."""

    def __init__(
        self, store: Store, viewer: Viewer, counter: TokenCounter, settings: Settings, *, shared: bool = False
    ) -> None:
        self._store = store
        self._counter = counter
        self._shared = shared  # the store belongs to another object, which closes it
        self.viewer = viewer
        self.settings = settings
        self._secrets = settings.secrets

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

        `mode` "shared" opens the file for each operation, so that several processes can use it; "leased" keeps it while
        there is work and lets others in who ask, for servers; "exclusive" holds it alone. `wait` is the longest wait in
        seconds for another process. `encoding` names the tokens of all budgets; `quick_start` is for processes that end
        after one answer. `embedder` adds search by meaning: "auto" (the first model that is installed), "none", a name
        of `store.embedders`, or an object of your own. What is not given comes from the environment. Raises
        StoreUnavailable (and its leaves), InvalidField.
        """
        _check_opening(path, agent_id, mode, teams, wait)
        settings = Settings.from_environment()
        counter = token_counter(encoding or settings.encoding, quick_start=quick_start)
        if embedder is None or isinstance(embedder, str):
            embedder = settings.model(embedder)
        where = path if path is not None else settings.store
        store = DuckStore(where, mode=mode, wait=wait, clock=clock, embedder=embedder)
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
            self._store.close()

    def seen_by(self, viewer: Viewer) -> ContextPacks:
        """The same store for another viewer, as a server needs it for each caller. Costs next to nothing."""
        return ContextPacks(self._store, viewer, self._counter, self.settings, shared=True)

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
            return self._store.log(filters, self.viewer, DEPTH, take, known)
        if request.restore:
            return self._store.restore(filters, self.viewer, DEPTH, take, known, hops)
        return self._store.candidates(request.query, filters, self.viewer, DEPTH, take, known, hops)

    # -- rows ------------------------------------------------------------------------------------------------------

    def recall(
        self, query: str, limit: int = 10, *, exclude_contents: Sequence[str] = (), **filters: Unpack[FilterFields]
    ) -> Rows:
        """Complete rows that bear on a query, best first; with a blank query what a restore would bring."""
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

        Each entry is a text or an object with the text as `content`; all come back in `context`, whole and in order.
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
            return rows_of(self._store.newest(request.filters(), self.viewer, limited(limit)), limit)
        if parse_id(query.strip()):
            named = replace(request.filters(), ids=(query.strip(),))
            found = self._store.newest(named, self.viewer, limited(limit))
            if found.items:
                return rows_of(found, limit)
        found = self._found(request, limited(limit))
        return rows_of(found, limit, least=0.0 if request.query_mode == "activity_log" else STRICT)

    def newest(self, limit: int = 10, *, semantic_key: str | None = None, **filters: Unpack[FilterFields]) -> Rows:
        """The newest records that the filters let through, or the oldest with `time_order="asc"`; `semantic_key` is one
        filter more."""
        wanted = replace(parse_request(**filters).filters(), semantic_key=semantic_key)
        return rows_of(self._store.newest(wanted, self.viewer, limited(limit)), limit)

    def get(self, ref: str) -> Record:
        """One record by its id, exactly. Raises InvalidField (malformed id), NotFound, Gone (deleted, to its owner)."""
        return self._store.get(ref, self.viewer)

    def get_contents(self, refs: Sequence[str]) -> Contents:
        """Whole records in request order, at most 20; a ref that names nothing visible goes to `missing`."""
        if not isinstance(refs, list | tuple) or not 1 <= len(refs) <= MAX_REFS:
            raise InvalidField(f"refs: give a list of 1 to {MAX_REFS} ids", field="refs")
        wanted = list(dict.fromkeys(ref if isinstance(ref, str) else repr(ref)[:64] for ref in refs))
        found = self._store.fetch([ref for ref in wanted if is_id(ref)], self.viewer)
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
        return self._written(self._store.remember_batches, records, "records")

    def import_lines(self, lines: Iterable[Mapping[str, Any]]) -> list[Written]:
        """Store lines of an export (dicts) with the ids, versions, links and tombstones they carry; results in order.

        Lines that are there already add nothing, lines without an id are records. Raises InvalidField, Conflict,
        NotFound.
        """
        return [written for batch in self.import_batches(lines) for written in batch]

    def import_batches(self, lines: Iterable[Mapping[str, Any]]) -> Iterator[list[Written]]:
        """The same, yielding the results of each batch once it is kept."""
        return self._written(self._store.import_batches, lines, "lines")

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
        """Import a file or folder of a known format; yields the results of each batch, then sorts the index.

        `report` counts what was left out and why, the notes of the results too.
        """
        from context_packs.store.exchange.importers import ImportReport, read

        report = report or ImportReport()
        for batch in self.import_batches(read(format, Path(source), options=options, report=report)):
            for note in (note for one in batch for note in one.notes):
                report.note(note)
            yield batch
        self._store.merge()

    def forget(self, ref: str, mode: str = "soft_delete", *, labels: bool = False) -> Forgotten:
        """Forget one record: `soft_delete`, `hard_delete` (text erased) or `redact` (text erased, record stays).

        `labels` erases path, type, status, scope, bucket and external id too, and with `hard_delete` the name of a
        thread, worker or trigger. What was erased is in no answer and no export from now on; its bytes stay in unused
        parts of the file until `compact` has run. `derived` names records that may repeat the text. Raises
        InvalidField, NotFound, Gone.
        """
        return self._store.forget([ref], mode, self.viewer, labels=labels)[0]

    def revise(
        self, ref: str, *, merge: bool = True, idempotency_key: str | None = None, **changes: Unpack[ChangedFields]
    ) -> Written:
        """Write the next version of a record of one's own: fields of the JSON Lines form that change, the others stay.

        `metadata` and `source` are merged, unless `merge` is false. Nothing is written where nothing changes. Raises
        InvalidField, NotFound, Gone, Conflict.
        """
        changed = guarded(_renamed(changes), self.settings.secrets)
        return self._store.revise(ref, changed, self.viewer, merge=merge, replay=idempotency_key)

    def embed_pending(self) -> int:
        """Vectors for all passages that lack one, everybody's; the number made, 0 without an embedder.

        Broken off it keeps what is done. Raises StoreUnavailable where the model fails, and what a write raises.
        """
        return sum(self.embed_batches())

    def embed_batches(self) -> Iterator[int]:
        """The same, yielding the number of each batch once it is kept."""
        return self._store.embed_pending()

    # -- the store -------------------------------------------------------------------------------------------------

    @property
    def encoding(self) -> str:
        """The encoding in which all budgets are counted."""
        return self._counter.name

    def now(self) -> datetime:
        """The present by the clock of the store, aware."""
        return self._store.clock()

    def count_tokens(self, text: str) -> int:
        """Tokens of a text in `encoding`, exact (an encoding name with a factor says that it is an estimate)."""
        if not isinstance(text, str):
            raise InvalidField(f"text: {type(text).__name__} is not text", field="text")
        return self._counter.count(text)

    def export(self, path: str | Path, *, everybody: bool = False) -> int:
        """Write all of the agent's records (or everybody's) as JSON Lines; returns the number of lines.

        A file appears whole or not at all; a link is followed, and what is no regular file (a pipe, a device) is
        written into.
        """
        target = Path(os.path.realpath(path))
        draft = target.with_name(target.name + ".part")
        try:
            if target.exists() and not target.is_file():
                return self._write_lines(target, everybody=everybody)
            count = self._write_lines(draft, everybody=everybody)
            draft.replace(target)
        except OSError as error:
            raise InvalidField(
                f"file: can not write {target.name}: {error.strerror}; name another file", field="file"
            ) from error
        finally:
            if os.path.exists(draft):  # not in a folder that may not even be looked into
                draft.unlink()
        return count

    def _write_lines(self, file: Path, *, everybody: bool) -> int:
        count = 0
        with open(file, "w", encoding="utf-8", newline="\n", opener=_private) as out:
            for line in self.export_lines(everybody=everybody):
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
                count += 1
        return count

    def export_lines(self, *, everybody: bool = False) -> Iterator[dict[str, Any]]:
        """The lines of an export, one per version of a record."""
        return self._store.export(None if everybody else self.viewer)

    def backup(self, path: str | Path, *, force: bool = False, progress: Callable[[int], None] | None = None) -> Saved:
        """Copy the whole store into a file, also while other processes use it; they wait only while bytes are copied.

        The copy is verified before it has its name; with `force` it takes the place of a file that is there.
        `progress` is told the number of blocks verified after each few. Raises InvalidField, StoreUnavailable.
        """
        return self._store.backup(os.fspath(path), force=force, progress=progress)

    def compact(self, progress: Callable[[str, int], None] | None = None) -> Compacted:
        """Write the store anew: smaller, in order, and with no byte of what was deleted. Nobody else has it meanwhile.

        `progress` is told a table and its rows after each part. Raises StoreUnavailable; the store is then as it was.
        """
        return self._store.compact(progress)

    def reindex(self, progress: Callable[[str, int], None] | None = None) -> Compacted:
        """Make the index anew from the records, in a new file as `compact` does. Raises StoreUnavailable."""
        return self._store.reindex(progress)

    def check(self, progress: Callable[[str, int], None] | None = None) -> Iterator[tuple[str, bool, str]]:
        """Look at every block, value and reference of the store: what was looked at, whether it is right, details.

        It works on a copy beside the store, so that others wait only while bytes are copied.
        """
        return self._store.check(progress)

    def exists(self) -> bool:
        """Whether there is a store: the first write makes one."""
        return self._store.exists()

    def stats(self) -> dict[str, Any]:
        """Counts of what the agent can see, and of the file."""
        return {**self._store.stats(self.viewer), "agent_id": self.viewer.agent_id, "encoding": self.encoding}

    # -- who comes in, and what they did -----------------------------------------------------------------------------

    def create_token(
        self,
        agent_id: str,
        scopes: Sequence[str],
        *,
        teams: Sequence[str] = (),
        profile: str | None = None,
        expires_at: Moment | None = None,
        label: str = "",
    ) -> Issued:
        """A credential for the doors of a server, with the only copy of its secret. Raises InvalidField.

        `scopes` are some of `memory:read`, `memory:write`, `memory:admin`, `memory:temporary:read`; none implies
        another. It speaks for `agent_id` and sees its `teams`; `profile` is how it is answered, that of the server
        where none is given. `expires_at` is the first moment at which it no longer holds.
        """
        if profile is not None:
            load_profile(profile)
        return self._store.tokens.create(
            agent_id, scopes, teams=teams, profile=profile, expires_at=expires_at, label=label
        )

    def tokens(self) -> list[Token]:
        """All credentials of the store without their secrets, oldest first."""
        return self._store.tokens.list()

    def revoke_token(self, token_id: str) -> Token:
        """Let a credential in no more. Raises InvalidField, NotFound."""
        return self._store.tokens.revoke(token_id)

    def authenticate(self, secret: str) -> Grant | None:
        """What a secret allows now; None where it lets nobody in."""
        return self._store.tokens.authenticate(secret)

    def knows_tokens(self) -> bool:
        """Whether these questions are answered from memory now: what was read counts for half a second. An event loop
        asks, and calls them in a thread where they would read the store."""
        return self._store.tokens.fresh

    def has_live_tokens(self) -> bool:
        """Whether any credential lets somebody in now."""
        return self._store.tokens.has_live()

    def has_tokens(self) -> bool:
        """Whether a credential was ever made, also one that holds no longer."""
        return self._store.tokens.has_any()

    @property
    def audit(self) -> Audit:
        """The audit trail; a door starts it and notes its requests, `close` writes what waits."""
        return self._store.audit

    def count(self) -> int:
        """How many records the store holds, everybody's."""
        return self._store.count()

    def probe(self) -> None:
        """Try the write path for real; raises what a write would raise."""
        self._store.probe()

    def place(self) -> tuple[int, int] | None:
        """Which file stands at the path of the store now, by device and inode; None where there is none."""
        return self._store.place()


def _private(path: str, flags: int) -> int:
    """Open a file that, if it is new, its owner alone may read."""
    return os.open(path, flags, 0o600)


def _check_opening(path: object, agent_id: object, mode: object, teams: object, wait: object) -> None:
    """The arguments of `open`, each with an error that names it."""
    if not (path is None or (isinstance(path, str | os.PathLike) and "\0" not in os.fspath(path))):
        raise InvalidField("path: give a file path or :memory:", field="path")
    if mode not in ("shared", "leased", "exclusive"):
        raise InvalidField(f"mode: {str(mode)[:40]!r} is not shared, leased or exclusive", field="mode")
    if not isinstance(wait, int | float) or isinstance(wait, bool) or not 0 <= wait < 86_400:
        raise InvalidField("wait: give seconds from 0, less than a day", field="wait")
    if isinstance(teams, str | bytes) or not isinstance(teams, Sequence):
        raise InvalidField("teams: give a list of team ids", field="teams")
    named = [team for team in teams if team != ""]  # no team at all gives sight of nothing
    for field, names in (("agent_id", [agent_id] if agent_id is not None else []), ("teams", named)):
        for name in names:
            if not isinstance(name, str) or not name.strip() or not name.isprintable() or "|" in name:
                raise InvalidField(f"{field}: {ascii(name)[:40]} is not one line of text without |", field=field)


def _renamed(record: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(record, Mapping):
        raise InvalidField(f"record: {str(record)[:40]!r} is not an object with fields", field="record")
    if "memory_type" not in record:
        return record
    return {("type" if name == "memory_type" else name): value for name, value in record.items()}
