"""Pictures of surfaces."""

import numpy as np
import pytest

from subband.edit.surfaces import Surface, View, draw, make_mesh, shapes
from subband.edit.surfaces.drawing import choose_view, draw_mesh
from subband.errors import ArgumentError


def test_a_sheet_seen_from_above_fills_the_picture():
    sheet = Surface.from_heights(np.zeros((8, 8)))
    picture = draw(sheet, (50, 50), View(turn=180, tilt=90, distance=1e6), background=None)
    assert picture.shape == (50, 50, 4)
    covered = picture[..., 3] > 127
    assert covered[3:-3, 3:-3].all()
    assert covered.mean() == pytest.approx(0.92**2, abs=0.03)
    assert np.ptp(picture[5:-5, 5:-5, :3].reshape(-1, 3), axis=0).max() <= 1


def test_what_is_near_hides_what_is_far():
    far, near = (Surface.from_heights(np.full((4, 4), height)).points for height in (0.0, 1.0))
    points = np.stack([far, near])
    colours = []
    for order in (points, points[::-1]):
        meshes = [make_mesh(each, (False, False)) for each in order]
        vertices = np.concatenate([mesh.vertices for mesh in meshes])
        # the far sheet is turned, so that light falls on it differently
        normals = np.concatenate([np.where(m.vertices[..., 2:] < 0.5, [[[0.9, 0, 0.43]]], m.normals) for m in meshes])
        triangles = np.concatenate([meshes[0].triangles, meshes[1].triangles + 16])
        mesh = type(meshes[0])(vertices, normals.astype(np.float32), triangles)
        colours.append(draw_mesh(mesh, (20, 20), View(180, 90, distance=100))[10, 10])
    np.testing.assert_array_equal(colours[0], colours[1])


def test_the_head_looks_at_you():
    picture = draw(shapes.head((64, 64)), (96, 80), View(turn=0, tilt=0), background=(255, 255, 255)).astype(int)
    assert picture.shape == (96, 80, 3)
    np.testing.assert_array_equal(picture[0, 0], 255)
    covered = (picture < 250).any(axis=2)
    np.testing.assert_allclose(covered.mean(axis=0), covered.mean(axis=0)[::-1], atol=0.06)
    assert covered[48, 40]
    # turned to the side it is another picture
    assert np.abs(draw(shapes.head((64, 64)), (96, 80), View(turn=60)).astype(int) - picture).mean() > 5


def test_pictures_of_several_surfaces_can_share_a_frame():
    small = shapes.ring((16, 16))
    large = small.replace_points(2 * small.points)
    alone, framed = draw(large, (40, 40)), draw(large, (40, 40), frame=small)
    assert (framed < 250).any(axis=2).mean() > (alone < 250).any(axis=2).mean()


def test_views():
    assert choose_view(shapes.terrain((16, 16))).tilt > choose_view(shapes.head((16, 16))).tilt
    for settings in ({"turn": float("nan")}, {"tilt": "low"}, {"zoom": 0}, {"zoom": float("inf")}, {"distance": 1}):
        with pytest.raises(ArgumentError, match=f"{next(iter(settings))}=.* is out of range"):
            View(**settings)
    for size in ((0, 3), 5, (2.5, 3), None):
        with pytest.raises(ArgumentError, match="rows and columns"):
            draw(shapes.ring((16, 16)), size)
    for name in ("colour", "background"):
        for bad in ("red", (1, 2), (300, 0, 0), (float("nan"), 0, 0)):
            with pytest.raises(ArgumentError, match=f"{name}=.* is not red, green and blue"):
                draw(shapes.ring((16, 16)), (8, 8), **{name: bad})
