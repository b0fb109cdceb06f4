"""Commands that write: remember, forget, import; and export, which writes a file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ...errors import ContextPacksError, InvalidField
from .console import Command, Globals, as_path, given, say, say_json, standard_input
from .meaning import AFTER_WRITE, catch_up
from .repair import compacted

if TYPE_CHECKING:
    pass


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
@click.option(
    "--labels", is_flag=True, help="erase path, type, scope and external id too; with hard_delete also a name"
)
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
