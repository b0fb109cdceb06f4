"""Salvage: everything of sound blocks comes back, nothing wrong ever does, and the file is not touched."""

from pathlib import Path
from typing import Any

import pytest

from context_packs.store.errors import InvalidField, StoreDamaged
from context_packs.store.file.attached import quoted
from context_packs.store.file.other_files import aside
from context_packs.store.maintenance import blocks
from context_packs.store.maintenance.salvage import Salvaged, salvage

HEADERS, SIZE = 12_288, 262_144
Lines = dict[tuple[Any, ...], dict[str, Any]]


@pytest.fixture(scope="module")
def whole(kits: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Lines]:
    """A store whose texts fill several blocks, with a chain and forgotten records, and its export."""
    kit = kits(tmp_path_factory.mktemp("salvage"))
    store = kit.store(mode="shared")
    texts = [{"content": f"Note {n} " + f"harbour{n} crane{n * 7} " * 70, "title": f"T{n}"} for n in range(400)]
    texts[300]["content"] += " " + " ".join(f"{n * n} once only" for n in range(70))
    store.remember_many(texts, kit.me)
    store.chain.create_thread({"thread_id": "thr_a", "summary": "Crane repair"}, kit.me)
    store.chain.add_trigger(
        {"trigger_id": "trg_a", "thread_id": "thr_a", "source": "ci", "payload": {"log": "crane " * 50}}, kit.me
    )
    store.chain.link("thr_a", "mem:3", "about", kit.me)
    store.forget(["mem:4"], "soft_delete", kit.me)
    store.forget(["mem:5"], "hard_delete", kit.me)
    store.compact()
    lines = keyed(store.export())
    kit.close()
    return bytes(kit.path.read_bytes()), lines


def keyed(lines: Any) -> Lines:
    return {(line.get("id"), line.get("version"), line.get("from"), line.get("to")): line for line in lines}


def salvaged(path: Path, content: bytes) -> tuple[Lines, Salvaged]:
    path.write_bytes(content)
    report = Salvaged()
    found = keyed(salvage(str(path), report))
    assert path.read_bytes() == content
    assert [other.name for other in path.parent.iterdir()] == [path.name]
    return found, report


def test_a_sound_store_comes_back_whole(whole: tuple[bytes, Lines], tmp_path: Path) -> None:
    """The lines are those of an export, and nothing is lost."""
    content, lines = whole
    found, report = salvaged(tmp_path / "store.duckdb", content)
    assert found == lines
    assert report == Salvaged(records=402, links=1, payloads=1)


def damaged(content: bytes, block: int) -> bytes:
    """Three hundred wrong bytes in a block."""
    place = HEADERS + block * SIZE + 1000
    return content[:place] + bytes(byte ^ 0x55 for byte in content[place : place + 300]) + content[place + 300 :]


def test_only_what_stands_in_a_damaged_block_is_lost(whole: tuple[bytes, Lines], tmp_path: Path) -> None:
    """Each block in turn: no line differs from what was stored in its text; blocks of other tables cost no record."""
    content, lines = whole
    losses = {}
    for block in range((len(content) - HEADERS) // SIZE):
        folder = tmp_path / str(block)
        folder.mkdir()
        try:
            found, report = salvaged(folder / "store.duckdb", damaged(content, block))
        except StoreDamaged:
            losses[block] = -1
            continue
        assert report.lost
        for key, line in found.items():
            assert line.get("content") == lines[key].get("content")
            assert line.get("agent_id") == lines[key].get("agent_id")
        losses[block] = len(lines) - len(found)
    assert sorted(losses.values())[0] == -1, "the catalogue is in one block"
    assert list(losses.values()).count(0) >= 3, "counters, meta and postings cost no record"
    some = [lost for lost in losses.values() if 0 < lost < len(lines)]
    assert some and max(some) < 260, "a block of texts costs its own records only"


def test_one_wrong_bit_in_the_texts_is_put_right(whole: tuple[bytes, Lines], tmp_path: Path) -> None:
    """By the checksum of the block: nothing is lost."""
    content, lines = whole
    first = content.index(b"once only") & ~7
    for place in range(first, first + 400):
        changed = bytearray(content)
        changed[place] ^= 4
        start = HEADERS + (place - HEADERS) // SIZE * SIZE
        if blocks.mended(bytes(changed[start : start + SIZE])) is not None:
            break
    found, report = salvaged(tmp_path / "store.duckdb", bytes(changed))
    assert (found, report.lost, report.mended) == (lines, [], 1)


@pytest.fixture(scope="module")
def small(kits: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Lines]:
    """A store of which all columns of records share a block, and its export."""
    kit = kits(tmp_path_factory.mktemp("small"))
    store = kit.store(mode="shared")
    store.remember_many([{"content": f"Note {n} about crane{n * 7}", "title": f"T{n}"} for n in range(30)], kit.me)
    store.compact()
    lines = keyed(store.export())
    kit.close()
    return bytes(kit.path.read_bytes()), lines


def undecided(content: bytes, block: int, bit: int, most: int) -> bytes:
    """One bit of a block wrong, where the checksum does not tell which."""
    start = HEADERS + block * SIZE
    for place in range(start + 8, start + SIZE, 8):
        changed = bytearray(content)
        changed[place + bit // 8] ^= 1 << bit % 8
        part = bytes(changed[start : start + SIZE])
        if not any(content[place : place + 8]) or blocks.mended(part, likely=True) is not None:
            continue
        if len(blocks.candidates(part)) <= most:
            return bytes(changed)
    raise AssertionError("the checksum tells for every place")


def test_a_wrong_bit_of_the_catalogue_is_found_by_trial(small: tuple[bytes, Lines], tmp_path: Path) -> None:
    """Of those that may be it only one gives a store whose texts fit; it is named as doubtful."""
    content, lines = small
    found, report = salvaged(tmp_path / "store.duckdb", undecided(content, 0, 53, 20))
    assert (found, report.lost, report.mended) == (lines, [], 1)
    assert report.doubtful == ["block 0 was put right by trial (catalogue or index)"]


def test_what_trials_do_not_settle_is_left_out(small: tuple[bytes, Lines], tmp_path: Path) -> None:
    """A bit of a block that all columns of records share: what is given is what was stored, in every field."""
    content, lines = small
    with aside(str(tmp_path / "look")) as session:
        (tmp_path / "look.duckdb").write_bytes(content)
        session.run(f"ATTACH {quoted(str(tmp_path / 'look.duckdb'))} AS source (TYPE duckdb, READ_ONLY)")
        block = session.value(
            "SELECT max(block_id) FROM pragma_storage_info('source.records') WHERE column_name = 'title'"
        )
    (tmp_path / "look.duckdb").unlink()
    found, report = salvaged(tmp_path / "store.duckdb", undecided(content, block, 53, 30))
    assert report.doubtful == [] or "by trial" in report.doubtful[0]
    assert report.lost != [] or found == lines
    for key, line in found.items():
        assert line["content"] == lines[key]["content"]
        assert line == lines[key] or any("given without" in loss and line["id"] in loss for loss in report.lost)


@pytest.mark.parametrize("place", [20, 4096 + 9, 8192 + 9])
def test_a_damaged_header_costs_nothing(whole: tuple[bytes, Lines], tmp_path: Path, place: int) -> None:
    """A wrong bit in any of the three."""
    content, lines = whole
    changed = bytearray(content)
    changed[place] ^= 4
    found, _ = salvaged(tmp_path / "store.duckdb", bytes(changed))
    assert found == lines


def test_what_is_salvaged_is_imported(kit: Any, whole: tuple[bytes, Lines], tmp_path: Path) -> None:
    """Into an empty store, with ids, tombstones, links and payloads."""
    content, lines = whole
    found, _ = salvaged(tmp_path / "store.duckdb", content)
    store = kit.store(kit.folder / "anew" / "memory.duckdb", mode="shared")
    store.import_lines(found.values(), kit.me)
    assert keyed(store.export()) == lines


def test_a_file_that_is_no_store_gives_one_clear_error(tmp_path: Path) -> None:
    """Nothing there, and text."""
    path = tmp_path / "store.duckdb"
    with pytest.raises(InvalidField, match="there is no file"):
        list(salvage(str(path), Salvaged()))
    path.write_text("a text")
    with pytest.raises(StoreDamaged):
        list(salvage(str(path), Salvaged()))
    assert path.read_text() == "a text"


def test_bytes_that_are_no_text_are_damage(kit: Any) -> None:
    """A block with a right checksum whose text is no UTF-8: a read says so, and salvage goes on beside it."""
    store = kit.store(mode="shared")
    store.remember_many([{"content": f"Note {n} on harbour {n * 7}"} for n in range(20)], kit.me)
    store.remember_many([{"content": "A mark that stands alone: kilnkilnkiln"}], kit.me)
    store.compact()
    store.close()
    content = bytearray(kit.path.read_bytes())
    for place in [n for n in range(len(content)) if content.startswith(b"kilnkilnkiln", n)]:
        content[place : place + 12] = b"\xff" * 12
        start = HEADERS + (place - HEADERS) // SIZE * SIZE
        block = blocks.checksum(content[start + 8 : start + SIZE])
        content[start : start + 8] = block.to_bytes(8, "little")
    kit.path.write_bytes(content)
    with pytest.raises(StoreDamaged):
        kit.store(mode="shared").get("mem:21", kit.me)
    for name in (f"{kit.path}.lock", f"{kit.path}.queue"):
        Path(name).unlink()
    found, report = salvaged(kit.path, bytes(content))
    assert {f"mem:{n}" for n in range(1, 21)} <= {name for name, *_ in found}
    assert "kiln" not in str(found) and report.lost
