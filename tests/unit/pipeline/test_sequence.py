"""Frames that follow each other: video over time by Python, files, the command line and the page."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from typer.testing import CliRunner

from subband import data
from subband.cli import app
from subband.engines import get_engine
from subband.engines.replay import Replays
from subband.enhance import Blur, Denoise, Enhancer
from subband.errors import ArgumentError, MissingExtraError, NoDeviceError
from subband.media import SourceInfo, open_source
from subband.pipeline import Pipeline, process_frames
from subband.pipeline.files import choose_work
from subband.pipeline.planes import PlaneWork, join_planes, take_plane
from subband.pipeline.sequence import Sequence
from subband.quality import measure_psnr
from subband.studio.settings import resolve_settings
from subband.studio.tools.base import Inputs

SIGMA = 20.0
OVER_TIME = Enhancer(Denoise(), sigma=SIGMA, temporal=True)
ALONE = Enhancer(Denoise(), sigma=SIGMA)


def add_noise(frames, seed=0):
    generator = np.random.default_rng(seed)
    return [np.rint(each + generator.normal(0, SIGMA, each.shape)).clip(0, 255).astype(np.uint8) for each in frames]


def measure_gain(frames, clean, *enhancers):
    """Return the PSNR of all frames but the first, for each enhancer."""
    return [
        np.mean([measure_psnr(a, b, 255) for a, b in zip(process_frames(frames, each), clean, strict=True)][1:])
        for each in enhancers
    ]


STILL = [data.photograph()[40:168, 60:220]] * 6
MOVING = [data.photograph()[40 + 5 * time : 168 + 5 * time, 60 + 11 * time : 220 + 11 * time] for time in range(6)]
#: Nothing that one frame has in common with the next.
CHANGING = [np.roll(data.aero()[:128, :160], 61 * time, 1)[:: (-1) ** time] for time in range(6)]


@pytest.mark.parametrize("sigma", [SIGMA, None])
def test_a_still_scene_is_clearer_and_calmer(sigma):
    noisy = add_noise(STILL)
    enhancers = [Enhancer(sigma=sigma, temporal=temporal) for temporal in (False, True)]
    alone, over_time = measure_gain(noisy, STILL, *enhancers)
    assert over_time > alone + 1.5
    flicker = [
        np.std(np.stack(list(process_frames(noisy, each)))[2:].astype(float), axis=0).mean() for each in enhancers
    ]
    assert flicker[1] < 0.6 * flicker[0]


def test_a_moving_scene_is_clearer():
    alone, over_time = measure_gain(add_noise(MOVING), MOVING, ALONE, OVER_TIME)
    assert over_time > alone + 1


def test_what_changes_all_the_time_is_no_worse():
    alone, over_time = measure_gain(add_noise(CHANGING), CHANGING, ALONE, OVER_TIME)
    assert over_time > alone - 0.05


@pytest.mark.parametrize("contrast", [18, 28])
def test_texture_that_changes_below_the_noise_is_no_worse(contrast):
    rng, sigma = np.random.default_rng(3), 40.0
    textures = [gaussian_filter(rng.normal(size=(128, 160)), 2) for _ in range(6)]
    clean = [(128 + contrast / each.std() * each).clip(0, 255) for each in textures]
    noisy = [np.rint(each + rng.normal(0, sigma, each.shape)).clip(0, 255).astype(np.uint8) for each in clean]
    alone, over_time = measure_gain(noisy, clean, *(Enhancer(sigma=sigma, temporal=each) for each in (False, True)))
    assert over_time > alone - 0.05


@pytest.mark.parametrize("frames", [STILL, [frame[..., 0] for frame in STILL]], ids=["colour", "grey"])
def test_a_frame_after_a_cut_is_that_frame_alone(frames):
    noisy = add_noise(frames[:2]) + [frame[::-1, ::-1] for frame in add_noise(frames[:2], 1)]
    results = list(process_frames(noisy, OVER_TIME))
    for number in (0, 2):
        np.testing.assert_array_equal(results[number], ALONE.apply(noisy[number]))
    for number in (1, 3):
        assert (results[number] != ALONE.apply(noisy[number])).any()


def test_a_sequence_in_parts_is_that_in_one_piece():
    noisy = add_noise(MOVING)
    whole = list(process_frames(noisy, OVER_TIME))
    sequence = Sequence(OVER_TIME, get_engine("cpu"))
    parts = [sequence.apply(frame) for part in (noisy[:2], noisy[2:3], noisy[3:]) for frame in part]
    np.testing.assert_array_equal(whole, parts)


def test_videos_at_the_same_time_do_not_mix():
    pipeline = Pipeline(OVER_TIME)
    first, second = add_noise(STILL[:4]), add_noise(MOVING[:4], 1)
    mixed = list(zip(pipeline.process(iter(first)), pipeline.process(iter(second)), strict=True))
    np.testing.assert_array_equal([each for each, _ in mixed], list(pipeline.process(first)))
    np.testing.assert_array_equal([each for _, each in mixed], list(pipeline.process(second)))


def test_numbers_say_what_follows():
    noisy = add_noise(STILL)
    sequence = Sequence(OVER_TIME, get_engine("cpu"))
    results = [sequence.apply(frame, number) for number, frame in enumerate(noisy[:4])]
    np.testing.assert_array_equal(results, list(process_frames(noisy[:4], OVER_TIME)))
    np.testing.assert_array_equal(sequence.apply(noisy[3], 3), results[3])
    assert (sequence.apply(noisy[5], 5) != ALONE.apply(noisy[5])).any()
    np.testing.assert_array_equal(sequence.apply(noisy[0], 0), ALONE.apply(noisy[0]))
    np.testing.assert_array_equal(sequence.apply(noisy[4], 40), ALONE.apply(noisy[4]))


@pytest.mark.parametrize("sigma", [SIGMA, None])
@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (7, 5), (16, 15), (1, 1, 3), (17, 33, 3)])
def test_frames_of_any_size(shape, sigma):
    noisy = add_noise([np.full(shape, 100)] * 4)
    results = list(process_frames(noisy, Enhancer(Denoise(), sigma=sigma, temporal=True)))
    assert [(each.shape, each.dtype) for each in results] == [(shape, np.uint8)] * 4


@pytest.mark.parametrize("colour", ["opponents", "ycbcr", "rgb"])
@pytest.mark.parametrize("sigma", [None, (SIGMA, SIGMA, 0.0)])
def test_channels_without_noise_do_not_keep_others_from_being_averaged(colour, sigma):
    clean = [np.repeat(each[..., :1], 3, -1) for each in STILL]
    noisy = add_noise([each[..., :1] for each in clean])
    noisy = [np.concatenate([a, a, a if sigma is None else b[..., 2:]], -1) for a, b in zip(noisy, clean, strict=True)]
    enhancers = [Enhancer(sigma=sigma, colour=colour, temporal=temporal) for temporal in (False, True)]
    alone, over_time = measure_gain(noisy, clean, *enhancers)
    assert over_time > alone + 1


def test_another_shape_begins_anew():
    noisy = add_noise(STILL[:2]) + [frame[:64] for frame in add_noise(STILL[:2], 1)]
    results = list(process_frames(noisy, OVER_TIME))
    np.testing.assert_array_equal(results[2], ALONE.apply(noisy[2]))


def test_frames_are_averaged_without_any_stage():
    noisy = add_noise(STILL)
    *_, last = process_frames(noisy, Enhancer((), sigma=SIGMA, temporal=True))
    assert measure_psnr(last, STILL[-1], 255) > measure_psnr(noisy[-1], STILL[-1], 255) + 5


@pytest.mark.parametrize("enhancer", [
    Enhancer(Denoise("wiener"), sigma=SIGMA, temporal=True),
    Enhancer([Denoise("bayes", "db2", 2), Blur(0.5)], temporal=True),
    Enhancer(Denoise(form="dual-tree"), sigma=SIGMA, temporal=True),
    Enhancer(noise="poisson:gain=4", temporal=True),
], ids=str)  # fmt: skip
def test_any_chain_can_follow(enhancer):
    noisy = add_noise(STILL)
    *_, last = process_frames(noisy, enhancer)
    assert measure_psnr(last, STILL[-1], 255) > measure_psnr(noisy[-1], STILL[-1], 255) + 6


def test_deep_frames_are_averaged_too():
    noisy = add_noise(STILL)
    deep = [frame.astype(np.uint16) * 257 for frame in noisy]
    enhancer = Enhancer(Denoise(), sigma=SIGMA * 257, temporal=True)
    *_, last = process_frames(deep, enhancer)
    *_, expected = process_frames(noisy, OVER_TIME)
    np.testing.assert_allclose(last / 257, expected, atol=1.1)


@pytest.fixture
def device():
    try:
        return get_engine("opencl")
    except (MissingExtraError, NoDeviceError) as missing:
        pytest.skip(f"{missing}")


@pytest.mark.opencl
def test_a_device_does_what_the_cpu_does(device):
    noisy = add_noise([frame[:64, :80] for frame in STILL[:4]])
    results = [np.stack(list(process_frames(noisy, OVER_TIME, engine=each))).astype(int) for each in (device, "cpu")]
    assert np.abs(results[0] - results[1]).max() <= 1


@pytest.mark.opencl
def test_planes_of_a_device_are_those_of_the_cpu(device):
    planes = [(each[..., 1], each[::2, ::2, 0], each[::2, ::2, 2]) for each in add_noise(MOVING[:4])]
    frames = [join_planes([plane[:64, :80] for plane in each], (2, 2)) for each in planes]
    enhancer = Enhancer(Denoise(level=2), sigma=SIGMA, temporal=True)
    found, expected = (
        np.stack(list(PlaneWork(enhancer, (2, 2), engine=each)(iter(frames)))) for each in (device, "cpu")
    )
    assert np.abs(found.astype(int) - expected).max() <= 1


@pytest.mark.opencl
def test_work_that_is_recorded_takes_all_it_needs(device, monkeypatch):
    frames = add_noise([frame[:64, :80, 0] for frame in MOVING[:4]])
    expected = list(process_frames(frames, OVER_TIME, engine=device))
    kinds = []

    def find(self, key, work, arrays):
        kinds.append(key[0])
        return lambda given: list(work(*given))

    monkeypatch.setattr(Replays, "find", find)
    np.testing.assert_array_equal(list(process_frames(frames, OVER_TIME, engine=device)), expected)
    assert set(kinds) == {"follow", "finish"}


@pytest.mark.opencl
def test_frames_of_a_device_stay_there(device):
    sequence, expected = Sequence(OVER_TIME, device), Sequence(OVER_TIME, device)
    for frame in add_noise([frame[:64, :80] for frame in STILL[:3]]):
        result = sequence.apply(device.device.upload(frame))
        assert device.device.owns(result)
        np.testing.assert_array_equal(device.device.download(result), expected.apply(frame))


@pytest.mark.parametrize("info", [
    SourceInfo("volume", (48, 64), np.dtype("int16")),
    SourceInfo("sequence", (48, 64, 3), np.dtype("float32")),
], ids=["volume", "float"])  # fmt: skip
def test_what_cannot_be_averaged_is_refused(info):
    with pytest.raises(ArgumentError, match="temporal=True averages frames"):
        choose_work(info, OVER_TIME)


def test_every_plane_of_a_file_is_clearer(tmp_path, write_planes, read_planes):
    bright = STILL[0].mean(axis=2)
    clean = [bright, *(128 + 0.5 * (STILL[0][::2, ::2, channel] - bright[::2, ::2]) for channel in (2, 0))]
    noisy = [
        [*planes] for planes in zip(*(add_noise([plane] * 6, seed) for seed, plane in enumerate(clean)), strict=True)
    ]
    source = write_planes(tmp_path / "noisy.mkv", noisy, "yuv420p")
    found = []
    for name, options in (("alone.mkv", []), ("temporal.mkv", ["--temporal"])):
        command = ["denoise", str(source), str(tmp_path / name), "--sigma", str(SIGMA), "--codec", "ffv1", *options]
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
        planes = read_planes(tmp_path / name)[-1]
        found.append([measure_psnr(a, b, 255) for a, b in zip(planes, clean, strict=True)])
    gains = np.subtract(found[1], found[0])
    assert gains[0] > 1.5
    assert (gains[1:] > 0.8).all()


@pytest.mark.parametrize("temporal", [False, True])
def test_noise_of_chroma_is_found_as_well_as_told(temporal):
    bright = STILL[0].mean(axis=2)
    clean = [bright, *(128 + 0.5 * (STILL[0][::2, ::2, channel] - bright[::2, ::2]) for channel in (2, 0))]
    planes = [add_noise([plane] * 5, seed) for seed, plane in enumerate(clean)]
    frames = [join_planes(each, (2, 2)) for each in zip(*planes, strict=True)]
    found = []
    for sigma in (SIGMA, None):
        *_, last = PlaneWork(Enhancer(sigma=sigma, temporal=temporal), (2, 2))(iter(frames))
        parts = [take_plane(last, channel, (2, 2)) for channel in range(3)]
        found.append([measure_psnr(part, plane, 255) for part, plane in zip(parts, clean, strict=True)])
    assert np.min(found[0]) > 28
    assert np.abs(np.subtract(*found)).max() < 0.5


def test_an_error_of_the_source_comes_after_the_frames_before_it():
    def fail():
        yield from STILL[:3]
        raise OSError("no more")

    results = []
    with pytest.raises(OSError, match="no more"):
        results.extend(PlaneWork(OVER_TIME, (2, 2))(fail()))
    # extend keeps what came before
    assert len(results) == 3


def test_the_page_plays_as_a_file_is_enhanced():
    settings = {"filter": "bivariate", "temporal": True, "noise_level": SIGMA, "level": 4}
    resolved = resolve_settings({"tool": "enhance", **settings})
    noisy = add_noise(STILL[:4])
    work = resolved.tool.prepare(resolved.settings, Inputs(noisy[0].shape, get_engine("cpu"), lambda name: noisy[0]))
    shown = [work(frame, number).images[0][1] for number, frame in enumerate(noisy)]
    expected = process_frames(noisy, Enhancer(Denoise(level=4), sigma=SIGMA, temporal=True))
    np.testing.assert_array_equal(shown, list(expected))
    # the same frame again, as when the page is drawn anew, and then the first one
    np.testing.assert_array_equal(work(noisy[3], 3).images[0][1], shown[3])
    np.testing.assert_array_equal(work(noisy[0], 0).images[0][1], shown[0])
    assert " --temporal" in resolved.tool.format_equivalent(resolved.settings, "in.mp4").command
    assert "--temporal true" not in resolved.tool.format_equivalent(resolved.settings, "in.mp4").command


def test_a_video_of_the_command_line_is_what_python_makes(tmp_path):
    result = CliRunner().invoke(app, ["denoise", str(data.clip_path()), str(tmp_path / "out.mkv"), "--temporal",
                                      "--trim", "0:0.2", "--codec", "ffv1"])  # fmt: skip
    assert result.exit_code == 0, result.output
    with open_source(tmp_path / "out.mkv") as source:
        assert sum(1 for _ in source) == 5


def test_a_description_keeps_it():
    assert Enhancer.from_toml(OVER_TIME.to_toml()) == OVER_TIME
    assert "average over time" in str(OVER_TIME)


@pytest.mark.parametrize("frames", [STILL, CHANGING], ids=["still and in colour", "changing and grey"])
def test_a_frame_may_be_overwritten_before_it_is_finished(frames):
    engine = get_engine("cpu")
    expected, found = Sequence(OVER_TIME, engine), Sequence(OVER_TIME, engine)
    for pixels in add_noise(frames)[:3]:
        whole = expected.apply(pixels.copy())
        finish = found.follow(pixels)
        pixels[...] = 0
        np.testing.assert_array_equal(finish(), whole)
