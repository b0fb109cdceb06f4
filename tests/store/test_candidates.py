"""The candidate stage: what bears on a query is found at once, what does not is not, and always in the same order."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.store.duckstore import DuckStore
from context_packs.store.values import Candidates, Filters, Viewer

ME = Viewer("planner")
FACTS = (
    "The office moved from Berlin to Porto in spring.",
    "Anna prefers tea, and she never drinks coffee after noon.",
    "The nightly backup of the database runs at two in the morning.",
    "Invoices are sent on the last working day of the month.",
    "The staging server has sixteen gigabytes of memory.",
    "Deploys need the approval of two reviewers.",
    "The mobile app supports German, French and Japanese.",
    "Customer data is kept for ten years, then deleted.",
    "The team meets on Tuesdays at nine in room twelve.",
    "Feature flags live in the file flags.toml.",
    "The retry policy of the client is exponential backoff with jitter.",
    "The logo may only be used on a white background.",
)
UNRELATED = (
    "zzqqy weather on Mars",
    "quantum chromodynamics lattice",
    "recipe for mushroom risotto",
    "火星の天気はどうですか",
    "who won the football championship",
    "the and of it is",
    "?!",
    "🦕",
)
HOSTILE = (
    'don\'t "AND" foo:bar -x (y*',
    "NEAR/3 OR NOT (", '"unclosed', "a AND", "* ? ~ ^ \\", "path:x type:y", "'; DROP TABLE records; --", "$1 ? :name",
    "%_%", "\x00", "\ud800", "{{ 7 * 7 }}", "[1] x", "-" * 1000, "(" * 1000, "\u202e", "a" * 100_000, "あ" * 10_000,
)  # fmt: skip


@pytest.fixture(scope="module")
def facts() -> Any:
    """Twelve unlike facts in one store."""
    store = DuckStore(":memory:")
    store.remember_many([{"content": text} for text in FACTS], ME)
    yield store
    store.close()


def search(store: DuckStore, text: str, depth: int = 100, take: int = 50, **filters: Any) -> Candidates:
    return store.candidates(text, Filters(**filters), ME, depth, take)


# ---- relevance


@pytest.mark.parametrize("query", UNRELATED)
def test_an_unrelated_query_finds_nothing(facts: Any, query: str) -> None:
    """Twelve facts and a query about something else: no candidate, no hit, no record, and no filter to blame."""
    found = search(facts, query)
    assert (found.items, found.hits, dict(found.records)) == ((), (), {})
    assert found.plan["mode"] == "query"
    assert "empty_filter" not in found.plan


@pytest.mark.parametrize("n", range(len(FACTS)))
def test_a_fact_is_first_for_its_own_words(facts: Any, n: int) -> None:
    """Each fact is the best candidate for its own text, whole, and its passage the best hit."""
    found = search(facts, FACTS[n])
    assert found.items[0].id == found.hits[0].id == f"mem:{n + 1}"
    assert found.records[f"mem:{n + 1}"].content == FACTS[n]


def test_a_japanese_word_inside_a_sentence_is_found(kit: Any) -> None:
    """Words of two characters, and single ones, are found in text that is written without blanks."""
    store = kit.store()
    kit.write(store, "昨日の会議で、データベースの移行は来月に延期された。")
    kit.write(store, "新しい猫が家に来た。")
    assert kit.find(store, "会議") == ["mem:1"]
    assert kit.find(store, "移行") == ["mem:1"]
    assert kit.find(store, "猫") == ["mem:2"]
    assert kit.find(store, "犬") == []
    assert kit.find(store, "ﾃﾞｰﾀﾍﾞｰｽ") == ["mem:1"]


def test_a_query_of_one_character_finds_it(kit: Any) -> None:
    """A letter or digit that stands by itself is a word like any other."""
    store = kit.store()
    kit.write(store, "Choose plan B when the pipeline is red.")
    kit.write(store, "Room 7 is free.")
    assert kit.find(store, "B") == ["mem:1"]
    assert kit.find(store, "7") == ["mem:2"]
    assert kit.find(store, "x") == []


@pytest.mark.parametrize("query", HOSTILE, ids=lambda text: ascii(text)[:20])
def test_no_query_is_an_error(facts: Any, query: str) -> None:
    """There is no operator syntax: quotes, hyphens, wildcards, statements and broken text are words or nothing."""
    search(facts, query)
    restored = facts.restore(Filters(), ME, 100, 50)
    assert len(restored.items) == len(FACTS)


def test_operators_are_plain_words(kit: Any) -> None:
    """`foo:bar -x` asks for foo, bar and x; nothing is required, excluded or looked up as a field."""
    store = kit.store()
    store.remember_many([{"content": text} for text in ("The foo tool reads the bar file.", *FACTS)], kit.me)
    assert kit.find(store, 'don\'t "AND" foo:bar -x (y*') == ["mem:1"]
    assert kit.find(store, "-foo") == ["mem:1"]
    assert kit.find(store, '"bar file')[:1] == ["mem:1"]


@given(st.text(max_size=60))
def test_any_text_can_be_asked(text: str) -> None:
    """Whatever is asked, the answer keeps its promises: ids once, ranks from 1, hits only of what stands."""
    with_store = shared_store()
    found = search(with_store, text)
    ids = [item.id for item in found.items]
    assert len(ids) == len(set(ids))
    assert [item.rank for item in found.items] == list(range(1, len(ids) + 1))
    standing = {item.id for item in found.items if item.duplicate_of is None}
    assert {hit.id for hit in found.hits} == set(found.records) == standing
    assert len({(hit.id, hit.ordinal) for hit in found.hits}) == len(found.hits)
    assert all(item.duplicate_of in standing for item in found.items if item.duplicate_of)


STORES: list[DuckStore] = []


def shared_store() -> DuckStore:
    """The twelve facts, made once for the property test."""
    if not STORES:
        STORES.append(DuckStore(":memory:"))
        STORES[0].remember_many([{"content": text} for text in FACTS], ME)
    return STORES[0]


def test_an_old_exact_fact_comes_first(kit: Any) -> None:
    """Age decides nothing: the fact of 200 days ago that says it beats fresh ones that touch it."""
    store = kit.store()
    old = kit.clock.now - timedelta(days=200)
    kit.write(store, "The wifi password of the guest network is tulip-river-9.", timestamp=old)
    for n in range(20):
        kit.write(store, f"The network of floor {n} was down for {n} minutes, guests complained.")
    assert kit.find(store, "wifi password guest network")[0] == "mem:1"


def test_each_id_comes_once_also_right_after_a_write(kit: Any) -> None:
    """Records with many matching passages, and records written a moment ago, stand once in an answer."""
    store = kit.store()
    kit.write(store, "The parser fails.\n\nThe parser is slow.\n\nThe parser is old.\n\nNobody likes the parser.")
    for n in range(5):
        kit.write(store, f"Parser ticket {n} is open.")
        ids = [item.id for item in store.candidates("parser", Filters(), kit.me, 100, 50).items]
        assert sorted(ids) == sorted({f"mem:{k}" for k in range(1, n + 3)})


# ---- filters


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scope", "nowhere"),
        ("bucket", "no such"),
        ("team_id", "red"),
        ("path", "no/path"),
        ("memory_type", "poem"),
        ("status", "closed"),
        ("source", "carrier pigeon"),
    ],
)
def test_an_unknown_filter_value_is_an_empty_answer_that_names_the_filter(facts: Any, name: str, value: str) -> None:
    """Nothing matches, no error, and the plan says which filter let nothing through, also in a restore."""
    for found in (search(facts, "office", **{name: value}), facts.restore(Filters(**{name: value}), ME, 100, 50)):
        assert found.items == ()
        assert found.plan["empty_filter"] == name


def test_times_that_let_nothing_through_are_named(facts: Any, kit: Any) -> None:
    """Bounds before or after all records name themselves."""
    assert search(facts, "office", since=kit.clock.now + timedelta(days=9999)).plan["empty_filter"] == "since"
    assert search(facts, "office", until=kit.clock.now - timedelta(days=9999)).plan["empty_filter"] == "until"


def test_filters_are_exact_and_paths_are_whole_segments(kit: Any) -> None:
    """A path covers what is below it and nothing that only begins alike; intervals are half-open."""
    store = kit.store()
    kit.write(store, "The lamp is on.", path="home/lamp")
    kit.write(store, "The lamp is green.", path="home/lamp/colour", type="fact", bucket="b", scope="s", status="open")
    kit.write(store, "The lamp is small.", path="home/lamps", source={"name": "chat"})
    kit.write(store, "The old lamp broke.", path="home/lamp", timestamp="2026-01-01")
    find = kit.find
    assert sorted(find(store, "lamp", path="home/lamp")) == ["mem:1", "mem:2", "mem:4"]
    assert find(store, "lamp", path="home/lamp/") == find(store, "lamp", path="home/lamp/%")
    assert len(find(store, "lamp", path="%")) == 4
    assert find(store, "lamp", path="home/la") == []
    for name, value in (("memory_type", "fact"), ("bucket", "b"), ("scope", "s"), ("status", "open")):
        assert find(store, "lamp", **{name: value}) == ["mem:2"]
    assert find(store, "lamp", source="chat") == ["mem:3"]
    now = kit.clock.now
    assert find(store, "lamp", until=now) == ["mem:4"]
    assert sorted(find(store, "lamp", since=now)) == ["mem:1", "mem:2", "mem:3"]
    assert "mem:1" not in find(store, "lamp", exclude_ids=("mem:1", "mem:99"))


def test_a_filter_narrows_before_any_limit(kit: Any) -> None:
    """Of many better matches elsewhere none takes the place of the one that was asked for."""
    store = kit.store()
    store.remember_many([{"content": f"tulip tulip tulip number {n}", "path": "many"} for n in range(60)], kit.me)
    kit.write(store, "One tulip stands between many other words of a long sentence.", path="one")
    found = store.candidates("tulip", Filters(path="one"), kit.me, 5, 5)
    assert [item.id for item in found.items] == ["mem:61"]


# ---- order


def test_the_same_question_has_the_same_answer(kit: Any) -> None:
    """Twice, after re-opening, after a merge, and in a copy: the same candidates, hits, scores and records."""
    store = kit.store()
    store.remember_many([{"content": text} for text in FACTS], kit.me)
    queries = ("the office in Porto", "backup database", "Tuesdays", "two reviewers and Anna", "")
    first = [store.candidates(text, Filters(), kit.me, 100, 50) for text in queries]
    assert [store.candidates(text, Filters(), kit.me, 100, 50) for text in queries] == first
    kit.close()
    store = kit.store(mode="shared")
    assert [store.candidates(text, Filters(), kit.me, 100, 50) for text in queries] == first
    store.merge()
    assert [store.candidates(text, Filters(), kit.me, 100, 50) for text in queries] == first
    copy = kit.store(kit.folder / "copy.duckdb")
    copy.import_lines(store.export(), kit.me)
    assert [copy.candidates(text, Filters(), kit.me, 100, 50) for text in queries] == first


def test_ties_are_broken_by_time_then_id(kit: Any) -> None:
    """Records that say the same in different places and are equal in score and time stand latest written first."""
    store = kit.store()
    store.remember_many([{"content": f"zebra {n}"} for n in range(30)], kit.me)
    found = store.candidates("zebra", Filters(), kit.me, 100, 50)
    assert len({item.score for item in found.items}) == 1
    assert [item.id for item in found.items] == [f"mem:{n}" for n in range(30, 0, -1)]


def test_depth_and_take_are_kept(kit: Any) -> None:
    """At most `depth` records are ranked, the best ones, and the first `take` that are no duplicates come whole."""
    store = kit.store()
    store.remember_many([{"content": f"zebra number {n} of the herd"} for n in range(30)], kit.me)
    found = store.candidates("zebra", Filters(), kit.me, 10, 4)
    assert [item.id for item in found.items] == [f"mem:{n}" for n in range(30, 20, -1)]
    assert list(found.records) == ["mem:30", "mem:29", "mem:28", "mem:27"]
    assert {hit.id for hit in found.hits} == set(found.records)
    assert found.plan["matched"] == 30


# ---- the index


def test_many_small_writes_are_merged_and_nothing_changes(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the unsorted tail grows past its share it is sorted; every search before and after gives the same."""
    store = kit.store()
    queries = ("zebra herd", "number", "stripes 7")
    for n in range(12):
        kit.write(store, f"Zebra number {n} of the herd has {n * 3} stripes.")
    before = [store.candidates(text, Filters(), kit.me, 100, 50) for text in queries]
    assert sorted_rows(store) == 0
    monkeypatch.setattr("context_packs.store.memory.postings.TAIL_ROWS", 20)
    kit.write(store, "An unrelated line about the weather.")
    assert sorted_rows(store) == all_rows(store) > 20
    kit.write(store, "Another one.")
    assert sorted_rows(store) < all_rows(store)
    store.forget(["mem:13", "mem:14"], "hard_delete", kit.me)
    assert [store.candidates(text, Filters(), kit.me, 100, 50) for text in queries] == before


def test_a_merge_in_small_ranges_keeps_every_posting(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few rows are sorted at once, all are there afterwards, in order."""
    store = kit.store()
    store.remember_many([{"content": text} for text in FACTS], kit.me)
    with store.duck.reading() as session:
        before = session.rows("FROM postings ORDER BY term, pas")
    monkeypatch.setattr("context_packs.store.memory.postings.MERGE_ROWS", 7)
    store.merge()
    with store.duck.reading() as session:
        assert session.rows("FROM postings") == before


def sorted_rows(store: DuckStore) -> int:
    with store.duck.reading() as session:
        return int(session.value("SELECT value FROM meta WHERE name = 'sorted_postings'") or 0)


def all_rows(store: DuckStore) -> int:
    with store.duck.reading() as session:
        return int(session.value("SELECT count(*) FROM postings"))
