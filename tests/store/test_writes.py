"""What a write takes, repairs, refuses and repeats."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.store.errors import Conflict, InvalidField
from context_packs.store.memory.prepare import REPAIRED, broken, check
from context_packs.store.records import LEFT_OUT
from context_packs.store.values import Viewer

# ---- repetition


def test_the_same_content_twice_is_one_record(kit: Any) -> None:
    """A retry, also after a while and with blanks around it, answers with the id that is there and adds nothing."""
    store = kit.store()
    first = kit.write(store, "The build takes nine minutes.")
    kit.clock.on(seconds=10)
    again = kit.write(store, "  The build takes nine minutes.\n")
    assert (first.id, first.created) == ("mem:1", True)
    assert (again.id, again.created) == ("mem:1", False)
    assert store.stats(kit.me)["records"] == 1


def test_composed_and_decomposed_text_is_the_same_content(kit: Any) -> None:
    """One text in two Unicode forms is one record (NFC)."""
    store = kit.store()
    assert kit.write(store, "Caf\u00e9 and 東京が").created
    assert not kit.write(store, "Cafe\u0301 and 東京か\u3099").created


@pytest.mark.parametrize(
    "other",
    [
        {"path": "elsewhere"},
        {"bucket": "b"},
        {"scope": "team"},
        {"team_id": "red"},
        {"kind": "episode"},
        {"title": "T"},
    ],
    ids=str,
)
def test_the_same_words_in_another_place_are_another_record(kit: Any, other: dict[str, Any]) -> None:
    """Path, bucket, scope, team, kind and title tell records apart."""
    store = kit.store()
    kit.write(store, "Same words.")
    assert kit.write(store, "Same words.", **other).created


def test_repetitions_inside_one_batch_are_one_record(kit: Any) -> None:
    """A batch is checked against itself too: by content, external id and idempotency key."""
    store = kit.store()
    written = store.remember_many(
        [
            {"content": "a"},
            {"content": "a"},
            {"content": "b", "external_id": "x"},
            {"content": "b", "external_id": "x"},
            {"content": "b, grown", "external_id": "x"},
            {"content": "c", "idempotency_key": "k"},
            {"content": "c", "idempotency_key": "k"},
        ],
        kit.me,
    )
    assert [(one.id, one.created, one.version) for one in written] == [
        ("mem:1", True, 1),
        ("mem:1", False, 1),
        ("mem:2", True, 1),
        ("mem:2", False, 1),
        ("mem:2", False, 2),
        ("mem:3", True, 1),
        ("mem:3", False, 1),
    ]
    assert store.get("mem:2", kit.me).content == "b, grown"
    assert store.stats(kit.me)["records"] == 3


def test_content_that_was_deleted_or_has_expired_is_new_again(kit: Any) -> None:
    """Only what can still be read is a repetition."""
    store = kit.store()
    kit.write(store, "deleted")
    store.forget(["mem:1"], "soft_delete", kit.me)
    assert kit.write(store, "deleted").id == "mem:2"
    kit.write(store, "short-lived", expires_at=kit.clock.now + timedelta(hours=1))
    kit.clock.on(hours=1)
    assert kit.write(store, "short-lived").id == "mem:4"


def test_an_idempotency_key_answers_a_replay(kit: Any) -> None:
    """The same key with the same content is one record; with other content it is a conflict that names the field."""
    store = kit.store()
    first = kit.write(store, "Ship on Friday.", idempotency_key="job-1")
    replay = kit.write(store, "Ship on Friday.", idempotency_key="job-1", path="another/path")
    assert (replay.id, replay.created) == (first.id, False)
    with pytest.raises(Conflict, match=r"^idempotency_key: was used with other content") as error:
        kit.write(store, "Ship on Monday.", idempotency_key="job-1")
    assert error.value.field == "idempotency_key"
    assert store.stats(kit.me)["records"] == 1


def test_an_idempotency_key_given_to_a_repetition_counts(kit: Any) -> None:
    """A key that first came with content already stored still guards against other content, within a batch too."""
    store = kit.store()
    kit.write(store, "Stored before.")
    assert kit.write(store, "Stored before.", idempotency_key="k").created is False
    with pytest.raises(Conflict):
        kit.write(store, "Something else.", idempotency_key="k")
    with pytest.raises(Conflict):
        store.remember_many(
            [
                {"content": "Stored before.", "idempotency_key": "k2"},
                {"content": "Something else.", "idempotency_key": "k2"},
            ],
            kit.me,
        )


def test_idempotency_keys_belong_to_their_agent(kit: Any) -> None:
    """Two agents may use the same key."""
    store = kit.store()
    kit.write(store, "mine", idempotency_key="k")
    assert store.remember_many([{"content": "theirs", "idempotency_key": "k"}], Viewer("other"))[0].created


def test_a_late_replay_does_not_turn_a_grown_record_back(kit: Any) -> None:
    """A retry of an early message answers with the version it made; the later text stays."""
    store = kit.store()
    kit.write(store, "one line", external_id="chat", idempotency_key="m1")
    kit.clock.on(minutes=1)
    kit.write(store, "one line\ntwo lines", external_id="chat", idempotency_key="m2")
    kit.clock.on(minutes=1)
    replay = kit.write(store, "one line", external_id="chat", idempotency_key="m1")
    assert (replay.id, replay.created, replay.version) == ("mem:1", False, 1)
    assert store.get("mem:1", kit.me).content == "one line\ntwo lines"


# ---- batches and fields


def test_a_bad_record_ends_its_batch_and_keeps_those_before(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are kept one by one: the first bad field names itself, its batch leaves nothing, earlier ones stay."""
    monkeypatch.setattr("context_packs.store.exchange.importing.MOST", 2)
    store = kit.store()
    records = [
        {"content": "1"},
        {"content": "2"},
        {"content": "3"},
        {"content": "4", "pinned": "yes"},
        {"content": "5"},
    ]
    kept = []
    with pytest.raises(InvalidField, match=r"^pinned: ") as error:
        for batch in store.remember_batches(records, kit.me):
            kept += [one.id for one in batch]
    assert error.value.field == "pinned"
    assert kept == ["mem:1", "mem:2"]
    assert [line["content"] for line in store.export()] == ["1", "2"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", ""),
        ("content", " \n\u3000"),
        ("content", 5),
        ("content", None),
        ("content", "x" * 4_000_001),
        ("kind", "note"),
        ("path", "a|b"),
        ("path", "a\nb"),
        ("path", "a\u2028b"),
        ("path", "a\x00b"),
        ("path", "p" * 513),
        ("type", "a\tb"),
        ("bucket", 5),
        ("external_id", ""),
        ("external_id", "a|b"),
        ("idempotency_key", ""),
        ("title", 3),
        ("timestamp", "yesterday"),
        ("expires_at", "2026-13-01"),
        ("supersedes", "mem:0"),
        ("pinned", 1),
        ("source", 5),
        ("metadata", "text"),
        ("metadata", {1: "x"}),
        ("metadata", {"x": float("nan")}),
        ("metadata", {"x": {1, 2}}),
        ("metadata", {"x": 10**400}),
        ("source", {"when": datetime(2026, 1, 1, tzinfo=UTC)}),
        ("colour", "red"),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_a_bad_field_is_named(kit: Any, field: str, value: Any) -> None:
    """Every field is checked before anything is written; the error names it in one line."""
    store = kit.store(":memory:")
    with pytest.raises(InvalidField) as error:
        store.remember_many([{"content": "x", field: value}], kit.me)
    assert error.value.field == field
    assert str(error.value).startswith(f"{field}: ")
    assert len(str(error.value).splitlines()) == 1
    assert store.stats(kit.me)["records"] == 0


def test_values_nested_without_end_are_refused(kit: Any) -> None:
    """A hostile depth is an error of the field, not of the interpreter."""
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    store = kit.store(":memory:")
    with pytest.raises(InvalidField, match="metadata: is nested more than 32 deep"):
        kit.write(store, "x", metadata={"deep": deep})


@pytest.mark.parametrize(
    "fields",
    [
        {"content": "plain \ud800 words"},
        {"title": "\udfff"},
        {"path": "p/\ud83d"},
        {"external_id": "id-\ud800"},
        {"metadata": {"tags": ["\ud800"]}},
        {"metadata": {"\ud800": 1}},
        {"source": "host \udc00"},
    ],
    ids=ascii,
)
def test_lone_surrogates_are_repaired_with_a_note(kit: Any, fields: dict[str, Any]) -> None:
    """Text from a broken console is stored with U+FFFD in place, the answer says so, and every read works."""
    store = kit.store()
    written = store.remember_many([{"content": "plain words", **fields}], kit.me)[0]
    assert written.notes == (REPAIRED,)
    assert kit.find(store, "\ud800 plain words")[:1] == ["mem:1"]
    assert "\ufffd" in str(list(store.export()))
    for line in store.export():
        str(line).encode("utf-8")


def test_whole_surrogate_pairs_and_all_other_text_need_no_note(kit: Any) -> None:
    """Emoji, NUL and scripts of all kinds come back as they were given."""
    store = kit.store()
    text = "nul \x00 家族 👨‍👩‍👧‍👦 ฉันชอบ e\u0301 \u202eright\u202c \U0001f600 end\r\nline\ttab\x0b\x85"
    written = kit.write(store, text, metadata={"a": "\x00", "👨‍👩‍👧‍👦": [1, 2.5, None, True]}, title="t\x00t")
    assert written.notes == ()
    record = store.get(written.id, kit.me)
    assert (record.content, record.title) == (text, "t\x00t")
    assert record.metadata == {"a": "\x00", "👨‍👩‍👧‍👦": [1, 2.5, None, True]}


@pytest.mark.parametrize(
    "text", ["a" * 500_000, "あ" * 500_000, " x" * 250_000, "=" * 500_000], ids=["a", "あ", " x", "="]
)
def test_half_a_million_characters_are_stored_whole(kit: Any, text: str) -> None:
    """A huge record of one character is written, read and searched like any other."""
    store = kit.store(":memory:")
    kit.write(store, f"needle {text}")
    record = store.get("mem:1", kit.me)
    assert record.content == f"needle {text}"
    assert record.passages[-1].end == len(record.content)
    assert kit.find(store, "needle") == ["mem:1"]


@given(st.text(), st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3))
def test_what_passes_the_check_has_a_utf8_form(content: str, metadata: dict[str, str]) -> None:
    """Whatever text comes in, what would be stored can be encoded, and a repair is told exactly when there was one."""
    record = check({"content": f"x{content}", "metadata": metadata})
    record.model_dump_json().encode("utf-8")
    assert broken({"content": content, "metadata": metadata}) == (
        record.content != f"x{content}" or record.metadata != metadata
    )


@pytest.mark.parametrize(
    ("given_", "stored"),
    [
        ("2026-03-01T09:30:00Z", "2026-03-01T09:30:00+00:00"),
        ("2026-03-01T09:30:00+09:00", "2026-03-01T00:30:00+00:00"),
        ("2026-03-01T09:30:00", "2026-03-01T09:30:00+00:00"),
        ("2026-03-01", "2026-03-01T00:00:00+00:00"),
        (1_772_357_400, "2026-03-01T09:30:00+00:00"),
        (1_772_357_400_000, "2026-03-01T09:30:00+00:00"),
        (datetime(2026, 3, 1, 9, 30, tzinfo=timezone(timedelta(hours=-5))), "2026-03-01T14:30:00+00:00"),
        (datetime(2026, 3, 1, 9, 30), "2026-03-01T09:30:00+00:00"),  # noqa: DTZ001
        ("1905-06-07T08:09:10.123456Z", "1905-06-07T08:09:10.123456+00:00"),
        ("9999-12-31", "9999-12-31T00:00:00+00:00"),
    ],
    ids=str,
)
def test_times_are_kept_as_documented(kit: Any, monkeypatch: pytest.MonkeyPatch, given_: Any, stored: str) -> None:
    """Offsets are turned into UTC, naive times and dates are UTC whatever the machine's zone, numbers are epochs."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    store = kit.store(":memory:")
    kit.write(store, "an event", timestamp=given_, expires_at="9999-12-31T23:59:59Z")
    assert store.get("mem:1", kit.me).created_at.isoformat() == stored
    assert next(store.export())["timestamp"] == stored


def test_what_was_forgotten_does_not_come_back_by_itself(kit: Any) -> None:
    """A re-import, a growth or a replay of a forgotten record adds nothing and says why."""
    for mode in ("soft_delete", "hard_delete", "redact"):
        store = kit.store(":memory:")
        kit.write(store, "the secret", external_id="x", idempotency_key="k")
        store.forget(["mem:1"], mode, kit.me)
        for fields in ({"external_id": "x"}, {"idempotency_key": "k"}):
            written = kit.write(store, "the secret", **fields)
            assert (written.id, written.created, written.notes) == ("mem:1", False, (LEFT_OUT,))
        assert kit.find(store, "secret") == []


@pytest.mark.parametrize("mode", ["soft_delete", "hard_delete", "redact"])
def test_a_forgotten_source_that_says_something_else_is_stored_anew(kit: Any, mode: str) -> None:
    """Its changed text is a record with an id of its own, which grows from then on; the forgotten one stays so."""
    store = kit.store()
    kit.write(store, "Deploy by hand.", external_id="notes/deploy.md")
    store.forget(["mem:1"], mode, kit.me)
    copy = kit.store(kit.folder / "copy.duckdb")
    copy.import_lines(list(store.export()), kit.me)
    for one in (store, copy):
        assert kit.write(one, "Deploy by hand.", external_id="notes/deploy.md").notes == (LEFT_OUT,)
        assert kit.write(one, " Deploy by hand. ", title="Deploy", external_id="notes/deploy.md").notes == (LEFT_OUT,)
        anew = kit.write(one, "Deploy by pipeline.", external_id="notes/deploy.md")
        assert (anew.id, anew.created, anew.notes) == ("mem:2", True, ())
        assert kit.write(one, "Deploy by pipeline.", external_id="notes/deploy.md").created is False
        grown = kit.write(one, "Deploy by pipeline, on Fridays.", external_id="notes/deploy.md")
        assert (grown.id, grown.version, grown.updated) == ("mem:2", 2, True)
        assert kit.find(one, "deploy pipeline hand") == ["mem:2"]


def test_a_label_that_is_too_long_says_how_long_it_may_be(kit: Any) -> None:
    """Path, key and title have 512 characters at most; the error names the field and the limit in plain words."""
    store = kit.store()
    for field in ("path", "idempotency_key", "title"):
        with pytest.raises(InvalidField, match=rf"^{field}: is longer than 512 characters: shorten it$"):
            kit.write(store, "x", **{field: "x" * 513})
        kit.write(store, f"with {field}", **{field: "x" * 512})
