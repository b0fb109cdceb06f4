"""So many at once, the others in the order in which they came."""

import signal
import threading

import pytest

from context_packs.store.concurrency.slots import InTurn


def test_no_more_than_the_places_and_in_order() -> None:
    """Two hold the places; four come one after the other and get one in that order, never more than two at once."""
    turns = InTurn(2)
    order: list[int] = []
    inside: list[int] = []
    go_on = [threading.Event() for _ in range(6)]
    entered = [threading.Event() for _ in range(6)]

    def work(number: int) -> None:
        with turns.place():
            order.append(number)
            inside.append(number)
            assert len(inside) <= 2
            entered[number].set()
            assert go_on[number].wait(10)
            inside.remove(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for number, thread in enumerate(threads):
        thread.start()
        if number < 2:
            assert entered[number].wait(10)
        else:
            while len(turns._waiting) < number - 1:
                thread.join(0.001)
    for number, event in enumerate(go_on):
        assert entered[number].wait(10)
        assert order == list(range(min(6, number + 2)))
        event.set()
        if number + 2 < 6:
            assert entered[number + 2].wait(10)
    for thread in threads:
        thread.join(10)
    assert (order, turns._free, len(turns._waiting)) == ([0, 1, 2, 3, 4, 5], 2, 0)


def test_a_place_is_given_back_by_whoever_fails() -> None:
    """An error inside leaves the place to the next."""
    turns = InTurn(1)
    for _ in range(3):
        with pytest.raises(ValueError, match="inside"), turns.place():
            raise ValueError("inside")
    with turns.place():
        assert turns._free == 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a signal that breaks off a wait")
def test_whoever_is_broken_off_while_waiting_takes_no_place_along() -> None:
    """An interrupt in the queue: the place goes to the next, or is free again."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    turns = InTurn(1)
    begun, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with turns.place():
            begun.set()
            go_on.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    assert begun.wait(10)
    former = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt), turns.place():
            raise AssertionError("there was no place")
    finally:
        signal.signal(signal.SIGALRM, former)
    go_on.set()
    holder.join(10)
    assert (turns._free, len(turns._waiting)) == (1, 0)
    with turns.place():
        assert turns._free == 0
