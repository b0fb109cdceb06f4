"""Where sentences end, in Latin and in East Asian writing, and which of them are too short to stand alone."""

from __future__ import annotations

import re
from typing import Final

from .cuts import border, fits, is_wide

__all__ = ["END", "joined", "sentence_ends"]

_SHORT: Final = 20
_SHORT_WIDE: Final = 8
# Sentence marks, the closing marks that stay with them, and the blanks after both.
END: Final = re.compile(r"[.!?。！？｡．…‥؟۔।॥]+[)\]}\"'”’»」』）】〉》］｝*_~`]*\s*")
_STRONG: Final = frozenset("。！？｡؟۔।॥")
_OPENERS: Final = "([{\"'“‘«「『（【〈《*_`~¿¡"
_ABBREVIATIONS: Final = frozenset(
    """mr mrs ms dr prof rev gen sen rep gov capt sgt lt col st mt ft no nos vol vols fig figs eq eqs sec ch chap pp p
    ed eds vs v cf al approx est dept univ assn bros jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu
    fri sat sun ca resp incl excl ex viz misc max min avg tel ref refs op art""".split()
)
_SOFT: Final = frozenset("etc inc ltd jr sr co corp a.m p.m".split())
_STARTERS: Final = re.compile(r"(?:The|This|That|These|Those|It|He|She|We|They|I|You|In|On|At|If|But|And|So|My|Our)\b")


def _ends(text: str, start: int, match: re.Match[str], stop: int) -> bool:
    """Tell whether a match of ``END`` ends the sentence that began at ``start``."""
    after = match.end()
    found = match[0]
    marks = found.rstrip()
    following = text[after]
    if following >= "\u0300" and not border(text, after):
        return False
    spaced = len(marks) < len(found)
    bare = marks.rstrip(")]}\"'”’»」』）】〉》］｝*_~`")
    last = bare[-1]
    if last in _STRONG:
        return spaced or len(bare) == len(marks) or not ("\u3041" <= following <= "\u309f" or following in "（(")
    if not spaced:
        if last in "!?":
            return following >= "\u2e80"
        return last == "．" and following >= "\u2e80" and not "０" <= following <= "９"
    k = after
    while k < stop and text[k] in _OPENERS:
        k += 1
    if k < stop and text[k].islower():
        return False
    if last != "." or len(bare) > 1:
        return True
    word = text[max(start, match.start() - 16) : match.start()].rsplit(None, 1)
    if not word:
        return True
    name = word[-1].lstrip(_OPENERS)
    lower = name.lower()
    if lower in _SOFT:
        return True
    if lower in _ABBREVIATIONS:
        return lower == "no" and not text[after].isdigit()
    if "." in name and all(len(piece) <= 2 and piece.isalpha() for piece in name.split(".")):
        return lower not in ("e.g", "i.e") and _STARTERS.match(text, k) is not None
    if len(name) == 1 and name.isupper() and name != "I":
        return _STARTERS.match(text, k) is not None
    return not (name.isdecimal() and len(name) <= 3 and not text[start : match.start() - len(name)].strip())


def sentence_ends(text: str, start: int, stop: int) -> list[int]:
    """Return the ends of the sentences in ``text[start:stop]``; the last one is ``stop``."""
    ends: list[int] = []
    begin = start
    for match in END.finditer(text, start, stop):
        if match.end() < stop and _ends(text, begin, match, stop):
            begin = match.end()
            ends.append(begin)
    ends.append(stop)
    return ends


def joined(text: str, start: int, ends: list[int], body: int) -> list[int]:
    """Return ``ends`` without those that would leave a very short sentence alone; ``body`` is where the words begin."""
    if len(ends) == 1:
        return ends
    kept: list[int] = []
    begin, words = start, body
    for k, end in enumerate(ends):
        if _short(text, words, end):
            if k + 1 < len(ends) and fits(text, begin, ends[k + 1]):
                continue
            if kept and fits(text, kept[-2] if len(kept) > 1 else start, end):
                kept[-1] = begin = words = end
                continue
        kept.append(end)
        begin = words = end
    return kept


def _short(text: str, start: int, end: int) -> bool:
    if end - start > 64:
        return False
    words = text[start:end].strip()
    return len(words) < _SHORT and (len(words) < _SHORT_WIDE or words.isascii() or not is_wide(words))
