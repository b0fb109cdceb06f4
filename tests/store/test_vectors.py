"""Search by meaning beside words: vectors made, kept, looked through, fused, and done without where they fail."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from context_packs.packer import ContextPacks
from context_packs.store.duckstore import DuckStore
from context_packs.store.errors import InvalidField, StoreUnavailable
from context_packs.store.memory import reads
from context_packs.store.search import embedders
from context_packs.store.search.embedders import HashEmbedder, Vectors
from context_packs.store.search.meaning import making, nearness
from context_packs.store.search.meaning import stored as kept
from context_packs.store.values import Candidates, Filters, Viewer

MEANINGS = {
    "travel": "voyage journey trip itinerary",
    "vehicle": "automobile car truck van",
    "repair": "mend mended fix fixed patched",
    "food": "apples bread soup supper",
    "money": "invoice salary budget paid",
}
VOYAGE = "The voyage took us through three ports."


class Concepts:
    """A model in small: words of one meaning share a direction, and all other words share a weak one."""

    dimensions = len(MEANINGS) + 1

    def __init__(self, name: str = "concepts") -> None:
        self.name = name
        self.asked: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        assert all(text.strip() for text in texts)
        return np.stack([self._vector(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        self.asked.append(text)
        return self._vector(text)

    def _vector(self, text: str) -> Vectors:
        words = text.lower().replace(".", " ").replace("?", " ").split()
        counts = [sum(word in known.split() for word in words) for known in MEANINGS.values()]
        vector = np.array([*counts, 0.3], np.float32)
        return np.asarray(vector / np.linalg.norm(vector), np.float32)


class Wayward(Concepts):
    """The same, and something happens when a passage or a query is embedded."""

    def __init__(
        self,
        passages: Callable[[], object] = lambda: None,
        query: Callable[[], Any] = lambda: None,
        name: str = "concepts",
    ) -> None:
        super().__init__(name)
        self.passages, self.query = passages, query

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.passages()
        return super().embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        given = self.query()
        return super().embed_query(text) if given is None else given


def fail() -> None:
    raise RuntimeError("cannot read /secret/model.bin")


def meaning(kit: Any, **options: Any) -> DuckStore:
    """A store that knows meanings."""
    store: DuckStore = kit.store(**options)
    store.embedder = Concepts()
    return store


def embed(store: DuckStore, batch: int = making.BATCH) -> int:
    return sum(store.embed_pending(batch))


def stored(store: DuckStore, model: str = "concepts") -> dict[int, int]:
    """Number of vectors by version, the background left out."""
    with store.duck.reading() as session:
        sql = "SELECT vid, sum(count)::BIGINT FROM vectors WHERE model = $model AND vid > 0 GROUP BY vid ORDER BY vid"
        return dict(session.rows(sql, {"model": model}))


def candidates(kit: Any, store: DuckStore, text: str, viewer: Viewer | None = None, **filters: Any) -> Candidates:
    return store.candidates(text, Filters(**filters), viewer or kit.me, 100, 50)


def told(kit: Any, store: DuckStore) -> None:
    for text in (VOYAGE, "The automobile was mended on Tuesday.", "Supper was soup.", "A salary is due in June."):
        kit.write(store, text)


# ---- found by meaning


def test_a_paraphrase_is_found_that_shares_no_word(kit: Any) -> None:
    """What words cannot find vectors do, with the passage that matches; without an embedder there is no match."""
    store = meaning(kit)
    told(kit, store)
    assert embed(store) == 4
    found = candidates(kit, store, "fix my car")
    assert [item.id for item in found.items] == ["mem:2"]
    assert [(hit.id, hit.ordinal) for hit in found.hits] == [("mem:2", 0)]
    assert found.items[0].coverage == 0.0
    assert found.records["mem:2"].content == "The automobile was mended on Tuesday."
    assert found.plan["arms"] == ["bm25", "vectors"]
    assert found.plan["vectors"]["embedder"] == "concepts" and found.plan["vectors"]["passages"] == 4
    store.embedder = None
    assert candidates(kit, store, "fix my car").items == ()


@pytest.mark.parametrize("query", ["zzqqy weather on Mars", "what is the capital of Mongolia", "of the", "火星の天気"])
def test_what_has_nothing_to_do_with_the_store_is_not_found(kit: Any, query: str) -> None:
    """No match stays possible: the nearest of unrelated passages does not come in for being the nearest."""
    store = meaning(kit)
    told(kit, store)
    embed(store)
    found = candidates(kit, store, query)
    assert (found.items, found.hits, found.plan["matched"]) == ((), (), 0)


@pytest.mark.parametrize("others", [0, 1, 40])
def test_the_floor_holds_in_small_and_in_larger_stores(kit: Any, others: int) -> None:
    """One memory alone, or among many, is found for what it means and not for what it does not mean."""
    store = meaning(kit)
    kit.write(store, VOYAGE)
    for n in range(others):
        kit.write(store, f"Invoice {n} was paid.")
    embed(store)
    assert kit.find(store, "our trip") == ["mem:1"]
    assert kit.find(store, "fix a car") == []


def test_many_answers_do_not_hide_one_another(kit: Any) -> None:
    """Where most of the store is about the question all of that is found, and has a passage to show."""
    store = meaning(kit)
    for n in range(12):
        kit.write(store, f"Number {n}: {'salary' if n % 4 == 1 else 'soup'}.")
    embed(store)
    found = candidates(kit, store, "supper")
    assert sorted(item.id for item in found.items) == sorted(f"mem:{n + 1}" for n in range(12) if n % 4 != 1)
    assert sorted(hit.id for hit in found.hits) == sorted(item.id for item in found.items if not item.duplicate_of)


def test_words_and_meaning_together_stand_before_either_alone(kit: Any) -> None:
    """The record with both comes first, records with one of them follow."""
    store = meaning(kit)
    kit.write(store, "The red apples wait outside.")
    kit.write(store, "A truck waits outside.")
    kit.write(store, "The red van waits outside.")
    kit.write(store, "Salary day.")
    embed(store)
    found = kit.find(store, "red car")
    assert found[0] == "mem:3"
    assert sorted(found[1:]) == ["mem:1", "mem:2"]


def test_the_passages_that_mean_it_come_first_in_a_long_record(kit: Any) -> None:
    """Of a record without a word of the query the first steps are the short group of passages that stands out."""
    store = meaning(kit)
    plain = [f"Sentence number {n} is about nothing in particular." for n in range(40)]
    kit.write(store, " ".join([*plain[:25], "The truck was patched.", *plain[25:]]), kind="episode")
    embed(store)
    found = candidates(kit, store, "fix my automobile")
    assert [item.id for item in found.items] == ["ep:1"]
    first = [found.records["ep:1"].passages[hit.ordinal] for hit in found.hits[:8]]
    assert "The truck was patched." in {found.records["ep:1"].content[span.start : span.end].strip() for span in first}


def test_a_title_is_part_of_what_a_passage_means(kit: Any) -> None:
    """The text of a passage is embedded under the title of its record."""
    store = meaning(kit)
    kit.write(store, "It is due in June.", title="Invoice")
    kit.write(store, "It is due in May.")
    embed(store)
    assert kit.find(store, "salary") == ["mem:1"]


def test_the_same_store_and_query_give_the_same_answer(kit: Any, tmp_path: Path) -> None:
    """Scores and order are equal to the bit, also when the vectors were made in other batches and rows."""
    answers = []
    for batch in (1, 3, 256):
        store = meaning(kit, path=tmp_path / f"{batch}.duckdb")
        store.embedder = HashEmbedder()
        for n in range(20):
            kit.write(store, f"Server {n} was restarted. The disk of machine {n * 7} was full. Bread {n}.")
        embed(store, batch)
        found = [candidates(kit, store, "restarting servers with full disks") for _ in range(2)]
        assert found[0] == found[1]
        answers.append((found[0].items, found[0].hits))
    assert len(answers[0][0]) == 20
    assert answers[0] == answers[1] == answers[2]


# ---- what may be seen


def test_filters_and_owners_hold_before_anything_is_compared(kit: Any) -> None:
    """By meaning too only what is asked for and visible is found, and nothing else is compared."""
    store = meaning(kit)
    for path in ("a/b", "a/bc", "z"):
        kit.write(store, f"The voyage of {path}.", path=path)
    kit.write(store, "The team went on a journey.", team_id="red", path="z")
    kit.write(store, "A voyage of somebody else.", agent_id="other", path="z")
    embed(store)
    found = candidates(kit, store, "trip", path="a/b")
    assert [item.id for item in found.items] == ["mem:1"]
    assert found.plan["vectors"]["passages"] == 1
    assert sorted(kit.find(store, "trip")) == ["mem:1", "mem:2", "mem:3", "mem:4"]
    assert sorted(kit.find(store, "trip", exclude_ids=("mem:1", "mem:4"))) == ["mem:2", "mem:3"]
    stranger = [item.id for item in candidates(kit, store, "trip", Viewer("stranger", ("red",))).items]
    assert stranger == ["mem:4"]
    assert [item.id for item in candidates(kit, store, "trip", Viewer("other")).items] == ["mem:5"]


def test_a_filter_that_matches_nothing_is_named(kit: Any) -> None:
    """An empty answer says which filter emptied it, with vectors as without."""
    store = meaning(kit)
    told(kit, store)
    embed(store)
    assert candidates(kit, store, "our trip", path="nowhere").plan["empty_filter"] == "path"


def test_the_version_that_is_valid_is_the_one_found(kit: Any) -> None:
    """A new version hides the old one's meaning at once and has its own when it is embedded; as_of sees the old one."""
    store = meaning(kit)
    kit.write(store, VOYAGE, external_id="x")
    embed(store)
    before = kit.clock.now
    kit.clock.on(days=1)
    kit.write(store, "Soup for everybody.", external_id="x")
    assert kit.find(store, "our trip") == []
    assert kit.find(store, "bread") == []
    assert store.stats(kit.me)["pending"] == 1
    assert embed(store) == 1
    assert kit.find(store, "bread") == ["mem:1"]
    assert kit.find(store, "our trip") == []
    assert kit.find(store, "our trip", as_of=before + timedelta(hours=1)) == ["mem:1"]


def test_expired_and_superseded_records_are_not_found_and_need_no_vectors(kit: Any) -> None:
    """What is over is out on this route too; of what is over before it is embedded no vector is made."""
    store = meaning(kit)
    kit.write(store, VOYAGE, expires_at=kit.clock.now + timedelta(days=1))
    kit.write(store, "The journey was short.")
    embed(store)
    assert sorted(kit.find(store, "trip")) == ["mem:1", "mem:2"]
    kit.write(store, "The itinerary has changed.", supersedes="mem:2")
    kit.write(store, "A car for a day.", expires_at=kit.clock.now + timedelta(days=1))
    kit.clock.on(days=2)
    assert kit.find(store, "trip") == []
    assert embed(store) == 1
    assert kit.find(store, "trip") == ["mem:3"]
    assert sorted(kit.find(store, "trip", history=True)) == ["mem:2", "mem:3"]


@pytest.mark.parametrize(("mode", "left"), [("soft_delete", 1), ("hard_delete", 0), ("redact", 0)])
def test_erased_text_loses_its_vectors(kit: Any, mode: str, left: int) -> None:
    """A vector tells much of its text: where all versions are erased their vectors go too, and none is made again."""
    store = meaning(kit)
    kit.write(store, VOYAGE, external_id="x")
    embed(store)
    kit.clock.on(days=1)
    kit.write(store, "Soup.", external_id="x")
    kit.write(store, "The journey of a bystander.")
    embed(store)
    assert len(stored(store)) == 3
    store.forget(["mem:1"], mode, kit.me)
    assert len(stored(store)) == 1 + 2 * left
    assert embed(store) == 0
    assert kit.find(store, "trip") == ["mem:2"]


# ---- making vectors


def test_only_what_is_missing_is_made(kit: Any) -> None:
    """The number made is the number of passages that lacked a vector; a second time there is nothing to do."""
    store = meaning(kit)
    kit.write(store, "The first trip was in May.\n\nThe second trip was in June.\n\nThe third trip was in July.")
    assert store.stats(kit.me)["embedder"] == "concepts"
    assert store.stats(kit.me)["pending"] == 3
    assert (embed(store), embed(store)) == (3, 0)
    kit.write(store, "Four trips.")
    assert (embed(store), store.stats(kit.me)["pending"]) == (1, 0)


@pytest.mark.parametrize("batch", [1, 7, 50])
def test_breaking_off_loses_nothing_that_was_reported(kit: Any, batch: int) -> None:
    """Each batch is kept when it is reported; what comes later goes on there, also inside a long record."""
    store = meaning(kit)
    rest = "and it says so at such length that nobody would ever want to hear another one beside it, which is the aim"
    kit.write(store, " ".join(f"Sentence {n} tells of a trip, {rest}." for n in range(60)), kind="episode")
    kit.write(store, "Soup.")
    whole = store.stats(kit.me)["pending"]
    running = store.embed_pending(batch)
    first = next(running)
    running.close()
    assert first == batch
    assert sum(stored(store).values()) == batch
    counts = list(store.embed_pending(batch))
    assert max(counts) <= batch and sum(counts) == whole - batch
    assert sum(stored(store).values()) == whole


def test_two_that_embed_at_once_make_every_vector_once(kit: Any) -> None:
    """What another has done meanwhile is not written again."""
    one, other = meaning(kit, mode="shared"), meaning(kit, mode="shared")
    for n in range(10):
        kit.write(one, f"Trip {n}.")
    running = one.embed_pending(4)
    assert next(running) == 4
    assert embed(other) == 6
    assert list(running) == [0, 0]
    assert set(stored(one).values()) == {1} and len(stored(one)) == 10


def test_what_comes_in_meanwhile_is_embedded_too(kit: Any) -> None:
    """The work ends when nothing is missing, not when the first list is done."""
    store = meaning(kit)
    kit.write(store, "Trip 1.")
    running = store.embed_pending()
    assert next(running) == 1
    kit.write(store, "Trip 2.")
    assert list(running) == [1]


@pytest.mark.parametrize("mode", ["hard_delete", "redact"])
def test_text_erased_while_the_model_works_gets_no_vector(kit: Any, mode: str) -> None:
    """Between reading a text and writing its vector it may be forgotten: then nothing is written."""
    store = kit.store()
    kit.write(store, VOYAGE)
    store.embedder = Concepts()
    embed(store)
    kit.write(store, "The journey is a secret.")
    store.embedder = Wayward(lambda: store.forget(["mem:2"], mode, kit.me))
    assert list(store.embed_pending()) == [0]
    assert len(stored(store)) == 1


def test_shared_stores_see_each_other_s_vectors(kit: Any) -> None:
    """What one object embeds another that was open before finds by, and back."""
    one, other = meaning(kit, mode="shared"), meaning(kit, mode="shared")
    kit.write(one, VOYAGE)
    assert kit.find(other, "our trip") == []
    embed(one)
    assert kit.find(other, "our trip") == ["mem:1"]
    kit.write(one, "The van was fixed.")
    embed(other)
    assert kit.find(one, "repair the car") == ["mem:2"]


def test_blank_passages_have_no_vector_and_do_not_count(kit: Any) -> None:
    """The model never sees a blank text. A short blank passage shares the vector of what stands beside it."""
    store = meaning(kit)
    kit.write(store, "Soup." + "\n" * 5000 + "The bread is on the table.")
    passages = store.stats(kit.me)["passages"]
    record = store.get("mem:1", kit.me)
    blank = sum(not record.content[span.start : span.end].strip() for span in record.passages)
    assert blank > 0
    assert embed(store) == passages
    assert embed(store) == 0
    assert (passages, blank) == (17, 15)
    assert candidates(kit, store, "bread").plan["vectors"]["passages"] == 3


@pytest.mark.parametrize("text", ["語" * 50_000, "a" * 500_000, "x\x00y 👩‍👩‍👧 e\u0301", "<|endoftext|>", "ก" * 5000])
def test_hostile_texts_are_embedded_and_asked(kit: Any, text: str) -> None:
    """Every text that can be stored can be embedded, and asked for."""
    store = kit.store()
    store.embedder = HashEmbedder()
    kit.write(store, text)
    assert embed(store) == store.stats(kit.me)["passages"]
    assert kit.find(store, text) == ["mem:1"]


# ---- a process that keeps its file


def test_both_ways_of_reading_find_the_same(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered and what is read from the file give one answer, also where signs choose."""
    keeps, reads_anew = kit.store(), kit.store(mode="shared")
    for store in (keeps, reads_anew):
        store.embedder = HashEmbedder()
    for n in range(60):
        kit.write(keeps, f"Server {n} was restarted on day {n * 7 % 31}. Its disk was {n % 9} years old, and full.")
    embed(keeps)
    for exact in (8_192, 16):
        monkeypatch.setattr(nearness, "EXACT", exact)
        monkeypatch.setattr(nearness, "NEAREST", 40)
        for text in ("which server has an old disk", "restarting on day 7"):
            found = [candidates(kit, store, text) for store in (keeps, reads_anew)]
            assert found[0].items == found[1].items and found[0].hits == found[1].hits
            assert found[0].plan == found[1].plan


def test_what_is_remembered_follows_the_file(kit: Any) -> None:
    """Vectors that come and go, by this process and by another, are those of the file at once."""
    store, other = meaning(kit, mode="leased"), meaning(kit, mode="shared")
    kit.write(store, VOYAGE)
    embed(store)
    assert kit.find(store, "our trip") == ["mem:1"]
    kit.write(other, "A journey by train.")
    embed(other)
    assert sorted(kit.find(store, "our trip")) == ["mem:1", "mem:2"]
    other.forget(["mem:1"], "hard_delete", kit.me)
    assert kit.find(store, "our trip") == ["mem:2"]
    kit.write(store, "An itinerary of five days.")
    embed(store)
    assert sorted(kit.find(store, "our trip")) == ["mem:2", "mem:3"]


def test_a_second_step_is_found_by_the_first(kit: Any) -> None:
    """What the question does not name, and what was found first does, comes nearer in the second round."""
    model = Concepts()
    store = kit.store()
    store.embedder = model
    kit.write(store, "The voyage was paid by an invoice.")
    kit.write(store, "The salary budget.")
    kit.write(store, "The bread and the apples.")
    for text in ("A truck.", "A van."):
        kit.write(store, text)
    embed(store)
    question = nearness.ask(model, "our trip", model.dimensions)
    with store.duck.reading() as session:
        near = nearness.look(session, question, reads.choice(kit.me, kit.clock.now, Filters()), 100)
        vids = np.unique(near.matrix.vid[near.rows])
        first = nearness.of_versions(question, near, vids)
    _, again = nearness.look_again(question, near, vids, first.pas[:1], np.ones(1))
    assert again[1] - again[2] > first.among[1] - first.among[2] + 0.5
    assert np.argmax(again) == 0


# ---- another model, or none


def test_another_name_has_vectors_of_its_own(kit: Any) -> None:
    """Vectors of one model are never compared with those of another, and both can stand side by side."""
    store = meaning(kit)
    told(kit, store)
    embed(store)
    store.close()
    again = kit.store()
    again.embedder = Concepts("concepts-2")
    assert again.stats(kit.me)["pending"] == 4
    assert kit.find(again, "fix my car") == []
    assert embed(again) == 4
    assert kit.find(again, "fix my car") == ["mem:2"]
    assert len(stored(again)) == len(stored(again, "concepts-2")) == 4


def test_the_model_before_answers_until_the_new_one_has_seen_as_much(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another model embeds everything anew without a gap: what was found by meaning stays found meanwhile."""
    store = meaning(kit)
    for n in range(20):
        kit.write(store, f"The salary of month {n}.")
    kit.write(store, VOYAGE)
    embed(store)
    old = Concepts()
    monkeypatch.setitem(embedders.EMBEDDERS, "concepts", lambda: old)
    store.embedder = new = Concepts("concepts-2")
    running = store.embed_pending(8)
    next(running)
    found = candidates(kit, store, "our trip")
    assert [item.id for item in found.items] == ["mem:21"]
    assert (found.plan["vectors"]["embedder"], new.asked) == ("concepts", [])
    for _ in running:
        pass
    found = candidates(kit, store, "our trip")
    assert [item.id for item in found.items] == ["mem:21"]
    assert (found.plan["vectors"]["embedder"], new.asked) == ("concepts-2", ["our trip"])


def test_a_model_before_that_is_gone_is_not_missed(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not installed any more answers nothing; the new one answers with what it has."""
    store = meaning(kit)
    told(kit, store)
    embed(store)

    def gone() -> Any:
        raise ModuleNotFoundError("No module named 'concepts'")

    monkeypatch.setitem(embedders.EMBEDDERS, "concepts", gone)
    store.embedder = Concepts("concepts-2")
    assert kit.find(store, "fix my car") == []
    embed(store)
    assert kit.find(store, "fix my car") == ["mem:2"]


def test_without_an_embedder_nothing_changes(kit: Any, tmp_path: Path) -> None:
    """A store with vectors, opened without an embedder, answers like one that never had any."""
    stores = [meaning(kit, path=tmp_path / "with"), kit.store(path=tmp_path / "without")]
    for store in stores:
        told(kit, store)
    embed(stores[0])
    stores[0].embedder = None
    for query in ("the automobile on Tuesday", "soup", "fix my car", "is salary due"):
        found = [candidates(kit, store, query) for store in stores]
        assert found[0] == found[1]
        assert found[0].plan["arms"] == ["bm25"] and "vectors" not in found[0].plan
    assert list(stores[0].embed_pending()) == []
    assert (stores[0].stats(kit.me)["embedder"], stores[0].stats(kit.me)["pending"]) == (None, 0)


def test_a_model_is_not_asked_where_there_are_no_vectors(kit: Any) -> None:
    """Before anything is embedded a query costs nothing more and answers as without an embedder."""
    store, bare = kit.store(), kit.store(path=":memory:")
    store.embedder = model = Concepts()
    for one in (store, bare):
        told(kit, one)
    assert candidates(kit, store, "automobile") == candidates(kit, bare, "automobile")
    assert model.asked == []


def test_a_restore_asks_no_model(kit: Any) -> None:
    """Without a query there is nothing to compare."""
    store = kit.store()
    store.embedder = model = Concepts()
    told(kit, store)
    embed(store)
    assert len(store.restore(Filters(), kit.me, 100, 50).items) == 4
    assert model.asked == []


def test_vectors_of_single_passages_answer_until_those_of_units_stand(kit: Any) -> None:
    """A store that an older version embedded is found by its vectors; made anew, the old ones go."""
    store = meaning(kit)
    kit.write(store, "The voyage took us through three ports.\n\nThe soup was served in small cups.")
    embed(store)
    model = Concepts()
    singles = kept.pack(model.embed_passages(["The voyage took us through three ports.", "Soup was served."]))
    with store.duck.writing() as session:
        session.run("DELETE FROM vectors WHERE vid > 0")
        vid = session.value("SELECT vid FROM records")
        kept.insert(session, "concepts", [kept.Row(vid, vid + 1, None, singles)])
    assert store.stats(kit.me)["pending"] == 2
    assert kit.find(store, "our trip") == ["mem:1"]
    assert embed(store) == 2
    with store.duck.reading() as session:
        assert session.rows("SELECT count, spans FROM vectors WHERE vid > 0") == [(2, [2])]


def test_what_was_begun_under_other_rules_begins_anew(kit: Any) -> None:
    """Vectors that end inside a unit of today do not stay for good."""
    store = meaning(kit)
    kit.write(
        store, "The voyage took us through three ports.\n\nThe soup was served in small cups.\n\nThe bread was old."
    )
    embed(store)
    with store.duck.writing() as session:
        session.run("UPDATE vectors SET count = 2, spans = [2] WHERE vid > 0")
    assert embed(store) == 3
    assert stored(store) == {1: 3}


# ---- failures


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (fail, "vectors: concepts failed with RuntimeError"),
        (lambda: np.ones(3, np.float32), "vectors: concepts failed with ValueError"),
        (lambda: np.full(6, np.nan, np.float32), "vectors: concepts failed with ValueError"),
    ],
)
def test_a_model_that_fails_leaves_the_words(kit: Any, query: Callable[[], Any], reason: str) -> None:
    """The words alone answer, the plan says which arm is missing and why, and shows nothing of the model's own text."""
    store = meaning(kit)
    told(kit, store)
    embed(store)
    store.embedder = Wayward(query=query)
    found = candidates(kit, store, "the automobile")
    assert [item.id for item in found.items] == ["mem:2"]
    assert found.plan["arms"] == ["bm25"]
    assert found.plan["degraded"] == ["vectors"]
    assert found.plan["degraded_reason"] == reason
    assert candidates(kit, store, "fix my car").plan["degraded"] == ["vectors"]


def test_a_model_that_fails_while_it_embeds_keeps_what_is_done(kit: Any) -> None:
    """The failure is an error of ours with the model's chained; batches before it stay and the next run goes on."""
    store = kit.store()
    for n in range(5):
        kit.write(store, f"Trip {n}.")
    calls = iter(["background", "first", "second"])
    store.embedder = Wayward(lambda: next(calls, None) or fail())
    made = []
    with pytest.raises(StoreUnavailable) as caught:
        made.extend(iter(store.embed_pending(2)))
    assert str(caught.value) == "embedder: concepts failed with RuntimeError: what is done stays, try again"
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert len(stored(store)) == 4
    store.embedder = Concepts()
    assert embed(store) == 1


def test_a_model_of_another_size_under_the_same_name_is_refused(kit: Any) -> None:
    """Its queries go on by words alone and say so; it may not write among the vectors of the other."""
    store = meaning(kit)
    told(kit, store)
    embed(store)
    store.embedder = HashEmbedder()
    store.embedder.name = "concepts"
    found = candidates(kit, store, "soup")
    assert [item.id for item in found.items] == ["mem:3"]
    assert found.plan["degraded_reason"] == "vectors: concepts has 64 dimensions, those stored under its name 6"
    kit.write(store, "More soup.")
    with pytest.raises(InvalidField) as caught:
        embed(store)
    assert caught.value.field == "embedder"
    assert str(caught.value) == "embedder: concepts has vectors of 6 numbers here, not 64: give it a new name"


# ---- the first schema


def test_a_store_of_the_first_schema_is_migrated_in_place(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records, ids and words of a store made before there were vectors stay, and it takes vectors."""
    store = kit.store()
    told(kit, store)
    store.forget(["mem:4"], "soft_delete", kit.me)
    facts = store.stats(kit.me)
    lines = list(store.export())
    kit.age(store, 1, monkeypatch)
    store = kit.store()
    # Its index was made by an older analyser.
    assert store.stats(kit.me) | {"bytes": 0} == facts | {"bytes": 0, "reindex_due": True}
    assert list(store.export()) == lines
    assert kit.find(store, "automobile") == ["mem:2"]
    assert kit.write(store, "The fifth.").id == "mem:5"
    store.embedder = Concepts()
    assert embed(store) == 4
    assert kit.find(store, "fix my car") == ["mem:2"]


# ---- the library


def packs(kit: Any, embedder: Any = None) -> ContextPacks:
    opened = ContextPacks.open(kit.path, "planner", mode="exclusive", embedder=embedder, clock=kit.clock)
    kit.opened.append(opened)
    return opened


def test_the_library_takes_an_object_a_name_or_the_environment(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedder of one's own, one by name, by CONTEXT_PACKS_EMBEDDER, and "auto" where nothing is said."""
    assert packs(kit, Concepts()).stats()["embedder"] == "concepts"
    assert packs(kit, "test").stats()["embedder"] == "test"
    monkeypatch.delenv("CONTEXT_PACKS_EMBEDDER")
    monkeypatch.setattr(embedders, "MODELS", {})
    assert packs(kit).stats()["embedder"] is None
    monkeypatch.setenv("CONTEXT_PACKS_EMBEDDER", "test")
    assert packs(kit).stats()["embedder"] == "test"
    assert packs(kit, "none").stats()["embedder"] is None
    monkeypatch.setenv("CONTEXT_PACKS_EMBEDDER", "tset")
    with pytest.raises(InvalidField, match=r"^embedder: 'tset' is not one of auto, none, "):
        packs(kit)


def test_the_library_embeds_and_finds(kit: Any) -> None:
    """`embed_pending` gives the number made; a pack, rows, and the strict search, which wants words, follow from it."""
    one = packs(kit, Concepts())
    one.remember_many([{"content": VOYAGE}, {"content": "Supper was soup."}])
    assert one.stats()["pending"] == 2
    assert (one.embed_pending(), one.embed_pending()) == (2, 0)
    pack = one.recall_context("our trip", profile="public")
    assert pack.budget.state == "complete"
    assert f"\n {VOYAGE}" in pack.text
    assert [row.ref for row in one.recall("our trip")] == ["mem:1"]
    assert len(one.search_memory("our trip")) == 0
    assert packs(kit, "none").embed_pending() == 0


def test_a_pack_tells_that_the_model_failed(kit: Any) -> None:
    """The state is `degraded` where something was found without the model."""
    packs(kit, Concepts()).remember(VOYAGE)
    packs(kit, Concepts()).embed_pending()
    pack = packs(kit, Wayward(query=fail)).recall_context("voyage")
    assert (pack.budget.state, pack.budget.used_items) == ("degraded", 1)
    assert pack.retrieval_plan["degraded"] == ["vectors"]


# ---- numbers


floats = st.floats(-1, 1, width=32)


@given(arrays.arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 40)), elements=floats))
def test_stored_vectors_are_what_was_stored(given: Vectors) -> None:
    """One byte a number: no number is off by more than half a step of the largest."""
    made = kept.unit(given, *given.shape)
    stored = kept.pack(made)
    assert stored.dtype.itemsize == given.shape[1] + 4
    back = stored["units"].astype(np.float32) * stored["scale"][:, None]
    assert (np.abs(back - made) <= np.abs(made).max(axis=1, keepdims=True) / 127 * 0.501).all()


def test_a_cosine_is_within_half_a_hundredth(kit: Any) -> None:
    """What the store computes agrees with the dot products of the model's own vectors."""
    store = kit.store()
    store.embedder = model = HashEmbedder()
    texts = [f"Server {n % 7} restarted after {n} days of soup and bread." for n in range(30)]
    for text in texts:
        kit.write(store, text)
    embed(store)
    question = nearness.ask(model, "soup on server 3", 64)
    assert question.vector is not None
    with store.duck.reading() as session:
        near = nearness.look(session, question, reads.choice(kit.me, kit.clock.now, Filters()), 100)
    cosine = near.matrix.dots(question.vector, near.rows)
    expected = model.embed_passages(texts) @ question.vector
    assert np.abs(cosine - expected).max() < 0.005
    assert (near.matrix.vid == 0).sum() == len(kept.BACKGROUND)


@example(np.array([1.1754944e-38], dtype=np.float32))
@example(np.array([1e-45, -1e-45], dtype=np.float32))
@given(arrays.arrays(np.float32, st.integers(1, 3072), elements=floats))
def test_dot_products_are_exact(given: Vectors) -> None:
    """Whole numbers small enough that float32 holds every sum with int8, and a question that is off by little."""
    vector = kept.unit(given[None], 1, len(given))[0]
    asked, steps = kept.integers(vector)
    assert np.array_equal(asked, np.rint(asked))
    assert np.abs(asked).sum(dtype=np.float64) * 127 < 2**24
    assert np.abs(asked / steps - vector).max() <= 0.51 / steps


@pytest.mark.parametrize(("count", "best"), [(1, 0.0), (100, 3.03), (1600, 3.84), (500_000, 5.12)])
def test_the_best_of_more_unrelated_passages_stands_higher(count: int, best: float) -> None:
    """The floor rises with the number of passages compared, slowly."""
    assert round(kept.expected_best(count), 2) == best


def test_standard_scores() -> None:
    """Mean 0 and deviation 1; nothing stands out where all are equal."""
    assert kept.standard(np.array([1.0, 3.0])).tolist() == [-1.0, 1.0]
    assert kept.standard(np.full(3, 0.7)).tolist() == [0.0, 0.0, 0.0]
    assert kept.standard(np.zeros(0)).tolist() == []
