"""Options of commands from the fields of settings classes, where each is described."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from functools import wraps
from math import isfinite
from typing import Annotated, Any, TypeAlias, get_origin, get_type_hints

import typer

from subband.cli.editing import read_levels
from subband.cli.enhancing import Reading, Writing
from subband.cli.files import Settings
from subband.settings import Setting, list_settings, name_option

__all__ = ["add_options", "make_option", "pick_settings", "take_files", "take_settings"]

#: A function that Typer makes a command of.
Command: TypeAlias = Callable[..., None]

#: Options that have a short name too.
_SHORT = {"method": "-m", "wavelet": "-w", "level": "-l", "noise": "-n", "strength": "-s", "threshold": "-t"}

#: What stands for the value of options that other commands have too.
_VALUES = {"wavelet": "NAME", "method": "NAME", "boundary": "MODE", "noise": "MODEL", "colour": "SPACE", "sigma": "S"}

#: Words that fit into a line of help.
_FEW = 8


def take_settings(kind: type[Any], names: str, **defaults: Any) -> Callable[[Command], Command]:
    """Give a command an option for each of some settings of a class.

    Parameters
    ----------
    kind : type
        The settings class.
    names : str
        Which settings, in the order of the help text.
    **defaults
        Where a command starts from something else than the class does; None tells what is not given.

    Returns
    -------
    callable
        Decorates a function that takes further keywords: the values, for `pick_settings`.
    """
    described = list_settings(kind)
    chosen = [described[name] for name in names.split()]

    def decorate(function: Command) -> Command:
        @wraps(function)
        def command(**values: Any) -> None:
            function(**{**values, **{about.name: _read(about, values[about.name]) for about in chosen}})

        options = [make_option(about, default=defaults.get(about.name, about.default)) for about in chosen]
        return add_options(command, options, inspect.signature(function, eval_str=True))

    return decorate


def take_files(
    settings: str = "", reading: str = "", writing: str = "", **defaults: Any
) -> Callable[[Command], Command]:
    """Give a command the options about files.

    Parameters
    ----------
    settings, reading, writing : str
        Which fields of `Settings`, `Reading` and `Writing` have an option; all if left out. An object is made for those
        that the command has an argument for.
    **defaults
        Where a command starts from something else.
    """
    kinds: dict[str, tuple[type[Any], str]] = {
        "settings": (Settings, settings),
        "reading": (Reading, reading),
        "writing": (Writing, writing),
    }

    def decorate(function: Command) -> Command:
        own = inspect.signature(function, eval_str=True)
        options: dict[str, inspect.Parameter] = {}
        taken: dict[str, list[str]] = {}
        for argument, (kind, names) in kinds.items():
            if argument not in own.parameters:
                continue
            hints = get_type_hints(kind, include_extras=True)
            taken[argument] = names.split() or [name for name, hint in hints.items() if get_origin(hint) is Annotated]
            for name in taken[argument]:
                default = defaults.get(name, getattr(kind, name))
                keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD
                options[name] = inspect.Parameter(name, keyword, default=default, annotation=hints[name])

        @wraps(function)
        def command(**values: Any) -> None:
            made = {
                argument: kinds[argument][0](**{name: values[name] for name in taken[argument]}) for argument in taken
            }
            function(**{name: value for name, value in values.items() if name not in options}, **made)

        kept = [
            each for name, each in own.parameters.items() if name not in kinds and each.kind is not each.VAR_KEYWORD
        ]
        # Typer reads it, and functions have it without their type saying so
        command.__signature__ = own.replace(parameters=[*kept, *options.values()])  # type: ignore[attr-defined]
        return command

    return decorate


def pick_settings(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the values that are fields of a settings class."""
    known = {field.name for field in fields(kind)}
    return {name: value for name, value in values.items() if name in known}


def add_options(command: Command, options: Iterable[inspect.Parameter], own: inspect.Signature) -> Command:
    """Return a command with more options, before those about the engine and the files."""
    parameters = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
    index = next(
        (number for number, each in enumerate(parameters) if each.name in ("engine", "force")), len(parameters)
    )
    parameters[index:index] = options
    # as above
    command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return command


def make_option(
    about: Setting, default: Any, *, kind: Any = None, metavar: str = "", prefix: str = ""
) -> inspect.Parameter:
    """Return the option of a setting.

    Parameters
    ----------
    about : Setting
        What is known about it.
    default : Any
        Its value if it is not given.
    kind : type, optional
        What Typer reads, if not a value of the setting.
    metavar, prefix : str
        What stands for the value, and what the help text begins with.
    """
    limits: dict[str, Any] = {}
    names = [name_option(about.name)]
    if kind is None:
        names += [_SHORT[about.name]] if about.name in _SHORT else []
        kind = about.kind if about.kind in (int, float, bool) else str
        # those with advice are refused by their class, which gives it
        if isfinite(about.least) and not about.is_open and not about.advice:
            limits["min"] = about.least
        if isfinite(about.most) and not about.advice:
            limits["max"] = about.most
        kind = kind | None if default is None else kind
    option = typer.Option(
        *names,
        metavar=metavar or _name_value(about),
        autocompletion=_complete(about) if about.choices else None,
        help=_explain(about, prefix, default),
        **limits,
    )
    keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(about.name, keyword, default=default, annotation=Annotated[kind, option])


def _complete(about: Setting) -> Callable[[str], list[str]]:
    return lambda incomplete: [word for word in about.list_choices() if word.startswith(incomplete)]


def _name_value(about: Setting) -> str:
    if about.kind is tuple:
        return "N,N-N,..." if about.item is int else "X,X,..."
    return _VALUES.get(about.name) or {int: "N", float: "X"}.get(about.kind, about.name.upper())


def _explain(about: Setting, prefix: str, default: Any) -> str:
    """Return the help of a setting, with the words that it can be if they are few."""
    words = list(about.list_choices())
    text = prefix + about.help[0].lower() + about.help[1:] if prefix else about.help
    if about.default is None and default is not None:
        # the command has a default of its own
        text = re.sub(r"; [^;.]* by default(?=\.)", "", text)
    if len(words) > _FEW or all(word in about.help for word in words):
        return text
    return f"{text} {'Such as' if callable(about.choices) else 'One of'} {', '.join(words[:-1])} or {words[-1]}."


def _read(about: Setting, value: Any) -> Any:
    """Return what the class takes for what was typed."""
    if about.kind is not tuple or value is None:
        return value
    return read_levels(value) if about.item is int else replace(about, name=name_option(about.name)).read(value)
