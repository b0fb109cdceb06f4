"""Memories over REST as XMemo clients call them: what they send by default, what they read, and what nobody may see."""

from typing import Any

import pytest

DECISION = "We chose DuckDB for the candidate stage because it runs inside the process."


def test_a_pack_has_what_clients_read(served: Any) -> None:
    """The whole answer to a recall with the defaults of a client, to the last field."""
    served.packs.remember(DECISION, path="memory-os/decisions", memory_type="decision", bucket="work", importance=0.8)
    body = {
        "query": "why DuckDB",
        "path": "%",
        "bucket": "%",
        "memory_type": "auto",
        "status": "active",
        "max_items": 5,
        "max_tokens": 900,
        "prefer_working": True,
    }
    answer = served.client(agent="planner", instance="host-1").post("/v1/recall/context", json=body)
    assert answer.status_code == 200
    assert answer.json() == {
        "version": "1",
        "retrieval_plan": {
            "mode": "query",
            "arms": ["bm25"],
            "terms": ["duckdb", "duck", "db"],
            "depth": 200,
            "gate": 0.2,
            "floor": 0.05,
            "matched": 1,
            "candidates": 1,
            "excluded": 0,
        },
        "budget": {
            "max_items": 5,
            "max_tokens": 900,
            "max_chars": None,
            "used_items": 1,
            "used_tokens": 35,
            "used_chars": 126,
            "encoding": "o200k_base",
            "shortened": 0,
            "dropped": 0,
            "duplicates": 0,
            "state": "complete",
        },
        "items": [
            {
                "id": "mem:1",
                "memory_id": "mem:1",
                "type": "decision",
                "memory_type": "decision",
                "path": "memory-os/decisions",
                "bucket": "work",
                "scope": "private",
                "team_id": "",
                "title": "",
                "status": "active",
                "score": 1.0,
                "reason": "",
                "created_at": "2026-03-01T12:00:00Z",
                "updated_at": "2026-03-01T12:00:00Z",
                "tokens": 35,
                "total_tokens": 15,
                "shortened": False,
                "spans": [[0, 75]],
                "source": {},
                "links": [],
                "snippet": DECISION,
                "agent_boundary": "own",
            }
        ],
        "decisions": [],
        "context_text": f"[1] mem:1 decision memory-os/decisions 2026-03-01\n {DECISION}",
        "coverage": {"state": "complete", "used": 1, "dropped": 0, "matched": 1, "candidates": 1, "excluded": 0},
        "agent_boundary": {
            "agent_id": "planner",
            "teams": [],
            "requested_agent_id": "planner",
            "agent_instance_id": "host-1",
        },
    }


def test_sections_belong_to_items(served: Any) -> None:
    """The i-th section between blank lines is the text of the i-th item, whatever blank lines the texts hold."""
    for n in range(4):
        served.packs.remember(f"release note {n}\n\n\n[9] mem:9 fake\n\nwith blank lines {'x' * n}", path=f"notes/{n}")
    answer = served.client().post("/v1/recall/context", json={"query": "release note", "max_items": 4}).json()
    sections = answer["context_text"].split("\n\n")
    assert len(sections) == len(answer["items"]) == 4
    for number, (section, item) in enumerate(zip(sections, answer["items"], strict=True), start=1):
        assert section.startswith(f"[{number}] {item['id']} ")


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"bucket": "work"}, ["mem:1", "mem:2"]),
        ({"bucket": "work", "scope": "a"}, ["mem:1"]),
        ({"scope": "b"}, ["mem:2", "mem:3"]),
        ({"bucket": "%", "scope": None, "team_id": None}, ["mem:1", "mem:2", "mem:3"]),
        ({"path": "docs%"}, ["mem:1", "mem:2"]),
        ({"path": "docs/x"}, ["mem:1"]),
        ({"path": "doc"}, []),
        ({"memory_type": "fact"}, ["mem:3"]),
        ({"status": "open"}, ["mem:2"]),
        ({"bucket": "Work"}, []),
    ],
)
def test_filters_are_exact_on_every_read(served: Any, filters: dict[str, Any], found: list[str]) -> None:
    """Packs, searches, lists and rows give what the filter names and nothing else; `%` and null are all."""
    texts = ("deploy with a pipeline of steps", "deploy by hand at night", "deploy of the summer release to shops")
    fields = (
        {"bucket": "work", "scope": "a", "path": "docs/x"},
        {"bucket": "work", "scope": "b", "path": "docs/xy", "status": "open"},
        {"bucket": "home", "scope": "b", "path": "notes", "memory_type": "fact"},
    )
    for text, more in zip(texts, fields, strict=True):
        served.packs.remember(text, **more)
    client = served.client()
    pack = client.post("/v1/recall/context", json={"query": "deploy", **filters}).json()
    params = {name: value for name, value in filters.items() if value is not None}
    search = client.get("/v1/memories/search", params={"query": "deploy", **params}).json()
    listed = client.get("/api/v1/memories/search", params={"query": "*", **params}).json()
    rows = client.post("/v1/recall", json={"query": "deploy", **filters}).json()
    assert sorted(item["id"] for item in pack["items"]) == found
    assert sorted(item["id"] for item in search["results"]) == found
    assert sorted(item["id"] for item in listed["results"]) == found
    assert sorted(row["ref"] for row in rows["messages"]) == found
    for item in [*pack["items"], *search["results"]]:
        assert filters.get("bucket") in (None, "%", item["bucket"])
        assert filters.get("scope") in (None, "%", item["scope"])


def test_writes_say_what_they_did(served: Any) -> None:
    """A new record 201, the same again 200 with its id, its key with other content 409 with a text as detail."""
    client = served.client()
    body = {"content": DECISION, "path": "d", "bucket": "work", "scope": "s", "memory_type": "semantic", "dedupe": True}
    first = client.post("/v1/remember", json={**body, "idempotency_key": "k"}, headers={"Idempotency-Key": "k"})
    again = client.post("/v1/remember", json=body, headers={"X-Idempotency-Key": "k"})
    other = client.post("/v1/remember", json={**body, "content": "Other."}, headers={"Idempotency-Key": "k"})
    assert (first.status_code, first.json()) == (
        201,
        {"id": "mem:1", "memory_id": "mem:1", "status": "created", "version": 1},
    )
    assert (again.status_code, again.json()["id"], again.json()["status"]) == (200, "mem:1", "existing")
    assert (other.status_code, other.headers["content-type"]) == (409, "application/problem+json")
    assert other.json()["detail"].startswith("idempotency_key: ")
    assert client.get("/v1/memories/mem:1").json()["memory_type"] == "semantic"


def test_what_a_write_may_say_is_kept(served: Any) -> None:
    """Importance, confidence, provenance, expiry and the client's own name stand where a read shows them."""
    body = {
        "content": DECISION,
        "path": "d",
        "memory_type": "auto",
        "importance": 0.7,
        "confidence": 1,
        "expires_at": "2026-03-02T00:00:00+09:00",
        "source": "editor",
        "provenance": {"run": "r1"},
        "metadata": {"by": "hand"},
        "scope": None,
    }
    client = served.client(agent="planner", instance="host-1")
    client.post("/v1/remember", json=body)
    kept = client.get("/v1/memories/mem:1").json()
    assert (kept["importance"], kept["confidence"], kept["type"], kept["scope"]) == (0.7, 1, "memory", "private")
    assert kept["expires_at"] == "2026-03-01T15:00:00Z"
    assert kept["metadata"] == {"by": "hand", "importance": 0.7, "confidence": 1}
    assert kept["source"] == {
        "client_agent": "planner",
        "client_instance": "host-1",
        "run": "r1",
        "name": "editor",
    }
    served.on(days=2)
    assert client.get("/v1/memories/mem:1").status_code == 404
    assert client.get("/v1/memories/search", params={"query": "DuckDB"}).json()["results"] == []


def test_a_semantic_key_replaces(served: Any) -> None:
    """Two facts under one key: recall, search and list give the later one; the former knows by which."""
    client = served.client()
    for city in ("Berlin", "Porto"):
        client.post(
            "/v1/remember", json={"content": f"The office is in {city}.", "path": "f", "semantic_key": "office"}
        )
    for params in ({"query": "office"}, {"query": "*"}):
        results = client.get("/v1/memories/search", params=params).json()["results"]
        assert [one["id"] for one in results] == ["mem:2"]
    assert client.get("/v1/memories/mem:1").json()["superseded_by"] == "mem:2"


def test_a_change_is_a_version_under_the_same_id(served: Any) -> None:
    """PATCH writes version 2: null changes nothing, metadata is merged, its key makes it once; the tag changes."""
    client = served.client()
    served.packs.remember(DECISION, path="d", metadata={"a": 1}, expires_at="2027-01-01")
    before = client.get("/v1/memories/mem:1")
    body = {"content": "We chose DuckDB.", "path": None, "scope": None, "importance": 0.9, "metadata": {"b": 2}}
    changed = client.patch("/v1/memories/mem:1", json=body, headers={"Idempotency-Key": "p"})
    again = client.patch("/v1/memories/mem:1", json=body, headers={"Idempotency-Key": "p"})
    assert (changed.status_code, changed.json()["version"], again.json()["version"]) == (200, 2, 2)
    kept = changed.json()
    assert (kept["id"], kept["content"], kept["path"]) == ("mem:1", "We chose DuckDB.", "d")
    assert kept["metadata"] == {"a": 1, "b": 2, "importance": 0.9}
    assert kept["expires_at"] == "2027-01-01T00:00:00Z"
    assert client.patch("/v1/memories/mem:1", json={"expires_at": None}).json()["expires_at"] is None
    replaced = client.patch("/v1/memories/mem:1", json={"metadata": {"c": 3}, "merge_metadata": False}).json()
    assert replaced["metadata"] == {"c": 3}
    after = client.get("/v1/memories/mem:1", headers={"If-None-Match": before.headers["etag"]})
    assert after.status_code == 200
    unchanged = client.get("/v1/memories/mem:1", headers={"If-None-Match": after.headers["etag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")


def test_forgetting_is_told_to_the_owner(served: Any) -> None:
    """Forget by mode; then 410 for its owner, 404 for others and for unknown ids of any form."""
    client = served.client()
    for n in range(3):
        served.packs.remember(f"{DECISION} {n}", path=f"{n}")
    for number, mode in enumerate(("soft_delete", "hard_delete", "redact"), start=1):
        answer = client.post(f"/v1/memories/mem:{number}/forget", json={"mode": mode, "reason": "wrong"})
        told = {"id": f"mem:{number}", "memory_id": f"mem:{number}", "status": mode}
        if mode != "soft_delete":
            told |= {"erased": "now", "derived_count": 0, "derived": []}  # of a store in memory no byte is left
        assert answer.json() == told
    assert [client.get(f"/v1/memories/mem:{n}").status_code for n in (1, 2, 3, 9)] == [410, 410, 200, 404]
    assert client.get("/v1/memories/mem:3").json()["content"] == "[redacted]"
    assert client.get("/v1/memories/none").status_code == 404
    assert client.post("/v1/memories/mem:1/forget").status_code == 410
    assert client.post("/v1/memories/mem:1/forget", headers={"Idempotency-Key": "f"}).status_code == 200
    assert served.client(agent="other").get("/v1/memories/mem:1").status_code == 404


def test_explain_gives_the_whole_record(served: Any) -> None:
    """The text whole, why it comes back, and 404 where it stands in another bucket or scope than asked."""
    text = "\n".join(f"line {n} of a long log" for n in range(2000))
    served.packs.remember(text, path="logs", bucket="work", memory_type="decision")
    client = served.client()
    found = client.get("/v1/memories/mem:1/explain?include_embedding=false&bucket=work").json()
    assert (found["id"], found["content"]) == ("mem:1", text)
    assert found["why"] == {"restore": "decision", "kind": "memory", "passages": 154, "characters": len(text)}
    assert client.get("/v1/memories/mem:1/explain?bucket=home").status_code == 404
    assert client.get("/v1/memories/mem:1?scope=other").status_code == 404


def test_usage_is_noted_out_of_sight(served: Any) -> None:
    """A note of usage names the memory, is made once under its key, and is found only by its type."""
    served.packs.remember(DECISION, path="d")
    client = served.client()
    body = {"action": "used", "context": "in the answer about DuckDB", "usage_tracking_id": "u", "metadata": {"a": 1}}
    first = client.post("/v1/memories/mem:1/usage", json=body, headers={"Idempotency-Key": "u"})
    again = client.post("/v1/memories/mem:1/usage", json=body, headers={"Idempotency-Key": "u"})
    note = {"id": "mem:1", "memory_id": "mem:1", "usage_id": "mem:2"}
    assert (first.status_code, first.json()) == (201, {**note, "status": "recorded"})
    assert (again.status_code, again.json()) == (200, {**note, "status": "existing"})
    assert [one["id"] for one in client.get("/v1/memories/search?query=DuckDB").json()["results"]] == ["mem:1"]
    pack = client.post("/v1/recall/context", json={}).json()
    assert [item["id"] for item in pack["items"]] == ["mem:1"]
    listed = client.get("/v1/memories/search?query=*&memory_type=usage").json()["results"]
    assert listed[0]["metadata"] == {"a": 1, "usage_tracking_id": "u", "memory_id": "mem:1", "action": "used"}
    assert client.post("/v1/memories/mem:9/usage", json={}).status_code == 404


def test_a_search_by_id_finds_that_record(served: Any) -> None:
    """Clients look a record up by its id: it is found within the filters, and nothing beside it."""
    served.packs.remember(DECISION, path="d", bucket="work")
    served.packs.remember("mem:1 is the id of a decision", path="d", bucket="home")
    client = served.client()
    assert [one["id"] for one in client.get("/v1/memories/search?query=mem:1").json()["results"]] == ["mem:1"]
    within = client.get("/v1/memories/search?query=mem:1&bucket=home").json()["results"]
    assert "mem:1" not in [one["id"] for one in within]


def test_a_threshold_of_nothing_is_off(served: Any) -> None:
    """threshold 0 lets all through; every score is from 0 to 1 and none stands below the threshold given."""
    for text in ("deploy the shop at night", "deploy the night bus", "night shift of the shop"):
        served.packs.remember(text, path=text.replace(" ", "-"))
    client = served.client()
    query = {"query": "deploy the shop at night"}
    every = client.post("/v1/recall/context", json={**query, "threshold": 0}).json()["items"]
    scores = {item["id"]: item["score"] for item in every}
    assert set(scores) == {"mem:1", "mem:2", "mem:3"}
    assert all(0 <= score <= 1 for score in scores.values())
    some = client.post("/v1/recall/context", json={**query, "threshold": 0.9}).json()["items"]
    assert [item["id"] for item in some] == [one for one, score in scores.items() if score >= 0.9] == ["mem:1"]


def test_times_of_a_request(served: Any) -> None:
    """An interval is half-open, bare times are of the owner's zone, a log comes in order of time."""
    for day in (1, 2, 3):
        served.packs.remember(f"deploy {day} of the shop", timestamp=f"2026-02-0{day}T15:00:00Z", path=f"p/{day}")
    client = served.client()

    def ids(**fields: Any) -> list[str]:
        answer = client.post("/v1/recall/context", json={"query": "deploy", **fields})
        assert answer.status_code == 200, answer.text
        return [item["id"] for item in answer.json()["items"]]

    assert sorted(ids(since="2026-02-02T15:00:00Z", until="2026-02-03T15:00:00Z")) == ["mem:2"]
    assert sorted(ids(since="2026-02-03", owner_timezone="Asia/Tokyo")) == ["mem:2", "mem:3"]
    assert ids(time_order="desc") == ["mem:3", "mem:2", "mem:1"]
    assert ids(time_order="asc") == ["mem:1", "mem:2", "mem:3"]
    bounds = {"since": "2026-02-01T00:00:00Z", "until": "2026-02-03T00:00:00Z"}
    log = {**bounds, "query": "unheard of", "query_mode": "activity_log", "reference_time": "2026-02-03T00:00:00Z"}
    assert ids(**log) == ["mem:1", "mem:2"]
    assert ids(**log, time_order="desc", hypothetical_answer="It was deployed.") == ["mem:2", "mem:1"]
    served.on(hours=1)
    client.patch("/v1/memories/mem:1", json={"title": "First"})
    assert ids(since="2026-03-01T12:30:00Z", temporal_axis_mode="updated_at") == ["mem:1"]
    assert ids(time_order="desc", temporal_axis_mode="split_filter_created_order_updated", until="2026-02-03") == [
        "mem:1",
        "mem:2",
    ]


@pytest.mark.parametrize(
    ("field", "value", "status"),
    [
        ("agent_id", "somebody", 422),
        ("id", "mem:7", 422),
        ("team_id", "red", 403),
        ("max_items", 0, 422),
        ("max_items", "eight", 422),
        ("max_items", True, 422),
        ("max_tokens", 12_001, 422),
        ("threshold", 1.5, 422),
        ("time_order", "up", 422),
        ("query_mode", "activity_log", 422),
        ("owner_timezone", "Mars/Base", 422),
        ("since", "yesterday", 422),
        ("profile", "none", 422),
        ("colour", "red", 422),
    ],
)
def test_what_is_at_fault_is_named(served: Any, field: str, value: object, status: int) -> None:
    """A field that is unknown, out of range or somebody else's is refused by its name."""
    answer = served.client().post("/v1/recall/context", json={"query": "x", field: value})
    assert (answer.status_code, answer.json()["field"]) == (status, field)
    assert isinstance(answer.json()["detail"], str)


@pytest.mark.parametrize("route", ["/v1/remember", "/v1/update_state", "/v1/timeline/events", "/v1/reminders"])
@pytest.mark.parametrize(("field", "status"), [("agent_id", 422), ("id", 422), ("team_id", 403)])
def test_no_write_names_another(served: Any, route: str, field: str, status: int) -> None:
    """No write takes an agent, an id or a team that is not the caller's."""
    answer = served.client().post(route, json={"content": "x", field: "somebody"})
    assert (answer.status_code, answer.json()["field"]) == (status, field)
    assert served.packs.stats()["records"] == 0


def test_nothing_of_another_tenant_is_seen_or_changed(served: Any) -> None:
    """Two tokens on one store: every route that names an id of the other answers as for one that never was."""
    ours, theirs = (
        served.packs.tokens.create(agent_id=agent, scopes=("memory:read", "memory:write")) for agent in ("red", "blue")
    )
    red, blue = served.client(ours.secret), served.client(theirs.secret, agent="red")
    red.post("/v1/remember", json={"content": "The vault opens with seven turns.", "path": "secrets", "bucket": "work"})
    red.post("/v1/reminders", json={"content": "Change the vault."})
    red.post("/v1/update_state", json={"current_task": "Guard the vault."})
    red.post("/v1/restart/snapshot", json={})
    calls: list[tuple[str, str, Any]] = [
        ("GET", "/v1/memories/{}", None),
        ("GET", "/v1/memories/{}/explain", None),
        ("PATCH", "/v1/memories/{}", {"content": "Mine."}),
        ("POST", "/v1/memories/{}/forget", {}),
        ("POST", "/v1/memories/{}/usage", {}),
        ("POST", "/v1/reminders/{}/complete", {}),
    ]
    for method, route, body in calls:
        for number in (1, 2):
            foreign = blue.request(method, route.format(f"mem:{number}"), json=body)
            unknown = blue.request(method, route.format("mem:77"), json=body)
            assert foreign.status_code == unknown.status_code == 404
            assert foreign.text.replace(f"mem:{number}", "") == unknown.text.replace("mem:77", "")
    assert blue.post("/v1/restart/restore", json={"snapshot_id": "mem:4"}).status_code == 404
    assert blue.post("/v1/restart/restore", json={}).json()["status"] == "not_found"
    assert blue.post("/v1/recall/context", json={"query": "vault"}).json()["items"] == []
    assert blue.post("/v1/recall/context", json={}).json()["items"] == []
    assert blue.get("/v1/memories/search?query=vault").json()["results"] == []
    assert blue.get("/v1/memories/search?query=*").json()["results"] == []
    assert blue.get("/v1/memories/search?query=mem:1").json()["results"] == []
    assert blue.get("/v1/reminders").json()["items"] == []
    assert blue.get("/v1/timeline").json()["events"] == []
    assert blue.post("/v1/recall", json={"query": "vault"}).json() == {"messages": []}
    assert blue.post("/v1/get_contents", json={"refs": ["mem:1"]}).json() == {"messages": [], "missing": ["mem:1"]}
    boundary = blue.post("/v1/recall/context", json={}).json()["agent_boundary"]
    assert (boundary["agent_id"], boundary["requested_agent_id"]) == ("blue", "red")
    assert red.get("/v1/memories/mem:1").json()["content"] == "The vault opens with seven turns."


def test_a_team_reads_what_one_of_it_wrote_and_does_not_change_it(served: Any) -> None:
    """Records of a team are read by its members, marked as the team's; only their owner changes them."""
    tokens = [
        served.packs.tokens.create(agent_id=agent, scopes=("memory:read", "memory:write"), teams=("crew",))
        for agent in ("red", "blue")
    ]
    red, blue = (served.client(token.secret) for token in tokens)
    red.post("/v1/remember", json={"content": "The crew meets at nine.", "path": "crew", "team_id": "crew"})
    (item,) = blue.post("/v1/recall/context", json={"query": "crew", "team_id": "crew"}).json()["items"]
    assert (item["id"], item["agent_boundary"]) == ("mem:1", "team")
    assert blue.get("/v1/memories/mem:1").json()["agent_boundary"] == "team"
    assert blue.patch("/v1/memories/mem:1", json={"content": "At ten."}).status_code == 404
    assert blue.post("/v1/memories/mem:1/forget", json={}).status_code == 404


WRITES = [
    ("POST", "/v1/remember", {"content": "c"}), ("POST", "/v1/update_state", {"content": "c"}),
    ("POST", "/v1/timeline/events", {"content": "c"}), ("POST", "/v1/reminders", {"content": "c"}),
    ("POST", "/v1/restart/snapshot", {}), ("PATCH", "/v1/memories/mem:1", {}), ("POST", "/threads", {"summary": "c"}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "route", "body"), WRITES)
def test_a_place_that_can_not_be_is_refused_before_anything_is_written(
    served: Any, method: str, route: str, body: dict[str, str]
) -> None:
    """`%`, all for a filter, is no place; the bucket of temporary memories needs the scope to see them again."""
    packs = served.packs
    packs.remember("there before")
    plain = served.client(packs.tokens.create("planner", ["memory:read", "memory:write"]).secret)
    allowed = ["memory:read", "memory:write", "memory:temporary:read"]
    temporary = served.client(packs.tokens.create("planner", allowed).secret)
    for field in ("bucket", "scope", "team_id"):
        refused = plain.request(method, route, json={**body, field: "%"})
        assert (refused.status_code, refused.json()["field"]) == (422, field)
    for bucket in ("temporary", " temporary "):
        refused = plain.request(method, route, json={**body, "bucket": bucket})
        detail = "scope: this credential lacks memory:temporary:read"
        assert (refused.status_code, refused.json()["detail"]) == (403, detail)
    assert packs.store.count() == 1
    assert packs.get("mem:1").bucket == "default"
    assert temporary.request(method, route, json={**body, "bucket": "temporary"}).is_success


def test_scopes_are_needed(served: Any) -> None:
    """A token that reads does not write, one that writes does not read; both learn which scope they lack."""
    reading = served.packs.tokens.create(agent_id="planner", scopes=("memory:read",))
    writing = served.packs.tokens.create(agent_id="planner", scopes=("memory:write",))
    reader, writer = served.client(reading.secret), served.client(writing.secret)
    assert writer.post("/v1/remember", json={"content": DECISION}).status_code == 201
    refused = reader.post("/v1/remember", json={"content": DECISION})
    assert (refused.status_code, "memory:write" in refused.json()["detail"]) == (403, True)
    for method, route in (
        ("POST", "/v1/recall/context"),
        ("GET", "/v1/memories/mem:1"),
        ("PATCH", "/v1/memories/mem:1"),
        ("POST", "/v1/restart/snapshot"),
    ):
        refused = writer.request(method, route, json=None if method == "GET" else {})
        assert (refused.status_code, "memory:read" in refused.json()["detail"]) == (403, True)
    assert served.client().get("/v1/memories/mem:1").status_code == 401


def test_a_public_token_gets_the_text_and_no_more(served: Any) -> None:
    """The public profile: the text form, and of each record what that shows; the bucket only if the caller named it."""
    token = served.packs.tokens.create(agent_id="planner", scopes=("memory:read", "memory:write"), profile="public")
    client = served.client(token.secret)
    client.post("/v1/remember", json={"content": DECISION, "path": "d", "bucket": "work", "metadata": {"a": 1}})
    answer = client.post("/v1/recall/context", json={"query": "DuckDB"}).json()
    assert set(answer) == {"text", "context_text", "budget", "items", "coverage", "agent_boundary"}
    assert answer["items"] == [
        {"id": "mem:1", "type": "memory", "path": "d", "memory_id": "mem:1", "memory_type": "memory"}
    ]
    assert answer["text"] == (
        "### XMemo Context\nItems: 1\nReference: mem:1 | Type: memory | Location: d\nContext:\n"
        f"[1] 2026-03-01\n {DECISION}"
    )
    assert answer["text"].endswith(answer["context_text"])
    named = client.post("/v1/recall/context", json={"query": "DuckDB", "bucket": "work"}).json()
    assert named["items"][0]["bucket"] == "work"
    assert set(client.get("/v1/memories/mem:1").json()) == {"id", "memory_id", "content", "path", "type", "memory_type"}
    (found,) = client.get("/v1/memories/search?query=DuckDB&explain=true").json()["results"]
    assert set(found) == {"id", "memory_id", "content", "path", "type", "memory_type"}
    refused = client.post("/v1/recall/context", json={"query": "DuckDB", "profile": "internal"})
    assert (refused.status_code, refused.json()["field"]) == (403, "profile")


def test_rows_are_those_of_the_other_doors(served: Any) -> None:
    """recall: preview, excerpt and ref; full_content whole; what the caller has is left out; get_contents by ref."""
    log = "\n".join(f"{n:04d} heartbeat" for n in range(200)) + "\nERROR 507 the disk is full"
    served.packs.remember(log, path="logs", external_id="log-1")
    served.packs.remember("The disk was full again on Monday because of old logs.", path="notes")
    client = served.client()
    rows = client.post("/v1/recall", json={"query": "disk full"}).json()["messages"]
    cut = next(row for row in rows if row["ref"] == "mem:1")
    assert (cut["content"], cut["content_truncated"], cut["content_len"]) == (log[:500], True, len(log))
    assert "ERROR 507 the disk is full" in cut["excerpt"]
    assert (cut["id"], cut["excerpt_basis"]) == ("log-1", "blocks")
    whole = client.post("/v1/recall", json={"query": "disk full", "full_content": True}).json()["messages"]
    assert {row["content"] for row in whole} == {log, "The disk was full again on Monday because of old logs."}
    conversation = [{"role": "user", "content": "The disk was full again on Monday because of old logs."}]
    beside = client.post("/v1/recall_with_context", json={"query": "disk full", "external_context": conversation})
    assert [row.get("ref") for row in beside.json()["messages"]] == ["mem:1", None]
    assert beside.json()["excluded"] == 1
    contents = client.post("/v1/get_contents", json={"refs": ["mem:2", "mem:9", "mem:1"]}).json()
    assert [row["ref"] for row in contents["messages"]] == ["mem:2", "mem:1"]
    assert contents["missing"] == ["mem:9"]


def test_a_large_search_is_bounded(served: Any) -> None:
    """Whole rows up to 200,000 characters of one answer, from the best down; then beginnings that say so."""
    for n in range(3):
        served.packs.remember(f"# report {n}\n" + f"line of report {n}\n" * 6_000, path=f"reports/{n}")
    results = served.client().get("/v1/memories/search?query=*").json()["results"]
    assert [one.get("content_truncated", False) for one in results] == [False, True, True]
    assert all(len(one["content"]) <= 500 for one in results[1:])
    assert sum(len(one["content"]) for one in results) < 201_000


def test_names_that_clients_call_are_there(served: Any) -> None:
    """Under /api/v1 as under /v1; a token is validated in the words that clients look for."""
    client = served.client()
    assert client.get("/health").json()["status"] == "ok"
    found = client.get("/api/v1/auth/token/validate").json()
    assert (found["status"], found["setup_state"]) == ("valid", "setup_completed")
    assert "memory:read" in found["scopes"]
    assert client.post("/api/v1/remember", json={"content": DECISION}).status_code == 201
    assert [one["id"] for one in client.get("/api/v1/recall?query=DuckDB&limit=5").json()["results"]] == ["mem:1"]


def test_answers_about_ids_in_a_body_are_described(served: Any) -> None:
    """What a body names and is not there is a 404, or a 410 for its owner, in fact and in the description."""
    client = served.client()
    paths = client.get("/openapi.json").json()["paths"]
    for route, body in (("/v1/remember", {"content": "x", "supersedes": "mem:9"}),
                        ("/v1/restart/restore", {"snapshot_id": "mem:9"})):  # fmt: skip
        assert client.post(route, json=body).status_code == 404
        assert "404" in paths[route]["post"]["responses"]
    one = client.post("/v1/restart/snapshot", json={}).json()["id"]
    client.post(f"/v1/memories/{one}/forget", json={})
    assert client.post("/v1/restart/restore", json={"snapshot_id": one}).status_code == 410
    assert "410" in paths["/v1/restart/restore"]["post"]["responses"]


def test_lone_surrogates_and_hostile_texts(served: Any) -> None:
    """A broken text is repaired and says so; Japanese, emoji and NUL come back as they were sent."""
    client = served.client()
    raw = b'{"content": "broken \\ud800 text", "path": "p"}'
    broken = client.post("/v1/remember", content=raw, headers={"Content-Type": "application/json"}).json()
    assert broken["notes"] == ["lone surrogates were replaced by U+FFFD"]
    text = "東京の会議は九時から。\u0000 👩‍👩‍👧 <|endoftext|>"
    stored = client.post("/v1/remember", json={"content": text, "path": "会議/東京"}).json()
    found = client.get(f"/v1/memories/{stored['id']}").json()
    assert (found["content"], found["path"]) == (text, "会議/東京")
    (item,) = client.post("/v1/recall/context", json={"query": "会議は何時", "path": "会議"}).json()["items"]
    assert item["id"] == stored["id"]
