"""Ids in the paths of the REST door: what has the form of no id is unknown; and an empty cursor is the beginning."""

from itertools import product

from fastapi.routing import APIRoute

from context_packs.packer.doors.rest.app import create_app
from context_packs.packer.service import ContextPacks

from .conftest import Served

REFS = ["123e4567-e89b-12d3-a456-426614174000", "word", "MEM:1", "mem:01", "mem:0", "mem:", "thr_", "thr_-a", "-1",
        "%00", "mem:1%20", "%F0%9F%98%80", "mem:" + "9" * 17, "thr_" + "a" * 65, "a" * 3000, "%7C"]  # fmt: skip


def routes() -> list[tuple[str, str]]:
    """Every route with an id in its path, from the application itself."""
    with ContextPacks.open(":memory:", embedder="none") as packs:
        found = [one for one in create_app(packs).routes if isinstance(one, APIRoute) and "{id}" in one.path]
    return sorted((method, one.path) for one in found for method in one.methods or ())


def test_an_id_of_another_form_is_unknown_on_every_route(served: Served) -> None:
    """404 with a problem document that names the field, whatever else the request says."""
    client = served.client()
    asked = routes()
    assert len(asked) >= 12
    for ref, (method, path) in product(REFS, asked):
        answer = client.request(method, path.replace("{id}", ref), json=None if method == "GET" else {})
        assert (answer.status_code, path, ref) == (404, path, ref)
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["detail"].partition(":")[0] in ("id", "thread_id", "worker_id", "trigger_id")


def test_an_id_of_another_kind_is_unknown(served: Served) -> None:
    """The id of a memory names no thread, and that of a thread no worker."""
    served.packs.remember("The mill stands by the river.")
    served.packs.threads.create(thread_id="thr_a", summary="a")
    client = served.client()
    assert client.get("/threads/mem:1").json()["detail"] == "thread_id: there is no thread mem:1"
    assert client.get("/v1/threads/mem:1").status_code == 404
    for path in ("/workers/thr_a", "/triggers/thr_a", "/triggers/thr_a/payload", "/threads/trg_0001/events"):
        assert client.get(path).status_code == 404
    assert client.post("/workers/thr_a/report", json={"report": "x"}).status_code == 404


def test_an_empty_cursor_is_the_beginning(served: Served) -> None:
    """Of the events of a thread, of the index of threads and of the trail."""
    served.packs.threads.create(thread_id="thr_a", summary="a")
    for word in ("one", "two"):
        served.packs.threads.add_trigger(thread_id="thr_a", source="ci", summary=word)
    client = served.client()
    for path in ("/threads/thr_a/events", "/threads", "/v1/threads"):
        first = client.get(path)
        again = client.get(path, params={"cursor": ""})
        assert (again.status_code, again.json()) == (200, first.json())
    assert client.get("/v1/audit", params={"cursor": ""}).status_code == 200
    assert [one.summary for one in served.packs.threads.events("thr_a", "").events] == ["one", "two"]
