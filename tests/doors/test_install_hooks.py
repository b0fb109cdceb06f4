"""Installing hooks: what a host's settings look like before and after, and that nothing else in them changes."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_packs.packer.doors.hooks.install import command_line, edited

Run = Callable[..., Any]
COMMAND = str(Path(sys.executable).with_name("context-packs"))
EVENTS = {
    "claude-code": {
        "SessionStart": "session-start",
        "UserPromptSubmit": "user-prompt-submit",
        "PreCompact": "pre-compact",
        "SessionEnd": "session-end",
    },
    "codex": {"SessionStart": "session-start", "UserPromptSubmit": "user-prompt-submit"},
}
FILES = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json"}
HANDLER = {"type": "command", "command": "context-packs hook claude-code session-start", "timeout": 10}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a project below it, which is the working folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "work" / ".git").mkdir(parents=True)
    (tmp_path / "work" / "src").mkdir()
    monkeypatch.chdir(tmp_path / "work" / "src")
    return tmp_path


def settings(path: Path, text: str) -> Path:
    """A settings file with this text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


# ---- the command


@pytest.mark.parametrize("host", EVENTS)
def test_hooks_are_installed_and_removed(run: Run, home: Path, host: str) -> None:
    """A new file gets one command per event, which names this installation; removing leaves an empty object."""
    file = home / FILES[host]
    ran = run("install-hooks", host, "--yes", "--store", "data/ada's 記憶.duckdb")
    assert ran.code == 0 and ran.out.startswith(f"--- /dev/null\n+++ ~/{FILES[host]}\n@@ ")
    hooks = json.loads(file.read_text("utf-8"))["hooks"]
    assert list(hooks) == list(EVENTS[host])
    store = str(home / "work" / "src" / "data" / "ada's 記憶.duckdb")
    for name, event in EVENTS[host].items():
        ((handler,),) = [group["hooks"] for group in hooks[name]]
        assert handler["type"] == "command" and 5 <= handler["timeout"] <= 10
        assert shlex.split(handler["command"]) == [COMMAND, "hook", host, event, "--store", store]
    assert run("install-hooks", host, "--yes").code == 0
    assert run("install-hooks", host, "--remove", "--yes").code == 0
    assert file.read_text("utf-8") == "{}\n"


@pytest.mark.parametrize("host", EVENTS)
def test_what_is_installed_answers(run: Run, home: Path, store: Path, host: str) -> None:
    """The command as it stands in the file, run by a shell, is a hook that gives memory."""
    run("remember", "Ada likes tea.", "--quiet")
    run("install-hooks", host, "--yes")
    handler = json.loads((home / FILES[host]).read_text("utf-8"))["hooks"]["SessionStart"][0]["hooks"][0]
    stdin = json.dumps({"cwd": str(home), "source": "startup"}).encode()
    ran = subprocess.run(handler["command"], shell=True, input=stdin, capture_output=True, check=False)
    assert ran.returncode == 0
    assert "Ada likes tea." in json.loads(ran.stdout)["hookSpecificOutput"]["additionalContext"]


def test_a_project_gets_its_own_settings(run: Run, home: Path) -> None:
    """At its Git root, with a command that means the same for everybody who shares them."""
    assert run("install-hooks", "claude-code", "--project", "--yes").code == 0
    hooks = json.loads((home / "work" / ".claude" / "settings.json").read_text("utf-8"))["hooks"]
    assert hooks["SessionEnd"][0]["hooks"][0]["command"] == "context-packs hook claude-code session-end"
    assert not (home / ".claude").exists()


def test_the_folder_of_the_host_may_be_elsewhere(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CLAUDE_CONFIG_DIR and CODEX_HOME name it, as they do for the hosts."""
    monkeypatch.setenv("CODEX_HOME", str(home / "elsewhere"))
    ran = run("install-hooks", "codex", "--yes")
    assert "+++ $CODEX_HOME/hooks.json\n" in ran.out and "review" in ran.err
    assert (home / "elsewhere" / "hooks.json").is_file()


def test_nothing_is_written_unasked(process: Run, home: Path) -> None:
    """Away from a terminal the change is shown and refused with the option that makes it; a dry run is no error."""
    ran = process("install-hooks", "claude-code")
    assert ran.code == 2 and "--yes" in ran.err and '+    "SessionStart": [' in ran.out
    dry = process("install-hooks", "claude-code", "--dry-run", "--yes")
    assert (dry.code, dry.out, dry.err) == (0, ran.out, "")
    assert not (home / ".claude").exists()


def test_installing_twice_changes_nothing(run: Run, home: Path) -> None:
    """The second time there is nothing to show, to ask or to write; likewise for removing."""
    run("install-hooks", "claude-code", "--yes")
    before = (home / FILES["claude-code"]).read_bytes()
    ran = run("install-hooks", "claude-code")
    assert (ran.code, ran.out, ran.err) == (0, "", "~/.claude/settings.json: nothing to change\n")
    assert (home / FILES["claude-code"]).read_bytes() == before
    assert run("install-hooks", "codex", "--remove").code == 0
    assert not (home / ".codex").exists()
    assert run("install-hooks", "codex", "--json", "--dry-run").json["changed"] is True


def test_a_file_that_is_not_json_is_left_alone(run: Run, home: Path) -> None:
    """The error names the file and the place, and not one byte changes."""
    for text in ('{"a": 1,}', "{", "[]", '{"hooks": []}', '{"hooks": {"SessionStart": {}}}', '{"a": NaN}', "// c\n{}",
                 "[" * 100_000):  # fmt: skip
        file = settings(home / FILES["claude-code"], text)
        ran = run("install-hooks", "claude-code", "--yes", "--json")
        assert (ran.code, ran.out, ran.error["field"]) == (2, "", "file")
        assert ".claude/settings.json" in ran.error["message"] and str(home) not in ran.err
        assert file.read_text("utf-8") == text
    file.write_bytes(b'{"caf\xe9": 1}')
    assert run("install-hooks", "claude-code", "--yes").code == 2
    assert file.read_bytes() == b'{"caf\xe9": 1}'


@pytest.mark.skipif(os.name == "nt", reason="links and modes")
def test_links_and_modes_stay(run: Run, home: Path) -> None:
    """Settings that are a link stay one, with the mode of the file behind it, and no draft is left."""
    file = settings(home / "dotfiles" / "claude.json", '{"model": "x"}')
    file.chmod(0o600)
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").symlink_to(file)
    assert run("install-hooks", "claude-code", "--yes").code == 0
    assert (home / ".claude" / "settings.json").is_symlink()
    assert json.loads(file.read_text("utf-8"))["model"] == "x" and file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["claude.json"]


# ---- the text

KEPT = """{
    "model" : "x",   "numbers": [1.0, 1e5, 10000000000000000001],
    "escaped": "\\u3042\\/",
    "hooks": {
        "Stop": [ {"hooks": [{"type": "command", "command": "notify"}]} ],
        "SessionStart": [
            {
                "matcher": "startup",
                "hooks": [
                    {
                        "type": "command",
                        "command": "echo context-packs"
                    }
                ]
            }
        ]
    },
    "last": {"a":1}
}
"""


def test_everything_else_keeps_its_bytes() -> None:
    """Only the list of the event is written; order, blanks, numbers and escapes around it stand as they were."""
    text = edited(KEPT, "claude-code", {"SessionStart": HANDLER, "SessionEnd": HANDLER}, "f")
    handler = (
        '            {\n                "hooks": [\n                    {\n                        "type": "command",\n'
        '                        "command": "context-packs hook claude-code session-start",\n'
        '                        "timeout": 10\n                    }\n                ]\n            }\n        ]'
    )
    expected = KEPT.replace("            }\n        ]", "            },\n" + handler)
    expected = expected.replace(
        '        ]\n    },\n    "last"', f'        ],\n        "SessionEnd": [\n{handler}\n    }},\n    "last"'
    )
    assert text == expected
    assert edited(text, "claude-code", {"SessionStart": None, "SessionEnd": None}, "f") == KEPT


OTHERS = (
    '{\n  "hooks": {\n    "SessionStart": [\n      {"matcher":"x", "hooks": [{"command":"a"}]}\n    ]\n  }\n}',
    '{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"a"}]}, 1.0],"X":[]},"k":"}{"}\n',
    '{\r\n\t"hooks": {\r\n\t\t"SessionStart": [ "\\ud800", {"hooks" : [ ]} ]\r\n\t}\r\n}',
)


@pytest.mark.parametrize("text", OTHERS)
def test_hooks_of_others_at_the_same_event_keep_their_bytes(text: str) -> None:
    """Ours comes behind them as text and goes as text: nothing of theirs is written anew."""
    result = edited(text, "claude-code", {"SessionStart": HANDLER}, "f")
    before, after = json.loads(text)["hooks"]["SessionStart"], json.loads(result)["hooks"]["SessionStart"]
    assert after == [*before, {"hooks": [HANDLER]}]
    cut = next(at for at, (old, new) in enumerate(zip(text, result, strict=False)) if old != new)
    assert result[:cut] + result[cut + len(result) - len(text) :] == text
    assert edited(result, "claude-code", {"SessionStart": None}, "f") == text


def test_only_our_own_command_is_renewed() -> None:
    """In a group that is shared, with the bytes around it; taken out, the others of the group stay as they are."""
    line = '{{"hooks":{{"SessionStart":[{{"hooks":[{{"command":"a"}},{}{{"command":"b"}}]}}]}}}}'
    ours = '{{"timeout":6e1,"command":"{}"}},'
    old, new = ours.format("/old/context-packs hook claude-code session-start"), ours.format(HANDLER["command"])
    assert edited(line.format(old), "claude-code", {"SessionStart": HANDLER}, "f") == line.format(new)
    assert edited(line.format(old), "claude-code", {"SessionStart": None}, "f") == line.format("")


def test_an_empty_list_of_somebody_else_stays() -> None:
    """Where nothing of ours is taken out nothing is changed."""
    text = '{"hooks": {"SessionStart": [], "Stop": []}}'
    assert edited(text, "claude-code", {"SessionStart": None}, "f") == text


FORMS = (
    '{"a": 1}',
    "{}",
    "",
    "\n",
    '\ufeff{"a": 1}\n',
    '{"hooks": {}, "b": 2}',
    '{"hooks":{"Stop":[]}}',
    '{\r\n\t"a": 1\r\n}\r\n',
    '{"hooks": 1, "hooks": {}}',
)


@pytest.mark.parametrize("text", FORMS)
def test_any_form_of_file_is_kept(text: str) -> None:
    """One line, tabs, CRLF, a byte order mark, an empty file: the result is JSON that says the same and our hooks."""
    result = edited(text, "claude-code", {"SessionStart": HANDLER}, "f")
    value = json.loads(result.removeprefix("\ufeff"))
    assert value["hooks"].pop("SessionStart") == [{"hooks": [HANDLER]}]
    before = json.loads(text.removeprefix("\ufeff")) if text.strip() else {}
    assert {**value, "hooks": value["hooks"] or None} == {**before, "hooks": before.get("hooks") or None}
    assert result.startswith("\ufeff") == text.startswith("\ufeff")
    assert ("\r\n" in text) == ("\r\n" in result)
    if "\r\n" in text:
        assert not re.search(r"(?<!\r)\n", result)
    assert edited(result, "claude-code", {"SessionStart": HANDLER}, "f") == result


def test_what_the_user_changed_of_our_hook_stays() -> None:
    """Only the command is renewed, in the place where it stands; a second one of ours goes, others' stay."""
    mine = {"type": "command", "command": "/old/context-packs hook claude-code session-start", "timeout": 60, "x": "y"}
    theirs = {"type": "command", "command": "context-packs hook codex session-start"}
    before = {"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [theirs, mine]}, {"hooks": [mine]}, "odd"]}}
    after = json.loads(edited(json.dumps(before), "claude-code", {"SessionStart": HANDLER}, "f"))
    renewed = {**mine, "command": HANDLER["command"]}
    assert after == {"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [theirs, renewed]}, "odd"]}}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
GROUPS = st.lists(st.fixed_dictionaries({"hooks": st.lists(JSON, min_size=1, max_size=2)}), min_size=1, max_size=2)
HOOKS = st.dictionaries(st.sampled_from(("SessionStart", "SessionEnd", "Stop", "Other")), GROUPS, min_size=1)


@given(
    st.dictionaries(st.text().filter(lambda key: key != "hooks"), JSON, max_size=3),
    st.none() | HOOKS,
    st.booleans(),
    st.sampled_from((None, 1, 2, 4, "\t")),
    st.booleans(),
)
def test_installing_and_removing_gives_the_file_back(
    others: dict[str, Any], hooks: dict[str, Any] | None, first: bool, indent: int | str | None, ascii_only: bool
) -> None:
    """Whatever else the settings hold: with our hooks they say the same and more; without them again, the same."""
    before = others if hooks is None else {"hooks": hooks, **others} if first else {**others, "hooks": hooks}
    text = json.dumps(before, indent=indent, ensure_ascii=ascii_only)
    wanted = {"SessionStart": HANDLER, "PreCompact": HANDLER}
    with_ours = edited(text, "claude-code", wanted, "f")
    value = json.loads(with_ours)
    assert list(value) == [*before, *(["hooks"] if hooks is None else [])]
    for event in wanted:
        assert value["hooks"][event] == [*(hooks or {}).get(event, []), {"hooks": [HANDLER]}]
    assert {name: value[name] for name in others} == others
    without = edited(with_ours, "claude-code", dict.fromkeys(wanted), "f")
    assert json.loads(without) == before


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("said", "code", "written"), [(b"y\n", 0, True), (b"n\n", 130, False), (b"\n", 130, False)])
def test_on_a_terminal_it_asks(home: Path, said: bytes, code: int, written: bool) -> None:
    """The change is shown and the question asked; only a yes writes."""
    import pty

    ours, theirs = pty.openpty()
    try:
        os.write(ours, said)
        command = [COMMAND, "install-hooks", "claude-code"]
        ran = subprocess.run(command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, check=False)
        told = os.read(ours, 10_000)
        while b"[y/N]" not in told:  # a read may give the echo of the answer alone
            told += os.read(ours, 10_000)
    finally:
        os.close(ours)
        os.close(theirs)
    assert (ran.returncode, ran.stdout.startswith(b"--- /dev/null\n")) == (code, True)
    assert b"Write ~/.claude/settings.json? [y/N]" in told
    assert (home / FILES["claude-code"]).exists() == written


# ---- the command: K2


def by_windows(line: str) -> list[str]:
    """The words of a command as the C runtime of Windows divides them, where no quote stands in a word."""
    return [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|(\S+)', line)]


@pytest.mark.parametrize(
    "words",
    [
        [r"C:\Users\kim\venv\Scripts\context-packs.exe", "hook", "claude-code", "session-start"],
        [
            r"C:\Program Files (x86)\cp\context-packs.exe",
            "hook",
            "codex",
            "session-start",
            "--store",
            r"D:\my stores\a&b.duckdb",
        ],
        [r"C:\Users\木村\context-packs.exe", "hook", "claude-code", "pre-compact", "--agent", "planner's; rm"],
    ],
)
def test_k2_a_command_means_the_same_to_every_shell_of_windows(words: list[str]) -> None:
    """K2: Git Bash, which eats backslashes, cmd and the C runtime read the same words; paths have forward slashes."""
    line = command_line(words, windows=True)
    meant = [word.replace("\\", "/") for word in words]
    assert shlex.split(line) == by_windows(line) == meant
    assert shlex.split(command_line(words, windows=False)) == words
