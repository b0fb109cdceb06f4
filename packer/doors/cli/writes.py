"""Commands that write: remember, forget, import; and export, which writes a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import ContextPacksError, InvalidField
from .console import Command, Globals, as_path, given, progress, say, say_json, standard_input
from .meaning import AFTER_IMPORT, AFTER_WRITE, catch_up
from .repair import compacted

if TYPE_CHECKING:
    from context_packs.store.records import Written


@click.command(cls=Command)
@click.argument("text")
@click.option("--path", help="where it belongs, such as project/decisions")
@click.option("--type", "type", help="decision, task, fact …")
@click.option("--title", help="a heading")
@click.option("--bucket", help="a part of the memory kept apart")
@click.option("--scope", help="private, team, a repository …")
@click.option("--team", "team_id", help="the team that may read it too")
@click.option("--status", help="active, open, done …")
@click.option("--key", "idempotency_key", help="idempotency key: the same key never writes twice")
@click.option("--expires", "expires_at", help="gone by itself from this time on (RFC 3339)")
@click.option("--supersedes", metavar="REF", help="the record that this one replaces")
@click.option("--pin", "pinned", is_flag=True, default=None, help="always part of a restore")
@click.pass_obj
def remember(state: Globals, /, text: str, **fields: Any) -> None:
    """Store TEXT (or standard input where TEXT is -) and print its id."""
    content = standard_input() if text == "-" else text
    with state.open() as packs:
        written = packs.remember(content, **given(fields))
    catch_up(state, AFTER_WRITE)
    if state.json:
        say_json({"id": written.id, "created": written.created, "version": written.version, "notes": written.notes})
        return
    for line in written.notes:
        state.note(f"note: {line}")
    say(written.id)
    if not written.created:
        state.note(f"note: {written.id} was there already")


@click.command(cls=Command)
@click.argument("ref")
@click.option("--mode", default="soft_delete", show_default=True, help="soft_delete, hard_delete or redact")
@click.option("--labels", is_flag=True, help="erase path, type, scope, external id and name too")
@click.option("--later", is_flag=True, help="leave erased bytes in unused parts of the file until `compact` runs")
@click.pass_obj
def forget(state: Globals, /, ref: str, mode: str, labels: bool, later: bool) -> int:
    """Forget a record; its id is never used again.

    hard_delete and redact erase its text and write the store anew, so that no byte of it is left in the file.
    """
    from ..forms.documents import forgotten_document

    fault: ContextPacksError | None = None
    with state.open() as packs:
        packs.store.count()  # where there is no store there is nothing to forget, and none is made
        done = packs.forget(ref, mode, labels=labels)
        if done.erased == "after compact" and not later:
            try:
                compacted(state, packs)
                done = replace(done, erased="now")
            except ContextPacksError as error:  # the record is erased all the same: that is told first
                fault = error
    if state.json:
        say_json(forgotten_document(done))
    else:
        say(f"{ref} {mode}")
    if done.erased == "after compact":
        state.note("note: its bytes are in unused parts of the file until `context-packs compact` has run")
    if done.derived:
        named = ", ".join(f"{one.id} ({one.why})" for one in done.derived)
        state.note(f"note: {done.derived_count} may repeat it: {named}")
    return 0 if fault is None else state.fail(fault)


@click.command("import", cls=Command)
@click.argument("format")
@click.argument("sources", nargs=-1, required=True, metavar="FILE…")
@click.option("--scope", help="for records without one")
@click.option("--bucket", help="for records without one")
@click.option("--path-prefix", default="", help="stands before every path that the format makes")
@click.option("--mask-secrets/--keep-secrets", default=None, help="replace what looks like a secret")
@click.pass_obj
def import_(
    state: Globals,
    /,
    format: str,
    sources: tuple[str, ...],
    scope: str | None,
    bucket: str | None,
    path_prefix: str,
    mask_secrets: bool | None,
) -> None:
    """Import FILE… (or folders): jsonl, markdown, chat or claude-code. Running it again adds nothing."""
    from context_packs.store.exchange.importers import ImportOptions, ImportReport

    options = ImportOptions(mask_secrets=mask_secrets, path_prefix=path_prefix, scope=scope, bucket=bucket)
    report = ImportReport()
    counts = {"created": 0, "updated": 0, "existing": 0, "left_out": 0}
    try:
        with state.open() as packs, progress("importing", state) as advance:
            for source in sources:
                for batch in packs.import_file(format, Path(as_path(source)), options=options, report=report):
                    for one in batch:
                        counts[_outcome(one)] += 1
                    advance(len(batch))
    except ContextPacksError:
        if counts["created"] or counts["updated"]:
            state.note(f"{counts['created']} created and {counts['updated']} updated before the error are kept")
        raise
    catch_up(state, AFTER_IMPORT)
    if state.json:
        say_json({"read": report.read, **counts, "skipped": report.skipped, "notes": report.notes})
        return
    left_out = f", {counts['left_out']} left out" if counts["left_out"] else ""
    say(f"{counts['created']} created, {counts['updated']} updated, {counts['existing']} already there{left_out}")
    for kind, reasons in (("skipped", report.skipped), ("note", report.notes)):
        for reason, count in sorted(reasons.items()):
            state.note(f"{kind}: {count} × {reason}")


def _outcome(written: Written) -> str:
    """What an import counts a result as."""
    from context_packs.store.records import LEFT_OUT

    if LEFT_OUT in written.notes:
        return "left_out"
    return "created" if written.created else "updated" if written.updated else "existing"


@click.command(cls=Command)
@click.argument("file")
@click.option("--everybody", is_flag=True, help="the records of all agents")
@click.pass_obj
def export(state: Globals, /, file: str, everybody: bool) -> None:
    """Write all records with ids, versions, links and tombstones as JSON Lines to FILE (- for stdout).

    Credentials (`token`) and the audit trail stay with the store file.
    """
    with state.open() as packs:
        if file == "-":
            for line in packs.export_lines(everybody=everybody):
                say_json(line)
            return
        if not file.strip():
            raise InvalidField("file: is blank: name the file to write, or - for stdout", field="file")
        count = packs.export(as_path(file), everybody=everybody)
    if state.json:
        say_json({"lines": count})
    else:
        state.note(f"{count} lines")
