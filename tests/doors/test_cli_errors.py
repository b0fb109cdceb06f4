"""What goes wrong is one line on stderr that names the field, and an exit code of the one table."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from context_packs.packer.doors.cli import console

Run = Callable[..., Any]
COMMAND = str(Path(sys.executable).with_name("context-packs"))


@pytest.mark.parametrize(
    ("argv", "field"),
    [
        (("context", "q", "--max-items", "0"), "max_items"),
        (("context", "q", "--max-items", "51"), "max_items"),
        (("context", "q", "--max-items", "8x"), "max_items"),
        (("context", "q", "--max-items", "true"), "max_items"),
        (("context", "q", "--max-items", "10.5"), "max_items"),
        (("context", "q", "--max-items", "1_0"), "max_items"),
        (("context", "q", "--max-items", "８"), "max_items"),
        (("context", "q", "--max-items", ""), "max_items"),
        (("context", "q", "--max-tokens", "0"), "max_tokens"),
        (("context", "q", "--max-tokens", "12001"), "max_tokens"),
        (("context", "q", "--max-tokens", "NaN"), "max_tokens"),
        (("context", "q", "--max-tokens", "-5"), "max_tokens"),
        (("context", "q", "--max-tokens", "1e9"), "max_tokens"),
        (("context", "q", "--max-tokens", "9" * 400), "max_tokens"),
        (("context", "q", "--max-chars", "0"), "max_chars"),
        (("restore", "--host", "codex", "--max-tokens", "12001"), "max_tokens"),
        (("restore", "--host", "claude-code", "--max-chars", "0"), "max_chars"),
        (("restore", "--host", "emacs"), "host"),
        (("context", "q", "--profile", "nope"), "profile"),
        (("context", "q", "--profile", "../public"), "profile"),
        (("context", "q", "--since", "yesterday"), "since"),
        (("context", "q", "--since", "2026-02-01", "--until", "2026-01-01"), "since"),
        (("context", "q", "--exclude-id", "mem:0"), "exclude_ids"),
        (("recall", "q", "--limit", "201"), "limit"),
        (("recall", "q", "--limit", "-1"), "limit"),
        (("recall", "q", "--limit", "ten"), "limit"),
        (("search", "  "), "query"),
        (("remember", ""), "content"),
        (("remember", " \n"), "content"),
        (("remember", "-"), "content"),
        (("remember", "x", "--path", "a|b"), "path"),
        (("remember", "x", "--expires", "soon"), "expires_at"),
        (("remember", "x", "--supersedes", "7"), "supersedes"),
        (("get", "mem:01"), "id"),
        (("get", "42"), "id"),
        (("forget", "mem:-1"), "id"),
        (("import", "tapes", "x"), "format"),
        (("import", "jsonl", "no-such-file"), "file"),
        (("--store", "", "stats"), "store"),
        (("--agent", " ", "stats"), "agent"),
        (("context",), "query"),
        (("get",), "refs"),
        (("context", "q", "--max-item", "3"), "--max-item"),
        (("context", "two", "words"), "command"),
        (("fetch", "q"), "command"),
    ],
)
def test_a_value_out_of_range_or_malformed_is_refused_by_name(run: Run, argv: tuple[str, ...], field: str) -> None:
    """Exit code 2, nothing on stdout, one line that starts with `error: `; with --json the same as an object."""
    run("remember", "there is a store")
    ran = run(*argv)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    told = run("--json", *argv)
    assert (told.code, told.out) == (2, "")
    assert told.error["field"] == field
    assert (told.error["code"], told.error["exit_code"]) == ("invalid_field", 2)
    assert f"error: {told.error['message']}\n" == ran.err


def test_the_message_names_the_bound(run: Run) -> None:
    """A caller reads what would have been right."""
    assert run("context", "q", "--max-tokens", "12001").err == "error: max_tokens: 12001 is above 12000\n"
    assert run("context", "q", "--max-items", "0").err == "error: max_items: 0 is below 1\n"
    assert run("context", "q", "--max-items", "8x").err == "error: max_items: '8x' is not a whole number\n"


def test_unknown_and_deleted_ids_are_4(run: Run) -> None:
    """Exactly the two, each with its own word, for get, forget and supersedes alike."""
    run("remember", "x")
    run("forget", "mem:1")
    codes = {"mem:1": "gone", "mem:2": "not_found", "ep:1": "not_found"}
    for ref, code in codes.items():
        for argv in (("get", ref), ("forget", ref)):
            ran = run(*argv, "--json")
            assert (ran.code, ran.error["code"]) == (4, code)
    assert run("remember", "y", "--supersedes", "mem:9").code == 4


def test_conflicts_are_5(run: Run) -> None:
    """The same idempotency key with other content."""
    assert run("remember", "one", "--key", "k").code == 0
    ran = run("remember", "two", "--key", "k", "--json")
    assert (ran.code, ran.error["code"]) == (5, "conflict")


def test_a_store_that_can_not_be_used_is_6(run: Run, store: Path, tmp_path: Path) -> None:
    """Damaged, a folder, or below something that is no folder: what to do is said, the path is not."""
    store.write_bytes(b"no database " * 2000)
    (tmp_path / "folder.duckdb").mkdir()
    for path in (store, tmp_path / "folder.duckdb", store / "below.duckdb"):
        for argv in (("context", "q"), ("remember", "x"), ("stats",), ("get", "mem:1")):
            ran = run("--store", str(path), *argv, "--json")
            assert (ran.code, ran.out) == (6, "")
            assert ran.error["code"].startswith("store_")
            assert str(tmp_path) not in ran.err


def test_a_file_that_can_not_grow_is_6(store: Path) -> None:
    """A write that the system refuses is an error of the store, not a stack."""
    shell = f'ulimit -f 1; "{COMMAND}" remember "some text" --json'
    ran = subprocess.run(["bash", "-c", shell], capture_output=True, check=False)
    assert (ran.returncode, ran.stdout) == (6, b"")
    assert json.loads(ran.stderr)["error"]["code"].startswith("store_")


def test_a_fault_of_the_product_shows_no_stack(capsys: pytest.CaptureFixture[str]) -> None:
    """One line with its kind, exit code 1, and nothing of what it said."""

    @click.command(cls=console.Command)
    def broken() -> None:
        raise KeyError("/home/somebody/secret")

    assert console.run(broken, []) == 1
    assert capsys.readouterr() == ("", "error: unexpected KeyError: this is a bug in context-packs\n")
    assert console.run(broken, ["--json"]) == 1
    assert json.loads(capsys.readouterr().err)["error"]["code"] == "internal_error"


def test_queries_are_only_ever_words(run: Run) -> None:
    """Quotes, operators, brackets, NUL and half characters are no error and no syntax."""
    run("remember", "We don't AND foo:bar.")
    for query in ('don\'t "AND" foo:bar -x (y*', "%' OR 1=1 --", "a\x00b", "\ud800", "{{ 7*7 }}", "\\", "x" * 50_000):
        for command in ("context", "recall", "search"):
            assert run(command, "--", query).code == 0
