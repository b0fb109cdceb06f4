"""What commands say of files and stores: where the fault is, in words that people know."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        (
            {"id": "ep:5", "kind": "memory", "content": "x"},
            2,
            "kind: ep:5 is not of kind memory: give the kind episode",
        ),
        ({"id": "mem:1", "content": "other"}, 5, "id: mem:1 already names something else here: import into an empty"),
        ({"id": "mem:7", "supersedes": "7", "content": "x"}, 2, "supersedes: '7' is not an id like mem:1 or ep:1"),
    ],
)
def test_a_line_at_fault_is_named_by_file_and_number(
    run: Run, tmp_path: Path, line: dict[str, str], code: int, told: str
) -> None:
    """Also where only the store shows that it cannot be taken."""
    run("remember", "A record.")
    file = tmp_path / "in.jsonl"
    file.write_text("\n" + json.dumps({"id": "mem:3", "content": "fine"}) + "\n" + json.dumps(line) + "\n")
    ran = run("--quiet", "import", "jsonl", str(file))
    assert ran.code == code
    assert ran.err.startswith(f"error: in.jsonl, line 3: {told}")


def test_json_that_is_too_deep_is_told_in_plain_words(run: Run, tmp_path: Path) -> None:
    """No word of the machinery."""
    file = tmp_path / "in.jsonl"
    file.write_text("[" * 100_000)
    ran = run("--quiet", "import", "jsonl", str(file))
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "line 1: is not JSON (lists and objects are nested too deeply)" in ran.err


def test_progress_is_few_lines_of_records(run: Run) -> None:
    """Where stderr is no terminal: at most one a second, and the last."""
    for n in range(3):
        run("remember", f"Record {n}.")
    assert run("compact").err == "compacting: 3 records\n"
    assert run("reindex").err == "indexing: 3 records\n"


def test_a_store_in_memory_says_that_nothing_remains(run: Run) -> None:
    """The id that is printed is gone with the command."""
    ran = run("--store", ":memory:", "remember", "x")
    assert ran.err == "note: the store is in memory only: it is gone when this command ends\n"
