"""Commands that keep a store in health: check, back up, compact, repair."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...errors import InvalidField, StoreDamaged, row_for
from .console import Command, Globals, as_path, progress, say, say_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from context_packs.store.maintenance.compact import Compacted

    from ...service import ContextPacks


_MOST = 50  # losses that are told one by one


def by_part(advance: Callable[[int], None]) -> Callable[[str, int], None]:
    """Progress that is told by table, as one count of records."""
    return lambda table, count: advance(count) if table == "records" else None


@click.command(cls=Command)
@click.argument("file")
@click.option("--force", is_flag=True, help="take the place of a file that is there")
@click.pass_obj
def backup(state: Globals, /, file: str, force: bool) -> None:
    """Copy the whole store to FILE, also while a server or others use it, and verify the copy.

    FILE is a store like any other: `--store FILE` reads it, and put in the place of the store it is the store.
    """
    if not file.strip():
        raise InvalidField("file: is blank: name the file to write", field="file")
    with state.open() as packs, progress("verifying", state, "blocks") as advance:
        saved = packs.store.backup(as_path(file), force=force, progress=advance)
    if state.json:
        say_json({"bytes": saved.bytes, "records": saved.records})
    else:
        say(f"{saved.records} records in {saved.bytes} bytes")


def compacted(state: Globals, packs: ContextPacks) -> Compacted:
    """Write an open store anew, with progress on stderr."""
    with progress("compacting", state) as advance:
        return packs.store.compact(by_part(advance))


@click.command(cls=Command)
@click.pass_obj
def compact(state: Globals, /) -> None:
    """Write the store anew: smaller, in order, and without a byte of what was deleted.

    Others wait meanwhile. It needs as much room beside the store as the store has.
    """
    with state.open() as packs:
        done = compacted(state, packs)
    if state.json:
        say_json({"before": done.before, "after": done.after, "reclaimed": done.reclaimed})
    else:
        say(f"{done.before} bytes before, {done.after} after, {done.reclaimed} reclaimed")


@click.command(cls=Command)
@click.pass_obj
def reindex(state: Globals, /) -> None:
    """Make the index anew from the records, as this version analyses them; the file is compacted with it.

    Others wait meanwhile. Vectors of records that are divided otherwise now are pending again: `embed` makes them.
    """
    with state.open() as packs, progress("indexing", state) as advance:
        done = packs.store.reindex(by_part(advance))
    if state.json:
        say_json({"before": done.before, "after": done.after})
    else:
        say(f"{done.before} bytes before, {done.after} after")


@click.command(cls=Command)
@click.argument("file")
@click.argument("out")
@click.pass_obj
def salvage(state: Globals, /, file: str, out: str) -> int:
    """Write all that can be read of the damaged store FILE to OUT (- for stdout), as JSON Lines for `import jsonl`.

    FILE is never written to. What could not be read is told on stderr; the exit code is then 6.
    """
    from context_packs.store.maintenance.salvage import Salvaged
    from context_packs.store.maintenance.salvage import salvage as read

    from ...export import write_file

    if not out.strip() or not file.strip():
        raise InvalidField("file: is blank: name the damaged store and the file to write", field="file")
    report = Salvaged()
    with progress("salvaging", state) as advance:
        lines = read(as_path(file), report, by_part(advance))
        if out == "-":
            for line in lines:
                say_json(line)
        else:
            write_file(as_path(out), lines, "out", replace=False)
    for doubt in report.doubtful:
        state.note(f"doubtful: {doubt}")
    for loss in report.lost[:_MOST]:
        state.note(f"lost: {loss}")
    if len(report.lost) > _MOST:
        state.note(f"lost: {len(report.lost) - _MOST} more")
    told = {"records": report.records, "links": report.links, "payloads": report.payloads, "mended": report.mended}
    if out != "-":
        if state.json:
            say_json({**told, "lost": report.lost, "doubtful": report.doubtful})
        else:
            say(", ".join(f"{count} {name}" for name, count in told.items()))
    return row_for(StoreDamaged).exit_code if report.lost else 0


@click.command(cls=Command)
@click.option("--full", is_flag=True, help="every block, every value, and whether index and records agree")
@click.pass_obj
def doctor(state: Globals, /, full: bool) -> int:
    """Check the installation and the store, for reading and writing; fails where something is wrong."""
    from .checks import examine

    with progress("checking", state) as advance:
        findings, worst = examine(state.open, by_part(advance) if full else None)
    if state.json:
        say_json({"ok": not worst, "checks": findings})
    else:
        for finding in findings:
            say(f"{'ok ' if finding['ok'] else 'BAD'} {finding['check']}: {finding['detail']}")
    return worst
