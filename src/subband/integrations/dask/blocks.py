"""What workers do: fetch a block, transform it, and leave off what only its neighbours need.

Everything here takes blocks of NumPy or CuPy, computes where they are, and knows nothing of Dask.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from subband.arrays import as_computable, cast, find_kind
from subband.engines import Engine, get_threads, set_threads
from subband.engines.dispatch import engine_for
from subband.engines.memory import allocate
from subband.integrations.dask.windows import Window
from subband.plan import LevelPlan, level_plan
from subband.stationary import stationary_plan
from subband.transforms.padding import extend_axis
from subband.typing import Array, Bands
from subband.wavelets import Wavelet

__all__ = [
    "LocalLevel",
    "Part",
    "Parts",
    "Recipe",
    "compact",
    "cut",
    "fetch",
    "gather",
    "merge_block",
    "share_cores",
    "split_block",
    "stay_with",
]

Slices = tuple[slice, ...]

# A part of a block may keep so many times its own size in memory.
_WASTE = 1.1


@dataclass(frozen=True)
class Recipe:
    """How pieces of chunks become a block.

    Attributes
    ----------
    shape : tuple of int
        Of what is put together from the pieces.
    places : tuple of tuple of slice
        Where each piece goes.
    cuts : tuple of (tuple of slice or None)
        What is taken of each piece; all of it if None.
    windows : tuple of Window
        How each axis is extended afterwards.
    """

    shape: tuple[int, ...]
    places: tuple[Slices, ...]
    cuts: tuple[Slices | None, ...]
    windows: tuple[Window, ...]


class Part(NamedTuple):
    """A block that is put together from some of the pieces that a task is given; of one band if these are bundles."""

    recipe: Recipe
    picks: tuple[int, ...]
    band: str | None = None

    def fetch(self, pieces: Sequence[Any]) -> Array:
        """Return the block."""
        return fetch(self.recipe, [pieces[place] for place in self.picks], self.band)


#: Several blocks by name.
Parts = Mapping[Any, Part]


def cut(x: Any, slices: Slices) -> Any:
    """Return a copy of a part of a chunk, or of every band of one: a view would keep all of it in memory."""
    if isinstance(x, dict):
        return {key: cut(band, slices) for key, band in x.items()}
    return x[slices].copy()


def fetch(recipe: Recipe, pieces: Sequence[Any], key: str | None = None) -> Array:
    """Return pieces, or one band of each, as a block that is extended as its windows say.

    Examples
    --------
    >>> from subband.boundary import extend
    >>> from subband.integrations.dask.windows import open_window
    >>> window = open_window(lambda start, stop: extend("symmetric", 4, start, stop), 4, -2, 4)
    >>> recipe = Recipe((6,), ((slice(2, 4),), (slice(4, 6),)), (None, None), (window,))
    >>> fetch(recipe, [np.array([1, 2]), np.array([3, 4])])
    array([2, 1, 1, 2, 3, 4])
    """
    parts = []
    for piece, taken in zip(pieces, recipe.cuts, strict=True):
        band = piece[key] if isinstance(piece, dict) else piece
        parts.append(band if taken is None else band[taken])
    block: Array
    if len(parts) == 1 and parts[0].shape == recipe.shape:
        block = parts[0]
    else:
        block = _allocate(recipe.shape, parts[0])
        for part, place in zip(parts, recipe.places, strict=True):
            block[place] = part
    for axis in range(len(recipe.windows)):
        block = _extend(block, axis, recipe.windows)
    return block


def _allocate(shape: tuple[int, ...], like: Any) -> Array:
    if isinstance(like, np.ndarray):
        return allocate(shape, like.dtype)
    empty: Array = np.empty_like(like, shape=shape)
    return empty


def gather(recipe: Recipe, pieces: Sequence[Any]) -> Array:
    """Return a block of its own, for a chunk that is nothing but pieces of others."""
    block = fetch(recipe, pieces)
    return block.copy() if len(pieces) == 1 else block


def _extend(block: Array, axis: int, windows: Sequence[Window]) -> Array:
    window = windows[axis]
    before, behind = window.room
    if not window.runs:
        shape = list(block.shape)
        shape[axis] = window.size
        return np.zeros_like(block, shape=shape)
    if not before and not behind:
        return block
    if window.is_direct:
        # where later axes are not extended yet, there is nothing to extend along this one
        inner = [
            slice(other.room[0], other.room[0] + other.fetched) if place > axis and other.is_direct else slice(None)
            for place, other in enumerate(windows)
        ]
        inner[axis] = slice(before, before + window.fetched)
        known = block[tuple(inner)]
        for extension, place in ((window.before, slice(0, before)), (window.behind, slice(window.size - behind, None))):
            if extension is not None:
                inner[axis] = place
                block[tuple(inner)] = extend_axis(known, axis, extension)
        return block
    inner = [slice(None)] * block.ndim
    inner[axis] = slice(*window.middle)
    parts = [block[tuple(inner)]]
    if window.before is not None:
        parts.insert(0, extend_axis(block, axis, window.before))
    if window.behind is not None:
        parts.append(extend_axis(block, axis, window.behind))
    return np.concatenate(parts, axis)


@dataclass(frozen=True)
class LocalLevel:
    """What a level does to one block.

    Attributes
    ----------
    axes : tuple of int
        The transformed ones.
    wavelets : tuple of Wavelet
        One for each axis.
    low, high : tuple of slice
        Which coefficients of the block count along each transformed axis; going back, `low` says which samples.
    step : int
        Distance of the taps in an undecimated level; 0 in a decimated one.
    is_reversible : bool
        Whether the numbers are whole ones.
    is_wide : bool
        Whether single precision would leave nothing of the samples beside their extension.
    engine : Engine or None
        Who computes; that of the place of the block if None.
    """

    axes: tuple[int, ...]
    wavelets: tuple[Wavelet, ...]
    low: Slices
    high: Slices
    step: int = 0
    is_reversible: bool = False
    is_wide: bool = False
    engine: Engine | str | None = None

    def plan(self, shape: tuple[int, ...]) -> LevelPlan:
        """Return the plan of a decimated level of a block of some shape; borders do not count, so zeros will do."""
        return level_plan(shape, self.axes, self.wavelets, ("zero",) * len(self.axes), self.is_reversible)

    def crop(self, band: Array, key: str) -> Array:
        """Return what counts of a band."""
        inner = [slice(None)] * band.ndim
        for axis, letter, low, high in zip(self.axes, key, self.low, self.high, strict=True):
            inner[axis] = low if letter == "a" else high
        return band[tuple(inner)]

    def find_engine(self, block: Array) -> Engine:
        """Return who computes."""
        return engine_for(block, self.engine)


def split_block(level: LocalLevel, recipe: Recipe, pieces: Sequence[Any], key: str | None = None) -> Bands:
    """Fetch a block, and return its share of all bands; the pieces may be bands, of which one is split further."""
    with share_cores(), stay_with(pieces[0]):
        samples = pieces if key is None else [piece[key] for piece in pieces]
        return _split_samples(level, fetch(recipe, [_as_taken(piece, level) for piece in samples]))


def _split_samples(level: LocalLevel, block: Array) -> Bands:
    """Transform a block and return what counts of all bands."""
    dtype = block.dtype
    if level.is_wide and dtype == np.float32:
        block = cast(block, np.float64)
    engine = level.find_engine(block)
    if level.step:
        plan = stationary_plan(tuple(block.shape), level.axes, level.wavelets, level.step.bit_length())
        bands = engine.stationary_forward(plan, block)
    else:
        bands = engine.forward(level.plan(tuple(block.shape)), block)
    return {key: compact(cast(level.crop(band, key), dtype), band.size) for key, band in bands.items()}


def merge_block(level: LocalLevel, parts: Parts, pieces: Sequence[Any]) -> Array:
    """Fetch the bands around a chunk, and return the chunk's samples."""
    with share_cores(), stay_with(pieces[0]):
        return _merge_bands(level, {key: part.fetch(pieces) for key, part in parts.items()})


def _merge_bands(level: LocalLevel, bands: Bands) -> Array:
    """Undo a level for bands of a block, and return the samples that count."""
    band = next(iter(bands.values()))
    engine = level.find_engine(band)
    shape = list(band.shape)
    if level.step:
        plan = stationary_plan(tuple(shape), level.axes, level.wavelets, level.step.bit_length())
        x = engine.stationary_inverse(plan, bands)
    else:
        for axis, wavelet in zip(level.axes, level.wavelets, strict=True):
            shape[axis] = 2 * shape[axis] - (0 if level.is_reversible else wavelet.dec_len - 2)
        x = engine.inverse(level.plan(tuple(shape)), bands)
    return compact(level.crop(x, "a" * len(level.axes)), x.size)


def compact(part: Array, whole: int) -> Array:
    """Return a part of a block as an array of its own, if it would keep much more than itself in memory."""
    return part.copy() if part.size * _WASTE < whole else part


def _as_taken(piece: Array, level: LocalLevel) -> Array:
    """Return samples in a dtype that engines take."""
    return piece if level.is_reversible else as_computable(piece)


@contextmanager
def stay_with(x: Any) -> Iterator[None]:
    """Compute on the device of a block, or of bands."""
    kind = find_kind(next(iter(x.values())) if isinstance(x, dict) else x)
    if kind is None:
        yield
        return
    with kind.enter(x):
        yield


_counting = Lock()
_running, _most, _given = 0, 0, 1


@contextmanager
def share_cores() -> Iterator[None]:
    """Share the threads of this process among the blocks that are computed in it at the same time.

    A scheduler runs a block for each of its threads. If each block took all cores, they would be in each other's way.
    """
    global _running, _most, _given
    with _counting:
        if _running == 0:
            _given, _most = get_threads(), 0
        _running += 1
        if _running > _most:
            _most = _running
            set_threads(max(1, _given // _most))
    try:
        yield
    finally:
        with _counting:
            _running -= 1
            if _running == 0:
                set_threads(_given)
