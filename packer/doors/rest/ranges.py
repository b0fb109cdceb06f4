"""Byte ranges of a response (RFC 9110, section 14): one range is served, anything else is the whole. Pure."""

from __future__ import annotations

import re
from typing import Final

_ONE: Final = re.compile(r"[ \t]*(?:([0-9]+)-([0-9]*)|-([0-9]+))[ \t]*")
_DIGITS: Final = 20  # of a position that are looked at: more make it larger than any size either way


def asked_range(header: str | None, size: int) -> tuple[int, int] | None:
    """The half-open range of `size` bytes that a Range header asks for, or None for the whole.

    An empty range, `start == stop`, is one that cannot be satisfied (416). A unit other than bytes, a malformed header
    and several ranges are answered with the whole, as section 14.2 allows.
    """
    unit, _, ranges = (header or "").partition("=")
    match = _ONE.fullmatch(ranges) if unit.strip().lower() == "bytes" else None
    if match is None:
        return None
    first, last, suffix = (_position(part) for part in match.groups())
    if suffix is not None:
        return max(0, size - suffix), size
    assert first is not None
    if last is not None and last < first:
        return None
    start = min(first, size)
    return start, size if last is None else max(start, min(last + 1, size))


def _position(digits: str | None) -> int | None:
    return int(digits.lstrip("0")[:_DIGITS] or "0") if digits else None


def whole_after_all(if_range: str | None, tag: str) -> bool:
    """Whether an If-Range header (section 13.1.5) turns a range request into one for the whole.

    It does unless it is the strong `tag` itself; a date never holds, as answers have no Last-Modified.
    """
    return if_range is not None and if_range.strip() != tag
