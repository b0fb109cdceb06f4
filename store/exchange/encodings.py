"""Text of files whose encoding nobody states: told for sure, or refused by name."""

from __future__ import annotations

import re
from typing import Literal

Encoding = Literal["utf-8", "utf-16", "utf-16-le", "utf-16-be", "cp932", "euc_jp"]
NAMES = {"utf-16": "UTF-16", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16", "cp932": "Shift_JIS", "euc_jp": "EUC-JP"}

_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa\u30fc]")
_NARROW_KANA = re.compile("[\uff61-\uff9f]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
LEAST_KANA = 0.15
"""Of all characters beyond ASCII: Japanese text has more, and other text read as Japanese by mistake less. Chinese in
GB18030, read as EUC-JP, comes out as kanji alone; Shift_JIS read as EUC-JP is not valid at all, or full of narrow
kana."""
MOST_NARROW = 0.05
_WHOLE = 10  # sound characters of UTF-8 for each broken one: then the text is UTF-8, and damaged
LEAST_CHARACTERS = 4


def of_mark(raw: bytes) -> Encoding | None:
    """The encoding that the first bytes tell: a mark, or NULs in every second place as UTF-16 without one has them."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    first = raw[:256]
    first = first[: len(first) & ~1]
    if len(first) >= 4 and b"\0" in first:
        even, odd = first[0::2].count(0), first[1::2].count(0)
        if not even and odd * 2 > len(first) // 2:
            return "utf-16-le"
        if not odd and even * 2 > len(first) // 2:
            return "utf-16-be"
    return None


def of_bytes(raw: bytes) -> Encoding | None:
    """The encoding of a whole text, or None where it can not be told for sure. UTF-8 with some damage is UTF-8."""
    if marked := of_mark(raw):
        return marked
    try:
        raw.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError:
        read = raw.decode("utf-8", "replace")
    broken = read.count("\ufffd")
    if len(_BEYOND_ASCII.findall(read)) - broken >= _WHOLE * broken:
        return "utf-8"
    japanese: tuple[Encoding, ...] = ("cp932", "euc_jp")
    fitting = [name for name in japanese if _is_japanese(raw, name)]
    return fitting[0] if len(fitting) == 1 else None


def _is_japanese(raw: bytes, encoding: Encoding) -> bool:
    try:
        beyond = "".join(_BEYOND_ASCII.findall(raw.decode(encoding)))
    except UnicodeDecodeError:
        return False
    return (
        len(beyond) >= LEAST_CHARACTERS
        and len(_KANA.findall(beyond)) >= LEAST_KANA * len(beyond)
        and len(_NARROW_KANA.findall(beyond)) <= MOST_NARROW * len(beyond)
    )
