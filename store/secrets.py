"""Text that looks like a secret → `[secret:<kind>]`. Pure, deterministic, linear in the length of the text.

Nothing is looked up and nothing is sent: the rules know the published shapes of common credentials and the names under
which the others are written down (`password=`, `"api_key": "…"`, `Authorization: Bearer …`). They lean towards leaving
ordinary text alone: a passphrase with blanks in it, or a password in a sentence without a key name, is not found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from math import log2
from typing import NamedTuple


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


# Every pattern begins with its literal, which must not follow one of `_JOINED`. Each either has a fixed length or runs
# over characters of `_JOINED` only, possessively, so that no part of a text is scanned twice.
_JOINED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_DIGIT = r"(?=[A-Za-z_-]{0,200}[0-9])"
_SHAPES = (
    _shape("AKIA", r"AKIA[0-9A-Z]{16}(?![0-9A-Za-z])", "aws-key"),
    _shape("ASIA", r"ASIA[0-9A-Z]{16}(?![0-9A-Za-z])", "aws-key"),
    *(_shape(f"gh{c}_", rf"gh{c}_[A-Za-z0-9]{{30,}}+", "github-token") for c in "pousr"),
    _shape("github_pat_", r"github_pat_[A-Za-z0-9_]{22,}+", "github-token"),
    _shape("glpat-", r"glpat-[A-Za-z0-9_-]{20,}+", "gitlab-token"),
    _shape("sk-", rf"sk-{_DIGIT}[A-Za-z0-9_-]{{20,}}+", "api-key"),
    *(
        _shape(f"{kind}_{mode}_", rf"{kind}_{mode}_[A-Za-z0-9]{{16,}}+", "api-key")
        for kind in ("sk", "rk")
        for mode in ("live", "test")
    ),
    _shape("npm_", r"npm_[A-Za-z0-9]{36}(?![0-9A-Za-z])", "npm-token"),
    _shape("cpk_", r"cpk_[0-9a-f]{12}_[A-Za-z0-9_-]{43}(?![0-9A-Za-z_-])", "api-key"),  # our own, see access.py
    _shape("hf_", r"hf_[A-Za-z0-9]{30,}+", "huggingface-token"),
    *(_shape(f"xox{c}-", rf"xox{c}-[A-Za-z0-9-]{{10,}}+", "slack-token") for c in "abeoprs"),
    _shape("xapp-", r"xapp-[0-9][A-Za-z0-9-]{10,}+", "slack-token"),
    _shape("AIza", r"AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])", "google-key"),
    _shape("eyJ", r"eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?", "jwt"),
)

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
    r"passw(?:or)?d|passphrase|passwd|pwd|パスワード|暗証番号"
    r"|secret|token|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|credentials?|signature|webhook|cookie|session|salt|auth|cert|key"
)
_AFTER = re.compile(
    r"(?:[_-]?(?:access|base|default|dev|hash|id|key|live|prod|staging|test|value|[0-9]{1,3})){0,4}+"
    rf"(?:{_QUOTE})?\]?(?P<sep>\s{{0,4}}(?:=>|:=|[:=：＝])\s{{0,4}}|(?P<flag>\s))"
    rf"(?:(?P<quote>{_QUOTE})(?P<quoted>[!#-&(-\[\]-_a-~]{{4,512}}+)(?P=quote)"
    r"|(?P<bare>[!#%*+\-./0-:=?@A-Z^_a-z~]{4,128}+)(?![(\[{<]))",
    re.IGNORECASE,
)
_VALUE_END = re.compile(r"[!#%*+\-./0-:=?@A-Z^_a-z~]*+")
_CHOSEN = ("pass", "pwd", "パスワ", "暗証", "secr")  # people choose these; the others are made by machines
_NAMED = {
    "pass": "password",
    "pwd": "password",
    "パスワ": "password",
    "暗証": "password",
    "secr": "secret",
    "toke": "token",
}
_WORD = r"[A-Za-z_$][A-Za-z_]*+[0-9]{0,3}+[A-Za-z_]*+"
_IDENTIFIER = re.compile(rf"{_WORD}(?:[.:/-]{{1,2}}{_WORD})*+[.,;:!?]*")
_DOTTED = re.compile(rf"{_WORD}(?:\.{_WORD})++[.,;:!?]*")
_HAS_DIGIT = re.compile("[0-9]")
_HAS_MARK = re.compile("[0-9!#%*+@^~]")
_UUID = re.compile(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
_RANDOM = re.compile(r"[A-Za-z0-9+/_.=~-]{32,}")
_STAND_IN = re.compile(
    r"change-?me|content|default|example|false|hidden|input|masked|none|null|number|optional|passphrase|password|private"
    r"|public|redacted|required|secret|string|text|token|true|type|undefined|unset|username|value|x{3,}"
)


def mask(text: str) -> tuple[str, int]:
    """The text with everything that looks like a secret replaced, and how many replacements were made.

    Kinds: `aws-key`, `github-token`, `gitlab-token`, `api-key`, `npm-token`, `huggingface-token`, `slack-token`,
    `google-key`, `jwt`, `private-key`, `authorization`, `url-password`, `password`, `secret`, `token`, `key`.
    A text without secrets comes back as the same object.
    """
    spans = sorted(_spans(text), key=lambda span: (span.start, -span.end))
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


def _spans(text: str) -> Iterator[_Span]:
    for shape in _SHAPES:
        if shape.literal in text:
            yield from _shaped(text, shape)
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
    yield from _assigned(text, lower)


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
        if lower.endswith(("public", "public_", "public-"), 0, name.start()) or _is_label(lower, name.start()):
            continue
        key = lower[name.start() : name.end()]
        tight = found["sep"] == "=" and text[name.start()].isupper()
        if _is_secret(key, text[start : min(end, start + 128)], quoted=group == "quoted", tight=tight):
            if group == "bare":
                rest = _VALUE_END.match(text, end)
                end = rest.end() if rest else end
                while end > start and text[end - 1] in ".,:?":  # the end of a sentence, not of the value
                    end -= 1
            yield _Span(start, end, _kind(key))
            done = end


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
