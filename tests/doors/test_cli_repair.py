"""The commands that keep a store in health: what they print, and their exit codes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[..., Any]


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def test_a_backup_a_compaction_and_a_full_check(run: Run, store: Path, tmp_path: Path) -> None:
    """Results on stdout, JSON as one document, nothing found wrong."""
    run("remember", "The crane is repaired.")
    target = tmp_path / "copy.duckdb"
    saved = run("backup", str(target), "--json", "--quiet").json
    assert saved == {"bytes": target.stat().st_size, "records": 1}
    again = run("backup", str(target))
    assert (again.code, again.out) == (2, "")
    assert "copy.duckdb exists already" in again.err
    assert run("compact", "--json", "--quiet").json["after"] == store.stat().st_size
    assert run("reindex", "--quiet").code == 0
    ran = run("doctor", "--full", "--json", "--quiet")
    assert (ran.code, ran.json["ok"]) == (0, True)
    assert {"blocks", "tables", "agreement"} <= {check["check"] for check in ran.json["checks"]}


def test_damage_is_named_and_what_is_sound_is_salvaged(run: Run, store: Path, tmp_path: Path) -> None:
    """Exit 6 and one line for the finding; salvage gives the record, and leaves the file as it is."""
    run("remember", "The crane is repaired.")
    flip(store, 12_288 + 7)
    before = store.read_bytes()
    ran = run("doctor", "--full", "--quiet")
    assert ran.code == 6
    assert any(line.startswith("BAD blocks: block 0 is damaged") for line in ran.out.splitlines()), ran.out
    out = tmp_path / "out.jsonl"
    ran = run("salvage", str(store), str(out), "--json", "--quiet")
    assert ran.code in (0, 6)
    if out.exists():
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        assert [line["content"] for line in lines] in (["The crane is repaired."], [])
    assert store.read_bytes() == before
