"""A store that is not there: every command that only reads, takes away or copies says so and makes nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
READS = ["context x", "restore", "recall x", "search x", "get mem:1", "forget mem:1", "export -", "stats", "compact",
         "trigger trg_1", "worker wkr_1", "token revoke tok_0123456789ab", "reindex", "thread thr_1"]  # fmt: skip


@pytest.mark.parametrize("command", READS)
def test_a_mistyped_store_is_told_and_nothing_is_made(run: Run, tmp_path: Path, command: str) -> None:
    """Exit code 6, one line; not a folder, a file or a lock is left."""
    ran = run("--store", str(tmp_path / "no" / "such.duckdb"), *command.split())
    assert (ran.code, ran.out) == (6, "")
    assert ran.err.startswith("error: there is no store here yet") and ran.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("address", ["postgresql://u:p@h/db", "s3://bucket/key", "https://example.com/m.duckdb"])
@pytest.mark.parametrize("command", ["remember x", "recall x", "token list"])
def test_an_address_is_no_store(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, command: str
) -> None:
    """Exit code 2, one line that does not repeat the password; no folder of that name is made."""
    monkeypatch.chdir(tmp_path)
    ran = run("--store", address, *command.split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: store: ") and "u:p" not in ran.err and ran.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
