"""The loop that draws triangles, compiled."""

from __future__ import annotations

from math import ceil, floor
from typing import Any

from subband.compiled.compiling import stored
from subband.typing import Array

__all__ = ["fill_triangles"]


def _fill_triangles(vertices: Array, shades: Array, triangles: Array, depth: Array, canvas: Array) -> None:
    """Draw triangles, the nearest in front.

    Parameters
    ----------
    vertices : ndarray of float32
        Column, row and distance of each vertex, in pixels.
    shades : ndarray of float32
        Vertices × channels, between which triangles are shaded.
    triangles : ndarray of int32
        Three vertices each.
    depth : ndarray of float32
        Rows × columns, the distance of what is drawn already.
    canvas : ndarray of float32
        Rows × columns × (channels + 1); the last channel becomes 1 where there is something.
    """
    rows, columns = depth.shape
    channels = shades.shape[1]
    for number in range(triangles.shape[0]):
        a, b, c = triangles[number, 0], triangles[number, 1], triangles[number, 2]
        ax, ay, bx, by = vertices[a, 0], vertices[a, 1], vertices[b, 0], vertices[b, 1]
        cx, cy = vertices[c, 0], vertices[c, 1]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if area == 0.0:
            continue
        left, right = max(ceil(min(ax, bx, cx)), 0), min(floor(max(ax, bx, cx)), columns - 1)
        top, bottom = max(ceil(min(ay, by, cy)), 0), min(floor(max(ay, by, cy)), rows - 1)
        for y in range(top, bottom + 1):
            for x in range(left, right + 1):
                wb = ((x - ax) * (cy - ay) - (y - ay) * (cx - ax)) / area
                wc = ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / area
                wa = 1.0 - wb - wc
                if wa < 0.0 or wb < 0.0 or wc < 0.0:
                    continue
                z = wa * vertices[a, 2] + wb * vertices[b, 2] + wc * vertices[c, 2]
                if z >= depth[y, x]:
                    continue
                depth[y, x] = z
                for channel in range(channels):
                    shade = wa * shades[a, channel] + wb * shades[b, channel] + wc * shades[c, channel]
                    canvas[y, x, channel] = shade
                canvas[y, x, channels] = 1.0


_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}

fill_triangles = stored(**_OPTIONS)(_fill_triangles)
