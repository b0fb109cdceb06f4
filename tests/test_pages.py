"""The pages are complete: what the code offers by name stands on the page for whoever uses it."""

import re
from collections.abc import Iterable
from pathlib import Path

import click
import pytest

from context_packs.packer.doors.cli.commands import cli
from context_packs.packer.doors.mcp.tools import tools
from context_packs.packer.doors.rest.app import create_app
from context_packs.packer.errors import ERROR_TABLE
from context_packs.packer.packing.profile import Defaults, Profile, list_profiles, load_profile
from context_packs.packer.packing.request import PackRequest
from context_packs.packer.service import ContextPacks
from context_packs.store.exchange.importers import FORMATS
from context_packs.store.memory.prepare import RecordIn

ROOT = Path(__file__).resolve().parent.parent
SETTING = re.compile(r"CONTEXT_PACKS_[A-Z_]+[A-Z]")

pytestmark = pytest.mark.tree


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def absent(names: Iterable[str], page: str) -> list[str]:
    """Names that the page does not have as whole words."""
    text = read(page)
    return [name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]


def test_every_command_stands_on_its_page() -> None:
    """Also those of groups, by their last name."""
    names: list[str] = []
    for name, command in cli.commands.items():
        names += [name, *(command.commands if isinstance(command, click.Group) else ())]
    assert len(names) > 20
    assert absent(names, "packer/doors/cli/README.md") == []


def test_every_exit_code_stands_on_its_page() -> None:
    """The table of the command line has each code, that of the library each class with its status."""
    assert absent({str(row.exit_code) for row in ERROR_TABLE.values()}, "packer/doors/cli/README.md") == []
    names = {kind.__name__ for kind in ERROR_TABLE} | {str(row.status) for row in ERROR_TABLE.values()}
    assert absent(sorted(names), "packer/README.md") == []


def test_every_tool_stands_on_its_page() -> None:
    """The page of MCP has each tool."""
    assert absent([tool.name for tool in tools(load_profile("internal"))], "packer/doors/mcp/README.md") == []


def test_every_route_stands_on_its_page() -> None:
    """The page of the server has each fixed part of each path."""
    with ContextPacks.open(":memory:", "planner", embedder="none") as packs:
        paths = create_app(packs).openapi()["paths"]
    parts = {part for path in paths for part in path.split("/") if part and "{" not in part}
    assert absent(sorted(parts), "packer/doors/rest/README.md") == []


def test_every_field_and_setting_stands_on_the_page_of_the_library() -> None:
    """Fields of a request and of a record to be stored, and the environment."""
    assert absent([*PackRequest.model_fields, *RecordIn.model_fields], "packer/README.md") == []
    sources = [path for folder in ("packer", "store") for path in (ROOT / folder).rglob("*.py")]
    settings = {name for path in sources for name in SETTING.findall(path.read_text(encoding="utf-8"))}
    assert absent(sorted(settings), "packer/README.md") == []


def test_every_profile_and_template_stands_on_its_page() -> None:
    """With the keys of a profile."""
    assert absent([*list_profiles(), *(set(Profile.model_fields) - {"name"})], "profiles/README.md") == []
    assert absent(Defaults.model_fields, "profiles/README.md") == []
    assert absent([path.name for path in (ROOT / "templates").glob("*.j2")], "templates/README.md") == []


def test_every_import_format_stands_on_its_page() -> None:
    """The page of imports has each format."""
    assert absent(FORMATS, "store/exchange/README.md") == []


def test_every_benchmark_stands_on_the_page_of_tests() -> None:
    """Each command under `bench/`, which is a file that can be run."""
    benches = [path for path in (ROOT / "tests" / "bench").glob("*.py") if "__main__" in path.read_text("utf-8")]
    assert absent([path.name for path in benches], "tests/README.md") == []
