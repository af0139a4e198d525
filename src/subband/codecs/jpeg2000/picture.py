"""A decoded image: its samples as one array or as planes, with palettes and channels resolved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from subband.codecs.jpeg2000.boxes import Jp2Header
from subband.codecs.jpeg2000.header import Header
from subband.errors import CodecError
from subband.typing import Array

__all__ = [
    "MOST_PIXELS",
    "Picture",
    "apply_palette",
    "check_samples",
    "choose_dtype",
    "convert_ycc",
    "join_channels",
    "sort_channels",
]

# What a pixel of sYCC becomes: red, green and blue of luminance and of both differences.
_FROM_YCC = np.array([[1, 0, 1.402], [1, -0.344136, -0.714136], [1, 1.772, 0]])

# Samples that are turned into other colours together.
_TOGETHER = 1 << 18

#: Samples that are decoded unless the caller allows more.
MOST_PIXELS = 1 << 28


@dataclass(frozen=True, eq=False)
class Picture:
    """A decoded image.

    Attributes
    ----------
    samples : ndarray or tuple of ndarray
        Rows × columns, or rows × columns × channels; a tuple of planes if their sizes differ.
    header : Header
        What the file says.
    steps : tuple of (int, int)
        Every how many rows and columns of the image each channel has a sample.
    most_pixels : int
        Samples that are acceptable, in all channels together.
    """

    samples: Array | tuple[Array, ...]
    header: Header
    steps: tuple[tuple[int, int], ...]
    most_pixels: int = MOST_PIXELS

    @property
    def planes(self) -> tuple[Array, ...]:
        """One array of rows × columns for each channel."""
        if isinstance(self.samples, tuple):
            return self.samples
        if self.samples.ndim == 2:
            return (self.samples,)
        return tuple(self.samples[..., number] for number in range(self.samples.shape[2]))

    def upsample(self) -> Array:
        """Return one array of all channels, with the samples of coarser ones repeated.

        Raises
        ------
        CodecError
            If that makes more samples than are acceptable.

        Examples
        --------
        >>> import numpy as np
        >>> from subband.codecs.jpeg2000 import Picture
        >>> planes = (np.arange(6).reshape(2, 3), np.array([[7, 8]]))
        >>> Picture(planes, None, ((1, 1), (2, 2))).upsample()[..., 1]
        array([[7, 7, 8],
               [7, 7, 8]])
        """
        if not isinstance(self.samples, tuple):
            return self.samples
        planes = self.planes
        rows = max(plane.shape[0] for plane in planes)
        columns = max(plane.shape[1] for plane in planes)
        check_samples(rows * columns * len(planes), self.most_pixels)
        finest = [min(step[axis] for step in self.steps) for axis in (0, 1)]
        dtype = np.result_type(*planes)
        whole = np.empty((rows, columns, len(planes)), dtype)
        for number, (plane, step) in enumerate(zip(planes, self.steps, strict=True)):
            y = np.minimum(np.arange(rows) * finest[0] // step[0], plane.shape[0] - 1)
            x = np.minimum(np.arange(columns) * finest[1] // step[1], plane.shape[1] - 1)
            whole[..., number] = plane[y[:, None], x]
        return whole[..., 0] if len(planes) == 1 else whole

    def show(self) -> Array:
        """Return one array of all channels as they are to be seen: as `upsample`, with sYCC turned into RGB.

        Raises
        ------
        CodecError
            If that makes more samples than are acceptable.
        """
        pixels = self.upsample()
        first = self.header.components[0]
        is_palette = self.header.jp2 is not None and self.header.jp2.palette is not None
        if (
            self.header.colour_space != "sYCC"
            or pixels.ndim < 3
            or pixels.shape[2] < 3
            or is_palette
            or first.is_signed
        ):
            return pixels
        colours = convert_ycc(pixels[..., :3], first.precision)
        return colours if pixels.shape[2] == 3 else np.concatenate([colours, pixels[..., 3:]], axis=-1)

    def __array__(self, dtype: np.dtype[np.generic] | None = None, copy: bool | None = None) -> Array:
        samples = self.upsample() if isinstance(self.samples, tuple) else self.samples
        return np.array(samples, dtype, copy=copy)


def convert_ycc(pixels: Array, bits: int) -> Array:
    """Return red, green and blue of luminance and two differences, all of so many bits.

    Examples
    --------
    >>> import numpy as np
    >>> convert_ycc(np.array([[[100, 128, 128], [100, 128, 178]]], np.uint8), 8).tolist()
    [[[100, 100, 100], [170, 64, 100]]]
    """
    half = 1 << (bits - 1)
    middle = np.array([0, half, half], np.float64)
    colours = np.empty(pixels.shape, pixels.dtype)
    # some rows at a time, whose numbers take less memory than those of all
    rows = max(1, _TOGETHER // max(1, pixels[0].size))
    for first in range(0, len(pixels), rows):
        part = slice(first, first + rows)
        values = (pixels[part] - middle) @ _FROM_YCC.T
        np.clip(np.rint(values, out=values), 0, 2 * half - 1, out=values)
        colours[part] = values
    return colours


def check_samples(total: int, most_pixels: int) -> None:
    """Raise a `CodecError` if an image has more samples than are acceptable."""
    if total > most_pixels:
        raise CodecError(
            f"the image has {total} samples, and most_pixels={most_pixels}; raise it, or use `reduce` or `region`"
        )


def choose_dtype(bits: int, is_signed: bool) -> np.dtype[np.generic]:
    """Return the smallest integers that hold so many bits.

    Examples
    --------
    >>> choose_dtype(8, False), choose_dtype(12, True), choose_dtype(1, False)
    (dtype('uint8'), dtype('int16'), dtype('uint8'))
    """
    width = 8 if bits <= 8 else 16 if bits <= 16 else 32
    return np.dtype(f"{'int' if is_signed else 'uint'}{width}")


def apply_palette(planes: Sequence[Array], jp2: Jp2Header, order: Sequence[int] | None = None) -> list[Array]:
    """Return channels from components, by ``pclr`` and ``cmap``, in an order of channels if there is one.

    Where all channels come from one component and have one dtype, they are views of one array.

    Raises
    ------
    CodecError
        If a channel names a component that is not there.
    """
    palette = jp2.palette
    if palette is None:
        return list(planes)
    mapping = jp2.mapping or tuple((0, column) for column in range(len(palette.bits)))
    mapping = tuple(mapping[channel] for channel in order) if order is not None else mapping
    # channels that are looked up alike: those of a component, with one dtype
    groups: dict[tuple[int, np.dtype[np.generic]], list[tuple[int, int]]] = {}
    found: dict[int, Array] = {}
    for channel, (component, column) in enumerate(mapping):
        if component >= len(planes):
            raise CodecError(f"cmap names component {component}; there are {len(planes)}")
        if column is None:
            found[channel] = planes[component]
        else:
            dtype = choose_dtype(*palette.bits[column])
            groups.setdefault((component, dtype), []).append((channel, column))
    for (component, dtype), members in groups.items():
        table = palette.entries[:, [column for _, column in members]].astype(dtype)
        looked_up = _look_up(planes[component], table)
        found |= {channel: looked_up[..., number] for number, (channel, _) in enumerate(members)}
    return [found[channel] for channel in range(len(mapping))]


def _look_up(plane: Array, table: Array) -> Array:
    """Return the rows of a table that a plane names, some rows of the plane at a time; they take less memory so."""
    found = np.empty((*plane.shape, table.shape[1]), table.dtype)
    rows = max(1, _TOGETHER // max(1, plane.shape[1]))
    for first in range(0, len(plane), rows):
        part = slice(first, first + rows)
        np.take(table, plane[part], axis=0, out=found[part], mode="clip")
    return found


def join_channels(planes: Sequence[Array]) -> Array:
    """Return planes of one size as one array of all channels: that which they are views of, if they are all of it.

    Examples
    --------
    >>> import numpy as np
    >>> whole = np.zeros((2, 3, 2))
    >>> join_channels([whole[..., 0], whole[..., 1]]) is whole, join_channels([whole[..., 1], whole[..., 0]]) is whole
    (True, False)
    """
    base = planes[0].base
    if len(planes) == 1:
        return planes[0]
    if isinstance(base, np.ndarray) and base.ndim == 3 and base.shape[2] == len(planes):
        views = [base[..., number].__array_interface__ for number in range(len(planes))]
        if [plane.__array_interface__ for plane in planes] == views:
            return base
    return np.stack(planes, axis=-1)


def sort_channels(count: int, jp2: Jp2Header) -> list[int]:
    """Return the channels in the order of their colours, and then the others, by ``cdef``.

    Examples
    --------
    >>> from subband.codecs.jpeg2000.boxes import ChannelDefinition, ImageHeader
    >>> definitions = (ChannelDefinition(0, 1, 0), ChannelDefinition(1, 0, 2), ChannelDefinition(2, 0, 1))
    >>> sort_channels(3, Jp2Header(ImageHeader(1, 1, 3, (8, False)), channels=definitions))
    [2, 1, 0]
    """
    colours = {
        entry.channel: entry.association for entry in jp2.channels if entry.role == 0 and 0 < entry.association < 65535
    }
    others = count + 65536
    # a sort keeps the order of channels about which nothing is said
    return sorted(range(count), key=lambda channel: colours.get(channel, others if jp2.channels else channel))
