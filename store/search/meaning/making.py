"""Making the vectors that are missing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidField, StoreError, StoreUnavailable
from ...file.duck import Duck, Session, query
from ...records import Span
from ...times import utc
from ..embedders import Embedder, Vectors
from .stored import BACKGROUND, Row, dimensions_of, insert, layout, pack, unit
from .units import Text, units_of, wording

BATCH = 64  # texts of one call of the embedder and one transaction
_ROW_BYTES = 16 * 1024  # DuckDB reads 2,048 rows at a time: 32 MB
_AHEAD = 512  # versions read at once


@dataclass(frozen=True, slots=True)
class _Job:
    """Consecutive units of version `vid` from passage `start` (0-based) on: passages of each, and what is embedded."""

    vid: int
    start: int
    spans: list[int]
    texts: list[str]


def pending(session: Session, model: str, now: datetime) -> int:
    """Number of passages that lack a vector."""
    return sum(passages - done for _, passages, done in _pending(session, model, now))


def embed_pending(
    duck: Duck, embedder: Embedder, clock: Callable[[], datetime], batch: int = BATCH, workers: int = 1
) -> Iterator[int]:
    """Make the missing vectors, the number of passages after each batch; what is done stays when it is broken off.

    No transaction is open while the model works, `workers` calls of it at once. Raises InvalidField where the store has
    vectors of another size under this name, StoreUnavailable where the model fails.
    """
    name = embedder.name
    dimensions = _prepared(duck, embedder)
    per_row = max(1, _ROW_BYTES // (dimensions + 4))
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(workers)) if workers > 1 else None
        progress = True
        while progress:  # again for what came in meanwhile
            progress = False
            with duck.reading() as session:
                todo = _pending(session, name, clock())
            for jobs in _batches(duck, name, todo, per_row, batch):
                stored = _stored(embedder, dimensions, [text for job in jobs for text in job.texts], pool, workers)
                with duck.writing(records=False) as session:
                    count = _keep(session, name, jobs, stored, clock())
                progress = progress or count > 0
                yield count


def _prepared(duck: Duck, embedder: Embedder) -> int:
    """The size of the model's vectors, once its background stands in the store."""
    name = embedder.name
    dimensions = _size(embedder)
    with duck.reading() as session:
        found = dimensions_of(session, name)
    if not found:
        background = pack(_embedded(embedder, dimensions, BACKGROUND))
        with duck.writing(records=False) as session:
            found = dimensions_of(session, name)
            if not found:
                insert(session, name, [Row(0, 1, None, background)])
                found = dimensions
    if found != dimensions:
        raise InvalidField(
            f"embedder: {name[:40]} has vectors of {found} numbers here, not {dimensions}: give it a new name",
            field="embedder",
        )
    return dimensions


def _pending(
    session: Session, model: str, now: datetime, vids: Sequence[int] | None = None
) -> list[tuple[int, int, int]]:
    """Version, passages, passages done; of some versions or of all."""
    params: dict[str, Any] = {"model": model, "now": utc(now)}
    if vids is None:
        return session.rows(query("pending"), params)
    return session.rows(query("pending", frozenset({"some"})), {**params, "vids": list(vids)})


def _batches(
    duck: Duck, model: str, todo: Sequence[tuple[int, int, int]], per_row: int, batch: int
) -> Iterator[list[_Job]]:
    """Jobs with at most `batch` texts together, and `per_row` each."""
    jobs: list[_Job] = []
    room = batch
    for at in range(0, len(todo), _AHEAD):
        with duck.reading() as session:
            texts = _texts(session, [vid for vid, _, _ in todo[at : at + _AHEAD]])
        for vid, _, done in todo[at : at + _AHEAD]:
            if vid not in texts:  # it was erased since
                continue
            text = texts[vid]
            sizes = units_of(text)
            edges = [0, *accumulate(sizes)]
            if done not in edges:  # begun under other rules: once more from the beginning
                with duck.writing(records=False) as session:
                    session.run(query("older_vectors"), {"model": model, "vids": [vid]})
                done = 0
            first = edges.index(done)
            while first < len(sizes):
                last = min(first + min(per_row, room), len(sizes))
                words = [wording(text, start, end) for start, end in pairwise(edges[first : last + 1])]
                jobs.append(_Job(vid, edges[first], sizes[first:last], words))
                room -= last - first
                first = last
                if not room:
                    yield jobs
                    jobs, room = [], batch
    if jobs:
        yield jobs


def _texts(session: Session, vids: Sequence[int]) -> dict[int, Text]:
    found = {}
    for vid, title, content, bounds, speakers in session.rows(query("texts"), {"vids": list(vids)}):
        voices = json.loads(speakers) if speakers else [""] * len(bounds)
        edges = zip([0, *bounds[:-1]], bounds, voices, strict=True)
        spans = [Span(n, start, end, speaker=speaker) for n, (start, end, speaker) in enumerate(edges)]
        found[vid] = Text(title, content, spans)
    return found


def _size(embedder: Embedder) -> int:
    try:
        return embedder.dimensions
    except StoreError:
        raise
    except Exception as error:  # a model may raise anything
        raise _failed(embedder, error) from error


def _embedded(embedder: Embedder, dimensions: int, texts: Sequence[str]) -> Vectors:
    try:
        return unit(embedder.embed_passages(texts), len(texts), dimensions)
    except StoreError:
        raise
    except Exception as error:  # a model may raise anything
        raise _failed(embedder, error) from error


def _failed(embedder: Embedder, error: Exception) -> StoreUnavailable:
    message = f"embedder: {embedder.name[:40]} failed with {type(error).__name__}: what is done stays, try again"
    return StoreUnavailable(message, field="embedder")


def _stored(
    embedder: Embedder, dimensions: int, texts: Sequence[str], pool: ThreadPoolExecutor | None, workers: int
) -> NDArray[np.void]:
    stored = np.zeros(len(texts), layout(dimensions))
    stored["scale"] = np.nan  # of those that are blank
    told = [n for n, text in enumerate(texts) if text]
    if not told:
        return stored
    if pool is None:
        stored[told] = pack(_embedded(embedder, dimensions, [texts[n] for n in told]))
        return stored
    shares = [told[k::workers] for k in range(min(workers, len(told)))]
    parts = pool.map(lambda share: _embedded(embedder, dimensions, [texts[n] for n in share]), shares)
    for share, part in zip(shares, parts, strict=True):
        stored[share] = pack(part)
    return stored


def _keep(session: Session, model: str, jobs: Sequence[_Job], stored: NDArray[np.void], now: datetime) -> int:
    """Write what is still wanted: a version may have been forgotten, or done by somebody else, since it was read."""
    left = {vid: (passages, done) for vid, passages, done in _pending(session, model, now, _vids(jobs))}
    rows: list[Row] = []
    whole: list[int] = []
    at = 0
    for job in jobs:
        passages, done = left.get(job.vid, (0, -1))
        if done == job.start:
            rows.append(Row(job.vid, job.vid + 1 + job.start, job.spans, stored[at : at + len(job.spans)]))
            left[job.vid] = passages, done + sum(job.spans)
            whole += [job.vid] if done + sum(job.spans) == passages else []
        at += len(job.spans)
    insert(session, model, rows)
    if whole:  # those of an older form have answered until now
        session.run(query("older_vectors", frozenset({"single"})), {"model": model, "vids": whole})
    return sum(row.passages for row in rows)


def _vids(jobs: Sequence[_Job]) -> list[int]:
    return sorted({job.vid for job in jobs})
