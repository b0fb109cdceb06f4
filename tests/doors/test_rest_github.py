"""The webhook receiver over a real store: signatures, threads that follow what happens, deliveries that come twice."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest
from starlette.testclient import TestClient

from context_packs.packer import ContextPacks
from context_packs.packer.doors.github.delivery import signature
from context_packs.packer.doors.rest.app import create_app
from context_packs.packer.errors import Gone, NotFound
from context_packs.store.values import Viewer

SECRET = "It's a Secret to Everybody"
REPOSITORY = {"id": 7, "full_name": "acme/shop", "html_url": "https://github.com/acme/shop"}
PULL = {"number": 412, "title": "Retry with backoff", "state": "open", "base": {"repo": {"id": 7}}}
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def packs(tmp_path: Path) -> Iterator[ContextPacks]:
    """The memory of the server's agent."""
    with ContextPacks.open(tmp_path / "memory.duckdb", "planner", mode="exclusive", embedder="none") as packs:
        yield packs


@pytest.fixture
def signed(packs: ContextPacks) -> Iterator[TestClient]:
    """A server that has a secret, and a credential in its store."""
    packs.tokens.create("somebody", ["memory:read"])
    with TestClient(create_app(packs, github_secret=SECRET), base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture
def plain(packs: ContextPacks) -> Iterator[TestClient]:
    """A server without a secret."""
    with TestClient(create_app(packs), base_url="http://127.0.0.1") as client:
        yield client


def deliver(client: TestClient, event: str, delivery: str = "d-1", *, secret: str = SECRET, **body: Any) -> Any:
    """Send a delivery as GitHub does."""
    raw = json.dumps({"repository": REPOSITORY, "sender": {"login": "mika"}, **body}).encode()
    return post(client, raw, event=event, delivery=delivery, signed=signature(raw, secret))


def post(
    client: TestClient,
    raw: bytes,
    *,
    event: str | None = "push",
    delivery: str | None = "d-1",
    signed: str | None = None,
    kind: str = "application/json",
) -> Any:
    """Send any body with any headers."""
    named = {"X-GitHub-Event": event, "X-GitHub-Delivery": delivery, "X-Hub-Signature-256": signed}
    headers = {name: value for name, value in named.items() if value is not None}
    return client.post("/hooks/github", content=raw, headers={"Content-Type": kind, **headers})


def test_a_delivery_becomes_a_trigger_on_the_thread_of_its_pull_request(
    signed: TestClient, packs: ContextPacks
) -> None:
    """201 with the inline form; the body is kept to the byte."""
    raw = b'{ "action":"opened", "repository": {"id": 7, "full_name": "acme/shop"}, "pull_request": {"number": 412} }'
    told = post(signed, raw, event="pull_request", signed=signature(raw, SECRET))
    assert told.status_code == 201
    trigger = told.json()
    assert trigger["thread_id"] == "thr_pr_412"
    assert trigger["source"] == "github:pull_request"
    assert trigger["external_id"] == "d-1"
    assert trigger["summary"] == "GitHub opened PR #412"
    assert told.headers["location"] == f"/triggers/{trigger['trigger_id']}"
    kept = packs.threads.payload(trigger["trigger_id"])
    assert (kept.media_type, kept.body) == ("application/json", raw)
    thread = packs.threads.get("thr_pr_412")
    assert (thread.natural_key, thread.path) == ("github:acme/shop/pull/412", "github/acme/shop/pull/412")


def test_a_delivery_that_comes_again_changes_nothing(signed: TestClient, packs: ContextPacks) -> None:
    """The same X-GitHub-Delivery answers 200 with the trigger that is there, and moves no thread back."""
    first = deliver(signed, "pull_request", "d-1", action="reopened", pull_request=PULL)
    deliver(signed, "pull_request", "d-2", action="closed", pull_request=PULL | {"state": "closed", "merged": True})
    again = deliver(signed, "pull_request", "d-1", action="reopened", pull_request=PULL)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["trigger_id"] == first.json()["trigger_id"]
    thread = packs.threads.get("thr_pr_412")
    assert (thread.event_count, thread.status) == (2, "merged")


def test_a_thread_follows_title_and_status(signed: TestClient, packs: ContextPacks) -> None:
    """A check makes the thread, the pull request names it, a late comment does not open it again."""
    check = {"name": "test", "conclusion": "failure", "pull_requests": [{"number": 412}]}
    deliver(signed, "check_run", "d-1", action="completed", check_run=check)
    assert packs.threads.get("thr_pr_412").summary == "PR #412 in acme/shop"
    deliver(signed, "pull_request", "d-2", action="closed", pull_request=PULL | {"state": "closed", "merged": True})
    late = {"number": 412, "title": "Retry with backoff", "state": "open", "pull_request": {}}
    deliver(signed, "issue_comment", "d-3", action="created", issue=late, comment={"body": "了解"})
    thread = packs.threads.get("thr_pr_412")
    assert (thread.summary, thread.status) == ("PR #412 in acme/shop: Retry with backoff", "merged")
    assert [one.summary for one in packs.threads.events("thr_pr_412").events] == [
        'check "test" failed on PR #412',
        "mika merged PR #412: Retry with backoff",
        "mika commented on PR #412: 了解",
    ]


def test_the_same_number_of_two_repositories_is_two_threads(signed: TestClient) -> None:
    """The first has the short id, the second one with its repository's name; both stay what they are."""
    desk = REPOSITORY | {"full_name": "acme/desk"}
    ids = [
        deliver(signed, "pull_request", f"d-{n}", action="edited", pull_request=PULL, repository=where).json()[
            "thread_id"
        ]
        for n, where in enumerate((REPOSITORY, desk, REPOSITORY, desk))
    ]
    assert ids == ["thr_pr_412", "thr_pr_412_acme-desk"] * 2


def test_what_a_delivery_says_is_found(signed: TestClient, packs: ContextPacks) -> None:
    """The trigger and its thread come back from a search by what happened."""
    deliver(signed, "check_run", action="completed", check_run={"name": "smoke-tokyo", "conclusion": "failure"})
    found = [row.ref for row in packs.search_memory("smoke-tokyo failed")]
    assert len(found) == 1
    assert packs.threads.get_trigger(found[0]).summary == 'check "smoke-tokyo" failed on a commit'


def test_the_form_variant_is_the_same_delivery(signed: TestClient, packs: ContextPacks) -> None:
    """The signature is over the form as received, which is what is kept; it is found by what the JSON in it says."""
    issue = {"number": 7, "title": "Backoff", "body": "The harbour office waits for 90 days."}
    raw = b"payload=" + quote_plus(json.dumps({"action": "opened", "repository": REPOSITORY, "issue": issue})).encode()
    told = post(signed, raw, event="issues", signed=signature(raw, SECRET), kind=FORM)
    assert told.status_code == 201
    assert told.json()["summary"] == "GitHub opened issue #7: Backoff"
    kept = packs.threads.payload(told.json()["trigger_id"])
    assert (kept.media_type, kept.body) == (FORM, raw)
    assert [row.ref for row in packs.search_memory("harbour office")] == [told.json()["trigger_id"]]


def test_a_ping_is_answered_and_not_kept(signed: TestClient, packs: ContextPacks) -> None:
    """GitHub sends one when a webhook is made; nothing happened that anybody would look up."""
    told = deliver(signed, "ping", zen="Design for failure.", hook_id=1)
    assert (told.status_code, told.json()) == (200, {"status": "pong"})
    assert packs.store.count() == 0


@pytest.mark.parametrize(
    "given",
    [None, "", "sha256=", "sha1=0", "sha256=" + "0" * 64, signature(b"{}", "another"), signature(b"{ }", SECRET)],
)
def test_without_the_right_signature_nothing_is_read_or_kept(
    signed: TestClient, packs: ContextPacks, given: str | None
) -> None:
    """401 as a problem document, also for a body that is none and headers that are missing."""
    for event, raw in (("push", b"{}"), (None, b"{}"), ("push", b"no json")):
        told = post(signed, raw, event=event, signed=given)
        assert told.status_code == 401
        assert told.headers["content-type"] == "application/problem+json"
        assert told.json()["detail"].startswith("X-Hub-Signature-256: ")
    assert packs.store.count() == 0


def test_a_credential_does_not_stand_in_for_a_signature(signed: TestClient, packs: ContextPacks) -> None:
    """With a secret, the signature is the credential."""
    secret = packs.tokens.create("planner", ["memory:write"]).secret
    headers = {"X-API-Key": secret, "X-GitHub-Event": "push", "X-GitHub-Delivery": "d"}
    assert signed.post("/hooks/github", json={}, headers=headers).status_code == 401


def test_what_is_signed_belongs_to_the_agent_of_the_server(signed: TestClient, packs: ContextPacks) -> None:
    """The header that names an agent is provenance, never a way to another one."""
    raw = json.dumps({"repository": REPOSITORY}).encode()
    headers = {"X-GitHub-Event": "push", "X-GitHub-Delivery": "d", "X-Hub-Signature-256": signature(raw, SECRET)}
    headers |= {"Content-Type": "application/json", "X-Memory-OS-Agent-ID": "somebody"}
    told = signed.post("/hooks/github", content=raw, headers=headers)
    assert packs.threads.get_trigger(told.json()["trigger_id"]).agent_id == "planner"


def test_without_a_secret_a_credential_with_the_scope_is_needed(plain: TestClient, packs: ContextPacks) -> None:
    """Open while the store has no credential; then 401, 403 naming the scope, or a trigger of that agent."""
    assert post(plain, b"{}", delivery="d-0").status_code == 201
    reader = packs.tokens.create("ci", ["memory:read"]).secret
    writer = packs.tokens.create("ci", ["memory:write", "memory:read"]).secret
    with TestClient(create_app(packs), base_url="http://127.0.0.1") as client:
        assert post(client, b"{}").status_code == 401
        client.headers["X-API-Key"] = reader
        refused = post(client, b"{}")
        assert (refused.status_code, refused.json()["detail"]) == (403, "scope: this credential lacks memory:write")
        client.headers["X-API-Key"] = writer
        told = post(client, b"{}")
        assert told.status_code == 201
    made = told.json()["trigger_id"]
    assert packs.seen_by(Viewer("ci")).threads.get_trigger(made).agent_id == "ci"
    with pytest.raises(NotFound):
        packs.threads.get_trigger(made)


@pytest.mark.parametrize(
    ("raw", "sent", "status", "named"),
    [
        (b"{}", {"event": None}, 422, "X-GitHub-Event"),
        (b"{}", {"event": "no event"}, 422, "X-GitHub-Event"),
        (b"{}", {"delivery": None}, 422, "X-GitHub-Delivery"),
        (b"", {}, 400, "body"),
        (b"{", {}, 400, "body"),
        (b"[]", {}, 400, "body"),
        (b'{"a": NaN}', {}, 400, "body"),
        (b"\xff", {}, 400, "body"),
        (b"[" * 100_000, {}, 400, "body"),
        (b"{}", {"kind": "text/plain"}, 415, "body"),
        (b"other=1", {"kind": FORM}, 422, "payload"),
        (b"payload=%7B", {"kind": FORM}, 400, "body"),
    ],
)
def test_a_malformed_delivery_is_named(
    plain: TestClient, packs: ContextPacks, raw: bytes, sent: dict[str, Any], status: int, named: str
) -> None:
    """The problem document says what is at fault, and nothing is kept."""
    told = post(plain, raw, **sent)
    assert told.status_code == status
    assert told.json()["detail"].startswith(f"{named}: ")
    assert packs.store.count() == 0


def test_a_body_of_the_size_that_github_sends_is_taken(plain: TestClient, packs: ContextPacks) -> None:
    """25 MiB are taken here although other routes take 8; a byte more is refused."""
    most = 25 * 1024 * 1024
    raw = b'{"pad": "' + b"a" * (most - 11) + b'"}'
    assert len(raw) == most
    told = post(plain, raw)
    assert told.status_code == 201
    assert told.json()["spilled"] == {
        "payload": f"GET /triggers/{told.json()['trigger_id']}/payload ({most} bytes, truncated)"
    }
    assert packs.threads.payload(told.json()["trigger_id"], 0, 9).body == b'{"pad": "'
    assert post(plain, raw + b" ", delivery="d-2").status_code == 413
    assert post(plain, raw + b" ", delivery="d-2", event="ping").status_code == 413


def test_the_delivery_of_a_deleted_trigger_is_not_kept_again(plain: TestClient, packs: ContextPacks) -> None:
    """Forgotten is forgotten, also when GitHub is asked to send it once more."""
    told = post(plain, b"{}")
    packs.forget(told.json()["trigger_id"], mode="hard_delete")
    assert post(plain, b"{}").status_code == 410
    with pytest.raises(Gone):
        packs.threads.get_trigger(told.json()["trigger_id"])


def test_the_route_is_described(plain: TestClient) -> None:
    """Both forms of the body, the three headers, and the answers that were seen here."""
    route = plain.get("/openapi.json").json()["paths"]["/hooks/github"]["post"]
    assert sorted(route["requestBody"]["content"]) == ["application/json", FORM]
    names = {one["name"]: one["required"] for one in route["parameters"]}
    assert names == {"X-GitHub-Event": True, "X-GitHub-Delivery": True, "X-Hub-Signature-256": False}
    assert {"200", "201", "400", "401", "403", "410", "413", "415", "422", "503"} <= route["responses"].keys()
