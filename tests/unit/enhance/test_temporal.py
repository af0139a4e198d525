"""Averages over time: as good as theory says where it holds, and the frame alone where it does not."""

import weakref

import numpy as np
import pytest

from subband import data
from subband.engines.filters import find_filters
from subband.engines.registry import get_engine
from subband.engines.temporal import find_temporal_filters
from subband.engines.temporal.motion import find_motion, pad_planes
from subband.engines.threads import get_threads, set_threads
from subband.enhance import Denoise
from subband.enhance.noise_maps import NoiseMap
from subband.enhance.roundtrip import Roundtrip
from subband.enhance.temporal import follow as follow_with

SIGMA = np.array([20.0])
IMAGE = data.ascent().astype(np.float32)


FILTERS = find_temporal_filters(get_engine("cpu"))


def follow(past, planes, noise):
    return follow_with(FILTERS, past, planes, noise)


def add_noise(image, seed, sigma=SIGMA[0]):
    return (image + np.random.default_rng(seed).normal(0, sigma, image.shape)).astype(np.float32)


def follow_all(frames, noise=SIGMA):
    past = None
    for frame in frames:
        past = follow(past, frame[np.newaxis], noise)
        yield past


def move(image, down, right):
    """Shift by a fraction of a pixel, exactly for what is periodic."""
    frequencies = np.fft.fftfreq(image.shape[0])[:, np.newaxis] * down + np.fft.fftfreq(image.shape[1]) * right
    return np.fft.ifft2(np.fft.fft2(image) * np.exp(2j * np.pi * frequencies)).real.astype(np.float32)


@pytest.mark.parametrize("shift", [(0, 0), (3, -5), (-17, 22), (0.5, 0.25), (-1.37, 2.8)])
def test_the_motion_of_a_camera_is_found(shift):
    old = IMAGE[120:376, 120:376]
    new = move(IMAGE, *shift)[120:376, 120:376]
    motion = 2 * find_motion(pad_planes(add_noise(new, 1, 10)), pad_planes(add_noise(old, 2, 10)), 10.0, 1.0)
    near = np.abs(motion - shift).max(axis=2) < 0.15
    assert near.mean() > 0.8


def test_a_block_moves_by_itself():
    old = data.aero()[100:228, 100:292].astype(np.float32)
    new = old.copy()
    old[40:104, 40:104] = IMAGE[300:364, 200:264]
    new[40:104, 46:110] = IMAGE[300:364, 200:264]
    motion = 2 * find_motion(pad_planes(add_noise(new, 1, 5)), pad_planes(add_noise(old, 2, 5)), 5.0, 1.0)
    np.testing.assert_allclose(motion[4:6, 4:6], np.broadcast_to([0, -6], (2, 2, 2)), atol=0.3)
    np.testing.assert_allclose(motion[:, 8:], 0, atol=0.1)


@pytest.mark.parametrize("shape", [(1, 1), (5, 40), (31, 33), (64, 47)])
def test_frames_of_any_size_are_averaged(shape):
    frames = [add_noise(np.full(shape, 90, np.float32), seed) for seed in range(6)]
    *_, past = follow_all(frames)
    assert past.planes.shape == (1, *shape)
    assert np.isfinite(past.planes).all()


def test_a_still_scene_improves_as_theory_says():
    still = IMAGE[100:260, 100:300]
    for number, past in enumerate(follow_all(add_noise(still, seed) for seed in range(10)), 1):
        error = np.mean((past.planes[0] - still) ** 2) / SIGMA[0] ** 2
        # at best the mean of all frames; matching by noise costs a part of that
        assert 0.8 / number < error < 1.7 / number
        # and what it says about its own noise is true
        assert 0.75 < error / past.ratios.mean() < 1.35


def test_a_pan_by_fractions_of_a_pixel_improves():
    clean = [move(IMAGE, 0.37 * time, 0.81 * time)[100:300, 100:340] for time in range(8)]
    *_, past = follow_all(add_noise(frame, seed) for seed, frame in enumerate(clean))
    assert np.mean((past.planes[0] - clean[-1]) ** 2) < 0.3 * SIGMA[0] ** 2


def turn(image, degrees, zoom, shape=(200, 240)):
    """Return a part of an image as a camera sees it that has turned and zoomed."""
    ndimage = pytest.importorskip("scipy.ndimage")
    rows, columns = np.indices(shape) - (np.array(shape)[:, np.newaxis, np.newaxis] - 1) / 2
    angle = np.deg2rad(degrees)
    positions = np.array(
        [
            250 + zoom * (np.cos(angle) * rows - np.sin(angle) * columns),
            250 + zoom * (np.sin(angle) * rows + np.cos(angle) * columns),
        ]
    )
    return ndimage.map_coordinates(image, positions, order=3)


def find_displacements(degrees, zoom, shape=(200, 240)):
    """Return where the middles of blocks were before a camera turned and zoomed."""
    rows, columns = (16 * np.arange(-(-length // 16)) + 7.5 - (length - 1) / 2 for length in shape)
    rows, columns = np.meshgrid(rows, columns, indexing="ij")
    angle = np.deg2rad(degrees)
    return np.stack(
        [
            zoom * (np.cos(angle) * rows - np.sin(angle) * columns) - rows,
            zoom * (np.sin(angle) * rows + np.cos(angle) * columns) - columns,
        ],
        axis=-1,
    )


@pytest.mark.parametrize(("degrees", "zoom"), [(0.2, 1.0), (-0.8, 1.0), (0.0, 0.99), (0.4, 1.006)])
def test_a_camera_that_turns_and_zooms_is_found(degrees, zoom):
    old, new = (turn(IMAGE, degrees * time, zoom**time) for time in range(2))
    motion = 2 * find_motion(pad_planes(add_noise(new, 1)), pad_planes(add_noise(old, 2)), SIGMA[0], 1.0)
    errors = np.abs(motion - find_displacements(degrees, zoom)).max(axis=2)
    # the last row of blocks is not whole, and looks at what is beside it
    assert np.quantile(errors[:-1], 0.9) < 0.2


@pytest.mark.parametrize("what", ["still", "two layers"])
def test_a_camera_that_does_not_turn_moves_all_alike(what):
    old = IMAGE[100:300, 100:340]
    new = old.copy()
    if what == "two layers":
        new[:, 150:] = IMAGE[102:302, 253:343]
    motion = find_motion(pad_planes(add_noise(new, 1)), pad_planes(add_noise(old, 2)), SIGMA[0], 1.0)
    common = np.median(motion[:, :8], axis=(0, 1))
    assert (motion[:, :8] == common).all(axis=2).mean() > 0.95
    assert np.abs(common).max() < 0.05


@pytest.mark.parametrize(("degrees", "zoom"), [(0.6, 1.0), (0.0, 0.99)])
def test_what_turns_and_zooms_improves(degrees, zoom):
    clean = [turn(IMAGE, degrees * time, zoom**time) for time in range(8)]
    *_, past = follow_all(add_noise(frame, seed) for seed, frame in enumerate(clean))
    assert np.mean((past.planes[0] - clean[-1]) ** 2) < 0.18 * SIGMA[0] ** 2


def test_what_is_covered_counts_by_itself():
    flat = np.full((96, 160), 60, np.float32)
    frames = []
    for time in range(6):
        frame = flat.copy()
        frame[30:60, 10 + 20 * time : 40 + 20 * time] = 200
        frames.append(add_noise(frame, time))
    *_, past = follow_all(frames)
    # where the square was a moment ago, and is no more
    left = past.planes[0, 32:58, 92:108]
    assert abs(left.mean() - 60) < 4
    assert past.ratios[5:25].mean() < 0.35


@pytest.mark.parametrize("axis", [0, 1])
def test_a_thin_line_leaves_nothing_behind(axis):
    flat, strength = np.full((96, 160), 90, np.float32), 1.8 * SIGMA[0]
    lined = flat.copy()
    np.moveaxis(lined, axis, 0)[40] += strength
    *_, past = follow_all(add_noise(frame, seed) for seed, frame in enumerate([lined] * 8 + [flat]))
    left = np.moveaxis(past.planes[0], axis, 0)[40] - 90
    # a sample alone, or the square around it, hardly tells the difference from noise
    assert left.mean() < 0.15 * strength
    assert past.ratios.mean() < 0.35


def test_after_a_cut_nothing_is_left_of_the_past():
    first, second = IMAGE[:128, :128], data.camera()[:128, :128].astype(np.float32)
    frames = [add_noise(image, seed) for seed, image in enumerate([first] * 4 + [second] * 2)]
    pasts = list(follow_all(frames))
    assert pasts[3].motion is not None
    assert pasts[4].motion is None
    np.testing.assert_array_equal(pasts[4].planes[0], frames[4])
    assert pasts[5].motion is not None


@pytest.mark.parametrize("way", ["fade", "flash", "flicker"])
def test_light_that_changes_does_not_stay(way):
    still = IMAGE[100:260, 100:300]
    lights = {
        "fade": [1 - 0.05 * time for time in range(10)],
        "flash": [1.5 if time == 7 else 1.0 for time in range(10)],
        "flicker": [1 + 0.1 * (-1) ** time for time in range(10)],
    }[way]
    frames = [light * still for light in lights]
    pasts = list(follow_all(add_noise(frame, seed) for seed, frame in enumerate(frames)))
    errors = [np.mean((past.planes[0] - frame) ** 2) / SIGMA[0] ** 2 for past, frame in zip(pasts, frames, strict=True)]
    # as if light had stayed the same, or nearly so
    assert max(errors[4:]) < 0.45
    assert 0.7 < errors[-1] / pasts[-1].ratios.mean() < 1.6


def test_a_lamp_lights_a_part_of_the_scene():
    still = IMAGE[100:260, 100:300]
    lamp = 8 * np.exp(-np.hypot(*np.indices(still.shape) - 80) / 30)
    frames = [still + lamp * time for time in range(8)]
    *_, past = follow_all(add_noise(frame, seed) for seed, frame in enumerate(frames))
    error = past.planes[0] - frames[-1]
    # far from the lamp the past counts, and beside it hardly
    assert np.mean(error[:30, 170:] ** 2) < 0.3 * SIGMA[0] ** 2
    assert abs(error[60:100, 60:100].mean()) < 0.35 * SIGMA[0]


def test_the_number_of_threads_changes_nothing():
    frames = [add_noise(move(IMAGE, time, 0.4 * time), time) for time in range(3)]
    before = get_threads()
    found = []
    try:
        for threads in (1, 2, 5):
            set_threads(threads)
            *_, past = follow_all(frames)
            found.append((past.planes.tobytes(), past.ratios.tobytes(), past.motion.tobytes()))
    finally:
        set_threads(before)
    assert found[0] == found[1] == found[2]


def test_the_past_is_not_changed():
    frames = [add_noise(IMAGE[:96, :96], seed) for seed in range(3)]
    pasts = list(follow_all(frames[:2]))
    kept = pasts[1].planes.copy()
    once, again = (follow(pasts[1], frames[2][np.newaxis], SIGMA) for _ in range(2))
    np.testing.assert_array_equal(once.planes, again.planes)
    np.testing.assert_array_equal(pasts[1].planes, kept)


def test_memory_does_not_grow_with_the_video():
    past, all_of_them = None, []
    for seed in range(12):
        past = follow(past, add_noise(IMAGE[:64, :64], seed)[np.newaxis], SIGMA)
        all_of_them.append(weakref.ref(past))
        assert sum(each() is not None for each in all_of_them) <= 2


def test_frames_without_noise_stay_as_they_are():
    frames = [IMAGE[:64, time : 64 + time] for time in range(3)]
    for frame, past in zip(frames, follow_all(frames, np.array([0.0])), strict=True):
        np.testing.assert_array_equal(past.planes[0], frame)


@pytest.mark.parametrize("form", ["decimated", "spun", "undecimated", "dual-tree"])
@pytest.mark.parametrize("wavelet", ["cdf97", "db4"])
def test_a_map_tells_the_noise_of_every_coefficient(form, wavelet):
    if form == "dual-tree" and wavelet == "db4":
        pytest.skip("the dual tree takes symmetric wavelets only")
    engine = get_engine("cpu")
    filters = find_filters(engine)
    strengths = np.ones((150, 181), np.float32)
    strengths[:, 90:] = 5
    planes = (np.random.default_rng(0).normal(size=(1, 150, 181)) * strengths).astype(np.float32)
    noise_map = NoiseMap(strengths**2, np.array([1.0]), filters, FILTERS)
    roundtrip = Roundtrip(Denoise(wavelet=wavelet, level=3, form=form), planes.shape, engine, filters)
    spreads = []

    def work(coefficients):
        before = {key: band.copy() for key, band in coefficients.details[1].items()}
        noise_map.level(coefficients)
        for bands in coefficients.details:
            for band in bands.values():
                # what lies beyond the border is dropped
                beyond = 0 if coefficients.is_decimated else coefficients.begin[1]
                inside = band[..., beyond : band.shape[2] - beyond]
                part = max(inside.shape[2] // 6, 8)
                spreads.append((inside[..., :part].std(), inside[..., -part:].std()))
        noise_map.restore(coefficients)
        for key, band in before.items():
            np.testing.assert_allclose(coefficients.details[1][key], band, rtol=1e-5)

    np.testing.assert_allclose(roundtrip.run(planes, work), planes, atol=1e-3)
    assert spreads
    # few coefficients are left at the coarsest level
    for weak, strong in spreads:
        assert 0.6 < strong / weak < 1.6
