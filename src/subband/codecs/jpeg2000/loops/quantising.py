"""The compiled loop of the quantiser."""

from __future__ import annotations

import numpy as np

from subband.compiled.compiling import stored

__all__ = ["quantise_rows", "sum_errors"]

# Beyond this float32 has no neighbour that fits 32 bits.
_LARGEST = np.float32(2147483520.0)


@stored(nogil=True, fastmath={"contract", "nsz"}, error_model="numpy")
def quantise_rows(coefficients, scale, out):
    """Round towards zero; the loop has no branch, so that it runs on vectors."""
    for row in range(coefficients.shape[0]):
        for column in range(coefficients.shape[1]):
            value = coefficients[row, column] * scale
            out[row, column] = np.int32(min(max(value, -_LARGEST), _LARGEST))


@stored(nogil=True, error_model="numpy")
def sum_errors(coefficients, scale):
    """Return the squared distance of coefficients from what a decoder makes of them, in steps."""
    total = 0.0
    for row in range(coefficients.shape[0]):
        for column in range(coefficients.shape[1]):
            value = abs(coefficients[row, column] * scale)
            whole = np.floor(value)
            distance = value - whole - np.float32(0.5) if whole else value
            total += distance * distance
    return total
