"""Whatever happened to a store: its export imports into an empty one, and exports the same there."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from context_packs.store.duckstore import DuckStore
from context_packs.store.errors import StoreError
from context_packs.store.values import Filters, Viewer

ME = Viewer("planner")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
REF = st.integers(1, 6).map("mem:{}".format)
STEP = st.one_of(
    st.fixed_dictionaries(
        {"content": st.sampled_from(["office one", "office two", "office three"])},
        optional={
            "kind": st.sampled_from(["memory", "episode"]),
            "supersedes": REF,
            "external_id": st.sampled_from(["a", "b"]),
            "idempotency_key": st.sampled_from(["k", "l"]),
            "semantic_key": st.sampled_from(["s", "t"]),
            "expires_at": st.integers(-2, 5).map(lambda days: NOON + timedelta(days=days)),
            "timestamp": st.sampled_from(["2025-01-01", "2026-03-02", "2030-01-01", "9999-12-31"]),
            "dedupe": st.booleans(),
        },
    ),
    st.tuples(st.sampled_from(["soft_delete", "hard_delete", "redact"]), REF),
    st.sampled_from([f"mem:{n}" for n in (9, 10**12, 10**15, 10**16 - 1)]),
    st.integers(1, 40),
)


def act(store: DuckStore, step: Any, clock: list[datetime]) -> None:
    """One thing that happens to a store; what is refused changes nothing."""
    try:
        if isinstance(step, dict):
            store.remember_many([step], ME)
        elif isinstance(step, tuple):
            store.forget([step[1]], step[0], ME)
        elif isinstance(step, str):
            store.import_lines([{"id": step, "content": f"island {step}"}], ME)
        else:
            clock[0] += timedelta(hours=step)
    except StoreError:
        pass


@settings(max_examples=12)
@given(st.lists(STEP, min_size=1, max_size=12), st.integers(0, 6))
def test_any_store_comes_back_from_its_export(steps: list[Any], later: int) -> None:
    """Erased, replaced, expired, redacted, dated in the future, from far away: lines, standing records and searches are
    equal, in one batch or line by line, and the lines once more add nothing."""
    clock = [NOON]
    store = DuckStore(":memory:", clock=lambda: clock[0])
    for step in steps:
        act(store, step, clock)
    lines = [json.loads(json.dumps(line)) for line in store.export()]
    clock[0] += timedelta(days=later)
    for batches in ([lines], [[line] for line in lines]):
        copy = DuckStore(":memory:", clock=lambda: clock[0])
        for batch in batches:
            copy.import_lines(batch, ME)
        assert [json.loads(json.dumps(line)) for line in copy.export()] == lines
        for filters in (Filters(), Filters(history=True), Filters(as_of=NOON)):
            assert copy.restore(filters, ME, 50, 50) == store.restore(filters, ME, 50, 50)
            assert copy.newest(filters, ME, 50) == store.newest(filters, ME, 50)
        assert not any(one.created for one in copy.import_lines(lines, ME))
        assert [json.loads(json.dumps(line)) for line in copy.export()] == lines
        copy.close()
    store.close()
