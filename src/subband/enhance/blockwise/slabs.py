"""A volume in slabs: blocks of slices that overlap, and the noise of a volume that is larger than memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from subband.engines import Engine, get_engine
from subband.engines.filters import find_filters
from subband.engines.filters.cells import Cells
from subband.enhance.blockwise.reach import Reach, cut_blocks
from subband.enhance.blockwise.smooth import CellSearch
from subband.enhance.blockwise.statistics import Block, Gathered, NoiseSearch
from subband.enhance.noise import combine_gains
from subband.enhance.roundtrip import Roundtrip
from subband.enhance.shrinking import cut_finest
from subband.enhance.stages import Denoise
from subband.plan import list_keys
from subband.transforms.decomposition import decompose
from subband.typing import Array

__all__ = ["COPIES", "gather_blocks", "measure_volume_noise"]

#: Copies of a block, in float32, that are there at the same time while it is computed.
COPIES = 10


def gather_blocks(
    slices: Iterator[Array], blocks: Iterator[tuple[int, int, int, int]]
) -> Iterator[tuple[Array, int, int]]:
    """Return each block as one array, and where in it that lies which counts; each slice is taken once."""
    held: deque[Array] = deque()
    first = 0
    for start, stop, begin, end in blocks:
        while first < start:
            held.popleft()
            first += 1
        while first + len(held) < stop:
            held.append(next(slices))
        yield np.stack(held), begin - start, end - start


def measure_volume_noise(
    walk: Callable[[], Iterator[Array]],
    space: tuple[int, ...],
    stage: Denoise,
    memory: int,
    *,
    engine: str | Engine | None = None,
) -> float:
    """Measure the standard deviation of noise in a volume that is larger than memory, as that of the whole is measured.

    Parameters
    ----------
    walk : callable
        Returns an iterator over all slices, from the first; called twice.
    space : tuple of int
        Slices, rows and columns.
    stage : Denoise
        Its wavelet and boundary count.
    memory : int
        Bytes that may be taken.
    engine : str, optional
        The engine that computes.

    Examples
    --------
    >>> volume = np.random.default_rng(0).normal(100, 10, (40, 24, 16)).astype(np.float32)
    >>> round(measure_volume_noise(lambda: iter(volume), volume.shape, Denoise(), memory=500_000), 1)
    9.7
    """
    host = get_engine("cpu")
    roundtrip = Roundtrip(replace(stage, form="decimated", level=1), (1, *space), host, find_filters(host))
    shape = roundtrip.plan((1, *space)).levels[0].band_shapes["d" * len(roundtrip.axes)][1:]
    keys = ["d" * len(roundtrip.axes), *list_keys(len(roundtrip.axes))[1:-1]]
    gains = tuple(combine_gains(roundtrip.wavelets, 1, key) for key in keys)
    median = NoiseSearch((), len(space), gains[0])
    cells = cut_finest(roundtrip, shape)
    search = median if cells is None else CellSearch(cells, gains, median)

    def look(aims: Any = None) -> Gathered:
        found: Gathered = {}
        if cells is None:
            for _, band in _walk_bands(walk(), space, roundtrip, keys[:1], memory, engine):
                found = search.merge([found, median.look(Block(), band, aims)])
            return found
        assert isinstance(search, CellSearch)
        for parts in _cut_on_grid(_walk_bands(walk(), space, roundtrip, keys, memory, engine), cells):
            own = search.look(Block(), *parts) if aims is None else search.count(Block(), *parts, aims)
            found = search.merge([found, own])
        return found

    aims: Any = search.aim(look())
    return float(search.pick(look(aims), aims))


def _cut_on_grid(parts: Iterator[list[Array]], cells: Cells) -> Iterator[list[Array]]:
    """Return samples and bands as cells lie in them, of parts that follow each other along the first axis."""
    axes = zip(cells.begin[1:], cells.counts[1:], cells.sides[1:], strict=True)
    rest = [slice(begin, begin + count * side) for begin, count, side in axes]
    ahead, left, side = cells.begin[0], cells.counts[0], cells.sides[0]
    each = cells.spans[0] // side
    held: list[Array] = []
    for part in parts:
        held = [np.concatenate(pair) for pair in zip(held, part, strict=True)] if held else part
        samples, *bands = held
        skipped = min(ahead, len(bands[0]))
        taken = min(left, (len(bands[0]) - skipped) // side)
        ahead, left, stop = ahead - skipped, left - taken, skipped + taken * side
        whole = cells.take_samples(samples[np.newaxis, each * skipped : each * stop], range(2, 4))[0]
        yield [whole, *(band[(slice(skipped, stop), *rest)] for band in bands)]
        held = [samples[each * stop :], *(band[stop:] for band in bands)]


def _walk_bands(
    slices: Iterator[Array],
    space: tuple[int, ...],
    roundtrip: Roundtrip,
    keys: Sequence[str],
    memory: int,
    engine: str | Engine | None,
) -> Iterator[list[Array]]:
    """Return the samples and some bands of the finest coefficients, block by block.

    There are as many samples along the first axis as two for each coefficient, or one if that is not transformed.
    """
    axes, wavelet = roundtrip.axes, roundtrip.wavelets[0]
    reach = Reach(wavelet.dec_len, wavelet.dec_len, 2)
    held = memory // (prod(space[1:]) * 4 * COPIES) - 2 * wavelet.dec_len
    core = max(2, min(held, space[0] + 1) // 2 * 2)
    done = 0
    for block, begin, end in gather_blocks(slices, cut_blocks(space[0], core, reach, min(2, space[0]))):
        floats = np.ascontiguousarray(block, np.float32)
        details = decompose(floats, wavelet, 1, roundtrip.modes, axes=axes, engine=engine).details[-1]
        done += end - begin
        bands = [details[key] for key in keys]
        if 0 in axes:
            # an expansive transform has some coefficients behind the last sample
            bands = [band[begin // 2 : None if done == space[0] else end // 2] for band in bands]
            indices = np.arange(2 * len(bands[0])) + begin - roundtrip.shift
            floats = floats[np.clip(indices, 0, len(floats) - 1)]
        yield [floats, *bands]
