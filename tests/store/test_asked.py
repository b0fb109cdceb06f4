"""What a query asks: its parts, what is pasted into it, and prompts that ask for nothing."""

from datetime import UTC, datetime
from typing import Any

import pytest

from context_packs.store.query.parts import MAX_PARTS, read_query
from context_packs.store.query.pasted import said
from context_packs.store.query.speech import grammar, is_idle, reads_english

NOW = datetime(2026, 3, 4, 9, 0, tzinfo=UTC)  # a Wednesday

IDLE = (
    "ok|okay, thanks!|thank you so much|yes|no, not yet|sure, go ahead|go on|please continue|lgtm|looks great to me|"
    "good evening everybody|how are you?|great, merge it|push it now|undo that please|can you do it again?|never mind|"
    "sounds good, let's do this|perfect 👍|stop|wait a moment|see you tomorrow|fix them all, please|makes sense|"
    "sounds like a plan|commit and push|your call|thanks a lot!|I don't know|have a nice day|option b"
).split("|")
IDLE_JAPANESE = (
    "はい。|うん、いいよ|ありがとう！|どうもすみません|お世話になっております。|承知しました|わかりました、進めてください|"
    "こんにちは|続けて|もう一度お願いします|プッシュしてください|再起動して|それでいいです|大丈夫です|おやすみなさい|なるほど|"
    "お疲れ様です|では始めましょう|いい感じです|特にありません|問題ないです|その方針でお願いします|二つ目で|お任せします|"
    "もう一回|以上です|感謝です、助かる|たしかに|どっちでもいいです|すごいですね|少々お待ちください|元に戻して|また明日"
).split("|")
MATTER = (
    "deploy|Valkey|who owns the scanners?|when do we deploy|where is it kept|can you run the linter before lunch?|R|7|"
    "fix the login page|what is option b?|does it make sense to retry?|問題の原因は？|採用|A案の費用は？|いい店ある？|"
    "採水はいつ|船の手配は誰に頼む？|契約|リトライの回数は？|テストの手順を教えて|京"
).split("|")


@pytest.mark.parametrize("text", [*IDLE, *IDLE_JAPANESE])
def test_what_keeps_a_conversation_going_asks_for_nothing(text: str) -> None:
    """Greetings, consent, thanks, and requests for an act without its object."""
    assert is_idle(text)
    assert read_query(text, NOW).idle


@pytest.mark.parametrize("text", MATTER)
def test_a_word_that_names_something_is_asked_for(text: str) -> None:
    """One word of matter is enough, in whatever courtesy it is wrapped."""
    assert not is_idle(text)
    assert not read_query(text, NOW).idle


@pytest.mark.parametrize(
    "text",
    [
        "<task-notification>\n<summary>the backup of the mail server is done</summary>\n</task-notification>",
        "<bash-input>ls backups</bash-input>\n<bash-stdout>mail server</bash-stdout>",
        "<local-command-stdout>mail server</local-command-stdout>",
        "Caveat: The messages below were made while running local commands on the mail server.",
        "[Request interrupted by user for tool use]",
        "[Image #1]",
    ],
)
def test_notices_of_a_host_ask_for_nothing(text: str) -> None:
    """Nobody said them."""
    assert said(text) == ""
    assert read_query(text, NOW).idle


LOG = """2026-03-01T08:00:01Z INFO  pump[7] pressure 3.1 bar id=aa01
2026-03-01T08:00:02Z WARN  pump[7] pressure 3.4 bar id=aa02"""
TRACE = """Traceback (most recent call last):
  File "/opt/app/run.py", line 9, in main
    pump.start(retries=3)
app.errors.PumpStuck: pump seven does not move"""
DIFF = """diff --git a/pump.toml b/pump.toml
--- a/pump.toml
+++ b/pump.toml
@@ -1,2 +1,2 @@
-pressure = 3
+pressure = 4"""
TABLE = """id;name;pressure
1;pump seven;3.1
2;pump eight;3.3"""
MAIL = """From: alerts@example.com
Subject: Pump seven
Body: The pressure is low and the pump may stop."""
MAIL_JAPANESE = """差出人: 監視係
件名: ポンプの知らせ
本文: 圧力が下がりました。"""
CODE = "```python\npump.start()\npump.stop()\n```"


@pytest.mark.parametrize("pasted", [LOG, TRACE, DIFF, TABLE, MAIL, MAIL_JAPANESE, CODE])
@pytest.mark.parametrize("question", ["Who signs the invoices?", "請求書は誰が署名する？"])
def test_what_is_pasted_is_not_said(pasted: str, question: str) -> None:
    """Before, behind and around a question."""
    assert said(f"{pasted}\n\n{question}") == question
    assert said(f"{question}\n\n{pasted}") == question
    assert said(f"{pasted}\n\n{question}\n\n{pasted}") == question


def test_what_is_nothing_but_pasted_is_asked_about() -> None:
    """An error alone may be one that is known."""
    assert said(TRACE) == TRACE


def test_ordinary_lines_are_said() -> None:
    """Lists, several sentences and indented lines are no paste."""
    text = "We meet on Monday.\nPlease prepare:\n- the budget\n- the list of guests"
    assert said(text) == text


def test_hostile_prompts_are_read_in_time() -> None:
    """Open fences, unclosed elements and endless lines take no more than linear time."""
    for text in (
        "<a-b>" * 20_000,
        "```\n" * 20_000,
        "a" * 20_000,
        "て" * 20_000,
        "1" * 20_000,
        "? " * 10_000,
        "は" * 20_000,
    ):
        read_query(text[:20_000], NOW)


def test_a_query_has_a_part_for_each_sentence_and_line() -> None:
    """Idle ones are none, and of very many the first and the last count."""
    asked = read_query("Thanks! Please keep the diff small.\n- Who signs invoices? Where is the stamp kept?", NOW)
    assert [part.question for part in asked.parts] == [False, True, True]
    many = read_query("\n".join(f"The room number {n} has a blue door." for n in range(200)), NOW)
    assert len(many.parts) == MAX_PARTS
    assert "199" in many.words


def test_words_of_japanese_grammar_are_not_searched_for() -> None:
    """Endings, particles and the words of a request say nothing; the nouns do, single characters too."""
    asked = read_query("決済クライアントは要求を再試行しますか", NOW)
    assert "ます" not in asked.words
    assert {"決済", "要求", "再試"} <= set(asked.words)
    assert "鍵" in read_query("鍵はどこですか", NOW).words
    assert [char for char, mark in zip("鍵はどこですか", grammar("鍵はどこですか"), strict=True) if not mark] == ["鍵"]


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Who did the partners of the company pay?", True),
        ("Welche Farbe hat das Haus der Nachbarn?", False),
        ("Ποιος πληρώνει;", False),
        ("flaky gate test", True),
    ],
)
def test_english_is_told_by_its_common_words(text: str, english: bool) -> None:
    """Other languages keep a word rarely in the form in which it is stored."""
    assert reads_english(text) == english


# ---- in a store


def test_instructions_and_pasted_logs_neither_silence_nor_steer(kit: Any) -> None:
    """The question decides, wherever it stands."""
    store = kit.store()
    kit.write(store, "Invoices are signed by Mrs Baum on Thursdays.")
    kit.write(store, "Keep the summary of the pump file short and name each line.")
    wrapped = "Please keep the summary short, name each file and put no tables in. Who signs invoices?"
    for text in ("Who signs invoices?", wrapped, f"{LOG}\n\nWho signs invoices?", f"Who signs invoices?\n\n{TRACE}"):
        assert kit.find(store, text)[:1] == ["mem:1"], text


def test_two_questions_are_both_answered(kit: Any) -> None:
    """Of several parts each that is met is searched for."""
    store = kit.store()
    kit.write(store, "Invoices are signed by Mrs Baum.")
    kit.write(store, "The stamp lies in the green drawer.")
    kit.write(store, "The cellar is damp.")
    assert sorted(kit.find(store, "Who signs the invoices? And where does the stamp lie?")) == ["mem:1", "mem:2"]


@pytest.mark.parametrize(
    "query",
    [
        "Write a poem about the drawer of a clockmaker who never sleeps",
        "How do I whistle through a green leaf of grass?",
        "Which Thursday in Portugal is a holiday?",
        "味噌汁の作り方を教えてください",
        "ok, commit it",
    ],
)
def test_one_word_in_common_is_no_answer(kit: Any, query: str) -> None:
    """Neither is a word beside a name that nobody knows."""
    store = kit.store()
    kit.write(store, "Invoices are signed by Mrs Baum on Thursday.")
    kit.write(store, "The stamp lies in the green drawer.")
    kit.write(store, "請求書の控えは棚に入れてください。")
    assert kit.find(store, query) == []


def test_a_speaker_who_is_named_opens_the_gate(kit: Any) -> None:
    """What somebody known said is asked for, even where hardly a word is the same."""
    store = kit.store()
    kit.write(store, "Nora: I moved to a smaller flat.\nPim: Was it hard?\nNora: Not at all.", kind="episode")
    assert kit.find(store, "Which apartment rent does Nora consider affordable nowadays?") == ["ep:1"]
    assert kit.find(store, "Thanks Nora, that was it") == []


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        ("Книги хранятся в синем шкафу.", "Где лежат книгами?"),
        ("Οι άνθρωποι μένουν στο χωριό.", "ποιος ειναι ο ανθρωπος του χωριου"),
        ("تُحفظ المكتبات في المدينة القديمة.", "أين المكتبة في المدينه؟"),
        ("लड़कियाँ बगीचे में खेलती हैं।", "लड़की बगीचा"),
    ],
)
def test_inflected_words_meet_by_their_stems(kit: Any, stored: str, query: str) -> None:
    """Russian, Greek, Arabic and Hindi; accents, vowel signs and forms of alef make no difference."""
    store = kit.store()
    kit.write(store, stored)
    assert kit.find(store, query) == ["mem:1"]


@pytest.mark.parametrize(
    ("stored", "query"),
    [("髙橋さんの渡邉宛ての控え", "高橋 渡辺"), ("國會圖書館の鍵", "国会図書館"), ("山﨑の瀧", "山崎 滝")],
)
def test_kanji_of_old_and_new_form_meet(kit: Any, stored: str, query: str) -> None:
    """Names and texts from before the reform are found by today's writing."""
    store = kit.store()
    kit.write(store, stored)
    assert kit.find(store, query) == ["mem:1"]


def test_an_abbreviation_stands_for_several_words(kit: Any) -> None:
    """It is half of what is asked beside two other words; where all is in capitals it is a word like others."""
    store = kit.store(":memory:")
    told = kit.write(store, "The IPCC took back its figure on glaciers.").id
    kit.write(store, "A mistaken label on crate four.")
    kit.write(store, "So the neighbours say.")
    assert kit.find(store, "What did the IPCC say was mistaken?")[0] == told
    assert kit.find(store, "WHAT DID THE IPCC SAY WAS MISTAKEN?") == []


def test_pairs_across_two_words_need_not_be_known(kit: Any) -> None:
    """In Japanese: that nobody wrote the end of one word beside the beginning of the next tells little of either."""
    store = kit.store(":memory:")
    told = kit.write(store, "鍵はイダが持つ。門は五時に閉まる。").id
    for number in range(9):
        kit.write(store, f"箱{number}は倉庫の{number % 5}列にある。")
    assert kit.find(store, "夕方に門の鍵を閉めて回るのは誰の役目ですか？") == [told]
