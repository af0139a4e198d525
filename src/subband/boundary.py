"""Boundary modes: how a signal is extended beyond its ends, each mode as one index map.

Every mode is the same small formula. With ``n`` samples, the extended signal at any integer ``i`` is ::

    weight[i] * x[index[i]] + first[i] * x[0] + last[i] * x[n - 1]

so an engine needs one piece of code for all modes, and a new mode is a new map here and nothing elsewhere.

======================  =====================================================================================
mode                    the signal ``a b c d`` goes on as
======================  =====================================================================================
``zero``                ``0 0 | a b c d | 0 0``
``constant``            ``a a | a b c d | d d``
``symmetric``           ``b a | a b c d | d c``: mirrored at the border between samples
``reflect``             ``c b | a b c d | c b``: mirrored at the outermost sample
``periodic``            ``c d | a b c d | a b``
``smooth``              a straight line through the two outermost samples
``antisymmetric``       ``-b -a | a b c d | -d -c``
``antireflect``         ``2a-c 2a-b | a b c d | 2d-c 2d-b``
``periodization``       as ``periodic``, an odd signal first repeating its last sample: no extra coefficients
``whole``               as ``reflect``, with as many coefficients as samples (JPEG 2000)
======================  =====================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from subband.errors import ModeError, suggest_names

__all__ = ["MODES", "PYWAVELETS_MODES", "Extension", "Mixture", "check_mode", "extend", "is_expansive"]

#: The modes of PyWavelets, in its order.
PYWAVELETS_MODES = (
    "zero",
    "constant",
    "symmetric",
    "periodic",
    "smooth",
    "periodization",
    "reflect",
    "antisymmetric",
    "antireflect",
)

#: All modes: those of PyWavelets and ``whole``.
MODES = (*PYWAVELETS_MODES, "whole")

#: PyWavelets' short names, which it takes wherever it takes the long ones.
_SHORT_NAMES = {
    "zpd": "zero",
    "cpd": "constant",
    "sp1": "smooth",
    "sym": "symmetric",
    "ppd": "periodic",
    "per": "periodization",
    "asym": "antisymmetric",
    "symw": "reflect",
    "asymw": "antireflect",
}

IndexArray = np.ndarray[Any, np.dtype[np.int64]]
WeightArray = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, eq=False)
class Mixture:
    """A sparse matrix that is added to a sequence before it is extended: ``x[row] += weight * x[column]``.

    Adjoints read such sequences: few numbers, near the ends, are mixtures of others.

    Attributes
    ----------
    rows, columns : ndarray
        Where the matrix is not zero, row by row.
    weights : ndarray
        What it is there.
    """

    rows: IndexArray
    columns: IndexArray
    weights: WeightArray

    def apply(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Mix along the last axis of `x`.

        Examples
        --------
        >>> import numpy as np
        >>> from subband.boundary import Mixture
        >>> Mixture(np.array([0, 0]), np.array([1, 2]), np.array([10.0, 100.0])).apply(np.array([1.0, 2.0, 3.0]))
        array([321.,   2.,   3.])
        """
        mixed = x.copy()
        np.add.at(np.moveaxis(mixed, -1, 0), self.rows, np.moveaxis(self.weights * x[..., self.columns], -1, 0))
        return mixed


@dataclass(frozen=True)
class Extension:
    """The map from positions of the extended signal to samples, one entry for each position.

    If there is a `mixture`, it is made of the samples first.
    """

    index: IndexArray
    weight: WeightArray
    first: WeightArray
    last: WeightArray
    mixture: Mixture | None = None

    def apply(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Extend the last axis of `x`.

        Examples
        --------
        >>> import numpy as np
        >>> from subband.boundary import extend
        >>> extend("reflect", 4, -2, 6).apply(np.array([1.0, 2.0, 3.0, 4.0]))
        array([3., 2., 1., 2., 3., 4., 3., 2.])
        """
        if self.mixture is not None:
            x = self.mixture.apply(x)
        # all weights are whole numbers; in the dtype of the array they neither round nor widen it
        weight, first, last = (w.astype(np.int64).astype(x.dtype) for w in (self.weight, self.first, self.last))
        extended: np.ndarray[Any, Any] = np.where(weight == 0, x.dtype.type(0), x[..., self.index] * weight)
        # only where they take part: zero times an infinite sample would not be zero
        for part, sample in ((first, x[..., :1]), (last, x[..., -1:])):
            (positions,) = np.nonzero(part)
            extended[..., positions] += part[positions] * sample
        return extended

    def fold(self, x: np.ndarray[Any, Any], n: int) -> np.ndarray[Any, Any]:
        """Apply the transpose of `apply`: add the last axis of `x`, position by position, to `n` samples.

        Examples
        --------
        >>> import numpy as np
        >>> from subband.boundary import extend
        >>> extend("reflect", 4, -2, 6).fold(np.ones(8), 4)
        array([1., 3., 3., 1.])
        """
        assert self.mixture is None
        folded = np.zeros((*x.shape[:-1], n), x.dtype)
        for index, weight in ((self.index, self.weight), (0, self.first), (n - 1, self.last)):
            positions = np.broadcast_to(np.asarray(index), weight.shape)
            np.add.at(np.moveaxis(folded, -1, 0), positions, np.moveaxis(weight * x, -1, 0))
        return folded


def check_mode(mode: str, argument: str = "mode") -> str:
    """Return the full, lower-case name of a boundary mode; `argument` is what errors call it.

    Raises
    ------
    ModeError
        If there is no such mode.

    Examples
    --------
    >>> from subband.boundary import check_mode
    >>> check_mode("per")
    'periodization'
    """
    if mode in MODES:
        return mode
    name = mode.lower() if isinstance(mode, str) else mode
    name = _SHORT_NAMES.get(name, name)
    if name in MODES:
        return name
    raise ModeError(
        f"{argument}={mode!r} is not a boundary mode{suggest_names(str(mode), MODES)}; known modes: {', '.join(MODES)}"
    )


def is_expansive(mode: str) -> bool:
    """Tell whether a mode makes more coefficients than there are samples.

    Examples
    --------
    >>> from subband.boundary import is_expansive
    >>> is_expansive("symmetric"), is_expansive("whole")
    (True, False)
    """
    return mode not in ("periodization", "whole")


def extend(mode: str, n: int, start: int, stop: int) -> Extension:
    """Map positions ``start`` to ``stop - 1`` of the extended signal to its ``n`` samples.

    Parameters
    ----------
    mode : str
        A name from `MODES`; or ``padded``, the counterpart of ``periodization`` for adjoints; or ``parity``, the
        outermost of at least two samples at even positions for all even ones, and at odd positions likewise.
    n : int
        Number of samples, at least 1.
    start, stop : int
        The range of positions; samples themselves are at ``0 … n - 1``.

    Returns
    -------
    Extension
        Arrays of length ``stop - start``.

    Examples
    --------
    >>> from subband.boundary import extend
    >>> extend("symmetric", 4, -2, 6).index
    array([1, 0, 0, 1, 2, 3, 3, 2])
    >>> extend("antisymmetric", 3, -1, 4).weight
    array([-1.,  1.,  1.,  1., -1.])
    """
    i = np.arange(start, stop, dtype=np.int64)
    weight = np.ones(i.size)
    first = np.zeros(i.size)
    last = np.zeros(i.size)
    outside = (i < 0) | (i >= n)
    if mode == "zero":
        weight[outside] = 0.0
        index = np.clip(i, 0, n - 1)
    elif mode == "constant":
        index = np.clip(i, 0, n - 1)
    elif mode in ("symmetric", "antisymmetric"):
        period = i % (2 * n)
        mirrored = period >= n
        index = np.where(mirrored, 2 * n - 1 - period, period)
        if mode == "antisymmetric":
            weight[mirrored] = -1.0
    elif mode == "periodic":
        index = i % n
    elif mode == "periodization":
        index = np.minimum(i % (n + n % 2), n - 1)
    elif mode == "padded":  # adjoint of periodization: as periodic, a zero behind an odd signal
        index = np.minimum(i % (n + n % 2), n - 1)
        weight[i % (n + n % 2) >= n] = 0.0
    elif mode == "parity":
        index = np.where(i < 0, i % 2, np.where(i < n, i, n - 1 - (n - 1 - i) % 2))
    elif mode in ("reflect", "whole"):
        period = i % max(2 * (n - 1), 1)
        index = np.where(period >= n, 2 * (n - 1) - period, period)
    elif mode == "antireflect":
        turns, period = np.divmod(i, max(2 * (n - 1), 1))
        mirrored = period >= n
        index = np.where(mirrored, 2 * (n - 1) - period, period)
        if n > 1:
            weight[mirrored] = -1.0
            first = -2.0 * turns
            last = 2.0 * turns + 2.0 * mirrored
    elif mode == "smooth":
        index = np.clip(i, 0, n - 1)
        if n > 1:
            left, right = np.minimum(i, 0), np.maximum(i - (n - 1), 0)
            index[i < 0] = 1
            index[i >= n] = n - 2
            weight = np.where(i < 0, left, np.where(i >= n, -right, 1.0))
            first = np.where(i < 0, 1.0 - left, 0.0)
            last = np.where(i >= n, 1.0 + right, 0.0)
    else:
        raise ModeError(f"mode={mode!r} has no index map; known modes: {', '.join(MODES)}")
    return Extension(index, weight, first, last)
