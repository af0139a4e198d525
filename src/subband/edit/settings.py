"""Settings of editing tools: plain numbers and words, checked when they are made."""

from __future__ import annotations

from dataclasses import fields, replace
from operator import index
from typing import Any, TypeVar

import numpy as np

from subband.errors import ArgumentError, ArgumentTypeError, LevelError, suggest_names

__all__ = [
    "LEVEL",
    "check_colour",
    "check_level",
    "check_levels",
    "check_number",
    "check_white",
    "make_settings",
]

T = TypeVar("T")

#: What is known of the number of levels of any tool.
LEVEL: dict[str, Any] = {
    "help": "Number of levels; chosen for the image by default.",
    "label": "Levels",
    "least": 0,
    "slider": (1, 8, 1),
}


def make_settings(kind: type[T], base: T | None, changes: dict[str, Any]) -> T:
    """Return settings of a kind, with some changes; a name that is not known is refused with those that are."""
    made: Any = kind
    known = [field.name for field in fields(made)]
    if base is not None and not isinstance(base, kind):
        raise ArgumentTypeError(f"settings are a {type(base).__name__}; give a {kind.__name__}, or settings by name")
    for name in changes:
        if name not in known:
            hint = suggest_names(name, known)
            raise ArgumentTypeError(f"{name!r} is not a setting{hint}; {kind.__name__} has {', '.join(known)}")
    start: Any = kind() if base is None else base
    changed: T = replace(start, **changes)
    return changed


def check_colour(name: str, colour: Any) -> tuple[float, float, float]:
    """Return red, green and blue out of 255, or refuse what is no colour.

    Examples
    --------
    >>> check_colour("colour", [255, 40, 0])
    (255.0, 40.0, 0.0)
    """
    try:
        numbers = np.asarray(colour, np.float64).ravel()
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if len(numbers) != 3 or not ((numbers >= 0) & (numbers <= 255)).all():
        raise ArgumentError(f"{name}={colour!r} is not red, green and blue; give three numbers from 0 to 255")
    red, green, blue = numbers.tolist()
    return red, green, blue


def check_number(name: str, value: Any, least: float, most: float, advice: str) -> float:
    """Return a number between two others, or refuse it with some advice.

    Examples
    --------
    >>> check_number("strength", 2, 0, 10, "use 0 or more")
    2.0
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, bool | str) or not least <= number <= most:
        raise ArgumentError(f"{name}={value!r} is out of range; {advice}")
    return number


def check_white(white: Any) -> None:
    """Check the white level of an image."""
    if white is not None:
        check_number("white", white, 1e-30, 1e30, "use the number that stands for white, such as 1 or 255")


def check_level(level: Any) -> None:
    """Check a number of levels; None chooses by the size of the image."""
    if level is not None and (isinstance(level, bool) or not isinstance(level, int | np.integer) or level < 0):
        raise LevelError(f"level={level!r} is not a number of levels; use 0 or more, or None for what suits the image")


def check_levels(levels: Any) -> tuple[int, ...] | None:
    """Return the numbers of levels, sorted; None for all."""
    if levels is None:
        return None
    try:
        numbers = tuple(sorted({index(number) for number in levels}))
    except (TypeError, ValueError):
        numbers = ()
    if not numbers or numbers[0] < 1:
        raise LevelError(f"levels={levels!r} are not numbers of levels; the finest is 1: use such as (1, 2, 3)")
    return numbers
