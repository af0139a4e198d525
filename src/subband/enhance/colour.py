"""A colour space whose channels have little in common, and in which white noise stays white.

The three channels of a photograph are nearly the same picture. Turned into brightness and two differences by an
orthonormal matrix, most of the picture lies in the first, the other two are smooth, and noise of equal strength
in red, green and blue has the same strength in each of them.
"""

from __future__ import annotations

import numpy as np

from subband.typing import Array

__all__ = ["from_opponents", "to_opponents"]

_MATRIX = np.array(
    [
        [1.0, 1.0, 1.0],
        [1.0, 0.0, -1.0],
        [1.0, -2.0, 1.0],
    ]
)
_MATRIX /= np.linalg.norm(_MATRIX, axis=1, keepdims=True)


def to_opponents(pixels: Array) -> Array:
    """Turn red, green and blue (last axis) into planes (first axis): brightness, red − blue, magenta − green.

    Examples
    --------
    >>> to_opponents(np.full((1, 1, 3), 100.0)).ravel().round(3).tolist()
    [173.205, 0.0, 0.0]
    """
    return np.stack([pixels @ row.astype(pixels.dtype) for row in _MATRIX])


def from_opponents(planes: Array) -> Array:
    """Turn planes (first axis) back into red, green and blue (last axis).

    Examples
    --------
    >>> pixels = np.array([[[10.0, 200.0, 30.0]]])
    >>> np.allclose(from_opponents(to_opponents(pixels)), pixels)
    True
    """
    return np.ascontiguousarray(np.moveaxis(np.tensordot(_MATRIX.T.astype(planes.dtype), planes, 1), 0, -1))
