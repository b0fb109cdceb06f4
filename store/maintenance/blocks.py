"""The blocks of a DuckDB file and their checksums, read without DuckDB. Pure: no file is written, no instance started.

Layout (DuckDB 1.5 and 2.0, `storage/single_file_block_manager.cpp`): a main header and two database headers of 4,096
bytes each, then blocks of one size, which the database header says. Each of them begins with the checksum of the rest
(`common/checksum.cpp`): 5381, exclusive or with every 64-bit word times an odd number. Of the two database headers the
one with the higher iteration counts. It points to the list of free blocks, whose bytes mean nothing.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO

import numpy as np
from numpy.typing import NDArray

HEADER = 4096  # bytes of each of the three headers
HEADERS = ("main header", "first database header", "second database header")
_DATA = len(HEADERS) * HEADER
_SEED = np.uint64(5381)
_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_INVERSE = np.uint64(pow(0xBF58476D1CE4E5B9, -1, 2**64))
_SIZES = (16_384, 32_768, 65_536, 131_072, 262_144)  # of blocks, as DuckDB takes them
_PARTS = 64  # of a block of metadata, each of which begins with a pointer to the next
_NONE = 2**64 - 1
_QUIET = 32  # words of zeros on both sides: nothing was written there
_AT_ONCE = 64  # blocks read at a time
Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Layout:
    """What the headers of a file say. `active` is the place (1 or 2) of the database header that counts."""

    block_size: int
    count: int  # blocks that the file should have
    free_list: int
    active: int
    damaged: tuple[int, ...] = ()  # places of headers whose checksum is wrong

    def place(self, block: int) -> int:
        """Offset of a block in the file, in bytes."""
        return _DATA + block * self.block_size


@dataclass(frozen=True, slots=True)
class Blocks:
    """What the checksums of a file say. `free` is None where the list of free blocks cannot be read."""

    layout: Layout | None
    damaged: tuple[int, ...] = ()  # used blocks whose checksum is wrong
    missing: tuple[int, ...] = ()  # used blocks behind the end of the file
    unused: tuple[int, ...] = ()  # free blocks whose checksum is wrong: no damage
    free: frozenset[int] | None = field(default=frozenset(), repr=False)
    checked: int = 0

    @property
    def sound(self) -> bool:
        """Whether every header and every used block is as it was written."""
        return self.layout is not None and not (self.layout.damaged or self.damaged or self.missing)


def checksum(data: bytes | bytearray | memoryview) -> int:
    """DuckDB's checksum of a number of bytes that 8 divides."""
    return int(_checksum(np.frombuffer(data, dtype="<u8")))


def _checksum(words: Words) -> np.uint64:
    return np.uint64(np.bitwise_xor.reduce(words * _FACTOR) ^ _SEED)


def is_sound(block: bytes | memoryview) -> bool:
    """Whether a header or block has the checksum that it begins with."""
    words = np.frombuffer(block, dtype="<u8")
    return bool(_checksum(words[1:]) == words[0])


def mended(block: bytes | memoryview, *, likely: bool = False) -> bytes | None:
    """A block in which one byte is wrong, put right by its checksum; None where that cannot be told.

    The checksum is a sum over words, so for every word there is one value that would fit. Only a value that differs
    from what stands there in a single byte is believed, and only where no other change of one byte fits as well: the
    high bytes of all words look alike to the checksum, and so do equal words. What is `likely` is that a single bit is
    wrong: then other bytes do not count, and one that stands alone among zeros, where nothing was written, is the one.
    """
    words = np.frombuffer(block, dtype="<u8").copy()
    fitting = _fitting(words)
    changes = fitting ^ words
    found = np.flatnonzero(_in_one_byte(changes))
    if likely and len(found) != 1:
        found = np.flatnonzero(_in_one_bit(changes))
        if len(found) > 1:
            empty = _among_zeros(words)
            alone = found[empty[found] & (fitting[found] == 0)]
            found = alone if len(alone) else found[~empty[found]]
        if len(found) > 1 and len(words) * 8 == HEADER:  # few words, of which the one that stands nowhere else is taken
            values, counts = np.unique(words[found], return_counts=True)
            found = found[np.isin(words[found], values[counts == 1])]
    if len(found) != 1:
        return None
    words[found[0]] = fitting[found[0]]
    return words.tobytes()


def candidates(block: bytes | memoryview) -> list[bytes]:
    """Every block that one wrong bit can have made this one of; nothing was written where all is zero."""
    words = np.frombuffer(block, dtype="<u8")
    fitting = _fitting(words)
    found = np.flatnonzero(_in_one_bit(fitting ^ words) & ~_among_zeros(words))
    blocks = []
    for place in found:
        changed = words.copy()
        changed[place] = fitting[place]
        blocks.append(changed.tobytes())
    return blocks


def _fitting(words: Words) -> Words:
    """For each word of a block the value with which the checksum would be right."""
    difference = _checksum(words[1:]) ^ words[0]
    fitting: Words = ((words * _FACTOR) ^ difference) * _INVERSE
    fitting[0] = words[0] ^ difference  # the checksum itself may be what is wrong
    return fitting


def _among_zeros(words: Words) -> NDArray[np.bool_]:
    """Which words have nothing but zeros around them, whatever they are."""
    others = np.concatenate(([0], np.cumsum(words != 0), [0]))
    others[-1] = others[-2]
    places = np.arange(len(words))
    around: NDArray[np.int64] = (
        others[np.minimum(places + 1 + _QUIET, len(words))] - others[np.maximum(places - _QUIET, 0)]
    )
    return np.asarray(around == (words != 0))


def _in_one_bit(changes: Words) -> NDArray[np.bool_]:
    """Which of the words have a single one."""
    return np.asarray((changes != 0) & ((changes & (changes - np.uint64(1))) == 0))


def _in_one_byte(changes: Words) -> NDArray[np.bool_]:
    """Which of the words have ones in a single byte."""
    found = np.zeros(len(changes), dtype=np.bool_)
    for shift in range(0, 64, 8):
        found |= (changes & ~np.uint64(0xFF << shift)) == 0
    return found


def read_layout(file: IO[bytes]) -> Layout | None:
    """What the headers say; None where no database header is sound."""
    file.seek(0)
    heads = file.read(_DATA)
    if len(heads) < _DATA:
        return None
    parts = [heads[start : start + HEADER] for start in range(0, _DATA, HEADER)]
    damaged = tuple(place for place, part in enumerate(parts) if not is_sound(part))
    best: Layout | None = None
    highest = -1
    for place in (1, 2):
        iteration, _, free_list, count, size = struct.unpack_from("<5Q", parts[place], 8)
        if place not in damaged and iteration > highest and (size or _SIZES[-1]) in _SIZES:
            highest = iteration
            best = Layout(size or _SIZES[-1], count, free_list, place, damaged)
    return best


def examine(path: str | os.PathLike[str], progress: Callable[[int], None] | None = None) -> Blocks:
    """Check every block of a file; `progress` is told the number of blocks after each few."""
    with open(path, "rb") as file:
        layout = read_layout(file)
        if layout is None:
            return Blocks(None)
        free = free_blocks(file, layout)
        wrong: list[int] = []
        checked = 0
        for first, blocks in _slices(file, layout):
            sums = np.bitwise_xor.reduce(blocks[:, 1:] * _FACTOR, axis=1) ^ _SEED
            wrong += (first + np.flatnonzero(sums != blocks[:, 0])).tolist()
            checked += len(blocks)
            if progress:
                progress(len(blocks))
    known = free or frozenset[int]()
    return Blocks(
        layout,
        damaged=tuple(block for block in wrong if block not in known),
        missing=tuple(block for block in range(checked, layout.count) if block not in known),
        unused=tuple(block for block in wrong if block in known),
        free=free,
        checked=checked,
    )


def _slices(file: IO[bytes], layout: Layout) -> Iterator[tuple[int, Words]]:
    """Whole blocks of the file as uint64[n, words], with the number of the first."""
    file.seek(_DATA)
    first = 0
    while first < layout.count:
        data = file.read(layout.block_size * min(_AT_ONCE, layout.count - first))
        whole = len(data) // layout.block_size
        if whole:
            words = np.frombuffer(data[: whole * layout.block_size], dtype="<u8")
            yield first, words.reshape(whole, -1)
        first += whole
        if whole < _AT_ONCE:
            return


def block_of(file: IO[bytes], layout: Layout, block: int) -> bytes:
    """The bytes of a block, fewer at the end of a file that was cut off."""
    file.seek(layout.place(block))
    return file.read(layout.block_size)


def free_blocks(file: IO[bytes], layout: Layout) -> frozenset[int] | None:
    """Numbers of the free blocks; None where the list cannot be read."""
    if layout.free_list == _NONE:
        return frozenset()
    try:
        stream = _Metadata(file, layout)
        return frozenset(stream.number() for _ in range(min(stream.number(), layout.count)))
    except (EOFError, ValueError):
        return None


class _Metadata:
    """Numbers of 64 bits from a chain of parts of metadata blocks, from where the free list begins."""

    def __init__(self, file: IO[bytes], layout: Layout) -> None:
        self._file = file
        self._layout = layout
        self._size = (layout.block_size - 8) // _PARTS // 8 * 8
        self._next = layout.free_list
        self._left: list[int] = []
        self._seen: set[int] = set()

    def number(self) -> int:
        """The next number. Raises EOFError behind the last, ValueError where a block of the chain is damaged."""
        if not self._left:
            if self._next == _NONE:
                raise EOFError
            if self._next in self._seen:
                raise ValueError("the chain runs in a circle")
            self._seen.add(self._next)
            block = block_of(self._file, self._layout, self._next & (2**56 - 1))
            if len(block) < self._layout.block_size or not is_sound(block):
                raise ValueError("a block of the chain is damaged")
            start = 8 + (self._next >> 56) * self._size
            self._next, *rest = struct.unpack(f"<{self._size // 8}Q", block[start : start + self._size])
            self._left = rest[::-1]
        return self._left.pop()


def mend(path: str, damaged: Collection[int], *, likely: bool = False) -> list[int]:
    """Put right by their checksums what can be of some blocks and of all headers, in a file that is a copy.

    Returns the numbers of the blocks that are whole again. See `mended` for `likely`.
    """
    with open(path, "r+b") as file:
        for start in range(0, _DATA, HEADER):
            _mend_at(file, start, HEADER, likely=True)
        layout = read_layout(file)
        if layout is None:
            return []
        return [block for block in damaged if _mend_at(file, layout.place(block), layout.block_size, likely=likely)]


def blank(path: str, segments: Mapping[int, Collection[tuple[int, int]]]) -> None:
    """Write blocks over in which every text is empty, in a file that is a copy; those behind its end are made.

    `segments` are, by block, the offsets of its runs of texts and how many each has. Such a run begins with the size of
    its characters and their end, behind a number of 32 bits for each text: where it stands (`string_uncompressed.cpp`).
    """
    with open(path, "r+b") as file:
        layout = read_layout(file)
        if layout is None:
            return
        for number in sorted(segments):
            data = bytearray(layout.block_size - 8)
            for offset, count in segments[number]:
                struct.pack_into("<II", data, offset, 0, 8 + 4 * count)
            file.seek(layout.place(number))
            file.write(struct.pack("<Q", checksum(data)) + data)


def step_back(path: str) -> None:
    """Let the other database header count in a file that is a copy: the state before the last checkpoint.

    The main header says little more than what the file is, so that one that is damaged is taken as it stands.
    """
    with open(path, "r+b") as file:
        layout = read_layout(file)
        if layout is not None:
            file.seek((3 - layout.active) * HEADER)
            other = file.read(HEADER)
            if is_sound(other):
                file.seek(layout.active * HEADER)
                file.write(other)
        file.seek(0)
        head = file.read(HEADER)
        file.seek(0)
        file.write(struct.pack("<Q", checksum(head[8:])))


def _mend_at(file: IO[bytes], start: int, size: int, *, likely: bool) -> bool:
    file.seek(start)
    data = file.read(size)
    if len(data) < size or is_sound(data):
        return False
    right = mended(data, likely=likely)
    if right is None:
        return False
    file.seek(start)
    file.write(right)
    return True
