"""What each operation of `kills.py` promises, asked of the store after its process was killed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import victims
from verdict import call, commands, doctor, found, lines, missing, twice, unsound
from victims import AGENT, IMPORTED

from context_packs.packer import ContextPacks
from context_packs.store.duckstore import DuckStore
from context_packs.store.errors import StoreError
from context_packs.store.file import schema

Told = list[dict[str, Any]]
Found = tuple[str, list[str]]

_FILLED = 400  # records of the store that a command works on
_OLD = 2  # schema of the store that is migrated
_SECONDS: dict[str, float] = {}  # how long a command takes when nobody kills it


def fill(store: Path, operation: str) -> None:
    """The store that an operation starts from; most make their own."""
    if operation not in ("backup", "compact", "reindex", "export", "migration"):
        return
    # A process remembers which files are up to date: the older one gets its name only when it is old.
    made = store.with_name("made.duckdb") if operation == "migration" else store
    with ContextPacks.open(made, AGENT, embedder="none") as packs:
        packs.remember_many({"content": victims.sentence("base", n), "path": f"base/{n % 7}"} for n in range(_FILLED))
        if operation != "migration":
            thread = packs.threads.create("base", thread_id="thr_base").id
            for n in range(5):
                packs.threads.add_trigger(thread, "kills", payload=victims.payload("base", n), external_id=f"base:{n}")
            for n in range(1, 40, 3):
                packs.forget(f"mem:{n}", victims.MODES[n % 3])
    if operation == "migration":
        _age(made)
        shutil.copy(made, store)
        for path in store.parent.glob("made.duckdb*"):
            path.unlink()


def _age(store: Path) -> None:
    """Take out of a store what came after an early schema, as if that had made it."""
    columns = "SELECT table_name, column_name FROM duckdb_columns() WHERE database_name = current_database()"
    everything = schema.migrations()
    like = store.with_name("like.duckdb")
    schema.migrations = lambda: everything[:_OLD]  # type: ignore[assignment]
    try:
        early = DuckStore(like)
        with early.duck.writing() as session:  # which makes the file
            kept = set(session.rows(columns))
            counters = [name for (name,) in session.rows("SELECT name FROM counters")]
        early.close()
    finally:
        schema.migrations = lambda: everything  # type: ignore[assignment]
    held = DuckStore(store)
    with held.duck.writing() as session:
        now = session.rows(columns)
        tables = {table for table, _ in kept}
        for table in {table for table, _ in now} - tables:
            session.run("DROP TABLE " + table)
        for table, column in now:
            if table in tables and (table, column) not in kept:
                session.run("ALTER TABLE " + table + " DROP COLUMN " + column)
        session.run("DELETE FROM counters WHERE NOT list_contains($names, name)", {"names": counters})
        session.run("UPDATE meta SET value = $n WHERE name = 'schema_version'", {"n": str(_OLD)})
    held.close()
    for path in store.parent.glob("like.duckdb*"):
        path.unlink()


def words_of(operation: str, store: Path, target: Path) -> list[str]:
    """The words of a command behind `context-packs`."""
    words = ["--quiet", "--agent", AGENT, "--store", str(store), operation]
    return words + {"backup": [str(target)], "export": [str(target), "--everybody"]}.get(operation, [])


def seconds_of(operation: str, store: Path) -> float:
    """How long a command takes, so that a kill falls into any part of it; asked once."""
    if operation not in _SECONDS:
        target = store.with_name("measured.out")
        begin = time.perf_counter()
        call(*words_of(operation, store, target))
        _SECONDS[operation] = max(0.4, time.perf_counter() - begin)
        target.unlink(missing_ok=True)
    return _SECONDS[operation]


def before(store: Path, operation: str) -> Any:
    """What must be the same after a command that changes nothing of what is stored."""
    return lines(store, AGENT) if operation in ("backup", "compact", "reindex", "export") else None


# -- after the kill, one function for each operation ---------------------------------------------------------------


def _count(told: Told, held: Told) -> str:
    if len(told) == len(held):
        return "up to the last answer"
    return "one more than was answered" if len(held) == len(told) + 1 else f"{len(held) - len(told):+} records"


def after_remember(store: Path, state: dict[str, Any], told: Told, run: str, _: Any) -> Found:
    """Each answered text once under its id; one more at most; the index finds them; numbers have no gaps."""
    acknowledged: dict[str, str] = state.setdefault("told", {})
    new = {line["text"]: line["ref"] for line in told if "ref" in line}
    wrong = twice([*acknowledged.values(), *new.values()])
    acknowledged |= new
    held = lines(store, AGENT)
    wrong += missing(acknowledged, held)
    mine = [line for line in held if line.get("content", "").startswith(f"Run {run} ")]
    if not len(new) <= len(mine) <= len(new) + 1:
        wrong.append(f"{len(new)} were answered and {len(mine)} are there")
    for text, ref in list(new.items())[-2:]:
        word = text.split(": ")[1].split()[0]
        if ref not in found(store, word, AGENT) and not _superseded(mine, ref):
            wrong.append(f"{ref} is not found by its own word")
    return _count([{} for _ in new], mine), wrong


def _superseded(held: Told, ref: str) -> bool:
    return any(line["id"] == ref and line.get("superseded_by") for line in held)


def after_import(store: Path, _state: dict[str, Any], told: Told, run: str, _: Any) -> Found:
    """What was answered is there, the next batch whole or not at all; the same import again brings the rest."""
    held = [line for line in lines(store, AGENT) if line.get("path") == f"runs/{run}"]
    answered = sum(line.get("batch", 0) for line in told)
    file = store.with_name(f"import-{run}.jsonl")
    wrong = []
    if {line["external_id"] for line in held} != {f"{run}:{n}" for n in range(len(held))}:
        wrong.append("what is there is not the beginning of the file")
    if len(held) < answered:
        wrong.append(f"{answered} were answered and {len(held)} are there")
    if not file.exists():
        return "not begun", wrong
    with ContextPacks.open(store, AGENT, embedder="none", wait=30.0) as packs:
        repeated: list[int] = []
        created = 0
        for batch in packs.import_file("jsonl", file):
            fresh = sum(one.created for one in batch)
            created += fresh
            repeated.append(len(batch))
            if 0 < fresh < len(batch):
                wrong.append(f"{len(batch) - fresh} of a batch of {len(batch)} were there and {fresh} were not")
    file.unlink()
    now = [line for line in lines(store, AGENT) if line.get("path") == f"runs/{run}"]
    if len(now) != IMPORTED or len({line["id"] for line in now}) != IMPORTED or created != IMPORTED - len(held):
        wrong.append(f"after importing again {len(now)} of {IMPORTED} are there, {created} of them new")
    kind = "whole" if len(held) == IMPORTED else "nothing" if not held else "whole batches"
    return kind, wrong + unsound(store)


def after_forget(store: Path, state: dict[str, Any], told: Told, run: str, _: Any) -> Found:
    """An answered forgetting holds for reads, search and export; one under way is done or not, never half."""
    gone: dict[str, tuple[str, int]] = state.setdefault("gone", {})
    asked = {line["forgetting"]: (line["mode"], line["number"]) for line in told if "forgetting" in line}
    done = {line["forgotten"]: (line["mode"], line["number"]) for line in told if "forgotten" in line}
    stored = {ref: n for line in told for ref, n in line.get("stored", ())}
    gone |= {ref: (mode, victims.marker(run, n)) for ref, (mode, n) in done.items()}  # type: ignore[misc]
    held = {line["id"]: line for line in lines(store, AGENT)}
    wrong = []
    for ref, (mode, word) in gone.items():
        line = held.get(ref)
        if line is None:
            wrong.append(f"{ref} was forgotten and its id is gone too")
        elif line.get("forgotten") != mode or (mode != "soft_delete" and str(word) in str(line)):
            wrong.append(f"{ref} was forgotten ({mode}) and is {line.get('forgotten')}")
        elif mode != "redact" and ref in found(store, str(word), AGENT):
            wrong.append(f"{ref} was forgotten ({mode}) and is found")
    for ref, n in stored.items():
        line, word = held.get(ref), victims.marker(run, n)
        if line is None:
            wrong.append(f"{ref} was answered and is nowhere")
        elif ref not in asked and word not in line["content"]:
            wrong.append(f"{ref} was not to be forgotten and has lost its text")
        elif ref not in asked and ref not in found(store, word, AGENT):
            wrong.append(f"{ref} is not found by its own word")
    under_way = [ref for ref in asked if ref not in done]
    states = ["done" if held.get(ref, {}).get("forgotten") else "not done" for ref in under_way]
    return f"one under way, {states[0]}" if states else "none under way", wrong + _bytes(store, state)


def _bytes(store: Path, state: dict[str, Any]) -> list[str]:
    """Words of erased records that the bytes of the store still hold once it was compacted; every fourth time."""
    state["kills"] = state.get("kills", 0) + 1
    if state["kills"] % 4 or "compact" not in commands():
        return []
    run = call("--store", store, "compact")
    if run.returncode:
        return [f"compact ended with {run.returncode}: {run.stderr.strip()[:200]}"]
    data = b"".join(path.read_bytes() for path in store.parent.glob(store.name + "*") if path.is_file())
    erased = [(ref, word) for ref, (mode, word) in state["gone"].items() if mode != "soft_delete"]
    return [f"the text of {ref} stands in the file after compact" for ref, word in erased if str(word).encode() in data]


def after_chain(store: Path, _state: dict[str, Any], told: Told, run: str, _: Any) -> Found:
    """Triggers with their payloads, each once and in order; counts, reports and links agree with what was answered."""
    triggers = {line["trigger"]: line["number"] for line in told if "trigger" in line}
    thread = f"thr_{run}"
    if not any("thread" in line for line in told):
        return "not begun", []
    wrong: list[str] = []
    with ContextPacks.open(store, AGENT, embedder="none", wait=30.0) as packs:
        events: list[str] = []
        cursor: str | None = None
        while True:
            page = packs.threads.events(thread, cursor, limit=7)
            events += [event.id for event in page.events]
            cursor = page.next_cursor
            if cursor is None:
                break
        if packs.threads.get(thread).event_count != len(events):
            wrong.append(f"the thread counts {packs.threads.get(thread).event_count} events and has {len(events)}")
        if events[: len(triggers)] != list(triggers) or not len(triggers) <= len(events) <= len(triggers) + 1:
            wrong.append(f"{len(triggers)} triggers were answered and {len(events)} are in the thread")
        for number, event in enumerate(events):
            if packs.threads.payload(event).body.decode() != victims.payload(run, number):
                wrong.append(f"{event} has another payload")
        for line in told:
            if "worker" in line:
                worker = packs.threads.get_worker(line["worker"])
                if worker.cites != (line["cites"],) or worker.report != f"Report {line['number']} of run {run}":
                    wrong.append(f"{worker.id} has lost its report or what it cites")
    linked = {(line["from"], line["rel"]) for line in lines(store, AGENT) if line.get("kind") == "link"}
    links = [(line["link"], line["rel"]) for line in told if "link" in line]
    wrong += [f"the link {rel} from {ref} is nowhere" for ref, rel in links if (ref, rel) not in linked]
    return _count([{} for _ in triggers], [{} for _ in events]), wrong


def after_embed(store: Path, state: dict[str, Any], told: Told, run: str, _: Any) -> Found:
    """As after remembering; the vectors that lack are made when it goes on, and none stands twice."""
    kind, wrong = after_remember(store, state, told, run, None)
    left = victims.pending(store)
    return kind, wrong + ([f"{left} passages can get no vector"] if left else []) + unsound(store)


def after_migration(store: Path, _state: dict[str, Any], told: Told, run: str, _: Any) -> Found:
    """The store opens in the schema of today with all that the old one held."""
    held = [line for line in lines(store, AGENT) if line.get("content", "").startswith("Run base ")]
    answered = {line["text"]: line["ref"] for line in told if "ref" in line}
    wrong = [] if len(held) == _FILLED else [f"{len(held)} of {_FILLED} records are there"]
    return ("migrated" if any("schema" in line for line in told) else "not answered"), wrong + missing(
        answered, lines(store, AGENT)
    )


def after_command(store: Path, operation: str, run: str, before: Told) -> Found:
    """The store holds what it held; run once more, the command ends well and leaves nothing behind."""
    wrong = [] if lines(store, AGENT) == before else [f"{operation} changed what is stored"]
    target = store.with_name(f"{run}.out")
    state = "old or new"
    if operation in ("backup", "export"):
        state = "target there" if target.exists() else "no target"
        wrong += _whole(operation, target, before) if target.exists() else []
        target.unlink(missing_ok=True)
    again = call(*words_of(operation, store, target))
    if again.returncode:
        wrong.append(f"{operation} after the kill ended with {again.returncode}: {again.stderr.strip()[:200]}")
    elif operation in ("backup", "export"):
        wrong += _whole(operation, target, before)
    of_readers = {target, *(target.with_name(target.name + end) for end in (".lock", ".queue"))}
    for path in store.parent.glob(f"{run}*"):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()  # where DuckDB would spill to: made by whoever reads the target
            continue
        if path not in of_readers:
            wrong.append(f"{path.name.replace(run, 'target')} was left behind")
        path.unlink()
    return state, wrong + unsound(store) + (doctor(store) or [])


def _whole(operation: str, target: Path, before: Told) -> list[str]:
    try:
        if operation == "export":
            with ContextPacks.open(":memory:", AGENT, embedder="none") as packs:
                for _ in packs.import_file("jsonl", target):
                    pass
                held = [dict(line) for line in packs.export_lines(everybody=True)]
        else:
            held = lines(target, AGENT)
    except StoreError as error:
        return [f"the target of {operation} cannot be read: {error}"]
    wrong = [] if held == before else [f"the target of {operation} holds something else"]
    return wrong + ((doctor(target) or []) if operation == "backup" else [])


def _command(operation: str) -> Callable[[Path, dict[str, Any], Told, str, Any], Found]:
    return lambda store, _state, _told, run, before: after_command(store, operation, run, before)


AFTER: Mapping[str, Callable[[Path, dict[str, Any], Told, str, Any], Found]] = {
    "remember": after_remember,
    "import": after_import,
    "forget": after_forget,
    "chain": after_chain,
    "merge": after_remember,
    "embed": after_embed,
    "migration": after_migration,
    **{name: _command(name) for name in ("backup", "compact", "reindex", "export")},
}
