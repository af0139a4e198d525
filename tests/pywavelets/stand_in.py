"""A pytest plugin that puts subband in the place of PyWavelets, before its test files are imported.

It is loaded by name (``-p stand_in``) in a process of its own, because the rest of our tests compare with the real
PyWavelets. Importing this module changes nothing; the hook does it.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any


def pytest_configure() -> None:
    import subband
    import subband.data

    original = find_spec("pywt")
    assert original is not None
    assert original.origin is not None
    sys.modules["pywt"] = subband
    sys.modules["pywt.data"] = subband.data
    # Private modules of PyWavelets, with the few names that its test files take from them.
    compiled = _add_module(
        "_extensions._pywt",
        Wavelet=subband.Wavelet,
        ContinuousWavelet=subband.ContinuousWavelet,
        Modes=subband.Modes,
    )
    stationary = _add_module("_extensions._swt", swt_axis=_swt_axis)
    subband._extensions = _add_module("_extensions", _pywt=compiled, _swt=stationary)
    subband._dwt = _add_module("_dwt", dwt_max_level=subband.dwt_max_level)
    subband._utils = _add_module("_utils", AxisError=subband.errors.AxesError)
    subband._pytest = _load_original("_pytest", Path(original.origin).parent)


def _swt_axis(data: Any, wavelet: Any, level: int, start_level: int, axis: int = 0) -> Any:
    """PyWavelets' compiled function behind `swt` and `swtn`; its arguments come in another order."""
    import subband

    return subband.swt(data, wavelet, level=level, start_level=start_level, axis=axis)


def _add_module(name: str, **names: Any) -> ModuleType:
    module = ModuleType(f"pywt.{name}")
    vars(module).update(names)
    sys.modules[module.__name__] = module
    return module


def _load_original(name: str, folder: Path) -> ModuleType:
    """Load a file of the real PyWavelets that imports nothing of its own: here, the markers of its tests."""
    spec = spec_from_file_location(f"pywt.{name}", folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
