"""The commands for credentials: the secret alone on stdout, once, and everything else beside it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from context_packs.packer.service import ContextPacks

Run = Callable[..., Any]
CREATE = ("token", "create", "--agent", "planner", "--scopes", "memory:read,memory:write")


def test_create_prints_the_secret_alone(run: Run, store: Path) -> None:
    """One line on stdout that lets in; what it allows on stderr, without the secret."""
    ran = run(*CREATE, "--team", "red", "--team", "blue", "--profile", "kernel", "--label", "夜間 import")
    assert ran.code == 0
    secret = ran.out.removesuffix("\n")
    with ContextPacks.open(store) as packs:
        grant = packs.tokens.authenticate(secret)
    assert grant is not None
    assert (grant.viewer.agent_id, grant.viewer.teams, grant.viewer.temporary) == ("planner", ("blue", "red"), False)
    assert grant.scopes == {"memory:read", "memory:write"}
    assert ran.err == (
        f"{grant.token_id} live | agent planner | scopes memory:read,memory:write | teams blue,red | profile kernel"
        " | expires never | 夜間 import\n"
        "note: the secret is not kept and not shown again\n"
    )
    assert run(*CREATE, "--quiet").err == ""


def test_create_in_json_is_one_document(run: Run, store: Path) -> None:
    """The secret as `token`, and the facts; nothing on stderr."""
    ran = run(*CREATE, "--expires", "2999-01-01T09:00:00+09:00", "--json")
    document = ran.json
    with ContextPacks.open(store) as packs:
        grant = packs.tokens.authenticate(document.pop("token"))
    assert grant is not None and grant.token_id == document.pop("id")
    assert document.pop("created_at").endswith("Z")
    assert (ran.err, document) == (
        "",
        {
            "agent_id": "planner",
            "teams": [],
            "scopes": ["memory:read", "memory:write"],
            "profile": None,
            "label": "",
            "state": "live",
            "expires_at": "2999-01-01T00:00:00Z",
            "revoked_at": None,
        },
    )


def test_days_count_from_now(run: Run) -> None:
    """`--days 30` ends 30 days after the command ran."""
    before = datetime.now(UTC)
    end = datetime.fromisoformat(run(*CREATE, "--days", "30", "--json").json["expires_at"])
    assert before + timedelta(days=30) <= end <= datetime.now(UTC) + timedelta(days=30)


def test_list_shows_every_token_and_no_secret(run: Run) -> None:
    """Oldest first, revoked ones too; the same facts in JSON."""
    first, second = run(*CREATE, "--json").json, run(*CREATE, "--json").json
    run("token", "revoke", second["id"])
    ran = run("token", "list")
    assert ran.out.splitlines() == [
        f"{first['id']} live | agent planner | scopes memory:read,memory:write | expires never",
        f"{second['id']} revoked | agent planner | scopes memory:read,memory:write | expires never",
    ]
    document = run("token", "list", "--json")
    assert [one["state"] for one in document.json["tokens"]] == ["live", "revoked"]
    assert {frozenset(one) for one in document.json["tokens"]} == {frozenset(first) - {"token"}}
    for made in (first, second):
        assert made["token"][17:] not in ran.out + document.out


def test_revoke_lets_in_no_more(run: Run, store: Path) -> None:
    """It prints the id; doing it again changes nothing."""
    made = run(*CREATE, "--json").json
    ran = run("token", "revoke", made["id"])
    assert (ran.code, ran.out) == (0, f"{made['id']}\n")
    assert ran.err.startswith(f"{made['id']} revoked | agent planner")
    with ContextPacks.open(store) as packs:
        assert packs.tokens.authenticate(made["token"]) is None and not packs.tokens.has_live()
    first, again = (run("token", "revoke", made["id"], "--json").json["revoked_at"] for _ in range(2))
    assert first == again is not None


@pytest.mark.parametrize(
    ("argv", "code", "field"),
    [
        (("create", "--scopes", "memory:read"), 2, "agent_id"),
        (("create", "--agent", "a"), 2, "scopes"),
        (("create", "--agent", "a", "--scopes", ""), 2, "scopes"),
        (("create", "--agent", "a", "--scopes", "memory:read,memory:all"), 2, "scopes"),
        (("create", "--agent", "a|b", "--scopes", "memory:read"), 2, "agent_id"),
        (("create", "--agent", "a", "--scopes", "memory:read", "--team", ""), 2, "teams"),
        (("create", "--agent", "a", "--scopes", "memory:read", "--profile", "nope"), 2, "profile"),
        (("create", "--agent", "a", "--scopes", "memory:read", "--expires", "soon"), 2, "expires_at"),
        (("create", "--agent", "a", "--scopes", "memory:read", "--expires", "2020-01-01"), 2, "expires_at"),
        (("create", "--agent", "a", "--scopes", "memory:read", "--days", "0"), 2, "days"),
        (("create", "--agent", "a", "--scopes", "memory:read", "--days", "36501"), 2, "days"),
        (("create", "--agent", "a", "--scopes", "memory:read", "--days", "x"), 2, "days"),
        (("create", "--agent", "a", "--scopes", "memory:read", "--days", "1", "--expires", "2999-01-01"), 2, "days"),
        (("revoke", "planner"), 2, "id"),
        (("revoke", "tok_000000000000"), 4, "id"),
        (("revoke",), 2, "id"),
        (("erase",), 2, "command"),
    ],
)
def test_what_is_wrong_is_named(run: Run, argv: tuple[str, ...], code: int, field: str) -> None:
    """One error with its field and exit code, nothing on stdout."""
    run("remember", "there is a store")
    ran = run("token", *argv, "--json")
    assert (ran.code, ran.out, ran.error["field"], ran.error["exit_code"]) == (code, "", field, code)


@pytest.mark.parametrize("name", ["create", "list", "revoke"])
def test_every_command_of_the_group_has_a_help_text(run: Run, name: str) -> None:
    """With the global options; the group says what export leaves out."""
    ran = run("token", name, "--help")
    assert ran.code == 0 and ran.out.startswith(f"Usage: context-packs token {name} ")
    assert all(option in ran.out for option in ("--store", "--agent", "--json", "--quiet"))
    assert "export and import carry none" in " ".join(run("token", "--help").out.split())
    assert "Credentials" in run("export", "--help").out
