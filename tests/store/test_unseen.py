"""Text of which nothing is shown is blank, and labels hold nothing that is not shown."""

import pytest

from context_packs.store.errors import InvalidField
from context_packs.store.rows import check
from context_packs.store.visible import visible


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
@pytest.mark.parametrize("label", ["\u200b", "a\u200bb", "\u202eabc", "a\u2066b\u2069", "ab\ufeffc", "a\U000e0041"])
def test_a_label_with_what_is_not_shown_is_refused(field: str, label: str) -> None:
    """Two labels that look alike would be two places."""
    with pytest.raises(InvalidField, match=rf"^{field}: contains U\+[0-9A-F]+, which is not shown: leave it out$"):
        check({"content": "x", field: label})


def test_joiners_that_do_their_work_stay() -> None:
    """In emoji and in scripts that need them."""
    for label in ("team 👩\u200d💻", "می\u200cخواهم", "❤\ufe0f", "日本語"):
        assert check({"content": label, "scope": label}).scope == label


def test_format_controls_of_hieroglyphs_are_not_shown() -> None:
    """U+13430 to U+1343F."""
    assert visible("a\U00013430b\U0001343fc") == "abc"
