"""Settings as they come from a page, made complete and right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from subband.errors import ArgumentError
from subband.studio.controls import Scalar
from subband.studio.protocol import ProtocolError
from subband.studio.tools.base import Tool
from subband.studio.tools.lookup import find_tool

__all__ = ["Resolved", "resolve_settings"]

_MOST_SETTINGS = 100


@dataclass(frozen=True)
class Resolved:
    """Settings that a tool can be prepared with.

    Attributes
    ----------
    tool : Tool
        Whose settings they are.
    settings : dict
        Complete, with ``"tool"``.
    notes : tuple of str
        What was corrected.
    """

    tool: Tool
    settings: dict[str, Scalar]
    notes: tuple[str, ...]

    @property
    def key(self) -> tuple[tuple[str, Scalar], ...]:
        """The settings as something that can be compared and looked up."""
        return tuple(sorted(self.settings.items()))


def resolve_settings(given: Any, *, shape: tuple[int, ...] | None = None, engine: str = "cpu") -> Resolved:
    """Return complete settings for what a page sent, as near to it as possible.

    Parameters
    ----------
    given : mapping
        Names and values; what is missing has its default, and what is not known is left out.
    shape : tuple of int, optional
        Of the frames, which have room for so many levels.
    engine : str
        The engine that computes if nothing else is said.

    Raises
    ------
    ProtocolError
        If that is no object of scalars.
    ArgumentError
        If there is no such tool.

    Examples
    --------
    >>> resolved = resolve_settings({"filter": "soft", "threshold": 900, "colour": "pink"})
    >>> resolved.settings["threshold"], resolved.settings["colour"]
    (128, 'opponents')
    >>> resolved.notes[0]
    'threshold=900 is out of range; 128 is taken'
    """
    if not isinstance(given, dict) or len(given) > _MOST_SETTINGS:
        raise ProtocolError(f"settings are an object of at most {_MOST_SETTINGS} names and values")
    if not all(isinstance(value, str | int | float | bool) for value in given.values()):
        raise ProtocolError("settings hold only texts, numbers, true and false")
    tool = find_tool(given.get("tool", "enhance"))
    settings: dict[str, Scalar] = {"tool": tool.name}
    notes: list[str] = []
    for control in tool.controls:
        if control.name not in given:
            settings[control.name] = engine if control.name == "engine" else control.default
            continue
        settings[control.name], note = control.resolve(given[control.name])
        if note is not None:
            notes.append(note)
    try:
        notes += tool.correct(settings, shape)
    except ArgumentError as error:
        notes.append(str(error))
    return Resolved(tool, settings, tuple(notes))
