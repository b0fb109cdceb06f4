"""The MCP Inspector's command line against our server, over stdio and over HTTP: the same calls, the same answers.

    python tests/bench/inspector.py

Needs Node.js; `--inspector` is the command, by default `npx -y @modelcontextprotocol/inspector`. Each call is a process
of its own, so a run takes a minute. Prints one line a call and ends with 1 where an answer is not the expected one.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

COMMAND = str(Path(sys.executable).with_name("context-packs"))
TEXT = "The harbour office keeps backups for ninety days."


def call(tool: str, **arguments: str) -> list[str]:
    """Words of the Inspector's command line that call a tool."""
    given = [word for name, value in arguments.items() for word in ("--tool-arg", f"{name}={value}")]
    return ["--method", "tools/call", "--tool-name", tool, *given]


# What is asked, and words that the answer holds.
ASKED: tuple[tuple[list[str], tuple[str, ...]], ...] = (
    (["--method", "tools/list"], ("recall_context", "recall_with_context", "get_contents", "forget")),
    (call("remember", content=TEXT, path="ops"), ("mem:1", "created")),
    (call("recall_context", query="how long are backups kept?", max_tokens="300"), (TEXT, "mem:1")),
    (call("recall", query="backups", limit="2"), (TEXT, "confidence")),
    (call("search_memory", query="backups"), (TEXT, "mem:1")),
    (call("get_contents", refs='["mem:1","mem:9"]'), (TEXT, "missing", "mem:9")),
    (call("recall_context", query="backups", max_tokens="0"), ("max_tokens: 0 is below 1", '"isError": true')),
    (["--method", "prompts/list"], ("restore_context",)),
    (["--method", "prompts/get", "--prompt-name", "restore_context", "--prompt-args", "task=backups"], (TEXT,)),
    (["--method", "resources/templates/list"], ("context-packs://record/{id}",)),
    (["--method", "resources/read", "--uri", "context-packs://record/mem:1"], (TEXT,)),
    (call("forget", ref="mem:1"), ("mem:1", "soft_delete")),
)


@contextmanager
def target(transport: str, store: Path, profile: str) -> Iterator[list[str]]:
    """Words that name the server to the Inspector; the one for HTTP runs meanwhile."""
    if transport == "stdio":
        yield [COMMAND, "mcp", "--store", str(store), "--profile", profile]
        return
    command = [COMMAND, "serve", "--port", "0", "--store", str(store), "--profile", profile, "--quiet"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield [f"{server.stdout.readline().strip()}/mcp", "--transport", "http"]
    finally:
        server.terminate()
        server.wait()


def ask(inspector: list[str], words: list[str]) -> tuple[str, Any]:
    """What the Inspector prints for a call, as text and as JSON (None where it is none)."""
    ran = subprocess.run([*inspector, "--cli", *words], capture_output=True, text=True, check=False)
    try:
        return ran.stdout, json.loads(ran.stdout)
    except ValueError:
        return ran.stdout + ran.stderr, None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inspector", default="npx -y @modelcontextprotocol/inspector", help="the command to run")
    inspector = shlex.split(parser.parse_args().inspector)
    bad = 0
    for profile, transport in product(("public", "internal"), ("stdio", "http")):
        with (
            tempfile.TemporaryDirectory() as folder,
            target(transport, Path(folder) / "m.duckdb", profile) as server,
        ):
            for words, expected in ASKED:
                printed, answer = ask(inspector, [*server, *words])
                good = answer is not None and all(word in printed for word in expected)
                bad += not good
                print(f"{'ok ' if good else 'BAD'} {profile} {transport} {' '.join(words[1:])}", flush=True)
                if not good:
                    print(printed[:2000], file=sys.stderr)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
