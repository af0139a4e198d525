"""The contract of an engine's adjoints as tests; part of `subband.testing.EngineTests`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pytest

from subband.boundary import MODES
from subband.engines import get_engine
from subband.errors import ArgumentError
from subband.plan import LevelPlan, level_plan, transform_plan
from subband.stationary import StationaryPlan, stationary_plan
from subband.testing.cases import FRAMES, KINDS, LARGE, EngineCase, draw_bands
from subband.testing.samples import draw_samples
from subband.testing.tolerances import assert_close, largest, relative_tolerance
from subband.typing import Array, Bands
from subband.wavelets import Wavelet, as_wavelet

__all__ = ["AdjointTests"]


class AdjointTests(EngineCase):
    """Adjoints equal the reference engine's, and are the adjoints of what they should be."""

    def _check_adjoints(self, plan: LevelPlan | StationaryPlan, x: Array, dtypes: Sequence[str]) -> None:
        """Compare both adjoints with the reference engine, and with what they are the adjoints of."""
        reference = get_engine("reference")
        wavelets = tuple(axis.wavelet for axis in plan.plans)
        noise = draw_bands(plan, x.dtype)
        if isinstance(plan, LevelPlan):
            folded, expected = reference.forward_adjoint(plan, noise), reference.inverse_adjoint(plan, x)
            split, merged = reference.forward(plan, x), reference.inverse(plan, noise)
        else:
            folded = reference.stationary_forward_adjoint(plan, noise)
            expected = reference.stationary_inverse_adjoint(plan, x)
            split, merged = reference.stationary_forward(plan, x), reference.stationary_inverse(plan, noise)
        for dtype in self.choose_dtypes(wavelets, dtypes):
            tolerance = 4 * relative_tolerance(dtype, wavelets, same_filters=True)
            y = self.merge("forward_adjoint", plan, {key: band.astype(dtype) for key, band in noise.items()})
            self.check_array(y, dtype)
            assert_close(y, folded, tolerance, largest(folded, noise), ("adjoint of forward", dtype, plan))
            bands = self.split("inverse_adjoint", plan, x.astype(dtype))
            for key, band in bands.items():
                self.check_array(band, dtype)
                assert_close(band, expected[key], tolerance, largest(x, expected), ("adjoint of inverse", key, plan))
            for there, back in (((split, noise), (x, y)), ((merged, x), (noise, bands))):
                size = _measure(there[0]) * _measure(there[1]) + _measure(back[0]) * _measure(back[1])
                assert abs(_multiply(*there) - _multiply(*back)) <= tolerance * size, ("products", dtype, plan)

    @pytest.mark.parametrize("mode", MODES)
    def test_adjoints_of_every_wavelet(self, mode: str) -> None:
        # each in a third of the modes: what is folded depends on the wavelet, and how on the mode
        for wavelet in map(as_wavelet, self.wavelets[list(MODES).index(mode) % 3 :: 3]):
            if mode == "whole" and not wavelet.is_whole_sample_symmetric:
                continue
            for length in self.lengths[-3::2]:
                plan = level_plan((2, length), (1,), (wavelet,), (mode,))
                self._check_adjoints(plan, draw_samples((2, length), seed=length), self.real_dtypes)

    @pytest.mark.parametrize("mode", MODES)
    def test_adjoints_at_every_length(self, mode: str) -> None:
        for name, length in product(("haar", "db2", "cdf97", "bior6.8", "rbio3.1", "dmey"), self.lengths):
            wavelet = as_wavelet(name)
            if name not in self.wavelets or (mode == "whole" and not wavelet.is_whole_sample_symmetric):
                continue
            for shape, axes in (((length, 3), (0,)), ((length, 5), (0, 1)), ((6, length), (0, 1))):
                plan = level_plan(shape, axes, (wavelet,) * len(axes), (mode,) * len(axes))
                self._check_adjoints(plan, draw_samples(shape, seed=length), self.real_dtypes)

    @pytest.mark.parametrize(("shape", "axes"), FRAMES)
    def test_adjoints_along_axes(self, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
        for turn in range(len(KINDS)):
            kinds = [KINDS[(turn + axis) % len(KINDS)] for axis in range(len(axes))]
            wavelets = tuple(as_wavelet(name) for name, _ in kinds)
            plan = level_plan(shape, axes, wavelets, tuple(mode for _, mode in kinds))
            self._check_adjoints(plan, draw_samples(shape, seed=turn), self.real_dtypes)
            self._check_adjoints(
                plan, draw_samples(shape, "complex128"), [d for d in self.dtypes if d.startswith("complex")]
            )
            self._check_adjoints(stationary_plan(shape, axes, wavelets, 2), draw_samples(shape), self.real_dtypes)

    def test_adjoints_of_banks_that_do_not_reconstruct(self) -> None:
        bank = [[0.5, 0.5, 0.1], [0.5, -0.5, 0.2], [0.4, 0.5, 0.3], [0.1, -0.5, 0.5]]
        wavelet = Wavelet("imperfect", filter_bank=bank)
        for shape, mode in product(((13,), (40, 37)), ("symmetric", "periodic", "antireflect", "periodization")):
            plan = level_plan(shape, tuple(range(len(shape))), (wavelet,) * len(shape), (mode,) * len(shape))
            self._check_adjoints(plan, draw_samples(shape), self.real_dtypes)

    @pytest.mark.parametrize(("shape", "axes", "name", "mode"), LARGE)
    def test_adjoints_of_large_arrays(
        self, shape: tuple[int, ...], axes: tuple[int, ...], name: str, mode: str
    ) -> None:
        plan = level_plan(shape, axes, (as_wavelet(name),) * len(axes), (mode,) * len(axes))
        self._check_adjoints(plan, draw_samples(shape), ["float32"])

    def test_adjoints_of_all_levels_at_once(self) -> None:
        engine = get_engine(self.engine)
        for (shape, axes), (name, mode), level in product(FRAMES[4:10], KINDS[:2], (0, 1, 3)):
            plan = transform_plan(shape, axes, (as_wavelet(name),) * len(axes), (mode,) * len(axes), level)
            for dtype in (self.real_dtypes[0], "complex64"):
                if dtype not in self.dtypes:
                    continue
                x = draw_samples(shape, dtype)
                low, details = engine.inverse_adjoint_all(plan, self.upload(x))
                current = x
                for number, bands in enumerate(details[::-1]):
                    expected = self.split("inverse_adjoint", plan.levels[number], current)
                    current = expected.pop("a" * len(axes))
                    for key, band in bands.items():
                        np.testing.assert_array_equal(self.download(band), expected[key])
                np.testing.assert_array_equal(self.download(low), current)
                y = self.download(engine.forward_adjoint_all(plan, low, details))
                for own, bands in zip(reversed(plan.levels), details, strict=True):
                    finer = {key: self.download(band) for key, band in bands.items()}
                    current = self.merge("forward_adjoint", own, {"a" * len(axes): current, **finer})
                np.testing.assert_array_equal(y, current)

    def test_adjoints_of_reversible_levels_are_refused(self) -> None:
        plan = level_plan((8,), (0,), (as_wavelet("cdf53"),), ("whole",), True)
        for run in (
            lambda: self.split("inverse_adjoint", plan, np.arange(8)),
            lambda: self.merge("forward_adjoint", plan, {"a": np.arange(4), "d": np.arange(4)}),
        ):
            with pytest.raises(ArgumentError, match="rounds to integers and has no adjoint"):
                run()


def _multiply(first: Array | Bands, second: Array | Bands) -> complex:
    """Return the product of two arrays, or of all bands."""
    if isinstance(first, Mapping):
        return sum((_multiply(band, second[key]) for key, band in first.items()), 0j)
    return complex(np.vdot(first, second))


def _measure(x: Array | Bands) -> float:
    return float(np.sqrt(abs(_multiply(x, x))))
