"""Coefficients in files: names that can be read in HDF5, everything exact, and damage refused."""

import subprocess
import sys
from textwrap import dedent

import numpy as np
import pytest

import subband
from subband import Pyramid, decompose, reconstruct
from subband.errors import FormatError, MissingExtraError
from subband.pyramid_files import read_pyramid_file

h5py = pytest.importorskip("h5py")

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(17,), (9, 12), (5, 6, 7)])
def test_every_number_of_every_band_comes_back(tmp_path, dtype, shape):
    x = RNG.standard_normal(shape).astype(dtype)
    pyramid = decompose(x, "db2", 2, "periodization", engine="reference")
    pyramid.save(tmp_path / "bands.h5")
    loaded = Pyramid.load(tmp_path / "bands.h5")
    assert loaded.plan == pyramid.plan
    assert loaded.dtype == pyramid.dtype
    for (level, key, band), (other_level, other_key, other) in zip(pyramid.bands(), loaded.bands(), strict=True):
        assert (level, key, band.dtype) == (other_level, other_key, other.dtype)
        np.testing.assert_array_equal(band, other)


def test_integers_come_back_as_the_picture(tmp_path):
    pixels = RNG.integers(0, 65536, (19, 23), np.uint16)
    decompose(pixels, "cdf53", 3, reversible=True).save(tmp_path / "pixels.h5")
    back = reconstruct(Pyramid.load(tmp_path / "pixels.h5"))
    assert back.dtype == np.uint16
    np.testing.assert_array_equal(back, pixels)


def test_other_programs_find_their_way(tmp_path):
    x = RNG.standard_normal((3, 16, 24))
    pyramid = decompose(x, ("haar", "db2"), 2, ("symmetric", "zero"), axes=(1, 2))
    pyramid.save(tmp_path / "bands.hdf5")
    with h5py.File(tmp_path / "bands.hdf5") as file:
        assert {name: sorted(group) for name, group in file.items()} == {
            "level1": ["ad", "da", "dd"],
            "level2": ["aa", "ad", "da", "dd"],
        }
        np.testing.assert_array_equal(file["level2/aa"], pyramid.approximation)
        np.testing.assert_array_equal(file["level1/da"], pyramid.details[-1]["da"])
        attributes = {name: np.asarray(value).tolist() for name, value in file.attrs.items()}
    assert attributes.pop("wavelets").startswith("[{")
    assert attributes == {
        "format": 1,
        "wavelet": ["haar", "db2"],
        "modes": ["symmetric", "zero"],
        "level": 2,
        "shape": [3, 16, 24],
        "axes": [1, 2],
        "reversible": False,
        "stationary": False,
        "dtype": "<f8",
    }


@pytest.mark.parametrize("suffix", ["npz", "h5"])
def test_format_is_told_by_content_and_extra_arrays_stay(tmp_path, suffix):
    pyramid = decompose(np.arange(16.0), "haar", 2)
    pyramid.save(tmp_path / f"first.{suffix}", {"mask": np.arange(3)})
    renamed = (tmp_path / f"first.{suffix}").rename(tmp_path / "coefficients")
    np.testing.assert_array_equal(reconstruct(Pyramid.load(renamed)), reconstruct(pyramid))
    content = read_pyramid_file(renamed, has_bands=False)
    np.testing.assert_array_equal(content.extra["mask"], np.arange(3))
    assert list(content.extra) == ["mask"]
    assert not content.bands


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "bands.h5"
    decompose(RNG.standard_normal((32, 32)), "haar", 2).save(path)
    whole = path.read_bytes()
    for length in (8, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(FormatError, match=r"bands\.h5"):
            Pyramid.load(path)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["volume"] = np.zeros((4, 4, 4))
    with pytest.raises(FormatError, match=r"other\.h5"):
        Pyramid.load(tmp_path / "other.h5")
    path.write_bytes(whole)
    with h5py.File(path, "a") as file:
        del file["level1/da"]
    with pytest.raises(FormatError, match=r"bands\.h5"):
        Pyramid.load(path)


def test_failed_saves_leave_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "bands.h5"
    decompose(np.arange(8.0), "haar", 1).save(path)
    before = path.read_bytes()
    monkeypatch.setattr(type(path), "replace", lambda *_: (_ for _ in ()).throw(OSError("no space left")))
    with pytest.raises(OSError, match="no space"):
        decompose(np.arange(9.0), "haar", 1).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_missing_library_is_named(tmp_path, monkeypatch):
    subband.decompose(np.arange(8.0), "haar", 1).save(tmp_path / "bands.h5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtraError, match=r"subband\[volumes\]"):
        subband.decompose(np.arange(8.0), "haar", 1).save(tmp_path / "more.h5")
    with pytest.raises(MissingExtraError, match=r"subband\[volumes\]"):
        Pyramid.load(tmp_path / "bands.h5")
    assert [path.name for path in tmp_path.iterdir()] == ["bands.h5"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of the size of files")
@pytest.mark.parametrize("suffix", ["npz", "h5"])
def test_full_disks_are_an_error_and_leave_nothing(tmp_path, suffix):
    """HDF5's own library ends the process where a write falls short."""
    program = f"""
        import resource
        import numpy as np
        from subband import decompose

        pyramid = decompose(np.arange(4096.0).reshape(64, 64), "haar", 2, engine="reference")
        pyramid.save("whole.{suffix}")
        from pathlib import Path
        whole = Path("whole.{suffix}").stat().st_size
        Path("whole.{suffix}").unlink()
        for limit in (0, 1, 511, 4096, whole // 2, whole - 100, whole - 1):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            try:
                pyramid.save("part.{suffix}")
            except OSError:
                continue
            raise SystemExit(f"{{limit}} of {{whole}} bytes were enough")
    """
    done = subprocess.run(
        [sys.executable, "-c", dedent(program)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.iterdir())
