"""``subband encode``, ``subband decode``, ``subband transcode`` and ``subband jp2info``."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from subband import data
from subband.cli import app
from subband.codecs.jpeg2000 import imread, imwrite, read_header
from subband.media import Still, open_sink, open_source, read_still, write_still

COLOUR = data.photograph()[100:228, 100:260]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "picture.png"
    Image.fromarray(COLOUR).save(path)
    return path


def test_lossless_there_and_back(picture, tmp_path):
    result = run("encode", picture, tmp_path / "a.jp2")
    assert result.exit_code == 0, result.output
    assert "bpp" in result.output
    np.testing.assert_array_equal(imread(tmp_path / "a.jp2"), COLOUR)
    result = run("decode", tmp_path / "a.jp2", tmp_path / "b.png")
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "b.png")), COLOUR)


def test_what_is_said_beside_the_pixels_goes_along(tmp_path):
    exif = Image.Exif()
    exif[271] = "Maker"
    known = {"dpi": (300.0, 150.0), "xmp": b"<x:xmpmeta/>"}
    write_still(tmp_path / "a.png", Still(COLOUR, None, None, exif.tobytes(), known))
    assert run("encode", tmp_path / "a.png", tmp_path / "a.jp2").exit_code == 0
    for reduce in (0, 1):
        result = run("decode", tmp_path / "a.jp2", tmp_path / f"b{reduce}.png", "--reduce", reduce)
        assert result.exit_code == 0, result.output
        still = read_still(tmp_path / f"b{reduce}.png")
        assert still.metadata["dpi"] == pytest.approx((300 / 2**reduce, 150 / 2**reduce), rel=1e-3)
        assert still.metadata["xmp"] == known["xmp"]
        assert b"Maker" in still.exif


def test_rate_size_and_psnr(picture, tmp_path):
    output = tmp_path / "a.jp2"
    record = json.loads(run("encode", picture, output, "--bpp", "1", "--json").stdout)
    assert 0.98 <= record["bits_per_pixel"] <= 1
    assert record["bytes"] == output.stat().st_size
    assert run("encode", picture, output, "--bytes", "3000", "--force").exit_code == 0
    assert 2940 <= output.stat().st_size <= 3000
    assert run("encode", picture, output, "--psnr", "35", "--force").exit_code == 0
    error = np.mean((imread(output).astype(float) - COLOUR) ** 2)
    assert 10 * np.log10(255**2 / error) == pytest.approx(35, abs=0.3)


def test_everything_that_can_be_said(picture, tmp_path):
    output = tmp_path / "a.jp2"
    options = (
        "--bpp 0.5,1,2 --level 3 --tile 64x80 --block 32x16 --precincts 64x64,32 --progression rpcl "
        "--style bypass,segmentation --sop --eph --plt --tlm --tile-parts --dpi 300 --comment Hello --no-mct "
        "--engine cpu"
    )
    result = run("encode", picture, output, *options.split())
    assert result.exit_code == 0, result.output
    header = read_header(output)
    assert (header.layers, header.levels, header.tiles, header.order.name) == (3, 3, (2, 2), "RPCL")
    assert not header.has_colour_transform
    assert "Hello" in header.comments
    assert header.jp2.resolutions


def test_a_region_of_interest(picture, tmp_path):
    options = ("--bpp", 0.5, "--roi", "20,30,60,70")
    assert run("encode", picture, tmp_path / "a.jp2", *options).exit_code == 0
    assert run("encode", picture, tmp_path / "b.jp2", "--bpp", 0.5).exit_code == 0
    whole = read_still(picture).pixels.astype(float)
    errors = [
        np.mean((imread(tmp_path / name)[20:60, 30:70] - whole[20:60, 30:70]) ** 2) for name in ("a.jp2", "b.jp2")
    ]
    assert errors[0] < 0.5 * errors[1]
    result = run("encode", picture, tmp_path / "c.jp2", "--roi", "20,30")
    assert result.exit_code == 2
    assert "--roi '20,30' is not four numbers" in result.stderr


@pytest.mark.filterwarnings("ignore:.*keeps no time code")
@pytest.mark.parametrize("name", ["a.mj2", "a.mxf"])
@pytest.mark.parametrize("options", [(), ("--ht",)], ids=["Part 1", "HT"])
def test_video_there_and_back(tmp_path, name, options):
    video = tmp_path / "clip.y4m"
    with open_source(data.clip_path(), colours="ycbcr") as source, open_sink(video, source.info, audio=False) as sink:
        for _, frame in zip(range(3), source, strict=False):
            sink.write(frame)
    assert run("encode", video, tmp_path / name, *options).exit_code == 0
    assert run("decode", tmp_path / name, tmp_path / "back.y4m").exit_code == 0
    assert video.read_bytes().split(b"FRAME")[1:] == (tmp_path / "back.y4m").read_bytes().split(b"FRAME")[1:]
    result = run("encode", video, tmp_path / "b.mj2", "--dpi", 300)
    assert result.exit_code == 2
    assert "are for images, not for video" in result.stderr


def test_decode_in_part(picture, tmp_path):
    run("encode", picture, tmp_path / "a.jp2", "--layers", 2)
    result = run(
        "decode", tmp_path / "a.jp2", tmp_path / "b.png", "--reduce", 1, "--region", "10,20,90,120", "--layers", 1
    )
    assert result.exit_code == 0, result.output
    assert np.asarray(Image.open(tmp_path / "b.png")).shape == (40, 50, 3)
    record = json.loads(run("decode", tmp_path / "a.jp2", tmp_path / "c.npy", "--json").stdout)
    assert (record["rows"], record["columns"], record["dtype"]) == (128, 160, "uint8")
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), COLOUR)


def test_damage_is_told(picture, tmp_path):
    run("encode", picture, tmp_path / "a.jp2")
    content = (tmp_path / "a.jp2").read_bytes()
    (tmp_path / "cut.jp2").write_bytes(content[: len(content) // 2])
    result = run("decode", tmp_path / "cut.jp2", tmp_path / "b.png")
    assert result.exit_code == 0, result.output
    assert "warning" in result.output
    (tmp_path / "no.jp2").write_bytes(b"nothing")
    result = run("decode", tmp_path / "no.jp2", tmp_path / "c.png")
    assert result.exit_code == 2
    assert "no.jp2" in result.output


def test_jp2info(picture, tmp_path):
    run("encode", picture, tmp_path / "a.jp2", "--bpp", "1")
    result = run("jp2info", tmp_path / "a.jp2")
    assert result.exit_code == 0, result.output
    assert all(name in result.output for name in ("ihdr", "colr", "SIZ", "COD", "QCD", "SOT"))
    record = json.loads(run("jp2info", tmp_path / "a.jp2", "--json").stdout)
    assert record["length"] == (tmp_path / "a.jp2").stat().st_size
    content = (tmp_path / "a.jp2").read_bytes()
    (tmp_path / "cut.jp2").write_bytes(content[:60])
    assert run("jp2info", tmp_path / "cut.jp2").exit_code == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["a.png"], "does not end like JPEG 2000"),
        (["a.jp2", "--bpp", "x"], "is not a number"),
        (["a.jp2", "--tile", "1y2"], "is not a size"),
        (["a.jp2", "--bpp", "1", "--psnr", "30"], "both given"),
        (["a.jp2", "--style", "slow"], "is not known"),
    ],
)
def test_what_cannot_be_done(picture, tmp_path, options, message):
    result = run("encode", picture, tmp_path / options[0], *options[1:])
    assert result.exit_code == 2
    assert message in result.output
    assert not (tmp_path / "a.jp2").exists()


def test_existing_files_stay(picture, tmp_path):
    (tmp_path / "a.jp2").write_bytes(b"mine")
    assert run("encode", picture, tmp_path / "a.jp2").exit_code == 2
    assert (tmp_path / "a.jp2").read_bytes() == b"mine"
    imwrite(tmp_path / "b.jp2", COLOUR)
    (tmp_path / "b.png").write_bytes(b"mine")
    assert run("decode", tmp_path / "b.jp2", tmp_path / "b.png").exit_code == 2
    result = run("decode", tmp_path / "b.jp2", tmp_path / "c.png", "--region", "1,2,3")
    assert result.exit_code == 2
    assert "four numbers" in result.output


def test_pictures_of_other_commands(tmp_path):
    deep = COLOUR.astype(np.uint16) * 257
    alpha = deep[..., 0].copy()
    write_still(tmp_path / "a.jp2", Still(deep, alpha))
    still = read_still(tmp_path / "a.jp2")
    np.testing.assert_array_equal(still.pixels, deep)
    np.testing.assert_array_equal(still.alpha, alpha)
    assert run("compare", tmp_path / "a.jp2", tmp_path / "a.jp2", "--no-ssim").exit_code == 0


def test_bench(tmp_path):
    pytest.importorskip("skimage")
    page = tmp_path / "page.md"
    page.write_text("<!-- measured jpeg2000 quality: begin -->\n<!-- measured jpeg2000 quality: end -->\n")
    result = run("bench", "jpeg2000", "--quality", "--quick", "--markdown", page)
    assert result.exit_code == 0, result.output
    assert "astronaut" in page.read_text()


@pytest.mark.opencl
def test_bench_of_video(tmp_path):
    pytest.importorskip("pyopencl")
    page = tmp_path / "page.md"
    page.write_text("<!-- measured jpeg2000 video: begin -->\n<!-- measured jpeg2000 video: end -->\n")
    result = run("bench", "jpeg2000", "--video", "--engine", "opencl", "--quick", "--markdown", page)
    assert result.exit_code == 0, result.output
    assert "HTJ2K on opencl" in page.read_text()


def test_high_throughput_files_and_back(picture, tmp_path):
    assert run("encode", picture, tmp_path / "a.jph").exit_code == 0
    assert run("encode", picture, tmp_path / "a.j2c", "--ht").exit_code == 0
    assert (tmp_path / "a.jph").read_bytes()[20:24] == b"jph "
    assert run("transcode", tmp_path / "a.jph", tmp_path / "b.jp2").exit_code == 0
    result = run("transcode", tmp_path / "b.jp2", tmp_path / "c.jph", "--json")
    assert json.loads(result.stdout)["bytes"] == (tmp_path / "a.jph").stat().st_size
    assert run("transcode", tmp_path / "a.j2c", tmp_path / "b.j2c", "--no-ht").exit_code == 0
    for name in ("a.jph", "a.j2c", "b.jp2", "c.jph", "b.j2c"):
        assert run("decode", tmp_path / name, tmp_path / "back.png", "--force").exit_code == 0
        np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "back.png")), COLOUR)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a.jph", "b.png"), "does not end like JPEG 2000"),
        (("a.jph", "b.jp2", "--ht"), "does not go with --ht"),
        (("a.jph", "b.j2c"), "is a file with boxes"),
    ],
)
def test_what_cannot_be_transcoded(tmp_path, arguments, message):
    imwrite(tmp_path / "a.jph", COLOUR)
    result = run("transcode", *(tmp_path / name if "." in name else name for name in arguments))
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())


@pytest.mark.parametrize("arguments", [("jp2info", "notes.jp2"), ("transcode", "notes.jp2", "out.jph")])
def test_what_is_no_jpeg_2000_is_named(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.jp2").write_text("no image at all")
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "'notes.jp2' cannot be read as JPEG 2000: " in result.output
