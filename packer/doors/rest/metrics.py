"""What a server tells about itself: metrics in the text form of Prometheus, and one line of JSON per event on stderr.

Neither ever holds a text of a memory or a query: routes stand as templates, errors as kinds and places in the code.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from bisect import bisect_left
from datetime import UTC, datetime
from typing import TextIO

from .edge import Done

BUCKETS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
OURS = "context_packs"

_requests = logging.getLogger("context_packs.requests")
_faults = logging.getLogger("context_packs.faults")


class Metrics:
    """Counts of one server since its start. Written by the event loop, read from any thread."""

    def __init__(self) -> None:
        self.in_flight = 0
        self._counts: dict[tuple[str, str, int], int] = {}
        self._times: dict[str, list[int]] = {}  # route → counts by bucket, the last one for all above
        self._sums: dict[str, float] = {}  # route → seconds

    def begun(self) -> None:
        """A request came in."""
        self.in_flight += 1

    def done(self, one: Done) -> None:
        """A request was answered."""
        self.in_flight -= 1
        key = (one.method if one.method in METHODS else "other", one.route, one.status)
        self._counts[key] = self._counts.get(key, 0) + 1
        times = self._times.setdefault(one.route, [0] * (len(BUCKETS) + 1))
        times[bisect_left(BUCKETS, one.seconds)] += 1
        self._sums[one.route] = self._sums.get(one.route, 0.0) + one.seconds

    def text(self, version: str, records: int) -> str:
        """The exposition (Prometheus text format 0.0.4). `records` is how many the store holds."""
        lines = [
            "# HELP context_packs_build_info The version that runs.",
            "# TYPE context_packs_build_info gauge",
            f'context_packs_build_info{{version="{_label(version)}"}} 1',
            "# HELP context_packs_records Records in the store.",
            "# TYPE context_packs_records gauge",
            f"context_packs_records {records}",
            "# HELP context_packs_requests_in_flight Requests being answered.",
            "# TYPE context_packs_requests_in_flight gauge",
            f"context_packs_requests_in_flight {self.in_flight}",
            "# HELP context_packs_requests_total Requests by method, route and status.",
            "# TYPE context_packs_requests_total counter",
        ]
        for (method, route, status), count in sorted(self._counts.copy().items()):
            labels = f'method="{method}",route="{_label(route)}",status="{status}"'
            lines.append(f"context_packs_requests_total{{{labels}}} {count}")
        lines += [
            "# HELP context_packs_request_seconds Time to answer a request.",
            "# TYPE context_packs_request_seconds histogram",
        ]
        for route, times in sorted(self._times.copy().items()):
            label, total = f'route="{_label(route)}"', 0
            for bound, count in zip((*BUCKETS, "+Inf"), times, strict=True):
                total += count
                lines.append(f'context_packs_request_seconds_bucket{{{label},le="{bound}"}} {total}')
            lines.append(f"context_packs_request_seconds_sum{{{label}}} {self._sums[route]:.6f}")
            lines.append(f"context_packs_request_seconds_count{{{label}}} {total}")
        return "\n".join(lines) + "\n"


def _label(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def log_request(one: Done) -> None:
    """One line for a request: method, route template, status, milliseconds, id of the token."""
    if one.error is not None and one.status >= 500:
        _faults.error("a request failed", exc_info=one.error)
    if _requests.isEnabledFor(logging.INFO):
        facts: dict[str, object] = {"method": one.method if one.method in METHODS else "other", "route": one.route}
        facts |= {"status": one.status, "ms": round(one.seconds * 1000, 1)}
        if one.caller is not None:
            facts["token"] = one.caller.token or "open"
        _requests.info("request", extra={"facts": facts})


class JsonLines(logging.Formatter):
    """Log records as JSON, a line each. Other libraries put what they were given into their messages, so of theirs only
    name, level and place are told; of an error its kinds and places, without their messages."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
        }
        if record.name == OURS or record.name.startswith(f"{OURS}."):
            line["event"] = record.getMessage()
            line |= getattr(record, "facts", {})
        else:
            line |= {"event": "log", "logger": record.name, "place": f"{record.module}:{record.lineno}"}
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = _places(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False)


def _places(error: BaseException) -> list[str]:
    """Kind and places of an error and of what caused it, outermost first; modules, never folders or messages."""
    told: list[str] = []
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        told.append(type(one).__name__)
        for frame, line in traceback.walk_tb(one.__traceback__):
            told.append(f"{frame.f_globals.get('__name__', '?')}:{line}")
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
    return told


def log_to(stream: TextIO | None = None, *, requests: bool = True) -> logging.Handler:
    """Send the logs of this process to a stream (stderr) as JSON lines; gives the handler."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger(OURS).setLevel(logging.INFO)
    _requests.setLevel(logging.INFO if requests else logging.WARNING)
    return handler
