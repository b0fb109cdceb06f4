"""Words of time in a query, English and Japanese, as an interval from the moment and in the zone of who asks. Pure."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final

__all__ = ["When", "read_time"]

_DAYS: Final = {name: number for number, name in enumerate("mon tue wed thu fri sat sun".split())}
_MONTHS: Final = {
    name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), start=1)
}
_NUMBERS: Final = {
    name: number
    for number, names in enumerate(
        (
            "one a an 一",
            "two 二",
            "three 三",
            "four 四",
            "five 五",
            "six 六",
            "seven 七",
            "eight 八",
            "nine 九",
            "ten 十",
        ),
        1,
    )
    for name in names.split()
} | {"couple of": 2, "few": 3, "数": 3}
_KANJI_DAYS: Final = "月火水木金土日"
_N: Final = r"(?P<n>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|(?:a )?couple of|(?:a )?few)"
_UNIT: Final = "(?P<unit>day|week|month|year)"
_JN: Final = r"(?P<n>[0-9０-９]{1,3}|[一二三四五六七八九十数])"
_MONTH: Final = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY: Final = r"(?P<day>mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"

_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
_DATE: Final = r"(?P<date>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"

Span = tuple[date, date]


@dataclass(frozen=True, slots=True)
class When:
    """What a query says of time: `rest` is the query without it, `since` and `until` the half-open interval or None.

    `relative` tells an interval that is counted from now ("yesterday"), which is when something was done or written,
    from a date ("in March"), which may as well be what the memory speaks of. `newest`: the latest or current is wanted.
    """

    rest: str
    since: datetime | None = None
    until: datetime | None = None
    relative: bool = False
    newest: bool = False


def _days(start: date, count: int) -> Span:
    return start, start + timedelta(days=count)


def _month(year: int, month: int) -> Span:
    return _days(date(year, month, 1), monthrange(year, month)[1])


def _months_before(today: date, count: int) -> Span:
    index = today.year * 12 + today.month - 1 - count
    return _month(index // 12, index % 12 + 1)


def _week(today: date, back: int) -> Span:
    return _days(today - timedelta(days=today.weekday() + 7 * back), 7)


def _year(year: int) -> Span:
    return date(year, 1, 1), date(year + 1, 1, 1)


def _number(match: re.Match[str]) -> int:
    text = match["n"].lower()
    return int(text) if text.isdecimal() else _NUMBERS.get(text.removeprefix("a "), _NUMBERS.get(text, 1))


def _ago(match: re.Match[str], today: date) -> Span:
    count, unit = _number(match), match["unit"]
    if unit in ("day", "日"):
        return _days(today - timedelta(days=count), 1)
    if unit in ("week", "週", "週間"):
        return _week(today, count)
    if unit in ("month", "か月", "ヶ月", "カ月", "ヵ月"):
        return _months_before(today, min(count, 12 * (today.year - 1)))
    return _year(max(1, today.year - count))


def _past(match: re.Match[str], today: date) -> Span:
    days = {"day": 1, "日": 1, "日間": 1, "week": 7, "週": 7, "週間": 7, "year": 365, "年": 365}.get(match["unit"], 30)
    return today - timedelta(days=_number(match) * days if match["n"] else days), today + timedelta(days=1)


def _weekday(match: re.Match[str], today: date) -> Span:
    name = match["day"].lower()
    number = _KANJI_DAYS.index(name) if name in _KANJI_DAYS else _DAYS[name[:3]]
    return _days(today - timedelta(days=(today.weekday() - number - 1) % 7 + 1), 1)


def _weekday_before(match: re.Match[str], today: date) -> Span:
    """A day of last week or this one."""
    monday = today - timedelta(days=today.weekday() + (7 if match["week"] == "先週" else 0))
    return _days(monday + timedelta(days=_KANJI_DAYS.index(match["day"])), 1)


def _named(match: re.Match[str], today: date) -> Span:
    """A month, or a day of it; without a year the latest that has begun."""
    found = match.groupdict()
    name = found["month"].lower()
    month = _MONTHS[name[:3]] if name[0].isalpha() else int(name)
    year = int(found["year"]) if found.get("year") else today.year - (month > today.month)
    if found.get("date"):
        return _days(date(year, month, int(found["date"])), 1)
    return _month(year, month)


def _whole_year(match: re.Match[str], today: date) -> Span:
    return _year(int(match["year"]))


_READ: Final[tuple[tuple[str, Callable[[re.Match[str], date], Span], bool], ...]] = (
    (r"(?:the )?day before yesterday|一昨日|おととい", lambda m, d: _days(d - timedelta(days=2), 1), True),
    (r"yesterday(?:'s)?|last night|昨日|昨晩|昨夜|きのう", lambda m, d: _days(d - timedelta(days=1), 1), True),
    (r"today(?:'s)?|this (?:morning|afternoon|evening)|tonight|今日|本日|今朝|今晩", lambda m, d: _days(d, 1), True),
    (r"(?P<week>今週|先週)の?(?P<day>[月火水木金土日])(?:曜日?)", _weekday_before, True),
    (r"(?:the )?week before last|先々週", lambda m, d: _week(d, 2), True),
    (r"last week(?:'s)?|先週", lambda m, d: _week(d, 1), True),
    (r"this week(?:'s)?|今週", lambda m, d: _week(d, 0), True),
    (r"(?:the )?month before last|先々月", lambda m, d: _months_before(d, 2), True),
    (r"last month(?:'s)?|先月", lambda m, d: _months_before(d, 1), True),
    (r"this month(?:'s)?|今月", lambda m, d: _months_before(d, 0), False),
    (r"last year(?:'s)?|去年|昨年", lambda m, d: _year(d.year - 1), True),
    (r"this year(?:'s)?|今年", lambda m, d: _year(d.year), False),
    (rf"{_N} (?P<unit>day|week|month|year)s? ago", _ago, True),
    (rf"{_JN}(?P<unit>日|週間|週|か月|ヶ月|カ月|ヵ月|年)前", _ago, True),
    (rf"(?:(?:in|over|during|within|for) )?(?:the )?(?:last|past) (?:{_N} )?{_UNIT}s?", _past, True),
    (rf"(?:この|ここ|過去){_JN}(?P<unit>日間|日|週間|週|か月|ヶ月|カ月|ヵ月|年)間?", _past, True),
    (rf"last {_DAY}", _weekday, True),
    (rf"on {_DAY}", _weekday, False),
    (rf"(?:on )?{_YEAR}-(?P<month>0[1-9]|1[0-2])-(?P<date>0[1-9]|[12]\d|3[01])", _named, False),
    (rf"(?:on )?(?:the )?{_DATE} (?:of )?{_MONTH}(?:,? {_YEAR})?", _named, False),
    (rf"(?:on )?{_MONTH} {_DATE}(?:,? {_YEAR})?", _named, False),
    (rf"(?:in|during|since|of|last) {_MONTH}(?:,? {_YEAR})?", _named, False),
    (rf"(?:{_YEAR}年)?(?P<month>1[0-2]|[1-9])月(?:(?P<date>3[01]|[12]\d|[1-9])日)?(?![前間])", _named, False),
    (rf"{_YEAR}年(?!度)", _whole_year, False),
    (rf"(?:in|during) {_YEAR}", _whole_year, False),
)  # fmt: skip
_PATTERNS: Final = tuple(
    (re.compile(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])", re.IGNORECASE), span, relative)
    for pattern, span, relative in _READ
)
_HINT: Final = re.compile(
    r"\b(?:yesterday|today|tonight|this|last|past|ago|before|in|on|of|since|during|19\d\d|20\d\d|jan|feb|mar|apr|may|jun|"
    r"jul|aug|sep|oct|nov|dec|[0-9])|[昨今先去日週月年]|きのう|おととい|きょう|過去",
    re.IGNORECASE,
)
_AFTER: Final = re.compile(r"^(?:に|は|の|、|で|から|まで|中に|中)*")
_NEWEST: Final = re.compile(
    r"\b(?:(?:most )?recent(?:ly)?|latest|newest|lately|of late|current(?:ly)?|present(?:ly| day)|nowadays|"
    r"(?:most )?up[- ]to[- ]date|right now|as of now|at (?:the moment|present)|these days)\b|"
    r"(?:(?:いちばん|一番|もっとも|最も)(?:新しい|最近の?))|最新の?|最近の?|直近の?|直前の?|現在の?|現行の?|目下の?|"
    r"現時点(?:で)?の?|今現在の?|(?:この|ここ)(?:ところ|最近)の?|近頃の?|近ごろの?|このごろの?",
    re.IGNORECASE,
)


def read_time(text: str, now: datetime, zone: tzinfo = UTC) -> When:
    """What a query says of time, counted from `now` (aware) in `zone`; the first expression of each kind counts."""
    newest = _NEWEST.search(text) is not None
    if newest:
        text = _NEWEST.sub(" ", text)
    if _HINT.search(text):
        today = now.astimezone(zone).date()
        for pattern, span, relative in _PATTERNS:
            match = pattern.search(text)
            if match is None:
                continue
            try:
                first, last = span(match, today)
                since, until = (datetime(d.year, d.month, d.day, tzinfo=zone).astimezone(UTC) for d in (first, last))
            except (ValueError, OverflowError):  # the 31st of June, a time before all calendars
                continue
            rest = f"{text[: match.start()]} {_AFTER.sub('', text[match.end() :])}"
            return When(rest.strip(), since, until, relative, newest)
    return When(text.strip() if newest else text, newest=newest)
