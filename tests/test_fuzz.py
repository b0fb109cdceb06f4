"""Any input at all, at every way in: an answer or an error of our own, never a crash, and nothing lost or out of range.

Inputs are bounded in size, and the profile of conftest.py draws the same ones everywhere: no luck, no endless run.
"""

import gzip
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError

from context_packs.packer import ContextPacks
from context_packs.packer.doors.hooks.answer import EVENTS, run_hook
from context_packs.packer.doors.mcp.server import build_server
from context_packs.packer.doors.rest.app import create_app
from context_packs.packer.errors import ContextPacksError
from context_packs.packer.excerpt import preview
from context_packs.packer.packing.tokens import well_formed
from context_packs.store.chain.cursor import make_cursor, read_cursor
from context_packs.store.errors import InvalidField, StoreError
from context_packs.store.exchange.importers import FORMATS, ImportReport, read
from context_packs.store.records import format_id, is_id, parse_id, parse_name
from context_packs.store.text.analyzer import index_keys, index_terms, query_terms, signature_keys, term_key
from context_packs.store.text.cuts import clip, pieces
from context_packs.store.text.passages import divide
from context_packs.store.text.secrets.masking import mask
from context_packs.store.times import parse_time

PIECES = (
    "Deploys happen on Fridays. ", "これは文です。", "「はい。」", "ภาษาไทย", "🇯🇵🇺🇸", "e\u0301\u0301", "क्षि", "\u202e",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u2066", "\U000e0041", "\ufeff", "\x00", "\x1b[31m", "\ud800",
    "\udfff", "\r\n", "\n\n", "\u2028", "\x85", "\t", " " * 300, "_" * 700, "漢" * 300, "# Heading\n", "- item\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n", "```py\nx = 1\n", "```\n", "~~~", "1. one\n", "> quote\n", "𝕬", "ﬁ", "İ",
    "Taro: hello there\n", "**Mika**: yes\n", "12:04:11 ERROR disk full\n", "2026-03-01T09:00:00Z x\n", "[[link]]",
    "---\ntitle: [\n---\n", "</system-reminder>", "<|endoftext|>", "<private>", "password: hunter2", "½", "①", "ß",
    "https://u:p@x.example/?q=1", "a.b.c/d-e_f:g", "%00", "\\u0000", "'; DROP TABLE",
)  # fmt: skip
ODD = (None, True, False, 0, -1, 1, 2, 50, 51, 12_001, 2**31, 2**63, 2**64, 10**30, -0.0, 0.5, 1e308, float("nan"))
ODD_TEXTS = (
    "", " ", "*", "%", "null", "true", "600.0", "[]", '["mem:1"]', "mem:1", "mem:0", "mem:01", "mem:-1", "ep:1",
    "mem:99999999999999999999", "MEM:1", "mem:1 ", "thr_a", "thr_", "trg_" + "x" * 65, "2026-03-01", "yesterday",
    "2026-02-30T00:00:00Z", "9999-12-31T23:59:59+14:00", "0001-01-01T00:00:00Z", "soft_delete", "hard_delete",
    "internal", "public", "asc", "../../etc", "a|b", "\ud800", "\x00", "é" * 600,
)  # fmt: skip

texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=12)), max_size=14).map("".join)
scalars = st.one_of(st.sampled_from(ODD), st.sampled_from(ODD_TEXTS), texts)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=6), inner, max_size=4)),
    max_leaves=8,
)
documents = values.map(lambda value: json.dumps(value, ensure_ascii=False, allow_nan=True))

# ---- text


@given(texts)
def test_divided_text_joins_back_to_the_original(text: str) -> None:
    """Passages follow each other without a gap, none is empty, and together they are the text."""
    passages = divide(text)
    assert "".join(text[passage.start : passage.end] for passage in passages) == text
    assert all(0 <= passage.start < passage.end <= len(text) for passage in passages)
    assert all(before.end == after.start for before, after in pairwise(passages))


@given(texts, st.integers(0, 40), st.integers(0, 40))
def test_pieces_of_any_range_are_that_range(text: str, start: int, length: int) -> None:
    """A range is cut into pieces that follow each other from its first character to its last."""
    start = min(start, len(text))
    stop = min(start + length * length, len(text))
    found = [(first, last) for first, last, _ in pieces(text, start, stop)]
    assert "".join(text[first:last] for first, last in found) == text[start:stop]
    assert all(first < last for first, last in found)


@given(texts)
def test_any_text_has_terms_keys_and_a_signature(text: str) -> None:
    """Keys are those of the terms, in order; a query's terms are distinct; a signature has an end."""
    terms = index_terms(text)
    assert index_keys(text) == [term_key(term) for term in terms]
    assert all(-(2**63) <= key < 2**63 for key in index_keys(text))
    asked = query_terms(text)
    assert len(set(asked)) == len(asked)
    assert len(signature_keys(text)) <= 256


@given(texts, st.integers(0, 600))
def test_a_preview_is_a_pure_prefix(text: str, chars: int) -> None:
    """Whatever the text, a preview begins it; it is said to be cut exactly where it is shorter."""
    shown, cut = preview(text, chars)
    assert text.startswith(shown)
    assert cut == (shown != text)
    assert text.startswith(clip(text, max(1, chars)).rstrip())


@given(texts)
def test_masking_any_text_ends_and_is_stable(text: str) -> None:
    """A masked text holds nothing more to mask."""
    masked = mask(text)[0]
    assert mask(masked)[0] == masked


@given(scalars)
def test_a_time_is_aware_or_refused_by_its_field(value: object) -> None:
    """Any value is a time with a zone, or an error that names the field."""
    try:
        assert parse_time(value, "since").tzinfo is not None
    except InvalidField as error:
        assert error.field == "since"


# ---- refs and cursors


@given(st.one_of(scalars, st.from_regex(r"(mem|ep):[0-9]{1,20}"), st.from_regex(r"(trg|thr|wkr)_.{0,70}")))
def test_a_ref_is_read_exactly_or_not_at_all(value: object) -> None:
    """What is read as an id is written back as it came; everything else is none."""
    numbered, named = parse_id(value), parse_name(value)
    assert is_id(value) == ((numbered is None) != (named is None))
    assert numbered is None or format_id(*numbered) == value


@given(st.one_of(scalars, st.text("ABCxyz019_-", min_size=10, max_size=60)))
def test_no_text_is_a_cursor_but_one_that_was_made(value: object) -> None:
    """Anything else is refused by the field, an altered cursor too."""
    with pytest.raises(StoreError) as refused:
        read_cursor(value, "thr_a", key="k")
    assert refused.value.field == "cursor"


@given(st.from_regex(r"\A(trg)_[A-Za-z0-9]{1,20}\Z"), st.integers(0, 10_000), st.sampled_from("AZaz09_-"))
def test_a_cursor_comes_back_and_one_changed_character_shows(after: str, place: int, other: str) -> None:
    """A cursor opens where it was made; with a character changed it opens nowhere."""
    cursor = make_cursor("thr_a", after, key="k")
    assert read_cursor(cursor, "thr_a", key="k") == after
    place %= len(cursor)
    changed = cursor[:place] + other + cursor[place + 1 :]
    if changed != cursor:
        with pytest.raises(StoreError):
            read_cursor(changed, "thr_a", key="k")


# ---- imports


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for files to import."""
    return tmp_path_factory.mktemp("imports")


def _with_content(record: dict[str, Any]) -> dict[str, Any]:
    return {"content": "Something worth keeping.", **record}


FIELDS = (
    "content", "text", "speaker", "role", "type", "message", "uuid", "sessionId", "timestamp", "iso", "conv_id",
    "session", "external_id", "id", "path", "metadata", "source", "payload", "mapping", "title", "summary",
)  # fmt: skip
rows = st.lists(st.dictionaries(st.sampled_from(FIELDS), values, max_size=6), max_size=4)
files = st.one_of(
    st.binary(max_size=300),
    texts.map(lambda text: text.encode("utf-8", "surrogatepass")),
    texts.map(lambda text: text.encode("utf-16", "surrogatepass")),
    rows.map(lambda found: "\n".join(json.dumps(row) for row in found).encode()),
    rows.map(lambda found: json.dumps(found).encode()),
    st.binary(max_size=80).map(gzip.compress),
    rows.map(lambda found: gzip.compress(json.dumps(found).encode())[:-3]),
)
SUFFIXES = (".jsonl", ".json", ".md", ".txt", ".jsonl.gz", "")


@pytest.mark.parametrize("name", sorted(FORMATS))
@settings(max_examples=80)
@given(data=files, suffix=st.sampled_from(SUFFIXES))
def test_any_file_is_imported_or_refused_in_a_line(folder: Path, name: str, data: bytes, suffix: str) -> None:
    """Whatever stands in a file, an importer gives records with text or says in one line what is wrong."""
    file = folder / f"{name}{suffix}"
    file.write_bytes(data)
    report = ImportReport()
    try:
        found = list(read(name, file, report=report))
    except ContextPacksError as error:
        assert str(error).strip() and "\n" not in str(error)
        assert str(folder) not in str(error)
    else:
        assert all(isinstance(record, dict) for record in found)
        assert report.read == len(found)
    finally:
        file.unlink()


@pytest.fixture(scope="module")
def packs() -> Iterator[ContextPacks]:
    """A memory with a record and a thread in it."""
    with ContextPacks.open(":memory:", "planner", embedder="none") as packs:
        packs.remember("Deploys happen on Fridays at noon.")
        packs.threads.create("topic", thread_id="thr_a")
        packs.threads.add_trigger("thr_a", "ci", payload="log", trigger_id="trg_a")
        yield packs


@given(st.lists(st.one_of(values, st.dictionaries(st.sampled_from(FIELDS), values).map(_with_content)), max_size=3))
def test_any_value_is_remembered_or_refused(packs: ContextPacks, given_values: list[Any]) -> None:
    """Records of any shape: stored and given back whole, or refused with an error of our own."""
    try:
        written = packs.remember_many(given_values)
    except ContextPacksError as error:
        assert str(error).strip() and "\n" not in str(error)
        return
    assert len(written) == len(given_values)
    assert all(is_id(one.id) for one in written)


@settings(max_examples=40)
@given(texts)
def test_any_text_is_given_back_as_it_was_stored(packs: ContextPacks, text: str) -> None:
    """What was stored is read back, but for surrogates, which are replaced; it can be asked for and packed."""
    try:
        written = packs.remember(text, path="fuzz")
    except InvalidField as error:
        assert error.field == "content"
        return
    # Blanks at the end make no other content: then an earlier record answers.
    assert not written.created or packs.get(written.id).content == well_formed(text)
    pack = packs.recall_context(text, max_tokens=200)
    assert packs.count_tokens(pack.text) == pack.budget.used_tokens <= 200


# ---- hooks


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in a file with a few records."""
    store = tmp_path_factory.mktemp("held") / "memory.duckdb"
    with ContextPacks.open(store, embedder="none") as packs:
        packs.remember("Deploys happen on Fridays at noon.", pinned=True)
        packs.remember("デプロイは金曜日の正午に行う。")
    return store


HOOK_FIELDS = ("session_id", "cwd", "hook_event_name", "prompt", "source", "transcript_path", "trigger")
hook_inputs = st.one_of(
    texts,
    documents,
    st.dictionaries(st.sampled_from(HOOK_FIELDS), scalars).map(json.dumps),
    st.fixed_dictionaries({"cwd": st.just("/"), "prompt": texts}).map(json.dumps),
)


@settings(max_examples=40)
@given(
    host=st.sampled_from(("claude-code", "codex", "", "emacs")),
    event=st.sampled_from(("session-start", "user-prompt-submit", "stop", "")),
    said=hook_inputs,
)
def test_a_hook_never_fails_its_session(held: Path, host: str, event: str, said: str) -> None:
    """Whatever a host sends, the answer is a document of the host or nothing, with one line on what was wrong."""
    answer, fault = run_hook(host, event, lambda: said, str(held))
    assert "bug in context-packs" not in fault and "\n" not in fault
    assert not (answer and fault)
    if answer:
        document = json.loads(answer)["hookSpecificOutput"]
        assert document["hookEventName"] == EVENTS[host][event]
        assert 0 < len(document["additionalContext"]) <= 10_000


# ---- HTTP and MCP


PATHS = ("/v1/memories/search", "/v1/memories/{}", "/threads", "/threads/{}", "/threads/thr_a/events", "/triggers/{}")
PARAMETERS = (
    "query", "q", "limit", "cursor", "path", "bucket", "scope", "since", "until", "as_of", "time_order", "history",
    "query_mode", "status", "type", "memory_type", "team_id", "start", "owner_timezone", "nothing",
)  # fmt: skip
queries = st.dictionaries(st.sampled_from(PARAMETERS), st.one_of(scalars, st.lists(scalars, max_size=2)), max_size=5)


def _ask(packs: ContextPacks, requests: list[tuple[str, str, Any]]) -> list[httpx.Response]:
    """Answers of an application on this memory, in this process; a crash of it is raised here."""

    async def run() -> list[httpx.Response]:
        transport = httpx.ASGITransport(create_app(packs, profile="internal"), client=("127.0.0.1", 50_000))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
            return [
                await client.request(method, path, **({"content": sent} if method == "POST" else {"params": sent}))
                for method, path, sent in requests
            ]

    return anyio.run(run)


def _plain(value: object) -> str:
    return str(value).encode("utf-8", "replace").decode()


@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(st.sampled_from(PATHS), st.one_of(st.sampled_from(ODD_TEXTS), texts), queries), min_size=1, max_size=6
    )
)
def test_any_query_of_a_url_is_answered_below_500(packs: ContextPacks, asked: list[tuple[str, str, Any]]) -> None:
    """Parameters of any name and value, and any id in a path: an answer, or a problem document that says what."""
    requests = []
    for path, ref, given_query in asked:
        sent = [
            (name, _plain(value))
            for name, found in given_query.items()
            for value in (found if isinstance(found, list) else [found])
        ]
        requests.append(("GET", path.format(quote(_plain(ref)[:200] or "x", safe="")), sent))
    for answer in _ask(packs, requests):
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            assert answer.json()["detail"]


BODIES = (
    "/v1/recall/context",
    "/v1/remember",
    "/v1/update_state",
    "/v1/reminders",
    "/triggers",
    "/links",
    "/v1/recall",
)
BODY_FIELDS = (
    "query", "content", "max_tokens", "max_items", "path", "thread_id", "source", "payload", "from", "to", "rel", "x",
    "state_key", "metadata", "expires_at", "idempotency_key", "exclude_contents", "threshold",
)  # fmt: skip
body_fields = st.dictionaries(st.sampled_from(BODY_FIELDS), values, max_size=5)


@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(BODIES),
            st.one_of(st.binary(max_size=40), documents, body_fields.map(json.dumps)),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_any_body_is_answered_below_500(packs: ContextPacks, sent: list[tuple[str, Any]]) -> None:
    """Bytes that are no JSON, JSON of another shape and fields of any value: a result, or a problem document."""
    requests = [
        ("POST", path, body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass"))
        for path, body in sent
    ]
    for answer in _ask(packs, requests):
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            assert answer.json()["detail"]


TOOLS = (
    "recall_context", "recall", "recall_with_context", "get_contents", "search_memory", "get_chain", "remember",
    "forget", "get_mcp_identity", "nothing",
)  # fmt: skip
ARGUMENTS = (
    "query", "limit", "refs", "id", "content", "path", "max_items", "max_tokens", "mode", "cursor", "hops", "items",
    "full_content", "exclude_contents", "external_context", "agent_id", "ids", "other",
)  # fmt: skip
arguments = st.dictionaries(st.sampled_from(ARGUMENTS), values, max_size=5)


@settings(max_examples=20)
@given(st.lists(st.tuples(st.sampled_from(TOOLS), arguments), min_size=1, max_size=6))
def test_any_arguments_of_a_tool_are_answered(packs: ContextPacks, calls: list[tuple[str, dict[str, Any]]]) -> None:
    """Arguments of any name and value: a result, or an error in one line that is no fault of ours."""

    async def run() -> list[str]:
        said = []
        async with Client(build_server(lambda: packs, "internal"), mode="legacy") as client:
            for tool, given_arguments in calls:
                try:
                    result = await client.call_tool(tool, json.loads(json.dumps(given_arguments)))
                except MCPError as error:
                    said.append(str(error))
                    continue
                if result.is_error:
                    said.append(result.content[0].text)
        return said

    for line in anyio.run(run):
        assert line and "\n" not in line
        assert "bug in context-packs" not in line
