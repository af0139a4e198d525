"""How far away samples can be and still have a say in a result, and blocks with margins that wide.

A stage that works with wavelets looks at a coefficient, at those beside it and at its parent; and a coefficient comes
from all samples under its filters. Whoever cuts an array into blocks needs to know how many samples before and behind
that is, to get for each block what the whole array would have given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import lcm

import numpy as np

from subband.enhance.methods import DecidingMethod, find_method
from subband.enhance.roundtrip import measure_shift
from subband.enhance.shrinking import ROUNDS
from subband.enhance.stages import Blur, Denoise, Sharpen, Spatial, Stage
from subband.transforms.decomposition import choose_modes, decompose, reconstruct
from subband.typing import Array
from subband.wavelets import Wavelet, as_wavelet

__all__ = ["Reach", "cut_blocks", "find_obstacle", "measure_reach", "reach_of_spatial", "widen"]

# What is smaller than this part of the largest is rounding.
_NOTHING = 1e-7


@dataclass(frozen=True)
class Reach:
    """How many samples before and behind have a say.

    Attributes
    ----------
    before, behind : int
        Along one axis.
    step : int
        Blocks have to begin at multiples of this, where the whole has its coefficients.

    Examples
    --------
    >>> Reach(4, 5, 2) + Reach(1, 1)
    Reach(before=5, behind=6, step=2)
    """

    before: int
    behind: int
    step: int = 1

    def __add__(self, other: Reach) -> Reach:
        return Reach(self.before + other.before, self.behind + other.behind, lcm(self.step, other.step))


def widen(begin: int, end: int, length: int, reach: Reach, fewest: int = 1) -> tuple[int, int]:
    """Return the range of samples that a part of an axis is computed from: the part and its margins.

    Parameters
    ----------
    begin, end : int
        The part.
    length : int
        Of the axis, beyond which there are no samples.
    reach : Reach
        Width of the margins, and where blocks may begin.
    fewest : int
        Samples that a block has at least.

    Examples
    --------
    >>> widen(8, 16, 20, Reach(3, 2, 4))
    (4, 18)
    """
    stop = min(max(end + reach.behind, fewest), length)
    start = max(min(begin - reach.before, stop - fewest), 0) // reach.step * reach.step
    return start, stop


def cut_blocks(count: int, core: int, reach: Reach, fewest: int = 1) -> Iterator[tuple[int, int, int, int]]:
    """Cut an axis into blocks that overlap.

    Parameters
    ----------
    count : int
        Number of samples, such as slices.
    core : int
        How many each block adds to the result; a multiple of the reach's step.
    reach : Reach
        What each needs before and behind.
    fewest : int
        Samples that a block has at least.

    Yields
    ------
    tuple of int
        First sample and end of what is read, and of what counts.

    Examples
    --------
    >>> list(cut_blocks(20, 8, Reach(3, 2, 4)))
    [(0, 10, 0, 8), (4, 18, 8, 16), (12, 20, 16, 20)]
    """
    for begin in range(0, count, core):
        end = min(begin + core, count)
        yield *widen(begin, end, count, reach, fewest), begin, end


def reach_of_spatial(spatial: Spatial) -> Reach:
    """Return the reach of a filter of space along each axis.

    Examples
    --------
    >>> reach_of_spatial(Blur(2.0))
    Reach(before=4, behind=4, step=1)
    """
    half = len(spatial.taps) // 2 if isinstance(spatial, Blur) else 1
    return Reach(half, half)


def measure_reach(stage: Stage, level: int, is_refined: bool = False, dimensions: int = 3) -> Reach:
    """Return the reach of a stage along the first axis of a volume, or along each axis of an image.

    Parameters
    ----------
    stage : Stage
        What is done; one without obstacles.
    level : int
        Number of levels, if it transforms.
    is_refined : bool
        Whether its noise model makes noise weaker step by step.
    dimensions : int
        Axes of space: 3 for a volume, 2 for an image.

    Examples
    --------
    >>> measure_reach(Blur(2.0), 0)
    Reach(before=4, behind=4, step=1)
    >>> measure_reach(Sharpen(), 0), measure_reach(Sharpen(), 0, dimensions=2)
    (Reach(before=0, behind=0, step=1), Reach(before=1, behind=1, step=1))
    >>> measure_reach(Denoise("visu"), level=2)
    Reach(before=25, behind=21, step=4)
    """
    # Laplacians are those of the slices
    is_flat = dimensions == 3
    if isinstance(stage, Blur | Sharpen):
        return Reach(0, 0) if is_flat and isinstance(stage, Sharpen) else reach_of_spatial(stage)
    if level == 0:
        return Reach(0, 0)
    wavelet = as_wavelet(stage.wavelet)
    method = find_method(stage.method) if isinstance(stage, Denoise) else None
    beside = 0 if method is None else method.measure_window(dimensions) // 2
    has_parents = method is not None and method.takes_parent
    filters = sum(
        _reach_of_filter(each, level) for each in stage.filters if not (is_flat and isinstance(each, Sharpen))
    )
    (mode,) = choose_modes(stage.boundary, (wavelet,), (0,))
    # the shifted image of cycle spinning reaches as far, from coefficients that stand elsewhere
    reach = _measure_decimated(wavelet, mode, level, beside, has_parents)
    reach += Reach(filters, filters)
    passes = () if method is None else method.list_passes(dimensions)
    rounds = ROUNDS if is_refined else 1
    for groups in passes * rounds:
        reach += Reach(groups.margin, groups.margin, groups.step)
    if method is not None and method.is_guide and not passes:
        # Haar's filters without decimation: what one direction looks ahead, the other looks back
        second = 2**level - 1
        for _ in range(rounds):
            reach += Reach(second, second)
    return reach


def find_obstacle(stage: Stage) -> str:
    """Say why a stage cannot work on a part of a volume; nothing if it can.

    Examples
    --------
    >>> find_obstacle(Denoise("bayes"))
    "method 'bayes' looks at all coefficients of a band at once"
    >>> find_obstacle(Denoise(boundary="periodization"))
    "boundary 'periodization' joins the last slice to the first"
    >>> find_obstacle(Denoise())
    ''
    """
    if isinstance(stage, Blur | Sharpen):
        return ""
    if isinstance(stage, Denoise) and isinstance(find_method(stage.method), DecidingMethod):
        return f"method {stage.method!r} looks at all coefficients of a band at once"
    wavelet = as_wavelet(stage.wavelet)
    (mode,) = choose_modes(stage.boundary, (wavelet,), (0,))
    if mode in ("periodic", "periodization"):
        return f"boundary {mode!r} joins the last slice to the first"
    if stage.form == "undecimated":
        return "form 'undecimated' joins the last slice to the first"
    if stage.form == "dual-tree":
        return "form 'dual-tree' has two trees that meet at the first and the last slice"
    return ""


def _reach_of_filter(spatial: Spatial, level: int) -> int:
    """Return the reach of a filter between the transforms; on the way down it counts at every level."""
    half = reach_of_spatial(spatial).before
    scale: int = 2 ** (level + 1) if spatial.at == "between" else 2**level
    return half * scale


@lru_cache(maxsize=64)
def _measure_decimated(wavelet: Wavelet, mode: str, level: int, beside: int, has_parents: bool) -> Reach:
    """Look where impulses arrive, in both directions and at each level, far from all borders."""
    period = 2**level
    shift = measure_shift(wavelet, mode)
    supports = [_trace_level(wavelet, mode, number) for number in range(1, level + 1)]
    first, last = 0, 0
    for number, (down, up) in enumerate(supports, 1):
        scale = 2**number
        # from a result to the coefficients of this level that make it
        begin, end = -up[1], -up[0]
        first = min(first, begin - beside * scale + down[0])
        last = max(last, end + beside * scale + down[1])
        if has_parents and number < level:
            # one more on either side, because the energy around a parent counts
            parent = supports[number][0]
            first = min(first, begin + (shift - 3) * scale + parent[0])
            last = max(last, end + (shift + 2) * scale + parent[1])
    return Reach(-first, last, period)


def _trace_level(wavelet: Wavelet, mode: str, level: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where, from the position of a coefficient, the samples lie that it comes from, and those it goes to."""
    scale = 2**level
    # several filters wide, so that what lies in the middle does not see the borders
    middle = scale * (wavelet.dec_len + wavelet.rec_len + 2)
    samples = np.zeros((scale, 2 * middle))
    samples[np.arange(scale), middle + np.arange(scale)] = 1.0
    pyramid = decompose(samples, wavelet, level, mode, axes=(1,), engine="cpu")
    down = [
        middle + sample - scale * position
        for band in (pyramid.approximation, pyramid.details[0]["d"])
        for sample, position in np.argwhere(_is_something(band)).tolist()
    ]
    up: list[int] = []
    position = middle // scale
    for is_detail in (False, True):
        silent = pyramid.map(lambda band, _level, _key: np.zeros_like(band))
        band = silent.details[0]["d"] if is_detail else silent.approximation
        band[0, position] = 1.0
        result = reconstruct(silent, engine="cpu")
        up += (np.flatnonzero(_is_something(result[0])) - scale * position).tolist()
    return (min(down), max(down)), (min(up), max(up))


def _is_something(values: Array) -> Array:
    magnitudes = np.abs(values)
    return np.asarray(magnitudes > _NOTHING * magnitudes.max())
