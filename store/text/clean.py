"""What of a stored text is shown: no character that hides, turns or steers text. Pure, linear.

Stored text stays as it was given, and an exact get gives it so. In packs, titles and rows, which a model reads as it
sees them, these characters are left out: those that turn the direction of text (UAX #9), tags, variation selectors and
joiners where nothing is joined, fillers, and whatever else Unicode calls default-ignorable. Control characters are
U+FFFD. Joiners and selectors that do their work stay: in emoji, in scripts that need them, behind ideographs.
"""

from __future__ import annotations

import re

HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_CONTROLS = r"\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f"
_BREAKS = "\x0b\x0c\x1c\x1d\x1e\x85"
_PICTURE = (  # Extended_Pictographic and the skin tones, in ranges
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935"
    "\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_JOINING = (  # scripts whose words need ZWJ or ZWNJ: Arabic to Mandaic, those of India and their relatives, Mongolian
    "\u0620-\u065f\u066e-\u06d3\u06d5-\u06ff\u0700-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u17d3"
    "\u1820-\u18aa\u1900-\u1cff\ua800-\uabff\U00010a00-\U00010fff\U00011000-\U00011fff\U0001e900-\U0001e95f"
)
_IDEOGRAPH = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# The tag sequences that Unicode recommends: the flags of England, Scotland and Wales.
_FLAGS = "|".join("".join(chr(0xE0000 + ord(c)) for c in region) for region in ("gbeng", "gbsct", "gbwls"))
_ODD = re.compile(f"[{HIDDEN}{_CONTROLS}{_BREAKS}]")
_RUN = re.compile(f"[{HIDDEN}]+")
_CONTROL = re.compile(f"[{_CONTROLS}]")
_BREAK = re.compile(f"[{_BREAKS}]")
_IS_PICTURE = re.compile(f"[{_PICTURE}]")
_FLAG = re.compile(f"\U0001f3f4(?:{_FLAGS})\U000e007f")
_MARKED = re.compile(  # a character and the one mark that it may carry
    f"[{_JOINING}][\u200c\u200d]|[#*0-9{_PICTURE}{_IDEOGRAPH}][\ufe00-\ufe0f]"
    f"|[{_IDEOGRAPH}][\U000e0100-\U000e01ef]|[\u1820-\u18aa][\u180b-\u180f]"
)


def visible(text: str) -> str:
    """The text as it is shown; the same object where nothing is hidden. Blanks, tabs and line breaks stay."""
    if not _ODD.search(text):
        return text
    if not text.isascii():
        text = _RUN.sub(_kept, text)
    return _BREAK.sub("\n", _CONTROL.sub("\ufffd", text))


def blank(text: str) -> bool:
    """Whether nothing of a text is shown."""
    return not any(c.isascii() and c.isalnum() for c in text[:200]) and not visible(text).strip()


def _kept(run: re.Match[str]) -> str:
    """What stays of a run of hidden characters: what the character before it carries, or joins to the one behind."""
    text, start, end = run.string, run.start(), run.end()
    if start == 0:
        return ""
    if run[0] in ("\u200d", "\ufe0f\u200d") and _IS_PICTURE.match(text, start - 1) and _IS_PICTURE.match(text, end):
        return run[0]
    found = _FLAG.match(text, start - 1) or _MARKED.match(text, start - 1)
    return found[0][1:] if found else ""
