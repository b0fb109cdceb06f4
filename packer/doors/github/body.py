"""Reading the body of a GitHub webhook delivery, and making one line of what it says. Pure.

Bodies come from outside, so every value is looked at before it is used: what is missing or of another type is as good
as absent. The fields are those of GitHub Docs, "Webhook events and payloads".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from context_packs.store.text.cuts import clip

Body = Mapping[str, Any]

LINE_CHARS: Final = 240
"""The most characters of a summary."""
NAME_CHARS: Final = 100
"""The most characters of one title, name or quoted line within it."""
_LOOKED_AT: Final = 20_000  # characters of a text in which its first line is looked for

# Controls, line ends and what turns the direction of the text behind it; lone surrogates are shown as U+FFFD.
_BREAKS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\\s]+")
_LONE: Final = re.compile("[\ud800-\udfff]")
_GROUP_REF: Final = re.compile(r"/pr-([1-9][0-9]{0,17})(?:-|$)")

SUBJECTS: Final[Mapping[str, str]] = {
    "branch_protection_rule": "rule",
    "commit_comment": "comment",
    "deploy_key": "key",
    "discussion_comment": "comment",
    "fork": "forkee",
    "issue_comment": "comment",
    "issues": "issue",
    "membership": "member",
    "meta": "hook",
    "org_block": "blocked_user",
    "organization": "membership",
    "page_build": "build",
    "pull_request_review": "review",
    "pull_request_review_comment": "comment",
    "pull_request_review_thread": "pull_request",
    "team_add": "team",
}


# -- reading a body ----------------------------------------------------------------------------------------------------


def part(body: object, *names: str) -> Body:
    """The object at a path of names; an empty one where there is none."""
    for name in names:
        body = body.get(name) if isinstance(body, Mapping) else None
    return body if isinstance(body, Mapping) else {}


def parts(body: Body, name: str) -> list[Body]:
    """The objects of a list; empty where there is no list."""
    found = body.get(name)
    return [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []


def text(body: Body, *names: str) -> str:
    """The first of these fields that is a text with something in it, as it is; else ""."""
    return next((body[name] for name in names if isinstance(body.get(name), str) and body[name].strip()), "")


def number(body: Body, *names: str) -> int:
    """The first of these fields that is a whole number from 0 to 2**63; else 0."""
    return next((body[name] for name in names if type(body.get(name)) is int and 0 <= body[name] <= 2**63), 0)


def subject(event: str, body: Body) -> Body:
    """The object that the event is about, by the name that its body gives it."""
    return part(body, "alert" if event.endswith("_alert") else SUBJECTS.get(event, event))


def actor(body: Body) -> str:
    """Login of who caused the delivery; "GitHub" where the body names nobody."""
    return one_line(text(part(body, "sender"), "login") or text(part(body, "pusher"), "name"), 60) or "GitHub"


def pull_number(checked: Body, body: Body) -> int:
    """Number of the first pull request into this repository that a check names; 0 where there is none.

    A check of a shared commit also names pull requests of forks, which have a base of another repository.
    """
    here = number(part(body, "repository"), "id")
    for pull in [*parts(checked, "pull_requests"), *parts(part(checked, "check_suite"), "pull_requests")]:
        if number(pull, "number") and number(part(pull, "base", "repo"), "id") in (here, 0):
            return number(pull, "number")
    return 0


def queued_pull(group: Body) -> int:
    """Number of the pull request that a merge queue's branch is made for (`…/pr-412-<sha>`); 0 where it names none."""
    found = _GROUP_REF.search(text(group, "head_ref")[-200:])
    return int(found[1]) if found else 0


# -- shaping text ------------------------------------------------------------------------------------------------------


def one_line(words: str, size: int = LINE_CHARS) -> str:
    """At most `size` characters on one line, cut between grapheme clusters and then ended by "…".

    White space and controls become one blank, `|` becomes `¦`, a lone surrogate U+FFFD. A single cluster longer than
    `size` is left out: nothing of it could be shown whole.
    """
    words = words.lstrip()[: 4 * size]
    line = _LONE.sub("\ufffd", _BREAKS.sub(" ", words)).replace("|", "¦").strip()
    if len(line) <= size:
        return line
    cut = clip(line, size - 1)
    return f"{cut.rstrip()}…" if len(cut) < size else "…"


def first_line(words: str) -> str:
    """The first line that says something: no HTML comment, no quote of somebody else, no fence of a code block."""
    quoted = ""
    for line in _without_comments(words[:_LOOKED_AT]).splitlines():
        shown = line.strip().lstrip("#").strip()
        if shown.startswith(">"):
            quoted = quoted or shown.lstrip("> ")
        elif shown and not shown.startswith(("```", "~~~")):
            return one_line(shown, NAME_CHARS)
    return one_line(quoted, NAME_CHARS)


def _without_comments(words: str) -> str:
    kept, at = [], 0
    while (start := words.find("<!--", at)) >= 0:
        kept.append(words[at:start])
        end = words.find("-->", start)
        if end < 0:
            return "".join(kept)
        at = end + 3
    return "".join([*kept, words[at:]])


def short_ref(ref: str) -> str:
    """`refs/heads/main` → `main`."""
    return ref.removeprefix("refs/heads/").removeprefix("refs/tags/")
