"""Vectors as the store keeps them: one byte a number, a few of one version in a row.

Similarities are cosines. What counts is never a cosine itself, as models lie in bands of their own, but that of vectors
less what all have in common (see nearness.py), in standard deviations: how far it stands above what unrelated texts
have (is there an answer at all?) and above the other texts at hand (which is best?).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...file.duck import Session, query
from ..embedders import Vectors

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_EXACT = 2**24  # below it float32 holds every integer
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


class Row(NamedTuple):
    """A row of the table: vectors of version `vid` from passage `pas` on, each of `spans` consecutive passages."""

    vid: int
    pas: int
    spans: list[int] | None
    vectors: NDArray[np.void]

    @property
    def passages(self) -> int:
        """How many passages it covers."""
        return len(self.vectors) if self.spans is None else sum(self.spans)


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
    """
    return float(np.sqrt(2 * np.log(max(count, 1))))


def dimensions_of(session: Session, model: str) -> int:
    """d of the stored vectors of a model; 0 where there are none."""
    size = session.value(
        "SELECT octet_length(vectors) // count FROM vectors WHERE vid = 0 AND model = $model LIMIT 1", {"model": model}
    )
    return int(size) - 4 if size else 0


def insert(session: Session, model: str, rows: Sequence[Row]) -> None:
    """Write rows of a model."""
    if rows:
        columns = {
            "vid": [row.vid for row in rows],
            "pas": [row.pas for row in rows],
            "count": [row.passages for row in rows],
            "spans": [row.spans for row in rows],
            "vectors": [row.vectors.tobytes() for row in rows],
        }
        session.run(query("insert_vectors"), {"model": model, **columns})
