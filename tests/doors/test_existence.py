"""Somebody else's record and one that never was: the same answer, made by the same statements, so that neither words
nor time tell them apart. `tests/bench/existence.py` measures the time."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from context_packs.packer import ContextPacks
from context_packs.packer.work import complete_reminder, find_snapshot, mark_used
from context_packs.store.errors import NotFound
from context_packs.store.file.duck import Session

# What is asked, the id of a record of somebody else, and one that never was.
ACTS: dict[str, tuple[Callable[[ContextPacks, str], Any], str, str]] = {
    "get": (lambda packs, one: packs.get(one), "mem:1", "mem:900"),
    "get an episode": (lambda packs, one: packs.get(one), "ep:1", "ep:900"),
    "get by name": (lambda packs, one: packs.get(one), "thr_a", "thr_z"),
    "get_contents": (lambda packs, one: packs.get_contents([one]).missing, "mem:1", "mem:900"),
    "get_contents by name": (lambda packs, one: packs.get_contents([one]).missing, "trg_a", "trg_z"),
    "forget": (lambda packs, one: packs.forget(one), "mem:1", "mem:900"),
    "erase": (lambda packs, one: packs.forget(one, "hard_delete", labels=True), "mem:1", "mem:900"),
    "forget by name": (lambda packs, one: packs.forget(one), "wkr_a", "wkr_z"),
    "revise": (lambda packs, one: packs.revise(one, title="x"), "mem:1", "mem:900"),
    "revise under a key": (lambda packs, one: packs.revise(one, title="x", idempotency_key="k"), "mem:1", "mem:900"),
    "replace": (lambda packs, one: packs.remember("mine", supersedes=one), "mem:1", "mem:900"),
    "replace by name": (lambda packs, one: packs.remember("mine", supersedes=one), "thr_a", "thr_z"),
    "use": (mark_used, "mem:1", "mem:900"),
    "complete": (complete_reminder, "mem:2", "mem:900"),
    "snapshot": (find_snapshot, "mem:1", "mem:900"),
    "thread": (lambda packs, one: packs.threads.get(one), "thr_a", "thr_z"),
    "events": (lambda packs, one: packs.threads.events(one), "thr_a", "thr_z"),
    "update_thread": (lambda packs, one: packs.threads.update(one, status="closed"), "thr_a", "thr_z"),
    "add_trigger": (lambda packs, one: packs.threads.add_trigger(one, "ci", payload="x"), "thr_a", "thr_z"),
    "create_worker": (lambda packs, one: packs.threads.create_worker("x", [one]), "thr_a", "thr_z"),
    "worker": (lambda packs, one: packs.threads.get_worker(one), "wkr_a", "wkr_z"),
    "report": (lambda packs, one: packs.threads.report(one, "x"), "wkr_a", "wkr_z"),
    "cite": (lambda packs, one: packs.threads.report("wkr_mine", "x", [one]), "trg_a", "trg_z"),
    "trigger": (lambda packs, one: packs.threads.get_trigger(one), "trg_a", "trg_z"),
    "payload": (lambda packs, one: packs.threads.payload(one), "trg_a", "trg_z"),
    "link from": (lambda packs, one: packs.threads.link(one, "wkr_mine", "x"), "mem:1", "mem:900"),
    "link to": (lambda packs, one: packs.threads.link("wkr_mine", one, "x"), "trg_a", "trg_z"),
    "search": (lambda packs, one: packs.search_memory(one).rows, "mem:1", "mem:900"),
}


@pytest.fixture(scope="module", params=[(), ("red",)], ids=["alone", "in a team"])
def stranger(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ContextPacks]:
    """An agent beside one who keeps records of every kind."""
    path: Path = tmp_path_factory.mktemp("existence") / "memory.duckdb"
    with ContextPacks.open(path, "owner", mode="exclusive", embedder="none") as packs:
        packs.remember("One")
        packs.remember("Two", type="reminder", status="open")
        packs.remember("An episode", kind="episode")
        packs.threads.create("A", thread_id="thr_a")
        packs.threads.add_trigger("thr_a", "ci", payload="x", trigger_id="trg_a")
        packs.threads.create_worker("T", ["thr_a"], worker_id="wkr_a")
    with ContextPacks.open(path, "stranger", mode="exclusive", embedder="none", teams=request.param) as packs:
        packs.threads.create_worker("Mine", worker_id="wkr_mine")
        yield packs


@pytest.mark.parametrize("act", ACTS)
def test_a_foreign_id_costs_and_answers_what_an_unknown_one_does(
    stranger: ContextPacks, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers differ in the id alone, and so do the statements that they took."""
    said: list[str] = []
    for name in ("rows", "row", "run"):
        real = getattr(Session, name)

        def heard(session: Session, sql: str, params: Any = None, real: Any = real) -> Any:
            said.append(sql)
            return real(session, sql, params)

        monkeypatch.setattr(Session, name, heard)
    do, foreign, unknown = ACTS[act]
    told: list[tuple[str, tuple[str, ...]]] = []
    for one in (foreign, unknown) * 5:  # a process that keeps its file remembers some of the first reads
        said.clear()
        try:
            answer = repr(do(stranger, one))
        except NotFound as error:
            answer = f"{type(error).__name__} {error.field} {error}"
        told.append((answer.replace(one, "ID"), tuple(said)))
    assert told[-2] == told[-1]
    assert told[0][1]
