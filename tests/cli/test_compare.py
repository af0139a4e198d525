"""``subband compare`` and ``subband noise``."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from subband import data
from subband.cli import app
from subband.quality import measure_psnr, measure_ssim

CLEAN = data.photograph()[100:164, 100:180]
NOISY = np.clip(CLEAN + np.random.default_rng(0).normal(0, 20, CLEAN.shape), 0, 255).astype(np.uint8)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def save(path, pixels):
    Image.fromarray(pixels).save(path)
    return path


@pytest.fixture
def pair(tmp_path):
    return save(tmp_path / "clean.png", CLEAN), save(tmp_path / "noisy.png", NOISY)


def test_pictures(pair, tmp_path):
    result = run("compare", *pair, "--json")
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert record["psnr"] == pytest.approx(measure_psnr(NOISY, CLEAN, 255))
    assert record["ssim"] == pytest.approx(measure_ssim(NOISY, CLEAN, 255))
    assert record["largest"] == np.abs(NOISY.astype(int) - CLEAN).max()
    assert not record["identical"]
    assert f"{record['psnr']:.2f} dB" in run("compare", *pair).output


def test_identical(pair):
    record = json.loads(run("compare", pair[0], pair[0], "--json").stdout)
    assert record["identical"]
    assert record["psnr"] is None
    assert record["largest"] == 0
    assert "identical" in run("compare", pair[0], pair[0]).output


def test_picture_side_by_side(pair, tmp_path):
    target = tmp_path / "side.png"
    assert run("compare", *pair, "--picture", target).exit_code == 0
    joined = np.asarray(Image.open(target))
    assert joined.shape == (64, 3 * 80 + 16, 3)
    np.testing.assert_array_equal(joined[:, :80], CLEAN)
    np.testing.assert_array_equal(joined[:, 88:168], NOISY)
    expected = np.clip(np.rint(127.5 + 4 * (NOISY.astype(float) - CLEAN)), 0, 255)
    np.testing.assert_array_equal(joined[:, 176:], expected)
    result = run("compare", *pair, "--picture", target)
    assert result.exit_code == 2
    assert "--force" in result.stderr
    assert run("compare", *pair, "--picture", target, "--force").exit_code == 0


def test_depths_are_compared_by_their_white(tmp_path):
    grey = np.ascontiguousarray(CLEAN[..., 0])
    shallow, deep = save(tmp_path / "a.png", grey), save(tmp_path / "b.png", grey.astype(np.uint16) * 257)
    record = json.loads(run("compare", shallow, deep, "--json").stdout)
    assert record["largest"] < 1e-9


def test_sizes_and_colours_that_differ(pair, tmp_path):
    small = save(tmp_path / "small.png", CLEAN[:50])
    result = run("compare", pair[0], small)
    assert result.exit_code == 2
    assert "80 × 64" in result.stderr
    assert "80 × 50" in result.stderr
    grey = save(tmp_path / "grey.png", np.ascontiguousarray(CLEAN[..., 0]))
    assert "in colour" in run("compare", pair[0], grey).stderr
    assert run("compare", pair[0], "missing.png").exit_code == 2


def test_film_frame_by_frame(tmp_path):
    for count, name in ((6, "six.mkv"), (4, "four.mkv")):
        assert run("filter", f"test:64x48@25?count={count}", tmp_path / name).exit_code == 0
    assert run("noise", tmp_path / "six.mkv", tmp_path / "noisy.mkv", "--sigma", 10, "--seed", 1).exit_code == 0
    record = json.loads(run("compare", tmp_path / "six.mkv", tmp_path / "noisy.mkv", "--json", "--no-ssim").stdout)
    assert len(record["frames"]) == 6
    errors = [10 ** (-frame["psnr"] / 10) for frame in record["frames"]]
    assert record["psnr"] == pytest.approx(-10 * np.log10(np.mean(errors)))
    assert record["ssim"] is None
    result = run("compare", tmp_path / "six.mkv", tmp_path / "four.mkv")
    assert result.exit_code == 0
    assert "goes on after the 4 frames" in result.output


def test_volumes_count_from_their_range(tmp_path):
    volume = np.random.default_rng(0).normal(0, 1, (5, 16, 12)).astype(np.float32)
    np.save(tmp_path / "a.npy", volume * 1000)
    np.save(tmp_path / "b.npy", volume * 1000 + 1)
    record = json.loads(run("compare", tmp_path / "a.npy", tmp_path / "b.npy", "--json").stdout)
    assert record["psnr"] == pytest.approx(20 * np.log10(np.ptp(volume) * 1000), abs=0.01)
    assert len(record["frames"]) == 5


@pytest.mark.parametrize(
    ("options", "spread"),
    [
        (("--sigma", 10), 10),
        ((), 20),
        (("--noise", "speckle", "--looks", 4), None),
        (("--noise", "log-speckle"), None),
        (("--noise", "poisson", "--gain", 4), 20),
        (("--noise", "poisson", "--gain", 4, "--sigma", 10), (20**2 + 10**2) ** 0.5),
    ],
)
def test_noise(tmp_path, options, spread):
    source = save(tmp_path / "grey.png", np.full((96, 96), 100, np.uint8))
    for name in ("one.png", "other.png"):
        result = run("noise", source, tmp_path / name, "--seed", 5, *options)
        assert result.exit_code == 0, result.output
    one, other = (np.asarray(Image.open(tmp_path / name)).astype(float) for name in ("one.png", "other.png"))
    np.testing.assert_array_equal(one, other)
    assert one.std() > 5
    if spread is not None:
        assert one.std() == pytest.approx(spread, rel=0.08)


def test_noise_is_as_strong_at_every_depth(tmp_path):
    source = save(tmp_path / "deep.png", np.full((96, 96), 30000, np.uint16))
    assert run("noise", source, tmp_path / "out.png", "--sigma", 10, "--seed", 1).exit_code == 0
    assert np.asarray(Image.open(tmp_path / "out.png")).std() == pytest.approx(2570, rel=0.08)


def test_noise_without_a_seed_is_another_each_time(tmp_path):
    source = save(tmp_path / "grey.png", np.full((32, 32), 100, np.uint8))
    for name in ("one.png", "other.png"):
        assert run("noise", source, tmp_path / name).exit_code == 0
    assert (tmp_path / "one.png").read_bytes() != (tmp_path / "other.png").read_bytes()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--noise", "gausian"), "did you mean 'gaussian'"),
        (("--noise", "speckle", "--sigma", 3), "--looks"),
        (("--sigma", -1), "sigma"),
    ],
)
def test_noise_errors(tmp_path, options, words):
    source = save(tmp_path / "grey.png", np.full((32, 32), 100, np.uint8))
    result = run("noise", source, tmp_path / "out.png", *options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not (tmp_path / "out.png").exists()


def test_noise_json(tmp_path):
    source = save(tmp_path / "grey.png", np.full((32, 32), 100, np.uint8))
    record = json.loads(run("noise", source, tmp_path / "out.png", "--json", "--seed", 3).stdout)
    assert record["model"] == {"model": "gaussian", "sigma": 20.0}
    assert record["seed"] == 3
