"""Search by meaning at the doors: vectors come by themselves, and commands say how far they are."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_packs.packer import ContextPacks
from context_packs.packer.doors.cli import meaning
from context_packs.packer.doors.hooks.answer import run_hook
from context_packs.packer.doors.mcp.stdio import OpenedOnce
from context_packs.store.search.meaning import background

Run = Callable[..., Any]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedder without a model, by the setting."""
    monkeypatch.setenv("CONTEXT_PACKS_EMBEDDER", "test")


def pending(store: Path) -> int:
    with ContextPacks.open(store, embedder="test") as packs:
        return int(packs.stats()["pending"])


def until(holds: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    ever = threading.Event()
    for _ in range(2_000):
        if holds():
            return
        ever.wait(0.03)
    raise AssertionError("it did not happen")


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_what_a_command_stores_has_vectors_behind_it(
    run: Run, store: Path, model: None, options: tuple[str, ...]
) -> None:
    """Nobody has to know of vectors: the answer is the same as ever, and they are made once it is given."""
    ran = run("remember", "Soup was served.", *options)
    assert (ran.code, ran.err) == (0, "")
    assert pending(store) == 0


def test_an_import_is_followed_by_its_vectors(run: Run, store: Path, model: None, tmp_path: Path) -> None:
    """Where there is time for it; else a note says how to go on."""
    file = tmp_path / "lines.jsonl"
    file.write_text("".join(json.dumps({"content": f"Soup {n} was served."}) + "\n" for n in range(40)), "utf-8")
    assert run("import", "jsonl", str(file)).out == "40 created, 0 updated, 0 already there\n"
    assert pending(store) == 0


def test_an_import_does_not_wait_long_for_its_vectors(
    run: Run, store: Path, model: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is over the time is told, and the command goes on where it was left."""
    monkeypatch.setattr("context_packs.packer.doors.cli.imports.AFTER_IMPORT", 0.0)
    file = tmp_path / "lines.jsonl"
    file.write_text("".join(json.dumps({"content": f"Soup {n} was served."}) + "\n" for n in range(40)), "utf-8")
    ran = run("import", "jsonl", str(file))
    told = "note: 24 passages are found by words until `context-packs embed` or a server has made vectors"
    assert ran.err.splitlines()[-1] == told
    assert pending(store) == 24
    assert run("embed").out == "24 passages embedded, 0 left\n"
    assert run("embed", "--json").json == {"made": 0, "pending": 0}


def test_long_work_tells_speed_and_time_left(
    run: Run, store: Path, model: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line now and then on stderr."""
    with ContextPacks.open(store) as packs:
        packs.remember_many([{"content": f"Soup {n} was served."} for n in range(40)])
    monkeypatch.setattr(meaning, "_TOLD", 0.0)
    lines = run("embed").err.splitlines()
    assert len(lines) == 3 and lines[0].startswith("embedding: 16 of 40 passages, ")
    assert lines[-1].endswith(" a second, 0 s left")


def test_without_a_model_the_command_says_how_to_get_one(run: Run, store: Path) -> None:
    """One line with the way out; other commands are silent about it."""
    assert run("remember", "Soup was served.").err == ""
    ran = run("embed")
    assert ran.code == 2
    assert ran.err.startswith("error: embedder: there is no model; install the extra: pip install")


def test_a_model_that_fails_is_a_note_behind_a_write(run: Run, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record is stored and the exit code says so; vectors come the next time."""
    monkeypatch.setenv("CONTEXT_PACKS_EMBEDDER", "http://127.0.0.1:1/v1#soup-1")
    ran = run("remember", "Soup was served.")
    assert (ran.code, ran.out) == (0, "mem:1\n")
    assert ran.err.startswith("note: found by words until vectors are made: embedder: the endpoint of soup-1 cannot be")
    assert run("embed").code == 6


def test_stats_and_doctor_say_how_much_is_covered(run: Run, store: Path, model: None) -> None:
    """What waits, and the way on; a model that does not answer is a failed check."""
    with ContextPacks.open(store) as packs:
        packs.remember("Soup was served.")
    assert {"embedder": "test", "pending": 1}.items() <= run("stats", "--json").json.items()
    assert checked(run) == "test: 1 passages wait for `context-packs embed`, or for a server"
    run("embed")
    assert checked(run) == "test: every passage has a vector"


def test_a_model_that_does_not_answer_is_a_failed_check(run: Run, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`doctor` asks it for real."""
    run("remember", "Soup was served.")
    monkeypatch.setenv("CONTEXT_PACKS_EMBEDDER", "http://127.0.0.1:1/v1#soup-1")
    assert checked(run, 6).startswith("embedder: the endpoint of soup-1 cannot be reached")


def checked(run: Run, code: int = 0) -> str:
    ran = run("doctor", "--json")
    assert ran.code == code
    return str({check["check"]: check["detail"] for check in ran.json["checks"]}["meaning"])


def test_a_server_over_stdio_makes_them_beside_its_work(
    store: Path, model: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first call on, until it ends."""
    monkeypatch.setattr(background, "_LOOK", 0.01)
    opened = OpenedOnce(lambda: ContextPacks.open(store))
    opened().remember("Soup was served.")
    until(lambda: pending(store) == 0)
    opened.close()
    assert "vectors" not in [thread.name for thread in threading.enumerate()]


def test_a_hook_uses_words_and_waits_for_no_model(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint that is not there does not keep a prompt waiting: no hook asks a model."""
    with ContextPacks.open(store, embedder="none") as packs:
        packs.remember("We deploy the shop on Fridays.")
    monkeypatch.setenv("CONTEXT_PACKS_EMBEDDER", "http://127.0.0.1:1/v1#soup-1")
    prompt = json.dumps(
        {"hook_event_name": "UserPromptSubmit", "cwd": str(store.parent), "prompt": "When do we deploy the shop?"}
    )
    answer, fault = run_hook("claude-code", "user-prompt-submit", lambda: prompt, str(store), None)
    assert fault == "" and "We deploy the shop on Fridays." in answer
