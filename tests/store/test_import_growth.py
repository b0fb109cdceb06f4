"""Sessions that are imported again: new turns are added, and nothing stored is ever shortened."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.packer.service import ContextPacks
from context_packs.store.exchange.merging import merged


@pytest.fixture
def packs() -> Iterator[ContextPacks]:
    with ContextPacks.open(":memory:", "planner", embedder="none") as opened:
        yield opened


def turn(number: int, text: str, session: str = "origin", **more: object) -> dict[str, Any]:
    kind = "user" if number % 2 else "assistant"
    return {"type": kind, "uuid": f"u-{number}", "sessionId": session, "timestamp": f"2026-02-03T09:{number:02}:00Z",
            "cwd": "/home/mika/kiln", **more, "message": {"role": kind, "content": text}}  # fmt: skip


def transcript(folder: Path, name: str, *lines: object) -> Path:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def taken(packs: ContextPacks, source: Path, format: str = "claude-code") -> tuple[int, int, int]:
    """Created, updated and already there."""
    written = [one for batch in packs.import_file(format, source) for one in batch]
    made, changed = sum(one.created for one in written), sum(one.updated for one in written)
    return made, changed, len(written) - made - changed


TEXTS = ("Which glaze do we take?", "The ash glaze.", "And the cone?", "Cone ten.", "Until when?", "Until May.")
TURNS = [turn(number, text) for number, text in enumerate(TEXTS, start=1)]
LINES = [f"{'User' if i % 2 == 0 else 'Assistant'}: {text}" for i, text in enumerate(TEXTS)]


def test_a_fork_takes_nothing_from_its_origin(packs: ContextPacks, tmp_path: Path) -> None:
    """A fork repeats rows under the id of its origin, whose file is gone by then: the origin stays as it was."""
    origin = transcript(tmp_path, "origin", *TURNS)
    assert taken(packs, origin) == (1, 0, 0)
    origin.unlink()
    fork = transcript(tmp_path, "fork", *TURNS[:2], turn(3, "What of the shelves?", "fork"))
    assert taken(packs, fork) == (1, 0, 1)
    assert packs.get("ep:1").content.split("\n") == LINES
    assert packs.get("ep:2").content == "User: What of the shelves?"


def test_rows_that_a_fork_adds_to_its_origin_are_added(packs: ContextPacks, tmp_path: Path) -> None:
    """New rows under the origin's id stand behind what was stored in their place."""
    taken(packs, origin := transcript(tmp_path, "origin", *TURNS))
    origin.unlink()
    other = transcript(tmp_path, "other", *TURNS[:2], turn(7, "And the kiln?"), turn(8, "The large one."))
    assert taken(packs, other) == (0, 1, 0)
    assert packs.get("ep:1").content.split("\n") == [*LINES, "User: And the kiln?", "Assistant: The large one."]
    assert packs.get("ep:1").metadata["ended_at"] == "2026-02-03T09:08:00Z"
    assert taken(packs, other) == (0, 0, 1)


def test_a_rewound_file_that_goes_on_loses_nothing(packs: ContextPacks, tmp_path: Path) -> None:
    """Turns that were rewound stay, with each further growth too; again nothing is added."""
    taken(packs, transcript(tmp_path, "origin", *TURNS[:4]))
    rewound = [*TURNS[:2], turn(11, "Another glaze, then.")]
    assert taken(packs, transcript(tmp_path, "origin", *rewound)) == (0, 1, 0)
    assert taken(packs, transcript(tmp_path, "origin", *rewound, turn(12, "Tenmoku."))) == (0, 1, 0)
    assert taken(packs, tmp_path / "origin.jsonl") == (0, 0, 1)
    assert packs.get("ep:1").content.split("\n") == [*LINES[:4], "User: Another glaze, then.", "Assistant: Tenmoku."]


def test_a_session_that_only_grows_is_what_its_file_says(packs: ContextPacks, tmp_path: Path) -> None:
    """Plain growth, a half-written last line included, needs no merging."""
    path = transcript(tmp_path, "origin", *TURNS[:2])
    assert taken(packs, path) == (1, 0, 0)
    path.write_text("".join(json.dumps(line) + "\n" for line in TURNS[:5]) + '{"type": "assi', encoding="utf-8")
    assert taken(packs, path) == (0, 1, 0)
    assert packs.get("ep:1").content.split("\n") == LINES[:5]


def test_a_chat_that_lost_turns_keeps_them(packs: ContextPacks, tmp_path: Path) -> None:
    """Chats of other programs too; each turn is still marked where it stands."""
    path = tmp_path / "talk.jsonl"
    talk = [{"id": f"m{i}", "speaker": "Mika", "text": f"Line {i}.\nUser: quoted"} for i in range(4)]
    path.write_text("".join(json.dumps(line) + "\n" for line in talk), encoding="utf-8")
    taken(packs, path, "chat")
    left = [talk[0], talk[3], {"id": "m9", "speaker": "Mika", "text": "End."}]
    path.write_text("".join(json.dumps(line) + "\n" for line in left), encoding="utf-8")
    assert taken(packs, path, "chat") == (0, 1, 0)
    record = packs.get("ep:1")
    spoken = [(mark, record.content[start:end]) for mark, start, end in record.metadata["turns"]]
    assert spoken == [
        *((f"m{i}", f"Mika: Line {i}.\nUser: quoted") for i in range(4)),
        ("m9", "Mika: End."),
    ]


def test_masking_later_takes_the_secret_out(packs: ContextPacks, tmp_path: Path) -> None:
    """A turn that comes again with its secret masked is the same turn: the secret does not stay beside it."""
    from context_packs.store.exchange.importers import ImportOptions

    path = transcript(tmp_path, "origin", turn(1, "password=hunter2 opens it"), *TURNS[1:3])
    list(packs.import_file("claude-code", path, options=ImportOptions(mask_secrets=False)))
    assert taken(packs, path) == (0, 1, 0)
    assert packs.get("ep:1").content.split("\n") == ["User: password=[secret:password] opens it", *LINES[1:3]]


SPOKEN = st.lists(st.sampled_from(["User: a", "Assistant: b", "User: c", "Tool Read: {}", "Result: x\ny", "User: a"]),
                  min_size=1, max_size=8)  # fmt: skip


@given(SPOKEN, SPOKEN)
def test_whatever_comes_no_stored_turn_is_dropped(mine: list[str], theirs: list[str]) -> None:
    """Both are found in the result in their own order, each new turn is in it, and a second time adds nothing."""
    record = {"content": "\n".join(theirs), "kind": "episode"}
    first = merged(record, "\n".join(mine), "t", {})["content"].split("\n")
    rest = iter(first)
    assert all(line in rest for line in "\n".join(mine).split("\n"))
    rest = iter(first)
    assert all(line in rest for line in "\n".join(theirs).split("\n"))
    assert merged(record, "\n".join(first), "t", {})["content"].split("\n") == first
