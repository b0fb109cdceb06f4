"""The layout: which folder may import which, no circles, and how long a file or a function may be."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
IMPORT_ROOT = "context_packs"
FOLDERS = ("packer", "profiles", "store", "templates")

# A module imports from its own place and from those in the lines before; places of one line stand side by side and do
# not know each other. The longest name that fits a module is its place.
ORDER = (
    ("store.errors", "store.sql", "profiles", "templates"),
    ("store.text",),
    ("store.query",),
    ("store.records", "store.times", "store.validation"),
    ("store.values", "store.concurrency"),
    ("store.file",),
    ("store.memory", "store.access"),
    ("store.search.ranking",),
    ("store.search", "store.chain"),
    ("store.exchange",),
    ("store.maintenance",),
    ("store.protocol",),
    ("store.duckstore",),
    ("packer.errors", "packer.fields"),
    ("packer.packing",),
    ("packer.excerpt", "packer.export", "packer.rows", "packer.secrecy"),
    ("packer.settings",),
    ("packer.threads",),
    ("packer.service",),
    ("packer.work",),
    ("packer", "packer.demo"),
    ("packer.root",),
    ("packer.doors.forms", "packer.doors.github"),
    ("packer.doors.mcp", "packer.doors.hooks"),
    ("packer.doors.rest",),
    ("packer.doors.cli",),
)

MOST_LINES = 400
# Files that are longer, and by how much: the number may only fall, and the row goes when the file fits.
LONG_FILES: dict[str, int] = {
    "store/file/engine.py": 443,
    "store/search/candidates.py": 479,
}
MOST_LINES_OF_A_FUNCTION = 60
LONG_FUNCTIONS: dict[str, int] = {
    "store/memory/writes.py:remember": 129,
    "store/search/candidates.py:_matching": 99,
}
# A public function with so many parameters names them in its docstring; help texts and OpenAPI are for users.
LEAST_PARAMETERS = 4
SAID_FOR_USERS = ("packer/doors/cli/", "packer/doors/rest/routes/")
WITHOUT_ARGS: dict[str, int] = {"packer/work/tasks.py": 7}  # files with such functions; the number may only fall
MOST_FILES = 12  # modules of a folder, __init__.py included

pytestmark = pytest.mark.tree


@cache
def sources() -> tuple[Path, ...]:
    found = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    assert found
    return tuple(found)


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


@cache
def modules() -> dict[str, Path]:
    return {module_of(path): path for path in sources()}


@cache
def imported(name: str) -> frozenset[str]:
    """Modules of ours that a module imports, at any depth, for types too."""
    path = modules()[name]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level:
            base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
        elif node.module and node.module.startswith(f"{IMPORT_ROOT}."):
            base = node.module.split(".")[1:]
        else:
            continue
        for alias in node.names:
            for wanted in (".".join([*base, alias.name]), ".".join(base)):
                if wanted in modules():
                    found.add(wanted)
                    break
    return frozenset(found - {name})


def place(name: str) -> tuple[int, str]:
    """The line of a module in the order, and the name it stands under there."""
    fitting = [
        (len(entry), line, entry)
        for line, entries in enumerate(ORDER)
        for entry in entries
        if name == entry or name.startswith(f"{entry}.")
    ]
    assert fitting, f"{name} has no place in the order"
    _, line, entry = max(fitting)
    return line, entry


def test_imports_follow_the_order_of_the_folders() -> None:
    """A module imports from its own place or from an earlier line, never from beside or behind."""
    wrong = []
    for name, path in modules().items():
        if not path.read_text(encoding="utf-8").strip():
            continue  # only makes a package
        here, own = place(name)
        for other in sorted(imported(name)):
            there, its = place(other)
            if its != own and there >= here:
                wrong.append(f"{name} imports {other}")
    assert wrong == []


def test_no_modules_import_each_other() -> None:
    """There is no circle of modules, not even one that only types need."""
    done: set[str] = set()

    def circles(name: str, way: tuple[str, ...]) -> Iterator[str]:
        if name in way:
            yield " -> ".join([*way[way.index(name) :], name])
        elif name not in done:
            for other in sorted(imported(name)):
                yield from circles(other, (*way, name))
            done.add(name)

    assert [circle for name in modules() for circle in circles(name, ())] == []


def test_files_are_short() -> None:
    """No file is longer than the limit, but for those of the table, which may only shrink."""
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    long = {path.relative_to(ROOT).as_posix(): length for path, length in lengths.items() if length > MOST_LINES}
    assert {name: length for name, length in long.items() if length > LONG_FILES.get(name, 0)} == {}
    assert {name: length for name, length in LONG_FILES.items() if long.get(name, 0) != length} == {}


def test_functions_are_short() -> None:
    """The same for functions, docstrings left out."""
    long = {}
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                said = ast.get_docstring(node, clean=False)
                length = (node.end_lineno or 0) - node.lineno + 1 - (said.count("\n") + 1 if said else 0)
                if length > MOST_LINES_OF_A_FUNCTION:
                    long[f"{path.relative_to(ROOT).as_posix()}:{node.name}"] = length
    assert {name: length for name, length in long.items() if length > LONG_FUNCTIONS.get(name, 0)} == {}
    assert {name: length for name, length in LONG_FUNCTIONS.items() if long.get(name, 0) != length} == {}


def test_many_parameters_are_explained() -> None:
    """A public function of the packer with four parameters or more names them under `Args:`."""
    counts: dict[str, int] = {}
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith("packer/") or name.startswith(SAID_FOR_USERS):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
                continue
            given = node.args
            named = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            many = len({*named} - {"self", "cls"}) + (given.kwarg is not None) + (given.vararg is not None)
            if many >= LEAST_PARAMETERS and "Args:" not in (ast.get_docstring(node) or ""):
                counts[name] = counts.get(name, 0) + 1
    assert counts == WITHOUT_ARGS


def test_folders_are_small() -> None:
    """Who opens a folder reads its names at once."""
    counts: dict[str, int] = {}
    for path in sources():
        folder = path.parent.relative_to(ROOT).as_posix()
        counts[folder] = counts.get(folder, 0) + 1
    assert {folder: count for folder, count in counts.items() if count > MOST_FILES} == {}


def test_every_entry_of_the_order_is_there() -> None:
    """A folder that is gone leaves no line behind."""
    entries = [entry for line in ORDER for entry in line]
    gone = [entry for entry in entries if not any(re.match(rf"{re.escape(entry)}(\.|$)", name) for name in modules())]
    assert gone == []
