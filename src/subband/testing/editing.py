"""The part of the contract of filters that editing needs, as tests: arithmetic sample by sample.

They stand beside those of `subband.testing.filters`, which includes them.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from subband.engines.filters.base import Filters
from subband.engines.filters.constants import RULES
from subband.engines.filters.plain import PlainFilters
from subband.typing import Array

__all__ = ["EditingTests", "edit_samples"]

_TOLERANCES = {"float32": 1e-5, "float64": 1e-13}

#: The last is cut between threads.
_SHAPES = ((3, 37, 41), (1, 1, 5), (3, 300, 301))


class EditingTests:
    """Compares what filters do sample by sample with `PlainFilters`.

    Attributes
    ----------
    filters : Filters
        The filters.
    """

    filters: ClassVar[Filters]

    def upload(self, x: Array) -> Any:
        """Bring an array to where the filters work."""
        return x.copy()

    def download(self, x: Any) -> Array:
        """Bring it back."""
        return np.asarray(x)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("shape", _SHAPES, ids=str)
    def test_arithmetic_sample_by_sample(self, shape: tuple[int, ...], dtype: str) -> None:
        expected = edit_samples(PlainFilters(), shape, dtype, np.copy)
        for name, found in edit_samples(self.filters, shape, dtype, self.upload).items():
            result = self.download(found)
            assert result.dtype == dtype, name
            assert result.shape == expected[name].shape, name
            allowed = _TOLERANCES[dtype]
            np.testing.assert_allclose(result, expected[name], atol=allowed, rtol=allowed, err_msg=name)

    def test_powers_of_single_precision(self) -> None:
        x = np.concatenate([[0.0, 1.0], np.geomspace(1e-6, 4, 100_000)]).astype(np.float32).reshape(1, 1, -1)
        for power in (2.2, 1 / 2.2, 0.1, 7.0):
            result = self.download(self.filters.raise_to(self.upload(x), power, 1.0))[0, 0]
            expected = x[0, 0].astype(np.float64) ** power
            np.testing.assert_allclose(result, expected, rtol=2e-5, atol=1e-6)
            assert result[1] == 1

    def test_bands_are_weighed_together(self) -> None:
        shapes = [(3, 9, 11), (3, 9, 10), (3, 1, 1), (6, 5, 7), (3, 0, 4), (3, 70), (4, 33)] * 6
        counts = [1, 1, 1, 2, 1, 1, 4] * 6
        bands = [_draw(shape, "float32", 7) for shape in shapes]
        lights = [
            0.5 + np.abs(_draw((count, *shape[1:]), "float32", 8))
            for shape, count in zip(shapes, counts, strict=True)
        ]  # fmt: skip
        for is_product in (False, True):
            given = [self.upload(band.copy()) for band in bands], [self.upload(light) for light in lights]
            results = self.filters.weigh_bands(*given, is_product=is_product)
            for result, band, light in zip(results, bands, lights, strict=True):
                wide = np.repeat(light, len(band) // len(light), axis=0)
                expected = band * wide if is_product else band / wide
                np.testing.assert_allclose(self.download(result), expected, rtol=1e-6)

    def test_parts_are_added_to_the_first_planes(self) -> None:
        total, planes = _draw((3, 9, 11), "float32", 5), _draw((2, 12, 15), "float32", 6)
        expected = total.copy()
        expected[:2] += np.float32(0.5) * planes[:, 1:10, 3:14]
        result = self.filters.add_part(self.upload(total), self.upload(planes), (1, 3), 0.5)
        np.testing.assert_allclose(self.download(result), expected, rtol=1e-6, atol=1e-6)


def edit_samples(filters: Filters, shape: tuple[int, ...], dtype: str, upload: Any) -> dict[str, Any]:
    """Return the result of everything that filters do sample by sample, by name."""
    planes, other = (_draw(shape, dtype, seed) for seed in (0, 1))
    one = (1, *shape[1:])
    plane, light = _draw(one, dtype, 2), _draw(one, dtype, 3, low=0.5)
    lights = _draw(shape, dtype, 4, low=0.5)
    results: dict[str, Any] = {}
    for rule in RULES:
        results[rule] = filters.differ(upload(planes), upload(other), rule, 0.7)
    for power in (1.0, 2.2):
        weights = (0.3, 0.5, 0.2)[: shape[0]]
        results[f"brightness {power}"] = filters.measure_brightness(upload(planes), weights, power, 1.5)
        results[f"raised {power}"] = filters.raise_to(upload(planes), power, 1.5)
        results[f"tempered {power}"] = filters.temper(upload(plane), 1 / power, 1.5, 0.1, 0.7, 0.8)
    results["divided"] = filters.divide(upload(planes), upload(light), 0.4)
    results["divided by each"] = filters.divide(upload(planes), upload(lights), 0.4)
    results["multiplied"] = filters.multiply(upload(planes), upload(light), 0.4)
    results["spread"] = filters.spread(upload(plane), 3)
    results["activity"] = filters.measure_activity([upload(planes), upload(other), upload(lights)])
    best, chosen, rival = upload(plane), upload(np.zeros(one, dtype)), upload(light)
    filters.prefer(best, chosen, rival, 2)
    results["best"], results["chosen"] = best, chosen
    results["marked"] = filters.mark(chosen, 2)
    results["taken over"] = upload(planes)
    filters.take_over(results["taken over"], upload(other), chosen, 2)
    results["exposure"] = filters.judge_exposure(upload(planes), 1.5)
    results["weighted"] = upload(planes)
    filters.add_weighted(results["weighted"], upload(other), upload(plane))
    return results


def _draw(shape: tuple[int, ...], dtype: str, seed: int, low: float = -1.0) -> Array:
    return np.random.default_rng(seed).uniform(low, 2, shape).astype(dtype)
