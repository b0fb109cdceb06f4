"""The one reading of dates and times for every field, filter and importer."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

from .errors import InvalidField

_RFC3339 = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})"
    r"(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?\s?(?:([Zz])|([+-])(\d{2}):?(\d{2}))?)?",
    re.ASCII,
)
_MILLISECONDS_FROM = 100_000_000_000
_NEITHER = (253_402_300_800, 315_532_800_000)
"""As seconds the years 10000 to 11968, which no date has; as milliseconds 1978 and 1979: sooner a mistake."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WANTED = "give RFC 3339 such as 2026-03-01T09:30:00Z, a date, or seconds since 1970"


def parse_zone(name: object, field: str) -> tzinfo:
    """A time zone by its IANA name, such as Asia/Tokyo; raises `InvalidField` naming `field`."""
    from zoneinfo import ZoneInfo  # only where a zone is named

    wrong = InvalidField(f"{field}: {ascii(name)[:40]} is not a time zone; give a name such as Asia/Tokyo", field=field)
    if not (isinstance(name, str) and name.isascii() and len(name) <= 64):
        raise wrong
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:  # a malformed name, a folder of names, one that is not known
        raise wrong from error


def parse_time(value: object, field: str, zone: tzinfo = UTC) -> datetime:
    """Aware UTC time of `value`; raises `InvalidField` naming `field`. What has no offset is a time of `zone`.

    Taken: RFC 3339 text (section 5.6; also without seconds, or with a blank for the `T`); a bare date, which is its
    midnight; a text or `datetime` without an offset; a `date`; a number, seconds since 1970, or
    milliseconds from 100,000,000,000 up (as seconds that would be the year 5138), but for those of 1978 and 1979, which
    would be seconds just beyond the year 9999. Fractions finer than a microsecond
    are cut off; a leap second `:60` is the first moment of the next minute. Refused: everything else.
    """
    if isinstance(value, datetime):
        try:
            return (value if value.tzinfo else value.replace(tzinfo=zone)).astimezone(UTC)
        except OverflowError as error:
            raise _refused(value, field) from error
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=zone).astimezone(UTC)
    if isinstance(value, bool):
        raise _refused(value, field)
    if isinstance(value, int | float):
        return _from_number(value, field)
    match = _RFC3339.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise _refused(value, field)
    return _from_match(match, value, field, zone)


def _from_number(value: int | float, field: str) -> datetime:
    if isinstance(value, float) and not math.isfinite(value):
        raise _refused(value, field)
    if _NEITHER[0] <= abs(value) < _NEITHER[1]:
        raise _refused(value, field)
    unit = "milliseconds" if abs(value) >= _MILLISECONDS_FROM else "seconds"
    try:
        return _EPOCH + timedelta(**{unit: value})
    except OverflowError as error:
        raise _refused(value, field) from error


def _from_match(match: re.Match[str], value: object, field: str, zone: tzinfo) -> datetime:
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    micro = int((match[7] or "")[:6].ljust(6, "0"))
    offset = timedelta(hours=int(match[10] or 0), minutes=int(match[11] or 0))
    if second > 60 or int(match[11] or 0) > 59:
        raise _refused(value, field)
    try:
        if match[8] or match[9]:
            zone = timezone(-offset if match[9] == "-" else offset)
        moment = datetime(year, month, day, hour, minute, min(second, 59), micro, tzinfo=zone)
        if second == 60:
            moment = moment.replace(microsecond=0) + timedelta(seconds=1)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise _refused(value, field) from error


def _refused(value: object, field: str) -> InvalidField:
    shown = ascii(value)
    if len(shown) > 40:
        shown = f"{shown[:37]}..."
    return InvalidField(f"{field}: {shown} is not a time; {_WANTED}", field=field)


def utc(moment: datetime | None) -> datetime | None:
    """A time as the store keeps it: UTC without a zone."""
    return None if moment is None else moment.astimezone(UTC).replace(tzinfo=None)
