"""Stores that appear when they are complete: what failed jobs leave, and what they leave alone."""

import sys

import numpy as np
import pytest
import zarr

from subband.enhance import Denoise, Enhancer
from subband.errors import ArgumentError
from subband.integrations.dask import denoise_store, open_array, write_pyramid
from subband.media import Frame, OutputError, open_sink
from subband.media.stores import Target, find_manifest
from subband.media.volumes import describe_volume

VOLUME = np.random.default_rng(0).normal(100, 10, (40, 30, 50)).astype(np.float32)
STAGE = Enhancer(Denoise(level=1))
CHUNKS = 24


@pytest.fixture
def source(tmp_path):
    stored = zarr.create_array(str(tmp_path / "in.zarr"), shape=VOLUME.shape, chunks=(16, 16, 16), dtype=VOLUME.dtype)
    stored[...] = VOLUME
    return tmp_path / "in.zarr"


def denoise(source, output, **options):
    return denoise_store(source, output, STAGE, chunks=(16,), **options)


def load(path):
    return zarr.open_array(str(path), mode="r")[...]


def list_names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "in.zarr")


def fill_disk(monkeypatch, after, error=None):
    """Let no more than so many chunks be written."""
    usual, count = Target.write, iter(range(10**6))

    def write(self, block, region):
        if next(count) >= after:
            raise error or OutputError("the disk is full")
        return usual(self, block, region)

    monkeypatch.setattr(Target, "write", write)


@pytest.mark.parametrize("name", ["out.zarr", "out.ome.zarr"])
def test_a_job_that_wrote_nothing_leaves_nothing(source, tmp_path, monkeypatch, name):
    fill_disk(monkeypatch, 0)
    with pytest.raises(OutputError, match=r"the disk is full$"):
        denoise(source, tmp_path / name)
    with pytest.raises(OutputError, match=r"the disk is full$"):
        write_pyramid(source, tmp_path / name, levels=1)
    assert list_names(tmp_path) == []


@pytest.mark.parametrize("error", [None, KeyboardInterrupt()], ids=["full", "interrupted"])
def test_a_job_that_failed_later_is_resumed_and_nothing_is_there_before(source, tmp_path, monkeypatch, error):
    out = tmp_path / "out.zarr"
    with monkeypatch.context() as patched:
        fill_disk(patched, CHUNKS - 1, error)
        with pytest.raises((OutputError, KeyboardInterrupt)) as raised:
            denoise(source, out)
    if error is None:
        assert str(raised.value) == "the disk is full; what is finished is kept, and --resume goes on with it"
    assert list_names(tmp_path) == ["out.part.zarr", "out.part.zarr.job.jsonl"]
    with pytest.raises(ArgumentError, match=r"interrupted job has left .*out\.part\.zarr'; use --resume"):
        denoise(source, out)
    finished = find_manifest(tmp_path / "out.part.zarr").read_text().count("checksum")
    assert 0 < finished < CHUNKS
    report = denoise(source, out, resume=True)
    assert (report.chunks, report.computed) == (CHUNKS, CHUNKS - finished)
    assert list_names(tmp_path) == ["out.zarr", "out.zarr.job.jsonl"]
    denoise(source, tmp_path / "other.zarr")
    np.testing.assert_array_equal(load(out), load(tmp_path / "other.zarr"))


def test_a_store_stays_until_the_new_one_is_complete(source, tmp_path, monkeypatch):
    out = tmp_path / "out.zarr"
    denoise(source, out)
    before, manifest = load(out), find_manifest(out).read_text()
    with monkeypatch.context() as patched:
        fill_disk(patched, 3)
        with pytest.raises(OutputError):
            denoise_store(source, out, Enhancer(Denoise(level=2)), chunks=(20,), overwrite=True)
    np.testing.assert_array_equal(load(out), before)
    assert find_manifest(out).read_text() == manifest
    denoise_store(source, out, Enhancer(Denoise(level=2)), chunks=(20,), overwrite=True)
    assert list_names(tmp_path) == ["out.zarr", "out.zarr.job.jsonl"]
    assert zarr.open_array(str(out), mode="r").chunks == (20, 20, 20)


def test_a_store_of_other_chunks_replaces_one_that_is_still_open(source, tmp_path):
    denoise(source, tmp_path / "out.zarr")
    for name in ("out.zarr", "other.zarr"):
        denoise_store(source, tmp_path / name, STAGE, chunks=(20,), overwrite=True)
    np.testing.assert_array_equal(load(tmp_path / "out.zarr"), load(tmp_path / "other.zarr"))


def test_a_volume_that_was_replaced_is_read_anew(tmp_path):
    for value in (1, 2):
        volume = np.full((3, 4, 5), value, np.uint8)
        with open_sink(f"{tmp_path}/a.h5:x", describe_volume(volume.shape, volume.dtype), overwrite=True) as sink:
            for number, pixels in enumerate(volume):
                sink.write(Frame(pixels, number))
        np.testing.assert_array_equal(open_array(f"{tmp_path}/a.h5:x").array.compute(), volume)


def test_what_is_in_the_way_is_not_touched(source, tmp_path):
    (tmp_path / "out.part.zarr").mkdir()
    (tmp_path / "out.part.zarr" / "mine").touch()
    for options in ({}, {"overwrite": True}, {"resume": True}):
        with pytest.raises(ArgumentError, match=r"out\.part\.zarr' is in the way"):
            denoise(source, tmp_path / "out.zarr", **options)
    assert (tmp_path / "out.part.zarr" / "mine").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links are those of Unix")
def test_links_to_stores_stay_links(source, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "out.zarr").symlink_to("disk/data.zarr")
    for options in ({}, {"overwrite": True}):
        denoise(source, tmp_path / "out.zarr", **options)
        assert (tmp_path / "out.zarr").is_symlink()
        assert list_names(tmp_path / "disk") == ["data.zarr", "data.zarr.job.jsonl"]
    assert denoise(source, tmp_path / "out.zarr", resume=True).computed == 0
