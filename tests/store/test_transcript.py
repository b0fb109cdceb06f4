"""Sessions: talk before tools, the answer with its prompt; series and long payloads."""

from datetime import timedelta
from typing import Any

from context_packs.store.search.payload import matters
from context_packs.store.search.ranking.series import series
from context_packs.store.search.transcript import session_of, shown_first
from context_packs.store.values import Filters, Hit

NOISE = "\n".join(
    f'Tool Bash: {{"command": "make valve {n}"}}\nResult: valve {n} compiled, valve {n} linked' for n in range(40)
)
SESSION = f"""User: The valve build is slow, find out why.
Assistant: I look at the makefile first.
{NOISE}
Assistant: The cache was off since March; switched on, it takes nine seconds.
User: Good, commit it.
Assistant: Committed. Still open: the same cache on the build server."""


def test_talk_comes_before_tool_output(kit: Any) -> None:
    """However many words of the question the output has, the reply is the second thing after the prompt."""
    store = kit.store()
    kit.write(store, SESSION, kind="episode")
    found = store.candidates("why was the valve build slow?", Filters(), kit.me, 100, 8)
    record = found.records["ep:1"]
    session = session_of(record)
    assert session is not None
    order = [hit.ordinal for hit in found.hits]
    said = [record.content[record.passages[n].start : record.passages[n].end].strip() for n in order[:2]]
    assert said[0].startswith("User: The valve build")
    assert "The cache was off" in said[1]
    tools = [place for place, n in enumerate(order) if session.tool[n]]
    assert min(tools) > max(place for place, n in enumerate(order) if not session.tool[n])


def test_a_restore_shows_prompt_result_and_open_ends_of_a_session(kit: Any) -> None:
    """No tool output before talk."""
    store = kit.store()
    kit.write(store, SESSION, kind="episode", title="Slow valve build")
    found = store.restore(Filters(), kit.me, 100, 8)
    record = found.records["ep:1"]
    shown = "".join(
        record.content[record.passages[h.ordinal].start : record.passages[h.ordinal].end] for h in found.hits
    )
    assert shown.index("find out why") < shown.index("Still open: the same cache")
    assert "switched on, it takes nine seconds" in shown
    assert "make valve" not in shown
    assert all(isinstance(hit, Hit) for hit in found.hits)


def test_a_conversation_without_tools_is_no_session(kit: Any) -> None:
    """Chats of people keep their order."""
    store = kit.store()
    kit.write(store, "Ann: When?\nBo: At noon.\nAnn: Fine.", kind="episode")
    record = store.get("ep:1", kit.me)
    assert session_of(record) is None
    assert shown_first(record) is None


def test_records_of_a_series_are_told_by_what_they_share() -> None:
    """Numbers, dates and one name apart they are the same; facts of the same form are not."""
    assert series(["Report 12: all green on 2026-03-01.", "Report 9: all green on 2026-02-27.", "The roof leaks."]) == [
        None,
        0,
        None,
    ]
    assert series(["点検記録12：異常なし、鍵を戻した。", "点検記録9：異常なし、鍵を戻した。", "屋根が漏る。"]) == [
        None,
        0,
        None,
    ]
    assert series(["Ann likes tea.", "Bo likes coffee."]) == [None, None]
    assert series([]) == []


def test_a_restore_shows_the_newest_of_a_series(kit: Any) -> None:
    """Thirty reports leave room for the one decision; the others are named as its duplicates."""
    store = kit.store()
    for n in range(30):
        day = kit.clock.now - timedelta(days=n + 1)
        kit.write(store, f"Shift {n}: read the meters, nothing unusual, locked up.", kind="episode", timestamp=day)
    kit.write(store, "We keep the old boiler until May.", type="decision", timestamp=kit.clock.now - timedelta(days=60))
    kit.write(store, "Snapshot of everything", type="restart_snapshot")
    found = store.restore(Filters(), kit.me, 100, 8)
    assert [item.id for item in found.items if item.duplicate_of is None] == ["mem:1", "ep:1"]
    assert {item.duplicate_of for item in found.items} == {None, "ep:1"}


def test_of_a_long_payload_faults_and_the_end_are_shown(kit: Any) -> None:
    """A line of a form that stands there a hundred times says nothing."""
    packs = kit.packs()
    thread = packs.threads.create("Nightly import").id
    lines = [f"[{n:04}] row {n} of the import read, 0 errors" for n in range(300)]
    lines[150] = "FAIL row 150: the customs code is missing"
    trigger = packs.threads.add_trigger(
        thread, "ci", summary="Import red", payload="\n".join([*lines, "import ends"])
    ).id
    record = packs.get(trigger)
    few = matters(record)
    assert few is not None
    shown = [record.content[record.passages[n].start : record.passages[n].end].strip() for n in few]
    assert shown[0].startswith("Import red")
    assert "FAIL row 150: the customs code is missing" in shown[1]
    assert "import ends" in shown[2]
    assert len(shown) < 8
    assert matters(packs.get(thread)) is None


def test_text_without_a_letter_or_digit_is_never_shown(kit: Any) -> None:
    """It can be no answer, and a session need not start with it."""
    store = kit.store()
    for text in ("。", "…!?", "---"):
        kit.write(store, text)
    assert kit.find(store, "。") == []
    assert store.restore(Filters(), kit.me, 100, 8).items == ()


def test_thanks_at_the_end_are_no_result(kit: Any) -> None:
    """What became of a session is its last words of matter, with the ones before where they are short."""
    store = kit.store()
    tools = "\n".join(f'Tool Bash: {{"command": "make {n}"}}\nResult: kiln {n} idle' for n in range(9))
    talk = (
        f"User: The kiln trips its fuse.\n{tools}\nAssistant: The coil was cracked, a new one holds 1,100 degrees.\n"
        f"{tools}\n"
        "Assistant: Still open: the fuse box hums.\nUser: thanks a lot\nAssistant: You're welcome.\n"
        "User: ok, commit it\nAssistant: Committed."
    )
    kit.write(store, talk, kind="episode")
    record = store.get("ep:1", kit.me)
    rounds = shown_first(record)
    assert rounds is not None
    first = "".join(record.content[record.passages[n].start : record.passages[n].end] for n in rounds[0])
    assert first.split("\n")[:3] == [
        "User: The kiln trips its fuse.",
        "Assistant: The coil was cracked, a new one holds 1,100 degrees.",
        "Assistant: Still open: the fuse box hums.",
    ]
    assert "welcome" not in first
