"""Decode ISO's class-1 streams: ``python tests/codecs/check_iso.py FOLDER`` compares them with their references.

The streams and references of ISO/IEC 15444-4 may not be redistributed, so that the folder has to be got elsewhere:
``p0_01.j2k`` to ``p0_16.j2k`` and ``p1_01.j2k`` to ``p1_07.j2k``, and of each component a reference such as
``c1p0_04_2.pgx``, in the folder or anywhere below. What is not there is left out, and told.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from pathlib import Path

import numpy as np

from subband.codecs.jpeg2000 import decode
from subband.errors import CodecError

Limits = tuple[tuple[float, float], ...]

_EXACT = (0, 0)

#: The largest error and the mean squared error that each component may have; tables C.6 and C.7 of ISO/IEC 15444-4.
LIMITS: dict[str, Limits] = {
    **{f"p0_{number:02}": (_EXACT,) for number in (1, 2, 3, 9, 11, 12, 15, 16)},
    **{f"p0_{number:02}": (_EXACT,) * 3 for number in (7, 8, 10, 14)},
    "p0_04": ((5, 0.776), (4, 0.626), (6, 1.070)),
    "p0_05": ((2, 0.302), (2, 0.307), (2, 0.269), _EXACT),
    "p0_06": ((635, 11287), (403, 6124), (378, 3968), _EXACT),
    # of its 257 components
    "p0_13": (_EXACT,) * 4,
    "p1_01": (_EXACT,),
    "p1_02": ((5, 0.765), (4, 0.616), (6, 1.051)),
    "p1_03": ((2, 0.3), (2, 0.210), (1, 0.200), _EXACT),
    "p1_04": ((624, 3080),),
    "p1_05": ((40, 8.458), (40, 9.816), (40, 10.154)),
    "p1_06": ((2, 0.6),) * 3,
    "p1_07": (_EXACT,) * 2,
}

#: Levels that are left out.
REDUCED = {"p0_08": 1}

_HEADER = re.compile(rb"PG\s+(ML|LM)\s*([+-]?)\s*(\d+)\s+(\d+)\s+(\d+)\s")


def read_pgx(path: Path) -> np.ndarray:
    """Return the samples of a PGX file, which has one component."""
    data = path.read_bytes()
    found = _HEADER.match(data)
    if found is None:
        raise ValueError(f"{path} does not begin like PGX")
    order, sign, bits, width, height = found.groups()
    size = 1 if int(bits) <= 8 else 2 if int(bits) <= 16 else 4
    dtype = np.dtype(f"{'>' if order == b'ML' else '<'}{'i' if sign == b'-' else 'u'}{size}")
    return np.frombuffer(data, dtype, int(width) * int(height), found.end()).reshape(int(height), int(width))


def check_stream(path: Path, references: dict[str, Path], limits: Limits, reduce: int = 0) -> list[str]:
    """Return what is wrong with a stream."""
    try:
        planes = decode(path, reduce=reduce).planes
    except CodecError as error:
        return [str(error)]
    wrong = []
    for number, (plane, (peak, mean)) in enumerate(zip(planes, limits, strict=False)):
        name = f"c1{path.stem}_{number}.pgx"
        if name not in references:
            wrong.append(f"{name} is not there")
            continue
        reference = read_pgx(references[name])
        if plane.shape != reference.shape:
            wrong.append(f"component {number} has shape {plane.shape} instead of {reference.shape}")
            continue
        error = np.abs(plane.astype(np.float64) - reference)
        largest, squared = error.max(), np.mean(error**2)
        if largest > peak or squared > mean:
            wrong.append(
                f"component {number} is off by {largest:.0f} at most, {squared:.3f} squared on average; "
                f"{peak} and {mean} are allowed"
            )
    if len(planes) < len(limits):
        wrong.append(f"{len(planes)} components are there, and {len(limits)} have limits")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    files = {path.name: path for path in sorted(folder.rglob("*")) if path.suffix in (".j2k", ".pgx")}
    there = {name: files[f"{name}.j2k"] for name in sorted(LIMITS) if f"{name}.j2k" in files}
    passed = 0
    for name, path in there.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrong = check_stream(path, files, LIMITS[name], REDUCED.get(name, 0))
        passed += not wrong
        print(f"{name}: {'; '.join(wrong) or 'passes'}")
    print(f"{passed} of {len(there)} pass; {len(LIMITS) - len(there)} of {len(LIMITS)} are not there")
    return int(passed < len(there) or not there)


if __name__ == "__main__":
    sys.exit(main())
