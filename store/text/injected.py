"""Text that hosts and hooks put into a conversation, taken out again: what nobody said is nobody's memory. Pure.

Above all our own packs: a pack that is imported as something the user said would come back in the next pack.
"""

from __future__ import annotations

import re

# The public text form of a pack: its heading, its frame, then section headers at column 0 and content lines indented by
# one space. Stored text can not imitate the end of a pack, so neither more nor less than the pack is taken out.
_PACK = re.compile(
    r"### XMemo Context[ \t]*\n"
    r"Items: [0-9]{1,9}[^\n]*"
    r"(?:\n(?:Budget: |Reference: |Context:|\[[0-9]{1,9}\] | )[^\n]*"
    r"|\n(?=\n(?:Reference: |Context:|\[[0-9]{1,9}\] )))*+"
)
_NO_MATCH = "No matching XMemo memory was found."

_REMOVED = (
    "system-reminder",
    "user-prompt-submit-hook",
    "session-start-hook",
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "command-message",
    "ide_opened_file",
    "ide_selection",
    "ide_diagnostics",
)
_UNWRAPPED = ("command-name", "command-args")


def strip_injected(text: str) -> tuple[str, int]:
    """The text without injected blocks, and how many were taken out; the same object where there are none.

    Removed are blocks in one of the host's tags that are closed again, packs, and the sentence for an empty pack. A
    tag that is only mentioned and never closed stays.
    """
    count = 0
    if "</" in text:
        for tag in _REMOVED:
            text, removed = _without(text, f"<{tag}", f"</{tag}>")
            count += removed
        for tag in _UNWRAPPED:
            text = text.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
    if "### XMemo Context" in text:
        text, removed = _PACK.subn("", text)
        count += removed
    if _NO_MATCH in text:
        count += text.count(_NO_MATCH)
        text = text.replace(_NO_MATCH, "")
    return text, count


def _without(text: str, opening: str, closing: str) -> tuple[str, int]:
    """The text without everything from an opening to the next closing. Linear: every search goes on from the last."""
    parts: list[str] = []
    done = at = 0
    while (at := text.find(opening, at)) >= 0:
        after = text[at + len(opening) : at + len(opening) + 1]
        if after not in (">", " ", "\n"):  # a longer tag that only begins alike
            at += len(opening)
            continue
        end = text.find(closing, at)
        if end < 0:
            break
        parts.append(text[done:at])
        done = at = end + len(closing)
    if not parts:
        return text, 0
    return "".join((*parts, text[done:])), len(parts)
