"""One file for all supported DuckDB versions: what one writes the other reads, and the other way round.

`NEWEST_DUCKDB_PYTHON` names an interpreter with the same package and another DuckDB; without it the other side is a
second process of this one, and the storage version in the file is what is held.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from context_packs.store.file.duck import Duck

OTHER = """
import json, sys
import duckdb
from context_packs.store.values import Filters, Viewer
from context_packs.store.duckstore import DuckStore
path, command = sys.argv[1:]
store, me = DuckStore(path, mode="exclusive"), Viewer("planner")
if command == "write":
    store.remember_many([{"content": "The office is in Berlin.", "metadata": {"by": "other"}}], me)
    store.remember_many([{"content": "The office is in Porto.", "supersedes": "mem:1"}], me)
    store.remember_many([{"content": "turn one", "external_id": "x", "kind": "episode"}], me)
    store.remember_many([{"content": "turn one, turn two", "external_id": "x", "kind": "episode"}], me)
    store.forget([store.remember_many([{"content": "a secret"}], me)[0].id], "hard_delete", me)
    store.merge()
elif command == "add":
    store.remember_many([{"content": "The office moves again in autumn."}], me)
answer = {
    "duckdb": duckdb.__version__,
    "office": [item.id for item in store.candidates("office", Filters(), me, 10, 10).items],
    "lines": list(store.export()),
}
store.close()
print(json.dumps(answer))
"""


def other(path: Path, command: str) -> Any:
    """Let the other version work on the file; what it sees."""
    python = os.environ.get("NEWEST_DUCKDB_PYTHON") or sys.executable
    run = subprocess.run(
        [python, "-c", OTHER, str(path), command],
        cwd=path.parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    return json.loads(run.stdout)


def test_the_other_version_is_another_one_where_it_is_named(tmp_path: Path) -> None:
    """A named interpreter really brings DuckDB 2, so that the tests below compare two versions."""
    named = os.environ.get("NEWEST_DUCKDB_PYTHON")
    version = other(tmp_path / "x.duckdb", "read")["duckdb"]
    assert version.startswith("2.") if named else version == duckdb.__version__


def test_what_the_other_version_wrote_is_read_here(kit: Any) -> None:
    """Records, versions, links, tombstones and the index written there answer the same here."""
    theirs = other(kit.path, "write")
    store = kit.store()
    assert list(store.export()) == theirs["lines"]
    assert kit.find(store, "office") == theirs["office"] == ["mem:2"]
    assert [len(theirs["lines"]), store.stats(kit.me)["records"]] == [5, 2]
    assert kit.write(store, "written here").id == "mem:4"


def test_what_is_written_here_is_read_by_the_other_version(kit: Any) -> None:
    """The same in the other direction, again and again: both sides write one file in turn."""
    store = kit.store()
    kit.write(store, "The office is in Berlin.")
    for n in range(3):
        kit.close()
        assert len(other(kit.path, "add" if n == 0 else "read")["office"]) == n + 2
        store = kit.store()
        kit.write(store, f"The office has {n + 2} rooms on floor {n}.")
        lines = list(store.export())
    kit.close()
    assert other(kit.path, "read")["lines"] == lines


@pytest.mark.parametrize("mode", ["shared", "exclusive"])
def test_a_new_file_is_of_the_form_that_all_versions_read(kit: Any, mode: Any) -> None:
    """The storage version of a new file is that of DuckDB 1.5, whichever version made it, and stays so."""
    for _ in range(2):
        duck = Duck(kit.path, mode=mode)
        with duck.writing() as session:
            session.run("INSERT INTO meta VALUES ('x', 'y')")
            tags = session.value("SELECT tags FROM duckdb_databases() WHERE database_name = current_database()")
        duck.close()
        assert tags["storage_version"] == "v1.5.0+"
