"""The record form as a file."""

import re
from pathlib import Path
from typing import Any

import pytest

from context_packs.store.errors import InvalidField
from context_packs.store.exchange.importers import ImportOptions, ImportReport, read

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "importers"


def of_text(folder: Path, text: str | bytes, **options: Any) -> list[dict[str, Any]]:
    source = folder / "notes.jsonl"
    source.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(read("jsonl", source, options=ImportOptions(**options)))


def test_records_come_as_they_are_written() -> None:
    """Every field is given on unchanged; null says nothing; blank lines pass."""
    assert list(read("jsonl", FIXTURES / "records.jsonl")) == [
        {
            "content": "The bakery opens at seven.",
            "path": "bakery/hours",
            "type": "fact",
            "timestamp": "2026-01-02",
            "external_id": "x-1",
            "metadata": {"by": "Noa"},
        },
        {"content": "窯は二台あります。", "kind": "episode", "source": {"host": "chat"}, "pinned": True},
    ]


def test_marks_line_ends_and_a_missing_last_one_are_tolerated(tmp_path: Path) -> None:
    """A byte order mark, CRLF, blank lines, U+2028 inside a text and no final line end are no faults."""
    text = '\ufeff{"content": "a\u2028b"}\r\n\r\n   \r\n{"content": "c"}'
    assert of_text(tmp_path, text) == [{"content": "a\u2028b"}, {"content": "c"}]


def test_lines_of_an_export_keep_their_fields(tmp_path: Path) -> None:
    """Ids, versions, links and tombstones pass through; an erased record has no text."""
    lines = (
        '{"id": "mem:3", "version": 2, "content": "new", "supersedes": "mem:1", "updated_at": "2026-01-02T00:00:00Z"}\n'
        '{"id": "ep:9", "kind": "episode", "content": "", "deleted_at": "2026-01-03", "forgotten": "hard_delete"}\n'
    )
    assert of_text(tmp_path, lines) == [
        {"id": "mem:3", "version": 2, "content": "new", "supersedes": "mem:1", "updated_at": "2026-01-02T00:00:00Z"},
        {"id": "ep:9", "kind": "episode", "content": "", "deleted_at": "2026-01-03", "forgotten": "hard_delete"},
    ]


@pytest.mark.parametrize(
    ("line", "field", "message"),
    [
        ("not json", "line", "is not JSON (Expecting value); write one object a line"),
        ('{"content": "x"', "line", "is not JSON (Expecting ',' delimiter); write one object a line"),
        ("[1]", "line", 'is not an object; write {"content": "…"}'),
        ("[" * 100_000, "line", "is not JSON ("),
        ('{"content": "x", "metadata": {"n": NaN}}', "line", "is not JSON (NaN is not a JSON number)"),
        (
            '{"content": "x", "colour": 1}',
            "colour",
            "'colour' is not a field of a record; known fields: content, kind,",
        ),
        ('{"content": "x", "\\ud800|\\n": 1}', "\ud800|\n", r"'\ud800|\n' is not a field of a record"),
        ('{"path": "a"}', "content", "content: "),
        ('{"content": " \\n"}', "content", "content: is blank"),
        ('{"content": 7}', "content", "content: "),
        ('{"content": "x", "kind": "dream"}', "kind", "kind: "),
        ('{"content": "x", "path": "a|b"}', "path", "path: contains '|'"),
        ('{"content": "x", "timestamp": "next week"}', "timestamp", "timestamp: "),
        ('{"content": "x", "expires_at": true}', "expires_at", "expires_at: "),
        ('{"content": "x", "metadata": []}', "metadata", "metadata: "),
        ('{"content": "x", "pinned": "yes"}', "pinned", "pinned: "),
        ('{"content": "x", "supersedes": "mem:01"}', "supersedes", "supersedes: "),
        ('{"content": "x", "version": 1}', "id", "id: "),
        ('{"content": "x", "id": "mem:0"}', "id", "id: 'mem:0' is not an id"),
    ],
)
def test_the_first_bad_line_is_named(tmp_path: Path, line: str, field: str, message: str) -> None:
    """File, line, field and the way out stand in one line of error; the records before it have been given out."""
    source = tmp_path / "notes.jsonl"
    source.write_text(f'{{"content": "first"}}\n\n{line}\n{{"content": "last"}}\n', encoding="utf-8")
    report = ImportReport()
    found = read("jsonl", source, report=report)
    assert next(found) == {"content": "first"}
    with pytest.raises(InvalidField, match=f"^notes.jsonl, line 3: {re.escape(message)}") as error:
        next(found)
    assert error.value.field == field
    assert "\n" not in str(error.value)
    assert report.read == 1


def test_bytes_that_are_not_utf_8_are_named(tmp_path: Path) -> None:
    """A line in another encoding raises instead of storing damaged text."""
    with pytest.raises(
        InvalidField,
        match=r"^notes\.jsonl: is not UTF-8, and for sure neither .*; save it as UTF-8$",
    ):
        of_text(tmp_path, '{"content": "日本"}'.encode("cp932"))


def test_secrets_are_masked_only_on_request(tmp_path: Path) -> None:
    """The caller's own records come as they are, unless the options say otherwise."""
    line = '{"content": "password=hunter2", "title": "token=a1b2c3d4e5f6g7h8"}'
    assert of_text(tmp_path, line)[0]["content"] == "password=hunter2"
    assert of_text(tmp_path, line, mask_secrets=True) == [
        {"content": "password=[secret:password]", "title": "token=[secret:token]"}
    ]


def test_a_folder_is_all_its_files_by_name(tmp_path: Path) -> None:
    """Files of a folder are read in the order of their names; hidden ones are left out."""
    for name in ("b.jsonl", "a.jsonl", ".c.jsonl", "d.txt"):
        (tmp_path / name).write_text(f'{{"content": "{name}"}}', encoding="utf-8")
    assert [record["content"] for record in read("jsonl", tmp_path)] == ["a.jsonl", "b.jsonl"]


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('{"content": "a", "content": "b"}', "content"),
        ('{"content": "a", "source": {"name": "x", "name": "y"}}', "name"),
        ('{"id": "mem:1", "content": "a", "metadata": {"n": [{"k": 1, "k": 1}]}}', "k"),
        ('{"content": "a", "\\u0063ontent": "b"}', "content"),
    ],
)
def test_a_key_that_stands_twice_is_refused_with_its_line(tmp_path: Path, line: str, key: str) -> None:
    """Of two values neither is taken: the line is named, and the lines before it came out."""
    file = tmp_path / "twice.jsonl"
    file.write_text('{"content": "first"}\n\n' + line + "\n", encoding="utf-8")
    given_out = read("jsonl", file)
    assert next(given_out) == {"content": "first"}
    with pytest.raises(InvalidField, match=rf"^twice\.jsonl, line 3: is not JSON \(the key '{key}' appears twice"):
        next(given_out)
