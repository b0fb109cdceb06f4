"""Runs the command line: in this process for most tests, as the installed command where the process itself matters."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from context_packs.packer.doors.cli import main

COMMAND = str(Path(sys.executable).with_name("context-packs"))


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        (line,) = self.out.splitlines()
        return json.loads(line)

    @property
    def error(self) -> dict[str, Any]:
        """The error on stderr, which is its last line."""
        error: dict[str, Any] = json.loads(self.err.splitlines()[-1])["error"]
        return error


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the store of this test is, or will be."""
    path = tmp_path / "memory.duckdb"
    monkeypatch.setenv("CONTEXT_PACKS_STORE", str(path))
    return path


@pytest.fixture
def run(store: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run a command line in this process: `run("context", "why", stdin=b"")`."""

    def call(*argv: str, stdin: bytes = b"") -> Ran:
        out, err = io.BytesIO(), io.BytesIO()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "ascii"))
        streams = io.TextIOWrapper(out, "ascii"), io.TextIOWrapper(err, "ascii")
        with redirect_stdout(streams[0]), redirect_stderr(streams[1]), pytest.raises(SystemExit) as left:
            main(argv)
        for stream in streams:
            stream.flush()
        assert isinstance(left.value.code, int)
        return Ran(left.value.code, out.getvalue().decode("utf-8"), err.getvalue().decode("utf-8"))

    return call


@pytest.fixture
def process(store: Path) -> Callable[..., Ran]:
    """Run the installed command: `process("context", "why", stdin=b"", env={})`."""

    def call(*argv: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> Ran:
        done = subprocess.run(
            [COMMAND, *map(os.fsencode, argv)],
            input=stdin,
            env={**os.environ, **(env or {})},
            capture_output=True,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    return call
