"""FITS, beside Astropy: what it wrote is read, and what is written it reads."""

import gzip

import numpy as np
import pytest
from typer.testing import CliRunner

from subband.cli import app
from subband.errors import ArgumentError, FormatError
from subband.media import DamagedError, Frame, PlaceWarning, open_sink, open_source, open_volume
from subband.media.volumes import describe_volume

fits = pytest.importorskip("astropy.io.fits")

RNG = np.random.default_rng(0)
CUBE = RNG.normal(100, 10, (5, 24, 20))


def copy(source, target):
    with open_source(source) as opened, open_sink(target, opened.info) as sink:
        for frame in opened:
            sink.write(frame)
    return target


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize("name", ["a.fits", "a.fits.gz"])
@pytest.mark.parametrize(
    "dtype", ["uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
)
def test_every_dtype_there_and_back(dtype, name, tmp_path):
    kind = np.dtype(dtype)
    cube = CUBE.astype(dtype)
    if kind.kind in "iu":
        cube[0, 0, :2] = np.iinfo(kind).min, np.iinfo(kind).max
    fits.writeto(tmp_path / "first.fits", cube)
    copied = copy(tmp_path / "first.fits", tmp_path / name)
    read = fits.getdata(copied)
    assert read.dtype.newbyteorder("=") == kind
    np.testing.assert_array_equal(read, cube)
    with open_volume(copied) as volume:
        assert (volume.info.dtype, volume.shape) == (kind, cube.shape)
        np.testing.assert_array_equal(volume.read_block((slice(1, 3), slice(2, 9), slice(0, 4))), cube[1:3, 2:9, :4])
    with (gzip.open if name.endswith("gz") else open)(copied, "rb") as file:
        assert len(file.read()) % 2880 == 0
    with fits.open(copied) as opened:
        opened.verify("exception")


def test_the_header_is_kept(tmp_path):
    header = fits.Header(
        [
            ("OBJECT", "M31", "what was seen"),
            ("CRVAL1", 10.68),
            ("CTYPE1", "RA---TAN"),
            ("DATAMAX", 1.0),
            ("EXPTIME", 30.5),
        ]
    )
    header["HISTORY"] = "flat-fielded"
    header["HISTORY"] = "aligned"
    header["COMMENT"] = "a comment"
    header["HIERARCH ESO DET CHIP NAME"] = "long key"
    fits.writeto(tmp_path / "a.fits", CUBE[0].astype(np.float32), header, checksum=True)
    run("denoise", tmp_path / "a.fits", tmp_path / "b.fits", "--level", 2)
    image, kept = fits.getdata(tmp_path / "b.fits", header=True)
    # an image stays an image
    assert (image.shape, image.dtype.name) == ((24, 20), "float32")
    assert image.std() < CUBE[0].std() / 2
    assert (kept["OBJECT"], kept.comments["OBJECT"], kept["EXPTIME"]) == ("M31", "what was seen", 30.5)
    assert [*kept["HISTORY"]] == ["flat-fielded", "aligned"]
    assert ([*kept["COMMENT"]][-1], kept["ESO DET CHIP NAME"]) == ("a comment", "long key")
    # neither the sum nor the largest number is that of the other samples
    assert not {"CHECKSUM", "DATASUM", "DATAMAX"} & {*kept}


def test_scaled_and_blank_numbers(tmp_path):
    counts = np.arange(12, dtype=np.int16).reshape(3, 4)
    image = fits.PrimaryHDU(counts)
    image.header["BSCALE"], image.header["BZERO"], image.header["BLANK"] = 0.5, 100.0, 7
    image.writeto(tmp_path / "a.fits")
    with open_source(tmp_path / "a.fits") as source:
        (frame,) = source
    assert frame.pixels.dtype == np.float32
    expected = counts * 0.5 + 100.0
    expected[counts == 7] = np.nan
    # Astropy scales what the header said when it was made
    known = fits.getdata(tmp_path / "a.fits")
    np.testing.assert_array_equal(frame.pixels, known)
    np.testing.assert_array_equal(np.isnan(frame.pixels), counts == 7)
    copied = fits.getdata(copy(tmp_path / "a.fits", tmp_path / "b.fits"))
    np.testing.assert_array_equal(copied, known)


def test_gaps_are_refused_or_masked(tmp_path):
    image = CUBE[0].astype(np.float32)
    image[3:5, 7:9] = np.nan
    fits.writeto(tmp_path / "a.fits", image)
    refused = CliRunner().invoke(app, ["denoise", str(tmp_path / "a.fits"), str(tmp_path / "b.fits")])
    assert refused.exit_code != 0
    run("denoise", tmp_path / "a.fits", tmp_path / "b.fits", "--nonfinite", "mask")
    np.testing.assert_array_equal(np.isnan(fits.getdata(tmp_path / "b.fits")), np.isnan(image))


@pytest.mark.parametrize(
    ("shape", "groups"), [((24, 20), 1), ((1, 1, 24, 20), 1), ((2, 5, 24, 20), 2), ((3, 2, 5, 24, 20), 6)]
)
def test_axes_stay_as_they_are(shape, groups, tmp_path):
    array = RNG.normal(size=shape).astype(np.float32)
    fits.writeto(tmp_path / "a.fits", array)
    with open_volume(tmp_path / "a.fits") as volume:
        assert (volume.info.groups, volume.info.shape) == (groups, (24, 20))
    np.testing.assert_array_equal(fits.getdata(copy(tmp_path / "a.fits", tmp_path / "b.fits")), array)


def test_one_of_several_images(tmp_path):
    table = fits.BinTableHDU.from_columns([fits.Column("x", "E", array=np.zeros(3))])
    primary = fits.PrimaryHDU()
    primary.header["TELESCOP"] = "Hale"
    images = [
        fits.ImageHDU((CUBE + 1).astype(">f4"), name="SCI"),
        fits.CompImageHDU(CUBE[0].astype(np.int16), name="DQ"),
    ]
    fits.HDUList([primary, table, *images]).writeto(tmp_path / "a.fits")
    for name in ("a.fits", "a.fits:SCI", "a.fits:sci", "a.fits:2"):
        with open_volume(tmp_path / name) as volume:
            np.testing.assert_allclose(volume.read_block(slice(0, 1))[0], CUBE[0] + 1, rtol=1e-6)
    with open_volume(f"{tmp_path}/a.fits:DQ") as volume:
        np.testing.assert_array_equal(next(iter(volume)).pixels, CUBE[0].astype(np.int16))
    header = fits.getheader(copy(tmp_path / "a.fits:SCI", tmp_path / "b.fits"))
    assert (header["TELESCOP"], header["EXTNAME"], "XTENSION" in header) == ("Hale", "SCI", False)
    with pytest.raises(ArgumentError, match=r"has no image 'ERR'; it has 2 \(SCI\), 3 \(DQ\)"):
        open_volume(f"{tmp_path}/a.fits:ERR")


def test_from_and_to_other_formats(tmp_path):
    np.save(tmp_path / "flat.npy", CUBE[0].astype(np.float32))
    assert fits.getdata(copy(tmp_path / "flat.npy", tmp_path / "flat.fits")).shape == (24, 20)
    copy(tmp_path / "flat.fits", tmp_path / "flat.nii")
    info = describe_volume(CUBE.shape, "float32", metadata={"affine": np.eye(4)})
    with pytest.warns(PlaceWarning, match="cannot say where its voxels lie"):
        open_sink(tmp_path / "a.fits", info).abort()


def test_a_number_of_slices_that_is_not_known(tmp_path):
    info = describe_volume(CUBE.shape, "float64")
    with open_sink(tmp_path / "a.fits", info) as sink:
        for number in range(3):
            sink.write(Frame(CUBE[number], number))
    np.testing.assert_array_equal(fits.getdata(tmp_path / "a.fits"), CUBE[:3])


def test_damage_is_told(tmp_path):
    (tmp_path / "a.fits").write_bytes(b"not a star in sight" * 300)
    with pytest.raises(FormatError, match="cannot be read as FITS"):
        open_source(tmp_path / "a.fits")
    fits.writeto(tmp_path / "b.fits", np.zeros(9))
    with pytest.raises(FormatError, match="holds no image of two or more axes"):
        open_source(tmp_path / "b.fits")
    fits.writeto(tmp_path / "c.fits", np.zeros((9, 40, 40), np.float32))
    whole = (tmp_path / "c.fits").read_bytes()
    (tmp_path / "c.fits").write_bytes(whole[: 2880 + 4 * 40 * 40 * 4])
    with open_source(tmp_path / "c.fits") as source, pytest.raises(DamagedError) as caught:
        list(source)
    assert caught.value.frames == 4


def test_what_it_cannot_hold(tmp_path):
    colours = describe_volume((2, 4, 4, 3), "uint8")
    with pytest.raises(ArgumentError, match="holds no colours"):
        open_sink(tmp_path / "a.fits", colours)
    with pytest.raises(ArgumentError, match="is written as a whole; leave out :SCI"):
        open_sink(f"{tmp_path}/a.fits:SCI", describe_volume((2, 4, 4), "uint8"))
