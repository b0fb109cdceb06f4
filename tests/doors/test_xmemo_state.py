"""Work under way over REST: state, timeline, reminders and restart snapshots, and that they come back in restores."""

from typing import Any

import pytest

PLACE = {"bucket": "work", "scope": "hermes/default"}


def test_state_stands_under_its_key(served: Any) -> None:
    """The later state of a key replaces the earlier, and expires; the answer says when."""
    client = served.client()
    body = {"state_key": "active_task", **PLACE, "ttl_seconds": 3600, "current_task": "Write the door"}
    first = client.post("/v1/update_state", json={**body, "next_action": "Run it", "blocked_reason": "No host"})
    second = client.post("/v1/update_state", json={**body, "content": "Half of it works.", "current_task": "Test it"})
    assert (first.status_code, first.json()) == (
        201,
        {
            "id": "mem:1",
            "memory_id": "mem:1",
            "state_id": "mem:1",
            "state_key": "active_task",
            "status": "created",
            "version": 1,
            "expires_at": "2026-03-01T13:00:00Z",
        },
    )
    assert client.get("/v1/memories/mem:1").json()["content"] == (
        "Current task: Write the door\nNext action: Run it\nBlocked: No host"
    )
    (item,) = client.post("/v1/recall/context", json={"query": "task", "status": "active", **PLACE}).json()["items"]
    assert (item["id"], item["memory_type"]) == (second.json()["id"], "state")
    kept = client.get("/v1/memories/mem:2").json()
    assert kept["content"] == "Half of it works.\nCurrent task: Test it"
    assert kept["metadata"] == {
        "state_key": "active_task",
        "current_task": "Test it",
        "content": "Half of it works.",
    }
    served.on(hours=1)
    assert client.post("/v1/recall/context", json={"query": "task"}).json()["items"] == []


def test_a_state_sent_twice_is_kept_once(served: Any) -> None:
    """Under its key a repeated request answers with what it made, also after a newer state; other content conflicts."""
    client = served.client()
    key = {"Idempotency-Key": "s"}
    body = {"current_task": "A", "idempotency_key": "s"}
    ids = [client.post("/v1/update_state", json=body, headers=key).json()["id"]]
    ids += [client.post("/v1/update_state", json={"current_task": "B"}).json()["id"]]
    again = client.post("/v1/update_state", json=body, headers=key)
    assert (again.status_code, again.json()["status"], again.json()["id"]) == (200, "existing", ids[0])
    assert client.post("/v1/update_state", json={"current_task": "C"}, headers=key).status_code == 409
    pack = client.post("/v1/recall/context", json={}).json()
    assert [item["id"] for item in pack["items"]] == [ids[1]]


@pytest.mark.parametrize("place", [{"bucket": "home"}, {"scope": "other"}, {"state_key": "other"}])
def test_states_of_other_places_stay(served: Any, place: dict[str, str]) -> None:
    """A state of another bucket, scope or key replaces nothing."""
    client = served.client()
    client.post("/v1/update_state", json={"current_task": "Write", **PLACE})
    client.post("/v1/update_state", json={"current_task": "Test", **PLACE, **place})
    assert client.get("/v1/memories/mem:1").json()["superseded_by"] is None


def test_working_state_comes_first_where_it_is_preferred(served: Any) -> None:
    """prefer_working puts state that bears on the query in front; without it the best record is."""
    client = served.client()
    served.packs.remember("The release of the shop needs a signed release note.", path="shop")
    client.post("/v1/update_state", json={"current_task": "Prepare the release of something else entirely"})
    body = {"query": "release of the shop"}
    plain = client.post("/v1/recall/context", json=body).json()["items"]
    preferred = client.post("/v1/recall/context", json={**body, "prefer_working": True}).json()["items"]
    assert [item["id"] for item in plain] == ["mem:1", "mem:2"]
    assert [item["id"] for item in preferred] == ["mem:2", "mem:1"]


def test_events_are_appended(served: Any) -> None:
    """Each event is one of its own, with the time when it happened; the timeline gives the latest first."""
    client = served.client()
    event = {"content": "Tests passed.", "event_type": "milestone", **PLACE, "session_id": "s1", "importance": 0.5}
    first = client.post("/v1/timeline/events", json={**event, "occurred_at": "2026-02-01T10:00:00+01:00"})
    client.post("/v1/timeline/events", json={"content": "Tests passed.", **PLACE})
    keyed = [
        client.post("/v1/timeline/events", json={"content": "Done.", **PLACE}, headers={"Idempotency-Key": "e"})
        for _ in range(2)
    ]
    assert (first.status_code, first.json()) == (
        201,
        {
            "id": "mem:1",
            "memory_id": "mem:1",
            "event_id": "mem:1",
            "event_type": "milestone",
            "content": "Tests passed.",
            "occurred_at": "2026-02-01T09:00:00Z",
            "status": "created",
            "version": 1,
        },
    )
    assert [(answer.status_code, answer.json()["id"]) for answer in keyed] == [(201, "mem:3"), (200, "mem:3")]
    events = client.get("/v1/timeline", params=PLACE).json()["events"]
    assert [(one["id"], one["event_type"]) for one in events] == [
        ("mem:3", "event"),
        ("mem:2", "event"),
        ("mem:1", "milestone"),
    ]
    assert (events[2]["session_id"], events[2]["importance"], events[2]["bucket"]) == ("s1", 0.5, "work")
    for params in ({"event_type": "milestone"}, {"session_id": "s1"}, {"until": "2026-02-02T00:00:00Z"}):
        assert [one["id"] for one in client.get("/v1/timeline", params=params).json()["events"]] == ["mem:1"]
    assert client.get("/v1/timeline", params={"bucket": "home"}).json()["events"] == []


def test_reminders_are_open_until_completed(served: Any) -> None:
    """Create, list by due time, complete; a completed one is listed as such, and the same text may come again."""
    client = served.client()
    made = [
        client.post("/v1/reminders", json={"content": text, **PLACE, "due_at": due})
        for text, due in (
            ("Ask for a review", None),
            ("Pay the bill", "2026-03-05T09:00:00+09:00"),
            ("Water the plants", "2026-03-02T00:00:00Z"),
        )
    ]
    assert [answer.status_code for answer in made] == [201, 201, 201]
    assert made[1].json() == {
        "id": "mem:2",
        "memory_id": "mem:2",
        "todo_id": "mem:2",
        "content": "Pay the bill",
        "path": "reminders",
        "bucket": "work",
        "scope": "hermes/default",
        "status": "open",
        "item_status": "open",
        "version": 1,
        "created_at": "2026-03-01T12:00:00Z",
        "updated_at": "2026-03-01T12:00:00Z",
        "due_at": "2026-03-05T00:00:00Z",
        "completed_at": None,
        "note": None,
    }
    listed = client.get("/v1/reminders", params={"bucket": "%", "item_status": "open", "limit": 20}).json()
    assert [one["id"] for one in listed["items"]] == ["mem:3", "mem:2", "mem:1"]
    assert listed["reminders"] == listed["items"]
    before = client.get("/v1/reminders", params={"due_before": "2026-03-03T00:00:00Z"}).json()
    assert [one["id"] for one in before["items"]] == ["mem:3"]
    assert client.get("/v1/reminders", params={"scope": "other"}).json()["items"] == []

    done = client.post("/v1/reminders/mem:3/complete", json={"bucket": "%", "note": "twice"})
    again = client.post("/v1/reminders/mem:3/complete", json={})
    assert (done.json()["item_status"], done.json()["note"], done.json()["version"]) == ("completed", "twice", 2)
    assert again.json() == done.json()
    completed = client.get("/v1/reminders", params={"item_status": "completed"}).json()["items"]
    assert [(one["id"], one["completed_at"]) for one in completed] == [("mem:3", "2026-03-01T12:00:00Z")]
    every = client.get("/v1/reminders", params={"item_status": "%"}).json()["items"]
    assert {one["id"] for one in every} == {"mem:1", "mem:2", "mem:3"}
    assert client.post("/v1/reminders", json={"content": "Water the plants", **PLACE}).json()["id"] == "mem:4"


def test_an_open_reminder_is_not_doubled(served: Any) -> None:
    """The same reminder again is the one that is open; a new due time is taken over."""
    client = served.client()
    client.post("/v1/reminders", json={"content": "Pay the bill", "due_at": "2026-03-05"})
    again = client.post("/v1/reminders", json={"content": "Pay the bill", "due_at": "2026-03-06"})
    assert (again.status_code, again.json()["id"], again.json()["due_at"]) == (200, "mem:1", "2026-03-06T00:00:00Z")


def test_only_reminders_are_completed(served: Any) -> None:
    """A memory is no reminder, nor is one in another bucket than named: 404, and nothing changes."""
    client = served.client()
    served.packs.remember("A fact.", path="f")
    client.post("/v1/reminders", json={"content": "Pay the bill", **PLACE})
    assert client.post("/v1/reminders/mem:1/complete", json={}).status_code == 404
    assert client.post("/v1/reminders/mem:2/complete", json={"bucket": "home"}).status_code == 404
    assert client.get("/v1/memories/mem:2").json()["status"] == "open"


def test_a_snapshot_brings_work_back(served: Any) -> None:
    """A snapshot holds state, events, reminders and decisions of its place; restoring makes the state stand again and
    tells of it in the timeline."""
    client = served.client()
    client.post("/v1/update_state", json={"current_task": "Write the door", "next_action": "Run it", **PLACE})
    client.post("/v1/timeline/events", json={"content": "Door opened.", **PLACE})
    client.post("/v1/reminders", json={"content": "Oil the hinges", **PLACE})
    served.packs.remember("We use oak.", memory_type="decision", path="d", **PLACE)
    served.packs.remember("We use steel.", memory_type="decision", path="d", bucket="home")
    taken = client.post("/v1/restart/snapshot", json={**PLACE, "label": "evening", "session_id": "s1"})
    assert taken.status_code == 201
    snapshot = taken.json()
    assert (snapshot["snapshot_id"], snapshot["label"], snapshot["expires_at"]) == ("mem:6", "evening", None)
    held = snapshot["snapshot"]
    assert held["active_state"]["metadata"]["next_action"] == "Run it"
    assert {name: [one["id"] for one in held[name]] for name in ("events", "reminders", "decisions")} == {
        "events": ["mem:2"],
        "reminders": ["mem:3"],
        "decisions": ["mem:4"],
    }
    client.post("/v1/update_state", json={"current_task": "Something else", **PLACE})

    preview = {"snapshot_id": "mem:6", "restore_state": False, "record_restore_event": False}
    seen = client.post("/v1/restart/restore", json=preview).json()
    assert (seen["state_update"], seen["restore_event"], seen["status"]) == (None, None, "restored")
    restored = client.post("/v1/restart/restore", json={**PLACE, "state_key": "active_task"}).json()
    assert (restored["id"], restored["restored"], restored["restored_at"]) == ("mem:6", True, "2026-03-01T12:00:00Z")
    assert restored["snapshot"] == held
    state = client.get(f"/v1/memories/{restored['state_update']['id']}").json()
    assert state["content"] == "Current task: Write the door\nNext action: Run it"
    events = client.get("/v1/timeline", params=PLACE).json()["events"]
    assert [one["event_type"] for one in events] == ["restart_restore", "event"]


def test_a_restore_sent_twice_is_one(served: Any) -> None:
    """Under its key a restore writes state and event once."""
    client = served.client()
    client.post("/v1/update_state", json={"current_task": "Write the door"})
    client.post("/v1/restart/snapshot", json={})
    answers = [client.post("/v1/restart/restore", json={}, headers={"Idempotency-Key": "r"}).json() for _ in range(2)]
    assert [one["state_update"]["id"] for one in answers] == ["mem:3", "mem:3"]
    assert [one["restore_event"]["id"] for one in answers] == ["mem:4", "mem:4"]
    assert served.packs.stats()["records"] == 3


def test_snapshots_are_found_by_session_and_key(served: Any) -> None:
    """The latest snapshot of a key replaces the earlier in recalls; each is restored by its session or id."""
    client = served.client()
    for session in ("s1", "s2"):
        client.post("/v1/update_state", json={"current_task": f"Task of {session}"})
        client.post("/v1/restart/snapshot", json={"session_id": session, "timeline_limit": 0})
    pack = client.post("/v1/recall/context", json={"query": "restart snapshot"}).json()
    assert "mem:2" not in [item["id"] for item in pack["items"]]
    quiet = {"restore_state": False, "record_restore_event": False}
    for body, found in (
        ({}, "mem:4"),
        ({"source_session_id": "s1"}, "mem:2"),
        ({"snapshot_id": "mem:2"}, "mem:2"),
        ({"state_key": "active_task"}, "mem:4"),
        ({"state_key": "none"}, None),
        ({"bucket": "home"}, None),
    ):
        assert client.post("/v1/restart/restore", json={**body, **quiet}).json()["id"] == found
    nothing = client.post("/v1/restart/restore", json={"source_session_id": "s9"})
    assert (nothing.status_code, nothing.json()["status"], nothing.json()["restored"]) == (200, "not_found", False)
    assert client.post("/v1/restart/restore", json={"snapshot_id": "mem:1"}).status_code == 404


def test_a_restore_brings_open_work_first(served: Any) -> None:
    """Without a query: open reminders and state before decisions and events, completed ones no longer as open."""
    client = served.client()
    client.post("/v1/timeline/events", json={"content": "Door opened."})
    client.post("/v1/reminders", json={"content": "Oil the hinges"})
    client.post("/v1/reminders", json={"content": "Paint the frame"})
    client.post("/v1/reminders/mem:3/complete", json={})
    client.post("/v1/update_state", json={"current_task": "Write the door"})
    items = client.post("/v1/recall/context", json={"query": " "}).json()["items"]
    assert {item["id"]: item["reason"] for item in items} == {
        "mem:1": "recent",
        "mem:2": "open",
        "mem:3": "recent",
        "mem:4": "open",
    }
    assert items[0]["reason"] == "open"


@pytest.mark.parametrize(
    ("route", "body", "field"),
    [
        ("/v1/update_state", {}, "content"),
        ("/v1/update_state", {"content": "x", "state_key": "a|b"}, "state_key"),
        ("/v1/update_state", {"content": "x", "ttl_seconds": -1}, "ttl_seconds"),
        ("/v1/timeline/events", {"content": " "}, "content"),
        ("/v1/timeline/events", {"content": "x", "occurred_at": "noon"}, "occurred_at"),
        ("/v1/timeline/events", {"content": "x", "confidence": 7}, "confidence"),
        ("/v1/reminders", {"content": "x", "due_at": "soon"}, "due_at"),
        ("/v1/restart/snapshot", {"timeline_limit": 101}, "timeline_limit"),
        ("/v1/restart/restore", {"colour": "red"}, "colour"),
        ("/v1/remember", {"content": ""}, "content"),
        ("/v1/remember", {"content": "x", "path": "a|b"}, "path"),
    ],
)
def test_what_is_at_fault_is_named(served: Any, route: str, body: dict[str, object], field: str) -> None:
    """A malformed field of a write is refused by its name, and nothing is written."""
    answer = served.client().post(route, json=body)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert served.packs.stats()["records"] == 0


def test_a_public_profile_shows_no_more_of_work(served_publicly: Any) -> None:
    """Reminders and events under the public profile have text, path and status, no places or times of writing."""
    client = served_publicly.client()
    client.post("/v1/timeline/events", json={"content": "Door opened.", "session_id": "s1"})
    client.post("/v1/reminders", json={"content": "Oil the hinges", "due_at": "2026-03-05"})
    (event,) = client.get("/v1/timeline").json()["events"]
    assert event == {"id": "mem:1", "memory_id": "mem:1", "content": "Door opened.", "path": "timeline"}
    (reminder,) = client.get("/v1/reminders").json()["items"]
    assert reminder == {
        "id": "mem:2",
        "memory_id": "mem:2",
        "content": "Oil the hinges",
        "path": "reminders",
        "todo_id": "mem:2",
        "status": "open",
        "item_status": "open",
        "due_at": "2026-03-05T00:00:00Z",
    }


BROKEN: list[Any] = [
    "text", [1, 2], 5, None, {}, {"active_state": {}}, {"active_state": {"metadata": []}},
    {"active_state": {"content": 5, "metadata": {"content": 7, "current_task": " "}}},
]  # fmt: skip


@pytest.mark.parametrize("snapshot", BROKEN)
def test_a_snapshot_that_is_none_restores_no_state(served: Any, snapshot: Any) -> None:
    """Anybody may write the type and the metadata of a snapshot: it comes back as what it is, and no state with it."""
    client = served.client()
    body = {"content": "made by hand", "memory_type": "restart_snapshot", "metadata": {"snapshot": snapshot}}
    one = client.post("/v1/remember", json=body).json()["id"]
    told = client.post("/v1/restart/restore", json={"snapshot_id": one})
    assert (told.status_code, told.json()["restored"], told.json()["state_update"]) == (200, True, None)
    assert told.json()["snapshot"] == (snapshot if isinstance(snapshot, dict) else {})


def test_a_time_that_is_none_closes_no_list(served: Any) -> None:
    """A reminder whose metadata name no time is one without a time: in lists, snapshots and when it is completed."""
    client = served.client()
    client.post("/v1/reminders", json={"content": "first", "due_at": "2026-03-05T00:00:00Z"})
    body = {"content": "second", "memory_type": "reminder", "status": "open", "bucket": "work"}
    one = client.post("/v1/remember", json={**body, "metadata": {"due_at": "tomorrow"}}).json()["id"]
    third = client.post("/v1/reminders", json={"content": "third", "metadata": {"due_at": "soon"}})
    assert (third.status_code, third.json()["due_at"]) == (201, None)
    items = client.get("/v1/reminders").json()["items"]
    assert [(item["content"], item["due_at"]) for item in items] == [
        ("first", "2026-03-05T00:00:00Z"), ("second", None), ("third", None),
    ]  # fmt: skip
    kept = client.post("/v1/restart/snapshot", json={}).json()["snapshot"]["reminders"]
    assert [item["content"] for item in kept] == ["first", "second", "third"]
    assert client.post(f"/v1/reminders/{one}/complete", json={}).json()["item_status"] == "completed"


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("/v1/update_state", {"current_task": "a"}),
        ("/v1/timeline/events", {"content": "a"}),
        ("/v1/reminders", {"content": "a"}),
        ("/v1/restart/snapshot", {}),
    ],
)
def test_what_a_key_wrote_and_was_deleted_is_told(served: Any, route: str, body: dict[str, str]) -> None:
    """A repeated request for what was forgotten since is a 410, and the description says so."""
    client = served.client()
    key = {"Idempotency-Key": "k"}
    one = client.post(route, json=body, headers=key).json()["id"]
    assert client.post(f"/v1/memories/{one}/forget", json={}).status_code == 200
    again = client.post(route, json=body, headers=key)
    assert (again.status_code, again.json()["code"]) == (410, "gone")
    assert "410" in client.get("/openapi.json").json()["paths"][route]["post"]["responses"]
