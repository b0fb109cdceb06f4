"""The installed command as a process: encodings, pipes, what it loads, and that every command is documented."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from context_packs.packer.doors.cli.commands import cli

Run = Callable[..., Any]
COMMAND = str(Path(sys.executable).with_name("context-packs"))
COMMANDS = ["backup", "compact", "context", "demo", "doctor", "embed", "export", "forget", "get", "hook", "import",
            "install-hooks", "mcp", "recall", "reindex", "remember", "restore", "salvage", "search", "serve", "stats",
            "thread", "token", "trigger", "worker"]  # fmt: skip
LOCALES = [
    {"LANG": "C", "LC_ALL": ""},
    {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"PYTHONIOENCODING": "cp932"},
]


@pytest.mark.parametrize("env", LOCALES, ids=[",".join(f"{k}={v}" for k, v in env.items() if v) for env in LOCALES])
def test_all_text_is_utf_8_whatever_the_locale(process: Run, tmp_path: Path, env: dict[str, str]) -> None:
    """Arguments, stdin, stdout, stderr, file names and the pack keep every script under any locale."""
    text = "会議は九時から。👩‍👩‍👧 naïve"
    assert process("remember", "-", "--path", "予定", stdin=text.encode(), env=env).out == "mem:1\n"
    pack = process("context", "会議は九時", env=env)
    assert pack.out.startswith("### XMemo Context\n")
    assert f"\n {text}\n" in pack.out + "\n" and "Location: 予定" in pack.out
    refused = process("context", "会議", "--profile", "無い", "--json", env=env)
    assert (refused.code, refused.error["field"]) == (2, "profile")
    file = tmp_path / "控え.jsonl"
    assert process("export", str(file), env=env).code == 0
    assert json.loads(file.read_text(encoding="utf-8"))["content"] == text
    assert "FILE…" in process("import", "--help", env=env).out


def test_bytes_that_are_no_utf_8_do_not_crash(store: Path) -> None:
    """An argument with such bytes is stored with U+FFFD in their place, and a note says so."""
    ran = subprocess.run([COMMAND, "remember", b"caf\xe9 backups"], capture_output=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, b"mem:1\n")
    assert ran.stderr == b"note: lone surrogates were replaced by U+FFFD\n"
    ran = subprocess.run([COMMAND, "recall", b"caf\xe9 backups"], capture_output=True, check=False)
    assert (ran.returncode, ran.stdout.splitlines()[1]) == (0, " caf\ufffd backups".encode())


def test_a_reader_that_leaves_early_is_no_error(process: Run, store: Path, tmp_path: Path) -> None:
    """A closed pipe ends the command without a word."""
    lines = tmp_path / "many.jsonl"
    lines.write_text("".join(f'{{"content": "note {n} {"x" * 900}"}}\n' for n in range(500)), encoding="utf-8")
    assert process("import", "jsonl", str(lines), "--quiet").code == 0
    with subprocess.Popen([COMMAND, "export", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None and running.stderr is not None
        assert running.stdout.readline().startswith(b'{"id": "mem:1"')
        running.stdout.close()
        told = running.stderr.read()
    assert (running.returncode, told) == (0, b"")


def test_closed_streams_are_no_crash(store: Path) -> None:
    """Without stdin a write from it is refused by name; without stdout and stderr a command still does its work."""
    shell = f'"{COMMAND}" remember - <&-'
    ran = subprocess.run(["sh", "-c", shell], capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (2, b"error: content: standard input is closed\n")
    assert subprocess.run(["sh", "-c", f'"{COMMAND}" remember kept >&- 2>&-'], check=False).returncode == 0
    ran = subprocess.run([COMMAND, "get", "mem:1"], capture_output=True, check=False)
    assert ran.stdout == b"kept\n"


def test_it_runs_as_a_module_too(process: Run) -> None:
    """`python -m context_packs.packer.doors.cli` is the same command."""
    command = [sys.executable, "-m", "context_packs.packer.doors.cli", "demo"]
    ran = subprocess.run(command, capture_output=True, check=False)
    assert ran.returncode == 0
    assert ran.stdout.decode("utf-8") == process("demo").out


def test_a_fault_shows_where_it_came_from_in_development(store: Path) -> None:
    """`python -X dev` is the way to a stack; without it there is none."""
    script = (
        "from context_packs.packer.doors.cli import console\nimport click, sys\n"
        "@click.command(cls=console.Command)\ndef broken(): raise KeyError('x')\n"
        "sys.exit(console.run(broken, []))"
    )
    plain = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (plain.returncode, plain.stderr.count(b"\n")) == (1, 1)
    dev = subprocess.run([sys.executable, "-X", "dev", "-c", script], capture_output=True, check=False)
    assert dev.returncode == 1 and b"Traceback" in dev.stderr


def test_help_and_version_load_no_database() -> None:
    """What only prints text does not wait for DuckDB, numpy or a tokenizer."""
    script = (
        "import sys\nfrom context_packs.packer.doors.cli.commands import main\n"
        "try: main(['recall', '--help'])\nexcept SystemExit: pass\n"
        "print([name for name in ('_duckdb', 'numpy', 'jinja2', 'rs_bpe', 'rich') if name in sys.modules],"
        " file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"[]\n")


def test_a_query_loads_no_terminal_library_and_no_default_folder(store: Path) -> None:
    """Rich, platformdirs and other doors stay out of a command that does not need them."""
    script = (
        "import sys\nfrom context_packs.packer.doors.cli.commands import main\n"
        "for argv in (['remember', 'x'], ['context', 'x']):\n"
        "    try: main([*argv, '--quiet'])\n    except SystemExit: pass\n"
        "print([name for name in ('rich', 'platformdirs', 'mcp', 'starlette', 'httpx') if name in sys.modules],"
        " file=sys.stderr)"
    )
    environment = {**os.environ, "CONTEXT_PACKS_STORE": str(store)}
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, env=environment, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"[]\n")


# ---- what is documented


def test_the_commands_are_these() -> None:
    """Names that others call."""
    assert sorted(cli.commands) == COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_text(run: Run, name: str) -> None:
    """A sentence on what it does, a line for each option, and the global options."""
    ran = run(name, "--help")
    assert ran.code == 0
    assert ran.out.startswith(f"Usage: context-packs {name} ")
    command = cli.commands[name]
    assert command.help and command.help.split("\n")[0].endswith(".")
    for param in command.params:
        if isinstance(param, click.Option):
            assert param.help, f"{name}: {param.opts[0]} has no help"
            assert param.opts[0] in ran.out
    assert {"--store", "--agent", "--json", "--quiet"} <= set(re.findall(r"--\w+", ran.out))


def test_without_a_command_the_help_is_shown(run: Run) -> None:
    """On stderr, with the exit code of a command line that cannot be run."""
    ran = run()
    assert (ran.code, ran.out) == (2, "")
    assert all(f"\n  {name} " in ran.err for name in COMMANDS)
    assert run("--version").out.startswith("context-packs, version ")


def test_global_options_stand_before_or_behind_the_command(run: Run, tmp_path: Path) -> None:
    """`--json stats` and `stats --json` are the same; where both give a value, the one behind the command counts."""
    assert run("remember", "x").code == 0
    before, behind = run("--json", "stats", "--agent", "ada"), run("stats", "--agent", "ada", "--json")
    assert before.json["agent_id"] == behind.json["agent_id"] == "ada"
    other = str(tmp_path / "other.duckdb")
    assert run("--agent", "bob", "stats", "--agent", "ada", "--json").json["agent_id"] == "ada"
    assert run("--store", other, "remember", "x", "--quiet").out == "mem:1\n"
    assert run("stats", "--store", other, "--json").json["records"] == 1
