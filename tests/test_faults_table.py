"""The table of faults names tests that exist, in every row that is not open."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / ".dev" / "FAULTS.md"
NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
ROW = re.compile(r"\| ((?:choice-|client-)?[A-Z]\d+) \| ([^|]+) \| ([^|]+) \|")


@cache
def functions_of(file: str) -> frozenset[str]:
    """Names of the test functions of a file below tests/; none where it is missing."""
    path = ROOT / "tests" / file
    if not path.is_file():
        return frozenset()
    functions = ast.walk(ast.parse(path.read_text("utf-8")))
    return frozenset(node.name for node in functions if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.tree
def test_every_test_that_the_table_of_faults_names_exists() -> None:
    """Whoever renames or removes a test takes the table along."""
    named = NAMED.findall(TABLE.read_text("utf-8"))
    assert len(named) > 100
    assert [f"{file}::{name}" for file, name in named if name not in functions_of(file)] == []


@pytest.mark.tree
def test_every_row_of_the_table_is_open_or_names_its_tests() -> None:
    """A row has an id of its own, words, and `open` or nothing but tests."""
    rows = [line for line in TABLE.read_text("utf-8").splitlines() if re.match(r"\| [\w-]*\d", line)]
    matched = [ROW.fullmatch(line) for line in rows]
    assert all(matched)
    ids = [found[1] for found in matched if found is not None]
    assert sorted(set(ids)) == sorted(ids)
    held = [found[3] for found in matched if found is not None]
    assert [words for words in held if words != "open" and re.sub(r"[, ]", "", NAMED.sub("", words))] == []
