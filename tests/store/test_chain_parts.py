"""The parts of the chain by themselves: cursors, writes that gather, and the text of what triggers bring."""

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.store.chain.cursor import make_cursor, read_cursor
from context_packs.store.chain.texts import (
    MAX_PAYLOAD_BYTES,
    READABLE_CHARS,
    SUMMARY_CHARS,
    payload_of,
    readable,
    summary_of,
    value_of,
)
from context_packs.store.concurrency.group_commit import Gathering
from context_packs.store.errors import Conflict, InvalidField
from context_packs.store.records import is_id, made_name, parse_name

NAMES = st.from_regex(r"(trg|thr|wkr)_[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", fullmatch=True)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)

# ---- ids


@given(NAMES)
def test_every_name_of_the_form_is_an_id(name: str) -> None:
    """Its first letters say its kind; with anything before or behind it, it is none."""
    assert is_id(name)
    assert parse_name(name) == {"trg": "trigger", "thr": "thread", "wkr": "worker"}[name[:3]]
    for other in (" " + name, name + " ", name + "\n", name + "é", name.upper(), name[4:], name + "|"):
        assert not is_id(other)


def test_a_made_name_is_its_number() -> None:
    """Hexadecimal, at least four digits."""
    assert [made_name("trigger", n) for n in (1, 36641, 2**40)] == ["trg_0001", "trg_8f21", "trg_10000000000"]


# ---- cursors


@given(thread=NAMES, after=st.just("") | NAMES, key=st.text(max_size=30))
def test_a_cursor_says_what_it_was_made_of(thread: str, after: str, key: str) -> None:
    """It comes back as it was made, in letters that a URL takes, and under no other key."""
    cursor = make_cursor(thread, after, key=key)
    assert cursor.replace("-", "").replace("_", "").isalnum() and cursor.isascii() and len(cursor) < 220
    assert read_cursor(cursor, thread, key=key) == after
    with pytest.raises(InvalidField):
        read_cursor(cursor, thread, key=key + "x")


@given(place=st.integers(0, 54), letter=st.sampled_from("ABCDwxyz0189-_"))
def test_an_altered_cursor_is_refused(place: int, letter: str) -> None:
    """Every change of one letter, wherever it stands, is seen."""
    cursor = make_cursor("thr_pr_412", "trg_8f21_and_more", key="k")
    place %= len(cursor)
    altered = cursor[:place] + letter + cursor[place + 1 :]
    if altered == cursor:
        assert read_cursor(altered, "thr_pr_412", key="k") == "trg_8f21_and_more"
        return
    with pytest.raises((InvalidField, Conflict)):
        read_cursor(altered, "thr_pr_412", key="k")


@given(st.text(max_size=60) | st.binary(max_size=60) | st.none() | st.integers())
def test_anything_else_is_no_cursor(value: Any) -> None:
    """Whatever is given, the answer is an error of the field."""
    with pytest.raises((InvalidField, Conflict)) as error:
        read_cursor(value, "thr_a", key="k")
    assert error.value.field == "cursor"


# ---- writes that gather


def test_what_comes_together_is_written_together() -> None:
    """While one write is under way all others wait, and go with the next one, each with its own answer or error."""
    groups: list[list[int]] = []
    first_is_in, go_on = threading.Event(), threading.Event()

    def write(items: Sequence[int]) -> list[int | Exception]:
        groups.append(list(items))
        if len(groups) == 1:
            first_is_in.set()
            assert go_on.wait(60)
        return [ValueError(str(item)) if item % 2 else item * 10 for item in items]

    gathering: Gathering[int, int] = Gathering(write)
    answers: dict[int, object] = {}

    def put(item: int) -> None:
        try:
            answers[item] = gathering.put(item)
        except ValueError as error:
            answers[item] = str(error)

    threads = [threading.Thread(target=put, args=(n,)) for n in range(9)]
    threads[0].start()
    assert first_is_in.wait(60)
    for thread in threads[1:]:
        thread.start()
    with gathering._changed:
        assert gathering._changed.wait_for(lambda: len(gathering._waiting) == 8, 60)
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert groups[0] == [0] and sorted(groups[1]) == list(range(1, 9)) and len(groups) == 2
    assert answers == {n: str(n) if n % 2 else n * 10 for n in range(9)}


def test_a_write_that_fails_fails_for_all_of_it() -> None:
    """Everybody whose item was in it gets the error, and the next write goes well."""
    failing = True

    def write(items: Sequence[int]) -> list[int | Exception]:
        if failing:
            raise OSError("disk")
        return list(items)

    gathering: Gathering[int, int] = Gathering(write)
    with pytest.raises(OSError, match="disk"):
        gathering.put(1)
    failing = False
    assert gathering.put(2) == 2


# ---- payloads and their text


@given(JSON_VALUES)
def test_json_comes_back_as_it_was(value: Any) -> None:
    """Any JSON value but a text, whatever its characters, is kept as JSON and read back equal."""
    if isinstance(value, str):
        assert payload_of(value, None)[0] == "text/plain; charset=utf-8"
        return
    media_type, body = payload_of(value, None)
    assert media_type == "application/json"
    assert value_of(media_type, body) == value
    assert len(readable(value)) <= READABLE_CHARS + 1
    line = summary_of(value, "ci", media_type, len(body))
    assert line and len(line) <= SUMMARY_CHARS and line == " ".join(line.split())


@given(st.binary(max_size=400), st.sampled_from([None, "text/plain", "application/json", "image/png"]))
def test_bytes_come_back_as_they_were(body: bytes, media_type: str | None) -> None:
    """Whatever they are said to be, they are kept; text is read where there is any, and always a line found."""
    kept, same = payload_of(body, media_type)
    assert same == body and kept == (media_type or "application/octet-stream")
    line = summary_of(value_of(kept, body), "ci", kept, len(body))
    assert line and len(line) <= SUMMARY_CHARS


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (
            {"action": "completed", "check_run": {"conclusion": "failure", "output": {"title": "Lint"}}},
            "completed: Lint",
        ),
        ({"type": "message", "text": "Deploy\nnow"}, "message: Deploy"),
        ({"event": "build", "status": "failed", "job": {"name": "test 3.11"}}, "build failed: test 3.11"),
        ({"n": 5}, "n: 5"),
        ({}, "ci: 9 bytes of application/json"),
        ([1, 2], "1"),
        ("From: a@b.c\nSubject: Rollout on Friday\n\nHello", "Rollout on Friday"),
        ("start\nstep 1\nERROR: disk full\nend", "ERROR: disk full"),
        ("会議の記録\n二行目", "会議の記録"),
        ("  \n\n", "ci: 9 bytes of application/json"),
        (None, "ci: 9 bytes of application/json"),
        ("word " * 100, "word " * 39 + "…"),
        ("会" * 300, "会" * 198 + " …"),
    ],
    ids=str,
)
def test_a_summary_is_one_sensible_line(value: Any, line: str) -> None:
    """What happened and to what; the subject of a mail, the first fault of a log, else the first line."""
    assert summary_of(value, "ci", "application/json", 9) == line


def test_readable_text_leaves_addresses_out() -> None:
    """Each entry is a line under its path; machine addresses, empty and yes-or-no entries say nothing."""
    value = {
        "url": "https://api.example/1", "html_url": "https://example/1", "node_id": "x", "draft": False, "body": None,
        "user": {"login": "ann", "avatar_url": "https://a"}, "labels": [{"name": "bug"}, {"name": "ci"}], "n": 3,
    }  # fmt: skip
    assert readable(value) == "html_url: https://example/1\nuser.login: ann\nlabels.name: bug\nlabels.name: ci\nn: 3"


def test_long_text_is_searched_at_both_ends() -> None:
    """Of a log that is too long the beginning and the end are kept, whole lines."""
    text = "".join(f"line {n}\n" for n in range(20_000)) + "the cause"
    found = readable(text)
    assert len(found) <= READABLE_CHARS
    assert found.startswith("line 0\n") and found.endswith("line 19999\nthe cause")
    assert all(line.startswith("line ") for line in found.splitlines()[:-1] if line)
    assert len(readable("x" * 500_000)) <= READABLE_CHARS + 1


def test_what_can_not_be_kept_is_refused() -> None:
    """Too large, not JSON, an odd media type: the field is named."""
    for value, media_type, field in (
        (b"x" * (MAX_PAYLOAD_BYTES + 1), None, "payload"),
        ({"a": object()}, None, "payload"),
        ({1: 2}, None, "payload"),
        (float("inf"), None, "payload"),
        (b"x", "text/plain\r\nX: y", "media_type"),
        (b"x", "", "media_type"),
    ):
        with pytest.raises(InvalidField) as error:
            payload_of(value, media_type)
        assert error.value.field == field
