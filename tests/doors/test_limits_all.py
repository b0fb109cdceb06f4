"""Every limit that a model, a route, a tool or code declares: found by looking, so that a new one is asked too. Its
message names the field, the limit, and what to do; of a number out of range the limit itself says that."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import annotated_types
import pytest
from pydantic import BaseModel, ValidationError
from starlette.testclient import TestClient

import context_packs.packer
import context_packs.store
from context_packs.packer.doors.forms.arguments import checked
from context_packs.packer.doors.mcp.tools import tools
from context_packs.packer.doors.rest.app import create_app
from context_packs.packer.packing.profile import list_profiles, load_profile
from context_packs.packer.service import ContextPacks
from context_packs.store.errors import InvalidField
from context_packs.store.validation import told

WAY = re.compile(r"[;:] (?:send|give|shorten|flatten|keep|ask|leave|name|say)\b")
KINDS = ("Ge", "Gt", "Le", "Lt", "MaxLen", "MinLen")


def models() -> Iterator[type[BaseModel]]:
    """All models of the product, of every module that it has."""
    for package in (context_packs.store, context_packs.packer):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    todo: list[type[BaseModel]] = [BaseModel]
    seen = set()
    while todo:
        for model in todo.pop().__subclasses__():
            if model not in seen:
                seen.add(model)
                todo.append(model)
    yield from sorted(
        (model for model in seen if model.__module__.startswith("context_packs.")),
        key=lambda model: f"{model.__module__}.{model.__qualname__}",
    )


def limits_in(annotation: Any) -> Iterator[Any]:
    """The limits in an annotation, at any depth."""
    for entry in getattr(annotation, "__metadata__", ()):
        for one in (entry, *getattr(entry, "metadata", ())):
            if type(one).__name__ in KINDS:
                yield one
    for inner in getattr(annotation, "__args__", ()):
        yield from limits_in(inner)


def bound_of(limit: Any) -> int:
    return int(next(value for name, value in vars_of(limit).items() if value is not None))


def vars_of(limit: Any) -> dict[str, Any]:
    return {
        name: getattr(limit, name)
        for name in ("ge", "gt", "le", "lt", "max_length", "min_length")
        if hasattr(limit, name)
    }


LIMITS = [
    (model, name, limit)
    for model in models()
    for name, field in model.model_fields.items()
    for limit in (
        *(one for one in field.metadata if type(one).__name__ in KINDS),
        *limits_in(field.annotation),
    )
]


def beyond(limit: Any) -> Iterator[Any]:
    """Values that are just beyond a limit, of the types that it may be of."""
    bound = bound_of(limit)
    match limit:
        case annotated_types.Ge() | annotated_types.Gt():
            yield bound - isinstance(limit, annotated_types.Ge)
            yield {"external_id": bound - 1}
        case annotated_types.Le() | annotated_types.Lt():
            yield bound + isinstance(limit, annotated_types.Le)
        case annotated_types.MaxLen():
            yield "x" * (bound + 1)
            if bound < 100_000:
                for form in ("mem:{}", "thr_{}", "tok{}"):
                    yield [form.format(n) for n in range(1, bound + 2)]
        case annotated_types.MinLen():
            yield ""
            yield []


def said(model: type[BaseModel], name: str, value: Any) -> list[str]:
    """What is said of one field of a model with a value."""
    alias = model.model_fields[name].alias or name
    try:
        model.model_validate({alias: value})
    except ValidationError as error:
        faults = error.errors(include_url=False)
        return [told(fault, "record", model.model_fields)[1] for fault in faults if fault["loc"][:1] == (alias,)]
    except InvalidField as error:
        return [str(error)]
    return []


def fits(line: str, field: str, limit: Any) -> bool:
    """Whether a line names the field, the limit and what to do."""
    bound = str(bound_of(limit))
    if type(limit).__name__ == "MinLen":
        least = "is blank" in line or bound in line or (bound == "1" and "at least one" in line)
        return line.startswith(f"{field}: ") and least and bool(WAY.search(line))
    if not line.startswith(f"{field}: ") or bound not in line:
        return False
    return type(limit).__name__ != "MaxLen" or bool(WAY.search(line))


def test_there_are_limits_of_every_kind() -> None:
    """What is looked for is found."""
    assert {type(limit).__name__ for _, _, limit in LIMITS} == {"Ge", "Le", "Lt", "MaxLen", "MinLen"}
    assert len(LIMITS) > 100


@pytest.mark.parametrize(
    ("model", "name", "limit"), LIMITS, ids=[f"{model.__name__}-{name}-{limit}" for model, name, limit in LIMITS]
)
def test_a_limit_of_a_model_names_field_bound_and_way_out(model: type[BaseModel], name: str, limit: Any) -> None:
    """At least one value beyond it is refused, and the line on it is whole."""
    field = model.model_fields[name].alias or name
    lines = [line for value in beyond(limit) for line in said(model, name, value)]
    assert any(fits(line, field, limit) for line in lines), lines


BOUNDS = {"minimum": -1, "maximum": 1, "minItems": -1, "maxItems": 1, "minLength": -1, "maxLength": 1}
"""Limits in a JSON schema, and which way lies beyond them."""


def bounded(schema: Any) -> Iterator[tuple[str, int]]:
    """The limits of a value, at any depth of `anyOf`."""
    for inner in (schema, *schema.get("anyOf", ())):
        yield from ((name, inner[name]) for name in BOUNDS if name in inner)


def outside(name: str, bound: int) -> Any:
    """A value just beyond a limit of a schema."""
    beyond = bound + BOUNDS[name]
    if name.endswith("Items"):
        return [f"mem:{n}" for n in range(1, beyond + 1)]
    return "x" * beyond if name.endswith("Length") else beyond


def assert_whole(line: str, field: str, name: str, bound: int) -> None:
    """A line names the field, the limit, and what to do."""
    assert line.startswith(f"{field}: "), line
    assert str(bound) in line or "is blank" in line or (bound == 1 and "at least one" in line), line
    assert WAY.search(line) or name in ("minimum", "maximum"), line


TOOLS = [
    (profile, tool, field, *limit)
    for profile in list_profiles()
    for tool in tools(load_profile(profile))
    for field, schema in tool.arguments["properties"].items()
    for limit in bounded(schema)
]


@pytest.mark.parametrize(
    ("profile", "tool", "field", "name", "bound"),
    TOOLS,
    ids=[f"{profile}-{tool.name}-{field}-{name}" for profile, tool, field, name, _ in TOOLS],
)
def test_a_limit_of_a_tool_names_field_bound_and_way_out(
    profile: str, tool: Any, field: str, name: str, bound: int
) -> None:
    """What the schema says is what is held."""
    needed = {other: "x" for other in tool.arguments.get("required", ()) if other != field}
    needed = {
        other: [value] if tool.arguments["properties"][other]["type"] == "array" else value
        for other, value in needed.items()
    }
    with pytest.raises(InvalidField) as error:
        checked(tool.arguments, {**needed, field: outside(name, bound)})
    assert error.value.field == field
    assert_whole(str(error.value), field, name, bound)


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with ContextPacks.open(":memory:", "planner", embedder="none") as packs:
        packs.threads.create("A thread.", thread_id="thr_a")
        yield TestClient(create_app(packs), base_url="http://127.0.0.1")


def test_a_limit_of_a_parameter_names_field_bound_and_way_out(client: TestClient) -> None:
    """Of each route, as the description of the server has it."""
    asked = 0
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        for method, described in methods.items():
            for parameter in described.get("parameters", ()):
                for name, bound in bounded(parameter.get("schema", {})):
                    if parameter["in"] != "query" or name == "minLength":
                        continue
                    url = re.sub(r"{[^}]*}", "thr_a", path)
                    needed = {
                        one["name"]: "x"
                        for one in described["parameters"]
                        if one.get("required") and one["in"] == "query"
                    }
                    params = {**needed, parameter["name"]: outside(name, bound)}
                    answer = client.request(method, url, params=params)
                    assert answer.status_code == 422, (path, answer.text)
                    assert_whole(answer.json()["detail"], parameter["name"], name, bound)
                    asked += 1
    assert asked > 5


NOTES = {"older.py"}  # says what was done, and refuses nothing
SOURCES = [
    path
    for folder in ("packer", "store")
    for path in (Path(__file__).parents[2] / folder).rglob("*.py")
    if path.name not in NOTES
]


def messages(tree: ast.AST) -> Iterator[tuple[int, str, bool]]:
    """Line, text and whether a constant stands in it, of each text that is put together."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            names = [name.id for part in node.values for name in ast.walk(part) if isinstance(name, ast.Name)]
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield node.lineno, text, any(re.fullmatch("_?[A-Z][A-Z_]+", name) for name in names)


def test_a_limit_that_code_holds_names_the_way_out() -> None:
    """Each text with a constant that says above, more, longer or at most, and how much."""
    wrong, found = [], 0
    for path in SOURCES:
        for line, text, limited in messages(ast.parse(path.read_text(encoding="utf-8"))):
            if limited and not text.startswith("\n") and re.search(r"\b(above|more than|longer than|at most)\b", text):
                found += 1
                if not WAY.search(text):
                    wrong.append(f"{path.name}:{line}: {text}")
    assert not wrong, "\n".join(wrong)
    assert found > 5
