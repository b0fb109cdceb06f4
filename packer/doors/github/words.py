"""One line in plain words for a GitHub webhook delivery: who did what, and how a check ended. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from .body import (
    NAME_CHARS,
    Body,
    actor,
    first_line,
    number,
    one_line,
    part,
    parts,
    pull_number,
    queued_pull,
    short_ref,
    subject,
    text,
)

ENDINGS: Final[Mapping[str, str]] = {
    "success": "passed",
    "failure": "failed",
    "error": "failed with an error",
    "neutral": "ended neutral",
    "cancelled": "was cancelled",
    "skipped": "was skipped",
    "timed_out": "timed out",
    "action_required": "needs action",
    "stale": "went stale",
    "startup_failure": "failed to start",
    "queued": "is queued",
    "requested": "was requested",
    "waiting": "is waiting",
    "pending": "is pending",
    "in_progress": "is running",
    "inactive": "is inactive",
}


_UNNAMED: Final[Mapping[str, str]] = {
    "pull_request": "a pull request",
    "issue": "an issue",
    "discussion": "a discussion",
}


def sentence(event: str, body: Body) -> str:
    """The summary of a delivery: one line of at most LINE_CHARS characters, never blank."""
    return one_line(_SENTENCES.get(event, _anything)(event, body))


def _name(words: str) -> str:
    return one_line(words, NAME_CHARS)


def _quoted(words: str) -> str:
    return f'"{_name(words)}"' if words.strip() else ""


def _sha(body: Body, *names: str) -> str:
    return _name(text(body, *names))[:7]


def _counted(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def _spaced(*words: str) -> str:
    return " ".join(word for word in words if word)


def _told(head: str, detail: str) -> str:
    return f"{head}: {detail}" if detail else head


def _conversation(event: str, body: Body) -> str:
    """What an event about an issue, pull request or discussion stands in: `PR #412`, or `a pull request`."""
    for name, word in (("pull_request", "PR"), ("issue", "issue"), ("discussion", "discussion")):
        if n := number(part(body, name), "number"):
            return f"{'PR' if 'pull_request' in part(body, name) else word} #{n}"
    if sha := _sha(part(body, "comment"), "commit_id"):
        return f"commit {sha}"
    return next((unnamed for start, unnamed in _UNNAMED.items() if event.startswith(start)), "a commit")


def _changed(body: Body) -> str:
    names = sorted(_name(name) for name in part(body, "changes"))
    return f" ({', '.join(names[:5])})" if names else ""


def _opened(event: str, body: Body) -> str:
    """pull_request, issues, discussion."""
    it, who, action = _conversation(event, body), actor(body), text(body, "action")
    thing = part(body, "pull_request") or subject(event, body)
    title = _name(text(thing, "title"))
    label = _quoted(text(part(body, "label"), "name"))
    person = _name(text(part(body, "assignee"), "login"))
    asked = _name(text(part(body, "requested_reviewer"), "login") or text(part(body, "requested_team"), "name"))
    milestone = _quoted(text(part(body, "milestone"), "title"))
    if action == "closed":
        return _told(f"{who} {_closing(event, it, thing)}", title)
    phrases = {
        "synchronize": _spaced("pushed", _sha(body, "after") or _sha(part(thing, "head"), "sha"), "to", it),
        "labeled": _spaced("labeled", it, label),
        "unlabeled": _spaced("took label", label, "off", it),
        "assigned": _spaced("assigned", it, "to" if person else "", person),
        "unassigned": _spaced("unassigned", person, "from" if person else "", it),
        "milestoned": _spaced("put", it, "into milestone", milestone),
        "demilestoned": _spaced("took", it, "out of milestone", milestone),
        "review_requested": _spaced("asked", asked, "for a review of", it),
        "review_request_removed": _spaced("no longer asks", asked, "for a review of", it),
        "converted_to_draft": f"made {it} a draft",
        "ready_for_review": f"marked {it} ready for review",
        "auto_merge_enabled": f"enabled auto-merge on {it}",
        "auto_merge_disabled": f"disabled auto-merge on {it}",
        "edited": f"edited {it}{_changed(body)}",
        "category_changed": f"changed the category of {it}",
        "unanswered": f"took back the answer to {it}",
    }
    phrase = phrases.get(action) or f"{_done(action)} {it}"
    size = f" ({_size(thing)})" if action == "opened" and event == "pull_request" and _size(thing) else ""
    return _told(f"{who} {phrase}{size}", title)


def _closing(event: str, it: str, thing: Body) -> str:
    if event == "pull_request":
        return f"merged {it}" if thing.get("merged") is True or text(thing, "merged_at") else f"closed {it} unmerged"
    reason = text(thing, "state_reason")
    return f"closed {it}{f' as {_done(reason)}' if reason not in ('', 'completed') else ''}"


def _size(pull: Body) -> str:
    """`feature to main, 3 commits, 5 files, +10 -2`, as far as the body says."""
    head, base = _name(text(part(pull, "head"), "ref")), _name(text(part(pull, "base"), "ref"))
    facts = [f"{head} to {base}"] if head and base else []
    facts += [_counted(n, word) for n, word in ((number(pull, "commits"), "commit"),) if n]
    facts += [_counted(n, word) for n, word in ((number(pull, "changed_files"), "file"),) if n]
    if number(pull, "additions") or number(pull, "deletions"):
        facts.append(f"+{number(pull, 'additions')} -{number(pull, 'deletions')}")
    return ", ".join(facts)


def _done(action: str) -> str:
    return _name(action.replace("_", " ")) or "changed"


def _commented(event: str, body: Body) -> str:
    """issue_comment, commit_comment, discussion_comment, pull_request_review_comment."""
    comment, action = part(body, "comment"), text(body, "action")
    verb = "commented on" if action in ("created", "") else f"{_done(action)} a comment on"
    path, line = _name(text(comment, "path")), number(comment, "line")
    where = f" at {path}{f':{line}' if line else ''}" if path else ""
    return _told(f"{actor(body)} {verb} {_conversation(event, body)}{where}", first_line(text(comment, "body")))


def _reviewed(event: str, body: Body) -> str:
    review, it = part(body, "review"), _conversation(event, body)
    verbs = {"approved": "approved", "changes_requested": "requested changes on", "commented": "reviewed"}
    state, action = text(review, "state").lower(), text(body, "action")
    verb = verbs.get(state, "reviewed") if action == "submitted" else f"{_done(action)} a review of"
    return _told(f"{actor(body)} {verb} {it}", first_line(text(review, "body")))


def _review_thread(event: str, body: Body) -> str:
    comments = parts(part(body, "thread"), "comments")
    about = first_line(text(comments[0], "body")) if comments else ""
    return _told(f"{actor(body)} {_done(text(body, 'action'))} a review thread on {_conversation(event, body)}", about)


def _where(checked: Body, body: Body) -> str:
    """`PR #412 (abc1234)`, `main (abc1234)`, `abc1234`."""
    pull = pull_number(checked, body)
    branch = text(checked, "head_branch") or text(part(checked, "check_suite"), "head_branch")
    sha = _sha(checked, "head_sha", "sha")
    place = f"PR #{pull}" if pull else _name(branch)
    return f"{place} ({sha})" if place and sha else place or sha or "a commit"


def _ended(checked: Body, *, fallback: str = "") -> str:
    state = text(checked, "conclusion") or text(checked, "status", "state") or fallback
    return ENDINGS.get(state, f"is {_done(state)}" if state else "changed")


def _checked(event: str, body: Body) -> str:
    """check_run, check_suite, workflow_run, workflow_job, deployment_review."""
    checked = part(body, event) or part(body, "workflow_run")
    name = _quoted(text(checked, "name") or text(part(body, "workflow"), "name", "path"))
    flow = _quoted(text(checked, "workflow_name"))
    app = _name(text(part(checked, "app"), "name"))
    things = {
        "check_run": f"check {name}",
        "check_suite": f"check suite of {app}" if app else "check suite",
        "workflow_job": f"job {name}{f' of workflow {flow}' if flow else ''}",
    }
    thing = things.get(event) or _spaced("workflow", name)
    if event in ("workflow_run", "deployment_review") and number(checked, "run_number"):
        thing += f" #{number(checked, 'run_number')}"
    if number(checked, "run_attempt") > 1:
        thing += f" (attempt {number(checked, 'run_attempt')})"
    thing, where, action = thing.strip(), _where(checked, body), text(body, "action")
    if event == "deployment_review":
        place = _name(text(body, "environment") or text(part(body, "workflow_job_run"), "environment"))
        return _spaced(f"{actor(body)} {_done(action)} a deployment", f"to {place}" if place else "", f"by {thing}")
    if action == "rerequested":
        return f"{actor(body)} asked to run {thing} again on {where}"
    if action == "requested_action":
        wish = _quoted(text(part(body, "requested_action"), "identifier"))
        return f"{actor(body)} asked {thing} for {wish or 'an action'} on {where}"
    return _told(f"{thing} {_ended(checked)} on {where}", _finding(checked))


def _finding(checked: Body) -> str:
    """What a check says of itself: the title of its output, the steps that failed, the title of the run."""
    output = part(checked, "output")
    failed = [_quoted(text(step, "name")) for step in parts(checked, "steps") if step.get("conclusion") == "failure"]
    if failed:
        return f"failed {', '.join(failed[:3])}{f' and {len(failed) - 3} more' if len(failed) > 3 else ''}"
    title = _name(text(output, "title")) or first_line(text(output, "summary"))
    return title or _name(text(checked, "display_title")) or _headline(part(checked, "head_commit"))


def _status(event: str, body: Body) -> str:
    thing = _spaced("status", _quoted(text(body, "context")))
    message = _headline(part(body, "commit", "commit"))
    return _told(f"{thing} {_ended(body)} on {_where(body, body)}", _name(text(body, "description")) or message)


def _headline(commit: Body) -> str:
    return first_line(text(commit, "message"))


def _pushed(event: str, body: Body) -> str:
    ref, who = text(body, "ref"), actor(body)
    name, kind = _name(short_ref(ref)), "tag" if ref.startswith("refs/tags/") else "branch"
    place = f"{kind} {name}" if name else "a branch"
    commits = parts(body, "commits")
    head = part(body, "head_commit") or (commits[-1] if commits else {})
    if body.get("deleted") is True:
        return f"{who} deleted {place}"
    sha = _sha(head, "id") or _sha(body, "after")
    at = f"({sha})" if sha else ""
    many = _counted(len(commits), "commit") if commits else ""
    if body.get("created") is True:
        return _told(_spaced(who, "created", place, f"with {many}" if many else "", at), _headline(head))
    verb = "force-pushed" if body.get("forced") is True else "pushed"
    return _told(_spaced(who, verb, many, "to", place, at), _headline(head))


def _ref_changed(event: str, body: Body) -> str:
    kind, name = _name(text(body, "ref_type")) or "branch", _name(text(body, "ref"))
    return f"{actor(body)} {event}d {f'{kind} {name}' if name else f'a {kind}'}"


def _released(event: str, body: Body) -> str:
    release = part(body, "release")
    tag, name = _name(text(release, "tag_name")), _name(text(release, "name"))
    return _told(
        f"{actor(body)} {_done(text(body, 'action'))} {f'release {tag}' if tag else 'a release'}",
        "" if name == tag else name or first_line(text(release, "body")),
    )


def _deployed(event: str, body: Body) -> str:
    deployment, status = part(body, "deployment"), part(body, "deployment_status")
    what = _spaced("of", _name(text(deployment, "ref"))) if text(deployment, "ref") else ""
    place = f"to {_name(text(deployment, 'environment'))}" if text(deployment, "environment") else ""
    sha = _sha(deployment, "sha")
    thing = _spaced("deployment", what, f"({sha})" if sha else "", place)
    if event == "deployment":
        return _told(f"{actor(body)} {_done(text(body, 'action'))} {thing}", _name(text(deployment, "description")))
    state = {"success": "succeeded"}.get(text(status, "state")) or _ended(status)
    return _told(f"{thing} {state}", _name(text(status, "description")))


def _group(event: str, body: Body) -> str:
    group = part(body, "merge_group")
    pull = queued_pull(group)
    what = f" of PR #{pull}" if pull else ""
    base = _name(short_ref(text(group, "base_ref")))
    return _told(
        f"merge group{what}{f' into {base}' if base else ''}: {_done(text(body, 'action'))}",
        _headline(part(group, "head_commit")),
    )


def _wiki(event: str, body: Body) -> str:
    pages = parts(body, "pages")
    names = ", ".join(
        f"{_done(text(page, 'action'))} {_quoted(text(page, 'title', 'page_name'))}" for page in pages[:3]
    )
    more = f" and {len(pages) - 3} more" if len(pages) > 3 else ""
    return f"{actor(body)} changed the wiki: {names or 'no pages'}{more}"


def _alerted(event: str, body: Body) -> str:
    alert = part(body, "alert")
    what = _name(
        text(part(alert, "rule"), "description", "name", "id")
        or text(part(alert, "security_advisory"), "summary")
        or text(alert, "secret_type_display_name", "secret_type", "external_identifier")
    )
    package = _name(text(part(alert, "dependency", "package"), "name") or text(alert, "affected_package_name"))
    severity = text(part(alert, "security_advisory"), "severity") or text(alert, "severity")
    level = severity or text(part(alert, "rule"), "security_severity_level", "severity")
    facts = ", ".join(_name(fact) for fact in (level, package) if fact)
    n = f" #{number(alert, 'number')}" if number(alert, "number") else ""
    thing = _name(event.replace("_", " "))
    return _told(f"{thing}{n} {_done(text(body, 'action'))}{f' ({facts})' if facts else ''}", what)


def _plain(phrase: Callable[[Body], str]) -> Callable[[str, Body], str]:
    return lambda event, body: _spaced(actor(body), phrase(body))


def _repository(body: Body) -> str:
    return _name(text(part(body, "repository"), "full_name")) or "the repository"


def _forked(event: str, body: Body) -> str:
    copy = _name(text(part(body, "forkee"), "full_name"))
    return _spaced(actor(body), "forked", _repository(body), f"to {copy}" if copy else "")


def _anything(event: str, body: Body) -> str:
    """Any event: its name, the action, where, by whom, and the name of the thing it is about."""
    thing = subject(event, body)
    name = text(thing, "title", "name", "summary", "login", "slug", "key", "note") or text(thing, "status", "state")
    name = name or text(part(thing, "user"), "login") or text(body, "ref", "status", "zen")
    n = f"#{number(thing, 'number')}" if number(thing, "number") else ""
    where = _repository(body) if part(body, "repository") else _name(text(part(body, "organization"), "login"))
    what = _spaced(_name(event.replace("_", " ")), n)
    done = _done(text(body, "action")) if text(body, "action") else ""
    return _told(_spaced(what, done, f"in {where}" if where else "", "by", actor(body)), _name(name))


_SENTENCES: Final[Mapping[str, Callable[[str, Body], str]]] = {
    "check_run": _checked,
    "check_suite": _checked,
    "code_scanning_alert": _alerted,
    "commit_comment": _commented,
    "create": _ref_changed,
    "delete": _ref_changed,
    "dependabot_alert": _alerted,
    "deployment": _deployed,
    "deployment_review": _checked,
    "deployment_status": _deployed,
    "discussion": _opened,
    "discussion_comment": _commented,
    "fork": _forked,
    "gollum": _wiki,
    "issue_comment": _commented,
    "issues": _opened,
    "merge_group": _group,
    "public": _plain(lambda body: f"made {_repository(body)} public"),
    "pull_request": _opened,
    "pull_request_review": _reviewed,
    "pull_request_review_comment": _commented,
    "pull_request_review_thread": _review_thread,
    "push": _pushed,
    "release": _released,
    "repository_vulnerability_alert": _alerted,
    "secret_scanning_alert": _alerted,
    "secret_scanning_alert_location": _alerted,
    "star": _plain(lambda body: f"{'unstarred' if body.get('action') == 'deleted' else 'starred'} {_repository(body)}"),
    "status": _status,
    "watch": _plain(lambda body: f"started to watch {_repository(body)}"),
    "workflow_job": _checked,
    "workflow_run": _checked,
}
