"""The file itself: what it may be, who holds it, and what every failure says."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import duckdb
import pytest

from context_packs.store.base import Viewer
from context_packs.store.duck import Duck, migrations, query
from context_packs.store.errors import (
    StoreDamaged,
    StoreError,
    StoreLocked,
    StoreNewer,
    StoreReadOnly,
    StoreUnavailable,
)

# Words that messages of DuckDB are told by: in a path they must decide nothing.
TRAP = "could not set lock, read-only 'storage' version \"corrupt\" no space left"


def refused(path: Path, kind: type[StoreError], message: str) -> None:
    """Opening the file in either mode raises `kind` with this beginning, and shows nothing of the path."""
    for mode in ("exclusive", "shared"):
        with pytest.raises(kind) as error:
            duck = Duck(path, mode=mode, wait=0.2)  # type: ignore[arg-type]
            with duck.reading():
                raise AssertionError("opened")
        assert type(error.value) is kind
        assert str(error.value).startswith(message)
        assert len(str(error.value).splitlines()) == 1
        for part in path.parts[1:]:
            assert part not in str(error.value)


def foreign(path: Path, *statements: str) -> Path:
    """A DuckDB file of somebody else."""
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose name is a trap for whoever reads error messages by their words."""
    folder = tmp_path / TRAP
    folder.mkdir()
    return folder


def test_a_path_may_hold_any_characters(kit: Any, folder: Path) -> None:
    """Quotes, blanks, semicolons and other scripts in a path are part of its name."""
    for name in ('it\'s "quoted"; DROP TABLE records --.db', "記憶 👨‍👩‍👧.duckdb", "no_suffix", "%s {x} $1.db"):
        store = kit.store(folder / "deep" / "er" / name)
        kit.write(store, "a line")
        store.close()
        assert kit.store(folder / "deep" / "er" / name).get("mem:1", kit.me).content == "a line"


def test_a_file_of_another_kind_is_damaged(folder: Path) -> None:
    """Text, nothing at all, and the first bytes of a store are no store."""
    message = "the store can not be read: it is damaged or not a DuckDB file"
    (folder / "text.duckdb").write_text("hello " * 5000)
    (folder / "empty.duckdb").touch()
    with Duck(folder / "good.duckdb").writing() as session:
        session.run("INSERT INTO meta SELECT 'x', repeat('y', 100) FROM range(5000)")
    whole = (folder / "good.duckdb").read_bytes()
    (folder / "short.duckdb").write_bytes(whole[:5000])
    (folder / "cut.duckdb").write_bytes(whole[: len(whole) // 3])
    overwritten = bytearray(whole)
    for start in range(12288, len(whole), 4096):
        overwritten[start : start + 64] = b"\xff" * 64
    (folder / "overwritten.duckdb").write_bytes(overwritten)
    for name in ("text", "empty", "short", "cut", "overwritten"):
        before = (folder / f"{name}.duckdb").read_bytes()
        refused(folder / f"{name}.duckdb", StoreDamaged, message)
        assert (folder / f"{name}.duckdb").read_bytes() == before


def test_a_database_of_something_else_is_left_alone(folder: Path) -> None:
    """A DuckDB file with other tables or views, even with one called meta, is no store, and nothing is added to it."""
    statements = {
        "table": "CREATE TABLE trips (km INTEGER)",
        "view": "CREATE VIEW trips AS SELECT 1 AS km",
        "meta": "CREATE TABLE meta (km INTEGER)",
        "meta_view": "CREATE VIEW meta AS SELECT 1 AS name, 2 AS value",
        "meta_text": "CREATE TABLE meta AS SELECT 'schema_version' AS name, 'three' AS value",
    }
    for name, statement in statements.items():
        path = foreign(folder / f"{name}.db", statement)
        refused(path, StoreDamaged, "the file is a DuckDB database but not a context-packs store: name another path")
        with duckdb.connect(str(path)) as connection:
            assert len(connection.execute("SHOW TABLES").fetchall()) == 1


def test_a_store_without_a_version_is_damaged(folder: Path) -> None:
    """A table of our name with nothing in it is not migrated over."""
    path = foreign(folder / "x.db", "CREATE TABLE meta (name VARCHAR, value VARCHAR)")
    refused(path, StoreDamaged, "the store has no schema version: restore it from an export")


def test_a_newer_schema_is_refused(folder: Path) -> None:
    """A store of a later release says so, with what to do, and is not touched."""
    path = folder / "x.db"
    with Duck(path).writing() as session:
        session.run("UPDATE meta SET value = '99' WHERE name = 'schema_version'")
    known = len(migrations())
    refused(path, StoreNewer, f"the store has schema 99, this version knows {known}: upgrade context-packs")


def test_an_older_schema_is_brought_up_to_date(kit: Any) -> None:
    """A store of the first schema gets what came later, keeps its records and can be written."""
    assert migrations()[0] == "0001_records"
    with duckdb.connect(str(kit.path), config={"storage_compatibility_version": "v1.5.0"}) as connection:
        connection.execute(query("0001_records"))
        connection.execute("INSERT INTO meta VALUES ('schema_version', '1')")
        connection.execute("UPDATE counters SET next_value = 8 WHERE name = 'memory'")
    store = kit.store()
    assert store.stats(kit.me)["schema"] == len(migrations())
    assert kit.write(store, "new").id == "mem:8"
    fresh = kit.store(kit.folder / "fresh.duckdb")
    columns = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE database_name = current_database()"
    with store.duck.reading() as old, fresh.duck.reading() as new:
        assert sorted(old.rows(columns)) == sorted(new.rows(columns))


def test_a_folder_and_an_impossible_path_are_unavailable(kit: Any, folder: Path) -> None:
    """A folder in place of the file, and a file in place of a folder, are errors of ours that show no path."""
    (folder / "dir").mkdir()
    refused(folder / "dir", StoreUnavailable, "the path of the store is a folder: name a file in it")
    (folder / "file").touch()
    refused(folder / "file" / "x.db", StoreReadOnly, "the folder of the store can not be made: name another path")


def test_a_file_taken_away_is_made_anew(kit: Any) -> None:
    """In the shared mode a store that was removed between two operations starts empty instead of failing."""
    store = kit.store(mode="shared")
    kit.write(store, "before")
    kit.path.unlink()
    assert store.stats(kit.me)["records"] == 0
    assert kit.write(store, "after").id == "mem:1"


HOLDER = """
import sys
from context_packs.store.duck import Duck
duck = Duck(sys.argv[1], mode="exclusive")
print("held", flush=True)
sys.stdin.readline()
duck.close()
"""


def test_a_held_file_is_locked_until_it_is_let_go(kit: Any) -> None:
    """While another process holds the file, reads and writes end after `wait` with what to do; afterwards they work."""
    path = kit.folder / "held.duckdb"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None and holder.stdin is not None
        assert holder.stdout.readline() == "held\n"
        message = "the store is held by another process: end it, or let both use the shared mode"
        refused(path, StoreLocked, message)
        store = kit.store(path, mode="shared", wait=0.2)
        for work in (lambda: kit.write(store, "x"), lambda: store.get("mem:1", kit.me), lambda: store.stats(kit.me)):
            with pytest.raises(StoreLocked, match=f"^{message}$"):
                work()
        holder.stdin.write("go\n")
        holder.stdin.close()
        assert holder.wait(timeout=60) == 0
    assert kit.write(store, "x").id == "mem:1"


def test_what_fails_in_a_transaction_is_taken_back(kit: Any) -> None:
    """An error inside a write undoes all of it, whatever the error is, and the next write works."""
    duck = Duck(kit.path, mode="exclusive")
    for error in (ValueError("ours"), KeyboardInterrupt()):
        with pytest.raises(type(error)), duck.writing() as session:
            session.run("INSERT INTO meta VALUES ('half', 'done')")
            raise error
    with pytest.raises(duckdb.ProgrammingError), duck.writing() as session:
        session.run("INSERT INTO meta VALUES ('half', 'done')")
        session.run("SELECT * FROM no_such_table")
    with duck.writing() as session:
        assert session.value("SELECT count(*) FROM meta WHERE name = 'half'") == 0
        session.run("INSERT INTO meta VALUES ('whole', 'done')")
    with duck.reading() as session:
        assert session.value("SELECT value FROM meta WHERE name = 'whole'") == "done"
        assert session.value("SELECT value FROM meta WHERE name = 'nothing'") is None
    duck.close()


# A process without privileges, whoever starts it: root is held to permission bits once its capabilities are gone.
UNPRIVILEGED = """
import ctypes, sys
libc = ctypes.CDLL(None)
if hasattr(libc, "capset"):
    assert libc.capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()) == 0
from context_packs.packer.errors import StoreReadOnly
from context_packs.store.base import Filters, Viewer
from context_packs.store.duckstore import DuckStore
me = Viewer("planner")
def refused(work):
    try:
        work()
    except StoreReadOnly as error:
        assert str(error) == "the store can not be written: make the file and its folder writable", error
        return
    raise AssertionError("was not refused")
"""


def unprivileged(script: str, *args: object) -> None:
    command = [sys.executable, "-c", UNPRIVILEGED + textwrap.dedent(script), *map(str, args)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("mode", ["shared", "exclusive"])
def test_a_read_only_file_can_be_read_and_not_written(kit: Any, mode: str) -> None:
    """Reads work, every write is refused with what to do, and nothing is made beside the file."""
    folder = kit.folder / "shelf"
    folder.mkdir()
    store = kit.store(folder / "memory.duckdb")
    kit.write(store, "A line on paper.")
    kit.close()
    os.chmod(folder / "memory.duckdb", 0o444)
    os.chmod(folder, 0o555)
    try:
        unprivileged(
            """
            store = DuckStore(sys.argv[1], mode=sys.argv[2])
            assert store.get("mem:1", me).content == "A line on paper."
            assert [i.id for i in store.candidates("paper", Filters(), me, 10, 10).items] == ["mem:1"]
            assert len(list(store.export())) == store.stats(me)["records"] == 1
            refused(lambda: store.remember_many([{"content": "x"}], me))
            refused(lambda: store.forget(["mem:1"], "soft_delete", me))
            refused(store.probe)
            refused(store.merge)
            assert store.get("mem:1", me).content == "A line on paper."
            store.close()
            refused(lambda: DuckStore(sys.argv[1] + ".new", mode=sys.argv[2]).probe())
            """,
            folder / "memory.duckdb",
            mode,
        )
        assert [path.name for path in folder.iterdir()] == ["memory.duckdb"]
    finally:
        os.chmod(folder, 0o755)


def test_a_full_disk_is_said_and_loses_nothing(kit: Any) -> None:
    """When the file can not grow writes fail as full, reads go on, and with room again everything answered is there."""
    script = """
    import resource
    from context_packs.store.errors import StoreFull
    for mode in ("shared", "exclusive"):
        store, kept = DuckStore(f"{sys.argv[1]}.{mode}", mode=mode), 0
        store.remember_many([{"content": "the first line"}], me)
        resource.setrlimit(resource.RLIMIT_FSIZE, (store.duck.size() + 300_000, resource.RLIM_INFINITY))
        try:
            while kept < 500:
                store.remember_many([{"content": f"line {kept}: " + "x" * 150_000}], me)
                kept += 1
            raise AssertionError("never full")
        except StoreFull as error:
            assert str(error) == "no space left for the store: free some and try again; nothing was lost", error
        assert store.get("mem:1", me).content == "the first line"
        assert store.stats(me)["records"] == kept + 1
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        store.remember_many([{"content": "after"}], me)
        store.close()
        assert DuckStore(f"{sys.argv[1]}.{mode}").stats(me)["records"] == kept + 2
    """
    unprivileged(script, kit.path)


def test_no_statement_sees_another_file(kit: Any) -> None:
    """Two stores used at once in one process keep apart."""
    a, b = kit.store(kit.folder / "a.db"), kit.store(kit.folder / "b.db", mode="shared")
    kit.write(a, "in a")
    kit.write(b, "in b, first")
    b.remember_many([{"content": "in b, second"}], Viewer("planner"))
    assert [line["content"] for line in a.export()] == ["in a"]
    assert [line["content"] for line in b.export()] == ["in b, first", "in b, second"]
