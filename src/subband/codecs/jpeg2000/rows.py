"""Encoding an image that does not fit into memory: from top to bottom, one row of tiles at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from subband.codecs.jpeg2000.boxes import write_jp2
from subband.codecs.jpeg2000.components import Component, as_components
from subband.codecs.jpeg2000.encoder import Encoder
from subband.codecs.jpeg2000.files import Colours, Form, choose_form_of, describe_colours, resolve_settings
from subband.codecs.jpeg2000.geometry import MOST_TILES
from subband.codecs.jpeg2000.settings import Settings
from subband.codecs.jpeg2000.streams import END
from subband.errors import ArgumentError, ShapeError
from subband.outputs import open_output
from subband.typing import Array

__all__ = ["imwrite_rows"]

#: Rows and columns of tiles, if nothing is said.
_TILE = (1024, 1024)

#: Bits for what the transform adds to the range of samples. They are fixed before all samples are seen; the gains of
#: both wavelets, added up over any number of levels, need three.
_GUARD_BITS = 4


def imwrite_rows(
    target: str | PathLike[str] | BinaryIO,
    rows: Iterable[Array],
    height: int,
    *,
    form: Form | None = None,
    bits: int | None = None,
    colours: Colours | None = None,
    engine: str | None = None,
    on_progress: Callable[[float], None] | None = None,
    **settings: Any,
) -> None:
    """Write an image from top to bottom, of which no more than a row of tiles is in memory at a time.

    Parameters
    ----------
    target : path or binary file
        As `imwrite` takes it; a file has to be one in which one can go back.
    rows : iterable of ndarray of int
        The image in pieces of some rows each, any number of them: rows × columns, or rows × columns × components.
    height : int
        Rows of the whole image.
    form, bits, engine, on_progress
        As `encode` takes them.
    colours : Colours, optional
        What the boxes say about opacity, colour space and resolution.
    **settings
        See `Settings`. Tiles have 1024 × 1024 samples, and their lengths are written (``tlm=True``), unless something
        else is said; `rate`, `size` and `psnr` are not for images that are seen once: use `step`, or nothing, which
        loses nothing.

    Raises
    ------
    ArgumentError
        If a setting needs the whole image, or there are more or fewer rows than `height`.
    ShapeError
        If pieces do not fit each other.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from subband.codecs import jpeg2000
    >>> image = np.arange(300 * 200, dtype=np.uint16).reshape(300, 200)
    >>> file = io.BytesIO()
    >>> jpeg2000.imwrite_rows(file, (image[first : first + 70] for first in range(0, 300, 70)), 300, tile=(128, 128))
    >>> bool((jpeg2000.imread(io.BytesIO(file.getvalue())) == image).all())
    True
    """
    if isinstance(target, str | PathLike):
        path = Path(fspath(target))
        form = form or choose_form_of(path)
        with open_output(path, overwrite=True) as file:
            _write(file, rows, height, form, bits, colours, engine, on_progress, settings)
        return
    _write(target, rows, height, form, bits, colours, engine, on_progress, settings)


def _write(
    file: BinaryIO,
    rows: Iterable[Array],
    height: int,
    form: Form | None,
    bits: int | None,
    colours: Colours | None,
    engine: str | None,
    on_progress: Callable[[float], None] | None,
    given: dict[str, Any],
) -> None:
    chosen, form = resolve_settings({"tlm": True} | given, form)
    chosen = replace(chosen, tile=chosen.tile or _TILE)
    if chosen.has_target:
        raise ArgumentError(
            f"{chosen.targets[0]} is decided over the whole image; use step, or nothing, which loses nothing"
        )
    if chosen.roi is not None:
        raise ArgumentError("roi needs the largest coefficient of the whole image; use imwrite")
    if form == "j2k" and colours is not None:
        raise ArgumentError("form='j2k' has no room for colours; use form='jp2' or form='jph'")
    edges = _find_edges(height, chosen)
    start, header, lengths = 0, b"", list[int]()
    for first, strip in _cut_strips(rows, edges):
        components, shape, encoder = _prepare_strip(strip, first, chosen, bits, engine)
        if not lengths:
            # the last tiles may be too low for the levels of the first
            chosen = replace(chosen, levels=encoder.levels)
            header = encoder.encode_header(
                (chosen.origin[0], chosen.origin[0] + height, chosen.tile_origin[0]), _GUARD_BITS
            )
            count = len(edges) * encoder.tile_count
            if count > MOST_TILES:
                raise ArgumentError(f"tile={chosen.tile} makes {count} tiles; there may be {MOST_TILES}")
            if form != "j2k":
                boxes = describe_colours(components, (height, shape[1]), colours or Colours())
                # the last box may say that it reaches to the end of the file
                file.write(write_jp2(b"", boxes, brand=f"{form} ")[:-8] + bytes(4) + b"jp2c")
            start = file.tell()
            file.write(header + encoder.encode_tile_lengths([0] * count * encoder.part_count))
        tiles, parts = encoder.encode_tiles(len(lengths) // encoder.part_count, _GUARD_BITS)
        file.write(tiles)
        lengths += parts
        if on_progress is not None:
            on_progress((first + len(strip)) / height)
    file.write(END)
    end = file.tell()
    file.seek(start + len(header))
    file.write(encoder.encode_tile_lengths(lengths))
    file.seek(end)


def _prepare_strip(
    strip: Array, first: int, settings: Settings, bits: int | None, engine: str | None
) -> tuple[list[Component], tuple[int, int], Encoder]:
    """Return the components of a row of tiles, their size, and an encoder that has them where they lie on the grid."""
    top, tile_top = settings.origin[0] + first, settings.tile_origin[0]
    tile_height, _ = settings.tile or _TILE
    tile_top += (top - tile_top) // tile_height * tile_height
    own = replace(settings, origin=(top, settings.origin[1]), tile_origin=(tile_top, settings.tile_origin[1]))
    components, shape = as_components(strip, bits=bits, origin=own.origin)
    return components, shape, Encoder(components, shape, own, engine)


def _find_edges(height: int, settings: Settings) -> list[int]:
    """Return behind how many rows each row of tiles ends."""
    tile_height, _ = settings.tile or _TILE
    first = settings.tile_origin[0] + tile_height - settings.origin[0]
    return [*range(first, height, tile_height), height]


def _cut_strips(rows: Iterable[Array], edges: Sequence[int]) -> Iterator[tuple[int, Array]]:
    """Give rows of tiles, each with the number of its first row."""
    pieces = map(np.asarray, rows)
    held = [next(pieces, np.empty((0, 0)))]
    first = 0
    for last in edges:
        while (count := sum(map(len, held))) < last - first:
            piece = next(pieces, None)
            if piece is None:
                raise ArgumentError(f"rows ends behind {first + count} rows, and height={edges[-1]}")
            if (piece.shape[1:], piece.dtype) != (held[0].shape[1:], held[0].dtype):
                raise ShapeError(
                    f"the piece from row {first + count} on has shape {piece.shape} and holds {piece.dtype}; "
                    f"those before have {held[0].shape} and {held[0].dtype}"
                )
            held.append(piece)
        whole = np.concatenate(held) if len(held) > 1 else held[0]
        yield first, whole[: last - first]
        held = [whole[last - first :]]
        first = last
    more = len(held[0]) + sum(len(piece) for piece in pieces)
    if more:
        raise ArgumentError(f"rows has {first + more} rows, and height={edges[-1]}")
