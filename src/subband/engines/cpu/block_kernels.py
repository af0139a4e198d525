"""The compiled block-based level; see `subband.kernels.blocks`, which is the same for devices."""

from __future__ import annotations

import numba as nb

__all__ = ["merge_blocks", "split_blocks"]

_OPTIONS = {"nogil": True, "parallel": True, "cache": True, "error_model": "numpy"}


@nb.njit(**_OPTIONS)
def split_blocks(x, aa, ad, da, dd, down, across, rows, row_signs, columns, column_signs):
    """Write the four bands of images."""
    heights, widths = down.shape[1], across.shape[1]
    pairs = max(aa.shape[1], dd.shape[1])
    for task in nb.prange(x.shape[0] * pairs):
        image, n = task // pairs, task % pairs
        for m in range(max(aa.shape[2], dd.shape[2])):
            sum0 = sum1 = sum2 = sum3 = x.dtype.type(0)
            for k in range(heights):
                r = rows[2 * n + k]
                if r >= 0:
                    for j in range(widths):
                        c = columns[2 * m + j]
                        if c >= 0:
                            u = row_signs[2 * n + k] * column_signs[2 * m + j] * x[image, r, c]
                            sum0 += down[0, k] * across[0, j] * u
                            sum1 += down[0, k] * across[1, j] * u
                            sum2 += down[1, k] * across[0, j] * u
                            sum3 += down[1, k] * across[1, j] * u
            if n < aa.shape[1]:
                if m < aa.shape[2]:
                    aa[image, n, m] = sum0
                if m < ad.shape[2]:
                    ad[image, n, m] = sum1
            if n < da.shape[1]:
                if m < da.shape[2]:
                    da[image, n, m] = sum2
                if m < dd.shape[2]:
                    dd[image, n, m] = sum3


@nb.njit(**_OPTIONS)
def merge_blocks(x, aa, ad, da, dd, down, across, rows, row_signs, columns, column_signs):
    """Write the images that four bands came from."""
    heights, widths = down.shape[1], across.shape[1]
    pairs = (x.shape[1] + 1) // 2
    for task in nb.prange(x.shape[0] * pairs):
        image, n = task // pairs, task % pairs
        for m in range((x.shape[2] + 1) // 2):
            sum0 = sum1 = sum2 = sum3 = x.dtype.type(0)
            for k in range(heights):
                r = rows[2 * n + k]
                if r >= 0:
                    for j in range(widths):
                        c = columns[2 * m + j]
                        if c >= 0:
                            if r & 1:
                                u = dd[image, r >> 1, c >> 1] if c & 1 else da[image, r >> 1, c >> 1]
                            else:
                                u = ad[image, r >> 1, c >> 1] if c & 1 else aa[image, r >> 1, c >> 1]
                            u = row_signs[2 * n + k] * column_signs[2 * m + j] * u
                            sum0 += down[0, k] * across[0, j] * u
                            sum1 += down[0, k] * across[1, j] * u
                            sum2 += down[1, k] * across[0, j] * u
                            sum3 += down[1, k] * across[1, j] * u
            x[image, 2 * n, 2 * m] = sum0
            if 2 * m + 1 < x.shape[2]:
                x[image, 2 * n, 2 * m + 1] = sum1
            if 2 * n + 1 < x.shape[1]:
                x[image, 2 * n + 1, 2 * m] = sum2
                if 2 * m + 1 < x.shape[2]:
                    x[image, 2 * n + 1, 2 * m + 1] = sum3
