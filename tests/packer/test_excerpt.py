"""Preview and excerpt: a pure prefix, and the passages that match with what governs them."""

import time
from dataclasses import replace
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from context_packs.packer.excerpt import JOINER, excerpt, preview
from context_packs.store.records import Record, Span
from context_packs.store.text.analyzer import index_terms, query_terms

FAMILY = "👨‍👩‍👧‍👦"
FILLER = "The harbour was calm and nobody saw anything worth a note. " * 4
HOSTILE_RUNS = ("a" * 500_000, "a" + "\u0301" * 500_000, "🇯🇵" * 250_000, "あ" * 500_000, FAMILY * 70_000, " " * 500_000)


def ranked(record: Record, query: str) -> list[int]:
    """Ordinals of the passages that hold words of the query: most different words first, then text order."""
    words = set(query_terms(query))
    counts = {
        span.ordinal: len(words.intersection(index_terms(record.content[span.start : span.end])))
        for span in record.passages
    }
    return sorted((ordinal for ordinal in counts if counts[ordinal]), key=lambda n: (-counts[n], n))


def ends_of_clusters(text: str) -> set[int]:
    return {0, *(match.end() for match in regex.finditer(r"\X", text))}


# ---- preview


@pytest.mark.parametrize(
    ("text", "chars", "expected"),
    [
        ("", 5, ("", False)),
        ("abcde", 5, ("abcde", False)),
        ("abcdef", 5, ("abcde", True)),
        ("会議は九時", 3, ("会議は", True)),
        ("abcde\u0301", 5, ("abcd", True)),
        ("ab" + FAMILY, 5, ("ab", True)),
        ("ab" + FAMILY, 2 + len(FAMILY), ("ab" + FAMILY, False)),
        ("🇯🇵🇫🇷🇮🇹", 3, ("🇯🇵", True)),
        ("a\r\nb", 2, ("a", True)),
        ("กำลัง", 1, ("", True)),
        ("abcdef", 0, ("abcdef", False)),
        ("abcdef", -1, ("abcdef", False)),
    ],
)
def test_a_preview_is_the_longest_start_that_ends_between_clusters(
    text: str, chars: int, expected: tuple[str, bool]
) -> None:
    """Marks, joined emoji, flags, CR LF and Thai vowels are never parted; nothing is added; 0 cuts nothing."""
    assert preview(text, chars) == expected


@given(text=st.text(st.sampled_from("ab \r\n\u0301\u200d👩🏽🇯🇵กำ한ᄒ\ud800"), max_size=40), chars=st.integers(1, 30))
def test_a_preview_is_a_prefix_that_could_not_be_longer(text: str, chars: int) -> None:
    """It is a prefix, ends where a cluster of the whole text ends, and the next such end is too far."""
    shown, cut = preview(text, chars)
    assert text.startswith(shown)
    assert cut == (len(text) > chars)
    assert len(shown) == max(end for end in ends_of_clusters(text) if end <= chars)


@pytest.mark.parametrize("text", HOSTILE_RUNS, ids=["ascii", "marks", "flags", "kana", "families", "blanks"])
def test_long_runs_of_one_character_cost_nothing(kit: Any, text: str) -> None:
    """Half a million characters without a border are previewed and excerpted in well under a second."""
    record = kit.record(1, text) if text.strip() else replace(kit.record(1, "x"), content=text, passages=())
    whole = replace(record, passages=(Span(0, 0, len(text)),))
    start = time.process_time()
    shown, cut = preview(text)
    found = [excerpt(one, "a あ needle", [0]) for one in (record, whole)]
    assert time.process_time() - start < 2
    assert cut and text.startswith(shown) and len(shown) <= 500
    assert all(len(one.text) <= 800 for one in found)


# ---- excerpt


def test_passages_that_match_stand_in_text_order_with_the_joiner_only_over_text(kit: Any) -> None:
    """Neighbouring matches are one part, distant ones are joined by the mark; what has no word of the query is out."""
    text = f"Backups run nightly. {FILLER}Restores take an hour. Backups are kept for a year. {FILLER}Lunch is at one."
    record = kit.record(1, text)
    found = excerpt(
        record, "how long are backups kept, how long do restores take", ranked(record, "backups restores kept")
    )
    assert found.text == "Backups run nightly. … Restores take an hour. Backups are kept for a year."
    assert found.basis == "blocks"
    assert found.text == JOINER.join(text[a:b] for a, b in found.spans)


@pytest.mark.parametrize(
    ("rule", "exception"),
    [
        ("Deploys run daily at nine in the morning. ", "However, never in the week of a release. "),
        ("Deploys run daily at nine in the morning. ", "Except on Fridays, when nobody may touch it. "),
        ("\n\nDeploys run daily at nine.\n\n", "Unless the harbour master objects in writing.\n\n"),
        ("Deployは毎朝九時に行うことになっている。", "ただし、金曜日には行わないものとする。"),
        ("Deployは毎朝九時に行うことになっている。", "しかし連休の前の日には誰も行わない。"),
        ("Deployは毎朝九時に行うことになっている。", "（週末と祝日の前の日を除く、と決めた。）"),
    ],
    ids=["however", "except", "unless", "tadashi", "shikashi", "nozoku"],
)
def test_a_passage_brings_the_one_that_qualifies_it(kit: Any, rule: str, exception: str) -> None:
    """An exception that follows the match comes along, in English and in Japanese, also as a paragraph of its own."""
    filler = FILLER if rule.isascii() else "天気の話をしてから昼食の話をした。" * 20
    record = kit.record(1, f"{filler}{rule}{exception}{filler}")
    hits = ranked(record, "when does deploy run")
    assert len(hits) == 1
    assert excerpt(record, "when does deploy run", hits).text == f"{rule}{exception}".strip()


def test_an_exception_that_matches_brings_what_it_is_an_exception_to(kit: Any) -> None:
    """A match that begins with "However" is not shown without the sentence before it."""
    text = f"{FILLER}Everybody may deploy on every day of the week. However, the payroll service has a freeze. {FILLER}"
    record = kit.record(1, text)
    found = excerpt(record, "payroll freeze", ranked(record, "payroll freeze"))
    assert found.text == "Everybody may deploy on every day of the week. However, the payroll service has a freeze."


def test_a_second_match_is_not_shown_without_its_exception(kit: Any) -> None:
    """Where a further match fits but its qualifier does not, neither is shown."""
    one = "The deploy of the web shop takes ten minutes and needs no approval at all."
    two = "The deploy of the payroll takes an hour."
    but = "However, " + "it needs the approval of somebody who is awake and has read the guide " * 3 + "."
    record = kit.record(1, f"{one} {FILLER}{two} {but} {FILLER}")
    hits = ranked(record, "deploy")
    assert excerpt(record, "deploy", hits, 150).text == one
    assert excerpt(record, "deploy", hits, 800).text == f"{one}{JOINER}{two} {but}"


def test_a_piece_of_a_long_sentence_brings_the_rest_of_it(kit: Any) -> None:
    """A sentence that was cut into passages for its length is shown whole where it fits."""
    sentence = (
        "The import must never run, " + "and this is what we all agreed on after the outage, " * 8 + "on a Monday."
    )
    record = kit.record(1, f"{FILLER}{sentence} {FILLER}")
    hits = ranked(record, "Monday import")
    assert sum(sentence[:20] in record.content[s.start : s.end] for s in record.passages) == 1
    assert excerpt(record, "which day is Monday", ranked(record, "Monday")).text == sentence
    cut = excerpt(record, "which day is Monday", ranked(record, "Monday"), 300)
    assert cut.text.endswith("on a Monday.") and len(cut.text) <= 300
    assert len(hits) == 2


def test_rows_items_and_sections_bring_what_stands_above_them(kit: Any) -> None:
    """A table row comes with the names of its columns, a list item with its introduction, both with their heading."""
    text = (
        "# Hosts\n\n| name | port |\n|---|---|\n| alpha | 1 |\n| bravo | 2 |\n| charlie | 3 |\n\n"
        "# Choices\n\nRejected for good:\n\n- a graph engine\n- a message broker\n- a second cache\n\n" + FILLER
    )
    record = kit.record(1, text)
    row = excerpt(record, "charlie", ranked(record, "charlie"), 200)
    assert row.text == "# Hosts\n\n| name | port |\n|---|---| … | charlie | 3 |"
    item = excerpt(record, "broker", ranked(record, "broker"), 200)
    assert item.text == "# Choices\n\nRejected for good: … - a message broker"


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("2026-03-01 10:00:00 ERROR payment gateway gave up", "2026-03-01 10:00:00 INFO worker {} is idle"),
        ("- payment gateway: two retries", "- worker {}: idle"),
        ("| payment gateway | two retries |", "| worker {} | idle |"),
        ("    payment_gateway(retries=2)", "    worker_{}(idle=True)"),
        ("payment gateway gave up", "worker {} is idle"),
    ],
    ids=["log", "bullets", "table", "code", "lines"],
)
def test_the_match_is_found_in_text_without_sentence_marks(kit: Any, line: str, other: str) -> None:
    """In logs, lists, tables, code and bare lines the matching line is in the excerpt, at any place of the record."""
    lines = [other.format(n) for n in range(120)]
    for place in (0, 57, 119):
        body = "\n".join([*lines[:place], line, *lines[place + 1 :]])
        record = kit.record(1, f"```py\n{body}\n```" if line.startswith(" ") else body)
        query = "payment gateway"
        found = excerpt(record, query, ranked(record, query), 400)
        assert line.strip() in found.text
        assert len(found.text) <= 400


@pytest.mark.parametrize("fence", ["```", ""], ids=["fenced", "bare"])
@pytest.mark.parametrize(
    ("part", "setting", "query"),
    [
        ("mail gateway", "poll interval", "poll interval of the mail gateway in Velmora"),
        ("メール中継", "巡回の間隔", "Velmoraでメール中継の巡回の間隔はいくつですか"),
    ],
)
def test_a_line_of_code_with_all_words_comes_before_lines_that_share_them(
    kit: Any, part: str, setting: str, query: str, fence: str
) -> None:
    """Code is ranked by blocks of lines. The block with all words in one line is shown, also where it is ranked last
    and a heading first, before blocks where each line has some of them."""
    others = [f'set("{part}", "limit {n}", {n})\nset("map renderer {n}", "{setting}", {n})\n\n\n' for n in range(24)]
    code = "".join([*others[:17], f'set("{part}", "{setting}", 41)\nset("clock", "zone", 0)\n\n\n', *others[17:]])
    record = kit.record(1, f"# Configuration of Velmora\n\n{fence}\n{code}{fence}\n")
    answers = [span.ordinal for span in record.passages if ", 41)" in record.content[span.start : span.end]]
    hits = [*(span.ordinal for span in record.passages if span.ordinal not in answers), *answers]
    assert f'set("{part}", "{setting}", 41)' in excerpt(record, query, hits, 400).text


def test_a_passage_longer_than_the_excerpt_is_cut_around_the_words(kit: Any) -> None:
    """The part with most words of the query is shown, from word to word, and never more than there is room for."""
    text = "alpha " * 40 + "then the needle lay in the haystack for years " + "omega " * 40
    record = replace(kit.record(1, text), passages=(Span(0, 0, len(text)),))
    found = excerpt(record, "needle haystack", [0], 60)
    assert "needle lay in the haystack" in found.text
    assert len(found.text) <= 60
    assert found.text.split()[0] in {"alpha", "then"} and found.text.split()[-1] in {"years", "for", "omega"}
    assert found.basis == "start"


def test_without_hits_and_without_words_it_is_the_start(kit: Any) -> None:
    """No hits, a blank query over the beginning, and no room for anything: the start of the record, or nothing."""
    text = f"First sentence of the record. {FILLER}"
    record = kit.record(1, text)
    start = excerpt(record, "anything", [], 40)
    assert (start.text, start.basis, start.spans) == ("First sentence of the record.", "start", ((0, 29),))
    assert excerpt(record, "", [0, 1, 2], 40) == start
    assert excerpt(record, "anything", [], 0).text == ""
    assert excerpt(record, "record", [0], 0).text == ""
    blank = replace(record, content="  \n ", passages=(Span(0, 0, 4, "blank"),))
    assert excerpt(blank, "record", [0]).text == ""


def test_a_hit_without_a_word_of_the_query_counts_only_where_none_has_one(kit: Any) -> None:
    """A neighbour that recall also ranked is no filler; a best hit found by its meaning alone is shown by itself."""
    text = "The weather was mild. Backups run nightly at two. The cook made soup for everybody here."
    record = kit.record(1, text)
    assert excerpt(record, "backups", [1, 0, 2]).text == "Backups run nightly at two."
    assert excerpt(record, "backups", [2, 0, 1, 99, -1]).text == "Backups run nightly at two."
    assert excerpt(record, "copies of data", [1]).text == "Backups run nightly at two."


def test_a_record_that_was_never_divided_is_divided_now(kit: Any) -> None:
    """Without stored passages the ordinals are those of a fresh division, and the basis says so."""
    record = replace(kit.record(1, f"{FILLER}Backups run nightly at two. {FILLER}"), passages=())
    found = excerpt(record, "backups", [4])
    assert (found.text, found.basis) == ("Backups run nightly at two.", "lexical")


def test_lines_that_say_the_same_are_shown_once(kit: Any) -> None:
    """Equal lines of a log do not fill the excerpt."""
    lines = "\n".join(["INFO: cache is cold"] * 50 + ["INFO: cache was dropped"])
    record = kit.record(1, lines)
    assert excerpt(record, "cache", ranked(record, "cache")).text == "INFO: cache is cold … INFO: cache was dropped"


TEXTS = st.lists(
    st.sampled_from(
        [
            "Backups run nightly. ",
            "However, not on Sundays. ",
            "東京の会議は九時から。",
            "ただし、金曜日を除く。",
            "\n\n# Heading\n\n",
            "- item with backups\n",
            "| a | backups |\n",
            "ERROR: backups failed\n",
            "word " * 90,
            "🇯🇵" * 30,
            "e\u0301" * 40,
            FAMILY * 9,
            "\n",
            "   ",
            "Nothing to see here. ",
        ]
    ),
    min_size=1,
    max_size=25,
).map("".join)


@given(text=TEXTS, query=st.sampled_from(["backups", "会議 九時", "word failed", "", "zzz"]), chars=st.integers(1, 400))
def test_an_excerpt_is_parts_of_the_record_within_its_ceiling(kit: Any, text: str, query: str, chars: int) -> None:
    """Parts are ranges in order with text between them, cut between clusters, joined within the ceiling; the best
    match is inside where it fits; the same call gives the same answer."""
    record = kit.record(1, text)
    hits = ranked(record, query)
    found = excerpt(record, query, hits, chars)
    assert found == excerpt(record, query, hits, chars)
    assert len(found.text) <= chars
    assert found.text == JOINER.join(text[a:b] for a, b in found.spans)
    assert all(b < c and text[b:c].strip() for (_, b), (c, _) in zip(found.spans, found.spans[1:], strict=False))
    assert {place for span in found.spans for place in span} <= ends_of_clusters(text)
    assert found.text == found.text.strip()
    if hits:
        span = record.passages[hits[0]]
        best = text[span.start : span.end].strip()
        assert best in found.text or len(best) > chars
