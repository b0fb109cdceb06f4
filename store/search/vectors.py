"""Vectors of passages: made where they are missing, looked through for a query, and fused with the scores of words.

Similarities are cosines. What counts is never a cosine itself, as models lie in bands of their own, but how far it
stands, in standard deviations, above a background of fixed texts that have nothing to do with any question (is there
an answer at all?) and above the other passages at hand (which is best?).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidField, StoreError, StoreUnavailable
from ..file.duck import Duck, Session, query
from ..memory.reads import Where
from ..times import utc
from .embedders import Embedder, Vectors

if TYPE_CHECKING:
    from .ranking.scoring import Ranked, Scores

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BATCH = 256  # passages of one call of the embedder and one transaction
_ROW_BYTES = 16 * 1024  # DuckDB reads 2,048 rows at a time: 32 MB
_FETCH = 200  # rows taken over at a time
_BLOCK = 512  # vectors turned into floats at a time: they stay in the cache of the processor
_EXACT = 2**24  # below it float32 holds every integer
_SPREAD = 0.01  # differences of a cosine below it tell nothing
# Several languages, as texts of one language are near each other in most models.
BACKGROUND = (
    "The train to the coast leaves at nine.",
    "She painted the kitchen door dark green.",
    "Error 404: the page was not found.",
    "Please send me the invoice by Friday.",
    "Our cat sleeps on the windowsill.",
    "Water boils at one hundred degrees.",
    "He finished second in the chess tournament.",
    "The meeting has been moved to room twelve.",
    "I forgot my umbrella on the bus again.",
    "The function returns an empty list when nothing matches.",
    "They are planning a trip to the mountains in August.",
    "The museum is closed on Mondays.",
    "My sister plays the violin in an orchestra.",
    "Stir the soup until it thickens.",
    "The server was restarted after the update.",
    "What time does the pharmacy open?",
    "駅前の本屋は八時に閉まります。",
    "昨日は雨だったので、家で映画を見ました。",
    "新しい設定はまだ保存されていません。",
    "会議は三階の部屋に変わりました。",
    "妹は市の楽団でバイオリンを弾いています。",
    "この関数は見つからないと空のリストを返す。",
    "猫は窓辺で眠っている。",
    "請求書を金曜日までに送ってください。",
    "水は百度で沸騰する。",
    "山の上には雪が残っていた。",
    "試合は引き分けに終わった。",
    "薬局は何時に開きますか。",
    "这家餐厅的面条很好吃。",
    "我把雨伞忘在公共汽车上了。",
    "Der Bericht ist noch nicht fertig.",
    "Le jardin est plein de fleurs au printemps.",
    "El partido terminó en empate.",
    "회의 자료를 내일까지 준비해 주세요.",
)


@dataclass(frozen=True, slots=True)
class Fusion:
    """Weights of the vector arm."""

    previous: float = 0.4  # share of the similarity of the passage before
    following: float = 0.3  # share of the similarity of the passage after
    weight: float = 1.0  # of the standard score of vectors beside that of words
    margin: float = 1.0  # by how much a passage must stand above the best of as many unrelated ones to be an answer
    passage: float = 1.0  # standard deviations above all passages that make one of a chosen record a step of its own


DEFAULT_FUSION = Fusion()


@dataclass(frozen=True, slots=True)
class Question:
    """A query as a model sees it: `vector` float32[d] of length 1, or the `fault` why there is none, in one line."""

    model: str
    vector: Vectors | None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Near:
    """How near the passages that may be seen are to a question.

    `pas` int64[n] ascending; float64[n] each: `above` the background and `among` the passages, in standard deviations,
    and `smooth`, the latter with the neighbours; `vids` the versions with a passage above `floor`, best first.
    """

    pas: Ints
    above: Floats
    among: Floats
    smooth: Floats
    vids: Ints
    floor: float


# ---- vectors as stored


def layout(dimensions: int) -> np.dtype[np.void]:
    """One stored vector, d + 4 bytes: scale × units; a scale of NaN where the passage is blank."""
    return np.dtype([("scale", "<f4"), ("units", "i1", (dimensions,))])


def pack(vectors: Vectors) -> NDArray[np.void]:
    """float32[n, d] → [n] as stored. The error of a cosine is below 0.005 and typically 0.0005 (d = 384)."""
    stored = np.zeros(len(vectors), layout(vectors.shape[1]))
    scale = np.abs(vectors).max(axis=1) / np.float32(127)
    stored["scale"] = scale
    stored["units"] = np.rint(vectors / np.where(scale > 0, scale, 1)[:, None])
    return stored


def unit(vectors: object, count: int, dimensions: int) -> Vectors:
    """What a model gave, checked, as float32[count, d] of length 1 or 0; raises ValueError."""
    found = np.asarray(vectors, dtype=np.float32)
    if found.shape != (count, dimensions):
        raise ValueError(f"gave an array of shape {found.shape} where {(count, dimensions)} was due")
    if not np.isfinite(found).all():
        raise ValueError("gave a number that is not finite")
    # In float64: squares of numbers near the least float32 would be 0, and the vector neither of length 1 nor 0.
    length = np.linalg.norm(found.astype(np.float64), axis=1, keepdims=True)
    return (found / np.where(length > 0, length, 1)).astype(np.float32)


# ---- making what is missing


@dataclass(frozen=True, slots=True)
class _Job:
    """Passages `start` to `stop` (0-based, half-open) of a version."""

    vid: int
    start: int
    stop: int


def dimensions_of(session: Session, model: str) -> int:
    """d of the stored vectors of a model; 0 where there are none."""
    size = session.value(
        "SELECT octet_length(vectors) // count FROM vectors WHERE vid = 0 AND model = $model LIMIT 1", {"model": model}
    )
    return int(size) - 4 if size else 0


def pending(session: Session, model: str, now: datetime) -> int:
    """Number of passages that lack a vector."""
    return sum(passages - done for _, passages, done in _pending(session, model, now))


def embed_pending(duck: Duck, embedder: Embedder, clock: Callable[[], datetime], batch: int) -> Iterator[int]:
    """Make the missing vectors, the number of passages after each batch; what is done stays when it is broken off.

    No transaction is open while the model works. Raises InvalidField where the store has vectors of another size
    under this name, StoreUnavailable where the model fails.
    """
    name, dimensions = embedder.name, embedder.dimensions
    with duck.reading() as session:
        found = dimensions_of(session, name)
    if not found:
        background = pack(_embedded(embedder, BACKGROUND))
        with duck.writing() as session:
            found = dimensions_of(session, name)
            if not found:
                _insert(session, name, [(0, 1, background)])
                found = dimensions
    if found != dimensions:
        raise InvalidField(
            f"embedder: {name[:40]} has vectors of {found} numbers here, not {dimensions}: give it a new name",
            field="embedder",
        )
    progress = True
    while progress:  # again for what came in meanwhile
        progress = False
        with duck.reading() as session:
            todo = _pending(session, name, clock())
        for jobs in _batches(todo, max(1, _ROW_BYTES // (dimensions + 4)), batch):
            with duck.reading() as session:
                texts = _texts(session, jobs)
            stored = _stored(embedder, texts)
            with duck.writing() as session:
                count = _keep(session, name, jobs, stored, clock())
            progress = progress or count > 0
            yield count


def _pending(
    session: Session, model: str, now: datetime, vids: Sequence[int] | None = None
) -> list[tuple[int, int, int]]:
    """Version, passages, passages done; of some versions or of all."""
    params: dict[str, Any] = {"model": model, "now": utc(now)}
    if vids is None:
        return session.rows(query("pending"), params)
    return session.rows(query("pending", frozenset({"some"})), {**params, "vids": list(vids)})


def _batches(todo: Sequence[tuple[int, int, int]], per_row: int, batch: int) -> Iterator[list[_Job]]:
    jobs: list[_Job] = []
    room = batch
    for vid, passages, done in todo:
        while done < passages:
            size = min(per_row, room, passages - done)
            jobs.append(_Job(vid, done, done + size))
            done += size
            room -= size
            if not room:
                yield jobs
                jobs, room = [], batch
    if jobs:
        yield jobs


def _texts(session: Session, jobs: Sequence[_Job]) -> list[str]:
    """What is embedded of each passage: its text, under the title of its record; "" where it is blank."""
    rows = session.rows(query("texts"), {"vids": sorted({job.vid for job in jobs})})
    texts = {vid: (title, content, [0, *bounds]) for vid, title, content, bounds in rows}
    found: list[str] = []
    for job in jobs:
        title, content, edges = texts[job.vid]
        for start, end in pairwise(edges[job.start : job.stop + 1]):
            text = content[start:end].strip()
            found.append(f"{title}\n{text}" if title and text else text)
    return found


def _embedded(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    try:
        return unit(embedder.embed_passages(texts), len(texts), embedder.dimensions)
    except StoreError:
        raise
    except Exception as error:  # a model may raise anything
        raise StoreUnavailable(
            f"embedder: {embedder.name[:40]} failed with {type(error).__name__}: what is done stays, try again",
            field="embedder",
        ) from error


def _stored(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.void]:
    told = np.array([bool(text) for text in texts])
    stored = np.zeros(len(texts), layout(embedder.dimensions))
    stored["scale"] = np.nan
    if told.any():
        stored[told] = pack(_embedded(embedder, [text for text in texts if text]))
    return stored


def _keep(session: Session, model: str, jobs: Sequence[_Job], stored: NDArray[np.void], now: datetime) -> int:
    """Write what is still wanted: a version may have been forgotten, or done by somebody else, since it was read."""
    wanted = {vid: done for vid, _, done in _pending(session, model, now, sorted({job.vid for job in jobs}))}
    rows = []
    at = count = 0
    for job in jobs:
        size = job.stop - job.start
        if wanted.get(job.vid) == job.start:
            rows.append((job.vid, job.vid + 1 + job.start, stored[at : at + size]))
            wanted[job.vid] += size
            count += size
        at += size
    _insert(session, model, rows)
    return count


def _insert(session: Session, model: str, rows: Sequence[tuple[int, int, NDArray[np.void]]]) -> None:
    if rows:
        columns = {
            "vid": [vid for vid, _, _ in rows],
            "pas": [pas for _, pas, _ in rows],
            "count": [len(part) for _, _, part in rows],
            "vectors": [part.tobytes() for _, _, part in rows],
        }
        session.run(query("insert_vectors"), {"model": model, **columns})


# ---- looking


def ask(embedder: Embedder, text: str, dimensions: int) -> Question:
    """A query as vector; a model that fails is told in `fault`, as the words alone can still answer.

    `dimensions` is that of the stored vectors.
    """
    name = embedder.name
    try:
        own = embedder.dimensions
        if dimensions != own:
            fault = f"vectors: {name[:40]} has {own} dimensions, those stored under its name {dimensions}"
            return Question(name, None, fault)
        found = np.asarray(embedder.embed_query(text), dtype=np.float32)
        return Question(name, unit(found[None], 1, dimensions)[0])
    except StoreError as error:
        return Question(name, None, f"vectors: {str(error).removeprefix('embedder: ')}")
    except Exception as error:  # a model may raise anything; its words may name paths, so only its kind is told
        return Question(name, None, f"vectors: {name[:40]} failed with {type(error).__name__}")


def look(session: Session, question: Question, where: Where, depth: int, fusion: Fusion = DEFAULT_FUSION) -> Near:
    """Similarity of the question to every passage that may be seen and is asked for; at most `depth` records."""
    vid, pas, similarity = _similarities(session, question, where)
    background = np.sort(similarity[vid == 0])
    floor = expected_best(len(similarity)) + fusion.margin
    order = np.argsort(pas, kind="stable")
    order = order[vid[order] > 0]
    vid, pas, similarity = vid[order], pas[order], similarity[order]
    if not len(pas):
        return Near(pas, similarity, similarity, similarity, vid, floor)
    above = (similarity - background.mean()) / max(float(background.std()), _SPREAD)
    among = standard(similarity)
    smooth = among.copy()
    beside = np.flatnonzero(np.diff(pas) == 1)  # passages of two records are never consecutive
    smooth[beside + 1] += fusion.previous * among[beside]
    smooth[beside] += fusion.following * among[beside + 1]
    first = np.flatnonzero(np.diff(vid, prepend=-1))
    best = np.maximum.reduceat(above, first)
    high = np.flatnonzero(best >= floor)
    high = high[np.lexsort((vid[first][high], -best[high]))][:depth]
    return Near(pas, above, among, smooth, vid[first][high], floor)


def arm(session: Session, question: Question, where: Where, depth: int, plan: dict[str, Any]) -> Near | None:
    """`look`, told in the plan: `vectors` (embedder, passages compared, floor), or `degraded` with its reason."""
    if question.vector is None:
        plan |= {"degraded": ["vectors"], "degraded_reason": question.fault}
        return None
    near = look(session, question, where, depth)
    plan["arms"] = [*plan["arms"], "vectors"]
    plan["vectors"] = {"embedder": question.model, "passages": len(near.pas), "floor": round(near.floor, 3)}
    return near


def _similarities(session: Session, question: Question, where: Where) -> tuple[Ints, Ints, Floats]:
    """Version, passage and cosine of every stored vector, in no order; `vid` 0 is the background."""
    assert question.vector is not None
    dimensions = len(question.vector)
    asked, factor = integers(question.vector)
    kind = layout(dimensions)
    floats = np.empty((_BLOCK, dimensions), np.float32)
    vids: list[int] = []
    firsts: list[int] = []
    counts: list[int] = []
    parts: list[Vectors] = []
    params = {**where.params, "model": question.model}
    for rows in session.stream(query("near", where.flags), params, _FETCH):
        for vid, pas, count, _ in rows:
            vids.append(vid)
            firsts.append(pas)
            counts.append(count)
        stored = np.frombuffer(b"".join(row[3] for row in rows), kind)
        for start in range(0, len(stored), _BLOCK):
            block = stored[start : start + _BLOCK]
            units = floats[: len(block)]
            units[:] = block["units"]
            parts.append((units @ asked) * block["scale"])
    if not parts:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    repeat = np.array(counts)
    begin = np.repeat(np.cumsum(repeat) - repeat, repeat)
    pas = np.repeat(np.array(firsts), repeat) + np.arange(len(begin)) - begin
    similarity = np.concatenate(parts).astype(np.float64) / factor
    told = ~np.isnan(similarity)
    return np.repeat(np.array(vids), repeat)[told], pas[told], similarity[told]


def integers(vector: Vectors) -> tuple[Vectors, float]:
    """A vector in steps, float32[d] of whole numbers, and the steps to 1.

    The dot product with int8[d] is a sum of integers below 2²⁴, exact in float32 in any order: the same store and
    question give the same bits on every machine.
    """
    total = float(np.abs(vector).sum(dtype=np.float64))
    factor = (_EXACT / 127 - len(vector) / 2 - 1) / total if total else 1.0
    return np.rint(vector.astype(np.float64) * factor).astype(np.float32), factor


def standard(values: Floats) -> Floats:
    """Standard scores: (values − mean) / standard deviation; zeros where all are equal."""
    spread = float(values.std()) if len(values) else 0.0
    return (values - values.mean()) / spread if spread > 1e-9 else np.zeros(len(values))


def expected_best(count: int) -> float:
    """√(2 ln n): about where the best of n unrelated passages stands, in standard deviations (Gumbel, Statistics of
    Extremes, 1958, for normal values). A fixed floor would let chance through in a large store.

    Measured with multilingual-e5-small over LoCoMo (1,600 passages) and JSQuAD (450): with a margin of 0.74 the
    floor lets through 96 % and 71 % of the questions that have an answer there and 6 % of those about something else.
    """
    return float(np.sqrt(2 * np.log(max(count, 1))))


# ---- fusing


def widen(first: Scores, top: Ints, near: Near) -> tuple[Scores, Ints]:
    """The first round with the records that vectors found beside those that words found, the latter first in `top`."""
    new = near.vids[~np.isin(near.vids, first.vids)]
    vids = np.sort(np.concatenate((first.vids, new)))
    place = np.searchsorted(vids, first.vids)

    def spread(values: NDArray[Any], rest: float | bool) -> NDArray[Any]:
        wide = np.full(len(vids), rest, dtype=values.dtype)
        wide[place] = values
        return wide

    wider = replace(
        first,
        vids=vids,
        row=place[first.row],
        whole=spread(first.whole, 0.0),
        rough=spread(first.rough, 0.0),
        found=spread(first.found, True),
    )
    both = dict.fromkeys([*place[top].tolist(), *np.searchsorted(vids, near.vids).tolist()])
    return wider, np.array(list(both), dtype=np.int64)


def fuse(
    ranked: Ranked, keep: NDArray[np.bool_], vids: Ints, sizes: Ints, near: Near, fusion: Fusion = DEFAULT_FUSION
) -> tuple[Ranked, NDArray[np.bool_]]:
    """The second round with both arms: the sum of their standard scores over all passages of the records at hand.

    `vids` and `sizes` (passages) are those of the records of `ranked`. A record that words did not keep is kept where
    a passage of it stands above the floor.
    """
    starts = np.cumsum(sizes) - sizes
    owner = np.repeat(np.arange(len(vids)), sizes)
    ordinal = np.arange(len(owner)) - starts[owner]
    lexical = np.zeros(len(owner))
    alone = np.zeros(len(owner))
    lexical[starts[ranked.owner] + ranked.ordinal] = ranked.value
    alone[starts[ranked.owner] + ranked.ordinal] = ranked.alone

    _, here, there = np.intersect1d(vids[owner] + 1 + ordinal, near.pas, assume_unique=True, return_indices=True)
    answers = here[near.above[there] >= near.floor]
    smooth = np.zeros(len(owner))  # a passage without a vector counts as the mean
    smooth[here] = standard(near.smooth[there])
    value = standard(lexical) + fusion.weight * smooth
    value -= value.min(initial=0.0)

    keep = keep.copy()
    keep[owner[answers]] = True
    steps = lexical > 0
    steps[here[near.among[there] >= fusion.passage]] = True
    steps[answers] = True
    shown = np.flatnonzero(steps)
    score = np.zeros(len(vids))
    np.maximum.at(score, owner[shown], value[shown])
    order = shown[np.lexsort((ordinal[shown], owner[shown], -value[shown]))]
    fused = replace(
        ranked, score=score, owner=owner[order], ordinal=ordinal[order], value=value[order], alone=alone[order]
    )
    return fused, keep
