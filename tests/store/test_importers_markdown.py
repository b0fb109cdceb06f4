"""Notes as files."""

import os
from pathlib import Path
from typing import Any

import pytest

from context_packs.store.exchange.importers import ImportOptions, ImportReport, read

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "importers"


def of_text(folder: Path, text: str | bytes, name: str = "note.md", **options: Any) -> list[dict[str, Any]]:
    source = folder / name
    source.write_bytes(text if isinstance(text, bytes) else text.encode())
    os.utime(source, (1_767_225_600, 1_767_225_600))
    return list(read("markdown", source, options=ImportOptions(**options)))


def test_front_matter_becomes_fields_and_headings_stay() -> None:
    """Title, tags, type, date and pinned are read; all but title, type and pin stays to be found."""
    found = list(read("markdown", FIXTURES / "notes", options=ImportOptions(path_prefix="/kb/")))
    assert found[0] == {
        "content": "tags: [storage, 決定]\ndate: 2026-01-05\naliases: ignored\n\n"
        "# Storage\n\nOne file serves one machine.\n\n## 理由\n\n埋め込みで速い。",
        "title": "Why DuckDB",
        "path": "kb/decision.md",
        "external_id": "markdown:decision.md",
        "kind": "memory",
        "type": "decision",
        "source": {"host": "markdown", "file": "decision.md"},
        "timestamp": "2026-01-05T00:00:00Z",
        "metadata": {"tags": ["storage", "決定"]},
        "pinned": True,
    }
    assert found[1]["path"] == "kb/ideas/oven.txt"
    assert found[1]["title"] == "oven"
    assert found[1]["content"] == "# not a heading in a plain text\n\nTry a second oven."


def test_a_plain_note_has_its_first_heading_and_the_time_of_its_file(tmp_path: Path) -> None:
    """Mark, CRLF and a heading with closing marks are no matter."""
    assert of_text(tmp_path, "\ufeff\r\nHello.\r\n\r\n## Bread ##\r\nRye.\r\n") == [
        {
            "content": "Hello.\n\n## Bread ##\nRye.",
            "title": "Bread",
            "path": "note.md",
            "external_id": "markdown:note.md",
            "kind": "memory",
            "type": "note",
            "source": {"host": "markdown", "file": "note.md"},
            "timestamp": "2026-01-01T00:00:00Z",
        }
    ]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Big Words\n=========\n\ntext", "Big Words"),
        ("```sh\n# a comment\n```\n# Real", "Real"),
        ("~~~\n```\n# inside\n~~~\n# Outside", "Outside"),
        ("no heading at all", "note"),
        ("- item\n---\n| a |\n---\n***\n---\n---\n", "note"),
        ("#hashtag is no heading\n\n---\n", "note"),
        ("---\ntitle: never closed\n\n# Shown", "Shown"),
        ("---\ntitle:\n---\n# Shown", "Shown"),
        ("---\ntitle: 'One: two'\n...\n# Hidden", "One: two"),
        ("# " + "長い題名" * 100, "長い題名" * 49 + "長い題…"),
    ],
)
def test_titles(tmp_path: Path, text: str, title: str) -> None:
    """The title is the front matter's, else the first heading outside code, else the name; shortened when very long."""
    assert of_text(tmp_path, text)[0]["title"] == title


@pytest.mark.parametrize(
    ("value", "tags"),
    [
        ("[a, 'b c', a]", ["a", "b c"]),
        ("a, b", ["a", "b"]),
        ("#a #b", ["a", "b"]),
        ("\n  - a\n  - 焼き", ["a", "焼き"]),
    ],
)
def test_tags_are_read_in_the_usual_forms(tmp_path: Path, value: str, tags: list[str]) -> None:
    """Brackets, commas, hashes and lists give the same: names in order, each once."""
    assert of_text(tmp_path, f"---\ntags: {value}\n---\ntext")[0]["metadata"] == {"tags": tags}


def test_a_date_that_is_not_understood_is_noted(tmp_path: Path) -> None:
    """The time of the file stands in for it, and the report says so."""
    source = tmp_path / "note.md"
    source.write_text("---\ndate: someday\n---\ntext", encoding="utf-8")
    os.utime(source, (1_767_225_600, 1_767_225_600))
    report = ImportReport()
    assert next(read("markdown", source, report=report))["timestamp"] == "2026-01-01T00:00:00Z"
    assert report.notes == {"front matter date that is not understood": 1}


def test_a_folder_is_walked_in_order_without_what_is_hidden(tmp_path: Path) -> None:
    """Hidden files and folders, node_modules, other endings and links are left out; files without text are counted."""
    for name in ("b.md", "a/z.markdown", "a/.hidden.md", ".git/x.md", "node_modules/y.md", "c.py", "A.TXT"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text", encoding="utf-8")
    (tmp_path / "empty.md").write_text(" \n---\n"[:2], encoding="utf-8")
    (tmp_path / "bytes.md").write_bytes(b"\x93\xfa\x96\x7b")
    (tmp_path / "link.md").symlink_to(tmp_path / "b.md")
    report = ImportReport()
    assert [record["path"] for record in read("markdown", tmp_path, report=report)] == ["A.TXT", "a/z.markdown", "b.md"]
    assert report.skipped == {"symbolic link": 1, "file without text": 1}
    assert list(report.failed) == ["bytes.md"]
    assert report.read == 3


def test_utf_16_notes_are_read(tmp_path: Path) -> None:
    """A note saved with a UTF-16 mark is text like any other."""
    assert of_text(tmp_path, "# 日本\n".encode("utf-16"))[0]["content"] == "# 日本"


def test_names_that_break_a_line_are_made_safe(tmp_path: Path) -> None:
    """A bar or a line break in a file name does not reach path and id; decomposed names are composed."""
    found = of_text(tmp_path, "text", name="a|b\nパ.md".replace("パ", "ハ\u309a"))[0]
    assert found["path"] == "a-b-パ.md"
    assert found["external_id"] == "markdown:a-b-パ.md"


def test_secrets_are_masked_unless_switched_off(tmp_path: Path) -> None:
    """Content and the title made from it carry no password, by default."""
    text = "# password=hunter2\nbody"
    assert of_text(tmp_path, text)[0]["title"] == "password=[secret:password]"
    assert of_text(tmp_path, text)[0]["content"] == "# password=[secret:password]\nbody"
    assert of_text(tmp_path, text, mask_secrets=False)[0]["content"] == text


def test_a_big_file_becomes_one_record_per_section(tmp_path: Path) -> None:
    """Above 100,000 characters the highest level with two headings divides; ids hang on headings, not on positions."""
    fill = "word " * 15_000
    text = f"# Book\nintro\n## One\n{fill}\n## 二\n{fill}\n### Sub\nx\n## One\nagain\n"
    found = of_text(tmp_path, text)
    assert [(r["external_id"], r["path"], r["title"]) for r in found] == [
        ("markdown:note.md", "note.md", "Book"),
        ("markdown:note.md#one", "note.md/one", "Book — One"),
        ("markdown:note.md#二", "note.md/二", "Book — 二"),
        ("markdown:note.md#one-2", "note.md/one-2", "Book — One"),
    ]
    assert "\n".join(r["content"] for r in found) == text.strip("\n")
    assert found[2]["content"].endswith("### Sub\nx")


def test_a_section_above_the_limit_of_a_record_goes_on_in_parts(tmp_path: Path) -> None:
    """Nine million characters without a heading become three records, cut at line ends."""
    found = of_text(tmp_path, ("x" * 99 + "\n") * 90_000)
    assert [r["external_id"] for r in found] == [
        "markdown:note.md",
        "markdown:note.md#part-2",
        "markdown:note.md#part-3",
    ]
    assert [len(r["content"]) % 100 for r in found] == [99, 99, 99]


@pytest.mark.parametrize("text", ["a" * 500_000, "#" * 500_000, "# " * 250_000, "---\n" * 100_000, "`" * 500_000,
                                  "- \n" * 100_000, "---\n" + "a: b\n" * 100_000, "# x" + " #" * 200_000])  # fmt: skip
def test_hostile_notes_are_read_quickly(tmp_path: Path, text: str) -> None:
    """Long runs of one mark give a record and no error."""
    assert sum(len(record["content"]) for record in of_text(tmp_path, text)) > 0
