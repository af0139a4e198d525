"""Regions of interest, written by the max-shift method (ISO/IEC 15444-1, annex H).

Coefficients that a region depends on are multiplied by a power of two that is larger than all others, so that their bit
planes come first. A decoder knows them by their size, and needs not be told where the region is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from subband.codecs.jpeg2000.geometry import Rectangle, TileLayout
from subband.codecs.jpeg2000.parameters import ImageSize
from subband.codecs.jpeg2000.transform import find_band_window, find_windows
from subband.errors import ArgumentError
from subband.typing import Array

__all__ = ["find_shift", "raise_regions"]

#: Bits of a coefficient with those that it is shifted by, as decoders have them.
_MOST_BITS = 30


def find_shift(largest: int) -> int:
    """Return by how many bits coefficients are shifted, so that they are larger than all of this size.

    Raises
    ------
    ArgumentError
        If that leaves too few bits for the coefficients.

    Examples
    --------
    >>> find_shift(300)
    10
    """
    bits = int(largest).bit_length()
    # one bit more than the standard asks for: OpenJPEG compares with coefficients that it has doubled
    shift = bits + 1
    if bits + shift > _MOST_BITS:
        raise ArgumentError(
            f"roi needs {bits + shift} bits for coefficients of {bits}, and there are {_MOST_BITS}; use a larger "
            "step, or samples of fewer bits"
        )
    return shift


def raise_regions(
    samples: Array,
    table: Array,
    size: ImageSize,
    layouts: Sequence[TileLayout],
    regions: Sequence[Rectangle],
    shift: int,
    *,
    is_reversible: bool,
) -> None:
    """Shift the quantised coefficients that regions depend on.

    Parameters
    ----------
    samples : ndarray of int32
        The coefficients of all blocks; written to.
    table : ndarray of int64
        Offset, stride, height and width of each block in turn, and its orientation.
    size : ImageSize
        The image.
    layouts : sequence of TileLayout
        The tiles that the blocks belong to.
    regions : sequence of Rectangle
        On the reference grid.
    shift : int
        By how many bits.
    is_reversible : bool
        Whether the wavelet is 5/3, which reaches less far than 9/7.
    """
    first = 0
    for layout in layouts:
        masks = _mask_bands(size, layout, regions, is_reversible)
        for number in np.flatnonzero(np.isin(layout.blocks[:, 4], list(masks))):
            x0, y0, x1, y1, which = layout.blocks[number].tolist()
            area = layout.bands[which].rectangle
            mask = masks[which][y0 - area.y0 : y1 - area.y0, x0 - area.x0 : x1 - area.x0]
            start, stride, height, width = table[first + number, :4].tolist()
            block = as_strided(samples[start:], (height, width), (stride * samples.itemsize, samples.itemsize))
            np.left_shift(block, shift, out=block, where=mask)
        first += len(layout.blocks)


def _mask_bands(
    size: ImageSize, layout: TileLayout, regions: Sequence[Rectangle], is_reversible: bool
) -> dict[int, Array]:
    """Return which coefficients of a tile regions depend on, for each band that has any."""
    masks: dict[int, Array] = {}
    for component, own in enumerate(layout.components):
        levels = layout.resolutions[component]
        steps = size.components[component]
        # tiles that are alike have the coordinates of the first of them
        whole = levels[-1].rectangle
        across, down = own.x0 - whole.x0, own.y0 - whole.y0
        for region in regions:
            area = region.divide(steps.dx, steps.dy)
            moved = Rectangle(area.x0 - across, area.y0 - down, area.x1 - across, area.y1 - down)
            inside = moved.intersect(whole)
            if inside.area == 0:
                continue
            merged = find_windows(inside, [level.rectangle for level in levels], is_reversible).merged
            for level, window in zip(levels, merged, strict=True):
                for number in level.bands:
                    band = layout.bands[number]
                    need = find_band_window(window, band.kind).intersect(band.rectangle)
                    if need.area:
                        left, top = band.rectangle.x0, band.rectangle.y0
                        mask = masks.setdefault(number, np.zeros((band.rectangle.height, band.rectangle.width), bool))
                        mask[need.y0 - top : need.y1 - top, need.x0 - left : need.x1 - left] = True
    return masks
