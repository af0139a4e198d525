"""The script that judges ISO's streams, on streams of our own: those of ISO are not ours to give."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # a script beside
import check_iso

from subband.codecs.jpeg2000 import encode

PICTURE = np.random.default_rng(0).integers(0, 256, (20, 31, 3), dtype=np.uint8)


def write_pgx(path, plane, sign="+"):
    bits = 8 * plane.dtype.itemsize
    path.write_bytes(f"PG ML {sign}{bits} {plane.shape[1]} {plane.shape[0]}\n".encode() + plane.tobytes())


@pytest.mark.parametrize("dtype", ["u1", "i1", ">u2", ">i2"])
def test_references_are_read(dtype, tmp_path):
    plane = (np.arange(12).reshape(3, 4) - 3).astype(dtype)
    write_pgx(tmp_path / "a.pgx", plane, "-" if "i" in dtype else "+")
    np.testing.assert_array_equal(check_iso.read_pgx(tmp_path / "a.pgx"), plane)


def test_streams_pass_that_keep_within_their_limits(tmp_path, monkeypatch, capsys):
    (tmp_path / "p0_04.j2k").write_bytes(encode(PICTURE, form="j2k"))
    (tmp_path / "p0_14.j2k").write_bytes(encode(PICTURE, form="j2k"))
    for number in range(3):
        write_pgx(tmp_path / f"c1p0_04_{number}.pgx", PICTURE[..., number] ^ (np.arange(31) == 7).astype(np.uint8))
        write_pgx(tmp_path / f"c1p0_14_{number}.pgx", PICTURE[..., number] ^ np.uint8(number == 1))
    monkeypatch.setattr(sys, "argv", ["check_iso.py", str(tmp_path)])
    assert check_iso.main() == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "p0_04: passes"
    assert lines[1].startswith("p0_14: component 1 is off by 1 at most")
    assert lines[2] == "1 of 2 pass; 21 of 23 are not there"


def test_what_cannot_be_compared_does_not_pass(tmp_path):
    path = tmp_path / "p0_01.j2k"
    path.write_bytes(encode(PICTURE[..., 0], form="j2k"))
    assert check_iso.check_stream(path, {}, check_iso.LIMITS["p0_01"]) == ["c1p0_01_0.pgx is not there"]
    path.write_bytes(b"nonsense")
    assert len(check_iso.check_stream(path, {}, check_iso.LIMITS["p0_01"])) == 1
    assert len(check_iso.LIMITS) == 23
