"""The one reading of times."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.store.errors import InvalidField
from context_packs.store.times import parse_time

TOKYO = timezone(timedelta(hours=9))


@pytest.mark.parametrize(
    ("value", "iso"),
    [
        ("2026-03-01", "2026-03-01T00:00:00+00:00"),
        ("2026-03-01T09:30:00Z", "2026-03-01T09:30:00+00:00"),
        ("2026-03-01t09:30:00z", "2026-03-01T09:30:00+00:00"),
        ("2026-03-01 09:30", "2026-03-01T09:30:00+00:00"),
        ("2026-03-01T09:30:00", "2026-03-01T09:30:00+00:00"),
        ("2026-03-01T00:30:00+09:00", "2026-02-28T15:30:00+00:00"),
        ("2026-03-01T00:30:00-0330", "2026-03-01T04:00:00+00:00"),
        ("2026-03-01T09:30:00.123456789Z", "2026-03-01T09:30:00.123456+00:00"),
        ("2026-12-31T23:59:60Z", "2027-01-01T00:00:00+00:00"),
        (" 2026-03-01 ", "2026-03-01T00:00:00+00:00"),
        (date(2026, 3, 1), "2026-03-01T00:00:00+00:00"),
        (datetime(2026, 3, 1, 9), "2026-03-01T09:00:00+00:00"),  # noqa: DTZ001 - a naive time is the point
        (datetime(2026, 3, 1, 9, tzinfo=TOKYO), "2026-03-01T00:00:00+00:00"),
        (0, "1970-01-01T00:00:00+00:00"),
        (1_772_357_400, "2026-03-01T09:30:00+00:00"),
        (1_772_357_400.5, "2026-03-01T09:30:00.500000+00:00"),
        (1_772_357_400_000, "2026-03-01T09:30:00+00:00"),
        (-86_400, "1969-12-31T00:00:00+00:00"),
    ],
)
def test_times_are_read_as_documented(value: Any, iso: str) -> None:
    """RFC 3339, bare dates, naive times as UTC, seconds and milliseconds: always an aware time in UTC."""
    assert parse_time(value, "since").isoformat() == iso


@pytest.mark.parametrize(
    "value",
    [
        None, True, "", "yesterday", "2026-3-1", "2026-13-01", "2026-02-30", "20260301", "1772357400", "09:30",
        "2026-03-01T25:00:00Z", "2026-03-01T09:61:00Z", "2026-03-01T09:30:61Z", "2026-03-01T09:30:00+24:00",
        "2026-03-01T09:30:00+09:99", "2026-03-01Z", "2026-W09-1", "٢٠٢٦-٠٣-٠١", "2026-03-01\x00", b"2026-03-01",
        float("nan"), float("inf"), 1e30, 10**400, -(10**400), "0001-01-01T00:00:00+09:00", "9999-12-31T23:59:60Z",
        [], {},
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_the_field_named(value: Any) -> None:
    """No guess and no other exception: the message names the field, the value and what is wanted, in one line."""
    with pytest.raises(InvalidField, match=r"until: .* is not a time; give RFC 3339") as caught:
        parse_time(value, "until")
    assert caught.value.field == "until"
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 140


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(TOKYO)))  # noqa: DTZ001
def test_what_python_writes_is_read_back(moment: datetime) -> None:
    """ISO text with an offset gives the same moment in UTC."""
    parsed = parse_time(moment.isoformat(), "since")
    assert parsed == moment
    assert parsed.tzinfo is UTC


@given(st.one_of(st.text(max_size=30), st.floats(), st.integers(), st.datetimes(timezones=st.none() | st.timezones())))
def test_any_value_is_read_or_refused(value: Any) -> None:
    """Nothing but `InvalidField` ever comes out, and every result is aware UTC."""
    try:
        assert parse_time(value, "since").tzinfo is UTC
    except InvalidField as error:
        assert error.field == "since"
