"""One level of the decimated transform, forward and inverse.

The functions here take arguments that are read already (see `subband.transforms.arguments`) and add to the engines
what these leave out: axes that are repeated, and the number of samples, found from the shapes of bands alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from subband.arrays import as_computable, cast
from subband.engines.dispatch import engine_for
from subband.errors import CoefficientsError, ShapeError
from subband.plan import LevelPlan, level_plan
from subband.typing import Array, Bands
from subband.wavelets import Wavelet

__all__ = [
    "as_bands",
    "check_axes_fit",
    "check_keys",
    "forward_plan",
    "inverse_plan",
    "merge_level",
    "split_level",
]

Shape: TypeAlias = tuple[int, ...]


@lru_cache(maxsize=4096)
def forward_plan(
    shape: Shape, axes: tuple[int, ...], wavelets: tuple[Wavelet, ...], modes: tuple[str, ...]
) -> LevelPlan:
    """Plan a level as `level_plan` does, refusing what PyWavelets refuses: to mirror a signal at its only sample.

    Examples
    --------
    >>> from subband.wavelets import Wavelet
    >>> forward_plan((8, 6), (1,), (Wavelet("haar"),), ("zero",)).approximation_shape
    (8, 3)
    """
    for axis, mode in zip(axes, modes, strict=True):
        if shape[axis] == 1 and mode in ("reflect", "antireflect"):
            raise ShapeError(
                f"axis {axis} of an array of shape {shape} has a single sample, at which mode={mode!r} has nothing to "
                "mirror; use 'symmetric'"
            )
    return level_plan(shape, axes, wavelets, modes)


def split_level(x: Array, axes: tuple[int, ...], wavelets: tuple[Wavelet, ...], modes: tuple[str, ...]) -> Bands:
    """Transform `x` along `axes` in turn; one that is repeated is transformed again.

    Examples
    --------
    >>> from subband.wavelets import Wavelet
    >>> bands = split_level(np.ones((8, 8)), (0, 1), (Wavelet("haar"),) * 2, ("zero",) * 2)
    >>> {key: band.shape for key, band in bands.items()}
    {'aa': (4, 4), 'ad': (4, 4), 'da': (4, 4), 'dd': (4, 4)}
    """
    count = _count_distinct(axes)
    if count == len(axes):
        return engine_for(x).forward(forward_plan(x.shape, axes, wavelets, modes), x)
    first = split_level(x, axes[:count], wavelets[:count], modes[:count])
    return {
        head + tail: band
        for head, part in first.items()
        for tail, band in split_level(part, axes[count:], wavelets[count:], modes[count:]).items()
    }


def merge_level(
    bands: Mapping[str, Array],
    axes: tuple[int, ...],
    wavelets: tuple[Wavelet, ...],
    modes: tuple[str, ...],
    shape: Shape | None = None,
) -> Array:
    """Undo `split_level`; bands that are left out count as zeros.

    An odd number of samples has as many coefficients as the even one above it. So many come back, unless `shape` tells.

    Raises
    ------
    CoefficientsError
        If no array of samples has bands of these shapes.

    Examples
    --------
    >>> from subband.wavelets import Wavelet
    >>> merge_level({"a": np.ones(4)}, (0,), (Wavelet("haar"),), ("zero",)).shape
    (8,)
    """
    count = _count_distinct(axes)
    if count < len(axes):
        parts: dict[str, Bands] = {}
        for key, band in bands.items():
            parts.setdefault(key[:count], {})[key[count:]] = band
        bands = {head: merge_level(part, axes[count:], wavelets[count:], modes[count:]) for head, part in parts.items()}
        axes, wavelets, modes = axes[:count], wavelets[:count], modes[:count]
    shapes = tuple([(key, band.shape) for key, band in bands.items()])
    plan = inverse_plan(shapes, axes, wavelets, modes)
    if shape is not None and shape != plan.shape:
        shorter = level_plan(shape, axes, wavelets, modes)
        plan = shorter if shorter.band_shapes == plan.band_shapes else plan
    return engine_for(bands[shapes[0][0]]).inverse(plan, bands)


def as_bands(bands: Mapping[str, object], name: str = "coeffs") -> Bands:
    """Return the bands that are not None as arrays of one dtype that engines take.

    Bands of different dtypes are computed in double precision, as PyWavelets does.

    Raises
    ------
    CoefficientsError
        If none is left.

    Examples
    --------
    >>> as_bands({"a": [1, 2], "d": None})
    {'a': array([1., 2.])}
    """
    arrays = {key: as_computable(band, f"{name}[{key!r}]") for key, band in bands.items() if band is not None}
    if not arrays:
        raise CoefficientsError(f"{name} holds no coefficients; at least one band must be an array")
    dtypes = {band.dtype for band in arrays.values()}
    if len(dtypes) > 1:
        common = np.complex128 if any(dtype.kind == "c" for dtype in dtypes) else np.float64
        arrays = {key: cast(band, common) for key, band in arrays.items()}
    return arrays


def check_keys(keys: Iterable[str], name: str = "coeffs") -> int:
    """Return the number of letters of band names such as ``'ad'``.

    Raises
    ------
    CoefficientsError
        If a name has other letters than a and d, or not as many as the others.

    Examples
    --------
    >>> check_keys(["ad", "da"])
    2
    """
    return _check_names(tuple(keys), name)


@lru_cache(maxsize=256)
def _check_names(names: tuple[str, ...], name: str) -> int:
    """Check band names, cached, because multilevel transforms ask for the same few names again and again."""
    for key in names:
        if not isinstance(key, str) or not key or set(key) - {"a", "d"}:
            raise CoefficientsError(
                f"{name} has a key {key!r}; keys have one letter for each axis, 'a' for low and 'd' for high"
            )
    lengths = {len(key) for key in names}
    if len(lengths) != 1:
        raise CoefficientsError(
            f"the keys of {name}, {list(names)}, are not equally long; they need one letter for each axis"
        )
    return lengths.pop()


def check_axes_fit(letters: int, axes: tuple[int, ...]) -> None:
    """Refuse bands whose names have not one letter for each of `axes`."""
    if letters != len(axes):
        raise CoefficientsError(
            f"the keys of the coefficients have {letters} letters for {len(axes)} axes {axes}; "
            "give axes as in the forward transform"
        )


def _count_distinct(axes: tuple[int, ...]) -> int:
    """Return how many axes come before the first that is repeated."""
    if len(axes) == 1 or len(set(axes)) == len(axes):
        return len(axes)
    return next(count for count in range(1, len(axes)) if axes[count] in axes[:count])


@lru_cache(maxsize=4096)
def inverse_plan(
    shapes: tuple[tuple[str, Shape], ...],
    axes: tuple[int, ...],
    wavelets: tuple[Wavelet, ...],
    modes: tuple[str, ...],
) -> LevelPlan:
    """Find the level whose bands have these shapes; cached, so that a repeated inverse checks nothing."""
    first_key, first_shape = shapes[0]
    for key, shape in shapes:
        if len(shape) != len(first_shape):
            raise CoefficientsError(
                f"band {key!r} has {len(shape)} dimensions and band {first_key!r} has {len(first_shape)}; "
                "all bands need the same number"
            )
    samples = list(first_shape)
    for position, (axis, wavelet, mode) in enumerate(zip(axes, wavelets, modes, strict=True)):
        lows = [shape[axis] for key, shape in shapes if key[position] == "a"]
        highs = [shape[axis] for key, shape in shapes if key[position] == "d"]
        low, high = (lows or highs)[0], (highs or lows)[0]
        samples[axis] = _count_samples(wavelet, mode, low, high)
        if samples[axis] < 1:
            raise CoefficientsError(
                f"{low} coefficients along axis {axis} are too few for {wavelet.name!r} in mode {mode!r}; "
                "use the wavelet and mode of the forward transform"
            )
    plan = level_plan(tuple(samples), axes, wavelets, modes)
    for key, shape in shapes:
        if plan.band_shapes[key] != shape:
            others = ", ".join(f"{other!r} of shape {size}" for other, size in shapes if other != key)
            raise CoefficientsError(
                f"band {key!r} of shape {shape} does not belong with {others}; in mode {modes[0]!r} its shape would "
                f"be {plan.band_shapes[key]}"
            )
    return plan


def _count_samples(wavelet: Wavelet, mode: str, low: int, high: int) -> int:
    """Return how many samples have these numbers of coefficients, the even number where two have."""
    if mode == "whole":
        return low + high
    if mode == "periodization":
        return 2 * low
    if mode == "full":
        return 2 * low + wavelet.rec_len - 2
    return 2 * low - wavelet.dec_len + 2
