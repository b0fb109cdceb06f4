"""Near-duplicates fold behind the record that stands for them; facts never do."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.store.text.duplicates import fingerprint, fold, signature_of
from context_packs.store.values import Filters

REWORDINGS = {
    "word order": (
        "The deploy script runs every night on the old build server.",
        "Every night the deploy script runs on the old build server.",
    ),
    "filler": (
        "The deploy script runs every night on the old build server.",
        "Note that the deploy script just runs every night on the old build server, you know.",
    ),
    "case and marks": (
        "the deploy script runs every night on the build server",
        "The deploy script runs every night, on the build server!",
    ),
    "inflection": (
        "The deploy script runs every night on the build server.",
        "The deploy scripts are running every night on the build servers.",
    ),
    "one more detail": (
        "The deploy script runs every night on the old build server.",
        "The deploy script runs every night on the old build server in the cellar.",
    ),
    "japanese": (
        "デプロイ用スクリプトは毎晩、古いビルドサーバーで動きます。",
        "毎晩、デプロイ用スクリプトは古いビルドサーバーで動きます。",
    ),
    "japanese with a detail": (
        "会議は毎週火曜日の朝に大阪の事務所で開かれます。",
        "会議は毎週火曜日の朝に大阪の事務所で開かれますので注意。",
    ),
}
FACTS = {
    "restriction after": ("Alice may approve refunds.", "Alice may approve refunds after manager review."),
    "restriction only": ("Redis was removed.", "Redis was removed from staging only."),
    "stopped": ("The user drinks coffee in the morning.", "The user stopped drinking coffee in the morning."),
    "order of names": ("Alice reports to Bob in the billing team.", "Bob reports to Alice in the billing team."),
    "sign": ("Offset in the config is 5 degrees", "Offset in the config is -5 degrees"),
    "number": (
        "The deploy script runs at 2 every night on the old build server.",
        "The deploy script runs at 3 every night on the old build server.",
    ),
    "number added": (
        "The deploy script runs every night on the old build server.",
        "The deploy script runs every night on the old build server 7.",
    ),
    "version": (
        "The old build server still runs release v1.2.3 of the deploy script.",
        "The old build server still runs release v1.2.4 of the deploy script.",
    ),
    "name": (
        "The deploy script of Anna runs every night on the old build server.",
        "The deploy script of Berta runs every night on the old build server.",
    ),
    "name at the start": (
        "Anna likes the quiet room near the old build server.",
        "Berta likes the quiet room near the old build server.",
    ),
    "name added": (
        "The deploy script runs every night on the old build server.",
        "The deploy script runs every night on the old build server in Porto.",
    ),
    "negation": (
        "The deploy script does run every night on the old build server.",
        "The deploy script does not run every night on the old build server.",
    ),
    "negation, short": (
        "The deploy script can run on the old build server.",
        "The deploy script can't run on the old build server.",
    ),
    "never": (
        "The deploy script runs on the old build server at night.",
        "The deploy script never runs on the old build server at night.",
    ),
    "one word": (
        "The deploy script is enabled on the old build server at night.",
        "The deploy script is disabled on the old build server at night.",
    ),
    "city": (
        "The office is in Berlin.",
        "The office is in Porto.",
    ),
    "two people of one name": (
        "Maria Silva runs the bakery in the old town.",
        "Maria Costa runs the bakery in the old town.",
    ),
    "japanese number": (
        "会議は毎週火曜日の朝9時に大阪の事務所で開かれます。",
        "会議は毎週火曜日の朝8時に大阪の事務所で開かれます。",
    ),
    "japanese city": (
        "会議は毎週火曜日の朝に大阪の事務所で開かれます。",
        "会議は毎週火曜日の朝に京都の事務所で開かれます。",
    ),
    "japanese company": ("担当はA社で、納期は月曜です。", "担当はB社で、納期は月曜です。"),
    "japanese name in a long text": (
        "来期の計画について田中さんと話し、新しい倉庫の場所、運送会社との契約、冬の間の人員の配置、機械の点検の日程、そして予算の上限を確かめた。",
        "来期の計画について山田さんと話し、新しい倉庫の場所、運送会社との契約、冬の間の人員の配置、機械の点検の日程、そして予算の上限を確かめた。",
    ),
    "japanese day": (
        "会議は毎週火曜日の朝に大阪の事務所で開かれます。",
        "会議は毎週水曜日の朝に大阪の事務所で開かれます。",
    ),
    "japanese negation": (
        "会議は毎週火曜日の朝に大阪の事務所で開かれます。",
        "会議は毎週火曜日の朝に大阪の事務所で開かれません。",
    ),
    "japanese negation, plain": (
        "この設定は本番環境で有効にする。",
        "この設定は本番環境で有効にしない。",
    ),
}


def prints_of(signatures: Sequence[bytes]) -> Any:
    """Fingerprints int64[n, 2] of sets of keys."""
    prints = [fingerprint(np.frombuffer(one, dtype="<i8")) for one in signatures]
    return np.array(prints, dtype=np.int64).reshape(-1, 2)


def folds(a: str, b: str) -> bool:
    """Whether one of the texts folds behind the other."""
    signatures = [signature_of("", a), signature_of("", b)]
    prints = prints_of(signatures)
    answer = fold(prints, lambda indices: {index: signatures[index] for index in indices})
    assert answer in ([None, None], [None, 0], [1, None])
    return answer != [None, None]


@pytest.mark.parametrize("kind", REWORDINGS)
def test_rewordings_fold(kind: str) -> None:
    """Two wordings of one fact, neither with a fact of its own, are one, whichever comes first."""
    a, b = REWORDINGS[kind]
    assert folds(a, b)
    assert folds(b, a)


@pytest.mark.parametrize("kind", FACTS)
def test_facts_stay(kind: str) -> None:
    """A number, a name, a negation or one word in place of another keeps two records apart."""
    a, b = FACTS[kind]
    assert not folds(a, b)
    assert not folds(b, a)


def test_long_texts_fold_only_when_they_are_the_same() -> None:
    """Above 1,000 characters one differing character keeps texts apart; outer blanks do not count."""
    text = "The deploy script runs every night on the old build server. " * 20
    assert len(text) > 1000
    assert folds(text, text)
    assert folds(text, f"  {text}\n")
    assert not folds(text, text + "Again.")
    assert not folds(text, text.replace("old", "new", 1))


def test_the_fingerprint_lets_rewordings_through() -> None:
    """Of sets of keys that share 60 % and more, hardly any pair is lost before the exact check."""
    draw = np.random.default_rng(1)
    lost = 0
    for n in range(300):
        shared, more = 6 + n % 25, (6 + n % 25) // 2
        keys = (draw.integers(-(2**63), 2**63 - 1, size=shared + more) & ~1).astype("<i8")
        sides = {0: keys[:shared].tobytes(), 1: keys.tobytes()}
        prints = prints_of(list(sides.values()))
        lost += fold(prints, lambda _, sides=sides: sides) == [None, None]  # type: ignore[misc]
    assert lost <= 3


def test_texts_without_words_fold_with_nothing() -> None:
    """Records of stop words or marks alone say nothing, so nothing stands for them."""
    assert not folds("It is what it is.", "It was what it was.")
    assert not folds("!!!", "...")


@given(st.lists(st.text(alphabet="ab cd1N. ", max_size=40), max_size=12))
def test_every_duplicate_names_a_record_that_stands(texts: list[str]) -> None:
    """Whatever the texts: what stands for a record is another one and stands itself."""
    signatures = [signature_of("", text) for text in texts]
    prints = prints_of(signatures)
    answer = fold(prints, lambda indices: {index: signatures[index] for index in indices})
    assert len(answer) == len(texts)
    for index, other in enumerate(answer):
        assert other is None or (other != index and answer[other] is None)


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("The user is allergic to peanuts.", "The user is allergic to peanuts and shellfish."),
        ("The deploy script runs every night.", "The deploy script runs every night, on the build server."),
    ],
)
def test_the_fuller_record_stands(less: str, more: str) -> None:
    """Of two that are alike the one that says more stands, whichever ranks first."""
    for texts, expected in (([less, more], [1, None]), ([more, less], [None, 0])):
        signatures = [signature_of("", text) for text in texts]
        assert fold(prints_of(signatures), lambda _, keys=signatures: dict(enumerate(keys))) == expected  # type: ignore[misc]


# ---- in the store


def test_three_rewordings_take_one_place(kit: Any) -> None:
    """Of three wordings of one fact one comes into the pack, the others are reported as its duplicates."""
    packs = kit.packs()
    for text in (
        "The deploy script runs every night on the old build server.",
        "Every night the deploy script runs on the old build server.",
        "On the old build server, the deploy script runs every night.",
        "The deploy script needs the key of the release manager.",
        "A failed deploy is reported in the channel of the script authors.",
    ):
        packs.remember(text)
    pack = packs.recall_context("deploy script", max_items=3)
    shown = [item.id for item in pack.items]
    assert len(set(shown) & {"mem:1", "mem:2", "mem:3"}) == 1
    assert {"mem:4", "mem:5"} < set(shown)
    standing = next(one for one in shown if one in ("mem:1", "mem:2", "mem:3"))
    duplicates = {d.id: d.duplicate_of for d in pack.decisions if d.reason == "duplicate"}
    assert duplicates == {one: standing for one in ("mem:1", "mem:2", "mem:3") if one != standing}
    assert pack.budget.state == "complete"


@pytest.mark.parametrize("kind", FACTS)
def test_contradicting_facts_both_reach_the_pack(kit: Any, kind: str) -> None:
    """Two facts that differ in one thing are both shown: nothing decides between them but a replacement."""
    a, b = FACTS[kind]
    packs = kit.packs()
    packs.remember(a)
    packs.remember(b)
    pack = packs.recall_context(a)
    assert sorted(item.id for item in pack.items) == ["mem:1", "mem:2"]


def test_a_restore_folds_too(kit: Any) -> None:
    """What a session starts with holds each fact once."""
    store = kit.store()
    kit.write(store, "The deploy script runs every night on the old build server.")
    kit.write(store, "Every night the deploy script runs on the old build server.", path="elsewhere")
    found = store.restore(Filters(), kit.me, 100, 50)
    assert sorted((item.duplicate_of is None) for item in found.items) == [False, True]
    assert len(found.records) == 1


def test_a_duplicate_is_no_hit(kit: Any) -> None:
    """Passages of duplicates are not offered, so that they take no step; their candidates say who stands for them."""
    store = kit.store()
    kit.write(store, "The deploy script runs every night on the old build server.")
    kit.write(store, "Every night the deploy script runs on the old build server.")
    found = store.candidates("deploy script", Filters(), kit.me, 100, 50)
    standing, duplicate = (item for item in found.items)
    assert (standing.duplicate_of, duplicate.duplicate_of) == (None, standing.id)
    assert {hit.id for hit in found.hits} == {standing.id} == set(found.records)
