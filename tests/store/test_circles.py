"""Records that replace each other in a circle: none of them would stand, so that no way of writing makes one."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from context_packs.store.errors import Conflict, InvalidField, StoreError

AT = "2026-01-02T03:04:05Z"


def ring(count: int, field: str) -> list[dict[str, Any]]:
    """Lines that replace each other, each the next one and the last the first."""
    lines = []
    for n in range(1, count + 1):
        line = {"id": f"mem:{n}", "content": f"The port is {n}.", field: f"mem:{n % count + 1}"}
        lines.append(line | ({"superseded_at": AT} if field == "superseded_by" else {}))
    return lines


@pytest.mark.parametrize("field", ["supersedes", "superseded_by"])
@pytest.mark.parametrize("count", [2, 3, 7])
@pytest.mark.parametrize("apart", [False, True])
def test_lines_that_replace_each_other_in_a_circle_are_refused(kit: Any, field: str, count: int, apart: bool) -> None:
    """Whatever order they come in, together or one after the other; what stood before the circle closed stays."""
    packs = kit.packs()
    lines = ring(count, field)
    random.Random(count).shuffle(lines)
    with pytest.raises(Conflict, match=rf"^{field}: mem:\d and records it names replace each other in a circle"):
        for batch in [[line] for line in lines] if apart else [lines]:
            packs.import_lines(batch)
    assert packs.count() == (count - 1 if apart else 0)


def test_a_circle_in_a_file_is_told_with_its_line(kit: Any) -> None:
    """File, line and field; nothing of it is kept."""
    packs = kit.packs()
    file: Path = kit.folder / "ring.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in ring(3, "supersedes")))
    with pytest.raises(StoreError, match=r"^ring\.jsonl, line 1: supersedes: mem:1 and records it names"):
        list(packs.import_file("jsonl", file))
    assert packs.count() == 0


def test_both_fields_of_one_line_close_no_circle(kit: Any) -> None:
    """A line that names the same record before and behind it."""
    line = {"id": "mem:1", "content": "x", "supersedes": "mem:2", "superseded_by": "mem:2", "superseded_at": AT}
    with pytest.raises(Conflict, match=r"^supersedes: mem:1 and records"):
        kit.packs().import_lines([line])


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


@pytest.mark.parametrize(
    "line",
    [
        {"kind": "thread", "id": "thr_a", "thread_id": "thr_a"},
        {"kind": "thread", "id": "thr_a", "thread_id": "thr_b"},
        {"kind": "trigger", "id": "trg_a", "thread_id": "trg_a"},
        {"kind": "worker", "id": "wkr_a", "thread_id": "thr_a"},
        {"id": "mem:1", "thread_id": "thr_a"},
    ],
)
def test_only_a_trigger_stands_in_a_thread(kit: Any, line: dict[str, Any]) -> None:
    """So no line of parents closes a circle."""
    with pytest.raises(InvalidField, match=r"^thread_id: only a trigger stands in a thread, by an id like thr_8f21"):
        kit.packs().import_lines([{"content": "x", **line}])


def test_links_may_go_round_but_not_to_where_they_come_from(kit: Any) -> None:
    """Two records may name each other; a line from a record to itself is refused, as `link` does."""
    packs = kit.packs()
    for text in ("one", "two"):
        packs.remember(text)
    link = {"kind": "link", "from": "mem:1", "to": "mem:2", "rel": "see"}
    assert all(one.created for one in packs.import_lines([link, {**link, "from": "mem:2", "to": "mem:1"}]))
    with pytest.raises(InvalidField, match=r"^to: is the record that the link comes from"):
        packs.import_lines([{**link, "to": "mem:1"}])
