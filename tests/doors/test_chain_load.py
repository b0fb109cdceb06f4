"""Cursors under load, over HTTP, with a server that is killed in the middle; the full size is a benchmark command."""

import json
import subprocess
import sys
from pathlib import Path

COMMAND = Path(__file__).resolve().parent.parent / "bench" / "chain.py"


def test_every_event_is_met_once_and_in_order_also_when_the_server_is_killed(tmp_path: Path) -> None:
    """20 writers, events of one moment, small pages, kill -9 half way: what was acknowledged is there, and readers who
    go on from their cursor miss and repeat nothing."""
    target = tmp_path / "run.json"
    command = [sys.executable, str(COMMAND), "--events", "300", "--readers", "2", "--kill", "--json", str(target)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    found = json.loads(target.read_text("utf-8"))
    names = ("stored", "writers", "servers", "lost", "repeated", "unknown", "out_of_order")
    assert {name: found[name] for name in names} == {
        "stored": 300, "writers": 20, "servers": 2, "lost": 0, "repeated": 0, "unknown": 0, "out_of_order": 0
    }  # fmt: skip
    assert found["sent_again"] > 0
