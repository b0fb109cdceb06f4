"""Which passages share a vector, and what is embedded of them."""

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.store.records import Span
from context_packs.store.search.meaning.units import Text, units_of, wording
from context_packs.store.text.passages import divide


def text_of(content: str, title: str = "") -> Text:
    spans = [Span(n, one.start, one.end, one.kind, one.speaker) for n, one in enumerate(divide(content))]
    return Text(title, content, spans)


def embedded(content: str, title: str = "") -> list[str]:
    text = text_of(content, title)
    return [wording(text, first, last) for first, last in pairwise([0, *accumulate(units_of(text))])]


CHAT = """Mia: Shall we ship? It is late. I am tired.
Sam: Yes, on Friday.
Mia: Good.
Mia: And the notes?"""


def test_a_turn_is_one_with_the_end_of_the_turn_before() -> None:
    """Each turn, also two of one speaker; the title of a session stands above none of them."""
    assert embedded(CHAT, "Session 4") == [
        "Mia: Shall we ship? It is late. I am tired.",
        "Mia: Shall we ship? It is late. I am tired.\nSam: Yes, on Friday.",
        "Mia: Shall we ship? It is late. I am tired. Sam: Yes, on Friday.\nMia: Good.",
        "Mia: Shall we ship? It is late. I am tired. Sam: Yes, on Friday. Mia: Good.\nMia: And the notes?",
    ]


def test_a_long_turn_is_several() -> None:
    """A turn of more than 400 characters is divided between its sentences."""
    turn = " ".join(f"Sentence {n} of a very long answer that goes on." for n in range(20))
    text = text_of(f"Mia: Go on.\nSam: {turn}\nMia: Thanks.")
    sizes = units_of(text)
    edges = [0, *accumulate(sizes)]
    lengths = [text.spans[last - 1].end - text.spans[first].start for first, last in pairwise(edges)]
    assert len(sizes) == 5 and max(lengths) <= 400 and sum(sizes) == len(text.spans)


def test_short_sentences_share_a_vector_under_the_title() -> None:
    """Prose in groups of at most 240 characters, each with the end of the one before."""
    sentences = [f"This is sentence {n} of a plain text about nothing at all." for n in range(5)]
    first, second = embedded(" ".join(sentences), "Nothing")
    assert first == "Nothing\n" + " ".join(sentences[:4])
    assert second == f"Nothing\nabout nothing at all. {sentences[3]}\n{sentences[4]}"


@pytest.mark.parametrize("content", ["", " ", "\n" * 3000])
def test_blank_text_is_not_embedded(content: str) -> None:
    """There is nothing to say."""
    assert set(embedded(content)) <= {""}


@given(st.text(alphabet=st.sampled_from("ab .。\n:語-"), max_size=400))
def test_units_cover_the_text(content: str) -> None:
    """Each passage is in one unit."""
    text = text_of(content)
    sizes = units_of(text)
    assert sum(sizes) == len(text.spans) and all(size > 0 for size in sizes)
