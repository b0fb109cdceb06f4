"""Files and folders that the user may not read or write: one line that names the file, and the right way out."""

import json
import os
import subprocess
import sys
from typing import NamedTuple

import pytest

from context_packs.packer import ContextPacks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="an administrator without rights needs Linux")

# One process without the rights of an administrator (capabilities 1 and 2, see capabilities(7)) runs all commands.
ALL = """
import contextlib, ctypes, io, json, os, sys
if len(sys.argv) == 2:
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
    os.execv(sys.executable, [sys.executable, "-c", sys.argv[1], "", ""])
from context_packs.packer.doors.cli.commands import cli
from context_packs.packer.doors.cli.console import run
for argv, stdin, shut in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    if shut:
        os.chmod(*shut)
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(cli, argv)
    if shut:
        os.chmod(shut[0], 0o700)
    print(json.dumps([code, out.getvalue(), err.getvalue(), sorted(os.listdir("."))]))
"""


class Ran(NamedTuple):
    """What a command gave, and what its folder held then."""

    code: int
    out: str
    err: str
    names: list[str]


STATES: dict[str, tuple[str, int]] = {"file": ("m.duckdb", 0o400), "folder": (".", 0o500)}
FILES = [
    *((f"import {kind} shut/a", "a") for kind in ("jsonl", "chat", "claude-code", "markdown")),
    *((f"import {kind} unreadable.jsonl", "unreadable.jsonl") for kind in ("jsonl", "chat", "claude-code", "markdown")),
    *((f"import {kind} shut", "shut") for kind in ("jsonl", "chat", "claude-code", "markdown")),
    ("export shut/x.jsonl", "x.jsonl"),
    ("export unreadable.jsonl/x.jsonl", "x.jsonl"),
    ("backup shut/x.duckdb", "x.duckdb"),
    ("salvage m.duckdb shut/o.jsonl", "o.jsonl"),
    ("salvage shut/inside.duckdb o.jsonl", "inside.duckdb"),
    ("salvage unreadable.duckdb o.jsonl", "unreadable.duckdb"),
]


WRITES = [
    (command, shut)
    for command in (
        "remember new", "forget mem:1", "import jsonl in.jsonl", "token create --scopes memory:read --agent planner",
        "compact",
        "reindex", "doctor", "doctor --full",
    )
    for shut in STATES
]  # fmt: skip
READS = [
    (command, shut)
    for command in ("context record", "restore", "recall record", "search record", "get mem:1", "stats", "export -",
                    "token list", "backup ../copy.duckdb --force")
    for shut in STATES
]  # fmt: skip
HOOKS = ["shut/inside.duckdb", "none.duckdb"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[object, Ran]:
    """Each command, run in a folder with a store of one record, files that may not be read, and a folder `shut` that
    may not be looked into."""
    folder = tmp_path_factory.mktemp("rights") / "folder"
    folder.mkdir()
    with ContextPacks.open(folder / "m.duckdb", "planner", embedder="none") as packs:
        packs.remember("A record.")
    (folder / "in.jsonl").write_text('{"content": "Another record."}\n')
    (folder / "shut").mkdir()
    (folder / "shut" / "inside.duckdb").write_bytes((folder / "m.duckdb").read_bytes())
    for name in ("unreadable.jsonl", "unreadable.duckdb"):
        (folder / name).write_text("{}")
        (folder / name).chmod(0)
    (folder / "shut").chmod(0)
    store = ["--quiet", "--store", "m.duckdb"]
    asked: dict[object, list[object]] = {command: [[*store, *command.split()], "", None] for command, _ in FILES}
    for command, shut in [*WRITES, *READS]:
        asked[command, shut] = [[*store, *command.split()], "", STATES[shut]]
    for name in HOOKS:
        asked[name] = [["--store", name, "hook", "claude-code", "session-start"], json.dumps({"cwd": "/tmp"}), None]
    try:
        done = subprocess.run(
            [sys.executable, "-c", ALL, ALL],
            input=json.dumps(list(asked.values())),
            capture_output=True,
            text=True,
            cwd=folder,
            env={**os.environ, "CONTEXT_PACKS_AGENT": "planner"},
            check=True,
        )
    finally:
        (folder / "shut").chmod(0o700)
    return {key: Ran(*json.loads(line)) for key, line in zip(asked, done.stdout.splitlines(), strict=True)}


@pytest.mark.parametrize(("command", "named"), FILES)
def test_a_file_out_of_reach_is_named_in_one_line(ran: dict[object, Ran], command: str, named: str) -> None:
    """Exit code 2; the line shows no path, and nobody is sent to free space or told that there is no file."""
    code, out, err, names = ran[command]
    assert (code, out) == (2, "")
    assert err.startswith("error: ") and err.count("\n") == 1 and named in err and "/" not in err
    assert "space" not in err and "no file" not in err and "fault" not in err
    assert not [name for name in names if name.endswith((".part", "o.jsonl")) or name.startswith("context-packs-")]


def test_a_hook_tells_of_a_store_out_of_reach(ran: dict[object, Ran]) -> None:
    """The answer is empty, the session goes on, and one line says why; of no store at all nothing is told."""
    told = "context-packs hook: the store cannot be reached: make its folder readable\n"
    assert ran["shut/inside.duckdb"][:3] == (0, "", told)
    assert ran["none.duckdb"][:3] == (0, "", "")


@pytest.mark.parametrize("write", WRITES)
def test_what_may_not_be_written_is_not_replaced(ran: dict[object, Ran], write: tuple[str, str]) -> None:
    """A store or folder that may only be read: exit code 6, and the rights are named."""
    code, out, err, _ = ran[write]
    assert code == 6
    assert "writable" in out + err and "space" not in out + err


@pytest.mark.parametrize("read", READS)
def test_what_may_only_be_read_is_read(ran: dict[object, Ran], read: tuple[str, str]) -> None:
    """Reads, export and backup need no right to write."""
    assert ran[read].code == 0, ran[read].err
