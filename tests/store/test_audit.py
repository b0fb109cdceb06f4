"""The audit trail: nothing is lost at an end, nothing grows without a bound, and no text comes in."""

import logging
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from context_packs.store.access.audit import Audit, Entry, entries_of
from context_packs.store.errors import Conflict, InvalidField
from context_packs.store.file.duck import Duck

WRITER = """
import sys
from context_packs.store.duckstore import DuckStore

store = DuckStore(sys.argv[1], wait=100)
store.audit.start()
print("ready", flush=True)
sys.stdin.readline()
for n in range(int(sys.argv[3])):
    store.audit.note("memory.get", agent_id=sys.argv[2], objects=[f"mem:{n + 1}"])
store.close()
"""


def quiet(duck: Duck, clock: Any, **fields: Any) -> Audit:
    """A trail whose thread writes nothing by itself within a test."""
    return Audit(duck, clock, **{"every": 3600.0, "batch": 1_000_000, **fields})


def all_entries(audit: Audit, **asked: Any) -> list[Entry]:
    """Every entry, page by page."""
    found: list[Entry] = []
    cursor = None
    while True:
        page = audit.read(cursor=cursor, limit=97, **asked)
        found.extend(page.entries)
        cursor = page.next_cursor
        if cursor is None:
            return found


def test_an_entry_says_who_did_what_to_which_id(kit: Any) -> None:
    """A row for each id of a request, newest first, and one without an id where a request has none."""
    store = kit.store()
    store.audit.start()
    first = kit.clock.now
    store.audit.note("memory.get", agent_id="planner", token_id="tok_010203040506", objects=["mem:7", "thr_pr_412"])
    second = kit.clock.on(seconds=1)
    store.audit.note("memory.search", agent_id="scout", outcome=403)
    assert store.audit.read().entries == (
        Entry(second, "", "scout", "memory.search", "", 0, 403, 3),
        Entry(first, "tok_010203040506", "planner", "memory.get", "thr_pr_412", 2, 200, 2),
        Entry(first, "tok_010203040506", "planner", "memory.get", "mem:7", 2, 200, 1),
    )


def test_a_request_has_twenty_rows_at_most() -> None:
    """Further ids are counted."""
    rows = entries_of(
        datetime(2026, 1, 1, tzinfo=UTC), "", "a", "memory.recall", [f"mem:{n}" for n in range(1, 51)], 200
    )
    assert [row.object_id for row in rows] == [f"mem:{n}" for n in range(1, 21)]
    assert {row.objects for row in rows} == {50}


@pytest.mark.parametrize(
    "text",
    [
        "the secret plan",
        "mem:01",
        "mem:1 ",
        "",
        "\ud800",
        "a" * 500_000,
        "秘密",
        "mem:1\n",
        "thr_",
        "cpk_000000000000_A",
    ],
)
def test_what_is_no_id_is_not_kept(kit: Any, text: str) -> None:
    """A path of a request may hold any text: the trail says that it was there, not what it was."""
    store = kit.store()
    store.audit.start()
    store.audit.note("memory.get", agent_id="a\ud800", objects=[text], outcome=422)
    (entry,) = store.audit.read().entries
    assert (entry.object_id, entry.agent_id, entry.outcome) == ("?", "a?", 422)


def test_nothing_is_taken_and_no_thread_runs_before_a_door_starts_it(kit: Any) -> None:
    """The library alone keeps no trail."""
    before = set(threading.enumerate())
    store = kit.store()
    store.audit.note("memory.get", agent_id="planner", objects=["mem:1"])
    assert not store.audit.started and set(threading.enumerate()) == before
    assert store.audit.read().entries == ()
    store.audit.start()
    store.audit.start()
    assert store.audit.started and len(set(threading.enumerate()) - before) == 1
    store.close()
    assert set(threading.enumerate()) == before
    store.audit.start()
    store.audit.note("memory.get", agent_id="planner")
    assert not store.audit.started


def test_no_entry_is_lost_or_doubled_at_the_end(kit: Any) -> None:
    """Eight threads note 500 requests each while the trail is written and read; after close all are there, once."""
    store = kit.store(mode="shared")
    audit = Audit(store.duck, kit.clock, every=0.001, batch=7)
    audit.start()

    def work(name: str) -> None:
        for n in range(1, 501):
            audit.note("memory.get", agent_id=name, objects=[f"mem:{n}"])

    threads = [threading.Thread(target=work, args=(f"agent{k}",)) for k in range(8)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        audit.read(limit=3)
    audit.close()
    found = all_entries(store.audit)
    assert sorted((entry.agent_id, entry.object_id) for entry in found) == sorted(
        (f"agent{k}", f"mem:{n}") for k in range(8) for n in range(1, 501)
    )
    assert sorted(entry.number for entry in found) == list(range(1, 4001))
    for k in range(8):
        own = [entry.object_id for entry in found if entry.agent_id == f"agent{k}"]
        assert own == [f"mem:{n}" for n in range(500, 0, -1)]


def test_the_thread_writes_by_itself(kit: Any) -> None:
    """After the time that was set, or as soon as enough wait; nobody asks for it."""
    store, other = kit.store(mode="shared"), kit.store(mode="shared")
    audit = Audit(store.duck, kit.clock, every=0.01)
    written = Written(audit)
    audit.start()
    audit.note("memory.get", agent_id="planner", objects=["mem:1"])
    assert written.wait()
    assert [entry.object_id for entry in other.audit.read().entries] == ["mem:1"]
    audit.close()
    full = Audit(store.duck, kit.clock, every=3600, batch=3)
    written = Written(full)
    full.start()
    for n in (2, 3):
        full.note("memory.get", agent_id="planner", objects=[f"mem:{n}"])
    assert len(other.audit.read().entries) == 1
    full.note("memory.get", agent_id="planner", objects=["mem:4"])
    assert written.wait()
    assert len(other.audit.read().entries) == 4
    full.close()


class Written:
    """Waits until a trail has written something, by listening to its real flush."""

    def __init__(self, audit: Audit) -> None:
        self._done = threading.Event()
        flush = audit.flush

        def listened() -> bool:
            waiting = audit.waiting
            done = flush()
            if waiting and done:
                self._done.set()
            return done

        audit.flush = listened  # type: ignore[method-assign]

    def wait(self) -> bool:
        return self._done.wait(60)


def test_a_store_that_can_not_be_written_breaks_no_request(
    kit: Any, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """Entries wait, up to a bound; what is over it is counted, told in the trail, and the fault is logged once."""
    store = kit.store(mode="shared")
    kit.write(store, "something")
    duck = Duck(kit.path)
    audit = quiet(duck, kit.clock, most=10)
    audit.start()
    aside = tmp_path / "aside.duckdb"
    kit.path.rename(aside)
    kit.path.mkdir()  # a folder in its place
    with caplog.at_level(logging.WARNING, "context_packs.audit"):
        for n in range(1, 26):
            audit.note("memory.get", agent_id="planner", objects=[f"mem:{n}"])
        assert audit.waiting == 10
        assert audit.flush() is False and audit.flush() is False
        assert audit.waiting == 10
        kit.path.rmdir()
        aside.rename(kit.path)
        assert audit.flush() is True
    assert audit.waiting == 0
    told = [record.getMessage() for record in caplog.records]
    assert told == [
        "audit entries wait for the store: the path of the store is a folder: name a file in it",
        "audit entries are written again",
    ]
    entries = all_entries(audit)
    assert [entry.object_id for entry in reversed(entries)] == [*(f"mem:{n}" for n in range(1, 11)), ""]
    assert (entries[0].action, entries[0].objects, entries[0].outcome) == ("audit.lost", 15, 503)
    audit.close()


def test_what_can_not_be_written_at_the_end_is_told(kit: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Closing raises nothing and logs how many entries are lost."""
    duck = Duck(kit.path)
    audit = quiet(duck, kit.clock)
    audit.start()
    for _ in range(3):
        audit.note("memory.get", agent_id="planner")
    duck.close()
    audit.close()
    audit.close()
    told = [record.getMessage() for record in caplog.records]
    assert told == [
        "audit entries wait for the store: the store is closed: open it again",
        "3 audit entries were lost: the store could not be written at the end",
    ]


def test_two_processes_keep_one_trail(kit: Any) -> None:
    """Both write at the same time; every entry is there once, with a number of its own."""
    kit.store(mode="shared").probe()  # the file is there
    command = [sys.executable, "-c", WRITER, str(kit.path)]
    writers = [
        subprocess.Popen([*command, name, "300"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in ("ada", "bob")
    ]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=120)
        assert writer.returncode == 0
    found = all_entries(kit.store(mode="shared").audit)
    assert sorted((entry.agent_id, entry.object_id) for entry in found) == sorted(
        (name, f"mem:{n}") for name in ("ada", "bob") for n in range(1, 301)
    )
    assert sorted(entry.number for entry in found) == list(range(1, 601))


def test_old_entries_are_removed_while_others_are_written(kit: Any) -> None:
    """Those older than the days that are kept, to the microsecond, and looked for at most once an hour."""
    store = kit.store()
    audit = quiet(store.duck, kit.clock)
    audit.start(days=30)
    start = kit.clock.now
    for hours in (0, 1, 2):
        kit.clock.now = start + timedelta(hours=hours)
        audit.note("memory.get", agent_id="planner", objects=[f"mem:{hours + 1}"])
        audit.flush()

    def kept_at(moment: datetime) -> list[str]:
        kit.clock.now = moment
        audit.note("tick", agent_id="planner")
        audit.flush()
        return [entry.object_id for entry in audit.read(action="memory.get").entries]

    assert kept_at(start + timedelta(days=30)) == ["mem:3", "mem:2", "mem:1"]
    assert kept_at(start + timedelta(days=30, minutes=59)) == ["mem:3", "mem:2", "mem:1"]
    assert kept_at(start + timedelta(days=30, hours=1)) == ["mem:3", "mem:2"]
    assert kept_at(start + timedelta(days=31)) == []
    audit.close()


def test_it_is_asked_by_whom_what_and_when(kit: Any) -> None:
    """Filters are exact and hold together; the interval is half-open."""
    store = kit.store()
    store.audit.start()
    start = kit.clock.now
    for n, (agent, token, action) in enumerate(
        [("a", "", "memory.get"), ("b", "tok_000000000001", "memory.get"), ("a", "tok_000000000001", "memory.write")]
    ):
        kit.clock.now = start + timedelta(minutes=n)
        store.audit.note(action, agent_id=agent, token_id=token, objects=[f"mem:{n % 2 + 1}"])

    def minutes(**asked: Any) -> list[int]:
        return [(entry.at - start).seconds // 60 for entry in store.audit.read(**asked).entries]

    assert minutes() == [2, 1, 0]
    assert minutes(agent_id="a") == [2, 0]
    assert minutes(token_id="tok_000000000001") == [2, 1]
    assert minutes(action="memory.get") == [1, 0]
    assert minutes(object_id="mem:1") == [2, 0]
    assert minutes(object_id="mem:1", action="memory.get") == [0]
    assert minutes(since=start + timedelta(minutes=1)) == [2, 1]
    assert minutes(until=(start + timedelta(minutes=1)).isoformat()) == [0]
    assert minutes(since="2026-03-01T12:01:00Z", until="2026-03-01T12:02:00Z") == [1]
    assert minutes(agent_id="A") == minutes(agent_id="\ud800") == []


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_pages_lose_and_repeat_nothing_at_equal_times(kit: Any, limit: int) -> None:
    """Every entry once, newest first, while further ones come in."""
    store = kit.store()
    store.audit.start()
    for n in range(10):
        store.audit.note("memory.get", agent_id="planner", objects=[f"mem:{n + 1}"])
    seen: list[str] = []
    cursor = None
    while True:
        page = store.audit.read(limit=limit, cursor=cursor)
        assert len(page.entries) <= limit
        seen += [entry.object_id for entry in page.entries]
        cursor = page.next_cursor
        if cursor is None:
            break
        store.audit.note("memory.get", agent_id="planner", objects=["mem:99"])
    assert seen == [f"mem:{n}" for n in range(10, 0, -1)]


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 1001}, "limit"),
        ({"limit": True}, "limit"),
        ({"limit": "5"}, "limit"),
        ({"since": "soon"}, "since"),
        ({"until": True}, "until"),
        ({"cursor": "x"}, "cursor"),
        ({"cursor": 7}, "cursor"),
        ({"cursor": "9" * 40}, "cursor"),
        ({"agent_id": 7}, "agent_id"),
        ({"text": "x"}, "text"),
    ],
)
def test_what_is_asked_wrongly_is_named(kit: Any, asked: dict[str, Any], field: str) -> None:
    """Each fault names its field."""
    with pytest.raises(InvalidField) as error:
        kit.store().audit.read(**asked)
    assert error.value.field == field
    assert str(error.value).startswith(f"{field}: ")


def test_a_cursor_belongs_to_its_query(kit: Any) -> None:
    """With other filters it is a conflict; another limit is the same query."""
    store = kit.store()
    store.audit.start()
    for n in range(3):
        store.audit.note("memory.get", agent_id="planner", objects=[f"mem:{n + 1}"])
    cursor = store.audit.read(agent_id="planner", limit=1).next_cursor
    assert [entry.object_id for entry in store.audit.read(agent_id="planner", cursor=cursor, limit=5).entries] == [
        "mem:2",
        "mem:1",
    ]
    with pytest.raises(Conflict) as error:
        store.audit.read(agent_id="scout", cursor=cursor)
    assert error.value.field == "cursor"


def test_export_carries_neither_tokens_nor_the_trail(kit: Any, tmp_path: Path) -> None:
    """They belong to the store file: another store opened from an export lets nobody in."""
    packs = kit.packs()
    packs.audit.start()
    packs.remember("A note.")
    packs.audit.note("memory.write", agent_id="planner", objects=["mem:1"], outcome=201)
    secret = packs.tokens.create("planner", ["memory:read"]).secret
    packs.export(tmp_path / "all.jsonl", everybody=True)
    copy = kit.packs(path=tmp_path / "copy.duckdb")
    assert sum(len(batch) for batch in copy.import_file("jsonl", tmp_path / "all.jsonl")) == 1
    assert copy.tokens.list() == [] and copy.tokens.authenticate(secret) is None
    assert copy.audit.read().entries == ()
    assert len(packs.audit.read().entries) == 2
