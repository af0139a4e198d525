"""NURBS surfaces, judged by SciPy and geomdl."""

import sys

import numpy as np
import pytest

from subband.edit.surfaces import Surface, evaluate, from_geomdl, shapes, to_geomdl
from subband.edit.surfaces.nurbs import make_knots, measure_basis
from subband.errors import ArgumentError, ArgumentTypeError, MissingExtraError

interpolate = pytest.importorskip("scipy.interpolate")

GENERATOR = np.random.default_rng(0)


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_basis_functions_are_those_of_scipy(degree):
    knots = make_knots(9, degree)
    knots[degree + 1 : -degree - 1] = np.sort(GENERATOR.uniform(size=len(knots) - 2 * degree - 2))
    parameters = np.linspace(0, 1, 57)
    first, weights = measure_basis(knots, degree, parameters)
    dense = np.zeros((57, 9))
    np.put_along_axis(dense, first[:, None] + np.arange(degree + 1), weights, axis=1)
    expected = interpolate.BSpline(knots, np.eye(9), degree)(parameters)
    np.testing.assert_allclose(dense, expected, atol=1e-12)


def evaluate_with_geomdl(surface, shape):
    pytest.importorskip("geomdl")
    made = to_geomdl(surface)
    domain = made.domain
    # closed directions do not come back to their first point
    axes = [
        np.linspace(low, high, count, endpoint=not closed)
        for (low, high), count, closed in zip(domain, shape, surface.closed, strict=True)
    ]
    return np.array([[made.evaluate_single((u, v)) for v in axes[1].tolist()] for u in axes[0].tolist()])


@pytest.mark.parametrize("closed", [(False, False), (False, True), (True, True)])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_points_are_those_of_geomdl(closed, is_weighted):
    weights = GENERATOR.uniform(0.3, 3, size=(8, 9)) if is_weighted else None
    surface = Surface(GENERATOR.normal(size=(8, 9, 3)), closed, (3, 2), weights)
    np.testing.assert_allclose(evaluate(surface, (7, 6)), evaluate_with_geomdl(surface, (7, 6)), atol=1e-12)


def test_knots_that_are_not_even():
    knots = (np.array([0, 0, 0, 0.2, 0.2, 0.9, 1, 1, 1.0]), np.array([0, 0, 1, 4, 5, 9, 9.0]))
    surface = Surface(GENERATOR.normal(size=(6, 5, 3)), degrees=(2, 1), knots=knots)
    np.testing.assert_allclose(evaluate(surface, (9, 8)), evaluate_with_geomdl(surface, (9, 8)), atol=1e-12)
    back = from_geomdl(to_geomdl(surface))
    np.testing.assert_array_equal(back.knots[0], knots[0])


@pytest.mark.parametrize("closed", [(False, False), (False, True), (True, True)])
def test_there_and_back_with_geomdl(closed):
    pytest.importorskip("geomdl")
    surface = Surface(GENERATOR.normal(size=(8, 9, 3)), closed, (3, 2), GENERATOR.uniform(1, 2, (8, 9)))
    back = from_geomdl(to_geomdl(surface), closed)
    assert back.closed == closed
    assert back.degrees == (3, 2)
    assert back.knots is None
    np.testing.assert_allclose(back.points, surface.points, atol=1e-12)
    np.testing.assert_allclose(back.weights, surface.weights, atol=1e-12)


def test_a_circle_is_round():
    # the usual quarter circles of degree two, with weights
    half = np.sqrt(0.5)
    ring = [[1, 0], [1, 1], [0, 1], [-1, 1], [-1, 0], [-1, -1], [0, -1], [1, -1], [1, 0]]
    weights = [1, half, 1, half, 1, half, 1, half, 1]
    points = np.array([[[x, y, z] for x, y in ring] for z in (0, 1)], float)
    knots = (make_knots(2, 1), np.array([0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4.0]))
    tube = Surface(points, degrees=(1, 2), weights=np.array([weights, weights]), knots=knots)
    made = evaluate(tube, (3, 101))
    np.testing.assert_allclose(np.hypot(made[..., 0], made[..., 1]), 1, atol=1e-12)
    np.testing.assert_allclose(made[1, :, 2], 0.5)


def test_ends_and_partition():
    net = Surface(GENERATOR.normal(size=(7, 9, 3)), degrees=(3, 3))
    made = evaluate(net, (5, 5))
    for row, column in ((0, 0), (0, -1), (-1, 0), (-1, -1)):
        np.testing.assert_allclose(made[row, column], net.points[row, column])
    flat = Surface(np.ones((7, 9, 3)), (True, True), degrees=(3, 3))
    np.testing.assert_allclose(evaluate(flat, (20, 30)), 1)


def test_single_precision_stays():
    head = shapes.head((32, 32))
    single = head.replace_points(head.points.astype(np.float32))
    made = evaluate(single, (40, 40))
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, evaluate(head, (40, 40)), atol=1e-5)


def test_without_geomdl(monkeypatch):
    monkeypatch.setitem(sys.modules, "geomdl", None)
    monkeypatch.setitem(sys.modules, "geomdl.BSpline", None)
    with pytest.raises(MissingExtraError, match=r"subband\[surfaces\]"):
        to_geomdl(shapes.head((32, 32)))


def test_refusals():
    with pytest.raises(ArgumentError, match="rows and columns"):
        evaluate(shapes.head((32, 32)), (0, 5))
    with pytest.raises(ArgumentError, match="points of the surface itself"):
        to_geomdl(shapes.terrain((16, 16)))
    with pytest.raises(ArgumentTypeError, match="no complete surface"):
        from_geomdl("surface")
    pytest.importorskip("geomdl")
    net = Surface(GENERATOR.normal(size=(7, 9, 3)), degrees=(3, 3))
    with pytest.raises(ArgumentError, match="leave closed out"):
        from_geomdl(to_geomdl(net), (False, True))
