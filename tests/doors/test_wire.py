"""The shapes of answers, and the ceilings of the doors."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from context_packs.packer import ContextPacks, Rows
from context_packs.packer.doors.forms.documents import (
    moment,
    pack_document,
    recall_document,
    record_document,
    row_document,
)
from context_packs.packer.doors.forms.limits import HOSTS, within
from context_packs.packer.errors import InvalidField

NOW = datetime(2026, 3, 20, 9, tzinfo=UTC)
FILLER = "The harbour was calm and nobody saw anything worth a note. "


@pytest.fixture
def packs() -> Iterator[ContextPacks]:
    """An empty store in memory that lives in March 2026."""
    with ContextPacks.open(":memory:", "planner", clock=lambda: NOW) as opened:
        yield opened


def long_text(chars: int) -> str:
    """A text of exactly this many characters about a backup that is not at its start."""
    middle = "Backups run nightly at two. However, never on the first of a month. "
    text = FILLER * 12 + middle + FILLER * (chars // len(FILLER) + 1)
    return text[: chars - 1] + "."


# ---- rows


def test_a_short_row_is_whole_and_says_nothing_of_cutting(packs: ContextPacks) -> None:
    """`ref`, `content`, `source`, `timestamp`, `path`, `type`, `confidence`; `id` only where the caller gave one."""
    packs.remember("Backups run nightly.", path="ops/backup", type="fact", timestamp="2026-03-01T09:30:00+09:00")
    (message,) = recall_document(packs.recall("backups"), "backups", packs.settings)["messages"]
    assert message == {
        "ref": "mem:1",
        "content": "Backups run nightly.",
        "source": {},
        "timestamp": "2026-03-01T00:30:00Z",
        "path": "ops/backup",
        "type": "fact",
        "confidence": 1.0,
    }
    packs.remember("Restores take an hour.", external_id="chat-7", source="ops-chat", kind="episode")
    (message,) = recall_document(packs.recall("restores"), "restores", packs.settings)["messages"]
    assert (message["ref"], message["id"], message["source"]) == ("ep:1", "chat-7", {"name": "ops-chat"})


def test_a_long_row_is_a_preview_with_the_passages_that_match(packs: ContextPacks) -> None:
    """At most 500 characters from the start, the full length, and the match with its exception."""
    text = long_text(3_000)
    packs.remember(text)
    (message,) = recall_document(packs.recall("backups nightly"), "backups nightly", packs.settings)["messages"]
    assert message["content"] == text[:500]
    assert (message["content_truncated"], message["content_len"]) == (True, 3_000)
    assert message["excerpt"] == "Backups run nightly at two. However, never on the first of a month."
    assert message["excerpt_basis"] == "blocks"


def test_a_preview_given_back_keeps_its_record_out(packs: ContextPacks) -> None:
    """The preview in `exclude_contents` excludes the record, and the answer says that one was left out."""
    packs.remember(long_text(3_000))
    (message,) = recall_document(packs.recall("backups"), "backups", packs.settings)["messages"]
    again = packs.recall("backups", exclude_contents=[message["content"]])
    assert recall_document(again, "backups", packs.settings) == {"messages": [], "excluded": 1}


def test_settings_of_zero_switch_trimming_and_excerpts_off(packs: ContextPacks) -> None:
    """`preview_chars` 0 gives whole rows; `excerpt_chars` 0 gives previews alone."""
    text = long_text(3_000)
    packs.remember(text)
    rows = packs.recall("backups")
    (whole,) = recall_document(rows, "backups", replace(packs.settings, preview_chars=0))["messages"]
    assert whole["content"] == text and "content_truncated" not in whole
    (bare,) = recall_document(rows, "backups", replace(packs.settings, preview_chars=10, excerpt_chars=0))["messages"]
    assert (bare["content"], bare["content_len"]) == ("The harbou", 3_000)
    assert "excerpt" not in bare and "excerpt_basis" not in bare


def test_whole_rows_are_spent_from_the_best_row_down(packs: ContextPacks) -> None:
    """200,000 characters of whole rows; one that does not fit is a preview and keeps back none behind it."""
    sizes = {"one": 90_000, "two": 120_000, "three": 110_000}
    for name, size in sizes.items():
        packs.remember(f"backups {name} " + long_text(size - len(f"backups {name} ")), path=name)
    rows = packs.recall("backups")
    ordered = Rows(tuple(sorted(rows, key=lambda row: list(sizes).index(row.record.path))), 0, rows.plan)
    document = recall_document(ordered, "backups", packs.settings, full_content=True)
    assert [len(message["content"]) for message in document["messages"]] == [90_000, 500, 110_000]
    assert ["content_truncated" in message for message in document["messages"]] == [False, True, False]
    assert document["full_content_budget_chars"] == 200_000
    fits = Rows(ordered.rows[::2], 0, rows.plan)
    assert "full_content_budget_chars" not in recall_document(fits, "backups", packs.settings, full_content=True)


def test_order_is_best_first_unless_asked_otherwise(packs: ContextPacks) -> None:
    """Best last reverses what is shown and nothing else."""
    packs.remember_many([{"content": "backups and restores"}, {"content": "backups, and then something else entirely"}])
    rows = packs.recall("backups restores")
    first = recall_document(rows, "backups restores", packs.settings)
    last = recall_document(rows, "backups restores", packs.settings, order="best_last")
    assert [message["ref"] for message in first["messages"]] == ["mem:1", "mem:2"]
    assert last["messages"] == first["messages"][::-1]


def test_an_empty_answer_names_the_filter_that_matches_nothing(packs: ContextPacks) -> None:
    """An unknown value of a filter is no error; the answer says which filter is the reason."""
    packs.remember("backups", scope="private")
    rows = packs.recall("backups", scope="harbour")
    assert recall_document(rows, "backups", packs.settings) == {"messages": [], "empty_filter": "scope"}
    assert recall_document(packs.recall("zzqqy"), "zzqqy", packs.settings) == {"messages": []}


# ---- records


def test_a_record_is_shown_with_all_its_fields(packs: ContextPacks) -> None:
    """Every field by its name, JSON-ready; passages divide the content without a gap."""
    packs.remember(
        "Ada: backups run. They are kept.\nBob: 了解。",
        kind="episode",
        path="ops/chat",
        type="chat",
        timestamp="2026-03-01",
        expires_at="2027-01-01",
        external_id="c1",
        source={"name": "chat"},
        metadata={"room": 7},
        pinned=True,
        team_id="ops",
    )
    record = packs.get("ep:1")
    document = json.loads(json.dumps(record_document(record)))
    assert set(document) == set(type(record).__slots__)
    assert document["content"] == "".join(document["content"][p["start"] : p["end"]] for p in document["passages"])
    assert {passage.get("speaker") for passage in document["passages"]} == {"Ada", "Bob"}
    expected = {
        "id": "ep:1", "kind": "episode", "version": 1, "path": "ops/chat", "type": "chat", "agent_id": "planner",
        "team_id": "ops", "created_at": "2026-03-01T00:00:00Z", "expires_at": "2027-01-01T00:00:00Z",
        "external_id": "c1", "source": {"name": "chat"}, "metadata": {"room": 7}, "pinned": True, "deleted_at": None,
    }  # fmt: skip
    assert {name: document[name] for name in expected} == expected


def test_a_whole_row_has_no_confidence_of_its_own(packs: ContextPacks) -> None:
    """Outside a recall a row has no confidence; inside it is rounded to four digits."""
    packs.remember("backups")
    record = packs.get("mem:1")
    assert "confidence" not in row_document(record)
    assert row_document(record, 2 / 3)["confidence"] == 0.6667


def test_times_are_utc_with_a_z() -> None:
    """RFC 3339, whatever zone the value has; fractions only where there are any."""
    assert moment(datetime(2026, 3, 1, 9, tzinfo=timezone(timedelta(hours=9)))) == "2026-03-01T00:00:00Z"
    assert moment(datetime(2026, 3, 1, 9, 0, 0, 250_000, tzinfo=UTC)) == "2026-03-01T09:00:00.250000Z"


# ---- packs


def test_a_text_profile_gives_text_numbers_and_no_provenance(packs: ContextPacks) -> None:
    """The public profile shows of an item what its reference line shows: no score, no source, no metadata."""
    packs.remember("backups run nightly", path="ops", type="fact", source="secret-desk", metadata={"a": 1})
    document = pack_document(packs.recall_context("backups", profile="public"), "public")
    assert set(document) == {"text", "budget", "items"}
    assert document["items"] == [{"id": "mem:1", "type": "fact", "path": "ops"}]
    assert (document["budget"]["state"], document["budget"]["used_items"]) == ("complete", 1)
    assert "secret-desk" not in json.dumps(document)


@pytest.mark.parametrize("profile", ["internal", "kernel"])
def test_a_pack_profile_gives_the_structured_pack(packs: ContextPacks, profile: str) -> None:
    """Version, plan, budget, items, decisions and the text once."""
    packs.remember("backups run nightly", path="ops", type="fact")
    document: dict[str, Any] = pack_document(packs.recall_context("backups", profile=profile), profile)
    assert list(document) == ["version", "retrieval_plan", "budget", "items", "decisions", "context_text"]
    assert ("content" in document["items"][0]) == (profile == "kernel")
    json.dumps(document)


def test_an_unknown_profile_is_refused(packs: ContextPacks) -> None:
    """The field is named."""
    with pytest.raises(InvalidField, match=r"^profile: "):
        pack_document(packs.recall_context("backups"), "nope")


# ---- limits


@pytest.mark.parametrize(
    ("host", "given", "expected"),
    [
        ("claude-code", {}, {"max_chars": 9_900}),
        ("claude-code", {"max_chars": 50_000, "max_tokens": 12_000}, {"max_chars": 9_900, "max_tokens": 12_000}),
        ("claude-code", {"max_chars": 100}, {"max_chars": 100}),
        ("codex", {"max_tokens": 12_000}, {"max_tokens": 2_400, "max_chars": 9_900}),
        ("plain", {"max_tokens": 12_000}, {"max_tokens": 12_000}),
    ],
)
def test_a_host_is_never_given_more_than_it_takes(host: str, given: dict[str, int], expected: dict[str, int]) -> None:
    """The lower of the caller's limit and the host's counts."""
    assert within(host, given) == expected


def test_every_host_stays_below_what_it_cuts() -> None:
    """Below 10,000 characters and 2,500 tokens, with room for a line end."""
    assert {name: dict(limits) for name, limits in HOSTS.items()} == {
        "claude-code": {"max_chars": 9_900},
        "codex": {"max_tokens": 2_400, "max_chars": 9_900},
        "plain": {},
    }


def test_rows_show_no_text_that_hides_or_turns() -> None:
    """Previews and whole rows, as a model reads them; a preview given back is known again. An exact get is exact."""
    given = "Ada \u202elikes\u202c te\u200ba.\x1b[0m 👩‍👩‍👧 می‌خواهم"
    with ContextPacks.open(":memory:", embedder="none") as packs:
        packs.remember(f"{given} " * 40, path="a\u2066b")
        rows = packs.recall("Ada likes tea")
        for full in (False, True):
            (row,) = recall_document(rows, "Ada likes tea", packs.settings, full_content=full)["messages"]
            assert row["content"].startswith("Ada likes tea.\ufffd[0m 👩‍👩‍👧 می‌خواهم Ada")
            assert row["path"] == "ab"
            assert "\u202e" not in row.get("excerpt", "")
            assert packs.recall("Ada likes tea", exclude_contents=[row["content"]]).excluded == 1
        assert packs.get("mem:1").content.startswith(given)
