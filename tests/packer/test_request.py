"""What may be asked, and what is said about anything else."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from context_packs.packer.packing.request import PackRequest, parse_request
from context_packs.store.errors import InvalidField
from context_packs.store.values import Filters

WANTED = "give RFC 3339 such as 2026-03-01T09:30:00Z, a date, or seconds since 1970"
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.binary(max_size=4),
    st.text(max_size=12),
    st.lists(st.text(max_size=5), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def test_defaults_are_those_of_the_contract() -> None:
    """Eight items, 1,500 tokens, no ceiling of characters, no filter, and an empty query, which restores."""
    request = parse_request()
    assert (request.query, request.max_items, request.max_tokens, request.max_chars) == ("", 8, 1500, None)
    assert request.filters() == Filters()
    assert request.restore
    assert not parse_request(query="why DuckDB?").restore
    assert parse_request(query=" \n").restore


KNOWN = (
    "query, max_items, max_tokens, max_chars, profile, scope, bucket, team_id, path, memory_type, status, source, "
    "owner_timezone, since, until, as_of, reference_time, threshold, time_order, temporal_axis_mode, query_mode, "
    "prefer_working, hypothetical_answer, history, exclude_ids, exclude_contents, hops, fill"
)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"max_tokens": 12_001}, "max_tokens: 12001 is above 12000"),
        ({"max_tokens": 0}, "max_tokens: 0 is below 1"),
        ({"max_items": 51}, "max_items: 51 is above 50"),
        ({"max_items": 0}, "max_items: 0 is below 1"),
        ({"max_items": -3}, "max_items: -3 is below 1"),
        ({"max_chars": 0}, "max_chars: 0 is below 1"),
        ({"max_items": True}, "max_items: True is not a whole number"),
        ({"max_items": "10"}, "max_items: '10' is not a whole number"),
        ({"max_tokens": 10.5}, "max_tokens: 10.5 is not a whole number"),
        ({"max_tokens": 1e9}, "max_tokens: 1000000000.0 is not a whole number"),
        ({"max_tokens": float("nan")}, "max_tokens: nan is not a whole number"),
        ({"max_tokens": None}, "max_tokens: None is not a whole number"),
        ({"max_chars": "1"}, "max_chars: '1' is not a whole number"),
        ({"query": None}, "query: None is not text"),
        ({"threshold": 1.5}, "threshold: 1.5 is above 1"),
        ({"threshold": -1}, "threshold: -1 is below 0"),
        ({"threshold": "0.5"}, "threshold: '0.5' is not a number"),
        ({"threshold": True}, "threshold: True is not a number"),
        ({"threshold": float("nan")}, "threshold: nan is below 0"),
        ({"time_order": "newest"}, "time_order: 'newest' is not 'asc' or 'desc'"),
        ({"query_mode": "activity_log"}, "query_mode: activity_log needs since and until"),
        ({"query_mode": "activity_log", "since": "2026-01-01"}, "query_mode: activity_log needs since and until"),
        ({"owner_timezone": "../etc"}, "owner_timezone: '../etc' is not a time zone; give a name such as Asia/Tokyo"),
        ({"owner_timezone": "America"}, "owner_timezone: 'America' is not a time zone; give a name such as Asia/Tokyo"),
        ({"owner_timezone": "\x00"}, "owner_timezone: '\\x00' is not a time zone; give a name such as Asia/Tokyo"),
        ({"reference_time": "now"}, f"reference_time: 'now' is not a time; {WANTED}"),
        ({"query": 7}, "query: 7 is not text"),
        ({"bucket": 7}, "bucket: 7 is not text"),
        ({"history": "yes"}, "history: 'yes' is not true or false"),
        ({"exclude_contents": "one text"}, "exclude_contents: 'one text' is not a list"),
        ({"exclude_contents": [1]}, "exclude_contents: entry 1: 1 is not text"),
        ({"exclude_ids": ["mem:1", "mem:01"]}, "exclude_ids: 'mem:01' is not an id like mem:1"),
        ({"exclude_ids": [" mem:1"]}, "exclude_ids: ' mem:1' is not an id like mem:1"),
        ({"offset": 20}, f"offset: unknown field; known fields: {KNOWN}"),
        ({"\n\x00": 1}, f"'\\n\\x00': unknown field; known fields: {KNOWN}"),
        ({"since": "noon"}, f"since: 'noon' is not a time; {WANTED}"),
        ({"since": "2026-03-02", "until": "2026-03-02"}, "since: must be before until"),
    ],
)  # fmt: skip
def test_anything_else_is_refused_in_one_line_that_names_the_field(fields: dict[str, Any], message: str) -> None:
    """The message names the field, the value and the bound; the error carries the field's name."""
    with pytest.raises(InvalidField) as caught:
        parse_request(**fields)
    assert str(caught.value) == message
    assert caught.value.field in {*fields, "since"}


def test_bounds_are_taken() -> None:
    """The smallest and largest limits are valid."""
    assert parse_request(max_items=1, max_tokens=1, max_chars=1).max_tokens == 1
    assert parse_request(max_items=50, max_tokens=12_000, max_chars=10**9).max_items == 50


@pytest.mark.parametrize("everything", ["%", "", "  ", None])
def test_the_signs_for_all_are_no_filter(everything: str | None) -> None:
    """`%`, an empty text and None mean all in every filter."""
    names = ("scope", "bucket", "team_id", "path", "memory_type", "status", "source", "since", "until", "as_of")
    assert parse_request(**dict.fromkeys(names, everything)).filters() == Filters()


def test_filters_are_passed_on_exactly() -> None:
    """What existing clients send: `auto` is every type, a status is exact, bare dates are midnight UTC."""
    request = parse_request(
        memory_type="auto", status="active", bucket="Work", path="a/b", source="chat", team_id="blue", scope="team",
        since="2026-03-01", until="2026-03-02T00:00:00+09:00", as_of=1_767_225_600, exclude_ids=["ep:3"], history=True,
    )  # fmt: skip
    assert request.filters() == Filters(
        scope="team", bucket="Work", team_id="blue", path="a/b", status="active", source="chat",
        since=datetime(2026, 3, 1, tzinfo=UTC), until=datetime(2026, 3, 1, 15, tzinfo=UTC),
        as_of=datetime(2026, 1, 1, tzinfo=UTC), exclude_ids=("ep:3",), history=True,
    )  # fmt: skip
    assert parse_request(memory_type="decision").filters().memory_type == "decision"


def test_lone_surrogates_are_repaired() -> None:
    """A text from a console with half a character is taken, with U+FFFD in its place; whole pairs become characters."""
    request = parse_request(query="a\ud800b", bucket="\udfff", exclude_contents=["\ud83d\ude00", "\ud83d"])
    assert (request.query, request.bucket, request.exclude_contents) == ("a\ufffdb", "\ufffd", ("😀", "\ufffd"))


def test_a_request_is_frozen() -> None:
    """Nothing changes a request once it is made; copies are made by name."""
    request = parse_request(query="x")
    with pytest.raises(ValidationError):
        request.query = "y"
    assert hash(request) == hash(parse_request(query="x"))


@given(st.dictionaries(st.sampled_from(sorted(PackRequest.model_fields)), VALUES, max_size=4))
def test_any_value_gives_a_request_or_names_a_field(fields: dict[str, Any]) -> None:
    """No input raises anything but an error that names one of the given fields in one line."""
    try:
        request = parse_request(**fields)
    except InvalidField as error:
        assert error.field in fields
        assert "\n" not in str(error)
    else:
        assert 1 <= request.max_items <= 50 and 1 <= request.max_tokens <= 12_000


def test_times_without_an_offset_are_the_owners() -> None:
    """owner_timezone is the zone of bare dates and times; what has an offset keeps it."""
    request = parse_request(
        owner_timezone="Asia/Tokyo", since="2026-03-01", until="2026-03-02T00:00:00Z", as_of="2026-03-01T09:00"
    )
    assert request.since == datetime(2026, 2, 28, 15, tzinfo=UTC)
    assert request.until == datetime(2026, 3, 2, tzinfo=UTC)
    assert request.as_of == datetime(2026, 3, 1, tzinfo=UTC)


def test_axes_of_time() -> None:
    """Which time the interval and the order go by, for each mode."""
    modes = (None, "created_at", "updated_at", "split_filter_created_order_updated")
    filters = [parse_request(temporal_axis_mode=mode).filters() for mode in modes]
    assert [(one.time_by, one.order_by) for one in filters] == [
        (None, None),
        (None, "created_at"),
        ("updated_at", "updated_at"),
        (None, "updated_at"),
    ]
