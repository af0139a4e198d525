"""``subband edges``."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from subband import data
from subband.cli import app
from subband.edit.edges import EdgeFinder
from subband.media import Still, read_still, write_still

PICTURE = data.photograph()[100:164, 100:180]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_picture_gets_its_edges_drawn(tmp_path):
    source, target = tmp_path / "in.png", tmp_path / "out.png"
    Image.fromarray(PICTURE).save(source)
    result = run("edges", source, target)
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(np.asarray(Image.open(target)), EdgeFinder().apply(PICTURE))
    assert run("edges", source, target).exit_code == 2
    result = run("edges", source, target, "--force", "--engine", "reference", "--fade", "0.5", "-t", "8", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["files"][0]["output"] == str(target)
    assert {path.name for path in tmp_path.iterdir()} == {"in.png", "out.png"}


def test_a_mask_of_a_grey_picture(tmp_path):
    source, target = tmp_path / "in.png", tmp_path / "out.png"
    Image.fromarray(PICTURE[..., 0]).save(source)
    assert run("edges", source, target, "--edges-only", "--level", 2).exit_code == 0
    found = np.asarray(Image.open(target))
    np.testing.assert_array_equal(found, 255 * EdgeFinder(level=2).find(PICTURE[..., 0]).mask)


def test_16_bits_have_the_same_units(tmp_path):
    source, target = tmp_path / "in.png", tmp_path / "out.png"
    write_still(source, Still(PICTURE[..., 0].astype(np.uint16) * 257))
    result = run("edges", source, target, "--contrast", 20, "--sigma", 3)
    assert result.exit_code == 0, result.output
    deep = read_still(target).pixels
    assert deep.dtype == np.uint16
    shallow = EdgeFinder(contrast=20, sigma=3).apply(PICTURE[..., 0])
    assert (deep == shallow.astype(np.uint16) * 257).mean() > 0.998


def test_a_volume_becomes_a_mask(tmp_path):
    volume = np.zeros((20, 22, 24), np.int16)
    volume[6:14, 6:15, 7:16] = 800
    np.save(tmp_path / "in.npy", volume)
    result = run("edges", tmp_path / "in.npy", tmp_path / "out.npy", "--level", 2)
    assert result.exit_code == 0, result.output
    mask = np.load(tmp_path / "out.npy")
    assert mask.dtype == np.uint8
    assert mask.shape == volume.shape
    np.testing.assert_array_equal(mask, 255 * EdgeFinder(level=2).find(volume).mask)
    assert mask[10, 10, 6] == 255
    assert mask[10, 10, 10] == 0


def test_a_folder(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(2):
        Image.fromarray(PICTURE[number:]).save(folder / f"{number}.png")
    assert run("edges", folder, tmp_path / "out").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["0.png", "1.png"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--wavelet", "db2"], "no smoothed first derivative"),
        (["--level", "2", "--finest", "3"], "beyond --level 2"),
        (["--engine", "abacus"], "abacus"),
        (["--level", "12"], "too coarse"),
    ],
)
def test_bad_options(tmp_path, options, message):
    Image.fromarray(PICTURE).save(tmp_path / "in.png")
    result = run("edges", tmp_path / "in.png", tmp_path / "out.png", *options)
    assert result.exit_code == 2
    assert message in result.output
    assert not (tmp_path / "out.png").exists()


def test_masks_are_not_transparent(tmp_path):
    Image.fromarray(np.dstack([PICTURE, PICTURE[..., :1]])).save(tmp_path / "in.png")
    assert run("edges", tmp_path / "in.png", tmp_path / "mask.png", "--edges-only").exit_code == 0
    assert np.asarray(Image.open(tmp_path / "mask.png")).shape == PICTURE.shape[:2]
    assert run("edges", tmp_path / "in.png", tmp_path / "drawn.png").exit_code == 0
    assert np.asarray(Image.open(tmp_path / "drawn.png")).shape == (*PICTURE.shape[:2], 4)
