"""Decoding a JPEG 2000 image, whole or in part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import index
from os import PathLike

import numpy as np

from subband.codecs.jpeg2000.bundles import decode_tiles
from subband.codecs.jpeg2000.codestream import Codestream, TileStream
from subband.codecs.jpeg2000.colours import find_range, join_planes
from subband.codecs.jpeg2000.faults import TooManyError, warn
from subband.codecs.jpeg2000.geometry import Rectangle, count_tiles, find_tile_rectangle
from subband.codecs.jpeg2000.header import Header, OpenFile, open_file
from subband.codecs.jpeg2000.picture import (
    MOST_PIXELS,
    Picture,
    apply_palette,
    check_samples,
    choose_dtype,
    join_channels,
    sort_channels,
)
from subband.codecs.jpeg2000.tile_parts import TilePartRange
from subband.codecs.jpeg2000.tiles import KnownTiles, PlaneGroup, TileWork, count_room, prepare_tile
from subband.engines import Engine
from subband.errors import ArgumentError, CodecError
from subband.typing import Array

__all__ = ["decode", "decode_file"]

#: Coefficients that are decoded together: enough to keep all threads busy, few enough to stay small.
_TOGETHER = 1 << 22

#: Components and resolutions of tiles, for each byte of their parts, beyond those that any stream may have.
_PARTS_A_BYTE = 1
_FREE_PARTS = 1 << 14

#: Changes of the progression of all tiles, for each byte of their parts, beyond those that any stream may have.
_CHANGES_A_BYTE = 1 / 16
_FREE_CHANGES = 1 << 14

#: 32 bits hold no more, with their sign.
_MOST_BITS = 31


def decode(
    data: bytes | bytearray | memoryview | str | PathLike[str],
    *,
    reduce: int = 0,
    region: Sequence[int] | None = None,
    components: Sequence[int] | None = None,
    layers: int | None = None,
    engine: str | Engine | None = None,
    most_pixels: int | None = None,
) -> Picture:
    """Decode a JP2 file or a JPEG 2000 codestream.

    Parameters
    ----------
    data : bytes or path
        The file, or where it lies; of a path, only what is needed is read.
    reduce : int
        Levels to leave out: each halves columns and rows.
    region : (int, int, int, int), optional
        First row, first column, last row and last column of the part to decode, the last ones excluded, in rows and
        columns of the whole image at full size. Only the tiles and code-blocks that it touches are decoded.
    components : sequence of int, optional
        The components to decode, as the codestream counts them; palettes and channel definitions are then left alone.
    layers : int, optional
        Layers of quality to decode, all by default.
    engine : str or Engine, optional
        The engine of the wavelet transform; see `subband.set_engine`.
    most_pixels : int, optional
        Samples that are acceptable, in all components together; 2^28 by default.

    Returns
    -------
    Image
        The samples and the header.

    Raises
    ------
    CodecError
        If there is no image, or it is larger than `most_pixels`, or its stream cannot hold what it declares.
    ArgumentError
        If `region`, `reduce` or another argument does not fit the image.

    Warns
    -----
    CodecWarning
        If the stream is cut short or damaged; what could be decoded is returned.

    Notes
    -----
    With `reduce` a region covers the samples whose positions, divided by 2^reduce and rounded up, lie in it.

    References
    ----------
    ISO/IEC 15444-1 (ITU-T T.800), JPEG 2000 image coding system: core coding system.
    """
    return decode_file(
        open_file(data),
        reduce=reduce,
        region=region,
        components=components,
        layers=layers,
        engine=engine,
        most_pixels=most_pixels,
    )


def decode_file(
    file: OpenFile,
    *,
    reduce: int = 0,
    region: Sequence[int] | None = None,
    components: Sequence[int] | None = None,
    layers: int | None = None,
    engine: str | Engine | None = None,
    most_pixels: int | None = None,
) -> Picture:
    """Decode a file whose headers are read; see `decode`."""
    most = MOST_PIXELS if most_pixels is None else most_pixels
    stream, header = file.stream, file.header
    reduce, layers = _check_reduce(reduce), _check_layers(layers)
    window = _find_window(header, stream, region)
    chosen = _check_components(components, len(header.components))
    parts_of = _find_parts(stream, window)
    _check_parts(stream, parts_of)
    tiles = list(_read_tiles(stream, parts_of))
    _check_progressions(tiles)
    has_colours = any(tile.coding.has_colour_transform for tile in tiles)
    needed = sorted({*chosen, *(range(3) if has_colours and min(chosen) < 3 else ())})
    if needed[-1] >= len(header.components):
        raise CodecError(f"COD declares a colour transform, which needs 3 components, and SIZ {len(header.components)}")
    _check_levels(reduce, tiles, needed)
    windows = {
        number: window.divide(header.components[number].dx, header.components[number].dy).divide(
            1 << reduce, 1 << reduce
        )
        for number in needed
    }
    _check_sizes(header, windows, most, is_whole=region is None and reduce == 0)
    if components is None and header.jp2 is not None and header.jp2.palette is not None:
        # each channel of a palette takes as much as its component
        sources = [component for component, _ in header.jp2.mapping] or [0] * len(header.jp2.palette.bits)
        check_samples(sum(windows[component].area for component in sources if component in windows), most)
    try:
        canvas = _Canvas(stream, windows, reduce, has_colours)
        for tile in parts_of.keys() - {tile.tile for tile in tiles}:
            canvas.blank(tile)
        for batch in _collect(stream, tiles, canvas, reduce, layers):
            for work, group, planes in decode_tiles(batch, stream, engine):
                canvas.write(work.stream, group, planes)
        return replace(_present(header, canvas, chosen, has_selection=components is not None), most_pixels=most)
    except MemoryError:
        total = sum(area.area for area in windows.values())
        raise CodecError(f"{total} samples take more memory than there is; use `reduce` or `region`") from None


def _collect(
    stream: Codestream, tiles: Sequence[TileStream], canvas: _Canvas, reduce: int, layers: int | None
) -> Iterator[list[TileWork]]:
    """Read the packets of tiles; give as many tiles at a time as are worth being decoded together."""
    batch: list[TileWork] = []
    waiting = 0
    room = count_room(tiles)
    known = KnownTiles.of(tiles)
    for tile in tiles:
        try:
            work = prepare_tile(stream, tile, canvas.windows, reduce, layers, room, known)
            room -= work.layout.cost
        except CodecError as error:
            if len(tiles) == 1 or isinstance(error, TooManyError):
                raise
            warn(f"tile {tile.tile} cannot be decoded: {error}")
            canvas.blank(tile.tile)
            continue
        if len(work.chosen) == 0:
            canvas.blank(tile.tile)
            continue
        batch.append(work)
        # a block that is not needed takes memory too, about that of some coefficients
        waiting += work.samples + 16 * len(work.layout.blocks)
        if waiting >= _TOGETHER:
            yield batch
            batch, waiting = [], 0
    if batch:
        yield batch


class _Canvas:
    """Where decoded samples go: one array for components of one size, so that they lie pixel by pixel."""

    def __init__(self, stream: Codestream, windows: dict[int, Rectangle], reduce: int, has_colours: bool) -> None:
        self._size = stream.size
        self._reduce = reduce
        self.windows = windows
        components = stream.size.components
        self._homes: dict[int, tuple[Array, int]] = {}
        self._waiting: dict[int, dict[int, Array]] = {}
        together = [list(windows)]
        if len({*windows.values()}) > 1:
            triple = [0, 1, 2] if has_colours and 0 in windows else []
            together = [triple] * bool(triple) + [[number] for number in windows if number not in triple]
        # components of one array that have the same steps are blanked at once
        self._blanks: list[tuple[Array, Array, int]] = []
        for numbers in together:
            sizes = {(windows[number].height, windows[number].width) for number in numbers}
            if len(sizes) > 1:
                raise CodecError(f"COD declares a colour transform of components of different sizes: {sorted(sizes)}")
            dtypes = [choose_dtype(components[number].precision, components[number].is_signed) for number in numbers]
            base = np.zeros((*sizes.pop(), len(numbers)), np.result_type(*dtypes))
            for channel, number in enumerate(numbers):
                self._homes[number] = (base, channel)
            middles = np.array([find_range(components[number])[0] for number in numbers], base.dtype)
            is_even = len({(components[number].dx, components[number].dy) for number in numbers}) == 1
            pieces = [slice(None)] if is_even else [slice(each, each + 1) for each in range(len(numbers))]
            self._blanks += [(base[..., piece], middles[piece], numbers[piece][0]) for piece in pieces]

    def blank(self, tile: int) -> None:
        """Paint a tile of which nothing is there in the middle of its range, which is what no coefficients lead to."""
        area = find_tile_rectangle(self._size, tile)
        scale = 1 << self._reduce
        for base, middles, number in self._blanks:
            component, whole = self._size.components[number], self.windows[number]
            part = area.divide(component.dx, component.dy).divide(scale, scale).intersect(whole)
            rows = slice(part.y0 - whole.y0, part.y1 - whole.y0)
            base[rows, part.x0 - whole.x0 : part.x1 - whole.x0] = middles

    def write(self, tile: TileStream, group: PlaneGroup, planes: Array) -> None:
        """Write the planes of a group of components, those of a colour transform once all three are there."""
        colours = [number for number in group.components if number < 3] if tile.coding.has_colour_transform else []
        if colours:
            waiting = self._waiting.setdefault(tile.tile, {})
            waiting.update(zip(colours, planes, strict=False))
            if len(waiting) == 3:
                del self._waiting[tile.tile]
                self._join((0, 1, 2), group.window, _stack_colours(waiting, planes), has_colour_transform=True)
        for channel in range(len(colours), len(group.components)):
            self._join(group.components[channel : channel + 1], group.window, planes[channel : channel + 1])

    def _join(
        self, numbers: Sequence[int], window: Rectangle, planes: Array, *, has_colour_transform: bool = False
    ) -> None:
        base, channel = self._homes[numbers[0]]
        whole = self.windows[numbers[0]]
        rows = slice(window.y0 - whole.y0, window.y1 - whole.y0)
        columns = slice(window.x0 - whole.x0, window.x1 - whole.x0)
        out = base[rows, columns, channel : channel + len(numbers)]
        sizes = [self._size.components[number] for number in numbers]
        join_planes(planes, out, sizes, has_colour_transform=has_colour_transform)

    def take(self, number: int) -> Array:
        """Return the samples of a component."""
        base, channel = self._homes[number]
        return base[..., channel]

    def take_all(self, numbers: Sequence[int]) -> Array | None:
        """Return the samples of components as one array, if they lie so."""
        base = self._homes[numbers[0]][0]
        if all(self._homes[number][0] is base for number in numbers) and list(numbers) == list(self._homes):
            return base if base.shape[2] > 1 else base[..., 0]
        return None


def _stack_colours(planes: dict[int, Array], last: Array) -> Array:
    """Return the three planes of a colour transform as one array; most often they are one already."""
    if len(last) >= 3:
        return last[:3]
    if len({plane.dtype for plane in planes.values()}) > 1:
        raise CodecError("COD declares a colour transform of components with different wavelets")
    return np.stack([planes[number] for number in range(3)])


def _present(header: Header, canvas: _Canvas, chosen: Sequence[int], *, has_selection: bool) -> Picture:
    """Return the image as its file wants it to be seen."""
    steps = [(header.components[number].dy, header.components[number].dx) for number in chosen]
    jp2 = header.jp2
    is_plain = jp2 is None or (jp2.palette is None and not jp2.channels)
    whole = canvas.take_all(chosen)
    if whole is not None and (has_selection or is_plain):
        return Picture(whole, header, tuple(steps))
    planes = [canvas.take(number) for number in chosen]
    if jp2 is not None and not has_selection and jp2.palette is not None:
        sources = [component for component, _ in jp2.mapping] or [0] * len(jp2.palette.bits)
        order = sort_channels(len(sources), jp2)
        planes = apply_palette(planes, jp2, order)
        steps = [steps[sources[channel]] for channel in order]
    elif jp2 is not None and not has_selection:
        order = sort_channels(len(planes), jp2)
        if whole is not None and order == sorted(order):
            return Picture(whole, header, tuple(steps))
        planes, steps = [planes[number] for number in order], [steps[number] for number in order]
    if len({plane.shape for plane in planes}) > 1:
        return Picture(tuple(np.ascontiguousarray(plane) for plane in planes), header, tuple(steps))
    return Picture(join_channels(planes), header, tuple(steps))


def _find_window(header: Header, stream: Codestream, region: Sequence[int] | None) -> Rectangle:
    """Return the part of the reference grid that is asked for."""
    size = stream.size
    if region is None:
        return Rectangle(size.x0, size.y0, size.x1, size.y1)
    numbers = [index(value) for value in region]
    if len(numbers) != 4:
        raise ArgumentError(f"region={region!r} has {len(numbers)} numbers; give rows and columns as (y0, x0, y1, x1)")
    y0, x0, y1, x1 = numbers
    if not (0 <= y0 < y1 <= header.height and 0 <= x0 < x1 <= header.width):
        raise ArgumentError(
            f"region={tuple(numbers)} is not a part of an image of {header.height} rows and {header.width} columns; "
            "give (y0, x0, y1, x1) with the last ones excluded"
        )
    return Rectangle(size.x0 + x0, size.y0 + y0, size.x0 + x1, size.y0 + y1)


def _find_parts(stream: Codestream, window: Rectangle) -> dict[int, list[TilePartRange]]:
    """Return the tile-parts of each tile that the window touches; an empty list where there are none."""
    size = stream.size
    wide, _ = count_tiles(size)
    columns = range((window.x0 - size.tile_x0) // size.tile_width, -(-(window.x1 - size.tile_x0) // size.tile_width))
    rows = range((window.y0 - size.tile_y0) // size.tile_height, -(-(window.y1 - size.tile_y0) // size.tile_height))
    return stream.tile_parts.find(row * wide + column for row in rows for column in columns)


def _read_tiles(stream: Codestream, parts_of: dict[int, list[TilePartRange]]) -> Iterator[TileStream]:
    """Read the headers of tiles; warn about those that are missing or damaged."""
    missing = [tile for tile, parts in parts_of.items() if not parts]
    if missing:
        named = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
        warn(f"{len(missing)} of {len(parts_of)} tiles are missing: {named}")
    for tile, parts in parts_of.items():
        if parts:
            try:
                yield stream.read_tile(tile, parts)
            except CodecError as error:
                if len(parts_of) == 1:
                    raise
                warn(f"the headers of tile {tile} are damaged: {error}")


def _check_sizes(header: Header, windows: dict[int, Rectangle], most_pixels: int, *, is_whole: bool) -> None:
    check_samples(sum(window.area for window in windows.values()), most_pixels)
    for number, window in windows.items():
        if window.area == 0 and is_whole:
            raise CodecError(f"component {number} has no sample, because its steps leave out all of the image")
        if window.area == 0:
            raise ArgumentError(f"component {number} has no sample in the region; use a larger one, or reduce less")
        if header.components[number].precision > _MOST_BITS:
            raise CodecError(
                f"component {number} has {header.components[number].precision} bits; "
                f"more than {_MOST_BITS} are not decoded here"
            )


def _check_parts(stream: Codestream, parts_of: dict[int, list[TilePartRange]]) -> None:
    """Make sure that the stream can hold what its tiles declare: each resolution of a component takes a byte."""
    present = sum(bool(parts) for parts in parts_of.values())
    if present == 0:
        raise CodecError("the stream holds no tile of the image, or of the region")
    parts = present * len(stream.size.components) * (stream.coding.style.levels + 1)
    size = sum(part.stop - part.start for several in parts_of.values() for part in several)
    most = _FREE_PARTS + _PARTS_A_BYTE * size
    if parts > most:
        raise CodecError(f"the tiles declare {parts} resolutions of components; the stream can hold {most}")


def _check_progressions(tiles: Sequence[TileStream]) -> None:
    """Make sure that tiles do not change their progression more often than their packets can be worth."""
    changes = sum(len(tile.progressions) for tile in tiles if len(tile.progressions) > 1)
    most = _FREE_CHANGES + _CHANGES_A_BYTE * sum(stop - start for tile in tiles for start, stop in tile.bodies)
    if changes > most:
        raise CodecError(f"the progression of tiles changes {changes} times; the stream can hold {most:.0f}")


def _check_levels(reduce: int, tiles: Sequence[TileStream], needed: Sequence[int]) -> None:
    levels = min((tile.styles[number].levels for tile in tiles for number in needed), default=reduce)
    if reduce > levels:
        raise ArgumentError(f"reduce={reduce} is more than the {levels} levels of the image; use at most {levels}")


def _check_reduce(reduce: int) -> int:
    if isinstance(reduce, bool) or not hasattr(reduce, "__index__") or not 0 <= index(reduce) <= 32:
        raise ArgumentError(f"reduce={reduce!r} is not a number of levels; use 0 to the levels of the image")
    return index(reduce)


def _check_layers(layers: int | None) -> int | None:
    if layers is not None and (isinstance(layers, bool) or index(layers) < 1):
        raise ArgumentError(f"layers={layers!r} is no number of layers; use 1 or more, or None for all")
    return None if layers is None else index(layers)


def _check_components(components: Sequence[int] | None, count: int) -> list[int]:
    if components is None:
        return list(range(count))
    chosen = [index(number) for number in components]
    if not chosen or any(not 0 <= number < count for number in chosen) or len({*chosen}) < len(chosen):
        raise ArgumentError(f"components={components!r} has to name some of the {count} components, each once")
    return chosen
