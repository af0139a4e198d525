"""What a page has asked for last: its settings as they came, and what was made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from subband.errors import SubbandError
from subband.studio.preview import Preview
from subband.studio.settings import Resolved, resolve_settings

__all__ = ["Asked"]

_NOTHING = {"command": "", "python": "", "toml": ""}


@dataclass(frozen=True)
class Asked:
    """Settings.

    Attributes
    ----------
    given : dict
        As the page has sent them.
    number, time : int, float
        By which the page knows them, and when it sent them.
    resolved : Resolved
        What was made of them.

    Examples
    --------
    >>> asked = Asked.resolve({"filter": "gaussian"}, 3, 0.5)
    >>> asked.resolved.settings["filter"], asked.echo
    ('gaussian', {'settings': 3, 'client_time': 0.5})
    """

    given: dict[str, Any]
    number: int
    time: float
    resolved: Resolved

    @classmethod
    def resolve(
        cls, given: Any, number: int, time: float, *, shape: tuple[int, ...] | None = None, engine: str = "cpu"
    ) -> Asked:
        """Resolve settings for frames of a shape."""
        return cls(given, number, time, resolve_settings(given, shape=shape, engine=engine))

    @property
    def echo(self) -> dict[str, Any]:
        """What a frame says, so that the page knows what it answers to."""
        return {"settings": self.number, "client_time": self.time}

    def describe(self, preview: Preview, *notes: str) -> dict[str, Any]:
        """Return what the page is told about its settings, with the same outside the studio for what is shown."""
        resolved = self.resolved
        try:
            equivalent = resolved.tool.format_equivalent(
                resolved.settings, preview.file_name, preview.file_scale
            ).describe()
        except SubbandError:
            equivalent = _NOTHING
        return {
            "number": self.number,
            "settings": resolved.settings,
            "notes": [*resolved.notes, *notes],
            "equivalent": equivalent,
        }
