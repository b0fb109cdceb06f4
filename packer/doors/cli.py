"""The command line: parse, call ContextPacks, encode. Results on stdout, progress and errors on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import click

from ..errors import ContextPacksError, row_for
from ..service import ContextPacks

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Globals:
    """The options that stand before every command."""

    store: str | None
    agent: str | None
    as_json: bool
    quiet: bool

    def open(self) -> ContextPacks:
        """The memory that this call works on."""
        return ContextPacks.open(self.store, self.agent)


def say(text: str) -> None:
    """One result on stdout, in UTF-8 whatever the terminal's locale."""
    out = sys.stdout.buffer
    out.write(text.encode("utf-8", "replace") + b"\n")
    out.flush()


def say_json(value: Any) -> None:
    """One JSON document on stdout."""
    say(json.dumps(value, ensure_ascii=False, default=str))


def note(text: str, state: Globals) -> None:
    """One line on stderr, unless --quiet."""
    if not state.quiet:
        click.echo(text, err=True)


def filters(function: Callable[P, R]) -> Callable[P, R]:
    """The filter options that all reads share."""
    for name, helped in reversed(
        (
            ("--scope", "only this scope"),
            ("--bucket", "only this bucket"),
            ("--team", "only this team"),
            ("--path", "this path and what is below it"),
            ("--type", "only this type"),
            ("--status", "only this status"),
            ("--source", "only records from this source"),
            ("--since", "from this time on (RFC 3339)"),
            ("--until", "before this time (RFC 3339)"),
            ("--as-of", "what was valid at this time (RFC 3339)"),
        )
    ):
        target = {"--team": "team_id", "--type": "memory_type"}.get(name, name.lstrip("-").replace("-", "_"))
        function = click.option(name, target, help=helped)(function)
    return function


def limits(function: Callable[P, R]) -> Callable[P, R]:
    """The budget options of a pack."""
    for name, helped in (
        ("--max-chars", "characters at most"),
        ("--max-tokens", "tokens at most, 1 to 12000"),
        ("--max-items", "records at most, 1 to 50"),
    ):
        function = click.option(name, type=int, help=helped)(function)
    return function


def given(fields: dict[str, Any]) -> dict[str, Any]:
    """Only what the caller gave."""
    return {name: value for name, value in fields.items() if value is not None}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="context-packs")
@click.option("--store", metavar="PATH", help="the store file; also CONTEXT_PACKS_STORE")
@click.option("--agent", metavar="ID", help="whose memory; also CONTEXT_PACKS_AGENT")
@click.option("--json", "as_json", is_flag=True, help="answer in JSON")
@click.option("--quiet", is_flag=True, help="no progress on stderr")
@click.pass_context
def cli(ctx: click.Context, store: str | None, agent: str | None, as_json: bool, quiet: bool) -> None:
    """Bounded, exact, honest context packs from a DuckDB memory."""
    ctx.obj = Globals(store, agent, as_json, quiet)


@cli.command()
@click.option("--query", default="Why did we choose DuckDB for the candidate stage?", show_default=True)
@click.option("--max-tokens", type=int, default=260, show_default=True)
@click.pass_obj
def demo(state: Globals, query: str, max_tokens: int) -> None:
    """Store example memories in a store of their own, ask a question and print the pack."""
    from ..demo import MEMORIES

    with ContextPacks.open(":memory:", "demo") as packs:
        packs.remember_many(MEMORIES)
        pack = packs.recall_context(query, max_tokens=max_tokens, profile="public")
        _print_pack(state, packs, pack, "public")


@cli.command()
@click.argument("query")
@limits
@click.option("--profile", default="public", show_default=True)
@filters
@click.pass_obj
def context(state: Globals, query: str, profile: str, **fields: Any) -> None:
    """Print the context pack for QUERY."""
    with state.open() as packs:
        _print_pack(state, packs, packs.recall_context(query, profile=profile, **given(fields)), profile)


@cli.command()
@click.option("--host", type=click.Choice(["claude-code", "codex", "plain"]), default="plain", show_default=True)
@limits
@click.option("--profile", default="session_start", show_default=True)
@filters
@click.pass_obj
def restore(state: Globals, host: str, profile: str, **fields: Any) -> None:
    """Print what a session should start with: pinned, open work, recent decisions and records."""
    from .limits import HOSTS

    with state.open() as packs:
        wanted = {**HOSTS[host], **given(fields)}
        _print_pack(state, packs, packs.recall_context("", profile=profile, **wanted), profile)


def _print_pack(state: Globals, packs: ContextPacks, pack: Any, profile: str) -> None:
    if state.as_json:
        from .wire import pack_document

        say_json(pack_document(pack, profile))
    else:
        say(pack.text)


@cli.command()
@click.argument("text")
@click.option("--path", help="where it belongs, such as project/decisions")
@click.option("--type", "type_", help="decision, task, fact …")
@click.option("--title")
@click.option("--bucket")
@click.option("--scope")
@click.option("--team", "team_id")
@click.option("--status")
@click.option("--key", "idempotency_key", help="idempotency key: the same key never writes twice")
@click.option("--expires", "expires_at", help="forget it by itself from this time on (RFC 3339)")
@click.option("--supersedes", metavar="REF", help="the record that this one replaces")
@click.option("--pin", "pinned", is_flag=True, default=None, help="always part of a restore")
@click.pass_obj
def remember(state: Globals, text: str, type_: str | None, **fields: Any) -> None:
    """Store TEXT (or standard input where TEXT is -) and print its id."""
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    with state.open() as packs:
        written = packs.remember(text, **given({"type": type_, **fields}))
    if state.as_json:
        say_json({"id": written.id, "created": written.created, "notes": written.notes})
    else:
        for line in written.notes:
            note(f"note: {line}", state)
        say(written.id if written.created else f"{written.id} existing")


@cli.command()
@click.argument("query")
@click.option("--limit", type=int, default=10, show_default=True)
@click.option("--full", is_flag=True, help="whole records instead of previews and excerpts")
@filters
@click.pass_obj
def recall(state: Globals, query: str, limit: int, full: bool, **fields: Any) -> None:
    """Print the records that bear on QUERY, best first, as previews with the passages that match."""
    with state.open() as packs:
        _print_rows(state, packs, packs.recall(query, limit, **given(fields)), query, full)


@cli.command()
@click.argument("query")
@click.option("--limit", type=int, default=10, show_default=True)
@click.option("--full", is_flag=True, help="whole records instead of previews and excerpts")
@filters
@click.pass_obj
def search(state: Globals, query: str, limit: int, full: bool, **fields: Any) -> None:
    """Print only real matches of QUERY; * lists the newest records."""
    with state.open() as packs:
        _print_rows(state, packs, packs.search_memory(query, limit, **given(fields)), query, full)


def _print_rows(state: Globals, packs: ContextPacks, rows: Any, query: str, full: bool) -> None:
    from .wire import recall_document

    document = recall_document(rows, query, packs.settings, full_content=full)
    if state.as_json:
        say_json(document)
        return
    for message in document["messages"]:
        say(f"{message['ref']} {message['timestamp']} {message['path']}")
        shown = message.get("excerpt", message["content"])
        say("\n".join(f" {line}" for line in shown.splitlines() if line.strip()))
        if message.get("content_truncated"):
            note(f"{message['ref']}: {message['content_len']} characters in all; `get {message['ref']}` prints them", state)


@cli.command()
@click.argument("refs", nargs=-1, required=True, metavar="REF…")
@click.pass_obj
def get(state: Globals, refs: tuple[str, ...]) -> None:
    """Print whole records by id."""
    from .wire import record_document

    with state.open() as packs:
        records = [packs.get(ref) for ref in refs]
    if state.as_json:
        say_json([record_document(record) for record in records])
    else:
        for record in records:
            say(record.content)


@cli.command()
@click.argument("ref")
@click.option("--mode", default="soft_delete", show_default=True, help="soft_delete, hard_delete or redact")
@click.pass_obj
def forget(state: Globals, ref: str, mode: str) -> None:
    """Forget a record; its id is never used again."""
    with state.open() as packs:
        packs.forget(ref, mode)
    say_json({"id": ref, "status": mode}) if state.as_json else say(f"{ref} {mode}")


@cli.command("import")
@click.argument("format")
@click.argument("sources", nargs=-1, required=True, type=click.Path(), metavar="FILE…")
@click.option("--scope")
@click.option("--bucket")
@click.option("--path-prefix", default="")
@click.option("--mask-secrets/--keep-secrets", default=None, help="replace what looks like a secret")
@click.pass_obj
def import_(
    state: Globals,
    format: str,
    sources: tuple[str, ...],
    scope: str | None,
    bucket: str | None,
    path_prefix: str,
    mask_secrets: bool | None,
) -> None:
    """Import FILE… (or folders): jsonl, markdown, chat or claude-code. Running it again adds nothing."""
    from context_packs.store.importers import ImportOptions, ImportReport

    options = ImportOptions(mask_secrets=mask_secrets, path_prefix=path_prefix, scope=scope, bucket=bucket)
    report = ImportReport()
    created = existing = updated = 0
    with state.open() as packs, progress("importing", state) as advance:
        for source in sources:
            for batch in packs.import_file(format, Path(source), options=options, report=report):
                created += sum(one.created for one in batch)
                updated += sum(not one.created and one.version > 1 for one in batch)
                existing += sum(not one.created and one.version == 1 for one in batch)
                advance(len(batch))
    facts = {
        "read": report.read,
        "created": created,
        "existing": existing,
        "updated": updated,
        "skipped": report.skipped,
        "notes": report.notes,
    }
    if state.as_json:
        say_json(facts)
    else:
        say(f"{created} created, {updated} updated, {existing} already there")
        for kind in ("skipped", "notes"):
            for reason, count in sorted(facts[kind].items()):  # type: ignore[attr-defined]
                note(f"{kind}: {count} × {reason}", state)


@cli.command()
@click.argument("file", type=click.Path())
@click.option("--everybody", is_flag=True, help="the records of all agents")
@click.pass_obj
def export(state: Globals, file: str, everybody: bool) -> None:
    """Write all records with ids, versions, links and tombstones as JSON Lines to FILE (- for stdout)."""
    with state.open() as packs:
        if file == "-":
            for line in packs.export_lines(everybody=everybody):
                say_json(line)
            return
        count = packs.export(file, everybody=everybody)
    say_json({"lines": count}) if state.as_json else note(f"{count} lines", state)


@cli.command()
@click.pass_obj
def stats(state: Globals) -> None:
    """Print counts of what is stored."""
    with state.open() as packs:
        facts = packs.stats()
    if state.as_json:
        say_json(facts)
    else:
        for name, value in facts.items():
            say(f"{name}: {', '.join(f'{k} {v}' for k, v in value.items()) if isinstance(value, dict) else value}")


@cli.command()
@click.pass_obj
def doctor(state: Globals) -> None:
    """Check the installation and the store, reading and writing; exit 6 where the store can not be used."""
    from .checks import examine

    findings, worst = examine(state.open)
    if state.as_json:
        say_json(findings)
    else:
        for finding in findings:
            say(f"{'ok ' if finding['ok'] else 'BAD'} {finding['check']}: {finding['detail']}")
    if worst:
        sys.exit(worst)


@contextmanager
def progress(what: str, state: Globals) -> Iterator[Callable[[int], None]]:
    """A counter on stderr for long work; nothing where --quiet or stderr is no terminal until the end."""
    if state.quiet:
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    with Progress(
        SpinnerColumn(), TextColumn("{task.description} {task.completed} records"), TimeElapsedColumn(), console=console
    ) as bar:
        task = bar.add_task(what, total=None)
        yield lambda count: bar.advance(task, count)


def main() -> None:
    """Run a command; an error is one line on stderr and its exit code."""
    try:
        cli(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show(sys.stderr)
        sys.exit(2)
    except ContextPacksError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(row_for(error).exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
