"""Search by meaning: vectors made by a command, and behind other commands for a bounded time."""

from __future__ import annotations

import os
import time

import click

from ...errors import ContextPacksError, InvalidField
from ...settings import Settings
from ..forms.extras import install_extra
from .console import Command, Globals, say, say_json

AFTER_IMPORT = 60.0  # seconds
AFTER_WRITE = 1.0
_TOLD = 2.0  # seconds between two lines on stderr
_BATCH = 16  # texts kept at once: what is broken off loses no more


@click.command(cls=Command)
@click.pass_obj
def embed(state: Globals, /) -> None:
    """Make the vectors that are missing, so that everything is found by meaning too.

    Servers and imports make them by themselves. Broken off it keeps what is done, and goes on there the next time.
    """
    with state.open() as packs:
        packs.stats()  # a store that is not there is told before a model that is not
    if Settings.from_environment().model() is None:
        way_out = f"{install_extra('semantic')}, or name an endpoint with CONTEXT_PACKS_EMBEDDER"
        raise InvalidField(f"embedder: there is no model; {way_out}", field="embedder")
    made, left = _made(state, None)
    if state.json:
        say_json({"made": made, "pending": left})
    else:
        say(f"{made} passages embedded, {left} left")


def catch_up(state: Globals, seconds: float) -> None:
    """Make what is missing once the running command has answered, for so long at most."""
    if Settings.from_environment().model() is not None:
        click.get_current_context().call_on_close(lambda: _caught_up(state, seconds))


def _caught_up(state: Globals, seconds: float) -> None:
    try:
        _, left = _made(state, seconds)
    except ContextPacksError as error:
        state.note(f"note: found by words until vectors are made: {error}")
        return
    if left:
        state.note(f"note: {left} passages are found by words until `context-packs embed` or a server has made vectors")


def _made(state: Globals, seconds: float | None) -> tuple[int, int]:
    """Make vectors; how many passages have one now, and how many wait. Tells speed and time left on stderr."""
    began = told = time.monotonic()
    made = 0
    with state.open() as packs:
        left = total = packs.stats()["pending"]
        if not total:
            return 0, 0
        workers = min(4, os.cpu_count() or 1)
        for count in packs.store.embed_pending(batch=_BATCH, workers=workers, seconds=seconds):
            made += count
            left = max(total - made, 0)
            now = time.monotonic()
            if now - told >= _TOLD:
                told = now
                speed = made / (now - began)
                state.note(f"embedding: {made} of {total} passages, {speed:.0f} a second, {_span(left, speed)} left")
    return made, left


def _span(left: int, speed: float) -> str:
    seconds = left / speed if speed else 0.0
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
