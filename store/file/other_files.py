"""Files that are not the open store, read and written through a DuckDB instance of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

try:
    import _duckdb as duckdb  # what `duckdb` re-exports, without its layer of Python
except ImportError:
    import duckdb  # type: ignore[no-redef]

from .attached import connect
from .duck import Row, Session
from .failures import mapped

_MEMORY_LIMIT = "160MB"


def identifier(name: str) -> str:
    """The name of a table as it stands in SQL."""
    return '"' + name.replace('"', '""') + '"'


def identifiers(names: Sequence[str]) -> str:
    """Names of columns as a list in SQL."""
    return ", ".join(map(identifier, names))


@contextmanager
def aside(path: str) -> Iterator[Session]:
    """A session on an instance of its own: attach files by name. What does not fit into memory spills beside `path`,
    which no error names."""
    connection = connect(memory_limit=_MEMORY_LIMIT, threads="1", temp_directory=f"{path}.tmp")
    try:
        yield Session(connection)
    except duckdb.Error as error:
        raise mapped(error, path) from error
    finally:
        connection.close()


def rows_if_readable(session: Session, sql: str, params: Mapping[str, Any] | None = None) -> list[Row] | None:
    """All rows of a query on a file that may be damaged; None where they cannot be read.

    Damage shows in any error: text that is no UTF-8 is an InvalidInputException, a column that the catalogue lost a
    BinderException. Only a fault of our own words stays what it is. A fatal error ends the instance of the session, so
    that it is of no more use after None.
    """
    try:
        return session.rows(sql, params)
    except duckdb.ParserException:
        raise
    except (duckdb.Error, UnicodeDecodeError):
        return None
