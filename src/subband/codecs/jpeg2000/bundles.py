"""Decoding several tiles at once: blocks to coefficients, coefficients to planes.

Tiles of the same shape go through the wavelet transform as one stack, so that many small ones keep all threads busy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from subband.codecs.jpeg2000.blocks import decode_blocks
from subband.codecs.jpeg2000.codestream import Codestream
from subband.codecs.jpeg2000.faults import warn
from subband.codecs.jpeg2000.geometry import Rectangle, TileLayout
from subband.codecs.jpeg2000.tiles import PlaneGroup, TileWork
from subband.codecs.jpeg2000.transform import find_scale, synthesise
from subband.engines import Engine
from subband.engines.memory import allocate
from subband.typing import Array

__all__ = ["decode_tiles"]

Table = NDArray[np.int64]


@dataclass(eq=False)
class _Bundle:
    """Groups of components of several tiles that have the same shape; `offsets` tells where each band begins."""

    members: list[tuple[int, PlaneGroup]] = field(default_factory=list)
    offsets: list[dict[str, int]] = field(default_factory=list)

    @property
    def first(self) -> PlaneGroup:
        """The group whose shape is that of all."""
        return self.members[0][1]


def decode_tiles(
    works: Sequence[TileWork], stream: Codestream, engine: str | Engine | None
) -> Iterator[tuple[TileWork, PlaneGroup, Array]]:
    """Decode tiles; give each of their groups of components with its planes, numbers around zero.

    Parameters
    ----------
    works : sequence of TileWork
        The tiles.
    stream : Codestream
        Where they belong to.
    engine : str or Engine, optional
        The engine of the wavelet transform.
    """
    bundles: dict[object, _Bundle] = {}
    # tiles that are alike share their parts
    known: dict[int, object] = {}
    for tile, work in enumerate(works):
        for group in work.groups:
            key = known.get(id(group.parts))
            if key is None:
                key = known[id(group.parts)] = _describe(group)
            bundles.setdefault(key, _Bundle()).members.append((tile, group))
    stacks, rows = _stack_origins(works)
    sizes = {True: 0, False: 0}
    for bundle in bundles.values():
        is_reversible = bundle.first.is_reversible
        sizes[is_reversible] = _allocate_bands(bundle, works, stacks, rows, sizes[is_reversible])
    tables = [
        _tabulate_blocks(work.layout, stacks[id(work.layout)][row], work.chosen)
        for work, row in zip(works, rows, strict=True)
    ]
    # memory is used again only where blocks fill all of it; zeros take none before they are written to
    is_full = sum(int(np.sum(table[:, 2] * table[:, 3])) for table in tables) == sum(sizes.values())
    buffers: dict[bool, Array] = {}
    for is_reversible, size in sizes.items():
        dtype = np.dtype(np.int32 if is_reversible else np.float32)
        buffers[is_reversible] = allocate((size,), dtype) if is_full else np.zeros(size, dtype)
    _decode_all_blocks(works, tables, buffers)
    for bundle in bundles.values():
        planes = _build_planes(stream, works, bundle, buffers[bundle.first.is_reversible], engine)
        count = len(bundle.first.components)
        for number, (tile, group) in enumerate(bundle.members):
            yield works[tile], group, planes[number * count : (number + 1) * count]


def _describe(group: PlaneGroup) -> object:
    """Return what groups must have in common to be transformed as one: all sizes, and which positions are odd."""

    def relate(inner: Rectangle, outer: Rectangle) -> tuple[int, ...]:
        return (inner.x0 - outer.x0, inner.y0 - outer.y0, inner.width, inner.height, outer.width, outer.height)

    windows = group.windows
    return (
        group.is_reversible,
        len(group.components),
        tuple((area.x0 % 2, area.y0 % 2) for area in windows.merged),
        tuple(relate(wanted, merged) for wanted, merged in zip(windows.wanted, windows.merged, strict=True)),
        tuple(relate(part.need, part.area) for level in group.parts for part in level.values()),
    )


def _stack_origins(works: Sequence[TileWork]) -> tuple[dict[int, Table], list[int]]:
    """Return room for where the bands of tiles begin, those of one layout in an array, and the row of each tile there.

    Of each band it is told where it begins, its first column and row, and its width.
    """
    counts: dict[int, int] = {}
    rows = []
    for work in works:
        row = counts.get(id(work.layout), 0)
        counts[id(work.layout)] = row + 1
        rows.append(row)
    bands = {id(work.layout): len(work.layout.bands) for work in works}
    return {layout: np.zeros((count, bands[layout], 4), np.int64) for layout, count in counts.items()}, rows


def _allocate_bands(
    bundle: _Bundle, works: Sequence[TileWork], stacks: dict[int, Table], rows: Sequence[int], size: int
) -> int:
    """Allocate each band of a bundle in a buffer that has `size` numbers so far; return its new size.

    A band is a stack of all components of all tiles. `stacks` are told where each begins.
    """
    # tiles of one layout go together: where they lie, and where each of them is among all
    alike: dict[tuple[int, int], tuple[int, PlaneGroup, list[int], list[int]]] = {}
    for number, (tile, group) in enumerate(bundle.members):
        key = (id(works[tile].layout), id(group.parts))
        _, _, own, numbers = alike.setdefault(key, (tile, group, [], []))
        own.append(rows[tile])
        numbers.append(number)
    count = len(bundle.first.components)
    for resolution, level in enumerate(bundle.first.parts):
        offsets = {}
        for index, kind in enumerate(level):
            offsets[kind] = size
            # groups of a bundle have bands of the same size
            area = level[kind].area.area
            for tile, group, own, numbers in alike.values():
                layout, part = works[tile].layout, group.parts[resolution][kind].area
                first = size + np.array(numbers) * (count * area)
                for number, component in enumerate(group.components):
                    band = layout.resolutions[component][resolution].bands[index]
                    stacks[id(layout)][own, band, 0] = first + number * area
                    stacks[id(layout)][own, band, 1:] = (part.x0, part.y0, part.width)
            size += len(bundle.members) * count * area
        bundle.offsets.append(offsets)
    return size


def _tabulate_blocks(layout: TileLayout, origins: Table, chosen: Table) -> Table:
    """Return what the block decoder takes, for positions within the buffers of the tile."""
    blocks = layout.blocks if len(chosen) == len(layout.blocks) else layout.blocks[chosen]
    x0, y0, x1, y1, band = blocks.T
    offset, left, top, width = origins[band].T
    table = np.empty((len(blocks), 5), np.int64)
    table[:, 0], table[:, 1] = offset + (y0 - top) * width + (x0 - left), width
    table[:, 2], table[:, 3], table[:, 4] = y1 - y0, x1 - x0, layout.orientations[band]
    return table


def _decode_all_blocks(works: Sequence[TileWork], tables: Sequence[Table], buffers: dict[bool, Array]) -> None:
    """Decode the blocks of all tiles, those that are coded alike together."""
    jobs: dict[tuple[int, int, bool], list[tuple[int, Table | slice]]] = {}
    for tile, work in enumerate(works):
        # components that are alike, and then blocks: where both kinds are mixed, each has its own style
        keys = [
            (shift, style.is_reversible) for style, shift in zip(work.stream.styles, work.stream.shifts, strict=True)
        ]
        kinds = list(dict.fromkeys(keys))
        styles = work.blocks.styles[work.chosen]
        if len(kinds) == 1 and (styles == styles[0]).all():
            jobs.setdefault((int(styles[0]), *kinds[0]), []).append((tile, slice(None)))
            continue
        component = np.array(work.layout.band_components)[work.layout.blocks[work.chosen, 4]]
        which = np.array([kinds.index(key) for key in keys])[component]
        for kind, style in sorted(set(zip(which.tolist(), styles.tolist(), strict=True))):
            own = np.flatnonzero((which == kind) & (styles == style))
            jobs.setdefault((style, *kinds[kind]), []).append((tile, own))
    damaged, excessive = 0, 0
    for (style, shift, is_reversible), parts in jobs.items():
        data, segments, counts, rows_of, planes, passes = [], [], [], [], [], []
        start = 0
        firsts: dict[int, int] = {}
        for tile, rows in parts:
            work = works[tile]
            chosen = work.chosen[rows]
            blocks = work.blocks
            mine, own_starts = blocks.select(chosen)
            # most tiles point into the bytes of the stream, which are there once
            if id(blocks.data) not in firsts:
                firsts[id(blocks.data)] = start
                data.append(blocks.data)
                start += len(blocks.data)
            mine[:, 0] += firsts[id(blocks.data)]
            segments.append(mine)
            counts.append(np.diff(own_starts))
            rows_of.append(tables[tile][rows])
            planes.append(work.planes[rows])
            most = 3 * work.planes[rows] - 2
            excessive += int(np.count_nonzero(blocks.passes[chosen] > most))
            passes.append(np.minimum(blocks.passes[chosen], most))
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(counts))])
        is_damaged = decode_blocks(
            data[0] if len(data) == 1 else np.concatenate(data),
            np.concatenate(rows_of),
            np.concatenate(planes),
            np.concatenate(passes).astype(np.int32),
            np.concatenate(segments),
            starts,
            style,
            buffers[is_reversible],
            shift,
            is_reversible,
        )
        damaged += int(np.count_nonzero(is_damaged))
    if damaged:
        warn(f"{damaged} code-blocks are damaged")
    if excessive:
        warn(f"{excessive} code-blocks have more passes than their bit planes; these are left out")


def _build_planes(
    stream: Codestream, works: Sequence[TileWork], bundle: _Bundle, buffer: Array, engine: str | Engine | None
) -> Array:
    """Scale the bands of a bundle, and transform them into samples around zero."""
    first = bundle.first
    count = len(bundle.members) * len(first.components)
    levels: list[dict[str, Array]] = []
    for resolution, parts in enumerate(first.parts):
        bands = {}
        for kind, part in parts.items():
            area, need = part.area, part.need
            start = bundle.offsets[resolution][kind]
            stack = buffer[start : start + count * area.area].reshape(count, area.height, area.width)
            if not first.is_reversible and area.area:
                factors = _find_factors(stream, works, bundle, resolution, kind)
                stack *= np.array(factors, np.float32)[:, None, None]
            bands[kind] = stack[:, need.y0 - area.y0 : need.y1 - area.y0, need.x0 - area.x0 : need.x1 - area.x0]
        levels.append(bands)
    return synthesise(levels, first.windows, first.is_reversible, engine)


def _find_factors(
    stream: Codestream, works: Sequence[TileWork], bundle: _Bundle, resolution: int, kind: str
) -> list[float]:
    """Return what the quantised coefficients of a band are multiplied by, for each component of each tile.

    It is the step of the quantiser (E.1.1) and the scale of the engines, which counts levels from the finest that is
    kept.
    """
    known: dict[tuple[int, int, int], float] = {}
    factors = []
    for tile, group in bundle.members:
        layout, quantisations = works[tile].layout, works[tile].stream.quantisations
        for component in group.components:
            levels = layout.resolutions[component]
            # tiles share what the main header says
            key = (id(quantisations[component]), component, len(levels))
            if key not in known:
                bands = (layout.bands[number] for number in levels[resolution].bands)
                band = next(each for each in bands if each.kind == kind)
                exponent, mantissa = quantisations[component].step(band.number)
                bits = stream.size.components[component].precision + band.gain_bits
                scale = find_scale(kind, band.level - (len(levels) - len(group.parts)), False)
                known[key] = 2.0 ** (bits - exponent) * (1 + mantissa / 2048) / scale
            factors.append(known[key])
    return factors
