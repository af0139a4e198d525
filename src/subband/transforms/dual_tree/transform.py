"""`dtcwt` and `idtcwt`: from an array to a `DualTreePyramid` and back."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from subband.arrays import as_computable, cast, join_complex, split_complex
from subband.engines import Engine
from subband.engines.dispatch import engine_for, takes_arrays
from subband.errors import ArgumentTypeError, AxesError, DtypeError, LevelError, LevelTypeError, ShapeError
from subband.transforms.arguments import Axes, normalise_axes
from subband.transforms.dual_tree.orientations import ORIENTATIONS, combine, separate
from subband.transforms.dual_tree.plan import dual_tree_plan
from subband.transforms.dual_tree.pyramid import DualTreePyramid
from subband.typing import Array, Bands
from subband.wavelets import WaveletLike
from subband.wavelets.dual_tree import find_biort, find_qshift

__all__ = ["check_dual_tree_level", "dtcwt", "idtcwt"]


@takes_arrays("data")
def dtcwt(
    data: Any,
    biort: WaveletLike = "near_sym_a",
    qshift: WaveletLike = "qshift_a",
    level: int = 3,
    axes: Axes = None,
    *,
    engine: str | Engine | None = None,
) -> DualTreePyramid:
    """Dual-tree complex wavelet transform (DTCWT) of a signal, an image or a volume.

    The magnitudes of its coefficients hardly change when the array is shifted, and those of images and volumes tell
    orientations apart: six of an image, at 15, 45, 75, 105, 135 and 165 degrees, and 28 of a volume.

    Parameters
    ----------
    data : array_like
        Real samples of any shape; odd axes repeat their last sample. Axes not in `axes` are carried along.
    biort : str or Wavelet
        The filters of the first level: ``'antonini'``, ``'legall'``, ``'near_sym_a'``, ``'near_sym_b'``, or a wavelet
        with symmetric filters of odd length such as ``'bior2.2'``.
    qshift : str or Wavelet
        The filters of the other levels: ``'qshift_06'``, ``'qshift_a'``, ``'qshift_b'``, ``'qshift_c'`` or
        ``'qshift_d'``, from short to long.
    level : int
        Number of levels.
    axes : int or sequence of int, optional
        One to three axes to transform; all by default.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    DualTreePyramid
        With `lowpass` and `highpasses`, as `idtcwt` takes them.

    Raises
    ------
    UnknownWaveletError
        If there are no filters of that name.
    LevelError
        If there are more levels than halve an axis, or a negative number of them.
    AxesError
        If there are no or more than three axes, or one is repeated or does not exist.
    DtypeError
        If `data` holds complex numbers, or no numbers.

    Notes
    -----
    The coefficients are those of the packages ``dtcwt`` and ``pytorch_wavelets``, borders included: samples are
    mirrored, the outermost one repeated, and so are low-pass coefficients of a level of which each tree has an odd
    number. ``pytorch_wavelets`` has real and imaginary parts in an axis of length 2, and orientations in the third.

    An image has 4 times as many numbers as before, a volume 8 times. The transform costs as much as a decimated
    one of so many samples.

    References
    ----------
    N. Kingsbury, Complex wavelets for shift invariant analysis and filtering of signals, Applied and Computational
    Harmonic Analysis 10, 2001, doi:10.1006/acha.2000.0343.

    I. W. Selesnick, R. G. Baraniuk and N. G. Kingsbury, The dual-tree complex wavelet transform, IEEE Signal Processing
    Magazine 22, 2005, doi:10.1109/MSP.2005.1550194.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import dtcwt, idtcwt
    >>> x = np.random.default_rng(0).normal(size=(45, 60))
    >>> pyramid = dtcwt(x, level=3)
    >>> [band.shape for band in pyramid.highpasses]
    [(23, 30, 6), (12, 15, 6), (6, 8, 6)]
    >>> np.allclose(idtcwt(pyramid), x)
    True

    The energy of a level hardly depends on where a step is:

    >>> steps = np.arange(256) >= np.array([[120], [123], [126]])
    >>> fourth = dtcwt(steps, "near_sym_b", "qshift_c", level=4, axes=1).highpasses[3]
    >>> (np.abs(fourth[:, 4:12]) ** 2).sum((1, 2)).round(2)
    array([0.85, 0.84, 0.85])
    """
    x = as_computable(data)
    if x.dtype.kind == "c":
        raise DtypeError(
            f"data has dtype {x.dtype}; the dual-tree transform takes real numbers: give real and imaginary part apart"
        )
    if x.dtype.itemsize == 2:  # there are no complex numbers of halves
        x = cast(x, np.float32)
    normal = normalise_axes(axes, x.ndim, distinct=True)
    if len(normal) not in ORIENTATIONS:
        raise AxesError(
            f"axes={normal} of data of shape {x.shape} are {len(normal)} axes; the dual-tree transform takes 1 to 3: "
            "name them with axes"
        )
    for axis in normal:
        if x.shape[axis] == 0:
            raise ShapeError(f"axis {axis} of data of shape {x.shape} is empty; it needs at least 1 sample")
    count = check_dual_tree_level(level, x.shape, normal)
    plan = dual_tree_plan(x.shape, normal, find_biort(biort), find_qshift(qshift), count)
    lowpass, details = plan.forward(engine_for(x), x)
    highpasses = [join_complex([*combine(bands, normal).values()]) for bands in details]
    return DualTreePyramid(lowpass, highpasses, plan)


@takes_arrays("pyramid")
def idtcwt(pyramid: DualTreePyramid, *, engine: str | Engine | None = None) -> Array:
    """Inverse dual-tree complex wavelet transform.

    Parameters
    ----------
    pyramid : DualTreePyramid
        As `dtcwt` or `DualTreePyramid.map` returns it. Levels of `highpasses` that are None count as zeros.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    array
        Of exactly the original shape: the mean of what the trees give.

    Raises
    ------
    ArgumentTypeError
        If it is given something else.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import dtcwt, idtcwt
    >>> x = np.arange(10.0)
    >>> np.allclose(idtcwt(dtcwt(x, "near_sym_b", "qshift_b", level=2)), x)
    True
    """
    if not isinstance(pyramid, DualTreePyramid):
        raise ArgumentTypeError(f"pyramid is a {type(pyramid).__name__}; give what `dtcwt` returned")
    plan = pyramid.plan
    lowpass = as_computable(pyramid.lowpass, "lowpass")
    keys = ORIENTATIONS[len(plan.axes)]
    details: list[Bands] = []
    for number, highpass in enumerate(pyramid.highpasses):
        if highpass is None:
            details.append({})
            continue
        pairs = split_complex(as_computable(highpass, f"highpasses[{number}]"))
        parts = [(cast(real, lowpass.dtype), cast(imaginary, lowpass.dtype)) for real, imaginary in pairs]
        details.append(separate(dict(zip(keys, parts, strict=True)), plan.axes))
    x: Array = plan.inverse(engine_for(lowpass), lowpass, details)
    return x


def check_dual_tree_level(level: int, shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """Return the number of levels, checked against the most that halve the longest axis.

    Examples
    --------
    >>> check_dual_tree_level(9, (64, 256), (0, 1))
    Traceback (most recent call last):
        ...
    subband.errors.LevelError: level=9 is too large for axis 1 of length 256; the maximum is 8
    """
    try:
        count = index(level)
    except TypeError:
        raise LevelTypeError(f"level={level!r} is not an integer; use 0 or more") from None
    if count < 0:
        raise LevelError(f"level={count} is negative; use 0 or more")
    longest = max(axes, key=lambda axis: shape[axis])
    most = max((shape[longest] - 1).bit_length(), 1)
    if count > most:
        raise LevelError(
            f"level={count} is too large for axis {longest} of length {shape[longest]}; the maximum is {most}"
        )
    return count
