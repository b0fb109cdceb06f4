"""From candidates to a pack: ladder, fit and rendering in one go."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace

from context_packs.store.errors import StoreError
from context_packs.store.records import Record
from context_packs.store.text.clean import visible
from context_packs.store.values import Candidates

from .fit import BLANK_LINE, Selection, fit, shorter, shown_of
from .governing import SHORT_CHARS, along, is_short
from .host_tags import harmless_records
from .ladder import Step, ladder, openable
from .layout import Layout, Limits, layout
from .pack import Budget, Decision, Made, Pack, PackedItem, State
from .profile import Profile, with_defaults
from .request import PackRequest
from .section import Outline, Section, outline_of
from .tokens import TokenCounter, well_formed

_KEPT_OUT = ("budget", "max_items", "max_chars")  # reasons that count as dropped


def build(
    request: PackRequest, profile: Profile, found: Candidates, records: Mapping[str, Record], counter: TokenCounter
) -> Pack:
    """The pack for a request: ladder, fit and rendering in one go.

    Args:
        request: what is asked; limits that the caller left open are the profile's.
        profile: how it is shown.
        found: what bears on the query, best first.
        records: at least every record in `openable(found, max_items)`. One that is missing is not opened, and counts as
            kept out by `max_items`.
        counter: of the tokens.
    """
    request = with_defaults(request, profile)
    relevant = request.fill != "budget"
    shown = {ref: records[ref] for ref in openable(found, request.max_items, records, relevant)}
    if profile.for_host:
        shown = harmless_records(shown)
    outlines = {ref: outline_of(record) for ref, record in shown.items()}
    _assert_wanted(request, [outline.record for outline in outlines.values()])
    beside = {item.id for item in found.items if relevant and not item.relevant}
    own = sum(item.duplicate_of is None and item.id not in beside for item in found.items)
    form = layout(profile.template)
    steps = ladder(
        [hit for hit in found.hits if hit.relevant or not relevant],
        {ref: outline.ordinals for ref, outline in outlines.items()},
        {Step(ref, ordinal) for ref, outline in outlines.items() for ordinal in outline.unwieldy()},
        lambda ref, ordinal: along(shown[ref].content, shown[ref].passages, ordinal),
        {ref for ref, record in shown.items() if is_short(record.content, SHORT_CHARS)} if relevant else None,
    )
    selection = fit(steps, outlines, own, form, counter, request.max_tokens, request.max_chars)
    while True:
        placed = _placed(selection, outlines)
        decisions = _decisions(found, outlines, selection, beside)
        text, used = _rendered(form, counter, request, placed, decisions, selection)
        if not placed or _within(request, text, used):
            break
        selection = shorter(selection, used)
    pack = _filled(request, profile, found, counter, placed, decisions, text, used)
    pack._made = Made(request, profile, found, records, counter)
    return pack


def under(pack: Pack, profile: Profile) -> Pack:
    """The pack of the same request, records and ceilings under another profile; raises as `Pack.made`."""
    made = pack.made
    if made.profile == profile:
        return pack
    return build(made.request, profile, made.found, made.records, made.counter)


def render(pack: Pack, profile: Profile) -> str:
    """The text of `pack` as `profile` renders it, within the pack's own ceilings.

    Under another profile than the pack was made with, the same records are fitted again, so that a larger frame costs
    content and never goes above the ceiling.
    """
    return under(pack, profile).text


def _within(request: PackRequest, text: str, used: int) -> bool:
    return used <= request.max_tokens and (request.max_chars is None or len(text) <= request.max_chars)


def _assert_wanted(request: PackRequest, records: list[Record]) -> None:
    """The store filters; a record that does not match all the same must never reach a text."""
    for record in records:
        for name in ("scope", "bucket", "team_id"):
            wanted = getattr(request, name)
            if wanted is not None and getattr(record, name) != wanted:
                raise StoreError(f"{name}: the store gave a record outside the filter; nothing is shown", field=name)


@dataclass(frozen=True, slots=True)
class _Placed:
    """One record as it stands in the text: its reference line ("" for none), its header and its content lines."""

    section: Section
    reference: str
    header: str
    lines: str

    @property
    def body(self) -> str:
        return _joined(self.header, self.lines)


def _placed(selection: Selection, outlines: Mapping[str, Outline]) -> list[_Placed]:
    """What the steps of a selection show, in the order in which they open it."""
    sections: dict[str, Section] = {}
    for step in selection.steps:
        if step.id not in sections:
            sections[step.id] = Section(outlines[step.id])
        for ordinal in step.ordinals:
            sections[step.id].show(ordinal)
    walked = selection.items
    return [
        _Placed(section, walked[ref].reference, walked[ref].header, section.lines())
        for ref, section in sections.items()
    ]


def _decisions(
    found: Candidates, opened: Container[str], selection: Selection, beside: Container[str]
) -> list[Decision]:
    """One decision for each candidate that is not shown, by rank."""
    shown = {step.id for step in selection.steps}
    decisions: list[Decision] = []
    for item in sorted(found.items, key=lambda item: (item.rank, item.id)):
        if item.id in shown:
            continue
        if item.duplicate_of is not None:
            decisions.append(Decision(id=item.id, reason="duplicate", duplicate_of=item.duplicate_of))
        elif item.id in beside:
            decisions.append(Decision(id=item.id, reason="relevance"))
        elif item.id not in opened:
            decisions.append(Decision(id=item.id, reason="max_items"))
        elif item.id in selection.by_chars:
            decisions.append(Decision(id=item.id, reason="max_chars"))
        else:
            decisions.append(Decision(id=item.id, reason="budget", needs_tokens=selection.needs.get(item.id)))
    return decisions


def _rendered(
    form: Layout,
    counter: TokenCounter,
    request: PackRequest,
    placed: list[_Placed],
    decisions: list[Decision],
    selection: Selection,
) -> tuple[str, int]:
    """The whole text and its exact count. Without items, as much of the frame as fits: never more than the ceilings."""
    dropped = sum(decision.reason in _KEPT_OUT for decision in decisions)
    if placed:
        shown = [shown_of(item.section.record, item.lines) for item in placed]
        shortened = sum(not item.section.whole for item in placed)
        if not shortened and not dropped:
            text = form.text(shown, None)
            return text, counter.count(text)
        limits = Limits(selection.used, request.max_tokens, len(shown), shortened, dropped)
        return _settled(counter, limits, lambda limits: form.text(shown, limits))
    if dropped:
        needed = [need for need in selection.needs.values() if need is not None]
        limits = Limits(0, request.max_tokens, 0, 0, dropped, min(needed, default=0))
        head = [form.heading(), form.counted(0)]
        tries = [
            _settled(counter, limits, lambda limits: _joined(*head, form.limited(limits))),
            *((text, counter.count(text)) for text in (_joined(*head), head[0])),
        ]
    else:
        tries = [(form.nothing(), counter.count(form.nothing()))]
    for text, used in tries:
        if _within(request, text, used):
            return text, used
    return "", 0


def _settled(counter: TokenCounter, limits: Limits, write: Callable[[Limits], str]) -> tuple[str, int]:
    """A text that states its own count, and that count.

    In the compiled-in encodings a number costs one token per three digits, so the count settles at once. Where an older
    encoding never settles, the returned count is that of the text all the same.
    """
    for _ in range(8):
        text = write(limits)
        used = counter.count(text)
        if used == limits.used:
            break
        limits = replace(limits, used=used)
    return text, used


def _content(record: Record, spans: list[tuple[int, int]]) -> str:
    """The shown ranges of a record as they are seen, one below the other."""
    return visible(well_formed("\n".join(record.content[start:end] for start, end in spans)))


def _joined(*pieces: str) -> str:
    return "\n".join(piece for piece in pieces if piece)


def _filled(
    request: PackRequest,
    profile: Profile,
    found: Candidates,
    counter: TokenCounter,
    placed: list[_Placed],
    decisions: list[Decision],
    text: str,
    used: int,
) -> Pack:
    """The pack around a finished text. Its parts are made here from checked values, so they are not checked again."""
    items = _items(profile, found, counter, placed)
    duplicates = sum(decision.reason == "duplicate" for decision in decisions)
    shortened = sum(item.shortened for item in items)
    dropped = sum(decision.reason in _KEPT_OUT for decision in decisions)
    state: State = "limited" if shortened or dropped else "complete"
    if found.plan.get("degraded"):  # also where nothing is found: what could not run might have found something
        state = "degraded"
    elif not items and not dropped:
        state = "no_match"
    budget = Budget.model_construct(
        max_items=request.max_items,
        max_tokens=request.max_tokens,
        max_chars=request.max_chars,
        used_items=len(items),
        used_tokens=used,
        used_chars=len(text),
        encoding=counter.name,
        shortened=shortened,
        dropped=dropped,
        duplicates=duplicates,
        state=state,
    )
    return Pack.model_construct(
        version="1",
        retrieval_plan=dict(found.plan),
        budget=budget,
        items=items,
        decisions=decisions,
        context_text=BLANK_LINE.join(item.body for item in placed),
        text=text,
    )


def _items(profile: Profile, found: Candidates, counter: TokenCounter, placed: list[_Placed]) -> list[PackedItem]:
    """The items of a pack, in the order of its text."""
    ranked = {item.id: item for item in found.items}
    items: list[PackedItem] = []
    for k, item in enumerate(placed, start=1):
        record, spans = item.section.record, item.section.spans()
        reference = f"{item.reference}\n" if item.reference else ""
        section = item.body if k == len(placed) else f"{item.body}{BLANK_LINE}"
        made = PackedItem.model_construct(
            id=record.id,
            type=visible(well_formed(record.type)),
            path=visible(well_formed(record.path)),
            bucket=record.bucket,
            scope=record.scope,
            team_id=record.team_id,
            title=visible(well_formed(record.title)),
            status=record.status,
            score=ranked[record.id].score,
            reason=ranked[record.id].reason,
            created_at=record.created_at,
            updated_at=record.updated_at,
            tokens=counter.total(counter.parts(reference) + counter.parts(section)),
            total_tokens=counter.count(record.content),
            shortened=not item.section.whole,
            spans=spans,
            source=dict(record.source),
            links=list(found.links.get(record.id, ())),
            content=_content(record, spans) if profile.item_content else None,
        )
        items.append(made)
    return items
