"""Text to search terms: words, stems, CJK bigrams, identifiers, and their 64-bit keys.

Both sides of a search go through the same steps: split at blanks, Unicode NFKC (UAX #15), then one scan that knows
URLs, e-mail addresses, names of languages (``C++``), numbers, identifiers and paths, emoji, and runs of scripts that
are written without blanks. A query is only ever words: there is no operator syntax and no input is an error.

Stop words are neither indexed nor searched, so a query of nothing but stop words has no terms and matches nothing.
Every function here is linear in the length of its text.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from operator import add
from typing import Final, Literal

import regex

from .forms import ACRONYMS, GUARDS, MAX_TERM_CHARS, NEGATIONS, STOP_WORDS, normal, stem, stem_by_script, whole

__all__ = [
    "MAX_SIGNATURE_KEYS",
    "MAX_TERM_CHARS",
    "NEGATIONS",
    "STOP_WORDS",
    "index_keys",
    "index_terms",
    "query_runs",
    "query_speaker_terms",
    "query_terms",
    "signature",
    "speaker_key",
    "speaker_keys",
    "speaker_name",
    "speaker_term",
    "speaker_terms",
    "term_key",
]

MAX_SIGNATURE_KEYS: Final = 256
_MAX_PARTS: Final = 16
_CACHED_CHARS: Final = 32  # of a chunk that is kept; longer ones hardly come again

_PARTICLES: Final = frozenset("はがをにのとでもへや")
_SPEAKER: Final = "\x01speaker:"

VERSION: Final = "2"  # of the terms that texts give; a store made by another is to be indexed anew
Side = Literal["index", "query", "signature"]

_CJK: Final = (
    r"[[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々〆〇\u3099\u309a]"
    r"&&[\p{L}\p{M}〇]]"
)
_HEAD: Final = rf"[[\p{{L}}\p{{N}}_]--{_CJK}]"
_BODY: Final = rf"[[\p{{L}}\p{{M}}\p{{N}}_\u200c\u200d]--{_CJK}]"
_WORD: Final = rf"{_HEAD}{_BODY}*+"
_PICTURE: Final = r"\p{Extended_Pictographic}\p{EMod}?[\U000e0020-\U000e007f]*+"
_TOKEN: Final = regex.compile(
    rf"""
      (?P<cjk>{_CJK}++)
    | (?:(?:https?|ftp|file|wss?|git|ssh)://|www\.)(?P<url>[[^\s<>"'`|\p{{Ps}}\p{{Pe}}、。]--{_CJK}]++)
    | (?P<mail>(?<![A-Za-z0-9_.+%-])[A-Za-z0-9_.+%-]{{1,64}}+@[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)++)
    | (?P<lang>(?<!{_BODY})(?:[A-Za-z][A-Za-z0-9]*+\+\+|[A-Za-z]\#|(?<![.\w])\.(?i:net)(?=\W|$))(?!{_BODY}))
    | (?P<emoji>\p{{Regional_Indicator}}{{2}}|[0-9\#*]\u20e3|{_PICTURE}(?:\u200d{_PICTURE})*+)
    | (?P<grouped>(?<!{_BODY})[0-9]{{1,3}}(?:,[0-9]{{3}})++(?:\.[0-9]++)?+(?![,.]?{_BODY}))
    | (?P<issue>\#[0-9]++(?!{_BODY}))
    | (?P<word>{_WORD}(?:(?:::|[-./\\:@'&]){_WORD}){{0,{_MAX_PARTS - 1}}}+)
    """,
    regex.V1 | regex.VERBOSE,
)
_MARK: Final = regex.compile(r"\p{M}")
_CAMEL: Final = regex.compile(r"(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})")
_SPLIT: Final = regex.compile(r"[^\p{L}\p{M}\p{N}]++")
_VERSION: Final = regex.compile(r"[vV]([0-9]++(?:\.[0-9A-Za-z]++)++)(?=$|[-+])")
_INITIALS: Final = regex.compile(r"\p{L}(?:\.\p{L})++")
_SUFFIX: Final = regex.compile(r"'(?:s|ll|re|ve|d|m)$", regex.IGNORECASE)
_PLAIN_EDGE: Final = "\"'.,;:!?()[]{}*`~"

_RUN: Final = regex.compile(_CJK, regex.V1)
_HONORIFIC: Final = regex.compile(r"(?<=\w\w)(?:さん|さま|ちゃん|くん|君|様|氏|先生)$")


@lru_cache(maxsize=1 << 17)
def term_key(term: str) -> int:
    """Return the signed 64-bit key of a term: BLAKE2b (RFC 7693) of its UTF-8, 8 bytes, little-endian, for ever."""
    return int.from_bytes(
        hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little", signed=True
    )


def _simple(word: str, side: Side) -> str:
    """Return the term of one word without joiners, or "" for a stop word."""
    folded = whole(word)
    if folded in STOP_WORDS:
        if word in ACRONYMS:
            return folded
        if side == "signature" and folded in GUARDS:
            return "not" if folded == "cannot" else folded
        return ""
    if folded.isascii():
        return stem(folded) if folded.isalpha() else folded
    return stem_by_script(word, folded) if len(word) <= MAX_TERM_CHARS else folded


def _camel_parts(word: str) -> list[str]:
    """Return the humps of a camelCase word, or nothing when it has none or is more like random letters."""
    if word.islower() or word.isupper() or word.isdecimal():
        return []
    word = word[:MAX_TERM_CHARS]
    parts = _CAMEL.split(word)
    return parts if 1 < len(parts) <= _MAX_PARTS and 3 * len(parts) <= len(word) + 2 else []


def _parts(token: str, side: Side) -> Iterable[str]:
    """Yield the terms inside an identifier, path, version or address."""
    for piece in _SPLIT.split(token):
        if (len(piece) == 1 and not piece.isdecimal()) or not piece:
            continue
        yield _simple(piece, side)
        for hump in _camel_parts(piece):
            if len(hump) > 1:
                yield _simple(hump, side)


def _word(token: str, side: Side) -> Iterable[str]:
    """Yield the terms of one token of letters, digits, underscores and joiners."""
    token = token.strip("_")
    if "'" in token:
        if token[-3:].lower() == "n't":
            if side == "signature":
                yield "not"
            return
        token = _SUFFIX.sub("", token)
    if not token:
        return
    if not _SPLIT.search(token):
        yield _simple(token, side)
        for hump in _camel_parts(token):
            if len(hump) > 1:
                yield _simple(hump, side)
        return
    if _INITIALS.fullmatch(token):
        yield _simple(token.replace(".", ""), side)
        return
    yield whole(token)
    version = _VERSION.match(token)
    if version:
        yield whole(version[1])
        token = token[1:]
    if "/" in token or "\\" in token:
        for name in token.replace("\\", "/").split("/"):
            if name and _SPLIT.search(name.strip("_")):
                yield whole(name.strip("_"))
            yield from _parts(name, side)
        return
    yield from _parts(token, side)


def _run(run: str, side: Side) -> list[str]:
    """Return the terms of a run of a script written without blanks; a mark is never a term of its own."""
    if len(run) == 1:
        return [run]
    pairs = list(map(add, run, run[1:]))
    if side != "index":
        return pairs
    terms = [""] * (2 * len(run) - 1)
    terms[::2] = run
    terms[1::2] = pairs
    return [term for term in terms if len(term) > 1 or not _MARK.match(term)] if _MARK.search(run) else terms


def _stands_in_cjk(chunk: str, match: regex.Match[str]) -> bool:
    around = chunk[max(0, match.start() - 1) : match.start()] + chunk[match.end() : match.end() + 1]
    return not around.isascii() and bool(_RUN.search(around))


def _analyze(chunk: str, side: Side) -> list[str]:
    """Return the terms of a piece of text, in order; repeats inside one token are dropped."""
    if not chunk.isascii():
        chunk = normal(chunk)
    else:
        plain = chunk.strip(_PLAIN_EDGE)
        if plain.isalpha() and (plain.islower() or plain[1:].islower()):
            term = _simple(plain, side)
            return [term] if term else []
    terms: list[str] = []
    for match in _TOKEN.finditer(chunk):
        group = match.lastgroup or ""
        token = match[group]
        found: Iterable[str]
        if group == "word":
            # Capitals beside CJK are a name, whatever they are in English: A社, OR部門.
            named = len(token) <= 3 and token.isalpha() and token.isupper() and _stands_in_cjk(chunk, match)
            found = (whole(token),) if named else _word(token, side)
        elif group == "cjk":
            terms.extend(_run(token, side))
            continue
        elif group == "grouped":
            found = _word(token.replace(",", ""), side)
        elif group == "issue":
            found = (token[:MAX_TERM_CHARS], token[1 : MAX_TERM_CHARS + 1])
        elif group == "lang":
            found = (token.lower()[:MAX_TERM_CHARS], _simple(token[:-2], side) if len(token) > 4 else "")
        elif group == "emoji":
            found = (token[:MAX_TERM_CHARS],)
        else:
            address = token.rstrip("/.,;:!?*_~")
            found = (whole(address), *list(_parts(address, side))[:_MAX_PARTS])
        terms.extend(term for term in dict.fromkeys(found) if term)
    return terms


def _index_side(chunk: str) -> tuple[int, ...]:
    return tuple(map(term_key, _analyze(chunk, "index")))


def _signature_side(chunk: str) -> tuple[int, ...]:
    terms = _analyze(chunk, "signature")
    beside = 2 if not chunk.isascii() and _RUN.search(chunk) else 0
    return tuple(_signature_key(term) | (beside if term.isascii() else 0) for term in terms)


@lru_cache(maxsize=1 << 16)
def _signature_key(term: str) -> int:
    """Key of a term with the lowest bit set where it is a fact of its own, a number or a negation, and the next one
    where it is CJK without grammar (hiragana)."""
    meant = bool(_RUN.match(term)) and not any("\u3041" <= char <= "\u309f" for char in term)
    return term_key(term) & ~3 | (term in GUARDS or any(map(str.isdigit, term))) | 2 * meant


@lru_cache(maxsize=1 << 17)
def _word_sides(word: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return _index_side(word), _signature_side(word)


def _plain(chunk: str) -> str:
    """The word inside a chunk of ASCII letters and punctuation around them, "" for any other chunk."""
    plain = chunk.strip(_PLAIN_EDGE)
    simple = plain.isascii() and plain.isalpha() and (plain.islower() or plain[1:].islower())
    return plain.lower() if simple else ""


@lru_cache(maxsize=1 << 17)
def _index_chunk(chunk: str) -> tuple[int, ...]:
    plain = _plain(chunk)
    return _word_sides(plain)[0] if plain else _index_side(chunk)


@lru_cache(maxsize=1 << 17)
def _signature_chunk(chunk: str) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """Signature keys of a chunk that opens a sentence, of the same inside one, and whether it ends a sentence."""
    plain = _plain(chunk)
    keys = _word_sides(plain)[1] if plain else _signature_side(chunk)
    if chunk[0] in "-−" and chunk[1:2].isdigit():
        keys = (*keys, term_key("-" + chunk[1:]) | 1)
    name = not chunk.islower() and (chunk[0].isupper() or chunk[1:2].isupper())
    return keys, tuple(key | 1 for key in keys) if name else keys, chunk[-1] in ".!?:"


def index_terms(text: str) -> list[str]:
    """Return the terms of a stored text in order, repeats kept, in readable form."""
    return [term for chunk in text.split() for term in _analyze(chunk, "index")]


def index_keys(text: str) -> list[int]:
    """Return ``term_key`` of each of ``index_terms(text)``; words seen before come from a bounded cache."""
    chunks = text.split()
    if max(map(len, chunks), default=0) <= _CACHED_CHARS:
        return list(chain.from_iterable(map(_index_chunk, chunks)))
    sides = (_index_chunk(chunk) if len(chunk) <= _CACHED_CHARS else _index_side(chunk) for chunk in chunks)
    return list(chain.from_iterable(sides))


def query_terms(text: str) -> tuple[str, ...]:
    """Return the distinct terms of a query in the order they first appear.

    Empty when the query holds only stop words or no word at all: such a query matches nothing. Single hiragana
    particles between blanks are dropped unless the query holds nothing else.
    """
    terms = dict.fromkeys(term for chunk in text.split() for term in _analyze(chunk, "query"))
    kept = tuple(term for term in terms if term not in _PARTICLES)
    return kept or tuple(terms)


def query_runs(text: str) -> list[str]:
    """Return the runs of a query that are written without blanks, in the form in which their terms are made."""
    runs = (match["cjk"] for match in _TOKEN.finditer(normal(text)))
    return [run for run in runs if run]


def content_weight(term: str) -> float:
    """Return how much a query term says of its own, 0 to 1: bigrams of hiragana are mostly grammar (のは, です)."""
    hiragana = sum("\u3041" <= char <= "\u309f" for char in term)
    return 1.0 if not hiragana else 0.6 if hiragana < len(term) else 0.3


def signature_keys(text: str) -> list[int]:
    """Return what a text says as distinct keys, in the order in which they first stand, at most 256.

    Content terms, numbers, negations and restrictions, without the single characters of CJK. Odd keys guard a fact:
    numbers (with their sign), negations, restrictions, and words with a capital inside a sentence (names). Keys with
    the second bit are words of CJK text, where nothing tells names from others.
    """
    keys: list[int] = []
    opening = True
    for chunk in text.split():
        first, inside, closes = (
            _signature_chunk(chunk) if len(chunk) <= _CACHED_CHARS else _signature_chunk.__wrapped__(chunk)
        )
        keys += first if opening else inside
        opening = closes
    bits: dict[int, int] = {}
    for key in keys:
        bits[key & ~3] = bits.get(key & ~3, 0) | (key & 3)
    return [word | bit for word, bit in bits.items()][:MAX_SIGNATURE_KEYS]


def signature(text: str) -> bytes:
    """Return ``signature_keys(text)`` as little-endian ``int64[n]``."""
    keys = signature_keys(text)
    return struct.pack(f"<{len(keys)}q", *keys)


def _names(text: str) -> list[tuple[str, str]]:
    """Return (folded, written) for each word of a name or query; runs without blanks stay whole."""
    words: list[tuple[str, str]] = []
    for match in _TOKEN.finditer(normal(text)):
        if match.lastgroup in ("word", "cjk", "mail", "lang"):
            token = _SUFFIX.sub("", match[0])
            for piece in _SPLIT.split(token):
                if piece:
                    words.append((whole(piece), piece))
    return words


def speaker_term(word: str) -> str:
    """Return the term that stands for "said by somebody called ``word``"; never equal to a term of a text."""
    return _SPEAKER + whole(normal(word))


def speaker_name(term: str) -> str:
    """Return the word of a speaker term."""
    return term.removeprefix(_SPEAKER)


def speaker_key(word: str) -> int:
    """Return ``term_key`` of ``speaker_term(word)``."""
    return term_key(speaker_term(word))


def speaker_terms(name: str) -> list[str]:
    """Return the speaker terms of the distinct words in the first 256 characters of a name, unstemmed.

    Single letters are left out where there is a longer word, and Japanese titles (さん, 先生 …) are taken off.
    """
    words = list(dict.fromkeys(_HONORIFIC.sub("", folded) for folded, _ in _names(name[:256])))
    longer = [word for word in words if len(word) > 1]
    return [_SPEAKER + word for word in (longer or words)]


def clear() -> None:
    """Forget the words that were analyzed so far."""
    for cached in (term_key, _signature_key, _word_sides, _index_chunk, _signature_chunk, _speaker_keys):
        cached.cache_clear()


def speaker_keys(name: str) -> list[int]:
    """Return ``term_key`` of each of ``speaker_terms(name)``."""
    return list(_speaker_keys(name[:256]))


@lru_cache(maxsize=1 << 12)
def _speaker_keys(name: str) -> tuple[int, ...]:
    return tuple(map(term_key, speaker_terms(name)))


def query_speaker_terms(text: str) -> tuple[str, ...]:
    """Return the distinct speaker terms a query may name, possessives removed, in first-seen order.

    Stop words name nobody, unless written with a capital inside the query ("what did Will say"). In scripts without
    blanks every stretch of two to six characters may be a name, and a run of one.
    """
    found: dict[str, None] = {}
    for k, (folded, written) in enumerate(_names(text)):
        if folded in STOP_WORDS and (k == 0 or not written[:1].isupper() or len(folded) < 2):
            continue
        if len(folded) > 1 and _RUN.match(folded):
            for start in range(len(folded) - 1):
                for size in range(2, min(6, len(folded) - start) + 1):
                    found[_SPEAKER + folded[start : start + size]] = None
        else:
            found[_SPEAKER + folded] = None
    return tuple(found)
