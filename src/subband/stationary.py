"""Plans of stationary (undecimated) transforms: every band has the shape of the (extended) array.

A stationary level does not drop every second coefficient, so nothing depends on where the signal begins; the price is
that each band is as large as the array.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import prod

from subband.boundary import check_mode
from subband.errors import LevelError, ShapeError
from subband.plan import list_keys
from subband.wavelets import Wavelet

__all__ = [
    "StationaryAxisPlan",
    "StationaryPlan",
    "StationaryTransformPlan",
    "stationary_plan",
    "stationary_transform_plan",
]


@dataclass(frozen=True)
class StationaryAxisPlan:
    """One undecimated level along one axis: as many low and high coefficients as samples, the signal periodic.

    With `step` = 1, 2, 4 … the distance between the taps ("à trous") ::

        lo[n] = sum_k dec_lo[k] * x[n + step * (L / 2 - k)]                  and hi likewise
        x[n]  = sum_k rec_lo[k] / 2 * lo[n + step * (L / 2 - 1 - k)] + ...   the same of hi
    """

    wavelet: Wavelet
    length: int
    step: int


@dataclass(frozen=True)
class StationaryPlan:
    """One undecimated level of a separable transform; all bands have the array's shape."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    plans: tuple[StationaryAxisPlan, ...]

    @property
    def band_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of every band, ``'aa'`` to ``'dd'`` in the order of counting."""
        return dict.fromkeys(list_keys(len(self.axes)), self.shape)


@lru_cache(maxsize=1024)
def stationary_plan(
    shape: tuple[int, ...], axes: tuple[int, ...], wavelets: tuple[Wavelet, ...], level: int
) -> StationaryPlan:
    """Plan undecimated level number `level` (1 is the finest) along distinct, non-negative `axes`."""
    step = 1 << (level - 1)
    plans = tuple(StationaryAxisPlan(w, shape[a], step) for a, w in zip(axes, wavelets, strict=True))
    return StationaryPlan(shape, axes, plans)


@dataclass(frozen=True)
class StationaryTransformPlan:
    """A whole undecimated transform of an array of any size in any boundary mode.

    The array is first extended by `margins` samples on both sides of each axis, as its mode says, so that no
    coefficient that matters feels the periodic wrap of `StationaryAxisPlan`; the inverse cuts the margins off. A
    periodic signal needs none.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    wavelets: tuple[Wavelet, ...]
    modes: tuple[str, ...]
    margins: tuple[int, ...]
    levels: tuple[StationaryPlan, ...] = field(repr=False)

    reversible = False

    @property
    def level(self) -> int:
        """Number of levels."""
        return len(self.levels)

    @property
    def extended_shape(self) -> tuple[int, ...]:
        """Shape of the extended array and of every band."""
        shape = list(self.shape)
        for axis, margin in zip(self.axes, self.margins, strict=True):
            shape[axis] += 2 * margin
        return tuple(shape)

    @property
    def approximation_shape(self) -> tuple[int, ...]:
        """Shape of the coarsest band."""
        return self.extended_shape

    @property
    def size(self) -> int:
        """Number of coefficients in all bands."""
        bands = self.level * ((1 << len(self.axes)) - 1) + 1
        return prod(self.extended_shape) * bands


@lru_cache(maxsize=256)
def stationary_transform_plan(
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    wavelets: tuple[Wavelet, ...],
    modes: tuple[str, ...],
    level: int,
) -> StationaryTransformPlan:
    """Plan `level` undecimated levels along distinct, non-negative `axes`, one wavelet and mode for each.

    Examples
    --------
    >>> from subband.wavelets import Wavelet
    >>> plan = stationary_transform_plan((100,), (0,), (Wavelet("db2"),), ("symmetric",), 3)
    >>> plan.margins, plan.extended_shape
    ((14,), (128,))
    >>> stationary_transform_plan((100,), (0,), (Wavelet("db2"),), ("periodic",), 3).extended_shape
    (100,)
    """
    if level < 0:
        raise LevelError(f"level={level} is negative; use 0 or more")
    for axis in axes:
        if shape[axis] < 1:
            raise ShapeError(f"axis {axis} of an array of shape {shape} is empty; it needs at least 1 sample")
    modes = tuple(check_mode(mode) for mode in modes)
    margins = tuple(
        0 if mode == "periodic" else (2**level - 1) * (wavelet.dec_len // 2)
        for wavelet, mode in zip(wavelets, modes, strict=True)
    )
    frame = StationaryTransformPlan(shape, axes, wavelets, modes, margins, ())
    levels = tuple(stationary_plan(frame.extended_shape, axes, wavelets, k + 1) for k in range(level))
    return StationaryTransformPlan(shape, axes, wavelets, modes, margins, levels)
