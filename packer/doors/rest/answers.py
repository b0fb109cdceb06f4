"""Answers as JSON, exact ones with an ETag, and byte ranges of them (RFC 9110, sections 8.8.3, 13.1 and 14)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

from fastapi import Request
from starlette.responses import Response

from ..forms.bounded import compact
from .problems import Problem

_ONE: Final = re.compile(r"[ \t]*(?:([0-9]+)-([0-9]*)|-([0-9]+))[ \t]*")
_DIGITS: Final = 20  # of a position that are looked at: more make it larger than any size either way

ABSENT: dict[int | str, dict[str, Any]] = {
    404: {"model": Problem, "description": "An id in the body names nothing that the caller may see"},
    410: {"model": Problem, "description": "What an id in the body named was deleted; told to its owner only"},
}
"""Answers of a route whose body names records."""
REPLAYED: dict[int | str, dict[str, Any]] = {
    410: {"model": Problem, "description": "What this idempotency key wrote was deleted"},
}
"""Answers of a route that tells what stands under its idempotency key."""


def answer(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A document as JSON, as it is: not validated again."""
    return Response(compact(document).encode(), status, headers, "application/json")


def exact(request: Request, document: Any) -> Response:
    """The answer to an exact get, with a strong ETag over its bytes; 304 without a body where the client has it
    (RFC 9110, sections 8.8.3 and 13.1.2)."""
    return tagged(request, compact(document).encode(), "application/json")


def tagged(request: Request, body: bytes, media_type: str) -> Response:
    """As `exact`, for bytes of any type."""
    tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if matches(request.headers.get("if-none-match"), tag):
        return Response(None, 304, headers)
    return Response(body, 200, headers, media_type)


def matches(header: str | None, tag: str) -> bool:
    """Whether an `If-None-Match` header names the tag, by weak comparison."""
    if header is None:
        return False
    return header.strip() == "*" or tag in {one.strip().removeprefix("W/") for one in header.split(",")}


# ---- byte ranges: one range is served, anything else is the whole


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
