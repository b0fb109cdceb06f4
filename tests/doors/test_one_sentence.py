"""One mistake has one sentence, at every door."""

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from context_packs.packer.doors.mcp.tools import tools
from context_packs.packer.doors.rest.app import create_app
from context_packs.packer.packing.profile import load_profile
from context_packs.packer.service import ContextPacks
from context_packs.store.errors import InvalidField


@pytest.fixture(scope="module")
def packs() -> Iterator[ContextPacks]:
    """One memory for all of them: nothing is written."""
    with ContextPacks.open(":memory:", "planner", embedder="none") as opened:
        yield opened


@pytest.fixture(scope="module")
def client(packs: ContextPacks) -> TestClient:
    return TestClient(create_app(packs), base_url="http://localhost")


MISTAKES = [
    ({"max_tokens": 12_001}, "max_tokens: 12001 is above 12000"),
    ({"max_tokens": 0}, "max_tokens: 0 is below 1"),
    ({"max_items": 51}, "max_items: 51 is above 50"),
    ({"max_items": "eight"}, "max_items: 'eight' is not a whole number"),
    ({"max_items": 8.5}, "max_items: 8.5 is not a whole number"),
    ({"max_tokens": [1]}, "max_tokens: [1] is not a whole number"),
    ({"query": 7}, "query: 7 is not text"),
    ({"query": ["x"]}, """query: ["x"] is not text"""),
]


@pytest.mark.parametrize(("fields", "line"), MISTAKES)
def test_a_request_at_fault_is_told_alike(packs: ContextPacks, client: TestClient, fields: Any, line: str) -> None:
    """REST, MCP and the library say the same of the same value."""
    given = {"query": "x", **fields}
    answer = client.post("/v1/recall/context", json=given)
    assert (answer.status_code, answer.json()["detail"]) == (422, line)
    tool = next(tool for tool in tools(load_profile("public")) if tool.name == "recall_context")
    with pytest.raises(InvalidField) as told:
        tool.call(lambda: packs, given)
    assert str(told.value) == line
    with pytest.raises(InvalidField) as told:
        packs.recall_context(**given)
    assert str(told.value) == line.replace('"', "'")


@pytest.mark.parametrize(
    ("path", "body", "line"),
    [
        ("/v1/recall/context", [], "body: [] is not an object"),
        ("/v1/remember", "x", "body: 'x' is not an object"),
        ("/v1/remember", {}, "content: is missing"),
        ("/v1/remember", {"content": 5}, "content: 5 is not text"),
        ("/v1/remember", {"content": "x", "metadata": [1]}, "metadata: [1] is not an object"),
        ("/v1/remember", {"content": "x", "pinned": "yes"}, "pinned: 'yes' is not true or false"),
        ("/v1/remember", {"content": "x", "importance": 1.5}, "importance: 1.5 is above 1"),
        ("/v1/get_contents", {"refs": []}, "refs: is empty: give at least one"),
        ("/v1/get_contents", {"refs": ["mem:1", 5]}, "refs: entry 2: 5 is not text"),
        ("/v1/get_contents", {"refs": ["mem:1"], "foo": 1}, "foo: unknown field; known fields: refs, max_tokens"),
        ("/threads", {"summary": "x", "thread_id": "thr_"}, "thread_id: 'thr_' is not an id like thr_8f21"),
        ("/workers", {"task": "x", "threads": ["y"]}, "threads: entry 1: 'y' is not an id like thr_8f21"),
    ],
)
def test_a_body_at_fault_is_told_in_plain_words(client: TestClient, path: str, body: Any, line: str) -> None:
    """The field, what is wrong, and the way out where it is not plain; no words of a library."""
    answer = client.post(path, json=body)
    assert (answer.status_code, answer.json()["detail"]) == (422, line)


def test_what_is_too_large_is_told_by_the_name_it_was_given(packs: ContextPacks, client: TestClient) -> None:
    """`provenance` is kept in `source`, which the caller never named."""
    answer = client.post("/v1/remember", json={"content": "x", "provenance": {"a": "b" * 33_000}})
    assert (answer.status_code, answer.json()["field"]) == (422, "provenance")
    assert answer.json()["detail"].startswith(
        "provenance: provenance and metadata are 33008 bytes as JSON, above 32768"
    )
    with pytest.raises(InvalidField) as told:
        packs.remember("x", source={"a": "b" * 33_000})
    assert told.value.field == "source"


def test_an_unknown_field_is_told_with_the_known_ones(packs: ContextPacks, client: TestClient) -> None:
    """At each door the names that it takes."""
    known = "foo: unknown field; known fields: query, "
    assert (
        client.post("/v1/recall/context", json={"query": "x", "foo": 1})
        .json()["detail"]
        .startswith("foo: unknown field; known fields: ")
    )
    tool = next(tool for tool in tools(load_profile("public")) if tool.name == "recall_context")
    for call in (lambda: tool.call(lambda: packs, {"query": "x", "foo": 1}), lambda: packs.recall_context("x", foo=1)):
        with pytest.raises(InvalidField) as told:
            call()
        assert str(told.value).startswith(known)
    with pytest.raises(InvalidField, match=r"^foo: unknown field; known fields: content, kind"):
        packs.remember("x", foo=1)
