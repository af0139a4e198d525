"""TIFF stacks: times and channels apart, one unit for all sides, and what is kept."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from subband.cli import app
from subband.enhance import Denoise, Enhancer
from subband.errors import FormatError
from subband.media import open_source, open_volume
from subband.pipeline.files import enhance_file

tifffile = pytest.importorskip("tifffile", reason="not installed: pip install 'subband[volumes]'")

RNG = np.random.default_rng(0)


def make_stack(*shape, dtype="uint16"):
    return RNG.integers(0, 200, shape).astype(dtype)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def read(path):
    with tifffile.TiffFile(path) as file:
        return file.series[0].axes, file.series[0].asarray()


LENGTHS = {"T": 3, "Z": 4, "C": 2, "Y": 20, "X": 24}


@pytest.mark.parametrize(
    ("name", "axes"),
    [
        ("a.tif", "TYX"),
        ("a.tif", "CYX"),
        ("a.tif", "TZYX"),
        ("a.tif", "ZCYX"),
        ("a.tif", "TZCYX"),
        ("a.ome.tif", "TYX"),
        ("a.ome.tif", "CZYX"),
        ("a.ome.tif", "TZCYX"),
        ("a.ome.tif", "CTZYX"),
        ("shaped.tif", "TZYX"),
        ("shaped.tif", "ZTYX"),
        ("shaped.tif", "RTYX"),
    ],
)
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_times_and_channels_are_filtered_apart_and_keep_their_axes(tmp_path, name, axes, compression):
    shape = tuple(LENGTHS.get(axis, 2) for axis in axes)
    steps = np.arange(np.prod(shape[:-2])).reshape(*shape[:-2], 1, 1) * 300.0
    stack = (steps + RNG.normal(500, 10, shape)).astype(np.float32)
    options = {"imagej": True} if name == "a.tif" else {"ome": True} if "ome" in name else {"photometric": "minisblack"}
    packed = {} if name == "a.tif" and compression is None else {"compression": compression}
    tifffile.imwrite(tmp_path / name, stack, metadata={"axes": axes}, **options, **packed)
    before = read(tmp_path / name)
    assert before[0] == axes
    enhancer = Enhancer(Denoise(level=1), sigma=10.0)
    enhance_file(tmp_path / name, tmp_path / f"better.{name}", enhancer)
    after = read(tmp_path / f"better.{name}")
    assert (after[0], after[1].shape) == (axes, shape)
    # each volume by itself, wherever its slices lie in the file
    others = [place for place, axis in enumerate(axes) if axis not in "ZYX"]
    space = [place for place, axis in enumerate(axes) if axis in "ZYX"]
    turned = stack.transpose(*others, *space)
    inner = turned.shape[len(others) :]
    each = [enhancer.apply(volume, axes=tuple(range(len(inner)))) for volume in turned.reshape(-1, *inner)]
    expected = np.reshape(each, turned.shape).transpose(np.argsort([*others, *space]))
    np.testing.assert_allclose(after[1], expected, atol=1e-2)


@pytest.mark.parametrize(("planar", "shape"), [("contig", (20, 24, 5)), ("separate", (5, 20, 24))])
@pytest.mark.parametrize("pages", [1, 3])
def test_all_channels_of_a_page_are_kept(tmp_path, planar, shape, pages):
    stack = make_stack(pages, *shape)
    with tifffile.TiffWriter(tmp_path / "a.tif") as writer:
        for page in stack:
            writer.write(page, photometric="minisblack", planarconfig=planar, contiguous=False)
    with open_source(tmp_path / "a.tif") as source:
        assert (source.info.kind, source.info.count, source.info.groups) == ("volume", 5 * pages, 5)
    result = run("denoise", "--strength", 0, tmp_path / "a.tif", tmp_path / "b.tif")
    assert result.exit_code == 0, result.output
    with tifffile.TiffFile(tmp_path / "b.tif") as file:
        np.testing.assert_array_equal([page.asarray() for page in file.pages], stack)
        assert [page.samplesperpixel for page in file.pages] == [5] * pages


MIXED = [
    (("µm", "nm", "mm"), (0.5, 500.0, 0.0005), (0.5, 0.5, 0.5), "um"),
    (("Å", "Å", "Å"), (5.0, 5.0, 20.0), (0.5, 0.5, 2.0), "nm"),
    (("nm", "µm", "Å"), (500.0, 0.5, 20.0), (500.0, 500.0, 2.0), "nm"),
    (("mm", "mm", "in"), (1.0, 1.0, 1.0), (1.0, 1.0, 25.4), "mm"),
    (("pixel", "pixel", "pixel"), (1.0, 1.0, 3.0), (1.0, 1.0, 3.0), "pixel"),
]


@pytest.mark.parametrize(("units", "sizes", "expected", "unit"), MIXED)
def test_sides_of_voxels_in_several_units(tmp_path, units, sizes, expected, unit):
    about = {f"PhysicalSize{axis}": size for axis, size in zip("XYZ", sizes, strict=True)}
    about |= {f"PhysicalSize{axis}Unit": name for axis, name in zip("XYZ", units, strict=True)}
    tifffile.imwrite(tmp_path / "a.ome.tif", make_stack(4, 20, 24), ome=True, metadata={"axes": "ZYX", **about})
    with open_source(tmp_path / "a.ome.tif") as source:
        assert source.info.voxel_size == pytest.approx(expected[::-1], rel=1e-9)
        assert source.info.voxel_unit == unit
    result = run("denoise", tmp_path / "a.ome.tif", tmp_path / "b.ome.tif")
    assert result.exit_code == 0, result.output
    with open_source(tmp_path / "b.ome.tif") as source:
        assert source.info.voxel_size == pytest.approx(expected[::-1], rel=1e-9)


def test_nanometres_are_not_micrometres_for_nifti(tmp_path):
    nibabel = pytest.importorskip("nibabel", reason="not installed: pip install 'subband[volumes]'")
    about = {"PhysicalSizeX": 250.0, "PhysicalSizeXUnit": "nm", "PhysicalSizeZ": 5000.0, "PhysicalSizeZUnit": "Å"}
    tifffile.imwrite(tmp_path / "a.ome.tif", make_stack(4, 20, 24), ome=True, metadata={"axes": "ZYX", **about})
    assert run("denoise", tmp_path / "a.ome.tif", tmp_path / "a.nii").exit_code == 0
    header = nibabel.load(tmp_path / "a.nii").header
    assert header.get_xyzt_units()[0] == "micron"
    np.testing.assert_allclose(header.get_zooms(), (0.25, 0.25, 0.5))


def test_units_that_do_not_go_together_are_told(tmp_path):
    about = {"PhysicalSizeX": 1.0, "PhysicalSizeXUnit": "mm", "PhysicalSizeZ": 2.0, "PhysicalSizeZUnit": "pixel"}
    tifffile.imwrite(tmp_path / "a.ome.tif", make_stack(4, 20, 24), ome=True, metadata={"axes": "ZYX", **about})
    with pytest.warns(UserWarning, match="in mm, mm, pixel, which do not go together: not kept"):
        assert open_volume(tmp_path / "a.ome.tif").info.voxel_size is None


@pytest.mark.parametrize(
    ("compression", "predictor"),
    [*((name, False) for name in ("lzw", "zlib", "zstd", "packbits", "lzma", None)), ("lzw", True), ("zlib", True)],
)
def test_compression_tiles_and_resolution_are_kept(tmp_path, compression, predictor):
    options = {"compression": compression, "predictor": predictor, "tile": (32, 16), "resolution": (300, 150)}
    stack = make_stack(3, 40, 48)
    tifffile.imwrite(
        tmp_path / "a.tif", stack, photometric="minisblack", metadata=None, description="sample 42", **options
    )
    assert run("denoise", "--strength", 0, tmp_path / "a.tif", tmp_path / "b.tif").exit_code == 0
    with tifffile.TiffFile(tmp_path / "a.tif") as one, tifffile.TiffFile(tmp_path / "b.tif") as other:
        first, second = one.pages[0], other.pages[0]
        for name in ("compression", "predictor", "description", "resolution", "resolutionunit", "tile", "is_tiled"):
            assert getattr(first, name) == getattr(second, name)
        assert [page.compression for page in one.pages] == [page.compression for page in other.pages]
        np.testing.assert_array_equal(other.asarray(), stack)


def test_pages_packed_with_a_loss_are_packed_without(tmp_path):
    stack = make_stack(3, 64, 64, dtype="uint8")
    tifffile.imwrite(tmp_path / "a.tif", stack, photometric="minisblack", compression="jpeg", metadata=None)
    with pytest.warns(UserWarning, match=r"packed with a loss, as JPEG; 'b\.tif' is packed without"):
        enhance_file(tmp_path / "a.tif", tmp_path / "b.tif", Enhancer(()))
    with tifffile.TiffFile(tmp_path / "a.tif") as one, tifffile.TiffFile(tmp_path / "b.tif") as other:
        assert other.pages[0].compression == 8
        np.testing.assert_array_equal(one.asarray(), other.asarray())


def test_ome_xml_is_kept(tmp_path):
    about = {"axes": "TCYX", "Channel": {"Name": ["DAPI", "GFP"]}, "PhysicalSizeX": 0.5, "PhysicalSizeXUnit": "µm"}
    tifffile.imwrite(tmp_path / "a.ome.tif", make_stack(3, 2, 20, 24), ome=True, metadata=about)
    assert run("denoise", tmp_path / "a.ome.tif", tmp_path / "b.ome.tif").exit_code == 0
    texts = []
    for name in "ab":
        with tifffile.TiffFile(tmp_path / f"{name}.ome.tif") as file:
            texts.append(re.sub(r"urn:uuid:[^\"]*", "", file.ome_metadata))
            assert file.is_ome
    assert texts[0] == texts[1]


def test_ome_xml_of_a_mask_says_what_it_holds(tmp_path):
    tifffile.imwrite(tmp_path / "a.ome.tif", make_stack(3, 2, 20, 24), ome=True, metadata={"axes": "ZCYX"})
    result = run("edges", tmp_path / "a.ome.tif", tmp_path / "b.ome.tif")
    assert result.exit_code == 0, result.output
    axes, mask = read(tmp_path / "b.ome.tif")
    assert (axes, mask.shape, mask.dtype) == ("ZCYX", (3, 2, 20, 24), np.uint8)


def test_what_imagej_says_is_kept(tmp_path):
    known = {"axes": "ZCYX", "Info": "of the microscope", "Labels": [f"slice {n}" for n in range(8)], "spacing": 2.0}
    lut = np.arange(3 * 256, dtype=np.uint8).reshape(3, 256)
    known |= {"LUTs": [lut, lut[::-1]], "unit": "um", "Ranges": (0.0, 9.0, 0.0, 7.0), "min": 1.0, "max": 9.0}
    tifffile.imwrite(tmp_path / "a.tif", make_stack(4, 2, 20, 24), imagej=True, metadata=known, resolution=(4, 2))
    assert run("denoise", tmp_path / "a.tif", tmp_path / "b.tif").exit_code == 0
    with tifffile.TiffFile(tmp_path / "a.tif") as one, tifffile.TiffFile(tmp_path / "b.tif") as other:
        assert one.series[0].axes == other.series[0].axes
        first, second = one.imagej_metadata, other.imagej_metadata
        for table in (first, second):
            table["LUTs"] = [each.tolist() for each in table["LUTs"]]
        assert first == second


def test_free_descriptions_of_tifffile_are_kept(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", make_stack(4, 20, 24), photometric="minisblack", metadata={"lens": "50 mm"})
    assert run("denoise", tmp_path / "a.tif", tmp_path / "b.tif").exit_code == 0
    with tifffile.TiffFile(tmp_path / "b.tif") as file:
        assert json.loads(file.pages[0].description)["lens"] == "50 mm"
        assert file.series[0].shape == (4, 20, 24)


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint32", "int32"])
def test_single_page_of_numbers_that_are_no_picture(tmp_path, dtype):
    page = RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (20, 24), dtype=dtype)
    tifffile.imwrite(tmp_path / "a.tif", page // 2, metadata=None)
    with open_source(tmp_path / "a.tif") as source:
        assert (source.info.kind, source.info.dtype, source.shape) == ("volume", np.dtype(dtype), (1, 20, 24))
    result = run("denoise", "--strength", 0, "--level", 0, tmp_path / "a.tif", tmp_path / "b.tif")
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "b.tif"), page // 2)


@pytest.mark.parametrize("bigtiff", [False, True])
@pytest.mark.parametrize("planar", ["contig", "separate"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_stacks_in_colour(tmp_path, bigtiff, planar, dtype, compression):
    shape = (3, 20, 24, 3) if planar == "contig" else (3, 3, 20, 24)
    stack = make_stack(*shape, dtype=dtype)
    tifffile.imwrite(
        tmp_path / "a.tif", stack, bigtiff=bigtiff, photometric="rgb", planarconfig=planar, compression=compression
    )
    colour = stack if planar == "contig" else np.moveaxis(stack, 1, -1)
    with open_source(tmp_path / "a.tif") as source:
        assert (source.info.colours, source.info.groups) == ("rgb", 1)
        np.testing.assert_array_equal([frame.pixels for frame in source], colour)
    enhance_file(tmp_path / "a.tif", tmp_path / "b.tif", Enhancer(()))
    with open_source(tmp_path / "b.tif") as source:
        np.testing.assert_array_equal([frame.pixels for frame in source], colour)


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_white_that_is_zero_is_white(tmp_path, dtype):
    stack = make_stack(3, 20, 24, dtype=dtype)
    tifffile.imwrite(tmp_path / "a.tif", stack, photometric="miniswhite", metadata=None)
    with open_source(tmp_path / "a.tif") as source:
        np.testing.assert_array_equal([frame.pixels for frame in source], np.iinfo(dtype).max - stack)


def test_axes_that_say_nothing_and_palettes_are_refused(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", make_stack(2, 3, 20, 24), photometric="minisblack")
    with pytest.raises(FormatError, match="has the axes QQYX, and does not say which of them are slices"):
        open_source(tmp_path / "a.tif")
    palette = RNG.integers(0, 2**16, (3, 256)).astype(np.uint16)
    tifffile.imwrite(tmp_path / "a.tif", make_stack(3, 20, 24, dtype="uint8"), photometric="palette", colormap=palette)
    with pytest.raises(FormatError, match="numbers of a palette"):
        open_source(tmp_path / "a.tif")


def spoil(content, old, new):
    """Change text of the same length, so that offsets stay right."""
    assert old in content
    return content.replace(old, new.ljust(len(old)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"</Pixels>", b"</Pix>"),
        (b'SizeX="24"', b'SizeX=""'),
        (b'SizeZ="4"', b'SizeZ="x"'),
        (b'SizeZ="4"', b""),
        (b'SizeZ="4"', b'SizeZ="0"'),
        (b'DimensionOrder="XYCZT"', b'DimensionOrder="?"'),
        (b'Type="uint16"', b'Type="no"'),
        (b"<Image ", b"<Omage "),
        (b'PhysicalSizeX="0.5"', b'PhysicalSizeX="x"'),
        (b'PlaneCount="4"', b'PlaneCount="9"'),
        (b'IFD="0"', b'IFD="9"'),
        (b"<OME", b"<\xff\xfe"),
    ],
)
def test_damaged_ome_is_read_or_refused_in_one_line(tmp_path, old, new):
    stack = make_stack(4, 20, 24)
    tifffile.imwrite(tmp_path / "a.ome.tif", stack, ome=True, metadata={"axes": "ZYX", "PhysicalSizeX": 0.5})
    name = tmp_path / "a.ome.tif"
    name.write_bytes(spoil(name.read_bytes(), old, new))
    result = run("denoise", "--strength", 0, name, tmp_path / "b.ome.tif")
    if result.exit_code == 0:
        np.testing.assert_array_equal(tifffile.imread(tmp_path / "b.ome.tif"), stack)
    else:
        assert result.exit_code == 2, result.output
        assert "a.ome.tif" in result.output


@pytest.mark.parametrize(("old", "new", "missing"), [("SizeZ", 9, 5), ("PlaneCount", 2, 2), ("IFD", 1, 1)])
def test_pages_that_ome_speaks_of_and_are_not_there(tmp_path, old, new, missing):
    tifffile.imwrite(tmp_path / "a.ome.tif", make_stack(4, 20, 24), ome=True, metadata={"axes": "ZYX"})
    name = tmp_path / "a.ome.tif"
    name.write_bytes(re.sub(rb'%s="\d"' % old.encode(), b'%s="%d"' % (old.encode(), new), name.read_bytes()))
    with pytest.raises(FormatError, match=f"^{missing} of the . pages that .* in its OME-XML are missing"):
        open_source(name)
