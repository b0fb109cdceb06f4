"""A backup is a whole store, taken while others use it, and never takes a place that it was not given."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from context_packs.store.errors import InvalidField, StoreDamaged, StoreError
from context_packs.store.file.disk import draft_of

WRITER = """
import sys
from context_packs.store.values import Viewer
from context_packs.store.duckstore import DuckStore

store, me = DuckStore(sys.argv[1], mode="leased"), Viewer("planner")
n = 0
while True:
    n += 1
    print(store.remember_many([{"content": f"line {n} of the writer"}], me)[0].id, flush=True)
"""


def filled(kit: Any, count: int = 40, mode: str = "shared") -> Any:
    store = kit.store(mode=mode)
    store.remember_many([{"content": f"Note {n} about the harbour and word{n}."} for n in range(count)], kit.me)
    return store


@pytest.mark.parametrize("mode", ["shared", "leased", "exclusive"])
def test_a_backup_holds_what_the_store_holds(kit: Any, mode: str) -> None:
    """The copy exports the same lines, and takes writes of its own; the store goes on."""
    store = filled(kit, mode=mode)
    target = kit.folder / "copy.duckdb"
    saved = store.backup(str(target))
    assert (saved.records, saved.bytes) == (40, target.stat().st_size)
    copy = kit.store(target, mode="shared")
    assert list(copy.export()) == list(store.export())
    assert kit.write(copy, "only in the copy").id == "mem:41"
    assert kit.write(store, "only in the store").id == "mem:41"
    assert [line["content"] for line in store.export()][-1] == "only in the store"


def test_a_backup_is_readable_by_its_owner_only_and_leaves_no_draft(kit: Any) -> None:
    """Mode 0600, and nothing else beside it."""
    store = filled(kit)
    folder = kit.folder / "backups"
    folder.mkdir()
    store.backup(str(folder / "copy.duckdb"))
    assert [path.name for path in folder.iterdir()] == ["copy.duckdb"]
    assert stat.S_IMODE((folder / "copy.duckdb").stat().st_mode) == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps drafts of what was killed")
def test_a_backup_takes_away_what_a_killed_one_has_left(kit: Any) -> None:
    """A draft of the same target that nobody holds; one that is held stays, and so does any other file."""
    store = filled(kit)
    folder = kit.folder / "backups"
    folder.mkdir()
    target = folder / "copy.duckdb"
    names = ["copy.duckdb.99.part", "copy.duckdb.x.part", "copyXduckdb.7.part", "other.duckdb.7.part"]
    for name in names:
        (folder / name).write_bytes(b"half")
    (folder / "copy.duckdb.8.part").symlink_to(names[1])
    with draft_of(str(target)) as (draft, _):
        os.rename(draft, folder / "copy.duckdb.9.part")
        store.backup(str(target))
        left = sorted(path.name for path in folder.iterdir())
        assert left == sorted([target.name, "copy.duckdb.8.part", "copy.duckdb.9.part", *names[1:]])
    store.backup(str(target), force=True)
    assert not (folder / "copy.duckdb.9.part").exists()


def test_a_backup_of_a_store_under_load_has_every_answered_write(kit: Any) -> None:
    """While another process writes, a backup holds at least what was answered before it began, and opens at once."""
    store = filled(kit, 0)
    command = [sys.executable, "-c", WRITER, str(kit.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        try:
            for number in range(3):
                answered = [writer.stdout.readline().strip() for _ in range(5)]
                target = kit.folder / f"copy{number}.duckdb"
                store.backup(str(target))
                copy = kit.store(target)
                assert set(answered) <= {line["id"] for line in copy.export()}
                assert kit.find(copy, "line writer") != []
                copy.close()
        finally:
            writer.kill()


def test_a_file_that_is_there_is_overwritten_only_by_force(kit: Any) -> None:
    """Without force the file stays to the byte; with it the backup stands there."""
    store = filled(kit)
    target = kit.folder / "copy.duckdb"
    target.write_bytes(b"mine")
    with pytest.raises(InvalidField) as refused:
        store.backup(str(target))
    assert str(refused.value) == ("file: copy.duckdb exists already: name another, or overwrite it with --force")
    assert target.read_bytes() == b"mine"
    assert store.backup(str(target), force=True).records == 40
    assert len(list(kit.store(target).export())) == 40


def test_a_backup_takes_no_place_that_would_do_harm(kit: Any) -> None:
    """Not the store itself, not a folder, not beside the log of another store, not where nothing can be written."""
    store = filled(kit)
    before = kit.path.read_bytes()
    link = kit.folder / "link.duckdb"
    link.symlink_to(kit.path)
    (kit.folder / "old.duckdb.wal").write_bytes(b"log")
    for target, words in (
        (kit.path, "is the store itself"),
        (link, "is the store itself"),
        (kit.folder, "is not a regular file"),
        (kit.folder / "old.duckdb", "the log of another store"),
        (kit.folder / "none" / "copy.duckdb", "cannot write copy.duckdb"),
    ):
        with pytest.raises(InvalidField, match=words):
            store.backup(str(target), force=True)
    assert kit.path.read_bytes() == before


def test_a_store_in_memory_says_that_it_has_no_file(kit: Any) -> None:
    """One clear line, and the way out."""
    store = kit.store(":memory:")
    with pytest.raises(InvalidField) as refused:
        store.backup(str(kit.folder / "copy.duckdb"))
    assert str(refused.value) == "file: a store in memory has no file to copy: export it"


def test_a_damaged_store_is_not_handed_out_as_a_backup(kit: Any, flipped: Any) -> None:
    """One wrong bit in a used block: an error, no file, no draft."""
    store = filled(kit)
    store.close()
    flipped(kit.path, "records", "content")
    with pytest.raises(StoreError) as damaged:
        kit.store(mode="shared").backup(str(kit.folder / "copy.duckdb"))
    assert isinstance(damaged.value, StoreDamaged)
    assert sorted(path.suffix for path in kit.folder.iterdir() if "copy" in path.name) == []
    assert not os.path.lexists(Path(f"{kit.path}.compact"))
