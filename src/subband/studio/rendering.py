"""Rendering: from a job to a message for the page; everything here runs in the thread of an engine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from subband.engines import get_engine
from subband.errors import SubbandError
from subband.studio.encoding import encode_image
from subband.studio.jobs import Job, Message
from subband.studio.large import Crop, LargeImage, Original, View
from subband.studio.levels import Window
from subband.studio.noise import measure_psnr
from subband.studio.player import DisplayFrame
from subband.studio.tools.base import Cut, Inputs, Shown, Work
from subband.typing import Array

__all__ = ["Renderer"]

#: Roles of images whose numbers are those of the frame.
_OF_FRAMES = ("result", "before")

_log = logging.getLogger("subband.studio")

#: Settings of how a result is shown: where only they change, nothing is computed anew.
_SHOWING = {"display_window", "display_gamma", "display_colours", "format", "pace"}


@dataclass
class _Large:
    """The large image that was shown last, under a key."""

    key: Any
    frame: DisplayFrame
    noise: Any
    image: LargeImage


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
        self._large: _Large | None = None

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
            is_whole = job.view is None or job.is_moving or (is_block and frame.block is not None)
            if job.view is not None and not is_whole and (cut := self._find_cut(job, pixels.shape)) is not None:
                self._last = self._prepared = None
                return self._render_part(job, job.view, cut, key)
            self._large = None
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

    def _find_cut(self, job: Job, shape: tuple[int, ...]) -> Cut | None:
        assert job.frame is not None
        inputs = Inputs(shape, get_engine(job.engine), self._load, job.frame.levels)
        return job.resolved.tool.cut(job.resolved.settings, inputs)

    def _render_part(self, job: Job, view: View, cut: Cut, key: Any) -> Message:
        """Return what is seen of a large image, or a further block of it."""
        frame, begun, large = job.frame, perf_counter(), self._large
        # the same result is in both halves of the screen, or in one
        key = ([pair for pair in key[0] if pair[0] != "view"], *key[1:])
        assert frame is not None
        if large is None or large.key != key or large.frame is not frame:
            is_known = large is not None and large.frame is frame and large.noise == cut.noise
            original = (
                large.image.original if is_known and large else Original(cut.make_noisy(frame.pixels, frame.number))
            )
            image = LargeImage(original, cut.enhancer, get_engine(job.engine))
            self._large = large = _Large(key, frame, cut.noise, image)
        image, crop = large.image, view.crop(frame.pixels.shape)
        where: dict[str, Any] = {"size": [frame.pixels.shape[1], frame.pixels.shape[0]]}
        part: Crop | None = crop
        if job.is_rest and image.left:
            part = crop.intersect(image.advance(crop))
            result = None if part is None else part.cut(image.result)
            where["at"] = None if part is None else crop.locate(part)
        else:
            result, is_exact = image.show(crop)
            where |= {"extent": crop.extent, "is_sketch": not is_exact}
        images: list[tuple[str, Array]] = [] if result is None else [("result", result)]
        if cut.is_split and not job.is_rest:
            images.append(("before", crop.cut(image.original.pixels)))
        where |= {"left": image.left, "count": image.count}
        seconds = {"filter": perf_counter() - begun}
        if image.left:
            return replace(_encode(job, frame, Shown(tuple(images), (), seconds), where), left=image.left)
        pair, psnr, before = (image.original.pixels, image.result), None, None
        if pair[0] is not frame.pixels:
            psnr, before = (measure_psnr(each, frame.pixels, frame.levels.span) for each in (pair[1], pair[0]))
        return _encode(job, frame, Shown(tuple(images), (), seconds, psnr, before, pair), where)


def _compose(job: Job) -> Message:
    """Return what a tool shows that takes no frames."""
    try:
        header, payload = job.resolved.tool.compose(job.resolved.settings, get_engine(job.engine))
    except Exception as error:  # noqa: BLE001 - as for frames
        failure = _describe_failure(error, job.engine)
        return failure if job.engine != "cpu" else replace(failure, about="settings")
    return Message({**header, **job.echo}, tuple(payload))


def _encode(job: Job, frame: DisplayFrame, shown: Shown, where: Mapping[str, Any] | None = None) -> Message:
    """Return the message with the images of a frame; `where` they lie in a large image, of which they are a part."""
    start = perf_counter()
    if where is None and job.view is not None:
        # computed as a whole, and seen in part
        rows, columns = shown.images[0][1].shape[:2]
        crop = job.view.crop((rows, columns))
        cut = crop.cut_quickly if job.is_moving else crop.cut
        shown = replace(shown, images=tuple((role, cut(each)) for role, each in shown.images))
        where = {"size": [columns, rows], "extent": crop.extent, "is_sketch": False, "left": 0, "count": 1}
    pixels = sum(each.shape[0] * each.shape[1] for _, each in shown.images)
    wanted = job.choose_format(pixels)
    window = Window.read(job.resolved.settings, frame.levels)
    own = window if job.resolved.tool.is_deep else window.fit(frame.levels)
    parts = [encode_image(role, own.show(each) if role in _OF_FRAMES else each, wanted) for role, each in shown.images]
    header: dict[str, Any] = {
        # a block that is not seen is told of, so that the page knows how far all of it is
        "type": "frame" if parts else "progress",
        "position": frame.number,
        "parts": [part.describe() for part in parts],
        "stats": {"psnr": shown.psnr, "psnr_before": shown.psnr_before, "removed": shown.removed},
        **job.echo,
        **(where or {}),
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
