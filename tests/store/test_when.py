"""Words of time in a query, and what they do to what is found."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from context_packs.store.query.period import read_time
from context_packs.store.values import Filters

NOW = datetime(2026, 3, 4, 9, 0, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("what did we do yesterday?", "2026-03-03", "2026-03-04"),
        ("the day before yesterday", "2026-03-02", "2026-03-03"),
        ("what happened today", "2026-03-04", "2026-03-05"),
        ("last week", "2026-02-23", "2026-03-02"),
        ("this week", "2026-03-02", "2026-03-09"),
        ("last month", "2026-02-01", "2026-03-01"),
        ("three days ago", "2026-03-01", "2026-03-02"),
        ("two weeks ago", "2026-02-16", "2026-02-23"),
        ("in the last 3 days", "2026-03-01", "2026-03-05"),
        ("last Friday", "2026-02-27", "2026-02-28"),
        ("in January", "2026-01-01", "2026-02-01"),
        ("in December", "2025-12-01", "2026-01-01"),
        ("on 5 June 2024", "2024-06-05", "2024-06-06"),
        ("on March 2nd", "2026-03-02", "2026-03-03"),
        ("2025-11-30", "2025-11-30", "2025-12-01"),
        ("in 2024", "2024-01-01", "2025-01-01"),
        ("昨日は何をした？", "2026-03-03", "2026-03-04"),
        ("おととい", "2026-03-02", "2026-03-03"),
        ("先週の金曜日", "2026-02-27", "2026-02-28"),
        ("先月の作業", "2026-02-01", "2026-03-01"),
        ("三日前", "2026-03-01", "2026-03-02"),
        ("2週間前", "2026-02-16", "2026-02-23"),
        ("1月に決めたこと", "2026-01-01", "2026-02-01"),
        ("2024年6月5日", "2024-06-05", "2024-06-06"),
    ],
)
def test_words_of_time_become_an_interval(text: str, since: str, until: str) -> None:
    """Half-open, by whole days."""
    when = read_time(text, NOW)
    assert when.since is not None
    assert when.until is not None
    assert (when.since.date().isoformat(), when.until.date().isoformat()) == (since, until)


@pytest.mark.parametrize(
    "text", ["When may the cat march?", "the second of three", "31 June", "月末の締め", "last", "decade 2020s"]
)
def test_other_words_are_no_time(text: str) -> None:
    """Months that are verbs, days that do not exist, and halves of words."""
    assert read_time(text, NOW).since is None


def test_a_day_is_one_of_the_zone() -> None:
    """At nine in the evening in London it is tomorrow in Tokyo."""
    when = read_time("today", datetime(2026, 3, 4, 21, tzinfo=UTC), ZoneInfo("Asia/Tokyo"))
    assert when.since == datetime(2026, 3, 4, 15, tzinfo=UTC)
    assert when.until == datetime(2026, 3, 5, 15, tzinfo=UTC)


@pytest.fixture
def diary(kit: Any) -> Any:
    """A store with a record a day, the last one of today."""
    store = kit.store()
    for days in range(9, -1, -1):
        day = kit.clock.now - timedelta(days=days)
        kit.write(store, f"Entry {9 - days}: the {['wall', 'door', 'roof'][days % 3]} was painted.", timestamp=day)
    return store


def test_a_query_that_is_only_time_lists_the_interval(kit: Any, diary: Any) -> None:
    """Whatever lies in it, the newest first; nothing of another day."""
    assert kit.find(diary, "what did we do yesterday?") == ["mem:9"]
    assert kit.find(diary, "一昨日やったことを教えて") == ["mem:8"]
    assert kit.find(diary, "What happened in the last 2 days?") == ["mem:10", "mem:9", "mem:8"]
    assert kit.find(diary, "what did we do three weeks ago") == []


def test_words_beside_a_time_are_looked_for_in_the_interval(kit: Any, diary: Any) -> None:
    """And where nothing of that time bears on them, everywhere."""
    kit.write(diary, "Olga repaired the chimney.", timestamp=kit.clock.now - timedelta(days=30))
    assert kit.find(diary, "who repaired the chimney yesterday?") == ["mem:11"]
    assert kit.find(diary, "which door was painted yesterday?") == ["mem:9"]


def test_the_reference_time_of_a_request_is_now(kit: Any, diary: Any) -> None:
    """ "Yesterday" counts from what the caller calls now, in the caller's zone."""
    found = kit.find(diary, "what did we do yesterday?", reference=kit.clock.now - timedelta(days=3))
    assert found == ["mem:6"]
    late = kit.clock.now.replace(hour=20)
    assert kit.find(diary, "what did we do yesterday?", reference=late, zone="Asia/Tokyo") == ["mem:10"]


def test_the_newest_are_asked_for(kit: Any) -> None:
    """ "Recent", "latest", 最近: the newest first, by whichever word decisions are called."""
    store = kit.store()
    for n in range(6):
        kit.write(store, f"We settled question {n} of the hall.", type="decision", timestamp=kit.clock.on(days=1))
    kit.write(store, "Nobody decided who cleans the recent spill.", timestamp=kit.clock.on(days=1))
    newest = [f"mem:{n}" for n in range(6, 0, -1)]
    for query in ("recent decisions", "what has been decided lately?", "最近決めたこと", "直近の決定事項を教えて"):
        assert kit.find(store, query) == newest, query


def test_the_current_value_stands_first(kit: Any) -> None:
    """Of records that say the same of one thing with another value, the newer; also where nobody asks for it."""
    store = kit.store()
    kit.write(store, "The spare key hangs at the porter's desk.")
    kit.clock.on(days=40)
    kit.write(store, "The spare key hangs in the blue cabinet, no longer at the desk.")
    kit.write(store, "The porter's desk was polished.")
    assert kit.find(store, "where does the spare key hang")[:2] == ["mem:2", "mem:1"]
    assert kit.find(store, "where does the spare key hang currently")[:1] == ["mem:2"]


def test_what_is_archived_or_still_to_come_stands_behind_what_holds(kit: Any) -> None:
    """The newer of two is no longer so where it was put away, and not yet where its day has not come."""
    store = kit.store()
    kit.write(store, "The red bus stops at the mill.")
    kit.clock.on(days=9)
    kit.write(store, "The red bus stops at the pier.", status="archived")
    kit.write(store, "The red bus stops at the dome.", timestamp=kit.clock.now + timedelta(days=500))
    assert kit.find(store, "where does the red bus stop") == ["mem:1", "mem:3", "mem:2"]
    assert [item.id for item in store.restore(Filters(), kit.me, 100, 50).items] == ["mem:3", "mem:1"]
