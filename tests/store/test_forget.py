"""What is forgotten is gone: from every read, and where it is erased from every version, index and export."""

import json
from datetime import timedelta
from typing import Any

import pytest

from context_packs.store.duckstore import DuckStore
from context_packs.store.errors import Gone, InvalidField, NotFound
from context_packs.store.memory.erasure import MODES
from context_packs.store.search.embedders import HashEmbedder
from context_packs.store.values import Filters, Viewer

SECRET = "The password of the vault is swordfish."
PLACES = ("swordfish", "pikeperch", "sturgeon", "barracuda", "haddock")


def hidden(kit: Any, store: Any) -> None:
    """mem:1 in two versions, with one of the words in text, old text, title, source and metadata."""
    kit.write(store, "The password of the vault is pikeperch.", external_id="vault")
    kit.clock.on(hours=1)
    kit.write(
        store,
        SECRET,
        external_id="vault",
        title="About sturgeon",
        source={"name": "barracuda"},
        metadata={"tags": ["haddock"]},
    )
    kit.write(store, "A bystander stays.")


def postings(store: Any, key: int = 16) -> int:
    with store.duck.reading() as session:
        sql = "SELECT count(*) FROM postings WHERE vid IN (SELECT vid FROM records WHERE key = $key)"
        return int(session.value(sql, {"key": key}))


@pytest.mark.parametrize("mode", MODES)
def test_no_query_finds_what_was_forgotten(kit: Any, mode: str) -> None:
    """Neither now nor as of before, with or without history, by text, title or old text; the rest is untouched."""
    store = kit.store()
    hidden(kit, store)
    before = kit.clock.now
    assert [done.id for done in store.forget(["mem:1"], mode, kit.me)] == ["mem:1"]
    kit.clock.on(hours=1)
    for filters in ({}, {"history": True}, {"as_of": before}, {"as_of": before - timedelta(minutes=30)}):
        for word in PLACES:
            assert kit.find(store, word, **filters) == []
        found = store.restore(Filters(**filters), kit.me, 100, 50)
        assert "swordfish" not in str(found.records) and "pikeperch" not in str(found.records)
    assert kit.find(store, "bystander") == ["mem:2"]


@pytest.mark.parametrize("mode", ["hard_delete", "redact"])
def test_erased_text_is_nowhere(kit: Any, mode: str) -> None:
    """After an erasure no table, version or export holds the text, title, source or metadata; nor the index."""
    store = kit.store()
    hidden(kit, store)
    assert postings(store) > 0
    store.forget(["mem:1"], mode, kit.me)
    assert postings(store) == 0
    assert postings(store, key=32) > 0
    lines = json.dumps(list(store.export()))
    with store.duck.reading() as session:
        rows = str([session.rows("FROM records"), session.rows("FROM meta"), session.rows("FROM counters")])
    for word in PLACES:
        assert word not in lines
        assert word not in rows
    assert "bystander" in lines


@pytest.mark.parametrize("mode", ["hard_delete", "redact"])
def test_vectors_of_erased_text_are_erased(kit: Any, mode: str) -> None:
    """A vector tells about its text, so it goes with it."""
    store = DuckStore(kit.path, mode="exclusive", clock=kit.clock, embedder=HashEmbedder())
    kit.opened.append(store)
    hidden(kit, store)
    assert sum(store.embed_pending()) == 2
    store.forget(["mem:1"], mode, kit.me)
    with store.duck.reading() as session:
        left = session.rows("SELECT DISTINCT key FROM vectors JOIN records USING (vid)")
    assert left == [(32,)]


def test_soft_deletion_keeps_the_text_for_the_owners_export(kit: Any) -> None:
    """A soft deletion can be undone by hand: the export of the owner, and only it, still has every version."""
    store = kit.store()
    hidden(kit, store)
    store.forget(["mem:1"], "soft_delete", kit.me)
    mine = [line for line in store.export(kit.me) if line["id"] == "mem:1"]
    assert [line["content"] for line in mine] == ["The password of the vault is pikeperch.", SECRET]
    assert all(line["forgotten"] == "soft_delete" and line["deleted_at"] for line in mine)
    assert list(store.export(Viewer("other"))) == []


def test_a_soft_deleted_record_can_still_be_erased(kit: Any) -> None:
    """Hard after soft erases the text and keeps the first time of deletion; hard after hard is gone."""
    store = kit.store()
    hidden(kit, store)
    deleted = kit.clock.now
    store.forget(["mem:1"], "soft_delete", kit.me)
    kit.clock.on(days=1)
    store.forget(["mem:1"], "hard_delete", kit.me)
    assert "swordfish" not in str(list(store.export()))
    assert {line["deleted_at"] for line in store.export() if line["id"] == "mem:1"} == {deleted.isoformat()}
    with pytest.raises(Gone):
        store.forget(["mem:1"], "hard_delete", kit.me)
    with pytest.raises(Gone):
        store.forget(["mem:1"], "redact", kit.me)


def test_a_redacted_record_stays_readable_without_its_text(kit: Any) -> None:
    """Id, place, type and times stay; the text is replaced; it can still be deleted."""
    store = kit.store()
    hidden(kit, store)
    before = store.get("mem:1", kit.me)
    store.forget(["mem:1"], "redact", kit.me)
    after = store.get("mem:1", kit.me)
    assert (after.content, after.title, after.source, after.metadata) == ("[redacted]", "", {}, {})
    assert (after.path, after.type, after.created_at, after.version) == (
        before.path,
        before.type,
        before.created_at,
        before.version,
    )
    assert [(span.start, span.end) for span in after.passages] == [(0, 10)]
    store.forget(["mem:1"], "soft_delete", kit.me)
    with pytest.raises(Gone):
        store.get("mem:1", kit.me)


def test_the_owner_learns_that_it_is_gone_and_nobody_else(kit: Any) -> None:
    """Gone to the owner; to the rest, team members too, the id was never there, in the same words."""
    store = kit.store()
    kit.write(store, "for the team", team_id="red")
    store.forget(["mem:1"], "hard_delete", kit.me)
    with pytest.raises(Gone, match=r"^id: record mem:1 was deleted$"):
        store.get("mem:1", kit.me)
    for viewer in (Viewer("other"), Viewer("mate", ("red",))):
        for act in (lambda: store.get("mem:1", viewer), lambda: store.forget(["mem:1"], "redact", viewer)):  # noqa: B023
            with pytest.raises(NotFound, match=r"^id: there is no record mem:1$") as error:
                act()
            assert type(error.value) is NotFound


def test_only_the_owner_forgets(kit: Any) -> None:
    """A team member who may read a record cannot delete it."""
    store = kit.store()
    kit.write(store, "for the team", team_id="red")
    mate = Viewer("mate", ("red",))
    assert store.get("mem:1", mate).content == "for the team"
    with pytest.raises(NotFound):
        store.forget(["mem:1"], "soft_delete", mate)
    assert store.get("mem:1", kit.me).content == "for the team"


def test_all_or_none_are_forgotten(kit: Any) -> None:
    """One id that cannot be forgotten leaves the others as they are; an unknown mode names its field."""
    store = kit.store()
    for n in range(3):
        kit.write(store, f"record {n}")
    store.forget(["mem:3"], "soft_delete", kit.me)
    for ids, error in ((["mem:1", "mem:9"], NotFound), (["mem:1", "mem:3"], Gone), (["mem:1", "x"], InvalidField)):
        with pytest.raises(error):
            store.forget(ids, "soft_delete", kit.me)
    with pytest.raises(InvalidField, match=r"^mode: 'shred' is not one of soft_delete, hard_delete, redact") as caught:
        store.forget(["mem:1"], "shred", kit.me)
    assert caught.value.field == "mode"
    assert store.stats(kit.me)["records"] == 2
    assert len(store.forget(["mem:1", "mem:2"], "hard_delete", kit.me)) == 2
    assert store.stats(kit.me)["records"] == 0


def test_forgetting_survives_a_restart(kit: Any) -> None:
    """Deletion is in the file, not in memory."""
    store = kit.store()
    hidden(kit, store)
    store.forget(["mem:1"], "hard_delete", kit.me)
    kit.close()
    with pytest.raises(Gone):
        kit.store().get("mem:1", kit.me)


def test_an_erasure_after_a_merge_keeps_the_index_whole(kit: Any) -> None:
    """Erasing sorted postings leaves every other record as findable as before."""
    store = kit.store()
    hidden(kit, store)
    store.merge()
    kit.write(store, "Another bystander came later.")
    store.forget(["mem:1"], "hard_delete", kit.me)
    store.merge()
    assert kit.find(store, "bystander") == ["mem:2", "mem:3"]
