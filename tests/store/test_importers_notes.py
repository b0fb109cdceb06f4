"""Front matter of notes is kept and found; the memory folder of Claude Code."""

import json
from pathlib import Path

import pytest

from context_packs.packer.service import ContextPacks
from context_packs.store.exchange.importers import ImportOptions, ImportReport, read

FRONT = """---
title: Firing
aliases: [Brennen, 窯焚き]
tags:
  - kiln
  - glaze
description: How the large kiln is fired
people:
  - name: Hanako
date: 2026-01-02
---
"""


def note(folder: Path, text: str, name: str = "a.md") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("body", ["", "Slowly at first.\n"])
@pytest.mark.parametrize("asked", ["Brennen", "窯焚き", "glaze", "large kiln", "Hanako", "2026-01-02"])
def test_front_matter_is_found(tmp_path: Path, body: str, asked: str) -> None:
    """Aliases, tags, description, people and dates, also of a note that has nothing else."""
    with ContextPacks.open(":memory:", "planner", embedder="none") as packs:
        list(packs.import_file("markdown", note(tmp_path, FRONT + body)))
        packs.remember("Bread is baked on Mondays.")
        assert [row.record.id for row in packs.search_memory(asked)] == ["mem:1"]
        record = packs.get("mem:1")
        assert record.title == "Firing"
        assert record.metadata["tags"] == ["kiln", "glaze"]
        assert record.content.endswith(body.strip() or "date: 2026-01-02")


@pytest.mark.parametrize(
    "text",
    [
        "---\nA line of prose.\n---\nMore.\n",
        "---\n\n---\n\nMore.\n",
        "---\n- a\n- b\n---\nMore.\n",
        "---\nnever closed\n",
    ],
)
def test_a_rule_at_the_start_is_no_front_matter(tmp_path: Path, text: str) -> None:
    """Nothing between two rules is lost."""
    (record,) = read("markdown", note(tmp_path, text))
    words = [line for line in text.split("\n") if line.strip(" -")]
    assert [line for line in record["content"].split("\n") if line.strip(" -")] == words


def test_a_picture_inside_a_text_is_named(tmp_path: Path) -> None:
    """Its bytes would fill packs."""
    (record,) = read("markdown", note(tmp_path, f"See ![x](data:image/png;base64,{'iVBORw0KGgo' * 400}) here."))
    assert record["content"] == "See ![x]([image/png, 3 KB]) here."


def test_memories_of_claude_code_are_notes_of_their_project(tmp_path: Path) -> None:
    """From the folder of all projects, of one, of its memory, or from a file: the same ids and scope."""
    project = tmp_path / "projects" / "-home-mika-kiln"
    note(project, "- [Glaze](glaze.md): ash", "memory/MEMORY.md")
    path = note(
        project, "---\nname: glaze\ndescription: ash only\ntype: feedback\n---\nNever celadon.", "memory/glaze.md"
    )
    note(project, "No memory.", "notes/x.md")
    line = {"type": "user", "sessionId": "s", "cwd": "/home/mika/kiln", "message": {"content": "hi"}}
    (project / "s.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    options = ImportOptions(scope_of=lambda cwd: f"project:{cwd}")
    for source, count in ((tmp_path / "projects", 2), (project, 2), (project / "memory", 2), (path, 1)):
        report = ImportReport()
        found = list(read("claude-memory", source, options=options, report=report))
        assert len(found) == count
        glaze = next(one for one in found if "celadon" in one["content"])
        assert glaze["external_id"] == "claude-memory:-home-mika-kiln/glaze.md"
        assert (glaze["path"], glaze["title"]) == ("memory/-home-mika-kiln/glaze.md", "glaze")
        assert (glaze["type"], glaze["scope"]) == ("feedback", "project:/home/mika/kiln")
        assert glaze["content"] == "name: glaze\ndescription: ash only\n\nNever celadon."
        assert report.skipped == (
            {"note that is not a memory": 1} if source in (project, tmp_path / "projects") else {}
        )
