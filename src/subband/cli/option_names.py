"""Names of options: those of earlier versions, and errors of the library in the words of the command line.

The library speaks of its arguments, such as ``tolerant=True``; whoever sits before a terminal has ``--tolerant``.
`translate` replaces the one by the other, with the options of the command that runs, so that no error has to know who
will read it. `rename_options` replaces the names that options had before, and says what they are called now.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["RENAMED", "list_options", "rename_arguments", "rename_options", "translate"]

#: Options that have another name now, by command.
RENAMED: dict[str, dict[str, str]] = {
    "noise": {"--model": "--noise", "-m": "--noise"},
    "edges": {"--mask": "--edges-only"},
    "reshape": {"--gain": "--band-gains", "--size": "--shape", "--mode": "--boundary", "-m": "--boundary"},
    "encode": {
        "--rate": "--bpp",
        "--size": "--bytes",
        "--levels": "--level",
        "--colour": "--mct",
        "--no-colour": "--no-mct",
    },
    "pyramid": {"--levels": "--level"},
    "decompose": {"--mode": "--boundary", "-m": "--boundary"},
    "verify": {"--mode": "--boundary", "-m": "--boundary"},
    "tune": {"--size": "--side"},
    "bench cpu": {"--memory": "--peak-memory", "--no-memory": "--no-peak-memory"},
    "bench jpeg2000": {"--quality": "--equal-sizes"},
    "bench pipeline": {"--size": "--only"},
}

#: Arguments that an option stands for under another name.
_OTHER_NAMES = {"overwrite": "force", "model": "noise", "mode": "boundary"}

#: What else programs have and a command line has not.
_CALLS = {
    r"\bwavelist\([^()]*\)": "`subband wavelets`",
    r"\bfamilies\(\)": "`subband wavelets`",
    r", (?:as|for instance) with (?:np|numpy)\.nan_to_num": " first",
    r"(?<=or )None\b": "leave it out",
}

# A name that is no part of another one, or of a path such as stages[0].level.
_NAME = r"(?<![\w.\]/-])(?P<name>[a-z][a-z0-9_]*)"
_VALUE = r"(?P<value>True|False|None|'[^']*'|\"[^\"]*\"|[-+]?[0-9][\w.+-]*(?<!\.)|\[[^\]]*\]|\([^()]*\))?"
_ASSIGNED = re.compile(rf"{_NAME}=(?!=){_VALUE}(?P<more>(?:,| or) ')?")
_QUOTED = re.compile(r"`(?P<name>[a-z][a-z0-9_]*)`")


def rename_options(command: str, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Replace the names that options had in earlier versions by those they have now.

    Parameters
    ----------
    command : str
        Which one, such as ``"bench cpu"``.
    words : sequence of str
        What stands behind it.

    Returns
    -------
    list of str
        The words, with the names of now.
    list of str
        A remark for each that was replaced.

    Examples
    --------
    >>> rename_options("encode", ["a.png", "a.jp2", "--rate=0.5"])
    (['a.png', 'a.jp2', '--bpp=0.5'], ['--rate is called --bpp now'])
    >>> rename_options("bench cpu", ["--json", "figures.json"])
    (['--output', 'figures.json'], ['--json is a flag now; a file is named with --output'])
    """
    names = RENAMED.get(command, {})
    takes_file = command.partition(" ")[0] in ("bench", "model")
    renamed: list[str] = []
    remarks: list[str] = []
    for index, word in enumerate(words):
        if word == "--":
            return [*renamed, *words[index:]], remarks
        name, equals, value = word.partition("=")
        follower = value if equals else words[index + 1] if index + 1 < len(words) else ""
        if takes_file and name == "--json" and follower.lower().endswith(".json"):
            renamed.append(f"--output{equals}{value}")
            remarks.append("--json is a flag now; a file is named with --output")
            continue
        if not name.startswith("--") and name[:2] in names:
            # a short name and its value may be one word
            now = names[name[:2]]
            renamed.append(now if len(word) == 2 else f"{now}={word[2:]}")
            remarks.append(f"{name[:2]} is called {now} now")
            continue
        if name in names:
            remarks.append(f"{name} is called {names[name]} now")
        renamed.append(f"{names.get(name, name)}{equals}{value}")
    return renamed, remarks


def list_options(command: Any) -> dict[str, tuple[str, str | None]]:
    """Return, for the arguments of a command's function, the option that sets each and the one that unsets it.

    Examples
    --------
    >>> import typer
    >>> app = typer.Typer()
    >>> @app.command()
    ... def show(most_pixels: int = 5, audio: bool = True): ...
    >>> options = list_options(typer.main.get_command(app))
    >>> options["most_pixels"], options["audio"]
    (('--most-pixels', None), ('--audio', '--no-audio'))
    """
    found: dict[str, tuple[str, str | None]] = {}
    for parameter in getattr(command, "params", ()):
        if parameter.param_type_name != "option":
            continue
        # the long name is what people look for
        option = max(parameter.opts, key=len)
        found[parameter.name] = (option, max(parameter.secondary_opts, key=len, default=None))
    for name, other in _OTHER_NAMES.items():
        if other in found:
            found.setdefault(name, found[other])
    return found


def rename_arguments(message: str, options: Mapping[str, tuple[str, str | None]]) -> str:
    """Replace arguments of Python by the options of a command in a message.

    Parameters
    ----------
    message : str
        Of an error or a warning.
    options : mapping
        For each argument, the option that sets it, and the one that unsets it, as `list_options` gives them.

    Examples
    --------
    >>> rename_arguments("sigma=0.0 is not positive", {"sigma": ("--blur", None)})
    '--blur 0.0 is not positive'
    """

    def assign(found: re.Match[str]) -> str:
        if found["name"] not in options:
            return found[0]
        option, opposite = options[found["name"]]
        value, more = found["value"], found["more"] or ""
        if value == "False" and opposite is not None:
            return opposite + more
        if value in (None, "True"):
            return option + more
        if value in ("False", "None"):
            return f"no {option}{more}"
        # one of several names keeps its quotes, as they do
        is_word = re.fullmatch(r"'[\w.:+-]+'", value) is not None and not more
        return f"{option} {value[1:-1] if is_word else value}{more}"

    def name(found: re.Match[str]) -> str:
        return options[found["name"]][0] if found["name"] in options else found[0]

    return _QUOTED.sub(name, _ASSIGNED.sub(assign, message))


def translate(message: str, command: Any) -> str:
    """Translate an error of the library into the options of a command.

    Parameters
    ----------
    message : str
        Of an error or a warning.
    command : command of Typer
        Which one was called.

    Examples
    --------
    >>> import typer
    >>> app = typer.Typer()
    >>> @app.command()
    ... def show(most_pixels: int = 5, tolerant: bool = False, series: str = "", nonfinite: str = ""): ...
    >>> command = typer.main.get_command(app)
    >>> translate("cut it there, or pass tolerant=True to scale such frames", command)
    'cut it there, or pass --tolerant to scale such frames'
    >>> translate("pass series=, one of 1, 2; or most_pixels=7", command)
    'pass --series, one of 1, 2; or --most-pixels 7'
    >>> translate("use nonfinite='mask'; wavelist() gives the names", command)
    'use --nonfinite mask; `subband wavelets` gives the names'
    """
    for call, instead in _CALLS.items():
        message = re.sub(call, instead, message)
    return rename_arguments(message, list_options(command))
