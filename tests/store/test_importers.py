"""What all importers have in common: the registry, reports, defaults, and repairs of foreign text."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.store.errors import InvalidField
from context_packs.store.exchange.importers import FORMATS, ImportOptions, ImportReport, read
from context_packs.store.exchange.importers.base import head, label, one_line, parts, segment, shortened, tail
from context_packs.store.memory.prepare import check

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "importers"
SOURCES = {"jsonl": "records.jsonl", "markdown": "notes", "chat": "turns.jsonl", "claude-code": "session.jsonl"}


def records(format: str, source: Path, **options: Any) -> list[dict[str, Any]]:
    return list(read(format, source, options=ImportOptions(**options)))


def test_every_format_has_a_fixture() -> None:
    """Here, or in a test of its own where it is made."""
    others = ["claude-memory", "codex", "chatgpt", "claude-export", "cpersona", "mem0", "auto"]
    assert list(FORMATS) == [*SOURCES, *others]


@pytest.mark.parametrize("format", SOURCES)
def test_what_is_read_can_be_stored_and_is_the_same_each_time(format: str) -> None:
    """Every record passes the store's own check, and a second reading gives the same ids and texts."""
    report = ImportReport()
    first = list(read(format, FIXTURES / SOURCES[format], report=report))
    assert report.read == len(first) >= 1
    assert [check(record).content for record in first] == [record["content"] for record in first]
    assert first == records(format, FIXTURES / SOURCES[format])


def test_external_ids_are_unique_and_literal() -> None:
    """The ids that make a second import add nothing come from the names and ids in the source alone."""
    found = {format: records(format, FIXTURES / name) for format, name in SOURCES.items()}
    assert {format: [record.get("external_id") for record in given] for format, given in found.items()} == {
        "jsonl": ["x-1", None],
        "markdown": ["markdown:decision.md", "markdown:ideas/oven.txt"],
        "chat": ["chat:conv-1:1", "chat:conv-1:2", "chat:conv-2:1"],
        "claude-code": ["claude-code:0b5c1f3e-1111-4222-8333-444455556666"],
    }


def test_unknown_formats_name_the_known_ones() -> None:
    """A format nobody knows is refused at once, before anything is read."""
    with pytest.raises(InvalidField, match="'tapes' is not known: use one of jsonl, markdown, chat, claude-c") as error:
        read("tapes", FIXTURES / "records.jsonl")
    assert error.value.field == "format"


def test_a_missing_source_is_named_without_its_folder(tmp_path: Path) -> None:
    """No error shows a path of the host."""
    with pytest.raises(InvalidField, match=r"^'gone\.jsonl': there is no such file") as error:
        read("jsonl", tmp_path / "gone.jsonl")
    assert error.value.field == "file"
    assert str(tmp_path) not in str(error.value)


def test_defaults_fill_what_a_record_does_not_say(tmp_path: Path) -> None:
    """Scope, bucket, agent and team of the options stand where a record has none, but never in a line of an export."""
    source = tmp_path / "r.jsonl"
    source.write_text('{"content": "a", "scope": "own"}\n{"content": "b", "id": "mem:1"}\n', encoding="utf-8")
    given = {"scope": "project", "bucket": "work", "agent_id": "planner", "team_id": "t1"}
    assert records("jsonl", source, **given) == [
        {"content": "a", "scope": "own", "bucket": "work", "agent_id": "planner", "team_id": "t1"},
        {"content": "b", "id": "mem:1"},
    ]


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    """A compressed file that ends early raises an error that names it."""
    source = tmp_path / "half.jsonl.gz"
    source.write_bytes(gzip.compress(b'{"content": "a"}\n' * 10_000)[:-20])
    with pytest.raises(InvalidField, match=r"^half\.jsonl\.gz: cannot be read \(the compressed data ends early"):
        records("jsonl", source)


def test_reports_stay_small() -> None:
    """A hundred different reasons are named; the rest is counted together."""
    report = ImportReport()
    for i in range(300):
        report.skip(f"line of type t{i}")
    assert len(report.skipped) == 101
    assert report.skipped["other"] == 200


FAMILY = "👩‍👩‍👧‍👦"


def test_texts_are_cut_between_grapheme_clusters() -> None:
    """Neither end of a cut leaves half an emoji family or a base without its marks."""
    assert len(FAMILY) == 7
    assert head(FAMILY * 3, 13) == FAMILY
    assert tail(FAMILY * 3, 13) == FAMILY
    assert head("e\u0301" * 4, 5) == "e\u0301" * 2
    assert head("一二三四五", 3) == "一二三"
    assert one_line("  several\n\n words  here ", 80) == "several words here"
    assert one_line("alpha beta gamma delta", 17) == "alpha beta gamma…"


def test_a_cut_says_how_much_is_gone() -> None:
    """Head, marked cut and tail stand within the limit, and the numbers add up."""
    text = shortened("x" * 124_000, 1_000)
    assert text == "x" * 480 + "\n[… 123040 characters cut …]\n" + "x" * 480
    assert len(text) <= 1_000


LETTERS = st.sampled_from([*"ab \n一鍵", "\u0301", "👩", "\u200d", "👧", "🇯", "🇵", "\x00"])


@given(st.text(alphabet=LETTERS), st.integers(1, 40))
def test_cuts_stay_within_their_limit(text: str, limit: int) -> None:
    """A head begins the text, a tail ends it, both within the limit."""
    assert len(head(text, limit)) <= limit
    assert text.startswith(head(text, limit))
    assert len(tail(text, limit)) <= limit
    assert text.endswith(tail(text, limit))
    assert len(one_line(text, limit)) <= limit


@given(st.lists(st.text(max_size=30), max_size=20), st.integers(1, 60))
def test_parts_lose_and_repeat_no_turn(turns: list[str], limit: int) -> None:
    """Parts hold every turn once, in order, within the limit unless one turn alone is longer."""
    ranges = list(parts(turns, limit))
    assert [turn for first, last in ranges for turn in turns[first:last]] == turns
    assert all(last - first == 1 or len("\n".join(turns[first:last])) <= limit for first, last in ranges)


def test_names_become_safe_labels() -> None:
    """What would break a reference line is replaced; what is too long ends in a digest of the whole."""
    assert label("a|b\nc\x00d\u2028e") == "a-b-c-d-e"
    assert segment("../x") == "..-x"
    assert segment("..") == "-"
    long = label("é" * 600)
    assert len(long) == 512
    assert long != label("é" * 601)


FIELDS = st.sampled_from(
    ["type", "user", "assistant", "summary", "sessionId", "uuid", "message", "content", "text", "name", "input", "cwd",
     "tool_use", "tool_result", "timestamp", "file_path", "conv_id", "session", "session_1", "speaker", "turns", "id",
     "sessions", "image_caption", "Read", "isMeta", "data", "|\n", "\ud800", "パン", "a b c", "2026-01-02"]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | FIELDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=6),
    max_leaves=25,
)
BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "tool_result", "thinking"]), "text": VALUES, "content": VALUES},
    optional={"name": VALUES, "input": VALUES, "id": VALUES},
)
LINES = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["user", "assistant", "summary"]),
        "message": st.fixed_dictionaries({"content": st.lists(BLOCKS, max_size=3) | st.text()}),
    },
    optional={"sessionId": VALUES, "cwd": VALUES, "summary": VALUES, "timestamp": VALUES, "uuid": VALUES},
)
TURNS = st.fixed_dictionaries(
    {"text": st.text()},
    optional={"conv_id": VALUES, "session": VALUES, "speaker": VALUES, "id": VALUES, "date": VALUES},
)


@pytest.mark.parametrize("format", ["chat", "claude-code"])
@given(lines=st.lists(VALUES | LINES | TURNS, max_size=6), cut=st.integers(0, 20))
def test_any_lines_give_storable_records(
    tmp_path_factory: pytest.TempPathFactory, format: str, lines: list[Any], cut: int
) -> None:
    """Whatever another program wrote, cut off anywhere: no crash, and every record passes the store's check."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    source = tmp_path_factory.mktemp("any") / "any.jsonl"
    source.write_text("{}\n" + text[: len(text) - cut], encoding="utf-8")
    found = records(format, source)
    assert [check(record).content for record in found] == [record["content"] for record in found]
    assert len({record["external_id"] for record in found}) == len(found)
