"""Volumes: slice by slice and in blocks, with the size of their voxels."""

import contextlib
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest

from subband.enhance import Denoise, Enhancer
from subband.errors import ArgumentError, FormatError, MissingExtraError, ShapeError
from subband.media import DamagedError, Frame, OutputError, open_sink, open_source, open_volume
from subband.media.geometry import PlaceWarning, find_affine
from subband.media.volumes import describe_volume
from subband.pipeline.files import enhance_file

RNG = np.random.default_rng(0)
WHY = "not installed: pip install 'subband[volumes]'"
SIZE = (2.5, 0.5, 0.25)
NAMES = {
    "volume.npy": None,
    "volume.tiff": "tifffile",
    "volume.h5": "h5py",
    "volume.h5:scan/t1": "h5py",
    "volume.nii": "nibabel",
    "volume.nii.gz": "nibabel",
}


def need(name):
    if NAMES[name] is not None:
        pytest.importorskip(NAMES[name], reason=f"{NAMES[name]} is {WHY}")


def make_volume(dtype, shape=(6, 5, 7)):
    if np.dtype(dtype).kind == "f":
        return RNG.normal(size=shape).astype(dtype)
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def write_volume(path, volume, *, known=True, **options):
    info = describe_volume(volume.shape, volume.dtype, voxel_size=SIZE, voxel_unit="um")
    info = info if known else replace(info, count=None)
    with open_sink(path, info, **options) as sink:
        for number, pixels in enumerate(volume):
            sink.write(Frame(pixels, number))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16", "float32"])
@pytest.mark.parametrize("known", [True, False], ids=["counted", "uncounted"])
def test_volumes_come_back(tmp_path, name, dtype, known):
    need(name)
    if name.endswith(".gz") and not known:
        pytest.skip("a packed NIfTI has to know its number of slices")
    volume = make_volume(dtype)
    write_volume(f"{tmp_path}/{name}", volume, known=known)
    with open_source(f"{tmp_path}/{name}") as source:
        assert source.info.kind == "volume"
        assert source.info.dtype == volume.dtype
        assert (source.info.count, *source.info.shape) == source.shape == volume.shape
        np.testing.assert_array_equal([frame.pixels for frame in source], volume)
        if name != "volume.npy":
            assert source.info.voxel_size == pytest.approx(SIZE)
            assert source.info.voxel_unit == "um"


@pytest.mark.parametrize("name", NAMES)
def test_blocks(tmp_path, name):
    need(name)
    volume = make_volume("float32")
    write_volume(f"{tmp_path}/{name}", volume)
    with open_volume(f"{tmp_path}/{name}") as source:
        block = source.read_block((slice(1, 4), slice(2, None), slice(-3, None)))
        np.testing.assert_array_equal(block, volume[1:4, 2:, -3:])
        block[...] = 0
        np.testing.assert_array_equal(source.read_block(slice(1, 3)), volume[1:3])
        assert source.read_block(slice(4, 4)).shape == (0, 5, 7)
        with pytest.raises(ArgumentError, match="steps"):
            source.read_block(slice(0, 4, 2))
        with pytest.raises(ArgumentError, match="5 parts"):
            source.read_block((slice(None),) * 5)


def test_pages_that_are_packed_are_read_one_by_one(tmp_path):
    tifffile = pytest.importorskip("tifffile", reason=f"tifffile is {WHY}")
    volume = make_volume("uint16", (8, 32, 32))
    tifffile.imwrite(tmp_path / "packed.tif", volume, compression="zlib", photometric="minisblack")
    with open_volume(tmp_path / "packed.tif") as source:
        np.testing.assert_array_equal([frame.pixels for frame in source], volume)
        np.testing.assert_array_equal(source.read_block((slice(2, 5), slice(3, 9))), volume[2:5, 3:9])


@pytest.mark.parametrize("kind", ["imagej", "ome"])
def test_voxel_sizes_of_others(tmp_path, kind):
    tifffile = pytest.importorskip("tifffile", reason=f"tifffile is {WHY}")
    volume = make_volume("uint16")
    name = tmp_path / ("stack.ome.tif" if kind == "ome" else "stack.tif")
    if kind == "imagej":
        metadata = {"axes": "ZYX", "spacing": 2.5, "unit": "um"}
        tifffile.imwrite(name, volume, imagej=True, resolution=(4, 2), metadata=metadata)
    else:
        sizes = {"PhysicalSizeX": 0.25, "PhysicalSizeY": 0.5, "PhysicalSizeZ": 2.5, "PhysicalSizeXUnit": "µm"}
        tifffile.imwrite(name, volume, metadata={"axes": "ZYX", **sizes}, ome=True)
    with open_source(name) as source:
        assert source.info.voxel_size == pytest.approx(SIZE)
        assert source.info.voxel_unit == "um"
        np.testing.assert_array_equal([frame.pixels for frame in source], volume)


def test_our_stack_is_one_for_imagej(tmp_path):
    tifffile = pytest.importorskip("tifffile", reason=f"tifffile is {WHY}")
    write_volume(tmp_path / "stack.tif", make_volume("uint16"))
    with tifffile.TiffFile(tmp_path / "stack.tif") as file:
        assert file.is_imagej
        assert file.imagej_metadata["spacing"] == 2.5
        assert file.series[0].shape == (6, 5, 7)
        assert not file.is_bigtiff


def test_one_page_is_a_picture_and_colours_stay(tmp_path):
    pytest.importorskip("tifffile", reason=f"tifffile is {WHY}")
    colour = make_volume("uint8", (4, 5, 6, 3))
    write_volume(tmp_path / "stack.tif", colour)
    with open_source(tmp_path / "stack.tif") as source:
        assert source.info.colours == "rgb"
        np.testing.assert_array_equal([frame.pixels for frame in source], colour)
    with open_source("test:8x6?count=1") as still, open_sink(tmp_path / "one.tif", still.info) as sink:
        for frame in still:
            sink.write(frame)
    with open_source(tmp_path / "one.tif") as source:
        assert source.info.kind == "still"


def test_datasets_have_to_be_named(tmp_path):
    h5py = pytest.importorskip("h5py", reason=f"h5py is {WHY}")
    with h5py.File(tmp_path / "two.h5", "w") as file:
        file["a"], file["group/b"], file["flat"] = np.zeros((2, 3, 4)), np.ones((2, 3, 4)), np.zeros(3)
        file["a"].attrs["element_size_um"] = (3, 2, 1)
    with pytest.raises(ArgumentError, match="a, group/b"):
        open_source(tmp_path / "two.h5")
    with pytest.raises(ArgumentError, match="no volume 'c'"):
        open_source(f"{tmp_path}/two.h5:c")
    with open_source(f"{tmp_path}/two.h5:/a") as source:
        assert (source.info.voxel_size, source.info.voxel_unit) == ((3, 2, 1), "um")


def test_nifti_keeps_its_place_in_the_body(tmp_path):
    nibabel = pytest.importorskip("nibabel", reason=f"nibabel is {WHY}")
    volume = make_volume("int16", (7, 5, 6))
    affine = np.array([[0, -0.5, 0, 3], [0.25, 0, 0, 4], [0, 0, 2.5, 5], [0, 0, 0, 1]])
    nibabel.save(nibabel.Nifti1Image(volume, affine), tmp_path / "first.nii.gz")
    for name in ("second.nii", "second.nii.gz"):
        with open_source(tmp_path / "first.nii.gz") as source, open_sink(tmp_path / name, source.info) as sink:
            assert source.info.voxel_size == (2.5, 0.5, 0.25)
            for frame in source:
                sink.write(frame)
        copy = nibabel.load(tmp_path / name)
        np.testing.assert_array_equal(np.asarray(copy.dataobj), volume)
        np.testing.assert_allclose(copy.affine, affine)
        assert copy.header.get_xyzt_units()[0] == "mm"


@pytest.fixture
def series(tmp_path):
    """Give a folder of DICOM slices, in no order."""
    pydicom = pytest.importorskip("pydicom", reason=f"pydicom is {WHY}")
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian, generate_uid

    volume = make_volume("int16", (5, 4, 6)) // 64
    folder = tmp_path / "series"
    folder.mkdir()
    uid = generate_uid()
    for number, pixels in enumerate(volume):
        meta = FileMetaDataset()
        meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = CTImageStorage, generate_uid()
        meta.TransferSyntaxUID = ExplicitVRLittleEndian
        slab = FileDataset(None, {}, file_meta=meta, preamble=b"\0" * 128)
        slab.SOPClassUID, slab.SOPInstanceUID = meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID
        slab.SeriesInstanceUID, slab.Modality, slab.InstanceNumber = uid, "CT", 9 - number
        slab.Rows, slab.Columns, slab.PixelSpacing, slab.SliceThickness = 4, 6, [0.5, 0.25], 9
        slab.ImagePositionPatient, slab.ImageOrientationPatient = [0, 0, 2.5 * number], [1, 0, 0, 0, 1, 0]
        slab.SamplesPerPixel, slab.PhotometricInterpretation = 1, "MONOCHROME2"
        slab.BitsAllocated = slab.BitsStored = 16
        slab.HighBit, slab.PixelRepresentation = 15, 1
        slab.RescaleSlope, slab.RescaleIntercept = 2, -1024
        slab.PixelData = pixels.tobytes()
        pydicom.dcmwrite(folder / f"{(number * 3) % 5}.dcm", slab)
    (folder / "README").write_text("not a slice")
    return folder, volume


def test_dicom_slices_are_put_in_order(series):
    folder, volume = series
    with open_source(folder) as source:
        assert source.info.voxel_size == pytest.approx(SIZE)
        assert source.info.dtype == np.float32
        np.testing.assert_allclose([frame.pixels for frame in source], volume * 2.0 - 1024)
        np.testing.assert_allclose(source.read_block(slice(1, 3)), volume[1:3] * 2.0 - 1024)


def test_dicom_slice_that_is_damaged(series):
    folder, _ = series
    name = folder / "2.dcm"  # the fifth slice
    name.write_bytes(name.read_bytes()[:-20])
    with open_source(folder) as source:
        seen = []
        with pytest.raises(DamagedError, match="slice 4"):
            seen.extend(frame.number for frame in source)
    assert seen == [0, 1, 2, 3]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("content", [b"", b"hello" * 100])
def test_what_is_no_volume(tmp_path, name, content):
    need(name)
    (tmp_path / name.partition(":")[0]).write_bytes(content)
    with pytest.raises(FormatError, match=r"volume\."):
        open_source(f"{tmp_path}/{name}")


@pytest.mark.parametrize("name", [name for name in NAMES if ":" not in name])
@pytest.mark.parametrize("share", [0.3, 0.75])
def test_truncated_volumes(tmp_path, name, share):
    need(name)
    write_volume(tmp_path / name, make_volume("uint16", (20, 40, 50)))
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: int(len(content) * share)])

    def walk():
        with open_source(tmp_path / name) as source:
            for _ in source:
                pass

    with pytest.raises(FormatError, match="volume"):
        walk()


def test_other_shapes_and_numbers(tmp_path):
    for array in (np.zeros(5), np.zeros((2, 3, 4, 5, 6)), np.zeros((2, 3, 4), complex), np.zeros((2, 3, 4), object)):
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(FormatError, match=r"a\.npy"):
            open_source(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", np.zeros((3, 4), ">u2"))
    with open_source(tmp_path / "a.npy") as source:
        assert (source.shape, source.info.dtype.isnative) == ((1, 3, 4), True)


@pytest.mark.parametrize("name", NAMES)
def test_unfinished_volumes(tmp_path, name):
    need(name)
    volume = make_volume("uint8")
    info = describe_volume(volume.shape, volume.dtype)
    sink = open_sink(f"{tmp_path}/{name}", info)
    sink.write(Frame(volume[0]))
    with pytest.raises(ShapeError, match="frame 1"):
        sink.write(Frame(volume[1, :2], 1))
    assert all(".part" in path.name for path in tmp_path.iterdir())
    sink.abort()
    assert not list(tmp_path.iterdir())
    write_volume(f"{tmp_path}/{name}", volume)
    with pytest.raises(ArgumentError, match="overwrite=True"):
        open_sink(f"{tmp_path}/{name}", info)


@pytest.mark.parametrize("name", ["volume.npy", "volume.tiff", "volume.h5", "volume.nii"])
def test_partial_volumes_can_be_kept(tmp_path, name):
    need(name)
    volume = make_volume("uint8")
    sink = open_sink(tmp_path / name, describe_volume(volume.shape, volume.dtype), keep_partial=True)
    for pixels in volume[:3]:
        sink.write(Frame(pixels))
    sink.abort()
    (part,) = tmp_path.iterdir()
    with open_source(part) as source:
        np.testing.assert_array_equal([frame.pixels for frame in source], volume[:3])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limits of files")
@pytest.mark.parametrize("name", ["volume.npy", "volume.tiff", "volume.nii", "volume.nrrd", "volume.mha", "volume.dcm"])
def test_full_disk(tmp_path, name):
    program = f"""
        import resource, sys
        sys.path[:0] = {sys.path!r}
        import numpy as np
        from subband.media import Frame, OutputError, open_sink
        from subband.media.volumes import describe_volume
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        try:
            with open_sink(sys.argv[1], describe_volume((100, 64, 64), np.uint8)) as sink:
                for number in range(100):
                    sink.write(Frame(np.zeros((64, 64), np.uint8), number))
        except OutputError as error:
            print(error)
    """
    child = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / name)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "cannot be written" in child.stdout, child.stderr
    assert child.stdout.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("library", ["h5py", "nibabel", "tifffile", "pydicom", "nrrd"])
def test_missing_libraries_are_named(tmp_path, monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    name = {"h5py": "a.h5", "nibabel": "a.nii", "tifffile": "a.tif", "pydicom": "a.dcm", "nrrd": "a.nrrd"}[library]
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(MissingExtraError, match=r"subband\[volumes\]"):
        open_volume(tmp_path / name)
    # headers of NRRD are written without
    if library != "nrrd":
        (tmp_path / name).unlink()
        with pytest.raises(MissingExtraError, match=r"subband\[volumes\]"):
            open_sink(tmp_path / name, describe_volume((2, 3, 4), np.uint8))
        assert not list(tmp_path.iterdir())


def test_places_that_take_no_files():
    if sys.platform != "linux":
        pytest.skip("needs a folder that not even root writes to")
    with pytest.raises(OutputError, match="cannot be written"):
        open_sink("/proc/volume.npy", describe_volume((2, 3, 4), np.uint8))


@pytest.mark.parametrize("second", [(10, 15), (20, 30, 3)])
def test_pages_of_different_sizes_are_refused(tmp_path, second):
    tifffile = pytest.importorskip("tifffile", reason=f"tifffile is {WHY}")
    with tifffile.TiffWriter(tmp_path / "pages.tif") as writer:
        writer.write(make_volume("uint8", (20, 30)))
        writer.write(make_volume("uint8", second), photometric="rgb" if len(second) > 2 else "minisblack")
    for function in (open_source, open_volume):
        with pytest.raises(FormatError, match=r"pages\.tif' holds pages of different sizes; split it first"):
            function(tmp_path / "pages.tif")


def test_pages_that_were_written_one_by_one_are_a_stack(tmp_path):
    tifffile = pytest.importorskip("tifffile", reason=f"tifffile is {WHY}")
    volume = make_volume("uint8", (3, 20, 30))
    with tifffile.TiffWriter(tmp_path / "pages.tif") as writer:
        for page in volume:
            writer.write(page, contiguous=False, subfiletype=2)
        writer.write(volume[0, ::2, ::2], contiguous=False, subfiletype=1)
    with open_source(tmp_path / "pages.tif") as source:
        np.testing.assert_array_equal([frame.pixels for frame in source], volume)


def test_array_of_rows_and_columns_stays_one(tmp_path):
    array = make_volume("float32", (5, 7))
    np.save(tmp_path / "first.npy", array)
    with (
        open_source(tmp_path / "first.npy") as source,
        open_sink(tmp_path / "second.npy", source.info) as sink,
    ):
        for frame in source:
            sink.write(frame)
    np.testing.assert_array_equal(np.load(tmp_path / "second.npy"), array, strict=True)


@pytest.mark.parametrize("shape", [(20, 30, 3), (20, 30, 4)])
def test_array_that_is_a_picture_in_colour_is_refused(tmp_path, shape):
    np.save(tmp_path / "picture.npy", make_volume("uint8", shape))
    with pytest.raises(FormatError, match=r"colour image.*save it as an image"):
        open_source(tmp_path / "picture.npy")


def make_times(groups=3, depth=6):
    """Make volumes that differ much from one to the next, with noise of their own."""
    generator = np.random.default_rng(1)
    base = np.add.outer(np.arange(depth), np.add.outer(np.arange(20), np.arange(24))).astype(np.float32)
    return np.stack([base * 10 + 400 * time + generator.normal(0, 5, base.shape) for time in range(groups)])


@pytest.mark.parametrize("name", ["times.nii", "times.nii.gz", "times.npy", "times.h5", "times.npz"])
@pytest.mark.parametrize("memory", [None, 700_000])
def test_times_are_filtered_apart_and_stay_times(tmp_path, name, memory):
    nibabel = pytest.importorskip("nibabel", reason=f"nibabel is {WHY}")
    h5py = pytest.importorskip("h5py", reason=f"h5py is {WHY}")
    times = make_times(depth=6 if memory is None else 60).astype(np.float32)
    affine = np.array([[0, -0.5, 0, 3], [0.25, 0, 0, 4], [0, 0, 2.5, 5], [0, 0, 0, 1]])
    image = nibabel.Nifti1Image(times.T, affine)
    image.header.set_zooms((0.25, 0.5, 2.5, 1.7))
    image.header.set_xyzt_units("mm", "sec")
    source = tmp_path / "source.nii"
    nibabel.save(image, source)
    if name == "times.npz":
        np.savez(tmp_path / name, scan=times)
        source, name = tmp_path / name, "times.npy"
    enhancer = Enhancer(Denoise(level=1))
    loses = name == "times.npy" and source.suffix == ".nii"
    with pytest.warns(PlaceWarning) if loses else contextlib.nullcontext():
        enhance_file(source, tmp_path / name, enhancer, memory=memory)
    expected = np.stack([enhancer.apply(each, axes=(0, 1, 2)) for each in times])
    if ".nii" in name:
        result = nibabel.load(tmp_path / name)
        np.testing.assert_allclose(result.affine, affine, atol=1e-6)
        np.testing.assert_allclose(result.header.get_zooms(), (0.25, 0.5, 2.5, 1.7))
        assert result.header.get_xyzt_units() == ("mm", "sec")
        found = np.asarray(result.dataobj).T
    elif name == "times.h5":
        with h5py.File(tmp_path / name) as file:
            found = file["volume"][:]
    else:
        found = np.load(tmp_path / name)
    assert found.shape == times.shape
    np.testing.assert_allclose(found, expected, atol=0.02)
    with open_source(tmp_path / name) as again:
        assert (again.info.count, again.info.groups) == (len(times) * times.shape[1], 3)
        np.testing.assert_array_equal([frame.pixels for frame in again], found.reshape(-1, 20, 24))


@pytest.mark.parametrize("axes", [(20, 24), (20, 24, 6), (20, 24, 6, 1), (20, 24, 3, 2, 2), (20, 24, 3, 1, 2)])
@pytest.mark.parametrize("kind", ["Nifti1", "Nifti2"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_nifti_of_any_axes_comes_back(tmp_path, axes, kind, order):
    nibabel = pytest.importorskip("nibabel", reason=f"nibabel is {WHY}")
    values = make_volume("int16", axes)
    image = getattr(nibabel, f"{kind}Image")(
        values, np.diag([-2, 3, 4, 1]), getattr(nibabel, f"{kind}Header")(endianness=order)
    )
    image.header.extensions.append(nibabel.nifti1.Nifti1Extension("comment", b"kept as it is"))
    image.header["descrip"] = b"a scan"
    nibabel.save(image, tmp_path / "first.nii")
    for name in ("second.nii", "second.nii.gz"):
        with open_source(tmp_path / "first.nii") as source, open_sink(tmp_path / name, source.info) as sink:
            for frame in source:
                sink.write(frame)
        copy = nibabel.load(tmp_path / name)
        assert type(copy) is type(image)
        np.testing.assert_array_equal(np.asarray(copy.dataobj).reshape(axes), values)
        np.testing.assert_allclose(copy.affine, image.affine)
        assert [each.get_content() for each in copy.header.extensions] == [b"kept as it is"]
        assert copy.header["descrip"] == b"a scan"


def test_nifti_without_a_place_claims_none(tmp_path):
    nibabel = pytest.importorskip("nibabel", reason=f"nibabel is {WHY}")
    write_volume(tmp_path / "volume.nii", make_volume("int16"))
    header = nibabel.load(tmp_path / "volume.nii").header
    assert (int(header["sform_code"]), int(header["qform_code"])) == (0, 0)
    np.testing.assert_allclose(header.get_zooms(), SIZE[::-1])


def test_arrays_of_an_archive_have_to_be_named(tmp_path):
    volume = make_volume("int16")
    np.savez_compressed(tmp_path / "two.npz", a=volume, b=volume + 1)
    with pytest.raises(ArgumentError, match=r"holds the arrays a, b; name one, as in two\.npz:NAME"):
        open_source(tmp_path / "two.npz")
    with pytest.raises(ArgumentError, match="no array 'c'; it has a, b"):
        open_source(f"{tmp_path}/two.npz:c")
    with open_source(f"{tmp_path}/two.npz:b") as source:
        np.testing.assert_array_equal([frame.pixels for frame in source], volume + 1)
    (tmp_path / "two.npz").write_bytes(b"hello" * 100)
    with pytest.raises(FormatError, match=r"two\.npz' cannot be read as an archive"):
        open_source(tmp_path / "two.npz")


def test_axes_that_are_no_space_are_none_for_dask(tmp_path):
    storage = pytest.importorskip("subband.integrations.dask.storage", reason=f"dask is {WHY}")
    times = make_times()
    np.save(tmp_path / "times.npy", times)
    stored = storage.open_array(tmp_path / "times.npy")
    assert stored.space == (1, 2, 3)
    np.testing.assert_array_equal(stored.array.compute(), times)


@pytest.mark.parametrize("name", ["a.nii", "a.h5", "a.nrrd", "a.mha", "a.dcm", "a.tif", "a.npy"])
def test_place_in_space_is_kept_or_its_loss_is_told(tmp_path, name):
    affine = np.array([[-0.25, 0, 0, 3], [0, -0.5, 0, 4], [0, 0, 2.5, 5], [0, 0, 0, 1]])
    volume = make_volume("int16")
    info = describe_volume(volume.shape, "int16", voxel_size=SIZE, metadata={"affine": affine}, origin="a.scan")
    loses = name in ("a.tif", "a.npy")
    said = pytest.warns(PlaceWarning, match=rf"'{name}' cannot say where its voxels lie in space, and 'a\.scan' does")
    with said if loses else contextlib.nullcontext():
        sink = open_sink(tmp_path / name, info)
    with sink:
        for pixels in volume:
            sink.write(Frame(pixels))
    with open_source(tmp_path / name) as source:
        found = find_affine(source.info)
        np.testing.assert_array_equal([frame.pixels for frame in source], volume)
    assert (found is None) if loses else np.allclose(found, affine, atol=1e-6)


def test_nifti_of_a_unit_that_is_none(tmp_path):
    nibabel = pytest.importorskip("nibabel", reason=f"nibabel is {WHY}")
    nibabel.save(nibabel.Nifti1Image(make_volume("int16"), np.eye(4)), tmp_path / "a.nii")
    content = bytearray((tmp_path / "a.nii").read_bytes())
    content[123] = 56
    (tmp_path / "a.nii").write_bytes(content)
    with pytest.raises(FormatError, match=r"a\.nii' cannot be read as NIfTI"):
        open_source(tmp_path / "a.nii")
