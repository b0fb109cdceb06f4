"""Threads, workers and triggers on the command line: exact gets, the same facts as text and as JSON."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_packs.packer import ContextPacks

Run = Callable[..., Any]
LOG = "step 1 ok\n" * 400 + "TypeError: zebra | missing\n"


@pytest.fixture
def chain(store: Path) -> None:
    """A thread with three events and a worker whose report cites one of them."""
    with ContextPacks.open(store, embedder="none") as packs:
        packs.threads.create("PR 412: retry", thread_id="thr_pr_412", natural_key="acme/shop#412")
        packs.threads.add_trigger(
            "thr_pr_412", "github", summary="opened", payload={"action": "opened"}, occurred_at="2026-03-01"
        )
        packs.threads.add_trigger("thr_pr_412", "ci", summary="Deploy failed", payload=LOG, occurred_at="2026-03-02")
        packs.threads.add_trigger("thr_pr_412", "chat", payload="Who looks\nat this?", occurred_at="2026-03-03")
        packs.threads.create_worker("Find out why", ["thr_pr_412"])
        packs.threads.report("wkr_0001", "zebra was missing", ["trg_0002"])


@pytest.mark.usefixtures("chain")
def test_a_thread_in_text_and_json(run: Run) -> None:
    """Its line, status, counts and workers."""
    ran = run("thread", "thr_pr_412")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("thr_pr_412 open\n PR 412: retry\nevent_count: 3\nlast_event_at: ")
    assert "\nowner_workers: wkr_0001\nnatural_key: acme/shop#412\n" in ran.out
    said = run("--json", "thread", "thr_pr_412").json
    assert (said["thread_id"], said["event_count"], said["owner_workers"]) == ("thr_pr_412", 3, ["wkr_0001"])


@pytest.mark.usefixtures("chain")
def test_events_page_by_page(run: Run) -> None:
    """A cursor goes on where the last page ended; the end says how to read on later."""
    ran = run("thread", "thr_pr_412", "--events", "--limit", "2")
    assert (
        ran.out == "trg_0001 2026-03-01T00:00:00Z github\n opened\ntrg_0002 2026-03-02T00:00:00Z ci\n Deploy failed\n"
    )
    cursor = ran.err.strip().removeprefix("more: --cursor ")
    ran = run("thread", "thr_pr_412", "--cursor", cursor)
    assert ran.out == "trg_0003 2026-03-03T00:00:00Z chat\n Who looks\n"
    assert ran.err.startswith("the end; later: --cursor ")
    page = run("--json", "thread", "thr_pr_412", "--cursor", cursor).json
    assert [one["trigger_id"] for one in page["events"]] == ["trg_0003"]
    assert page["next_cursor"] is None and page["resume_cursor"]


@pytest.mark.usefixtures("chain")
def test_a_worker_in_text_and_json(run: Run) -> None:
    """Task, report, threads and cites."""
    ran = run("worker", "wkr_0001")
    assert ran.out == "wkr_0001 done\n Find out why\n zebra was missing\nthreads: thr_pr_412\ncites: trg_0002\n"
    said = run("--json", "worker", "wkr_0001").json
    assert (said["report"], said["cites"]) == ("zebra was missing", ["trg_0002"])


@pytest.mark.usefixtures("chain")
def test_a_trigger_and_its_payload(run: Run) -> None:
    """A small payload stands in the answer, of a large one how to get it; --payload gives the bytes alone."""
    ran = run("trigger", "trg_0003")
    assert ran.out == (
        "trg_0003 2026-03-03T00:00:00Z chat\n Who looks\nthread_id: thr_pr_412\nneighbours: trg_0002: Deploy failed\n"
        "payload:\n Who looks\n at this?\n"
    )
    ran = run("trigger", "trg_0002")
    assert "neighbours: trg_0001: opened, trg_0003: Who looks\nlinks: wkr_0001: Find out why\n" in ran.out
    assert ran.err == "payload: `trigger trg_0002 --payload` prints all of it\n"
    assert run("trigger", "trg_0002", "--payload").out == LOG
    said = run("--json", "trigger", "trg_0001").json
    assert said["payload"] == {"action": "opened"} and said["spilled"] == {}
    assert run("--json", "trigger", "trg_0002", "--payload").json == {
        "media_type": "text/plain; charset=utf-8", "size": 4027, "text": LOG,
    }  # fmt: skip


@pytest.mark.usefixtures("chain")
@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (("thread", "thr_x"), 4, "error: thread_id: there is no record thr_x\n"),
        (("thread", "412"), 2, "error: thread_id: '412' is not an id like thr_8f21\n"),
        (("worker", "thr_pr_412"), 4, "error: worker_id: there is no worker thr_pr_412\n"),
        (("trigger", "trg_9", "--payload"), 4, "error: trigger_id: there is no record trg_9\n"),
        (("thread", "thr_pr_412", "--cursor", "x"), 2, "error: cursor: is not a cursor"),
        (
            ("thread", "thr_pr_412", "--events", "--limit", "0"),
            2,
            "error: limit: 0 is below 1\n",
        ),
        (("--agent", "other", "thread", "thr_pr_412"), 4, "error: thread_id: there is no record thr_pr_412\n"),
    ],
    ids=str,
)
def test_errors_have_their_exit_codes(run: Run, argv: tuple[str, ...], code: int, message: str) -> None:
    """One line that names the field, and the code of the table."""
    ran = run(*argv)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(message)


@pytest.mark.usefixtures("chain")
def test_context_follows_links(run: Run) -> None:
    """--hops brings what links lead to."""
    found = run("--json", "context", "retry", "--type", "%", "--hops", "2").json["items"]
    assert {item["id"] for item in found} >= {"thr_pr_412", "wkr_0001", "trg_0002"}
    assert run("context", "retry", "--hops", "4").code == 2
