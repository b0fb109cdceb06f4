"""Where files may be written, and which paths a store may have: nothing takes a store away or moves its log."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_packs.packer import ContextPacks
from context_packs.packer.export import write_file
from context_packs.store.errors import InvalidField, StoreUnavailable
from context_packs.store.file.targets import BESIDE


def all_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def two(kit: Any) -> Path:
    """A store in use, and the closed one of somebody else beside it."""
    with ContextPacks.open(kit.folder / "other.duckdb", embedder="none") as other:
        other.remember("Other people's records.")
    return Path(kit.folder)


WRITERS: dict[str, Callable[[ContextPacks, str], object]] = {
    "export": lambda packs, target: packs.export(target),
    "backup": lambda packs, target: packs.store.backup(target),
    "backup --force": lambda packs, target: packs.store.backup(target, force=True),
    "salvage": lambda packs, target: write_file(target, [{"a": 1}], "out", replace=False),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("name", ["memory.duckdb", "link", "hard", *(f"other.duckdb{end}" for end in BESIDE)])
def test_no_file_takes_the_place_of_a_store_or_of_what_stands_beside_one(two: Path, writer: str, name: str) -> None:
    """By its name, a link, another name of the same file; names of logs and locks even where none is there."""
    with ContextPacks.open(two / "memory.duckdb", embedder="none") as packs:
        packs.remember("My records.")
        (two / "link").symlink_to(two / "other.duckdb.lock")
        if name == "hard":
            os.link(two / "memory.duckdb", two / "hard")
        before = all_bytes(two)
        with pytest.raises((InvalidField, StoreUnavailable)) as refused:
            WRITERS[writer](packs, str(two / name))
        assert all_bytes(two) == before
        assert str(refused.value).endswith(("name another file", "make a copy instead", "overwrite it with --force"))


def test_an_export_takes_the_place_of_an_export_and_of_no_store(two: Path) -> None:
    """An older export is replaced; the store of somebody else is not."""
    with ContextPacks.open(two / "memory.duckdb", embedder="none") as packs:
        packs.remember("My records.")
        target = two / "export.jsonl"
        target.write_text("older")
        assert packs.export(target) == 1 and target.read_text("utf-8").startswith("{")
        with pytest.raises(InvalidField, match=r"^file: other\.duckdb is a store: name another file$"):
            packs.export(two / "other.duckdb")
        (two / "x.part").write_text("mine")  # the name that drafts once had
        packs.export(two / "x")
        assert (two / "x.part").read_text() == "mine"


@pytest.mark.parametrize("mark", ["?", *([] if os.name == "nt" else ["\\"])])
@pytest.mark.parametrize("path", ["a{}b.duckdb", "dir{}/m.duckdb"])
def test_a_path_whose_log_would_stand_elsewhere_is_refused(tmp_path: Path, mark: str, path: str) -> None:
    """DuckDB puts the log of `a?b` at `a.wal?b`, where no backup and no check looks for it."""
    odd = tmp_path / path.format(mark)
    odd.parent.mkdir(exist_ok=True)
    with pytest.raises(InvalidField) as refused:
        ContextPacks.open(odd, embedder="none")
    assert str(refused.value) == (
        f"store: the path has a {mark} in it: rename that file or folder, or name another path"
    )
    assert not [one for one in tmp_path.rglob("*") if one.is_file()]
    with ContextPacks.open(tmp_path / "m.duckdb", embedder="none") as packs:
        packs.remember("A record.")
        with pytest.raises(InvalidField, match=r"^file: the path has a"):
            packs.store.backup(str(odd))


@pytest.mark.parametrize(
    "name", ["a#b", "a%20b", "a;b", "a'b", 'a"b', "a b", "日本😀", "a*b", "a[b]", ":x", "$HOME", "~x"]
)
def test_any_other_name_is_a_name(tmp_path: Path, name: str) -> None:
    """Log, lock and copy stand beside the store, and the copy holds what was written."""
    with ContextPacks.open(tmp_path / name, embedder="none") as packs:
        packs.remember("Backups run nightly.")
        assert packs.store.backup(str(tmp_path / f"{name}.copy")).records == 1
    assert {one.name for one in tmp_path.iterdir()} == {name, f"{name}.lock", f"{name}.queue", f"{name}.copy"}


def test_a_store_with_two_names_is_not_opened(tmp_path: Path) -> None:
    """Each name would have a lock and a log of its own, so that two programs could write the file at once."""
    first, second = tmp_path / "m.duckdb", tmp_path / "n.duckdb"
    with ContextPacks.open(first, embedder="none") as packs:
        packs.remember("Backups run nightly.")
    os.link(first, second)
    for path in (first, second):
        before = all_bytes(tmp_path)
        with ContextPacks.open(path, embedder="none") as packs, pytest.raises(StoreUnavailable) as refused:
            packs.remember("More.")
        assert str(refused.value) == (
            "the store has a second name (a hard link): remove that name, or make a copy instead"
        )
        assert all_bytes(tmp_path) == before
    second.unlink()
    with ContextPacks.open(first, embedder="none") as packs:
        assert packs.remember("More.").id == "mem:2"
