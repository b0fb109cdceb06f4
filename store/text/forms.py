"""The form in which a word is compared: Unicode NFKC (UAX #15), case folded, stemmed; and the words left out."""

from __future__ import annotations

import threading
import unicodedata
from typing import Any, Final

import regex
import Stemmer

from .variants import VARIANTS

MAX_TERM_CHARS: Final = 64

NEGATIONS: Final[frozenset[str]] = frozenset(
    "cannot neither never no nobody none nor not nothing nowhere without".split()
)
STOP_WORDS: Final[frozenset[str]] = NEGATIONS | frozenset(
    """
    a about after again all also am an and any are as at be because been before being between both but by can could
    did do does doing done down during each eg either else etc even ever few for from further get gets getting got had
    has have having he her here hers herself him himself his how i ie if in into is it its itself just let me might
    more most much must my myself of off on once only or other our ours ourselves out over own please quite rather
    really s same shall she should so some such t than that the their theirs them themselves then there these they
    this those though through to too under until up upon us very was we were what when where whether which while who
    whom whose why will with would yet you your yours yourself yourselves
    """.split()
)
# Words that turn or narrow what is said: one text that has them does not say the same as one that has not.
GUARDS: Final = NEGATIONS | frozenset(
    """
    after before but cancel caus disabl except former if instead never off onli only plan previous prior quit refus
    remov revert stop temporarili than unless until when while
    """.split()
)
ACRONYMS: Final = frozenset(("AM", "AS", "CAN", "IT", "US", "WHO"))  # stop words that are names in capitals

_LONG_MARKS: Final = regex.compile(r"(\p{M}{30})\p{M}++")
_INVISIBLE: Final = regex.compile(r"[\u00ad\u2060\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef\u0640]++")
_ACCENT: Final = regex.compile(r"(?<=[\p{Latin}\p{Greek}\p{Cyrillic}])[\p{Mn}\p{Me}]++")
_QUOTE: Final = regex.compile("[’ʼ‘′]")

_local = threading.local()


# Snowball stemmers by script, where a script tells the language well enough: not where letters of another language
# that is written in it stand in the word (Ukrainian, Serbian; Persian, Urdu).
_SCRIPTS: Final = (
    ("russian", regex.compile(r"[а-яё]++(?:-[а-яё]++)*+")),
    ("arabic", regex.compile(r"[\u0621-\u063a\u0641-\u064a]++")),
    ("greek", regex.compile(r"[\p{Greek}--\p{Lu}]++", regex.V1)),
    ("hindi", regex.compile(r"\p{Devanagari}++")),
    ("tamil", regex.compile(r"\p{Tamil}++")),
    ("armenian", regex.compile(r"\p{Armenian}++")),
)
_SIGNS: Final = regex.compile("[\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed]++")  # vowels and reading marks
_ALEF: Final = str.maketrans({"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ة": "ه"})


def stem(word: str, language: str = "english") -> str:
    """Return the Snowball stem of a lower-case word; one stemmer a thread, as it is not thread-safe."""
    stemmers: dict[str, Any] | None = getattr(_local, "stemmers", None)
    if stemmers is None:
        stemmers = _local.stemmers = {}
    stemmer = stemmers.get(language)
    if stemmer is None:
        stemmer = stemmers[language] = Stemmer.Stemmer(language, 0)
    return str(stemmer.stemWord(word))


def stem_by_script(word: str, folded: str) -> str:
    """Return the stem of a word that is not ASCII, or its folded form where no stemmer knows its script.

    Stemmers read accents and й, which folding takes off; so they come first.
    """
    lower = word.casefold().replace("\u0301", "").replace("ё", "е")
    if "\u0600" <= lower[:1] <= "\u06ff":
        lower = folded
    for language, letters in _SCRIPTS:
        if letters.fullmatch(lower):
            return fold(stem(lower, language)) or folded
    return folded


def normal(chunk: str) -> str:
    """Return a chunk in NFKC without invisible characters; long runs of marks are cut, as sorting them is quadratic."""
    chunk = _LONG_MARKS.sub(r"\1", chunk)
    chunk = _INVISIBLE.sub("", unicodedata.normalize("NFKC", chunk)).replace("\u2010", "-")
    plain: str = _QUOTE.sub("'", chunk)
    return plain.translate(VARIANTS)


def fold(word: str) -> str:
    """Return a word in the form it is compared in: case folded, without accents on Latin, Greek and Cyrillic."""
    if word.isascii():
        return word.lower()
    word = unicodedata.normalize("NFKD", word.casefold().replace("\u200c", "").replace("\u200d", ""))
    word = unicodedata.normalize("NFKC", _ACCENT.sub("", word))
    if "\u0600" <= word[:1] <= "\u06ff":
        word = _SIGNS.sub("", word).translate(_ALEF)
    if any(map(str.isdecimal, word)):
        word = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in word)
    return word


def whole(token: str) -> str:
    """Return a token as one term: folded, at most 64 characters."""
    return fold(token[: 2 * MAX_TERM_CHARS])[:MAX_TERM_CHARS]
