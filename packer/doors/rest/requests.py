"""Strict requests: a router is `APIRouter(route_class=DoorRoute)`.

Its routes are plain functions (they run in worker threads), take the caller as a parameter and give `answer(document)`
or `exact(request, document)`:

    @router.get("/v1/memories/{id}", response_model=MemoryOut)
    def read(request: Request, id: str, caller: Reads) -> Response: ...

A route that takes no caller is open to everybody. Errors are raised as in the library; nothing here decides on content.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, get_args, get_origin

from anyio.to_thread import run_sync
from fastapi import Depends, Header, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, model_validator
from starlette.exceptions import HTTPException
from starlette.responses import Response

from context_packs.store.records import NAMED, is_id, parse_name
from context_packs.store.text import strictjson

from ...errors import InvalidField, NotFound
from ..forms.lenient import fitted
from .gate import CALLER, Caller, Gate, header_text, needed_scope
from .problems import shown_name

MAX_DEPTH = 64  # levels of a JSON body; deeper ones make a parser of somebody fail sooner or later
MAX_KEY = 255  # characters of an idempotency key
_IN_THREAD = 256 * 1024  # bytes of a body above which it is parsed beside the event loop
_LONE = re.compile("[\ud800-\udfff]")


class Body(BaseModel):
    """Base of request bodies: unknown fields are refused by name, and a field is strict in what is meant, lenient in
    how it is written."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, value: Any) -> Any:
        names = [part.alias or name for name, part in cls.model_fields.items()]
        for name in value if isinstance(value, dict) else ():
            if name not in names:
                known = f"known fields: {', '.join(names)}" if names else "leave it out"
                raise InvalidField(f"{shown_name(name)}: unknown field; {known}", field=name[:64])
        return fitted(value, _properties(cls)) if isinstance(value, dict) else value


@cache
def _properties(model: type[BaseModel]) -> dict[str, Any]:
    return dict(model.model_json_schema().get("properties", {}))


class DoorRoute(APIRoute):
    """A route that asks who is calling first, takes no query parameter it does not know, and no body but JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        scope = needed_scope(self)
        names = dict(_query_names(self.dependant))
        takes_json = self.body_field is not None
        kinds = self.path.partition("/{id}")[0].rpartition("/")[2] if "/{id}" in self.path else ""
        what = "record" if kinds == "memories" else kinds.removesuffix("s")

        async def handle(request: Request) -> Response:
            if scope is not None:
                gate: Gate = request.app.state.gate
                await gate.admit(request, scope)
            if what:
                _check_id(what, request.path_params["id"])
            if request.scope["query_string"]:
                _check_query(request, names)
            if takes_json:
                request = _JsonRequest(request.scope, request.receive)
                await request.settle()
            return await handler(request)

        return handle


def _check_id(what: str, ref: str) -> None:
    """Raises NotFound for an id that has a form which no id of its kind has: it names nothing, so it is unknown."""
    named = what in NAMED
    if not (parse_name(ref) == what if named else is_id(ref)):
        field = f"{what}_id" if named else "id"
        raise NotFound(f"{field}: there is no {what} {shown_name(ref)}", field=field)


def _query_names(dependant: Dependant) -> Iterable[tuple[str, bool]]:
    """All query parameters of a route, those of its dependencies and of a model included, and which may be repeated."""
    for one in dependant.query_params:
        kind = one.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from ((part.alias or name, _is_list(part.annotation)) for name, part in kind.model_fields.items())
        else:
            yield one.alias, _is_list(kind)
    for inner in dependant.dependencies:
        yield from _query_names(inner)


def _is_list(kind: Any) -> bool:
    return get_origin(kind) in (list, tuple, set) or any(map(_is_list, get_args(kind)))


def _check_query(request: Request, names: Mapping[str, bool]) -> None:
    """Refuses what nobody would read: a parameter that the route does not know, and the same one twice."""
    seen: set[str] = set()
    for name, _ in request.query_params.multi_items():
        if name not in names:
            known = f"known parameters: {', '.join(sorted(names))}" if names else "this route has no parameters"
            raise InvalidField(f"{shown_name(name)}: unknown query parameter; {known}", field=name[:64])
        if name in seen and not names[name]:
            raise InvalidField(f"{name}: is given twice", field=name)
        seen.add(name)


class _JsonRequest(Request):
    """A request whose body is JSON, parsed once: what no JSON of others can hold is refused or repaired."""

    async def settle(self) -> None:
        """Read and parse the body where there is one. Raises HTTPException 400 (malformed) and 415 (no JSON).

        What comes from a web page says that it is JSON also without a body: a page of another port of this machine
        could send it unasked otherwise (a "simple" request of the Fetch standard).
        """
        raw = await self.body()
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        no_json = kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json"))
        if no_json and (raw or "origin" in self.headers):
            raise HTTPException(415, "body: send it as Content-Type: application/json")
        if not raw:
            return
        self._json, repaired = await run_sync(parse_json, raw) if len(raw) > _IN_THREAD else parse_json(raw)
        caller: Caller | None = self.scope.get(CALLER)
        if repaired and caller is not None:
            self.scope[CALLER] = replace(caller, repaired=True)

    async def json(self) -> Any:
        return self._json


def parse_json(raw: bytes) -> tuple[Any, bool]:
    """A JSON body, and whether lone surrogates in it were replaced by U+FFFD (RFC 8259, section 8.2).

    Raises HTTPException 400 for what is no JSON: not UTF-8, NaN, numbers beyond a double, deeper than 64 levels.
    Raises InvalidField for a key that appears twice in one object.
    """
    try:
        text = raw.decode("utf-8")
        value = strictjson.loads(text, parse_constant=_no_number, parse_float=_finite)
        if (
            raw.count(b"[") + raw.count(b"{") > MAX_DEPTH
            and isinstance(value, dict | list)
            and _deeper(value, MAX_DEPTH)
        ):
            raise RecursionError
    except UnicodeDecodeError as error:
        raise HTTPException(400, "body: is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise HTTPException(400, f"body: is not JSON: {error.msg} at character {error.pos}") from error
    except strictjson.RepeatedKey as error:
        raise InvalidField(f"{shown_name(error.key)}: {error}; give it once", field=error.key[:64]) from error
    except RecursionError as error:
        raise HTTPException(400, f"body: is nested deeper than {MAX_DEPTH} levels; flatten it") from error
    except ValueError as error:
        raise HTTPException(400, "body: has a number that JSON or a double cannot represent") from error
    if b"\\ud" in raw or b"\\uD" in raw:
        whole = json.dumps(value, ensure_ascii=False)
        if _LONE.search(whole):
            return json.loads(_LONE.sub("\ufffd", whole)), True
    return value, False


def _no_number(name: str) -> Any:
    raise ValueError(name)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _deeper(value: Any, most: int) -> bool:
    level = [value]  # lists and objects that stand equally deep
    for _ in range(most):
        parts = (part for one in level for part in (one.values() if isinstance(one, dict) else one))
        level = [part for part in parts if isinstance(part, dict | list)]
    return bool(level)


async def idempotency_key(
    idempotency_key: Annotated[str | None, Header(description="the same key never writes twice")] = None,
    x_idempotency_key: Annotated[str | None, Header(description="the same")] = None,
) -> str | None:
    """The key of `Idempotency-Key` or `X-Idempotency-Key`; quotes around it (a structured field) are no part of it."""
    given = {_unquoted(header_text(one)) for one in (idempotency_key, x_idempotency_key) if one is not None}
    return one_key(*given)


IdempotencyKey = Annotated[str | None, Depends(idempotency_key)]


def one_key(*keys: str | None) -> str | None:
    """The one idempotency key among those of headers and body; raises InvalidField for two that differ, a blank one
    and one above 255 characters."""
    given = {key for key in keys if key is not None}
    for key in given:
        if not key.strip() or len(key) > MAX_KEY:
            raise InvalidField(
                f"idempotency_key: is blank or above {MAX_KEY} characters; shorten it", field="idempotency_key"
            )
    if len(given) > 1:
        raise InvalidField("idempotency_key: the headers and the body name different keys", field="idempotency_key")
    return next(iter(given), None)


def _unquoted(key: str) -> str:
    return key[1:-1] if len(key) > 1 and key[0] == key[-1] == '"' else key
