"""Animations: moving GIF, PNG, WebP and AVIF files as sources and sinks of frames, each with its time."""

from __future__ import annotations

import contextlib
import itertools
import struct
import warnings
import zlib
from collections.abc import Iterator
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from subband.errors import ArgumentError, FormatError
from subband.media.base import Frame, Sink, Source, SourceInfo
from subband.media.deep_stills import find_depth, frame_png, join_opacity, make_chunk, pack_png_lines
from subband.media.faults import DamagedError, DamageWarning, LossWarning, explain_output_error
from subband.media.formats.base import Reading, Writing
from subband.media.formats.lookup import find_format
from subband.media.limits import choose_most_pixels
from subband.media.pillow_stills import list_broken, open_image, split_image
from subband.media.still import Still
from subband.media.still_metadata import choose_quality, is_lossless_webp, make_options, warn_of_losses
from subband.outputs import Unfinished

__all__ = ["AnimationSink", "AnimationSource", "create_animation", "is_moving", "open_animation"]

# How fine the clock of a format is, in seconds; that of PNG takes any fraction.
_TICKS: Final = {"AVIF": Fraction(1, 1000), "GIF": Fraction(1, 100), "WebP": Fraction(1, 1000)}
_USUAL_RATE: Final = Fraction(25)
# Pillow keeps all images of an animation until it is complete.
_MOST_SAMPLES: Final = 2**32
# Rows and columns of the copy that the colours of a frame of GIF are chosen from.
_PALETTE_SIDE: Final = 64


def is_moving(path: Path, most_pixels: int | None = None) -> bool:
    """Tell whether a file holds several images, as Pillow sees it."""
    with open_image(path, choose_most_pixels(most_pixels)) as image:
        try:
            return bool(getattr(image, "is_animated", False))
        except list_broken():
            return False


def open_animation(path: Path, reading: Reading) -> AnimationSource | None:
    """Open a file of Pillow's that holds several images; None if it holds one."""
    if not is_moving(path, reading.most_pixels):
        return None
    return AnimationSource(path, most_pixels=reading.most_pixels, tolerant=reading.tolerant)


def create_animation(path: Path, info: SourceInfo, writing: Writing) -> AnimationSink | None:
    """Return what frames become one animation in; None if they are a still.

    A PNG file is an image to most people; it takes the frames of another moving PNG file only.

    Examples
    --------
    >>> video = SourceInfo("film", (4, 6), np.dtype(np.uint8), count=3)
    >>> create_animation(Path("video.png"), video, Writing()) is None
    True
    """
    is_still = path.suffix.lower() == ".png" and (info.kind != "film" or info.container not in ("png", "apng"))
    if info.kind == "still" or is_still:
        return None
    return AnimationSink(path, info, quality=writing.quality, overwrite=writing.overwrite)


class AnimationSource(Source):
    """The images of a moving GIF, WebP, PNG or AVIF file, each with its time.

    Parameters
    ----------
    path : Path
        The file.
    most_pixels : int, optional
        Rows × columns that are allowed.
    tolerant : bool
        End at damage with a warning, not with an error.

    Warns
    -----
    LossWarning
        If its images have 16 bits, of which 8 are read.
    """

    def __init__(self, path: Path, *, most_pixels: int | None = None, tolerant: bool = False) -> None:
        self._path, self._tolerant = path, tolerant
        self._image = open_image(path, choose_most_pixels(most_pixels))
        try:
            self._image.load()
            first = split_image(self._image)
            wait = _find_wait(self._image)
        except list_broken() as error:
            self._image.close()
            raise FormatError(f"{str(path)!r} cannot be read as an image: {error}") from error
        try:
            count: int | None = int(self._image.n_frames)
        except list_broken():
            # Counting goes through the whole file, and so over its damage.
            count = None
        # Moving images turn to colour when a later one has it, so all of them come as colour.
        shape = (*first.pixels.shape[:2], 3)
        self.info = SourceInfo(
            "film",
            shape,
            np.dtype(np.uint8),
            rate=1 / wait,
            count=count,
            duration=None if count is None else float(count * wait),
            has_alpha=first.alpha is not None,
            origin=path,
            container=str(self._image.format or "").lower(),
            metadata=self._describe(first),
        )

    def __iter__(self) -> Iterator[Frame]:
        time = Fraction(0)
        for number in itertools.count():
            if number == self.info.count:
                return
            try:
                self._image.seek(number)
                pixels = np.array(self._image.convert("RGBA"))
                wait = _find_wait(self._image)
            except list_broken() as error:
                message = f"{str(self._path)!r} is damaged after frame {number}: {error}"
                if not self._tolerant:
                    raise DamagedError(message, number) from error
                warnings.warn(message, DamageWarning, stacklevel=2)
                return
            alpha = np.ascontiguousarray(pixels[..., 3]) if self.info.has_alpha else None
            yield Frame(np.ascontiguousarray(pixels[..., :3]), number, float(time), alpha, {"wait": wait})
            time += wait

    def close(self) -> None:
        """Close the file."""
        self._image.close()

    def _describe(self, first: Still) -> dict[str, Any]:
        """Return what a sink may write again; without a word about it, an animation runs once."""
        with self._path.open("rb") as file:
            if find_depth(file.read(64))[0] > 8:
                warnings.warn(f"{str(self._path)!r} moves in 16 bits, of which 8 are read", LossWarning, stacklevel=4)
        metadata = dict(first.metadata)
        if self._image.format != "AVIF":  # Pillow does not say how often these run
            metadata["loop"] = self._image.info.get("loop", 1)
        metadata |= {name: value for name, value in (("icc", first.icc), ("exif", first.exif)) if value}
        if self._image.format == "WEBP" and is_lossless_webp(self._path):
            metadata["lossless"] = True
        return metadata


class AnimationSink(Sink):
    """A moving GIF, PNG, WebP or AVIF file.

    Frames are shown at their times, as far as the clock of the format allows: hundredths of a second in GIF,
    thousandths in WebP and AVIF. Frames that do not change anything may be joined to the one before. GIF has up to 256
    colours in a frame, and pixels that are either opaque or not there.

    Parameters
    ----------
    path : Path
        Where; its ending says the format.
    info : SourceInfo
        Of the frames, which are uint8. Its ``"loop"`` says how often it runs; for ever if nothing is said.
    quality : float, optional
        Of WebP and AVIF, as in `subband.media.write_still`.
    overwrite : bool
        Whether a file of that name may be replaced.

    Raises
    ------
    ArgumentError
        If frames have more than 8 bits, or are Y'CbCr.

    Warns
    -----
    LossWarning
        If the format cannot hold what is known about the frames.

    Notes
    -----
    PNG is written frame by frame. Pillow, which writes the others, keeps all frames until the end; more than 4 GiB of
    them are refused.
    """

    def __init__(self, path: Path, info: SourceInfo, *, quality: float | None = None, overwrite: bool = False) -> None:
        if info.colours == "ycbcr":
            raise ArgumentError("images hold red, green and blue; open the source with colours='rgb'")
        if info.dtype != np.uint8:
            raise ArgumentError(
                f"{path.name!r} moves in 8 bits, and this is {info.dtype}; take a name of a video such as video.mkv, "
                f"or a numbered one such as {path.stem}%04d.png"
            )
        if quality is not None and not 0 <= quality <= 100:
            raise ArgumentError(f"quality={quality:g} is not between 0 and 100")
        self.path, self.info = path, info
        form = find_format(path)
        assert form is not None
        self._form, self._quality = form, quality
        self._unfinished = Unfinished(path, overwrite=overwrite)
        self._clock = _Clock(info.rate)
        self._images: list[Any] = []
        self._png: _PngWriter | None = None
        self._waiting: Frame | None = None

    def _write(self, frame: Frame) -> None:
        from PIL import Image

        self.info.check_frame(frame)
        self._clock.add(frame)
        try:
            if self._form.name == "PNG":
                if self._png is None:
                    self._png = _PngWriter(self._unfinished.part, self.info)
                elif self._waiting is not None:
                    self._png.write(self._waiting, self._clock.take_wait())
                self._waiting = frame
                return
        except OSError as error:
            raise explain_output_error(self.path, error) from error
        if (self.count + 1) * frame.pixels.size > _MOST_SAMPLES:
            raise ArgumentError(
                f"{self.path.name!r} would take more than 4 GiB of memory; take a name of a video such as video.mp4, "
                "or fewer frames"
            )
        image = Image.fromarray(np.ascontiguousarray(frame.pixels))
        if frame.alpha is not None:
            image.putalpha(Image.fromarray(np.ascontiguousarray(frame.alpha)))
        self._images.append(_choose_palette(image) if self._form.name == "GIF" and image.mode == "RGB" else image)

    def _finish(self) -> None:
        try:
            if self._png is not None:
                assert self._waiting is not None
                self._png.write(self._waiting, self._clock.take_wait(is_last=True))
                self._png.finish()
            else:
                # Into memory first: Pillow does not see that a disk takes only a part of what it writes to a file.
                encoded = BytesIO()
                self._images[0].save(encoded, **self._make_options())
                self._unfinished.part.write_bytes(encoded.getbuffer())
        except OSError as error:
            raise explain_output_error(self.path, error) from error
        except (ValueError, SystemError) as error:
            raise ArgumentError(f"{str(self.path)!r} cannot hold these frames: {error}; write a video") from error
        self._unfinished.place()
        metadata = self.info.metadata
        icc, exif = metadata.get("icc"), metadata.get("exif")
        warn_of_losses(self._form, self.path.name, self.info.has_alpha, icc, exif, metadata)

    def _abort(self) -> None:
        if self._png is not None:
            self._png.give_up()
        self._images.clear()
        self._unfinished.remove()

    def _make_options(self) -> dict[str, Any]:
        known = self.info.metadata
        options = make_options(self._form, known.get("icc"), known.get("exif"), known)
        options.pop("dpi", None)
        options |= {"format": self._form.name, "save_all": True, "append_images": self._images[1:]}
        options["duration"] = self._clock.list_waits(_TICKS[self._form.name])
        loop = known.get("loop", 0)
        if self._form.name != "AVIF" and not (self._form.name == "GIF" and loop == 1):
            options["loop"] = loop
        if self._form.name == "GIF" and self.info.has_alpha:
            # else what was there before shines through
            options["disposal"] = 2
        return options | choose_quality(self._form, self._quality, known)


class _Clock:
    """How long each frame is shown: until the next, and the last as long as its source says, or as the one before."""

    def __init__(self, rate: Fraction | None) -> None:
        self._usual = 1 / Fraction(rate or _USUAL_RATE)
        self._times: list[Fraction] = []
        self._last_wait: Fraction | None = None
        self._taken = 0

    def add(self, frame: Frame) -> None:
        time = Fraction(frame.time).limit_denominator(100_000)
        if self._times and time <= self._times[-1]:
            # frames of a volume have no time, and a camera may repeat one
            time = self._times[-1] + self._usual
        self._times.append(time)
        self._last_wait = frame.metadata.get("wait")

    def take_wait(self, *, is_last: bool = False) -> Fraction:
        """Return how long the next frame is shown whose end is known."""
        number = self._taken
        self._taken += 1
        return self._find_end(number, is_last=is_last) - self._times[number]

    def list_waits(self, tick: Fraction) -> list[int]:
        """Return how long each frame is shown, in milliseconds; their sum never drifts from the times."""
        ends = [self._find_end(number, is_last=number + 1 == len(self._times)) for number in range(len(self._times))]
        moments = [round((moment - self._times[0]) / tick) for moment in [self._times[0], *ends]]
        waits = [max(1, after - before) for before, after in itertools.pairwise(moments)]
        return [int(wait * tick * 1000) for wait in waits]

    def _find_end(self, number: int, *, is_last: bool) -> Fraction:
        if not is_last:
            return self._times[number + 1]
        return self._times[number] + (self._last_wait or self._usual)


class _PngWriter:
    """A moving PNG file, written frame by frame; how many there are is filled in at the end."""

    def __init__(self, path: Path, info: SourceInfo) -> None:
        self._info = info
        self._file: BinaryIO = path.open("r+b")
        self._offset_of_count = 0
        self._count = self._sequence = 0

    def write(self, frame: Frame, wait: Fraction) -> None:
        planes = join_opacity(frame.pixels, frame.alpha)
        if self._count == 0:
            known = self._info.metadata
            self._file.write(frame_png(planes, known.get("icc"), known.get("exif"), known))
            self._offset_of_count = self._file.tell()
            self._file.write(self._make_control())
        wait = wait.limit_denominator(1000)
        wait = wait if wait.numerator < 65536 else Fraction(min(round(wait), 65535))
        rows, columns = planes.shape[:2]
        # each frame is whole, and replaces the one before
        shown = struct.pack(">IIIIIHHBB", self._number(), columns, rows, 0, 0, wait.numerator, wait.denominator, 0, 0)
        self._file.write(make_chunk(b"fcTL", shown))
        data = zlib.compress(pack_png_lines(planes), 4)
        if self._count == 0:
            self._file.write(make_chunk(b"IDAT", data))
        else:
            self._file.write(make_chunk(b"fdAT", struct.pack(">I", self._number()) + data))
        self._count += 1

    def finish(self) -> None:
        self._file.write(make_chunk(b"IEND", b""))
        self._file.seek(self._offset_of_count)
        self._file.write(self._make_control())
        self._file.close()

    def give_up(self) -> None:
        # closing writes what is left over, which fails where writing did
        with contextlib.suppress(OSError):
            self._file.close()

    def _make_control(self) -> bytes:
        return make_chunk(b"acTL", struct.pack(">II", self._count, int(self._info.metadata.get("loop", 0))))

    def _number(self) -> int:
        self._sequence += 1
        return self._sequence - 1


def _choose_palette(image: Any) -> Any:
    """Reduce an image to 256 colours: exactly if it has no more, else to those of a small copy.

    Pillow would choose them from all pixels, which takes twenty times as long and looks the same.
    """
    from PIL import Image

    if image.getcolors(256) is not None:
        return image.quantize(256, method=Image.Quantize.MEDIANCUT)
    small = image.resize(tuple(min(side, _PALETTE_SIDE) for side in image.size), Image.Resampling.NEAREST)
    palette = small.quantize(256, method=Image.Quantize.MEDIANCUT)
    return image.quantize(palette=palette, dither=Image.Dither.NONE)


def _find_wait(image: Any) -> Fraction:
    """Return how many seconds the present image is shown; a tenth where the file says none, as browsers do."""
    wait = Fraction(float(image.info.get("duration") or 100)).limit_denominator(1000) / 1000
    return wait if wait > 0 else Fraction(1, 10)
