"""The command line: parse, call ContextPacks, encode. Results on stdout, notes, progress and errors on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from ...errors import InvalidField
from .chain import thread, trigger, worker
from .console import Globals, Group, as_path, drop_output, leave, run, say, say_json, standard_input
from .imports import import_
from .meaning import embed
from .reads import context, demo, get, recall, restore, search
from .repair import backup, compact, doctor, reindex, salvage
from .server import serve, token
from .writes import export, forget, remember


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="context-packs")
def cli() -> None:
    """Bounded, exact, honest context packs from a DuckDB memory."""


# ---- coding agents


@cli.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("host")
@click.argument("event")
@click.option("--foreground", is_flag=True, help="import a transcript here, not in a process of its own")
@click.pass_obj
def hook(state: Globals, /, host: str, event: str, foreground: bool) -> None:
    """Answer EVENT of HOST (claude-code or codex): its JSON on stdin, memory on stdout. Never fails the session."""
    from ..hooks.answer import run_hook

    answer, fault = run_hook(
        host, event, standard_input, as_path(state.store or ""), state.agent, foreground=foreground
    )
    if answer:
        try:
            say(answer)
        except OSError as error:  # a full disk behind stdout is no fault of the session either
            fault = f"stdout: {error.strerror}"
            drop_output()
    if fault:
        state.note(f"context-packs hook: {fault}")


@cli.command("install-hooks")
@click.argument("host", type=click.Choice(["claude-code", "codex"]))
@click.option("--project", is_flag=True, help="into this project's settings, not into yours")
@click.option("--remove", is_flag=True, help="take our hooks out again")
@click.option("--yes", is_flag=True, help="write without asking")
@click.option("--dry-run", is_flag=True, help="only show the change")
@click.pass_obj
def install_hooks(state: Globals, /, host: str, project: bool, remove: bool, yes: bool, dry_run: bool) -> None:
    """Put our hooks into the settings of HOST: shows the change, then asks. Everything else in the file stays."""
    from ..hooks.install import plan, write

    options = {"--store": (store := state.path()) and os.path.abspath(store), "--agent": state.agent}
    change = plan(
        host,
        home=Path.home(),
        folder=os.getcwd(),
        environment=os.environ,
        project=project,
        remove=remove,
        options={name: value for name, value in options.items() if value},
    )
    if change.needed and not state.json:
        say(change.diff())
    writes = change.needed and not dry_run
    if writes and not yes:
        if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
            raise InvalidField("yes: nothing was written: add --yes to make this change", field="yes")
        click.confirm(f"Write {change.shown}?", abort=True, err=True)
    if writes:
        write(change)
    if state.json:
        say_json({"file": change.shown, "changed": change.needed, "written": writes, "diff": change.diff()})
    elif not change.needed:
        state.note(f"{change.shown}: nothing to change")
    elif writes:
        state.note(f"{change.shown}: written")
    if writes and host == "codex" and not remove:
        state.note("note: Codex asks you to review new hooks before it runs them")


# ---- servers


@cli.command()
@click.option("--profile", default="public", show_default=True, help="how to answer; internal gives structures too")
@click.pass_obj
def mcp(state: Globals, /, profile: str) -> None:
    """Serve MCP over stdio: tools, a prompt and records for coding agents."""
    from ..mcp.hello import require_sdk
    from ..mcp.stdio import serve_stdio

    require_sdk()
    state.path()  # an address is refused before the client is answered
    if profile != "public":  # known to be there; looking at it costs a fifth of a second before the first answer
        from ...packing.profile import load_profile

        load_profile(profile)
    serve_stdio(state.open, profile)


# ---- the store


@cli.command()
@click.pass_obj
def stats(state: Globals, /) -> None:
    """Print counts of what is stored."""
    with state.open() as packs:
        facts = packs.stats()
    if state.json:
        say_json(facts)
        return
    for name, value in facts.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key or '-'} {count}" for key, count in value.items()) or "-"
        say(f"{name}: {value}")


for command in (
    *(demo, context, restore, recall, search, get, remember, forget, import_, export),
    *(token, serve, thread, worker, trigger, doctor, backup, compact, embed, reindex, salvage),
):
    cli.add_command(command)


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0, or the code of the error that was told in one line on stderr."""
    if argv is None:
        os.umask(0o077)  # what this process makes holds somebody's memory
        leave(run(cli, sys.argv[1:]))
    sys.exit(run(cli, list(argv)))


if __name__ == "__main__":
    main()
