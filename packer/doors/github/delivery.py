"""GitHub webhook deliveries → what is stored of them: a thread and a trigger. Pure: no request, no store, no clock.

Protocol: GitHub Docs, "Validating webhook deliveries" (X-Hub-Signature-256: `sha256=` and the HMAC-SHA-256 of the body
as received, in hex, keyed with the webhook's secret, compared in constant time) and "Webhook events and payloads"
(headers X-GitHub-Event and X-GitHub-Delivery; bodies as `application/json`, or in the field `payload` of an
`application/x-www-form-urlencoded` body; at most 25 MB).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import parse_qs

from context_packs.store.errors import InvalidField
from context_packs.store.times import parse_time

from .body import NAME_CHARS, Body, one_line, part, subject, text
from .threads import ThreadOf, thread_of
from .words import sentence

MAX_BODY_BYTES: Final = 25 * 1024 * 1024
"""What GitHub sends at most."""
FORM: Final = "application/x-www-form-urlencoded"

_EVENT: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_DELIVERY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")
_TIMES: Final = (
    "completed_at", "updated_at", "submitted_at", "published_at", "starred_at", "started_at", "created_at"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Delivery:
    """One delivery, read. `source` is `github:<event>`; `external_id` GitHub's id of the delivery, the same when it is
    sent again; `occurred_at` aware UTC, or None where the body does not say when."""

    event: str
    action: str
    source: str
    external_id: str
    thread: ThreadOf
    summary: str
    occurred_at: datetime | None


# -- what comes in -----------------------------------------------------------------------------------------------------


def signature(body: bytes, secret: str) -> str:
    """The value of X-Hub-Signature-256 for a body as received."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def is_signed(body: bytes, secret: str, header: str | None) -> bool:
    """Tell whether the header is the signature of the body; takes as long for any wrong signature."""
    return header is not None and hmac.compare_digest(
        signature(body, secret).encode(), header.encode("utf-8", "replace")
    )


def json_text(body: bytes, media_type: str) -> bytes:
    """The JSON text of a body in either of GitHub's forms. Raises InvalidField for a form without one `payload`."""
    if media_type != FORM:
        return body
    try:
        fields = parse_qs(body.decode("utf-8"), errors="strict", max_num_fields=16).get("payload", [])
    except ValueError as error:
        raise InvalidField("payload: the form is malformed", field="payload") from error
    if len(fields) != 1:
        raise InvalidField("payload: the form has no such field, or several", field="payload")
    return fields[0].encode("utf-8")


def read_delivery(event: str | None, delivery: str | None, body: Body) -> Delivery:
    """Read one delivery from the headers X-GitHub-Event and X-GitHub-Delivery and the JSON of its body.

    Any event is taken, known or not. Raises InvalidField for a header that is missing or malformed.
    """
    if not event or not _EVENT.fullmatch(event):
        raise InvalidField(f"X-GitHub-Event: {_shown(event)} is not the name of an event", field="X-GitHub-Event")
    if not delivery or not _DELIVERY.fullmatch(delivery):
        raise InvalidField(
            f"X-GitHub-Delivery: {_shown(delivery)} is not the id of a delivery", field="X-GitHub-Delivery"
        )
    return Delivery(
        event=event,
        action=one_line(text(body, "action"), NAME_CHARS),
        source=f"github:{event}",
        external_id=delivery,
        thread=thread_of(event, body),
        summary=sentence(event, body),
        occurred_at=moment_of(event, body),
    )


def _shown(value: str | None) -> str:
    return "nothing" if not value else ascii(value[:40])


def moment_of(event: str, body: Body) -> datetime | None:
    """When it happened, as far as the body says; a deletion has no time of its own."""
    if text(body, "action") in ("deleted", "dismissed"):
        return None
    if event == "push":
        pushed = part(body, "repository").get("pushed_at")
        values = [pushed, part(body, "head_commit").get("timestamp")]
    else:
        values = [holder.get(name) for holder in (subject(event, body), body) for name in _TIMES]
    for value in values:
        if isinstance(value, str | int) and (moment := _moment(value)) is not None:
            return moment
    return None


def _moment(value: str | int) -> datetime | None:
    """A time, or None for what is none: a delivery is worth keeping also where its clock cannot be read."""
    try:
        return parse_time(value, "occurred_at")
    except InvalidField:
        return None
