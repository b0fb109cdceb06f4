"""The pages: what they show is run, where they point to is there, and the text forms are those of the templates.

A comment on the line before a fenced block says what the block is: `<!-- run -->` for one that is run here (`run:curl`:
where curl is installed), `<!-- demo-output -->` for what `context-packs demo` prints, `<!-- text-form:NAME -->` for
what a template says. A page runs from top to bottom in one folder with one store.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jinja2
import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
SCREENS = 180  # lines of the first page
WHERE = ("*.md", ".github/*.md", "docs/*.md", "packer/**/*.md", "profiles/*.md", "store/**/*.md", "templates/*.md")
PAGES = sorted({page for where in (*WHERE, "tests/*.md") for page in ROOT.glob(where)})
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
        assert lines, f"line {block.line}: a console block without a command"
        return ["bash", "-euo", "pipefail", "-c", "\n".join(lines)]
    assert block.language in {"bash", "sh"}, f"line {block.line}: no way to run {block.language!r}"
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


def shown(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def runnable(page: Path) -> list[Block]:
    """The blocks of a page that are run, in reading order."""
    markdown = page.read_text(encoding="utf-8")
    found = [*blocks(markdown, "run"), *(blocks(markdown, "run:curl") if shutil.which("curl") else ())]
    return sorted(found, key=lambda block: block.line)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=() if page == README else pytest.mark.tree, id=shown(page))  # others are in no wheel
        for page in PAGES
        if runnable(page)
    ],
)
def test_every_block_that_is_marked_runs_from_top_to_bottom(tmp_path: Path, page: Path) -> None:
    """A reader who types a page's examples in order, in one folder and one store, sees each of them succeed."""
    for block in runnable(page):
        result = run(command(block), tmp_path)
        assert result.returncode == 0, f"{shown(page)}:{block.line}\n{result.stdout}\n{result.stderr}"


def test_the_first_page_shows_commands_and_python_and_is_short() -> None:
    """README.md has an example for a terminal and one for a program, and takes two screens."""
    assert {block.language for block in runnable(README)} >= {"bash", "python"}
    assert len(README.read_text(encoding="utf-8").splitlines()) <= SCREENS


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


# ---- where pages point to

LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
NAMED = re.compile(r"[`\s]((?:packer|profiles|store|templates|tests|docs|\.ci|\.dev|\.github)/[\w./-]*[\w/])[`\s]")


def anchors(page: Path) -> set[str]:
    """What `#` may lead to in a page: its headings in lower case, without marks, blanks as hyphens."""
    headings = HEADING.findall(CODE.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.tree
def test_every_link_between_pages_leads_somewhere() -> None:
    """A relative link names a file or folder of the tree, and its `#part` a heading of that page."""
    wrong = []
    for page in PAGES:
        for target in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
            name, _, part = target.partition("#")
            if "://" in name:
                continue
            there = page.parent / name if name else page
            if not there.exists() or (part and part not in anchors(there)):
                wrong.append(f"{shown(page)}: {target}")
    assert wrong == []


@pytest.mark.tree
def test_every_file_that_a_page_names_is_there() -> None:
    """A path in a page, written as code from the top of the tree, is that of a file or folder."""
    named = [(page, name) for page in PAGES for name in NAMED.findall(page.read_text(encoding="utf-8"))]
    assert named
    assert [f"{shown(page)}: {name}" for page, name in named if not (ROOT / name).exists()] == []


# ---- what programs parse, and the picture

PLACES = SimpleNamespace(
    limits=SimpleNamespace(
        used="<used>", maximum="<max>", items="<n>", shortened="<shortened>", dropped="<dropped>", first_needs="<needs>"
    ),
    item=SimpleNamespace(id="<id>", type="<type>", path="<path>", title="<title>", created_at="<date>"),
)


def text_form(template: str) -> str:
    """All lines that a template can say around content, with names for the values; `nothing` is the empty answer."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("context_packs.templates", ""), undefined=jinja2.StrictUndefined, autoescape=False
    )
    environment.filters |= dict.fromkeys(("one_line", "heading", "day"), str)
    say: Any = environment.get_template(f"{'public' if template == 'nothing' else template}.j2").module
    if template == "nothing":
        return f"{say.nothing()}\n"
    pieces = (say.heading(), say.counted("<n>"), say.limited(PLACES.limits), say.reference(PLACES.item))
    return "".join(f"{piece}\n" for piece in (*pieces, say.opening(), say.header(PLACES.item, "<k>")) if str(piece))


@pytest.mark.tree
@pytest.mark.parametrize("template", ["public", "session_start", "sections", "bare", "nothing"])
def test_the_text_form_shown_is_the_template_s(template: str) -> None:
    """The page of the library shows each line that other programs parse, as the template has it."""
    page = (ROOT / "packer" / "README.md").read_text(encoding="utf-8")
    (block,) = blocks(page, f"text-form:{template}")
    assert block.text == text_form(template)


@pytest.mark.tree
def test_the_picture_is_that_of_today() -> None:
    """`docs/pack.svg` shows what becomes of the records of the demo now; `python docs/picture.py` draws it anew."""
    spec = importlib.util.spec_from_file_location("picture", ROOT / "docs" / "picture.py")
    assert spec is not None and spec.loader is not None
    picture = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(picture)
    assert picture.PICTURE.read_text(encoding="utf-8") == picture.drawn()
