"""Whatever a store holds, its export is imported: what an older version let in and a newer rule refuses is made to fit,
with a note, and nothing of it is lost."""

import json
from typing import Any

import pytest

from context_packs.store.errors import InvalidField

LONG = "a/" * 400
CUT = 495
LABELS = ("path", "type", "bucket", "scope", "status", "team_id", "external_id", "idempotency_key", "semantic_key")


def deep(levels: int) -> Any:
    """A list in lists."""
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


def imported(kit: Any, *lines: dict[str, Any]) -> tuple[Any, list[Any]]:
    """A memory that took the lines, and what it said of them; they add nothing when they come again, and what it
    exports comes in elsewhere without a word."""
    packs = kit.packs()
    written = packs.import_lines([json.loads(json.dumps(line)) for line in lines])
    exported = list(packs.export_lines())
    assert not any(one.created for one in packs.import_lines(lines))
    copy = kit.packs(path=kit.folder / "copy.duckdb")
    assert not any(one.notes for one in copy.import_lines(exported))
    assert list(copy.export_lines()) == exported
    return packs, written


@pytest.mark.parametrize("field", LABELS)
def test_a_label_that_is_too_long_is_cut_and_kept_whole_in_the_metadata(kit: Any, field: str) -> None:
    """Two that begin alike stay two."""
    lines = [{"id": f"mem:{n}", "version": 1, "content": f"x {n}", field: f"{LONG}{n}"} for n in (1, 2)]
    packs, written = imported(kit, *lines)
    note = f"{field}: was longer than 512 characters: cut, all of it is in the metadata"
    assert [one.notes for one in written] == [(note,), (note,)]
    found = list(packs.export_lines())
    assert [line["metadata"]["before_import"] for line in found] == [{field: f"{LONG}1"}, {field: f"{LONG}2"}]
    assert found[0][field][:CUT] == found[1][field][:CUT] == LONG[:CUT] and found[0][field] != found[1][field]
    assert len(found[0][field]) == 512


def test_a_title_that_is_too_long_is_cut(kit: Any) -> None:
    """Its whole is in the metadata, beside what was there."""
    packs, written = imported(kit, {"id": "mem:1", "content": "x", "title": LONG, "metadata": {"a": 1}})
    assert written[0].notes == ("title: was longer than 512 characters: cut, all of it is in the metadata",)
    (line,) = packs.export_lines()
    assert line["metadata"] == {"a": 1, "before_import": {"title": LONG}}


@pytest.mark.parametrize(
    ("value", "kept"),
    [("a|b", "a\ufffdb"), ("a\nb\x00", "a\ufffdb\ufffd"), ("\u200b\u2060", "\ufffd\ufffd"), ("|", "\ufffd")],
)
def test_a_label_with_characters_that_it_can_not_have_shows_where_they_were(kit: Any, value: str, kept: str) -> None:
    """Each is U+FFFD."""
    packs, written = imported(kit, {"id": "mem:1", "content": "x", "path": value})
    assert written[0].notes == ("path: held characters that a label cannot have: each is U+FFFD now",)
    assert packs.get_contents(["mem:1"]).records[0].path == kept


@pytest.mark.parametrize("field", ["metadata", "source"])
def test_what_is_nested_too_deep_stands_as_text(kit: Any, field: str) -> None:
    """From the level on that cannot be kept, as JSON."""
    packs, written = imported(kit, {"id": "mem:1", "content": "x", field: {"a": deep(60), "b": 2}})
    assert written[0].notes == (f"{field}: held lists and objects more than 32 deep: they are text now",)
    (line,) = packs.export_lines()
    found, levels = line[field]["a"], 1
    while isinstance(found, list):
        found, levels = found[0], levels + 1
    assert (levels, json.loads(found), line[field]["b"]) == (32, deep(60 - 31), 2)


def test_numbers_that_are_none_of_json_stand_as_text(kit: Any) -> None:
    """Endless and very large ones."""
    packs = kit.packs()
    line = {"id": "mem:1", "content": "x", "metadata": {"a": float("nan"), "b": [float("inf")], "c": 2**1025}}
    assert packs.import_lines([line])[0].notes == (
        "metadata: held numbers that JSON has not: they are text now",
        "metadata: held numbers that are too large: they are text now",
    )
    assert next(iter(packs.export_lines()))["metadata"] == {"a": "nan", "b": ["inf"], "c": hex(2**1025)}


@pytest.mark.parametrize(
    "line",
    [
        {"kind": "thread", "id": "thr_a", "thread_id": "thr_a"},
        {"kind": "thread", "id": "thr_a", "thread_id": "thr_b"},
        {"kind": "worker", "id": "wkr_a", "thread_id": "thr_a"},
        {"id": "mem:1", "thread_id": "thr_a"},
    ],
)
def test_only_a_trigger_stands_in_a_thread(kit: Any, line: dict[str, Any]) -> None:
    """So no line of parents closes a circle."""
    packs, written = imported(kit, {"content": "x", **line})
    assert written[0].notes == ("thread_id: only a trigger stands in a thread: left out",)
    assert "thread_id" not in next(iter(packs.export_lines()))


@pytest.mark.parametrize("thread", ["thr_none", "trg_a"])
def test_an_event_of_a_thread_that_is_not_there_comes_in(kit: Any, thread: str) -> None:
    """Without it, and told; what is no id of a thread is malformed."""
    line = {"kind": "trigger", "id": "trg_a", "content": "x", "thread_id": thread}
    if thread == "trg_a":
        with pytest.raises(InvalidField, match=r"^thread_id: 'trg_a' is not an id like thr_8f21: leave the field out$"):
            kit.packs().import_lines([line])
        return
    _, written = imported(kit, line)
    assert written[0].notes == ("its thread thr_none is not in this store",)


def test_what_was_erased_comes_in_without_its_text(kit: Any) -> None:
    """A tombstone that an older version left its text."""
    packs, written = imported(kit, {"id": "mem:1", "content": "a secret", "forgotten": "hard_delete"})
    assert written[0].notes == ("content: was there although the record was erased: left out",)
    assert "a secret" not in json.dumps(list(packs.export_lines()))


def test_links_that_lead_nowhere_are_left_out(kit: Any) -> None:
    """To a record that is not in this store, as in the export of one agent of several, or to itself; others come in."""
    packs = kit.packs()
    for text in ("one", "two"):
        packs.remember(text)
    link = {"kind": "link", "from": "mem:1", "to": "mem:2", "rel": "see"}
    nowhere = ("links to a record that is not in this store: left out",)
    written = packs.import_lines(
        [{**link, "to": "trg_none"}, {**link, "from": "thr_none"}, {**link, "to": "mem:1"}, link,
         {**link, "from": "mem:2", "to": "mem:1", "rel": "a|b"}]
    )  # fmt: skip
    assert [one.notes for one in written] == [nowhere, nowhere, ("links to itself: left out",), (), ()]
    assert [one.created for one in written] == [False, False, False, True, True]


def test_values_of_another_type_are_still_refused(kit: Any) -> None:
    """What no version stored is a mistake, not a memory."""
    for field, value in (("path", 7), ("metadata", "x"), ("version", 0), ("id", "mem:0"), ("pinned", "yes")):
        with pytest.raises(InvalidField, match=f"^{field}: "):
            kit.packs().import_lines([{"id": "mem:1", "content": "x", field: value}])
