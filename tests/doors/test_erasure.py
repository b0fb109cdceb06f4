"""What the doors say of an erasure: when its bytes are gone, what may repeat the text; and that labels go too."""

from pathlib import Path
from typing import Any

WORDS = (b"swordfish", b"bank/vault", b"pikeperch", b"note-7")


def left(folder: Path) -> list[bytes]:
    """Words that stand in a file of a folder."""
    said = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    return [word for word in WORDS if word in said]


def test_rest_erases_labels_and_names_what_may_repeat_the_text(served: Any) -> None:
    """The answer lists it, and 422 where labels come with a soft deletion."""
    client = served.client()
    body = {"content": "The vault opens with swordfish.", "path": "bank/vault"}
    one = client.post("/v1/remember", json=body).json()["id"]
    other = client.post("/v1/remember", json={"content": f"See {one}."}).json()["id"]
    refused = client.post(f"/v1/memories/{one}/forget", json={"labels": True})
    assert (refused.status_code, refused.json()["field"]) == (422, "labels")
    told = client.post(f"/v1/memories/{one}/forget", json={"mode": "redact", "labels": True}).json()
    derived = [{"id": other, "why": "names it"}]
    assert told == {
        "id": one, "memory_id": one, "status": "redact", "erased": "now", "derived_count": 1, "derived": derived,
    }  # fmt: skip
    now = client.get(f"/v1/memories/{one}").json()
    assert (now["content"], now["path"]) == ("[redacted]", "notes")
