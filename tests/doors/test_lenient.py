"""K9: arguments that mean what they should are taken in the forms in which models and clients write them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from context_packs.packer import ContextPacks
from context_packs.packer.doors.forms.lenient import fitted
from context_packs.packer.doors.mcp.tools import tools
from context_packs.packer.doors.rest.app import create_app
from context_packs.packer.packing.profile import list_profiles, load_profile

SCHEMA = {
    "whole": {"type": "integer"}, "number": {"type": "number"}, "flag": {"type": "boolean"}, "text": {"type": "string"},
    "list": {"type": "array"}, "object": {"anyOf": [{"type": "object"}, {"type": "null"}]}, "any": {},
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "written", "meant"),
    [
        ("whole", 600.0, 600), ("whole", "600", 600), ("whole", "600.0", 600), ("number", "0.5", 0.5),
        ("number", "1", 1), ("flag", "true", True), ("list", '["mem:1"]', ["mem:1"]), ("object", '{"a": 1}', {"a": 1}),
    ],
)  # fmt: skip
def test_a_value_written_in_another_form_is_that_value(name: str, written: Any, meant: Any) -> None:
    """A whole number with a point, and whatever a text holds in JSON where no text is asked for."""
    found = fitted({name: written}, SCHEMA)[name]
    assert (type(found), found) == (type(meant), meant)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("whole", 8.5), ("whole", "8.5"), ("whole", True), ("whole", "true"), ("whole", "eight"),
        ("whole", float("nan")), ("whole", 1e300), ("flag", "yes"), ("flag", 1), ("list", "mem:1"),
        ("list", '{"a": 1}'), ("text", "600"), ("text", 7), ("object", "[1]"), ("any", "[1]"), ("object", None),
        ("any", None), ("whole", "[" * 100_000),
    ],
)  # fmt: skip
def test_what_is_meant_otherwise_stays_what_it_is(name: str, value: Any) -> None:
    """The check that follows names it."""
    found = fitted({name: value}, SCHEMA)[name]
    assert found is value


@given(
    st.dictionaries(
        st.sampled_from(sorted(SCHEMA)), st.none() | st.booleans() | st.integers() | st.floats() | st.text()
    )
)
def test_any_arguments_are_fitted_once(arguments: dict[str, Any]) -> None:
    """What is fitted stays so, and null is absent unless it says something."""
    once = fitted(arguments, SCHEMA)
    assert repr(fitted(once, SCHEMA)) == repr(once)
    assert [name for name, value in once.items() if value is None and name not in ("object", "any")] == []


def test_both_doors_take_what_is_meant() -> None:
    """Null is absent, also for what has to be there; a number and a list may be written as text."""
    with ContextPacks.open(":memory:", "planner", embedder="none") as packs:
        packs.remember("Backups run nightly.")
        client = TestClient(create_app(packs), base_url="http://localhost")
        asked = {"query": "backups", "max_tokens": 600.0, "max_items": "8"}
        assert client.post("/v1/recall/context", json={**asked, "scope": None}).json()["budget"]["used_items"] == 1
        assert client.post("/v1/get_contents", json={"refs": '["mem:1"]'}).json()["messages"][0]["ref"] == "mem:1"
        assert client.post("/v1/remember", json={"content": None}).json()["detail"] == "content: is missing"
        by_name = {tool.name: tool for tool in tools(load_profile("internal"))}
        assert by_name["recall_context"].call(lambda: packs, asked).document["budget"]["used_items"] == 1
        found = by_name["get_contents"].call(lambda: packs, {"refs": '["mem:1"]', "max_tokens": None}).document
        assert found is not None and found["messages"][0]["ref"] == "mem:1"


@pytest.mark.parametrize("profile", list_profiles())
def test_no_type_in_a_schema_of_a_tool_is_a_list(profile: str) -> None:
    """Some clients refuse the whole server for one."""

    def types(schema: Any) -> list[Any]:
        inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
        own = [schema["type"]] if isinstance(schema, dict) and isinstance(schema.get("type"), list) else []
        return own + [one for part in inner for one in types(part)]

    assert [
        types(tool.definition()["inputSchema"])
        for tool in tools(load_profile(profile))
        if types(tool.definition()["inputSchema"])
    ] == []
