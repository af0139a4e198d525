"""Datasets of HDF5 files: one is replaced, the others stay, and nothing ends the process."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import subband
from subband.errors import ArgumentError
from subband.media import Frame, open_sink, open_source
from subband.media.volumes import describe_volume

h5py = pytest.importorskip("h5py", reason="h5py is not installed: pip install 'subband[volumes]'")

VOLUME = np.arange(3 * 4 * 5, dtype=np.uint16).reshape(3, 4, 5)


def write(name, volume=VOLUME, **options):
    with open_sink(name, describe_volume(volume.shape, volume.dtype), **options) as sink:
        for number, pixels in enumerate(volume):
            sink.write(Frame(pixels, number))


def read(name):
    with open_source(name) as source:
        return np.stack([frame.pixels for frame in source])


@pytest.fixture
def path(tmp_path):
    """A file with all kinds of things."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["scan/ct"] = np.zeros((2, 3, 4))
        file["scan/mr"] = np.ones((2, 3, 4))
        file["scan/mr"].attrs["voxel_size"] = (3, 2, 1)
        file["notes"] = "keep me"
        file["soft"] = h5py.SoftLink("/nowhere")
        file.attrs["patient"] = "nobody"
    return tmp_path / "a.h5"


@pytest.mark.parametrize("name", ["scan/ct", "/scan/ct", "new", "scan/new/deep", "soft"])
def test_only_the_named_dataset_is_replaced(path, name):
    write(f"{path}:{name}", overwrite=True)
    np.testing.assert_array_equal(read(f"{path}:{name}"), VOLUME)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["scan/mr"], np.ones((2, 3, 4)))
        assert tuple(file["scan/mr"].attrs["voxel_size"]) == (3, 2, 1)
        assert file["notes"][()] == b"keep me"
        assert file.attrs["patient"] == "nobody"
        assert set(file) == {"scan", "notes", "soft"} | ({"new"} if name == "new" else set())
        assert {"ct", "mr"} <= set(file["scan"])
    assert [entry.name for entry in path.parent.iterdir()] == ["a.h5"]


def test_a_file_without_a_dataset_is_replaced_whole(path):
    write(str(path), overwrite=True)
    with h5py.File(path) as file:
        assert list(file) == ["volume"]


def test_replacing_again_and_again_takes_no_more_room(path):
    volume = np.zeros((8, 64, 64), np.uint16)
    write(f"{path}:scan/ct", volume, overwrite=True)
    size = path.stat().st_size
    for _ in range(5):
        write(f"{path}:scan/ct", volume, overwrite=True)
    assert path.stat().st_size < size + volume.nbytes


@pytest.mark.parametrize(
    ("name", "words"),
    [("scan", "is a group"), ("notes/ct", "'notes' of .* is no group"), ("/", "names no dataset")],
)
def test_what_would_destroy_others_is_refused(path, name, words):
    before = path.read_bytes()
    with pytest.raises(ArgumentError, match=words):
        write(f"{path}:{name}", overwrite=True)
    with pytest.raises(ArgumentError, match="is there already"):
        write(f"{path}:scan/ct")
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["a.h5"]


def test_what_is_no_hdf5_is_not_added_to(tmp_path):
    (tmp_path / "a.h5").write_bytes(b"something else")
    with pytest.raises(ArgumentError, match="is no HDF5 file"):
        write(f"{tmp_path}/a.h5:x", overwrite=True)
    assert (tmp_path / "a.h5").read_bytes() == b"something else"


def test_an_interrupt_while_hdf5_writes_waits_for_it(tmp_path):
    # the main thread runs Python next where HDF5 calls back, and would end with a crash if that failed
    program = """
        import signal, sys
        import numpy as np
        from subband.media import Frame, open_sink
        from subband.outputs import CheckedFile
        from subband.media.volumes import describe_volume

        calls, usual = 0, CheckedFile.write

        def write(self, data):
            global calls
            calls += 1
            if calls == int(sys.argv[2]):
                signal.raise_signal(signal.SIGINT)
            return usual(self, data)

        CheckedFile.write = write
        with open_sink(sys.argv[1], describe_volume((3, 40, 50), np.uint16)) as sink:
            for number in range(3):
                sink.write(Frame(np.zeros((40, 50), np.uint16), number))
    """
    environment = {**os.environ, "PYTHONPATH": str(Path(subband.__file__).parent.parent)}
    for call in (1, 3, 6):
        command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "a.h5"), str(call)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert "KeyboardInterrupt" in done.stderr
        # how Python ends by Ctrl-C
        assert done.returncode in (-signal.SIGINT, 130), done.stderr
        assert list(tmp_path.iterdir()) == []
