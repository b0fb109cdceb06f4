"""A record as a caller gives it → checked, divided and analyzed, ready to be written. Pure."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
    field_validator,
    model_validator,
)

from ..errors import InvalidField
from ..records import NAMED, Kind, is_id
from ..text.analyzer import index_keys, speaker_keys
from ..text.clean import blank
from ..text.duplicates import fingerprint_of
from ..text.passages import divide
from ..times import parse_time
from ..validation import miscounted, told

DEFAULT_PATH = "notes"
MAX_CONTENT_CHARS = 4_000_000
MAX_LABEL_CHARS = 512
MAX_FACTS_BYTES = 32 * 2**10
"""Of `source` and `metadata` together, as JSON in UTF-8."""
SNAPSHOT, MAX_SNAPSHOT_BYTES = "restart_snapshot", 2**20
"""The type of records whose metadata holds what they bring back, and the most bytes of that."""
DEEPEST = 32
"""Levels of lists and objects in source and metadata."""
HIGHEST_BITS = 1024
"""Of a whole number there."""
_SURROGATE = re.compile("[\ud800-\udfff]")
FORBIDDEN = re.compile(r"[|\x00-\x1f\x7f-\x9f\u2028\u2029]")
REPAIRED = "lone surrogates were replaced by U+FFFD"
LINE_FIELDS = frozenset(
    {
        "id", "version", "updated_at", "valid_from", "valid_to", "superseded_by", "superseded_at", "superseded_from",
        "superseded_until", "deleted_at", "forgotten", "forgotten_hash", "number", "thread_id", "thread_agent_id",
        "payload", "hashes", "far",
    }
)  # fmt: skip
"""Fields that only a line of an export has."""


def repair(text: str) -> str:
    """Lone surrogates as U+FFFD, one for one, so that offsets stay; they have no UTF-8 form and cannot be stored."""
    return _SURROGATE.sub("\ufffd", text)


def _label(value: object) -> object:
    """Text that stands in reference lines and filters: one line, no `|`, no control characters."""
    if not isinstance(value, str):
        return value
    value = repair(value).strip()
    found = FORBIDDEN.search(value)
    if found:
        raise ValueError(f"contains {found[0]!r}: use one line without | and control characters")
    if value and blank(value):
        raise ValueError("holds nothing that is shown: give it letters, or leave it out")
    return value


Label = Annotated[str, BeforeValidator(_label), Field(strict=True, max_length=MAX_LABEL_CHARS)]
Key = Annotated[str, BeforeValidator(_label), Field(strict=True, min_length=1, max_length=MAX_LABEL_CHARS)]


def plain(value: object, depth: int = 0) -> object:
    """What JSON can say, lone surrogates repaired; raises ValueError for anything else."""
    if isinstance(value, str):
        return repair(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and value.bit_length() <= HIGHEST_BITS:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if depth >= DEEPEST:
        raise ValueError(f"is nested more than {DEEPEST} deep: flatten it")
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {repair(name): plain(one, depth + 1) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, depth + 1) for one in value]
    raise ValueError(
        f"holds a {type(value).__name__} that JSON cannot express: give text, finite numbers, lists, objects"
    )


def broken(value: object) -> bool:
    """Whether a text anywhere in a value holds a lone surrogate; values too deep to be stored count as whole."""
    todo = [value]
    for _ in range(DEEPEST + 2):
        inner: list[object] = []
        for one in todo:
            if isinstance(one, str):
                if _SURROGATE.search(one):
                    return True
            elif isinstance(one, Mapping):
                inner.extend(one)
                inner.extend(one.values())
            elif isinstance(one, list | tuple):
                inner.extend(one)
        todo = inner
    return False


def _fold(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A record with `importance`, `confidence` and `provenance` where they are kept."""
    if not {"importance", "confidence", "provenance"} & record.keys():
        return record
    folded = dict(record)
    for name in ("importance", "confidence"):
        number = folded.pop(name, None)
        if number is None:
            continue
        if wrong := miscounted(number, 0, 1, whole=False):
            raise InvalidField(f"{name}: {wrong}", field=name)
        metadata = folded.get("metadata", {})
        if isinstance(metadata, Mapping):
            folded["metadata"] = {**metadata, name: number}
    provenance = folded.pop("provenance", None)
    if provenance is not None:
        if not isinstance(provenance, Mapping):
            raise InvalidField("provenance: give an object with what is known of the origin", field="provenance")
        source = folded.get("source") or {}
        if isinstance(source, Mapping | str):
            folded["source"] = {**provenance, **({"name": _label(source)} if isinstance(source, str) else source)}
    return folded


def facts_size(*facts: Mapping[str, Any]) -> int:
    """Bytes of objects as JSON in UTF-8, without blanks between."""
    return sum(len(json.dumps(fact, ensure_ascii=False, separators=(",", ":")).encode()) for fact in facts if fact)


class RecordIn(BaseModel):
    """One record of the JSON Lines form. Unknown fields are refused; see the README for the form.

    `importance` and `confidence` (0 to 1) are kept in `metadata`, `provenance` in `source`, whose own fields win.
    A `semantic_key` says what the record is about: it replaces what the same agent stored about it before in the same
    team, scope and bucket. Without `dedupe` the same text in the same place is stored once more.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    bounded: ClassVar[bool] = True
    """Whether `source` and `metadata` have a limit: what is stored already keeps what it has."""

    content: Annotated[str, Field(strict=True, max_length=MAX_CONTENT_CHARS)]
    kind: Kind = "memory"
    title: Annotated[str, Field(strict=True, max_length=MAX_LABEL_CHARS)] = ""
    path: Label = ""
    type: Label = ""
    bucket: Label = ""
    scope: Label = ""
    status: Label = ""
    agent_id: Label = ""
    team_id: Label = ""
    source: dict[str, Any] = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)
    timestamp: datetime | None = None
    external_id: Key | None = None
    idempotency_key: Key | None = None
    expires_at: datetime | None = None
    supersedes: str | None = None
    pinned: StrictBool = False
    semantic_key: Key | None = None
    dedupe: StrictBool = True

    @model_validator(mode="before")
    @classmethod
    def _folded(cls, value: Any) -> Any:
        return _fold(value) if isinstance(value, Mapping) else value

    @field_validator("content", "title", mode="before")
    @classmethod
    def _storable(cls, value: object) -> object:
        return repair(value) if isinstance(value, str) else value

    @field_validator("content")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if blank(value):
            raise ValueError("is blank: give the text to remember")
        return value

    @field_validator("title")
    @classmethod
    def _one_line(cls, value: str) -> str:
        return " ".join(value.split())

    @field_validator("timestamp", "expires_at", mode="before")
    @classmethod
    def _time(cls, value: object, info: Any) -> datetime | None:
        return None if value is None else parse_time(value, info.field_name)

    @field_validator("supersedes")
    @classmethod
    def _reference(cls, value: str | None) -> str | None:
        if value is not None and not is_id(value):
            raise ValueError(f"{value[:40]!r} is not an id like mem:1 or ep:1")
        return value

    @field_validator("source", "metadata", mode="before")
    @classmethod
    def _json(cls, value: object, info: Any) -> object:
        if isinstance(value, str) and info.field_name == "source":
            value = {"name": _label(value)}
        return plain(value) if isinstance(value, Mapping) else value

    @model_validator(mode="after")
    def _within(self) -> Self:
        if not self.bounded or not (self.source or self.metadata):
            return self
        # The metadata of a worker is its task and report, which have limits of their own.
        metadata = {} if self.kind in NAMED else self.metadata
        sizes = {"metadata": facts_size(metadata), "source": facts_size(self.source)}
        most = MAX_SNAPSHOT_BYTES if self.type == SNAPSHOT else MAX_FACTS_BYTES
        if sum(sizes.values()) > most:
            field = max(sizes, key=lambda name: sizes[name])
            raise InvalidField(
                f"{field}: source and metadata are {sum(sizes.values())} bytes as JSON, above {most}: "
                "shorten it, or put the text into content",
                field=field,
            )
        return self


class Unbounded(RecordIn):
    """A record whose `source` and `metadata` are stored already, however large they are."""

    bounded: ClassVar[bool] = False


def check(record: Mapping[str, Any] | RecordIn, model: type[RecordIn] = RecordIn) -> RecordIn:
    """The record, checked; raises InvalidField that names the first field at fault and the way out."""
    if isinstance(record, RecordIn):
        return record
    if record.get("kind") == "link":
        raise InvalidField(
            "kind: a link is a line of an export: use import_lines or `context-packs import jsonl`", field="kind"
        )
    for name in record:
        if name in LINE_FIELDS:
            raise InvalidField(
                f"{name}: belongs to a line of an export: use import_lines or `context-packs import jsonl`", field=name
            )
    try:
        checked = model.model_validate(record)
    except ValidationError as error:
        raise invalid(error, model) from error
    except InvalidField as error:
        # What was given as `provenance` is kept in `source`; the line names what was given.
        if error.field != "source" or "provenance" not in record or "source" in record:
            raise
        raise InvalidField(str(error).replace("source", "provenance"), field="provenance") from error
    if checked.kind in NAMED:
        raise InvalidField(f"kind: a {checked.kind} is made by a call of its own, not as a record", field="kind")
    return checked


def invalid(error: ValidationError, model: type[BaseModel]) -> InvalidField:
    """The first fault that pydantic found in fields of a model, as one line that names the field."""
    field, line = told(error.errors(include_url=False)[0], "record", model.model_fields)
    return InvalidField(line, field=field)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A record ready to be written. Slot 0 of `slots` is the header (title, path, type); slot i the i-th passage.

    Each slot is (term counts, length in terms); `bounds` are the ends of the passages, the first starts at 0.
    """

    record: RecordIn
    kind: Kind
    repaired: bool
    content_hash: int
    bounds: list[int]
    kinds: str
    speakers: str
    slots: list[tuple[dict[int, int], int]]
    terms: int
    fingerprint: tuple[int, int]


def hash64(*parts: str) -> int:
    """A stable signed 64-bit number for equal texts: of a billion, two share one with a chance of 3 %."""
    digest = blake2b("\x00".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def content_hash(record: RecordIn) -> int:
    """Equal for records that say the same in the same place: NFC, outer blanks ignored."""
    return hash64(record.kind, record.title, _same_text(record.content))


def text_hash(content: str) -> int:
    """Equal for equal texts, whatever their titles are: NFC, outer blanks ignored."""
    return hash64(_same_text(content))


def _same_text(content: str) -> str:
    return unicodedata.normalize("NFC", content.strip())


def header_of(record: RecordIn) -> tuple[dict[int, int], int]:
    """Slot 0 of a record: the terms of its title, path and type."""
    # What stands there by default says nothing, whether it was given or not.
    path = "" if record.path == DEFAULT_PATH else record.path
    type_ = "" if record.type == record.kind else record.type
    header = Counter(index_keys(f"{record.title} {path} {type_}"))
    return header, header.total()


def prepare(record: RecordIn, *, repaired: bool = False) -> Prepared:
    """Divide and analyze a checked record; `repaired` says that something of it was repaired."""
    passages = divide(record.content)
    slots = [header_of(record)]
    for passage in passages:
        counts = Counter(index_keys(record.content[passage.start : passage.end]))
        if passage.context:
            for key in index_keys(passage.context):
                counts.setdefault(key, 1)
        length = counts.total()
        if passage.speaker:
            for key in speaker_keys(passage.speaker):
                counts[key] = 1
        slots.append((counts, length))
    return Prepared(
        record=record,
        kind=record.kind,
        repaired=repaired,
        content_hash=content_hash(record),
        bounds=[passage.end for passage in passages],
        kinds=json.dumps([passage.kind for passage in passages], separators=(",", ":")),
        speakers=_compact([passage.speaker for passage in passages]),
        slots=slots,
        terms=sum(length for _, length in slots[1:]),
        fingerprint=fingerprint_of(
            record.title, record.content, set(index_keys(record.title)).union(*(slot for slot, _ in slots[1:]))
        ),
    )


def _compact(speakers: list[str]) -> str:
    """Speakers of the passages as JSON; empty where nobody speaks."""
    return json.dumps(speakers, ensure_ascii=False, separators=(",", ":")) if any(speakers) else ""


def source_name(source: Mapping[str, Any]) -> str:
    """What the `source` filter compares: the source's name, host or type, whichever comes first, as long as a label."""
    for field in ("name", "host", "type"):
        value = source.get(field)
        if isinstance(value, str) and value:
            return value[:MAX_LABEL_CHARS]
    return ""
