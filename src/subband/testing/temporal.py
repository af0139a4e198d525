"""The contract of averages over time as a class of tests: every one gives what the loops of the CPU give.

Sums of squares are added in another order, so that a block whose candidates are nearly as good may take another one:
most blocks have to move alike, and averages have to be the same where they do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

from subband import data
from subband.engines.temporal import Grid, TemporalFilters
from subband.engines.temporal.compiled import CompiledTemporalFilters
from subband.tracking import tabulate_taps
from subband.typing import Array

__all__ = ["TemporalFilterTests"]

_SIGMA = 15.0

#: Rows and columns of frames, and by how many pixels the camera moves: still, along whole pixels and between them.
_VIDEOS = (((200, 232), (0.0, 0.0)), ((131, 170), (2.3, -1.6)), ((96, 129), (-0.4, 3.7)), ((64, 200), (9.0, -14.0)))

_cpu = CompiledTemporalFilters()


class TemporalFilterTests:
    """Compares filters over time with those of the CPU.

    Attributes
    ----------
    filters : TemporalFilters
        The filters.
    """

    filters: ClassVar[TemporalFilters]

    # --- What the tests are made of. ---

    def upload(self, x: Array) -> Any:
        """Return an array as the filters take it."""
        return x

    def download(self, x: Any) -> Array:
        """Return an array of the filters on the host."""
        return np.asarray(x)

    def _follow(self, frames: Iterator[Array], noise: Array, count: int) -> Iterator[tuple[Any, Any, Array]]:
        """Give what both know after each frame but the first; the CPU goes on from what the filters know."""
        found = None
        for frame, _ in zip(frames, range(count), strict=False):
            there = self.upload(frame), self.upload(noise)
            if found is None:
                found, expected = self.filters.begin(*there), _cpu.begin(frame, noise)
                continue
            # one step at a time: after a tie, videos that are averaged go different ways
            before, found = found, self._step(found, *there)
            expected = self._step_cpu(before, frame, noise)
            yield found, expected, frame

    def _step(self, past: Any, planes: Any, noise: Any) -> Any:
        return self.filters.average(past, planes, noise, self.filters.find_motion(planes, past, noise), (1, 1))

    def _step_cpu(self, past: Any, planes: Array, noise: Array) -> Any:
        known = _cpu.begin(self.download(past.planes), noise)
        known.ratios[...] = self.download(past.ratios)
        return _cpu.average(known, planes, noise, _cpu.find_motion(planes, known, noise), (1, 1))

    def _compare(self, found: Any, expected: Any, share: float = 0.97) -> None:
        """Compare what is known: motion of most blocks, and averages."""
        motion = self.download(found.motion.blocks)
        if expected.motion is not None:
            assert motion.shape == expected.motion.shape
            assert (np.abs(motion - expected.motion).max(axis=2) < 1e-3).mean() >= share
        for values, others, size in (
            (self.download(found.planes), expected.planes, 255.0),
            (self.download(found.ratios), expected.ratios, 1.0),
        ):
            assert values.shape == others.shape
            assert values.dtype == np.float32
            assert (np.abs(values - others) < 1e-4 * size).mean() >= share

    # --- The tests. ---

    @pytest.mark.parametrize(("shape", "speed"), _VIDEOS)
    def test_videos(self, shape: tuple[int, int], speed: tuple[float, float]) -> None:
        noise = np.array([_SIGMA])
        steps = list(self._follow(_draw_video(shape, speed), noise, 5))
        for found, expected, _ in steps:
            assert expected.motion is not None
            self._compare(found, expected)
        found, expected, _ = steps[-1]
        assert expected.ratios.mean() < 0.75
        assert np.abs(self.download(found.motion.blocks)).max() > 0 or speed == (0.0, 0.0)

    @pytest.mark.parametrize(("degrees", "zoom"), [(0.6, 1.0), (0.0, 0.99)])
    def test_a_camera_that_turns_or_zooms(self, degrees: float, zoom: float) -> None:
        for found, expected, _ in self._follow(_turn_video((168, 200), degrees, zoom), np.array([_SIGMA]), 4):
            assert expected.ratios.mean() < 0.75
            self._compare(found, expected)
        # each block has a motion of its own, by which they all are parts of one
        assert len(np.unique(np.round(expected.motion, 2).reshape(-1, 2), axis=0)) > 20

    @pytest.mark.parametrize("shape", [(1, 1), (5, 40), (31, 33), (64, 47), (33, 250)])
    def test_frames_of_any_size(self, shape: tuple[int, int]) -> None:
        frames = (frame[:, : shape[0], : shape[1]] for frame in _draw_video((64, 256), (0.0, 0.0)))
        for found, expected, _ in self._follow(map(np.ascontiguousarray, frames), np.array([_SIGMA]), 3):
            self._compare(found, expected)

    def test_several_planes(self) -> None:
        weights = np.array([1.0, 0.3, -0.4], np.float32)[:, np.newaxis, np.newaxis]
        rng = np.random.default_rng(3)
        frames = (
            (weights * frame + rng.normal(0, 4, (3, *frame.shape[1:]))).astype(np.float32)
            for frame in _draw_video((96, 112), (1.0, 0.5))
        )
        for found, expected, _ in self._follow(frames, np.array([_SIGMA, 6.0, 7.0]), 3):
            self._compare(found, expected)

    @pytest.mark.parametrize("steps", [(2, 2), (1, 2), (1, 4), (2, 1), (4, 4)])
    def test_chroma_moves_with_the_brightness(self, steps: tuple[int, int]) -> None:
        noise, chroma_noise = np.array([_SIGMA]), np.array([_SIGMA, 1.2 * _SIGMA])
        video = _draw_video((90, 130), (1.6, -2.0))
        luma = [next(video) for _ in range(2)]
        rng = np.random.default_rng(5)
        chroma = [
            (np.repeat(each[:, :: steps[0], :: steps[1]], 2, 0) + rng.normal(0, 5, (2, 1, 1))).astype(np.float32)
            for each in luma
        ]
        past = self._step(self.filters.begin(*map(self.upload, (luma[0], noise))), *map(self.upload, (luma[1], noise)))
        motion = self.download(past.motion.blocks)
        level = self.upload(chroma_noise)
        known = self.filters.begin(self.upload(chroma[0]), level)
        found = self.filters.average(known, self.upload(chroma[1]), level, past.motion, steps)
        expected = _cpu.average(_cpu.begin(chroma[0], chroma_noise), chroma[1], chroma_noise, motion, steps)
        assert expected.motion is not None
        self._compare(found, expected, 1.0)

    @pytest.mark.parametrize(("gain", "offset"), [(0.85, 0.0), (1.0, 15.0)])
    def test_light_that_changes(self, gain: float, offset: float) -> None:
        video = _draw_video((131, 170), (1.3, -0.6))
        frames = ((gain**number * frame + offset * number).astype(np.float32) for number, frame in enumerate(video))
        for found, expected, _ in self._follow(frames, np.array([_SIGMA]), 3):
            assert expected.ratios.mean() < 0.75
            self._compare(found, expected)

    @pytest.mark.parametrize("shape", [(96, 128), (131, 99), (66, 113)])
    def test_texture_that_changes(self, shape: tuple[int, int]) -> None:
        # in a third of the frame, by less than its noise
        textures, noise, end = np.random.default_rng(6).normal(0, 20, (4, 35, 33)), np.array([40.0]), shape[1] // 3
        frames = []
        for number, texture in enumerate(textures):
            frame = np.random.default_rng(number).normal(120, 40, shape)
            frame[:, :end] += np.kron(texture, np.ones((4, 4)))[: shape[0], :end]
            frames.append(frame.astype(np.float32)[np.newaxis])
        for found, expected, _ in self._follow(iter(frames), noise, 4):
            assert expected.motion is not None
            self._compare(found, expected, 0.9)
        assert expected.ratios[:, : end // 2].mean() > 1.3 * expected.ratios[:, -end:].mean()

    def test_after_a_cut_the_frame_counts_by_itself(self) -> None:
        noise = self.upload(np.array([_SIGMA]))
        first, second = (
            next(_draw_video((96, 128), (0.0, 0.0))),
            data.camera()[:96, :128].astype(np.float32)[np.newaxis],
        )
        begun = self.filters.begin(self.upload(first), noise)
        past = self._step(begun, self.upload(second), noise)
        np.testing.assert_array_equal(self.download(past.planes), second)
        np.testing.assert_array_equal(self.download(past.ratios), 1)
        # and colours that had not changed begin anew with it
        chroma = self.upload(np.full((1, 48, 64), 100, np.float32))
        found = self.filters.average(self.filters.begin(chroma, noise), chroma, noise, past.motion, (2, 2))
        np.testing.assert_array_equal(self.download(found.ratios), 1)
        again = self._step(past, self.upload(second), noise)
        assert self.download(again.ratios).mean() < 0.6

    def test_what_has_no_noise_stays_as_it_is(self) -> None:
        noise = self.upload(np.zeros(1))
        video = _draw_video((80, 96), (1.0, 0.0))
        past = self.filters.begin(self.upload(next(video)), noise)
        for frame, _ in zip(video, range(2), strict=False):
            past = self._step(past, self.upload(frame), noise)
            np.testing.assert_array_equal(self.download(past.planes), frame)

    def test_one_plane_without_noise_stays_as_it_is(self) -> None:
        noise = np.array([_SIGMA, 0.0, 6.0])
        rng = np.random.default_rng(4)
        frames = (
            np.concatenate([frame, 0.5 * data.camera()[np.newaxis, :96, :112], frame + rng.normal(0, 4, frame.shape)])
            for frame in _draw_video((96, 112), (1.0, 0.5))
        )
        for found, expected, frame in self._follow((each.astype(np.float32) for each in frames), noise, 3):
            assert expected.ratios.mean() < 0.75
            np.testing.assert_array_equal(expected.planes[1], frame[1])
            np.testing.assert_array_equal(self.download(found.planes)[1], frame[1])
            self._compare(found, expected)

    def test_the_past_is_not_changed(self) -> None:
        video, noise = _draw_video((80, 96), (1.0, 0.0)), self.upload(np.array([_SIGMA]))
        first, second = (self.upload(next(video)) for _ in range(2))
        past = self._step(self.filters.begin(first, noise), second, noise)
        kept = self.download(past.planes).copy()
        once, again = (self._step(past, self.upload(next(_draw_video((80, 96), (2.0, 0.0)))), noise) for _ in range(2))
        np.testing.assert_array_equal(self.download(past.planes), kept)
        np.testing.assert_array_equal(self.download(once.planes), self.download(again.planes))

    @pytest.mark.parametrize("shape", [(1, 1), (7, 1), (37, 50), (64, 301)])
    def test_maps(self, shape: tuple[int, int]) -> None:
        rng = np.random.default_rng(1)
        variances = rng.uniform(0.1, 2, shape).astype(np.float32)
        there = self.upload(variances)
        halves = [variances, *_cpu.halve(variances, 7)]
        found = [there, *self.filters.halve(there, 7)]
        for x, expected in zip(found, halves, strict=True):
            np.testing.assert_allclose(self.download(x), expected, rtol=1e-6)
        grids = [Grid(level, 2**level, (1, 1), halves[level].shape) for level in (1, 2, 3)]
        grids += [Grid(level, 1, (-9, 5), (shape[0] + 20 + level, shape[1] + 11)) for level in range(8)]
        grids += [Grid(1, 2, (0, 0), (0, 3))]
        for x, expected in zip(self.filters.draw(found, grids), _cpu.draw(halves, grids), strict=True):
            np.testing.assert_allclose(self.download(x), expected, rtol=1e-6)
        typical = self.download(self.filters.measure_typical(self.upload(variances), 3))
        np.testing.assert_allclose(typical, _cpu.measure_typical(variances, 3), rtol=1e-5)

    def test_interpolation_is_exact_for_whole_samples(self) -> None:
        assert np.array_equal(tabulate_taps()[0], np.arange(8) == 3)
        frame = next(_draw_video((96, 128), (0.0, 0.0)))
        noise = self.upload(np.array([1e-3]))
        past = self._step(self.filters.begin(self.upload(frame), noise), self.upload(frame), noise)
        np.testing.assert_allclose(self.download(past.planes), frame, rtol=1e-6)


def _draw_video(shape: tuple[int, int], speed: tuple[float, float]) -> Iterator[Array]:
    """Yield noisy frames of a camera that moves over an image, with a square that moves by itself."""
    image, rows, columns = data.ascent().astype(np.float64), *shape
    frequencies = np.fft.fftfreq(image.shape[0])[:, np.newaxis], np.fft.fftfreq(image.shape[1])
    spectrum = np.fft.fft2(image)
    for number in range(32):
        turned = np.exp(2j * np.pi * number * (frequencies[0] * speed[0] + frequencies[1] * speed[1]))
        frame = np.fft.ifft2(spectrum * turned).real[100 : 100 + rows, 120 : 120 + columns].copy()
        frame[rows // 4 : rows // 2, 10 + 5 * number : 40 + 5 * number] = 200
        yield (frame + np.random.default_rng(number).normal(0, _SIGMA, shape)).astype(np.float32)[np.newaxis]


def _turn_video(shape: tuple[int, int], degrees: float, zoom: float) -> Iterator[Array]:
    """Yield noisy frames of a camera that turns and zooms over an image, smooth enough for linear interpolation."""
    image = data.ascent().astype(np.float64)
    smooth = (image[:-1, :-1] + image[1:, :-1] + image[:-1, 1:] + image[1:, 1:]) / 4
    rows, columns = np.indices(shape) - (np.array(shape)[:, np.newaxis, np.newaxis] - 1) / 2
    for number in range(32):
        angle, size = np.deg2rad(degrees * number), zoom**number
        y = 250 + size * (np.cos(angle) * rows - np.sin(angle) * columns)
        x = 250 + size * (np.sin(angle) * rows + np.cos(angle) * columns)
        i, j = np.floor(y).astype(int), np.floor(x).astype(int)
        above, below = (smooth[each, j] * (1 + j - x) + smooth[each, j + 1] * (x - j) for each in (i, i + 1))
        frame = above * (1 + i - y) + below * (y - i)
        yield (frame + np.random.default_rng(number).normal(0, _SIGMA, shape)).astype(np.float32)[np.newaxis]
