"""Enhancing files: images, video and volumes, from one file to another.

Stills, video, cameras and volumes take the same way: a source is decoded, an `Enhancer` works on its frames, and a sink
encodes them, all three at the same time. Videos of any length take the same memory, and so do volumes larger than
memory; see `subband.pipeline.volumes`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from threading import Event
from typing import Any, Literal, TypeAlias

import numpy as np

from subband.engines import Engine
from subband.enhance.blind import NoiseReport
from subband.enhance.enhancer import Enhancer
from subband.enhance.models import Gaussian, NoiseModel, find_model
from subband.enhance.stages import Shrink
from subband.enhance.views import VIEWS
from subband.errors import ArgumentError, suggest_names
from subband.media.base import Sink, Source, SourceInfo
from subband.outputs import explain_output_error
from subband.pipeline.frames import Pipeline
from subband.pipeline.planes import PlaneWork, join_planes, take_plane
from subband.pipeline.relay import Observe, Report, Work, relay_frames
from subband.pipeline.units import choose_scale, fit_to_ycbcr, scale_enhancer, scale_model, treats_planes_apart
from subband.pipeline.volumes import Reopen, VolumeWork
from subband.typing import Array, PathLike

__all__ = [
    "OpenSink",
    "OpenSource",
    "add_noise_to_file",
    "check_view",
    "choose_work",
    "describe_result",
    "enhance_file",
    "prefers_ycbcr",
]

#: Opens a source whose video is in the colours that an enhancer needs.
OpenSource: TypeAlias = Callable[[Literal["rgb", "ycbcr"]], Source]

#: Opens a sink for what an enhancer makes.
OpenSink: TypeAlias = Callable[[SourceInfo], Sink]


def enhance_file(
    source: Source | PathLike | OpenSource,
    sink: Sink | PathLike | OpenSink,
    enhancer: Enhancer,
    *,
    engine: str | Engine | None = None,
    view: str = "synthesis",
    memory: int | None = None,
    nonfinite: str = "refuse",
    overwrite: bool = False,
    keep_partial: bool = False,
    sink_options: Mapping[str, Any] | None = None,
    on_progress: Observe | None = None,
    cancelled: Event | None = None,
) -> Report:
    """Enhance an image, a video or a volume, from one file to another, or all of a folder.

    Parameters
    ----------
    source : str, path, Source or callable
        Where frames come from; a name is given to `subband.media.open_source`, and a callable is given the colours that
        video is to be opened in. A source that is given is closed by whoever opened it. A folder stands for all images,
        videos and volumes in it, one after the other; one of DICOM slices is a volume.
    sink : str, path, Sink or callable
        Where they go; a name is given to `subband.media.open_sink`, and a callable is given what the file will hold.
        It is finished when this returns, and aborted when this raises: a file appears under its name when it is
        complete, or not at all. For a folder it is a folder, made if there is none; files keep their names.
    enhancer : Enhancer
        What is done to each frame, with numbers that count as images of 8 bits do, whatever the depth of the file: from
        0 for black to 255 for white; see `subband.pipeline.units`. Those of a volume are in its own units. In frames of
        Y'CbCr, sigma is that of the samples of each plane. A volume is treated as a whole, along all three axes.
    engine : str, optional
        The engine that computes; see `subband.set_engine`.
    view : {"synthesis", "analysis", "filtered-analysis"}
        The result, or images of the coefficients, as in `Enhancer.view`.
    memory : int, optional
        Bytes that a volume may take while it is computed; see `subband.pipeline.volumes`.
    nonfinite : {"refuse", "mask"}
        What is done with NaN and infinities of floating point, as in `Enhancer.apply`.
    overwrite : bool
        Whether a file may be replaced.
    keep_partial : bool
        Whether what was written of a video stays under its ``.part`` name if something goes wrong.
    sink_options : mapping, optional
        More for `subband.media.open_sink`, such as ``{"preset": "ultrafast"}``.
    on_progress : callable, optional
        Called with a `Progress` after each frame.
    cancelled : threading.Event, optional
        Set it, from any thread, to stop.

    Returns
    -------
    Report
        How many frames, and how long each stage took; of a folder the sum of its files.

    Raises
    ------
    CancelledError
        If it was.
    FormatError
        If the source cannot be read.
    ArgumentError, ShapeError, DtypeError
        If the enhancer or the sink cannot take what the source holds.
    OutputError
        If the sink cannot be written.

    Notes
    -----
    Decoding and encoding run in threads of their own, with three frames between them and the computation. Video is
    treated as the Y'CbCr that it is, where the enhancer has no thresholds of its own; that is faster and loses
    nothing. Noise is then measured and removed in each plane at the size that it has in the file, in each field of an
    interlaced frame by itself. An enhancer without stages copies pixels as they are.

    Examples
    --------
    >>> import os
    >>> import tempfile
    >>> import subband
    >>> from subband.enhance import Denoise, Enhancer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     noisy, better = f"{folder}/noisy.png", f"{folder}/better.png"
    ...     subband.imwrite(noisy, subband.data.photograph()[:64, :96])
    ...     report = subband.enhance_file(noisy, better, Enhancer(Denoise(level=2)))
    ...     report.frames, os.path.exists(better)
    (1, True)
    """
    from subband.media import list_sources, open_sink, open_source

    check_view(view)
    if (
        isinstance(source, str | os.PathLike)
        and Path(source).is_dir()
        and (files := list_sources(source)) != [Path(source)]
    ):
        run = partial(
            enhance_file,
            enhancer=enhancer,
            engine=engine,
            view=view,
            memory=memory,
            nonfinite=nonfinite,
            overwrite=overwrite,
            keep_partial=keep_partial,
            sink_options=sink_options,
            on_progress=on_progress,
            cancelled=cancelled,
        )
        return _enhance_folder(files, sink, run)
    with ExitStack() as closing:
        if isinstance(source, Source):
            frames = source
        else:
            colours: Literal["rgb", "ycbcr"] = "ycbcr" if prefers_ycbcr(enhancer, view) else "rgb"
            opened = source(colours) if callable(source) else open_source(os.fspath(source), colours=colours)
            frames = closing.enter_context(opened)
        info = frames.info
        try:
            work = choose_work(info, enhancer, engine=engine, view=view, memory=memory, nonfinite=nonfinite)
            if isinstance(sink, Sink):
                target = sink
            else:
                result = describe_result(info, enhancer, view, engine)
                more = {"overwrite": overwrite, "keep_partial": keep_partial, **(sink_options or {})}
                target = sink(result) if callable(sink) else open_sink(os.fspath(sink), result, **more)
        except BaseException:
            if isinstance(sink, Sink):
                sink.abort()
            raise
        report = relay_frames(
            frames,
            work,
            target,
            count=info.count,
            on_progress=on_progress,
            cancelled=cancelled,
            by_fields=view == "synthesis" and bool(enhancer.stages),
        )
        return replace(report, noise=work.noise) if isinstance(work, NoiseSearch) else report


def _enhance_folder(files: Sequence[Path], sink: Any, run: Callable[[Path, Path], Report]) -> Report:
    """Enhance the files of a folder one after the other, and add up what they took."""
    folder = files[0].parent
    if not isinstance(sink, str | os.PathLike):
        raise ArgumentError(f"source={str(folder)!r} is a folder; give the name of another one as sink")
    try:
        Path(sink).mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise ArgumentError(f"sink={os.fspath(sink)!r} is a file, and source a folder; take another name") from None
    except OSError as error:
        raise explain_output_error(Path(sink), error) from error
    reports = [run(file, Path(sink, file.name)) for file in files]
    # what was found about noise is that of each file
    names = ("frames", "seconds", "decode", "compute", "encode")
    return Report(**{name: sum(getattr(report, name) for report in reports) for name in names})


def add_noise_to_file(
    source: Source,
    sink: Sink,
    model: str | NoiseModel,
    *,
    seed: int | None = None,
    on_progress: Observe | None = None,
    cancelled: Event | None = None,
) -> Report:
    """Add noise to every frame, for tests.

    Parameters
    ----------
    source, sink
        As in `enhance_file`.
    model : str or NoiseModel
        With numbers that count as images of 8 bits do, as in `enhance_file`; see `subband.enhance`. Y'CbCr gets noise
        in each plane, at the size that it has in the file.
    seed : int, optional
        The same number gives the same noise.
    on_progress, cancelled
        As in `enhance_file`.
    """
    chosen = scale_model(find_model(model), choose_scale(source.info))
    generator = np.random.default_rng(seed)

    def add(pixels: Array) -> Array:
        floats = pixels if pixels.dtype.kind == "f" else pixels.astype(np.float32)
        return np.asarray(chosen.add(floats, generator))

    def work(frames: Iterator[Array]) -> Iterator[Array]:
        for frame in frames:
            if source.info.colours == "ycbcr" and source.info.chroma_steps != (1, 1):
                # chroma has the noise of its own samples, not a mean of that of several
                steps = source.info.chroma_steps
                planes = [add(take_plane(frame, channel, steps)) for channel in range(3)]
                yield join_planes((planes[0], planes[1], planes[2]), steps)
            else:
                yield add(frame)

    return relay_frames(source, work, sink, count=source.info.count, on_progress=on_progress, cancelled=cancelled)


def prefers_ycbcr(enhancer: Enhancer, view: str = "synthesis") -> bool:
    """Tell whether video can stay Y'CbCr for an enhancer: its thresholds, if any, come from the video itself.

    Examples
    --------
    >>> prefers_ycbcr(Enhancer()), prefers_ycbcr(Enhancer(Shrink(threshold=4.0)))
    (True, False)
    """
    if view != "synthesis" or not isinstance(enhancer.model, Gaussian):
        return False
    if not enhancer.stages:
        return True
    if enhancer.colour == "rgb":
        return False
    return not any(isinstance(stage, Shrink) and np.any(stage.threshold) for stage in enhancer.stages)


def describe_result(
    info: SourceInfo, enhancer: Enhancer, view: str = "synthesis", engine: str | Engine | None = None
) -> SourceInfo:
    """Say what a sink will have to hold: what the source holds, or 8 bits for a view of coefficients."""
    if view == "synthesis":
        return info
    shape = enhancer.view(np.zeros(info.shape, info.dtype), view, engine=engine).shape
    return replace(
        info,
        shape=shape,
        dtype=np.dtype(np.uint8),
        bits=8,
        has_alpha=False,
        pixel_format="",
        field_order="progressive",
    )


def choose_work(
    info: SourceInfo,
    enhancer: Enhancer,
    *,
    engine: str | Engine | None = None,
    view: str = "synthesis",
    memory: int | None = None,
    nonfinite: str = "refuse",
    reopen: Reopen | None = None,
) -> Work:
    """Return what turns the pixels of a source into results, for `relay_frames`.

    This is where the numbers of an enhancer, which count as 8 bits do, become those of the pixels.

    Parameters
    ----------
    info : SourceInfo
        Of the source.
    enhancer, engine, view, memory, nonfinite
        As in `enhance_file`.
    reopen : callable, optional
        Opens the same volume again, to measure its noise beforehand; from ``info.origin`` if left out.
    """
    check_view(view)
    if enhancer.model.needs_image and enhancer.stages:

        def choose(known: Enhancer) -> Work:
            return choose_work(info, known, engine=engine, view=view, memory=memory, nonfinite=nonfinite, reopen=reopen)

        if info.kind == "volume":
            # one that does not fit into memory is refused before it is read
            VolumeWork(info, enhancer, engine=engine, memory=memory, nonfinite=nonfinite, reopen=reopen)
        return NoiseSearch(info, enhancer, choose, nonfinite)
    enhancer = scale_enhancer(enhancer, choose_scale(info))
    if view != "synthesis":
        if info.kind == "volume":
            raise ArgumentError(f"view={view!r} is for images and video, and this is a volume; use 'synthesis'")
        if info.colours == "ycbcr":
            raise ArgumentError(f"view={view!r} is in red, green and blue; open the source with colours='rgb'")
        return _each(lambda pixels: enhancer.view(pixels, view, engine=engine))
    if not enhancer.stages and not enhancer.temporal:
        return _each(lambda pixels: pixels)
    if enhancer.temporal:
        _check_time(info)
    if info.kind == "volume":
        return VolumeWork(info, enhancer, engine=engine, memory=memory, nonfinite=nonfinite, reopen=reopen)
    if treats_planes_apart(enhancer, info):
        return PlaneWork(enhancer, info.chroma_steps, engine=engine)
    if info.colours == "ycbcr":
        enhancer = fit_to_ycbcr(enhancer)
    if info.dtype in (np.uint8, np.uint16):
        return Pipeline(enhancer, engine=engine).process
    channel_axis = 2 if info.is_colour else None
    return _each(
        lambda pixels: enhancer.apply(
            pixels, axes=(0, 1), channel_axis=channel_axis, nonfinite=nonfinite, engine=engine
        )
    )


class NoiseSearch:
    """What finds out about noise in the first frame, or in a whole volume, and then turns frames into enhanced ones.

    Parameters
    ----------
    info : SourceInfo
        Of the source.
    enhancer : Enhancer
        Whose noise model needs an image.
    choose : callable
        Returns the work of an enhancer whose model is known.
    nonfinite : {"refuse", "mask"}
        As in `enhance_file`.

    Attributes
    ----------
    noise : NoiseReport or None
        What was found, as soon as there was a frame; its numbers are those of the pixels.
    """

    def __init__(
        self, info: SourceInfo, enhancer: Enhancer, choose: Callable[[Enhancer], Work], nonfinite: str = "refuse"
    ) -> None:
        self.noise: NoiseReport | None = None
        self._info = info
        self._enhancer = enhancer
        self._choose = choose
        self._nonfinite = nonfinite

    def __call__(self, frames: Iterator[Array]) -> Iterator[Array]:
        """Apply the enhancer to frames."""
        is_volume = self._info.kind == "volume"
        first = list(frames if is_volume else islice(frames, 1))
        if not first:
            return iter(())
        image = np.stack(first) if is_volume else first[0]
        space = (0, 1, 2) if is_volume else (0, 1)
        channel_axis = image.ndim - 1 if image.ndim > len(space) else None
        known, self.noise = self._enhancer.find_noise(
            image, axes=space, channel_axis=channel_axis, nonfinite=self._nonfinite
        )
        # the work counts as 8 bits do, whatever the pixels are
        model = scale_model(known.model, 1 / choose_scale(self._info))
        return self._choose(replace(known, noise=model))(chain(first, frames))


def _check_time(info: SourceInfo) -> None:
    """Refuse what cannot be averaged over time."""
    if info.kind == "volume":
        raise ArgumentError("temporal=True averages frames of video, and this is a volume; leave it out")
    if info.kind != "still" and info.dtype not in (np.uint8, np.uint16):
        raise ArgumentError(
            f"temporal=True averages frames of 8 or 16 bits, and these have dtype {info.dtype}; leave it out"
        )


def _each(change: Callable[[Array], Array]) -> Work:
    return lambda frames: (change(frame) for frame in frames)


def check_view(view: Any) -> None:
    """Refuse a view that is not known."""
    if view not in VIEWS:
        hint = suggest_names(view, VIEWS) if isinstance(view, str) else ""
        raise ArgumentError(f"view={view!r} is not known{hint}; use one of {', '.join(VIEWS)}")
