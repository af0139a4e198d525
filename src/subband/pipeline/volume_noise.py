"""How much noise there is in a volume that is larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

import numpy as np

from subband.engines import Engine
from subband.enhance.noise import measure_gains
from subband.enhance.stages import Denoise
from subband.pipeline.blocks import cut_blocks, gather_blocks
from subband.pipeline.reach import Reach
from subband.transforms.decomposition import choose_modes, decompose
from subband.typing import Array
from subband.wavelets import as_wavelet

__all__ = ["COPIES", "measure_volume_noise"]

#: Copies of a block, in float32, that are there at the same time while it is computed.
COPIES = 10

# The median magnitude of a normal distribution with standard deviation one.
_NORMAL_MEDIAN = 0.6744897501960817

# Bits of a float32 by which magnitudes are counted at first: half of them, without the sign, which is 0.
_LEADING, _REST = 15, 16


def measure_volume_noise(
    walk: Callable[[], Iterator[Array]],
    space: tuple[int, ...],
    stage: Denoise,
    memory: int,
    *,
    engine: str | Engine | None = None,
) -> float:
    """Measure the standard deviation of noise in a volume that is larger than memory.

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
        Who computes.

    Examples
    --------
    >>> volume = np.random.default_rng(0).normal(100, 10, (40, 24, 16)).astype(np.float32)
    >>> round(measure_volume_noise(lambda: iter(volume), volume.shape, Denoise(), memory=500_000), 1)
    9.7
    """
    counts = np.zeros(2**_LEADING, np.int64)
    for band in _walk_magnitudes(walk(), space, stage, memory, engine):
        counts += np.bincount(band >> np.uint32(_REST), minlength=len(counts))
    heights = np.cumsum(counts)
    ranks = [(int(heights[-1]) - 1) // 2, int(heights[-1]) // 2]
    # of an even number, the two in the middle may lie in two bins
    bins = [int(np.searchsorted(heights, rank, side="right")) for rank in ranks]
    rest = {each: np.zeros(2**_REST, np.int64) for each in bins}
    for band in _walk_magnitudes(walk(), space, stage, memory, engine):
        for each, own in rest.items():
            inside = band[band >> np.uint32(_REST) == each] & np.uint32(2**_REST - 1)
            own += np.bincount(inside, minlength=len(own))
    middle = []
    for rank, each in zip(ranks, bins, strict=True):
        below = int(heights[each] - counts[each])
        last = int(np.searchsorted(np.cumsum(rest[each]), rank - below, side="right"))
        middle.append(np.array([each << _REST | last], np.uint32).view(np.float32)[0])
    gain = measure_gains(stage.wavelet, 1)[1] ** sum(length > 1 for length in space)
    return float(np.mean(middle, dtype=np.float64)) / (_NORMAL_MEDIAN * gain)


def _walk_magnitudes(
    slices: Iterator[Array], space: tuple[int, ...], stage: Denoise, memory: int, engine: str | Engine | None
) -> Iterator[Array]:
    """Return the bits of the magnitudes of the finest diagonal coefficients, block by block."""
    wavelet = as_wavelet(stage.wavelet)
    axes = tuple(axis for axis, length in enumerate(space) if length > 1)
    modes = choose_modes(stage.boundary, (wavelet,) * len(axes), axes)
    key = "d" * len(axes)
    reach = Reach(wavelet.dec_len, wavelet.dec_len, 2)
    held = memory // (prod(space[1:]) * 4 * COPIES) - 2 * wavelet.dec_len
    core = max(2, min(held, space[0] + 1) // 2 * 2)
    done = 0
    for block, begin, end in gather_blocks(slices, cut_blocks(space[0], core, reach, min(2, space[0]))):
        pyramid = decompose(np.ascontiguousarray(block, np.float32), wavelet, 1, modes, axes=axes, engine=engine)
        band = pyramid.details[-1][key]
        done += end - begin
        if 0 in axes:
            # an expansive transform has some coefficients behind the last sample
            band = band[begin // 2 : None if done == space[0] else end // 2]
        magnitudes = np.ascontiguousarray(np.abs(band), np.float32)
        yield magnitudes.view(np.uint32).ravel()
