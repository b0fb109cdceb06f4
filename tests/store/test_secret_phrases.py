"""Secrets by the file, command, table or sentence in which they stand. All examples are made up here."""

import time

import pytest

from context_packs.store.text.secrets.masking import mask

X = "hunter2x"


@pytest.mark.parametrize(
    "text",
    [
        '"auth": "YWRtaW46aHVudGVyMng="', f"docker login -u me -p {X} reg", f"az login -u me -p {X}",
        f"<password>{X}</password>", f"machine h login u password {X}", f'{{"name":"password","value":"{X}"}}',
        f"- name: DB_PASSWORD\n  value: {X}", f"ENV API_TOKEN {X}", f"| password | {X} |", f"password -> {X}",
        f"password for bob: {X}", f"db password (prod): {X}", f"the password of the db is {X}", f"creds: bob:{X}",
        'passwd="correct horse"', f"echo {X} | sudo -S ls", f"openssl enc -aes-256-cbc -k {X}", f"htpasswd -b f u {X}",
        f"パスワードが {X}", f"認証キー：{X}", f"密码{X}", f"Kennwort: {X}", f"clave: {X}", f"hasło: {X}",
        f"wachtwoord: {X}", f"lösenord: {X}", f"şifre: {X}", f"mật khẩu: {X}", f"รหัสผ่าน: {X}", f"كلمة المرور: {X}",
        f"пароль - {X}", f"ⓟⓐⓢⓢⓦⓞⓡⓓ: {X}", f"раssword: {X}", "postgres://u:hun/ter?2#x@db.example/x",
        "jdbc:oracle:thin:scott/tiger@host", "https://a.example/b?sv=1&sig=" + "aB3%2F" * 8,
        "password is Tr0ub4dor&3",
    ],
)  # fmt: skip
def test_a_secret_is_masked_whole(text: str) -> None:
    """Once, with nothing of it left."""
    masked, count = mask(text)
    assert count == 1 and "[secret:" in masked
    for left in ("hunter2", "correct", "hun/", "tiger", "aB3", "YWRt", "Tr0", "&3"):
        assert left not in masked
    assert mask(masked) == (masked, 0)


HEX, MIXED = "0a1b2c3d4e5f6789" * 4, "a1B2c3D4e5F6g7H8" * 5


@pytest.mark.parametrize(
    "token",
    [
        "pat" + MIXED[:14] + "." + HEX, "oy2" + MIXED[:43].lower(), "CCIPAT_" + MIXED[:22] + "_" + HEX[:40],
        "phc_" + MIXED[:43], "re_" + MIXED[:8] + "_" + MIXED[:24], "1//0" + MIXED[:60], "EAAA" + MIXED[:60],
        HEX[:32] + "-" + HEX[:8] + "-" + HEX[:8], "secret_" + MIXED[:43], "fo1_" + MIXED[:43], "fm2_" + MIXED[:60],
        "duffel_test_" + MIXED[:43], "AKID" + MIXED[:32], "eyJrIjoi" + MIXED[:60] + "==",
    ],
)  # fmt: skip
def test_further_tokens_are_known_by_their_shape(token: str) -> None:
    """Whatever stands around them."""
    assert mask(f"use {token} here") in ((f"use [secret:{k}] here", 1) for k in ("api-key", "google-key", "jwt"))


@pytest.mark.parametrize(
    "text",
    [
        "The password for the portal is required.", "password for bob: see the vault", "| password | string |",
        "| Password | required | yes |", "password -> hash", "the password of the admin is stored elsewhere",
        "docker login -u me --password-stdin", "<password>$DB_PASSWORD</password>", "creds: ask bob", "env | grep KEY",
        "- name: LOG_LEVEL\n  value: debug", "- name: DB_PASSWORD\n  valueFrom: secretKeyRef", "echo done | sudo tee f",
        "パスワードが必要です", "パスワードが8文字以上", "密码8-16位", "clave: importante", "hasło: wymagane",
        "пароль - это важно", "parola: obbligatoria",
        "https://example.com:8080/a?b@c.d", "http://localhost:3000/@user",
        "a password manager (1Password): good", "openssl version -a", "htpasswd -c file user", "смесь Latin и слов",
        "the machine needs a login and a password today", "re_compile_all_the_things", "patterns.of.things",
        "design=blue&sig=short", "ENV PATH /usr/bin",
    ],
)  # fmt: skip
def test_ordinary_prose_and_code_stay(text: str) -> None:
    """Words about passwords are no passwords."""
    assert mask(text) == (text, 0)


@pytest.mark.parametrize(
    "piece",
    ["docker login ", "machine a login ", "name: password ", "| password ", "password for a ", "password (",
    "creds: a:",
     "echo a | sudo ", "openssl ", "htpasswd -b a ", "パスワードが", "密码", "clave: ", "://a:b/", "aр", "?sig=",
     '"auth": "',
     "ENV A_TOKEN\n", 'passwd="a b ', "name: a_a_a_", "re_", "0a1b" * 8 + "-"],
)  # fmt: skip
def test_hostile_text_takes_linear_time(piece: str) -> None:
    """A quarter of a megabyte of beginnings takes well under two seconds."""
    start = time.process_time()
    mask(piece * (250_000 // len(piece)))
    assert time.process_time() - start < 2.0
