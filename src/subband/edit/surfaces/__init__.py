"""Surfaces in the wavelet domain: grids of points and nets of control points, their bands scaled by gains.

`Surface` is a grid; `reshape` changes it, and `Reshaper` does so again and again; `evaluate` makes points of control
points, and `draw` an image. `subband.edit.surfaces.shapes` has surfaces to try things on.
"""

from __future__ import annotations

from subband.edit.surfaces.drawing import View, draw, draw_mesh
from subband.edit.surfaces.files import read_surface, write_surface
from subband.edit.surfaces.gains import draw_gains, parse_gains
from subband.edit.surfaces.grids import Mesh, Surface, make_mesh
from subband.edit.surfaces.nurbs import evaluate, from_geomdl, to_geomdl
from subband.edit.surfaces.reshaping import Reshaper, reshape
from subband.edit.surfaces.shapes import head, make_shape, ring, terrain

__all__ = [
    "Mesh",
    "Reshaper",
    "Surface",
    "View",
    "draw",
    "draw_gains",
    "draw_mesh",
    "evaluate",
    "from_geomdl",
    "head",
    "make_mesh",
    "make_shape",
    "parse_gains",
    "read_surface",
    "reshape",
    "ring",
    "terrain",
    "to_geomdl",
    "write_surface",
]
