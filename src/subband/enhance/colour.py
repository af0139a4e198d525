"""Colour spaces whose channels have little in common.

The three channels of a photograph are nearly the same image. Turned into brightness and two differences, most of the
image is in the first, and the other two are smooth. By an orthonormal matrix, noise of equal strength in red, green
and blue has the same strength in each of them: the opponents. Y'CbCr is what JPEG and video use.
"""

from __future__ import annotations

import numpy as np

from subband.typing import Array

__all__ = [
    "FROM_OPPONENTS",
    "FROM_YCBCR",
    "TO_OPPONENTS",
    "TO_YCBCR",
    "from_ycbcr",
    "to_ycbcr",
]

#: Red, green and blue to Y'CbCr of full range, as JFIF has it (ITU-R BT.601); Cb and Cr are centred on 0.
TO_YCBCR = np.array(
    [
        [0.299, 0.587, 0.114],
        [-0.299 / 1.772, -0.587 / 1.772, 0.5],
        [0.5, -0.587 / 1.402, -0.114 / 1.402],
    ]
)

#: The way back.
FROM_YCBCR = np.linalg.inv(TO_YCBCR)

#: Red, green and blue to brightness, red − blue and magenta − green, each of the same strength of noise.
TO_OPPONENTS = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, -1.0], [1.0, -2.0, 1.0]])
TO_OPPONENTS /= np.linalg.norm(TO_OPPONENTS, axis=1, keepdims=True)

#: The way back.
FROM_OPPONENTS = np.ascontiguousarray(TO_OPPONENTS.T)


def to_ycbcr(pixels: Array) -> Array:
    """Turn red, green and blue (last axis) into planes (first axis): Y', Cb and Cr, the last two centred on 0.

    Integers become float32.

    Examples
    --------
    >>> to_ycbcr(np.array([[[0, 0, 255], [255, 0, 0]]], np.uint8))[:, 0].round().tolist()
    [[29.0, 76.0], [128.0, -43.0], [-21.0, 128.0]]
    """
    return _change_colour(TO_YCBCR, np.moveaxis(pixels, -1, 0))


def from_ycbcr(planes: Array) -> Array:
    """Turn planes (first axis) back into red, green and blue (last axis), neither rounded nor clipped.

    Examples
    --------
    >>> pixels = np.array([[[10, 200, 30]]], np.uint8)
    >>> from_ycbcr(to_ycbcr(pixels)).round().tolist()
    [[[10.0, 200.0, 30.0]]]
    """
    return np.moveaxis(_change_colour(FROM_YCBCR, planes), 0, -1)


def _change_colour(matrix: Array, planes: Array) -> Array:
    """Multiply a matrix with the first axis of an array."""
    dtype = planes.dtype if planes.dtype.kind == "f" else np.dtype(np.float32)
    flat = planes.reshape(3, -1).astype(dtype, copy=False)
    return (matrix.astype(dtype) @ flat).reshape(planes.shape)
