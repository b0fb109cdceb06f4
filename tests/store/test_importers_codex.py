"""Sessions of Codex."""

import json
from pathlib import Path
from typing import Any

import pytest

from context_packs.packer.service import ContextPacks
from context_packs.store.exchange.importers import ImportOptions, ImportReport, read

ID = "0199a0b1-2222-7333-8444-555566667777"
NAME = f"rollout-2026-02-03T09-00-00-{ID}.jsonl"


def line(kind: str, second: int = 0, **payload: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-02-03T09:00:{second:02}.123Z", "type": kind, "payload": payload}


def item(second: int = 0, **payload: Any) -> dict[str, Any]:
    return line("response_item", second, **payload)


def message(role: str, text: str, second: int = 0) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(second, type="message", role=role, content=[{"type": kind, "text": text}])


def written(folder: Path, *lines: object, name: str = NAME) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(one if isinstance(one, str) else json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    return path


META = line("session_meta", id=ID, cwd="/home/mika/kiln", cli_version="0.171.0", git={"branch": "main"})
LINES = (
    META,
    message("developer", "<permissions instructions>Sandbox</permissions instructions>"),
    message("user", "# AGENTS.md instructions for /home/mika/kiln\n\n<INSTRUCTIONS>x</INSTRUCTIONS>"),
    message("user", "<environment_context>\n<cwd>/home/mika/kiln</cwd>\n</environment_context>"),
    line("turn_context", cwd="/home/mika/kiln", model="m"),
    message("user", "Which cone does kiln.py take?", 1),
    line("event_msg", 1, type="user_message", message="Which cone does kiln.py take?"),
    item(2, type="reasoning", summary=[], encrypted_content="x"),
    item(3, type="function_call", name="shell", arguments='{"command":["cat","kiln.py"]}', call_id="c-1"),
    item(4, type="function_call_output", call_id="c-1",
         output=json.dumps({"output": "CONE = 10\n", "metadata": {"exit_code": 0, "duration_seconds": 0.1}})),
    item(5, type="custom_tool_call", name="apply_patch", call_id="c-2",
         input="*** Begin Patch\n*** Update File: /home/mika/kiln/kiln.py\n@@\n-a\n+b\n*** End Patch"),
    item(6, type="custom_tool_call_output", call_id="c-2", output={"content": "failed", "success": False}),
    item(7, type="function_call", name="recall_context", namespace="mcp__memory__", arguments="{}", call_id="c-3"),
    item(8, type="function_call_output", call_id="c-3", output="our own text"),
    item(9, type="ghost_snapshot", ghost_commit={}),
    message("assistant", "Cone ten.", 9),
)  # fmt: skip


def test_a_rollout_is_one_episode(tmp_path: Path) -> None:
    """What was said, called and answered; what the host says and what stands there twice is counted."""
    report = ImportReport()
    source = written(tmp_path, *LINES, '{"timestamp": "2026-02-03T09:')
    assert list(read("codex", source, report=report)) == [
        {
            "content": "User: Which cone does kiln.py take?\n"
            'Tool shell: {"command":["cat","kiln.py"]}\n'
            "Result: CONE = 10\n"
            "Tool apply_patch: *** Begin Patch *** Update File: /home/mika/kiln/kiln.py @@ -a +b *** End Patch\n"
            "Error: failed\n"
            "Tool mcp__memory__recall_context: {}\n"
            "Assistant: Cone ten.",
            "kind": "episode",
            "type": "session",
            "title": "Which cone does kiln.py take?",
            "path": "sessions/kiln/0199a0b1",
            "external_id": f"codex:{ID}",
            "source": {
                "host": "codex",
                "session_id": ID,
                "project": "kiln",
                "git_branch": "main",
                "version": "0.171.0",
            },
            "metadata": {
                "turns": 2,
                "tools": {"apply_patch": 1, "mcp__memory__recall_context": 1, "shell": 1},
                "files": ["kiln.py"],
                "ended_at": "2026-02-03T09:00:09.123000Z",
            },
            "timestamp": "2026-02-03T09:00:01.123000Z",
        }
    ]
    assert report.skipped == {
        "message of the host": 3,
        "line for the screen": 1,
        "thinking": 1,
        "answer of our own tools": 1,
        "item of type ghost_snapshot": 1,
        "half-written last line": 1,
    }


@pytest.mark.parametrize("form", ["lines", "document"])
def test_older_forms(tmp_path: Path, form: str) -> None:
    """Items without an envelope, and a whole session as one document."""
    meta = {"id": ID, "timestamp": "2025-06-01T00:00:00Z", "instructions": None}
    items = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Cone?"}]},
             {"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}},
             {"type": "message", "role": "assistant", "content": [{"text": "Ten."}]}]  # fmt: skip
    if form == "document":
        path = tmp_path / f"rollout-2025-06-01-{ID}.json"
        path.write_text(json.dumps({"session": meta, "items": items}, indent=1), encoding="utf-8")
    else:
        path = written(tmp_path, meta, {"record_type": "state"}, *items)
    for format in ("codex", "auto"):
        (record,) = read(format, path)
        assert record["content"] == 'User: Cone?\nTool local_shell: {"command":["ls"]}\nAssistant: Ten.'
        assert record["external_id"] == f"codex:{ID}"


def test_a_folder_of_sessions_again_and_grown(tmp_path: Path) -> None:
    """Below folders of years; what stands beside them is no session, and a fork that was cut takes nothing away."""
    written(tmp_path, *LINES, name=f"2026/02/03/{NAME}")
    written(tmp_path, {"session_id": ID, "ts": 1, "text": "x"}, name="history.jsonl")
    with ContextPacks.open(":memory:", "planner", embedder="none") as packs:
        options = ImportOptions(scope_of=lambda cwd: f"project:{cwd}", project="kiln")

        def counts() -> tuple[int, int, int]:
            report = ImportReport()
            done = [
                one for batch in packs.import_file("codex", tmp_path, options=options, report=report) for one in batch
            ]
            assert (report.failed, report.skipped["file that is not a session"]) == ({}, 1)
            return sum(one.created for one in done), sum(one.updated for one in done), len(done)

        assert counts() == (1, 0, 1)
        assert packs.get("ep:1").scope == "project:/home/mika/kiln"
        assert counts() == (0, 0, 1)
        written(tmp_path, META, LINES[5], message("user", "And the shelf?", 20), name=f"2026/02/03/{NAME}")
        assert counts() == (0, 1, 1)
        text = packs.get("ep:1").content
        assert text.count("Which cone") == 1
        assert text.endswith("Assistant: Cone ten.\nUser: And the shelf?")
