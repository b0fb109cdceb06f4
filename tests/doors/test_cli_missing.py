"""Every command on what is no store, or none that this user may use: nothing there, a folder, files of others, an
address, a file or folder without rights. The commands are those that there are, so that a new one is asked too."""

import ctypes
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click
import duckdb
import pytest

from context_packs.packer import ContextPacks
from context_packs.packer.doors.cli.commands import cli

Run = Callable[..., Any]

ADDRESS = "postgresql://u:p@h/db"
LINES = {
    "missing": "there is no store here yet: remember something first, or name the path of the store you mean",
    "folder": "the path of the store is a folder: name a file in it",
    "sqlite": "the file is an SQLite database, not a store: name another path",
    "duckdb": "the file is a DuckDB database but not a context-packs store: name another path",
    "address": "store: a postgresql address is not a file; name the path of a file",
    "unreadable": "the store cannot be read: make the file readable",
    "shut": "the store cannot be reached: make its folder readable",
}
"""What stands at the path, and what is said of it."""
CODES = {**dict.fromkeys(LINES, 6), "address": 2}
OTHER_CODES: dict[str, dict[str, int]] = {
    "demo": dict.fromkeys(CODES, 0),  # has a store of its own
    "hook": dict.fromkeys(CODES, 0),  # never fails a session
    "install-hooks": {**dict.fromkeys(CODES, 0), "address": 2},  # names a store, opens none
    "remember": {"missing": 0},  # these make it
    "import": {"missing": 0},
    "token create": {"missing": 0},
    "doctor": {"missing": 0},  # looks at the installation, which is well
    "salvage": {"missing": 2, "folder": 2, "unreadable": 2, "shut": 2},  # its store is a field
}
OTHER_LINES = {
    ("salvage", "missing"): "file: there is no file memory.duckdb: name the damaged store",
    ("salvage", "folder"): "file: memory.duckdb is not a file: name the damaged store",
    ("salvage", "sqlite"): "the file is an SQLite database, not a store: name the damaged store",
    ("salvage", "unreadable"): "file: memory.duckdb cannot be read: make it and its folder readable",
    ("salvage", "shut"): "file: memory.duckdb cannot be read: make it and its folder readable",
}
RIGHTS = {"unreadable": (0, 0o700), "shut": (0o600, 0)}
"""Modes of the file and of its folder."""
# They run until they are told to stop, and tell each caller what is wrong.
RUNS_ON = {("serve", "missing"), *(("mcp", state) for state in CODES if state != "address")}
VALUES = {
    "refs": "mem:1", "ref": "mem:1", "thread_id": "thr_a", "worker_id": "wkr_a", "trigger_id": "trg_a",
    "id": "tok_0123456789ab", "format": "jsonl", "sources": "in.jsonl", "host": "claude-code",
    "event": "session-start", "out": "out.jsonl", "scopes": "memory:read",
}  # fmt: skip
MORE = {"install-hooks": ["--dry-run"], "serve": ["--port", "0"], "token create": ["--agent", "planner"]}


def commands(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    """All commands by name, those of groups too."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


COMMANDS = dict(commands(cli))
CELLS = [(name, state) for name in COMMANDS for state in LINES if (name, state) not in RUNS_ON]


def command_line(name: str, store: str) -> list[str]:
    """A command with a value for all that it must be given."""
    values = {**VALUES, "file": store if name == "salvage" else "new.file"}
    argv = [*name.split(), *MORE.get(name, ())]
    for param in COMMANDS[name].params:
        value = values.get(param.name or "", "x")
        if isinstance(param, click.Argument):
            argv.append(value)
        elif param.required:
            argv += [param.opts[0], value]
    return argv


@contextmanager
def without_rights() -> Iterator[None]:
    """As a user who is no administrator: the two capabilities that pass over modes are off in this thread meanwhile
    (capabilities(7), capset(2))."""
    if sys.platform != "linux":
        pytest.skip("takes rights away as Linux does")
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; twice, for 64 bits
    assert libc.capget(header, sets) == 0
    kept = sets[0]
    sets[0] = kept & ~0b110
    assert libc.capset(header, sets) == 0
    try:
        yield
    finally:
        sets[0] = kept
        assert libc.capset(header, sets) == 0


@pytest.fixture
def stood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Puts something where a store is looked for, in a folder of its own that is the working folder."""

    def put(state: str) -> str:
        folder = tmp_path / "work" / "below"
        folder.parent.mkdir()
        monkeypatch.chdir(folder.parent)
        Path("in.jsonl").write_text('{"content": "A record."}\n')
        path = folder / "memory.duckdb"
        if state == "folder":
            path.mkdir(parents=True)
        elif state == "sqlite":
            folder.mkdir()
            with sqlite3.connect(path) as lite:
                lite.execute("CREATE TABLE meta (a)")
            lite.close()
        elif state == "duckdb":
            folder.mkdir()
            with duckdb.connect(str(path)) as other:
                other.execute("CREATE TABLE meta (name INTEGER)")
        elif state in RIGHTS:
            with ContextPacks.open(path, "planner", embedder="none") as packs:
                packs.remember("A record.")
            path.chmod(RIGHTS[state][0])
            folder.chmod(RIGHTS[state][1])
        return ADDRESS if state == "address" else str(path)

    yield put
    if (tmp_path / "work" / "below").exists():
        (tmp_path / "work" / "below").chmod(0o700)


def test_the_tables_name_commands_that_there_are() -> None:
    """A command that goes takes its row with it."""
    assert set(OTHER_CODES) | {name for name, _ in OTHER_LINES} | set(MORE) <= set(COMMANDS)


@pytest.mark.parametrize(("name", "state"), CELLS)
def test_what_is_no_store_is_told_in_one_line_and_stays_as_it_was(
    run: Run, stood: Callable[[str], str], name: str, state: str
) -> None:
    """The exit code of the table, the line that says what stands there, no path and no password, and nothing made."""
    store = stood(state)
    before = {path: path.is_file() and path.read_bytes() for path in Path().rglob("*")}
    with without_rights() if state in RIGHTS else nullcontext():
        ran = run("--store", store, *command_line(name, store), stdin=b'{"cwd": "/tmp"}')
    code = OTHER_CODES.get(name, {}).get(state, CODES[state])
    assert (name, ran.code, ran.err) == (name, code, ran.err)
    line = OTHER_LINES.get((name, state), LINES[state])
    if name == "doctor" and code:
        assert f"BAD store: {line}\n" in ran.out
    elif code:
        assert (ran.out, ran.err) == ("", f"error: {line}\n")
    elif name == "hook":
        assert (ran.out, ran.err) == ("", "" if state == "missing" else f"context-packs hook: {line}\n")
    assert "u:p" not in ran.out + ran.err
    if code or OTHER_CODES[name].keys() != {"missing"} or name == "doctor":
        after = {path: path.is_file() and path.read_bytes() for path in Path().rglob("*")}
        locks = {path for path in after if path.suffix in (".lock", ".queue") and state == "duckdb"}
        assert {path: after[path] for path in after.keys() - locks} == before


@pytest.mark.parametrize("command", ["doctor --full", "token list --json", "forget no-id", "get no-id"])
def test_a_mistyped_store_fails_whatever_else_is_asked(run: Run, store: Path, command: str) -> None:
    """Nothing can be looked at, so nothing is well; what is wrong with an id comes second."""
    assert run(*command.split()).code == 6
    assert list(store.parent.iterdir()) == []


@pytest.mark.parametrize("address", ["s3://bucket/key", "https://u:p@example.com/m.duckdb", "file:/m.duckdb"])
@pytest.mark.parametrize("where", ["option", "environment"])
def test_an_address_of_any_kind_is_no_store(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, where: str
) -> None:
    """Exit code 2, one line that does not repeat it; no folder of that name is made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONTEXT_PACKS_STORE", address)
    ran = run(*(["--store", address] if where == "option" else []), "remember", "x")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"error: store: a {address.split(':')[0]} address is not a file; name the path of a file\n"
    assert list(tmp_path.iterdir()) == []


def test_what_holds_nothing_is_imported_into_nothing(run: Run, store: Path) -> None:
    """The export of a store without records is an empty file; it comes in, and no store is made for it."""
    file = store.with_name("empty.jsonl")
    file.write_text("\n")
    ran = run("import", "jsonl", str(file))
    assert (ran.code, ran.out) == (0, "0 created, 0 updated, 0 already there\n")
    assert [path.name for path in store.parent.iterdir()] == ["empty.jsonl"]
