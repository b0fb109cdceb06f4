"""What the caller already has: texts that say the same as a record. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

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
