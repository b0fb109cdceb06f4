"""The rule that SQL takes values as bound parameters only, held by reading every statement of the store."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# The only functions whose result may stand inside SQL text: they take integers and return them as literals, or quote
# the path for ATTACH and names of tables and columns, which are no parameters.
SQL_LITERAL_HELPERS = frozenset({"database", "identifier", "identifiers", "int_list", "quoted"})
# Methods that take a statement first: those of a DuckDB connection and those of the store's own session.
SQL_CALLS = frozenset({"execute", "executemany", "sql", "run", "rows", "row", "value", "arrays", "stream"})
SQL_START = re.compile(
    r"\s*(ALTER|ATTACH|BEGIN|CHECKPOINT|COPY|CREATE|DELETE|DETACH|DROP|EXPORT|IMPORT|INSERT|INSTALL|LOAD|MERGE|PRAGMA|SELECT"
    r"|SET|TRUNCATE|UPDATE|VACUUM|WITH)\s",
)


def called(call: ast.Call) -> str:
    """The last name of what is called: `b` for `a.b()`; empty for anything without a name."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def text_of(node: ast.expr) -> str | None:
    """The leading literal text of a string that is put together from parts; None for anything else."""
    if isinstance(node, ast.JoinedStr):
        first = node.values[0] if node.values else None
        return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        left = node.left
        return left.value if isinstance(left, ast.Constant) and isinstance(left.value, str) else text_of(left)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        if node.func.attr in {"format", "format_map", "replace"}:
            return owner.value if isinstance(owner, ast.Constant) and isinstance(owner.value, str) else ""
    return None


def is_variable(node: ast.expr) -> bool:
    """Whether a part of a statement is anything but a constant, constants put together, or integer literals."""
    if isinstance(node, ast.BinOp | ast.JoinedStr):
        return is_assembled(node)
    return not (isinstance(node, ast.Constant) or (isinstance(node, ast.Call) and called(node) in SQL_LITERAL_HELPERS))


def is_assembled(node: ast.expr) -> bool:
    """Whether a string is put together from anything but constants and the integer-literal helpers."""
    if isinstance(node, ast.JoinedStr):
        return any(is_variable(part.value) for part in node.values if isinstance(part, ast.FormattedValue))
    if isinstance(node, ast.BinOp):
        return any(is_variable(side) for side in (node.left, node.right))
    if isinstance(node, ast.Call) and text_of(node) is not None:
        values = [*node.args, *(keyword.value for keyword in node.keywords)]
        return any(is_variable(value) for value in values)
    return False


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a module or function, those of the functions inside it left out."""
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from own_nodes(node)


def assigned(scope: ast.AST) -> dict[str, list[ast.expr]]:
    """What each plain name is bound to in one module or function."""
    values: dict[str, list[ast.expr]] = {}
    for node in own_nodes(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    values.setdefault(target.id, []).append(node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr | ast.AugAssign) and isinstance(node.target, ast.Name):
            value = node.value
            if isinstance(node, ast.AugAssign):
                value = ast.BinOp(left=ast.Name(node.target.id), op=node.op, right=node.value)
            if value is not None:
                values.setdefault(node.target.id, []).append(value)
    return values


def assembled_sql(tree: ast.Module) -> list[int]:
    """Lines where SQL text is put together: seen by its first word, or by being handed to a connection."""
    lines = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and SQL_START.match(text_of(node) or "") and is_assembled(node):
            lines.add(node.lineno)
    constants = assigned(tree)
    scopes = [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))]
    for scope in scopes:
        names = constants | assigned(scope)
        for call in own_nodes(scope):
            if not (isinstance(call, ast.Call) and call.args):
                continue
            # A list's append takes one argument, the session's takes a statement and columns.
            if called(call) not in SQL_CALLS and not (called(call) == "append" and len(call.args) == 2):
                continue
            statement = call.args[0]
            values = names.get(statement.id, []) if isinstance(statement, ast.Name) else [statement]
            lines.update(call.lineno for value in values if is_assembled(value))
    return sorted(lines)


@pytest.mark.tree
def test_sql_is_never_put_together() -> None:
    """Statements are constants or .sql files with bound parameters; only integer literals may be written in."""
    files = sorted((ROOT / "store").rglob("*.py"))
    assert files
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in files
        for line in assembled_sql(ast.parse(path.read_text(encoding="utf-8"), filename=str(path)))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("db.execute(f'SELECT * FROM {table}')", [1]),
        ("db.execute('SELECT * FROM ' + table)", [1]),
        ("db.execute('SELECT %s' % value)", [1]),
        ("db.execute('SELECT {}'.format(value))", [1]),
        ("q = f'FROM {table}'\ndb.execute(q)", [2]),
        ("q = 'SELECT 1'\nq += where\ndb.execute(q)", [3]),
        ("q = f'SELECT {column} FROM t'", [1]),
        ("class C:\n    def f(self):\n        self.db.execute(f'{name}')", [3]),
        ("session.rows(f'{head} WHERE x')", [1]),
        ("session.append(f'{head}', columns)", [1]),
        ("lines.append(f'{head}')", []),
        ("db.execute('SELECT ?', [value])", []),
        ("def f(q):\n    db.execute(q)\ndef g():\n    q = f'hello {name}'", []),
        ("db.execute(load('candidates'), [value])", []),
        ("db.execute(f'SELECT * FROM t WHERE n IN ({int_list(numbers)})')", []),
        ("db.execute(SQL.replace('{numbers}', int_list(numbers)))", []),
        ("db.execute('SELECT ? ' + 'FROM t ' + 'WHERE x = ?', [a, b])", []),
        ("message = f'With {n} records'", []),
    ],
)
def test_the_sql_rule_tells_assembled_statements_from_bound_ones(code: str, lines: list[int]) -> None:
    """The rule above sees each way of pasting values into a statement and lets bound parameters pass."""
    assert assembled_sql(ast.parse(code)) == lines
