"""The file itself: what it may be, who holds it, and what every failure says."""

import gzip
import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import pytest

from context_packs.store.errors import (
    InvalidField,
    StoreDamaged,
    StoreError,
    StoreLocked,
    StoreNewer,
    StoreReadOnly,
    StoreUnavailable,
)
from context_packs.store.file.duck import Duck, migrations, query
from context_packs.store.values import Viewer

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


def write_foreign_files(folder: Path) -> dict[str, str]:
    """One file of each foreign kind, by name, and what is said of it."""
    with sqlite3.connect(folder / "lite.db") as lite:
        lite.execute("CREATE TABLE t (a)")
    lite.close()
    duckdb.sql("SELECT 1 AS a").write_parquet(str(folder / "rows.parquet"))
    (folder / "lines.gz").write_bytes(gzip.compress(b"hello"))
    with zipfile.ZipFile(folder / "files.zip", "w") as archive:
        archive.writestr("a", "b")
    (folder / "text.duckdb").write_text("hello " * 5000)
    (folder / "word.duckdb").write_text("記憶", "utf-8")
    (folder / "empty.duckdb").touch()
    (folder / "zeros.duckdb").write_bytes(bytes(20_000))
    (folder / "short.duckdb").write_bytes(b"\x00" * 8 + b"DUCK" + b"\x00" * 100)
    return {
        "lite.db": "the file is an SQLite database, not a store: name another path",
        "rows.parquet": "the file is a Parquet file, not a store: name another path",
        "lines.gz": "the file is a gzip file, not a store: name another path",
        "files.zip": "the file is a zip archive, not a store: name another path",
        "text.duckdb": "the file is text, not a store: name another path",
        "word.duckdb": "the file is text, not a store: name another path",
        "empty.duckdb": "the file is empty, not a store: remove it or name another path",
        "zeros.duckdb": "the file is not a DuckDB file, so it is not a store: name another path",
        "short.duckdb": "the store cannot be read: the file was cut off",
    }


def test_a_file_of_another_kind_is_named_and_left_alone(folder: Path) -> None:
    """SQLite, Parquet, archives, text, nothing at all: one line says what it is, and it stays as it was."""
    for name, message in write_foreign_files(folder).items():
        before = (folder / name).read_bytes()
        refused(folder / name, StoreDamaged, message)
        assert (folder / name).read_bytes() == before


NO_NETWORK = """
import sys

def watch(event, args):
    if event.startswith("socket."):
        raise RuntimeError(event)

sys.addaudithook(watch)
from context_packs.store.duckstore import DuckStore
from context_packs.store.errors import StoreDamaged
for path in sys.argv[1:]:
    try:
        DuckStore(path, mode="exclusive")
    except StoreDamaged:
        continue
    raise AssertionError(path)
store = DuckStore(sys.argv[1] + ".fresh", mode="exclusive")
for sql in ("SET autoinstall_known_extensions = true", "ATTACH 'x.db' AS x (TYPE sqlite)"):
    try:
        with store.duck.reading() as session:
            session.run(sql)
    except Exception:
        continue
    raise AssertionError(sql)
"""


def test_no_file_makes_duckdb_load_an_extension(folder: Path) -> None:
    """Under strace no process that opens foreign files makes an internet socket; in Python none is made either."""
    names = [str(folder / name) for name in write_foreign_files(folder)]
    foreign(folder / "other.db", "CREATE TABLE trips (km INTEGER)")
    command = [sys.executable, "-c", NO_NETWORK, *names, str(folder / "other.db")]
    home = {**os.environ, "HOME": str(folder)}
    # Without a network of its own any attempt to reach one fails at once and would be told as such.
    jail = ["unshare", "--net", "--"]
    if subprocess.run([*jail, "true"], capture_output=True, check=False).returncode:
        jail = []  # not allowed here
    run = subprocess.run([*jail, *command], capture_output=True, text=True, timeout=120, check=False, env=home)
    assert (run.returncode, run.stderr) == (0, "")
    assert not (folder / ".duckdb").exists()


def test_a_damaged_store_says_what_helps(folder: Path) -> None:
    """A store that was cut off or overwritten names the commands that look and rescue, and is left as it was."""
    with Duck(folder / "good.duckdb").writing() as session:
        session.run("INSERT INTO meta SELECT 'x', repeat('y', 100) FROM range(5000)")
    whole = (folder / "good.duckdb").read_bytes()
    (folder / "cut.duckdb").write_bytes(whole[: len(whole) // 3])
    overwritten = bytearray(whole)
    for start in range(12288, len(whole), 4096):
        overwritten[start : start + 64] = b"\xff" * 64
    (folder / "overwritten.duckdb").write_bytes(overwritten)
    for name in ("cut", "overwritten"):
        before = (folder / f"{name}.duckdb").read_bytes()
        refused(folder / f"{name}.duckdb", StoreDamaged, "the store cannot be read: it is damaged; `doctor --full`")
        assert (folder / f"{name}.duckdb").read_bytes() == before


def test_a_database_of_something_else_is_left_alone(folder: Path) -> None:
    """A DuckDB file with other tables or views, even with one called meta, is no store, and nothing is added to it."""
    statements = {
        "nothing": "SELECT 1",
        "table": "CREATE TABLE trips (km INTEGER)",
        "view": "CREATE VIEW trips AS SELECT 1 AS km",
        "meta": "CREATE TABLE meta (km INTEGER)",
        "meta_view": "CREATE VIEW meta AS SELECT 1 AS name, 2 AS value",
        "meta_text": "CREATE TABLE meta AS SELECT 'schema_version' AS name, 'three' AS value",
        "meta_number": "CREATE TABLE meta AS SELECT 'schema_version' AS name, '3' AS value",
    }
    for name, statement in statements.items():
        path = foreign(folder / f"{name}.db", statement)
        before = path.read_bytes()
        refused(path, StoreDamaged, "the file is a DuckDB database but not a context-packs store: name another path")
        assert path.read_bytes() == before
        with duckdb.connect(str(path)) as connection:
            assert len(connection.execute("SHOW TABLES").fetchall()) == (name != "nothing")


def test_a_store_without_a_version_is_damaged(folder: Path) -> None:
    """Tables of our names whose version is missing are not migrated over."""
    path = folder / "x.db"
    with Duck(path).writing():
        pass
    with duckdb.connect(str(path)) as connection:
        connection.execute("DELETE FROM meta")
    refused(path, StoreDamaged, "the store has no schema version: it is damaged; restore a backup or run `salvage`")


def test_a_log_of_somebody_else_is_not_folded_in(folder: Path) -> None:
    """A foreign database beside whose file a log stands is refused without a change to either."""
    path = folder / "other.db"
    script = (
        "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]); c.execute('CREATE TABLE trips (km INT)'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert set(before) == {"other.db", "other.db.wal"}
    refused(path, StoreDamaged, "the file is a DuckDB database but not a context-packs store: name another path")
    assert {name: (folder / name).read_bytes() for name in before} == before


def test_a_newer_schema_is_refused(folder: Path) -> None:
    """A store of a later release says so, with what to do, and is not touched."""
    path = folder / "x.db"
    with Duck(path).writing():
        pass
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'schema_version'")
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
    for mode in ("shared", "exclusive"):
        with pytest.raises(StoreReadOnly, match=r"^the folder of the store cannot be made: name another path$"):
            kit.write(kit.store(folder / "file" / "x.db", mode=mode), "x")


@pytest.mark.parametrize("name", ["a/b/store.duckdb", "store.duckdb"])
@pytest.mark.parametrize("mode", ["shared", "leased"])
def test_a_read_of_a_missing_store_says_so_and_makes_nothing(kit: Any, name: str, mode: Any) -> None:
    """A mistyped path is no empty memory: no file and no folder comes of it, until something is written."""
    folder = kit.folder / "typed"
    folder.mkdir()
    store = kit.store(folder / name, mode=mode)
    message = "^there is no store here yet: remember something first, or name the path of the store you mean$"
    for read in (lambda: store.stats(kit.me), lambda: store.get("mem:1", kit.me), lambda: list(store.export())):
        with pytest.raises(StoreUnavailable, match=message):
            read()
    assert list(folder.iterdir()) == []
    assert kit.write(store, "first").id == "mem:1"
    assert store.stats(kit.me)["records"] == 1


@pytest.mark.parametrize("address", ["postgresql://me:secret@db:5432/x", "https://x.example/y", "s3:/bucket/x"])
def test_an_address_is_no_store(kit: Any, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that looks like an address is refused, without a word of what stands in it, and makes no folder."""
    monkeypatch.chdir(kit.folder)
    with pytest.raises(InvalidField, match=r"^store: a [a-z0-9]+ address is not a file; name the path of a file$"):
        kit.store(address)
    assert list(kit.folder.iterdir()) == []


@pytest.mark.parametrize("mode", ["shared", "leased", "exclusive"])
@pytest.mark.parametrize("how", ["removed", "moved", "replaced"])
def test_nothing_is_acknowledged_once_the_file_is_another(kit: Any, mode: Any, how: str) -> None:
    """A store that was moved away, removed or copied over while in use takes no write into nothing; put back it works,
    and what was acknowledged before is in the file that was moved."""
    store = kit.store(mode=mode)
    kit.write(store, "before")
    away = kit.folder / "away.duckdb"
    if how == "replaced" and mode == "shared":
        return  # opened anew for each operation, it is simply the other store
    walk = store.export()
    if how == "replaced":
        other = kit.store(away, mode="shared")
        kit.write(other, "of the other")
        other.close()
        next(walk)  # holds the file: an idle one would have been let go of
        os.replace(away, kit.path)
    elif how == "moved":
        os.replace(kit.path, away)
    else:
        kit.path.unlink()
    message = "^the store was moved, removed or replaced while it was in use: put it back and try again$"
    works = [lambda: kit.write(store, "into nothing"), lambda: store.stats(kit.me)]
    for work in works[:1] if how == "replaced" else works * 2:
        with pytest.raises(StoreUnavailable, match=message):
            work()
    walk.close()
    if how == "replaced":
        assert [line["content"] for line in store.export()] == ["of the other"]
        assert kit.write(store, "after").id == "mem:2"
    elif how == "moved":
        assert not kit.path.exists()
        moved = kit.store(away)
        assert [line["content"] for line in moved.export()] == ["before"]
        moved.close()
        os.replace(away, kit.path)
        assert kit.write(store, "after").id == "mem:2"
    else:
        assert not kit.path.exists()


@pytest.mark.parametrize("mode", ["leased", "exclusive"])
@pytest.mark.parametrize("how", ["cut off", "cut short", "another store", "a backup of its own"])
def test_a_store_that_is_overwritten_in_place_takes_nothing_more(kit: Any, mode: Any, how: str) -> None:
    """Bytes that somebody else puts into the file, under the same inode, are noticed at once and never written over."""
    store = kit.store(mode=mode)
    kit.write(store, "before")
    with store.duck.alone() as path:
        backup = Path(path).read_bytes()
    if how == "another store":
        other = kit.store(kit.folder / "other.duckdb")
        kit.write(other, "of the other")
        other.close()
        backup = (kit.folder / "other.duckdb").read_bytes()
    kit.write(store, "since the backup")
    with store.duck.alone():
        pass  # folded in, so that the file differs from its backup
    walk = store.export()
    next(walk)  # an idle file would have been let go of
    with open(kit.path, "r+b") as file:
        file.truncate(len(backup) // 2 if how == "cut short" else 0)
        if how.endswith(("store", "own")):
            file.write(backup)
    cut = kit.path.read_bytes()
    message = r"^the store was overwritten while it was in use: nothing more goes into it; restore a backup$"
    for work in (lambda: kit.write(store, "into nothing"), lambda: store.stats(kit.me)):
        with pytest.raises(StoreUnavailable, match=message):
            work()
    walk.close()
    store.close()
    left = {"cut off": b"", "cut short": cut}
    assert kit.path.read_bytes() == left.get(how, backup)


def test_a_write_whose_file_is_moved_meanwhile_is_not_answered(kit: Any) -> None:
    """A move between the first statement and the commit is noticed behind the commit."""
    store = kit.store(mode="leased")
    kit.write(store, "before")
    with pytest.raises(StoreUnavailable, match=r"^the store was moved"), store.duck.writing() as session:
        session.run("INSERT INTO meta VALUES ('x', 'y')")
        os.replace(kit.path, kit.folder / "away.duckdb")


@pytest.mark.parametrize("mode", ["shared", "leased", "exclusive"])
def test_only_the_owner_may_read_what_is_made(kit: Any, mode: Any) -> None:
    """Folders are 0700; store, log and locks are 0600; a store that its owner opened for a group has a log for it."""
    path = kit.folder / "new" / "deep" / "s.duckdb"
    store = kit.store(path, mode=mode)
    kit.write(store, "x")
    with store.duck.writing() as session:
        session.run("INSERT INTO meta VALUES ('x', 'y')")
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir() if file.is_file()}
    assert set(modes) >= {"s.duckdb", "s.duckdb.lock", "s.duckdb.queue"}
    assert set(modes.values()) == {0o600}
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parent.parent)] == [0o700, 0o700]
    if mode != "shared":
        assert "s.duckdb.wal" in modes


@pytest.mark.parametrize("name", ["lock", "queue"])
def test_a_planted_link_or_pipe_is_not_followed(kit: Any, name: str) -> None:
    """What stands where a lock belongs is neither emptied nor waited on; the store says what to do."""
    kit.write(kit.store(), "first")
    kit.close()
    victim = kit.folder / "victim"
    victim.write_text("precious")
    planted = kit.folder / f"{kit.path.name}.{name}"
    planted.unlink()
    message = "^the lock beside the store is a link or no regular file: remove it and try again$"
    planted.symlink_to(victim)
    with pytest.raises(StoreUnavailable, match=message):
        kit.store(wait=1)
    planted.unlink()
    planted.mkdir()
    with pytest.raises(StoreUnavailable, match=message):
        kit.store(wait=1)
    planted.rmdir()
    os.mkfifo(planted)
    with pytest.raises(StoreUnavailable, match=message):
        kit.store(wait=1)
    planted.unlink()
    assert victim.read_text() == "precious"
    assert kit.store().get("mem:1", kit.me).content == "first"


def test_a_pipe_in_place_of_a_store_is_refused_at_once(kit: Any) -> None:
    """Nothing waits for a writer that never comes."""
    os.mkfifo(kit.folder / "pipe")
    refused(kit.folder / "pipe", StoreUnavailable, "the path of the store is not a regular file: name another path")


HOLDER = """
import sys
from context_packs.store.file.duck import Duck
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
from context_packs.store.values import Filters, Viewer
from context_packs.store.duckstore import DuckStore
me = Viewer("planner")
def refused(work):
    try:
        work()
    except StoreReadOnly as error:
        assert str(error) == "the store cannot be written: make the file and its folder writable", error
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
        assert {path.name for path in folder.iterdir()} <= {
            "memory.duckdb",
            "memory.duckdb.lock",
            "memory.duckdb.queue",
        }
    finally:
        os.chmod(folder, 0o755)


def test_a_full_disk_is_said_and_loses_nothing(kit: Any) -> None:
    """When the file cannot grow writes fail as full, reads go on, and with room again everything answered is there."""
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
