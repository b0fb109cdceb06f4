"""What a pack promises for every input, held by properties over hostile records and by plain examples."""

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.packer import ContextPacks
from context_packs.packer.packing.build import build, under
from context_packs.packer.packing.pack import Pack, PackedItem, structured
from context_packs.packer.packing.profile import ITEM_FIELDS, list_profiles, load_profile
from context_packs.packer.packing.request import parse_request
from context_packs.packer.packing.tokens import token_counter
from context_packs.store.errors import InvalidField, StoreError
from context_packs.store.records import Record
from context_packs.store.text.clean import visible
from context_packs.store.values import Candidates

PROFILES = st.sampled_from(["public", "internal", "kernel", "session_start"])
TOKENS = st.one_of(st.integers(1, 400), st.integers(1, 3000))
BREAKS = re.compile("[\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")


def ids(pack: Pack) -> list[str]:
    return [item.id for item in pack.items]


def covered(pack: Pack) -> dict[str, set[int]]:
    return {item.id: {n for start, end in item.spans for n in range(start, end)} for item in pack.items}


@given(data=st.data(), profile=PROFILES, max_tokens=TOKENS, max_chars=st.none() | st.integers(1, 2000))
def test_the_numbers_are_those_of_the_text_and_within_both_ceilings(
    kit: Any, data: st.DataObject, profile: str, max_tokens: int, max_chars: int | None
) -> None:
    """An independent tokenizer counts exactly `used_tokens` in the text, never above `max_tokens`; characters alike."""
    found = data.draw(kit.founds())
    pack = kit.pack(found, profile=profile, max_tokens=max_tokens, max_chars=max_chars)
    assert kit.oracle(pack.text) == pack.budget.used_tokens <= max_tokens
    assert len(pack.text) == pack.budget.used_chars <= (max_chars or 10**9)
    assert sum(item.tokens for item in pack.items) <= pack.budget.used_tokens
    assert "\r" not in pack.text and not pack.text.endswith("\n")
    pack.text.encode()


@given(data=st.data(), profile=PROFILES, max_items=st.integers(1, 4), max_tokens=TOKENS)
def test_every_candidate_is_an_item_or_a_decision(
    kit: Any, data: st.DataObject, profile: str, max_items: int, max_tokens: int
) -> None:
    """Items and decisions are disjoint and together are the candidates; the counts and the state follow from them."""
    found = data.draw(kit.founds())
    pack = kit.pack(found, profile=profile, max_items=max_items, max_tokens=max_tokens)
    told = ids(pack) + [decision.id for decision in pack.decisions]
    assert sorted(told) == sorted(item.id for item in found.items)
    duplicates = [decision for decision in pack.decisions if decision.reason == "duplicate"]
    assert all(decision.duplicate_of == found.items[0].id for decision in duplicates)
    budget = pack.budget
    assert (budget.used_items, budget.duplicates) == (len(pack.items), len(duplicates))
    assert budget.used_items <= max_items
    assert budget.dropped == len(pack.decisions) - len(duplicates)
    assert budget.shortened == sum(item.shortened for item in pack.items)
    assert budget.state == ("limited" if budget.dropped or budget.shortened else "complete")


@given(data=st.data(), profile=PROFILES, budgets=st.tuples(TOKENS, TOKENS), chars=st.none() | st.integers(1, 900))
def test_a_larger_token_budget_never_removes_anything(
    kit: Any, data: st.DataObject, profile: str, budgets: tuple[int, int], chars: int | None
) -> None:
    """The items of a smaller token budget are the first ones of a larger, and what they show is shown there too."""
    found = data.draw(kit.founds())
    small, large = (kit.pack(found, profile=profile, max_tokens=limit, max_chars=chars) for limit in sorted(budgets))
    assert ids(large)[: len(small.items)] == ids(small)
    assert all(shown <= covered(large)[ref] for ref, shown in covered(small).items())


@given(data=st.data(), profile=PROFILES, chars=st.tuples(st.integers(1, 900), st.integers(1, 2000)))
def test_a_larger_ceiling_of_characters_never_removes_anything(
    kit: Any, data: st.DataObject, profile: str, chars: tuple[int, int]
) -> None:
    """The same holds for the second ceiling."""
    found = data.draw(kit.founds())
    small, large = (kit.pack(found, profile=profile, max_tokens=1200, max_chars=limit) for limit in sorted(chars))
    assert ids(large)[: len(small.items)] == ids(small)
    assert all(shown <= covered(large)[ref] for ref, shown in covered(small).items())


@given(data=st.data(), profile=PROFILES, max_tokens=st.integers(1, 600), chars=st.none() | st.integers(1, 3000))
def test_needs_tokens_is_the_smallest_budget_that_shows_the_record(
    kit: Any, data: st.DataObject, profile: str, max_tokens: int, chars: int | None
) -> None:
    """Asked with `needs_tokens` the record is there; asked with one token less it is not."""
    found = data.draw(kit.founds())
    pack = kit.pack(found, profile=profile, max_tokens=max_tokens, max_chars=chars)
    for decision in pack.decisions:
        if decision.needs_tokens is not None:
            assert decision.needs_tokens > max_tokens
            enough = kit.pack(found, profile=profile, max_tokens=decision.needs_tokens, max_chars=chars)
            less = kit.pack(found, profile=profile, max_tokens=decision.needs_tokens - 1, max_chars=chars)
            assert decision.id in ids(enough)
            assert decision.id not in ids(less)
        elif decision.reason == "max_chars":
            assert chars is not None
            assert decision.id not in ids(kit.pack(found, profile=profile, max_tokens=12_000, max_chars=chars))
            assert decision.id in ids(kit.pack(found, profile=profile, max_tokens=12_000))
        else:
            assert decision.reason == "duplicate"


def parsed(text: str) -> list[tuple[str, str, str, str]]:
    """Items of the public form: (id, type, path, section without its header), by the written contract alone."""
    if text == "No matching XMemo memory was found.":
        return []
    lines = text.split("\n")
    assert lines[0] == "### XMemo Context"
    count = int(lines[1].removeprefix("Items: "))
    at = 3 if lines[2].startswith("Budget: ") else 2
    references = [
        re.fullmatch(r"Reference: (\S+) \| Type: ([^|]+) \| Location: ([^|]+)", x) for x in lines[at : at + count]
    ]
    assert lines[at + count] == "Context:"
    sections = "\n".join(lines[at + count + 1 :]).split("\n\n")
    assert len(sections) == count
    items = []
    for k, (reference, section) in enumerate(zip(references, sections, strict=True), start=1):
        header, _, body = section.partition("\n")
        assert header.startswith(f"[{k}] ")
        assert reference is not None
        items.append((reference[1], reference[2], reference[3], body))
    return items


def squeezed(text: str) -> str:
    """Only what is visible: no blanks, no marks of omission, control characters and surrogates as they are rendered."""
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return re.sub(r"[\s…]", "", visible(text))


@given(data=st.data(), max_tokens=st.integers(60, 1500))
def test_a_reader_of_the_contract_gets_exactly_the_items_back(kit: Any, data: st.DataObject, max_tokens: int) -> None:
    """Whatever the records contain, the public form parses into its items, each with just the text of its spans."""
    found = data.draw(kit.founds())
    pack = kit.pack(found, max_tokens=max_tokens)
    if not pack.items:
        return
    items = parsed(pack.text)
    assert [(ref, kind, path) for ref, kind, path, _ in items] == [(i.id, i.type, i.path) for i in pack.items]
    for (_, _, _, body), item in zip(items, pack.items, strict=True):
        content = found.records[item.id].content
        assert all(line.startswith(" ") and line.strip() for line in body.split("\n") if body)
        assert squeezed(body) == squeezed("".join(content[start:end] for start, end in item.spans))
        assert all(a[1] < b[0] for a, b in pairwise(item.spans))
        assert item.shortened == (item.spans != [(0, len(content))])


@given(data=st.data(), profile=PROFILES, max_tokens=TOKENS)
def test_shown_passages_stand_verbatim_but_for_line_breaks(
    kit: Any, data: st.DataObject, profile: str, max_tokens: int
) -> None:
    """Each line of a shown passage is in the body as it is stored, but for characters that are not to be seen."""
    found = data.draw(kit.founds())
    pack = kit.pack(found, profile=profile, max_tokens=max_tokens)
    for item in pack.items:
        record: Record = found.records[item.id]
        for span in record.passages:
            if any(start <= span.start and span.end <= end for start, end in item.spans):
                passage = record.content[span.start : span.end]
                for line in BREAKS.split(passage):
                    if not re.search(r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x9f\ud800-\udfff]", line):
                        assert visible(line).strip() in pack.context_text


@given(data=st.data(), max_tokens=TOKENS)
def test_the_same_request_gives_the_same_bytes(kit: Any, data: st.DataObject, max_tokens: int) -> None:
    """Nothing but request and records decides: no clock, no order of a set, no state of an earlier call."""
    found = data.draw(kit.founds())
    once = kit.pack(found, max_tokens=max_tokens)
    kit.pack(found, profile="kernel", max_tokens=77)
    assert kit.pack(found, max_tokens=max_tokens).model_dump_json() == once.model_dump_json()


@given(data=st.data(), max_tokens=TOKENS)
def test_a_pack_survives_json(kit: Any, data: st.DataObject, max_tokens: int) -> None:
    """Written as JSON and read back it is equal; every profile's view of it is plain JSON with the same text."""
    pack = kit.pack(data.draw(kit.founds()), profile="kernel", max_tokens=max_tokens)
    assert Pack.model_validate_json(pack.model_dump_json()).model_dump() == pack.model_dump()
    view = structured(pack, load_profile("kernel"))
    assert list(view) == ["version", "retrieval_plan", "budget", "items", "decisions", "context_text"]
    assert view["context_text"] == pack.context_text


@pytest.mark.parametrize("character", ["a", "=", "あ", "ก", "😀", "\x00", "\n", " ", "\ud800", "1", "…"])
def test_half_a_million_equal_characters_are_a_normal_record(kit: Any, character: str) -> None:
    """A record of 500,000 times one character is shown as far as it fits and blocks nothing behind it: what nothing
    cuts well stands behind what can be cut."""
    records = [kit.record(1, character * 500_000), kit.record(2, "A short note.")]
    pack = kit.pack(kit.found(records), max_tokens=600)
    assert sorted(ids(pack)) == ["mem:1", "mem:2"]
    assert (ids(pack)[0] == "mem:1") == (character in "あก\n ")
    assert pack.budget.used_tokens == token_counter().count(pack.text) <= 600
    assert " A short note." in pack.text.split("\n")


def test_what_can_not_be_cut_blocks_nothing(kit: Any) -> None:
    """One grapheme cluster of 500,000 combining marks can be neither shown nor cut: it stands last and is told."""
    records = [kit.record(1, "e" + "\u0301" * 500_000), kit.record(2, "A short note.")]
    pack = kit.pack(kit.found(records), max_tokens=600)
    assert ids(pack) == ["mem:2"]
    assert [(d.id, d.reason, d.needs_tokens) for d in pack.decisions] == [("mem:1", "budget", None)]


@pytest.mark.parametrize(
    "solid",
    [
        "valve-hall-four-" + "0f9a" * 400,
        "https://a.example/valve?hall=four&" + "&".join(f"k{n}=valve" for n in range(200)),
        '{"valve":"hall four",' + ",".join(f'"k{n}":{n}' for n in range(300)) + "}",
        "valve,hall,four," + ",".join(str(n * 7919) for n in range(300)),
        ":".join(f"/opt/valve/hall/four/{n}" for n in range(60)),
    ],
)
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("fill", ["relevant", "budget"])
def test_a_record_without_a_break_keeps_no_smaller_one_out(solid: str, first: bool, fill: str) -> None:
    """Its rest, cut off behind the last piece, is no sentence either."""
    notes = ["The valve of hall four opens at two bar.", "Hall four has a valve from Delft."]
    with ContextPacks.open(":memory:", agent_id="planner") as packs:
        packs.remember_many([{"content": text} for text in ([solid, *notes] if first else [*notes, solid])])
        pack = packs.recall_context("valve of hall four", profile="public", max_tokens=150, fill=fill)
        assert all(note in pack.text for note in notes)
        assert pack.budget.used_tokens <= 150


def test_a_record_far_above_the_budget_is_shown_in_part_and_blocks_nothing(kit: Any) -> None:
    """Ranks of 50, 900, 30 and 30 tokens under 300: all four are there, the large one shortened and marked so."""
    large = " ".join(f"Sentence number {n} of the long report stays readable." for n in range(90))
    texts = ["The first note is about the budget of a pack.", large, "A third note.", "A fourth note."]
    pack = kit.pack(kit.found([kit.record(n, text) for n, text in enumerate(texts, start=1)]), max_tokens=300)
    assert ids(pack) == ["mem:1", "mem:2", "mem:3", "mem:4"]
    assert [item.shortened for item in pack.items] == [False, True, False, False]
    assert pack.items[1].spans[0][0] == 0
    assert pack.items[1].total_tokens == kit.oracle(large)


def test_a_first_record_that_does_not_fit_is_named_with_what_it_needs(kit: Any) -> None:
    """Too small for anything is not "nothing found": the frame says how much the first item needs."""
    found = kit.found([kit.record(1, "One sentence that does not fit in here at all.")])
    pack = kit.pack(found, max_tokens=45)
    assert pack.text == (
        "### XMemo Context\nItems: 0\nBudget: 36/45 tokens, 0 items, 0 shortened, 1 dropped; first item needs 50 tokens"
    )
    assert pack.budget.state == "limited"
    assert pack.decisions[0].needs_tokens == 50
    assert kit.pack(found, max_tokens=50).budget.state == "complete"


@pytest.mark.parametrize(
    ("max_tokens", "text"),
    [
        (
            36,
            "### XMemo Context\nItems: 0\n"
            "Budget: 36/36 tokens, 0 items, 0 shortened, 1 dropped; first item needs 50 tokens",
        ),
        (35, "### XMemo Context\nItems: 0"),
        (9, "### XMemo Context\nItems: 0"),
        (8, "### XMemo Context"),
        (4, "### XMemo Context"),
        (3, ""),
        (1, ""),
    ],
)
def test_too_small_for_the_frame_renders_less_of_it(kit: Any, max_tokens: int, text: str) -> None:
    """The frame gives way line by line; never a token above the ceiling."""
    found = kit.found([kit.record(1, "One sentence that does not fit in here at all.")])
    assert kit.pack(found, max_tokens=max_tokens).text == text


def test_nothing_found_is_said_exactly(kit: Any) -> None:
    """No candidates: the exact sentence in the public form, an empty text for programs, state no_match."""
    public = kit.pack(Candidates())
    assert public.text == "No matching XMemo memory was found."
    assert (public.budget.state, public.items, public.decisions, public.context_text) == ("no_match", [], [], "")
    assert kit.pack(Candidates(), profile="internal").text == ""
    assert kit.pack(Candidates(), max_tokens=5).text == ""


def test_records_beyond_max_items_are_named(kit: Any) -> None:
    """What `max_items` keeps out is a decision without a number of tokens, counted as dropped, and said in the text."""
    found = kit.found([kit.record(n, f"Note {n}.") for n in range(1, 5)], copies=1)
    pack = kit.pack(found, max_items=2)
    assert ids(pack) == ["mem:1", "mem:2"]
    assert [(d.id, d.reason, d.needs_tokens, d.duplicate_of) for d in pack.decisions] == [
        ("mem:3", "max_items", None, None),
        ("mem:4", "max_items", None, None),
        ("mem:900", "duplicate", None, "mem:1"),
    ]
    assert (pack.budget.dropped, pack.budget.duplicates, pack.budget.state) == (2, 1, "limited")
    assert "Budget: 95/1500 tokens, 2 items, 0 shortened, 2 dropped" in pack.text


def test_a_missing_arm_of_retrieval_makes_the_pack_degraded(kit: Any) -> None:
    """An arm that could not run wins over complete, limited and no match, and stands in the plan."""
    assert kit.pack(kit.found([], degraded=["vectors"])).budget.state == "degraded"
    found = kit.found([kit.record(1, "Note.")], degraded=["vectors"])
    pack = kit.pack(found)
    assert pack.budget.state == "degraded"
    assert pack.retrieval_plan == {"mode": "query", "degraded": ["vectors"]}


def test_another_profile_is_fitted_again_and_stays_within_the_ceiling(kit: Any) -> None:
    """A pack made for programs, rendered in the public form, holds the same ceiling although the frame is larger."""
    found = kit.found([kit.record(n, f"Note number {n} says something. And more.") for n in range(1, 9)])
    pack = kit.pack(found, profile="internal", max_tokens=150)
    public = under(pack, load_profile("public"))
    assert public.text == kit.pack(found, max_tokens=150).text
    assert public.budget.used_tokens == kit.oracle(public.text) <= 150
    assert under(pack, load_profile("internal")) is pack


def test_a_pack_read_back_from_json_says_that_it_can_not_be_fitted_again(kit: Any) -> None:
    """It has no records any more, so another profile is refused rather than guessed."""
    pack = Pack.model_validate_json(kit.pack(kit.found([kit.record(1, "Note.")])).model_dump_json())
    with pytest.raises(InvalidField, match="read back from JSON"):
        under(pack, load_profile("internal"))


def test_a_record_outside_the_filter_never_reaches_a_text(kit: Any) -> None:
    """The store filters; should it ever give another bucket's record, the pack fails instead of showing it."""
    found = kit.found([kit.record(1, "Of another bucket.", bucket="home")])
    with pytest.raises(StoreError, match="outside the filter"):
        build(parse_request(bucket="work"), load_profile("public"), found, found.records, token_counter())


def test_profiles_choose_fields_and_content(kit: Any) -> None:
    """The kernel's items carry their own text, the internal ones do not; a door shows only a profile's fields."""
    text = "First sentence here. Second sentence here. Third sentence here."
    found = kit.found([kit.record(1, text)], [("mem:1", 1)])
    kernel = kit.pack(found, profile="kernel", max_tokens=10)
    assert kernel.text == "[1]\n … Second sentence here. …"
    assert kernel.items[0].content == "Second sentence here. "
    assert kit.pack(found, profile="internal").items[0].content is None
    view = structured(kit.pack(found), load_profile("public"))
    assert view["items"] == [{"id": "mem:1", "type": "memory", "path": "notes/1"}]


def test_the_fields_a_profile_may_name_are_those_of_an_item() -> None:
    """The profile's list and the model's fields are the same, in the same order."""
    assert tuple(PackedItem.model_fields) == ITEM_FIELDS
    assert list_profiles() == ["internal", "kernel", "public", "session_start"]


def test_an_estimated_encoding_is_named_and_held(kit: Any) -> None:
    """With a stated factor the ceiling holds for the estimate, and the encoding says that it is one."""
    found = kit.found([kit.record(n, f"Note number {n} says something. And more of it.") for n in range(1, 30)])
    pack = kit.pack(found, "claude", max_items=29, max_tokens=1100)
    assert pack.budget.encoding == "o200k_base*1.35"
    assert pack.budget.used_tokens == -(-kit.oracle(pack.text) * 135 // 100) <= 1100
    assert f"Budget: {pack.budget.used_tokens}/1100 tokens" in pack.text
