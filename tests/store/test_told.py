"""Whatever a caller gives is applied, refused or told: nothing is swallowed."""

from datetime import timedelta
from typing import Any

import pytest

from context_packs.store.errors import InvalidField, NotFound
from context_packs.store.times import parse_time


@pytest.mark.parametrize("unknown", ["mem:999", "ep:1", "thr_none"])
def test_a_repetition_that_replaces_an_unknown_record_is_refused(kit: Any, unknown: str) -> None:
    """As for a new text: the id is wrong, so the caller has to know."""
    store = kit.store(":memory:")
    kit.write(store, "The office is in Porto.")
    with pytest.raises(NotFound, match=f"supersedes: there is no record {unknown}"):
        kit.write(store, "The office is in Porto.", supersedes=unknown)


def test_a_repetition_tells_what_it_replaced(kit: Any) -> None:
    """Once; then it stands, and a record that another one replaced, or that was forgotten, is told as such."""
    store = kit.store(":memory:")
    for text in ("Berlin", "Porto", "Osaka"):
        kit.write(store, f"The office is in {text}.")

    def notes(text: str, old: str) -> tuple[str, ...]:
        told: tuple[str, ...] = kit.write(store, f"The office is in {text}.", supersedes=old).notes
        return told

    assert notes("Porto", "mem:1") == ("is stored already; it replaces mem:1 now",)
    assert notes("Porto", "mem:1") == ()
    assert notes("Porto", "mem:2") == ()
    assert notes("Osaka", "mem:1") == ("is stored already; mem:1 was replaced by another record before",)
    store.forget(["mem:1"], "hard_delete", kit.me)
    assert notes("Porto", "mem:1") == ("is stored already; mem:1 was forgotten and is not replaced",)


@pytest.mark.parametrize("ago", [timedelta(0), timedelta(seconds=1), timedelta(days=900)])
def test_what_has_expired_already_is_told(kit: Any, ago: timedelta) -> None:
    """The record is kept, and the caller hears that it will not be found."""
    store = kit.store(":memory:")
    written = kit.write(store, "Gone.", expires_at=kit.clock.now - ago)
    assert written.notes == ("has expired already: is not shown",)
    assert kit.write(store, "Here.", expires_at=kit.clock.now + timedelta(seconds=1)).notes == ()


@pytest.mark.parametrize("number", [253402300800, 253402300800.5, -253402300800, 300_000_000_000, 315_532_799_999])
def test_seconds_beyond_the_last_year_are_no_milliseconds(number: float) -> None:
    """What would be the year 10000 is refused, not taken for 1978."""
    with pytest.raises(InvalidField, match=r"timestamp: .* is not a time"):
        parse_time(number, "timestamp")
    assert parse_time(315_532_800_000, "timestamp").isoformat() == "1980-01-01T00:00:00+00:00"
