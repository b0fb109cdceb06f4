"""Stores in real files with a clock that stands still, and what the tests of the store ask of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from context_packs.packer import ContextPacks
from context_packs.store.duckstore import DuckStore
from context_packs.store.file import duck
from context_packs.store.file import schema as schema_sql
from context_packs.store.file.attached import quoted
from context_packs.store.file.duck import Mode
from context_packs.store.file.engine import engine
from context_packs.store.file.other_files import aside
from context_packs.store.records import Written
from context_packs.store.values import Candidates, Filters, Viewer

duck_migrations = duck.migrations()
COLUMNS = "SELECT table_name, column_name FROM duckdb_columns() WHERE database_name = current_database()"
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@dataclass
class Clock:
    """The present, moved by hand."""

    now: datetime = NOON

    def __call__(self) -> datetime:
        return self.now

    def on(self, **delta: float) -> datetime:
        """Move on by a timedelta; the new present."""
        self.now += timedelta(**delta)
        return self.now


@dataclass
class Kit:
    """Stores and the agent "planner" who uses them."""

    folder: Path
    clock: Clock = field(default_factory=Clock)
    me: Viewer = field(default_factory=lambda: Viewer("planner"))
    opened: list[DuckStore | ContextPacks] = field(default_factory=list)

    @property
    def path(self) -> Path:
        """The usual file of the test."""
        return self.folder / "memory.duckdb"

    def store(self, path: Path | str | None = None, mode: Mode = "exclusive", wait: float = 15.0) -> DuckStore:
        """A store in a file (`memory.duckdb` of the test), closed at its end."""
        store = DuckStore(self.path if path is None else path, mode=mode, wait=wait, clock=self.clock)
        self.opened.append(store)
        return store

    def packs(self, agent: str = "planner", *teams: str, path: Path | None = None) -> ContextPacks:
        """The library's object on the same file."""
        packs = ContextPacks.open(
            path or self.path, agent, teams=teams, mode="exclusive", embedder="none", clock=self.clock
        )
        self.opened.append(packs)
        return packs

    def write(self, store: DuckStore, content: str, **fields: Any) -> Written:
        """One record of the planner."""
        return store.remember_many([{"content": content, **fields}], self.me)[0]

    def find(
        self, store: DuckStore, text: str, take: int = 50, known: tuple[str, ...] = (), **filters: Any
    ) -> list[str]:
        """Ids that stand for themselves, best first."""
        return alone(store.candidates(text, Filters(**filters), self.me, 100, take, known))

    def age(self, store: DuckStore, schema: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Take out of a store what came after a schema, as if that had made it, and close it."""
        with monkeypatch.context() as old:
            old.setattr(schema_sql, "migrations", lambda: duck_migrations[:schema])
            like = self.store(self.folder / f"schema_{schema}.duckdb")
            with like.duck.reading() as session:
                kept = set(session.rows(COLUMNS))
                counters = [name for (name,) in session.rows("SELECT name FROM counters")]
            like.close()
        with store.duck.writing() as session:
            now = session.rows(COLUMNS)
            tables = {table for table, _ in kept}
            for table in {table for table, _ in now} - tables:
                session.run("DROP TABLE " + table)
            for table, column in now:
                if table in tables and (table, column) not in kept:
                    session.run("ALTER TABLE " + table + " DROP COLUMN " + column)
            session.run("DELETE FROM counters WHERE NOT list_contains($names, name)", {"names": counters})
            session.run("UPDATE meta SET value = $n WHERE name = 'schema_version'", {"n": str(schema)})
        store.close()
        engine._known.clear()  # this process made the file, and would not look at its schema again

    def close(self) -> None:
        """Close everything that was opened."""
        while self.opened:
            self.opened.pop().close()


def alone(found: Candidates) -> list[str]:
    """Ids of the candidates that are no duplicates."""
    return [item.id for item in found.items if item.duplicate_of is None]


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Kit]:
    """Stores below the test's own folder."""
    kit = Kit(tmp_path)
    yield kit
    kit.close()


@pytest.fixture
def ids() -> Callable[[Candidates], list[str]]:
    """Reads the ids that stand for themselves out of candidates."""
    return alone


@pytest.fixture(scope="session")
def kits() -> type[Kit]:
    """Makes further kits, for stores that several tests read; close them."""
    return Kit


@pytest.fixture
def flipped() -> Callable[[Path, str, str], int]:
    """Flips one bit of a store's file: in the last block that holds a column of a table; gives the block."""

    def flip(path: Path, table: str, column: str, bit: int = 0) -> int:
        with aside(str(path)) as session:
            session.run(f"ATTACH {quoted(str(path))} AS looked (TYPE duckdb, READ_ONLY)")
            block = session.value(
                "SELECT max(block_id) FROM pragma_storage_info($table) WHERE column_name = $column AND block_id >= 0",
                {"table": f"looked.{table}", "column": column},
            )
        assert block is not None, "the column has no block of its own"
        with open(path, "r+b") as file:
            place = 3 * 4096 + block * 262_144 + 64
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ (1 << bit)]))
        return int(block)

    return flip
