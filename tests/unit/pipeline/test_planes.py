"""Planes of Y'CbCr video: each has its own size and its own noise, and so has each field."""

import numpy as np
import pytest
from typer.testing import CliRunner

from subband import data
from subband.cli import app
from subband.enhance import Denoise, Enhancer, Gaussian
from subband.media import open_sink, open_source
from subband.pipeline import add_noise_to_file, enhance_file
from subband.pipeline.planes import CHROMA, PlaneWork, join_planes, take_plane

STEPS = {"yuv420p": (2, 2), "yuv422p": (1, 2), "yuv444p": (1, 1)}
SIGMA = 20


def draw_planes(pixel_format, count=3):
    """Return frames of the photograph as planes, each drawn at its own size."""
    picture = data.photograph()[40:296, 60:380].astype(float)
    bright = picture.mean(axis=2)
    chroma = [128 + 0.5 * (picture[..., channel] - bright) for channel in (2, 0)]
    down, across = STEPS[pixel_format]
    shrunk = [plane.reshape(256 // down, down, 320 // across, across).mean((1, 3)) for plane in chroma]
    return [[np.rint(np.roll(plane, number, 1)) for plane in (bright, *shrunk)] for number in range(count)]


def add_noise(frames):
    generator = np.random.default_rng(7)
    return [
        [np.clip(np.rint(plane + generator.normal(0, SIGMA, plane.shape)), 0, 255).astype(np.uint8) for plane in planes]
        for planes in frames
    ]


def measure_psnr(frames, others):
    """Return the PSNR of each plane."""
    errors = [
        np.mean([(a[k].astype(float) - b[k]) ** 2 for a, b in zip(frames, others, strict=True)]) for k in (0, 1, 2)
    ]
    return 10 * np.log10(255**2 / np.array(errors))


def run(*arguments):
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize("pixel_format", STEPS)
@pytest.mark.parametrize("options", [(), ("--sigma", SIGMA)])
def test_noise_of_every_plane_is_removed(tmp_path, write_planes, read_planes, pixel_format, options):
    clean = draw_planes(pixel_format)
    noisy = write_planes(tmp_path / "noisy.mkv", add_noise(clean), pixel_format)
    run("denoise", noisy, tmp_path / "clean.mkv", *options)
    before, after = (measure_psnr(clean, read_planes(tmp_path / name)) for name in ("noisy.mkv", "clean.mkv"))
    assert (before < 23).all()
    assert after[0] > 27
    assert (after[1:] > 33).all()


def test_given_sigma_is_no_worse_than_a_measured_one(tmp_path, write_planes, read_planes):
    clean = draw_planes("yuv420p")
    noisy = write_planes(tmp_path / "noisy.mkv", add_noise(clean), "yuv420p")
    run("denoise", noisy, tmp_path / "blind.mkv")
    run("denoise", noisy, tmp_path / "given.mkv", "--sigma", SIGMA)
    blind, given = (measure_psnr(clean, read_planes(tmp_path / f"{name}.mkv")) for name in ("blind", "given"))
    np.testing.assert_allclose(given, blind, atol=0.5)


def test_images_of_a_video_lose_the_noise_of_chroma_too(tmp_path, write_planes):
    clean = draw_planes("yuv420p", 2)
    write_planes(tmp_path / "clean.mkv", [[plane.astype(np.uint8) for plane in planes] for planes in clean], "yuv420p")
    noisy = write_planes(tmp_path / "noisy.mkv", add_noise(clean), "yuv420p")
    run("denoise", noisy, tmp_path / "frame%02d.png")
    run("denoise", noisy, tmp_path / "better.mkv")
    for number in range(2):
        with open_source(tmp_path / f"frame{number:02d}.png") as source, open_source(tmp_path / "better.mkv") as video:
            image, frame = next(iter(source)), list(video)[number]
        np.testing.assert_array_equal(image.pixels, frame.pixels)


def test_added_noise_has_its_strength_in_every_plane(tmp_path, write_planes, read_planes):
    flat = [[np.full(shape, 120, np.uint8) for shape in ((96, 128), (48, 64), (48, 64))]]
    source = write_planes(tmp_path / "flat.mkv", flat, "yuv420p")
    run("noise", source, tmp_path / "noisy.mkv", "--sigma", 12, "--seed", 3)
    (planes,) = read_planes(tmp_path / "noisy.mkv")
    np.testing.assert_allclose([plane.std() for plane in planes], 12, rtol=0.06)
    with open_source(source, colours="ycbcr") as opened:
        add_noise_to_file(opened, open_sink(tmp_path / "again.mkv", opened.info), Gaussian(12.0), seed=3)
    for one, other in zip(planes, read_planes(tmp_path / "again.mkv")[0], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("shape", [(48, 64), (47, 63)])
@pytest.mark.parametrize("steps", [(2, 2), (1, 2), (4, 4)])
def test_planes_come_apart_and_together(shape, steps):
    generator = np.random.default_rng(0)
    small = tuple(-(-size // step) for size, step in zip(shape, steps, strict=True))
    planes = tuple(generator.integers(0, 256, size, dtype=np.uint8) for size in (shape, small, small))
    pixels = join_planes(planes, steps)
    assert pixels.shape == (*shape, 3)
    for channel in range(3):
        np.testing.assert_array_equal(take_plane(pixels, channel, steps), planes[channel])
    chroma = take_plane(pixels, CHROMA, steps)
    for channel in (1, 2):
        np.testing.assert_array_equal(chroma[..., channel - 1], planes[channel])
    # every channel is a piece of memory, also of frames whose channels lie beside each other
    assert all(pixels[..., channel].flags.c_contiguous for channel in range(3))
    assert all(chroma[..., channel].flags.c_contiguous for channel in range(2))
    np.testing.assert_array_equal(take_plane(pixels.copy(order="C"), CHROMA, steps), chroma)


@pytest.mark.parametrize("engine", ["cpu", pytest.param("opencl", marks=pytest.mark.opencl)])
def test_an_error_of_the_source_comes_after_the_frames_before_it(engine):
    def frames():
        for _ in range(5):
            yield np.full((32, 48, 3), 90, np.uint8)
        raise OSError("gone")

    results = PlaneWork(Enhancer(Denoise(level=1)), (2, 2), engine=engine)(frames())
    assert [next(results).shape for _ in range(5)] == [(32, 48, 3)] * 5
    with pytest.raises(OSError, match="gone"):
        next(results)


def test_levels_that_fit_the_brightness_are_fewer_for_chroma(tmp_path, write_planes):
    source = write_planes(tmp_path / "a.mkv", add_noise(draw_planes("yuv420p", 1)), "yuv420p")
    assert enhance_file(source, tmp_path / "b.mkv", Enhancer(Denoise(level=5))).frames == 1


@pytest.mark.parametrize("order", ["top", "bottom"])
@pytest.mark.parametrize(
    ("pixel_format", "name", "codec"), [("yuv420p", "out.mkv", "ffv1"), ("yuv422p", "out.mov", "prores_ks")]
)
def test_fields_of_interlaced_video_are_treated_apart(tmp_path, av, write_planes, order, pixel_format, name, codec):
    # one field is dark and the other bright: rows beside each other have nothing in common
    sizes = [(64, 96), (64 // STEPS[pixel_format][0], 48), (64 // STEPS[pixel_format][0], 48)]
    generator = np.random.default_rng(1)
    clean, noisy = [], []
    for size in sizes:
        plane = np.full(size, 60.0)
        plane[1::2] = 180
        clean.append(plane)
        noisy.append(np.rint(plane + generator.normal(0, 10, size)).astype(np.uint8))
    source = write_planes(tmp_path / "in.mkv", [noisy] * 3, pixel_format, field_order=order)
    run("denoise", source, tmp_path / name, "--codec", codec)
    with av.open(str(tmp_path / name)) as container:
        frames = list(container.decode(video=0))
    assert all(frame.interlaced_frame for frame in frames)
    with open_source(tmp_path / name, colours="ycbcr") as result:
        assert result.info.field_order == order
        first = next(iter(result))
    assert first.metadata["fields"] == order
    scale = 1 if first.pixels.dtype == np.uint8 else 256
    for channel, plane in enumerate(clean):
        ours = first.pixels[..., channel] / scale
        for field in (0, 1):
            assert ours[field::2].mean() == pytest.approx(plane[field, 0], abs=1.5)
            assert np.sqrt(np.mean((ours[field::2] - plane[field, 0]) ** 2)) < 6


@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv422p"])
def test_interlaced_video_without_stages_is_copied_bit_by_bit(tmp_path, write_planes, read_planes, pixel_format):
    planes = add_noise(draw_planes(pixel_format, 2))
    source = write_planes(tmp_path / "in.mkv", planes, pixel_format, field_order="top")
    enhance_file(source, tmp_path / "out.mkv", Enhancer(()))
    for before, after in zip(planes, read_planes(tmp_path / "out.mkv"), strict=True):
        for one, other in zip(before, after, strict=True):
            np.testing.assert_array_equal(one, other)
