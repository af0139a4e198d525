"""From a frame to a message for the page; everything here runs in the thread of an engine."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from subband.engines import get_engine
from subband.errors import SubbandError
from subband.studio.encoding import encode_picture
from subband.studio.flight import Sent
from subband.studio.meter import Meter
from subband.studio.player import Picture
from subband.studio.protocol import pack
from subband.studio.settings import Settled
from subband.studio.tools.base import Inputs, Shown, Work
from subband.typing import Array

if TYPE_CHECKING:
    from subband.studio.session import Session
    from subband.studio.studio import Studio

__all__ = ["Renderer", "Request"]

_log = logging.getLogger("subband.studio")

#: Seconds between two histograms.
_HISTOGRAM_PAUSE = 0.2
#: Seconds after which a message that shows no frame counts as drawn.
_SURFACE_PATIENCE = 0.5
#: How much the newest measurement counts in a mean.
_WEIGHT = 0.2


@dataclass(frozen=True)
class Request:
    """A frame that is to be shown.

    Attributes
    ----------
    settled : Settled
        Under which settings.
    number : int
        Of these settings.
    client_time : float
        When the page sent them, by its own clock.
    picture : Picture or None
        The frame; None for tools that take none.
    dropped : int
        Frames that were left out so far.
    is_moving : bool
        Whether the next frame follows at once.
    """

    settled: Settled
    number: int
    client_time: float
    picture: Picture | None
    dropped: int
    is_moving: bool


class Renderer:
    """Computes and encodes the frames of one page.

    Parameters
    ----------
    studio : Studio
        What all pages share.
    session : Session
        The page.
    """

    def __init__(self, studio: Studio, session: Session) -> None:
        self.arrived = Meter()
        self.band: str | None = None
        self._studio = studio
        self._session = session
        self._sent = Meter()
        self._frame = 0
        self._prepared: tuple[Any, Work] | None = None
        #: Whether a histogram of what is shown is still to be sent, and when it may be.
        self.owes_histogram = False
        self.histogram_due = 0.0
        self._filter_seconds = 0.0
        # an engine that failed, by the settings that asked for it
        self._broken: str | None = None

    def choose_engine(self, settled: Settled) -> str:
        """Return who computes: the engine that is asked for, or the CPU's after that one has failed."""
        wanted = str(settled.settings.get("engine", self._studio.engine))
        if self._broken is not None and self._broken != wanted:
            self._broken = None
        return "cpu" if self._broken == wanted else wanted

    def forget(self) -> None:
        """Let go of everything that takes memory."""
        self._prepared = None

    def render(self, request: Request) -> None:
        """Compute a frame and send it; whatever goes wrong is told to the page."""
        settled, picture = request.settled, request.picture
        engine = self.choose_engine(settled)
        if picture is None:
            self._compose(request, engine)
            return
        try:
            shown = self._work(settled, engine, picture)
        except Exception as error:  # noqa: BLE001 - drivers fail in ways of their own, and the film goes on
            self._fail(error, settled, engine, picture.pixels.shape)
            return
        self._send(request, picture, shown)
        self.owes_histogram = self.band is not None
        if perf_counter() >= self.histogram_due:
            self.measure_band(request)

    def _compose(self, request: Request, engine: str) -> None:
        """Send what a tool shows that takes no frames."""
        try:
            header, payload = request.settled.tool.compose(request.settled.settings, get_engine(engine))
        except Exception as error:  # noqa: BLE001 - as above
            self._fail(error, request.settled, engine, ())
            return
        self._frame += 1
        header.update(frame=self._frame, settings=request.number, client_time=request.client_time)
        now = perf_counter()
        self._session.send_frame(self._frame, pack(header, *payload), Sent(now, expires=now + _SURFACE_PATIENCE))

    def _work(self, settled: Settled, engine: str, picture: Picture) -> Shown:
        key = (settled.key, engine, picture.pixels.shape)
        if self._prepared is None or self._prepared[0] != key:
            inputs = Inputs(picture.pixels.shape, get_engine(engine), self._studio.library.load)
            self._prepared = (key, settled.tool.prepare(settled.settings, inputs))
        return self._prepared[1](picture.pixels, picture.number)

    def _fail(self, error: Exception, settled: Settled, engine: str, shape: tuple[int, ...]) -> None:
        message = " ".join(str(error).split())[:500] or type(error).__name__
        if not isinstance(error, SubbandError):
            _log.error("engine %s failed", engine, exc_info=error)
            message = f"{type(error).__name__}: {message}"
        if engine != "cpu":
            self._broken = engine
            self._session.tell("error", message=message, about="engine")
            self._session.tell_fallback(f"The engine {engine} has failed; the CPU goes on.")
        elif not shape:
            self._session.tell("error", message=message, about="settings")
            return
        else:
            about = "settings" if isinstance(error, SubbandError) else "engine"
            self._session.tell("error", message=message, about=about)
            # the film goes on unfiltered until there are other settings
            self._prepared = ((settled.key, engine, shape), _pass_through)
        self._session.ask_refresh()

    def _send(self, request: Request, picture: Picture, shown: Shown) -> None:
        start = perf_counter()
        count = sum(pixels.shape[0] * pixels.shape[1] for _, pixels in shown.pictures)
        wanted = self._session.link.choose(self._session.wanted_format, count, is_moving=request.is_moving)
        parts = [encode_picture(role, pixels, wanted) for role, pixels in shown.pictures]
        end = perf_counter()
        self._filter_seconds += _WEIGHT * (shown.seconds.get("filter", 0.0) - self._filter_seconds)
        self._frame += 1
        stages = {"decode": picture.seconds, **shown.seconds, "encode": end - start}
        header: dict[str, Any] = {
            "type": "frame",
            "frame": self._frame,
            "position": picture.number,
            "settings": request.number,
            "client_time": request.client_time,
            "parts": [part.describe() for part in parts],
            "stats": {
                "fps": round(self.arrived.measure_rate(end), 2),
                "engine_fps": round(1 / max(self._filter_seconds, 1e-5), 1),
                "stages": {name: round(seconds * 1000, 3) for name, seconds in stages.items()},
                "psnr": shown.psnr,
                "psnr_before": shown.psnr_before,
                "dropped": request.dropped,
                "bytes_per_second": round(self._sent.measure_amount(end)),
            },
        }
        if shown.bands:
            header["bands"] = [list(region) for region in shown.bands]
        message = pack(header, *(part.data for part in parts))
        self._sent.note(end, len(message))
        self._session.send_frame(self._frame, message, Sent(start, wanted, count))

    def measure_band(self, request: Request) -> None:
        """Send the histogram that the page has asked for; not more often than it can be read."""
        settled, picture, band = request.settled, request.picture, self.band
        self.owes_histogram = False
        if band is None or picture is None:
            return
        self.histogram_due = perf_counter() + _HISTOGRAM_PAUSE
        try:
            found = settled.tool.measure_band(settled.settings, picture.pixels, picture.number, band)
        except SubbandError as error:
            self._session.tell("error", message=str(error), about="histogram")
            return
        if found is not None:
            self._session.tell("histogram", **found)


def _pass_through(pixels: Array, number: int) -> Shown:  # noqa: ARG001 - as all prepared tools are called
    return Shown((("result", np.asarray(pixels)),))
