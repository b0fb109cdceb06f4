"""What the caller already has: equal texts, beginnings, and nothing else."""

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.packer.excerpt import preview
from context_packs.store.search.already_known import PREFIX_FLOOR, Known, normal
from context_packs.store.values import Filters

LONG = "The release train leaves every second Tuesday at nine in the morning."


@pytest.mark.parametrize(
    "text",
    [
        "Ａｐｐｌｅ　Ｐｉｅ １２３",
        "APPLE PIE 123",
        "  apple\n\tpie   123 ",
        "apple\u00a0pie\u3000123",
        "ApPlE PiE ①②③",
    ],
)
def test_width_case_and_white_space_do_not_matter(text: str) -> None:
    """Both sides are compared in NFKC, case folded, with single blanks."""
    assert Known([text]).says("Apple pie 123")
    assert Known(["Apple pie 123"]).says(text)


def test_case_folding_is_that_of_unicode() -> None:
    """Sharp s and final sigma fold; half-width katakana and composed marks are one form."""
    assert Known(["STRASSE"]).says("straße")
    assert Known(["ΟΔΟΣ"]).says("οδος")
    assert Known(["ｶﾞｷﾞ"]).says("ガギ")
    assert Known(["cafe\u0301"]).says("CAFÉ")


def test_a_beginning_counts_from_32_characters_on_both_sides() -> None:
    """31 characters are no beginning, 32 are, whichever side is the shorter one."""
    text = "x" * 100
    assert PREFIX_FLOOR == 32
    for shorter, longer in ((text[:31], text), (text[:32], text)):
        expected = len(shorter) == 32
        assert Known([shorter]).says(longer) is expected
        assert Known([longer]).says(shorter) is expected
    assert Known(["x" * 31]).says("x" * 31)


def test_the_floor_is_counted_after_normalisation() -> None:
    """Blanks that fold away do not make a beginning long enough."""
    assert not Known(["a" + " " * 60 + "b"]).says("a b and forty characters more that follow it here")
    assert Known(["a" * 20 + "  \n  " + "b" * 11]).says("a" * 20 + " " + "b" * 11 + " and more")


def test_what_stands_inside_or_at_the_end_is_not_known() -> None:
    """Only the beginning counts, and only of the whole other text."""
    assert not Known([LONG[10:60]]).says(LONG)
    assert not Known([LONG]).says("Note: " + LONG)
    assert not Known([LONG[:40] + "!"]).says(LONG)


def test_blank_texts_are_not_known() -> None:
    """An empty exclusion excludes nothing."""
    assert not Known(["", "  \n", "\u3000"]).says("")
    assert not Known([]).says(LONG)


@given(st.text(max_size=80), st.text(max_size=80))
def test_knowing_is_symmetric(a: str, b: str) -> None:
    """Whether one text says the other does not depend on which side it is on."""
    assert Known([a]).says(b) == Known([b]).says(a)


@given(st.text(min_size=1, max_size=80).filter(lambda text: normal(text) != ""))
def test_a_text_is_known_in_every_form(text: str) -> None:
    """Each text is known as itself and in each Unicode form."""
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert Known([unicodedata.normalize(form, text)]).says(text)


# ---- in the store


def excluded(kit: Any, store: Any, *known: str, query: str = "release train") -> tuple[list[str], int]:
    found = store.candidates(query, Filters(), kit.me, 100, 50, known)
    return sorted(item.id for item in found.items), found.plan["excluded"]


def test_known_records_are_left_out_and_counted(kit: Any) -> None:
    """A record that the caller has comes neither as candidate nor as hit nor as record; the plan counts it."""
    store = kit.store()
    kit.write(store, LONG)
    kit.write(store, "The release notes go out with the train on the same day, by mail, to everybody.")
    assert excluded(kit, store) == (["mem:1", "mem:2"], 0)
    assert excluded(kit, store, f"  {LONG.upper()}\n") == (["mem:2"], 1)
    found = store.candidates("release train", Filters(), kit.me, 100, 50, (LONG,))
    assert set(found.records) == {"mem:2"} == {hit.id for hit in found.hits}
    restored = store.restore(Filters(), kit.me, 100, 50, (LONG,))
    assert [item.id for item in restored.items] == ["mem:2"]
    assert restored.plan["excluded"] == 1


def test_what_only_repeats_a_known_record_is_left_out_with_it(kit: Any) -> None:
    """A near-duplicate of what the caller has is no news either; the places go to other records."""
    store = kit.store()
    kit.write(store, "The release train leaves every second Tuesday at nine.")
    kit.write(store, "Every second Tuesday at nine the release train leaves.")
    kit.write(store, "Nobody missed the release train so far.")
    kept, count = excluded(kit, store, "The release train leaves every second Tuesday at nine.")
    assert kept == ["mem:3"]
    assert count == 2


@pytest.mark.parametrize(
    "text",
    [
        "The release train leaves, " * 100,
        "release train。リリース列車は隔週の火曜日の朝九時に出発します。" * 40,
        "release train 👨‍👩‍👧‍👦👩🏽‍💻" * 60,
        "release train e\u0301a\u0308\u0323 " * 60,
        "release train ｶﾞｷﾞｸﾞ " * 60,
    ],
    ids=["latin", "japanese", "emoji", "marks", "half width"],
)
def test_a_preview_given_back_excludes_its_record(kit: Any, text: str) -> None:
    """The preview of 500 characters that a recall showed, given back as exclusion, keeps its record out."""
    packs = kit.packs()
    packs.remember(text)
    packs.remember("Another release train, quite another one.")
    shown, cut = preview(text, 500)
    assert cut
    assert 450 < len(shown) <= 500
    rows = packs.recall("release train", exclude_contents=[shown])
    assert [row.ref for row in rows] == ["mem:2"]
    assert rows.excluded == 1
    pack = packs.recall_context("release train", exclude_contents=[shown])
    assert [item.id for item in pack.items] == ["mem:2"]


def test_excluded_records_leave_their_places_to_others(kit: Any) -> None:
    """Exclusion happens before the limit: as many records come as were asked for."""
    packs = kit.packs()
    texts = [f"The release train number {n} left platform {n} with {n} wagons." for n in range(1, 13)]
    packs.remember_many({"content": text} for text in texts)
    first = packs.recall("release train", 4)
    second = packs.recall("release train", 4, exclude_contents=[row.content for row in first])
    assert (len(first), len(second), second.excluded) == (4, 4, 4)
    assert not {row.ref for row in first} & {row.ref for row in second}


def test_exclusions_stay_linear(kit: Any) -> None:
    """Half a million characters on both sides are compared like any other text."""
    packs = kit.packs()
    packs.remember("release train " + "a" * 500_000)
    rows = packs.recall("release train", exclude_contents=["release train " + "a" * 400_000, "b" * 500_000])
    assert (len(rows), rows.excluded) == (0, 1)
