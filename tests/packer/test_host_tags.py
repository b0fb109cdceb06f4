"""Marks of hosts in stored text: no record closes or opens one in what a host hands on."""

import time

import pytest

from context_packs.packer.packing.host_tags import harmless


@pytest.mark.parametrize(
    "tag",
    [
        "<system-reminder>", "</system-reminder>", "<system>", "</system>", "</SYSTEM >", "< system>", "</ system>",
        "<system_reminder id='1'>", "<assistant>", "<user>", "</human>", "<function_calls>", "<invoke name='x'>",
        "<invoke", "<environment_context>", "</user-prompt-submit-hook>", "<local-command-stdout>", "<INSTRUCTIONS>",
        "</additional_context>", "<tool_result>", "</context>", "<memory>", "<important>", "<\n/system>", "</hook>",
        "<sys\u200btem>", "<\u200b/system>", "<u" + "\u200b" * 99 + "ser>", "<|im_start|>", "<|endoftext|>",
        "<developer>", "<thinking>", "<system\U000e0041-reminder>", "<!system>", "<system",
    ],
)  # fmt: skip
def test_a_tag_of_a_host_is_shown_but_closes_nothing(tag: str) -> None:
    """One character for one, so that ranges stay right, and the way back is to replace it again."""
    shown = harmless(f"a {tag} b")
    assert shown == f"a ‹{tag[1:]} b"
    assert harmless(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "", "a < b and c <= d", "List<int>, Map<String, List<Foo>>", "<div class='a'><p>text</p></div>", "x <- 3", "<3",
        "#include <stdio.h>", "if (a<b) {", "1<<8", "<https://example.com/a_b>", "mail <ada@example.com>",
        "‹system›", "<h1>", "->", "<", "<T>", "Vec<u8>", "<systemd.unit>",
    ],
)  # fmt: skip
def test_ordinary_markup_and_code_stay(text: str) -> None:
    """Comparisons, generics, HTML, headers and addresses are no tags of a host."""
    assert harmless(text) == text


def test_long_texts_take_linear_time() -> None:
    """Runs of beginnings take well under a second."""
    for piece in ("<", "</", "<sys", "<\u200b", "<a-"):
        start = time.process_time()
        harmless(piece * (200_000 // len(piece)))
        assert time.process_time() - start < 1.0
