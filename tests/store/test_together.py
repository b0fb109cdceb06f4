"""Calls that come at the same time are answered by one, each with its own answer."""

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from context_packs.store.concurrency.coalesce import Together
from context_packs.store.errors import Gone, NotFound
from context_packs.store.values import Viewer


def test_who_comes_while_others_are_answered_is_answered_next_together() -> None:
    """One call is being answered, five more come: they are one batch, and each has its own answer."""
    batches: list[list[int]] = []
    begun, go_on = threading.Event(), threading.Event()

    def answer(keys: Sequence[int]) -> dict[int, int]:
        batches.append(sorted(keys))
        begun.set()
        assert go_on.wait(10)
        return {key: key * 10 for key in keys}

    together = Together(answer)
    answers: dict[int, int] = {}

    def ask(key: int) -> None:
        answers[key] = together.ask(key)

    first = threading.Thread(target=ask, args=(1,))
    first.start()
    assert begun.wait(10)
    others = [threading.Thread(target=ask, args=(key,)) for key in (2, 3, 4, 5, 5)]
    for other in others:
        other.start()
    while len(together._waiting) < 5:
        begun.wait(0.001)
    go_on.set()
    for thread in (first, *others):
        thread.join(10)
    assert batches == [[1], [2, 3, 4, 5]]
    assert answers == {1: 10, 2: 20, 3: 30, 4: 40, 5: 50}


def test_an_error_reaches_everybody_and_the_next_call_tries_again() -> None:
    """What the answering raises is raised for the caller; nothing is stuck behind it."""
    wrong = [True]

    def answer(keys: Sequence[str]) -> dict[str, str]:
        if wrong[0]:
            raise OSError("the file is away")
        return {key: key.upper() for key in keys}

    together = Together(answer)
    with pytest.raises(OSError, match="away"):
        together.ask("a")
    wrong[0] = False
    assert together.ask("a") == "A"


def test_a_call_that_was_broken_off_leaves_nobody_without_an_answer() -> None:
    """An interrupt of the one who answers for all: the others ask again themselves."""
    seen: list[list[str]] = []

    def answer(keys: Sequence[str]) -> dict[str, str]:
        seen.append(list(keys))
        if len(seen) == 1:
            other = threading.Thread(target=lambda: got.append(together.ask("b")))
            other.start()
            threads.append(other)
            while not together._waiting:
                other.join(0.001)
            raise KeyboardInterrupt
        return {key: key.upper() for key in keys}

    got: list[str] = []
    threads: list[threading.Thread] = []
    together = Together(answer)
    with pytest.raises(KeyboardInterrupt):
        together.ask("a")
    threads[0].join(10)
    assert (seen, got) == ([["a"], ["b"]], ["B"])


@pytest.mark.parametrize("mode", ["shared", "exclusive"])
def test_many_threads_get_each_its_own_record_or_its_own_error(kit: Any, mode: Any) -> None:
    """Owner, stranger, deleted, unknown and malformed at once: the answers are those that each gets alone."""
    store = kit.store(mode=mode)
    store.remember_many([{"content": f"record {n}"} for n in range(1, 21)], kit.me)
    store.forget(["mem:20"], "soft_delete", kit.me)
    wrong: list[str] = []

    def read(offset: int) -> None:
        for n in range(1, 23):
            one = f"mem:{(n + offset) % 22 + 1}"
            number = int(one[4:])
            try:
                said = store.get(one, kit.me).content
            except (Gone, NotFound) as error:
                said = type(error).__name__
            expected = "Gone" if number == 20 else "NotFound" if number > 20 else f"record {number}"
            if said != expected:
                wrong.append(f"{one}: {said}")
            try:
                store.get(one, Viewer("stranger"))
                wrong.append(f"{one} is read by a stranger")
            except Gone:
                wrong.append(f"{one} is gone to a stranger")
            except NotFound:
                continue

    threads = [threading.Thread(target=read, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []
