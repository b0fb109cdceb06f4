"""Errors of the HTTP doors as problem documents (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from context_packs.store.validation import told

from ...errors import ContextPacksError, InvalidField, StoreUnavailable, Unauthorized, row_for
from ...packing.tokens import well_formed
from ..forms.arguments import shown_value
from ..forms.bounded import compact


class Problem(BaseModel):
    """An error (RFC 9457). `code` is its class, `field` the part of the request at fault."""

    type: str = Field(examples=["about:blank"])
    title: str
    status: int
    detail: str
    code: str
    field: str | None = None


PROBLEM_JSON = "application/problem+json"
_CODES = {
    400: "malformed_request",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
    421: "wrong_host",
}


_TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}  # RFC 9110; older Pythons have older names


def problem(
    status: int, detail: str, code: str, field: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """A problem document (RFC 9457).

    Args:
        status: of the response.
        detail: one line.
        code: what programs tell errors apart by.
        field: the one at fault.
        headers: of the response.
    """
    title = _TITLES.get(status) or HTTPStatus(status).phrase
    document: dict[str, Any] = {"type": "about:blank", "title": title, "status": status}
    document |= {"detail": well_formed(" ".join(detail.split())), "code": code}
    if field is not None:
        document["field"] = well_formed(field)
    return Response(compact(document).encode(), status, headers, PROBLEM_JSON)


def problem_of(error: Exception) -> Response:
    """The problem document of an error; one that is not the product's own is told by its kind only."""
    if isinstance(error, ContextPacksError):
        row = row_for(error)
        return problem(row.status, str(error), row.mcp, error.field, _headers(error))
    if isinstance(error, RequestValidationError):
        return _invalid(error)
    if isinstance(error, HTTPException):
        code = _CODES.get(error.status_code, "http_error")
        detail = error.detail if error.detail != HTTPStatus(error.status_code).phrase else _PLAIN.get(code, code)
        return problem(error.status_code, detail, code, headers=error.headers)
    return problem(500, f"unexpected {type(error).__name__}: this is a bug in context-packs", row_for(error).mcp)


_PLAIN = {"not_found": "there is no such route", "method_not_allowed": "this route does not support that method"}


def _headers(error: ContextPacksError) -> dict[str, str] | None:
    if isinstance(error, Unauthorized):
        return {"WWW-Authenticate": 'Bearer realm="context-packs"'}
    return {"Retry-After": "1"} if isinstance(error, StoreUnavailable) else None


def _invalid(error: RequestValidationError) -> Response:
    """The first fault of a request in one line, in the words of the other doors."""
    first: Mapping[str, Any] = error.errors()[0]
    place, *names = first["loc"]
    field, line = told({**first, "loc": names}, str(place), show=shown_value)
    return problem(422, line, row_for(InvalidField).mcp, field[:64])


def shown_name(name: str) -> str:
    """A name of the request as it may stand in one line."""
    return name if name.isprintable() and name.isascii() and len(name) <= 64 else ascii(name)[:64]
