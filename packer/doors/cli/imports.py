"""The command that imports files of other programs, shows what it would do, and takes an import back."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import ContextPacksError, InvalidField
from .console import Command, Globals, as_path, progress, say, say_json
from .meaning import AFTER_IMPORT, catch_up

if TYPE_CHECKING:
    from context_packs.store.exchange.importers import ImportOptions, ImportReport
    from context_packs.store.records import Written

    from ...service import ContextPacks


@click.command("import", cls=Command)
@click.argument("format", required=False)
@click.argument("sources", nargs=-1, metavar="FILE…")
@click.option("--scope", help="for records without one; sessions of coding agents go to that of their project")
@click.option("--bucket", help="for records without one")
@click.option("--path-prefix", default="", help="stands before every path that the format makes")
@click.option("--mask-secrets/--keep-secrets", default=None, help="replace what looks like a secret")
@click.option("--project", metavar="P", help="only sessions of this folder, or of a project of this name")
@click.option("--since", metavar="T", help="only what was said from this time on (RFC 3339)")
@click.option("--prune", is_flag=True, help="forget what came from this folder before and is not in it any more")
@click.option("--dry-run", is_flag=True, help="show what would change, and change nothing")
@click.option("--list", "listing", is_flag=True, help="show imports that can be taken back")
@click.option("--undo", metavar="ID", help="take this import back; without --yes only show what that does")
@click.option("--yes", is_flag=True, help="with --undo: do it")
@click.pass_obj
def import_(state: Globals, /, format: str | None, sources: tuple[str, ...], **asked: Any) -> int:
    """Import FILE… (files or folders) of a FORMAT. Running it again adds nothing.

    FORMAT is auto, claude-code, claude-memory, codex, chatgpt, claude-export, chat, markdown, jsonl, mem0 or cpersona.
    """
    if asked["listing"]:
        return _list(state)
    if asked["undo"] is not None:
        return _undo(state, asked["undo"], asked["yes"])
    if format is None:
        raise InvalidField("format: is missing", field="format")
    if not sources:
        raise InvalidField("sources: is missing", field="sources")
    if asked["prune"] and (asked["since"] or asked["project"]):
        raise InvalidField("prune: looks at a whole folder; leave --since and --project out", field="prune")
    options, report = _options(asked), _report()
    counts = {"created": 0, "updated": 0, "existing": 0, "left_out": 0}
    if asked["prune"]:
        counts["pruned"] = 0
    try:
        with _memory(state, asked["dry_run"]) as packs, progress("importing", state) as advance:
            for source in sources:
                try:
                    for batch in packs.import_file(format, Path(as_path(source)), options=options, report=report):
                        for one in batch:
                            counts[_outcome(one)] += 1
                        advance(len(batch))
                except InvalidField as error:
                    if len(sources) == 1 or error.field == "format":
                        raise
                    report.fail(Path(source).name, str(error))
                    continue
                if asked["prune"]:
                    counts["pruned"] += _pruned(packs, format, Path(as_path(source)), report)
    except ContextPacksError:
        if counts["created"] or counts["updated"]:
            state.note(f"{counts['created']} created and {counts['updated']} updated before the error are kept")
        raise
    if not asked["dry_run"]:
        catch_up(state, AFTER_IMPORT)
    _tell(state, counts, report, dry=asked["dry_run"])
    return state.fail(_failure(report)) if report.failed else 0


def _options(asked: dict[str, Any]) -> ImportOptions:
    from context_packs.store.exchange.importers import ImportOptions
    from context_packs.store.times import parse_time

    names = ("mask_secrets", "path_prefix", "scope", "bucket", "project")
    since = None if asked["since"] is None else parse_time(asked["since"], "since")
    return ImportOptions(**{name: asked[name] for name in names}, since=since, scope_of=_scope_of)


def _report() -> ImportReport:
    from context_packs.store.exchange.importers import ImportReport

    return ImportReport()


def _scope_of(cwd: str) -> str:
    """The scope that the hooks give to a working folder; the folder may be one of another machine."""
    from ..hooks.project import project_of, scope_of

    try:
        return scope_of(project_of(cwd))
    except InvalidField:
        return scope_of(cwd)


@contextmanager
def _memory(state: Globals, dry: bool) -> Iterator[ContextPacks]:
    """The memory of this call, or a copy of it that is thrown away."""
    if not dry:
        with state.open() as packs:
            yield packs
        return
    from ...service import ContextPacks

    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy.duckdb")
        with state.open() as packs:
            agent = packs.viewer.agent_id
            if packs.store.exists():
                packs.store.backup(str(copy))
        with ContextPacks.open(copy, agent, embedder="none") as packs:
            yield packs


def _pruned(packs: ContextPacks, format: str, source: Path, report: ImportReport) -> int:
    from context_packs.store.exchange.marks import FILE_FORMATS, folder_mark

    if format not in FILE_FORMATS or not source.is_dir():
        way = f"import a folder as {' or '.join(FILE_FORMATS)}"
        raise InvalidField(f"prune: there is nothing to compare with; {way}", field="prune")
    if not packs.store.exists():
        return 0
    return len(packs.store.prune(format, folder_mark(source), report.seen, report.failed, packs.viewer))


def _tell(state: Globals, counts: dict[str, int], report: ImportReport, *, dry: bool) -> None:
    if state.json:
        written = (counts["created"] or counts["updated"]) and not dry
        rest = {"id": report.id if written else None, "failed": report.failed, "dry_run": dry}
        told = {"skipped": report.skipped, "notes": report.notes, **{name: said for name, said in rest.items() if said}}
        say_json({"read": report.read, **counts, **told})
        return
    more = [f"{counts[name]} {words}" for name, words in _MORE.items() if counts.get(name)]
    line = f"{counts['created']} created, {counts['updated']} updated, {counts['existing']} already there"
    say(", ".join([line, *more]) + (" (dry run: nothing was written)" if dry else ""))
    for kind, reasons in (("skipped", report.skipped), ("note", report.notes)):
        for reason, count in sorted(reasons.items()):
            state.note(f"{kind}: {count} × {reason}")
    for line in sorted(report.failed.values()):
        state.note(f"not imported: {line}")


_MORE = {"left_out": "left out", "pruned": "forgotten that are gone"}


def _failure(report: ImportReport) -> InvalidField:
    names = sorted(report.failed)
    some = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return InvalidField(f"file: {len(names)} gave nothing: {some}; the rest was imported", field="file")


def _outcome(written: Written) -> str:
    """What an import counts a result as."""
    from context_packs.store.records import LEFT_OUT

    if LEFT_OUT in written.notes:
        return "left_out"
    return "created" if written.created else "updated" if written.updated else "existing"


# ---- imports that were made


def _list(state: Globals) -> int:
    with state.open() as packs:
        found = packs.store.imports(packs.viewer)
    if state.json:
        rows = [{"id": one.id, "host": one.host, "records": one.records, "at": f"{one.at:%Y-%m-%dT%H:%M:%SZ}"}
                for one in found]  # fmt: skip
        say_json(rows)
        return 0
    for one in found:
        say(f"{one.id}  {one.at:%Y-%m-%d %H:%M}  {one.records} records  {one.host}")
    if not found:
        state.note("no import can be taken back")
    return 0


def _undo(state: Globals, one: str, sure: bool) -> int:
    with state.open() as packs:
        done = packs.store.undo_import(one, packs.viewer, dry=not sure)
    if state.json:
        say_json({"id": done.id, "forgotten": done.forgotten, "restored": done.restored, "left": done.left,
                  "dry_run": not sure})  # fmt: skip
        return 0
    counted = f"{len(done.forgotten)} forgotten, {len(done.restored)} as they were before"
    left = f", {len(done.left)} left as they changed since" if done.left else ""
    say(counted + left + ("" if sure else " (dry run: add --yes to do it)"))
    return 0
