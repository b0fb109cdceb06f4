"""Tokens: what lets in, what does not, and that no secret is kept."""

import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.store.access.tokens import SCOPES, Grant, Tokens
from context_packs.store.duckstore import DuckStore
from context_packs.store.errors import Conflict, InvalidField, NotFound, StoreUnavailable
from context_packs.store.file.duck import Duck
from context_packs.store.values import Viewer

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
REVOKE = """
import sys
from context_packs.store.duckstore import DuckStore
print(DuckStore(sys.argv[1]).tokens.revoke(sys.argv[2]).revoked_at is not None)
"""


class Ticks:
    """A stopwatch, moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def counting(start: int) -> Any:
    """Bytes that count upwards, instead of random ones."""
    return lambda size: bytes((start + n) % 256 for n in range(size))


def test_a_token_lets_in_as_what_it_was_made_for(kit: Any) -> None:
    """Agent, teams, scopes, profile, label and end come back; teams are sorted and scopes in their own order."""
    store = kit.store()
    end = kit.clock.now + timedelta(days=2)
    issued = store.tokens.create(
        " planner ",
        ["memory:write", "memory:read", "memory:read"],
        teams=["red", "blue", "red"],
        profile="internal",
        expires_at=end.isoformat(),
        label="nightly import 夜間",
        random=counting(1),
    )
    assert issued.secret == "cpk_010203040506_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA"
    assert issued.secret not in repr(issued)
    assert store.tokens.authenticate(issued.secret) == Grant(
        token_id="tok_010203040506",
        viewer=Viewer("planner", ("blue", "red"), False),
        scopes=frozenset(("memory:read", "memory:write")),
        profile="internal",
        label="nightly import 夜間",
        expires_at=end,
    )
    assert store.tokens.list() == [issued.token]
    assert issued.token.scopes == ("memory:read", "memory:write")


def test_secrets_are_random(kit: Any) -> None:
    """Two tokens share neither id nor secret, and a secret has 256 bits."""
    store = kit.store()
    first, second = (store.tokens.create("a", ["memory:read"]) for _ in range(2))
    assert first.token.id != second.token.id
    assert first.secret[17:] != second.secret[17:]
    assert len(first.secret) == 60


def test_the_secret_is_nowhere_in_the_files(kit: Any, tmp_path: Path) -> None:
    """Not in the store, not in its log, not in an export: only the hash of it is in the store."""
    store = kit.store(mode="shared")
    secret = store.tokens.create("planner", list(SCOPES)).secret
    kit.write(store, "Something to export.")
    packs = kit.packs()
    packs.export(tmp_path / "all.jsonl", everybody=True)
    packs.close()
    kept = b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))
    assert b"Something to export." in kept
    assert sha256(secret.encode()).digest() in kept
    assert secret[17:].encode() not in kept and secret[17:30].encode() not in kept
    assert b"cpk_" not in kept


def test_nothing_else_lets_in(kit: Any) -> None:
    """Only the very secret: no other text of its form, no part of it, nothing around it, no hash of it."""
    tokens = kit.store().tokens
    secret = tokens.create("planner", ["memory:read"], random=counting(9)).secret
    other = tokens.create("other", ["memory:read"], random=counting(99)).secret
    wrong = [
        None, 7, b"", "", "cpk_", secret[:-1], secret + "A", f" {secret}", f"{secret}\n", secret.upper(),
        secret.encode(), secret[:17] + other[17:], other[:17] + secret[17:], "tok_" + secret[4:16],
        secret[:-1] + ("A" if secret[-1] != "A" else "B"), "cpk_000000000000" + secret[16:],
        sha256(secret.encode()).hexdigest(), "\ud800" + secret, "cpk_" + "０" * 12 + secret[16:], "a" * 500_000,
    ]  # fmt: skip
    assert [one for one in wrong if tokens.authenticate(one) is not None] == []
    assert tokens.authenticate(secret).token_id == "tok_090a0b0c0d0e"


@cache
def closed() -> Tokens:
    """Tokens of a store that cannot be read."""
    duck = Duck(":memory:")
    duck.close()
    return Tokens(duck, lambda: NOON)


@given(st.text() | st.text().map(lambda text: f"cpk_{text}"))
def test_no_text_is_an_error(text: str) -> None:
    """Whatever comes as a secret is answered, and the store is not read for what has not the form of one."""
    assert closed().authenticate(text) is None
    with pytest.raises(StoreUnavailable):
        closed().authenticate("cpk_000000000000_" + "A" * 43)


def test_a_token_ends_at_its_moment(kit: Any) -> None:
    """It holds up to the last microsecond before `expires_at`, and not at it, also while it is remembered."""
    tokens = kit.store().tokens
    end = kit.clock.now + timedelta(hours=1)
    secret = tokens.create("planner", ["memory:read"], expires_at=end).secret
    kit.clock.now = end - timedelta(microseconds=1)
    assert tokens.authenticate(secret) is not None and tokens.has_live()
    kit.clock.now = end
    assert tokens.authenticate(secret) is None and not tokens.has_live()
    assert tokens.authenticate(secret, end - timedelta(microseconds=1)) is not None


def test_a_revoked_token_is_out_at_once_for_all_objects_of_the_process(kit: Any) -> None:
    """Another object on the same file, which has just let it in, lets it in no more; others stay."""
    first, second = kit.store(mode="shared"), kit.store(mode="shared")
    gone, stays = (first.tokens.create("planner", ["memory:read"]) for _ in range(2))
    assert second.tokens.authenticate(gone.secret) and second.tokens.has_live()
    at = kit.clock.on(minutes=1)
    assert first.tokens.revoke(gone.token.id).revoked_at == at
    assert second.tokens.authenticate(gone.secret) is None
    assert first.tokens.authenticate(gone.secret) is None
    assert second.tokens.authenticate(stays.secret) is not None
    second.tokens.revoke(stays.token.id)
    assert not first.tokens.has_live()
    kit.clock.on(minutes=1)
    assert first.tokens.revoke(gone.token.id).revoked_at == at  # it stays revoked since then


def test_a_new_token_lets_in_at_once(kit: Any) -> None:
    """Also through an object that has just refused it."""
    first, second = kit.store(mode="shared"), kit.store(mode="shared")
    assert not second.tokens.has_live()
    secret = first.tokens.create("planner", ["memory:read"]).secret
    assert second.tokens.has_live() and second.tokens.authenticate(secret)


def test_a_token_revoked_by_another_process_is_out_within_half_a_second(kit: Any) -> None:
    """What was read counts for half a second at most; meanwhile the store is not read."""
    ticks = Ticks()
    duck = Duck(kit.path)
    tokens = Tokens(duck, kit.clock, ticks=ticks)
    issued = tokens.create("planner", ["memory:read"])
    assert not tokens.fresh
    assert tokens.authenticate(issued.secret)
    assert tokens.fresh
    ran = subprocess.run(
        [sys.executable, "-c", REVOKE, str(kit.path), issued.token.id], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "True\n"
    ticks.now = 0.499
    assert tokens.fresh and tokens.authenticate(issued.secret)
    ticks.now = 0.5
    assert not tokens.fresh
    assert tokens.authenticate(issued.secret) is None
    ticks.now = 1.0
    assert tokens.authenticate(issued.secret) is None


def test_where_the_store_can_not_be_read_nobody_is_let_in(kit: Any) -> None:
    """What was remembered does not outlive its half second: it raises instead."""
    ticks = Ticks()
    duck = Duck(kit.path)
    tokens = Tokens(duck, kit.clock, ticks=ticks)
    secret = tokens.create("planner", ["memory:read"]).secret
    assert tokens.authenticate(secret)
    duck.close()
    assert tokens.authenticate(secret)
    ticks.now = 0.5
    with pytest.raises(StoreUnavailable):
        tokens.authenticate(secret)


def test_threads_see_each_revocation(kit: Any) -> None:
    """While eight threads let in all the time, none lets in after `revoke` has returned."""
    tokens = kit.store().tokens
    issued = [tokens.create("planner", ["memory:read"]) for _ in range(5)]
    revoked: set[str] = set()
    done = threading.Event()
    wrong: list[str] = []
    let_in = threading.Semaphore(0)

    def work() -> None:
        while not done.is_set():
            for one in issued:
                before = one.token.id in revoked
                if tokens.authenticate(one.secret) is not None:
                    let_in.release()
                    if before:
                        wrong.append(one.token.id)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for one in issued:
        assert let_in.acquire(timeout=60)
        tokens.revoke(one.token.id)
        revoked.add(one.token.id)
    assert all(tokens.authenticate(one.secret) is None for one in issued)
    done.set()
    for thread in threads:
        thread.join(60)
    assert wrong == []


@pytest.mark.parametrize(
    ("fields", "field", "says"),
    [
        ({"agent_id": ""}, "agent_id", "missing"),
        ({"agent_id": "  "}, "agent_id", "missing"),
        ({"agent_id": None}, "agent_id", "missing"),
        ({"agent_id": "a|b"}, "agent_id", "one line"),
        ({"agent_id": "a\nb"}, "agent_id", "one line"),
        ({"agent_id": "a\ud800"}, "agent_id", "one line"),
        ({"agent_id": "a" * 513}, "agent_id", "one line"),
        ({"scopes": []}, "scopes", "memory:read"),
        ({"scopes": "memory:read"}, "scopes", "memory:read"),
        ({"scopes": ["memory:read", "memory:all"]}, "scopes", "'memory:all'"),
        ({"scopes": [["memory:read"]]}, "scopes", "is not one of"),
        ({"scopes": ["Memory:Read"]}, "scopes", "'Memory:Read'"),
        ({"teams": "red"}, "teams", "list"),
        ({"teams": ["red", ""]}, "teams", "missing"),
        ({"teams": ["a|b"]}, "teams", "one line"),
        ({"teams": ["red", "%"]}, "teams", "means all"),
        ({"teams": [f"team{n}" for n in range(101)]}, "teams", "100"),
        ({"expires_at": "soon"}, "expires_at", "not a time"),
        ({"expires_at": "2026-03-01T12:00:00Z"}, "expires_at", "future"),
        ({"expires_at": True}, "expires_at", "not a time"),
        ({"label": "a\0b"}, "label", "one line"),
    ],
)
def test_what_is_wrong_is_named(kit: Any, fields: dict[str, Any], field: str, says: str) -> None:
    """Each fault names its field and nothing is stored."""
    tokens = kit.store().tokens
    with pytest.raises(InvalidField) as error:
        tokens.create(**{"agent_id": "planner", "scopes": ["memory:read"], **fields})
    assert error.value.field == field
    assert str(error.value).startswith(f"{field}: ") and says in str(error.value)
    assert tokens.list() == []


def test_an_unknown_profile_is_refused(kit: Any) -> None:
    """The library knows the profiles; the store takes the name as it is."""
    packs = kit.packs()
    with pytest.raises(InvalidField) as error:
        packs.tokens.create("planner", ["memory:read"], profile="nope")
    assert error.value.field == "profile" and packs.tokens.list() == []
    secret = packs.tokens.create("planner", ["memory:read"], profile="kernel").secret
    grant = packs.tokens.authenticate(secret)
    assert grant is not None and grant.profile == "kernel" and packs.tokens.fresh and packs.tokens.has_live()
    packs.tokens.revoke(grant.token_id)
    assert packs.tokens.authenticate(secret) is None and not packs.tokens.has_live()


@pytest.mark.parametrize("one", ["", "tok_", "cpk_000000000000", "tok_00000000000", "tok_00000000000G", 7, None])
def test_what_is_no_id_of_a_token_is_refused(kit: Any, one: Any) -> None:
    """A malformed id is told apart from an unknown one; the message does not repeat it: it may be a secret."""
    tokens = kit.store().tokens
    with pytest.raises(InvalidField) as error:
        tokens.revoke(one)
    assert error.value.field == "id"
    assert str(error.value) == "id: give the id of a token, as `tok_` and 12 hexadecimal digits"
    with pytest.raises(NotFound) as unknown:
        tokens.revoke("tok_000000000000")
    assert str(unknown.value) == "id: there is no token tok_000000000000"


@pytest.mark.parametrize("scope", SCOPES)
def test_no_scope_implies_another(kit: Any, scope: str) -> None:
    """A token has what it was given; temporary memories are seen with their own scope only."""
    tokens = kit.store().tokens
    grant = tokens.authenticate(tokens.create("planner", [scope]).secret)
    assert grant is not None
    assert grant.scopes == {scope}
    assert grant.viewer.temporary is (scope == "memory:temporary:read")


def test_an_id_is_given_once(kit: Any) -> None:
    """Where chance brings the same id twice the second token is refused, and the first still lets in."""
    tokens = kit.store().tokens
    secret = tokens.create("planner", ["memory:read"], random=counting(1)).secret
    with pytest.raises(Conflict):
        tokens.create("planner", ["memory:read"], random=counting(1))
    assert tokens.authenticate(secret) and len(tokens.list()) == 1


def test_stores_in_memory_know_nothing_of_each_other() -> None:
    """Each has tokens of its own."""
    first, second = DuckStore(":memory:"), DuckStore(":memory:")
    secret = first.tokens.create("planner", ["memory:read"]).secret
    assert first.tokens.authenticate(secret) and second.tokens.authenticate(secret) is None
    assert not second.tokens.has_live()
    first.close()
    second.close()


def test_making_and_revoking_stand_in_the_audit_trail(kit: Any) -> None:
    """At once, without a door that keeps the trail."""
    store = kit.store()
    issued = store.tokens.create("planner", ["memory:read"], random=counting(1))
    kit.clock.on(minutes=1)
    store.tokens.revoke(issued.token.id)
    store.tokens.revoke(issued.token.id)
    assert [(entry.action, entry.agent_id, entry.object_id) for entry in store.audit.read().entries] == [
        ("token.revoke", "planner", "tok_010203040506"),
        ("token.create", "planner", "tok_010203040506"),
    ]
