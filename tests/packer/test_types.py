"""Keywords are typed: the types agree with the models, and a type checker refuses a misspelt one."""

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal, Required, get_args, get_origin, get_type_hints

import pytest

import context_packs
from context_packs import ContextPacks, InvalidField, PackRequest
from context_packs.packer.fields import ChangedFields, FilterFields, NewRecord, RecordFields, RequestFields
from context_packs.packer.threads import Threads
from context_packs.store.memory.prepare import RecordIn
from context_packs.store.memory.revise import CHANGEABLE

PROGRAMS = Path(__file__).resolve().parent.parent / "fixtures" / "programs"
FOLDED = {"importance", "confidence", "provenance"}  # kept in `metadata` and `source`
OTHER_NAMES = {"memory_type"}  # for `type`
LIMITS = {"query", "max_items", "max_tokens", "max_chars", "profile", "fill", "exclude_contents"}


def names(kind: Any) -> set[str]:
    return set(get_type_hints(kind))


def parts(kind: Any) -> set[Any]:
    """The members of a union; of a literal its values."""
    if get_origin(kind) is Literal:
        return set(get_args(kind))
    return {value for part in get_args(kind) for value in parts(part)} if len(get_args(kind)) > 1 else {kind}


def test_fields_of_a_request_are_those_of_the_model() -> None:
    """No name is missing, none is left over; a filter is every field that is no limit."""
    assert names(RequestFields) == set(PackRequest.model_fields)
    assert names(FilterFields) == set(PackRequest.model_fields) - LIMITS


def test_choices_and_absence_of_a_request_are_those_of_the_model() -> None:
    """The same words to choose from, and None where the model has it as default."""
    for name, kind in get_type_hints(RequestFields).items():
        field = PackRequest.model_fields[name]
        choices = {part for part in parts(kind) if isinstance(part, str)}
        assert choices == {part for part in parts(field.annotation) if isinstance(part, str)}, name
        assert (type(None) in parts(kind)) == (field.default is None), name


def test_fields_of_a_record_are_those_of_the_model() -> None:
    """And the names that are folded into others."""
    assert names(NewRecord) == set(RecordIn.model_fields) | FOLDED | OTHER_NAMES
    assert names(RecordFields) == names(NewRecord) - {"content"}
    assert get_type_hints(NewRecord, include_extras=True)["content"] == Required[str]


def test_fields_of_a_new_version_are_those_that_may_change() -> None:
    """With the other name of `type`."""
    assert names(ChangedFields) == set(CHANGEABLE) | OTHER_NAMES


@pytest.mark.parametrize("name", sorted(names(NewRecord) - {"content", "supersedes"}))
def test_every_field_of_a_record_is_taken(name: str) -> None:
    """A value of its type is stored, not refused as unknown."""
    hint = get_type_hints(NewRecord)[name]
    values = {"expires_at": "2999-01-01", "timestamp": "2026-01-01", "kind": "episode", "importance": 0.5}
    values |= {"confidence": 0.5, "provenance": {"a": 1}, "source": {"a": 1}, "metadata": {"a": 1}}
    value: Any = values.get(name, True if hint is bool else "x")
    with ContextPacks.open(":memory:", "planner", embedder="none") as packs:
        assert packs.remember_many([{"content": "x", name: value}])[0].created  # type: ignore[misc]


def test_no_public_method_takes_keywords_of_any_name() -> None:
    """Whatever takes `**fields` names them by a TypedDict."""
    loose = []
    for name, method in (*inspect.getmembers(ContextPacks, callable), *inspect.getmembers(Threads, callable)):
        if not name.startswith("_"):
            for given in inspect.signature(method).parameters.values():
                if given.kind is given.VAR_KEYWORD and not str(given.annotation).startswith("Unpack["):
                    loose.append(name)
    assert loose == []


def test_a_misspelt_keyword_is_refused_at_run_time_too() -> None:
    """With the field named."""
    with ContextPacks.open(":memory:", "planner", embedder="none") as packs:
        for wrong in (
            lambda: packs.recall_context("why?", max_tokns=5),
            lambda: packs.remember("x", max_tokns="x"),
            lambda: packs.remember_many([{"content": "x", "max_tokns": "x"}]),
        ):
            with pytest.raises(InvalidField) as refused:
                wrong()
            assert refused.value.field == "max_tokns"


def test_mypy_accepts_the_right_program_and_refuses_each_mistake(tmp_path: Path) -> None:
    """`mypy --strict`: an error at each line that is marked, and at no other."""
    home = Path(context_packs.__file__).resolve().parent
    tree = home.parent.parent / ".dev"  # an editable install says nothing to a type checker
    settings = tmp_path / "mypy.ini"
    settings.write_text(f"[mypy]\nfollow_imports = silent\n{f'mypy_path = {tree}' if tree.is_dir() else ''}\n", "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(settings), "--no-error-summary"]
    command += ["--cache-dir", str(tmp_path / "cache"), "--hide-error-context", str(PROGRAMS)]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    refused = set(re.findall(r"(\w+)\.py:(\d+): error:", run.stdout))
    lines = (PROGRAMS / "wrong.py").read_text("utf-8").splitlines()
    marked = {("wrong", str(number)) for number, line in enumerate(lines, 1) if line.endswith("# refused")}
    assert (refused, run.stderr) == (marked, ""), run.stdout


def test_the_root_gives_every_public_name_and_loads_them_late() -> None:
    """`import context_packs` brings nothing of ours; a name brings what it needs; an unknown one is an error."""
    script = (
        "import sys, context_packs\n"
        "print(sorted(name for name in sys.modules if name.startswith('context_packs.')))\n"
        "print(context_packs.__version__)\n"
        "print('duckdb' in sys.modules)\n"
        "from context_packs import *\n"
        "print(ContextPacks.__name__, set(dir(context_packs)) - set(context_packs.packer.__all__))\n"
        "print(hasattr(context_packs, 'nonsense'), hasattr(context_packs, '_MODULE'))\n"
    )
    run = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=False)
    assert run.stderr == ""
    assert run.stdout.splitlines() == ["[]", "0.1.0", "False", "ContextPacks {'__version__'}", "False False"]
