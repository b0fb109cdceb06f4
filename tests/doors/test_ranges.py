"""Byte ranges as RFC 9110 has them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.packer.doors.rest.answers import asked_range, whole_after_all


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("bytes=0-499", (0, 499 + 1)),
        ("bytes=500-999", (500, 1000)),
        ("bytes=-500", (9500, 10000)),
        ("bytes=9500-", (9500, 10000)),
        ("bytes=0-0", (0, 1)),
        ("Bytes= 0-1 ", (0, 2)),
        ("bytes=9999-20000", (9999, 10000)),
        ("bytes=-20000", (0, 10000)),
        ("bytes=0-" + "9" * 5000, (0, 10000)),
        ("bytes=-" + "9" * 5000, (0, 10000)),
        ("bytes=" + "0" * 30 + "3-4", (3, 5)),
    ],
)
def test_one_range_is_served(header: str, expected: tuple[int, int]) -> None:
    """First and last position are inclusive, a suffix counts from the end, what is beyond the end is cut off."""
    assert asked_range(header, 10000) == expected


@pytest.mark.parametrize("header", ["bytes=10000-", "bytes=10000-20000", "bytes=-0", "bytes=" + "9" * 5000 + "-"])
def test_a_range_outside_is_empty(header: str) -> None:
    """Nothing of it exists, so the answer is 416."""
    assert asked_range(header, 10000) == (10000, 10000)


@pytest.mark.parametrize(
    "header",
    [None, "", "bytes", "bytes=", "bytes=-", "bytes=5-4", "bytes=a-b", "lines=0-1", "bytes=0-1,5-6", "bytes=１-"],
)
def test_anything_else_is_the_whole(header: str | None) -> None:
    """No range, a malformed one, another unit, several."""
    assert asked_range(header, 10000) is None


def test_an_empty_payload_has_no_range() -> None:
    """Every range of nothing is unsatisfiable."""
    assert asked_range("bytes=0-", 0) == (0, 0)
    assert asked_range("bytes=-5", 0) == (0, 0)


@given(first=st.integers(0, 50), last=st.integers(0, 50), size=st.integers(0, 40))
def test_a_range_is_within_the_bytes_and_as_asked(first: int, last: int, size: int) -> None:
    """What is served is exactly the bytes at the positions asked for that exist."""
    data = bytes(range(size))
    found = asked_range(f"bytes={first}-{last}", size)
    if last < first:
        assert found is None
    else:
        assert found is not None
        assert data[found[0] : found[1]] == data[first : last + 1]


@pytest.mark.parametrize(
    ("header", "whole"),
    [(None, False), ('"a"', False), ('"b"', True), ('W/"a"', True), ("Sun, 01 Mar 2026 09:30:00 GMT", True)],
)
def test_if_range_holds_for_the_same_bytes_only(header: str | None, whole: bool) -> None:
    """Another tag, a weak one or a date asks for the whole again."""
    assert whole_after_all(header, '"a"') is whole
