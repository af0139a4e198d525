"""Encoding and decoding code-blocks, many at once."""

from __future__ import annotations

from itertools import pairwise
from operator import index
from typing import Any

import numpy as np

from subband.codecs.jpeg2000.blocks.results import EncodedBlocks
from subband.codecs.jpeg2000.blocks.styles import CAUSAL, HIGH_THROUGHPUT
from subband.compiled import Kernels
from subband.engines.memory import allocate
from subband.engines.threads import get_threads, run_tasks
from subband.errors import ArgumentError, DtypeError, ShapeError
from subband.typing import Array

__all__ = ["decode_blocks", "encode_blocks"]

_decoding = Kernels("subband.codecs.jpeg2000.blocks.loops.decoding")

_encoding = Kernels("subband.codecs.jpeg2000.blocks.loops.encoding")

_ht_decoding = Kernels("subband.codecs.jpeg2000.blocks.loops.ht_decoding")

_ht_encoding = Kernels("subband.codecs.jpeg2000.blocks.loops.ht_encoding")

# Samples of one task, at least and at most, of Part 1 and of Part 15: few, since one block may take a hundred times
# longer than another, and enough that a thread is awake before the others are done.
_TOGETHER, _HT_TOGETHER = (2 * 4096, 16 * 4096), (8 * 4096, 24 * 4096)

# Blocks from which on it pays to decide which of them are decoded at the same time.
_MANY = 32

# More do not fit the magnitude of a 32-bit sample, and of one that has the half below its lowest plane beside its sign.
_MOST_PLANES, _MOST_HT_PLANES = 31, 29

# Bytes of a high-throughput block for which there is room beyond one for each of its samples.
_ROOM = 128

# Passes of a high-throughput block: cleanup, and two that refine it.
_HT_PASSES = 3

_MOST_SAMPLES = 4096


def encode_blocks(
    samples: Array,
    table: Array,
    style: int = 0,
    is_reversible: bool = True,
    lowest: Array | int = 0,
    passes: Array | int = 1,
) -> EncodedBlocks:
    """Encode the bit planes of quantised coefficients.

    Parameters
    ----------
    samples : ndarray of int32, one axis
        The coefficients of all blocks.
    table : ndarray of int64, shape (n, 5)
        A row for each block: where in `samples` it begins, how many samples further its next row is, its height, its
        width, and its orientation: 0 for LL and LH, 1 for HL (horizontally high-pass), 2 for HH.
    style : int
        The sum of 1 for arithmetic bypass, 2 to reset the contexts after each pass, 4 to terminate each pass, 8 for
        vertically causal contexts, 16 for predictable termination, 32 for segmentation symbols; or 64 for
        high-throughput blocks, plus 8.
    is_reversible : bool
        Whether a sample is the coefficient itself. Otherwise it is the lower end of an interval of length one, in whose
        middle the coefficient is taken to be. It matters for the gains only.
    lowest, passes : int or ndarray of int32, shape (n,)
        Of high-throughput blocks: the lowest bit plane of the cleanup pass, and passes: 2 and 3 refine the plane below,
        so that they need a `lowest` of 1 or more. Blocks of Part 1 always have all passes.

    Returns
    -------
    EncodedBlocks
        Bytes, and where each pass may be cut.

    Raises
    ------
    ArgumentError, DtypeError, ShapeError
        If an argument is not as described, or a magnitude has more than 31 bits, 29 in high-throughput blocks.

    Notes
    -----
    The cuts are exact: with one byte less a decoder would read something else. High-throughput blocks have gains if
    they have more than one pass.

    References
    ----------
    ISO/IEC 15444-1, annexes C and D; ISO/IEC 15444-15. D. Taubman, "High performance scalable image compression with
    EBCOT", IEEE Trans. Image Processing 9 (2000), :doi:`10.1109/83.847830`.

    Examples
    --------
    >>> samples = np.array([0, 5, -3, 0, 0, 1], np.int32)
    >>> blocks = encode_blocks(samples, np.array([[0, 3, 2, 3, 0]]))
    >>> blocks.planes, blocks.passes, blocks.data.size
    (array([3], dtype=int32), array([7], dtype=int32), 4)
    >>> float(blocks.gains[0, -1]), int(np.sum(samples**2))
    (35.0, 35)
    """
    style = _check_style(style)
    table = _check_table(table, _check_flat("samples", samples, (np.dtype(np.int32),)))
    samples, table = _freeze(samples), _freeze(table)
    if style & HIGH_THROUGHPUT:
        return _encode_fast(samples, table, style, 0 if is_reversible else 1, lowest, passes)
    n = len(table)
    planes = np.zeros(n, np.int32)
    sizes, sums = np.zeros(n, np.int64), np.zeros(n, np.int64)
    # where this takes less time than waking a thread, it is one task
    tasks = _share(table, style) if n >= _MANY else [(0, n)]
    run_tasks(lambda *task: _encoding.count_planes(samples, table, *task, planes, sums), tasks)
    order = None
    if n >= _MANY:
        # several blocks are encoded at the same time as long as all have something left
        order = np.argsort(-sums, kind="stable")
        table, planes = _freeze(table[order]), planes[order]
    _check_planes(samples, planes, _MOST_PLANES)
    counts = np.where(planes > 0, 3 * planes - 2, 0).astype(np.int32)
    ends = np.zeros((n, int(counts.max(initial=0))), np.int32)
    gains = np.zeros(ends.shape, np.float64)
    parts: dict[int, Array] = {}
    half = 0 if is_reversible else 1

    def work(first: int, last: int) -> None:
        parts[first] = _encoding.encode_range(samples, table, first, last, style, half, planes, ends, gains, sizes)

    run_tasks(work, _share(table, style))
    data = allocate((int(sizes.sum()),), np.dtype(np.uint8))
    if parts:
        np.concatenate([parts[first] for first in sorted(parts)], out=data)
    starts = np.cumsum(sizes) - sizes
    back = slice(None) if order is None else np.argsort(order)
    return EncodedBlocks(data, starts[back], planes[back], counts[back], ends[back], gains[back])


def _encode_fast(
    samples: Array, table: Array, style: int, half: int, lowest: Array | int, passes: Array | int
) -> EncodedBlocks:
    """Encode high-throughput blocks; see `encode_blocks`."""
    n = len(table)
    lowest, counts = _check_passes(lowest, passes, n)
    planes, sizes = np.zeros(n, np.int32), np.zeros(n, np.int64)
    ends = np.zeros((n, int(counts.max(initial=0))), np.int32)
    gains = np.zeros(ends.shape, np.float64)
    tasks = _share(table, style)
    # a byte for each sample is enough for photographs of eight bits, and memory that is used again costs nothing
    edges = np.append(0, np.cumsum(table[:, 2] * table[:, 3] + _ROOM))
    rooms = allocate((int(edges[-1]),), np.dtype(np.uint8))
    parts: dict[int, Array] = {}

    def work(first: int, last: int) -> None:
        room = rooms[edges[first] : edges[last]]
        larger = _ht_encoding.encode_range(
            samples, table, first, last, style, half, lowest, _MOST_HT_PLANES, counts, planes, ends, gains, sizes, room
        )
        parts[first] = larger if larger.size else room[: sizes[first:last].sum()]

    run_tasks(work, tasks)
    _check_planes(samples, planes, _MOST_HT_PLANES)
    data = allocate((int(sizes.sum()),), np.dtype(np.uint8))
    if tasks:
        np.concatenate([parts[first] for first, _ in tasks], out=data)
    most = int(counts.max(initial=0))
    return EncodedBlocks(data, np.cumsum(sizes) - sizes, planes, counts, ends[:, :most], gains[:, :most])


def _check_planes(samples: Array, planes: Array, most: int) -> None:
    if (highest := int(planes.max(initial=0))) > most:
        worst = int(np.abs(samples.astype(np.int64)).max())
        raise ArgumentError(
            f"samples hold a magnitude of {worst}, {highest} bits; {most} are the most that can be coded"
        )


def decode_blocks(
    data: Array,
    table: Array,
    planes: Array,
    passes: Array,
    segments: Array,
    segment_starts: Array,
    style: int,
    out: Array,
    roi_shift: int = 0,
    is_reversible: bool = True,
) -> Array:
    """Decode blocks of coefficients from their bytes, whatever these are.

    Parameters
    ----------
    data : ndarray of uint8, one axis
        The bytes of all blocks.
    table : ndarray of int64, shape (n, 5)
        As for `encode_blocks`, for positions in `out`.
    planes, passes : ndarray of int32, shape (n,)
        Bit planes of each block from the highest that is not empty, and how many passes are there. The cleanup pass of
        a high-throughput block ends with the highest of these planes.
    segments : ndarray of int64, shape (m, 3)
        Where each segment begins in `data`, its length, and its number of passes. A block without terminations has one
        segment, a high-throughput block one for each cleanup pass and one for what refines it. What lies outside `data`
        is taken to be missing.
    segment_starts : ndarray of int64, shape (n + 1,)
        The segments of block `i` are ``segments[segment_starts[i]:segment_starts[i + 1]]``.
    style : int
        As for `encode_blocks`.
    out : ndarray of int32 or float32, one axis
        Receives the coefficients.
    roi_shift : int
        Magnitudes of this many bits or more belong to a region of interest and are shifted down by it.
    is_reversible : bool
        Whether to round to whole numbers: exact if all passes are there, else the middle of the interval, rounded down.
        Otherwise it is the middle, which needs an `out` of floats.

    Returns
    -------
    ndarray of bool, shape (n,)
        Which blocks are damaged, as far as segmentation symbols and predictable termination show it, or because their
        planes do not fit 32 bits; such a block is zero, as is a high-throughput block whose bytes make no sense.

    Raises
    ------
    ArgumentError, DtypeError, ShapeError
        If an argument is not as described. Bytes are never wrong.

    Examples
    --------
    >>> samples, table = np.array([0, 5, -3, 0, 0, 1], np.int32), np.array([[0, 3, 2, 3, 0]])
    >>> blocks = encode_blocks(samples, table)
    >>> segments, starts = np.array([[0, blocks.data.size, 7]]), np.array([0, 1])
    >>> out = np.empty(6, np.int32)
    >>> decode_blocks(blocks.data, table, blocks.planes, blocks.passes, segments, starts, 0, out)
    array([False])
    >>> out
    array([ 0,  5, -3,  0,  0,  1], dtype=int32)
    """
    style, roi_shift = _check_style(style), index(roi_shift)
    data = _check_flat("data", data, (np.dtype(np.uint8),))
    table = _check_table(table, _check_flat("out", out, (np.dtype(np.int32), np.dtype(np.float32))))
    if not out.flags.writeable:
        raise ArgumentError("out is read-only; give an array that can be written to")
    if not is_reversible and out.dtype != np.float32:
        raise DtypeError("out is of integers, but irreversible coefficients lie between them; use float32")
    if not 0 <= roi_shift <= 255:
        raise ArgumentError(f"roi_shift={roi_shift} is no shift of a region of interest; use 0 to 255")
    n = len(table)
    planes, passes = _check_counts("planes", planes, n), _check_counts("passes", passes, n)
    segments = np.ascontiguousarray(segments, np.int64)
    if segments.ndim != 2 or segments.shape[1] != 3:
        raise ShapeError(f"segments has shape {segments.shape}; it takes rows of start, length and passes")
    starts = np.ascontiguousarray(segment_starts, np.int64)
    if starts.shape != (n + 1,) or starts[0] < 0 or starts[-1] > len(segments) or np.any(np.diff(starts) < 0):
        raise ArgumentError(
            f"segment_starts does not cut {len(segments)} segments into {n} parts; give {n + 1} rising numbers"
        )
    order = None
    if style & HIGH_THROUGHPUT == 0 and n >= _MANY:
        order = _match_blocks(segments, starts)
        table, planes, passes = table[order], planes[order], passes[order]
        segments, starts = _reorder_segments(segments, starts, order)
    damaged = np.zeros(n, np.bool_)
    data, table, planes, passes = _freeze(data), _freeze(table), _freeze(planes), _freeze(passes)
    segments, starts = _freeze(segments), _freeze(starts)
    form = 2 if not is_reversible else 1 if out.dtype == np.float32 else 0
    # both kinds of numbers through the same compiled code
    integers, floats = out.view(np.int32), out.view(np.float32)

    loops = _ht_decoding if style & HIGH_THROUGHPUT else _decoding

    def work(first: int, last: int) -> None:
        loops.decode_range(
            data, table, first, last, planes, passes, segments, starts, style, min(roi_shift, 62), form, integers,
            floats, damaged,
        )  # fmt: skip

    run_tasks(work, _share(table, style))
    if order is not None:
        damaged[order] = damaged.copy()
    return damaged


def _match_blocks(segments: Array, starts: Array) -> Array:
    """Return an order in which neighbours have about as many bytes, the most first.

    Two blocks are decoded at the same time as long as both have something left.
    """
    ends = np.append(0, np.cumsum(segments[:, 1]))
    return np.argsort(ends[starts[:-1]] - ends[starts[1:]], kind="stable")


def _reorder_segments(segments: Array, starts: Array, order: Array) -> tuple[Array, Array]:
    """Return the segments of blocks in another order, and where those of each begin."""
    counts = np.diff(starts)[order]
    ends = np.append(0, np.cumsum(counts))
    return segments[np.arange(ends[-1]) + np.repeat(starts[:-1][order] - ends[:-1], counts)], ends


def _share(table: Array, style: int) -> list[tuple[int, int]]:
    """Return the tasks for the blocks of a table: the first of each, and the one behind its last."""
    ends = np.cumsum(table[:, 2] * table[:, 3])
    total = int(ends[-1]) if len(ends) else 0
    least, most = _HT_TOGETHER if style & HIGH_THROUGHPUT else _TOGETHER
    # some tasks for each thread, so that none waits long for another
    together = min(most, max(least, total // (4 * get_threads())))
    count = max(total // together, 1)
    edges = np.searchsorted(ends, total * np.arange(1, count) // count, "right").tolist() if count > 1 else []
    return [(first, last) for first, last in pairwise((0, *edges, len(table))) if first < last]


def _freeze(array: Array) -> Array:
    """Return an array that cannot be written to: Numba would compile once more for one that can."""
    array = array.view()
    array.flags.writeable = False
    return array


def _check_style(style: Any) -> int:
    if not 0 <= index(style) < 64 and index(style) not in (HIGH_THROUGHPUT, HIGH_THROUGHPUT | CAUSAL):
        raise ArgumentError(
            f"style={style!r} is no code-block style; use a sum of 1, 2, 4, 8, 16 and 32, or 64, or 64 + 8"
        )
    return index(style)


def _check_flat(name: str, array: Array, dtypes: tuple[np.dtype[Any], ...]) -> Array:
    """Make sure that compiled code may walk through an array."""
    if array.dtype not in dtypes:
        names = " or ".join(str(dtype) for dtype in dtypes)
        raise DtypeError(f"{name} is of {array.dtype}; it takes {names}")
    if array.ndim != 1 or not array.flags.c_contiguous:
        raise ShapeError(f"{name} has shape {array.shape} and strides {array.strides}; give one contiguous axis")
    return array


def _check_counts(name: str, array: Array, n: int) -> Array:
    array = np.ascontiguousarray(array, np.int32)
    if array.shape != (n,):
        raise ShapeError(f"{name} has shape {array.shape}; it takes one number for each of {n} blocks")
    return array


def _check_passes(lowest: Array | int, passes: Array | int, n: int) -> tuple[Array, Array]:
    """Return the lowest planes and numbers of passes of high-throughput blocks, one for each."""
    # copies, because Numba would compile once more for what cannot be written to
    lowest, passes = (np.array(np.broadcast_to(each, n), np.int32) for each in (lowest, passes))
    is_wrong = (lowest < 0) | (passes < 1) | (passes > _HT_PASSES) | (passes > 1) & (lowest < 1)
    if np.any(is_wrong):
        row = int(np.argmax(is_wrong))
        raise ArgumentError(
            f"block {row} has the lowest plane {lowest[row]} and {passes[row]} passes; it may have one, or up to "
            f"{_HT_PASSES} if that plane is 1 or more"
        )
    return lowest, passes


def _check_table(table: Array, samples: Array) -> Array:
    """Make sure that every block lies inside the samples and is not larger than the standard allows."""
    table = np.ascontiguousarray(table, np.int64)
    if table.ndim != 2 or table.shape[1] != 5:
        raise ShapeError(f"table has shape {table.shape}; it takes rows of offset, stride, height, width, orientation")
    offset, stride, height, width, orientation = table.T
    # sizes first: only then the sums below cannot overflow
    is_wrong = (height < 1) | (width < 1) | (height > _MOST_SAMPLES) | (width > _MOST_SAMPLES)
    is_wrong |= (height * width > _MOST_SAMPLES) | (orientation < 0) | (orientation > 2)
    is_wrong |= (offset < 0) | (offset >= samples.size) | (stride < width) & (height > 1)
    is_wrong |= (stride > samples.size) & (height > 1)
    is_wrong |= offset + (height - 1) * np.clip(stride, 0, samples.size) + width > samples.size
    if np.any(is_wrong):
        row = int(np.argmax(is_wrong))
        raise ArgumentError(
            f"table[{row}]={table[row].tolist()} is no block of at most {_MOST_SAMPLES} of {samples.size} samples; "
            "give offset, stride, height, width and an orientation of 0, 1 or 2"
        )
    return table
