"""What the README shows is run: its commands, its Python and the pack it prints.

In the README a comment on the line before a fenced block says what the block is: `<!-- run -->` for one that is run
here (`run:curl`: where curl is installed), `<!-- demo-output -->` for the one that shows what `context-packs demo`
prints.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCK = re.compile(
    r"^<!-- (?P<marker>[\w:-]+) -->\n+```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """A fenced block with its marker; `line` is the 1-based line of the marker."""

    marker: str
    language: str
    text: str
    line: int


def blocks(markdown: str, marker: str) -> list[Block]:
    """The blocks with this marker, in reading order."""
    return [
        Block(found["marker"], found["language"], found["text"], markdown.count("\n", 0, found.start()) + 1)
        for found in BLOCK.finditer(markdown)
        if found["marker"] == marker
    ]


def command(block: Block) -> list[str]:
    """How a block is run: Python by this interpreter; shell lines by bash, of a console block those after `$ `."""
    if block.language == "python":
        return [sys.executable, "-c", block.text]
    if block.language == "console":
        lines = [line[2:] for line in block.text.splitlines() if line.startswith("$ ")]
        assert lines, f"README.md:{block.line}: a console block without a command"
        return ["bash", "-euo", "pipefail", "-c", "\n".join(lines)]
    assert block.language in {"bash", "sh"}, f"README.md:{block.line}: no way to run {block.language!r}"
    return ["bash", "-euo", "pipefail", "-c", block.text]


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run in `folder` with a store of its own there and the commands of this environment first on the path."""
    environment = os.environ | {
        "CONTEXT_PACKS_STORE": str(folder / "readme-store.duckdb"),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONUTF8": "1",
    }
    return subprocess.run(
        arguments,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_every_block_that_is_marked_runs_from_top_to_bottom(tmp_path: Path) -> None:
    """A reader who types the README's examples in order, in one folder and one store, sees each of them succeed."""
    markdown = README.read_text(encoding="utf-8")
    found = [*blocks(markdown, "run"), *(blocks(markdown, "run:curl") if shutil.which("curl") else ())]
    found.sort(key=lambda block: block.line)
    assert {block.language for block in found} >= {"python"}, "README.md shows no Python that is run"
    assert {block.language for block in found} & {"bash", "console"}, "README.md shows no command that is run"
    for block in found:
        result = run(command(block), tmp_path)
        assert result.returncode == 0, f"README.md:{block.line}\n{result.stdout}\n{result.stderr}"


def test_the_pack_shown_is_the_pack_printed(tmp_path: Path) -> None:
    """The README shows, byte for byte, what `context-packs demo` prints."""
    (shown,) = blocks(README.read_text(encoding="utf-8"), "demo-output")
    result = run(["context-packs", "demo"], tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout == shown.text


@pytest.mark.parametrize("marker", ["setup:install", "setup:test"])
def test_the_setup_commands_stand_where_the_build_finds_them(marker: str) -> None:
    """The build runs the README's own two set-up commands: one line each, the first of them installing."""
    (block,) = blocks(README.read_text(encoding="utf-8"), marker)
    (line,) = block.text.splitlines()
    assert line.startswith("pip install ")


def test_marked_blocks_are_told_from_others() -> None:
    """Only a comment directly before a fence marks it; language, text and line are read as they stand."""
    markdown = (
        "# T\n\n<!-- run -->\n```bash\necho 1\n```\n\n```bash\nfalse\n```\n<!-- run -->\n\n```python\nx = '`'\n```\n"
    )
    assert blocks(markdown, "run") == [Block("run", "bash", "echo 1\n", 3), Block("run", "python", "x = '`'\n", 11)]
