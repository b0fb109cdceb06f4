"""Tokens: who may come in, as which agent, with which scopes.

A secret looks like `cpk_<id>_<43 characters>`: 256 random bits behind the id of its row. It is shown once, and the
store keeps its SHA-256 only. A slow, salted hash (bcrypt, Argon2) makes it costly to try the few passwords that people
choose; of 2²⁵⁶ equally likely secrets none can be found by trying, whatever the hash costs (RFC 6819 sections
5.1.4.1.3, a salt where entropy lacks, and 5.1.4.2.2), and a fast one is computed with every request.
"""

from __future__ import annotations

import hmac
import re
import secrets
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256

from ..errors import Conflict, InvalidField, NotFound, StoreMissing
from ..file.duck import Duck, Row, query
from ..times import parse_time, utc
from ..values import Viewer
from . import audit

SCOPES = ("memory:read", "memory:write", "memory:admin", "memory:temporary:read")
"""What a token may be allowed. None implies another: an administrator reads no memories unless told so."""

READ, WRITE, ADMIN, TEMPORARY_READ = SCOPES

_SECRET = re.compile(r"cpk_([0-9a-f]{12})_[A-Za-z0-9_-]{43}", re.ASCII)
_TOKEN_ID = re.compile(r"tok_[0-9a-f]{12}", re.ASCII)
_FRESH = 0.5  # seconds for which what was read of the tokens counts; a revocation elsewhere takes that long at most
_LONGEST = 512  # characters of an agent, a team, a label
_MOST_TEAMS = 100
_NO_HASH = bytes(32)


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token; never its secret. `profile` None means that of the door, `expires_at` None never."""

    id: str
    agent_id: str
    teams: tuple[str, ...]
    scopes: tuple[str, ...]
    profile: str | None
    label: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def live(self, now: datetime) -> bool:
        """Whether it lets in at a moment: not revoked, and before its end."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True)
class Issued:
    """A new token, with the only copy of its secret."""

    token: Token
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Grant:
    """What a valid secret allows: to see and write as `viewer`, within `scopes`."""

    token_id: str
    viewer: Viewer
    scopes: frozenset[str]
    profile: str | None
    label: str
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class _Known:
    """All tokens as they were read: at which tick, after how many changes of this process."""

    read_at: float = float("-inf")
    change: int = -1
    state: tuple[object, ...] = ()
    by_id: Mapping[str, tuple[Token, bytes, Grant]] = field(default_factory=dict)


_changes: dict[str, int] = {}  # path → how often a token was made or revoked by this process, whichever object did it
_changing = threading.Lock()


class Tokens:
    """The tokens of one store. Safe from several threads.

    What was read counts for half a second, so that a request costs one hash; a token revoked in this process is out at
    once, one revoked in another within that time. Where the store cannot be read nobody is let in: it raises.
    """

    def __init__(
        self,
        duck: Duck,
        clock: Callable[[], datetime],
        *,
        ticks: Callable[[], float] = time.monotonic,
        known_profile: Callable[[str], object] = str,
    ) -> None:
        self._duck = duck
        self._clock = clock
        self._ticks = ticks
        self._known_profile = known_profile
        self._reading = threading.Lock()
        self._known = _Known()
        # Two stores in memory are two stores.
        self._name = f":memory:{id(duck)}" if duck.in_memory else duck.path

    def create(
        self,
        agent_id: str,
        scopes: Sequence[str],
        *,
        teams: Sequence[str] = (),
        profile: str | None = None,
        expires_at: object = None,
        label: str = "",
        random: Callable[[int], bytes] = secrets.token_bytes,
    ) -> Issued:
        """A new token, with the only copy of its secret. Raises InvalidField naming what is wrong.

        Args:
            agent_id: for whom it speaks.
            scopes: some of `memory:read`, `memory:write`, `memory:admin`, `memory:temporary:read`; none
                implies another.
            teams: what it sees besides.
            profile: how it is answered; that of the server where none is given.
            expires_at: the first moment at which it is no longer valid; None for never.
            label: a name for people.
            random: makes so many random bytes.
        """
        if profile is not None:
            self._known_profile(profile)
        now = self._clock()
        token = Token(
            id="tok_" + random(6).hex(),
            agent_id=_named(agent_id, "agent_id"),
            teams=_teams(teams),
            scopes=_scopes(scopes),
            profile=profile,
            label=_named(label, "label") if label else "",
            created_at=now,
            expires_at=_end(expires_at, now),
        )
        secret = f"cpk_{token.id[4:]}_{urlsafe_b64encode(random(32)).decode().rstrip('=')}"
        with self._duck.writing() as session:
            if session.row("SELECT 1 FROM tokens WHERE id = $id", {"id": token.id}) is not None:
                raise Conflict("id: is taken by another token: try again", field="id")
            session.run(
                query("insert_token"),
                {
                    "id": token.id,
                    "hash": sha256(secret.encode()).digest(),
                    "agent_id": token.agent_id,
                    "teams": list(token.teams),
                    "scopes": list(token.scopes),
                    "profile": token.profile,
                    "label": token.label,
                    "created_at": utc(now),
                    "expires_at": utc(token.expires_at),
                },
            )
            audit.append(session, [audit.Entry(now, "", token.agent_id, "token.create", token.id, 1, 201)])
        self._change()
        return Issued(token, secret)

    def list(self) -> list[Token]:
        """All tokens, oldest first, revoked and expired ones too."""
        try:
            with self._duck.reading() as session:
                return [token for token, _ in map(_token_of, session.rows(query("tokens")))]
        except StoreMissing:
            return []

    def revoke(self, token_id: str) -> Token:
        """Let a token in no more, from now on; one that was revoked before stays so. Raises InvalidField for what is
        no id of a token and NotFound for an unknown one."""
        if not isinstance(token_id, str) or not _TOKEN_ID.fullmatch(token_id):
            raise InvalidField("id: give the id of a token, as `tok_` and 12 hexadecimal digits", field="id")
        now = self._clock()
        with self._duck.writing(make=False) as session:
            found = {token.id: token for token, _ in map(_token_of, session.rows(query("tokens")))}.get(token_id)
            if found is None:
                raise NotFound(f"id: there is no token {token_id}", field="id")
            if found.revoked_at is None:
                session.run(
                    "UPDATE tokens SET revoked_at = $now WHERE id = $id AND revoked_at IS NULL",
                    {"now": utc(now), "id": token_id},
                )
                audit.append(session, [audit.Entry(now, "", found.agent_id, "token.revoke", token_id, 1, 200)])
            revoked = {token.id: token for token, _ in map(_token_of, session.rows(query("tokens")))}[token_id]
        self._change()
        return revoked

    def authenticate(self, secret: object, now: datetime | None = None) -> Grant | None:
        """What a secret allows at a moment (the clock's, where none is given); None for anything that lets nobody in:
        malformed, unknown, expired, revoked. Raises StoreUnavailable."""
        match = _SECRET.fullmatch(secret) if isinstance(secret, str) else None
        if match is None:
            return None
        found = self._current().by_id.get("tok_" + match[1])
        same = hmac.compare_digest(sha256(match[0].encode()).digest(), found[1] if found else _NO_HASH)
        if not same or found is None:
            return None
        return found[2] if found[0].live(now or self._clock()) else None

    def has_live(self, now: datetime | None = None) -> bool:
        """Whether any token lets somebody in at a moment."""
        moment = now or self._clock()
        return any(token.live(moment) for token, _, _ in self._current().by_id.values())

    def has_any(self) -> bool:
        """Whether a token was ever made, also one that holds no longer: whoever asked for credentials once is not to be
        found open when the last one is revoked or expires."""
        return bool(self._current().by_id)

    @property
    def fresh(self) -> bool:
        """Whether `authenticate` and `has_live` would answer from memory now, without reading the store."""
        return self._holds(self._known)

    def _change(self) -> None:
        with _changing:
            _changes[self._name] = _changes.get(self._name, 0) + 1

    def _current(self) -> _Known:
        known = self._known
        if self._holds(known):
            return known
        with self._reading:
            if not self._holds(self._known):
                self._known = self._read(self._known)
            return self._known

    def _holds(self, known: _Known) -> bool:
        return known.change == _changes.get(self._name, 0) and self._ticks() - known.read_at < _FRESH

    def _read(self, known: _Known) -> _Known:
        # Both before the read: a change meanwhile makes what was read old, never new.
        read_at, change = self._ticks(), _changes.get(self._name, 0)
        try:
            with self._duck.reading() as session:
                state = session.rows(query("tokens_state"))[0]
                if state == known.state:
                    return _Known(read_at, change, state, known.by_id)
                rows = [_token_of(row) for row in session.rows(query("tokens"))]
        except StoreMissing:  # not made yet: nobody was given one. A store that is gone raises another error.
            return _Known(read_at, change, known.state, {})
        return _Known(read_at, change, state, {token.id: (token, held, _grant(token)) for token, held in rows})


def _grant(token: Token) -> Grant:
    viewer = Viewer(token.agent_id, token.teams, TEMPORARY_READ in token.scopes)
    return Grant(token.id, viewer, frozenset(token.scopes), token.profile, token.label, token.expires_at)


def _token_of(row: Row) -> tuple[Token, bytes]:
    """One row of tokens.sql as a Token and the hash of its secret."""
    identity, held, agent, teams, scopes, profile, label, created, expires, revoked = row
    times = [None if time is None else time.replace(tzinfo=UTC) for time in (expires, revoked)]
    token = Token(identity, agent, tuple(teams), tuple(scopes), profile, label, created.replace(tzinfo=UTC), *times)
    return token, bytes(held)


def _named(value: object, name: str) -> str:
    """One line of text that may stand in headers and lists."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidField(f"{name}: is missing", field=name)
    value = value.strip()
    if len(value) > _LONGEST or not value.isprintable() or "|" in value:
        raise InvalidField(f"{name}: {ascii(value)[:40]} is not one line of text without |, at most {_LONGEST} "
                           "characters; give another", field=name)  # fmt: skip
    return value


def _teams(teams: object) -> tuple[str, ...]:
    if isinstance(teams, str | bytes) or not isinstance(teams, Sequence) or len(teams) > _MOST_TEAMS:
        raise InvalidField(f"teams: give a list of at most {_MOST_TEAMS} team ids", field="teams")
    if "%" in teams:
        raise InvalidField("teams: % means all teams; name each team", field="teams")
    return tuple(sorted({_named(team, "teams") for team in teams}))


def _scopes(scopes: object) -> tuple[str, ...]:
    if isinstance(scopes, str | bytes) or not isinstance(scopes, Sequence) or not scopes:
        raise InvalidField(f"scopes: give at least one of {', '.join(SCOPES)}", field="scopes")
    for scope in scopes:
        if scope not in SCOPES:
            raise InvalidField(f"scopes: {ascii(scope)[:40]} is not one of {', '.join(SCOPES)}", field="scopes")
    return tuple(scope for scope in SCOPES if scope in scopes)


def _end(value: object, now: datetime) -> datetime | None:
    if value is None:
        return None
    end = parse_time(value, "expires_at")
    if end <= now:
        raise InvalidField("expires_at: is not in the future", field="expires_at")
    return end
