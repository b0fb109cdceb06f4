"""What a query asks: its parts, their words and what each counts, the time it names. Pure.

A prompt is judged by sentences and lines, as the best part decides: what is said around a question, pasted beside it or
written by the host neither silences it nor steers what is found.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import Final

from ..text.analyzer import STOP_WORDS, content_weight, query_runs, query_speaker_terms, query_terms
from ..text.sentences import sentence_ends
from .pasted import said
from .period import When, read_time
from .speech import FAINT, grammar, is_activity, is_idle, is_instruction, is_telling, reads_english

__all__ = ["MAX_PARTS", "Asked", "Part", "read_query"]

MAX_PARTS: Final = 48  # the first and the last ones count, as a prompt says what it wants at an end
_MAX_PART_TERMS: Final = 64
_KANA: Final = re.compile(r"[\u3041-\u30ff]")
_JAPANESE: Final = re.compile(r"[\u3041-\u30ff\u4e00-\u9fff]{2}")
_NAME: Final = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+(?![\w-])")
_QUESTION: Final = re.compile(r"[?？][\s\"'”’)）」』*_]*$|か[。．\s]*$")
_BULLET: Final = re.compile(r"^[\s>*•・\-–—#]+(?=\S)|^\s*(?:\d{1,3}[.)]|[(（]\d{1,3}[)）])\s+")
# Records of a kind are asked for by its name, in whichever language and form.
_DECISION: Final = re.compile(
    r"\bdeci(?:de|des|ded|sions?)\b|\bresol(?:utions?|ved)\b|"
    r"決定(?:事項)?|決め(?:た|ました|て|ごと|事)?|決ま(?:った|りました|り(?:ごと|事)?)",
    re.IGNORECASE,
)
# That all of them are asked for, or the last: the words of a list say nothing of what it is about.
_LISTING: Final = re.compile(
    r"\b(?:every|each|all|full|whole|entire|complete|list(?:s|ed|ing)?|overview|summary|summari[sz]e|recap|history|log|"
    r"total|so far|to date|(?:until|till|up to) now|ma[dk]e|take|taken|took|reach(?:ed)?|pass(?:ed)?|past|previous|"
    r"prior|earlier|existing|outstanding|our|group|team)\b|過去の?|今日まで|(?:ほ|欲)し[いか]|見たい|見せて|並べて|出して",
    re.IGNORECASE,
)
_LIST_WIDE: Final = re.compile("一覧(?:表)?|リスト|ひととおり|一通り|一式|残らず|もれなく|漏れなく|ぜんぶ")
_PLACE: Final = re.compile(
    r"\b(?:in|at|on|for|with|by|around|near|about) (?:(?:the|our|my|their|this|that) )?\w+(?:[ -]\w+)?$"
    r"|[\u30a1-\u30fe\u4e00-\u9fff]{1,8}(?:では?|に(?:ついて|関して)は?|(?:の方|側)(?:では?|は))",
    re.IGNORECASE,
)
_LAST: Final = re.compile(r"\b(?:very )?last\b|(?:一番|いちばん)?(?:最後|直前)(?:の|に)?", re.IGNORECASE)
_DECISION_TERMS: Final = ("decis", "decid", "決定", "決め", "決ま")
_FAINT_WEIGHT: Final = 0.3
# An abbreviation stands for several words, and for one thing: of "what did the IPCC say was mistaken" it is half.
_ABBREVIATION: Final = re.compile(r"(?<![A-Za-z0-9_])(?=[A-Za-z]*[A-Z][a-z]?[A-Z])[A-Za-z]{3,8}(?![A-Za-z0-9_])")
_ABBREVIATED: Final = 2.0
_WIDE_SHARE: Final = 0.5  # a word of Japanese has about two pairs of characters more than one of English


@dataclass(frozen=True, slots=True)
class Part:
    """One sentence or line: its words as indices into `Asked.words`.

    `names` are those of its words that are written as names inside it. `question` and `instruction` are told by its
    form. `loose` ones are neither English nor Japanese: inflections and the lack of blanks keep matching words rare,
    so fewer are needed. `wide` is Japanese.
    """

    text: str
    words: tuple[int, ...]
    names: tuple[int, ...] = ()
    question: bool = False
    instruction: bool = False
    loose: bool = False
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as it is searched for.

    `words` distinct terms with `weights` (how much of its own each says, 0 to 1, and 2 for abbreviations) and `sizes`
    (how many words it stands for); `speakers` the names it may hold. `idle`: it asks for nothing; with an interval for
    whatever lies in it. `aliases`: further terms that count as one of the words (term, index). `decision`: decisions
    are all it asks for.
    """

    text: str
    parts: tuple[Part, ...] = ()
    words: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    sizes: tuple[float, ...] = ()
    speakers: tuple[str, ...] = ()
    when: When = field(default_factory=lambda: When(""))
    aliases: tuple[tuple[str, int], ...] = ()
    decision: bool = False

    @property
    def idle(self) -> bool:
        return not self.words

    @property
    def work(self) -> bool:
        """Whether all of it says what is to be done or told, and nothing is asked."""
        return bool(self.parts) and all(part.instruction or is_telling(part.text) for part in self.parts)

    @property
    def happened(self) -> bool:
        """Whether it asks what was done or happened, and at most where or to what: "what did we do in the lab"."""
        said = "\n".join(part.text for part in self.parts)
        return is_activity(_PLACE.sub(" ", said.strip(" 　?？!.。")))

    @property
    def hard_interval(self) -> bool:
        """Whether the interval is a condition: counted from now, or all that is asked for."""
        return self.when.since is not None and (self.when.relative or self.idle or self.decision)


def read_query(text: str, now: datetime, zone: tzinfo = UTC, *, timed: bool = True) -> Asked:
    """A query in parts. `now` (aware) and `zone` say what "yesterday" is; without `timed` words of time are words."""
    talk = said(text)
    sentences = [one for one in _sentences(talk) if not is_idle(one)]
    if len(sentences) > MAX_PARTS:
        sentences = sentences[: MAX_PARTS // 2] + sentences[-MAX_PARTS // 2 :]
    when = When("")
    kept: list[str] = []
    for sentence in sentences:
        found = read_time(sentence, now, zone) if timed else When(sentence)
        # A time that an instruction names in passing is not the time that is asked about.
        if (found.since is None and not found.newest) or not (len(sentences) == 1 or _QUESTION.search(sentence)):
            kept.append(sentence)
            continue
        when = found if when.since is None and not when.newest else when
        if found.relative or found.since is None or is_activity(found.rest) or _only_decisions(found.rest):
            if not is_activity(found.rest) if found.since is not None else not is_idle(found.rest):
                kept.append(found.rest)
        else:
            kept.append(sentence)
    if when.newest and when.since is None and not kept and sentences:
        when = When("", newest=True)
    if kept and all(map(_only_decisions, kept)):
        if when.since is None and any(map(_LAST.search, kept)):
            when = When("", newest=True)
        aliases = tuple((term, 0) for term in _DECISION_TERMS[1:])
        return Asked(
            talk,
            (Part("\n".join(kept), (0,), question=True),),
            _DECISION_TERMS[:1],
            (1.0,),
            (2.0,),
            (),
            when,
            aliases,
            True,
        )
    return _with_words(talk, [_LIST_WIDE.sub("、", one) if _DECISION.search(one) else one for one in kept], when)


def _sentences(text: str) -> list[str]:
    found = []
    for line in text.split("\n"):
        line = _BULLET.sub("", line).strip()
        begin = 0
        for end in sentence_ends(line, 0, len(line)) if line else ():
            if sentence := line[begin:end].strip():
                found.append(sentence)
            begin = end
    return found


def _only_decisions(sentence: str) -> bool:
    """Whether a sentence asks for decisions and names nothing that they are about."""
    return _DECISION.search(sentence) is not None and is_activity(
        _LAST.sub(" ", _LIST_WIDE.sub("、", _LISTING.sub(" ", _DECISION.sub(" ", sentence))))
    )


@cache
def _faint() -> frozenset[str]:
    return frozenset(term for word in FAINT for term in query_terms(word))


def _weights(sentence: str) -> dict[str, float]:
    """The terms of a sentence and what each says of its own; those of grammar are left out where others are there."""
    wide: dict[str, float] = {}
    if _KANA.search(sentence):
        for run in query_runs(sentence):
            _weigh_run(run, wide)
    faint = _faint()
    weights: dict[str, float] = {}
    for term in dict.fromkeys((*query_terms(sentence), *wide)):
        if term in wide:
            weights[term] = wide[term]
        elif term in faint or (len(term) < 3 and term.isdecimal()) or (len(term) == 1 and term.isascii()):
            weights[term] = _FAINT_WEIGHT
        else:
            weights[term] = content_weight(term)
    if sentence != sentence.upper() or _KANA.search(sentence):  # where all is in capitals they tell nothing
        for match in _ABBREVIATION.finditer(sentence):
            if weights.get(match[0].lower(), 0.0) >= 1:
                weights[match[0].lower()] = _ABBREVIATED
    return {term: weight for term, weight in weights.items() if weight}


def _weigh_run(run: str, wide: dict[str, float]) -> None:
    """Add the pairs of characters of a run, and the kanji that are words alone, each with what it says of its own."""
    marks = grammar(run)
    for at, char in enumerate(run):
        alone = (at == 0 or marks[at - 1]) and (at + 1 == len(run) or marks[at + 1])
        if alone and not marks[at] and not "\u3041" <= char <= "\u30ff":
            wide[char] = max(wide.get(char, 0.0), 1.0)
    for at in range(len(run) - 1):
        pair, marked = run[at : at + 2], marks[at] + marks[at + 1]
        kana = pair[marks[at]] if marked == 1 else ""
        weight = (content_weight(pair), 0.1 if "\u3041" <= kana <= "\u309f" else 0.3, 0.0)[marked]
        wide[pair] = max(wide.get(pair, 0.0), weight * (0.5 if "ー" in pair else 1.0))


def _with_words(talk: str, sentences: list[str], when: When) -> Asked:
    index: dict[str, int] = {}
    weights: list[float] = []
    parts: list[Part] = []
    for sentence in sentences:
        found = dict(list(_weights(sentence).items())[:_MAX_PART_TERMS])
        if not found:
            continue
        for term, weight in found.items():
            if term not in index:
                index[term] = len(index)
                weights.append(weight)
            else:
                weights[index[term]] = max(weights[index[term]], weight)
        parts.append(_part(sentence, found, index))
    words = tuple(index)
    sizes = tuple(
        min(weight, 1.0) * (_WIDE_SHARE if _JAPANESE.match(word) else 1.0)
        for word, weight in zip(words, weights, strict=True)
    )
    speakers = query_speaker_terms("\n".join(sentences)) if parts else ()
    return Asked(talk, tuple(parts), words, tuple(weights), sizes, speakers, when, _decisions(index))


def _decisions(index: dict[str, int]) -> tuple[tuple[str, int], ...]:
    """Where one word for a decision is asked for, the others count as it."""
    asked = next((index[term] for term in _DECISION_TERMS if term in index), None)
    return () if asked is None else tuple((term, asked) for term in _DECISION_TERMS if term not in index)


def _part(sentence: str, terms: dict[str, float], index: dict[str, int]) -> Part:
    english = reads_english(sentence)
    names: dict[int, None] = {}
    if english:
        for match in _NAME.finditer(sentence):
            if match[0].lower() not in STOP_WORDS:
                names.update((index[term], None) for term in query_terms(match[0]) if term in index)
    question = _QUESTION.search(sentence) is not None or is_telling(sentence)
    instruction = not question and is_instruction(sentence)
    wide = _KANA.search(sentence) is not None
    loose = not english and not wide
    return Part(sentence, tuple(index[term] for term in terms), tuple(names), question, instruction, loose, wide)
