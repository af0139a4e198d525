from __future__ import annotations

import subprocess
import sys

from subband import wavelets


def test_public_names_are_sorted_and_exist():
    assert wavelets.__all__ == sorted(wavelets.__all__)
    for name in wavelets.__all__:
        assert getattr(wavelets, name) is not None
        assert name in dir(wavelets)


def test_nothing_imports_pywavelets():
    code = (
        "import sys\n"
        "import subband.wavelets as w\n"
        "[getattr(w, name) for name in w.__all__]\n"
        "w.Wavelet('db4').lifting, w.central_frequency('morl')\n"
        "assert 'pywt' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})
