"""What somebody says in a prompt, told apart from what was pasted into it and from what a host wrote. Pure.

A log, a trace, a diff, a table, a mail or code stands in a prompt to be worked on. It is not what memory is asked for,
and it has so many words that the question beside it would drown in them.
"""

from __future__ import annotations

import re
from typing import Final

from ..text.injected import strip_injected

__all__ = ["said"]

# A host writes its notices as elements whose names hold a hyphen; so do pasted custom elements, which nobody says.
_ELEMENT: Final = re.compile(r"^[ \t]*<([a-z][a-z0-9]*(?:[-_][a-z0-9]+)+)(?:\s[^<>\n]{0,400})?>", re.MULTILINE)
_BRACKETED: Final = re.compile(
    r"^[ \t]*\[(?:Request interrupted|Image|Pasted|System|Tool)\b[^\]\n]{0,200}\][ \t]*$", re.M
)
_CAVEAT: Final = re.compile(r"^Caveat: [^\n]*", re.MULTILINE)
_FENCE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*$", re.MULTILINE)

_STAMP: Final = (
    r"[\[(]?(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}[T ])?\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}:?\d{2})?[\])]?"
)
_LEVEL: Final = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?!?|FATAL|CRITICAL|PANIC)"
_MACHINE: Final = re.compile(
    rf"""
      \s*{_STAMP}\s                                      # a log line
    | \s*\d{{4}}[-/]\d{{2}}[-/]\d{{2}}[T ]\d{{2}}:\d{{2}}
    | \s*\[?{_LEVEL}\b[\]:!\s]
    | \s*[\w.@/-]+\ (?:ERR!|WARN|ERROR)\s                # npm ERR!
    | \s*[A-Z][a-z]{{2}}\ +\d{{1,2}}\ \d{{2}}:\d{{2}}:\d{{2}}\s
    | Traceback\ \(most\ recent | \s+File\ "[^"]+",\ line\ \d | \s+at\ \S+[\s(].*[:)] | Caused\ by:
    | \s*(?:[\w$]+\.)+[\w$]+(?:[:(]\s?|$)                # lib.sink.SinkClosed: …
    | \s*\w+(?:Error|Exception|Warning|Fault):\s
    | \S+\.\w{{1,5}}[:(]\d+(?:[:,]\d+)?\)?:              # a compiler: file and line
    | diff\ --git\s | index\ [0-9a-f]{{6,}} | (?:---|\+\+\+)\s\S | @@\ -\d | [-+](?:\s*[\w"'}}\])]|\s{{2,}})
    | \s*>\s? | \s*[$#%]\ \S
    """,
    re.VERBOSE,
)
_MAIL: Final = re.compile(
    r"\s*(?:From|To|Cc|Bcc|Subject|Date|Sent|Reply-To|差出人|送信者|宛先|件名|日時|送信日時|本文|返信先)\s?[:：]",
    re.IGNORECASE,
)
_CODE: Final = re.compile(
    r"[{};]\s*$|^\s*(?:def|class|import|from|return|for|while|if|elif|else|try|except|const|let|var|function|func|fn|"
    r"public|private|static|package|use|#include|SELECT|INSERT|UPDATE|DELETE)\b.*[:;({=)]|^\s*[\w.\[\]]+\s?[-+*/|]?=[^=>]|"
    r"=>|::|\w\(.*\)\s*[:;{]?\s*$|^\s*</?\w+[^>]*>"
)
_CELLS: Final = re.compile(r"[;|\t]|,(?=\S)")
_QUESTION: Final = re.compile(r"[?？][\s\"'”’)）」』*_]*$")
_SENTENCE: Final = re.compile(r"[.!?。！？:：][\s\"'”’)）」』*_]*$")
_SPEECH_WORDS: Final = re.compile(r"[^\W\d_]{2,}")


def said(text: str) -> str:
    """The text without host notices and pasted matter; "" where nothing else is there but notices.

    What is nothing but pasted matter stays: then that is what is asked about.
    """
    text = _without_notices(text)
    if not text.strip() or "\n" not in text.strip():
        return text.strip()
    left = "\n\n".join(kept for block in re.split(r"\n[ \t]*\n", _without_fences(text)) if (kept := _talk(block)))
    return left if _SPEECH_WORDS.search(left) else text.strip()


def _without_notices(text: str) -> str:
    text = strip_injected(text)[0]
    if "<" in text:
        text = _without_elements(text)
    return _CAVEAT.sub("", _BRACKETED.sub("", text))


def _without_elements(text: str) -> str:
    """The text without closed elements of hyphenated names that begin a line. Each search goes on from the last."""
    parts: list[str] = []
    done = 0
    while match := _ELEMENT.search(text, done):
        closing = f"</{match[1]}>"
        end = text.find(closing, match.end())
        if end < 0:
            parts.append(text[done : match.end()])
            done = match.end()
            continue
        parts.append(text[done : match.start()])
        done = end + len(closing)
    return "".join((*parts, text[done:])) if done else text


def _without_fences(text: str) -> str:
    """The text without fenced code; an open fence at the end reaches to the end."""
    parts: list[str] = []
    done = 0
    while opened := _FENCE.search(text, done):
        parts.append(text[done : opened.start()])
        closed = next((one for one in _FENCE.finditer(text, opened.end()) if one[1][:3] == opened[1][:3]), None)
        if closed is None:
            done = len(text)
            break
        parts.append("\n\n")
        done = closed.end()
    return "".join((*parts, text[done:]))


def _talk(block: str) -> str:
    """What is said in a block of lines between blank ones: a block most of whose lines are pasted is pasted whole, but
    for questions in it."""
    lines = [line for line in block.split("\n") if line.strip()]
    if any(map(_MAIL.match, lines[:1])) and sum(_MAIL.match(line) is not None for line in lines) > 1:
        return ""
    marks = [_is_pasted(line) for line in lines]
    table = _is_table(lines)
    if table or 2 * sum(marks) >= max(len(lines), 2):
        return "\n".join(
            line for line, mark in zip(lines, marks, strict=True) if not mark and _QUESTION.search(line) and not table
        )
    return "\n".join(line for line, mark in zip(lines, marks, strict=True) if not mark)


def _is_pasted(line: str) -> bool:
    """Whether a line is of a machine, of code or of a quotation, rather than of somebody who speaks."""
    if _QUESTION.search(line) and not re.match(rf"\s*(?:{_STAMP}|[-+>@])", line):
        return False
    if _MACHINE.match(line) or _CODE.search(line):
        return True
    letters = sum(char.isalpha() or char.isspace() for char in line)
    return len(line) > 12 and letters < 0.6 * len(line)


def _is_table(lines: list[str]) -> bool:
    """Whether lines are rows: several cells each, as many in each, and no sentence mark at the end; or short bare rows
    of the same number of words."""
    if len(lines) < 2 or any(_SENTENCE.search(line) and not line.rstrip().endswith("|") for line in lines):
        return False
    cells = [len(_CELLS.findall(line)) for line in lines]
    if min(cells) > 1 and max(cells) - min(cells) <= 1:
        return True
    words = [len(line.split()) for line in lines]
    return len(lines) > 2 and len(set(words)) == 1 and words[0] > 1 and max(map(len, lines)) < 16
