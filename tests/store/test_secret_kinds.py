"""Kinds of secrets by their providers and by how people write them down. All examples are made up here."""

import random
import string
import time

import pytest

from context_packs.store.text.secrets.masking import mask

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
_random = random.Random(5)


def made(size: int, letters: str = ALNUM) -> str:
    """So many characters, the same in every run."""
    return "".join(_random.choice(letters) for _ in range(size))


KEYS = {
    "SG." + made(22) + "." + made(43): "api-key",
    "hvs." + made(90): "vault-token",
    "dckr_pat_" + made(27): "docker-token",
    "pypi-AgEIcHlwaS5vcmc" + made(60): "pypi-token",
    "shpat_" + made(32, HEX): "shopify-token",
    "AGE-SECRET-" + "KEY-1" + made(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"): "private-key",
    "GOCSPX-" + made(28): "google-key",
    "lin_api_" + made(40): "api-key",
    "xkeysib-" + made(64, HEX) + "-" + made(16): "api-key",
    "glrt-" + made(20): "gitlab-token",
    "dop_v1_" + made(64, HEX): "api-key",
    "SK" + made(32, HEX): "api-key",
    made(32, HEX) + "-us12": "api-key",
    "123456789:AA" + made(33): "telegram-token",
    "M" + made(23) + "." + made(6) + "." + made(27): "discord-token",
    made(3) + "8Q~" + made(34): "azure-key",
    "wJalrXUtnFEMI/K7MDENG" + "/bPxRfiCYEXAMPLEKEY": "aws-key",
    made(40, ALNUM + "+/"): "aws-key",
    "gsk_" + made(52): "api-key",
    "hf_" + made(34): "huggingface-token",
}


@pytest.mark.parametrize(("key", "kind"), KEYS.items(), ids=lambda value: value[:8])
def test_keys_of_providers_are_known_by_their_shape(key: str, kind: str) -> None:
    """In a sentence, in quotes, beside Japanese, and with a character inside that is not shown."""
    told = f"[secret:{kind}]"
    assert mask(f"deploy with {key}, then go") == (f"deploy with {told}, then go", 1)
    assert mask(f'x("{key}")') == (f'x("{told}")', 1)
    assert mask(f"鍵は{key}です") == (f"鍵は{told}です", 1)
    assert mask(f"{key[:9]}\u200b{key[9:]}") == (told, 1)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("DB_PASS='hunter2'", "DB_PASS='[secret:password]'"),
        ("DB_PASS='correct-horse'", "DB_PASS='[secret:password]'"),
        ("pw: hunter2", "pw: [secret:password]"),
        ("pass: hunter2", "pass: [secret:password]"),
        ("The password is hunter2.", "The password is [secret:password]."),
        ("My password was 'swordfish'", "My password was '[secret:password]'"),
        ("パスワードはhunter2です", "パスワードは[secret:password]です"),
        ("パスワードは「hunter2」です", "パスワードは「[secret:password]」です"),
        ("密码：hunter2", "密码：[secret:password]"),
        ("密码是hunter2", "密码是[secret:password]"),
        ("密碼: hunter2", "密碼: [secret:password]"),
        ("비밀번호: hunter2입니다", "비밀번호: [secret:password]입니다"),
        ("비밀번호는 hunter2", "비밀번호는 [secret:password]"),
        ("contraseña: hunter2", "contraseña: [secret:password]"),
        ("пароль: hunter2", "пароль: [secret:password]"),
        ("curl -u admin:s3cret https://x", "curl -u admin:[secret:password] https://x"),
        ("curl -sS --user 'admin:s3cret' x", "curl -sS --user 'admin:[secret:password]' x"),
        ("mysql -u root -pS3cretPw db", "mysql -u root -p[secret:password] db"),
        ("sshpass -p 's3cret' ssh x", "sshpass -p '[secret:password]' ssh x"),
        ("redis-cli -a hunter2 ping", "redis-cli -a [secret:password] ping"),
        ("Cookie: sessionid=abc123def456", "Cookie: sessionid=[secret:cookie]"),
        ("Set-Cookie: sid=s%3Aabcdefgh12; Path=/", "Set-Cookie: sid=[secret:cookie]; Path=/"),
        ('client_secret": "swordfish99', 'client_secret": "[secret:secret]'),
        ('"client_secret": "swordfish99",', '"client_secret": "[secret:secret]",'),
        ("ｐａｓｓｗｏｒｄ＝ｈｕｎｔｅｒ２", "ｐａｓｓｗｏｒｄ＝[secret:password]"),
        ("pass\u200bword=hun\u2060ter2 x", "pass\u200bword=[secret:password] x"),
        ("postgres://u:p@ss@h:5432/db", "postgres://u:[secret:url-password]@h:5432/db"),
        ("the api key is " + "x9Kd" * 6, "the api key is [secret:api-key]"),
        ("https://hooks.slack.com/services/T0/B0/" + "x9Kd" * 6, "https://hooks.slack.com/[secret:webhook]"),
    ],
)
def test_passwords_are_known_by_how_they_are_told(text: str, masked: str) -> None:
    """Assignments, sentences in several languages, commands, cookies and addresses; nothing around them changes."""
    assert mask(text) == (masked, 1)
    assert mask(masked) == (masked, 0)


@pytest.mark.parametrize(
    "text",
    [
        "password reset", "password is required!", "the password is 8-12 characters", "passwords are 12chars",
        "The pass is open from 9:00 to 17:00", "the pass is at 3,200m", "bypass=true", "compass: north",
        "first pass: 3 tests, second pass: 5 tests", "pass=3/3", "PASS: test_foo2", "--- PASS: TestFoo2 (0.00s)",
        "tests pass: 12 of 12", "token is expired", "the secret is practice", "secret is v2.0.1",
        "the key is to start early in 2024", "cert is valid until 2025-01-01", "auth is handled by nginx/1.25",
        "パスワードは8文字以上です", "パスワードはGitHubで管理", "密码是必须的", "密码不能为空", "비밀번호는 필수",
        "docker run -u 1000:1000 img", "user -u root:root", "chown -R user:group", "cp -a source1 target1",
        "Cookie: theme=dark; lang=en", "cookies are baked at 180 degrees", "key-value", "key-0123", "SKU 12345",
        "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678", "src/components/ButtonGroup/ButtonGroup.tsx",
        "IMG_20240101_123456789_HDR.jpg", "getUserAccountPasswordResetTokenByEmailX1",
        "AbstractSingletonProxyFactoryBeanDefault", "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB",
        "sha512-" + "abcDEF123" * 9 + "abcde==", "password_reset_token_expires_at: datetime",
        "password: str = Field(min_length=8)", "http://localhost:3000/@user", "git@github.com:a/b.git",
        "mot de passe oublié", "senha incorreta", "Ｆｕｌｌ　ｗｉｄｔｈ：１２３４５", "می‌خواهم 👩‍👩‍👧",
    ],
)  # fmt: skip
def test_ordinary_words_and_code_are_left_alone(text: str) -> None:
    """Prose, test results, identifiers, hashes and pictures are no secrets."""
    assert mask(text) == (text, 0)


@pytest.mark.parametrize(
    "piece",
    ["curl ", "curl -u a", " -u a:b", "cookie: a=", "mysql -p", "A" * 40 + " ", "ab1/" * 10 + " ", "\u200bp", "SG.",
     "M" * 24 + ".", "password is ", "密码是", "1234567890:AA", "pass ", "://a:b@", "x"],
)  # fmt: skip
def test_hostile_text_takes_linear_time(piece: str) -> None:
    """A quarter of a megabyte of beginnings takes well under a second."""
    start = time.process_time()
    mask(piece * (250_000 // len(piece)))
    assert time.process_time() - start < 1.0
