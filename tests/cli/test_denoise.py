"""``subband denoise``: files, folders and patterns; what is refused, and with which exit code."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from subband import data
from subband.cli import app
from subband.enhance import Correlated, Denoise, Enhancer
from subband.quality import measure_psnr

CLEAN = data.photograph()[100:164, 100:180]
NOISY = np.clip(CLEAN + np.random.default_rng(0).normal(0, 20, CLEAN.shape), 0, 255).astype(np.uint8)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def save(path, pixels=NOISY):
    path.parent.mkdir(exist_ok=True)
    Image.fromarray(pixels).save(path)
    return path


def load(path):
    return np.asarray(Image.open(path))


@pytest.fixture
def noisy(tmp_path):
    return save(tmp_path / "noisy.png")


def test_picture_becomes_better(noisy, tmp_path):
    result = run("denoise", noisy, tmp_path / "clean.png")
    assert result.exit_code == 0, result.output
    assert "clean.png" in result.output
    clean = load(tmp_path / "clean.png")
    assert measure_psnr(clean, CLEAN, 255) > measure_psnr(NOISY, CLEAN, 255) + 3
    np.testing.assert_allclose(clean.astype(float), Enhancer(Denoise()).apply(NOISY).astype(float), atol=1)


@pytest.mark.parametrize(
    ("options", "enhancer"),
    [
        (("--method", "bayes"), Enhancer(Denoise("bayes"))),
        (("-m", "visu", "-w", "haar", "-l", 2), Enhancer(Denoise("visu", "haar", 2))),
        (("--sigma", 30), Enhancer(Denoise(), sigma=30.0)),
        (("--strength", 0.5), Enhancer(Denoise(strength=0.5))),
        (("--form", "decimated"), Enhancer(Denoise(form="decimated"))),
        (("--colour", "rgb"), Enhancer(Denoise(), colour="rgb")),
        (("--noise", "speckle"), Enhancer(Denoise(), noise="speckle")),
        (("--engine", "reference", "--level", 1), Enhancer(Denoise(level=1))),
        (("--level", 0), Enhancer(())),
    ],
)
def test_options(noisy, tmp_path, options, enhancer):
    result = run("denoise", noisy, tmp_path / "clean.png", *options)
    assert result.exit_code == 0, result.output
    np.testing.assert_allclose(load(tmp_path / "clean.png").astype(float), enhancer.apply(NOISY).astype(float), atol=1)


def test_the_model_of_noise_that_was_chosen_is_told(noisy, tmp_path):
    result = run("denoise", noisy, tmp_path / "a.png", "--noise", "auto")
    assert result.exit_code == 0, result.output
    chain, report = Enhancer(Denoise(), noise="auto").find_noise(NOISY)
    assert f"{report.kind} noise (" in " ".join(result.output.split())
    np.testing.assert_allclose(load(tmp_path / "a.png").astype(float), chain.apply(NOISY).astype(float), atol=1)
    (entry,) = json.loads(run("denoise", noisy, tmp_path / "b.png", "--noise", "auto", "--json").stdout)["files"]
    assert entry["noise"]["kind"] == report.kind
    assert entry["noise"]["sigma"] == pytest.approx(report.sigma, abs=1e-5)
    assert "noise" not in json.loads(run("denoise", noisy, tmp_path / "c.png", "--json").stdout)["files"][0]


def test_a_dark_frame_tells_correlated_noise(noisy, tmp_path):
    dark = save(tmp_path / "dark.png", np.random.default_rng(0).normal(40, 12, (64, 64)).astype(np.uint8))
    assert run("denoise", noisy, tmp_path / "a.png", "--dark", dark).exit_code == 0
    expected = Enhancer(Denoise(), noise=Correlated.from_dark(load(dark))).apply(NOISY)
    np.testing.assert_allclose(load(tmp_path / "a.png").astype(float), expected.astype(float), atol=1)
    result = run("denoise", noisy, tmp_path / "b.png", "--dark", dark, "--noise", "speckle")
    assert result.exit_code == 2
    assert "leave one out" in result.stderr


def test_settings_of_a_noise_model(noisy, tmp_path):
    assert run("denoise", noisy, tmp_path / "a.png", "--noise", "speckle:looks=4,kind=gamma").exit_code == 0
    result = run("denoise", noisy, tmp_path / "b.png", "--noise", "speckle:luks=4")
    assert result.exit_code == 2
    assert "did you mean 'looks'" in result.stderr


def test_sigma_counts_as_for_8_bits_whatever_the_depth(tmp_path):
    grey = NOISY[..., 1]
    save(tmp_path / "shallow.png", np.ascontiguousarray(grey))
    save(tmp_path / "deep.png", grey.astype(np.uint16) * 257)
    for name in ("shallow", "deep"):
        assert run("denoise", tmp_path / f"{name}.png", tmp_path / f"{name}-out.png", "--sigma", 20).exit_code == 0
    shallow, deep = (load(tmp_path / f"{name}-out.png").astype(float) for name in ("shallow", "deep"))
    np.testing.assert_allclose(deep / 257, shallow, atol=0.51)


@pytest.mark.parametrize("view", ["analysis", "filtered-analysis"])
def test_view(noisy, tmp_path, view):
    assert run("denoise", noisy, tmp_path / "view.png", "--view", view, "-l", 2).exit_code == 0
    np.testing.assert_array_equal(load(tmp_path / "view.png"), Enhancer(Denoise(level=2)).view(NOISY, view))


def test_no_operation_is_bit_exact(tmp_path):
    for name, pixels in (
        ("colour.png", NOISY),
        ("deep.png", NOISY[..., 0].astype(np.uint16) * 251),
        ("grey.tiff", np.ascontiguousarray(NOISY[..., 0])),
        ("colour.bmp", NOISY),
    ):
        save(tmp_path / name, pixels)
        assert run("filter", tmp_path / name, tmp_path / "out" / name).exit_code == 2  # the folder is not there
        result = run("filter", tmp_path / name, tmp_path / f"copy-{name}")
        assert result.exit_code == 0, result.output
        np.testing.assert_array_equal(load(tmp_path / f"copy-{name}"), pixels)


def test_folder_to_folder(tmp_path):
    for name in ("a.png", "b.bmp"):
        save(tmp_path / "in" / name)
    (tmp_path / "in" / "notes.txt").write_text("not an image")
    (tmp_path / "in" / "c.part.png").write_bytes(b"unfinished")
    result = run("denoise", tmp_path / "in", tmp_path / "new" / "out", "--jobs", 2)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in (tmp_path / "new" / "out").iterdir()) == ["a.png", "b.bmp"]


def test_pattern_and_several_files_with_another_ending(tmp_path, monkeypatch):
    for name in ("a1.png", "a2.png", "b1.png"):
        save(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert run("denoise", "a*.png", "b1.png", "out", "--ending", "bmp").exit_code == 0
    assert sorted(path.name for path in Path("out").iterdir()) == ["a1.bmp", "a2.bmp", "b1.bmp"]
    assert run("denoise", tmp_path / "b?.png", "absolute").exit_code == 0
    assert [path.name for path in Path("absolute").iterdir()] == ["b1.png"]
    result = run("denoise", "z*.png", "out")
    assert result.exit_code == 2
    assert "no file is like" in result.stderr


def test_a_file_that_is_named_twice_is_done_once(tmp_path):
    save(tmp_path / "in" / "a.png")
    result = run("denoise", tmp_path / "in", tmp_path / "in" / "a.png", tmp_path / "in" / "*.png", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert result.output.count("a.png") == 1


def test_same_name_twice_is_refused(tmp_path):
    save(tmp_path / "one" / "a.png")
    save(tmp_path / "two" / "a.png")
    result = run("denoise", tmp_path / "one" / "a.png", tmp_path / "two" / "a.png", tmp_path / "out")
    assert result.exit_code == 2
    assert "would both become" in result.stderr
    assert not (tmp_path / "out").exists()


def test_one_bad_file_does_not_keep_the_others(tmp_path):
    save(tmp_path / "in" / "a.png")
    save(tmp_path / "in" / "c.png")
    (tmp_path / "in" / "b.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    result = run("denoise", tmp_path / "in", tmp_path / "out")
    assert result.exit_code == 2
    assert "b.png" in result.stderr
    assert "1 of 3 files" in result.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.png", "c.png"]


def test_dry_run_writes_nothing(noisy, tmp_path):
    save(tmp_path / "in" / "a.png")
    result = run("denoise", tmp_path / "in", noisy, tmp_path / "out", "--dry-run")
    assert result.exit_code == 0
    assert result.stdout.count("->") == 2
    result = run("denoise", noisy, tmp_path / "out.png", "--dry-run", "--json")
    (entry,) = json.loads(result.stdout)["files"]
    assert entry == {"source": str(noisy), "output": str(tmp_path / "out.png"), "replaces": False}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "noisy.png"]


def test_json(noisy, tmp_path):
    result = run("denoise", noisy, tmp_path / "out.png", "--json", "-l", 2)
    assert result.exit_code == 0
    record = json.loads(result.stdout)
    assert Enhancer.from_dict(record["chain"]) == Enhancer(Denoise(level=2))
    (entry,) = record["files"]
    assert entry["frames"] == 1
    assert entry["output"] == str(tmp_path / "out.png")
    assert sum(entry["shares"].values()) == pytest.approx(1, abs=0.01)


def test_json_of_an_error(noisy, tmp_path):
    result = run("denoise", noisy, tmp_path / "out.png", "--json", "-l", 40)
    assert result.exit_code == 2
    assert "too large" in json.loads(result.stdout)["files"][0]["error"]
    assert "too large" in result.stderr


def test_existing_output_needs_force(noisy, tmp_path):
    (tmp_path / "out.png").write_bytes(b"mine")
    result = run("denoise", noisy, tmp_path / "out.png")
    assert result.exit_code == 2
    assert "--force" in result.stderr
    assert (tmp_path / "out.png").read_bytes() == b"mine"
    assert run("denoise", noisy, tmp_path / "out.png", "--force").exit_code == 0
    assert load(tmp_path / "out.png").shape == NOISY.shape


def test_result_never_replaces_its_source(noisy):
    result = run("denoise", noisy, noisy, "--force")
    assert result.exit_code == 2
    assert "its own result" in result.stderr
    np.testing.assert_array_equal(load(noisy), NOISY)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("{noisy}",), "IN... OUT"),
        ((), "IN... OUT"),
        (("missing.png", "out.png"), "missing.png"),
        (("{noisy}", "no/such/folder/out.png"), "does not exist"),
        (("{noisy}", "out.xyz"), "out.xyz"),
        (("{noisy}", "out.png", "--method", "bays"), "did you mean 'bayes'"),
        (("{noisy}", "out.png", "--wavelet", "bd4"), "did you mean 'db4'"),
        (("{noisy}", "out.png", "--noise", "specle"), "did you mean 'speckle'"),
        (("{noisy}", "out.png", "--sigma", "-3"), "--sigma -3"),
        (("{noisy}", "out.png", "--view", "analysys"), "did you mean 'analysis'"),
        (("{noisy}", "out.png", "--engine", "gpu9"), "gpu9"),
        (("{noisy}", "out.png", "--colour", "lab"), "lab"),
        (("{noisy}", "out.png", "--level", "-1"), "--level"),
        (("{noisy}", "out.png", "--most-pixels", "100"), "more than the limit of 100"),
        (("{noisy}", "out.png", "--codec", "h264"), "apply to video only"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(noisy, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    result = run("denoise", *(argument.format(noisy=noisy) for argument in arguments))
    assert result.exit_code == 2
    assert words in result.stderr
    if result.stderr.startswith("error:"):
        assert result.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["noisy.png"]


def test_empty_folder(tmp_path):
    (tmp_path / "in").mkdir()
    result = run("denoise", tmp_path / "in", tmp_path / "out")
    assert result.exit_code == 2
    assert "holds no image" in result.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_unwritable_folder(noisy, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    result = run("denoise", noisy, tmp_path / "closed" / "out.png")
    assert result.exit_code == 2
    assert "may not be written" in result.stderr


def test_folder_that_takes_no_files(noisy):
    # a file system of the kernel's own, which not even the superuser can write to
    result = run("denoise", noisy, "/proc/out.png")
    assert result.exit_code == 2
    assert result.stderr.startswith("error:")
    assert result.stderr.count("\n") == 1


def test_a_file_where_a_folder_is_needed(noisy, tmp_path):
    save(tmp_path / "in" / "a.png")
    (tmp_path / "out").write_text("mine")
    result = run("denoise", tmp_path / "in", noisy, tmp_path / "out")
    assert result.exit_code == 2
    assert "need a folder" in result.stderr


def test_film_and_volume(tmp_path):
    result = run("denoise", "test:64x48@25?count=6", tmp_path / "film.mkv", "-l", 2)
    assert result.exit_code == 0, result.output
    assert "6 frames" in result.output
    assert run("denoise", tmp_path / "film.mkv", tmp_path / "film.mp4", "--preset", "ultrafast").exit_code == 0
    volume = np.random.default_rng(0).normal(1000, 50, (20, 24, 16)).astype(np.int16)
    np.save(tmp_path / "volume.npy", volume)
    result = run("denoise", tmp_path / "volume.npy", tmp_path / "out.npy", "--memory", 1, "-l", 1)
    assert result.exit_code == 0, result.output
    out = np.load(tmp_path / "out.npy")
    assert out.dtype == np.int16
    assert out.std() < 0.7 * volume.std()
    # a volume of three times that, with what does not work in blocks
    np.save(tmp_path / "large.npy", np.tile(volume, (10, 1, 1)))
    result = run("denoise", tmp_path / "large.npy", tmp_path / "small.npy", "--memory", 0.001, "-m", "bayes")
    assert result.exit_code == 2
    assert "'bayes' looks at all" in result.stderr
    result = run("denoise", tmp_path / "large.npy", tmp_path / "small.npy", "--memory", 0.001, "-l", 1)
    assert result.exit_code == 0, result.output


def test_damaged_film(tmp_path):
    assert run("denoise", "test:64x48@25?count=30", tmp_path / "film.mp4").exit_code == 0
    whole = (tmp_path / "film.mp4").read_bytes()
    (tmp_path / "cut.mp4").write_bytes(whole[: len(whole) // 2])
    result = run("denoise", tmp_path / "cut.mp4", tmp_path / "out.mp4")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert not list(tmp_path.glob("out*"))


@pytest.mark.filterwarnings("always::subband.media.DamageWarning")
def test_damaged_film_is_read_on_if_asked_to(tmp_path):
    assert run("filter", "test:64x48@25?count=30", tmp_path / "film.mkv").exit_code == 0
    whole = (tmp_path / "film.mkv").read_bytes()
    (tmp_path / "cut.mkv").write_bytes(whole[: len(whole) // 2])
    result = run("denoise", tmp_path / "cut.mkv", tmp_path / "out.mkv")
    assert result.exit_code == 2
    assert "ends too early" in result.stderr or "cut off" in result.stderr or "damaged" in result.stderr
    result = run("denoise", tmp_path / "cut.mkv", tmp_path / "out.mkv", "--tolerant", "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("warning: ")
    assert result.stderr.count("\n") == 1
    assert 5 < json.loads(result.stdout)["files"][0]["frames"] < 30


def test_completion_is_there():
    assert "--install-completion" in run("--help").output


def test_film_whose_name_is_that_of_an_unfinished_one(tmp_path):
    source = tmp_path / "big.part.mkv"
    assert run("filter", "test:64x48@25?count=30", source).exit_code == 0
    before = source.read_bytes()
    result = run("denoise", source, tmp_path / "big.mkv", "--level", 1)
    assert result.exit_code == 0, result.output
    assert "30 frames" in result.output
    assert source.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["big.mkv", "big.part.mkv"]


def test_series_never_replaces_itself(tmp_path):
    for number in (1, 2):
        save(tmp_path / f"fr000{number}.png")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for output in ("fr%04d.png", "../" + tmp_path.name + "/fr%04d.png", "fr000%d.png"):
        result = run("denoise", tmp_path / "fr%04d.png", tmp_path / output, "--force", "--level", 1)
        assert result.exit_code == 2
        assert "its own result" in result.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_series_to_series(tmp_path):
    for number in (1, 2):
        save(tmp_path / f"fr000{number}.png")
    (tmp_path / "out2.png").write_bytes(b"mine")
    command = ("denoise", tmp_path / "fr%04d.png", tmp_path / "out%d.png", "--level", 1)
    result = run(*command)
    assert result.exit_code == 2
    assert "out2.png' is there already; use --force" in result.stderr
    assert "(replaced)" in run(*command, "--force", "--dry-run").stdout
    assert run(*command, "--force").exit_code == 0
    assert sorted(path.name for path in tmp_path.glob("out*")) == ["out1.png", "out2.png"]
    assert load(tmp_path / "out2.png").shape == NOISY.shape


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_was_not_foreseen_does_not_keep_the_others(tmp_path, monkeypatch, jobs):
    from subband.pipeline import files

    for name in "abc":
        save(tmp_path / "in" / f"{name}.png")
    usual = files.enhance_file

    def fail_for_one(open_source, *others, **options):
        with open_source("rgb") as source:
            if source.info.origin.name == "b.png":
                raise KeyError("surprise")
        return usual(open_source, *others, **options)

    monkeypatch.setattr(files, "enhance_file", fail_for_one)
    result = run("denoise", tmp_path / "in", tmp_path / "out", "--level", 1, "--json", "--jobs", jobs)
    assert result.exit_code == 2
    assert "1 of 3 files" in result.stderr
    entries = json.loads(result.stdout)["files"]
    assert [entry.get("error") for entry in entries] == [None, "KeyError: 'surprise'", None]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.png", "c.png"]


def test_unfinished_files_of_any_number_are_passed_over(tmp_path):
    for name in ("a.png", "b.part.png", "b.part2.png"):
        save(tmp_path / "in" / name)
    assert run("denoise", tmp_path / "in", tmp_path / "out", "--level", 1).exit_code == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.png"]


def test_ending_of_packed_volumes_is_one(tmp_path):
    (tmp_path / "head.nii.gz").write_bytes(b"")
    (tmp_path / "v1.2.npy").write_bytes(b"")
    for name, expected in (("head.nii.gz", "head.nii"), ("v1.2.npy", "v1.2.nii")):
        result = run("denoise", tmp_path / name, tmp_path / "out", "--ending", "nii", "--dry-run", "--json")
        assert json.loads(result.stdout)["files"][0]["output"] == str(tmp_path / "out" / expected)


def test_every_setting_of_the_method_has_an_option(noisy, tmp_path):
    options = ("--method", "visu", "--wavelet", "db2", "--level", "2", "--mode", "hard", "--strength", "0.8")
    more = ("--boundary", "periodization", "--level-weights", "1,0.5", "--form", "spun", "--precision", "float16")
    result = run("denoise", noisy, tmp_path / "out.png", *options, *more, "--json")
    assert result.exit_code == 0, result.output
    stage = Denoise("visu", "db2", 2, "hard", 0.8, "periodization", (1.0, 0.5), "spun")
    assert Enhancer.from_dict(json.loads(result.stdout)["chain"]) == Enhancer(stage, precision="float16")


def test_a_boundary_that_is_none_is_named_by_its_option(noisy, tmp_path):
    result = run("denoise", noisy, tmp_path / "clean.png", "--boundary", "mirror")
    assert result.exit_code == 2
    assert "--boundary mirror is not a boundary mode" in result.output
    assert "--mode" not in result.output


def test_noise_is_looked_for_beside_gaps(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    pixels = (NOISY[..., 0] / 255).astype(np.float32)
    pixels[20:24, 30:36] = np.nan
    tifffile.imwrite(tmp_path / "gaps.tif", pixels)
    refused = run("denoise", tmp_path / "gaps.tif", tmp_path / "refused.tif", "--noise", "auto")
    assert refused.exit_code == 2
    assert "use --nonfinite mask" in refused.output
    result = run("denoise", tmp_path / "gaps.tif", tmp_path / "out.tif", "--noise", "auto", "--nonfinite", "mask")
    assert result.exit_code == 0, result.output
    clean = tifffile.imread(tmp_path / "out.tif")
    np.testing.assert_array_equal(np.isnan(clean), np.isnan(pixels))
    known = ~np.isnan(pixels)
    assert (
        measure_psnr(clean[known], CLEAN[..., 0][known] / 255, 1)
        > measure_psnr(pixels[known], CLEAN[..., 0][known] / 255, 1) + 2
    )
