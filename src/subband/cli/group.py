"""How commands are found, what is looked at before one runs, and how errors are shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from subband.errors import SubbandError

__all__ = ["COMMANDS", "LazyGroup", "explain", "walk_commands"]

#: The commands in the order of the help text; each is a module of this package that holds an `app`.
COMMANDS = (
    "demo",
    "denoise",
    "filter",
    "compare",
    "noise",
    "camera",
    "studio",
    "stylise",
    "relight",
    "fuse",
    "edges",
    "reshape",
    "encode",
    "decode",
    "transcode",
    "send",
    "receive",
    "jp2info",
    "pyramid",
    "wavelets",
    "devices",
    "decompose",
    "reconstruct",
    "verify",
    "bench",
    "model",
    "tune",
)

#: Where a context keeps its command when that has ended, and here, while it runs, for those who speak of its options.
_COMMAND_KEY = "subband.command"
_RUNNING: ContextVar[Any] = ContextVar("subband.command", default=None)


class LazyGroup(TyperGroup):
    """A group of commands that imports the module of a command when it is asked for.

    Notes
    -----
    The help text asks for all of them, so a command module imports nothing but Typer at its top, and what it
    works with inside its function.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Typer offers the nearest of these names for a misspelt one; `get_command` knows what they stand for.
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the signature is Typer's
        """Return the names of the commands without importing them."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - the signature is Typer's
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        command = typer.main.get_command(import_module(f"{__package__}.{cmd_name}").app)
        command.name = cmd_name
        # Typer adds them to every command that stands alone, and a shell completes the program, not a part of it
        command.params = [each for each in command.params if each.name not in ("install_completion", "show_completion")]
        _guard(command, cmd_name)
        return command

    def invoke(self, ctx: Any) -> Any:
        """Run a command; what goes wrong for a reason that the user can mend becomes one line."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except KeyboardInterrupt as error:
            from subband.cli.signals import describe_interrupt

            word, code = describe_interrupt(error)
            typer.echo(word, err=True)
            raise typer.Exit(code) from None
        except (SubbandError, OSError) as error:
            from rich.console import Console
            from rich.text import Text

            console = Console(stderr=True)
            if ctx.params.get("debug"):
                console.print_exception()
            else:
                console.print(
                    Text(f"error: {explain(error, ctx.meta.get(_COMMAND_KEY))}", style="bold red"), soft_wrap=True
                )
            raise typer.Exit(2) from None


def explain(error: BaseException | str, command: Any = None) -> str:
    """Write an error, or a warning, in one line: with the options of a command, and without the system's numbers.

    Parameters
    ----------
    error : BaseException or str
        What went wrong.
    command : command of Typer, optional
        Whose options are named; the one that runs, if left out.

    Examples
    --------
    >>> explain(FileNotFoundError(2, "No such file or directory", "a.png"))
    "'a.png': No such file or directory"
    """
    from subband.cli.option_names import translate

    if (
        isinstance(error, OSError)
        and error.filename is not None
        and error.strerror
        and not isinstance(error, SubbandError)
    ):
        return f"{str(error.filename)!r}: {error.strerror}"
    return translate(str(error), command or _RUNNING.get())


def walk_commands() -> dict[str, Any]:
    """Return every command that does something, by what is typed for it, such as ``bench cpu``.

    Examples
    --------
    >>> "bench cpu" in walk_commands(), "bench" in walk_commands()
    (True, False)
    """
    group = LazyGroup()
    found: dict[str, Any] = {}
    for name in COMMANDS:
        command = group.get_command(None, name)
        for part, each in getattr(command, "commands", {"": command}).items():
            found[f"{name} {part}".strip()] = each
    return found


@contextmanager
def _plain_warnings(command: Any) -> Iterator[None]:
    """Show warnings as one line, in the words of a command, without where in the program they come from."""
    import warnings

    usual = warnings.showwarning
    warnings.showwarning = lambda message, *_, **__: typer.echo(f"warning: {explain(str(message), command)}", err=True)
    try:
        yield
    finally:
        warnings.showwarning = usual


def _guard(command: Any, name: str) -> None:
    """Let a command, or all of a group, take old names of options, and look at what it would write before it runs."""
    from subband.cli.option_names import rename_options
    from subband.cli.outputs import check_outputs, find_marks

    if parts := getattr(command, "commands", None):
        for part, each in parts.items():
            _guard(each, f"{name} {part}")
        return
    parse, run = command.parse_args, command.callback

    def parse_args(ctx: Any, args: list[str]) -> Any:
        words, remarks = rename_options(name, args)
        ctx.meta[_COMMAND_KEY] = command
        if not ctx.resilient_parsing:
            for remark in dict.fromkeys(remarks):
                typer.echo(f"note: {remark}", err=True)
        return parse(ctx, words)

    @wraps(run)
    def callback(**values: Any) -> Any:
        token = _RUNNING.set(command)
        try:
            check_outputs(find_marks(run), values)
            with _plain_warnings(command):
                return run(**values)
        finally:
            _RUNNING.reset(token)

    command.parse_args, command.callback = parse_args, callback
