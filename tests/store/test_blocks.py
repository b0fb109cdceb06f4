"""Checksums of the blocks of a file: every changed byte of a used block is found, and one byte can be put right."""

import random
from pathlib import Path
from typing import Any

import pytest

from context_packs.store.maintenance import blocks

HEADERS, SIZE = 12_288, 262_144


@pytest.fixture(scope="module")
def whole(kits: Any, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a store of a few blocks, with free ones among them."""
    kit = kits(tmp_path_factory.mktemp("blocks"))
    store = kit.store(mode="shared")
    store.remember_many([{"content": f"Note {n} " + f"harbour{n} crane {n * 7} " * 12} for n in range(900)], kit.me)
    for n in range(4):
        kit.write(store, f"later {n}")
    kit.close()
    return bytes(kit.path.read_bytes())


def test_the_blocks_of_a_sound_file_are_sound(whole: bytes, tmp_path: Path) -> None:
    """Every block is checked, none is wrong."""
    path = tmp_path / "store.duckdb"
    path.write_bytes(whole)
    found = blocks.examine(path)
    assert found.sound
    assert found.checked == (len(whole) - HEADERS) // SIZE
    assert (found.damaged, found.missing, found.unused) == ((), (), ())


@pytest.mark.parametrize("seed", range(40))
def test_a_changed_bit_is_found_in_its_block(whole: bytes, tmp_path: Path, seed: int) -> None:
    """Wherever it is: in a header, a used block (damage) or a free one (none)."""
    place = random.Random(seed).randrange(len(whole)) if seed > 3 else (9, 5000, 9000, HEADERS + 3)[seed]
    path = tmp_path / "store.duckdb"
    changed = bytearray(whole)
    changed[place] ^= 1 << seed % 8
    path.write_bytes(changed)
    found = blocks.examine(path)
    if place < HEADERS:
        assert found.layout is not None and found.layout.damaged == (place // 4096,)
        assert not found.sound
        return
    block = (place - HEADERS) // SIZE
    assert found.damaged + found.unused == (block,)
    assert found.sound == (found.free is not None and block in found.free)


def test_blocks_behind_the_end_are_missing(whole: bytes, tmp_path: Path) -> None:
    """A file that was cut off lacks its last blocks."""
    path = tmp_path / "store.duckdb"
    path.write_bytes(whole[: HEADERS + 2 * SIZE + 100])
    found = blocks.examine(path)
    assert not found.sound
    assert found.missing and min(found.missing) == 2


def test_what_is_no_such_file_has_no_layout(tmp_path: Path) -> None:
    """Nothing, text, and headers that are zeros."""
    path = tmp_path / "store.duckdb"
    for content in (b"", b"x" * 100, bytes(3 * 4096)):
        path.write_bytes(content)
        assert blocks.examine(path) == blocks.Blocks(None)


@pytest.mark.parametrize("change", [1, 0x80, 0xFF])
def test_one_wrong_byte_among_different_words_is_put_right(change: int) -> None:
    """Whether it stands in the data or in the checksum."""
    data = random.Random(7).randbytes(SIZE - 8)
    block = blocks.checksum(data).to_bytes(8, "little") + data
    assert blocks.is_sound(block)
    for place in (0, 3, 8, 5000, SIZE - 6):
        wrong = bytearray(block)
        wrong[place] ^= change
        assert not blocks.is_sound(bytes(wrong))
        assert blocks.mended(bytes(wrong)) == block


def test_what_can_not_be_told_is_not_put_right() -> None:
    """Two wrong bytes, a wrong byte where many words are equal, and the highest byte of a word."""
    data = random.Random(7).randbytes(SIZE - 8)
    block = bytearray(blocks.checksum(data).to_bytes(8, "little") + data)
    block[15] ^= 1
    assert blocks.mended(bytes(block)) is None
    block[15] ^= 1
    block[100] ^= 1
    block[9000] ^= 1
    assert blocks.mended(bytes(block)) is None
    zeros = bytearray(blocks.checksum(bytes(SIZE - 8)).to_bytes(8, "little") + bytes(SIZE - 8))
    zeros[4000] = 4
    assert blocks.mended(bytes(zeros)) is None
    zeros[4000] = 0
    assert blocks.is_sound(bytes(zeros))


@pytest.mark.parametrize("bit", range(64))
def test_a_single_wrong_bit_is_put_right_or_among_few(whole: bytes, bit: int) -> None:
    """What is likely is right, and where several bits may be it the block as it was is one of them."""
    pick = random.Random(bit)
    right = whole[HEADERS : HEADERS + SIZE]
    written = [place for place in range(0, SIZE, 8) if right[place : place + 8] != bytes(8)]
    for place in (pick.choice(written), pick.randrange(SIZE // 8) * 8):
        wrong = bytearray(right)
        wrong[place + bit // 8] ^= 1 << bit % 8
        found = blocks.mended(bytes(wrong), likely=True)
        assert found == right if found is not None else right in blocks.candidates(bytes(wrong))


def test_a_bit_where_nothing_was_written_is_put_right_as_likely() -> None:
    """It stands alone among zeros; which of two such ones it is cannot be told."""
    data = random.Random(7).randbytes(80_000) + bytes(SIZE - 80_008)
    block = blocks.checksum(data).to_bytes(8, "little") + data
    wrong = bytearray(block)
    wrong[200_007] ^= 0x80
    assert blocks.mended(bytes(wrong)) is None
    assert blocks.mended(bytes(wrong), likely=True) == block
    data = data[:220_007] + b"\x80" + data[220_008:]
    wrong = bytearray(blocks.checksum(data).to_bytes(8, "little") + data)
    wrong[200_007] ^= 0x80
    assert blocks.mended(bytes(wrong), likely=True) is None
