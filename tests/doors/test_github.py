"""GitHub deliveries as threads and one-line summaries; the bodies are small ones of our own in GitHub's field names."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from context_packs.packer.doors.github.body import LINE_CHARS, first_line, one_line
from context_packs.packer.doors.github.delivery import Delivery, is_signed, json_text, read_delivery, signature
from context_packs.store.errors import InvalidField

REPOSITORY = {"id": 7, "full_name": "acme/shop", "html_url": "https://github.com/acme/shop"}
SENDER = {"login": "mika"}
SHA = "0123456789abcdef0123456789abcdef01234567"
PULL = {
    "number": 412,
    "title": "Retry with backoff",
    "state": "open",
    "merged": False,
    "merged_at": None,
    "head": {"ref": "retry", "sha": SHA},
    "base": {"ref": "main", "repo": {"id": 7}},
    "updated_at": "2026-03-01T09:30:00Z",
}
NAMED = [{"number": 412, "base": {"ref": "main", "repo": {"id": 7}}}]
THREAD_ID = regex.compile(r"thr_[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def read(event: str, **body: Any) -> Delivery:
    return read_delivery(
        event, "72d3162e-cc78-11e3-81ab-4c9367dc0958", {"repository": REPOSITORY, "sender": SENDER, **body}
    )


def thread(delivery: Delivery) -> tuple[str, str, str, str]:
    """Natural key, first id, summary, status."""
    made = delivery.thread
    return made.natural_key, made.ids[0], made.summary, made.status


# ---- the five that matter most


def test_a_pull_request_is_its_thread_with_title_and_status() -> None:
    """An opened pull request gives a thread named after its number and a summary that says what it is."""
    found = read(
        "pull_request", action="opened", pull_request=PULL | {"commits": 1, "changed_files": 3, "additions": 9}
    )
    assert thread(found) == (
        "github:acme/shop/pull/412", "thr_pr_412", "PR #412 in acme/shop: Retry with backoff", "open"
    )  # fmt: skip
    assert found.summary == "mika opened PR #412 (retry to main, 1 commit, 3 files, +9 -0): Retry with backoff"
    assert found.source == "github:pull_request"
    assert found.external_id == "72d3162e-cc78-11e3-81ab-4c9367dc0958"
    assert found.occurred_at == datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    assert found.thread.titled


def test_the_same_number_in_another_repository_has_another_key_and_further_ids() -> None:
    """Identity is the natural key; ids are offered from the readable one to one that only this key can have."""
    here = read("pull_request", action="opened", pull_request=PULL).thread
    there = read(
        "pull_request", action="opened", pull_request=PULL, repository=REPOSITORY | {"full_name": "acme/desk"}
    ).thread
    assert here.ids[:2] == ("thr_pr_412", "thr_pr_412_acme-shop")
    assert there.ids[:2] == ("thr_pr_412", "thr_pr_412_acme-desk")
    assert there.natural_key == "github:acme/desk/pull/412"
    assert here.ids[2] != there.ids[2]


@pytest.mark.parametrize(
    ("action", "changes", "summary", "status"),
    [
        ("closed", {"state": "closed", "merged": True}, "mika merged PR #412", "merged"),
        ("closed", {"state": "closed"}, "mika closed PR #412 unmerged", "closed"),
        ("reopened", {}, "mika reopened PR #412", "open"),
        ("ready_for_review", {}, "mika marked PR #412 ready for review", "open"),
        ("never_seen_before", {}, "mika never seen before PR #412", "open"),
    ],
)
def test_what_happens_to_a_pull_request_is_told_and_moves_its_status(
    action: str, changes: dict[str, Any], summary: str, status: str
) -> None:
    """Merged, closed and reopened are told apart, in words and as the thread's status."""
    found = read("pull_request", action=action, pull_request=PULL | changes)
    assert found.summary == f"{summary}: Retry with backoff"
    assert found.thread.status == status


def test_a_failed_check_stands_on_the_pull_request_that_it_names() -> None:
    """Name, conclusion, commit and the check's own title are in the line; the thread's title is left alone."""
    found = read(
        "check_run",
        action="completed",
        check_run={
            "name": "test (3.11)",
            "status": "completed",
            "conclusion": "failure",
            "head_sha": SHA,
            "completed_at": "2026-03-01T10:00:00Z",
            "output": {"title": "2 failed, 310 passed"},
            "pull_requests": NAMED,
        },
    )
    assert found.thread.natural_key == "github:acme/shop/pull/412"
    assert (found.thread.titled, found.thread.status, found.thread.moves) == (False, "open", False)
    assert found.summary == 'check "test (3.11)" failed on PR #412 (0123456): 2 failed, 310 passed'
    assert found.occurred_at == datetime(2026, 3, 1, 10, tzinfo=UTC)


def test_a_check_that_names_a_pull_request_of_a_fork_stands_on_its_branch() -> None:
    """The pull request with that number here would be another one."""
    found = read(
        "check_suite",
        action="completed",
        check_suite={
            "head_branch": "main",
            "head_sha": SHA,
            "conclusion": "success",
            "app": {"name": "CI"},
            "pull_requests": [{"number": 3, "base": {"repo": {"id": 99}}}],
        },
    )
    assert thread(found) == ("github:acme/shop/tree/main", "thr_branch_main", "Branch main of acme/shop", "active")
    assert found.summary == "check suite of CI passed on main (0123456)"


def test_a_workflow_run_of_a_fork_does_not_stand_on_our_branch_of_that_name() -> None:
    """A run for a fork's branch names no pull request; its thread is the fork's branch."""
    run = {
        "name": "CI",
        "run_number": 9,
        "run_attempt": 2,
        "status": "completed",
        "conclusion": "timed_out",
        "head_branch": "main",
        "head_sha": SHA,
        "display_title": "修正: 再試行",
        "head_repository": {"full_name": "taro/shop", "html_url": "https://github.com/taro/shop"},
        "pull_requests": [],
    }
    found = read("workflow_run", action="completed", workflow_run=run)
    assert found.thread.natural_key == "github:taro/shop/tree/main"
    assert found.summary == 'workflow "CI" #9 (attempt 2) timed out on main (0123456): 修正: 再試行'


def test_a_failed_job_names_its_failed_steps() -> None:
    """Which step failed is what a reader of the index needs."""
    steps = [{"name": "Set up", "conclusion": "success"}, {"name": "Run tests", "conclusion": "failure"}]
    job = {"name": "linux", "workflow_name": "CI", "conclusion": "failure", "head_branch": "retry", "steps": steps}
    found = read("workflow_job", action="completed", workflow_job=job | {"head_sha": SHA})
    assert found.summary == 'job "linux" of workflow "CI" failed on retry (0123456): failed "Run tests"'


def test_a_comment_on_a_pull_request_is_in_its_thread_and_on_an_issue_in_the_issues() -> None:
    """GitHub sends both as issue_comment; the issue says which it is."""
    comment = {"body": "<!-- bot -->\r\n> quoted\r\n\r\n## Looks *good*\r\nmore", "updated_at": "2026-03-01T09:31:00Z"}
    issue = {"number": 412, "title": "Retry with backoff", "state": "closed"}
    merged = {"pull_request": {"merged_at": "2026-03-01T09:00:00Z"}}
    on_pull = read("issue_comment", action="created", comment=comment, issue=issue | merged)
    on_issue = read("issue_comment", action="created", comment=comment, issue=issue)
    assert thread(on_pull) == (
        "github:acme/shop/pull/412", "thr_pr_412", "PR #412 in acme/shop: Retry with backoff", "merged"
    )  # fmt: skip
    assert on_pull.summary == "mika commented on PR #412: Looks *good*"
    assert thread(on_issue) == (
        "github:acme/shop/issues/412", "thr_issue_412", "Issue #412 in acme/shop: Retry with backoff", "closed"
    )  # fmt: skip
    assert on_issue.summary == "mika commented on issue #412: Looks *good*"


def test_a_push_counts_commits_and_quotes_the_last_one() -> None:
    """A push stands on its branch, at the time GitHub received it."""
    commits = [{"id": "f" * 40, "message": "One"}, {"id": SHA, "message": "会議の記録を直す\n\nlong text"}]
    found = read(
        "push",
        ref="refs/heads/feature/retry",
        commits=commits,
        head_commit=commits[1] | {"timestamp": "2020-01-01T00:00:00Z"},
        forced=True,
        repository=REPOSITORY | {"pushed_at": 1772357400},
    )
    assert thread(found) == (
        "github:acme/shop/tree/feature/retry", "thr_branch_feature-retry", "Branch feature/retry of acme/shop", "active"
    )  # fmt: skip
    assert found.summary == "mika force-pushed 2 commits to branch feature/retry (0123456): 会議の記録を直す"
    assert found.occurred_at == datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def test_a_deleted_branch_is_closed() -> None:
    """Pushes that delete say so."""
    found = read("push", ref="refs/heads/retry", deleted=True, commits=[], head_commit=None)
    assert (found.summary, found.thread.status) == ("mika deleted branch retry", "closed")


@pytest.mark.parametrize(
    ("event", "action", "state", "moves"),
    [
        ("pull_request", "closed", "closed", True),
        ("pull_request", "reopened", "open", True),
        ("pull_request", "labeled", "closed", False),
        ("pull_request", "synchronize", "open", False),
        ("pull_request_review", "submitted", "open", False),
        ("pull_request_review", "submitted", "closed", False),
    ],
)
def test_only_the_change_itself_moves_a_thread(event: str, action: str, state: str, moves: bool) -> None:
    """A delivery that was overtaken and still says "open" does not open a closed thread again."""
    found = read(event, action=action, pull_request=PULL | {"state": state}, review={"state": "commented"})
    assert (found.thread.status, found.thread.moves) == (state, moves)


# ---- the others


@pytest.mark.parametrize(
    ("event", "body", "key", "summary"),
    [
        (
            "pull_request_review",
            {"action": "submitted", "review": {"state": "changes_requested", "body": "Not yet"}, "pull_request": PULL},
            "pull/412",
            "mika requested changes on PR #412: Not yet",
        ),
        (
            "status",
            {"sha": SHA, "context": "ci/x", "state": "error", "branches": [{"name": "a"}, {"name": "b"}]},
            f"commit/{SHA}",
            'status "ci/x" failed with an error on 0123456',
        ),
        (
            "release",
            {"action": "published", "release": {"tag_name": "v1.0", "name": "First"}},
            "releases/tag/v1.0",
            "mika published release v1.0: First",
        ),
        (
            "deployment_status",
            {
                "deployment": {"id": 5, "ref": "main", "sha": SHA, "environment": "production"},
                "deployment_status": {"state": "failure", "description": "no disk"},
                "workflow_run": {"head_branch": "main"},
            },
            "deployments/5",
            "deployment of main (0123456) to production failed: no disk",
        ),
        (
            "merge_group",
            {
                "action": "checks_requested",
                "merge_group": {
                    "head_ref": f"refs/heads/gh-readonly-queue/main/pr-412-{SHA}",
                    "base_ref": "refs/heads/main",
                },
            },
            "pull/412",
            "merge group of PR #412 into main: checks requested",
        ),
        (
            "secret_scanning_alert_location",
            {"action": "created", "alert": {"number": 3, "secret_type": "some_key"}},
            "security/secret-scanning/3",
            "secret scanning alert location #3 created: some_key",
        ),
        (
            "deploy_key",
            {"action": "created", "key": {"title": "laptop"}},
            "",
            "deploy key created in acme/shop by mika: laptop",
        ),
        (
            "an_event_of_2031",
            {"action": "done", "issue": {"number": 8}},
            "issues/8",
            "an event of 2031 done in acme/shop by mika",
        ),
        ("star", {"action": "created"}, "", "mika starred acme/shop"),
    ],
)
def test_every_other_event_has_its_own_thread_or_the_repositorys(
    event: str, body: dict[str, Any], key: str, summary: str
) -> None:
    """What has a place of its own stands there, everything else on the repository; unknown events by what they hold."""
    found = read(event, **body)
    assert found.thread.natural_key == f"github:acme/shop/{key}".rstrip("/")
    assert found.summary == summary


def test_events_without_a_repository_stand_on_what_they_name() -> None:
    """Organization, installation, advisory, account, and a body that is empty."""
    body: Mapping[str, Any]
    for event, body, key in (
        ("organization", {"organization": {"login": "acme"}, "sender": SENDER}, "github:orgs/acme"),
        ("installation", {"installation": {"id": 4}, "sender": SENDER}, "github:installations/4"),
        ("security_advisory", {"security_advisory": {"ghsa_id": "GHSA-1"}}, "github:advisories/GHSA-1"),
        ("sponsorship", {"sender": SENDER}, "github:users/mika"),
        ("whatever", {}, "github:events"),
    ):
        assert read_delivery(event, "1", body).thread.natural_key == key


def test_another_host_is_another_repository() -> None:
    """A repository of a GitHub Enterprise server never shares a thread with one of github.com."""
    here = REPOSITORY | {"html_url": "https://git.acme.example/acme/shop"}
    found = read("pull_request", action="opened", pull_request=PULL, repository=here)
    assert found.thread.natural_key == "github:git.acme.example/acme/shop/pull/412"


def test_a_branch_whose_name_no_id_can_hold_gets_one_from_its_key() -> None:
    """A Japanese branch name is kept in key and summary; the id is made from a digest."""
    found = read("push", ref="refs/heads/修正", commits=[])
    assert found.thread.natural_key == "github:acme/shop/tree/修正"
    assert len(found.thread.ids) == 1
    assert THREAD_ID.fullmatch(found.thread.ids[0])


# ---- hostile text


def test_titles_become_one_line() -> None:
    """Line ends, controls, direction marks and the pipe of reference lines never reach a summary."""
    found = read(
        "pull_request", action="reopened", pull_request=PULL | {"title": "a\r\nb\x00c | d\u2028e \u202ef \ud800"}
    )
    assert found.summary == "mika reopened PR #412: a b c ¦ d e f \ufffd"
    assert found.thread.summary == "PR #412 in acme/shop: a b c ¦ d e f \ufffd"


def test_long_titles_are_cut_between_grapheme_clusters() -> None:
    """A family of emoji is shown whole or not at all."""
    family = "👩‍👩‍👧‍👦"
    cut = one_line(family * 100, 100)
    assert cut == family * 14 + "…"
    assert one_line("か\u3099" * 100, 10) == "か\u3099" * 4 + "…"
    assert one_line("x" + "\u0301" * 500_000, 100) == "…"


def test_half_a_million_characters_cost_nothing() -> None:
    """Titles, comments and branches of any size are looked at by their beginning."""
    huge = (
        "<!--" * 50_000,
        "a" * 500_000,
        " " * 500_000,
        ">" * 500_000,
        "e\u0301" * 250_000,
        "\n" * 500_000,
        "か" * 500_000,
    )
    start = time.process_time()
    for words in huge:
        found = read("issue_comment", action="created", comment={"body": words}, issue={"number": 1, "title": words})
        pushed = read("push", ref=f"refs/heads/{words}", commits=[{"message": words}])
        for summary in (found.summary, found.thread.summary, pushed.summary, pushed.thread.summary):
            assert len(summary) <= LINE_CHARS
        assert len(pushed.thread.natural_key) <= 400
    assert time.process_time() - start < 2


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=40)
    | st.sampled_from([PULL, REPOSITORY, NAMED, SENDER]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "number", "state"]), inner),
    max_leaves=6,
)
NAMES = st.sampled_from(
    "action alert after branch branches changes check_run check_suite comment commits created deleted deployment "
    "discussion forced head_commit issue label member merge_group milestone number organization pages project "
    "projects_v2_item pull_request ref ref_type release repository review sender sha state thread workflow_job "
    "workflow_run".split()
)
EVENTS = st.sampled_from(
    "check_run check_suite code_scanning_alert commit_comment create deployment_review deployment_status discussion "
    "gollum installation issue_comment issues merge_group milestone ping project_card projects_v2_item pull_request "
    "pull_request_review pull_request_review_comment pull_request_review_thread push release status workflow_job "
    "workflow_run anything".split()
)


@pytest.mark.parametrize(
    ("event", "action", "line"),
    [
        ("push", "", "mika pushed to a branch"),
        ("pull_request", "labeled", "mika labeled a pull request"),
        ("issues", "opened", "mika opened an issue"),
        ("issue_comment", "created", "mika commented on an issue"),
        ("pull_request_review", "submitted", "mika reviewed a pull request"),
        ("pull_request_review_comment", "created", "mika commented on a pull request"),
        ("commit_comment", "created", "mika commented on a commit"),
        ("check_run", "completed", "check changed on a commit"),
        ("check_suite", "completed", "check suite changed on a commit"),
        ("workflow_run", "completed", "workflow changed on a commit"),
        ("release", "published", "mika published a release"),
        ("create", "", "mika created a branch"),
        ("fork", "", "mika forked the repository"),
        ("discussion", "created", "mika created a discussion"),
    ],
)
def test_what_a_body_does_not_name_is_told_by_its_kind(event: str, action: str, line: str) -> None:
    """Missing fields leave no empty brackets, no half sentence, and no other thing than the event is about."""
    body = {"sender": SENDER, "action": action} if action else {"sender": SENDER}
    assert read_delivery(event, "1", body).summary == line


@given(event=EVENTS, body=st.dictionaries(NAMES, VALUES, max_size=8))
def test_any_body_of_any_event_is_read(event: str, body: dict[str, Any]) -> None:
    """Whatever is missing or of another type: a natural key, ids, one-line summaries, and the same ones each time."""
    found = read_delivery(event, "1", body)
    assert found == read_delivery(event, "1", body)
    assert found.thread.natural_key.startswith("github:")
    assert all(THREAD_ID.fullmatch(made) for made in found.thread.ids)
    for line in (found.summary, found.thread.summary):
        assert line == line.strip() != ""
        assert len(line) <= LINE_CHARS
        assert not regex.search(r"[|\p{Cc}\p{Cs}\p{Zl}\p{Zp}]", line)


@given(words=st.text(max_size=400), size=st.integers(1, 120))
def test_a_line_is_a_prefix_of_whole_clusters(words: str, size: int) -> None:
    """At most `size` characters, and a cut never parts a grapheme cluster."""
    whole, line = one_line(words, 2_000), one_line(words, size)
    assert len(line) <= size
    if line != whole:
        assert line.endswith("…")
        shown = line[:-1]
        assert whole.startswith(shown)
        clusters = [match.end() for match in regex.finditer(r"\X", whole)]
        assert len(shown) == 0 or len(shown) in clusters or whole[len(shown)] == " "


def test_the_first_line_passes_over_comments_fences_and_quotes() -> None:
    """Templates and quotes of others say nothing new; a comment that is only a quote is better than nothing."""
    assert first_line("<!-- a\nb -->\n```\n> q\nreal\n") == "real"
    assert first_line("> only\n> this") == "only"
    assert first_line("") == ""


# ---- protocol


def test_the_signature_is_the_one_of_githubs_documentation() -> None:
    """Secret and payload of "Validating webhook deliveries" give the documented value."""
    wanted = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert signature(b"Hello, World!", "It's a Secret to Everybody") == wanted
    assert is_signed(b"Hello, World!", "It's a Secret to Everybody", wanted)


@pytest.mark.parametrize("header", [None, "", "sha256=", "sha1=00", "sha256=é", "sha256=" + "0" * 64, "0" * 64])
def test_anything_else_is_no_signature(header: str | None) -> None:
    """Missing, of another kind, blank or of other bytes."""
    assert not is_signed(b"Hello, World!", "secret", header)


def test_both_forms_of_a_body_hold_the_same_json() -> None:
    """GitHub sends JSON as it is, or in the field `payload` of a form."""
    assert json_text(b'{"a": 1}', "application/json") == b'{"a": 1}'
    assert json_text(b"payload=%7B%22a%22%3A+1%7D", "application/x-www-form-urlencoded") == b'{"a": 1}'


@pytest.mark.parametrize("form", [b"", b"other=1", b"payload=1&payload=2", b"payload=%ff", b"\xff", b"a=1&" * 20])
def test_a_form_without_one_payload_is_refused(form: bytes) -> None:
    """The error names the field."""
    with pytest.raises(InvalidField) as raised:
        json_text(form, "application/x-www-form-urlencoded")
    assert raised.value.field == "payload"


@pytest.mark.parametrize(
    ("event", "delivery", "field"),
    [
        (None, "1", "X-GitHub-Event"),
        ("", "1", "X-GitHub-Event"),
        ("Push\n", "1", "X-GitHub-Event"),
        ("push", None, "X-GitHub-Delivery"),
        ("push", "a b", "X-GitHub-Delivery"),
        ("push", "x" * 200, "X-GitHub-Delivery"),
    ],
)
def test_headers_that_are_missing_or_malformed_are_named(event: str | None, delivery: str | None, field: str) -> None:
    """Without an event there is nothing to read, without an id nothing to know a redelivery by."""
    with pytest.raises(InvalidField) as raised:
        read_delivery(event, delivery, {})
    assert raised.value.field == field
