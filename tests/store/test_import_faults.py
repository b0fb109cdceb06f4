"""What an import makes of files that are damaged, of another form, or in another encoding."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from context_packs.store.errors import InvalidField
from context_packs.store.exchange import encodings
from context_packs.store.exchange.importers import FORMATS, ImportReport, read

JAPANESE = "会議は三時からです。議事録はメールで送ってください。"
NOTES = "# メモ\n\n" + JAPANESE + "\n"
TALK = json.dumps({"speaker": "美香", "text": JAPANESE}, ensure_ascii=False) + "\n"


def taken(format: str, source: Path) -> tuple[list[dict[str, Any]], ImportReport]:
    report = ImportReport()
    return list(read(format, source, report=report)), report


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "shift_jis", "euc_jp"])
@pytest.mark.parametrize("format", ["markdown", "chat", "jsonl"])
def test_encodings_that_are_sure_are_read(tmp_path: Path, format: str, encoding: str) -> None:
    """The same text comes out of every encoding that can be told, whatever the format."""
    text = {"markdown": NOTES, "chat": TALK, "jsonl": json.dumps({"content": JAPANESE}, ensure_ascii=False)}[format]
    text = text if encoding not in ("utf-16-le", "utf-16-be") else f"# {'plain words ' * 20}\n{text}" if (
        format == "markdown") else "\ufeff" + text  # fmt: skip
    path = tmp_path / {"markdown": "a.md", "chat": "a.jsonl", "jsonl": "a.jsonl"}[format]
    path.write_bytes(text.encode(encoding))
    found, report = taken(format, path)
    assert [JAPANESE in record["content"] for record in found] == [True]
    assert report.failed == {}


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("今天我们讨论窑炉的温度，明天再说。", "gb18030"), ("今天我們討論窯爐的溫度", "big5"),
     ("오늘 회의는 세 시입니다", "euc_kr"),
     ("café crème à la carte", "cp1252"), ("Привет, как дела?", "cp1251"), ("会議録", "shift_jis")],
)  # fmt: skip
@pytest.mark.parametrize("format", ["markdown", "chat", "jsonl"])
def test_other_encodings_are_refused_by_name(tmp_path: Path, format: str, text: str, encoding: str) -> None:
    """What can not be told for sure is never stored as something else."""
    path = tmp_path / ("a.md" if format == "markdown" else "a.jsonl")
    field = "content" if format == "jsonl" else "text"
    line = json.dumps({field: text, **({} if format == "jsonl" else {"speaker": "A"})}, ensure_ascii=False)
    path.write_bytes((text if format == "markdown" else line).encode(encoding))
    with pytest.raises(InvalidField, match=rf"^{path.name}: is not UTF-8, and for sure neither UTF-16, Shift_JIS nor"):
        taken(format, path)


def test_damaged_utf_8_is_no_other_encoding(tmp_path: Path) -> None:
    """One wrong byte in a long text leaves the rest as it is, and is told."""
    path = tmp_path / "a.md"
    path.write_bytes((JAPANESE * 4).encode() + b"\xff" + "終わり".encode())
    found, report = taken("markdown", path)
    assert found[0]["content"] == JAPANESE * 4 + "\ufffd終わり"
    assert report.notes == {"file with bytes that are no UTF-8: shown as U+FFFD": 1}
    assert encodings.of_bytes(b"plain") == "utf-8"


GOOD: dict[str, tuple[str, bytes]] = {
    "jsonl": ("z.jsonl", b'{"content": "good"}\n'),
    "chat": ("z.jsonl", b'{"speaker": "A", "text": "good"}\n'),
    "markdown": ("z.md", b"good"),
    "claude-code": ("z.jsonl", json.dumps({"type": "user", "sessionId": "z", "message": {"content": "good"}}).encode()),
}
BAD: dict[str, tuple[str, bytes, str]] = {
    "gz": ("a.jsonl.gz", gzip.compress(b'{"content": "x"}\n' * 5000)[:-30], "cannot be read"),
    "html": ("a.json", b"<!DOCTYPE html><html><body>Sign in</body></html>", "is not JSON"),
    "gbk": ("a.jsonl", '{"speaker": "A", "text": "今天我们讨论窑炉的温度"}\n'.encode("gbk"), "is not UTF-8"),
    "note": ("a.md", "今天我们讨论窑炉的温度".encode("gbk"), "is not UTF-8"),
    "line": ("a.jsonl", b'{"content": "first"}\n{"content": 7}\n', "line 2: content:"),
}


@pytest.mark.parametrize(
    ("format", "bad"),
    [("jsonl", "gz"), ("jsonl", "gbk"), ("jsonl", "line"), ("chat", "gz"), ("chat", "html"), ("chat", "gbk"),
     ("markdown", "note")],
)  # fmt: skip
def test_one_bad_file_never_stops_a_folder(tmp_path: Path, format: str, bad: str) -> None:
    """It is named with its fault, and the files behind it are read."""
    name, raw, fault = BAD[bad]
    (tmp_path / name).write_bytes(raw)
    (tmp_path / GOOD[format][0]).write_bytes(GOOD[format][1])
    found, report = taken(format, tmp_path)
    assert [record["content"] for record in found][-1].endswith("good")
    assert list(report.failed) == [name]
    assert fault in report.failed[name]
    with pytest.raises(InvalidField, match=rf"^{name}"):  # alone it is an error
        taken(format, tmp_path / name)


@pytest.mark.parametrize("format", sorted(FORMATS))
@pytest.mark.parametrize(
    ("name", "raw", "words"),
    [
        ("a.json", b"<html>hi</html>", "HTML"),
        ("a.json", b'[{"title": "T", "mapping": {}, "current_node": null}]', "an export of ChatGPT"),
        (
            "a.jsonl",
            b'{"timestamp": "2026-01-02T03:04:05Z", "type": "session_meta", "payload": {"id": "x"}}\n',
            "codex",
        ),
        ("a.md", b"\x89PNG\r\n\x1a\n\0\0", "a picture"),
    ],
)
def test_what_gives_nothing_is_named_with_what_it_looks_like(
    tmp_path: Path, format: str, name: str, raw: bytes, words: str
) -> None:
    """A file that is not empty and gave no record is in the report, or is refused; one that is empty is not."""
    path = tmp_path / name
    path.write_bytes(raw)
    try:
        found, report = taken(format, path)
    except InvalidField as error:
        assert str(error).startswith(name)
        return
    if not found:
        assert list(report.failed) == [name]
        assert words in report.failed[name] or "but no text that" in report.failed[name]
    path.write_bytes(b" \n")
    if name.endswith(("l", "md")):
        assert taken(format, path)[1].failed == {}


def test_a_session_whose_lines_are_unknown_is_no_session(tmp_path: Path) -> None:
    """In a folder too: each file of another form is named."""
    (tmp_path / "a.jsonl").write_bytes(GOOD["chat"][1])
    (tmp_path / "z.jsonl").write_bytes(GOOD["claude-code"][1])
    found, report = taken("claude-code", tmp_path)
    assert len(found) == 1
    assert report.failed == {"a.jsonl": 'a.jsonl: gave nothing; it looks like JSON of chat: import it with "chat"'}


def test_chats_whose_inner_id_is_empty_stay_apart(tmp_path: Path) -> None:
    """As Open WebUI exports them: the id of the entry names the chat, its title is that of the episode."""
    chats = [
        {"id": f"c-{i}", "title": f"Talk {i}", "chat": {"id": "", "messages": [
            {"id": f"m-{i}", "role": "user", "content": f"Question {i}", "timestamp": 1767225600 + i}]}}
        for i in range(3)
    ]  # fmt: skip
    path = tmp_path / "export.json"
    path.write_text(json.dumps(chats), encoding="utf-8")
    found, _ = taken("chat", path)
    assert [(record["external_id"], record["title"], record["content"]) for record in found] == [
        (f"chat:c-{i}:1", f"Talk {i}", f"User: Question {i}") for i in range(3)
    ]


def test_half_a_character_at_the_end_is_a_half_written_line(tmp_path: Path) -> None:
    """A file that is being written may end within a character."""
    path = tmp_path / "z.jsonl"
    path.write_bytes(GOOD["chat"][1] + '{"speaker": "A", "text": "終'.encode()[:-1])
    found, report = taken("chat", path)
    assert (len(found), report.skipped, report.failed) == (1, {"half-written last line": 1}, {})
