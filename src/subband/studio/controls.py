"""Controls of a tool as data: what the page draws, and what a value may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal, TypeAlias

from subband.errors import LevelError, SubbandError
from subband.settings import Setting, list_settings

__all__ = [
    "Control",
    "Kind",
    "Scalar",
    "Settings",
    "choose",
    "give_bands",
    "give_source",
    "give_thresholds",
    "give_window",
    "lower_level",
    "make_control",
    "make_controls",
    "read_settings",
    "slide",
    "switch",
]

#: What a setting can be.
Scalar: TypeAlias = str | int | float | bool

#: Settings as the page has them: names and values.
Settings: TypeAlias = Mapping[str, Scalar]

#: How the page draws a control.
Kind: TypeAlias = Literal["choice", "range", "flag", "search", "bands", "thresholds", "source", "window"]

_LONGEST = 2000

#: Choices of more values than this can be searched.
_MANY = 20


@dataclass(frozen=True)
class Control:
    """One setting of a tool.

    Attributes
    ----------
    name, label : str
        By which programs and people know it.
    kind : str
        How it is drawn.
    default : str, number or bool
        Its value at first.
    group : str
        Under which heading it stands.
    options : sequence of (value, title)
        Of a choice or a search.
    least, most, step : float
        Of a range; whole steps from a whole number make whole numbers.
    unit, help : str
        What stands beside it, and what explains it.
    shown : mapping
        The values that other settings must have for it to mean something.
    more : mapping
        What else the page is told.

    Examples
    --------
    >>> level = slide("level", "Levels", 3, 1, 8, 1)
    >>> level.resolve(3.0), level.resolve(11), level.resolve("many")
    ((3, None), (8, 'level=11 is out of range; 8 is taken'), (3, "level='many' is not a number; 3 is taken"))
    """

    name: str
    label: str
    kind: Kind
    default: Scalar
    group: str = ""
    options: tuple[tuple[Scalar, str], ...] = ()
    least: float = 0.0
    most: float = 1.0
    step: float = 0.01
    unit: str = ""
    help: str = ""
    shown: Mapping[str, Sequence[Scalar]] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    def describe(self) -> dict[str, Any]:
        """Return what the page is told."""
        entry: dict[str, Any] = {
            "name": self.name,
            "label": self.label,
            "kind": self.kind,
            "default": self.default,
            "group": self.group,
        }
        if self.kind in ("choice", "search"):
            entry["options"] = [list(option) for option in self.options]
        if self.kind == "range":
            entry.update(min=self.least, max=self.most, step=self.step)
        for name in ("unit", "help"):
            if getattr(self, name):
                entry[name] = getattr(self, name)
        if self.shown:
            entry["shown"] = {name: list(values) for name, values in self.shown.items()}
        return {**entry, **self.more}

    def resolve(self, value: Any) -> tuple[Scalar, str | None]:
        """Return the value that is taken for what a page sent, and a note if that is another one."""
        if self.kind == "flag":
            return self._resolve_flag(value)
        if self.kind == "range":
            return self._resolve_number(value)
        if not isinstance(value, str) and self.kind not in ("choice", "search"):
            return self.default, self._say(value, "not a text", self.default)
        if self.kind in ("choice", "search") and value not in [option[0] for option in self.options]:
            return self.default, self._say(value, "not one of its values", self.default)
        if self.kind == "window" and not _is_window(str(value)):
            return self.default, self._say(value, "no window such as 0:4095", "one that is found")
        if len(str(value)) > _LONGEST:
            return self.default, f"{self.name} is too long; {self.default!r} is taken"
        return value, None

    def _resolve_flag(self, value: Any) -> tuple[Scalar, str | None]:
        # addresses hold everything as text
        texts = {"true": True, "false": False, "1": True, "0": False}
        found = texts.get(value) if isinstance(value, str) else value
        if isinstance(found, bool):
            return found, None
        return self.default, self._say(value, "neither true nor false", self.default)

    def _resolve_number(self, value: Any) -> tuple[Scalar, str | None]:
        if value == "auto" and self.more.get("auto"):
            return "auto", None
        try:
            number = float("nan") if isinstance(value, bool) else float(value)
        except (OverflowError, TypeError, ValueError):
            number = float("nan")
        if not isfinite(number):
            return self.default, self._say(value, "not a number", self.default)
        if self.step == int(self.step) and self.least == int(self.least):
            number = round(number)
        taken = min(max(number, self.least), self.most)
        if self.step == int(self.step) and self.least == int(self.least):
            taken = int(taken)
        return taken, None if taken == number else self._say(value, "out of range", taken)

    def _say(self, value: Any, what: str, taken: Scalar) -> str:
        return f"{self.name}={str(value)[:40]!r} is {what}; {taken} is taken".replace(
            repr(str(value)), repr(value) if isinstance(value, str) else str(value)
        )


def _is_window(text: str) -> bool:
    """Tell whether a text is empty, or two finite numbers in order."""
    if not text:
        return True
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError:
        return False
    return isfinite(low) and isfinite(high) and low < high


def choose(name: str, label: str, default: Scalar, options: Sequence[tuple[Scalar, str]], **more: Any) -> Control:
    """Return a control with a few values to choose from."""
    return Control(name, label, "choice", default, options=tuple(options), **more)


def slide(name: str, label: str, default: Scalar, least: float, most: float, step: float, **more: Any) -> Control:
    """Return a slider."""
    return Control(name, label, "range", default, least=least, most=most, step=step, **more)


def switch(name: str, label: str, default: bool = False, **more: Any) -> Control:
    """Return a switch."""
    return Control(name, label, "flag", default, **more)


def give_bands(name: str, label: str, **more: Any) -> Control:
    """Return the matrix of gains."""
    return Control(name, label, "bands", "", **more)


def give_thresholds(name: str, label: str, **more: Any) -> Control:
    """Return the weights of thresholds, which the page draws over those of the gains."""
    return Control(name, label, "thresholds", "", **more)


def give_window(name: str, label: str, **more: Any) -> Control:
    """Return the choice of black and white, as ``low:high``; empty where they are found."""
    return Control(name, label, "window", "", **more)


def give_source(name: str, label: str, default: str, **more: Any) -> Control:
    """Return the choice of a further image."""
    return Control(name, label, "source", default, **more)


def make_control(about: Setting, *, name: str = "", start: Scalar | None = None, **more: Any) -> Control:
    """Return the control of a setting.

    Parameters
    ----------
    about : Setting
        What is known about it.
    name : str
        What the page calls it, if not by its own name.
    start : number, optional
        Where the page starts instead of at the default; for what is found automatically, where its slider does.
    **more
        As in `Control`.

    Examples
    --------
    >>> from subband.enhance import Blur
    >>> make_control(list_settings(Blur)["sigma"], start=1.5).describe()["default"]
    1.5
    """
    is_auto = about.default is None
    default: Scalar = "auto" if is_auto else about.default if start is None else start
    common: dict[str, Any] = {"unit": about.unit, "help": about.help, **more}
    name = name or about.name
    if options := tuple(about.list_choices().items()):
        options = (("auto", "Automatic"), *options) if is_auto else options
        return Control(
            name, about.label, "search" if len(options) > _MANY else "choice", default, options=options, **common
        )
    if about.kind is bool:
        return switch(name, about.label, bool(default), **common)
    least, most, step = about.find_slider()
    if is_auto:
        common["more"] = {"auto": True, "auto_value": least if start is None else start}
    return slide(name, about.label, default, least, most, step, **common)


def make_controls(
    kind: Any, names: str, starts: Mapping[str, Scalar] | None = None, **more: Any
) -> tuple[Control, ...]:
    """Return the controls of some settings of a class, in this order; see `make_control`."""
    known, starts = list_settings(kind), starts or {}
    return tuple(make_control(known[name], start=starts.get(name), **more) for name in names.split())


def lower_level(level: int, check: Callable[[int], Any], least: int = 1) -> int:
    """Return the largest number of levels from `least` to `level` that `check` takes without a LevelError.

    Examples
    --------
    >>> from subband.edit import Lighting
    >>> lower_level(8, lambda level: Lighting(level=level).plan((1, 64, 64)))
    6
    """
    while level > least:
        try:
            check(level)
        except LevelError:
            level -= 1
        except SubbandError:
            # something else is wrong, which fewer levels do not mend
            break
        else:
            break
    return level


def read_settings(kind: Any, settings: Settings, **changes: Any) -> Any:
    """Return the settings object of a class for the settings of the page, and changes that it has no control for."""
    names = [name for name in list_settings(kind) if name in settings and name not in changes]
    return kind(**{name: None if settings[name] == "auto" else settings[name] for name in names}, **changes)
