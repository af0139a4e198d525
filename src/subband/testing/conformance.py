"""The contract of an engine as tests: subclass `EngineTests`, name the engine, and let pytest find the class.

    from subband.testing import EngineTests


    class TestMyEngine(EngineTests):
        engine = MyEngine()

Arrays of other libraries pass through `EngineCase.upload` and `EngineCase.download`.
"""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest

from subband.boundary import MODES
from subband.engines import get_engine
from subband.plan import LevelPlan, level_plan, transform_plan
from subband.stationary import StationaryPlan, stationary_plan
from subband.testing.adjoints import AdjointTests
from subband.testing.cases import FRAMES, KINDS, LARGE, draw_bands
from subband.testing.samples import LAYOUTS, as_layout, draw_samples
from subband.testing.tolerances import assert_close, largest, relative_tolerance
from subband.typing import Array
from subband.wavelets import Wavelet, as_wavelet

__all__ = ["EngineTests"]


class EngineTests(AdjointTests):
    """What every engine has to do, as `subband.engines.base` says it; see `EngineCase` for what can be set."""

    # --- What the tests are made of. ---

    def _check(self, plan: LevelPlan | StationaryPlan, x: Array, dtypes: Sequence[str]) -> None:
        """Compare both directions with the reference engine; the inverse runs on coefficients of its own."""
        reference = get_engine("reference")
        wavelets = tuple(axis.wavelet for axis in plan.plans)
        noise = draw_bands(plan, x.dtype)
        if isinstance(plan, LevelPlan):
            expected, restored = reference.forward(plan, x), reference.inverse(plan, noise)
        else:
            expected, restored = reference.stationary_forward(plan, x), reference.stationary_inverse(plan, noise)
        for dtype in self.choose_dtypes(wavelets, dtypes):
            tolerance = relative_tolerance(dtype, wavelets, same_filters=True)
            bands = self.split("forward", plan, x.astype(dtype))
            for key, band in bands.items():
                self.check_array(band, dtype)
                assert_close(band, expected[key], tolerance, largest(x, expected), (key, dtype, plan))
            y = self.merge("inverse", plan, {key: band.astype(dtype) for key, band in noise.items()})
            self.check_array(y, dtype)
            assert_close(y, restored, tolerance, largest(restored, noise), ("inverse", dtype, plan))
            again = self.merge("inverse", plan, bands)
            tolerance = relative_tolerance(dtype, wavelets)
            assert_close(again, x, tolerance, largest(x, expected), ("there and back", dtype, plan))

    # --- Numbers. ---

    @pytest.mark.parametrize("mode", MODES)
    def test_every_wavelet_at_every_length(self, mode: str) -> None:
        for wavelet in map(as_wavelet, self.wavelets):
            if mode == "whole" and not wavelet.is_whole_sample_symmetric:
                continue
            for length in self.lengths:
                plan = level_plan((2, length), (1,), (wavelet,), (mode,))
                self._check(plan, draw_samples((2, length), seed=length), self.real_dtypes)

    @pytest.mark.parametrize("mode", MODES)
    def test_every_mode_down_the_columns(self, mode: str) -> None:
        for name, length in product(("haar", "db2", "cdf97", "bior6.8", "rbio3.1", "db38", "dmey"), self.lengths):
            wavelet = as_wavelet(name)
            if name not in self.wavelets:
                continue
            if mode == "whole" and not wavelet.is_whole_sample_symmetric:
                continue
            for shape, axes in (((length, 3), (0,)), ((length, 5), (0, 1)), ((6, length), (0, 1))):
                plan = level_plan(shape, axes, (wavelet,) * len(axes), (mode,) * len(axes))
                self._check(plan, draw_samples(shape, seed=length), self.real_dtypes)

    @pytest.mark.parametrize(("shape", "axes"), FRAMES)
    def test_axes_with_wavelets_and_modes_of_their_own(self, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
        for turn in range(len(KINDS)):
            kinds = [KINDS[(turn + axis) % len(KINDS)] for axis in range(len(axes))]
            wavelets = tuple(as_wavelet(name) for name, _ in kinds)
            plan = level_plan(shape, axes, wavelets, tuple(mode for _, mode in kinds))
            self._check(plan, draw_samples(shape, seed=turn), self.real_dtypes)

    def test_long_filters_on_single_samples(self) -> None:
        for shape, mode in product(((1,), (1, 1), (1, 5), (5, 1), (1, 1, 2)), ("zero", "smooth", "periodization")):
            axes = tuple(range(len(shape)))
            plan = level_plan(shape, axes, (as_wavelet("db38"),) * len(axes), (mode,) * len(axes))
            self._check(plan, draw_samples(shape), self.real_dtypes)

    def test_complex_numbers(self) -> None:
        dtypes = [dtype for dtype in self.dtypes if dtype.startswith("complex")]
        for (shape, axes), (name, mode) in product(FRAMES[:8], KINDS):
            plan = level_plan(shape, axes, (as_wavelet(name),) * len(axes), (mode,) * len(axes))
            self._check(plan, draw_samples(shape, "complex128"), dtypes)

    def test_missing_bands_count_as_zeros(self) -> None:
        for shape, axes in (((13,), (0,)), ((9, 14), (1, 0)), ((5, 6, 3, 7), (0, 1, 3))):
            wavelets, modes = (as_wavelet("bior2.2"),) * len(axes), ("symmetric",) * len(axes)
            for plan in (level_plan(shape, axes, wavelets, modes), stationary_plan(shape, axes, wavelets, 1)):
                for key, band_shape in plan.band_shapes.items():
                    for dtype in self.dtypes:
                        one = {key: draw_samples(band_shape, dtype)}
                        all_bands = {other: np.zeros(s, dtype) for other, s in plan.band_shapes.items()} | one
                        np.testing.assert_array_equal(
                            self.merge("inverse", plan, one), self.merge("inverse", plan, all_bands)
                        )
                        folded = self.merge("forward_adjoint", plan, one)
                        np.testing.assert_array_equal(folded, self.merge("forward_adjoint", plan, all_bands))

    def test_all_levels_at_once(self) -> None:
        engine = get_engine(self.engine)
        for (shape, axes), (name, mode), level in product(FRAMES[4:10], KINDS[:2], (0, 1, 3)):
            wavelets, modes = (as_wavelet(name),) * len(axes), (mode,) * len(axes)
            for dtype in (self.real_dtypes[0], "complex64" if "complex64" in self.dtypes else "int32", "int32"):
                reversible = dtype == "int32"
                if reversible:
                    wavelets = (as_wavelet("cdf53"),) * len(axes)
                plan = transform_plan(shape, axes, wavelets, modes, level, reversible)
                x = draw_samples(shape, dtype)
                low, details = engine.forward_all(plan, self.upload(x))
                current = x
                for number, bands in enumerate(details[::-1]):
                    expected = self.split("forward", plan.levels[number], current)
                    current = expected.pop("a" * len(axes))
                    assert list(bands) == list(expected)
                    for key, band in bands.items():
                        np.testing.assert_array_equal(self.download(band), expected[key])
                np.testing.assert_array_equal(self.download(low), current)
                assert not np.shares_memory(self.download(low), x)
                y = self.download(engine.inverse_all(plan, low, details))
                tolerance = 0.0 if reversible else relative_tolerance(dtype, wavelets, level)
                assert_close(y, x, tolerance, largest(x, current), plan)

    @pytest.mark.parametrize(("shape", "axes", "name", "mode"), LARGE)
    def test_large_arrays(self, shape: tuple[int, ...], axes: tuple[int, ...], name: str, mode: str) -> None:
        plan = level_plan(shape, axes, (as_wavelet(name),) * len(axes), (mode,) * len(axes))
        self._check(plan, draw_samples(shape), ["float32"])

    def test_not_a_number_stays_near(self) -> None:
        plan = level_plan((400,), (0,), (as_wavelet("db4"),), ("symmetric",))
        for index in (0, 200, 399):
            x = draw_samples((400,), self.real_dtypes[0])
            x[index] = np.nan
            for band in self.split("forward", plan, x).values():
                lost = np.flatnonzero(np.isnan(band))
                assert lost.size
                assert np.abs(lost - index / 2).max() < 20, f"a NaN at {index} reaches {lost}"

    # --- Arrays. ---

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_any_layout_gives_the_same(self, layout: str) -> None:
        wavelets, modes = (as_wavelet("cdf97"), as_wavelet("db2")), ("whole", "zero")
        for dtype in (*self.dtypes, "int32"):
            plan: LevelPlan | StationaryPlan
            for shape, axes in (((9, 14), (0, 1)), ((9, 2, 14), (2, 0)), ((4, 9, 14), (1, 2))):
                if dtype == "int32":
                    plan = level_plan(shape, axes, (as_wavelet("cdf53"),) * 2, modes, True)
                else:
                    plan = level_plan(shape, axes, wavelets, modes)
                view = as_layout(draw_samples(shape, dtype), layout)
                before = view.copy()
                bands = self.split("forward", plan, view)
                expected = self.split("forward", plan, before)
                np.testing.assert_array_equal(view, before)
                for key, band in bands.items():
                    assert not np.shares_memory(band, view)
                    np.testing.assert_array_equal(band, expected[key])
                views = {key: as_layout(band, layout) for key, band in expected.items()}
                copies = {key: band.copy() for key, band in views.items()}
                y = self.merge("inverse", plan, views)
                np.testing.assert_array_equal(y, self.merge("inverse", plan, copies))
                for key, band in views.items():
                    assert not np.shares_memory(y, band)
                    np.testing.assert_array_equal(band, copies[key])

    def test_results_share_nothing(self) -> None:
        plan = level_plan((9, 14), (0, 1), (as_wavelet("haar"),) * 2, ("periodization",) * 2)
        x = draw_samples((9, 14), self.real_dtypes[0])
        bands = list(self.split("forward", plan, x).values())
        for number, band in enumerate(bands):
            assert not any(np.shares_memory(band, other) for other in bands[:number])

    def test_no_images_give_no_bands(self) -> None:
        wavelet = as_wavelet("db2")
        for shape, axes in (((0, 8), (1,)), ((8, 0), (0,)), ((0, 8, 7), (1, 2)), ((8, 0, 7), (2, 0))):
            wavelets, modes = (wavelet,) * len(axes), ("symmetric",) * len(axes)
            for plan in (level_plan(shape, axes, wavelets, modes), stationary_plan(shape, axes, wavelets, 1)):
                bands = self.split("forward", plan, np.zeros(shape, self.dtypes[0]))
                assert self.merge("inverse", plan, bands).shape == shape

    # --- Whole numbers. ---

    @pytest.mark.parametrize("dtype", ["int32", "int64"])
    def test_reversible_levels_are_exact(self, dtype: str) -> None:
        reference = get_engine("reference")
        lengths = [((3, length), (1,)) for length in self.lengths] + [((length, 3), (0,)) for length in self.lengths]
        frames = (*FRAMES, *lengths, ((3, 700, 900), (1, 2)), ((300_001,), (0,)))
        for (shape, axes), name in product(frames, ("cdf53", "haar", "db1")):
            plan = level_plan(shape, axes, (as_wavelet(name),) * len(axes), ("whole",) * len(axes), True)
            x = draw_samples(shape, dtype)
            bands, expected = self.split("forward", plan, x), reference.forward(plan, x)
            for key, band in bands.items():
                self.check_array(band, dtype)
                np.testing.assert_array_equal(band, expected[key], f"{key} {plan}")
            y = self.merge("inverse", plan, bands)
            self.check_array(y, dtype)
            np.testing.assert_array_equal(y, x, str(plan))

    # --- Undecimated levels. ---

    def test_every_wavelet_undecimated(self) -> None:
        for number, wavelet in enumerate(map(as_wavelet, self.wavelets)):
            for shape, axes in (((2, 37), (1,)), ((16, 3), (0,))):
                plan = stationary_plan(shape, axes, (wavelet,), 1 + number % 3)
                self._check(plan, draw_samples(shape, seed=number), self.real_dtypes)

    @pytest.mark.parametrize(("shape", "axes"), FRAMES)
    def test_undecimated_axes(self, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
        for level in (1, 2, 4):
            wavelets: tuple[Wavelet, ...] = tuple(as_wavelet(KINDS[axis % 4][0]) for axis in range(len(axes)))
            plan = stationary_plan(shape, axes, wavelets, level)
            self._check(plan, draw_samples(shape, seed=level), self.real_dtypes)
            self._check(plan, draw_samples(shape, "complex128"), [d for d in self.dtypes if d.startswith("complex")])

    def test_large_undecimated_arrays(self) -> None:
        for shape, axes in (((2, 300, 500), (1, 2)), ((200_000,), (0,)), ((5, 40_001), (1,))):
            plan = stationary_plan(shape, axes, (as_wavelet("db2"),) * len(axes), 2)
            self._check(plan, draw_samples(shape), ["float32"])

    # --- Processes and threads. ---

    def test_several_threads_at_once(self) -> None:
        dtype = self.real_dtypes[0]
        work: list[tuple[LevelPlan, Array]] = []
        for shape, (name, mode) in product(((300, 400), (2, 31, 33)), KINDS):
            plan = level_plan(shape, (len(shape) - 2, len(shape) - 1), (as_wavelet(name),) * 2, (mode,) * 2)
            work.append((plan, draw_samples(shape, dtype)))
        alone = [self.split("forward", plan, x) for plan, x in work]
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(lambda item: self.split("forward", *item), work * 3))
            restored = list(
                pool.map(lambda item: self.merge("inverse", item[0][0], item[1]), zip(work, alone, strict=True))
            )
        for number, bands in enumerate(together):
            for key, band in bands.items():
                np.testing.assert_array_equal(band, alone[number % len(work)][key])
        for (plan, x), y, bands in zip(work, restored, alone, strict=True):
            tolerance = relative_tolerance(dtype, (axis.wavelet for axis in plan.plans))
            assert_close(y, x, tolerance, largest(x, bands))

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
    @pytest.mark.filterwarnings("ignore:os.fork")  # JAX, where some other test has loaded it
    def test_child_process(self) -> None:
        if not self.survives_fork:
            pytest.skip("the engine says that it does not survive a fork")
        plan = level_plan((600, 700), (0, 1), (as_wavelet("cdf97"),) * 2, ("whole",) * 2)
        x = draw_samples((600, 700), self.real_dtypes[0])
        expected = self.split("forward", plan, x)
        with warnings.catch_warnings():
            # the very thing that is tested: this process has threads
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:  # pragma: no cover
            status = 1
            try:
                bands = self.split("forward", plan, x)
                status = int(not all(np.array_equal(bands[key], expected[key]) for key in bands))
            finally:
                os._exit(status)
        deadline = time.monotonic() + 60.0
        while time.monotonic() < deadline:
            finished, code = os.waitpid(child, os.WNOHANG)
            if finished:
                assert os.waitstatus_to_exitcode(code) == 0
                return
            time.sleep(0.01)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the child process hangs")
