"""K10, K15: what XMemo's published clients call, under the names that they call, answers as they read it."""

from collections.abc import Callable
from typing import Any

import pytest

from context_packs.packer import ContextPacks
from context_packs.packer.doors.mcp.tools import tools, unlisted
from context_packs.packer.packing.profile import load_profile

DECISION = {
    "context": "Which queue do we use?",
    "options": ["Kafka", " ", "NATS"],
    "path": "dsh/decisions",
    "bucket": "work",
}


def test_k15_a_decision_is_opened_listed_and_resolved(servers: Callable[..., Any]) -> None:
    """Open with its options, then resolved under the same id; the same resolution again changes nothing."""
    client = servers().client
    made = client.post("/v1/decisions", json={**DECISION, "due_at": "2026-03-05T12:00:00Z"})
    assert made.status_code == 201
    one = made.json()["id"]
    client.post("/v1/decisions", json={"context": "Which shed?", "due_at": "2026-03-02T12:00:00Z"})
    client.post("/v1/decisions", json={"context": "Which paint?"})
    listed = client.get("/v1/decisions", params={"bucket": "work", "item_status": "open", "limit": 2}).json()
    assert [item["context"] for item in listed["decisions"]] == ["Which shed?", "Which queue do we use?"]
    assert (
        listed["decisions"][1] | {"options": ["Kafka", "NATS"], "item_status": "open", "due_at": "2026-03-05T12:00:00Z"}
        == (listed["decisions"][1])
    )
    assert listed["items"] == listed["decisions"]
    assert client.get("/v1/decisions", params={"due_before": "2026-03-04T00:00:00Z"}).json()["count"] == 1
    done = client.post(f"/v1/decisions/{one}/resolve", json={"resolution": "NATS, since it is small."}).json()
    assert (done["id"], done["item_status"], done["resolution"]) == (one, "resolved", "NATS, since it is small.")
    again = client.post(f"/v1/decisions/{one}/resolve", json={"resolution": "NATS, since it is small."}).json()
    assert again["version"] == done["version"] == 2
    assert client.get("/v1/decisions", params={"item_status": "resolved"}).json()["decisions"][0]["id"] == one
    assert client.get("/v1/decisions", params={"item_status": "%"}).json()["count"] == 3
    pack = client.post("/v1/recall/context", json={"query": "Which queue do we use?"}).json()
    assert pack["items"][0]["id"] == one and "Decided: NATS" in pack["context_text"]


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("/v1/decisions", {"context": " "}, 422, "context"),
        ("/v1/decisions", {}, 422, "context"),
        ("/v1/decisions", {"context": "x", "options": ["a"] * 21}, 422, "options"),
        ("/v1/decisions", {"context": "x", "due_at": "soon"}, 422, "due_at"),
        ("/v1/decisions/mem:1/resolve", {"resolution": " "}, 422, "resolution"),
        ("/v1/decisions/mem:2/resolve", {"resolution": "x"}, 404, "id"),
        ("/v1/decisions/mem:99/resolve", {"resolution": "x"}, 404, "id"),
        ("/v1/decisions/c0ffee/resolve", {"resolution": "x"}, 404, "id"),
    ],
)
def test_k15_a_mistake_about_a_decision_names_its_field(
    servers: Callable[..., Any], path: str, body: Any, status: int, field: str
) -> None:
    """A record of another kind is no decision."""
    client = servers().client
    client.post("/v1/decisions", json=DECISION)
    client.post("/v1/remember", json={"content": "Not a choice."})
    told = client.post(path, json=body)
    assert (told.status_code, told.json()["detail"].partition(":")[0]) == (status, field)


def test_k15_the_trail_under_the_names_of_clients(servers: Callable[..., Any]) -> None:
    """Events with their ids, and a consolidation that never happened; for whoever may read the trail."""
    client = servers().client
    one = client.post("/v1/remember", json={"content": "Backups run nightly."}).json()["id"]
    events = client.get("/v1/audit/events", params={"target_id": one, "limit": 5}).json()["events"]
    assert [(event["action"], event["target_id"]) for event in events] == [("POST /v1/remember", one)]
    assert events[0].keys() >= {"id", "created_at"}
    document = client.get("/v1/audit/consolidation", params={"action_type": "summarize", "limit": 5}).json()
    assert (document["summary"], document["events"]) == ({"consolidated": 0}, [])
    assert document["actions"]["POST /v1/remember"] == 1


@pytest.mark.parametrize("path", ["/.well-known/agent-discovery.json", "/.well-known/memory-os.json"])
def test_k15_a_client_finds_the_server(servers: Callable[..., Any], path: str) -> None:
    """Without a credential: addresses as the caller reached it, and what the document never does."""
    served = servers()
    served.packs.tokens.create("planner", ["memory:read"])
    document = served.client.get(path).json()
    assert (document["service"], document["urls"]["mcp"]) == ("memory-os", f"{document['urls']['api_base']}/mcp")
    assert document["security"] == {"no_remote_code_execution": True, "token_in_discovery": False}
    assert document["auth"]["token_in_discovery"] is False
    assert served.client.get("/ready").json() == served.client.get("/health").json()


@pytest.mark.parametrize("profile", ["public", "internal"])
def test_k10_an_identity_is_told_and_not_listed(profile: str) -> None:
    """An extension signs in by it; a model that reads the list has no use for it."""
    with ContextPacks.open(":memory:", "planner", teams=("core",), embedder="none") as packs:
        (tool,) = unlisted(load_profile(profile))
        assert tool.name == "get_mcp_identity" not in [one.name for one in tools(load_profile(profile))]
        answer = tool.call(lambda: packs, {})
    assert '"agent_id":"planner"' in answer.text and '"teams":["core"]' in answer.text


def test_k11_nothing_is_told_in_words_where_the_answer_is_a_structure() -> None:
    """K11: an empty text reads as a failure; the structure says the same."""
    with ContextPacks.open(":memory:", "planner", embedder="none") as packs:
        packs.remember("The crane is yellow.")
        tool = next(one for one in tools(load_profile("internal")) if one.name == "recall_context")
        answer = tool.call(lambda: packs, {"query": "zebra quantum"})
    assert answer.text == "No matching XMemo memory was found."
    assert answer.document is not None and answer.document["budget"]["state"] == "no_match"
