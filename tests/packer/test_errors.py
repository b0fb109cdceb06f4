"""One table from errors to what each door says."""

import pytest

from context_packs.packer import errors
from context_packs.packer.errors import ERROR_TABLE, ErrorRow, row_for


@pytest.mark.parametrize(
    ("error", "row"),
    [
        (errors.Unauthorized("no token"), ErrorRow(401, "unauthorized", 3)),
        (errors.Forbidden("needs memory:write"), ErrorRow(403, "forbidden", 3)),
        (errors.NotFound("no such record"), ErrorRow(404, "not_found", 4)),
        (errors.Gone("deleted"), ErrorRow(410, "gone", 4)),
        (errors.InvalidField("max_tokens: 0 is below 1", field="max_tokens"), ErrorRow(422, "invalid_field", 2)),
        (errors.Conflict("other content"), ErrorRow(409, "conflict", 5)),
        (errors.StoreLocked("try again"), ErrorRow(503, "store_locked", 6)),
        (errors.StoreUnavailable("try again"), ErrorRow(503, "store_unavailable", 6)),
        (errors.ContextPacksError("anything"), ErrorRow(500, "internal_error", 1)),
        (ValueError("a bug"), ErrorRow(500, "internal_error", 1)),
    ],
)
def test_each_error_has_its_row(error: Exception, row: ErrorRow) -> None:
    """Status, code and exit code are those of the contract; what is not ours is an internal error."""
    assert row_for(error) == row
    assert row_for(type(error)) == row


def test_a_new_leaf_is_found_by_its_base() -> None:
    """The table is looked up along the class's bases, nearest first."""

    class StoreAsleep(errors.StoreUnavailable):
        pass

    assert row_for(StoreAsleep("zzz")) == ErrorRow(503, "store_unavailable", 6)


def test_every_unavailable_store_exits_alike() -> None:
    """Locked, read-only, damaged, newer and full are all 503 and exit code 6."""
    rows = [row for kind, row in ERROR_TABLE.items() if issubclass(kind, errors.StoreUnavailable)]
    assert {(row.status, row.exit_code) for row in rows} == {(503, 6)}
    assert len(rows) == 7
