"""From samples to quantised coefficients of code-blocks: colours, wavelet, steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from subband.codecs.jpeg2000.colours import split_planes
from subband.codecs.jpeg2000.components import Component
from subband.codecs.jpeg2000.geometry import Rectangle, TileLayout
from subband.codecs.jpeg2000.parameters import ImageSize
from subband.codecs.jpeg2000.steps import Quantiser
from subband.codecs.jpeg2000.transform import analyse, find_scale
from subband.compiled import Kernels
from subband.engines.threads import get_threads, run_tasks
from subband.typing import Array

__all__ = ["TileBands", "measure_loss", "quantise_tiles", "sample_blocks", "transform_tile"]

_loops = Kernels("subband.codecs.jpeg2000.loops.quantising")

# Rows that a thread treats at once.
_ROWS = 64


@dataclass(frozen=True, eq=False)
class TileBands:
    """The coefficients of a tile: where they lie, and one array for each band of the layout."""

    layout: TileLayout
    bands: Sequence[Array]


def transform_tile(
    size: ImageSize,
    components: Sequence[Component],
    layout: TileLayout,
    levels: int,
    *,
    is_reversible: bool,
    is_mixed: bool,
    engine: str | None = None,
) -> TileBands:
    """Transform the samples of a tile.

    Parameters
    ----------
    size : ImageSize
        The grid.
    components : sequence of Component
        Of the whole image.
    layout : TileLayout
        The tile.
    levels : int
        Of decomposition.
    is_reversible : bool
        5/3 in integers, else 9/7 in float32.
    is_mixed : bool
        Whether the first three components become luminance and differences.
    engine : str, optional
        Which engine transforms.
    """
    samples = [_cut(size, component, area) for component, area in zip(components, layout.components, strict=True)]
    found: list[list[Array]] = []
    number = 0
    while number < len(samples):
        # components of one size are transformed together
        last = number + 1
        while last < len(samples) and layout.components[last] == layout.components[number]:
            last += 1
        mixed = 3 if number == 0 and is_mixed else 0
        parts = [
            split_planes(
                samples[a:b], size.components[a:b], is_reversible=is_reversible, has_colour_transform=a < mixed
            )
            for a, b in ((number, mixed), (max(mixed, number), last))
            if a < b
        ]
        planes = parts[0] if len(parts) == 1 else np.concatenate(parts)
        levels_found = analyse(planes, layout.components[number], levels, is_reversible, engine)
        bands = [band for level in levels_found for band in level.values()]
        found += [[band[row] for band in bands] for row in range(last - number)]
        number = last
    return TileBands(layout, [band for bands in found for band in bands])


def quantise_tiles(tiles: Sequence[TileBands], quantiser: Quantiser) -> tuple[Array, Array]:
    """Quantise the coefficients of tiles.

    Returns
    -------
    samples : ndarray of int32
        All bands in a row.
    table : ndarray of int64
        Offset, stride, height, width and orientation of each code-block, as the block coder takes them.
    """
    samples = np.empty(sum(band.size for tile in tiles for band in tile.bands), np.int32)
    tables, works = [], []
    offset = 0
    for tile in tiles:
        offsets, strides, orientations, edges = [], [], [], []
        for band, values in zip(tile.layout.bands, tile.bands, strict=True):
            offsets.append(offset)
            strides.append(max(values.shape[1], 1))
            orientations.append(band.orientation)
            edges.append((band.rectangle.x0, band.rectangle.y0))
            if values.size:
                scale = find_scale(band.kind, band.level, False) / quantiser.measure_step(band)
                works.append((values, scale, samples[offset : offset + values.size].reshape(values.shape)))
            offset += values.size
        tables.append(_tabulate(tile.layout.blocks, *map(np.array, (offsets, strides, orientations, edges))))
    _share_rows(_pick_loop(quantiser.is_reversible), works)
    return samples, np.concatenate(tables)


def sample_blocks(tiles: Sequence[TileBands], quantiser: Quantiser, stride: int) -> tuple[Array, Array]:
    """Return the coefficients of every so-many-th code-block, in steps, one block behind the other, and their table."""
    parts: list[Array] = [np.zeros(0, np.float32)]
    rows = []
    offset, number = 0, stride // 2
    for tile in tiles:
        scales = [find_scale(band.kind, band.level, False) / quantiser.measure_step(band) for band in tile.layout.bands]
        for x0, y0, x1, y1, which in tile.layout.blocks[number::stride].tolist():
            band = tile.layout.bands[which]
            left, top = band.rectangle.x0, band.rectangle.y0
            values = tile.bands[which][y0 - top : y1 - top, x0 - left : x1 - left]
            parts.append((values * np.float32(scales[which])).ravel())
            rows.append((offset, x1 - x0, y1 - y0, x1 - x0, band.orientation))
            offset += values.size
        number = (number - len(tile.layout.blocks)) % stride
    return np.concatenate(parts), np.array(rows, np.int64).reshape(-1, 5)


def measure_loss(tiles: Sequence[TileBands], quantiser: Quantiser) -> float:
    """Return the squared error that is left when all that is quantised is decoded."""
    if quantiser.is_reversible:
        return 0.0
    works = []
    for tile in tiles:
        for band, values in zip(tile.layout.bands, tile.bands, strict=True):
            if values.size:
                scale = find_scale(band.kind, band.level, False) / quantiser.measure_step(band)
                works.append((values, np.float32(scale), quantiser.weigh(band)))
    tasks = [(number, first, last) for number, each in enumerate(works) for first, last in _cut_rows(len(each[0]))]
    found: list[float] = []

    def work(number: int, first: int, last: int) -> None:
        values, scale, weight = works[number]
        found.append(weight * _loops.sum_errors(values[first:last], scale))

    run_tasks(work, tasks)
    # sorted, because threads finish in any order, and sums of real numbers depend on it
    return float(sum(sorted(found)))


def _tabulate(blocks: Array, offsets: Array, strides: Array, orientations: Array, edges: Array) -> Array:
    """Convert rectangles of blocks to offsets in the flat array of samples."""
    x0, y0, x1, y1, band = blocks.T
    stride = strides[band]
    start = offsets[band] + (y0 - edges[band, 1]) * stride + (x0 - edges[band, 0])
    return np.stack([start, stride, y1 - y0, x1 - x0, orientations[band]], axis=1).astype(np.int64)


def _cut(size: ImageSize, component: Component, area: Rectangle) -> Array:
    """Return the samples of a component that lie in a tile."""
    x0, y0 = -(-size.x0 // component.dx), -(-size.y0 // component.dy)
    samples = component.samples[area.y0 - y0 : area.y1 - y0, area.x0 - x0 : area.x1 - x0]
    # the loops are compiled for the kinds of samples that are common
    return samples if samples.dtype in (np.uint8, np.uint16, np.int32) else samples.astype(np.int32)


def _pick_loop(is_reversible: bool) -> Callable[[Array, float, Array], object]:
    if is_reversible:
        return lambda values, _, out: np.copyto(out, values)
    return lambda values, scale, out: _loops.quantise_rows(values, np.float32(scale), out)


def _share_rows(loop: Callable[[Array, float, Array], object], works: Sequence[tuple[Array, float, Array]]) -> None:
    """Run a loop over stretches of rows of all bands, by several threads."""
    tasks = [(number, first, last) for number, each in enumerate(works) for first, last in _cut_rows(len(each[0]))]

    def work(number: int, first: int, last: int) -> None:
        values, scale, out = works[number]
        loop(values[first:last], scale, out[first:last])

    run_tasks(work, tasks)


def _cut_rows(rows: int) -> list[tuple[int, int]]:
    """Cut rows into stretches, few enough that starting them costs nothing."""
    step = max(_ROWS, -(-rows // (4 * get_threads())))
    return [(first, min(first + step, rows)) for first in range(0, rows, step)]
