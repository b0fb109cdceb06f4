"""Others' answers beside silent clients with half-sent requests: `python tests/bench/silent.py [--descriptors 256]`.

Starts the installed `context-packs serve` on the loopback interface over an empty store in a temporary folder, opens
so many half-sent heads, and asks `/health` on new connections meanwhile and afterwards. Prints percentiles as JSON.
"""

from __future__ import annotations

import argparse
import json
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

HALF = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
ASKED = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


def ask(port: int) -> tuple[float, bool]:
    """Seconds of one request on a connection of its own, and whether it was answered with 200."""
    start = time.perf_counter()
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as one:
            one.sendall(ASKED)
            good = one.recv(15) == b"HTTP/1.1 200 OK"
            return time.perf_counter() - start, good
    except OSError:
        return time.perf_counter() - start, False


def hold(port: int, count: int) -> list[socket.socket]:
    """So many connections with half a head each; one that is refused is passed over."""
    held = []
    for _ in range(count):
        try:
            one = socket.create_connection(("127.0.0.1", port), timeout=20)
            one.sendall(HALF)
            held.append(one)
        except OSError:
            continue
    return held


def measure(port: int, silent: int, asked: int) -> dict[str, object]:
    """Ask while half the silent ones arrive, and once they all are there."""
    held: list[socket.socket] = []
    thread = threading.Thread(target=lambda: held.extend(hold(port, silent)))
    thread.start()
    answers = []
    while thread.is_alive() or len(answers) < asked:
        answers.append(ask(port))
        time.sleep(0.005)
    thread.join()
    for one in held:
        one.close()
    seconds = sorted(second for second, _ in answers)
    return {
        "silent": len(held),
        "asked": len(answers),
        "failed": sum(not good for _, good in answers),
        "p50_ms": round(seconds[len(seconds) // 2] * 1000, 1),
        "p99_ms": round(seconds[int(len(seconds) * 0.99)] * 1000, 1),
        "max_ms": round(seconds[-1] * 1000, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--silent", type=int, default=1_500)
    parser.add_argument("--asked", type=int, default=500)
    parser.add_argument("--descriptors", type=int, help="limit of the server's process")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with tempfile.TemporaryDirectory() as folder:
        command = [str(Path(sys.executable).with_name("context-packs")), "--store", f"{folder}/m.duckdb", "--quiet"]
        # The server inherits the limit that stands when it starts.
        resource.setrlimit(resource.RLIMIT_NOFILE, (options.descriptors or min(hard, 4_096), hard))
        server = subprocess.Popen([*command, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, options.silent + 500), hard))
        assert server.stdout is not None
        try:
            port = urllib.parse.urlsplit(server.stdout.readline().strip()).port
            assert port is not None
            result = measure(port, options.silent, options.asked)
            status = Path(f"/proc/{server.pid}/status")
            if status.exists():
                (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmRSS")]
                result["server_mb"] = int(line.split()[1]) // 1024
            print(json.dumps(result))
        finally:
            server.terminate()
            server.wait(30)
    return 0 if not result["failed"] and float(str(result["p99_ms"])) < 1000 else 1


if __name__ == "__main__":
    raise SystemExit(main())
