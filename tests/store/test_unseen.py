"""Text of which nothing is shown is blank, in content and in labels."""

import pytest

from context_packs.store.errors import InvalidField
from context_packs.store.memory.prepare import check
from context_packs.store.text.clean import visible


@pytest.mark.parametrize(
    "text", ["\u200b", "\u200b \u2060\n", "\u202e\u202c", "\ufeff", "\U00013430", "\u3164", "\ufe0f"]
)
def test_content_of_which_nothing_is_shown_is_blank(text: str) -> None:
    """As white space is."""
    with pytest.raises(InvalidField, match=r"^content: is blank"):
        check({"content": text})


@pytest.mark.parametrize(
    "field", ["scope", "bucket", "path", "type", "status", "team_id", "external_id", "semantic_key"]
)
@pytest.mark.parametrize("label", ["\u200b", "\u2066\u2069", "\ufeff", "\U000e0041"])
def test_a_label_of_which_nothing_is_shown_is_refused(field: str, label: str) -> None:
    """It would be a place that nobody can see or name."""
    with pytest.raises(
        InvalidField, match=rf"^{field}: holds nothing that is shown: give it letters, or leave it out$"
    ):
        check({"content": "x", field: label})


def test_a_label_is_kept_as_it_was_given() -> None:
    """Names of files hold any character; where a label is shown these are left out."""
    assert check({"content": "x", "path": "a\u200bb"}).path == "a\u200bb"


def test_joiners_that_do_their_work_stay() -> None:
    """In emoji and in scripts that need them."""
    for label in ("team 👩\u200d💻", "می\u200cخواهم", "❤\ufe0f", "日本語"):
        assert check({"content": label, "scope": label}).scope == label


def test_format_controls_of_hieroglyphs_are_not_shown() -> None:
    """U+13430 to U+1343F."""
    assert visible("a\U00013430b\U0001343fc") == "abc"
