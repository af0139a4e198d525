"""Write docs/cli.md from the command line itself; a test compares the two."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from subband.cli import app
from subband.cli.group import COMMANDS
from subband.outputs import open_output

PAGE = Path(__file__).with_name("cli.md")
INTRODUCTION = """\
Every command explains itself with `--help`. Errors are reported in one line;
`subband --debug COMMAND` prints the traceback.

| exit code | meaning |
| --- | --- |
| 0 | success, also where `--skip-existing` skips files |
| 1 | `verify` found errors above the tolerance, `jp2info` found damage; from any other command, a bug in `subband` |
| 2 | an error that the message explains; of several files, at least one failed, and the others were processed |
| 129, 130, 143 | ended by SIGHUP, Ctrl-C, SIGTERM; no incomplete file is left under its final name |

`subband --install-completion` installs completion for the shell (bash, zsh, fish or PowerShell);
`subband --show-completion` prints it."""
HIDDEN = {"help", "install_completion", "show_completion"}


def describe_parameter(parameter: Any) -> str:
    """Write one line of a list: the usage of a parameter and what it does."""
    if parameter.param_type_name == "argument":
        usage = parameter.metavar or str(parameter.name).upper()
        usage = usage if parameter.required else f"[{usage}]"
    else:
        usage = ", ".join([*parameter.opts, *parameter.secondary_opts])
        if not getattr(parameter, "is_flag", False):
            usage += f" {parameter.metavar or str(parameter.name).upper()}"
    text = f"- `{usage}`: {parameter.help}"
    if isinstance(parameter.default, (str, int, float)) and not isinstance(parameter.default, bool):
        text += f" Default: `{parameter.default}`."
    return text


def describe_command(title: str, command: Any) -> Iterator[str]:
    """Write the section of a command: what it does, and its parameters."""
    yield f"## `{title}`"
    yield inspect.cleandoc(command.help or "")
    parameters = [parameter for parameter in command.params if parameter.name not in HIDDEN]
    if parameters:
        yield "\n".join(describe_parameter(parameter) for parameter in parameters)
    if title != "subband":
        for name, part in getattr(command, "commands", {}).items():
            yield from describe_command(f"{title} {name}", part)


def render() -> str:
    """Write the whole page."""
    group: Any = typer.main.get_command(app)
    parts = [
        "# Command line",
        INTRODUCTION,
        *describe_command("subband", group),
    ]
    for name in COMMANDS:
        parts.extend(describe_command(f"subband {name}", group.get_command(None, name)))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    with open_output(PAGE, overwrite=True) as file:
        file.write(render().encode())
