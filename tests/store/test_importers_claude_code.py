"""Session transcripts of Claude Code."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.store.exchange.importers import ImportOptions, ImportReport, read
from context_packs.store.text.injected import strip_injected

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "importers"
SESSION = "0b5c1f3e-1111-4222-8333-444455556666"
PACK = """### XMemo Context
Items: 2
Budget: 210/1500 tokens, 2 items, 1 shortened, 3 dropped
Reference: mem:9 | Type: decision | Location: a/b
Reference: ep:2 | Type: chat | Location: c
Context:
[1] Storage 2026-01-05
 One file serves one machine.
 ### XMemo Context

[2] 2026-02-01
 A: hi"""


def user(content: object, **more: object) -> dict[str, Any]:
    return {"type": "user", "sessionId": "s-1", "timestamp": "2026-02-03T09:00:00Z", **more,
            "message": {"role": "user", "content": content}}  # fmt: skip


def assistant(*blocks: object, **more: object) -> dict[str, Any]:
    return user(list(blocks), **more) | {"type": "assistant"}


def call(name: str, given: object, id: str = "t-1") -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def result(content: object, id: str = "t-1") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content}


def written(folder: Path, *lines: object, name: str = "s-1.jsonl") -> Path:
    path = folder / name
    text = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
    return path


def of_lines(folder: Path, *lines: object, **options: Any) -> list[dict[str, Any]]:
    return list(read("claude-code", written(folder, *lines), options=ImportOptions(**options)))


def test_a_session_is_one_episode() -> None:
    """Turns, tool calls and results in order; what nobody said is left out and counted."""
    report = ImportReport()
    assert list(read("claude-code", FIXTURES / "session.jsonl", report=report)) == [
        {
            "content": "User: アップロードが失敗したとき、再試行は何回にしますか？ Please look at config.py.\n"
            "Assistant: I read the configuration first.\n"
            'Tool Read: {"file_path":"/home/mika/projects/upload-worker/config.py"}\n'
            "Result: RETRIES = 3\nBACKOFF = 2.0\n[image]\n"
            "Assistant: Three tries, then the job goes to the dead letter queue.\n"
            'Tool Bash: {"command":"pytest -q","description":"Run the tests"}\n'
            "Error: 1 failed\n"
            "Summary: Retry policy for the upload worker",
            "kind": "episode",
            "type": "session",
            "title": "Retry policy for the upload worker",
            "path": "sessions/upload-worker/0b5c1f3e",
            "external_id": f"claude-code:{SESSION}",
            "source": {
                "host": "claude-code",
                "session_id": SESSION,
                "project": "upload-worker",
                "git_branch": "retry",
                "version": "2.0.1",
            },
            "metadata": {
                "turns": 3,
                "tools": {"Bash": 1, "Read": 1},
                "files": ["config.py"],
                "ended_at": "2026-02-03T09:16:30Z",
            },
            "timestamp": "2026-02-03T09:15:00Z",
        }
    ]
    assert report.skipped == {
        "line of type file-history-snapshot": 1,
        "injected block": 1,
        "thinking": 1,
        "meta line": 1,
        "side chain": 1,
        "line of type system": 1,
        "half-written last line": 1,
    }


def test_titles_are_one_short_line(tmp_path: Path) -> None:
    """Without a summary the first prompt that is no command is the title, at most 80 characters, families whole."""
    family = "👩‍👩‍👧‍👦"
    lines = user("<command-name>/clear</command-name>"), user(f"Fix\nthe  {family * 20}")
    title = of_lines(tmp_path, *lines)[0]["title"]
    assert title == f"Fix the {family * 10}…"
    assert len(title) <= 80
    assert of_lines(tmp_path, lines[0])[0]["title"] == "/clear"


def test_the_latest_summary_of_this_session_wins(tmp_path: Path) -> None:
    """A summary whose last line stands in another session gives way to one of this session."""
    lines = [
        {"type": "summary", "summary": "Older", "leafUuid": "u-1"},
        {"type": "summary", "summary": "Mine", "leafUuid": "u-1"},
        {"type": "summary", "summary": "Foreign", "leafUuid": "zzz"},
        user("hello", uuid="u-1"),
    ]
    assert of_lines(tmp_path, *lines)[0]["title"] == "Mine"
    assert of_lines(tmp_path, *lines[2:])[0]["title"] == "Foreign"


def test_tool_input_and_results_are_cut(tmp_path: Path) -> None:
    """Input takes one line of at most 300 characters, a result head and tail with the size of the cut."""
    given = {"content": "line\n" * 300_000, "file_path": "/x/y.py"}
    lines = assistant(call("Write", given)), user([result("r" * 123_456)])
    first, *rest = of_lines(tmp_path, *lines)[0]["content"].split("\n")
    assert first.startswith('Tool Write: {"content":"line\\nline')
    assert len(first) == len("Tool Write: ") + 300
    assert rest == ["Result: " + "r" * 480, "[… 122496 characters cut …]", "r" * 480]


def test_secrets_across_a_cut_are_masked(tmp_path: Path) -> None:
    """Text is masked before it is cut, so no half of a secret stays; the option switches masking off."""
    key = "ghp_" + "a1B2c3D4" * 5
    lines = user("password=hunter2"), user([result("r" * 450 + "/" + key + " s" * 30_000)])
    masked = of_lines(tmp_path, *lines)[0]
    assert masked["title"] == "password=[secret:password]"
    assert "ghp_" not in masked["content"]
    assert "ghp_" in of_lines(tmp_path, *lines, mask_secrets=False)[0]["content"]


def test_our_own_packs_are_never_imported_again(tmp_path: Path) -> None:
    """Packs in what the user or a hook says, and the answers of our own tools, do not come back."""
    report = ImportReport()
    lines = [
        user(f"SessionStart: {PACK}\nNow fix the oven."),
        user("<system-reminder>\nhook: " + PACK + "\n</system-reminder>"),
        assistant(call("mcp__memory__recall_context", {"query": "oven"}, "a"), call("mcp__xmemo__anything", {}, "b")),
        user([result("our text", "a"), result([{"type": "text", "text": "ours too"}], "b"), result("foreign", "c")]),
        user("No matching XMemo memory was found."),
    ]
    found = list(read("claude-code", written(tmp_path, *lines), report=report))
    assert found[0]["content"].split("\n") == [
        "User: SessionStart: ",
        "Now fix the oven.",
        'Tool mcp__memory__recall_context: {"query":"oven"}',
        "Tool mcp__xmemo__anything: {}",
        "Result: foreign",
    ]
    assert report.skipped == {"injected block": 3, "answer of our own tools": 2}


def test_only_the_pack_is_taken_out() -> None:
    """The text around a pack stays; a heading without a frame is no pack."""
    assert strip_injected(f"before\n{PACK}\n\nafter [1] x") == ("before\n\n\nafter [1] x", 1)
    assert strip_injected(f"{PACK}\n{PACK}") == ("\n", 2)
    assert strip_injected("### XMemo Context\nis our heading") == ("### XMemo Context\nis our heading", 0)


def test_tags_of_the_host_are_taken_out() -> None:
    """Closed blocks go, commands lose their tags, mentioned tags and longer names stay."""
    assert strip_injected("a<system-reminder>x</system-reminder>b<ide_selection a='y'>z</ide_selection>") == ("ab", 2)
    text = "<command-message>m</command-message>\n<command-name>/review</command-name><command-args>12</command-args>"
    assert strip_injected(text) == ("\n/review12", 1)
    for kept in ("the <system-reminder> tag", "</system-reminder>", "<system-reminders>x</system-reminders>"):
        assert strip_injected(kept) == (kept, 0)


@pytest.mark.parametrize(
    "said",
    [
        "<task-notification>\n<summary>it is done</summary>\n</task-notification>", "<bash-input>ls</bash-input>",
        "<bash-stdout>a.txt</bash-stdout><bash-stderr></bash-stderr>", "[Request interrupted by user for tool use]",
        '<teammate-message teammate_id="lead">look again</teammate-message>', "[Request interrupted by user]",
        "Caveat: The messages below were generated by the user while running local commands. DO NOT respond to these.",
        "This session is being continued from a previous conversation that ran out of context.",
        "Please continue the conversation from where we left it off without asking the user any further questions.",
    ],
)  # fmt: skip
def test_k4_words_of_the_harness_are_nobodys(tmp_path: Path, said: str) -> None:
    """K4: neither what the user said nor a title, alone and before a real prompt; quoted in a sentence they stay."""
    assert strip_injected(said) == ("", said.count("</") - said.count("</summary") or 1)
    found = of_lines(tmp_path, user(said), user(f"{said}\nMove the shed."))
    assert (found[0]["title"], found[0]["content"]) == ("Move the shed.", "User: Move the shed.")
    if "<" not in said:
        assert strip_injected(f"It says: {said}") == (f"It says: {said}", 0)


@given(st.lists(st.sampled_from(["### XMemo Context\n", "Items: 1\n", "Context:\n", "[1] x\n", " y\n", "\n", "z", PACK,
                                 "<system-reminder>", "</system-reminder>"])))  # fmt: skip
def test_stripping_never_adds_anything(pieces: list[str]) -> None:
    """What is left is a subsequence of the text, and without a find the text itself."""
    text = "".join(pieces)
    left, count = strip_injected(text)
    rest = iter(text)
    assert all(character in rest for character in left)
    assert (left == text) == (count == 0)


@pytest.mark.parametrize("piece", ["<system-reminder>", "### XMemo Context\nItems: 1\n", "</ide_selection>", "[1] \n"])
def test_stripping_hostile_text_ends(piece: str) -> None:
    """Half a megabyte of beginnings is read in one pass."""
    left, _ = strip_injected(piece * (500_000 // len(piece)))
    assert len(left) <= 500_000


def test_strange_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    """No line of any shape stops the import."""
    report = ImportReport()
    lines = [
        "\ufeff\r\n", "garbage\n", "[1, 2]\n", "[" * 50_000 + "\n",
        {"type": "new-thing"}, {"type": 7}, {"no": "type"},
        {"type": "user", "sessionId": "s-1", "message": None},
        {"type": "user", "sessionId": 12, "message": {"content": {"a": 1}}},
        assistant({"type": "hologram"}, 5, {"type": "text", "text": None}, call("Bash", None)),
        user("kept", uuid="u-1"), user("kept", uuid="u-1"), user([result(None)]),
        user("x\ud800y \x00"),
    ]  # fmt: skip
    found = list(read("claude-code", written(tmp_path, *lines), report=report))
    assert found[0]["content"] == "Tool Bash: null\nUser: kept\nUser: x\ufffdy \x00"
    assert report.skipped == {
        "line that is not JSON": 2,
        "line that is not an object": 1,
        "line of type new-thing": 1,
        "unknown line": 2,
        "message without content": 2,
        "unknown block": 1,
        "block of type hologram": 1,
        "block of type text": 1,
        "repeated line": 1,
    }


def test_compacted_history_is_a_summary(tmp_path: Path) -> None:
    """What the host wrote in the user's place when it compacted is not called the user's word."""
    found = of_lines(tmp_path, user("This session is continued.", isCompactSummary=True), user("go on"))
    assert found[0]["content"] == "Summary: This session is continued.\nUser: go on"
    assert found[0]["title"] == "go on"


def test_sessions_without_text_give_no_record(tmp_path: Path) -> None:
    """A file of side chains, and a summary alone, are counted."""
    report = ImportReport()
    written(tmp_path, user("x", isSidechain=True), name="a.jsonl")
    written(tmp_path, {"type": "summary", "summary": "s", "leafUuid": "u"}, name="b.jsonl")
    written(tmp_path, user([{"type": "thinking", "thinking": "t"}], sessionId="c"), name="c.jsonl")
    assert list(read("claude-code", tmp_path, report=report)) == []
    assert report.skipped == {
        "side chain": 1,
        "summary without its session": 1,
        "thinking": 1,
        "session without text": 1,
    }


def test_subagents_have_episodes_of_their_own(tmp_path: Path) -> None:
    """By the name in their lines or of their file, under the id of the session that called them, wherever they are."""
    report = ImportReport()
    (tmp_path / "s-1" / "subagents").mkdir(parents=True)
    written(tmp_path, user("main", cwd="/home/mika/app"), user("lost", isSidechain=True), name="s-1.jsonl")
    deep = {"isSidechain": True, "cwd": "/home/mika/app"}
    written(tmp_path / "s-1" / "subagents", user("find it", agentId="a7", **deep), user("found", agentId="a7", **deep),
            '{"type": "assi', name="agent-a7.jsonl")  # fmt: skip
    written(tmp_path, user("look", **deep), name="agent-b8.jsonl")
    found = list(read("claude-code", tmp_path, report=report))
    assert [(r["external_id"], r["type"], r["path"], r["content"]) for r in found] == [
        ("claude-code:s-1:agent-b8", "subagent", "sessions/app/s-1/agent-b8", "User: look"),
        ("claude-code:s-1", "session", "sessions/app/s-1", "User: main"),
        ("claude-code:s-1:agent-a7", "subagent", "sessions/app/s-1/agent-a7", "User: find it\nUser: found"),
    ]
    assert found[2]["source"]["agent"] == "a7"
    assert report.skipped == {"half-written last line": 1, "side chain": 1}


def test_sessions_are_told_apart_and_brought_together(tmp_path: Path) -> None:
    """A folder gives every session once: by its own file first, else gathered over the files that hold it."""
    report = ImportReport()
    written(tmp_path, user("copied", sessionId="b"), user("own", sessionId="a"), name="a.jsonl")
    written(tmp_path, user("original", sessionId="b"), name="b.jsonl")
    (tmp_path / "old").mkdir()
    written(tmp_path / "old", user("january", sessionId="x"), name="1.jsonl")
    written(tmp_path / "old", user("february", sessionId="x"), user("unnamed", sessionId=None), name="2.jsonl")
    found = [(r["external_id"], r["content"]) for r in read("claude-code", tmp_path, report=report)]
    assert found == [
        ("claude-code:a", "User: own"),
        ("claude-code:b", "User: original"),
        ("claude-code:x", "User: january\nUser: february\nUser: unnamed"),
    ]
    assert report.skipped == {"line of a session that has its own file": 1}


def test_folders_of_other_systems_keep_their_last_name_only(tmp_path: Path) -> None:
    """The first working folder names the project, also with backslashes; paths below it are made relative."""
    lines = (
        user("hi", cwd="C:\\Users\\mika\\my|app\\"),
        assistant(call("Edit", {"file_path": "C:\\Users\\mika\\my|app\\src\\a.ts"}), cwd="C:\\Users\\mika"),
        assistant(call("Read", {"file_path": "/etc/hosts"})),
    )
    found = of_lines(tmp_path, *lines, path_prefix="p")[0]
    assert found["path"] == "p/sessions/my-app/s-1"
    assert found["source"]["project"] == "my|app"
    assert found["metadata"]["files"] == ["/etc/hosts", "src/a.ts"]


def test_very_long_sessions_go_on_in_parts(tmp_path: Path) -> None:
    """Above two million characters a session is cut between turns; the first part keeps the id of the session."""
    found = of_lines(tmp_path, *(user("鍵" * 900_000) for _ in range(3)))
    assert [(r["external_id"], len(r["content"])) for r in found] == [
        ("claude-code:s-1", 1_800_013),
        ("claude-code:s-1:part-2", 900_006),
    ]


def test_at_most_fifty_files_are_named(tmp_path: Path) -> None:
    """The first fifty by name, each once."""
    calls = [call("Read", {"file_path": f"/p/{i % 80:03}.py"}) for i in range(160)]
    files = of_lines(tmp_path, assistant(*calls))[0]["metadata"]["files"]
    assert files == [f"/p/{i:03}.py" for i in range(50)]
