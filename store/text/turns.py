"""Who speaks: the lines of a text that begin a chat turn, told apart from fields, notes and log lines."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final, TypeAlias

__all__ = ["Turns", "find_turns"]

Turns: TypeAlias = dict[int, tuple[int, str]]
"""Line number (from 0) to the offset in the line where the words begin, and who says them."""

_TIME: Final = (
    r"(?:[\[(]?(?:\d{4}[-/]\d{1,2}[-/]\d{1,2}[T ,]{0,2})?\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?"
    r"(?:[ ]?[AaPp][Mm])?Z?[\])]?[ \t]*+(?:[-–][ \t]*+)?)"
)
_NAME: Final = r"[^\W_](?:[\w '’&+・\-]|(?<=\b[A-Z])\.(?=\s?\w)|(?<=Dr|Mr|Ms)\.(?= )|(?<=Mrs)\.(?= )){0,39}"
_NOTE: Final = r"(?:[ ]?[(\[][^)\]\n]{1,24}[)\]])?"
_TURN: Final = re.compile(
    rf"[ \t]*(?P<time>{_TIME})?(?:"
    rf"(?P<bold>\*\*|__)@?(?P<b>{_NAME}?){_NOTE}(?:(?:\*\*|__)[ ]?[:：]|[:：](?:\*\*|__))"
    rf"|@?(?P<n>{_NAME}?){_NOTE}(?:：|[ ]?:(?=\s|$))"
    rf"|<@?(?P<i>[^<>\s]{{1,30}})>(?=\s))[ \t]*"
)
_ROLES: Final = frozenset(
    """user assistant human ai system bot agent customer support client interviewer interviewee therapist doctor
    patient teacher student host guest speaker moderator operator tool q a me you model developer
    ユーザー ユーザ アシスタント システム 話者 質問 回答 問 答 私 あなた 客 店員 司会 記者""".split()
)
_FIELDS: Final = frozenset(
    """note notes warning todo tip tips example examples summary status owner date time title name type result
    results reason cause fix problem solution decision action actions context update updates important caution info
    error errors warn debug trace fatal critical notice output input step steps question answer description subject
    from to cc re path url version id key value tags priority deadline due pros cons next goal goals risk risks
    background conclusion ps fixme hint usage default see also location author created updated category topic task
    tasks age email phone address project traceback
    注意 備考 補足 結論 理由 概要 日時 場所 目的 担当 期限 件名 例 メモ 注 参考 決定 原因 対策 状態 結果""".split()
)
_FAULT: Final = re.compile(r"\w(?:Error|Exception|Warning)$")
_SPEECH: Final = re.compile(r"[.!?。！？…][\"'”’)）」』]*$|[\u3040-\u30ff]{2}")


def _label(line: str) -> tuple[re.Match[str], str] | None:
    """Return the match and the name of a line that has the form of a turn."""
    match = _TURN.match(line)
    if match is None:
        return None
    name = (match["b"] or match["n"] or match["i"]).strip()
    if name.isdecimal() or name.count(" ") > 4 or name.lower() in _FIELDS:
        return None
    if (match["i"] and not match["time"]) or _FAULT.search(name):
        return None
    if name[0].islower() and not (match["bold"] or match["time"]) and name.lower() not in _ROLES:
        return None
    return match, name


def find_turns(lines: list[str]) -> Turns:
    """Return the lines that begin a turn; empty where the labels are rather fields or notes.

    A single label proves nothing. Names count as speakers when one comes back or two differ and at least half of the
    lines read like speech; roles ("User", "Assistant"), times before the name, and bold names need less.
    """
    found: Turns = {}
    timed = bold = lower = fence = False
    spoken = 0
    for k, line in enumerate(lines):
        if line.lstrip()[:3] in ("```", "~~~"):
            fence = not fence
        if fence or (":" not in line and "：" not in line and ">" not in line):
            continue
        label = _label(line)
        if label is None:
            continue
        match, name = label
        found[k] = match.end(), name
        timed, bold = timed or bool(match["time"]), bold or bool(match["bold"])
        lower = lower or (name[0].islower() and not match["i"])
        said = line[match.end() :].strip()
        spoken += not said or len(said[:200].split(None, 4)) > 3 or _SPEECH.search(said[-40:]) is not None
    if len(found) < 2:
        return {}
    counts = Counter(name for _, name in found.values())
    speakers = _accepted(counts, 2 * spoken >= len(found), timed, bold, lower)
    return {k: turn for k, turn in found.items() if turn[1] in speakers}


def _accepted(counts: Counter[str], speech: bool, timed: bool, bold: bool, lower: bool) -> frozenset[str]:
    """Return the names that speak, given how often each label occurs and how the labelled lines look."""
    everyone = frozenset(counts)
    repeated = frozenset(name for name in counts if counts[name] > 1)
    roles = frozenset(name for name in counts if name.lower() in _ROLES)
    if lower and not speech:
        return frozenset()
    if timed:
        return everyone
    if len(roles) > 1 or (roles and repeated):
        return repeated | roles
    if not speech:
        return frozenset()
    if repeated:
        # Who speaks once among others is taken by a name of one word: "She said:" is rather part of a turn.
        return repeated | frozenset(name for name in everyone if " " not in name or len(counts) < 3)
    return everyone if len(counts) == 2 and not bold else frozenset()
