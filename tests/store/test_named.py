"""What a query names by its time or by who speaks: it need not have the words of the query."""

from datetime import UTC, datetime
from typing import Any

import pytest

from context_packs.store.protocol import Store
from context_packs.store.values import Filters

FENCE = "\n".join(f"Evan: We painted post {n}.\nMika: Fine." for n in range(150))
ANKLE = "Evan: I slipped on the ice and could not walk home.\nMika: Take it slowly."
LISTED = (
    "Evan: Which ankle, wrist or shoulder injury a goalkeeper may suffer while skating is listed here.\nMika: Good."
)
ASKED = "Which ankle, wrist or shoulder injury did Evan suffer while skating in August 2023?"


@pytest.fixture
def store(kit: Any) -> Store:
    store: Store = kit.store()
    for text, month in ((FENCE, 1), (LISTED, 5), (ANKLE, 8)):
        kit.write(store, text, timestamp=datetime(2023, month, 14, tzinfo=UTC).isoformat())
    return store


def relevant(store: Store, kit: Any, query: str) -> list[str]:
    found = store.candidates(query, Filters(), kit.me, 50, 50)
    return [item.id for item in found.items if item.relevant]


def test_a_record_of_the_time_that_a_query_names_is_relevant_with_none_of_its_words(store: Store, kit: Any) -> None:
    assert relevant(store, kit, ASKED) == ["mem:2", "mem:3"]


def test_of_another_time_it_is_not(store: Store, kit: Any) -> None:
    assert relevant(store, kit, ASKED.replace("August", "May")) == ["mem:2"]


def test_naming_a_time_or_a_speaker_answers_nothing_that_nothing_bears_on(kit: Any) -> None:
    store = kit.store()
    kit.write(store, ANKLE, timestamp="2023-08-14T00:00:00+00:00")
    assert relevant(store, kit, "Which planet has the longest bell curve of August 2023?") == []
