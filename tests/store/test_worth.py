"""What a passage is worth: the table of signals, what only repeats the question, and where relevance ends."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from context_packs.store.records import Record, Span
from context_packs.store.search.ranking.scoring import SIGNALS
from context_packs.store.search.ranking.signals import (
    asked_for,
    asks,
    dated,
    novelty,
    signs_of,
    skeleton,
    told_question,
    unbroken,
)
from context_packs.store.text.passages import divide
from context_packs.store.values import Candidates, Filters


def found(kit: Any, records: Sequence[str], query: str) -> Candidates:
    store = kit.store()
    for text in records:
        kit.write(store, text)
    return store.candidates(query, Filters(), kit.me, 50, 50)


def relevant(kit: Any, records: Sequence[str], query: str) -> list[str]:
    """Relevant passages, best first."""
    answer = found(kit, records, query)
    passages = ((answer.records[hit.id], hit.ordinal) for hit in answer.hits if hit.relevant)
    return [record.content[(span := record.passages[n]).start : span.end].strip() for record, n in passages]


def test_every_signal_has_a_weight_and_a_reason() -> None:
    """The table cannot be changed, and says of each why it is there."""
    assert len(SIGNALS) == 18
    assert all(one.reason and math.isfinite(one.weight) and one.weight for one in SIGNALS.values())
    assert {name for name, one in SIGNALS.items() if not one.bears} == {"question", "first_person", "length"}
    with pytest.raises(TypeError):
        SIGNALS["own"] = SIGNALS["echo"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("When was the shop opened?", (True, False, False, False)),
        ("店はいつ開いた？", (True, False, False, False)),
        ("How many keys are there?", (False, True, False, False)),
        ("鍵は何個ある？", (False, True, False, False)),
        ("Who has the keys?", (False, False, True, False)),
        ("鍵は誰が持っている？", (False, False, True, False)),
        ("What did you recommend for the roof?", (False, False, False, True)),
        ("The roof leaks.", (False, False, False, False)),
    ],
)
def test_kinds_of_answer_that_a_question_asks_for(text: str, expected: tuple[bool, ...]) -> None:
    """A date, a number, a name, or what the assistant said."""
    asked = asked_for(text)
    assert (asked.date, asked.number, asked.name, asked.assistant) == expected


def test_signs_of_the_passages_of_a_chat() -> None:
    """Who speaks, what the words tell, and which passages are one turn."""
    content = "User: I met the architect Ada on Monday. I like her house a lot.\nAssistant: Are there 3 of you?\n"
    spans = tuple(Span(k, one.start, one.end, one.kind, one.speaker) for k, one in enumerate(divide(content)))
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    signs = signs_of(
        Record(
            id="ep:1", kind="episode", version=1, content=content, title="", path="", type="", bucket="", scope="",
            agent_id="", team_id="", status="active", created_at=moment, updated_at=moment, passages=spans,
        )
    )  # fmt: skip
    told = {name: getattr(signs, name).tolist() for name in ("date", "number", "name", "asks", "first_person", "user")}
    assert told == {
        "date": [1, 0, 0],
        "number": [0, 0, 1],
        "name": [1, 0, 0],
        "asks": [0, 0, 1],
        "first_person": [1, 1, 0],
        "user": [1, 1, 0],
    }
    assert signs.turn[0] == signs.turn[1] != signs.turn[2]


def test_times_that_a_question_names() -> None:
    """A month, a year, or both; nothing where it names none."""
    times = np.array(["2025-03-09", "2026-03-09", "2026-05-09"], dtype="datetime64[us]")
    assert dated("What did we buy in March?", times).tolist() == [1, 1, 0]
    assert dated("2026年3月に何を買った？", times).tolist() == [0, 1, 0]
    assert dated("What did we buy in 2026?", times).tolist() == [0, 1, 1]
    assert dated("What may we buy?", times).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("A guest asked whether the sauna is heated.", " whether the sauna is heated."),
        ("Nobody wants to know when the ship leaves.", " when the ship leaves."),
        ("サウナは何度なのか、とお客さんに聞かれた。", "サウナは何度なのか"),
        ("The sauna is heated to ninety degrees.", None),
        ("サウナは九十度に温める。", None),
    ],
)
def test_a_question_that_somebody_told_of(text: str, question: str | None) -> None:
    """It asks, and does not answer."""
    assert told_question(text) == question


def test_what_a_text_says_beside_the_question() -> None:
    """The share of its words that are new; numbers alone make no other skeleton."""
    words = frozenset(("sauna", "heat"))
    assert novelty("The sauna is heated.", words) == 0
    assert novelty("The sauna is heated by birch wood.", words) == 0.5
    assert skeleton("Case 12 of 400 passed") == skeleton("case 7 of 9 PASSED")
    assert [asks(text) for text in ("Where is it?", "どこですか。", "sauna heated when", "It is here.")] == [
        True,
        True,
        True,
        False,
    ]
    assert [unbroken(text) for text in ("f" * 161, "f" * 160, "word " * 100, "あ" * 300)] == [True, False, False, False]


@pytest.mark.parametrize(
    ("answer", "echoes", "query"),
    [
        (
            "The ferry leaves the north pier at nine.",
            ["When does the ferry leave the north pier?", "A guest asked when the ferry leaves the north pier."],
            "When does the ferry leave the north pier?",
        ),
        (
            "渡し船は北の桟橋から九時に出る。",
            ["渡し船はいつ北の桟橋から出る？", "渡し船はいつ北の桟橋から出るのか、と聞かれた。"],
            "渡し船はいつ北の桟橋から出る？",
        ),
    ],
)
def test_what_only_repeats_the_question_stands_behind_the_answer(
    kit: Any, answer: str, echoes: list[str], query: str
) -> None:
    """Also where it was written later, and in whatever form the question is told."""
    assert relevant(kit, [answer, *echoes], query)[0] == answer


def test_relevance_ends_inside_a_record(kit: Any) -> None:
    """Of many sentences the one that answers is relevant; the others only where the pack is to be filled."""
    others = " ".join(f"Room {n} was painted in another colour by somebody." for n in range(60))
    text = f"{others} The lighthouse lamp burns whale oil. {others}"
    assert relevant(kit, [text], "What does the lighthouse lamp burn?") == ["The lighthouse lamp burns whale oil."]


def test_what_a_record_says_again_is_relevant_once(kit: Any) -> None:
    """The same sentence once, and what differs in numbers alone twice."""
    text = " ".join(
        ["The pump was checked.", "The pump was checked."] + [f"The pump made {n} turns." for n in range(9)]
    )
    told = relevant(kit, [text], "What about the pump?")
    assert told.count("The pump was checked.") == 1
    assert sum(one.startswith("The pump made") for one in told) <= 2


def test_two_facts_that_differ_in_one_word_are_both_relevant(kit: Any) -> None:
    """Neither stands for the other."""
    facts = ["The red boiler is serviced by Ada in spring.", "The blue boiler is serviced by Ben in autumn."]
    assert sorted(relevant(kit, facts, "Who services the boiler?")) == sorted(facts)


def test_the_header_of_a_record_stands_around_each_passage(kit: Any) -> None:
    """What a title says need not be said again in the text."""
    store = kit.store(":memory:")
    told = kit.write(store, "The capital lies on seven hills.", title="Portugal").id
    kit.write(store, "Old trains of Portugal run late.")
    for title, place in (("Chad", "by a river"), ("Peru", "by the sea")):
        kit.write(store, f"The capital lies {place}.", title=title)
    assert kit.find(store, "What is the capital of Portugal?")[0] == told
