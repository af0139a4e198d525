"""Stripes: lines of an image that are brighter or darker than they should be, as scanners and sensors make them."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import Any, ClassVar

import numpy as np

from subband.arrays import to_host
from subband.engines.filters.constants import NORMAL_MEDIAN
from subband.enhance.models.base import NoiseModel
from subband.settings import check_settings, setting
from subband.transforms import decompose, reconstruct
from subband.typing import Array

__all__ = ["Stripes"]

#: A wavelet that tells a line from its neighbours, and the levels of lines that are as wide as stripes are.
_WAVELET, _LEVELS = "sym4", 5

#: Medians of lines that are further from those of the others belong to the image.
_FAR = 4.0


@dataclass(frozen=True)
class Stripes(NoiseModel):
    """Rows or columns with an offset of their own: scanner lines, sensors whose columns have an amplifier each.

    The offsets are removed before the first stage, which then finds whatever other noise there is.

    Parameters
    ----------
    along : {"rows", "columns", "both"}
        Which lines have offsets.
    sigma : float
        Standard deviation of the offsets that `add` makes.

    Notes
    -----
    Lines are told apart in the bands of a transform across them alone. In each, the median of a line over its whole
    length is what stripes and long edges of the image have in common. Offsets that are independent are as strong on
    every level as on the finest, where images have least; what is more is left to the image, and so are single lines
    that are far from all others. Computed on the host.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import data, psnr
    >>> from subband.enhance import Stripes
    >>> clean = data.camera().astype(float)
    >>> noisy = Stripes("rows", 10.0).add(clean, seed=0)
    >>> psnr(Stripes("rows").stabilise(noisy), clean, 255) > psnr(noisy, clean, 255) + 6
    True
    """

    along: str = setting(
        "rows", "Which lines have offsets.", choices={"rows": "Rows", "columns": "Columns", "both": "Both"}
    )
    sigma: float = setting(10.0, "Standard deviation of the offsets that are added.", unit="of 255", least=0)
    name: ClassVar[str] = "stripes"
    is_additive: ClassVar[bool] = True
    is_pointwise: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def stabilised_sigma(self) -> None:
        """What other noise there is, is measured."""
        return

    @property
    def _axes(self) -> tuple[int, ...]:
        """The axes across which stripes follow each other."""
        return {"rows": (-2,), "columns": (-1,), "both": (-2, -1)}[self.along]

    def _stabilise(self, x: Any, xp: Any) -> Any:
        host = np.asarray(to_host(x))
        for axis in self._axes if host.ndim > 1 else ():
            host = _remove(host, host.ndim + axis)
        return host.copy() if xp is np else xp.asarray(host)

    def _add(self, x: Array, generator: np.random.Generator) -> Array:
        for axis in self._axes if x.ndim > 1 else ():
            shape = [1] * x.ndim
            shape[axis] = x.shape[axis]
            x = x + self.sigma * generator.standard_normal(shape)
        return x


def _remove(planes: Array, axis: int) -> Array:
    """Return planes without the offsets of lines that follow each other along an axis."""
    along = planes.ndim - 1 if axis == planes.ndim - 2 else planes.ndim - 2
    level = max(1, min(_LEVELS, int(np.log2(planes.shape[axis])) - 3)) if planes.shape[axis] > 1 else 0
    if not level or planes.shape[along] < 2:
        return planes
    pyramid = decompose(planes, _WAVELET, level, "symmetric", axes=(axis,))
    fine = pyramid.details[-1]["d"]
    medians = np.median(fine, axis=along, keepdims=True)
    # what medians of noise have by themselves
    floor = pi / 2 * (np.median(np.abs(fine - medians)) / NORMAL_MEDIAN) ** 2 / planes.shape[along]
    variance = max(_measure_variance(medians) - floor, 0.0)

    def clean(band: Array, _level: int, key: str) -> Array:
        if key != "d" or not variance:
            return band
        offsets = np.median(band, axis=along, keepdims=True)
        whole = _measure_variance(offsets)
        share = min(variance / whole, 1.0) if whole else 0.0
        return np.asarray(band - np.where(np.abs(offsets) < _FAR * whole**0.5, share * offsets, 0))

    return np.asarray(reconstruct(pyramid.map(clean)), planes.dtype)


def _measure_variance(offsets: Array) -> float:
    """Return the variance of most offsets, whatever the others are."""
    return float(np.median(np.abs(offsets)) / NORMAL_MEDIAN) ** 2
