"""The contract of filters as a class of tests: every one gives what `PlainFilters` gives, within rounding.

Two things are decided by comparing numbers that may be nearly equal: which candidate has the least risk, and which of
two neighbours in order is the median. There either side of a tie is right, and the tests accept both.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from math import log, sqrt
from typing import Any, ClassVar

import numpy as np
import pytest

from subband.engines.filters.cells import cut_cells
from subband.engines.filters.constants import NORMAL_MEDIAN, SURE_BINS
from subband.engines.filters.groups import Groups
from subband.engines.filters.plain import PlainFilters
from subband.testing.editing import EditingTests
from subband.testing.tolerances import assert_close, largest
from subband.typing import Array

__all__ = ["FilterTests"]

#: The greatest error to accept, as a part of the largest number that took part. To subtract the variance of noise from
#: a sum of squares costs single precision two of its seven digits.
_TOLERANCES = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3}

#: Planes with one to three axes of space: odd and even, a single row, column and sample, wider than a strip.
_SHAPES = (
    (2, 50),
    (1, 1),
    (3, 37, 45),
    (1, 64, 128),
    (2, 1, 70),
    (1, 70, 1),
    (1, 1, 1),
    (2, 3, 2),
    (2, 9, 11, 13),
    (1, 1, 8, 40),
    (1, 1, 1, 1),
)

_MODES = ("soft", "hard", "garrote", "firm")

_plain = PlainFilters()


class FilterTests(EditingTests):
    """Compares filters with `PlainFilters`.

    Attributes
    ----------
    filters : Filters
        The filters.
    dtypes : tuple of str
        What planes hold; a device adds ``float16``.
    """

    dtypes: ClassVar[tuple[str, ...]] = ("float32", "float64")

    # --- What the tests are made of. ---

    def _draw(self, seed: int = 0, shapes: Any = _SHAPES) -> Iterator[tuple[Array, float]]:
        """Give bands of every shape and dtype, mostly noise and a few large values, and the tolerance for each."""
        rng = np.random.default_rng(seed)
        for dtype in self.dtypes:
            for shape in shapes:
                band = rng.standard_normal(shape) + (rng.random(shape) < 0.06) * rng.normal(0, 12, shape)
                yield band.astype(dtype), _TOLERANCES[dtype]

    def _check(self, actual: Any, expected: Array, tolerance: float, scale: float, what: object) -> None:
        """Compare; infinities have to stand where they should."""
        there, right = self.download(actual).astype(np.float64), np.asarray(expected, np.float64)
        assert there.shape == right.shape, what
        np.testing.assert_array_equal(np.isinf(there), np.isinf(right), str(what))
        finite = np.isfinite(right)
        assert_close(np.where(finite, there, 0), np.where(finite, right, 0), tolerance, scale, what)

    def _number(self, band: Array, value: float, *first: float) -> tuple[Any, Array]:
        """Return numbers for the planes of a band, there and here: the given ones first, then one value."""
        numbers = np.full(len(band), value)
        numbers[: len(first)] = first[: len(band)]
        return self.filters.upload(numbers), numbers

    def _check_precision(self, numbers: Any, band: Array) -> None:
        """Numbers are at least as precise as planes."""
        assert numbers.dtype in (self.filters.compute_dtype(band), np.float64)
        assert numbers.shape == band.shape[:1]

    # --- Pixels. ---

    @pytest.mark.parametrize("stored", ["uint8", "uint16", "float16", "float32", "float64"])
    def test_pixels(self, stored: str) -> None:
        rng = np.random.default_rng(1)
        spaces = ((13,), (1, 1), (6, 8), (7, 5), (3, 4, 5))
        for number, (space, channels) in enumerate((s, c) for s in spaces for c in (1, 2, 3, 4)):
            dtype = np.dtype(self.dtypes[number % len(self.dtypes)])
            matrix = (np.eye(channels) - 0.3) if number // 2 % 2 else None
            pixels = (rng.random((*space, channels)) * 255).astype(stored)
            tolerance = max(_TOLERANCES[dtype.name], _TOLERANCES.get(stored, 0))
            planes = self.filters.read_pixels(self.upload(pixels), matrix, dtype)
            expected = _plain.read_pixels(pixels, matrix, dtype)
            assert planes.dtype == dtype
            self._check(planes, expected, tolerance, 255 * channels, (stored, space, channels))
            back = self.filters.write_pixels(self.upload(expected), matrix, np.dtype(stored))
            assert back.dtype == stored
            # a value between two integers may be rounded to either, if it is nearly halfway
            values = _plain.write_pixels(expected, matrix, np.float64)
            most = np.iinfo(stored).max if stored.startswith("uint") else np.inf
            off = np.abs(self.download(back).astype(np.float64) - np.clip(values, -most * (most == np.inf), most))
            assert off.max() <= (0.5 if most < np.inf else 0) + tolerance * largest(values), (stored, space, channels)

    @pytest.mark.parametrize("stored", ["uint8", "uint16"])
    def test_pixels_are_rounded_halves_up_and_clipped(self, stored: str) -> None:
        most = np.iinfo(stored).max
        values = [-7, -0.5, -0.25, 0.25, 0.5, 1.5, 2.5, 2.25, most - 0.5, most - 0.75, most + 0.25, most + 900]
        expected = [0, 0, 0, 0, 1, 2, 3, 2, most, most - 1, most, most]
        for dtype in ("float32", "float64"):
            planes = self.upload(np.array([values], dtype))
            pixels = self.filters.write_pixels(planes, None, np.dtype(stored))
            assert self.download(pixels).ravel().tolist() == expected

    def test_pixels_go_where_they_are_told(self) -> None:
        for channels in (1, 3):
            planes = np.random.default_rng(2).uniform(0, 255, (channels, 6, 8)).astype(np.float32)
            out = self.filters.allocate_pixels((6, 8, channels), np.dtype(np.uint8))
            assert self.filters.write_pixels(self.upload(planes), None, np.dtype(np.uint8), out) is out
            np.testing.assert_array_equal(self.download(out), _plain.write_pixels(planes, None, np.uint8))

    # --- Parts. ---

    def test_extend(self) -> None:
        for band, _ in self._draw(3):
            for before, behind in (((0, 0, 0), (1, 1, 1)), ((2, 1, 3), (0, 5, 2)), ((40, 3, 29), (7, 31, 0))):
                sides = before[: band.ndim - 1], behind[: band.ndim - 1]
                extended = self.download(self.filters.extend(self.upload(band), *sides))
                assert extended.dtype == band.dtype
                np.testing.assert_array_equal(extended, _plain.extend(band, *sides))

    def test_take_and_add_a_part(self) -> None:
        for band, tolerance in self._draw(4):
            begin = [size // 3 for size in band.shape[1:]]
            shape = [max(1, size // 2) for size in band.shape[1:]]
            part = self.filters.take_part(self.upload(band), begin, shape, 0.75)
            expected = _plain.take_part(band, begin, shape, 0.75)
            assert part.dtype == band.dtype
            self._check(part, expected, tolerance, largest(band), ("take", band.shape))
            total = self.filters.add_part(part, self.upload(band), [0] * len(shape), -0.3)
            expected = _plain.add_part(expected, band, [0] * len(shape), -0.3)
            self._check(total, expected, tolerance, largest(band), ("add", band.shape))

    # --- What is known of whole planes. ---

    def _check_noise(
        self, band: Array, gain: float, mask: Array | None = None, others: Any = (), *options: int
    ) -> Array:
        """Compare noise with the median of magnitudes; of an even count either of the middle two will do."""
        there = [(self.upload(other), own) for other, own in others]
        noise = self.filters.measure_noise(self.upload(band), gain, mask, there, *options)
        self._check_precision(noise, band)
        for plane, number in zip(band, self.download(noise), strict=True):
            counted = plane.ravel() if mask is None else plane[mask != 0]
            magnitudes = np.sort(np.abs(counted.astype(np.float64))) / (NORMAL_MEDIAN * gain)
            low, high = magnitudes[(magnitudes.size - 1) // 2], magnitudes[magnitudes.size // 2]
            assert low * (1 - 2**-20) <= number <= high * (1 + 2**-20), (band.shape, band.dtype)
        return np.asarray(self.download(noise))

    def test_noise_is_the_median(self) -> None:
        for band, _ in self._draw(5, (*_SHAPES, (2, 211, 193))):
            self._check_noise(band, 1.25)
            self._check_noise(band * band.dtype.type(1e-3), 0.8)

    def test_noise_of_many_equal_values(self) -> None:
        for band, _ in self._draw(6, ((2, 40, 40), (2, 41, 1))):
            sparse = np.where(np.abs(band) < 1, 0, band).astype(band.dtype)
            self._check_noise(sparse, 1.0)
            self._check_noise(np.round(band).astype(band.dtype), 1.0)
            assert self.download(self.filters.measure_noise(self.upload(np.zeros_like(band)), 1.0)).tolist() == [0, 0]

    def test_noise_where_a_mask_counts(self) -> None:
        rng = np.random.default_rng(7)
        for band, _ in self._draw(7):
            mask = (rng.random(band.shape[1:]) < 0.3).astype(np.uint8) * 255
            mask.flat[0] = 1
            self._check_noise(band, 1.0, mask)
            alone = np.zeros_like(mask)
            alone.flat[mask.size // 2] = 1
            self._check_noise(band, 1.0, alone)

    def _draw_cells(self, seed: int) -> Iterator[tuple[Array, list[tuple[Array, float]]]]:
        """Give bands whose noise is not the same everywhere, and the other bands of their level with their gains."""
        rng = np.random.default_rng(seed)
        spaces = ((3, 41, 49), (1, 64, 128), (2, 1, 1270), (2, 12, 13, 14), (1, 1, 40, 41), (1, 34, 1, 43))
        for dtype in self.dtypes:
            for number, (count, *space) in enumerate(spaces):
                strength = rng.choice([0.0, 1.0, 1.1, 5.0], (count, *space), p=[0.1, 0.4, 0.4, 0.1]) * (1 + number)
                band = (rng.standard_normal((count, *space)) * strength).astype(dtype)
                others = []
                for key in range(6 if len(space) == 3 else 2):
                    # a low-pass band has one coefficient more along an axis of an odd number of samples
                    longer = [length + (key >> axis & 1) for axis, length in enumerate(space)]
                    own = np.zeros((count, *longer))
                    own[(slice(None), *map(slice, space))] = rng.standard_normal((count, *space)) * strength
                    others.append((own.astype(dtype), 0.9 + 0.1 * key))
                yield band, others

    def _check_cells(self, band: Array, others: list[tuple[Array, float]], *options: Any) -> Array:
        """Compare noise in smooth cells, and return it; where they are too few, that of all coefficients."""
        mask, margin, step = options or (None, 0, 1)
        if cut_cells(band.shape[1:], len(others), margin, step) is None:
            return self._check_noise(band, 1.1, mask, others, margin, step)
        there = [(self.upload(other), gain) for other, gain in others]
        found = self.filters.measure_noise(self.upload(band), 1.1, mask, there, margin, step)
        self._check_precision(found, band)
        expected = np.asarray(_plain.measure_noise(band, 1.1, mask, others, margin, step))
        # bins are those of single precision, which may round to either side of an edge
        np.testing.assert_allclose(self.download(found), expected, 1e-5, 1e-30, err_msg=str((band.shape, options)))
        return expected

    def test_noise_of_smooth_cells(self) -> None:
        rng = np.random.default_rng(23)
        for band, others in self._draw_cells(23):
            median = _plain.measure_noise(band, 1.1)
            for margin, step in ((0, 1), (0, 2), (1, 1), (3, 2)):
                self._check_cells(band, others, None, margin, step)
            mask = (rng.random(band.shape[1:]) > 0.02).astype(np.uint8)
            self._check_cells(band, others, mask, 0, 1)
            # no cell is known, so that those coefficients count that are
            few = np.zeros_like(mask)
            few[..., :1] = 1
            self._check_noise(band, 1.1, few, others)
            if band[0].size > 1000:
                assert (self._check_cells(band, others) != median).all()

    def test_noise_where_samples_were_clipped(self) -> None:
        rng = np.random.default_rng(26)
        for band, others in self._draw_cells(26):
            count, *space = band.shape
            # with another position of the image, there are twice as many planes of bands as of samples
            for planes, step, ahead in ((count, 1, 0), (count, 1, 3), (count, 2, 5), (1, 1, 1)):
                cells = cut_cells(tuple(space), len(others), 1, step, ahead)
                if cells is None:
                    continue
                lengths = [length if length == 1 else 2 * length // step - 1 for length in space]
                samples = rng.normal(0, 3, (planes, *lengths))
                samples = np.maximum(samples, np.where(rng.random(samples.shape[:-1]) < 0.5, 0, -99)[..., np.newaxis])
                given = [(self.upload(other), gain) for other, gain in others]
                around = self.upload(samples.astype(band.dtype))
                found = self.filters.measure_noise(self.upload(band), 1.1, None, given, 1, step, around, ahead)
                expected = _plain.measure_noise(band, 1.1, None, others, 1, step, samples.astype(band.dtype), ahead)
                np.testing.assert_allclose(self.download(found), expected, 1e-5, 1e-30, err_msg=str(band.shape))

    def test_noise_of_few_cells_is_the_median(self) -> None:
        rng = np.random.default_rng(25)
        for dtype in self.dtypes:
            for shape in ((2, 3, 2), (1, 7, 19), (3, 1, 8), (1, 3, 3, 9)):
                band, *others = rng.normal(0, 3, (2 ** (len(shape) - 1) - 1, *shape)).astype(dtype)
                self._check_noise(band, 1.1, None, [(other, 1.0) for other in others])

    def test_noise_where_some_was_clipped_and_some_is_empty(self) -> None:
        rng = np.random.default_rng(24)
        for dtype in self.dtypes:
            bands = rng.normal(0, 3, (3, 2, 96, 112))
            bands[:, :, :16] = 0 if dtype == "float16" else rng.normal(0, 1e-6, (3, 2, 16, 112))
            bands[:, :, 16:32] *= 0.6
            bands[:, :, 80:] *= rng.uniform(1, 20, (3, 2, 16, 112))
            own, *others = bands.astype(dtype)
            noise = self._check_cells(own, [(other, 1.1) for other in others])
            np.testing.assert_allclose(noise, 3 / 1.1, rtol=0.05)
            # so much was clipped that the first two parts have the same
            bands = rng.normal(0, 3, (3, 2, 96, 112))
            bands[:, :, :48] *= 0.34**0.5
            own, *others = bands.astype(dtype)
            noise = self._check_cells(own, [(other, 1.1) for other in others])
            np.testing.assert_allclose(noise, 3 / 1.1, rtol=0.06)
            nothing = np.zeros_like(own)
            assert self._check_cells(nothing, [(nothing, 1.0)] * 2).tolist() == [0, 0]

    def test_bayes_thresholds(self) -> None:
        for band, tolerance in self._draw(8):
            # as large as a float32 can say, so that both sides begin with the same number
            noise, numbers = self._number(band, 0.5, 0.75, 0.0, 1000.0)
            found = self.filters.find_bayes_threshold(self.upload(band), noise, 0.5)
            self._check_precision(found, band)
            expected = _plain.find_bayes_threshold(band, numbers, 0.5)
            scale = largest(np.where(np.isfinite(expected), expected, 0))
            # not the tolerance of what is stored: numbers have another precision
            self._check(found, expected, min(tolerance, 1e-5), scale, band.shape)

    def test_sure_thresholds_have_the_least_risk(self) -> None:
        for band, _ in self._draw(9, (*_SHAPES, (2, 90, 300))):
            noise, numbers = self._number(band, 1.0, 0.75, 0.0, 1.5)
            found = self.filters.find_sure_threshold(self.upload(band), noise, 1.25)
            self._check_precision(found, band)
            count = band[0].size
            step = sqrt(2 * log(count)) / SURE_BINS
            for plane, n, threshold in zip(band, numbers * 1.25, self.download(found), strict=True):
                if n == 0 or step == 0:
                    assert threshold == 0
                    continue
                risks = _list_risks(plane, n, step)
                index = round(float(threshold) / (n * step))
                assert abs(threshold - index * n * step) <= 1e-6 * n * step * SURE_BINS
                # sums in single precision cannot tell risks apart that are this close
                assert risks[index] <= risks.min() + (1e-9 if band.dtype == np.float64 else 1e-5) * count

    def test_noise_of_edges_in_what_is_empty(self) -> None:
        """Their energies grow from part to part in the other bands, even where they do not in the diagonal one."""
        rng = np.random.default_rng(26)
        for dtype in self.dtypes:
            bands = rng.choice([-1.0, 1.0], (3, 1, 128, 128))
            part = np.arange(128)[:, np.newaxis] // 16
            own = bands[0] * np.where(part == 0, 0.1, 4.0)
            others = [(band * 0.05 * 1.8**part).astype(dtype) for band in bands[1:]]
            noise = self._check_cells(own.astype(dtype), [(other, 1.0) for other in others])
            np.testing.assert_allclose(noise, np.sqrt((0.1**2 + 4**2) / 2) / 1.1, rtol=1e-2)

    # --- Cycle spinning. ---

    def test_spin_and_average_shifts(self) -> None:
        for planes, tolerance in self._draw(23):
            steps = [min(5, length - 1) for length in planes.shape[1:]]
            both = self.filters.spin(self.upload(planes), steps)
            expected = _plain.spin(planes, steps)
            assert tuple(both.shape) == expected.shape
            self._check(both, expected, 0, 1, (planes.shape, planes.dtype))
            half = len(planes)
            other = self.upload(3 * expected[half:])
            mean = self.filters.average_shifts(both[:half], other, planes.shape[1:], steps)
            self._check(mean, 2 * planes.astype(np.float64), tolerance, largest(planes), (planes.shape, planes.dtype))

    def test_numbers_are_repeated(self) -> None:
        for planes, _ in self._draw(24, ((6, 5, 4), (2, 7))):
            few = planes[: len(planes) // 2]
            numbers, expected = self._number(few, 1.5, 0.5)
            repeated = self.filters.repeat_numbers(numbers, 2, self.upload(planes))
            np.testing.assert_array_equal(self.download(repeated), np.tile(expected, 2))
            assert self.filters.repeat_numbers(numbers, 1, self.upload(few)) is numbers

    # --- Shrinking. ---

    @pytest.mark.parametrize("mode", _MODES)
    def test_shrink(self, mode: str) -> None:
        for number, (band, tolerance) in enumerate(self._draw(10)):
            band.flat[::7] = 0
            # float32 holds all of them, so that nothing lies on different sides of a threshold
            low, lows = self._number(band, 1.25, *((0.0, np.inf, 0.75) if number % 2 else (0.5, 1.0)))
            upper, uppers = self._number(band, 2.5, *((3.5, np.inf, 0.75) if number % 2 else (np.inf,)))
            gains, factors = self._number(band, 1.5, -0.5, 0.0)
            for over, overs in ((upper, uppers), (None, None)):
                for gain, factor in ((gains, factors), (None, None)):
                    actual = self.filters.shrink(self.upload(band), low, mode, over, gain)
                    expected = _plain.shrink(band.copy(), lows, mode, overs, factor)
                    assert actual.dtype == band.dtype
                    self._check(actual, expected, tolerance, largest(band), (mode, band.shape, overs, factor))

    @pytest.mark.parametrize("mode", _MODES)
    def test_shrink_several_bands(self, mode: str) -> None:
        rng = np.random.default_rng(22)
        for count, space in ((1, (40,)), (3, (8, 16)), (7, (3, 5, 7))):
            for dtype in self.dtypes:
                shapes = [(2, *space[:-1], space[-1] - number % 2) for number in range(count)]
                bands = [rng.normal(0, 2, shape).astype(dtype) for shape in shapes]
                low = rng.integers(0, 8, (count, 2)) / 4
                high, gains = low + 1, low - 0.5
                actual = self.filters.shrink_bands([self.upload(band) for band in bands], low, mode, high, gains)
                expected = _plain.shrink_bands([band.copy() for band in bands], low, mode, high, gains)
                for number, (found, right) in enumerate(zip(actual, expected, strict=True)):
                    assert found.dtype == right.dtype
                    self._check(found, right, _TOLERANCES[dtype], largest(*bands), (mode, dtype, count, number))

    def test_shrink_bivariate(self) -> None:
        rng = np.random.default_rng(11)
        for number, (band, tolerance) in enumerate(self._draw(11)):
            noise, numbers = self._number(band, 0.9, 1.1, 0.0)
            # one window and one scale for each number of axes, because each is another kernel
            window, scale, shift = {2: (5, 2), 3: (7, 2), 4: (3, 1)}[band.ndim] + (number % 2,)
            options: dict[str, Any] = {"window": window, "shift": shift, "scale": scale}
            shape = [len(band), *(-(-(size + shift) // scale) for size in band.shape[1:])]
            # the second has no parents for the last coefficients, which take those that there are
            shorter = [len(band), *(max(1, size - 1) for size in shape[1:])]
            parents = [(rng.standard_normal(s) * rng.choice([1, 8], s)).astype(band.dtype) for s in (shape, shorter)]
            for above in (None, *parents):
                given = None if above is None else self.upload(above)
                actual = self.filters.shrink_bivariate(self.upload(band), given, noise, 1.1, 1.3, **options)
                expected = _plain.shrink_bivariate(band, above, numbers, 1.1, 1.3, **options)
                assert actual.dtype == band.dtype
                most = largest(band) if above is None else largest(band, above)
                self._check(actual, expected, tolerance, most, (band.shape, band.dtype, above is None, options))

    @pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
    def test_shrink_bivariate_of_several_bands(self, dtype: str) -> None:
        if dtype not in self.dtypes:
            return
        rng = np.random.default_rng(24)
        # large and small, of one axis and of two, with planes several times, and more than one launch takes
        shapes = [(2, 70, 41), (2, 9, 300), (4, 35, 21), (4, 34, 20), (8, 17, 10), (2, 600), (4, 33)]
        few = [(2, 3, 5 + number) for number in range(24)]
        for own, count in ((shapes, 2), (shapes + few, 1), ([(2, 4, 20, 30), (4, 3, 5, 6)], 2)):
            bands = [(3 * rng.standard_normal(shape)).astype(dtype) for shape in own]
            halves = [(shape[0], *(-(-size // 2) for size in shape[1:])) for shape in own]
            parents = [
                None if number % 3 == 2 else (3 * rng.standard_normal(shape)).astype(dtype)
                for number, shape in enumerate(halves)
            ]
            noise, numbers = self._number(bands[0][:count], 0.0, 0.9)
            gains, above = rng.uniform(0.5, 1.5, (2, len(own))).tolist()
            given = [None if parent is None else self.upload(parent) for parent in parents]
            options: dict[str, Any] = {"window": 5, "shift": 1}
            uploaded = [self.upload(band) for band in bands]
            actual = self.filters.shrink_bivariate_bands(uploaded, given, noise, gains, above, **options)
            expected = _plain.shrink_bivariate_bands(bands, parents, numbers, gains, above, **options)
            for found, right, x, band in zip(actual, expected, uploaded, bands, strict=True):
                assert found.dtype == right.dtype
                self._check(found, right, _TOLERANCES[dtype], largest(band), (count, band.shape))
                np.testing.assert_array_equal(self.download(x), band)

    @pytest.mark.parametrize(("window", "scale"), [(3, 2), (9, 1), (15, 2), (1, 2), (7, 3)])
    def test_shrink_bivariate_by_other_windows(self, window: int, scale: int) -> None:
        (band, tolerance), *_ = self._draw(21, ((1, 40, 61),))
        parent = np.random.default_rng(21).standard_normal((1, -(-40 // scale), -(-61 // scale))).astype(band.dtype)
        noise, numbers = self._number(band, 1.0)
        options: dict[str, Any] = {"window": window, "scale": scale}
        actual = self.filters.shrink_bivariate(self.upload(band), self.upload(parent), noise, 1.0, **options)
        expected = _plain.shrink_bivariate(band, parent, numbers, 1.0, **options)
        self._check(actual, expected, tolerance, largest(band), options)

    def test_windows_leave_no_seam(self) -> None:
        # higher than the rows and wider than the columns that one part of an implementation may take
        for band, tolerance in self._draw(12, ((1, 301, 67), (1, 19, 333), (1, 2000), (1, 70, 20, 35))):
            noise, numbers = self._number(band, 1.0)
            window = {2: 5, 3: 7, 4: 3}[band.ndim]
            actual = self.filters.shrink_bivariate(self.upload(band), None, noise, 1.0, window=window)
            expected = _plain.shrink_bivariate(band, None, numbers, 1.0, window=window)
            self._check(actual, expected, tolerance, largest(band), (band.shape, band.dtype))

    def test_shrink_neighbours(self) -> None:
        for band, tolerance in self._draw(13, (*_SHAPES, (1, 141, 80), (1, 3000))):
            noise, numbers = self._number(band, 1.0, 0.75, 0.0)
            result = self.filters.shrink_neighbours(self.upload(band), noise, 1.25)
            assert result.dtype == band.dtype
            narrow = 1e-9 if band.dtype == np.float64 else 1e-5
            self._check_neighbours(band, numbers * 1.25, self.download(result), tolerance, narrow)

    def test_shrink_neighbours_of_a_large_band(self) -> None:
        (band, tolerance), *_ = self._draw(14, ((1, 800, 810),))
        # smooth in part, so that no part stands for the whole
        band[:, :400] *= np.linspace(0, 4, 810, dtype=band.dtype)
        noise, numbers = self._number(band, 1.0)
        result = self.filters.shrink_neighbours(self.upload(band), noise, 1.0)
        # coefficients may have been left out, so that the risk is not quite the least
        self._check_neighbours(band, numbers, self.download(result), tolerance, 3e-3)

    def _check_neighbours(self, band: Array, noise: Array, result: Array, tolerance: float, narrow: float) -> None:
        """Accept what any candidate gives whose risk is the least, up to a part `narrow` of the coefficients."""
        for plane, n, shrunk in zip(band.astype(np.float64), noise, result.astype(np.float64), strict=True):
            scale = tolerance * largest(plane)
            if n == 0:
                np.testing.assert_array_equal(shrunk, plane)
                continue
            candidates = list(_list_candidates(plane / n))
            least = min(risk for risk, _, _ in candidates)
            near = [(k, m) for risk, k, m in candidates if risk <= least + narrow * plane.size]
            errors = [np.abs(shrunk - plane * np.maximum(1 - k / m, 0)).max() for k, m in near]
            assert min(errors) <= scale, (band.shape, band.dtype, min(errors), len(near))

    def test_shrink_wiener(self) -> None:
        rng = np.random.default_rng(15)
        for band, tolerance in self._draw(15):
            guide = (band * rng.random(band.shape)).astype(band.dtype)
            guide.flat[::5] = 0
            noise, numbers = self._number(band, 0.9, 1.1, 0.0)
            actual = self.filters.shrink_wiener(self.upload(band), self.upload(guide), noise, 1.25)
            expected = _plain.shrink_wiener(band.copy(), guide, numbers, 1.25)
            assert actual.dtype == band.dtype
            self._check(actual, expected, tolerance, largest(band), band.shape)

    def test_filter_groups(self) -> None:
        rng = np.random.default_rng(18)
        for shape in ((2, 50), (3, 21, 30), (1, 1, 25), (2, 3, 2), (1, 1, 1), (1, 6, 7, 9)):
            for dtype in self.dtypes:
                # a guide without noise and without repetition, so that no two patches are equally similar
                guide = np.cumsum(rng.normal(0, 8, shape), axis=-1).astype(dtype)
                planes = (guide + rng.normal(0, 3, shape)).astype(dtype)
                for groups in (Groups(8, 9, 4, 12, 0.85), Groups(4, 3, 3, 40, is_sharp=True)):
                    noise, numbers = self._number(planes, 3.0, 2.0, 0.0)
                    actual = self.filters.filter_groups(self.upload(planes), self.upload(guide), noise, groups)
                    expected = _plain.filter_groups(planes, guide, numbers, groups)
                    assert actual.dtype == planes.dtype
                    # engines may compute in single precision, of which inverses of matrices lose a digit or two
                    tolerance = 30 * max(_TOLERANCES[dtype], _TOLERANCES["float32"])
                    self._check(actual, expected, tolerance, largest(planes), (shape, dtype, groups))
                    if len(planes) > 1:
                        np.testing.assert_array_equal(self.download(actual)[1], planes[1])

    # --- Filters of space. ---

    def test_convolve(self) -> None:
        rng = np.random.default_rng(16)
        for band, tolerance in self._draw(16):
            for axis, count in ((a, c) for a in range(band.ndim - 1) for c in (1, 3, 9, 31)):
                taps = rng.normal(0, 1, count).tolist()
                actual = self.filters.convolve(self.upload(band), taps, axis)
                assert actual.dtype == band.dtype
                expected = _plain.convolve(band, taps, axis)
                scale = largest(band) * float(np.abs(taps).sum())
                self._check(actual, expected, tolerance, scale, (band.shape, axis, count))

    @pytest.mark.parametrize("kernel", ["cross", "diagonal"])
    def test_add_laplacian(self, kernel: str) -> None:
        for band, tolerance in self._draw(17):
            actual = self.filters.add_laplacian(self.upload(band), 0.3, kernel)
            assert actual.dtype == band.dtype
            self._check(actual, _plain.add_laplacian(band, 0.3, kernel), tolerance, 4 * largest(band), band.shape)

    # --- Arrays. ---

    def test_what_is_read_stays_as_it_is(self) -> None:
        for band, _ in self._draw(18, ((2, 19, 40), (1, 5, 6, 7))):
            x, (noise, _), mask = self.upload(band), self._number(band, 1.0), np.ones(band.shape[1:], np.uint8)
            axes = band.ndim - 1
            self.filters.extend(x, [2] * axes, [1] * axes)
            self.filters.take_part(x, [1] * axes, [3] * axes, 2.0)
            self.filters.write_pixels(x, np.eye(len(band)), np.dtype(np.float32))
            self.filters.measure_noise(x, 1.0, mask)
            self.filters.measure_noise(x, 1.0, mask, [(x, 1.0)] * (2**axes - 2))
            self.filters.find_bayes_threshold(x, noise, 1.0)
            self.filters.find_sure_threshold(x, noise, 1.0)
            self.filters.shrink_bivariate(x, x, noise, 1.0, window=3, scale=1)
            self.filters.shrink_neighbours(x, noise, 1.0)
            self.filters.convolve(x, [0.25, 0.5, 0.25], 0)
            self.filters.add_laplacian(x, 1.0, "cross")
            np.testing.assert_array_equal(self.download(x), band)
            np.testing.assert_array_equal(self.download(noise), np.ones(len(band)))

    def test_planes_that_are_part_of_others(self) -> None:
        """Planes in the middle of others begin anywhere, and only they change."""
        for band, tolerance in self._draw(19, ((3, 7, 5), (3, 33))):
            noise, numbers = self._number(band[1:], 1.0)
            for shrink in ("shrink", "shrink_bivariate"):
                x = self.upload(band)
                if shrink == "shrink":
                    actual = self.filters.shrink(x[1:], noise, "soft")
                    expected = _plain.shrink(band[1:].copy(), numbers, "soft")
                else:
                    actual = self.filters.shrink_bivariate(x[1:], None, noise, 1.0, window=5)
                    expected = _plain.shrink_bivariate(band[1:], None, numbers, 1.0, window=5)
                self._check(actual, expected, tolerance, largest(band), (shrink, band.dtype))
                np.testing.assert_array_equal(self.download(x)[0], band[0])

    def test_several_threads(self) -> None:
        bands = [band for band, _ in self._draw(20, [(1, 40 + k, 50) for k in range(8)])]

        def work(band: Array) -> tuple[Any, Any]:
            x = self.upload(band)
            noise = self.filters.measure_noise(x, 1.0)
            threshold = self.filters.find_bayes_threshold(x, noise, 1.0)
            return self.filters.shrink_neighbours(x, noise, 1.0), self.filters.shrink(x, threshold, "soft")

        alone = [[self.download(result) for result in work(band)] for band in bands]
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(work, bands))
        for there, here in zip(together, alone, strict=True):
            for result, expected in zip(there, here, strict=True):
                np.testing.assert_array_equal(self.download(result), expected)


def _list_risks(plane: Array, n: float, step: float) -> Array:
    """Return Stein's estimate for every threshold that counts."""
    a = np.abs(plane.astype(np.float64)).ravel() / n
    edges = np.arange(SURE_BINS + 1) * step
    return np.array([a.size - 2 * np.sum(a < e) + np.sum(a[a < e] ** 2) + np.sum(a >= e) * e**2 for e in edges])


def _list_candidates(w: Array) -> Iterator[tuple[float, float, Array]]:
    """Give risk, factor and mean energy for all that `Filters.shrink_neighbours` chooses from."""
    square = np.square(w)
    for window in (3, 5):
        mean = square
        for axis in range(w.ndim):
            reach = [(window // 2,) * 2 if a == axis else (0, 0) for a in range(w.ndim)]
            wide, length = np.pad(mean, reach, mode="symmetric"), w.shape[axis]
            mean = np.mean([np.take(wide, np.arange(k, k + length), axis) for k in range(window)], axis=0)
        m = mean + 1e-9
        ratio, inverse = square / m**2, 1 / m
        for k in np.arange(SURE_BINS + 1) * (6.0 / SURE_BINS):
            inside = k**2 * ratio - 2 * k * inverse + 4 * k * ratio / window**w.ndim
            yield float(np.sum(np.where(m >= k, inside, square - 2))), float(k), m
