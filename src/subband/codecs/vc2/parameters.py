"""The transform parameters of an image: wavelets, levels, slices and quantisation matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from subband.codecs.vc2.bits import BitReader, BitWriter
from subband.codecs.vc2.sequence import LOW_DELAY
from subband.codecs.vc2.wavelets import WAVELETS, check_wavelet, default_matrix
from subband.errors import CodecError
from subband.typing import Array

__all__ = ["MOST_LEVELS", "Layout", "Plane", "TransformParameters", "complete_layout", "count_bits", "lay_out"]

#: More levels than an image of any size has use for, and slices than one of 8K.
MOST_LEVELS, _MOST_SLICES = 12, 1 << 20

_MOST_ENTRY = 127


@dataclass(frozen=True)
class TransformParameters:
    """How an image is coded.

    Attributes
    ----------
    wavelet, wavelet_ho : int
        Down the columns, and along the rows.
    depth, depth_ho : int
        Levels in both directions, and further ones along the rows only.
    slices : tuple of int
        How many there are down and across.
    prefix, scaler : int
        Of high quality: bytes in front of each slice, and of how many bytes lengths are multiples.
    size : tuple of int
        Of low delay: bytes of a slice as a fraction.
    matrix : tuple of int
        How much less each band is quantised; see `subband.codecs.vc2.wavelets.default_matrix`.
    """

    wavelet: int
    wavelet_ho: int
    depth: int
    depth_ho: int
    slices: tuple[int, int]
    prefix: int = 0
    scaler: int = 1
    size: tuple[int, int] = (0, 1)
    matrix: tuple[int, ...] = ()

    @property
    def is_asymmetric(self) -> bool:
        """Whether only version 3 of the standard knows it."""
        return self.depth_ho > 0 or self.wavelet_ho != self.wavelet

    @property
    def band_count(self) -> int:
        """Number of bands of a component."""
        return 1 + self.depth_ho + 3 * self.depth

    @property
    def slice_count(self) -> int:
        """Number of slices of an image."""
        return self.slices[0] * self.slices[1]

    def write(self, major: int) -> bytes:
        """Return the bytes of these parameters of a high-quality image, in a stream of some version."""
        bits = BitWriter()
        bits.number(self.wavelet)
        bits.number(self.depth)
        if major >= 3:
            bits.choice(self.wavelet_ho if self.wavelet_ho != self.wavelet else None)
            bits.choice(self.depth_ho or None)
        for number in (self.slices[1], self.slices[0], self.prefix, self.scaler):
            bits.number(number)
        is_default = self._has_default and self.matrix == self._default
        bits.flag(not is_default)
        for number in () if is_default else self.matrix:
            bits.number(number)
        return bits.finish()

    @property
    def _default(self) -> tuple[int, ...]:
        return default_matrix(self.wavelet, self.wavelet_ho, self.depth, self.depth_ho)

    @property
    def _has_default(self) -> bool:
        """Whether the standard tabulates a matrix: for few levels, and one pair of wavelets that differ."""
        is_pair = self.wavelet == self.wavelet_ho or (self.wavelet, self.wavelet_ho) == (3, 1)
        return is_pair and max(self.depth, self.depth_ho) <= 4 and self.depth + self.depth_ho <= 5

    @classmethod
    def read(cls, data: bytes | memoryview, major: int, profile: int) -> tuple[TransformParameters, int]:
        """Read parameters, and return them with the number of bytes that they take.

        Raises
        ------
        CodecError
            If they end early, or ask for what there is not.
        """
        bits = BitReader(data, "the header of an image")
        wavelet, depth = check_wavelet(bits.number()), bits.number()
        wavelet_ho, depth_ho = wavelet, 0
        if major >= 3:
            wavelet_ho = check_wavelet(bits.number()) if bits.flag() else wavelet
            depth_ho = bits.number() if bits.flag() else 0
        if depth + depth_ho > MOST_LEVELS:
            raise CodecError(f"the image has {depth + depth_ho} levels; at most {MOST_LEVELS} can be read")
        across, down, first, second = (bits.number() for _ in range(4))
        if not 0 < across * down <= _MOST_SLICES:
            raise CodecError(f"the image has {across} × {down} slices; use 1 to {_MOST_SLICES}")
        prefix, scaler, size = first, second, (0, 1)
        if profile == LOW_DELAY:
            prefix, scaler, size = 0, 1, (first, second)
            if not 0 < second <= first:
                raise CodecError(f"slices of {first}/{second} bytes are shorter than one")
        elif not 0 < scaler < 1 << 24 or prefix >= 1 << 24:
            raise CodecError(f"slices with a prefix of {prefix} bytes and lengths in units of {scaler} cannot be read")
        made = cls(wavelet, wavelet_ho, depth, depth_ho, (down, across), prefix, scaler, size)
        if bits.flag():
            matrix = tuple(bits.number() for _ in range(made.band_count))
            if max(matrix) > _MOST_ENTRY:
                raise CodecError(f"the quantisation matrix holds {max(matrix)}; {_MOST_ENTRY} is the largest entry")
        elif made._has_default:
            matrix = made._default
        else:
            raise CodecError(f"there is no quantisation matrix for wavelets {wavelet} and {wavelet_ho} of such depth")
        return cls(wavelet, wavelet_ho, depth, depth_ho, (down, across), prefix, scaler, size, matrix), bits.position


@dataclass(frozen=True)
class Plane:
    """A level of a component: where it begins among all coefficients, its size, and whether columns are transformed."""

    begin: int
    rows: int
    columns: int
    is_2d: bool


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the coefficients of an image lie.

    Attributes
    ----------
    size : int
        How many numbers there are, the low coefficients between levels included.
    planes : tuple
        For each component its levels, the finest first; none if every band lies in one piece.
    bands : ndarray of int64
        A row for each band of each component; see `subband.codecs.vc2.loops.writing`.
    row_edges, column_edges : ndarray of int64
        For each row and column of slices, and one more, where it begins in each band.
    room : int
        At least as many coefficients as a component has in any slice.
    """

    size: int
    planes: tuple[tuple[Plane, ...], ...]
    bands: Array
    row_edges: Array
    column_edges: Array
    room: int


@lru_cache(maxsize=16)
def lay_out(shapes: tuple[tuple[int, int], ...], parameters: TransformParameters) -> Layout:
    """Return where the coefficients of components of these shapes lie.

    Examples
    --------
    >>> parameters = TransformParameters(1, 1, 1, 0, (1, 1), matrix=(4, 2, 2, 0))
    >>> layout = lay_out(((4, 6), (2, 3), (2, 3)), parameters)
    >>> layout.size, layout.bands[:4].tolist()
    (40, [[0, 0, 12, 2, 3, 4], [0, 3, 12, 2, 3, 2], [0, 6, 12, 2, 3, 2], [0, 9, 12, 2, 3, 0]])
    """
    depth, levels = parameters.depth, parameters.depth + parameters.depth_ho
    planes: list[tuple[Plane, ...]] = []
    table: list[list[Any]] = []
    size = 0
    for component, (rows, columns) in enumerate(shapes):
        rows, columns = -(-rows >> depth) << depth, -(-columns >> levels) << levels
        own: list[Plane] = []
        details: list[list[tuple[int, ...]]] = []
        lowest = (size, columns, rows, columns)
        for level in range(levels, 0, -1):
            is_2d = level > parameters.depth_ho
            own.append(Plane(size, rows, columns, is_2d))
            half, stride = columns // 2, 2 * columns if is_2d else columns
            height = rows // 2 if is_2d else rows
            corners = (half, columns, columns + half) if is_2d else (half,)
            details.insert(0, [(size + corner, stride, height, half) for corner in corners])
            lowest = (size, stride, height, half)
            size += rows * columns
            rows, columns = height, half
        if not levels:
            size += rows * columns
        planes.append(tuple(own))
        bands = [lowest, *(band for level_bands in details for band in level_bands)]
        table += [[component, *band, entry] for band, entry in zip(bands, parameters.matrix, strict=True)]
    return complete_layout(size, tuple(planes), table, parameters)


def complete_layout(
    size: int, planes: tuple[tuple[Plane, ...], ...], table: list[list[Any]], parameters: TransformParameters
) -> Layout:
    """Return the layout of a table of bands: where slices begin in these, and how much of them one has at most."""
    found = np.array(table, np.int64)
    row_edges, column_edges = (
        np.arange(count + 1)[:, None] * found[:, column] // count
        for count, column in zip(parameters.slices, (3, 4), strict=True)
    )
    areas = np.diff(row_edges, axis=0).max(axis=0) * np.diff(column_edges, axis=0).max(axis=0)
    room = int(areas.reshape(3, -1).sum(axis=1).max())
    return Layout(size, planes, found, row_edges, column_edges, room)


def count_bits(parameters: TransformParameters, bits: int) -> int:
    """Return how many bits sums of a transform of samples of some depth need, noise of a quantiser included."""
    chosen = [WAVELETS[parameters.wavelet_ho], WAVELETS[parameters.wavelet]]
    weights = max(sum(map(abs, step.taps)) for wavelet in chosen for step in wavelet.steps)
    return bits + chosen[0].shift * (parameters.depth + parameters.depth_ho) + weights.bit_length() + _HEADROOM


# Bits for what high-pass filters, and the noise of coarse quantisers, add to samples.
_HEADROOM = 6
