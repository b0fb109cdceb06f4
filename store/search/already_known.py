"""What the caller already has: texts that say the same as a record. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from ..text.clean import visible

PREFIX_FLOOR = 32  # characters on both sides for one text to count as the beginning of the other


def normal(text: str) -> str:
    """As it is shown, NFKC, case folded, white space as single blanks."""
    return " ".join(unicodedata.normalize("NFKC", visible(text)).casefold().split())


class Known:
    """Texts of the caller; `says(content)` tells whether one equals it or one is the beginning of the other.

    The beginning counts only where both sides have at least 32 characters after normalisation.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = {normal(text) for text in texts} - {""}
        self._long = [text for text in sorted(self._texts) if len(text) >= PREFIX_FLOOR]

    def says(self, content: str) -> bool:
        """Whether the caller has this content."""
        text = normal(content)
        if text in self._texts:
            return True
        return len(text) >= PREFIX_FLOOR and any(text.startswith(k) or k.startswith(text) for k in self._long)


def said_again(texts: Sequence[str], stands_for: Sequence[int | None], known: Sequence[str]) -> set[int]:
    """Which texts say the same as one that the caller has. A text that another stands for (`stands_for`, its index) is
    no news either where that one is known, nor the other way round."""
    has = Known(known)
    dropped = {index for index, text in enumerate(texts) if has.says(text)}
    dropped |= {other for index, other in enumerate(stands_for) if index in dropped and other is not None}
    return dropped | {index for index, other in enumerate(stands_for) if other in dropped}
