"""What the doors say of an erasure: when its bytes are gone, what may repeat the text; and that labels go too."""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_packs.packer import ContextPacks

Run = Callable[..., Any]

WORDS = (b"swordfish", b"bank/vault", b"pikeperch", b"note-7")


def left(folder: Path) -> list[bytes]:
    """Words that stand in a file of a folder."""
    said = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    return [word for word in WORDS if word in said]


@pytest.mark.parametrize("mode", ["hard_delete", "redact"])
def test_the_command_leaves_no_byte_of_what_it_erases(run: Run, store: Path, mode: str) -> None:
    """It compacts at its end and says so on stderr; with --later the bytes stay, `doctor` counts, `compact` clears."""
    for _ in range(2):
        run("remember", "The vault opens with swordfish.", "--path", "bank/vault", "--title", "pikeperch", "--key", "k")
        run("remember", "The vault opens with swordfish.", "--path", "elsewhere", "--title", "pikeperch")
    erased = run("forget", "mem:1", "--mode", mode, "--labels", "--later", "--json")
    assert (erased.json["erased"], erased.json["derived_count"]) == ("after compact", 1)
    assert "until `context-packs compact` has run" in erased.err
    assert b"swordfish" in left(store.parent)
    assert "1 wait for `context-packs compact`" in run("doctor").out
    erased = run("forget", "mem:2", "--mode", mode, "--labels", "--json")
    assert (erased.json["erased"], erased.err.startswith("compacting: ")) == ("now", True)
    assert left(store.parent) == []
    assert "erasures_waiting: 0\n" in run("stats").out
    assert "none waits" in run("doctor").out
    assert run("compact").code == 0
    assert run("remember", "Something else").out == "mem:3\n"


def test_a_store_that_can_not_be_compacted_is_told_after_the_erasure(
    run: Run, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record is erased; the answer says what is left to do, the error why, and so does the exit code."""
    run("remember", "The vault opens with swordfish.")

    def full(source: object, target: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr("os.replace", full)
    erased = run("forget", "mem:1", "--mode", "hard_delete", "--json")
    assert (erased.code, erased.json["erased"]) == (6, "after compact")
    assert "free some space" in erased.err
    monkeypatch.undo()
    assert run("compact", "--store", str(store)).code == 0
    assert left(store.parent) == []


@pytest.mark.parametrize("held", ["shared", "leased", "exclusive"])
def test_no_byte_is_left_after_compact_however_the_file_is_held(tmp_path: Path, held: Any) -> None:
    """Of a memory in two versions, an episode, a payload and a report; the log beside the file included."""
    with ContextPacks.open(tmp_path / "memory.duckdb", "planner", mode=held, embedder="none") as packs:
        refs = [packs.remember("The vault opens with pikeperch.", path="bank/vault", idempotency_key="swordfish").id]
        packs.revise(refs[0], content="The vault opens with swordfish.", metadata={"a": "pikeperch"})
        refs.append(packs.remember("swordfish: pikeperch?\nMika: no.", kind="episode", external_id="note-7").id)
        thread = packs.threads.create("swordfish escaped", path="bank/vault").id
        refs.append(packs.threads.add_trigger(thread, "ci", payload="swordfish " * 2_000, external_id="note-7").id)
        refs.append(packs.threads.create_worker("Find pikeperch").id)
        packs.threads.report(refs[-1], "swordfish it was")
        assert b"swordfish" in left(tmp_path)
        for ref in (*refs, thread):
            packs.forget(ref, "redact", labels=True)
            packs.forget(ref, "hard_delete", labels=True)
        assert packs.stats()["erasures_waiting"] == 10
        packs.store.compact()
        assert left(tmp_path) == []
        assert packs.stats()["erasures_waiting"] == 0
        assert packs.remember("The vault opens with swordfish.", idempotency_key="swordfish").id == refs[0]
        assert left(tmp_path) == []
    assert left(tmp_path) == []


def test_rest_erases_labels_and_names_what_may_repeat_the_text(served: Any) -> None:
    """The answer lists it, and 422 where labels come with a soft deletion."""
    client = served.client()
    body = {"content": "The vault opens with swordfish.", "path": "bank/vault"}
    one = client.post("/v1/remember", json=body).json()["id"]
    other = client.post("/v1/remember", json={"content": f"See {one}."}).json()["id"]
    refused = client.post(f"/v1/memories/{one}/forget", json={"labels": True})
    assert (refused.status_code, refused.json()["field"]) == (422, "labels")
    told = client.post(f"/v1/memories/{one}/forget", json={"mode": "redact", "labels": True}).json()
    derived = [{"id": other, "why": "names it"}]
    assert told == {
        "id": one, "memory_id": one, "status": "redact", "erased": "now", "derived_count": 1, "derived": derived,
    }  # fmt: skip
    now = client.get(f"/v1/memories/{one}").json()
    assert (now["content"], now["path"]) == ("[redacted]", "notes")
