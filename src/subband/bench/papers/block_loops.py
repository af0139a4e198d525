"""The compiled block-based level; see `subband.bench.papers.block_source`, which is the same for devices."""

from __future__ import annotations

from subband.compiled.compiling import stored

__all__ = ["split_blocks"]


@stored(nogil=True, error_model="numpy")
def split_blocks(x, aa, ad, da, dd, down, across, rows, row_signs, columns, column_signs, b0, b1, r0, r1, c0, c1):
    """Write rows `r0` … `r1`, columns `c0` … `c1` of the four bands of the images `b0` … `b1`."""
    heights, widths = down.shape[1], across.shape[1]
    for line in range((b1 - b0) * (r1 - r0)):
        image, n = b0 + line // (r1 - r0), r0 + line % (r1 - r0)
        for m in range(c0, c1):
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
