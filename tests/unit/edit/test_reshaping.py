"""Surfaces reshaped in the wavelet domain."""

from itertools import product

import numpy as np
import pytest

from subband import dwt2, get_engine, idwt2
from subband.edit.surfaces import Reshaper, Surface, draw, draw_gains, evaluate, make_mesh, parse_gains, reshape, shapes
from subband.edit.surfaces.gains import read_gains
from subband.edit.surfaces.grids import measure_normals, triangulate
from subband.engines import registry
from subband.errors import ArgumentError, ArgumentTypeError, DtypeError, LevelError, ModeError, ShapeError

GENERATOR = np.random.default_rng(0)

SURFACES = {
    "head": shapes.head((32, 40)),
    "terrain": shapes.terrain((33, 47)),
    "ring": shapes.ring((24, 30)),
    "odd and closed": Surface(GENERATOR.normal(size=(17, 23, 3)), (True, True)),
    "single precision": Surface(GENERATOR.normal(size=(16, 20, 3)).astype(np.float32), (False, True)),
    "weighted": Surface(
        GENERATOR.normal(size=(12, 14, 3)), degrees=(2, 3), weights=GENERATOR.uniform(0.5, 2, size=(12, 14))
    ),
    "two": Surface(GENERATOR.normal(size=(2, 2, 3))),
    "strip": Surface(GENERATOR.normal(size=(2, 31, 3))),
}


@pytest.mark.parametrize("wavelet", ["cdf97", "db2", "haar"])
@pytest.mark.parametrize("name", SURFACES)
def test_gains_of_one_give_the_surface_back(name, wavelet, engine):
    surface = SURFACES[name]
    result = reshape(surface, 1.0, wavelet=wavelet, engine=engine)
    assert result.points.dtype == surface.points.dtype
    tolerance = 1e-5 if surface.points.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(result.points, surface.points, atol=tolerance, rtol=0)


@pytest.mark.parametrize("name", SURFACES)
def test_engines_reshape_alike(name, engine):
    surface = SURFACES[name]
    gains = {1: (0.3, 1.5, 2.0)}
    expected = reshape(surface, gains, approximation=1.2, engine="reference").points
    tolerance = 1e-5 if surface.points.dtype == np.float32 else 1e-12
    result = reshape(surface, gains, approximation=1.2, engine=engine).points
    np.testing.assert_allclose(result, expected, atol=tolerance, rtol=0)


def test_one_level_by_hand():
    points = GENERATOR.normal(size=(16, 18, 3))
    result = reshape(Surface(points), {1: (0.5, 2.0, 3.0)}, wavelet="db2", level=1)
    for axis in range(3):
        approximation, (horizontal, vertical, diagonal) = dwt2(points[..., axis], "db2", "symmetric")
        expected = idwt2((approximation, (0.5 * horizontal, 2 * vertical, 3 * diagonal)), "db2", "symmetric")
        np.testing.assert_allclose(result.points[..., axis], expected, atol=1e-12)


def test_closed_directions_have_no_seam():
    # a surface that begins at another column is the same surface
    head = shapes.head((32, 32))
    turned = head.replace_points(np.roll(head.points, 8, axis=1))
    gains = {1: 0.0, 2: 2.0, 3: 0.5}
    np.testing.assert_allclose(
        reshape(turned, gains, level=3).points, np.roll(reshape(head, gains, level=3).points, 8, axis=1), atol=1e-12
    )
    open_ended = Surface(head.points, degrees=(3, 3))
    open_points = reshape(open_ended, gains, level=3).points
    assert np.abs(open_points - reshape(head, gains, level=3).points).max() > 1e-3


def test_moving_and_scaling_a_surface_does_the_same_to_the_result():
    surface = shapes.ring((24, 30))
    gains = {1: 3.0, 2: (0.0, 1.0, 2.0)}
    moved = surface.replace_points(2.5 * surface.points + [10.0, -20.0, 30.0])
    expected = 2.5 * reshape(surface, gains, approximation=0.7).points + [10.0, -20.0, 30.0]
    np.testing.assert_allclose(reshape(moved, gains, approximation=0.7).points, expected, atol=1e-10)


def test_the_approximation_makes_a_surface_larger_around_its_middle():
    surface = shapes.ring((24, 32))
    larger = reshape(surface, 2.0, approximation=2.0).points
    middle = surface.points.mean(axis=(0, 1))
    np.testing.assert_allclose(larger, middle + 2 * (surface.points - middle), atol=1e-12)


def test_poles_stay_single_points():
    result = reshape(shapes.head((32, 40)), {1: 4.0, 2: 3.0, 3: 2.0}).points
    np.testing.assert_array_equal(result[0], np.broadcast_to(result[0, 0], result[0].shape))
    # and lie where the surface around them is
    assert np.linalg.norm(result[0, 0] - result[1].mean(axis=0)) < 0.3


def test_heights_move_only_up_and_down():
    terrain = shapes.terrain((33, 47))
    result = reshape(terrain, {1: 0.0})
    np.testing.assert_array_equal(result.points[..., :2], terrain.points[..., :2])
    assert np.abs(np.diff(result.points[..., 2], 2)).sum() < 0.8 * np.abs(np.diff(terrain.points[..., 2], 2)).sum()


def test_a_reshaper_does_what_reshape_does():
    head = shapes.head((32, 40))
    reshaper = Reshaper(head)
    gains = np.ones((reshaper.level, 3))
    gains[1, 2] = 3.0
    mesh = reshaper.make_mesh(gains, points=(50, 60))
    expected = evaluate(reshape(head, gains), (50, 60))
    np.testing.assert_allclose(mesh.vertices, expected, atol=1e-5)
    assert mesh.vertices.dtype == mesh.normals.dtype == np.float32
    assert mesh.triangles.dtype == np.int32
    assert mesh.triangles.max() == 50 * 60 - 1
    np.testing.assert_allclose(np.linalg.norm(mesh.normals, axis=-1), 1, atol=1e-5)


def test_a_large_net_is_reshaped_in_few_passes(monkeypatch):
    """One transform of all points both ways, however many there are: no loop over rows or coordinates."""
    engine, calls = get_engine("cpu"), []
    for name in ("forward", "inverse"):
        way = getattr(engine, name)
        monkeypatch.setattr(engine, name, lambda *args, way=way: calls.append(way) or way(*args))
    gains = {1: 1.5, 2: 0.3, 3: (1, 2, 3)}
    counts = []
    for size in (32, 256):
        registry.prepared.clear()  # what is looked up does not ask the engine
        calls.clear()
        reshape(Surface(GENERATOR.normal(size=(size, size, 3)), (False, True), (3, 3)), gains, level=3)
        counts.append(len(calls))
    assert counts == [2 * 3] * 2


@pytest.mark.parametrize("closed", list(product([False, True], repeat=2)))
def test_triangles_cover_each_cell_once(closed):
    triangles = triangulate((5, 7), closed)
    assert len(triangles) == 2 * (5 - (not closed[0])) * (7 - (not closed[1]))
    assert len({tuple(sorted(each)) for each in triangles.tolist()}) == len(triangles)
    edges = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    _, counts = np.unique(edges, axis=0, return_counts=True)
    assert counts.max() == 2
    assert (counts == 2).all() == all(closed)


def test_normals_point_outwards():
    head = shapes.head((48, 64))
    normals = measure_normals(head.points, head.closed, head.poles)
    upper = head.points[:20]
    assert ((upper - [0, 0, 0.5]) * normals[:20]).sum(axis=-1).min() > 0
    ring = shapes.ring((32, 48))
    normals = make_mesh(ring.points, ring.closed).normals
    flat = ring.points * [1, 1, 0]
    core = 1.4 * flat / np.linalg.norm(flat, axis=-1, keepdims=True)
    assert ((ring.points - core) * normals).sum(axis=-1).min() > 0


def test_shapes_are_the_same_every_time():
    for name, make in shapes.SHAPES.items():
        surface = make((40, 44))
        getattr(shapes, f"_make_{name}").cache_clear()
        np.testing.assert_array_equal(make((40, 44)).points, surface.points)
        assert surface.name == name
        with pytest.raises(ValueError, match="read-only"):
            surface.points[0] = 0
    assert np.abs(shapes.terrain(seed=1).points - shapes.terrain(seed=2).points).max() > 0.1


def test_the_head_is_one():
    points = shapes.head().points
    # the same on both sides
    flipped = np.roll(points[:, ::-1], 1, axis=1) * [-1, 1, 1]
    np.testing.assert_allclose(points, flipped, atol=1e-2)
    face = points[:, 64]
    nose = face[:, 1].argmax()
    assert 0.4 * 128 < nose < 0.7 * 128
    chin = face[nose + 30 :, 1].max()
    assert face[nose, 1] > chin > face[-1, 1]
    assert points[..., 2].argmax() // 128 == 0


def test_gains_by_level_by_band_and_as_a_matrix():
    expected = np.array([[1.5, 1.5, 1.5], [1, 1, 1], [0, 1, 2]])
    np.testing.assert_array_equal(read_gains({1: 1.5, 3: (0, 1, 2)}, 3), expected)
    np.testing.assert_array_equal(read_gains(expected, 3), expected)
    np.testing.assert_array_equal(read_gains([1.5, 1, (0, 1, 2)], 3), expected)
    np.testing.assert_array_equal(read_gains([1.5], 2), [[1.5] * 3, [1] * 3])
    np.testing.assert_array_equal(read_gains(0.5, 2), np.full((2, 3), 0.5))
    matrix, approximation = parse_gains("1:1.5, 3h:0,3d:2,a:0.9", 3)
    np.testing.assert_array_equal(matrix, expected)
    assert approximation == 0.9


@pytest.mark.parametrize(
    ("gains", "error", "message"),
    [
        ({4: 2.0}, LevelError, "gains name level 4, and there are levels 1 to 3; leave it out"),
        ({0: 2.0}, LevelError, "level 0"),
        ([1, 1, 1, 1], LevelError, "level 4"),
        ({1: (1, 2)}, ArgumentError, "horizontal, vertical, diagonal"),
        ({1: float("nan")}, ArgumentError, "not finite"),
        ({"1": 2.0}, ArgumentTypeError, "no integer"),
        ({1: "much"}, ArgumentTypeError, "no number"),
        (float("inf"), ArgumentError, "not finite"),
        ({1: 1e9}, ArgumentError, "beyond 1000"),
        (True, ArgumentError, "gains is True"),
        (None, ArgumentTypeError, "are no gains"),
        ("1:2", ArgumentTypeError, "are no gains"),
    ],
)
def test_bad_gains(gains, error, message):
    with pytest.raises(error, match=message):
        reshape(shapes.head((32, 32)), gains, level=3)


@pytest.mark.parametrize("text", ["1=2", "1:", "x:1", "1:2,1:3", "1q:2", "ad:1", ",", "1:two", "9" * 5000 + ":1", None])
def test_gains_that_cannot_be_read(text):
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        parse_gains(text, 3)


def test_bad_surfaces():
    good = np.zeros((4, 5, 3))
    with pytest.raises(ShapeError, match="rows of unequal length"):
        Surface([[[0, 0, 0], [1, 0, 0]], [[0, 1, 0]]])
    with pytest.raises(ShapeError, match=r"\(4, 5\)"):
        Surface(good[..., 0])
    with pytest.raises(ShapeError, match="are a line"):
        Surface(good[:1])
    with pytest.raises(DtypeError, match="real numbers"):
        Surface(good.astype(complex))
    bad = good.copy()
    bad[2, 3, 1] = np.nan
    with pytest.raises(ArgumentError, match="the first at row 2, column 3, y; fill such holes"):
        Surface(bad)
    with pytest.raises(ArgumentError, match="degree 4 does not go with 4 rows"):
        Surface(good, degrees=(4, 3))
    with pytest.raises(ArgumentError, match="weights hold"):
        Surface(good, degrees=(1, 1), weights=np.zeros((4, 5)))
    with pytest.raises(ArgumentError, match="give their degrees"):
        Surface(good, weights=np.ones((4, 5)))
    with pytest.raises(ShapeError, match="need 6"):
        Surface(good, degrees=(1, 1), knots=(np.arange(5), np.arange(7)))
    with pytest.raises(ShapeError, match="2 columns; going around takes at least 3"):
        Surface(good[:, :2], (False, True))
    with pytest.raises(ArgumentTypeError, match="closed=True is no pair"):
        Surface(good, True)
    with pytest.raises(ArgumentTypeError, match="degrees=3 are not two integers"):
        Surface(good, degrees=3)
    with pytest.raises(ArgumentTypeError, match="weights hold no real numbers"):
        Surface(good, degrees=(1, 1), weights="heavy")
    with pytest.raises(ArgumentTypeError, match="knots are no pair"):
        Surface(good, degrees=(1, 1), knots=(np.arange(6.0),))
    with pytest.raises(DtypeError, match="heights hold complex"):
        Surface.from_heights(np.zeros((3, 3), complex))
    with pytest.raises(ArgumentError, match="positive number, or two"):
        Surface.from_heights(np.zeros((3, 3)), spacing=(1, 2, 3))
    with pytest.raises(ModeError, match=r"mode=3\.5"):
        Reshaper(Surface(good), mode=3.5)
    for take in (Reshaper, evaluate, draw):
        with pytest.raises(ArgumentTypeError, match="make a Surface"):
            take(good)
    with pytest.raises(LevelError, match="the maximum is"):
        Reshaper(Surface(good), level=9)
    with pytest.raises(ModeError, match="whole"):
        Reshaper(Surface(good), "db2", mode="whole")
    with pytest.raises(ArgumentError, match="3 modes"):
        Reshaper(Surface(good), mode=("zero",) * 3)
    with pytest.raises(ArgumentError, match="did you mean 'head'"):
        shapes.make_shape("haed")
    with pytest.raises(ArgumentError, match="no surface is called 3"):
        shapes.make_shape(3)
    with pytest.raises(ShapeError, match="shape=64 is not rows and columns"):
        shapes.head(64)


def test_the_picture_of_gains():
    picture = draw_gains({1: 4.0, 2: (0.0, 1.0, 2.0)}, 2, 64)
    assert picture[48, 48] == picture[16, 48] == picture[48, 16] == 0
    assert picture[24, 8] == 255
    assert picture[8, 24] == 128
    assert 0 < picture[24, 24] < 128
    assert picture[4, 4] == 128


def test_the_gain_of_an_orientation_goes_before_that_of_its_level():
    for text in ("1:2,1h:0", "1h:0,1:2"):
        np.testing.assert_array_equal(parse_gains(text, 1)[0], [[0, 2, 2]])


def test_shapes_take_lists():
    assert shapes.ring([16, 24]).shape == shapes.make_shape("ring", np.array([16, 24])).shape == (16, 24)
