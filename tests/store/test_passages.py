"""Passages: an exact partition that respects sentences, lines, turns and grapheme clusters."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from context_packs.store.text.cuts import MAX_CHARS, MAX_CHARS_WIDE, is_wide
from context_packs.store.text.passages import Passage, divide

FAMILY = "👨‍👩‍👧‍👦"
MARKED = "e" + "\u0301" * 3


def texts(text: str) -> list[str]:
    return [text[p.start : p.end] for p in divide(text)]


def shown(text: str) -> list[tuple[str, str, str, str]]:
    return [(p.kind, p.speaker, p.context, text[p.start : p.end].rstrip()) for p in divide(text)]


# Guarantees -------------------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        "Hello there, all. ",
        "Yes. ",
        "e.g. this one ",
        "これは文です。",
        "「はい。」と言った。",
        "ภาษาไทย ",
        FAMILY,
        "🇯🇵🇺🇸",
        MARKED,
        "\u1100\u1161\u11a8",
        "क्षि",
        "x" * 200,
        "漢" * 200,
        ", ",
        "; ",
        "\n",
        "\r\n",
        "\r",
        "\n\n",
        "\u2028",
        "\x85",
        "\x0b",
        "\x00",
        "\ud800",
        "\udc00",
        "\u200d",
        "\ufe0f",
        "\u0301",
        " " * 50,
        "- item ",
        "・項目",
        "1. first ",
        "# Heading ",
        "```\n",
        "| a | b |\n",
        "|---|---|\n",
        "Ann: hello there. ",
        "Bob: hi! ",
        "**User:** ",
        "話者：",
        "[10:03] ",
        "2024-05-01 10:00:00 INFO ",
        "key: value",
        "> quoted ",
        "---",
        "=====",
        "|",
        ":",
        ".",
        "。",
        '"',
        "」",
        "\u0600",
    ]
)
TEXT = st.one_of(
    st.lists(PIECES, max_size=40).map("".join),
    st.text(st.characters(), max_size=400),
    st.lists(st.one_of(PIECES, st.text(st.characters(), max_size=6)), max_size=30).map("".join),
)


@settings(max_examples=300, deadline=None)
@given(TEXT)
def test_passages_are_an_exact_partition(text: str) -> None:
    """Passages joined together are the text, without gap, overlap or empty passage."""
    passages = divide(text)
    assert [p.start for p in passages] == [0, *(p.end for p in passages)][: len(passages)]
    assert "".join(text[p.start : p.end] for p in passages) == text
    assert all(p.start < p.end for p in passages)


@settings(max_examples=300, deadline=None)
@given(TEXT)
def test_no_border_lies_inside_a_grapheme_cluster(text: str) -> None:
    """Every border between passages is a border between grapheme clusters of the whole text."""
    borders = {0}
    for match in regex.finditer(r"\X", text):
        borders.add(match.end())
    assert {p.end for p in divide(text)} <= borders


@settings(max_examples=300, deadline=None)
@given(TEXT)
def test_no_passage_is_longer_than_its_limit_unless_it_is_one_cluster(text: str) -> None:
    """Content stays within 320 characters, 160 where it is wide throughout, and blanks after it within 320 more."""
    for p in divide(text):
        content = text[p.start : p.end].strip()
        if len(regex.findall(r"\X", content)) > 1:
            assert len(content) <= MAX_CHARS
            assert p.end - p.start <= 3 * MAX_CHARS
            wide = all(is_wide(char) for char in content)
            assert not wide or len(content) <= MAX_CHARS_WIDE


@settings(max_examples=200, deadline=None)
@given(TEXT)
def test_only_a_blank_text_or_a_long_stretch_of_blanks_makes_blank_passages(text: str) -> None:
    """A passage of kind blank holds blanks only, and blanks of ordinary length belong to the passage before them."""
    passages = divide(text)
    for before, p in pairwise(passages):
        if p.kind == "blank":
            assert text[p.start : p.end].isspace()
            assert before.end - before.start > MAX_CHARS_WIDE // 2
    assert all(p.kind in "sentence item log turn row code heading blank".split() for p in passages)


@settings(max_examples=200, deadline=None)
@given(TEXT)
def test_a_speaker_stands_in_the_passage_or_in_its_context(text: str) -> None:
    """Whoever speaks a passage can be read in its first passage or in the context of the later ones."""
    for p in divide(text):
        if p.speaker:
            assert p.speaker in text[p.start : p.end] or p.context.split(" > ")[-1] == p.speaker


@pytest.mark.parametrize("size", [1, 319, 320, 321, 330, 479, 480, 481, 640, 641, 1000])
def test_pieces_of_one_long_sentence_are_balanced(size: int) -> None:
    """A sentence too long for one passage is cut between words into pieces of at least half the limit."""
    text = ("word " * size)[:size].rstrip()
    lengths = [len(piece) for piece in texts(text)]
    assert len(lengths) == 1 or min(lengths) >= MAX_CHARS // 2 - 5
    assert max(lengths) <= MAX_CHARS


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "あ",
        "👍",
        "🇯",
        "\u0301",
        "\u200d",
        " ",
        "\n",
        "\r\n",
        ".",
        "。",
        "- a\n",
        "A: b.\n",
        "A. ",
        "|",
        "```\n",
        "x,",
    ],
)
def test_half_a_million_characters_of_one_kind_are_divided_in_linear_time(unit: str) -> None:
    """Long runs of anything take well under five seconds of computing, where quadratic work would take hours."""
    text = (unit * 500_000)[:500_000]
    before = time.process_time()
    passages = divide(text)
    assert time.process_time() - before < 5
    assert passages[-1].end == 500_000


@pytest.mark.parametrize(
    "text",
    [
        "A: " + "x" * 300_000 + "\nA: y",
        "|\n" + " " * 300_000 + "x",
        "10:00" + " " * 300_000 + "x:\n",
        "2024-05-01" + " " * 300_000 + "x\n",
        "- " * 150_000 + "x\ny",
        "# " + " " * 300_000 + "\nx",
        "a" + "\u0301\u0327" * 150_000,
        "Yes. " + "x" * 300_000 + " No.",
    ],
)
def test_lines_made_to_mislead_a_pattern_take_linear_time(text: str) -> None:
    """Patterns never look back over a long line again and again."""
    before = time.process_time()
    assert divide(text)[-1].end == len(text)
    assert time.process_time() - before < 3


# Literal cases ----------------------------------------------------------------------------------------------------


def test_an_empty_text_has_no_passages() -> None:
    """Nothing divides into nothing."""
    assert divide("") == []


def test_a_blank_text_is_blank() -> None:
    """A text of blanks only is one passage of kind blank."""
    assert divide(" \n ") == [Passage(0, 3, "blank", "", "")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "The first sentence stands here. The second one follows it!\nIs this the third one?",
            ["The first sentence stands here. ", "The second one follows it!\n", "Is this the third one?"],
        ),
        (
            "Dr. Smith met Mr. J. R. Jones at 5 p.m. in St. Louis. They spoke for an hour, e.g. about tea.",
            ["Dr. Smith met Mr. J. R. Jones at 5 p.m. in St. Louis. ", "They spoke for an hour, e.g. about tea."],
        ),
        (
            "Version v1.2.3 reads src/app/main.py at 3.14 times. See https://a.org/a.b?c=d. Then all of us went home.",
            [
                "Version v1.2.3 reads src/app/main.py at 3.14 times. ",
                "See https://a.org/a.b?c=d. ",
                "Then all of us went home.",
            ],
        ),
        (
            'She said "It really works now." Then she left (at last, I thought.) Nobody in the room minded it.',
            [
                'She said "It really works now." ',
                "Then she left (at last, I thought.) ",
                "Nobody in the room minded it.",
            ],
        ),
        (
            '"Is it really done?" she asked us all. He only nodded to her.',
            ['"Is it really done?" she asked us all. ', "He only nodded to her."],
        ),
        ("Well... maybe we could try it tomorrow instead.", ["Well... maybe we could try it tomorrow instead."]),
        (
            "今日は天気がいいです。「そうですね。」と彼は言った。明日は雨が降るでしょう！？それは困ります。",
            [
                "今日は天気がいいです。",
                "「そうですね。」と彼は言った。",
                "明日は雨が降るでしょう！？",
                "それは困ります。",
            ],
        ),
        (
            "彼は「もう帰ります。」（本当です。）次の文がここに来ます。",
            ["彼は「もう帰ります。」（本当です。）", "次の文がここに来ます。"],
        ),
        (
            "A hard-wrapped sentence goes on\nin its second line. And another one\nends here.",
            ["A hard-wrapped sentence goes on\nin its second line. ", "And another one\nends here."],
        ),
        (
            "Bought milk and two loaves\nCalled Ann about Friday",
            ["Bought milk and two loaves\n", "Called Ann about Friday"],
        ),
        (
            "hostname: db.example.org\nmax_connections: 100\n",
            ["hostname: db.example.org\n", "max_connections: 100\n"],
        ),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    """Sentences end at their marks and closing quotes, not at abbreviations, numbers, file names or wrapped lines."""
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes. Thanks! We will start on Monday morning.", ["Yes. Thanks! We will start on Monday morning."]),
        ("We will start on Monday morning. Thanks!", ["We will start on Monday morning. Thanks!"]),
        ("はい。わかりました。明日また連絡します。", ["はい。わかりました。", "明日また連絡します。"]),
    ],
)
def test_very_short_sentences_join_a_neighbour(text: str, expected: list[str]) -> None:
    """A sentence of a word or two is not a passage of its own where it has a neighbour."""
    assert texts(text) == expected


def test_list_items_of_all_shapes_are_passages_with_their_continuation() -> None:
    """Every list item is a passage, together with its indented continuation."""
    text = "- one\n- two\n  goes on\n* three\n+ four\n1. five\n2) six\n(3) seven\n・八つ目\n● 九\n①十\n"
    assert [p.kind for p in divide(text)] == ["item"] * 10
    assert texts(text)[1] == "- two\n  goes on\n"


def test_log_lines_are_passages_with_their_stack_traces() -> None:
    """A line that starts with a time or a level is a passage, and indented lines after it belong to it."""
    text = (
        "2024-05-01T10:00:01Z INFO start. ok\n2024-05-01 10:00:02,123 ERROR bad\n  at foo.py\n"
        "[WARN] low disk\nERROR: gone\nMay  1 10:00:00 host sshd\n10:00:01 up\n10:30 lunch with Ann\n"
    )
    assert [p.kind for p in divide(text)] == ["log"] * 7
    assert texts(text)[1] == "2024-05-01 10:00:02,123 ERROR bad\n  at foo.py\n"


def test_turns_know_their_speaker() -> None:
    """Sentences of a turn carry its speaker, the later ones in their context, until somebody else speaks."""
    text = (
        "Maria: I moved to Lisbon in May. It is lovely there in spring.\n"
        "John: How nice, and where do you live?\n\nWe should meet soon.\nMaria: Sure.\n"
    )
    assert shown(text) == [
        ("turn", "Maria", "", "Maria: I moved to Lisbon in May."),
        ("turn", "Maria", "Maria", "It is lovely there in spring."),
        ("turn", "John", "", "John: How nice, and where do you live?"),
        ("turn", "John", "John", "We should meet soon."),
        ("turn", "Maria", "", "Maria: Sure."),
    ]


@pytest.mark.parametrize(
    ("text", "speakers"),
    [
        ("**User:** How do I do it?\n**Assistant:** Like this.\n", ["User", "Assistant"]),
        ("**User**: How do I do it?\n**Assistant**: Like this.\n", ["User", "Assistant"]),
        ("user: how do I do it?\nassistant: like this, I think.\n", ["user", "assistant"]),
        ("[10:03] Ann: hello\n[10:04] Bob: hi\n", ["Ann", "Bob"]),
        ("10:03 <ann> hello\n10:04 <bob> hi\n", ["ann", "bob"]),
        ("2024-05-01 10:03 - Ann: hello\n2024-05-01 10:04 - Bob: hi\n", ["Ann", "Bob"]),
        ("Dr. Lee (10:03): Please sit down.\nDr. Lee (10:05): Thank you.\n", ["Dr. Lee", "Dr. Lee"]),
        ("Alice: I like cats.\nBob: So do I, really.\nAlice: Good to know.\n", ["Alice", "Bob", "Alice"]),
        ("話者A：こんにちは。\n話者B：元気ですか。\n", ["話者A", "話者B"]),
        ("田中：こんにちは。\r\n鈴木：お元気ですか。\r\n", ["田中", "鈴木"]),
    ],
)
def test_labels_that_speak(text: str, speakers: list[str]) -> None:
    """Names, roles, bold names and names after a time begin turns."""
    assert [p.speaker for p in divide(text)] == speakers


@pytest.mark.parametrize(
    "text",
    [
        "Note: this is the first one.\nNote: that is the second one.\n",
        "host: a\nport: 1\nhost: b\nport: 2\n",
        "Name: Ann\nAge: 3\nName: Bob\nAge: 4\n",
        "http://example.com is here.\nhttp://example.org is there.\n",
        "10:00:01 ERROR: gone away\n10:00:02 ERROR: gone again\n",
        "Maria: only one of them speaks here, and only once.\n",
        "system: linux\nuser: root\n",
        'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: a bad value.\n',
        "注意：これは大事です。\n注意：これも大事です。\n",
    ],
)
def test_labels_that_do_not_speak(text: str) -> None:
    """Fields, notes, levels, addresses and a single label are not speakers."""
    assert {p.speaker for p in divide(text)} == {""}


def test_a_label_alone_on_its_line_stays_with_what_is_said() -> None:
    """A label, a blank line and the first sentence are one passage."""
    assert texts("**User:**\n\nHow do I do it?\n\n**Assistant:**\n\nLike this, I think.\n") == [
        "**User:**\n\nHow do I do it?\n\n",
        "**Assistant:**\n\nLike this, I think.\n",
    ]


def test_headings_govern_what_stands_below_them() -> None:
    """The words of the headings above a passage are its context, until a heading of the same or a higher level."""
    text = (
        "# Plan\nWe begin with the store.\n## Risks ##\nDisks may fill up quickly.\n"
        "## Costs\n- low\n# End\nThat is all of it.\n"
    )
    assert shown(text) == [
        ("heading", "", "", "# Plan"),
        ("sentence", "", "Plan", "We begin with the store."),
        ("heading", "", "Plan", "## Risks ##"),
        ("sentence", "", "Plan > Risks", "Disks may fill up quickly."),
        ("heading", "", "Plan", "## Costs"),
        ("item", "", "Plan > Costs", "- low"),
        ("heading", "", "", "# End"),
        ("sentence", "", "End", "That is all of it."),
    ]


def test_rows_carry_the_words_of_their_header() -> None:
    """Every row of a table is a passage whose context names the columns; the table ends with its last row."""
    text = "| Name | City |\n|:--|--:|\n| Ann | Oslo |\n| Bob | Rome |\n\nAfter the table.\na | b\n--|--\n1 | 2\n"
    assert shown(text) == [
        ("row", "", "", "| Name | City |\n|:--|--:|"),
        ("row", "", "Name City", "| Ann | Oslo |"),
        ("row", "", "Name City", "| Bob | Rome |"),
        ("sentence", "", "", "After the table."),
        ("row", "", "", "a | b\n--|--"),
        ("row", "", "a b", "1 | 2"),
    ]


def test_code_is_divided_at_blank_lines_and_never_merged_with_prose() -> None:
    """A fence is code from its first to its last line, cut between lines, first at blank ones."""
    block = "".join(f"line_{n} = {n}\n" for n in range(15))
    text = f"Before the code.\n```py\n{block}\n{block}```\nAfter."
    assert shown(text)[0] == ("sentence", "", "", "Before the code.")
    assert shown(text)[-1] == ("sentence", "", "", "After.")
    assert texts(text)[1:-1] == [f"```py\n{block}\n", f"{block}```\n"]
    assert {p.kind for p in divide(text)[1:-1]} == {"code"}


def test_marks_inside_code_are_not_headings_items_or_turns() -> None:
    """What looks like Markdown inside a fence is code, also when the fence is never closed."""
    text = "~~~\n# not a heading\n- not an item\nAnn: no.\nBob: no.\n"
    assert [(p.kind, p.context, p.speaker) for p in divide(text)] == [("code", "", "")]


def test_a_long_sentence_is_cut_after_a_clause() -> None:
    """A sentence over the limit is cut at a clause mark rather than between two words."""
    text = "a" * 50 + " " + "word " * 30 + "here; " + "word " * 40 + "end."
    assert texts(text)[0].endswith("here; ")


def test_a_number_is_not_cut_at_its_comma() -> None:
    """The comma inside a number is no clause mark."""
    text = "x" * 170 + "10,000" + "x" * 200
    assert texts(text)[0] != "x" * 170 + "10,"


def test_a_cluster_longer_than_the_limit_stays_whole() -> None:
    """A letter with ten thousand marks, or a joined emoji of any length, is one passage."""
    marks = "e" + "\u0301" * 10_000
    joined = "👩" + "\u200d👩" * 1_000
    assert marks in texts(marks + "x" * 400)
    assert any(joined in piece for piece in texts("x" * 400 + joined + "y" * 400))


def test_a_very_long_heading_is_clipped_in_context() -> None:
    """The context of a passage stays short whatever stands above it."""
    text = "# " + "w" * 5_000 + "\nThe body of the text."
    assert len(divide(text)[-1].context) == 120
