"""The import command: a project at a time, dry runs, what is gone, exit codes, and taking an import back."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import Ran

Run = Callable[..., Ran]


def session(folder: Path, name: str, cwd: str, *texts: str, day: int = 3) -> Path:
    lines = [
        {"type": "user", "uuid": f"{name}-{i}", "sessionId": name, "timestamp": f"2026-02-{day:02}T09:00:0{i}Z",
         "cwd": cwd, "message": {"role": "user", "content": text}}
        for i, text in enumerate(texts)
    ]  # fmt: skip
    path = folder / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def listed(run: Run) -> list[dict[str, Any]]:
    (found,) = [run("import", "--list", "--json").json]
    assert isinstance(found, list)
    return found


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    """Sessions of two projects, in the folders that the host keeps for them."""
    folder = tmp_path / "projects"
    session(folder / "-home-mika-kiln", "s-1", "/home/mika/kiln", "Which glaze do we take?", day=1)
    session(folder / "-home-mika-kiln", "s-2", "/home/mika/kiln/web", "Which shelf do we take?", day=8)
    session(folder / "-home-mika-bread", "s-3", "/home/mika/bread", "Which flour do we take?", day=8)
    return folder


def test_sessions_go_to_the_scope_of_their_project(run: Run, projects: Path) -> None:
    """As the hooks would have kept them; a scope that is given holds for all."""
    assert run("import", "claude-code", str(projects)).out == "3 created, 0 updated, 0 already there\n"
    scopes = [run("get", f"ep:{n}", "--json").json[0]["scope"] for n in (1, 2, 3)]
    assert scopes == ["project:/home/mika/bread", "project:/home/mika/kiln", "project:/home/mika/kiln/web"]
    run("--agent", "other", "import", "claude-code", str(projects), "--scope", "all")
    assert run("--agent", "other", "get", "ep:4", "--json").json[0]["scope"] == "all"


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (("--project", "/home/mika/kiln"), 2), (("--project", "/home/mika/kiln/"), 2), (("--project", "bread"), 1),
        (("--project", "/home/mika/kil"), 0), (("--since", "2026-02-05"), 2),
        (("--since", "2026-02-05T00:00:00Z", "--project", "kiln"), 1),
    ],
)  # fmt: skip
def test_a_project_or_a_time_alone(run: Run, projects: Path, options: tuple[str, ...], count: int) -> None:
    """What is left out is counted and is no fault."""
    ran = run("import", "claude-code", str(projects), *options, "--json")
    assert (ran.code, ran.json["created"], sum(ran.json["skipped"].values())) == (0, count, 3 - count)


def test_a_dry_run_counts_and_writes_nothing(run: Run, store: Path, projects: Path) -> None:
    """Without a store none is made; with one the counts are what the import would say."""
    asked = ("import", "claude-code", str(projects))
    line = " (dry run: nothing was written)\n"
    assert run(*asked, "--dry-run").out == "3 created, 0 updated, 0 already there" + line
    assert not store.exists()
    run(*asked)
    session(projects / "-home-mika-bread", "s-3", "/home/mika/bread", "Which flour do we take?", "Rye.", day=8)
    session(projects / "-home-mika-bread", "s-4", "/home/mika/bread", "And salt?", day=9)
    assert run(*asked, "--dry-run").out == "1 created, 1 updated, 2 already there" + line
    assert run(*asked).out == "1 created, 1 updated, 2 already there\n"


def test_an_import_is_taken_back(run: Run, projects: Path) -> None:
    """What it made is forgotten and what it changed is as before; the same files can come again."""
    run("import", "claude-code", str(projects))
    session(projects / "-home-mika-bread", "s-3", "/home/mika/bread", "Which flour do we take?", "Rye.", day=8)
    session(projects / "-home-mika-bread", "s-4", "/home/mika/bread", "And salt?", day=9)
    second = run("import", "claude-code", str(projects), "--json").json["id"]
    assert [row["records"] for row in listed(run)] == [2, 2]
    dry = run("import", "--undo", second)
    assert dry.out == "1 forgotten, 1 as they were before (dry run: add --yes to do it)\n"
    assert "Rye." in run("get", "ep:1", "--json").json[0]["content"]
    assert run("import", "--undo", second, "--yes").out == "1 forgotten, 1 as they were before\n"
    assert run("get", "ep:1", "--json").json[0]["content"] == "User: Which flour do we take?"
    assert run("get", "ep:4").code == 4
    assert run("import", "--undo", second, "--yes").code == 4
    assert run("import", "claude-code", str(projects)).out == "1 created, 1 updated, 2 already there\n"


def test_what_changed_since_stays(run: Run, tmp_path: Path) -> None:
    """An earlier import is taken back but for what a later one changed."""
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in ("a", "b"):
        (notes / f"{name}.md").write_text(f"Note {name}.", encoding="utf-8")
    first = run("import", "markdown", str(notes), "--json").json["id"]
    (notes / "b.md").write_text("Note b, later.", encoding="utf-8")
    run("import", "markdown", str(notes))
    ran = run("import", "--undo", first, "--yes")
    assert ran.out == "1 forgotten, 0 as they were before, 1 left as they changed since\n"
    assert run("get", "mem:2", "--json").json[0]["content"] == "Note b, later."


def test_what_is_gone_from_a_folder_is_forgotten(run: Run, tmp_path: Path) -> None:
    """With --prune, of this folder alone, and not what could not be read; it comes back where the file does."""
    for name in ("one", "two"):
        (tmp_path / name / "notes").mkdir(parents=True)
        (tmp_path / name / "notes" / f"{name}-a.md").write_text(f"Note {name} a.", encoding="utf-8")
        (tmp_path / name / "notes" / f"{name}-b.md").write_text(f"Note {name} b.", encoding="utf-8")
        run("import", "markdown", str(tmp_path / name / "notes"))
    notes = tmp_path / "one" / "notes"
    (notes / "one-a.md").unlink()
    (notes / "one-b.md").write_bytes("今天我们讨论窑炉的温度".encode("gbk"))
    assert run("import", "markdown", str(notes)).code == 2
    ran = run("import", "markdown", str(notes), "--prune", "--dry-run")
    assert ran.out.endswith("1 forgotten that are gone (dry run: nothing was written)\n")
    ran = run("import", "markdown", str(notes), "--prune")
    assert ran.out == "0 created, 0 updated, 0 already there, 1 forgotten that are gone\n"
    assert [run("get", f"mem:{n}").code for n in (1, 2, 3, 4)] == [4, 0, 0, 0]
    (notes / "one-a.md").write_text("Note one a.", encoding="utf-8")
    assert run("import", "markdown", str(notes)).out == "1 created, 0 updated, 0 already there\n"


@pytest.mark.parametrize("options", [("--prune", "--since", "2026-01-01"), ("--prune", "--project", "x")])
def test_what_is_left_out_is_never_taken_for_gone(run: Run, tmp_path: Path, options: tuple[str, ...]) -> None:
    """An option that leaves files out does not go with --prune."""
    ran = run("import", "markdown", str(tmp_path), *options)
    assert (ran.code, ran.err) == (2, "error: prune: looks at a whole folder; leave --since and --project out\n")


def test_a_file_that_gave_nothing_is_told_by_the_exit_code(run: Run, tmp_path: Path) -> None:
    """The rest is imported; each such file has a line, and no line shows a path of the host."""
    (tmp_path / "a.json").write_text("<html></html>", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"speaker": "A", "text": "good"}\n', encoding="utf-8")
    for sources in ((tmp_path,), (tmp_path / "a.json", tmp_path / "b.jsonl")):
        ran = run("import", "chat", *map(os.fspath, sources))
        assert (ran.code, ran.out.split(",")[0] in ("1 created", "0 created")) == (2, True)
        assert ran.err.splitlines()[-2:] == [
            "not imported: a.json: is not JSON; give one JSON document or one object a line",
            "error: file: 1 gave nothing: a.json; the rest was imported",
        ]
        assert str(tmp_path) not in ran.err
    ran = run("import", "jsonl", str(tmp_path / "a.json"), "--json")
    assert ran.code == 2
    (tmp_path / "empty.md").write_text("\n", encoding="utf-8")
    assert run("import", "markdown", str(tmp_path / "empty.md")).code == 0
