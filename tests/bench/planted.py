"""Made-up records in two languages, each with one planted passage that answers its question. The seed fixes the bytes.

A record is about one project and has the shape of a log, a list, a table, code or prose. Its lines are about the
settings of parts: the answering line names one setting of one part, once in the record; its decoys name the same part
with other settings and the same setting of other parts, before and behind it, also in all other records. English and
Japanese records come in pairs that say the same line by line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

FORMS = ("log", "list", "table", "code", "prose")
LANGUAGES = ("English", "Japanese")
LINES = {"log": 90, "list": 60, "table": 60, "code": 60, "prose": 60}
DEPTHS = (0.1, 0.3, 0.5, 0.7, 0.9)  # where the passage stands in its record, as a share of the lines
DECOYS = 0.3  # share of lines with one half of the question

Words = tuple[str, str]  # English, Japanese

_PARTS: tuple[Words, ...] = (
    ("billing worker", "請求ワーカー"),
    ("image resizer", "画像縮小器"),
    ("mail gateway", "メール中継"),
    ("search index", "検索索引"),
    ("session store", "セッション保管庫"),
    ("nightly export", "夜間出力"),
    ("login page", "ログイン画面"),
    ("price feed", "価格配信"),
    ("audit archive", "監査書庫"),
    ("map renderer", "地図描画部"),
    ("invoice printer", "伝票印刷機"),
    ("backup agent", "バックアップ係"),
)
_SETTINGS: tuple[tuple[Words, Words], ...] = (  # what is set, and its unit
    (("retry limit", "再試行の上限"), ("attempts", "回")),
    (("request timeout", "応答の待ち時間"), ("seconds", "秒")),
    (("cache size", "キャッシュ容量"), ("megabytes", "メガバイト")),
    (("retention period", "保存期間"), ("days", "日")),
    (("batch length", "一括処理の件数"), ("items", "件")),
    (("thread count", "スレッド数"), ("threads", "本")),
    (("alarm threshold", "警報のしきい値"), ("percent", "パーセント")),
    (("poll interval", "巡回の間隔"), ("minutes", "分")),
    (("upload ceiling", "送信量の限度"), ("gigabytes", "ギガバイト")),
    (("lease duration", "貸出の長さ"), ("hours", "時間")),
)
_PEOPLE: tuple[Words, ...] = (("Ida", "井田"), ("Noor", "野尾"), ("Tomas", "富増"), ("Wren", "蓮"), ("Yuki", "雪野"))
_IDLE: tuple[Words, ...] = (  # lines about nothing that is asked
    ("the morning round found nothing unusual and everybody went on", "朝の見回りでは変わったことがなく作業を続けた"),
    ("visitors came through the east door and left before noon", "来客は東口から入り昼前に帰った"),
    ("a second cable was laid along the wall behind the racks", "棚の裏の壁に沿って二本目の線を敷いた"),
    ("the weekly call was short because half of the team travelled", "週の打ち合わせは半数が出張で短く終わった"),
    ("old labels came off and new ones were written by hand", "古い札を外して新しい札を手で書いた"),
    ("lunch was late and the room stayed cold until three", "昼食が遅れ部屋は三時まで冷えていた"),
)
_SYLLABLES: tuple[Words, ...] = tuple(
    zip(
        "vel mo ra ka ri ton sa ne lu ga bi do fe ho ji zen mar ku pi so".split(),
        "ヴェル モ ラ カ リ トン サ ネ ル ガ ビ ド フェ ホ ジ ゼン マル ク ピ ソ".split(),
        strict=True,
    )
)
_TITLES: dict[str, Words] = {
    "log": ("Log of {}", "{}の記録"),
    "list": ("Notes on {}", "{}の覚え書き"),
    "table": ("Settings of {}", "{}の設定一覧"),
    "code": ("Configuration of {}", "{}の構成"),
    "prose": ("Report on {}", "{}の報告"),
}
_QUESTIONS: tuple[Words, ...] = (
    ("What is the {setting} of the {part} in {project}?", "{project}で{part}の{setting}はいくつですか？"),
    (
        "{project}: which {setting} was agreed on for the {part}?",
        "{project}について、{part}の{setting}はいくつで合意しましたか",
    ),
    ("{setting} for the {part}, {project}", "{project} {part} {setting}"),
)
_HEADS: dict[str, Words] = {
    "table": ("| part | setting | value | agreed with | ticket |", "| 部品 | 設定 | 値 | 合意した人 | 票 |"),
}


@dataclass(frozen=True, slots=True)
class Planted:
    """A record with its question. `passage` is the whole line or sentence that answers, as it stands in `content`."""

    number: int
    language: str
    form: str
    depth: float
    content: str
    question: str
    passage: str


@dataclass(frozen=True, slots=True)
class _Fact:
    """What a line says: indices into the words above, a number and a ticket that occurs once."""

    part: int
    setting: int
    value: int
    person: int
    ticket: str


def records(seed: int, pairs: int = 100) -> list[Planted]:
    """`pairs` English records, and the same in Japanese. A form, a depth and a question come in turn.

    Raises ValueError for a seed below 0 and for more than 2,000 pairs.
    """
    if not 0 <= pairs <= 2_000:
        raise ValueError("pairs: from 0 to 2000")
    rng = np.random.default_rng([seed, 0])
    names = rng.choice(len(_SYLLABLES) ** 3, size=pairs, replace=False).tolist()
    made = [_pair(seed, number, name) for number, name in enumerate(names)]
    return [one for side in range(len(LANGUAGES)) for one in (pair[side] for pair in made)]


def _pair(seed: int, number: int, name: int) -> list[Planted]:
    rng = np.random.default_rng([seed, 1, number])
    form = FORMS[number % len(FORMS)]
    depth = DEPTHS[number // len(FORMS) % len(DEPTHS)]
    wanted = (int(rng.integers(len(_PARTS))), int(rng.integers(len(_SETTINGS))))
    facts = [_fact(rng, number, line, wanted) for line in range(LINES[form])]
    place = int(depth * len(facts))
    facts[place] = _Fact(*wanted, int(rng.integers(2, 99)), int(rng.integers(len(_PEOPLE))), f"Q{number:03}-{place:03}")
    asked = int(rng.integers(len(_QUESTIONS)))
    fenced = bool(rng.integers(2))
    pair = []
    for side, language in enumerate(LANGUAGES):
        project = "".join(_SYLLABLES[name // len(_SYLLABLES) ** k % len(_SYLLABLES)][side] for k in range(3))
        project = project.capitalize()
        lines = [_line(form, fact, number + line, side) for line, fact in enumerate(facts)]
        part, setting = _PARTS[wanted[0]][side], _SETTINGS[wanted[1]][0][side]
        pair.append(
            Planted(
                number=number,
                language=language,
                form=form,
                depth=depth,
                content=_whole(form, project, lines, side, fenced),
                question=_QUESTIONS[asked][side].format(project=project, part=part, setting=setting),
                passage=lines[place].strip(),
            )
        )
    return pair


def _fact(rng: np.random.Generator, number: int, line: int, wanted: tuple[int, int]) -> _Fact | int:
    """A decoy, a line about other things, or the number of an idle line; never what is asked for."""
    kind, value, person = rng.random(), int(rng.integers(2, 99)), int(rng.integers(len(_PEOPLE)))
    part = (wanted[0] + int(rng.integers(1, len(_PARTS)))) % len(_PARTS)
    setting = (wanted[1] + int(rng.integers(1, len(_SETTINGS)))) % len(_SETTINGS)
    idle = int(rng.integers(len(_IDLE)))
    if kind < DECOYS / 2:
        part = wanted[0]
    elif kind < DECOYS:
        setting = wanted[1]
    elif kind > 0.8:
        return idle
    return _Fact(part, setting, value, person, f"Q{number:03}-{line:03}")


# ---- how each form says it


def _line(form: str, fact: _Fact | int, number: int, side: int) -> str:
    japanese = side == 1
    if isinstance(fact, int):
        text = _IDLE[fact][side]
        return {
            "log": f"2026-03-{number % 28 + 1:02}T{number % 24:02}:{number % 60:02}:07Z INFO {text}",
            "list": f"- {text}",
            "table": f"| – | {text} | – | – | – |",
            "code": f"    # {text}",
            "prose": f"{text}。" if japanese else _sentence(text),
        }[form]
    part, (names, units) = _PARTS[fact.part][side], _SETTINGS[fact.setting]
    setting, person = names[side], _PEOPLE[fact.person][side]
    value = f"{fact.value}{units[1]}" if japanese else f"{fact.value} {units[0]}"
    if japanese:
        said = f"{part}の{setting}は{value}、{person}と合意、票 {fact.ticket}"
    else:
        said = f"the {setting} of the {part} is {value}, agreed with {person}, ticket {fact.ticket}"
    level = ("INFO", "WARN", "DEBUG")[number % 3]
    return {
        "log": f"2026-03-{number % 28 + 1:02}T{number % 24:02}:{number % 60:02}:31Z {level} {said}",
        "list": f"- {said}",
        "table": f"| {part} | {setting} | {value} | {person} | {fact.ticket} |",
        "code": f'    settings["{part}"]["{setting}"] = {fact.value}  # {value}, {person}, {fact.ticket}',
        "prose": f"{said}とした。" if japanese else _sentence(said),
    }[form]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _whole(form: str, project: str, lines: Sequence[str], side: int, fenced: bool) -> str:
    title = _TITLES[form][side].format(project)
    bodies: dict[str, Callable[[], str]] = {
        "log": lambda: "\n".join(lines),
        "list": lambda: "\n".join(lines),
        "table": lambda: "\n".join([_HEADS["table"][side], "|---|---|---|---|---|", *lines]),
        "code": lambda: _code(lines, fenced),
        "prose": lambda: "\n\n".join(
            ("" if side else " ").join(lines[start : start + 6]) for start in range(0, len(lines), 6)
        ),
    }
    return f"# {title}\n\n{bodies[form]()}\n"


def _code(lines: Sequence[str], fenced: bool) -> str:
    """Functions of ten lines each, in a fence or bare."""
    functions = (
        f"def configure_{start}(settings):\n" + "\n".join(lines[start : start + 10])
        for start in range(0, len(lines), 10)
    )
    body = "\n\n\n".join(functions)
    return f"```python\n{body}\n```" if fenced else body
