"""Text that looks like a secret → `[secret:<kind>]`. Pure, deterministic, linear in the length of the text.

Nothing is looked up and nothing is sent: the rules know the published shapes of common credentials and the names under
which the others are written down (`password=`, `"api_key": "…"`, `Authorization: Bearer …`). They lean towards leaving
ordinary text alone: a passphrase with blanks in it, or a password in a sentence without a key name, is not found.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from math import log2
from typing import NamedTuple

from ..clean import HIDDEN
from .phrases import PHRASES
from .shapes import LOOSE, SHAPES


class _Span(NamedTuple):
    start: int
    end: int
    kind: str


class _Shape(NamedTuple):
    """A credential known by how it begins: searched by its literal, then matched there."""

    literal: str
    pattern: re.Pattern[str]
    kind: str


def _shape(literal: str, pattern: str, kind: str) -> _Shape:
    return _Shape(literal, re.compile(pattern), kind)


# A shape must not follow one of these.
_JOINED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_SHAPES = tuple(_shape(literal, re.escape(literal) + rest, kind) for literal, rest, kind in SHAPES)
_LOOSE = tuple(_shape(*row) for row in LOOSE)

# Forty characters of AWS: mixed, with nothing of the kind beside them. Random text often changes its class.
_AWS = re.compile(r"(?<![A-Za-z0-9/+=_.-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])")
_CHANGE = re.compile("(?<=[a-z])(?=[^a-z])|(?<=[A-Z])(?=[^A-Z])|(?<=[0-9])(?=[^0-9])|(?<=[+/])(?=[^+/])")

# Options by which commands take a password; the command itself has to stand before them in the same line.
_OPTION = re.compile(
    r"\s(?:(?:-u|--user|--proxy-user)[\s=]{0,2}[\"']?[^\s:\"']{1,100}:(?P<curl>[^\s\"']{1,200})"
    r"|-p\s{0,4}[\"']?(?P<sshpass>[^\s\"'-][^\s\"']{2,100})|-a\s{1,4}[\"']?(?P<redis>[^\s\"']{4,100}))"
)
_COMMANDS = {
    "curl": re.compile(r"\bcurl\b"),
    "sshpass": re.compile(r"\bsshpass\b|\b(?:mysql|mysqldump|mariadb)\b(?!.*\s-p\s)", re.DOTALL),
    "redis": re.compile(r"\bredis-cli\b"),
}
_COMMAND_CHARS = 300
_COOKIES = re.compile(r"cookie[\"']?\s{0,4}:\s{0,4}[\"']?(?P<pairs>[^\r\n\"']{4,2000})")
_PAIR = re.compile(r"(?P<name>[\w.-]{1,60})=(?P<value>[^\s;,\"']{6,}+)")
_NO_SECRETS = frozenset(("path", "domain", "expires", "max-age", "samesite", "lang", "locale", "theme", "version"))

# One for one with ASCII: full-width forms and the letters and digits of mathematics. What is not shown is left out.
_PLAIN = {
    code: plain
    for code in (*range(0xFF01, 0xFF5F), *range(0x24B6, 0x24EA), *range(0x1D400, 0x1D800))
    if (plain := unicodedata.normalize("NFKC", chr(code))).isascii()
}
_DRESSED = re.compile(f"[\uff01-\uff5e\u24b6-\u24e9\U0001d400-\U0001d7ff{HIDDEN}]")
# Cyrillic letters that look like Latin ones; read so only where a word mixes both.
_ALIKE = str.maketrans("асеорхуіѕԁԝһАСЕОРХУІЅКМНТВ", "aceopxyisdwhACEOPXYISKMHTB")
_MIXED = re.compile("[A-Za-z][асеорхуіѕԁԝһ]|[асеорхуіѕԁԝһ][A-Za-z]", re.IGNORECASE)
_UNSEEN = re.compile(f"[{HIDDEN}]+")

# The body may stand in a listing with line numbers, in quotes, or with its line ends written as \n.
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?P<body>(?:\s|\\[nr]|[0-9]{1,7}[→|:\t]|[\"'>+,]|[A-Za-z0-9+/=]{16,}"
    r"|(?:Proc-Type|DEK-Info|Version|Comment)[^\n\\]{0,100})*+"
    r"(?:[A-Za-z0-9+/=]{1,15}(?:\s|\\[nr]|[0-9]{1,7}[→|:\t]|[\"'>+,]){0,40}+(?=-----END))?)"
    r"(?P<end>-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
)

_URL = re.compile(r"://[^\s/?#@:\"'<>`]{0,100}:(?P<value>[^\s/?#\"'<>`]{1,200})@")

_QUOTE = r"\\{0,3}[\"'`]"
_HEADER = re.compile(
    rf"(?:authorization(?:{_QUOTE})?\s{{0,4}}[:=]\s{{0,4}}(?:{_QUOTE})?(?P<named>(?:bearer|basic|token|digest|apikey)\s{{1,4}})?"
    r"|(?<![a-z0-9_-])bearer\s{1,4})(?P<value>[A-Za-z0-9._~+/=-]{6,}+)"
)

# Names of keys, longest first where one begins another. What may follow a name up to the separator is in _AFTER: so
# `max_tokens=1500`, `token_count: 7` and `tokenizer = …` are no assignments of a token.
_NAMES = re.compile(
    r"passw(?:or)?d|passphrase|passwd|passcode|passwort|pwd|(?<![a-z])(?:pass|pw)(?![a-z])|パスワード|パスコード|暗証番号"
    r"|密码|密碼|口令|비밀번호|암호|пароль|contraseña|senha|mot de passe"
    r"|secret|token|api[ _-]?key|access[ _-]?key|private[ _-]?key"
    r"|credentials?|signature|webhook|cookie|session|salt|auth|cert|key|(?<![a-z])sig(?![a-z])"
)
_AFTER = re.compile(
    r"(?:[_-]?(?:access|base|default|dev|hash|id|key|live|prod|staging|test|value|[0-9]{1,3})){0,4}+"
    rf"(?:{_QUOTE})?\]?(?P<sep>\s{{0,4}}(?:=>|:=|[:=：＝]|(?:は|是|为|為|는|은)[:：]?)\s{{0,4}}[「『“]?"
    rf"|(?P<said>\s{{1,4}}(?:is|was|ist|es|est|are)(?:\s?[:=])?\s{{1,4}})|(?P<flag>\s))"
    rf"(?:(?P<quote>{_QUOTE})(?P<quoted>[!#-&(-\[\]-_a-~]{{4,512}}+)(?:(?P=quote)|(?=\s*\Z|[\r\n…]))"
    r"|(?P<bare>[!#%*+\-./0-:=?@A-Z^_a-z~]{4,128}+)(?![(\[{<]))",
    re.IGNORECASE,
)
_VALUE_END = re.compile(r"[!#%*+\-./0-:=?@A-Z^_a-z~]*+")
_SAID_END = re.compile(r"[!#$%&*+\-./0-:=?@A-Z^_a-z~]*+")  # in a sentence no `&` ends a value, as it does in a URL
_CHOSEN = (
    "pass",
    "pwd",
    "pw",
    "パス",
    "暗証",
    "密",
    "口令",
    "비밀번호",
    "암호",
    "пароль",
    "contras",
    "senha",
    "mot",
    "secr",
)  # people choose these; the others are made by machines
_NAMED = {"secr": "secret", "toke": "token"} | dict.fromkeys(_CHOSEN[:-1], "password")
_WORD = r"[A-Za-z_$][A-Za-z_]*+[0-9]{0,3}+[A-Za-z_]*+"
_IDENTIFIER = re.compile(rf"{_WORD}(?:[.:/-]{{1,2}}{_WORD})*+[.,;:!?]*")
_DOTTED = re.compile(rf"{_WORD}(?:\.{_WORD})++[.,;:!?]*")
_VERSION = re.compile(r"v?[0-9]+(?:\.[0-9]+)*+[a-z]*|[0-9]+[a-z]+", re.IGNORECASE)
_HAS_DIGIT = re.compile("[0-9]")
_HAS_MARK = re.compile("[0-9!#%*+@^~]")
_UUID = re.compile(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
_RANDOM = re.compile(r"[A-Za-z0-9+/_.=~%-]{32,}")
_STAND_IN = re.compile(
    r"change-?me|content|default|example|false|hidden|input|masked|none|null|number|optional|passphrase|password|private"
    r"|public|redacted|required|secret|string|text|token|true|type|undefined|unset|username|value|x{3,}"
)


def mask(text: str) -> tuple[str, int]:
    """The text with everything that looks like a secret replaced, and how many replacements were made.

    Kinds: those of `secret_shapes`, `private-key`, `authorization`, `cookie`, `url-password`, `password`, `secret`,
    `token`, `api-key`, `key`. A text without secrets comes back as the same object. Full-width letters and characters
    that are not shown hide nothing.
    """
    found = [*_undressed(text), *(_undressed(text.translate(_ALIKE)) if _MIXED.search(text) else ())]
    spans = sorted(found, key=lambda span: (span.start, -span.end))
    if not spans:
        return text, 0
    parts: list[str] = []
    done = count = 0
    for span in spans:
        if span.start >= done:
            parts += text[done : span.start], f"[secret:{span.kind}]"
            count += 1
        done = max(done, span.end)
    parts.append(text[done:])
    return "".join(parts), count


def _undressed(text: str) -> Iterator[_Span]:
    """The finds in a text as it would be in plain letters, by their places in the text itself."""
    if not _DRESSED.search(text):
        yield from _spans(text)
        return
    starts = [0]  # of the pieces between runs of what is not shown: in the plain text, and how much was left out before
    lost = [0]
    pieces = []
    end = size = gone = 0
    for run in _UNSEEN.finditer(text):
        pieces.append(text[end : run.start()])
        size += run.start() - end
        gone += len(run[0])
        end = run.end()
        starts.append(size)
        lost.append(gone)
    pieces.append(text[end:])
    for span in _spans("".join(pieces).translate(_PLAIN)):
        first = span.start + lost[bisect_right(starts, span.start) - 1]
        last = span.end - 1 + lost[bisect_right(starts, span.end - 1) - 1]
        yield _Span(first, last + 1, span.kind)


def _spans(text: str) -> Iterator[_Span]:
    for shape in _SHAPES:
        if shape.literal in text:
            yield from _shaped(text, shape)
    for shape in _LOOSE:
        if shape.literal in text:
            yield from (_Span(*found.span(), shape.kind) for found in shape.pattern.finditer(text))
    if "-----BEGIN " in text:
        for found in _PEM.finditer(text):
            if found["end"] or len(found["body"]) >= 40:
                yield _Span(found.start(), found.start() + len(found[0].rstrip()), "private-key")
    if "://" in text:
        for found in _URL.finditer(text):
            if _is_given(found["value"]):
                yield _Span(*found.span("value"), "url-password")
    # One for one: every other character keeps its length in lower case.
    lower = text.replace("İ", "I").lower()
    if "bearer" in lower or "authorization" in lower:
        for found in _HEADER.finditer(lower):
            value = text[slice(*found.span("value"))]
            if _is_given(value) and (found["named"] or (len(value) >= 12 and _HAS_DIGIT.search(value))):
                yield _Span(*found.span("value"), "authorization")
    if "cookie" in lower:
        yield from _cookies(text, lower)
    if any(name in lower for name in ("curl", "sshpass", "mysql", "mariadb", "redis-cli")):
        yield from _options(text, lower)
    yield from _assigned(text, lower)
    yield from _phrased(text, lower)
    yield from (_Span(*found.span(), "aws-key") for found in _AWS.finditer(text) if _is_mixed(found[0]))


def _phrased(text: str, lower: str) -> Iterator[_Span]:
    for phrase in PHRASES:
        if phrase.needed not in lower:
            continue
        for found in phrase.pattern.finditer(text):
            start, end = found.span("value")
            if phrase.marked:
                while end > start and text[end - 1] in ".,:;?)」»“":
                    end -= 1
            value = text[start:end]
            if end > start and _is_given(value) and (not phrase.marked or _is_told(value)):
                yield _Span(start, end, phrase.kind)


def _options(text: str, lower: str) -> Iterator[_Span]:
    for found in _OPTION.finditer(lower):
        name = found.lastgroup or ""
        start = max(0, found.start() - _COMMAND_CHARS, lower.rfind("\n", 0, found.start()) + 1)
        span = found.span(name)
        if _COMMANDS[name].search(lower[start : span[0]]) and _is_given(text[slice(*span)]):
            yield _Span(*span, "password")


def _cookies(text: str, lower: str) -> Iterator[_Span]:
    for found in _COOKIES.finditer(lower):
        for pair in _PAIR.finditer(text, *found.span("pairs")):
            if pair["name"].lower() not in _NO_SECRETS and _is_given(pair["value"]):
                yield _Span(*pair.span("value"), "cookie")


def _is_mixed(value: str) -> bool:
    return len(_CHANGE.findall(value)) >= 14 and len(set(value)) >= 20


def _shaped(text: str, shape: _Shape) -> Iterator[_Span]:
    at = text.find(shape.literal)
    while at >= 0:
        found = None if at and text[at - 1] in _JOINED else shape.pattern.match(text, at)
        if found:
            yield _Span(at, found.end(), shape.kind)
        at = text.find(shape.literal, found.end() if found else at + len(shape.literal))


def _assigned(text: str, lower: str) -> Iterator[_Span]:
    done = 0
    for name in _NAMES.finditer(lower):
        if name.start() < done:
            continue
        found = _AFTER.match(text, name.end())
        if found is None:
            continue
        group = "quoted" if found["quoted"] is not None else "bare"
        start, end = found.span(group)
        if found["flag"] is not None and not _is_flag(lower, name.start()):
            continue
        if name[0] == "pass" and text.startswith("PASS:", name.start()):  # the line of a test that passed
            continue
        if found["said"] is not None and group == "bare" and not _is_told(text[start:end]):
            continue
        if lower.endswith(("public", "public_", "public-"), 0, name.start()) or _is_label(lower, name.start()):
            continue
        key = lower[name.start() : name.end()]
        tight = found["sep"] == "=" and text[name.start()].isupper()
        if _is_secret(key, text[start : min(end, start + 128)], quoted=group == "quoted", tight=tight):
            if group == "bare":
                rest = (_SAID_END if found["said"] is not None else _VALUE_END).match(text, end)
                end = rest.end() if rest else end
                while end > start and text[end - 1] in ".,:?":  # the end of a sentence, not of the value
                    end -= 1
            yield _Span(start, end, _kind(key))
            done = end


def _is_told(value: str) -> bool:
    """Whether what is said to be a password looks like one: `hunter2`, not `required!` or `8-12`."""
    value = value.rstrip(".,:;!?")
    return bool(_HAS_MARK.search(value)) and any(c.isalpha() for c in value) and not _VERSION.fullmatch(value)


def _is_label(lower: str, at: int) -> bool:
    """Whether the name stands in a replacement made earlier."""
    opened = lower.rfind("[", max(0, at - 24), at)
    return opened >= 0 and lower.startswith("[secret:", opened)


def _is_flag(lower: str, at: int) -> bool:
    """Whether the name stands in an option such as `--db-password`."""
    before = lower[max(0, at - 40) : at]
    return "--" in before and not before[-1].isspace() and before.split()[-1].startswith("--")


def _kind(key: str) -> str:
    for head, kind in _NAMED.items():
        if key.startswith(head):
            return kind
    return "api-key" if key.startswith(("api", "access", "private")) else "key"


def _is_secret(key: str, value: str, *, quoted: bool, tight: bool) -> bool:
    """Whether a value under this key name is the secret itself and not code, a type, a label or a stand-in."""
    if not _is_given(value):
        return False
    if key.startswith(_CHOSEN):
        if quoted or tight:
            return True
        return len(value) >= 6 and bool(_HAS_MARK.search(value)) and not _DOTTED.fullmatch(value)
    if key.startswith(("token", "api", "access", "private")):
        if len(value) < 8 or value.isdigit():
            return False
        if quoted or tight:
            return len(value) >= 20 or bool(_HAS_DIGIT.search(value))
        return len(value) >= 12 and bool(_HAS_DIGIT.search(value)) and not _IDENTIFIER.fullmatch(value)
    return bool(_RANDOM.fullmatch(value)) and not _UUID.fullmatch(value) and _is_random(value)


def _is_given(value: str) -> bool:
    """False for stand-ins (`$TOKEN`, `<token>`, `{token}`, `****`, `your-…`, `null`), which hide nothing."""
    plain = value.strip(".,;:!?").lower()
    return not (
        _STAND_IN.fullmatch(plain)
        or value.startswith(("$", "<", "{", "[secret:", "%(", "%s", "@"))
        or plain.startswith(("your-", "your_", "my-", "example", "process.env", "os.environ", "env."))
        or "..." in value
        or len(set(plain)) < 3
    )


def _is_random(value: str) -> bool:
    """At least 3 bits a character and both letters and digits (Shannon entropy of the characters of the value)."""
    counts = Counter(value)
    entropy = -sum(n / len(value) * log2(n / len(value)) for n in counts.values())
    return entropy >= 3.0 and bool(_HAS_DIGIT.search(value)) and any(c.isalpha() for c in value)
