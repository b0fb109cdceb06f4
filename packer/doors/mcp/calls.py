"""What each tool does with a memory, and how its answer keeps to a ceiling."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from context_packs.store.text.injected import NO_MATCH

from ...errors import InvalidField
from ...packing.profile import Profile
from ...service import ContextPacks
from ..forms.bounded import compact, contents_within, result_of, rows_within
from ..forms.documents import forgotten_document, pack_document
from ..forms.limits import ANSWER_TOKENS, MOST_TOKENS, ROWS_TOKENS
from .answers import Answer, Arguments
from .hello import NAME


def pack(packs: ContextPacks, profile: Profile, given: Arguments) -> Answer:
    """The pack. Its text stands in the structure too; where both are more than one answer may hold, only there.

    Where even that is too long (many items with much provenance), the pack is asked for again with fewer tokens: its
    budget says with how many.
    """
    while True:
        pack = packs.recall_context(profile=profile.name, **given)
        ids = tuple(item.id for item in pack.items)
        if profile.answer == "text":
            answer = Answer(pack.text, ids=ids)
            if packs.count_tokens(compact(result_of(pack.text))) <= ANSWER_TOKENS:
                return answer
        else:
            # An empty text reads as a failure to a model that sees no structures.
            text = pack.text or (NO_MATCH if pack.budget.state == "no_match" else "")
            answer = replace(fitting(packs, text, pack_document(pack, profile.name)), ids=ids)
            if packs.count_tokens(compact(result_of(answer.text, answer.document))) <= ANSWER_TOKENS:
                return answer
        if pack.budget.max_tokens == 1:
            raise InvalidField(f"query: the answer is above {ANSWER_TOKENS} tokens; ask for less", field="query")
        given = {**given, "max_tokens": pack.budget.max_tokens * 3 // 4}


def fitting(packs: ContextPacks, text: str, document: dict[str, Any]) -> Answer:
    """Text and structure, or the structure with a short text where both are above the ceiling of one answer."""
    if packs.count_tokens(compact(result_of(text, document))) <= ANSWER_TOKENS:
        return Answer(text, document)
    return Answer("The answer stands in the structured content; ask with a smaller max_tokens for a text.", document)


# ---- rows


def recall(packs: ContextPacks, profile: Profile, given: Arguments) -> Answer:
    full = given.pop("full_content", False)
    most = given.pop("max_tokens", MOST_TOKENS if full else ROWS_TOKENS)
    query, exclude = given["query"], given.pop("exclude_contents", [])
    context = given.pop("external_context", None)
    rows = (
        packs.recall(**given, exclude_contents=exclude)
        if context is None
        else packs.recall_with_context(external_context=context, **given, exclude_contents=exclude)
    )
    document = rows_within(
        rows, query, packs.settings, count=packs.count_tokens, max_tokens=most, full_content=full, order=profile.order
    )
    return Answer(compact(document), document)


def search(packs: ContextPacks, profile: Profile, given: Arguments) -> Answer:
    most = given.pop("max_tokens", ROWS_TOKENS)
    rows = packs.search_memory(**given)
    document = rows_within(
        rows, given["query"], packs.settings, count=packs.count_tokens, max_tokens=most, order=profile.order
    )
    return Answer(compact(document), document)


def get_contents(packs: ContextPacks, given: Arguments) -> Answer:
    contents = packs.get_contents(given["refs"])
    document = contents_within(contents, count=packs.count_tokens, max_tokens=given.get("max_tokens", MOST_TOKENS))
    return Answer(compact(document), document)


def get_chain(packs: ContextPacks, given: Arguments) -> Answer:
    from ..forms.chain_bounded import chain_within  # with what it brings, only where it is asked for

    most = given.get("max_tokens", ROWS_TOKENS)
    document = chain_within(packs, given["id"], given.get("part"), given.get("cursor"), most)
    events = [one["trigger_id"] for one in document.get("events", ())]
    return Answer(compact(document), document, (given["id"], *events))


# ---- writes


def remember(packs: ContextPacks, given: Arguments) -> Answer:
    written = packs.remember(**given)
    status = "created" if written.created else "updated" if written.updated else "existing"
    document: dict[str, Any] = {"id": written.id, "status": status, "version": written.version}
    if written.notes:
        document["notes"] = list(written.notes)
    return Answer(compact(document), document)


def identity(packs: ContextPacks) -> Answer:
    """Whom the connection speaks for; clients that sign in ask for it."""
    viewer = packs.viewer
    document = {"status": "valid", "agent_id": viewer.agent_id, "teams": list(viewer.teams), "server": NAME}
    return Answer(compact(document), document)


def forget(packs: ContextPacks, given: Arguments) -> Answer:
    mode = given.get("mode", "soft_delete")
    document = forgotten_document(packs.forget(given["ref"], mode, labels=given.get("labels", False)))
    return Answer(compact(document), document)
