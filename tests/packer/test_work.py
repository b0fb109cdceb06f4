"""Work under way in the library: what is kept, for how long, and for whom."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from context_packs.packer import ContextPacks, work
from context_packs.store.errors import Conflict, InvalidField, NotFound

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@dataclass
class Desk:
    """One store, its clock, and agents at it."""

    path: Path
    now: datetime = NOON

    def agent(self, name: str, *teams: str) -> ContextPacks:
        """The memory of an agent."""
        return ContextPacks.open(self.path, name, teams=teams, embedder="none", clock=lambda: self.now)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """An empty store."""
    yield Desk(tmp_path / "memory.duckdb")


def test_a_state_expires_and_is_renewed(desk: Desk) -> None:
    """The same state saved again lives from then on; without a time it stays."""
    packs = desk.agent("red")
    work.save_state(packs, "task", "Write.", ttl_seconds=60)
    desk.now += timedelta(seconds=50)
    work.save_state(packs, "task", "Write.", ttl_seconds=60)
    desk.now += timedelta(seconds=50)
    found = work.state_of(packs, "task")
    assert found is not None
    assert (found.id, found.content) == ("mem:2", "Write.")
    desk.now += timedelta(seconds=10)
    assert work.state_of(packs, "task") is None
    work.save_state(packs, "task", "Write.", ttl_seconds=0)
    desk.now += timedelta(days=4000)
    assert work.state_of(packs, "task") is not None


def test_a_state_is_the_agents_own(desk: Desk) -> None:
    """A state of the same key that another of the team keeps is neither mine nor replaced by mine."""
    red, blue = desk.agent("red", "crew"), desk.agent("blue", "crew")
    crew = {"team_id": "crew"}
    work.save_state(red, "task", "Red work.", place=crew)
    assert work.state_of(blue, "task") is None
    work.save_state(blue, "task", "Blue work.", place=crew)
    mine, theirs = work.state_of(red, "task"), work.state_of(blue, "task")
    assert (mine and mine.content, theirs and theirs.content) == ("Red work.", "Blue work.")


def test_a_snapshot_takes_as_much_as_it_is_told(desk: Desk) -> None:
    """Limits of 0 leave a part out; without any state there is none to restore."""
    packs = desk.agent("red")
    for n in range(25):
        work.record_event(packs, f"Event {n}.")
    work.take_snapshot(packs, limits={"reminders": 0})
    found = work.find_snapshot(packs)
    assert found is not None
    held = found.metadata["snapshot"]
    assert (held["active_state"], len(held["events"]), held["reminders"]) == (None, 20, [])
    restored = work.restore_snapshot(packs, found)
    assert restored.state is None
    assert restored.event is not None
    assert packs.get(restored.event.id).content == f"Restored from {found.id}"


def test_a_snapshot_restores_the_state_as_it_was_said(desk: Desk) -> None:
    """Free text, and its parts beside it, stand again as they were."""
    packs = desk.agent("red")
    for text, parts in (("Half done.", {}), ("Half done.", {"next_action": "Test it."}), ("", {"current_task": "X"})):
        work.save_state(packs, "task", text, parts=parts)
        before = work.state_of(packs, "task")
        work.take_snapshot(packs, "task")
        work.save_state(packs, "task", "Other.")
        found = work.find_snapshot(packs, state_key="task")
        assert found is not None
        work.restore_snapshot(packs, found)
        after = work.state_of(packs, "task")
        assert before is not None
        assert after is not None
        assert (after.content, after.metadata) == (before.content, before.metadata)


def test_completed_work_is_not_open(desk: Desk) -> None:
    """A reminder completes once, for its owner only, and stays readable with its note."""
    red, blue = desk.agent("red", "crew"), desk.agent("blue", "crew")
    written = work.add_reminder(red, "Oil the hinges.", place={"team_id": "crew"})
    with pytest.raises(NotFound):
        work.complete_reminder(blue, written.id)
    assert [one.id for one in work.reminders(blue)] == [written.id]
    done = work.complete_reminder(red, written.id, "done by noon")
    assert (done.status, done.metadata) == (
        "completed",
        {"completed_at": "2026-03-01T12:00:00Z", "note": "done by noon"},
    )
    assert work.reminders(red) == []
    assert work.complete_reminder(red, written.id, "again").version == done.version


def test_usage_needs_a_memory_that_is_seen(desk: Desk) -> None:
    """A note of usage about somebody else's memory is refused as about one that never was."""
    red, blue = desk.agent("red"), desk.agent("blue")
    red.remember("Mine.")
    with pytest.raises(NotFound):
        work.mark_used(blue, "mem:1")
    work.mark_used(red, "mem:1", idempotency_key="k")
    with pytest.raises(Conflict):
        work.mark_used(red, "mem:1", "cited", idempotency_key="k")
    assert red.stats()["records"] == 2
    assert [row.ref for row in red.search_memory("*")] == ["mem:1"]


@pytest.mark.parametrize(
    ("ttl", "key", "field"),
    [(-1, "task", "ttl_seconds"), (True, "task", "ttl_seconds"), (10**9, "task", "ttl_seconds"), (1, "", "state_key"),
     (1, "a\nb", "state_key"), (1, "x" * 201, "state_key")],
)  # fmt: skip
def test_what_is_at_fault_is_named(desk: Desk, ttl: int, key: str, field: str) -> None:
    """A lifetime or key out of range is refused by name."""
    with pytest.raises(InvalidField, match=rf"^{field}: ") as caught:
        work.save_state(desk.agent("red"), key, "Write.", ttl_seconds=ttl)
    assert caught.value.field == field
