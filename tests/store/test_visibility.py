"""One rule decides what a viewer sees, on every way to read."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from context_packs.packer import ContextPacks
from context_packs.store.errors import NotFound
from context_packs.store.values import Viewer

# Every way to read: (packs, id, word of its text, filters) -> whether that text was seen.
Read = Callable[[ContextPacks, str, str, dict[str, Any]], bool]
QUERY = "what stands"  # every text has it, so that all that may be seen comes


def texts(rows: Iterable[Any]) -> str:
    return " ".join(row.content for row in rows)


def packed(packs: ContextPacks, query: str, filters: dict[str, Any]) -> str:
    pack = packs.recall_context(query, max_items=50, max_tokens=12000, profile="kernel", **filters)
    return " ".join([*(item.content or "" for item in pack.items), str(pack.decisions)])


def by_get(packs: ContextPacks, one: str, word: str, filters: dict[str, Any]) -> bool:
    try:
        return word in packs.get(one).content
    except NotFound as error:
        assert word not in str(error)
        return False


QUERIES: dict[str, Read] = {
    "recall": lambda packs, one, word, filters: word in texts(packs.recall(QUERY, 200, **filters)),
    "search": lambda packs, one, word, filters: word in texts(packs.search_memory(QUERY, 200, **filters)),
    "list": lambda packs, one, word, filters: word in texts(packs.search_memory("*", 200, **filters)),
    "recall of nothing": lambda packs, one, word, filters: word in texts(packs.recall("", 200, **filters)),
    "pack": lambda packs, one, word, filters: word in packed(packs, QUERY, filters),
    "restore": lambda packs, one, word, filters: word in packed(packs, "", filters),
}
BY_ID: dict[str, Read] = {
    "get": by_get,
    "get_contents": lambda packs, one, word, filters: word in texts(packs.get_contents([one]).records),
}
OTHERS: dict[str, Read] = {
    "export": lambda packs, one, word, filters: word in " ".join(line["content"] for line in packs.export_lines()),
    "stats": lambda packs, one, word, filters: f"type-{word}" in packs.stats()["types"],
}


@dataclass
class Case:
    """A record `one` with the word `word` in it, who looks and how, and what they may see."""

    one: str
    word: str
    query: bool  # through searches, lists and packs
    by_id: bool
    export: bool
    stats: bool
    viewer: Viewer = field(default_factory=lambda: Viewer("planner"))
    filters: dict[str, Any] = field(default_factory=dict)


def everything(kit: Any) -> dict[str, Case]:
    """One store with a record in every state, and each state's cases."""
    store = kit.store()
    cases: dict[str, Case] = {}

    def write(word: str, **fields: Any) -> str:
        return str(kit.write(store, f"The {word} stands here.", type=f"type-{word}", **fields).id)

    early = kit.clock.now
    own, shared = write("heron"), write("otter", team_id="red")
    passing, passing_shared = write("midge", bucket="temporary"), write("gnat", bucket="temporary", team_id="red")
    foreign = store.remember_many([{"content": "The viper stands here.", "type": "type-viper"}], Viewer("spy"))[0].id
    soft, hard, redacted = write("badger"), write("weasel"), write("marten")
    expiring, lasting = (write(word, expires_at=early + timedelta(days=n)) for word, n in (("hamster", 2), ("toad", 3)))
    replaced, grown = write("falcon"), write("salmon", external_id="fish")
    replaced_then = kit.clock.on(days=1)
    write("eagle", supersedes=replaced)
    write("trout", external_id="fish")
    store.forget([soft], "soft_delete", kit.me)
    store.forget([hard], "hard_delete", kit.me)
    store.forget([redacted], "redact", kit.me)
    now = kit.clock.on(days=1)  # the very moment at which the hamster expires
    before = now - timedelta(microseconds=1)
    red, blue, spy = Viewer("scout", ("green", "red")), Viewer("scout", ("blue",)), Viewer("spy")
    lasting_only, red_lasting_only = Viewer("planner", (), False), Viewer("scout", ("green", "red"), False)

    def case(name: str, one: str, word: str, seen: str, viewer: Viewer = kit.me, **filters: Any) -> None:
        """`seen`: letters of query, id, export, stats."""
        cases[name] = Case(one, word, "q" in seen, "i" in seen, "e" in seen, "s" in seen, viewer, filters)

    case("own", own, "heron", "qies")
    case("own, as of its beginning", own, "heron", "qies", as_of=early)
    case("own, as of just before", own, "heron", "ies", as_of=early - timedelta(microseconds=1))
    case("own, with history", own, "heron", "qies", history=True)
    case("own, to another agent", own, "heron", "", spy)
    case("own, to another agent, in history", own, "heron", "", spy, history=True, as_of=early)
    case("own, to a team member", own, "heron", "", red)
    case("foreign", foreign, "viper", "")
    case("foreign, to its owner", foreign, "viper", "qies", spy)
    case("of a team, to its owner", shared, "otter", "qies")
    case("of a team, to a member", shared, "otter", "qis", red)
    case("of a team, to a member, as of then", shared, "otter", "qis", red, as_of=early)
    case("of a team, to another team", shared, "otter", "", blue)
    case("of a team, to an agent called like the team", shared, "otter", "", Viewer("red"))
    case("of no team, to a viewer of the team without a name", own, "heron", "", Viewer("scout", ("",)))
    case("own, without the right to temporary ones", own, "heron", "qies", lasting_only)
    case("of a team, to a member without that right", shared, "otter", "qis", red_lasting_only)
    case("temporary", passing, "midge", "qies")
    case("temporary, by its bucket", passing, "midge", "qies", bucket="temporary")
    case("temporary, without the right", passing, "midge", "", lasting_only)
    case("temporary, without the right, by its bucket", passing, "midge", "", lasting_only, bucket="temporary")
    case("temporary, without the right, with history", passing, "midge", "", lasting_only, history=True)
    case("temporary, without the right, as of then", passing, "midge", "", lasting_only, as_of=early)
    case("temporary of a team, to a member", passing_shared, "gnat", "qis", red)
    case("temporary of a team, to a member without the right", passing_shared, "gnat", "", red_lasting_only)
    case("temporary of a team, to another team", passing_shared, "gnat", "", blue)
    case("soft deleted", soft, "badger", "e")
    case("soft deleted, as of before", soft, "badger", "e", as_of=early, history=True)
    case("hard deleted", hard, "weasel", "")
    case("hard deleted, as of before", hard, "weasel", "", as_of=early, history=True)
    case("redacted, its type still counted", redacted, "marten", "s")
    case("redacted, as of before", redacted, "marten", "s", as_of=early, history=True)
    case("expired at this moment", expiring, "hamster", "e")
    case("expired, with history", expiring, "hamster", "e", history=True)
    case("expired, as of this moment", expiring, "hamster", "e", as_of=now)
    case("expired, as of just before", expiring, "hamster", "qe", as_of=before)
    case("not yet expired", lasting, "toad", "qies")
    case("not yet expired, as of that moment", lasting, "toad", "ies", as_of=now + timedelta(days=1))
    case("replaced", replaced, "falcon", "ie")
    case("replaced, with history", replaced, "falcon", "qie", history=True)
    case("replaced, as of just before", replaced, "falcon", "qie", as_of=replaced_then - timedelta(microseconds=1))
    case("replaced, as of that moment", replaced, "falcon", "ie", as_of=replaced_then)
    case("replaced, to another agent, with history", replaced, "falcon", "", spy, history=True)
    case("an old version", grown, "salmon", "e")
    case("an old version, with history", grown, "salmon", "e", history=True)
    case("an old version, as of just before", grown, "salmon", "qe", as_of=replaced_then - timedelta(microseconds=1))
    case("an old version, as of that moment", grown, "salmon", "e", as_of=replaced_then)
    case("a new version", grown, "trout", "qies")
    case("a new version, as of that moment", grown, "trout", "qies", as_of=replaced_then)
    case("a new version, as of just before", grown, "trout", "ies", as_of=replaced_then - timedelta(microseconds=1))
    return cases


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, kits: Any) -> Any:
    """The store with every state, opened once."""
    kit = kits(tmp_path_factory.mktemp("visibility"))
    yield kit, everything(kit)
    kit.close()


def test_every_read_follows_the_one_rule(filled: Any) -> None:
    """Every state × every way to read: searches, lists, packs, restores, ids, counts and exports agree."""
    kit, cases = filled
    wrong = []
    for name, case in cases.items():
        opened = kit.packs(case.viewer.agent_id, *case.viewer.teams)
        packs = opened.seen_by(case.viewer)
        expected = {
            **dict.fromkeys(QUERIES, case.query),
            **dict.fromkeys(BY_ID, case.by_id),
            "export": case.export,
            "stats": case.stats,
        }
        # An id, a count and an export say how things are now; `as_of` and `history` are asked of queries.
        reads = {**QUERIES, **BY_ID, **OTHERS}
        found = {way: read(packs, case.one, case.word, case.filters) for way, read in reads.items()}
        wrong += [f"{name}: {way} is {found[way]}" for way in expected if found[way] != expected[way]]
        opened.close()
    assert wrong == []


def test_every_state_has_both_answers(filled: Any) -> None:
    """The matrix asks for sight and for its absence on every way to read."""
    _, cases = filled
    for way in ("query", "by_id", "export", "stats"):
        assert {getattr(case, way) for case in cases.values()} == {True, False}


def test_no_error_tells_that_a_foreign_record_is_there(filled: Any) -> None:
    """Foreign, deleted and expired records of others answer like ids that never were: on get, get_contents, forget."""
    kit, cases = filled
    stranger = kit.packs("stranger", "yellow")
    answers = set()
    for one in {case.one for case in cases.values()} | {"mem:999", "ep:1"}:
        for act in (stranger.get, lambda ref: stranger.forget(ref, "redact"), stranger.forget):
            with pytest.raises(NotFound) as error:
                act(one)
            assert type(error.value) is NotFound
            answers.add(str(error.value).replace(one, "ID"))
        assert stranger.get_contents([one]).missing == (one,)
    assert answers == {"id: there is no record ID"}
    assert stranger.stats()["records"] == 0
    assert list(stranger.export_lines()) == []


def test_two_clocks_that_differ_show_no_record_twice(kit: Any) -> None:
    """A reader whose clock is behind the writer's sees the new version and the successor, and them only."""
    store = kit.store()
    kit.write(store, "The harbour opens at six.", external_id="harbour")
    kit.write(store, "The office is in Berlin.")
    kit.clock.on(hours=1)
    kit.write(store, "The harbour opens at seven.", external_id="harbour")
    kit.write(store, "The office is in Porto.", supersedes="mem:2")
    kit.clock.on(minutes=-90)
    assert kit.find(store, "harbour opens six seven") == ["mem:1"]
    assert kit.find(store, "office") == ["mem:3"]
    assert store.get("mem:1", kit.me).content == "The harbour opens at seven."
    assert store.stats(kit.me)["records"] == 2
