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
from subband.studio.player import DisplayFrame
from subband.studio.tools.base import Inputs, Shown, Work
from subband.typing import Array

__all__ = ["Renderer"]

_log = logging.getLogger("subband.studio")


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

    def render(self, job: Job) -> Message:
        """Return what the page is to be shown for a job; whatever goes wrong is told in the message."""
        if job.band is not None:
            return _measure_band(job, job.band)
        if job.frame is None:
            return _compose(job)
        key = (job.resolved.key, job.engine, job.frame.pixels.shape)
        failure = Message()
        try:
            if self._prepared is None or self._prepared[0] != key:
                inputs = Inputs(job.frame.pixels.shape, get_engine(job.engine), self._load)
                self._prepared = (key, job.resolved.tool.prepare(job.resolved.settings, inputs))
            shown = self._prepared[1](job.frame.pixels, job.frame.number)
        except Exception as error:  # noqa: BLE001 - drivers fail in ways of their own, and the video goes on
            failure = _describe_failure(error, job.engine)
            if job.engine != "cpu":
                return failure
            # unfiltered until there are other settings
            self._prepared = (key, _pass_through)
            shown = _pass_through(job.frame.pixels, job.frame.number)
        return replace(_encode(job, job.frame, shown), error=failure.error, about=failure.about)


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
    parts = [encode_image(role, each, wanted) for role, each in shown.images]
    header: dict[str, Any] = {
        "type": "frame",
        "position": frame.number,
        "parts": [part.describe() for part in parts],
        "stats": {"psnr": shown.psnr, "psnr_before": shown.psnr_before},
        **job.echo,
    }
    if shown.bands:
        header["bands"] = [list(region) for region in shown.bands]
    seconds = {"decode": frame.seconds, **shown.seconds, "encode": perf_counter() - start}
    return Message(header, tuple(part.data for part in parts), wanted, pixels, seconds)


def _measure_band(job: Job, band: str) -> Message:
    """Return the histogram of a band, if the tool has bands."""
    if job.frame is None:
        return Message()
    tool, settings = job.resolved.tool, job.resolved.settings
    try:
        found = tool.measure_band(settings, job.frame.pixels, job.frame.number, band)
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
    return Shown((("result", np.asarray(pixels)),))
