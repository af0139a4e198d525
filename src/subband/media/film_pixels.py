"""Between FFmpeg's frames and arrays.

The pixel formats of film are many, and fall into three kinds:

* **Grey and planar red, green and blue** are taken as they stand. More than 8 bits are widened to 16 by repeating the
  leading bits, as black and white have to stay black and white, and come back by rounding: bit for bit.
* **Packed red, green and blue** is only shuffled: bit for bit as well.
* **Y'CbCr** either becomes red, green and blue through FFmpeg's libswscale, with bicubic chroma and exact rounding;
  going there and back costs the brightness at most a unit now and then (76 dB) and the chroma somewhat more. Or it is
  given as it stands, with ``colours="ycbcr"``: chroma is repeated up to the size of the brightness, averaged back when
  it is written, and more than 8 bits are shifted to 16. That is bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subband.media.base import Colours, ColourTags, Frame, SourceInfo
from subband.typing import Array

__all__ = ["FrameReader", "FrameWriter", "PixelFormat", "choose_matrix"]

# Columns and rows of chroma that stand for 8 × 8 pixels, in the words of FFmpeg's names.
_SUBSAMPLINGS = {(8, 8): "444", (4, 8): "422", (4, 4): "420", (8, 4): "440", (2, 8): "411", (2, 2): "410"}

_MATRIX_709, _MATRIX_601 = 1, 5
_MATRIX_OF_TAG = {1: 1, 4: 4, 5: 5, 6: 5, 7: 7, 9: 9, 10: 9}
_LIMITED, _FULL = 1, 2


def choose_matrix(tags: ColourTags, rows: int) -> int:
    """Return the matrix to convert with; film that does not say is taken for BT.709 from 720 rows, else for BT.601.

    Examples
    --------
    >>> choose_matrix(ColourTags(), 1080), choose_matrix(ColourTags(), 576), choose_matrix(ColourTags(matrix=9), 576)
    (1, 5, 9)
    """
    return _MATRIX_OF_TAG.get(tags.matrix, _MATRIX_709 if rows >= 720 else _MATRIX_601)


class PixelFormat:
    """What one of FFmpeg's pixel formats holds.

    Attributes
    ----------
    name : str
        In FFmpeg's words.
    colours : {"grey", "rgb", "ycbcr"}
        What it holds.
    bits : int
        Of a sample.
    has_alpha : bool
        Whether it says how opaque pixels are.
    steps : tuple of int
        Rows and columns of pixels that share their chroma.
    """

    def __init__(self, name: str) -> None:
        from av.video.format import VideoFormat

        known = VideoFormat(name)
        self.name = name
        self.is_full_range = name.startswith("yuvj")
        self.has_alpha = any(component.is_alpha for component in known.components)
        self.bits = max((component.bits for component in known.components), default=8)
        self.steps = (1, 1)
        self._planar = name
        kinds = len(known.components) - self.has_alpha
        if known.has_palette:
            self.colours: Colours = "rgb"
            # A palette may hold transparent colours, but that of a film hardly ever does.
            self.has_alpha, self.bits = name == "pal8", 8
        elif kinds == 1:
            self.colours = "grey"
        elif known.is_rgb or name.startswith("gbr"):
            self.colours = "rgb"
        else:
            self.colours = "ycbcr"
            width, height = known.chroma_width(8), known.chroma_height(8)
            self.steps = (8 // height, 8 // width)
            deep = "" if self.bits == 8 else f"{self.bits}le"
            self._planar = f"yuv{_SUBSAMPLINGS.get((width, height), '444')}p{deep}"

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the arrays that it becomes."""
        return np.dtype(np.uint8 if self.bits <= 8 else np.uint16)

    @property
    def planar(self) -> str:
        """The format that holds the same Y'CbCr in three planes."""
        return self._planar


class FrameReader:
    """Makes arrays of FFmpeg's frames of one pixel format.

    Parameters
    ----------
    pixel_format : str
        Of the frames.
    tags : ColourTags
        Of the film.
    rows : int
        Of a frame, which decide about the colours of film that says nothing.
    colours : {"rgb", "ycbcr"}
        What Y'CbCr is to become.
    quick : bool
        Convert to red, green and blue with less care: ten times as fast, 47 dB there and back.
    """

    def __init__(self, pixel_format: str, tags: ColourTags, rows: int, colours: Colours, *, quick: bool) -> None:
        from av.video.reformatter import VideoReformatter

        self.format = PixelFormat(pixel_format)
        self.colours: Colours = colours if self.format.colours == "ycbcr" else self.format.colours
        self.has_alpha = self.format.has_alpha and self.colours == "rgb"
        self._converter = VideoReformatter()
        self._matrix = choose_matrix(tags, rows)
        self._range = _FULL if tags.full_range or self.format.is_full_range else _LIMITED
        self._flags = _choose_flags(quick=quick)

    def read(self, frame: Any) -> tuple[Array, Array | None]:
        """Return the pixels of a frame, which are the caller's own, and how opaque they are."""
        if self.colours == "ycbcr":
            return self._read_planes(frame), None
        if self.colours == "grey":
            name = "gray" if self.format.bits <= 8 else f"gray{self.format.bits}le"
            values = self._convert(frame, name).to_ndarray()
            return _widen(np.array(values), self.format.bits), None
        if self.format.name.startswith("gbr") and self.format.bits > 8 and not self.has_alpha:
            values = self._convert(frame, f"gbrp{self.format.bits}le").to_ndarray()
            return _widen(np.ascontiguousarray(values), self.format.bits), None
        deep = self.format.bits > 8
        if self.has_alpha:
            values = self._convert(frame, "rgba64le" if deep else "rgba").to_ndarray()
            return np.ascontiguousarray(values[..., :3]), np.ascontiguousarray(values[..., 3])
        values = self._convert(frame, "rgb48le" if deep else "rgb24").to_ndarray()
        # A frame that needed no conversion is still the decoder's.
        own = frame.format.name in ("rgb24", "rgb48le")
        return (values.copy() if own else np.ascontiguousarray(values)), None

    def _convert(self, frame: Any, name: str) -> Any:
        if self.format.colours != "ycbcr":
            return self._converter.reformat(frame, format=name, interpolation=self._flags)
        return self._converter.reformat(
            frame,
            format=name,
            src_colorspace=self._matrix,
            src_color_range=self._range,
            dst_color_range=_FULL,
            interpolation=self._flags,
        )

    def _read_planes(self, frame: Any) -> Array:
        """Put Y', Cb and Cr side by side, the chroma repeated."""
        if frame.format.name.replace("yuvj", "yuv") != self.format.planar:
            frame = self._converter.reformat(frame, format=self.format.planar, interpolation=self._flags)
        dtype = self.format.dtype
        shift = 16 - self.format.bits if self.format.bits > 8 else 0
        pixels = np.empty((frame.height, frame.width, 3), dtype)
        down, across = self.format.steps
        for channel, plane in enumerate(frame.planes[:3]):
            values = _view_plane(plane, dtype) << shift if shift else _view_plane(plane, dtype)
            if channel == 0:
                pixels[..., 0] = values
                continue
            for row in range(down):
                rows = pixels[row::down, :, channel]
                for column in range(across):
                    target = rows[:, column::across]
                    target[...] = values[: target.shape[0], : target.shape[1]]
        return pixels


class FrameWriter:
    """Makes FFmpeg's frames of one pixel format out of arrays.

    Parameters
    ----------
    info : SourceInfo
        Of the arrays.
    pixel_format : str
        That the encoder takes.
    quick : bool
        Convert from red, green and blue with less care.
    """

    def __init__(self, info: SourceInfo, pixel_format: str, *, quick: bool = False) -> None:
        from av.video.frame import VideoFrame
        from av.video.reformatter import VideoReformatter

        self.format = PixelFormat(pixel_format)
        self._info = info
        self._make = VideoFrame
        self._converter = VideoReformatter()
        self._matrix = choose_matrix(info.tags, info.shape[0])
        self._range = _FULL if info.tags.full_range or self.format.is_full_range else _LIMITED
        self._flags = _choose_flags(quick=quick)

    def write(self, frame: Frame) -> Any:
        """Return a frame for the encoder, which shares no memory with the array."""
        pixels = frame.pixels
        if self._info.colours == "ycbcr" and self.format.colours == "ycbcr":
            return self._write_planes(pixels)
        if self._info.colours == "ycbcr":
            raise AssertionError("Y'CbCr goes only to formats of Y'CbCr")
        if self._info.colours == "grey":
            return self._write_grey(pixels)
        deep = pixels.dtype == np.uint16
        if self.format.name.startswith("gbrp") and self.format.bits > 8 and deep:
            narrow = _narrow(pixels, self.format.bits)
            made = self._make(pixels.shape[1], pixels.shape[0], self.format.name)
            # FFmpeg's order of planes is green, blue, red.
            for plane, channel in zip(made.planes, (1, 2, 0), strict=False):
                _view_plane(plane, np.dtype(np.uint16))[...] = narrow[..., channel]
            return made
        if self.format.has_alpha:
            alpha = np.full(pixels.shape[:2], np.iinfo(pixels.dtype).max, pixels.dtype)
            opaque = alpha if frame.alpha is None else frame.alpha
            pixels = np.concatenate([pixels, opaque[..., None]], axis=2)
            name = "rgba64le" if deep else "rgba"
        else:
            name = "rgb48le" if deep else "rgb24"
        made = self._make(pixels.shape[1], pixels.shape[0], name)
        flat = _view_plane(made.planes[0], pixels.dtype, channels=pixels.shape[2])
        flat[...] = pixels.reshape(pixels.shape[0], -1)
        return self._convert(made)

    def _convert(self, made: Any) -> Any:
        if self.format.colours != "ycbcr":
            return self._converter.reformat(made, format=self.format.name, interpolation=self._flags)
        return self._converter.reformat(
            made,
            format=self.format.name,
            dst_colorspace=self._matrix,
            src_color_range=_FULL,
            dst_color_range=self._range,
            interpolation=self._flags,
        )

    def _write_grey(self, pixels: Array) -> Any:
        if self.format.colours == "grey" and self.format.bits > 8:
            made = self._make(pixels.shape[1], pixels.shape[0], self.format.name)
            deep = pixels if pixels.dtype == np.uint16 else pixels.astype(np.uint16) * np.uint16(257)
            _view_plane(made.planes[0], np.dtype(np.uint16))[...] = _narrow(deep, self.format.bits)
            return made
        if self.format.colours != "grey":
            return self.write_colour(pixels)
        made = self._make(pixels.shape[1], pixels.shape[0], "gray")
        shallow = pixels if pixels.dtype == np.uint8 else _narrow(pixels, 8).astype(np.uint8)
        _view_plane(made.planes[0], np.dtype(np.uint8))[...] = shallow
        return made

    def write_colour(self, pixels: Array) -> Any:
        """Return a frame of an encoder that has no grey, made of three equal channels."""
        name = "rgb48le" if pixels.dtype == np.uint16 else "rgb24"
        made = self._make(pixels.shape[1], pixels.shape[0], name)
        flat = _view_plane(made.planes[0], pixels.dtype, channels=3)
        flat[...] = np.repeat(pixels, 3, axis=1)
        return self._convert(made)

    def _write_planes(self, pixels: Array) -> Any:
        """Average chroma over the pixels that share it, which undoes its being repeated."""
        made = self._make(pixels.shape[1], pixels.shape[0], self.format.name)
        down, across = self.format.steps
        bits = self.format.bits
        for channel, plane in enumerate(made.planes[:3]):
            values = pixels[..., channel]
            if channel > 0 and (down, across) != (1, 1):
                values = _average_blocks(values, down, across)
            if pixels.dtype == np.uint16 and bits < 16:
                values = _shift_down(values, 16 - bits)
            elif pixels.dtype == np.uint8 and bits > 8:
                values = values.astype(np.uint16) << (bits - 8)
            _view_plane(plane, self.format.dtype)[...] = values
        return made


def _choose_flags(*, quick: bool) -> int:
    from av.video.reformatter import Interpolation

    if quick:
        return int(Interpolation.BICUBIC)
    careful = Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INT | Interpolation.FULL_CHR_H_INP
    return int(Interpolation.BICUBIC | careful)


def _view_plane(plane: Any, dtype: np.dtype[Any], channels: int = 1) -> Array:
    """Return the memory of a plane as rows × samples, without what it is padded with."""
    lines = np.frombuffer(plane, dtype).reshape(plane.height, plane.line_size // dtype.itemsize)
    return lines[:, : plane.width * channels]


def _widen(values: Array, bits: int) -> Array:
    """Stretch samples of 9 to 15 bits over 16, so that the largest becomes 65535."""
    if bits <= 8 or bits == 16:
        return values
    return (values << np.uint16(16 - bits)) | (values >> np.uint16(2 * bits - 16))


def _narrow(values: Array, bits: int) -> Array:
    """Round samples of 16 bits to fewer; undoes `_widen`."""
    if bits == 16:
        return values
    top = (1 << bits) - 1
    return ((values.astype(np.uint32) * np.uint32(top) + np.uint32(32767)) // np.uint32(65535)).astype(np.uint16)


def _shift_down(values: Array, shift: int) -> Array:
    """Round Y'CbCr of 16 bits to fewer, whose largest value must not overflow."""
    rounded = (values.astype(np.uint32) + np.uint32(1 << (shift - 1))) >> np.uint32(shift)
    return np.asarray(np.minimum(rounded, (1 << (16 - shift)) - 1), np.uint16)


def _average_blocks(values: Array, down: int, across: int) -> Array:
    """Return the rounded mean of each block; the last one may be cut by the border."""
    rows, columns = -(-values.shape[0] // down), -(-values.shape[1] // across)
    missing = (rows * down - values.shape[0], columns * across - values.shape[1])
    if any(missing):
        values = np.pad(values, ((0, missing[0]), (0, missing[1])), mode="edge")
    total = np.full((rows, columns), down * across // 2, np.uint32)
    for row in range(down):
        for column in range(across):
            total += values[row::down, column::across]
    return (total // (down * across)).astype(values.dtype)
