"""How commands are found and how errors are shown."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from subband.errors import SubbandError

__all__ = ["COMMANDS", "LazyGroup"]

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
        command = typer.main.get_command(import_module(f"subband.cli.{cmd_name}").app)
        command.name = cmd_name
        return command

    def invoke(self, ctx: Any) -> Any:
        """Run a command; what goes wrong for a reason that the user can mend becomes one line."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except KeyboardInterrupt as error:
            from subband.cli.signals import spell_interrupt

            word, code = spell_interrupt(error)
            typer.echo(word, err=True)
            raise typer.Exit(code) from None
        except (SubbandError, OSError) as error:
            from rich.console import Console
            from rich.text import Text

            console = Console(stderr=True)
            if ctx.params.get("debug"):
                console.print_exception()
            else:
                console.print(Text(f"error: {_spell(error)}", style="bold red"), soft_wrap=True)
            raise typer.Exit(2) from None


def _spell(error: Exception) -> str:
    """Write an error in one line; those of the operating system without their number."""
    if (
        isinstance(error, OSError)
        and error.filename is not None
        and error.strerror
        and not isinstance(error, SubbandError)
    ):
        return f"{str(error.filename)!r}: {error.strerror}"
    return str(error)
