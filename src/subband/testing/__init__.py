"""What engines are tested with: subband's own, and those that others write.

- `EngineTests`: the contract of an engine as a class of tests; subclass it and name your engine.
- `DeviceParityTests`: what an engine for a device is tested with besides.
- `RecordingEngine`: shows what would run on a GPU, without one.
- `strategies`: Hypothesis strategies for wavelets, modes, plans and arrays.
- `tolerances`: the table of tolerances, with reasons.

Nothing else in subband imports this package, because it needs Hypothesis and pytest.
"""

from __future__ import annotations

from importlib.util import find_spec

from subband.errors import MissingExtraError

if find_spec("hypothesis") is None or find_spec("pytest") is None:
    raise MissingExtraError("subband.testing", "test")

from subband.testing.conformance import EngineTests
from subband.testing.devices import DeviceParityTests
from subband.testing.recording import RecordingDevice, RecordingEngine
from subband.testing.samples import LAYOUTS, all_wavelets, allowed_modes, as_layout, draw_samples
from subband.testing.tolerances import assert_close, imprecision, largest, relative_tolerance

__all__ = [
    "LAYOUTS",
    "DeviceParityTests",
    "EngineTests",
    "RecordingDevice",
    "RecordingEngine",
    "all_wavelets",
    "allowed_modes",
    "as_layout",
    "assert_close",
    "draw_samples",
    "imprecision",
    "largest",
    "relative_tolerance",
]
