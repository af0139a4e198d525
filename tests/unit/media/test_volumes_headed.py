"""NRRD and MetaImage: read with their place in space, and written again."""

import zlib

import numpy as np
import pytest
from typer.testing import CliRunner

from subband.cli import app
from subband.errors import ArgumentError, FormatError
from subband.media import Frame, open_sink, open_source, open_volume
from subband.media.geometry import find_affine
from subband.media.volumes import describe_volume

WHY = "not installed: pip install 'subband[volumes]'"
nrrd = pytest.importorskip("nrrd", reason=f"pynrrd is {WHY}")
nibabel = pytest.importorskip("nibabel", reason=f"nibabel is {WHY}")

RNG = np.random.default_rng(0)
# Steps along columns, rows and slices, and the origin, towards left, posterior and superior.
STEPS = np.array([[0.0, 0.25, 0.0], [0.3, 0.0, -0.4], [-2.0, 0.0, -1.5]])
ORIGIN = np.array([-31.0, 17.5, 400.0])
RAS = np.array([-1, -1, 1])


def make_volume(*shape, dtype="int16"):
    return RNG.integers(0, 100, shape).astype(dtype)


def make_affine():
    affine = np.eye(4)
    affine[:3, :3], affine[:3, 3] = (STEPS * RAS).T, ORIGIN * RAS
    return affine


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def read(path):
    with open_source(path) as source:
        return source.info, np.stack([frame.pixels for frame in source])


@pytest.mark.parametrize("space", ["left-posterior-superior", "RAS", "LAS", "right-anterior-superior-time"])
@pytest.mark.parametrize("encoding", ["raw", "gzip", "ascii"])
@pytest.mark.parametrize("ending", [".nrrd", ".nhdr"])
def test_nrrd_lies_where_it_says(tmp_path, space, encoding, ending):
    volume = make_volume(5, 4, 6)
    signs = {"le": (1, 1, 1), "RA": (-1, -1, 1), "LA": (1, -1, 1), "ri": (-1, -1, 1)}[space[:2]]
    header = {
        "space": space,
        "space directions": STEPS * signs,
        "space origin": ORIGIN * signs,
        "encoding": encoding,
        "endian": "big" if encoding == "raw" else "little",
    }
    nrrd.write(str(tmp_path / f"a{ending}"), volume, header, index_order="C")
    info, values = read(tmp_path / f"a{ending}")
    np.testing.assert_array_equal(values, volume)
    assert info.dtype == volume.dtype
    assert info.voxel_size == pytest.approx((2.5, 0.5, 0.25))
    np.testing.assert_allclose(find_affine(info), make_affine())
    assert run("denoise", "--strength", 0, tmp_path / f"a{ending}", tmp_path / "a.nii").exit_code == 0
    image = nibabel.load(tmp_path / "a.nii")
    np.testing.assert_array_equal(np.asarray(image.dataobj).T, volume)
    np.testing.assert_allclose(image.affine, make_affine(), atol=1e-4)


@pytest.mark.parametrize("place", [0, 3])
def test_nrrd_with_an_axis_that_is_no_space(tmp_path, place):
    volume = make_volume(3, 5, 4, 6)
    kinds, directions = ["domain"] * 3, STEPS.tolist()
    kinds.insert(place, "list")
    directions.insert(place, [np.nan] * 3)
    data = volume if place == 3 else np.moveaxis(volume, 0, -1)
    header = {
        "space": "left-posterior-superior",
        "space directions": directions,
        "space origin": ORIGIN,
        "kinds": kinds,
        "encoding": "raw",
    }
    nrrd.write(str(tmp_path / "a.nrrd"), data, header, index_order="C")
    info, values = read(tmp_path / "a.nrrd")
    assert (info.count, info.groups) == (15, 3)
    np.testing.assert_array_equal(values, volume.reshape(15, 4, 6))


def test_nrrd_that_knows_only_distances(tmp_path):
    header = {"spacings": [0.25, 500.0, 2500.0], "units": ["um", "nm", "nm"], "encoding": "raw"}
    nrrd.write(str(tmp_path / "a.nrrd"), make_volume(5, 4, 6), header, index_order="C")
    info, _ = read(tmp_path / "a.nrrd")
    assert (info.voxel_size, info.voxel_unit) == (pytest.approx((2.5, 0.5, 0.25)), "um")
    assert find_affine(info) is None


META = """ObjectType = Image
NDims = 3
BinaryData = True
BinaryDataByteOrderMSB = {msb}
CompressedData = {packed}
TransformMatrix = 0 1 0 0.6 0 -0.8 -0.8 0 -0.6
Offset = -31 17.5 400
CenterOfRotation = 0 0 0
AnatomicalOrientation = ???
ElementSpacing = 0.25 0.5 2.5
DimSize = 6 4 5
ElementType = MET_SHORT
ElementDataFile = {data}
"""


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("msb", [True, False])
@pytest.mark.parametrize("data", ["LOCAL", "a.raw"])
def test_meta_image_lies_where_it_says(tmp_path, packed, msb, data):
    volume = make_volume(5, 4, 6)
    content = volume.astype(">i2" if msb else "<i2").tobytes()
    content = zlib.compress(content) if packed else content
    text = META.format(msb=msb, packed=packed, data=data).encode()
    (tmp_path / "a.raw").write_bytes(content)
    name = tmp_path / ("a.mha" if data == "LOCAL" else "a.mhd")
    name.write_bytes(text + (content if data == "LOCAL" else b""))
    info, values = read(name)
    np.testing.assert_array_equal(values, volume)
    assert info.voxel_size == pytest.approx((2.5, 0.5, 0.25))
    np.testing.assert_allclose(find_affine(info), make_affine())
    assert run("denoise", "--strength", 0, name, tmp_path / "b.mha").exit_code == 0
    again, values = read(tmp_path / "b.mha")
    np.testing.assert_array_equal(values, volume)
    np.testing.assert_allclose(find_affine(again), make_affine())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ElementType = MET_SHORT\n", "", "does not say 'ElementType'"),
        ("MET_SHORT", "MET_STRANGE", "holds MET_STRANGE"),
        ("DimSize = 6 4 5", "DimSize = 6 4", "has the DimSize 6 4"),
        ("DimSize = 6 4 5", "DimSize = 6 4 x", "cannot be read as a MetaImage"),
        ("DimSize = 6 4 5", "DimSize = 6 4 50", "is cut off"),
        ("ElementDataFile = LOCAL", "ElementDataFile = LIST", "files of their own"),
        ("ElementDataFile = LOCAL\n", "", "is no MetaImage"),
        ("ElementDataFile = LOCAL", "ElementDataFile = gone.raw", "gone.raw"),
    ],
)
def test_damaged_meta_images(tmp_path, old, new, message):
    text = META.format(msb=False, packed=False, data="LOCAL").replace(old, new)
    (tmp_path / "a.mha").write_bytes(text.encode() + make_volume(5, 4, 6).tobytes())
    with pytest.raises(FormatError, match=message):
        open_source(tmp_path / "a.mha")
    assert run("denoise", tmp_path / "a.mha", tmp_path / "b.mha").exit_code == 2


@pytest.mark.parametrize("content", [b"", b"hello" * 100, b"NRRD0004\ntype: short\n\n"])
def test_damaged_nrrd(tmp_path, content):
    (tmp_path / "a.nrrd").write_bytes(content)
    with pytest.raises(FormatError, match=r"a\.nrrd' cannot be read as NRRD"):
        open_volume(tmp_path / "a.nrrd")


@pytest.mark.parametrize("name", ["a.nrrd", "a.mha"])
@pytest.mark.parametrize("shape", [(5, 4, 6), (15, 4, 6), (5, 4, 6, 3)])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
@pytest.mark.parametrize("is_placed", [True, False])
def test_written_volumes_come_back(tmp_path, name, shape, dtype, is_placed):
    volume = make_volume(*shape, dtype=dtype)
    groups = 3 if shape[0] == 15 else 1
    metadata = {"affine": make_affine()} if is_placed else {}
    info = describe_volume(shape, dtype, groups=groups, voxel_size=(2.5, 0.5, 0.25), metadata=metadata)
    with open_sink(tmp_path / name, info) as sink:
        for number, pixels in enumerate(volume):
            sink.write(Frame(pixels, number))
    again, values = read(tmp_path / name)
    np.testing.assert_array_equal(values, volume, strict=True)
    assert (again.groups, again.colours) == (groups, info.colours)
    assert again.voxel_size == pytest.approx((2.5, 0.5, 0.25))
    if is_placed:
        np.testing.assert_allclose(find_affine(again), make_affine(), atol=1e-12)
    else:
        assert find_affine(again) is None


def test_sinks_that_have_to_know_their_length(tmp_path):
    info = describe_volume((5, 4, 6), "int16")
    with pytest.raises(ArgumentError, match=r"'a\.mha' got 1 slices"), open_sink(tmp_path / "a.mha", info) as sink:
        sink.write(Frame(np.zeros((4, 6), np.int16)))
    assert not list(tmp_path.iterdir())
