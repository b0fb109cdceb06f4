"""Masking of what looks like a secret. The examples are made up and put together here, so that no scanner trips."""

import random
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.store.text.secrets.masking import mask

BODY = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
HEX = "9f86d081884c7d659a2feaa0c55ad015"
BODY_OF_A_KEY = ("MIIEpAIBAAKCAQEA" * 4, "x7Yq" * 16, "Zg==")
PEM = "\n".join(("-----BEGIN RSA " + "PRIVATE KEY-----", *BODY_OF_A_KEY, "-----END RSA PRIVATE KEY-----"))


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("id AKIA" + "IOSFODNN7EXAMPLE.", "id [secret:aws-key]."),
        ("push with ghp_" + BODY[:36], "push with [secret:github-token]"),
        ("use github_pat_" + BODY + "_" + BODY, "use [secret:github-token]"),
        ("glpat-" + BODY[:20], "[secret:gitlab-token]"),
        ("key sk-proj-" + BODY + ", done", "key [secret:api-key], done"),
        ("sk_live_" + BODY[:24], "[secret:api-key]"),
        ("xoxb-" + "1234567890-" + BODY[:12], "[secret:slack-token]"),
        ("cpk_" + "0123456789ab_" + BODY + "-_x", "[secret:api-key]"),
        ("AIza" + BODY[:35] + ")", "[secret:google-key])"),
        ("eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0." + BODY, "[secret:jwt]"),
        (f"before\n{PEM}\nafter", "before\n[secret:private-key]\nafter"),
        ("Authorization: Bearer " + BODY, "Authorization: Bearer [secret:authorization]"),
        ("curl -H 'authorization: Basic dXNlcjpw'", "curl -H 'authorization: Basic [secret:authorization]'"),
        ("the header was bearer " + BODY, "the header was bearer [secret:authorization]"),
        ("postgres://app:hunter2@db:5432/x", "postgres://app:[secret:url-password]@db:5432/x"),
        ("redis://:hunter2@cache/0", "redis://:[secret:url-password]@cache/0"),
        ("password=hunter2", "password=[secret:password]"),
        ("password: hunter2.", "password: [secret:password]."),
        ("DB_PASSWORD=correcthorse", "DB_PASSWORD=[secret:password]"),
        ("db.password = 'letmein'", "db.password = '[secret:password]'"),
        ('{"client_secret": "swordfish"}', '{"client_secret": "[secret:secret]"}'),
        (r"{\"password\":\"hunter2\"}", r"{\"password\":\"[secret:password]\"}"),
        ('api_key = "' + BODY[:16] + '"', 'api_key = "[secret:api-key]"'),
        ("X-API-Key: " + BODY[:20], "X-API-Key: [secret:api-key]"),
        ("export AWS_SECRET_ACCESS_KEY=" + BODY, "export AWS_SECRET_ACCESS_KEY=[secret:secret]"),
        ("GET /x?token=" + BODY[:16] + "&page=2", "GET /x?token=[secret:token]&page=2"),
        ("mysql --password hunter2 -u app", "mysql --password [secret:password] -u app"),
        ("encryption_key: " + HEX, "encryption_key: [secret:key]"),
        ("パスワード：hunter2です", "パスワード：[secret:password]です"),
    ],
)
def test_secrets_are_replaced_by_their_kind(text: str, masked: str) -> None:
    """Each known shape and each assignment to a telling name is replaced, and nothing around it."""
    assert mask(text) == (masked, 1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b fixes it",
        "record 123e4567-e89b-12d3-a456-426614174000",
        f"sha256 {HEX}{HEX}",
        "session_id: 123e4567-e89b-12d3-a456-426614174000",
        "public_key: " + HEX,
        "max_tokens=1500, token_count: 123456789, tokenizer = o200k_base",
        "const token = await getToken(); password = getpass.getpass()",
        "def login(password: str, token: Optional[str] = None) -> None:",
        "token: string; private_key: Uint8Array",
        "password=password, api_key=$API_KEY, token=<your token>, secret: ${SECRET}",
        "Authorization: Bearer <token>",
        "the bearer of internationalization news",
        "The password: a word you choose. The secret: practice.",
        "a risk-based-analysis-of-something-long-2024 and a task-2024-01-01-of-many-words",
        "see https://example.com:8080/a@b and mail me@example.com",
        "a header says -----BEGIN PRIVATE KEY----- and then the key follows, in base64",
        "パスワードは金曜日に変えました。秘密のトークンは使いません。",
        "password: [secret:password]",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    """Hashes, UUIDs, code, types, stand-ins, prose and Japanese come back unchanged."""
    assert mask(text) == (text, 0)


def test_a_key_in_a_numbered_listing_is_masked() -> None:
    """A private key shown with line numbers, or with its line ends escaped, is found too."""
    listing = "\n".join(f"{i:>6}→{line}" for i, line in enumerate(PEM.split("\n"), start=1))
    assert mask(listing) == ("     1→[secret:private-key]", 1)
    assert mask(f'"{PEM}"'.replace("\n", "\\n")) == ('"[secret:private-key]"', 1)


def test_a_key_that_is_cut_off_is_masked_as_far_as_it_goes() -> None:
    """The end mark of a private key may be missing; the words behind the key stay."""
    start = PEM.rsplit("\n", 2)[0]
    assert mask(f"{start}\n[… cut …]") == ("[secret:private-key]\n[… cut …]", 1)


def test_overlapping_finds_count_once() -> None:
    """A token behind a telling name is one secret, named by its own shape where it has one."""
    assert mask("Authorization: Bearer sk-" + BODY) == ("Authorization: Bearer [secret:api-key]", 1)
    assert mask("token=ghp_" + BODY) == ("token=[secret:github-token]", 1)
    assert mask("password=x:sk-" + BODY) == ("password=[secret:password]", 1)


FRAGMENTS = ["password", "token", "key", "=", ": ", '"', "sk-", "eyJ", ".", BODY, "hunter2", " ", "\n", "://", "@",
             "パスワード", "İ", "\ud800", "-----BEGIN PRIVATE KEY-----", "\\"]  # fmt: skip


@given(st.lists(st.sampled_from(FRAGMENTS)))
def test_masking_twice_changes_nothing_more(pieces: list[str]) -> None:
    """What is masked holds nothing to mask, and text without a find comes back as it is."""
    text = "".join(pieces)
    masked, count = mask(text)
    assert mask(masked)[0] == masked
    assert (masked == text) == (count == 0)


PIECES = ["eyJ", "sk-", "token=", "password:", 'key="', "--password ", "://a:", "://", "-----BEGIN PRIVATE KEY-----",
          "bearer ", "authorization:", "パスワード", "api_key", "\\", "key_", "public_key=", "1:", " "]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_repeated_beginnings_cost_linear_time(piece: str) -> None:
    """Four times the text takes far less than sixteen times the time: no rule scans a text again and again."""

    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.process_time()
        mask(text)
        return time.process_time() - start

    small = max(min(seconds(25_000) for _ in range(3)), 0.002)
    assert min(seconds(100_000) for _ in range(3)) < 10 * small


def test_long_texts_are_fast() -> None:
    """One character half a million times and a megabyte of prose with key names take well under a second."""
    words = random.Random(7).choices([*string.ascii_lowercase, "token", "key", "words", "of", "鍵"], k=300_000)
    prose = " ".join(words)
    assert len(prose) > 500_000
    start = time.process_time()
    assert mask("a" * 500_000) == ("a" * 500_000, 0)
    assert mask(prose) == (prose, 0)
    assert time.process_time() - start < 1.0
