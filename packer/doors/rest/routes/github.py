"""POST /hooks/github: webhook deliveries of GitHub become triggers on threads.

Protocol: GitHub Docs, "Validating webhook deliveries", "Handling webhook deliveries" and "Webhook events and payloads".
With a secret the signature of a delivery is its credential, and what it brings belongs to the agent of the server;
without one the route takes a credential with memory:write like any other. `ping`, which GitHub sends when a webhook is
made, is answered and not kept: nothing happened. Every other event is kept, known or not. A delivery that is sent
again (same X-GitHub-Delivery) answers 200 with the trigger that is there.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response

from ....errors import Conflict, Unauthorized
from ....service import ContextPacks
from ...forms.chain import receipt, trigger_document
from ...github.delivery import FORM, is_signed, json_text, read_delivery
from ...github.threads import ThreadOf
from ..answers import answer
from ..gate import READ, WRITE, Caller, Gate, header_text
from ..models.chain import TriggerOut
from ..problems import Problem
from ..requests import DoorRoute, parse_json

router = APIRouter(route_class=DoorRoute)

_JSON: Final = "application/json"


class Pong(BaseModel):
    """The answer to a ping: the webhook is set up, nothing was kept."""

    status: Literal["pong"]


def _header(name: str, what: str, *, required: bool = True) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": required, "description": what, "schema": {"type": "string"}}


_EXTRA: Final[dict[str, Any]] = {
    "parameters": [
        _header("X-GitHub-Event", "name of the event"),
        _header("X-GitHub-Delivery", "id of the delivery, the same when it is sent again"),
        _header(
            "X-Hub-Signature-256", "sha256= and the HMAC of the body; needed where a secret is set", required=False
        ),
    ],
    "requestBody": {
        "required": True,
        "content": {
            _JSON: {"schema": {"type": "object"}},
            FORM: {
                "schema": {"type": "object", "properties": {"payload": {"type": "string"}}, "required": ["payload"]}
            },
        },
    },
    "security": [{"ApiKey": []}, {"Bearer": []}, {}],
}


async def _admit(request: Request) -> tuple[Caller, bytes]:
    """Who a delivery speaks for, and its body as received. Raises Unauthorized before anything of it is read."""
    gate: Gate = request.app.state.gate
    secret: str | None = request.app.state.github_secret
    if secret is None:
        return await gate.admit(request, WRITE), await request.body()
    given = request.headers.get("x-hub-signature-256")
    if given is None:
        raise Unauthorized("X-Hub-Signature-256: is missing: set the secret of the server in the webhook")
    body = await request.body()
    if not await run_sync(is_signed, body, secret, given):
        raise Unauthorized("X-Hub-Signature-256: is not the signature of this body with the secret of the server")
    return Caller(gate.packs, frozenset((WRITE,)), gate.profile), body


@router.post(
    "/hooks/github",
    status_code=201,
    response_model=TriggerOut,
    responses={
        200: {"model": TriggerOut | Pong, "description": "The trigger of a delivery that came before, or a pong"},
        201: {"description": "The new trigger"},
        401: {"model": Problem, "description": "The signature is missing or wrong, or a credential is needed"},
        410: {"model": Problem, "description": "The trigger of this delivery was deleted"},
    },
    openapi_extra=_EXTRA,
)
async def receive(request: Request) -> Response:
    """Take a webhook delivery of GitHub: it becomes a trigger on the thread of what it is about."""
    caller, body = await _admit(request)
    request.scope["context_packs.caller"] = caller
    content_type = header_text(request.headers.get("content-type", ""))
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in (_JSON, FORM):
        raise HTTPException(415, f"body: send it as {_JSON} or {FORM}")
    event, delivery = (request.headers.get(name) for name in ("x-github-event", "x-github-delivery"))
    return await run_sync(_keep, caller, event, delivery, body, kind)


def _keep(caller: Caller, event: str | None, delivery: str | None, body: bytes, kind: str) -> Response:
    value, _ = parse_json(json_text(body, kind))
    if not isinstance(value, dict):
        raise HTTPException(400, "body: is JSON but not an object")
    read = read_delivery(event, delivery, value)
    if read.event == "ping":
        return answer({"status": "pong"})
    packs = caller.packs
    thread = _thread(packs, read.thread)
    written = packs.threads.add_trigger(
        thread,
        read.source,
        summary=read.summary,
        payload=body,
        media_type=kind,
        occurred_at=read.occurred_at,
        external_id=read.external_id,
    )
    if written.created:
        _move(packs, thread, read.thread)
    trigger = packs.threads.get_trigger(written.id)
    caller.touch(trigger.thread_id, written.id)
    told = trigger_document(trigger)
    if READ not in caller.scopes:
        told = receipt(told, *(("summary", "payload", "spilled") if written.created else ()))
    if not written.created:
        return answer(told)
    return answer(told, 201, {"Location": f"/triggers/{written.id}"})


def _thread(packs: ContextPacks, thread: ThreadOf) -> str:
    """The id of a thread, which is made under the first of its ids that is free."""
    *readable, last = thread.ids
    fields: dict[str, Any] = {"natural_key": thread.natural_key, "status": thread.status, "path": thread.path}
    for name in readable:
        try:
            return packs.threads.create(thread.summary, thread_id=name, **fields).id
        except Conflict:
            continue  # it stands for something else: the next one says more
    return packs.threads.create(thread.summary, thread_id=last, **fields).id


def _move(packs: ContextPacks, id: str, thread: ThreadOf) -> None:
    """Bring a thread up to what a new delivery says of it."""
    there = packs.threads.get(id)
    summary = thread.summary if thread.titled and there.summary != thread.summary else None
    status = thread.status if thread.moves and there.status != thread.status else None
    if summary is not None or status is not None:
        packs.threads.update(id, summary=summary, status=status)
