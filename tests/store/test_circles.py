"""Records that replace each other in a circle: none of them would stand, so that no way of writing makes one, and one
that an older version let in is broken."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from context_packs.store.errors import Conflict
from context_packs.store.exchange.importers import ImportReport

AT = "2026-01-02T03:04:05Z"


def ring(count: int, field: str) -> list[dict[str, Any]]:
    """Lines that replace each other, each the next one and the last the first."""
    lines = []
    for n in range(1, count + 1):
        line = {"id": f"mem:{n}", "content": f"The port is {n}.", field: f"mem:{n % count + 1}"}
        lines.append(line | ({"superseded_at": AT} if field == "superseded_by" else {}))
    return lines


def old_ring(count: int) -> list[dict[str, Any]]:
    """The same as an older version exported it: both sides name each other, and each was out of every search."""
    lines = []
    for n in range(1, count + 1):
        line = {"id": f"mem:{n}", "content": f"The port is {n}.", "timestamp": f"2026-01-0{n}", "superseded_at": AT}
        lines.append({**line, "superseded_by": f"mem:{n % count + 1}", "supersedes": f"mem:{(n - 2) % count + 1}"})
    return lines


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("apart", [False, True])
def test_of_a_circle_in_an_older_export_the_newest_stands(kit: Any, count: int, apart: bool) -> None:
    """All of it comes in, whatever order it has, together or one after the other; a note names the record that stands,
    and what is exported then comes in again without one."""
    packs = kit.packs()
    lines = old_ring(count)
    random.Random(count).shuffle(lines)
    written = [one for batch in ([[line] for line in lines] if apart else [lines]) for one in packs.import_lines(batch)]
    assert (packs.store.count(), all(one.created for one in written)) == (count, True)
    assert [row.ref for row in packs.recall("port")] == [f"mem:{count}"]
    said = {note for one in written for note in one.notes}
    if count == 1:
        assert said == {
            "supersedes: named the record itself: left out",
            "superseded_by: named the record itself: left out, it stands",
        }
    else:
        assert said == {f"records that replaced each other in a circle: mem:{count}, the newest, stands"}
    assert not any(one.created for one in packs.import_lines(lines))
    exported = list(packs.export_lines())
    copy = kit.packs(path=kit.folder / "copy.duckdb")
    assert not any(one.notes for one in copy.import_lines(exported))
    assert list(copy.export_lines()) == exported
    packs.remember("The port is none.", supersedes=f"mem:{count}")
    assert [row.ref for row in packs.recall("port")] == [f"mem:{count + 1}"]
    packs.forget(f"mem:{count + 1}")
    assert [row.ref for row in packs.recall("port")] == [f"mem:{count}"]


@pytest.mark.parametrize("field", ["supersedes", "superseded_by"])
@pytest.mark.parametrize("count", [2, 3, 7])
@pytest.mark.parametrize("apart", [False, True])
def test_a_circle_that_one_side_tells_is_broken_too(kit: Any, field: str, count: int, apart: bool) -> None:
    """All of it comes in, and what is named stands."""
    packs = kit.packs()
    lines = ring(count, field)
    random.Random(count).shuffle(lines)
    written = [one for batch in ([[line] for line in lines] if apart else [lines]) for one in packs.import_lines(batch)]
    assert packs.store.count() == count
    assert f"mem:{count}" in [row.ref for row in packs.recall("port")]
    note = f"records that replaced each other in a circle: mem:{count}, the newest, stands"
    assert note in written[-1].notes
    assert not any(one.notes for one in kit.packs(path=kit.folder / "copy.duckdb").import_lines(packs.export_lines()))


def test_circles_that_hang_together_are_all_broken(kit: Any) -> None:
    """Two that share a record, one beside them, and a line that leads from one to another."""
    packs = kit.packs()
    names = {1: (2, 3), 2: (1, 1), 3: (1, 4), 4: (5, 3), 5: (6, 6), 6: (5, 5), 7: (6, None)}
    lines = [
        {"id": f"mem:{n}", "content": f"The port is {n}.", "superseded_by": f"mem:{by}", "superseded_at": AT}
        | ({"supersedes": f"mem:{old}"} if old else {})
        for n, (by, old) in names.items()
    ]
    packs.import_lines(lines)
    assert packs.store.count() == 7
    assert sorted(row.ref for row in packs.recall("port")) == ["mem:2", "mem:6"]


def test_a_circle_in_a_file_is_told_in_the_report(kit: Any) -> None:
    """How many lines, and which of them stands."""
    packs = kit.packs()
    file: Path = kit.folder / "ring.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in old_ring(3)))
    report = ImportReport()
    assert sum(len(batch) for batch in packs.import_file("jsonl", file, report=report)) == 3
    assert report.notes == {"records that replaced each other in a circle: mem:3, the newest, stands": 3}


def test_a_record_that_is_not_there_closes_no_circle(kit: Any) -> None:
    """A line that names the same record before and behind it comes in as it is, and the circle is broken once the
    other comes."""
    packs = kit.packs()
    lines = old_ring(2)
    assert packs.import_lines(lines[:1])[0].notes == ()
    assert packs.import_lines(lines[1:])[0].notes[0].endswith("mem:2, the newest, stands")
    assert [row.ref for row in packs.recall("port")] == ["mem:2"]


def test_a_long_line_of_succession_comes_in_in_any_order(kit: Any) -> None:
    """No circle is seen where there is none."""
    lines = [
        {"id": f"mem:{n}", "content": f"The port is {n}.", "supersedes": f"mem:{n - 1}"}
        | ({"superseded_by": f"mem:{n + 1}", "superseded_at": AT} if n < 200 else {})
        for n in range(2, 201)
    ]
    for order in (lines, lines[::-1], random.Random(1).sample(lines, 199)):
        packs = kit.packs(path=kit.folder / f"{order[0]['id'][4:]}.duckdb")
        for start in range(0, 199, 50):
            packs.import_lines(order[start : start + 50])
        assert [row.ref for row in packs.recall("port")] == ["mem:200"]


def test_a_repetition_replaces_nothing_that_replaced_it(kit: Any) -> None:
    """Directly or over others: a conflict, and what stands goes on standing."""
    packs = kit.packs()
    packs.remember("The port is 80.", external_id="a")
    packs.remember("The port is 81.", supersedes="mem:1")
    packs.remember("The port is 82.", supersedes="mem:2")
    for ref in ("mem:2", "mem:3"):
        with pytest.raises(Conflict, match=rf"^supersedes: {ref} replaced mem:1, which this repeats: "):
            packs.remember("The port is 80.", external_id="a", supersedes=ref)
    assert [row.ref for row in packs.recall("port")] == ["mem:3"]
    batch = [
        {"content": "The host is a.", "external_id": "h"},
        {"content": "The host is b.", "supersedes": "mem:4"},
        {"content": "The host is a.", "external_id": "h", "supersedes": "mem:5"},
    ]
    with pytest.raises(Conflict, match=r"^supersedes: mem:5 replaced mem:4"):
        packs.remember_many(batch)


def test_a_value_that_went_back_is_no_circle(kit: Any) -> None:
    """A later version of the first record replaces the second: it stands, and an export of it is imported."""
    packs = kit.packs()
    packs.remember("The port is 80.", external_id="a")
    packs.remember("The port is 81.", external_id="b", supersedes="mem:1")
    packs.remember("The port is 80 again.", external_id="a", supersedes="mem:2")
    copy = kit.packs(path=kit.folder / "copy.duckdb")
    lines = list(packs.export_lines())
    for line in lines:
        copy.import_lines([line])
    assert list(copy.export_lines()) == lines
    assert [row.ref for row in copy.recall("port")] == [row.ref for row in packs.recall("port")] == ["mem:1"]
