"""The chain of recall over HTTP: three hops by what each answer says, exact reads, ranges, pages, and honest errors."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from context_packs.packer import ContextPacks
from context_packs.packer.doors.rest.app import create_app

LOG = "compile ok\n" * 500 + "FAILED tests/test_retry.py::test_backoff - 期待した値と違う\n" + "bye\n" * 500


@pytest.fixture
def packs(tmp_path: Path) -> Iterator[ContextPacks]:
    """The memory of the server's agent."""
    with ContextPacks.open(tmp_path / "memory.duckdb", "planner", mode="exclusive", embedder="none") as packs:
        yield packs


@pytest.fixture
def client(packs: ContextPacks) -> Iterator[TestClient]:
    """The server, open."""
    with TestClient(create_app(packs), base_url="http://127.0.0.1") as client:
        yield client


def made(client: TestClient, path: str, expected: int = 201, /, **body: Any) -> Any:
    """What a write answers."""
    told = client.post(path, json=body)
    assert told.status_code == expected, told.text
    return told.json()


def thread_of(client: TestClient, events: int, **fields: Any) -> str:
    """A thread with so many events, all of one moment."""
    one: str = made(client, "/threads", summary="Retry with backoff", **fields)["thread_id"]
    for n in range(events):
        made(client, "/triggers", thread_id=one, source="ci", summary=f"event {n}", occurred_at="2026-03-01T09:30:00Z")
    return one


# ---- three hops


def test_from_a_line_of_the_index_to_the_exact_cause_in_three_fetches(client: TestClient) -> None:
    """Thread, worker's report, payload of the trigger that it cites: every address stands in the answer before."""
    thread = made(client, "/threads", summary="PR #412: Retry with backoff", natural_key="github:acme/shop/pull/412")
    cause = made(client, "/triggers", thread_id=thread["thread_id"], source="ci", payload=LOG, summary="tests failed")
    made(client, "/triggers", thread_id=thread["thread_id"], source="chat", payload="Anybody looking?")
    worker = made(client, "/workers", task="Why did CI fail?", threads=[thread["thread_id"]])
    made(client, f"/workers/{worker['worker_id']}/report", report="Backoff waits once.", cites=[cause["trigger_id"]])

    (line,) = client.get("/threads", params={"status": "open"}).json()["threads"]
    assert line["summary"] == "PR #412: Retry with backoff"
    first = client.get(f"/threads/{line['thread_id']}").json()
    assert first["event_count"] == 2
    second = client.get(f"/workers/{first['owner_workers'][0]}").json()
    assert second["report"] == "Backoff waits once."
    third = client.get(f"/triggers/{second['cites'][0]}").json()
    spilled = re.fullmatch(r"GET (/\S+) \(([0-9]+) bytes, truncated\)", third["spilled"]["payload"])
    assert spilled is not None
    payload = client.get(spilled[1])
    assert payload.text == LOG
    assert len(payload.content) == int(spilled[2])
    assert third["neighbours"] == [
        f"{client.get('/triggers/' + third['neighbours'][0].split(': ')[0]).json()['trigger_id']}: Anybody looking?"
    ]


def test_a_trigger_says_its_line_its_place_and_its_small_payload(client: TestClient) -> None:
    """The inline form, as it was posted and as it is read."""
    one = thread_of(client, 1)
    posted = made(
        client,
        "/triggers",
        trigger_id="trg_smoke",
        thread_id=one,
        source="ci",
        payload={"job": "smoke", "ok": False},
        summary="smoke failed",
        occurred_at="2026-03-01T09:30:00+09:00",
        external_id="run-1",
    )
    received = posted.pop("received_at")
    assert received.endswith("Z")
    (neighbour,) = posted.pop("neighbours")
    assert neighbour.endswith(": event 0")
    assert posted == {
        "trigger_id": "trg_smoke",
        "source": "ci",
        "thread_id": one,
        "summary": "smoke failed",
        "occurred_at": "2026-03-01T00:30:00Z",
        "external_id": "run-1",
        "links": [],
        "spilled": {},
        "payload": {"job": "smoke", "ok": False},
    }
    assert client.get("/triggers/trg_smoke").json() == posted | {"received_at": received, "neighbours": [neighbour]}


# ---- writes


def test_writing_the_same_again_answers_with_what_is_there(client: TestClient) -> None:
    """201 and a Location first, then 200 with the same id, for each kind of object."""
    one = made(client, "/threads", summary="first", natural_key="k")["thread_id"]
    there = made(client, "/threads", 200, summary="second", natural_key="k")
    assert there["summary"] == "first" and "not applied: summary" in there["notes"][0]
    event = {"thread_id": one, "source": "ci", "summary": "x", "external_id": "e"}
    told = client.post("/triggers", json=event)
    assert told.headers["location"] == f"/triggers/{told.json()['trigger_id']}"
    assert client.get(told.headers["location"]).status_code == 200
    assert made(client, "/triggers", 200, **event)["trigger_id"] == told.json()["trigger_id"]
    other = client.post("/triggers", json={**event, "occurred_at": "2026-01-02T03:04:05Z"})
    assert other.status_code == 409
    assert other.json()["detail"].startswith(
        f"external_id: already names {told.json()['trigger_id']}, which has another"
    )
    work = {"worker_id": "wkr_a", "task": "look", "threads": [one]}
    made(client, "/workers", **work)
    made(client, "/workers", 200, **work)
    found = {"report": "done", "cites": [told.json()["trigger_id"]]}
    assert made(client, "/workers/wkr_a/report", **found)["status"] == "done"
    assert made(client, "/workers/wkr_a/report", 200, **found)["version"] == 2
    link = {"from": "wkr_a", "to": one, "rel": "closes"}
    assert made(client, "/links", **link) == link
    assert made(client, "/links", 200, **link) == link


def test_a_thread_takes_another_line_and_status(client: TestClient) -> None:
    """What is not given stays; the id does."""
    one = thread_of(client, 0)
    assert client.patch(f"/threads/{one}", json={"status": "closed"}).json()["summary"] == "Retry with backoff"
    told = client.patch(f"/threads/{one}", json={"summary": "Done"}).json()
    assert (told["thread_id"], told["summary"], told["status"]) == (one, "Done", "closed")


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("/threads", {}, 422, "summary"),
        ("/threads", {"summary": "x", "agent_id": "somebody"}, 422, "agent_id"),
        ("/threads", {"summary": "x", "team_id": "theirs"}, 403, "team_id"),
        ("/threads", {"summary": "x", "thread_id": "thr_"}, 422, "thread_id"),
        ("/threads", {"summary": "x", "thread_id": "trg_1"}, 422, "thread_id"),
        ("/threads", {"summary": 7}, 422, "summary"),
        ("/triggers", {"source": "ci"}, 422, "thread_id"),
        ("/triggers", {"thread_id": "thr_unknown", "source": "ci", "summary": "x"}, 404, "thread_id"),
        ("/triggers", {"thread_id": "thr_a", "source": "a|b", "summary": "x"}, 422, "source"),
        ("/triggers", {"thread_id": "thr_a", "source": "ci"}, 422, "summary"),
        (
            "/triggers",
            {"thread_id": "thr_a", "source": "ci", "summary": "x", "occurred_at": "then"},
            422,
            "occurred_at",
        ),
        ("/triggers", {"thread_id": "thr_a", "source": "ci", "payload": "x", "media_type": "x"}, 422, "media_type"),
        ("/workers", {"task": " "}, 422, "task"),
        ("/workers", {"task": "x", "threads": ["thr_unknown"]}, 404, "threads"),
        ("/workers/wkr_unknown/report", {"report": "x"}, 404, "worker_id"),
        ("/workers/mem:1/report", {"report": "x"}, 404, "worker_id"),
        ("/workers/thr_a/report", {"report": "x"}, 404, "worker_id"),
        ("/links", {"from": "thr_a", "to": "thr_unknown", "rel": "x"}, 404, "to"),
        ("/links", {"from": "thr_a", "to": "nothing", "rel": "x"}, 422, "to"),
        ("/links", {"from": "thr_a", "to": "thr_a", "rel": ""}, 422, "rel"),
    ],
)
def test_a_write_that_can_not_be_names_what_is_at_fault(
    client: TestClient, path: str, body: dict[str, Any], status: int, field: str
) -> None:
    """A problem document with the field, and nothing is kept."""
    made(client, "/threads", thread_id="thr_a", summary="a")
    told = client.post(path, json=body)
    assert (told.status_code, told.json()["field"]) == (status, field)
    assert told.headers["content-type"] == "application/problem+json"
    assert told.json()["detail"].startswith(f"{field}: ")
    assert client.get("/threads/thr_a").json()["event_count"] == 0


def test_an_id_that_stands_for_something_else_is_a_conflict(client: TestClient) -> None:
    """An id is never used again: not for other content, not after deletion."""
    made(client, "/threads", thread_id="thr_a", summary="a", natural_key="a")
    assert client.post("/threads", json={"thread_id": "thr_a", "summary": "b", "natural_key": "b"}).status_code == 409
    assert client.post("/v1/memories/thr_a/forget", json={"mode": "hard_delete"}).status_code == 200
    assert client.post("/threads", json={"thread_id": "thr_a", "summary": "a", "natural_key": "a"}).status_code == 409


# ---- reads


@pytest.mark.parametrize(
    "path",
    ["/threads/thr_{}", "/threads/thr_{}/events", "/workers/wkr_{}", "/triggers/trg_{}", "/triggers/trg_{}/payload"],
)
def test_unknown_deleted_and_malformed_ids_are_told_apart(client: TestClient, path: str) -> None:
    """404, also for another form, 410 to the owner: always a problem document, never an empty 200."""
    made(client, "/threads", thread_id="thr_a", summary="a")
    made(client, "/workers", worker_id="wkr_a", task="a", threads=["thr_a"])
    made(client, "/triggers", trigger_id="trg_a", thread_id="thr_a", source="ci", payload="a")
    assert client.get(path.format("a")).status_code == 200
    for wanted, status in (("unknown", 404), ("", 404), ("%20a", 404), ("a" * 70, 404)):
        told = client.get(path.format(wanted))
        assert (told.status_code, told.headers["content-type"]) == (status, "application/problem+json")
        assert told.json()["status"] == status
    kind = path.split("/")[2].format("a")
    assert client.post(f"/v1/memories/{kind}/forget", json={"mode": "hard_delete"}).status_code == 200
    assert client.get(path.format("a")).status_code == 410


def test_what_is_somebody_elses_is_as_unknown_as_what_never_was(client: TestClient) -> None:
    """Another agent gets the same words for both, on every read and write."""
    made(client, "/threads", thread_id="thr_a", summary="a")
    made(client, "/workers", worker_id="wkr_a", task="a", threads=["thr_a"])
    made(client, "/triggers", trigger_id="trg_a", thread_id="thr_a", source="ci", payload="a")
    other = {"X-Memory-OS-Agent-ID": "other"}
    for path in (
        "/threads/thr_a",
        "/threads/thr_a/events",
        "/workers/wkr_a",
        "/triggers/trg_a",
        "/triggers/trg_a/payload",
    ):
        theirs = client.get(path, headers=other)
        never = client.get(path.replace("_a", "_b"), headers=other)
        assert (theirs.status_code, never.status_code) == (404, 404)
        assert theirs.text.replace("_a", "_b") == never.text
    for path, body in (
        ("/triggers", {"thread_id": "thr_a", "source": "ci", "summary": "x"}),
        ("/workers", {"task": "x", "threads": ["thr_a"]}),
        ("/workers/wkr_a/report", {"report": "x"}),
        ("/links", {"from": "thr_a", "to": "trg_a", "rel": "x"}),
    ):
        theirs = client.post(path, json=body, headers=other)
        never = client.post(
            path.replace("_a", "_b"), json=json.loads(json.dumps(body).replace("_a", "_b")), headers=other
        )
        assert (theirs.status_code, never.status_code) == (404, 404)
        assert theirs.text.replace("_a", "_b") == never.text
    assert client.get("/threads", headers=other).json() == {"threads": [], "next_cursor": None}
    assert client.get("/threads/thr_a").json()["event_count"] == 1


@pytest.mark.parametrize("path", ["/threads/thr_a", "/workers/wkr_a", "/triggers/trg_a", "/triggers/trg_a/payload"])
def test_an_exact_get_is_not_sent_twice(client: TestClient, path: str) -> None:
    """The ETag answers If-None-Match with 304 and no body, as long as nothing changed."""
    made(client, "/threads", thread_id="thr_a", summary="a")
    made(client, "/workers", worker_id="wkr_a", task="a", threads=["thr_a"])
    made(client, "/triggers", trigger_id="trg_a", thread_id="thr_a", source="ci", payload="a")
    tag = client.get(path).headers["etag"]
    again = client.get(path, headers={"If-None-Match": f'"x", {tag}'})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(path, headers={"If-None-Match": '"x"'}).status_code == 200


@pytest.mark.parametrize(
    ("asked", "status", "expected", "content_range"),
    [
        ("bytes=0-4", 206, b"01234", "bytes 0-4/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-2", 206, b"89", "bytes 8-9/10"),
        ("bytes=4-400", 206, b"456789", "bytes 4-9/10"),
        ("bytes=10-", 416, None, "bytes */10"),
        ("bytes=-0", 416, None, "bytes */10"),
        ("bytes=2-1", 200, b"0123456789", None),
        ("bytes=0-1,4-5", 200, b"0123456789", None),
        ("pages=1-2", 200, b"0123456789", None),
    ],
)
def test_a_payload_is_read_in_ranges_of_bytes(
    client: TestClient, asked: str, status: int, expected: bytes | None, content_range: str | None
) -> None:
    """RFC 9110, section 14: one range is served, what no range can be is the whole, what is outside is 416."""
    made(client, "/threads", thread_id="thr_a", summary="a")
    made(client, "/triggers", trigger_id="trg_a", thread_id="thr_a", source="ci", payload="0123456789")
    told = client.get("/triggers/trg_a/payload", headers={"Range": asked})
    assert told.status_code == status
    assert told.headers.get("content-range") == content_range
    if expected is not None:
        assert told.content == expected
        assert told.headers["content-type"] == "text/plain; charset=utf-8"
        assert told.headers["accept-ranges"] == "bytes"


def test_a_range_of_other_bytes_is_the_whole(client: TestClient) -> None:
    """If-Range with the tag of these bytes is served in part, with another one whole."""
    made(client, "/threads", thread_id="thr_a", summary="a")
    made(client, "/triggers", trigger_id="trg_a", thread_id="thr_a", source="ci", payload="0123456789")
    tag = client.get("/triggers/trg_a/payload").headers["etag"]
    for given, status in ((tag, 206), ('"x"', 200), (f"W/{tag}", 200)):
        told = client.get("/triggers/trg_a/payload", headers={"Range": "bytes=0-1", "If-Range": given})
        assert (told.status_code, told.headers["etag"]) == (status, tag)


def test_the_parts_of_a_payload_are_the_payload(client: TestClient, packs: ContextPacks) -> None:
    """Any bytes, read piece by piece over HTTP, are those that came."""
    body = bytes(range(256)) * 41
    one = thread_of(client, 0)
    packs.threads.add_trigger(one, "disk", trigger_id="trg_a", payload=body, media_type="text/html")
    told = b"".join(
        client.get("/triggers/trg_a/payload", headers={"Range": f"bytes={at}-{at + 999}"}).content
        for at in range(0, len(body), 1000)
    )
    assert told == body
    whole = client.get("/triggers/trg_a/payload")
    assert whole.content == body
    assert whole.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert whole.headers["content-disposition"] == "attachment"
    assert whole.headers["x-content-type-options"] == "nosniff"


def test_a_trigger_without_a_payload_has_none(client: TestClient) -> None:
    """404 for the bytes, and nothing spilled that could not be read."""
    one = thread_of(client, 1)
    (event,) = client.get(f"/threads/{one}/events").json()["events"]
    assert event["spilled"] == {}
    assert "payload" not in event
    assert client.get(f"/triggers/{event['trigger_id']}/payload").status_code == 404


# ---- pages


@pytest.mark.parametrize("limit", [1, 3, 4, 10, 200])
def test_pages_give_every_event_once_and_in_order(client: TestClient, limit: int) -> None:
    """Ten events of one moment in pages of any size; null is the only end."""
    one = thread_of(client, 10)
    seen, cursor = [], None
    for _ in range(20):
        page = client.get(
            f"/threads/{one}/events", params={"limit": limit, **({"cursor": cursor} if cursor else {})}
        ).json()
        seen += [event["summary"] for event in page["events"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [f"event {n}" for n in range(10)]


def test_a_follower_reads_on_where_it_stopped(client: TestClient) -> None:
    """resume_cursor after the last page gives exactly what has arrived since, and again a place to go on from."""
    one = thread_of(client, 2)
    page = client.get(f"/threads/{one}/events").json()
    assert page["next_cursor"] is None
    quiet = client.get(f"/threads/{one}/events", params={"cursor": page["resume_cursor"]}).json()
    assert (quiet["events"], quiet["next_cursor"]) == ([], None)
    made(client, "/triggers", thread_id=one, source="ci", summary="late", occurred_at="2020-01-01")
    later = client.get(f"/threads/{one}/events", params={"cursor": quiet["resume_cursor"]}).json()
    assert [event["summary"] for event in later["events"]] == ["late"]


def test_the_index_lists_threads_newest_first_in_pages(client: TestClient) -> None:
    """Every thread once, with its number of events; a thread that comes in meanwhile shifts nothing."""
    ids = [thread_of(client, n % 2, status="open" if n % 3 else "closed") for n in range(7)]
    seen, cursor = [], None
    for _ in range(10):
        page = client.get("/threads", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        seen += [(line["thread_id"], line["event_count"]) for line in page["threads"]]
        thread_of(client, 0, status="meanwhile")
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [(one, n % 2) for n, one in reversed(list(enumerate(ids)))]
    closed = client.get("/threads", params={"status": "closed"}).json()["threads"]
    assert [line["thread_id"] for line in closed] == [ids[6], ids[3], ids[0]]
    assert len(client.get("/threads", params={"status": "%", "limit": 200}).json()["threads"]) == 7 + 4


def test_a_cursor_belongs_to_its_query(client: TestClient) -> None:
    """409 for the cursor of another thread, status or agent; 422 for what is none."""
    one, other = thread_of(client, 3), thread_of(client, 3)
    cursor = client.get(f"/threads/{one}/events", params={"limit": 1}).json()["next_cursor"]
    assert client.get(f"/threads/{other}/events", params={"cursor": cursor}).status_code == 409
    index = client.get("/threads", params={"limit": 1}).json()["next_cursor"]
    assert client.get("/threads", params={"limit": 1, "cursor": index}).status_code == 200
    assert client.get("/threads", params={"status": "open", "cursor": index}).status_code == 409
    assert client.get("/threads", params={"cursor": cursor}).status_code == 409
    assert client.get(f"/threads/{one}/events", params={"cursor": index}).status_code == 409
    for path, whole in (("/threads", index), (f"/threads/{one}/events", cursor)):
        for broken in ("x", whole[:-2] + "AA", "A" + whole[1:], "é"):
            told = client.get(path, params={"cursor": broken})
            assert (told.status_code, told.json()["field"]) == (422, "cursor")


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=x", "limit=1.5", "offset=10", "page=2", "cursor=x"])
def test_a_page_that_can_not_be_is_refused(client: TestClient, query: str) -> None:
    """No parameter is passed over in silence."""
    one = thread_of(client, 1)
    for path in ("/threads", f"/threads/{one}/events"):
        told = client.get(f"{path}?{query}")
        assert (told.status_code, told.json()["field"]) == (422, query.partition("=")[0])


# ---- credentials


def test_reading_and_writing_need_their_scopes(packs: ContextPacks) -> None:
    """A credential that reads does not write, one that writes does not read, and none does nothing."""
    reader = {"X-API-Key": packs.tokens.create("planner", ["memory:read"]).secret}
    writer = {"Authorization": f"Bearer {packs.tokens.create('planner', ['memory:write']).secret}"}
    with TestClient(create_app(packs), base_url="http://127.0.0.1") as client:
        body = {"thread_id": "thr_a", "summary": "a"}
        assert client.post("/threads", json=body).status_code == 401
        assert client.post("/threads", json=body, headers=reader).status_code == 403
        assert client.post("/threads", json=body, headers=writer).status_code == 201
        for path in ("/threads", "/threads/thr_a", "/threads/thr_a/events", "/workers/wkr_a", "/triggers/trg_a"):
            assert client.get(path).status_code == 401
            assert client.get(path, headers=writer).status_code == 403
        assert client.get("/v1/threads/thr_a", headers=reader).json()["summary"] == "a"


def test_who_may_only_write_is_told_nothing_that_stands_there(packs: ContextPacks) -> None:
    """Without the scope to read a write answers with ids, times and what it has just said, whatever it repeats."""
    thread = packs.threads.create("hidden line", thread_id="thr_a", natural_key="k").id
    trigger = packs.threads.add_trigger(thread, "ci", summary="hidden event", payload="hidden", external_id="e").id
    worker = packs.threads.create_worker("hidden task", [thread]).id
    packs.threads.report(worker, "hidden report", [trigger])
    writer = {"X-API-Key": packs.tokens.create("planner", ["memory:write"]).secret}
    with TestClient(create_app(packs), base_url="http://127.0.0.1", headers=writer) as client:
        event = {"thread_id": thread, "source": "ci"}
        same = made(client, "/threads", 200, summary="other", natural_key="k")
        assert (same["thread_id"], same["summary"], same["owner_workers"], same["event_count"]) == (thread, "", [], 1)
        assert client.patch("/threads/thr_a", json={}).json()["thread_id"] == thread
        again = made(client, "/triggers", 200, **event, payload="hidden", external_id="e")
        assert (again["trigger_id"], again["summary"], "payload" in again) == (trigger, "", False)
        new = made(client, "/triggers", **event, payload="said", summary="mine")
        assert (new["summary"], new["payload"], new["neighbours"], new["links"]) == ("mine", "said", [], [])
        reported = made(client, f"/workers/{worker}/report", report="said", cites=[])
        assert (reported["report"], reported["task"], reported["threads"]) == ("said", "", [])
        answers = [same, again, new, reported, client.patch("/threads/thr_a", json={"status": "done"}).json()]
        assert "hidden" not in json.dumps(answers)


def test_every_error_is_described_as_a_problem_document(client: TestClient) -> None:
    """What /openapi.json says of an answer from 400 on is application/problem+json, on every route of the chain."""
    document = client.get("/openapi.json").json()
    described = [
        (path, status, answer)
        for path, route in document["paths"].items()
        if path.split("/")[1] in ("threads", "triggers", "workers", "links", "hooks")
        for operation in route.values()
        for status, answer in operation["responses"].items()
        if int(status) >= 400
    ]
    assert len(described) > 50
    for path, status, answer in described:
        answer = document["components"]["responses"][answer["$ref"].split("/")[-1]] if "$ref" in answer else answer
        assert list(answer["content"]) == ["application/problem+json"], (path, status)
