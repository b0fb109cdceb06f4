"""What a large store changes: it has most words somewhere, so more of a question is asked for."""

from typing import Any

import pytest

from context_packs.packer import ContextPacks
from context_packs.store.search.ranking import gate


def test_a_word_of_a_question_is_less_in_a_large_store(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of two words is half of a question: enough of a small memory, chance in a large one; all of it is enough."""
    store = kit.store(":memory:")
    kit.write(store, "Fingers crossed for the trial of the new crane.")
    for number in range(20):
        kit.write(store, f"Crate {number} stands in row {number % 5} of the depot.")
    question = "How do I whistle with two fingers?"
    assert kit.find(store, question)
    monkeypatch.setattr(gate, "_LARGE", 1)
    assert not kit.find(store, question)
    assert kit.find(store, "For which trial were fingers crossed?")


@pytest.mark.parametrize(
    ("question", "answer", "others"),
    [
        (
            "Which hose fits the tap in the orchard?",
            "The hose that fits the tap in the orchard is the short yellow one.",
            [
                "The tap in the orchard drips.",
                "A new tap is in the bath.",
                "The orchard has nine pear trees.",
            ],
        ),
        (
            "果樹園の蛇口に合うホースはどれ？",
            "果樹園の蛇口に合うホースは短い黄色のものだ。",
            ["果樹園の蛇口から水が漏れる。", "風呂場の蛇口を注文した。", "果樹園には梨の木が九本ある。"],
        ),
    ],
)
def test_what_shares_a_word_stays_out_beside_the_answer(question: str, answer: str, others: list[str]) -> None:
    """Records with a small part of what the best one has of a question are not worth their tokens."""
    with ContextPacks.open(":memory:", "demo", embedder="none") as packs:
        for text in (answer, *others):
            packs.remember(text)
        pack = packs.recall_context(question, profile="public")
        assert [item.id for item in pack.items] == ["mem:1"]
