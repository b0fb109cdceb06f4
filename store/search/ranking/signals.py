"""What the words of a question ask for, and what a passage has of it. Pure.

A date answers "when", a number "how many", a name "who": cheap signs that tell an answer from a passage that only
speaks of the same thing. English and Japanese.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...records import Record, Span
from ...text.analyzer import content_weight, query_terms

__all__ = [
    "NOTHING_NEW",
    "Asked",
    "Signs",
    "asked_for",
    "asks",
    "begins_turn",
    "dated",
    "goes_on",
    "novelty",
    "signs_of",
    "skeleton",
    "told_question",
    "unbroken",
]

Floats = NDArray[np.float64]

_WHEN: Final = re.compile(
    r"(?:^|[,;:.?!]\s*)(?:(?:and|so|but|or) )?(?:since |until |till |by )?when\b"
    r"|\bwhen (?:is|was|are|were|do|does|did|will|would|can|could|should|has|have|had)\b"
    r"|\b(?:what|which) (?:date|day|month|year|time|week)\b|\bhow long ago\b"
    r"|いつ|何時|何日|何月|何年|何曜日|期日|期限は",
    re.I,
)
_COUNT: Final = re.compile(
    r"\bhow (?:many|much|long|often|old|far|big|large|tall|high|fast|frequently)\b"
    r"|\bwhat (?:number|percentage|price|cost|age)\b"
    r"|いくつ|いくら|何(?:個|人|回|本|台|枚|件|度|分|秒|日間|年間|歳|円|名|冊|匹|頭|杯|階|番|割|%|種類|つ|時間|[かヶカ]月|キロ)"
    r"|どのくらい|どれくらい|どれほど",
    re.I,
)
_NAME: Final = re.compile(
    r"\b(?:who|whom|whose|where|which)\b|\bwhat (?:is|was|are|were) the names?\b"
    r"|\bwhat(?:'s| is) .{1,40} (?:called|named)\b|誰|だれ|どなた|どこ|どちら|どの|何という|なんという|名前は",
    re.I,
)
_OF_ASSISTANT: Final = re.compile(
    r"\b(?:you|assistant) (?:\w+ ){0,2}(?:say|said|tell|told|suggest|recommend|mention|explain|propose|advise|write"
    r"|wrote|list|give|gave|provide|describe|answer|come up)"
    r"|\byour (?:\w+ )?(?:suggestion|recommendation|answer|advice|proposal|explanation|response|example)"
    r"|\bdid you\b|アシスタント|あなた[はがの]",
    re.I,
)
_MONTH: Final = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
_DATE: Final = re.compile(
    rf"\b(?:{_MONTH})\b|\b(?:mon|tues?|wed(?:nes)?|thurs?|fri|sat(?:ur)?|sun)days?\b"
    r"|\b(?:yesterday|today|tonight|tomorrow|ago|weekends?|midnight|noon|morning|evening|annually|weekly|daily|monthly)\b"
    r"|\b(?:last|next|this|past|every|each|few|couple of|several) "
    r"(?:week|month|year|night|summer|spring|fall|autumn|winter|day)s?\b"
    r"|\b(?:19|20)\d\d\b|\b\d{1,2}:\d\d\b|\b\d{1,2}(?:st|nd|rd|th)\b|\b\d{1,2} ?(?:am|pm|a\.m|p\.m|o'clock)\b"
    r"|[0-9０-９一二三四五六七八九十]+(?:年|月|日|時|週)|[月火水木金土日]曜|昨日|今日|明日|一昨日|明後日"
    r"|[先今来][週月]|[去昨今来]年|毎[日週月年朝晩]|正午|午前|午後|[月年週]末",
    re.I,
)
_NUMBER: Final = re.compile(
    r"[0-9０-９]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred"
    r"|thousand|million|once|twice|half|dozen|couple|several|few)\b|[一二三四五六七八九十百千万]+(?=[^\s。、])",
    re.I,
)
_CAPITAL: Final = re.compile(r"(?<=[\w,;:)\"'’\-] )[\"'“‘(]?[A-Z][\w&.-]+")
_CAPITAL_WIDE: Final = re.compile(r"[\u30a1-\u30fa]{2,}|さん|[一-龠々][氏様社市県駅店部係課室]|[A-Za-z]{2,}")
_WIDE: Final = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_ASKS: Final = re.compile(
    r"[?？][\"'”’)」』*_]*\s*$|(?:です|ます|でしょう|だろう)か。?\s*$"
    r"|(?i:\b(?:when|where|who|what|why|how|which))\s*$|(?:いつ|どこ|誰|だれ|何|なに|どれ|どちら|いくら|いくつ)\s*$"
)
# Questions that somebody is said to have asked: what stands behind the verb in English, before it in Japanese.
_TOLD_QUESTION: Final = re.compile(
    r"\b(?:asks|asked|asking|wonders|wondered|wondering|wants? to know|wanted to know|[ei]nquire[sd]|unsure|not sure"
    r"|forgot(?:ten)?|question (?:of|whether|about)|nobody (?:was sure|knew|remembers|remembered))\b"
    r"([^.!?]{0,60}\b(?:whether|if|when|where|who|which|what|how|why)\b.*)",
    re.I | re.S,
)
_TOLD_QUESTION_WIDE: Final = re.compile(
    r"(.*か)(?:どうか)?(?:、?(?:と|を)|、|という|について).{0,12}"
    r"(?:[聞訊]か?[れい]|尋ね|たずね|問われ|質問|問い?合わ?せ|つぶや|呟|話[にが題]|話し合|議論|迷[いっう]|悩[みんむ]|首を(?:かし|ひね)|気にし|"
    r"知りたが|忘れ|思い出せ|覚えてい(?:な|ませ)|[分わ]から(?:な|ず|ん)|知ら(?:な|ず)|疑問)",
    re.S,
)
_FIRST_PERSON: Final = frozenset("I my me we our mine myself".split())
_FIRST_WIDE: Final = re.compile("私|僕|俺|わたし|我々")
_WORD: Final = re.compile(r"\w+")
_UNBROKEN: Final = re.compile(r"[^\s\u3000-\u9fff\uac00-\ud7ff\uff00-\uffef]{161}|\S{2001}")
_NUMBERS: Final = re.compile(r"\d+|[一二三四五六七八九十百千]+")
_USER: Final = frozenset(("user", "human", "customer", "me", "ユーザー", "ユーザ", "客"))
_ASSISTANT: Final = frozenset(("assistant", "ai", "bot", "system", "agent", "model", "アシスタント", "システム"))
_ASKING: Final = ("ask", "wonder", "want", "quire", "sure", "body knew", "body re", "forgot", "question ")
_ENDING_CHARS: Final = 64  # of a text, in which it is seen whether it asks
_LABEL_CHARS: Final = 80
NOTHING_NEW: Final = 0.05  # novelty up to which a text only repeats the query
_LONG_CHARS: Final = 2_000  # of a passage that is looked at: one that nothing cuts may be endless

_YEAR: Final = re.compile(r"(?<![0-9])((?:19|20)[0-9]{2})(?![0-9])")
_NAMED_MONTH: Final = re.compile(
    r"\b(Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?|january|february|april|june|july|august|september|october|november|december)\b"
    r"|(?<![0-9])([0-9]{1,2})月(?!間)"
)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@dataclass(frozen=True, slots=True)
class Asked:
    """What kinds of answer a question asks for, and whether it asks what the assistant of a chat said."""

    date: bool
    number: bool
    name: bool
    assistant: bool


def asked_for(text: str) -> Asked:
    """The kinds of answer that a question asks for."""
    return Asked(
        date=_WHEN.search(text) is not None,
        number=_COUNT.search(text) is not None,
        name=_NAME.search(text) is not None,
        assistant=_OF_ASSISTANT.search(text) is not None,
    )


def dated(text: str, created: NDArray[np.datetime64]) -> Floats:
    """Which times lie in a month and year that a question names: float64[n] of 0 and 1; zeros where it names none."""
    years = {int(match[1]) for match in _YEAR.finditer(text)}
    months = {
        int(match[2]) if match[2] else _MONTHS.index(match[1][:3].lower()) + 1 for match in _NAMED_MONTH.finditer(text)
    }
    if not years and not months:
        return np.zeros(len(created))
    month = created.astype("datetime64[M]").astype(np.int64)
    fits = np.ones(len(created), dtype=bool)
    if years:
        fits &= np.isin(month // 12 + 1970, sorted(years))
    if months:
        fits &= np.isin(month % 12 + 1, sorted(months))
    return fits.astype(np.float64)


@dataclass(frozen=True, slots=True)
class Signs:
    """What the passages of a record have, one entry each: float64 of 0 or 1, `length` the logarithm of the characters;
    `unbroken` marks what nothing cuts well, `chat` what somebody says. `turn` int64 numbers the turns of a chat, where
    passages outside of turns stand alone."""

    date: Floats
    number: Floats
    name: Floats
    asks: Floats
    first_person: Floats
    length: Floats
    user: Floats
    assistant: Floats
    unbroken: Floats
    chat: Floats
    turn: NDArray[np.int64]


_EVERYTHING: Final = Asked(date=True, number=True, name=True, assistant=True)


def signs_of(record: Record, asked: Asked = _EVERYTHING) -> Signs:
    """The signs of each passage of a record; 0 for a kind of answer that is not asked for. Linear in its text."""
    content = record.content
    told: list[tuple[float, ...]] = []
    turns: list[int] = []
    speaker, number, solid = "", -1, False
    for span in record.passages:
        text = content[span.start : min(span.end, span.start + _LONG_CHARS)]
        begins = not span.speaker or begins_turn(content, span)
        number += begins or span.speaker != speaker
        speaker = span.speaker
        turns.append(number)
        words = text[text.find(speaker) + len(speaker) + 1 :] if speaker and begins else text
        wide = _WIDE.search(words) is not None
        role = speaker.lower()
        solid = unbroken(text) or (solid and goes_on(content, span.start, span.end))
        told.append(
            (
                asked.date and _DATE.search(words) is not None,
                asked.number and _NUMBER.search(words) is not None,
                asked.name and (_CAPITAL_WIDE if wide else _CAPITAL).search(words) is not None,
                asks(text) or told_question(text) is not None,
                not _FIRST_PERSON.isdisjoint(_WORD.findall(words)) or (wide and _FIRST_WIDE.search(words) is not None),
                log(max(len(words.strip()), 1)),
                role in _USER,
                role in _ASSISTANT,
                solid,
                speaker != "",
            )
        )
    found = np.array(told, dtype=np.float64).reshape(-1, 10).T
    return Signs(*found, np.array(turns, dtype=np.int64))  # type: ignore[call-arg]


def begins_turn(content: str, span: Span) -> bool:
    """Whether a passage of a turn begins it: the speaker's name stands in front, as a label."""
    head = content[span.start : min(span.end, span.start + _LABEL_CHARS + len(span.speaker))]
    at = head.find(span.speaker)
    if at < 0:
        return False
    behind = head[at + len(span.speaker) :].lstrip(" *_)]")
    return behind[:1] in (":", "：", "(", "[") or (behind[:1] == ">" and head[at - 1 : at] in ("<", "@"))


def asks(text: str) -> bool:
    """Whether a text ends with a question."""
    return _ASKS.search(text.rstrip()[-_ENDING_CHARS:]) is not None


def told_question(text: str) -> str | None:
    """The question that a text tells of ("a guest asked whether …"), or None where it tells of none."""
    text = text[:_LONG_CHARS]
    if _WIDE.search(text):
        found = _TOLD_QUESTION_WIDE.search(text) if "か" in text else None
    else:
        low = text.lower()  # four looks for a part of a word cost a tenth of the pattern
        found = _TOLD_QUESTION.search(text) if any(part in low for part in _ASKING) else None
    return found[1] if found else None


def unbroken(text: str) -> bool:
    """Whether nothing cuts a text well: a stretch of more than 160 characters without a blank (a long address,
    hexadecimal digits, minified JSON), or one of 2,000 in any script."""
    return len(text) > 160 and _UNBROKEN.search(text) is not None


def goes_on(content: str, start: int, end: int) -> bool:
    """Whether a passage is the rest of the stretch without a blank that was cut before it."""
    return start > 0 and not any(map(str.isspace, (content[start - 1], *content[start:end].rstrip())))


def skeleton(text: str) -> str:
    """What stays of a passage where only numbers differ."""
    return " ".join(_NUMBERS.sub("0", text[:_LONG_CHARS].casefold()).split())


def novelty(text: str, words: frozenset[str]) -> float:
    """The share (0 to 1) of what a text says that is not among these query terms; 0 for a text that says nothing."""
    terms = query_terms(text[:_LONG_CHARS])
    said = sum(map(content_weight, terms))
    return sum(content_weight(term) for term in terms if term not in words) / said if said else 0.0
