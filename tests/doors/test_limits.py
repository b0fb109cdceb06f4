"""Limits of size, count and depth: each says the field, what is wrong, and the way out."""

import re
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import pytest
from starlette.testclient import TestClient

from context_packs.packer.doors.rest.app import create_app
from context_packs.packer.packing.request import MAX_KNOWN_CHARS, MAX_QUERY_CHARS
from context_packs.packer.service import ContextPacks
from context_packs.store.errors import StoreError

WAY = r"[;:] (send|give|shorten|flatten|keep|ask|leave|name) ?[^;:]*"


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.fixture(scope="module")
def packs() -> Iterator[ContextPacks]:
    """One memory for all of them: nothing is written but a thread."""
    with ContextPacks.open(":memory:", "planner", embedder="none") as opened:
        opened.threads.create("t", thread_id="thr_a")
        yield opened


LIBRARY: list[tuple[str, str, dict[str, Any]]] = [
    ("source", "remember", {"content": "x", "source": {"a": "b" * 33_000}}),
    ("metadata", "remember", {"content": "x", "metadata": {"a": "b" * 33_000}}),
    ("metadata", "remember", {"content": "x", "metadata": deep(40)}),
    ("path", "remember", {"content": "x", "path": "p" * 2_000}),
    ("title", "remember", {"content": "x", "title": "t" * 5_000}),
    ("external_id", "remember", {"content": "x", "external_id": "e" * 5_000}),
    ("query", "recall_context", {"query": "x" * (MAX_QUERY_CHARS + 1)}),
    ("exclude_ids", "recall_context", {"query": "x", "exclude_ids": ["mem:1"] * 10_001}),
    ("exclude_contents", "recall_context", {"query": "x", "exclude_contents": ["y" * (MAX_KNOWN_CHARS + 1)]}),
    ("summary", "threads.create", {"summary": "s" * 5_000}),
    ("payload", "threads.add_trigger", {"thread_id": "thr_a", "source": "ci", "payload": b"x" * (32 * 2**20 + 1)}),
    ("task", "threads.create_worker", {"task": "t" * 1_000_001}),
    ("threads", "threads.create_worker", {"task": "t", "threads": [f"thr_{n}" for n in range(101)]}),
    ("cites", "threads.report", {"worker_id": "wkr_a", "report": "r", "cites": [f"mem:{n + 1}" for n in range(1001)]}),
    ("label", "tokens.create", {"agent_id": "a", "scopes": ["memory:read"], "label": "l" * 5_000}),
]


@pytest.mark.parametrize(("field", "call", "fields"), LIBRARY, ids=lambda value: value if type(value) is str else "")
def test_a_limit_of_the_library_names_the_way_out(
    packs: ContextPacks, field: str, call: str, fields: dict[str, Any]
) -> None:
    """One line: the field, what is wrong, what to do."""
    with pytest.raises(StoreError) as told:
        attrgetter(call)(packs)(**fields)
    assert told.value.field == field
    assert re.fullmatch(rf"{field}: .*{WAY}", str(told.value)), str(told.value)


def test_a_limit_of_the_server_names_the_way_out(packs: ContextPacks) -> None:
    """Body, depth, keys and what a client says of itself."""
    with TestClient(create_app(packs, max_body=100_000), base_url="http://127.0.0.1") as client:
        nested = "[" * 200 + "]" * 200
        for status, field, body, headers in (
            (413, "body", '{"content": "' + "x" * 100_000 + '"}', {}),
            (400, "body", f'{{"content": {nested}}}', {}),
            (422, "idempotency_key", '{"content": "x"}', {"Idempotency-Key": "k" * 300}),
        ):
            told = client.post("/v1/remember", content=body, headers={"Content-Type": "application/json", **headers})
            assert told.status_code == status
            assert re.fullmatch(rf"{field}: .*{WAY}", told.json()["detail"]), told.json()["detail"]
