"""What a device can do, measured in a second: how fast it copies, computes, begins and transfers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from subband.bench.measuring import Effort, take_turns
from subband.bench.model.stages import Arithmetic, Stage, list_stages
from subband.bench.workbench import Workbench, draw_on_host, plan_picture

__all__ = ["DeviceModel", "measure_device_model"]

# Bytes of the arrays that are copied: from a cache of the first level to far beyond the last one.
_SIZES = tuple(2**exponent for exponent in range(16, 29, 2))
# Where arithmetic is measured: large enough that nothing else counts, small enough for a moment.
_SIDE = 1024
# Two wavelets of each kind; what differs between them is arithmetic alone.
_CALIBRATION: dict[Arithmetic, tuple[str, str]] = {"lifting": ("haar", "cdf97"), "filters": ("sym8", "sym14")}
# Samples that are transferred.
_TRANSFERRED = 2**24
# Nothing to compute: what remains is the call.
_SMALL = (32, 32)


@dataclass(frozen=True)
class DeviceModel:
    """What a device can do.

    Attributes
    ----------
    name : str
        What it is called.
    sizes, bandwidths : sequence of float
        Bytes of an array, and the bytes a second that a copy of it reads and writes together.
    rates : mapping
        Multiplications with additions in a second, by lifting and by filters.
    launch, call : float
        Seconds to begin a level, and those that a whole call takes besides.
    transfer : float or None
        Bytes a second from the host to the device; None where both share their memory.

    Examples
    --------
    >>> device = DeviceModel("a CPU", (2**16, 2**26), (4e10, 1e10), {"lifting": 2e10, "filters": 3e10}, 5e-5, 1e-5)
    >>> round(device.find_bandwidth(2**21) / 1e9, 3)
    20.0
    """

    name: str
    sizes: Sequence[float]
    bandwidths: Sequence[float]
    rates: Mapping[Arithmetic, float]
    launch: float
    call: float
    transfer: float | None = None

    def find_bandwidth(self, extent: float) -> float:
        """Return the bandwidth of arrays of so many bytes, between the sizes that were measured on a straight line.

        Both are taken as logarithms, so that halves and doubles count alike.
        """
        return float(np.exp(np.interp(np.log(extent), np.log(self.sizes), np.log(self.bandwidths))))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as what JSON can hold."""
        return asdict(self)


def measure_device_model(bench: Workbench, name: str, effort: Effort | None = None) -> DeviceModel:
    """Measure what a device can do.

    Parameters
    ----------
    bench : Workbench
        Of the engine.
    name : str
        What the device is called.
    effort : Effort, optional
        How long each of a dozen measurements takes.
    """
    effort = effort or Effort(seconds=0.1, fewest=3, most=15)
    bandwidths = []
    for size in _SIZES:
        copy = bench.prepare_copy(bench.draw((size // 4,)))
        bandwidths.append(2 * size / take_turns({"copy": copy}, effort, bench.clock)["copy"])
    small = {level: bench.prepare(plan_picture(_SMALL, "haar", level), "forward") for level in (1, 3)}
    times = take_turns({str(level): call for level, call in small.items()}, effort, bench.clock)
    launch = max((times["3"] - times["1"]) / 2, 0.0)
    return DeviceModel(
        name,
        [float(size) for size in _SIZES],
        bandwidths,
        {kind: _measure_rate(bench, pair, effort) for kind, pair in _CALIBRATION.items()},
        launch,
        max(times["1"] - launch, 0.0),
        _measure_transfer(bench, effort),
    )


def _measure_rate(bench: Workbench, wavelets: tuple[str, str], effort: Effort) -> float:
    """Measure how many operations a second make the difference between two wavelets."""
    plans = {wavelet: plan_picture((_SIDE, _SIDE), wavelet, 1) for wavelet in wavelets}
    calls = {wavelet: bench.prepare(plan, "forward") for wavelet, plan in plans.items()}
    times = take_turns(calls, effort, bench.clock)
    light, heavy = wavelets
    stages: dict[str, Stage] = {wavelet: list_stages(plan)[0] for wavelet, plan in plans.items()}
    more = stages[heavy].operations - stages[light].operations
    # arithmetic that costs nothing at all is hidden behind the traffic
    return more / max(times[heavy] - times[light], 0.02 * times[light])


def _measure_transfer(bench: Workbench, effort: Effort) -> float | None:
    """Measure the bytes a second from the host to the device."""
    if bench.bed is None:
        return None
    host = draw_on_host((_TRANSFERRED,), "float32", 0)
    seconds = take_turns({"upload": lambda: bench.upload(host)}, effort, bench.clock)["upload"]
    return float(host.nbytes / seconds)
