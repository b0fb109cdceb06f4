"""The command line: parse, call ContextPacks, encode. Results on stdout, notes, progress and errors on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

from ...errors import ContextPacksError, InvalidField
from .chain import thread, trigger, worker
from .console import (
    WHOLE,
    Globals,
    Group,
    as_path,
    drop_output,
    leave,
    progress,
    run,
    say,
    say_json,
    shown,
    standard_input,
)
from .repair import backup, compact, compacted, doctor, reindex, salvage
from .server import serve, token

if TYPE_CHECKING:
    from context_packs.store.records import Record, Written

    from ...packing.pack import Pack
    from ...rows import Rows
    from ...service import ContextPacks

P = ParamSpec("P")
R = TypeVar("R")

_FILTERS = (
    ("--scope", "scope", "only this scope"),
    ("--bucket", "bucket", "only this bucket"),
    ("--team", "team_id", "only this team"),
    ("--path", "path", "only this path and what is below it"),
    ("--type", "memory_type", "only this type"),
    ("--status", "status", "only this status"),
    ("--source", "source", "only records from this source"),
    ("--since", "since", "only from this time on (RFC 3339)"),
    ("--until", "until", "only before this time (RFC 3339)"),
    ("--as-of", "as_of", "what was valid at this time (RFC 3339)"),
)
_LIMITS = (
    ("--max-items", "records at most, 1 to 50"),
    ("--max-tokens", "tokens at most, 1 to 12000"),
    ("--max-chars", "characters at most"),
)
_HOPS = click.option("--hops", type=WHOLE, help="follow links from what is found so many steps, 0 to 3")

_FILL = click.option(
    "--fill", type=click.Choice(["relevant", "budget"]), help="end where relevance does, or fill the budget"
)


def filters(function: Callable[P, R]) -> Callable[P, R]:
    """The filter options that all reads share."""
    function = click.option("--exclude-content", "exclude_contents", multiple=True, help="a text you have")(function)
    function = click.option("--exclude-id", "exclude_ids", multiple=True, help="a record you have")(function)
    function = click.option("--history", is_flag=True, default=None, help="superseded records too")(function)
    for option, name, helped in reversed(_FILTERS):
        function = click.option(option, name, help=helped)(function)
    return function


def limits(function: Callable[P, R]) -> Callable[P, R]:
    """The budget options of a pack."""
    for option, helped in reversed(_LIMITS):
        function = click.option(option, type=WHOLE, help=helped)(function)
    return function


def rows_of(function: Callable[P, R]) -> Callable[P, R]:
    """The options of recall and search."""
    function = click.option("--full", is_flag=True, help="whole records instead of previews and excerpts")(function)
    return click.option("--limit", type=WHOLE, default=10, show_default=True, help="rows at most, 0 to 200")(function)


def given(fields: dict[str, Any]) -> dict[str, Any]:
    """Only what the caller gave."""
    return {name: value for name, value in fields.items() if value not in (None, ())}


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="context-packs")
def cli() -> None:
    """Bounded, exact, honest context packs from a DuckDB memory."""


# ---- packs


@cli.command()
@click.option("--query", help="another question than the one shown in the README")
@limits
@click.pass_obj
def demo(state: Globals, /, query: str | None, **fields: Any) -> None:
    """Store example memories in a store of their own, ask a question and print the pack."""
    from ...demo import LIMITS, MEMORIES, OPENED, QUERY
    from ...service import ContextPacks

    with ContextPacks.open(":memory:", "demo", quick_start=True, **OPENED) as packs:
        packs.remember_many(MEMORIES)
        pack = packs.recall_context(query or QUERY, profile="public", **{**LIMITS, **given(fields)})
        _print_pack(state, pack, "public")


@cli.command()
@click.argument("query")
@limits
@_HOPS
@_FILL
@click.option("--profile", help="how to answer; public, with --json internal where none is named")
@filters
@click.pass_obj
def context(state: Globals, /, query: str, profile: str | None, **fields: Any) -> None:
    """Print the context pack for QUERY; a blank one prints what a session should start with."""
    profile = profile or ("internal" if state.json else "public")
    with state.open() as packs:
        _print_pack(state, packs.recall_context(query, profile=profile, **given(fields)), profile)


@cli.command()
@click.option("--host", type=click.Choice(["claude-code", "codex", "plain"]), default="plain", help="who will read it")
@limits
@_HOPS
@_FILL
@click.option("--profile", default="session_start", show_default=True, help="how to answer")
@filters
@click.pass_obj
def restore(state: Globals, /, host: str, profile: str, **fields: Any) -> None:
    """Print what a session should start with: pinned, open work, recent decisions and records.

    A host is never given more than it takes, whatever limits are asked for.
    """
    from ...packing.request import parse_request
    from ..forms.limits import within

    parse_request(profile=profile, **given(fields))  # a limit out of range is an error, not the host's limit
    with state.open() as packs:
        pack = packs.recall_context("", profile=profile, **within(host, given(fields)))
        _print_pack(state, pack, profile)


def _print_pack(state: Globals, pack: Pack, profile: str) -> None:
    if state.json:
        from ..forms.documents import pack_document

        say_json(pack_document(pack, profile))
    else:
        say(pack.text)
    if "empty_filter" in pack.retrieval_plan:
        state.note(f"{pack.retrieval_plan['empty_filter']}: matches nothing that is stored")
    if pack.retrieval_plan.get("excluded"):
        state.note(f"{pack.retrieval_plan['excluded']} left out because you have them")


# ---- rows


@cli.command()
@click.argument("query")
@rows_of
@filters
@click.pass_obj
def recall(state: Globals, /, query: str, limit: int, full: bool, **fields: Any) -> None:
    """Print the records that bear on QUERY, best first: of long ones the passages that match."""
    with state.open() as packs:
        _print_rows(state, packs, packs.recall(query, limit, **given(fields)), query, full)


@cli.command()
@click.argument("query")
@rows_of
@filters
@click.pass_obj
def search(state: Globals, /, query: str, limit: int, full: bool, **fields: Any) -> None:
    """Print only real matches of QUERY; * lists the newest records."""
    with state.open() as packs:
        _print_rows(state, packs, packs.search_memory(query, limit, **given(fields)), query, full)


def _print_rows(state: Globals, packs: ContextPacks, rows: Rows, query: str, full: bool) -> None:
    from ..forms.documents import recall_document

    document = recall_document(rows, query, packs.settings, full_content=full)
    if state.json:
        say_json(document)
        return
    for message in document["messages"]:
        ref = message["ref"]
        say(" ".join(part for part in (ref, message["timestamp"], message["type"], message["path"]) if part))
        say(shown(message.get("excerpt") or message["content"]))
        if message.get("content_truncated"):
            state.note(f"{ref}: part of {message['content_len']} characters; `get {ref}` prints all")
    if "empty_filter" in document:
        state.note(f"nothing found: {document['empty_filter']} matches no record")
    elif not document["messages"]:
        state.note("nothing found")
    if "excluded" in document:
        state.note(f"{document['excluded']} left out because you have them")
    if "more" in document:
        state.note(f"{document['more']} more: ask with a larger --limit")


@cli.command()
@click.argument("refs", nargs=-1, required=True, metavar="REF…")
@click.pass_obj
def get(state: Globals, /, refs: tuple[str, ...]) -> int:
    """Print whole records by id, in the order asked for; an id that names none does not keep back the others."""
    from ...rows import MAX_REFS
    from ..forms.documents import record_document

    records: list[Record] = []
    errors: list[ContextPacksError] = []
    with state.open() as packs:
        for start in range(0, len(refs), MAX_REFS):
            contents = packs.get_contents(refs[start : start + MAX_REFS])
            records += contents.records
            for ref in contents.missing:
                try:
                    records.append(packs.get(ref))  # raises the exact error: malformed, unknown or deleted
                except ContextPacksError as error:
                    errors.append(error)
    if state.json and (records or not errors):
        say_json([record_document(record) for record in records])
    elif len(refs) == 1:
        for record in records:
            say(record.content)
    else:
        for record in records:
            say(f"{record.id} {record.path}".rstrip())
            say(shown(record.content))
    return max([state.fail(error) for error in errors], default=0)


# ---- writes


@cli.command()
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
    if state.json:
        say_json({"id": written.id, "created": written.created, "version": written.version, "notes": written.notes})
        return
    for line in written.notes:
        state.note(f"note: {line}")
    say(written.id)
    if not written.created:
        state.note(f"note: {written.id} was there already")


@cli.command()
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


@cli.command("import")
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


@cli.command()
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


for command in (token, serve, thread, worker, trigger, doctor, backup, compact, reindex, salvage):
    cli.add_command(command)


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0, or the code of the error that was told in one line on stderr."""
    if argv is None:
        os.umask(0o077)  # what this process makes holds somebody's memory
        leave(run(cli, sys.argv[1:]))
    sys.exit(run(cli, list(argv)))


if __name__ == "__main__":
    main()
