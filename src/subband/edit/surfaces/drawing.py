"""A small renderer of surfaces, with a depth buffer, smooth shading and soft light.

It needs no window and no graphics card, and draws a head of 256 × 256 points in a few hundredths of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from subband.compiled import Kernels
from subband.edit.settings import check_colour, check_number
from subband.edit.surfaces.grids import Mesh, Surface, check_counts, check_surface, make_mesh
from subband.edit.surfaces.nurbs import evaluate
from subband.typing import Array

__all__ = ["View", "choose_view", "draw", "draw_mesh"]

_loops = Kernels("subband.edit.surfaces.raster_loops")

#: Where light comes from, as the viewer sees it: to the right, up, towards the viewer; and how strong it is.
_LIGHTS = (((-0.55, 0.6, 0.75), 0.85), ((0.9, 0.15, 0.35), 0.28))
_AMBIENT, _GLOSS, _SHARPNESS = 0.16, 0.14, 24

#: How much of the image a surface takes.
_FILLED = 0.92

#: Pixels that are drawn for one that is shown, along each axis.
_FINER = 2


@dataclass(frozen=True)
class View:
    """From where a surface is seen.

    Parameters
    ----------
    turn : float
        Degrees around the vertical; 0 looks from the front, against the direction of y.
    tilt : float
        Degrees from above.
    distance : float
        In sizes of the surface; small ones make near parts larger.
    zoom : float
        1 lets the surface fill the image but for a margin.

    Examples
    --------
    >>> from subband.edit.surfaces import View
    >>> View(turn=30).tilt
    10.0
    """

    turn: float = 25.0
    tilt: float = 10.0
    distance: float = 4.0
    zoom: float = 1.0

    def __post_init__(self) -> None:
        for name in ("turn", "tilt"):
            check_number(name, getattr(self, name), -1e6, 1e6, "use degrees")
        check_number("distance", self.distance, 1.001, 1e6, "use sizes of the surface, more than 1")
        check_number("zoom", self.zoom, 1e-6, 1e6, "use a positive number")


def draw(
    surface: Surface,
    size: tuple[int, int] = (480, 480),
    view: View | None = None,
    *,
    colour: Sequence[float] = (226, 206, 186),
    background: Sequence[float] | None = (255, 255, 255),
    points: tuple[int, int] | None = None,
    frame: Surface | None = None,
) -> Array:
    """Draw a surface.

    Parameters
    ----------
    surface : Surface
        Control points are evaluated first.
    size : pair of int
        Rows and columns of the image.
    view : View, optional
        Heads are seen from the front and one side, heights from above.
    colour : three numbers
        Of the surface, out of 255.
    background : three numbers, optional
        None for transparent: the image has a fourth channel then.
    points : pair of int, optional
        Rows and columns of points of a NURBS surface; twice as many as control points if left out.
    frame : Surface, optional
        The image is framed for this surface, so that several ones can be compared.

    Returns
    -------
    ndarray of uint8
        Rows × columns × 3, or × 4.

    Examples
    --------
    >>> from subband.edit.surfaces import draw, shapes
    >>> draw(shapes.head((32, 32)), (60, 50)).shape
    (60, 50, 3)
    """
    check_surface(surface)
    if view is None:
        view = choose_view(surface)
    if points is None:
        points = (2 * surface.shape[0], 2 * surface.shape[1])
    mesh = make_mesh(evaluate(surface, points), surface.closed, surface.poles)
    framed = mesh.vertices if frame is None else evaluate(frame)
    return draw_mesh(mesh, size, view, colour=colour, background=background, framed=framed)


def choose_view(surface: Surface) -> View:
    """Return from where a surface is best seen: heights from above, their first row behind.

    Examples
    --------
    >>> choose_view(Surface.from_heights(np.zeros((4, 4)))).tilt
    35
    """
    return View(turn=205, tilt=35) if surface.is_heights or surface.closed[0] else View()


def draw_mesh(
    mesh: Mesh,
    size: tuple[int, int],
    view: View,
    *,
    colour: Sequence[float] = (226, 206, 186),
    background: Sequence[float] | None = (255, 255, 255),
    framed: Array | None = None,
) -> Array:
    """Draw a mesh; `framed` holds the points that the image is framed for."""
    rows, columns = (count * _FINER for count in check_counts("size", size, 1))
    if background is not None:
        background = check_colour("background", background)
    turned = _turn(view)
    corners = np.reshape(mesh.vertices if framed is None else framed, (-1, 3)).astype(np.float64)
    low, high = corners.min(axis=0), corners.max(axis=0)
    middle, radius = (low + high) / 2, float(np.linalg.norm(high - low)) / 2 or 1.0

    def project(points: Array) -> Array:
        seen = ((points - middle) / radius) @ turned.T
        seen[:, :2] *= (view.distance / np.maximum(view.distance - seen[:, 2:], 0.05)) * (1, -1)
        return np.asarray(seen)

    flat = project(corners)[:, :2]
    low, high = flat.min(axis=0), flat.max(axis=0)
    scale = view.zoom * _FILLED * min(np.array([columns, rows]) / np.maximum(high - low, 1e-9))
    projected = project(mesh.vertices.reshape(-1, 3)).astype(np.float32)
    projected[:, :2] = (projected[:, :2] - (low + high) / 2) * scale + (columns / 2 - 0.5, rows / 2 - 0.5)
    projected[:, 2] *= -1
    shades = _shade(mesh.normals.reshape(-1, 3) @ turned.T, np.asarray(check_colour("colour", colour)) / 255)
    depth = np.full((rows, columns), np.inf, np.float32)
    canvas = np.zeros((rows, columns, 4), np.float32)
    _loops.fill_triangles(projected, shades, mesh.triangles, depth, canvas)
    return _develop(canvas, background)


def _turn(view: View) -> Array:
    """Return what turns the world's axes into those of the viewer: to the right, up, towards the viewer."""
    turn, tilt = np.deg2rad([view.turn, view.tilt])
    # the viewer stands on the side that y points to, and sees x to the left
    towards = np.array([-np.sin(turn) * np.cos(tilt), np.cos(turn) * np.cos(tilt), np.sin(tilt)])
    right = np.array([-np.cos(turn), -np.sin(turn), 0.0])
    return np.stack([right, np.cross(towards, right), towards])


def _shade(normals: Array, colour: Array) -> Array:
    """Return the linear colour at each vertex under the lights; both sides of a surface are lit."""
    facing = normals * np.where(normals[:, 2:] < 0, -1, 1)
    brightness = np.full(len(facing), _AMBIENT)
    gloss = np.zeros(len(facing))
    for direction, power in _LIGHTS:
        light = np.asarray(direction) / np.linalg.norm(direction)
        brightness += power * np.maximum(facing @ light, 0)
        half = light + np.array([0.0, 0.0, 1.0])
        gloss += power * np.maximum(facing @ (half / np.linalg.norm(half)), 0) ** _SHARPNESS
    # a little darker where the surface turns away, as skin and stone are
    brightness *= 0.75 + 0.25 * np.abs(facing[:, 2])
    return np.asarray(brightness[:, None] * colour**2.2 + _GLOSS * gloss[:, None]).astype(np.float32)


def _develop(canvas: Array, background: Sequence[float] | None) -> Array:
    """Average finer pixels, lay them over the background, and give them the curve of screens."""
    rows, columns = canvas.shape[0] // _FINER, canvas.shape[1] // _FINER
    small = canvas.reshape(rows, _FINER, columns, _FINER, 4).mean(axis=(1, 3))
    light, cover = small[..., :3], small[..., 3:]
    if background is None:
        light = light / np.maximum(cover, 1e-6)
    else:
        light = light + (1 - cover) * (np.asarray(background, np.float32) / 255) ** 2.2
    shown: Array = np.rint(np.clip(light, 0, 1) ** (1 / 2.2) * 255).astype(np.uint8)
    if background is not None:
        return shown
    return np.concatenate([shown, np.rint(cover * 255).astype(np.uint8)], axis=2)
