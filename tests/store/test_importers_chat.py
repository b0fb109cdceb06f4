"""Conversations as turns."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from context_packs.store.errors import InvalidField
from context_packs.store.exchange.importers import ImportOptions, ImportReport, read
from context_packs.store.exchange.importers.chat import parse_moment

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "importers"


def of_lines(folder: Path, *lines: object, name: str = "talk.jsonl", **options: Any) -> list[dict[str, Any]]:
    source = folder / name
    text = "\n".join(line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines)
    source.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return list(read("chat", source, options=ImportOptions(**options)))


def test_one_episode_per_conversation_and_session() -> None:
    """Turns become lines with their speaker; metadata maps each turn id to its characters."""
    found = list(read("chat", FIXTURES / "turns.jsonl", options=ImportOptions(path_prefix="talks")))
    content = "Noa: We moved the bakery to Porto.\nKen: Nice!\nWhich street? [image: a photo of a red door]"
    assert found[0] == {
        "content": content,
        "kind": "episode",
        "type": "chat",
        "path": "talks/conv-1/session_1",
        "external_id": "chat:conv-1:1",
        "source": {"host": "chat", "conversation": "conv-1", "session": "1"},
        "metadata": {"turns": [["D1:1", 0, 34], ["D1:2", 35, 90]]},
        "timestamp": "2022-12-17T11:01:00Z",
    }
    assert content[35:90] == "Ken: Nice!\nWhich street? [image: a photo of a red door]"
    assert (found[1]["content"], found[1]["timestamp"]) == ("健: パンは毎朝六時に焼きます。", "2022-12-22T18:10:00Z")
    assert (found[2]["path"], found[2]["timestamp"]) == ("talks/conv-2/session_1", "2024-03-15T00:00:00Z")
    assert found[2]["content"] == "User: Plan my week.\nAssistant: Monday: flour.\n\nTuesday: ovens."
    assert [name for name, _, _ in found[2]["metadata"]["turns"]] == [0, 1]


def test_turns_of_a_session_may_lie_apart(tmp_path: Path) -> None:
    """Sessions whose turns alternate in the file are gathered, in the order of their first turn."""
    found = of_lines(
        tmp_path,
        {"session": "b", "speaker": "A", "text": "one"},
        {"session": "a", "speaker": "A", "text": "two"},
        {"session": "b", "speaker": "B", "text": "three"},
    )
    assert [(r["path"], r["content"]) for r in found] == [("talk/b", "A: one\nB: three"), ("talk/a", "A: two")]


@pytest.mark.parametrize(
    "document",
    [
        {"conversation_id": "c", "messages": [{"role": "user", "content": "hi"},
         {"role": "assistant", "content": "yo"}]},
        [{"id": "c", "turns": [{"author": "user", "message": "hi"}, {"name": "assistant", "utterance": "yo"}]}],
        {"sample_id": "c", "conversation": {"speaker_a": "user", "session_1_date_time": "",
         "session_1": [{"speaker": "user", "text": "hi"}, {"speaker": "assistant", "text": "yo"}]}},
        {"conv_id": "c", "sessions": [{"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]},
         {"message": {"role": "assistant", "content": ["yo"]}}]}]},
    ],
)  # fmt: skip
@pytest.mark.parametrize("indent", [None, 2])
def test_documents_of_nested_turns_are_read(tmp_path: Path, document: object, indent: int | None) -> None:
    """Common nestings and field names give the same episode, on one line or over several."""
    found = of_lines(tmp_path, json.dumps(document, indent=indent), name="export.json")
    assert [(r["content"], r["external_id"]) for r in found] == [("User: hi\nAssistant: yo", "chat:c:1")]


def test_numbered_sessions_are_in_numeric_order(tmp_path: Path) -> None:
    """Session 10 comes after session 2, each with its own time."""
    talk = {f"session_{i}": [{"speaker": "A", "text": str(i)}] for i in (10, 2)}
    talk |= {"session_2_date_time": "9:05 pm on 3 May, 2023"}
    found = of_lines(tmp_path, {"sample_id": "c", "conversation": talk})
    assert [(r["path"], r.get("timestamp")) for r in found] == [
        ("c/session_2", "2023-05-03T21:05:00Z"),
        ("c/session_10", None),
    ]


def test_compressed_files_and_folders_are_read(tmp_path: Path) -> None:
    """A `.gz` is unpacked; files of a folder come by name; without other words a file is one conversation."""
    of_lines(tmp_path, {"speaker": "A", "text": "zipped"}, name="b.jsonl.gz")
    of_lines(tmp_path, {"speaker": "A", "text": "plain"}, name="a.json")
    assert [(r["path"], r["content"]) for r in read("chat", tmp_path)] == [
        ("a/session_1", "A: plain"),
        ("b/session_1", "A: zipped"),
    ]


def test_what_is_no_turn_is_skipped_and_counted(tmp_path: Path) -> None:
    """Unknown lines, empty turns and a half-written last line cost nothing but their count."""
    source = tmp_path / "talk.jsonl"
    lines = ['\ufeff{"speaker": "A", "text": "kept", "data": {}}\r', "", "garbage", "[]", '{"kind": "ping"}',
             '{"speaker": "A", "text": "  "}', '{"speaker": "A", "te']  # fmt: skip
    source.write_text("\n".join(lines), encoding="utf-8", newline="")
    report = ImportReport()
    found = list(read("chat", source, report=report))
    assert [record["content"] for record in found] == ["A: kept"]
    assert report.skipped == {
        "line that is not JSON": 1,
        "line that is not an object": 1,
        "turn without text": 2,
        "half-written last line": 1,
    }


def test_a_damaged_document_is_named(tmp_path: Path) -> None:
    """A JSON document that cannot be read as a whole raises an error that names it."""
    with pytest.raises(InvalidField, match=r"^export\.json: is not JSON; give one JSON document") as error:
        of_lines(tmp_path, '[{"text": "a"},', name="export.json")
    assert error.value.field == "file"


def test_speakers_stay_on_one_line_and_broken_text_is_repaired(tmp_path: Path) -> None:
    """A name can not open a second turn; a lone surrogate becomes U+FFFD; a pair stays an emoji."""
    found = of_lines(tmp_path, r'{"speaker": " A\nB: ", "text": "x\ud800y \ud83d\ude00\r\nz", "id": "\udfff"}')
    assert found[0]["content"] == "A-B: x\ufffdy 😀\nz"
    assert found[0]["metadata"]["turns"] == [["\ufffd", 0, 12]]


def test_secrets_are_masked_before_offsets_are_taken(tmp_path: Path) -> None:
    """The characters of a turn are those of the masked text; the option switches masking off."""
    lines = [{"speaker": "A", "text": "password=hunter2"}, {"speaker": "B", "text": "thanks"}]
    found = of_lines(tmp_path, *lines)[0]
    assert found["content"] == "A: password=[secret:password]\nB: thanks"
    assert found["metadata"]["turns"] == [[1, 0, 29], [2, 30, 39]]
    assert of_lines(tmp_path, *lines, mask_secrets=False)[0]["content"] == "A: password=hunter2\nB: thanks"


def test_long_sessions_go_on_in_parts_between_turns(tmp_path: Path) -> None:
    """No part is longer than 200,000 characters, no turn is cut, offsets count within each part."""
    turns = [{"speaker": "A", "text": "パ" * 59_997, "id": i} for i in range(7)]
    found = of_lines(tmp_path, *turns)
    assert [(r["path"], r["external_id"], len(r["content"])) for r in found] == [
        ("talk/session_1", "chat:talk:1", 180_002),
        ("talk/session_1/part-2", "chat:talk:1:part-2", 180_002),
        ("talk/session_1/part-3", "chat:talk:1:part-3", 60_000),
    ]
    turns_of = [record["metadata"]["turns"] for record in found]
    assert turns_of[0][2] == [2, 120_002, 180_002]
    assert turns_of[1][:2] == [[3, 0, 60_000], [4, 60_001, 120_001]]


def test_a_turn_too_long_for_a_record_is_shortened_with_a_mark(tmp_path: Path) -> None:
    """Five million characters in one turn leave a storable record that says what is gone."""
    report = ImportReport()
    (tmp_path / "talk.jsonl").write_text(json.dumps({"speaker": "A", "text": "a" * 5_000_000}), encoding="utf-8")
    found = list(read("chat", tmp_path / "talk.jsonl", report=report))
    assert "\n[… 4000040 characters cut …]\n" in found[0]["content"]
    assert len(found[0]["content"]) < 1_000_003
    assert report.notes == {"very long turn shortened": 1}


def test_ids_tell_conversations_apart(tmp_path: Path) -> None:
    """A colon inside a conversation's name can not make two sessions one."""
    lines = {"conv_id": "a:b", "session": "c", "text": "x"}, {"conv_id": "a", "session": "b:c", "text": "y"}
    found = of_lines(tmp_path, *lines)
    assert [r["external_id"] for r in found] == ["chat:a%3Ab:c", "chat:a:b:c"]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("11:01 am on 17 December, 2022", datetime(2022, 12, 17, 11, 1, tzinfo=UTC)),
        ("12:30 am on 1 Jan 2023", datetime(2023, 1, 1, 0, 30, tzinfo=UTC)),
        ("12:05 p.m., May 3rd, 2021", datetime(2021, 5, 3, 12, 5, tzinfo=UTC)),
        ("March-15-2024", datetime(2024, 3, 15, tzinfo=UTC)),
        ("2023/05/20 (Sat) 02:21", datetime(2023, 5, 20, 2, 21, tzinfo=UTC)),
        ("2022-12-17T11:01:00+09:00", datetime(2022, 12, 17, 2, 1, tzinfo=UTC)),
        (1_700_000_000, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        ("31 February, 2022", None),
        ("17 Foober, 2022", None),
        ("25:99 on 1 May 2022", None),
        ("soon", None),
        ("1" * 100_000, None),
        ([], None),
    ],
)
def test_times_are_read_as_people_write_them(text: object, moment: datetime | None) -> None:
    """English dates with and without a time of day; what is no time is none."""
    assert parse_moment(text) == moment


def test_a_time_that_is_not_understood_is_noted(tmp_path: Path) -> None:
    """The record then carries no time, and the report says so."""
    (tmp_path / "talk.jsonl").write_text('{"text": "a", "date": "someday"}\n', encoding="utf-8")
    report = ImportReport()
    assert "timestamp" not in next(read("chat", tmp_path / "talk.jsonl", report=report))
    assert report.notes == {"time that is not understood": 1}
