"""What matters of a long payload: its summary, the lines that tell of a fault, what the query names, and the end. Pure.

Seven hundred lines "case 12 … ok" and one that failed: the reader needs the one, and the pointer to the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from ..records import Record
from ..values import Hit
from .ranking.series import shape

__all__ = ["matters", "telling"]

_LONG: Final = 12  # passages from which on a payload is shown in parts
_FAULTS: Final = 6
_NAMED: Final = 4
_END: Final = 3
_COMMON: Final = 3  # lines of one form from which on the form says nothing
_FAULT: Final = re.compile(
    r"\b(?:\w*(?:error|exception|fault)s?|fail(?:s|ed|ure|ures|ing)?|fatal|panic(?:ked)?|abort(?:s|ed)?|crash(?:ed)?|denied|"
    r"refused|expired|timed? ?out|timeout|killed|corrupt(?:ed)?|invalid|missing|unreachable|mismatch|halted|rejected|"
    r"traceback|caused by|segfault|unexpected|warn(?:ing)?)\b"
    r"|失敗|エラー|異常|例外|停止|中断|中止|拒否|期限切れ|不一致|食い違|不正|見つかりません|できません|タイムアウト|警告|原因|取りこぼ|不足|超過",
    re.IGNORECASE,
)
_NO_FAULT: Final = re.compile(
    r"\b(?:0|no|without) (?:errors?|failures?|failed|warnings?)\b|異常なし|エラーなし|失敗0", re.I
)


def matters(record: Record, ranked: Sequence[int] = ()) -> list[int] | None:
    """Ordinals of the passages of a long trigger that are worth showing, best first; None for any other record.

    `ranked` are those that bear on a query, best first.
    """
    if record.kind != "trigger" or len(record.passages) <= _LONG:
        return None
    texts = [record.content[span.start : span.end].strip() for span in record.passages]
    shapes = [_form(text) for text in texts]
    often = Counter(shapes)
    # A line of a form that stands there again and again says nothing, even where it speaks of a fault.
    rare = [bool(text) and often[form] <= _COMMON for text, form in zip(texts, shapes, strict=True)]
    first = next((n for n, text in enumerate(texts) if text), 0)
    faults = [n for n, text in enumerate(texts) if rare[n] and _FAULT.search(_NO_FAULT.sub("", text))]
    named = [n for n in ranked if rare[n]]
    inked = [n for n, text in enumerate(texts) if text]
    end = [n for n in inked[-_END:] if rare[n] or n == inked[-1]]
    return list(dict.fromkeys([first, *reversed(faults[-_FAULTS:]), *named[:_NAMED], *reversed(end)]))


def _form(text: str) -> str:
    """What stays of a passage where only numbers differ; short lines, which stand together in one, count once."""
    return "\n".join(dict.fromkeys(map(shape, text.splitlines())))


def telling(hits: Sequence[Hit], records: Mapping[str, Record]) -> tuple[Hit, ...]:
    """The hits with those of long payloads replaced by what matters of them, at the place and worth of the first."""
    ranked: dict[str, list[int]] = {}
    for hit in hits:
        ranked.setdefault(hit.id, []).append(hit.ordinal)
    parts = {ref: few for ref in ranked if ref in records and (few := matters(records[ref], ranked[ref])) is not None}
    if not parts:
        return tuple(hits)
    found: list[Hit] = []
    done: set[str] = set()
    for hit in hits:
        if hit.id not in parts:
            found.append(hit)
        elif hit.id not in done:
            done.add(hit.id)
            found += (replace(hit, ordinal=ordinal) for ordinal in parts[hit.id])
    return tuple(found)
