"""The benchmark commands run, on data made up here that is just large enough for every table to have a row."""

import gzip
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from context_packs.store.search.ranking.scoring import SIGNALS

BENCH = Path(__file__).resolve().parent / "bench"


def bench(name: str, *arguments: object) -> tuple[str, dict[str, Any]]:
    """Standard output of a benchmark, and its JSON document, which the last argument names."""
    target = Path(str(arguments[-1]))
    command = [sys.executable, str(BENCH / f"{name}.py"), *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout, json.loads(target.read_text("utf-8"))


def write(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    """A dialogue of two sessions and a chat of two batches, each with questions."""
    said = [
        (1, "D1:1", "Ann", "My sister moved to Lisbon in March. She loves the trams there."),
        (1, "D1:2", "Bo", "How nice of her to go so far away!"),
        (2, "D2:1", "Bo", "I sold the old piano to a neighbour last week."),
        (2, "D2:2", "Ann", "Was it hard to carry down the stairs?"),
    ]
    write(
        tmp_path / "locomo" / "turns.jsonl.gz",
        (
            {"conv_id": "c1", "session": s, "iso": f"2023-0{s}-01T10:00:00", "dia_id": d, "speaker": who, "text": text}
            for s, d, who, text in said
        ),
    )
    asked = [
        ("q1", "Where did Ann's sister move?", 4, ["D1:1"], None),
        ("q2", "Who bought the piano?", 1, ["D2:2"], {"correct_evidence": ["D2:1"]}),
        ("q3", "What does nobody say?", 5, ["D1:2"], None),
        ("q4", "Which turn is missing?", 4, ["D9:9"], None),
    ]
    write(
        tmp_path / "locomo" / "questions.jsonl.gz",
        (
            {"qid": q, "conv_id": "c1", "question": text, "category": c, "category_name": f"kind-{c}"}
            | {"evidence": evidence, "audit": audit}
            for q, text, c, evidence, audit in asked
        ),
    )
    write(
        tmp_path / "beam100k" / "turns.jsonl.gz",
        (
            {"conv_id": "b1", "batch": 1 + n // 2, "id": n, "role": ("user", "assistant")[n % 2], "text": text}
            for n, text in enumerate(
                (
                    "Please plan my garden with tomatoes and basil.",
                    "Plant the tomatoes in May, near the southern wall.",
                    "The budget for the shed is four hundred euros.",
                    "Then choose the small shed with a felt roof.",
                )
            )
        ),
    )
    write(
        tmp_path / "beam100k" / "questions.jsonl.gz",
        (
            {"qid": f"b{n}", "conv_id": "b1", "ability": ability, "question": text, "evidence": evidence}
            for n, (ability, text, evidence) in enumerate(
                (
                    ("information_extraction", "What is the budget for the shed?", [2]),
                    ("abstention", "Which violin teacher comes on Thursdays?", []),
                )
            )
        ),
    )
    return tmp_path


def test_the_evidence_bench_finds_the_evidence_of_small_chats(chats: Path) -> None:
    """Evidence, corrected evidence and silence are counted as documented; unusable questions are left out."""
    pytest.importorskip("retainkit")
    printed, numbers = bench("evidence", "--data", chats, "--by-category", "--json", chats / "out.json")
    shares, chosen = numbers["locomo"]["rendered"], numbers["locomo"]["selection"]
    assert numbers["locomo"]["questions"] == {"kind-1": 1, "kind-4": 1}
    assert numbers["locomo"]["unusable"] == 1
    for fill in ("budget", "relevant"):
        assert [shares[fill]["shares"][f"{verdict}@512"] for verdict in ("any", "key", "whole")] == [1.0, 1.0, 1.0]
    assert chosen["context-packs"]["kind-1@4096"] == 1.0
    assert chosen["oracle"]["all@512"] == 1.0
    assert numbers["beam100k"]["rendered"]["budget"]["shares"]["any@512"] == 1.0
    silence = {(row["memory"], row["asked"]): (row["silent"], row["questions"]) for row in numbers["silence"]}
    assert silence["locomo", "own questions (lost)"] == (0, 2)
    assert silence["locomo", "questions of beam100k"] == (1, 1)
    assert silence["beam100k", "own questions without an answer"] == (1, 1)
    assert "| rendered, % of questions (95 % interval) " in printed
    assert "Machine: " in printed


def test_the_evidence_bench_says_what_each_signal_adds(chats: Path) -> None:
    """Of every signal but that of a model, with an interval; afterwards all of them count again."""
    pytest.importorskip("retainkit")
    printed, numbers = bench("evidence", "--data", chats, "--sets", "locomo", "--ablate", "--json", chats / "out.json")
    assert set(numbers["locomo"]) == set(SIGNALS) - {"meaning"}
    points, low, high = numbers["locomo"]["own"]["any@512"]
    assert low <= points <= high
    assert "| points it adds, 2 questions" in printed
    assert "silence" not in numbers


def test_the_bench_of_languages_counts_ranks(tmp_path: Path) -> None:
    """A passage without blanks is found first by what it says; words between blanks find nothing."""
    pytest.importorskip("bm25s")
    texts = {"j-p0": "東京の事務所は月曜日に開く。", "j-p1": "大阪の工場は冬の間ずっと閉まる。"}
    write(tmp_path / "jsquad" / "passages.jsonl.gz", ({"pid": p, "title": "場所", "text": t} for p, t in texts.items()))
    asked = {"事務所が開くのは月曜日": "j-p0", "大阪の工場が閉まる冬": "j-p1"}
    write(tmp_path / "jsquad" / "questions.jsonl.gz", ({"question": q, "pid": p} for q, p in asked.items()))
    _, numbers = bench("languages", "--data", tmp_path, "--json", tmp_path / "out.json")
    jsquad = numbers["sets"]["jsquad"]
    assert (jsquad["questions"], jsquad["passages"]) == (2, 2)
    scores = jsquad["scores"]
    assert [scores["context-packs"][name] for name in ("recall@10", "MRR", "nDCG@10", "silent")] == [1.0, 1.0, 1.0, 0.0]
    assert (scores["bm25s, blanks"]["recall@10"], scores["bm25s, blanks"]["silent"]) == (0.0, 1.0)


def test_the_speed_bench_measures_every_row(tmp_path: Path) -> None:
    """Each group of numbers is there and stands above zero."""
    pytest.importorskip("bm25s")
    few = ["--sizes", "20", "--queries", 1, "--writes", 1, "--starts", 1]
    printed, numbers = bench("speed", *few, "--json", tmp_path / "out.json")
    assert list(numbers["sizes"]) == ["20"]
    for name in (
        "import records/s",
        "file MB",
        "recall 8/1500 exclusive median ms",
        "recall 50/12000 shared p95 ms",
        "build+render 8/1500 median ms",
        "cold start median ms",
        "remember shared median ms",
        "found by next query exclusive median ms",
        "bm25s index records/s",
        "bm25s top 8 median ms",
    ):
        assert numbers["sizes"]["20"][name] > 0, name
    assert "| cold start median ms " in printed


def test_made_up_records_depend_on_the_seed_alone() -> None:
    """The first records of a larger store are those of a smaller one, in both scripts; another seed gives others."""
    probe = "import json, synthetic as s; w = lambda k, j: s.Writer(k, japanese=j, vocabulary=900); "
    probe += "print(json.dumps([[r['content'] for r in w(k, j).records(n)] + w(k, j).queries(2, 3)"
    probe += " for k, j, n in ((1, False, 3), (1, False, 5), (2, False, 3), (1, True, 3))]))"
    run = subprocess.run([sys.executable, "-c", probe], cwd=BENCH, capture_output=True, text=True, check=True)
    small, large, other, japanese = json.loads(run.stdout)
    assert small[:3] == large[:3]
    assert small[3:] == large[5:]
    assert small[0] != other[0]
    assert len(small[0].split()) == 90
    assert 3 <= len(small[3].split()) <= 8
    assert " " not in japanese[0]
    assert japanese[0].endswith(("した。", "します。", "された。", "となった。", "である。"))


def probed(script: str) -> Any:
    """What a script prints as JSON that imports the benchmark's modules."""
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, cwd=BENCH, capture_output=True, text=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(run.stdout)


def test_planted_passages_stand_once_and_alone() -> None:
    """The seed fixes the records. A passage stands in its record alone, once, and no other line of it has both the part
    and the setting that are asked for; English and Japanese come in pairs of as many lines, too long for a row."""
    made, again, other = probed(
        "import dataclasses, json, planted as p; "
        "print(json.dumps([[dataclasses.asdict(r) for r in p.records(s, 50)] for s in (7, 7, 8)]))"
    )
    assert made == again
    assert made[0]["content"] != other[0]["content"]
    assert [(one["language"], one["form"], one["depth"]) for one in (made[1], made[57])] == [
        ("English", "list", 0.1),
        ("Japanese", "table", 0.3),
    ]
    assert len(made) == 100
    everything = "".join(one["content"] for one in made)
    for one in made:
        assert everything.count(one["passage"]) == one["content"].count(one["passage"]) == 1
        assert len(one["content"]) > 1_500
    for english, japanese in zip(made[:50], made[50:], strict=True):
        assert english["content"].count("Q0") == japanese["content"].count("Q0")
        assert len(english["passage"]) > len(japanese["passage"])
    log = next(one for one in made if one["form"] == "log" and one["question"].startswith("What is the "))
    setting, part = log["question"].removeprefix("What is the ").partition(" in ")[0].split(" of the ")
    lines = log["content"].splitlines()
    assert [line for line in lines if part in line and setting in line] == [log["passage"]]
    assert sum(part in line for line in lines) > 3
    assert sum(setting in line for line in lines) > 3


def test_rows_are_scored_by_the_whole_passage_and_the_tokens_up_to_it() -> None:
    """White space aside the passage must be whole, in a row of its own record; a ceiling counts rows from the best."""
    pytest.importorskip("mcp")
    found, cut, others, none = probed(
        "import json, cpersona as c; "
        "rows = c.shown([{'ref': 'mem:2', 'content': 'a limit is 7 b'}, "
        "{'ref': 'mem:1', 'content': 'the log', 'excerpt': 'x … limit\\n  is 7'}], len); "
        "score = lambda ref, text: (o := c.outcome(rows, ref, text), [o.found, o.needed, o.tokens, "
        "o.within(84), o.within(85), o.within(None)])[1]; "
        "print(json.dumps([score('mem:1', 'limit is 7'), score('mem:1', 'limit is 70'), score('mem:3', 'limit'), "
        "[c.outcome([], 'mem:1', 'x').tokens]]))"
    )
    size = len('{"ref":"mem:2","content":"a limit is 7 b"}')
    both = size + len('{"ref":"mem:1","content":"the log","excerpt":"x \\u2026 limit\\n  is 7"}') - len("u2026")
    assert found == [True, both, both, False, both <= 85, True]
    assert cut == [True, None, both, False, False, False]
    assert others == [False, None, both, False, False, False]
    assert none == [0]


def test_our_rows_hold_the_planted_passages() -> None:
    """A running server, asked as in the comparison: each passage in its row, each ref whole, in every form."""
    pytest.importorskip("mcp")
    numbers, cost = probed(
        "import anyio, json, pathlib, tempfile, cpersona as c, planted as p; "
        "held = p.records(1, 10); folder = tempfile.TemporaryDirectory(); "
        "got = anyio.run(c.asked, c.ours(pathlib.Path(folder.name)), held, c.token_counter(c.ENCODING).count); "
        "folder.cleanup(); "
        "print(json.dumps([c.by_form(held, {c.OURS: got}), c.row_costs({c.OURS: got})]))"
    )
    assert [row[3:5] + row[6:] for row in numbers] == [["100.0"] * 3] * 12
    assert 0.7 < float(cost[0][3]) <= 1.3


def test_writers_side_by_side_lose_nothing(tmp_path: Path) -> None:
    """Each acknowledged write is counted and found; the row says what was lost, and the status is 0 for nothing."""
    few = ["--writes", 16, "--round", 16, "--processes", 2, "--any-pace"]
    printed, numbers = bench("many_writers", *few, "--json", tmp_path / "out.json")
    assert [numbers[name] for name in ("told", "lost", "doubled", "faults")] == [16, 0, 0, 0]
    assert "| acknowledged |" in printed


def test_killed_processes_break_no_promise(tmp_path: Path) -> None:
    """A few kills of single writers: every state that is found is a whole one, whatever the moment."""
    printed, numbers = bench("kills", "--kills", 4, "--only", "remember,chain", "--json", tmp_path / "out.json")
    assert numbers["wrong"] == {"remember": [], "chain": []}
    assert [sum(numbers["states"][name].values()) for name in ("remember", "chain")] == [3, 1]
    assert "| remember " in printed


def test_a_restore_shows_what_became_of_the_latest_sessions(tmp_path: Path) -> None:
    """Decision, open end and result of each, in two languages; no other project, no tool output before talk."""
    _, table = bench("restore", "--sessions", 12, "--projects", 1, "--json", tmp_path / "restore.json")
    for row in table:
        assert (row["asked"], row["shown"], row["foreign"], row["tool_first"]) == (9, 9, 0, 0), row
        assert row["tokens"] <= row["max_tokens"]
