"""Keyset cursors over the events of a thread: opaque, URL-safe, bound to their thread. Pure.

A cursor says behind which event the next page begins, by that event's id, which never changes: so it stays valid while
events arrive, after a restart, and in a store that was imported from an export. A checksum (HMAC-SHA-256, RFC 2104, cut
to 96 bits) over thread and position, keyed with what identifies the thread (its id, owner and time of making, which an
export carries; decision 17), shows whether a cursor was altered or belongs to another thread. It keeps no secret: a
cursor opens nothing that the id of the thread does not.
"""

from __future__ import annotations

import binascii
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256

from ..errors import Conflict, InvalidField

_CHECK = 12  # bytes of the checksum
_FORM = re.compile(r"[A-Za-z0-9_-]{16,400}")


def make_cursor(thread: str, after: str, *, key: str) -> str:
    """The cursor behind the event `after` ("" is the beginning) of `thread`; `key` is what identifies the thread."""
    said = f"{thread}\n{after}".encode()
    return urlsafe_b64encode(_check(said, key) + said).decode().rstrip("=")


def read_cursor(text: object, thread: str, *, key: str) -> str:
    """The event behind which a cursor of `thread` stands, "" for the beginning.

    Raises InvalidField for anything that is no cursor or was altered, Conflict for the cursor of another thread.
    """
    if not isinstance(text, str) or not _FORM.fullmatch(text):
        raise InvalidField(
            "cursor: is not a cursor: give next_cursor or resume_cursor exactly as returned", field="cursor"
        )
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        check, said = raw[:_CHECK], raw[_CHECK:]
        of, _, after = said.decode("ascii").partition("\n")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise InvalidField("cursor: cannot be read: give it exactly as returned", field="cursor") from error
    if of == thread and hmac.compare_digest(check, _check(said, key)) and make_cursor(of, after, key=key) == text:
        return after
    if of != thread and re.fullmatch(r"thr_[\w.-]+", of):
        raise Conflict("cursor: belongs to another thread: start again without a cursor", field="cursor")
    raise InvalidField("cursor: was altered or made for another store: start again without a cursor", field="cursor")


def _check(said: bytes, key: str) -> bytes:
    return hmac.new(key.encode(), said, sha256).digest()[:_CHECK]
