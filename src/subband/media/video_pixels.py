"""Conversion between FFmpeg's frames and arrays.

The pixel formats of video are many, and fall into three kinds:

* **Grey and planar red, green and blue** are taken as they stand. More than 8 bits are widened to 16 by repeating the
  leading bits, as black and white have to stay black and white, and come back by rounding: bit for bit.
* **Packed red, green and blue** is only shuffled: bit for bit as well.
* **Y'CbCr** either becomes red, green and blue through FFmpeg's libswscale, with bicubic chroma and exact rounding;
  going there and back costs the brightness at most a unit now and then (76 dB) and the chroma somewhat more. Or it is
  given as it stands, with ``colours="ycbcr"``: chroma is repeated up to the size of the brightness, averaged back when
  it is written, and more than 8 bits are shifted to 16. That is bit for bit. `SourceInfo.chroma_steps` says how often
  chroma was repeated. In interlaced frames, whose chroma rows belong to one field each, it is repeated inside a field.

Opacity comes beside the pixels, of full range whatever theirs is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from subband.media.base import Colours, ColourTags, Frame, SourceInfo
from subband.typing import Array

__all__ = [
    "FrameReader",
    "FrameWriter",
    "PixelFormat",
    "allocate_planar",
    "choose_matrix",
    "repeat_blocks",
    "view_plane",
]

# Columns and rows of chroma that stand for 8 × 8 pixels, in the words of FFmpeg's names.
_SUBSAMPLINGS = {(8, 8): "444", (4, 8): "422", (4, 4): "420", (8, 4): "440", (2, 8): "411", (2, 2): "410"}

# The same by the rows and columns of pixels that share their chroma.
_SAMPLINGS = {(8 // rows, 8 // columns): name for (columns, rows), name in _SUBSAMPLINGS.items()}

_MATRIX_709, _MATRIX_601 = 1, 5
_MATRIX_OF_TAG = {1: 1, 4: 4, 5: 5, 6: 5, 7: 7, 9: 9, 10: 9}
_LIMITED, _FULL = 1, 2


def choose_matrix(tags: ColourTags, rows: int) -> int:
    """Return the matrix to convert with; video that does not say is taken for BT.709 from 720 rows, else for BT.601.

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
            # A palette may hold transparent colours, but that of a video hardly ever does.
            self.has_alpha, self.bits = name == "pal8", 8
        elif kinds == 1:
            self.colours = "grey"
        elif known.is_rgb or name.startswith("gbr"):
            self.colours = "rgb"
        else:
            self.colours = "ycbcr"
            width, height = known.chroma_width(8), known.chroma_height(8)
            self.steps = (8 // height, 8 // width)
            self._planar = _name_planar(_SUBSAMPLINGS.get((width, height), "444"), self.bits, self.has_alpha)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the arrays that it becomes."""
        return np.dtype(np.uint8 if self.bits <= 8 else np.uint16)

    @property
    def planar(self) -> str:
        """The format that holds the same Y'CbCr in planes, with one more if there is opacity."""
        return self._planar


def _name_planar(sampling: str, bits: int, has_alpha: bool) -> str:
    """Return FFmpeg's name of planar Y'CbCr; opacity goes with fewer depths, so that it may need a deeper one."""
    from av.video.format import VideoFormat

    depths = (bits, *(more for more in (10, 12, 16) if more > bits)) if has_alpha else (bits,)
    for depth in depths:
        name = f"yuv{'a' if has_alpha else ''}{sampling}p{'' if depth == 8 else f'{depth}le'}"
        try:
            return str(VideoFormat(name).name)
        except ValueError:
            continue
    return _name_planar("444", bits, has_alpha)


class FrameReader:
    """Makes arrays of FFmpeg's frames of one pixel format.

    Parameters
    ----------
    pixel_format : str
        Of the frames.
    tags : ColourTags
        Of the video.
    rows : int
        Of a frame, which decide about the colours of video that says nothing.
    colours : {"rgb", "ycbcr"}
        What Y'CbCr is to become.
    quick : bool
        Convert to red, green and blue with less care: ten times as fast, 47 dB there and back.
    """

    def __init__(self, pixel_format: str, tags: ColourTags, rows: int, colours: Colours, *, quick: bool) -> None:
        from av.video.reformatter import VideoReformatter

        self.format = PixelFormat(pixel_format)
        self.colours: Colours = colours if self.format.colours == "ycbcr" else self.format.colours
        self.has_alpha = self.format.has_alpha
        self._planar = PixelFormat(self.format.planar) if self.colours == "ycbcr" else self.format
        self._converter = VideoReformatter()
        self._matrix = choose_matrix(tags, rows)
        self._range = _FULL if tags.full_range or self.format.is_full_range else _LIMITED
        self._flags = _choose_flags(quick=quick)

    def read(self, frame: Any) -> tuple[Array, Array | None]:
        """Return the pixels of a frame, which are the caller's own, and how opaque they are."""
        if self.colours == "ycbcr":
            return self._read_planes(frame)
        if self.colours == "grey" and self.has_alpha:
            deep = self.format.bits > 8
            values = self._convert(frame, "rgba64le" if deep else "rgba").to_ndarray()
            return np.ascontiguousarray(values[..., 0]), np.ascontiguousarray(values[..., 3])
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
            opacity = np.ascontiguousarray(values[..., 3])
            if deep and self.format.name.startswith(("yuva", "gbrap")) and self.format.name.endswith("le"):
                # libswscale shifts, and what is opaque would not be any more
                opacity = _widen(np.array(view_plane(frame.planes[3], np.dtype(np.uint16))), self.format.bits)
            return np.ascontiguousarray(values[..., :3]), opacity
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

    def _read_planes(self, frame: Any) -> tuple[Array, Array | None]:
        """Put Y', Cb and Cr side by side, the chroma repeated; opacity apart."""
        is_interlaced = bool(frame.interlaced_frame)
        if frame.format.name.replace("yuvj", "yuv") != self._planar.name:
            frame = self._converter.reformat(frame, format=self._planar.name, interpolation=self._flags)
        dtype = self._planar.dtype
        shift = 16 - self._planar.bits if self._planar.bits > 8 else 0
        pixels = allocate_planar((frame.height, frame.width, 3), dtype)
        for channel, plane in enumerate(frame.planes[:3]):
            values = view_plane(plane, dtype) << shift if shift else view_plane(plane, dtype)
            if channel == 0:
                pixels[..., 0] = values
            else:
                for part, chroma in _pair_rows(pixels[..., channel], values, self._planar.steps, is_interlaced):
                    repeat_blocks(part, chroma, self._planar.steps)
        if not self.has_alpha:
            return pixels, None
        opaque = np.array(view_plane(frame.planes[3], dtype))
        return pixels, _widen(opaque, self._planar.bits)


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
    full_range : bool, optional
        Whether Y'CbCr is to go from 0 to 255; as in the source if left out.
    """

    def __init__(
        self, info: SourceInfo, pixel_format: str, *, quick: bool = False, full_range: bool | None = None
    ) -> None:
        from av.video.frame import VideoFrame
        from av.video.reformatter import VideoReformatter

        self.format = PixelFormat(pixel_format)
        self._info = info
        self._make = VideoFrame
        self._converter = VideoReformatter()
        self._matrix = choose_matrix(info.tags, info.shape[0])
        is_full = info.tags.full_range if full_range is None else full_range
        self._range = _FULL if is_full or self.format.is_full_range else _LIMITED
        self._flags = _choose_flags(quick=quick)
        if info.colours == "ycbcr":
            self._native = PixelFormat(self.choose_native(info, has_alpha=self.format.has_alpha))

    @staticmethod
    def choose_native(info: SourceInfo, *, has_alpha: bool = False) -> str:
        """Return the pixel format that holds Y'CbCr as the source had it."""
        bits = info.bits if info.dtype.itemsize > 1 else 8
        return _name_planar(_SAMPLINGS.get(info.chroma_steps, "444"), bits, has_alpha)

    def write(self, frame: Frame) -> Any:
        """Return a frame for the encoder, which shares no memory with the array."""
        pixels = frame.pixels
        if self._info.colours == "ycbcr" and self.format.colours == "ycbcr":
            made = self._write_planes(frame, self.format)
            return self._convert_range(made) if self._info.tags.full_range and self._range == _LIMITED else made
        if self._info.colours == "ycbcr":
            # An encoder of red, green and blue: libswscale knows the way from what the source had.
            return self._convert(self._write_planes(frame, self._native))
        if self._info.colours == "grey":
            return self._write_grey(frame)
        deep = pixels.dtype == np.uint16
        if self.format.name.startswith("gbrp") and self.format.bits > 8 and deep:
            narrow = _narrow(pixels, self.format.bits)
            made = self._make(pixels.shape[1], pixels.shape[0], self.format.name)
            # FFmpeg's order of planes is green, blue, red.
            for plane, channel in zip(made.planes, (1, 2, 0), strict=False):
                view_plane(plane, np.dtype(np.uint16))[...] = narrow[..., channel]
            return made
        if self.format.has_alpha:
            pixels = np.concatenate([pixels, _get_opacity(frame)[..., None]], axis=2)
            name = "rgba64le" if deep else "rgba"
        else:
            name = "rgb48le" if deep else "rgb24"
        made = self._make(pixels.shape[1], pixels.shape[0], name)
        flat = view_plane(made.planes[0], pixels.dtype, channels=pixels.shape[2])
        flat[...] = pixels.reshape(pixels.shape[0], -1)
        return self._convert(made)

    def _convert(self, made: Any) -> Any:
        if self._info.colours == "ycbcr":
            return self._converter.reformat(
                made,
                format=self.format.name,
                src_colorspace=self._matrix,
                src_color_range=_FULL if self._info.tags.full_range else _LIMITED,
                dst_color_range=_FULL,
                interpolation=self._flags,
            )
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

    def _convert_range(self, made: Any) -> Any:
        """Return Y'CbCr of full range in the usual one, for files that cannot say which it is."""
        return self._converter.reformat(
            made,
            format=self.format.name,
            src_color_range=_FULL,
            dst_color_range=_LIMITED,
            interpolation=self._flags,
        )

    def _write_grey(self, frame: Frame) -> Any:
        pixels = frame.pixels
        if self.format.has_alpha and self.format.colours == "grey":
            made = self._make(pixels.shape[1], pixels.shape[0], "ya16le" if self.format.bits > 8 else "ya8")
            both = np.stack([_to_depth(values, self.format.bits) for values in (pixels, _get_opacity(frame))], axis=-1)
            flat = view_plane(made.planes[0], self.format.dtype, channels=2)
            flat[...] = both.reshape(pixels.shape[0], -1)
            return self._converter.reformat(made, format=self.format.name)
        if self.format.colours == "grey" and self.format.bits > 8:
            made = self._make(pixels.shape[1], pixels.shape[0], self.format.name.replace("be", "le"))
            view_plane(made.planes[0], np.dtype(np.uint16))[...] = _to_depth(pixels, self.format.bits)
            return self._converter.reformat(made, format=self.format.name)
        if self.format.colours != "grey":
            return self.write_colour(pixels)
        made = self._make(pixels.shape[1], pixels.shape[0], "gray")
        shallow = pixels if pixels.dtype == np.uint8 else _narrow(pixels, 8).astype(np.uint8)
        view_plane(made.planes[0], np.dtype(np.uint8))[...] = shallow
        return made

    def write_colour(self, pixels: Array) -> Any:
        """Return a frame of an encoder that has no grey, made of three equal channels."""
        name = "rgb48le" if pixels.dtype == np.uint16 else "rgb24"
        made = self._make(pixels.shape[1], pixels.shape[0], name)
        flat = view_plane(made.planes[0], pixels.dtype, channels=3)
        flat[...] = np.repeat(pixels, 3, axis=1)
        return self._convert(made)

    def _write_planes(self, frame: Frame, target: PixelFormat) -> Any:
        """Average chroma over the pixels that share it, which undoes its being repeated."""
        pixels = frame.pixels
        made = self._make(pixels.shape[1], pixels.shape[0], target.name)
        is_interlaced = "fields" in frame.metadata
        bits = target.bits
        for channel, plane in enumerate(made.planes[:3]):
            values = pixels[..., channel]
            if channel > 0 and target.steps != (1, 1):
                averaged = np.empty((plane.height, plane.width), values.dtype)
                for part, chroma in _pair_rows(values, averaged, target.steps, is_interlaced):
                    chroma[...] = _average_blocks(part, *target.steps)[: chroma.shape[0]]
                values = averaged
            if pixels.dtype == np.uint16 and bits < 16:
                values = _shift_down(values, 16 - bits)
            elif pixels.dtype == np.uint8 and bits > 8:
                values = values.astype(np.uint16) << (bits - 8)
            view_plane(plane, target.dtype)[...] = values
        if target.has_alpha:
            view_plane(made.planes[3], target.dtype)[...] = _to_depth(_get_opacity(frame), bits)
        return made


def allocate_planar(shape: tuple[int, ...], dtype: Any) -> Array:
    """Return an array for pixels whose channels lie in planes, one behind the other: each is a piece of memory.

    Examples
    --------
    >>> allocate_planar((4, 6, 3), np.uint8)[..., 1].flags.c_contiguous
    True
    """
    return np.moveaxis(np.empty((shape[-1], *shape[:-1]), dtype), 0, -1)


def _get_opacity(frame: Frame) -> Array:
    """Return how opaque pixels are: wholly, if nothing is said."""
    if frame.alpha is not None:
        return frame.alpha
    return np.full(frame.pixels.shape[:2], np.iinfo(frame.pixels.dtype).max, frame.pixels.dtype)


def _to_depth(values: Array, bits: int) -> Array:
    """Return samples of full range in another depth, of the dtype that goes with it."""
    if bits <= 8:
        return values if values.dtype == np.uint8 else _narrow(values, 8).astype(np.uint8)
    return _narrow(values if values.dtype == np.uint16 else values.astype(np.uint16) * np.uint16(257), bits)


def _pair_rows(
    values: Array, chroma: Array, steps: tuple[int, int], is_interlaced: bool
) -> Iterator[tuple[Array, Array]]:
    """Return rows of full size with the rows of chroma that they share: all, or those of each field."""
    if is_interlaced and steps[0] == 2 and values.shape[0] % 4 == 0:
        for field in (0, 1):
            yield values[field::2], chroma[field::2]
    else:
        yield values, chroma


def repeat_blocks(target: Array, values: Array, steps: tuple[int, int]) -> None:
    """Write each value as often as pixels share it, down and across; the last one may be cut by the border.

    Examples
    --------
    >>> target = np.empty((2, 5), np.uint8)
    >>> repeat_blocks(target, np.array([[1, 2, 3]], np.uint8), (2, 2))
    >>> target.tolist()
    [[1, 1, 2, 2, 3], [1, 1, 2, 2, 3]]
    """
    down, across = steps
    rows = target[::down]
    for column in range(across):
        part = rows[:, column::across]
        part[...] = values[: part.shape[0], : part.shape[1]]
    # whole rows are copied faster than values that lie apart
    for row in range(1, down):
        part = target[row::down]
        part[...] = rows[: part.shape[0]]


def _choose_flags(*, quick: bool) -> int:
    from av.video.reformatter import Interpolation

    if quick:
        return int(Interpolation.BICUBIC)
    careful = Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INT | Interpolation.FULL_CHR_H_INP
    return int(Interpolation.BICUBIC | careful)


def view_plane(plane: Any, dtype: np.dtype[Any], channels: int = 1) -> Array:
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
    # narrow numbers, and whole rows first: both are several times as fast
    wide = np.uint16 if values.dtype == np.uint8 else np.uint32
    lines = np.zeros((rows, values.shape[1]), wide)
    for row in range(down):
        lines += values[row::down]
    total = np.full((rows, columns), down * across // 2, wide)
    for column in range(across):
        total += lines[:, column::across]
    return (total // wide(down * across)).astype(values.dtype)
