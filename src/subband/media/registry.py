"""One way to open whatever holds frames, and one to open whatever takes them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from subband.errors import ArgumentError, FormatError
from subband.media import animations
from subband.media.animations import AnimationSink, AnimationSource, is_animation, is_moving
from subband.media.base import Sink, Source, SourceInfo
from subband.media.camera import CameraSource, TestSource, is_camera
from subband.media.cuts import CutSource, Trim
from subband.media.film import FilmSource
from subband.media.film_formats import CONTAINERS
from subband.media.film_rgb import RgbSink, describe_as_rgb
from subband.media.film_sink import FilmSink
from subband.media.pictures import SequenceSink, SequenceSource, StillSink, StillSource, is_numbered
from subband.media.raw_stills import RAW_ENDINGS
from subband.media.still_metadata import name_format
from subband.media.tiff_tags import describe_tiff
from subband.media.volume_dicom import is_dicom, open_dicom
from subband.media.volume_dicom_sink import DicomFolderSink, DicomSink
from subband.media.volume_meta import open_meta
from subband.media.volume_nifti import open_nifti
from subband.media.volume_nrrd import open_nrrd
from subband.media.volume_sinks import Hdf5Sink, HeadedSink, NiftiSink, NpySink, TiffSink
from subband.media.volume_tiff import is_stack, open_tiff
from subband.media.volumes import VolumeSource, open_hdf5, open_npy, open_npz, split_dataset

__all__ = ["open_sink", "open_source", "open_volume"]

_TIFF_ENDINGS = (".tif", ".tiff")
_FILM_ENDINGS = (
    *CONTAINERS, ".3gp", ".asf", ".dv", ".flv", ".h264", ".m1v", ".m2ts", ".m2v", ".mj2", ".mjpeg", ".mts", ".mxf",
    ".ogv", ".ts", ".vob", ".y4m",
)  # fmt: skip
_META_ENDINGS, _NRRD_ENDINGS = (".mha", ".mhd"), (".nrrd", ".nhdr")
_VOLUME_ENDINGS = (".dcm", ".nii", ".npy", *_META_ENDINGS, *_NRRD_ENDINGS)


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
    """Open a picture, a film, a volume, a numbered series of pictures or a camera, by its name and what is in it.

    Parameters
    ----------
    name : Path or str
        A file; a folder of DICOM slices; ``file.h5:dataset``; ``frame%04d.png``; an address such as ``rtsp://…``;
        ``camera:0`` or ``/dev/video0``; ``test:640x480@25?count=100``. A TIFF file of several pages is a volume, a GIF
        of several pictures a film.
    colours, quick, tolerant
        Of film; see `FilmSource`. Cameras also know `colours`.
    most_pixels : int, optional
        Rows × columns of a frame that are allowed; see `subband.media.limits`.
    rate : Fraction or float, optional
        Frames in a second: of a numbered series, of a volume that becomes a film (25 if left out), or of a film instead
        of its own. Also what to ask a camera for.
    trim : Trim or str, optional
        The part of a film or of a series to take, such as ``"1.5:4"`` for seconds or ``"100f:250f"`` for frames; see
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
    >>> with open_source("test:64x48@25?count=2") as source:
    ...     [frame.time for frame in source]
    [0.0, 0.04]
    """
    if rate is not None and rate <= 0:
        raise ArgumentError(f"rate={rate} is not a positive number of frames per second")
    film: dict[str, Any] = {
        "colours": colours, "quick": quick, "tolerant": tolerant, "most_pixels": most_pixels
    }  # fmt: skip
    part = Trim.read(trim) if isinstance(trim, str) else trim
    source = _open_whole(name, film, rate, size, count, series)
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
    film: dict[str, Any],
    rate: Fraction | float | None,
    size: tuple[int, int] | None,
    count: int | None,
    series: str | None,
) -> Source:
    """Open all of a source."""
    colours, tolerant, most_pixels = film["colours"], film["tolerant"], film["most_pixels"]
    text = str(name)
    if text.startswith("test:"):
        return TestSource.from_name(text)
    if is_camera(text):
        return CameraSource(text, size=size, rate=rate, count=count, colours=colours)
    if "://" in text:
        return FilmSource(text, **film)
    path = Path(name)
    if is_numbered(path) and not path.exists():
        return SequenceSource(path, rate=25 if rate is None else rate, most_pixels=most_pixels)
    ending = path.suffix.lower()
    is_volume = split_dataset(text) is not None or ending in _VOLUME_ENDINGS or _is_packed_nifti(path)
    if path.is_dir() or is_volume or (not _is_known(ending) and is_dicom(path)):
        return open_volume(name, series=series)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {text!r}")
    if ending in _FILM_ENDINGS:
        return FilmSource(path, **film)
    if ending in _TIFF_ENDINGS and (_has_pages(path, most_pixels) or _holds_measurements(path)):
        return open_tiff(path)
    try:
        if ending in animations.ENDINGS and is_moving(path, most_pixels):
            return AnimationSource(path, most_pixels=most_pixels, tolerant=tolerant)
        return StillSource(path, most_pixels=most_pixels)
    except FormatError as error:
        if _is_known_picture(ending) or type(error) is not FormatError:
            raise
        return _try_film(path, film, error)


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
    >>> open_volume("film.mp4")
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentError: 'film.mp4' does not end like a volume; take .tiff, .npy, .npz, .h5, .nii, .nii.gz,
    .nrrd, .mha, .dcm or a folder of DICOM slices
    """
    dataset = split_dataset(str(name))
    if dataset is not None:
        return (open_npz if dataset[0].suffix.lower() == ".npz" else open_hdf5)(*dataset)
    path = Path(name)
    ending = path.suffix.lower()
    if path.is_dir() or ending == ".dcm":
        return open_dicom(path, series)
    if ending == ".npy":
        return open_npy(path)
    if ending == ".nii" or _is_packed_nifti(path):
        return open_nifti(path)
    if ending in _META_ENDINGS:
        return open_meta(path)
    if ending in _NRRD_ENDINGS:
        return open_nrrd(path)
    if ending in _TIFF_ENDINGS:
        return open_tiff(path)
    if is_dicom(path):
        return open_dicom(path, series)
    raise ArgumentError(
        f"{str(name)!r} does not end like a volume; take .tiff, .npy, .npz, .h5, .nii, .nii.gz, .nrrd, .mha, .dcm or a "
        "folder of DICOM slices"
    )


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
    **film_options: Any,
) -> Sink:
    """Open a file to write frames to, of the kind that its name says.

    Parameters
    ----------
    name : Path or str
        A picture, a film, a volume, ``file.h5:dataset``, or a numbered series such as ``frame%04d.png``. A TIFF file is
        a stack if `info` is that of a volume or has more than one frame, else a picture. GIF, APNG, WebP and AVIF files
        move if `info` is not that of a still.
    info : SourceInfo
        Of the source, or as changed with `dataclasses.replace` if the frames are changed.
    overwrite : bool
        Whether a file of that name may be replaced.
    keep_partial : bool
        Keep what there is under its ``.part`` name when the sink is aborted.
    quality : float, optional
        From 0 to 100, where there is a loss.
    codec, preset, audio, **film_options
        Of film; see `FilmSink`.

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
    kept: dict[str, Any] = {"overwrite": overwrite, "keep_partial": keep_partial}
    dataset = split_dataset(str(name))
    if dataset is not None and dataset[0].suffix.lower() == ".npz":
        raise ArgumentError(f"{dataset[0].name!r} is read, and not written; write to .npy")
    if dataset is not None and info.colours == "ycbcr":
        return RgbSink(open_sink(name, describe_as_rgb(info), **kept), info)
    if dataset is not None:
        return Hdf5Sink(dataset[0], info, dataset=dataset[1], **kept)
    path = Path(name)
    ending = path.suffix.lower()
    if ending in CONTAINERS:
        return FilmSink(
            path, info, quality=quality, codec=codec, preset=preset, audio=audio, **kept, **film_options
        )  # fmt: skip
    if info.colours == "ycbcr":
        options = {"quality": quality, "codec": codec, "preset": preset, **kept, **film_options}
        return RgbSink(open_sink(name, describe_as_rgb(info), **options), info)
    if codec is not None or preset is not None or film_options:
        raise ArgumentError(f"{path.name!r} is no film, so codec, preset and the like mean nothing for it")
    if is_numbered(path):
        return SequenceSink(path, info, quality=quality, **kept)
    if ending == ".npy":
        return NpySink(path, info, **kept)
    if ending == ".nii" or _is_packed_nifti(path):
        return NiftiSink(path, info, **kept)
    if ending in (".mha", ".nrrd"):
        return HeadedSink(path, info, **kept)
    if ending in _TIFF_ENDINGS and (info.kind == "volume" or (info.count or 2) > 1):
        return TiffSink(path, info, **kept)
    if ending == ".dcm":
        return DicomSink(path, info, **kept)
    if info.container == "dicom" and not _is_known_picture(ending):
        # names of slices, and of folders of them, have no ending
        is_folder = info.origin is not None and info.origin.is_dir()
        return DicomFolderSink(path, info, keep_partial=keep_partial) if is_folder else DicomSink(path, info, **kept)
    if is_animation(path, info):
        return AnimationSink(path, info, quality=quality, overwrite=overwrite)
    if not _is_known_picture(ending):
        volumes = (".npy", ".h5", ".nii", ".nrrd", ".mha", ".dcm")
        endings = ", ".join([".png", ".tiff", ".jpg", ".webp", *CONTAINERS, *volumes])
        raise ArgumentError(f"{path.name!r} does not end like anything that can be written; take one of {endings}")
    return StillSink(path, info, quality=quality, overwrite=overwrite)


def _is_packed_nifti(path: Path) -> bool:
    return path.name.lower().endswith(".nii.gz")


def _is_known(ending: str) -> bool:
    return ending in (*_FILM_ENDINGS, *_TIFF_ENDINGS) or _is_known_picture(ending)


def _is_known_picture(ending: str) -> bool:
    return ending in RAW_ENDINGS or bool(name_format(Path("image" + ending)))


def _holds_measurements(path: Path) -> bool:
    """Tell whether a TIFF file of one page has numbers that no still holds, such as int16."""
    layout = describe_tiff(path)
    return layout is not None and layout.is_measured


def _has_pages(path: Path, most_pixels: int | None) -> bool:
    """Tell whether a TIFF file is a stack; without tifffile, Pillow knows as much."""
    try:
        return is_stack(path)
    except ImportError:
        pass
    try:
        return is_moving(path, most_pixels)
    except FormatError:
        return False


def _try_film(path: Path, options: dict[str, Any], error: FormatError) -> FilmSource:
    """Open a file of unknown ending as film; if it is none, say what it was first found not to be."""
    try:
        return FilmSource(path, **options)
    except (FormatError, ImportError):
        raise FormatError(f"{str(path)!r} is neither a picture nor a film nor a volume that can be read") from error
