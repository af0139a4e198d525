"""Files that appear under their name only when they are complete, whoever writes them."""

import errno
import os
import signal
import stat
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from subband import decompose
from subband.errors import ArgumentError
from subband.outputs import CheckedFile, OutputError, Unfinished, defer_signals, open_output, place_output

posix = pytest.mark.skipif(sys.platform == "win32", reason="links, pipes and permissions are those of Unix")


def list_names(folder):
    return sorted(path.name for path in folder.iterdir())


class Full:
    """A file on a disk that has room for so many bytes."""

    def __init__(self, file, room):
        self._file, self._room = file, room

    def write(self, data):
        taken = min(len(data), self._room - self._file.tell())
        if taken <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._file.write(data[:taken])

    def __getattr__(self, name):
        return getattr(self._file, name)


def fill_disk(monkeypatch, room):
    """Let every file that is opened from now on be on a disk with little room."""
    usual = CheckedFile.__init__

    def begin(self, *arguments, **options):
        usual(self, *arguments, **options)
        self._file = Full(self._file, room)

    monkeypatch.setattr(CheckedFile, "__init__", begin)


class Careless:
    """A library that does not look at what becomes of its bytes."""

    @staticmethod
    def write(file, data):
        try:
            file.write(data)
            file.flush()
        except OSError:
            pass


@pytest.mark.parametrize("quiet", [False, True])
def test_what_a_library_did_not_notice_is_told(tmp_path, monkeypatch, quiet):
    fill_disk(monkeypatch, 10)
    unfinished = Unfinished(tmp_path / "a.bin")
    file = unfinished.open(quiet=quiet)
    Careless.write(file, b"12345678")
    Careless.write(file, b"90123")
    # and all is as if it had been written, for as long as the library needs it
    file.seek(6)
    assert file.read(5) == b"78901"
    with pytest.raises(OutputError, match=r"a\.bin.*the disk is full"):
        unfinished.check()
    with pytest.raises(OutputError, match="the disk is full"):
        unfinished.place()
    unfinished.remove()
    assert list_names(tmp_path) == []


def test_quiet_files_raise_nothing(tmp_path, monkeypatch):
    fill_disk(monkeypatch, 10)
    unfinished = Unfinished(tmp_path / "a.bin")
    assert unfinished.open(quiet=True).write(bytes(100)) == 100
    unfinished.remove()


@pytest.mark.parametrize("room", [0, 9, 10])
def test_open_output_leaves_what_was_there(tmp_path, monkeypatch, room):
    (tmp_path / "a.bin").write_bytes(b"old")
    fill_disk(monkeypatch, room)
    with pytest.raises(OutputError, match="the disk is full"), open_output(tmp_path / "a.bin", overwrite=True) as file:
        file.write(bytes(11))
    assert (tmp_path / "a.bin").read_bytes() == b"old"
    assert list_names(tmp_path) == ["a.bin"]


def test_a_file_that_fits_exactly_is_one(tmp_path, monkeypatch):
    fill_disk(monkeypatch, 11)
    with open_output(tmp_path / "a.bin", overwrite=True) as file:
        file.write(bytes(11))
    assert (tmp_path / "a.bin").stat().st_size == 11


def test_a_file_that_is_shorter_than_what_was_written_is_not_placed(tmp_path):
    unfinished = Unfinished(tmp_path / "a.bin")
    file = unfinished.open()
    file.write(b"12345678")
    file.flush()
    os.truncate(unfinished.part, 3)
    with pytest.raises(OutputError, match="shorter than what was written"):
        unfinished.place()
    unfinished.remove()
    assert list_names(tmp_path) == []


def test_what_was_added_by_the_name_is_placed_too(tmp_path):
    unfinished = Unfinished(tmp_path / "a.bin")
    unfinished.open(quiet=True).write(b"head")
    with unfinished.part.open("ab") as file:
        file.write(b" and tail")
    unfinished.place()
    assert (tmp_path / "a.bin").read_bytes() == b"head and tail"


def test_checked_files_are_files(tmp_path):
    (tmp_path / "a.bin").touch()
    file = CheckedFile(tmp_path / "a.bin")
    file.write(b"0123456789")
    assert (file.tell(), file.seek(-3, os.SEEK_END), file.read()) == (10, 7, b"789")
    file.seek(2)
    assert file.truncate() == 2
    file.truncate(4)
    file.seek(0)
    assert file.read() == b"01\0\0"
    with pytest.raises(OSError, match="Invalid"):
        file.seek(-1)
    with pytest.raises(OSError, match="fileno"):
        file.fileno()
    file.complete()
    assert file.closed
    assert (tmp_path / "a.bin").read_bytes() == b"01\0\0"


def test_errors_of_reading_stay_what_they_are(tmp_path):
    for lend in (place_output, open_output):
        with pytest.raises(FileNotFoundError, match="missing"), lend(tmp_path / "a.bin"):
            (tmp_path / "missing").read_bytes()
    assert list_names(tmp_path) == []


@posix
@pytest.mark.parametrize("lend", [place_output, open_output])
@pytest.mark.parametrize("there", [True, False], ids=["there", "dangling"])
def test_links_stay_links(tmp_path, lend, there):
    (tmp_path / "disk").mkdir()
    (tmp_path / "home").mkdir()
    target, link = tmp_path / "disk" / "data.bin", tmp_path / "home" / "a.png"
    if there:
        target.write_bytes(b"old")
    link.symlink_to("../disk/data.bin")
    with lend(link, overwrite=True) as lent:
        if lend is place_output:
            # beside the file, not beside the link: those may lie on different disks
            assert (lent.parent, lent.suffix) == (target.parent, ".png")
            lent.write_bytes(b"new")
        else:
            lent.write(b"new")
    assert link.is_symlink()
    assert link.readlink() == Path("../disk/data.bin")
    assert target.read_bytes() == b"new"
    assert list_names(target.parent) == ["data.bin"]
    assert list_names(link.parent) == ["a.png"]


@posix
def test_links_that_lead_nowhere_are_told(tmp_path):
    (tmp_path / "a.png").symlink_to(tmp_path / "gone" / "b.png")
    with pytest.raises(ArgumentError, match=r"'b\.png', to which .*a\.png' leads, does not exist"):
        Unfinished(tmp_path / "a.png")
    (tmp_path / "c.png").symlink_to("d.png")
    (tmp_path / "d.png").symlink_to("c.png")
    with pytest.raises(OutputError, match="leads back to itself"):
        Unfinished(tmp_path / "c.png")


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_permissions_of_what_is_replaced_stay(tmp_path, mode):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(mode)
    with place_output(path, overwrite=True) as unfinished:
        # nobody may look into it on the way who may not look into the file
        assert stat.S_IMODE(unfinished.stat().st_mode) == mode | 0o600
        unfinished.write_text("new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", mode)


@posix
def test_new_files_have_the_permissions_of_all_new_files(tmp_path):
    (tmp_path / "usual").touch()
    with open_output(tmp_path / "a.txt", overwrite=True) as file:
        file.write(b"new")
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "usual").stat().st_mode


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_owner_of_what_is_replaced_stays(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    os.chown(path, 1234, 1235)
    with place_output(path, overwrite=True) as unfinished:
        unfinished.write_text("new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 1235)


@posix
def test_pipes_are_written_to_and_not_replaced(tmp_path):
    path = tmp_path / "pipe.bin"
    os.mkfifo(path)
    found = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    with open_output(path, overwrite=True) as file:
        file.write(b"hello")
    reader.join()
    assert found == [b"hello"]
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert list_names(tmp_path) == ["pipe.bin"]


def test_long_names_have_room_for_what_is_added(tmp_path):
    name = "ä" * 125 + ".txt"
    with place_output(tmp_path / name, overwrite=True) as unfinished:
        unfinished.write_text("hello")
    unfinished = Unfinished(tmp_path / name, overwrite=True)
    unfinished.place()
    assert list_names(tmp_path) == [name]


def test_two_may_write_the_same_at_once(tmp_path):
    path = tmp_path / "a.txt"
    with open_output(path, overwrite=True) as first, open_output(path, overwrite=True) as second:
        first.write(b"first")
        second.write(b"second")
    assert path.read_bytes() == b"first"
    assert list_names(tmp_path) == ["a.txt"]


def test_signals_wait_for_a_block():
    done = []

    def interrupt():
        with defer_signals():
            signal.raise_signal(signal.SIGINT)
            done.append("to the end")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert done == ["to the end"]
    assert signal.getsignal(signal.SIGINT) is before


def test_pyramids_go_the_same_way(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    pyramid = decompose(np.arange(64.0), "haar")
    path.write_bytes(b"old")
    fill_disk(monkeypatch, 500)
    with pytest.raises(OutputError, match="the disk is full"):
        pyramid.save(path)
    assert path.read_bytes() == b"old"
    with pytest.raises(ArgumentError, match="does not exist; make it first"):
        pyramid.save(tmp_path / "missing" / "a.npz")
    assert list_names(tmp_path) == ["a.npz"]


def test_a_series_is_not_left_half_placed(tmp_path, monkeypatch):
    from subband.media import Frame, SourceInfo, open_sink

    info = SourceInfo("sequence", (4, 6), np.dtype(np.uint8), colours="grey", count=3)
    sink = open_sink(tmp_path / "f%d.png", info)
    for number in range(3):
        sink.write(Frame(np.zeros((4, 6), np.uint8), number))
    usual = Unfinished.place

    def place(self, **options):
        signal.raise_signal(signal.SIGINT)
        usual(self, **options)

    monkeypatch.setattr(Unfinished, "place", place)
    with pytest.raises(KeyboardInterrupt):
        sink.finish()
    assert list_names(tmp_path) == ["f0.png", "f1.png", "f2.png"]
