"""The OpenAPI document is true: what it promises is what the server does, tried from outside by another program."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

SCHEMATHESIS = str(Path(sys.executable).with_name("schemathesis"))
CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
    "response_headers_conformance", "unsupported_method", "allow_header_conformance", "ignored_auth",
)  # fmt: skip


def test_every_answer_is_one_that_the_document_names(servers: Callable[..., Any], tmp_path: Path) -> None:
    """Schemathesis over all operations and their boundary values: no 5xx, no undocumented status, type or shape."""
    served = servers()
    scopes = ("memory:read", "memory:write", "memory:admin", "memory:temporary:read")
    (name, secret) = next(iter(served.token("planner", *scopes, teams=["blue"]).items()))
    for number in range(3):
        served.packs.remember(f"Backup {number} runs nightly.", path="ops")
    ran = subprocess.run(
        [SCHEMATHESIS, "run", f"{served.url}/openapi.json", "--header", f"{name}: {secret}", "--checks",
         ",".join(CHECKS), "--phases", "coverage,fuzzing", "--max-examples", "2", "--generation-deterministic",
         "--suppress-health-check", "all", "--no-color"],
        cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    tested = re.search(r"Tested: (\d+)", ran.stdout)
    paths = served.client.get("/openapi.json").json()["paths"]
    assert tested is not None
    assert int(tested[1]) == sum(len(operations) for operations in paths.values())


def test_every_operation_names_its_errors_and_its_credentials(servers: Callable[..., Any]) -> None:
    """Errors are problem documents by one schema; what needs a credential says so; no answer is without a shape."""
    document = servers().client.get("/openapi.json").json()
    problem = {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    for told in document["components"]["responses"].values():
        assert told.items() >= problem.items()
    open_to_all = set()
    for path, operations in document["paths"].items():
        for operation in operations.values():
            answers = operation["responses"]
            if "401" not in answers:
                open_to_all.add(path)
            assert {"403", "413", "421", "422", "503"} <= set(answers)
            assert "default" not in answers
            assert all(
                answers[status].get("content") for status in answers if status.startswith("2") and status != "204"
            )
            assert not operation.get("requestBody") or {"400", "415"} <= set(answers)
            assert ("401" in answers) == any(operation.get("security", []))
    assert open_to_all == {"/health", "/ready", "/.well-known/agent-discovery.json", "/.well-known/memory-os.json"}
    assert "HTTPValidationError" not in document["components"]["schemas"]
