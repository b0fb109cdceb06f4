"""What a process remembers of a file that it keeps open changes how fast it answers, never what."""

import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest

from context_packs.packer import ContextPacks
from context_packs.store.file import cache as kept
from context_packs.store.values import Filters, Viewer

QUERIES = ("backups", "nightly backups for the shop", "会議は火曜日", "Aiko said backups", "zzqqy", "the and of")
SEEN = Filters(), Filters(path="ops"), Filters(exclude_ids=("mem:1",)), Filters(history=True)


def fill(packs: ContextPacks) -> None:
    packs.remember_many(
        [
            {"content": f"Backups of the shop run nightly at {n}. Aiko watches them.", "path": f"ops/{n % 3}"}
            for n in range(30)
        ]
    )
    packs.remember("Aiko: backups are kept ninety days.\nTaro: 会議は火曜日の10時です。", kind="episode")


def answers(packs: ContextPacks) -> list[Any]:
    """What the candidate stage gives for all queries, with the records."""
    return [packs.store.candidates(text, filters, packs.viewer, 20, 8) for text in QUERIES for filters in SEEN]


@pytest.mark.parametrize("mode", ["exclusive", "leased"])
def test_the_same_answers_as_from_the_file(kit: Any, mode: Any) -> None:
    """Answers made from what is remembered equal the first and those of a process that remembers nothing."""
    with ContextPacks.open(kit.path, "planner", mode=mode, embedder="none", clock=kit.clock) as packs:
        fill(packs)
        first = answers(packs)
        assert sum(bool(one.items) for one in first) == 15
        for _ in range(kept.SETTLED):
            assert answers(packs) == first
        assert any(len(one.hits) > 8 for one in first)
    with ContextPacks.open(kit.path, "planner", embedder="none", clock=kit.clock) as packs:
        assert answers(packs) == first


@pytest.mark.parametrize("mode", ["exclusive", "leased"])
def test_each_write_is_seen_by_the_next_read(kit: Any, mode: Any) -> None:
    """Remember, replace, forget and redact: what was remembered of the state before is gone."""
    with ContextPacks.open(kit.path, "planner", mode=mode, embedder="none", clock=kit.clock) as packs:
        fill(packs)

        def found(query: str) -> list[str]:
            for _ in range(kept.SETTLED + 2):
                rows = packs.recall(query, 3)
            return [row.content for row in rows]

        assert "zebra" not in " ".join(found("zebra backups"))
        ref = packs.remember("The zebra has backups too.").id
        assert found("zebra")[0] == "The zebra has backups too."
        packs.remember("The zebra has backups in Porto.", supersedes=ref)
        assert found("zebra") == ["The zebra has backups in Porto."]
        assert packs.get(ref).superseded_by == "mem:32"
        packs.forget("mem:32", "redact")
        assert found("zebra") == ["The zebra has backups too."]  # its successor is forgotten
        assert packs.get("mem:32").content == "[redacted]"
        packs.forget("mem:32", "hard_delete")
        assert packs.get_contents(["mem:32"]).missing == ("mem:32",)


def test_what_expires_is_gone_at_its_moment(kit: Any) -> None:
    """No write happens when a record expires: search and get by id leave it out all the same."""
    with ContextPacks.open(kit.path, "planner", mode="exclusive", embedder="none", clock=kit.clock) as packs:
        fill(packs)
        end = kit.clock.now + timedelta(hours=1)
        ref = packs.remember("A zebra until noon.", expires_at=end.isoformat()).id
        for _ in range(kept.SETTLED + 2):
            assert [row.ref for row in packs.recall("zebra")] == [ref] == [packs.get(ref).id]
        kit.clock.now = end
        assert len(packs.recall("zebra")) == 0
        assert packs.get_contents([ref]).missing == (ref,)


def test_another_agent_sees_nothing_of_what_is_remembered(kit: Any) -> None:
    """Two viewers of one process: each its own records, also when the other's were read a moment ago."""
    with ContextPacks.open(kit.path, "planner", mode="exclusive", embedder="none", clock=kit.clock) as packs:
        packs.remember("The zebra is secret.")
        packs.remember("The zebra is ours.", team_id="zoo")
        views = {
            name: packs.seen_by(Viewer(name, teams)) for name, teams in (("planner", ()), ("b", ("zoo",)), ("c", ()))
        }
        for _ in range(kept.SETTLED + 2):
            for name, expected in (("planner", {"mem:1", "mem:2"}), ("b", {"mem:2"}), ("c", set())):
                assert {row.ref for row in views[name].recall("zebra")} == expected
                assert {record.id for record in views[name].get_contents(["mem:1", "mem:2"]).records} == expected


def test_a_write_of_another_process_is_seen(kit: Any) -> None:
    """A leased file that somebody else wrote meanwhile is read anew."""
    script = """
import sys
from context_packs.packer import ContextPacks
with ContextPacks.open(sys.argv[1], "planner", embedder="none") as packs:
    print(packs.remember("The zebra came from elsewhere.").id)
    packs.forget("mem:1")
"""
    with ContextPacks.open(kit.path, "planner", mode="leased", embedder="none", clock=kit.clock) as packs:
        fill(packs)
        for _ in range(kept.SETTLED + 2):
            packs.recall("zebra backups")
            packs.get("mem:1")
        done = subprocess.run([sys.executable, "-c", script, kit.path], capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("mem:31\n", "")
        assert packs.recall("zebra")[0].ref == "mem:31"
        assert packs.get_contents(["mem:1"]).missing == ("mem:1",)


def test_memory_is_bounded_and_old_reads_add_nothing() -> None:
    """Above the limit the entries used longest ago go; what was read before a change is not taken, nor given after."""
    memory = kept.Kept(limit=100)
    version = memory.begun()
    for name in "abc":
        memory.put(name, name.upper(), 40, version)
        assert memory.get("a", version) in ("A", None)
    assert [memory.get(name, version) for name in "abc"] == ["A", None, "C"]
    memory.put("huge", "x", 51, version)
    assert memory.get("huge", version) is None
    memory.changed()
    memory.put("d", "D", 10, version)
    assert [memory.get(name, memory.begun()) for name in "acd"] == [None, None, None]
    assert memory.get("a", version) is None


def test_the_audit_trail_and_a_probe_forget_nothing(kit: Any) -> None:
    """Both write beside the records, twice a second under load: what is remembered of records stays."""
    with ContextPacks.open(kit.path, "planner", mode="leased", embedder="none", clock=kit.clock) as packs:
        fill(packs)
        remembered = packs.store.duck._turns.kept
        first = packs.get("mem:1")
        version = remembered.version
        packs.audit.start()
        packs.audit.note("GET", agent_id="planner", objects=["mem:1"])
        assert packs.audit.flush()
        packs.store.probe()
        assert remembered.version == version
        assert packs.get("mem:1") is first
        packs.remember("One more backup.")
        assert remembered.version > version
