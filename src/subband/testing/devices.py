"""What engines for devices are tested with besides the contract: every wavelet, and the seams of strips and chunks.

    from subband.testing import DeviceParityTests


    class TestMyDeviceEngine(DeviceParityTests):
        engine = MyDeviceEngine(...)

A device compiles a kernel for each wavelet, so these tests take few plans for many wavelets, and many for few.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest

from subband.engines import device_engine, get_engine
from subband.engines.device_engine import DeviceEngine
from subband.kernels.launch import Launch
from subband.plan import LevelPlan, TransformPlan, level_plan, transform_plan
from subband.testing.samples import all_wavelets, allowed_modes, draw_samples
from subband.testing.tolerances import assert_close, largest, relative_tolerance
from subband.typing import Array
from subband.wavelets import as_wavelet

__all__ = ["DeviceParityTests"]

#: Half precision keeps 11 bits of a number, bfloat16 8; every axis rounds, and so does what is compared with.
_HALVES = {"float16": 2.0**-8, "bfloat16": 2.0**-5}


def _group_wavelets() -> list[tuple[str, ...]]:
    """Return the names of all wavelets in groups that take about the same time to compile."""
    names = [wavelet.name for wavelet in all_wavelets()]
    return [tuple(names[k::12]) for k in range(12)]


def _cut_evenly(launch: Launch, steps: int, *_: int) -> tuple[int, int, int]:
    """Stand in for `Launch.choose_chunks`."""
    return launch.chunk, -(-steps // launch.chunk), launch.chunk


class DeviceParityTests:
    """Compares an engine for a device with the reference engine.

    Attributes
    ----------
    engine : DeviceEngine
        The engine.
    """

    engine: ClassVar[DeviceEngine]

    # --- What the tests are made of. ---

    def _check(self, plan: LevelPlan, dtype: str, seed: int = 0) -> None:
        """Compare both directions with the reference engine; the inverse runs on coefficients of its own."""
        reference, whole = get_engine("reference"), np.dtype(dtype).kind == "i"
        tolerance = 0.0
        if not whole:
            tolerance = relative_tolerance(dtype, (axis.wavelet for axis in plan.plans), same_filters=True)
        x = draw_samples(plan.shape, dtype, seed)
        expected = reference.forward(plan, x)
        bands = self.engine.forward(plan, x)
        assert list(bands) == list(expected)
        for key, band in bands.items():
            assert band.dtype == dtype
            assert_close(band, expected[key], tolerance, largest(x, expected), (key, dtype, plan))
        noise = {
            key: draw_samples(shape, dtype, seed + 1 + n) for n, (key, shape) in enumerate(plan.band_shapes.items())
        }
        restored = reference.inverse(plan, noise)
        y = self.engine.inverse(plan, noise)
        assert y.dtype == dtype
        assert_close(y, restored, tolerance, largest(restored, noise), ("inverse", dtype, plan))

    def _check_level(
        self, shape: tuple[int, ...], axes: tuple[int, ...], name: str, mode: str, dtype: str = "float32"
    ) -> None:
        reversible = np.dtype(dtype).kind == "i"
        plan = level_plan(shape, axes, (as_wavelet(name),) * len(axes), (mode,) * len(axes), reversible)
        self._check(plan, dtype, sum(shape))

    @contextmanager
    def _cut(self, launch: Launch) -> Iterator[None]:
        """Run all sweeps with given parameters, and walk exactly the given number of pairs."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.engine, "launch_override", launch)
            patch.setattr(Launch, "choose_chunks", _cut_evenly)
            # prepared sweeps keep their chunk
            self.engine.forget_kernels()
            yield
        self.engine.forget_kernels()

    # --- Wavelets and sizes. ---

    @pytest.mark.parametrize("names", _group_wavelets(), ids=lambda names: names[0])
    def test_every_wavelet(self, names: tuple[str, ...]) -> None:
        for number, name in enumerate(names):
            wavelet = as_wavelet(name)
            modes = [mode for mode in allowed_modes(wavelet) if mode not in ("smooth", "antireflect", "antisymmetric")]
            # both axes at once, or one of them where the engine would take them one by one
            shape, axes = (29, 61), (0, 1)[: 1 + (wavelet.dec_len <= 16)]
            if axes == (0,) and number % 2:
                axes = (1,)
            self._check_level(shape, axes, name, modes[number % len(modes)], ("float32", "float64")[number // 2 % 2])

    @pytest.mark.parametrize("mode", ["symmetric", "periodization", "antireflect", "whole"])
    def test_every_length(self, mode: str) -> None:
        for length, name in product(range(1, 71), ("cdf97", "db38")):
            if mode == "whole" and name == "db38":
                continue
            self._check_level((2, length), (1,), name, mode)
            self._check_level((length, 2), (0,), name, mode)

    @pytest.mark.parametrize("name", ["cdf97", "db5"])
    def test_both_axes_of_every_length(self, name: str) -> None:
        for length in range(1, 71):
            self._check_level((length, 71 - length), (0, 1), name, "symmetric")
            self._check_level((71 - length, length), (0, 1), name, "reflect")

    # --- Seams. ---

    @pytest.mark.parametrize(("pairs", "is_split"), [(1, True), (2, True), (4, False)])
    def test_cuts_leave_no_seam(self, pairs: int, is_split: bool) -> None:
        frames = [((45, 333), (0, 1)), ((3, 17, 256), (1, 2)), ((2, 333), (1,)), ((45, 139), (0,))]
        kinds = [("cdf97", ("whole", "periodization")), ("db2", ("symmetric", "zero", "smooth"))]
        for chunk, (name, modes) in zip((1, 3), kinds, strict=True):
            with self._cut(Launch(pairs, 0, chunk, 1, is_split)):
                for (shape, axes), mode in product(frames, modes):
                    self._check_level(shape, axes, name, mode)

    def test_cuts_of_interleaved_channels_leave_no_seam(self) -> None:
        for is_split in (False, True):
            with self._cut(Launch(2, 0, 2, 1, is_split)):
                for width, mode in product((129, 384), ("whole", "antisymmetric")):
                    self._check_level((25, width, 3), (0, 1), "cdf97", mode)
                # pieces of 8 bytes of a pair of pixels, of 16 and of 32
                for channels, dtype in ((2, "float32"), (4, "float32"), (4, "float64")):
                    self._check_level((25, 192, channels), (0, 1), "cdf97", "whole", dtype)

    def test_cuts_of_whole_numbers_leave_no_seam(self) -> None:
        for pairs, dtype, name in ((1, "int64", "cdf53"), (2, "int32", "haar")):
            with self._cut(Launch(pairs, 0, 2, 1, True)):
                self._check_level((25, 333), (0, 1), name, "whole", dtype)

    def test_rows_on_their_way(self) -> None:
        if not self.engine.device.dialect.is_staging:
            pytest.skip("the device has one pair of rows on its way at a time")
        for ahead, chunk in product((1, 2, 3), (1, 2, 5)):
            with self._cut(Launch(2, ahead, chunk, 2, True)):
                for shape in ((1, 64), (2, 300), (21, 300), (40, 512)):
                    self._check_level(shape, (0, 1), "cdf97", "whole")

    def test_more_images_than_a_launch_has_room_for(self) -> None:
        self._check_level((70_001, 2, 3), (1, 2), "haar", "periodization")

    # --- Adjoints. ---

    def _check_adjoints(self, plan: LevelPlan, x: Array, tolerance: float) -> None:
        """Compare both adjoints with the reference engine."""
        reference, wide = get_engine("reference"), x.astype(np.float64)
        expected = reference.inverse_adjoint(plan, wide)
        bands = self.engine.inverse_adjoint(plan, x)
        for key, band in bands.items():
            assert band.dtype == x.dtype
            assert_close(band.astype(np.float64), expected[key], tolerance, largest(wide, expected), (key, plan))
        given = {key: band.astype(x.dtype) for key, band in expected.items()}
        folded = reference.forward_adjoint(plan, {key: band.astype(np.float64) for key, band in given.items()})
        y = self.engine.forward_adjoint(plan, given)
        assert y.dtype == x.dtype
        assert_close(y.astype(np.float64), folded, tolerance, largest(folded, expected), plan)

    def _check_adjoint_levels(self, frames: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> None:
        for (shape, axes), (name, mode) in product(
            frames, (("cdf97", "symmetric"), ("cdf97", "whole"), ("db2", "periodic"), ("db2", "smooth"))
        ):
            wavelets = (as_wavelet(name),) * len(axes)
            plan = level_plan(shape, axes, wavelets, (mode,) * len(axes))
            self._check_adjoints(plan, draw_samples(shape, "float32"), 4 * relative_tolerance("float32", wavelets))

    @pytest.mark.parametrize(("pairs", "is_split"), [(1, True), (2, True), (4, False)])
    def test_cuts_of_adjoints_leave_no_seam(self, pairs: int, is_split: bool) -> None:
        with self._cut(Launch(pairs, 0, 3, 1, is_split)):
            self._check_adjoint_levels(
                [((45, 333), (0, 1)), ((2, 17, 256), (1, 2)), ((2, 333), (1,)), ((45, 139), (0,))]
            )

    def test_adjoints_of_channels_and_axes_anywhere(self) -> None:
        self._check_adjoint_levels(
            [((33, 47, 3), (0, 1)), ((2, 3, 32, 64), (2, 3)), ((33, 5, 40), (0, 2)), ((20, 33, 40), (0, 1, 2))]
        )

    @pytest.mark.parametrize("dtype", _HALVES)
    def test_adjoints_in_half_precision(self, dtype: str) -> None:
        if dtype == "bfloat16":
            pytest.importorskip("ml_dtypes", reason="NumPy alone has no bfloat16")
        for (shape, axes), mode in product((((33, 47), (0, 1)), ((32, 64), (0, 1))), ("symmetric", "whole", "zero")):
            plan = level_plan(shape, axes, (as_wavelet("cdf97"),) * len(axes), (mode,) * len(axes))
            self._check_adjoints(plan, draw_samples(shape, "float32").astype(dtype), 4 * _HALVES[dtype])

    # --- Two levels at a time. ---

    def _check_levels(self, plan: TransformPlan, dtype: str, *, are_joined: bool = True) -> None:
        """Compare several levels with the reference engine; the inverse runs on coefficients of its own."""
        reference = get_engine("reference")
        tolerance = (
            4 * _HALVES[dtype] if dtype in _HALVES else relative_tolerance(dtype, plan.wavelets, len(plan.levels))
        )
        x = draw_samples(plan.shape, "float64", sum(plan.shape)).astype(dtype)
        for direction in ("forward", "inverse"):
            chain = self.engine.find_chain(plan.levels, direction, x.dtype, True)
            assert chain is not None
            assert ((0,) in chain.shapes) == are_joined
        low, details = reference.forward_all(plan, x.astype(np.float64))
        most = max(largest(x.astype(np.float64)), largest(low), *map(largest, details))
        found, bands = self.engine.forward_all(plan, x)
        assert_close(found.astype(np.float64), low, tolerance, most, (dtype, plan))
        for own, expected in zip(bands, details, strict=True):
            assert own.keys() == expected.keys()
            for key, band in own.items():
                assert band.dtype == dtype
                assert_close(band.astype(np.float64), expected[key], tolerance, most, (key, dtype, plan))
        noise = [
            {key: draw_samples(band.shape, "float64", n).astype(dtype) for n, (key, band) in enumerate(level.items())}
            for level in details
        ]
        wide = [{key: band.astype(np.float64) for key, band in level.items()} for level in noise]
        restored = reference.inverse_all(plan, low.astype(dtype).astype(np.float64), wide)
        y = self.engine.inverse_all(plan, low.astype(dtype), noise)
        assert y.dtype == dtype
        assert_close(y.astype(np.float64), restored, tolerance, largest(restored), ("inverse", dtype, plan))

    @contextmanager
    def _join_levels(self, launch: Launch | None, *, cuts: bool = True) -> Iterator[None]:
        """Run two levels at a time where a kernel can, and walk exactly the given number of coarse pairs."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.engine, "least_cascade", 1)
            patch.setattr(self.engine, "cascade_override", launch)
            if cuts:
                patch.setattr(Launch, "choose_chunks", _cut_evenly)
            self.engine.forget_kernels()
            yield
        self.engine.forget_kernels()

    @pytest.mark.parametrize(("pairs", "chunk"), [(2, 1), (2, 5), (4, 3)])
    def test_two_levels_at_a_time(self, pairs: int, chunk: int) -> None:
        ahead = 2 if self.engine.device.dialect.is_staging else 0
        with self._join_levels(Launch(pairs, ahead, chunk, 1, False)):
            for shape, axes, name, levels in (
                ((36, 256), (0, 1), "cdf97", 2),
                # the last strip begins inside the one before it, and a third level is left over
                ((40, 528), (0, 1), "cdf97", 3),
                ((2, 32, 320), (1, 2), "cdf53", 2),
            ):
                wavelets = (as_wavelet(name),) * 2
                self._check_levels(transform_plan(shape, axes, wavelets, ("whole",) * 2, levels), "float32")

    @pytest.mark.parametrize("dtype", ["float16", "float64"])
    def test_two_levels_at_a_time_of_other_numbers(self, dtype: str) -> None:
        with self._join_levels(None, cuts=False):
            plan = transform_plan((48, 512), (0, 1), (as_wavelet("cdf97"),) * 2, ("whole",) * 2, 2)
            self._check_levels(plan, dtype)

    @pytest.mark.parametrize("channels", [2, 3])
    def test_two_levels_at_a_time_of_channels(self, channels: int) -> None:
        is_vectorised = "-cl-opt-disable" not in os.environ.get("PYOPENCL_BUILD_OPTIONS", "")
        if channels == 3 and is_vectorised and not self.engine.device.is_gpu:
            pytest.skip(
                "PoCL's vectoriser ends the process on a kernel with so many registers, which only GPUs are given"
            )
        with self._join_levels(None, cuts=False):
            plan = transform_plan((36, 140, channels), (0, 1), (as_wavelet("cdf97"),) * 2, ("whole",) * 2, 2)
            self._check_levels(plan, "float32")

    def test_one_level_by_the_kernel_of_two(self) -> None:
        ahead = 1 if self.engine.device.dialect.is_staging else 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(device_engine, "suits_one_level", lambda *_: True)
            for pairs, chunk, dtype in ((2, 2, "float32"), (4, 99, "float32"), (4, 3, "float16")):
                with self._join_levels(Launch(pairs, ahead, chunk, 1, False)):
                    for shape, axes in (((36, 528), (0, 1)), ((2, 32, 320), (1, 2))):
                        plan = transform_plan(shape, axes, (as_wavelet("cdf97"),) * 2, ("whole",) * 2, 1)
                        self._check_levels(plan, dtype, are_joined=False)

    def test_levels_that_do_not_go_together(self) -> None:
        with self._join_levels(None, cuts=False):
            for shape, axes, mode in (
                ((36, 252), (0, 1), "symmetric"),
                ((38, 256), (0, 1), "whole"),
                ((36, 254), (0, 1), "whole"),
                ((36, 64), (0, 1), "whole"),
                ((36, 256, 5), (0, 1), "whole"),
            ):
                plan = transform_plan(shape, axes, (as_wavelet("cdf97"),) * 2, (mode,) * 2, 2)
                self._check_levels(plan, "float32", are_joined=False)

    # --- Layouts. ---

    def test_channels_batches_and_axes_anywhere(self) -> None:
        frames = [
            ((33, 47, 3), (0, 1)),
            ((2, 33, 64, 4), (1, 2)),
            ((2, 3, 32, 64), (2, 3)),
            ((33, 5, 40), (0, 2)),
            ((16, 33, 40), (0, 1)),
            ((9, 33, 40), (0, 1, 2)),
            ((9, 10, 11, 2), (2, 0, 1)),
        ]
        for (shape, axes), (name, mode) in product(frames, (("cdf97", "whole"), ("db2", "antireflect"))):
            self._check_level(shape, axes, name, mode)

    @pytest.mark.parametrize("dtype", _HALVES)
    def test_half_precision(self, dtype: str) -> None:
        if dtype == "bfloat16":
            pytest.importorskip("ml_dtypes", reason="NumPy alone has no bfloat16")
        reference = get_engine("reference")
        for (shape, axes), mode in product(
            (((33, 47), (0, 1)), ((32, 64), (0, 1)), ((9, 33), (0,)), ((16, 64, 3), (0, 1))), ("whole", "zero")
        ):
            plan = level_plan(shape, axes, (as_wavelet("cdf97"),) * len(axes), (mode,) * len(axes))
            x = draw_samples(shape, "float32").astype(dtype)
            wide = x.astype(np.float64)
            expected = reference.forward(plan, wide)
            bands = self._forward_stored(plan, x)
            for key, band in bands.items():
                assert band.dtype == dtype
                assert_close(band.astype(np.float64), expected[key], _HALVES[dtype], largest(wide, expected), key)
            y = self.engine.inverse(plan, bands)
            assert y.dtype == dtype
            assert_close(y.astype(np.float64), wide, 4 * _HALVES[dtype], largest(wide, expected))

    def test_whole_numbers_of_16_bits(self) -> None:
        reference = get_engine("reference")
        for shape, name in product(((25, 47), (32, 64)), ("cdf53", "haar")):
            plan = level_plan(shape, (0, 1), (as_wavelet(name),) * 2, ("whole",) * 2, True)
            x = (draw_samples(shape, "int32") // 8).astype(np.int16)
            expected = reference.forward(plan, x.astype(np.int32))
            bands = self._forward_stored(plan, x)
            for key, band in bands.items():
                assert band.dtype == np.int16
                np.testing.assert_array_equal(band, expected[key])
            np.testing.assert_array_equal(self.engine.inverse(plan, bands), x)

    def _forward_stored(self, plan: LevelPlan, x: Array) -> dict[str, Any]:
        before = x.copy()
        bands = self.engine.forward(plan, x)
        np.testing.assert_array_equal(x, before)
        return bands
