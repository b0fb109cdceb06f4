# ruff: noqa: E501
"""Ways in which secrets are written down: files, commands, tables and sentences. Data for `secrets`.

A row is a text that has to be there, in lower case, the pattern with the secret as `value`, its kind, and whether the
value must look like a secret (`hunter2`) since people also write words in its place. Every repeat has a bound.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Phrase(NamedTuple):
    """One way; see the module."""

    needed: str
    pattern: re.Pattern[str]
    kind: str
    marked: bool


_PASS = "(?:password|passwd|passphrase|passcode|pwd)"
_NAME = r"[\w.-]{0,60}(?:password|passwd|passphrase|pass|pwd|secret|token|api_?key|access_?key)[0-9]{0,3}"
_WORD = r"[^\s\"'`|<>]"
_OTHERS = (
    "kennwort", "clave", "hasło", "wachtwoord", "lösenord", "şifre", "mật khẩu", "รหัสผ่าน", "كلمة المرور", "كلمة السر", "пароль",
    "salasana", "adgangskode", "heslo", "jelszó", "parola", "κωδικός", "סיסמה", "passwort", "contraseña", "senha",
)  # fmt: skip


def _row(needed: str, pattern: str, kind: str = "password", *, marked: bool = False) -> Phrase:
    return Phrase(needed, re.compile(pattern, re.IGNORECASE | re.MULTILINE), kind, marked)


PHRASES: tuple[Phrase, ...] = (
    _row('"auth"', r'"auth"\s{0,4}:\s{0,4}"(?P<value>[A-Za-z0-9+/=]{8,4000})"'),
    _row("login", r"\b(?:docker|podman|az|oc|helm|nerdctl)\s(?:registry\s)?login\b[^\n]{0,120}?\s(?:-p|--password)[\s=]{1,3}"
         rf"[\"']?(?P<value>{_WORD}{{3,200}})"),
    _row("</", r"<(?:password|passwd|pwd|secret|apikey|token)>(?P<value>[^<>\s]{3,200})</"),
    _row("machine", rf"\bmachine\s{{1,9}}\S{{1,100}}\s{{1,9}}login\s{{1,9}}\S{{1,100}}\s{{1,9}}password\s{{1,9}}(?P<value>{_WORD}{{1,200}})"),
    _row("value", rf"\bname[\"']?\s{{0,4}}:\s{{0,4}}[\"']?{_NAME}[\"']?\s{{0,3}},?\s{{0,40}}[\"']?value[\"']?\s{{0,4}}:\s{{0,4}}"
         rf"[\"']?(?P<value>[^\s\"'{{}},]{{3,200}})"),
    _row("env", rf"^\s{{0,9}}(?-i:ENV)\s{{1,4}}{_NAME}\s{{1,4}}(?P<value>{_WORD}{{4,200}})"),
    _row("|", rf"\|\s{{0,9}}(?:[\w-]{{1,20}} )?(?:{_PASS}|パスワード|密码|пароль)\s{{0,9}}\|\s{{0,9}}(?P<value>[^\s|]{{4,200}})", marked=True),
    _row("pass", rf"\b{_PASS}\s{{0,3}}(?:->|→|⇒)\s{{0,3}}[\"']?(?P<value>{_WORD}{{4,200}})", marked=True),
    _row("pass", rf"\b{_PASS} (?:for|of|to|on)(?: [\w@.-]{{1,40}}){{1,3}}?(?:\s?[:=]| is| was)\s{{1,3}}[\"']?(?P<value>{_WORD}{{4,200}})",
         marked=True),
    _row("pass", rf"\b{_PASS} \([^()\n]{{1,40}}\)\s?[:=]\s{{0,3}}[\"']?(?P<value>{_WORD}{{4,200}})", marked=True),
    _row("cred", rf"\bcred(?:s|ential|entials)?\s?[:=]\s{{0,3}}[\w.@-]{{1,60}}[:/](?P<value>{_WORD}{{4,200}})", marked=True),
    _row("pass", rf"{_PASS}=(?P<q>[\"'])(?P<value>[^\"'\s]{{2,30}}(?: [^\"'\s]{{2,30}}){{1,5}})(?P=q)"),
    _row("sudo", r"\becho\s{1,3}[\"']?(?P<value>[^\s\"'|]{3,100})[\"']?\s{0,5}\|\s{0,5}sudo\s{1,3}(?:-\w{1,10}\s{1,3}){0,3}-S"),
    _row("openssl", rf"\bopenssl\s[^\n]{{0,160}}?\s-(?:(?-i:k)\s{{1,3}}|pass(?:in|out)?\s{{1,3}}pass:)[\"']?(?P<value>{_WORD}{{3,200}})"),
    _row("htpasswd", rf"\bhtpasswd\s{{1,3}}-\w{{0,6}}b\w{{0,6}}\s{{1,3}}\S{{1,100}}\s{{1,3}}\S{{1,60}}\s{{1,3}}(?P<value>{_WORD}{{3,100}})"),
    _row("パス", r"(?:パスワード|パスコード)(?:が|は|を)?\s?[:：]?\s?「?(?P<value>[!-~]{4,128})", marked=True),
    _row("暗証", r"暗証番号(?:が|は|を)?\s?[:：]?\s?「?(?P<value>[!-~]{4,128})", marked=True),
    _row("キー", r"(?:認証|アクセス|秘密|API)キー\s?(?:[:：=]|は|が)\s?「?(?P<value>[!-~]{6,256})", "api-key", marked=True),
    *(_row(name, rf"{name}\s?[:：]?\s?(?P<value>[!-~]{{5,128}})", marked=True) for name in ("密码", "密碼", "口令")),
    *(_row(name, rf"(?<!\w){name}\s{{0,3}}(?:[:：=–—-]|->|→)\s{{0,3}}[\"'«„]?(?P<value>{_WORD}{{4,200}})", marked=True) for name in _OTHERS),
    _row("://", r"://[^\s/?#@:\"'<>`]{1,100}:(?![0-9]{1,5}[/?#])(?P<value>[^\s\"'<>`@/?#]{0,100}[/?#][^\s\"'<>`@]{0,100})@[\w-]{1,60}[.:/\w]",
         "url-password"),
    _row("jdbc:oracle", r"jdbc:oracle:\w{1,10}:[\w.$#-]{1,60}/(?P<value>[^@\s\"']{1,100})@"),
    _row("sig=", r"[?&;]sig=(?P<value>[A-Za-z0-9%+/=_-]{20,200})", "signature"),
)  # fmt: skip
