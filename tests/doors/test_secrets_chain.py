"""Secrets on the way into threads, triggers and workers."""

import pytest

from context_packs.packer import ContextPacks
from context_packs.packer.errors import InvalidField

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_what_is_shown_and_searched_of_the_chain_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Summaries, tasks and reports; of a payload all that is searched, while its bytes stay as they came."""
    monkeypatch.setenv("CONTEXT_PACKS_SECRETS", "mask")
    with ContextPacks.open(":memory:", embedder="none") as packs:
        thread = packs.threads.create(f"Deploy with {KEY}").id
        trigger = packs.threads.add_trigger(thread, "ci", payload={"note": f"deployed by token={KEY}"}).id
        told = packs.threads.add_trigger(thread, "ci", summary=f"Key {KEY} was used").id
        worker = packs.threads.create_worker(f"Turn {KEY} off", [thread]).id
        packs.threads.report(worker, f"{KEY} is off", [trigger])
        shown = [packs.get(one).content for one in (thread, trigger, told, worker)]
        assert all("[secret:github-token]" in text and KEY not in text for text in shown)
        assert packs.threads.get_trigger(told).summary == "Key [secret:github-token] was used"
        assert KEY.encode() in packs.threads.payload(trigger).body


def test_a_summary_with_a_secret_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where secrets are refused, each field of the chain names itself."""
    monkeypatch.setenv("CONTEXT_PACKS_SECRETS", "refuse")
    with ContextPacks.open(":memory:", embedder="none") as packs:
        with pytest.raises(InvalidField, match=r"^summary: holds what looks like a secret"):
            packs.threads.create(f"Deploy with {KEY}")
        with pytest.raises(InvalidField, match=r"^task: holds what looks like a secret"):
            packs.threads.create_worker(f"Turn {KEY} off")
