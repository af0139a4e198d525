"""What a setting is: its type, range, unit, default and one line of help, on the field of the class that has it.

A settings class is a frozen dataclass whose fields are made by `setting`. The options of the command line, the controls
of the studio, chains in TOML, printed Python and the tables of the documentation are derived from these fields, so that
nothing about a setting is said twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from math import inf, isfinite
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from subband.errors import ArgumentError, ArgumentTypeError, suggest_names

__all__ = [
    "Setting",
    "check_choice",
    "check_settings",
    "format_call",
    "format_name",
    "format_number",
    "format_options",
    "format_value",
    "list_changes",
    "list_settings",
    "make_settings_table",
    "name_option",
    "read_call",
    "read_directions",
    "read_numbers",
    "setting",
]

_KEY = "setting"


@dataclass(frozen=True)
class Setting:
    """One setting of a class.

    Attributes
    ----------
    help : str
        What it does, in one line.
    name : str
        The name of the field.
    kind : type
        What a value is: float, int, str, bool or tuple.
    item : type
        What a tuple holds; tuple where an entry may be several numbers.
    default : Any
        Its value if nothing is said; None where the class finds one by itself.
    label : str
        How the studio calls it.
    unit : str
        What numbers count.
    least, most : float
        The range of numbers.
    is_open : bool
        Whether `least` itself is out of range.
    slider : tuple of float, optional
        Least, most and step of the range that people usually choose from.
    choices : mapping or callable
        The words that it can be, with their titles; a callable lists them without being the judge of what is known.
    noun : str
        What a word that is not among them is not.
    advice : str
        What to use instead of a number out of range.
    """

    help: str
    name: str = ""
    kind: type[Any] = str
    item: type[Any] = float
    default: Any = None
    label: str = ""
    unit: str = ""
    least: float = -inf
    most: float = inf
    is_open: bool = False
    slider: tuple[float, float, float] | None = None
    choices: Mapping[str, str] | Callable[[], Mapping[str, str]] = field(default_factory=dict)
    noun: str = "known"
    advice: str = ""

    def list_choices(self) -> Mapping[str, str]:
        """Return the words that it can be, with their titles."""
        return self.choices() if callable(self.choices) else self.choices

    def find_slider(self) -> tuple[float, float, float]:
        """Return least, most and step of the range to choose from; the whole range if no other is given."""
        if self.slider is not None:
            return self.slider
        least = self.least if isfinite(self.least) else 0
        most = self.most if isfinite(self.most) else max(1, 10 * (self.default or 0))
        return least, most, 1 if self.kind is int else (most - least) / 100

    def check(self, value: Any) -> Any:
        """Return a value if it can be used, as a float where that is the type.

        Raises
        ------
        ArgumentTypeError
            If it is not a number, and should be.
        ArgumentError
            If it is out of range, or not among the choices.

        Examples
        --------
        >>> Setting("How much.", "strength", default=1.0, least=0).check(2)
        2.0
        >>> Setting("How much.", "strength", default=1.0, least=0).check(-1)
        Traceback (most recent call last):
            ...
        subband.errors.ArgumentError: strength=-1.0 is negative; use 0 or more
        """
        if value is None and self.default is None:
            return None
        if isinstance(self.choices, Mapping) and self.choices:
            check_choice(self.name, value, tuple(self.choices), self.noun)
        elif isinstance(self.default, float) or isfinite(self.least) or isfinite(self.most):
            self._check_number(value)
            return float(value) if isinstance(self.default, float) else value
        return value

    def read(self, text: str) -> Any:
        """Return the value that a text stands for.

        Examples
        --------
        >>> Setting("Which.", "levels", tuple, int).read("1,2")
        (1, 2)
        """
        if self.kind is tuple:
            if self.item is tuple:
                return tuple(read_directions(self.name, text))
            return tuple(map(self.item, read_numbers(self.name, text)))
        if self.kind is bool:
            check_choice(self.name, text, ("true", "false"))
            return text == "true"
        if self.kind not in (float, int):
            return text
        try:
            return self.kind(text)
        except ValueError:
            raise ArgumentError(f"{self.name} {text} is not a number") from None

    def _check_number(self, value: Any) -> None:
        # those of NumPy know how to become one of Python
        if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__") or getattr(value, "ndim", None):
            error = ArgumentError if self.advice else ArgumentTypeError
            raise error(f"{self.name}={value!r} is not a number" + (f"; {self.advice}" if self.advice else ""))
        if not isfinite(value):
            raise ArgumentError(f"{self.name}={value} is not finite; use a number such as 1.5")
        if self.least < value <= self.most or (value == self.least and not self.is_open):
            return
        if self.is_open and self.most == inf:
            raise ArgumentError(f"{self.name}={value} is not positive; use a number above 0, such as 1.5")
        if self.least == 0 and self.most == inf:
            raise ArgumentError(f"{self.name}={float(value)} is negative; use 0 or more")
        advice = self.advice or f"use a number from {self.least:g} to {self.most:g}"
        raise ArgumentError(f"{self.name}={value!r} is out of range; {advice}")


def setting(default: Any, help: str, **about: Any) -> Any:  # noqa: A002 - as everyone calls it
    """Return a field of a settings class.

    Parameters
    ----------
    default : Any
        Its value if nothing is said.
    help : str
        What it does, in one line.
    **about
        More attributes of `Setting`; its name and type are those of the field.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Blurring:
    ...     radius: float = setting(1.0, "How far it reaches.", least=0, unit="pixels")
    >>> list_settings(Blurring)["radius"].kind
    <class 'float'>
    """
    return field(default=default, metadata={_KEY: Setting(help, default=default, **about)})


def list_settings(kind: Any) -> dict[str, Setting]:
    """Return the settings of a class, or of an object of one, by name.

    Fields that are not made by `setting` are left out.
    """
    owner = kind if isinstance(kind, type) else type(kind)
    hints = get_type_hints(owner)
    found = {}
    for each in fields(owner):
        if about := each.metadata.get(_KEY):
            described = _describe_type(hints[each.name])
            found[each.name] = replace(about, name=each.name, label=about.label or _label(each.name), **described)
    return found


def _label(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _describe_type(hint: Any) -> dict[str, Any]:
    """Return the type of a field without None, and that of the entries of a tuple."""
    known = [each for each in get_args(hint) or (hint,) if each is not NoneType]
    if get_origin(hint) is tuple or get_origin(known[0]) is tuple:
        item = get_args(hint if get_origin(hint) is tuple else known[0])[0]
        return {"kind": tuple, "item": item if isinstance(item, type) else tuple}
    # what may also be an object of ours is named by a text
    return {"kind": next((each for each in (float, int, bool) if each in known), str)}


def check_settings(thing: Any) -> None:
    """Refuse what is out of range or not among the choices, for all settings of a frozen object that is being made.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        As `Setting.check` does.
    """
    for each in fields(thing):
        if about := each.metadata.get(_KEY):
            value = getattr(thing, each.name)
            checked = replace(about, name=each.name).check(value)
            if checked is not value:
                object.__setattr__(thing, each.name, checked)


def check_choice(name: str, value: Any, known: Sequence[str], noun: str = "known") -> None:
    """Refuse a word that is not known.

    Examples
    --------
    >>> check_choice("rule", "mux", ("max", "add"))
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentError: rule='mux' is not known; did you mean 'max'?; use one of max, add
    """
    if not isinstance(value, str) or value not in known:
        hint = suggest_names(value, known) if isinstance(value, str) else ""
        raise ArgumentError(f"{name}={value!r} is not {noun}{hint}; use one of {', '.join(known)}")


def list_changes(thing: Any) -> dict[str, Any]:
    """Return the fields of a settings object that are not at their default, by name.

    A class may have a property `resolved`: what its fields become where the default is None.
    """
    resolved = getattr(thing, "resolved", {})
    changes = {}
    for each in fields(thing):
        value = getattr(thing, each.name)
        usual = each.default_factory() if each.default_factory is not MISSING else each.default
        if value != resolved.get(each.name, usual):
            changes[each.name] = value
    return changes


def format_call(thing: Any) -> str:
    """Return the Python that makes a settings object; fields at their default are omitted.

    Examples
    --------
    >>> format_call(Setting("What.", "radius", unit="pixels"))
    "Setting(help='What.', name='radius', unit='pixels')"
    """
    own = ", ".join(f"{name}={value!r}" for name, value in list_changes(thing).items())
    return f"{type(thing).__name__}({own})"


def format_number(number: float) -> str:
    """Return a number as people write it, with as many digits as it takes to be read again as the same.

    Examples
    --------
    >>> format_number(2.0), format_number(0.1), format_number(1 / 3)
    ('2', '0.1', '0.3333333333333333')
    """
    short = f"{number:g}"
    return short if float(short) == number else repr(float(number))


def format_value(value: Any) -> str:
    """Return the value of a setting as `Setting.read` reads it.

    Examples
    --------
    >>> format_value((1.0, 0.5)), format_value((1.0, (1.0, 1.0, 0.5))), format_value("soft")
    ('1,0.5', '1,1/1/0.5', 'soft')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return ",".join(format_value(each).replace(",", "/") for each in value)
    return format_number(value) if isinstance(value, int | float) else str(value)


def format_name(thing: Any) -> str:
    """Return the name of a settings object with its changes, as `read_call` reads it."""
    own = ",".join(f"{name}={format_value(value)}" for name, value in list_changes(thing).items())
    return f"{thing.name}:{own}" if own else str(thing.name)


def name_option(name: str) -> str:
    """Return the option of the command line that sets an argument.

    Examples
    --------
    >>> name_option("level_weights")
    '--level-weights'
    """
    return f"--{name.replace('_', '-')}"


def format_options(thing: Any, without: Sequence[str] = ()) -> str:
    """Return the options of the command line for all settings of an object that are not at their default.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Blurring:
    ...     radius: float = setting(1.0, "How far it reaches.")
    >>> format_options(Blurring(2.5))
    ' --radius 2.5'
    """
    known = list_settings(thing)
    changes = {name: value for name, value in list_changes(thing).items() if name in known and name not in without}
    # what is off unless it is asked for has no value
    return "".join(
        f" {name_option(name)}" + ("" if value is True else f" {format_value(value)}")
        for name, value in changes.items()
    )


def read_numbers(name: str, text: str) -> list[float]:
    """Read a list such as 1,0.7,0.4.

    Examples
    --------
    >>> read_numbers("--gains", "1,0.7")
    [1.0, 0.7]
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ArgumentError(f"{name} {text} are not numbers with commas between them, such as 1,0.7,0.4") from None


def read_directions(name: str, text: str) -> list[float | tuple[float, ...]]:
    """Read a list of numbers for levels, some of which have one for each direction, such as 1,1/1/0.5.

    Examples
    --------
    >>> read_directions("--gains", "1.2,1/1/0.5")
    [1.2, (1.0, 1.0, 0.5)]
    """
    levels: list[float | tuple[float, ...]] = []
    for entry in text.split(","):
        try:
            numbers = read_numbers(name, entry.replace("/", ","))
        except ArgumentError:
            raise ArgumentError(
                f"{name} {text} is not a list of numbers with commas between levels, and slashes between directions, "
                "such as 1,0.7/0.7/0.4"
            ) from None
        levels.append(tuple(numbers) if len(numbers) > 1 else numbers[0])
    return levels


def read_call(text: str, find: Callable[[str], Any], what: str) -> Any:
    """Return a settings object by its name, with changes, such as ``speckle:looks=4,kind=gamma``.

    Parameters
    ----------
    text : str
        A name; a colon, and names and values of settings, may follow.
    find : callable
        Returns the object of a name, with its defaults.
    what : str
        What it is, for messages.

    Raises
    ------
    ArgumentError
        If it has no such setting, or it cannot have such a value.
    """
    name, colon, rest = text.partition(":")
    found = find(name)
    if not colon:
        return found
    known = list_settings(found)
    changes = {}
    for entry in rest.split(","):
        key, _, value = entry.partition("=")
        if key not in known or not value:
            use = f"it has {', '.join(known)}: write {name}:{next(iter(known))}=1" if known else "it has none"
            raise ArgumentError(f"{entry!r} is no setting of the {what} {name!r}{suggest_names(key, known)}; {use}")
        changes[key] = replace(known[key], name=f"{name}:{key}").read(value)
    return replace(found, **changes)


def make_settings_table(kind: Any) -> list[str]:
    """Return the lines of a table of all settings of a class, for the documentation.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Blurring:
    ...     radius: float = setting(1.0, "How far it reaches.", least=0, unit="pixels")
    >>> print(make_settings_table(Blurring)[-1])
    | `radius` | 1.0 | a number from 0 (pixels) | How far it reaches. |
    """
    rows = [
        f"| `{each.name}` | {_format_default(each.default)} | {_describe_values(each)} | {each.help} |"
        for each in list_settings(kind).values()
    ]
    return ["| setting | default | values | what it does |", "| --- | --- | --- | --- |", *rows]


def _format_default(default: Any) -> str:
    return f"`{default}`" if default is None or isinstance(default, str) else repr(default)


def _describe_values(about: Setting) -> str:
    if isinstance(about.choices, Mapping) and about.choices:
        return ", ".join(f"`{word}`" for word in about.choices)
    if about.kind not in (float, int, tuple):
        return "a name" if about.kind is str else "true, false"
    word = {float: "a number", int: "a whole number"}.get(about.kind, "numbers")
    if isfinite(about.least):
        word += f" {'above' if about.is_open else 'from'} {about.least:g}"
    if isfinite(about.most):
        word += f" to {about.most:g}"
    return word + (f" ({about.unit})" if about.unit else "")
