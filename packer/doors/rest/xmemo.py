"""Shapes that XMemo clients read: records, packs and rows of the library → JSON-ready documents. Pure.

`score` is always the share of the query (0 to 1) that a record contains, so that clients can compare it with the
`threshold` they send; the sections of `context_text` stand in the order of `items`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from context_packs.store.memory.prepare import MAX_LABEL_CHARS, REPAIRED
from context_packs.store.records import Record, Written
from context_packs.store.text.clean import visible

from ...excerpt import preview
from ...packing.pack import Pack
from ...packing.profile import Profile
from ...rows import Row, Rows
from ...settings import Settings
from ..forms.documents import Room, moment, pack_document
from ..forms.limits import FULL_CONTENT_CHARS
from .answers import answer
from .gate import Caller

Document = dict[str, Any]

_READ = ("content", "title", "path", "type", "memory_type")
_ALWAYS = frozenset(("id", "memory_id", "content", "content_truncated", "content_len"))
_SHOWN_AS = {"memory_type": "type"}  # what a profile must show for it
_WITH_SCORE = frozenset(("score", "explanation"))


def status_of(written: Written) -> str:
    """What a write did: created, updated, or existing where it was there already."""
    return "created" if written.created else "updated" if written.updated else "existing"


def written_document(written: Written, caller: Caller, **more: Any) -> Document:
    """The answer to a write: `id` (also as `memory_id`), `status`, `version`, what is in `more`, and notes."""
    caller.touch(written.id)
    document: Document = {
        "id": written.id,
        "memory_id": written.id,
        "status": status_of(written),
        "version": written.version,
        **more,
    }
    notes = [*written.notes, *([REPAIRED] if caller.repaired and REPAIRED not in written.notes else [])]
    return {**document, "notes": notes} if notes else document


def memory_document(record: Record, caller: Caller, profile: Profile) -> Document:
    """One record with its whole text, as far as the profile shows it."""
    document: Document = {
        "id": record.id,
        "memory_id": record.id,
        "content": record.content,
        "title": record.title,
        "path": record.path,
        "type": record.type,
        "memory_type": record.type,
        "bucket": record.bucket,
        "scope": record.scope,
        "team_id": record.team_id,
        "status": record.status,
        "version": record.version,
        "created_at": moment(record.created_at),
        "updated_at": moment(record.updated_at),
        "expires_at": None if record.expires_at is None else moment(record.expires_at),
        "pinned": record.pinned,
        "importance": _brief(record.metadata.get("importance")),
        "confidence": _brief(record.metadata.get("confidence")),
        "source": dict(record.source),
        "metadata": dict(record.metadata),
        "external_id": record.external_id,
        "supersedes": record.supersedes,
        "superseded_by": record.superseded_by,
        "agent_boundary": boundary_of(record, caller),
    }
    return shown(document, profile)


def _brief(value: Any) -> Any:
    """A value that a client has put into metadata under a name of ours, where it is one of a few characters."""
    return value if len(str(value)) <= MAX_LABEL_CHARS else None


def shown(document: Document, profile: Profile) -> Document:
    """The fields of a memory that a profile shows: all of one that answers with packs, of another those in its list."""
    if profile.answer == "pack":
        return document
    fields = {*profile.fields, *_ALWAYS}
    return {name: value for name, value in document.items() if _SHOWN_AS.get(name, name) in fields}


def boundary_of(record: Record, caller: Caller) -> str:
    """Whose a record is: the caller's own, or one of a team that the caller belongs to."""
    return "own" if record.agent_id == caller.packs.viewer.agent_id else "team"


def agent_boundary(caller: Caller) -> Document:
    """For whom an answer was made. `requested_agent_id` and `agent_instance_id` are what the client said of itself."""
    viewer = caller.packs.viewer
    return {
        "agent_id": viewer.agent_id,
        "teams": list(viewer.teams),
        "requested_agent_id": caller.agent or None,
        "agent_instance_id": caller.instance or None,
    }


def context_document(pack: Pack, caller: Caller, profile: Profile, asked: Mapping[str, Any]) -> Document:
    """A pack as the profile shows it, with the names that XMemo clients read beside its own.

    Args:
        pack: as the library gives it.
        caller: who asked.
        profile: how it is shown.
        asked: the filters of the request. A profile that shows no bucket and scope shows those that the caller named.
    """
    document = pack_document(pack, profile.name)
    caller.touch(*(item.id for item in pack.items))
    whole = profile.answer == "pack"
    confidences = pack.confidences()
    settings = caller.packs.settings
    named = {name: asked[name] for name in ("bucket", "scope") if asked.get(name) not in (None, "", "%")}
    items: list[Document] = []
    for item in document["items"]:
        record = pack.record(item["id"])
        item |= {"memory_id": record.id, "memory_type": record.type}
        if whole:
            spans = next(one.spans for one in pack.items if one.id == record.id)
            text = " … ".join(record.content[start:end].strip() for start, end in spans)
            item |= {
                "score": round(confidences[record.id], 4),
                "snippet": visible(preview(text, settings.preview_chars)[0]),
                "agent_boundary": boundary_of(record, caller),
            }
        else:
            item |= named
        items.append(item)
    budget = document["budget"]
    plan: Mapping[str, Any] = pack.retrieval_plan if whole else {}
    coverage = {"state": budget["state"], "used": budget["used_items"], "dropped": budget["dropped"]}
    coverage |= {name: plan[name] for name in ("matched", "candidates", "excluded", "empty_filter") if name in plan}
    return {
        **document,
        "items": items,
        "context_text": pack.context_text,
        "coverage": coverage,
        "agent_boundary": agent_boundary(caller),
    }


def results_document(rows: Rows, caller: Caller, profile: Profile, *, explain: bool = False) -> Document:
    """Rows of a search as `results`: whole while they fit into 200,000 characters, counted from the best row down,
    then their beginnings.

    Args:
        rows: as the library gives them.
        caller: who asked.
        profile: how they are shown.
        explain: each says which passages matched.
    """
    caller.touch(*(row.ref for row in rows))
    room = Room()
    left = FULL_CONTENT_CHARS
    results: list[Document] = []
    for row in rows:
        document = room.within(_seen(memory_document(row.record, caller, profile)))
        if len(row.content) <= left:
            left -= len(row.content)
        else:
            document |= _begun(row, caller.packs.settings)
        if profile.answer == "pack":
            document["score"] = round(row.confidence, 4)
            if explain:
                document["explanation"] = _why(row)
        results.append(document)
    facts: Document = {"results": results, "count": len(results), "agent_boundary": agent_boundary(caller)}
    if profile.answer == "pack":
        facts["coverage"] = {"returned": len(results), "more": rows.more, "excluded": rows.excluded}
        if not results and "empty_filter" in rows.plan:
            facts["coverage"]["empty_filter"] = rows.plan["empty_filter"]
        if explain:
            facts["retrieval_plan"] = dict(rows.plan)
    return facts


def _seen(document: Document) -> Document:
    """A row without what hides or turns text; an exact get gives what is stored."""
    texts = {name: visible(document[name]) for name in _READ if name in document}
    return {**document, **texts}


def _begun(row: Row, settings: Settings) -> Document:
    text, _ = preview(row.content, settings.preview_chars or 500)
    return {"content": visible(text), "content_truncated": True, "content_len": len(row.content)}


def _why(row: Row) -> Document:
    spans = row.record.passages
    return {
        "confidence": round(row.confidence, 4),
        "rank_score": round(row.score, 6),
        "passages": [[spans[hit].start, spans[hit].end] for hit in row.hits],
    }


def explanation(record: Record) -> Document:
    """Why a record is there and how it comes back: origin, links to what it replaced, and its part in a restore."""
    if record.pinned:
        restore = "pinned"
    elif record.superseded_by is not None:
        restore = "superseded"
    elif record.status in ("open", "in_progress", "blocked", "waiting", "todo", "running") or record.type == "state":
        restore = "open"
    else:
        restore = "decision" if record.type == "decision" else "recent"
    return {
        "restore": restore,
        "kind": record.kind,
        "passages": len(record.passages),
        "characters": len(record.content),
    }


def written_answer(written: Written, caller: Caller, name: str, **more: Any) -> Response:
    """The answer to a write: 201 where it made something, else 200.

    Args:
        written: what was written.
        caller: who wrote it.
        name: of the id, which clients look for besides `id`.
        more: further fields of the answer.
    """
    document = written_document(written, caller, **{name: written.id}, **more)
    return answer(document, 201 if written.created else 200)


def expiry(record: Record) -> str | None:
    """When a record expires, as text."""
    return None if record.expires_at is None else moment(record.expires_at)
