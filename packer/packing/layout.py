"""Layouts: the pieces of a pack → text. The only file that imports Jinja; all rendered words stand in a template.

Stored text is data here: it is handed to a template as a value and never read as one. Content reaches this file as
finished lines (`context_packs.packer.packing.section`); ids, types, paths and titles pass through `one_line`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import jinja2
import regex

from context_packs.store.text.clean import visible

from .tokens import well_formed

PACKAGE = "context_packs.templates"
HEADING_CHARS = 80
_GRAPHEME = regex.compile(r"\X")


@dataclass(frozen=True, slots=True)
class Shown:
    """What a template sees of one item; `lines` are its finished content lines, without a line break at the end."""

    id: str
    type: str
    path: str
    title: str
    created_at: datetime
    lines: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """The numbers of the budget line; `first_needs` only where not even the first item fits, else 0."""

    used: int
    maximum: int
    items: int
    shortened: int
    dropped: int
    first_needs: int = 0


class Layout:
    """The pieces of one template, and the whole that joins them. Pieces end without a line break; "" takes no line."""

    def __init__(self, template: str) -> None:
        environment = _environment()
        self.name = template
        self._say: Any = environment.get_template(f"{template}.j2").module
        self._whole = environment.get_template("pack.j2")
        self._fixed: dict[tuple[str, int], str] = {}

    def nothing(self) -> str:
        """What stands for an empty result."""
        return self._once("nothing")

    def heading(self) -> str:
        return self._once("heading")

    def counted(self, n: int) -> str:
        """The line that gives the number of items."""
        return self._once("counted", n)

    def limited(self, limits: Limits) -> str:
        """The line that says that more exists."""
        return str(self._say.limited(limits))

    def reference(self, item: Shown) -> str:
        return str(self._say.reference(item))

    def opening(self) -> str:
        """The line before the body."""
        return self._once("opening")

    def header(self, item: Shown, k: int) -> str:
        """The first line of the `k`-th section, counting from 1."""
        return str(self._say.header(item, k))

    def text(self, items: Sequence[Shown], limits: Limits | None) -> str:
        """The whole text, LF line ends, none at the end."""
        return self._whole.render(layout=self._say, items=items, limits=limits)

    def _once(self, piece: str, *values: int) -> str:
        key = (piece, values[0] if values else 0)
        if key not in self._fixed:
            self._fixed[key] = str(getattr(self._say, piece)(*values))
        return self._fixed[key]


@lru_cache(maxsize=16)
def layout(template: str) -> Layout:
    """The layout of that name, kept for the process."""
    return Layout(template)


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(PACKAGE, ""),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        keep_trailing_newline=False,
        auto_reload=False,
    )
    environment.filters |= {"one_line": one_line, "heading": heading, "day": day}
    return environment


def one_line(text: str) -> str:
    """An id, type, path or title on one line of a frame: blanks and line breaks are one blank each run, `|` is `¦`,
    control characters and lone surrogates are U+FFFD, what hides or turns text is left out; an empty text is `-`."""
    return _plain(text) or "-"


def heading(title: str) -> str:
    """A title for a section header: as `one_line`, at most 80 characters, cut before a word or between graphemes."""
    text = _plain(title)
    if len(text) <= HEADING_CHARS:
        return text
    end = 0
    for match in _GRAPHEME.finditer(text[: HEADING_CHARS + 64]):
        if match.end() > HEADING_CHARS - 1:
            break
        end = match.end()
    word = text.rfind(" ", HEADING_CHARS // 2, end + 1)
    return f"{text[: word if word > 0 else end].rstrip()}…"


def day(moment: datetime) -> str:
    """The UTC date, `YYYY-MM-DD`."""
    return moment.date().isoformat()


def _plain(text: str) -> str:
    return " ".join(visible(" ".join(well_formed(text).split())).split()).replace("|", "¦")
