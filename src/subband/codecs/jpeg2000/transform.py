"""The wavelet transform of a tile, by any engine of subband.

The standard counts samples from the corner of the reference grid: those at even positions become low coefficients,
those at odd positions high ones. Engines begin with a low coefficient. So where a tile begins at an odd position, it is
extended in front by as many mirrored samples as the filters reach, an odd number of them, and the coefficients of these
are dropped.

Engines scale their filters alike in both bands; the standard has low-pass filters with a gain of one, and high-pass
filters with a gain of two. `find_scale` tells the factor for each band, which the quantiser takes along.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from subband.codecs.jpeg2000.geometry import Rectangle
from subband.engines import Engine
from subband.engines.dispatch import call_natively, engine_for
from subband.plan import LevelPlan, level_plan, transform_plan
from subband.typing import Array
from subband.wavelets import Wavelet, as_wavelet

__all__ = ["Windows", "analyse", "find_band_window", "find_scale", "find_windows", "synthesise"]

#: How many samples are mirrored in front of an odd position, forward and inverse, by whether the wavelet is reversible.
_FORWARD = {True: 1, False: 3}
_INVERSE = {True: 3, False: 5}

#: How far samples reach into the coefficients around them.
_REACH = {True: 2, False: 4}

#: The keys of engines, vertical direction first, for the kinds of bands, horizontal direction first.
_KEYS = {"HL": "ad", "LH": "da", "HH": "dd"}


def find_scale(kind: str, level: int, is_reversible: bool) -> float:
    """Return what a coefficient of an engine is multiplied by to become one of the standard.

    Parameters
    ----------
    kind : {"LL", "HL", "LH", "HH"}
        The band.
    level : int
        1 is the finest.
    is_reversible : bool
        Integers are the same for both.

    Examples
    --------
    >>> find_scale("LL", 2, False), find_scale("HL", 1, False), find_scale("HH", 1, False), find_scale("HH", 3, False)
    (0.25, 1.0, 2.0, 0.5)
    """
    if is_reversible:
        return 1.0
    return 0.5**level * 2.0 ** (2 - kind.count("L"))


@dataclass(frozen=True)
class Windows:
    """What has to be decoded to see a window of a component.

    Attributes
    ----------
    wanted : tuple of Rectangle
        For each resolution from coarse to fine: the samples that the next finer one needs, or that were asked for.
    merged : tuple of Rectangle
        For each resolution: the samples that are computed, a little more, so that the wanted ones are right.
    """

    wanted: tuple[Rectangle, ...]
    merged: tuple[Rectangle, ...]


def find_windows(window: Rectangle, resolutions: Sequence[Rectangle], is_reversible: bool) -> Windows:
    """Return which samples of each resolution are needed for a window of the finest.

    Parameters
    ----------
    window : Rectangle
        Of the last of the resolutions.
    resolutions : sequence of Rectangle
        Where the resolutions lie, from coarse to fine.
    is_reversible : bool
        Whether the wavelet is 5/3, which reaches less far than 9/7.

    Examples
    --------
    >>> windows = find_windows(Rectangle(20, 20, 30, 30), [Rectangle(0, 0, 32, 32), Rectangle(0, 0, 64, 64)], True)
    >>> windows.merged[1], windows.wanted[0]
    (Rectangle(x0=18, y0=18, x1=32, y1=32), Rectangle(x0=9, y0=9, x1=16, y1=16))
    """
    reach = _REACH[is_reversible]
    wanted = [window.intersect(resolutions[-1])]
    merged: list[Rectangle] = []
    for number in range(len(resolutions) - 1, 0, -1):
        need, whole = wanted[0], resolutions[number]
        if need.area:
            # an even position in front saves the mirroring
            need = Rectangle(
                max((need.x0 - reach) & -2, whole.x0),
                max((need.y0 - reach) & -2, whole.y0),
                min(need.x1 + reach, whole.x1),
                min(need.y1 + reach, whole.y1),
            )
        merged.insert(0, need)
        wanted.insert(0, need.divide(2, 2))
    return Windows(tuple(wanted), (wanted[0], *merged))


def find_band_window(window: Rectangle, kind: str) -> Rectangle:
    """Return which coefficients of a band make up a window of its resolution.

    Examples
    --------
    >>> find_band_window(Rectangle(3, 0, 8, 5), "HL")
    Rectangle(x0=1, y0=0, x1=4, y1=3)
    """
    if kind == "LL":
        return window
    columns = (window.x0 >> 1, window.x1 >> 1) if kind[0] == "H" else (-(-window.x0 // 2), -(-window.x1 // 2))
    rows = (window.y0 >> 1, window.y1 >> 1) if kind[1] == "H" else (-(-window.y0 // 2), -(-window.y1 // 2))
    return Rectangle(columns[0], rows[0], columns[1], rows[1])


def analyse(
    samples: Array, area: Rectangle, levels: int, is_reversible: bool, engine: str | Engine | None = None
) -> list[dict[str, Array]]:
    """Transform samples into bands.

    Parameters
    ----------
    samples : int32 or float32 array
        (Components ×) rows × columns, around zero.
    area : Rectangle
        Where they lie on the grid of the component.
    levels : int
        Number of levels.
    is_reversible : bool
        Whether to use 5/3 in integers, or 9/7.
    engine : str or Engine, optional
        The engine that computes.

    Returns
    -------
    list of dict
        For each resolution, from coarse to fine: ``{"LL": …}``, then ``{"HL": …, "LH": …, "HH": …}``. The numbers are
        those of engines; multiply by `find_scale` for those of the standard.

    Examples
    --------
    >>> x = np.arange(35, dtype=np.int32).reshape(5, 7)
    >>> bands = analyse(x, Rectangle(1, 2, 8, 7), 1, True)
    >>> [(kind, band.shape) for level in bands for kind, band in level.items()]
    [('LL', (3, 3)), ('HL', (3, 4)), ('LH', (2, 3)), ('HH', (2, 4))]
    """
    found: list[dict[str, Array]] = []
    areas = [area.divide(1 << number, 1 << number) for number in range(levels)]
    wavelet = _wavelet(is_reversible)
    if levels and all(part.x0 % 2 == 0 and part.y0 % 2 == 0 and part.area for part in areas):
        axes = (samples.ndim - 2, samples.ndim - 1)
        plan = transform_plan(samples.shape, axes, (wavelet,) * 2, ("whole",) * 2, levels, is_reversible)
        samples, details = _call(lambda x, chosen: chosen.forward_all(plan, x), samples, engine)
        found = [{kind: bands[key] for kind, key in _KEYS.items()} for bands in details]
    else:
        for part in areas:
            bands = _split_level(samples, part, wavelet, is_reversible, engine)
            samples = bands.pop("aa")
            found.insert(0, {kind: bands[key] for kind, key in _KEYS.items()})
    return [{"LL": samples}, *found]


def synthesise(
    bands: Sequence[dict[str, Array]], windows: Windows, is_reversible: bool, engine: str | Engine | None = None
) -> Array:
    """Turn bands back into samples.

    Parameters
    ----------
    bands : sequence of dict
        As `analyse` returns them, each (components ×) rows × columns, covering `find_band_window` of what is merged at
        their resolution.
    windows : Windows
        What to compute.
    is_reversible : bool
        Whether the wavelet is 5/3 in integers, or 9/7.
    engine : str or Engine, optional
        The engine that computes.

    Returns
    -------
    array
        The samples that are wanted at the last of the resolutions.

    Examples
    --------
    >>> x, area = np.arange(35, dtype=np.int32).reshape(5, 7), Rectangle(1, 2, 8, 7)
    >>> windows = find_windows(area, [area.divide(2, 2), area], True)
    >>> bool((synthesise(analyse(x, area, 1, True), windows, True) == x).all())
    True
    """
    samples = bands[0]["LL"]
    levels = len(bands) - 1
    wavelet = _wavelet(is_reversible)
    merged = windows.merged[1:]
    is_whole = all(a == b for a, b in zip(windows.wanted, windows.merged, strict=True))
    if levels and is_whole and all(part.x0 % 2 == 0 and part.y0 % 2 == 0 and part.area for part in merged):
        shape = (*samples.shape[:-2], merged[-1].height, merged[-1].width)
        axes = (len(shape) - 2, len(shape) - 1)
        plan = transform_plan(shape, axes, (wavelet,) * 2, ("whole",) * 2, levels, is_reversible)
        details = [{_KEYS[kind]: band for kind, band in level.items()} for level in bands[1:]]
        arrays = [samples, details]
        return _as(_call(lambda x, chosen: chosen.inverse_all(plan, x[0], x[1]), arrays, engine), is_reversible)
    for number, part in enumerate(merged, start=1):
        level = {_KEYS[kind]: band for kind, band in bands[number].items()}
        whole = _merge_level({"aa": samples, **level}, part, wavelet, is_reversible, engine)
        wanted = windows.wanted[number]
        samples = whole[..., wanted.y0 - part.y0 : wanted.y1 - part.y0, wanted.x0 - part.x0 : wanted.x1 - part.x0]
    return _as(samples, is_reversible)


def _wavelet(is_reversible: bool) -> Wavelet:
    return as_wavelet("cdf53" if is_reversible else "cdf97")


def _as(samples: Array, is_reversible: bool) -> Array:
    """Return the dtype that the codec computes in; the reference engine has a wider one."""
    return samples.astype(np.int32 if is_reversible else np.float32, copy=False)


def _call(work: Callable[[Any, Engine], Any], arrays: Any, engine: str | Engine | None) -> Any:
    """Call `work` with arrays where the engine can reach them, and give its result back as arrays of the host."""

    def run(taken: Any) -> Any:
        first = (
            taken[0] if isinstance(taken, list) else next(iter(taken.values())) if isinstance(taken, dict) else taken
        )
        return work(taken, engine_for(first, engine))

    return call_natively(run, {0: "bands"}, (arrays,), {}, engine)


@dataclass(frozen=True)
class _Axis:
    """One direction of a level: whether it begins at an odd position, and whether that sample is all there is."""

    axis: int
    length: int
    is_odd: bool

    @property
    def is_lone(self) -> bool:
        return self.is_odd and self.length == 1


def _axes(area: Rectangle, ndim: int) -> tuple[_Axis, _Axis]:
    return _Axis(ndim - 2, area.height, area.y0 % 2 == 1), _Axis(ndim - 1, area.width, area.x0 % 2 == 1)


def _plan(shape: Sequence[int], axes: Sequence[_Axis], wavelet: Wavelet, is_reversible: bool) -> LevelPlan:
    numbers = tuple(axis.axis for axis in axes)
    return level_plan(tuple(shape), numbers, (wavelet,) * len(numbers), ("whole",) * len(numbers), is_reversible)


def _split_level(
    samples: Array, area: Rectangle, wavelet: Wavelet, is_reversible: bool, engine: str | Engine | None
) -> dict[str, Array]:
    """Transform one level of samples that begin at any position."""
    axes = _axes(area, samples.ndim)
    if not area.area:
        return _make_empty_bands(samples, area)
    if axes[0].is_lone:
        # columns come first, and with integers that makes a difference
        samples = _double(samples, is_reversible)
    for axis in axes:
        if axis.is_odd and not axis.is_lone:
            before = _reflect(np.arange(-_FORWARD[is_reversible], axis.length), axis.length)
            samples = np.take(samples, before, axis=axis.axis)
    there = [axis for axis in axes if not axis.is_lone]
    bands = {"": samples}
    if there:
        plan = _plan(samples.shape, there, wavelet, is_reversible)
        bands = _call(lambda x, chosen: chosen.forward(plan, x), samples, engine)
    result = {}
    for vertical in "ad":
        for horizontal in "ad":
            letters = dict(zip((axes[0].axis, axes[1].axis), vertical + horizontal, strict=True))
            band = bands["".join(letters[axis.axis] for axis in there)]
            for axis in axes:
                band = _cut_band(band, axis, letters[axis.axis] == "d", is_reversible)
            result[vertical + horizontal] = _as(band, is_reversible)
    return result


def _cut_band(band: Array, axis: _Axis, is_high: bool, is_reversible: bool) -> Array:
    """Drop the coefficients of mirrored samples; a sample that is alone at an odd position is doubled (F.4.8)."""
    if axis.is_lone:
        if not is_high:
            return np.take(band, np.zeros(0, np.int64), axis=axis.axis)
        return _double(band, is_reversible) if axis.axis == band.ndim - 1 else band
    if not axis.is_odd:
        return band
    pad = _FORWARD[is_reversible]
    skipped = pad // 2 if is_high else (pad + 1) // 2
    return band[(slice(None),) * axis.axis + (slice(skipped, None),)]


def _merge_level(
    bands: dict[str, Array], area: Rectangle, wavelet: Wavelet, is_reversible: bool, engine: str | Engine | None
) -> Array:
    """Undo one level; the samples begin at any position."""
    ndim = bands["aa"].ndim
    axes = _axes(area, ndim)
    shape = [*bands["aa"].shape[:-2], area.height, area.width]
    if not area.area:
        return np.zeros(shape, bands["aa"].dtype)
    there = [axis for axis in axes if not axis.is_lone]
    taken: dict[str, Array] = {}
    for key, band in bands.items():
        letters = dict(zip((axes[0].axis, axes[1].axis), key, strict=True))
        if any(axis.is_lone and letters[axis.axis] == "a" for axis in axes):
            continue
        for axis in axes:
            if axis.is_lone and axis.axis == ndim - 1:
                band = _halve(band, is_reversible)
            elif axis.is_lone:
                continue
            elif axis.is_odd:
                band = _extend_band(band, axis, letters[axis.axis] == "d", is_reversible)
        taken["".join(letters[axis.axis] for axis in there)] = band
    if not there:
        return _halve(taken[""], is_reversible)
    for axis in there:
        shape[axis.axis] += _INVERSE[is_reversible] if axis.is_odd else 0
    plan = _plan(shape, there, wavelet, is_reversible)
    samples: Array = _call(lambda x, chosen: chosen.inverse(plan, x), taken, engine)
    for axis in there:
        if axis.is_odd:
            samples = samples[(slice(None),) * axis.axis + (slice(_INVERSE[is_reversible], None),)]
    samples = _as(samples, is_reversible)
    return _halve(samples, is_reversible) if axes[0].is_lone else samples


def _double(samples: Array, is_reversible: bool) -> Array:
    return samples * 2 if is_reversible else samples * np.float32(sqrt(2))


def _halve(samples: Array, is_reversible: bool) -> Array:
    return samples >> 1 if is_reversible else samples * np.float32(sqrt(0.5))


def _extend_band(band: Array, axis: _Axis, is_high: bool, is_reversible: bool) -> Array:
    """Mirror coefficients in front of an odd position; mirroring keeps low ones low and high ones high."""
    pad = _INVERSE[is_reversible]
    positions = _reflect(np.arange(-pad, 0), axis.length)
    # the first coefficient, at an odd position, is a high one: high ones have even numbers here
    mine = positions[positions % 2 == (0 if is_high else 1)] // 2
    own = np.arange(band.shape[axis.axis])
    return np.take(band, np.concatenate([mine, own]), axis=axis.axis)


def _reflect(positions: Array, length: int) -> Array:
    """Return the positions inside that mirroring about the first and last sample leads to."""
    period = max(2 * (length - 1), 1)
    inside = np.abs(positions) % period
    return np.where(inside >= length, period - inside, inside)


def _make_empty_bands(samples: Array, area: Rectangle) -> dict[str, Array]:
    """Return the bands of nothing, which may still have columns or rows."""
    bands = {}
    for kind, key in {"LL": "aa", **_KEYS}.items():
        window = area.divide(2, 2) if kind == "LL" else find_band_window(area, kind)
        bands[key] = np.zeros((*samples.shape[:-2], window.height, window.width), samples.dtype)
    return bands
