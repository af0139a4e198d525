"""Arrays in files, jobs that are resumed, and pyramids for viewers."""

import json
import os
import subprocess
import sys
import warnings

import dask.array as da
import h5py
import numpy as np
import pytest
import tifffile
import zarr

import subband
from subband import decompose
from subband.enhance import Denoise, Enhancer
from subband.errors import ArgumentError, FormatError, LevelError
from subband.integrations.dask import denoise_store, open_array, write_pyramid
from subband.integrations.dask.batches import compute_batches, cut_batches
from subband.integrations.dask.jobs import run_job
from subband.media.faults import OutputError
from subband.media.stores import Manifest, Target, find_axes, find_manifest, regions

VOLUME = np.random.default_rng(0).normal(100, 10, (40, 30, 50)).astype(np.float32)
STAGE = Enhancer(Denoise(level=1))


def save(path, values=VOLUME, chunks=(16, 16, 16), **options):
    stored = zarr.create_array(str(path), shape=values.shape, chunks=chunks, dtype=values.dtype, **options)
    stored[...] = values
    return path


def load(path, part=None):
    return zarr.open_array(str(path), path=part, mode="r")[...]


@pytest.fixture
def source(tmp_path):
    return save(tmp_path / "in.zarr")


@pytest.mark.parametrize("version", [2, 3])
def test_zarr_is_read_lazily(tmp_path, version):
    stored = open_array(save(tmp_path / "in.zarr", zarr_format=version), (10, 30, 20))
    assert stored.array.chunks == ((10,) * 4, (30,), (20, 20, 10))
    np.testing.assert_array_equal(stored.array.compute(), VOLUME)
    assert [axis.name for axis in stored.axes] == ["z", "y", "x"]


def test_small_chunks_are_read_together(tmp_path):
    stored = open_array(save(tmp_path / "in.zarr", np.zeros((64, 512, 512), np.uint8), (8, 64, 64)))
    assert 2**21 <= np.prod(stored.array.chunksize) < 2**23


def test_hdf5_and_tiff_stacks(tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["data"] = VOLUME
    tifffile.imwrite(tmp_path / "in.tiff", VOLUME)
    for name in ("in.h5:data", "in.tiff"):
        stored = open_array(f"{tmp_path}/{name}", (16,))
        assert stored.array.numblocks == (3, 2, 4)
        np.testing.assert_array_equal(stored.array.compute(scheduler="synchronous"), VOLUME)


def test_denoised_store_is_that_of_memory(source, tmp_path):
    report = denoise_store(source, tmp_path / "out.zarr", STAGE, chunks=(16, 30, 25))
    assert (report.chunks, report.computed, report.kept) == (6, 6, 0)
    assert report.peak > 2**20
    stored = zarr.open_array(str(tmp_path / "out.zarr"), mode="r")
    assert stored.chunks == (16, 30, 25)
    assert stored.metadata.zarr_format == 3
    np.testing.assert_allclose(stored[...], STAGE.apply(VOLUME), atol=5e-4)


def test_ome_zarr_goes_in_and_out(tmp_path):
    write_pyramid(save(tmp_path / "in.zarr"), tmp_path / "image.ome.zarr", levels=1)
    denoise_store(tmp_path / "image.ome.zarr", tmp_path / "clean.ome.zarr", STAGE)
    group = zarr.open_group(str(tmp_path / "clean.ome.zarr"), mode="r")
    assert find_axes(dict(group.attrs), "clean.ome.zarr")[0] == "0"
    np.testing.assert_allclose(group["0"][...], STAGE.apply(VOLUME), atol=5e-4)


def test_more_axes_than_space_are_pictures_of_their_own(tmp_path):
    x = np.stack([VOLUME, VOLUME[::-1]])
    denoise_store(save(tmp_path / "in.zarr", x, (1, 16, 16, 16)), tmp_path / "out.zarr", STAGE)
    np.testing.assert_allclose(load(tmp_path / "out.zarr")[1], STAGE.apply(VOLUME[::-1]), atol=5e-4)


def test_interrupted_job_computes_what_is_missing(source, tmp_path):
    out = tmp_path / "out.zarr"
    denoise_store(source, out, STAGE, chunks=(16,))
    expected = load(out)
    lines = find_manifest(out).read_text().splitlines()
    # as if killed after five chunks, in the middle of a line
    find_manifest(out).write_text("\n".join([*lines[:7], '{"array": "", "chu']))
    report = denoise_store(source, out, STAGE, chunks=(16,), resume=True)
    assert (report.chunks, report.computed) == (24, 24 - 5)
    np.testing.assert_array_equal(load(out), expected)
    assert denoise_store(source, out, STAGE, chunks=(16,), resume=True).computed == 0


def test_damaged_and_missing_chunks_are_computed_again(source, tmp_path):
    out = tmp_path / "out.zarr"
    denoise_store(source, out, STAGE, chunks=(16,))
    expected = load(out)
    files = sorted(path for path in (out / "c").rglob("*") if path.is_file())
    files[0].unlink()
    files[1].write_bytes(b"nothing of the kind")
    zarr.open_array(str(out), mode="r+")[32:, :16, :16] = 0
    assert denoise_store(source, out, STAGE, chunks=(16,), resume=True).computed == 3
    np.testing.assert_array_equal(load(out), expected)


def test_another_job_is_not_resumed(source, tmp_path):
    out = tmp_path / "out.zarr"
    denoise_store(source, out, STAGE, chunks=(16,))
    with pytest.raises(ArgumentError, match="was another one: its chunks"):
        denoise_store(source, out, STAGE, chunks=(20,), resume=True)
    with pytest.raises(ArgumentError, match="was another one: its chain"):
        denoise_store(source, out, Enhancer(Denoise(level=2)), chunks=(16,), resume=True)
    with pytest.raises(ArgumentError, match="is there already"):
        denoise_store(source, out, STAGE)
    find_manifest(out).write_text("{}")
    with pytest.raises(FormatError, match="is no manifest"):
        denoise_store(source, out, STAGE, chunks=(16,), resume=True)
    find_manifest(out).unlink()
    with pytest.raises(ArgumentError, match="holds no job"):
        denoise_store(source, out, STAGE, chunks=(16,), resume=True)
    denoise_store(source, out, STAGE, chunks=(20,), overwrite=True)


def test_resuming_what_was_never_begun_begins(source, tmp_path):
    assert denoise_store(source, tmp_path / "out.zarr", STAGE, chunks=(20,), resume=True).computed == 12


def test_pyramid_holds_approximations_in_the_units_of_the_samples(tmp_path):
    x = (VOLUME * 10).astype(np.uint16)
    report = write_pyramid(save(tmp_path / "in.zarr", x), tmp_path / "out.ome.zarr", levels=2, chunks=(16, 16, 20))
    with warnings.catch_warnings():
        # whatever lies in a group besides its arrays is wondered about
        warnings.simplefilter("error")
        arrays = dict(zarr.open_group(str(tmp_path / "out.ome.zarr"), mode="r").arrays())
    assert report.chunks == sum(int(np.prod(array.cdata_shape)) for array in arrays.values())
    np.testing.assert_array_equal(arrays["0"][...], x)
    for level in (1, 2):
        band = decompose(x, level=level).approximation / np.sqrt(2) ** (3 * level)
        np.testing.assert_allclose(arrays[str(level)][...], np.clip(np.rint(band), 0, 65535), atol=1.01)
        assert arrays[str(level)].dtype == np.uint16
    assert abs(arrays["2"][...].mean() - x.mean()) < 3


def test_pyramid_says_what_viewers_ask_for(tmp_path):
    tifffile.imwrite(
        tmp_path / "in.tiff",
        VOLUME,
        imagej=True,
        resolution=(4, 4),
        metadata={"spacing": 0.5, "unit": "um", "axes": "ZYX"},
    )
    write_pyramid(tmp_path / "in.tiff", tmp_path / "out.ome.zarr", "haar", levels=2)
    group = zarr.open_group(str(tmp_path / "out.ome.zarr"), mode="r")
    about = group.attrs["ome"]
    assert about["version"] == "0.5"
    (image,) = about["multiscales"]
    assert [axis["name"] for axis in image["axes"]] == ["z", "y", "x"]
    assert {axis["type"] for axis in image["axes"]} == {"space"}
    assert {axis["unit"] for axis in image["axes"]} == {"micrometer"}
    assert [dataset["path"] for dataset in image["datasets"]] == ["0", "1", "2"]
    for level, dataset in enumerate(image["datasets"]):
        scale, translation = dataset["coordinateTransformations"]
        assert scale["type"], translation["type"] == ("scale", "translation")
        np.testing.assert_allclose(scale["scale"], np.array([0.5, 0.25, 0.25]) * 2**level)
        # a coefficient of Haar's stands between its two samples
        np.testing.assert_allclose(translation["translation"], np.array([0.5, 0.25, 0.25]) * (2**level - 1) / 2)
        assert group[dataset["path"]].metadata.dimension_names == ("z", "y", "x")


def test_pyramid_goes_down_to_what_fits_a_screen(tmp_path):
    x = np.zeros((600, 1030), np.uint8)
    write_pyramid(save(tmp_path / "in.zarr", x, (256, 256)), tmp_path / "out.ome.zarr")
    group = zarr.open_group(str(tmp_path / "out.ome.zarr"), mode="r")
    assert [group[str(level)].shape for level in range(4)] == [(600, 1030), (300, 515), (150, 258), (75, 129)]
    with pytest.raises(LevelError, match="use 0 to 11"):
        write_pyramid(tmp_path / "in.zarr", tmp_path / "other.ome.zarr", levels=12)


def test_chunk_that_cannot_be_read_is_named(source, tmp_path):
    (source / "c" / "1" / "0" / "2").write_bytes(b"nothing of the kind")
    with pytest.raises(FormatError, match=r"in\.zarr' cannot be read at 16 to 32, 0 to 16, 32 to 48"):
        denoise_store(source, tmp_path / "out.zarr", STAGE)


def test_what_is_no_array_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_array(tmp_path / "none.zarr")
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(FormatError, match="holds neither"):
        open_array(tmp_path / "empty.zarr")
    zarr.create_group(str(tmp_path / "group.zarr"))
    with pytest.raises(FormatError, match="describes no multiscale image"):
        open_array(tmp_path / "group.zarr")
    with pytest.raises(ArgumentError, match="do not fit an array"):
        open_array(save(tmp_path / "in.zarr"), (1, 2))


def test_full_disk_is_one_clear_error(source, tmp_path, monkeypatch):
    class Full:
        def __setitem__(self, region, values):
            raise OSError(28, "No space left on device")

    usual = regions._open_zarr
    monkeypatch.setattr(regions, "_open_zarr", lambda *about: Full() if "r+" in about else usual(*about))
    with pytest.raises(OutputError, match="the disk is full"):
        denoise_store(source, tmp_path / "out.zarr", STAGE)


def test_unreachable_scheduler_is_one_clear_error(source, tmp_path, monkeypatch):
    monkeypatch.setattr("subband.integrations.dask.jobs._PATIENCE", 0.3)
    with pytest.raises(ArgumentError, match=r"'tcp://127\.0\.0\.1:9' cannot be reached"):
        denoise_store(source, tmp_path / "out.zarr", STAGE, scheduler="tcp://127.0.0.1:9")
    assert not (tmp_path / "out.zarr").exists()


def test_own_result_is_refused(source):
    with pytest.raises(ArgumentError, match="by its own result"):
        denoise_store(source, source, STAGE, overwrite=True)


def test_manifest_is_small_and_plain(source, tmp_path):
    denoise_store(source, tmp_path / "out.zarr", STAGE, chunks=(20,))
    head, noise, *chunks = map(json.loads, find_manifest(tmp_path / "out.zarr").read_text().splitlines())
    assert head["job"]["shape"] == [40, 30, 50]
    assert 9 < noise["noise"] < 11
    assert len(chunks) == 12
    assert set(chunks[0]) == {"array", "chunk", "checksum"}


def test_batches_hold_what_the_next_ones_need_and_no_more():
    x = da.ones((640, 8), chunks=(8, 8)).map_overlap(lambda block: block + 1, depth=(2, 0), boundary="none")
    graph = dict(x.dask)
    found = {}
    cut = cut_batches([{(k, 0): (x.name, k, 0) for k in range(80)}])
    compute_batches(graph, cut, lambda key, value: found.update({key: value.sum()}))
    assert len(cut) == 20
    assert found == {(x.name, k, 0): 128.0 for k in range(80)}


def test_of_what_the_next_batch_needs_a_part_of_the_part_is_kept(monkeypatch):
    from subband.integrations.dask import batches

    held = []
    monkeypatch.setattr(batches, "_return_memory", lambda kept: held.append(_count_bytes(kept)))
    x = da.ones((640, 100), chunks=(8, 100))
    lazy = subband.dwt(x.map_blocks(lambda block: block + 1), "db2", axis=0)[0]
    keys = [[(lazy.name, number, 0)] for number in range(lazy.numblocks[0])]
    compute_batches(dict(lazy.dask), keys, lambda _key, _value: None)
    # two rows of a chunk, and neither the chunk nor the other band
    assert 0 < max(held) <= 2 * 100 * 8


def test_memory_does_not_grow_with_the_volume(tmp_path, monkeypatch):
    held = []
    from subband.integrations.dask import batches

    monkeypatch.setattr(batches, "_return_memory", lambda kept: held.append(_count_bytes(kept)))
    peaks = []
    for length in (256, 512):
        held.clear()
        x = np.random.default_rng(0).normal(size=(length, 32, 32)).astype(np.float32)
        denoise_store(
            save(tmp_path / f"{length}.zarr", x, (16, 32, 32)),
            tmp_path / f"{length}-out.zarr",
            STAGE,
            chunks=(16, 32, 32),
        )
        peaks.append(max(held))
    assert peaks[1] <= peaks[0] * 1.05
    assert peaks[0] < x.nbytes / 2


def _count_bytes(value):
    if isinstance(value, dict):
        return sum(map(_count_bytes, value.values()))
    return getattr(value, "nbytes", 0)


def test_results_of_several_arrays_are_written_together(tmp_path):
    x = da.arange(100, chunks=10)
    arrays = {}
    for name, values in (("a", x), ("b", x[::2].rechunk(10))):
        target = Target(str(tmp_path / "out.zarr"), name)
        target.create(values, open_array(save(tmp_path / f"{name}.zarr", np.zeros(3), (3,))).axes)
        arrays[name] = values, target
    seen = []
    report = run_job(arrays, Manifest.begin(tmp_path / "out.zarr", {}), on_progress=lambda *now: seen.append(now))
    assert (report.chunks, seen[0], seen[-1]) == (15, (0, 15), (15, 15))
    np.testing.assert_array_equal(load(tmp_path / "out.zarr", "b"), np.arange(0, 100, 2))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limit is that of Linux")
@pytest.mark.skipif(not os.environ.get("LARGE_TESTS"), reason="writes 4 GiB in two minutes; set LARGE_TESTS=1")
def test_volume_of_four_times_the_memory_is_denoised_within_it(tmp_path):
    limit, shape, chunks = 512 * 2**20, (32768, 128, 128), (32, 128, 128)
    stored = zarr.create_array(str(tmp_path / "in.zarr"), shape=shape, chunks=chunks, dtype="float32", compressors=None)
    slab = np.random.default_rng(0).normal(100, 10, chunks).astype(np.float32)
    for start in range(0, shape[0], chunks[0]):
        stored[start : start + chunks[0]] = slab
    assert np.prod(shape) * 4 == 4 * limit
    program = f"""
import resource
resource.setrlimit(resource.RLIMIT_DATA, ({limit}, {limit}))
from subband.enhance import Denoise, Enhancer
from subband.integrations.dask import denoise_store
enhancer = Enhancer(Denoise(level=2, form="decimated"))
report = denoise_store({str(tmp_path / "in.zarr")!r}, {str(tmp_path / "out.zarr")!r}, enhancer, chunks={chunks})
print(report.computed, report.peak)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "MALLOC_ARENA_MAX": "2"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    computed, peak = map(int, done.stdout.split())
    print(f"{peak / 2**20:.0f} MiB at most")
    assert computed == 1024
    assert peak < limit
