"""Editing tools on a real GPU: arrays of CuPy stay there, and results are those of the CPU."""

from __future__ import annotations

import cupy
import numpy as np
import pytest

from subband import data
from subband.edit import Relighter, decouple, fuse, recombine, relight, stylise
from subband.engines import get_engine

pytestmark = pytest.mark.gpu

ENGINE = get_engine("cuda")

PICTURE = data.photograph()[100:171, 120:217]
TEXTURE = data.ascent()[200:250, 200:260]


def assert_near(result, expected, allowed=1):
    assert isinstance(result, cupy.ndarray)
    np.testing.assert_allclose(result.get().astype(float), expected.astype(float), atol=allowed, rtol=0)


@pytest.mark.parametrize("settings", [{}, {"rule": "add"}, {"rule": "mix", "strength": 0.5}, {"colour": "rgb"}])
@pytest.mark.parametrize("fit", ["tile", "mirror", "stretch"])
def test_stylise(settings, fit):
    expected = stylise(PICTURE, TEXTURE, fit=fit, engine="cpu", **settings)
    for texture in (TEXTURE, cupy.asarray(TEXTURE)):
        assert_near(stylise(cupy.asarray(PICTURE), texture, fit=fit, **settings), expected)
    assert_near(stylise(cupy.asarray(PICTURE), TEXTURE, strength=0), PICTURE, 0)


@pytest.mark.parametrize("settings", [{}, {"gamma": 2.2}, {"colour": "rgb"}, {"output": "light"}])
def test_relight(settings):
    there = cupy.asarray(PICTURE)
    assert_near(Relighter(**settings).apply(there), Relighter(engine="cpu", **settings).apply(PICTURE))
    decal, light = decouple(there)
    assert_near(recombine(decal, light), PICTURE, 1e-3)
    assert_near(relight(there, there[::-1]), relight(PICTURE, PICTURE[::-1], engine="cpu"))


@pytest.mark.parametrize("rule", ["focus", "exposure"])
def test_fuse(rule):
    stack = [PICTURE, PICTURE // 2]
    result = fuse([cupy.asarray(each) for each in stack], rule=rule, level=2)
    assert isinstance(result, cupy.ndarray)
    difference = np.abs(result.get().astype(int) - fuse(stack, rule=rule, level=2, engine="cpu"))
    assert np.mean(difference > 1) < 0.005
    assert_near(fuse([cupy.asarray(PICTURE)] * 2), PICTURE, 0)


def test_alpha_and_host_arrays():
    alpha = np.dstack([PICTURE, PICTURE[..., :1]])
    assert_near(stylise(cupy.asarray(alpha), TEXTURE), stylise(alpha, TEXTURE, engine="cpu"))
    result = stylise(PICTURE, TEXTURE, engine="cuda")
    assert isinstance(result, np.ndarray)
    np.testing.assert_allclose(result.astype(int), stylise(PICTURE, TEXTURE, engine="cpu"), atol=1)
