"""Opening sources and sinks of frames by name: images, video, volumes, series and cameras."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from subband.errors import ArgumentError, FormatError
from subband.media.base import Sink, Source, SourceInfo
from subband.media.camera import CameraSource, TestSource, is_camera
from subband.media.cuts import CutSource, Trim
from subband.media.formats.base import Format, Reading, Writing
from subband.media.formats.lookup import find_format, list_formats, recognise_format, split_dataset
from subband.media.images import SequenceSink, SequenceSource, StillSink, StillSource, is_numbered
from subband.media.video import FilmSource
from subband.media.video_rgb import RgbSink, describe_as_rgb
from subband.media.volumes import VolumeSource
from subband.typing import PathLike

__all__ = ["is_unfinished", "list_sources", "open_sink", "open_source", "open_video", "open_volume"]

_UNFINISHED = re.compile(r"\.part\d*$")


def open_source(
    name: Path | str,
    *,
    colours: Literal["rgb", "ycbcr"] = "rgb",
    quick: bool = False,
    tolerant: bool = False,
    most_pixels: int | None = None,
    rate: Fraction | float | None = None,
    trim: Trim | str | None = None,
    size: tuple[int, int] | None = None,
    count: int | None = None,
    series: str | None = None,
) -> Source:
    """Open an image, a video, a volume, a numbered series of images or a camera, by its name and what is in it.

    Parameters
    ----------
    name : Path or str
        A file; a folder of DICOM slices; ``file.h5:dataset``; ``frame%04d.png``; an address such as ``rtsp://…``;
        ``rtp://:5004`` for a link; ``camera:0`` or ``/dev/video0``; ``test:640x480@25?count=100``. A TIFF file of
        several pages is a volume, a GIF of several images a video.
    colours, quick, tolerant
        Of video; see `FilmSource`. Cameras also know `colours`.
    most_pixels : int, optional
        Rows × columns of a frame that are allowed; see `subband.media.limits`.
    rate : Fraction or float, optional
        Frames per second (fps): of a numbered series, of a volume that becomes a video (25 if left out), or of a video
        instead of its own. Also what to ask a camera for.
    trim : Trim or str, optional
        The part of a video or of a series to take, such as ``"1.5:4"`` for seconds or ``"100f:250f"`` for frames; see
        `subband.media.Trim`.
    size, count
        What to ask a camera for.
    series : str, optional
        Which series of a folder of DICOM files, by its number or unique identifier.

    Returns
    -------
    Source
        To be closed; a context manager.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FormatError
        If it holds nothing that can be read.
    ArgumentError
        If the name is that of a folder without DICOM slices, or the like.
    MissingExtraError
        If an optional library is needed that is not installed; it says which.

    Examples
    --------
    >>> from subband.media import open_source
    >>> with open_source("test:64x48@25?count=2") as source:
    ...     [frame.time for frame in source]
    [0.0, 0.04]
    """
    if rate is not None and rate <= 0:
        raise ArgumentError(f"rate={rate} is not a positive number of frames per second")
    reading = Reading(colours, quick, tolerant, most_pixels, series)
    part = Trim.read(trim) if isinstance(trim, str) else trim
    source = _open_whole(name, reading, rate, size, count)
    try:
        return _cut(source, part, rate)
    except BaseException:
        source.close()
        raise


def _cut(source: Source, part: Trim | None, rate: Fraction | float | None) -> Source:
    """Return a part of a source, at another rate."""
    kind = source.info.kind
    if part is not None and kind in ("still", "volume"):
        raise ArgumentError(f"trim is for video and numbered series, and this is a {kind}")
    if kind == "volume" and rate is not None:
        source.info = replace(source.info, rate=Fraction(rate).limit_denominator(1001))
    is_paced = rate is not None and kind == "film"
    return CutSource(source, part, rate if is_paced else None) if part is not None or is_paced else source


def _open_whole(
    name: Path | str,
    reading: Reading,
    rate: Fraction | float | None,
    size: tuple[int, int] | None,
    count: int | None,
) -> Source:
    """Open all of a source."""
    text = str(name)
    if text.startswith("test:"):
        return TestSource.from_name(text)
    if is_camera(text):
        return CameraSource(text, size=size, rate=rate, count=count, colours=reading.colours)
    if text.startswith("rtp://"):
        from subband.media.link import LinkSource

        return LinkSource(text, colours=reading.colours, quick=reading.quick, most_pixels=reading.most_pixels)
    if "://" in text:
        return _open_video(text, reading)
    path, most_pixels = Path(name), reading.most_pixels
    if is_numbered(path) and not path.exists():
        return SequenceSource(path, rate=25 if rate is None else rate, most_pixels=most_pixels)
    form = find_format(path) if split_dataset(text) is None else None
    is_volume = split_dataset(text) is not None or (form is not None and form.kinds == ("volume",))
    if is_volume or path.is_dir() or (form is None and recognise_format(path, is_series=True) is not None):
        return open_volume(name, series=reading.series)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {text!r}")
    source = form.open(path, reading) if form is not None and form.open is not None else None
    try:
        return StillSource(path, most_pixels=most_pixels) if source is None else source
    except FormatError as error:
        if form is not None or type(error) is not FormatError:
            raise
        # of an unknown ending; if it is no video either, what it was first found not to be is told
        try:
            return _open_video(path, reading)
        except (FormatError, ImportError):
            raise FormatError(f"{text!r} is neither an image nor a video nor a volume that can be read") from error


def _open_video(name: Path | str, reading: Reading) -> FilmSource:
    """Open what FFmpeg is to find out about."""
    return FilmSource(name, **reading.video)


def open_video(name: PathLike, *, colours: Literal["rgb", "ycbcr"] = "rgb") -> FilmSource:
    """Open a video by its name; `open_source` opens images, volumes and cameras too.

    Parameters
    ----------
    name : str or path
        A file, or an address such as ``rtsp://…``.
    colours : {"rgb", "ycbcr"}
        What frames are in; see `FilmSource`.

    Raises
    ------
    FileNotFoundError, FormatError, MissingExtraError
        As `open_source` says.

    Examples
    --------
    >>> from subband import data, media
    >>> with media.open_video(data.clip_path()) as video:
    ...     next(iter(video)).pixels.shape
    (360, 640, 3)
    """
    return _open_video(os.fspath(name), Reading(colours=colours))


def open_volume(name: Path | str, *, series: str | None = None) -> VolumeSource:
    """Open a volume by its name; for what reads blocks of it.

    `series` chooses one of a folder of DICOM files, by its number or unique identifier.

    Raises
    ------
    ArgumentError
        If the name is that of no volume.
    FileNotFoundError, FormatError, MissingExtraError
        As `open_source` says.

    Examples
    --------
    >>> from subband.media import open_volume
    >>> open_volume("video.mp4")
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentError: 'video.mp4' does not end like a volume; take .tif, .tiff, .dcm, .fits, .fit, .fts,
    .fits.gz, .fits.fz, .h5, .hdf5, .he5, .hdf, .mha, .mhd, .nii, .nii.gz, .nrrd, .nhdr, .npy, .npz or a folder of DICOM
    slices
    """
    path, dataset = split_dataset(str(name)) or (Path(name), None)
    form = None if path.is_dir() else find_format(path)
    if form is None or form.open_volume is None:
        form = recognise_format(path, is_series=True)
    if form is None or form.open_volume is None:
        endings = [ending for each in list_formats("volume") if each.open_volume for ending in each.endings]
        raise ArgumentError(
            f"{str(name)!r} does not end like a volume; take {', '.join(endings)} or a folder of DICOM slices"
        )
    return form.open_volume(path, Reading(series=series, dataset=dataset))


def list_sources(folder: PathLike) -> list[Path]:
    """List the files in a folder that can be read, sorted by name; one of DICOM slices is a volume by itself.

    Raises
    ------
    ArgumentError
        If there is none.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from subband.media import list_sources
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/volume.npy", np.zeros((2, 3, 4)))
    ...     [path.name for path in list_sources(folder)]
    ['volume.npy']
    """
    folder = Path(folder)
    files = sorted(path for path in folder.iterdir() if path.is_file() and not is_unfinished(path))
    known = {path: form for path in files if (form := find_format(path)) is not None and form.is_read}
    if any(form.is_series for form in known.values()):
        return [folder]
    # archives of hospitals and scanners name slices without an ending, or by numbers that look like one
    if any(recognise_format(path, is_series=True) for path in files if path not in known):
        return [folder]
    if not known:
        raise ArgumentError(f"the folder {str(folder)!r} holds no image, video or volume")
    return list(known)


def is_unfinished(path: Path) -> bool:
    """Tell whether a file is hidden, or is being written."""
    return path.name.startswith(".") or _UNFINISHED.search(path.stem) is not None


def open_sink(
    name: Path | str,
    info: SourceInfo,
    *,
    overwrite: bool = False,
    keep_partial: bool = False,
    quality: float | None = None,
    codec: str | None = None,
    preset: str | None = None,
    audio: bool = True,
    **video_options: Any,
) -> Sink:
    """Open a file to write frames to, of the kind that its name says.

    Parameters
    ----------
    name : Path or str
        An image, a video, a volume, ``file.h5:dataset``, a numbered series such as ``frame%04d.png``, or the address of
        a link, ``rtp://host:port``. A TIFF file is
        a stack if `info` is that of a volume or has more than one frame, else an image. GIF, APNG, WebP and AVIF files
        move if `info` is not that of a still.
    info : SourceInfo
        Of the source, or as changed with `dataclasses.replace` if the frames are changed.
    overwrite : bool
        Whether a file of that name may be replaced.
    keep_partial : bool
        Keep what there is under its ``.part`` name when the sink is aborted.
    quality : float, optional
        From 0 to 100, where there is a loss.
    codec, preset, audio, **video_options
        Of video; see `FilmSink`. DICOM takes a `codec` too, which packs its pixels: ``"jpeg2000"``, ``"htj2k"`` or
        ``"htj2k-rpcl"``.

    Returns
    -------
    Sink
        A context manager: it finishes when its block ends well, and aborts when it does not.

    Raises
    ------
    ArgumentError
        If the name ends like nothing that can be written, or a file is there already.
    OutputError
        If the folder takes no files.
    MissingExtraError
        If an optional library is needed that is not installed; it says which.
    """
    if str(name).startswith("rtp://"):
        from subband.media.link import LinkSink

        return LinkSink(str(name), info, quality=quality, **video_options)
    path, dataset = split_dataset(str(name)) or (Path(name), None)
    video = {key: value for key, value in (("codec", codec), ("preset", preset)) if value is not None} | video_options
    writing = Writing(overwrite, keep_partial, quality, audio, dataset, video)
    form = find_format(path) or _find_series_format(info)
    if form is not None and form.create is not None and form.kinds == ("video",):
        sink = form.create(path, info, writing)
        assert sink is not None
        return sink
    if info.colours == "ycbcr":
        options = {"overwrite": overwrite, "keep_partial": keep_partial, "quality": quality, **video}
        return RgbSink(open_sink(name, describe_as_rgb(info), **options), info)
    if video.keys() - ({"codec"} if form is not None and form.is_series else set()):
        raise ArgumentError(f"{path.name!r} is not a video; codec, preset and the like apply to video only")
    if is_numbered(path) and (form is None or not form.dataset_endings):
        return SequenceSink(path, info, quality=quality, **writing.kept)
    sink = None
    if form is not None and form.create is not None and (form.writes(path) or form.is_series):
        sink = form.create(path, info, writing)
    elif form is None or "still" not in form.kinds:
        raise _refuse(path, form)
    return StillSink(path, info, quality=quality, overwrite=overwrite) if sink is None else sink


def _find_series_format(info: SourceInfo) -> Format | None:
    """Return the format of a source whose files, and folders of them, are named without an ending."""
    return next((form for form in list_formats() if form.is_series and form.name.lower() == info.container), None)


def _refuse(path: Path, form: Format | None) -> ArgumentError:
    if form is not None and form.create is not None:
        return ArgumentError(f"{path.name!r} is read, and not written; write to {form.written[0]}")
    endings = ", ".join(each.written[0] for each in list_formats() if each.written and not each.is_store)
    return ArgumentError(f"{path.name!r} does not end like anything that can be written; take one of {endings}")
