"""A disk that takes no more: every format at a hundred sizes around its end, and what else writes files."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import subband
from subband.media.film_formats import CONTAINERS

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


def test_no_format_leaves_a_wreck_or_a_part(report):
    assert {ending: wrongs[:3] for ending, wrongs in report.items() if wrongs} == {}


def test_all_formats_are_tried(report):
    stills = {".avif", ".bmp", ".gif", ".jp2", ".jpg", ".pgm", ".png", ".ppm", ".tga", ".tif", ".tiff", ".webp"}
    assert report.keys() >= {*CONTAINERS, *stills, ".h5", ".nii", ".nii.gz", ".npy"}
