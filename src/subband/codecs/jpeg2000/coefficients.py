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
from subband.engines.memory import allocate
from subband.engines.threads import get_threads, run_tasks
from subband.typing import Array

__all__ = ["TileBands", "measure_loss", "quantise_tiles", "sample_blocks", "transform_tiles"]

_loops = Kernels("subband.codecs.jpeg2000.loops.quantising")

# Rows that a thread treats at once, and samples that are quantised before another thread has woken up.
_ROWS, _ALONE = 64, 1 << 16
# How many times the samples of tiles may be converted to planes at once, with what lies between them.
_SPARSE = 2


@dataclass(frozen=True, eq=False)
class TileBands:
    """The coefficients of tiles that are alike.

    Attributes
    ----------
    layouts : sequence of TileLayout
        Where they lie; all share their bands.
    numbers : sequence of int
        Which tiles of a batch they are.
    bands : sequence of arrays
        One for each band of the layout: tiles × rows × columns.
    """

    layouts: Sequence[TileLayout]
    numbers: Sequence[int]
    bands: Sequence[Array]


def transform_tiles(
    size: ImageSize,
    components: Sequence[Component],
    layouts: Sequence[TileLayout],
    levels: int,
    *,
    is_reversible: bool,
    is_mixed: bool,
    engine: str | None = None,
) -> list[TileBands]:
    """Transform the samples of a batch of tiles, those that are alike together.

    Parameters
    ----------
    size : ImageSize
        The grid.
    components : sequence of Component
        Of the whole image.
    layouts : sequence of TileLayout
        The tiles; see `lay_out_tiles`.
    levels : int
        Of decomposition.
    is_reversible : bool
        5/3 in integers, else 9/7 in float32.
    is_mixed : bool
        Whether the first three components become luminance and differences.
    engine : str, optional
        Which engine transforms.
    """
    alike: dict[int, list[int]] = {}
    for number, layout in enumerate(layouts):
        alike.setdefault(id(layout.bands), []).append(number)
    return [
        TileBands(
            [layouts[number] for number in numbers],
            numbers,
            _transform_alike(
                size, components, [layouts[number] for number in numbers], levels, is_reversible, is_mixed, engine
            ),
        )
        for numbers in alike.values()
    ]


def _transform_alike(
    size: ImageSize, components: Sequence[Component], layouts: Sequence[TileLayout], levels: int,
    is_reversible: bool, is_mixed: bool, engine: str | None,
) -> list[Array]:  # fmt: skip
    """Return the bands of tiles that are alike, each tiles × rows × columns."""
    areas = layouts[0].components
    found: list[Array] = []
    number = 0
    while number < len(areas):
        # components of one size are transformed together
        last = number + 1
        while last < len(areas) and areas[last] == areas[number]:
            last += 1
        mixed = 3 if number == 0 and is_mixed else 0
        parts = [
            _load_planes(size, components, layouts, a, b, is_reversible, is_mixed=a < mixed)
            for a, b in ((number, mixed), (max(mixed, number), last))
            if a < b
        ]
        planes = parts[0] if len(parts) == 1 else np.concatenate(parts)
        stack = planes.reshape(-1, *planes.shape[2:])
        bands = [
            band.reshape(*planes.shape[:2], *band.shape[1:])
            for level in analyse(stack, areas[number], levels, is_reversible, engine)
            for band in level.values()
        ]
        found += [band[row] for row in range(last - number) for band in bands]
        number = last
    return found


def _load_planes(
    size: ImageSize, components: Sequence[Component], layouts: Sequence[TileLayout], first: int, last: int,
    is_reversible: bool, *, is_mixed: bool,
) -> Array:  # fmt: skip
    """Return samples around zero of some components: components × tiles × rows × columns."""
    areas = [layout.components[first] for layout in layouts]
    around = Rectangle(
        min(area.x0 for area in areas),
        min(area.y0 for area in areas),
        max(area.x1 for area in areas),
        max(area.y1 for area in areas),
    )
    # tiles that lie far from each other would take all that is between them
    wholes = [around] if around.area <= _SPARSE * len(areas) * areas[0].area else areas
    planes = [
        split_planes(
            [_cut(size, component, whole) for component in components[first:last]],
            size.components[first:last],
            is_reversible=is_reversible,
            has_colour_transform=is_mixed,
        )
        for whole in wholes
    ]
    if len(areas) == 1:
        return planes[0][:, None]
    if len(wholes) > 1:
        return np.stack(planes, axis=1)
    stack = allocate((last - first, len(areas), areas[0].height, areas[0].width), planes[0].dtype)
    for number, area in enumerate(areas):
        x, y = area.x0 - around.x0, area.y0 - around.y0
        stack[:, number] = planes[0][:, y : y + area.height, x : x + area.width]
    return stack


def quantise_tiles(tiles: Sequence[TileBands], quantiser: Quantiser) -> tuple[Array, Array]:
    """Quantise the coefficients of tiles.

    Returns
    -------
    samples : ndarray of int32
        All bands in a row.
    table : ndarray of int64
        Offset, stride, height, width and orientation of each code-block, as the block coder takes them.
    """
    samples = allocate((sum(band.size for tile in tiles for band in tile.bands),), np.dtype(np.int32))
    tables: dict[int, Array] = {}
    works = []
    offset = 0
    for tile in tiles:
        layout, count = tile.layouts[0], len(tile.numbers)
        firsts = offset + count * (np.cumsum(layout.band_areas) - layout.band_areas)
        for band, values in zip(layout.bands, tile.bands, strict=True):
            if values.size:
                is_scaled = not quantiser.is_reversible
                scale = find_scale(band.kind, band.level, False) / quantiser.measure_step(band) if is_scaled else 1.0
                flat = values.reshape(-1, values.shape[2])
                works.append((flat, scale, samples[offset : offset + values.size].reshape(flat.shape)))
            offset += values.size
        which = layout.blocks[:, 4]
        stack = np.repeat(layout.block_table[None], count, axis=0)
        stack[:, :, 0] += firsts[which] + np.arange(count)[:, None] * layout.band_areas[which]
        tables.update(zip(tile.numbers, stack, strict=True))
    _share_rows(_pick_loop(quantiser.is_reversible), works)
    return samples, np.concatenate([tables[number] for number in sorted(tables)])


def sample_blocks(tiles: Sequence[TileBands], quantiser: Quantiser, stride: int) -> tuple[Array, Array]:
    """Return the coefficients of every so-many-th code-block, in steps, one block behind the other, and their table."""
    parts: list[Array] = [np.zeros(0, np.float32)]
    rows = []
    offset, first = 0, stride // 2
    # in the order of the batch, whatever is alike
    turns = sorted((number, which, row) for which, tile in enumerate(tiles) for row, number in enumerate(tile.numbers))
    for _, bundle, row in turns:
        tile = tiles[bundle]
        layout = tile.layouts[0]
        for x0, y0, x1, y1, which in layout.blocks[first::stride].tolist():
            band = layout.bands[which]
            scale = find_scale(band.kind, band.level, False) / quantiser.measure_step(band)
            left, top = band.rectangle.x0, band.rectangle.y0
            values = tile.bands[which][row, y0 - top : y1 - top, x0 - left : x1 - left]
            parts.append((values * np.float32(scale)).ravel())
            rows.append((offset, x1 - x0, y1 - y0, x1 - x0, band.orientation))
            offset += values.size
        first = (first - len(layout.blocks)) % stride
    return np.concatenate(parts), np.array(rows, np.int64).reshape(-1, 5)


def measure_loss(tiles: Sequence[TileBands], quantiser: Quantiser) -> float:
    """Return the squared error that is left when all that is quantised is decoded."""
    if quantiser.is_reversible:
        return 0.0
    works = []
    for tile in tiles:
        for band, values in zip(tile.layouts[0].bands, tile.bands, strict=True):
            if values.size:
                scale = find_scale(band.kind, band.level, False) / quantiser.measure_step(band)
                flat = values.reshape(-1, values.shape[2])
                works.append((flat, np.float32(scale), quantiser.weigh(band)))
    tasks = [(number, first, last) for number, each in enumerate(works) for first, last in _cut_rows(len(each[0]))]
    found: list[float] = []

    def work(number: int, first: int, last: int) -> None:
        values, scale, weight = works[number]
        found.append(weight * _loops.sum_errors(values[first:last], scale))

    run_tasks(work, tasks)
    # sorted, because threads finish in any order, and sums of real numbers depend on it
    return float(sum(sorted(found)))


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
    if sum(values.size for values, _, _ in works) < _ALONE:
        for values, scale, out in works:
            loop(values, scale, out)
        return
    tasks = [(number, first, last) for number, each in enumerate(works) for first, last in _cut_rows(len(each[0]))]

    def work(number: int, first: int, last: int) -> None:
        values, scale, out = works[number]
        loop(values[first:last], scale, out[first:last])

    run_tasks(work, tasks)


def _cut_rows(rows: int) -> list[tuple[int, int]]:
    """Cut rows into stretches, few enough that starting them costs nothing."""
    step = max(_ROWS, -(-rows // (4 * get_threads())))
    return [(first, min(first + step, rows)) for first in range(0, rows, step)]
