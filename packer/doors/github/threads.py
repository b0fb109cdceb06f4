"""Which thread a GitHub webhook delivery belongs to. Pure.

The pull request that it names, else the issue, discussion, deployment, alert, release, branch or commit, else the
repository, organization or account: there is always somewhere to stand. A thread is known by its natural key, such as
`github:owner/repo/pull/412`, with the host before the owner where that is not github.com.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from .body import NAME_CHARS, Body, number, one_line, part, parts, pull_number, queued_pull, short_ref
from .body import text as text_of

ThreadStatus = Literal["open", "closed", "merged", "active"]

_THREAD_ID: Final = re.compile(r"thr_[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_PULL_REF: Final = re.compile(r"refs/pull/([1-9][0-9]{0,17})/(?:head|merge)")
_KEY_CHARS: Final = 400  # longest natural key; what is longer ends in a digest


@dataclass(frozen=True, slots=True)
class ThreadOf:
    """The thread that a delivery belongs to.

    `natural_key` is its identity. `ids` are names to make it under, the most readable first; each but the last may be
    taken by a thread of another repository. `summary` is one line; `titled` says that it has the title of the thing,
    so that it may replace the summary of a thread that is there. `status` is that of a new thread ("active" for what
    has no end, such as a branch or a repository); with `moves` one that is there takes it too.
    """

    natural_key: str
    ids: tuple[str, ...]
    summary: str
    status: ThreadStatus
    titled: bool = False
    moves: bool = False

    @property
    def path(self) -> str:
        """Where its records lie: the natural key as a path."""
        return self.natural_key.replace(":", "/", 1)


# Things that somebody closes; and events that say nothing but how a thing stands now.
_ENDING: Final = frozenset(("pr", "issue", "discussion", "deployment", "alert", "milestone", "project"))
_STANDING: Final = frozenset(("push", "create", "delete", "deployment_status", "milestone", "release"))
_ABOUT_ITSELF: Final = frozenset(("pull_request", "issues", "discussion", "project", "installation"))


def thread_of(event: str, body: Body) -> ThreadOf:
    """The thread of a delivery: an event's own rule first, then what its body has."""
    own = _OF_EVENT.get(event)
    found = own(body) if own else None
    for rule in _RULES:
        if found is not None:
            break
        found = rule(event, body)
    if found is None:
        return _thread("github:events", "github", "events", "", "GitHub events")
    return replace(found, moves=found.moves and _moves(event, body, found.status))


def _moves(event: str, body: Body, status: ThreadStatus) -> bool:
    """Whether a thread that is there takes the status of a delivery.

    Deliveries overtake each other: a comment may come after the merge and still say "open". So only an event about the
    change itself moves a thread, and a merge, which nothing takes back.
    """
    if status == "merged" or event in _STANDING or event.endswith("_alert"):
        return True
    done = text_of(body, "action")
    return event in _ABOUT_ITSELF and done in (
        ("reopened",) if status == "open" else ("closed", "deleted", "transferred")
    )


def _thread(
    natural_key: str,
    kind: str,
    name: str,
    place: str,
    summary: str,
    *,
    title: str = "",
    status: ThreadStatus | None = None,
) -> ThreadOf:
    """`kind` and `name` make the readable id, `place` (the repository) makes it unique where that is taken."""
    natural_key = _bounded(one_line(natural_key, 4 * _KEY_CHARS))
    digest = hashlib.sha256(natural_key.encode("utf-8", "replace")).hexdigest()[:16]
    stem = f"thr_{kind}_{name.replace('/', '-')}"
    ids = [stem, f"{stem}_{place.replace('/', '-')}"] if place else [stem]
    readable = [made for made in ids if _THREAD_ID.fullmatch(made)]
    line = f"{summary}: {one_line(title, NAME_CHARS)}" if title else summary
    first = status or ("open" if kind in _ENDING else "active")
    return ThreadOf(
        natural_key, (*readable, f"thr_{kind}_{digest}"), one_line(line), first, titled=bool(title), moves=bool(status)
    )


def _bounded(key: str) -> str:
    if len(key) <= _KEY_CHARS:
        return key
    return f"{key[: _KEY_CHARS - 17]}~{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:16]}"


def _place(body: Body, repository: Body | None = None) -> str:
    """`owner/repo`; with the host before it where that is not github.com; "" where the body names no repository."""
    found = part(body, "repository") if repository is None else repository
    name = one_line(text_of(found, "full_name"), 200)
    host = _host(text_of(found, "html_url"))
    return f"{host}/{name}" if name and host else name


def _host(url: str) -> str:
    try:
        host = urlsplit(url[:300]).hostname or ""
    except ValueError:  # brackets that hold no address
        return ""
    return "" if host in ("github.com", "www.github.com") else one_line(host, 100)


def _state(thing: Body, done: tuple[str, ...] = ("closed",)) -> ThreadStatus | None:
    state = text_of(thing, "state").lower()
    return "open" if state == "open" else "closed" if state in done else None


def _pull(body: Body, n: int, pull: Body, merged: bool = False) -> ThreadOf | None:
    place = _place(body)
    if not place or not n:
        return None
    status: ThreadStatus | None = "merged" if merged else _state(pull)
    key, line = f"github:{place}/pull/{n}", f"PR #{n} in {place}"
    return _thread(key, "pr", str(n), place, line, title=text_of(pull, "title"), status=status)


def _merged(pull: Body) -> bool:
    return pull.get("merged") is True or bool(text_of(pull, "merged_at"))


def _of_pull(event: str, body: Body) -> ThreadOf | None:
    pull = part(body, "pull_request")
    return _pull(body, number(pull, "number") or (number(body, "number") if pull else 0), pull, _merged(pull))


def _of_issue(event: str, body: Body) -> ThreadOf | None:
    issue, place = part(body, "issue"), _place(body)
    n = number(issue, "number")
    if "pull_request" in issue:
        return _pull(body, n, issue, _merged(part(issue, "pull_request")))
    if not place or not n:
        return None
    gone = event == "issues" and text_of(body, "action") in ("deleted", "transferred")
    return _thread(
        f"github:{place}/issues/{n}",
        "issue",
        str(n),
        place,
        f"Issue #{n} in {place}",
        title=text_of(issue, "title"),
        status="closed" if gone else _state(issue),
    )


def _of_discussion(event: str, body: Body) -> ThreadOf | None:
    discussion, place = part(body, "discussion"), _place(body)
    n = number(discussion, "number")
    if not place or not n:
        return None
    gone = event == "discussion" and text_of(body, "action") in ("deleted", "transferred")
    return _thread(
        f"github:{place}/discussions/{n}",
        "discussion",
        str(n),
        place,
        f"Discussion #{n} in {place}",
        title=text_of(discussion, "title"),
        status="closed" if gone else _state(discussion),
    )


def _of_check(event: str, body: Body) -> ThreadOf | None:
    """The pull request that a check names, else the branch it ran on (of a fork, where it says so), else its commit."""
    checked = next((part(body, name) for name in _CHECKS if part(body, name)), None)
    if checked is None:
        return None
    if n := pull_number(checked, body):
        return _pull(body, n, {})
    branch = text_of(checked, "head_branch") or text_of(part(checked, "check_suite"), "head_branch")
    fork = part(checked, "head_repository")
    if branch:
        return _branch(_place(body, {**part(body, "repository"), **_named(fork)}), branch)
    return _commit(body, text_of(checked, "head_sha"))


def _named(repository: Body) -> Body:
    return {name: repository[name] for name in ("full_name", "html_url") if text_of(repository, name)}


_CHECKS: Final = ("check_run", "workflow_run", "workflow_job", "check_suite")


def _branch(place: str, name: str, status: ThreadStatus | None = None) -> ThreadOf | None:
    name = short_ref(name)
    if not place or not name.strip():
        return None
    line = f"Branch {one_line(name, NAME_CHARS)} of {place}"
    return _thread(f"github:{place}/tree/{name}", "branch", name, place, line, status=status)


def _tag(place: str, name: str, title: str = "", status: ThreadStatus | None = None) -> ThreadOf | None:
    name = short_ref(name)
    if not place or not name.strip():
        return None
    title = "" if title.strip() == name else title
    line = f"Tag {one_line(name, NAME_CHARS)} of {place}"
    return _thread(f"github:{place}/releases/tag/{name}", "tag", name, place, line, title=title, status=status)


def _commit(body: Body, sha: str) -> ThreadOf | None:
    place = _place(body)
    if not place or not sha.strip():
        return None
    return _thread(f"github:{place}/commit/{sha}", "commit", sha[:12], place, f"Commit {sha[:12]} in {place}")


def _of_ref(event: str, body: Body) -> ThreadOf | None:
    """Push, create, delete and whatever names a `ref`, or a `branch`."""
    ref, place = text_of(body, "ref", "branch"), _place(body)
    if pull := _PULL_REF.fullmatch(ref):
        return _pull(body, int(pull[1]), {})
    deleted = event == "delete" or body.get("deleted") is True
    if ref.startswith("refs/tags/") or text_of(body, "ref_type") == "tag":
        return _tag(place, ref, status="closed" if deleted else None)
    moved = event in ("push", "create", "delete")
    return _branch(place, ref, status="closed" if deleted else "active" if moved else None)


def _status(body: Body) -> ThreadOf | None:
    """The branch whose head the commit is, where that is one only; else the commit."""
    sha, branches = text_of(body, "sha"), parts(body, "branches")
    heads = [branch for branch in branches if text_of(part(branch, "commit"), "sha") == sha]
    chosen = heads if len(heads) == 1 else branches
    branch = text_of(chosen[0], "name") if len(chosen) == 1 else ""
    return _branch(_place(body), branch) if branch else _commit(body, sha)


def _group(body: Body) -> ThreadOf | None:
    group = part(body, "merge_group")
    return _pull(body, queued_pull(group), {}) or _branch(_place(body), text_of(group, "base_ref"))


def _release(body: Body) -> ThreadOf | None:
    release = part(body, "release")
    gone = text_of(body, "action") == "deleted"
    return _tag(_place(body), text_of(release, "tag_name"), text_of(release, "name"), "closed" if gone else None)


def _deployment(body: Body) -> ThreadOf | None:
    deployment, place = part(body, "deployment"), _place(body)
    n = number(deployment, "id")
    if not place or not n:
        return None
    state = text_of(part(body, "deployment_status"), "state")
    target = one_line(text_of(deployment, "environment") or "an environment", NAME_CHARS)
    line = f"Deployment of {one_line(text_of(deployment, 'ref'), NAME_CHARS) or n} to {target} in {place}"
    status: ThreadStatus = "closed" if state in ("success", "inactive") else "open"
    return _thread(f"github:{place}/deployments/{n}", "deployment", str(n), "", line, status=status)


def _milestone(body: Body) -> ThreadOf | None:
    milestone, place = part(body, "milestone"), _place(body)
    n = number(milestone, "number")
    if not place or not n:
        return None
    line, title = f"Milestone {n} in {place}", text_of(milestone, "title")
    status = "closed" if text_of(body, "action") == "deleted" else _state(milestone)
    return _thread(f"github:{place}/milestone/{n}", "milestone", str(n), place, line, title=title, status=status)


def _of_alert(event: str, body: Body) -> ThreadOf | None:
    alert, place = part(body, "alert"), _place(body)
    n = number(alert, "number") or number(alert, "id")
    if not place or not n:
        return None
    kind = {"repository_vulnerability_alert": "dependabot"}.get(
        event, event.removesuffix("_location").removesuffix("_alert")
    ).replace("_", "-")
    title = text_of(part(alert, "rule"), "description", "name") or text_of(part(alert, "security_advisory"), "summary")
    title = title or text_of(alert, "secret_type_display_name", "secret_type", "external_identifier")
    done = ("closed", "fixed", "dismissed", "auto_dismissed", "resolved")
    name = f"{kind}-{n}"
    line = f"Alert {name} in {place}"
    key = f"github:{place}/security/{kind}/{n}"
    return _thread(key, "alert", name, place, line, title=title, status=_state(alert, done))


def _advisory(body: Body) -> ThreadOf | None:
    own = part(body, "repository_advisory")
    advisory = own or part(body, "security_advisory")
    name, place = text_of(advisory, "ghsa_id"), _place(body) if own else ""
    if not name:
        return None
    key = f"github:{place}/security/advisories/{name}" if place else f"github:advisories/{name}"
    return _thread(key, "advisory", name, place, f"Advisory {name}", title=text_of(advisory, "summary"))


def _project(body: Body) -> ThreadOf | None:
    """A project of an organization by its node id; one of a repository by the number in its address."""
    item = part(body, "projects_v2") or part(body, "projects_v2_item") or part(body, "projects_v2_status_update")
    node = text_of(item, "project_node_id") or text_of(part(body, "projects_v2"), "node_id")
    owner = one_line(text_of(part(body, "organization"), "login"), NAME_CHARS)
    if node and owner:
        line, title = f"Project of {owner}", text_of(part(body, "projects_v2"), "title")
        return _thread(f"github:orgs/{owner}/projects/{node}", "project", node, owner, line, title=title)
    project = part(body, "project")
    card = part(body, "project_card") or part(body, "project_column")
    n = str(number(project, "id") or text_of(card, "project_url").rpartition("/")[2])
    place = _place(body)
    if not place or not n.isdigit():
        return None
    line = f"Project {n} in {place}"
    return _thread(
        f"github:{place}/projects/{n}", "project", n, "", line, title=text_of(project, "name"), status=_state(project)
    )


def _installation(body: Body) -> ThreadOf | None:
    found = part(body, "installation")
    n = number(found, "id")
    account = one_line(text_of(part(found, "account"), "login"), NAME_CHARS) or str(n)
    gone = text_of(body, "action") == "deleted"
    line = f"App installation of {account}"
    key = f"github:installations/{n}"
    return _thread(key, "installation", str(n), "", line, status="closed" if gone else None) if n else None


def _of_place(event: str, body: Body) -> ThreadOf | None:
    """The repository, else the organization, else the account: there is always somewhere to stand."""
    if place := _place(body):
        return _thread(f"github:{place}", "repo", place, "", f"Repository {place}")
    if owner := one_line(text_of(part(body, "organization"), "login"), NAME_CHARS):
        return _thread(f"github:orgs/{owner}", "org", owner, "", f"Organization {owner}")
    if user := one_line(text_of(part(body, "sender"), "login"), NAME_CHARS):
        return _thread(f"github:users/{user}", "user", user, "", f"GitHub account {user}")
    return None


def _of_commit_comment(body: Body) -> ThreadOf | None:
    return _commit(body, text_of(part(body, "comment"), "commit_id"))


_OF_EVENT: Final[Mapping[str, Callable[[Any], ThreadOf | None]]] = {
    "commit_comment": _of_commit_comment,
    "deployment": _deployment,
    "deployment_status": _deployment,
    "installation": _installation,
    "installation_repositories": _installation,
    "merge_group": _group,
    "milestone": _milestone,
    "project": _project,
    "project_card": _project,
    "project_column": _project,
    "projects_v2": _project,
    "projects_v2_item": _project,
    "projects_v2_status_update": _project,
    "release": _release,
    "repository_advisory": _advisory,
    "security_advisory": _advisory,
    "status": _status,
}

# For every other event the shape of the body decides, in this order, so that events to come find a place too.
_RULES: Final[tuple[Callable[[str, Body], ThreadOf | None], ...]] = (
    _of_pull,
    _of_issue,
    _of_discussion,
    _of_check,
    _of_alert,
    _of_ref,
    _of_place,
)
