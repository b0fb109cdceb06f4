"""What comes twice: another event stays, and of a repetition the answer says what was not applied."""

from datetime import timedelta
from typing import Any

import pytest

EPISODE = {"kind": "episode", "timestamp": "2026-02-01T09:00:00Z", "source": {"name": "chat"}, "type": "standup"}


@pytest.mark.parametrize(
    "other",
    [
        {"timestamp": "2026-02-02T09:00:00Z"},
        {"timestamp": "2026-02-01T09:00:01Z"},
        {"source": {"name": "mail"}},
        {"source": {"name": "chat", "turn": 2}},
        {"type": "retro"},
    ],
    ids=str,
)
@pytest.mark.parametrize("together", [True, False], ids=["one batch", "two batches"])
def test_an_equal_episode_of_another_time_or_origin_is_another_event(
    kit: Any, together: bool, other: dict[str, Any]
) -> None:
    """Both stay, each with its own fields; either of them again is a repetition of that one."""
    store = kit.store(":memory:")
    records = [{"content": "All is well.", **EPISODE}, {"content": "All is well.", **EPISODE, **other}]
    batches = [records] if together else [[record] for record in records]
    written = [one for batch in batches for one in store.remember_many(batch, kit.me)]
    assert [(one.id, one.created) for one in written] == [("ep:1", True), ("ep:2", True)]
    again = store.remember_many(records, kit.me)
    assert [(one.id, one.created, one.notes) for one in again] == [("ep:1", False, ()), ("ep:2", False, ())]


def test_the_same_episode_without_a_time_is_a_repetition(kit: Any) -> None:
    """A write that is tried again later says nothing new."""
    store = kit.store(":memory:")
    kit.write(store, "All is well.", kind="episode")
    kit.clock.on(minutes=5)
    assert kit.write(store, "All is well.", kind="episode").created is False


@pytest.mark.parametrize(
    ("field", "first", "second"),
    [
        ("timestamp", "2026-01-01", "2026-01-02"),
        ("type", "fact", "decision"),
        ("source", {"name": "chat"}, {"name": "mail"}),
        ("metadata", {"a": 1}, {"a": 2}),
        ("pinned", False, True),
        ("status", "open", "closed"),
        ("expires_at", "2027-01-01", "2028-01-01"),
        ("semantic_key", "office", "garden"),
    ],
)
def test_a_repetition_says_what_was_not_applied(kit: Any, field: str, first: Any, second: Any) -> None:
    """What differs is named, what is the same is not, by content and by the caller's own keys."""
    store = kit.store(":memory:")
    kit.write(store, "The office is in Berlin.", **{field: first})
    again = kit.write(store, "The office is in Berlin.", **{field: second})
    assert (again.id, again.created) == ("mem:1", False)
    assert again.notes == (f"is stored already; not applied: {field}; forget it first to store it again",)
    assert kit.write(store, "The office is in Berlin.", **{field: first}).notes == ()
    for key in ("external_id", "idempotency_key"):
        kit.write(store, f"By {key}.", **{field: first, key: "k"})
        keyed = kit.write(store, f"By {key}.", **{field: second, key: "k"})
        assert (keyed.created, keyed.notes) == (False, (f"is stored already; not applied: {field}; revise it",))


def test_a_source_that_moved_is_said(kit: Any) -> None:
    """The same text under the caller's own id at another place stays where it is, and the answer says so."""
    store = kit.store(":memory:")
    kit.write(store, "A note.", external_id="note", path="a/b")
    moved = kit.write(store, "A note.", external_id="note", path="c", bucket="work")
    assert moved.notes == ("is stored already; not applied: bucket, path; revise it",)


def test_without_dedupe_the_same_text_is_stored_once_more(kit: Any) -> None:
    """Also with another time; by the caller's own id it is one record all the same."""
    store = kit.store(":memory:")
    later = kit.clock.now - timedelta(days=1)
    assert kit.write(store, "Tick.").id == "mem:1"
    assert kit.write(store, "Tick.", dedupe=False, timestamp=later).id == "mem:2"
    assert kit.write(store, "Tick.", dedupe=False, external_id="t").id == "mem:3"
    assert kit.write(store, "Tick.", dedupe=False, external_id="t").id == "mem:3"
