"""Lines of an export have a way of their own, and no record comes that way by mistake."""

from typing import Any

import pytest

from context_packs.store.errors import InvalidField
from context_packs.store.exchange.lines import LineIn
from context_packs.store.memory.prepare import LINE_FIELDS, RecordIn

LINE = {
    "id": "mem:77",
    "version": 2,
    "updated_at": "2026-01-01",
    "deleted_at": "2026-01-01",
    "forgotten": "soft_delete",
    "superseded_by": "mem:3",
    "valid_to": "2026-01-01",
    "number": 5,
    "payload": {"media_type": "text/plain", "text": "x"},
}


def test_the_fields_of_a_line_are_those_of_an_export() -> None:
    """What a record has and what only a line has are told apart by one list."""
    assert set(LineIn.model_fields) - set(RecordIn.model_fields) == LINE_FIELDS


@pytest.mark.parametrize("name", sorted(LINE))
def test_remember_takes_no_field_of_an_export(kit: Any, name: str) -> None:
    """An id or tombstone given to remember is refused with the field and the way; nothing is written and no number
    is used."""
    packs = kit.packs()
    with pytest.raises(InvalidField, match=rf"^{name}: belongs to a line of an export: use import_lines or") as error:
        packs.remember("dup", **{name: LINE[name]})
    assert error.value.field == name
    with pytest.raises(InvalidField, match=r"^kind: a link is a line of an export"):
        packs.remember_many([{"kind": "link", "from": "mem:1", "to": "mem:2", "rel": "see"}])
    assert packs.remember("dup").id == "mem:1"


def test_lines_and_records_are_imported_side_by_side(kit: Any) -> None:
    """A list of lines with records between them keeps its order and its ids."""
    packs = kit.packs()
    written = packs.import_lines(
        [
            {"content": "a plain record"},
            {"id": "mem:40", "content": "a line"},
            {"content": "another record"},
            {"kind": "link", "from": "mem:40", "to": "mem:1", "rel": "see"},
        ]
    )
    assert [one.id for one in written] == ["mem:1", "mem:40", "mem:41", "mem:40"]
    assert not any(one.created for one in packs.import_lines(list(packs.export_lines())))


def test_lines_must_come_as_a_list_of_objects(kit: Any) -> None:
    """A text or one object in place of a list is refused."""
    for wrong in ("mem:1", {"id": "mem:1", "content": "x"}):
        with pytest.raises(InvalidField, match=r"^lines: give an iterable of objects"):
            kit.packs().import_lines(wrong)
