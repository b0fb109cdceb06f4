"""What is chosen does not hang on how a question, a decision or a change is put into words."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from context_packs.store.query.parts import read_query
from context_packs.store.query.period import read_time
from context_packs.store.query.speech import is_idle
from context_packs.store.search.payload import matters
from context_packs.store.search.ranking.signals import told_question
from context_packs.store.values import Filters

NOW = datetime(2026, 3, 4, 9, 0, tzinfo=UTC)


def found(kit: Any, texts: list[str | dict[str, Any]], question: str, **filters: Any) -> list[str]:
    """The contents of what is relevant to a question, best first; every text is a day younger than the one before."""
    store = kit.store(":memory:")
    for text in texts:
        given = {"content": text} if isinstance(text, str) else dict(text)
        kit.write(store, given.pop("content"), **given)
        kit.clock.on(days=1)
    answer = store.candidates(question, Filters(**filters), kit.me, 100, 8)
    ids = list(dict.fromkeys(hit.id for hit in answer.hits if hit.relevant))
    return [answer.records[ref].content for ref in ids]


@pytest.mark.parametrize(
    "question",
    "all decisions|every decision that we made, please|a complete overview of our decisions|"
    "recap the decisions to date|"
    "これまでに決めたことの一覧|決定事項をひととおり見せて|決まりごとを全部教えてください".split("|"),
)
def test_a_list_of_decisions_is_asked_for_in_many_ways(question: str) -> None:
    """The words of a list are none that a decision must hold."""
    assert read_query(question, NOW).decision


@pytest.mark.parametrize(
    "question", "our last decisions|the very last decision|一番新しい決定|このごろ決まったこと".split("|")
)
def test_the_last_decisions_are_the_newest(question: str) -> None:
    asked = read_query(question, NOW)
    assert (asked.decision, asked.when.newest) == (True, True)


@pytest.mark.parametrize("question", ["decisions about the roof", "屋根についての決定"])
def test_a_decision_about_something_is_asked_for_by_that(question: str) -> None:
    assert not read_query(question, NOW).decision


def test_decisions_of_somebody_are_found_by_their_type(kit: Any) -> None:
    """A record of that type need not call itself a decision."""
    board = [
        {"content": f"The board {what}.", "type": "decision", "path": f"minutes/{n}"}
        for n, what in enumerate(("sells the boat", "keeps the orchard", "paints the barn red"))
    ]
    notes = ["The kettle hums.", "The board room has new chairs.", "Snow fell on the lane."]
    shown = found(kit, [*notes, *board], "which decisions did the board make?")
    assert {text for text in shown if text.startswith("The board ")} >= {one["content"] for one in board}


@pytest.mark.parametrize("text", ["as of now", "at the moment", "nowadays", "一番新しい", "目下の", "最も新しい"])
def test_words_for_the_newest(text: str) -> None:
    assert read_time(text, NOW).newest


@pytest.mark.parametrize(
    ("old", "new", "question"),
    [
        (
            "The water meter is read by Ines.",
            "The water meter was switched to radio, nobody comes any more.",
            "Who reads the water meter, by whom is it read?",
        ),
        (
            "Payment terms are set to thirty days.",
            "Payment terms were shortened to fourteen days.",
            "What are the payment terms set to?",
        ),
        ("朝市は土曜に立つ。", "朝市は日曜に変わった。", "朝市は何曜に立つ？"),
        ("牛乳は丘の牧場から取っている。", "牛乳は駅前の店に替えた。", "牛乳はどこから取っている？"),
        ("合唱の練習は公民館で行う。", "合唱の練習は教会へ移した。", "合唱の練習はどこで行う？"),
    ],
)
def test_what_tells_of_a_change_comes_first_in_other_words_too(kit: Any, old: str, new: str, question: str) -> None:
    """The newer text need not repeat the verb of the question."""
    assert found(kit, [old, "A goose sat on the lawn.", new], question)[0] == new


@pytest.mark.parametrize(
    ("holds", "will"),
    [
        ("The spare key hangs in the hall.", "The spare key will be replaced by a code."),
        ("回数券は売店で買う。", "回数券は来年廃止される。"),
    ],
)
def test_what_holds_stands_before_what_will_hold(kit: Any, holds: str, will: str) -> None:
    future = {"content": will, "timestamp": "2029-01-01T00:00:00Z"}
    question = "where is the spare key" if holds.isascii() else "回数券はどこ？"
    assert found(kit, [holds, future], question)[0] == holds
    # Where nothing else says as much, what lies ahead is the answer.
    ahead = {"content": "The dentist sees Ana on the ninth.", "timestamp": "2029-01-09T00:00:00Z"}
    assert found(kit, ["Ana found a coin.", ahead], "when does the dentist see Ana?")[0] == ahead["content"]


@pytest.mark.parametrize("stub", ["除雪機の鍵", "除雪機の鍵は", "除雪機"])
def test_a_stub_of_the_question_is_no_newer_answer(kit: Any, stub: str) -> None:
    answer = "除雪機の鍵は役場の二階で借りる。"
    assert found(kit, [answer, stub], "除雪機の鍵はどこで借りる？")[0] == answer


def test_a_question_that_the_user_asked_before_proves_nothing(kit: Any) -> None:
    """However often: what answers stands before all of them."""
    question = "父の薬は昼に何錠？"
    asked = [
        {"content": f"User: {question}\nAssistant: {reply}", "kind": "episode"}
        for reply in ("見つかりません。", "あとで調べます。", "資料にありません。", "わかりませんでした。")
    ]
    answer = "父の薬は朝と昼に一錠ずつ、夜は二錠。水で飲む。"
    assert found(kit, [answer, *asked], question)[0] == answer


def test_each_of_two_questions_has_its_answer(kit: Any) -> None:
    """A short question is not outdone by a long one beside it."""
    texts = [
        "Bay nine is where visitors park.",
        "Invoices above nine thousand crowns are countersigned by the treasurer and a deputy.",
        *(f"Row {n} of the vineyard was pruned." for n in range(12)),
    ]
    question = "Who countersigns invoices above nine thousand crowns? And where do visitors park?"
    assert set(texts[:2]) <= set(found(kit, texts, question))


def test_beside_a_whole_answer_half_a_match_is_not_needed(kit: Any) -> None:
    texts = [
        "The reserve pump is in the blue shed.",
        *(f"{name} oiled the reserve wheel." for name in ("Ada", "Bo", "Cy")),
    ]
    assert found(kit, texts, "where is the reserve pump?") == texts[:1]


@pytest.mark.parametrize("text", ["AM-204の件を教えて", "IT-12は？", "HE-77について"])
def test_an_identifier_of_common_letters_is_matter(text: str) -> None:
    assert not is_idle(text)


@pytest.mark.parametrize(
    "text", "助かったよ、ありがとう|次お願いします|ちょっと確認したいのですが|一つ質問があります".split("|")
)
def test_courtesies_of_japanese_are_idle(text: str) -> None:
    assert is_idle(text)


@pytest.mark.parametrize(
    "text",
    [
        "Nobody knew when the kiln is fired.",
        "Iris was not sure which road is shorter.",
        "The question of who feeds the hens came up.",
        "窯はいつ焚くのか、誰も覚えていない。",
        "鶏の世話は誰がするのかという話になった。",
        "近道はどれか迷ったが、と父は言わなかった。近道はどれか、兄に尋ねた。",
    ],
)
def test_a_question_that_is_told_of(text: str) -> None:
    assert told_question(text) is not None


@pytest.mark.parametrize("question", ["what did we do yesterday at the mill?", "昨日は工房で何をした？"])
def test_a_place_does_not_keep_a_day_back(kit: Any, question: str) -> None:
    """Where nothing of the day names the place, the day itself is the answer."""
    kit.clock.now = NOW - timedelta(days=1)
    assert found(kit, ["Ravi glued the oak stool."], question) == ["Ravi glued the oak stool."]


def test_a_log_of_short_lines_is_not_poured_in(kit: Any) -> None:
    """Lines that stand together in a passage and differ in numbers alone say nothing, also at the end."""
    packs = kit.packs()
    text = "\n".join(f"弁{n} 開閉 良好" for n in range(400)) + "\n散水 異常: 弁7の線が切れた\n" + "終わり\n"
    record = packs.get(
        packs.threads.add_trigger(packs.threads.create("散水").id, "ci", summary="散水の警報", payload=text).id
    )
    told = matters(record)
    assert told is not None and len(record.passages) > 12
    shown = "".join(record.content[record.passages[n].start : record.passages[n].end] for n in told)
    assert "弁7の線が切れた" in shown and "散水の警報" in shown
    assert shown.count("良好") <= 40
