"""Rendering: from a job to a message for the page; everything here runs in the thread of an engine."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from subband.engines import get_engine
from subband.errors import SubbandError
from subband.studio.encoding import encode_image
from subband.studio.jobs import Job, Message
from subband.studio.levels import Window
from subband.studio.player import DisplayFrame
from subband.studio.tools.base import Inputs, Shown, Work
from subband.typing import Array

__all__ = ["Renderer"]

#: Roles of images whose numbers are those of the frame.
_OF_FRAMES = ("result", "before")

_log = logging.getLogger("subband.studio")

#: Settings of how a result is shown: where only they change, nothing is computed anew.
_SHOWING = {"display_window", "display_gamma", "display_colours", "format", "pace"}


class Renderer:
    """Computes and encodes frames; the tool that was prepared last is kept for the next frame.

    Parameters
    ----------
    load : callable
        Returns the image that a setting names, for tools that take a further one.

    Examples
    --------
    >>> from subband.studio.settings import resolve_settings
    >>> frame = DisplayFrame(np.zeros((64, 96), np.uint8), number=3, seconds=0.0)
    >>> job = Job(resolve_settings({}), "cpu", frame, lambda pixels: "raw")
    >>> message = Renderer(lambda name: frame.pixels).render(job)
    >>> message.header["position"], message.format, message.pixels, message.error
    (3, 'raw', 6144, '')
    """

    def __init__(self, load: Callable[[str], Array]) -> None:
        self._load = load
        self._prepared: tuple[Any, Work] | None = None
        self._last: tuple[Any, DisplayFrame, Shown] | None = None

    def render(self, job: Job) -> Message:
        """Return what the page is to be shown for a job; whatever goes wrong is told in the message."""
        if job.band is not None:
            return _measure_band(job, job.band)
        if job.frame is None:
            return _compose(job)
        frame, tool = job.frame, job.resolved.tool
        settings = [pair for pair in job.resolved.key if pair[0] not in _SHOWING]
        key = (settings, job.engine, frame.pixels.shape, frame.pixels.dtype, frame.levels)
        pixels = frame.pixels if tool.is_deep else Window.read({}, frame.levels).show(frame.pixels)
        is_block = tool.is_deep and job.resolved.settings.get("volumetric") is True
        failure = Message()
        try:
            if self._last is not None and self._last[0] == key and self._last[1] is frame:
                return _encode(job, frame, replace(self._last[2], seconds={}))
            if self._prepared is None or self._prepared[0] != key:
                inputs = Inputs(pixels.shape, get_engine(job.engine), self._load, frame.levels)
                self._prepared = (key, tool.prepare(job.resolved.settings, inputs))
            shown = self._prepared[1](frame.block if is_block and frame.block is not None else pixels, frame.number)
            self._last = (key, frame, shown)
        except Exception as error:  # noqa: BLE001 - drivers fail in ways of their own, and the video goes on
            failure = _describe_failure(error, job.engine)
            if job.engine != "cpu":
                return failure
            # unfiltered until there are other settings
            self._prepared = (key, _pass_through)
            shown = _pass_through(pixels, frame.number)
        return replace(_encode(job, frame, shown), error=failure.error, about=failure.about)


def _compose(job: Job) -> Message:
    """Return what a tool shows that takes no frames."""
    try:
        header, payload = job.resolved.tool.compose(job.resolved.settings, get_engine(job.engine))
    except Exception as error:  # noqa: BLE001 - as for frames
        failure = _describe_failure(error, job.engine)
        return failure if job.engine != "cpu" else replace(failure, about="settings")
    return Message({**header, **job.echo}, tuple(payload))


def _encode(job: Job, frame: DisplayFrame, shown: Shown) -> Message:
    start = perf_counter()
    pixels = sum(each.shape[0] * each.shape[1] for _, each in shown.images)
    wanted = job.choose_format(pixels)
    window = Window.read(job.resolved.settings, frame.levels)
    own = window if job.resolved.tool.is_deep else window.fit(frame.levels)
    parts = [encode_image(role, own.show(each) if role in _OF_FRAMES else each, wanted) for role, each in shown.images]
    header: dict[str, Any] = {
        "type": "frame",
        "position": frame.number,
        "parts": [part.describe() for part in parts],
        "stats": {"psnr": shown.psnr, "psnr_before": shown.psnr_before, "removed": shown.removed},
        **job.echo,
    }
    if shown.bands:
        header["bands"] = [list(region) for region in shown.bands]
    seconds = {"decode": frame.seconds, **shown.seconds, "encode": perf_counter() - start}
    return Message(header, tuple(part.data for part in parts), wanted, pixels, seconds, shown.pair, window)


def _measure_band(job: Job, band: str) -> Message:
    """Return the histogram of a band, if the tool has bands."""
    if job.frame is None:
        return Message()
    tool, settings = job.resolved.tool, job.resolved.settings
    try:
        found = tool.measure_band(settings, job.frame.pixels, job.frame.number, band, job.frame.levels)
    except SubbandError as error:
        return Message(error=str(error), about="histogram")
    return Message(None if found is None else {"type": "histogram", **found})


def _describe_failure(error: Exception, engine: str) -> Message:
    """Return the message of a job that failed; what is no error of ours is logged."""
    text = " ".join(str(error).split())[:500] or type(error).__name__
    if isinstance(error, SubbandError):
        return Message(error=text, about="settings" if engine == "cpu" else "engine")
    _log.error("engine %s failed", engine, exc_info=error)
    return Message(error=f"{type(error).__name__}: {text}", about="engine")


def _pass_through(pixels: Array, number: int) -> Shown:  # noqa: ARG001 - as all prepared tools are called
    return Shown((("result", np.asarray(pixels)),), pair=(pixels, pixels))
