"""Commands of whoever runs a server: its credentials."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from context_packs.store.validation import miscounted

from ...errors import InvalidField
from .console import WHOLE, Command, Globals, Group, say, say_json

if TYPE_CHECKING:
    from context_packs.store.access.tokens import Token
    from context_packs.store.file.duck import Mode

MOST_DAYS = 36_500
MODE: Mode = "leased"  # how a server holds its file: busy it keeps it, and lets others in who ask


@click.command(cls=Command)
@click.option("--host", default="127.0.0.1", show_default=True, help="address to listen on")
@click.option("--port", type=WHOLE, default=8765, show_default=True, help="0 takes a free one")
@click.option("--allow-host", "hosts", multiple=True, help="another name that it answers to, as in the header Host")
@click.option("--profile", help="how to answer where a credential names none; REST internal, MCP public unless given")
@click.option(
    "--mode", type=click.Choice(["leased", "shared", "exclusive"]), default=MODE, help="how to hold the store"
)
@click.option(
    "--github-secret", envvar="CONTEXT_PACKS_GITHUB_SECRET", help="webhooks are signed with it; also by environment"
)
@click.pass_obj
def serve(state: Globals, /, mode: Mode, **options: Any) -> None:
    """Serve REST, and MCP at /mcp, over HTTP until it is told to stop; prints the address and logs to stderr.

    Until the first credential is made (`token create`) callers of this machine are served as --agent without one.
    Any address but a loopback one needs a credential first.
    """
    from ..mcp.hello import require_sdk
    from ..rest.serve import require_server, serve_http

    require_server()
    require_sdk()
    serve_http(
        lambda: state.open(mode),
        started=lambda url: say_json({"url": url}) if state.json else say(url),
        log_requests=not state.quiet,
        **options,
    )


@click.group(cls=Group)
def token() -> None:
    """Credentials for a server on this store. They belong to the store file: export and import carry none."""


@token.command("create")
@click.option(
    "--scopes", required=True, help="by comma: memory:read, memory:write, memory:admin, memory:temporary:read"
)
@click.option("--team", "teams", multiple=True, help="a team whose records it sees too; may be repeated")
@click.option("--profile", help="how it is answered; that of the server where none is named")
@click.option("--expires", help="first moment at which it no longer holds (RFC 3339)")
@click.option("--days", type=WHOLE, help=f"days for which it holds, 1 to {MOST_DAYS}, instead of --expires")
@click.option("--label", default="", help="what it is for, for you to recognise it")
@click.pass_obj
def create(state: Globals, /, scopes: str, expires: str | None, days: int | None, **fields: Any) -> None:
    """Make a credential of the agent named by --agent and print its secret, once: the store keeps a hash only.

    No scope implies another; memories of the bucket "temporary" are seen with memory:temporary:read only.
    """
    if state.agent is None:
        raise InvalidField("agent_id: is missing: name the agent that it speaks for with --agent", field="agent_id")
    if expires is not None and days is not None:
        raise InvalidField("days: give either --days or --expires", field="days")
    if days is not None and (wrong := miscounted(days, 1, MOST_DAYS)):
        raise InvalidField(f"days: {wrong}", field="days")
    end = datetime.now(UTC) + timedelta(days=days) if days is not None else expires
    wanted = [scope.strip() for scope in scopes.split(",")]
    with state.open() as packs:
        issued = packs.tokens.create(state.agent, wanted, expires_at=end, **fields)
    if state.json:
        say_json({"token": issued.secret, **token_document(issued.token)})
        return
    say(issued.secret)
    state.note(_line(issued.token))
    state.note("note: the secret is not kept and not shown again")


@token.command("list")
@click.pass_obj
def list_(state: Globals, /) -> None:
    """Print all credentials of the store, revoked and expired ones too, without their secrets."""
    with state.open() as packs:
        packs.store.count()  # where there is no store that is told, and not that it has no credentials
        tokens = packs.tokens.list()
    if state.json:
        say_json({"tokens": [token_document(one) for one in tokens]})
        return
    for one in tokens:
        say(_line(one))


@token.command()
@click.argument("id")
@click.pass_obj
def revoke(state: Globals, /, id: str) -> None:
    """Let the credential ID in no more; a running server knows within a second."""
    with state.open() as packs:
        packs.store.count()  # where there is no store there is nothing to revoke, and none is made
        revoked = packs.tokens.revoke(id)
    if state.json:
        say_json(token_document(revoked))
        return
    say(revoked.id)
    state.note(_line(revoked))


def token_document(one: Token) -> dict[str, Any]:
    """A credential without its secret. Times are RFC 3339 in UTC; `state` is live, expired or revoked, now."""
    from ..forms.documents import moment

    return {
        "id": one.id,
        "agent_id": one.agent_id,
        "teams": list(one.teams),
        "scopes": list(one.scopes),
        "profile": one.profile,
        "label": one.label,
        "state": _state(one),
        "created_at": moment(one.created_at),
        "expires_at": one.expires_at and moment(one.expires_at),
        "revoked_at": one.revoked_at and moment(one.revoked_at),
    }


def _state(one: Token) -> str:
    if one.live(datetime.now(UTC)):
        return "live"
    return "expired" if one.revoked_at is None else "revoked"


def _line(one: Token) -> str:
    document = token_document(one)
    parts = [f"{one.id} {document['state']}", f"agent {one.agent_id}", f"scopes {','.join(one.scopes)}"]
    if one.teams:
        parts.append(f"teams {','.join(one.teams)}")
    if one.profile is not None:
        parts.append(f"profile {one.profile}")
    parts.append(f"expires {document['expires_at'] or 'never'}")
    return " | ".join([*parts, one.label] if one.label else parts)
