"""What services and other memories give out: ChatGPT, Claude, CPersona, mem0, and files of any form."""

import json
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from context_packs.packer.service import ContextPacks
from context_packs.store.exchange.importers import ImportReport, read
from context_packs.store.memory.prepare import check


@pytest.fixture
def packs() -> Iterator[ContextPacks]:
    with ContextPacks.open(":memory:", "planner", embedder="none") as opened:
        yield opened


def taken(format: str, source: Path) -> tuple[list[dict[str, Any]], ImportReport]:
    report = ImportReport()
    found = list(read(format, source, report=report))
    for record in found:
        check(record)
    return found, report


def counts(packs: ContextPacks, format: str, source: Path) -> tuple[int, int, int]:
    written = [one for batch in packs.import_file(format, source) for one in batch]
    made, changed = sum(one.created for one in written), sum(one.updated for one in written)
    return made, changed, len(written) - made - changed


# ---- ChatGPT


def node(key: str, parent: str | None, role: str | None, parts: Any, **more: Any) -> dict[str, Any]:
    message = None if role is None else {
        "id": key, "author": {"role": role, "name": None, "metadata": {}}, "create_time": 1767225600.5,
        "content": {"content_type": "text", "parts": parts}, "status": "finished_successfully", "recipient": "all",
        "metadata": {}, **more,
    }  # fmt: skip
    return {"id": key, "message": message, "parent": parent, "children": []}


def chatgpt(*nodes: dict[str, Any], current: str | None = None, identity: str = "c-1") -> dict[str, Any]:
    mapping = {one["id"]: one for one in nodes}
    for one in nodes:
        if one["parent"] in mapping:
            mapping[one["parent"]]["children"].append(one["id"])
    return {"title": "Glazes", "create_time": 1767225600.0, "update_time": 1767225700.0, "mapping": mapping,
            "current_node": current or nodes[-1]["id"], "conversation_id": identity, "id": identity}  # fmt: skip


PICTURE = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x", "size_bytes": 1}
TREE = (
    node("root", None, None, []),
    node("sys", "root", "system", [""], metadata={"is_visually_hidden_from_conversation": True}),
    node("u1", "sys", "user", [PICTURE, "Which glaze?"], metadata={"attachments": [{"name": "shelf.jpg", "id": "f"}]}),
    node("a1", "u1", "assistant", ["Celadon."]),
    node("a2", "u1", "assistant", ["The ash glaze."]),
    node("u2", "a2", "user", [""]),
    node("t1", "a2", "assistant", [], recipient="python", content={"content_type": "code", "text": "print(1280)"}),
    node("t2", "t1", "tool", [], content={"content_type": "execution_output", "text": "1280"}),
    node("h1", "t2", "assistant", [], content={"content_type": "thoughts", "thoughts": []}),
    node("a3", "h1", "assistant", ["1280 degrees."]),
)
SAID = ["User: [image]", "Which glaze? [file: shelf.jpg]", "Assistant: The ash glaze.", "Tool python: print(1280)",
        "Result: 1280", "Assistant: 1280 degrees."]  # fmt: skip


@pytest.mark.parametrize("form", ["conversations.json", "export.zip"])
def test_an_export_of_chatgpt_is_an_episode_for_each_conversation(tmp_path: Path, form: str) -> None:
    """The branch that was shown last; the other one is counted, and so is what nobody said."""
    path = tmp_path / form
    text = json.dumps([chatgpt(*TREE), chatgpt(*TREE[:2], identity="c-2")])
    if form.endswith(".zip"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("chat.html", "<html></html>")
            archive.writestr("conversations.json", text)
    else:
        path.write_text(text, encoding="utf-8")
    for format in ("chatgpt", "auto"):
        found, report = taken(format, path)
        assert [record["content"].split("\n") for record in found] == [SAID]
        assert report.skipped == {"turn of another branch": 1, "turn of the service": 2, "thinking": 1,
                                  "conversation without text": 1}  # fmt: skip
        assert report.failed == {}
    assert (found[0]["title"], found[0]["path"]) == ("Glazes", "chatgpt/Glazes")
    assert (found[0]["external_id"], found[0]["timestamp"]) == ("chatgpt:c-1", "2026-01-01T00:00:00Z")


def test_a_conversation_that_goes_on_elsewhere_keeps_what_was_said(packs: ContextPacks, tmp_path: Path) -> None:
    """A later export shows another branch: its turns are added, those that were stored stay; then nothing is new."""
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([chatgpt(*TREE)]), encoding="utf-8")
    assert counts(packs, "chatgpt", path) == (1, 0, 0)
    grown = (*TREE, node("u9", "a1", "user", ["Why celadon?"]))
    path.write_text(json.dumps([chatgpt(*grown, current="u9")]), encoding="utf-8")
    assert counts(packs, "chatgpt", path) == (0, 1, 0)
    assert counts(packs, "chatgpt", path) == (0, 0, 1)
    said = packs.get("ep:1").content.split("\n")
    assert [line for line in said if line in SAID] == SAID
    assert said[-1] == "User: Why celadon?"


# ---- Claude


def said(key: str, sender: str, text: str, at: int, **more: Any) -> dict[str, Any]:
    return {"uuid": key, "text": text, "sender": sender, "created_at": f"2026-01-02T10:00:{at:02}.5Z",
            "content": [{"type": "text", "text": text}] if text else [], "attachments": [], **more}  # fmt: skip


CLAUDE = [
    said("m1", "human", "Read this.", 1, attachments=[{"file_name": "kiln.txt", "extracted_content": "Cone 10."}],
         files=[{"file_name": "kiln.txt"}, {"file_name": "a.png"}]),
    said("m2", "assistant", "It says cone 10.", 2, content=[{"type": "thinking", "thinking": "x"},
         {"type": "tool_use", "name": "repl", "input": {}}, {"type": "text", "text": "It says cone 10."}]),
    said("m3", "human", "", 3),
]  # fmt: skip


def test_an_export_of_claude_has_conversations_projects_and_memories(tmp_path: Path) -> None:
    """Each with its own id; what is no text of anybody is counted."""
    path = tmp_path / "data.zip"
    chat = {"uuid": "c-1", "name": "Kiln", "created_at": "2026-01-02T10:00:00Z", "chat_messages": CLAUDE}
    project = {"uuid": "p-1", "name": "Pots", "prompt_template": "Answer in grams.", "created_at": "2026-01-01",
               "docs": [{"uuid": "d-1", "filename": "clay.md", "content": "Stoneware."}]}  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps([chat]))
        archive.writestr("projects.json", json.dumps([project]))
        archive.writestr("memories.json", json.dumps([{"conversations_memory": "Likes ash.", "project_memories": {}}]))
        archive.writestr("users.json", json.dumps([{"uuid": "u-1", "full_name": "Mika"}]))
    for format in ("claude-export", "auto"):
        found, report = taken(format, path)
        assert {record["external_id"]: record["content"] for record in found} == {
            "claude-export:c-1": "User: Read this.\n[file: kiln.txt]\nCone 10.\n[file: a.png]\n"
            "Assistant: [tool repl]\nIt says cone 10.",
            "claude-export:p-1:instructions": "Answer in grams.",
            "claude-export:p-1:d-1": "Stoneware.",
            "claude-export:memory:memory": "Likes ash.",
        }
        assert report.skipped == {"thinking": 1, "turn without text": 1, "entry of users.json": 1}


def test_a_branch_of_claude_is_the_one_with_the_last_message(tmp_path: Path) -> None:
    """Where messages name what they answer."""
    messages = [
        said("m1", "human", "Which?", 1, parent_message_uuid="0"),
        said("m2", "assistant", "Old.", 2, parent_message_uuid="m1"),
        said("m3", "assistant", "New.", 3, parent_message_uuid="m1"),
    ]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"uuid": "c", "name": "", "chat_messages": messages}]), encoding="utf-8")
    found, report = taken("claude-export", path)
    assert found[0]["content"] == "User: Which?\nAssistant: New."
    assert report.skipped == {"turn of another branch": 1}


# ---- CPersona and mem0


@pytest.fixture
def cpersona(tmp_path: Path) -> Path:
    """A database of CPersona with a row of each kind, and one that says nothing."""
    path = tmp_path / "cpersona.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            "CREATE TABLE memories (id INTEGER PRIMARY KEY, agent_id TEXT, project_id TEXT, msg_id TEXT, content TEXT,"
            " source TEXT, timestamp TEXT, metadata TEXT, embedding BLOB, channel TEXT, locked INT, created_at TEXT);"
            "CREATE TABLE profiles (id INTEGER, agent_id TEXT, user_id TEXT, content TEXT, updated_at TEXT);"
            "CREATE TABLE episodes (id INTEGER PRIMARY KEY, agent_id TEXT, summary TEXT, keywords TEXT, embedding BLOB,"
            " start_time TEXT, end_time TEXT, created_at TEXT);"
        )
        rows = [
            (1, "ai", "pots", "m-1", "窯は1280度まで上げる。", '{"type": "User", "name": "Mika"}',
             "2026-01-02T03:04:05Z", "{}", b"\0\1", "chat", 1, "2026-01-02 03:04:05"),
            (2, "ai", "", "", "  ", "{}", "", "{}", None, "", 0, "2026-01-02 03:04:06"),
            (3, "other", "", "", "Second agent.", "broken", "not a time", "{}", None, "", 0, "2026-01-03 00:00:00"),
        ]  # fmt: skip
        database.executemany(f"INSERT INTO memories VALUES ({', '.join('?' * 12)})", rows)
        database.execute("INSERT INTO profiles VALUES (1, 'ai', 'mika', 'Works at night.', '2026-01-04 00:00:00')")
        database.execute(
            "INSERT INTO episodes VALUES (1, 'ai', 'We fired.', 'kiln', NULL, '2026-01-05T00:00:00', '', 'x')"
        )
        database.commit()
    return path


def test_a_database_of_cpersona_is_read_whole(packs: ContextPacks, cpersona: Path) -> None:
    """Memories, profiles, episodes; again nothing is added, a new row is one record."""
    for format in ("cpersona", "auto"):
        found, report = taken(format, cpersona)
        assert [(record["type"], record["content"], record.get("timestamp")) for record in found] == [
            ("memory", "窯は1280度まで上げる。", "2026-01-02T03:04:05Z"),
            ("memory", "Second agent.", "2026-01-03T00:00:00Z"),
            ("profile", "Works at night.", "2026-01-04T00:00:00Z"),
            ("episode", "We fired.", "2026-01-05T00:00:00Z"),
        ]
        assert report.skipped == {"row without text": 1}
    assert found[0]["pinned"]
    assert found[0]["source"] == {"host": "cpersona", "agent": "ai", "project": "pots", "channel": "chat"}
    assert counts(packs, "cpersona", cpersona) == (4, 0, 0)
    with closing(sqlite3.connect(cpersona)) as database:
        database.execute("UPDATE episodes SET summary = 'Fired.' WHERE id = 1")
        database.execute("INSERT INTO profiles VALUES (2, 'ai', 'taro', 'Bakes.', '2026-01-04 00:00:00')")
        database.commit()
    assert counts(packs, "cpersona", cpersona) == (1, 1, 3)
    assert packs.get("ep:1").content == "Fired."  # a summary is no session: its latest form counts


MEM0 = {"id": "m-1", "memory": "Likes ash glaze.", "hash": "h", "metadata": {"mood": "calm"}, "user_id": "mika",
        "categories": ["craft"], "created_at": "2026-01-02T03:04:05.123-08:00", "updated_at": None}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", json.dumps({"results": [MEM0, {**MEM0, "id": "m-2", "memory": ""}]})),
        ("a.json", json.dumps([MEM0, {**MEM0, "id": "m-2", "memory": ""}])),
        ("a.jsonl", json.dumps(MEM0) + "\n" + json.dumps({**MEM0, "id": "m-2", "memory": ""}) + '\n{"id": "m-'),
    ],
)
def test_memories_of_mem0_in_each_form(tmp_path: Path, name: str, text: str) -> None:
    """With whose they are, their categories as tags, and their time."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    for format in ("mem0", "auto"):
        (record,), report = taken(format, path)
        assert (record["content"], record["external_id"], record["path"]) == (
            "Likes ash glaze.",
            "mem0:m-1",
            "mem0/mika",
        )
        assert record["metadata"] == {"mood": "calm", "tags": ["craft"]}
        assert record["timestamp"] == "2026-01-02T11:04:05.123000Z"
        assert report.skipped["memory without text"] == 1


def test_the_history_of_mem0_gives_the_last_text_of_each(tmp_path: Path) -> None:
    """What was deleted is not brought back."""
    path = tmp_path / "history.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,"
            " created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)"
        )
        rows = [("h1", "m-1", None, "Tea.", "ADD", 1), ("h2", "m-1", "Tea.", "Green tea.", "UPDATE", 2),
                ("h3", "m-2", None, "Gone.", "ADD", 3), ("h4", "m-2", "Gone.", None, "DELETE", 4)]  # fmt: skip
        for key, memory, old, new, event, day in rows:
            database.execute(
                "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, NULL, ?, NULL, NULL)",
                (key, memory, old, new, event, f"2026-01-0{day}T00:00:00Z", int(event == "DELETE")),
            )
        database.commit()
    for format in ("mem0", "auto"):
        found, report = taken(format, path)
        assert [record["content"] for record in found] == ["Green tea."]
        assert report.skipped == {"memory that was deleted": 1}


# ---- auto


def test_a_folder_of_everything_is_read_each_by_its_form(packs: ContextPacks, tmp_path: Path, cpersona: Path) -> None:
    """What has no known form is named with what it looks like; again nothing is added."""
    project = tmp_path / "projects" / "-home-mika-kiln"
    (project / "memory").mkdir(parents=True)
    (project / "memory" / "glaze.md").write_text("---\nname: Glaze\ndescription: ash\n---\nAsh.", encoding="utf-8")
    line = {"type": "user", "sessionId": "s-1", "cwd": "/home/mika/kiln", "message": {"content": "Which cone?"}}
    (project / "s-1.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    (tmp_path / "note.md").write_text("A note.", encoding="utf-8")
    (tmp_path / "talk.json").write_text('[{"speaker": "A", "text": "Hi there."}]', encoding="utf-8")
    (tmp_path / "own.jsonl").write_text('{"content": "Own."}\n', encoding="utf-8")
    (tmp_path / "page.json").write_text("<html></html>", encoding="utf-8")
    (tmp_path / "half.zip").write_bytes(b"PK\3\4half")
    (tmp_path / "empty.json").write_bytes(b"")
    report = ImportReport()
    written = [one for batch in packs.import_file("auto", tmp_path, report=report) for one in batch]
    assert (len(written), sum(one.created for one in written)) == (9, 9)
    assert sorted(report.failed) == ["half.zip", "page.json"]
    assert report.failed["page.json"] == "page.json: gave nothing; it looks like HTML: no format reads that"
    assert counts(packs, "auto", tmp_path) == (0, 0, 9)
