"""How the command line talks: options that stand anywhere, UTF-8 in and out, errors in one line, progress on stderr."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import click

from ...errors import ContextPacksError, InvalidField, row_for
from ...packing.tokens import well_formed

if TYPE_CHECKING:
    from context_packs.store.file.duck import Mode

    from ...service import ContextPacks

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(slots=True)
class Globals:
    """The options that every command takes, before or behind its name."""

    store: str | None = None
    agent: str | None = None
    json: bool = False
    quiet: bool = False

    def open(self, mode: Mode = "shared") -> ContextPacks:
        """The memory that this call works on; one that is held for longer than an answer is no quick start."""
        from ...service import ContextPacks  # with the database: not for --help

        for name in ("store", "agent"):
            value = getattr(self, name)
            if value is not None and not value.strip():
                raise InvalidField(f"{name}: is blank: give it a text, or leave it out", field=name)
        store = None if self.store is None else as_path(self.store)
        if store == ":memory:":
            self.note("note: the store is in memory only: it is gone when this command ends")
        return ContextPacks.open(store, self.agent, mode=mode, quick_start=mode == "shared")

    def path(self) -> str | None:
        """The path given with --store, for what opens it later; raises InvalidField for an address."""
        if not self.store:
            return None
        from context_packs.store.file.foreign import refuse_address

        refuse_address(self.store)
        return as_path(self.store)

    def note(self, text: str) -> None:
        """One line on stderr, unless --quiet."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def fail(self, error: ContextPacksError) -> int:
        """One line on stderr about an error, JSON with --json; gives its exit code."""
        row = row_for(error)
        message = " ".join(str(error).split())
        if self.json:
            told = {"code": row.mcp, "field": error.field, "message": message, "exit_code": row.exit_code}
            message = json.dumps({"error": told}, ensure_ascii=False)
        else:
            message = f"error: {message}"
        print(message, file=sys.stderr, flush=True)
        return row.exit_code


def given(fields: dict[str, Any]) -> dict[str, Any]:
    """Only what the caller gave."""
    return {name: value for name, value in fields.items() if value not in (None, ())}


def _set(ctx: click.Context, option: click.Parameter, value: Any) -> None:
    """Keep a global option wherever it was given; the last one counts."""
    state = ctx.ensure_object(Globals)
    if value not in (None, False):
        setattr(state, option.name or "", value)


def _global_options() -> list[click.Parameter]:
    shared: dict[str, Any] = {"expose_value": False, "callback": _set, "is_eager": True}
    return [
        click.Option(["--store"], metavar="PATH", help="the store file; also CONTEXT_PACKS_STORE", **shared),
        click.Option(["--agent"], metavar="ID", help="whose memory; also CONTEXT_PACKS_AGENT", **shared),
        click.Option(["--json"], is_flag=True, help="answer in JSON, errors too", **shared),
        click.Option(["--quiet"], is_flag=True, help="no notes and no progress on stderr", **shared),
    ]


class Command(click.Command):
    """A command that takes the global options too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _global_options()


class Group(click.Group):
    """The commands and the global options."""

    command_class = Command

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _global_options()

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command that the first argument names; an unknown one is told with those that there are."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            known = ", ".join(self.list_commands(ctx))
            raise click.UsageError(f"command: {ascii(args[0])[:60]} is unknown; known: {known}", ctx)
        return super().resolve_command(ctx, args)


class Whole(click.ParamType[int]):
    """A whole number; its range is the library's affair."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number; raises InvalidField that names the option."""
        if isinstance(value, int):
            return value
        if not _WHOLE.fullmatch(value):
            field = (param and param.name) or "number"
            raise InvalidField(f"{field}: {ascii(value)[:40]} is not a whole number", field=field)
        return int(value)


WHOLE = Whole()


def say(text: str) -> None:
    """One result on stdout; where the reader has left, the command ends without a word."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        _reader_left()


def say_bytes(body: bytes) -> None:
    """Bytes on stdout as they are, and nothing else."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _reader_left()


def drop_output() -> None:
    """From now on stdout leads nowhere, also for what is written at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _reader_left() -> NoReturn:
    drop_output()
    raise SystemExit(0) from None


def say_json(value: Any) -> None:
    """One JSON document on one line of stdout."""
    say(json.dumps(value, ensure_ascii=False))


def run(cli: click.Command, argv: list[str]) -> int:
    """Run a command line and give its exit code; whatever goes wrong is one line on stderr.

    An error outside the product's own is told by its kind only; `python -X dev` shows where it came from.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace", newline="\n")
    state = Globals(json="--json" in argv)
    try:
        arguments = [as_text(argument) for argument in argv]
        return int(cli.main(arguments, prog_name="context-packs", standalone_mode=False, obj=state) or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return 2
    except click.exceptions.Abort:
        return 130
    except click.ClickException as error:
        return state.fail(_refused(error))
    except ContextPacksError as error:
        return state.fail(error)
    except PermissionError as error:  # of any file that a command was given
        name = os.path.basename(os.fsdecode(error.filename)) if error.filename else "a file"
        return state.fail(InvalidField(f"{name}: {error.strerror}; name another file", field="file"))
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        return state.fail(ContextPacksError(f"unexpected {type(error).__name__}: this is a bug in context-packs"))


def leave(code: int) -> NoReturn:
    """End the process with an exit code; at once where no thread of it is left.

    Taking the interpreter down object by object costs 40 ms and changes nothing: files are closed, results flushed.
    """
    if threading.active_count() == 1 and not sys.flags.dev_mode:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(code)
    sys.exit(code)


def _refused(error: click.ClickException) -> InvalidField:
    """A command line that cannot be read, as an error that names the option or argument."""
    param = getattr(error, "param", None)
    field = param.name if param is not None else getattr(error, "option_name", None)
    return InvalidField(_line(error, field), field=field or "command")


def _line(error: click.ClickException, field: str | None) -> str:
    """The line of the other doors where they have one, else click's own."""
    if isinstance(error, click.MissingParameter) and field is not None:
        return f"{field}: is missing"
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        way_out = f"see {error.ctx.command_path} --help"
        if error.possibilities:
            way_out = f"did you mean {' or '.join(sorted(error.possibilities))}?"
        return f"{ascii(error.option_name)[1:-1][:60]}: unknown option; {way_out}"
    return error.format_message()


def as_text(argument: str) -> str:
    """An argument as UTF-8, whatever the locale decoded it with; bytes that are none stay lone surrogates."""
    if sys.getfilesystemencoding() == "utf-8":
        return argument
    return os.fsencode(argument).decode("utf-8", "surrogateescape")


def as_path(argument: str) -> str:
    """An argument as a name of a file: the inverse of `as_text`."""
    if sys.getfilesystemencoding() == "utf-8":
        return argument
    return os.fsdecode(argument.encode("utf-8", "surrogateescape"))


def standard_input() -> str:
    """All of stdin as UTF-8; bytes that are none become lone surrogates, which the store repairs and tells."""
    if sys.stdin is None:
        raise InvalidField("content: standard input is closed", field="content")
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")


@contextmanager
def progress(what: str, state: Globals, unit: str = "records") -> Iterator[Callable[[int], None]]:
    """A counter on stderr for long work: a bar on a terminal, elsewhere a line a second at most, none with --quiet."""
    if state.quiet or not sys.stderr.isatty():
        done = told = 0
        last = time.monotonic()

        def advance(count: int) -> None:
            nonlocal done, told, last
            done += count
            if time.monotonic() - last >= 1:
                last, told = time.monotonic(), done
                state.note(f"{what}: {done} {unit}")

        try:
            yield advance
        finally:
            if done > told:
                state.note(f"{what}: {done} {unit}")
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn(f"{{task.description}}: {{task.completed}} {unit}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None)
        yield lambda count: bar.advance(task, count)


def shown(text: str) -> str:
    """Stored text for a terminal: each line behind one blank, blank lines folded, control characters made visible."""
    lines = (line.rstrip() for line in well_formed(text).splitlines())
    return "\n".join(f" {_CONTROL.sub('�', line)}" for line in lines if line)


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
