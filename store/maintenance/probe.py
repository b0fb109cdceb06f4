"""Whether the store takes a memory and finds it again, tried on the real path and taken back."""

from __future__ import annotations

from datetime import datetime

from ..errors import StoreDamaged
from ..file.duck import Duck, Session
from ..memory import writes
from ..memory.prepare import RecordIn, prepare
from ..values import Viewer

_AGENT = "context-packs probe"
_TEXT = "A probe of the store: is this sentence taken and found?"
_TAIL = 2048  # rows at the end of a table that are read whole: the next ones go there


def probe(duck: Duck, now: datetime) -> None:
    """Take a number, write a record with its postings, read it back by them, and roll all of it back.

    Raises what a write or a search would raise, StoreDamaged where the record is not found. Nothing stays.
    """
    try:
        with duck.writing(records=False) as session:
            _try(session, now)
            raise _Enough
    except _Enough:
        return


class _Enough(Exception):
    """Ends the transaction of a probe that went well."""


def _try(session: Session, now: datetime) -> None:
    end = session.value("SELECT coalesce(max(rowid), 0) FROM records")
    session.value("SELECT bit_xor(hash(r)) FROM (FROM records WHERE rowid > $after) r", {"after": end - _TAIL})
    end = session.value("SELECT coalesce(max(rowid), 0) FROM postings")
    session.value("SELECT bit_xor(hash(p)) FROM (FROM postings WHERE rowid > $after) p", {"after": end - _TAIL})
    item = prepare(RecordIn(content=_TEXT, dedupe=False))
    writes.remember(session, [item], Viewer(_AGENT), now)
    terms = set().union(*(slot for slot, _ in item.slots))
    found = session.value(
        "SELECT count(DISTINCT p.term) FROM postings p JOIN records r ON r.vid = p.vid "
        "WHERE p.term IN (SELECT unnest($terms::BIGINT[])) AND r.agent_id = $agent",
        {"terms": sorted(terms), "agent": _AGENT},
    )
    if found != len(terms):
        raise StoreDamaged("a record was written and is not found by its words: run `reindex`")
