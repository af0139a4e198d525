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

__all__ = ["MOST_QUANTISER", "count_bytes", "decode_slices", "encode_slices", "locate_slices", "predict_lowest"]

_loops = Kernels("subband.codecs.vc2.loops.slices")

#: The coarsest quantiser that an encoder takes: its step is 2²⁹.
MOST_QUANTISER = 116

# Numbers of one task, and the sizes of the tables of codes.
_TOGETHER, _CODES, _WINDOW, _ENTRY = 1 << 15, 1 << 9, 10, 8

# The largest coefficients that a decoder makes: beyond those of any samples.
_LARGEST = {"int32": (1 << 27) - 1, "int64": (1 << 40) - 1}


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
def _tabulate_quantisers() -> tuple[Array, Array, Array]:
    """Return what quantisers multiply by, and what a decoder multiplies by and adds."""
    factors = [_factor(index) for index in range(256)]
    offsets = [1, 2, *((factor + 1) // 2 for factor in factors[2:])]
    return np.array([4 / factor for factor in factors], np.float32), np.array(factors), np.array(offsets)


@lru_cache(maxsize=1)
def _tabulate_codes() -> Array:
    """Return for numbers from -`_CODES` on how many bits their codes have, in the highest byte, and these bits."""
    return np.array([len(code) << 24 | int(code, 2) for code in map(_format_code, range(-_CODES, _CODES))], np.uint32)


def _format_code(number: int) -> str:
    """Return the code of a number as text.

    Examples
    --------
    >>> [_format_code(number) for number in (0, 1, -2)]
    ['1', '0010', '0111']
    """
    digits = "".join("0" + digit for digit in bin(abs(number) + 1)[3:]) + "1"
    return digits + ("" if number == 0 else "1" if number < 0 else "0")


@lru_cache(maxsize=1)
def _tabulate_windows() -> tuple[Array, Array]:
    """Return the numbers that some bits hold, and for each 256 times how many these are and the bits that they take."""
    values, entries = np.zeros((1 << _WINDOW, _ENTRY), np.int16), np.zeros(1 << _WINDOW, np.int16)
    numbers = {_format_code(number): number for number in range(1 - (1 << _WINDOW // 2), 1 << _WINDOW // 2)}
    for window in range(1 << _WINDOW):
        text, position, found = f"{window:0{_WINDOW}b}", 0, 0
        while found < _ENTRY:
            ends = [end for end in range(position + 1, _WINDOW + 1) if text[position:end] in numbers]
            if not ends:
                break
            values[window, found] = numbers[text[position : ends[0]]]
            position, found = ends[0], found + 1
        entries[window] = found << 8 | position
    return values.reshape(-1), entries


def count_bytes(
    coefficients: Array, layout: Layout, parameters: TransformParameters, quantisers: Array, *, is_compact: bool = False
) -> Array:
    """Return the bytes of each component of each slice, for one quantiser each.

    Parameters
    ----------
    coefficients : ndarray
        All of a layout.
    layout, parameters
        Of the image.
    quantisers : ndarray of int64
        One for each slice.
    is_compact : bool
        Whether zeros at the end of a component are left out.

    Returns
    -------
    ndarray of int64
        Slices × 3.
    """
    lengths = np.zeros((parameters.slice_count, 3), np.int64)
    down, across = parameters.slices
    inverses = _tabulate_quantisers()[0]

    def work(first: int, last: int) -> None:
        _loops.count_bytes(
            coefficients, layout.bands, across, down, quantisers, inverses, is_compact, first, last, lengths
        )

    run_tasks(work, _share(layout, parameters.slice_count))
    return lengths


def encode_slices(
    coefficients: Array, layout: Layout, parameters: TransformParameters, quantisers: Array, lengths: Array
) -> tuple[Array, Array]:
    """Return the bytes of all slices, and where each begins; `lengths` are those of `count_bytes`."""
    units = -(-lengths // parameters.scaler) * parameters.scaler
    ends = np.cumsum(parameters.prefix + 4 + units.sum(axis=1))
    starts = np.concatenate([[0], ends])
    out = np.empty(int(starts[-1]), np.uint8)
    down, across = parameters.slices
    inverses, codes = _tabulate_quantisers()[0], _tabulate_codes()

    def work(first: int, last: int) -> None:
        _loops.encode_blocks(
            coefficients, layout.bands, across, down, quantisers, inverses, codes, parameters.prefix,
            parameters.scaler, lengths, starts, first, last, out,
        )  # fmt: skip

    run_tasks(work, _share(layout, parameters.slice_count))
    return out, starts


def locate_slices(stream: Array, begin: int, parameters: TransformParameters, count: int) -> tuple[Array, int, int]:
    """Return where `count` slices begin in a stream, how many of them are whole, and where the last of these ends."""
    starts, found = np.zeros(count, np.int64), np.zeros(2, np.int64)
    _loops.locate_blocks(stream, begin, stream.size, parameters.prefix, parameters.scaler, starts, found)
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
    down, across = parameters.slices
    _, factors, offsets = _tabulate_quantisers()
    most = _LARGEST[coefficients.dtype.name]
    numerator, denominator = parameters.size
    if numerator:
        first_byte = int(numbers[0]) * numerator // denominator
        ends = (numbers + 1) * numerator // denominator - first_byte + begin
        whole = int(np.searchsorted(ends, stream.size, "right"))

        def work(first: int, last: int) -> None:
            _loops.decode_low_delay(
                stream, begin, numerator, denominator, numbers, first, last, layout.bands, across, down, factors,
                offsets, most, coefficients,
            )  # fmt: skip
    else:
        starts, whole, _ = locate_slices(stream, begin, parameters, len(numbers))
        values, entries = _tabulate_windows()

        def work(first: int, last: int) -> None:
            _loops.decode_blocks(
                stream, starts, parameters.prefix, parameters.scaler, numbers, first, last, layout.bands, across, down,
                factors, offsets, most, values, entries, coefficients,
            )  # fmt: skip

    run_tasks(work, _share(layout, parameters.slice_count, whole))
    return whole


def predict_lowest(coefficients: Array, layout: Layout) -> None:
    """Undo the prediction of the lowest band of each component, which low delay has."""
    bands = layout.bands[:: len(layout.bands) // 3]
    for _, begin, stride, rows, columns, _ in bands.tolist():
        _loops.predict_lowest(coefficients, begin, stride, rows, columns)


def _share(layout: Layout, count: int, taken: int | None = None) -> Sequence[tuple[int, int]]:
    """Return tasks for the first `taken` of all slices: the first of each, and the one behind its last."""
    together = max(_TOGETHER * count // max(layout.size, 1), 1)
    taken = count if taken is None else taken
    return [(first, min(first + together, taken)) for first in range(0, taken, together)]


def check_whole(found: int, wanted: int) -> None:
    """Refuse an image some of whose slices are missing."""
    if found < wanted:
        raise CodecError(f"an image ends early: {found} of {wanted} slices are whole")
