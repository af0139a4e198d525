"""A volume in slabs: blocks of slices that overlap, and the noise of a volume that is larger than memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from math import prod

import numpy as np

from subband.engines import Engine
from subband.enhance.blockwise.reach import Reach, cut_blocks
from subband.enhance.blockwise.statistics import Aims, Block, Gathered, NoiseSearch
from subband.enhance.noise import combine_gains
from subband.enhance.stages import Denoise
from subband.transforms.decomposition import choose_modes, decompose
from subband.typing import Array
from subband.wavelets import as_wavelet

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
    """Measure the standard deviation of noise in a volume that is larger than memory, as sorting would.

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
    axes = tuple(axis for axis, length in enumerate(space) if length > 1)
    gain = combine_gains((as_wavelet(stage.wavelet),) * len(axes), 1, "d" * len(axes))
    search = NoiseSearch((), len(space), gain)

    def look(aims: Aims | None) -> Gathered:
        found: Gathered = {}
        for band in _walk_diagonal(walk(), space, axes, stage, memory, engine):
            found = search.merge([found, search.look(Block(), band, aims)])
        return found

    aims = search.aim(look(None))
    return float(search.pick(look(aims), aims))


def _walk_diagonal(
    slices: Iterator[Array],
    space: tuple[int, ...],
    axes: tuple[int, ...],
    stage: Denoise,
    memory: int,
    engine: str | Engine | None,
) -> Iterator[Array]:
    """Return the finest diagonal coefficients, block by block."""
    wavelet = as_wavelet(stage.wavelet)
    modes = choose_modes(stage.boundary, (wavelet,) * len(axes), axes)
    reach = Reach(wavelet.dec_len, wavelet.dec_len, 2)
    held = memory // (prod(space[1:]) * 4 * COPIES) - 2 * wavelet.dec_len
    core = max(2, min(held, space[0] + 1) // 2 * 2)
    done = 0
    for block, begin, end in gather_blocks(slices, cut_blocks(space[0], core, reach, min(2, space[0]))):
        pyramid = decompose(np.ascontiguousarray(block, np.float32), wavelet, 1, modes, axes=axes, engine=engine)
        band = pyramid.details[-1]["d" * len(axes)]
        done += end - begin
        if 0 in axes:
            # an expansive transform has some coefficients behind the last sample
            band = band[begin // 2 : None if done == space[0] else end // 2]
        yield band
