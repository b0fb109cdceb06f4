"""The server around its routes: who may come in, what is refused and how, what it tells about itself."""

import io
import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from context_packs.packer.doors.rest.answers import matches
from context_packs.packer.doors.rest.edge import authority, is_loopback
from context_packs.packer.doors.rest.gate import needed_scope
from context_packs.packer.doors.rest.metrics import JsonLines, log_to
from context_packs.packer.doors.rest.requests import DoorRoute, one_key, parse_json
from context_packs.packer.errors import InvalidField

WHO = "/v1/auth/token/validate"
# The webhook asks by itself: by a signature, or for a credential.
OPEN = {"/health", "/ready", "/hooks/github", "/.well-known/agent-discovery.json", "/.well-known/memory-os.json"}


def problem(answer: Any) -> tuple[int, str, str | None]:
    """Status, code and field of an error, whose form is checked (RFC 9457)."""
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["status"] == answer.status_code
    assert document["type"] == "about:blank"
    assert all(isinstance(document[name], str) and document[name] for name in ("title", "detail", "code"))
    assert "\n" not in document["detail"]
    return answer.status_code, document["code"], document.get("field")


@contextmanager
def logged(served: Any) -> Iterator[io.StringIO]:
    """What the server logs meanwhile. One more request of the connection: the one before it is logged by then."""
    log = io.StringIO()
    handler = log_to(log)
    try:
        yield log
        served.client.get("/health")
    finally:
        logging.getLogger().removeHandler(handler)


# ---- who is calling


def test_while_there_is_no_token_callers_of_this_machine_are_served(servers: Callable[..., Any]) -> None:
    """Open mode: all scopes, the agent of the server, or the one the header names; the profile of the server."""
    client = servers(profile="internal").client
    assert client.get(WHO).json().items() >= {
        "valid": True, "agent_id": "planner", "profile": "internal", "token_id": None
    }.items()  # fmt: skip
    assert client.get(WHO).json()["scopes"] == [
        "memory:admin", "memory:read", "memory:temporary:read", "memory:write"
    ]  # fmt: skip
    assert client.get(WHO, headers={"X-Memory-OS-Agent-ID": "会計".encode()}).json()["agent_id"] == "会計"
    assert problem(client.get(WHO, headers={"X-Memory-OS-Agent-ID": "a|b"})) == (
        422, "invalid_field", "X-Memory-OS-Agent-ID",
    )  # fmt: skip


def test_the_first_token_closes_the_door_for_good(servers: Callable[..., Any]) -> None:
    """From then on a credential is needed, a bad one is none, and a revoked one is refused at once; health stays. The
    last one revoked opens nothing again."""
    served = servers()
    assert served.client.get(WHO).status_code == 200
    issued = served.packs.tokens.create("reader", ["memory:read"], teams=["blue"], profile="kernel")
    key = {"X-API-Key": issued.secret}
    refused = served.client.get(WHO)
    assert problem(refused) == (401, "unauthorized", None)
    assert refused.headers["www-authenticate"] == 'Bearer realm="context-packs"'
    bad = [{"X-API-Key": "cpk_0"}, {"Authorization": "Bearer x"}, {"Authorization": "Basic eDp5"},
           {"X-API-Key": issued.secret, "Authorization": "Bearer other"}, {"X-API-Key": ""}]  # fmt: skip
    for headers in bad:
        assert problem(served.client.get(WHO, headers=headers)) == (401, "unauthorized", None)
    for headers in (key, {"Authorization": f"Bearer {issued.secret}"}, {"authorization": f"bearer  {issued.secret}"}):
        told = served.client.get(WHO, headers=headers).json()
        assert [told[name] for name in ("agent_id", "teams", "scopes", "profile", "token_id")] == [
            "reader", ["blue"], ["memory:read"], "kernel", issued.token.id,
        ]  # fmt: skip
    served.packs.tokens.revoke(issued.token.id)
    assert not served.packs.tokens.has_live()
    for headers in (key, {}):
        assert problem(served.client.get(WHO, headers=headers)) == (401, "unauthorized", None)
    assert served.client.get("/health").status_code == 200


def test_the_agent_header_of_a_token_is_provenance_only(servers: Callable[..., Any]) -> None:
    """A token fixes the agent; the header opens nobody else's memory."""
    served = servers()
    key = served.token("reader", "memory:read")
    told = served.client.get(WHO, headers={**key, "X-Memory-OS-Agent-ID": "planner"}).json()
    assert told["agent_id"] == "reader"


def test_a_missing_scope_is_named(servers: Callable[..., Any]) -> None:
    """403 with the scope, before the request is read: also where the body is no JSON."""
    served = servers()
    key = served.token("reader", "memory:read")
    for method, path, scope in (("GET", "/metrics", "memory:admin"), ("POST", "/v1/remember", "memory:write")):
        refused = served.client.request(method, path, headers=key, content=None if method == "GET" else b"{")
        assert problem(refused) == (403, "forbidden", "scope")
        assert refused.json()["detail"] == f"scope: this credential lacks {scope}"


def test_where_others_can_reach_the_server_nobody_comes_in_without_a_token(servers: Callable[..., Any]) -> None:
    """L12: a server that listens elsewhere, or is called by another name (through a proxy), has no open mode."""
    for options, host in (({"local": False}, "127.0.0.1"), ({"hosts": ["memory.example"]}, "memory.example")):
        client = servers(**options).client
        assert problem(client.get(WHO, headers={"Host": host})) == (401, "unauthorized", None)


def test_every_route_but_health_asks_who_is_calling(servers: Callable[..., Any]) -> None:
    """A route without a scope is one of those that are known to be open; each runs through the strict route."""
    routes = [route for route in servers().app.routes if route.path not in ("/openapi.json", "/mcp")]
    assert all(isinstance(route, DoorRoute) for route in routes)
    assert {route.path for route in routes if needed_scope(route) is None} == OPEN


# ---- hosts and origins: L10, L11


HOSTS = [
    ("127.0.0.1", 200), ("127.0.0.1:8765", 200), ("localhost:1", 200), ("LOCALHOST", 200), ("[::1]:80", 200),
    ("memory.example", 401), ("memory.example:443", 401), ("fixed.example:99", 401),
    ("fixed.example", 421), ("fixed.example:98", 421),
    ("localhost.evil.example", 421), ("evil.example", 421), ("127.0.0.1.evil.example", 421), ("localhost.", 421),
    ("127.0.0.1@evil.example", 421), ("localhost:evil", 421), ("localhost:80:80", 421), ("", 421), ("::1", 421),
    ("localhost/", 421), ("localhost evil", 421), ("2130706433", 421), ("0.0.0.0", 421),
]  # fmt: skip


def test_l10_the_host_header_is_compared_whole(servers: Callable[..., Any]) -> None:
    """L10: loopback names with any port, and names that were allowed; no prefix, no suffix, nothing malformed."""
    client = servers(hosts=["Memory.example", "fixed.example:99"]).client
    assert [(host, client.get(WHO, headers={"Host": host}).status_code) for host, _ in HOSTS] == HOSTS


ORIGINS = [
    (None, 201), ("http://127.0.0.1:3000", 201), ("http://localhost", 201), ("https://[::1]:1", 201),
    ("null", 403), ("http://evil.example", 403), ("http://localhost.evil.example", 403), ("file://localhost", 403),
    ("http://localhost@evil.example", 403), ("http://127.0.0.1.evil.example:80", 403), ("localhost", 403),
    ("", 403),
]  # fmt: skip


def test_l11_a_page_of_another_host_writes_nothing(servers: Callable[..., Any]) -> None:
    """L11: also without a token; no CORS header tells a browser otherwise, and a preflight gets none."""
    served = servers()
    for number, (origin, status) in enumerate(ORIGINS):
        headers = {} if origin is None else {"Origin": origin}
        body = {"content": f"backup {number} ran", "path": f"ops/{number}"}
        answer = served.client.post("/v1/remember", json=body, headers=headers)
        asked = {**headers, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
        preflight = served.client.options("/v1/remember", headers=asked)
        assert (origin, answer.status_code) == (origin, status)
        assert preflight.status_code == (405 if status == 201 else 403)
        for one in (answer, preflight):
            assert not any(name.lower().startswith("access-control") for name in one.headers)
    assert served.packs.store.count() == 4


def test_a_web_page_can_not_write_with_a_simple_request(servers: Callable[..., Any]) -> None:
    """L11: what a form of a page can send without a preflight is no JSON, whatever stands in it."""
    served = servers()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        answer = served.client.post("/v1/remember", content=b'{"content": "x"}', headers={"Content-Type": kind})
        assert problem(answer) == (415, "unsupported_media_type", None)
    assert served.packs.store.count() == 0


def test_a_web_page_of_another_port_can_not_write_without_a_body(servers: Callable[..., Any]) -> None:
    """L11: such a request needs no preflight either; what names no page, or says JSON, may come without a body."""
    served = servers()
    for number in range(2):
        served.packs.remember(f"backup {number} ran")
    page = {"Origin": "http://localhost:3000"}
    for headers in (page, {**page, "Content-Type": "text/plain"}):
        refused = served.client.post("/v1/memories/mem:1/forget", headers=headers)
        assert problem(refused) == (415, "unsupported_media_type", None)
    assert served.packs.store.count() == 2
    assert served.client.post("/v1/memories/mem:1/forget").status_code == 200
    headers = {**page, "Content-Type": "application/json"}
    assert served.client.post("/v1/memories/mem:2/forget", headers=headers).status_code == 200


@given(st.text(max_size=40))
def test_an_authority_is_a_name_and_a_port_or_nothing(text: str) -> None:
    """Whatever comes: a host in lower case without white space, at signs and slashes, or None."""
    found = authority(text)
    if found is not None:
        assert found[0] == found[0].lower()
        assert not set(found[0]) & set(" @/\\?#\t\r\n")
        assert found[1] == "" or 0 <= int(found[1]) <= 99_999


def test_what_counts_as_loopback() -> None:
    """L12: addresses of this machine only, not names that look like it."""
    assert all(map(is_loopback, ("127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.1.2", "localhost.example", "example", "")))


# ---- the form of errors


def test_unknown_paths_and_methods_are_problems(servers: Callable[..., Any]) -> None:
    """404 and 405, the latter with every method of the path (RFC 9110, section 15.5.6)."""
    client = servers().client
    for path in ("/", "/v1", "/v1/nothing", "/docs", "/redoc", "/v1/auth/token/validate/", "/%2e%2e/etc/passwd"):
        assert problem(client.get(path)) == (404, "not_found", None)
    refused = client.put("/v1/memories/mem:1")
    assert problem(refused) == (405, "method_not_allowed", None)
    assert refused.headers["allow"] == "GET, PATCH"


def test_h1_unknown_parameters_and_fields_are_refused_by_name(servers: Callable[..., Any]) -> None:
    """H1: an `offset` that nobody reads is no page one."""
    client = servers().client
    refused = client.get(WHO, params={"offset": "200"})
    assert problem(refused) == (422, "invalid_field", "offset")
    assert refused.json()["detail"] == "offset: unknown query parameter; this route has no parameters"
    refused = client.get("/v1/audit", params={"limit": "5", "page": "2"})
    assert refused.json()["detail"].startswith(
        "page: unknown query parameter; known parameters: action, agent_id, cursor, "
    )
    refused = client.get("/v1/audit?limit=5&limit=6")
    assert (problem(refused), refused.json()["detail"]) == ((422, "invalid_field", "limit"), "limit: is given twice")
    refused = client.post("/v1/remember", json={"content": "x", "agent_id": "planner"})
    assert problem(refused) == (422, "invalid_field", "agent_id")
    assert problem(client.get("/v1/audit?%ED%A0%80%0A=x"))[:2] == (422, "invalid_field")


BODIES: list[tuple[bytes, int, str, str | None]] = [
    (b"{", 400, "malformed_request", None), (b"\xff{}", 400, "malformed_request", None),
    (b'{"content": NaN}', 400, "malformed_request", None), (b'{"content": 1e999}', 400, "malformed_request", None),
    (b'{"content": ' + b"[" * 65 + b"]" * 65 + b"}", 400, "malformed_request", None),
    (b"[" * 100_000, 400, "malformed_request", None),
    (b'{"content": ' + b"9" * 5000 + b"}", 400, "malformed_request", None),
    (b"", 422, "invalid_field", "body"), (b"[]", 422, "invalid_field", "body"),
    (b"null", 422, "invalid_field", "body"), (b'"text"', 422, "invalid_field", "body"),
    (b"{}", 422, "invalid_field", "content"), (b'{"content": 5}', 422, "invalid_field", "content"),
    (b'{"content": "x", "importance": true}', 422, "invalid_field", "importance"),
]  # fmt: skip


def test_a_body_that_can_not_be_read_is_told(servers: Callable[..., Any]) -> None:
    """400 for what is no JSON, 422 with the field for what is, and nothing is written."""
    served = servers()
    for body, *told in BODIES:
        answer = served.client.post("/v1/remember", content=body, headers={"Content-Type": "application/json"})
        assert (body[:40], *problem(answer)) == (body[:40], *told)
    assert served.packs.store.count() == 0


def test_c5_lone_surrogates_in_a_body_are_repaired_and_told(servers: Callable[..., Any]) -> None:
    """C5: U+FFFD is kept instead; pairs and escaped backslashes stay."""
    served = servers()
    body = b'{"content": "caf\\ud800 \\ud83d\\ude00 \\\\ud800"}'
    answer = served.client.post("/v1/remember", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 201
    assert served.packs.get(answer.json()["id"]).content == "caf\ufffd 😀 \\ud800"


def test_a_body_above_the_limit_is_refused_also_in_chunks(servers: Callable[..., Any]) -> None:
    """413, by the length told and by the bytes that come."""
    served = servers(max_body=1000)
    fits = json.dumps({"content": "x" * 900}).encode()
    kind = {"Content-Type": "application/json"}

    def chunks(body: bytes) -> Iterator[bytes]:
        yield from (body[at : at + 100] for at in range(0, len(body), 100))

    assert served.client.post("/v1/remember", content=chunks(fits), headers=kind).status_code == 201
    large = json.dumps({"content": "y" * 1000}).encode()
    for body in (large, chunks(large)):
        assert problem(served.client.post("/v1/remember", content=body, headers=kind))[:2] == (413, "too_large")
    assert served.packs.store.count() == 1


def test_a_fault_of_ours_shows_nothing_of_itself(servers: Callable[..., Any]) -> None:
    """500 as a problem: no stack, no path, no stored text, and none of it in the log either."""
    served = servers()

    @served.app.get("/boom")
    def boom() -> None:
        raise RuntimeError("the secret plan in /srv/private")

    with logged(served) as log:
        answer = served.client.get("/boom")
    assert problem(answer) == (500, "internal_error", None)
    assert answer.json()["detail"] == "unexpected RuntimeError: this is a bug in context-packs"
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    fault = next(line for line in lines if line["event"] == "a request failed")
    assert fault["error"][0] == "RuntimeError"
    assert "secret plan" not in log.getvalue()
    assert "/srv/private" not in log.getvalue()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON, st.booleans())
def test_json_is_read_as_it_was_written(value: Any, escaped: bool) -> None:
    """Every JSON value, whatever its escapes."""
    assert parse_json(json.dumps(value, ensure_ascii=escaped).encode()) == (value, False)


@given(st.binary(max_size=60))
def test_any_bytes_are_json_or_a_400(raw: bytes) -> None:
    """Never another error."""
    try:
        parse_json(raw)
    except HTTPException as error:
        assert error.status_code == 400


def test_the_depth_of_a_body_is_bounded_exactly() -> None:
    """64 levels are read, 65 are not; breadth is free."""
    deep = b"[" * 64 + b"]" * 64
    assert parse_json(deep) == (json.loads(deep), False)
    with pytest.raises(HTTPException):
        parse_json(b"[" + deep + b"]")
    assert len(parse_json(b"[" + b"[]," * 5000 + b"[]]")[0]) == 5001


# ---- exact gets and replays


def test_an_exact_get_has_a_tag_that_changes_with_the_record(servers: Callable[..., Any]) -> None:
    """304 without a body while nothing changed, whole again after a change; never kept by a shared cache."""
    served = servers()
    one = served.packs.remember("backups run nightly").id
    first = served.client.get(f"/v1/memories/{one}")
    tag = first.headers["etag"]
    assert tag.startswith('"')
    assert first.headers["cache-control"] == "private, no-cache"
    for header in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        again = served.client.get(f"/v1/memories/{one}", headers={"If-None-Match": header})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    served.client.patch(f"/v1/memories/{one}", json={"content": "backups run weekly"}).raise_for_status()
    changed = served.client.get(f"/v1/memories/{one}", headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag
    assert served.client.get("/v1/memories/mem:99", headers={"If-None-Match": "*"}).status_code == 404


def test_a_tag_is_compared_by_its_whole_value() -> None:
    """Weakly, in lists, and with no substring taken for it."""
    assert matches('"a"', '"a"')
    assert not matches(None, '"a"')
    assert not matches('"ab"', '"a"')
    assert not matches("a", '"a"')


def test_the_headers_and_the_body_name_one_idempotency_key() -> None:
    """One of them or the same in all; two that differ, a blank one and a long one are refused."""
    assert one_key() is None
    assert one_key(None, "k") == "k"
    assert one_key("k", "k", None) == "k"
    for keys in (("a", "b"), ("",), ("  ",), ("x" * 256,)):
        with pytest.raises(InvalidField, match=r"^idempotency_key: "):
            one_key(*keys)


# ---- what the server tells about itself


def test_e7_health_tries_a_write(servers: Callable[..., Any], tmp_path: Any) -> None:
    """E7: 200 with the version; 503 that shows no path once a write would fail."""
    served = servers(mode="shared")
    told = served.client.get("/health")
    assert told.json() == {"status": "ok", "version": served.app.version, "store": "ok"}
    file = tmp_path / "served.duckdb"
    kept = file.read_bytes()
    file.write_bytes(b"no store of ours" * 1000)
    served.app.state.health.forget()
    sick = served.client.get("/health")
    assert problem(sick) == (503, "store_damaged", None)
    assert sick.headers["retry-after"] == "1"
    assert str(tmp_path) not in sick.text
    file.write_bytes(kept)
    served.app.state.health.forget()
    assert served.client.get("/health").status_code == 200


@pytest.mark.parametrize("left", [0, 300_000])
def test_health_is_tried_at_once_where_the_file_was_cut_off(
    servers: Callable[..., Any], tmp_path: Any, left: int
) -> None:
    """Emptied or cut short under a running server: not well from the next question on, and nothing is answered."""
    served = servers(mode="leased")
    served.client.post("/v1/remember", json={"content": "Backups run nightly."})
    assert served.client.get("/health").status_code == 200
    with open(tmp_path / "served.duckdb", "r+b") as file:
        file.truncate(left)
    assert served.client.get("/health").status_code == 503
    assert served.client.post("/v1/remember", json={"content": "Into nothing."}).status_code == 503


@pytest.mark.parametrize("mode", ["shared", "leased", "exclusive"])
def test_health_counts_for_the_file_it_was_tried_on(servers: Callable[..., Any], tmp_path: Any, mode: str) -> None:
    """A store moved away or replaced since the last probe is told at once, and so is one that came back."""
    served = servers(mode=mode)
    file, away = tmp_path / "served.duckdb", tmp_path / "away.duckdb"
    assert served.client.get("/health").status_code == 200
    file.rename(away)
    assert served.client.get("/health").status_code == 503
    file.write_bytes(b"another file " * 1000)
    assert served.client.get("/health").status_code == 503
    file.unlink()
    away.rename(file)
    assert served.client.get("/health").status_code == 200


def test_metrics_count_by_route_template(servers: Callable[..., Any]) -> None:
    """Prometheus text: no id and no query stands in a label; the histogram adds up."""
    served = servers()
    one = served.packs.remember("backups run nightly").id
    for path in (f"/v1/memories/{one}", f"/api/v1/memories/{one}", "/v1/memories/mem:77", "/nowhere?q=secret"):
        served.client.get(path)
    answer = served.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    route = 'route="/v1/memories/{id}"'
    assert f'context_packs_requests_total{{method="GET",{route},status="200"}} 2' in lines
    assert f'context_packs_requests_total{{method="GET",{route},status="404"}} 1' in lines
    assert 'context_packs_requests_total{method="GET",route="(none)",status="404"} 1' in lines
    assert f"context_packs_request_seconds_count{{{route}}} 3" in lines
    assert f'context_packs_request_seconds_bucket{{{route},le="+Inf"}} 3' in lines
    assert "context_packs_records 1" in lines
    assert "context_packs_requests_in_flight 1" in lines
    assert "mem:77" not in answer.text
    assert "secret" not in answer.text


def test_reads_and_writes_are_audited_without_their_text(servers: Callable[..., Any]) -> None:
    """Who, what, which ids, with what outcome, refused ones too; pages by a cursor of the same query."""
    served = servers()
    writer, admin = served.token("writer", "memory:read", "memory:write"), served.token("boss", "memory:admin")
    one = served.client.post("/v1/remember", json={"content": "the plan is secret"}, headers=writer).json()["id"]
    served.client.get(f"/v1/memories/{one}", headers=writer)
    served.client.get("/v1/memories/mem:99", headers=writer)
    served.client.get("/v1/memories/the secret plan", headers=writer)
    served.client.get(f"/v1/memories/{one}", headers=admin)
    served.client.post("/v1/recall/context", json={"query": "secret plan"}, headers=writer)
    asked = {"agent_id": "writer", "limit": "2"}
    rows, pages = [], 0
    while True:
        page = served.client.get("/v1/audit", params=asked, headers=admin).json()
        rows, pages = rows + page["entries"], pages + 1
        if page["next_cursor"] is None:
            break
        asked["cursor"] = page["next_cursor"]
    assert [(row["action"], row["object_id"], row["outcome"]) for row in rows if row["token_id"]] == [
        ("POST /v1/recall/context", one, 200),
        ("GET /v1/memories/{id}", "?", 404),
        ("GET /v1/memories/{id}", "mem:99", 404),
        ("GET /v1/memories/{id}", one, 200),
        ("POST /v1/remember", one, 201),
    ]
    assert pages == 3
    assert "secret" not in json.dumps(rows)
    (refused,) = served.client.get("/v1/audit", params={"agent_id": "boss", "object_id": one}, headers=admin).json()[
        "entries"
    ]
    assert (refused["action"], refused["outcome"]) == ("GET /v1/memories/{id}", 403)
    foreign = {"agent_id": "boss", "cursor": asked["cursor"]}
    assert problem(served.client.get("/v1/audit", params=foreign, headers=admin)) == (409, "conflict", "cursor")
    for cursor in ("x", "1-1-1", "é"):
        answer = served.client.get("/v1/audit", params={"cursor": cursor}, headers=admin)
        assert problem(answer) == (422, "invalid_field", "cursor")
    assert problem(served.client.get("/v1/audit", headers=writer)) == (403, "forbidden", "scope")


def test_a_log_line_of_a_request_names_no_text(servers: Callable[..., Any]) -> None:
    """Method, template, status, time, id of the token: no query, no id, no body."""
    served = servers()
    with logged(served) as log:
        served.client.get("/v1/memories/search", params={"query": "secret plan"})
        served.client.get("/v1/memories/mem:77")
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    first, second = [line for line in lines if line["event"] == "request" and line["route"] != "/health"]
    assert (first["method"], first["route"], first["status"], first["token"]) == (
        "GET", "/v1/memories/search", 200, "open",
    )  # fmt: skip
    assert second["route"] == "/v1/memories/{id}"
    assert set(first) == {"time", "level", "event", "method", "route", "status", "ms", "token"}
    assert "secret" not in log.getvalue()


def test_messages_of_other_libraries_are_not_logged() -> None:
    """They hold what they were given: only the place and the kinds of errors are told."""
    try:
        try:
            raise ValueError("secret")
        except ValueError as error:
            raise RuntimeError("secret") from error
    except RuntimeError:
        record = logging.LogRecord("other.lib", logging.WARNING, __file__, 7, "got %s", ("secret",), None)
        record.exc_info = sys.exc_info()
    line = json.loads(JsonLines().format(record))
    assert (line["event"], line["logger"], line["place"]) == ("log", "other.lib", "test_rest:7")
    assert [part for part in line["error"] if ":" not in part] == ["RuntimeError", "ValueError"]
    assert "secret" not in json.dumps(line)


def test_a_key_that_stands_twice_in_a_body_is_refused_by_name(servers: Callable[..., Any]) -> None:
    """The last value does not win silently, at any depth; nothing is written."""
    served = servers()
    for body, key in (
        ('{"content": "a", "path": "x", "content": "b"}', "content"),
        ('{"content": "a", "metadata": {"deep": [{"one": 1, "one": 1}]}}', "one"),
    ):
        refused = served.client.post("/v1/remember", content=body, headers={"Content-Type": "application/json"})
        assert problem(refused) == (422, "invalid_field", key)
        assert refused.json()["detail"] == f"{key}: the key '{key}' appears twice in one object; give it once"
    assert served.packs.store.count() == 0
