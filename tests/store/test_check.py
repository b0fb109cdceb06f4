"""The full check names every kind of damage, and a probe finds a store that takes no memory."""

from typing import Any

import pytest

from context_packs.store.errors import StoreDamaged

_MADE: dict[str, bytes] = {}


def filled(kit: Any) -> Any:
    """A store of a few records and a chain, made once."""
    if "store" in _MADE:
        kit.path.write_bytes(_MADE["store"])
    else:
        made(kit).close()
        _MADE["store"] = kit.path.read_bytes()
    return kit.store(mode="shared")


def made(kit: Any) -> Any:
    store = kit.store(mode="shared")
    store.remember_many([{"content": f"Note {n} about crane{n} and the harbour."} for n in range(50)], kit.me)
    store.chain.create_thread({"thread_id": "thr_a", "summary": "Crane repair"}, kit.me)
    store.chain.add_trigger(
        {"trigger_id": "trg_a", "thread_id": "thr_a", "source": "ci", "payload": {"log": "crane " * 50}}, kit.me
    )
    store.forget(["mem:4"], "soft_delete", kit.me)
    store.forget(["mem:5"], "hard_delete", kit.me)
    store.forget(["mem:6"], "redact", kit.me)
    return store


def bad(store: Any) -> list[tuple[str, str]]:
    return [(what, detail) for what, ok, detail in store.check() if not ok]


@pytest.mark.parametrize("mode", ["shared", "leased", "exclusive"])
def test_a_sound_store_has_no_finding(kit: Any, mode: str) -> None:
    """Also one with a chain and forgotten records, compacted and made anew; nothing is left beside it."""
    filled(kit).close()
    store = kit.store(mode=mode)
    assert bad(store) == []
    store.compact()
    store.reindex()
    assert bad(store) == []
    assert [detail for what, _, detail in store.check() if what == "agreement"] == [
        "all 52 versions of records agree with checksum, index, vectors and links"
    ]
    store.close()
    assert [path.name for path in kit.folder.iterdir() if path.suffix in (".check", ".compact", ".part")] == []


@pytest.mark.parametrize(
    ("table", "column"),
    [("counters", "next_value"), ("meta", "value"), ("postings", "term"), ("records", "content"), ("payloads", "body")],
)
def test_one_wrong_bit_is_named_with_its_block_and_columns(kit: Any, flipped: Any, table: str, column: str) -> None:
    """Whatever table it hits."""
    store = filled(kit)
    store.compact()
    store.close()
    block = flipped(kit.path, table, column)
    details = [detail for what, detail in bad(kit.store(mode="shared")) if what == "blocks"]
    assert len(details) == 1
    assert details[0].startswith(f"block {block} is damaged (")
    assert f"{table}." in details[0]


@pytest.mark.parametrize(
    ("sql", "what", "detail"),
    [
        ("UPDATE records SET content = 'else' WHERE key = 16", "records", "mem:1 version 1 has another text"),
        ("DELETE FROM postings WHERE vid = 1 AND pas = 2", "records", "mem:1 version 1 has postings"),
        ("UPDATE postings SET tf = tf + 1 WHERE vid = 1", "records", "mem:1 version 1 has postings"),
        ("INSERT INTO postings VALUES (7, 999999, 999999, 1, 1)", "postings", "rows of no version: 1"),
        ("UPDATE counters SET next_value = 5 WHERE name = 'memory'", "counters", "given out again: 1"),
        ("DELETE FROM counters WHERE name = 'passage'", "counters", "numbers that are missing: 1"),
        ("INSERT INTO records FROM records WHERE key = 16", "records", "two rows with one number: 1"),
        ("UPDATE payloads SET size = size + 1", "payloads", "another size than is said: 1"),
        ("INSERT INTO links VALUES (16, 99999, 'about', 0, 'planner', now()::TIMESTAMP)", "links", "not there: 1"),
        ("INSERT INTO vectors VALUES (999999, 1, 'm', 1, 'abc'::BLOB, NULL)", "vectors", "rows of no version: 1"),
    ],
)
def test_what_does_not_agree_is_a_finding(kit: Any, sql: str, what: str, detail: str) -> None:
    """A text that was changed, an index with too little or too much, numbers that would be used again."""
    store = filled(kit)
    with store.duck.writing() as session:
        session.run(sql)
    found = bad(store)
    assert [told for told, said in found if told == what and detail in said] == [what], found


def test_reindex_puts_the_index_right(kit: Any) -> None:
    """Whatever was taken out of it or put in; records stay to the letter."""
    store = filled(kit)
    lines = list(store.export())
    with store.duck.writing() as session:
        session.run("DELETE FROM postings WHERE vid % 3 = 1")
        session.run("INSERT INTO postings VALUES (7, 999999, 999999, 1, 1)")
        session.run("UPDATE records SET print_low = 7, bounds = [3, 9], passages = 2 WHERE key = 16")
    assert bad(store) != []
    store.reindex()
    assert bad(store) == []
    assert list(store.export()) == lines
    assert kit.find(store, "crane0 harbour")[0] == "mem:1"
    assert kit.write(store, "one more").id == "mem:51"


@pytest.mark.parametrize(
    ("table", "column"), [("counters", "next_value"), ("records", "key"), ("records", "content"), ("postings", "term")]
)
def test_a_probe_finds_a_store_that_takes_no_memory(kit: Any, flipped: Any, table: str, column: str) -> None:
    """One wrong bit in what a write or a search reads."""
    store = filled(kit)
    store.compact()
    store.probe()
    store.close()
    flipped(kit.path, table, column)
    with pytest.raises(StoreDamaged):
        kit.store(mode="shared").probe()


@pytest.mark.parametrize("mode", ["shared", "leased", "exclusive"])
def test_a_probe_leaves_nothing(kit: Any, mode: str) -> None:
    """No row, no number."""
    filled(kit).close()
    store = kit.store(mode=mode)
    tables = ("records", "postings", "counters", "meta")

    def rows() -> list[Any]:
        with store.duck.reading() as session:
            return [sorted(map(repr, session.rows("FROM query_table($t)", {"t": table}))) for table in tables]

    before = rows()
    for _ in range(3):
        store.probe()
    assert rows() == before
    assert kit.write(store, "after").id == "mem:51"


def test_a_log_that_belongs_to_another_state_is_refused(kit: Any) -> None:
    """A backup put back beside the log of a later state: no read or write mixes the two."""
    store = filled(kit)
    copy = kit.folder / "copy.duckdb"
    store.backup(str(copy))
    for n in range(3):
        kit.write(store, f"later {n}")
    store.close()
    held = kit.store(mode="exclusive")
    kit.write(held, "only in the log")
    log = kit.path.with_name("memory.duckdb.wal").read_bytes()
    assert log
    kit.close()
    kit.path.write_bytes(copy.read_bytes())
    kit.path.with_name("memory.duckdb.wal").write_bytes(log)
    with pytest.raises(StoreDamaged, match="log"):
        kit.write(kit.store(mode="shared"), "a write")
    assert kit.path.read_bytes() == copy.read_bytes()
    assert any("log" in detail for _, detail in bad(kit.store(mode="shared")))
