"""Ceilings of the doors: what one answer may hold. The library itself gives complete data."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

FULL_CONTENT_CHARS = 200_000
"""Characters of whole rows in one answer of a recall with `full_content`; rows past it are previews."""

FACTS_BYTES, PACK_FACTS_BYTES = 256 * 2**10, 64 * 2**10
"""Bytes of `source` and `metadata` of all rows of an answer, and of all items of a pack."""

ANSWER_TOKENS = 25_000
"""Tokens of one serialized answer of a tool: Claude Code refuses or spills what is longer (MCP output limits)."""

ROWS_TOKENS = 6_000
"""Tokens of an answer with rows where the caller gives no ceiling."""

LEAST_TOKENS, MOST_TOKENS = 500, 24_000
"""The ceilings that a caller may give for an answer with rows: the frame of an answer fits into the smaller one."""

PREVIEW_TOKENS, EXCERPT_TOKENS = 125, 200
"""Tokens of preview and excerpt of one row beyond ASCII: what 500 and 800 characters of English prose take."""

HOSTS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        # Hook output above 10,000 characters is replaced by a preview of 2,000 (Claude Code hooks reference, "JSON
        # output"); the line end behind the text and a host that counts its own wrapper leave 9,900.
        "claude-code": MappingProxyType({"max_chars": 9_900}),
        # Hook context above 2,500 tokens, about 10,000 characters, is spilled to a file (Codex hooks); the tokens are
        # the host's own estimate, so both ceilings keep a distance.
        "codex": MappingProxyType({"max_tokens": 2_400, "max_chars": 9_900}),
        "plain": MappingProxyType({}),
    }
)
"""Limits of a pack that each host takes without cutting it: fields of a request."""

HOOK_CEILINGS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        # Measured by users: 10,000 characters arrive, 10,001 become a file and a preview. A JavaScript host counts
        # UTF-16 units.
        "claude-code": MappingProxyType({"utf16": 10_000}),
        # The host takes a quarter of the UTF-8 bytes for tokens (openai/codex, hooks/src/output_spill.rs), so that
        # 2,500 tokens are 10,000 bytes; the named encoding keeps to them too.
        "codex": MappingProxyType({"utf16": 10_000, "utf8": 10_000, "tokens": 2_500}),
    }
)
"""What the whole output of a hook may take at each host, the JSON around its text included."""

PROMPT_LIMITS: Mapping[str, int] = MappingProxyType({"max_items": 4, "max_tokens": 600})
"""Limits of what is added to one prompt: it comes with every prompt of a session."""


def within(host: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The caller's limits, none of them above what the host takes; the host's own where the caller gave none."""
    return {**given, **{name: min(limit, given.get(name, limit)) for name, limit in HOSTS[host].items()}}
