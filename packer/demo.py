"""Example memories for `context-packs demo`: an invented agent that keeps the memory service of a small team.

The lines are the JSON Lines form that `context-packs import jsonl` takes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from .fields import NewRecord

QUERY = "Why did we choose DuckDB for the candidate stage?"
LIMITS: Mapping[str, int] = MappingProxyType({"max_items": 5, "max_tokens": 280})
NOW = datetime(2026, 3, 20, 9, tzinfo=UTC)
"""The present of the example store, so that the demo gives the same bytes at any time."""
OPENED: Final[dict[str, Any]] = {"encoding": "o200k_base", "embedder": "none", "clock": lambda: NOW}
"""How its store is opened: neither the clock nor the settings decide what is shown, as the README shows the same."""

JSON_LINES = """\
{"content": "We chose DuckDB for the candidate stage because one file holds records, postings and vectors, and a query needs no server. However, a file has one writer at a time, so every process opens it for a single operation and lets it go.", "path": "memory-os/decisions", "type": "decision", "title": "DuckDB for candidates", "timestamp": "2026-03-02T10:15:00Z"}
{"content": "候補の選定にDuckDBを選んだ理由：一つのファイルで完結し、日本語の検索も文字の二つ組で足りる。ただし、書き込みは同時に一つだけ。", "path": "memory-os/decisions", "type": "decision", "title": "候補段階（candidate stage）", "timestamp": "2026-03-02T10:40:00Z"}
{"content": "Mika: The search server takes 340 ms at the median, half of it network.\\nTaro: In the same process the answer is there in 9 ms.\\nMika: What about Japanese?\\nTaro: 二文字の索引で「会議」も見つかった。\\nMika: Then DuckDB for the candidate stage, unless the nightly import gets slower.\\nTaro: I will measure the import tonight.\\nMika: Lunch?\\nTaro: 今日はそばにしよう。", "kind": "episode", "path": "memory-os/meetings", "type": "chat", "title": "Second round", "timestamp": "2026-03-01T05:30:00Z", "source": {"name": "team-chat"}}
{"content": "Looked at and left:\\n- a search server: one more process to run and to pay for\\n- SQLite FTS5: splits Japanese only at blanks\\n- vectors alone: exact names and numbers get lost", "path": "memory-os/decisions", "type": "note", "title": "Alternatives", "timestamp": "2026-03-02T11:05:00Z"}
{"content": "Import after the change: 100,000 records in 74 s with the search server, 41 s with DuckDB.", "path": "memory-os/measurements", "type": "fact", "timestamp": "2026-03-03T22:10:00Z"}
{"content": "Answer in the language of the question. Never paste customer data into a ticket.", "path": "memory-os/rules", "type": "rule", "title": "House rules", "pinned": true, "timestamp": "2026-02-10T08:00:00Z"}
{"content": "Write the migration guide for stores from before March.", "path": "memory-os/tasks", "type": "task", "status": "open", "timestamp": "2026-03-12T09:00:00Z"}
{"content": "再現手順を書く：インポート中に電源が落ちると最後の一行だけ失われる。", "path": "memory-os/tasks", "type": "task", "status": "open", "timestamp": "2026-03-14T01:20:00Z"}
{"content": "Rotate the token of the staging server before the end of the month.", "path": "memory-os/tasks", "type": "task", "status": "open", "timestamp": "2026-03-16T13:45:00Z"}
{"content": "Releases go out on Tuesdays at 14:00 UTC. Except in the week of a conference: then on Thursday.", "path": "memory-os/process", "type": "fact", "timestamp": "2026-02-18T14:00:00Z"}
{"content": "毎朝九時に前日の失敗を確認する。担当は週ごとに交代。", "path": "memory-os/process", "type": "fact", "timestamp": "2026-02-20T00:00:00Z"}
{"content": "Incident of 5 March: two importers waited for each other for eleven minutes. Cause: a transaction was held open during a download. Fix: read first, then write in one short transaction.", "path": "memory-os/incidents", "type": "incident", "title": "Stuck import", "timestamp": "2026-03-05T16:30:00Z"}
{"content": "Token counts are those of o200k_base. For other models we keep a margin and say so.", "path": "memory-os/decisions", "type": "decision", "timestamp": "2026-03-09T09:30:00Z"}
{"content": "Sora prefers short pull requests with the measurement in the first line.", "path": "memory-os/people", "type": "preference", "timestamp": "2026-02-25T10:00:00Z"}
"""  # noqa: E501

MEMORIES: tuple[NewRecord, ...] = tuple(json.loads(line) for line in JSON_LINES.splitlines())
