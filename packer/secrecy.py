"""What becomes of a text to be stored that holds what looks like a secret: kept, masked or refused. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_packs.store.errors import InvalidField

SECRETS = ("keep", "mask", "refuse")
MASKED = "what looks like a secret was masked"
_TEXTS = ("content", "title", "summary", "task", "report")


def guarded(fields: Mapping[str, Any], how: str) -> Mapping[str, Any]:
    """The fields of a write as `how` says, one of SECRETS; the same object where nothing was found.

    Raises InvalidField naming the field where a secret is to be refused. What counts as one: `store.secrets`.
    """
    if how == "keep":
        return fields
    from context_packs.store.text.secrets.masking import (
        mask,  # its patterns take longer to make than a short command has
    )

    found = {}
    for name in _TEXTS:
        text = fields.get(name)
        masked, count = mask(text) if isinstance(text, str) else ("", 0)
        if count and how == "refuse":
            message = "holds what looks like a secret: take it out, or set CONTEXT_PACKS_SECRETS to mask"
            raise InvalidField(f"{name}: {message}", field=name)
        if count:
            found[name] = masked
    return {**fields, **found} if found else fields
