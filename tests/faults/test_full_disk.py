"""A disk that takes no more: every format at forty sizes, the last of them one by one, and what else writes files."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import subband
from subband.media.formats import list_endings

pytest.importorskip("resource", reason="the size of files can be limited on Unix only")

WORKER = Path(__file__).with_name("full_disk_worker.py")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(subband.__file__).parent.parent)}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """What went wrong with each format that can be written."""
    command = [sys.executable, str(WORKER), str(tmp_path_factory.mktemp("disk"))]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_no_format_leaves_a_wreck_or_a_part(report):
    assert {ending: wrongs[:3] for ending, wrongs in report.items() if wrongs} == {}


SMALL_DISK = """
import subprocess, sys
from pathlib import Path
sys.path.insert(0, str(Path(sys.argv[1]).parent))
import full_disk_worker as worker
from subband.errors import SubbandError
from subband.media import OutputError

folder = Path(sys.argv[2])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4096", "tmpfs", str(folder)], check=True)
print("mounted")
for ending in (".bmp", ".h5", ".jpg", ".mkv", ".mp4", ".nii.gz", ".npy", ".png", ".tif"):
    for info in worker.list_infos():
        try:
            worker.write(folder / f"result{ending}", info, list(worker.make_frames(info)))
        except OutputError as error:
            assert "the disk is full" in str(error), error
            print(ending)
            break
        except SubbandError:
            # not all formats take all there is
            continue
        raise AssertionError(f"{ending} was written")
    assert not list(folder.iterdir()), list(folder.iterdir())
"""


def test_a_real_disk_that_is_full(tmp_path):
    if sys.platform != "linux" or not shutil.which("unshare"):
        pytest.skip("a small disk can be had on Linux only")
    command = ["unshare", "--map-root-user", "--mount", sys.executable, "-c", SMALL_DISK, str(WORKER), str(tmp_path)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if not done.stdout.startswith("mounted"):
        pytest.skip(f"no small disk may be had here: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1:] == [".bmp", ".h5", ".jpg", ".mkv", ".mp4", ".nii.gz", ".npy", ".png", ".tif"]


@pytest.mark.slow
def test_all_formats_are_tried(report):
    stills = {".avif", ".bmp", ".gif", ".jp2", ".jpg", ".pgm", ".png", ".ppm", ".tga", ".tif", ".tiff", ".webp"}
    assert report.keys() >= {*list_endings("video"), *stills, ".h5", ".nii", ".nii.gz", ".npy"}
