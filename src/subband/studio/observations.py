"""What a page asks about what it sees: single pixels, histograms of the image and of a band, energies of bands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from subband.studio.histogram import read_band
from subband.studio.jobs import Job, Message
from subband.studio.levels import Levels, Window
from subband.studio.measures import measure_image, measure_pixel
from subband.studio.protocol import read_number
from subband.studio.settings import Resolved
from subband.typing import Array

__all__ = ["Observations"]

#: Seconds between two histograms of a band.
_PAUSE = 0.2


class Observations:
    """The frame that was shown last, and the band whose histogram the page looks at.

    Parameters
    ----------
    tell : callable
        Sends a message to the page.

    Attributes
    ----------
    is_owed : bool
        Whether the histogram of a band is older than the frame.
    due : float
        The time before which none is measured again.
    """

    def __init__(self, tell: Callable[..., None]) -> None:
        self._tell = tell
        self._pair: tuple[Array, Array] | None = None
        self._has_pixels = False
        self._window = Window()
        self._band: str | None = None
        self.is_owed = False
        self.due = 0.0

    @property
    def has_band(self) -> bool:
        """Whether the page looks at a band."""
        return self._band is not None

    def forget(self) -> None:
        """Let the frame go, because another source is shown."""
        self._pair = None

    def note(self, message: Message) -> None:
        """Keep the frame that was shown, and what was made of it.

        A mosaic of bands has no pixels of the frame, but the frame is measured beside it.
        """
        self._pair, self._window = message.pair, message.window
        self._has_pixels = not (message.header or {}).get("bands")
        self.is_owed = True

    def read_pixel(self, message: dict[str, Any]) -> None:
        """Tell the numbers of a pixel, before and after."""
        if self._pair is None or not self._has_pixels:
            return
        row, column = (int(read_number(message, name)) for name in ("row", "column"))
        found = measure_pixel(self._pair, row, column)
        if found is not None:
            self._tell("pixel", **found)

    def measure(self, message: dict[str, Any], resolved: Resolved, levels: Levels) -> None:
        """Tell the histogram of the image and its noise, and the energies of its bands if they are asked for."""
        if self._pair is None:
            return
        found = measure_image(self._pair, self._window)
        if message.get("bands") is True:
            found["bands"] = resolved.tool.measure_bands(resolved.settings, self._pair[0], levels)
        self._tell("image", **found)

    def choose_band(self, message: dict[str, Any]) -> None:
        """Look at another band, or at none."""
        band = message.get("band")
        if band is not None:
            read_band(band)
        self._band = band
        self.is_owed = True

    def make_job(self, job: Job, now: float) -> Job | None:
        """Return what measures the histogram of the frame of a job, if the page looks at one."""
        band = self._band
        if band is None:
            return None
        self.is_owed, self.due = False, now + _PAUSE
        return replace(job, band=band)
