"""A transform of a sum is the sum of the transforms, in both directions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from subband.engines import get_engine
from subband.testing import assert_close, draw_samples, largest, relative_tolerance
from subband.testing.strategies import level_cases, stationary_cases

ENGINE = get_engine("cpu")

FACTORS = st.sampled_from((-3.0, -1.0, 0.0, 0.5, 1.0, 2.5))


def check_linearity(transform, x, y, a, b, tolerance):
    """`transform` maps bands to bands; both sides are compared at the size of all that took part."""
    together = transform({key: (a * x[key] + b * y[key]).astype(x[key].dtype) for key in x})
    of_x, of_y = transform(x), transform(y)
    scale = 4.0 * largest(x, y, of_x, of_y)
    for key, band in together.items():
        assert_close(band, a * of_x[key] + b * of_y[key], 2 * tolerance, scale, key)


@given(level_cases(), FACTORS, FACTORS)
def test_forward_level(case, a, b):
    other = draw_samples(case.plan.shape, case.x.dtype, 5)
    tolerance = relative_tolerance(case.x.dtype, case.wavelets, same_filters=True)
    check_linearity(lambda arrays: ENGINE.forward(case.plan, arrays["x"]), {"x": case.x}, {"x": other}, a, b, tolerance)


@given(level_cases(), FACTORS, FACTORS)
def test_inverse_level(case, a, b):
    shapes, dtype = case.plan.band_shapes, case.x.dtype
    x = {key: draw_samples(shape, dtype, n) for n, (key, shape) in enumerate(shapes.items())}
    y = {key: draw_samples(shape, dtype, n + 50) for n, (key, shape) in enumerate(shapes.items())}
    tolerance = relative_tolerance(dtype, case.wavelets, same_filters=True)
    check_linearity(lambda bands: {"y": ENGINE.inverse(case.plan, bands)}, x, y, a, b, tolerance)


@given(stationary_cases(), FACTORS, FACTORS)
def test_undecimated_level(case, a, b):
    other = draw_samples(case.plan.shape, case.x.dtype, 5)
    tolerance = relative_tolerance(case.x.dtype, case.wavelets, same_filters=True)
    check_linearity(
        lambda arrays: ENGINE.stationary_forward(case.plan, arrays["x"]), {"x": case.x}, {"x": other}, a, b, tolerance
    )
