"""Commands that read: packs, rows, whole records."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

from ...errors import ContextPacksError
from .console import WHOLE, Command, Globals, given, say, say_json, shown

if TYPE_CHECKING:
    from context_packs.store.records import Record

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


# ---- packs


@click.command(cls=Command)
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


@click.command(cls=Command)
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


@click.command(cls=Command)
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


@click.command(cls=Command)
@click.argument("query")
@rows_of
@filters
@click.pass_obj
def recall(state: Globals, /, query: str, limit: int, full: bool, **fields: Any) -> None:
    """Print the records that bear on QUERY, best first: of long ones the passages that match."""
    with state.open() as packs:
        _print_rows(state, packs, packs.recall(query, limit, **given(fields)), query, full)


@click.command(cls=Command)
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


@click.command(cls=Command)
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
