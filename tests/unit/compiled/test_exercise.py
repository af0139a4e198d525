"""What people use needs no compiler where the kernels were compiled in advance, and gives what Numba's code gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import subband
from subband.compiled import library

CODE = """
import sys
sys.path.insert(0, sys.argv[1])
from exercise import exercise
exercise()
from subband.compiled.kernel import list_compiled
print(list_compiled(), "numba" in sys.modules)
"""


@pytest.fixture(scope="module", autouse=True)
def _needs_kernels():
    if library.find_library()._container is None:
        pytest.skip("no kernels for this processor: run `make kernels`")


def test_nothing_is_compiled():
    command = [sys.executable, "-c", CODE, str(Path(__file__).parent)]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "[] False"


RESULTS = """
import sys
import numpy as np
import subband
from subband.data import camera
rng = np.random.default_rng(0)
results = {}
# as few kernels as tell: Numba takes seconds to compile each, and they come from the same sources for both dtypes
for dtype, wavelet in (("float32", "haar"), ("float32", "bior4.4"), ("float64", "db4")):
    x = rng.normal(size=(120, 130)).astype(dtype)
    pyramid = subband.wavedec2(x, wavelet, level=2)
    results[f"{dtype} {wavelet}"] = subband.coeffs_to_array(pyramid, padding=0)[0]
results["float32 denoise"] = subband.denoise(camera()[:128, :128].astype(np.float32))
np.savez(sys.argv[1], **results)
"""


def test_results_are_those_of_numba(tmp_path, monkeypatch):
    found = {}
    for name, value in (("advance", ""), ("here", "0")):
        monkeypatch.setenv("SUBBAND_KERNELS", value)
        path = tmp_path / f"{name}.npz"
        subprocess.run([sys.executable, "-c", RESULTS, str(path)], check=True)
        found[name] = dict(np.load(path))
    assert len(found["here"]) == 4
    for name, wanted in found["here"].items():
        tolerance = 1e-12 if wanted.dtype == np.float64 else 2e-5
        largest = np.abs(wanted).max()
        np.testing.assert_allclose(found["advance"][name], wanted, rtol=tolerance, atol=tolerance * largest)


def test_the_files_are_found_beside_the_package():
    assert Path(subband.__file__).parent in library.FOLDER.parents
