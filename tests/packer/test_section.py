"""One record as lines that no stored text can leave."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.packer.packing.section import BLOCK_CHARS, Section, lines_of, outline_of


def shown(kit: Any, text: str, *ordinals: int) -> Section:
    outline = outline_of(kit.record(1, text))
    section = Section(outline)
    for ordinal in ordinals or outline.ordinals:
        section.show(ordinal)
    return section


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one", " one"),
        ("one  \n\n \n two\n", " one\n  two"),
        ("a\r\nb\rc\x0bd\x0ce\x1cf\x1dg\x1eh\x85i\u2028j\u2029k", " a\n b\n c\n d\n e\n f\n g\n h\n i\n j\n k"),
        ("\tif x:\n\t\ty\u3000", " \tif x:\n \t\ty"),
        ("nul\x00 bell\x07 unit\x1f c1\x9b del\x7f", " nul\ufffd bell\ufffd unit\ufffd c1\ufffd del\ufffd"),
        ("\ud800 lone, \ud83d\ude00 pair", " \ufffd lone, 😀 pair"),
        ("", ""),
        (" \n\t\r\n", ""),
        ("\u200b", ""),
        ("a\u202eb\u200b \u2066c", " ab c"),
    ],
)
def test_stored_text_becomes_indented_lines(text: str, lines: str) -> None:
    """Every line break is LF and one blank, blank lines and blanks at line ends fold away, control characters show."""
    assert lines_of(text) == lines


def test_a_gap_on_one_line_is_marked_in_the_line(kit: Any) -> None:
    """Where sentences of a line are missing stands `…`, at its ends too; with all of them the line is as stored."""
    text = "The first sentence is here. The second sentence is here. The third sentence is here."
    assert shown(kit, text, 0, 2).lines() == " The first sentence is here. … The third sentence is here."
    assert shown(kit, text, 2, 0, 1).lines() == f" {text}"
    assert shown(kit, text, 1).lines() == " … The second sentence is here. …"


def test_a_gap_between_lines_is_marked_at_the_line_that_follows_it(kit: Any) -> None:
    """Lines left out cost one mark before the next line, or behind the last one; blank lines are no gap."""
    text = "- item one two three\n- item four five six\n\n- item seven eight nine\n- item ten eleven twelve\n"
    one, two, three, four = outline_of(kit.record(1, text)).ordinals
    assert shown(kit, text, one, three).lines() == " - item one two three\n … - item seven eight nine …"
    assert shown(kit, text, two, three).lines() == " … - item four five six\n - item seven eight nine …"
    assert shown(kit, text, four, one).lines() == " - item one two three\n … - item ten eleven twelve"
    assert shown(kit, text, four, one, two).spans() == [(0, 43), (67, 92)]


def test_a_turn_that_begins_in_the_middle_says_who_speaks(kit: Any) -> None:
    """The label stands once: not where the turn goes on, and not where it is stored."""
    text = (
        "Mika: The kiwi is stored in the cellar. It came by ship in May. Nobody asked for it.\n"
        "Taro: I would have asked for it myself. The ship was late again.\n"
    )
    assert shown(kit, text, 2).lines() == " … Mika: Nobody asked for it. …"
    assert shown(kit, text, 1, 2).lines() == " … Mika: It came by ship in May. Nobody asked for it. …"
    assert shown(kit, text, 0, 2, 3).lines() == (
        " Mika: The kiwi is stored in the cellar. … Mika: Nobody asked for it.\n"
        " Taro: I would have asked for it myself. …"
    )
    assert shown(kit, text).lines() == "\n".join(f" {line}" for line in text.splitlines())


def test_indentation_of_a_line_is_kept(kit: Any) -> None:
    """Code stands as it was written, one blank further in."""
    text = "Run this:\n\n```py\nfor x in y:\n    print(x)\n```\n"
    assert shown(kit, text).lines() == " Run this:\n ```py\n for x in y:\n     print(x)\n ```"


def test_spans_join_what_is_adjacent_and_end_with_the_record(kit: Any) -> None:
    """Spans are exact passage bounds; blanks belong to the passage before them, leading ones to the first."""
    text = "\n\nA first sentence here. A second sentence here.\n\n\nA third sentence here.\n\n"
    section = shown(kit, text)
    assert section.spans() == [(0, len(text))]
    assert section.whole
    half = shown(kit, text, outline_of(kit.record(1, text)).ordinals[2])
    assert [text[start:end] for start, end in half.spans()] == ["A third sentence here.\n\n"]
    assert not half.whole


@pytest.mark.parametrize("text", ["", " ", "\n\n\n"])
def test_a_record_of_blanks_is_one_unit_without_lines(kit: Any, text: str) -> None:
    """It can be shown, whole, and takes no line."""
    section = shown(kit, text, 0)
    assert (section.lines(), section.spans(), section.whole) == ("", [(0, len(text))], True)


def test_an_endless_line_goes_on_in_new_lines_between_passages(kit: Any) -> None:
    """A line above 2,000 characters is folded, so that no step ever costs more than a bounded piece of it."""
    text = " ".join(f"Sentence number {n} stands on one endless line." for n in range(200))
    section = shown(kit, text)
    lines = section.lines().split("\n")
    assert max(map(len, lines)) <= BLOCK_CHARS + 1
    assert [len(lines), " ".join(line[1:] for line in lines)] == [5, text]


@given(data=st.data())
def test_growing_passage_by_passage_ends_where_showing_all_at_once_does(kit: Any, data: st.DataObject) -> None:
    """Whatever the order of the steps, the lines depend only on what is shown."""
    record = kit.record(1, data.draw(kit.texts()))
    outline = outline_of(record)
    order = data.draw(st.permutations(outline.ordinals))
    some = order[: data.draw(st.integers(1, len(order)))]
    one, other = Section(outline), Section(outline)
    for ordinal in some:
        one.show(ordinal)
    for ordinal in sorted(some):
        other.show(ordinal)
    assert one.lines() == other.lines()
    assert one.spans() == other.spans()
    assert all(line.startswith(" ") and line.strip() for line in one.lines().split("\n") if one.lines())
