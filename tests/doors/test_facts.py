"""An answer keeps its ceiling whatever a store of an older version holds in `source` and `metadata`."""

import json
from typing import Any

FACTS = {"name": "old", "note": "x" * 100_000}


def fill(served: Any) -> str:
    """Records with large facts among usual ones; the id of one of them."""
    packs = served.packs
    for n in range(20):
        packs.remember(f"The harbour opens at six on day {n}.", source={"name": f"port-{n}"}, metadata={"day": n})
    with packs.store.duck.writing() as session:
        wide = {"facts": json.dumps(FACTS)}
        session.run("UPDATE records SET source = $facts, metadata = $facts WHERE key % 32 = 0", wide)
    return "mem:2"


def test_large_facts_of_an_older_store_are_left_out_and_named(served: Any) -> None:
    """Packs, rows and searches say what they leave out; a record by its id is whole."""
    one = fill(served)
    client = served.client()
    query = {"query": "When does the harbour open on day 1?", "max_items": 50, "max_tokens": 4000}
    pack = client.post("/v1/recall/context", json=query)
    assert len(pack.content) < 100_000
    sources = {item["id"]: (item["source"].get("name"), item.get("left_out")) for item in pack.json()["items"]}
    assert sources[one] == (None, ["source"])
    assert sources["mem:1"] == ("port-0", None)
    found = client.get("/v1/memories/search", params={"query": "harbour opens", "limit": 200})
    assert len(found.content) < 100_000
    rows = {row["id"]: row for row in found.json()["results"]}
    assert (rows[one]["source"], rows[one]["metadata"], rows[one]["left_out"]) == ({}, {}, ["source", "metadata"])
    assert rows["mem:1"]["metadata"] == {"day": 0} and "left_out" not in rows["mem:1"]
    for route, body in (("/v1/recall", {"query": "harbour on day 1"}), ("/v1/get_contents", {"refs": [one, "mem:1"]})):
        told = client.post(route, json=body)
        assert len(told.content) < 50_000
        kept = {row["ref"]: row for row in told.json()["messages"]}
        assert (kept[one]["source"], kept[one]["left_out"]) == ({}, ["source"])
    assert client.get(f"/v1/memories/{one}").json()["source"] == FACTS


def test_facts_that_are_large_only_together_are_told_while_there_is_room(served: Any) -> None:
    """Best first: 64 KiB of sources in a pack, 256 KiB of both in a search."""
    packs = served.packs
    for n in range(20):
        packs.remember(f"The harbour opens at {n}.", source={"note": "x" * 30_000})
    query = {"query": "harbour opens", "max_items": 50, "max_tokens": 4000}
    pack = served.client().post("/v1/recall/context", json=query).json()
    assert [bool(item["source"]) for item in pack["items"]] == [True] * 2 + [False] * 18
    found = served.client().get("/v1/memories/search", params={"query": "harbour opens", "limit": 20}).json()["results"]
    assert [bool(row["source"]) for row in found] == [True] * 8 + [False] * 12


def test_every_write_route_has_the_limit(served: Any) -> None:
    """422 that names the field, and nothing is written."""
    large = {"note": "x" * 40_000}
    one = served.client().post("/v1/remember", json={"content": "a"}).json()["id"]
    for method, route, body, field in (
        ("POST", "/v1/remember", {"content": "b", "metadata": large}, "metadata"),
        ("POST", "/v1/remember", {"content": "b", "provenance": large}, "provenance"),
        ("PATCH", f"/v1/memories/{one}", {"metadata": large}, "metadata"),
        ("POST", f"/v1/memories/{one}/usage", {"metadata": large}, "metadata"),
        ("POST", "/v1/timeline/events", {"content": "b", "metadata": large}, "metadata"),
        ("POST", "/v1/update_state", {"content": "b", "metadata": large}, "metadata"),
        ("POST", "/v1/reminders", {"content": "b", "metadata": large}, "metadata"),
    ):
        answer = served.client().request(method, route, json=body)
        assert (answer.status_code, answer.json().get("field")) == (422, field), (route, answer.text)
    assert [row["id"] for row in served.client().get("/v1/memories/search?query=*").json()["results"]] == [one]
