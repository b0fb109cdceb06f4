"""Search terms: what a text is found by, and that both sides of a search agree."""

from __future__ import annotations

import struct
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_packs.store.text.analyzer import (
    MAX_SIGNATURE_KEYS,
    MAX_TERM_CHARS,
    NEGATIONS,
    STOP_WORDS,
    index_keys,
    index_terms,
    query_speaker_terms,
    query_terms,
    signature,
    speaker_key,
    speaker_keys,
    speaker_term,
    speaker_terms,
    term_key,
)

PIECES = st.sampled_from(
    [
        "Maria's ",
        "don’t ",
        "IT ",
        "it ",
        "getUserById",
        "src/app/main.py ",
        "v1.2.3",
        "#412 ",
        "10,000 ",
        "C++ ",
        ".NET ",
        "a@b.co ",
        "https://x.org/y?z=1 ",
        "DuckDB",
        "を使う",
        "の",
        "、",
        "ﾊﾟｿｺﾝ",
        "ภาษา",
        "한국어 ",
        "👨‍👩‍👧",
        "🇯🇵",
        "1️⃣",
        "café ",
        "Ёлка ",
        "مـرحبا ",
        "हिन्दी ",
        "\x00",
        "\ud800",
        "\u0301",
        "\u200d",
        "_",
        "-",
        "'",
        ".",
        "+",
        "#",
        "ﷺ",
        " ",
        "\u3000",
        "A" * 70,
    ]
)
TEXT = st.one_of(st.lists(PIECES, max_size=20).map("".join), st.text(st.characters(), max_size=120))


# Guarantees -------------------------------------------------------------------------------------------------------


@settings(max_examples=400, deadline=None)
@given(TEXT)
def test_a_text_is_found_by_its_own_words(text: str) -> None:
    """Every term of a query is a term of the same text when it is stored."""
    assert set(query_terms(text)) <= set(index_terms(text))


@settings(max_examples=300, deadline=None)
@given(TEXT)
def test_keys_are_the_keys_of_the_terms(text: str) -> None:
    """The fast path gives the key of every readable term, in order."""
    assert index_keys(text) == [term_key(term) for term in index_terms(text)]
    assert index_keys(text) == index_keys(text)


@settings(max_examples=300, deadline=None)
@given(TEXT)
def test_terms_are_short_clean_and_never_stop_words(text: str) -> None:
    """Terms have 1 to 64 characters without blanks, NUL or surrogates, and are stop words only as acronyms."""
    for term in (*index_terms(text), *query_terms(text)):
        assert 1 <= len(term) <= MAX_TERM_CHARS
        assert not any(char.isspace() or char == "\x00" or "\ud800" <= char <= "\udfff" for char in term)
        assert term not in STOP_WORDS or term.upper() in text or term.upper() in text.replace(".", "")


@settings(max_examples=300, deadline=None)
@given(TEXT)
def test_signatures_are_distinct_keys(text: str) -> None:
    """A signature is a little-endian int64 array without repeats, at most 256 long."""
    raw = signature(text)
    keys = list(struct.unpack(f"<{len(raw) // 8}q", raw))
    assert len(keys) <= MAX_SIGNATURE_KEYS
    assert len({key & ~1 for key in keys}) == len(keys)


@settings(max_examples=200, deadline=None)
@given(TEXT)
def test_a_speaker_is_found_by_the_words_of_the_name(name: str) -> None:
    """Speaker terms live in a space of their own, which no text reaches."""
    assert speaker_keys(name) == [term_key(term) for term in speaker_terms(name)]
    assert not set(speaker_terms(name)) & set(index_terms(name))
    assert not set(query_speaker_terms(name)) & set(index_terms(name))


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "_",
        "あ",
        "👍",
        "🇯",
        "\u0301",
        "e\u0301\u0327",
        "@",
        "a@",
        "a+",
        "a.",
        "a/",
        "aB",
        "1,",
        "0,000",
        "#",
        "c#",
        "'",
        "\ud800",
    ],
)
def test_long_runs_of_one_kind_take_linear_time(unit: str) -> None:
    """Long runs of anything take a few seconds of computing at most."""
    text = (unit * 150_000)[:150_000]
    before = time.process_time()
    index_keys(text)
    query_terms(text)
    signature(text)
    assert time.process_time() - before < 8


def test_threads_agree() -> None:
    """Texts analyzed in several threads at once have the terms they have in one."""
    docs = [f"running{n} connections{n} nationally ponies{n} relational{n}" for n in range(400)]
    alone = [index_terms(doc) for doc in docs]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(index_terms, docs)) == alone


# Literal cases ----------------------------------------------------------------------------------------------------


def test_keys_never_change() -> None:
    """The key of a term is a fixed number, as it is written into stores."""
    assert term_key("duckdb") == -5823940136293018189
    assert term_key("猫") == 4140028929945838904
    assert term_key("") == -5426141060434712860


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The runners were running quickly", ["runner", "run", "quick"]),
        ("Maria's Maria’s James'", ["maria", "maria", "jame"]),
        ("don't can’t it's we'll IT US it us", ["it", "us"]),
        ("U.S. e.g. i.e. U.K.", ["us", "uk"]),
        ("café CAFÉ cafe\u0301 Ёлка Ελλάδα Straße", ["cafe", "cafe", "cafe", "елк", "ελλαδ", "strass"]),
        ("ＤｕｃｋＤＢ ＃４１２", ["duckdb", "duck", "db", "#412", "412"]),
        ("مـرحبا हिन्दी שלום ٤٥", ["مرحب", "हिन्द", "שלום", "45"]),
        ("getUserById", ["getuserbyid", "user", "id"]),
        (
            "HTTPServer2Go snake_case_name",
            ["httpserver2go", "http", "server2", "go", "snake_case_name", "snake", "case", "name"],
        ),
        ("kebab-case well‐known", ["kebab-case", "kebab", "case", "well-known", "well", "known"]),
        ("src/app/main.py", ["src/app/main.py", "src", "app", "main.py", "main", "py"]),
        ("foo.bar.Baz foo:bar", ["foo.bar.baz", "foo", "bar", "baz", "foo:bar", "foo", "bar"]),
        ("v1.2.3 1.2.3", ["v1.2.3", "1.2.3", "1", "2", "3", "1.2.3", "1", "2", "3"]),
        ("TICKET-123 (#412)", ["ticket-123", "ticket", "123", "#412", "412"]),
        ("10,000 10000 1,234.56", ["10000", "10000", "1234.56", "1234", "56"]),
        ("C++ c# .NET F# x", ["c++", "c#", ".net", "f#", "x"]),
        ("ann.lee@example.com", ["ann.lee@example.com", "ann", "lee", "exampl", "com"]),
        ("(https://example.com/a/b.html).", ["example.com/a/b.html", "exampl", "com", "html"]),
        ("R&D O'Brien __init__.py _word_", ["r&d", "o'brien", "brien", "init__.py", "init", "py", "word"]),
        ("deadbeef0123 trg_8f21", ["deadbeef0123", "trg_8f21", "trg", "8f21"]),
        ("👨‍👩‍👧👍🏽 ❤️ 🇯🇵🇺🇸 1️⃣", ["👨‍👩‍👧", "👍🏽", "❤", "🇯🇵", "🇺🇸", "1⃣"]),
        ("a\x00beta\ud800gamma", ["beta", "gamma"]),
        ("猫。犬", ["猫", "犬"]),
        ("DuckDBを使う", ["duckdb", "duck", "db", "を", "を使", "使", "使う", "う"]),
        ("ﾊﾟﾝ パン ハ\u309aン", ["パ", "パン", "ン"] * 3),
        ("한국 ไทย", ["한", "한국", "국", "ไ", "ไท", "ท", "ทย", "ย"]),
        ("ที่นี่", ["ท", "ที", "ี่", "่น", "น", "นี", "ี่"]),
    ],
)
def test_index_terms(text: str, terms: list[str]) -> None:
    """Words, identifiers, numbers and runs become these terms."""
    assert index_terms(text) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", ()),
        ("who was it?", ()),
        ("""don't "AND" foo:bar -x (y*""", ("foo:bar", "foo", "bar", "x", "y")),
        ("run running RUN", ("run",)),
        ("東京の天気", ("東京", "京の", "の天", "天気")),
        ("DuckDB の 速さ は", ("duckdb", "duck", "db", "速さ")),
        ("の", ("の",)),
        ("猫", ("猫",)),
        ("3月", ("3", "月")),
        ("\ud800\x00", ()),
    ],
)
def test_query_terms(text: str, terms: tuple[str, ...]) -> None:
    """A query is distinct words, never syntax; runs are searched by their bigrams."""
    assert query_terms(text) == terms


@pytest.mark.parametrize("word", ["検索", "候補", "ダック", "段階", "選"])
def test_a_word_inside_a_japanese_sentence_is_found(word: str) -> None:
    """A word of one character or more inside a sentence without blanks is found by all its terms."""
    assert set(query_terms(word)) <= set(index_terms("候補の段階ではダックDBの検索を選んだ。"))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("main.py", "see src/app/main.py here"),
        ("1.2.3", "released v1.2.3 today"),
        ("412", "fixed by #412"),
        ("user id", "call getUserById(x)"),
        ("example.com", "https://www.example.com/page"),
        ("10000", "it cost 10,000 yen"),
        ("Café", "the cafe's door"),
        ("connection", "Connections were lost"),
    ],
)
def test_a_part_or_variant_finds_the_whole(query: str, text: str) -> None:
    """A part, another spelling or another form of a word shares a term with it."""
    assert set(query_terms(query)) & set(index_terms(text))


def test_a_very_long_token_is_cut_and_not_exploded() -> None:
    """Base64 and the like become one term of 64 characters, long chains lose none of their parts."""
    assert index_terms("aGVsbG8gd29ybGQ" * 100) == ["agvsbg8gd29ybgq" * 4 + "agvs"]
    chain = "-".join(f"part{n}" for n in range(40))
    assert {f"part{n}" for n in range(40)} <= set(index_terms(chain))


def test_negation_changes_a_signature() -> None:
    """Negations are no search terms but tell two texts apart."""
    assert index_terms("We do not ship") == index_terms("We do ship") == index_terms("We don't ship") == ["ship"]
    assert signature("We do not ship") != signature("We do ship")
    assert signature("We do not ship") == signature("We don’t ship") == signature("We cannot ship")
    assert NEGATIONS < STOP_WORDS


def test_a_signature_holds_no_single_characters_of_a_run() -> None:
    """The signature of a CJK run is made of its bigrams."""
    keys = [term_key(pair) & ~3 | 2 for pair in ("東京", "京都")]
    assert signature("東京都") == struct.pack("<2q", *keys)


def test_numbers_negations_and_names_have_odd_keys() -> None:
    """What makes a fact another fact when it changes is told by the lowest bit, wherever it stands in the text."""
    guarded = {term_key(term) & ~3 | 1 for term in ("oslo", "7", "not", "anna")}
    plain = {term_key(term) & ~3 for term in ("move", "flat")}
    raw = signature("Moved to Oslo, not with (Anna). Flat 7. Oslo move.")
    assert set(struct.unpack("<6q", raw)) == guarded | plain


def test_words_of_cjk_text_have_the_second_bit() -> None:
    """Runs without hiragana, and Latin words that stand among them; grammar has not, nor Latin text of its own."""
    raw = signature("担当はA社の田中です。")
    found = {key & ~3: key & 3 for key in struct.unpack(f"<{len(raw) // 8}q", raw)}
    bits = {
        term: found[term_key(term) & ~3]
        for term in ("担当", "田中", "a", "は", "です", "中で")
        if term_key(term) & ~3 in found
    }
    assert bits == {"担当": 2, "田中": 2, "a": 2, "です": 0, "中で": 0}


def test_capitals_beside_cjk_are_names() -> None:
    """A社 and B社 are told apart by search too: "A" is no article there; in an English text it still is one."""
    assert index_terms("A社の納期") == ["a", "社", "社の", "の", "の納", "納", "納期", "期"]
    assert query_terms("A社は？")[0] == "a"
    assert index_terms("A plan") == index_terms("a plan") == ["plan"]
    assert index_terms("the会議") == ["会", "会議", "議"]


def test_a_long_text_keeps_its_first_keys() -> None:
    """A signature is cut at 256 keys, the first ones of the text."""
    text = " ".join(f"word{n}" for n in range(1000))
    keys = [key & ~3 | 1 for key in index_keys(text)][:256]
    assert signature(text) == struct.pack("<256q", *keys)


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("Maria", "What is Maria's job?"),
        ("Maria Garcia", "what did garcia say"),
        ("James", "James’s plan"),
        ("Will", "What did Will say?"),
        ("José", "has Jose called"),
        ("田中さん", "田中さんは何と言ったか"),
        ("田中", "昨日の田中の発言"),
        ("ジョン・スミス", "スミスの意見"),
        ("user_1", "User"),
    ],
)
def test_a_query_names_a_speaker(name: str, query: str) -> None:
    """A query that names a speaker shares a term of the speakers' space with the name."""
    assert set(speaker_terms(name)) & set(query_speaker_terms(query))


def test_stop_words_name_nobody() -> None:
    """Ordinary little words of a query are no names."""
    assert query_speaker_terms("What will it be?") == ()


def test_a_speaker_term_is_marked() -> None:
    """The term of a speaker's word is the word behind a control character."""
    assert speaker_term("Maria") == "\x01speaker:maria"
    assert speaker_key("maria") == term_key("\x01speaker:maria")
    assert speaker_terms("Dr. J. Lee") == ["\x01speaker:dr", "\x01speaker:lee"]
    assert query_speaker_terms("Maria's dog Rex") == (
        "\x01speaker:maria",
        "\x01speaker:dog",
        "\x01speaker:rex",
    )
