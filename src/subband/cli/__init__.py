"""The command ``subband``: one module a command, imported when it is called.

Exit codes: 0 for success, 2 for an error that the message explains, 130 after Ctrl-C, 143 after SIGTERM, 129 after
SIGHUP, 1 for anything else.
"""

from __future__ import annotations

from typing import Annotated

import typer

from subband.cli.group import LazyGroup
from subband.cli.signals import end_by_signals

__all__ = ["app", "main"]

app = typer.Typer(
    cls=LazyGroup,
    # Boxes around the help text would cost a third of the time it takes to show it.
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(is_wanted: bool) -> None:
    """Print the version and stop, before a command is looked for."""
    if is_wanted:
        from subband._version import __version__

        typer.echo(f"subband {__version__}")
        raise typer.Exit


@app.callback()
def _describe(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Wavelet transforms for signals, images, video and volumes."""
    # The callback of `version` and the group, which reads `debug`, have done all there is to do.
    del version, debug


def main() -> None:
    """Run the command line."""
    from subband.cli.interruption import end_program, has_left_threads

    with end_by_signals():
        try:
            app(prog_name="subband")
        except SystemExit as end:
            if has_left_threads():
                end_program(end.code if isinstance(end.code, int) else 1)
            raise
