"""Convolution of signals with many filters at once, by Fourier transforms of blocks.

Filters of like length form a group, which shares one size of transforms: the spectrum of a signal is computed once for
a group, and those of the filters are kept. Blocks of a long signal overlap by the length of the filters, so that what
wraps round falls on results that are not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, groupby, product
from math import log2
from threading import local
from typing import Any, NamedTuple

import numpy as np

from subband.engines.threads import run_tasks
from subband.typing import Array

__all__ = ["Bank", "Kernel", "convolve_directly", "convolve_functionally", "correlate_functionally"]

#: Numbers that one step transforms at a time: as many as the cache of a core holds.
_STEP = 1 << 15

#: From so many numbers on, threads share the work.
_SHARED = 1 << 18

#: Spectra of filters are kept as long as they have no more numbers than this.
_KEPT = 1 << 21

#: NumPy allocates room for each transform, and from here on the system has to give it fresh memory every time.
_LARGE = 1 << 14


class Kernel(NamedTuple):
    """A filter, and the index of its centre tap, which meets the sample at the position of the result."""

    taps: Array
    centre: int

    @property
    def head(self) -> int:
        """How many samples before the position of a result it meets."""
        return len(self.taps) - 1 - self.centre


class _Layout(NamedTuple):
    """How signals are cut into blocks of `size` samples, each of which gives `step` results."""

    size: int
    step: int
    blocks: int

    @property
    def cost(self) -> float:
        """How long the transforms of all blocks of a signal take, as was measured, in any unit."""
        return self.blocks * self.size * (log2(self.size) + 7) * (1.7 if self.size > _LARGE else 1.0)


@dataclass(frozen=True)
class _Group:
    """Filters of like length: which they are, how far they reach back and ahead, and their spectra if kept."""

    members: Sequence[int]
    head: int
    tail: int
    layout: _Layout
    spectra: Array | None


class Bank:
    """Filters prepared for signals of one length.

    Parameters
    ----------
    kernels : sequence of Kernel
        The filters, real or complex.
    length : int
        Of the signals.
    dtype : dtype
        What is computed with: float32, float64, or complex numbers of one of these if filters or signals are.

    Examples
    --------
    >>> bank = Bank([Kernel(np.array([1.0, 2.0, 1.0]), 1)], 4, np.dtype("float64"))
    >>> results = np.empty((1, 1, 4))
    >>> bank.convolve(np.array([[0.0, 1.0, 0.0, 0.0]]), results)
    >>> results.round(12).tolist()
    [[[1.0, 2.0, 1.0, 0.0]]]
    """

    def __init__(self, kernels: Sequence[Kernel], length: int, dtype: np.dtype[Any]) -> None:
        self.kernels = kernels
        self._length = length
        self._dtype = dtype
        self._forward: Callable[..., Array] = np.fft.fft if dtype.kind == "c" else np.fft.rfft
        self._inverse: Callable[..., Array] = np.fft.ifft if dtype.kind == "c" else np.fft.irfft
        parts = _group_kernels(kernels, length)
        layouts = [_choose_layout(_reach(kernels, part), length) for part in parts]
        is_kept = sum(len(part) * each.size for part, each in zip(parts, layouts, strict=True)) <= _KEPT
        self._groups = [
            _Group(part, *_reach(kernels, part), layout, self._transform_kernels(part, layout) if is_kept else None)
            for part, layout in zip(parts, layouts, strict=True)
        ]

    def convolve(self, signals: Array, results: Array) -> None:
        """Write the convolution of every signal with every filter.

        Parameters
        ----------
        signals : ndarray, shape (count, length)
            The signals, which are zero outside.
        results : ndarray, shape (filters, count, length)
            Where results go.
        """
        for group in self._groups:
            self._convolve_group(group, signals, results)

    def _convolve_group(self, group: _Group, signals: Array, results: Array) -> None:
        size, step, blocks = group.layout
        offset = group.head if blocks > 1 else 0
        spectra = self._transform_blocks(signals, group.layout, offset)
        tasks = _list_tasks(len(group.members), len(signals), group.layout)
        # of each thread, because fresh memory for every step would cost more than the step
        rooms = local()

        def work(first: int, last: int, begin: int, end: int, low: int, high: int) -> None:
            factors = self._take_spectra(group, first, last)[:, None, None], spectra[begin:end, low:high]
            shape = last - first, end - begin, high - low
            if shape != getattr(rooms, "shape", None):
                rooms.shape, rooms.products = shape, np.empty((*shape, spectra.shape[-1]), spectra.dtype)
                rooms.found = np.empty((*shape, size), self._dtype)
            found = self._inverse(np.multiply(*factors, out=rooms.products), size, out=rooms.found)
            start, stop = low * step, min(high * step, self._length)
            whole, rest = divmod(stop - start, step)
            for some, members in _list_runs(group.members[first:last]):
                target = results[members, begin:end, start:stop]
                split = target[..., : whole * step].reshape(*target.shape[:2], whole, step)
                split[...] = found[some, :, :whole, offset : offset + step]
                if rest:
                    target[..., whole * step :] = found[some, :, whole, offset : offset + rest]

        _run(work, tasks, len(group.members) * spectra.size)

    def correlate(self, bands: Array, weights: Array) -> Array:
        """Return the sum of the correlations of bands with the filters, weighted: the adjoint of `convolve`.

        Parameters
        ----------
        bands : ndarray, shape (filters, count, length)
            What `convolve` wrote.
        weights : ndarray, shape (filters,)
            What each band counts.

        Returns
        -------
        ndarray, shape (count, length)
            In the bank's dtype.
        """
        total = np.zeros((bands.shape[1], self._length), self._dtype)
        for group in self._groups:
            size, step, blocks = group.layout
            offset = group.tail if blocks > 1 else 0
            sums = 0
            for first, last in _split(len(group.members), max(1, _STEP // (bands.shape[1] * blocks * size))):
                members = list(group.members[first:last])
                rows = bands[members].reshape(-1, self._length)
                spectra = self._transform_blocks(rows, group.layout, offset)
                own = np.conj(self._take_spectra(group, first, last))
                own *= weights[members][:, None]
                sums = sums + np.einsum("kf,ksbf->sbf", own, spectra.reshape(len(members), -1, *spectra.shape[1:]))
            found = self._inverse(sums, size)[..., offset : offset + step]
            total += found.reshape(len(total), -1)[:, : self._length]
        return total

    def _transform_blocks(self, signals: Array, layout: _Layout, offset: int) -> Array:
        """Return the spectra of all blocks of all signals; these are the first axis, and blocks the second."""
        size, step, blocks = layout
        if blocks == 1:
            return self._forward(signals, size)[:, None]
        padded = np.zeros((len(signals), (blocks - 1) * step + size), signals.dtype)
        padded[:, offset : offset + self._length] = signals
        windows = np.lib.stride_tricks.sliding_window_view(padded, size, axis=1)[:, ::step]
        return self._forward(windows)

    def _take_spectra(self, group: _Group, first: int, last: int) -> Array:
        """Return some of a group's spectra, computed anew where they are not kept."""
        if group.spectra is not None:
            return group.spectra[first:last]
        return self._transform_kernels(group.members[first:last], group.layout)

    def _transform_kernels(self, members: Sequence[int], layout: _Layout) -> Array:
        """Return the spectra of filters, with the centre tap at index 0."""
        rolled = np.zeros((len(members), layout.size), self._dtype)
        for row, member in zip(rolled, members, strict=True):
            taps, centre = self.kernels[member]
            row[: taps.size - centre] = taps[centre:]
            row[layout.size - centre :] = taps[:centre]
        return self._forward(rolled)


def convolve_directly(kernels: Sequence[Kernel], signals: Array, results: Array) -> None:
    """Do as `Bank.convolve`, tap by tap: what is not finite, and all rounding, stays where the filter reaches."""
    length = signals.shape[-1]
    for kernel, band in zip(kernels, results, strict=True):
        for signal, result in zip(signals, band, strict=True):
            result[...] = np.convolve(signal, kernel.taps)[kernel.centre : kernel.centre + length]


def convolve_functionally(kernels: Sequence[Kernel], signals: Array) -> Array:
    """Return what `Bank.convolve` writes, for arrays that nobody can write into; complex numbers."""
    length = signals.shape[-1]
    size, spectra = _transform_whole(kernels, length)
    spectrum = np.fft.fft(signals.astype(np.result_type(signals.dtype, np.complex64)), size)
    return np.stack([np.fft.ifft(spectrum * own, size)[..., :length] for own in spectra])


def correlate_functionally(kernels: Sequence[Kernel], bands: Array, weights: Array) -> Array:
    """Return what `Bank.correlate` returns, for arrays that nobody can write into; complex numbers."""
    length = bands.shape[-1]
    size, spectra = _transform_whole(kernels, length)
    total = 0
    for band, own, weight in zip(bands, spectra, weights, strict=True):
        total = total + np.fft.fft(band.astype(np.result_type(band.dtype, np.complex64)), size) * (weight * own.conj())
    return np.fft.ifft(total, size)[..., :length]


def _transform_whole(kernels: Sequence[Kernel], length: int) -> tuple[int, Array]:
    """Return how many numbers of a signal to transform at once, and the spectra of filters for that."""
    size = _fast_length(length + max(_reach(kernels, range(len(kernels)))))
    rolled = np.zeros((len(kernels), size), np.complex128)
    for row, (taps, centre) in zip(rolled, kernels, strict=True):
        row[: taps.size - centre] = taps[centre:]
        row[size - centre :] = taps[:centre]
    return size, np.fft.fft(rolled)


def _run(work: Callable[..., object], tasks: Sequence[tuple[int, ...]], numbers: int) -> None:
    """Call threads only where they are worth it."""
    if numbers >= _SHARED:
        run_tasks(work, tasks, is_even=True)
        return
    for task in tasks:
        work(*task)


def _list_tasks(kernels: int, signals: int, layout: _Layout) -> list[tuple[int, ...]]:
    """Cut the work into pieces of about `_STEP` numbers: first and last filter, signal, and block of it."""
    size, _, blocks = layout
    wide = min(blocks, max(1, _STEP // size))
    high = min(signals, max(1, _STEP // (wide * size)) if wide == blocks else 1)
    deep = max(1, _STEP // (wide * high * size))
    pieces = product(_split(kernels, deep), _split(signals, high), _split(blocks, wide))
    return [tuple(chain(*piece)) for piece in pieces]


def _split(count: int, most: int) -> Iterator[tuple[int, int]]:
    for first in range(0, count, most):
        yield first, min(first + most, count)


def _list_runs(members: Sequence[int]) -> list[tuple[slice, slice]]:
    """Return which of some members follow one another, as slices of the members and of all filters."""
    if members[-1] - members[0] == len(members) - 1:
        return [(slice(None), slice(members[0], members[-1] + 1))]
    return [(slice(k, k + 1), slice(member, member + 1)) for k, member in enumerate(members)]


def _reach(kernels: Sequence[Kernel], members: Sequence[int]) -> tuple[int, int]:
    """Return how far filters reach back, and ahead."""
    return max(kernels[k].head for k in members), max(kernels[k].centre for k in members)


def _group_kernels(kernels: Sequence[Kernel], length: int) -> list[list[int]]:
    """Put filters together whose lengths have the same power of two, and groups that are cheaper as one."""

    def cost(members: Sequence[int]) -> float:
        # one transform for each filter, and one for the signal
        return (len(members) + 1) * _choose_layout(_reach(kernels, members), length).cost

    order = sorted(range(len(kernels)), key=lambda k: kernels[k].taps.size)
    groups: list[list[int]] = []
    for _, found in groupby(order, key=lambda k: kernels[k].taps.size.bit_length()):
        members = list(found)
        if groups and cost(groups[-1] + members) <= cost(groups[-1]) + cost(members):
            groups[-1] += members
        else:
            groups.append(members)
    return [sorted(members) for members in groups]


def _choose_layout(reach: tuple[int, int], length: int) -> _Layout:
    """Return the cheapest way to cut signals: one block, which needs zeros on one side only, or several."""
    overlap = sum(reach)
    # what wraps round falls on zeros that either side can share
    choices = [_Layout(_fast_length(length + max(reach)), length, 1)]
    blocks = 2
    while length >= blocks * max(overlap, 64):
        size = _fast_length(-(-length // blocks) + overlap)
        choices.append(_Layout(size, size - overlap, -(-length // (size - overlap))))
        blocks *= 2
    return min(choices, key=lambda choice: choice.cost)


@lru_cache(maxsize=1024)
def _fast_length(least: int) -> int:
    """Return the next number that has no prime factors but 2, 3 and 5."""
    best = 1 << (least - 1).bit_length()
    power_of_five = 1
    while power_of_five < best:
        odd = power_of_five
        while odd < best:
            best = min(best, odd << (-(-least // odd) - 1).bit_length())
            odd *= 3
        power_of_five *= 5
    return best
