"""Surfaces to try things on, made by rule: a head, a terrain and a ring.

The head is modelled as sculptors build one up: balls and wires pressed together, hollows pressed in, the seams
smoothed. Rays from an axis inside look for the skin, one for each control point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np

from subband.edit.surfaces.grids import Surface, check_counts
from subband.edit.surfaces.nurbs import make_knots, measure_basis
from subband.errors import ArgumentError, suggest_names
from subband.typing import Array

__all__ = ["SHAPES", "head", "make_shape", "ring", "terrain"]


@dataclass(frozen=True)
class _Lump:
    """An ellipsoid, or between two ends a wire that is as thick as the radii at each.

    Attributes
    ----------
    centre, radii : tuple of float
        In centimetres: to the side, to the front, up. With `end`, the first two radii are those of the two ends.
    seam : float
        How far the seam to what is there already is smoothed.
    is_hollow : bool
        Whether it is taken away.
    is_double : bool
        Whether there is another one on the other side.
    """

    centre: tuple[float, float, float]
    radii: tuple[float, ...]
    seam: float = 1.0
    end: tuple[float, float, float] | None = None
    is_hollow: bool = False
    is_double: bool = False


#: Out of what the head is built, in this order. The origin lies between the ears.
_LUMPS = (
    _Lump((0.0, -1.2, 4.0), (7.5, 9.4, 8.4)),
    _Lump((0.0, 2.6, -2.5), (6.1, 5.6, 7.6), 2.5),
    _Lump((0.0, 2.7, -7.4), (4.9, 4.8, 3.2), 2.0),
    _Lump((4.9, 0.6, -6.0), (1.5, 2.6, 2.4), 2.0, is_double=True),
    _Lump((0.0, 6.9, -9.3), (1.7, 1.2, 1.3), 1.4),
    _Lump((0.0, -2.6, -7.0), (5.5, 5.9), 1.6, end=(0.0, -3.6, -20.0)),
    _Lump((4.2, 5.2, -2.0), (2.1, 2.0, 1.5), 1.6, is_double=True),
    _Lump((2.7, 7.0, 1.7), (2.5, 1.2, 0.75), 1.0, is_double=True),
    _Lump((3.15, 8.6, -0.1), (1.75, 1.9, 1.15), 0.7, is_hollow=True, is_double=True),
    _Lump((3.1, 5.95, -0.05), (1.45, 1.45, 1.3), 0.25, is_double=True),
    _Lump((3.1, 6.35, 0.45), (1.65, 1.2, 0.75), 0.35, is_double=True),
    _Lump((0.0, 7.3, 1.2), (0.85, 1.25), 0.9, end=(0.0, 9.3, -3.1)),
    _Lump((0.0, 9.6, -3.2), (1.0, 0.95, 0.85), 0.6),
    _Lump((1.15, 8.3, -3.5), (0.8, 0.95, 0.7), 0.45, is_double=True),
    _Lump((0.0, 6.5, -5.6), (3.0, 1.7, 2.0), 1.2),
    _Lump((0.0, 7.8, -5.75), (2.1, 0.75, 0.55), 0.35),
    _Lump((0.0, 7.65, -6.9), (1.8, 0.8, 0.6), 0.35),
    _Lump((0.0, 8.9, -6.32), (2.3, 0.9, 0.16), 0.2, is_hollow=True),
    _Lump((0.0, 8.3, -8.0), (1.8, 0.7, 0.5), 0.5, is_hollow=True),
    _Lump((7.2, -1.3, 0.3), (0.85, 1.75, 2.2), 0.7, is_double=True),
    _Lump((6.6, -0.7, -2.0), (0.7, 0.95, 1.4), 0.8, is_double=True),
    _Lump((8.2, -0.9, 0.2), (0.65, 1.0, 1.4), 0.5, is_hollow=True, is_double=True),
)

#: Along the rows: how far rays lean from straight up, in degrees, and where they begin, to the front and up.
_LEANING = (0.0, 12.0, 30.0, 50.0, 70.0, 84.0, 90.0, 93.0, 95.0, 98.0, 102.0, 108.0, 116.0, 124.0, 126.0, 126.0, 126.0)
_ORIGINS = (
    (-1.2, 3.0), (-1.2, 3.0), (-1.2, 3.0), (-1.1, 2.8), (-0.9, 2.5), (-0.5, 1.8), (0.0, 0.8), (0.3, -0.4), (0.4, -1.6),
    (0.4, -2.7), (0.4, -3.7), (0.2, -4.5), (-0.2, -5.3), (-1.0, -6.6), (-2.0, -8.8), (-2.6, -11.0), (-2.8, -13.0),
)  # fmt: skip

#: Columns lie closer in the face than at the back of the head.
_CROWDING = 0.45

#: Where rays begin, how many steps they take at most, of what part of the distance, and when they are there.
_FARTHEST, _STEPS, _CARE, _NEAR = 17.0, 60, 0.85, 2e-4


def head(shape: tuple[int, int] = (128, 128)) -> Surface:
    """Make a head: a net of control points of degree 3, from the crown down to the neck, and closed around.

    Parameters
    ----------
    shape : pair of int
        Rows and columns, at least 16 of each.

    Returns
    -------
    Surface
        About 4 units high; it looks along y, and z is up. The first row is the crown, a single point, and the first
        column runs down the back of the head.

    Examples
    --------
    >>> from subband.edit.surfaces import head
    >>> head((32, 32))
    <Surface 'head': 32 × 32 control net of degrees (3, 3), closed>
    """
    return _make_head(*check_counts("shape", shape, 16))


@lru_cache(maxsize=8)
def _make_head(rows: int, columns: int) -> Surface:
    first, weights = measure_basis(make_knots(len(_LEANING), 3), 3, np.linspace(0, 1, rows))
    numbers = first[:, None] + np.arange(4)
    lean = np.deg2rad((np.asarray(_LEANING)[numbers] * weights).sum(axis=1))
    origins = (np.asarray(_ORIGINS)[numbers] * weights[..., None]).sum(axis=1)
    turn = 2 * np.pi * np.arange(columns) / columns
    turn = turn + _CROWDING * np.sin(turn) + np.pi
    start = np.zeros((rows, columns, 3))
    start[..., 1:] = origins[:, None]
    direction = np.empty((rows, columns, 3))
    direction[..., 0] = -np.sin(lean)[:, None] * np.sin(turn)
    direction[..., 1] = np.sin(lean)[:, None] * np.cos(turn)
    direction[..., 2] = np.cos(lean)[:, None]
    points = _find_skin(start, direction) / 7.0
    # all rays of the first row are the same but for rounding
    points[0] = points[0].mean(axis=0)
    return _freeze(Surface(points, (False, True), (3, 3), poles=(True, False), name="head"))


def terrain(shape: tuple[int, int] = (128, 128), seed: int = 7) -> Surface:
    """Make hills with ridges and a plain: heights over a regular grid.

    Parameters
    ----------
    shape : pair of int
        Rows and columns, at least 8 of each.
    seed : int
        Another seed makes another terrain.

    Examples
    --------
    >>> from subband.edit.surfaces import terrain
    >>> terrain((64, 64))
    <Surface 'terrain': 64 × 64 heights>
    """
    return _make_terrain(*check_counts("shape", shape, 8), seed)


@lru_cache(maxsize=8)
def _make_terrain(rows: int, columns: int, seed: int) -> Surface:
    generator = np.random.default_rng(seed)
    down, right = np.meshgrid(np.linspace(0, 1, rows), np.linspace(0, 1, columns), indexing="ij")
    heights = np.zeros((rows, columns))
    weight: Array | float = 1.0
    for octave in range(7):
        count = 3 * 2**octave
        if count > 2 * min(rows, columns):
            break
        waves = _draw_waves(generator, down * count, right * count, count)
        ridges = (1 - np.abs(waves)) ** 2
        # small ridges lie on large ones, and valleys stay smooth
        heights += weight * ridges * 0.42**octave
        weight = np.clip(weight * ridges * 1.6, 0, 1)
    heights = heights - heights.min()
    heights /= heights.max()
    # a plain in front, mountains behind
    lift = np.clip(1.25 - 1.1 * down - 0.35 * np.cos(3 * right + 1), 0.12, 1)
    spacing = 4.0 / (max(rows, columns) - 1)
    return _freeze(Surface.from_heights(0.8 * heights * lift, spacing, name="terrain"))


def ring(shape: tuple[int, int] = (64, 64)) -> Surface:
    """Make a ring with a wavy skin: points of the surface itself, closed both ways.

    Examples
    --------
    >>> from subband.edit.surfaces import ring
    >>> ring((16, 24)).closed
    (True, True)
    """
    return _make_ring(*check_counts("shape", shape, 8))


@lru_cache(maxsize=8)
def _make_ring(rows: int, columns: int) -> Surface:
    around = 2 * np.pi * np.arange(rows)[:, None] / rows
    along = 2 * np.pi * np.arange(columns) / columns
    thickness = 0.5 + 0.04 * np.cos(6 * around + 4 * along) + 0.03 * np.cos(12 * along)
    reach = 1.4 + thickness * np.cos(around)
    height = thickness * np.sin(around)
    points = np.stack([-reach * np.sin(along), reach * np.cos(along), -height], axis=-1)
    return _freeze(Surface(points, (True, True), name="ring"))


#: Surfaces by name.
SHAPES: dict[str, Callable[..., Surface]] = {"head": head, "ring": ring, "terrain": terrain}


def make_shape(name: str, shape: tuple[int, int] | None = None) -> Surface:
    """Make a surface by name.

    Raises
    ------
    ArgumentError
        If no shape has that name.

    Examples
    --------
    >>> from subband.edit.surfaces import make_shape
    >>> make_shape("terrain").shape
    (128, 128)
    """
    if name not in SHAPES:
        hint = suggest_names(str(name), SHAPES)
        raise ArgumentError(f"no surface is called {name!r}{hint}; known: {', '.join(SHAPES)}")
    return SHAPES[name]() if shape is None else SHAPES[name](shape)


def _freeze(surface: Surface) -> Surface:
    """Protect what is kept for the next caller."""
    surface.points.setflags(write=False)
    return surface


def _find_skin(start: Array, direction: Array) -> Array:
    """Follow rays from far outside inwards until they meet the skin."""
    begin, way = start.reshape(-1, 3), direction.reshape(-1, 3)
    distance = np.full(len(begin), _FARTHEST)
    moving = np.arange(len(begin))
    for _ in range(_STEPS):
        gap = _measure_distance(begin[moving] + distance[moving, None] * way[moving])
        distance[moving] -= _CARE * gap
        moving = moving[np.abs(gap) > _NEAR]
        if not len(moving):
            break
    return np.reshape(begin + np.maximum(distance, 0.5)[:, None] * way, start.shape)


def _measure_distance(points: Array) -> Array:
    """Return about how far points are from the skin; negative inside."""
    return reduce(lambda depth, lump: _press(depth, lump, points), _LUMPS, np.full(len(points), 1e3))


def _press(depth: Array, lump: _Lump, points: Array) -> Array:
    own = points
    if lump.is_double:
        # both halves of a face are the same
        own = np.concatenate([np.abs(points[..., :1]), points[..., 1:]], axis=-1)
    own = own - np.asarray(lump.centre)
    other = _measure_wire(own, lump) if lump.end is not None else _measure_ball(own, lump.radii)
    if lump.is_hollow:
        return -_join(-depth, other, lump.seam)
    return _join(depth, other, lump.seam)


def _measure_ball(points: Array, radii: tuple[float, ...]) -> Array:
    scaled = points / np.asarray(radii)
    near = np.sqrt((scaled * scaled).sum(axis=-1))
    scaled /= np.asarray(radii)
    return np.asarray(near * (near - 1) / np.maximum(np.sqrt((scaled * scaled).sum(axis=-1)), 1e-9))


def _measure_wire(points: Array, lump: _Lump) -> Array:
    way = np.asarray(lump.end) - np.asarray(lump.centre)
    share = np.clip(points @ way / (way @ way), 0, 1)
    away = points - share[..., None] * way
    return np.asarray(np.sqrt((away * away).sum(axis=-1)) - lump.radii[0] - share * (lump.radii[1] - lump.radii[0]))


def _join(first: Array, second: Array, seam: float) -> Array:
    """Return the smaller of two distances, with a smooth seam; for hollows, both with the opposite sign."""
    near = np.maximum(seam - np.abs(first - second), 0) / seam
    return np.asarray(np.minimum(first, second) - near * near * (seam / 4))


def _draw_waves(generator: np.random.Generator, down: Array, right: Array, count: int) -> Array:
    """Return smooth noise between -1 and 1: random slopes at whole numbers, joined by smooth steps."""
    angle = generator.uniform(0, 2 * np.pi, (count + 2, count + 2))
    i, j = down.astype(int), right.astype(int)
    u, v = down - i, right - j

    def rise(di: int, dj: int) -> Array:
        chosen = angle[i + di, j + dj]
        return np.asarray(np.cos(chosen) * (u - di) + np.sin(chosen) * (v - dj))

    a, b = (part**3 * (part * (part * 6 - 15) + 10) for part in (u, v))
    top = rise(0, 0) * (1 - b) + rise(0, 1) * b
    bottom = rise(1, 0) * (1 - b) + rise(1, 1) * b
    return np.asarray(np.clip(1.5 * (top * (1 - a) + bottom * a), -1, 1))
