"""What an encoder is told: how exact, how large, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np

from subband.codecs.jpeg2000.blocks.styles import (
    BYPASS,
    CAUSAL,
    HIGH_THROUGHPUT,
    PREDICTABLE,
    RESET,
    SYMBOLS,
    TERMINATE,
)
from subband.codecs.jpeg2000.geometry import Rectangle
from subband.codecs.jpeg2000.parameters import MOST_LEVELS, CodingStyle, Order, Progression
from subband.errors import ArgumentError, suggest_names

__all__ = ["BLOCK_STYLES", "Settings"]

#: The bits of the block coder, by what they do.
BLOCK_STYLES = {
    "bypass": BYPASS,
    "reset": RESET,
    "terminate": TERMINATE,
    "causal": CAUSAL,
    "predictable": PREDICTABLE,
    "segmentation": SYMBOLS,
}

_MOST_LAYERS = 65535


@dataclass(frozen=True)
class Settings:
    """How an image is encoded.

    Attributes
    ----------
    lossless : bool
        Whether every bit comes back: the 5/3 wavelet in whole numbers, and all coding passes. Left out, it is so unless
        `rate`, `size`, `psnr` or `step` is given. With one of the first three, ``lossless=True`` chooses the 5/3
        wavelet all the same, and cuts its passes off.
    rate : float or sequence of float, optional
        Bits per pixel (bpp) of the file; several for as many layers, rising. Headers are written even if they alone
        take more, as they do for the smallest images.
    size : int or sequence of int, optional
        Bytes of the file, headers included; several for as many layers, rising.
    psnr : float or sequence of float, optional
        Peak signal-to-noise ratio in dB; several for as many layers, rising.
    layers : int, optional
        How many quality layers there are; each of them has half the bytes of the next, or 3 dB less if a PSNR is asked
        for. Left out, as many as there are targets.
    levels : int, optional
        Levels of decomposition, 0 to 32; 5 for all but small images.
    tile : (int, int), optional
        Rows and columns of a tile; the whole image by default.
    block : (int, int)
        Rows and columns of a code-block: powers of two from 4 to 1024, 4096 samples at most.
    precincts : sequence of (int, int), optional
        Rows and columns of precincts, powers of two, from the finest resolution to coarser ones; the last one counts
        for all that follow.
    progression : {"LRCP", "RLCP", "RPCL", "PCRL", "CPRL"}
        The order of packets: layer, resolution, component, position; what runs slowest stands first.
    changes : sequence of Progression
        Packets that come first, each with an order of its own, within ranges of resolutions, components and layers
        (POC); what is left follows in the order of `progression`.
    roi : (int, int, int, int) or sequence of these, optional
        Regions of interest: first row, first column, last row and last column, the last ones excluded. Their bit planes
        come before all others (max-shift), so that they are exact first when layers are left out, or a rate is small.
        Not with `psnr` nor `ht`.
    style : sequence of str
        Of the block coder: ``"bypass"``, ``"reset"``, ``"terminate"``, ``"causal"``, ``"predictable"`` and
        ``"segmentation"``.
    ht : bool
        Whether blocks are those of Part 15, high throughput (HTJ2K), which are coded many times as fast and take a
        little more room. Of the styles they have ``"causal"`` alone. `rate`, `size` and `psnr` choose the step of the
        quantiser, so that they exclude ``lossless=True``; several `layers` need one of them.
    colour : bool, optional
        Whether the first three components are turned into luminance and two differences; so by default where there are
        three or four of equal size and depth.
    sop, eph : bool
        Whether a marker stands before each packet, and behind the header of each packet.
    plt, tlm : bool
        Whether the lengths of packets and of tiles are written, for random access.
    tile_parts : {"", "R"}
        ``"R"`` divides tiles into parts by resolution, so that a reader of coarse ones skips the rest; for the orders
        ``"RLCP"`` and ``"RPCL"``.
    origin : (int, int)
        Row and column of the first sample on the reference grid.
    tile_origin : (int, int)
        Row and column of the first tile; not beyond `origin`.
    step : float, optional
        The step of the lossy quantiser in grey levels of the image; chosen by itself if left out.
    comment : str, optional
        A text in Latin letters.

    Examples
    --------
    >>> from subband.codecs.jpeg2000 import Settings
    >>> Settings(rate=0.5).is_reversible, Settings().is_reversible
    (False, True)
    >>> Settings(block=(48, 64)).check()
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentError: block=(48, 64) is not two powers of two from 4 to 1024 with 4096 samples at most
    """

    lossless: bool | None = None
    rate: float | Sequence[float] | None = None
    size: int | Sequence[int] | None = None
    psnr: float | Sequence[float] | None = None
    layers: int | None = None
    levels: int | None = None
    tile: tuple[int, int] | None = None
    block: tuple[int, int] = (64, 64)
    precincts: Sequence[tuple[int, int]] | None = None
    progression: str = "LRCP"
    changes: Sequence[Progression] = ()
    roi: Sequence[int] | Sequence[Sequence[int]] | None = None
    style: Sequence[str] = ()
    ht: bool = False
    colour: bool | None = None
    sop: bool = False
    eph: bool = False
    plt: bool = False
    tlm: bool = False
    tile_parts: str = ""
    origin: tuple[int, int] = (0, 0)
    tile_origin: tuple[int, int] = (0, 0)
    step: float | None = None
    comment: str | None = None

    @property
    def has_target(self) -> bool:
        """Whether a size or an error was asked for."""
        return any(target is not None for target in (self.rate, self.size, self.psnr))

    @property
    def is_reversible(self) -> bool:
        """Whether the 5/3 wavelet is used."""
        return not self.has_target and self.step is None if self.lossless is None else self.lossless

    @property
    def order(self) -> Order:
        """The order of packets."""
        return Order[self.progression.upper()]

    @property
    def regions(self) -> tuple[Rectangle, ...]:
        """The regions of interest on the reference grid."""
        if self.roi is None:
            return ()
        top, left = self.origin
        return tuple(Rectangle(left + x0, top + y0, left + x1, top + y1) for y0, x0, y1, x1 in _list_regions(self.roi))

    @property
    def style_bits(self) -> int:
        """The style of code-blocks as a file has it."""
        return sum({BLOCK_STYLES[name] for name in self.style}) | (HIGH_THROUGHPUT if self.ht else 0)

    @property
    def ht_passes(self) -> tuple[int, int]:
        """The lowest plane of the cleanup pass of a high-throughput block, and its passes.

        Where rate control has to choose, or there are layers, two passes more for the plane below can be left out.
        """
        name, values = self.targets
        is_cut = name in ("rate", "size") or len(values) > 1 or (self.layers or 1) > 1
        return (1, 3) if is_cut else (0, 1)

    @property
    def targets(self) -> tuple[str, tuple[float, ...]]:
        """The kind of target, ``"rate"``, ``"size"``, ``"psnr"`` or ``""``, and its value for each layer."""
        given = [(name, getattr(self, name)) for name in ("rate", "size", "psnr") if getattr(self, name) is not None]
        if not given:
            return "", ()
        name, value = given[0]
        values = tuple(float(each) for each in value) if isinstance(value, Sequence) else (float(value),)
        return name, values

    def check(self) -> None:
        """Raise an `ArgumentError` unless all of it can be done."""
        given = [name for name in ("rate", "size", "psnr") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ArgumentError(f"{' and '.join(given)} are both given; one of them decides how large the file becomes")
        name, values = self.targets
        is_fine = all(0 < value < float("inf") for value in values) and list(values) == sorted(values)
        if given and not (values and is_fine):
            raise ArgumentError(f"{name}={getattr(self, name)!r} is not a positive number, or several that rise")
        if self.layers is not None and not 1 <= self.layers <= _MOST_LAYERS:
            raise ArgumentError(f"layers={self.layers} is not from 1 to {_MOST_LAYERS}")
        if self.layers is not None and len(values) > 1 and self.layers != len(values):
            raise ArgumentError(f"layers={self.layers} does not go with {len(values)} values of {name}; leave it out")
        if self.levels is not None and not 0 <= self.levels <= MOST_LEVELS:
            raise ArgumentError(f"levels={self.levels} is not from 0 to {MOST_LEVELS}")
        if self.progression.upper() not in Order.__members__:
            names = ", ".join(Order.__members__)
            raise ArgumentError(f"progression={self.progression!r} is no order of packets; use one of {names}")
        for style in self.style:
            if style not in BLOCK_STYLES:
                hint = suggest_names(style, BLOCK_STYLES)
                raise ArgumentError(f"style={style!r} is not known{hint}; use some of {', '.join(BLOCK_STYLES)}")
        if self.tile_parts not in ("", "R"):
            raise ArgumentError(f"tile_parts={self.tile_parts!r} is not known; use 'R' for parts by resolution, or ''")
        if self.tile_parts and not self.progression.upper().startswith("R"):
            raise ArgumentError(
                f"tile_parts='R' does not go with progression={self.progression!r}; use 'RLCP' or 'RPCL'"
            )
        if self.changes and self.tile_parts:
            raise ArgumentError("tile_parts='R' does not go with changes, which may mix resolutions; leave one out")
        if self.roi is not None:
            self._check_regions()
        if self.ht:
            self._check_ht()
        if self.step is not None and self.lossless:
            raise ArgumentError(
                f"step={self.step} does not go with lossless=True, which has no quantiser; leave one out"
            )
        if self.step is not None and not 0 < self.step < float("inf"):
            raise ArgumentError(f"step={self.step} is not a positive number")
        self._check_sizes()

    def _check_regions(self) -> None:
        if self.ht or self.psnr is not None:
            raise ArgumentError(f"roi does not go with {'ht=True' if self.ht else 'psnr'}; leave one out")
        for region in _list_regions(self.roi):
            if len(region) != 4 or not (0 <= region[0] < region[2] and 0 <= region[1] < region[3]):
                raise ArgumentError(
                    f"roi={self.roi!r} is not rows and columns as (y0, x0, y1, x1), or several of these"
                )

    def _check_ht(self) -> None:
        others = [style for style in self.style if style != "causal"]
        if others:
            raise ArgumentError(
                f"ht=True does not go with style={others[0]!r}; high-throughput blocks have only 'causal'"
            )
        if self.is_reversible and self.has_target:
            raise ArgumentError(f"ht=True cannot cut lossless blocks to {self.targets[0]}; leave lossless=True out")
        if (self.layers or 1) > 1 and not self.has_target:
            raise ArgumentError(
                f"ht=True with layers={self.layers} needs rate, size or psnr; lossless blocks are whole"
            )

    def _check_sizes(self) -> None:
        block = _as_exponents("block", self.block)
        if block is None or not all(2 <= side <= 10 for side in block) or sum(block) > 12:
            raise ArgumentError(f"block={self.block} is not two powers of two from 4 to 1024 with 4096 samples at most")
        for size in self.precincts or ():
            exponents = _as_exponents("precincts", size)
            if exponents is None or not all(1 <= side <= 15 for side in exponents):
                raise ArgumentError(f"precincts={size} is not two powers of two from 2 to 32768")
        for name in ("origin", "tile_origin"):
            row, column = getattr(self, name)
            if not (0 <= row < 2**31 and 0 <= column < 2**31):
                raise ArgumentError(f"{name}={getattr(self, name)} is not a position on the grid; use 0 or more")
        if self.tile is not None and not (
            np.shape(self.tile) == (2,) and 1 <= self.tile[0] < 2**31 and 1 <= self.tile[1] < 2**31
        ):
            raise ArgumentError(f"tile={self.tile} is not a size; use rows and columns")
        if any(a > b for a, b in zip(self.tile_origin, self.origin, strict=True)):
            raise ArgumentError(f"tile_origin={self.tile_origin} lies beyond origin={self.origin}; use a smaller one")

    def choose_levels(self, rows: int, columns: int) -> int:
        """Return the levels that were asked for, else as many as tiles of that size take, and 5 at most."""
        if self.levels is not None:
            return self.levels
        return max(0, min(5, min(rows, columns).bit_length() - 1))

    def make_style(self, levels: int) -> CodingStyle:
        """Return what the headers say about code-blocks, precincts and the wavelet."""
        high, wide = (side.bit_length() - 1 for side in self.block)
        precincts: tuple[tuple[int, int], ...] = ()
        if self.precincts:
            sizes = [(width.bit_length() - 1, height.bit_length() - 1) for height, width in self.precincts]
            sizes += [sizes[-1]] * (levels + 1 - len(sizes))
            precincts = tuple(reversed(sizes[: levels + 1]))
        return CodingStyle(levels, wide, high, self.style_bits, self.is_reversible, precincts)


def _list_regions(roi: Any) -> list[tuple[int, ...]]:
    """Return one region, or several, as several."""
    try:
        several = [roi] if np.ndim(roi[0]) == 0 else list(roi)
        return [tuple(index(each) for each in region) for region in several]
    except (TypeError, ValueError, IndexError):
        raise ArgumentError(f"roi={roi!r} is not rows and columns as (y0, x0, y1, x1), or several of these") from None


def _as_exponents(name: str, size: Any) -> tuple[int, int] | None:
    """Return the exponents of two powers of two, or None if they are none."""
    try:
        high, wide = (index(side) for side in size)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name}={size!r} is not a pair of rows and columns") from None
    if any(side < 1 or side & (side - 1) for side in (high, wide)):
        return None
    return high.bit_length() - 1, wide.bit_length() - 1
