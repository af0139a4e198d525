"""Salt-and-pepper noise: single pixels that are black or white, whatever the image has there."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np

from subband.arrays import to_host
from subband.enhance.models.base import NoiseModel
from subband.settings import check_settings, setting
from subband.typing import Array

__all__ = ["SaltAndPepper"]

#: How near to black or white a pixel has to be, and how far from its neighbours, as parts of what is between them.
_NEAR, _FAR = 0.02, 0.1

#: Rows and columns around a pixel; more of its own kind among them, as a part, are a dark or bright spot of the image.
_REACH, _SPOT = 2, 1 / 3

#: How often pixels are looked at again that had too few sound neighbours, and how many are looked at together.
_ROUNDS, _TOGETHER = 4, 2**18


@dataclass(frozen=True)
class SaltAndPepper(NoiseModel):
    """Pixels that are black or white by mistake: dead and hot ones, errors of transmission.

    They are replaced by the median of the sound pixels around them before the first stage, which then finds whatever
    other noise there is. Black and white are the least and the greatest value of an image.

    Parameters
    ----------
    amount : float
        The part of the pixels that `add` makes black or white.

    Notes
    -----
    A pixel counts as wrong if it is black or white, differs from the median of its sound neighbours by more than a
    tenth of the range, and fewer than a third of the 5 × 5 pixels around it are as it is. Computed on the host.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import data, psnr
    >>> from subband.enhance import SaltAndPepper
    >>> clean = data.camera().astype(float)
    >>> noisy = SaltAndPepper(0.1).add(clean, seed=0)
    >>> round(psnr(noisy, clean, 255)), psnr(SaltAndPepper().stabilise(noisy), clean, 255) > 30
    (15, True)
    """

    amount: float = setting(0.05, "The part of the pixels that becomes black or white.", least=0, most=1)
    name: ClassVar[str] = "salt-pepper"
    is_additive: ClassVar[bool] = True
    is_pointwise: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def stabilised_sigma(self) -> None:
        """What other noise there is, is measured."""
        return

    def _stabilise(self, x: Any, xp: Any) -> Any:
        host = np.array(to_host(x))
        for plane in host.reshape(-1, *host.shape[-2:]) if host.ndim > 1 else (host[np.newaxis],):
            _repair(plane)
        return host if xp is np else xp.asarray(host)

    def _add(self, x: Array, generator: np.random.Generator) -> Array:
        black, white = (float(x.min()), float(x.max())) if x.size and x.min() < x.max() else (0.0, 255.0)
        chance = generator.random(x.shape)
        return np.where(chance < self.amount / 2, black, np.where(chance < self.amount, white, x))


def _repair(plane: Array) -> None:
    """Replace wrong pixels of a plane, in place."""
    black, white = float(plane.min()), float(plane.max())
    span = white - black
    kinds = np.zeros(plane.shape, np.int8)
    kinds[plane <= black + _NEAR * span] = -1
    kinds[plane >= white - _NEAR * span] = 1
    if span == 0:
        return
    for _ in range(_ROUNDS):
        wrong = np.argwhere(kinds)
        values, around = (np.pad(each, _REACH, "symmetric") for each in (plane, kinds))
        parts = [wrong[start : start + _TOGETHER] for start in range(0, len(wrong), _TOGETHER)]
        if not sum(_repair_pixels(plane, kinds, values, around, part, _FAR * span) for part in parts):
            return


def _repair_pixels(plane: Array, kinds: Array, values: Array, around: Array, wrong: Array, far: float) -> int:
    """Replace those of some pixels that are wrong, and return how many."""
    rows, columns = wrong.T
    own = kinds[rows, columns]
    near = _gather(values, around, rows, columns, 1)
    wide = _gather(values, around, rows, columns, _REACH)
    same = np.mean(wide[1] == own[:, np.newaxis], axis=1)
    median, count = _find_median(*near)
    wider, more = _find_median(*wide)
    median, count = np.where(count > 0, median, wider), np.maximum(count, more)
    is_wrong = (same < _SPOT) & (count > 0) & (np.abs(plane[rows, columns] - median) > far)
    plane[rows[is_wrong], columns[is_wrong]] = median[is_wrong]
    kinds[rows[is_wrong], columns[is_wrong]] = 0
    return int(np.count_nonzero(is_wrong))


def _gather(values: Array, around: Array, rows: Array, columns: Array, reach: int) -> tuple[Array, Array]:
    """Return the values and kinds of all neighbours of some pixels."""
    steps = range(_REACH - reach, _REACH + reach + 1)
    indices = [(rows + down, columns + across) for down, across in product(steps, steps)]
    return np.stack([values[index] for index in indices], axis=1), np.stack(
        [around[index] for index in indices], axis=1
    )


def _find_median(values: Array, kinds: Array) -> tuple[Array, Array]:
    """Return the median of the sound values of each row, and how many there are."""
    ordered = np.sort(np.where(kinds == 0, values, np.inf), axis=1)
    count = np.sum(kinds == 0, axis=1)
    indices = np.stack([np.maximum(count - 1, 0) // 2, np.minimum(count // 2, ordered.shape[1] - 1)], axis=1)
    middle = np.take_along_axis(ordered, indices, 1)
    return np.where(count > 0, middle.mean(axis=1), 0), count
