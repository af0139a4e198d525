"""The coefficients of a dual-tree transform, with all that is needed to invert them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from subband.arrays import stack_last, to_host
from subband.errors import CoefficientsError, LevelError, ShapeError
from subband.transforms.dual_tree.orientations import ORIENTATIONS
from subband.transforms.dual_tree.plan import DualTreePlan
from subband.typing import Array

__all__ = ["DualTreePyramid"]

#: What the stripes of each orientation of an image have as their angle against the horizontal, in degrees.
_ANGLES = (15, 45, 75, 105, 135, 165)


@dataclass(frozen=True, eq=False, repr=False)
class DualTreePyramid:
    """The bands of an array under the dual-tree complex wavelet transform.

    Attributes
    ----------
    lowpass : array
        Real low-pass coefficients of the coarsest level, those of both trees in turn along each axis.
    highpasses : tuple of array
        Complex coefficients of each level, the finest first. The last axis has the orientations: one for a signal, 6
        for an image, 28 for a volume. None stands for zeros.
    plan : DualTreePlan
        What was done.

    Raises
    ------
    CoefficientsError
        If arrays have not the shapes of the plan.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import dtcwt
    >>> pyramid = dtcwt(np.zeros((64, 48)), level=2)
    >>> pyramid
    <DualTreePyramid of (64, 48): 2 levels of 'near_sym_a' and 'qshift_a', along axes (0, 1)>
    >>> pyramid.lowpass.shape, [band.shape for band in pyramid.highpasses]
    ((32, 24), [(32, 24, 6), (16, 12, 6)])
    """

    lowpass: Array
    highpasses: Sequence[Any]
    plan: DualTreePlan

    def __post_init__(self) -> None:
        object.__setattr__(self, "highpasses", tuple(self.highpasses))
        if len(self.highpasses) != self.level:
            raise CoefficientsError(f"highpasses has {len(self.highpasses)} levels, and the plan has {self.level}")
        _check_shape("lowpass", self.lowpass, self.plan.lowpass_shape)
        for number, (band, shape) in enumerate(zip(self.highpasses, self.plan.highpass_shapes, strict=True)):
            if band is not None:
                _check_shape(f"highpasses[{number}]", band, shape)

    @property
    def level(self) -> int:
        """Number of levels."""
        return self.plan.level

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array that was transformed."""
        return self.plan.shape

    @property
    def axes(self) -> tuple[int, ...]:
        """The transformed axes."""
        return self.plan.axes

    @property
    def orientations(self) -> tuple[str, ...]:
        """Keys of the orientations: low (a) or high (d) along each axis, and signs that tell bands of one kind apart.

        Examples
        --------
        >>> import numpy as np
        >>> from subband import dtcwt
        >>> dtcwt(np.zeros((8, 8)), level=1).orientations
        ('da+', 'dd+', 'ad+', 'ad-', 'dd-', 'da-')
        """
        return ORIENTATIONS[len(self.axes)]

    @property
    def angles(self) -> tuple[int, ...] | None:
        """Of an image, the angle of the stripes of each orientation against its rows, in degrees; else None."""
        return _ANGLES if len(self.axes) == 2 else None

    def __iter__(self) -> Iterator[Any]:
        """Yield the low-pass and the list of high-passes: ``lowpass, highpasses = dtcwt(x)``."""
        return iter((self.lowpass, self.highpasses))

    def bands(self) -> Iterator[tuple[int, str, Array]]:
        """Yield ``(level, key, array)`` of every band: level 1 is the finest, the low-pass comes first.

        The key of the low-pass is ``'a'`` for each axis. Levels that are None are left out.
        """
        yield self.level, "a" * len(self.axes), self.lowpass
        for level in range(self.level, 0, -1):
            if self.highpasses[level - 1] is not None:
                for number, key in enumerate(self.orientations):
                    yield level, key, self.highpasses[level - 1][..., number]

    def map(self, function: Callable[[Array, int, str], Array]) -> DualTreePyramid:
        """Return a pyramid whose every band is ``function(band, level, key)``.

        Examples
        --------
        What is nearly horizontal, and nothing else:

        >>> import numpy as np
        >>> from subband import data, dtcwt, idtcwt
        >>> pyramid = dtcwt(data.camera().astype(float))
        >>> horizontal = pyramid.map(lambda band, level, key: band * (key in ("da+", "da-")))
        >>> idtcwt(horizontal).shape
        (512, 512)
        """
        lowpass = function(self.lowpass, self.level, "a" * len(self.axes))
        highpasses = []
        for level, highpass in enumerate(self.highpasses, 1):
            if highpass is not None:
                bands = [function(highpass[..., number], level, key) for number, key in enumerate(self.orientations)]
                for key, band in zip(self.orientations, bands, strict=True):
                    _check_shape(f"band {key!r} of level {level}", band, self.plan.highpass_shapes[level - 1][:-1])
                highpass = stack_last(bands)
            highpasses.append(highpass)
        return DualTreePyramid(lowpass, highpasses, self.plan)

    def picture(self, level: int = 1) -> Array:
        """Return the magnitudes that an image has at a level, one orientation beside the other, as 8-bit grey values.

        Above are 15, 45 and 75 degrees, below 165, 135 and 105, each under its mirror image. White is the magnitude
        that one in a hundred exceeds.

        Parameters
        ----------
        level : int
            Which, from 1, the finest.

        Returns
        -------
        ndarray of uint8
            Of NumPy, whatever the bands are.

        Raises
        ------
        ShapeError
            If it was not an image, two axes and no more, that was transformed.
        LevelError
            If there is no such level.

        Examples
        --------
        >>> from subband import data, dtcwt
        >>> dtcwt(data.camera().astype(float)).picture(level=2).shape
        (256, 384)
        """
        if len(self.shape) != 2 or len(self.axes) != 2:
            raise ShapeError(
                f"an array of shape {self.shape}, transformed along axes {self.axes}, cannot be drawn; "
                "transform an image of rows × columns"
            )
        if level not in range(1, self.level + 1) or self.highpasses[level - 1] is None:
            raise LevelError(f"level={level!r} has no coefficients; there are {self.level} levels, the finest is 1")
        magnitudes = np.moveaxis(np.abs(to_host(self.highpasses[level - 1])), -1, 0)
        upper, lower = (np.concatenate([*magnitudes[order]], axis=1) for order in ([0, 1, 2], [5, 4, 3]))
        mosaic = np.concatenate([upper, lower])
        white = float(np.quantile(mosaic, 0.99)) or 1.0
        return np.clip(np.rint(mosaic * (255.0 / white)), 0, 255).astype(np.uint8)

    def _replace_arrays(self, function: Callable[[Any], Any]) -> DualTreePyramid:
        """Return the same pyramid with arrays of another kind; called by `subband.arrays`."""
        highpasses = [None if band is None else function(band) for band in self.highpasses]
        return DualTreePyramid(function(self.lowpass), highpasses, self.plan)

    def __repr__(self) -> str:
        levels = f"{self.level} level{'' if self.level == 1 else 's'}"
        names = f"{self.plan.biort.name!r} and {self.plan.qshift.name!r}"
        return f"<DualTreePyramid of {self.shape}: {levels} of {names}, along axes {self.axes}>"


def _check_shape(name: str, band: Any, shape: tuple[int, ...]) -> None:
    if not hasattr(band, "shape"):
        raise CoefficientsError(f"{name} is {band!r}, which is not an array; functions on bands must return arrays")
    if tuple(band.shape) != shape:
        raise CoefficientsError(f"{name} has shape {tuple(band.shape)}; the plan asks for {shape}")
