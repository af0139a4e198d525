"""Slices: sizes, quantisers, bytes and back, for all slices of an image at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from subband.codecs.vc2.parameters import Layout, TransformParameters
from subband.compiled import Kernels
from subband.engines.threads import run_tasks
from subband.errors import CodecError
from subband.typing import Array

__all__ = [
    "LARGEST",
    "MARGIN",
    "MOST_QUANTISER",
    "count_bytes",
    "decode_slices",
    "encode_slices",
    "lay_out_slices",
    "locate_slices",
    "predict_lowest",
    "tabulate_quantisers",
]

_writing = Kernels("subband.codecs.vc2.loops.writing")
_reading = Kernels("subband.codecs.vc2.loops.reading")
_low_delay = Kernels("subband.codecs.vc2.loops.low_delay")

#: Numbers behind the coefficients of a layout that are read when slices are written, whatever they are.
MARGIN = 8

#: The coarsest quantiser that an encoder takes: its step is 2²⁹.
MOST_QUANTISER = 116

# Numbers of one task, and the sizes of the tables of codes: the longest has 20 bits.
_TOGETHER, _CODES, _WINDOW, _ENTRY = 1 << 15, 1 << 9, 12, 8

#: The largest coefficients that a decoder makes: beyond those of any samples.
LARGEST = {"int32": (1 << 27) - 1, "int64": (1 << 40) - 1}


def _factor(index: int) -> int:
    """Return the step of a quantiser, times four: rounded quarters of an octave, as fractions of whole numbers."""
    base = 1 << min(index // 4, 40)
    numerator, half, denominator = (
        (4, 0, 1),
        (503829, 52958, 105917),
        (665857, 58854, 117708),
        (440253, 32722, 65444),
    )[index % 4]
    return (numerator * base + half) // denominator


@lru_cache(maxsize=1)
def tabulate_quantisers() -> tuple[Array, Array, Array]:
    """Return what quantisers multiply by, and what a decoder multiplies by and adds."""
    factors = [_factor(index) for index in range(256)]
    offsets = [1, 2, *((factor + 1) // 2 for factor in factors[2:])]
    return np.array([4 / factor for factor in factors], np.float32), np.array(factors), np.array(offsets)


def _make_codes(numbers: Array) -> tuple[Array, Array]:
    """Return the codes of some numbers, and how many bits these have.

    Examples
    --------
    >>> codes, bits = _make_codes(np.array([0, 1, -2]))
    >>> [f"{code:0{count}b}" for code, count in zip(codes.tolist(), bits.tolist(), strict=True)]
    ['1', '0010', '0111']
    """
    sizes = np.abs(numbers) + 1
    digits = np.frexp(sizes.astype(np.float64))[1] - 1
    codes = np.where(numbers < 0, 3, 2)
    for digit in range(int(digits.max(initial=0))):
        codes += np.where(digit < digits, sizes >> digit & 1, 0) << 2 * digit + 2
    return np.where(numbers == 0, 1, codes), np.where(numbers == 0, 1, 2 * digits + 2)


@lru_cache(maxsize=1)
def _tabulate_codes() -> Array:
    """Return for numbers from -`_CODES` on how many bits their codes have, in the highest byte, and these bits."""
    codes, bits = _make_codes(np.arange(-_CODES, _CODES))
    return (bits << 24 | codes).astype(np.uint32)


@lru_cache(maxsize=1)
def _tabulate_windows() -> tuple[Array, Array]:
    """Return the numbers that some bits hold, and for each 256 times how many these are and the bits that they take."""
    most = 1 << _WINDOW // 2
    numbers = np.arange(1 - most, most)
    first, length = np.zeros(1 << _WINDOW, np.int16), np.full(1 << _WINDOW, _WINDOW + 1)
    for number, code, bits in zip(numbers, *_make_codes(numbers), strict=True):
        if bits <= _WINDOW:
            own = slice(code << _WINDOW - bits, code + 1 << _WINDOW - bits)
            first[own], length[own] = number, bits
    values, entries = np.zeros((1 << _WINDOW, _ENTRY), np.int8), np.zeros(1 << _WINDOW, np.int16)
    windows, taken = np.arange(1 << _WINDOW), np.zeros(1 << _WINDOW, np.int64)
    for entry in range(_ENTRY):
        left = windows << taken & (1 << _WINDOW) - 1
        is_whole = taken + length[left] <= _WINDOW
        values[is_whole, entry] = first[left[is_whole]]
        taken += np.where(is_whole, length[left], 0)
        entries[is_whole] += 1 << 8
    return values.reshape(-1), (entries + taken).astype(np.int16)


def count_bytes(
    coefficients: Array, layout: Layout, parameters: TransformParameters, quantiser: int, *, is_compact: bool = False
) -> Array:
    """Return the bytes of each component of each slice, for a quantiser and for the next finer one.

    Parameters
    ----------
    coefficients : ndarray
        All of a layout.
    layout, parameters
        Of the image.
    quantiser : int
        Of all slices.
    is_compact : bool
        Whether zeros at the end of a component are left out.

    Returns
    -------
    ndarray of int64
        2 × slices × 3.
    """
    lengths = np.empty((2, parameters.slice_count, 3), np.int64)
    down, _ = parameters.slices
    inverses = tabulate_quantisers()[0]

    def work(first: int, last: int) -> None:
        _writing.count_bytes(
            coefficients, layout.bands, layout.row_edges, layout.column_edges, quantiser, inverses, is_compact, first,
            last, lengths,
        )  # fmt: skip

    run_tasks(work, _share(layout, down))
    return lengths


def lay_out_slices(lengths: Array, parameters: TransformParameters) -> Array:
    """Return where slices begin whose components have these lengths, and where the last one ends."""
    units = -(-lengths // parameters.scaler) * parameters.scaler
    return np.concatenate([[0], np.cumsum(parameters.prefix + 4 + units.sum(axis=1))])


def encode_slices(
    coefficients: Array,
    layout: Layout,
    parameters: TransformParameters,
    quantisers: Array,
    lengths: Array,
    starts: Array,
    part: tuple[int, int],
    out: Array,
) -> None:
    """Write the bytes of some slices.

    Parameters
    ----------
    coefficients : ndarray
        All of a layout, and `MARGIN` more.
    layout, parameters
        Of the image.
    quantisers : ndarray of int64
        Of each slice.
    lengths : ndarray of int64
        Those of `count_bytes` for the quantiser of each slice.
    starts : ndarray of int64
        Those of `lay_out_slices`.
    part : tuple of int
        The first slice that is written, and the one behind the last.
    out : ndarray of uint8
        Receives each slice where it begins.
    """
    inverses, codes = tabulate_quantisers()[0], _tabulate_codes()

    def work(first: int, last: int) -> None:
        _writing.encode_blocks(
            coefficients, layout.bands, layout.row_edges, layout.column_edges, layout.room, quantisers, inverses, codes,
            parameters.prefix, parameters.scaler, lengths, starts, first, last, out,
        )  # fmt: skip

    run_tasks(work, _share(layout, parameters.slice_count, part[1], part[0]))


def locate_slices(stream: Array, begin: int, parameters: TransformParameters, count: int) -> tuple[Array, int, int]:
    """Return where `count` slices begin in a stream, how many of them are whole, and where the last of these ends."""
    starts, found = np.zeros(count, np.int64), np.zeros(2, np.int64)
    _reading.locate_blocks(stream, begin, stream.size, parameters.prefix, parameters.scaler, starts, found)
    return starts, int(found[0]), int(found[1])


def decode_slices(
    stream: Array,
    begin: int,
    numbers: Array,
    layout: Layout,
    parameters: TransformParameters,
    coefficients: Array,
) -> int:
    """Decode slices that follow each other, and return how many of them the stream holds.

    Parameters
    ----------
    stream : ndarray of uint8
        With the slices from `begin` on.
    begin : int
        Where the first one begins.
    numbers : ndarray of int64
        Which slices they are, in rising order, each the next one.
    layout, parameters
        Of the image.
    coefficients : ndarray
        Receives their coefficients.
    """
    _, factors, offsets = tabulate_quantisers()
    most = LARGEST[coefficients.dtype.name]
    numerator, denominator = parameters.size
    if numerator:
        first_byte = int(numbers[0]) * numerator // denominator
        ends = (numbers + 1) * numerator // denominator - first_byte + begin
        whole = int(np.searchsorted(ends, stream.size, "right"))

        def work(first: int, last: int) -> None:
            _low_delay.decode_blocks(
                stream, begin, numerator, denominator, numbers, first, last, layout.bands, layout.row_edges,
                layout.column_edges, factors, offsets, most, coefficients,
            )  # fmt: skip
    else:
        starts, whole, _ = locate_slices(stream, begin, parameters, len(numbers))
        values, entries = _tabulate_windows()

        def work(first: int, last: int) -> None:
            _reading.decode_blocks(
                stream, starts, parameters.prefix, parameters.scaler, numbers, first, last, layout.bands,
                layout.row_edges, layout.column_edges, layout.room, factors, offsets, most, values, entries,
                coefficients,
            )  # fmt: skip

    run_tasks(work, _share(layout, parameters.slice_count, whole))
    return whole


def predict_lowest(coefficients: Array, layout: Layout) -> None:
    """Undo the prediction of the lowest band of each component, which low delay has."""
    bands = layout.bands[:: len(layout.bands) // 3]
    for _, begin, stride, rows, columns, _ in bands.tolist():
        _low_delay.predict_lowest(coefficients, begin, stride, rows, columns)


def _share(layout: Layout, count: int, last: int | None = None, first: int = 0) -> Sequence[tuple[int, int]]:
    """Return tasks for slices `first` to `last` of `count`, or rows of them: first ones, and those behind the last."""
    together = max(_TOGETHER * count // max(layout.size, 1), 1)
    last = count if last is None else last
    return [(begin, min(begin + together, last)) for begin in range(first, last, together)]


def check_whole(found: int, wanted: int) -> None:
    """Refuse an image some of whose slices are missing."""
    if found < wanted:
        raise CodecError(f"an image ends early: {found} of {wanted} slices are whole")
