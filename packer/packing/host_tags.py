"""Marks by which hosts frame what a model reads, made harmless in stored text that a host hands on. Pure, linear.

A hook's answer stands inside tags of the host such as `<system-reminder>`. So that no stored text can close them or
open its own, the `<` of such a tag is shown as `‹` (U+2039): as long, easy to read, and found again by replacing it
back. Ordinary markup and code (`<div>`, `List<int>`, `a < b`) stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from context_packs.store.records import Record
from context_packs.store.text.clean import visible

_REACH = 40  # characters behind a `<` in which a tag has to tell its name
_OPENING = re.compile(rf"<(?=([\s/\\!?]{{0,20}}[A-Za-z|\u0080-\U0010ffff][^<>]{{0,{_REACH}}}))")
# Names that hosts and models know, and any with `-`, `_` or `:` in it, which no tag of HTML has; `<|…|>`, `<<SYS>>`.
_TAG = re.compile(
    r"[\s/\\!?]*+(?:[a-z][a-z0-9.]*+(?:[-_]|:(?!//))[\w:.-]*+|(?:additional|admin|antml|assistant|attachments?|claude|codex|commands?"
    r"|context|conversation|data|developer|documents?|environment|examples?|function|functions|hooks?|human|important"
    r"|info|instructions?|invoke|memor(?:y|ies)|messages?|notes?|notice|notification|output|parameters?|permissions?"
    r"|policy|prompt|reminders?|response|results?|rules?|session|skills?|source|stdout|stderr|system|sys|task|thinking"
    r"|tools?|turn|user|warning)(?![\w.]))|\s*+\|",
    re.IGNORECASE,
)


def harmless(text: str) -> str:
    """The text with the `<` of every tag of a host shown as `‹`; the same object where there is none.

    It is as long as it was, so that ranges of characters stay right. Characters that are not shown hide no tag.
    """
    if "<" not in text:
        return text
    return _OPENING.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    name = visible(found[1])
    return "‹" if name != found[1] or _TAG.match(name) else "<"


def harmless_records(records: Mapping[str, Record]) -> dict[str, Record]:
    """Records with the texts that a pack shows of them made harmless."""
    return {
        ref: replace(
            record,
            content=harmless(record.content),
            title=harmless(record.title),
            path=harmless(record.path),
            type=harmless(record.type),
            passages=tuple(
                replace(span, speaker=harmless(span.speaker)) if "<" in span.speaker else span
                for span in record.passages
            ),
        )
        for ref, record in records.items()
    }
